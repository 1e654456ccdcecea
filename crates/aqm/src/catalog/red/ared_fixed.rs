//! Adaptive RED in integers: [`ared`](crate::ared) around [`red_fixed`](crate::red_fixed), whose
//! updates use no floating point either.

use crate::Link;
use crate::ared::{AredParams, target_band};
pub use crate::integer::{AredConstants, AredFixed};
use crate::params::ParamError;
use crate::part::Ticker;
use crate::part::fixed::{self, Scale};
use crate::red_fixed::RedFixedParams;

in_integers!(AredFixedParams(AredParams) => AredFixed);

impl AredFixedParams {
    /// Constants from which a router builds it.
    ///
    /// # Errors
    /// Those of adaptive RED.
    pub fn constants(&self, link: &Link) -> Result<AredConstants, ParamError> {
        let ared = self.0.build(link)?;
        let step = ared.step();
        let (min_th, max_th) = ared.thresholds();
        let (low, high) = target_band(min_th, max_th);
        Ok(AredConstants {
            red: RedFixedParams(self.0.red(link)).constants(link)?,
            interval: Ticker::new("interval", self.0.interval)?.interval().nanos(),
            low: fixed::from_f64(low),
            high: fixed::from_f64(high),
            // A step that is rounded to nothing would never move max_p.
            alpha: fixed::from_f64(step.alpha).max(1),
            beta: Scale::new(step.beta),
            bottom: fixed::from_f64(step.bottom).max(1),
            top: fixed::from_f64(step.top).max(1),
        })
    }
}
