//! DualPI2: two queues for two kinds of congestion control, coupled (RFC 9332 Appendix A).
//!
//! Packets of L4S senders (ECT(1), CE) wait in a queue of their own, L, which is served first and marked
//! by a ramp from 0.8 to 1.2 ms of delay; all others wait in the Classic queue, C. A PI controller of the
//! queueing delay sets one base probability p': C is signaled with p'^2, L with at least k p'. As a Classic
//! sender's rate goes with the inverse root of the signals' rate and a scalable sender's with the inverse,
//! both get about as much, whatever the queue they wait in.
//!
//! What the RFC leaves open, and what this file does:
//! - p' lies in [0, 1]. p_CL = k p' is bounded by p_Lmax = 1, as the text says (A.2: all that is not dropped
//!   is marked). Unbounded, as line 4 of Fig. 8 has it, it would be added to the L queue's count twice over,
//!   and L would be dropped more often than with p_C.
//! - `recur` returns true above 1, not at 1: with a likelihood of 1 the very first packet passes.
//! - The delay of a packet that leaves L, `lq.time()` after `lq.dequeue`, is how long that packet has waited
//!   (A.1, note a), not how long the next one has.
//! - `lq.len()` is asked after `lq.dequeue` (lines 4a, 5a of Fig. 7): it does not count the packet in
//!   question. `th_len_at` has the other reading, and Linux's.
//! - The schedulers choose between queues in which something waits. Read literally, line 29 of Fig. 10
//!   chooses L when it is empty and C's head has waited less than the time shift.
//! - WRR is not given as code. Here a credit in bytes says what C is owed; it changes only while packets
//!   wait in both queues, and is reset in favor of L when the link has been idle (A.1).
//! - Unexpected packets (section 2.5.1.1): in L, ECT(0) is marked and Not-ECT dropped with a "probability
//!   appropriate to Classic congestion control", which by eq. 1 is (p_L / k)^2. ECT(1) in C is
//!   marked with p_CL.
//! - Under overload ECT(1) in C is treated as in L: dropped with p_C, and marked otherwise.
//! - With `overload` = "overflow" the shared limit drops from whichever queue a packet arrives at, whatever the scheduler
//!   owes it: L4S packets at 1.2 times a link of 10 Mbit/s take three quarters of a Classic 1 Mbit/s, where the default
//!   takes a third. A `limit` within `target` leaves dropping to the limit alone.
//! - The limit, 250 ms of the link's rate with room for one packet of 1500 bytes, is a limit of DualPI2 within the
//!   host's buffer, which the two queues share.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use quell_units::{Bytes, Duration, Time};

use crate::params::{Marks, ParamError, Remark, in_range, positive_duration};
use crate::part::Ticker;
use crate::part::dual_queue::{
    self, CLASSIC, Classifier, L4S, LANE_NAMES, Response, Scheduler, Service, Sorter, waited,
};
use crate::{Cause, Discipline, LanesCtx, Link, Next, PacketMeta, Probe, QueueView, Rng, Verdict, params};

choice! {
    /// Packets that are counted against the threshold of the L queue.
    pub enum ThLenAt {
        /// The packets that a departing one leaves behind (RFC 9332 Fig. 7, line 5a).
        Dequeue = "dequeue",
        /// The departing packet and those behind it.
        Head = "head",
        /// An arriving packet and those before it, as in Linux.
        Enqueue = "enqueue",
    }
}

choice! {
    /// Place at which the controller signals.
    pub enum SignalAt {
        /// Signals packets that leave (RFC 9332 Fig. 7).
        Dequeue = "dequeue",
        /// Signals packets that arrive, as Linux's drop_enqueue does.
        Enqueue = "enqueue",
    }
}

choice! {
    /// Treatment of ECN-capable packets once marking is saturated.
    pub enum Overload {
        /// They are dropped as if they were not (RFC 9332 Appendix A.2).
        Drop = "drop",
        /// They are marked, until the buffer is full, as Linux's overflow (RFC 9332 section 4.2.3).
        Overflow = "overflow",
    }
}

