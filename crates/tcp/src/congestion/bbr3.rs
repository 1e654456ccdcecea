//! BBR, version 3 (draft-ietf-ccwg-bbr of August 2026, after -06): as version 1, and bounds of what may be in flight
//! that losses of more than a fiftieth teach it. Functions and constants have the draft's names in their comments;
//! `_lo` is its `_shortterm` and `_hi` its `_longterm`. What it leaves open is in docs/senders.md.

use quell_units::{Duration, Time};

use super::Window;
use super::model::{Steadily, Steady, SteadyAck};
use crate::catalog::Entry;
use crate::float::{count, floor, larger, lesser, seconds};
use crate::rate::{MaxFilter, Repair, Sample, Snapshot, chance};

/// What a user may read about it.
pub(crate) const ENTRY: Entry = Entry {
    key: "congestion",
    name: "bbr3",
    title: "BBR, version 3",
    summary: "A model of the path sets window and rate, with bounds in flight that losses teach it.",
    source: "draft-ietf-ccwg-bbr",
    reads: &[],
    needs: &[("recovery", &["rack"]), ("pacing", &["true"])],
    refuses: &[("ecn", &["true"])],
    network: "",
    choices: &[
        "What the draft leaves to chance (the phase of the first cycle, the time between probes) is drawn from the clock, so that a flow needs no generator.",
        "Packets leave one by one; the send quantum counts for the window alone.",
        "Marks are not answered, so ecn = true is refused.",
        "After a timeout the window is what is still in flight and a packet, until the data of then is acknowledged, and then what it was.",
        "It is the draft as of August 2026 (after -06), with its careful probes (section 5.3.3.6).",
        "A probe has reached inflight_longterm when no further packet fits below it, in packets and before the acknowledgment that is being processed: what is left in flight after one (section 5.3.3.9) never reaches a bound that limits.",
        "Losses that end a probe while the application is slow leave the bound as it is (HandleInflightTooHigh(); appendix A.6 has it updated), and losses that end Startup set full_bw_reached alone (section 5.3.1.3; appendix A.2 has full_bw_now too).",
        "Drain is not bounded by inflight_longterm (BoundCwndForModel(); the table of section 5.6.1 bounds it).",
        "InflightAtLoss() adds no negative prefix: what was in flight before the packet that was too much is safe.",
        "\"In fast recovery for a full round\" (section 5.3.1.3) is at both ends of the round that the first loss begins.",
        "The filters forget exactly what is older than their length.",
        "A sample of the rate over less than BBR.min_rtt is left out; the draft compares with C.min_rtt, the lowest round-trip time of the connection (section 4.1.2.3).",
    ],
};

/// BBR.StartupPacingGain, 4 ln 2, and BBR.DrainPacingGain.
const STARTUP_PACING: f64 = 4.0 * core::f64::consts::LN_2;
const DRAIN_PACING: f64 = 0.5;
/// BBR.DefaultCwndGain, and in ProbeBW_UP.
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
const DOWN_PACING: f64 = 0.9;
const UP_PACING: f64 = 1.25;
/// BBR.PacingMarginPercent.
const MARGIN: f64 = 0.99;
/// BBR.LossThresh, BBR.Beta, BBR.Headroom.
const LOSS_THRESH: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
/// BBR.MinPipeCwnd.
const MIN_WINDOW: f64 = 4.0;
/// BBR.MaxBwFilterLen in cycles, BBR.ExtraAckedFilterLen in round trips, BBR.MinRTTFilterLen.
const BANDWIDTH_CYCLES: u64 = 2;
const EXTRA_ROUNDS: u64 = 10;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// BBR.ProbeRTTCwndGain, BBR.ProbeRTTDuration, BBR.ProbeRTTInterval.
const PROBE_RTT_GAIN: f64 = 0.5;
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// Rounds of a plateau, and the growth that is none (draft section 5.3.1.2).
const PLATEAU_ROUNDS: u32 = 3;
const GROWTH: f64 = 1.25;
/// BBRStartupFullLossCnt.
const STARTUP_LOSSES: u32 = 6;
/// Rounds after which Drain ends in any case (draft section 5.3.2).
const DRAIN_ROUNDS: u64 = 3;
/// BBR.bw_probe_up_rounds grows to this.
const MAX_UP_ROUNDS: u32 = 30;

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

/// What the acknowledgments that come now say about the probe (BBR.ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// What a loss recovery that was not needed gives back (draft section 2.15).
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// The state that losses have ended.
    state: Option<State>,
    bw_lo: f64,
    inflight_lo: f64,
    inflight_hi: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Bbr3 {
    state: State,
    ack_phase: AckPhase,
    pacing_gain: f64,
    cwnd_gain: f64,
    // The path: BBR.max_bw with its filter, what short-term losses leave of it, and the round-trip time.
    max_bw: MaxFilter,
    cycle_count: u64,
    bw: f64,
    bw_lo: f64,
    min_rtt: Duration,
    min_rtt_stamp: Time,
    probe_rtt_min: Duration,
    probe_rtt_min_stamp: Time,
    /// What may be in flight: by losses of bandwidth probes, and since the last of those.
    inflight_hi: f64,
    inflight_lo: f64,
    // Round trips.
    round_count: u64,
    next_round_delivered: u64,
    round_start: bool,
    // What the latest round delivered, and whether it lost.
    bw_latest: f64,
    inflight_latest: f64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    loss_in_round: bool,
    loss_events: u32,
    last_lost: u32,
    undo: Undo,
    /// BBR.drain_start_round.
    drain_start: u64,
    /// What had been delivered when the window last kept packets back.
    limited_at: Option<u64>,
    // The plateau of the rate.
    full_bw: f64,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    // Probes of bandwidth.
    cycle_stamp: Time,
    probe_wait: Duration,
    rounds_since_probe: u64,
    probe_samples: bool,
    probe_up_count: f64,
    probe_up_acks: f64,
    probe_up_rounds: u32,
    /// BBR.prev_probe_too_high and BBR.prev_probe_precautionary.
    too_high: bool,
    precautionary: bool,
    // Probes of the round-trip time.
    probe_rtt_expired: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    prior_cwnd: f64,
    phase: Repair,
    // Aggregated acknowledgments.
    extra_start: Time,
    extra_delivered: f64,
    extra_acked: MaxFilter,
    pacing_rate: f64,
    packet: f64,
    initial_window: f64,
    /// See [`Steadily`].
    pub steady: Steady,
}

