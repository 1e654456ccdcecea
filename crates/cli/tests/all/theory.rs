//! `quell analyze`, `design` and `map`, as a user sees them.

use crate::common::{Bench, Ran, list};
use serde_json::Value;

/// One stable and one unstable loop, and an algorithm without one; short to simulate.
const LOOPS: &str = r#"schema = 1
title = "Two loops"
duration = "40 s"
warmup = "10 s"
seeds = 1

[dumbbell]
rate = "4 Mbit/s"
delay = "10 ms"
buffer = "200 packets"
ecn = true

[[aqm]]
algorithm = "pid"

[[aqm]]
algorithm = "pid"
label = "wild"
k_p = 0.2

[[aqm]]
algorithm = "drop-tail"

[[flows]]
name = "tcp"
count = 20
rtt = "100 ms"
tcp = { ecn = true }
"#;

/// A network in a few words.
const WORDS: [&str; 6] = ["--rate", "10Mbit/s", "--rtt", "100ms", "--flows", "50"];

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("loops.toml", LOOPS);
    bench
}

/// A command on the network in a few words.
fn in_words<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command], &WORDS[..], more].concat()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn is_whole_svg(bench: &Bench, name: &str) {
    let text = std::fs::read_to_string(bench.path(name)).unwrap();
    assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{name}");
    assert!(!text.contains("NaN") && !text.contains("inf"), "{name}");
}

/// The row of an algorithm in a table: its cells.
fn row<'a>(out: &'a str, name: &str) -> Vec<&'a str> {
    let line = out.lines().find(|l| l.starts_with(&format!("{name} "))).unwrap_or_else(|| panic!("{out}"));
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

