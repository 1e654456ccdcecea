//! AVQ on the measured rate.

use quell_aqm::avq_rate::AvqRateParams;
use quell_aqm::catalog::AqmConfig;
use quell_units::Duration;

use super::avq::half_of_the_largest;
use super::rule::{Notes, Rule};
use super::target::Target;
use crate::error::TheoryError;

/// The phi of AVQ.
pub(super) struct AvqRate;

impl Rule for AvqRate {
    const NAME: &'static str = "avq-rate";

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let phi = half_of_the_largest(target, notes)?;
        let memory = Duration::from_secs_f64((0.1 * target.conditions().rtt).min(0.1));
        Ok((AqmConfig::AvqRate(AvqRateParams { phi, rate_memory: memory, ..Default::default() }), 0.0))
    }
}
