//! HRED in integers: [`hred`](crate::hred) without floating point on the per-packet path, as its authors
//! ran it in a Linux kernel (Joo et al. 2006, section V).

use crate::Link;
use crate::hred::HredParams;
use crate::integer::GAIN_PLACES;
pub use crate::integer::{HredConstants, HredFixed};
use crate::params::ParamError;
use crate::part::fixed::{self, FixedGauge, FixedSizer, Scale};

in_integers!(HredFixedParams(HredParams) => HredFixed);

impl HredFixedParams {
    /// Constants from which a router builds it.
    ///
    /// # Errors
    /// Those of HRED.
    pub fn constants(&self, link: &Link) -> Result<HredConstants, ParamError> {
        let hred = self.0.build(link)?;
        // From Q32 packets to 48 places: a step may be 10^-7 of p per packet, or thousands.
        let widen = (1u64 << (GAIN_PLACES - 32)) as f64;
        Ok(HredConstants {
            min_th: fixed::from_f64(hred.line.min_th),
            max_th: fixed::from_f64(hred.line.max_th),
            slope: Scale::new(hred.line.slope),
            min_p: fixed::from_f64_62(hred.min_p),
            k_alpha: Scale::new(hred.k_alpha * widen),
            k_beta: Scale::new(hred.k_beta * widen),
            // A floor that is rounded to nothing would be none.
            floor: fixed::from_f64_62(hred.floor).max(1),
            top: fixed::from_f64_62(hred.top),
            overflow_step: fixed::from_f64_62(hred.overflow_step),
            gauge: FixedGauge::of(self.0.thresholds(link).0, link),
            sizer: FixedSizer::new(self.0.signal, link),
        })
    }
}
