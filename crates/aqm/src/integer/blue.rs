//! BLUE in integers, as Joo et al. 2006, section V ran it in a Linux kernel.
//!
//! The probability has 62 binary places: the default step down is 2 10^-5 of 1, and with fewer places its
//! rounding would be summed up. The paper says only that fixed point was used; the width is this file's choice.

use quell_units::{Duration, Time};

use crate::part::fixed::{self, FixedGauge, FixedSizer, ONE62, mul_shift};
use crate::{Aqm, Ctx, PacketMeta, Probe, Verdict};

/// Constants of BLUE in integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlueConstants {
    /// The step up on a loss, with 62 places.
    pub d1: u64,
    /// The step down on an idle link, likewise.
    pub d2: u64,
    /// The least time between two steps, in nanoseconds.
    pub freeze_time: u64,
    /// The queue above which an arrival counts as a loss, in Q32 packets; the largest number: none does.
    pub threshold: u64,
    /// Unit and form in which the queue is read.
    pub gauge: FixedGauge,
    /// Effect of a packet's size on its probability.
    pub sizer: FixedSizer,
}

/// BLUE's state in integers.
#[derive(Clone, Debug)]
pub struct BlueFixed {
    constants: BlueConstants,
    p: u64,
    last_update: Option<Time>,
}

impl BlueFixed {
    /// An empty queue.
    pub const fn new(constants: BlueConstants) -> Self {
        BlueFixed { constants, p: 0, last_update: None }
    }

    /// Chen 2010, Fig. 3.3: whether the probability may move, because it did not less than `freeze_time` ago.
    #[inline]
    fn thawed(&mut self, now: Time) -> bool {
        let freeze_time = Duration::from_nanos(self.constants.freeze_time);
        let thawed = self.last_update.is_none_or(|last| now.since(last) > freeze_time);
        if thawed {
            self.last_update = Some(now);
        }
        thawed
    }

    /// Chen 2010, Fig. 3.3: a step up.
    #[inline]
    fn raise(&mut self, now: Time) {
        if self.thawed(now) {
            // Both are at most 2^62.
            self.p = (self.p + self.constants.d1).min(ONE62);
        }
    }
}

impl Aqm for BlueFixed {
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        if self.constants.gauge.read(&cx.queue) > self.constants.threshold {
            self.raise(cx.now);
        }
        Verdict::early_if(cx.rng.chance_fixed(mul_shift(self.p, self.constants.sizer.factor(pkt.bytes), 62)))
    }

    fn on_overflow(&mut self, cx: &mut Ctx<'_>, _: &PacketMeta) {
        self.raise(cx.now);
    }

    fn on_idle(&mut self, since: Time) {
        if self.thawed(since) {
            self.p = self.p.saturating_sub(self.constants.d2);
        }
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", fixed::to_f64_62(self.p));
    }
}
