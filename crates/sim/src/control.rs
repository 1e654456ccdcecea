//! What a run is given beside its network, and why it may give no outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use quell_units::{Duration, Time};

use crate::network::LinkId;
use crate::outcome::Series;
use crate::trace::TraceRequest;

/// The engine that runs a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Events only where flows merge.
    #[default]
    Fast,
    /// One event per step of every packet.
    Reference,
}

/// The means by which the outside watches and stops a run.
#[derive(Debug, Default)]
pub struct Control {
    /// Set to stop the run; it then returns [`Error::Interrupted`].
    pub stop: AtomicBool,
    /// Simulated nanoseconds done so far, written now and then.
    pub progress_ns: AtomicU64,
    /// The step at which the windows of TCP flows (those without requests) are recorded, if they are:
    /// [`FlowOutcome::windows`](crate::outcome::FlowOutcome::windows). Not zero.
    pub windows: Option<Duration>,
    /// The flows whose windows are recorded, by their numbers in the network; `None`: all.
    pub windows_of: Option<Vec<u32>>,
    /// The observed links whose packets are logged one by one: [`LinkOutcome::log`](crate::outcome::LinkOutcome::log).
    pub logged: Vec<LinkId>,
    /// The traces that are recorded, if any are: [`Outcome::trace`](crate::outcome::Outcome::trace).
    pub trace: Option<TraceRequest>,
    /// Cores that a run may use beside its own. The sample path is the same.
    pub idle: Arc<IdleCores>,
    /// The number of parts into which the fast engine divides the flows, each of which another core can take further,
    /// even where that does not pay; none for what does. The sample path is the same.
    pub parts: Option<usize>,
    /// A listener to what happens while the run goes on, if there is one. The sample path is the same.
    pub watcher: Option<Arc<dyn Watcher>>,
}

/// A listener to a run while it goes on: it is told on the thread that simulates.
pub trait Watcher: std::fmt::Debug + Send + Sync {
    /// The run has come to a time; told now and then, beside [`Control::progress_ns`]. Returns whether it goes on;
    /// otherwise the run returns [`Error::Interrupted`].
    fn reached(&self, now: Time) -> bool;

    /// A link's time series, which may be incomplete, has one sample more.
    fn sampled(&self, link: LinkId, series: &Series);
}

/// The number of cores that nobody uses; a user of one gives it back.
#[derive(Debug, Default)]
pub struct IdleCores(AtomicUsize);

impl IdleCores {
    /// Adds a number of cores.
    pub fn add(&self, cores: usize) {
        self.0.fetch_add(cores, Relaxed);
    }

    /// Takes one, if there is any.
    pub(crate) fn take(&self) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |cores| cores.checked_sub(1)).is_ok()
    }
}

/// The reason why a run gave no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// It was stopped from outside.
    Interrupted,
    /// The network cannot be simulated; says which part and why.
    Invalid(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Interrupted => f.write_str("interrupted"),
            Error::Invalid(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}
