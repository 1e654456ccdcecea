//! VRC by loop-shaping.

use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::AutoSize;
use quell_aqm::vrc::VrcParams;
use quell_units::QueueSize;

use super::pid::{Shaped, shaped};
use super::rule::{Notes, Rule};
use super::target::Target;
use crate::error::TheoryError;

/// The gains of the PID, in the form of VRC.
pub(super) struct Vrc;

impl Rule for Vrc {
    const NAME: &'static str = "vrc";

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let q = target.held();
        let Shaped { gains, beta, gamma, interval, memory } = shaped(target, notes)?;
        let config = AqmConfig::Vrc(VrcParams {
            alpha: Some(gains.k_d),
            beta: Some(beta.min(gamma)),
            gamma: Some(gamma.max(beta)),
            q_ref: AutoSize::Size(QueueSize::Packets(q)),
            update_interval: interval,
            rate_memory: memory,
            ..Default::default()
        });
        Ok((config, q))
    }
}
