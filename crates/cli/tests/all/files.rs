//! Files that a user names: Quell refuses what is not a file or is too large at once, and reads compressed files.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::common::{Bench, Ran, SMALL};

/// Runs what may not wait for ever, nor take the memory.
fn soon(mut command: Command) -> Ran {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("it waits: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ran::from(child.wait_with_output().unwrap())
}

fn fifo(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Every command that reads a file, with that file last.
fn readers(file: &str) -> Vec<Vec<String>> {
    let words = |text: &str| text.split(' ').map(str::to_string).collect::<Vec<_>>();
    let mut all: Vec<Vec<String>> = [
        "run",
        "compare -b red",
        "scenario check",
        "scenario show",
        "tasks",
        "worker",
        "worker small.toml --keys",
        "search --over flows.ftp.count=10..500 --metric loss_rate --crosses 2%",
        "tune --vary flows.ftp.count=10..500 --for loss_rate",
        "adversary --a red --b codel --vary flows.ftp.count=10..500 --metric loss_rate",
        "adversary small.toml --a red --b codel --metric loss_rate --bounds",
        "analyze",
        "measure",
        "import flent --rate 1Mbit/s",
        "conformance run --file",
    ]
    .map(words)
    .to_vec();
    #[cfg(target_os = "linux")]
    all.extend(["gateway check --config", "gateway replay"].map(words));
    for line in &mut all {
        line.push(file.to_string());
        if line[0] == "conformance" {
            line.extend(["--", "true"].map(str::to_string));
        }
    }
    all
}

#[test]
fn what_is_no_file_is_refused_by_every_command() {
    let bench = Bench::new();
    fifo(&bench.path("pipe"));
    for (file, what) in [("pipe", "is a named pipe"), ("/dev/zero", "is a device")] {
        for args in readers(file) {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let ran = soon(bench.command(&args));
            let message = ran.err.lines().next().unwrap_or_default();
            assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
            assert!(message.contains(file) && message.contains(what), "{args:?}: {ran:?}");
        }
    }
}

#[test]
fn what_is_too_large_is_refused_with_its_size_and_the_limit() {
    let bench = Bench::new();
    // A hole, which takes no room.
    std::fs::File::create(bench.path("large")).unwrap().set_len(3 << 40).unwrap();
    for args in readers("large") {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        if ["measure", "replay"].iter().any(|streamed| args.contains(streamed)) {
            continue;
        }
        let ran = soon(bench.command(&args));
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        for part in
            ["large: ", "it has 3072 GiB, and at most ", "iB of a ", "; shorten it, or name another file"]
        {
            assert!(ran.err.contains(part), "{args:?}: {part}: {ran:?}");
        }
    }
}

#[test]
fn what_a_scenario_results_and_a_cache_consist_of_must_be_files_too() {
    let bench = Bench::new();
    fifo(&bench.path("trace"));
    bench.file("linked.toml", &SMALL.replace("[dumbbell]", "[dumbbell]\nchanges = \"trace\""));
    let ran = soon(bench.command(&["scenario", "check", "linked.toml"]));
    assert!(ran.code == 2 && ran.err.contains("cannot read trace: is a named pipe"), "{ran:?}");

    bench.ok(&["run", "small.toml", "--out", "r", "--quiet", "--no-report"]);
    let replace = |path: &Path| {
        std::fs::remove_file(path).unwrap();
        fifo(path);
    };
    replace(&bench.path("r/flows.parquet"));
    let ran = soon(bench.command(&["show", "r"]));
    assert!(ran.code == 1 && ran.err.contains("cannot read flows.parquet: is a named pipe"), "{ran:?}");
    replace(&bench.path("r/run.json"));
    let ran = soon(bench.command(&["show", "r"]));
    assert!(ran.code == 2 && ran.err.contains("it has no run.json"), "{ran:?}");

    let folder = std::fs::read_dir(bench.cache()).unwrap().map(|e| e.unwrap().path());
    let entry = folder
        .filter(|f| f.file_name().unwrap().len() == 2)
        .find_map(|folder| std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).next());
    replace(&entry.unwrap());
    for part in std::fs::read_dir(bench.cache().join("index")).unwrap().map(|e| e.unwrap().path()) {
        if part.extension().is_some_and(|e| e == "parquet") {
            replace(&part);
        }
    }
    let ran = soon(bench.command(&["cache", "check"]));
    assert!(ran.code == 1 && ran.err.contains("is a named pipe"), "{ran:?}");
    assert_eq!(soon(bench.command(&["cache", "sql"])).code, 0);
    // And a run computes it again.
    let ran = soon(bench.command(&["run", "small.toml", "--out", "again", "--quiet", "--no-report"]));
    assert!(ran.code == 0 && ran.err.contains("is a named pipe"), "{ran:?}");
    assert!(bench.ok(&["cache", "check"]).contains("4 entries checked, all sound"));
}

/// A table is hashed in pieces before anything of it is kept, and one of another size not even that.
#[cfg(target_os = "linux")]
#[test]
fn a_damaged_table_takes_no_memory() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "--out", "r", "--quiet", "--no-report"]);
    let whole = bench.ok(&["show", "r"]);
    let shown = || {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 1048576 && exec \"$0\" show r", env!("CARGO_BIN_EXE_quell")]);
        command.current_dir(bench.path("")).stdin(Stdio::null());
        soon(command)
    };
    let ran = shown();
    assert_eq!((ran.code, ran.out), (0, whole), "{}", ran.err);
    let table = std::fs::File::options().write(true).open(bench.path("r/flows.parquet")).unwrap();
    let length = table.metadata().unwrap().len();
    // A hole takes no room.
    table.set_len(4 << 30).unwrap();
    let damaged = "flows.parquet differs from the file that was written: the result is damaged";
    let ran = shown();
    assert!(ran.code == 1 && ran.err.contains(damaged), "{ran:?}");
    table.set_len(length - 1).unwrap();
    table.set_len(length).unwrap();
    let ran = shown();
    assert!(ran.code == 1 && ran.err.contains(damaged), "{ran:?}");
}

