//! PIE: proportional integral controller enhanced (Pan et al. 2013; RFC 8033).
//!
//! Every `update_interval` the drop probability moves with the queueing delay's distance from `target` and
//! with the delay's change, in steps that shrink with the probability. Arrivals are dropped with that
//! probability, but not quite independently: neither too soon after a drop nor too late.
//!
//! What the papers leave open, and what this file does:
//! - RFC 8033 has a basic scheme (section 4, Appendix A) and options (section 5, Appendix B). The default is
//!   the basic scheme with marks (5.1), derandomization (5.4) and the capped step (5.5); `scheme` selects one of
//!   the appendices, or what Linux makes of them, and every option can be selected by itself.
//! - The decay: both delays are 0 (4.2 and Appendix A), or below half of the target (Appendix B): `decay`.
//! - A time stamp gives the delay only when a packet leaves. A link that has fallen idle has no delay,
//!   so the sample is 0 from then on; the RFC would keep the last one indefinitely.
//! - Dequeue rate: section 5.2 counts the packet with which a measurement begins, and its "else" would end
//!   every measurement at the next packet. This file follows Appendix B: it counts what departs after
//!   the first packet, and takes the first sample unweighted. A measurement during which the queue
//!   empties is discarded.
//! - Until the dequeue rate has been measured the delay counts as 0, as in Appendix B: the probability is 0,
//!   and the burst allowance stays whole. It does not make PIE inactive.
//! - The probability is not scaled by a packet's size, which Appendix B mentions and RFC 7567 section 4.4,
//!   advises against.
//! - The burst allowance is checked before a packet is judged (4.4, Appendix A), so protected packets
//!   do not count toward derandomization; Appendix B judges them first.
//! - A signal resets the accumulated probability, whether it is a mark, a drop, or a loss to a full buffer.
//!   Read literally, Appendix B loses the packets that it marks.
//! - The current delay at an arrival is what a sample would give at that time.
//! - The host detects a full buffer: an arrival that does not fit is judged first.
//! - Activation: at an arrival that finds the share of the buffer taken (5.3; Appendix B counts the arrival).
//!   PIE becomes inactive at an update, when the probability is 0 and both delays are below half of the
//!   target (5.3), or both are 0 (Appendix B, which, checked at every arrival, would end it at the arrival
//!   that began it): `turn_off`.
//! - Updates come at multiples of the interval, even if PIE becomes active in between.
//! - Other intervals or targets need other gains (4.2); they are not adapted.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use quell_units::{Bytes, Duration, Packets, Time};

use crate::params::{Marks, ParamError, ParamValue, Remark, in_range, positive_duration, require};
use crate::part::Ticker;
use crate::{Aqm, Cause, Ctx, Departures, Link, PacketMeta, Probe, QueueView, Verdict, params};

choice! {
    /// A published scheme; see [`Options`].
    pub enum Scheme {
        /// RFC 8033 section 4 with sections 5.1, 5.4 and 5.5.
        Standard = "standard",
        /// RFC 8033 Appendix A.
        Basic = "basic",
        /// RFC 8033 Appendix B.
        Enhanced = "enhanced",
        /// Linux, net/sched/sch_pie.c.
        Linux = "linux",
    }
}

choice! {
    /// Source of the queueing delay.
    pub enum DelayFrom {
        /// Time stamps: how long the last departure has waited (RFC 8033 Appendix A).
        Departures = "departures",
        /// The queue over the rate at which it drains, as measured (RFC 8033 section 5.2).
        DequeueRate = "dequeue-rate",
        /// The queue over the link's rate (RFC 8033 section 6).
        LinkRate = "link-rate",
    }
}

choice! {
    /// Condition under which the probability decays.
    pub enum Decay {
        /// Both delays are 0 (RFC 8033 section 4.2).
        Empty = "empty",
        /// Both delays are below half of the target (RFC 8033 Appendix B).
        BelowHalf = "below-half",
    }
}

choice! {
    /// Condition under which PIE becomes inactive, if it can.
    pub enum TurnOff {
        /// The probability is 0 and both delays are below half of the target (RFC 8033 section 5.3).
        BelowHalf = "below-half",
        /// All three are 0 (RFC 8033 Appendix B).
        Empty = "empty",
    }
}

