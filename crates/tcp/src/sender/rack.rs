//! What a sender does that finds losses by time (RFC 8985).

use quell_units::Time;

use super::{Kept, Outgoing, Phase, Reaction, Sender, UNTIMED};
use crate::congestion::model::Model;
use crate::congestion::{Cause, Control, Window};
use crate::params::Config;
use crate::rate::Rate;
use crate::recovery::prr::Prr;
use crate::scoreboard::Block;

/// What a recovery that was not needed gives back (RFC 9438 section 4.9).
#[derive(Clone, Debug)]
pub(super) struct Undo {
    window: Window,
    control: Control,
    /// The first packet outstanding when it began, and one past the last one.
    from: u32,
    end: u32,
    /// Retransmissions of which the receiver has not said that they came twice.
    needed: u32,
}

impl Undo {
    /// What was sent before `end` is of the same event.
    pub(super) fn include_below(&mut self, end: u32) {
        self.end = end;
    }
}

/// A packet is lost: its samples and the model learn of it.
fn note_lost(rate: &mut Option<Rate>, model: &mut Option<Model>, window: &Window, now: Time, seq: u32) {
    if let (Some(rate), Some(model)) = (rate, model) {
        rate.lose();
        model.on_lost(window, now, (seq, rate.snapshot(seq)), (rate.delivered, rate.lost));
    }
}

impl Sender {
    /// An acknowledgment says what has arrived: all below `ack`, and the blocks, which may report only one packet beyond
    /// those of the last one. Returns how many packets were in flight before.
    pub(super) fn deliver(&mut self, now: Time, ack: u32, (blocks, only): (&[Block], Option<u32>)) -> u32 {
        let Some(kept) = &mut self.kept else { return 0 };
        let (Some(rack), Some(board)) = (&mut kept.rack, &self.sacked) else { return 0 };
        let (flight, rate) = (rack.flying(), &mut kept.rate);
        let (mut measured, mut first) = (None, None);
        let mut arrived = |seq| {
            let Some(d) = rack.deliver(seq, now) else { return };
            if !d.again {
                measured = Some(d.rtt);
                first = first.or(measured);
            }
            if let Some(rate) = rate {
                rate.deliver(seq, now);
            }
        };
        (self.una..ack).for_each(&mut arrived);
        match only {
            Some(seq) => arrived(seq),
            None => board.news(ack, blocks, arrived),
        }
        rack.forget_below(ack);
        rack.tlp.measured |= measured.is_some();
        if let (Some(pacer), Some(rtt)) = (&mut kept.pacer, first) {
            pacer.acknowledged(rtt);
        }
        kept.measure(measured);
        flight
    }

    /// Whether data that was outstanding when the timer ran out still is.
    fn timed_out(&self) -> bool {
        self.reduced_by == Cause::Timeout && self.una < self.recover
    }

    /// Whether losses are being repaired, which acknowledgments or the timer found.
    fn repairs(&self) -> bool {
        self.phase == Phase::Recovery || self.timed_out()
    }

    /// The window is about to be reduced.
    pub(super) fn remember(&mut self, cause: Cause) {
        let goes_on = self.repairs();
        let Some(kept) = &mut self.kept else { return };
        if cause == Cause::Echo {
            // What a mark has taken stays taken.
            kept.undo = None;
        } else if !goes_on {
            // What was sent again before, and a probe, are of this event too.
            let again = kept
                .rack
                .as_ref()
                .map_or(0, |rack| rack.flying_again() + u32::from(matches!(rack.tlp.sent, Some((_, true)))));
            kept.undo = Some(Undo {
                window: self.window,
                control: kept.control.clone(),
                from: self.una,
                end: self.max,
                needed: again,
            });
        }
    }

