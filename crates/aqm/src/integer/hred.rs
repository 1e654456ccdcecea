//! HRED in integers, as its authors ran it in a Linux kernel (Joo et al. 2006, section V).
//!
//! `min_p` has 62 binary places, since its steps may be as small as 10^-12; the queue and p have 32.
//! The paper says only that fixed point was used; the widths and the scaling are this file's choice.

use crate::part::fixed::{self, FixedGauge, FixedSizer, ONE62, Scale, mul_shift};
use crate::{Aqm, Ctx, PacketMeta, Probe, Verdict};

/// Binary places of a step as a share of p.
pub(crate) const GAIN_PLACES: u32 = 48;

/// Constants of HRED in integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HredConstants {
    /// Threshold in Q32 packets.
    pub min_th: u64,
    /// Threshold in Q32 packets.
    pub max_th: u64,
    /// Slope of the line, as a share of `min_p` per Q32 packet.
    pub slope: Scale,
    /// `min_p` at the start, with 62 places.
    pub min_p: u64,
    /// A rising step of `min_p` as a share of p, with 48 places, per Q32 packet.
    pub k_alpha: Scale,
    /// A falling step, likewise.
    pub k_beta: Scale,
    /// The least `min_p`, with 62 places.
    pub floor: u64,
    /// The largest `min_p`, with 62 places.
    pub top: u64,
    /// The rise of `min_p` at an overflow, with 62 places.
    pub overflow_step: u64,
    /// Unit and form in which the queue is read.
    pub gauge: FixedGauge,
    /// Effect of a packet's size on its probability.
    pub sizer: FixedSizer,
}

/// HRED's state in integers.
#[derive(Clone, Debug)]
pub struct HredFixed {
    constants: HredConstants,
    min_p: u64,
    /// The probability of the last arrival, with 62 places.
    p: u64,
}

impl HredFixed {
    /// An empty queue.
    pub const fn new(constants: HredConstants) -> Self {
        HredFixed { min_p: constants.min_p, p: 0, constants }
    }

    /// Joo et al. 2006, eq. 8 with eq. 10 in it.
    #[inline]
    fn probability(&self, q: u64) -> u64 {
        let away = mul_shift(self.min_p, self.constants.slope.times(q.abs_diff(self.constants.min_th)), 32);
        if q >= self.constants.min_th {
            self.min_p.saturating_add(away).min(ONE62)
        } else {
            self.min_p.saturating_sub(away)
        }
    }

    /// Joo et al. 2006, Fig. 1.
    #[inline]
    fn adjust(&mut self, q: u64) {
        let step = |k: Scale, distance: u64| mul_shift(self.p, k.times(distance), GAIN_PLACES);
        self.min_p = if q > self.constants.max_th {
            self.min_p
                .saturating_add(step(self.constants.k_alpha, q - self.constants.max_th))
                .min(self.constants.top)
        } else if q < self.constants.min_th {
            self.min_p
                .saturating_sub(step(self.constants.k_beta, self.constants.min_th - q))
                .max(self.constants.floor)
        } else {
            self.min_p
        };
    }
}

impl Aqm for HredFixed {
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let q = self.constants.gauge.read(&cx.queue);
        self.p = self.probability(q);
        self.adjust(q);
        Verdict::early_if(cx.rng.chance_fixed(mul_shift(self.p, self.constants.sizer.factor(pkt.bytes), 62)))
    }

    fn on_overflow(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) {
        self.min_p = (self.min_p + self.constants.overflow_step).min(self.constants.top);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", fixed::to_f64_62(self.p));
        out.value("min_p", "1", fixed::to_f64_62(self.min_p));
        let rise = mul_shift(
            self.min_p,
            self.constants.slope.times(self.constants.max_th - self.constants.min_th),
            32,
        );
        out.value("max_p", "1", fixed::to_f64_62((self.min_p + rise).min(ONE62)));
    }
}