params! {
    /// PIE's parameters.
    pub struct PieParams {
        /// Published scheme that supplies the parameters left out below: "standard", "basic", "enhanced" or
        /// "linux".
        scheme: Scheme = Scheme::Standard, unit "name", source "RFC 8033 sections 4, 5.1, 5.4 and 5.5";
        /// Delay to hold (QDELAY_REF).
        target: Duration = Duration::from_millis(15), unit "s", source "RFC 8033 section 4.2";
        /// Time between two updates of the probability (T_UPDATE).
        update_interval: Duration = Duration::from_millis(15), unit "s", source "RFC 8033 section 4.2";
        /// Gain of the delay's distance from the target, per update.
        alpha: f64 = 0.125, unit "1/s", source "RFC 8033 Appendix A";
        /// Gain of the delay's change since the last update.
        beta: f64 = 1.25, unit "1/s", source "RFC 8033 Appendix A";
        /// How long the onset of congestion passes without signals (MAX_BURST).
        max_burst: Duration = Duration::from_millis(150), unit "s", source "RFC 8033 section 4.4";
        /// Probability at or above which ECN-capable packets are dropped, too; left out: 0.1, basic 0.
        mark_ecnth: Option<f64> = None, unit "1", source "RFC 8033 section 5.1";
        /// Source of the delay: time stamps of "departures", the measured "dequeue-rate", or the "link-rate";
        /// left out: departures, in the enhanced scheme dequeue-rate.
        delay_from: Option<DelayFrom> = None, unit "name", source "RFC 8033 Appendices A and B";
        /// Bytes whose departure is timed when the rate is measured (DQ_THRESHOLD).
        dq_threshold: Bytes = Bytes::new(1 << 14), unit "bytes", source "RFC 8033 section 5.2";
        /// Keeps drops from coming too close together or too far apart; left out: true, in the basic scheme
        /// false.
        derandomize: Option<bool> = None, unit "true or false", source "RFC 8033 section 5.4";
        /// Limits an upward step to 0.02 when the probability is 0.1 or more; left out: true, in the basic scheme
        /// false.
        cap: Option<bool> = None, unit "true or false", source "RFC 8033 section 5.5";
        /// Condition under which the probability decays: both delays are 0 ("empty") or below half of the
        /// target ("below-half"); left out: empty, in the enhanced scheme below-half.
        decay: Option<Decay> = None, unit "name", source "RFC 8033 section 4.2, Appendix B";
        /// Share of the buffer at which PIE becomes active; at 0 it always is. Left out: 0, enhanced 1/3.
        activate_at: Option<f64> = None, unit "1", source "RFC 8033 section 5.3: optional";
        /// Condition under which it becomes inactive: the probability is 0 and both delays are below half of
        /// the target ("below-half") or 0 ("empty").
        turn_off: TurnOff = TurnOff::BelowHalf, unit "name", source "RFC 8033 section 5.3; empty in Appendix B";
    }
}

/// Options in which the schemes differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Probability at or above which ECN-capable packets are dropped, too.
    pub mark_ecnth: f64,
    /// Source of the delay.
    pub delay_from: DelayFrom,
    /// Keeps signals from coming too close together or too far apart.
    pub derandomize: bool,
    /// Caps the steps.
    pub cap: bool,
    /// Condition under which the probability decays.
    pub decay: Decay,
    /// Share of the buffer at which PIE becomes active.
    pub activate_at: f64,
}

impl Scheme {
    /// Options of the scheme.
    pub fn options(self) -> Options {
        let standard = Options {
            mark_ecnth: 0.1,
            delay_from: DelayFrom::Departures,
            derandomize: true,
            cap: true,
            decay: Decay::Empty,
            activate_at: 0.0,
        };
        match self {
            Scheme::Standard | Scheme::Linux => standard,
            Scheme::Basic => Options { mark_ecnth: 0.0, derandomize: false, cap: false, ..standard },
            Scheme::Enhanced => Options {
                delay_from: DelayFrom::DequeueRate,
                decay: Decay::BelowHalf,
                activate_at: 1.0 / 3.0,
                ..standard
            },
        }
    }
}

impl PieParams {
    /// Marks nothing if `mark_ecnth` is 0: every probability exceeds it.
    pub fn marks(&self) -> Marks {
        if self.options().mark_ecnth > 0.0 { Marks::Alike } else { Marks::Nothing }
    }

    /// The options given, and the scheme's for those left out.
    pub fn options(&self) -> Options {
        let scheme = self.scheme.options();
        Options {
            mark_ecnth: self.mark_ecnth.unwrap_or(scheme.mark_ecnth),
            delay_from: self.delay_from.unwrap_or(scheme.delay_from),
            derandomize: self.derandomize.unwrap_or(scheme.derandomize),
            cap: self.cap.unwrap_or(scheme.cap),
            decay: self.decay.unwrap_or(scheme.decay),
            activate_at: self.activate_at.unwrap_or(scheme.activate_at),
        }
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        let mut all: Vec<Remark> = Remark::on_delay("target", self.target, link).into_iter().collect();
        let options = self.options();
        if options.delay_from != DelayFrom::DequeueRate {
            let by = format!("delay_from = {}", options.delay_from.show());
            let why = "no rate is measured; set delay_from = \"dequeue-rate\"";
            all.extend(Remark::on_all_void(self, &["dq_threshold"], &by, why));
        }
        if options.activate_at == 0.0 {
            let why = "it is always active; give activate_at a share of the buffer";
            all.extend(Remark::on_all_void(self, &["turn_off"], "activate_at = 0", why));
        }
        all
    }

