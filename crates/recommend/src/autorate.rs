//! cake-autorate, which moves the rate of CAKE by the delays of pings.
//!
//! The rules and their constants are those of cake-autorate 3.5 with its default keys and its default pinger, fping, which
//! knows round trips alone: half of what one takes beyond its baseline counts for each direction.
//! <https://github.com/lynxthecat/cake-autorate>, cake-autorate.sh and defaults.sh. Numbers are whole, as there: kbit/s and
//! microseconds.
//!
//! What it does on a link is computed before anything is simulated, against long flows that fill the link: [`follow`].

use std::collections::VecDeque;

use quell_units::{BitRate, Duration};

use crate::course::Course;

/// What stands for it in simulations.
pub(crate) const MODEL: &str =
    "the rates that cake-autorate's rules give where long flows fill the link, computed beforehand";

/// The number of hosts that are pinged in turn.
const REFLECTORS: usize = 6;
/// The time between pings: each host is pinged every 0.3 s.
const PING_US: i64 = 50_000;
/// The time between measurements of the achieved rates, unless packets take longer.
const ACHIEVED_US: i64 = 200_000;

/// The number of delays that decide, and of those that must be late.
const WINDOW: usize = 6;
const LATE: usize = 3;
/// A one-way delay beyond the baseline up to which the rate rises fastest, at which it begins to fall, and from which on it
/// falls fastest.
const FASTEST_UP_US: i64 = 10_000;
const LATE_US: i64 = 30_000;
const FASTEST_DOWN_US: i64 = 60_000;
/// Factors of the rate in thousandths.
const DOWN: [i64; 2] = [990, 750];
const UP: [i64; 2] = [1000, 1040];
const TO_BASE: [i64; 2] = [1010, 990];
/// The share of the shaper's rate above which the load is high, in percent.
const HIGH: i64 = 75;
/// The times for which a direction rests after a fall, and between steps to its base.
const REST_US: i64 = 300_000;
const DECAY_US: i64 = 1_000_000;
/// The baseline before the first ping, and its weights upward and downward, in millionths.
const BASELINE_US: i64 = 100_000;
const BASELINE_UP: i64 = 1000;
const BASELINE_DOWN: i64 = 900_000;

/// What the user tells it of a direction, in kbit/s; a direction without `moves` keeps its base.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) least: i64,
    pub(crate) base: i64,
    pub(crate) most: i64,
    pub(crate) moves: bool,
    /// The largest packet with its overhead, in bits.
    pub(crate) packet: i64,
}

/// One direction.
#[derive(Clone, Debug)]
struct Way {
    limits: Limits,
    rate: i64,
    late: [bool; WINDOW],
    is_high: bool,
    is_new: bool,
    fell_at: i64,
    moved_at: i64,
}

/// The controller of both directions, down first.
#[derive(Clone, Debug)]
struct Autorate {
    ways: [Way; 2],
    baselines: [i64; REFLECTORS],
    delays: [i64; WINDOW],
    at: usize,
}

impl Autorate {
    fn new(limits: [Limits; 2]) -> Self {
        let way = |limits: Limits| Way {
            limits,
            rate: limits.base,
            late: [false; WINDOW],
            is_high: false,
            is_new: false,
            fell_at: 0,
            moved_at: 0,
        };
        Autorate { ways: limits.map(way), baselines: [BASELINE_US; REFLECTORS], delays: [0; WINDOW], at: 0 }
    }

    /// The shapers' rates.
    fn rates(&self) -> [i64; 2] {
        [self.ways[0].rate, self.ways[1].rate]
    }

    /// The time until the achieved rates are measured again: at least ten of the largest packets both ways.
    fn achieved_after(&self) -> i64 {
        let packets: i64 = self.ways.iter().map(|way| 1000 * way.limits.packet / way.rate).sum();
        ACHIEVED_US.max(10 * packets)
    }

    /// The rates that were achieved since the last call.
    fn achieved(&mut self, rates: [i64; 2]) {
        for (way, achieved) in self.ways.iter_mut().zip(rates) {
            way.is_high = 100 * achieved / way.rate > HIGH;
            way.is_new = true;
        }
    }

