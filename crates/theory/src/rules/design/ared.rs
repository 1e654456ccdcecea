//! Adaptive RED by its automatic setting.

use quell_aqm::ared::AredParams;
use quell_aqm::catalog::AqmConfig;

use super::rule::{Notes, Rule};
use super::target::Target;
use crate::error::TheoryError;

/// The automatic setting of Adaptive RED.
pub(super) struct Ared;

impl Rule for Ared {
    const NAME: &'static str = "ared";

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        notes.assume(
            "the automatic setting of Adaptive RED (Chen 2010, section 3.2.3): thresholds for a queueing \
            delay of 5 ms, an average over 1 s; it needs only C, neither N nor R",
        );
        let params = AredParams::default();
        let (low, high) = params.thresholds(&target.link());
        let middle = 0.5 * (low.in_packets(target.mean_packet) + high.in_packets(target.mean_packet));
        Ok((AqmConfig::Ared(params), middle))
    }
}
