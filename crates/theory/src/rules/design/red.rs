//! RED by Hollot et al. 2001.

use quell_aqm::catalog::AqmConfig;
use quell_aqm::part::Spacing;
use quell_aqm::part::{Memory, Weight};
use quell_aqm::red::RedParams;
use quell_units::{Duration, QueueSize};

use super::digits::{round, round_up};
use super::rule::{Notes, Rule};
use super::target::Target;
use crate::error::{TheoryError, require};
use crate::rules::criteria;

/// The rule of Hollot et al. for RED.
pub(super) struct Red;

impl Rule for Red {
    const NAME: &'static str = "red";

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let q = target.held();
        let now = target.conditions();
        let (min_th, max_th) = (0.5 * q, 1.5 * q);
        let p = target.network(q)?.point(q, now.capacity)?.probability;
        let max_p = round(2.0 * p);
        require(
            max_p <= 1.0,
            "max_p",
            max_p,
            "must be at most 1 for RED to rest half-way between its thresholds (thesis eq. 3.2): fewer flows, or a longer R C",
        )?;
        let filter = criteria::red_filter(max_p / (max_th - min_th), &now);
        // A hair above equality, which rounding could break.
        let memory = round_up(if filter.is_finite() { (1.0 + 1e-9) / filter } else { now.rtt });
        notes.assume("Hollot et al. 2001, \"A control theoretic analysis of RED\": L (RC)^3/(2N)^2 = sqrt(w_g^2/K^2 + 1) with w_g = 0.1 min(2N/(R^2 C), 1/R) gives the average's time constant 1/K");
        notes.assume("thresholds of 1/2 and 3/2 of the queue to hold, and max_p twice the probability that the flows need there (thesis eq. 3.2)");
        notes.assume("signals spaced geometrically: the rule's p is the share signalled, which RED's uniform spacing doubles");
        if memory > 10.0 {
            notes.warn(format!(
                "the average has a time constant of {memory:.0} s: RED by this rule follows the load that slowly"
            ));
        }
        Ok((
            AqmConfig::Red(RedParams {
                min_th: QueueSize::Packets(min_th),
                max_th: QueueSize::Packets(max_th),
                max_p,
                weight: Weight::Memory(Memory { time_constant: Duration::from_secs_f64(memory) }),
                spacing: Spacing::Geometric,
                ..Default::default()
            }),
            q,
        ))
    }
}