choice! {
    /// Way in which a probability becomes signals.
    pub enum Signals {
        /// Signals at even distances (RFC 9332 Fig. 4).
        Recur = "recur",
        /// Random signals, as in Linux.
        Random = "random",
    }
}

choice! {
    /// Source of a queue's delay.
    pub enum DelayFrom {
        /// Time stamps: how long its head has waited (RFC 9332 Appendix A.1).
        Sojourn = "sojourn",
        /// The backlog behind the head, divided by the link's rate (RFC 9332 Appendix A.1, note a).
        Backlog = "backlog",
    }
}

choice! {
    /// Treatment of Not-ECT packets in the L queue.
    pub enum NotEct {
        /// They are dropped, with a probability for Classic senders (RFC 9332 section 2.5.1.1).
        Drop = "drop",
        /// They pass: something else protects the L queue (RFC 9332 section 2.5.1.1).
        Pass = "pass",
    }
}

params! {
    /// DualPI2's parameters.
    pub struct DualPi2Params {
        /// Which packets enter the L queue: "ect1" (ECT(1) and CE), "any-ect" (all ECN-capable ones), "dscp" (by dscp
        /// alone), or "off" (none, so L4S is disabled).
        classifier: Classifier = Classifier::Ect1, unit "name", source "RFC 9332 Fig. 3";
        /// Packets with this DSCP also enter the L queue, whatever their ECN field.
        dscp: Option<u32> = None, unit "1", source "RFC 9332 section 2.3: optional";
        /// Coupling factor: the L queue is marked with at least k times the base probability.
        k: f64 = 2.0, unit "1", source "RFC 9332 Fig. 2";
        /// Queueing delay to hold in the Classic queue.
        target: Duration = Duration::from_millis(15), unit "s", source "RFC 9332 Fig. 2";
        /// Longest round-trip time for which the gains are stable; not used if both gains are given.
        rtt_max: Duration = Duration::from_millis(100), unit "s", source "RFC 9332 Fig. 2";
        /// Time between two updates of the base probability (Tupdate); left out: the smaller of target and rtt_max / 3. Linux: 16 ms.
        update_interval: Option<Duration> = None, unit "s", source "RFC 9332 Fig. 2";
        /// Gain of the delay's distance from the target, per update; left out: 0.1 Tupdate / rtt_max^2. Linux: 0.16.
        alpha: Option<f64> = None, unit "1/s", source "RFC 9332 Fig. 2";
        /// Gain of the delay's change since the last update; left out: 0.3 / rtt_max. Linux: 3.2.
        beta: Option<f64> = None, unit "1/s", source "RFC 9332 Fig. 2";
        /// Delay of the L queue at or above which its own AQM marks. Linux: 1 ms.
        min_th: Duration = Duration::from_micros(800), unit "s", source "RFC 9332 Fig. 2";
        /// Range of delays above min_th over which the ramp rises to marking every packet; 0 makes it a step. Linux: 0
        /// s.
        range: Duration = Duration::from_micros(400), unit "s", source "RFC 9332 Fig. 2";
        /// The L queue's own AQM marks while more packets than this wait (Th_len). Linux: 0.
        th_len: u32 = 1, unit "packets", source "RFC 9332 Fig. 2";
        /// What is compared with th_len: "dequeue" (the packets that a departing one leaves behind), "head" (these plus
        /// the departing one), or "enqueue" (the packets that it found on arrival plus itself, as in Linux).
        th_len_at: ThLenAt = ThLenAt::Dequeue, unit "name", source "RFC 9332 Fig. 7";
        /// Treatment of Not-ECT packets in the L queue: "drop", or "pass" if something else protects it.
        not_ect_in_l: NotEct = NotEct::Drop, unit "name", source "RFC 9332 section 2.5.1.1";
        /// Which queue is served when packets wait in both: "wrr" (weighted round robin) or "ts-fifo" (time-shifted
        /// FIFO).
        scheduler: Scheduler = Scheduler::Wrr, unit "name", source "RFC 9332 Appendix A.2";
        /// The Classic queue's share of the link under wrr. Linux's classic_protection: 0.1.
        c_weight: f64 = 0.0625, unit "1", source "RFC 9332 section 4.2.2 (1/16)";
        /// Extra time that a Classic packet waits under ts-fifo, compared with a packet in the L queue.
        tshift: Duration = Duration::from_millis(50), unit "s", source "RFC 9332 Appendix A.2";
        /// Where the controller signals: "dequeue", or "enqueue" (Linux's drop_enqueue).
        signal_at: SignalAt = SignalAt::Dequeue, unit "name", source "RFC 9332 Fig. 7";
        /// Treatment of ECN-capable packets once marking is saturated: "drop", or "overflow" (only a full
        /// buffer drops them).
        overload: Overload = Overload::Drop, unit "name", source "RFC 9332 Appendix A.2";
        /// Spacing of the controller's signals: "recur" (evenly) or "random" (Linux).
        signals: Signals = Signals::Recur, unit "name", source "RFC 9332 Fig. 4";
        /// Source of the delays: time stamps ("sojourn"), or the backlog divided by the link's rate
        /// ("backlog").
        delay_from: DelayFrom = DelayFrom::Sojourn, unit "name", source "RFC 9332 Appendix A.1";
        /// The controller signals no packet while fewer bytes than this wait, including the packet. Linux: 4542 B.
        min_backlog: Bytes = Bytes::new(0), unit "bytes", source "RFC 9332 Fig. 7; 2 MTU in Appendix A.1: optional";
        /// Capacity of both queues together, as the time in which the link sends it, but at least two packets of 1500
        /// bytes; arrivals beyond it are dropped.
        limit: Duration = Duration::from_millis(250), unit "s", source "RFC 9332 Fig. 2";
    }
}