    /// The answer of a reflector, and the round trip that it took.
    fn answered(&mut self, now: i64, reflector: usize, round_trip: i64) {
        let delay = round_trip / 2;
        let baseline = &mut self.baselines[reflector % REFLECTORS];
        let weight = if delay >= *baseline { BASELINE_UP } else { BASELINE_DOWN };
        *baseline = (weight * delay + (1_000_000 - weight) * *baseline) / 1_000_000;
        let beyond = delay - *baseline;
        let at = self.at;
        self.at = (at + 1) % WINDOW;
        self.delays[at] = beyond;
        let (sum, n) = self.delays.iter().fold((0, 0), |(sum, n), delay| (sum + delay, n + 1));
        let mean = sum / n;
        for way in &mut self.ways {
            way.sample(now, at, beyond, mean);
        }
    }
}

impl Way {
    fn sample(&mut self, now: i64, at: usize, beyond: i64, mean: i64) {
        let own = 1000 * self.limits.packet / self.rate;
        let (up, late, down) = (FASTEST_UP_US + own, LATE_US + own, FASTEST_DOWN_US + own);
        self.late[at] = beyond > late;
        let rests = now <= self.fell_at + REST_US;
        let between = |[from, to]: [i64; 2], part: i64| 1000 * from + part.clamp(0, 1000) * (to - from);
        let is_late = self.late.iter().filter(|late| **late).count() >= LATE;
        match (is_late, self.is_high) {
            (true, _) if !rests => {
                let factor = between(DOWN, 1000 * (mean - late) / (down - late));
                self.rate = self.rate * factor / 1_000_000;
                (self.fell_at, self.moved_at) = (now, now);
            }
            (false, true) if self.is_new && !rests => {
                let factor = between(UP, 1000 * (late - mean) / (late - up));
                self.rate = self.rate * factor / 1_000_000;
                (self.is_new, self.moved_at) = (false, now);
            }
            (false, false) if now > self.moved_at + DECAY_US => {
                let (base, [rise, fall]) = (self.limits.base, TO_BASE);
                self.rate = match self.rate < base {
                    true => (self.rate * rise / 1000).min(base),
                    false => (self.rate * fall / 1000).max(base),
                };
                self.moved_at = now;
            }
            _ => {}
        }
        self.rate = match self.limits.moves {
            true => self.rate.clamp(self.limits.least, self.limits.most.max(self.limits.least)),
            false => self.limits.base,
        };
    }
}

/// A direction of a link, for [`follow`].
#[derive(Clone, Debug)]
pub(crate) struct Pipe {
    pub(crate) limits: Limits,
    /// The link's rate.
    pub(crate) course: Course,
    /// The bits that the modem's buffer holds.
    pub(crate) buffer: f64,
    /// The number of long flows.
    pub(crate) flows: u32,
}

/// One direction of the model: the bits that its flows have in flight, and those of them in the modem's buffer.
struct Fluid<'a> {
    pipe: &'a Pipe,
    in_flight: f64,
    waiting: f64,
    sent: f64,
}

/// The step of the model. Pings are sent every tenth one.
const STEP_US: i64 = PING_US / 10;
/// The time that CAKE and the senders take to come down to the shaper's rate, besides a round trip: CoDel's interval (RFC 8289
/// section 4.2).
const SETTLES: f64 = 0.1;
/// The rate of a link that sends nothing, in bit/s, by which times can be divided.
const OUTAGE: f64 = 1000.0;
/// A change of the shaper's rate that the course leaves out.
const SMALL: f64 = 0.05;

