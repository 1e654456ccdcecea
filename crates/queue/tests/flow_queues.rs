//! Flow queues against their descriptions, transcribed without looking at the code: decision for decision on
//! random sequences; and the laws that they promise.

use std::collections::VecDeque;

use crate::common::{Pkt, Run, random_steps};
use quell_aqm::cake::{CakeParams, Diffserv, Framing, Isolation, Layer, on_wire};
use quell_aqm::fq_codel::{FqCodelParams, FqCodelRules};
use quell_aqm::fq_pie::{FqPieParams, FqPieRules};
use quell_aqm::pie::{DelayFrom, PieParams, Scheme};
use quell_aqm::sfq::SfqParams;
use quell_aqm::{Aqm, Ctx, Discipline, Ecn, Hosts, Link, QueueView, Seed, Verdict};
use quell_queue::{Dequeued, Dropped, Fifo, Limit, Parallel, Qdisc};
use quell_units::{BitRate, Bytes, Duration, Packets, QueueSize, Time};

/// RFC 8290 section 4: the lists, the credits, and queues with what waits in them.
struct Scheduler {
    queues: Vec<VecDeque<(Time, Pkt)>>,
    credits: Vec<i64>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    quantum: i64,
    /// An empty new queue leaves unless there are old ones.
    linux: bool,
}

impl Scheduler {
    fn new(queues: usize, quantum: i64, linux: bool) -> Self {
        Scheduler {
            queues: vec![VecDeque::new(); queues],
            credits: vec![0; queues],
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum,
            linux,
        }
    }

    fn bytes(&self) -> u64 {
        self.queues.iter().flatten().map(|(_, p)| p.bytes).sum()
    }

    fn packets(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    fn put(&mut self, now: Time, queue: usize, pkt: Pkt) {
        self.queues[queue].push_back((now, pkt));
        self.activate(queue);
    }

    fn activate(&mut self, queue: usize) {
        if !self.new.contains(&queue) && !self.old.contains(&queue) {
            self.new.push_back(queue);
            self.credits[queue] = self.quantum;
        }
    }

    /// Section 4.2; `take` is the queue's AQM, which gives a packet unless the queue runs empty.
    fn dequeue<S>(
        &mut self,
        state: &mut S,
        mut take: impl FnMut(&mut Self, &mut S, usize) -> Option<Pkt>,
    ) -> Option<Pkt> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let queue = *list.front()?;
            if self.credits[queue] <= 0 {
                self.credits[queue] += self.quantum;
                list.pop_front();
                self.old.push_back(queue);
                continue;
            }
            if let Some(pkt) = take(self, state, queue) {
                self.credits[queue] -= pkt.bytes as i64;
                return Some(pkt);
            }
            if from_new {
                self.new.pop_front();
                if !self.linux || !self.old.is_empty() {
                    self.old.push_back(queue);
                }
            } else {
                self.old.pop_front();
            }
        }
    }
}

/// RFC 8289 section 5's variables of a queue.
#[derive(Clone, Copy, Default)]
struct CoDel {
    first_above_time: Option<Time>,
    drop_next: Time,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

struct FqCoDel {
    scheduler: Scheduler,
    codel: Vec<CoDel>,
    target: Duration,
    interval: Duration,
    maxpacket: u64,
    limit: usize,
    memory_limit: u64,
    ce_threshold: Option<Duration>,
    linux: bool,
    dropped: Vec<usize>,
}

impl FqCoDel {
    fn enqueue(&mut self, now: Time, queue: usize, pkt: Pkt) {
        self.maxpacket = self.maxpacket.max(pkt.bytes);
        self.scheduler.put(now, queue, pkt);
        while self.scheduler.packets() > self.limit || self.scheduler.bytes() > self.memory_limit {
            self.make_room();
        }
    }

    /// Section 4.1: half of the packets of the fattest queue, and 64 at most.
    fn make_room(&mut self) {
        let size = |q: &VecDeque<(Time, Pkt)>| q.iter().map(|(_, p)| p.bytes).sum::<u64>();
        let sizes: Vec<u64> = self.scheduler.queues.iter().map(size).collect();
        let most = *sizes.iter().max().unwrap();
        let fattest = sizes.iter().position(|s| *s == most).unwrap();
        let half = (self.scheduler.queues[fattest].len() / 2).clamp(1, 64);
        let (mut n, mut gone) = (0, 0);
        loop {
            let (_, head) = self.scheduler.queues[fattest].pop_front().unwrap();
            self.dropped.push(head.number);
            n += 1;
            gone += head.bytes;
            if self.linux {
                self.codel[fattest].count += 1;
            }
            let enough = if self.linux { n == 64 || gone >= most / 2 } else { n == half };
            if enough {
                break;
            }
        }
    }

    fn law(&self, t: Time, count: u32) -> Time {
        t + Duration::from_secs_f64(self.interval.as_secs_f64() / f64::from(count).sqrt())
    }

