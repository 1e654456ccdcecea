//! Commands that decide themselves how much to run, and several scenarios or results as one, as a user sees
//! them.

use crate::common::Bench;

#[test]
fn seeds_are_added_until_the_intervals_are_narrow() {
    let bench = Bench::new();
    let args =
        ["run", "small.toml", "--seeds", "auto", "--precision", "queue_packets=8%", "--max-seeds", "40"];
    let json = bench.json(&[&args[..], &["--format", "json", "--quiet"]].concat());
    let decided = &json["sequential"][0];
    assert_eq!(decided["asked"]["aims"][0]["metric"], "queue_packets");
    assert_eq!(decided["asked"]["aims"][0]["width"], "8%");
    assert!(decided["looks"].is_null());
    let mut asked = 0;
    for (i, stop) in decided["stops"].as_array().unwrap().iter().enumerate() {
        let value = &json["points"][0]["rows"][i]["metrics"]["queue_packets"];
        let (mean, half) = (value["mean"].as_f64().unwrap(), value["half_width"].as_f64().unwrap());
        assert_eq!(stop["reason"], "reached", "{stop}");
        assert!(half <= 0.08 * mean, "{value}");
        assert_eq!(stop["seeds"], value["n"]);
        asked += stop["seeds"].as_u64().unwrap();
    }
    assert_eq!(json["replications_asked"], asked);
    assert_eq!(json["replications_finished"], asked);

    // All of it is in the cache, and the rule is below the table.
    let ran = bench.run(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("seeds were added until") && ran.out.contains("queue_packets ± 8%"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains(&format!("{asked} of {asked} replications are from the cache")), "{}", ran.err);
    let again = bench.ok(&["show", "results/small-2"]);
    assert!(again.contains("seeds were added until"), "{again}");
    let report = std::fs::read_to_string(bench.path("results/small-2/report.html")).unwrap();
    assert!(report.contains("Number of seeds: seeds were added until"));
}

#[test]
fn figures_of_classes_are_precise_compared_searched_and_drawn() {
    let bench = Bench::new();
    let ratio = "goodput_bps[voice]/goodput_bps[all]";
    let run = |line: &str| bench.run(&line.replace("RATIO", ratio).split(' ').collect::<Vec<_>>());
    let ran = run(
        "run small.toml -q --sweep flows.ftp.count=2,4 --seeds auto --precision RATIO=5%,internal:p=20% --max-seeds 12 --out r",
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains(&format!("({ratio} ± 5%, internal:p ± 20%)")), "{}", ran.out);
    let drawn = run("plot r --metric RATIO --csv csv");
    assert_eq!(drawn.code, 0, "{}", drawn.err);
    let csv = std::fs::read_to_string(bench.path("csv")).unwrap();
    assert!(
        csv.starts_with(
            "algorithm,flows.ftp.count,goodput[voice] / goodput[all],half-width,low,high,seeds\r\n"
        ),
        "{csv}"
    );
    let shares = csv.lines().skip(1).map(|l| l.split(',').nth(2).unwrap().parse::<f64>().unwrap());
    assert!(shares.clone().count() == 4 && shares.clone().all(|x| 0.0 < x && x < 0.1), "{csv}");
    let ran = run("compare small.toml -q --baseline drop-tail --metric RATIO --seeds auto --max-seeds 8");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = run(
        "search small.toml -q --over dumbbell.rate=1Mbit/s..8Mbit/s --aqm red --metric RATIO --crosses 2% --tolerance 20%",
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("falls through 0.02 for dumbbell.rate"), "{}", ran.out);
    for line in [
        "run small.toml --metric loss_rate[web]",
        "run small.toml --seeds auto --precision loss_rate[web]=1%",
        "compare small.toml --baseline red --metric loss_rate[web]",
        "search small.toml --over dumbbell.rate=1Mbit/s..8Mbit/s --aqm red --metric loss_rate[web] --crosses 2%",
        "plot r --metric loss_rate[web]",
    ] {
        let ran = run(line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.err);
        assert!(ran.err.contains("loss_rate[web]: \"web\": unknown class; known: "), "{line}: {}", ran.err);
    }
    assert!(run("plot r --metric internal:alpha").err.contains("unknown internal signal"));
}

#[test]
fn what_the_cap_leaves_open_is_said() {
    let bench = Bench::new();
    let args = "run small.toml -q --no-cache --seeds auto --precision queue_packets=0.0001 --max-seeds 3";
    let ran = bench.run(&args.split(' ').collect::<Vec<_>>());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err
            .contains("3 seeds (the cap) were not enough to reach the requested precision of queue_packets"),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("over 3 seeds"), "{}", ran.out);
}

#[test]
fn a_comparison_stops_where_it_is_decided() {
    let bench = Bench::new();
    let args = "compare small.toml -q --baseline drop-tail --seeds auto --metric queue_packets --out r";
    let args: Vec<&str> = args.split(' ').collect();
    let out = bench.ok(&args);
    assert!(out.contains('*') && out.contains("(at 7, 13, 25, 50 seeds)"), "{out}");
    let json = bench.json(&["compare", "r", "--baseline", "drop-tail", "--format", "json"]);
    assert_eq!(json["sequential"][0]["stops"][0]["reason"], "baseline");
    assert_eq!(json["sequential"][0]["stops"][1]["reason"], "reached");
    assert_eq!(json["points"][0]["rows"][0]["differences"]["queue_packets"]["excludes_zero"], true);
}

