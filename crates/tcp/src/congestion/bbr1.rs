//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): the window and the rate follow a model of the
//! path, its largest delivery rate and its smallest round-trip time, and not losses.
//!
//! Where the draft and Linux, whose code it describes, differ, it is Linux's: with the room for aggregated
//! acknowledgments and the detection of policers.

use quell_units::{Duration, Time};

use super::Window;
use super::model::{Steadily, Steady, SteadyAck};
use crate::catalog::Entry;
use crate::float::{ceil, count, floor, larger, lesser, seconds};
use crate::rate::{Repair, Sample, Snapshot, chance};

/// What a user may read about it.
pub(crate) const ENTRY: Entry = Entry {
    key: "congestion",
    name: "bbr1",
    title: "BBR, version 1",
    summary: "A model of the path, its bandwidth and round-trip time, sets window and rate; losses do not.",
    source: "draft-cardwell-iccrg-bbr-congestion-control-00",
    reads: &[],
    needs: &[("recovery", &["rack"]), ("pacing", &["true"])],
    refuses: &[("ecn", &["true"])],
    network: "",
    choices: &[
        "What the draft leaves to chance (the phase of the first cycle, the time between probes) is drawn from the clock, so that a flow needs no generator.",
        "Packets leave one by one unless send_quantum is set; the room that the window has for hosts is that of Linux's quantum in any case.",
        "Marks are not answered, so ecn = true is refused.",
        "Where they differ it is Linux's code and not the draft: gains are whole 256ths (2.887 in the start, 0.344 where the queue drains), the rate is a hundredth below the bandwidth, a timeout begins the search for a plateau anew, and only a smaller round-trip time, in whole microseconds, renews the smallest, where by the draft an equal one does (in a path whose queue empties in each cycle there always is one, and the round-trip time would never be looked for).",
        "The largest bandwidth is that of ten round trips before the present one, of which three samples are kept (Nichols's filter): when the largest is too old, the next one may be of less than all others. Samples of less than the connection's smallest round-trip time say nothing, and do not begin a round trip.",
        "The window has room for aggregated acknowledgments: what the last five to ten round trips have acknowledged beyond the bandwidth, at most 100 ms of it. It is rounded up to an even number, and two larger in the phase that probes; what leaves next counts as in flight where that phase ends, less what is delivered until pacing lets it leave.",
        "Policers are detected as in Linux: where more than a fifth of the packets delivered were lost over each of two intervals of 4 to 16 round trips, whose rates differ by at most an eighth, their mean is the bandwidth for 48 round trips, and nothing probes.",
    ],
};

/// 2 / ln 2, which doubles what is delivered each round trip, and its inverse, in whole 256ths.
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// How long BtlBwFilter and RTpropFilter look back: round trips and time.
const BANDWIDTH_ROUNDS: u64 = 10;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const CWND_GAIN: f64 = 2.0;
/// BBRMinPipeCwnd.
const MIN_WINDOW: f64 = 4.0;
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// A plateau: less than a quarter more for three round trips.
const GROWTH: f64 = 1.25;
const PLATEAU_ROUNDS: u32 = 3;
/// What is acknowledged beyond the bandwidth counts for so many round trips, and twice as many at most; the window
/// has room for so much of it (as in Linux).
const EXTRA_ROUNDS: u32 = 5;
const EXTRA_TIME: Duration = Duration::from_millis(100);
/// The rate is a hundredth below the model's, so that the queue cannot stand (as in Linux).
const MARGIN: f64 = 0.99;
/// What hosts keep together: what leaves in 1/1024 s, at most 64 KiB with the room for headers, and at least two packets
/// from 1.2 Mbit/s on.
const QUANTUM_TIME: f64 = 1.0 / 1024.0;
const MOST_TOGETHER: f64 = 65_215.0;
const SLOW: f64 = 1.2e6 / 8.0;
/// A policer: of an interval of 4 to 16 round trips 50/256 of what was delivered was lost, and the rate is that of the last
/// such interval within an eighth or 500 B/s. It is believed for 48 round trips.
const POLICED_ROUNDS: u32 = 4;
const POLICED_LOSS: f64 = 50.0 / 256.0;
const POLICED_RATIO: f64 = 1.0 / 8.0;
const POLICED_BYTES: f64 = 500.0;
const POLICED_FOR: u32 = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The largest value of so many steps, kept in three samples: the largest, the largest after it, and the largest after
/// that.
#[derive(Clone, Debug)]
struct Largest([(u64, f64); 3]);