/// MTU of RFC 9332, for which the limit keeps room (Fig. 3).
const MTU: u64 = 1500;

impl DualPi2Params {
    /// Those of the L queue have a probability of their own.
    pub fn marks(&self) -> Marks {
        self.classifier.marks()
    }

    /// The parameters that have no effect where no packet is marked. By a DSCP packets come into the L queue all the
    /// same, which are served by the scheduler, and dropped there unless they are to pass.
    pub fn of_marks(&self) -> &'static [&'static str] {
        match self.dscp {
            None => &[
                "classifier",
                "k",
                "min_th",
                "range",
                "th_len",
                "th_len_at",
                "scheduler",
                "c_weight",
                "tshift",
            ],
            Some(_) if self.not_ect_in_l == NotEct::Drop => &["classifier"],
            Some(_) => &["classifier", "k", "min_th", "range", "th_len", "th_len_at"],
        }
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        let limit = (self.limit <= self.target).then(|| Remark::on_limit(self.limit, self.target));
        let of_l =
            ["not_ect_in_l", "min_th", "range", "th_len", "th_len_at", "scheduler", "c_weight", "tshift"];
        let mut all: Vec<Remark> =
            Remark::on_delay("target", self.target, link).into_iter().chain(limit).collect();
        all.extend(dual_queue::remarks(self, (self.classifier, self.dscp), self.scheduler, &of_l));
        if self.alpha.is_some() && self.beta.is_some() && self.update_interval.is_some() {
            let why = "nothing else is computed from it; leave one of them out";
            all.extend(Remark::on_all_void(self, &["rtt_max"], "alpha, beta and update_interval", why));
        }
        all
    }

    /// DualPI2 for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a target that a full buffer does not reach, a gain, factor or
    /// weight outside its range, a classifier without its code point.
    pub fn build(&self, link: &Link) -> Result<DualPi2, ParamError> {
        const SOURCE: &str = "RFC 9332 Fig. 2";
        link.check()?;
        let sorter = Sorter::new(self.classifier, self.dscp)?;
        in_range("k", self.k, 0.01, 100.0, "RFC 9332 section 2.1")?;
        positive_duration("target", self.target, SOURCE)?;
        positive_duration("rtt_max", self.rtt_max, SOURCE)?;
        let interval = self.update_interval.unwrap_or(self.target.min(self.rtt_max / 3));
        let ticker = Ticker::new("update_interval", interval)?;
        let (alpha, beta) = gains(interval, self.rtt_max);
        let (alpha, beta) = (self.alpha.unwrap_or(alpha), self.beta.unwrap_or(beta));
        in_range("alpha", alpha, 1e-9, 1e9, SOURCE)?;
        in_range("beta", beta, 0.0, 1e9, SOURCE)?;
        let longest = Duration::from_secs(3600);
        require!(self.min_th <= longest, self.min_th, "must be at most 1 h [RFC 9332 Fig. 2]")?;
        require!(self.range <= longest, self.range, "must be at most 1 h [RFC 9332 Fig. 2]")?;
        positive_duration("limit", self.limit, SOURCE)?;
        // At less than 96 kbit/s 250 ms hold no two packets, and nothing would ever be sent.
        let limit = (self.limit.as_secs_f64() * link.rate.bytes_per_sec()).max(2.0 * MTU as f64);
        Ok(DualPi2 {
            sorter,
            service: Service::new(self.scheduler, self.c_weight, self.tshift, link)?,
            law: DualPi2Law { alpha, beta, target: self.target.as_secs_f64() },
            ticker,
            ramp: Ramp { min_th: self.min_th, range: self.range },
            th_len: self.th_len,
            th_len_at: self.th_len_at,
            not_ect_in_l: self.not_ect_in_l,
            signal_at: self.signal_at,
            overload: self.overload,
            signals: self.signals,
            delay_from: self.delay_from,
            min_backlog: self.min_backlog,
            limit,
            link: *link,
            k: self.k,
            p: 0.0,
            delay_old: 0.0,
            counts: [0.0; 2],
            long: VecDeque::new(),
        })
    }
}

