//! COBALT: CoDel and BLUE together, as CAKE has it in each of its queues (Høiland-Jørgensen et al. 2018).
//!
//! A [CoDel](crate::codel) that keeps its count between drop states, and lets it fall at the pace at which it
//! has risen, instead of a rule for what it begins with; and a [BLUE](crate::blue) whose probability rises
//! while the buffer overflows and falls while the queue is empty, for flows that do not answer CoDel.
//!
//! The paper sketches COBALT. Its authors published it in the kernel, so what the kernel does is the algorithm here.
//! Facts about Linux are those of net/sched/sch_cake.c of 7.2.
//! - **The last packet is never dropped.** If nothing else waits in the queue, a packet may be marked but is sent,
//!   whatever CoDel and BLUE say; their state moves as if it had been dropped.
//! - One schedule serves for both: for the time from the first packet that has waited too long to the first
//!   signal, which is the interval over the square root of the count that is left, and for the spacing of
//!   signals. Without a count it is an interval from the last departure.
//! - A fresh queue has a reciprocal root of 0. So its very first signal comes with the departure after the first
//!   packet that has waited too long, and not an interval later.
//! - A packet has waited too long if it has waited longer than the target and than four packets take
//!   ([`Cobalt`]); in CAKE that shapes arrivals (`ingress`) also longer than two packets of each flow, which
//!   [`Lane::decide`] is told.
//! - While the queue is below, the count falls by one whenever a signal would have been due.
//! - A departure that was late for its signal and is not dropped moves the schedule to now: signals that were
//!   missed are not made up for. RFC 8289 makes up for them.
//! - BLUE drops ECN-capable packets as well: whom its probability meets has not answered marks. It draws only for
//!   packets that CoDel has not dropped; older kernels draw for all.
//! - A step of the probability comes no sooner than the target after the last one; the first is free.
//! - An overflow begins the drop state at once, with its first signal due.
//! - Steps of the probability are 1/256 up and 1/4096 down.
//! - The reciprocal root has 32 bits. It is exact up to a count of 15, and from there on one Newton step from the
//!   last value.
//!
//! Two things differ from Linux. An interval of more than 4.29 s loses its upper bits there, which makes it shorter
//! than it is; here it does not. And the probability falls here whenever the queue falls idle. CAKE asks a queue
//! only while another one waits, so `cake flowblind`, which has one queue, never lets its probability fall.

use alloc::vec::Vec;

use quell_units::{Bytes, Duration, Time};

use crate::codel::{Arithmetic, check_times, step_of_root};
use crate::params::{ParamError, Remark, require};
use crate::{Aqm, Cause, Ctx, Departures, Link, PacketMeta, Probe, Rng, Verdict, params};

params! {
    /// COBALT's parameters.
    pub struct CobaltParams {
        /// Delay that a standing queue may have, and the least time between two steps of BLUE.
        target: Duration = Duration::from_millis(5), unit "s", source "Høiland-Jørgensen et al. 2018: CoDel's";
        /// Time for which the delay must stay above the target, and the first spacing of signals.
        interval: Duration = Duration::from_millis(100), unit "s", source "Høiland-Jørgensen et al. 2018: CoDel's";
        /// The largest packet; nothing is signaled before the delay exceeds the time that four of them take.
        mtu: Bytes = Bytes::new(1514), unit "bytes", source "Linux, net/sched/sch_cake.c: an Ethernet frame";
        /// BLUE's step up on an overflow.
        p_inc: f64 = 1.0 / 256.0, unit "1", source "Linux, net/sched/sch_cake.c";
        /// BLUE's step down on an empty queue.
        p_dec: f64 = 1.0 / 4096.0, unit "1", source "Linux, net/sched/sch_cake.c";
    }
}

impl CobaltParams {
    /// COBALT for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a target that a full buffer does not reach, an interval that does
    /// not exceed it or that exceeds an hour, a step outside (0, 1].
    pub fn build(&self, link: &Link) -> Result<Cobalt, ParamError> {
        let law = self.law(link)?;
        let over = least_wait(law.target, link.rate.transmission_time(self.mtu), 0);
        Ok(Cobalt { law, lane: Lane::default(), over })
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Remark::on_delay("target", self.target, link).into_iter().collect()
    }

