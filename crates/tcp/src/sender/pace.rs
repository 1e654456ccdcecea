//! The part of a sender that paces, or follows a model of the path.

use quell_units::Time;

use super::in_order::waits_for_more;
use super::{Modern, Outgoing, Phase, Sender};
use crate::congestion::Kind;
use crate::congestion::contract::{AckFacts, Cause, Repairing};
use crate::pacing::Release;
use crate::params::Config;
use crate::recovery::repair::Repair;

impl Sender {
    /// Returns whether pacing lets a packet leave; if not, a timer runs.
    pub(super) fn released(&mut self, now: Time) -> bool {
        let Some(Release::Paced(pacer)) = self.modern.as_mut().map(|m| &mut m.release) else { return true };
        let before = pacer.wake;
        let released = pacer.releases(now);
        if pacer.wake != before {
            self.look_ahead();
        }
        released
    }

    /// Returns whether `most` packets wait until the host has sent others; if so, a timer runs.
    pub(super) fn waits_for_host(&mut self, now: Time, most: u32, repairs: bool) -> bool {
        let Some(Release::Paced(pacer)) = self.modern.as_mut().map(|m| &mut m.release) else { return false };
        let waits = pacer.waits_for_host(now, most, repairs);
        if waits {
            self.look_ahead();
        }
        waits
    }

    /// Returns whether new packets wait for an acknowledgment that opens the window further; it allows `room` now.
    pub(super) fn waits_for_more(&mut self, now: Time, room: f64) -> bool {
        let repairs = self.repairing() != Repairing::Nothing;
        let (Some(modern), Repair::Rack(by_time)) = (&mut self.modern, &self.repair) else { return false };
        let Modern { gauges, release: Release::Paced(pacer), .. } = &mut **modern else { return false };
        let waits = !repairs && waits_for_more(pacer, &by_time.rack, now, self.max, room, self.window.cwnd);
        if waits {
            gauges.note_wait(self.una, self.max);
        }
        waits
    }

    /// [`Sender::poll_below`], when pacing lets a packet leave.
    pub(super) fn poll_paced(&mut self, cfg: &Config, now: Time, end: u32) -> Option<Outgoing> {
        if self.next >= end || !self.released(now) {
            self.in_order = self.is_in_order();
            return None;
        }
        self.poll_below(cfg, now, end)
    }

    /// The rate follows what an acknowledgment has changed.
    #[inline(always)]
    pub(super) fn set_pace<C: Kind>(&mut self) {
        if let Some(Modern { control, gauges, release: Release::Paced(pacer) }) = self.modern.as_deref_mut() {
            let rate = if C::MODEL { C::of(control).and_then(|c| c.pacing_rate()) } else { None };
            pacer.follow(rate, &self.window, gauges.rtts.srtt);
        }
    }

    pub(super) fn repairing(&self) -> Repairing {
        match (self.phase, self.reduced_by) {
            (Phase::Recovery, _) => Repairing::Losses,
            (_, Cause::Timeout) if self.una < self.recover => Repairing::Timeout,
            _ => Repairing::Nothing,
        }
    }

    /// The model learns from an acknowledgment before which so many packets were in flight.
    #[inline(always)]
    pub(super) fn feed_model<C: Kind>(&mut self, now: Time, prior_flight: u32) {
        let repairing = self.repairing();
        let (Some(modern), Repair::Rack(by_time)) = (&mut self.modern, &self.repair) else { return };
        let Modern { control, gauges, release } = &mut **modern;
        let Some(control) = C::of(control) else { return };
        let facts = AckFacts {
            now,
            una: self.una,
            prior_flight,
            flight: by_time.rack.flying(),
            rtt: gauges.rtts.measured,
            window_limited: core::mem::take(&mut gauges.limited),
            repairing,
            pacer: release.pacer(),
        };
        control.on_ack(&mut self.window, &facts);
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

    /// A window of ten, of which each acknowledgment frees one packet: two leave for every second one, but for the
    /// first, before which nothing has left for long.
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
        assert!(s.modern.is_none());
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
