//! PI in integers: [`pi`](crate::pi) without floating point, either per packet or per update.

use quell_units::Duration;

use crate::Link;
pub use crate::integer::{PiConstants, PiFixed};
use crate::params::ParamError;
use crate::part::Ticker;
use crate::part::fixed::{self, FixedGauge, FixedSizer, ONE, ONE62, Scale};
use crate::pi::PiParams;

in_integers!(PiFixedParams(PiParams) => PiFixed);

impl PiFixedParams {
    /// Constants from which a router builds it.
    ///
    /// # Errors
    /// Those of PI.
    pub fn constants(&self, link: &Link) -> Result<PiConstants, ParamError> {
        let pi = self.0.build(link)?;
        let gains = pi.gains();
        // From Q32 packets to 62 places.
        let widen = (ONE62 / ONE) as f64;
        Ok(PiConstants {
            q_ref: fixed::from_f64(gains.q_ref),
            integral: Scale::new((gains.a - gains.b) * widen),
            proportional: Scale::new(gains.b * widen),
            gauge: FixedGauge::of(self.0.target(link), link),
            sizer: FixedSizer::new(self.0.signal, link),
            initial_p: (self.0.initial_p * ONE62 as f64) as u64,
            interval: Ticker::new("sampling_rate", Duration::from_secs_f64(1.0 / self.0.sampling_rate))?
                .interval()
                .nanos(),
        })
    }
}
