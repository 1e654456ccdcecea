//! The fast path: what an acknowledgment of new packets does while these were sent once and in order, and nothing is
//! repaired, sent again or answered. `twin.rs` holds it against the general path.

use core::ops::Range;

use quell_units::Time;

use super::{Gauges, Growing, Modern, Phase, Sender, UNTIMED};
use crate::choices::{CongestionControl, Recovery, congestion_controls};
use crate::congestion::contract::{AckFacts, Cause, Congestion, Delivery, InOrder, Repairing};
use crate::congestion::{self, Kind, reno};
use crate::pacing::{Pacer, Release, SOON};
use crate::params::{Config, Reports};
use crate::recovery::rack::Rack;
use crate::recovery::repair::Repair;

impl Sender {
    /// Returns whether nothing is being repaired, nothing is sent again and no mark is answered, and only the window
    /// and pacing have a say in what is sent.
    pub(super) fn is_in_order(&self) -> bool {
        let reduced = match self.reduced_by {
            _ if self.modern.is_some() => self.una < self.recover,
            Cause::Timeout => self.una <= self.recover,
            Cause::Loss | Cause::Echo => false,
        };
        self.phase == Phase::Open
            && !reduced
            && !self.retransmit
            && self.repair.is_idle()
            && self.modern.as_ref().is_none_or(|modern| !modern.control.measures_delay())
            && self.next == self.max
            && self.dup_acks == 0
            && !self.cwr
            && !self.echo_at_one
    }

    /// Returns whether [`Sender::on_ack_in_order`] does at `now` what [`Sender::on_ack`] and [`Sender::poll`] do for an
    /// acknowledgment without echo, and with a report only where that is of marks and [says
    /// nothing](Sender::hears_no_marks).
    #[inline]
    pub fn takes_in_order(&self, now: Time, ack: u32) -> bool {
        self.in_order && ack > self.una && self.deadline() > now
    }

    /// Returns whether the marks that an acknowledgment reports were known, where [`Sender::takes_in_order`].
    #[inline]
    pub fn hears_no_marks(&self, cfg: &Config, ack: u32, marks: u32) -> bool {
        let newly = ack - self.una;
        self.modern.as_ref().is_some_and(|modern| {
            let known = &modern.gauges.marks;
            let delivered = if cfg.recovery.is_selective() { newly } else { known.would_deliver(newly) };
            known.news(cfg.feedback, marks, cfg.covered_by_ace(delivered)) == 0
        })
    }

    /// Takes in an acknowledgment in the usual case. Returns all packets that are to be sent now, which are new ones.
    #[inline(always)]
    pub fn on_ack_in_order(&mut self, cfg: &Config, now: Time, ack: u32) -> Range<u32> {
        debug_assert!(self.takes_in_order(now, ack) && self.is_in_order());
        if self.modern.is_some() {
            return self.in_order(cfg, now, Some(ack));
        }
        let newly = ack - self.una;
        self.acknowledge_in_order(cfg, now, ack);
        let left = self.window.slow_start(newly.min(cfg.growth_limit) as f64);
        if left > 0.0 {
            reno::avoid(&mut self.window, left);
        }
        let first = self.max;
        let end = self.una.saturating_add(self.window.packets(cfg)).min(self.limit).max(first);
        if end > first {
            self.sent_in_order(now, first, end);
        }
        self.arm_in_order::<true>(now, false);
        first..end
    }

