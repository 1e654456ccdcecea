//! Probes of the bandwidth (ProbeBW, draft section 5.3.3).

use quell_units::{Duration, Time};

use super::{Bbr3, CWND_GAIN, State};
use crate::congestion::contract::Window;
use crate::float::{count, floor, larger, lesser};
use crate::rate::{Sample, chance};

use super::cycle::AckPhase;
use super::path::BETA;

const UP_CWND_GAIN: f64 = 2.25;
const DOWN_PACING: f64 = 0.9;
const UP_PACING: f64 = 1.25;

impl Bbr3 {
    /// IsInAProbeBWState().
    pub(super) fn probes_bandwidth(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// HandleInflightTooHigh(), with so many packets in flight, of which the application was the limit or not.
    pub(super) fn handle_inflight_too_high(
        &mut self,
        window: &Window,
        now: Time,
        flight: f64,
        limited: bool,
    ) {
        self.cycle.too_high = true;
        self.cycle.samples = false;
        if !limited {
            self.bounds.hi = flight.max(self.target_inflight(window.cwnd) * BETA);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    #[inline(never)]
    pub(super) fn start_down(&mut self, now: Time) {
        self.losses.reset();
        self.cycle.slope.count = f64::INFINITY;
        // PickProbeWait().
        self.cycle.rounds = (chance(now) * 2.0) as u64;
        let draw = chance(now + Duration::from_nanos(1));
        self.cycle.wait = Duration::from_secs(2) + Duration::from_secs_f64(draw);
        self.cycle.stamp = now;
        self.cycle.phase = AckPhase::Stopping;
        self.start_round();
        self.state = State::Down;
        (self.pacing_gain, self.cwnd_gain) = (DOWN_PACING, CWND_GAIN);
    }

    pub(super) fn start_cruise(&mut self) {
        self.state = State::Cruise;
        (self.pacing_gain, self.cwnd_gain) = (1.0, CWND_GAIN);
    }

    #[inline(never)]
    pub(super) fn start_refill(&mut self) {
        self.reset_lower_bounds();
        (self.cycle.slope.rounds, self.cycle.slope.acks) = (0, 0.0);
        self.cycle.precautionary = false;
        self.cycle.phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
        (self.pacing_gain, self.cwnd_gain) = (1.0, CWND_GAIN);
    }

    #[inline(never)]
    fn start_up(&mut self, cwnd: f64, rate: f64) {
        self.cycle.phase = AckPhase::Starting;
        self.start_round();
        self.pipe.reset();
        self.pipe.bw = rate;
        self.state = State::Up;
        (self.pacing_gain, self.cwnd_gain) = (UP_PACING, UP_CWND_GAIN);
        self.cycle.slope.raise(cwnd);
    }

    /// UpdateProbeBWCyclePhase().
    #[inline(always)]
    pub(super) fn update_cycle(&mut self, window: &Window, s: &Sample<'_>, rate: f64, app_limited: bool) {
        if !self.pipe.reached || self.adapt_upper_bounds(window, s, app_limited) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(window, s.ack.now) => self.start_refill(),
            State::Down => {
                let flight = f64::from(s.ack.flight);
                if flight <= self.bounds.with_headroom() && flight <= self.inflight(self.bandwidth.max(), 1.0)
                {
                    self.start_cruise();
                }
            }
            State::Refill if self.round.starts => {
                self.cycle.samples = true;
                self.start_up(window.cwnd, rate);
            }
            State::Up if self.is_time_to_go_down(window, s, rate) => {
                self.cycle.too_high = false;
                self.start_down(s.ack.now);
            }
            _ => {}
        }
    }

    /// IsTimeToGoDown().
    #[inline(always)]
    fn is_time_to_go_down(&mut self, window: &Window, s: &Sample<'_>, rate: f64) -> bool {
        // No further packet had room below the bound, in whole packets: the acknowledgment has just made some.
        if self.cycle.too_high && f64::from(s.ack.prior_flight) + 1.0 > self.bounds.hi {
            self.cycle.precautionary = true;
            return true;
        }
        if self.is_limited(s) && window.cwnd >= self.bounds.hi {
            // The bound keeps the rate from growing: it is raised first.
            self.pipe.reset();
            self.pipe.bw = rate;
            return false;
        }
        self.pipe.now
    }

    /// C.is_cwnd_limited: the window kept packets back in the last round trip.
    #[inline(always)]
    fn is_limited(&self, s: &Sample<'_>) -> bool {
        self.limited_at.is_some_and(|at| s.newest.is_some_and(|p| at >= p.delivered))
    }

    /// IsRenoCoexistenceProbeTime(): as often as Reno would lose, 63 round trips at most.
    #[inline(always)]
    pub(super) fn has_waited_as_reno(&self, window: &Window) -> bool {
        count(self.cycle.rounds) >= lesser(self.target_inflight(window.cwnd), 63.0)
    }

    /// IsTimeToProbeBW().
    #[inline(always)]
    fn is_time_to_probe(&self, window: &Window, now: Time) -> bool {
        now > self.cycle.stamp + self.cycle.wait || self.has_waited_as_reno(window)
    }

    /// AdaptLongTermModel(); true if the state has changed.
    #[inline(always)]
    fn adapt_upper_bounds(&mut self, window: &Window, s: &Sample<'_>, app_limited: bool) -> bool {
        if self.cycle.phase == AckPhase::Starting && self.round.starts {
            self.cycle.phase = AckPhase::Feedback;
        }
        if self.cycle.phase == AckPhase::Stopping && self.round.starts {
            self.cycle.samples = false;
            self.cycle.phase = AckPhase::Init;
            if self.probes_bandwidth() {
                if !app_limited {
                    self.bandwidth.advance();
                }
                if self.cycle.precautionary && !self.cycle.too_high {
                    // The bound was safe for a round: go on from there at once.
                    self.start_refill();
                    return true;
                }
            }
        }
        if let Some(newest) = s.newest
            && self.bounds.hi.is_finite()
            && !Self::is_inflight_too_high(s)
        {
            self.bounds.hi = larger(self.bounds.hi, f64::from(newest.flight));
            if self.state == State::Up {
                self.probe_upward(window, s);
            }
        }
        false
    }

    /// ProbeInflightLongtermUpward().
    #[inline(always)]
    fn probe_upward(&mut self, window: &Window, s: &Sample<'_>) {
        if !self.is_limited(s) || window.cwnd < self.bounds.hi {
            return;
        }
        let slope = &mut self.cycle.slope;
        slope.acks += f64::from(s.acked);
        if slope.acks >= slope.count {
            let delta = floor(slope.acks / slope.count);
            slope.acks -= delta * slope.count;
            self.bounds.hi += delta;
        }
        if self.round.starts {
            slope.raise(window.cwnd);
        }
    }
}
