//! `quell wire` and `quell gateway replay` as a user types them.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Output};

fn quell(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quell")).current_dir(dir).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether real packets are possible here; says why not.
fn possible() -> bool {
    let ip = Command::new("ip").arg("-V").output().is_ok();
    let possible = ip && quell_gateway::wire::may_make_namespaces();
    if !possible {
        let why = "network namespaces need root and `ip` here";
        assert!(std::env::var_os("QUELL_REQUIRE_NETNS").is_none(), "QUELL_REQUIRE_NETNS is set, and {why}");
        println!("skipped: {why}");
    }
    possible
}

const SCENARIO: &str = r#"
schema = 1
dialect = "linux"
title = "Four flows"
duration = "3 s"
warmup = "1 s"
seeds = 1
[dumbbell]
rate = "10 Mbit/s"
delay = "5 ms"
buffer = "60 packets"
[[aqm]]
algorithm = "codel"
[[flows]]
name = "bulk"
count = 3
rtt = "20 ms"
tcp = { packet = "1500 B" }
[[flows]]
name = "web"
kind = "transfers"
rtt = "20 ms"
size = "10 packets"
think = { exponential = "100 ms" }
tcp = { packet = "1500 B" }
[[flows]]
name = "voice"
kind = "udp"
rate = "64 kbit/s"
packet = "200 B"
[[flows]]
name = "back"
direction = "reverse"
rtt = "20 ms"
tcp = { packet = "1500 B" }
"#;

#[test]
fn what_no_wire_is_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let film = "kind = \"video\"\nrates = [\"300 kbit/s\", \"1 Mbit/s\"]\nchunk = \"1 s\"\nplayback_buffer = \"9 s\"\nstart_up = \"1 s\"";
    write(
        "film.toml",
        &SCENARIO
            .replace("name = \"web\"\nkind = \"transfers\"", &format!("name = \"web\"\n{film}"))
            .replace("size = \"10 packets\"\nthink = { exponential = \"100 ms\" }\n", ""),
    );
    write(
        "late.toml",
        &SCENARIO.replace(
            "buffer = \"60 packets\"",
            "buffer = \"60 packets\"\nchanges = [{ at = \"1 s\", rate = \"20 Gbit/s\" }]",
        ),
    );
    write(
        "ledbat.toml",
        &SCENARIO.replace("dialect = \"linux\"\n", "").replace(
            "tcp = { packet = \"1500 B\" }\n[[flows]]\nname = \"web\"",
            "tcp = { packet = \"1500 B\", congestion = \"ledbat\" }\n[[flows]]\nname = \"web\"",
        ),
    );
    let buffer = "buffer = \"60 packets\"";
    assert!(SCENARIO.contains(buffer));
    for (name, key) in [
        ("cell.toml", "cell = { users = [{ name = \"all\" }] }"),
        ("handovers.toml", "handovers = { every = \"1 s\", outage = \"50 ms\", lost = true }"),
        ("wifi.toml", "wifi = { stations = [{ name = \"all\", rate = \"10 Mbit/s\" }] }"),
    ] {
        write(name, &SCENARIO.replace(buffer, &format!("{buffer}\n{key}")));
    }
    for (args, expected) in [
        (vec!["wire", "cell.toml"], "dumbbell.cell: a wire has no intervals; leave it out"),
        (vec!["wire", "handovers.toml"], "dumbbell.handovers: a wire's losses follow a law; leave lost out"),
        (vec!["wire", "wifi.toml"], "dumbbell.wifi: a wire is no channel that stations share"),
        (vec!["wire"], "give a rate or a scenario"),
        (vec!["wire", "--rate", "10Mbit/s", "--aqm", "none", "--", "true"], "\"none\" is not an algorithm"),
        (
            vec!["wire", "--rate", "10Mbit/s", "--congestion", "none", "--", "true"],
            "this kernel does not have",
        ),
        (vec!["wire", "--rate", "10Mbit/s", "--mtu", "100", "--", "true"], "--mtu: 100 must be 576"),
        (
            vec!["wire", "--rate", "10Mbit/s", "--out", "x", "--", "true"],
            "--out: applies to the results of a scenario",
        ),
        (
            vec!["wire", "--rate", "10Mbit/s", "--aqm", "codel,pie", "--", "true"],
            "--aqm: codel, pie are 2 algorithms, but a wire for a command has one",
        ),
        (vec!["wire", "film.toml", "--aqm", "none"], "unknown algorithm"),
        (vec!["wire", "--rate", "10Mbit/s", "--seeds", "3", "--", "true"], "--seeds: applies to the results"),
        (vec!["wire", "film.toml"], "flows.web.kind = \"video\": live hosts have no video player"),
        (vec!["wire", "late.toml"], "dumbbell.rate = 20 Gbit/s: a wire relays at most 10 Gbit/s"),
        (vec!["wire", "ledbat.toml"], "Linux has no congestion control \"ledbat\""),
        (vec!["gateway", "replay", "film.toml"], "is not a log of"),
        (vec!["gateway", "replay", "missing"], "missing: "),
    ] {
        let done = quell(dir.path(), &args);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(expected), "{args:?}: {said}");
    }
}

