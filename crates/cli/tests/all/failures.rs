//! Wrong input, broken places to write to, and interruptions.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::{Bench, Ran, SMALL, list};

/// Runs a scenario that differs from the small one; it must be refused with nothing written.
fn refused(from: &str, to: &str) -> String {
    let bench = Bench::new();
    assert!(SMALL.contains(from), "{from}");
    bench.file("small.toml", &SMALL.replacen(from, to, 1));
    for args in [
        &["run", "small.toml"][..],
        &["scenario", "check", "small.toml"],
        &["compare", "small.toml", "-b", "red"],
    ] {
        let ran = bench.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "one message: {}", ran.err);
        assert_eq!(bench.listing(), ["small.toml"], "nothing was written");
    }
    bench.run(&["run", "small.toml"]).err
}

#[test]
fn wrong_scenarios_are_refused_with_file_line_field_value_rule_and_name() {
    let message = refused("rtt = {", "rttt = {");
    assert!(
        message.starts_with(
            "error: small.toml:22: flows[0].rttt: unknown key; did you mean \"rtt\"? Known keys: name, "
        ),
        "{message}"
    );
    let message = refused("algorithm = \"red\"", "algorithm = \"redd\"");
    assert!(message.starts_with("error: small.toml:17: aqm[1].algorithm = \"redd\": "), "{message}");
    assert!(message.contains("; did you mean \"red\"? Known: drop-tail, "), "{message}");
    let message = refused("algorithm = \"red\"", "algorithm = \"red\"\nmax_p = 2.0");
    assert!(message.starts_with("error: small.toml:18: aqm[1].max_p = 2"), "{message}");
    let message = refused("warmup = \"2 s\"", "warmup = \"7 s\"");
    assert_eq!(message, "error: small.toml:4: warmup = \"7 s\": must be shorter than duration (6 s)\n");
    let message = refused("schema = 1", "schema = 1 1");
    assert!(message.starts_with("error: small.toml:1: not valid TOML: "), "{message}");
}

#[test]
fn wrong_arguments_are_refused() {
    let bench = Bench::new();
    let cases: &[(&[&str], &str)] = &[
        (&["run", "absent.toml"], "error: absent.toml: cannot read: No such file or directory"),
        (
            &["run", "small.toml", "--seeds", "0"],
            "must be a number of seeds (1 to 100000), a range, a list, or auto, not \"0\"",
        ),
        (&["run", "small.toml", "--seeds", "1,1"], "contains the seed 1 twice"),
        (
            &["run", "small.toml", "--set", "dumbbell.rate=3"],
            "error: small.toml with --set dumbbell.rate=3: dumbbell.rate = 3: not a rate with its unit",
        ),
        (
            &["run", "small.toml", "--set", "flows.fpt.count=3"],
            "error: --set flows.fpt.count=3: \"flows.fpt.count\" is not a field: nothing there is called \"fpt\"; did \
             you mean \"ftp\"?",
        ),
        (
            &["run", "small.toml", "--set", "flows.x.count=3"],
            "nothing there is called \"x\"; there: ftp, voice",
        ),
        (&["cache", "prune", "--to", "5"], "must be a size with its unit (B, kB, MB, GB), such as 5GB"),
        (
            &[
                "search",
                "small.toml",
                "--over",
                "dumbbell.rate=1Mbit/s..2Mbit/s",
                "--metric",
                "loss_rate",
                "--crosses",
                "1%",
                "--aqm",
                "red",
                "--tolerance",
                "0",
            ],
            "--tolerance: \"0\" must be above 0: a share of the crossing (5%), or a length of the axis (2 Mbit/s)",
        ),
        (
            &["characterize", "codel", "--rtt", "1ms"],
            "error: --rtt 1 ms: does not suit RFC 7928 section 4.4: flows[0].rtt = \"1 ms\": is less than the 4 ms that",
        ),
        (
            &["characterize", "codel", "--rate", "1kbit/s", "--only", "7"],
            "error: --rate 1 kbit/s: does not suit RFC 7928 section 7.2: its link must carry at least 100 packets",
        ),
        (&["run", "small.toml", "--threads", "0"], "must be a whole number from 1 to 4096"),
        (&["run", "small.toml", "--set", "x"], "must have the form KEY=VALUE"),
        (&["run", "small.toml", "--link", "r1"], "link \"r1\": unknown link; known: bottleneck"),
        (&["run", "small.toml", "--metric", "utilisation"], "did you mean \"utilization\"?"),
        (&["rum", "small.toml"], "a similar subcommand exists: 'run'"),
        (&["compare", "small.toml", "-b", "redd"], "did you mean \"red\"?"),
        (&["compare", "small.toml", "-b", "red", "--aqm", "red"], "there is nothing to compare with \"red\""),
        (&["show", "absent"], "absent: No such file or directory"),
        (&["show", "."], "is not a results folder: it has no run.json"),
        (&["report", "small.toml"], "is not a results folder"),
    ];
    for (args, expected) in cases {
        let ran = bench.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
    }
    assert_eq!(bench.listing(), ["small.toml"]);
}

