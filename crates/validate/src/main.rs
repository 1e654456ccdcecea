//! `make validate`: Quell against ns-2 and against the laws of TCP and of queues.

mod compare;
mod excuse;
mod laws;
mod little;
mod ns2;
mod report;
mod run;
mod text;
mod translate;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use run::Case;

/// Compares Quell with measurements made with ns-2, figure by figure.
///
/// Exits with 1 if a figure lies outside its band and no excuse says why.
#[derive(Parser)]
#[command(name = "quell-validate", version)]
struct Args {
    /// Only cases whose name contains this text; may be given several times.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// How many seeds of Quell's per case.
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// A few cases with a few seeds, in seconds.
    #[arg(long)]
    short: bool,
    /// Print the scenarios that are run, as files for `quell run`, and run nothing.
    #[arg(long)]
    scenarios: bool,
    /// How to print the comparison.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Also write the whole comparison into this Markdown file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "short", "scenarios"])]
    write: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// What `--short` runs: each algorithm with and without ECN, the kinds of TCP, mixed traffic in bytes,
/// marks on windows of one.
const SHORT: &[&str] = &["R2", "R4-tcp DropTail", "R7-mixed RED", "R7-mixed DropTail", "X18", "X21"];

fn main() -> ExitCode {
    match work(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            eprintln!("quell-validate: {why}");
            ExitCode::from(2)
        }
    }
}

/// Where a figure is uncertain with the usual number of seeds.
const MOST_SEEDS: u32 = 60;

/// Whether everything agrees.
fn work(args: &Args) -> Result<bool, String> {
    let wanted = |name: &str| {
        (args.only.is_empty() || args.only.iter().any(|text| name.contains(text.as_str())))
            && (!args.short || SHORT.iter().any(|text| name.starts_with(text)))
    };
    let cases: Vec<_> = ns2::cases().into_iter().filter(|c| wanted(&c.name.to_string())).collect();
    if cases.is_empty() {
        return Err(format!("no case is called {}", args.only.join(" or ")));
    }
    let seeds = if args.short { args.seeds.min(3) } else { args.seeds };
    if args.scenarios {
        for case in &cases {
            match case.scenarios(seeds) {
                Ok(scenarios) => scenarios.iter().for_each(|s| println!("{s}")),
                Err(why) => println!("# {}: {why}\n", case.name),
            }
        }
        return Ok(true);
    }
    let comparisons = run::all(&cases, seeds, if args.short { seeds } else { seeds.max(MOST_SEEDS) })?;
    let laws = match (args.short, args.only.is_empty()) {
        (true, _) => Some(laws::short()?),
        (false, true) => Some(laws::full()?),
        (false, false) => None,
    };
    match args.format {
        Format::Text => print!("{}", text::table(&comparisons, laws.as_ref())),
        Format::Json => {
            let all = serde_json::json!({ "cases": comparisons, "laws": laws });
            println!("{}", serde_json::to_string_pretty(&all).map_err(|e| e.to_string())?);
        }
    }
    if let (Some(path), Some(laws)) = (&args.write, &laws) {
        write(path, &report::page(&comparisons, laws)).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(comparisons.iter().all(compare::Comparison::agrees) && laws.is_none_or(|l| l.hold()))
}

/// Writes a file whole or not at all.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // A temporary file is its owner's alone; this one is a page of the documentation.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map(drop).map_err(|e| e.error)
}