    /// The parameters that have no effect where no packet is marked.
    pub fn of_marks(&self) -> &'static [&'static str] {
        &["mark_ecnth"]
    }

    /// PIE for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a target that a full buffer does not reach, a gain or a share
    /// outside its range, a measurement of more than 64 KiB.
    pub fn build(&self, link: &Link) -> Result<Pie, ParamError> {
        const SOURCE: &str = "RFC 8033 section 4.2";
        link.check()?;
        let options = self.options();
        positive_duration("target", self.target, SOURCE)?;
        in_range("alpha", self.alpha, 0.0, 1e6, SOURCE)?;
        require!(
            self.alpha > 0.0,
            self.alpha,
            "must be positive: nothing else brings the delay to the target"
        )?;
        in_range("beta", self.beta, 0.0, 1e6, SOURCE)?;
        require!(self.max_burst <= Duration::from_secs(3600), self.max_burst, "must be at most 1 h")?;
        in_range("mark_ecnth", options.mark_ecnth, 0.0, 1.0, "RFC 8033 section 5.1")?;
        require!(
            (1..=1 << 16).contains(&self.dq_threshold.get()),
            self.dq_threshold,
            "must lie in [1 B, 65536 B]: over 65536 it is the weight of a measurement [RFC 8033 section 5.2]"
        )?;
        require!(
            (0.0..1.0).contains(&options.activate_at),
            options.activate_at,
            "must lie in [0, 1) [RFC 8033 section 5.3]"
        )?;
        let linux = self.scheme == Scheme::Linux;
        let fixed = |field, ok: bool, value: String| {
            require(
                ok || !linux,
                field,
                value,
                "is what scheme = \"linux\" fixes: leave it out, or give another scheme",
            )
        };
        fixed("delay_from", options.delay_from == DelayFrom::Departures, options.delay_from.show())?;
        fixed("decay", options.decay == Decay::Empty, options.decay.show())?;
        fixed("activate_at", options.activate_at == 0.0, options.activate_at.show())?;
        Ok(Pie {
            law: PieLaw {
                alpha: self.alpha,
                beta: self.beta,
                target: self.target.as_secs_f64(),
                cap: options.cap,
                decay: options.decay,
            },
            mark_ecnth: options.mark_ecnth,
            derandomize: options.derandomize,
            max_burst: self.max_burst,
            activate_at: options.activate_at * link.buffer.in_bytes(link.mean_packet),
            turn_off: self.turn_off,
            delay_from: options.delay_from,
            link: *link,
            ticker: Ticker::new("update_interval", self.update_interval)?,
            active: options.activate_at == 0.0,
            p: 0.0,
            accumulated: 0.0,
            burst_allowance: self.max_burst,
            waited: 0.0,
            delay_old: 0.0,
            drain: Drain::new(self.dq_threshold),
            linux: linux.then(Linux::default),
        })
    }
}

/// PIE's state.
#[derive(Clone, Debug)]
pub struct Pie {
    law: PieLaw,
    mark_ecnth: f64,
    derandomize: bool,
    max_burst: Duration,
    /// Backlog in bytes at which it becomes active.
    activate_at: f64,
    turn_off: TurnOff,
    delay_from: DelayFrom,
    link: Link,
    ticker: Ticker,
    active: bool,
    p: f64,
    /// The sum of the probabilities of the arrivals since the last signal.
    accumulated: f64,
    burst_allowance: Duration,
    /// Waiting time of the last departure in seconds; 0 once the link is idle.
    waited: f64,
    /// The delay at the last update, in seconds.
    delay_old: f64,
    drain: Drain,
    linux: Option<Linux>,
}

/// Additional state of Linux's PIE.
#[derive(Clone, Copy, Debug, Default)]
struct Linux {
    /// The last departure since the burst allowance was restored.
    last: Option<Time>,
}

impl Pie {
    /// The delay in seconds, if it is known.
    #[inline]
    fn delay(&self, queue: &QueueView) -> Option<f64> {
        match self.delay_from {
            DelayFrom::Departures => Some(self.waited),
            DelayFrom::DequeueRate => self.drain.delay(queue.bytes),
            DelayFrom::LinkRate => {
                let rate = queue.link_rate.unwrap_or(self.link.rate);
                Some(rate.transmission_time(queue.bytes).as_secs_f64())
            }
        }
    }