/// DualPI2's state.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    sorter: Sorter,
    service: Service,
    law: DualPi2Law,
    ticker: Ticker,
    ramp: Ramp,
    th_len: u32,
    th_len_at: ThLenAt,
    not_ect_in_l: NotEct,
    signal_at: SignalAt,
    overload: Overload,
    signals: Signals,
    delay_from: DelayFrom,
    min_backlog: Bytes,
    /// Limit in bytes.
    limit: f64,
    link: Link,
    k: f64,
    /// p', the base probability.
    p: f64,
    /// The delay at the last update, in seconds.
    delay_old: f64,
    /// `q.count` of each lane.
    counts: [f64; 2],
    /// One entry for each packet of the L queue: it found more than `th_len`, itself included. Kept only if that
    /// is asked.
    long: VecDeque<bool>,
}

impl DualPi2 {
    /// True with a likelihood, of packets of one lane.
    #[inline]
    fn draw(&mut self, lane: usize, likelihood: f64, rng: &mut Rng) -> bool {
        match self.signals {
            Signals::Recur => {
                let (signal, count) = recur(self.counts[lane], likelihood);
                self.counts[lane] = count;
                signal
            }
            Signals::Random => rng.chance(likelihood),
        }
    }

    /// The delay of a queue.
    #[inline]
    fn delay(&self, queue: &QueueView, waited: Duration) -> Duration {
        match self.delay_from {
            DelayFrom::Sojourn => waited,
            DelayFrom::Backlog => queue.link_rate.unwrap_or(self.link.rate).transmission_time(queue.bytes),
        }
    }

    /// The verdict on a packet of the L queue whose own AQM marks with `native`; `coupled` says whether the
    /// controller has a say (RFC 9332 Fig. 7, lines 4b to 8j; section 2.5.1.1).
    #[inline(always)]
    fn judge_l(&mut self, pkt: &PacketMeta, native: f64, coupled: bool, rng: &mut Rng) -> Verdict {
        let p_cl = if coupled { coupled_probability(self.p, self.k) } else { 0.0 };
        let response = self.sorter.response(pkt);
        if p_cl >= 1.0 && self.overload == Overload::Drop {
            if self.draw(L4S, classic_probability(self.p), rng) {
                return Verdict::Drop(Cause::Early);
            }
            return Verdict::early_if(self.draw(L4S, p_cl, rng) && response != Response::Drops);
        }
        let p_l = native.max(p_cl);
        match response {
            Response::Scalable => Verdict::early_if(self.draw(L4S, p_l, rng)),
            Response::Drops if self.not_ect_in_l == NotEct::Pass => Verdict::Pass,
            // Not-ECT packets are dropped by the same signal.
            Response::Classic | Response::Drops => {
                Verdict::early_if(self.draw(L4S, classic_equivalent(p_l, self.k), rng))
            }
        }
    }