    fn do_dequeue(&mut self, s: &mut Scheduler, queue: usize, now: Time) -> (Option<(Time, Pkt)>, bool) {
        let Some((at, pkt)) = s.queues[queue].pop_front() else {
            self.codel[queue].first_above_time = None;
            return (None, false);
        };
        let c = &mut self.codel[queue];
        let mut ok = false;
        if now - at < self.target || s.bytes() <= self.maxpacket {
            c.first_above_time = None;
        } else {
            match c.first_above_time {
                None => c.first_above_time = Some(now + self.interval),
                Some(t) => ok = now >= t,
            }
        }
        (Some((at, pkt)), ok)
    }

    /// RFC 8289 section 5.5; a packet that can be marked is, and leaves.
    fn take(&mut self, s: &mut Scheduler, queue: usize, now: Time) -> Option<Pkt> {
        let (mut p, mut ok) = self.do_dequeue(s, queue, now);
        if self.codel[queue].dropping {
            if !ok {
                self.codel[queue].dropping = false;
            }
            while self.codel[queue].dropping && now >= self.codel[queue].drop_next {
                self.codel[queue].count += 1;
                let (at, mut pkt) = p.unwrap();
                if pkt.ecn.is_capable() {
                    pkt.ecn = Ecn::Ce;
                    self.codel[queue].drop_next =
                        self.law(self.codel[queue].drop_next, self.codel[queue].count);
                    p = Some((at, pkt));
                    break;
                }
                self.dropped.push(pkt.number);
                (p, ok) = self.do_dequeue(s, queue, now);
                if ok {
                    self.codel[queue].drop_next =
                        self.law(self.codel[queue].drop_next, self.codel[queue].count);
                } else {
                    self.codel[queue].dropping = false;
                }
            }
        } else if ok {
            let (at, mut pkt) = p.unwrap();
            let c = self.codel[queue];
            let delta = c.count - c.lastcount;
            // A pending drop that is not due yet is recent as well.
            let recent = now < c.drop_next + self.interval * 16;
            let count = if delta > 1 && recent { delta } else { 1 };
            let drop_next = self.law(now, count);
            self.codel[queue] = CoDel { count, lastcount: count, drop_next, dropping: true, ..c };
            if pkt.ecn.is_capable() {
                pkt.ecn = Ecn::Ce;
                p = Some((at, pkt));
            } else {
                self.dropped.push(pkt.number);
                (p, ok) = self.do_dequeue(s, queue, now);
                if !ok {
                    self.codel[queue].dropping = false;
                } else if now >= drop_next {
                    unreachable!("an interval is longer than nothing");
                }
            }
        }
        let (at, mut pkt) = p?;
        if self.ce_threshold.is_some_and(|t| now - at > t) && pkt.ecn.is_capable() {
            pkt.ecn = Ecn::Ce;
        }
        Some(pkt)
    }