    /// Tells whether updates depend on departures, and not on what waits.
    #[inline]
    pub fn follows_departures(&self) -> bool {
        self.delay_from == DelayFrom::Departures && self.linux.is_none()
    }

    /// Performs an update, except that the next one is not scheduled.
    #[inline(always)]
    pub fn update(&mut self, queue: &QueueView) {
        if self.linux.is_some() {
            return self.linux_update(queue);
        }
        if !self.active {
            return;
        }
        self.burst_allowance -= self.ticker.interval();
        let Some(delay) = self.delay(queue) else { return };
        self.p = self.law.next_p(self.p, delay, self.delay_old);
        if self.activate_at > 0.0 && self.is_over(delay) {
            self.active = false;
            self.drain.stop();
        }
        self.delay_old = delay;
    }

    /// So many updates in a row, all after the last event, with an empty queue unless PIE
    /// [follows departures](Self::follows_departures). PIE is one that is always active.
    #[inline]
    pub fn make_up(&mut self, updates: u64) {
        debug_assert!(self.active && self.activate_at == 0.0);
        if self.linux.is_some() {
            return self.linux_make_up(updates);
        }
        self.burst_allowance -= self.ticker.interval() * updates;
        if let Some(delay) = self.idle_delay() {
            self.p = self.law.p_after(self.p, delay, self.delay_old, updates);
            self.delay_old = delay;
        }
    }

    /// Its probability after them.
    #[inline]
    pub fn p_after(&self, updates: u64) -> f64 {
        if self.linux.is_some() {
            let mut later = self.clone();
            later.linux_make_up(updates);
            return later.p;
        }
        self.idle_delay().map_or(self.p, |delay| self.law.p_after(self.p, delay, self.delay_old, updates))
    }

    /// The delay of an empty queue, if it is known.
    #[inline]
    fn idle_delay(&self) -> Option<f64> {
        match self.delay_from {
            DelayFrom::Departures => Some(self.waited),
            DelayFrom::DequeueRate => self.drain.delay(Bytes::new(0)),
            DelayFrom::LinkRate => Some(0.0),
        }
    }

    /// RFC 8033 Appendix B: begins with nothing measured.
    fn activate(&mut self, now: Time) {
        self.active = true;
        self.p = 0.0;
        self.accumulated = 0.0;
        self.delay_old = 0.0;
        self.burst_allowance = self.max_burst;
        self.drain.restart(now);
    }

    /// RFC 8033 section 4.4: no congestion at all.
    #[inline]
    fn is_calm(&self, delay: f64) -> bool {
        self.p == 0.0 && below_half(delay, self.delay_old, self.law.target)
    }

    /// RFC 8033 section 5.3 or Appendix B: congestion is over.
    fn is_over(&self, delay: f64) -> bool {
        match self.turn_off {
            TurnOff::BelowHalf => self.is_calm(delay),
            TurnOff::Empty => self.p == 0.0 && delay == 0.0 && self.delay_old == 0.0,
        }
    }

    /// Decides whether this arrival is signaled.
    #[inline]
    fn signals(&mut self, cx: &mut Ctx<'_>) -> bool {
        if bypasses(self.p, self.delay_old, self.law.target, cx.queue.bytes, self.link.mean_packet) {
            return false;
        }
        self.judges(cx)
    }

    /// Decides whether this arrival is signaled, now that it may be.
    #[inline]
    fn judges(&mut self, cx: &mut Ctx<'_>) -> bool {
        if !self.derandomize {
            return cx.rng.chance(self.p);
        }
        self.accumulated = if self.p == 0.0 { 0.0 } else { self.accumulated + self.p };
        cx.rng.chance(derandomized(self.p, self.accumulated))
    }