impl Bbr3 {
    /// `packet` is the size of a packet in bytes.
    pub fn new(initial_window: f64, packet: f64) -> Self {
        Bbr3 {
            state: State::Startup,
            ack_phase: AckPhase::Init,
            pacing_gain: STARTUP_PACING,
            cwnd_gain: CWND_GAIN,
            max_bw: MaxFilter::new(),
            cycle_count: 0,
            bw: 0.0,
            bw_lo: f64::INFINITY,
            min_rtt: Duration::MAX,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min: Duration::MAX,
            probe_rtt_min_stamp: Time::ZERO,
            inflight_hi: f64::INFINITY,
            inflight_lo: f64::INFINITY,
            round_count: 0,
            next_round_delivered: 0,
            round_start: false,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_round_delivered: 0,
            loss_round_start: false,
            loss_in_round: false,
            loss_events: 0,
            last_lost: 0,
            undo: Undo {
                state: None,
                bw_lo: f64::INFINITY,
                inflight_lo: f64::INFINITY,
                inflight_hi: f64::INFINITY,
            },
            drain_start: 0,
            limited_at: None,
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            cycle_stamp: Time::ZERO,
            probe_wait: Duration::ZERO,
            rounds_since_probe: 0,
            probe_samples: false,
            probe_up_count: f64::INFINITY,
            probe_up_acks: 0.0,
            probe_up_rounds: 0,
            too_high: false,
            precautionary: false,
            probe_rtt_expired: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            prior_cwnd: 0.0,
            phase: Repair::Nothing,
            extra_start: Time::ZERO,
            extra_delivered: 0.0,
            extra_acked: MaxFilter::new(),
            // InitPacingRate(): a window a millisecond until a round-trip time is known.
            pacing_rate: STARTUP_PACING * initial_window / 0.001,
            packet,
            initial_window,
            steady: Steady::unknown(),
        }
    }

    /// In packets per second.
    pub fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    pub fn min_rtt(&self) -> Duration {
        self.min_rtt
    }

    /// Whether packets are held back to measure the round-trip time.
    pub fn holds_back(&self) -> bool {
        self.state == State::ProbeRtt
    }

    /// The handshake measured a round-trip time.
    pub fn on_first_rtt(&mut self, rtt: Duration, now: Time) {
        (self.min_rtt, self.min_rtt_stamp) = (rtt, now);
        (self.probe_rtt_min, self.probe_rtt_min_stamp) = (rtt, now);
        self.pacing_rate = STARTUP_PACING * self.initial_window / rtt.as_secs_f64().max(1e-6);
    }

    /// HandleRestartFromIdle(), after `total` packets have been delivered.
    pub fn on_restart(&mut self, window: &mut Window, now: Time, total: u64) {
        self.idle_restart = true;
        self.extra_start = now;
        if self.probes_bandwidth() {
            self.pacing_rate = self.bw * MARGIN;
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(window, now, total);
        }
    }

    /// OnEnterRTO(), before the window is reduced.
    pub fn on_timeout(&mut self, window: &Window) {
        self.save_state(window);
        self.phase = Repair::Timeout;
    }

    /// SaveStateUponLoss().
    fn save_state(&mut self, window: &Window) {
        self.save_cwnd(window.cwnd);
        let Bbr3 { bw_lo, inflight_lo, inflight_hi, .. } = *self;
        self.undo = Undo { state: None, bw_lo, inflight_lo, inflight_hi };
    }

