//! The pseudo-code of RFCs, transcribed line by line with their names, beside the algorithms here: random
//! sequences of events, decision for decision.
//!
//! What an RFC leaves open, or what cannot be meant, is decided in the modules of the algorithms; the
//! transcriptions say where they decide alike, with the word "pinned".

use std::collections::VecDeque;

use quell_aqm::catalog::{AnyAqm, AqmConfig};
use quell_aqm::{Aqm, Ctx, Ecn, Link, PacketMeta, QueueView, Rng, Seed, Verdict};
use quell_units::{BitRate, Bytes, Duration, Packets, QueueSize, Time};

fn link() -> Link {
    Link {
        rate: BitRate::from_bps(10_000_000),
        buffer: QueueSize::Packets(100.0),
        mean_packet: Bytes::new(1000),
    }
}

fn build(text: &str) -> AnyAqm {
    toml::from_str::<AqmConfig>(text).unwrap().build(&link()).unwrap().aqm().unwrap()
}

fn at(ns: u64) -> Time {
    Time::from_nanos(ns)
}

fn view(packets: u32, bytes: u64, head_since: Option<Time>) -> QueueView {
    QueueView { packets: Packets::new(packets), bytes: Bytes::new(bytes), head_since, link_rate: None }
}

/// A number, unless it could not matter: nothing draws for an event of probability 0.
fn below(rng: &mut Rng, p: f64) -> bool {
    p > 0.0 && rng.uniform() < p
}

/// RFC 8289 section 5, with the queue as a list of times of arrival and sizes.
mod rfc8289 {
    use super::*;

    const TARGET: i64 = 5_000_000;
    const INTERVAL: i64 = 100_000_000;
    const MAXPACKET: u64 = 1000;

    #[derive(Default)]
    pub struct Codel {
        pub queue: VecDeque<(i64, u64)>,
        first_above_time: i64,
        drop_next: i64,
        count: u32,
        lastcount: u32,
        dropping: bool,
        pub dropped: usize,
    }

    fn control_law(t: i64, count: u32) -> i64 {
        t + (INTERVAL as f64 / f64::from(count).sqrt()).round() as i64
    }

    impl Codel {
        fn bytes(&self) -> u64 {
            self.queue.iter().map(|(_, size)| size).sum()
        }

        fn dodequeue(&mut self, now: i64) -> (Option<(i64, u64)>, bool) {
            let p = self.queue.pop_front();
            let mut ok_to_drop = false;
            match p {
                None => self.first_above_time = 0,
                Some((tstamp, _)) => {
                    let sojourn_time = now - tstamp;
                    if sojourn_time < TARGET || self.bytes() <= MAXPACKET {
                        self.first_above_time = 0;
                    } else if self.first_above_time == 0 {
                        self.first_above_time = now + INTERVAL;
                    } else if now >= self.first_above_time {
                        ok_to_drop = true;
                    }
                }
            }
            (p, ok_to_drop)
        }

        pub fn dequeue(&mut self, now: i64) -> Option<(i64, u64)> {
            let (mut p, mut ok_to_drop) = self.dodequeue(now);
            if self.dropping {
                if !ok_to_drop {
                    self.dropping = false;
                }
                while now >= self.drop_next && self.dropping {
                    self.dropped += 1;
                    self.count += 1;
                    (p, ok_to_drop) = self.dodequeue(now);
                    if !ok_to_drop {
                        self.dropping = false;
                    } else {
                        self.drop_next = control_law(self.drop_next, self.count);
                    }
                }
            } else if ok_to_drop {
                self.dropped += 1;
                (p, _) = self.dodequeue(now);
                self.dropping = true;
                let delta = self.count - self.lastcount;
                self.count = 1;
                if delta > 1 && now - self.drop_next < 16 * INTERVAL {
                    self.count = delta;
                }
                self.drop_next = control_law(now, self.count);
                self.lastcount = self.count;
            }
            p
        }
    }
}

