//! RED: random early detection (Floyd and Jacobson 1993; thesis 2.2-2.3).
//!
//! Keeps an average of the queue and signals arrivals with a probability that rises with it:
//! nothing below `min_th`, up to `max_p` at `max_th`, then (gentle) up to 1 at `2 max_th`. Beyond
//! that every arrival is dropped, ECN-capable or not (RFC 3168 section 7).
//!
//! What the documents leave open, and what this file does:
//! - By size: thesis eq. 2.5 scales the probability before the spacing and counts packets, so small
//!   packets use up the gaps of large ones. Here, as in ns-2, the count is in mean packets and the
//!   scaling comes last. ns-2 also cuts the count down to a whole number; nothing is gained by it.
//! - Overflow: a packet lost to a full buffer has signalled its sender, so the count starts anew.
//! - Idle time ages the average at the link's rate now, where the host knows it; ns-2 keeps the
//!   rate of the start.
//! - A queue that has drained while its average is still high is not signalled: fewer than
//!   `min_backlog` packets wait. The paper has no such condition, ns-2 has it, and it matters: 100
//!   Reno flows at 10 Mbit/s under ARED reach 96 % utilization without it, 99.6 % with it (and 99.6 %
//!   in ns-2). ns-2 also spares the first arrival above `min_th`, whose probability is next to
//!   nothing anyway; that is left out.

use alloc::format;

use quell_units::{Duration, QueueSize, Time};
use serde::{Deserialize, Serialize};

use crate::params::{ParamError, ParamValue, in_range, require};
pub use crate::part::SignalMode;
use crate::part::{Average, Gauge, Sizer, Spacer, Spacing, link_rate_weight};
use crate::{Aqm, Cause, Ctx, Link, PacketMeta, Probe, Verdict, choice, params};

/// The weight of the average: a number, or computed from the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number, \"link-rate\", \"link-rate-fast\" or { time_constant = \"1 s\" }"
)]
pub enum Weight {
    /// This value.
    Value(f64),
    /// By a rule.
    Rule(WeightRule),
    /// By the average's time constant.
    Memory(Memory),
}

choice! {
    /// Rules for the weight of the average.
    pub enum WeightRule {
        /// A time constant of one second: `1 - exp(-1/C)` (Floyd 2001; thesis 3.2.3).
        LinkRate = "link-rate",
        /// A time constant of a tenth of a second: `1 - exp(-10/C)` (ns-2's `q_weight_ -2`).
        LinkRateFast = "link-rate-fast",
    }
}

/// How long the average remembers: `w = 1 - exp(-1/(time_constant C))`; thesis 2.3.4 recommends ten
/// round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The time after which a step of the queue shows in the average to 63 %.
    pub time_constant: Duration,
}

impl ParamValue for Weight {
    fn show(&self) -> alloc::string::String {
        match self {
            Weight::Value(w) => w.show(),
            Weight::Rule(r) => r.show(),
            Weight::Memory(m) => format!("{{ time_constant = \"{}\" }}", m.time_constant),
        }
    }
}

impl Weight {
    /// The number, for a link.
    ///
    /// # Errors
    /// Names `weight` if it does not come out in (0, 1].
    pub fn resolve(self, link: &Link) -> Result<f64, ParamError> {
        let seconds = match self {
            Weight::Value(w) => {
                require(
                    w > 0.0 && w <= 1.0,
                    "weight",
                    w,
                    "must lie in (0, 1] [Floyd and Jacobson 1993, section 6]",
                )?;
                return Ok(w);
            }
            Weight::Rule(WeightRule::LinkRate) => 1.0,
            Weight::Rule(WeightRule::LinkRateFast) => 0.1,
            Weight::Memory(m) => {
                require(!m.time_constant.is_zero(), "weight", self.show(), "must remember longer than 0 s")?;
                m.time_constant.as_secs_f64()
            }
        };
        let w = link_rate_weight(link.capacity(), seconds);
        require(w > 0.0 && w <= 1.0, "weight", self.show(), "must give a weight in (0, 1] on this link")?;
        Ok(w)
    }
}

