//! What a gateway shows, with made-up packets.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use crate::common::{allocations, line, named, packet};
use quell_aqm::catalog::CATALOG;
use quell_aqm::{Rng, Seed};
use quell_gateway::metrics::export::{METRICS, Type, prometheus};
use quell_gateway::metrics::{
    Endpoint, KernelDrops, Kind, LogState, Monitor, Publisher, Server, Status, Thresholds, digest,
};
use quell_gateway::{Delays, LineConfig, LogHeader, Pace, Packet, Ports, Recorder, Relay};
use quell_units::{BitRate, Duration, Time};

/// Ports that give bursts of packets to every path.
struct Fake {
    rng: Rng,
    paths: u64,
    most: u64,
}

impl Ports for Fake {
    fn receive(&mut self, _: usize, arrivals: &mut Vec<(u8, Packet)>) -> io::Result<()> {
        let burst = if self.most == 0 { 0 } else { self.rng.next_u64() % (self.most + 1) };
        for _ in 0..burst {
            arrivals.push(packet(&mut self.rng, 0, self.paths as u8));
        }
        Ok(())
    }
    fn forward(&mut self, _: u8, _: &Packet) {}
    fn discard(&mut self, _: u8, _: &Packet) {}
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn config(name: &str, aqm: &str) -> LineConfig {
    line(name, named(aqm))
}

/// A relay of these lines, and a path without one.
fn relay(lines: &[LineConfig], recorder: Option<Recorder>) -> Relay<Fake> {
    let delays = Delays::all(Duration::from_millis(2));
    let with = lines.iter().map(|config| (Some(config.clone()), delays.clone()));
    let paths: Vec<_> = with.chain([(None, delays.clone())]).collect();
    let rng = Seed(3).stream("fake");
    let ports = Fake { rng, paths: paths.len() as u64, most: 6 };
    Relay::new(ports, paths, Pace::default(), recorder).unwrap()
}

/// Turns every `gap` for `time`; publishes every 100 ms and lets the monitor look.
fn drive(
    relay: &mut Relay<Fake>,
    publisher: &mut Publisher,
    monitor: &mut Monitor,
    now: &mut Time,
    time: Duration,
    kernel: KernelDrops,
) -> Vec<String> {
    let mut said = Vec::new();
    let gap = Duration::from_micros(500);
    for turn in 0..time.nanos() / gap.nanos() {
        relay.turn(|| *now).unwrap();
        *now += gap;
        if turn % 200 == 199 {
            assert!(publisher.publish(relay, kernel, *now));
            let notices = monitor.turn(*now, now.nanos() / 1_000_000_000);
            said.extend(notices.iter().map(ToString::to_string));
        }
    }
    said
}

/// A sample: its name, its labels in order, its value.
type Sample = (String, Vec<(String, String)>, f64);

/// Reads the text format 0.0.4 and refuses everything that it does not allow.
/// Shows the page to Prometheus' own tool, where there is one.
fn linted(text: &str) {
    use std::process::{Command, Stdio};
    let mut tool = Command::new("promtool");
    tool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = tool.spawn() else {
        println!("promtool is not here: only the names were looked at (docs.rs)");
        return;
    };
    io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn parse(text: &str) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    let (mut families, mut series) = (BTreeSet::new(), BTreeSet::new());
    let mut family: Option<(String, String)> = None;
    let is_name = |name: &str| {
        let mut chars = name.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == ':')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
    };
    assert!(text.ends_with('\n'));
    let mut helped = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(is_name(name) && !help.trim().is_empty(), "{line}");
            helped = Some(name.to_string());
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(helped.take().as_deref(), Some(name), "{line}");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(families.insert(name.to_string()), "{name} comes twice");
            family = Some((name.to_string(), kind.to_string()));
            continue;
        }
        assert!(!line.is_empty() && !line.starts_with('#'), "{line:?}");
        let name_end = line.find(['{', ' ']).unwrap();
        let (name, mut rest) = line.split_at(name_end);
        assert!(is_name(name), "{line}");
        let mut labels = Vec::new();
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner;
            loop {
                let (label, after) = rest.split_once("=\"").unwrap();
                assert!(is_name(label) && !label.contains(':'), "{line}");
                let (mut value, mut chars) = (String::new(), after.char_indices());
                let end = loop {
                    match chars.next().unwrap() {
                        (_, '\\') => value.push(match chars.next().unwrap().1 {
                            'n' => '\n',
                            c @ ('\\' | '"') => c,
                            c => panic!("\\{c} in {line}"),
                        }),
                        (at, '"') => break at,
                        (_, c) => value.push(c),
                    }
                };
                labels.push((label.to_string(), value));
                rest = &after[end + 1..];
                match rest.strip_prefix(',') {
                    Some(more) => rest = more,
                    None => break,
                }
            }
            rest = rest.strip_prefix('}').unwrap();
        }
        let value = rest.strip_prefix(' ').unwrap();
        assert!(value == "NaN" || value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
        let (of, kind) = family.as_ref().unwrap();
        match kind.as_str() {
            "histogram" => {
                let suffix = name.strip_prefix(of.as_str()).unwrap();
                assert!(["_bucket", "_sum", "_count"].contains(&suffix), "{line}");
                assert_eq!(labels.iter().any(|(l, _)| l == "le"), suffix == "_bucket", "{line}");
            }
            _ => assert_eq!(name, of, "{line}"),
        }
        assert!(series.insert(format!("{name}{labels:?}")), "{line} comes twice");
        samples.push((name.to_string(), labels, value.parse().unwrap()));
    }
    histograms_are_sound(&samples);
    samples
}

