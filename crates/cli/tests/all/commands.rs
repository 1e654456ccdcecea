//! Every command, as a user sees it.

use crate::common::{Bench, Ran, SMALL};
use serde_json::Value;

#[test]
fn run_prints_a_table_and_keeps_results_and_report() {
    let bench = Bench::new();
    let out = bench.ok(&["run", "small.toml"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "Small");
    for heading in ["utilization", "goodput", "loss", "queue", "P99", "Jain"] {
        assert!(out.contains(heading), "{heading} is missing:\n{out}");
    }
    for unit in ["%", "Mbit/s", "packets", "ms"] {
        assert!(out.contains(unit), "{unit} is missing:\n{out}");
    }
    let row = |name: &str| lines.iter().find(|l| l.starts_with(name)).unwrap().matches(['±', '[']).count();
    assert_eq!((row("drop-tail"), row("red")), (9, 9), "{out}");
    assert!(out.contains("95% confidence interval over 2 seeds"), "{out}");
    assert!(out.contains("results  results/small\n"), "{out}");
    assert!(out.contains("report   results/small/report.html\n"), "{out}");
    assert!(!out.contains('\u{1b}'), "colors in a pipe");
    assert!(bench.path("results/small/report.html").is_file());
    assert!(bench.path("results/small/run.json").is_file());
}

/// Two results are compared as they are; what their scenarios do not share is said.
#[test]
fn results_of_other_scenarios_are_compared_with_a_note() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "--out", "one", "--no-report", "-q"]);
    bench.ok(&["run", "small.toml", "--out", "same", "--no-report", "-q", "--seeds", "3"]);
    let longer = ["--set", "duration=\"7 s\"", "--set", "flows.ftp.rtt=\"30 ms\""];
    bench.ok(&[&["run", "small.toml", "--out", "other", "--no-report", "-q"], &longer[..]].concat());
    let noted = bench.run(&["compare", "one", "other"]);
    assert!(noted.err.contains("from scenarios that differ: duration, flows[0].rtt"), "{}", noted.err);
    let noted = bench.run(&["compare", "one", "same"]);
    assert!(!noted.err.contains("differ"), "{}", noted.err);
}

#[test]
fn results_that_are_there_are_never_lost_unasked() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "--no-report", "--quiet"]);
    assert!(!bench.path("results/small/report.html").exists());
    assert!(bench.ok(&["run", "small.toml", "-q"]).contains("results/small-2\n"));
    assert!(bench.ok(&["run", "small.toml", "-q", "--overwrite"]).contains("results  results/small\n"));
    assert!(bench.path("results/small/report.html").exists());
    let again = bench.run(&["run", "small.toml", "--out", "results/small"]);
    assert_eq!(
        (again.code, again.err.as_str()),
        (
            2,
            "error: results/small: already holds results; use --overwrite to replace them, or --out to name another \
             folder\n"
        )
    );
    bench.ok(&["run", "small.toml", "-q", "--out", "results/small", "--overwrite"]);
    assert_eq!(crate::common::list(&bench.path("results")), ["small", "small-2"]);
}