impl Fluid<'_> {
    /// The time that a packet waits in the modem.
    fn wait(&self, link: f64) -> f64 {
        self.waiting / link
    }

    /// A step under a shaper's rate. Where the shaper is slower than the link, CAKE holds the flows to its rate. Otherwise the
    /// modem's queue gets what they have in flight beyond the link, and each adds a packet in a round trip (RFC 5681 section
    /// 3.1).
    fn step(&mut self, seconds: f64, link: f64, shaper: f64, round_trip: f64) {
        let passes = (self.in_flight / (round_trip + self.wait(link))).min(shaper);
        self.sent += seconds * if self.waiting > 0.0 { link.min(shaper) } else { passes.min(link) };
        let (waits, holds) = (self.pipe.buffer, shaper.min(link) * round_trip);
        self.waiting = (self.waiting + (passes - link) * seconds).clamp(0.0, waits);
        let grows = f64::from(self.pipe.flows) * self.pipe.limits.packet as f64 * seconds
            / (round_trip + self.wait(link));
        if shaper < link && self.in_flight > holds {
            self.in_flight += (holds - self.in_flight) * (seconds / (SETTLES + round_trip)).min(1.0);
        } else {
            let most = if shaper < link { holds } else { holds + waits };
            self.in_flight = (self.in_flight + grows).min(most);
        }
    }
}

