//! RED in integers: [`red`](crate::red) without floating point on the per-packet path, for gateways and
//! kernels that may not use it.
//!
//! Everything is in multiples of 2^-32. The exponential that ages the average after an idle time is a
//! product of roots of one half.

use quell_units::Time;
use serde::{Deserialize, Serialize};

use crate::params::{ParamDoc, ParamError};
use crate::part::Spacing;
use crate::part::fixed::{self, FixedGauge, FixedSizer, ONE, Scale, halved, product, spaced};
use crate::red::RedParams;
use crate::{Aqm, Cause, Ctx, Link, PacketMeta, Probe, Verdict};

/// RED's parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RedFixedParams(pub RedParams);

impl RedFixedParams {
    /// What a user may read about each parameter.
    pub fn docs() -> alloc::vec::Vec<ParamDoc> {
        RedParams::docs()
    }

    /// RED in integers for a link.
    ///
    /// # Errors
    /// Those of RED.
    pub fn build(&self, link: &Link) -> Result<RedFixed, ParamError> {
        let p = &self.0;
        let (min_th, max_th) = p.build(link)?.curve().thresholds();
        let weight = p.weight.resolve(link)?;
        // Mean packets in 2^8 bits times nanoseconds, in halvings of the average.
        let per_bit_time = 256.0 / (8e9 * link.mean_packet.get() as f64);
        let halvings = -libm::log1p(-weight) / core::f64::consts::LN_2 * ONE as f64;
        Ok(RedFixed {
            curve: FixedCurve {
                min_th: fixed::from_f64(min_th),
                max_th: fixed::from_f64(max_th),
                end: fixed::from_f64(if p.gentle { 2.0 * max_th } else { max_th }),
                per_gap: Scale::new(1.0 / (max_th - min_th)),
                per_max_th: Scale::new(1.0 / max_th),
                max_p: fixed::from_f64(p.max_p),
            },
            avg: 0,
            weight: Scale::new(weight),
            halvings: Scale::new(halvings * per_bit_time),
            gauge: FixedGauge::of(p.min_th, link),
            spacing: p.spacing,
            count: 0,
            sizer: FixedSizer::new(p.signal, link),
            mark_limit: fixed::from_f64(p.mark_limit.unwrap_or(1.0)),
            min_backlog: p.min_backlog,
            link_bps: link.rate.bps(),
            idle_since: None,
            p_b: 0,
        })
    }
}

/// The probability as a function of the average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedCurve {
    min_th: u64,
    max_th: u64,
    end: u64,
    per_gap: Scale,
    per_max_th: Scale,
    pub(super) max_p: u64,
}

impl FixedCurve {
    /// thesis eq. 2.4.
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

    /// The thresholds in Q32 packets.
    pub fn thresholds(&self) -> (u64, u64) {
        (self.min_th, self.max_th)
    }
}

/// RED's state in integers.
#[derive(Clone, Debug)]
pub struct RedFixed {
    pub(super) curve: FixedCurve,
    avg: u64,
    weight: Scale,
    /// From 2^8 bits times nanoseconds to halvings of the average.
    halvings: Scale,
    gauge: FixedGauge,
    spacing: Spacing,
    /// Arrivals since the last signal, in mean packets.
    count: u64,
    sizer: FixedSizer,
    mark_limit: u64,
    min_backlog: u32,
    link_bps: u64,
    idle_since: Option<Time>,
    /// The probability of the last arrival, before spacing.
    p_b: u64,
}

impl RedFixed {
    /// The average at `cx.now`, aged if the link is idle.
    pub(super) fn average_now(&mut self, cx: &Ctx<'_>) -> u64 {
        if let Some(since) = self.idle_since {
            self.age(since, cx);
            self.idle_since = Some(cx.now);
        }
        self.avg
    }

    /// As if m small packets had arrived at an empty queue since.
    fn age(&mut self, since: Time, cx: &Ctx<'_>) {
        let bps = cx.queue.link_rate.map_or(self.link_bps, |r| r.bps());
        let bit_time = (u128::from(cx.now.since(since).nanos()) * u128::from(bps)) >> 8;
        self.avg = halved(self.avg, self.halvings.times(u64::try_from(bit_time).unwrap_or(u64::MAX)));
    }

    /// thesis eq. 2.3.
    #[inline]
    fn sample(&mut self, q: u64) {
        if q >= self.avg {
            self.avg += self.weight.times(q - self.avg);
        } else {
            self.avg -= self.weight.times(self.avg - q);
        }
    }

    /// Samples the queue and decides about an arrival.
    #[inline]
    fn decide(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.sample(self.gauge.read(&cx.queue));
        self.p_b = self.curve.probability(self.avg);
        if self.p_b == 0 || cx.queue.packets.get() < self.min_backlog {
            self.count = 0;
            return Verdict::Pass;
        }
        if self.p_b >= ONE {
            self.count = 0;
            return Verdict::Drop(Cause::Forced);
        }
        let size = self.sizer.factor(pkt.bytes);
        let before = self.count;
        self.count = self.count.saturating_add(size);
        let count = if self.spacing.counts_arriving() { self.count } else { before };
        if !cx.rng.chance_fixed(product(spaced(self.spacing, self.p_b, count), size)) {
            return Verdict::Pass;
        }
        self.count = 0;
        if self.p_b <= self.mark_limit { Verdict::Signal(Cause::Early) } else { Verdict::Drop(Cause::Early) }
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
