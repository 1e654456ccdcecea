//! Curvy RED in a dual queue: two queues for two kinds of congestion control, coupled by the averaged delay
//! of one (RFC 9332 Appendix B).
//!
//! As in DualPI2, packets of L4S senders wait in a queue L that goes first, all others in the Classic queue C. What
//! couples the two is the average delay of C, beyond a threshold and over a range: as it is, it marks L; as its
//! square, it signals C.
//!
//! What the RFC leaves open, and what this file does:
//! - Fig. 9 prints `minTh = 500 ms`, beyond the limit of 250 ms: no packet of C would ever be signaled. It is
//!   taken for 500 us.
//! - The scheduler chooses between queues in which something waits, see `dualpi2`; the default is the
//!   time-shifted FIFO, as in Fig. 10.
//! - Q_C is updated when a packet leaves C, with the delay of that packet, and stays while C is empty: Fig. 10 has
//!   no other place. So L is marked for C's last congestion until C is used again.
//! - `maxrand(U) < p` is drawn as one number below p^U, which has the same probability.
//! - Overload is not in the pseudo-code (B.1), and not here: L4S packets at 1.2 times a link of 10 Mbit/s take three
//!   quarters of a Classic 1 Mbit/s at the limit.
//! - Packets that wait in the queue that is not theirs (section 2.5.1.1) are signaled as in `dualpi2`: in L, ECT(0)
//!   is marked and Not-ECT dropped with the square of half the probability; in C, ECT(1) is marked with p_CL.

use alloc::vec::Vec;

use quell_units::{Duration, Time};

use crate::dualpi2::exceeds;
use crate::params::{Marks, ParamError, Remark, positive_duration, require};
use crate::part::dual_queue::{
    self, CLASSIC, Classifier, L4S, LANE_NAMES, Response, Scheduler, Service, Sorter,
};
use crate::{Cause, Discipline, LanesCtx, Link, Next, PacketMeta, Probe, Verdict, params};

params! {
    /// Curvy RED's parameters.
    pub struct CurvyRedParams {
        /// Which packets enter the L queue: "ect1" (ECT(1) and CE), "any-ect" (all ECN-capable ones), "dscp" (by dscp
        /// alone), or "off" (none, so L4S is disabled).
        classifier: Classifier = Classifier::Ect1, unit "name", source "RFC 9332 Fig. 3";
        /// Packets with this DSCP also enter the L queue, whatever their ECN field.
        dscp: Option<u32> = None, unit "1", source "RFC 9332 section 2.3: optional";
        /// Coupling factor k' as a power of two: 1 for a factor of 2.
        coupling: i32 = 1, unit "powers of 2", source "RFC 9332 Fig. 9";
        /// Weight g_C of a packet's delay in the average, as a power of one half.
        weight: u32 = 5, unit "powers of 1/2", source "RFC 9332 Fig. 9";
        /// Range of the Classic queue's ramp in seconds, S_C, as a power of two.
        scale: i32 = -1, unit "powers of 2", source "RFC 9332 Fig. 9";
        /// Average delay of the Classic queue up to which nothing is signaled (minTh).
        min_th: Duration = Duration::from_micros(500), unit "s", source "RFC 9332 Fig. 9, which prints ms";
        /// Delay of the L queue above which each of its packets is marked (T).
        step: Duration = Duration::from_millis(1), unit "s", source "RFC 9332 Fig. 9";
        /// Curviness of the two ramps (U): with 1, the L queue's is linear and the Classic queue's is quadratic.
        curviness: u32 = 1, unit "1", source "RFC 9332 Appendix B.1";
        /// Which queue is served when packets wait in both: "ts-fifo" (time-shifted FIFO) or "wrr" (weighted round
        /// robin).
        scheduler: Scheduler = Scheduler::TsFifo, unit "name", source "RFC 9332 Fig. 10";
        /// The Classic queue's share of the link under wrr.
        c_weight: f64 = 0.0625, unit "1", source "RFC 9332 Appendix B.1, note 2 (1/16)";
        /// Extra time that a Classic packet waits under ts-fifo, compared with a packet in the L queue.
        tshift: Duration = Duration::from_millis(50), unit "s", source "RFC 9332 Fig. 9";
        /// Capacity of both queues together, as the time in which the link sends it, but at least two packets of 1500
        /// bytes; arrivals beyond it are dropped.
        limit: Duration = Duration::from_millis(250), unit "s", source "RFC 9332 Fig. 9";
    }
}

impl CurvyRedParams {
    /// Those of the L queue have a probability of their own.
    pub fn marks(&self) -> Marks {
        self.classifier.marks()
    }

