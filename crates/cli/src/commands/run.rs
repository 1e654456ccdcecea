//! `quell run`.

use std::path::PathBuf;

use crate::args::{Format, RunArgs};
use crate::failure::Failure;
use crate::folder::{self, Place};
use crate::keep::{interrupted, keep};
use crate::{json, notes, selection, simulate, terminal};

/// Runs a scenario, keeps its results and prints the table.
pub fn run(args: &RunArgs, line: Vec<String>) -> Result<(), Failure> {
    let selection = selection::Selection::of(&args.view)?;
    let study = simulate::read_all(&args.scenarios, &args.simulation)?;
    simulate::check_view(&selection, &study)?;
    let auto = simulate::auto(&args.simulation, &selection, None, &study)?;
    notes::say(&study, 1);
    let place = Place::choose(args.out.as_deref(), &folder::name(&args.scenarios), args.overwrite)?;
    if !args.finished {
        simulate::check_space(&study, &args.simulation, Some(place.dir()))?;
    }
    let results = simulate::run(&study, &args.simulation, auto.as_ref(), args.finished, line)?;
    // The findings are printed even if the files cannot be written.
    let kept = keep(Some(place), &results, !args.no_report, args.finished);
    let path = |p: &PathBuf| p.display().to_string();
    let (folder, report) = (kept.folder.as_ref().map(path), kept.report.as_ref().map(path));
    match args.format.format {
        Format::Json => json::print(&json::Output {
            schema: json::SCHEMA,
            run: selection::json_run(&results, folder, report),
            points: selection::json_points(&results, &selection),
        })?,
        Format::Table => {
            let mut text = selection::heading(&results);
            text.push_str(&selection::tables(&results, &selection));
            text.push_str(&selection::holes(&results));
            text.push_str(&selection::caption(&results));
            if let Some(folder) = folder {
                text.push_str(&format!("results  {folder}\n"));
            }
            if let Some(report) = report {
                text.push_str(&format!("report   {report}\n"));
            }
            terminal::print(&text)?;
        }
    }
    selection::say_notes(&results);
    selection.say_lacking(&results);
    if let Some(failure) = kept.failure {
        return Err(failure);
    }
    if args.finished { Ok(()) } else { interrupted(&results, kept.folder.as_deref(), true) }
}
