//! CoDel: controlled delay (Nichols and Jacobson 2012; RFC 8289).
//!
//! A queue is bad when even its least delay stays above `target` for an `interval`. From then on
//! packets are dropped as they leave, `interval / sqrt(count)` apart, at ever shorter intervals, until
//! a packet has waited less than `target`. Only the waiting time matters, not the length of the queue
//! or the rate of the link.
//!
//! What the papers leave open, and what this file does:
//! - RFC 8289 section 5.5, drops in a loop. Here the host asks again after a drop, so every packet is
//!   decided in its own call; the time of the next drop is set when the packet after a drop shows that
//!   the drop state continues, as there. The packet after the first drop is sent in any case. If it shows that
//!   the state does not continue, that ends with it, and not with the one after it; no packet is treated
//!   differently.
//! - The pseudo-code drops; sections 1 and 4.5 speak of marks as well. A marked packet leaves, so there is no further
//!   packet to ask about: the time of the next mark is set at once, and one departure is marked at most
//!   once. If the schedule is behind, the next departure is marked as well.
//! - `maxpacket` is 512 in section 5.3, which adds that it should be the MTU; section 4.1 allows the
//!   largest packet seen so far, the default here, or what the interface says: `mtu`. Section 4.1 drops
//!   if at least an MTU remains, the pseudo-code only if more remains; this file follows the
//!   pseudo-code.
//! - `now - drop_next` is negative if the drop state returns before the pending drop was due. That
//!   counts as recent.
//! - The first spacing is the interval; the factor of up to 1.2 of section 4.5 is left out.
//! - `interval / sqrt(count)` is exact to the nanosecond. With `arithmetic = "linux"` it has 16 bits of the reciprocal
//!   root and a clock of 1.024 us, of which the law takes one at least; after 256 drops in a row a packet is sent and
//!   the schedule restarts (include/net/codel.h and codel_impl.h of Linux 7.2).
//! - `ce_threshold` is not CoDel's, but a step for DCTCP beside it, which FQ-CoDel has (RFC 8290 section
//!   5.2.7): a packet that CoDel lets pass is marked if it has waited longer. It never drops.

use alloc::vec::Vec;

use quell_units::{Bytes, Duration, Time};

use crate::params::{ParamError, Remark, positive_duration, require};
use crate::{Aqm, Cause, Ctx, Departures, Link, PacketMeta, Probe, Verdict, params};

choice! {
    /// Arithmetic of times and of the reciprocal root of the count.
    pub enum Arithmetic {
        /// Exact to the nanosecond.
        Exact = "exact",
        /// Linux 7.2's arithmetic: times in steps of 1024 ns, 16 bits of the reciprocal root, which one Newton
        /// step moves with the count, at most 256 drops in a row, and a signal only after the interval has been
        /// exceeded.
        Linux = "linux",
    }
}

choice! {
    /// What an empty queue remembers of the time for which it stood.
    pub enum OnEmpty {
        /// Nothing (RFC 8289 section 5.6; Linux 7.2).
        Forgets = "forgets",
        /// That it stood, so that it may be signaled as soon as it stands again (Linux before March 2026).
        Keeps = "keeps",
    }
}

params! {
    /// CoDel's parameters.
    pub struct CodelParams {
        /// Delay that a standing queue may have: 5 to 10% of the interval.
        target: Duration = Duration::from_millis(5), unit "s", source "RFC 8289 section 4.3";
        /// Time for which the delay must stay above the target, and the first spacing of drops: about the longest round-trip time.
        interval: Duration = Duration::from_millis(100), unit "s", source "RFC 8289 section 4.2";
        /// A packet is not signaled if at most this many bytes would be left waiting for the link; left out: the
        /// largest packet seen so far.
        mtu: Option<Bytes> = None, unit "bytes", source "RFC 8289 section 4.1";
        /// An ECN-capable packet that has waited longer than this is always marked; left out: none is.
        ce_threshold: Option<Duration> = None, unit "s", source "RFC 8290 section 5.2.7: off by default";
        /// Arithmetic of times and roots: "exact", or with the clock steps and 16-bit roots of "linux".
        arithmetic: Arithmetic = Arithmetic::Exact, unit "name", source "RFC 8289 section 5.6; Linux, include/net/codel.h";
        /// What a queue that empties remembers about having stood: nothing ("forgets"), or that it stood ("keeps").
        on_empty: OnEmpty = OnEmpty::Forgets, unit "name", source "RFC 8289 section 5.6; Linux, include/net/codel_impl.h";
    }
}