#[test]
fn codel_decides_as_the_pseudo_code_of_rfc_8289() {
    let mut drops = 0;
    for seed in 0..200 {
        let mut rng = Seed(seed).stream("transcription");
        let mut rfc = rfc8289::Codel::default();
        let mut codel = build("algorithm = \"codel\"\nmtu = \"1 kB\"");
        let mut unused = Seed(1).stream("unused");
        let mut queue: VecDeque<(i64, u64)> = VecDeque::new();
        let (mut now, mut dropped, mut idle) = (1_000_000_000i64, 0, false);
        // How many arrivals a departure meets, which changes now and then.
        let mut load = 1.0;
        for _ in 0..4000 {
            now += (rng.uniform() * 2e6) as i64;
            if rng.chance(0.01) {
                load = rng.uniform() * 1.6;
            }
            if rng.chance(load / 1.6) && queue.len() < 100 {
                let size = if rng.chance(0.2) { 40 } else { 1000 };
                queue.push_back((now, size));
                rfc.queue.push_back((now, size));
                idle = false;
            }
            if !rng.chance(1.0 / 1.6) {
                continue;
            }
            let want = rfc.dequeue(now);
            let mut got = None;
            while let Some((tstamp, size)) = queue.pop_front() {
                let bytes = queue.iter().map(|(_, size)| size).sum();
                let pkt = PacketMeta {
                    bytes: Bytes::new(size),
                    enqueued_at: at(tstamp as u64),
                    ..Default::default()
                };
                let view = view(queue.len() as u32, bytes, None);
                if codel.on_dequeue(&mut Ctx::new(at(now as u64), view, &mut unused), &pkt) == Verdict::Pass {
                    got = Some((tstamp, size));
                    break;
                }
                dropped += 1;
            }
            assert_eq!((got, dropped), (want, rfc.dropped), "seed {seed} at {now}");
            // pinned: the transmitter is never busy, so an empty queue is idle.
            if got.is_none() && !idle {
                idle = true;
                codel.on_idle(at(now as u64));
            }
        }
        drops += dropped;
    }
    assert!(drops > 5000, "{drops}");
}

/// RFC 8033 Appendices A and B. Delays in seconds.
mod rfc8033 {
    use super::*;

    const QDELAY_REF: f64 = 0.015;
    const T_UPDATE: f64 = 0.015;
    const ALPHA: f64 = 0.125;
    const BETA: f64 = 1.25;
    const MAX_BURST: f64 = 0.15;
    const MEAN_PKTSIZE: u64 = 1000;
    const MARK_ECNTH: f64 = 0.1;
    const DQ_THRESHOLD: u64 = 1 << 14;
    pub const TAIL_DROP: u64 = 100_000;

    #[derive(Debug, PartialEq)]
    pub enum Fate {
        Enqueued,
        Marked,
        Dropped,
    }

    fn scaled(drop_prob: f64, p: f64) -> f64 {
        if drop_prob < 0.000001 {
            p / 2048.0
        } else if drop_prob < 0.00001 {
            p / 512.0
        } else if drop_prob < 0.0001 {
            p / 128.0
        } else if drop_prob < 0.001 {
            p / 32.0
        } else if drop_prob < 0.01 {
            p / 8.0
        } else if drop_prob < 0.1 {
            p / 2.0
        } else {
            p
        }
    }

    fn law(current: f64, old: f64) -> f64 {
        ALPHA * (current - QDELAY_REF) + BETA * (current - old)
    }

    /// Multiples of T_UPDATE are kept as such, without their rounding.
    fn less(burst_allowance: f64) -> f64 {
        let left = burst_allowance - T_UPDATE;
        if left < 1e-9 { 0.0 } else { left }
    }

    #[derive(Default)]
    pub struct Basic {
        pub drop_prob: f64,
        burst_allowance: f64,
        qdelay_old: f64,
        pub current_qdelay: f64,
    }

