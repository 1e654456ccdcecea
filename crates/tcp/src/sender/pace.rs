//! What a sender does that is paced, or whose congestion control follows a model of the path.

use quell_units::{Duration, Time};

use core::ops::Range;

use super::{Kept, Outgoing, Phase, Sender, UNTIMED, Used};
use crate::congestion::model::{Model, Steadily, SteadyAck};
use crate::congestion::{Cause, Control, Window, reno};
use crate::float::{larger, seconds};
use crate::pacing::{self, Pacer};
use crate::params::Config;
use crate::rate::{Rate, Repair, Snapshot};
use crate::recovery::rack::Rack;

impl Sender {
    /// Whether pacing lets a packet leave; if not, a timer runs.
    pub(super) fn released(&mut self, now: Time) -> bool {
        let Some(pacer) = self.kept.as_mut().and_then(|k| k.pacer.as_mut()) else { return true };
        let before = pacer.wake;
        let released = pacer.releases(now);
        if pacer.wake != before {
            self.look_ahead();
        }
        released
    }

    /// Whether new packets wait for an acknowledgment that opens the window further; it allows `room` now.
    pub(super) fn waits_for_more(&mut self, now: Time, room: f64) -> bool {
        let repairs = self.repair() != Repair::Nothing;
        let (una, max, cwnd) = (self.una, self.max, self.window.cwnd);
        let Some(kept) = &mut self.kept else { return false };
        let waits = !repairs && kept.waits_for_more(now, max, room, cwnd);
        if waits {
            kept.note_wait(una, max);
        }
        waits
    }

    /// As [`Sender::poll_below`], when pacing lets a packet leave.
    pub(super) fn poll_paced(&mut self, cfg: &Config, now: Time, end: u32) -> Option<Outgoing> {
        if self.next >= end || !self.released(now) {
            self.calm = self.is_calm();
            return None;
        }
        self.poll_below(cfg, now, end)
    }

    /// The rate follows what an acknowledgment or a timer has changed.
    #[inline]
    pub(super) fn set_pace(&mut self) {
        let window = self.window;
        if let Some(kept) = &mut self.kept {
            kept.set_pace::<true>(window);
        }
    }

    /// What is being repaired.
    pub(super) fn repair(&self) -> Repair {
        match (self.phase, self.reduced_by) {
            (Phase::Recovery, _) => Repair::Losses,
            (_, Cause::Timeout) if self.una < self.recover => Repair::Timeout,
            _ => Repair::Nothing,
        }
    }

    /// A packet goes while so many are in flight.
    pub(super) fn note_rate(&mut self, now: Time, seq: u32) {
        let Some(Kept { model: Some(model), rate: Some(rate), rack: Some(rack), .. }) =
            self.kept.as_deref_mut()
        else {
            return;
        };
        let flight = rack.flying();
        if flight == 0 && rate.is_limited() {
            model.on_restart(&mut self.window, now, rate.delivered);
        }
        rate.sent(seq, now, flight);
    }
}

impl Sender {
    /// [`Sender::on_calm_ack`] for Reno (`PLAIN`) and Prague in congestion avoidance whose window is used and whose packets
    /// leave one by one.
    #[inline(never)]
    pub(super) fn on_calm_ack_paced<const PLAIN: bool>(
        &mut self,
        cfg: &Config,
        now: Time,
        ack: u32,
    ) -> Range<u32> {
        if ack <= self.timed
            && self.window.cwnd >= self.window.ssthresh
            && let Some(kept) = self.kept.as_deref_mut()
            && kept.grow_paced::<PLAIN>(cfg, &mut self.window, (now, ack, ack - self.una))
        {
            self.una = ack;
            return self.send_paced::<true>(cfg, now, Sender::send_paced_any::<PLAIN>);
        }
        self.on_calm_ack_of::<PLAIN, false, true, false>(cfg, now, ack)
    }