    /// The receiver says that a packet came twice. If all that this recovery has sent again has, nothing was lost
    /// (RFC 3708 section 3), and the window is what it was, unless it has grown beyond that (RFC 9438 section 4.9.2).
    fn on_duplicate(&mut self, seq: u32) {
        let (una, max) = (self.una, self.max);
        let Some(kept) = &mut self.kept else { return };
        let Some(rack) = &mut kept.rack else { return };
        rack.on_duplicate(una, max);
        if let Some(rate) = &mut kept.rate {
            rate.delivered += 1;
        }
        let Some(undo) = &mut kept.undo else { return };
        if undo.needed == 0 || !(undo.from..undo.end).contains(&seq) {
            return;
        }
        undo.needed -= 1;
        if undo.needed > 0 || rack.next_lost().is_some() {
            return;
        }
        let Some(undo) = kept.undo.take() else { return };
        if let (Some(model), Some(rate)) = (&mut kept.model, &kept.rate) {
            model.on_spurious(&mut self.window, rate.delivered);
        } else if self.window.cwnd < undo.window.cwnd {
            self.window.cwnd = undo.window.cwnd;
            kept.control.restore(undo.control);
        }
        self.window.ssthresh = self.window.ssthresh.max(undo.window.ssthresh);
        self.phase = Phase::Open;
        self.recover = una;
    }

    /// The last part of an acknowledgment: `advanced` if it acknowledged something cumulatively, `plain` if it
    /// acknowledged nothing that was outstanding; `twice` is a packet that it says to have come twice. True if a
    /// recovery begins.
    pub(super) fn after_rack_ack(
        &mut self,
        cfg: &Config,
        now: Time,
        ack: u32,
        (advanced, plain): (bool, bool),
        twice: Option<u32>,
    ) -> bool {
        let repairs = self.repairs();
        let Some(kept) = &mut self.kept else { return false };
        let Some(rack) = &mut kept.rack else { return false };
        let probe_repaired = rack.tlp.on_ack(ack, plain, twice);
        if kept.repaired && !repairs && twice.is_none() {
            rack.on_recovered();
        }
        if let Some(seq) = twice {
            self.on_duplicate(seq);
        }
        let began = self.find_lost(cfg, now);
        if probe_repaired && self.phase == Phase::Open && self.una >= self.recover {
            // The congestion of the loss that it repaired (RFC 8985 section 7.4.2); the probe was needed.
            self.reduce(cfg, Cause::Loss);
            if let Some(kept) = &mut self.kept {
                kept.undo = None;
            }
        }
        let repairs = self.repairs();
        if let Some(kept) = &mut self.kept {
            kept.repaired = repairs;
        }
        self.schedule_probe(now, advanced);
        began
    }

    /// Starts the timer of the probe again if `again`, and stops it where none may go (RFC 8985 section 7.2).
    fn schedule_probe(&mut self, now: Time, again: bool) {
        let calm = self.phase == Phase::Open && !self.timed_out();
        let calm = calm && self.sacked.as_ref().is_none_or(|b| b.is_empty());
        let (una, max, rto) = (self.una, self.max, self.deadline);
        if let Some(kept) = &mut self.kept
            && let Some(rack) = &mut kept.rack
        {
            if !calm || max == una || rack.next_lost().is_some() {
                rack.tlp.due = Time::MAX;
            } else if again {
                rack.tlp.schedule(now, max - una, kept.srtt, rto);
            }
        }
        self.look_ahead();
    }

    /// Looks for lost packets; true if a recovery begins.
    fn find_lost(&mut self, cfg: &Config, now: Time) -> bool {
        let sacked = self.sacked.as_ref().map_or(0, |b| b.count());
        let certain = self.phase == Phase::Recovery || self.timed_out() || sacked >= cfg.dup_threshold;
        let window = &self.window;
        let Some(Kept { rack: Some(rack), rate, model, srtt, lost, .. }) = self.kept.as_deref_mut() else {
            return false;
        };
        rack.set_window(certain, *srtt);
        *lost = rack.detect(now, |seq| note_lost(rate, model, window, now, seq));
        // What a recovery that has ended found of a later window begins the next one.
        let found = *lost > 0 || rack.is_repairing();
        // Once for a window of data; one that ECN has reduced is repaired without a further reduction.
        let reduced = self.una < self.recover || self.falls();
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
        let Some(rack) = self.kept.as_mut().and_then(|k| k.rack.as_mut()) else { return did };
        if rack.tlp.due <= now {
            rack.tlp.due = Time::MAX;
            rack.tlp.pending = true;
        }
        if rack.due <= now {
            did.fast_retransmit = self.find_lost(cfg, now);
            let outstanding = self.max - self.una - self.sacked.as_ref().map_or(0, |b| b.count());
            if let (true, Some(kept)) = (did.fast_retransmit, &mut self.kept)
                && !core::mem::take(&mut kept.falling)
            {
                // No acknowledgment begins this recovery: the fast retransmit goes (RFC 9937 section 6).
                kept.prr = Prr::new(outstanding);
            }
            if let (true, Some(kept)) = (did.fast_retransmit && !cfg.model, &self.kept) {
                self.window.cwnd = kept.rack.as_ref().map_or(0, |r| r.flying()) as f64 + 1.0;
            }
        }
        self.look_ahead();
        did
    }