    fn dequeue(&mut self, now: Time) -> Option<Pkt> {
        let mut s = std::mem::replace(&mut self.scheduler, Scheduler::new(0, 1, false));
        let pkt = s.dequeue(self, |s, me, queue| me.take(s, queue, now));
        self.scheduler = s;
        pkt
    }
}

fn link(rate: u64, buffer: u32) -> Link {
    Link {
        rate: BitRate::from_bps(rate),
        buffer: QueueSize::Packets(buffer.into()),
        mean_packet: Bytes::new(1000),
    }
}

#[test]
fn fq_codel_decides_as_its_rfc_says() {
    let (mut steps, mut drops, mut marks, mut evictions) = (0, 0, 0, 0);
    for seed in 0..24u64 {
        let rules = if seed % 4 == 3 { FqCodelRules::Linux } else { FqCodelRules::Rfc };
        let linux = rules == FqCodelRules::Linux;
        let params = FqCodelParams {
            flows: [4, 16, 1024][seed as usize % 3],
            quantum: Bytes::new([1514, 300, 700][seed as usize / 3 % 3]),
            limit: [40, 10240, 90][seed as usize / 2 % 3],
            memory_limit: Bytes::new([32 << 20, 60_000][seed as usize / 6 % 2]),
            interval: Duration::from_millis(20),
            ce_threshold: (seed % 5 == 4).then(|| Duration::from_millis(15)),
            rules,
            hash_key: Some(seed),
            ..Default::default()
        };
        let link = link(8_000_000, 100_000);
        let mut real = params.build(&link).unwrap();
        let mut twin = FqCoDel {
            scheduler: Scheduler::new(params.flows as usize, params.quantum.get() as i64, linux),
            codel: vec![CoDel::default(); params.flows as usize],
            target: params.target,
            interval: params.interval,
            maxpacket: 0,
            limit: params.limit as usize,
            memory_limit: params.memory_limit.get(),
            ce_threshold: params.ce_threshold,
            linux,
            dropped: Vec::new(),
        };
        let mut classifier = real.clone();
        real.draw(&mut Seed(9).stream("must not matter"));
        let queue =
            Parallel::new(real, Seed(seed).stream("fq"), Limit::of(link.buffer), true, Some(link.rate));
        let mut run = Run::new(queue, link.rate);
        random_steps(seed, 6000, |step, now, arrival| {
            steps += 1;
            let (mut got, mut nothing) = (Vec::new(), false);
            match arrival {
                Some(pkt) => {
                    let lane = classifier.classify(now, &pkt.meta(now));
                    run.enqueue(now, pkt, &mut got);
                    twin.enqueue(now, lane, pkt);
                    evictions += got.len();
                }
                None => {
                    let sent = run.dequeue(now, &mut got);
                    let want = twin.dequeue(now);
                    assert_eq!(sent, want, "seed {seed}, step {step}: what is sent");
                    nothing = sent.is_none();
                    marks += usize::from(sent.is_some_and(|p| p.ecn == Ecn::Ce));
                    drops += got.len();
                }
            }
            assert_eq!(got, std::mem::take(&mut twin.dropped), "seed {seed}, step {step}: what is dropped");
            assert_eq!(run.queue.view().packets.get() as usize, twin.scheduler.packets());
            nothing
        });
    }
    assert!(steps > 100_000 && drops > 1000 && marks > 1000 && evictions > 1000);
    println!("{steps} steps, {drops} drops, {marks} marks, {evictions} evictions");
}

/// A buffer of one lane each for greedy flows: packets of any size, and the bytes that each has sent.
#[test]
fn greedy_flows_get_the_same_to_within_a_quantum_and_a_packet() {
    let params = FqCodelParams {
        hash_key: Some(1),
        target: Duration::from_secs(50),
        interval: Duration::from_secs(100),
        ..Default::default()
    };
    let link = link(8_000_000, 100_000);
    let mut queue = Parallel::new(
        params.build(&link).unwrap(),
        Seed(1).stream("fair"),
        Limit::of(link.buffer),
        false,
        None,
    );
    let sizes = [1514, 40, 700, 9000, 1000];
    let mut number = 0;
    let mut put = |queue: &mut Parallel<_, _>, flow: u32| {
        number += 1;
        let pkt = Pkt { number, bytes: sizes[flow as usize], flow, ecn: Ecn::NotEct };
        let _ = queue.enqueue(Time::ZERO, pkt, &mut |_| panic!("there is room"));
    };
    for flow in 0..5 {
        (0..300).for_each(|_| put(&mut queue, flow));
    }
    let mut sent = [0i64; 5];
    for _ in 0..20_000 {
        let Dequeued::Packet(pkt, _) = queue.dequeue(Time::ZERO, &mut |_| {}) else {
            panic!("all are greedy")
        };
        sent[pkt.flow as usize] += pkt.bytes as i64;
        put(&mut queue, pkt.flow);
        let (least, most) = (*sent.iter().min().unwrap(), *sent.iter().max().unwrap());
        // Of each, a quantum that has not been used up and a packet that was longer than what was left.
        assert!(most - least <= 1514 + 9000, "{sent:?}");
    }
}

/// A flow that sends less than a quantum per turn waits for the packet in transmission alone.
#[test]
fn a_sparse_flow_does_not_wait() {
    let params = FqCodelParams { hash_key: Some(3), ..Default::default() };
    let link = link(8_000_000, 100_000);
    let queue = Parallel::new(
        params.build(&link).unwrap(),
        Seed(1).stream("sparse"),
        Limit::of(link.buffer),
        false,
        None,
    );
    let mut run = Run::new(queue, link.rate);
    let mut now = Time::ZERO;
    let mut waits = Vec::new();
    let mut since = None;
    for step in 0..5000 {
        let mut gone = Vec::new();
        for flow in 0..10 {
            run.enqueue(now, Pkt { number: step, bytes: 1000, flow, ecn: Ecn::NotEct }, &mut gone);
        }
        if step % 25 == 0 {
            run.enqueue(now, Pkt { number: step, bytes: 100, flow: 77, ecn: Ecn::NotEct }, &mut gone);
            since = Some(now);
        }
        let sent = run.dequeue(now, &mut gone).unwrap();
        if sent.flow == 77 {
            waits.push(now - since.take().unwrap());
        }
        now += link.rate.transmission_time(Bytes::new(sent.bytes));
    }
    assert_eq!(waits.len(), 200);
    // Ten flows that begin at once are new as well, and the first round is a long one.
    assert!(waits[2..].iter().all(|w| *w <= Duration::from_millis(1)), "{:?}", waits[2..].iter().max());
}

/// What waits never takes more than `memory_limit`, and the flow that has most of it pays: half of the fattest queue at
/// once, and 64 packets at most.
#[test]
fn fq_codel_keeps_to_its_memory() {
    let params = FqCodelParams {
        hash_key: Some(3),
        memory_limit: Bytes::new(100_000),
        target: Duration::from_secs(50),
        interval: Duration::from_secs(100),
        ..Default::default()
    };
    let link = link(8_000_000, 100_000);
    let queue = Parallel::new(
        params.build(&link).unwrap(),
        Seed(1).stream("memory"),
        Limit::of(link.buffer),
        false,
        None,
    );
    let mut run = Run::new(queue, link.rate);
    let (mut now, mut fat, mut thin) = (Time::ZERO, 0, 0);
    let mut batches = std::collections::BTreeSet::new();
    for step in 0..4000 {
        for _ in 0..2 {
            let mut gone = Vec::new();
            run.enqueue(now, Pkt { number: 0, bytes: 500, flow: 0, ecn: Ecn::NotEct }, &mut gone);
            assert!(gone.iter().all(|flow| *flow == 0), "the thin flow pays");
            fat += gone.len();
            batches.insert(gone.len());
            assert!(run.queue.view().bytes.get() <= 100_000);
        }
        if step % 4 == 0 {
            let mut gone = Vec::new();
            run.enqueue(now, Pkt { number: 1, bytes: 1000, flow: 1, ecn: Ecn::NotEct }, &mut gone);
            fat += gone.len();
            assert!(gone.iter().all(|flow| *flow == 0), "the thin flow pays");
        }
        let sent = run.dequeue(now, &mut Vec::new()).unwrap();
        thin += usize::from(sent.flow == 1);
        now += Duration::from_micros(sent.bytes);
    }
    // Of 200 packets half would be 100.
    assert_eq!(batches, [0, 64].into());
    assert!(fat > 3000 && thin >= 999, "{fat} {thin}");
}

/// A tunnel is one flow to a queue that does not look into it (RFC 8290 section 6.2): its packets share one queue,
/// which is one CoDel, and all that are in it together get what one flow outside of it gets.
#[test]
fn a_tunnel_is_one_flow() {
    let link = link(8_000_000, 1000);
    let params =
        FqCodelParams { hash_key: Some(3), interval: Duration::from_millis(20), ..Default::default() };
    let codel = quell_aqm::codel::CodelParams { interval: params.interval, ..Default::default() };
    let limit = Limit::of(link.buffer);
    // Alone it is CoDel: decision for decision.
    let mut drops = 0;
    for seed in 0..10 {
        let rng = || Seed(seed).stream("tunnel");
        let mut fq = Run::new(
            Parallel::new(params.build(&link).unwrap(), rng(), limit, true, Some(link.rate)),
            link.rate,
        );
        let mut fifo: Fifo<Pkt, _> =
            Fifo::new(codel.build(&link).unwrap(), rng(), limit, true, Some(link.rate));
        random_steps(seed, 4000, |step, now, arrival| {
            let (mut of_fq, mut of_fifo) = (Vec::new(), Vec::new());
            let Some(pkt) = arrival else {
                let sent = fq.dequeue(now, &mut of_fq);
                // The transmission before has ended.
                if fifo.is_empty() {
                    fifo.idle(now);
                }
                let given = fifo.dequeue(now, &mut |d| of_fifo.push(d.packet.number));
                let want = match given {
                    Dequeued::Packet(pkt, _) => Some(pkt),
                    _ => None,
                };
                assert_eq!((sent, &of_fq), (want, &of_fifo), "seed {seed}, step {step}");
                drops += of_fq.len();
                return sent.is_none();
            };
            let inside = Pkt { flow: 7, ..pkt };
            fq.enqueue(now, inside, &mut of_fq);
            let _ = fifo.enqueue(now, inside, &mut |d| of_fifo.push(d.packet.number));
            assert_eq!(of_fq, of_fifo);
            false
        });
    }
    assert!(drops > 300, "{drops}");

    // Beside a flow outside: ten flows get a half in a tunnel, ten elevenths without. A sparse flow waits with the
    // others if it is in the tunnel, and for one packet if it is not.
    for (tunnel, share) in [(true, 0.5), (false, 1.0 / 11.0)] {
        let queue = Parallel::new(
            params.build(&link).unwrap(),
            Seed(1).stream("tunnel"),
            limit,
            false,
            Some(link.rate),
        );
        let mut run = Run::new(queue, link.rate);
        let inside = |flow: u32| if tunnel { 7 } else { 10 + flow };
        const SPARSE: usize = 1;
        let (mut now, mut sent, mut outside) = (Time::ZERO, 0, 0);
        let (mut since, mut waits) = (VecDeque::new(), Vec::new());
        for step in 0..6000 {
            let mut gone = Vec::new();
            // As much as the link takes, of each.
            for flow in 0..10 {
                if step % 10 == flow as usize {
                    run.enqueue(
                        now,
                        Pkt { number: 0, bytes: 1000, flow: inside(flow), ecn: Ecn::NotEct },
                        &mut gone,
                    );
                }
            }
            run.enqueue(now, Pkt { number: 0, bytes: 1000, flow: 3, ecn: Ecn::NotEct }, &mut gone);
            if !tunnel {
                for flow in 0..10 {
                    run.enqueue(
                        now,
                        Pkt { number: 0, bytes: 1000, flow: inside(flow), ecn: Ecn::NotEct },
                        &mut gone,
                    );
                }
            }
            if step % 50 == 0 {
                run.enqueue(
                    now,
                    Pkt { number: SPARSE, bytes: 100, flow: inside(20), ecn: Ecn::NotEct },
                    &mut gone,
                );
                since.push_back(now);
            }
            let pkt = run.dequeue(now, &mut gone).unwrap();
            if pkt.number == SPARSE {
                waits.push(now - since.pop_front().unwrap());
            } else {
                sent += 1;
                outside += usize::from(pkt.flow == 3);
            }
            // What CoDel or a full buffer drops of the sparse flow was the oldest of it.
            gone.iter().filter(|n| **n == SPARSE).for_each(|_| _ = since.pop_front());
            now += link.rate.transmission_time(Bytes::new(pkt.bytes));
        }
        let got = f64::from(outside as u32) / f64::from(sent as u32);
        waits.sort();
        let median = waits[waits.len() / 2];
        println!("tunnel {tunnel}: {got:.3} outside, the sparse flow waits {median} in the median");
        assert!((got - share).abs() < 0.02, "{tunnel}: {got}");
        assert_eq!(median > Duration::from_millis(5), tunnel, "{median}");
        assert!(tunnel || median <= Duration::from_millis(1), "{median}");
    }
}

/// One that comes back with a packet each time that its queue is empty is not new for ever: what waits in the
/// old queues gets its turns (RFC 8290 section 4.2).
#[test]
fn no_queue_starves() {
    for rules in [FqCodelRules::Rfc, FqCodelRules::Linux] {
        let params = FqCodelParams { hash_key: Some(3), rules, ..Default::default() };
        let link = link(8_000_000, 100_000);
        let mut queue = Parallel::new(
            params.build(&link).unwrap(),
            Seed(1).stream("starve"),
            Limit::of(link.buffer),
            true,
            None,
        );
        let mut now = Time::ZERO;
        let (mut bulk, mut total) = (0u64, 0u64);
        let put = |queue: &mut Parallel<_, _>, now, flow, bytes| {
            let _ = queue.enqueue(now, Pkt { number: 0, bytes, flow, ecn: Ecn::Ect0 }, &mut |_| {});
        };
        for _ in 0..50 {
            put(&mut queue, now, 0, 1514);
        }
        let mut longest = 0;
        let mut turn = 0;
        for _ in 0..20_000 {
            // Eight that come back by turns, a packet of a quantum each.
            turn += 1;
            put(&mut queue, now, 100 + turn % 8, 1514);
            let Dequeued::Packet(pkt, _) = queue.dequeue(now, &mut |_| {}) else { panic!() };
            now += Duration::from_micros(1514);
            total += 1;
            if pkt.flow == 0 {
                bulk += 1;
                longest = 0;
                put(&mut queue, now, 0, 1514);
            }
            longest += 1;
            assert!(longest < 40, "{rules:?}: the bulk flow waits for {longest} packets");
        }
        assert!(bulk * 12 > total, "{rules:?}: {bulk} of {total}");
    }
}

/// FQ-PIE is the scheduler above with a PIE for each queue, every one of which is updated: the updates that are left
/// out change nothing.
#[test]
fn fq_pie_is_a_pie_for_each_queue() {
    let (mut steps, mut signals, mut overflows) = (0, 0, 0);
    for seed in 0..18u64 {
        // The last ones are Linux's, whose delay comes from departures.
        let linux = seed >= 12;
        let params = FqPieParams {
            flows: [1, 4, 64][seed as usize % 3],
            quantum: Bytes::new([1514, 300][seed as usize % 2]),
            limit: [60, 10240][seed as usize / 2 % 2],
            target: Duration::from_millis(5),
            max_burst: Duration::from_millis(20),
            alpha: 40.0,
            beta: 100.0,
            delay_from: match seed / 4 {
                1 => DelayFrom::DequeueRate,
                2 => DelayFrom::LinkRate,
                _ => DelayFrom::Departures,
            },
            rules: if linux { FqPieRules::Linux } else { FqPieRules::Draft },
            hash_key: Some(seed),
            ..Default::default()
        };
        let link = link(8_000_000, 100_000);
        let pie = PieParams {
            scheme: if linux { Scheme::Linux } else { Scheme::Standard },
            target: params.target,
            max_burst: params.max_burst,
            alpha: params.alpha,
            beta: params.beta,
            delay_from: Some(params.delay_from),
            ..Default::default()
        };
        let mut pies = vec![pie.build(&link).unwrap(); params.flows as usize];
        let real = params.build(&link).unwrap();
        let mut classifier = real.clone();
        let rng = || Seed(seed).stream("fq");
        let mut rng_of_twin = rng();
        let mut scheduler = Scheduler::new(params.flows as usize, params.quantum.get() as i64, linux);
        let mut sending: Option<usize> = None;
        let queue = Parallel::new(real, rng(), Limit::of(link.buffer), true, Some(link.rate));
        let mut run = Run::new(queue, link.rate);
        random_steps(seed, 6000, |step, now, arrival| {
            steps += 1;
            let (mut got, mut nothing) = (Vec::new(), false);
            let view = |s: &Scheduler, queue: usize| QueueView {
                packets: Packets::new(s.queues[queue].len() as u32),
                bytes: Bytes::new(s.queues[queue].iter().map(|(_, p)| p.bytes).sum()),
                head_since: s.queues[queue].front().map(|(at, _)| *at),
                link_rate: Some(link.rate),
            };
            while let Some(due) = pies[0].next_update().filter(|due| *due <= now) {
                for (queue, pie) in pies.iter_mut().enumerate() {
                    pie.on_update(&mut Ctx::new(due, view(&scheduler, queue), &mut rng_of_twin));
                }
            }
            match arrival {
                Some(pkt) => {
                    let lane = classifier.classify(now, &pkt.meta(now));
                    let mut cx = Ctx::new(now, view(&scheduler, lane), &mut rng_of_twin);
                    let verdict = pies[lane].on_enqueue(&mut cx, &pkt.meta(now));
                    let full = scheduler.packets() >= params.limit as usize;
                    let mut want = Vec::new();
                    if verdict.drops(&pkt.meta(now)) {
                        want.push(pkt.number);
                    } else if full {
                        // It has its turn all the same.
                        scheduler.activate(lane);
                        let mut cx = Ctx::new(now, view(&scheduler, lane), &mut rng_of_twin);
                        pies[lane].on_overflow(&mut cx, &pkt.meta(now));
                        overflows += 1;
                        want.push(pkt.number);
                    } else {
                        let ecn = if verdict == Verdict::Pass { pkt.ecn } else { Ecn::Ce };
                        scheduler.put(now, lane, Pkt { ecn, ..pkt });
                    }
                    signals += usize::from(verdict != Verdict::Pass);
                    run.enqueue(now, pkt, &mut got);
                    assert_eq!(got, want, "seed {seed}, step {step}");
                }
                None => {
                    // What was sent has left.
                    if let Some(queue) = sending.take().filter(|queue| scheduler.queues[*queue].is_empty()) {
                        pies[queue].on_idle(now);
                    }
                    let mut served = None;
                    let want = scheduler.dequeue(&mut served, |s, served, queue| {
                        let (at, pkt) = s.queues[queue].pop_front()?;
                        *served = Some((queue, at));
                        Some(pkt)
                    });
                    if let (Some((queue, at)), Some(pkt)) = (served, want) {
                        if pies[queue].departures() != quell_aqm::Departures::Ignored {
                            let mut cx = Ctx::new(now, view(&scheduler, queue), &mut rng_of_twin);
                            let _ = pies[queue].on_dequeue(&mut cx, &pkt.meta(at));
                        }
                        sending = Some(queue);
                    }
                    let sent = run.dequeue(now, &mut got);
                    nothing = sent.is_none();
                    assert_eq!(sent, want, "seed {seed}, step {step}");
                }
            }
            nothing
        });
    }
    assert!(steps > 50_000 && signals > 1000 && overflows > 300, "{steps}, {signals}, {overflows}");
}

/// Serves a shaped queue for so long with flows that are always backlogged, and gives the packets sent with their times.
fn served(params: &CakeParams, rate: u64, flows: &[(Pkt, u8, Hosts)], seconds: f64) -> Vec<(Time, Pkt)> {
    let link = Link { rate: BitRate::from_bps(rate), ..link(rate, 1_000_000) };
    let mut queue = Parallel::new(
        params.build(&link).unwrap(),
        Seed(1).stream("cake"),
        Limit::of(link.buffer),
        true,
        Some(link.rate),
    );
    let end = Time::ZERO + Duration::from_secs_f64(seconds);
    let mut now = Time::ZERO;
    let put = |queue: &mut Parallel<Labeled, _>, now: Time, i: usize| {
        let (pkt, dscp, hosts) = flows[i];
        let _ = queue.enqueue(now, Labeled { pkt: Pkt { number: i, ..pkt }, dscp, hosts }, &mut |_| {});
    };
    for i in 0..flows.len() {
        (0..20).for_each(|_| put(&mut queue, now, i));
    }
    let mut sent = Vec::new();
    while now < end {
        let mut lost = Vec::new();
        match queue.dequeue(now, &mut |d| lost.push(d.packet.pkt.number)) {
            Dequeued::Packet(p, _) => {
                sent.push((now, p.pkt));
                now += link.rate.transmission_time(Bytes::new(p.pkt.bytes));
                lost.push(p.pkt.number);
            }
            Dequeued::NotBefore(time) => now = time,
            Dequeued::Nothing => panic!("they are greedy"),
        }
        lost.into_iter().for_each(|i| put(&mut queue, now, i));
    }
    sent
}

/// A packet of a host, with a DSCP.
#[derive(Clone, Copy, Debug)]
struct Labeled {
    pkt: Pkt,
    dscp: u8,
    hosts: Hosts,
}

impl quell_queue::Packet for Labeled {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.pkt.bytes)
    }
    fn ecn(&self) -> Ecn {
        self.pkt.ecn
    }
    fn set_ce(&mut self) {
        self.pkt.ecn = Ecn::Ce;
    }
    fn flow(&self) -> quell_aqm::FlowId {
        quell_aqm::FlowId(self.pkt.flow)
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn hosts(&self) -> Hosts {
        self.hosts
    }
}