    impl Basic {
        pub fn new() -> Self {
            Basic { burst_allowance: MAX_BURST, ..Default::default() }
        }

        pub fn enqueue(&mut self, bytes: u64, rng: &mut Rng) -> Fate {
            if self.drop_prob == 0.0
                && self.current_qdelay < QDELAY_REF / 2.0
                && self.qdelay_old < QDELAY_REF / 2.0
            {
                self.burst_allowance = MAX_BURST;
            }
            if self.burst_allowance == 0.0 && self.drop_early(bytes, rng) {
                Fate::Dropped
            } else {
                Fate::Enqueued
            }
        }

        fn drop_early(&mut self, bytes: u64, rng: &mut Rng) -> bool {
            if (self.qdelay_old < QDELAY_REF / 2.0 && self.drop_prob < 0.2) || bytes <= 2 * MEAN_PKTSIZE {
                return false;
            }
            below(rng, self.drop_prob)
        }

        pub fn deque(&mut self, timestamp_delay: f64) {
            self.current_qdelay = timestamp_delay;
        }

        pub fn calculate_drop_prob(&mut self) {
            let p = scaled(self.drop_prob, law(self.current_qdelay, self.qdelay_old));
            self.drop_prob += p;
            if self.current_qdelay == 0.0 && self.qdelay_old == 0.0 {
                self.drop_prob *= 0.98;
            }
            self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
            self.qdelay_old = self.current_qdelay;
            self.burst_allowance = less(self.burst_allowance);
        }
    }

    #[derive(Default)]
    pub struct Enhanced {
        active: bool,
        pub drop_prob: f64,
        accu_prob: f64,
        burst_allowance: f64,
        qdelay_old: f64,
        in_measurement: bool,
        dq_count: u64,
        avg_dq_time: f64,
        measurement_start: f64,
    }

    impl Enhanced {
        pub fn enqueue(&mut self, now: f64, bytes: u64, ecn_capable: bool, rng: &mut Rng) -> Fate {
            // pinned: the queue turns PIE on before the arrival is in it, and not after.
            if !self.active && bytes as f64 >= TAIL_DROP as f64 / 3.0 {
                self.active = true;
                self.qdelay_old = 0.0;
                self.drop_prob = 0.0;
                self.in_measurement = true;
                self.dq_count = 0;
                self.avg_dq_time = 0.0;
                self.burst_allowance = MAX_BURST;
                self.accu_prob = 0.0;
                self.measurement_start = now;
            }
            if !self.active {
                return Fate::Enqueued;
            }
            // pinned: section 4.4, by what the delay would be measured to be now.
            let current = self.delay(bytes);
            if self.drop_prob == 0.0 && current < QDELAY_REF / 2.0 && self.qdelay_old < QDELAY_REF / 2.0 {
                self.burst_allowance = MAX_BURST;
            }
            // pinned: protected packets are not judged.
            if self.burst_allowance > 0.0 || !self.drop_early(bytes, rng) {
                return Fate::Enqueued;
            }
            self.accu_prob = 0.0;
            // pinned: a packet that is marked is stored.
            if self.drop_prob < MARK_ECNTH && ecn_capable { Fate::Marked } else { Fate::Dropped }
        }

        fn drop_early(&mut self, bytes: u64, rng: &mut Rng) -> bool {
            if (self.qdelay_old < QDELAY_REF / 2.0 && self.drop_prob < 0.2) || bytes <= 2 * MEAN_PKTSIZE {
                return false;
            }
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            self.accu_prob += self.drop_prob;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                rng.uniform();
                return true;
            }
            below(rng, self.drop_prob)
        }

        fn delay(&self, bytes: u64) -> f64 {
            bytes as f64 * self.avg_dq_time / DQ_THRESHOLD as f64
        }

