//! Options whose values mean nothing, and options that choose what is run.

use crate::common::{Bench, SMALL};

#[test]
fn a_value_that_means_nothing_is_refused_before_anything_is_run() {
    let bench = Bench::new();
    let design = ["design", "--flows", "10", "--aqm", "pi", "--rtt", "100ms"];
    let analyze = ["analyze", "--flows", "10", "--aqm", "red", "--rate", "10Mbit/s"];
    let rates = "must lie between 1 kbit/s and 1000 Gbit/s";
    let times = "must lie between 1 us and 10 s";
    let only = ["characterize", "codel", "--only", "5.1.1"];
    let cases: [(&[&str], &[&str], &str); 18] = [
        (&only, &["--rate", "1bit/s"], rates),
        (&only, &["--rate", "0Mbit/s"], rates),
        (&only, &["--rate", "1001Gbit/s"], rates),
        (&only, &["--rate", "-1Mbit/s"], "must not be negative"),
        (&only, &["--rate", "nanMbit/s"], "is not a rate with its unit"),
        (
            &only,
            &["--rate", "15kbit/s"],
            "its link must carry at least 100 packets of 1514 B in the measured 80 s",
        ),
        (&only, &["--rtt", "0s"], times),
        (&only, &["--rtt", "-5ms"], "must not be negative"),
        (&only, &["--rtt", "9s"], "must have at least 10 round trips of at most 8 s"),
        (&only, &["--seeds", "-1"], "must be a whole number from 1 to 100000"),
        (&only, &["--only", "-1"], "section \"-1\": has no scenario"),
        (&only, &["--baseline", "codle"], "did you mean \"codel\"?"),
        (&design, &["--rate", "1bit/s"], rates),
        (&design, &["--rate", "1e9Gbit/s"], rates),
        (&analyze, &["--rtt", "0s"], times),
        (&analyze, &["--rtt", "1000s"], times),
        (&["conformance", "run"], &["--timeout", "0s", "--", "true"], "must be at least 10 ms"),
        (&["conformance", "run"], &["--timeout", "-1s", "--", "true"], "'-1s' for '--timeout <TIME>'"),
    ];
    for (command, options, rule) in cases {
        let list: &[&str] = if command[0] == "characterize" { &["--list"] } else { &[] };
        for more in [&[], list] {
            let ran = bench.run(&[command, options, more].concat());
            assert_eq!(ran.code, 2, "{options:?}: {}{}", ran.out, ran.err);
            assert!(ran.err.contains(rule), "{options:?}: {}", ran.err);
            assert!(ran.out.is_empty(), "{options:?}: {}", ran.out);
        }
    }
    assert_eq!(bench.listing(), ["small.toml"]);
    // The least that is allowed.
    bench.ok(&["characterize", "--only", "5.1.1", "--list", "--rate", "16kbit/s", "--rtt", "8s"]);
}