fn greedy(flow: u32, bytes: u64, source: u16, destination: u16, dscp: u8) -> (Pkt, u8, Hosts) {
    (Pkt { number: 0, bytes, flow, ecn: Ecn::Ect0 }, dscp, Hosts { source, destination })
}

/// Whatever the framing, what goes over the wire never exceeds the shaper's rate by more than a packet, over any
/// time, and does not stay behind it.
#[test]
fn cake_shapes_to_what_is_on_the_wire() {
    for framing in [Framing::None, Framing::Atm, Framing::Ptm] {
        let (overhead, rate) = (22, 4_000_000.0);
        let params = CakeParams {
            bandwidth: Some(BitRate::from_bps(rate as u64)),
            overhead: Bytes::new(overhead),
            framing,
            hash_key: Some(1),
            ..Default::default()
        };
        let flows = [greedy(0, 1500, 0, 0, 0), greedy(1, 64, 0, 0, 0), greedy(2, 700, 0, 0, 46)];
        let sent = served(&params, 10_000_000, &flows, 20.0);
        let wire: Vec<f64> =
            sent.iter().map(|(_, p)| on_wire(p.bytes, overhead, 0, framing) as f64).collect();
        let mut before = 0.0;
        let mut least_slack = 0.0f64;
        for ((at, _), bytes) in sent.iter().zip(&wire) {
            // What the shaper allows by then, less what has been sent: between a packet too much and one too little.
            let slack = at.as_secs_f64() * rate / 8.0 - before;
            least_slack = least_slack.max(slack);
            assert!(slack >= -1e-3, "{framing:?} at {at}: {slack}");
            before += bytes;
        }
        // A packet at the link's 10 Mbit/s may hold up one that is due, for 1.2 ms: 600 bytes at 4 Mbit/s.
        assert!(least_slack <= 700.0, "{framing:?}: {least_slack} bytes behind");
    }
}