    /// The verdict on a packet of the Classic queue (RFC 9332 Fig. 7, lines 11 to 17; section 2.5.1.1).
    #[inline(always)]
    fn judge_c(&mut self, pkt: &PacketMeta, rng: &mut Rng) -> Verdict {
        let p_c = classic_probability(self.p);
        let overloaded = p_c >= most_classic(self.k) && self.overload == Overload::Drop;
        match self.sorter.response(pkt) {
            Response::Scalable if overloaded && self.draw(CLASSIC, p_c, rng) => Verdict::Drop(Cause::Early),
            Response::Scalable => {
                let p_cl = coupled_probability(self.p, self.k);
                Verdict::early_if(self.draw(CLASSIC, p_cl, rng))
            }
            response if self.draw(CLASSIC, p_c, rng) => match response {
                Response::Classic if !overloaded => Verdict::Signal(Cause::Early),
                _ => Verdict::Drop(Cause::Early),
            },
            _ => Verdict::Pass,
        }
    }

    /// Tells whether enough waits for the controller to signal a packet.
    #[inline]
    fn enough(&self, bytes: Bytes) -> bool {
        bytes >= self.min_backlog
    }
}

impl Discipline for DualPi2 {
    delegate!(ticker: next_update);

    fn lanes(&self) -> usize {
        2
    }

    fn lane_names(&self) -> &'static [&'static str] {
        LANE_NAMES
    }

    fn on_inherit(&mut self, lane: usize, _: &PacketMeta) {
        if lane == L4S && self.th_len_at == ThLenAt::Enqueue {
            self.long.push_back(true);
        }
    }

    #[inline(always)]
    fn classify(&mut self, _: Time, pkt: &PacketMeta) -> usize {
        self.sorter.lane(pkt)
    }

    // RFC 9332 Fig. 3.
    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        if exceeds(cx.lanes.bytes, self.limit) {
            return Verdict::Drop(Cause::Forced);
        }
        let verdict = match self.signal_at {
            SignalAt::Enqueue if self.enough(cx.lanes.bytes) => match lane {
                L4S => self.judge_l(pkt, 0.0, true, cx.rng),
                _ => self.judge_c(pkt, cx.rng),
            },
            _ => Verdict::Pass,
        };
        if lane == L4S && self.th_len_at == ThLenAt::Enqueue && !verdict.drops(pkt) {
            self.long.push_back(cx.lanes.each[L4S].packets.get() + 1 > self.th_len);
        }
        verdict
    }

    fn on_overflow(&mut self, _: &mut LanesCtx<'_>, lane: usize, _: &PacketMeta) {
        if lane == L4S {
            self.long.pop_back();
        }
    }

    #[inline(always)]
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        Next::Serve(self.service.next(cx))
    }

    // RFC 9332 Fig. 7.
    #[inline(always)]
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        let with = Bytes::new(cx.lanes.bytes.get() + pkt.bytes.get());
        let coupled = self.signal_at == SignalAt::Dequeue && self.enough(with);
        let verdict = if lane == L4S {
            let queue = &cx.lanes.each[L4S];
            let behind = queue.packets.get();
            let long = match self.th_len_at {
                ThLenAt::Dequeue => behind > self.th_len,
                ThLenAt::Head => behind + 1 > self.th_len,
                ThLenAt::Enqueue => self.long.pop_front().unwrap_or(true),
            };
            let delay = self.delay(queue, cx.now.since(pkt.enqueued_at));
            let native = if long { self.ramp.probability(delay) } else { 0.0 };
            self.judge_l(pkt, native, coupled, cx.rng)
        } else if coupled {
            self.judge_c(pkt, cx.rng)
        } else {
            Verdict::Pass
        };
        if !verdict.drops(pkt) {
            let other = cx.lanes.each[1 - lane].packets.get();
            self.service.sent(lane, pkt.bytes, other > 0);
        }
        verdict
    }

    // RFC 9332 Fig. 8.
    fn on_update(&mut self, cx: &mut LanesCtx<'_>) {
        self.ticker.advance();
        let delay = cx.lanes.each.iter().map(|queue| self.delay(queue, waited(cx, queue))).max();
        let delay = delay.unwrap_or(Duration::ZERO).as_secs_f64();
        self.p = self.law.next_p(self.p, delay, self.delay_old);
        if self.overload == Overload::Overflow {
            // Linux: beyond it only C would be signaled more, and the two would no longer share alike.
            self.p = self.p.min(1.0 / self.k);
        }
        self.delay_old = delay;
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p);
        out.value("p_c", "1", classic_probability(self.p));
        out.value("p_cl", "1", coupled_probability(self.p, self.k));
        out.value("delay", "s", self.delay_old);
        out.value("credit", "bytes", self.service.credit());
    }
}

