//! HRED in integers: [`hred`](crate::hred) without floating point on the per-packet path, as its authors
//! ran it in a Linux kernel (hred V).
//!
//! `min_p` has 62 binary places, since its steps may be as small as 10^-12; the queue and p have 32.
//! The document says only that fixed point was used; widths and scaling are this file's.

use serde::{Deserialize, Serialize};

use crate::hred::HredParams;
use crate::params::{ParamDoc, ParamError};
use crate::part::fixed::{self, FixedGauge, FixedSizer, ONE62, Scale, mul_shift};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict};

/// Binary places of a step as a share of p.
const GAIN_PLACES: u32 = 48;

/// HRED's parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HredFixedParams(pub HredParams);

impl HredFixedParams {
    /// What a user may read about each parameter.
    pub fn docs() -> alloc::vec::Vec<ParamDoc> {
        HredParams::docs()
    }

    /// HRED in integers for a link.
    ///
    /// # Errors
    /// Those of HRED.
    pub fn build(&self, link: &Link) -> Result<HredFixed, ParamError> {
        let hred = self.0.build(link)?;
        // From Q32 packets to 48 places: a step may be 10^-7 of p per packet, or thousands.
        let widen = (1u64 << (GAIN_PLACES - 32)) as f64;
        Ok(HredFixed {
            min_th: fixed::from_f64(hred.line.min_th),
            max_th: fixed::from_f64(hred.line.max_th),
            slope: Scale::new(hred.line.slope),
            min_p: fixed::from_f64_62(hred.min_p),
            p: 0,
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

/// HRED's state in integers.
#[derive(Clone, Debug)]
pub struct HredFixed {
    min_th: u64,
    max_th: u64,
    slope: Scale,
    min_p: u64,
    /// The probability of the last arrival, with 62 places.
    p: u64,
    k_alpha: Scale,
    k_beta: Scale,
    floor: u64,
    top: u64,
    overflow_step: u64,
    gauge: FixedGauge,
    sizer: FixedSizer,
}

impl HredFixed {
    /// hred eq. 8 with eq. 10 in it.
    #[inline]
    fn probability(&self, q: u64) -> u64 {
        let away = mul_shift(self.min_p, self.slope.times(q.abs_diff(self.min_th)), 32);
        if q >= self.min_th {
            self.min_p.saturating_add(away).min(ONE62)
        } else {
            self.min_p.saturating_sub(away)
        }
    }

    /// hred Fig. 1.
    #[inline]
    fn adjust(&mut self, q: u64) {
        let step = |k: Scale, distance: u64| mul_shift(self.p, k.times(distance), GAIN_PLACES);
        self.min_p = if q > self.max_th {
            self.min_p.saturating_add(step(self.k_alpha, q - self.max_th)).min(self.top)
        } else if q < self.min_th {
            self.min_p.saturating_sub(step(self.k_beta, self.min_th - q)).max(self.floor)
        } else {
            self.min_p
        };
    }
}

impl Aqm for HredFixed {
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let q = self.gauge.read(&cx.queue);
        self.p = self.probability(q);
        self.adjust(q);
        Verdict::early_if(cx.rng.chance_fixed(mul_shift(self.p, self.sizer.factor(pkt.bytes), 62)))
    }

    fn on_overflow(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) {
        self.min_p = (self.min_p + self.overflow_step).min(self.top);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", fixed::to_f64_62(self.p));
        out.value("min_p", "1", fixed::to_f64_62(self.min_p));
        let rise = mul_shift(self.min_p, self.slope.times(self.max_th - self.min_th), 32);
        out.value("max_p", "1", fixed::to_f64_62((self.min_p + rise).min(ONE62)));
    }
}
