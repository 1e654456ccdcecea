//! The options of a run, its progress, and why it may fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quell_scenario::Plugins;
use quell_sim::Engine;

use crate::cache::{Cache, Key};
use crate::trace::Tracing;

/// Surrounds all the work that a thread does in a run; must call what it is given, once.
pub type Surround = Arc<dyn Fn(&(dyn Fn() + Sync)) + Send + Sync>;

/// The replications of which the time series are kept, which take more room than all else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Series {
    /// Those that a report can draw: the first seeds of every algorithm at every point, at least one and
    /// at most ten, about [`DRAWN`] in all.
    #[default]
    Drawn,
    /// Those of all.
    All,
    /// Nothing is kept.
    None,
}

/// The number of replications that have time series, unless every one has or that is less than one per algorithm.
pub const DRAWN: usize = 100;

/// The use of the replications that a cache has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Reuse {
    /// They are not run again.
    #[default]
    Yes,
    /// All are run again.
    No,
    /// Nothing else is: the results hold what the cache has, and are marked partial unless that is all.
    Only,
    /// They are not run again but for this share of them; one that differs is an error.
    Verify(f64),
}

/// The options of a run.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// The number of threads; `None`: one per core.
    pub threads: Option<usize>,
    /// The engine.
    pub engine: Engine,
    /// Algorithms from outside the catalog.
    pub plugins: Plugins,
    /// Prepares each thread for the algorithms, once rather than at each of their calls.
    pub surround: Option<Surround>,
    /// Called a few times a second, from a thread of its own, and once at the end.
    pub progress: Option<&'a (dyn Fn(&Progress) + Sync)>,
    /// Set from outside to stop; finished replications are kept.
    pub stop: Option<&'a AtomicBool>,
    /// The cache in which replications are kept as they finish; `None`: they are not kept.
    pub cache: Option<&'a Cache>,
    /// The use of the replications that the cache has.
    pub reuse: Reuse,
    /// A listener to what goes wrong without stopping the run.
    pub warn: Option<&'a (dyn Fn(&str) + Sync)>,
    /// The replications of which the time series are kept.
    pub series: Series,
    /// The rows of flows and of transfers are left out of the results, which take most of their room where there are
    /// thousands; a cache has them all the same.
    pub without_flows: bool,
    /// Takes the traces of the first seeds, which are run for that whatever a cache has.
    pub trace: Option<&'a Tracing>,
    /// The command to record in `run.json`, word by word.
    pub command: Vec<String>,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Share of the work that is done, unfinished replications included: of the packets that they handle, roughly.
    pub done: f64,
    /// Finished replications.
    pub finished: usize,
    /// All replications.
    pub total: usize,
    /// Time since the beginning.
    pub elapsed: Duration,
    /// Estimated time to the end; `None` while nothing is known.
    pub left: Option<Duration>,
}

/// The reason for which a run gave no results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A replication could not be run; says which and why.
    #[error("{algorithm} with seed {seed}{}{point}: {why}", comma(.point))]
    Failed {
        /// The point's title; may be empty.
        point: String,
        /// The algorithm's label.
        algorithm: String,
        /// The seed.
        seed: u64,
        /// The reason.
        why: String,
    },
    /// A replication that was kept differs from what the engine computes now.
    #[error(
        "{algorithm} with seed {seed}{}{point}: the cache's entry {key} differs from what was computed now; --fresh \
         computes everything again",
        comma(.point)
    )]
    Differs {
        /// The point's title; may be empty.
        point: String,
        /// The algorithm's label.
        algorithm: String,
        /// The seed.
        seed: u64,
        /// The entry's key.
        key: Key,
    },
    /// The figure that decides about the seeds is not among those that were measured; says which are.
    #[error("metric {0}")]
    Lacks(String),
    /// The threads could not be started.
    #[error("cannot start threads: {0}")]
    Threads(String),
}

fn comma(point: &str) -> &str {
    if point.is_empty() { "" } else { ", " }
}

impl Options<'_> {
    /// True once it was stopped from outside.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Tells what goes wrong without stopping the run.
    pub(crate) fn warn(&self, why: &str) {
        if let Some(warn) = self.warn {
            warn(why);
        }
    }
}
