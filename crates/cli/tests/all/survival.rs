//! Runs survive kills at any moment beside another run, a full disk, a disk that takes nothing, a clock
//! that jumps, and files of an earlier version.

#![cfg(unix)]

use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::common::Bench;

fn shown(bench: &Bench) -> serde_json::Value {
    bench.json(&["cache", "show", "--format", "json"])
}

fn entries(bench: &Bench) -> Vec<std::path::PathBuf> {
    let folders = std::fs::read_dir(bench.cache()).unwrap().flatten().filter(|f| f.file_name().len() == 2);
    folders.flat_map(|f| std::fs::read_dir(f.path()).unwrap().flatten().map(|f| f.path())).collect()
}

fn run_json(bench: &Bench, folder: &str) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(bench.path(folder).join("run.json")).unwrap()).unwrap()
}

/// A number in [0, 1) from the last one: tests are repeatable as far as processes are.
fn next(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as f64 / f64::from(1u32 << 31)
}

/// Kills of a sweep that two processes run on one cache, a hundred with EVERY=1: what was finished stays, nothing is
/// damaged, and in the end both have what one would have computed alone.
#[test]
fn kills_lose_nothing_that_was_finished() {
    let rounds = if std::env::var("EVERY").is_ok_and(|every| every == "1") { 50 } else { 20 };
    let bench = Bench::new();
    // One algorithm: each process computes the fingerprints of all that it runs.
    let red = crate::common::SMALL.replace("[[aqm]]\nalgorithm = \"drop-tail\"\n\n", "");
    bench.file("sweep.toml", &format!("{red}\n[sweep]\naqm.red.max_p = [0.05, 0.1, 0.2]\n"));
    let run = ["run", "sweep.toml", "--quiet", "--no-report", "--threads", "1"];
    let start = |seeds: &str, out: &str| -> Child {
        let args = [&run[..], &["--seeds", seeds, "--out", out]].concat();
        bench.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    // From before the first replication to after some, however fast this machine is.
    let begin = Instant::now();
    let other = bench.path("other").display().to_string();
    bench.ok(&[&run[..], &["--seeds", "1", "--out", "other/r", "--cache", &other]].concat());
    let longest = begin.elapsed().mul_f64(1.5);
    let mut state = 1;
    let mut kept = Vec::new();
    for round in 0..rounds {
        // There is always something left to do.
        let (first, second) =
            (format!("{}", 40 + 6 * round), format!("{}-{}", 10 + 5 * round, 60 + 6 * round));
        let mut both = [start(&first, "a"), start(&second, "b")];
        for child in &mut both {
            std::thread::sleep(longest.mul_f64(next(&mut state)));
            child.kill().unwrap();
        }
        both.iter_mut().for_each(|child| assert!(child.wait().is_ok()));
        if round % 10 == 9 {
            let shown = shown(&bench);
            assert_eq!(shown["damaged"], 0, "{shown}");
            kept.push(shown["replications"].as_u64().unwrap());
        }
    }
    assert!(kept.is_sorted() && kept[kept.len() - 1] > rounds as u64, "{kept:?}");
    assert!(bench.ok(&["cache", "check"]).contains("all sound"));
    // Both at once, to the end.
    let both = [start("40", "one"), start("40", "two")];
    both.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    bench.ok(&[&run[..], &["--seeds", "40", "--out", "plain", "--no-cache"]].concat());
    let digest = |folder| run_json(&bench, folder)["digest"].clone();
    assert_eq!((digest("one"), digest("two")), (digest("plain"), digest("plain")));
    // The index has what killed runs could not add.
    bench.ok(&["cache", "sql"]);
    let again = [&run[..], &["--seeds", "40", "--out", "again"]].concat();
    bench.ok(&again);
    assert_eq!(run_json(&bench, "again")["reused"], 3 * 40);
}

/// Runs a shell script in a file system of its own; none where that is not allowed.
#[cfg(target_os = "linux")]
fn in_own_mounts(bench: &Bench, script: &str) -> Option<(i32, String)> {
    let quell = env!("CARGO_BIN_EXE_quell");
    let output = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, quell])
        .current_dir(bench.path(""))
        .env("QUELL_CACHE", bench.cache())
        .output()
        .ok()?;
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    // 97: the script could not mount. 1 with unshare's own message: no namespaces here.
    if output.status.code() == Some(97) || text.contains("unshare:") {
        eprintln!("skipped: no mounts of one's own here: {text}");
        return None;
    }
    Some((output.status.code().unwrap_or(-1), text))
}

