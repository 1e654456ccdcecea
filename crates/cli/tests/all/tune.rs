//! `quell tune` and `quell adversary`.

use crate::common::{Bench, SMALL};

const RED: &str = "aqm.red.max_p=0.01..0.5:log";

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

#[test]
fn a_search_prints_what_it_found_beside_the_scenario_and_the_ends() {
    let bench = Bench::new();
    let line = format!("tune small.toml -q --vary {RED} --for queue_delay_p99_s --trials 6 --check-seeds 4");
    let out = bench.ok(&words(&line));
    for text in
        ["6 trials, each with seeds 1-3", "on the fresh seeds 4-7", "scenario", "end of range", "best"]
    {
        assert!(out.contains(text), "{text}: {out}");
    }
    assert!(out.contains("is the best found") || out.contains("improves P99 delay"), "{out}");
    let json = bench.json(&words(&format!("{line} --format json")));
    assert_eq!((json["trials"].as_array().unwrap().len(), &json["interrupted"]), (6, &false.into()));
    assert_eq!(json["goals"][0], "queue_delay_p99_s:min");
    let csv = bench.ok(&words(&format!("{line} --format csv")));
    // The trials, the scenario as it is, the ends of the range, and the best unless it is an end.
    assert_eq!(csv.lines().count(), 1 + 6 + json["checks"].as_array().unwrap().len(), "{csv}");
    assert!((3..=4).contains(&json["checks"].as_array().unwrap().len()), "{csv}");
    assert!(csv.starts_with("kind,seeds,aqm.red.max_p,queue_delay_p99_s,queue_delay_p99_s low"), "{csv}");
}

#[test]
fn each_figure_that_is_saved_is_that_of_a_run() {
    let bench = Bench::new();
    let line = format!(
        "tune small.toml -q --vary {RED} --for loss_rate --against utilization --trials 8 --check-seeds 4 --save t"
    );
    bench.ok(&words(&line));
    let json = bench.json(&[&words(&line)[..words(&line).len() - 1], &["t2", "--format", "json"]].concat());
    let checks = json["checks"].as_array().unwrap();
    let (mut ends, mut front) = (0, 0);
    let number = |count: &mut i32, name: &str| {
        *count += 1;
        format!("{name}-{count}")
    };
    for check in checks {
        let file = match check["kind"].as_str() {
            Some("own") => "scenario".to_string(),
            Some("end") => number(&mut ends, "end"),
            _ => number(&mut front, "front"),
        };
        let metric = "loss_rate,utilization";
        let args = ["run", &format!("t/{file}.toml"), "-q", "--metric", metric, "--format", "json"];
        let ran = bench.json(&[&args[..], &["--out", &format!("of-{file}")]].concat());
        let row = &ran["points"][0]["rows"][0];
        assert_eq!(row["algorithm"], "red");
        for (i, name) in ["loss_rate", "utilization"].into_iter().enumerate() {
            assert_eq!(row["metrics"][name]["mean"], check["values"][i]["mean"], "{file}");
            assert_eq!(row["metrics"][name]["half_width"], check["values"][i]["half_width"], "{file}");
        }
    }
    assert!(front > 0, "{json}");
    // What is there is not mixed with what is new.
    let again = bench.run(&words(&line));
    assert!(again.code == 2 && again.err.contains("--save t: is not empty"), "{}", again.err);
}