#[test]
fn what_is_endless_is_cut() {
    let bench = Bench::new();
    let letters = "x".repeat(100_000);
    let [option, equation, digits] = [format!("--{letters}"), format!("{letters}=1..2"), "7".repeat(100_000)];
    let axes =
        |x: &str| ["map", "small.toml", "--aqm", "red", "--y", "flows=1..2", "--x", x].map(str::to_string);
    let of = |args: &[&str]| args.iter().map(|a| a.to_string()).collect::<Vec<_>>();
    for args in [
        of(&[&letters]),
        of(&["run", &letters]),
        of(&["run", "small.toml", &letters]),
        of(&["run", "small.toml", &option]),
        of(&["run", "small.toml", "--seeds", &digits]),
        of(&["run", "small.toml", "--seeds", &format!("1,{letters}")]),
        of(&["run", "small.toml", "--seeds", &format!("1-{digits}")]),
        of(&["run", "small.toml", "--threads", &digits]),
        of(&["run", "small.toml", "--format", &letters]),
        of(&["run", "small.toml", "--metric", &letters]),
        of(&["run", "small.toml", "--out", &letters]),
        of(&["run", "small.toml", "--set", &letters]),
        of(&["run", "small.toml", "--set", &equation]),
        of(&["run", "small.toml", "--sweep", &letters]),
        of(&["run", "small.toml", "--sweep", &equation]),
        of(&["analyze", "small.toml", "--link", &letters]),
        of(&["analyze", "small.toml", "--at", &digits]),
        of(&["measure", &letters]),
        of(&["measure", "small.toml", "--inside", &letters]),
        of(&["scenario", "check", &letters]),
        of(&["show", &letters]),
        axes(&letters).to_vec(),
        axes(&equation).to_vec(),
        axes(&format!("rtt=1ms..2{letters}")).to_vec(),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = bench.run(&args);
        assert!([1, 2].contains(&ran.code), "{:.60}", ran.err);
        assert!(
            ran.err.len() < 1000 && ran.err.contains("\u{2026} (1"),
            "{} bytes: {:.300}",
            ran.err.len(),
            ran.err
        );
    }
}

#[test]
fn results_take_no_options_of_scenarios() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "-q", "--out", "r"]);
    let ran = bench.run(&["compare", "r", "-b", "red", "--seeds", "9"]);
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.err,
        "error: --seeds applies only to scenarios; r holds results, which are compared as they are\n"
    );
    assert_eq!(bench.run(&["compare", "r", "-b", "blue"]).code, 2);
}

