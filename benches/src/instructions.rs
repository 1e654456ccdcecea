//! Instructions per packet and per short replication, which neither neighbors nor clocks change: what CI can hold
//! fast.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::case::find;
use crate::one::{Args, Cost};
use crate::progress::Progress;
use crate::senders::sender;
use crate::table::replace;

#[derive(clap::Args)]
pub struct Options {
    /// The cases to count (d with 6000 flows), or senders of the table of ratios such as "bbr1"; "run" and "run --series none" are `quell
    /// run` of 1 s of case a, which the program `quell` beside this one does
    #[arg(value_name = "CASE", default_values = ["a", "e"])]
    cases: Vec<String>,
    /// Keep the counts as what later ones are compared with
    #[arg(long)]
    keep: bool,
}

/// The cases of the command, with what follows the scenario's name.
const COMMAND: [(&str, &[&str]); 2] = [("run", &[]), ("run --series none", &["--series", "none"])];

/// Excess over the kept count that is an error: compilers differ by less.
const MARGIN: f64 = 0.05;

/// Case d with fewer flows in equal proportions: whole, it would take hours under valgrind.
const SIX_THOUSAND: [(&str, &str); 5] = [
    ("flows.reno.count", "6000"),
    ("dumbbell.rate", "2.4 Gbit/s"),
    ("dumbbell.buffer", "6000 packets"),
    ("aqm.red.min_th", "750 packets"),
    ("aqm.red.max_th", "2250 packets"),
];

/// Two durations in seconds: the difference leaves out set-up and start-up.
fn durations(case: &str) -> [u32; 2] {
    match case {
        "c" | "d" => [1, 2],
        "b" | "e" => [2, 5],
        _ => [5, 25],
    }
}

/// Counts by case, for each way of compiling.
type Kept = BTreeMap<String, BTreeMap<String, f64>>;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.toml")
}

/// The beginning of the file.
const HEAD: &str = "\
# Instructions per data packet, written by `quell-bench instructions --keep`; [dev] is what `make test` compiles.
";

/// The profile of this program.
const BUILD: &str = if cfg!(debug_assertions) { "dev" } else { "release" };

/// Refuses to count where there is nothing to count with.
pub fn needs_valgrind() -> Outcome<()> {
    match Command::new("valgrind").arg("--version").output().is_ok_and(|o| o.status.success()) {
        true => Ok(()),
        false => Err("valgrind is needed to count instructions: apt-get install valgrind".to_string()),
    }
}

/// Instructions per packet between two durations in seconds, of what `count` counts in each.
pub fn difference(
    [short, long]: [u32; 2],
    mut count: impl FnMut(u32) -> Outcome<(u64, u64)>,
) -> Outcome<f64> {
    let (short, long) = (count(short)?, count(long)?);
    Ok((long.0 - short.0) as f64 / (long.1 - short.1) as f64)
}

/// The run of a sender, or of a case with RED.
fn run_of(name: &str) -> Outcome<Args> {
    if let Some(run) = sender(name) {
        return Ok(run);
    }
    find(name)?;
    let run = Args::new(name, "red");
    Ok(if name == "d" { run.with(&SIX_THOUSAND) } else { run })
}