    /// [`Sender::on_calm_timer`] for who keeps the times when packets were sent.
    #[inline(never)]
    pub(super) fn on_calm_timer_paced(&mut self, cfg: &Config, now: Time) -> Range<u32> {
        let window = self.window;
        if let Some(kept) = self.kept.as_deref_mut()
            && let (Some(_), Some(pacer)) = (&kept.sent, &mut kept.pacer)
            && !pacer.sends_together()
        {
            pacer.wake = Time::MAX;
            kept.set_pace::<false>(window);
            return self.send_paced::<false>(cfg, now, Sender::on_calm_timer_of::<false, false>);
        }
        self.on_calm_timer_of::<false, false>(cfg, now)
    }

    /// New packets leave, as many as the window and pacing allow, after an acknowledgment (`ACKED`) or when a timer has run
    /// out, of a sender that keeps the times when packets were sent; `others` sends any number of them.
    #[inline(always)]
    fn send_paced<const ACKED: bool>(
        &mut self,
        cfg: &Config,
        now: Time,
        others: impl FnOnce(&mut Sender, &Config, Time) -> Range<u32>,
    ) -> Range<u32> {
        let (una, first) = (self.una, self.max);
        let end = self.end_of_calm_window(cfg).max(first);
        if let Some(kept) = self.kept.as_deref_mut()
            && let (Some(sent), Some(pacer)) = (&mut kept.sent, &mut kept.pacer)
            && sent.has_room()
            && let Some(n) = pacer.release_one(now, end - first)
        {
            let next = first + n;
            if n > 0 {
                sent.sent_next(now);
                kept.used.sent(una, next, self.window.cwnd);
                self.sooner = pacer.wake;
                self.sent_calmly(now, first, next);
            } else {
                self.sooner = pacer.wake;
            }
            if ACKED {
                self.arm_calmly(now);
            } else if n > 0 && self.deadline == Time::MAX {
                self.arm(now);
            }
            return first..next;
        }
        others(self, cfg, now)
    }

    /// [`Sender::send_paced`] for any number of packets.
    #[inline(never)]
    fn send_paced_any<const PLAIN: bool>(&mut self, cfg: &Config, now: Time) -> Range<u32> {
        let new = self.send_calmly_of::<PLAIN, false, true, false>(cfg, now);
        self.arm_calmly(now);
        self.look_ahead_calmly::<false, true>(now);
        new
    }
}

impl Kept {
    /// The window grows with an acknowledgment of the `newly` packets below `ack`, and the rate with it, where
    /// [`Sender::on_calm_ack_paced`] has a way for that; else nothing changes.
    #[inline(always)]
    fn grow_paced<const PLAIN: bool>(
        &mut self,
        cfg: &Config,
        window: &mut Window,
        (now, ack, newly): (Time, u32, u32),
    ) -> bool {
        let Kept { sent: Some(sent), pacer: Some(pacer), control, start: None, .. } = self else {
            return false;
        };
        let first_sent = sent.sent_at(ack - 1);
        let goes = self.used.full && first_sent != Time::MAX && !pacer.sends_together();
        let goes = goes
            && match control {
                Control::Reno => PLAIN && !self.whole,
                Control::Prague(p) => !PLAIN && self.marks.is_level() && p.only_counts(now, ack),
                _ => false,
            };
        if !goes {
            return false;
        }
        sent.pass(ack);
        let srtt = Kept::note(&mut self.measured, &mut self.srtt, now - first_sent);
        let acked = f64::from(newly.min(cfg.growth_limit));
        if let (false, Control::Prague(p)) = (PLAIN, control) {
            self.marked = 0;
            p.count(newly);
            p.avoid(window, acked, srtt);
        } else {
            reno::avoid(window, acked);
        }
        pacer.set_rate(pacing::AVOIDANCE * larger(window.cwnd, 1.0) / seconds(srtt));
        true
    }
}

/// What a sender keeps for a model whose packets leave one by one.
struct Modeled<'a> {
    model: &'a mut Model,
    rate: &'a mut Rate,
    rack: &'a mut Rack,
    pacer: &'a mut Pacer,
    limited: &'a mut bool,
    measured: &'a mut Option<Duration>,
    srtt: &'a mut Option<Duration>,
}

