//! One replication of a study, the way in which it is run live, and the reasons for which it is not.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use quell_scenario::{FlowFact, Point, ScenarioError};
use quell_units::Time;

/// The way in which a scenario is run.
pub struct How<'a> {
    /// The file for arrivals and decisions, with the replication in the name if there are several.
    pub log: Option<&'a Path>,
    /// Packet sockets even where TUN is allowed.
    pub packet_sockets: bool,
    /// Set to stop: what is finished by then is kept.
    pub stop: &'a AtomicBool,
    /// Hears how far it is.
    pub progress: &'a dyn Fn(&Progress<'_>),
    /// Hears what is worth knowing of a replication.
    pub note: &'a dyn Fn(&str),
}

/// The progress of a measurement.
pub struct Progress<'a> {
    /// The number of the replication under way, from 1.
    pub run: usize,
    /// The number of all.
    pub of: usize,
    /// Its algorithm and its seed.
    pub label: &'a str,
    /// See `label`.
    pub seed: u64,
    /// The share that is done.
    pub share: f64,
    /// The time that the rest is expected to take.
    pub left: Duration,
}

/// The reason for which a scenario does not run live.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The scenario is wrong, or cannot be a wire.
    #[error("{0}")]
    Scenario(String),
    /// A log cannot be made.
    #[error("cannot write {}: {error}", quell_files::name(.file))]
    Log {
        /// Its file.
        file: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// Something else went wrong.
    #[error("{0}")]
    Failed(String),
}

impl LiveError {
    pub(crate) fn failed(why: impl fmt::Display) -> Self {
        LiveError::Failed(why.to_string())
    }
}

impl From<ScenarioError> for LiveError {
    fn from(error: ScenarioError) -> Self {
        LiveError::Scenario(error.to_string())
    }
}

/// One replication.
pub(crate) struct Job<'a> {
    /// The point's number.
    pub index: usize,
    pub point: &'a Point,
    /// The algorithm's number.
    pub aqm: usize,
    pub label: String,
    pub seed: u64,
}

impl Job<'_> {
    /// Its end.
    pub fn end(&self) -> Time {
        Time::ZERO + self.point.scenario.duration
    }

    /// The time from which its figures count.
    pub fn warm(&self) -> Time {
        Time::ZERO + self.point.scenario.warmup
    }

    /// The error for what no wire can be.
    pub fn refuse(&self, rule: impl Into<String>) -> LiveError {
        self.point.refuse(format!("{}; `quell run` simulates it", rule.into())).into()
    }

    /// The same, of a key of a flow's group.
    pub fn refuse_flow(&self, fact: &FlowFact, key: &str, value: &str, rule: impl Into<String>) -> LiveError {
        let name = self.point.scenario.flows.get(usize::from(fact.group)).map_or("", |group| &group.name);
        self.refuse(format!("flows.{name}.{key} = {value}: {}", rule.into()))
    }
}