#[test]
#[cfg(target_os = "linux")]
fn a_cache_that_fills_up_stops_nothing_and_what_it_has_is_usable() {
    let bench = Bench::new();
    // Room for some entries; then none. Then there is room again.
    let script = "mkdir small && mount -t tmpfs -o size=200k tmpfs small || exit 97
        \"$0\" worker small.toml --seeds 60 --cache small > told && exit 1
        \"$0\" run small.toml --seeds 60 --cache small --quiet && exit 1
        \"$0\" cache --cache small check || exit 1
        ls -A small/*/ | grep -c quell-
        mount -o remount,size=20m small && \"$0\" run small.toml --seeds 60 --cache small --out r --no-report --quiet";
    let Some((code, text)) = in_own_mounts(&bench, script) else { return };
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("No space left") && text.contains("replications failed"), "{text}");
    assert!(
        text.contains("of disk space, but") && text.contains("all sound\n0\n"),
        "nothing half-written: {text}"
    );
    let told = std::fs::read_to_string(bench.path("told")).unwrap();
    let made = told.lines().filter(|line| line.ends_with(" made")).count();
    assert!((1..120).contains(&made), "{told}");
    assert_eq!(run_json(&bench, "r")["reused"], made);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_loses_no_replication() {
    let bench = Bench::new();
    let script = "mkdir full && mount -t tmpfs -o size=100k tmpfs full || exit 97
        head -c 10000 /dev/zero > full/file
        \"$0\" run small.toml --seeds 60 --out full/r --no-report --quiet --series all";
    let Some((code, text)) = in_own_mounts(&bench, script) else { return };
    assert_ne!(code, 0, "{text}");
    assert!(
        text.contains("full/r") && (text.contains("No space left") || text.contains("is free")),
        "{text}"
    );
    assert!(!text.contains(".quell-"), "no temporary name: {text}");
    if code == 1 {
        assert!(text.contains("in the cache"), "how to go on: {text}");
        assert_eq!(shown(&bench)["replications"], 120);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_cache_that_is_read_only_is_read() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "--quiet", "--no-report", "--out", "first"]);
    let script = "mount --bind \"$QUELL_CACHE\" \"$QUELL_CACHE\" && mount -o remount,ro,bind \"$QUELL_CACHE\" || exit 97
        \"$0\" run small.toml --seeds 3 --quiet --no-report --out second";
    let Some((code, text)) = in_own_mounts(&bench, script) else { return };
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Read-only file system"), "{text}");
    assert_eq!(run_json(&bench, "second")["reused"], 4);
}

#[test]
fn a_clock_that_jumps_changes_nothing() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "--quiet", "--no-report", "--out", "first"]);
    let day = Duration::from_secs(86_400);
    for (i, path) in (0u32..).zip(&entries(&bench)) {
        // In 1970, and a lifetime after that, and so on to 2101.
        let when = SystemTime::UNIX_EPOCH + day * (i * 16_000);
        std::fs::File::options().append(true).open(path).unwrap().set_modified(when).unwrap();
    }
    assert_eq!(shown(&bench)["replications"], 4);
    // What was used in the future is not old.
    assert!(bench.ok(&["cache", "prune", "--unused", "1d", "--dry-run"]).starts_with("2 entries"));
    bench.ok(&["run", "small.toml", "--quiet", "--no-report", "--out", "second"]);
    assert_eq!(run_json(&bench, "second")["reused"], 4);
    assert!(bench.ok(&["cache", "prune", "--unused", "1d", "--dry-run"]).starts_with("0 entries"));
}

#[test]
fn entries_of_an_earlier_version_are_counted_and_pruned() {
    let bench = Bench::new();
    let old = bench.cache().join("ab").join(format!("{}.parquet", "c".repeat(62)));
    std::fs::create_dir_all(old.parent().unwrap()).unwrap();
    std::fs::write(&old, "PAR1").unwrap();
    bench.ok(&["run", "small.toml", "--quiet", "--no-report"]);
    let shown = shown(&bench);
    assert_eq!(
        (&shown["outdated"], &shown["damaged"], &shown["replications"]),
        (&1.into(), &0.into(), &4.into())
    );
    assert!(bench.ok(&["cache"]).contains("1 from an earlier version; `quell cache prune` removes them"));
    assert!(bench.ok(&["cache", "prune"]).starts_with("1 entry"));
    assert!(!old.exists());
    assert!(bench.ok(&["cache"]).contains("4 replications"));
    assert_eq!(bench.listing(), ["results", "small.toml"]);
}

#[test]
fn what_a_killed_run_left_behind_is_pruned_after_an_hour() {
    let bench = Bench::new();
    let folder = bench.cache().join("ab");
    std::fs::create_dir_all(&folder).unwrap();
    let [old, young] = ["old", "new"].map(|name| folder.join(format!(".quell-{name}")));
    for file in [&old, &young] {
        std::fs::write(file, "half").unwrap();
    }
    let hours_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    std::fs::File::options().write(true).open(&old).unwrap().set_modified(hours_ago).unwrap();
    assert!(bench.ok(&["cache"]).contains("0 replications"), "nothing reads them");
    let would = bench.ok(&["cache", "prune", "--dry-run"]);
    assert!(would.contains("1 unfinished file that a killed run left behind would be removed"), "{would}");
    assert!(old.exists());
    bench.ok(&["cache", "prune"]);
    assert!(!old.exists());
    assert!(young.exists(), "its process may be alive");
}

#[test]
fn a_changed_run_json_is_noticed() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "--quiet", "--no-report", "--out", "r"]);
    let file = bench.path("r").join("run.json");
    let text = std::fs::read_to_string(&file).unwrap();
    for (from, to) in [("\"Small\"", "\"Large\""), ("\"seeds\": [\n        1", "\"seeds\": [\n        7")] {
        assert!(text.contains(from), "{text}");
        std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
        let ran = bench.run(&["show", "r"]);
        assert!(
            ran.code == 1 && ran.err.contains("run.json differs from the file that was written"),
            "{}",
            ran.err
        );
    }
    std::fs::write(&file, &text).unwrap();
    bench.ok(&["show", "r"]);
}

#[test]
fn workers_fill_a_cache_that_a_run_finds() {
    let bench = Bench::new();
    let listed = bench.ok(&["tasks", "small.toml", "--missing"]);
    assert_eq!(listed.lines().count(), 4);
    let parts: Vec<Child> = ["1/3", "2/3", "3/3"]
        .into_iter()
        .map(|part| {
            let args = ["worker", "small.toml", "--part", part, "--threads", "1"];
            bench.command(&args).stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut lines: Vec<String> = Vec::new();
    for child in parts {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        lines.extend(String::from_utf8(output.stdout).unwrap().lines().map(str::to_string));
    }
    lines.sort();
    let mut keys: Vec<String> =
        listed.lines().map(|l| format!("{} made", l.split('\t').next().unwrap())).collect();
    keys.sort();
    assert_eq!(lines, keys);
    assert_eq!(bench.ok(&["tasks", "small.toml", "--missing"]), "");
    bench.ok(&["run", "small.toml", "--quiet", "--no-report", "--out", "r"]);
    assert_eq!(run_json(&bench, "r")["reused"], 4);
    bench.file("keys", &listed);
    assert!(bench.ok(&["worker", "small.toml", "--keys", "keys"]).lines().all(|l| l.ends_with(" found")));
    for (args, expected) in [
        (["--part", "0/3"], "such as 3/16"),
        (["--part", "4/3"], "such as 3/16"),
        (["--keys", "small.toml"], "64 hexadecimal digits"),
        (["--keys", "absent"], "No such file"),
    ] {
        let ran = bench.run(&[&["worker", "small.toml"][..], &args].concat());
        assert!(ran.code == 2 && ran.err.contains(expected), "{args:?}: {}", ran.err);
    }
    let ran = bench.run(&["worker", "small.toml", "--set", "dumbbell.rate=\"3 Mbit/s\"", "--keys", "keys"]);
    assert!(ran.code == 2 && ran.err.contains("is not part of this study"), "{}", ran.err);
}

#[test]
fn what_cannot_be_removed_stops_no_prune() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "--quiet", "--no-report"]);
    let entry = entries(&bench).remove(0);
    std::fs::remove_file(&entry).unwrap();
    std::fs::create_dir_all(entry.join("more")).unwrap();
    let pruned = bench.run(&["cache", "prune", "--to", "0B"]);
    assert_eq!(pruned.code, 1, "{pruned:?}");
    assert!(pruned.out.starts_with("3 entries"), "{pruned:?}");
    let says = format!("cannot remove {}", entry.display());
    assert!(pruned.err.contains(&says) && pruned.err.contains("could not remove 1 file"), "{pruned:?}");
    assert!(entry.join("more").is_dir(), "it is a user's");
}

#[test]
fn a_cache_that_is_named_is_there() {
    let bench = Bench::new();
    for command in ["check", "show", "sql"] {
        let ran = bench.run(&["cache", "--cache", "nowhere", command]);
        assert_eq!((ran.code, ran.err.as_str()), (2, "error: --cache nowhere: the folder does not exist\n"));
    }
    let empty = bench.ok(&["cache", "check"]);
    assert!(empty.ends_with(": no entries to check\n"), "{empty}");
}
