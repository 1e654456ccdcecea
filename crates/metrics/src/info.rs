//! The record of a run: what was run, how and when.

use quell_scenario::{Hole, Point, Setting};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::seeds::Sequential;

/// The record of a run: the contents of `run.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The version of this format: 1.
    pub schema: u32,
    /// The version of Quell.
    pub version: String,
    /// The commit of its source, in hexadecimal; "unknown" if it was not built from a repository, or the result is of a
    /// version that did not say.
    #[serde(default = "unknown")]
    pub commit: String,
    /// The fingerprints of the engine, by algorithm that takes part: results with equal ones are of engines that compute
    /// the same. Without algorithms that are not in the catalog, and empty with real packets.
    #[serde(default)]
    pub engine: BTreeMap<String, String>,
    /// The scenario's title.
    pub title: String,
    /// The time at which the run began, in RFC 3339.
    pub started: String,
    /// The time that it took.
    pub elapsed_s: f64,
    /// The command that made it, word by word; may be empty.
    pub command: Vec<String>,
    /// The scenario's file name, or what it was called.
    pub scenario_file: String,
    /// The scenario as it was written, if it came from a text.
    pub scenario_text: Option<String>,
    /// Real packets were sent, in real time; otherwise it was simulated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
    /// The points of the study, resolved.
    pub points: Vec<PointInfo>,
    /// The combinations of a sweep's values that are not scenarios, and why.
    #[serde(default)]
    pub holes: Vec<Hole>,
    /// What a reader of the figures should know. Beside a run these are what may surprise in its scenarios; once written,
    /// all that [`Results::notes`](crate::Results::notes) finds.
    #[serde(default)]
    pub notes: Vec<String>,
    /// True if the run was stopped before all replications were finished.
    pub partial: bool,
    /// The number of replications that had been run before, and were taken from the cache.
    #[serde(default)]
    pub reused: usize,
    /// The number of those that were run again to verify them; each was the same.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub verified: usize,
    /// True if a cache has all the replications, so that none has to be run again; not written.
    #[serde(skip)]
    pub kept: bool,
    /// The decisions about the numbers of seeds, where the run took them itself; otherwise empty. Several
    /// if results were joined, each for its own points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sequential: Vec<Sequential>,
    /// A hash over all replications' digests.
    pub digest: String,
    /// The files beside `run.json`; empty until written.
    #[serde(default)]
    pub files: Vec<FileInfo>,
    /// The SHA-256 of `run.json` itself, in hexadecimal, with zeros in place of these digits; empty until
    /// written, and in results of versions that had none.
    #[serde(default)]
    pub sha256: String,
}

fn unknown() -> String {
    UNKNOWN.to_string()
}

/// The commit that is not known.
pub const UNKNOWN: &str = "unknown";

/// Leaves out a zero: in most results nothing was verified.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl RunInfo {
    /// What made it, in one line: the version, the commit and the fingerprints of the engine.
    pub fn made_by(&self) -> String {
        let commit = if self.commit.is_empty() { UNKNOWN } else { &self.commit };
        let engine: Vec<String> = self.engine.iter().map(|(name, print)| format!("{name} {print}")).collect();
        let engine =
            if engine.is_empty() { String::new() } else { format!(", engine: {}", engine.join(", ")) };
        format!("Quell {}, commit {commit}{engine}", self.version)
    }

    /// A line for each hole, with its reason, but at most `most` lines.
    pub fn hole_lines(&self, most: usize) -> Vec<String> {
        Hole::lines(&self.holes, most)
    }
}

/// One point of the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointInfo {
    /// The settings that distinguish it from the others.
    pub settings: Vec<Setting>,
    /// The scenario with every default and setting filled in, as TOML.
    pub scenario: String,
    /// The labels of the algorithms, in order.
    pub algorithms: Vec<String>,
    /// The seeds asked for.
    pub seeds: Vec<u64>,
    /// The observed links; the first is the one that tables show.
    pub links: Vec<String>,
    /// The traffic classes.
    pub classes: Vec<String>,
    /// The segments of the measured window in seconds.
    pub segments: Vec<(f64, f64)>,
}

impl PointInfo {
    /// The description of a point, which needs no run.
    pub fn of(point: &Point) -> PointInfo {
        let (scenario, measure) = (&point.scenario, point.measure());
        PointInfo {
            settings: point.settings.clone(),
            scenario: point.to_toml(),
            algorithms: scenario.aqm.iter().map(|a| a.label().to_string()).collect(),
            seeds: scenario.seeds.list(),
            links: point.links(),
            classes: point.classes(),
            segments: measure.segments().iter().map(|(a, b)| (a.as_secs_f64(), b.as_secs_f64())).collect(),
        }
    }

    /// The settings in one line; empty if the study is one point.
    pub fn title(&self) -> String {
        let each: Vec<_> = self.settings.iter().map(|s| format!("{} = {}", s.field, s.value)).collect();
        each.join(", ")
    }

    /// True if the scenario changes capacities, delays or rates on the way.
    pub(crate) fn changes_within(&self) -> bool {
        let Ok(scenario) = toml::from_str::<toml::Table>(&self.scenario) else { return false };
        has_changes(&toml::Value::Table(scenario))
    }
}

/// True if there are changes anywhere in it: a list of them, or a table.
fn has_changes(value: &toml::Value) -> bool {
    match value {
        toml::Value::Table(table) => table.iter().any(|(key, v)| {
            let changes = v.is_table() || v.as_array().is_some_and(|a| !a.is_empty());
            (key.ends_with("changes") && changes) || has_changes(v)
        }),
        toml::Value::Array(list) => list.iter().any(has_changes),
        _ => false,
    }
}

/// A file of a results folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
}