impl Largest {
    fn update(&mut self, at: u64, value: f64) {
        let new = (at, value);
        let Largest([first, second, third]) = self;
        if value >= first.1 || at - third.0 > BANDWIDTH_ROUNDS {
            *self = Largest([new; 3]);
            return;
        }
        if value >= second.1 {
            (*second, *third) = (new, new);
        } else if value >= third.1 {
            *third = new;
        }
        let age = at - first.0;
        if age > BANDWIDTH_ROUNDS {
            (*first, *second, *third) = (*second, *third, new);
            if at - first.0 > BANDWIDTH_ROUNDS {
                (*first, *second, *third) = (*second, *third, new);
            }
        } else if second.0 == first.0 && age > BANDWIDTH_ROUNDS / 4 {
            // The others are to be younger, that they last when it goes.
            (*second, *third) = (new, new);
        } else if third.0 == second.0 && age > BANDWIDTH_ROUNDS / 2 {
            *third = new;
        }
    }

    /// Below which value further ones of step `at` change neither the largest nor, by their age, the others.
    fn steady(&self, at: u64) -> f64 {
        let Largest([first, second, third]) = self;
        let age = at - first.0;
        let ages = at - third.0 > BANDWIDTH_ROUNDS
            || age > BANDWIDTH_ROUNDS
            || second.0 == first.0 && age > BANDWIDTH_ROUNDS / 4
            || third.0 == second.0 && age > BANDWIDTH_ROUNDS / 2;
        if ages {
            0.0
        } else if age > BANDWIDTH_ROUNDS / 2 {
            // A value that is second then is third too, which the next one replaces.
            second.1
        } else {
            first.1
        }
    }

    /// [`Largest::update`] below [`Largest::steady`].
    #[inline(always)]
    fn update_steadily(&mut self, at: u64, value: f64) {
        let Largest([_, second, third]) = self;
        if value >= third.1 {
            *third = (at, value);
            if value >= second.1 {
                *second = *third;
            }
        }
    }

    fn max(&self) -> f64 {
        self.0[0].1
    }
}

/// What tells a policer: the rate that losses leave, over intervals that begin and end with one.
#[derive(Clone, Debug, Default)]
struct Policer {
    /// Of the last interval; zero for none.
    bandwidth: f64,
    /// It is the bandwidth now.
    believed: bool,
    samples: bool,
    /// Round trips of this interval, or since it is believed.
    rounds: u32,
    /// When the interval began, and what had been delivered and lost by then.
    since: Time,
    delivered: u64,
    lost: u64,
}

impl Policer {
    fn begin(&mut self, now: Time, (delivered, lost): (u64, u64)) {
        // In whole milliseconds.
        let since = Time::from_nanos(now.nanos() / 1_000_000 * 1_000_000);
        (self.rounds, self.since, self.delivered, self.lost) = (0, since, delivered, lost);
    }

    /// An acknowledgment, or a timeout, which losses and the end of a round trip come with. True if the policer is not
    /// believed any more.
    fn on_sample(&mut self, now: Time, saw: Saw, totals: (u64, u64), packet: f64) -> bool {
        if self.believed {
            self.rounds += u32::from(saw.probes_bandwidth && saw.round);
            let over = self.rounds >= POLICED_FOR;
            if over {
                *self = Policer::default();
            }
            return over;
        }
        if !self.samples {
            if !saw.losses {
                return false;
            }
            self.begin(now, totals);
            self.samples = true;
        }
        self.rounds += u32::from(saw.round);
        if saw.app_limited || self.rounds > 4 * POLICED_ROUNDS {
            *self = Policer::default();
            return false;
        }
        let (delivered, lost) = ((totals.0 - self.delivered) as f64, (totals.1 - self.lost) as f64);
        let time = ((now - self.since).nanos() / 1_000_000) as f64 / 1e3;
        let lossy = saw.losses && delivered > 0.0 && lost >= POLICED_LOSS * delivered;
        if self.rounds >= POLICED_ROUNDS && lossy && time > 0.0 {
            self.end(now, totals, delivered / time, packet);
        }
        false
    }