params! {
    /// RED's parameters.
    pub struct RedParams {
        /// Average queue below which nothing is signalled; its unit decides whether the queue is measured in packets or in bytes.
        min_th: QueueSize = QueueSize::Packets(5.0), unit "packets or bytes", source "Floyd 1997, recommended setting; thesis 2.3.1";
        /// Average queue at which the probability reaches max_p.
        max_th: QueueSize = QueueSize::Packets(15.0), unit "packets or bytes", source "3 min_th: Floyd 1997; thesis 2.3.1";
        /// Probability at max_th.
        max_p: f64 = 0.1, unit "1", source "Floyd 1997; thesis 2.3.2";
        /// Weight of a new sample in the average; or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }.
        weight: Weight = Weight::Value(0.002), unit "1", source "Floyd and Jacobson 1993; thesis 2.3.4";
        /// Above max_th, rise from max_p to 1 at twice max_th instead of signalling everything.
        gentle: bool = true, unit "true or false", source "Floyd 2000; thesis eq. 2.4";
        /// How signals are spread: "uniform", "uniform-pseudocode", "wait" or "geometric".
        spacing: Spacing = Spacing::Uniform, unit "name", source "Floyd and Jacobson 1993, section 7";
        /// Whether a packet's size matters: "per-packet" or "by-size".
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
        /// Probability above which an early signal drops ECN-capable packets too (ns-2's mark_p_ is 0.1); left out: always mark.
        mark_limit: Option<f64> = None, unit "1", source "RFC 3168 section 7";
        /// Packets that must wait before an arrival is signalled at all, however high the average; 0 is the paper's letter.
        min_backlog: u32 = 2, unit "packets", source "ns-2, whose results the documents print (in byte mode it asks for 1)";
    }
}

impl RedParams {
    /// RED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: thresholds that do not rise or differ in unit, a
    /// probability or a weight outside (0, 1].
    pub fn build(&self, link: &Link) -> Result<Red, ParamError> {
        link.check()?;
        let (min_th, max_th) = thresholds(self.min_th, self.max_th, link)?;
        require(self.max_p > 0.0 && self.max_p <= 1.0, "max_p", self.max_p, "must lie in (0, 1]")?;
        if let Some(limit) = self.mark_limit {
            in_range("mark_limit", limit, 0.0, 1.0, "a probability")?;
        }
        require(
            f64::from(self.min_backlog) <= link.buffer.in_packets(link.mean_packet),
            "min_backlog",
            self.min_backlog,
            format!("must not exceed the buffer ({}): that many never wait", link.buffer),
        )?;
        Ok(Red {
            curve: Curve::new(min_th, max_th, self.max_p, self.gentle),
            avg: Average::new(self.weight.resolve(link)?, Gauge::of(self.min_th, link), link),
            spacer: Spacer::new(self.spacing),
            sizer: Sizer::new(self.signal, link),
            mark_limit: self.mark_limit.unwrap_or(1.0),
            min_backlog: self.min_backlog,
            p_b: 0.0,
        })
    }
}

/// The two thresholds in packets, checked.
pub(crate) fn thresholds(
    min_th: QueueSize,
    max_th: QueueSize,
    link: &Link,
) -> Result<(f64, f64), ParamError> {
    require(min_th.value() >= 0.0 && min_th.value().is_finite(), "min_th", min_th, "must not be negative")?;
    require(
        min_th.same_unit(max_th),
        "max_th",
        max_th,
        format!("must be in the unit of min_th ({min_th}): both in packets or both in bytes"),
    )?;
    let (low, high) = (min_th.in_packets(link.mean_packet), max_th.in_packets(link.mean_packet));
    // A gap that is lost in rounding would make the curve's slope infinite.
    require(
        high - low > 1e-9 && high.is_finite(),
        "max_th",
        max_th,
        format!("must exceed min_th ({min_th}) [Floyd and Jacobson 1993, section 4]"),
    )?;
    Ok((low, high))
}

/// The probability as a function of the average, with its slopes worked out in advance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    min_th: f64,
    max_th: f64,
    max_p: f64,
    /// Where the probability reaches 1.
    end: f64,
    slope: f64,
    gentle_slope: f64,
}

impl Curve {
    /// The curve for thresholds in packets with `min_th < max_th`.
    pub fn new(min_th: f64, max_th: f64, max_p: f64, gentle: bool) -> Self {
        let end = if gentle { 2.0 * max_th } else { max_th };
        let mut curve = Curve { min_th, max_th, max_p, end, slope: 0.0, gentle_slope: 0.0 };
        curve.set_max_p(max_p);
        curve
    }

    /// Changes `max_p`, and with it both slopes.
    pub fn set_max_p(&mut self, max_p: f64) {
        self.max_p = max_p;
        self.slope = max_p / (self.max_th - self.min_th);
        self.gentle_slope = (1.0 - max_p) / self.max_th;
    }

    /// Changes the thresholds in packets, `min_th < max_th`, and with them both slopes.
    pub fn set_thresholds(&mut self, min_th: f64, max_th: f64) {
        // Gentle or not: the end stays at as many times max_th as before.
        let end = self.end / self.max_th * max_th;
        *self = Curve { min_th, max_th, end, ..*self };
        self.set_max_p(self.max_p);
    }

    /// The probability at `max_th`.
    pub fn max_p(&self) -> f64 {
        self.max_p
    }

    /// The thresholds in packets.
    pub fn thresholds(&self) -> (f64, f64) {
        (self.min_th, self.max_th)
    }