impl CodelParams {
    /// The parameters that have no effect where no packet is marked.
    pub fn of_marks(&self) -> &'static [&'static str] {
        &["ce_threshold"]
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        let threshold = self.ce_threshold.and_then(|t| Remark::on_delay("ce_threshold", t, link));
        Remark::on_delay("target", self.target, link).into_iter().chain(threshold).collect()
    }

    /// CoDel for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: an interval that does not exceed the target or that exceeds an
    /// hour.
    pub fn build(&self, link: &Link) -> Result<Codel, ParamError> {
        link.check()?;
        check_times(self.target, self.interval, self.arithmetic)?;
        let law = CodelLaw::new(self.target, self.interval, self.arithmetic, self.on_empty);
        let ce_threshold = self.ce_threshold.map(|t| self.arithmetic.steps(t));
        Ok(Codel { law, mtu: Mtu::new(self.mtu), state: CodelState::default(), ce_threshold })
    }
}

/// CoDel for one FIFO.
#[derive(Clone, Debug)]
pub struct Codel {
    law: CodelLaw,
    mtu: Mtu,
    state: CodelState,
    ce_threshold: Option<Duration>,
}

/// Refuses a target of nothing, and an interval that does not exceed it or is longer than an hour. Linux takes any
/// interval.
pub(super) fn check_times(
    target: Duration,
    interval: Duration,
    arithmetic: Arithmetic,
) -> Result<(), ParamError> {
    positive_duration("target", target, "RFC 8289 section 4.3")?;
    let as_linux = arithmetic == Arithmetic::Linux && !interval.is_zero();
    let rule = alloc::format!("must exceed target ({target}) [RFC 8289 section 4.3]");
    require(interval > target || as_linux, "interval", interval, rule)?;
    require!(interval <= Duration::from_secs(3600), interval, "must be at most 1 h")
}

/// Parameters by which CoDel decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodelLaw {
    /// Delay that a standing queue may have.
    pub target: Duration,
    /// Time for which it must last, and the first spacing of signals.
    pub interval: Duration,
    /// Arithmetic of times and roots.
    pub arithmetic: Arithmetic,
    /// What an empty queue remembers.
    pub on_empty: OnEmpty,
}

impl CodelLaw {
    /// The law of these parameters, in the steps of their arithmetic.
    pub fn new(target: Duration, interval: Duration, arithmetic: Arithmetic, on_empty: OnEmpty) -> Self {
        let (target, interval) = (arithmetic.steps(target), arithmetic.steps(interval));
        CodelLaw { target, interval, arithmetic, on_empty }
    }

    /// `t + interval / sqrt(count)`, for a lane that keeps Linux's reciprocal root of its count.
    #[inline]
    fn next(&self, t: Time, count: u32, root: u16) -> Time {
        match self.arithmetic {
            Arithmetic::Exact => control_law(t, self.interval, count),
            Arithmetic::Linux => linux_control_law(t, self.interval, root),
        }
    }
}

/// Linux's clock: its nanoseconds without the last 10 bits.
const STEP: u64 = 1 << 10;

impl Arithmetic {
    /// A duration in whole steps of the clock.
    pub fn steps(self, d: Duration) -> Duration {
        match self {
            Arithmetic::Exact => d,
            Arithmetic::Linux => Duration::from_nanos(d.nanos() / STEP * STEP),
        }
    }

