//! A step: every packet that a scalable congestion control has sent is marked beyond a threshold, and no other
//! (RFC 9331 section 5.2, RFC 9332 section 2.1, and RFC 8257 section 3.1 for data centers).
//!
//! Nothing is averaged: senders such as DCTCP and Prague do that. What is not marked is never dropped
//! either, so packets of other senders meet a FIFO that only its buffer limits.
//!
//! What the RFCs leave open, and what this file does:
//! - A threshold in time is compared with how long a packet has waited when it leaves, one in packets or bytes
//!   with what waits when it arrives. The first is what L4S queues do, the second what switches for DCTCP do.
//! - More than the threshold is needed (RFC 8257 section 3.1: "greater than K").
//! - RFC 9332 Appendix A has a ramp instead, of which this is the limit; Linux's DualPI2 has a step of 1 ms.

use alloc::vec::Vec;

use quell_units::{Duration, QueueSize};

use crate::params::{self as parameters, ParamError, Remark, positive_queue};
use crate::part::Gauge;
use crate::{Aqm, Cause, Ctx, Departures, Ecn, Link, PacketMeta, Probe, Verdict, params};

choice! {
    /// Packets that are marked.
    pub enum Marks {
        /// ECT(1) (RFC 9331 section 5.1).
        Ect1 = "ect1",
        /// All that are ECN-capable (RFC 8257 section 3.1).
        Ect = "ect",
    }
}

params! {
    /// The step's parameters.
    pub struct StepParams {
        /// Waiting time above which a packet is marked; left out: 1 ms, unless queue is given.
        delay: Option<Duration> = None, unit "s", source "Linux, net/sched/sch_dualpi2.c: 1 ms";
        /// Queue length at which an arrival is marked, instead of a delay.
        queue: Option<QueueSize> = None, unit "packets or bytes", source "RFC 8257 section 3.1: K";
        /// Which packets are marked: those with ECT(1) ("ect1"), or all ECN-capable ones ("ect").
        marks: Marks = Marks::Ect1, unit "name", source "RFC 9331 section 5.1";
    }
}

/// The threshold without one.
const DELAY: Duration = Duration::from_millis(1);

impl StepParams {
    /// Those that it is told to mark.
    pub fn marks(&self) -> parameters::Marks {
        match self.marks {
            Marks::Ect1 => parameters::Marks::Ect1,
            Marks::Ect => parameters::Marks::Alike,
        }
    }

    /// The parameters that have no effect where no packet is marked: it does nothing else.
    pub fn of_marks(&self) -> &'static [&'static str] {
        &["delay", "marks"]
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        let Self { delay, queue, .. } = *self;
        let remark = match queue {
            Some(queue) => Remark::on_queue("queue", queue, link),
            None => Remark::on_delay("delay", delay.unwrap_or(DELAY), link),
        };
        remark.into_iter().collect()
    }

    /// The step for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a queue of nothing, or two thresholds.
    pub fn build(&self, link: &Link) -> Result<Step, ParamError> {
        link.check()?;
        let threshold = match (self.delay, self.queue) {
            (Some(delay), Some(queue)) => {
                let rule = alloc::format!("give it or delay ({delay}), not both");
                return Err(ParamError::new("queue", queue, rule));
            }
            (None, Some(queue)) => {
                Threshold::Queue(Gauge::of(queue, link), positive_queue("queue", queue, link)?)
            }
            (delay, None) => Threshold::Delay(delay.unwrap_or(DELAY)),
        };
        Ok(Step { threshold, marks: self.marks, marked: false })
    }
}

#[derive(Clone, Copy, Debug)]
enum Threshold {
    Delay(Duration),
    /// Gauge of the queue, and the packets beyond which an arrival is marked.
    Queue(Gauge, f64),
}

/// The step's state.
#[derive(Clone, Debug)]
pub struct Step {
    threshold: Threshold,
    marks: Marks,
    /// The last packet was beyond the threshold.
    marked: bool,
}

impl Step {
    #[inline]
    fn judge(&mut self, beyond: bool, pkt: &PacketMeta) -> Verdict {
        self.marked = beyond;
        let concerned = match self.marks {
            Marks::Ect1 => pkt.ecn == Ecn::Ect1,
            Marks::Ect => pkt.ecn.is_capable(),
        };
        if beyond && concerned { Verdict::Signal(Cause::Forced) } else { Verdict::Pass }
    }
}

impl Aqm for Step {
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        match self.threshold {
            Threshold::Delay(_) => Verdict::Pass,
            Threshold::Queue(gauge, threshold) => self.judge(gauge.read(&cx.queue) > threshold, pkt),
        }
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        match self.threshold {
            Threshold::Delay(threshold) => self.judge(cx.now.since(pkt.enqueued_at) > threshold, pkt),
            Threshold::Queue(..) => Verdict::Pass,
        }
    }

    #[inline]
    fn departures(&self) -> Departures {
        match self.threshold {
            Threshold::Delay(_) => Departures::Decided,
            Threshold::Queue(..) => Departures::Ignored,
        }
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("beyond", "1", f64::from(self.marked));
    }
}
