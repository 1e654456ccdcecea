//! Figures of real packets, on record: they cannot be had wherever experiments are run.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use quell_files::Limit;
use quell_lab::Results;
use quell_units::Duration;
use quell_units::text::{duration, three_digits};
use quell_view::chart::{Chart, Choice, Diagram, csv};
use serde::{Deserialize, Serialize};

use crate::experiment::{Experiment, Figure};

/// The most that is read of what is on record.
const RECORD: Limit = Limit::of_text("a record");

/// The record of how the live figures of an experiment were made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveRecord {
    /// The command.
    pub command: String,
    /// The version of Quell.
    pub version: String,
    /// The duration of each replication.
    pub duration: Duration,
    /// The measured part of it.
    pub measured: Duration,
    /// The number of seeds.
    pub seeds: u32,
    /// The kernel, whose TCP the hosts have.
    pub kernel: String,
    /// The number of processors of the machine.
    pub processors: u32,
    /// The number of processes that ran or waited for a processor: the kernel's mean over a minute, averaged over the run.
    pub load: f64,
    /// Ran before all processes without a real-time priority.
    pub real_time: bool,
    /// The 99th percentile of how late packets left the link, in seconds, in the worst replication.
    pub late_p99_s: f64,
}

impl LiveRecord {
    /// The record as a sentence for a reader of the figures.
    pub fn sentence(&self) -> String {
        let seeds = if self.seeds == 1 { "one seed".to_string() } else { format!("{} seeds", self.seeds) };
        let priority = if self.real_time { ", at real-time priority" } else { "" };
        format!(
            "`{}`, version {}: {} measured of {}, {seeds}; Linux {} on {} processors with a load of {}{priority}; 99% of \
             packets left at most {} late in the worst run",
            self.command,
            self.version,
            self.measured,
            self.duration,
            self.kernel,
            self.processors,
            three_digits(self.load),
            duration(self.late_p99_s)
        )
    }

    /// Reads what is on record of an experiment's live side; `None` if nothing is yet.
    pub(crate) fn read(e: &Experiment) -> Result<Option<LiveRecord>, String> {
        let Some(live) = &e.live else { return Ok(None) };
        let of = |rule: &dyn std::fmt::Display| format!("{}: {rule}", quell_files::name(&live.record));
        match quell_files::read_named_text(&e.file.with_file_name(&live.record), RECORD) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(of(&e)),
            Ok(text) => toml::from_str(&text).map(Some).map_err(|e| of(&e.message())),
        }
    }
}

/// The files that put a live run on record: one for each figure that has a live side, and how it was made.
///
/// # Errors
/// A sentence, if the results have not what a figure shows.
pub fn live_files(
    e: &Experiment,
    results: &Results,
    record: &LiveRecord,
) -> Result<Vec<(PathBuf, String)>, String> {
    let Some(live) = &e.live else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for (figure, file) in with_live_side(e) {
        let of = |why: String| format!("figure {}: {why}", figure.number);
        let diagram = Diagram::find(&figure.kind).ok_or_else(|| of("there is no such diagram".into()))?;
        let chart = Chart::of(results, diagram, &choice(figure, 0)).map_err(of)?;
        // As the other files of numbers in the tree.
        files.push((e.file.with_file_name(file), csv(&chart).replace("\r\n", "\n")));
    }
    let text = toml::to_string(record).map_err(|e| e.to_string())?;
    let by = format!("# Written by `{}`.\n", record.command);
    files.push((e.file.with_file_name(&live.record), by + &text));
    Ok(files)
}

/// The part of the results that a figure shows.
pub(crate) fn choice(figure: &Figure, point: usize) -> Choice<'_> {
    Choice {
        point,
        link: figure.link.as_deref(),
        seed: None,
        algorithms: figure.algorithms.as_deref(),
        scope: figure.scope.as_deref().unwrap_or("all"),
        metric: figure.metric.as_ref(),
        over: figure.x.as_deref(),
        by: figure.by.as_deref(),
        in_bytes: figure.is_in_bytes(),
    }
}

/// The figures that have a live side, and where that is on record.
pub(crate) fn with_live_side(e: &Experiment) -> impl Iterator<Item = (&Figure, &Path)> {
    e.figures.iter().filter_map(|figure| Some((figure, figure.live.as_deref()?)))
}

/// Figures on record: the quantity with its unit, and for each algorithm its points.
pub(crate) struct Recorded {
    pub(crate) y: String,
    pub(crate) curves: Vec<(String, Vec<[f64; 2]>)>,
}

/// Reads figures on record, as [`csv`] writes them of a chart with one panel; `None` if they are not there yet.
pub(crate) fn recorded(e: &Experiment, file: &Path) -> Result<Option<Recorded>, String> {
    let of = |rule: String| format!("{}: {rule}", quell_files::name(file));
    let text = match quell_files::read_named(&e.file.with_file_name(file), RECORD) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|e| of(e.to_string()))?,
    };
    let mut reader = ::csv::Reader::from_reader(text.as_slice());
    let header = reader.headers().map_err(|e| of(e.to_string()))?.clone();
    if header.len() < 3 || header.get(0) != Some("algorithm") {
        return Err(of(
            "its columns must be algorithm, a field and a quantity, as `quell plot --csv` writes them".into(),
        ));
    }
    let mut found = Recorded { y: header[2].to_string(), curves: Vec::new() };
    for record in reader.records() {
        let record = record.map_err(|e| of(e.to_string()))?;
        let number = |at: usize| {
            let number = record[at].parse().ok().filter(|x: &f64| x.is_finite());
            number.ok_or_else(|| of(format!("\"{}\" must be a number", &record[at])))
        };
        let point = [number(1)?, number(2)?];
        match found.curves.iter_mut().find(|(label, _)| *label == record[0]) {
            Some((_, points)) => points.push(point),
            None => found.curves.push((record[0].to_string(), vec![point])),
        }
    }
    Ok(Some(found))
}