/// Parameters of the controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Law {
    /// Gain of the distance from the target, per second.
    pub alpha: f64,
    /// Gain of the change, per second.
    pub beta: f64,
    /// The target delay in seconds.
    pub target: f64,
}

impl DualPi2Law {
    /// RFC 9332 Fig. 8, line 3: the next base probability.
    pub fn next_p(&self, p: f64, delay: f64, delay_old: f64) -> f64 {
        (p + self.alpha * (delay - self.target) + self.beta * (delay - delay_old)).clamp(0.0, 1.0)
    }
}

/// RFC 9332 Fig. 2, lines 13 and 14: the gains alpha and beta.
pub fn gains(interval: Duration, rtt_max: Duration) -> (f64, f64) {
    let rtt_max = rtt_max.as_secs_f64();
    (0.1 * interval.as_secs_f64() / (rtt_max * rtt_max), 0.3 / rtt_max)
}

/// RFC 9332 Fig. 2, line 11: the probability at which the Classic queue is overloaded.
#[inline]
pub fn most_classic(k: f64) -> f64 {
    (1.0 / (k * k)).min(1.0)
}

/// RFC 9332 Fig. 8, line 4: the probability coupled to the L queue, at most p_Lmax.
#[inline]
pub fn coupled_probability(p: f64, k: f64) -> f64 {
    (k * p).min(1.0)
}

/// RFC 9332 Fig. 8, line 5: the probability of the Classic queue.
#[inline]
pub fn classic_probability(p: f64) -> f64 {
    p * p
}

/// RFC 9332 eq. 1: the probability for a Classic sender where a scalable one has `p_l`.
#[inline]
pub fn classic_equivalent(p_l: f64, k: f64) -> f64 {
    let p = p_l / k;
    (p * p).min(1.0)
}

/// RFC 9332 Fig. 3, line 2: whether there is no room for one more packet, of whatever size.
#[inline]
pub fn exceeds(waiting: Bytes, limit: f64) -> bool {
    (waiting.get() + MTU) as f64 > limit
}

/// RFC 9332 Fig. 4: whether to signal, and the count after that.
#[inline]
pub fn recur(count: f64, likelihood: f64) -> (bool, f64) {
    let count = count + likelihood;
    if count > 1.0 { (true, count - 1.0) } else { (false, count) }
}

/// The L queue's own AQM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Delay from which it marks.
    pub min_th: Duration,
    /// Range of delays in which the ramp rises to marking every packet.
    pub range: Duration,
}

impl Ramp {
    /// RFC 9332 Fig. 5: the probability at a delay.
    #[inline]
    pub fn probability(&self, delay: Duration) -> f64 {
        if delay >= self.min_th + self.range {
            1.0
        } else if delay > self.min_th {
            (delay - self.min_th).as_secs_f64() / self.range.as_secs_f64()
        } else {
            0.0
        }
    }
}

