//! The times at which a scenario measures, and the classes that it counts.

use quell_sim::network::Measure;
use quell_units::{Duration, Time};

use crate::format::Scenario;
use crate::values::Segments;

/// The class that acknowledgments are counted in.
pub const ACKS: &str = "acks";

/// The times at which the scenario measures.
pub(crate) fn measure(scenario: &Scenario) -> Measure {
    let (warmup, end) = (at(scenario.warmup), at(scenario.duration));
    let boundaries = match &scenario.segments {
        None => Vec::new(),
        Some(Segments::At(times)) => times.iter().map(|t| at(*t)).collect(),
        Some(Segments::Every(length)) => {
            let step = length.nanos().max(1);
            let steps = end.nanos().saturating_sub(warmup.nanos()).div_ceil(step);
            (1..steps).map(|n| Time::from_nanos(warmup.nanos() + n * step)).collect()
        }
    };
    Measure { warmup, end, boundaries, step: Some(series_step(scenario)) }
}

/// The window that response times are taken against.
pub(super) fn steady_state(scenario: &Scenario) -> Option<(Time, Time)> {
    scenario.steady_state.map(|[from, to]| (at(from), at(to)))
}

pub(super) fn series_step(scenario: &Scenario) -> Duration {
    let default = Duration::from_nanos((scenario.duration.nanos() / 500).max(1));
    scenario.series_step.unwrap_or(default)
}

/// The traffic classes: those of the groups in order, then the acknowledgments.
pub(crate) fn classes(scenario: &Scenario) -> Vec<String> {
    let mut classes: Vec<String> = Vec::new();
    for group in &scenario.flows {
        if !classes.iter().any(|c| c == group.class()) {
            classes.push(group.class().to_string());
        }
    }
    classes.push(ACKS.to_string());
    classes
}

pub(super) fn at(d: Duration) -> Time {
    Time::ZERO + d
}