    fn end(&mut self, now: Time, totals: (u64, u64), bandwidth: f64, packet: f64) {
        let apart = (bandwidth - self.bandwidth).abs();
        let same = apart <= POLICED_RATIO * self.bandwidth || apart * packet * MARGIN <= POLICED_BYTES;
        if self.bandwidth > 0.0 && same {
            (self.bandwidth, self.believed, self.rounds) = ((self.bandwidth + bandwidth) / 2.0, true, 0);
        } else {
            self.bandwidth = bandwidth;
            self.begin(now, totals);
        }
    }
}

/// What a policer's detection takes from a sample.
#[derive(Clone, Copy)]
struct Saw {
    losses: bool,
    round: bool,
    app_limited: bool,
    probes_bandwidth: bool,
}

/// How many more packets are acknowledged than the bandwidth explains.
#[derive(Clone, Debug)]
struct Extra {
    /// Since when it is counted, and how many have been acknowledged since.
    since: Time,
    acked: f64,
    /// The most in these round trips and in those before, and how many these are.
    most: [f64; 2],
    rounds: u32,
}

impl Default for Extra {
    fn default() -> Self {
        Extra { since: Time::ZERO, acked: 0.0, most: [0.0; 2], rounds: 0 }
    }
}

impl Extra {
    #[inline(always)]
    fn on_ack(&mut self, s: &Sample, round_start: bool, bandwidth: f64, cwnd: f64) {
        if s.acked == 0 {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= EXTRA_ROUNDS {
                self.rounds = 0;
                self.most = [0.0, self.most[0]];
            }
        }
        let extra;
        (self.since, self.acked, extra) = self.after(s.now, f64::from(s.acked), bandwidth, cwnd);
        self.most[0] = larger(self.most[0], extra);
    }

    /// What `since` and `acked` become with an acknowledgment, and how many more that is.
    #[inline(always)]
    fn after(&self, now: Time, acked: f64, bandwidth: f64, cwnd: f64) -> (Time, f64, f64) {
        let expected = floor(bandwidth * seconds(now - self.since));
        if self.acked <= expected {
            return (now, acked, lesser(acked, cwnd));
        }
        let acked = self.acked + acked;
        (self.since, acked, lesser(acked - expected, cwnd))
    }

    /// The most of all that is counted.
    fn most(&self) -> f64 {
        larger(self.most[0], self.most[1])
    }