    /// HandleSpuriousLossDetection(): nothing was lost. So many packets have been delivered.
    pub fn on_spurious(&mut self, window: &mut Window, total: u64) {
        self.restore_cwnd(window);
        self.loss_in_round = false;
        self.reset_full_bw();
        let undo = self.undo;
        self.bw_lo = self.bw_lo.max(undo.bw_lo);
        self.inflight_lo = self.inflight_lo.max(undo.inflight_lo);
        self.inflight_hi = self.inflight_hi.max(undo.inflight_hi);
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => self.start_refill(total),
            _ => {}
        }
        self.undo.state = None;
    }

    fn enter_startup(&mut self) {
        self.state = State::Startup;
        (self.pacing_gain, self.cwnd_gain) = (STARTUP_PACING, CWND_GAIN);
    }

    /// IsInAProbeBWState().
    fn probes_bandwidth(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// SaveCwnd().
    fn save_cwnd(&mut self, cwnd: f64) {
        let kept = self.phase == Repair::Nothing && self.state != State::ProbeRtt;
        self.prior_cwnd = if kept { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// RestoreCwnd().
    fn restore_cwnd(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }

    /// BDPMultiple().
    fn product(&self, bw: f64, gain: f64) -> f64 {
        match self.min_rtt {
            Duration::MAX => self.initial_window,
            min_rtt => gain * bw * seconds(min_rtt),
        }
    }

    /// BBR.send_quantum in packets.
    fn quantum(&self) -> f64 {
        larger(lesser(self.pacing_rate * self.packet * 0.001, 65536.0), 2.0 * self.packet) / self.packet
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

    /// InflightWithHeadroom().
    fn inflight_with_headroom(&self) -> f64 {
        let headroom = larger(HEADROOM * self.inflight_hi, 1.0);
        if self.inflight_hi.is_infinite() {
            f64::INFINITY
        } else {
            larger(self.inflight_hi - headroom, MIN_WINDOW)
        }
    }

    /// TargetInflight().
    fn target_inflight(&self, cwnd: f64) -> f64 {
        lesser(self.product(self.bw, 1.0), cwnd)
    }

    /// HandleLostPacket(): packet `seq`, which was sent with `p`, is lost; so many were delivered and lost.
    pub fn on_lost(
        &mut self,
        window: &Window,
        now: Time,
        (seq, p): (u32, Snapshot),
        (total, total_lost): (u64, u64),
    ) {
        self.loss_events += (seq != self.last_lost + 1) as u32;
        self.last_lost = seq;
        // NoteLoss(): the round that the first loss begins is a whole one.
        if !self.loss_in_round {
            self.loss_round_delivered = total;
            self.save_state(window);
        }
        self.loss_in_round = true;
        if !self.probe_samples {
            return;
        }
        let (flight, lost) = (p.flight as f64, (total_lost - p.lost) as f64);
        if lost > flight * LOSS_THRESH {
            // InflightAtLoss(): how much was in flight when the loss became too much.
            let (before, lost_before) = (flight - 1.0, lost - 1.0);
            let prefix = ((LOSS_THRESH * before - lost_before) / (1.0 - LOSS_THRESH)).max(0.0);
            self.handle_inflight_too_high(window, (before + prefix, p.app_limited), now, total);
        }
    }

    /// HandleInflightTooHigh().
    fn handle_inflight_too_high(
        &mut self,
        window: &Window,
        (flight, limited): (f64, bool),
        now: Time,
        total: u64,
    ) {
        self.too_high = true;
        self.probe_samples = false;
        if !limited {
            self.inflight_hi = flight.max(self.target_inflight(window.cwnd) * BETA);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now, total);
        }
    }

    /// UpdateOnACK().
    #[inline(always)]
    pub fn on_ack(&mut self, window: &mut Window, s: &Sample) {
        let rate = s.rate.unwrap_or(0.0);
        let app_limited = s.newest.is_some_and(|p| p.app_limited);
        if s.window_limited {
            self.limited_at = Some(s.total - u64::from(s.acked));
        }
        self.update_latest_signals(s, rate);
        self.update_round(s);
        if rate > 0.0 && (rate >= self.max_bw.max() || !app_limited) {
            self.max_bw.update(self.cycle_count, rate, BANDWIDTH_CYCLES);
        }
        if self.loss_round_start {
            self.update_congestion_signals(window.cwnd);
        }
        self.update_aggregation(window, s);
        self.check_full_bw(rate, app_limited);
        self.check_startup_and_drain(s);
        self.update_cycle(window, s, rate, app_limited);
        self.update_min_rtt(s);
        self.check_probe_rtt(window, s);
        // AdvanceLatestDeliverySignals(), BoundBWForModel().
        if self.loss_round_start {
            self.bw_latest = rate;
            self.inflight_latest = count(s.delivered);
        }
        self.bw = lesser(self.max_bw.max(), self.bw_lo);
        self.set_pacing_rate();
        self.set_cwnd(window, s);
    }

    /// See [`Model::settle`](super::model::Model::settle).
    pub fn settle(&mut self, window: &Window) {
        let waits = matches!(self.state, State::Down | State::Cruise);
        let goes_on = match self.state {
            State::Down | State::Cruise => {
                let rounds = lesser(self.target_inflight(window.cwnd), 63.0);
                count(self.rounds_since_probe) < rounds
            }
            State::Refill => true,
            State::Up => !self.full_bw_now && self.inflight_hi.is_infinite(),
            State::Startup | State::Drain | State::ProbeRtt => false,
        };
        let steady = goes_on
            && self.full_bw_reached
            && !self.probe_rtt_expired
            && !self.idle_restart
            && self.phase == Repair::Nothing;
        if !steady {
            return;
        }
        let mut until =
            (self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL).min(self.min_rtt_stamp + MIN_RTT_WINDOW);
        if waits {
            until = until.min(self.cycle_stamp + self.probe_wait);
        }
        let flight = match self.state {
            State::Down => lesser(self.inflight_with_headroom(), self.inflight(self.max_bw.max(), 1.0)),
            _ => -1.0,
        };
        self.steady = Steady {
            round: self.loss_round_delivered.min(self.next_round_delivered),
            until,
            rtt: self.probe_rtt_min,
            interval: self.min_rtt.max(Duration::from_nanos(1)),
            rate: self.max_bw.steady(self.cycle_count, BANDWIDTH_CYCLES),
            extra: self.extra_acked.steady(self.round_count, EXTRA_ROUNDS),
            flight,
            cwnd: self.steady.cwnd,
        };
    }

    /// UpdateLatestDeliverySignals().
    #[inline(always)]
    fn update_latest_signals(&mut self, s: &Sample, rate: f64) {
        self.bw_latest = larger(self.bw_latest, rate);
        self.inflight_latest = larger(self.inflight_latest, count(s.delivered));
        self.loss_round_start = s.newest.is_some_and(|p| p.delivered >= self.loss_round_delivered);
        if self.loss_round_start {
            self.loss_round_delivered = s.total;
        }
    }

    /// UpdateRound().
    #[inline(always)]
    fn update_round(&mut self, s: &Sample) {
        self.round_start = s.newest.is_some_and(|p| p.delivered >= self.next_round_delivered);
        if self.round_start {
            self.start_round(s.total);
            self.round_count += 1;
            self.rounds_since_probe += 1;
        }
    }

    /// StartRound().
    fn start_round(&mut self, total: u64) {
        self.next_round_delivered = total;
    }

    /// UpdateCongestionSignals() and AdaptLowerBoundsFromCongestion().
    #[inline(never)]
    fn update_congestion_signals(&mut self, cwnd: f64) {
        let probing = matches!(self.state, State::Startup | State::Refill | State::Up);
        if !probing && self.loss_in_round {
            if self.bw_lo.is_infinite() {
                self.bw_lo = self.max_bw.max();
            }
            if self.inflight_lo.is_infinite() {
                self.inflight_lo = cwnd;
            }
            self.bw_lo = self.bw_latest.max(BETA * self.bw_lo);
            self.inflight_lo = self.inflight_latest.max(BETA * self.inflight_lo);
        }
        self.loss_in_round = false;
    }

    fn reset_lower_bounds(&mut self) {
        (self.bw_lo, self.inflight_lo) = (f64::INFINITY, f64::INFINITY);
    }

    /// UpdateACKAggregation().
    #[inline(always)]
    fn update_aggregation(&mut self, window: &Window, s: &Sample) {
        let extra;
        (self.extra_start, self.extra_delivered, extra) =
            self.aggregation_after(s.now, f64::from(s.acked), window.cwnd);
        let rounds = if self.full_bw_reached { EXTRA_ROUNDS } else { 1 };
        self.extra_acked.update(self.round_count, extra, rounds);
    }

    /// What `extra_start` and `extra_delivered` become with an acknowledgment, and how many more that is than the
    /// bandwidth explains.
    #[inline(always)]
    fn aggregation_after(&self, now: Time, acked: f64, cwnd: f64) -> (Time, f64, f64) {
        let expected = self.bw * seconds(now - self.extra_start);
        if self.extra_delivered <= expected {
            return (now, acked, lesser(acked, cwnd));
        }
        let delivered = self.extra_delivered + acked;
        (self.extra_start, delivered, lesser(delivered - expected, cwnd))
    }

    fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (0.0, 0, false);
    }

    /// CheckFullBWReached().
    #[inline(always)]
    fn check_full_bw(&mut self, rate: f64, app_limited: bool) {
        if self.full_bw_now || !self.round_start || app_limited {
            return;
        }
        if rate >= self.full_bw * GROWTH {
            self.reset_full_bw();
            self.full_bw = rate;
        } else {
            self.full_bw_count += 1;
            self.full_bw_now = self.full_bw_count >= PLATEAU_ROUNDS;
            self.full_bw_reached |= self.full_bw_now;
        }
    }

    /// IsInflightTooHigh() for what an acknowledgment samples.
    #[inline(always)]
    fn is_inflight_too_high(s: &Sample) -> bool {
        s.newest.is_some_and(|p| count(s.total_lost - p.lost) > f64::from(p.flight) * LOSS_THRESH)
    }

    /// CheckStartupDone() with CheckStartupHighLoss(), and CheckDrainDone().
    #[inline(always)]
    fn check_startup_and_drain(&mut self, s: &Sample) {
        if !self.full_bw_reached && self.loss_round_start {
            let lossy = self.phase == Repair::Losses && s.phase == Repair::Losses;
            if lossy && self.loss_events >= STARTUP_LOSSES && Self::is_inflight_too_high(s) {
                self.undo.state = Some(State::Startup);
                self.full_bw_reached = true;
                self.inflight_hi = self.product(self.bw, 1.0).max(self.inflight_latest);
            }
        }
        if self.loss_round_start {
            self.loss_events = 0;
        }
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start = self.round_count;
            (self.pacing_gain, self.cwnd_gain) = (DRAIN_PACING, CWND_GAIN);
        }
        if self.state == State::Drain
            && (f64::from(s.flight) <= self.inflight(self.bw, 1.0)
                || self.round_count > self.drain_start + DRAIN_ROUNDS)
        {
            self.start_down(s.now, s.total);
        }
    }

    #[inline(never)]
    fn start_down(&mut self, now: Time, total: u64) {
        // ResetCongestionSignals().
        (self.loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
        self.probe_up_count = f64::INFINITY;
        // PickProbeWait().
        self.rounds_since_probe = (chance(now) * 2.0) as u64;
        let draw = chance(now + Duration::from_nanos(1));
        self.probe_wait = Duration::from_secs(2) + Duration::from_secs_f64(draw);
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::Stopping;
        self.start_round(total);
        self.state = State::Down;
        (self.pacing_gain, self.cwnd_gain) = (DOWN_PACING, CWND_GAIN);
    }

    fn start_cruise(&mut self) {
        self.state = State::Cruise;
        (self.pacing_gain, self.cwnd_gain) = (1.0, CWND_GAIN);
    }

    #[inline(never)]
    fn start_refill(&mut self, total: u64) {
        self.reset_lower_bounds();
        self.probe_up_rounds = 0;
        self.probe_up_acks = 0.0;
        self.precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round(total);
        self.state = State::Refill;
        (self.pacing_gain, self.cwnd_gain) = (1.0, CWND_GAIN);
    }

    #[inline(never)]
    fn start_up(&mut self, cwnd: f64, total: u64, rate: f64) {
        self.ack_phase = AckPhase::Starting;
        self.start_round(total);
        self.reset_full_bw();
        self.full_bw = rate;
        self.state = State::Up;
        (self.pacing_gain, self.cwnd_gain) = (UP_PACING, UP_CWND_GAIN);
        self.raise_slope(cwnd);
    }

    /// RaiseInflightLongtermSlope().
    fn raise_slope(&mut self, cwnd: f64) {
        let growth = (1u64 << self.probe_up_rounds) as f64;
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(MAX_UP_ROUNDS);
        self.probe_up_count = (cwnd / growth).max(1.0);
    }

    /// UpdateProbeBWCyclePhase().
    #[inline(always)]
    fn update_cycle(&mut self, window: &Window, s: &Sample, rate: f64, app_limited: bool) {
        if !self.full_bw_reached {
            return;
        }
        if self.adapt_upper_bounds(window, s, app_limited) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(window, s.now) => self.start_refill(s.total),
            State::Down => {
                let flight = f64::from(s.flight);
                if flight <= self.inflight_with_headroom() && flight <= self.inflight(self.max_bw.max(), 1.0)
                {
                    self.start_cruise();
                }
            }
            State::Refill if self.round_start => {
                self.probe_samples = true;
                self.start_up(window.cwnd, s.total, rate);
            }
            State::Up if self.is_time_to_go_down(window, s, rate) => {
                self.too_high = false;
                self.start_down(s.now, s.total);
            }
            _ => {}
        }
    }

    /// IsTimeToGoDown().
    #[inline(always)]
    fn is_time_to_go_down(&mut self, window: &Window, s: &Sample, rate: f64) -> bool {
        // No further packet had room below the bound, in whole packets: the acknowledgment has just made some.
        if self.too_high && f64::from(s.prior_flight) + 1.0 > self.inflight_hi {
            self.precautionary = true;
            return true;
        }
        if self.is_limited(s) && window.cwnd >= self.inflight_hi {
            // The bound keeps the rate from growing: it is raised first.
            self.reset_full_bw();
            self.full_bw = rate;
            return false;
        }
        self.full_bw_now
    }

    /// C.is_cwnd_limited: the window kept packets back in the last round trip.
    #[inline(always)]
    fn is_limited(&self, s: &Sample) -> bool {
        self.limited_at.is_some_and(|at| s.newest.is_some_and(|p| at >= p.delivered))
    }

    /// IsTimeToProbeBW().
    #[inline(always)]
    fn is_time_to_probe(&self, window: &Window, now: Time) -> bool {
        // IsRenoCoexistenceProbeTime(): as often as Reno would lose, 63 round trips at most.
        let rounds = lesser(self.target_inflight(window.cwnd), 63.0);
        now > self.cycle_stamp + self.probe_wait || count(self.rounds_since_probe) >= rounds
    }

    /// AdaptLongTermModel(); true if the state has changed.
    #[inline(always)]
    fn adapt_upper_bounds(&mut self, window: &Window, s: &Sample, app_limited: bool) -> bool {
        if self.ack_phase == AckPhase::Starting && self.round_start {
            self.ack_phase = AckPhase::Feedback;
        }
        if self.ack_phase == AckPhase::Stopping && self.round_start {
            self.probe_samples = false;
            self.ack_phase = AckPhase::Init;
            if self.probes_bandwidth() {
                if !app_limited {
                    // AdvanceMaxBwFilter().
                    self.cycle_count += 1;
                    self.max_bw.expire(self.cycle_count, BANDWIDTH_CYCLES);
                }
                if self.precautionary && !self.too_high {
                    // The bound was safe for a round: go on from there at once.
                    self.start_refill(s.total);
                    return true;
                }
            }
        }
        if let Some(newest) = s.newest
            && self.inflight_hi.is_finite()
            && !Self::is_inflight_too_high(s)
        {
            self.inflight_hi = larger(self.inflight_hi, f64::from(newest.flight));
            if self.state == State::Up {
                self.probe_upward(window, s);
            }
        }
        false
    }

    /// ProbeInflightLongtermUpward().
    #[inline(always)]
    fn probe_upward(&mut self, window: &Window, s: &Sample) {
        if !self.is_limited(s) || window.cwnd < self.inflight_hi {
            return;
        }
        self.probe_up_acks += f64::from(s.acked);
        if self.probe_up_acks >= self.probe_up_count {
            let delta = floor(self.probe_up_acks / self.probe_up_count);
            self.probe_up_acks -= delta * self.probe_up_count;
            self.inflight_hi += delta;
        }
        if self.round_start {
            self.raise_slope(window.cwnd);
        }
    }

    /// UpdateMinRTT().
    #[inline(always)]
    fn update_min_rtt(&mut self, s: &Sample) {
        self.probe_rtt_expired = s.now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = s.rtt
            && (rtt < self.probe_rtt_min || self.probe_rtt_expired)
        {
            (self.probe_rtt_min, self.probe_rtt_min_stamp) = (rtt, s.now);
        }
        let expired = s.now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        if self.probe_rtt_min < self.min_rtt || expired {
            (self.min_rtt, self.min_rtt_stamp) = (self.probe_rtt_min, self.probe_rtt_min_stamp);
        }
    }

    /// CheckProbeRTT() and HandleProbeRTT().
    #[inline(always)]
    fn check_probe_rtt(&mut self, window: &mut Window, s: &Sample) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd(window.cwnd);
            self.state = State::ProbeRtt;
            (self.pacing_gain, self.cwnd_gain) = (1.0, PROBE_RTT_GAIN);
            self.probe_rtt_done = None;
            self.ack_phase = AckPhase::Stopping;
            self.start_round(s.total);
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
    fn handle_probe_rtt(&mut self, window: &mut Window, s: &Sample) {
        match self.probe_rtt_done {
            None if f64::from(s.flight) <= self.probe_rtt_cwnd() => {
                self.probe_rtt_done = Some(s.now + PROBE_RTT_TIME);
                self.probe_rtt_round_done = false;
                self.start_round(s.total);
            }
            None => {}
            Some(_) => {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(window, s.now, s.total);
                }
            }
        }
    }

    /// CheckProbeRTTDone() and ExitProbeRTT().
    fn check_probe_rtt_done(&mut self, window: &mut Window, now: Time, total: u64) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        self.restore_cwnd(window);
        self.reset_lower_bounds();
        if self.full_bw_reached {
            self.start_down(now, total);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }

    /// ProbeRTTCwnd().
    fn probe_rtt_cwnd(&self) -> f64 {
        larger(self.product(self.bw, PROBE_RTT_GAIN), MIN_WINDOW)
    }

    /// SetPacingRate().
    #[inline(always)]
    fn set_pacing_rate(&mut self) {
        let rate = self.pacing_gain * self.bw * MARGIN;
        let first = self.round_count == 1 && self.min_rtt != Duration::MAX;
        if rate > 0.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        } else if first && !self.full_bw_reached {
            // No handshake measured a round-trip time: the first packets do.
            let initial = STARTUP_PACING * self.initial_window / self.min_rtt.as_secs_f64().max(1e-6);
            self.pacing_rate = rate.max(initial);
        }
    }

    /// SetCwnd().
    #[inline(always)]
    fn set_cwnd(&mut self, window: &mut Window, s: &Sample) {
        if self.phase != Repair::Nothing && s.phase != self.phase {
            self.restore_cwnd(window);
        }
        self.phase = s.phase;
        let max_inflight = self.budget(self.product(self.bw, self.cwnd_gain) + self.extra_acked.max());
        let acked = f64::from(s.acked);
        if self.full_bw_reached {
            window.cwnd = lesser(window.cwnd + acked, max_inflight);
        } else if window.cwnd < max_inflight || count(s.total) < self.initial_window {
            window.cwnd += acked;
        }
        window.cwnd = larger(window.cwnd, MIN_WINDOW);
        if self.state == State::ProbeRtt {
            window.cwnd = lesser(window.cwnd, self.probe_rtt_cwnd());
        }
        // BoundCwndForModel().
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_hi,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        let bound = larger(lesser(cap, self.inflight_lo), MIN_WINDOW);
        window.cwnd = lesser(window.cwnd, bound);
        self.steady.cwnd = lesser(larger(max_inflight, MIN_WINDOW), bound);
    }
}