impl Modeled<'_> {
    /// Takes in an acknowledgment of the `newly` packets below `ack`, if it is within the bounds in which the model moves
    /// counts alone, and its rate stays; else nothing changes.
    #[inline(always)]
    fn follow(self, window: &mut Window, ack: (Time, u32, u32)) -> bool {
        let Modeled { model, rate, rack, pacer, limited, measured, srtt } = self;
        let rtt = match model {
            Model::Bbr1(m) => follow(&mut **m, window, ack, rate, rack, pacer, limited),
            Model::Bbr3(m) => follow(&mut **m, window, ack, rate, rack, pacer, limited),
        };
        let Some(rtt) = rtt else { return false };
        Kept::note(measured, srtt, rtt);
        true
    }
}

impl Sender {
    /// [`Sender::on_calm_ack`] with a model.
    #[inline(never)]
    pub(super) fn on_calm_ack_model(&mut self, cfg: &Config, now: Time, ack: u32) -> Range<u32> {
        if ack <= self.timed
            && let Some(kept) = self.kept.as_deref_mut()
            && let Some(modeled) = kept.modeled()
            && modeled.follow(&mut self.window, (now, ack, ack - self.una))
        {
            self.una = ack;
            return self.send_modeled::<true>(cfg, now);
        }
        self.on_calm_ack_model_any(cfg, now, ack)
    }

    /// [`Sender::on_calm_ack_model`], whatever the acknowledgment says.
    #[inline(never)]
    fn on_calm_ack_model_any(&mut self, cfg: &Config, now: Time, ack: u32) -> Range<u32> {
        let (newly, flight) = (ack - self.una, self.max - self.una);
        // What restarts the model is left to others.
        if ack < self.max
            && let Some(kept) = self.kept.as_deref_mut()
            && let Some(Modeled { rack, measured, srtt, .. }) = kept.modeled()
        {
            let rtt = rack.deliver_first(newly, now);
            rack.tlp.measured = true;
            Kept::note(measured, srtt, rtt);
            kept.feed_model_in_order(&mut self.window, (now, ack), (newly, flight));
            self.acknowledge_calmly(cfg, now, ack);
            return self.send_modeled::<true>(cfg, now);
        }
        self.on_calm_ack_of::<false, true, true, true>(cfg, now, ack)
    }

    /// [`Sender::on_calm_timer`] with a model.
    #[inline(never)]
    pub(super) fn on_calm_timer_model(&mut self, cfg: &Config, now: Time) -> Range<u32> {
        // What restarts the model is left to others.
        if self.max > self.una
            && let Some(kept) = self.kept.as_deref_mut()
            && let Some(Modeled { model, pacer, .. }) = kept.modeled()
        {
            pacer.set_rate(model.pacing_rate());
            return self.send_modeled::<false>(cfg, now);
        }
        self.on_calm_timer_of::<true, true>(cfg, now)
    }

    /// [`Sender::send_modeled`] for any number of packets.
    #[inline(never)]
    fn send_calmly_any<const ACKED: bool>(&mut self, cfg: &Config, now: Time) -> Range<u32> {
        if !ACKED {
            return self.on_calm_timer_of::<true, true>(cfg, now);
        }
        let new = self.send_calmly_of::<false, true, true, true>(cfg, now);
        self.arm_calmly(now);
        self.look_ahead_calmly::<true, true>(now);
        new
    }