#[test]
fn json_has_the_documented_shape() {
    let bench = Bench::new();
    let json = bench.json(&["run", "small.toml", "--format", "json"]);
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "schema",
            "title",
            "scenario",
            "version",
            "commit",
            "engine",
            "digest",
            "partial",
            "replications_asked",
            "replications_finished",
            "holes",
            "notes",
            "elapsed_s",
            "folder",
            "report",
            "points"
        ]
    );
    assert_eq!(json["schema"], 1);
    assert_eq!((&json["replications_asked"], &json["replications_finished"]), (&4.into(), &4.into()));
    let point = &json["points"][0];
    assert_eq!(point["settings"], Value::Array(vec![]));
    let rows = point["rows"].as_array().unwrap();
    let labels: Vec<_> = rows.iter().map(|r| r["algorithm"].as_str().unwrap()).collect();
    assert_eq!(labels, ["drop-tail", "red"]);
    for row in rows {
        assert_eq!((&row["scope"], &row["segment"]), (&"all".into(), &Value::Null));
        let metrics = row["metrics"].as_object().unwrap();
        assert_eq!(metrics.len(), quell_lab::Metric::ALL.len());
        let u = &metrics["utilization"];
        let number = |key: &str| u[key].as_f64().unwrap();
        assert_eq!((&u["n"], &u["unit"]), (&2.into(), &"1".into()));
        assert!(number("mean") > 0.5 && number("mean") <= 1.0, "{u}");
        assert!((number("mean") - number("half_width") - number("low")).abs() < 1e-12);
        // A utilization ends at 1.
        let high = (number("mean") + number("half_width")).min(1.0);
        assert!((high - number("high")).abs() < 1e-12);
        assert_eq!(metrics["queue_delay_p99_s"]["unit"], "s");
    }
    // One seed: a mean without an interval.
    let one = bench.json(&["run", "small.toml", "--seed", "7", "--format", "json", "--metric", "jain_index"]);
    let metrics = &one["points"][0]["rows"][0]["metrics"];
    assert_eq!(metrics.as_object().unwrap().len(), 1);
    let jain = &metrics["jain_index"];
    assert_eq!(
        (&jain["half_width"], &jain["low"], &jain["high"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(jain["n"], 1);
}

#[test]
fn the_number_of_threads_and_the_engine_change_nothing() {
    let bench = Bench::new();
    let digest = |more: &[&str]| {
        let args = [&["run", "small.toml", "--format", "json", "--no-report"], more].concat();
        bench.json(&args)["digest"].as_str().unwrap().to_string()
    };
    let one = digest(&["--threads", "1"]);
    assert_eq!(one, digest(&["--threads", "2"]));
    assert_eq!(one, digest(&["--engine", "reference"]));
    assert_ne!(one, digest(&["--seeds", "3-4"]));
}

#[test]
fn fields_and_seeds_can_be_set() {
    let bench = Bench::new();
    let shown = bench.ok(&[
        "scenario",
        "show",
        "small.toml",
        "--set",
        "dumbbell.rate=3 Mbit/s",
        "--set",
        "flows.ftp.count=2",
    ]);
    assert!(shown.contains("rate = \"3 Mbit/s\""), "{shown}");
    assert!(shown.contains("count = 2"), "{shown}");
    bench.ok(&["run", "small.toml", "--seeds", "3,5-6", "--set", "aqm.red.max_p=0.2", "-q", "--out", "r"]);
    let run: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path("r/run.json")).unwrap()).unwrap();
    assert_eq!(run["points"][0]["seeds"], serde_json::json!([3, 5, 6]));
    let command: Vec<_> = run["command"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    assert_eq!(command[..3], ["quell", "run", "small.toml"]);
    let wrong = bench.run(&["run", "small.toml", "--set", "dumbbell.rat=3 Mbit/s"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.err.contains("dumbbell.rat") && wrong.err.contains("did you mean \"rate\"?"),
        "{}",
        wrong.err
    );
}

#[test]
fn a_sweep_gives_a_table_per_point() {
    let bench = Bench::new();
    bench
        .file("sweep.toml", &format!("{SMALL}\n[sweep]\n\"dumbbell.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"]\n"));
    let out = bench.ok(&["run", "sweep.toml", "-q"]);
    assert!(out.contains("point 1 of 2: dumbbell.rate = 1 Mbit/s\n"), "{out}");
    assert!(out.contains("point 2 of 2: dumbbell.rate = 2 Mbit/s\n"), "{out}");
    assert_eq!(out.lines().filter(|l| l.starts_with("drop-tail")).count(), 2);
    let json = bench.json(&["show", "results/sweep", "--format", "json"]);
    assert_eq!(json["points"][1]["settings"][0]["value"], "2 Mbit/s");
    // What is shown is a scenario: that of one point.
    let shown = |args: &[&str]| bench.ok(&[&["scenario", "show", "sweep.toml"], args].concat());
    let (first, second) = (shown(&[]), shown(&["--point", "2"]));
    let head = "# Point 1 of 2: dumbbell.rate = 1 Mbit/s\n# The other points; show them with --point:\n#   2 of 2: \
                dumbbell.rate = 2 Mbit/s\n";
    assert!(first.starts_with(head), "{first}");
    assert!(second.starts_with("# Point 2 of 2: dumbbell.rate = 2 Mbit/s\n"), "{second}");
    for (text, rate) in [(first, "1 Mbit/s"), (second, "2 Mbit/s")] {
        bench.file("point.toml", &text);
        bench.ok(&["scenario", "check", "point.toml"]);
        assert_eq!(text.matches("schema = 1").count(), 1, "{text}");
        assert!(text.contains(&format!("\nrate = \"{rate}\"\n")), "{text}");
    }
    let beyond = bench.run(&["scenario", "show", "sweep.toml", "--point", "3"]);
    let want = "error: --point 3: must be at most 2, because the scenario has 2 points\n";
    assert_eq!((beyond.code, beyond.err.as_str()), (2, want));
}

#[test]
fn the_command_line_sweeps_and_computes() {
    let bench = Bench::new();
    let show = |args: &[&str]| bench.ok(&[&["scenario", "show", "small.toml"], args].concat());
    let text = show(&["--sweep", "flows.ftp.count=2,4", "--sweep", "dumbbell.delay=5..20 ms:log:3"]);
    let head = "# Point 1 of 6: flows.ftp.count = 2, dumbbell.delay = 5 ms\n";
    assert!(text.starts_with(head), "{text}");
    assert!(text.contains("#   5 of 6: flows.ftp.count = 4, dumbbell.delay = 10 ms\n"), "{text}");
    let text = show(&["--sweep", "flows.ftp.count=2,4; dumbbell.buffer=20 packets,40 packets"]);
    assert!(text.contains("2 of 2: flows.ftp.count = 4, dumbbell.buffer = 40 packets\n"), "{text}");
    let text = show(&[
        "--set",
        "aqm.red.max_th=0.4 * dumbbell.buffer",
        "--set",
        "aqm.red.min_th=aqm.red.max_th / 2",
        "--sweep",
        "dumbbell.buffer=25..50 packets:step:25",
        "--point",
        "2",
    ]);
    for line in ["min_th = \"10 packets\"", "max_th = \"20 packets\""] {
        assert!(text.lines().any(|l| l == line), "{line} is missing:\n{text}");
    }
    // Everything that takes --set.
    let json = bench.json(&[
        "compare",
        "small.toml",
        "-q",
        "-b",
        "red",
        "--sweep",
        "flows.ftp.count=2,4",
        "--format",
        "json",
    ]);
    let counts: Vec<&Value> =
        json["points"].as_array().unwrap().iter().map(|p| &p["settings"][0]["value"]).collect();
    assert_eq!(counts, [&Value::from(2), &Value::from(4)]);
    let json = bench.json(&[
        "analyze",
        "small.toml",
        "--aqm",
        "red",
        "--sweep",
        "flows.ftp.count=2,4",
        "--format",
        "json",
    ]);
    assert_eq!(json["points"].as_array().unwrap().len(), 2);
    let wrong = |args: &[&str], want: &str| {
        let ran = bench.run(&[&["run", "small.toml"], args].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(want), "{args:?}: {}", ran.err);
    };
    wrong(
        &["--sweep", "flows.fpt.count=1,2"],
        "error: --sweep flows.fpt.count=1,2: \"flows.fpt.count\" is not a field",
    );
    wrong(&["--sweep", "flows.ftp.count"], "error: --sweep flows.ftp.count: must have the form FIELD=VALUES");
    wrong(
        &["--sweep", "flows.ftp.count=0,-1"],
        "small.toml with --sweep flows.ftp.count=0,-1: flows[0].count = -1: must be a whole number from 1 to 200000",
    );
    wrong(
        &["--sweep", "dumbbell.delay=40 ms,50 ms"],
        "is less than the 80 ms that the links between routers take for a round trip (flow 0: 50 ms) (at ",
    );
    wrong(
        &["--sweep", "flows.ftp.tcp.congestion=reno,cubik"],
        "flows[0].tcp.congestion = \"cubik\": must be one of: reno, cubic, ",
    );
    wrong(&["--set", "aqm.red.max_p=[0.1,0.2]"], "sweep over them: --sweep FIELD=A,B");
    wrong(
        &["--set", "dumbbell.delay=dumbbell.buffer"],
        "dumbbell.delay = \"25 packets\": not a time with its unit",
    );
    assert_eq!(bench.listing(), ["small.toml"]);
}

#[test]
fn points_that_are_not_valid_are_left_out_and_named() {
    let bench = Bench::new();
    let args = ["run", "small.toml", "-q", "--seed", "1", "--sweep", "flows.ftp.count=0,2"];
    let ran = bench.run(&args);
    let hole = "flows.ftp.count = 0: flows[0].count = 0: must be at least 1";
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("flows.ftp.count = 2\n"), "{}", ran.out);
    let listed = format!("left out (1 of 2 points):\n  {hole}\n");
    assert!(ran.out.contains(&listed), "{}", ran.out);
    assert!(ran.err.contains(&format!("1 of 2 points is left out: {hole}\n")), "{}", ran.err);
    let run = std::fs::read_to_string(bench.path("results/small/run.json")).unwrap();
    let run: Value = serde_json::from_str(&run).unwrap();
    assert_eq!(run["holes"][0]["settings"][0]["field"], "flows.ftp.count");
    let report = std::fs::read_to_string(bench.path("results/small/report.html")).unwrap();
    assert!(report.contains(&format!(
        "<details class=\"notice\" open><summary>Left out and not run: 1 of 2 \
         points</summary>\n<ul>\n<li>{hole}</li>\n</ul></details>"
    )));
    assert!(bench.ok(&["show", "results/small"]).contains(&listed));
    let json = bench.json(&["show", "results/small", "--format", "json"]);
    assert_eq!(json["holes"][0]["reason"], "flows[0].count = 0: must be at least 1");
    // Checked and shown, too; many are counted.
    bench.file("many.toml", &format!("{SMALL}\n[sweep]\ndumbbell.delay = \"86 ms..23 ms:step:1 ms\"\n"));
    let checked = bench.run(&["scenario", "check", "many.toml"]);
    assert!(checked.out.contains("3 points × 2 algorithms"), "{}", checked.out);
    assert!(checked.err.contains("61 of 64 points are left out:\n"), "{}", checked.err);
    assert!(checked.err.ends_with("  and 42 others\n"), "{}", checked.err);
    assert_eq!(checked.err.lines().count(), 21);
    assert!(bench.ok(&["scenario", "show", "many.toml"]).contains("\n# Not valid: dumbbell.delay = 86 ms: "));
}

/// What there is to know of a run is in all that it leaves behind, and not on standard error alone.
#[test]
fn results_say_what_to_know_of_them_and_what_made_them() {
    let bench = Bench::new();
    bench.file("noted.toml", &SMALL.replace("[dumbbell]", "[dumbbell]\nloss = 0.01"));
    let sweep = ["--sweep", "flows.ftp.count=0,2"];
    for seeds in ["2", "auto"] {
        let out = format!("results/{seeds}");
        let run =
            ["run", "noted.toml", "-q", "--format", "json", "--overwrite", "--out", &out, "--seeds", seeds];
        let mut run = [&run[..], &sweep].concat();
        if seeds == "auto" {
            run.extend(["--max-seeds", "4", "--precision", "utilization=50%"]);
        }
        let ran = bench.run(&run);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let ran: Value = serde_json::from_str(&ran.out).unwrap();
        let shown = bench.json(&["show", &out, "--format", "json"]);
        let file = std::fs::read_to_string(bench.path(&format!("{out}/run.json"))).unwrap();
        let file: Value = serde_json::from_str(&file).unwrap();
        for json in [&ran, &shown, &file] {
            let notes: Vec<&str> = json["notes"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
            assert!(notes[0].starts_with("loss = 0.01: wire_loss_rate counts"), "{notes:?}");
            assert_eq!(notes.iter().filter(|note| note.contains("wire_loss_rate")).count(), 1, "{notes:?}");
            assert_eq!(json["holes"][0]["reason"], "flows[0].count = 0: must be at least 1", "{seeds}");
            let engine = json["engine"].as_object().unwrap();
            assert_eq!(engine.keys().collect::<Vec<_>>(), ["drop-tail", "red"]);
            assert!(engine.values().all(|print| print.as_str().unwrap().len() == 24), "{engine:?}");
            assert_eq!(json["commit"], commit(), "{seeds}");
        }
        let text = bench.ok(&["show", &out]);
        let report = std::fs::read_to_string(bench.path(&format!("{out}/report.html"))).unwrap();
        for known in ["loss = 0.01: wire_loss_rate", &commit(), file["engine"]["red"].as_str().unwrap()] {
            assert!(text.replace("\n", " ").contains(known), "{known}:\n{text}");
            assert!(report.contains(known), "{known}");
        }
    }
    // A result of a version that did not say.
    let file = bench.path("results/2/run.json");
    let mut run: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    for key in ["commit", "engine", "notes", "sha256"] {
        run.as_object_mut().unwrap().remove(key);
    }
    std::fs::write(&file, run.to_string()).unwrap();
    let shown = bench.json(&["show", "results/2", "--format", "json"]);
    assert_eq!((&shown["commit"], &shown["engine"]), (&"unknown".into(), &serde_json::json!({})));
}

/// The commit that the command was built from: the one that is checked out, if there is a repository.
fn commit() -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let log = std::fs::read_to_string(format!("{root}/.git/logs/HEAD")).unwrap_or_default();
    let last = log.lines().last().and_then(|line| line.split(' ').nth(1));
    last.unwrap_or("unknown").to_string()
}

/// Transfers of 30 and 300 kB: two classes by size.
#[test]
fn transfers_are_told_apart_by_their_size() {
    let bench = Bench::new();
    let group = |size: &str| {
        format!(
            "[[flows]]\nname = \"of-{size}\"\nkind = \"transfers\"\nsize = \"{size} kB\"\nthink = \"0.1 s\"\nrtt = \"50 ms\"\n"
        )
    };
    bench.file("sizes.toml", &(SMALL.replace("2 Mbit/s", "20 Mbit/s") + &group("30") + &group("300")));
    bench.ok(&["run", "sizes.toml", "-q"]);
    let shown = bench.ok(&["show", "results/sizes", "--classes"]);
    for size in ["10-100kB", "100kB-1MB"] {
        let table = shown.split(&format!("transfers of size {size}\n")).nth(1).expect(&shown);
        assert!(table.lines().take(3).any(|line| line.contains("slowdown")), "{shown}");
    }
    assert!(!shown.contains("size 1MB-") && !shown.contains("size 0-10kB"), "{shown}");
    let json = bench.json(&["show", "results/sizes", "--classes", "--format", "json"]);
    let rows = json["points"][0]["rows"].as_array().unwrap();
    let mean = |scope: &str, metric: &str| {
        let row = rows.iter().find(|row| row["scope"] == scope && row["algorithm"] == "red").unwrap();
        row["metrics"][metric]["mean"].as_f64().unwrap()
    };
    for (class, size) in [("of-30", "size:10-100kB"), ("of-300", "size:100kB-1MB")] {
        for metric in ["slowdown_p95", "flow_completion_time_mean_s", "transfers"] {
            assert_eq!(mean(class, metric), mean(size, metric), "{class} {metric}");
        }
        assert!(mean(class, "slowdown_mean") > 1.0);
        assert!(
            mean(class, "flow_acknowledgment_time_p50_s") > mean(class, "flow_completion_time_p50_s") + 0.024
        );
    }
    let report = std::fs::read_to_string(bench.path("results/sizes/report.html")).unwrap();
    assert!(report.contains("Transfers by size"));
    let wrong = bench.run(&["run", "sizes.toml", "--metric", "transfers[size:10-100KB]"]);
    assert!(wrong.code == 2 && wrong.err.contains("did you mean \"size:10-100kB\"?"), "{}", wrong.err);
    let none = bench.run(&["show", "results/sizes", "--metric", "transfers[size:1MB-]"]);
    assert!(none.err.contains("no transfer of \"size:1MB-\" was completed"), "{}", none.err);
}

#[test]
fn a_scenario_may_come_from_standard_input() {
    use std::io::Write;
    use std::process::Stdio;
    let bench = Bench::new();
    let piped = |args: &[&str], text: &str| {
        let mut command = bench.command(args);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        crate::common::Ran::from(child.wait_with_output().unwrap())
    };
    let checked = piped(&["scenario", "check", "-"], SMALL);
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert!(checked.out.starts_with("-: ok: dumbbell"), "{}", checked.out);
    let ran = piped(&["run", "-", "-q", "--seed", "1"], SMALL);
    assert!(ran.out.contains("results  results/stdin\n"), "{}{}", ran.out, ran.err);
    let wrong = piped(&["run", "-"], &SMALL.replace("warmup = \"2 s\"", "warmup = \"7 s\""));
    assert_eq!(
        (wrong.code, wrong.err.as_str()),
        (2, "error: standard input:4: warmup = \"7 s\": must be shorter than duration (6 s)\n")
    );
}

#[test]
fn results_can_be_shown_again_by_class_and_segment() {
    let bench = Bench::new();
    let first = bench.ok(&["run", "small.toml", "-q"]);
    let again = bench.ok(&["show", "results/small"]);
    let (tables, made_by) = again.split_once("\nQuell ").expect("it says what made them");
    assert!(first.starts_with(tables), "{first}\n{again}");
    assert!(made_by.contains(", commit ") && made_by.contains(", engine: drop-tail "), "{made_by}");
    let classes = bench.ok(&["show", "results/small", "--classes"]);
    for name in ["all traffic\n", "class ftp\n", "class voice\n"] {
        assert!(classes.contains(name), "{classes}");
    }
    let segments = bench.ok(&["show", "results/small", "--segments", "--metric", "utilization"]);
    assert!(segments.contains("segment 2 of 2 (4 s to 6 s)\n"), "{segments}");
    assert!(!segments.contains("Jain"), "{segments}");
    let json = bench.json(&["show", "results/small/run.json", "--segments", "--classes", "--format", "json"]);
    let rows = json["points"][0]["rows"].as_array().unwrap();
    let ftp_in_segment_1 = rows.iter().filter(|r| r["scope"] == "ftp" && r["segment"] == 1).count();
    assert_eq!(ftp_in_segment_1, 2);
}

#[test]
fn figures_are_asked_for_by_title_class_signal_and_ratio() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "-q", "--metric", "P99 delay,internal:p"]);
    let show = |metrics: &str| bench.ok(&["show", "results/small", "--metric", metrics]);
    assert_eq!(show("P99 Delay"), show("queue_delay_p99_s"));
    let out = show("throughput[ftp]/throughput[all],Queue deviation/mean queue,internal:p");
    // Headings are wrapped at spaces.
    for heading in ["throughput[ftp]", "throughput[all]", "deviation /"] {
        assert!(out.contains(heading), "{out}");
    }
    let asked = "throughput_bps[ftp]/throughput_bps[all],throughput_bps[voice]/throughput_bps[all],internal:p,loss_rate";
    let json = bench.json(&["show", "results/small", "--format", "json", "--metric", asked]);
    let rows = json["points"][0]["rows"].as_array().unwrap();
    for row in rows {
        let mean = |name: &str| row["metrics"][name]["mean"].as_f64().unwrap();
        let shares = ["ftp", "voice"].map(|c| mean(&format!("throughput_bps[{c}]/throughput_bps[all]")));
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{row}");
        let p = &row["metrics"]["internal:p"];
        match row["algorithm"].as_str() {
            Some("red") => assert!(p["mean"].as_f64().unwrap() > 0.0 && p["unit"] == "1", "{p}"),
            _ => assert_eq!(p, &Value::Null),
        }
    }
    let compared =
        bench.ok(&["compare", "results/small", "-b", "red", "--metric", "queue deviation/mean queue"]);
    assert!(compared.contains("deviation /"), "{compared}");
    for (wrong, says) in [
        ("P99 dely", "error: metric \"P99 dely\": unknown metric; did you mean \"P99 delay\"?"),
        ("internal:pp", "error: metric internal:pp: \"pp\": unknown internal signal"),
        ("loss_rate[fpt]", "error: metric loss_rate[fpt]: \"fpt\": unknown class; did you mean \"ftp\"?"),
        ("loss/loss/loss", "error: metric \"loss/loss/loss\": divides more than once"),
    ] {
        let ran = bench.run(&["show", "results/small", "--metric", wrong]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{wrong}: {}", ran.err);
        assert!(ran.err.starts_with(says), "{}", ran.err);
    }
    // After a run it is too late to refuse.
    let ran = bench.run(&["run", "small.toml", "-q", "--metric", "internal:pp,loss"]);
    assert!(ran.code == 0 && ran.err.contains("\"pp\": unknown internal signal"), "{}", ran.err);
}

