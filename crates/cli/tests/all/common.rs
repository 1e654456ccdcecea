//! Helpers of the command's tests: running it in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Two algorithms, two classes, two seeds: a moment's work.
pub const SMALL: &str = r#"schema = 1
title = "Small"
duration = "6 s"
warmup = "2 s"
segments = "2 s"
seeds = 2

[dumbbell]
rate = "2 Mbit/s"
delay = "10 ms"
buffer = "25 packets"

[[aqm]]
algorithm = "drop-tail"

[[aqm]]
algorithm = "red"

[[flows]]
name = "ftp"
count = 4
rtt = { uniform = ["50 ms", "100 ms"] }

[[flows]]
name = "voice"
kind = "udp"
rate = "64 kbit/s"
packet = "200 B"
"#;

/// A folder with a scenario in it, in which commands are run.
pub struct Bench {
    dir: tempfile::TempDir,
    cache: tempfile::TempDir,
}

impl Bench {
    /// A folder with `small.toml`.
    pub fn new() -> Self {
        let bench = Bench { dir: tempfile::tempdir().unwrap(), cache: tempfile::tempdir().unwrap() };
        bench.file("small.toml", SMALL);
        bench
    }

    /// Writes a file.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The names in the folder, sorted.
    pub fn listing(&self) -> Vec<String> {
        list(self.dir.path())
    }

    /// The folder of its cache.
    pub fn cache(&self) -> PathBuf {
        self.cache.path().to_path_buf()
    }

    /// Waits until a run has kept something in the cache.
    pub fn wait_for_an_entry(&self) {
        let since = Instant::now();
        let is_kept = |folder: PathBuf| list(&folder).iter().any(|name| name.ends_with(".entry"));
        while !list(&self.cache()).iter().any(|folder| is_kept(self.cache().join(folder))) {
            assert!(since.elapsed() < Duration::from_secs(60), "nothing is kept: {:?}", list(&self.cache()));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The command, ready to start.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quell"));
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        // Not the user's.
        command.env("QUELL_CACHE", self.cache());
        command
    }

    /// Runs the command.
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    /// Runs the command, which must succeed, and gives what it printed.
    pub fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
        ran.out
    }

    /// Runs the command, which must print JSON.
    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.ok(args)).unwrap()
    }
}

/// The exit code and output of a command.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The names in a folder, sorted; none if it is not there.
pub fn list(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
