//! RED: random early detection (Floyd and Jacobson 1993; Chen 2010, sections 2.2-2.3).
//!
//! RED keeps an average of the queue and signals arrivals with a probability that rises with it:
//! nothing below `min_th`, up to `max_p` at `max_th`, then (gentle) up to 1 at `2 max_th`. Beyond that
//! every arrival is dropped, ECN-capable or not (RFC 3168 section 7), or with `forced = "mark"` marked if it
//! can be (Linux without `harddrop`). With `min_th` = `max_th` the curve is a step; with a weight of 1 and
//! `forced = "mark"` that is the marking of DCTCP (RFC 8257 section 3.1).
//!
//! What the papers leave open, and what this file does:
//! - By size: Chen 2010, eq. 2.5 scales the probability before the spacing and counts packets, so small
//!   packets use up the gaps of large ones. Here, as in ns-2, the count is in mean packets and the
//!   scaling comes last. ns-2 also truncates the count to a whole number, which gains nothing.
//! - Overflow: a packet lost to a full buffer informs its sender, so the count restarts.
//! - An idle period ages the average at the link's current rate, if the host knows it; ns-2 keeps the
//!   initial rate. Below a shaper of Linux nothing ages it: `idle`.
//! - A queue that has drained while its average is still high is not signaled: fewer than
//!   `min_backlog` packets wait. The paper has no such condition, but ns-2 has it, and it matters: 100
//!   Reno flows at 10 Mbit/s under ARED reach 96% utilization without it, 99.6% with it (and 99.6%
//!   in ns-2). ns-2 also spares the first arrival above `min_th`, whose probability is close to 0
//!   anyway; that is left out.

use alloc::format;
use alloc::vec::Vec;

use quell_units::{QueueSize, Time};

use crate::params::{ParamError, ParamValue, Remark, in_range, require};
use crate::part::{
    Average, Curve, Forced, Gauge, SignalMode, Sizer, Spacer, Spacing, Thresholds, Weight, is_step,
    thresholds,
};
use crate::{Aqm, Cause, Ctx, Link, PacketMeta, Probe, Verdict};

/// [`params!`](crate::params!) with the parameters by which RED and its descendants signal, after their own.
macro_rules! red_params {
    ($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $crate::params! {
            $(#[$meta])*
            pub struct $name {
                $($own)*
                /// Spacing of signals: "uniform", "uniform-pseudocode", "wait", "one-draw" (Linux) or "geometric".
                spacing: $crate::part::Spacing = $crate::part::Spacing::Uniform, unit "name", source "Floyd and Jacobson 1993, section 7";
                /// Effect of a packet's size on its probability: none ("per-packet") or proportional
                /// ("by-size").
                signal: $crate::part::SignalMode = $crate::part::SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
                /// Probability above which an early signal drops ECN-capable packets too (ns-2's mark_p_ is 0.1); left out: always mark.
                mark_limit: Option<f64> = None, unit "1", source "RFC 3168 section 7";
                /// What happens to an ECN-capable arrival when the probability is 1: "drop", or "mark" (Linux without
                /// harddrop), which has no effect with a mark_limit below 1.
                forced: $crate::part::Forced = $crate::part::Forced::Drop, unit "name", source "RFC 3168 section 7";
                /// How many packets must wait before an arrival is signaled at all, however high the average; 0 follows
                /// the paper literally.
                min_backlog: u32 = 2, unit "packets", source "ns-2, whose results the papers print (in byte mode it requires 1)";
            }
        }

        impl $name {
            /// The parameters that have no effect where no packet is marked.
            pub fn of_marks(&self) -> &'static [&'static str] {
                super::red::OF_MARKS
            }
        }

        impl From<&$name> for super::red::Signals {
            fn from(given: &$name) -> Self {
                let $name { spacing, signal, mark_limit, forced, min_backlog, .. } = *given;
                super::red::Signals { spacing, signal, mark_limit, forced, min_backlog }
            }
        }

        impl From<super::red::Signals> for $name {
            /// The defaults, except for these.
            fn from(given: super::red::Signals) -> Self {
                let super::red::Signals { spacing, signal, mark_limit, forced, min_backlog } = given;
                $name { spacing, signal, mark_limit, forced, min_backlog, ..$name::default() }
            }
        }
    };
}
pub(super) use red_params;

