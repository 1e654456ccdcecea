//! Parameters by the published rules.

mod ap_red;
mod ared;
mod auto_tuning_red;
mod avq;
mod avq_rate;
mod digits;
mod dred;
mod hred;
mod pi;
mod pi2;
mod pid;
mod red;
mod rem;
mod rule;
mod settings;
mod target;
#[cfg(test)]
mod tests;
mod vrc;

use quell_aqm::Link;
use quell_aqm::catalog::{self, AqmConfig};

use super::analysis::{Analysis, analyze};
use crate::error::{TheoryError, positive};
use crate::linear::Plant;
use crate::network::FluidNetwork;
use crate::text::figure;
use rule::{Notes, Rule};

pub use settings::{SET, Setting, setting};
pub use target::Target;

/// Parameters by a published rule, and what becomes of them.
#[derive(Clone, Debug)]
pub struct Design {
    /// The algorithm, ready for a scenario.
    pub config: AqmConfig,
    /// The link it is for.
    pub link: Link,
    /// The network it is for.
    pub network: FluidNetwork,
    /// Its equilibrium there, its margins and criteria.
    pub analysis: Analysis,
    /// The rule with its source, and what it assumes.
    pub assumptions: Vec<String>,
    /// Warnings to read before use.
    pub warnings: Vec<String>,
}

/// Lists the rules.
macro_rules! rules {
    ($( $module:ident :: $rule:ident, )+) => {
        /// The algorithms for which [`design`] has a rule.
        pub const DESIGNED: &[&str] = &[$( $module::$rule::NAME, )+];

        /// The parameters of an algorithm and the queue that they hold, if there is a rule.
        fn parameters(
            name: &str,
            target: &Target,
            notes: &mut Notes,
        ) -> Option<Result<(AqmConfig, f64), TheoryError>> {
            $( if name == $module::$rule::NAME {
                let other = if $module::$rule::ANY_WINDOW { None } else { target.reno().err() };
                return Some(other.map_or_else(|| $module::$rule::parameters(target, notes), Err));
            } )+
            None
        }
    };
}

rules! {
    red::Red,
    ap_red::ApRed,
    ared::Ared,
    auto_tuning_red::AutoTuningRed,
    pi::Pi,
    pi2::Pi2,
    pi2::DualPi2,
    pid::Pid,
    vrc::Vrc,
    dred::Dred,
    rem::Rem,
    avq::Avq,
    avq_rate::AvqRate,
    hred::Hred,
}

/// Tells why [`design`] has no rule for an algorithm of the catalog.
pub fn without_rule(name: &str) -> &'static str {
    match SET.contains(&name) {
        true => "its settings follow from documents and not from a model: `quell design` prints them",
        false => "Quell has no rule for its parameters",
    }
}

/// Parameters for an algorithm, by name.
///
/// # Errors
/// There is no such algorithm or no rule for it, a quantity is not physical, or no parameters of the rule
/// suit the target.
pub fn design(name: &str, target: &Target) -> Result<Design, TheoryError> {
    let now = target.conditions();
    positive("size of packets", target.mean_packet.get() as f64, "bytes")?;
    positive("rate of the link", now.capacity, "packets/s")?;
    positive("round-trip time R", now.rtt, "s")?;
    positive("buffer B", target.buffer(), "packets")?;
    positive("queue to hold", target.queue(), "packets")?;
    // Whether so many flows can share the link at all.
    target.network(0.0)?.point(0.0, now.capacity)?;
    let mut notes = Notes::default();
    let Some(chosen) = parameters(name, target, &mut notes) else {
        let reason = match catalog::find(name) {
            None => "no algorithm has that name",
            Some(_) => without_rule(name),
        };
        return Err(TheoryError::NoModel {
            algorithm: name.into(),
            reason: format!("{reason}; rules exist for {}", DESIGNED.join(", ")),
        });
    };
    let (config, q) = chosen?;
    let (link, network) = (target.link(), target.network(q)?);
    let analysis = analyze(&config, &link, &network, Plant::Exact)?;
    notes.assume(format!(
        "at least N = {} flows that always send, R at most {} s with the queue at equilibrium, C = {} packets/s of {} bytes; more flows and shorter round trips are safer (Park et al. 2004, section 3.2)",
        now.flows,
        now.rtt,
        figure(now.capacity),
        target.mean_packet.get()
    ));
    if let Some((flows, scalable)) = &target.scalables {
        notes.assume(format!(
            "{flows} additional flows of {}, with the same R except for the queue",
            scalable.name()
        ));
    }
    if target.buffer.is_none() {
        notes.assume(format!(
            "a buffer of {} packets (R C, at least 20), because none was given",
            target.buffer()
        ));
    }
    notes.warnings.extend(doubts(&analysis));
    Ok(Design { config, link, network, analysis, assumptions: notes.assumptions, warnings: notes.warnings })
}

/// Warnings that follow from an analysis.
fn doubts(analysis: &Analysis) -> Vec<String> {
    let mut all = Vec::new();
    let s = &analysis.stability;
    if !s.stable() {
        all.push(format!(
            "the loop is unstable: {} roots to the right of the imaginary axis",
            s.unstable_roots
        ));
    }
    if let Some(k) = s.margins.gain.filter(|&k| s.stable() && k < 2.0) {
        all.push(format!("the gain margin is {k:.2}, less than the usual 2"));
    }
    if let Some(phase) = s.margins.phase.filter(|p| s.stable() && p.abs() < 0.25 * std::f64::consts::PI) {
        all.push(format!("the phase margin is {:.0} degrees, less than the usual 45", phase.to_degrees()));
    }
    for c in analysis.criteria.iter().filter(|c| c.holds != s.stable() && (c.holds || c.necessary)) {
        let verdict = if s.stable() { "stable" } else { "unstable" };
        all.push(format!("the exact loop is {verdict}, but {} says otherwise: {}", c.statement, c.reason));
    }
    let window = analysis.equilibrium.point.classes[0].window;
    if window < 4.0 {
        all.push(format!(
            "at equilibrium a flow has a window of {window:.2} packets; below 4, a loss ends in a timeout, which no \
             fluid model includes"
        ));
    }
    all.extend(analysis.equilibrium.remark.clone());
    all
}
