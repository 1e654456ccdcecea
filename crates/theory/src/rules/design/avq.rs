//! AVQ by Kunniyur and Srikant 2001.

use quell_aqm::avq::AvqParams;
use quell_aqm::catalog::AqmConfig;

use super::digits::round;
use super::rule::{Notes, Rule};
use super::target::Target;
use crate::error::TheoryError;
use crate::rules::criteria;
use crate::text::figure;

/// Half of the largest phi of Theorem 4.1.
pub(super) struct Avq;

impl Rule for Avq {
    const NAME: &'static str = "avq";

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let phi = half_of_the_largest(target, notes)?;
        notes.assume("the theory takes p = 1 - Cv/r for the virtual queue's own decisions");
        Ok((AqmConfig::Avq(AvqParams { phi, ..Default::default() }), 0.0))
    }
}

/// The speed of the virtual capacity.
pub(super) fn half_of_the_largest(target: &Target, notes: &mut Notes) -> Result<f64, TheoryError> {
    let now = target.conditions();
    let tau = AvqParams::default().tau;
    let largest = criteria::avq_largest_phi(tau, &now, target.reno()?)?.ok_or_else(|| TheoryError::NoEquilibrium {
        quantity: "phi".into(),
        reason: format!(
            "even with a constant virtual capacity the loop is unstable at R = {} s: p = 1 - Cv/r is too steep; allow more flows or a shorter R",
            now.rtt
        ),
    })?;
    let phi = round(0.5 * largest).min(AvqParams::default().phi);
    notes.assume(format!(
        "Kunniyur and Srikant 2001, Theorem 4.1, on the exact linearization: phi below {} per second; half of that, or the usual 0.15 if it is less. The queue is empty: R is the propagation delay",
        figure(largest)
    ));
    Ok(phi)
}