#[test]
fn what_has_no_effect_or_is_missing_is_refused() {
    let bench = Bench::new();
    let refuse = |args: &str| {
        let ran = bench.run(&args.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, 2, "{args}: {}", ran.err);
        ran.err
    };
    assert!(refuse("run small.toml --seeds auto").contains("--precision utilization=1%"));
    assert!(refuse("run small.toml --precision utilization=1%").contains("only with --seeds auto"));
    assert!(refuse("run small.toml --seeds 3 --max-seeds 9").contains("only with --seeds auto"));
    let twice = "run small.toml --seeds auto --precision jain_index=1%,jain_index=2%";
    assert!(refuse(twice).contains("names jain_index twice"));
    assert!(refuse("run small.toml --seeds auto --precision queue=1%").contains("unknown metric"));
    assert!(
        refuse("run small.toml --seeds auto --precision jain_index=1% --max-seeds 1")
            .contains("whole number from 2 to")
    );
    assert!(refuse("run small.toml small.toml").contains("small.toml is named twice"));
    bench.ok(&["run", "small.toml", "-q", "--out", "r"]);
    assert!(
        refuse("compare r --baseline red --precision jain_index=1%")
            .contains("--precision applies only to scen")
    );
    assert!(refuse("show r r").contains("r is named twice"));
    assert!(refuse("report r results/x").contains("--out"));
}

#[test]
fn several_scenarios_make_one_result() {
    let bench = Bench::new();
    bench.file("fast.toml", &crate::common::SMALL.replace("2 Mbit/s", "4 Mbit/s").replace("Small", "Fast"));
    let out = bench.ok(&["run", "small.toml", "fast.toml", "-q", "--metric", "utilization"]);
    assert!(out.starts_with("Small + Fast\n"), "{out}");
    assert!(out.contains("point 1 of 2: scenario = small\n"), "{out}");
    assert!(out.contains("point 2 of 2: scenario = fast\n"), "{out}");
    assert!(out.contains("results  results/small+1\n"), "{out}");

    // Two folders shown together say the same, and so does their report.
    bench.ok(&["run", "small.toml", "-q"]);
    bench.ok(&["run", "fast.toml", "-q"]);
    let folders = ["results/small", "results/fast"];
    let shown = bench.ok(&[&["show"], &folders[..], &["--metric", "utilization"]].concat());
    let tables = shown.split("\nQuell ").next().unwrap();
    assert_eq!(tables, out.split("results  ").next().unwrap());
    let json = bench.json(&[&["show"], &folders[..], &["--format", "json"]].concat());
    let single = bench.json(&["show", "results/small+1", "--format", "json"]);
    assert_eq!(json["digest"], single["digest"]);
    assert_eq!(json["points"], single["points"]);
    assert!(json["folder"].is_null());
    bench.ok(&[&["report"], &folders[..], &["--out", "both.html"]].concat());
    let report = std::fs::read_to_string(bench.path("both.html")).unwrap();
    assert!(report.contains("scenario = fast") && report.contains("quell report results/small results/fast"));
}

/// A flow that takes no notice of the link: utilization is its rate over the link's.
const VOICE: &str = r#"schema = 1
duration = "20 s"
warmup = "5 s"
[dumbbell]
rate = "2 Mbit/s"
delay = "5 ms"
buffer = "40 packets"
[[aqm]]
algorithm = "drop-tail"
[[flows]]
name = "voice"
kind = "udp"
rate = "1 Mbit/s"
packet = "500 B"
"#;

#[test]
fn a_search_finds_a_crossing_that_is_known() {
    let bench = Bench::new();
    bench.file("voice.toml", VOICE);
    let args = ["search", "voice.toml", "--over", "flows.voice.rate=0.2 Mbit/s..1.8 Mbit/s", "--metric"];
    let args = [&args[..], &["utilization", "--crosses", "50%", "-q"]].concat();
    let out = bench.ok(&args);
    assert!(out.contains("utilization of drop-tail at bottleneck rises through 50%"), "{out}");
    assert!(out.contains("at least 95%") && out.contains("below") && out.contains("0.2 Mbit/s"), "{out}");
    let json = bench.json(&[&args[..], &["--format", "json"]].concat());
    let (low, high) = (json["low"].as_f64().unwrap(), json["high"].as_f64().unwrap());
    assert!(low <= 1.0 && 1.0 <= high && high - low <= 0.06, "{low} {high}");
    assert_eq!((&json["ending"], &json["over_unit"]), (&"found".into(), &"Mbit/s".into()));
    assert_eq!(json["probes"][0]["at"], 0.2);

    let none = bench.run(&[&args[..7], &["99%", "-q"]].concat());
    assert_eq!(none.code, 1, "{}{}", none.out, none.err);
    assert!(none.err.contains("below 99% at both ends"), "{}", none.err);
    assert!(none.out.contains("1.8 Mbit/s"), "the probes are shown: {}", none.out);
    let wrong = bench.run(&[&args[..7], &["99 ms", "-q"]].concat());
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("--crosses: \"99 ms\" is not a value of utilization"), "{}", wrong.err);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_is_finished() {
    use std::process::Stdio;
    let bench = Bench::new();
    let args = "run small.toml --out r --seeds auto --precision queue_packets=0.00001% --max-seeds 20000";
    let mut command = bench.command(&args.split(' ').collect::<Vec<_>>());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    bench.wait_for_an_entry();
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let ran = crate::common::Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 130, "{}", ran.err);
    assert!(ran.out.contains("PARTIAL: "), "{}", ran.out);
    bench.ok(&[&args.split(' ').collect::<Vec<_>>()[..], &["--finished"]].concat());
    let json = bench.json(&["show", "r", "--format", "json"]);
    assert_eq!(
        (&json["partial"], &json["sequential"][0]["stops"][0]["reason"]),
        (&true.into(), &"interrupted".into())
    );
    assert!(json["replications_finished"].as_u64() <= json["replications_asked"].as_u64());
}