    /// Linux, net/sched/sch_pie.c: what it does with an arrival.
    #[inline(never)]
    fn linux_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        if !self.burst_allowance.is_zero()
            || linux_bypasses(self.p, self.waited, self.law.target, cx.queue.bytes)
        {
            return Verdict::Pass;
        }
        if !self.judges(cx) {
            return Verdict::Pass;
        }
        let verdict = match self.p <= self.mark_ecnth {
            true => Verdict::Signal(Cause::Early),
            false => Verdict::Drop(Cause::Early),
        };
        // A mark that is certain leaves the sum as it is, and the next arrival is certain as well.
        if verdict.drops(pkt) || derandomized(self.p, self.accumulated) < 1.0 {
            self.accumulated = 0.0;
        }
        verdict
    }

    /// Likewise with a departure: it takes from the burst allowance what has passed since the last one.
    fn linux_dequeue(&mut self, last: Option<Time>, cx: &Ctx<'_>, enqueued_at: Time) {
        self.waited = match cx.queue.bytes.get() {
            0 => 0.0,
            _ => cx.now.since(enqueued_at).as_secs_f64(),
        };
        if let Some(last) = last {
            self.burst_allowance -= cx.now.since(last);
        }
        self.linux = Some(Linux { last: Some(cx.now) });
    }

    /// Likewise at an update.
    fn linux_update(&mut self, queue: &QueueView) {
        let delay = self.waited;
        let small = delay == 0.0 && queue.bytes.get() > 0;
        self.p = self.law.linux_next_p(self.p, delay, self.delay_old, small);
        if self.is_calm(delay) {
            self.burst_allowance = self.max_burst;
            self.accumulated = 0.0;
            self.linux = Some(Linux::default());
        }
        self.delay_old = delay;
    }

    /// So many updates of an empty queue, the last of whose departures left nothing behind and therefore says that
    /// there is no delay. Once they have taken everything back, others change nothing.
    #[inline(never)]
    fn linux_make_up(&mut self, updates: u64) {
        const EMPTY: QueueView =
            QueueView { packets: Packets::new(0), bytes: Bytes::new(0), head_since: None, link_rate: None };
        debug_assert!(self.waited == 0.0 || updates == 0);
        for _ in 0..updates {
            let is_last = self.p == 0.0 && self.delay_old == 0.0;
            self.linux_update(&EMPTY);
            if is_last {
                break;
            }
        }
    }
}

impl Aqm for Pie {
    delegate!(ticker: next_update);

    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        if self.linux.is_some() {
            // A copy, so that `pkt` itself need not be in memory.
            return self.linux_enqueue(cx, &{ *pkt });
        }
        if !self.active {
            if (cx.queue.bytes.get() as f64) < self.activate_at {
                return Verdict::Pass;
            }
            self.activate(cx.now);
        }
        if self.p == 0.0 && self.delay(&cx.queue).is_none_or(|delay| self.is_calm(delay)) {
            self.burst_allowance = self.max_burst;
        }
        if !self.burst_allowance.is_zero() || !self.signals(cx) {
            return Verdict::Pass;
        }
        self.accumulated = 0.0;
        if self.p < self.mark_ecnth { Verdict::Signal(Cause::Early) } else { Verdict::Drop(Cause::Early) }
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        match (self.linux, self.delay_from) {
            (Some(Linux { last }), _) => self.linux_dequeue(last, cx, pkt.enqueued_at),
            (_, DelayFrom::Departures) => self.waited = cx.now.since(pkt.enqueued_at).as_secs_f64(),
            _ => self.drain.depart(cx.now, pkt.bytes, cx.queue.bytes),
        }
        Verdict::Pass
    }

    #[inline]
    fn departures(&self) -> Departures {
        match self.delay_from {
            DelayFrom::LinkRate => Departures::Ignored,
            _ => Departures::Watched,
        }
    }

    fn on_overflow(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) {
        self.accumulated = 0.0;
    }

    #[inline]
    fn on_idle(&mut self, _: Time) {
        self.waited = 0.0;
        self.drain.stop();
    }

    #[inline]
    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        self.ticker.advance();
        self.update(&cx.queue);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p);
        out.value("delay", "s", self.delay_old);
        out.value("burst_allowance", "s", self.burst_allowance.as_secs_f64());
        out.value("accumulated", "1", self.accumulated);
    }
}

/// Parameters of the control law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieLaw {
    /// Gain of the distance from the target, per second.
    pub alpha: f64,
    /// Gain of the change, per second.
    pub beta: f64,
    /// The target delay in seconds.
    pub target: f64,
    /// Steps are capped.
    pub cap: bool,
    /// Condition under which the probability decays.
    pub decay: Decay,
}

impl PieLaw {
    /// RFC 8033 sections 4.2 and 5.5: the step of the probability.
    #[inline]
    pub fn step(&self, p: f64, delay: f64, delay_old: f64) -> f64 {
        self.scaled(p, self.distance(delay, delay_old))
    }

    #[inline]
    fn distance(&self, delay: f64, delay_old: f64) -> f64 {
        self.alpha * (delay - self.target) + self.beta * (delay - delay_old)
    }

    #[inline]
    fn scaled(&self, p: f64, distance: f64) -> f64 {
        match p >= 0.1 {
            // The scale is 1.
            true if self.cap => distance.min(0.02),
            true => distance,
            false => scale(p) * distance,
        }
    }

