//! BBR, version 3 (draft-ietf-ccwg-bbr): as version 1, and bounds of what may be in flight that losses of more
//! than a fiftieth teach it. Functions and constants have the draft's names in their comments.

use quell_units::{Duration, Time};

use super::Window;
use crate::catalog::Entry;
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
        "After a timeout the window is one packet until the data of then is acknowledged, and then what it was.",
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
/// BBR.StartupFullBwCnt, and the growth that is none.
const PLATEAU_ROUNDS: u32 = 3;
const GROWTH: f64 = 1.25;
/// BBR.StartupFullLossCnt.
const STARTUP_LOSSES: u32 = 6;

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
            probe_rtt_expired: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            prior_cwnd: 0.0,
            phase: Repair::Nothing,
            extra_start: Time::ZERO,
            extra_delivered: 0.0,
            extra_acked: MaxFilter::new(),
            // BBRInitPacingRate(): a window a millisecond until a round-trip time is known.
            pacing_rate: STARTUP_PACING * initial_window / 0.001,
            packet,
            initial_window,
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

    /// BBRHandleRestartFromIdle().
    pub fn on_restart(&mut self, now: Time) {
        self.idle_restart = true;
        self.extra_start = now;
        if self.probes_bandwidth() {
            self.pacing_rate = self.bw * MARGIN;
        }
    }

    /// BBROnEnterRTO(), before the window becomes one.
    pub fn on_timeout(&mut self, window: &Window) {
        self.save_cwnd(window.cwnd);
        self.phase = Repair::Timeout;
    }

    /// BBRIsInAProbeBWState().
    fn probes_bandwidth(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// BBRSaveCwnd().
    fn save_cwnd(&mut self, cwnd: f64) {
        let kept = self.phase == Repair::Nothing && self.state != State::ProbeRtt;
        self.prior_cwnd = if kept { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// BBRBDPMultiple().
    fn product(&self, bw: f64, gain: f64) -> f64 {
        match self.min_rtt {
            Duration::MAX => self.initial_window,
            min_rtt => gain * bw * min_rtt.as_secs_f64(),
        }
    }

    /// BBR.send_quantum in packets.
    fn quantum(&self) -> f64 {
        (self.pacing_rate * self.packet * 0.001).min(65536.0).max(2.0 * self.packet) / self.packet
    }

    /// BBRQuantizationBudget().
    fn budget(&self, inflight: f64) -> f64 {
        let more = if self.state == State::Up { 2.0 } else { 0.0 };
        inflight.max(3.0 * self.quantum()).max(MIN_WINDOW) + more
    }

    /// BBRInflight().
    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.budget(self.product(bw, gain))
    }

    /// BBRInflightWithHeadroom().
    fn inflight_with_headroom(&self) -> f64 {
        let headroom = (HEADROOM * self.inflight_hi).max(1.0);
        if self.inflight_hi.is_infinite() {
            f64::INFINITY
        } else {
            (self.inflight_hi - headroom).max(MIN_WINDOW)
        }
    }

    /// BBRTargetInflight().
    fn target_inflight(&self, cwnd: f64) -> f64 {
        self.product(self.bw, 1.0).min(cwnd)
    }

    /// BBRHandleLostPacket(): packet `seq`, which was sent with `p`, is lost; so many were delivered and lost.
    pub fn on_lost(
        &mut self,
        window: &Window,
        now: Time,
        (seq, p): (u32, Snapshot),
        (total, total_lost): (u64, u64),
    ) {
        self.loss_events += (seq != self.last_lost + 1) as u32;
        self.last_lost = seq;
        if !self.probe_samples {
            return;
        }
        let (flight, lost) = (p.flight as f64, (total_lost - p.lost) as f64);
        if lost > flight * LOSS_THRESH {
            // BBRInflightAtLoss(): how much was in flight when the loss became too much.
            let (before, lost_before) = (flight - 1.0, lost - 1.0);
            let prefix = ((LOSS_THRESH * before - lost_before) / (1.0 - LOSS_THRESH)).max(0.0);
            self.handle_inflight_too_high(window, (before + prefix, p.app_limited), now, total);
        }
    }

    /// BBRHandleInflightTooHigh().
    fn handle_inflight_too_high(
        &mut self,
        window: &Window,
        (flight, limited): (f64, bool),
        now: Time,
        total: u64,
    ) {
        self.probe_samples = false;
        if !limited {
            self.inflight_hi = flight.max(self.target_inflight(window.cwnd) * BETA);
        }
        if self.state == State::Up {
            self.start_down(now, total);
        }
    }

    /// BBRUpdateOnACK().
    pub fn on_ack(&mut self, window: &mut Window, s: &Sample) {
        let rate = s.rate.unwrap_or(0.0);
        let app_limited = s.newest.is_some_and(|p| p.app_limited);
        self.update_latest_signals(s, rate);
        self.update_round(s);
        if rate > 0.0 && (rate >= self.max_bw.max() || !app_limited) {
            self.max_bw.update(self.cycle_count, rate, BANDWIDTH_CYCLES);
        }
        self.update_congestion_signals(window, s);
        self.update_aggregation(window, s);
        self.check_full_bw(rate, app_limited);
        self.check_startup_and_drain(s);
        self.update_cycle(window, s, rate, app_limited);
        self.update_min_rtt(s);
        self.check_probe_rtt(window, s);
        // BBRAdvanceLatestDeliverySignals(), BBRBoundBWForModel().
        if self.loss_round_start {
            self.bw_latest = rate;
            self.inflight_latest = s.delivered as f64;
        }
        self.bw = self.max_bw.max().min(self.bw_lo);
        self.set_pacing_rate();
        self.set_cwnd(window, s);
    }

    /// BBRUpdateLatestDeliverySignals().
    fn update_latest_signals(&mut self, s: &Sample, rate: f64) {
        self.bw_latest = self.bw_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(s.delivered as f64);
        self.loss_round_start = s.newest.is_some_and(|p| p.delivered >= self.loss_round_delivered);
        if self.loss_round_start {
            self.loss_round_delivered = s.total;
        }
    }

    /// BBRUpdateRound().
    fn update_round(&mut self, s: &Sample) {
        self.round_start = s.newest.is_some_and(|p| p.delivered >= self.next_round_delivered);
        if self.round_start {
            self.start_round(s.total);
            self.round_count += 1;
            self.rounds_since_probe += 1;
        }
    }

    /// BBRStartRound().
    fn start_round(&mut self, total: u64) {
        self.next_round_delivered = total;
    }

    /// BBRUpdateCongestionSignals() and BBRAdaptLowerBoundsFromCongestion().
    fn update_congestion_signals(&mut self, window: &Window, s: &Sample) {
        self.loss_in_round |= s.lost > 0;
        if !self.loss_round_start {
            return;
        }
        let probing = matches!(self.state, State::Startup | State::Refill | State::Up);
        if !probing && self.loss_in_round {
            if self.bw_lo.is_infinite() {
                self.bw_lo = self.max_bw.max();
            }
            if self.inflight_lo.is_infinite() {
                self.inflight_lo = window.cwnd;
            }
            self.bw_lo = self.bw_latest.max(BETA * self.bw_lo);
            self.inflight_lo = self.inflight_latest.max(BETA * self.inflight_lo);
        }
        self.loss_in_round = false;
    }

    fn reset_lower_bounds(&mut self) {
        (self.bw_lo, self.inflight_lo) = (f64::INFINITY, f64::INFINITY);
    }

    /// BBRUpdateACKAggregation().
    fn update_aggregation(&mut self, window: &Window, s: &Sample) {
        let mut expected = self.bw * (s.now - self.extra_start).as_secs_f64();
        if self.extra_delivered <= expected {
            (self.extra_delivered, self.extra_start, expected) = (0.0, s.now, 0.0);
        }
        self.extra_delivered += s.acked as f64;
        let extra = (self.extra_delivered - expected).min(window.cwnd);
        let rounds = if self.full_bw_reached { EXTRA_ROUNDS } else { 1 };
        self.extra_acked.update(self.round_count, extra, rounds);
    }

    fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (0.0, 0, false);
    }

    /// BBRCheckFullBWReached().
    fn check_full_bw(&mut self, rate: f64, app_limited: bool) {
        if self.full_bw_now || app_limited {
            return;
        }
        if rate >= self.full_bw * GROWTH {
            self.reset_full_bw();
            self.full_bw = rate;
        } else if self.round_start {
            self.full_bw_count += 1;
            self.full_bw_now = self.full_bw_count >= PLATEAU_ROUNDS;
            self.full_bw_reached |= self.full_bw_now;
        }
    }

    /// BBRIsInflightTooHigh() for what an acknowledgment samples.
    fn is_inflight_too_high(s: &Sample) -> bool {
        s.newest.is_some_and(|p| (s.total_lost - p.lost) as f64 > p.flight as f64 * LOSS_THRESH)
    }

    /// BBRCheckStartupDone() with BBRCheckStartupHighLoss(), and BBRCheckDrainDone().
    fn check_startup_and_drain(&mut self, s: &Sample) {
        if !self.full_bw_reached && self.loss_round_start {
            let lossy = self.phase == Repair::Losses && s.phase == Repair::Losses;
            if lossy && self.loss_events >= STARTUP_LOSSES && Self::is_inflight_too_high(s) {
                self.full_bw_reached = true;
                self.inflight_hi = self.product(self.max_bw.max(), 1.0).max(self.inflight_latest);
            }
        }
        if self.loss_round_start {
            self.loss_events = 0;
        }
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            (self.pacing_gain, self.cwnd_gain) = (DRAIN_PACING, CWND_GAIN);
        }
        if self.state == State::Drain && s.flight as f64 <= self.inflight(self.bw, 1.0) {
            self.start_down(s.now, s.total);
        }
    }

    fn start_down(&mut self, now: Time, total: u64) {
        // BBRResetCongestionSignals().
        (self.loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
        self.probe_up_count = f64::INFINITY;
        // BBRPickProbeWait().
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

    fn start_refill(&mut self, s: &Sample) {
        self.reset_lower_bounds();
        self.probe_up_rounds = 0;
        self.probe_up_acks = 0.0;
        self.ack_phase = AckPhase::Refilling;
        self.start_round(s.total);
        self.state = State::Refill;
        (self.pacing_gain, self.cwnd_gain) = (1.0, CWND_GAIN);
    }

    fn start_up(&mut self, window: &Window, s: &Sample, rate: f64) {
        self.ack_phase = AckPhase::Starting;
        self.start_round(s.total);
        self.reset_full_bw();
        self.full_bw = rate;
        self.cycle_stamp = s.now;
        self.state = State::Up;
        (self.pacing_gain, self.cwnd_gain) = (UP_PACING, UP_CWND_GAIN);
        self.raise_slope(window);
    }

    /// BBRRaiseInflightLongtermSlope().
    fn raise_slope(&mut self, window: &Window) {
        let growth = (1u64 << self.probe_up_rounds) as f64;
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(30);
        self.probe_up_count = libm::floor(window.cwnd / growth).max(1.0);
    }

    /// BBRUpdateProbeBWCyclePhase().
    fn update_cycle(&mut self, window: &Window, s: &Sample, rate: f64, app_limited: bool) {
        if !self.full_bw_reached {
            return;
        }
        self.adapt_upper_bounds(window, s, app_limited);
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(window, s.now) => self.start_refill(s),
            State::Down => {
                let flight = s.flight as f64;
                if flight <= self.inflight_with_headroom() && flight <= self.inflight(self.max_bw.max(), 1.0)
                {
                    self.start_cruise();
                }
            }
            State::Refill if self.round_start => {
                self.probe_samples = true;
                self.start_up(window, s, rate);
            }
            State::Up => {
                if s.window_limited && window.cwnd >= self.inflight_hi {
                    // The bound keeps the rate from growing: it is raised first.
                    self.reset_full_bw();
                    self.full_bw = rate;
                } else if self.full_bw_now {
                    self.start_down(s.now, s.total);
                }
            }
            _ => {}
        }
    }

    /// BBRIsTimeToProbeBW().
    fn is_time_to_probe(&self, window: &Window, now: Time) -> bool {
        // BBRIsRenoCoexistenceProbeTime(): as often as Reno would lose, 63 round trips at most.
        let rounds = self.target_inflight(window.cwnd).min(63.0);
        now > self.cycle_stamp + self.probe_wait || self.rounds_since_probe as f64 >= rounds
    }

    /// BBRAdaptLongTermModel().
    fn adapt_upper_bounds(&mut self, window: &Window, s: &Sample, app_limited: bool) {
        if self.ack_phase == AckPhase::Starting && self.round_start {
            self.ack_phase = AckPhase::Feedback;
        }
        if self.ack_phase == AckPhase::Stopping && self.round_start {
            self.probe_samples = false;
            self.ack_phase = AckPhase::Init;
            if self.probes_bandwidth() && !app_limited {
                // BBRAdvanceMaxBwFilter().
                self.cycle_count += 1;
                self.max_bw.expire(self.cycle_count, BANDWIDTH_CYCLES);
            }
        }
        let Some(newest) = s.newest else { return };
        if Self::is_inflight_too_high(s) {
            if self.probe_samples {
                self.handle_inflight_too_high(window, (newest.flight as f64, app_limited), s.now, s.total);
            }
        } else if self.inflight_hi.is_finite() {
            self.inflight_hi = self.inflight_hi.max(newest.flight as f64);
            if self.state == State::Up {
                self.probe_upward(window, s);
            }
        }
    }

    /// BBRProbeInflightLongtermUpward().
    fn probe_upward(&mut self, window: &Window, s: &Sample) {
        if !s.window_limited || window.cwnd < self.inflight_hi {
            return;
        }
        self.probe_up_acks += s.acked as f64;
        if self.probe_up_acks >= self.probe_up_count {
            let delta = libm::floor(self.probe_up_acks / self.probe_up_count);
            self.probe_up_acks -= delta * self.probe_up_count;
            self.inflight_hi += delta;
        }
        if self.round_start {
            self.raise_slope(window);
        }
    }

    /// BBRUpdateMinRTT().
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

    /// BBRCheckProbeRTT() and BBRHandleProbeRTT().
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
            match self.probe_rtt_done {
                None if s.flight as f64 <= self.probe_rtt_cwnd() => {
                    self.probe_rtt_done = Some(s.now + PROBE_RTT_TIME);
                    self.probe_rtt_round_done = false;
                    self.start_round(s.total);
                }
                None => {}
                Some(done) => {
                    self.probe_rtt_round_done |= self.round_start;
                    if self.probe_rtt_round_done && s.now > done {
                        self.exit_probe_rtt(window, s);
                    }
                }
            }
        }
        if s.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// BBRExitProbeRTT().
    fn exit_probe_rtt(&mut self, window: &mut Window, s: &Sample) {
        self.probe_rtt_min_stamp = s.now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.reset_lower_bounds();
        if self.full_bw_reached {
            self.start_down(s.now, s.total);
            self.start_cruise();
        } else {
            self.state = State::Startup;
            (self.pacing_gain, self.cwnd_gain) = (STARTUP_PACING, CWND_GAIN);
        }
    }

    /// BBRProbeRTTCwnd().
    fn probe_rtt_cwnd(&self) -> f64 {
        self.product(self.bw, PROBE_RTT_GAIN).max(MIN_WINDOW)
    }

    /// BBRSetPacingRate().
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

    /// BBRSetCwnd().
    fn set_cwnd(&mut self, window: &mut Window, s: &Sample) {
        if self.phase == Repair::Timeout && s.phase != Repair::Timeout {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
        }
        self.phase = s.phase;
        let max_inflight = self.budget(self.product(self.bw, self.cwnd_gain) + self.extra_acked.max());
        let acked = s.acked as f64;
        if self.full_bw_reached {
            window.cwnd = (window.cwnd + acked).min(max_inflight);
        } else if window.cwnd < max_inflight || s.total < self.initial_window as u64 {
            window.cwnd += acked;
        }
        window.cwnd = window.cwnd.max(MIN_WINDOW);
        if self.state == State::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        // BBRBoundCwndForModel().
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_hi,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        window.cwnd = window.cwnd.min(cap.min(self.inflight_lo).max(MIN_WINDOW));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::congestion::model::Model;
    use crate::sender::path::{PATHS, Path, Seen};
    use alloc::vec::Vec;

    fn run(path: Path, seconds: u64, mut see: impl FnMut(&Bbr3, &Seen<'_>)) -> u32 {
        let end = Time::ZERO + Duration::from_secs(seconds);
        path.run(CongestionControl::Bbr3, end, |seen| {
            if let Model::Bbr3(bbr) = seen.model {
                see(bbr, &seen);
            }
        })
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
        // 1250 packets: rounds of Reno's are longer.
        let s = states(Path { rate: 12_500.0, ..PATHS[0] }, 40);
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
}
