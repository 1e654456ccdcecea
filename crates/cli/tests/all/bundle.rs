//! Bundles, as a user makes and checks them.

use std::process::Stdio;

use crate::common::{Bench, SMALL};

const AUTHOR: [&str; 4] = ["--author", "Josiah Carberry <0000-0002-1825-0097>", "--license", "CC-BY-4.0"];
const RATE: &str = "time_s,rate_bps\n0,2000000\n3,1000000\n";

fn bundle(bench: &Bench, args: &[&str]) -> String {
    bench.ok(&[&["bundle"], args, &AUTHOR[..]].concat())
}

#[test]
fn a_study_is_packed_checked_and_computed_again() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "--quiet", "--set", "dumbbell.rate=3 Mbit/s", "--out", "r"]);
    let said = bundle(&bench, &["r", "--out", "one.zip"]);
    bundle(&bench, &["r/run.json", "--out", "two.zip"]);
    let read = |name: &str| std::fs::read(bench.path(name)).unwrap();
    assert!(read("one.zip") == read("two.zip"));
    let said_hash = said.lines().find_map(|line| line.strip_prefix("sha256   ")).unwrap().to_string();
    let checked = bench.ok(&["bundle", "verify", "one.zip"]);
    assert!(checked.contains(&said_hash) && checked.contains("4 replications"), "{checked}");
    let all = bench.run(&["bundle", "verify", "one.zip", "--rerun", "--quiet", "--threads", "1"]);
    assert!(all.out.contains("4 of 4 replications were rerun: 4 are the same"), "{all:?}");
    assert_eq!((all.code, &*all.err), (0, ""));
    assert!(all.out.contains("report match what this program makes from the results"), "{all:?}");
    // What follows is the archive and no share.
    let before = bench.ok(&["bundle", "verify", "--rerun", "one.zip", "--quiet"]);
    assert!(before.contains("4 of 4 replications"), "{before}");
    let some = bench.ok(&["bundle", "verify", "one.zip", "--rerun=30%", "--draw", "2"]);
    assert!(some.contains("2 of 4 replications"), "{some}");
    // It is not lost by mistake.
    let again = bench.run(&["bundle", "r", "--out", "one.zip"]);
    assert!(again.code == 2 && again.err.contains("--overwrite to replace it"), "{again:?}");
    bundle(&bench, &["r", "--out", "one.zip", "--overwrite"]);
    let mut bytes = read("one.zip");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(bench.path("one.zip"), &bytes).unwrap();
    assert_eq!(bench.run(&["bundle", "verify", "one.zip"]).code, 1);
    for (args, said) in [
        (&["bundle", "verify", "small.toml"][..], "which is a zip archive"),
        (&["bundle", "verify", "nowhere.zip"], "nowhere.zip"),
        (&["bundle", "verify", "two.zip", "--rerun=0%"], "must be a share above 0%"),
        (&["bundle", "verify", "two.zip", "--rerun=10"], "must be a share above 0%"),
        (&["bundle", "verify", "two.zip", "--rerun", "10%"], "a share follows \"=\": --rerun=10%"),
        (&["bundle", "verify", "two.zip", "--draw", "2"], "--rerun"),
        (&["bundle", "r", "--set", "seeds=2", "--out", "x.zip"], "--set: changes how a scenario is run"),
        (&["bundle", "r", "--license", "CC-BY-4", "--out", "x.zip"], "did you mean \"CC-BY-4.0\"?"),
        (&["bundle", "r", "--author", "A <0000-0002-1825-0098>", "--out", "x.zip"], "is not an ORCID"),
        (&["bundle", "r", "--out", "r"], "exists and is not a file"),
        (&["bundle"], "RESULTS|SCENARIO"),
    ] {
        let ran = bench.run(args);
        assert!(ran.code == 2 && ran.err.contains(said), "{args:?}: {ran:?}");
    }
    assert_eq!(bench.listing(), ["one.zip", "r", "small.toml", "two.zip"]);
}