/// By tc's arithmetic a frame of 1514 bytes on ATM with an overhead of 32 is 1500 + 32 bytes, 32 cells, 1696 bytes: a
/// shaper of 2 Mbit/s sends 147.4 of them a second. Without an overhead the frame counts as it is.
#[test]
fn cake_counts_overhead_from_the_ip_packet() {
    let per_second = |layer, overhead, framing| {
        let params = CakeParams {
            bandwidth: Some(BitRate::from_bps(2_000_000)),
            overhead: Bytes::new(overhead),
            layer,
            framing,
            hash_key: Some(1),
            ..Default::default()
        };
        served(&params, 100_000_000, &[greedy(0, 1514, 0, 0, 0)], 20.0).len() as f64 / 20.0
    };
    for (layer, overhead, framing, wire) in [
        (Layer::Ethernet, 32, Framing::Atm, 32 * 53),
        (Layer::Ip, 32, Framing::Atm, 33 * 53),
        (Layer::Ethernet, 38, Framing::None, 1538),
        (Layer::Ethernet, 0, Framing::None, 1514),
        (Layer::Ethernet, 0, Framing::Atm, 32 * 53),
    ] {
        let (sent, want) = (per_second(layer, overhead, framing), 250_000.0 / f64::from(wire));
        assert!((sent - want).abs() < 0.1, "{layer:?} {overhead} {framing:?}: {sent} {want}");
    }
}