/// The shapers' rates over time under cake-autorate, down first, until `end`: against long flows in both directions that fill
/// the link, as a fluid. Pings wait in the modem's queues and not in CAKE's, which sends a flow of few packets first.
pub(crate) fn follow(pipes: [&Pipe; 2], round_trip: Duration, end: Duration) -> [Course; 2] {
    let mut controller = Autorate::new(pipes.map(|pipe| pipe.limits));
    let base = round_trip.as_secs_f64();
    let of = |kbps: i64| kbps as f64 * 1000.0;
    let rate = |kbps: i64| BitRate::from_bps(1000 * u64::try_from(kbps).unwrap_or_default());
    let mut fluids = pipes.map(|pipe| {
        let start = pipe.course.at(Duration::default()).bps() as f64;
        let in_flight = start.min(of(pipe.limits.base)) * base;
        Fluid { pipe, in_flight, waiting: 0.0, sent: 0.0 }
    });
    let mut steps = controller.rates().map(|kbps| vec![(Duration::default(), rate(kbps))]);
    let mut answers: VecDeque<(i64, usize, i64)> = VecDeque::new();
    let mut measured_at = 0;
    let end_us = libm::ceil(end.as_secs_f64() * 1e6) as i64;
    let times = std::iter::successors(Some(0), |now| Some(now + STEP_US)).take_while(|now| *now < end_us);
    for (n, now) in times.enumerate() {
        let time = Duration::from_micros(u64::try_from(now).unwrap_or_default());
        let links = pipes.map(|pipe| (pipe.course.at(time).bps() as f64).max(OUTAGE));
        if n % 10 == 0 {
            let waits = fluids[0].wait(links[0]) + fluids[1].wait(links[1]);
            let round_trip = ((base + waits) * 1e6) as i64;
            // None overtakes another.
            let at = answers.back().map_or(0, |(at, ..)| *at).max(now + round_trip);
            answers.push_back((at, n / 10 % REFLECTORS, round_trip));
        }
        if now >= measured_at + controller.achieved_after() {
            let seconds = (now - measured_at) as f64 / 1e6;
            controller.achieved(std::array::from_fn(|way| {
                (std::mem::take(&mut fluids[way].sent) / seconds / 1000.0) as i64
            }));
            measured_at = now;
        }
        while answers.front().is_some_and(|(at, ..)| *at <= now)
            && let Some((_, reflector, round_trip)) = answers.pop_front()
        {
            controller.answered(now, reflector, round_trip);
        }
        for (steps, kbps) in steps.iter_mut().zip(controller.rates()) {
            let noted = steps.last().map_or(0.0, |(_, rate)| rate.bps() as f64);
            if (of(kbps) - noted).abs() > SMALL * noted {
                steps.push((time, rate(kbps)));
            }
        }
        for (at, fluid) in fluids.iter_mut().enumerate() {
            fluid.step(STEP_US as f64 / 1e6, links[at], of(controller.rates()[at]), base);
        }
    }
    steps.map(|steps| Course { steps, period: end })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its decisions against those of cake-autorate's own lines, for a series of round trips with a quiet time, a load, a queue
    /// that grows to 300 ms, others of 70 and 44 ms, and quiet again: after every twentieth ping, kbit/s down and up. Made by
    /// the lines of cake-autorate.sh that decide, at commit 94238bef, fed with the same numbers.
    #[test]
    fn decides_as_cake_autorate_does() {
        let limits = |least, base, most| Limits { least, base, most, moves: true, packet: 12_336 };
        let mut controller = Autorate::new([limits(4500, 18_000, 54_000), limits(1800, 6300, 18_000)]);
        let mut found = Vec::new();
        for k in 0_i32..600 {
            let t = 50_000 * (i64::from(k) + 1);
            let s = t as f64 / 1e6;
            let beyond = match s {
                s if s < 3.0 => 0.0,
                s if s < 8.0 => 3.0 + 2.0 * f64::from(k).sin(),
                s if s < 12.0 => ((s - 8.0) * 150.0).min(300.0),
                s if s < 15.0 => (300.0 - (s - 12.0) * 400.0).max(0.0),
                s if s < 20.0 => 70.0 + 15.0 * (0.7 * f64::from(k)).sin(),
                s if s < 24.0 => 44.0,
                _ => 1.0,
            };
            let round_trip = (40_000.0 + 1000.0 * beyond + f64::from(k % 6) * 700.0) as i64;
            if k % 4 == 0 {
                let load = match s {
                    s if !(3.0..=26.0).contains(&s) => 0.1,
                    s if s < 20.0 => 0.95,
                    _ => 0.6,
                };
                controller.achieved([(20_000.0 * load) as i64, (7000.0 * load) as i64]);
            }
            controller.answered(t + 1_000_000, k as usize % 6, round_trip);
            if k % 20 == 19 {
                found.push(controller.rates());
            }
        }
        let theirs = [
            [18000, 6300],
            [18000, 6300],
            [18000, 6300],
            [21897, 7663],
            [25614, 8962],
            [25357, 8872],
            [25103, 8783],
            [25845, 9042],
            [19488, 6931],
            [8221, 2923],
            [4500, 1800],
            [4500, 1800],
            [4765, 1920],
            [5795, 2333],
            [7048, 2836],
            [6853, 2844],
            [6026, 2755],
            [5656, 2681],
            [5062, 2626],
            [4906, 2528],
            [5350, 2806],
            [5956, 3183],
            [6620, 3597],
            [7349, 4050],
            [8898, 4915],
            [10823, 5527],
            [10931, 5582],
            [11040, 5637],
            [11150, 5693],
            [11150, 5749],
        ];
        assert_eq!(found, theirs);
    }

    fn pipe(course: Course, base: i64) -> Pipe {
        let limits = Limits { least: base / 4, base, most: 4 * base, moves: true, packet: 12_336 };
        Pipe { limits, course, buffer: 2e6, flows: 3 }
    }

    /// Of a link of 20 Mbit/s it uses most, and it rises no more when the load is 75% of its rate: one step of 4% beyond that is
    /// 1.39. Of one that falls to 5 Mbit/s, it comes below within ln(4)/ln(1/0.75) = 4.8
    /// falls of 0.3 s, a window of pings and the time until the queue is late.
    #[test]
    fn follows_a_link_up_and_down() {
        let (s, mbit) = (Duration::from_secs, |n: u64| BitRate::from_bps(n * 1_000_000));
        let fixed = |rate| Course { steps: vec![(s(0), rate)], period: s(60) };
        let quiet = pipe(fixed(mbit(100)), 20_000);
        let [down, _] = follow([&pipe(fixed(mbit(20)), 10_000), &quiet], Duration::from_millis(40), s(60));
        for at in 10..60 {
            let share = down.at(s(at)).bps() as f64 / 20e6;
            assert!((0.6..1.39).contains(&share), "{at} s: {share}");
        }
        let falls = Course { steps: vec![(s(0), mbit(20)), (s(30), mbit(5))], period: s(60) };
        let [down, _] = follow([&pipe(falls, 10_000), &quiet], Duration::from_millis(40), s(60));
        let late = down.steps.iter().find(|(at, rate)| *at > s(30) && *rate <= mbit(5)).map(|(at, _)| *at);
        assert!(late.is_some_and(|at| (s(31)..s(33)).contains(&at)), "{late:?}");
    }
}
