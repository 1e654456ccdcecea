//! SFQ, SFQ-RED and FQ-BLUE against twins that are written to be obviously right, not to be fast: lists that are searched
//! from end to end, sums that are added up when they are asked for. A million random steps, decision for decision, with
//! evictions.

use std::collections::VecDeque;

use crate::common::{Pkt, Run, random_steps};
use quell_aqm::fq_blue::FqBlueParams;
use quell_aqm::part::Longest;
use quell_aqm::sfq::SfqParams;
use quell_aqm::sfq_red::SfqRedParams;
use quell_aqm::{Discipline, Ecn, Link, Rng, Seed};
use quell_queue::{Limit, Parallel, Qdisc};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

/// What an algorithm wants of an arrival.
#[derive(Clone, Copy, PartialEq)]
enum Wish {
    Pass,
    /// To be marked, or dropped if it cannot be.
    Signal,
    Drop,
}

/// The algorithm of one queue.
trait Manager {
    /// A packet arrives for a queue of so many.
    fn arrives(&mut self, now: Time, queue: usize, rng: &mut Rng) -> Wish;
    /// One of its packets is lost to a full buffer.
    fn overflows(&mut self, now: Time);
    /// None of its packets waits or is being sent, since then.
    fn idles(&mut self, since: Time);
}

/// No algorithm.
#[derive(Clone)]
struct Nobody;

impl Manager for Nobody {
    fn arrives(&mut self, _: Time, _: usize, _: &mut Rng) -> Wish {
        Wish::Pass
    }
    fn overflows(&mut self, _: Time) {}
    fn idles(&mut self, _: Time) {}
}

/// RED with gentle and without a floor for the queue (Floyd and Jacobson 1993; Floyd 2000).
#[derive(Clone)]
struct Red {
    min_th: f64,
    max_th: f64,
    max_p: f64,
    weight: f64,
    /// Mean packets that the link sends in a second.
    rate: f64,
    avg: f64,
    /// Arrivals since the last signal.
    count: f64,
    idle: Option<Time>,
}

impl Manager for Red {
    fn arrives(&mut self, now: Time, queue: usize, rng: &mut Rng) -> Wish {
        let was_idle = self.idle.take();
        if let Some(since) = was_idle {
            let missed = (now - since).as_secs_f64() * self.rate;
            self.avg *= (1.0 - self.weight).powf(missed);
        }
        self.avg += self.weight * (queue as f64 - self.avg);
        let p_b = if self.avg < self.min_th {
            0.0
        } else if self.avg < self.max_th {
            self.max_p * (self.avg - self.min_th) / (self.max_th - self.min_th)
        } else if self.avg < 2.0 * self.max_th {
            self.max_p + (1.0 - self.max_p) * (self.avg - self.max_th) / self.max_th
        } else {
            1.0
        };
        if p_b == 0.0 {
            self.count = 0.0;
            return Wish::Pass;
        }
        if p_b >= 1.0 {
            self.count = 0.0;
            self.idle = was_idle.map(|_| now);
            return Wish::Drop;
        }
        let p_a = if self.count * p_b < 1.0 { (p_b / (1.0 - self.count * p_b)).min(1.0) } else { 1.0 };
        self.count += 1.0;
        if rng.uniform() < p_a {
            self.count = 0.0;
            // An arrival at an idle queue that is dropped leaves it idle; one that is marked does not, and which of
            // the two it is its owner knows.
            self.idle = was_idle.map(|_| now);
            return Wish::Signal;
        }
        Wish::Pass
    }
    fn overflows(&mut self, _: Time) {
        self.count = 0.0;
    }
    fn idles(&mut self, since: Time) {
        self.idle = Some(since);
    }
}

/// BLUE (Feng et al. 1999b).
#[derive(Clone)]
struct Blue {
    d1: f64,
    d2: f64,
    freeze_time: Duration,
    /// In packets.
    threshold: Option<usize>,
    p: f64,
    moved: Option<Time>,
}

impl Blue {
    fn step(&mut self, now: Time, by: f64) {
        let frozen = self.moved.is_some_and(|moved| now - moved <= self.freeze_time);
        if !frozen {
            self.p = (self.p + by).clamp(0.0, 1.0);
            self.moved = Some(now);
        }
    }
}