/// Buckets grow with their bound, and the last one is the count.
fn histograms_are_sound(samples: &[Sample]) {
    let mut buckets: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (name, labels, value) in samples {
        let Some(family) = name.strip_suffix("_bucket") else { continue };
        let ((_, le), others) = labels.split_last().unwrap();
        let bound = if le == "+Inf" { f64::INFINITY } else { le.parse().unwrap() };
        buckets.entry(format!("{family}_count{others:?}")).or_default().push((bound, *value));
    }
    assert!(!buckets.is_empty());
    for (key, found) in &buckets {
        assert!(found.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1), "{key}: {found:?}");
        let count = samples.iter().find(|(name, labels, _)| format!("{name}{labels:?}") == *key).unwrap().2;
        assert_eq!(*found.last().unwrap(), (f64::INFINITY, count), "{key}");
    }
}

/// The sum of a metric's samples that have these labels.
fn sum(samples: &[Sample], name: &str, with: &[(&str, &str)]) -> f64 {
    let has =
        |labels: &[(String, String)]| with.iter().all(|(l, v)| labels.iter().any(|(a, b)| a == l && b == v));
    let found: Vec<f64> = samples.iter().filter(|(n, l, _)| n == name && has(l)).map(|s| s.2).collect();
    assert!(!found.is_empty(), "{name} {with:?}");
    found.iter().sum()
}

