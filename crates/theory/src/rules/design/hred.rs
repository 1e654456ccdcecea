//! HRED by its conditions.

use quell_aqm::catalog::AqmConfig;
use quell_aqm::hred::{HredParams, least_stable_buffer, tolerance};
use quell_units::Duration;

use super::digits::round;
use super::rule::{Notes, Rule};
use super::target::Target;
use crate::error::TheoryError;

/// The conditions of its paper.
pub(super) struct Hred;

impl Rule for Hred {
    const NAME: &'static str = "hred";

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let b = target.buffer();
        let (low, high) = (0.25, 0.5);
        let product =
            target.network(0.5 * (low + high) * b)?.classes[0].propagation * target.conditions().capacity;
        // Every queue from min_th on stable: kappa max_th - min_th/2 > C RTT/2.
        let least = (0.5 * product / b + 0.5 * low) / high;
        let kappa = HredParams::default().kappa.max(round(1.1 * least));
        let t_beta = Duration::from_millis(200).max(target.rtt);
        notes.assume(format!(
            "Joo et al. 2006, section III.B: thresholds of a quarter and half of the buffer, kappa above {least:.3} for every queue from min_th on to be stable (the least buffer at kappa = {kappa:.3} is {:.0} packets)",
            least_stable_buffer(low, high, kappa, product).unwrap_or(f64::NAN)
        ));
        notes.assume("Joo et al. 2006, section III.D: T_beta not below R, T_alpha twice that");
        let sigma = tolerance(low * b, high * b, b, product);
        notes.warn(format!(
            "{:.0}% of the flows may start or end at once without filling or emptying the buffer (Joo et al. 2006, eq. 16)",
            100.0 * sigma
        ));
        Ok((
            AqmConfig::Hred(HredParams { kappa, t_alpha: t_beta + t_beta, t_beta, ..Default::default() }),
            0.375 * b,
        ))
    }
}