/// The parameters by which RED and its descendants choose between a mark and a drop.
pub(super) const OF_MARKS: &[&str] = &["mark_limit", "forced"];

/// The parameters by which RED and its descendants signal.
pub(super) struct Signals {
    pub(super) spacing: Spacing,
    pub(super) signal: SignalMode,
    pub(super) mark_limit: Option<f64>,
    pub(super) forced: Forced,
    pub(super) min_backlog: u32,
}

impl Signals {
    /// What may surprise on a link.
    pub(super) fn remarks(&self, link: &Link) -> impl Iterator<Item = Remark> + use<> {
        let void = self.mark_limit.and_then(|limit| match (limit < 1.0, self.forced) {
            (true, Forced::Drop) => None,
            (true, Forced::Mark) => {
                let why = "a probability of 1 is beyond that limit; leave one of them out";
                Some(Remark::on_void("forced", self.forced, &format!("mark_limit = {limit}"), why))
            }
            (false, _) => {
                let why = "none exceeds it; lower mark_limit, or leave it out";
                Some(Remark::on_void("mark_limit", limit, "probabilities of at most 1", why))
            }
        });
        void.into_iter().chain(Remark::on_backlog(self.min_backlog, link))
    }
}

choice! {
    /// Effect of an idle time on the average.
    pub enum Idle {
        /// It ages as if small packets had met an empty queue (Floyd and Jacobson 1993, section 4).
        Ages = "ages",
        /// It stays as it was: nobody asks an empty queue for a packet, as below a shaper of Linux.
        Keeps = "keeps",
    }
}

red_params! {
    /// RED's parameters.
    pub struct RedParams {
        /// Average queue below which nothing is signaled; its unit determines whether the queue is measured in packets
        /// or bytes.
        min_th: QueueSize = QueueSize::Packets(5.0), unit "packets or bytes", source "Floyd 1997, recommended setting; Chen 2010, section 2.3.1";
        /// Average queue at which the probability reaches max_p.
        max_th: QueueSize = QueueSize::Packets(15.0), unit "packets or bytes", source "3 min_th: Floyd 1997; Chen 2010, section 2.3.1";
        /// Probability at max_th.
        max_p: f64 = 0.1, unit "1", source "Floyd 1997; Chen 2010, section 2.3.2";
        /// Weight of a new sample in the average; or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }.
        weight: Weight = Weight::Value(0.002), unit "1", source "Floyd and Jacobson 1993; Chen 2010, section 2.3.4";
        /// Lets the probability rise from max_p at max_th to 1 at twice max_th; without it, the probability
        /// is 1 from max_th on.
        gentle: bool = true, unit "true or false", source "Floyd 2000; Chen 2010, eq. 2.4";
        /// What the average does during idle times: it "ages", or "keeps" its value until the next arrival (Linux below
        /// a shaper).
        idle: Idle = Idle::Ages, unit "name", source "Floyd and Jacobson 1993, section 4";
    }
}