#[test]
fn everything_is_shown_and_the_counters_balance() {
    let lines = [
        config("up", "pie"),
        config("down", "red"),
        config("odd\n\"name\\", "codel"),
        config("dual", "dualpi2"),
    ];
    let header = LogHeader { version: "test".into(), started_unix_s: 0, lines: lines.to_vec() };
    let mut relay = relay(&lines, Some(Recorder::new(io::sink(), &header).unwrap()));
    relay.shadow(0, config("beside", "pi")).unwrap();
    relay.shadow(0, config("beside", "drop-tail")).unwrap();
    relay.ports.most = 12;
    let (mut publisher, reader) = Publisher::new(&relay);
    let mut monitor = Monitor::new(reader, Thresholds::default());
    let (mut now, mut kernel) = (Time::ZERO, KernelDrops::default());
    drive(&mut relay, &mut publisher, &mut monitor, &mut now, Duration::from_secs(3), kernel);
    kernel.user_dropped = 5;
    let second = Duration::from_secs(1);
    let said = drive(&mut relay, &mut publisher, &mut monitor, &mut now, second, kernel);
    assert!(
        said.contains(&"the kernel drops packets that the algorithm never sees (kernel-drops)".to_string()),
        "{said:?}"
    );
    let status = monitor.status(now);
    let text = prometheus(&status);
    linted(&text);
    let samples = parse(&text);
    // Each metric is there, with its labels; nothing else is.
    for metric in METRICS {
        let suffixes: &[&str] = match metric.kind {
            Type::Histogram => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        for suffix in suffixes {
            let name = format!("{}{suffix}", metric.name);
            let found: Vec<_> = samples.iter().filter(|(n, ..)| *n == name).collect();
            assert!(!found.is_empty(), "{name}");
            for (_, labels, _) in found {
                let labels: Vec<_> = labels.iter().map(|(l, _)| l.as_str()).filter(|l| *l != "le").collect();
                assert_eq!(labels, metric.labels, "{name}");
            }
        }
    }
    let families: Vec<&str> =
        text.lines().filter_map(|l| l.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    assert_eq!(families, METRICS.iter().map(|m| m.name).collect::<Vec<_>>());
    // RFC 9332's counters, of the lines and of what judges beside them.
    for name in ["up", "down", "odd\n\"name\\", "dual"] {
        let of = |metric: &str, more: &[(&str, &str)]| {
            sum(&samples, metric, &[&[("direction", name)], more].concat())
        };
        for unit in ["packets", "bytes"] {
            let arrived = of(&format!("quell_arrived_{unit}_total"), &[]);
            let enqueued = of(&format!("quell_enqueued_{unit}_total"), &[]);
            let dropped = |place| of(&format!("quell_dropped_{unit}_total"), &[("place", place)]);
            assert_eq!(arrived, enqueued + dropped("arrival"), "{name}");
            let left =
                of(&format!("quell_forwarded_{unit}_total"), &[]) + of(&format!("quell_queue_{unit}"), &[]);
            assert_eq!(enqueued, left + dropped("stored"), "{name}");
            assert!(arrived > 1000.0 && dropped("arrival") + dropped("stored") > 10.0, "{name}");
        }
        assert_eq!(
            of("quell_sojourn_seconds_count", &[]),
            of("quell_forwarded_packets_total", &[]),
            "{name}"
        );
        let share = of("quell_ce_arrived_packets_total", &[]) / of("quell_arrived_packets_total", &[]);
        assert!((share - 0.25).abs() < 0.05, "{share}");
        assert!(of("quell_sojourn_recent_seconds", &[("percentile", "99")]) > 0.01);
        assert_eq!(of("quell_rate_bytes_per_second", &[]), 1.25e6);
    }
    lanes_add_up(&samples, &status);
    assert!(sum(&samples, "quell_marked_packets_total", &[]) > 100.0);
    assert!(sum(&samples, "quell_forwarded_packets_total", &[("direction", "path-4")]) > 1000.0);
    assert_eq!(sum(&samples, "quell_kernel_dropped_packets_total", &[("where", "user")]), 5.0);
    assert_eq!(sum(&samples, "quell_log_state", &[("state", "writing")]), 1.0);
    assert_eq!(sum(&samples, "quell_config_info", &[("digest", &digest(&lines[1]))]), 1.0);
    let shadows = sum(&samples, "quell_shadow_forwarded_packets_total", &[("algorithm", "drop-tail")]);
    assert!(shadows > 1000.0);
    // What went in a second is close to the rate, at most.
    let up = &status.lines[0].recent;
    assert!((0.95e7..1.02e7).contains(&up.out_bps) && up.in_bps.unwrap() > up.out_bps, "{up:?}");
    assert!(up.dropped.unwrap() > 0.0, "{up:?}");
    assert!(status.lines.iter().any(|line| line.recent.marked > Some(0.0)));
    // JSON holds the same.
    let json = serde_json::to_string(&status).unwrap();
    assert_eq!(serde_json::from_str::<Status>(&json).unwrap(), status);
}

/// What is said of the two queues of DualPI2 is what is said of both together, and each balances.
fn lanes_add_up(samples: &[Sample], status: &Status) {
    let lane = |metric: &str, lane: &str, more: &[(&str, &str)]| {
        let with = [&[("direction", "dual"), ("lane", lane)], more].concat();
        sum(samples, &format!("quell_lane_{metric}"), &with)
    };
    let both = |metric: &str, more: &[(&str, &str)]| {
        let with = [&[("direction", "dual")], more].concat();
        let line = sum(samples, &format!("quell_{metric}"), &with);
        assert_eq!(line, lane(metric, "c", more) + lane(metric, "l", more), "{metric} {more:?}");
    };
    for metric in [
        "queue_packets",
        "queue_bytes",
        "arrived_packets_total",
        "ce_arrived_packets_total",
        "enqueued_packets_total",
        "forwarded_packets_total",
        "forwarded_bytes_total",
        "marked_packets_total",
        "sojourn_seconds_count",
    ] {
        both(metric, &[]);
    }
    for place in ["arrival", "stored"] {
        both("dropped_ecn_capable_packets_total", &[("place", place)]);
        for cause in ["early", "forced", "overflow"] {
            both("dropped_packets_total", &[("place", place), ("cause", cause)]);
        }
    }
    for name in ["c", "l"] {
        let dropped = |place| lane("dropped_packets_total", name, &[("place", place)]);
        let arrived = lane("arrived_packets_total", name, &[]);
        let enqueued = lane("enqueued_packets_total", name, &[]);
        assert_eq!(arrived, enqueued + dropped("arrival"), "{name}");
        let left = lane("forwarded_packets_total", name, &[]) + lane("queue_packets", name, &[]);
        assert_eq!(enqueued, left + dropped("stored"), "{name}");
        assert!(arrived > 1000.0 && lane("marked_packets_total", name, &[]) > 0.0, "{name}");
    }
    // ECT(1) and CE, half of what comes, wait in L; the other half has no CE.
    assert_eq!(lane("ce_arrived_packets_total", "c", &[]), 0.0);
    assert!(lane("ce_arrived_packets_total", "l", &[]) > 500.0);
    let p99 = |name| lane("sojourn_recent_seconds", name, &[("percentile", "99")]);
    assert!(p99("l") < p99("c"), "{} {}", p99("l"), p99("c"));
    // No other line has queues with names.
    let names: Vec<Vec<&str>> =
        status.lines.iter().map(|line| line.lanes.iter().map(|l| l.name.as_str()).collect()).collect();
    assert_eq!(names, [vec![], vec![], vec![], vec!["c", "l"], vec![]]);
}

/// The queues of a line are those of its configuration, and begin again with it.
#[test]
fn a_reload_exchanges_the_queues_of_a_line() {
    let mut relay = relay(&[config("up", "codel")], None);
    let (mut publisher, reader) = Publisher::new(&relay);
    let mut monitor = Monitor::new(reader, Thresholds::default());
    let (mut now, kernel, second) = (Time::ZERO, KernelDrops::default(), Duration::from_secs(1));
    let mut names = |relay: &mut Relay<Fake>, now: &mut Time, aqm: &str| {
        relay.reconfigure(0, config("up", aqm), *now).unwrap();
        drive(relay, &mut publisher, &mut monitor, now, second, kernel);
        let status = monitor.status(*now);
        parse(&prometheus(&status));
        status.lines[0].lanes.iter().map(|l| (l.name.clone(), l.counts.departed.packets)).collect::<Vec<_>>()
    };
    let first = names(&mut relay, &mut now, "dualpi2");
    assert!(first.len() == 2 && first.iter().all(|(_, sent)| *sent > 100), "{first:?}");
    let again = names(&mut relay, &mut now, "curvy-red");
    assert!(again.iter().zip(&first).all(|(a, b)| a.0 == b.0 && a.1 < b.1 * 3 / 2), "{again:?} {first:?}");
    assert!(names(&mut relay, &mut now, "fq-codel").is_empty());
}

#[test]
fn a_reload_changes_what_is_said_of_a_line() {
    let mut relay = relay(&[config("up", "red")], None);
    let (mut publisher, reader) = Publisher::new(&relay);
    let mut monitor = Monitor::new(reader, Thresholds::default());
    let (mut now, kernel, second) = (Time::ZERO, KernelDrops::default(), Duration::from_secs(1));
    drive(&mut relay, &mut publisher, &mut monitor, &mut now, second, kernel);
    let before = monitor.status(now).lines[0].clone();
    let new = LineConfig { rate: BitRate::from_bps(5_000_000), ..config("up", "codel") };
    relay.reconfigure(0, new.clone(), now).unwrap();
    drive(&mut relay, &mut publisher, &mut monitor, &mut now, second, kernel);
    let after = monitor.status(now).lines[0].clone();
    let (before, after) = (before.queue.unwrap(), after.queue.unwrap());
    assert_eq!((before.algorithm.as_str(), after.algorithm.as_str()), ("red", "codel"));
    assert_eq!((after.rate_bps, &after.digest), (5_000_000, &digest(&new)));
    assert!(before.digest != after.digest && after.counts.arrived.packets > before.counts.arrived.packets);
}

#[test]
fn publishing_allocates_nothing() {
    for entry in CATALOG {
        let mut relay = relay(&[config("up", entry.name)], None);
        relay.shadow(0, config("beside", "pie")).unwrap();
        let (mut publisher, reader) = Publisher::new(&relay);
        let mut monitor = Monitor::new(reader, Thresholds::default());
        let mut now = Time::ZERO;
        let kernel = KernelDrops::default();
        drive(&mut relay, &mut publisher, &mut monitor, &mut now, Duration::from_secs(1), kernel);
        let before = allocations();
        for _ in 0..4 {
            assert!(publisher.publish(&relay, kernel, now));
        }
        assert_eq!(allocations() - before, 0, "{}", entry.name);
    }
}

/// Overload raises, and only a while of something better clears.
#[test]
fn anomalies_have_hysteresis() {
    let line = LineConfig { buffer: "400 packets".parse().unwrap(), ..config("up", "drop-tail") };
    let mut relay = relay(&[line], None);
    let (mut publisher, reader) = Publisher::new(&relay);
    let mut monitor = Monitor::new(reader, Thresholds::default());
    let (mut now, mut kernel) = (Time::ZERO, KernelDrops::default());
    let mut run = |monitor: &mut Monitor, most: u64, seconds: u64, kernel: KernelDrops| {
        relay.ports.most = most;
        drive(&mut relay, &mut publisher, monitor, &mut now, Duration::from_secs(seconds), kernel)
    };
    // A second of overload is nothing, nor is the next, in which the queue empties.
    assert_eq!(run(&mut monitor, 40, 1, kernel), [""; 0]);
    assert_eq!(run(&mut monitor, 0, 2, kernel), [""; 0]);
    let said = run(&mut monitor, 40, 5, kernel);
    assert_eq!(
        said,
        [
            "up: the buffer overflows: more packets arrive than the algorithm can control (overflow)",
            "up: packets wait long (delay)",
        ]
    );
    // A pause in it does not end it, and it is not raised again.
    assert_eq!(run(&mut monitor, 0, 8, kernel), [""; 0]);
    assert_eq!(run(&mut monitor, 40, 8, kernel), [""; 0]);
    assert_eq!(run(&mut monitor, 0, 14, kernel), ["up: overflow: over", "up: delay: over"]);
    kernel.refused = 1;
    assert_eq!(
        run(&mut monitor, 1, 2, kernel),
        ["the kernel drops packets that the algorithm never sees (kernel-drops)"]
    );
    assert_eq!(run(&mut monitor, 1, 11, kernel), ["kernel-drops: over"]);
    // The worker hangs.
    let status = monitor.status(now);
    assert_eq!((status.anomalies.len(), status.age_s), (0, 0.0));
    let later = now + Duration::from_millis(2500);
    assert_eq!(monitor.turn(later, 1000)[0].to_string(), "the worker does not answer (stalled)");
    let status = monitor.status(later);
    assert_eq!((status.anomalies[0].kind, status.anomalies[0].since_unix_s), (Kind::Stalled, 1000));
    assert_eq!(status.age_s, 2.5);
    let times: Vec<_> = status.raised.iter().filter(|r| r.times > 0).map(|r| (r.kind, r.times)).collect();
    assert_eq!(times, [(Kind::Overflow, 1), (Kind::Delay, 1), (Kind::KernelDrops, 1), (Kind::Stalled, 1)]);
}

#[test]
fn late_packets_and_a_log_that_ended_are_anomalies() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.first() == Some(&b'q') {
                Ok(bytes.len())
            } else {
                Err(io::ErrorKind::StorageFull.into())
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let line = config("up", "drop-tail");
    let header = LogHeader { version: "test".into(), started_unix_s: 0, lines: vec![line.clone()] };
    let mut relay = relay(&[line], Some(Recorder::new(Full, &header).unwrap()));
    relay.ports.most = 3;
    let (mut publisher, reader) = Publisher::new(&relay);
    let mut monitor = Monitor::new(reader, Thresholds::default());
    let mut said = Vec::new();
    let mut now = Time::ZERO;
    for _ in 0..3000 {
        relay.turn(|| now).unwrap();
        now += Duration::from_millis(5);
        publisher.publish(&relay, KernelDrops::default(), now);
        said.extend(monitor.turn(now, 50).iter().map(|n| (n.kind, n.raised)));
        // The log's writer has a thread of its own.
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    said.sort_by_key(|(kind, _)| kind.name());
    assert_eq!(said, [(Kind::Lateness, true), (Kind::Lateness, true), (Kind::LogEnded, true)]);
    let status = monitor.status(now);
    assert!(matches!(&status.log, LogState::Ended { why } if why.contains("disk")), "{:?}", status.log);
    let ended = status.anomalies.iter().find(|a| a.kind == Kind::LogEnded).unwrap();
    assert!(ended.says.ends_with("is the disk full?"), "{}", ended.says);
    assert_eq!(status.anomalies.len(), 3);
}

/// A server with a relay behind it that has run for a second, and the folder of its socket.
fn serve(
    endpoint: impl FnOnce(&std::path::Path) -> Endpoint,
) -> (Server, tempfile::TempDir, Publisher, Relay<Fake>) {
    let mut relay = relay(&[config("up", "pie"), config("down", "codel")], None);
    let (mut publisher, reader) = Publisher::new(&relay);
    let mut now = Time::ZERO;
    for _ in 0..2000 {
        relay.turn(|| now).unwrap();
        now += Duration::from_micros(500);
    }
    publisher.publish(&relay, KernelDrops::default(), now);
    let dir = tempfile::tempdir().unwrap();
    let monitor = Monitor::new(reader, Thresholds::default());
    let server = Server::start(&endpoint(dir.path()), monitor, None, |_| ()).unwrap();
    (server, dir, publisher, relay)
}

fn ask(mut stream: impl Read + Write, request: &str) -> (String, String) {
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_string(), body.to_string())
}

/// Whether the threads that serve have no capability, by the kernel's account.
fn servers_are_confined() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let read =
        |task: &std::fs::DirEntry, file| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
    let threads = tasks.filter(|task| read(task, "comm") == "quell-metrics\n");
    let states: Vec<String> =
        threads.map(|task| read(&task, "status")).filter(|text| !text.is_empty()).collect();
    let has = |text: &str, line: &str| text.lines().any(|l| l == line);
    !states.is_empty()
        && states.iter().all(|s| has(s, "CapEff:\t0000000000000000") && has(s, "NoNewPrivs:\t1"))
}

#[test]
fn a_socket_of_its_owner_answers() {
    let (server, dir, _publisher, _relay) = serve(|dir| Endpoint::unix(dir.join("run/gateway.sock")));
    let path = dir.path().join("run/gateway.sock");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let connect = || UnixStream::connect(&path).unwrap();
    assert!((0..100).any(|_| {
        // Threads of other tests have the same name, and may just begin.
        std::thread::sleep(std::time::Duration::from_millis(10));
        servers_are_confined()
    }));
    let (head, body) = ask(connect(), "GET /metrics HTTP/1.1\r\nHost: any.name\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    assert!(sum(&parse(&body), "quell_arrived_packets_total", &[]) > 1000.0);
    let (_, body) = ask(connect(), "GET /status HTTP/1.1\r\n\r\n");
    assert_eq!(serde_json::from_str::<Status>(&body).unwrap().lines.len(), 3);
    for (request, wanted) in [
        ("POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405"),
        ("GET /etc/passwd HTTP/1.1\r\n\r\n", "HTTP/1.1 404"),
        ("\u{16}\u{3}\u{1}\u{0}", "HTTP/1.1 400"),
        (&format!("GET /{} HTTP/1.1\r\n", "x".repeat(5000)), "HTTP/1.1 431"),
    ] {
        let (head, _) = ask(connect(), request);
        assert!(head.starts_with(wanted), "{head}");
    }
    // A second gateway does not take its place.
    let (_, reader) = Publisher::new(&relay(&[], None));
    let again =
        Server::start(&Endpoint::unix(&path), Monitor::new(reader, Thresholds::default()), None, |_| ());
    let error = again.err().unwrap();
    assert!(error.to_string().contains("is in use by another gateway"), "{error}");
    drop(server);
    assert!(!path.exists());
    // What a killed one left does.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let (_, reader) = Publisher::new(&relay(&[], None));
    let server =
        Server::start(&Endpoint::unix(&path), Monitor::new(reader, Thresholds::default()), None, |_| ());
    assert!(ask(connect(), "GET /status HTTP/1.1\r\n\r\n").0.contains("200 OK"));
    drop(server.unwrap());
}

#[test]
fn clients_that_do_not_read_or_ask_stop_nobody() {
    let (server, _dir, mut publisher, relay) =
        serve(|_| Endpoint::tcp("127.0.0.1:0".parse().unwrap(), false).unwrap());
    let address = server.address().unwrap();
    let idle: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
    // One asks and never reads; another asks a byte at a time.
    let mut deaf = TcpStream::connect(address).unwrap();
    deaf.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut slow = TcpStream::connect(address).unwrap();
    slow.write_all(b"G").unwrap();
    let began = Instant::now();
    for i in 0..50 {
        assert!(publisher.publish(&relay, KernelDrops::default(), Time::from_nanos(2_000_000_000 + i)));
        let (head, body) = ask(TcpStream::connect(address).unwrap(), "GET /metrics HTTP/1.1\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200") && body.len() > 1000);
    }
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    // Those that were too slow have been let go.
    for mut stream in idle.into_iter().chain([slow]) {
        stream.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        let mut rest = Vec::new();
        // The end, or that the connection was reset: not that nothing comes.
        let read = stream.read_to_end(&mut rest).map_err(|e| e.kind());
        assert!(matches!(read, Ok(0) | Err(io::ErrorKind::ConnectionReset)), "{read:?}");
    }
    let refused = ask(TcpStream::connect(address).unwrap(), "GET /status HTTP/1.1\r\nHost: a.name\r\n\r\n").0;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
}

/// What a snapshot costs the worker; not a test of anything.
#[test]
#[ignore = "measures"]
fn what_publishing_costs() {
    for (lines, shadows) in [(1, 0), (2, 0), (2, 2)] {
        let configs: Vec<_> = (0..lines).map(|i| config(&format!("line-{i}"), "pie")).collect();
        let mut relay = relay(&configs, None);
        for path in 0..lines {
            for _ in 0..shadows {
                relay.shadow(path, config("beside", "red")).unwrap();
            }
        }
        let (mut publisher, reader) = Publisher::new(&relay);
        let mut monitor = Monitor::new(reader, Thresholds::default());
        let mut now = Time::ZERO;
        let (kernel, time) = (KernelDrops::default(), Duration::from_secs(5));
        drive(&mut relay, &mut publisher, &mut monitor, &mut now, time, kernel);
        let mut costs: Vec<_> = (0..2001)
            .map(|_| {
                let began = Instant::now();
                publisher.publish(&relay, kernel, now);
                began.elapsed().as_nanos()
            })
            .collect();
        costs.sort_unstable();
        let began = Instant::now();
        let text = prometheus(&monitor.status(now));
        println!(
            "{lines} lines and a path without, {shadows} shadows each: publish {} ns median, {} ns P99; a page of {} bytes takes {:?}",
            costs[1000],
            costs[1980],
            text.len(),
            began.elapsed()
        );
    }
}

/// The clock of the day may jump by years; what is raised and cleared, and when, goes by one that does not.
#[test]
fn a_clock_that_jumps_raises_and_clears_nothing() {
    let said = |clock: fn(u64) -> u64| {
        let lines = [config("up", "drop-tail")];
        let mut relay = relay(&lines, None);
        relay.ports.most = 12;
        let (mut publisher, reader) = Publisher::new(&relay);
        let mut monitor = Monitor::new(reader, Thresholds::default());
        let (mut now, mut said) = (Time::ZERO, Vec::new());
        for turn in 0..60_000 {
            // Overloaded, then idle.
            relay.ports.most = if turn < 20_000 { 12 } else { 0 };
            relay.turn(|| now).unwrap();
            if turn % 200 == 0 {
                publisher.publish(&relay, KernelDrops::default(), now);
                said.extend(
                    monitor.turn(now, clock(turn / 2000)).iter().map(|notice| (turn, notice.to_string())),
                );
            }
            now += Duration::from_micros(500);
        }
        let raised: Vec<u64> = monitor.status(now).raised.iter().map(|r| r.times).collect();
        (said, raised)
    };
    let steady = said(|s| 1_700_000_000 + s);
    assert!(steady.0.len() >= 2 && steady.1.iter().any(|times| *times > 0), "{steady:?}");
    // Back to the beginning, far ahead, and both in turn.
    for clock in [|_| 0, |s| u64::MAX - s, |s| if s % 2 == 0 { 0 } else { u64::MAX }] {
        assert_eq!(said(clock), steady);
    }
}