equations! {
    gains(interval: Duration, rtt_max: Duration) -> alpha, beta = gains(interval, rtt_max);
    DualPi2Law::next_p(alpha, beta, target, p, delay, delay_old) -> p = DualPi2Law { alpha, beta, target }.next_p(p, delay, delay_old);
    most_classic(k) -> p_cmax = most_classic(k);
    coupled_probability(p, k) -> p_cl = coupled_probability(p, k);
    classic_probability(p) -> p_c = classic_probability(p);
    classic_equivalent(p_l, k) -> p_c = classic_equivalent(p_l, k);
    exceeds(waiting: Bytes, limit) -> full = exceeds(waiting, limit);
    recur(count, likelihood) -> signal, count = recur(count, likelihood);
    Ramp::probability(min_th: Duration, range: Duration, delay: Duration) -> p = Ramp { min_th, range }.probability(delay);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ecn, Lanes, Seed};
    use quell_units::{BitRate, Packets, QueueSize};

    const LINK: Link = Link {
        rate: BitRate::from_bps(10_000_000),
        buffer: QueueSize::Packets(500.0),
        mean_packet: Bytes::new(1000),
    };

    /// So many packets in the L queue, none in the other.
    fn views(packets: u32) -> [QueueView; 2] {
        [0, packets].map(|packets| QueueView {
            packets: Packets::new(packets),
            bytes: Bytes::new(u64::from(packets) * 1000),
            head_since: None,
            link_rate: None,
        })
    }

    /// Whether the L queue's own AQM signals a packet that found so many in it and leaves so many behind, all of
    /// which have waited for long.
    fn marks(th_len_at: ThLenAt, found: u32, behind: u32) -> bool {
        let mut rng = Seed(1).stream("dualpi2");
        let params = DualPi2Params { th_len_at, signals: Signals::Random, ..Default::default() };
        let mut dualpi2 = params.build(&LINK).unwrap();
        let mut call =
            |ms: u64, packets: u32, f: fn(&mut DualPi2, &mut LanesCtx<'_>, &PacketMeta) -> Verdict| {
                let each = views(packets);
                let lanes = Lanes { each: &each, packets: each[L4S].packets, bytes: each[L4S].bytes };
                let pkt = PacketMeta { bytes: Bytes::new(1000), ecn: Ecn::Ect1, ..Default::default() };
                let mut cx = LanesCtx { now: Time::from_nanos(ms * 1_000_000), lanes, rng: &mut rng };
                f(&mut dualpi2, &mut cx, &pkt)
            };
        assert_eq!(call(0, found, |d, cx, pkt| d.on_enqueue(cx, L4S, pkt)), Verdict::Pass);
        call(9, behind, |d, cx, pkt| d.on_dequeue(cx, L4S, pkt)) == Verdict::Signal(Cause::Early)
    }

    /// RFC 9332 Fig. 7, line 5a: the ramp acts while more than Th_len = 1 packet waits, by each way to count.
    #[test]
    fn one_packet_in_the_l_queue_is_not_too_many() {
        assert_eq!([0, 1, 2].map(|behind| marks(ThLenAt::Dequeue, 5, behind)), [false, false, true]);
        assert_eq!([0, 1, 2].map(|behind| marks(ThLenAt::Head, 5, behind)), [false, true, true]);
        assert_eq!([0, 1, 2].map(|found| marks(ThLenAt::Enqueue, found, 5)), [false, true, true]);
    }

    /// RFC 9332 Fig. 5: 1 from the end of the ramp on, which is a step where its range is 0.
    #[test]
    fn the_ramp_marks_all_at_its_end() {
        let micros = Duration::from_micros;
        let ramp = Ramp { min_th: micros(800), range: micros(400) };
        assert_eq!([800, 900, 1200].map(|us| ramp.probability(micros(us))), [0.0, 0.25, 1.0]);
        let step = Ramp { min_th: micros(1000), range: Duration::ZERO };
        assert_eq!([999, 1000].map(|us| step.probability(micros(us))), [0.0, 1.0]);
    }
}