    /// The timer ran out (RFC 8985 section 6.3).
    pub(super) fn on_rack_timeout(&mut self, now: Time) {
        let (una, window) = (self.una, &self.window);
        if let Some(Kept { rack: Some(rack), rate, model, .. }) = self.kept.as_deref_mut() {
            rack.on_timeout(una, now, |seq| note_lost(rate, model, window, now, seq));
            rack.tlp.sent = None;
            if let (Some(model), Some(rate)) = (model, rate) {
                let totals = (rate.delivered, rate.lost);
                self.window.cwnd = model.window_after_timeout(now, rack.flying(), totals);
            }
            self.next = self.max;
            self.retransmit = true;
        }
        self.look_ahead();
    }

    /// The next packet to send: a probe, what is lost, or new data.
    pub(super) fn poll_rack(&mut self, cfg: &Config, now: Time) -> Option<Outgoing> {
        let rack = self.kept.as_mut()?.rack.as_mut()?;
        if core::mem::take(&mut rack.tlp.pending) && self.una < self.max {
            return Some(self.send_probe(cfg, now));
        }
        // After a timeout the first packet goes in any case.
        let forced = core::mem::take(&mut self.retransmit) && self.una < self.max;
        let flying = rack.flying();
        let seq = match rack.next_lost() {
            Some(seq) => seq,
            None if self.max < self.limit && ((self.max - self.una) as f64) < cfg.max_window => self.max,
            None => {
                self.note_limited(flying);
                return None;
            }
        };
        if !forced {
            if flying as f64 + 1.0 > self.window.cwnd.min(cfg.max_window) {
                if let Some(kept) = &mut self.kept {
                    kept.limited = true;
                }
                return None;
            }
            let room = self.window.cwnd.min(cfg.max_window) - f64::from(flying);
            if seq == self.max && cfg.send_quantum.is_some() && self.waits_for_more(now, libm::floor(room)) {
                return None;
            }
            if !self.released(now) {
                return None;
            }
        }
        self.next = self.next.max(seq + 1);
        Some(self.send(cfg, now, seq))
    }

    /// There is nothing to send.
    fn note_limited(&mut self, flying: u32) {
        if let Some(kept) = &mut self.kept
            && let Some(rate) = &mut kept.rate
            && f64::from(flying) + 1.0 <= self.window.cwnd
        {
            rate.limit(flying);
        }
    }

    /// TLP_send_probe() (RFC 8985 section 7.3): a new packet if there is one, else the last one again.
    fn send_probe(&mut self, cfg: &Config, now: Time) -> Outgoing {
        let new = self.max < self.limit && ((self.max - self.una) as f64) < cfg.max_window;
        let seq = if new { self.max } else { self.max - 1 };
        self.next = seq + 1;
        let out = self.send(cfg, now, seq);
        if let Some(rack) = self.kept.as_mut().and_then(|k| k.rack.as_mut()) {
            rack.tlp.sent = Some((self.max, !new));
            rack.tlp.measured = false;
            rack.tlp.due = Time::MAX;
        }
        self.arm(now);
        self.look_ahead();
        out
    }

    /// A packet goes.
    pub(super) fn note_rack_sent(&mut self, cfg: &Config, now: Time, seq: u32, retransmission: bool) {
        if cfg.model {
            self.note_rate(now, seq);
        }
        if let Some(rack) = self.kept.as_mut().and_then(|k| k.rack.as_mut()) {
            rack.sent(seq, now);
        }
        if !retransmission {
            // Further packets at one time change nothing, once they are more than one.
            let rack = self.kept.as_ref().and_then(|k| k.rack.as_ref());
            if rack.is_none_or(|r| r.tlp.decided != now) || self.max - self.una <= 2 {
                self.schedule_probe(now, true);
            }
        } else {
            if let Some(undo) = self.kept.as_mut().and_then(|k| k.undo.as_mut())
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
    use quell_units::Duration;

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
            let control = |s: &Sender| format!("{:?}", s.kept.as_ref().unwrap().control);
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
