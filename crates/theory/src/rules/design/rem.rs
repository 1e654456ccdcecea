//! REM by the gains of PI.

use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::AutoSize;
use quell_aqm::rem::RemParams;
use quell_units::{Duration, QueueSize};

use super::digits::round;
use super::pi::hollot;
use super::rule::{Notes, Rule};
use super::target::Target;
use crate::error::{TheoryError, require};
use crate::rules::criteria;
use crate::text::figure;

/// The gains of Hollot's PI, in the form of REM.
pub(super) struct Rem;

impl Rule for Rem {
    const NAME: &'static str = "rem";

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let q = target.held();
        let now = target.conditions();
        let (z, lambda) = hollot(&now);
        let k_p = criteria::pi_proportional(lambda, &now);
        let p = target.network(q)?.point(q, now.capacity)?.probability;
        require(
            p < 1.0,
            "signal probability p",
            p,
            "must be below 1: no price signals every packet [Chen 2010, eq. 3.10]",
        )?;
        let defaults = RemParams::default();
        let interval = round((1.0 / z).min(0.1 * now.rtt).min(0.01));
        // K_I/K_P = alpha/((1 + alpha/2) T_s), with the measured rate (eq. 3.8).
        let step = z * interval;
        let alpha = round(step / (1.0 - 0.5 * step));
        let gamma = round(k_p / ((1.0 - p) * libm::log(defaults.phi) * (1.0 + 0.5 * alpha)));
        notes.assume(format!(
            "no source gives a rule for REM: near its equilibrium it is PI with the slope (1 - p) ln phi (Park et al. 2004, eq. 29), so alpha and gamma give it the gains of Hollot's PI (z = {} rad/s, lambda = {}) at p = {}",
            figure(z),
            figure(lambda),
            figure(p)
        ));
        Ok((
            AqmConfig::Rem(RemParams {
                gamma,
                alpha,
                q_ref: AutoSize::Size(QueueSize::Packets(q)),
                update_interval: Duration::from_secs_f64(interval),
                ..defaults
            }),
            q,
        ))
    }
}