#[test]
fn compare_gives_paired_differences() {
    let bench = Bench::new();
    let out = bench.ok(&["compare", "small.toml", "--baseline", "drop-tail", "--seeds", "4", "-q"]);
    assert!(out.contains("drop-tail (baseline)"), "{out}");
    assert!(out.contains("differences from drop-tail, paired by seed"), "{out}");
    assert!(out.contains("over 4 seeds"), "{out}");
    assert_eq!(bench.listing(), ["small.toml"], "compare writes nothing unless asked");
    // An algorithm of the catalog that the scenario does not have; kept with --out.
    let args =
        ["compare", "small.toml", "-b", "red", "--aqm", "blue", "--out", "kept", "--format", "json", "-q"];
    let json = bench.json(&args);
    let row = &json["points"][0]["rows"][0];
    assert_eq!((&json["baseline"], &row["algorithm"]), (&"red".into(), &"blue".into()));
    let difference = &row["differences"]["queue_packets"];
    let keys: Vec<&String> = difference.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["mean", "half_width", "low", "high", "n", "unit", "excludes_zero", "better"]);
    let base = &json["points"][0]["baseline_rows"][0];
    assert_eq!(base["algorithm"], "red");
    // From the results it is the same, without simulating.
    let again = bench.json(&["compare", "kept", "-b", "red", "--format", "json"]);
    assert_eq!(again["points"], json["points"]);
    // The difference is that of the means.
    let table = bench.json(&["show", "kept", "--format", "json"]);
    let mean = |i: usize| table["points"][0]["rows"][i]["metrics"]["queue_packets"]["mean"].as_f64().unwrap();
    assert!((difference["mean"].as_f64().unwrap() - (mean(1) - mean(0))).abs() < 1e-9);
}