#[test]
fn the_worst_cases_are_kept_as_scenarios_that_give_the_figures() {
    let bench = Bench::new();
    bench.file("bounds.toml", "flows.ftp.count = \"1..8\"\n[flows.voice]\nrate = \"20..200 kbit/s\"\n");
    let line = "adversary small.toml -q --a red --b codel --metric queue_delay_p99_s --bounds bounds.toml --trials 6 \
                --check-seeds 4 --save worst.toml";
    let out = bench.ok(&words(line));
    assert!(out.contains("worst case of red against codel at bottleneck, on the fresh seeds 4-7"), "{out}");
    assert!(out.contains("worst case of codel against red"), "{out}");
    let json = bench.json(&words(&format!("{line} --format json")));
    for (case, file) in json["cases"].as_array().unwrap().iter().zip(["worst", "worst-swapped"]) {
        let args =
            ["run", &format!("{file}.toml"), "-q", "--metric", "queue_delay_p99_s", "--format", "json"];
        let ran = bench.json(&[&args[..], &["--out", file]].concat());
        let rows = ran["points"][0]["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 2);
        for (name, value) in [("loser", "loser_value"), ("winner", "winner_value")] {
            let row = rows.iter().find(|row| row["algorithm"] == case[name]).unwrap();
            assert_eq!(row["metrics"]["queue_delay_p99_s"]["mean"], case[value]["mean"], "{file} {name}");
        }
    }
}

#[test]
fn where_nothing_loses_the_closest_case_is_shown_and_not_saved() {
    let bench = Bench::new();
    // Below its rate, a policer passes what a queue passes. Above, it loses, and the queue never does.
    let policed = r#"
schema = 1
duration = "6 s"
warmup = "2 s"
seeds = 1
dumbbell = { rate = "2 Mbit/s", delay = "10 ms", buffer = "50 packets" }
flows = [{ name = "voice", kind = "udp", rate = "1 Mbit/s", packet = "500 B" }]
aqm = [{ algorithm = "policer", rate = "1 Mbit/s", burst = "5 kB" }, { algorithm = "drop-tail" }]
"#;
    bench.file("policed.toml", policed);
    let line = "adversary policed.toml --a drop-tail --b policer --metric goodput_bps --vary flows.voice.rate=1.2..1.8Mbit/s \
                --trials 5 --check-seeds 3 --save worst.toml";
    let ran = bench.run(&words(line));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("closest case of drop-tail against policer"), "{}", ran.out);
    assert!(!ran.out.contains("worst case of drop-tail"), "{}", ran.out);
    let said = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let never = "drop-tail never lost against policer in goodput within the bounds. This is the closest case: a relative \
                 loss of -1";
    assert!(said.contains(never), "{said}");
    assert!(said.contains("worst case of policer against drop-tail"), "{said}");
    assert!(
        ran.err.contains("worst.toml is not written: no case was found in which drop-tail loses"),
        "{}",
        ran.err
    );
    assert!(!bench.path("worst.toml").exists() && bench.path("worst-swapped.toml").exists());
}