impl RedParams {
    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        self.remarks_up_to(link, ("max_p", self.max_p))
    }

    /// The same for an algorithm that moves `max_p`: `top` is the parameter that says how far, and its value.
    pub(super) fn remarks_up_to(&self, link: &Link, top: (&str, f64)) -> Vec<Remark> {
        let step = is_step(self.min_th, self.max_th, link)
            .then(|| Remark::on_step(self.max_th, self.gentle, self.max_p));
        let beyond = Remark::on_queue("min_th", self.min_th, link);
        let voids = self.voids(step.is_some(), top);
        step.into_iter().chain(beyond).chain(voids).chain(Signals::from(self).remarks(link)).collect()
    }

    /// The remarks on what has no effect without `gentle`: then no probability lies between the top and 1, and where the
    /// curve is a step, none lies between 0 and 1.
    fn voids(&self, step: bool, (name, top): (&str, f64)) -> Vec<Remark> {
        if self.gentle {
            return Vec::new();
        }
        let mut fields: Vec<&str> = Vec::new();
        if self.mark_limit.is_some_and(|limit| (top..1.0).contains(&limit)) {
            fields.push("mark_limit");
        }
        let between = format!(
            "the probability goes from {name} to 1; lower mark_limit below {name}, or set gentle = true"
        );
        let mut all = Remark::on_all_void(self, &fields, "gentle = false", &between);
        if step {
            let by = format!("min_th = max_th ({}) and gentle = false", self.max_th);
            let why = "the probability goes from 0 to 1; lower min_th, or set gentle = true";
            all.extend(Remark::on_all_void(self, &["max_p", "spacing", "signal"], &by, why));
        }
        all
    }

    /// RED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: thresholds that fall or differ in unit, a
    /// probability or a weight outside (0, 1].
    pub fn build(&self, link: &Link) -> Result<Red, ParamError> {
        self.build_with(link, Thresholds::Step)
    }

    /// RED for an algorithm that moves the curve, which must not be a step.
    pub(super) fn build_rising(&self, link: &Link) -> Result<Red, ParamError> {
        self.build_with(link, Thresholds::Rise)
    }

    fn build_with(&self, link: &Link, order: Thresholds) -> Result<Red, ParamError> {
        link.check()?;
        let (min_th, max_th) = thresholds(self.min_th, self.max_th, order, link)?;
        require!(self.max_p > 0.0 && self.max_p <= 1.0, self.max_p, "must lie in (0, 1]")?;
        if let Some(limit) = self.mark_limit {
            in_range("mark_limit", limit, 0.0, 1.0, "a probability")?;
        }
        check_spacing(self.spacing, self.signal)?;
        let mark_limit = self.mark_limit.unwrap_or(1.0);
        Ok(Red {
            curve: Curve::new(min_th, max_th, self.max_p, self.gentle),
            avg: Average::new(self.weight.resolve(link)?, Gauge::of(self.min_th, link), link),
            spacer: Spacer::new(self.spacing),
            sizer: Sizer::new(self.signal, link),
            mark_limit,
            forced: self.forced.verdict(mark_limit >= 1.0),
            min_backlog: self.min_backlog,
            idle: self.idle,
            p_b: 0.0,
        })
    }
}

/// Refuses one draw for each gap where a packet's probability goes with its size: what was drawn is held against a
/// count of packets.
pub(super) fn check_spacing(spacing: Spacing, signal: SignalMode) -> Result<(), ParamError> {
    require(
        spacing != Spacing::OneDraw || signal == SignalMode::PerPacket,
        "spacing",
        spacing.show(),
        "counts packets: give signal = \"per-packet\", or another spacing [Linux, include/net/red.h]",
    )
}

/// Refuses bounds of `max_p` that are not probabilities in order, and a `max_p` outside of them.
pub(super) fn check_max_p(max_p: f64, bottom: f64, top: f64) -> Result<(), ParamError> {
    let rule = format!("must be positive, with max_p_bottom <= max_p_top ({top}) <= 1");
    require(0.0 < bottom && bottom <= top && top <= 1.0, "max_p_bottom", bottom, rule)?;
    in_range("max_p", max_p, bottom, top, "max_p_bottom and max_p_top")
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
    /// The verdict where the probability is 1.
    forced: Verdict,
    min_backlog: u32,
    idle: Idle,
    /// The probability of the last arrival, before spacing.
    p_b: f64,
}

impl Red {
    /// The curve, for algorithms that move it.
    pub(in crate::catalog) fn curve(&self) -> &Curve {
        &self.curve
    }

    /// The curve, for algorithms that move it.
    pub(super) fn curve_mut(&mut self) -> &mut Curve {
        &mut self.curve
    }

    /// The average, as of the last arrival or question.
    #[inline]
    pub(in crate::catalog) fn average(&self) -> f64 {
        self.avg.get()
    }

    /// The probability of the last arrival, before spacing.
    #[inline]
    pub(crate) fn probability(&self) -> f64 {
        self.p_b
    }

    /// The weight of a new sample.
    #[inline]
    pub(super) fn weight(&self) -> f64 {
        self.avg.weight()
    }

    /// Changes the weight of a new sample, in (0, 1].
    pub(super) fn set_weight(&mut self, weight: f64) {
        self.avg.set_weight(weight);
    }

