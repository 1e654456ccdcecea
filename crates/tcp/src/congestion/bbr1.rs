//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): the window and the rate follow a model of the
//! path, its largest delivery rate and its smallest round-trip time, and not losses.
//!
//! Where the draft and Linux, whose code it describes, differ, it is Linux's: with the room for aggregated
//! acknowledgments and the detection of policers.

use quell_units::{Duration, Time};

use super::contract::{AckFacts, Acked, Cause, Congestion, InOrder, Repairing, Window};
use super::model::{
    Aggregate, Bounds, Foreseen, Hold, MIN_WINDOW, Pace, PriorWindow, Round, Samples, model_events, product,
};
use crate::entry::Entry;
use crate::float::{ceil, floor, larger, lesser};
use crate::params::Config;
use crate::rate::{Sample, Snapshot, chance};

/// The entry in the catalog.
pub(crate) const ENTRY: Entry = Entry {
    key: "congestion",
    name: "bbr1",
    title: "BBR, version 1",
    summary: "A model of the path's bandwidth and round-trip time sets the window and the rate; losses do not.",
    source: "draft-cardwell-iccrg-bbr-congestion-control-00",
    needs: &[("recovery", &["rack"]), ("pacing", &["true"])],
    refuses: &[("ecn", &["true"])],
    choices: &[
        "What the draft leaves to chance (the phase of the first cycle, the time between probes) comes from the clock, \
         so a flow needs no random generator.",
        "Packets leave one by one unless send_quantum is set; the window always has the room that Linux's quantum \
         needs.",
        "It does not react to marks, so Quell refuses ecn = true.",
        "Where Linux's code and the draft differ, it follows Linux: gains are whole 256ths (2.887 at the start, 0.344 \
         while the queue drains), the rate is 1% below the bandwidth, a timeout restarts the search for a plateau, and \
         only a smaller round-trip time, in whole microseconds, renews the minimum. In the draft an equal one does, \
         too; on a path whose queue empties in each cycle there always is one, so the minimum would never be probed \
         for.",
        "The largest bandwidth covers the ten round trips before the present one, of which three samples are kept \
         (Nichols's filter). When the largest is too old, the next one may be smaller than all others. Samples over \
         less than the connection's smallest round-trip time are ignored, and do not start a round trip.",
        "The window has room for aggregated acknowledgments: what the last five to ten round trips acknowledged beyond \
         the bandwidth, at most 100 ms of it. It is rounded up to an even number, and is two larger in the probing \
         phase. At the end of that phase, the packets that leave next count as in flight, minus what is delivered \
         before pacing lets them leave.",
        "Policers are detected as in Linux: if losses exceed a fifth of the delivered packets in each of two intervals \
         of 4 to 16 round trips, and their rates differ by at most an eighth, their mean is the bandwidth for 48 round \
         trips, without probing.",
    ],
    ..Entry::PLAIN
};

/// 2 / ln 2, which doubles what is delivered each round trip, and its inverse, in whole 256ths.
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// The lengths of BtlBwFilter and RTpropFilter: round trips and time.
const BANDWIDTH_ROUNDS: u64 = 10;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const CWND_GAIN: f64 = 2.0;
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// A plateau: less than a quarter more for three round trips.
const GROWTH: f64 = 1.25;
const PLATEAU_ROUNDS: u32 = 3;
/// Packets acknowledged beyond the bandwidth count for so many round trips, and twice as
/// many at most; the window has room for so much of it (as in Linux).
const EXTRA_ROUNDS: u32 = 5;
const EXTRA_TIME: Duration = Duration::from_millis(100);
/// The rate is a hundredth below the model's, so that the queue cannot stand (as in Linux).
const MARGIN: f64 = 0.99;
/// The packets that hosts keep together: those that leave in 1/1024 s, at most 64 KiB with the room for headers, and
/// at least two packets from 1.2 Mbit/s on.
const QUANTUM_TIME: f64 = 1.0 / 1024.0;
const MOST_TOGETHER: f64 = 65_215.0;
const SLOW: f64 = 1.2e6 / 8.0;
/// A policer: of an interval of 4 to 16 round trips 50/256 of what was delivered was lost, and the rate is that of
/// the last such interval within an eighth or 500 B/s. It is believed for 48 round trips.
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

    /// The value below which further ones of step `at` change neither the largest nor, by their age, the others.
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