    /// thesis eq. 2.4 (gentle), Floyd and Jacobson 1993 section 4 (not gentle).
    #[inline]
    pub fn probability(&self, avg: f64) -> f64 {
        if avg < self.min_th {
            0.0
        } else if avg < self.max_th {
            (avg - self.min_th) * self.slope
        } else if avg < self.end {
            (self.max_p + (avg - self.max_th) * self.gentle_slope).min(1.0)
        } else {
            1.0
        }
    }
}

/// RED's state.
#[derive(Clone, Debug)]
pub struct Red {
    curve: Curve,
    avg: Average,
    spacer: Spacer,
    sizer: Sizer,
    /// The largest probability at which a signal may be a mark.
    mark_limit: f64,
    min_backlog: u32,
    /// The probability of the last arrival, before spacing.
    p_b: f64,
}

impl Red {
    /// The curve, for algorithms that move it.
    pub(crate) fn curve(&self) -> &Curve {
        &self.curve
    }

    /// The curve, for algorithms that move it.
    pub(crate) fn curve_mut(&mut self) -> &mut Curve {
        &mut self.curve
    }

    /// The average, as of the last arrival or question.
    #[inline]
    pub(crate) fn average(&self) -> f64 {
        self.avg.get()
    }

    /// The probability of the last arrival, before spacing.
    #[inline]
    pub(crate) fn probability(&self) -> f64 {
        self.p_b
    }

    /// The weight of a new sample.
    #[inline]
    pub(crate) fn weight(&self) -> f64 {
        self.avg.weight()
    }

    /// Changes the weight of a new sample, in (0, 1].
    pub(crate) fn set_weight(&mut self, weight: f64) {
        self.avg.set_weight(weight);
    }

    /// The queue as the thresholds measure it, in packets.
    #[inline]
    pub(crate) fn measure(&self, cx: &Ctx<'_>) -> f64 {
        self.avg.measure(cx)
    }

    /// Since when the link has been idle, as far as the average has been aged.
    #[inline]
    pub(crate) fn idle_since(&self) -> Option<Time> {
        self.avg.idle_since()
    }

    /// How many small packets could have passed since then (m of Floyd and Jacobson 1993, section 4).
    pub(crate) fn missed(&self, since: Time, cx: &Ctx<'_>) -> f64 {
        self.avg.missed(since, cx)
    }

    /// The average at `cx.now`, aged if the link is idle.
    pub(crate) fn average_now(&mut self, cx: &Ctx<'_>) -> f64 {
        self.avg.now(cx)
    }

    /// Samples the queue at an arrival, with the weight that `weight` gives for the average and the
    /// queue. Returns whether the link was idle, for [`Red::decide`].
    #[inline(always)]
    pub(crate) fn sample_as(&mut self, cx: &Ctx<'_>, weight: impl FnOnce(f64, f64) -> f64) -> bool {
        let was_idle = self.avg.wake(cx);
        self.avg.sample_as(cx, weight);
        was_idle
    }

    /// Samples the queue at an arrival.
    #[inline(always)]
    pub(crate) fn sample(&mut self, cx: &Ctx<'_>) -> bool {
        let was_idle = self.avg.wake(cx);
        self.avg.sample(cx);
        was_idle
    }

    /// Decides about an arrival at which the queue has been sampled.
    #[inline(always)]
    pub(crate) fn decide(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta, was_idle: bool) -> Verdict {
        let verdict = self.judge(cx, pkt);
        self.avg.decided(was_idle, verdict, pkt, cx.now);
        verdict
    }

    #[inline(always)]
    fn judge(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.p_b = self.curve.probability(self.avg.get());
        if self.p_b <= 0.0 || cx.queue.packets.get() < self.min_backlog {
            self.spacer.restart();
            return Verdict::Pass;
        }
        if self.p_b >= 1.0 {
            self.spacer.restart();
            return Verdict::Drop(Cause::Forced);
        }
        let size = self.sizer.factor(pkt.bytes);
        let p_a = self.spacer.next(self.p_b, size);
        if !cx.rng.chance(p_a * size) {
            return Verdict::Pass;
        }
        self.spacer.restart();
        if self.p_b <= self.mark_limit { Verdict::Signal(Cause::Early) } else { Verdict::Drop(Cause::Early) }
    }
}

impl Aqm for Red {
    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        if self.avg.idle_since().is_none() {
            // The same as below, without its questions: most arrivals come this way.
            self.avg.sample(cx);
            return self.judge(cx, pkt);
        }
        let was_idle = self.sample(cx);
        self.decide(cx, pkt, was_idle)
    }

    fn on_overflow(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) {
        self.spacer.restart();
    }

    fn on_idle(&mut self, since: Time) {
        self.avg.idle(since);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("avg", "packets", self.avg.get());
        out.value("p", "1", self.p_b);
    }
}
