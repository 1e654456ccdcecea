//! `make validate`: Quell against ns-2, Linux, ns-3 and the laws of TCP and of queues.

mod chapter;
mod compare;
mod excuse;
mod findings;
mod laws;
mod linux;
mod little;
mod ns2;
mod ns3;
mod parameters;
mod report;
mod run;
mod table;
mod text;
mod translate;
mod windows;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use chapter::Chapter;
use findings::{ChapterFindings, Windows};
use run::Case;
use windows::Trace;

/// Compares Quell with measurements made with ns-2, Linux and ns-3, figure by figure, and with laws.
///
/// Exits with 1 if a figure lies outside its band and no excuse says why.
#[derive(Parser)]
#[command(name = "quell-validate", version)]
struct Args {
    /// Only this chapter; may be given several times.
    #[arg(long, value_enum, value_name = "CHAPTER")]
    chapter: Vec<Chapter>,
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
    /// Linux's grid alone: a third of a grid of queues, rates, flows, round-trip times and senders, drawn before any of
    /// it was measured. Nothing of it is excused; a cell is inside if all its figures are.
    #[arg(long, conflicts_with_all = ["chapter", "short", "write"])]
    grid: bool,
    /// How to print the comparison.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Also write the whole comparison into this Markdown file, and its figures into images/ beside it; with
    /// --chapter, only these chapters of the file that is there.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "short", "scenarios"])]
    write: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// The cases of `--short`. Of ns-2: each algorithm with and without ECN, the kinds of TCP, mixed traffic in bytes,
/// marks on windows of one. Of the others: a case of each kind, of those that lie inside their bands in the whole chapter.
const SHORT: &[&str] = &[
    "R2",
    "R4-tcp DropTail",
    "R7-mixed RED",
    "R7-mixed DropTail",
    "X18",
    "X21",
    "S reno, 20 ms, loss 0.01",
    "W bbr, 10 Mbit/s",
    "K codel",
    "codel cubic, 10 Mbit/s",
    "red newreno, 20 Mbit/s",
];

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

/// The largest number of seeds, for figures that are uncertain with the usual number.
const MOST_SEEDS: u32 = 60;

/// Says whether everything agrees.
fn work(args: &Args) -> Result<bool, String> {
    let all = [Chapter::Ns2, Chapter::Linux, Chapter::Ns3, Chapter::Laws];
    let asked = |chapter: &Chapter| match args.grid {
        true => *chapter == Chapter::Linux,
        false => args.chapter.is_empty() || args.chapter.contains(chapter),
    };
    let mut found = Vec::new();
    let mut known = false;
    for chapter in all.into_iter().filter(asked) {
        known |= match chapter {
            Chapter::Ns2 => cases(args, chapter, ns2::cases(), &mut found)?,
            Chapter::Linux if args.grid => cases(args, chapter, linux::grid(), &mut found)?,
            Chapter::Linux => {
                let any = cases(args, chapter, linux::cases(), &mut found)?;
                if let Some(found) = found.last_mut().filter(|f| f.chapter == chapter) {
                    add_windows(found)?;
                }
                any
            }
            Chapter::Ns3 => cases(args, chapter, ns3::cases(), &mut found)?,
            Chapter::Laws if args.scenarios || !args.only.is_empty() => false,
            Chapter::Laws => {
                let laws = Some(if args.short { laws::short()? } else { laws::full()? });
                found.push(ChapterFindings { chapter, comparisons: Vec::new(), windows: Vec::new(), laws });
                true
            }
        };
    }
    if !known {
        return Err(format!("no case is called {}", args.only.join(" or ")));
    }
    if args.scenarios {
        return Ok(true);
    }
    match args.format {
        Format::Text => {
            print!("{}", text::table(&found, args.only.is_empty() && !args.short && !args.grid));
            if args.grid {
                print!("{}", text::cells(&found));
            }
        }
        Format::Json => {
            let cases: Vec<_> = found.iter().flat_map(|f| &f.comparisons).collect();
            let laws = found.iter().find_map(|f| f.laws.as_ref());
            let all = serde_json::json!({ "cases": cases, "laws": laws });
            println!("{}", serde_json::to_string_pretty(&all).map_err(|e| e.to_string())?);
        }
    }
    if let Some(path) = &args.write {
        let page = if args.chapter.is_empty() {
            report::page(&found)
        } else {
            let old = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
            report::renewed(&old, &found).map_err(|e| format!("{}: {e}", path.display()))?
        };
        let images = path.with_file_name("images");
        for (name, svg) in report::images(&found) {
            std::fs::create_dir_all(&images).map_err(|e| format!("{}: {e}", images.display()))?;
            let image = images.join(name);
            write(&image, &svg).map_err(|e| format!("{}: {e}", image.display()))?;
        }
        write(path, &page).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(found.iter().all(ChapterFindings::agrees))
}

/// Runs those of a chapter's cases that are asked for, or prints their scenarios; false if there are none.
fn cases<C: Case>(
    args: &Args,
    chapter: Chapter,
    mut cases: Vec<C>,
    found: &mut Vec<ChapterFindings>,
) -> Result<bool, String> {
    cases.retain(|case| {
        let name = case.name();
        (args.only.is_empty() || args.only.iter().any(|text| name.contains(text.as_str())))
            && (!args.short || SHORT.iter().any(|text| name.starts_with(text)))
    });
    let seeds = if args.short { args.seeds.min(3) } else { args.seeds };
    if cases.is_empty() {
        return Ok(false);
    }
    if args.scenarios {
        for case in &cases {
            match case.scenarios(seeds) {
                Ok(scenarios) => scenarios.iter().for_each(|s| println!("{s}")),
                Err(why) => println!("# {}: {why}\n", case.name()),
            }
        }
        return Ok(true);
    }
    let comparisons = run::all(&cases, seeds, if args.short { seeds } else { seeds.max(MOST_SEEDS) })?;
    found.push(ChapterFindings { chapter, comparisons, windows: Vec::new(), laws: None });
    Ok(true)
}

/// The windows of the cases in which Linux's were recorded.
fn add_windows(found: &mut ChapterFindings) -> Result<(), String> {
    for case in linux::cases().into_iter().filter(|c| c.setting.block == "W") {
        let name = case.name();
        let Some(comparison) = found.comparisons.iter_mut().find(|c| c.case == name) else { continue };
        let Some(linux) = Trace::linux(&case.setting) else { continue };
        let quell = Trace::quell(&case.setting)?;
        comparison.rows.extend(windows::rows(&case.setting, &linux, &quell));
        found.windows.push(Windows { setting: case.setting, linux, quell });
    }
    Ok(())
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
