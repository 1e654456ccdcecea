//! The part of a sender that finds losses by time (RFC 8985).

use quell_units::{Duration, Time};

use super::{Modern, Outgoing, Phase, Reaction, Sender, UNTIMED};
use crate::choices::LossWindow;
use crate::congestion::Kind;
use crate::congestion::contract::Cause;
use crate::params::Config;
use crate::recovery::prr::Prr;
use crate::recovery::repair::{ByTime, Repair, Timeout, Undo};
use crate::scoreboard::Block;

impl Sender {
    /// Takes in what an acknowledgment says to have arrived: all below `ack`, and its blocks. Returns how many packets
    /// were in flight before, and the round-trip time for the timeout: of the first packet, or, where none was sent
    /// once, of what was sent again and is acknowledged cumulatively, whose timestamp says of which one it is.
    #[inline(always)]
    pub(super) fn deliver<C: Kind>(
        &mut self,
        now: Time,
        ack: u32,
        blocks: &[Block],
    ) -> (u32, Option<Duration>) {
        // Then it is asked which transmission of a packet came.
        let judged = self.timed_out();
        let Some(Modern { control, gauges, release }) = self.modern.as_deref_mut() else { return (0, None) };
        let Some(ByTime { rack, timeout, .. }) = self.repair.by_time() else { return (0, None) };
        let Some(control) = C::of(control) else { return (0, None) };
        let flight = rack.flying();
        let (mut measured, mut first, mut again) = (None, None, None);
        let (mut once, mut rtt) = (u32::MAX, Duration::ZERO);
        rack.acknowledge(ack, blocks, now, |seq, delivery| {
            if !delivery.again {
                measured = Some(delivery.rtt);
                first = first.or(measured);
                once = once.min(seq);
            } else if seq < ack {
                again = Some(delivery.rtt);
            }
            rtt = if rtt.is_zero() { delivery.rtt } else { rtt };
            control.on_delivered(now, seq);
        });
        (timeout.once, timeout.rtt) = (once, rtt);
        rack.tlp.measured |= measured.is_some();
        if let (Some(pacer), Some(rtt)) = (release.pacer_mut(), first) {
            pacer.acknowledged(rtt);
        }
        gauges.rtts.measure(measured);
        (flight, first.or(again.filter(|rtt| !judged && !rack.late && !rack.is_too_soon(*rtt))))
    }

    /// Returns whether data that was outstanding when the timer ran out still is.
    pub(super) fn timed_out(&self) -> bool {
        self.reduced_by == Cause::Timeout && self.una < self.recover
    }

    /// Returns whether losses are being repaired, which acknowledgments or the timer found.
    fn repairs(&self) -> bool {
        self.phase == Phase::Recovery || self.timed_out()
    }

    /// The window is about to be reduced.
    pub(super) fn remember(&mut self, cause: Cause) {
        let goes_on = self.repairs();
        let Repair::Rack(by_time) = &mut self.repair else { return };
        let rack = &mut by_time.rack;
        if !goes_on {
            rack.begin_recovery(self.una);
        }
        if cause == Cause::Echo {
            // What a mark has taken stays taken.
            by_time.undo = None;
        } else if !goes_on {
            // What was sent again before, and a probe, are of this event too.
            let probed = matches!(rack.tlp.sent, Some((_, true)));
            by_time.undo = Some(Undo {
                window: self.window,
                restores: true,
                from: self.una,
                end: self.max,
                needed: rack.flying_again() + u32::from(probed),
            });
            if let Some(modern) = &mut self.modern {
                modern.control.remember();
            }
        }
    }

    /// The receiver says that a packet came twice. If all that this recovery has sent again has, nothing was lost
    /// (RFC 3708 section 3), and the window is what it was, unless it has grown beyond that (RFC 9438 section 4.9.2).
    fn on_duplicate(&mut self, seq: u32) {
        let (Some(modern), Repair::Rack(by_time)) = (&mut self.modern, &mut self.repair) else { return };
        if !by_time.rack.on_duplicate(seq, self.una, self.max) {
            return;
        }
        modern.control.on_duplicate();
        let Some(undo) = &mut by_time.undo else { return };
        if undo.needed == 0 || !(undo.from..undo.end).contains(&seq) {
            return;
        }
        undo.needed -= 1;
        if undo.needed > 0 || by_time.rack.next_lost().is_some() {
            return;
        }
        let Some(Undo { window: before, restores, .. }) = by_time.undo.take() else { return };
        if restores {
            modern.control.on_spurious(&mut self.window, &before);
            self.window.ssthresh = self.window.ssthresh.max(before.ssthresh);
        }
        self.phase = Phase::Open;
        self.recover = self.una;
    }