    /// RFC 8033 section 4.2: the next probability.
    #[inline]
    pub fn next_p(&self, p: f64, delay: f64, delay_old: f64) -> f64 {
        self.moved(p, self.distance(delay, delay_old), self.kept(delay, delay_old))
    }

    /// Share of the probability that the decay leaves.
    #[inline]
    fn kept(&self, delay: f64, delay_old: f64) -> f64 {
        let decays = match self.decay {
            Decay::Empty => delay == 0.0 && delay_old == 0.0,
            Decay::BelowHalf => below_half(delay, delay_old, self.target),
        };
        if decays { 0.98 } else { 1.0 }
    }

    #[inline]
    fn moved(&self, p: f64, distance: f64, kept: f64) -> f64 {
        (kept * (p + self.scaled(p, distance))).clamp(0.0, 1.0)
    }

    /// The probability after so many steps of which the first begins at `delay_old` and all end at `delay`.
    #[inline(always)]
    pub fn p_after(&self, p: f64, delay: f64, delay_old: f64, steps: u64) -> f64 {
        if steps == 0 {
            return p;
        }
        let mut p = self.next_p(p, delay, delay_old);
        let (distance, kept) = (self.distance(delay, delay), self.kept(delay, delay));
        for _ in 1..steps {
            let next = self.moved(p, distance, kept);
            if next == p {
                break;
            }
            p = next;
        }
        p
    }

    /// Linux, net/sched/sch_pie.c: a step is 0.02 longer while the delay exceeds 250 ms, the decay takes a
    /// 64th, and with a queue too `small` to have a delay there is none.
    pub fn linux_next_p(&self, p: f64, delay: f64, delay_old: f64, small: bool) -> f64 {
        let beyond = if delay > 0.25 { 0.02 } else { 0.0 };
        let next = (p + self.step(p, delay, delay_old) + beyond).clamp(0.0, 1.0);
        let decays = delay == 0.0 && delay_old == 0.0 && !small;
        if decays { next - next / 64.0 } else { next }
    }
}

/// RFC 8033 section 4.2: what the gains are multiplied by, by the probability.
#[inline]
pub fn scale(p: f64) -> f64 {
    // The usual ones first.
    if p >= 1e-1 {
        1.0
    } else if p >= 1e-2 {
        1.0 / 2.0
    } else {
        scale_of_small(p)
    }
}

#[inline(never)]
fn scale_of_small(p: f64) -> f64 {
    const STEPS: [(f64, f64); 4] =
        [(1e-3, 1.0 / 8.0), (1e-4, 1.0 / 32.0), (1e-5, 1.0 / 128.0), (1e-6, 1.0 / 512.0)];
    STEPS.iter().find(|(from, _)| p >= *from).map_or(1.0 / 2048.0, |(_, scale)| *scale)
}

/// RFC 8033 section 4.4: both delays are below half of the target.
#[inline]
pub fn below_half(delay: f64, delay_old: f64, target: f64) -> bool {
    delay < 0.5 * target && delay_old < 0.5 * target
}

/// RFC 8033 section 4.1: nothing is signaled while the last delay is below half of the target and the
/// probability below 0.2, or two packets of mean size or less wait.
#[inline]
pub fn bypasses(p: f64, delay_old: f64, target: f64, queue: Bytes, mean_packet: Bytes) -> bool {
    (delay_old < 0.5 * target && p < 0.2) || queue.get() <= 2 * mean_packet.get()
}

/// Linux, net/sched/sch_pie.c: likewise, by the wait of the last departure, and while less than two packets of
/// the interface's size wait.
#[inline]
pub fn linux_bypasses(p: f64, delay: f64, target: f64, queue: Bytes) -> bool {
    /// An Ethernet frame of the usual size, without its checksum.
    const MTU: u64 = 1514;
    (delay < 0.5 * target && p < 0.2) || queue.get() < 2 * MTU
}

/// RFC 8033 section 5.4: the probability of an arrival with which the sum since the last signal has come
/// to `accumulated`.
#[inline]
pub fn derandomized(p: f64, accumulated: f64) -> f64 {
    if accumulated < 0.85 {
        0.0
    } else if accumulated >= 8.5 {
        1.0
    } else {
        p
    }
}

/// Times how long DQ_THRESHOLD bytes take to leave (RFC 8033 section 5.2 and Appendix B).
#[derive(Clone, Debug)]
struct Drain {
    threshold: u64,
    /// Mean time that they take, in seconds.
    time: Option<f64>,
    /// Start of the current measurement.
    since: Option<Time>,
    /// Bytes that have left since.
    left: u64,
}

impl Drain {
    fn new(threshold: Bytes) -> Self {
        Drain { threshold: threshold.get(), time: None, since: None, left: 0 }
    }