impl Manager for Blue {
    fn arrives(&mut self, now: Time, queue: usize, rng: &mut Rng) -> Wish {
        if self.threshold.is_some_and(|threshold| queue > threshold) {
            self.step(now, self.d1);
        }
        // Nothing is drawn for what never happens.
        if self.p > 0.0 && rng.uniform() < self.p { Wish::Signal } else { Wish::Pass }
    }
    fn overflows(&mut self, now: Time) {
        self.step(now, self.d1);
    }
    fn idles(&mut self, since: Time) {
        self.step(since, -self.d2);
    }
}

/// How a twin's queues are kept and served.
#[derive(Clone, Copy)]
struct Rules {
    queues: usize,
    quantum: i64,
    depth: usize,
    buffer: Limit,
    /// Queues that have just become active are served first (RFC 8290 section 4.2); otherwise all in turn, and one that
    /// runs empty loses its place (McKenney 1990).
    new_first: bool,
    /// The longest queue has the most packets, and of several it changed last; otherwise the most bytes.
    by_packets: bool,
    /// Queues that may have packets at a time.
    active: usize,
}

struct Twin<M> {
    rules: Rules,
    queues: Vec<VecDeque<(Time, Pkt)>>,
    each: Vec<M>,
    credits: Vec<i64>,
    new: Vec<usize>,
    old: Vec<usize>,
    /// Of which queue a packet is in transmission, and whether there ever was one to ask for.
    sending: Option<usize>,
    asked: bool,
    /// Which queues know that they are idle.
    idle: Vec<bool>,
    /// Queues in the order in which they changed.
    changed: Vec<usize>,
    rng: Rng,
    dropped: Vec<usize>,
    evicted: usize,
    /// Packets that had to go for one arrival, at most.
    most: usize,
}

impl<M: Manager + Clone> Twin<M> {
    fn new(rules: Rules, manager: M, rng: Rng) -> Self {
        let n = rules.queues;
        Twin {
            rules,
            queues: vec![VecDeque::new(); n],
            each: vec![manager; n],
            credits: vec![0; n],
            new: Vec::new(),
            old: Vec::new(),
            sending: None,
            asked: false,
            idle: vec![false; n],
            changed: Vec::new(),
            rng,
            dropped: Vec::new(),
            evicted: 0,
            most: 0,
        }
    }

    fn packets(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    fn bytes_of(&self, queue: usize) -> u64 {
        self.queues[queue].iter().map(|(_, pkt)| pkt.bytes).sum()
    }

    fn has_room(&self, bytes: u64) -> bool {
        match self.rules.buffer {
            Limit::Packets(n) => self.packets() < n as usize,
            Limit::Bytes(n) => (0..self.queues.len()).map(|q| self.bytes_of(q)).sum::<u64>() + bytes <= n,
        }
    }

    /// Tells a queue that it is idle, unless it knows or is not.
    fn tell_idle(&mut self, queue: usize, since: Time) {
        if self.queues[queue].is_empty() && !self.idle[queue] {
            self.idle[queue] = true;
            self.each[queue].idles(since);
        }
    }

    fn change(&mut self, queue: usize) {
        self.changed.retain(|other| *other != queue);
        self.changed.push(queue);
    }

    /// The queue that pays for an arrival's lack of room.
    fn longest(&self, arrival: usize, pkt: Pkt) -> usize {
        let bytes = |q: usize| self.bytes_of(q) + if q == arrival { pkt.bytes } else { 0 };
        let packets = |q: usize| self.queues[q].len() as u64 + u64::from(q == arrival);
        let size = |q: usize| if self.rules.by_packets { packets(q) } else { bytes(q) };
        let most = (0..self.queues.len()).map(size).max().unwrap();
        let mut all: Vec<usize> = (0..self.queues.len()).collect();
        if self.rules.by_packets {
            all = self.changed.iter().rev().copied().collect();
        }
        all.into_iter().find(|q| size(*q) == most).unwrap()
    }

    fn arrive(&mut self, now: Time, queue: usize, pkt: Pkt) {
        let taken = self.queues.iter().filter(|q| !q.is_empty()).count() >= self.rules.active;
        if self.queues[queue].len() >= self.rules.depth || (self.queues[queue].is_empty() && taken) {
            return self.dropped.push(pkt.number);
        }
        let before = self.queues[queue].len();
        let wish = self.each[queue].arrives(now, before, &mut self.rng);
        let marks = wish == Wish::Signal && pkt.ecn.is_capable();
        if wish != Wish::Pass && !marks {
            return self.dropped.push(pkt.number);
        }
        // It has its turn now, even if there turns out to be no room for it.
        if !self.new.contains(&queue) && !self.old.contains(&queue) {
            self.credits[queue] = self.rules.quantum;
            if self.rules.new_first { self.new.push(queue) } else { self.old.push(queue) }
        }
        let mut gone = 0;
        self.change(queue);
        while !self.has_room(pkt.bytes) {
            let longest = self.longest(queue, pkt);
            self.change(longest);
            if longest == queue {
                self.each[queue].overflows(now);
                return self.dropped.push(pkt.number);
            }
            let (_, last) = self.queues[longest].pop_back().unwrap();
            self.dropped.push(last.number);
            self.evicted += 1;
            gone += 1;
            self.each[longest].overflows(now);
            if self.sending != Some(longest) {
                self.tell_idle(longest, now);
            }
        }
        self.most = self.most.max(gone);
        self.idle[queue] = false;
        self.queues[queue].push_back((now, if marks { Pkt { ecn: Ecn::Ce, ..pkt } } else { pkt }));
    }

    fn dequeue(&mut self, now: Time) -> Option<Pkt> {
        // What was in transmission has left. A link that asks for the first time finds the others idle.
        match self.sending.take() {
            Some(queue) => self.tell_idle(queue, now),
            None if !self.asked => (0..self.queues.len()).for_each(|queue| self.tell_idle(queue, now)),
            None => {}
        }
        self.asked = true;
        if self.packets() == 0 {
            // Every list is gone through to its end.
            self.new.clear();
            self.old.clear();
            return None;
        }
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let queue = list[0];
            if self.credits[queue] <= 0 {
                list.remove(0);
                self.credits[queue] += self.rules.quantum;
                self.old.push(queue);
            } else if self.queues[queue].is_empty() {
                list.remove(0);
                if from_new {
                    self.old.push(queue);
                }
            } else {
                let (_, pkt) = self.queues[queue].pop_front().unwrap();
                self.credits[queue] -= pkt.bytes as i64;
                self.change(queue);
                self.sending = Some(queue);
                if !self.rules.new_first && self.queues[queue].is_empty() {
                    self.old.remove(0);
                }
                return Some(pkt);
            }
        }
    }
}