    /// The parameters that have no effect where no packet is marked.
    pub fn of_marks(&self) -> &'static [&'static str] {
        match self.dscp {
            None => &["classifier", "coupling", "step", "scheduler", "c_weight", "tshift"],
            Some(_) => &["classifier", "coupling", "step"],
        }
    }

    /// What may surprise on a link.
    pub fn remarks(&self, _: &Link) -> Vec<Remark> {
        let of_l = ["coupling", "step", "scheduler", "c_weight", "tshift"];
        dual_queue::remarks(self, (self.classifier, self.dscp), self.scheduler, &of_l)
    }

    /// Curvy RED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: an exponent or a weight outside its range, a limit of
    /// nothing, a classifier without its code point.
    pub fn build(&self, link: &Link) -> Result<CurvyRed, ParamError> {
        const SOURCE: &str = "RFC 9332 Fig. 9";
        link.check()?;
        let exponent = |field, x: i32| {
            require((-30..=30).contains(&x), field, x, "must lie in [-30, 30] [RFC 9332 Fig. 9]")
        };
        exponent("coupling", self.coupling)?;
        exponent("scale", self.scale)?;
        require!(self.weight <= 30, self.weight, "must lie in [0, 30] [RFC 9332 Fig. 9]")?;
        require!(
            (1..=16).contains(&self.curviness),
            self.curviness,
            "must lie in [1, 16] [RFC 9332 Appendix B.1]"
        )?;
        let longest = Duration::from_secs(3600);
        for (field, time) in [("min_th", self.min_th), ("step", self.step)] {
            require(time <= longest, field, time, "must be at most 1 h [RFC 9332 Fig. 9]")?;
        }
        positive_duration("limit", self.limit, SOURCE)?;
        let limit = (self.limit.as_secs_f64() * link.rate.bytes_per_sec()).max(3000.0);
        Ok(CurvyRed {
            sorter: Sorter::new(self.classifier, self.dscp)?,
            service: Service::new(self.scheduler, self.c_weight, self.tshift, link)?,
            gamma: libm::exp2(-f64::from(self.weight)),
            min_th: self.min_th.as_secs_f64(),
            range_c: libm::exp2(f64::from(self.scale)),
            range_l: libm::exp2(f64::from(self.scale - self.coupling)),
            k: libm::exp2(f64::from(self.coupling)),
            step: self.step,
            curviness: self.curviness,
            limit,
            average: 0.0,
        })
    }
}

/// Curvy RED's state.
#[derive(Clone, Debug)]
pub struct CurvyRed {
    sorter: Sorter,
    service: Service,
    gamma: f64,
    /// Threshold in seconds, as the ranges are.
    min_th: f64,
    range_c: f64,
    range_l: f64,
    k: f64,
    step: Duration,
    curviness: u32,
    /// Limit in bytes.
    limit: f64,
    /// Q_C, the averaged delay of the Classic queue in seconds.
    average: f64,
}

impl CurvyRed {
    /// The probability with which the L queue is marked for the Classic queue's delay.
    fn coupled(&self) -> f64 {
        curve(ramp(self.average, self.min_th, self.range_l), self.curviness)
    }

    /// The probability with which the Classic queue is signaled.
    fn classic(&self) -> f64 {
        curve(ramp(self.average, self.min_th, self.range_c), 2 * self.curviness)
    }
}

impl Discipline for CurvyRed {
    fn lanes(&self) -> usize {
        2
    }

    fn lane_names(&self) -> &'static [&'static str] {
        LANE_NAMES
    }

    fn classify(&mut self, _: Time, pkt: &PacketMeta) -> usize {
        self.sorter.lane(pkt)
    }

    // RFC 9332 Fig. 3.
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, _: usize, _: &PacketMeta) -> Verdict {
        if exceeds(cx.lanes.bytes, self.limit) { Verdict::Drop(Cause::Forced) } else { Verdict::Pass }
    }

    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        Next::Serve(self.service.next(cx))
    }

    // RFC 9332 Fig. 10.
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        let delay = cx.now.since(pkt.enqueued_at);
        if lane == CLASSIC {
            self.average = averaged(self.average, delay.as_secs_f64(), self.gamma);
        }
        let response = self.sorter.response(pkt);
        let p = match (lane, response) {
            (L4S, _) => {
                let p_l = if delay > self.step { 1.0 } else { self.coupled() };
                let half = p_l / self.k;
                if response == Response::Scalable { p_l } else { half * half }
            }
            (_, Response::Scalable) => self.coupled(),
            _ => self.classic(),
        };
        let verdict = match (cx.rng.chance(p), response) {
            (false, _) => Verdict::Pass,
            (true, Response::Drops) => Verdict::Drop(Cause::Early),
            (true, _) => Verdict::Signal(Cause::Early),
        };
        if !verdict.drops(pkt) {
            let other = cx.lanes.each[1 - lane].packets.get();
            self.service.sent(lane, pkt.bytes, other > 0);
        }
        verdict
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p_c", "1", self.classic());
        out.value("p_cl", "1", self.coupled());
        out.value("average_delay", "s", self.average);
        out.value("credit", "bytes", self.service.credit());
    }
}

/// RFC 9332 Fig. 10, line 9a: the average after a packet with this delay.
#[inline]
pub fn averaged(average: f64, delay: f64, gamma: f64) -> f64 {
    gamma * delay + (1.0 - gamma) * average
}

/// RFC 9332 Fig. 10, lines 5a and 10a: how far an average is beyond the threshold, in ranges, within [0, 1].
#[inline]
pub fn ramp(average: f64, min_th: f64, range: f64) -> f64 {
    ((average - min_th) / range).clamp(0.0, 1.0)
}

/// RFC 9332 Fig. 10, lines 22 to 27: the probability that the largest of `u` random numbers is below `x`.
#[inline]
pub fn curve(x: f64, u: u32) -> f64 {
    (0..u).fold(1.0, |p, _| p * x)
}

equations! {
    averaged(average, delay, gamma) -> average = averaged(average, delay, gamma);
    ramp(average, min_th, range) -> x = ramp(average, min_th, range);
    curve(x, u: u32) -> p = curve(x, u);
}