    /// Takes in what an acknowledgment of all below `ack` says of the timeout before it, while data that was
    /// outstanding then still is: `again` if the first packet that it newly acknowledges came by a later transmission,
    /// `brings` if it reports packets that came, and `plain` if nothing.
    #[inline(never)]
    pub(super) fn judge_timeout(
        &mut self,
        cfg: &Config,
        now: Time,
        ack: u32,
        (ece, again): (bool, bool),
        (brings, plain): (bool, bool),
    ) {
        let (una, advanced) = (self.una, ack > self.una);
        let (Some(modern), Repair::Rack(by_time)) = (&mut self.modern, &mut self.repair) else { return };
        let ByTime { fall, rack, undo, timeout, .. } = &mut **by_time;
        (timeout.new_first, timeout.new_went) = (false, false);
        if let Some(undo) = undo {
            undo.restores &= !ece;
        }
        let measured = if cfg.rtt_of_each { timeout.once != u32::MAX } else { ack > self.timed };
        if cfg.eifel && advanced && !measured {
            let head = una == fall.timed_out_at && timeout.head_sent > Time::ZERO;
            let rtt = match again || timeout.once == una {
                true => Some(timeout.rtt),
                false => head.then(|| now - timeout.head_sent),
            };
            if let Some(rtt) = rtt {
                let sent = Time::from_nanos(now.nanos() - rtt.nanos());
                match cfg.rtt_of_each {
                    true => self.rtt.sample_each(cfg, sent, now, ack, self.max),
                    false => self.rtt.sample(cfg, sent, now),
                }
                modern.gauges.rtts.measure(Some(rtt));
            }
        }
        let late = cfg.eifel && advanced && !again && undo.as_ref().is_some_and(|undo| una < undo.end);
        if late || timeout.frto && timeout.once < self.recover {
            *timeout = Timeout::NONE;
            rack.unlose();
            let undone = undo.take();
            (self.phase, self.recover, self.reduced_by) = (Phase::Open, una, Cause::Loss);
            if let Some(Undo { window: before, restores: true, .. }) = undone {
                modern.control.on_spurious(&mut self.window, &before);
                if before.ssthresh > self.window.ssthresh {
                    self.window.ssthresh = before.ssthresh;
                    self.cwr = false;
                }
            }
        } else if timeout.frto && self.max > self.recover {
            timeout.frto = !brings && !plain;
        } else if timeout.frto && advanced && ack < self.recover {
            timeout.new_first = true;
        }
    }

    /// The timer is about to take what is outstanding for lost: what may show that this is not so.
    pub(super) fn suspect_timeout(&mut self, cfg: &Config) {
        let timed_out = self.timed_out();
        let (una, recovers) = (self.una, self.phase == Phase::Recovery);
        let Some(ByTime { fall, rack, timeout, .. }) = self.repair.by_time() else { return };
        let anew = timed_out && una == fall.timed_out_at;
        let sent = rack.first_sent_once().or(anew.then_some(timeout.head_sent));
        *timeout = Timeout {
            head_sent: sent.unwrap_or(Time::ZERO),
            // Where nothing is repaired, and where the timer runs out for the same packet (RFC 5682 section 3.1 step 1).
            frto: cfg.frto && !recovers && (anew || !timed_out),
            ..Timeout::NONE
        };
    }

    /// The last part of an acknowledgment: `advanced` if it acknowledged something cumulatively, `plain` if it
    /// acknowledged nothing that was outstanding; `twice` is a packet that it says to have come twice. True if a
    /// recovery begins.
    #[inline(always)]
    pub(super) fn after_rack_ack(
        &mut self,
        cfg: &Config,
        now: Time,
        ack: u32,
        advanced: bool,
        plain: bool,
        twice: Option<u32>,
    ) -> bool {
        let repairs = self.repairs();
        let Some(ByTime { rack, repaired, .. }) = self.repair.by_time() else { return false };
        let probe_repaired = rack.tlp.sent.is_some() && rack.tlp.on_ack(ack, plain, twice);
        if *repaired && !repairs && twice.is_none() {
            rack.on_recovered();
        }
        if let Some(seq) = twice {
            self.on_duplicate(seq);
        }
        let began = self.find_lost(cfg, now);
        if probe_repaired && self.phase == Phase::Open && self.una >= self.recover {
            // The congestion of the loss that it repaired (RFC 8985 section 7.4.2); the probe was needed.
            self.reduce(cfg, Cause::Loss);
            self.repair.forget_undo();
        }
        let repairs = self.repairs();
        if let Some(by_time) = self.repair.by_time() {
            by_time.repaired = repairs;
        }
        if repairs && let Some(by_time) = self.repair.by_time() {
            // Nothing probes a repair.
            by_time.rack.tlp.due = Time::MAX;
            self.look_ahead();
        } else {
            self.schedule_probe(now, advanced);
        }
        began
    }