        pub fn calculate_drop_prob(&mut self, bytes: u64) {
            if !self.active {
                return;
            }
            self.burst_allowance = less(self.burst_allowance);
            // pinned: nothing is updated before the rate has been measured; literally, the delay is 0, and
            // the probability stays 0.
            if self.avg_dq_time == 0.0 {
                return;
            }
            let current = self.delay(bytes);
            let mut p = scaled(self.drop_prob, law(current, self.qdelay_old));
            if self.drop_prob >= 0.1 && p > 0.02 {
                p = 0.02;
            }
            self.drop_prob += p;
            if current < QDELAY_REF / 2.0 && self.qdelay_old < QDELAY_REF / 2.0 {
                self.drop_prob *= 0.98;
            }
            self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
            // pinned: section 5.3 turns it off, at an update.
            if self.drop_prob == 0.0 && current < QDELAY_REF / 2.0 && self.qdelay_old < QDELAY_REF / 2.0 {
                self.active = false;
                self.in_measurement = false;
            }
            self.qdelay_old = current;
        }

        pub fn deque(&mut self, now: f64, size: u64, bytes: u64) {
            if self.in_measurement {
                self.dq_count += size;
                if self.dq_count >= DQ_THRESHOLD {
                    let dq_time = now - self.measurement_start;
                    if self.avg_dq_time == 0.0 {
                        self.avg_dq_time = dq_time;
                    } else {
                        let weight = DQ_THRESHOLD as f64 / 65536.0;
                        self.avg_dq_time = dq_time * weight + self.avg_dq_time * (1.0 - weight);
                    }
                    self.in_measurement = false;
                }
            }
            if bytes >= DQ_THRESHOLD && !self.in_measurement {
                self.in_measurement = true;
                self.measurement_start = now;
                self.dq_count = 0;
            }
        }
    }
}

/// The probability that an algorithm reports.
fn p(aqm: &AnyAqm) -> f64 {
    struct P(f64);
    impl quell_aqm::Probe for P {
        fn value(&mut self, name: &'static str, _: &'static str, x: f64) {
            if name == "p" {
                self.0 = x;
            }
        }
    }
    let mut p = P(f64::NAN);
    aqm.observe(&mut p);
    p.0
}

/// What happens to a queue.
enum Step {
    Arrival(Ecn),
    Departure,
    Update,
}

/// Plays a random queue: for each step its time, the queue without the packet in question and that
/// packet. Arrivals come at a rate that wanders around the one of departures.
fn play(seed: u64, mut step: impl FnMut(Step, Time, QueueView, &PacketMeta) -> bool) {
    let mut rng = Seed(seed).stream("queue");
    let mut queue: VecDeque<Time> = VecDeque::new();
    let (mut update, mut load, mut now) = (15_000_000u64, 1.2, 0u64);
    let meta =
        |enqueued_at, ecn| PacketMeta { bytes: Bytes::new(1000), enqueued_at, ecn, ..Default::default() };
    let seen =
        |queue: &VecDeque<Time>| view(queue.len() as u32, 1000 * queue.len() as u64, queue.front().copied());
    for _ in 0..20_000 {
        now += (rng.uniform() * 1e6) as u64 + 1;
        while update <= now {
            let _ = step(Step::Update, at(update), seen(&queue), &PacketMeta::default());
            update += 15_000_000;
        }
        if rng.chance(0.002) {
            load = rng.uniform() * 1.5;
        }
        if rng.chance(load / (1.0 + load)) {
            let ecn = if rng.chance(0.5) { Ecn::Ect0 } else { Ecn::NotEct };
            let stored =
                queue.len() < 100 && step(Step::Arrival(ecn), at(now), seen(&queue), &meta(at(now), ecn));
            if stored {
                queue.push_back(at(now));
            }
        } else if queue.len() > 1 {
            // pinned: the link never falls idle, for the RFC does not say what is then.
            let since = queue.pop_front().unwrap();
            let _ = step(Step::Departure, at(now), seen(&queue), &meta(since, Ecn::NotEct));
        }
    }
}

