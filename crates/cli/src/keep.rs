//! Results at the end of a run: written, reported, or left to the cache.

use std::path::{Path, PathBuf};

use quell_lab::Results;

use crate::failure::Failure;
use crate::folder::{self, Place};
use crate::traces;

/// The place of the results after a run.
#[derive(Debug, Default)]
pub struct KeptResults {
    /// The folder that they are in.
    pub folder: Option<PathBuf>,
    /// The report's file.
    pub report: Option<PathBuf>,
    /// The failure, if they could not be written.
    pub failure: Option<Failure>,
}

impl KeptResults {
    /// Lines that name the places.
    pub fn places(&self) -> String {
        let places = [("results", &self.folder), ("report ", &self.report)];
        let line = |(what, path): (&str, &PathBuf)| format!("{what}  {}\n", quell_files::name(path));
        places.into_iter().filter_map(|(what, path)| Some((what, path.as_ref()?))).map(line).collect()
    }
}

/// The help where results cannot be written after the work.
const HOW_TO_GO_ON: &str = "; finished replications are in the cache, unless it is off: free some space and run the \
    same command to continue";

/// Writes results and, if wanted, their report. Those of a run that was stopped are written only if the cache does not
/// have them or `partial` ones are wanted: someone who stops a large study does not want to wait for its files.
pub fn keep(place: Option<Place>, results: &Results, with_report: bool, partial: bool) -> KeptResults {
    let in_cache = results.run.partial && results.run.kept && !partial;
    let Some(place) = place.filter(|_| !in_cache) else { return KeptResults::default() };
    let folder = match place.save(results) {
        Ok(folder) => folder,
        Err(failure) => {
            return KeptResults { failure: Some(failure.with(HOW_TO_GO_ON)), ..KeptResults::default() };
        }
    };
    let mut kept = KeptResults { folder: Some(folder.clone()), ..KeptResults::default() };
    if with_report {
        let file = folder.join(quell_lab::REPORT);
        match folder::write_whole(&traces::report(results, &folder), &file) {
            Ok(()) => kept.report = Some(file),
            Err(failure) => kept.failure = Some(failure),
        }
    }
    kept
}

/// Fails if a run was stopped, and says what was kept; `of_scenario`: `quell run` can make results of it.
pub fn interrupted(results: &Results, folder: Option<&Path>, of_scenario: bool) -> Result<(), Failure> {
    if !results.run.partial {
        return Ok(());
    }
    let (finished, asked) = (results.replications.len(), results.asked());
    let kept = match folder {
        Some(folder) => format!("; they are in {}, marked partial", quell_files::name(folder)),
        None if results.run.kept => {
            let look = match of_scenario {
                true => ", or add --finished to write their results",
                false => "",
            };
            format!("; they are in the cache: run the same command to continue{look}")
        }
        None => String::new(),
    };
    Err(Failure::Interrupted(format!("{finished} of {asked} replications were finished{kept}")))
}