/// One host has a flow, another nine, and both get half; with isolation by flows alone, one tenth and nine.
#[test]
fn cake_shares_among_hosts_first() {
    let share = |isolation, swap: bool| {
        let params = CakeParams { isolation, hash_key: Some(7), ..Default::default() };
        let flows: Vec<_> = (0..10u32)
            .map(|flow| {
                let host = 1 + u16::from(flow > 0);
                let (source, destination) = if swap { (9, host) } else { (host, 100 + flow as u16) };
                greedy(flow, 1000, source, destination, 0)
            })
            .collect();
        let sent = served(&params, 10_000_000, &flows, 20.0);
        sent.iter().filter(|(_, p)| p.flow == 0).count() as f64 / sent.len() as f64
    };
    for (isolation, swap, want) in [
        (Isolation::Triple, false, 0.5),
        (Isolation::DualSource, false, 0.5),
        (Isolation::DualDestination, true, 0.5),
        (Isolation::DualDestination, false, 0.1),
        (Isolation::Flows, false, 0.1),
        (Isolation::Source, false, 0.5),
        (Isolation::Destination, true, 0.5),
        (Isolation::Hosts, true, 0.5),
    ] {
        let got = share(isolation, swap);
        assert!((got - want).abs() < 0.01, "{isolation:?}, {swap}: {got}, not {want}");
    }
}

