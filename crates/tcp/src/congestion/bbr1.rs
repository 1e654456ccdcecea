//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): the window and the rate follow a model of the
//! path, its largest delivery rate and its smallest round-trip time, and not losses.
//!
//! With the room that Linux later gave to aggregated acknowledgments, and without its detection of policers.

use quell_units::{Duration, Time};

use super::Window;
use crate::catalog::Entry;
use crate::float::{ceil, count, floor, larger, lesser, seconds};
use crate::rate::{MaxFilter, Repair, Sample, chance};

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
        "Packets leave one by one; the send quantum counts for the window alone.",
        "Marks are not answered, so ecn = true is refused.",
        "Four things are Linux's: the rate is a hundredth below the bandwidth, a timeout begins the search for a plateau anew, only a smaller round-trip time, in whole microseconds, renews the smallest, where by the draft an equal one does (in a path whose queue empties in each cycle there always is one, and the round-trip time would never be looked for), and the window has room for aggregated acknowledgments: what the last five to ten round trips have acknowledged beyond the bandwidth, at most 100 ms of it. It is rounded up to an even number, and two larger in the phase that probes; what leaves next counts as in flight where that phase ends.",
        "Linux also detects policers, by losses of a fifth over several round trips; that is not here.",
    ],
};

/// 2 / ln 2: doubles what is delivered each round trip.
const HIGH_GAIN: f64 = 2.0 / core::f64::consts::LN_2;
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
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
        let mut expected = bandwidth * seconds(s.now - self.since);
        if self.acked <= expected {
            (self.since, self.acked, expected) = (s.now, 0.0, 0.0);
        }
        self.acked += f64::from(s.acked);
        self.most[0] = larger(self.most[0], lesser(self.acked - expected, cwnd));
    }

    fn room(&self, bandwidth: f64) -> f64 {
        lesser(larger(self.most[0], self.most[1]), bandwidth * seconds(EXTRA_TIME))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Bbr1 {
    state: State,
    bandwidth: MaxFilter,
    min_rtt: Duration,
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
}

impl Bbr1 {
    /// `packet` is the size of a packet in bytes.
    pub fn new(initial_window: f64, packet: f64) -> Self {
        Bbr1 {
            state: State::Startup,
            bandwidth: MaxFilter::new(),
            min_rtt: Duration::MAX,
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
            pacing_rate: HIGH_GAIN * initial_window / 0.001,
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
        self.pacing_rate = HIGH_GAIN * self.initial_window / rtt.as_secs_f64().max(1e-6);
    }

    /// BBR.send_quantum in packets (section 4.2.2).
    fn quantum(&self) -> f64 {
        let bytes = self.pacing_rate * self.packet;
        if bytes < 1.2e6 / 8.0 {
            1.0
        } else if bytes < 24e6 / 8.0 {
            2.0
        } else {
            lesser(bytes * 0.001, 65536.0) / self.packet
        }
    }

    /// BBRInflight(): so many bandwidth-delay products, and room for what hosts keep together.
    #[inline(never)]
    fn inflight(&self, gain: f64) -> f64 {
        self.budget(gain, 0.0)
    }

    /// The same, with room for as many more.
    #[inline(always)]
    fn budget(&self, gain: f64, more: f64) -> f64 {
        if self.min_rtt == Duration::MAX {
            return self.initial_window;
        }
        let product = self.bandwidth.max() * seconds(self.min_rtt);
        let packets = gain * product + more + 3.0 * self.quantum();
        let probes = self.state == State::ProbeBw && self.cycle == 0;
        2.0 * ceil(packets / 2.0) + if probes { 2.0 } else { 0.0 }
    }

    fn save_cwnd(&mut self, cwnd: f64) {
        let kept = self.phase == Repair::Nothing && self.state != State::ProbeRtt;
        self.prior_cwnd = if kept { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// The timer ran out, before the window becomes one.
    pub fn on_timeout(&mut self, window: &Window) {
        self.save_cwnd(window.cwnd);
        self.phase = Repair::Timeout;
        self.full_bandwidth = 0.0;
    }

    /// Nothing was lost in the last recovery (section 4.2.3.4): the window is restored.
    pub fn on_spurious(&mut self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.conserves = false;
    }

    /// The sender begins to send again after it had nothing to send and nothing in flight.
    pub fn on_restart(&mut self, _: &mut Window, _: Time, _: u64) {
        self.idle_restart = true;
        if self.state == State::ProbeBw {
            self.pacing_rate = self.bandwidth.max() * MARGIN;
        }
    }

    /// BBRUpdateOnACK().
    #[inline(always)]
    pub fn on_ack(&mut self, window: &mut Window, s: &Sample) {
        self.update_round(s);
        if let (Some(rate), Some(newest)) = (s.rate, s.newest)
            && (rate >= self.bandwidth.max() || !newest.app_limited)
        {
            self.bandwidth.update(self.round, rate, BANDWIDTH_ROUNDS);
        }
        self.extra.on_ack(s, self.round_start, self.bandwidth.max(), window.cwnd);
        if self.state == State::ProbeBw && self.is_next_cycle_phase(s) {
            self.cycle = (self.cycle + 1) % CYCLE.len();
            self.cycle_stamp = s.now;
            self.pacing_gain = CYCLE[self.cycle];
        }
        self.check_full_pipe(s);
        self.check_drain(s);
        self.update_min_rtt(window, s);
        self.set_pacing_rate();
        self.set_cwnd(window, s);
    }

    #[inline(always)]
    fn update_round(&mut self, s: &Sample) {
        self.round_start = s.newest.is_some_and(|p| p.delivered >= self.next_round_delivered);
        if self.round_start {
            self.next_round_delivered = s.total;
            self.round += 1;
        }
    }

    #[inline(always)]
    fn is_next_cycle_phase(&self, s: &Sample) -> bool {
        let full_length = s.now - self.cycle_stamp > self.min_rtt;
        if self.pacing_gain == 1.0 {
            full_length
        } else if self.pacing_gain > 1.0 {
            // With what leaves next.
            let flight = f64::from(s.prior_flight) + floor(self.quantum());
            full_length && (s.lost > 0 || flight >= self.inflight(self.pacing_gain))
        } else {
            full_length || f64::from(s.prior_flight) <= self.inflight(1.0)
        }
    }

    #[inline(always)]
    fn check_full_pipe(&mut self, s: &Sample) {
        if self.filled_pipe || !self.round_start || s.newest.is_some_and(|p| p.app_limited) {
            return;
        }
        if self.bandwidth.max() >= self.full_bandwidth * GROWTH {
            self.full_bandwidth = self.bandwidth.max();
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
            self.pacing_gain = 1.0 / HIGH_GAIN;
            self.cwnd_gain = HIGH_GAIN;
        }
        if self.state == State::Drain && f64::from(s.flight) <= self.inflight(1.0) {
            self.enter_probe_bw(s.now);
        }
    }

    #[inline(never)]
    fn enter_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw;
        self.cwnd_gain = CWND_GAIN;
        // Any phase but the one that drains.
        let drawn = (chance(now) * 7.0) as usize;
        self.cycle = if drawn == 0 { 0 } else { drawn + 1 };
        self.cycle_stamp = now;
        self.pacing_gain = CYCLE[self.cycle];
    }

    #[inline(always)]
    fn update_min_rtt(&mut self, window: &mut Window, s: &Sample) {
        let expired = s.now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        let whole = |rtt: Duration| Duration::from_nanos(rtt.nanos() / 1000 * 1000);
        // Most are longer in any unit.
        let short = |rtt: &Duration| *rtt < self.min_rtt + Duration::from_micros(1) || expired;
        if let Some(rtt) = s.rtt.filter(short).map(whole)
            && (rtt < self.min_rtt || expired)
        {
            (self.min_rtt, self.min_rtt_stamp) = (rtt, s.now);
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.save_cwnd(window.cwnd);
            self.state = State::ProbeRtt;
            (self.pacing_gain, self.cwnd_gain) = (1.0, 1.0);
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
                        (self.pacing_gain, self.cwnd_gain) = (HIGH_GAIN, HIGH_GAIN);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn set_pacing_rate(&mut self) {
        let rate = self.pacing_gain * self.bandwidth.max() * MARGIN;
        if rate > 0.0 && (self.filled_pipe || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        } else if self.round == 1 && self.min_rtt != Duration::MAX && !self.filled_pipe {
            // No handshake measured a round-trip time: the first packets do.
            self.pacing_rate =
                rate.max(HIGH_GAIN * self.initial_window / self.min_rtt.as_secs_f64().max(1e-6));
        }
    }

    /// Section 4.2.3.
    #[inline(always)]
    fn set_cwnd(&mut self, window: &mut Window, s: &Sample) {
        let extra = if self.filled_pipe { self.extra.room(self.bandwidth.max()) } else { 0.0 };
        let target = self.budget(self.cwnd_gain, extra);
        let acked = f64::from(s.acked);
        if s.lost > 0 {
            window.cwnd = larger(window.cwnd - f64::from(s.lost), 1.0);
        }
        let before = core::mem::replace(&mut self.phase, s.phase);
        if s.phase == Repair::Losses && before != Repair::Losses {
            let kept = before == Repair::Nothing && self.state != State::ProbeRtt;
            let cwnd = window.cwnd + f64::from(s.lost);
            self.prior_cwnd = if kept { cwnd } else { self.prior_cwnd.max(cwnd) };
            self.conserves = true;
            self.next_round_delivered = s.total;
            window.cwnd = f64::from(s.flight) + larger(acked, 1.0);
        } else if s.phase == Repair::Nothing && before != Repair::Nothing {
            self.conserves = false;
            window.cwnd = larger(window.cwnd, self.prior_cwnd);
        } else if self.round_start {
            self.conserves = false;
        }
        if self.conserves && s.phase == Repair::Losses {
            window.cwnd = larger(window.cwnd, f64::from(s.flight) + acked);
        } else {
            if self.filled_pipe {
                window.cwnd = lesser(window.cwnd + acked, target);
            } else if window.cwnd < target || count(s.total) < self.initial_window {
                window.cwnd += acked;
            }
            window.cwnd = larger(window.cwnd, MIN_WINDOW);
        }
        if self.state == State::ProbeRtt {
            window.cwnd = lesser(window.cwnd, MIN_WINDOW);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
                    left.get_or_insert((bbr.bandwidth.max(), seen.now, bbr.plateau));
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
                known.0 = bbr.bandwidth.max();
            } else {
                path.app = 100.0;
                known.1 = known.1.min(bbr.bandwidth.max());
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
