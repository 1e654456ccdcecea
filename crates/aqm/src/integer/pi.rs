//! PI in integers.
//!
//! The probability is integrated with 62 binary places: the default gains differ by 6 10^-8, and at
//! less precision their rounding would be integrated with it.

use quell_units::Duration;

use crate::part::Ticker;
use crate::part::fixed::{self, FixedGauge, FixedSizer, ONE62, Scale, mul_shift};
use crate::{Aqm, Ctx, PacketMeta, Probe, Verdict};

/// Constants of PI in integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PiConstants {
    /// Threshold in Q32 packets.
    pub q_ref: u64,
    /// a - b, from Q32 packets to 62 places.
    pub integral: Scale,
    /// b, likewise.
    pub proportional: Scale,
    /// Unit and form in which the queue is read.
    pub gauge: FixedGauge,
    /// Effect of a packet's size on its probability.
    pub sizer: FixedSizer,
    /// The probability at the start, with 62 places.
    pub initial_p: u64,
    /// Time between two updates, in nanoseconds.
    pub interval: u64,
}

/// PI's state in integers.
#[derive(Clone, Debug)]
pub struct PiFixed {
    constants: PiConstants,
    p: u64,
    /// The queue at the last update.
    q_old: u64,
    ticker: Ticker,
}

impl PiFixed {
    /// An empty queue at time zero.
    pub const fn new(constants: PiConstants) -> Self {
        let ticker = Ticker::every(Duration::from_nanos(constants.interval));
        PiFixed { constants, p: constants.initial_p, q_old: 0, ticker }
    }

    /// Chen 2010, eq. 3.7, written `p + (a - b)(q - q_ref) + b (q - q_old)`.
    #[inline]
    fn next_p(&self, q: u64) -> u64 {
        let p = i128::from(self.p)
            + self.constants.integral.times_difference(q, self.constants.q_ref)
            + self.constants.proportional.times_difference(q, self.q_old);
        // Between 0 and 2^62.
        p.clamp(0, i128::from(ONE62)) as u64
    }
}

impl Aqm for PiFixed {
    delegate!(ticker: next_update);

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        Verdict::early_if(cx.rng.chance_fixed(mul_shift(self.p, self.constants.sizer.factor(pkt.bytes), 62)))
    }

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        let q = self.constants.gauge.read(&cx.queue);
        self.p = self.next_p(q);
        self.q_old = q;
        self.ticker.advance();
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", fixed::to_f64_62(self.p));
    }
}
