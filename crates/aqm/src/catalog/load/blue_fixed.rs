//! BLUE in integers: [`blue`](crate::blue) without floating point on the per-packet path, as Joo et al. 2006
//! ran it in a Linux kernel (section V).

use crate::Link;
use crate::blue::BlueParams;
pub use crate::integer::{BlueConstants, BlueFixed};
use crate::params::ParamError;
use crate::part::fixed::{self, FixedGauge, FixedSizer};

in_integers!(BlueFixedParams(BlueParams) => BlueFixed);

impl BlueFixedParams {
    /// Constants from which a router builds it.
    ///
    /// # Errors
    /// Those of BLUE.
    pub fn constants(&self, link: &Link) -> Result<BlueConstants, ParamError> {
        let blue = self.0.build(link)?;
        let (gauge, threshold) = match self.0.threshold.zip(blue.threshold) {
            Some((size, (_, packets))) => (FixedGauge::of(size, link), fixed::from_f64(packets)),
            None => (FixedGauge::Packets, u64::MAX),
        };
        Ok(BlueConstants {
            // A step that is rounded to nothing would be none.
            d1: fixed::from_f64_62(blue.d1).max(1),
            d2: fixed::from_f64_62(blue.d2).max(1),
            freeze_time: blue.freeze_time.nanos(),
            threshold,
            gauge,
            sizer: FixedSizer::new(self.0.signal, link),
        })
    }
}
