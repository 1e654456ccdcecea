//! The pseudo-code of RFC 9332, transcribed on its own, beside the algorithms: random traffic, decision for
//! decision. It has queues, a clock and a link of its own; what the RFC leaves open is noted where it is
//! decided, and the pages say what the other readings would do.

use std::collections::VecDeque;

use quell_aqm::catalog::AqmConfig;
use quell_aqm::{Algorithm, Discipline, Ecn, FlowId, Link, Rng, Seed};
use quell_queue::{Dropped, Host, Limit, Line, Packet, Parallel, Qdisc, Sent};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pkt {
    number: usize,
    bytes: u64,
    ecn: Ecn,
}

impl Packet for Pkt {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> FlowId {
        FlowId(0)
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// When its transmission began, and whether it carries CE.
    Sent(u64, bool),
    Dropped(u64),
}

/// 10 Mbit/s: 800 ns per byte, exactly.
const NS_PER_BYTE: u64 = 800;

fn link() -> Link {
    Link {
        rate: BitRate::from_bps(10_000_000),
        buffer: QueueSize::Bytes(10_000_000.0),
        mean_packet: Bytes::new(1500),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scheduler {
    Wrr,
    TsFifo,
}

/// A packet with its time stamp, in ns.
type Stamped = (u64, Pkt);

/// The functions that a link calls.
trait Twin {
    fn enqueue(&mut self, now: u64, pkt: Pkt) -> bool;
    fn dequeue(&mut self, now: u64, dropped: &mut Vec<usize>) -> Option<(Pkt, bool)>;
    fn update(&mut self, now: u64);
    fn interval(&self) -> Option<u64>;
    fn waiting(&self) -> u64;
}

/// The two queues, and scheduler().
struct Queues {
    lq: VecDeque<Stamped>,
    cq: VecDeque<Stamped>,
    scheduler: Scheduler,
    tshift: u64,
    /// In bytes times 16: what C is owed by a weight of 1/16.
    credit: i64,
}

impl Queues {
    fn new(scheduler: Scheduler) -> Self {
        Queues { lq: VecDeque::new(), cq: VecDeque::new(), scheduler, tshift: 50_000_000, credit: -14 * 1500 }
    }

    fn byt(q: &VecDeque<Stamped>) -> u64 {
        q.iter().map(|(_, pkt)| pkt.bytes).sum()
    }

    /// The delay of the packet at the head; 0 if the queue is empty.
    fn time(q: &VecDeque<Stamped>, now: u64) -> u64 {
        q.front().map_or(0, |(since, _)| now - since)
    }

    fn enqueue(&mut self, now: u64, pkt: Pkt, limit: f64) -> bool {
        if (Queues::byt(&self.lq) + Queues::byt(&self.cq) + 1500) as f64 > limit {
            return false;
        }
        let bits = match pkt.ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        if bits % 2 == 1 { &mut self.lq } else { &mut self.cq }.push_back((now, pkt));
        true
    }

    /// Whether lq is next. Of an empty queue nothing is taken.
    fn scheduler(&mut self, now: u64) -> bool {
        let fresh = |q: &VecDeque<Stamped>| q.front().is_none_or(|(since, _)| *since == now);
        if fresh(&self.lq) && fresh(&self.cq) {
            self.credit = -14 * 1500;
        }
        if self.lq.is_empty() || self.cq.is_empty() {
            return self.cq.is_empty();
        }
        match self.scheduler {
            Scheduler::TsFifo => Queues::time(&self.lq, now) + self.tshift >= Queues::time(&self.cq, now),
            Scheduler::Wrr => self.credit <= 0,
        }
    }

    /// A packet is returned to the link.
    fn charge(&mut self, from_l: bool, bytes: u64) {
        let other = if from_l { &self.cq } else { &self.lq };
        if !other.is_empty() {
            self.credit += if from_l { bytes as i64 } else { -15 * bytes as i64 };
        }
    }
}

fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood;
    if *count > 1.0 {
        *count -= 1.0;
        return true;
    }
    false
}

/// Appendix A, Figs. 2, 3, 5, 7 and 8.
struct DualPi2 {
    q: Queues,
    limit: f64,
    k: f64,
    p_cmax: f64,
    p_lmax: f64,
    target: f64,
    tupdate: u64,
    alpha: f64,
    beta: f64,
    min_th: u64,
    range: u64,
    th_len: usize,
    p: f64,
    p_cl: f64,
    p_c: f64,
    prevq: f64,
    lq_count: f64,
    cq_count: f64,
}

impl DualPi2 {
    fn new(k: f64, limit_ms: f64, scheduler: Scheduler) -> Self {
        let (target, rtt_max): (f64, f64) = (0.015, 0.1);
        let tupdate = target.min(rtt_max / 3.0);
        DualPi2 {
            q: Queues::new(scheduler),
            limit: 10e6 / 8.0 * limit_ms * 1e-3,
            k,
            p_cmax: (1.0 / (k * k)).min(1.0),
            p_lmax: 1.0,
            target,
            tupdate: (tupdate * 1e9) as u64,
            alpha: 0.1 * tupdate / (rtt_max * rtt_max),
            beta: 0.3 / rtt_max,
            min_th: 800_000,
            range: 400_000,
            th_len: 1,
            p: 0.0,
            p_cl: 0.0,
            p_c: 0.0,
            prevq: 0.0,
            lq_count: 0.0,
            cq_count: 0.0,
        }
    }

    fn laqm(&self, qdelay: u64) -> f64 {
        let max_th = self.min_th + self.range;
        if qdelay >= max_th {
            1.0
        } else if qdelay > self.min_th {
            ((qdelay - self.min_th) as f64 * 1e-9) / (self.range as f64 * 1e-9)
        } else {
            0.0
        }
    }
}

impl Twin for DualPi2 {
    fn enqueue(&mut self, now: u64, pkt: Pkt) -> bool {
        self.q.enqueue(now, pkt, self.limit)
    }

    fn dequeue(&mut self, now: u64, dropped: &mut Vec<usize>) -> Option<(Pkt, bool)> {
        while Queues::byt(&self.q.lq) + Queues::byt(&self.q.cq) > 0 {
            let mut mark = false;
            let from_l = self.q.scheduler(now);
            let pkt = if from_l {
                let (since, pkt) = self.q.lq.pop_front().unwrap();
                if self.p_cl < self.p_lmax {
                    let native = if self.q.lq.len() > self.th_len { self.laqm(now - since) } else { 0.0 };
                    let p_l = native.max(self.p_cl);
                    mark = recur(&mut self.lq_count, p_l);
                } else {
                    if recur(&mut self.lq_count, self.p_c) {
                        dropped.push(pkt.number);
                        continue;
                    }
                    // p_CL is at most p_Lmax.
                    if recur(&mut self.lq_count, self.p_cl.min(self.p_lmax)) {
                        mark = true;
                    }
                }
                pkt
            } else {
                let (_, pkt) = self.q.cq.pop_front().unwrap();
                if recur(&mut self.cq_count, self.p_c) {
                    if pkt.ecn == Ecn::NotEct || self.p_c >= self.p_cmax {
                        dropped.push(pkt.number);
                        continue;
                    }
                    mark = true;
                }
                pkt
            };
            self.q.charge(from_l, pkt.bytes);
            return Some((pkt, mark));
        }
        None
    }

    fn update(&mut self, now: u64) {
        let curq = Queues::time(&self.q.cq, now).max(Queues::time(&self.q.lq, now));
        let curq = Duration::from_nanos(curq).as_secs_f64();
        self.p = self.p + self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
        self.p = self.p.clamp(0.0, 1.0);
        self.p_cl = self.p * self.k;
        self.p_c = self.p * self.p;
        self.prevq = curq;
    }

    fn interval(&self) -> Option<u64> {
        Some(self.tupdate)
    }

    fn waiting(&self) -> u64 {
        Queues::byt(&self.q.lq) + Queues::byt(&self.q.cq)
    }
}

/// Appendix B, Figs. 3, 9 and 10, with U = 1. Its random numbers are those of the algorithm: the largest of two
/// is below x with the probability x^2.
struct CurvyRed {
    q: Queues,
    limit: f64,
    gamma: f64,
    min_th: f64,
    range_c: f64,
    range_l: f64,
    step: u64,
    q_c: f64,
    rng: Rng,
}

impl CurvyRed {
    fn new(scheduler: Scheduler, rng: Rng) -> Self {
        let (g_c, s_c, k): (i32, i32, i32) = (5, -1, 1);
        CurvyRed {
            q: Queues::new(scheduler),
            limit: 10e6 / 8.0 * 0.25,
            gamma: 2f64.powi(-g_c),
            // Printed as 500 ms.
            min_th: 500e-6,
            range_c: 2f64.powi(s_c),
            range_l: 2f64.powi(s_c - k),
            step: 1_000_000,
            q_c: 0.0,
            rng,
        }
    }

    /// Whether a random number is below `p`; none is drawn for what cannot be.
    fn exceeds_rand(&mut self, p: f64) -> bool {
        p > 0.0 && self.rng.uniform() < p
    }
}

impl Twin for CurvyRed {
    fn enqueue(&mut self, now: u64, pkt: Pkt) -> bool {
        self.q.enqueue(now, pkt, self.limit)
    }

    fn dequeue(&mut self, now: u64, dropped: &mut Vec<usize>) -> Option<(Pkt, bool)> {
        while self.waiting() > 0 {
            let mut mark = false;
            let from_l = self.q.scheduler(now);
            let pkt = if from_l {
                let (since, pkt) = self.q.lq.pop_front().unwrap();
                let p_cl = (self.q_c - self.min_th) / self.range_l;
                let p_l = if now - since > self.step { 1.0 } else { p_cl };
                mark = self.exceeds_rand(p_l);
                pkt
            } else {
                let (since, pkt) = self.q.cq.pop_front().unwrap();
                let waited = Duration::from_nanos(now - since).as_secs_f64();
                self.q_c = self.gamma * waited + (1.0 - self.gamma) * self.q_c;
                let sqrt_p_c = ((self.q_c - self.min_th) / self.range_c).max(0.0);
                if self.exceeds_rand(sqrt_p_c * sqrt_p_c) {
                    if pkt.ecn == Ecn::NotEct {
                        dropped.push(pkt.number);
                        continue;
                    }
                    mark = true;
                }
                pkt
            };
            self.q.charge(from_l, pkt.bytes);
            return Some((pkt, mark));
        }
        None
    }

    fn update(&mut self, _: u64) {}

    fn interval(&self) -> Option<u64> {
        None
    }

    fn waiting(&self) -> u64 {
        Queues::byt(&self.q.lq) + Queues::byt(&self.q.cq)
    }
}

/// Runs a transcription behind a link: updates, departures and arrivals, in this order within an instant.
fn run_twin(twin: &mut impl Twin, arrivals: &[(u64, Pkt)], end: u64) -> Vec<Option<Fate>> {
    let mut fates = vec![None; arrivals.len()];
    let mut busy_until = 0;
    let mut due = twin.interval();
    #[allow(clippy::type_complexity, reason = "named here, and nowhere else")]
    let mut serve = |twin: &mut dyn FnMut(&mut Vec<usize>) -> Option<(Pkt, bool)>, now, busy: &mut u64| {
        let mut dropped = Vec::new();
        if let Some((pkt, mark)) = twin(&mut dropped) {
            *busy = now + pkt.bytes * NS_PER_BYTE;
            fates[pkt.number] = Some(Fate::Sent(now, mark || pkt.ecn == Ecn::Ce));
        }
        dropped.iter().for_each(|number| fates[*number] = Some(Fate::Dropped(now)));
    };
    let mut refused = Vec::new();
    let ends = arrivals.iter().map(|(at, pkt)| (*at, Some(*pkt))).chain([(end, None)]);
    for (at, arrival) in ends {
        loop {
            let update = due.filter(|due| *due <= at);
            let departure = Some(busy_until).filter(|t| *t <= at && twin.waiting() > 0);
            match (update, departure) {
                (Some(now), d) if d.is_none_or(|d| now <= d) => {
                    twin.update(now);
                    due = twin.interval().map(|interval| now + interval);
                }
                (_, Some(now)) => serve(&mut |dropped| twin.dequeue(now, dropped), now, &mut busy_until),
                _ => break,
            }
        }
        if let Some(pkt) = arrival {
            if !twin.enqueue(at, pkt) {
                refused.push((pkt.number, at));
            } else if busy_until <= at {
                serve(&mut |dropped| twin.dequeue(at, dropped), at, &mut busy_until);
            }
        }
    }
    refused.iter().for_each(|(number, at)| fates[*number] = Some(Fate::Dropped(*at)));
    fates
}

struct Fates(Vec<Option<Fate>>);

impl Host<Pkt> for Fates {
    fn sent(&mut self, sent: Sent<Pkt>) {
        self.0[sent.packet.number] = Some(Fate::Sent(sent.start.nanos(), sent.packet.ecn == Ecn::Ce));
    }
    fn dropped(&mut self, now: Time, dropped: Dropped<Pkt>) {
        self.0[dropped.packet.number] = Some(Fate::Dropped(now.nanos()));
    }
}

/// The same of an algorithm of the catalog.
fn run_quell(name: &str, params: &str, arrivals: &[(u64, Pkt)], end: u64, rng: Rng) -> Vec<Option<Fate>> {
    let table: toml::Table = toml::from_str(params).unwrap();
    let config = AqmConfig::deserialize_named(name, table).unwrap().unwrap();
    let Algorithm::Discipline(discipline) = config.build(&link()).unwrap() else {
        panic!("{name} is a discipline")
    };
    assert_eq!(discipline.lane_names(), ["c", "l"]);
    let queue = Parallel::new(discipline, rng, Limit::of(link().buffer), true, None);
    let mut line = Line::new(queue, link().rate);
    let mut fates = Fates(vec![None; arrivals.len()]);
    for (at, pkt) in arrivals {
        let _ = line.arrive(Time::from_nanos(*at), *pkt, &mut fates);
    }
    line.run(Time::from_nanos(end), &mut fates);
    let n = line.counters();
    let waiting = u64::from(line.queue().view().packets.get());
    assert_eq!(
        n.arrived.packets,
        n.departed.packets + n.dropped.total().packets + n.refused.total().packets + waiting
    );
    fates.0
}

/// Traffic that changes every second: how much of the link it takes, how much of it is L4S and how large the
/// bursts are, so that queues are empty, at their thresholds, and overloaded for long.
fn traffic(seed: u64, seconds: u64) -> Vec<(u64, Pkt)> {
    let mut rng = Seed(seed).stream("rfc 9332");
    let mut arrivals = Vec::new();
    let mut now = 0;
    for second in 0..seconds {
        let load = [0.5, 0.9, 1.0, 1.1, 1.5, 2.5][(rng.uniform() * 6.0) as usize];
        let l4s = [0.0, 0.2, 0.5, 0.8, 1.0][(rng.uniform() * 5.0) as usize];
        let burst = 1 + (rng.uniform() * 8.0) as u64;
        while now < (second + 1) * 1_000_000_000 {
            let mut bytes = 0;
            for _ in 0..burst {
                let size = if rng.chance(0.3) { rng.uniform_in(64.0, 1500.0) as u64 } else { 1500 };
                let ecn = match (rng.chance(l4s), rng.uniform()) {
                    (true, u) if u < 0.97 => Ecn::Ect1,
                    (true, _) => Ecn::Ce,
                    (false, u) if u < 0.5 => Ecn::Ect0,
                    (false, _) => Ecn::NotEct,
                };
                arrivals.push((now, Pkt { number: arrivals.len(), bytes: size, ecn }));
                bytes += size;
            }
            now += rng.exponential((bytes * NS_PER_BYTE) as f64 / load) as u64;
        }
    }
    arrivals
}

/// What the comparison has seen.
#[derive(Default, Debug)]
struct Seen {
    sent: usize,
    marked: usize,
    dropped_l: usize,
    dropped_not_ect: usize,
    dropped_ect0: usize,
}

impl Seen {
    fn add(&mut self, arrivals: &[(u64, Pkt)], fates: &[Option<Fate>]) {
        for ((_, pkt), fate) in arrivals.iter().zip(fates) {
            match (fate, pkt.ecn) {
                (Some(Fate::Sent(_, ce)), ecn) => {
                    self.sent += 1;
                    self.marked += (*ce && ecn != Ecn::Ce) as usize;
                }
                (Some(Fate::Dropped(_)), Ecn::NotEct) => self.dropped_not_ect += 1,
                (Some(Fate::Dropped(_)), Ecn::Ect0) => self.dropped_ect0 += 1,
                (Some(Fate::Dropped(_)), _) => self.dropped_l += 1,
                (None, _) => {}
            }
        }
    }
}

fn compare(what: &str, arrivals: &[(u64, Pkt)], ours: &[Option<Fate>], theirs: &[Option<Fate>]) {
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(a, b, "{what}: packet {i}, {:?}", arrivals[i]);
    }
}

/// RFC 9332 Appendix A, with both schedulers, other coupling factors, and a limit that is reached.
#[test]
fn dualpi2_decides_as_the_pseudo_code() {
    let mut seen = Seen::default();
    for seed in 1..=12 {
        let (seconds, end) = (30, 31_000_000_000);
        let arrivals = traffic(seed, seconds);
        for (k, limit_ms, scheduler) in [
            (2.0, 250, Scheduler::Wrr),
            (2.0, 250, Scheduler::TsFifo),
            (1.19, 20, Scheduler::Wrr),
            (0.5, 250, Scheduler::TsFifo),
        ] {
            let name = if scheduler == Scheduler::Wrr { "wrr" } else { "ts-fifo" };
            let params = format!("k = {k:?}\nlimit = \"{limit_ms} ms\"\nscheduler = \"{name}\"");
            let ours = run_quell("dualpi2", &params, &arrivals, end, Seed(seed).stream("aqm"));
            let mut twin = DualPi2::new(k, f64::from(limit_ms), scheduler);
            let theirs = run_twin(&mut twin, &arrivals, end);
            compare(&format!("seed {seed}, {params}"), &arrivals, &ours, &theirs);
            seen.add(&arrivals, &ours);
        }
    }
    println!("{seen:?}");
    assert!(seen.sent > 500_000 && seen.marked > 50_000, "{seen:?}");
    assert!(
        seen.dropped_l > 10_000 && seen.dropped_not_ect > 10_000 && seen.dropped_ect0 > 5_000,
        "{seen:?}"
    );
}

/// RFC 9332 Appendix B, with both schedulers.
#[test]
fn curvy_red_decides_as_the_pseudo_code() {
    let mut seen = Seen::default();
    for seed in 1..=12 {
        let (seconds, end) = (30, 31_000_000_000);
        let arrivals = traffic(seed, seconds);
        for scheduler in [Scheduler::Wrr, Scheduler::TsFifo] {
            let name = if scheduler == Scheduler::Wrr { "wrr" } else { "ts-fifo" };
            let params = format!("scheduler = \"{name}\"");
            let rng = || Seed(seed).stream("aqm");
            let ours = run_quell("curvy-red", &params, &arrivals, end, rng());
            let theirs = run_twin(&mut CurvyRed::new(scheduler, rng()), &arrivals, end);
            compare(&format!("seed {seed}, {params}"), &arrivals, &ours, &theirs);
            seen.add(&arrivals, &ours);
        }
    }
    println!("{seen:?}");
    assert!(seen.sent > 200_000 && seen.marked > 20_000 && seen.dropped_not_ect > 10_000, "{seen:?}");
}

/// What a link did: the packets that left their queues in order, with when and what waited meanwhile.
struct Served<'a> {
    arrivals: &'a [(u64, Pkt)],
    fates: &'a [Option<Fate>],
}