#[test]
fn analyze_says_where_each_loop_rests_and_why_it_is_stable() {
    let bench = bench();
    let out = bench.ok(&["analyze", "loops.toml"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "Two loops");
    assert_eq!(
        lines[1],
        "bottleneck at 10 s: 20 flows, 500 packets/s, round trip 102 ms without queueing, buffer 200 packets, signals are marks"
    );
    // W = RC/N and p = 1.5/W^2 with R = 0.102 s + 50 packets/C.
    assert_eq!(row(&out, "pid")[1..5], ["stable", "50.0", "5.88", "5.05"]);
    assert_eq!(row(&out, "wild")[1..3], ["unstable", "50.0"]);
    assert_eq!(row(&out, "drop-tail")[1..3], ["no model", "–"]);
    assert!(out.contains("\npid: The loop gain may rise by a factor of "), "{out}");
    assert!(out.contains("\nwild: A disturbance grows with a period of "), "{out}");
    assert!(out.contains("\npid: The verdict holds for N from "), "{out}");
    assert!(out.contains("it is now 20 flows.\n"), "{out}");
    assert!(out.contains("\ndrop-tail: no model of drop-tail: it signals only a full buffer"), "{out}");
    assert!(!out.contains('\u{1b}'), "colors in a pipe");
    assert_eq!(bench.listing(), ["loops.toml", "small.toml"], "nothing was written");

    // What is chosen, and the same network in words.
    let one = bench.ok(&["analyze", "loops.toml", "--aqm", "wild"]);
    assert!(one.contains("wild") && !one.contains("pid"), "{one}");
    let words = bench.ok(&in_words("analyze", &["--aqm", "pi,red", "--set", "aqm[1].max_p=0.2"]));
    assert!(words.starts_with("50 flows, 10 Mbit/s, 100 ms\n"), "{words}");
    assert!(words.contains("\npi: ") && words.contains("\nred: "), "{words}");
}

#[test]
fn analyze_as_json_has_the_documented_shape() {
    let bench = bench();
    let json = bench.json(&["analyze", "loops.toml", "--format", "json"]);
    assert_eq!(keys(&json), ["schema", "title", "points", "agreement"]);
    assert_eq!((&json["schema"], &json["agreement"]), (&1.into(), &Value::Null));
    let point = &json["points"][0];
    assert_eq!(
        keys(point),
        [
            "settings",
            "link",
            "at_s",
            "flows",
            "capacity_pps",
            "buffer_packets",
            "rtt_s",
            "congestion",
            "left_out",
            "algorithms"
        ]
    );
    assert_eq!(
        (&point["at_s"], &point["flows"], &point["capacity_pps"]),
        (&10.0.into(), &20.0.into(), &500.0.into())
    );
    let algorithms = point["algorithms"].as_array().unwrap();
    for a in algorithms {
        assert_eq!(
            keys(a),
            [
                "label",
                "algorithm",
                "verdict",
                "reasons",
                "equilibrium",
                "margins",
                "criteria",
                "reach",
                "fluid",
                "packets"
            ]
        );
    }
    let verdicts: Vec<&str> = algorithms.iter().map(|a| a["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["stable", "unstable", "no-model"]);
    let pid = &algorithms[0];
    // p = 1.5 (N/(RC))^2 with R = 0.102 s + 50 packets/C.
    let p: f64 = 1.5 * (20.0_f64 / (0.202 * 500.0)).powi(2);
    assert!((pid["equilibrium"]["probability"].as_f64().unwrap() / p - 1.0).abs() < 1e-9);
    assert_eq!(
        keys(&pid["equilibrium"]),
        ["queue_packets", "queue_delay_s", "probability", "window_packets", "rtt_s", "state"]
    );
    assert_eq!(
        keys(&pid["margins"]),
        [
            "unstable_roots",
            "gain",
            "phase_deg",
            "delay_s",
            "crossovers_rad_per_s",
            "growth_per_s",
            "period_s",
            "damping",
            "settling_s"
        ]
    );
    assert_eq!(keys(&pid["criteria"][0]), ["statement", "left", "right", "holds", "necessary", "reason"]);
    let reach: Vec<&str> =
        pid["reach"].as_array().unwrap().iter().map(|r| r["quantity"].as_str().unwrap()).collect();
    assert_eq!(reach, ["flows", "capacity", "rtt"]);
    assert_eq!(keys(&pid["reach"][0]), ["quantity", "now", "below", "above"]);
    assert_eq!(keys(&pid["reach"][0]["below"]), ["at", "factor", "beyond"]);
    assert_eq!(algorithms[1]["margins"]["settling_s"], Value::Null);
    assert_eq!((&algorithms[2]["equilibrium"], &algorithms[2]["margins"]), (&Value::Null, &Value::Null));
}

#[test]
fn packets_confirm_the_verdicts_or_do_not() {
    let bench = bench();
    let json = bench.json(&["analyze", "loops.toml", "--check", "-q", "--format", "json"]);
    let algorithms = &json["points"][0]["algorithms"];
    let packets = &algorithms[0]["packets"];
    assert_eq!(
        keys(packets),
        ["motion", "mean_packets", "deviation_packets", "swing", "share", "period_s", "agrees"]
    );
    assert_eq!((&packets["motion"], &packets["agrees"]), (&"settled".into(), &true.into()));
    assert_eq!(algorithms[1]["packets"]["agrees"], true, "{}", algorithms[1]["packets"]);
    assert_eq!(algorithms[2]["packets"]["agrees"], Value::Null);
    assert_eq!(
        keys(&json["agreement"]["pid"]),
        [
            "stable_settled",
            "stable_unsettled",
            "unstable_settled",
            "unstable_unsettled",
            "no_equilibrium_settled",
            "no_equilibrium_unsettled"
        ]
    );
    assert_eq!(json["agreement"]["wild"]["unstable_unsettled"], 1);
    let table = bench.run(&["analyze", "loops.toml", "--check", "--quiet", "--svg", "bode.svg"]);
    assert_eq!((table.code, table.err.as_str()), (0, ""));
    assert!(
        table.out.contains("\npid: The packets confirm it: the simulated queue is settled, "),
        "{}",
        table.out
    );
    // The nonlinear fluid swings with a period, the packets do not.
    assert_eq!(&row(&table.out, "wild")[10..12], ["oscillating", "irregular"], "{}", table.out);
    is_whole_svg(&bench, "bode.svg");
}

#[test]
fn a_sweep_has_a_table_for_each_point_and_counts() {
    let bench = Bench::new();
    let sweep = "[sweep]\n\"flows.tcp.count\" = [10, 40]\n\n[dumbbell]";
    bench.file("sweep.toml", &LOOPS.replace("[dumbbell]", sweep));
    let out = bench.ok(&["analyze", "sweep.toml"]);
    assert!(out.starts_with("Two loops\n\nflows.tcp.count = 10\nbottleneck at 10 s: 10 flows, "), "{out}");
    assert!(out.contains("\nflows.tcp.count = 40\n") && !out.contains("The verdict holds"), "{out}");
    let json = bench.json(&["analyze", "sweep.toml", "--format", "json"]);
    assert_eq!(json["points"][1]["settings"][0]["value"], 40);
    assert_eq!(json["points"][1]["algorithms"][0]["reach"], Value::Array(Vec::new()));
    let out = bench.ok(&["analyze", "sweep.toml", "--check", "-q", "--svg", "verdicts.svg"]);
    assert!(out.contains("\nTheory and packets over all points\n"), "{out}");
    is_whole_svg(&bench, "verdicts.svg");
    let ran = bench.run(&["analyze", "sweep.toml", "--svg", "bode.svg"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("a sweep has one loop per point"), "{}", ran.err);
}

#[test]
fn the_time_is_that_of_the_flows() {
    let bench = Bench::new();
    let later = LOOPS
        .replace("warmup = \"10 s\"\n", "")
        .replace("rtt = \"100 ms\"", "rtt = \"100 ms\"\nstart = \"3 s\"");
    bench.file("later.toml", &later);
    assert!(bench.ok(&["analyze", "later.toml"]).contains("\nbottleneck at 3 s: 20 flows"));
    let ran = bench.run(&["analyze", "later.toml", "--at", "1 s"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (
            2,
            "error: later.toml: no long-lived TCP flow crosses the link bottleneck at 1 s: the fluid models apply to \
             TCP flows that always have data to send; some do at other times\n"
        )
    );
    let changes = LOOPS.replace(
        "ecn = true\n\n[[aqm]]",
        "ecn = true\nchanges = [{ at = \"20 s\", rate = \"2 Mbit/s\" }]\n\n[[aqm]]",
    );
    bench.file("changes.toml", &changes);
    let out = bench.ok(&["analyze", "changes.toml", "--aqm", "pid"]);
    assert!(
        out.contains("500 packets/s")
            && out.contains("\nomitted: what changes after 10 s: rates or delays\n"),
        "{out}"
    );
    assert!(bench.ok(&["analyze", "changes.toml", "--aqm", "pid", "--at", "30 s"]).contains("250 packets/s"));
}

#[test]
fn design_gives_parameters_that_a_scenario_takes() {
    let bench = Bench::new();
    let network = ["--rate", "4Mbit/s", "--rtt", "200ms", "--flows", "10"];
    let all = "red,ap-red,ared,auto-tuning-red,pi,pid,vrc,dred,rem,hred";
    let args =
        [&["design"], &network[..], &["--aqm", all, "--save", "all.toml", "--svg", "all.svg"]].concat();
    let out = bench.ok(&args);
    assert_eq!(out.matches("[[aqm]]\n").count(), 10);
    // Common assumptions are printed once.
    assert_eq!(out.matches("at least N = 10 flows").count(), 1, "{out}");
    assert_eq!(out.matches("all assume: ").count(), 2, "{out}");
    for line in out.lines().filter(|l| l.contains(" = ") && !l.contains(": ")) {
        let digits = |word: &str| word.chars().filter(char::is_ascii_digit).skip_while(|c| *c == '0').count();
        assert!(line.split([' ', '"']).all(|word| digits(word) <= 7), "{line}");
    }
    is_whole_svg(&bench, "all.svg");
    assert!(bench.ok(&["scenario", "check", "all.toml"]).contains("10 algorithms"));
    bench.ok(&["run", "all.toml", "-q", "--no-report", "--seed", "1", "--set", "duration=70 s"]);

    let one = [&["design"], &network[..], &["--aqm", "vrc"]].concat();
    let out = bench.ok(&one);
    let head: Vec<&str> = out.lines().take(6).collect();
    // beta = 2N/(R^2 C), gamma = 1/R, alpha = (0.5/R) a N/C^2 with a = 1.5 [the plant's corners].
    assert_eq!(
        head,
        [
            "[[aqm]]",
            "algorithm = \"vrc\"",
            "alpha = 0.00015",
            "beta = 1.0",
            "gamma = 5.0",
            "q_ref = \"25 packets\""
        ]
    );
    let json = bench.json(&[&one[..], &["--format", "json"]].concat());
    assert_eq!(keys(&json), ["schema", "designs", "settings"]);
    let design = &json["designs"][0];
    assert_eq!(
        keys(design),
        [
            "aqm",
            "assumptions",
            "warnings",
            "label",
            "algorithm",
            "verdict",
            "reasons",
            "equilibrium",
            "margins",
            "criteria",
            "reach",
            "fluid",
            "packets"
        ]
    );
    assert_eq!((&design["aqm"]["algorithm"], &design["aqm"]["gamma"]), (&"vrc".into(), &5.0.into()));
    assert_eq!((&design["verdict"], &design["packets"]), (&"stable".into(), &Value::Null));
}

#[test]
fn packets_are_asked_about_a_design() {
    let bench = Bench::new();
    let args = ["--rate", "1Mbit/s", "--rtt", "200ms", "--flows", "4", "--aqm", "pi", "--check", "-q"];
    let ran = bench.run(&[&["design"], &args[..]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(
        ran.out.contains("\npi: The packets ") && ran.out.contains(": the simulated queue is "),
        "{}",
        ran.out
    );
}

#[test]
fn a_map_is_drawn_in_characters_and_as_a_picture() {
    let bench = Bench::new();
    let axes = ["--aqm", "pi", "--x", "flows=10..500:log", "--y", "rtt=10..500ms", "--points", "12"];
    let out = bench.ok(&in_words("map", &axes));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "pi: growth rate over flows and rtt");
    assert_eq!(lines[2], "       500 |############");
    assert!(out.contains("\nacross flows, logarithmic, up rtt (ms)\n# stable   . unstable\n"), "{out}");
    assert!(out.contains("% of the points are stable\nblank: no equilibrium ("), "{out}");
    assert!(out.contains(", rtt = 10.0 ms: signal probability p = "), "{out}");

    let json = bench.json(&in_words("map", &[&axes[..], &["--format", "json"]].concat()));
    assert_eq!(keys(&json), ["schema", "algorithm", "show", "x", "y", "values", "missing"]);
    assert_eq!((&json["algorithm"], &json["show"]), (&"pi".into(), &"growth rate".into()));
    assert_eq!(keys(&json["y"]), ["name", "unit", "values"]);
    assert_eq!((&json["y"]["unit"], &json["y"]["values"][11]), (&"ms".into(), &500.0.into()));
    let values = json["values"].as_array().unwrap();
    assert_eq!((values.len(), values[0].as_array().unwrap().len()), (12, 12));
    assert_eq!(values[0][11], Value::Null);
    assert_eq!(keys(&json["missing"][0]), ["reason", "points", "example"]);
    let blank = values.iter().flat_map(|row| row.as_array().unwrap()).filter(|v| v.is_null()).count();
    assert_eq!(json["missing"][0]["points"], blank);

    for show in ["growth", "gain-margin", "phase-margin", "delay-margin", "settling", "queue", "probability"]
    {
        let more = ["--show", show, "--svg", "map.svg"];
        let out = bench.ok(&in_words("map", &[&axes[..], &more].concat()));
        assert!(out.ends_with("picture  map.svg\n"), "{out}");
        is_whole_svg(&bench, "map.svg");
    }
}

/// Both ends of the scale have the unit, and times that of the axis.
#[test]
fn a_map_has_one_unit_of_time() {
    let bench = Bench::new();
    let last = |axes: &[&str]| {
        let out = bench.ok(&in_words("map", &[&["--aqm", "red", "--points", "8"], axes].concat()));
        out.lines()
            .find(|line| line.starts_with("0 is "))
            .unwrap()
            .split_whitespace()
            .map(str::to_string)
            .collect()
    };
    let unit = |words: &Vec<String>| (words[3].trim_end_matches(',').to_string(), words[7].clone());
    let network = ["--x", "rtt=20ms..200ms", "--y", "flows=5..20", "--show", "delay-margin"];
    let ms: Vec<String> = last(&network);
    assert_eq!(unit(&ms), ("ms".into(), "ms".into()), "{ms:?}");
    let s: Vec<String> = last(&["--x", "rtt=0.02s..0.2s", "--y", "flows=5..20", "--show", "delay-margin"]);
    assert_eq!(unit(&s), ("s".into(), "s".into()), "{s:?}");
    let number = |text: &str| text.parse::<f64>().unwrap();
    assert!((number(&ms[6]) / number(&s[6]) / 1e3 - 1.0).abs() < 0.01, "{ms:?} {s:?}");
    let packets: Vec<String> = last(&["--x", "rtt=20ms..200ms", "--y", "flows=5..20", "--show", "queue"]);
    assert_eq!(unit(&packets), ("packets".into(), "packets".into()));
}

#[test]
fn wrong_questions_are_refused_with_the_quantity_and_the_rule() {
    let bench = bench();
    let sweep = "[sweep]\n\"flows.tcp.count\" = [10, 40]\n\n[dumbbell]";
    bench.file("sweep.toml", &LOOPS.replace("[dumbbell]", sweep));
    let map = |x: &'static str, y: &'static str| in_words("map", &["--aqm", "pi", "--x", x, "--y", y]);
    let cases: Vec<(Vec<&str>, &str)> = vec![
        (
            vec!["analyze"],
            "error: no network was given: name a scenario file, or give --rate, --rtt, --flows and --aqm (--rate, --rtt, --flows and --aqm are missing)\n",
        ),
        (in_words("analyze", &[]), "(--aqm is missing)\n"),
        (vec!["analyze", "absent.toml"], "error: absent.toml: cannot read: No such file"),
        (vec!["analyze", "loops.toml", "--rate", "1Mbit/s"], "cannot be used with"),
        (
            vec!["analyze", "loops.toml", "--aqm", "pidd"],
            "unknown algorithm of the scenario; did you mean \"pid\"? Known: pid, wild, drop-tail",
        ),
        (
            vec!["analyze", "loops.toml", "--link", "r9"],
            "error: loops.toml: no link is called r9; the measured links are bottleneck\n",
        ),
        (
            vec!["analyze", "loops.toml", "--at", "2 h"],
            "error: --at = 7200 s: must not be later than the end of the scenario (40 s)\n",
        ),
        (vec!["analyze", "loops.toml", "--svg", "x.svg", "--diagram", "verdicts"], "add --check\n"),
        (
            vec!["analyze", "loops.toml", "--aqm", "drop-tail", "--svg", "x.svg"],
            "error: --svg: none of these algorithms has a loop to draw\n",
        ),
        (in_words("analyze", &["--aqm", "redd"]), "did you mean \"red\"? Known: drop-tail, red, "),
        (in_words("analyze", &["--aqm", "pi,pi"]), "error: --aqm names pi twice: name it once\n"),
        (
            in_words("analyze", &["--aqm", "pi", "--packet", "0B"]),
            "invalid value '0B' for '--packet <SIZE>': must lie between 1 B and 65535 B\n",
        ),
        (
            in_words("analyze", &["--aqm", "pi", "--buffer", "0 packets"]),
            "error: the network of --rate, --rtt and --flows: dumbbell.buffer = \"0 packets\": must lie between 1 packet and 10000000 packets\n",
        ),
        (
            in_words("analyze", &["--aqm", "pi", "--set", "aqm[0].a=nan"]),
            "aqm[0].a = NaN: must lie in (0, 1] [Chen 2010, eq. 3.7]\n",
        ),
        (
            vec!["design", "--rate", "NaNMbit/s", "--rtt", "1s", "--flows", "1", "--aqm", "pi"],
            "\"NaNMbit/s\" is not a rate with its unit",
        ),
        (
            vec!["design", "--rate", "0Mbit/s", "--rtt", "1s", "--flows", "1", "--aqm", "pi"],
            "error: invalid value '0Mbit/s' for '--rate <RATE>': must lie between 1 kbit/s and 1000 Gbit/s\n",
        ),
        (
            vec!["design", "--rate", "1Mbit/s", "--rtt", "0s", "--flows", "1", "--aqm", "pi"],
            "error: invalid value '0s' for '--rtt <TIME>': must lie between 1 us and 10 s\n",
        ),
        (
            vec!["design", "--rate", "1Mbit/s", "--rtt", "10ms", "--flows", "100", "--aqm", "pi"],
            "error: signal probability p = 9600: must lie in (0, 1]: at equilibrium a flow would have a window of 1.25e-2 packets; fewer flows, a higher capacity or a longer round-trip time would have an equilibrium [Park et al. 2004, eq. 13]\n",
        ),
        (
            in_words("design", &["--aqm", "blue"]),
            "error: --aqm blue: Quell has no rule for its parameters; rules exist for red, ",
        ),
        (
            in_words("design", &["--aqm", "codel", "--check"]),
            "error: --check: codel follow from documents and not from a model, so there is nothing to check ",
        ),
        (in_words("design", &["--aqm", "vcr"]), "did you mean \"vrc\"? Known: drop-tail, "),
        (
            in_words("design", &["--aqm", "pi", "--queue", "1000 packets"]),
            "error: round-trip time R = 0.1 s: must exceed the 0.8 s that a queue of 1000 packets takes: request a smaller queue\n",
        ),
        (
            map("flow=1..2", "rtt=1..2ms"),
            "error: axis \"flow\": unknown axis; did you mean \"flows\"? Known: flows, rate, rtt, a, b, ",
        ),
        (
            map("flows=1..2", "flows=1..2"),
            "error: --x and --y both vary flows: choose another quantity for one of them\n",
        ),
        (map("flows=-5..10", "rtt=1..2ms"), "error: flows = -5..10: must be positive over its whole range\n"),
        (map("flows=1ms..2ms", "rtt=1..2ms"), "error: flows = 1 ms..2 ms: must be a number without a unit\n"),
        (
            map("flows=1..2", "rtt=1..2"),
            "error: rtt = 1..2: must have a unit of time, such as rtt=10..500ms\n",
        ),
        (
            map("rate=1..2ms", "rtt=1..2ms"),
            "error: rate = 1 ms..2 ms: must have a unit of rate, such as rate=1..100Mbit/s\n",
        ),
        (map("q_ref=1..50", "rtt=1..2ms"), "error: q_ref = 1..50: must have its unit (packets or bytes), "),
        (map("flows=nan..2", "rtt=1..2ms"), "must have the form NAME=FROM..TO"),
        (map("flows=1..inf", "rtt=1..2ms"), "must have the form NAME=FROM..TO"),
        (map("flows=1", "rtt=1..2ms"), "or that of a sweep's range, such as flows=10..500:log:9"),
        (
            map("flows=1000..2000", "rtt=10..20ms"),
            "error: no point on the map has a value; at flows = 1000, rtt = 10.0 ms: signal probability p = ",
        ),
        (
            in_words("map", &["--aqm", "blue", "--x", "flows=1..2", "--y", "rtt=1..2ms"]),
            "error: no model of blue: p moves only on overflow and on idle links",
        ),
        (
            vec!["map", "loops.toml", "--x", "flows=1..2", "--y", "rtt=1..2ms"],
            "error: a map shows one algorithm; choose one with --aqm: pid, wild, drop-tail\n",
        ),
        (
            vec!["map", "sweep.toml", "--aqm", "pid", "--x", "flows=1..2", "--y", "rtt=1..2ms"],
            "error: a map shows one network, but the scenario is a sweep; set its swept fields with --set\n",
        ),
    ];
    for (args, expected) in cases {
        let ran = bench.run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
    }
    assert_eq!(bench.listing(), ["loops.toml", "small.toml", "sweep.toml"], "nothing was written");
}

/// The network and not the question is at fault: of several algorithms the others are still designed.
/// On a fast link within a building, twice the bandwidth-delay product is shorter than a target.
#[test]
fn the_buffer_that_nobody_asked_for_fits_the_algorithm() {
    let bench = bench();
    let near = ["--rate", "1Gbit/s", "--rtt", "1ms", "--flows", "4", "--aqm"];
    for aqm in ["pi2", "dualpi2", "pie", "codel", "pi"] {
        let ran = bench.run(&[&["analyze"], &near[..], &[aqm]].concat());
        assert_ne!(ran.code, 2, "{aqm}: {}", ran.err);
    }
    // One that is asked for is not made larger.
    let small = bench.run(&[&["analyze"], &near[..], &["pi2", "--buffer", "250packets"]].concat());
    let said = "no model of pi2: target = 20 ms: a full buffer (250 packets) takes 2.00 ms to drain";
    assert!(small.out.contains(said) && !small.out.contains("NaN"), "{}", small.out);
}

#[test]
fn what_no_rule_suits_is_noted() {
    let bench = Bench::new();
    let ran = bench.run(&in_words("design", &["--aqm", "pi,avq", "--rtt", "300ms"][..2]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let alone =
        bench.run(&["design", "--rate", "20Mbit/s", "--rtt", "200ms", "--flows", "60", "--aqm", "avq"]);
    assert_eq!(alone.code, 2);
    assert!(alone.err.contains("more flows or a shorter R"), "{}", alone.err);
    let both =
        bench.run(&["design", "--rate", "20Mbit/s", "--rtt", "200ms", "--flows", "60", "--aqm", "pi,avq"]);
    assert_eq!(both.code, 0);
    assert!(both.err.starts_with("note: avq: ") && both.out.contains("algorithm = \"pi\""), "{}", both.err);
}

/// Every saved design can be run: at the highest rates the run is shorter, and beyond them nothing is saved.
#[test]
fn a_saved_design_can_be_run() {
    let bench = bench();
    let design = |rate: &'static str| {
        bench.run(&[
            "design",
            "--rate",
            rate,
            "--rtt",
            "100ms",
            "--flows",
            "200",
            "--aqm",
            "pi",
            "--save",
            "x.toml",
            "--overwrite",
        ])
    };
    for rate in ["33.333333Mbit/s", "100Gbit/s", "320Gbit/s"] {
        assert_eq!(design(rate).code, 0, "{rate}");
        bench.ok(&["scenario", "check", "x.toml"]);
    }
    std::fs::remove_file(bench.path("x.toml")).unwrap();
    let ran = design("400Gbit/s");
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("--save: the scenario would be invalid: dumbbell.rate = \"400 Gbit/s\""),
        "{}",
        ran.err
    );
    assert!(!bench.path("x.toml").exists());
}

/// A relay has no slope; a curve of the same thresholds that goes on beyond them has one.
#[test]
fn a_step_has_no_linear_verdict() {
    let bench = bench();
    let verdict = |gentle: &str, max_p: &str| {
        let (gentle, max_p) = (format!("aqm.red.gentle={gentle}"), format!("aqm.red.max_p={max_p}"));
        let more =
            ["--aqm", "red", "--congestion", "dctcp", "--format", "json", "--set", &gentle, "--set", &max_p];
        let th = ["--set", "aqm.red.min_th=20 packets", "--set", "aqm.red.max_th=21 packets"];
        bench.json(&in_words("analyze", &[&more[..], &th].concat()))["points"][0]["algorithms"][0].clone()
    };
    let step = verdict("false", "1.0");
    assert_eq!(step["verdict"], "no-model", "{step}");
    assert!(step["reasons"][0].as_str().unwrap().contains("a relay"), "{step}");
    assert_ne!(verdict("true", "0.01")["verdict"], "no-model");
}

/// Far too long to wait for: the error must come before the simulation.
#[test]
fn places_that_cannot_be_written_are_found_first() {
    let bench = bench();
    bench.file("file", "not a folder");
    let long = ["--check", "--set", "duration=100000 s", "--set", "warmup=50000 s"];
    let check = [&["analyze", "loops.toml", "--svg", "file/x.svg"], &long[..]].concat();
    for args in [
        check,
        in_words("design", &["--aqm", "pi", "--check", "--save", "file/x.toml"]),
        in_words("design", &["--aqm", "pi", "--check", "--svg", "absent/x.svg"]),
        in_words("map", &["--aqm", "pi", "--x", "flows=1..2", "--y", "rtt=1..2s", "--svg", "file/x.svg"]),
    ] {
        let ran = bench.run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{args:?}");
        assert!(ran.err.starts_with("error: cannot write "), "{args:?}: {}", ran.err);
    }
    let ran = bench.run(&in_words("design", &["--aqm", "pi", "--save", "."]));
    assert_eq!((ran.code, ran.err.as_str()), (1, "error: cannot write .: is a directory\n"));
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::process::Stdio;
    use std::time::Duration;

    #[test]
    fn an_interrupted_check_prints_what_was_checked() {
        let bench = bench();
        // The first point takes a moment, the second far longer than the test.
        let sweep = "[sweep]\n\"duration\" = [\"40 s\", \"400000 s\"]\n\n[dumbbell]";
        bench.file("long.toml", &LOOPS.replace("[dumbbell]", sweep));
        let args = ["analyze", "long.toml", "--check", "--svg", "verdicts.svg"];
        let child = bench.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(4));
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 130, "{}", ran.err);
        assert!(
            ran.err.ends_with(
                "interrupted: 1 of 2 points were checked; the others have only the theory's verdict\n"
            ),
            "{}",
            ran.err
        );
        assert!(ran.out.contains("Theory and packets over all points"), "{}", ran.out);
        is_whole_svg(&bench, "verdicts.svg");
        assert_eq!(list(&bench.path("")), ["long.toml", "loops.toml", "small.toml", "verdicts.svg"]);
    }

    /// An interruption before the first packet, while the theory is asked about hundreds of points.
    #[test]
    fn an_interrupted_theory_says_so() {
        let bench = bench();
        let sweep = "[sweep]\n\"dumbbell.rate\" = \"5 Mbit/s..1 Gbit/s:log:2000\"\n\n[dumbbell]";
        bench.file("many.toml", &LOOPS.replace("[dumbbell]", sweep));
        let child = bench
            .command(&["analyze", "many.toml", "--check"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs(2));
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 130, "{}", ran.err);
        assert!(ran.err.contains("interrupted: "), "{}", ran.err);
        assert!(ran.err.contains("points"), "{}", ran.err);
    }

    #[test]
    fn a_reader_that_goes_away_is_no_error() {
        let bench = bench();
        let map =
            in_words("map", &["--aqm", "pi", "--x", "flows=1..50", "--y", "rtt=1..2s", "--points", "4"]);
        for args in [vec!["analyze", "loops.toml"], in_words("design", &["--aqm", "pi"]), map] {
            let mut child =
                bench.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            drop(child.stdout.take());
            let ran = Ran::from(child.wait_with_output().unwrap());
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        }
    }
}

#[test]
fn each_congestion_control_is_analyzed_designed_for_and_mapped() {
    let bench = bench();
    for name in ["reno", "cubic", "dctcp", "prague"] {
        let out = bench.ok(&in_words("analyze", &["--aqm", "pi", "--congestion", name]));
        assert_eq!(out.contains(&format!(", windows follow {name}\n")), name != "reno", "{out}");
        let json =
            bench.json(&in_words("design", &["--aqm", "pi", "--congestion", name, "--format", "json"]));
        assert_eq!(json["designs"][0]["verdict"], "stable", "{json}");
    }
    let axes = ["--x", "flows=5..20", "--y", "rtt=20ms..200ms", "--points", "3", "--format", "json"];
    let json = bench.json(&[&in_words("map", &["--aqm", "pi", "--congestion", "cubic"])[..], &axes].concat());
    assert!(json["values"][0][0].is_number(), "{json}");
    // A scenario's flows get it with what it needs, and it is said.
    let ran = bench.run(&["analyze", "loops.toml", "--congestion", "dctcp", "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["points"][0]["congestion"], "dctcp");
    assert!(
        ran.err.starts_with("note: --congestion dctcp replaces what these flows have, with ecn = true"),
        "{}",
        ran.err
    );
    let ran = bench.run(&in_words("analyze", &["--aqm", "pi", "--congestion", "Cubic"]));
    assert!(ran.code == 2 && ran.err.contains("did you mean \"cubic\"?"), "{}", ran.err);
    let ran = bench.run(&in_words("analyze", &["--aqm", "pi", "--congestion", "dctcp", "--drops"]));
    assert!(
        ran.code == 2 && ran.err.starts_with("error: --drops: dctcp needs the share of marks"),
        "{}",
        ran.err
    );
    // A scenario says it by itself.
    let swapped = LOOPS.replace("tcp = { ecn = true }", "tcp = { ecn = true, congestion = \"cubic\" }");
    bench.file("cubic.toml", &swapped);
    let json = bench.json(&["analyze", "cubic.toml", "--format", "json"]);
    assert_eq!(json["points"][0]["congestion"], "cubic");
}

#[test]
fn a_congestion_control_without_a_law_is_refused_with_the_reason() {
    let bench = bench();
    for (command, aqm, congestion, why) in [
        ("analyze", "pi", "bbr3", "its window is not a function of the signal probability"),
        ("design", "red", "dctcp", "congestion = \"dctcp\": must be \"reno\""),
    ] {
        let ran = bench.run(&in_words(command, &["--aqm", aqm, "--congestion", congestion]));
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(ran.err.contains(why), "{}", ran.err);
    }
}
