//! PI in integers: [`pi`](crate::pi) without floating point, neither per packet nor per update.
//!
//! The probability is integrated with 62 binary places: the default gains differ by 6 10^-8, and at
//! less precision their rounding would be integrated with it.

use quell_units::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::params::{ParamDoc, ParamError};
use crate::part::Ticker;
use crate::part::fixed::{self, FixedGauge, FixedSizer, ONE, ONE62, Scale, mul_shift};
use crate::pi::PiParams;
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict};

/// PI's parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PiFixedParams(pub PiParams);

impl PiFixedParams {
    /// What a user may read about each parameter.
    pub fn docs() -> alloc::vec::Vec<ParamDoc> {
        PiParams::docs()
    }

    /// PI in integers for a link.
    ///
    /// # Errors
    /// Those of PI.
    pub fn build(&self, link: &Link) -> Result<PiFixed, ParamError> {
        let pi = self.0.build(link)?;
        let gains = pi.gains();
        // From Q32 packets to 62 places.
        let widen = (ONE62 / ONE) as f64;
        Ok(PiFixed {
            p: 0,
            q_old: 0,
            q_ref: fixed::from_f64(gains.q_ref),
            integral: Scale::new((gains.a - gains.b) * widen),
            proportional: Scale::new(gains.b * widen),
            gauge: FixedGauge::of(self.0.q_ref, link),
            sizer: FixedSizer::new(self.0.signal, link),
            ticker: Ticker::new("sampling_rate", Duration::from_secs_f64(1.0 / self.0.sampling_rate))?,
        })
    }
}

/// PI's state in integers.
#[derive(Clone, Debug)]
pub struct PiFixed {
    p: u64,
    /// The queue at the last update.
    q_old: u64,
    q_ref: u64,
    /// a - b.
    integral: Scale,
    /// b.
    proportional: Scale,
    gauge: FixedGauge,
    sizer: FixedSizer,
    ticker: Ticker,
}

impl PiFixed {
    /// thesis eq. 3.7, written `p + (a - b)(q - q_ref) + b (q - q_old)`.
    #[inline]
    fn next_p(&self, q: u64) -> u64 {
        let p = i128::from(self.p)
            + self.integral.times_difference(q, self.q_ref)
            + self.proportional.times_difference(q, self.q_old);
        // Between 0 and 2^62.
        p.clamp(0, i128::from(ONE62)) as u64
    }
}

impl Aqm for PiFixed {
    fn on_start(&mut self, now: Time) {
        self.ticker.start(now);
    }

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        Verdict::early_if(cx.rng.chance_fixed(mul_shift(self.p, self.sizer.factor(pkt.bytes), 62)))
    }

    #[inline]
    fn next_update(&self) -> Option<Time> {
        Some(self.ticker.due())
    }

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        let q = self.gauge.read(&cx.queue);
        self.p = self.next_p(q);
        self.q_old = q;
        self.ticker.advance();
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", fixed::to_f64_62(self.p));
    }
}