    /// Forgets its measurements, and measures from `now`.
    fn restart(&mut self, now: Time) {
        (self.time, self.since, self.left) = (None, Some(now), 0);
    }

    /// Discards the current measurement.
    fn stop(&mut self) {
        self.since = None;
    }

    /// A packet leaves, and `queue` remains.
    fn depart(&mut self, now: Time, bytes: Bytes, queue: Bytes) {
        if let Some(since) = self.since {
            self.left += bytes.get();
            if self.left >= self.threshold {
                let sample = now.since(since).as_secs_f64();
                self.time = Some(dequeue_time(self.time, sample, self.threshold));
                self.since = None;
            }
        }
        if self.since.is_none() && queue.get() >= self.threshold {
            (self.since, self.left) = (Some(now), 0);
        }
    }

    fn delay(&self, queue: Bytes) -> Option<f64> {
        self.time.map(|time| drained_delay(queue, time, self.threshold))
    }
}

/// RFC 8033 Appendix B: the mean time in which the threshold's bytes leave, with a sample.
pub fn dequeue_time(mean: Option<f64>, sample: f64, threshold: u64) -> f64 {
    let weight = threshold as f64 / 65536.0;
    mean.map_or(sample, |mean| sample * weight + mean * (1.0 - weight))
}

/// RFC 8033 section 5.2: Little's law, in seconds.
pub fn drained_delay(queue: Bytes, time: f64, threshold: u64) -> f64 {
    queue.get() as f64 * time / threshold as f64
}