/// The signs of a policer: the rate that losses leave, over intervals that begin and end with one.
#[derive(Clone, Debug, Default)]
struct Policer {
    /// The bandwidth of the last interval; zero for none.
    bandwidth: f64,
    /// It is the bandwidth now.
    believed: bool,
    samples: bool,
    /// Round trips of this interval, or since it is believed.
    rounds: u32,
    /// The beginning of the interval, and the packets delivered and lost by then.
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

/// The part of a sample that the detection of policers takes.
#[derive(Clone, Copy)]
struct Saw {
    losses: bool,
    round: bool,
    app_limited: bool,
    probes_bandwidth: bool,
}

/// The packets acknowledged beyond what the bandwidth explains.
#[derive(Clone, Debug)]
struct Extra {
    aggregate: Aggregate,
    /// The most in these round trips and in those before, and how many these are.
    most: [f64; 2],
    rounds: u32,
}

impl Extra {
    #[inline(always)]
    fn on_ack(&mut self, s: &Sample<'_>, round_start: bool, bandwidth: f64, cwnd: f64) {
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
        (self.aggregate, extra) = self.after(s.ack.now, f64::from(s.acked), bandwidth, cwnd);
        self.most[0] = larger(self.most[0], extra);
    }

    #[inline(always)]
    fn after(&self, now: Time, acked: f64, bandwidth: f64, cwnd: f64) -> (Aggregate, f64) {
        let expected = floor(product(bandwidth, now - self.aggregate.since));
        self.aggregate.after(now, acked, expected, cwnd)
    }

    /// The most of all that is counted.
    fn most(&self) -> f64 {
        larger(self.most[0], self.most[1])
    }

    fn room(&self, bandwidth: f64) -> f64 {
        floor(lesser(self.most(), product(bandwidth, EXTRA_TIME)))
    }
}

/// The search for the rate at which the pipe is full.
#[derive(Clone, Debug, Default)]
struct FullPipe {
    bandwidth: f64,
    plateau: u32,
    reached: bool,
}

/// BBR, version 1.
#[derive(Clone, Debug)]
pub(crate) struct Bbr1 {
    state: State,
    samples: Samples,
    largest: Largest,
    policer: Policer,
    /// The smallest round-trip time of the connection, and that of the filter.
    min_rtt: Duration,
    recent_rtt: Duration,
    min_rtt_stamp: Time,
    round: Round,
    pacing_gain: f64,
    cwnd_gain: f64,
    cycle: usize,
    cycle_stamp: Time,
    full_pipe: FullPipe,
    hold: Hold,
    idle_restart: bool,
    prior: PriorWindow,
    /// The first round trip of a recovery sends a packet for each that is delivered.
    conserves: bool,
    extra: Extra,
    pace: Pace,
    /// The payload of a packet, in bytes.
    packet: f64,
    initial_window: f64,
}

impl Bbr1 {
    pub fn new(cfg: &Config) -> Self {
        Bbr1 {
            state: State::Startup,
            samples: Samples::new(),
            largest: Largest([(0, 0.0); 3]),
            policer: Policer::default(),
            min_rtt: Duration::MAX,
            recent_rtt: Duration::MAX,
            min_rtt_stamp: Time::ZERO,
            round: Round::default(),
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            cycle: 0,
            cycle_stamp: Time::ZERO,
            full_pipe: FullPipe::default(),
            hold: Hold::default(),
            idle_restart: false,
            prior: PriorWindow::new(),
            conserves: false,
            extra: Extra { aggregate: Aggregate::new(), most: [0.0; 2], rounds: 0 },
            // Section 4.2.1.
            pace: Pace::new(HIGH_GAIN * MARGIN, cfg.initial_window),
            packet: cfg.payload().get() as f64,
            initial_window: cfg.initial_window,
        }
    }

    /// BBR.BtlBw, or what a policer lets pass.
    fn bandwidth(&self) -> f64 {
        if self.policer.believed { self.policer.bandwidth } else { self.largest.max() }
    }

    /// The packets that hosts keep together (section 4.2.2).
    fn quantum(&self) -> f64 {
        let bytes = self.pace.rate * self.packet;
        let least = if bytes < SLOW { 1.0 } else { 2.0 };
        lesser(larger(floor(lesser(bytes * QUANTUM_TIME, MOST_TOGETHER) / self.packet), least), 127.0)
    }

    /// BBRInflight(): so many bandwidth-delay products, and room for what hosts keep together.
    #[inline(never)]
    fn inflight(&self, gain: f64) -> f64 {
        self.budget(self.largest.max(), gain, 0.0)
    }