#[test]
fn aqm_list_and_describe_tell_what_there_is() {
    let bench = Bench::new();
    let list = bench.ok(&["aqm", "list"]);
    let json = bench.json(&["aqm", "list", "--format", "json"]);
    for algorithm in json["algorithms"].as_array().unwrap() {
        let name = algorithm["name"].as_str().unwrap();
        assert!(list.lines().any(|l| l.starts_with(name)), "{name}:\n{list}");
        let described = bench.json(&["aqm", "describe", name, "--format", "json"]);
        let text = bench.ok(&["aqm", "describe", name]);
        for parameter in described["parameters"].as_array().unwrap() {
            for key in ["name", "unit", "default", "description", "source"] {
                assert!(!parameter[key].as_str().unwrap().is_empty(), "{name} {parameter}");
            }
            assert!(text.contains(parameter["name"].as_str().unwrap()), "{text}");
        }
    }
    let wrong = bench.run(&["aqm", "describe", "droptail"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.err.contains("unknown algorithm; did you mean \"drop-tail\"? Known: drop-tail, "),
        "{}",
        wrong.err
    );
}

#[test]
fn tcp_list_and_describe_tell_what_senders_are_made_of() {
    let bench = Bench::new();
    let list = bench.ok(&["tcp", "list"]);
    let json = bench.json(&["tcp", "list", "--format", "json"]);
    assert!(json["common"].as_array().unwrap().iter().any(|key| key["name"] == "min_rto"));
    for sender in json["senders"].as_array().unwrap() {
        let [key, name, title] = ["key", "name", "title"].map(|k| sender[k].as_str().unwrap());
        assert!(list.lines().any(|l| l.starts_with(key) && l.contains(name)), "{key} {name}:\n{list}");
        let full = format!("{key}.{name}");
        let text = bench.ok(&["tcp", "describe", &full]);
        assert!(text.starts_with(&format!("{title} ({key} = \"{name}\")\n")), "{text}");
        let described = bench.json(&["tcp", "describe", &full, "--format", "json"]);
        assert_eq!((&described["key"], &described["name"]), (&sender["key"], &sender["name"]));
        for parameter in described["parameters"].as_array().unwrap() {
            for key in ["name", "unit", "default", "range", "description", "source"] {
                assert!(!parameter[key].as_str().unwrap().is_empty(), "{name} {parameter}");
            }
            assert!(text.contains(parameter["name"].as_str().unwrap()), "{text}");
        }
    }
    let prague = bench.ok(&["tcp", "describe", "prague"]);
    for line in
        ["needs    ecn = true\n", "needs    feedback = \"exact\" or \"accecn\"\n", "needs    pacing = true\n"]
    {
        assert!(prague.contains(line), "{prague}");
    }
    assert!(bench.ok(&["tcp", "describe", "bbr1"]).contains("refuses  ecn = true\n"));
    assert!(bench.ok(&["tcp", "describe", "reno"]).ends_with("quell tcp describe recovery.reno\n"));
    let wrong = bench.run(&["tcp", "describe", "cubik"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("did you mean \"cubic\"? Known: reno, cubic, "), "{}", wrong.err);
    for (name, want) in [
        (
            "quic",
            "part of a sender \"quic\": a dialect, which gives every key of a sender its default: write dialect",
        ),
        ("linux", "`quell scenario dialects linux` lists its values; known: reno, "),
        (
            "bbr",
            "two versions are here: \"bbr1\", which is mostly meant by this name alone, and \"bbr3\"; known",
        ),
        ("scream", "not in this version; the closest in purpose is \"ledbat\""),
    ] {
        let wrong = bench.run(&["tcp", "describe", name]);
        assert!(wrong.code == 2 && wrong.err.contains(want), "{}", wrong.err);
    }
}

/// An algorithm that an option adds is the one that the file would name: with the defaults of the scenario's dialect.
#[test]
fn an_algorithm_that_is_added_has_the_dialect_s_defaults() {
    let bench = Bench::new();
    let of_linux = SMALL.replace("schema = 1", "schema = 1\ndialect = \"linux\"");
    // Without RED, and with it.
    let without = of_linux.replace("\"red\"", "\"pi\"");
    bench.file("without.toml", &without);
    bench.file("with.toml", &of_linux);
    let of = |file: &str, command: &[&str]| {
        let mut line = vec![command[0], file];
        line.extend(&command[1..]);
        line.extend(["--format", "json"]);
        bench.json(&line)["points"].clone()
    };
    let run = ["run", "--aqm", "red"];
    assert_eq!(of("without.toml", &run), of("with.toml", &run));
    let compared = ["compare", "--aqm", "drop-tail", "--baseline", "red"];
    assert_eq!(of("without.toml", &compared), of("with.toml", &compared));
    bench.file("quell.toml", SMALL);
    assert_ne!(of("quell.toml", &run), of("with.toml", &run));
}

#[test]
fn keys_that_nothing_reads_are_noted() {
    let bench = Bench::new();
    let notes = |settings: &[&str]| {
        let mut args = vec!["scenario", "show", "small.toml"];
        settings.iter().for_each(|s| args.extend(["--set", s]));
        bench.file("idle.toml", &bench.ok(&args));
        let ran = bench.run(&["scenario", "check", "idle.toml"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err
    };
    assert_eq!(notes(&[]), "");
    assert_eq!(
        notes(&["flows.ftp.tcp.ledbat_target=50 ms", "flows.ftp.tcp.pacing_burst=2"]),
        "note: ftp: tcp.pacing_burst = 2 has no effect without pacing = true\n\
         note: ftp: tcp.ledbat_target = \"50 ms\" has no effect without congestion = \"ledbat\"\n"
    );
    // What a dialect gives is nobody's mistake.
    assert_eq!(notes(&["dialect=linux", "flows.ftp.tcp.congestion=reno"]), "");
}

#[test]
fn what_may_surprise_in_a_scenario_is_noted() {
    let bench = Bench::new();
    let notes = |text: &str| {
        bench.file("noted.toml", text);
        let ran = bench.run(&["scenario", "check", "noted.toml"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err
    };
    // Four flows of 100 Mbit/s, and what UDP has.
    let changes =
        |rate: &str| SMALL.replace("[dumbbell]", &format!("[dumbbell]\nchanges = [[3, \"{rate}\"]]"));
    assert_eq!(notes(&changes("500 Mbit/s")), "");
    assert_eq!(
        notes(&changes("600 Mbit/s")),
        "note: dumbbell.changes: up to 600 Mbit/s, but all access links together carry only 500 Mbit/s, so they are \
         the bottleneck then; raise access_rate\n"
    );
    // What a flow's own link cannot carry waits in it.
    let access = |rate: &str| SMALL.replace("[dumbbell]", &format!("[dumbbell]\naccess_rate = \"{rate}\""));
    let said = notes(&access("100 kbit/s"));
    assert!(said.starts_with("note: ftp: access_rate = 100 kbit/s is less than a flow's share"), "{said}");
    assert!(said.contains("which has no limit and no algorithm"), "{said}");
    // A host that limits its own queue has little there.
    let said = notes(&format!("dialect = \"linux\"\n{}", access("100 kbit/s")));
    assert!(said.contains("the sender's own host, which keeps a few packets (tcp.small_queues)"), "{said}");
    assert_eq!(notes(&access("2 Mbit/s")), "");
    // Both kinds of senders that live on marks.
    let tcp = |congestion: &str| {
        format!("tcp = {{ congestion = \"{congestion}\", ecn = true, feedback = \"exact\", pacing = true }}")
    };
    let group = |name: &str| format!("[[flows]]\nname = \"{name}\"\nrtt = \"50 ms\"\n{}\n", tcp(name));
    let text = SMALL.replace("[dumbbell]", "[dumbbell]\necn = true") + &group("dctcp") + &group("prague");
    let said = notes(&text);
    for name in ["prague", "dctcp"] {
        let note =
            format!("note: {name}: reacts to marks, but gets none from drop-tail, so only losses reduce");
        assert!(said.contains(&note), "{said}");
    }
    // And what they take of others.
    let prague = |of: &str| format!("note: prague: sends ECT(1), which counts as ECT(0) for {of}: in the");
    let dctcp =
        |of: &str| format!("note: dctcp: sends ECT(0), which {of} may signal as often as ftp: in the");
    assert!(said.contains(&prague("red")) && said.contains(&dctcp("red")), "{said}");
    let said = notes(&text.replace("\"red\"", "\"dualpi2\""));
    assert!(said.contains(&dctcp("dualpi2")) && !said.contains("ECT(1)"), "{said}");
    let any = text.replace("\"red\"", "\"dualpi2\"\nclassifier = \"any-ect\"");
    assert!(!notes(&any).contains("ECT("));
    let capable = any.replace("[\"50 ms\", \"100 ms\"] }", "[\"50 ms\", \"100 ms\"] }\ntcp = { ecn = true }");
    assert!(notes(&capable).contains(&dctcp("dualpi2")));
    let lossy = SMALL.replace("[dumbbell]", "[dumbbell]\nloss = 0.01");
    assert!(notes(&lossy).starts_with("note: loss = 0.01: wire_loss_rate counts"));
    // Nobody else is there.
    let alone = &text[text.find("[[flows]]\nname = \"dctcp\"").unwrap()..];
    let head = &text[..text.find("[[flows]]").unwrap()];
    assert!(!notes(&format!("{head}{alone}")).contains("ECT("));
}

#[test]
fn an_estimate_of_packets_follows_the_changes_of_a_link() {
    let bench = Bench::new();
    let packets = |changes: &str| {
        bench.file("changing.toml", &SMALL.replace("[dumbbell]", &format!("[dumbbell]\n{changes}")));
        let checked = bench.json(&["scenario", "check", "changing.toml", "--format", "json"]);
        checked["files"][0]["summary"]["estimated_packets"].as_f64().unwrap()
    };
    let constant = packets("");
    // 2 Mbit/s for half of the time, then 6.
    assert!((packets("changes = [[3, 6e6]]") / constant - 2.0).abs() < 1e-9);
    let every = "changes = { list = [[1, 6e6]], repeat = \"2 s\" }";
    assert!((packets(every) / constant - (1.0 + 5.0 * 3.0) / 6.0).abs() < 1e-9);
}

#[test]
fn text_in_a_pipe_fits_the_columns_that_are_asked_for() {
    let bench = Bench::new();
    for (columns, most) in [(Some("60"), 60), (Some("140"), 140), (None, 100)] {
        for args in [&["aqm", "describe", "pi"][..], &["aqm", "list"], &["tcp", "list"]] {
            let mut command = bench.command(args);
            command.env_remove("COLUMNS");
            if let Some(columns) = columns {
                command.env("COLUMNS", columns);
            }
            let out = String::from_utf8(command.output().unwrap().stdout).unwrap();
            let widest = out.lines().map(|l| l.chars().count()).max().unwrap();
            assert!(widest <= most && widest > most / 2, "{args:?}: {widest} of {most}\n{out}");
        }
    }
}

#[test]
fn scenarios_are_checked_without_running() {
    let bench = Bench::new();
    let out = bench.ok(&["scenario", "check", "small.toml"]);
    assert_eq!(
        out,
        "small.toml: ok: dumbbell, 2 Mbit/s and 10 ms; 4 ftp + 1 voice (UDP); 2 algorithms × 2 seeds = 4 runs, 24 s \
         in all, about 6000 packets\n"
    );
    bench.file("wrong.toml", &SMALL.replace("rate = \"2 Mbit/s\"", "rate = \"2 MB\""));
    let both = bench.run(&["scenario", "check", "wrong.toml", "small.toml"]);
    assert_eq!((both.code, both.out), (2, out));
    assert!(both.err.starts_with("error: wrong.toml:9: dumbbell.rate = \"2 MB\": "), "{}", both.err);
    let json = bench.run(&["scenario", "check", "wrong.toml", "small.toml", "--format", "json"]);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["files"][0]["error"]["line"], 9);
    assert_eq!((&json["files"][1]["ok"], &json["files"][1]["summary"]["runs"]), (&true.into(), &4.into()));
    assert_eq!(bench.json(&["scenario", "schema"])["title"], "Quell scenario");
    let dialects = bench.json(&["scenario", "dialects", "--format", "json"]);
    let min_rto = dialects["keys"].as_array().unwrap().iter().find(|k| k["key"] == "min_rto").unwrap();
    assert_eq!(
        (&min_rto["defaults"]["quell"], &min_rto["defaults"]["ns-2.27"]),
        (&"200 ms".into(), &"1 s".into())
    );
    // Only the one that is asked for, with what it has of its own.
    let linux = bench.ok(&["scenario", "dialects", "linux"]);
    assert!(linux.contains("40 ms") && !linux.contains("Quell's") && !linux.contains("ns-2.35"), "{linux}");
    let wrong = bench.run(&["scenario", "dialects", "linus"]);
    assert!(wrong.code == 2 && wrong.err.contains("did you mean \"linux\"?"), "{}", wrong.err);
}

#[test]
fn a_resolved_scenario_is_a_scenario() {
    let bench = Bench::new();
    let resolved = bench.ok(&["scenario", "show", "small.toml"]);
    bench.file("resolved.toml", &resolved);
    assert_eq!(bench.ok(&["scenario", "show", "resolved.toml"]), resolved);
    for line in
        ["access_rate = \"100 Mbit/s\"", "min_th = ", "recovery = \"reno\"", "mean_packet = ", "# stop: "]
    {
        assert!(resolved.lines().any(|l| l.starts_with(line)), "{line} is missing:\n{resolved}");
    }
    // It runs as the file does, and results keep it.
    let digest = |file: &str| {
        bench.json(&["run", file, "-q", "--format", "json", "--out", &format!("{file}.d")])["digest"].clone()
    };
    assert_eq!(digest("small.toml"), digest("resolved.toml"));
    let run: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.path("small.toml.d/run.json")).unwrap()).unwrap();
    assert_eq!(run["points"][0]["scenario"], resolved.as_str());
}

#[test]
fn lists_in_a_narrow_terminal_break_no_word() {
    let bench = Bench::new();
    for (width, lost) in [(60, "trust"), (80, "family"), (100, "")] {
        for args in [&["aqm", "list"][..], &["conformance", "list"]] {
            let out = bench.command(args).env("COLUMNS", width.to_string()).output().unwrap();
            let out = String::from_utf8(out.stdout).unwrap();
            assert!(out.lines().all(|l| l.chars().count() <= width), "{width}: {out}");
            let first = |name: &str| out.lines().any(|l| l.split(' ').next() == Some(name));
            let all = quell_aqm::catalog::CATALOG.iter().map(|e| e.name);
            let (names, word) = match args[0] {
                "aqm" => (all.map(str::to_string).collect::<Vec<_>>(), "Auto-Parameterization"),
                _ => (all.map(|name| format!("{name}/drops")).collect(), "overflows"),
            };
            assert!(names.iter().all(|name| first(name)) && out.contains(word), "{width}: {out}");
            let head = out.lines().next().unwrap();
            assert!(lost.is_empty() || !head.contains(lost), "{width}: {head}");
        }
    }
}

#[test]
fn plot_draws_in_the_terminal_as_svg_and_as_csv() {
    let bench = Bench::new();
    bench.file("sweep.toml", &format!("{SMALL}\n[sweep]\n\"flows.ftp.count\" = [1, 2, 4]\n"));
    bench.ok(&["run", "small.toml", "-q", "--out", "one"]);
    bench.ok(&["run", "sweep.toml", "-q", "--out", "three"]);
    let plot = |args: &[&str]| {
        let mut command = bench.command(&[&["plot"], args].concat());
        let ran = Ran::from(command.env("COLUMNS", "60").output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        assert!(ran.out.lines().all(|l| l.chars().count() <= 60), "{}", ran.out);
        ran.out
    };
    // What suits the results.
    assert!(plot(&["one"]).starts_with("queue, seed 1, link bottleneck\nqueue (packets)\n(a) drop-tail\n"));
    let metric = plot(&["three", "--metric", "goodput_bps"]);
    assert!(metric.starts_with("goodput over flows.ftp.count\ngoodput (Mbit/s)\n"), "{metric}");
    assert!(metric.ends_with("flows.ftp.count\na drop-tail   b red\n"), "{metric}");
    let said = plot(&["three", "--metric", "queue_packets", "--svg", "q.svg", "--csv", "q.csv"]);
    assert_eq!(said, "picture  q.svg\nnumbers  q.csv\n");
    assert!(std::fs::read_to_string(bench.path("q.svg")).unwrap().starts_with("<svg"));
    let csv = std::fs::read_to_string(bench.path("q.csv")).unwrap();
    assert!(
        csv.starts_with(
            "algorithm,flows.ftp.count,mean queue (packets),half-width,low,high,seeds\r\ndrop-tail,1,"
        ),
        "{csv}"
    );
    // The table's numbers.
    let shown = bench.json(&["show", "three", "--metric", "queue_packets", "--format", "json"]);
    let mean = shown["points"][2]["rows"][1]["metrics"]["queue_packets"]["mean"].as_f64().unwrap();
    let row: Vec<&str> = csv.lines().find(|line| line.starts_with("red,4,")).unwrap().split(',').collect();
    let number = |i: usize| row[i].parse::<f64>().unwrap();
    assert!((number(2) - mean).abs() <= 0.01 * number(3) && row[6] == "2", "{mean}: {row:?}");
    for diagram in
        ["delay", "throughput", "input", "drops", "marks", "jain", "queue-cdf", "queue-pdf", "delay-cdf"]
    {
        plot(&["three", "--diagram", diagram, "--point", "3", "--panels", "--aqm", "red"]);
    }
    plot(&["one", "--diagram", "throughput", "--class", "voice", "--seed", "2"]);
}

/// Tables and figures for a paper.
#[test]
fn results_go_into_a_paper() {
    let bench = Bench::new();
    bench.file("sweep.toml", &format!("{SMALL}\n[sweep]\n\"flows.ftp.count\" = [1, 2]\n"));
    bench.ok(&["run", "sweep.toml", "-q", "--out", "r"]);
    let shown = |format: &str, more: &[&str]| {
        bench
            .ok(&[&["show", "r", "--metric", "utilization,queue_delay_p99_s", "--format", format], more]
                .concat())
    };
    let csv = shown("csv", &[]);
    let mut lines = csv.lines();
    assert_eq!(
        lines.next(),
        Some(
            "flows.ftp.count,link,class,algorithm,seeds,utilization,utilization low,utilization high,\
             queue_delay_p99_s,queue_delay_p99_s low,queue_delay_p99_s high"
        )
    );
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 4);
    for row in &rows {
        assert_eq!((row.len(), row[1], row[2], row[4]), (11, "bottleneck", "all", "2"));
        let number = |i: usize| row[i].parse::<f64>().unwrap();
        assert!(0.0 <= number(6) && number(6) <= number(5) && number(5) <= number(7) && number(7) <= 1.0);
    }
    let latex = shown("latex", &[]);
    assert!(latex.contains(
        "\\begin{tabular}{llrr}\n\\toprule\nflows.ftp.count & algorithm & utilization & P99 delay"
    ));
    assert!(latex.contains("(\\%)") && latex.contains("\\bottomrule\n\\end{tabular}\n"), "{latex}");
    assert_eq!(latex.matches("\\midrule").count(), 2, "one below the head, one between the points");
    let markdown = shown("md", &[]);
    assert!(markdown.starts_with(
        "| flows.ftp.count | algorithm | utilization (%) | P99 delay (ms) |\n| --- | --- | ---: | ---: |\n"
    ));
    // Each link in one table.
    assert!(shown("table", &["--link", "all"]).contains("bottleneck"), "a column of links");
    let compared = bench.ok(&["compare", "r", "-b", "red", "--metric", "utilization", "--format", "csv"]);
    assert!(compared.contains(",drop-tail,red,2,"), "{compared}");
    // Drawn for the width of a column.
    bench.ok(&["plot", "r", "--metric", "utilization", "--svg", "c.svg", "--width", "3.4in", "--no-title"]);
    let svg = std::fs::read_to_string(bench.path("c.svg")).unwrap();
    assert!(svg.contains("width=\"326.4\"") && !svg.contains("font-weight"), "{svg}");
    bench.ok(&[
        "plot",
        "r",
        "--metric",
        "loss_rate",
        "--over",
        "algorithm",
        "--svg",
        "h.svg",
        "--height",
        "2in",
    ]);
    assert!(std::fs::read_to_string(bench.path("h.svg")).unwrap().contains("height=\"192\""));
    let files = bench.run(&["plot", "r", "--pdf", "c.pdf", "--png", "c.png", "--dpi", "100"]);
    match files.code {
        0 => {
            let pdf = std::fs::read(bench.path("c.pdf")).unwrap();
            assert!(
                pdf.starts_with(b"%PDF") && pdf.windows(10).any(|w| w == b"/FontFile2" || w == b"/FontFile3")
            );
            assert!(std::fs::read(bench.path("c.png")).unwrap().starts_with(b"\x89PNG"));
        }
        _ => assert!(files.err.contains("this system has none: install one"), "{}", files.err),
    }
}

#[test]
fn plot_refuses_what_results_do_not_have() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "-q", "--out", "one"]);
    let cases: &[(&[&str], &str)] = &[
        (&["--aqm", "rde"], "did you mean \"red\"?"),
        (&["--link", "x"], "known: bottleneck"),
        (&["--diagram", "delay-cdf", "--class", "x"], "known: data, "),
        (&["--diagram", "queue", "--class", "ftp"], "--class: queue shows all traffic"),
        (&["--diagram", "queue-pdf", "--seed", "1"], "--seed: queue-pdf shows all seeds"),
        (&["--point", "2"], "--point 2: must be at most 1"),
        (&["--seed", "9"], "--seed 9: was not run; the seeds are 1, 2"),
        (&["--metric", "goodput_bp"], "did you mean \"goodput_bps\"?"),
        (&["--metric", "goodput_bps", "--over", "flows.ftp.count"], "does not vary"),
        (&["--diagram", "completion-cdf"], "no transfer"),
        (&["--svg", "a.pdf"], "--svg a.pdf: ends in .pdf but would be SVG; use --pdf"),
        (&["--pdf", "-"], "--pdf -: cannot write to standard output"),
        (&["--width", "3.4in"], "add --svg, --pdf or --png"),
        (&["--svg", "x.svg", "--width", "3.4"], "with its unit, such as 3.4in"),
        (&["--svg", "x.svg", "--width", "1in", "--font-size", "20"], "is too narrow"),
        (&["--svg", "x.svg", "--height", "0.5in"], "must be at least"),
        (&["--png", "x.png", "--font", "No Such Font"], "font"),
        (&["--diagram", "queue", "--metric", "goodput_bps"], "--metric: works with --diagram metric"),
        (&["--diagram", "queues"], "possible values: metric, queue"),
        (&["--svg", "no/such/folder.svg"], "write no/such/folder.svg"),
    ];
    for (args, message) in cases {
        let ran = bench.run(&[&["plot", "one"], *args].concat());
        assert!(ran.code != 0 && ran.out.is_empty() && ran.err.contains(message), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_report_can_be_made_again() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "-q"]);
    let first = std::fs::read(bench.path("results/small/report.html")).unwrap();
    std::fs::remove_file(bench.path("results/small/report.html")).unwrap();
    assert_eq!(bench.ok(&["report", "results/small"]), "report   results/small/report.html\n");
    assert_eq!(std::fs::read(bench.path("results/small/report.html")).unwrap(), first);
    bench.ok(&["report", "results/small", "--out", "other.html"]);
    assert_eq!(std::fs::read(bench.path("other.html")).unwrap(), first);
}