impl Steadily for Bbr3 {
    #[inline(always)]
    fn steady(&self) -> &Steady {
        &self.steady
    }

    #[inline(always)]
    fn on_steady_ack(&mut self, window: &mut Window, ack: &SteadyAck, _: impl FnOnce() -> Duration) -> bool {
        let (start, delivered, extra) = self.aggregation_after(ack.now, ack.acked, window.cwnd);
        if extra >= self.steady.extra
            || f64::from(ack.sent_flight) > self.inflight_hi
            || f64::from(ack.flights.1) <= self.steady.flight
        {
            return false;
        }
        (self.extra_start, self.extra_delivered) = (start, delivered);
        self.extra_acked.update_steadily(extra);
        self.max_bw.update_steadily(ack.rate);
        if ack.limited_at.is_some() {
            self.limited_at = ack.limited_at;
        }
        self.bw_latest = larger(self.bw_latest, ack.rate);
        self.inflight_latest = larger(self.inflight_latest, count(ack.delivered));
        (self.loss_round_start, self.round_start) = (false, false);
        window.cwnd = lesser(window.cwnd + ack.acked, self.steady.cwnd);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::congestion::model::Model;
    use crate::sender::path::{PATHS, Path, Seen};
    use alloc::vec::Vec;
    use std::println;

    fn secs(x: f64) -> Time {
        Time::ZERO + Duration::from_secs_f64(x)
    }

    /// A flow whose path changes with what `see` sees.
    fn drive(path: Path, seconds: u64, mut see: impl FnMut(&Bbr3, &mut Path, &Seen<'_>)) -> u32 {
        path.run(CongestionControl::Bbr3, secs(seconds as f64), |path, seen| {
            if let Model::Bbr3(bbr) = seen.model {
                see(bbr, path, &seen);
            }
        })
    }

    fn run(path: Path, seconds: u64, mut see: impl FnMut(&Bbr3, &Seen<'_>)) -> u32 {
        drive(path, seconds, |bbr, _, seen| see(bbr, seen))
    }

    /// The states, and when each began.
    fn states(path: Path, seconds: u64) -> Vec<(State, Time)> {
        let mut out: Vec<(State, Time)> = Vec::new();
        run(path, seconds, |bbr, seen| {
            if out.last().is_none_or(|(state, _)| *state != bbr.state) {
                out.push((bbr.state, seen.now));
            }
        });
        out
    }

    #[test]
    fn startup_ends_on_a_plateau_with_the_bandwidth_within_a_fiftieth() {
        for path in PATHS {
            let mut left = None;
            run(path, 5, |bbr, _| {
                if bbr.state == State::Drain {
                    left.get_or_insert((bbr.max_bw.max(), bbr.full_bw_count, bbr.inflight_hi));
                }
            });
            let (bandwidth, rounds, bound) = left.unwrap();
            assert!((bandwidth / path.rate - 1.0).abs() < 0.02, "{bandwidth}");
            assert_eq!((rounds, bound), (PLATEAU_ROUNDS, f64::INFINITY));
        }
    }

    #[test]
    fn the_states_follow_each_other() {
        use State::*;
        let s: Vec<State> = states(PATHS[0], 8).into_iter().map(|s| s.0).collect();
        // It has drained already when it leaves Drain.
        assert_eq!(s[..6], [Startup, Drain, Cruise, Refill, Up, Down]);
        // After a probe of the round-trip time it cruises at once.
        let probe = s.iter().position(|s| *s == ProbeRtt).unwrap();
        assert_eq!(s[probe + 1], Cruise);
    }

    #[test]
    fn gains_are_the_draft_s() {
        let mut seen_gains: Vec<(State, f64, f64)> = Vec::new();
        run(PATHS[0], 12, |bbr, _| {
            let gains = (bbr.state, bbr.pacing_gain, bbr.cwnd_gain);
            if !seen_gains.contains(&gains) {
                seen_gains.push(gains);
            }
        });
        use State::*;
        for want in [
            (Startup, 2.772588722239781, 2.0),
            (Drain, 0.5, 2.0),
            (Down, 0.9, 2.0),
            (Cruise, 1.0, 2.0),
            (Refill, 1.0, 2.0),
            (Up, 1.25, 2.25),
            (ProbeRtt, 1.0, 0.5),
        ] {
            assert!(seen_gains.contains(&want), "{want:?}: {seen_gains:?}");
        }
        assert_eq!(seen_gains.len(), 7);
    }

    #[test]
    fn bandwidth_is_probed_every_two_to_three_seconds() {
        // 1250 packets: rounds of Reno's are longer. Nothing is lost, so that no probe is a precaution.
        let s = states(Path { rate: 12_500.0, buffer: 3000, ..PATHS[0] }, 40);
        let mut began = None;
        let mut downs = Vec::new();
        for w in s.windows(2) {
            let (state, at) = w[1];
            match state {
                State::Down => began = Some(at),
                // It waits from here where there is nothing to drain.
                State::Cruise if w[0].0 != State::Down => began = Some(at),
                State::Refill => downs.extend(began.take().map(|t| (at - t).as_secs_f64())),
                _ => {}
            }
        }
        assert!(downs.len() >= 6 && downs.iter().all(|d| (2.0..3.1).contains(d)), "{downs:?}");
    }

    #[test]
    fn the_round_trip_time_is_probed_every_five_seconds_for_200_ms_with_half_of_the_product() {
        let path = PATHS[0];
        let s = states(path, 40);
        let probes: Vec<usize> = (0..s.len() - 1).filter(|i| s[*i].0 == State::ProbeRtt).collect();
        assert!(probes.len() >= 6, "{s:?}");
        for w in probes.windows(2) {
            let (left, next) = (s[w[0] + 1].1, s[w[1]].1);
            let gap = (next - left).as_secs_f64();
            assert!((4.9..6.0).contains(&gap), "{gap}");
        }
        for &i in &probes {
            let long = (s[i + 1].1 - s[i].1).as_secs_f64();
            assert!((0.2..0.6).contains(&long), "{long}");
        }
        let mut smallest = f64::INFINITY;
        run(path, 40, |bbr, seen| {
            if bbr.state == State::ProbeRtt {
                smallest = smallest.min(seen.flight as f64);
            }
        });
        assert!((0.4..0.55).contains(&(smallest / path.product())), "{smallest}");
    }

    #[test]
    fn losses_bound_what_is_in_flight_and_cruising_leaves_headroom() {
        let path = Path { buffer: 10, ..PATHS[0] };
        let (mut bounded, mut cruises) = (0, 0);
        let arrived = run(path, 30, |bbr, seen| {
            if bbr.inflight_hi.is_finite() && bbr.full_bw_reached {
                bounded += 1;
                // More than what fits leaves a loss.
                assert!(bbr.inflight_hi < 2.0 * path.product(), "{}", bbr.inflight_hi);
                if bbr.state == State::Cruise {
                    cruises += 1;
                    let headroom = bbr.inflight_hi * (1.0 - HEADROOM);
                    assert!(seen.cwnd <= headroom.max(MIN_WINDOW) + 1.0, "{} {}", seen.cwnd, bbr.inflight_hi);
                }
            }
        });
        assert!(bounded > 1000 && cruises > 100, "{bounded} {cruises}");
        assert!(arrived as f64 > 0.75 * path.rate * 30.0, "{arrived}");
    }

    #[test]
    fn the_flight_at_the_loss_that_was_too_much() {
        let mut bbr = Bbr3::new(10.0, 1000.0);
        let window = Window { cwnd: 1000.0, ssthresh: f64::INFINITY };
        let mut rate = crate::rate::Rate::new();
        rate.sent(1, Time::ZERO, 999);
        let p = rate.snapshot(1);
        bbr.probe_samples = true;
        // 20 of 1000 are a fiftieth; the 21st is too much.
        bbr.on_lost(&window, Time::ZERO, (1, p), (0, 20));
        assert_eq!(bbr.inflight_hi, f64::INFINITY);
        bbr.on_lost(&window, Time::ZERO, (1, p), (0, 21));
        // 0.02 x 999 - 20 < 0: all before it were safe, and not it.
        assert_eq!(bbr.inflight_hi, 999.0);
        assert!(!bbr.probe_samples);
    }

    #[test]
    fn the_path_is_used_and_its_queue_is_short_between_probes() {
        for path in PATHS {
            let (mut queued, mut n) = (0, 0);
            let arrived = run(path, 24, |bbr, seen| {
                if bbr.state == State::Cruise {
                    queued += (seen.flight as f64 > 1.1 * path.product() + 5.0) as u32;
                    n += 1;
                }
            });
            let used = (arrived - run(path, 4, |_, _| {})) as f64 / 20.0 / path.rate;
            assert!(used > 0.95, "{used}");
            assert!(queued * 10 < n, "{queued} of {n}");
        }
    }

    // Appendix A of the draft, case by case, where nothing above has it.

    /// Calls `see` with each state that another has ended, and that one; after the acknowledgment that did it.
    fn follow(path: Path, seconds: u64, mut see: impl FnMut(State, &Bbr3, &mut Path, &Seen<'_>)) -> u32 {
        let mut before = State::Startup;
        drive(path, seconds, |bbr, path, seen| {
            see(before, bbr, path, seen);
            before = bbr.state;
        })
    }

    #[test]
    fn a2_losses_end_startup_where_the_application_is_slow() {
        // 500 packets a round trip, of 5000 that the path holds.
        let path = Path { app: 5000.0, ..Path::new(50_000.0, 100, 10_000) };
        let mut left = None;
        drive(path, 6, |bbr, path, seen| {
            path.loss = if seen.now > secs(2.0) { 25 } else { 0 };
            if bbr.state != State::Startup {
                let safe = bbr.product(bbr.bw, 1.0).max(bbr.inflight_latest);
                left.get_or_insert((seen.now, bbr.full_bw_reached, bbr.full_bw_count, bbr.inflight_hi, safe));
            }
        });
        let (at, reached, rounds, bound, safe) = left.unwrap();
        assert!(at > secs(2.1) && at < secs(2.6), "{at}");
        assert!(reached && rounds < PLATEAU_ROUNDS && bound == safe, "{rounds} {bound} {safe}");
    }

    #[test]
    fn a3_drain_ends_with_the_queue() {
        for path in PATHS {
            let mut left = None;
            follow(path, 5, |before, bbr, _, seen| {
                if before == State::Drain && bbr.state != State::Drain {
                    left.get_or_insert((seen.flight as f64, bbr.inflight(bbr.bw, 1.0)));
                }
            });
            let (flight, target) = left.unwrap();
            assert!(flight <= target && flight > target - 10.0, "{flight} {target}");
        }
    }

    #[test]
    fn a4_drain_ends_after_three_rounds_in_any_case() {
        // A tenth less bandwidth is drained at half of the old one; a third of it is not.
        for (left, rounds) in [(0.9, 0..3), (0.3, 4..5)] {
            let mut stayed = None;
            follow(PATHS[0], 6, |before, bbr, path, _| match (before, bbr.state) {
                (State::Startup, State::Drain) => path.rate *= left,
                (State::Drain, state) if state != State::Drain => {
                    stayed.get_or_insert(bbr.round_count - bbr.drain_start);
                }
                _ => {}
            });
            assert!(rounds.contains(&stayed.unwrap()), "{left}: {stayed:?}");
        }
    }

    #[test]
    fn a5_a_plateau_ends_a_probe() {
        let mut ends = 0;
        follow(PATHS[0], 30, |before, bbr, _, seen| {
            if (before, bbr.state) == (State::Up, State::Down) {
                assert!(bbr.full_bw_now && bbr.full_bw_count == PLATEAU_ROUNDS && seen.dropped == 0);
                ends += 1;
            }
        });
        assert!(ends >= 5, "{ends}");
    }

    #[test]
    fn a6_losses_end_a_probe_where_the_application_is_slow() {
        // The bound is not lowered: what was in flight is the application's (HandleInflightTooHigh()).
        let mut left = None;
        follow(PATHS[0], 10, |before, bbr, path, _| {
            if bbr.state == State::Up {
                (path.app, path.loss) = (500.0, 20);
            } else if before == State::Up {
                // What is in flight is so little that it cruises at once.
                let down = matches!(bbr.state, State::Down | State::Cruise);
                left.get_or_insert((down, bbr.too_high, bbr.inflight_hi, bbr.full_bw_now));
            }
        });
        assert_eq!(left, Some((true, true, f64::INFINITY, false)));
    }

    #[test]
    fn a7_a20_nothing_but_the_round_trip_time_ends_a_probe_or_startup_while_the_application_is_slow() {
        let mut seen_states = Vec::new();
        drive(PATHS[0], 5, |bbr, path, _| {
            if bbr.state == State::Up {
                path.app = 500.0;
            }
            if path.app < 1000.0 && seen_states.last() != Some(&bbr.state) {
                seen_states.push(bbr.state);
            }
        });
        assert_eq!(seen_states, [State::Up]);
        // 300 of 1000 packets a second from the start: it is back in Startup after each probe (A.20).
        let s = states(Path { app: 300.0, ..PATHS[0] }, 18);
        let s: Vec<State> = s.into_iter().map(|s| s.0).collect();
        use State::*;
        assert_eq!(s, [Startup, ProbeRtt, Startup, ProbeRtt, Startup, ProbeRtt, Startup]);
    }

    #[test]
    fn a8_cruising_begins_without_a_queue_and_with_headroom() {
        for path in [PATHS[0], Path { buffer: 10, ..PATHS[0] }] {
            let mut n = 0;
            follow(path, 30, |before, bbr, _, seen| {
                if (before, bbr.state) == (State::Down, State::Cruise) {
                    let flight = seen.flight as f64;
                    assert!(flight <= bbr.inflight(bbr.max_bw.max(), 1.0));
                    assert!(flight <= bbr.inflight_with_headroom());
                    assert_eq!((bbr.pacing_gain, bbr.cwnd_gain), (1.0, CWND_GAIN));
                    n += 1;
                }
            });
            assert!(n >= 4, "{n}");
        }
    }

    #[test]
    fn a9_the_next_probe_does_not_wait_for_cruising() {
        let mut directly = 0;
        follow(PATHS[1], 20, |before, bbr, path, _| match (before, bbr.state) {
            // A fifth less: at 0.9 of the old bandwidth the queue grows.
            (State::Up, State::Down) => path.rate = 8000.0,
            (State::Down, State::Refill) if !bbr.precautionary => directly += 1,
            _ => {}
        });
        assert!(directly >= 1, "{directly}");
    }

    #[test]
    fn a11_after_an_idle_time_the_round_trip_time_is_not_probed() {
        let idle = (secs(3.0), secs(9.5));
        let path = Path { pause: Some(idle), ..PATHS[0] };
        let s = states(path, 14);
        let probes: Vec<Time> = s.iter().filter(|s| s.0 == State::ProbeRtt).map(|s| s.1).collect();
        assert!(probes.iter().all(|t| *t > idle.1 + Duration::from_secs(4)), "{probes:?}");
        // Without the idle time there are two.
        assert!(states(PATHS[0], 14).iter().filter(|s| s.0 == State::ProbeRtt).count() >= 2);
    }

    #[test]
    fn a12_a13_acknowledgments_that_come_together_are_allowed_for() {
        let path = Path { together: Duration::from_millis(80), ..PATHS[0] };
        let (mut first, mut extra) = (None, 0.0f64);
        let arrived = drive(path, 20, |bbr, _, seen| {
            if bbr.full_bw_reached {
                first.get_or_insert((bbr.max_bw.max(), seen.cwnd));
            }
            if bbr.state == State::Cruise {
                extra = extra.max(bbr.extra_acked.max());
            }
        });
        let (bandwidth, cwnd) = first.unwrap();
        println!("bandwidth {bandwidth:.0}, window {cwnd:.0}, extra {extra:.0}, arrived {arrived}");
        assert!(bandwidth > 0.95 * path.rate && cwnd > 2.0 * path.product(), "{bandwidth} {cwnd}");
        assert!(extra > 40.0 && arrived as f64 > 0.9 * path.rate * 20.0, "{extra} {arrived}");
    }

    #[test]
    fn a14_less_than_a_packet_in_flight_needs_four() {
        let path = Path::new(50.0, 10, 100);
        let mut least = f64::INFINITY;
        let arrived = run(path, 40, |bbr, seen| {
            if bbr.probes_bandwidth() {
                least = least.min(seen.cwnd);
            }
        });
        assert!(least >= MIN_WINDOW, "{least}");
        assert!(arrived as f64 > 0.95 * 50.0 * 40.0, "{arrived}");
    }

    #[test]
    fn a15_ten_times_the_bandwidth_is_found() {
        // With what losses have taught, and without.
        for buffer in [20, 1000] {
            let (mut bounded, mut found) = (false, None);
            drive(Path { buffer, ..PATHS[0] }, 60, |bbr, path, seen| {
                if seen.now > secs(20.0) && path.rate < 2000.0 && bbr.state == State::Cruise {
                    path.rate = 10_000.0;
                    bounded = bbr.inflight_hi.is_finite();
                    found = Some((seen.now, None, bbr.cycle_count));
                } else if let Some((_, at @ None, _)) = &mut found
                    && bbr.max_bw.max() > 9500.0
                {
                    *at = Some((seen.now, bbr.cycle_count));
                }
            });
            let (from, to, cycles) = found.unwrap();
            let (to, last) = to.unwrap();
            println!("buffer {buffer}: bounded {bounded}, {} after, in {} cycles", to - from, last - cycles);
            assert_eq!(bounded, buffer == 20);
            assert!(to - from < Duration::from_secs(if bounded { 20 } else { 6 }));
        }
    }

    #[test]
    fn a15_the_bound_grows_by_1_2_4_8_packets_a_round() {
        let mut bbr = Bbr3::new(10.0, 1000.0);
        let window = Window { cwnd: 96.0, ssthresh: f64::INFINITY };
        let acks: Vec<f64> = (0..10)
            .map(|_| {
                bbr.raise_slope(window.cwnd);
                bbr.probe_up_count
            })
            .collect();
        assert_eq!(acks, [96.0, 48.0, 24.0, 12.0, 6.0, 3.0, 1.5, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn a16_a_tenth_of_the_bandwidth_is_found() {
        let (mut slowed, mut low, mut fell) = (None, None, None);
        drive(Path { buffer: 200, ..PATHS[1] }, 40, |bbr, path, seen| {
            if seen.now > secs(10.0) && slowed.is_none() && bbr.state == State::Cruise {
                path.rate = 1000.0;
                slowed = Some((seen.now, bbr.cycle_count));
            }
            if slowed.is_some() {
                if bbr.bw_lo < 5000.0 {
                    low.get_or_insert(seen.now);
                }
                if bbr.max_bw.max() < 1100.0 {
                    fell.get_or_insert((seen.now, bbr.cycle_count));
                }
            }
        });
        let ((from, cycle), low, (fell, last)) = (slowed.unwrap(), low.unwrap(), fell.unwrap());
        println!("half after {}, a tenth after {} and {} cycles", low - from, fell - from, last - cycle);
        assert!(low - from < Duration::from_secs(3));
        assert!(last - cycle <= 2 && fell - from < Duration::from_secs(12));
    }

    /// A probe of the bandwidth takes five round trips and the wait before it. Where that is longer than the time
    /// between two probes of the round-trip time no cycle ends, and the filter keeps the old bandwidth.
    #[test]
    fn a16_with_a_queue_of_a_second_no_cycle_ends_and_the_old_bandwidth_stays() {
        let path = Path { buffer: 400, ..Path::new(2477.0, 40, 0) };
        let (mut cycle, mut probes, mut flights) = (None, 0, (f64::INFINITY, f64::INFINITY));
        drive(path, 80, |bbr, path, seen| {
            if seen.now < secs(20.0) {
                return;
            }
            path.rate = 247.7;
            let from = *cycle.get_or_insert(bbr.cycle_count);
            assert!(bbr.cycle_count <= from + 1 && bbr.max_bw.max() > 2400.0, "{:?}", seen.now);
            // The first probe drains the queue, the later ones do not.
            if bbr.state == State::ProbeRtt {
                let least = if seen.now < secs(25.0) { &mut flights.0 } else { &mut flights.1 };
                *least = least.min(seen.flight as f64);
                probes += (seen.now > secs(25.0)) as u32;
            }
        });
        println!("in flight: {flights:?}");
        assert!(probes > 0 && flights.0 < 60.0 && flights.1 > 200.0, "{probes} {flights:?}");
    }

    #[test]
    fn a17_a_policer_is_met_without_a_storm_of_losses() {
        let path = Path { bucket: Some(100.0), ..PATHS[0] };
        let (mut half, mut all, mut bounded) = (0, 0, false);
        let arrived = run(path, 60, |bbr, seen| {
            if seen.now < secs(30.0) {
                half = seen.dropped;
            }
            all = seen.dropped;
            bounded |= bbr.bw_lo.is_finite() && bbr.inflight_lo.is_finite();
        });
        let lost = (all - half) as f64 / (path.rate * 30.0);
        println!("arrived {:.3} of the rate, lost {lost:.4}", arrived as f64 / path.rate / 60.0);
        assert!(bounded && arrived as f64 > 0.85 * path.rate * 60.0 && lost < 0.05, "{arrived} {lost}");
    }

    #[test]
    fn a18_what_a_needless_recovery_took_comes_back() {
        for (state, back) in [(State::Startup, State::Startup), (State::Up, State::Refill)] {
            let mut bbr = Bbr3::new(10.0, 1000.0);
            (bbr.state, bbr.min_rtt) = (state, Duration::from_millis(100));
            (bbr.full_bw_reached, bbr.probe_samples) = (state == State::Up, state == State::Up);
            let mut window = Window { cwnd: 200.0, ssthresh: f64::INFINITY };
            bbr.inflight_hi = 300.0;
            let mut rate = crate::rate::Rate::new();
            rate.sent(1, Time::ZERO, 199);
            bbr.on_lost(&window, Time::ZERO, (1, rate.snapshot(1)), (0, 10));
            if state == State::Up {
                assert_eq!((bbr.state, bbr.inflight_hi), (State::Down, 199.0));
            } else {
                // As CheckStartupHighLoss() does.
                (bbr.undo.state, bbr.full_bw_reached, bbr.state) = (Some(state), true, State::Drain);
                bbr.inflight_hi = 150.0;
            }
            (bbr.bw_lo, bbr.inflight_lo, window.cwnd) = (100.0, 140.0, 140.0);
            bbr.on_spurious(&mut window, 50);
            assert_eq!((bbr.state, bbr.inflight_hi, window.cwnd), (back, 300.0, 200.0));
            assert_eq!((bbr.bw_lo, bbr.inflight_lo), (f64::INFINITY, f64::INFINITY));
            assert_eq!(bbr.full_bw_reached, state == State::Up);
            assert!(!bbr.loss_in_round && bbr.undo.state.is_none());
            // Once.
            (window.cwnd, bbr.state, bbr.prior_cwnd) = (10.0, State::Cruise, 0.0);
            bbr.on_spurious(&mut window, 50);
            assert_eq!((bbr.state, window.cwnd), (State::Cruise, 10.0));
        }
    }

    #[test]
    fn a18_late_packets_cost_little() {
        // One of 200 comes later than the reordering window allows: without duplicates reported half would be lost.
        let late = |ms| Path { late: Some((200, Duration::from_millis(ms))), ..PATHS[0] };
        let mut lower = 0;
        let arrived = run(late(60), 30, |bbr, seen| {
            assert_eq!(seen.dropped, 0);
            lower += (seen.now > secs(5.0) && bbr.bw < 0.9 * 1000.0) as u32;
        });
        println!("arrived {arrived}, below the bandwidth {lower}");
        assert!(arrived as f64 > 0.93 * 30_000.0 && lower < 3000, "{arrived} {lower}");
    }

    #[test]
    fn a19_a_needless_timeout_costs_little() {
        // The path takes 1.5 s longer for half a second.
        let mut at_most = 0.0f64;
        let arrived = drive(PATHS[0], 12, |bbr, path, seen| {
            let slow = seen.now > secs(7.0) && seen.now < secs(7.5);
            path.rtt = Duration::from_millis(if slow { 1600 } else { 100 });
            if seen.now > secs(10.0) {
                at_most = at_most.max(bbr.bw);
            }
        });
        println!("arrived {arrived}, bandwidth {at_most:.0}");
        assert!(at_most > 950.0, "{at_most}");
    }

    #[test]
    fn a21_losses_beyond_the_bound_end_the_probe() {
        let path = Path { buffer: 10, ..PATHS[0] };
        let (mut bound, mut ends) = (0.0, 0);
        follow(path, 60, |before, bbr, _, seen| {
            if (before, bbr.state) == (State::Up, State::Down) && bbr.too_high {
                assert!(bbr.inflight_hi >= BETA * bbr.target_inflight(seen.cwnd) - 1e-9);
                assert!(bbr.inflight_hi < bound, "{} {bound}", bbr.inflight_hi);
                ends += 1;
            }
            bound = bbr.inflight_hi;
        });
        assert!(ends >= 3, "{ends}");
    }

    #[test]
    fn a22_a_pause_while_the_pipe_refills_leaves_the_bandwidth() {
        let (mut max, mut ups) = (0.0, 0);
        follow(PATHS[0], 12, |before, bbr, path, seen| {
            if (before, bbr.state) == (State::Cruise, State::Refill) {
                path.pause = Some((seen.now, seen.now + Duration::from_millis(100)));
                max = bbr.max_bw.max();
            }
            if (before, bbr.state) == (State::Refill, State::Up) {
                assert!(bbr.max_bw.max() >= max);
                ups += 1;
            }
        });
        assert!(ups >= 2, "{ups}");
    }

    /// Draft section 5.3.3.6.
    #[test]
    fn a_probe_after_one_that_lost_goes_no_further_than_the_bound_at_first() {
        let path = Path { buffer: 30, ..PATHS[0] };
        let (mut careful, mut on, mut off) = (false, 0, 0);
        follow(path, 60, |before, bbr, _, seen| {
            match (before, bbr.state) {
                (State::Refill, State::Up) => careful = bbr.too_high,
                (State::Up, State::Down) if careful && !bbr.too_high => {
                    assert!(bbr.precautionary && seen.flight as f64 <= bbr.inflight_hi + 1.0);
                }
                // At once, where the bound was safe.
                (State::Down, State::Refill) => on += 1,
                (State::Down, State::Cruise) => off += 1,
                _ => {}
            }
        });
        println!("at once {on}, later {off}");
        assert!(on >= 3 && off >= 3, "{on} {off}");
    }
}