    /// New packets leave, as many as the window and pacing allow, after an acknowledgment (`ACKED`) or when a timer has
    /// run out.
    #[inline(always)]
    fn send_modeled<const ACKED: bool>(&mut self, cfg: &Config, now: Time) -> Range<u32> {
        let (una, first, limit) = (self.una, self.max, self.limit);
        let Some(kept) = self.kept.as_deref_mut() else { return first..first };
        let Some(Modeled { rate, rack, pacer, limited, srtt, .. }) = kept.modeled() else {
            return first..first;
        };
        let end = una.saturating_add(self.window.packets(cfg)).min(limit).max(first);
        if !ACKED {
            pacer.wake = Time::MAX;
        }
        if !(rate.has_room() && rack.has_room()) {
            return self.send_calmly_any::<ACKED>(cfg, now);
        }
        let Some(n) = pacer.release_one(now, end - first) else {
            return self.send_calmly_any::<ACKED>(cfg, now);
        };
        let next = first + n;
        if n > 0 {
            rate.sent_next(now, first - una);
            rack.sent_next(first, now);
            (self.next, self.max) = (next, next);
            if self.timed == UNTIMED {
                (self.timed, self.timed_at) = (first, now);
            }
        }
        let flight = next - una;
        if next >= end {
            if next < limit && f64::from(flight) < cfg.max_window {
                *limited = true;
            } else if f64::from(flight) + 1.0 <= self.window.cwnd {
                rate.limit(flight);
            }
        }
        if ACKED {
            self.deadline = if flight > 0 { now + self.rtt.rto() } else { Time::MAX };
        } else if next > first && self.deadline == Time::MAX {
            self.deadline = now + self.rtt.rto();
        }
        if flight == 0 {
            rack.tlp.due = Time::MAX;
        } else if ACKED || next > first {
            rack.tlp.schedule_calmly(now, flight, *srtt, self.deadline);
        }
        self.sooner = rack.tlp.due.min(pacer.wake);
        first..next
    }
}

impl Kept {
    #[inline(always)]
    fn modeled(&mut self) -> Option<Modeled<'_>> {
        match self {
            Kept {
                model: Some(model),
                rate: Some(rate),
                rack: Some(rack),
                pacer: Some(pacer),
                limited,
                measured,
                srtt,
                ..
            } if !pacer.sends_together() => {
                Some(Modeled { model, rate, rack, pacer, limited, measured, srtt })
            }
            _ => None,
        }
    }

    /// As [`Sender::waits_for_more`], where nothing is repaired: packets of another moment than the last one, fewer than
    /// leave together and than a third of the window, for an acknowledgment that is due soon. As in Linux.
    fn waits_for_more(&self, now: Time, next: u32, room: f64, cwnd: f64) -> bool {
        let Some(pacer) = &self.pacer else { return false };
        let (Some(together), Some(srtt)) = (pacer.begins(now, next), pacer.srtt()) else { return false };
        let Some(rack) = &self.rack else { return false };
        room < f64::from(together)
            && room * 3.0 < cwnd
            && rack.first_sent().is_some_and(|sent| sent + srtt <= now + pacing::SOON.min(srtt / 2))
    }

    /// Packets wait although the window allows some.
    pub(super) fn note_wait(&mut self, una: u32, max: u32) {
        self.used = Used { full: true, most: max - una, end: max };
        self.limited = true;
    }

    /// Of the new packets from `first` to before `end`, which there are, those before which one leave now, and whether
    /// others wait for the window to open further, which ends before `open`.
    #[inline(never)]
    pub(super) fn release_together(
        &mut self,
        now: Time,
        (first, end, open): (u32, u32, u32),
        cwnd: f64,
    ) -> (u32, bool) {
        let mut next = first;
        while next < end {
            if self.waits_for_more(now, next, f64::from(open - next), cwnd) {
                return (next, true);
            }
            let Some(pacer) = &mut self.pacer else { break };
            if !pacer.releases(now) {
                break;
            }
            pacer.sent(now);
            next += 1;
        }
        (next, false)
    }

    /// As [`Sender::set_pace`]; `MODEL` if it may follow a model.
    #[inline(always)]
    pub(super) fn set_pace<const MODEL: bool>(&mut self, window: Window) {
        let Some(pacer) = &mut self.pacer else { return };
        if MODEL && let Some(model) = &self.model {
            pacer.set_rate(model.pacing_rate());
        } else if let Some(srtt) = pacer.srtt().or(self.srtt) {
            let gain =
                if window.cwnd < window.ssthresh / 2.0 { pacing::SLOW_START } else { pacing::AVOIDANCE };
            pacer.set_rate(gain * larger(window.cwnd, 1.0) / seconds(srtt));
        }
    }

    /// The model learns from an acknowledgment of all below `una` before which so many packets were in flight.
    #[inline(never)]
    pub(super) fn feed_model(
        &mut self,
        window: &mut Window,
        (now, una): (Time, u32),
        prior_flight: u32,
        phase: Repair,
    ) {
        let delivers = |rate: &mut Rate| rate.take_newest(una);
        self.feed_model_by(window, now, delivers, prior_flight, phase);
    }

    /// [`Kept::feed_model`] for the `newly` packets below `una`, which arrive in the order in which they were sent; with
    /// the rate that follows, and the bounds within which [`Modeled::follow`] takes the next ones.
    #[inline(never)]
    pub(super) fn feed_model_in_order(
        &mut self,
        window: &mut Window,
        (now, una): (Time, u32),
        (newly, prior_flight): (u32, u32),
    ) {
        let delivers = |rate: &mut Rate| (Some(rate.deliver_in_order(newly, una, now)), newly);
        self.feed_model_by(window, now, delivers, prior_flight, Repair::Nothing);
        self.set_pace::<true>(*window);
        if let Some(model) = &mut self.model {
            model.settle(window);
        }
    }

    /// [`Kept::feed_model`], compiled for where it is called and what has been delivered there.
    #[inline(always)]
    fn feed_model_by(
        &mut self,
        window: &mut Window,
        now: Time,
        delivers: impl FnOnce(&mut Rate) -> (Option<Snapshot>, u32),
        prior_flight: u32,
        phase: Repair,
    ) {
        let Kept { model: Some(model), rate: Some(rate), rack: Some(rack), pacer, measured, limited, .. } =
            self
        else {
            return;
        };
        let newest = delivers(rate);
        let flight = rack.flying();
        if model.holds_back() {
            rate.limit(flight);
        }
        let limited = core::mem::take(limited);
        let flights = (prior_flight, flight);
        let ahead = pacer.as_ref().map_or(Duration::ZERO, |p| p.ahead(now));
        let sample = rate.sample(now, newest, (model.min_rtt(), *measured), flights, limited, (phase, ahead));
        model.on_ack(window, &sample);
    }
}

