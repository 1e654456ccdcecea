//! One replication: planned, simulated, and reduced to figures.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use quell_metrics::{Replication, Table, reduce};
use quell_scenario::{Plugins, Point};
use quell_sim::{Control, Engine};

use crate::trace::{Traced, Tracing};

/// The end of work that is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended<E> {
    /// It was stopped from outside.
    Stopped,
    /// It failed.
    Failed(E),
}

impl<E> From<E> for Ended<E> {
    fn from(error: E) -> Self {
        Ended::Failed(error)
    }
}

/// Runs one replication.
///
/// # Errors
/// If it cannot be run, or was stopped.
pub(crate) fn replicate(
    point: &Point,
    aqm: usize,
    seed: u64,
    (engine, plugins): (Engine, &Plugins),
    control: &Control,
    traces: Option<(&Tracing, usize)>,
) -> Result<Replication, Ended<String>> {
    let clock = Instant::now();
    // A plug-in may panic: that must not take the other replications' results along unnamed.
    let result = catch_unwind(AssertUnwindSafe(|| {
        let plan = point.plan(aqm, seed, plugins).map_err(|e| e.to_string())?;
        match quell_sim::run(plan.network, engine, control) {
            Ok(outcome) => Ok((plan.facts, outcome)),
            Err(quell_sim::Error::Interrupted) => Err(Ended::Stopped),
            Err(e) => Err(Ended::Failed(e.to_string())),
        }
    }));
    let (facts, mut outcome) = result.map_err(|panic| format!("it panicked: {}", message(&*panic)))??;
    let elapsed_s = clock.elapsed().as_secs_f64();
    let measured = point.measure();
    let algorithm = point.scenario.aqm[aqm].label().to_string();
    if let (Some((tracing, point)), Some(trace)) = (traces, outcome.trace.take()) {
        let of = Traced { point, algorithm: &algorithm, seed, facts: &facts };
        tracing.take(of, &trace).map_err(|e| e.to_string())?;
    }
    let found = reduce(&facts, outcome, (measured.warmup, measured.end));
    Ok(Replication { algorithm, seed, elapsed_s, ..found })
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// All that a replication found, as bytes, so that what is absent equals itself; how long it took is not part
/// of it.
pub(crate) fn bytes(replication: &Replication) -> Result<Vec<u8>, String> {
    let timeless = [Replication { elapsed_s: 0.0, ..replication.clone() }];
    let mut all = Vec::new();
    for table in Table::ALL {
        all.extend(postcard::to_stdvec(&table.columns(&timeless).0).map_err(|e| e.to_string())?);
    }
    Ok(all)
}