#[test]
fn help_wraps_once() {
    let bench = Bench::new();
    for width in [50, 80] {
        for command in ["", "run", "compare", "measure", "analyze", "design", "map"] {
            let args: Vec<&str> = [command, "--help"].into_iter().filter(|a| !a.is_empty()).collect();
            let out = bench.command(&args).env("COLUMNS", width.to_string()).output().unwrap();
            let help = String::from_utf8(out.stdout).unwrap();
            // The line of usage and the examples are what may be typed, in one piece.
            let typed =
                |l: &str| ["Usage: ", "  quell ", "  tcpdump "].iter().any(|start| l.starts_with(start));
            let mut prose = help.lines().filter(|l| !typed(l));
            assert!(prose.all(|l| l.chars().count() <= width), "{command} at {width}:\n{help}");
            // What follows the examples is prose: a line ends only where the next word has no room.
            let (_, prose) = help.rsplit_once("\n\n").unwrap();
            for pair in prose.lines().collect::<Vec<_>>().windows(2) {
                let word = pair[1].split(' ').next().unwrap_or_default();
                let used = pair[0].chars().count() + 1 + word.chars().count();
                assert!(used > width, "{command} at {width}: {pair:?}\n{help}");
            }
        }
    }
}

#[test]
fn help_has_examples_and_the_metrics() {
    let bench = Bench::new();
    for command in ["run", "compare"] {
        assert!(bench.ok(&[command, "--help"]).contains("Examples:\n"));
    }
    assert!(bench.ok(&["show", "--help"]).contains("queue_delay_p99_s"));
    assert!(bench.ok(&["--version"]).starts_with("quell "));
    assert_eq!(bench.run(&[]).code, 2);
}

