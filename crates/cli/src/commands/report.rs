//! `quell report`.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::{folder, terminal, traces};

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Results folders; several are combined into one report.
    #[arg(value_name = "RESULTS", required = true)]
    results: Vec<PathBuf>,
    /// File to write; default: report.html in the folder, if there is only one.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Makes the HTML report of results folders.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    let file = match (&args.out, args.results.as_slice()) {
        (Some(file), _) => file.clone(),
        (None, [one]) => folder::of(one).join(quell_lab::REPORT),
        (None, _) => {
            let why = "a report on several results needs a place: name a file with --out";
            return Err(Failure::BadInput(why.to_string()));
        }
    };
    let mut results = folder::read_all(&args.results)?;
    if args.results.len() > 1 {
        results.run.command = line;
    }
    let page = match args.results.as_slice() {
        [one] => traces::report(&results, &folder::of(one)),
        _ => quell_view::report::html(&results),
    };
    folder::write_whole(&page, &file)?;
    terminal::print(&format!("report   {}\n", quell_files::name(&file)))
}