#[test]
fn pie_decides_as_the_basic_pseudo_code_of_rfc_8033() {
    let mut drops = 0;
    for seed in 0..40 {
        let mut pie = build("algorithm = \"pie\"\nscheme = \"basic\"");
        let mut rfc = rfc8033::Basic::new();
        let (mut mine, mut its) = (Seed(seed).stream("pie"), Seed(seed).stream("pie"));
        play(seed, |what, now, queue, pkt| {
            let mut cx = Ctx::new(now, queue, &mut mine);
            match what {
                Step::Update => {
                    pie.on_update(&mut cx);
                    rfc.calculate_drop_prob();
                    assert!((p(&pie) - rfc.drop_prob).abs() < 1e-12, "{} {}", p(&pie), rfc.drop_prob);
                    true
                }
                Step::Departure => {
                    assert_eq!(pie.on_dequeue(&mut cx, pkt), Verdict::Pass);
                    rfc.deque(now.since(pkt.enqueued_at).as_secs_f64());
                    true
                }
                Step::Arrival(_) => {
                    let want = rfc.enqueue(queue.bytes.get(), &mut its);
                    let got = pie.on_enqueue(&mut cx, pkt);
                    assert_eq!(got != Verdict::Pass, want == rfc8033::Fate::Dropped, "seed {seed} at {now}");
                    assert!(got == Verdict::Pass || got.drops(pkt));
                    drops += u32::from(got != Verdict::Pass);
                    got == Verdict::Pass
                }
            }
        });
    }
    assert!(drops > 1000, "{drops}");
}

#[test]
fn pie_decides_as_the_enhanced_pseudo_code_of_rfc_8033() {
    let (mut drops, mut marks) = (0, 0);
    for seed in 0..40 {
        let mut pie = build("algorithm = \"pie\"\nscheme = \"enhanced\"");
        let mut rfc = rfc8033::Enhanced::default();
        let (mut mine, mut its) = (Seed(seed).stream("pie"), Seed(seed).stream("pie"));
        play(seed, |what, now, queue, pkt| {
            let mut cx = Ctx::new(now, queue, &mut mine);
            match what {
                Step::Update => {
                    pie.on_update(&mut cx);
                    rfc.calculate_drop_prob(queue.bytes.get());
                    assert!((p(&pie) - rfc.drop_prob).abs() < 1e-12, "{} {}", p(&pie), rfc.drop_prob);
                    true
                }
                Step::Departure => {
                    assert_eq!(pie.on_dequeue(&mut cx, pkt), Verdict::Pass);
                    rfc.deque(now.as_secs_f64(), 1000, queue.bytes.get());
                    true
                }
                Step::Arrival(ecn) => {
                    let want = rfc.enqueue(now.as_secs_f64(), queue.bytes.get(), ecn.is_capable(), &mut its);
                    let got = match pie.on_enqueue(&mut cx, pkt) {
                        Verdict::Pass => rfc8033::Fate::Enqueued,
                        verdict if verdict.drops(pkt) => rfc8033::Fate::Dropped,
                        _ => rfc8033::Fate::Marked,
                    };
                    assert_eq!(got, want, "seed {seed} at {now}");
                    drops += u32::from(got == rfc8033::Fate::Dropped);
                    marks += u32::from(got == rfc8033::Fate::Marked);
                    got != rfc8033::Fate::Dropped
                }
            }
        });
    }
    assert!(drops > 500 && marks > 100, "{drops} drops, {marks} marks");
}

/// RFC 8034 Appendix A, on a link whose peak rate is its sustained rate. Delays in seconds, times in milliseconds.
mod rfc8034 {
    use super::*;

