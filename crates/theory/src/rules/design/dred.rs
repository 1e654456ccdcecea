//! DRED by its crossover.

use quell_aqm::catalog::AqmConfig;
use quell_aqm::dred::DredParams;
use quell_aqm::params::AutoSize;
use quell_units::{Duration, QueueSize};

use super::digits::round;
use super::rule::{Notes, Rule};
use super::target::Target;
use crate::error::{TheoryError, require};
use crate::rules::criteria;
use crate::text::figure;

/// The crossover that Hollot et al. choose for RED.
pub(super) struct Dred;

impl Rule for Dred {
    const NAME: &'static str = "dred";

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let q = target.held();
        let now = target.conditions();
        // The flows' gain at equilibrium, (RC)^3/(2 a N^2), and an integral that has fallen to 1 at w_g.
        let product = now.rtt * now.capacity;
        let gain = product * product * product / (2.0 * target.reno()?.decrease * now.flows * now.flows);
        let crossover = criteria::red_crossover(&now);
        let interval = Duration::from_secs_f64((0.1 * now.rtt).min(0.01));
        let alpha = round(crossover / gain * target.buffer() * interval.as_secs_f64());
        notes.assume(format!(
            "no source gives a rule for DRED: a pure integral crosses over at w_g = 0.1 min(2N/(R^2 C), 1/R) = {} rad/s, as Hollot does for RED, where neither the flows nor the delay nor the filter lag much",
            figure(crossover)
        ));
        require(
            alpha <= 1.0,
            "alpha",
            alpha,
            "must be at most 1 [Park et al. 2004, eq. 23]: R C is too small for steps of p at this interval",
        )?;
        Ok((
            AqmConfig::Dred(DredParams {
                alpha,
                q_ref: AutoSize::Size(QueueSize::Packets(q)),
                update_interval: interval,
                ..Default::default()
            }),
            q,
        ))
    }
}