/// All tins want more than the rate: bulk gets its sixteenth, voice and video what their thresholds say, and best
/// effort what is left.
/// Sources that do not answer, of 1, 2, 4 and 8 Mbit/s at 10, get max-min shares, as in Linux (1.00, 2.00, 3.50 and 3.50
/// there): COBALT empties no queue that would have had its turn.
#[test]
fn cake_gives_max_min_shares_to_those_that_do_not_answer() {
    const BYTES: u64 = 1514;
    let offered = [1e6, 2e6, 4e6, 8e6];
    let (time, from, end) = (Duration::from_secs_f64, Duration::from_secs(10), Duration::from_secs(40));
    let params = CakeParams {
        bandwidth: Some(BitRate::from_bps(10_000_000)),
        diffserv: Diffserv::Besteffort,
        isolation: Isolation::Flows,
        hash_key: Some(1),
        ..Default::default()
    };
    let link = link(10_000_000, 10_240);
    let mut queue = Parallel::new(
        params.build(&link).unwrap(),
        Seed(1).stream("cake"),
        Limit::of(link.buffer),
        false,
        Some(link.rate),
    );
    let (mut sent, mut arrived, mut free) = ([0.0f64; 4], [0u32; 4], Time::ZERO);
    loop {
        // A packet comes early or late by up to a quarter of its time.
        let due = |flow: usize| {
            let n = arrived[flow];
            let jitter = f64::from((n.wrapping_mul(2_654_435_761) ^ flow as u32) >> 16) / 65_536.0 / 2.0;
            Time::ZERO + time((f64::from(n) + 0.25 + jitter) * BYTES as f64 * 8.0 / offered[flow])
        };
        let (at, flow) = (0..4).map(|flow| (due(flow), flow)).min().unwrap();
        while free < at {
            match queue.dequeue(free, &mut |_: Dropped<Labeled>| {}) {
                Dequeued::Packet(p, _) => {
                    if free >= Time::ZERO + from {
                        sent[p.pkt.flow as usize] += BYTES as f64 * 8.0 / (end - from).as_secs_f64();
                    }
                    free += link.rate.transmission_time(Bytes::new(BYTES));
                }
                Dequeued::NotBefore(time) => free = time,
                Dequeued::Nothing => free = at,
            }
        }
        if at >= Time::ZERO + end {
            break;
        }
        let (pkt, dscp, hosts) = greedy(flow as u32, BYTES, 1, 2, 0);
        let _ = queue.enqueue(at, Labeled { pkt, dscp, hosts }, &mut |_| {});
        arrived[flow] += 1;
    }
    for (got, want) in sent.iter().zip([1e6, 2e6, 3.5e6, 3.5e6]) {
        assert!((got / want - 1.0).abs() < 0.01, "{sent:?}");
    }
}

