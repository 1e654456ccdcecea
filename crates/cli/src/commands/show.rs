//! `quell show`.

use crate::args::{Format, ShowArgs};
use crate::failure::Failure;
use crate::selection;
use crate::{folder, json, terminal};

/// Prints the tables of a results folder.
pub fn show(args: &ShowArgs) -> Result<(), Failure> {
    let selection = selection::Selection::of(&args.view)?;
    let results = folder::read_all(&args.results)?;
    selection.check_link(results.run.points.iter().flat_map(|p| &p.links).map(String::as_str))?;
    selection.check(&results)?;
    selection::say_notes(&results);
    if args.format.format == Format::Json {
        // Several have no folder in common.
        let dir = if let [one] = args.results.as_slice() { Some(folder::of(one)) } else { None };
        let report = dir.as_ref().map(|dir| dir.join(quell_lab::REPORT)).filter(|r| r.is_file());
        return json::print(&json::Output {
            schema: json::SCHEMA,
            run: selection::json_run(
                &results,
                dir.map(|d| d.display().to_string()),
                report.map(|r| r.display().to_string()),
            ),
            points: selection::json_points(&results, &selection),
        });
    }
    let tables = selection::tables(&results, &selection);
    let (heading, holes) = (selection::heading(&results), selection::holes(&results));
    terminal::print(&format!("{heading}{tables}{holes}{}", selection::caption(&results)))
}
