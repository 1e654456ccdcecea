//! Real packets in network namespaces. Where these are not allowed the tests say why and pass, unless
//! `QUELL_REQUIRE_NETNS=1`.
#![cfg(target_os = "linux")]

use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration as Wait, Instant};

use quell_aqm::catalog::{AqmConfig, CATALOG};
use quell_gateway::traffic::{App, Flow, Kind, Traffic, address};
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

fn line(name: &str, aqm: AqmConfig, ecn: bool) -> LineConfig {
    LineConfig {
        name: name.into(),
        rate: BitRate::from_bps(10_000_000),
        buffer: "60 packets".parse().unwrap(),
        mean_packet: Bytes::new(1500),
        ecn,
        seed: 3,
        aqm,
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
        kind: Kind::Tcp { congestion: "reno".into(), segment: 1460, ecn: false, app: App::Bulk },
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
        mtu: 1500,
        ecn,
        congestion: None,
        packet_sockets,
    };
    let wire = Wire::new(config, Some(recorder)).unwrap();
    let status = std::fs::read_to_string(format!("/proc/self/task/{}/status", wire.relay_tid)).unwrap();
    let field = |name: &str| status.lines().find_map(|l| l.strip_prefix(name)).unwrap().trim().to_string();
    assert_eq!((field("CapEff:"), field("CapPrm:")), ("0".repeat(16), "0".repeat(16)));
    assert_eq!(field("NoNewPrivs:"), "1");
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

/// A router between a sender and a receiver, in namespaces with names that go when it is dropped.
struct Topology {
    names: [String; 3],
}

fn sh(script: &str) {
    let done = Command::new("sh").args(["-ec", script]).output().unwrap();
    assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
}

impl Topology {
    fn new() -> Self {
        let pid = std::process::id();
        let names = ["s", "g", "r"].map(|n| format!("quell-test-{n}{pid}"));
        let [s, g, r] = &names;
        sh(&format!(
            "for n in {s} {g} {r}; do ip netns add $n; ip -n $n link set lo up; done
             ip link add s0 netns {s} type veth peer name g0 netns {g}
             ip link add r0 netns {r} type veth peer name g1 netns {g}
             ip -n {s} addr add 10.1.0.1/24 dev s0; ip -n {g} addr add 10.1.0.2/24 dev g0
             ip -n {g} addr add 10.2.0.2/24 dev g1; ip -n {r} addr add 10.2.0.1/24 dev r0
             ip -n {s} link set s0 up; ip -n {g} link set g0 up; ip -n {g} link set g1 up; ip -n {r} link set r0 up
             ip -n {s} route add default via 10.1.0.2; ip -n {r} route add default via 10.2.0.2
             ip netns exec {g} sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
             for n in {s} {r}; do ip netns exec $n sh -c 'echo 1 > /proc/sys/net/ipv4/tcp_ecn'; done"
        ));
        Topology { names }
    }

    /// Does something in the namespace of host `i`.
    fn within<T: Send>(&self, i: usize, f: impl FnOnce() -> T + Send) -> T {
        let file = std::fs::File::open(format!("/run/netns/{}", self.names[i])).unwrap();
        std::thread::scope(|scope| {
            let job = scope.spawn(move || {
                let network = Some(rustix::thread::LinkNameSpaceType::Network);
                rustix::thread::move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), network).unwrap();
                f()
            });
            job.join().unwrap()
        })
    }

    fn gateway(&self, args: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[1], env!("CARGO_BIN_EXE_quell-gateway")]).args(args);
        command
    }

    fn start(&self, args: &[&str]) -> Child {
        let mut child = self.gateway(args).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut byte = [0];
        let mut said = String::new();
        // Until it says that it is ready.
        while child.stderr.as_mut().unwrap().read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            said.push(byte[0] as char);
        }
        assert!(said.starts_with("ready"), "{said}");
        child
    }

    fn rules(&self) -> String {
        let tables = ["iptables", "ip6tables"].map(|program| {
            let mut list = Command::new("ip");
            list.args(["netns", "exec", &self.names[1], program, "-t", "mangle", "-S"]);
            String::from_utf8(list.output().unwrap().stdout).unwrap()
        });
        tables.concat()
    }

    /// The longest gap between bytes that arrive, and how many do, while `f` runs.
    fn stream(&self, time: Wait, f: impl FnOnce() + Send) -> (Wait, usize) {
        let listener = self.within(2, || TcpListener::bind("10.2.0.1:5002").unwrap());
        let mut to = self.within(0, || TcpStream::connect("10.2.0.1:5002").unwrap());
        let (mut from, _) = listener.accept().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                to.set_write_timeout(Some(Wait::from_millis(100))).unwrap();
                let end = Instant::now() + time;
                while Instant::now() < end {
                    // A slow stream: what matters is whether it stops.
                    let _ = to.write(&[0; 1000]);
                    std::thread::sleep(Wait::from_millis(2));
                }
            });
            let reader = scope.spawn(move || {
                let (mut last, mut longest, mut bytes) = (Instant::now(), Wait::ZERO, 0);
                let mut buffer = [0; 65536];
                while let Ok(n @ 1..) = from.read(&mut buffer) {
                    longest = longest.max(last.elapsed());
                    last = Instant::now();
                    bytes += n;
                }
                (longest, bytes)
            });
            f();
            reader.join().unwrap()
        })
    }
}

