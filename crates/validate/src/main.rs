//! `make validate`: Quell against ns-2 and against the laws of TCP and of queues.

mod compare;
mod excuse;
mod little;
mod ns2;
mod run;
mod text;
mod translate;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};

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
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// What `--short` runs: each algorithm once, and what has been wrong before.
const SHORT: &[&str] = &["R2"];

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
            for (events, seeds) in run::seeds(case, seeds) {
                match translate::scenario(case, events, &seeds) {
                    Ok(scenario) => println!("{scenario}"),
                    Err(why) => println!("# {}: {why}\n", case.name),
                }
            }
        }
        return Ok(true);
    }
    let comparisons = run::all(&cases, seeds)?;
    match args.format {
        Format::Text => print!("{}", text::table(&comparisons)),
        Format::Json => {
            println!("{}", serde_json::to_string_pretty(&comparisons).map_err(|e| e.to_string())?)
        }
    }
    Ok(comparisons.iter().all(compare::Comparison::agrees))
}