    /// Takes in an acknowledgment or, without one, the time for which pacing has kept packets back: compiled for each
    /// kind of sender, which would else be asked for at every step.
    #[inline(always)]
    fn in_order(&mut self, cfg: &Config, now: Time, ack: Option<u32>) -> Range<u32> {
        macro_rules! by_control {
            ($( #[doc = $doc:literal] $name:ident = $text:literal, $module:ident: $kind:ty; )+) => {
                match cfg.congestion {
                    $( CongestionControl::$name => self.by_kind::<congestion::$module::$name>(cfg, now, ack), )+
                }
            };
        }
        congestion_controls!(by_control)
    }

    #[inline(always)]
    fn by_kind<C: Kind>(&mut self, cfg: &Config, now: Time, ack: Option<u32>) -> Range<u32> {
        if C::MODEL {
            // It needs both.
            return self.by_event::<C, true, true>(cfg, now, ack);
        }
        match (cfg.recovery == Recovery::Rack, cfg.paces()) {
            (true, true) => self.by_event::<C, true, true>(cfg, now, ack),
            (true, false) => self.by_event::<C, true, false>(cfg, now, ack),
            (false, true) => self.by_event::<C, false, true>(cfg, now, ack),
            (false, false) => self.by_event::<C, false, false>(cfg, now, ack),
        }
    }

    #[inline(always)]
    fn by_event<C: Kind, const RACK: bool, const PACED: bool>(
        &mut self,
        cfg: &Config,
        now: Time,
        ack: Option<u32>,
    ) -> Range<u32> {
        match ack {
            Some(ack) if PACED && cfg.send_quantum.is_some() => {
                self.take_any_in_order::<C, RACK, PACED>(cfg, now, ack)
            }
            Some(ack) => self.take_in_order::<C, RACK, PACED>(cfg, now, ack),
            None => self.release_in_order::<C, RACK>(cfg, now),
        }
    }

    /// The fast path itself, with losses found by time or not, and with a pacer or not. What moves more than counts,
    /// the window and the times of packets is called at the end alone, so that no registers are saved.
    #[inline(never)]
    fn take_in_order<C: Kind, const RACK: bool, const PACED: bool>(
        &mut self,
        cfg: &Config,
        now: Time,
        ack: u32,
    ) -> Range<u32> {
        let (newly, flight) = (ack - self.una, self.max - self.una);
        // A copy, which no write to what is kept could change.
        let mut window = self.window;
        if ack <= self.timed
            && let Some(Modern { control, gauges, release }) = self.modern.as_deref_mut()
            && let Some(control) = C::of(control)
            && (C::MODEL || gauges.usage.full && window.cwnd >= window.ssthresh && gauges.search.is_none())
            && (C::MODEL || gauges.marks.is_level())
            // Others measure nothing then.
            && let Some(sent) = match &self.repair {
                Repair::Rack(by_time) if RACK => Some(by_time.rack.sent_at(ack - 1)),
                _ if PACED => gauges.rtts.sent.as_ref().map(|times| times.sent_at(ack - 1)),
                _ => Some(now),
            }
            && (!PACED || RACK || sent != Time::MAX)
        {
            let rtt = now - sent;
            let srtt = if RACK || PACED { gauges.rtts.smoothed(rtt) } else { rtt };
            // It measures before the window grows, and only if this goes through.
            let measured = match &self.repair {
                Repair::Rack(by_time) if RACK && cfg.rtt_of_each => by_time.rack.first_sent().map(|first| {
                    let mut timer = self.rtt;
                    timer.sample_each(cfg, first, now, ack, self.max);
                    timer
                }),
                _ => None,
            };
            let facts = InOrder {
                now,
                ack,
                newly,
                packets: f64::from(newly.min(cfg.growth_limit)),
                prior_flight: flight,
                sent,
                rtt,
                srtt,
                window_limited: gauges.limited,
                timer: measured.as_ref().unwrap_or(&self.rtt),
                cfg,
                pacer: release.pacer(),
            };
            if control.on_usual_ack(&mut window, &facts) {
                if RACK || PACED {
                    (gauges.rtts.measured, gauges.rtts.srtt) = (Some(rtt), Some(srtt));
                }
                if let Some(timer) = measured {
                    self.rtt = timer;
                }
                if RACK && let Some(by_time) = self.repair.by_time() {
                    by_time.rack.deliver_first(newly, sent, rtt);
                    by_time.rack.tlp.measured = true;
                } else if PACED && let Some(times) = &mut gauges.rtts.sent {
                    times.pass(ack);
                }
                if C::MODEL {
                    gauges.limited = false;
                } else if PACED && let Some(pacer) = release.pacer_mut() {
                    // A model's rate stays.
                    pacer.follow(None, &window, Some(srtt));
                }
                (self.una, self.window) = (ack, window);
                return self.send_in_order::<C, RACK, PACED, true>(cfg, now);
            }
        }
        self.take_any_in_order::<C, RACK, PACED>(cfg, now, ack)
    }

    /// [`Sender::take_in_order`], whatever the acknowledgment moves.
    #[inline(never)]
    fn take_any_in_order<C: Kind, const RACK: bool, const PACED: bool>(
        &mut self,
        cfg: &Config,
        now: Time,
        ack: u32,
    ) -> Range<u32> {
        if C::MODEL && ack == self.max {
            // What is sent next may begin the model again.
            self.on_ack(cfg, now, ack, false, &[]);
            return self.poll_new(cfg, now);
        }
        let (newly, flight) = (ack - self.una, self.max - self.una);
        self.acknowledge_in_order(cfg, now, ack);
        let mut window = self.window;
        let Some(Modern { control, gauges, release }) = self.modern.as_deref_mut() else { return 0..0 };
        let Some(control) = C::of(control) else { return 0..0 };
        if RACK && let Some(by_time) = self.repair.by_time() {
            if PACED && let (Some(pacer), Some(sent)) = (release.pacer_mut(), by_time.rack.first_sent()) {
                pacer.acknowledged(now - sent);
            }
            if cfg.rtt_of_each
                && let Some(first) = by_time.rack.first_sent()
            {
                self.rtt.sample_each(cfg, first, now, ack, self.max);
            }
            let sent = by_time.rack.sent_at(ack - 1);
            by_time.rack.deliver_first(newly, sent, now - sent);
            by_time.rack.tlp.measured = true;
            gauges.rtts.measure(Some(now - sent));
        } else {
            gauges.rtts.acknowledged(ack, now);
        }
        if C::MODEL {
            let facts = AckFacts {
                now,
                una: ack,
                prior_flight: flight,
                flight: flight - newly,
                rtt: gauges.rtts.measured,
                window_limited: core::mem::take(&mut gauges.limited),
                repairing: Repairing::Nothing,
                pacer: release.pacer(),
            };
            control.on_ack_in_order(&mut window, &facts, newly);
        } else {
            if counts_marks(cfg) {
                let selective = cfg.recovery.is_selective();
                let delivered = if selective { newly } else { gauges.marks.delivered(newly, false) };
                let delivery = Delivery { now, ack, next: self.max, delivered, marked: 0, may_reduce: true };
                gauges.marked = 0;
                control.on_marks(&mut window, &delivery);
            }
            let packets = newly.min(cfg.growth_limit);
            let growing = Growing { packets, marked: 0, flight, ack, next: self.max };
            gauges.grow(control, &mut window, now, growing, (&self.rtt, cfg));
        }
        self.window = window;
        if PACED && let Some(pacer) = release.pacer_mut() {
            pacer.follow(control.pacing_rate(), &window, gauges.rtts.srtt);
        }
        self.send_in_order::<C, RACK, PACED, true>(cfg, now)
    }

    /// Returns whether [`Sender::on_timer_in_order`] does what [`Sender::on_timer`] and [`Sender::poll`] do at `now`,
    /// when a timer runs out.
    #[inline]
    pub fn takes_timer_in_order(&self, now: Time) -> bool {
        let probe = match &self.repair {
            Repair::Rack(by_time) => by_time.rack.tlp.due,
            _ => Time::MAX,
        };
        self.in_order && self.deadline > now && self.modern.is_some() && probe > now
    }

    /// Takes in the time for which pacing has kept packets back. Returns all packets that are to be sent now, which are
    /// new ones.
    pub fn on_timer_in_order(&mut self, cfg: &Config, now: Time) -> Range<u32> {
        debug_assert!(self.takes_timer_in_order(now) && self.is_in_order());
        self.in_order(cfg, now, None)
    }

    #[inline(never)]
    fn release_in_order<C: Kind, const RACK: bool>(&mut self, cfg: &Config, now: Time) -> Range<u32> {
        if C::MODEL && self.una == self.max {
            // What is sent next may begin the model again.
            self.on_timer(cfg, now);
            return self.poll_new(cfg, now);
        }
        let Some(Modern { control, gauges, release: Release::Paced(pacer) }) = self.modern.as_deref_mut()
        else {
            return 0..0;
        };
        pacer.wake = Time::MAX;
        pacer.follow(control.pacing_rate(), &self.window, gauges.rtts.srtt);
        self.send_in_order::<C, RACK, true, false>(cfg, now)
    }

    /// The packets that may be sent now, which are new ones.
    fn poll_new(&mut self, cfg: &Config, now: Time) -> Range<u32> {
        let first = self.max;
        while self.poll(cfg, now).is_some() {}
        first..self.max
    }

    /// New packets leave, as many as the window and pacing allow, after an acknowledgment (`ACKED`) or when a timer has
    /// run out: here one or none.
    #[inline(always)]
    fn send_in_order<C: Kind, const RACK: bool, const PACED: bool, const ACKED: bool>(
        &mut self,
        cfg: &Config,
        now: Time,
    ) -> Range<u32> {
        if PACED && cfg.send_quantum.is_some() {
            return self.send_any_in_order::<C, RACK, PACED, ACKED>(cfg, now);
        }
        let (una, first, limit, window) = (self.una, self.max, self.limit, self.window);
        let end = una.saturating_add(window.packets(cfg)).min(limit).max(first);
        if let Some(Modern { control, gauges, release }) = self.modern.as_deref_mut()
            && let Some(control) = C::of(control)
            && control.has_room()
            && (RACK || gauges.rtts.sent.as_ref().map_or(!PACED, |times| PACED && times.has_room()))
            && (!RACK || self.repair.by_time().is_some_and(|by_time| by_time.rack.has_room()))
            && let Some(n) = if PACED {
                release.pacer_mut().and_then(|p| p.release_one(now, end - first))
            } else {
                Some(end - first)
            }
            && n <= 1
        {
            let next = first + n;
            if n > 0 {
                if C::MODEL {
                    control.on_next_sent(now, first - una);
                } else {
                    gauges.usage.sent(una, next, window.cwnd);
                }
                if RACK && let Some(by_time) = self.repair.by_time() {
                    by_time.rack.sent_next(first, now);
                } else if PACED && let Some(times) = &mut gauges.rtts.sent {
                    times.sent_next(now);
                }
            }
            if C::MODEL && next >= end {
                gauges.note_end(control, cfg, limit, next, next - una, window.cwnd);
            }
            if n > 0 {
                self.sent_in_order(now, first, next);
            }
            self.arm_in_order::<ACKED>(now, n > 0);
            self.look_ahead_in_order::<RACK, PACED>(now, ACKED || n > 0);
            return first..next;
        }
        self.send_any_in_order::<C, RACK, PACED, ACKED>(cfg, now)
    }

    /// [`Sender::send_in_order`] for any number of packets.
    #[inline(never)]
    fn send_any_in_order<C: Kind, const RACK: bool, const PACED: bool, const ACKED: bool>(
        &mut self,
        cfg: &Config,
        now: Time,
    ) -> Range<u32> {
        let (una, first, limit, mut window) = (self.una, self.max, self.limit, self.window);
        let end = una.saturating_add(window.packets(cfg)).min(limit).max(first);
        let Some(Modern { control, gauges, release }) = self.modern.as_deref_mut() else { return 0..0 };
        let Some(control) = C::of(control) else { return 0..0 };
        let mut by_time = if RACK { self.repair.by_time() } else { None };
        let (mut next, mut waits) = (end, false);
        if PACED && let Some(pacer) = release.pacer_mut() {
            if pacer.sends_together() {
                let open = una.saturating_add(window.packets(cfg)).max(end);
                if let Some(by_time) = &by_time {
                    (next, waits) =
                        release_together(pacer, &by_time.rack, now, (first, end, open), window.cwnd);
                }
            } else {
                next = first + pacer.release(now, end - first);
            }
        }
        if next > first {
            if C::MODEL {
                (first..next).for_each(|seq| control.on_sent(&mut window, now, seq, seq - una));
            } else {
                // What the last one says of the window, the others do not. A model does not ask.
                gauges.usage.sent(una, next, window.cwnd);
            }
            if let Some(by_time) = &mut by_time {
                by_time.rack.sent_new(first, next, now);
            } else if let Some(times) = &mut gauges.rtts.sent {
                times.sent_new(first, next, now);
            }
        }
        if waits {
            gauges.note_wait(una, next);
        }
        if C::MODEL && next >= end {
            gauges.note_end(control, cfg, limit, next, next - una, window.cwnd);
        }
        if next > first {
            self.sent_in_order(now, first, next);
        }
        self.arm_in_order::<ACKED>(now, next > first);
        self.look_ahead_in_order::<RACK, PACED>(now, ACKED || next > first);
        first..next
    }

    /// Finds out which of the timers other than the retransmission timer is the first, and starts that of the probe.
    #[inline(always)]
    fn look_ahead_in_order<const RACK: bool, const PACED: bool>(&mut self, now: Time, again: bool) {
        if !RACK && !PACED {
            return; // There are no others.
        }
        let Some(modern) = self.modern.as_deref() else { return };
        let mut sooner = if PACED { modern.release.due() } else { Time::MAX };
        if RACK && let Some(by_time) = self.repair.by_time() {
            let tlp = &mut by_time.rack.tlp;
            if self.max == self.una {
                tlp.due = Time::MAX;
            } else if again {
                tlp.schedule_in_order(now, self.max - self.una, modern.gauges.rtts.srtt, self.deadline);
            }
            sooner = sooner.min(tlp.due);
        }
        self.sooner = sooner;
    }

    #[inline(always)]
    fn acknowledge_in_order(&mut self, cfg: &Config, now: Time, ack: u32) {
        self.una = ack;
        if ack > self.timed {
            self.timed = UNTIMED;
            self.measured = now - self.timed_at;
            if !cfg.rtt_of_each {
                self.rtt.sample(cfg, self.timed_at, now);
            }
        }
    }

    /// New packets from `first` to before `end` have been sent.
    #[inline(always)]
    fn sent_in_order(&mut self, now: Time, first: u32, end: u32) {
        (self.next, self.max) = (end, end);
        if self.timed == UNTIMED {
            (self.timed, self.timed_at) = (first, now);
        }
    }

    /// The retransmission timer starts again with an acknowledgment, if anything is outstanding, and with the first
    /// packet that is.
    #[inline(always)]
    fn arm_in_order<const ACKED: bool>(&mut self, now: Time, sent: bool) {
        if ACKED && self.una >= self.max && self.window.cwnd >= 1.0 {
            self.deadline = Time::MAX;
        } else if ACKED || (sent && self.deadline == Time::MAX) {
            self.arm(now);
        }
    }
}

impl Gauges {
    /// A model's packets up to `next` have left, and no further one may: the window keeps them back, or there are none.
    #[inline(always)]
    fn note_end(
        &mut self,
        control: &mut impl Congestion,
        cfg: &Config,
        limit: u32,
        next: u32,
        flight: u32,
        cwnd: f64,
    ) {
        if next < limit && f64::from(flight) < cfg.max_window {
            self.limited = true;
        } else if f64::from(flight) + 1.0 <= cwnd {
            control.on_nothing_to_send(flight);
        }
    }
}

#[inline(always)]
fn counts_marks(cfg: &Config) -> bool {
    cfg.reports == Reports::Always
}

/// Releases new packets of those from `first` to before `end`. Returns the one before which they leave now, and whether
/// others wait for the window to open further, which ends before `open`.
#[inline(never)]
fn release_together(
    pacer: &mut Pacer,
    rack: &Rack,
    now: Time,
    (first, end, open): (u32, u32, u32),
    cwnd: f64,
) -> (u32, bool) {
    let mut next = first;
    while next < end {
        if waits_for_more(pacer, rack, now, next, f64::from(open - next), cwnd) {
            return (next, true);
        }
        if pacer.waits_for_host(now, end - next, false) || !pacer.releases(now) {
            break;
        }
        pacer.sent(now);
        next += 1;
    }
    (next, false)
}

/// Returns whether new packets wait, where nothing is repaired: packets of another moment than the last one, fewer
/// than leave together and than a third of the window, for an acknowledgment that is due soon. As in Linux.
pub(super) fn waits_for_more(pacer: &Pacer, rack: &Rack, now: Time, next: u32, room: f64, cwnd: f64) -> bool {
    let (Some(together), Some(srtt)) = (pacer.begins(now, next), pacer.srtt()) else { return false };
    room < f64::from(together)
        && room * 3.0 < cwnd
        && rack.first_sent().is_some_and(|sent| sent + srtt <= now + SOON.min(srtt / 2))
}