    const LATENCY_TARGET: f64 = 0.010;
    const RATE: f64 = 1_250_000.0;
    pub const BUFFER_SIZE: u64 = 100_000;
    const A: f64 = 0.25;
    const B: f64 = 2.5;
    pub const INTERVAL: u64 = 16;
    const BURST_RESET_TIMEOUT: u64 = 1000;
    const MAX_BURST: u64 = 142;
    const MEAN_PKTSIZE: u64 = 1024;
    const MIN_PKTSIZE: u64 = 64;
    const PROB_LOW: f64 = 0.85;
    const PROB_HIGH: f64 = 8.5;
    const LATENCY_LOW: f64 = 0.005;
    const LATENCY_HIGH: f64 = 0.2;

    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum State {
        #[default]
        Inactive,
        Quiescent,
        Active,
    }

    #[derive(Default)]
    pub struct DocsisPie {
        pub drop_prob: f64,
        accu_prob: f64,
        qdelay_old: f64,
        burst_allowance: u64,
        burst_reset: u64,
        pub aqm_state: State,
    }

    impl DocsisPie {
        pub fn calculate_drop_prob(&mut self, byte_length: u64) {
            // The bucket is empty, or does not matter.
            let qdelay = byte_length as f64 / RATE;
            if self.burst_allowance > 0 {
                self.drop_prob = 0.0;
                self.burst_allowance = self.burst_allowance.saturating_sub(INTERVAL);
            } else {
                let mut p = A * (qdelay - LATENCY_TARGET) + B * (qdelay - self.qdelay_old);
                p /= match self.drop_prob {
                    x if x < 0.000001 => 2048.0,
                    x if x < 0.00001 => 512.0,
                    x if x < 0.0001 => 128.0,
                    x if x < 0.001 => 32.0,
                    x if x < 0.01 => 8.0,
                    x if x < 0.1 => 2.0,
                    x if x < 1.0 => 0.5,
                    x if x < 10.0 => 0.125,
                    _ => 0.03125,
                };
                if self.drop_prob >= 0.1 && p > 0.02 {
                    p = 0.02;
                }
                self.drop_prob += p;
                if qdelay < LATENCY_LOW && self.qdelay_old < LATENCY_LOW {
                    self.drop_prob *= 0.98;
                } else if qdelay > LATENCY_HIGH {
                    self.drop_prob += 0.02;
                }
                self.drop_prob = self.drop_prob.max(0.0);
                self.drop_prob = self.drop_prob.min(PROB_LOW * MEAN_PKTSIZE as f64 / MIN_PKTSIZE as f64);
            }
            let quiet = qdelay < 0.5 * LATENCY_TARGET
                && self.qdelay_old < 0.5 * LATENCY_TARGET
                && self.drop_prob == 0.0
                && self.burst_allowance == 0;
            if self.aqm_state == State::Active && quiet {
                self.aqm_state = State::Quiescent;
                self.burst_reset = 0;
            } else if self.aqm_state == State::Quiescent {
                if quiet {
                    self.burst_reset += INTERVAL;
                    if self.burst_reset > BURST_RESET_TIMEOUT {
                        self.burst_reset = 0;
                        self.aqm_state = State::Inactive;
                    }
                } else {
                    self.burst_reset = 0;
                }
            }
            self.qdelay_old = qdelay;
        }

        pub fn drop_early(&mut self, size: u64, byte_length: u64, rng: &mut Rng) -> bool {
            if self.burst_allowance > 0 {
                return false;
            }
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            if self.aqm_state == State::Inactive {
                if (byte_length as f64) < BUFFER_SIZE as f64 / 3.0 {
                    return false;
                }
                self.aqm_state = State::Quiescent;
            }
            let p1 = (self.drop_prob * size as f64 / MEAN_PKTSIZE as f64).min(PROB_LOW);
            self.accu_prob += p1;
            if (self.qdelay_old < 0.5 * LATENCY_TARGET && self.drop_prob < 0.2)
                || byte_length <= 2 * MEAN_PKTSIZE
            {
                return false;
            }
            if self.accu_prob < PROB_LOW {
                return false;
            }
            if self.accu_prob >= PROB_HIGH {
                rng.uniform();
            } else if !below(rng, p1) {
                return false;
            }
            self.accu_prob = 0.0;
            if self.aqm_state == State::Quiescent {
                self.aqm_state = State::Active;
                self.burst_allowance = MAX_BURST;
            }
            true
        }
    }
}