#[test]
fn a_folder_that_cannot_be_written_is_found_before_the_simulation() {
    let bench = Bench::new();
    bench.file("file", "not a folder");
    // Far too long to wait for: the error must come first.
    let ran = bench.run(&[
        "run",
        "small.toml",
        "--set",
        "duration=100000 s",
        "--set",
        "segments=50000 s",
        "--out",
        "file/out",
    ]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.starts_with("error: cannot write results to file/out: "), "{}", ran.err);
    let ran = bench.run(&["run", "small.toml", "--out", "file"]);
    assert_eq!((ran.code, ran.err.as_str()), (2, "error: file: exists and is not a folder\n"));
    std::fs::create_dir(bench.path("mine")).unwrap();
    bench.file("mine/thesis.tex", "years of work");
    let ran = bench.run(&["run", "small.toml", "--out", "mine", "--overwrite"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (2, "error: mine: holds other files; results need a folder of their own\n")
    );
    assert_eq!(list(&bench.path("mine")), ["thesis.tex"]);
}

#[test]
fn damaged_results_are_not_read() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "-q", "--out", "r"]);
    let file = bench.path("r/metrics.parquet");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    for command in [&["show", "r"][..], &["report", "r"], &["compare", "r", "-b", "red"]] {
        let ran = bench.run(command);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        assert!(ran.err.contains("metrics.parquet"), "{}", ran.err);
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Child;

    /// Sends a signal with the tool that every Unix has.
    fn signal(child: &Child, name: &str) {
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// A run of many replications that takes far longer than the test.
    fn long_run(bench: &Bench, more: &[&str]) -> Child {
        let args =
            [&["run", "small.toml", "--seeds", "20000", "--out", "r", "--threads", "2"], more].concat();
        let child = bench.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        match more {
            [] => bench.wait_for_an_entry(),
            _ => std::thread::sleep(Duration::from_millis(1500)),
        }
        child
    }

    #[test]
    fn an_interrupted_run_keeps_what_is_finished() {
        for (name, code) in [("-INT", 130), ("-TERM", 143)] {
            let bench = Bench::new();
            let child = long_run(&bench, &[]);
            let asked = Instant::now();
            // Two in a row are one: `timeout` signals its child, and then the child's group.
            signal(&child, name);
            signal(&child, name);
            let ran = Ran::from(child.wait_with_output().unwrap());
            assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
            assert_eq!(ran.code, code, "{}", ran.err);
            assert!(ran.out.contains("PARTIAL: "), "{}", ran.out);
            assert!(ran.out.contains("drop-tail"), "{}", ran.out);
            assert!(ran.err.contains("stopping; finished replications are kept"), "{}", ran.err);
            assert!(
                ran.err.contains("of 40000 replications were finished; they are in the cache:"),
                "{}",
                ran.err
            );
            assert_eq!(bench.listing(), ["small.toml"], "whoever stops a run does not wait for files");
            let finished = ["run", "small.toml", "--seeds", "20000", "--out", "r", "--finished"];
            assert!(bench.ok(&finished).contains("PARTIAL: "));
            let json = bench.json(&["show", "r", "--format", "json"]);
            assert_eq!(json["partial"], true);
            let finished = json["replications_finished"].as_u64().unwrap();
            assert!((1..40_000).contains(&finished), "{finished}");
            assert!(ran.err.contains(&format!("{finished} of 40000")), "{}", ran.err);
        }
    }

    #[test]
    fn an_interrupted_run_without_a_cache_writes_what_is_finished() {
        let bench = Bench::new();
        let child = long_run(&bench, &["--no-cache"]);
        signal(&child, "-INT");
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert!(ran.err.contains("they are in r, marked partial"), "{}", ran.err);
        assert_eq!(bench.json(&["show", "r", "--format", "json"])["partial"], true);
    }

    #[test]
    fn what_is_finished_is_shown_without_running_more() {
        let bench = Bench::new();
        let none = bench.run(&["run", "small.toml", "--finished", "--out", "none"]);
        assert_eq!(none.code, 2);
        assert!(
            none.err.contains("--finished: the cache has no replications of this scenario"),
            "{}",
            none.err
        );
        bench.ok(&["run", "small.toml", "--seeds", "2", "--out", "two"]);
        let read = |folder: &str| bench.json(&["show", folder, "--format", "json"]);
        bench.ok(&["run", "small.toml", "--seeds", "3", "--finished", "--out", "part"]);
        let part = read("part");
        assert_eq!((&part["partial"], &part["replications_finished"]), (&true.into(), &4.into()));
        bench.ok(&["run", "small.toml", "--seeds", "2", "--finished", "--out", "all"]);
        assert_eq!(
            (&read("all")["partial"], &read("all")["digest"]),
            (&false.into(), &read("two")["digest"])
        );
    }

    #[test]
    fn a_run_stopped_before_anything_is_finished_writes_nothing() {
        let bench = Bench::new();
        let child = long_run(&bench, &["--set", "duration=100000 s", "--set", "segments=50000 s"]);
        signal(&child, "-INT");
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.out.as_str()), (130, ""), "{}", ran.err);
        assert!(
            ran.err.ends_with("interrupted: no replication finished; nothing was written\n"),
            "{}",
            ran.err
        );
        assert_eq!(bench.listing(), ["small.toml"]);
    }

    #[test]
    fn a_second_interrupt_quits_at_once_and_leaves_nothing() {
        let bench = Bench::new();
        let child = long_run(&bench, &[]);
        signal(&child, "-INT");
        signal(&child, "-INT");
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 130, "{}", ran.err);
        // Either the second came too late, and all is whole, or there is nothing.
        if bench.path("r").exists() {
            bench.ok(&["show", "r"]);
        }
    }

    #[test]
    fn a_run_under_nohup_survives_its_terminal() {
        let bench = Bench::new();
        let quell = env!("CARGO_BIN_EXE_quell");
        let script = format!("trap '' HUP; exec '{quell}' run small.toml --seeds 20000 --out r -q");
        let mut child = std::process::Command::new("sh")
            .args(["-c", &script])
            .current_dir(bench.path(""))
            .env("QUELL_CACHE", bench.cache())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(700));
        signal(&child, "-HUP");
        bench.wait_for_an_entry();
        assert!(child.try_wait().unwrap().is_none(), "it still runs");
        signal(&child, "-INT");
        assert_eq!(child.wait().unwrap().code(), Some(130));
        bench.ok(&["run", "small.toml", "--seeds", "20000", "--out", "r", "--finished", "-q"]);
    }

    #[test]
    fn a_killed_run_leaves_nothing_that_reads_as_a_result() {
        let bench = Bench::new();
        let mut child = long_run(&bench, &[]);
        signal(&child, "-KILL");
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        assert!(!bench.path("r").exists());
        assert_eq!(bench.run(&["show", "r"]).code, 2);
        // Nor does it stand in the way of the next run.
        bench.ok(&["run", "small.toml", "-q", "--out", "r"]);
    }

    #[test]
    fn a_reader_that_goes_away_is_no_error() {
        let bench = Bench::new();
        bench.ok(&["run", "small.toml", "-q", "--out", "r"]);
        for args in [
            &["aqm", "list"][..],
            &["scenario", "schema"],
            &["show", "r"],
            &["run", "--help"],
            &["run", "small.toml", "-q"],
        ] {
            let mut child =
                bench.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            drop(child.stdout.take());
            let ran = Ran::from(child.wait_with_output().unwrap());
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_device_is_an_error_and_no_panic() {
        let bench = Bench::new();
        if !std::path::Path::new("/dev/full").exists() {
            eprintln!("skipped: there is no /dev/full here");
            return;
        }
        let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        for args in [&["aqm", "list"][..], &["run", "small.toml", "-q", "--out", "r"]] {
            let ran = Ran::from(bench.command(args).stdout(full()).output().unwrap());
            assert_eq!(ran.code, 1);
            assert!(
                ran.err.starts_with("error: cannot write to standard output: No space left"),
                "{}",
                ran.err
            );
        }
        // The results are whole all the same.
        bench.ok(&["show", "r"]);
        let ran = bench.run(&["report", "r", "--out", "/dev/full"]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        assert!(ran.err.starts_with("error: cannot write /dev/full: No space left"), "{}", ran.err);
    }
}

/// Killed at any moment, a run has lost what was running and nothing else.
#[test]
fn a_run_that_is_killed_goes_on_where_it_stopped() {
    let bench = Bench::new();
    let run = ["run", "small.toml", "--seeds", "60", "--set", "duration=\"20 s\"", "--quiet", "--no-report"];
    let kept_after = |wait: u64| {
        let mut child = bench.command(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let _ = child.kill();
        child.wait().unwrap();
        let shown = bench.json(&["cache", "show", "--format", "json"]);
        assert_eq!(shown["damaged"], 0);
        shown["replications"].as_u64().unwrap()
    };
    let mut kept: Vec<u64> = [300, 700, 400, 900].map(kept_after).to_vec();
    // A busy machine takes longer to finish one.
    for wait in [2000, 5000, 20_000, 60_000] {
        if kept[kept.len() - 1] == 0 {
            kept.push(kept_after(wait));
        }
    }
    assert!(kept.is_sorted() && kept[kept.len() - 1] > 0, "{kept:?}");
    let of_run = |args: &[&str], field: &str| {
        bench.ok(&[&run, args].concat());
        let text = std::fs::read_to_string(bench.path(args[1]).join("run.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()[field].clone()
    };
    assert_eq!(of_run(&["--out", "rest"], "reused"), kept[kept.len() - 1]);
    let plain = of_run(&["--out", "plain", "--no-cache"], "digest");
    assert_eq!(of_run(&["--out", "kept"], "digest"), plain);
    assert!(bench.ok(&["cache", "check"]).contains("120 entries checked, all sound"));
}

#[test]
fn runs_at_once_have_names_of_their_own() {
    let bench = Bench::new();
    let run = ["run", "small.toml", "--seeds", "3", "--quiet", "--no-report"];
    let all: Vec<_> = (0..4).map(|_| bench.command(&run).stdout(Stdio::null()).spawn().unwrap()).collect();
    for mut child in all {
        assert!(child.wait().unwrap().success());
    }
    let mut names: Vec<String> = std::fs::read_dir(bench.path("results"))
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["small", "small-2", "small-3", "small-4"]);
}

#[test]
fn the_cache_is_shown_pruned_and_exported() {
    let bench = Bench::new();
    assert!(bench.ok(&["cache"]).contains("0 replications in 0 B"));
    bench.ok(&["run", "small.toml", "--quiet", "--no-report"]);
    let shown = bench.ok(&["cache"]);
    assert!(shown.contains("4 replications in") && shown.contains("  Small\n"), "{shown}");
    assert!(bench.ok(&["cache", "export", "copy"]).contains("4 entries"));
    assert!(bench.ok(&["cache", "--cache", "copy"]).contains("4 replications"));
    assert!(bench.ok(&["cache", "sql"]).contains("read_parquet('"));
    assert!(bench.ok(&["cache", "prune", "--unused", "1d"]).starts_with("0 entries"));
    assert!(bench.ok(&["cache", "prune", "--to", "0B", "--dry-run"]).contains("would be removed"));
    assert!(bench.ok(&["cache", "prune", "--to", "0B"]).starts_with("4 entries"));
    assert!(bench.ok(&["cache"]).contains("0 replications in 0 B"));
    let refused = bench.run(&["cache", "prune"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--unused 30d"), "{}", refused.err);
    let share = bench.run(&["run", "small.toml", "--verify", "2"]);
    assert!(share.code == 2 && share.err.contains("0% to 100%"), "{}", share.err);
}