#[test]
fn a_command_runs_behind_a_bottleneck_and_its_log_replays() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    // A connection that nobody accepts takes a round trip to be refused.
    let script = "test $QUELL_FAR = 10.65.0.1 && ! (echo > /dev/tcp/$QUELL_FAR/9) 2> /dev/null && exit 7";
    let args = ["wire", "--rate", "10Mbit/s", "--rtt", "20ms", "--aqm", "pie", "--log", "log", "--"];
    let done = quell(dir.path(), &[&args[..], &["bash", "-c", script]].concat());
    assert_eq!(done.status.code(), Some(7), "{done:?}");
    assert!(text(&done.stderr).contains("pie"), "{done:?}");
    let done = quell(dir.path(), &["gateway", "replay", "log"]);
    assert!(done.status.success() && text(&done.stdout).contains("pie"), "{done:?}");
    let done = quell(dir.path(), &[&args[..], &["true"]].concat());
    assert!(done.status.code() == Some(2) && text(&done.stderr).contains("there already"), "{done:?}");
}

#[test]
fn how_commands_ended_is_told() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let wire = ["wire", "--rate", "10Mbit/s", "--far", "exit 3", "--", "sh", "-c"];
    let done = quell(dir.path(), &[&wire[..], &["sleep 1; kill -KILL $$"]].concat());
    assert_eq!(done.status.code(), Some(128 + 9), "{done:?}");
    let said = text(&done.stderr);
    let far = "the command of --far failed before the other one ended (exit status: 3)";
    assert!(said.contains(&format!("note: {far}\n")), "{said}");
    // Then what the other did alone is no success.
    let done = quell(dir.path(), &[&wire[..], &["sleep 1"]].concat());
    assert!(
        done.status.code() == Some(1) && text(&done.stderr).ends_with(&format!("error: {far}\n")),
        "{done:?}"
    );
    assert!(said.contains("TCP used"), "{said}");
}

