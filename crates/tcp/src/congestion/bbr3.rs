//! BBR, version 3 (draft-ietf-ccwg-bbr of August 2026, after -06): as version 1, and bounds of what may be in flight
//! that losses of more than a fiftieth teach it. Functions and constants have the draft's names in their comments;
//! `_lo` is its `_shortterm` and `_hi` its `_longterm`. What it leaves open is in docs/senders.md.

use quell_units::{Duration, Time};

use super::contract::{AckFacts, Acked, Cause, Congestion, InOrder, Repairing, Window};
use super::model::{
    Bounds, Foreseen, Hold, MIN_WINDOW, Pace, PriorWindow, Round, Samples, model_events, product,
};
use crate::entry::Entry;
use crate::float::{count, larger, lesser};
use crate::params::Config;
use crate::rate::{Sample, Snapshot};

mod cycle;
mod path;
mod probe;
#[cfg(test)]
mod tests;

use cycle::{AckPhase, Cycle};
use path::{BETA, Bandwidth, Extra, FullPipe, InflightBounds, LossRound, MinRtt};

/// The entry in the catalog.
pub(crate) const ENTRY: Entry = Entry {
    key: "congestion",
    name: "bbr3",
    title: "BBR, version 3",
    summary: "A model of the path sets the window and the rate, with bounds on the data in flight that it learns from \
        losses.",
    source: "draft-ietf-ccwg-bbr",
    needs: &[("recovery", &["rack"]), ("pacing", &["true"])],
    refuses: &[("ecn", &["true"])],
    choices: &[
        "What the draft leaves to chance (the phase of the first cycle, the time between probes) comes from the clock, \
         so a flow needs no random generator.",
        "Packets leave one by one; the send quantum affects only the window.",
        "It does not react to marks, so Quell refuses ecn = true.",
        "After a timeout, the window is what is still in flight plus one packet. Once the data sent before the timeout \
         is acknowledged, the window is restored.",
        "It is the draft as of August 2026 (after -06), with its careful probes (section 5.3.3.6).",
        "A probe has reached inflight_longterm when no further packet fits below it, in packets and before the \
         acknowledgment being processed. What is left in flight after an acknowledgment (section 5.3.3.9) never \
         reaches a limiting bound.",
        "Losses that end a probe while the application is slow leave the bound unchanged (HandleInflightTooHigh(); \
         appendix A.6 updates it), and losses that end Startup set only full_bw_reached (section 5.3.1.3; appendix A.2 \
         also sets full_bw_now).",
        "Drain is not bounded by inflight_longterm (BoundCwndForModel(); the table of section 5.6.1 bounds it).",
        "InflightAtLoss() adds no negative prefix: what was in flight before the first packet that was too much is \
         safe.",
        "\"In fast recovery for a full round\" (section 5.3.1.3) is checked at both ends of the round that the first \
         loss starts.",
        "The filters forget exactly what is older than their length.",
        "A rate sample over less than BBR.min_rtt is ignored; the draft compares with C.min_rtt, the lowest round-trip \
         time of the connection (section 4.1.2.3).",
    ],
    ..Entry::PLAIN
};

/// BBR.StartupPacingGain, 4 ln 2, and BBR.DrainPacingGain.
const STARTUP_PACING: f64 = 4.0 * core::f64::consts::LN_2;
const DRAIN_PACING: f64 = 0.5;
/// BBR.DefaultCwndGain.
const CWND_GAIN: f64 = 2.0;
/// BBR.PacingMarginPercent.
const MARGIN: f64 = 0.99;
/// BBR.LossThresh.
const LOSS_THRESH: f64 = 0.02;
/// BBR.ProbeRTTCwndGain and BBR.ProbeRTTDuration.
const PROBE_RTT_GAIN: f64 = 0.5;
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// BBRStartupFullLossCnt.
const STARTUP_LOSSES: u32 = 6;
/// Rounds after which Drain ends in any case (draft section 5.3.2).
const DRAIN_ROUNDS: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// The state that a loss recovery gives back that was not needed (draft section 2.15).
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// The state that losses have ended.
    state: Option<State>,
    bw_lo: f64,
    bounds: InflightBounds,
}