    /// BBRInflight() at this bandwidth, with room for as many more.
    #[inline(always)]
    fn budget(&self, bandwidth: f64, gain: f64, more: f64) -> f64 {
        if self.recent_rtt == Duration::MAX {
            return self.initial_window;
        }
        let packets = ceil(gain * product(bandwidth, self.recent_rtt)) + more + 3.0 * self.quantum();
        let probes = self.state == State::ProbeBw && self.cycle == 0;
        2.0 * ceil(packets / 2.0) + if probes { 2.0 } else { 0.0 }
    }

    fn save_cwnd(&mut self, window: &Window) {
        self.prior.save(window, self.state == State::ProbeRtt);
    }

    /// The timer ran out, before the window is reduced.
    fn on_timeout(&mut self, window: &Window) {
        self.samples.unsettle();
        self.save_cwnd(window);
        self.prior.repairing = Repairing::Timeout;
        self.full_pipe.bandwidth = 0.0;
    }

    #[inline(always)]
    fn police(&mut self, now: Time, losses: bool, app_limited: bool, totals: (u64, u64)) {
        // Where nothing is lost, nothing begins.
        if losses || self.policer.samples || self.policer.believed {
            self.police_sample(now, losses, app_limited, totals);
        }
    }

    #[inline(never)]
    fn police_sample(&mut self, now: Time, losses: bool, app_limited: bool, totals: (u64, u64)) {
        let probes_bandwidth = self.state == State::ProbeBw;
        let saw = Saw { losses, round: self.round.starts, app_limited, probes_bandwidth };
        if self.policer.on_sample(now, saw, totals, self.packet) {
            self.enter_probe_bw(now);
        }
    }