    /// Reads the clock.
    #[inline]
    pub fn clock(self, now: Time) -> Time {
        match self {
            Arithmetic::Exact => now,
            Arithmetic::Linux => Time::from_nanos(now.nanos() / STEP * STEP),
        }
    }

    /// Waiting time of a packet, by that clock.
    #[inline]
    pub fn sojourn(self, now: Time, enqueued_at: Time) -> Duration {
        self.clock(now).since(self.clock(enqueued_at))
    }
}

/// Bytes that stay in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Mtu {
    bytes: u64,
    /// It is the largest packet seen so far.
    adapts: bool,
}

impl Mtu {
    /// RFC 8289 section 4.1: what is given, or the largest packet seen so far.
    pub fn new(given: Option<Bytes>) -> Self {
        Mtu { bytes: given.map_or(0, Bytes::get), adapts: given.is_none() }
    }

    /// A packet arrives.
    #[inline]
    pub fn see(&mut self, pkt: &PacketMeta) {
        if self.adapts {
            self.bytes = self.bytes.max(pkt.bytes.get());
        }
    }

    /// The size in bytes.
    #[inline]
    pub fn get(self) -> u64 {
        self.bytes
    }
}

/// CoDel's state of a queue.
#[derive(Clone, Debug, Default)]
pub struct CodelState {
    /// Start of the time in which every departure had waited for the target or longer.
    above_since: Option<Time>,
    phase: Phase,
    drop_next: Time,
    /// Signals in this drop state, continued from the last one if that was recent.
    count: u32,
    /// Its value when this drop state began.
    last_count: u32,
    /// Linux's reciprocal root of `count`, in parts of 2^16.
    root: u16,
    /// Drops in a row in the drop state.
    row: u16,
}

/// Linux 7.2, include/net/codel.h: drops in a row before a packet is sent.
const MOST_IN_A_ROW: u16 = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    /// No standing queue.
    #[default]
    Passing,
    /// The drop state, with `drop_next` set, has begun with a drop: the next packet is sent.
    Entered,
    /// The drop state, with `drop_next` set.
    Dropping,
    /// The drop state; `drop_next` is set if the next packet stays in it.
    Dropped,
}

impl CodelState {
    /// Decides whether the packet that leaves the queue `now` is signaled. The packet has waited for
    /// `sojourn` and leaves `left` bytes waiting for the link. A signal drops it if `drops`, and marks it
    /// otherwise.
    #[inline]
    pub fn signals(
        &mut self,
        law: &CodelLaw,
        now: Time,
        sojourn: Duration,
        left: u64,
        mtu: Mtu,
        drops: bool,
    ) -> bool {
        if !standing(sojourn, law.target, left, mtu.get()) {
            self.forget();
            return false;
        }
        self.signals_standing(law, now, drops)
    }

    /// [`CodelState::signals`] of a packet that indicates a standing queue.
    fn signals_standing(&mut self, law: &CodelLaw, now: Time, drops: bool) -> bool {
        let now = law.arithmetic.clock(now);
        // RFC 8289 section 5.6: the standing queue has lasted for an interval.
        let since = *self.above_since.get_or_insert(now);
        let lasted = match law.arithmetic {
            Arithmetic::Exact => now.since(since) >= law.interval,
            Arithmetic::Linux => now.since(since) > law.interval,
        };
        if !lasted {
            self.phase = Phase::Passing;
            return false;
        }
        match self.phase {
            Phase::Passing => {
                self.enter(law, now, drops);
                return true;
            }
            Phase::Entered => {
                self.phase = Phase::Dropping;
                return false;
            }
            Phase::Dropped => {
                self.drop_next = law.next(self.drop_next, self.count, self.root);
                self.phase = Phase::Dropping;
            }
            Phase::Dropping => self.row = 0,
        }
        if now < self.drop_next {
            return false;
        }
        if law.arithmetic == Arithmetic::Linux && self.row >= MOST_IN_A_ROW {
            self.drop_next = law.next(now, self.count, self.root);
            return false;
        }
        self.count = self.count.saturating_add(1);
        if law.arithmetic == Arithmetic::Linux {
            self.root = newton_step(self.root, self.count);
        }
        if drops {
            self.row = self.row.saturating_add(1);
            self.phase = Phase::Dropped;
        } else {
            self.drop_next = law.next(self.drop_next, self.count, self.root);
        }
        true
    }