#[test]
fn a_negative_number_is_answered_with_the_rule() {
    let bench = Bench::new();
    for options in [
        ["run", "--seeds"],
        ["run", "--seed"],
        ["run", "--threads"],
        ["run", "--max-seeds"],
        ["run", "--verify"],
        ["plot", "--point"],
        ["plot", "--seed"],
        ["tasks", "--seeds"],
        ["worker", "--part"],
        ["search", "--max-seeds"],
        ["search", "--tolerance"],
        ["analyze", "--at"],
        ["map", "--points"],
        ["measure", "--interval"],
        ["reproduce", "--seeds"],
        ["scenario show", "--point"],
        ["cache prune", "--to"],
    ] {
        let [command, option] = options;
        let scenario = if command.starts_with("cache") { None } else { Some("small.toml") };
        let mut args: Vec<&str> = command.split(' ').chain(scenario).chain([option, "-1"]).collect();
        if command == "search" {
            args.extend(["--over", "flows.ftp.count=1..9", "--metric", "utilization", "--crosses", "95%"]);
        }
        if command == "map" {
            args.extend(["--x", "flows=1..9", "--y", "rtt=10ms..90ms"]);
        }
        let ran = bench.run(&args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(
            ["must ", "with its unit"].iter().any(|rule| ran.err.contains(rule))
                && !ran.err.contains("unexpected argument"),
            "{args:?}: {}",
            ran.err
        );
    }
    let ran = bench.run(&["run", "small.toml", "--seeds", "-1"]);
    assert!(ran.err.contains("a range, a list, or auto, not \"-1\""), "{}", ran.err);
    // An option is still one.
    assert!(bench.run(&["run", "small.toml", "--sedes", "1"]).err.contains("similar argument exists"));
}

#[test]
fn a_link_that_carries_nothing_while_it_is_measured_is_refused() {
    let bench = Bench::new();
    let check = |set: &str| bench.run(&["scenario", "check", "small.toml", "--set", set]);
    for field in
        ["dumbbell.rate", "dumbbell.reverse.rate", "flows.ftp.access_rate", "flows.ftp.receiver_rate"]
    {
        let ran = check(&format!("{field}=79 bit/s"));
        assert_eq!(ran.code, 2, "{}", ran.out);
        assert!(
            ran.err.contains("must be at least 80 bit/s: on a slower link, the scenario's smallest packet"),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("would take longer than the measured 4 s"), "{}", ran.err);
        assert_eq!(check(&format!("{field}=80 bit/s")).code, 0);
    }
    // A link that changes may begin with nothing.
    bench.file(
        "changing.toml",
        &SMALL.replace("2 Mbit/s\"", "1 bit/s\"\nchanges = [{ at = \"1 s\", rate = \"2 Mbit/s\" }]"),
    );
    bench.ok(&["scenario", "check", "changing.toml"]);
}

#[test]
fn a_check_takes_changes_and_sweeps() {
    let bench = Bench::new();
    let changes = ["--set", "flows.ftp.count=9", "--sweep", "dumbbell.rate=1..3 Mbit/s:lin:3"];
    let out = bench.ok(&[&["scenario", "check", "small.toml"][..], &changes].concat());
    assert!(out.starts_with("small.toml: ok: dumbbell, 1 Mbit/s and 10 ms; 9 ftp"), "{out}");
    assert!(out.contains("3 points × 2 algorithms × 2 seeds = 12 runs"), "{out}");
    let ran =
        bench.run(&["scenario", "check", "small.toml", "--sweep", "dumbbell.rat=1,2", "--format", "json"]);
    assert_eq!(ran.code, 2);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["files"][0]["error"]["nearest"], "rate");
    assert!(ran.err.contains("small.toml with --sweep dumbbell.rat=1,2: "), "{}", ran.err);
}

