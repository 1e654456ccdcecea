//! RED in integers.
//!
//! Everything is in multiples of 2^-32. The exponential that ages the average after an idle period is a
//! product of roots of one half.

use quell_units::Time;

use crate::part::Spacing;
use crate::part::fixed::{self, FixedGauge, FixedSizer, ONE, Scale, halved, product, spaced};
use crate::{Aqm, Cause, Ctx, PacketMeta, Probe, Verdict};

/// The probability as a function of the average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedCurve {
    /// Threshold in Q32 packets.
    pub min_th: u64,
    /// Threshold in Q32 packets.
    pub max_th: u64,
    /// Average at which the probability becomes 1, in Q32 packets: 2 `max_th` if gentle, else `max_th`.
    pub end: u64,
    /// 1 / (`max_th` - `min_th`).
    pub per_gap: Scale,
    /// 1 / `max_th`.
    pub per_max_th: Scale,
    /// Probability in Q32.
    pub max_p: u64,
}

impl RedCurve {
    /// Chen 2010, eq. 2.4.
    #[inline]
    pub fn probability(&self, avg: u64) -> u64 {
        if avg < self.min_th {
            0
        } else if avg < self.max_th {
            product(self.per_gap.times(avg - self.min_th), self.max_p)
        } else if avg < self.end {
            self.max_p + product(self.per_max_th.times(avg - self.max_th), ONE - self.max_p)
        } else {
            ONE
        }
    }
}

/// Constants of RED in integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedConstants {
    /// The probability as a function of the average.
    pub curve: RedCurve,
    /// The weight of a sample.
    pub weight: Scale,
    /// Converts 2^8 bits times nanoseconds of idleness to halvings of the average in Q32.
    pub halvings: Scale,
    /// Unit and form in which the queue is read.
    pub gauge: FixedGauge,
    /// Spacing of signals.
    pub spacing: Spacing,
    /// Effect of a packet's size on its probability.
    pub sizer: FixedSizer,
    /// Probability in Q32 above which packets are dropped rather than marked.
    pub mark_limit: u64,
    /// The verdict where the probability is 1.
    pub forced: Verdict,
    /// Packets that must wait for a signal.
    pub min_backlog: u32,
    /// The link's rate in bit/s, where the host does not tell it.
    pub link_bps: u64,
}

/// RED's state in integers.
#[derive(Clone, Debug)]
pub struct RedFixed {
    pub(super) constants: RedConstants,
    avg: u64,
    /// Arrivals since the last signal, in mean packets.
    count: u64,
    idle_since: Option<Time>,
    /// The probability of the last arrival, before spacing.
    p_b: u64,
}

impl RedFixed {
    /// An empty queue at time zero.
    pub const fn new(constants: RedConstants) -> Self {
        RedFixed { constants, avg: 0, count: 0, idle_since: None, p_b: 0 }
    }

    /// The average at `cx.now`, aged if the link is idle.
    pub(super) fn average_now(&mut self, cx: &Ctx<'_>) -> u64 {
        if let Some(since) = self.idle_since {
            self.age(since, cx);
            self.idle_since = Some(cx.now);
        }
        self.avg
    }

    /// Ages the average as if m small packets had arrived at an empty queue since.
    fn age(&mut self, since: Time, cx: &Ctx<'_>) {
        let bps = cx.queue.link_rate.map_or(self.constants.link_bps, |r| r.bps());
        let bit_time = (u128::from(cx.now.since(since).nanos()) * u128::from(bps)) >> 8;
        self.avg =
            halved(self.avg, self.constants.halvings.times(u64::try_from(bit_time).unwrap_or(u64::MAX)));
    }

    /// Chen 2010, eq. 2.3.
    #[inline]
    fn sample(&mut self, q: u64) {
        if q >= self.avg {
            self.avg += self.constants.weight.times(q - self.avg);
        } else {
            self.avg -= self.constants.weight.times(self.avg - q);
        }
    }

    /// Samples the queue and decides on an arrival.
    #[inline]
    fn decide(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.sample(self.constants.gauge.read(&cx.queue));
        self.p_b = self.constants.curve.probability(self.avg);
        if self.p_b == 0 || cx.queue.packets.get() < self.constants.min_backlog {
            self.count = 0;
            return Verdict::Pass;
        }
        if self.p_b >= ONE {
            self.count = 0;
            return self.constants.forced;
        }
        let size = self.constants.sizer.factor(pkt.bytes);
        let before = self.count;
        self.count = self.count.saturating_add(size);
        let count = if self.constants.spacing.counts_arriving() { self.count } else { before };
        if !cx.rng.chance_fixed(product(spaced(self.constants.spacing, self.p_b, count), size)) {
            return Verdict::Pass;
        }
        self.count = 0;
        if self.p_b <= self.constants.mark_limit {
            Verdict::Signal(Cause::Early)
        } else {
            Verdict::Drop(Cause::Early)
        }
    }
}

impl Aqm for RedFixed {
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let Some(since) = self.idle_since.take() else {
            return self.decide(cx, pkt);
        };
        self.age(since, cx);
        let verdict = self.decide(cx, pkt);
        // A packet that is not stored leaves the link idle, and the host does not say so again.
        if verdict.drops(pkt) {
            self.idle_since = Some(cx.now);
        }
        verdict
    }

    fn on_overflow(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) {
        self.count = 0;
    }

    fn on_idle(&mut self, since: Time) {
        self.idle_since = Some(since);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("avg", "packets", fixed::to_f64(self.avg));
        out.value("p", "1", fixed::to_f64(self.p_b));
    }
}