impl Served<'_> {
    fn is_l(pkt: &Pkt) -> bool {
        matches!(pkt.ecn, Ecn::Ect1 | Ecn::Ce)
    }

    /// For each packet of L that was sent: when, its number, and the packet of C that was at the head then.
    fn l_before_c(&self) -> Vec<(u64, usize, Option<usize>)> {
        let stored =
            |i: &usize| !matches!(self.fates[*i], Some(Fate::Dropped(t)) if t == self.arrivals[*i].0);
        let of = |l: bool| {
            let numbers = 0..self.arrivals.len();
            numbers.filter(move |i| Self::is_l(&self.arrivals[*i].1) == l).filter(stored)
        };
        let left = |i: usize| match self.fates[i] {
            Some(Fate::Sent(t, _) | Fate::Dropped(t)) => t,
            None => u64::MAX,
        };
        let c: Vec<usize> = of(false).collect();
        let mut head = 0;
        let mut found = Vec::new();
        for i in of(true) {
            let Some(Fate::Sent(now, _)) = self.fates[i] else { continue };
            while head < c.len() && left(c[head]) <= now {
                head += 1;
            }
            let waits = c.get(head).copied().filter(|i| self.arrivals[*i].0 < now);
            found.push((now, i, waits));
        }
        found
    }
}