/// An example that is broken cannot be copied.
#[test]
fn examples_in_help_are_whole_on_narrow_terminals() {
    let bench = Bench::new();
    let output = bench.command(&["search", "--help"]).env("COLUMNS", "50").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let example = "  quell search my.toml --over aqm.red.max_p=0.01..0.5:log --metric loss_rate --crosses 2%";
    assert!(help.lines().any(|line| line == example), "{help}");
    let prose =
        help.lines().skip_while(|line| !line.starts_with("Bisection")).map(|line| line.chars().count());
    assert!(prose.max() <= Some(50), "{help}");
    assert!(!help.contains('\u{a0}'));
}

#[test]
fn a_figure_goes_to_standard_output_where_that_is_asked() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "--sweep", "flows.ftp.count=1,3", "-q", "--out", "r"]);
    let csv = bench.ok(&["plot", "r", "--csv", "-"]);
    #[cfg(target_os = "linux")]
    if std::process::Command::new("script").arg("--version").output().is_ok() {
        let line = format!("{} plot r --csv -", env!("CARGO_BIN_EXE_quell"));
        let out = crate::hostile::on_a_terminal(&bench, &line);
        assert!(out.contains(',') && !out.contains("u{d}"), "{out}");
    }
    assert!(
        csv.starts_with("algorithm,flows.ftp.count,utilization (%),half-width,low,high,seeds\r\n"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 5, "{csv}");
    let both = bench.run(&["plot", "r", "--svg", "-", "--csv", "x.csv"]);
    assert!(both.out.starts_with("<svg") && both.out.trim_end().ends_with("</svg>"), "{}", both.out);
    assert!(both.err.contains("numbers  x.csv"), "{}", both.err);
    assert!(!bench.path("-").exists());
    assert_eq!(bench.run(&["plot", "r", "--svg", "-", "--csv", "-"]).code, 2);
}

#[test]
fn what_is_verified_is_said() {
    let bench = Bench::new();
    let run = |share: &str| bench.run(&["run", "small.toml", "--verify", share]).err;
    bench.ok(&["run", "small.toml", "-q"]);
    assert!(run("100%").contains("--verify: 4 of 4 cached replications were rerun, and all are the same"));
    assert!(run("0%").contains("--verify: none of 4 cached replications fell into the 0% sample"));
}

#[test]
fn what_is_set_takes_the_place_of_a_sweep_and_is_said() {
    let bench = Bench::new();
    bench.file("swept.toml", &format!("{}[sweep]\nflows.ftp.count = [1, 2]\n", crate::common::SMALL));
    let ran =
        bench.run(&["run", "swept.toml", "--set", "flows.ftp.count=3", "--format", "json", "--out", "r"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("--set flows.ftp.count=3: replaces the scenario's sweep of this field"),
        "{}",
        ran.err
    );
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((json["points"].as_array().unwrap().len(), &json["replications_finished"]), (1, &4.into()));
}