/// BBR, version 3.
#[derive(Clone, Debug)]
pub(crate) struct Bbr3 {
    state: State,
    pacing_gain: f64,
    cwnd_gain: f64,
    samples: Samples,
    bandwidth: Bandwidth,
    rtt: MinRtt,
    bounds: InflightBounds,
    round: Round,
    losses: LossRound,
    undo: Undo,
    pipe: FullPipe,
    /// BBR.drain_start_round.
    drain_start: u64,
    /// The packets that had been delivered when the window last kept others back.
    limited_at: Option<u64>,
    cycle: Cycle,
    hold: Hold,
    idle_restart: bool,
    prior: PriorWindow,
    extra: Extra,
    pace: Pace,
    /// The size of a packet in bytes.
    packet: f64,
    initial_window: f64,
}

impl Bbr3 {
    pub fn new(cfg: &Config) -> Self {
        Bbr3 {
            state: State::Startup,
            pacing_gain: STARTUP_PACING,
            cwnd_gain: CWND_GAIN,
            samples: Samples::new(),
            bandwidth: Bandwidth::new(),
            rtt: MinRtt::new(),
            bounds: InflightBounds::NONE,
            round: Round::default(),
            losses: LossRound::default(),
            undo: Undo { state: None, bw_lo: f64::INFINITY, bounds: InflightBounds::NONE },
            pipe: FullPipe::default(),
            drain_start: 0,
            limited_at: None,
            cycle: Cycle::new(),
            hold: Hold::default(),
            idle_restart: false,
            prior: PriorWindow::new(),
            extra: Extra::new(),
            // InitPacingRate().
            pace: Pace::new(STARTUP_PACING, cfg.initial_window),
            packet: cfg.wire_bytes().get() as f64,
            initial_window: cfg.initial_window,
        }
    }

    /// OnEnterRTO(), before the window is reduced.
    fn on_timeout(&mut self, window: &Window) {
        self.samples.unsettle();
        self.save_state(window);
        self.prior.repairing = Repairing::Timeout;
    }

    /// SaveStateUponLoss().
    fn save_state(&mut self, window: &Window) {
        self.save_cwnd(window);
        self.undo = Undo { state: None, bw_lo: self.bandwidth.lo, bounds: self.bounds };
    }

    fn save_cwnd(&mut self, window: &Window) {
        self.prior.save(window, self.state == State::ProbeRtt);
    }

    fn enter_startup(&mut self) {
        self.state = State::Startup;
        (self.pacing_gain, self.cwnd_gain) = (STARTUP_PACING, CWND_GAIN);
    }

    /// BDPMultiple().
    fn product(&self, bw: f64, gain: f64) -> f64 {
        match self.rtt.min {
            Duration::MAX => self.initial_window,
            min_rtt => product(gain * bw, min_rtt),
        }
    }

    /// BBR.send_quantum in packets.
    fn quantum(&self) -> f64 {
        larger(lesser(self.pace.rate * self.packet * 0.001, 65536.0), 2.0 * self.packet) / self.packet
    }

    /// QuantizationBudget().
    fn budget(&self, inflight: f64) -> f64 {
        let more = if self.state == State::Up { 2.0 } else { 0.0 };
        larger(larger(inflight, 3.0 * self.quantum()), MIN_WINDOW) + more
    }