    /// Starts the timer of the probe again if `again`, and stops it where none may go (RFC 8985 section 7.2).
    fn schedule_probe(&mut self, now: Time, again: bool) {
        let quiet = self.phase == Phase::Open && !self.timed_out() && self.repair.sacked() == 0;
        let (una, max, rto) = (self.una, self.max, self.deadline);
        if let (Some(modern), Repair::Rack(by_time)) = (&self.modern, &mut self.repair) {
            let rack = &mut by_time.rack;
            if !quiet || max == una || rack.next_lost().is_some() {
                rack.tlp.due = Time::MAX;
            } else if again {
                rack.tlp.schedule(now, max - una, modern.gauges.rtts.srtt, rto);
            }
        }
        self.look_ahead();
    }

    /// Looks for lost packets; true if a recovery begins.
    #[inline(always)]
    fn find_lost(&mut self, cfg: &Config, now: Time) -> bool {
        let timed_out = self.timed_out();
        let certain = self.repairs() || self.repair.sacked() >= cfg.dup_threshold;
        let (Some(modern), Repair::Rack(by_time)) = (&mut self.modern, &mut self.repair) else {
            return false;
        };
        let (rack, window) = (&mut by_time.rack, &self.window);
        rack.set_window(certain, modern.gauges.rtts.srtt);
        by_time.lost = rack.detect(now, |seq| modern.control.on_lost(window, now, seq));
        // What a recovery that has ended found of a later window begins the next one.
        let found = by_time.lost > 0 || rack.is_repairing();
        // What a timeout has sent again and is lost again is news (RFC 5681 section 4.3; Linux, tcp_fastretrans_alert()
        // in tcp_input.c). Where the timeout may have been needless, it is not known which of a packet's two has come.
        let anew = timed_out && rack.has_lost_again();
        // Once for a window of data; one that ECN has reduced is repaired without a further reduction.
        let reduced = (self.una < self.recover && !anew) || by_time.fall.falling;
        if !found || self.phase == Phase::Recovery || (reduced && self.reduced_by != Cause::Echo) {
            return false;
        }
        self.timed = UNTIMED;
        if reduced {
            self.reduced_by = Cause::Loss;
        } else {
            self.reduce(cfg, Cause::Loss);
        }
        self.phase = Phase::Recovery;
        self.arm(now);
        true
    }

    /// The timers of RACK-TLP that have run out by `now`.
    pub(super) fn on_rack_timer(&mut self, cfg: &Config, now: Time) -> Reaction {
        let mut did = Reaction::default();
        let Some(ByTime { rack, .. }) = self.repair.by_time() else { return did };
        if rack.tlp.due <= now {
            rack.tlp.due = Time::MAX;
            rack.tlp.pending = true;
        }
        if rack.due <= now {
            did.fast_retransmit = self.find_lost(cfg, now);
            let outstanding = self.max - self.una - self.repair.sacked();
            if did.fast_retransmit
                && let Some(ByTime { rack, fall, .. }) = self.repair.by_time()
            {
                if !core::mem::take(&mut fall.falling) {
                    // No acknowledgment begins this recovery: the fast retransmit goes (RFC 9937 section 6).
                    fall.prr = Prr::new(outstanding);
                }
                if !cfg.congestion.is_model() {
                    self.window.cwnd = f64::from(rack.flying()) + 1.0;
                }
            }
        }
        did
    }

    /// The timer ran out (RFC 8985 section 6.3).
    pub(super) fn on_rack_timeout(&mut self, cfg: &Config, now: Time) {
        if let (Some(modern), Repair::Rack(by_time)) = (&mut self.modern, &mut self.repair) {
            let (rack, window) = (&mut by_time.rack, &self.window);
            let reordering = cfg.loss_window == LossWindow::One;
            rack.on_timeout(self.una, now, reordering, |seq| modern.control.on_lost(window, now, seq));
            rack.tlp.sent = None;
            if let Some(cwnd) = modern.control.after_timeout(now, rack.flying()) {
                self.window.cwnd = cwnd;
            } else if cfg.loss_window == LossWindow::Flight {
                self.window.cwnd = f64::from(rack.flying()) + 1.0;
            }
            self.next = self.max;
            self.retransmit = true;
        }
        self.look_ahead();
    }

    /// The next packet to send: a probe, what is lost, or new data. Most often pacing keeps back whatever is next, which
    /// is asked for before it is known what that is.
    #[inline(never)]
    pub(super) fn poll_rack(&mut self, cfg: &Config, now: Time) -> Option<Outgoing> {
        self.in_order = false;
        if let (Some(modern), Repair::Rack(by_time)) = (self.modern.as_deref_mut(), &self.repair)
            && !by_time.rack.tlp.pending
            && !self.retransmit
            && self.max < self.limit
            && f64::from(self.max - self.una) < cfg.max_window
        {
            let closed = self.window.room(cfg, by_time.rack.flying()) < 1.0;
            modern.gauges.limited |= closed;
            let kept = !closed && modern.release.pacer_mut().is_some_and(|pacer| pacer.keeps_back(now));
            if kept {
                self.sooner = self.repair.due().min(modern.release.due());
            }
            if closed || kept {
                self.in_order = self.is_in_order();
                return None;
            }
        }
        self.poll_released(cfg, now)
    }

