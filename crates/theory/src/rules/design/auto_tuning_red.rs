//! Auto-tuning RED by its own setting.

use quell_aqm::auto_tuning_red::{AutoTuningRedParams, automatic_min_th};
use quell_aqm::catalog::AqmConfig;

use super::digits::round;
use super::rule::{Notes, Rule};
use super::target::Target;
use crate::error::TheoryError;
use crate::rules::criteria;

/// The setting of its paper.
pub(super) struct AutoTuningRed;

impl Rule for AutoTuningRed {
    const NAME: &'static str = "auto-tuning-red";

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let now = target.conditions();
        notes.assume("thesis 3.3.2: max_th - min_th = 0.21 R C, max_th = 3 min_th (so min_th = 0.105 R C; 0.13 is printed), an average over 10 R; max_p starts at (16/3)(N/(RC))^2 (eq. 3.1-3.2) and adapts");
        let params = AutoTuningRedParams {
            rtt: target.rtt,
            max_p: round(criteria::auto_tuning_max_p(&now)).clamp(0.01, 0.5),
            ..Default::default()
        };
        Ok((AqmConfig::AutoTuningRed(params), 2.0 * automatic_min_th(now.rtt, now.capacity)))
    }
}