equations! {
    PieLaw::step(alpha, beta, target, cap: bool, p, delay, delay_old) -> step =
        PieLaw { alpha, beta, target, cap, decay: Decay::Empty }.step(p, delay, delay_old);
    PieLaw::next_p(alpha, beta, target, cap: bool, decay: Decay, p, delay, delay_old) -> p =
        PieLaw { alpha, beta, target, cap, decay }.next_p(p, delay, delay_old);
    scale(p) -> scale = scale(p);
    below_half(delay, delay_old, target) -> below = below_half(delay, delay_old, target);
    bypasses(p, delay_old, target, queue: Bytes, mean_packet: Bytes) -> bypasses =
        bypasses(p, delay_old, target, queue, mean_packet);
    linux_bypasses(p, delay, target, queue: Bytes) -> bypasses = linux_bypasses(p, delay, target, queue);
    PieLaw::linux_next_p(alpha, beta, target, p, delay, delay_old, small: bool) -> p =
        PieLaw { alpha, beta, target, cap: true, decay: Decay::Empty }.linux_next_p(p, delay, delay_old, small);
    derandomized(p, accumulated) -> p = derandomized(p, accumulated);
    dequeue_time(mean: Option<f64>, sample, threshold: u64) -> time = dequeue_time(mean, sample, threshold);
    drained_delay(queue: Bytes, time, threshold: u64) -> delay = drained_delay(queue, time, threshold);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ecn, Seed};
    use alloc::vec::Vec;
    use quell_units::{BitRate, Packets, QueueSize};

    /// A queue of fifty packets, and PIE in congestion with probability `p`.
    fn congested(params: PieParams, p: f64) -> (Pie, QueueView) {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(500.0),
            mean_packet: Bytes::new(1000),
        };
        let mut pie = params.build(&link).unwrap();
        (pie.p, pie.delay_old, pie.waited) = (p, 0.04, 0.04);
        pie.burst_allowance = Duration::ZERO;
        let queue = QueueView {
            packets: Packets::new(50),
            bytes: Bytes::new(50_000),
            head_since: None,
            link_rate: None,
        };
        (pie, queue)
    }

    #[test]
    fn an_arrival_with_which_the_sum_is_8_5_is_signaled_for_certain_and_marked_below_the_threshold() {
        let mut rng = Seed(1).stream("pie");
        for (p, want) in [(0.09, Verdict::Signal(Cause::Early)), (0.1, Verdict::Drop(Cause::Early))] {
            let (mut pie, queue) = congested(PieParams::default(), p);
            pie.accumulated = 8.5;
            let pkt = PacketMeta { bytes: Bytes::new(1000), ecn: Ecn::Ect0, ..Default::default() };
            let mut cx = Ctx::new(Time::ZERO, queue, &mut rng);
            assert_eq!(pie.on_enqueue(&mut cx, &pkt), want);
            assert_eq!(pie.accumulated, 0.0);
            assert_eq!(pie.on_enqueue(&mut cx, &pkt), Verdict::Pass, "0.85 is far");
        }
    }

    /// What FQ-PIE leaves out while a queue is empty is what as many updates would have done, to the last bit.
    #[test]
    fn updates_of_an_empty_queue_are_made_up_for_in_linux_too() {
        for updates in [0, 1, 2, 3, 40, 500, 100_000] {
            for (p, delay_old) in [(1.0, 0.3), (0.3, 0.04), (1e-5, 0.02), (0.0, 0.02), (0.0, 0.0)] {
                let (mut pie, mut queue) =
                    congested(PieParams { scheme: Scheme::Linux, ..Default::default() }, p);
                (pie.delay_old, pie.waited, pie.accumulated) = (delay_old, 0.0, 0.5);
                pie.linux = Some(Linux { last: Some(Time::ZERO) });
                (queue.packets, queue.bytes) = (Packets::new(0), Bytes::new(0));
                let mut one_by_one = pie.clone();
                (0..updates).for_each(|_| one_by_one.update(&queue));
                assert_eq!(pie.p_after(updates), one_by_one.p);
                pie.make_up(updates);
                let state = |pie: &Pie| {
                    let last = pie.linux.unwrap().last;
                    (pie.p, pie.delay_old, pie.burst_allowance, pie.accumulated, last)
                };
                assert_eq!(state(&pie), state(&one_by_one), "{updates} updates from {p}");
            }
        }
    }

    /// RFC 8033 section 4.1: below half of the target and below 0.2, or at two packets or less.
    #[test]
    fn an_arrival_bypasses_below_half_of_the_target_and_below_0_2() {
        let (two, more) = (Bytes::new(2000), Bytes::new(2001));
        let bypasses = |p: f64, delay: f64, queue: Bytes| bypasses(p, delay, 0.015, queue, Bytes::new(1000));
        assert!(bypasses(0.2_f64.next_down(), 0.0075_f64.next_down(), more));
        assert!(!bypasses(0.2, 0.0, more));
        assert!(!bypasses(0.0, 0.0075, more));
        assert!(bypasses(1.0, 1.0, two));
        assert!(!linux_bypasses(0.2, 0.0, 0.015, Bytes::new(3028)));
        assert!(linux_bypasses(0.2, 0.0, 0.015, Bytes::new(3027)));
    }

    /// RFC 8033 Appendix B: without a measurement the delay is 0, and nothing is congested.
    #[test]
    fn light_load_leaves_the_burst_allowance_whole_before_the_rate_is_measured() {
        let params = PieParams { delay_from: Some(DelayFrom::DequeueRate), ..Default::default() };
        let (_, queue) = congested(params.clone(), 0.0);
        let link = Link {
            rate: BitRate::from_bps(8_000_000),
            buffer: QueueSize::Packets(500.0),
            mean_packet: Bytes::new(1000),
        };
        let mut pie = params.build(&link).unwrap();
        let mut rng = Seed(1).stream("pie");
        let short = QueueView { packets: Packets::new(1), bytes: Bytes::new(1000), ..queue };
        for _ in 0..100 {
            let due = pie.next_update().unwrap();
            pie.on_update(&mut Ctx::new(due, short, &mut rng));
            let mut cx = Ctx::new(due, short, &mut rng);
            assert_eq!(pie.on_enqueue(&mut cx, &PacketMeta::default()), Verdict::Pass);
            assert_eq!(pie.burst_allowance, params.max_burst);
        }
    }

    /// Arrivals between two signals, of which there are 20 000, at probability 0.05.
    fn gaps(derandomize: bool) -> Vec<u32> {
        let (mut pie, queue) =
            congested(PieParams { derandomize: Some(derandomize), ..Default::default() }, 0.05);
        let mut rng = Seed(1).stream("pie");
        let (mut all, mut gap) = (Vec::new(), 0);
        while all.len() < 20_000 {
            gap += 1;
            let mut cx = Ctx::new(Time::ZERO, queue, &mut rng);
            if pie.on_enqueue(&mut cx, &PacketMeta::default()) != Verdict::Pass {
                all.push(gap);
                gap = 0;
            }
        }
        all
    }

    #[test]
    fn signals_are_0_85_to_8_5_mean_gaps_apart_and_otherwise_geometric() {
        let mean = |all: &[u32]| all.iter().map(|g| f64::from(*g)).sum::<f64>() / all.len() as f64;
        let free = gaps(false);
        assert!(free.contains(&1) && (mean(&free) - 20.0).abs() < 0.6, "{}", mean(&free));
        let bounded = gaps(true);
        let (least, most) = (*bounded.iter().min().unwrap(), *bounded.iter().max().unwrap());
        assert!((17..=18).contains(&least) && (160..=171).contains(&most), "{least} to {most}");
        // Sixteen are passed over; geometric from there on.
        assert!((mean(&bounded) - 36.0).abs() < 1.0, "{}", mean(&bounded));
    }
}