impl Drop for Topology {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

fn signal(child: &Child, name: &str) {
    sh(&format!("kill -{name} {}", child.id()));
}

fn router() -> Option<&'static str> {
    let there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    match namespaces() {
        None if !there("iptables") || !there("ip6tables") => Some("there is no iptables"),
        None if !Path::new("/proc/net/netfilter/nfnetlink_queue").exists() => {
            Some("the kernel has no NFQUEUE")
        }
        other => other,
    }
}

/// One test, since a gateway's journal is the machine's.
#[test]
fn a_router_marks_survives_being_killed_and_leaves_nothing() {
    if !possible(router()) {
        return;
    }
    let net = Topology::new();
    let clean = net.rules();
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let id = format!("t{}", std::process::id());
    let base = [
        "--wan",
        "g1",
        "--up",
        "5Mbit/s",
        "--down",
        "20Mbit/s",
        "--aqm",
        "red",
        "--ecn",
        "--buffer",
        "60packets",
    ];
    let with = |more: &[&'static str]| [&base[..], more].concat();

    // Bad input changes nothing.
    for (args, expected) in [
        (with(&["--id", "x y"]), "1 to 12 letters"),
        (with(&["--set", "max_p=7"]), "max_p"),
        (vec!["--wan", "none", "--up", "1Mbit/s", "--down", "1Mbit/s"], "no device \"none\""),
    ] {
        let done = net.gateway(&[&["run"], &args[..]].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && said.contains(expected), "{said}");
        assert_eq!(net.rules(), clean);
    }

    // Real traffic: marks reach the receiver, the log replays.
    let args = [&["run"], &base[..], &["--id", &id, "--log", log.to_str().unwrap()]].concat();
    let child = net.start(&args);
    assert_ne!(net.rules(), clean);
    let again = net.gateway(&args).output().unwrap();
    assert!(
        String::from_utf8_lossy(&again.stderr).contains("already"),
        "a second one with the same id is refused"
    );
    let bytes = {
        let listener = net.within(2, || TcpListener::bind("10.2.0.1:5001").unwrap());
        let mut to = net.within(0, || TcpStream::connect("10.2.0.1:5001").unwrap());
        to.set_write_timeout(Some(Wait::from_millis(100))).unwrap();
        let (mut from, _) = listener.accept().unwrap();
        let reader = std::thread::spawn(move || std::io::copy(&mut from, &mut std::io::sink()).unwrap_or(0));
        let end = Instant::now() + Wait::from_secs(3);
        while Instant::now() < end {
            let _ = to.write(&[0; 65536]);
        }
        drop(to);
        reader.join().unwrap()
    };
    // 5 Mbit/s for 3 s are 1.9 MB.
    assert!((1_000_000..2_600_000).contains(&bytes), "{bytes}");
    // A bad reload changes nothing, a good one is part of the log.
    let bad = net.gateway(&["reload", "--id", &id, "--aqm", "codel", "--set", "target=1s"]).output().unwrap();
    assert_eq!(bad.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&bad.stderr).contains("goes on as it was"), "{bad:?}");
    let good =
        net.gateway(&["reload", "--id", &id, "--aqm", "pi", "--set", "q_ref=20packets"]).output().unwrap();
    assert!(good.status.success(), "{good:?}");
    let (_, more) = net.stream(Wait::from_secs(1), || {});
    assert!(more > 100_000, "{more}");
    let text = net.within(2, || std::fs::read_to_string("/proc/thread-self/net/netstat").unwrap());
    assert!(counter(&text, "InCEPkts") > 0 && counter(&text, "InCsumErrors") == 0);
    signal(&child, "TERM");
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success() && String::from_utf8_lossy(&done.stdout).contains("pi "), "{done:?}");
    assert_eq!(net.rules(), clean);
    check_one(&std::fs::read(&log).unwrap());

    // Killed: traffic goes on, and what is left can be undone.
    let args = [&["run"], &base[..], &["--id", &id]].concat();
    let mut child = net.start(&args);
    let (gap, bytes) = net.stream(Wait::from_secs(2), || {
        std::thread::sleep(Wait::from_millis(700));
        signal(&child, "KILL");
    });
    child.wait().unwrap();
    println!("killed: the longest gap was {gap:?}");
    assert!(bytes > 400_000, "{bytes}");
    // Lost packets are sent again after a round trip or, at the tail, a timeout of 200 ms.
    assert!(gap < Wait::from_millis(600), "{gap:?}");
    assert_ne!(net.rules(), clean);
    let done = net.gateway(&["clean", "--id", &id]).output().unwrap();
    assert!(done.status.success());
    assert_eq!(net.rules(), clean);

    // Killed again, and the next one undoes it; stopped, and traffic passes once the kernel's queue is full.
    for _ in 0..3 {
        let mut child = net.start(&args);
        signal(&child, "KILL");
        child.wait().unwrap();
    }
    let child = net.start(&args);
    signal(&child, "TERM");
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(net.rules(), clean);
    assert!(!Path::new("/run/quell").join(format!("{id}.json")).exists());
}

fn check_one(log: &[u8]) {
    let found = replay(&mut LogReader::new(BufReader::new(log)).unwrap(), None).unwrap();
    assert!(found.closed && found.lines[0].arrivals > 500);
    assert_eq!((found.lines[0].differ, found.lines[1].differ), (0, 0));
}

/// The addresses of flows are within their hosts' networks.
#[test]
fn flows_have_addresses_of_their_own() {
    assert_eq!(Side::Near.address(address(0)).to_string(), "10.64.0.16");
    assert_eq!(Side::Far.address(address(300)).to_string(), "10.65.1.60");
}