    /// The law that its lanes share on a link.
    ///
    /// # Errors
    /// Those of [`CobaltParams::build`].
    pub fn law(&self, link: &Link) -> Result<CobaltLaw, ParamError> {
        link.check()?;
        check_times(self.target, self.interval, Arithmetic::Exact)?;
        for (field, step) in [("p_inc", self.p_inc), ("p_dec", self.p_dec)] {
            require(step > 0.0 && step <= 1.0, field, step, "must lie in (0, 1]")?;
        }
        Ok(CobaltLaw { target: self.target, interval: self.interval, p_inc: self.p_inc, p_dec: self.p_dec })
    }
}

/// Parameters by which COBALT decides, for any number of lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CobaltLaw {
    /// Delay that a standing queue may have, and the least time between two steps of BLUE.
    pub target: Duration,
    /// The first spacing of signals.
    pub interval: Duration,
    /// BLUE's step up.
    pub p_inc: f64,
    /// BLUE's step down.
    pub p_dec: f64,
}

/// COBALT's state of one lane: a queue that has its link to itself, or one of many under one [`CobaltLaw`], as in
/// CAKE. The default is a lane without a past.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lane {
    /// Time at which the next signal is due, or the count falls by one.
    drop_next: Time,
    /// Time at which BLUE's probability last moved.
    stepped: Option<Time>,
    /// BLUE's probability.
    p: f64,
    count: u32,
    /// The reciprocal root of the count, in parts of 2^32; 0 before the count has moved.
    root: u32,
    dropping: bool,
}

impl Lane {
    /// Decides about a packet that leaves the head of the lane, where only one that has waited longer than
    /// `over` indicates a standing queue; see [`least_wait`]. The `last` packet of the lane is not dropped. Draws a
    /// number if BLUE's probability is not 0 and CoDel does not want to drop the packet.
    #[inline(always)]
    pub fn decide(
        &mut self,
        law: &CobaltLaw,
        now: Time,
        over: Duration,
        last: bool,
        pkt: &PacketMeta,
        rng: &mut Rng,
    ) -> Verdict {
        let due = self.is_due(now);
        let mut late = now > self.drop_next;
        if now.since(pkt.enqueued_at) > over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = control_law(now, law.interval, self.root);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut verdict = Verdict::Pass;
        if due && self.dropping {
            verdict = Verdict::Signal(Cause::Early);
            self.move_count(law, self.count.saturating_add(1));
            late = now > self.drop_next;
        } else if due {
            while self.is_due(now) {
                self.move_count(law, self.count - 1);
            }
            late = now > self.drop_next;
        }
        let wanted =
            if !verdict.drops(pkt) && rng.chance(self.p) { Verdict::Drop(Cause::Early) } else { verdict };
        let drops = wanted.drops(pkt);
        if self.count == 0 {
            self.drop_next = now + law.interval;
        } else if late && !drops {
            self.drop_next = now;
        }
        if !(drops && last) {
            return wanted;
        }
        // What is kept from being dropped keeps its mark.
        if verdict.drops(pkt) { Verdict::Pass } else { verdict }
    }

