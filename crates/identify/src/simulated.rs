//! A candidate's run, captured where the real capture was made.

use quell_capture::{Transfer, Transfers, transfers};
use quell_scenario::{Plugins, Study};
use quell_sim::trace::{Chosen, PacketWhat, TraceRequest};
use quell_sim::{Control, Engine};
use quell_traces::{About, pcapng};

use crate::candidate::Discipline;
use crate::observed::Observed;
use crate::statistics::{Frame, Statistics};

/// One run of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The discipline.
    pub discipline: Discipline,
    /// Its parameter, in seconds.
    pub value: f64,
    /// The seed.
    pub seed: u64,
}

/// A run that failed; says why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the simulation of {0} failed: {1}")]
pub struct SimulationError(&'static str, String);

/// The capture of a scenario at its senders: what comes to the queue, and what comes back. The scenario is a dumbbell
/// whose flows go forward.
///
/// # Errors
/// If the scenario is not valid.
pub fn simulate(text: &str, seed: u64) -> Result<Vec<u8>, SimulationError> {
    let failed = |why: String| SimulationError("a scenario", why);
    let plugins = Plugins::new();
    let study = Study::parse(text, "identify", &plugins).map_err(|e| failed(e.to_string()))?;
    let point = study.points.first().ok_or_else(|| failed("it has no point".to_string()))?;
    let mut plan = point.plan(0, seed, &plugins).map_err(|e| failed(e.to_string()))?;
    for link in &mut plan.network.links {
        link.observe |= link.name == "reverse";
    }
    let trace = TraceRequest { links: Chosen::All, packets: Chosen::All, ..TraceRequest::default() };
    let control = Control { trace: Some(trace), ..Control::default() };
    let outcome = quell_sim::run(plan.network, Engine::Fast, &control).map_err(|e| failed(e.to_string()))?;
    let mut trace = outcome.trace.ok_or_else(|| failed("it left no trace".to_string()))?;
    // A sender sees its data before the queue, and acknowledgments behind theirs.
    for link in &mut trace.links {
        let is_forward = link.name == "bottleneck";
        link.events.retain(|event| matches!(event.what, PacketWhat::Dequeued { .. }) != is_forward);
    }
    let mut file = Vec::new();
    pcapng::write(&mut file, &trace, &About::default()).map_err(|e| failed(e.to_string()))?;
    Ok(file)
}

/// The transfers of a scenario as its senders see them, read from such a capture.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_at_sender(text: &str, seed: u64) -> Result<Transfers, SimulationError> {
    let file = simulate(text, seed)?;
    let interfaces = ["bottleneck enqueue", "reverse dequeue"].map(String::from);
    transfers(file.as_slice(), &interfaces).map_err(|e| SimulationError("a scenario", e.to_string()))
}

impl Run {
    /// Simulates it on an observed path, and reduces what its senders see.
    ///
    /// # Errors
    /// As [`simulate`].
    pub fn statistics(&self, observed: &Observed, tcp: &str) -> Result<Statistics, SimulationError> {
        let text = self.discipline.scenario(self.value, observed, tcp, self.seed);
        let named = |SimulationError(_, why)| SimulationError(self.discipline.name(), why);
        let found = simulate_at_sender(&text, self.seed).map_err(named)?;
        let flows: Vec<&Transfer> = found.transfers.iter().collect();
        // A flow that never got through has no place among paths.
        let paths = observed.frame.paths.iter().copied().chain(std::iter::repeat(0)).take(flows.len());
        let frame = Frame { paths: paths.collect(), ..observed.frame.clone() };
        Ok(Statistics::of(&flows, &frame))
    }
}