/// [`Modeled::follow`], compiled for each model: the round-trip time.
#[inline(always)]
fn follow(
    model: &mut impl Steadily,
    window: &mut Window,
    (now, ack, newly): (Time, u32, u32),
    rate: &mut Rate,
    rack: &mut Rack,
    pacer: &Pacer,
    limited: &mut bool,
) -> Option<Duration> {
    let first_sent = rack.sent_at(ack - 1);
    let rtt = now - first_sent;
    let (sample, interval, delivered, newest) = rate.foresee(newly, ack, now)?;
    let steady = model.steady();
    if newest.delivered >= steady.round
        || now > steady.until
        || rtt < steady.rtt
        || interval < steady.interval
        || sample >= steady.rate
    {
        return None;
    }
    let flight = rack.flying();
    let seen = SteadyAck {
        now,
        acked: f64::from(newly),
        rate: sample,
        delivered,
        sent_flight: newest.flight,
        flights: (flight, flight - newly),
        limited_at: limited.then_some(rate.delivered),
    };
    if !model.on_steady_ack(window, &seen, || pacer.ahead(now)) {
        return None;
    }
    rate.pass(newly, ack, now, first_sent);
    *limited = false;
    rack.deliver_first_of(newly, first_sent, rtt);
    rack.tlp.measured = true;
    Some(rtt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionControl, Recovery, TcpParams};
    use alloc::string::ToString;
    use alloc::vec::Vec;

    fn ms(x: u64) -> Time {
        Time::ZERO + Duration::from_millis(x)
    }

    fn paced(burst: u32) -> TcpParams {
        TcpParams { pacing: true, pacing_burst: burst, initial_window: 10, ..Default::default() }
    }

    /// All that is sent until `end`, with the milliseconds; timers run at their time.
    fn run(cfg: &Config, s: &mut Sender, from: u64, end: u64) -> Vec<(u64, u32)> {
        let mut now = ms(from);
        let mut out = Vec::new();
        loop {
            while let Some(Outgoing::Data { seq, .. }) = s.poll(cfg, now) {
                out.push((now.nanos() / 1_000_000, seq));
            }
            if s.deadline() >= ms(end) {
                return out;
            }
            now = s.deadline();
            s.on_timer(cfg, now);
        }
    }

    #[test]
    fn a_window_leaves_over_a_part_of_the_round_trip() {
        let cfg = Config::new(&paced(1)).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(u32::MAX);
        s.poll(&cfg, ms(0));
        s.on_ack(&cfg, ms(100), 1, false, &[]);
        // Slow start: ten packets in half of the 100 ms.
        let sent = run(&cfg, &mut s, 100, 200);
        assert_eq!(
            sent.iter().map(|p| p.0).collect::<Vec<_>>(),
            [100, 105, 110, 115, 120, 125, 130, 135, 140, 145]
        );
        assert_eq!(s.sooner, Time::MAX, "the window is closed: nothing waits for the pace");
        // From half of ssthresh on 1.2 windows a round trip, which is 94 ms: the last packet took 55 ms.
        s.window.ssthresh = 10.0;
        s.on_ack(&cfg, ms(200), 11, false, &[]);
        let sent = run(&cfg, &mut s, 200, 220);
        assert_eq!(sent.iter().map(|p| p.0).collect::<Vec<_>>(), [200, 207, 215]);
    }

    #[test]
    fn a_burst_goes_at_once() {
        let cfg = Config::new(&paced(4)).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(u32::MAX);
        s.poll(&cfg, ms(0));
        s.on_ack(&cfg, ms(100), 1, false, &[]);
        let sent = run(&cfg, &mut s, 100, 120);
        assert_eq!(sent.iter().map(|p| p.0).collect::<Vec<_>>(), [100, 100, 100, 100, 105, 110, 115]);
    }

    /// A window of ten, of which each acknowledgment frees one packet: two leave for every second one, but for the first,
    /// before which nothing has left for long.
    #[test]
    fn new_packets_wait_for_an_acknowledgment_that_is_due() {
        let quantum = Some(Duration::from_millis(1));
        let params = TcpParams {
            recovery: Recovery::Rack,
            initial_window: 10,
            initial_ssthresh: Some(10),
            syn: false,
            ..Default::default()
        };
        for (send_quantum, gap, sent) in [
            (None, 200, [1, 1, 1, 1, 1, 1, 1]),
            (quantum, 200, [1, 0, 2, 0, 2, 0, 2]),
            // The last packet left long ago.
            (quantum, 2000, [1, 1, 1, 1, 1, 1, 1]),
        ] {
            let cfg = Config::new(&TcpParams { send_quantum, ..params.clone() }).unwrap();
            let mut s = Sender::new(&cfg);
            s.provide(u32::MAX);
            assert_eq!((0..).map_while(|_| s.poll(&cfg, ms(0))).count(), 10);
            let sent_now: Vec<u32> = (0..7)
                .map(|i| {
                    let now = ms(20) + Duration::from_micros(gap * u64::from(i));
                    s.on_ack(&cfg, now, 2 + i, false, &[]);
                    (0..).map_while(|_| s.poll(&cfg, now)).count() as u32
                })
                .collect();
            assert_eq!(sent_now, sent, "{send_quantum:?} {gap}");
        }
    }

    #[test]
    fn what_is_not_paced_waits_for_nothing() {
        let cfg = Config::new(&TcpParams { initial_window: 10, ..Default::default() }).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(u32::MAX);
        s.poll(&cfg, ms(0));
        s.on_ack(&cfg, ms(100), 1, false, &[]);
        assert_eq!(run(&cfg, &mut s, 100, 101).len(), 10);
        assert!(s.kept.is_none());
    }

    #[test]
    fn bbr_needs_pacing_samples_and_no_marks() {
        for congestion in [CongestionControl::Bbr1, CongestionControl::Bbr3] {
            let good = TcpParams { congestion, recovery: Recovery::Rack, ..paced(10) };
            assert!(good.check().is_ok());
            for (bad, rule) in [
                (TcpParams { pacing: false, ..good.clone() }, "pacing"),
                (TcpParams { recovery: Recovery::Prr, ..good.clone() }, "recovery"),
                (TcpParams { ecn: true, ..good.clone() }, "ecn"),
            ] {
                let error = bad.check().unwrap_err().to_string();
                assert!(error.contains(rule) && error.contains("bbr"), "{error}");
            }
        }
    }
}