pub fn check(options: &Options) -> Outcome<()> {
    needs_valgrind()?;
    for name in options.cases.iter().filter(|name| command(name).is_none()) {
        run_of(name)?;
    }
    let path = file();
    let fail = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|e| fail(&e))?;
    let mut kept: Kept = toml::from_str(&text).map_err(|e| fail(&e))?;
    let counts = kept.entry(BUILD.to_string()).or_default();
    let mut worse = Vec::new();
    let mut progress = Progress::new(2 * options.cases.len());
    for case in &options.cases {
        let found = match command(case) {
            Some(line) => {
                let mut count = |seeds| {
                    progress.next(&format!("{case}, seeds: {seeds}"));
                    short_runs(line, seeds)
                };
                let one = count(1)?;
                let each = (count(11)? - one) / 10.0;
                vec![
                    (case.clone(), "replication of 1 s", each),
                    (format!("{case}, process"), "process without its replication", one - each),
                ]
            }
            None => {
                let each = difference(durations(case), |seconds| {
                    progress.next(&format!("case {case}, {seconds} s"));
                    counted(&run_of(case)?.with(&[("duration", &format!("{seconds} s"))]))
                })?;
                vec![(case.clone(), "packet", each)]
            }
        };
        for (name, per, each) in found {
            let before = counts.get(&name).copied();
            let change = before.map_or("nothing kept to compare with".to_string(), |before| {
                format!("{:+.1} % of {before:.0}", 100.0 * (each / before - 1.0))
            });
            println!("case {name}: {each:.0} instructions per {per}, {change}");
            if before.is_some_and(|before| each > before * (1.0 + MARGIN)) {
                worse.push(name.clone());
            }
            counts.insert(name, each.round());
        }
    }
    drop(progress);
    if options.keep {
        let text = toml::to_string(&kept).map_err(|e| fail(&e))?;
        return replace(&path, &format!("{HEAD}\n{text}"));
    }
    if worse.is_empty() {
        return Ok(());
    }
    Err(format!(
        "more than {:.0} % more instructions than in {}: {}. If that is meant, keep the new count: \
         cargo run -p quell-bench -- instructions --keep (and again with --release)",
        100.0 * MARGIN,
        path.display(),
        worse.join(", ")
    ))
}

/// Arguments of `quell run` in a case of the command.
fn command(case: &str) -> Option<&'static [&'static str]> {
    COMMAND.iter().find(|(name, _)| *name == case).map(|(_, line)| *line)
}

/// Instructions of `quell run` of 1 s of case a, red alone, with so many seeds: without a cache, its results are
/// written.
fn short_runs(line: &[&str], seeds: u32) -> Outcome<f64> {
    let program = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let quell = program.with_file_name("quell");
    if !quell.is_file() {
        return Err(format!("{} is not there: cargo build -p quell-cli", quell.display()));
    }
    let fail = |e: std::io::Error| format!("cannot write a scenario: {e}");
    let dir = tempfile::tempdir().map_err(fail)?;
    let case = include_str!("../cases/a.toml");
    let red = case.split_once("[[aqm]]\nalgorithm = \"drop-tail\"").zip(case.find("[[flows]]"));
    let ((red, _), flows) = red.ok_or("case a has no other algorithms than red")?;
    std::fs::write(dir.path().join("a.toml"), format!("{red}{}", &case[flows..])).map_err(fail)?;
    let mut words = vec![quell.display().to_string(), "run".to_string(), "a.toml".to_string()];
    words.extend(
        ["--quiet", "--set", "duration=1 s", "--out", "results", "--no-cache", "--no-report"]
            .map(str::to_string),
    );
    words.extend(line.iter().map(|word| word.to_string()));
    words.extend(["--seeds".to_string(), seeds.to_string()]);
    let (instructions, _) = collected(Command::new("valgrind").current_dir(dir.path()), &words)?;
    Ok(instructions as f64)
}

/// Instructions of a run and data packets in it.
pub fn counted(args: &Args) -> Outcome<(u64, u64)> {
    let program = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let words = [vec![program.display().to_string()], args.words()].concat();
    let (instructions, output) = collected(&mut Command::new("valgrind"), &words)?;
    let cost: Cost = serde_json::from_slice(&output)
        .map_err(|e| format!("valgrind's run of case {} gave no result: {e}", args.case))?;
    Ok((instructions, cost.packets))
}

/// Instructions of a command under valgrind, and what it printed.
fn collected(valgrind: &mut Command, words: &[String]) -> Outcome<(u64, Vec<u8>)> {
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).args(words);
    let output = valgrind.output().map_err(|e| format!("cannot run valgrind: {e}"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    let collected = told.lines().find_map(|l| l.split_once("Collected : "));
    let instructions = collected.filter(|_| output.status.success()).and_then(|(_, n)| n.trim().parse().ok());
    let instructions = instructions.ok_or_else(|| format!("valgrind counted nothing: {}", told.trim()))?;
    Ok((instructions, output.stdout))
}
