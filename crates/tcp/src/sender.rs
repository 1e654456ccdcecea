//! The sending end of a TCP connection: congestion control and loss recovery.
//!
//! Windows count packets, as in ns-2 and the fluid models. The equations are those of RFC 2581, the
//! TCP of the source papers and of their simulator. Where it differs from RFC 5681:
//! - `ssthresh` comes from the congestion window (RFC 2001) instead of the flight size; for a sender
//!   that always has data the two agree. It is a whole number of packets, as in BSD and in ns-2, and
//!   as a flight size is: rounding down takes 4 % off the loss of 64 flows at a full drop-tail buffer.
//! - Every timeout lowers `ssthresh`, also one of a packet that timed out before, whose window is one
//!   by then and leaves 2. With PRR and RACK-TLP it does not.

use alloc::boxed::Box;
use core::ops::Range;

use quell_units::{Duration, Time};

use crate::congestion::model::Model;
use crate::congestion::{Cause, CongestionControl, Control, Delivery, Window, reno};
use crate::feedback::{Marks, Report};
use crate::float::larger;
use crate::pacing::Pacer;
use crate::params::{Config, Recovery};
use crate::rate::Rate;
use crate::recovery::prr::{Progress, Prr};
use crate::recovery::rack::Rack;
use crate::rtt::RttEstimator;
use crate::scoreboard::{Block, Scoreboard};
use crate::slow_start::{Search, SendTimes, SlowStart};

mod pace;
#[cfg(test)]
pub(crate) mod path;
mod rack;
#[cfg(test)]
mod reductions;
#[cfg(test)]
mod twin;

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// Opens the connection.
    Syn,
    /// Data.
    Data {
        /// Its number.
        seq: u32,
        /// It was sent before.
        retransmission: bool,
        /// It carries CWR: the window was reduced because of ECN (RFC 3168 section 6.1.2).
        cwr: bool,
    },
}

/// What an acknowledgment or a timer did that is worth counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// A fast retransmission began.
    pub fast_retransmit: bool,
    /// The window was reduced because of an echoed mark.
    pub ecn_response: bool,
    /// The retransmission timer found a loss.
    pub timeout: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The SYN has not been acknowledged.
    Handshake,
    /// No loss is being repaired.
    Open,
    /// Fast recovery, until packet `recover` is acknowledged (Reno: until any new one is).
    Recovery,
}

/// No packet's round-trip time is being measured: no acknowledgment is above this number.
const UNTIMED: u32 = u32::MAX;

/// How much of the window has been used.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    /// The window was full in this window of data, which ends with packet `end`.
    full: bool,
    /// The most packets that were outstanding in it.
    most: u32,
    end: u32,
}

impl Used {
    /// A packet has been sent, after which those from `una` to before `max` are outstanding.
    #[inline]
    fn sent(&mut self, una: u32, max: u32, cwnd: f64) {
        let out = max - una;
        let full = f64::from(out) + 1.0 > cwnd;
        if full || una >= self.end || (!self.full && out > self.most) {
            *self = Used { full, most: out, end: max };
        }
    }
}

/// What a sender keeps beyond Reno's two windows.
#[derive(Clone, Debug)]
struct Kept {
    control: Control,
    start: Option<Search>,
    /// Growth counts whole packets.
    whole: bool,
    /// Where every acknowledgment measures a round-trip time.
    sent: Option<SendTimes>,
    /// The one that the acknowledgment under way measured.
    measured: Option<Duration>,
    /// All of them, smoothed by an eighth and not in ticks.
    srtt: Option<Duration>,
    prr: Prr,
    used: Used,
    rack: Option<Rack>,
    undo: Option<rack::Undo>,
    /// The first packet outstanding when the retransmission timer ran out last.
    timed_out_at: u32,
    /// The window falls over a round trip because of a mark, until an acknowledgment beyond `recover`.
    falling: bool,
    /// Losses were being repaired after the last acknowledgment.
    repaired: bool,
    /// How many packets the last look for losses found.
    lost: u32,
    pacer: Option<Pacer>,
    /// Of a congestion control that follows a model, with the samples that it takes; `control` is idle then.
    model: Option<Model>,
    rate: Option<Rate>,
    /// The window has kept packets back since the last acknowledgment.
    limited: bool,
    marks: Marks,
    /// How many packets the acknowledgment under way says to have come marked.
    marked: u32,
}

/// The sender. Time comes in with each call; packets go out through [`Sender::poll`].
#[derive(Clone, Debug)]
pub struct Sender {
    /// The first packet not acknowledged.
    una: u32,
    /// The next packet to send; below `max` after a timeout.
    next: u32,
    /// One past the highest packet sent.
    max: u32,
    /// One past the last packet the application has given.
    limit: u32,
    /// One past the highest packet sent when the window was last reduced (RFC 6582): a second
    /// reduction needs an acknowledgment beyond it.
    recover: u32,
    /// What asked for the last reduction.
    reduced_by: Cause,
    /// An answered echo has met a window of one, and every acknowledgment since has brought an echo.
    echo_at_one: bool,
    dup_acks: u32,
    phase: Phase,
    /// Nothing but the window, pacing and the timers has a say in what an acknowledgment of new packets does, see
    /// [`Sender::is_calm`]; sometimes false where that is so.
    calm: bool,
    /// Send the first unacknowledged packet now, whatever the window says.
    retransmit: bool,
    /// The next packet carries CWR; a retransmission only if it is ECN-capable.
    cwr: bool,
    syn_pending: bool,
    /// The first partial acknowledgment of this recovery has restarted the timer (RFC 6582 section 3.2).
    timer_restarted: bool,
    window: Window,
    /// What fast recovery adds to the window: packets that duplicates say have left the network
    /// (RFC 5681 section 3.2 steps 3 and 4).
    inflation: i32,
    /// When the retransmission timer runs out.
    deadline: Time,
    /// When the first of the other timers does.
    sooner: Time,
    /// The packet whose round-trip time is being measured, [`UNTIMED`] if none is, and when it was sent.
    timed: u32,
    timed_at: Time,
    /// The round-trip time measured last, until it is taken; zero is none.
    measured: Duration,
    rtt: RttEstimator,
    /// Of a sender that uses SACK, in a box because most do not.
    sacked: Option<Box<Scoreboard>>,
    /// Of a sender that is not Reno with the slow start and recovery of its time, in a box likewise.
    kept: Option<Box<Kept>>,
}

impl Sender {
    /// A connection that has nothing to send yet.
    pub fn new(cfg: &Config) -> Self {
        let kept = Kept::new(cfg).map(Box::new);
        Sender { sacked: cfg.sack.then(Box::default), kept, ..Sender::idle(cfg) }
    }

    /// A new connection without its boxes.
    fn idle(cfg: &Config) -> Self {
        Sender {
            una: 1,
            next: 1,
            max: 1,
            limit: 1,
            recover: 0,
            reduced_by: Cause::Loss,
            echo_at_one: false,
            dup_acks: 0,
            phase: if cfg.syn { Phase::Handshake } else { Phase::Open },
            calm: false,
            retransmit: false,
            cwr: false,
            syn_pending: cfg.syn,
            timer_restarted: false,
            window: Window { cwnd: cfg.initial_window, ssthresh: cfg.initial_ssthresh },
            inflation: 0,
            deadline: Time::MAX,
            sooner: Time::MAX,
            timed: UNTIMED,
            timed_at: Time::ZERO,
            measured: Duration::ZERO,
            rtt: RttEstimator::new(cfg),
            sacked: None,
            kept: None,
        }
    }

    /// Starts a fresh connection that remembers nothing of the last one.
    pub fn reopen(&mut self, cfg: &Config) {
        let mut sacked = core::mem::take(&mut self.sacked);
        if let Some(board) = &mut sacked {
            board.clear();
        }
        let mut kept = core::mem::take(&mut self.kept);
        if let Some(kept) = &mut kept {
            kept.restart(cfg);
        }
        *self = Sender { sacked, kept, ..Sender::idle(cfg) };
    }

    /// The application gives `packets` more packets; `u32::MAX` is data without end.
    pub fn provide(&mut self, packets: u32) {
        self.limit = self.limit.saturating_add(packets);
    }

    /// The application gives no more than what has been sent.
    pub fn stop(&mut self) {
        self.limit = self.limit.min(self.max);
    }

    /// One past the last packet that the application gave.
    pub fn end_of_data(&self) -> u32 {
        self.limit
    }