/// What happened in all runs of a discipline.
#[derive(Debug, Default)]
struct Seen {
    steps: usize,
    drops: usize,
    marks: usize,
    evicted: usize,
    /// Packets that had to go for one arrival, at most.
    most: usize,
}

/// Lets a discipline and its twin go through the same random steps.
fn hold_against<D, M>(seen: &mut Seen, seed: u64, real: D, rules: Rules, manager: M)
where
    D: Discipline + Clone,
    M: Manager + Clone,
{
    let rng = || Seed(seed).stream("twin");
    let mut classifier = real.clone();
    let mut twin = Twin::new(rules, manager, rng());
    let mut run = Run::new(Parallel::new(real, rng(), rules.buffer, true, Some(RATE)), RATE);
    random_steps(seed, 20_000, |step, now, arrival| {
        seen.steps += 1;
        let mut got = Vec::new();
        let mut nothing = false;
        match arrival {
            Some(pkt) => {
                let queue = classifier.classify(now, &pkt.meta(now));
                run.enqueue(now, pkt, &mut got);
                twin.arrive(now, queue, pkt);
            }
            None => {
                let sent = run.dequeue(now, &mut got);
                assert_eq!(sent, twin.dequeue(now), "seed {seed}, step {step}: what is sent");
                seen.marks += usize::from(sent.is_some_and(|pkt| pkt.ecn == Ecn::Ce));
                nothing = sent.is_none();
            }
        }
        seen.drops += got.len();
        // Evictions come before the arrival that is dropped after all.
        assert_eq!(got, std::mem::take(&mut twin.dropped), "seed {seed}, step {step}: what is dropped");
        let view = run.queue.view();
        assert_eq!(view.packets.get() as usize, twin.packets(), "seed {seed}, step {step}");
        nothing
    });
    seen.evicted += twin.evicted;
    seen.most = seen.most.max(twin.most);
}

const RATE: BitRate = BitRate::from_bps(8_000_000);

fn link(buffer: QueueSize) -> Link {
    Link { rate: RATE, buffer, mean_packet: Bytes::new(1000) }
}

/// The buffers: some packets, and some bytes, of which a long packet may cost several short ones.
fn buffer(seed: u64) -> QueueSize {
    [QueueSize::Packets(20.0), QueueSize::Bytes(30_000.0), QueueSize::Packets(100.0)][seed as usize % 3]
}

