//! `quell report`.

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::{folder, terminal};

/// Makes the HTML report of results folders again.
pub fn report(args: &ReportArgs, line: Vec<String>) -> Result<(), Failure> {
    let file = match (&args.out, args.results.as_slice()) {
        (Some(file), _) => file.clone(),
        (None, [one]) => folder::of(one).join(quell_lab::REPORT),
        (None, _) => {
            let why = "a report of several results needs a place: name a file with --out";
            return Err(Failure::BadInput(why.to_string()));
        }
    };
    let mut results = folder::read_all(&args.results)?;
    if args.results.len() > 1 {
        results.run.command = line;
    }
    folder::write_whole(&quell_view::report::html(&results), &file)?;
    terminal::print(&format!("report   {}\n", file.display()))
}
