//! `quell run --trace`: the files of traces, what is refused before anything runs, and a run that is killed.

use std::time::{Duration, Instant};

use crate::common::{Bench, SMALL};

const RUN: [&str; 4] = ["run", "small.toml", "--out", "seen"];

fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn traces_are_files_of_the_results_and_change_no_figure() {
    let bench = Bench::new();
    let ran = bench.run(&run(&["--trace", "flows,packets"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("for the first seed of each algorithm"), "{}", ran.err);
    let digest = |folder: &str| {
        let text = std::fs::read_to_string(bench.path(folder).join("run.json")).unwrap();
        let run: serde_json::Value = serde_json::from_str(&text).unwrap();
        let files = run["files"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap().to_string());
        let traces: Vec<String> = files.filter(|name| name.contains("_trace")).collect();
        (run["digest"].clone(), traces)
    };
    bench.ok(&["run", "small.toml", "--out", "plain", "--fresh"]);
    let ((with, files), (without, none)) = (digest("seen"), digest("plain"));
    assert_eq!(with, without);
    assert_eq!(
        (files.as_slice(), none.len()),
        (&["flow_trace.parquet", "packet_trace.parquet"].map(String::from)[..], 0)
    );
    for diagram in ["window", "rtt", "in-flight"] {
        let csv =
            bench.ok(&["plot", "seen", "--trace", diagram, "--flow", "1", "--aqm", "red", "--csv", "-"]);
        assert!(csv.lines().count() > 100 && csv.contains("flow 1") && !csv.contains("flow 0"), "{csv}");
    }
    assert!(bench.ok(&["plot", "seen", "--trace", "window"]).contains("congestion window (packets)"));
    let ran = bench.run(&["plot", "plain", "--trace", "window"]);
    assert!(ran.code == 1 && ran.err.contains("without this trace (--trace)"), "{}{}", ran.code, ran.err);
    let ran = bench.run(&["plot", "seen", "--trace", "rate"]);
    assert!(
        ran.code == 2 && ran.err.contains("these senders do not pace"),
        "Reno does not pace: {}",
        ran.err
    );
    let says = |args: &[&str], what: &str| {
        let ran = bench.run(&[&["plot", "seen", "--trace", "window"], args].concat());
        assert!(ran.code == 2 && ran.err.contains(what), "{args:?}: {}{}", ran.code, ran.err);
    };
    says(&["--flow", "99"], "flow 99: was not traced; those that were: 0 to 3");
    says(&["--flow", "x"], "groups are ftp");
    says(&["--seed", "2"], "seed 2: was not traced; those that were: 1 (--trace-seeds)");
    // A group is all its flows; each curve is told by its own name, and that once.
    let args = ["plot", "seen", "--trace", "window", "--flow", "ftp", "--csv", "-"];
    let csv = bench.ok(&args);
    assert!(csv.starts_with("algorithm,time (s),congestion window (packets)\r\n"), "{csv:.80}");
    assert!((0..4).all(|flow| csv.contains(&format!("flow {flow}\""))));
    // Panels name their curves by the same key.
    let csv = bench.ok(&["plot", "seen", "--diagram", "queue", "--panels", "--csv", "-"]);
    assert!(csv.starts_with("algorithm,time (s),queue (packets)\r\n"), "{csv:.80}");
    let one = bench.ok(&["plot", "seen", "--trace", "window", "--flow", "1", "--aqm", "red"]);
    assert!(one.contains("red, flow 1"), "{one}");
    // Results with traces can be replaced as others can.
    bench.ok(&run(&["--overwrite", "--trace", "flows", "--trace-step", "100ms", "--trace-flows", "ftp"]));
    assert_eq!(digest("seen").1, ["flow_trace.parquet"]);
}

#[test]
fn a_trace_that_cannot_be_made_is_refused_before_anything_runs() {
    let bench = Bench::new();
    let cases: [(&[&str], &str); 9] = [
        (&run(&["--trace", "flows", "--trace-seeds", "0"]), "must be a whole number from 1"),
        (&["run", "small.toml", "--trace", "flows"], "a results folder; name it with --out DIR"),
        (&run(&["--trace", "packet"]), "possible values: flows, packets"),
        (&run(&["--trace", "packets", "--trace-limit", "10 kB"]), "exceeds --trace-limit 10.0 kB"),
        (&run(&["--trace", "packets", "--trace-limit", "10 kB"]), "--trace-flows"),
        (&run(&["--trace", "flows", "--trace-flows", "ftpp"]), "the groups are ftp, voice"),
        (&run(&["--trace", "packets", "--trace-links", "x"]), "the links are bottleneck"),
        (&run(&["--trace", "flows", "--trace-step", "0s"]), "longer than zero"),
        (&run(&["--trace", "flows", "--seeds", "auto", "--precision", "utilization=1%"]), "instead of auto"),
    ];
    for (args, says) in cases {
        let ran = bench.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(says), "{args:?}: {}", ran.err);
        assert_eq!(bench.listing(), ["small.toml"], "{args:?}");
    }
}

/// Nothing stays of a trace under way when its run is killed: its file has no name.
#[test]
#[cfg(target_os = "linux")]
fn a_run_that_is_killed_leaves_no_trace() {
    let bench = Bench::new();
    bench.file("small.toml", &SMALL.replace("seeds = 2", "seeds = 40").replace("6 s", "60 s"));
    let args = run(&["--trace", "flows,packets", "--trace-seeds", "40", "--quiet", "--threads", "1"]);
    let mut child = bench.command(&args).spawn().unwrap();
    bench.wait_for_an_entry();
    let since = Instant::now();
    while since.elapsed() < Duration::from_millis(200) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(child.try_wait().unwrap().is_none(), "it is still at work");
    child.kill().unwrap();
    child.wait().unwrap();
    let left: Vec<String> = bench.listing().into_iter().filter(|name| !name.ends_with(".lock")).collect();
    assert_eq!(left, ["small.toml"]);
}