    fn room(&self, bandwidth: f64) -> f64 {
        floor(lesser(self.most(), bandwidth * seconds(EXTRA_TIME)))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Bbr1 {
    state: State,
    largest: Largest,
    policer: Policer,
    /// The smallest round-trip time of the connection, and that of the filter.
    min_rtt: Duration,
    recent_rtt: Duration,
    min_rtt_stamp: Time,
    round: u64,
    next_round_delivered: u64,
    round_start: bool,
    pacing_gain: f64,
    cwnd_gain: f64,
    cycle: usize,
    cycle_stamp: Time,
    full_bandwidth: f64,
    plateau: u32,
    filled_pipe: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    prior_cwnd: f64,
    phase: Repair,
    /// The first round trip of a recovery sends a packet for each that is delivered.
    conserves: bool,
    extra: Extra,
    pacing_rate: f64,
    packet: f64,
    initial_window: f64,
    /// See [`Steadily`].
    pub steady: Steady,
}

impl Bbr1 {
    /// `packet` is what a packet brings, in bytes.
    pub fn new(initial_window: f64, packet: f64) -> Self {
        Bbr1 {
            state: State::Startup,
            largest: Largest([(0, 0.0); 3]),
            policer: Policer::default(),
            min_rtt: Duration::MAX,
            recent_rtt: Duration::MAX,
            min_rtt_stamp: Time::ZERO,
            round: 0,
            next_round_delivered: 0,
            round_start: false,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            cycle: 0,
            cycle_stamp: Time::ZERO,
            full_bandwidth: 0.0,
            plateau: 0,
            filled_pipe: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            prior_cwnd: 0.0,
            phase: Repair::Nothing,
            conserves: false,
            extra: Extra::default(),
            // Section 4.2.1: a window a millisecond until a round-trip time is known.
            pacing_rate: HIGH_GAIN * MARGIN * initial_window / 0.001,
            packet,
            initial_window,
            steady: Steady::unknown(),
        }
    }

    /// In packets per second.
    pub fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    /// The smallest round-trip time of the connection.
    pub fn min_rtt(&self) -> Duration {
        self.min_rtt
    }

    /// BBR.BtlBw, or what a policer lets pass.
    fn bandwidth(&self) -> f64 {
        if self.policer.believed { self.policer.bandwidth } else { self.largest.max() }
    }

    /// Whether packets are held back to measure the round-trip time.
    pub fn holds_back(&self) -> bool {
        self.state == State::ProbeRtt
    }

    /// The handshake measured a round-trip time.
    pub fn on_first_rtt(&mut self, rtt: Duration, now: Time) {
        (self.min_rtt, self.recent_rtt, self.min_rtt_stamp) = (rtt, rtt, now);
        self.pacing_rate = self.initial_rate(rtt);
    }

    /// A window a round-trip time, in the start.
    fn initial_rate(&self, rtt: Duration) -> f64 {
        HIGH_GAIN * MARGIN * self.initial_window / rtt.as_secs_f64().max(1e-6)
    }

    /// What hosts keep together, in packets (section 4.2.2).
    fn quantum(&self) -> f64 {
        let bytes = self.pacing_rate * self.packet;
        let least = if bytes < SLOW { 1.0 } else { 2.0 };
        lesser(larger(floor(lesser(bytes * QUANTUM_TIME, MOST_TOGETHER) / self.packet), least), 127.0)
    }

    /// BBRInflight(): so many bandwidth-delay products, and room for what hosts keep together.
    #[inline(never)]
    fn inflight(&self, gain: f64) -> f64 {
        self.budget(self.largest.max(), gain, 0.0)
    }

    /// The same at this bandwidth, with room for as many more.
    #[inline(always)]
    fn budget(&self, bandwidth: f64, gain: f64, more: f64) -> f64 {
        if self.recent_rtt == Duration::MAX {
            return self.initial_window;
        }
        let product = bandwidth * seconds(self.recent_rtt);
        let packets = ceil(gain * product) + more + 3.0 * self.quantum();
        let probes = self.state == State::ProbeBw && self.cycle == 0;
        2.0 * ceil(packets / 2.0) + if probes { 2.0 } else { 0.0 }
    }

    fn save_cwnd(&mut self, cwnd: f64) {
        let kept = self.phase == Repair::Nothing && self.state != State::ProbeRtt;
        self.prior_cwnd = if kept { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// A recovery begins, maybe with the acknowledgment that ends another one.
    pub fn on_recovery(&mut self, window: &Window) {
        self.save_cwnd(window.cwnd);
    }

    /// The timer ran out, before the window is reduced.
    pub fn on_timeout(&mut self, window: &Window) {
        self.save_cwnd(window.cwnd);
        self.phase = Repair::Timeout;
        self.full_bandwidth = 0.0;
    }

    /// The timer has found what is lost; so many packets have been delivered and lost.
    pub fn after_timeout(&mut self, now: Time, totals: (u64, u64)) {
        self.round_start = true;
        self.police(now, true, false, totals);
    }

    fn police(&mut self, now: Time, losses: bool, app_limited: bool, totals: (u64, u64)) {
        let probes_bandwidth = self.state == State::ProbeBw;
        let saw = Saw { losses, round: self.round_start, app_limited, probes_bandwidth };
        if self.policer.on_sample(now, saw, totals, self.packet) {
            self.enter_probe_bw(now);
        }
    }

    /// Nothing was lost in the last recovery (section 4.2.3.4): the window is restored.
    pub fn on_spurious(&mut self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.conserves = false;
        (self.full_bandwidth, self.plateau, self.policer) = (0.0, 0, Policer::default());
    }

    /// The sender begins to send again after it had nothing to send and nothing in flight.
    pub fn on_restart(&mut self, _: &mut Window, _: Time, _: u64) {
        self.idle_restart = true;
        if self.state == State::ProbeBw {
            self.pacing_rate = self.bandwidth() * MARGIN;
        }
    }

    /// BBRUpdateOnACK().
    #[inline(always)]
    pub fn on_ack(&mut self, window: &mut Window, s: &Sample) {
        self.round_start = false;
        if let (Some(rate), Some(newest)) = (s.rate, s.newest) {
            self.update_bandwidth(s, rate, newest);
            self.extra.on_ack(s, self.round_start, self.bandwidth(), window.cwnd);
        }
        if self.state == State::ProbeBw && self.is_next_cycle_phase(s) {
            self.cycle = (self.cycle + 1) % CYCLE.len();
            self.cycle_stamp = s.now;
        }
        self.check_full_pipe(s);
        self.check_drain(s);
        self.update_min_rtt(window, s);
        (self.pacing_gain, self.cwnd_gain) = match self.state {
            State::Startup => (HIGH_GAIN, HIGH_GAIN),
            State::Drain => (DRAIN_GAIN, HIGH_GAIN),
            State::ProbeBw if self.policer.believed => (1.0, CWND_GAIN),
            State::ProbeBw => (CYCLE[self.cycle], CWND_GAIN),
            State::ProbeRtt => (1.0, 1.0),
        };
        self.set_pacing_rate();
        self.set_cwnd(window, s);
    }

    /// See [`Model::settle`](super::model::Model::settle).
    pub fn settle(&mut self, _: &Window) {
        let steady = self.state == State::ProbeBw
            && self.filled_pipe
            && !self.conserves
            && !self.idle_restart
            && self.phase == Repair::Nothing;
        if !steady {
            return;
        }
        self.steady = Steady {
            round: self.next_round_delivered,
            until: (self.cycle_stamp + self.recent_rtt).min(self.min_rtt_stamp + MIN_RTT_WINDOW),
            // In whole microseconds what is a shorter one.
            rtt: Duration::from_nanos(self.recent_rtt.nanos().div_ceil(1000) * 1000),
            interval: self.min_rtt.max(Duration::from_nanos(1)),
            rate: self.largest.steady(self.round),
            extra: self.extra.most(),
            flight: if self.pacing_gain < 1.0 { self.inflight(1.0) } else { -1.0 },
            cwnd: larger(self.steady.cwnd, MIN_WINDOW),
        };
    }

    #[inline(always)]
    fn update_bandwidth(&mut self, s: &Sample, rate: f64, newest: Snapshot) {
        if newest.delivered >= self.next_round_delivered {
            self.next_round_delivered = s.total;
            self.round += 1;
            self.round_start = true;
            self.conserves = false;
        }
        self.police(s.now, s.lost > 0, newest.app_limited, (s.total, s.total_lost));
        if rate >= self.largest.max() || !newest.app_limited {
            self.largest.update(self.round, rate);
        }
    }

    #[inline(always)]
    fn is_next_cycle_phase(&self, s: &Sample) -> bool {
        let full_length = s.now - self.cycle_stamp > self.recent_rtt;
        if self.pacing_gain == 1.0 {
            return full_length;
        }
        let flight = self.flight_ahead(s.ahead, s.prior_flight);
        if self.pacing_gain > 1.0 {
            full_length && (s.lost > 0 || flight >= self.inflight(self.pacing_gain))
        } else {
            full_length || flight <= self.inflight(1.0)
        }
    }

    /// Of so many packets, how many are in flight when the next ones leave after this time; with these where the flight
    /// is to rise.
    fn flight_ahead(&self, ahead: Duration, flight: u32) -> f64 {
        let next = if self.pacing_gain > 1.0 { self.quantum() } else { 0.0 };
        let delivered = floor(self.bandwidth() * seconds(ahead));
        (f64::from(flight) + next - delivered).max(0.0)
    }

    #[inline(always)]
    fn check_full_pipe(&mut self, s: &Sample) {
        if self.filled_pipe || !self.round_start || s.newest.is_some_and(|p| p.app_limited) {
            return;
        }
        if self.largest.max() >= self.full_bandwidth * GROWTH {
            self.full_bandwidth = self.largest.max();
            self.plateau = 0;
        } else {
            self.plateau += 1;
            self.filled_pipe = self.plateau >= PLATEAU_ROUNDS;
        }
    }

    #[inline(always)]
    fn check_drain(&mut self, s: &Sample) {
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
        }
        if self.state == State::Drain && self.flight_ahead(s.ahead, s.flight) <= self.inflight(1.0) {
            self.enter_probe_bw(s.now);
        }
    }

    #[inline(never)]
    fn enter_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw;
        // Any phase but the one that drains.
        let drawn = (chance(now) * 7.0) as usize;
        self.cycle = if drawn == 0 { 0 } else { drawn + 1 };
        self.cycle_stamp = now;
    }

    #[inline(always)]
    fn update_min_rtt(&mut self, window: &mut Window, s: &Sample) {
        let expired = s.now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        let whole = |rtt: Duration| Duration::from_nanos(rtt.nanos() / 1000 * 1000);
        // Most are longer in any unit.
        let short = |rtt: &Duration| *rtt < self.recent_rtt + Duration::from_micros(1) || expired;
        if let Some(rtt) = s.rtt.filter(short).map(whole) {
            self.min_rtt = self.min_rtt.min(rtt);
            if rtt < self.recent_rtt || expired {
                (self.recent_rtt, self.min_rtt_stamp) = (rtt, s.now);
            }
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.save_cwnd(window.cwnd);
            self.state = State::ProbeRtt;
            self.probe_rtt_done = None;
        }
        if self.state == State::ProbeRtt {
            // A copy of the sample, too.
            window.rarely(|w| self.handle_probe_rtt(w, &{ *s }));
        }
        if s.acked > 0 {
            self.idle_restart = false;
        }
    }

    #[inline(never)]
    fn handle_probe_rtt(&mut self, window: &mut Window, s: &Sample) {
        match self.probe_rtt_done {
            None if f64::from(s.flight) <= MIN_WINDOW => {
                self.probe_rtt_done = Some(s.now + PROBE_RTT_TIME);
                self.probe_rtt_round_done = false;
                self.next_round_delivered = s.total;
            }
            None => {}
            Some(done) => {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done && s.now > done {
                    self.min_rtt_stamp = s.now;
                    window.cwnd = window.cwnd.max(self.prior_cwnd);
                    if self.filled_pipe {
                        self.enter_probe_bw(s.now);
                    } else {
                        self.state = State::Startup;
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn set_pacing_rate(&mut self) {
        let rate = self.pacing_gain * self.bandwidth() * MARGIN;
        if rate > 0.0 && (self.filled_pipe || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        } else if self.round == 1 && self.recent_rtt != Duration::MAX && !self.filled_pipe {
            // No handshake measured a round-trip time: the first packets do.
            self.pacing_rate = rate.max(self.initial_rate(self.recent_rtt));
        }
    }

    /// Section 4.2.3: what an acknowledgment that delivers something makes of the window.
    fn follow(&mut self, window: &mut Window, s: &Sample) {
        let before = core::mem::replace(&mut self.phase, s.phase);
        let (flight, acked) = (f64::from(s.flight), f64::from(s.acked));
        let begins = s.phase == Repair::Losses && before != Repair::Losses;
        window.cwnd = larger(window.cwnd - f64::from(s.lost), 1.0);
        if begins {
            self.conserves = true;
            self.next_round_delivered = s.total;
            window.cwnd = flight + acked;
        } else if s.phase == Repair::Nothing && before != Repair::Nothing {
            self.conserves = false;
            window.cwnd = larger(window.cwnd, self.prior_cwnd);
        }
        if self.conserves {
            window.cwnd = larger(window.cwnd, flight + acked);
            return;
        }
        let bandwidth = self.bandwidth();
        let extra = if self.filled_pipe { self.extra.room(bandwidth) } else { 0.0 };
        let target = self.budget(bandwidth, self.cwnd_gain, extra);
        self.steady.cwnd = target;
        if self.filled_pipe {
            window.cwnd = lesser(window.cwnd + acked, target);
        } else if window.cwnd < target || count(s.total) < self.initial_window {
            window.cwnd += acked;
        }
        window.cwnd = larger(window.cwnd, MIN_WINDOW);
    }

    #[inline(always)]
    fn set_cwnd(&mut self, window: &mut Window, s: &Sample) {
        if s.acked > 0 {
            self.follow(window, s);
        }
        if self.state == State::ProbeRtt {
            window.cwnd = lesser(window.cwnd, MIN_WINDOW);
        }
    }
}

impl Steadily for Bbr1 {
    #[inline(always)]
    fn steady(&self) -> &Steady {
        &self.steady
    }

    #[inline(always)]
    fn on_steady_ack(
        &mut self,
        window: &mut Window,
        ack: &SteadyAck,
        ahead: impl FnOnce() -> Duration,
    ) -> bool {
        if self.steady.flight >= 0.0 && self.flight_ahead(ahead(), ack.flights.0) <= self.steady.flight {
            return false;
        }
        let (since, acked, extra) = self.extra.after(ack.now, ack.acked, self.bandwidth(), window.cwnd);
        if extra > self.steady.extra {
            return false;
        }
        self.extra.since = since;
        self.extra.acked = acked;
        self.extra.most[0] = larger(self.extra.most[0], extra);
        self.largest.update_steadily(self.round, ack.rate);
        self.round_start = false;
        window.cwnd = lesser(window.cwnd + ack.acked, self.steady.cwnd);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The way of usual samples is that of any, whatever series of rates comes in a round.
    #[test]
    fn steady_samples_change_the_largest_as_any_do() {
        let mut rng = quell_aqm::Seed(1).stream("largest");
        for _ in 0..2000 {
            let (mut usual, mut any) = (Largest([(0, 0.0); 3]), Largest([(0, 0.0); 3]));
            for round in 1..25 {
                let mut bound = 0.0;
                for _ in 0..4 {
                    let rate = libm::floor(rng.uniform_in(50.0, 100.0));
                    if rate < bound {
                        usual.update_steadily(round, rate);
                    } else {
                        usual.update(round, rate);
                        bound = usual.steady(round);
                    }
                    any.update(round, rate);
                    assert_eq!(usual.0, any.0, "{round}");
                }
            }
        }
    }
    use crate::CongestionControl;
    use crate::congestion::model::Model;
    use crate::sender::path::{PATHS, Path, Seen};
    use alloc::vec::Vec;

    /// A flow whose path changes with what `see` sees.
    fn path_changes(path: Path, seconds: u64, mut see: impl FnMut(&Bbr1, &mut Path, &Seen<'_>)) -> u32 {
        let end = Time::ZERO + Duration::from_secs(seconds);
        path.run(CongestionControl::Bbr1, end, |path, seen| {
            if let Model::Bbr1(bbr) = seen.model {
                see(bbr, path, &seen);
            }
        })
    }

    fn run(path: Path, seconds: u64, mut see: impl FnMut(&Bbr1, &Seen<'_>)) -> u32 {
        path_changes(path, seconds, |bbr, _, seen| see(bbr, seen))
    }

    /// The states, and from when to when.
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
    fn startup_finds_the_bandwidth_and_drain_the_queue_it_has_made() {
        for path in PATHS {
            let (mut left, mut drained) = (None, None);
            run(path, 5, |bbr, seen| {
                if bbr.state != State::Startup {
                    left.get_or_insert((bbr.largest.max(), seen.now, bbr.plateau));
                }
                if bbr.state == State::ProbeBw {
                    drained.get_or_insert(seen.flight as f64);
                }
            });
            let (bandwidth, _, plateau) = left.unwrap();
            assert!((bandwidth / path.rate - 1.0).abs() < 0.02, "{bandwidth}");
            assert_eq!(plateau, PLATEAU_ROUNDS);
            let drained = drained.unwrap();
            assert!(drained <= path.product() + 35.0 && drained > 0.5 * path.product(), "{drained}");
        }
    }

    #[test]
    fn the_window_is_four_packets_for_200_ms_every_ten_seconds() {
        let path = PATHS[0];
        let s = states(path, 60);
        let probes: Vec<usize> = (0..s.len()).filter(|i| s[*i].0 == State::ProbeRtt).collect();
        assert!((5..=6).contains(&probes.len()), "{s:?}");
        for w in probes.windows(2) {
            let (left, next) = (s[w[0] + 1].1, s[w[1]].1);
            // The last one's own measurement, or one from an empty queue since.
            let gap = (next - left).as_secs_f64();
            assert!((9.9..12.0).contains(&gap), "{gap}");
            let long = (left - s[w[0]].1).as_secs_f64();
            assert!((0.2..0.6).contains(&long), "{long}");
        }
        let mut largest = 0.0f64;
        run(path, 60, |bbr, seen| {
            if bbr.state == State::ProbeRtt {
                largest = largest.max(seen.cwnd);
            }
        });
        assert_eq!(largest, MIN_WINDOW);
    }

    #[test]
    fn a_slow_application_leaves_the_bandwidth_as_it_is() {
        let mut known = (0.0f64, f64::INFINITY);
        path_changes(PATHS[0], 9, |bbr, path, seen| {
            if seen.now < Time::ZERO + Duration::from_secs(4) {
                known.0 = bbr.largest.max();
            } else {
                path.app = 100.0;
                known.1 = known.1.min(bbr.largest.max());
            }
        });
        assert_eq!(known.0, known.1);
    }

    #[test]
    fn each_cycle_probes_and_drains() {
        let mut gains: Vec<f64> = Vec::new();
        let mut last = 99;
        run(PATHS[1], 8, |bbr, _| {
            if bbr.state == State::ProbeBw && bbr.cycle != last {
                last = bbr.cycle;
                gains.push(bbr.pacing_gain);
            }
        });
        let first = gains.iter().position(|g| *g == 1.25).unwrap();
        assert_eq!(gains[first..first + 9], [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25]);
    }

    #[test]
    fn the_largest_of_ten_round_trips_is_one_of_three() {
        let mut l = Largest([(0, 0.0); 3]);
        l.update(1, 9.0);
        (2..=11).for_each(|at| l.update(at, 5.0 + (at % 2) as f64));
        assert_eq!(l.max(), 9.0);
        l.update(12, 1.0);
        assert_eq!(l.max(), 6.0);
        l.update(13, 7.0);
        assert_eq!(l.max(), 7.0);
        l.update(24, 2.0);
        assert_eq!(l.max(), 2.0, "nothing is left");
    }

    /// Round trips of 10 ms with 100 packets each, of which some are lost.
    #[test]
    fn a_policer_is_what_loses_a_fifth_at_one_rate() {
        let run = |lost: &dyn Fn(u64) -> u64, rounds: u64| {
            let (mut p, mut total, mut held) = (Policer::default(), 0, Vec::new());
            for round in 1..=rounds {
                total += lost(round);
                let now = Time::ZERO + Duration::from_millis(10 * round);
                let saw =
                    Saw { losses: lost(round) > 0, round: true, app_limited: false, probes_bandwidth: true };
                p.on_sample(now, saw, (100 * round, total), 1448.0);
                held.push(p.believed);
            }
            (held.iter().position(|b| *b), held.iter().filter(|b| **b).count(), p.bandwidth)
        };
        // The first interval begins with the first loss and has four round trips; so has the second.
        assert_eq!(run(&|_| 20, 12), (Some(7), 5, 10_000.0));
        assert_eq!(run(&|_| 20, 60).1, 48);
        assert_eq!(run(&|_| 19, 60).0, None);
        // One lossy round trip in twenty is no policer's.
        assert_eq!(run(&|round| if round % 20 == 0 { 100 } else { 0 }, 200).0, None);
    }

    #[test]
    fn the_path_is_used_and_its_queue_is_short() {
        for path in PATHS {
            let (mut queue, mut n) = (0.0, 0.0);
            let arrived = run(path, 9, |_, seen| {
                if seen.now > Time::ZERO + Duration::from_secs(4) {
                    queue += (seen.flight as f64 - path.product()).max(0.0);
                    n += 1.0;
                }
            });
            let used = (arrived - run(path, 4, |_, _| {})) as f64 / 5.0 / path.rate;
            assert!(used > 0.95, "{used}");
            assert!(queue / n < 0.2 * path.product() + 5.0, "{}", queue / n);
        }
    }
}