/// RFC 9332 section 4.2.2: with the time-shifted FIFO the head of C waits for at most 50 ms longer than what goes
/// before it.
#[test]
fn a_time_shifted_fifo_bounds_the_wait_of_classic_packets() {
    let mut close = 0;
    for seed in 1..=12 {
        let arrivals = traffic(seed, 30);
        let params = "scheduler = \"ts-fifo\"";
        let fates = run_quell("dualpi2", params, &arrivals, 31_000_000_000, Seed(seed).stream("aqm"));
        let served = Served { arrivals: &arrivals, fates: &fates };
        for (now, l, c) in served.l_before_c() {
            let Some(c) = c else { continue };
            let (waited_l, waited_c) = (now - arrivals[l].0, now - arrivals[c].0);
            assert!(waited_c <= waited_l + 50_000_000, "seed {seed}: {waited_c} ns behind {waited_l} ns");
            close += (waited_c + 1_200_000 > waited_l + 50_000_000) as u32;
        }
    }
    assert!(close > 50, "the bound was met {close} times");
}

/// RFC 9332 section 4.2.2: with a weight of 1/16 the head of C waits for the serialization of 15 packets of L, and
/// the one that completes them.
#[test]
fn weighted_round_robin_starves_no_classic_packet() {
    let mut most = 0;
    for seed in 1..=12 {
        let arrivals = traffic(seed, 30);
        let fates = run_quell("dualpi2", "", &arrivals, 31_000_000_000, Seed(seed).stream("aqm"));
        let served = Served { arrivals: &arrivals, fates: &fates };
        let (mut bytes, mut head) = (0, None);
        for (_, l, c) in served.l_before_c() {
            if c.is_none() || c != head {
                (bytes, head) = (0, c);
            }
            if c.is_some() {
                bytes += arrivals[l].1.bytes;
                most = most.max(bytes);
                assert!(bytes <= 16 * 1500 + 1500, "seed {seed}: {bytes} B before one packet");
            }
        }
    }
    assert!(most > 14 * 1500, "at most {most} B went before");
}