#[test]
fn pipes_in_the_places_of_locks_and_vectors_keep_nobody_waiting() {
    let bench = Bench::new();
    let run = ["run", "small.toml", "--out", "r", "--quiet", "--no-report"];
    fifo(&bench.path(".r.lock"));
    let ran = soon(bench.command(&run));
    assert!(ran.code != 0 && ran.err.contains("is a named pipe: must be a file, or a name"), "{ran:?}");
    std::fs::remove_file(bench.path(".r.lock")).unwrap();
    fifo(&bench.cache().join("index/lock"));
    assert_eq!(soon(bench.command(&run)).code, 0);
    let ran = soon(bench.command(&["cache", "sql"]));
    assert!(ran.code == 1 && ran.err.contains("lock") && ran.err.contains("is a named pipe"), "{ran:?}");

    fifo(&bench.path("vectors/codel.jsonl"));
    assert_eq!(soon(bench.command(&["conformance", "write", "vectors", "codel"])).code, 0);
    assert!(std::fs::read_to_string(bench.path("vectors/codel.jsonl")).unwrap().starts_with('{'));
}

/// What shells hand over as a file is a pipe without a name.
#[test]
fn what_a_shell_substitutes_is_read() {
    if Command::new("bash").arg("--version").output().is_err() {
        return;
    }
    let bench = Bench::new();
    let line = |text: &str| {
        let mut command = Command::new("bash");
        command.args(["-c", text, env!("CARGO_BIN_EXE_quell")]).current_dir(bench.path(""));
        command.env("QUELL_CACHE", bench.cache()).stdin(Stdio::null());
        soon(command)
    };
    for text in [
        "\"$0\" scenario check <(sleep 0.2; cat small.toml)",
        "cat small.toml | \"$0\" scenario check /dev/stdin",
        "\"$0\" scenario check /dev/stdin < small.toml",
        "\"$0\" scenario check - < small.toml",
        "\"$0\" worker small.toml -q --keys <(\"$0\" tasks small.toml | head -1)",
        "\"$0\" conformance run --file <(\"$0\" conformance show codel/drops) -- \"$0\" conformance answer",
    ] {
        let ran = line(text);
        assert_eq!(ran.code, 0, "{text}: {ran:?}");
    }
    // What a scenario names is not what the command was given.
    for name in ["/dev/stdin", "/proc/self/fd/0"] {
        bench.file("named.toml", &SMALL.replace("[dumbbell]", &format!("[dumbbell]\nchanges = \"{name}\"")));
        let ran = line("test -p open || mkfifo open; exec 0<>open; \"$0\" scenario check named.toml");
        assert!(ran.code == 2 && ran.err.contains("is a named pipe: must be a file"), "{name}: {ran:?}");
    }
    // Without an end it is read up to the limit.
    for text in [
        "\"$0\" scenario check /dev/stdin",
        "\"$0\" scenario check -",
        "\"$0\" scenario check <(cat /dev/zero)",
    ] {
        let ran = line(&format!("{text} < /dev/zero"));
        assert!(ran.code == 2 && ran.err.contains("at most 16.0 MiB of a scenario"), "{text}: {ran:?}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = GzEncoder::new(Vec::new(), Compression::default());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

#[test]
fn compressed_traces_are_those_that_they_were() {
    let bench = Bench::new();
    let csv = "time_s,rate_bps\n0,2e6\n3,1e6\n".as_bytes();
    let mahimahi: String = (1..600).map(|n| format!("{}\n", n * 7)).collect();
    let arrivals: String = std::iter::once("time_s,bytes\n".to_string())
        .chain((0..500).map(|n| format!("{},1000\n", f64::from(n) / 100.0)))
        .collect();
    let link = |file: &str| SMALL.replace("[dumbbell]", &format!("[dumbbell]\nchanges = \"{file}\""));
    let flow =
        |file: &str| format!("{SMALL}\n[[flows]]\nname = \"t\"\nkind = \"trace\"\nfile = \"{file}\"\n");
    for (bytes, scenario) in
        [(csv, &link as &dyn Fn(&str) -> String), (mahimahi.as_bytes(), &link), (arrivals.as_bytes(), &flow)]
    {
        // All but its last line.
        let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
        let tasks = |name: &str, content: &[u8]| {
            std::fs::write(bench.path(name), content).unwrap();
            bench.file("traced.toml", &scenario(name));
            bench.ok(&["tasks", "traced.toml"])
        };
        let plain = tasks("plain", bytes);
        // By their content, whatever their names; and the cache has them under the same keys.
        assert_eq!(tasks("packed.gz", &gzip(bytes)), plain);
        assert_eq!(tasks("packed.csv", &gzip(bytes)), plain);
        assert_eq!(tasks("packed.zst", &compress_to_vec(bytes, CompressionLevel::Fastest)), plain);
        assert_ne!(tasks("other.gz", &gzip(&bytes[..=last])), plain);
    }
    let refused = |content: &[u8]| {
        std::fs::write(bench.path("t"), content).unwrap();
        bench.file("traced.toml", &link("t"));
        let ran = bench.run(&["scenario", "check", "traced.toml"]);
        assert_eq!(ran.code, 2, "{ran:?}");
        ran.err
    };
    let packed = gzip(csv);
    let said = refused(&packed[..packed.len() - 9]);
    assert!(said.contains("t: cannot read t: the gzip stream is damaged: it is cut off"), "{said}");
    let said = refused(b"\xfd7zXZ\0\0\0");
    assert!(said.contains("it is compressed by xz; decompress it first (unxz)"), "{said}");
    let said = refused(&compress_to_vec(std::io::repeat(b'7').take(513 << 20), CompressionLevel::Fastest));
    assert!(said.contains("unpacked it has more, and at most 512 MiB of a trace are read"), "{said}");
}
