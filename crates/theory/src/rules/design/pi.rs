//! PI by Hollot et al. 2001.

use quell_aqm::ap_red::Conditions;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::pi::{PiDesign, PiParams, design_zero};
use quell_units::QueueSize;

use super::digits::round;
use super::rule::{Notes, Rule};
use super::target::Target;
use crate::error::TheoryError;
use crate::text::figure;

/// A crossover at `SHAPED/R` leaves 61 degrees to an integrator with the delay, and a gain margin of pi.
pub(super) const SHAPED: f64 = 0.5;

/// The zero and the crossover of Hollot et al.
pub(super) struct Pi;

impl Rule for Pi {
    const NAME: &'static str = "pi";

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let q = target.held();
        let now = target.conditions();
        let (z, lambda) = hollot(&now);
        let crossover = lambda / now.rtt;
        notes.assume(format!(
            "Hollot et al. 2001 (thesis 3.4.2, eq. 6.3-6.5): the zero at z = 2N/(R^2 C) = {} rad/s cancels the windows' corner, and the crossover lies at lambda/R with lambda = min(z R, 0.5) = {}, where thesis allows 0.85; the rule is made with a = 2 and the simplified plant",
            figure(z),
            figure(lambda)
        ));
        Ok((
            AqmConfig::Pi(PiParams {
                design: Some(PiDesign { flows: now.flows, rtt: target.rtt, lambda: Some(lambda) }),
                q_ref: QueueSize::Packets(q),
                sampling_rate: (20.0 * crossover / std::f64::consts::TAU).max(170.0),
                ..Default::default()
            }),
            q,
        ))
    }
}

/// Hollot's zero and crossover: (z, lambda).
pub(super) fn hollot(now: &Conditions) -> (f64, f64) {
    let z = design_zero(now.flows, now.capacity, now.rtt);
    (z, round((z * now.rtt).min(SHAPED)))
}
