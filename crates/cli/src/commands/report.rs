//! `quell report`.

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::{folder, terminal};

/// Makes the HTML report of a results folder again.
pub fn report(args: &ReportArgs) -> Result<(), Failure> {
    let results = folder::read(&args.results)?;
    let file = args.out.clone().unwrap_or_else(|| folder::of(&args.results).join(quell_lab::REPORT));
    folder::write_whole(&quell_view::report::html(&results), &file)?;
    terminal::print(&format!("report   {}\n", file.display()))
}