/// Runs for each discipline; each has 50 000 steps or so.
const RUNS: u64 = 12;

#[test]
fn sfq_decides_as_its_twin() {
    let mut seen = Seen::default();
    for seed in 0..RUNS {
        let params = SfqParams {
            flows: [1, 8, 64][seed as usize / 2 % 3],
            quantum: Bytes::new([1514, 300, 4000][seed as usize / 3 % 3]),
            depth: [127, 15][seed as usize % 2],
            perturb: (seed % 4 == 1).then(|| Duration::from_millis(500)),
            hash_key: Some(seed),
            longest: [Longest::Bytes, Longest::Packets][seed as usize / 2 % 2],
            active: (seed % 5 == 3).then_some(5),
        };
        let link = link(buffer(seed));
        let rules = Rules {
            queues: params.flows as usize,
            quantum: params.quantum.get() as i64,
            depth: params.depth as usize,
            buffer: Limit::of(link.buffer),
            new_first: false,
            by_packets: params.longest == Longest::Packets,
            active: params.active.map_or(usize::MAX, |active| active as usize),
        };
        hold_against(&mut seen, seed, params.build(&link).unwrap(), rules, Nobody);
    }
    println!("{seen:?}");
    assert!(
        seen.steps > 500_000 && seen.evicted > 2_500 && seen.drops > seen.evicted && seen.most > 2,
        "{seen:?}"
    );
}

#[test]
fn sfq_red_decides_as_its_twin() {
    let mut seen = Seen::default();
    for seed in 0..RUNS {
        let params = SfqRedParams {
            flows: [1, 8, 64][seed as usize / 2 % 3],
            quantum: Bytes::new([1514, 300, 4000][seed as usize / 3 % 3]),
            depth: [127, 15][seed as usize % 2],
            min_th: QueueSize::Packets([2.0, 5.0][seed as usize / 2 % 2]),
            max_th: QueueSize::Packets(15.0),
            max_p: [0.02, 0.3][seed as usize / 4 % 2],
            hash_key: Some(seed),
            ..Default::default()
        };
        let link = link(buffer(seed));
        let rules = Rules {
            queues: params.flows as usize,
            quantum: params.quantum.get() as i64,
            depth: params.depth as usize,
            buffer: Limit::of(link.buffer),
            new_first: false,
            by_packets: false,
            active: usize::MAX,
        };
        let red = Red {
            min_th: [2.0, 5.0][seed as usize / 2 % 2],
            max_th: 15.0,
            max_p: params.max_p,
            weight: 0.0625,
            rate: 1000.0,
            avg: 0.0,
            count: 0.0,
            idle: None,
        };
        hold_against(&mut seen, seed, params.build(&link).unwrap(), rules, red);
    }
    println!("{seen:?}");
    assert!(seen.steps > 500_000 && seen.evicted > 2_500 && seen.marks > 1_500 && seen.most > 2, "{seen:?}");
}

#[test]
fn fq_blue_decides_as_its_twin() {
    let mut seen = Seen::default();
    for seed in 0..RUNS {
        let threshold = [Some(10), None, Some(4)][seed as usize / 2 % 3];
        let params = FqBlueParams {
            flows: [1, 8, 64][seed as usize / 2 % 3],
            quantum: Bytes::new([1514, 300, 4000][seed as usize / 3 % 3]),
            d1: 0.02,
            d2: 0.002,
            freeze_time: Duration::from_millis([100, 10][seed as usize % 2]),
            threshold: threshold.map(|n| QueueSize::Packets(n as f64)),
            hash_key: Some(seed),
        };
        let link = link(buffer(seed));
        let rules = Rules {
            queues: params.flows as usize,
            quantum: params.quantum.get() as i64,
            depth: usize::MAX,
            buffer: Limit::of(link.buffer),
            new_first: true,
            by_packets: false,
            active: usize::MAX,
        };
        let blue = Blue {
            d1: params.d1,
            d2: params.d2,
            freeze_time: params.freeze_time,
            threshold,
            p: 0.0,
            moved: None,
        };
        hold_against(&mut seen, seed, params.build(&link).unwrap(), rules, blue);
    }
    println!("{seen:?}");
    assert!(seen.steps > 500_000 && seen.evicted > 2_500 && seen.marks > 1_500 && seen.most > 2, "{seen:?}");
}