    /// Whether everything the application gave has been acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.una >= self.limit
    }

    /// Slow start after an idle time longer than the timeout (RFC 5681 section 4.1).
    pub fn restart_after_idle(&mut self, cfg: &Config) {
        if cfg.model {
            return; // It paces what comes then.
        }
        self.window.cwnd = self.window.cwnd.min(cfg.initial_window);
        if let Some(kept) = &mut self.kept {
            kept.control.on_idle();
        }
    }

    /// The round-trip time that the last acknowledgment measured, if it did.
    #[inline]
    pub fn take_rtt(&mut self) -> Option<Duration> {
        // Rare: a compare with memory is all that other acknowledgments cost.
        (!self.measured.is_zero()).then(|| core::mem::take(&mut self.measured))
    }

    /// The congestion window, in packets; what recovery adds to it is not in it.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    /// The threshold of slow start, in packets.
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    /// The smoothed round-trip time; zero before the first measurement.
    pub fn smoothed_rtt(&self, cfg: &Config) -> Duration {
        self.rtt.smoothed(cfg)
    }

    /// The retransmission timeout now.
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// When [`Sender::on_timer`] must be called; [`Time::MAX`] for never.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline.min(self.sooner)
    }

    /// Finds out which of the other timers is the first.
    #[inline]
    fn look_ahead(&mut self) {
        let Some(kept) = &self.kept else { return };
        let rack = kept.rack.as_ref().map_or(Time::MAX, |r| r.due.min(r.tlp.due));
        self.sooner = rack.min(kept.pacer.as_ref().map_or(Time::MAX, |p| p.wake));
    }

    #[inline]
    fn arm(&mut self, now: Time) {
        self.deadline = now + self.rtt.rto();
    }

    /// Whether nothing is being repaired, nothing is sent again and no mark is answered, and only the window and pacing
    /// have a say in what is sent.
    fn is_calm(&self) -> bool {
        let reduced = match self.reduced_by {
            _ if self.kept.is_some() => self.una < self.recover,
            Cause::Timeout => self.una <= self.recover,
            Cause::Loss | Cause::Echo => false,
        };
        self.phase == Phase::Open
            && !reduced
            && !self.retransmit
            && self.kept.as_ref().is_none_or(|kept| kept.is_calm())
            && self.sacked.as_ref().is_none_or(|b| b.is_empty())
            && self.next == self.max
            && self.dup_acks == 0
            && !self.cwr
            && !self.echo_at_one
    }

    /// Whether [`Sender::on_calm_ack`] does at `now` what [`Sender::on_ack`] and [`Sender::poll`] do for an
    /// acknowledgment without echo, and with a report only where that is of marks and [says
    /// nothing](Sender::hears_nothing).
    #[inline]
    pub fn takes_calmly(&self, now: Time, ack: u32) -> bool {
        self.calm && ack > self.una && self.deadline() > now
    }

    /// Whether the marks that an acknowledgment tells of were known, where [`Sender::takes_calmly`].
    #[inline]
    pub fn hears_nothing(&self, cfg: &Config, ack: u32, marks: u32) -> bool {
        let newly = ack - self.una;
        self.kept.as_ref().is_some_and(|kept| {
            let delivered = if cfg.sack { newly } else { kept.marks.would_deliver(newly) };
            kept.marks.news(cfg.feedback, marks, delivered) == 0
        })
    }

    /// As [`Sender::on_ack`], in the usual case; all packets that are to be sent now are new ones, and those.
    #[inline(always)]
    pub fn on_calm_ack(&mut self, cfg: &Config, now: Time, ack: u32) -> Range<u32> {
        debug_assert!(self.takes_calmly(now, ack) && self.is_calm());
        if self.kept.is_some() {
            return self.on_calm_ack_kept(cfg, now, ack);
        }
        let newly = ack - self.una;
        self.acknowledge_calmly(cfg, now, ack);
        let left = self.window.slow_start(newly.min(cfg.growth_limit) as f64);
        if left > 0.0 {
            reno::avoid(&mut self.window, left);
        }
        self.send_calmly(now, self.end_of_calm_window(cfg))
    }

    /// [`Sender::on_calm_ack`] for who keeps more: compiled for each kind, which would else be asked for at every step.
    #[inline(always)]
    fn on_calm_ack_kept(&mut self, cfg: &Config, now: Time, ack: u32) -> Range<u32> {
        match (cfg.plain, cfg.rack, cfg.has_pace, cfg.model) {
            (true, false, false, _) => self.on_calm_ack_cubic(cfg, now, ack),
            (true, false, true, _) => self.on_calm_ack_paced::<true>(cfg, now, ack),
            (true, true, false, _) => self.on_calm_ack_of::<true, true, false, false>(cfg, now, ack),
            (true, true, true, _) => self.on_calm_ack_of::<true, true, true, false>(cfg, now, ack),
            (false, false, false, _) => self.on_calm_ack_of::<false, false, false, false>(cfg, now, ack),
            (false, false, true, _) => self.on_calm_ack_paced::<false>(cfg, now, ack),
            (false, true, false, _) => self.on_calm_ack_of::<false, true, false, false>(cfg, now, ack),
            (false, true, true, false) => self.on_calm_ack_of::<false, true, true, false>(cfg, now, ack),
            (false, true, true, true) => self.on_calm_ack_model(cfg, now, ack),
        }
    }

    /// [`Sender::on_calm_ack_kept`] for CUBIC in the middle of an epoch whose window is used: nothing is called, so that
    /// no registers are saved.
    #[inline(never)]
    fn on_calm_ack_cubic(&mut self, cfg: &Config, now: Time, ack: u32) -> Range<u32> {
        if ack <= self.timed
            && let Some(kept) = self.kept.as_deref_mut()
            && kept.used.full
            && let Control::Cubic(cubic) = &mut kept.control
            && cubic.is_under_way()
        {
            debug_assert!(self.window.cwnd >= self.window.ssthresh);
            let newly = ack - self.una;
            self.una = ack;
            let acked = f64::from(newly.min(cfg.growth_limit));
            let mut window = self.window;
            cubic.go_on(&mut window, acked, now, || self.rtt.smoothed(cfg));
            self.window = window;
            let end = ack.saturating_add(window.packets(cfg)).min(self.limit);
            if end > self.max {
                kept.used.sent(ack, end, window.cwnd);
            }
            return self.send_calmly(now, end);
        }
        self.on_calm_ack_of::<true, false, false, false>(cfg, now, ack)
    }

    #[inline(never)]
    fn on_calm_ack_of<const PLAIN: bool, const RACK: bool, const PACED: bool, const MODEL: bool>(
        &mut self,
        cfg: &Config,
        now: Time,
        ack: u32,
    ) -> Range<u32> {
        let (newly, flight) = (ack - self.una, self.max - self.una);
        self.acknowledge_calmly(cfg, now, ack);
        // A copy, which no write to what is kept could change.
        let mut window = self.window;
        let Some(kept) = self.kept.as_deref_mut() else { return self.max..self.max };
        if RACK {
            if let Some(rack) = &mut kept.rack {
                if PACED && let (Some(pacer), Some(sent)) = (&mut kept.pacer, rack.first_sent()) {
                    pacer.acknowledged(now - sent);
                }
                let rtt = rack.deliver_first(newly, now);
                rack.tlp.measured = true;
                kept.measure(Some(rtt));
            }
        } else if (PACED || !PLAIN)
            && let Some(sent) = &mut kept.sent
        {
            let measured = sent.acknowledged_calmly(ack, now);
            kept.measure(measured);
        }
        if !PLAIN && cfg.always_reports {
            let delivered = if cfg.sack { newly } else { kept.marks.delivered(newly, false) };
            let delivery = Delivery { now, ack, next: self.max, delivered, marked: 0, may_reduce: true };
            kept.marked = 0;
            kept.control.on_delivery(&mut window, delivery);
        }
        if MODEL {
            window.rarely(|w| kept.feed_model_in_order(w, (now, ack), (newly, flight)));
        } else {
            let acked = newly.min(cfg.growth_limit);
            let ends = (ack, self.max);
            kept.grow::<PLAIN>(&mut window, now, (acked, 0, flight), ends, || self.rtt.smoothed(cfg));
        }
        if PACED && !MODEL {
            kept.set_pace::<false>(window);
        }
        self.window = window;
        let new = self.send_calmly_of::<PLAIN, RACK, PACED, MODEL>(cfg, now);
        self.arm_calmly(now);
        self.look_ahead_calmly::<RACK, PACED>(now);
        new
    }

    /// Whether [`Sender::on_calm_timer`] does what [`Sender::on_timer`] and [`Sender::poll`] do at `now`, when a timer
    /// runs out.
    #[inline]
    pub fn takes_timer_calmly(&self, now: Time) -> bool {
        self.calm
            && self.deadline > now
            && self.kept.as_ref().is_some_and(|k| k.rack.as_ref().is_none_or(|r| r.tlp.due > now))
    }

    /// As [`Sender::on_timer`], where pacing has kept packets back; all that are to be sent now are new ones, and those.
    #[inline]
    pub fn on_calm_timer(&mut self, cfg: &Config, now: Time) -> Range<u32> {
        debug_assert!(self.takes_timer_calmly(now) && self.is_calm());
        match (cfg.rack, cfg.model) {
            (false, _) => self.on_calm_timer_paced(cfg, now),
            (true, false) => self.on_calm_timer_of::<true, false>(cfg, now),
            (true, true) => self.on_calm_timer_model(cfg, now),
        }
    }

    #[inline(never)]
    fn on_calm_timer_of<const RACK: bool, const MODEL: bool>(
        &mut self,
        cfg: &Config,
        now: Time,
    ) -> Range<u32> {
        if let Some(pacer) = self.kept.as_mut().and_then(|kept| kept.pacer.as_mut()) {
            pacer.wake = Time::MAX;
        }
        self.set_pace();
        let new = self.send_calmly_of::<false, RACK, true, MODEL>(cfg, now);
        if new.is_empty() {
            self.look_ahead();
            return new;
        }
        if self.deadline == Time::MAX {
            self.arm(now);
        }
        self.look_ahead_calmly::<RACK, true>(now);
        new
    }

    /// New packets leave, as many as the window and pacing allow.
    #[inline(always)]
    fn send_calmly_of<const PLAIN: bool, const RACK: bool, const PACED: bool, const MODEL: bool>(
        &mut self,
        cfg: &Config,
        now: Time,
    ) -> Range<u32> {
        let (una, first, limit) = (self.una, self.max, self.limit);
        let mut window = self.window;
        let mut end = self.end_of_calm_window(cfg).max(first);
        let Some(kept) = self.kept.as_deref_mut() else { return first..first };
        if MODEL
            && first == una
            && first < end
            && let (Some(model), Some(rate), Some(pacer)) = (&mut kept.model, &kept.rate, &mut kept.pacer)
            && rate.is_limited()
            && pacer.releases(now)
        {
            model.on_restart(&mut window, now, rate.delivered);
            self.window = window;
            end = una.saturating_add(window.packets(cfg)).min(limit).max(first);
        }
        let mut next = end;
        let mut waits = false;
        if PACED && let Some(pacer) = &mut kept.pacer {
            if pacer.sends_together() {
                let open = una.saturating_add(window.packets(cfg)).max(end);
                (next, waits) = kept.release_together(now, (first, end, open), window.cwnd);
            } else {
                next = first + pacer.release(now, end - first);
            }
        }
        if next > first {
            if MODEL && let Some(rate) = &mut kept.rate {
                rate.sent_new(first, next, now, first - una);
            }
            if RACK {
                if let Some(rack) = &mut kept.rack {
                    rack.sent_new(first, next, now);
                }
            } else if (PACED || !PLAIN)
                && let Some(sent) = &mut kept.sent
            {
                sent.sent_new(first, next, now);
            }
            if !MODEL {
                // What the last one says of the window, the others do not. A model does not ask.
                kept.used.sent(una, next, window.cwnd);
            }
        }
        if waits {
            kept.note_wait(una, next);
        }
        if MODEL && next >= end {
            if next < limit && f64::from(next - una) < cfg.max_window {
                kept.limited = true;
            } else if f64::from(next - una) + 1.0 <= window.cwnd
                && let Some(rate) = &mut kept.rate
            {
                rate.limit(next - una);
            }
        }
        if next > first {
            self.sent_calmly(now, first, next);
        }
        first..next
    }

    /// Finds out which of the timers other than the retransmission timer is the first, and starts that of the probe.
    #[inline(always)]
    fn look_ahead_calmly<const RACK: bool, const PACED: bool>(&mut self, now: Time) {
        if !RACK && !PACED {
            return; // There are no others.
        }
        let Some(kept) = self.kept.as_deref_mut() else { return };
        let mut sooner = Time::MAX;
        if RACK && let Some(rack) = &mut kept.rack {
            if self.max == self.una {
                rack.tlp.due = Time::MAX;
            } else {
                rack.tlp.schedule_calmly(now, self.max - self.una, kept.srtt, self.deadline);
            }
            sooner = rack.tlp.due;
        }
        if PACED && let Some(pacer) = &kept.pacer {
            sooner = sooner.min(pacer.wake);
        }
        self.sooner = sooner;
    }

    /// [`Sender::end_of_window`] without duplicates.
    #[inline(always)]
    fn end_of_calm_window(&self, cfg: &Config) -> u32 {
        self.una.saturating_add(self.window.packets(cfg)).min(self.limit)
    }

    #[inline(always)]
    fn acknowledge_calmly(&mut self, cfg: &Config, now: Time, ack: u32) {
        self.una = ack;
        if ack > self.timed {
            self.timed = UNTIMED;
            self.measured = now - self.timed_at;
            self.rtt.sample(cfg, self.timed_at, now);
        }
    }

    /// The new packets before `end`.
    #[inline(always)]
    fn send_calmly(&mut self, now: Time, end: u32) -> Range<u32> {
        let first = self.max;
        let end = end.max(first);
        if end > first {
            self.sent_calmly(now, first, end);
        }
        self.arm_calmly(now);
        first..end
    }

    /// New packets from `first` to before `end` have been sent.
    #[inline(always)]
    fn sent_calmly(&mut self, now: Time, first: u32, end: u32) {
        (self.next, self.max) = (end, end);
        if self.timed == UNTIMED {
            (self.timed, self.timed_at) = (first, now);
        }
    }

    /// The retransmission timer starts again with an acknowledgment, if anything is outstanding.
    #[inline(always)]
    fn arm_calmly(&mut self, now: Time) {
        if self.una < self.max || self.window.cwnd < 1.0 {
            self.arm(now);
        } else {
            self.deadline = Time::MAX;
        }
    }

    /// Whether [`Sender::on_plain_duplicate`] does at `now` what [`Sender::on_ack`] does for an acknowledgment without echo and
    /// report.
    #[inline]
    pub fn takes_plain_duplicate(&self, now: Time, ack: u32) -> bool {
        ack == self.una
            && ack < self.max.min(self.limit)
            && self.kept.is_none()
            && self.sacked.is_none()
            && self.phase != Phase::Handshake
            && self.deadline() > now
    }

    /// As [`Sender::on_ack`], for a duplicate that says nothing else; whether a fast retransmit begins.
    #[inline]
    pub fn on_plain_duplicate(&mut self, cfg: &Config, now: Time) -> bool {
        self.calm = false;
        self.on_dup_ack(cfg, now)
    }

    /// An acknowledgment of all packets below `ack` arrives.
    #[inline(always)]
    pub fn on_ack(&mut self, cfg: &Config, now: Time, ack: u32, ece: bool, blocks: &[Block]) -> Reaction {
        if self.phase == Phase::Open
            && ack > self.una
            && !ece
            && !cfg.timed
            && blocks.is_empty()
            && self.sacked.as_ref().is_none_or(|b| b.is_empty())
        {
            self.on_new_ack(cfg, now, ack, ack - self.una, false);
            return Reaction::default();
        }
        self.on_special_ack(cfg, now, ack, ece, blocks, None)
    }

    /// As [`Sender::on_ack`], for an acknowledgment that carries a report.
    pub fn on_report(&mut self, cfg: &Config, now: Time, ack: u32, ece: bool, report: &Report) -> Reaction {
        self.on_special_ack(cfg, now, ack, ece, report.blocks.as_slice(), Some(report))
    }

    /// As [`Sender::on_ack`], without what is assumed there.
    #[inline(never)]
    fn on_special_ack(
        &mut self,
        cfg: &Config,
        now: Time,
        ack: u32,
        ece: bool,
        blocks: &[Block],
        report: Option<&Report>,
    ) -> Reaction {
        self.calm = false;
        if self.phase == Phase::Handshake {
            self.on_syn_ack(cfg, now);
            self.set_pace();
            return Reaction::default();
        }
        let mut did = Reaction::default();
        let from = ack.max(self.una);
        if cfg.gradual && ack > self.recover {
            self.end_fall();
        }
        let (una, sacked) = (self.una, self.sacked.as_ref().map_or(0, |b| b.count()));
        let only = self.sacked.as_ref().and_then(|b| b.only_news(from, blocks));
        let flight = if cfg.rack { self.deliver(now, from, (blocks, only)) } else { 0 };
        let sack_news = self.sacked.as_mut().is_some_and(|b| b.update(from, blocks, only, cfg.dup_threshold));
        // What was acknowledged selectively before has arrived before.
        let reported = self.sacked.as_ref().map_or(0, |b| b.count());
        let delivered = (from - una + reported).saturating_sub(sacked);
        let mut congested = ece && cfg.cwr;
        if let Some(report) = report
            && cfg.always_reports
        {
            congested |= self.hear(cfg, now, ack, delivered, report, &mut did);
        }
        if congested && self.answers_echo(cfg, ack) {
            self.on_ecn_echo(cfg);
            did.ecn_response = true;
        }
        if ack > self.una {
            self.on_new_ack(cfg, now, ack, delivered, congested);
        } else if ack == self.una && self.una < self.max && !cfg.rack {
            // RFC 6675 section 2: with SACK, a duplicate is an acknowledgment that brings news.
            if !cfg.sack || sack_news || blocks.is_empty() {
                did.fast_retransmit = self.on_dup_ack(cfg, now);
            }
        }
        if cfg.rack {
            let twice = report.and_then(|r| r.duplicate);
            let plain = ack == una && blocks.is_empty() && twice.is_none();
            did.fast_retransmit = self.after_rack_ack(cfg, now, ack, (ack > una, plain), twice);
        }
        let falls = cfg.gradual && self.falls();
        let recovers = self.phase == Phase::Recovery
            && matches!(cfg.recovery, Recovery::Prr | Recovery::Rack)
            && !cfg.model;
        if falls || recovers {
            // A recovery that begins while a mark reduces the window goes on with that reduction.
            let begins = (did.fast_retransmit && !falls).then(|| self.max - una - sacked);
            self.reduce_in_proportion(cfg, (from - una, delivered), sack_news, begins);
        }
        if falls
            && recovers
            && let Some(kept) = &mut self.kept
        {
            kept.falling = false;
        }
        if cfg.model {
            let phase = self.repair();
            if let Some(kept) = &mut self.kept {
                kept.feed_model(&mut self.window, (now, self.una), flight, phase);
            }
        }
        if cfg.has_pace {
            self.set_pace();
        }
        did
    }

    /// Whether the window falls because of a mark.
    fn falls(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.falling)
    }

    /// A mark has reduced the window, which was `before`: it falls there in proportion to what arrives. As Linux does;
    /// RFC 9937 has it for losses.
    fn begin_fall(&mut self, before: f64) {
        let Some(kept) = &mut self.kept else { return };
        if self.phase == Phase::Open {
            (self.recover, self.reduced_by) = (self.max, Cause::Echo);
            self.window.cwnd = before;
            self.cwr = true;
            kept.falling = true;
            kept.prr = Prr::new(before as u32);
        }
    }

    /// What was outstanding when a mark reduced the window has been acknowledged.
    fn end_fall(&mut self) {
        if let Some(kept) = &mut self.kept
            && core::mem::take(&mut kept.falling)
        {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// An acknowledgment that comes during recovery, or begins it with so many packets outstanding before (RFC 9937
    /// section 6): `newly` packets are acknowledged cumulatively, and `delivered` of them or in blocks for the first
    /// time; whether the blocks have `news`.
    fn reduce_in_proportion(
        &mut self,
        cfg: &Config,
        (newly, mut delivered): (u32, u32),
        news: bool,
        begins: Option<u32>,
    ) {
        let (Some(kept), Some(board)) = (&mut self.kept, &self.sacked) else { return };
        let (pipe, mut lost) = match &kept.rack {
            Some(rack) => (rack.flying(), kept.lost > 0),
            None => (board.pipe(self.max, cfg.dup_threshold) - self.retransmit as u32, board.found_lost()),
        };
        if let Some(outstanding) = begins {
            kept.prr = Prr::new(if cfg.ns3 { pipe } else { outstanding });
        }
        if cfg.ns3 {
            lost = false;
            if news {
                delivered = kept.prr.overcount(delivered, newly > 0);
            }
        }
        let progress = Progress { delivered, pipe, safe: newly > 0 && !lost };
        if let Some(cwnd) = kept.prr.on_ack(progress, self.window.ssthresh) {
            self.window.cwnd = cwnd;
        }
    }

    /// Takes in what an acknowledgment says of marks and delays; true if its marks are to be answered as an echo.
    /// It says for the first time of `delivered` packets that they have arrived, by its number and its blocks.
    fn hear(
        &mut self,
        cfg: &Config,
        now: Time,
        ack: u32,
        delivered: u32,
        report: &Report,
        did: &mut Reaction,
    ) -> bool {
        let Some(kept) = &mut self.kept else { return false };
        // What others have overtaken is old (RFC 9768 section 3.2.2.5).
        if ack < self.una {
            return false;
        }
        if let Some(delay) = report.delay {
            kept.control.on_delay(now, delay);
        }
        let Some(marks) = report.marks else { return false };
        let newly = ack - self.una;
        let delivered = match self.sacked {
            Some(_) => delivered,
            None => kept.marks.delivered(newly, newly == 0 && self.una < self.max),
        };
        let marked = kept.marks.count(cfg.feedback, marks, delivered);
        kept.marked = marked;
        let may_reduce = self.phase == Phase::Open && !kept.falling;
        let before = self.window.cwnd;
        let delivery = Delivery { now, ack, next: self.max, delivered, marked, may_reduce };
        match kept.control.on_delivery(&mut self.window, delivery) {
            None => marked > 0,
            Some(reduced) => {
                did.ecn_response = reduced;
                if reduced {
                    kept.undo = None;
                }
                if reduced && let Some(start) = &mut kept.start {
                    start.on_reduction(Cause::Echo);
                }
                if reduced && cfg.gradual {
                    self.begin_fall(before);
                }
                false
            }
        }
    }

    fn on_syn_ack(&mut self, cfg: &Config, now: Time) {
        if self.timed != UNTIMED {
            self.timed = UNTIMED;
            self.measured = now - self.timed_at;
            self.rtt.sample(cfg, self.timed_at, now);
            if let Some(kept) = &mut self.kept {
                kept.srtt = Some(self.measured);
                if let Some(pacer) = &mut kept.pacer {
                    pacer.acknowledged(self.measured);
                }
                if let Some(model) = &mut kept.model {
                    model.on_first_rtt(self.measured, now);
                }
            }
        } else {
            // The SYN or its acknowledgment was lost (RFC 5681 section 3.1).
            self.window.cwnd = 1.0;
        }
        self.phase = Phase::Open;
        self.deadline = Time::MAX;
    }

    /// Whether an echo calls for a reduction: one per window of data (RFC 3168 section 6.1.2). The
    /// timer ended the last window if it asked for the last reduction, and CWR went with the first
    /// packet after it: where that is an ECN-capable retransmission, an echo now is of its mark. So
    /// does ns-2; without that, 200 flows on 10 Mbit/s lose 1.7 % under RED instead of 2.8 % (ns-2:
    /// 2.7 %).
    fn answers_echo(&self, cfg: &Config, ack: u32) -> bool {
        ack > self.recover || (self.reduced_by == Cause::Timeout && cfg.ecn_retransmissions)
    }

    /// RFC 3168 section 6.1.2: as for a loss, nothing to retransmit. A window that falls below one
    /// packet sends nothing until the timer runs out, as the RFC asks of a sender whose window is one
    /// already; without that, 200 flows on 15 Mbit/s need 49 % marks instead of 34 % (PI; ns-2: 32 %).
    /// If the packet that goes then is marked too, the timer doubles, as for a packet that is lost
    /// again (RFC 6298 rule 5.5) and as in ns-2; without that, 500 flows on 10 Mbit/s need 90 % marks
    /// instead of 53 % (PI; ns-2: 53 %).
    fn on_ecn_echo(&mut self, cfg: &Config) {
        if self.phase == Phase::Recovery {
            // All that was outstanding when it began has been acknowledged: an echo of a mark since then reduces the
            // window that recovery leaves.
            self.leave_recovery(cfg);
        }
        let at_one = self.window.cwnd <= 1.0;
        if at_one && self.echo_at_one {
            self.rtt.back_off(cfg);
        }
        self.echo_at_one = at_one;
        let before = self.window.cwnd;
        self.reduce(cfg, Cause::Echo);
        if cfg.gradual && !at_one {
            self.begin_fall(before);
        }
    }

    /// Everything that was outstanding when the recovery began has been acknowledged. The window that SACK leaves
    /// recovery with is half the old one (RFC 6675 section 5), that of a reduction in proportion is its threshold
    /// (RFC 9937 section 6), and a model has set it.
    fn leave_recovery(&mut self, cfg: &Config) {
        self.phase = Phase::Open;
        self.inflation = 0; // RFC 5681 section 3.2 step 6
        if !cfg.model && matches!(cfg.recovery, Recovery::Prr | Recovery::Rack) {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Reduces the window, and notes that the receiver is to be told, whatever the cause (RFC 3168 section
    /// 6.1.2).
    fn reduce(&mut self, cfg: &Config, cause: Cause) {
        if cfg.rack {
            self.remember(cause);
        }
        match &mut self.kept {
            Some(kept) if cfg.model => match (&mut kept.model, cause) {
                (Some(model), Cause::Timeout) => model.on_timeout(&self.window),
                (Some(model), Cause::Loss) => model.on_recovery(&self.window),
                _ => {}
            },
            None => reno::reduce(&mut self.window, cause),
            Some(kept) => {
                kept.reduce(&mut self.window, cause);
                if cfg.ns3
                    && cfg.congestion == CongestionControl::Reno
                    && let Some(board) = &self.sacked
                {
                    let pipe = board.pipe(self.max, cfg.dup_threshold);
                    self.window.ssthresh = (f64::from(pipe) / 2.0).max(2.0);
                }
            }
        }
        self.recover = self.max;
        self.reduced_by = cause;
        self.cwr = cfg.cwr;
    }

    /// Whether the window was reduced for the data for which the timer ran out: by a recovery, as in Linux, since what
    /// that has left of the window by then is no window; or by a timeout since which nothing was acknowledged (RFC
    /// 5681 section 3.1).
    fn is_reduced_already(&self) -> bool {
        let went_on = |kept: &Kept| self.reduced_by == Cause::Timeout && self.una > kept.timed_out_at;
        self.una < self.recover && !self.kept.as_deref().is_some_and(went_on)
    }

    /// The timer ran out where the window [is reduced already](Sender::is_reduced_already): the threshold stays.
    fn time_out_again(&mut self, cfg: &Config) {
        if let Some(kept) = &mut self.kept {
            kept.control.on_timeout_again();
            if let Some(start) = &mut kept.start {
                start.on_reduction(Cause::Timeout);
            }
            if let Some(undo) = &mut kept.undo {
                undo.include_below(self.max);
            }
            if let Some(model) = &mut kept.model {
                model.on_timeout(&self.window);
            }
        }
        (self.recover, self.reduced_by, self.cwr) = (self.max, Cause::Timeout, cfg.cwr);
    }

    #[inline]
    fn on_new_ack(&mut self, cfg: &Config, now: Time, ack: u32, delivered: u32, congested: bool) {
        let newly = ack - self.una;
        self.una = ack;
        self.next = self.next.max(ack);
        if let Some(kept) = &mut self.kept
            && let Some(sent) = &mut kept.sent
        {
            let measured = sent.acknowledged(ack, now);
            kept.measure(measured);
        }
        if ack > self.timed {
            self.timed = UNTIMED;
            self.measured = now - self.timed_at;
            if congested && self.echo_at_one {
                self.rtt.sample_backed_off(cfg, self.timed_at, now);
            } else {
                self.rtt.sample(cfg, self.timed_at, now);
            }
        }
        self.echo_at_one &= congested;
        self.dup_acks = 0;
        let mut restart_timer = true;
        if self.phase == Phase::Recovery {
            match cfg.recovery {
                Recovery::NewReno if ack < self.recover => {
                    // Partial acknowledgment (RFC 6582 section 3.2 step 3, impatient variant).
                    self.retransmit = true;
                    self.inflation = (self.inflation - newly as i32 + 1).max(1 - self.window.cwnd as i32);
                    restart_timer = !core::mem::replace(&mut self.timer_restarted, true);
                }
                Recovery::Sack | Recovery::Prr | Recovery::Rack if ack < self.recover => {
                    restart_timer = !(cfg.ns3 && core::mem::replace(&mut self.timer_restarted, true));
                }
                _ => {
                    self.leave_recovery(cfg);
                    // ns-2's Reno and NewReno take the acknowledgment for one more.
                    let older = matches!(cfg.recovery, Recovery::Tahoe | Recovery::Reno | Recovery::NewReno);
                    if cfg.ns3 {
                        self.grow(cfg, now, (newly, newly), congested);
                    } else if older && cfg.growth_limit == 1 {
                        self.grow(cfg, now, (newly, delivered), congested);
                    }
                }
            }
        } else {
            self.grow(cfg, now, (newly, delivered), congested);
        }
        if self.una >= self.max && self.window.cwnd >= 1.0 {
            self.deadline = Time::MAX;
        } else if restart_timer {
            self.arm(now);
        }
    }

    /// Slow start below `ssthresh`, congestion avoidance above; an echoed mark stops growth (RFC 3168 section
    /// 6.1.2). `newly` packets are acknowledged, and `delivered` of them or in blocks for the first time.
    #[inline]
    fn grow(&mut self, cfg: &Config, now: Time, (newly, delivered): (u32, u32), congested: bool) {
        if congested || cfg.model || (cfg.gradual && self.falls()) {
            return;
        }
        // What a slow start after a timeout fills in was sent before: one packet for each acknowledgment (RFC
        // 3465 section 2.3).
        let again = newly > 1 && self.reduced_by == Cause::Timeout && self.una <= self.recover;
        let acked = delivered.min(if again { 1 } else { cfg.growth_limit });
        if let Some(kept) = &mut self.kept {
            let counts = (acked, core::mem::take(&mut kept.marked), self.max - self.una + newly);
            let smoothed = || self.rtt.smoothed(cfg);
            return kept.grow::<false>(&mut self.window, now, counts, (self.una, self.max), smoothed);
        }
        let left = self.window.slow_start(acked as f64);
        if left > 0.0 {
            reno::avoid(&mut self.window, left);
        }
    }

    /// True if it starts a fast retransmit.
    fn on_dup_ack(&mut self, cfg: &Config, now: Time) -> bool {
        self.dup_acks += 1;
        if self.phase == Phase::Recovery {
            self.inflation += 1;
            return false;
        }
        let lost =
            self.dup_acks == cfg.dup_threshold || self.sacked.as_ref().is_some_and(|b| b.is_lost(self.una));
        // No second reduction for the same window of data (RFC 6582 section 3.2 step 2). One that ECN
        // asked for has repaired nothing, though: what is lost of its window is sent again, and the
        // window stays as it is (RFC 3168 section 6.1.2).
        // RFC 6675 section 5 asks that all sent before the last reduction be acknowledged, RFC 6582 for one more.
        let reduced = if cfg.ns3 { self.una < self.recover } else { self.una <= self.recover };
        if !lost || (reduced && self.reduced_by != Cause::Echo) {
            return false;
        }
        self.timed = UNTIMED;
        if reduced {
            self.reduced_by = Cause::Loss;
        } else {
            self.reduce(cfg, Cause::Loss);
        }
        match cfg.recovery {
            Recovery::Tahoe => {
                if let Some(kept) = &mut self.kept {
                    kept.control.on_slow_start();
                }
                self.window.cwnd = 1.0;
                self.next = self.una;
            }
            Recovery::Reno | Recovery::NewReno => {
                self.phase = Phase::Recovery;
                self.inflation = cfg.dup_threshold as i32;
                self.retransmit = true;
                self.timer_restarted = false;
            }
            Recovery::Sack | Recovery::Prr | Recovery::Rack => {
                self.phase = Phase::Recovery;
                self.retransmit = true;
                self.timer_restarted = false;
                if let Some(board) = &mut self.sacked {
                    board.set_high_rxt(self.una + 1);
                    board.rescued = false;
                }
            }
        }
        if !cfg.ns3 {
            self.arm(now);
        }
        true
    }

    /// A timer has run out.
    pub fn on_timer(&mut self, cfg: &Config, now: Time) -> Reaction {
        if core::mem::take(&mut self.calm)
            && let Some(Kept { rack: Some(rack), srtt, .. }) = self.kept.as_deref_mut()
        {
            rack.set_calm_window(*srtt);
        }
        let did = if self.sooner <= now {
            if let Some(pacer) = self.kept.as_mut().and_then(|k| k.pacer.as_mut())
                && pacer.wake <= now
            {
                pacer.wake = Time::MAX;
            }
            self.on_rack_timer(cfg, now)
        } else {
            Reaction { timeout: self.on_timeout(cfg, now), ..Default::default() }
        };
        self.look_ahead();
        if cfg.has_pace {
            self.set_pace();
        }
        if let Some(Kept { model: Some(Model::Bbr1(_)), rate: Some(rate), .. }) = self.kept.as_deref_mut() {
            // Losses that a timer finds are no sample's (as in Linux).
            rate.forget_lost();
        }
        did
    }

    /// The retransmission timer ran out; true if that means a loss.
    fn on_timeout(&mut self, cfg: &Config, now: Time) -> bool {
        self.timed = UNTIMED;
        if self.phase != Phase::Handshake && self.una >= self.max {
            // Nothing is outstanding: ECN held the sender back, and now it may go on.
            self.window.cwnd = self.window.cwnd.max(1.0);
            self.deadline = Time::MAX;
            return false;
        }
        if self.phase == Phase::Handshake {
            // A lost SYN is a loss that the timer found (RFC 5681 eq. 4): with nothing else in flight
            // it leaves 2. Without that, senders whose SYN met a full buffer start later with a slow
            // start that nothing bounds: 1000 flows over 1 Gbit/s lose 8.3 % of their first five
            // seconds' packets at drop-tail instead of 7.3 % (ns-2: 6.9 %).
            // Linux and QUIC learn nothing of the path from a lost SYN (RFC 9002 section 6.2), and ns-2 has neither
            // of their recoveries.
            if !cfg.repairs_as_hosts() {
                self.window.ssthresh = 2.0;
            }
            self.syn_pending = true;
        } else {
            if cfg.repairs_as_hosts() && self.is_reduced_already() {
                self.time_out_again(cfg);
            } else {
                self.reduce(cfg, Cause::Timeout);
            }
            self.window.cwnd = 1.0;
            self.inflation = 0;
            self.phase = Phase::Open;
            self.dup_acks = 0;
            self.next = self.una;
            self.retransmit = false;
            if let Some(kept) = &mut self.kept {
                kept.falling = false;
                kept.timed_out_at = self.una;
            }
            if cfg.rack {
                self.on_rack_timeout(now);
            } else if let Some(board) = &mut self.sacked {
                board.clear();
            }
        }
        self.rtt.back_off(cfg);
        self.arm(now);
        true
    }

    /// The next packet to send at `now`, if the window and the application allow one.
    pub fn poll(&mut self, cfg: &Config, now: Time) -> Option<Outgoing> {
        if self.only_window(cfg) {
            self.poll_below(cfg, now, self.end_of_window(cfg))
        } else {
            self.poll_special(cfg, now)
        }
    }

    /// Whether the window alone decides what is sent, until the next acknowledgment or timeout.
    #[inline]
    pub fn only_window(&self, cfg: &Config) -> bool {
        self.phase == Phase::Open && !self.retransmit && !cfg.timed
    }

    /// Up to (and not with) which packet the window allows to send, if only it decides.
    #[inline]
    pub fn end_of_window(&self, cfg: &Config) -> u32 {
        // A packet on each of the first two duplicates (RFC 3042), and none for them later. After a
        // timeout that may be one sent before, as in ns-2: with small windows it is what keeps
        // recovery going, and new data alone cost 100 flows under RED 4 % of their link.
        let more = if self.dup_acks <= cfg.limited_transmit { self.dup_acks } else { 0 };
        self.una.saturating_add(self.window.packets(cfg)).saturating_add(more).min(self.limit)
    }

    /// The next packet if it comes before `end`.
    #[inline(always)]
    pub fn poll_below(&mut self, cfg: &Config, now: Time, end: u32) -> Option<Outgoing> {
        let seq = self.next;
        if seq >= end {
            self.calm = self.is_calm();
            return None;
        }
        self.next = seq + 1;
        Some(self.send(cfg, now, seq))
    }

    /// What goes before the window's next packet: the handshake and what is to be repaired.
    #[inline(never)]
    fn poll_special(&mut self, cfg: &Config, now: Time) -> Option<Outgoing> {
        if self.phase == Phase::Handshake {
            return self.poll_syn(now);
        }
        if cfg.rack {
            let packet = self.poll_rack(cfg, now);
            self.calm = packet.is_none() && self.is_calm();
            return packet;
        }
        if self.retransmit {
            self.retransmit = false;
            return Some(self.send(cfg, now, self.una));
        }
        if cfg.sack && self.phase == Phase::Recovery {
            return self.poll_sack_recovery(cfg, now);
        }
        if self.phase == Phase::Open {
            return self.poll_paced(cfg, now, self.end_of_window(cfg));
        }
        let window = self.window.packets(cfg).saturating_add_signed(self.inflation);
        self.poll_paced(cfg, now, self.una.saturating_add(window).min(self.limit))
    }

    fn poll_syn(&mut self, now: Time) -> Option<Outgoing> {
        if !self.syn_pending || self.limit <= 1 {
            return None;
        }
        self.syn_pending = false;
        if !self.rtt.backed_off() {
            (self.timed, self.timed_at) = (0, now);
            self.arm(now);
        }
        Some(Outgoing::Syn)
    }

    /// RFC 6675 section 5 step (C): while the window exceeds the pipe, NextSeg().
    fn poll_sack_recovery(&mut self, cfg: &Config, now: Time) -> Option<Outgoing> {
        let board = self.sacked.as_mut()?;
        if (board.pipe(self.max, cfg.dup_threshold) as f64) + 1.0 > self.window.cwnd.min(cfg.max_window) {
            return None;
        }
        if !self.released(now) {
            return None;
        }
        let board = self.sacked.as_mut()?;
        let hole = board.next_hole(true).or_else(|| {
            // Rule 2: new data before holes that are not yet known to be lost.
            (self.max >= self.limit).then(|| board.next_hole(false)).flatten()
        });
        let seq = match hole {
            Some(seq) => {
                board.set_high_rxt(seq + 1);
                seq
            }
            None if self.max < self.limit => {
                self.next = self.max + 1;
                self.max
            }
            None if !board.rescued && board.high_rxt() < self.max => {
                // Rule 4: one rescue retransmission of the last packet outstanding.
                board.rescued = true;
                board.highest_hole(self.max)
            }
            None => return None,
        };
        Some(self.send(cfg, now, seq))
    }

    #[inline]
    fn send(&mut self, cfg: &Config, now: Time, seq: u32) -> Outgoing {
        let retransmission = seq < self.max;
        if !retransmission {
            self.max = seq + 1;
            if self.timed == UNTIMED {
                (self.timed, self.timed_at) = (seq, now);
            }
        }
        if let Some(kept) = &mut self.kept {
            kept.used.sent(self.una, self.max, self.window.cwnd);
            kept.prr.out += (self.phase == Phase::Recovery || kept.falling) as u32;
            if let Some(sent) = &mut kept.sent {
                sent.sent(seq, now);
            }
            if let Some(pacer) = &mut kept.pacer {
                pacer.sent(now);
            }
        }
        // On the first new packet (RFC 3168 section 6.1.2); in ns-2 on the first of all.
        let cwr = self.cwr && (!retransmission || cfg.ecn_retransmissions);
        if cwr {
            self.cwr = false;
        }
        if self.deadline == Time::MAX {
            self.arm(now);
        }
        if cfg.rack {
            self.note_rack_sent(cfg, now, seq, retransmission);
        }
        Outgoing::Data { seq, retransmission, cwr }
    }
}

impl Kept {
    /// Whether nothing of it has a say in what is sent, see [`Sender::is_calm`].
    fn is_calm(&self) -> bool {
        // LEDBAT's packets say when they were sent.
        let plain = !matches!(self.control, Control::Ledbat(_));
        plain && !self.falling && !self.repaired && self.rack.as_ref().is_none_or(Rack::is_calm)
    }

    /// None for a sender that needs nothing of it.
    fn new(cfg: &Config) -> Option<Self> {
        let hystart = cfg.slow_start != SlowStart::Standard;
        let recovers = matches!(cfg.recovery, Recovery::Prr | Recovery::Rack);
        let plain = cfg.congestion == CongestionControl::Reno && !hystart && !recovers && !cfg.whole;
        let needed = !plain || cfg.has_pace || cfg.always_reports;
        let measures = hystart || cfg.paced || cfg.congestion == CongestionControl::Prague;
        needed.then(|| Kept {
            control: Control::new(cfg),
            start: Search::new(cfg.slow_start, cfg.paced),
            whole: cfg.whole,
            sent: (measures && !cfg.rack).then(SendTimes::new),
            measured: None,
            srtt: None,
            prr: Prr::default(),
            falling: false,
            used: Used::default(),
            rack: cfg.rack.then(Rack::new),
            undo: None,
            timed_out_at: 0,
            repaired: false,
            lost: 0,
            pacer: Pacer::of(cfg),
            model: Model::new(cfg),
            rate: cfg.model.then(Rate::new),
            limited: false,
            marks: Marks::default(),
            marked: 0,
        })
    }

    /// A new connection, which remembers nothing.
    fn restart(&mut self, cfg: &Config) {
        let mut sent = core::mem::take(&mut self.sent);
        if let Some(sent) = &mut sent {
            sent.clear();
        }
        let mut rack = core::mem::take(&mut self.rack);
        if let Some(rack) = &mut rack {
            rack.clear();
        }
        if let Some(new) = Kept::new(cfg) {
            *self = Kept { sent, rack, ..new };
        }
    }

    /// What an acknowledgment measured.
    #[inline]
    fn measure(&mut self, rtt: Option<Duration>) {
        match rtt {
            None => self.measured = None,
            Some(rtt) => drop(Kept::note(&mut self.measured, &mut self.srtt, rtt)),
        }
    }

    /// An acknowledgment measured a round-trip time; the smoothed one.
    #[inline(always)]
    fn note(measured: &mut Option<Duration>, srtt: &mut Option<Duration>, rtt: Duration) -> Duration {
        *measured = Some(rtt);
        let smooth = |srtt: Duration| Duration::from_nanos((srtt.nanos() * 7 + rtt.nanos()) / 8);
        let smoothed = srtt.map_or(rtt, smooth);
        *srtt = Some(smoothed);
        smoothed
    }

    /// As [`Sender::grow`]: `acked` packets of those below `ack` are acknowledged, and `flight` were outstanding before;
    /// `next` is one past the highest packet sent. What came marked makes nothing grow. `PLAIN` is [`Config::plain`].
    #[inline(always)]
    fn grow<const PLAIN: bool>(
        &mut self,
        window: &mut Window,
        now: Time,
        (acked, marked, flight): (u32, u32, u32),
        (ack, next): (u32, u32),
        smoothed: impl Fn() -> Duration,
    ) {
        // A window that was not used says nothing about the path (RFC 9438 section 5.8).
        let slow_start = window.cwnd < window.ssthresh;
        let used = self.used.full || (slow_start && 2.0 * f64::from(self.used.most) > window.cwnd);
        if !used {
            return window.rarely(|w| self.control.pause(w, f64::from(flight), now));
        }
        let mut left = f64::from(acked);
        if PLAIN {
            left = window.slow_start(left);
        } else {
            left = larger(left - f64::from(marked), 0.0);
            left = match &mut self.start {
                _ if !self.control.slow_starts() => left,
                Some(start) => {
                    window.rarely(|w| start.on_ack(w, left, (ack, next), now, self.measured.take()))
                }
                None => window.slow_start(left),
            };
        }
        if left > 0.0 {
            match &mut self.control {
                Control::Cubic(c) if PLAIN => c.avoid(window, left, now, smoothed),
                _ if PLAIN && !self.whole => reno::avoid(window, left),
                control => {
                    let rtt = (smoothed, self.srtt);
                    control.avoid(window, (left, self.whole), f64::from(flight), now, rtt)
                }
            }
        }
    }

    fn reduce(&mut self, window: &mut Window, cause: Cause) {
        self.control.reduce(window, cause);
        if let Some(start) = &mut self.start {
            start.on_reduction(cause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    use crate::TcpParams;

    fn ms(x: u64) -> Time {
        Time::ZERO + Duration::from_millis(x)
    }

    /// A sender in steady state: no handshake, a window of `cwnd` in flight, packets 1 to cwnd.
    fn flying(recovery: Recovery, cwnd: u32) -> (Config, Sender) {
        let params = TcpParams { recovery, initial_window: cwnd, syn: false, ..Default::default() };
        let cfg = Config::new(&params).unwrap();
        let mut s = Sender::new(&cfg);
        s.window.ssthresh = cwnd as f64;
        s.provide(u32::MAX);
        assert_eq!(drain(&cfg, &mut s, ms(0)).len(), cwnd as usize);
        (cfg, s)
    }

    fn drain(cfg: &Config, s: &mut Sender, now: Time) -> Vec<u32> {
        core::iter::from_fn(|| s.poll(cfg, now))
            .map(|o| match o {
                Outgoing::Data { seq, .. } => seq,
                Outgoing::Syn => 0,
            })
            .collect()
    }

    fn ack(cfg: &Config, s: &mut Sender, n: u32, blocks: &[Block]) -> Vec<u32> {
        s.on_ack(cfg, ms(100), n, false, blocks);
        drain(cfg, s, ms(100))
    }

    #[test]
    fn a_connection_opens_with_a_syn_and_then_sends_its_initial_window() {
        let cfg = Config::new(&TcpParams::default()).unwrap();
        let mut s = Sender::new(&cfg);
        assert_eq!(s.poll(&cfg, ms(0)), None, "nothing to send, no connection");
        s.provide(10);
        assert_eq!(drain(&cfg, &mut s, ms(0)), [0]);
        assert_eq!(s.deadline(), ms(3000));
        s.on_ack(&cfg, ms(100), 1, false, &[]);
        assert_eq!(drain(&cfg, &mut s, ms(100)), [1, 2]);
        // The SYN's round trip of 100 ms: 0.1 + 4 x 0.05.
        assert_eq!(s.deadline(), ms(400));
        assert_eq!(ack(&cfg, &mut s, 2, &[]), [3, 4]);
    }

    #[test]
    fn after_a_lost_syn_the_window_starts_at_one_and_slow_start_ends_at_two() {
        let cfg = Config::new(&TcpParams::default()).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(10);
        drain(&cfg, &mut s, ms(0));
        s.on_timer(&cfg, ms(3000));
        assert_eq!(drain(&cfg, &mut s, ms(3000)), [0]);
        assert_eq!(s.deadline(), ms(9000));
        s.on_ack(&cfg, ms(3100), 1, false, &[]);
        assert_eq!(drain(&cfg, &mut s, ms(3100)), [1]);
        s.on_ack(&cfg, ms(3200), 2, false, &[]);
        assert_eq!(drain(&cfg, &mut s, ms(3200)), [2, 3]);
        s.on_ack(&cfg, ms(3300), 3, false, &[]);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (2.5, 2.0));
    }

    #[test]
    fn congestion_avoidance_adds_one_packet_per_window() {
        let (cfg, mut s) = flying(Recovery::Reno, 10);
        let sent: usize = (2..=11).map(|n| ack(&cfg, &mut s, n, &[]).len()).sum();
        assert_eq!(sent, 10, "the window reaches 11 only just after its round trip");
        assert!((s.window.cwnd - 10.96).abs() < 0.01, "{}", s.window.cwnd);
    }

    #[test]
    fn reno_repairs_one_loss_and_halves_its_window() {
        let (cfg, mut s) = flying(Recovery::Reno, 10);
        // Packet 1 is lost: nine duplicates of ack 1. Two send new data (RFC 3042), the third
        // retransmits, and the window of 5 + 3 + further duplicates opens beyond 12 in flight.
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [11]);
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [12]);
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [1]);
        assert_eq!((s.window.cwnd, s.inflation), (5.0, 3));
        let later: Vec<u32> = (0..6).flat_map(|_| ack(&cfg, &mut s, 1, &[])).collect();
        assert_eq!(later, [13, 14]);
        ack(&cfg, &mut s, 11, &[]);
        assert!((s.window.cwnd - 5.2).abs() < 1e-9, "half, and one growth: {}", s.window.cwnd);
        assert_eq!(s.phase, Phase::Open);
    }

    #[test]
    fn ssthresh_is_a_whole_number_and_the_window_is_not() {
        let (cfg, mut s) = flying(Recovery::Reno, 7);
        (0..3).for_each(|_| drop(ack(&cfg, &mut s, 1, &[])));
        assert_eq!((s.window.cwnd, s.window.ssthresh), (3.5, 3.0));
        s.on_timer(&cfg, s.deadline());
        assert_eq!((s.window.cwnd, s.window.ssthresh), (1.0, 2.0));
    }

    #[test]
    fn newreno_repairs_one_loss_per_round_trip_and_stays_in_recovery() {
        let (cfg, mut s) = flying(Recovery::NewReno, 10);
        (0..3).for_each(|_| drop(ack(&cfg, &mut s, 1, &[])));
        assert_eq!(s.recover, 13);
        // Packet 5 is lost too: a partial acknowledgment retransmits it at once.
        assert_eq!(ack(&cfg, &mut s, 5, &[])[0], 5);
        assert_eq!(s.phase, Phase::Recovery);
        ack(&cfg, &mut s, 13, &[]);
        assert_eq!(s.phase, Phase::Open);
        assert!((s.window.cwnd - 5.2).abs() < 1e-9);
    }

    #[test]
    fn tahoe_starts_over_from_one_packet() {
        let (cfg, mut s) = flying(Recovery::Tahoe, 10);
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [11]);
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [12]);
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [1]);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (1.0, 5.0));
        assert_eq!(ack(&cfg, &mut s, 1, &[]), [], "only the first two duplicates send");
        assert_eq!(ack(&cfg, &mut s, 11, &[]), [11, 12]);
    }

    #[test]
    fn a_loss_in_a_window_that_ecn_has_reduced_is_repaired_without_another_reduction() {
        let params = TcpParams { ecn: true, initial_window: 10, syn: false, ..Default::default() };
        let cfg = Config::new(&params).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(u32::MAX);
        drain(&cfg, &mut s, ms(0));
        // 1 is marked, 2 is lost.
        s.on_ack(&cfg, ms(100), 2, true, &[]);
        assert!(!s.on_ack(&cfg, ms(100), 2, true, &[]).fast_retransmit);
        assert!(!s.on_ack(&cfg, ms(100), 2, true, &[]).fast_retransmit);
        assert!(s.on_ack(&cfg, ms(100), 2, true, &[]).fast_retransmit);
        assert_eq!(drain(&cfg, &mut s, ms(100)), [2]);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (5.0, 5.0));
        // Once: what is lost after that waits for the timer, as without ECN.
        ack(&cfg, &mut s, 5, &[]);
        (0..3).for_each(|_| drop(ack(&cfg, &mut s, 5, &[])));
        assert_eq!(s.phase, Phase::Open);
    }

    #[test]
    fn sack_retransmits_exactly_what_is_missing() {
        let (cfg, mut s) = flying(Recovery::Sack, 10);
        // 1, 3 and 5 are lost.
        assert_eq!(ack(&cfg, &mut s, 1, &[(2, 3)]), [11]);
        assert_eq!(ack(&cfg, &mut s, 1, &[(4, 5), (2, 3)]), [12]);
        assert_eq!(ack(&cfg, &mut s, 1, &[(6, 7), (4, 5), (2, 3)]), [1]);
        assert_eq!(s.window.cwnd, 5.0);
        // Pipe: 1 again, 5 and 7 to 12 not lost. It must fall below 5 before 3 goes.
        let mut sent = Vec::new();
        for to in 8..=11 {
            sent.extend(ack(&cfg, &mut s, 1, &[(6, to), (4, 5), (2, 3)]));
        }
        assert_eq!(sent, [3, 5]);
        assert_eq!(ack(&cfg, &mut s, 13, &[]), [13, 14, 15, 16, 17]);
        assert_eq!(s.phase, Phase::Open);
    }

    #[test]
    fn a_timeout_goes_back_and_a_second_one_leaves_an_ssthresh_of_two() {
        let (cfg, mut s) = flying(Recovery::Reno, 10);
        s.on_timer(&cfg, s.deadline());
        assert_eq!(drain(&cfg, &mut s, ms(3000)), [1]);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (1.0, 5.0));
        s.on_timer(&cfg, s.deadline());
        assert_eq!(s.window.ssthresh, 2.0);
        assert_eq!(s.rto(), Duration::from_secs(12));
        // Go back N: after the acknowledgment of packet 1, slow start from packet 2.
        drain(&cfg, &mut s, ms(9000));
        assert_eq!(ack(&cfg, &mut s, 2, &[]), [2, 3]);
    }

    #[test]
    fn a_second_reduction_needs_an_acknowledgment_beyond_the_first() {
        let (cfg, mut s) = flying(Recovery::Reno, 10);
        (0..3).for_each(|_| drop(ack(&cfg, &mut s, 1, &[])));
        ack(&cfg, &mut s, 5, &[]);
        let before = s.window.ssthresh;
        (0..3).for_each(|_| drop(ack(&cfg, &mut s, 5, &[])));
        assert_eq!(s.window.ssthresh, before);
        assert_eq!(s.phase, Phase::Open);
    }

    #[test]
    fn an_echoed_mark_halves_the_window_once_per_window_of_data() {
        let params = TcpParams { ecn: true, initial_window: 10, syn: false, ..Default::default() };
        let cfg = Config::new(&params).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(u32::MAX);
        drain(&cfg, &mut s, ms(0));
        assert!(s.on_ack(&cfg, ms(100), 2, true, &[]).ecn_response);
        assert_eq!(s.window.cwnd, 5.0);
        assert!(!s.on_ack(&cfg, ms(100), 3, true, &[]).ecn_response);
        assert_eq!(s.window.cwnd, 5.0, "an echo stops growth");
        s.on_ack(&cfg, ms(110), 11, false, &[]);
        let Some(Outgoing::Data { cwr, .. }) = s.poll(&cfg, ms(110)) else { panic!() };
        assert!(cwr);
        let Some(Outgoing::Data { cwr, .. }) = s.poll(&cfg, ms(110)) else { panic!() };
        assert!(!cwr);
    }

    /// A sender without handshake that answers marks.
    fn ecn(initial_window: u32, ecn_retransmissions: bool) -> (Config, Sender) {
        let params =
            TcpParams { ecn: true, ecn_retransmissions, initial_window, syn: false, ..Default::default() };
        let cfg = Config::new(&params).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(u32::MAX);
        drain(&cfg, &mut s, ms(0));
        (cfg, s)
    }

    /// What is sent now, with its CWR.
    fn with_cwr(cfg: &Config, s: &mut Sender, now: Time) -> Vec<(u32, bool)> {
        core::iter::from_fn(|| s.poll(cfg, now))
            .map(|o| match o {
                Outgoing::Data { seq, cwr, .. } => (seq, cwr),
                Outgoing::Syn => (0, false),
            })
            .collect()
    }

    #[test]
    fn a_mark_on_a_window_of_one_holds_the_sender_until_its_timer() {
        let (cfg, mut s) = ecn(1, false);
        assert!(s.on_ack(&cfg, ms(100), 2, true, &[]).ecn_response);
        assert_eq!(drain(&cfg, &mut s, ms(100)), []);
        // The round trip of 100 ms: 0.1 + 4 x 0.05.
        assert_eq!(s.deadline(), ms(400));
        assert!(!s.on_timer(&cfg, ms(400)).timeout, "nothing was lost");
        assert_eq!(with_cwr(&cfg, &mut s, ms(400)), [(2, true)]);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (1.0, 2.0));
        assert!(!s.rtt.backed_off());
    }

    #[test]
    fn further_marks_on_a_window_of_one_double_the_timer_until_one_is_missing() {
        let (cfg, mut s) = ecn(1, false);
        s.on_ack(&cfg, ms(100), 2, true, &[]);
        s.on_timer(&cfg, ms(400));
        assert_eq!(drain(&cfg, &mut s, ms(400)), [2]);
        // RTTVAR falls to 3/4 with each further round trip of 100 ms, in whole quarters of 10 ms:
        // timeouts of 250, 220 and 200 ms (the smallest), doubled once, twice and not at all.
        s.on_ack(&cfg, ms(500), 3, true, &[]);
        assert_eq!(s.deadline(), ms(500 + 2 * 250));
        assert!(!s.on_timer(&cfg, ms(1000)).timeout, "nothing was lost");
        assert_eq!(drain(&cfg, &mut s, ms(1000)), [3]);
        assert_eq!(s.rto(), Duration::from_millis(2 * 250), "the timer itself doubles nothing");
        s.on_ack(&cfg, ms(1100), 4, true, &[]);
        assert_eq!(s.deadline(), ms(1100 + 4 * 220));
        s.on_timer(&cfg, ms(1980));
        assert_eq!(drain(&cfg, &mut s, ms(1980)), [4]);
        s.on_ack(&cfg, ms(2080), 5, false, &[]);
        assert_eq!(drain(&cfg, &mut s, ms(2080)), [5, 6]);
        assert_eq!(s.deadline(), ms(2080 + 200));
        // The next mark on a window of one is a first one again.
        s.on_ack(&cfg, ms(2180), 6, true, &[]);
        assert_eq!((s.window.cwnd, s.rtt.backed_off()), (1.0, false));
        s.on_ack(&cfg, ms(2190), 7, false, &[]);
        drain(&cfg, &mut s, ms(2190));
        assert!(!s.rtt.backed_off());
    }

    #[test]
    fn cwr_goes_out_after_any_reduction_and_not_with_a_retransmission_by_the_rfc() {
        for with_retransmissions in [false, true] {
            let (cfg, mut s) = ecn(4, with_retransmissions);
            for _ in 0..3 {
                s.on_ack(&cfg, ms(100), 1, false, &[]);
            }
            assert_eq!(with_cwr(&cfg, &mut s, ms(100))[0], (1, with_retransmissions));
            s.on_timer(&cfg, s.deadline());
            assert_eq!(with_cwr(&cfg, &mut s, ms(5000)), [(1, with_retransmissions)]);
            s.on_ack(&cfg, ms(5100), s.max, false, &[]);
            let new: Vec<bool> = with_cwr(&cfg, &mut s, ms(5100)).iter().map(|p| p.1).collect();
            assert_eq!(new, [!with_retransmissions, false]);
        }
    }

    #[test]
    fn an_echo_after_a_timeout_is_answered_where_it_can_only_be_of_a_retransmission() {
        for ecn_retransmissions in [false, true] {
            let (cfg, mut s) = ecn(4, ecn_retransmissions);
            s.on_timer(&cfg, ms(3000));
            assert_eq!(drain(&cfg, &mut s, ms(3000)), [1]);
            // Without, it may be of a packet sent before the timeout: CWR has not gone out yet.
            let did = s.on_ack(&cfg, ms(3100), 2, true, &[]);
            assert_eq!(did.ecn_response, ecn_retransmissions);
            assert_eq!(s.window.cwnd, if ecn_retransmissions { 0.5 } else { 1.0 });
            assert!(!s.on_ack(&cfg, ms(3100), 3, true, &[]).ecn_response, "once");
        }
    }

    #[test]
    fn no_cwr_without_ecn() {
        let (cfg, mut s) = flying(Recovery::Reno, 4);
        s.on_timer(&cfg, ms(3000));
        assert_eq!(with_cwr(&cfg, &mut s, ms(3000)), [(1, false)]);
        s.on_ack(&cfg, ms(3100), 5, false, &[]);
        assert!(with_cwr(&cfg, &mut s, ms(3100)).iter().all(|p| !p.1));
    }

    #[test]
    fn a_finite_transfer_ends_when_all_is_acknowledged() {
        let params = TcpParams { syn: false, initial_window: 10, ..Default::default() };
        let cfg = Config::new(&params).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(3);
        assert_eq!(drain(&cfg, &mut s, ms(0)), [1, 2, 3]);
        assert!(!s.is_done());
        ack(&cfg, &mut s, 4, &[]);
        assert!(s.is_done());
        assert_eq!(s.deadline(), Time::MAX);
    }
}
