//! `quell run`.

use std::path::{Path, PathBuf};

use quell_lab::Results;

use super::scenario;
use crate::args::{Format, RunArgs};
use crate::failure::Failure;
use crate::folder::{self, Place};
use crate::{json, terminal};
use crate::{selection, simulate};

/// Runs a scenario, keeps its results and prints the table.
pub fn run(args: &RunArgs, line: Vec<String>) -> Result<(), Failure> {
    let selection = selection::Selection::of(&args.view)?;
    let study = simulate::read_all(&args.scenarios, &args.simulation)?;
    simulate::check_view(&selection, &study)?;
    let auto = simulate::auto(&args.simulation, &selection, None, &study)?;
    scenario::say_notes(&study, 1);
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
            let mut text = heading(&results);
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

/// What became of the results.
#[derive(Debug, Default)]
pub struct Kept {
    /// Where they are.
    pub folder: Option<PathBuf>,
    /// Where the report is.
    pub report: Option<PathBuf>,
    /// What went wrong.
    pub failure: Option<Failure>,
}

/// What helps when results cannot be written after the work.
const HOW_TO_GO_ON: &str = "; what is finished is in the cache, unless there is none: make room, and the same command goes on from there";

/// Writes results and, if wanted, their report. Those of a run that was stopped are written only if the cache
/// does not have them or `partial` ones are wanted: whoever stops a large study does not wait for its files.
pub fn keep(place: Option<Place>, results: &Results, with_report: bool, partial: bool) -> Kept {
    let in_cache = results.run.partial && results.run.kept && !partial;
    let Some(place) = place.filter(|_| !in_cache) else { return Kept::default() };
    let folder = match place.save(results) {
        Ok(folder) => folder,
        Err(failure) => {
            return Kept { failure: Some(failure.with(HOW_TO_GO_ON)), ..Kept::default() };
        }
    };
    let mut kept = Kept { folder: Some(folder.clone()), ..Kept::default() };
    if with_report {
        let file = folder.join(quell_lab::REPORT);
        match folder::write_whole(&quell_view::report::html(results), &file) {
            Ok(()) => kept.report = Some(file),
            Err(failure) => kept.failure = Some(failure),
        }
    }
    kept
}

/// The failure of a run that was stopped; says what was kept. Only of a scenario file can `quell run` make results.
pub fn interrupted(results: &Results, folder: Option<&Path>, of_scenario: bool) -> Result<(), Failure> {
    if !results.run.partial {
        return Ok(());
    }
    let (finished, asked) = (results.replications.len(), results.asked());
    let kept = match folder {
        Some(folder) => format!("; they are kept in {} and marked partial", folder.display()),
        None if results.run.kept => {
            let look = match of_scenario {
                true => ", and `quell run` with --finished makes results of them",
                false => "",
            };
            format!("; they are in the cache: the same command goes on from there{look}")
        }
        None => String::new(),
    };
    Err(Failure::Interrupted(format!("{finished} of {asked} replications were finished{kept}")))
}

/// What the table is about.
pub fn heading(results: &Results) -> String {
    let title = &results.run.title;
    let mut text = if title.is_empty() { String::new() } else { format!("{title}\n") };
    if results.run.partial {
        let (finished, asked) = (results.replications.len(), results.asked());
        text.push_str(&format!("PARTIAL: {finished} of {asked} replications\n"));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