/// What Ctrl-C means the command decides that has the terminal, however often it comes; being terminated ends both.
#[test]
fn a_command_may_have_ctrl_c_for_itself() {
    use std::io::{BufRead, BufReader};
    if !possible() {
        return;
    }
    for (signals, code) in [(&["INT", "INT", "INT"][..], 5), (&["TERM"], 143)] {
        // Ctrl-C reaches both; here the command would ignore it.
        let script = "trap '' INT; echo ready; sleep 3; exit 5";
        let mut wire = Command::new(env!("CARGO_BIN_EXE_quell"))
            .args(["wire", "--rate", "10Mbit/s", "--", "sh", "-c", script])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(wire.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        for signal in signals {
            let pid = wire.id().to_string();
            assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        assert_eq!(wire.wait().unwrap().code(), Some(code));
    }
}

/// Whether a process has this word on its command line, however often it was forked.
fn lives(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| line.split(|byte| *byte == 0).any(|of| of == word.as_bytes()))
}

/// Commands in the background, at both ends, behind a shell and in a session of their own.
#[test]
fn nothing_outlives_a_wire() {
    use std::io::{BufRead, BufReader, Read};
    use std::os::unix::process::ExitStatusExt;
    if !possible() {
        return;
    }
    let number = std::process::id();
    for (n, signal) in [None, Some("TERM"), Some("KILL"), Some("HUP"), Some("QUIT")].into_iter().enumerate() {
        // A number that no other process has.
        let [far, near, session] = [1, 2, 3].map(|end| format!("9{n}{end}{number}"));
        let last = if signal.is_some() { "sleep 99" } else { "exit 4" };
        let script = format!("sleep {near} & setsid sleep {session} & echo ready; {last}");
        let far_script = format!("sleep {far}; true");
        let args = ["wire", "--rate", "10Mbit/s", "--far", &far_script, "--", "sh", "-c", &script];
        // Whoever runs this may have it ignore the terminal's end (nohup(1)), and a child inherits that.
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP,QUIT", env!("CARGO_BIN_EXE_quell")]);
        let mut wire = command.args(args).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(wire.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        if let Some(signal) = signal {
            for word in [&far, &near, &session] {
                let seen = (0..500).any(|_| {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                    lives(word)
                });
                assert!(seen, "{signal}: sleep {word} has not begun");
            }
            let pid = wire.id().to_string();
            assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        }
        let status = wire.wait().unwrap();
        // It ends when nobody can write there any more: whatever is killed from outside takes a moment.
        out.read_to_string(&mut line).unwrap();
        match signal {
            None => assert_eq!(status.code(), Some(4)),
            // A hang-up is a request to terminate.
            Some("TERM" | "HUP") => assert_eq!(status.code(), Some(143)),
            Some(_) => assert!(status.signal().is_some(), "{status}"),
        }
        for word in [&far, &near, &session] {
            assert!(!lives(word), "{signal:?}: sleep {word} is left");
        }
    }
}

/// Commands see their own processes, and how they end is told as it was.
#[test]
fn commands_are_processes_of_their_own() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let wire = |far: &str, script: &str| {
        quell(dir.path(), &["wire", "--rate", "10Mbit/s", "--far", far, "--", "sh", "-c", script])
    };
    // Process 1 is none of theirs, and orphans do not stay.
    let done = wire("true", "test $$ -ne 1 && (sleep 0.1 &) && sleep 0.3 && kill -TERM $$");
    assert_eq!(done.status.code(), Some(128 + 15), "{done:?}");
    let done = wire("kill -INT $$", "sleep 0.5");
    assert!(text(&done.stderr).contains("failed before the other one ended (signal: 2 (SIGINT)"), "{done:?}");
    let done = quell(dir.path(), &["wire", "--rate", "10Mbit/s", "--", "/no/such/program"]);
    let said = text(&done.stderr);
    assert!(!done.status.success() && said.contains("cannot run \"/no/such/program\""), "{said}");
}

/// Flows that ask for ECN beside one that does not, sources with clocks of their own, and an algorithm on the way back;
/// of all of them what their hosts saw.
const MIXED: &str = r#"
schema = 1
dialect = "linux"
title = "Mixed"
duration = "6 s"
warmup = "1 s"
seeds = 1
[dumbbell]
rate = "10 Mbit/s"
delay = "5 ms"
buffer = "100 packets"
ecn = true
[dumbbell.reverse]
buffer = "50 packets"
aqm = { algorithm = "codel" }
[[aqm]]
algorithm = "red"
[[flows]]
name = "marked"
count = 2
rtt = "20 ms"
tcp = { packet = "1500 B", ecn = true }
[[flows]]
name = "dropped"
rtt = "20 ms"
tcp = { packet = "1500 B", ecn = false }
[[flows]]
name = "web"
kind = "transfers"
rtt = "20 ms"
size = "10 packets"
think = { exponential = "100 ms" }
tcp = { packet = "1500 B" }
[[flows]]
name = "video"
rate = "500 kbit/s"
rtt = "20 ms"
tcp = { packet = "1500 B" }
[[flows]]
name = "bursts"
kind = "udp"
rate = "1 Mbit/s"
packet = "500 B"
on_off = { on = "200 ms", off = "300 ms" }
"#;

#[test]
fn hosts_say_what_each_flow_had() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mixed.toml"), MIXED).unwrap();
    let done = quell(dir.path(), &["wire", "mixed.toml", "--out", "live", "--log", "log", "--seeds", "1"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let results = quell_lab::read_results(&dir.path().join("live")).unwrap();
    let [run] = &results.replications[..] else { panic!("{}", results.replications.len()) };
    let of = |group: &str| run.flows.iter().filter(|f| *f.group == *group).collect::<Vec<_>>();
    for (group, flows, least, most) in [
        ("marked", 2, 1e6, 9e6),
        ("dropped", 1, 1e6, 9e6),
        // What it hands over, with the headers of its packets. On time or not: what waits for a timeout may arrive in
        // the window of five seconds, and no more than it hands over in all six can.
        ("video", 1, 3.5e5, 5.2e5 * 6.0 / 5.0),
        // On for two fifths of the time.
        ("bursts", 1, 2e5, 6e5),
    ] {
        let found = of(group);
        assert_eq!(found.len(), flows, "{group}");
        for flow in found {
            assert!((least..most).contains(&flow.goodput_bps), "{group}: {}", flow.goodput_bps);
        }
    }
    // Ten packets take a round trip to connect and two more, and wait in the queue.
    assert!(run.transfers.len() > 5, "{}", run.transfers.len());
    for transfer in &run.transfers {
        assert_eq!((&*transfer.class, transfer.size_packets), ("web", 10));
        assert!((0.04..3.0).contains(&transfer.flow_completion_time_s), "{transfer:?}");
    }
    let value = |scope: &str, metric| {
        let row =
            run.metrics.iter().find(|r| r.link == "bottleneck" && r.scope == scope && r.segment.is_none());
        row.and_then(|r| r.values.get(metric))
    };
    use quell_lab::Metric;
    assert_eq!(value("web", Metric::Transfers).map(|n| n > 4.0), Some(true));
    assert_eq!(value("all", Metric::FastRetransmits), None, "the kernel does not say");
    // The queue of 100 packets takes 120 ms at most.
    let rtt = value("all", Metric::RttMean).unwrap();
    assert!((0.02..0.2).contains(&rtt), "{rtt}");
    let again = value("dropped", Metric::RetransmissionRate).unwrap();
    assert!((0.001..0.1).contains(&again), "{again}");
    for flow in of("dropped") {
        assert!(flow.retransmitted_packets > 0 && flow.sent_packets > 200, "{flow:?}");
        assert!(flow.round_trip_time_mean_s.is_some_and(|t| (0.02..0.2).contains(&t)), "{flow:?}");
    }
    let all = value("all", Metric::Goodput).unwrap();
    assert!((5e6..1e7).contains(&all), "{all}");
    // Who asks for ECN is marked, who does not is dropped.
    let shares = |scope| (value(scope, Metric::MarkRate).unwrap(), value(scope, Metric::LossRate).unwrap());
    let ((marked, lost), (none, dropped)) = (shares("marked"), shares("dropped"));
    assert!(marked > 0.002 && lost < marked / 4.0, "{marked} {lost}");
    assert!(none == 0.0 && dropped > 0.002, "{none} {dropped}");
    // The way back has its own algorithm.
    let done = quell(dir.path(), &["gateway", "replay", "log", "--format", "json"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(text(&done.stdout).contains("codel"), "{}", text(&done.stdout));
}

/// A link whose rate falls and whose delay rises, before a wire that loses packets; clients that ask.
const CHANGING: &str = r#"
schema = 1
dialect = "linux"
title = "Changing"
duration = "5 s"
warmup = "1 s"
segments = ["3 s"]
seeds = 1
[dumbbell]
rate = "10 Mbit/s"
delay = "5 ms"
buffer = "100 packets"
loss = 0.005
changes = [{ at = "3 s", rate = "4 Mbit/s", delay = "25 ms" }]
[dumbbell.reverse]
loss = 0.0
[[aqm]]
algorithm = "codel"
[[flows]]
name = "bulk"
count = 4
rtt = "20 ms"
tcp = { packet = "1500 B" }
[[flows]]
name = "web"
kind = "transfers"
connection = "fresh"
request = "400 B"
rtt = "20 ms"
size = "10 packets"
think = { exponential = "100 ms" }
tcp = { packet = "1500 B" }
"#;

#[test]
fn a_link_that_changes_and_loses_packets_is_live() {
    use quell_gateway::{Event, LogReader};
    use quell_lab::Metric;
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("changing.toml"), CHANGING).unwrap();
    let done = quell(dir.path(), &["wire", "changing.toml", "--out", "live", "--log", "log"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let results = quell_lab::read_results(&dir.path().join("live")).unwrap();
    let [run] = &results.replications[..] else { panic!("{}", results.replications.len()) };
    let row = |scope: &str, segment| {
        run.metrics.iter().find(|r| r.link == "bottleneck" && r.scope == scope && r.segment == segment)
    };
    let value = |scope: &str, segment, metric| row(scope, segment).and_then(|r| r.values.get(metric));
    // What the link carries follows its rate: the share that is used stays, and the rate is 10 Mbit/s, then 4.
    let used = [0, 1].map(|segment| value("all", Some(segment), Metric::Utilization).unwrap());
    assert!(used.iter().all(|used| (0.6..=1.0).contains(used)), "{used:?}");
    let got: Vec<f64> = run.flows.iter().map(|f| f.goodput_bps).collect();
    assert!((4e6..7.5e6).contains(&got.iter().sum::<f64>()), "{got:?}");
    // Wire losses are sent again, those of the queue too.
    let again = value("all", None, Metric::RetransmissionRate).unwrap();
    assert!((0.004..0.1).contains(&again), "{again}");
    // Asked, answered and thought about: a round trip to connect, one to ask, and one or two for ten packets.
    let times: Vec<f64> = run.transfers.iter().map(|t| t.flow_completion_time_s).collect();
    assert!(times.len() > 4 && times.iter().all(|t| (0.04..3.0).contains(t)), "{times:?}");
    assert_eq!(value("web", None, Metric::Transfers).map(|n| n > 2.0), Some(true));
    // The log has all of it, and decides the same once more.
    let bytes = std::fs::read(dir.path().join("log")).unwrap();
    let mut log = LogReader::new(bytes.as_slice()).unwrap();
    let (mut sent, mut lost, mut rates) = (0u32, 0u32, Vec::new());
    while let Some(entry) = log.next_entry().unwrap() {
        match entry.event {
            Event::Sent { .. } if entry.line == 0 => sent += 1,
            Event::Lost { .. } => lost += 1,
            Event::Rate(rate) if entry.line == 0 => rates.push((entry.time.as_secs_f64(), rate.to_string())),
            _ => {}
        }
    }
    assert_eq!(rates, [(3.0, "4 Mbit/s".to_string())]);
    let share = f64::from(lost) / f64::from(sent);
    assert!((0.001..0.012).contains(&share), "{lost} of {sent}");
    let done = quell(dir.path(), &["gateway", "replay", "log"]);
    assert!(done.status.success(), "{}{}", text(&done.stdout), text(&done.stderr));
}

/// The live side of a small experiment, put on record.
/// Losses in bursts, jitter in order there and copies back; datagrams say what came of each.
const ROUGH: &str = r#"
schema = 1
dialect = "linux"
title = "Rough"
duration = "6 s"
warmup = "1 s"
seeds = 1
[dumbbell]
rate = "20 Mbit/s"
delay = "30 ms"
buffer = "200 packets"
loss = { mean = 0.1, burst = 4 }
jitter = { size = "10 ms" }
duplicate = 0.0
[dumbbell.reverse]
delay = "0 s"
loss = 0.0
jitter = { size = "0 s" }
duplicate = 0.2
changes = [{ at = "3 s", loss = 0.3 }]
[[aqm]]
algorithm = "drop-tail"
[[flows]]
name = "there"
kind = "udp"
rate = "8 Mbit/s"
packet = "500 B"
rtt = "40 ms"
[[flows]]
name = "back"
kind = "udp"
direction = "reverse"
rate = "4 Mbit/s"
packet = "500 B"
rtt = "40 ms"
[[flows]]
name = "bulk"
rtt = "40 ms"
tcp = { packet = "1500 B" }
"#;

#[test]
fn a_wire_loses_in_bursts_jitters_and_copies() {
    use quell_gateway::{Event, LogReader};
    use quell_lab::Metric;
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("rough.toml"), ROUGH).unwrap();
    let done = quell(dir.path(), &["wire", "rough.toml", "--out", "live", "--log", "log"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let bytes = std::fs::read(dir.path().join("log")).unwrap();
    let mut log = LogReader::new(bytes.as_slice()).unwrap();
    let (mut fates, mut late) = (Vec::new(), Vec::new());
    // By line: before and after the change of the losses back.
    let (mut sent, mut lost, mut copied) = ([0u32; 3], [0u32; 3], [0u32; 3]);
    // Within the measured window: what the bottleneck sent and its wire lost, and the datagrams that came back.
    let (mut in_window, mut sizes, mut came) = ([0u32; 2], Vec::new(), 0u32);
    while let Some(entry) = log.next_entry().unwrap() {
        let part = match entry.line {
            0 => 0,
            _ if entry.time.as_secs_f64() < 3.0 => 1,
            _ => 2,
        };
        let measured = (1.0..6.0).contains(&entry.time.as_secs_f64());
        match entry.event {
            Event::Arrived { packet, .. } if entry.line == 1 => sizes.push(packet.bytes),
            Event::Sent { .. } => {
                sent[part] += 1;
                in_window[0] += u32::from(part == 0 && measured);
                if part == 0 {
                    fates.push(false);
                }
            }
            Event::Lost { .. } => {
                lost[part] += 1;
                in_window[1] += u32::from(part == 0 && measured);
                if part == 0 {
                    *fates.last_mut().unwrap() = true;
                }
            }
            Event::Carried { number, late_ns, copied: twice } => {
                copied[part] += u32::from(twice);
                came += u32::from(entry.line == 1 && measured && sizes[number as usize] == 500);
                if part == 0 {
                    late.push(late_ns as f64 / 1e6);
                }
            }
            _ => {}
        }
    }
    assert!(sent[0] > 5_000 && sent[1] > 1_000 && sent[2] > 1_000, "{sent:?}");
    let share = |part: usize| f64::from(lost[part]) / f64::from(sent[part]);
    // Four standard errors: of a chain with r = 1/4 and p = 1/36, and of independent draws.
    let (p, r) = (1.0 / 36.0, 0.25);
    let error = (0.09f64 * (2.0 - p - r) / (p + r) / f64::from(sent[0])).sqrt();
    assert!((share(0) - 0.1).abs() < 4.0 * error, "{} {error}", share(0));
    let runs: Vec<f64> =
        fates.chunk_by(|a, b| a == b).filter(|run| run[0]).map(|run| run.len() as f64).collect();
    let mean = runs.iter().sum::<f64>() / runs.len() as f64;
    assert!((mean - 4.0).abs() < 4.0 * (12.0 / runs.len() as f64).sqrt(), "{mean} {}", runs.len());
    assert_eq!(lost[1], 0);
    assert!((share(2) - 0.3).abs() < 4.0 * (0.21 / f64::from(sent[2])).sqrt(), "{}", share(2));
    let twice = f64::from(copied[1]) / f64::from(sent[1]);
    assert!((twice - 0.2).abs() < 4.0 * (0.16 / f64::from(sent[1])).sqrt(), "{twice}");
    assert_eq!(copied[0], 0);
    // In order, packets are never earlier than uniform jitter has them, and wait for those before them.
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    assert!(late.iter().all(|late| (-10.0..=10.0).contains(late)) && (0.0..10.0).contains(&mean), "{mean}");
    let results = quell_lab::read_results(&dir.path().join("live")).unwrap();
    let [run] = &results.replications[..] else { panic!("{}", results.replications.len()) };
    let row = run.metrics.iter().find(|r| r.link == "bottleneck" && r.scope == "all" && r.segment.is_none());
    let wire = row.unwrap().values.get(Metric::WireLossRate).unwrap();
    // The simulation of the log's arrivals loses the same packets.
    let expected = f64::from(in_window[1]) / f64::from(in_window[0]);
    assert!((wire - expected).abs() < 0.002, "{wire} {expected}");
    // Goodput counts a copy once, and all of a packet, as a simulation does. A fifth more would be counted twice; what is
    // under way at the ends of the window, or waits for a busy host, is less.
    let back = run.flows.iter().find(|f| &*f.group == "back").unwrap();
    let share = back.delivered_bytes as f64 / 500.0 / f64::from(came);
    assert!((0.8..1.1).contains(&share), "{share} of {came}");
    let done = quell(dir.path(), &["gateway", "replay", "log"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
}

/// A shaper before a tree of three classes, each with a greedy or a slow source of datagrams.
const SERVED: &str = r#"
schema = 1
dialect = "linux"
title = "Served"
duration = "6 s"
warmup = "1 s"
seeds = 1
[dumbbell]
rate = "50 Mbit/s"
delay = "5 ms"
buffer = "400 packets"
shaper = { rate = "10 Mbit/s", burst = "30 kB" }
classes = [
    { name = "all", rate = "10 Mbit/s" },
    { name = "voice", parent = "all", rate = "1 Mbit/s", ceil = "10 Mbit/s", priority = 0, match = { dscp = 46 } },
    { name = "gold", parent = "all", rate = "6 Mbit/s", ceil = "10 Mbit/s", priority = 1, aqm = { algorithm = "pie" }, match = { group = "gold" } },
    { name = "rest", parent = "all", rate = "3 Mbit/s", ceil = "10 Mbit/s", priority = 1 },
]
[dumbbell.reverse]
rate = "20 Mbit/s"
shaper = { rate = "5 Mbit/s", burst = "5 kB" }
classes = [{ name = "back", match = { group = "back" } }, { name = "others" }]
[[aqm]]
algorithm = "drop-tail"
[[flows]]
name = "voice"
kind = "udp"
rate = "200 kbit/s"
packet = "200 B"
dscp = 46
rtt = "20 ms"
[[flows]]
name = "gold"
kind = "udp"
rate = "12 Mbit/s"
packet = "1000 B"
dscp = 10
rtt = "20 ms"
[[flows]]
name = "rest"
kind = "udp"
rate = "12 Mbit/s"
packet = "1000 B"
rtt = "20 ms"
[[flows]]
name = "back"
direction = "reverse"
rtt = "20 ms"
tcp = { packet = "1500 B" }
"#;

/// The share of gold in what leaves while both it and the rest wait, and the longest that voice waits.
#[test]
fn shapers_and_classes_serve_real_packets() {
    use quell_gateway::{Event, LogReader};
    use quell_lab::Metric;
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("served.toml"), SERVED).unwrap();
    let done = quell(dir.path(), &["wire", "served.toml", "--out", "live", "--log", "log"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let bytes = std::fs::read(dir.path().join("log")).unwrap();
    let mut log = LogReader::new(bytes.as_slice()).unwrap();
    // Of each packet of the line its size and class, and when it came; the acknowledgments of `back` are of the rest.
    let mut packets = Vec::new();
    let mut waiting = [0i64; 3];
    let (mut both, mut sent, mut waits) = ([0u64; 3], Vec::new(), Vec::new());
    let mut voice_bytes = 0;
    let mut in_window = [0u64; 3];
    while let Some(entry) = log.next_entry().unwrap() {
        if entry.line != 0 {
            continue;
        }
        match entry.event {
            Event::Arrived { packet, admission } => {
                let class = match packet.header.dscp {
                    46 => 0,
                    10 => 1,
                    _ => 2,
                };
                let kept = !matches!(admission, quell_queue::Admission::Dropped(_));
                voice_bytes += u64::from(if class == 0 && kept { packet.bytes } else { 0 });
                packets.push((u64::from(packet.bytes), class, entry.time, voice_bytes));
                waiting[class] += i64::from(kept);
            }
            Event::Sent { number, .. } => {
                let (bytes, class, came, ahead) = packets[number as usize];
                if waiting[1] > 1 && waiting[2] > 1 {
                    both[class] += bytes;
                }
                waiting[class] -= 1;
                sent.push((entry.time, bytes));
                if class == 0 {
                    // A host that was busy sends much at once, of which the class is sure of 1 Mbit/s only.
                    waits.push(entry.time.since(came).as_secs_f64() - ahead as f64 * 8.0 / 1e6);
                    voice_bytes -= bytes;
                }
                if (1.0..6.0).contains(&entry.time.as_secs_f64()) {
                    in_window[class] += bytes;
                }
            }
            Event::Dropped { number, .. } => waiting[packets[number as usize].1] -= 1,
            _ => {}
        }
    }
    // In no time t does more leave than the burst and what the rate gives: 10 bit each microsecond.
    for (first, (from, _)) in sent.iter().enumerate().step_by(7) {
        let mut bits = 0;
        for (at, bytes) in &sent[first..(first + 2000).min(sent.len())] {
            bits += bytes * 8;
            let most = 30_000 * 8 + at.since(*from).nanos() / 100 + 1;
            assert!(bits <= most, "{bits} bits in {} ns", at.since(*from).nanos());
        }
    }
    // Voice has up to 0.2 of the 10 Mbit/s; of the rest, gold has 6 and the rest 3, and both borrow.
    let busy = both.iter().sum::<u64>();
    assert!(busy > 1_000_000, "{both:?}");
    let share = both[1] as f64 / (both[1] + both[2]) as f64;
    assert!((0.6..0.72).contains(&share), "{share} {both:?}");
    // Voice goes first: beside its own it waits for tokens of one packet at most, and for what is in transmission.
    waits.sort_by(f64::total_cmp);
    assert!(waits.len() > 200 && *waits.last().unwrap() < 0.004, "{:?}", waits.last());
    // The leaves are lanes of the results, with what the log says.
    let results = quell_lab::read_results(&dir.path().join("live")).unwrap();
    let [run] = &results.replications[..] else { panic!("{}", results.replications.len()) };
    for (lane, bytes) in ["voice", "gold", "rest"].into_iter().zip(in_window) {
        let mut rows = run.metrics.iter().filter(|r| r.link == "bottleneck" && r.segment.is_none());
        let row = rows.find(|r| r.scope == format!("lane:{lane}")).unwrap_or_else(|| {
            panic!("{lane}: {:?}", run.metrics.iter().map(|r| &r.scope).collect::<Vec<_>>())
        });
        let found = row.values.get(Metric::Throughput).unwrap();
        let expected = bytes as f64 * 8.0 / 5.0;
        assert!((found - expected).abs() < 1e-3 * expected + 20_000.0, "{lane}: {found} {expected}");
    }
    let done = quell(dir.path(), &["gateway", "replay", "log"]);
    assert!(done.status.success(), "{}{}", text(&done.stdout), text(&done.stderr));
}

/// Three hosts of a group, each with a class of its own, and two that share what is left.
const HOSTS: &str = r#"
schema = 1
dialect = "linux"
title = "Hosts"
duration = "5 s"
warmup = "1 s"
seeds = 1
[dumbbell]
rate = "9 Mbit/s"
delay = "5 ms"
buffer = "100 packets"
classes = [
    { name = "user", repeat = 3, match = { group = "users" } },
    { name = "first", match = { group = "others", host = 1 } },
    { name = "rest" },
]
[[aqm]]
algorithm = "fq-codel"
[[flows]]
name = "users"
kind = "udp"
count = 6
hosts = 3
rate = "2 Mbit/s"
packet = "1000 B"
[[flows]]
name = "others"
kind = "udp"
count = 2
rate = "1 Mbit/s"
packet = "500 B"
"#;

#[test]
fn hosts_have_classes_of_their_own() {
    use quell_gateway::{Event, LogReader};
    use quell_lab::Metric;
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("hosts.toml"), HOSTS).unwrap();
    let done = quell(dir.path(), &["wire", "hosts.toml", "--out", "live", "--log", "log"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    // Flows take turns: the first host has flows 1 and 4, and so on.
    let bytes = std::fs::read(dir.path().join("log")).unwrap();
    let mut log = LogReader::new(bytes.as_slice()).unwrap();
    let (mut packets, mut got) = (Vec::new(), [0u64; 5]);
    while let Some(entry) = log.next_entry().unwrap() {
        match entry.event {
            Event::Arrived { packet, .. } if entry.line == 0 => {
                packets.push((packet.tag, packet.bytes));
            }
            Event::Sent { number, .. } if entry.line == 0 => {
                let (tag, bytes) = packets[number as usize];
                let flow = tag - quell_gateway::traffic::address(0);
                let leaf = if flow < 6 { flow % 3 } else { flow - 3 };
                if (1.0..5.0).contains(&entry.time.as_secs_f64()) {
                    got[usize::from(leaf)] += u64::from(bytes);
                }
            }
            _ => {}
        }
    }
    let results = quell_lab::read_results(&dir.path().join("live")).unwrap();
    let [run] = &results.replications[..] else { panic!("{}", results.replications.len()) };
    for (lane, bytes) in ["user-1", "user-2", "user-3", "first", "rest"].into_iter().zip(got) {
        let scope = format!("lane:{lane}");
        let row =
            run.metrics.iter().find(|r| r.link == "bottleneck" && r.segment.is_none() && r.scope == scope);
        let found = row.unwrap().values.get(Metric::Throughput).unwrap();
        let expected = bytes as f64 * 8.0 / 4.0;
        assert!(
            expected > 1e5 && (found - expected).abs() < 1e-3 * expected + 20_000.0,
            "{lane}: {found} {expected}"
        );
    }
    // The hosts of users ask for 4 Mbit/s each and get a fifth of 9 and what the others leave.
    let users = &got[..3];
    let (least, most) = (users.iter().min().unwrap(), users.iter().max().unwrap());
    assert!(*most as f64 / (*least as f64) < 1.5, "{got:?}");
    let done = quell(dir.path(), &["gateway", "replay", "log"]);
    assert!(done.status.success(), "{}{}", text(&done.stdout), text(&done.stderr));
}

#[test]
fn an_experiment_is_run_live_and_put_on_record() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = dir.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write("papers/cells.csv", "id,document,table,page,case,algorithm,metric,unit,low,high,note\n");
    write("papers/doc/document.toml", "title = \"Doc\"\nreference = \"doc\"\n");
    write("papers/scenario.toml", &SCENARIO.replace("count = 3", "count = 1"));
    let experiment = |live: &str| {
        format!(
            "section = \"1\"\ntitle = \"Two loads\"\ndescribes = \"-\"\n{live}[[run]]\nname = \"main\"\n\
             scenario = \"../scenario.toml\"\nsweep = {{ \"flows.bulk.count\" = [1, 2] }}\n"
        )
    };
    write("papers/doc/none.toml", &experiment(""));
    let live = "live = { record = \"live/row.toml\" }\n[[reading]]\nname = \"short\"\nsays = \"-\"\n\
                basis = \"document\"\nset = { duration = \"2 s\", warmup = \"500 ms\" }\n";
    let figure = "[[figure]]\nnumber = \"1\"\ntitle = \"Use\"\nkind = \"metric\"\nmetric = \"utilization\"\n\
                  x = \"flows.bulk.count\"\nlive = \"live/1.csv\"\n";
    write("papers/doc/row.toml", &(experiment(live) + figure));
    let done = quell(dir.path(), &["reproduce", "doc-none", "--live"]);
    assert_eq!(done.status.code(), Some(2));
    let said = text(&done.stderr);
    assert!(said.contains("doc-none has no live side") && said.contains("doc-row has"), "{said}");
    if !possible() {
        return;
    }
    let done = quell(dir.path(), &["reproduce", "doc", "--live"]);
    let said = text(&done.stdout);
    assert!(done.status.success() && said.contains("codel"), "{}{said}", text(&done.stderr));
    let read = |name: &str| std::fs::read_to_string(dir.path().join("papers/doc/live").join(name)).unwrap();
    let numbers = read("1.csv");
    assert!(
        numbers.starts_with("algorithm,flows.bulk.count,utilization (%),half-width,low,high,seeds\ncodel,1,"),
        "{numbers}"
    );
    assert_eq!(numbers.lines().count(), 3, "{numbers}");
    let record = read("row.toml");
    assert!(record.starts_with("# Written by `quell reproduce doc-row --papers papers --live`"), "{record}");
    assert!(record.contains("measured = \"1.5 s\"") && record.contains("seeds = 1"), "{record}");
    assert!(dir.path().join("results/doc-row-live/run.json").is_file());
    // What is on record is drawn beside what is simulated.
    let done = quell(dir.path(), &["reproduce", "doc-row", "--quick", "--out", "page"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let page = std::fs::read_to_string(dir.path().join("page/doc-row.html")).unwrap();
    assert!(page.contains("codel, live"), "{page}");
}

#[test]
fn a_scenario_runs_live_and_is_compared_with_its_simulation() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let also = "[[aqm]]\nalgorithm = \"pie\"\n[[flows]]\nname = \"bulk\"";
    let scenario = SCENARIO.replace("[[flows]]\nname = \"bulk\"", also);
    std::fs::write(dir.path().join("four.toml"), scenario).unwrap();
    let done =
        quell(dir.path(), &["wire", "four.toml", "--aqm", "codel", "--out", "live", "--log", "four.log"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let said = text(&done.stdout);
    assert!(said.contains("codel") && !said.contains("pie"), "{said}");
    let done = quell(dir.path(), &["run", "four.toml", "--out", "simulated", "--quiet"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let done = quell(dir.path(), &["compare", "live", "simulated"]);
    let said = text(&done.stdout);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(said.contains("aqm = codel"), "{said}");
    assert!(said.contains("live") && said.contains("simulated"), "{said}");
    let done = quell(dir.path(), &["compare", "live", "live"]);
    assert_eq!(done.status.code(), Some(2));
    let done = quell(dir.path(), &["gateway", "replay", "four.log", "--format", "json"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let value: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(value["schema"].is_number());
}

/// On a link that is fast and near, a bandwidth-delay product is shorter than a target.
#[test]
fn the_buffer_fits_the_algorithm_and_each_direction_has_its_rate() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for aqm in ["fq-codel", "codel", "cake", "pie", "fq-pie", "dualpi2", "drop-tail"] {
        let done =
            quell(dir.path(), &["wire", "--rate", "100Mbit/s", "--rtt", "2ms", "--aqm", aqm, "--", "true"]);
        assert!(done.status.success(), "{aqm}: {}", text(&done.stderr));
        assert!(!text(&done.stderr).contains("target"), "{aqm}: {}", text(&done.stderr));
    }
    // One that is asked for is not made larger: that it is too short for the target is said.
    let small = [
        "wire",
        "--rate",
        "100Mbit/s",
        "--rtt",
        "2ms",
        "--aqm",
        "fq-codel",
        "--buffer",
        "20packets",
        "--",
        "true",
    ];
    let done = quell(dir.path(), &small);
    assert!(done.status.success() && text(&done.stderr).contains("target"), "{}", text(&done.stderr));
    let wide =
        ["wire", "--up", "18Mbit/s", "--down", "95Mbit/s", "--rtt", "10ms", "--log", "log", "--", "true"];
    let done = quell(dir.path(), &wide);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let bytes = std::fs::read(dir.path().join("log")).unwrap();
    let log = quell_gateway::LogReader::new(bytes.as_slice()).unwrap();
    let lines: Vec<_> = log
        .header()
        .lines
        .iter()
        .map(|l| (l.name.as_str(), l.rate.to_string(), l.buffer.to_string()))
        .collect();
    let line = |name, rate: &str, buffer: &str| (name, rate.to_string(), buffer.to_string());
    // 15 packets of a bandwidth-delay product are 20.
    assert_eq!(lines, [line("up", "18 Mbit/s", "20 packets"), line("down", "95 Mbit/s", "80 packets")]);
    let done = quell(dir.path(), &["wire", "--up", "18Mbit/s", "--", "true"]);
    assert!(
        done.status.code() == Some(2) && text(&done.stderr).contains("--up and --down"),
        "{}",
        text(&done.stderr)
    );
}

/// One of the three would be without effect.
#[test]
fn a_rate_beside_both_others_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let rates = ["wire", "--rate", "10Mbit/s", "--up", "1Mbit/s", "--down", "2Mbit/s", "--", "true"];
    let done = quell(dir.path(), &rates);
    let said = text(&done.stderr);
    assert!(done.status.code() == Some(2) && said.contains("leave out one of the three"), "{said}");
}