    /// Inflight().
    #[inline(never)]
    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.budget(self.product(bw, gain))
    }

    /// TargetInflight().
    fn target_inflight(&self, cwnd: f64) -> f64 {
        lesser(self.product(self.bandwidth.now, 1.0), cwnd)
    }

    /// UpdateOnACK().
    #[inline(always)]
    fn update(&mut self, window: &mut Window, s: &Sample<'_>) {
        let rate = s.rate.unwrap_or(0.0);
        let app_limited = s.newest.is_some_and(|p| p.app_limited);
        if s.ack.window_limited {
            self.limited_at = Some(s.total - u64::from(s.acked));
        }
        self.losses.on_ack(s, rate);
        self.round.on_ack(s.newest.as_ref(), s.total);
        self.cycle.rounds += u64::from(self.round.starts);
        self.bandwidth.update(rate, app_limited);
        if self.losses.starts {
            self.update_congestion_signals(window.cwnd);
        }
        self.extra.on_ack(s, self.bandwidth.now, window.cwnd, (self.round.count, self.pipe.reached));
        if self.round.starts && !app_limited {
            self.pipe.on_round(rate);
        }
        self.check_startup_and_drain(s);
        self.update_cycle(window, s, rate, app_limited);
        self.rtt.on_ack(s.ack);
        self.check_probe_rtt(window, s);
        self.losses.advance(rate, s.delivered);
        self.bandwidth.bound();
        // SetPacingRate().
        let first = (self.round.count == 1 && self.rtt.min != Duration::MAX).then_some(self.rtt.min);
        self.pace.follow(self.pacing_gain * self.bandwidth.now * MARGIN, self.pipe.reached, first);
        self.set_cwnd(window, s);
    }

    /// Finds the [`Bounds`] after an acknowledgment.
    fn settle(&mut self, window: &Window) {
        let waits = matches!(self.state, State::Down | State::Cruise);
        let goes_on = match self.state {
            State::Down | State::Cruise => !self.has_waited_as_reno(window),
            State::Refill => true,
            State::Up => !self.pipe.now && self.bounds.hi.is_infinite(),
            State::Startup | State::Drain | State::ProbeRtt => false,
        };
        let steady = goes_on
            && self.pipe.reached
            && !self.rtt.expired
            && !self.idle_restart
            && self.prior.repairing == Repairing::Nothing;
        if !steady {
            return;
        }
        let mut until = self.rtt.until();
        if waits {
            until = until.min(self.cycle.stamp + self.cycle.wait);
        }
        let flight = match self.state {
            State::Down => lesser(self.bounds.with_headroom(), self.inflight(self.bandwidth.max(), 1.0)),
            _ => -1.0,
        };
        self.samples.bounds = Bounds {
            round: self.losses.end.min(self.round.end),
            until,
            rtt: self.rtt.probe_min,
            interval: self.rtt.min.max(Duration::from_nanos(1)),
            rate: self.bandwidth.steady(),
            extra: self.extra.steady(self.round.count),
            flight,
            cwnd: self.samples.bounds.cwnd,
        };
    }

    /// Moves counts alone, if the sample is within the bounds of this version too; else nothing changes.
    #[inline(always)]
    fn goes_on(&mut self, window: &mut Window, ack: &InOrder<'_>, seen: &Foreseen) -> bool {
        let acked = f64::from(ack.newly);
        let bounds = &self.samples.bounds;
        let (aggregate, extra) = self.extra.after(ack.now, acked, self.bandwidth.now, window.cwnd);
        if extra >= bounds.extra
            || f64::from(seen.sent_flight) > self.bounds.hi
            || f64::from(ack.prior_flight - ack.newly) <= bounds.flight
        {
            return false;
        }
        self.extra.aggregate = aggregate;
        self.extra.most.update_steadily(extra);
        self.bandwidth.update_steadily(seen.rate);
        if ack.window_limited {
            self.limited_at = Some(seen.total);
        }
        self.losses.deliver(seen.rate, seen.delivered);
        (self.losses.starts, self.round.starts) = (false, false);
        window.cwnd = lesser(window.cwnd + acked, bounds.cwnd);
        true
    }

    /// StartRound().
    fn start_round(&mut self) {
        self.round.end = self.samples.rate.delivered;
    }

    /// UpdateCongestionSignals() and AdaptLowerBoundsFromCongestion().
    #[inline(never)]
    fn update_congestion_signals(&mut self, cwnd: f64) {
        let probing = matches!(self.state, State::Startup | State::Refill | State::Up);
        if !probing && self.losses.lossy {
            if self.bandwidth.lo.is_infinite() {
                self.bandwidth.lo = self.bandwidth.max();
            }
            if self.bounds.lo.is_infinite() {
                self.bounds.lo = cwnd;
            }
            self.bandwidth.lo = self.losses.bw.max(BETA * self.bandwidth.lo);
            self.bounds.lo = self.losses.inflight.max(BETA * self.bounds.lo);
        }
        self.losses.lossy = false;
    }

    fn reset_lower_bounds(&mut self) {
        (self.bandwidth.lo, self.bounds.lo) = (f64::INFINITY, f64::INFINITY);
    }

    /// IsInflightTooHigh() for what an acknowledgment samples.
    #[inline(always)]
    fn is_inflight_too_high(s: &Sample<'_>) -> bool {
        s.newest.is_some_and(|p| count(s.total_lost - p.lost) > f64::from(p.flight) * LOSS_THRESH)
    }

    /// CheckStartupDone() with CheckStartupHighLoss(), and CheckDrainDone().
    #[inline(always)]
    fn check_startup_and_drain(&mut self, s: &Sample<'_>) {
        if self.losses.starts {
            let lossy = self.prior.repairing == Repairing::Losses && s.ack.repairing == Repairing::Losses;
            let often = lossy && self.losses.events >= STARTUP_LOSSES;
            if !self.pipe.reached && often && Self::is_inflight_too_high(s) {
                self.undo.state = Some(State::Startup);
                self.pipe.reached = true;
                self.bounds.hi = self.product(self.bandwidth.now, 1.0).max(self.losses.inflight);
            }
            self.losses.events = 0;
        }
        if self.state == State::Startup && self.pipe.reached {
            self.state = State::Drain;
            self.drain_start = self.round.count;
            (self.pacing_gain, self.cwnd_gain) = (DRAIN_PACING, CWND_GAIN);
        }
        if self.state == State::Drain
            && (f64::from(s.ack.flight) <= self.inflight(self.bandwidth.now, 1.0)
                || self.round.count > self.drain_start + DRAIN_ROUNDS)
        {
            self.start_down(s.ack.now);
        }
    }

    /// CheckProbeRTT() and HandleProbeRTT().
    #[inline(always)]
    fn check_probe_rtt(&mut self, window: &mut Window, s: &Sample<'_>) {
        if self.state != State::ProbeRtt && self.rtt.expired && !self.idle_restart {
            self.save_cwnd(window);
            self.state = State::ProbeRtt;
            (self.pacing_gain, self.cwnd_gain) = (1.0, PROBE_RTT_GAIN);
            self.hold.until = None;
            self.cycle.phase = AckPhase::Stopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            // A copy of the sample, too.
            window.rarely(|w| self.handle_probe_rtt(w, &{ *s }));
        }
        if s.delivered > 0 {
            self.idle_restart = false;
        }
    }

    #[inline(never)]
    fn handle_probe_rtt(&mut self, window: &mut Window, s: &Sample<'_>) {
        let enough = self.probe_rtt_cwnd();
        if self.hold.on_ack(s, &mut self.round, enough, PROBE_RTT_TIME) {
            self.check_probe_rtt_done(window, s.ack.now);
        }
    }

    /// CheckProbeRTTDone() and ExitProbeRTT().
    fn check_probe_rtt_done(&mut self, window: &mut Window, now: Time) {
        if !self.hold.is_over(now) {
            return;
        }
        self.rtt.probe_stamp = now;
        self.prior.restore(window);
        self.reset_lower_bounds();
        if self.pipe.reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }

    /// ProbeRTTCwnd().
    fn probe_rtt_cwnd(&self) -> f64 {
        larger(self.product(self.bandwidth.now, PROBE_RTT_GAIN), MIN_WINDOW)
    }

    /// SetCwnd().
    #[inline(always)]
    fn set_cwnd(&mut self, window: &mut Window, s: &Sample<'_>) {
        let repairing = s.ack.repairing;
        if self.prior.repairing != Repairing::Nothing && repairing != self.prior.repairing {
            self.prior.restore(window);
        }
        self.prior.repairing = repairing;
        let inflight = self.product(self.bandwidth.now, self.cwnd_gain) + self.extra.most.max();
        let max_inflight = self.budget(inflight);
        window.grow_to(max_inflight, self.pipe.reached, s, self.initial_window);
        if self.state == State::ProbeRtt {
            window.cwnd = lesser(window.cwnd, self.probe_rtt_cwnd());
        }
        // BoundCwndForModel().
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.hi,
            State::Cruise | State::ProbeRtt => self.bounds.with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        let bound = larger(lesser(cap, self.bounds.lo), MIN_WINDOW);
        window.cwnd = lesser(window.cwnd, bound);
        self.samples.bounds.cwnd = lesser(larger(max_inflight, MIN_WINDOW), bound);
    }

    /// HandleLostPacket(): a packet is lost that was sent with `p`.
    fn handle_lost(&mut self, window: &Window, now: Time, p: Snapshot) {
        // NoteLoss(): the round that the first loss begins is a whole one.
        if !self.losses.lossy {
            self.losses.end = self.samples.rate.delivered;
            self.save_state(window);
        }
        self.losses.lossy = true;
        if !self.cycle.samples {
            return;
        }
        let (flight, lost) = (p.flight as f64, (self.samples.rate.lost - p.lost) as f64);
        if lost > flight * LOSS_THRESH {
            // InflightAtLoss(): how much was in flight when the loss became too much.
            let (before, lost_before) = (flight - 1.0, lost - 1.0);
            let prefix = ((LOSS_THRESH * before - lost_before) / (1.0 - LOSS_THRESH)).max(0.0);
            self.handle_inflight_too_high(window, now, before + prefix, p.app_limited);
        }
    }
}