#[test]
fn docsis_pie_decides_as_the_pseudo_code_of_rfc_8034() {
    let (mut drops, mut most) = (0, 0.0f64);
    let mut states = std::collections::BTreeMap::new();
    for seed in 0..60 {
        let mut pie = build("algorithm = \"docsis-pie\"");
        let mut rfc = rfc8034::DocsisPie::default();
        let (mut mine, mut its) = (Seed(seed).stream("pie"), Seed(seed).stream("pie"));
        let mut rng = Seed(seed).stream("queue");
        let mut queue: VecDeque<(Time, u64)> = VecDeque::new();
        let interval = rfc8034::INTERVAL * 1_000_000;
        let (mut update, mut load, mut now) = (interval, 1.2, 0u64);
        for _ in 0..20_000 {
            // Now and then nothing comes for long enough to forget everything.
            let pause = if rng.chance(0.0005) { 3e9 } else { 1e6 };
            now += (rng.uniform() * pause) as u64 + 1;
            let bytes: u64 = queue.iter().map(|(_, size)| size).sum();
            let head = queue.front().map(|(at, _)| *at);
            while update <= now {
                let seen = view(queue.len() as u32, bytes, head);
                pie.on_update(&mut Ctx::new(at(update), seen, &mut mine));
                rfc.calculate_drop_prob(bytes);
                assert!((p(&pie) - rfc.drop_prob.min(1.0)).abs() < 1e-12, "seed {seed} at {now}");
                most = most.max(rfc.drop_prob);
                update += interval;
            }
            if rng.chance(0.002) {
                load = rng.uniform() * 1.5;
            }
            if rng.chance(load / (1.0 + load)) {
                let size = [64, 500, 1000, 1500][(rng.uniform() * 4.0) as usize];
                // pinned: a full buffer is the host's.
                if bytes + size > rfc8034::BUFFER_SIZE {
                    continue;
                }
                let pkt = PacketMeta { bytes: Bytes::new(size), enqueued_at: at(now), ..Default::default() };
                let seen = view(queue.len() as u32, bytes, head);
                let got = pie.on_enqueue(&mut Ctx::new(at(now), seen, &mut mine), &pkt);
                let was = rfc.aqm_state;
                let want = rfc.drop_early(size, bytes, &mut its);
                assert_eq!(got != Verdict::Pass, want, "seed {seed} at {now}");
                *states.entry((was, rfc.aqm_state)).or_insert(0) += 1;
                drops += u32::from(want);
                if !want {
                    queue.push_back((at(now), size));
                }
            } else {
                queue.pop_front();
            }
        }
    }
    use rfc8034::State::{Active, Inactive, Quiescent};
    assert!(drops > 5000 && most > 1.0, "{drops} drops, probability up to {most}");
    for change in [(Inactive, Quiescent), (Quiescent, Active)] {
        assert!(states.get(&change).is_some_and(|n| *n > 10), "{states:?}");
    }
    println!("{drops} drops, probability up to {most}, {states:?}");
}

/// RFC 9332 Appendix A, of which PI2 in one queue is the part about the base probability, the classic
/// packets and overload.
mod rfc9332 {
    use super::*;

    const TARGET: f64 = 0.015;
    const ALPHA: f64 = 0.15;
    const BETA: f64 = 3.0;
    const K: f64 = 2.0;
    const P_CMAX: f64 = 1.0 / (K * K);
    const P_LMAX: f64 = 1.0;

