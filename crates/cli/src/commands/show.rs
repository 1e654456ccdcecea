//! `quell show`.

use std::path::PathBuf;

use crate::args::{TableFormat, TableFormatArgs, ViewArgs};
use crate::failure::Failure;
use crate::selection;
use crate::{folder, terminal};

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
#[command(after_help = metrics_help())]
pub struct Args {
    /// Results folders; several are shown as one.
    #[arg(value_name = "RESULTS", required = true)]
    results: Vec<PathBuf>,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    format: TableFormatArgs,
}

/// Every metric with its unit, for `--help`.
fn metrics_help() -> String {
    let width = quell_lab::Metric::ALL.iter().map(|m| m.name().len()).max().unwrap_or(0);
    let lines = quell_lab::Metric::ALL.iter().map(|m| {
        let unit = if m.unit() == "1" { String::new() } else { format!(" [{}]", m.unit()) };
        format!("  {:width$}  {}{unit}\n", m.name(), m.title())
    });
    format!("Metrics:\n{}", lines.collect::<String>())
}

/// Prints the tables of a results folder.
pub fn run(args: &Args) -> Result<(), Failure> {
    let selection = selection::Selection::of(&args.view)?;
    let results = folder::read_all(&args.results)?;
    selection.check(&results)?;
    selection.say_inapplicable(&results);
    if args.format.format == TableFormat::Json {
        results.notes().iter().for_each(|note| terminal::note(note));
        // Several have no folder in common.
        let dir = if let [one] = args.results.as_slice() { Some(folder::of(one)) } else { None };
        let report = dir.as_ref().map(|dir| dir.join(quell_lab::REPORT)).filter(|r| r.is_file());
        return selection::print_json(&results, &selection, dir.as_deref(), report.as_deref());
    }
    match args.format.format {
        TableFormat::Table => terminal::print(&(selection::text(&results, &selection) + &about(&results))),
        form => {
            results.notes().iter().for_each(|note| terminal::note(note));
            terminal::print_data(&selection::formatted(&selection.grid(&results), form))
        }
    }
}

/// What a reader of the tables should know, and what made them.
fn about(results: &quell_lab::Results) -> String {
    let notes: String = results.notes().iter().map(|note| format!("note: {note}\n")).collect();
    let made_by = results.run.made_by();
    terminal::prose(&format!("\n{notes}{made_by}\n"))
}