impl Congestion for Bbr3 {
    model_events!();

    fn state(&self) -> Option<&'static str> {
        Some(match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::Down => "probe down",
            State::Cruise => "probe cruise",
            State::Refill => "probe refill",
            State::Up => "probe up",
            State::ProbeRtt => "probe round trip",
        })
    }

    fn bandwidth(&self) -> Option<f64> {
        Some(self.bandwidth.now)
    }

    fn reduce(&mut self, window: &mut Window, cause: Cause) {
        if cause == Cause::Timeout {
            self.on_timeout(window);
        }
    }

    fn on_first_rtt(&mut self, now: Time, rtt: Duration) {
        self.samples.unsettle();
        self.rtt.set(rtt, now);
        self.pace.rate = self.pace.initial(rtt);
    }

    #[inline(always)]
    fn on_sent(&mut self, window: &mut Window, now: Time, seq: u32, flight: u32) {
        if flight == 0 && self.samples.rate.is_limited() {
            // HandleRestartFromIdle().
            self.samples.unsettle();
            self.idle_restart = true;
            self.extra.aggregate.since = now;
            if self.probes_bandwidth() {
                self.pace.rate = self.bandwidth.now * MARGIN;
            } else if self.state == State::ProbeRtt {
                self.check_probe_rtt_done(window, now);
            }
        }
        self.samples.rate.sent(seq, now, flight);
    }

    #[inline(always)]
    fn on_ack(&mut self, window: &mut Window, ack: &AckFacts<'_>) {
        let sample = self.samples.take(ack, self.rtt.min, self.state == State::ProbeRtt);
        self.update(window, &sample);
    }

    #[inline(never)]
    fn on_ack_in_order(&mut self, window: &mut Window, ack: &AckFacts<'_>, newly: u32) {
        let sample = self.samples.take_in_order(ack, newly, self.rtt.min, self.state == State::ProbeRtt);
        self.update(window, &sample);
        self.settle(window);
    }

    fn on_lost(&mut self, window: &Window, now: Time, seq: u32) {
        self.samples.rate.lose();
        self.samples.unsettle();
        self.losses.lose(seq);
        self.handle_lost(window, now, self.samples.rate.snapshot(seq));
    }

    fn after_timeout(&mut self, _: Time, flight: u32) -> Option<f64> {
        self.samples.unsettle();
        Some(f64::from(flight) + 1.0)
    }

    /// HandleSpuriousLossDetection().
    fn on_spurious(&mut self, window: &mut Window, _: &Window) {
        self.samples.unsettle();
        self.prior.restore(window);
        self.losses.lossy = false;
        self.pipe.reset();
        let Undo { state, bw_lo, bounds } = self.undo;
        self.bandwidth.lo = self.bandwidth.lo.max(bw_lo);
        self.bounds.lo = self.bounds.lo.max(bounds.lo);
        self.bounds.hi = self.bounds.hi.max(bounds.hi);
        match state {
            Some(State::Startup) if self.state != State::Startup => {
                self.pipe.reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => self.start_refill(),
            _ => {}
        }
        self.undo.state = None;
    }
}
