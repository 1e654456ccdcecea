//! What a sender does that is paced, or whose congestion control follows a model of the path.

use quell_units::Time;

use super::{Kept, Outgoing, Phase, Sender};
use crate::congestion::{Cause, Window};
use crate::float::{larger, seconds};
use crate::pacing;
use crate::params::Config;
use crate::rate::{Rate, Repair, Snapshot};

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

impl Kept {
    /// As [`Sender::set_pace`]; `MODEL` if it may follow a model.
    #[inline(always)]
    pub(super) fn set_pace<const MODEL: bool>(&mut self, window: Window) {
        let Some(pacer) = &mut self.pacer else { return };
        if MODEL && let Some(model) = &self.model {
            pacer.set_rate(model.pacing_rate());
        } else if let Some(srtt) = self.srtt {
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

    /// [`Kept::feed_model`], compiled for where it is called and what has been delivered there.
    #[inline(always)]
    pub(super) fn feed_model_by(
        &mut self,
        window: &mut Window,
        now: Time,
        delivers: impl FnOnce(&mut Rate) -> (Option<Snapshot>, u32),
        prior_flight: u32,
        phase: Repair,
    ) {
        let Kept { model: Some(model), rate: Some(rate), rack: Some(rack), measured, limited, .. } = self
        else {
            return;
        };
        let newest = delivers(rate);
        let flight = rack.flying();
        if model.holds_back() {
            rate.limit(flight);
        }
        let limited = core::mem::take(limited);
        let sample =
            rate.sample(now, newest, (model.min_rtt(), *measured), (prior_flight, flight), limited, phase);
        model.on_ack(window, &sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionControl, Recovery, TcpParams};
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use quell_units::Duration;

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