#[test]
fn cake_divides_the_rate_among_its_tins() {
    let params = CakeParams {
        bandwidth: Some(BitRate::from_bps(8_000_000)),
        diffserv: Diffserv::Diffserv4,
        hash_key: Some(1),
        ..Default::default()
    };
    let flows = [(0, 0), (1, 8), (2, 34), (3, 46)].map(|(flow, dscp)| greedy(flow, 1000, 0, 0, dscp));
    let sent = served(&params, 10_000_000, &flows, 30.0);
    let share = |flow| sent.iter().filter(|(_, p)| p.flow == flow).count() as f64 / sent.len() as f64;
    for (flow, want) in [(3, 0.25), (2, 0.5), (1, 0.0625), (0, 0.1875)] {
        assert!((share(flow) - want).abs() < 0.01, "{flow}: {}, not {want}", share(flow));
    }
    // Alone, any of them gets all.
    for dscp in [0, 8, 34, 46] {
        let sent = served(&params, 10_000_000, &[greedy(0, 1000, 0, 0, dscp)], 5.0);
        assert!((sent.len() as f64 - 5000.0).abs() <= 2.0, "{dscp}: {}", sent.len());
    }
}

/// The longest queue pays for a full buffer, so a flow that stays below its share loses nothing.
#[test]
fn sfq_takes_from_the_longest() {
    let params = SfqParams { hash_key: Some(1), depth: 1000, ..Default::default() };
    let link = link(8_000_000, 50);
    let queue = Parallel::new(
        params.build(&link).unwrap(),
        Seed(1).stream("sfq"),
        Limit::of(link.buffer),
        false,
        None,
    );
    let mut run = Run::new(queue, link.rate);
    let (mut now, mut gone, mut modest) = (Time::ZERO, Vec::new(), 0);
    for step in 0..5000 {
        for _ in 0..3 {
            run.enqueue(now, Pkt { number: 0, bytes: 1000, flow: 0, ecn: Ecn::NotEct }, &mut gone);
        }
        if step % 4 == 0 {
            run.enqueue(now, Pkt { number: 1, bytes: 1000, flow: 1, ecn: Ecn::NotEct }, &mut gone);
        }
        let sent = run.dequeue(now, &mut gone).unwrap();
        modest += usize::from(sent.flow == 1);
        now += Duration::from_millis(1);
    }
    assert!(gone.iter().all(|n| *n == 0) && gone.len() > 9000);
    assert!(modest >= 1248, "{modest}");
}