    /// A packet of the lane was dropped for want of room.
    pub fn full(&mut self, law: &CobaltLaw, now: Time) {
        if self.may_step(law, now) {
            self.p = raised(self.p, law.p_inc);
            self.stepped = Some(now);
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The lane was to be served at `now`, or fell idle then, and is empty.
    #[inline]
    pub fn empty(&mut self, law: &CobaltLaw, now: Time) {
        if self.p > 0.0 && self.may_step(law, now) {
            self.p = lowered(self.p, law.p_dec);
            self.stepped = Some(now);
        }
        self.dropping = false;
        if self.is_due(now) {
            self.move_count(law, self.count - 1);
        }
    }

    /// Tells whether an empty lane has nothing left to remember at `now`.
    #[inline]
    pub fn is_at_rest(&self, now: Time) -> bool {
        self.p <= 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// BLUE's probability.
    pub fn p(&self) -> f64 {
        self.p
    }

    /// CoDel's count: the n-th signal from a lane without a past leaves n + 1.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Tells whether it is in the drop state.
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    #[inline]
    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    #[inline]
    fn move_count(&mut self, law: &CobaltLaw, count: u32) {
        self.count = count;
        self.root = inverse_root(self.root, count);
        self.drop_next = control_law(self.drop_next, law.interval, self.root);
    }

    #[inline]
    fn may_step(&self, law: &CobaltLaw, now: Time) -> bool {
        self.stepped.is_none_or(|last| now.since(last) > law.target)
    }
}

/// COBALT's state for one queue.
#[derive(Clone, Debug)]
pub struct Cobalt {
    law: CobaltLaw,
    lane: Lane,
    /// A packet that has waited longer has waited too long.
    over: Duration,
}

impl Aqm for Cobalt {
    #[inline]
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let last = cx.queue.packets.get() == 0;
        self.lane.decide(&self.law, cx.now, self.over, last, pkt, cx.rng)
    }

    #[inline]
    fn departures(&self) -> Departures {
        Departures::Decided
    }

    fn on_overflow(&mut self, cx: &mut Ctx<'_>, _: &PacketMeta) {
        self.lane.full(&self.law, cx.now);
    }

    fn on_idle(&mut self, since: Time) {
        self.lane.empty(&self.law, since);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.lane.p());
        out.value("dropping", "1", f64::from(self.lane.is_dropping()));
        out.value("count", "1", f64::from(self.lane.count()));
    }
}

/// Linux, net/sched/sch_cake.c: the wait beyond which a packet has waited too long, where the largest takes
/// `mtu_time` and so many `flows` have a standing queue.
#[inline]
pub fn least_wait(target: Duration, mtu_time: Duration, flows: u32) -> Duration {
    target.max(mtu_time * 4).max(mtu_time * (2 * u64::from(flows)))
}

/// Linux, net/sched/sch_cake.c: `t + interval * root / 2^32`.
#[inline]
pub fn control_law(t: Time, interval: Duration, root: u32) -> Time {
    t + Duration::from_nanos(((u128::from(interval.nanos()) * u128::from(root)) >> 32) as u64)
}

/// Linux, net/sched/sch_cake.c: the reciprocal root of a new `count` in parts of 2^32, where `root` is that of the last
/// one: from a table for small counts, and by one [`newton_step`] for others.
#[inline]
pub fn inverse_root(root: u32, count: u32) -> u32 {
    match ROOTS.get(count as usize) {
        Some(exact) => *exact,
        None => newton_step(root, count),
    }
}

/// The reciprocal roots of small counts, `2^32 / sqrt(count)`; the largest number for 0.
const ROOTS: [u32; 16] = [
    u32::MAX,
    u32::MAX,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// Linux, net/sched/sch_cake.c: one Newton step toward the reciprocal root of `count`: `x (3 - count x^2) / 2`, in parts
/// of 2^32.
#[inline]
pub fn newton_step(root: u32, count: u32) -> u32 {
    step_of_root(root, count)
}

/// Feng et al. 1999b: one step up.
#[inline]
pub fn raised(p: f64, step: f64) -> f64 {
    (p + step).min(1.0)
}

/// Feng et al. 1999b: one step down.
#[inline]
pub fn lowered(p: f64, step: f64) -> f64 {
    (p - step).max(0.0)
}

equations! {
    least_wait(target: Duration, mtu_time: Duration, flows: u32) -> wait =
        least_wait(target, mtu_time, flows).as_secs_f64();
    control_law(t: Duration, interval: Duration, root: u32) -> next =
        control_law(Time::ZERO + t, interval, root).as_secs_f64();
    inverse_root(root: u32, count: u32) -> root = inverse_root(root, count);
    newton_step(root: u32, count: u32) -> root = newton_step(root, count);
    raised(p, step) -> p = raised(p, step);
    lowered(p, step) -> p = lowered(p, step);
}