    /// [`Sender::poll_rack`] at length.
    #[inline(never)]
    pub(super) fn poll_released(&mut self, cfg: &Config, now: Time) -> Option<Outgoing> {
        let packet = self.next_of_rack(cfg, now);
        self.in_order = packet.is_none() && self.is_in_order();
        packet
    }

    #[inline(always)]
    fn next_of_rack(&mut self, cfg: &Config, now: Time) -> Option<Outgoing> {
        let timed_out = self.timed_out();
        let ByTime { rack, timeout, .. } = self.repair.by_time()?;
        if core::mem::take(&mut rack.tlp.pending) && self.una < self.max {
            return Some(self.send_probe(cfg, now));
        }
        // After a timeout the first packet goes in any case.
        let forced = core::mem::take(&mut self.retransmit) && self.una < self.max;
        let flying = rack.flying();
        let has_new = self.max < self.limit && f64::from(self.max - self.una) < cfg.max_window;
        let new_first = timed_out && timeout.new_first && !forced;
        if new_first && !has_new {
            // If none could go, what is lost does (RFC 5682 section 3.1 step 2b).
            if timeout.new_went {
                return None;
            }
            (timeout.new_first, timeout.frto) = (false, false);
        }
        let seq = match rack.next_lost().filter(|_| !(new_first && has_new)) {
            Some(seq) => seq,
            None if has_new => self.max,
            None => {
                self.note_nothing_to_send(flying);
                return None;
            }
        };
        if !forced {
            let room = self.window.room(cfg, flying);
            if room < 1.0 {
                if let Some(modern) = &mut self.modern {
                    modern.gauges.limited = true;
                }
                return self.next_instead(cfg, now, new_first);
            }
            if seq == self.max && cfg.send_quantum.is_some() && self.waits_for_more(now, libm::floor(room)) {
                return self.next_instead(cfg, now, new_first);
            }
            if cfg.host_tells {
                let new = seq == self.max;
                let most = if new { (room as u32).min(self.limit - seq) } else { 1 };
                if self.waits_for_host(now, most, !new) {
                    return self.next_instead(cfg, now, new_first);
                }
            }
            if !self.released(now) {
                return self.next_instead(cfg, now, new_first);
            }
        }
        if new_first && let Some(by_time) = self.repair.by_time() {
            by_time.timeout.new_went = true;
        }
        self.next = self.next.max(seq + 1);
        Some(self.send_by_time(cfg, now, seq))
    }

    /// A packet is held back. If it is the first new one with which F-RTO asks, what is lost goes instead (RFC 5682 section
    /// 3.1 step 2b).
    fn next_instead(&mut self, cfg: &Config, now: Time, new_first: bool) -> Option<Outgoing> {
        let by_time = self.repair.by_time().filter(|_| new_first)?;
        if by_time.timeout.new_went {
            return None;
        }
        (by_time.timeout.new_first, by_time.timeout.frto) = (false, false);
        self.next_of_rack(cfg, now)
    }

    /// There is nothing to send.
    fn note_nothing_to_send(&mut self, flying: u32) {
        if f64::from(flying) + 1.0 <= self.window.cwnd
            && let Some(modern) = &mut self.modern
        {
            modern.control.on_nothing_to_send(flying);
        }
    }

    /// TLP_send_probe() (RFC 8985 section 7.3): a new packet if there is one, else the last one again.
    #[inline(never)]
    fn send_probe(&mut self, cfg: &Config, now: Time) -> Outgoing {
        let new = self.max < self.limit && ((self.max - self.una) as f64) < cfg.max_window;
        let seq = if new { self.max } else { self.max - 1 };
        self.next = seq + 1;
        let out = self.send_by_time(cfg, now, seq);
        if let Some(ByTime { rack, .. }) = self.repair.by_time() {
            rack.tlp.sent = Some((self.max, !new));
            rack.tlp.measured = false;
            rack.tlp.due = Time::MAX;
        }
        self.arm(now);
        self.look_ahead();
        out
    }

    /// A packet goes.
    #[inline(always)]
    fn send_by_time(&mut self, cfg: &Config, now: Time, seq: u32) -> Outgoing {
        let retransmission = seq < self.max;
        let out = self.leaves(cfg, now, seq);
        self.note_sent(cfg, now, seq, retransmission);
        out
    }

