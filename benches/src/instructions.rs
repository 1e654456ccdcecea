//! Instructions per packet, which neither neighbors nor clocks change: what CI can hold fast.

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
    /// The cases to count, or senders of the table of ratios such as `bbr1`
    #[arg(value_name = "CASE", default_values = ["a", "e"])]
    cases: Vec<String>,
    /// Keep the counts as what later ones are compared with
    #[arg(long)]
    keep: bool,
}

/// How much more than the kept count is an error: compilers differ by less.
const MARGIN: f64 = 0.05;

/// Two durations in seconds: the difference leaves out set-up and start-up.
fn durations(case: &str) -> [u32; 2] {
    match case {
        "c" => [1, 2],
        "b" | "e" => [2, 5],
        _ => [5, 25],
    }
}

/// Counts by case, for each way of compiling.
type Kept = BTreeMap<String, BTreeMap<String, f64>>;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.toml")
}

/// What the file begins with.
const HEAD: &str = "\
# Instructions per data packet, written by `quell-bench instructions --keep`; [dev] is what `make test` compiles.
";

/// How this program was compiled.
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

/// The run of a case with RED, or of a sender.
fn run_of(name: &str) -> Outcome<Args> {
    if let Some(run) = sender(name) {
        return Ok(run);
    }
    find(name)?;
    match name {
        "d" => Err("case d would take hours under valgrind".to_string()),
        _ => Ok(Args::new(name, "red")),
    }
}

pub fn check(options: &Options) -> Outcome<()> {
    needs_valgrind()?;
    let runs = options.cases.iter().map(|name| run_of(name)).collect::<Outcome<Vec<_>>>()?;
    let path = file();
    let fail = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|e| fail(&e))?;
    let mut kept: Kept = toml::from_str(&text).map_err(|e| fail(&e))?;
    let counts = kept.entry(BUILD.to_string()).or_default();
    let mut worse = Vec::new();
    let mut progress = Progress::new(2 * options.cases.len());
    for (case, run) in options.cases.iter().zip(runs) {
        let each = difference(durations(case), |seconds| {
            progress.next(&format!("case {case}, {seconds} s"));
            let mut run = run.clone();
            run.set.push(format!("duration={seconds} s"));
            counted(&run)
        })?;
        let before = counts.get(case).copied();
        let change = before.map_or("nothing kept to compare with".to_string(), |before| {
            format!("{:+.1} % of {before:.0}", 100.0 * (each / before - 1.0))
        });
        println!("case {case}: {each:.0} instructions per packet, {change}");
        if before.is_some_and(|before| each > before * (1.0 + MARGIN)) {
            worse.push(case.clone());
        }
        counts.insert(case.clone(), each.round());
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
        "more than {:.0} % more instructions per packet than in {}: {}. If that is meant, keep the new count: \
         cargo run -p quell-bench -- instructions --keep (and again with --release)",
        100.0 * MARGIN,
        path.display(),
        worse.join(", ")
    ))
}

/// Instructions of a run and data packets in it.
pub fn counted(args: &Args) -> Outcome<(u64, u64)> {
    let program = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).args(args.words());
    let output = command.output().map_err(|e| format!("cannot run valgrind: {e}"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    let cost: Cost = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("valgrind's run of case {} gave no result ({e}): {}", args.case, told.trim()))?;
    let collected = told.lines().find_map(|l| l.split_once("Collected : "));
    let instructions = collected.and_then(|(_, n)| n.trim().parse().ok());
    let instructions = instructions.ok_or_else(|| format!("valgrind counted nothing: {}", told.trim()))?;
    Ok((instructions, cost.packets))
}