    /// The queue as the thresholds measure it, in packets.
    #[inline]
    pub(super) fn measure(&self, cx: &Ctx<'_>) -> f64 {
        self.avg.measure(cx)
    }

    /// The time up to which the average has been aged while the link is idle.
    #[inline]
    pub(super) fn idle_since(&self) -> Option<Time> {
        self.avg.idle_since()
    }

    /// Number of small packets that could have passed since then (m of Floyd and Jacobson 1993, section 4).
    pub(super) fn missed(&self, since: Time, cx: &Ctx<'_>) -> f64 {
        self.avg.missed(since, cx)
    }

    /// The average at `cx.now`, aged if the link is idle.
    pub(super) fn average_now(&mut self, cx: &Ctx<'_>) -> f64 {
        self.avg.now(cx)
    }

    /// Samples the queue at an arrival, with the weight that `weight` gives for the average and the
    /// queue. Returns whether the link was idle, for [`Red::decide`].
    #[inline(always)]
    pub(super) fn sample_as(&mut self, cx: &Ctx<'_>, weight: impl FnOnce(f64, f64) -> f64) -> bool {
        let was_idle = self.avg.wake(cx);
        self.avg.sample_as(cx, weight);
        was_idle
    }

    /// Samples the queue at an arrival.
    #[inline(always)]
    pub(in crate::catalog) fn sample(&mut self, cx: &Ctx<'_>) -> bool {
        let was_idle = self.avg.wake(cx);
        self.avg.sample(cx);
        was_idle
    }

    /// Decides on an arrival at which the queue has been sampled.
    #[inline(always)]
    pub(in crate::catalog) fn decide(
        &mut self,
        cx: &mut Ctx<'_>,
        pkt: &PacketMeta,
        was_idle: bool,
    ) -> Verdict {
        let verdict = self.judge(cx, pkt);
        self.avg.decided(was_idle, verdict, pkt, cx.now);
        verdict
    }

    #[inline(always)]
    fn judge(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.p_b = self.curve.probability(self.avg.get());
        if self.p_b <= 0.0 || cx.queue.packets.get() < self.min_backlog {
            self.spacer.rest();
            return Verdict::Pass;
        }
        if self.p_b >= 1.0 {
            self.spacer.rest();
            return self.forced;
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
        self.spacer.overflow();
    }

    fn on_idle(&mut self, since: Time) {
        if self.idle == Idle::Ages {
            self.avg.idle(since);
        }
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("avg", "packets", self.avg.get());
        out.value("p", "1", self.p_b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{QueueView, Seed};
    use quell_units::{BitRate, Bytes, Packets};

    const LINK: Link = Link {
        rate: BitRate::from_bps(10_000_000),
        buffer: QueueSize::Packets(100.0),
        mean_packet: Bytes::new(1000),
    };

    /// An hour of silence takes the average to nothing, or leaves it where it was, as under a shaper of Linux, which
    /// asks no empty queue.
    #[test]
    fn an_idle_time_ages_the_average_or_does_not() {
        let after = |idle| {
            let params = RedParams { weight: Weight::Value(0.5), idle, ..Default::default() };
            let mut red = params.build(&LINK).unwrap();
            let mut rng = Seed(1).stream("red");
            let mut arrive = |seconds: u64, packets: u32| {
                let queue = QueueView {
                    packets: Packets::new(packets),
                    bytes: Bytes::new(u64::from(packets) * 1000),
                    head_since: None,
                    link_rate: None,
                };
                let now = Time::from_nanos(seconds * 1_000_000_000);
                let _ = red.on_enqueue(&mut Ctx::new(now, queue, &mut rng), &PacketMeta::default());
                if packets == 0 {
                    red.average()
                } else {
                    red.on_idle(now);
                    0.0
                }
            };
            arrive(0, 8);
            arrive(3600, 0)
        };
        assert_eq!([Idle::Ages, Idle::Keeps].map(after), [0.0, 2.0]);
    }

    #[test]
    fn one_draw_for_each_gap_is_of_packets() {
        let params =
            RedParams { spacing: Spacing::OneDraw, signal: SignalMode::BySize, ..Default::default() };
        assert_eq!(params.build(&LINK).unwrap_err().field, "spacing");
    }
}