    #[inline(always)]
    fn note_sent(&mut self, cfg: &Config, now: Time, seq: u32, retransmission: bool) {
        let (Some(modern), Repair::Rack(by_time)) = (&mut self.modern, &mut self.repair) else { return };
        let ByTime { rack, undo, .. } = &mut **by_time;
        if cfg.congestion.is_model() {
            modern.control.on_sent(&mut self.window, now, seq, rack.flying());
        }
        rack.sent(seq, now);
        if !retransmission {
            // Further packets at one time change nothing, once they are more than one; and nothing probes a repair.
            let stopped = self.phase == Phase::Recovery && rack.tlp.due == Time::MAX;
            if !stopped && (rack.tlp.decided != now || self.max - self.una <= 2) {
                self.schedule_probe(now, true);
            }
        } else {
            if let Some(undo) = undo
                && (undo.from..undo.end).contains(&seq)
            {
                undo.needed += 1;
            }
            self.timed = UNTIMED;
            if seq == self.una {
                self.arm(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionControl, Recovery, Report, TcpParams};
    use alloc::format;
    use alloc::vec::Vec;

    fn ms(x: u64) -> Time {
        Time::ZERO + Duration::from_millis(x)
    }

    fn drain(cfg: &Config, s: &mut Sender, now: Time) -> Vec<u32> {
        core::iter::from_fn(|| s.poll(cfg, now))
            .map(|o| match o {
                Outgoing::Data { seq, .. } => seq,
                Outgoing::Syn => 0,
            })
            .collect()
    }

    /// Ten packets in flight, sent at 0 ms, of `data` in all.
    fn flying(data: u32) -> (Config, Sender) {
        flying_by(CongestionControl::Reno, data)
    }

    fn flying_by(congestion: CongestionControl, data: u32) -> (Config, Sender) {
        let params = TcpParams {
            congestion,
            recovery: Recovery::Rack,
            initial_window: 10,
            syn: false,
            ..Default::default()
        };
        let cfg = Config::new(&params).unwrap();
        let mut s = Sender::new(&cfg);
        s.window.ssthresh = 10.0;
        s.provide(data);
        assert_eq!(drain(&cfg, &mut s, ms(0)).len(), 10);
        (cfg, s)
    }

    fn ack(cfg: &Config, s: &mut Sender, at: u64, n: u32, blocks: &[Block]) -> (Reaction, Vec<u32>) {
        let did = s.on_ack(cfg, ms(at), n, false, blocks);
        (did, drain(cfg, s, ms(at)))
    }

    /// Runs the timer that is due next.
    fn timer(cfg: &Config, s: &mut Sender) -> (Time, Reaction, Vec<u32>) {
        let at = s.deadline();
        let did = s.on_timer(cfg, at);
        (at, did, drain(cfg, s, at))
    }

    const NOTHING: Reaction = Reaction { fast_retransmit: false, ecn_response: false, timeout: false };
    const RECOVERS: Reaction = Reaction { fast_retransmit: true, ..NOTHING };

    /// As in Linux, whose recovery begins whenever a packet is lost (tcp_fastretrans_alert() in tcp_input.c); RFC 5681
    /// section 4.3 takes losses of two windows for two indications of congestion.
    #[test]
    fn what_a_recovery_finds_of_the_next_window_begins_another_one_when_it_ends() {
        let (cfg, mut s) = flying(u32::MAX);
        // 1 is lost twice, and 12 of those that the recovery sends.
        assert_eq!(ack(&cfg, &mut s, 100, 1, &[(2, 5)]), (RECOVERS, [1, 11].to_vec()));
        assert_eq!((s.recover, s.window.ssthresh), (11, 5.0));
        assert_eq!(ack(&cfg, &mut s, 101, 1, &[(2, 11)]).1, [12, 13, 14]);
        assert_eq!(ack(&cfg, &mut s, 201, 1, &[(13, 15), (2, 12)]), (NOTHING, [1, 12, 15, 16, 17].to_vec()));
        assert_eq!(ack(&cfg, &mut s, 301, 12, &[(13, 15)]).0, RECOVERS);
        assert_eq!((s.recover, s.window.ssthresh), (18, 2.0));
        // Nothing else is lost.
        let end = s.max;
        assert_eq!(ack(&cfg, &mut s, 302, end, &[]).0, NOTHING);
        assert_eq!(s.phase, Phase::Open);
    }

    /// As in Linux, whose recovery begins when a retransmission of a timeout is lost (tcp_fastretrans_alert() in
    /// tcp_input.c), and asked for by RFC 5681 section 4.3. With a window of two and a queue that drops the first of
    /// two packets, the retransmission would otherwise be lost for as long as new data follows it.
    #[test]
    fn a_retransmission_of_a_timeout_that_is_lost_begins_a_recovery_and_goes_alone() {
        let (cfg, mut s) = flying(u32::MAX);
        ack(&cfg, &mut s, 100, 2, &[]);
        // All others are lost, and so is the probe.
        while !timer(&cfg, &mut s).1.timeout {}
        assert_eq!((s.window.cwnd, s.phase), (1.0, Phase::Open));
        // What was lost goes again, until new data follows.
        let (mut sent, end, mut at) = ([2].to_vec(), s.max, 5000);
        while !sent.contains(&end) {
            at += 100;
            sent = ack(&cfg, &mut s, at, sent.last().unwrap() + 1, &[]).1;
        }
        let again = sent.iter().copied().find(|seq| *seq < end).expect("one goes again before it");
        // It is lost again: what was sent after it arrives. Of those sent again nobody knows which of the two it was.
        if end > again + 1 {
            let _ = ack(&cfg, &mut s, at + 100, again, &[(again + 1, end)]);
            assert_eq!(s.phase, Phase::Open);
        }
        let (did, sent) = ack(&cfg, &mut s, at + 101, again, &[(again + 1, end + 1)]);
        assert_eq!((did, sent, s.phase), (RECOVERS, [again].to_vec(), Phase::Recovery));
    }

    #[test]
    fn a_lost_tail_is_repaired_after_a_probe() {
        let (cfg, mut s) = flying(10);
        (2..=8).for_each(|n| drop(ack(&cfg, &mut s, 100, n, &[])));
        // 8 to 10 are lost. The probe is the last packet, two round trips after the last acknowledgment; the
        // timer would wait for 300 ms.
        assert_eq!(timer(&cfg, &mut s), (ms(300), NOTHING, [10].to_vec()));
        // Its acknowledgment shows that 8 and 9 are lost.
        assert_eq!(ack(&cfg, &mut s, 400, 8, &[(10, 11)]), (RECOVERS, [8].to_vec()));
        assert_eq!(ack(&cfg, &mut s, 500, 9, &[(10, 11)]), (NOTHING, [9].to_vec()));
        ack(&cfg, &mut s, 600, 11, &[]);
        assert!(s.is_done());
        assert_eq!((s.deadline(), s.window.ssthresh), (Time::MAX, 5.0));
    }

    #[test]
    fn a_probe_that_repairs_the_only_loss_reduces_the_window_once_that_is_known() {
        let (cfg, mut s) = flying(10);
        (2..=10).for_each(|n| drop(ack(&cfg, &mut s, 100, n, &[])));
        // A single packet: its acknowledgment may be held back for 200 ms, and the timer is sooner.
        assert_eq!(timer(&cfg, &mut s), (ms(400), NOTHING, [10].to_vec()));
        let before = s.window.cwnd;
        assert_eq!(ack(&cfg, &mut s, 500, 11, &[]).0, NOTHING);
        // The original may have come late; the window that it belongs to was full, and grows.
        assert_eq!(s.window.cwnd, before + 1.0 / before);
        s.provide(5);
        assert_eq!(drain(&cfg, &mut s, ms(510)), [11, 12, 13, 14, 15]);
        ack(&cfg, &mut s, 610, 12, &[]);
        assert_eq!(s.window.ssthresh, 5.0);
        assert!(s.window.cwnd < 6.0);
    }

    #[test]
    fn a_probe_of_new_data_asks_for_acknowledgments_too() {
        let (cfg, mut s) = flying(u32::MAX);
        (2..=8).for_each(|n| drop(ack(&cfg, &mut s, 100, n, &[])));
        let max = s.max;
        assert_eq!(timer(&cfg, &mut s), (ms(300), NOTHING, [max].to_vec()));
        let (did, sent) = ack(&cfg, &mut s, 400, 8, &[(max, max + 1)]);
        assert_eq!((did, sent[0]), (RECOVERS, 8));
    }

    #[test]
    fn a_lost_retransmission_is_sent_again_without_a_timeout() {
        let (cfg, mut s) = flying(u32::MAX);
        assert_eq!(ack(&cfg, &mut s, 100, 1, &[(2, 3)]).1, [11]);
        assert_eq!(ack(&cfg, &mut s, 101, 1, &[(2, 4)]).1, [12]);
        assert_eq!(ack(&cfg, &mut s, 102, 1, &[(2, 5)]), (RECOVERS, [1].to_vec()));
        let mut sent = Vec::new();
        for to in 6..=11 {
            sent.extend(ack(&cfg, &mut s, 120, 1, &[(2, to)]).1);
        }
        assert_eq!(sent[0], 13);
        let (_, sent) = ack(&cfg, &mut s, 201, 1, &[(2, 13)]);
        assert!(sent.iter().all(|&seq| seq > 13), "12 was sent before: {sent:?}");
        // 13 was sent after 1 was sent again, and has arrived.
        let (did, sent) = ack(&cfg, &mut s, 220, 1, &[(2, 14)]);
        assert_eq!((did, sent[0]), (NOTHING, 1));
        assert_eq!(s.window.ssthresh, 5.0, "one reduction");
        let max = s.max;
        ack(&cfg, &mut s, 320, max, &[]);
        assert_eq!((s.phase, s.window.cwnd), (Phase::Open, 5.0));
    }

    #[test]
    fn packets_out_of_order_within_the_window_cause_nothing() {
        let (cfg, mut s) = flying(u32::MAX);
        // 1 and 2 are late; a quarter of a round trip is 25 ms.
        assert_eq!(ack(&cfg, &mut s, 100, 1, &[(3, 4)]), (NOTHING, [11].to_vec()));
        assert_eq!(s.deadline(), ms(125));
        assert_eq!(ack(&cfg, &mut s, 110, 3, &[(3, 4)]).0, NOTHING);
        ack(&cfg, &mut s, 110, 4, &[]);
        // Now that packets are known to be reordered, not even three that overtake are a loss.
        let (did, sent) = ack(&cfg, &mut s, 115, 4, &[(5, 10)]);
        assert!(did == NOTHING && sent.iter().all(|&seq| seq > 10), "{sent:?}");
        // 9 took 115 ms.
        assert_eq!(s.deadline(), ms(140));
        let (did, sent) = ack(&cfg, &mut s, 120, 10, &[]);
        assert!(did == NOTHING && sent.iter().all(|&seq| seq > 10), "{sent:?}");
        assert!(s.window.cwnd > 10.0);
    }

    #[test]
    fn a_loss_is_found_by_the_timer_if_no_further_acknowledgment_comes() {
        let (cfg, mut s) = flying(10);
        (2..=8).for_each(|n| drop(ack(&cfg, &mut s, 100, n, &[])));
        assert_eq!(ack(&cfg, &mut s, 101, 8, &[(9, 10)]).0, NOTHING);
        // The round trip of 9, 101 ms, and a quarter of the smallest.
        assert_eq!(timer(&cfg, &mut s), (ms(126), RECOVERS, [8].to_vec()));
    }

    #[test]
    fn a_probe_saves_a_late_window_from_the_timeout() {
        let (cfg, mut s) = flying(20);
        (2..=6).for_each(|n| drop(ack(&cfg, &mut s, 100, n, &[])));
        let (before, max) = (s.window, s.max);
        // All that was in flight takes 350 ms longer. The timer stood at 400 ms.
        assert_eq!(timer(&cfg, &mut s), (ms(300), NOTHING, [max].to_vec()));
        assert_eq!(s.deadline(), ms(600));
        for n in 7..=max {
            assert_eq!(ack(&cfg, &mut s, 450, n, &[]).0, NOTHING);
        }
        assert_eq!(s.window.ssthresh, before.ssthresh);
        assert!(s.window.cwnd > before.cwnd);
    }

    #[test]
    fn a_timeout_sends_the_first_packet_again_and_only_what_is_overdue() {
        let (cfg, mut s) = flying(u32::MAX);
        (2..=8).for_each(|n| drop(ack(&cfg, &mut s, 100, n, &[])));
        assert_eq!(timer(&cfg, &mut s).0, ms(300));
        let (at, did, sent) = timer(&cfg, &mut s);
        assert_eq!((at, did.timeout, sent), (ms(600), true, [8].to_vec()));
        // All were overdue: slow start through them.
        assert_eq!(ack(&cfg, &mut s, 700, 9, &[]).1, [9, 10]);
        assert_eq!(s.window.cwnd, 2.0);
    }

    /// An acknowledgment of all below `n` says that a packet came twice.
    fn twice(cfg: &Config, s: &mut Sender, at: u64, n: u32, duplicate: u32) -> Reaction {
        let report = Report { duplicate: Some(duplicate), ..Default::default() };
        s.on_report(cfg, ms(at), n, false, &report)
    }

    #[test]
    fn a_recovery_in_which_all_came_twice_gives_the_window_back() {
        for congestion in [CongestionControl::Reno, CongestionControl::Cubic] {
            let (cfg, mut s) = flying_by(congestion, u32::MAX);
            ack(&cfg, &mut s, 100, 1, &[(2, 4)]);
            let control = |s: &Sender| format!("{:?}", s.modern.as_ref().unwrap().control);
            let (window, before) = (s.window, control(&s));
            assert_eq!(ack(&cfg, &mut s, 102, 1, &[(2, 5)]), (RECOVERS, [1].to_vec()));
            assert!(s.window.ssthresh < 8.0);
            // 1 was late.
            ack(&cfg, &mut s, 110, 11, &[]);
            assert_eq!(s.phase, Phase::Recovery);
            let max = s.max;
            assert_eq!(twice(&cfg, &mut s, 202, max, 1), NOTHING);
            assert_eq!((s.phase, s.window, control(&s)), (Phase::Open, window, before));
            // The next loss is one of a new window of data.
            drain(&cfg, &mut s, ms(202));
            let (did, sent) = ack(&cfg, &mut s, 302, max, &[(max + 1, max + 5)]);
            assert_eq!((did, sent[0]), (RECOVERS, max));
            assert!(s.window.ssthresh < 8.0);
        }
    }

    #[test]
    fn copies_that_the_network_makes_give_nothing_back() {
        // 1 is lost and sent again, and then packets that were sent once come twice: one in recovery, one after it.
        let (cfg, mut s) = flying(u32::MAX);
        ack(&cfg, &mut s, 100, 1, &[(2, 4)]);
        assert_eq!(ack(&cfg, &mut s, 102, 1, &[(2, 5)]), (RECOVERS, [1].to_vec()));
        let reduced = s.window.ssthresh;
        let mut report = Report { duplicate: Some(3), ..Default::default() };
        report.blocks.push((2, 5));
        s.on_report(&cfg, ms(103), 1, false, &report);
        assert_eq!((s.phase, s.window.ssthresh), (Phase::Recovery, reduced));
        ack(&cfg, &mut s, 110, 5, &[]);
        twice(&cfg, &mut s, 111, 5, 4);
        assert_eq!((s.phase, s.window.ssthresh), (Phase::Recovery, reduced));
        // However many copies came before, the one that was sent again says that nothing was lost.
        twice(&cfg, &mut s, 112, 5, 1);
        assert_eq!(s.phase, Phase::Open);
        assert!(s.window.ssthresh > reduced);
    }

    #[test]
    fn a_recovery_that_one_packet_needed_gives_nothing_back() {
        let (cfg, mut s) = flying(u32::MAX);
        ack(&cfg, &mut s, 100, 2, &[]);
        ack(&cfg, &mut s, 100, 2, &[(4, 7)]);
        let mut sent = Vec::new();
        for to in 8..=12 {
            sent.extend(ack(&cfg, &mut s, 102, 2, &[(4, to)]).1);
        }
        assert!(sent.contains(&3), "{sent:?}");
        // 2 was late, 3 was lost. What was acknowledged before says nothing.
        ack(&cfg, &mut s, 110, 3, &[(4, 12)]);
        twice(&cfg, &mut s, 201, 3, 2);
        twice(&cfg, &mut s, 201, 3, 1);
        let max = s.max;
        ack(&cfg, &mut s, 202, max, &[]);
        assert_eq!((s.phase, s.window.ssthresh), (Phase::Open, 5.0));
    }

    #[test]
    fn a_timeout_of_what_was_late_gives_the_window_back() {
        let (cfg, mut s) = flying(u32::MAX);
        (2..=8).for_each(|n| drop(ack(&cfg, &mut s, 100, n, &[])));
        let before = s.window;
        assert_eq!(timer(&cfg, &mut s).0, ms(300));
        assert_eq!(timer(&cfg, &mut s).2, [8]);
        assert_eq!(s.window.cwnd, 1.0);
        // A second one, of the same packet.
        let (at, did, sent) = timer(&cfg, &mut s);
        assert_eq!((did.timeout, sent), (true, [8].to_vec()));
        let now = at.nanos() / 1_000_000 + 1;
        let max = s.max;
        for n in 9..=max {
            s.on_ack(&cfg, ms(now), n, false, &[]);
        }
        assert!(s.window.cwnd < before.cwnd);
        twice(&cfg, &mut s, now + 100, max, 8);
        assert!(s.window.cwnd < before.cwnd, "one of two");
        twice(&cfg, &mut s, now + 200, max, 8);
        assert_eq!(s.window, before);
    }

    #[test]
    fn what_a_mark_takes_is_not_given_back() {
        let (cfg, mut s) = flying(u32::MAX);
        assert_eq!(ack(&cfg, &mut s, 102, 1, &[(2, 5)]).0, RECOVERS);
        s.reduce(&cfg, Cause::Echo);
        let max = s.max;
        twice(&cfg, &mut s, 202, max, 1);
        assert!(s.window.ssthresh < 5.0, "{:?}", s.window);
    }

    #[test]
    fn a_probe_that_came_twice_repaired_nothing() {
        let (cfg, mut s) = flying(10);
        (2..=10).for_each(|n| drop(ack(&cfg, &mut s, 100, n, &[])));
        assert_eq!(timer(&cfg, &mut s).2, [10]);
        // The original came late: its acknowledgment, and that of the probe.
        ack(&cfg, &mut s, 450, 11, &[]);
        twice(&cfg, &mut s, 500, 11, 10);
        s.provide(5);
        assert_eq!(drain(&cfg, &mut s, ms(510)).len(), 5);
        ack(&cfg, &mut s, 610, 12, &[]);
        assert_eq!(s.window.ssthresh, 10.0);
    }
}
