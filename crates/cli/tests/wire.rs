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
    write("lossy.toml", &SCENARIO.replace("delay = \"5 ms\"", "delay = \"5 ms\"\nloss = 0.01"));
    write(
        "ledbat.toml",
        &SCENARIO.replace("dialect = \"linux\"\n", "").replace(
            "tcp = { packet = \"1500 B\" }\n[[flows]]\nname = \"web\"",
            "tcp = { packet = \"1500 B\", congestion = \"ledbat\" }\n[[flows]]\nname = \"web\"",
        ),
    );
    for (args, expected) in [
        (vec!["wire"], "a rate or a scenario is needed"),
        (vec!["wire", "--rate", "10Mbit/s", "--aqm", "none", "--", "true"], "\"none\" is no algorithm"),
        (
            vec!["wire", "--rate", "10Mbit/s", "--congestion", "none", "--", "true"],
            "not one of this kernel's",
        ),
        (vec!["wire", "--rate", "10Mbit/s", "--mtu", "100", "--", "true"], "--mtu: 100 must be 576"),
        (vec!["wire", "lossy.toml"], "a wire loses no packets by itself"),
        (vec!["wire", "ledbat.toml"], "Linux has no congestion control \"ledbat\""),
        (vec!["gateway", "replay", "lossy.toml"], "is not a log of"),
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
}

#[test]
fn a_scenario_runs_live_and_is_compared_with_its_simulation() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("four.toml"), SCENARIO).unwrap();
    let done = quell(dir.path(), &["wire", "four.toml", "--out", "live", "--log", "four.log"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(text(&done.stdout).contains("codel"), "{}", text(&done.stdout));
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