    #[derive(Default)]
    pub struct Pi2 {
        p: f64,
        prevq: f64,
        pub p_c: f64,
        p_cl: f64,
    }

    impl Pi2 {
        pub fn update(&mut self, curq: f64) {
            self.p = self.p + ALPHA * (curq - TARGET) + BETA * (curq - self.prevq);
            self.p = self.p.clamp(0.0, 1.0);
            self.p_cl = self.p * K;
            self.p_c = self.p * self.p;
            self.prevq = curq;
        }

        /// True for a drop, and for a mark.
        pub fn judge(&self, ecn: Ecn, rng: &mut Rng) -> (bool, bool) {
            if matches!(ecn, Ecn::Ect1 | Ecn::Ce) {
                if self.p_cl < P_LMAX {
                    return (false, below(rng, self.p_cl));
                }
                // Overload saturation: drop as the classic packets, and mark the rest.
                let drop = below(rng, self.p_c);
                return (drop, !drop);
            }
            let signal = below(rng, self.p_c);
            // Overload disables ECN.
            let drops = ecn == Ecn::NotEct || self.p_c >= P_CMAX;
            (signal && drops, signal && !drops)
        }
    }
}

#[test]
fn pi2_decides_as_the_pseudo_code_of_rfc_9332() {
    let (mut drops, mut marks) = (0, 0);
    for seed in 0..40 {
        let mut pi2 = build(
            "algorithm = \"pi2\"\ntarget = \"15 ms\"\nupdate_interval = \"15 ms\"\nalpha = 0.15\nbeta = 3.0",
        );
        let mut rfc = rfc9332::Pi2::default();
        let (mut mine, mut its) = (Seed(seed).stream("pi2"), Seed(seed).stream("pi2"));
        let mut kinds = Seed(seed).stream("kinds");
        play(seed, |what, now, queue, pkt| {
            let mut cx = Ctx::new(now, queue, &mut mine);
            match what {
                Step::Update => {
                    pi2.on_update(&mut cx);
                    rfc.update(queue.head_since.map_or(0.0, |since| now.since(since).as_secs_f64()));
                    assert!((p(&pi2) - rfc.p_c).abs() < 1e-12);
                    true
                }
                Step::Departure => true,
                Step::Arrival(_) => {
                    let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][(kinds.uniform() * 4.0) as usize];
                    let pkt = PacketMeta { ecn, ..*pkt };
                    let (drop, mark) = rfc.judge(ecn, &mut its);
                    let got = pi2.on_enqueue(&mut cx, &pkt);
                    assert_eq!(got.drops(&pkt), drop, "seed {seed} at {now}");
                    assert_eq!(got != Verdict::Pass && !got.drops(&pkt), mark, "seed {seed} at {now}");
                    drops += u32::from(drop);
                    marks += u32::from(mark);
                    !drop
                }
            }
        });
    }
    assert!(drops > 1000 && marks > 1000, "{drops} drops, {marks} marks");
}

/// No drop in a burst that drains before the interval has passed, however long it waits (RFC 8289 section 1).
#[test]
fn a_burst_shorter_than_the_interval_loses_nothing_to_codel() {
    for packets in [2u64, 50, 99] {
        let mut codel = build("algorithm = \"codel\"\nmtu = \"1 kB\"");
        let mut rng = Seed(1).stream("unused");
        // One departure a millisecond: from 5 ms on each has waited too long, for less than 100 ms.
        for i in 0..packets {
            let left = packets - 1 - i;
            let pkt = PacketMeta { bytes: Bytes::new(1000), ..Default::default() };
            let now = Time::ZERO + Duration::from_millis(i + 1);
            let verdict =
                codel.on_dequeue(&mut Ctx::new(now, view(left as u32, 1000 * left, None), &mut rng), &pkt);
            assert_eq!(verdict, Verdict::Pass, "packet {i} of {packets}");
        }
    }
}