#[test]
fn a_run_takes_algorithms_of_the_file_and_of_the_catalog() {
    let bench = Bench::new();
    bench.file("own.toml", &SMALL.replace("\"red\"", "\"red\"\nlabel = \"mine\"\nmax_p = 0.3"));
    let run = |aqm: &[&str]| {
        let args = [
            "run",
            "own.toml",
            "--seeds",
            "1",
            "--format",
            "json",
            "--quiet",
            "--out",
            "found",
            "--overwrite",
        ];
        bench.json(&[&args[..], aqm].concat())
    };
    let names = |json: &serde_json::Value| -> Vec<String> {
        let rows = json["points"][0]["rows"].as_array().unwrap();
        rows.iter().map(|row| row["algorithm"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(names(&run(&[])), ["drop-tail", "mine"]);
    assert_eq!(names(&run(&["--aqm", "mine,codel"])), ["mine", "codel"]);
    // No label is red: the catalog's, with its defaults.
    assert_eq!(names(&run(&["--aqm", "red", "--aqm", "drop-tail"])), ["red", "drop-tail"]);
    let keys = |aqm: &[&str]| {
        let said = bench.ok(&[&["tasks", "own.toml", "--seeds", "1"][..], aqm].concat());
        said.lines().map(|line| line.split('\t').next().unwrap().to_string()).collect::<Vec<_>>()
    };
    // A label keeps its parameters, and so its key.
    let (all, mine, red) = (keys(&[]), keys(&["--aqm", "mine"]), keys(&["--aqm", "red"]));
    assert!(mine.len() == 1 && all.contains(&mine[0]) && !all.contains(&red[0]), "{all:?} {mine:?} {red:?}");
    let ran = bench.run(&["run", "own.toml", "--aqm", "codle"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("did you mean \"codel\"? Known: drop-tail, mine, red,"), "{}", ran.err);
    // What is poor design is said before anything is run.
    let ran = bench.run(&["run", "own.toml", "--aqm", "codel", "--set", "dumbbell.buffer=1 B"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("note: codel: target = 5 ms: a full buffer (1 B) takes"), "{}", ran.err);
    // The tasks are those of the run.
    let tasks = bench.ok(&["tasks", "own.toml", "--aqm", "mine,codel", "--seeds", "1", "--missing"]);
    assert_eq!(tasks, "");
    assert_eq!(bench.ok(&["tasks", "own.toml", "--aqm", "pie", "--seeds", "2"]).lines().count(), 2);
}

#[test]
fn a_search_takes_the_range_of_a_sweep() {
    let bench = Bench::new();
    let search = |over: &str| {
        let args =
            ["search", "small.toml", "--metric", "utilization", "--crosses", "80%", "--aqm", "drop-tail"];
        bench.run(&[&args[..], &["--quiet", "--format", "json", "--over", over]].concat())
    };
    for over in ["dumbbell.rate=1..81 Mbit/s:step:20 Mbit/s", "dumbbell.rate=1000 kbit/s..81 Mbit/s:lin:5"] {
        let ran = search(over);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(json["over_unit"], "Mbit/s");
        let probes: Vec<f64> =
            json["probes"].as_array().unwrap().iter().map(|p| p["at"].as_f64().unwrap()).collect();
        assert!(probes.iter().all(|at| [1.0, 21.0, 41.0, 61.0, 81.0].contains(at)), "{probes:?}");
        let (low, high) = (json["low"].as_f64().unwrap(), json["high"].as_f64().unwrap());
        assert_eq!(high - low, 20.0, "{json}");
    }
    let ran = search("flows.ftp.count=1..9:step:3");
    assert!(ran.code == 2 && ran.err.contains("does not end at 9"), "{}", ran.err);
    let map = ["map", "--rate", "10Mbit/s", "--rtt", "100ms", "--flows", "10", "--aqm", "pi"];
    let ran = bench.run(&[&map[..], &["--x", "flows=10..50:lin:5", "--y", "rtt=20ms..90ms"]].concat());
    assert!(ran.code == 2 && ran.err.contains("--x: gives its own values"), "{}", ran.err);
}

#[test]
fn help_lists_no_option_that_is_refused() {
    let bench = Bench::new();
    for (command, refused) in [
        ("search", &["--sweep"][..]),
        ("tune", &["--sweep"]),
        ("adversary", &["--sweep"]),
        ("tasks", &["--precision", "--max-seeds", "--engine", "--no-cache", "--verify", "--threads"]),
        ("worker", &["--precision", "--max-seeds", "--engine", "--no-cache"]),
    ] {
        let help = bench.ok(&[command, "--help"]);
        for option in refused {
            assert!(!help.lines().any(|line| line.trim_start().starts_with(option)), "{command} {option}");
        }
    }
    // What is refused is refused with its reason.
    let ran = bench.run(&["tasks", "small.toml", "--precision", "utilization=1%"]);
    assert!(ran.err.contains("which seeds are needed is known only as results arrive"), "{}", ran.err);
}

#[test]
fn a_part_of_a_metric_says_which_are_meant() {
    let bench = Bench::new();
    let ran = bench.run(&["run", "small.toml", "--metric", "p99"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("did you mean one of queue_delay_p99_s, round_trip_time_p99_s,"), "{}", ran.err);
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_a_failure() {
    let bench = Bench::new();
    for args in [&["--help"][..], &["--version"], &["run", "--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = bench.command(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"),
            "{args:?}"
        );
    }
}

/// `--aqm` comes first, so `--set` reaches what it names.
#[test]
fn fields_of_an_algorithm_that_the_command_line_adds_can_be_set() {
    let bench = Bench::new();
    let keys = |args: &[&str]| bench.ok(&[&["tasks", "small.toml"], args].concat());
    let added = |target: &str| {
        bench.file(
            "own.toml",
            &crate::common::SMALL.replace(
                "\"red\"",
                &format!("\"red\"\n\n[[aqm]]\nalgorithm = \"codel\"\ntarget = \"{target}\""),
            ),
        );
        bench.ok(&["tasks", "own.toml", "--aqm", "codel"])
    };
    let plain = keys(&["--aqm", "codel"]);
    assert_eq!(plain, added("5 ms"));
    let set = keys(&["--aqm", "codel", "--set", "aqm.codel.target=9 ms"]);
    assert_eq!(set, added("9 ms"));
    assert_ne!(set, plain);
    assert!(keys(&["--aqm", "red,codel", "--set", "aqm.codel.target=9 ms"]).ends_with(&set));
    let swept =
        keys(&["--aqm", "codel", "--sweep", "dumbbell.rate=1 Mbit/s,2 Mbit/s; aqm.codel.target=5 ms,9 ms"]);
    assert!(swept.contains("aqm.codel.target = 9 ms"), "{swept}");
    // As the baseline, and as what is searched for.
    let command =
        ["compare", "small.toml", "-b", "codel", "-q", "--set", "duration=3 s", "--set", "segments=1 s"];
    let differences = |args: &[&str]| bench.ok(&[&command, args].concat());
    assert_ne!(differences(&[]), differences(&["--set", "aqm.codel.target=90 ms"]));
    let search =
        ["search", "small.toml", "--metric", "loss_rate", "--crosses", "2%", "-q", "--max-seeds", "2"];
    let over = ["--aqm", "codel", "--over", "aqm.codel.target=1 ms..2 ms", "--set", "aqm.codel.interval=0 s"];
    let ran = bench.run(&[&search[..], &over].concat());
    let what = "small.toml with --set aqm.codel.interval=0 s: aqm[2].interval";
    assert!(ran.code == 2 && ran.err.contains(what), "{ran:?}");
    // The field names it too.
    let ran = bench.run(&[&search[..], &over[2..]].concat());
    assert!(ran.code == 2 && ran.err.contains(what), "{ran:?}");
    // Its name is still checked, and that of a field.
    let ran = bench.run(&["run", "small.toml", "--aqm", "codle", "--set", "aqm.codle.target=9 ms"]);
    assert!(ran.code == 2 && ran.err.contains("nothing there is called \"codle\""), "{ran:?}");
    let ran = bench.run(&["run", "small.toml", "--aqm", "codel", "--set", "aqm.codel.tarjet=9 ms"]);
    let what = "small.toml with --aqm codel --set aqm.codel.tarjet=9 ms: aqm[2].tarjet";
    assert!(ran.code == 2 && ran.err.contains(what), "{ran:?}");
}

#[test]
fn a_setting_without_effect_is_told() {
    let bench = Bench::new();
    let note = |args: &[&str]| {
        let ran = bench.run(&[&["tasks", "small.toml"], args].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.err
    };
    let unread = ["--aqm", "drop-tail", "--set", "aqm.red.max_p=0.3"];
    let said = "note: --set aqm.red.max_p=0.3 has no effect: red is not among the algorithms of --aqm\n";
    assert_eq!(note(&unread), said);
    assert_eq!(note(&unread[2..]), "");
    let same = "note: --set dumbbell.rate=2000 kbit/s has no effect: every run is the same without it (the value is that \
                of the file or the default, or nothing reads it)\n";
    assert_eq!(note(&["--set", "dumbbell.rate=2000 kbit/s"]), same);
    for set in
        ["dumbbell.rate=3 Mbit/s", "seeds=3", "title=\"Other\"", "aqm[1].max_p=0.3", "flows.voice.count=2"]
    {
        assert_eq!(note(&["--set", set]), "", "{set}");
    }
}

/// What `--aqm` and `--baseline` take from the catalog is compared too, though the file has none of it.
#[test]
fn a_setting_that_changes_what_runs_has_an_effect() {
    let bench = Bench::new();
    for args in
        [&["tasks", "small.toml", "--aqm", "codel"][..], &["tasks", "small.toml", "--aqm", "codel,pie"]]
    {
        let ran = bench.run(&[args, &["--set", "dumbbell.rate=3 Mbit/s", "--set", "duration=3 s"]].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        let ran = bench.run(&[args, &["--set", "dumbbell.rate=2 Mbit/s"]].concat());
        assert!(
            ran.err.contains("--set dumbbell.rate=2 Mbit/s has no effect: every run is the same"),
            "{ran:?}"
        );
        // That of an algorithm which does not run is told still.
        let ran = bench.run(&[args, &["--set", "aqm.red.max_p=0.3"]].concat());
        assert!(ran.err.contains("has no effect: red is not among the algorithms of --aqm"), "{ran:?}");
    }
    let compare = ["compare", "small.toml", "--baseline", "codel", "--aqm", "pie", "-q"];
    let ran = bench.run(&[&compare[..], &["--set", "duration=3 s", "--set", "segments=1 s"]].concat());
    assert!(ran.code == 0 && !ran.err.contains("no effect"), "{ran:?}");
    // Where the whole list is given, the catalog's is added to that.
    let ran = bench.run(&[
        "tasks",
        "small.toml",
        "--aqm",
        "pie",
        "--set",
        "aqm=[{ algorithm = \"red\" }]",
        "--set",
        "duration=3 s",
    ]);
    assert!(ran.code == 0 && !ran.err.contains("--set duration"), "{ran:?}");
}

#[test]
fn a_setting_that_takes_the_name_of_what_runs_is_refused() {
    let bench = Bench::new();
    for (aqm, set) in [
        ("codel", "aqm.codel.algorithm=pie"),
        ("codel", "aqm.codel.label=foo"),
        ("red", "aqm.red.algorithm=pie"),
        ("red", "aqm[1].label=foo"),
    ] {
        let ran = bench.run(&["tasks", "small.toml", "--aqm", aqm, "--set", set]);
        let said = format!("error: --set {set}: no algorithm is called \"{aqm}\" after this change");
        assert!(ran.code == 2 && ran.err.contains(&said), "{ran:?}");
    }
    let ran = bench.run(&["tasks", "small.toml", "--aqm", "red", "--sweep", "aqm.red.label=red,foo"]);
    assert!(
        ran.code == 2 && ran.err.contains("--sweep aqm.red.label=red,foo: no algorithm is called"),
        "{ran:?}"
    );
    bench.ok(&["tasks", "small.toml", "--aqm", "foo", "--set", "aqm.red.label=foo"]);
}

#[test]
fn the_last_value_of_a_field_counts() {
    let bench = Bench::new();
    let twice = ["tasks", "small.toml", "--set", "dumbbell.rate=5 Mbit/s", "--set", "dumbbell.rate=3 Mbit/s"];
    let ran = bench.run(&twice);
    let said = "note: --set dumbbell.rate=5 Mbit/s has no effect because --set dumbbell.rate=3 Mbit/s comes after it\n";
    assert_eq!((ran.code, ran.err.as_str()), (0, said));
    assert_eq!(ran.out, bench.ok(&["tasks", "small.toml", "--set", "dumbbell.rate=3 Mbit/s"]));
    let same = bench.run(&["tasks", "small.toml", "--set", "duration=3 s", "--set", "duration=3 s"]);
    assert_eq!(same.err.matches("has no effect").count(), 1, "{same:?}");
}