#[test]
fn what_cannot_be_asked_is_answered_with_what_to_do() {
    let bench = Bench::new();
    bench.file("wrong.toml", "flows.ftp.count = 5\n");
    bench.file("range.toml", "flows.ftp.count = \"9..1\"\n");
    for (line, expected) in [
        (
            format!("tune small.toml --vary {RED} --for queue_dealy_p99_s"),
            "did you mean \"queue_delay_p99_s\"?",
        ),
        (format!("tune small.toml --vary {RED} --for mark_rate"), "write mark_rate:min or mark_rate:max"),
        (format!("tune small.toml --vary {RED} --for goodput --against goodput_bps"), "named twice"),
        (format!("tune small.toml --vary {RED} --for goodput --aqm rde"), "did you mean \"red\"?"),
        ("tune small.toml --for goodput --aqm red".to_string(), "no field varies"),
        (
            "tune small.toml --vary aqm.red.max_p=0.5..0.1 --for goodput".to_string(),
            "smaller than the second",
        ),
        ("tune small.toml --vary aqm.red.max_p=0..0.5:log --for goodput".to_string(), "must begin above 0"),
        ("tune small.toml --vary flows.fpt.count=1..5 --for goodput".to_string(), "did you mean \"ftp\"?"),
        (
            "tune small.toml --vary aqm.red.max_pp=0.1..0.5 --for goodput".to_string(),
            "did you mean \"max_p\"?",
        ),
        ("tune small.toml --vary aqm.red.max_p=2..3 --for goodput".to_string(), "refuses all 50 trials"),
        (format!("tune small.toml --vary {RED} --for goodput --trials 0"), "must be a whole number from 1"),
        (
            "adversary small.toml --a red --b cdoel --metric goodput --vary flows.ftp.count=1..3".to_string(),
            "did you mean \"codel\"?",
        ),
        (
            "adversary small.toml --a red --b red --metric goodput --vary flows.ftp.count=1..3".to_string(),
            "name two algorithms",
        ),
        ("adversary small.toml --a red --b codel --metric goodput".to_string(), "no field varies"),
        (
            "adversary small.toml --a red --b codel --metric goodput --bounds wrong.toml".to_string(),
            "wrong.toml: flows.ftp.count = 5: must be a range in quotes",
        ),
        (
            "adversary small.toml --a red --b codel --metric goodput --bounds range.toml".to_string(),
            "range.toml: \"flows.ftp.count=9..1\": the first value must be smaller",
        ),
    ] {
        let ran = bench.run(&words(&line));
        assert!(ran.code == 2 && ran.err.contains(expected), "{line}: {} {}", ran.code, ran.err);
    }
    let sweep = ["tune", "small.toml", "--vary", RED, "--for", "goodput", "--sweep", "flows.ftp.count=1,2"];
    let ran = bench.run(&sweep);
    assert!(ran.code == 2 && ran.err.contains("not a sweep over 2"), "{}", ran.err);
}

/// A field of the compared algorithm is not one of a link that has an algorithm of its own.
#[test]
fn a_link_whose_own_algorithm_is_not_tuned_is_named() {
    let bench = Bench::new();
    bench.file(
        "both.toml",
        "schema = 1\nduration = \"1 s\"\naqm = [{ algorithm = \"codel\" }]\nflows = [{ name = \"up\", from = \"a\", to = \
         \"b\" }, { name = \"down\", from = \"b\", to = \"a\" }]\n[[graph.links]]\nfrom = \"a\"\nto = \"b\"\ndelay = \
         \"1 ms\"\nrate = \"2 Mbit/s\"\nbuffer = \"100 packets\"\nreverse = { aqm = { algorithm = \"codel\" } }\n",
    );
    for (field, named) in
        [("aqm.codel.target=2..9ms", true), ("graph.links[0].reverse.aqm.target=2..9ms", false)]
    {
        let goal =
            ["--for", "queue_delay_p99_s", "--trials", "2", "--seeds", "1", "--check-seeds", "1", "--quiet"];
        let ran = bench.run(&[&["tune", "both.toml", "--vary", field], &goal[..]].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(
            ran.err.contains("b-a has codel of its own, whose target stays"),
            named,
            "{field}: {}",
            ran.err
        );
    }
    // Its results with others are joined, and a scenario's name is no algorithm's.
    bench.file("other.toml", &std::fs::read_to_string(bench.path("both.toml")).unwrap());
    bench.ok(&["run", "both.toml", "other.toml", "--seeds", "1", "--out", "res"]);
    let ran = bench.run(&["compare", "res", "--baseline", "both"]);
    assert!(ran.code == 2 && ran.err.contains("quell show res"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn an_interrupted_search_prints_the_best_so_far() {
    use std::process::Stdio;
    let bench = Bench::new();
    bench.file("long.toml", &SMALL.replace("duration = \"6 s\"", "duration = \"60 s\""));
    let line = format!("tune long.toml --vary {RED} --for goodput --trials 10000 --threads 1 --seeds 1");
    let child = bench.command(&words(&line)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    bench.wait_for_an_entry();
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let ran = crate::common::Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 130, "{}", ran.err);
    assert!(ran.err.contains("finished; run the same command to continue"), "{}", ran.err);
    assert!(ran.out.contains("the best so far, on the seeds of the trials"), "{}", ran.out);
}