#[test]
fn a_scenario_with_files_and_holes_is_packed_with_them() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("s/traces")).unwrap();
    bench.file("s/traces/rate.csv", RATE);
    let changing = "buffer = \"25 packets\"\nchanges = \"traces/rate.csv\"\n\n[sweep]\n\"dumbbell.buffer\" = \
                    [\"25 packets\", \"0 packets\"]\n";
    bench.file("s/small.toml", &SMALL.replace("buffer = \"25 packets\"\n", changing));
    let auto = ["--seeds", "auto", "--precision", "utilization=5%", "--max-seeds", "10"];
    let args = [&["bundle", "s/small.toml", "--quiet", "--out"][..], &["a.zip"], &auto, &AUTHOR].concat();
    let epoch = |out: &str| {
        let args: Vec<&str> = args.iter().map(|a| if *a == "a.zip" { out } else { a }).collect();
        let done = bench.command(&args).env("SOURCE_DATE_EPOCH", "1700000000").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    epoch("a.zip");
    // The trace is in it: where it was may be gone.
    std::fs::remove_dir_all(bench.path("s/traces")).unwrap();
    let checked = bench.ok(&["bundle", "verify", "a.zip", "--rerun", "--quiet"]);
    assert!(checked.contains("rerun") && checked.contains("are the same"), "{checked}");
    assert!(checked.contains("1 combination of the sweep could not be run"), "{checked}");
    // Again from the same cache: the same bytes.
    std::fs::create_dir_all(bench.path("s/traces")).unwrap();
    bench.file("s/traces/rate.csv", RATE);
    epoch("b.zip");
    assert!(std::fs::read(bench.path("a.zip")).unwrap() == std::fs::read(bench.path("b.zip")).unwrap());
    std::fs::remove_dir_all(bench.path("s/traces")).unwrap();
    let refused = bench.run(&["bundle", "s/small.toml", "--out", "c.zip"]);
    assert!(refused.code == 2 && refused.err.contains("rate.csv"), "{refused:?}");
    assert_eq!(bench.listing(), ["a.zip", "b.zip", "s", "small.toml"]);
}

#[test]
fn a_file_that_is_another_one_now_is_refused() {
    let bench = Bench::new();
    bench.file("rate.csv", RATE);
    let changing = "buffer = \"25 packets\"\nchanges = \"rate.csv\"\n";
    bench.file("small.toml", &SMALL.replace("buffer = \"25 packets\"\n", changing));
    bench.ok(&["run", "small.toml", "--quiet", "--no-report", "--out", "r"]);
    bench.file("rate.csv", "time_s,rate_bps\n0,2000000\n");
    let refused = bench.run(&["bundle", "r", "--out", "a.zip"]);
    assert!(refused.code == 2 && refused.err.contains("is not the file that was run"), "{refused:?}");
    std::fs::remove_file(bench.path("rate.csv")).unwrap();
    let refused = bench.run(&["bundle", "r", "--out", "a.zip"]);
    assert!(refused.code == 2 && refused.err.contains("--inputs"), "{refused:?}");
    assert_eq!(bench.listing(), ["r", "small.toml"]);
}

#[test]
fn two_at_once_leave_one_whole_archive() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "--quiet", "--no-report", "--out", "r"]);
    let start = || {
        let args = [&["bundle", "r", "--out", "a.zip"][..], &AUTHOR].concat();
        bench.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let both = [start(), start()].map(|mut child| child.wait().unwrap().success());
    assert!(both.contains(&true));
    bench.ok(&["bundle", "verify", "a.zip"]);
    assert_eq!(bench.listing(), ["a.zip", "r", "small.toml"]);
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_interrupted_leaves_no_archive() {
    let bench = Bench::new();
    let args = ["bundle", "small.toml", "--quiet", "--seeds", "50000", "--out", "a.zip"];
    let mut child = bench.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    bench.wait_for_an_entry();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(bench.listing(), ["small.toml"]);
}
