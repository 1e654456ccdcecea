//! Flow queues against their descriptions, transcribed without looking at the code: decision for decision on
//! random sequences; and the laws that they promise.

mod common;

use std::collections::VecDeque;

use common::{Pkt, Run, random_steps};
use quell_aqm::fq_codel::{FqCodelParams, Rules};
use quell_aqm::{Discipline, Ecn, Link, Seed};
use quell_queue::{Dequeued, Limit, Parallel, Qdisc};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

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
    ce_threshold: Option<Duration>,
    linux: bool,
    dropped: Vec<usize>,
}

impl FqCoDel {
    fn enqueue(&mut self, now: Time, queue: usize, pkt: Pkt) {
        self.maxpacket = self.maxpacket.max(pkt.bytes);
        self.scheduler.put(now, queue, pkt);
        if self.scheduler.packets() <= self.limit {
            return;
        }
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
        let rules = if seed % 4 == 3 { Rules::Linux } else { Rules::Rfc };
        let linux = rules == Rules::Linux;
        let params = FqCodelParams {
            flows: [4, 16, 1024][seed as usize % 3],
            quantum: Bytes::new([1514, 300, 700][seed as usize / 3 % 3]),
            limit: [40, 10240, 90][seed as usize / 2 % 3],
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

/// One that comes back with a packet each time that its queue is empty is not new for ever: what waits in the
/// old queues gets its turns (RFC 8290 section 4.2).
#[test]
fn no_queue_starves() {
    for rules in [Rules::Rfc, Rules::Linux] {
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
