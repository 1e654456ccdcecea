//! RED in integers: [`red`](crate::red) without floating point on the per-packet path, for gateways and
//! kernels that may not use it.

use crate::Link;
pub use crate::integer::{RedConstants, RedCurve, RedFixed};
use crate::params::{ParamError, ParamValue, require};
use crate::part::Spacing;
use crate::part::fixed::{self, FixedGauge, FixedSizer, ONE, Scale};
use crate::red::{Idle, RedParams};

in_integers!(RedFixedParams(RedParams) => RedFixed);

impl RedFixedParams {
    /// Constants from which a router builds it.
    ///
    /// # Errors
    /// Those of RED.
    pub fn constants(&self, link: &Link) -> Result<RedConstants, ParamError> {
        let p = &self.0;
        require(
            p.spacing != Spacing::OneDraw,
            "spacing",
            p.spacing.show(),
            "has no form in integers here: give another one, or algorithm = \"red\"",
        )?;
        let (min_th, max_th) = p.build(link)?.curve().thresholds();
        let weight = p.weight.resolve(link)?;
        let mark_limit = p.mark_limit.unwrap_or(1.0);
        // Mean packets in 2^8 bits times nanoseconds, in halvings of the average.
        let per_bit_time = 256.0 / (8e9 * link.mean_packet.get() as f64);
        // An average that keeps its value is not halved, however long the link is idle.
        let ages = f64::from(p.idle == Idle::Ages);
        let halvings = -ages * libm::log1p(-weight) / core::f64::consts::LN_2 * ONE as f64;
        Ok(RedConstants {
            curve: RedCurve {
                min_th: fixed::from_f64(min_th),
                max_th: fixed::from_f64(max_th),
                end: fixed::from_f64(if p.gentle { 2.0 * max_th } else { max_th }),
                // A step has no slope: no average lies between equal thresholds.
                per_gap: Scale::new(if max_th > min_th { 1.0 / (max_th - min_th) } else { 0.0 }),
                per_max_th: Scale::new(1.0 / max_th),
                max_p: fixed::from_f64(p.max_p),
            },
            weight: Scale::new(weight),
            halvings: Scale::new(halvings * per_bit_time),
            gauge: FixedGauge::of(p.min_th, link),
            spacing: p.spacing,
            sizer: FixedSizer::new(p.signal, link),
            mark_limit: fixed::from_f64(mark_limit),
            forced: p.forced.verdict(mark_limit >= 1.0),
            min_backlog: p.min_backlog,
            link_bps: link.rate.bps(),
        })
    }
}