    /// BBRUpdateOnACK().
    #[inline(always)]
    fn update(&mut self, window: &mut Window, s: &Sample<'_>) {
        self.round.starts = false;
        if let (Some(rate), Some(newest)) = (s.rate, s.newest) {
            self.update_bandwidth(s, rate, newest);
            self.extra.on_ack(s, self.round.starts, self.bandwidth(), window.cwnd);
        }
        if self.state == State::ProbeBw && self.is_next_cycle_phase(s) {
            self.cycle = (self.cycle + 1) % CYCLE.len();
            self.cycle_stamp = s.ack.now;
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
        let first = (self.round.count == 1 && self.recent_rtt != Duration::MAX).then_some(self.recent_rtt);
        self.pace.follow(self.pacing_gain * self.bandwidth() * MARGIN, self.full_pipe.reached, first);
        if s.acked > 0 {
            self.follow(window, s);
        }
        if self.state == State::ProbeRtt {
            window.cwnd = lesser(window.cwnd, MIN_WINDOW);
        }
    }

    /// Finds the [`Bounds`] after an acknowledgment.
    fn settle(&mut self) {
        let steady = self.state == State::ProbeBw
            && self.full_pipe.reached
            && !self.conserves
            && !self.idle_restart
            && self.prior.repairing == Repairing::Nothing;
        if !steady {
            return;
        }
        self.samples.bounds = Bounds {
            round: self.round.end,
            until: (self.cycle_stamp + self.recent_rtt).min(self.min_rtt_stamp + MIN_RTT_WINDOW),
            // In whole microseconds what is a shorter one.
            rtt: Duration::from_nanos(self.recent_rtt.nanos().div_ceil(1000) * 1000),
            interval: self.min_rtt.max(Duration::from_nanos(1)),
            rate: self.largest.steady(self.round.count),
            extra: self.extra.most(),
            flight: if self.pacing_gain < 1.0 { self.inflight(1.0) } else { -1.0 },
            cwnd: larger(self.samples.bounds.cwnd, MIN_WINDOW),
        };
    }

    /// Moves counts alone, if the sample is within the bounds of this version too; else nothing changes.
    #[inline(always)]
    fn goes_on(&mut self, window: &mut Window, ack: &InOrder<'_>, seen: &Foreseen) -> bool {
        let acked = f64::from(ack.newly);
        let (flight, most) = (self.samples.bounds.flight, self.samples.bounds.extra);
        if flight >= 0.0
            && self.flight_ahead(ack.pacer.map_or(Duration::ZERO, |p| p.ahead(ack.now)), ack.prior_flight)
                <= flight
        {
            return false;
        }
        let (aggregate, extra) = self.extra.after(ack.now, acked, self.bandwidth(), window.cwnd);
        if extra > most {
            return false;
        }
        self.extra.aggregate = aggregate;
        self.extra.most[0] = larger(self.extra.most[0], extra);
        self.largest.update_steadily(self.round.count, seen.rate);
        self.round.starts = false;
        window.cwnd = lesser(window.cwnd + acked, self.samples.bounds.cwnd);
        true
    }

    #[inline(always)]
    fn update_bandwidth(&mut self, s: &Sample<'_>, rate: f64, newest: Snapshot) {
        self.round.on_ack(Some(&newest), s.total);
        self.conserves &= !self.round.starts;
        self.police(s.ack.now, s.lost > 0, newest.app_limited, (s.total, s.total_lost));
        if rate >= self.largest.max() || !newest.app_limited {
            self.largest.update(self.round.count, rate);
        }
    }

    #[inline(always)]
    fn is_next_cycle_phase(&self, s: &Sample<'_>) -> bool {
        let full_length = s.ack.now - self.cycle_stamp > self.recent_rtt;
        if self.pacing_gain == 1.0 {
            return full_length;
        }
        let flight = self.flight_ahead(s.ack.ahead(), s.ack.prior_flight);
        if self.pacing_gain > 1.0 {
            full_length && (s.lost > 0 || flight >= self.inflight(self.pacing_gain))
        } else {
            full_length || flight <= self.inflight(1.0)
        }
    }

    /// The packets that are left of so many in flight when the next ones leave after this time; with these where the
    /// flight is to rise.
    fn flight_ahead(&self, ahead: Duration, flight: u32) -> f64 {
        let next = if self.pacing_gain > 1.0 { self.quantum() } else { 0.0 };
        let delivered = floor(product(self.bandwidth(), ahead));
        (f64::from(flight) + next - delivered).max(0.0)
    }

    #[inline(always)]
    fn check_full_pipe(&mut self, s: &Sample<'_>) {
        let pipe = &mut self.full_pipe;
        if pipe.reached || !self.round.starts || s.newest.is_some_and(|p| p.app_limited) {
            return;
        }
        if self.largest.max() >= pipe.bandwidth * GROWTH {
            (pipe.bandwidth, pipe.plateau) = (self.largest.max(), 0);
        } else {
            pipe.plateau += 1;
            pipe.reached = pipe.plateau >= PLATEAU_ROUNDS;
        }
    }

    #[inline(always)]
    fn check_drain(&mut self, s: &Sample<'_>) {
        if self.state == State::Startup && self.full_pipe.reached {
            self.state = State::Drain;
        }
        if self.state == State::Drain && self.flight_ahead(s.ack.ahead(), s.ack.flight) <= self.inflight(1.0)
        {
            self.enter_probe_bw(s.ack.now);
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
    fn update_min_rtt(&mut self, window: &mut Window, s: &Sample<'_>) {
        let now = s.ack.now;
        let expired = now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        let whole = |rtt: Duration| Duration::from_nanos(rtt.nanos() / 1000 * 1000);
        // Most are longer in any unit.
        let short = |rtt: &Duration| *rtt < self.recent_rtt + Duration::from_micros(1) || expired;
        if let Some(rtt) = s.ack.rtt.filter(short).map(whole) {
            self.min_rtt = self.min_rtt.min(rtt);
            if rtt < self.recent_rtt || expired {
                (self.recent_rtt, self.min_rtt_stamp) = (rtt, now);
            }
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.save_cwnd(window);
            self.state = State::ProbeRtt;
            self.hold.until = None;
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
    fn handle_probe_rtt(&mut self, window: &mut Window, s: &Sample<'_>) {
        let rounded = self.hold.on_ack(s, &mut self.round, MIN_WINDOW, PROBE_RTT_TIME);
        if rounded && self.hold.is_over(s.ack.now) {
            self.min_rtt_stamp = s.ack.now;
            self.prior.restore(window);
            if self.full_pipe.reached {
                self.enter_probe_bw(s.ack.now);
            } else {
                self.state = State::Startup;
            }
        }
    }

    /// Section 4.2.3: what an acknowledgment that delivers something makes of the window.
    #[inline(always)]
    fn follow(&mut self, window: &mut Window, s: &Sample<'_>) {
        let repairing = s.ack.repairing;
        let before = core::mem::replace(&mut self.prior.repairing, repairing);
        let together = f64::from(s.ack.flight) + f64::from(s.acked);
        window.cwnd = larger(window.cwnd - f64::from(s.lost), 1.0);
        if repairing == Repairing::Losses && before != Repairing::Losses {
            self.conserves = true;
            self.round.end = s.total;
            window.cwnd = together;
        } else if repairing == Repairing::Nothing && before != Repairing::Nothing {
            self.conserves = false;
            window.cwnd = larger(window.cwnd, self.prior.cwnd);
        }
        if self.conserves {
            window.cwnd = larger(window.cwnd, together);
            return;
        }
        let bandwidth = self.bandwidth();
        let full = self.full_pipe.reached;
        let extra = if full { self.extra.room(bandwidth) } else { 0.0 };
        let target = self.budget(bandwidth, self.cwnd_gain, extra);
        self.samples.bounds.cwnd = target;
        window.grow_to(target, full, s, self.initial_window);
    }
}

impl Congestion for Bbr1 {
    model_events!();

    fn state(&self) -> Option<&'static str> {
        Some(match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::ProbeBw => "probe bandwidth",
            State::ProbeRtt => "probe round trip",
        })
    }

    fn bandwidth(&self) -> Option<f64> {
        Some(Bbr1::bandwidth(self))
    }

    fn reduce(&mut self, window: &mut Window, cause: Cause) {
        match cause {
            Cause::Timeout => self.on_timeout(window),
            // Maybe with the acknowledgment that ends another recovery.
            Cause::Loss => self.save_cwnd(window),
            Cause::Echo => {}
        }
    }

    fn on_first_rtt(&mut self, now: Time, rtt: Duration) {
        self.samples.unsettle();
        (self.min_rtt, self.recent_rtt, self.min_rtt_stamp) = (rtt, rtt, now);
        self.pace.rate = self.pace.initial(rtt);
    }

    #[inline(always)]
    fn on_sent(&mut self, _: &mut Window, now: Time, seq: u32, flight: u32) {
        if flight == 0 && self.samples.rate.is_limited() {
            self.samples.unsettle();
            self.idle_restart = true;
            if self.state == State::ProbeBw {
                self.pace.rate = self.bandwidth() * MARGIN;
            }
        }
        self.samples.rate.sent(seq, now, flight);
    }

    #[inline(always)]
    fn on_ack(&mut self, window: &mut Window, ack: &AckFacts<'_>) {
        let sample = self.samples.take(ack, self.min_rtt, self.state == State::ProbeRtt);
        self.update(window, &sample);
    }

    #[inline(never)]
    fn on_ack_in_order(&mut self, window: &mut Window, ack: &AckFacts<'_>, newly: u32) {
        let sample = self.samples.take_in_order(ack, newly, self.min_rtt, self.state == State::ProbeRtt);
        self.update(window, &sample);
        self.settle();
    }

    fn on_lost(&mut self, _: &Window, _: Time, _: u32) {
        self.samples.rate.lose();
        self.samples.unsettle();
    }

    fn after_timeout(&mut self, now: Time, flight: u32) -> Option<f64> {
        self.samples.unsettle();
        self.round.starts = true;
        self.police(now, true, false, (self.samples.rate.delivered, self.samples.rate.lost));
        Some(f64::from(flight) + 1.0)
    }

    /// Losses that a timer finds do not belong to a sample (as in Linux).
    fn on_timer(&mut self) {
        self.samples.rate.forget_lost();
    }

    /// Section 4.2.3.4.
    fn on_spurious(&mut self, window: &mut Window, _: &Window) {
        self.samples.unsettle();
        self.prior.restore(window);
        self.conserves = false;
        (self.full_pipe.bandwidth, self.full_pipe.plateau) = (0.0, 0);
        self.policer = Policer::default();
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
    use crate::congestion::Control;
    use crate::sender::path::{PATHS, Path, Seen};
    use alloc::vec::Vec;

    /// A flow whose path changes with what `see` sees.
    fn path_changes(path: Path, seconds: u64, mut see: impl FnMut(&Bbr1, &mut Path, &Seen<'_>)) -> u32 {
        let end = Time::ZERO + Duration::from_secs(seconds);
        path.run(CongestionControl::Bbr1, end, |path, seen| {
            if let Control::Bbr1(bbr) = seen.control {
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
                    left.get_or_insert((bbr.largest.max(), seen.now, bbr.full_pipe.plateau));
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
