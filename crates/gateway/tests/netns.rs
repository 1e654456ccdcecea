//! Real packets in network namespaces. Where these are not allowed the tests say why and pass, unless
//! `QUELL_REQUIRE_NETNS=1`.
#![cfg(target_os = "linux")]

use std::io::BufReader;
use std::process::Command;
use std::time::Duration as Wait;

use quell_aqm::catalog::{AqmConfig, CATALOG};
use quell_gateway::traffic::{App, Flow, Kind, Tcp, Traffic, address};
use quell_gateway::wire::{Side, Wire, WireConfig, may_make_namespaces};
use quell_gateway::{Delays, LineConfig, LogHeader, LogReader, Recorder, replay};
use quell_units::{BitRate, Bytes, Duration};

/// Whether a test can run here; says why not.
fn possible(why_not: Option<&str>) -> bool {
    let Some(why) = why_not else { return true };
    assert!(std::env::var_os("QUELL_REQUIRE_NETNS").is_none(), "QUELL_REQUIRE_NETNS is set, and {why}");
    println!("skipped: {why}");
    false
}

fn namespaces() -> Option<&'static str> {
    let ip = Command::new("ip").arg("-V").output().is_ok();
    match (may_make_namespaces(), ip) {
        (true, true) => None,
        (false, _) => Some("network namespaces need root here"),
        _ => Some("there is no `ip`"),
    }
}

/// More than devices take that nobody has told.
const MTU: u16 = 1600;

fn line(name: &str, aqm: AqmConfig, ecn: bool) -> LineConfig {
    LineConfig {
        name: name.into(),
        rate: BitRate::from_bps(10_000_000),
        buffer: "60 packets".parse().unwrap(),
        mean_packet: Bytes::new(1500),
        ecn,
        seed: 3,
        aqm,
        shaper: None,
        classes: None,
        behind: None,
    }
}

fn named(name: &str) -> AqmConfig {
    (CATALOG.iter().find(|e| e.name == name).unwrap().default)()
}

fn bulk(n: usize, seconds: f64) -> Vec<Flow> {
    let flow = |i: usize| Flow {
        from: Side::Near,
        start: Duration::from_millis(10 * i as u64),
        stop: Duration::from_secs_f64(seconds),
        dscp: 0,
        kind: Kind::Tcp {
            tcp: Tcp { congestion: "reno".into(), segment: MTU - 52 },
            ecn: false,
            app: App::Bulk,
        },
    };
    (0..n).map(flow).collect()
}

/// What a wire did: its report, the bytes that arrived, what `look` saw at the end, and its log.
fn run<T: Send + 'static>(
    aqm: AqmConfig,
    ecn: bool,
    packet_sockets: bool,
    seconds: f64,
    look: impl FnOnce() -> T + Send + 'static,
) -> (quell_gateway::wire::Report, u64, T, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let lines = [line("up", aqm, ecn), line("down", named("drop-tail"), false)];
    let header = LogHeader { version: "test".into(), started_unix_s: 0, lines: lines.to_vec() };
    let recorder = Recorder::new(std::fs::File::create(&path).unwrap(), &header).unwrap();
    let delays = Delays::all(Duration::from_millis(10));
    let config = WireConfig {
        lines: lines.map(Some),
        delays: [delays.clone(), delays],
        courses: Default::default(),
        mtu: MTU,
        ecn,
        congestion: None,
        packet_sockets,
    };
    let wire = Wire::new(config, Some(recorder)).unwrap();
    let status = std::fs::read_to_string(format!("/proc/self/task/{}/status", wire.relay_tid)).unwrap();
    let field = |name: &str| status.lines().find_map(|l| l.strip_prefix(name)).unwrap().trim().to_string();
    assert_eq!((field("CapEff:"), field("CapPrm:")), ("0".repeat(16), "0".repeat(16)));
    assert_eq!((field("NoNewPrivs:"), field("Seccomp:")), ("1".into(), "2".into()));
    let traffic = Traffic::start(&wire, bulk(4, seconds)).unwrap();
    std::thread::sleep(Wait::from_secs_f64(seconds));
    let received = traffic.received().iter().sum();
    traffic.finish().unwrap();
    // What is under way arrives.
    std::thread::sleep(Wait::from_millis(100));
    let seen = wire.host(Side::Far).run(look);
    let report = wire.close().unwrap();
    assert_eq!(report.log, None);
    (report, received, seen, std::fs::read(path).unwrap())
}

fn check_log(name: &str, log: &[u8]) {
    let found = replay(&mut LogReader::new(BufReader::new(log)).unwrap(), None).unwrap();
    assert!(found.closed, "{name}");
    for line in &found.lines {
        assert!(line.arrivals > 100, "{name} {}: {}", line.config.name, line.arrivals);
        assert_eq!((line.differ, &line.first), (0, &None), "{name} {}", line.config.name);
    }
}

#[test]
fn every_algorithm_decides_about_real_flows_as_its_replay_does() {
    if !possible(namespaces()) {
        return;
    }
    let names: Vec<&str> = CATALOG.iter().map(|e| e.name).collect();
    // Some at a time: the wires share nothing.
    for some in names.chunks(9) {
        std::thread::scope(|scope| {
            for name in some {
                scope.spawn(move || {
                    let (report, received, (), log) = run(named(name), true, false, 1.5, || ());
                    assert!(received > 500_000, "{name}: {received} bytes in 1.5 s of 10 Mbit/s");
                    let c = report.paths[0].meter.counters;
                    assert_eq!(c.arrived.packets, c.enqueued.packets + c.refused.total().packets, "{name}");
                    check_log(name, &log);
                });
            }
        });
    }
}

#[test]
fn marks_arrive_and_checksums_hold() {
    if !possible(namespaces()) {
        return;
    }
    let (report, _, text, log) = run(named("red"), true, false, 3.0, || {
        std::fs::read_to_string("/proc/thread-self/net/netstat").unwrap()
    });
    let marked = report.paths[0].meter.counters.marked.packets;
    assert!(marked > 10, "{marked}");
    assert_eq!(counter(&text, "InCEPkts"), marked);
    assert_eq!(counter(&text, "InCsumErrors"), 0);
    check_log("red", &log);
}

/// A counter of the kernel's of IP.
fn counter(text: &str, name: &str) -> u64 {
    let mut rows = text.lines().filter(|l| l.starts_with("IpExt:"));
    let (names, values) = (rows.next().unwrap(), rows.next().unwrap());
    let at = names.split_whitespace().position(|n| n == name).unwrap();
    values.split_whitespace().nth(at).unwrap().parse().unwrap()
}

#[test]
fn packet_sockets_do_what_tun_does() {
    if !possible(namespaces()) {
        return;
    }
    let (report, received, (), log) = run(named("hred-fixed"), true, true, 2.0, || ());
    assert!(received > 1_000_000, "{received}");
    assert!(report.counters.passed > 0, "ARP passes");
    check_log("hred-fixed", &log);
}

/// The addresses of flows are within their hosts' networks.
#[test]
fn flows_have_addresses_of_their_own() {
    assert_eq!(Side::Near.address(address(0)).to_string(), "10.64.0.16");
    assert_eq!(Side::Far.address(address(300)).to_string(), "10.65.1.60");
}