    /// RFC 8289 section 5.5: the drop state begins with a drop, or a mark.
    fn enter(&mut self, law: &CodelLaw, now: Time, drops: bool) {
        let recent = now.since(self.drop_next) < law.interval * 16;
        self.count = first_count(self.count, self.last_count, recent);
        self.last_count = self.count;
        if law.arithmetic == Arithmetic::Linux {
            // A count that is continued moves the root of the last one by a single step.
            self.root = if self.count > 1 { newton_step(self.root, self.count) } else { u16::MAX };
        }
        self.drop_next = law.next(now, self.count, self.root);
        self.phase = if drops { Phase::Entered } else { Phase::Dropping };
    }

    /// The queue is found empty.
    #[inline]
    pub fn empty(&mut self, law: &CodelLaw) {
        // A drop that leaves the queue empty has seen that it does not stand.
        if law.on_empty == OnEmpty::Forgets || matches!(self.phase, Phase::Entered | Phase::Dropped) {
            self.above_since = None;
        }
        self.phase = Phase::Passing;
    }

    /// The queue does not stand.
    #[inline]
    fn forget(&mut self) {
        self.above_since = None;
        self.phase = Phase::Passing;
    }

    /// A packet was dropped for want of room, and that counts as a signal (Linux's fq_codel).
    pub fn hurry(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// Tells whether it is in the drop state.
    pub fn is_dropping(&self) -> bool {
        self.phase != Phase::Passing
    }

    /// Signals in the last drop state.
    pub fn count(&self) -> u32 {
        self.count
    }
}

impl Aqm for Codel {
    fn on_inherit(&mut self, pkt: &PacketMeta) {
        self.mtu.see(pkt);
    }

    #[inline]
    fn on_enqueue(&mut self, _: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.mtu.see(pkt);
        Verdict::Pass
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let sojourn = self.law.arithmetic.sojourn(cx.now, pkt.enqueued_at);
        let (left, drops) = (cx.link_backlog.get(), !pkt.ecn.is_capable());
        if self.state.signals(&self.law, cx.now, sojourn, left, self.mtu, drops) {
            return Verdict::Signal(Cause::Early);
        }
        match self.ce_threshold {
            Some(threshold) if sojourn > threshold && !drops => Verdict::Signal(Cause::Forced),
            _ => Verdict::Pass,
        }
    }

    #[inline]
    fn departures(&self) -> Departures {
        Departures::Decided
    }

