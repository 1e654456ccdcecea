//! AP-RED by its stability bound.

use quell_aqm::ap_red::{ApRedParams, stability_bound};
use quell_aqm::catalog::AqmConfig;
use quell_aqm::part::Spacing;
use quell_aqm::part::Weight;
use quell_units::QueueSize;

use super::digits::{round, round_down};
use super::rule::{Notes, Rule};
use super::target::Target;
use crate::error::TheoryError;

/// Proposition 4.9 of the thesis with equality.
pub(super) struct ApRed;

impl Rule for ApRed {
    const NAME: &'static str = "ap-red";

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let q = target.held();
        let now = target.conditions();
        let (min_th, max_th) = (0.5 * q, 1.5 * q);
        let p = target.network(q)?.point(q, now.capacity)?.probability;
        let max_p = round(2.0 * p).clamp(0.01, 0.5);
        let w = stability_bound(&now) / (max_p / (max_th - min_th));
        notes.assume("thesis proposition 4.9 with equality gives the weight of the first setting; eq. 4.3-4.6 keep it as N, R and C move");
        notes.assume("thresholds of 1/2 and 3/2 of the queue to hold, and max_p twice the probability that the flows need there (thesis eq. 3.2), in [0.01, 0.5]");
        notes.assume("signals spaced geometrically, as the proposition supposes");
        Ok((
            AqmConfig::ApRed(ApRedParams {
                reference_flows: now.flows,
                reference_rtt: target.rtt,
                reference_rate: target.rate,
                min_th: QueueSize::Packets(min_th),
                max_th: QueueSize::Packets(max_th),
                max_p,
                // A hair below equality, which R in whole nanoseconds could break.
                weight: Weight::Value(round_down(w * (1.0 - 1e-6)).min(0.01)),
                spacing: Spacing::Geometric,
                ..Default::default()
            }),
            q,
        ))
    }
}