    #[inline]
    fn on_idle(&mut self, _: Time) {
        self.state.empty(&self.law);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("dropping", "1", f64::from(self.state.is_dropping()));
        out.value("count", "1", f64::from(self.state.count));
    }
}

/// RFC 8289 section 5.6: a packet that has waited for `sojourn` and leaves `left` bytes waiting
/// for the link indicates a standing queue.
#[inline]
pub fn standing(sojourn: Duration, target: Duration, left: u64, mtu: u64) -> bool {
    sojourn >= target && left > mtu
}

/// RFC 8289 section 5.6: `t + interval / sqrt(count)`.
#[inline]
pub fn control_law(t: Time, interval: Duration, count: u32) -> Time {
    t + interval.mul_f64(1.0 / libm::sqrt(f64::from(count)))
}

/// Linux 7.2, include/net/codel_impl.h: `t + interval / sqrt(count)` with `root / 2^16` for the reciprocal root, in
/// whole steps of its clock, and one at least.
#[inline]
pub fn linux_control_law(t: Time, interval: Duration, root: u16) -> Time {
    t + Duration::from_nanos(((interval.nanos() / STEP * u64::from(root)) >> 16).max(1) * STEP)
}

/// Linux, include/net/codel_impl.h: one Newton step from the reciprocal root of the last count, in parts of
/// 2^16, toward that of `count`: `x (3 - count x^2) / 2`.
#[inline]
pub fn newton_step(root: u16, count: u32) -> u16 {
    (step_of_root(u32::from(root) << 16, count) >> 16) as u16
}

/// [`newton_step`] in parts of 2^32.
#[inline]
pub(super) fn step_of_root(root: u32, count: u32) -> u32 {
    let x = u64::from(root);
    let square = (x * x) >> 32;
    // The product has two bits less than it would, against overflow; a root far from its count wraps as in Linux.
    let rest = (3u64 << 32).wrapping_sub(u64::from(count) * square) >> 2;
    (rest.wrapping_mul(x) >> 31) as u32
}

/// RFC 8289 section 5.5: the count at which a drop state begins: where the last one ended, less what
/// it began with, if that was `recent`.
pub fn first_count(count: u32, last_count: u32, recent: bool) -> u32 {
    let delta = count - last_count;
    if delta > 1 && recent { delta } else { 1 }
}

equations! {
    standing(sojourn: Duration, target: Duration, left: u64, mtu: u64) -> standing =
        standing(sojourn, target, left, mtu);
    control_law(t: Duration, interval: Duration, count: u32) -> next =
        control_law(Time::ZERO + t, interval, count).as_secs_f64();
    linux_control_law(t: Duration, interval: Duration, root: u16) -> next =
        linux_control_law(Time::ZERO + t, interval, root).as_secs_f64();
    newton_step(root: u16, count: u32) -> root = newton_step(root, count);
    first_count(count: u32, last_count: u32, recent: bool) -> count = first_count(count, last_count, recent);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ecn, QueueView, Seed};
    use alloc::vec::Vec;
    use quell_units::{BitRate, Packets, QueueSize};

    fn link() -> Link {
        Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(500.0),
            mean_packet: Bytes::new(1000),
        }
    }

    /// The times in milliseconds at which departures, one per millisecond that has waited for 50 ms each,
    /// are signaled. The host asks again after a drop.
    fn signals(ecn: Ecn, until: u64) -> Vec<u64> {
        let mut codel = CodelParams::default().build(&link()).unwrap();
        let mut rng = Seed(1).stream("codel");
        let mut all = Vec::new();
        for ms in 100..until {
            let now = Time::from_nanos(ms * 1_000_000);
            let pkt = PacketMeta {
                bytes: Bytes::new(1000),
                enqueued_at: Time::from_nanos((ms - 50) * 1_000_000),
                ecn,
                ..Default::default()
            };
            let queue = QueueView {
                packets: Packets::new(50),
                bytes: Bytes::new(50_000),
                head_since: None,
                link_rate: None,
            };
            while codel.on_dequeue(&mut Ctx::new(now, queue, &mut rng), &pkt) != Verdict::Pass {
                all.push(ms);
                if ecn.is_capable() {
                    break;
                }
            }
        }
        all
    }

    /// How far Linux's reciprocal root is from the true one as the count grows from 1.
    #[test]
    fn linux_is_a_third_early_with_the_second_signal_and_near_from_the_third_on() {
        let mut root = u16::MAX;
        let error = |root: u16, count: u32| f64::from(root) / 65536.0 * libm::sqrt(f64::from(count)) - 1.0;
        for count in 2..=10_000 {
            root = newton_step(root, count);
            let e = error(root, count);
            match count {
                2 => assert!((-0.2929..-0.2928).contains(&e), "{e}"),
                3 => assert!((-0.0258..-0.0257).contains(&e), "{e}"),
                _ => assert!(e.abs() < 0.0245, "{e} at {count}"),
            }
        }
    }

    /// Drops and marks follow one schedule: the n-th comes the interval times the sum of 1/sqrt(i), i < n,
    /// after the first.
    #[test]
    fn the_schedule_is_the_sum_of_the_law() {
        let (drops, marks) = (signals(Ecn::NotEct, 5_100), signals(Ecn::Ect0, 5_100));
        assert_eq!(drops, marks);
        let mut due = 200.0;
        for (i, at) in drops.iter().enumerate() {
            assert_eq!(*at as f64, libm::ceil(due), "signal {i}");
            due += 100.0 / libm::sqrt((i + 1) as f64);
        }
        assert!(drops.len() > 500, "{}", drops.len());
    }
    /// RFC 8289 section 5.5: the count goes on where the last one ended if that was less than 16 intervals ago.
    #[test]
    fn after_16_intervals_the_count_begins_with_1() {
        let law = CodelLaw::new(
            Duration::from_millis(5),
            Duration::from_millis(100),
            Arithmetic::Exact,
            OnEmpty::Forgets,
        );
        let drop_next = Time::from_nanos(5_000_000_000);
        for (early, count) in [(1, 9), (0, 1)] {
            let (above_since, last_count) = (Some(drop_next), 1);
            let mut state =
                CodelState { above_since, drop_next, count: 10, last_count, ..CodelState::default() };
            let now = drop_next + (law.interval * 16 - Duration::from_nanos(early));
            assert!(state.signals(&law, now, law.target, 5000, Mtu::new(None), true));
            assert_eq!(state.count(), count, "{early} ns before");
        }
    }

    fn linux(on_empty: OnEmpty) -> CodelLaw {
        CodelLaw::new(Duration::from_millis(5), Duration::from_millis(100), Arithmetic::Linux, on_empty)
    }

    fn ms(x: u64) -> Time {
        Time::from_nanos(x * 1_000_000)
    }

    /// Linux 7.2, include/net/codel_impl.h: a batch of drops has raised the count before the first drop state, so that
    /// the reciprocal root is still 0 and stays so: every step of the clock asks for a drop.
    #[test]
    fn linux_sends_the_packet_after_the_first_drop_and_one_after_256_drops_in_a_row() {
        let law = linux(OnEmpty::Forgets);
        let mut state = CodelState::default();
        (0..38).for_each(|_| state.hurry());
        let mut stands =
            |at: Time| state.signals(&law, at, Duration::from_millis(50), 5000, Mtu::new(None), true);
        assert!(!stands(ms(900)));
        assert_eq!([stands(ms(1001)), stands(ms(1001))], [true, false], "the second packet is sent");
        // 976 steps later.
        assert_eq!((0..).take_while(|_| stands(ms(1002))).count(), 256);
        assert!(!stands(ms(1002)), "the schedule began anew");
        assert!(stands(ms(1003)));
    }

    /// Linux before March 2026: a queue that stood before it was empty is signaled as soon as it stands again.
    #[test]
    fn a_queue_that_keeps_is_signaled_at_once() {
        for (on_empty, at_once) in [(OnEmpty::Forgets, false), (OnEmpty::Keeps, true)] {
            let law = linux(on_empty);
            let mut state = CodelState::default();
            let stands = |state: &mut CodelState, at: Time, left: u64| {
                state.signals(&law, at, Duration::from_millis(50), left, Mtu::new(None), true)
            };
            assert!(!stands(&mut state, ms(500), 5000));
            state.empty(&law);
            assert_eq!(stands(&mut state, ms(2000), 5000), at_once, "{on_empty:?}");
            // A drop that empties the queue, and a packet that leaves too little, end it in any case.
            state.empty(&law);
            assert!(!stands(&mut state, ms(2200), 5000));
            assert!(!stands(&mut state, ms(2201), 0));
            state.empty(&law);
            assert!(!stands(&mut state, ms(4000), 5000));
        }
    }
}
