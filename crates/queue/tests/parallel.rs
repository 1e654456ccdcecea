//! The laws of queues that share a buffer, whatever comes: of an algorithm that chooses lanes at
//! random and signals at both ends, and of RED+Tail.

use std::collections::HashMap;

use proptest::prelude::*;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::red_tail::RedTailParams;
use quell_aqm::{
    Aqm, Cause, Ctx, Ecn, FlowId, Lanes, Link, PacketMeta, QueueView, Rng, Seed, Transport, Verdict,
};
use quell_queue::{Admission, Limit, Packet, Parallel, Qdisc, Queue};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
struct TestPacket {
    number: usize,
    bytes: u64,
    flow: u32,
    ecn: Ecn,
    udp: bool,
}

impl Packet for TestPacket {
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
        FlowId(self.flow)
    }
    fn transport(&self) -> Transport {
        if self.udp { Transport::Udp } else { Transport::Tcp }
    }
}

/// Chooses lanes and verdicts at random, and has an update each millisecond.
#[derive(Clone)]
struct Dice {
    lanes: usize,
    rng: Rng,
    due: Time,
}

impl Dice {
    fn new(lanes: usize, seed: u64) -> Self {
        Dice { lanes, rng: Seed(seed).stream("dice"), due: Time::from_nanos(1_000_000) }
    }

    fn verdict(&mut self) -> Verdict {
        match (self.rng.uniform() * 8.0) as u32 {
            0 => Verdict::Signal(Cause::Early),
            1 => Verdict::Drop(Cause::Early),
            _ => Verdict::Pass,
        }
    }
}

impl Lanes for Dice {
    fn count(&self) -> usize {
        self.lanes
    }
    fn join(&mut self, _: Time, _: &PacketMeta, _: Transport) -> usize {
        (self.rng.uniform() * self.lanes as f64) as usize
    }
    fn next(&mut self, _: Time, waiting: &[QueueView]) -> usize {
        let start = (self.rng.uniform() * self.lanes as f64) as usize;
        let lane = (start..start + self.lanes).map(|i| i % self.lanes);
        lane.into_iter().find(|i| waiting[*i].packets.get() > 0).expect("something waits")
    }
}

impl Aqm for Dice {
    fn on_enqueue(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) -> Verdict {
        self.verdict()
    }
    fn on_dequeue(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) -> Verdict {
        self.verdict()
    }
    fn decides_at_dequeue(&self) -> bool {
        true
    }
    fn next_update(&self) -> Option<Time> {
        Some(self.due)
    }
    fn on_update(&mut self, _: &mut Ctx<'_>) {
        self.due += Duration::from_millis(1);
    }
    fn lanes(&mut self) -> Option<&mut dyn Lanes> {
        Some(self)
    }
}

/// Watches an algorithm and keeps books of its lanes.
struct Watch<A> {
    aqm: A,
    last: Time,
    /// The lane of the arrival at hand, and of the packet that is taken.
    joins: Option<usize>,
    serves: Option<usize>,
    /// Lane 0 is empty and the algorithm knows.
    idle: bool,
    /// And did before the arrival at hand.
    was_idle: bool,
    log: Vec<(Time, Verdict)>,
    /// In which lane each arrival went, in order.
    lanes: Vec<usize>,
    updates: u64,
}

impl<A: Aqm> Watch<A> {
    fn new(aqm: A) -> Self {
        Watch {
            aqm,
            last: Time::ZERO,
            joins: None,
            serves: None,
            idle: false,
            was_idle: false,
            log: Vec::new(),
            lanes: Vec::new(),
            updates: 0,
        }
    }

    fn called(&mut self, now: Time) {
        assert!(now >= self.last, "calls come in time order");
        assert!(self.aqm.next_update().is_none_or(|due| due > now), "an update was missed");
        self.last = now;
    }
}

impl<A: Aqm> Lanes for Watch<A> {
    fn count(&self) -> usize {
        2
    }
    fn join(&mut self, now: Time, pkt: &PacketMeta, transport: Transport) -> usize {
        self.called(now);
        assert_eq!(self.joins, None, "each arrival is decided about before the next comes");
        let lane = self.aqm.lanes().unwrap().join(now, pkt, transport);
        self.joins = Some(lane);
        self.lanes.push(lane);
        lane
    }
    fn next(&mut self, now: Time, waiting: &[QueueView]) -> usize {
        self.called(now);
        assert!(waiting.iter().any(|v| v.packets.get() > 0), "something waits");
        let lane = self.aqm.lanes().unwrap().next(now, waiting);
        assert!(waiting[lane].packets.get() > 0, "the lane is not empty");
        assert!(self.idle || waiting[0].packets.get() > 0, "an empty lane 0 is told before it is passed by");
        self.serves = Some(lane);
        lane
    }
}

impl<A: Aqm> Aqm for Watch<A> {
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.called(cx.now);
        assert_eq!(cx.queue.head_since.is_some(), cx.queue.packets.get() > 0);
        let verdict = self.aqm.on_enqueue(cx, pkt);
        let dropped = match verdict {
            Verdict::Pass => false,
            Verdict::Signal(_) => !pkt.ecn.is_capable(),
            Verdict::Drop(_) => true,
        };
        let lane = self.joins.take().expect("join comes before on_enqueue");
        self.was_idle = self.idle;
        self.idle &= lane != 0 || dropped;
        self.log.push((cx.now, verdict));
        verdict
    }
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.called(cx.now);
        self.serves.take().expect("next comes before on_dequeue");
        let verdict = self.aqm.on_dequeue(cx, pkt);
        self.log.push((cx.now, verdict));
        verdict
    }
    fn decides_at_dequeue(&self) -> bool {
        self.aqm.decides_at_dequeue()
    }
    fn on_overflow(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) {
        self.called(cx.now);
        self.idle = self.was_idle;
        self.aqm.on_overflow(cx, pkt);
    }
    fn on_idle(&mut self, since: Time) {
        assert!(since >= self.last, "idleness is reported before anything later");
        assert!(!self.idle, "idleness is reported once");
        self.last = since;
        self.idle = true;
        self.aqm.on_idle(since);
    }
    fn next_update(&self) -> Option<Time> {
        self.aqm.next_update()
    }
    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        assert_eq!(self.aqm.next_update(), Some(cx.now), "an update runs when it is due");
        assert!(cx.now >= self.last, "calls come in time order");
        self.last = cx.now;
        self.aqm.on_update(cx);
        self.updates += 1;
    }
    fn lanes(&mut self) -> Option<&mut dyn Lanes> {
        Some(self)
    }
}

const RATE: BitRate = BitRate::from_bps(8_000_000);

/// A link that sends one packet after the other, and what it sent.
struct Bench<A> {
    queue: Parallel<TestPacket, Watch<A>>,
    limit: Limit,
    on_time: bool,
    busy_until: Option<Time>,
    sent: Vec<TestPacket>,
    dropped_at_head: Vec<TestPacket>,
    kept: Vec<TestPacket>,
}

impl<A: Aqm> Bench<A> {
    fn new(aqm: A, limit: Limit, on_time: bool) -> Self {
        let rng = Seed(7).stream("parallel");
        let queue = Parallel::new(Watch::new(aqm), rng, limit, true, Some(RATE));
        let (sent, dropped_at_head, kept) = Default::default();
        Bench { queue, limit, on_time, busy_until: None, sent, dropped_at_head, kept }
    }

    fn send_next(&mut self, now: Time) {
        let waited = self.queue.view().packets.get();
        let dropped = &mut self.dropped_at_head;
        let before = dropped.len();
        let next = self.queue.dequeue(now, &mut |packet, _| dropped.push(packet));
        let taken = (dropped.len() - before) as u32 + next.is_some() as u32;
        assert_eq!(self.queue.view().packets.get(), waited - taken);
        assert!(
            next.is_some() || self.queue.view().packets.get() == 0,
            "the link is not idle while one waits"
        );
        self.sent.extend(next.map(|(p, _)| p));
        self.busy_until = next.map(|(p, _)| now + RATE.transmission_time(p.bytes()));
    }

    fn run_until(&mut self, now: Time) {
        loop {
            let departure = self.busy_until.filter(|t| *t <= now);
            if self.on_time {
                let wake = departure.unwrap_or(now);
                while let Some(due) = self.queue.next_update().filter(|due| *due <= wake) {
                    self.queue.advance(due);
                }
            }
            let Some(t) = departure else { break };
            self.send_next(t);
            if self.busy_until.is_none() {
                self.queue.idle(t);
            }
        }
    }

    fn arrive(&mut self, now: Time, packet: TestPacket) {
        self.run_until(now);
        if !matches!(self.queue.enqueue(now, packet), Admission::Dropped(_)) {
            self.kept.push(packet);
        }
        self.check();
        if self.busy_until.is_none() {
            self.send_next(now);
        }
        self.check();
    }

    fn check(&self) {
        let n = self.queue.counters();
        assert_eq!(n.arrived, n.enqueued + n.dropped_at_enqueue);
        let view = self.queue.view();
        assert_eq!(n.enqueued, n.departed + n.dropped_at_dequeue + view.packets.get() as u64);
        let lanes = self.queue.lanes();
        assert_eq!(view.packets.get(), lanes.iter().map(|v| v.packets.get()).sum::<u32>());
        assert_eq!(view.bytes.get(), lanes.iter().map(|v| v.bytes.get()).sum::<u64>());
        assert_eq!(view.head_since, lanes.iter().filter_map(|v| v.head_since).min());
        match self.limit {
            Limit::Packets(most) => assert!(view.packets.get() <= most),
            Limit::Bytes(most) => assert!(view.bytes.get() <= most),
        }
    }

    fn run(&mut self, arrivals: &[(u64, TestPacket)]) {
        let mut now = Time::ZERO;
        for (gap, packet) in arrivals {
            now += Duration::from_micros(*gap);
            self.arrive(now, *packet);
        }
        // Everything leaves, and some updates more are due.
        now += Duration::from_secs(2);
        self.run_until(now);
        self.queue.advance(now);
        assert_eq!(self.queue.view().packets.get(), 0);
        self.check();
    }

    /// No packet is lost from sight or sent twice, and each lane keeps its order.
    fn check_order(&self) {
        let lanes = &self.queue.aqm().lanes;
        let mut gone = [&self.sent[..], &self.dropped_at_head[..]].concat();
        gone.sort_by_key(|p| p.number);
        let numbers = |packets: &[TestPacket]| packets.iter().map(|p| p.number).collect::<Vec<_>>();
        assert_eq!(numbers(&gone), numbers(&self.kept));
        let mut last = HashMap::new();
        for packet in &self.sent {
            let before = last.insert(lanes[packet.number], packet.number);
            assert!(before < Some(packet.number), "a lane is first in, first out");
        }
    }
}

fn arrivals() -> impl Strategy<Value = Vec<(u64, TestPacket)>> {
    let gap = prop_oneof![4 => Just(0u64), 8 => 0..1500u64, 4 => 0..6000u64, 1 => 0..2_000_000u64];
    let bytes = prop_oneof![6 => Just(1000u64), 2 => Just(40u64), 2 => 1..9000u64];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    let one = (gap, bytes, 0..12u32, ecn, prop::bool::weighted(0.1));
    prop::collection::vec(one, 1..700).prop_map(|all| {
        let packets = all.into_iter().enumerate().map(|(number, (gap, bytes, flow, ecn, udp))| {
            (gap, TestPacket { number, bytes, flow, ecn, udp })
        });
        packets.collect()
    })
}

fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![Just(Limit::Packets(60)), Just(Limit::Packets(1)), Just(Limit::Bytes(30_000))]
}

fn link() -> Link {
    Link { rate: RATE, buffer: QueueSize::Packets(60.0), mean_packet: Bytes::new(1000) }
}

fn red_tail(young_packets: u32) -> AqmConfig {
    AqmConfig::RedTail(RedTailParams { young_packets, ..Default::default() })
}

/// A host that wakes late decides the same as one that wakes on time, and both keep the laws.
fn obeys_the_laws<A: Aqm>(build: impl Fn() -> A, limit: Limit, arrivals: &[(u64, TestPacket)]) {
    let mut on_time = Bench::new(build(), limit, true);
    let mut late = Bench::new(build(), limit, false);
    on_time.run(arrivals);
    late.run(arrivals);
    on_time.check_order();
    assert_eq!(on_time.sent, late.sent);
    assert_eq!(on_time.queue.counters(), late.queue.counters());
    let (a, b) = (on_time.queue.aqm(), late.queue.aqm());
    assert_eq!((&a.log, a.updates), (&b.log, b.updates));
    // Marks are on packets that could carry them, and no algorithm's drop is spared.
    let marked = on_time.sent.iter().filter(|p| p.ecn == Ecn::Ce).count();
    let came = on_time.kept.iter().filter(|p| p.ecn == Ecn::Ce).count() as u64;
    assert!(marked as u64 <= came + on_time.queue.counters().marked);
}

proptest! {
    #[test]
    fn random_lanes_obey_the_laws(seed in 0..1000u64, limit in limits(), arrivals in arrivals()) {
        obeys_the_laws(|| Dice::new(2, seed), limit, &arrivals);
    }

    #[test]
    fn red_tail_obeys_the_laws(young in 1..80u32, limit in limits(), arrivals in arrivals()) {
        obeys_the_laws(|| red_tail(young).build(&link()).unwrap(), limit, &arrivals);
    }

    /// Packets of young flows and of UDP are lost only where the buffer has no room, and never marked.
    #[test]
    fn red_tail_signals_old_flows_only(young in 1..80u32, arrivals in arrivals()) {
        let mut bench = Bench::new(red_tail(young).build(&link()).unwrap(), Limit::Packets(60), true);
        bench.run(&arrivals);
        let watch = bench.queue.aqm();
        let enqueued = watch.log.iter().filter(|(_, v)| *v != Verdict::Pass).count() as u64;
        let n = bench.queue.counters();
        prop_assert_eq!(n.dropped_at_enqueue - n.overflowed + n.marked, enqueued);
        for packet in &bench.sent {
            let came = arrivals[packet.number].1;
            prop_assert!(packet.ecn == came.ecn || watch.lanes[packet.number] == 0);
        }
        prop_assert!(arrivals.iter().all(|(_, p)| !p.udp || watch.lanes[p.number] == 1));
    }
}

/// Both queues always have packets: the first gets `C q1/max_th1` of the link, within a packet.
#[test]
fn the_link_is_divided_by_the_length_of_the_first_queue() {
    let red_tail = RedTailParams {
        min_th1: quell_aqm::params::AutoSize::Size(QueueSize::Packets(2.0)),
        max_th1: quell_aqm::params::AutoSize::Size(QueueSize::Packets(40.0)),
        vq2: Box::new(AqmConfig::DropTail(Default::default())),
        young_packets: 1,
        ..Default::default()
    };
    let link = Link { buffer: QueueSize::Packets(1000.0), ..link() };
    for (q1, want) in [(1, 0.05), (10, 0.25), (20, 0.5), (30, 0.75), (36, 0.9), (80, 0.9)] {
        let aqm = red_tail.build(&link).unwrap();
        let rng = Seed(1).stream("split");
        let mut queue = Queue::new(aqm, rng, Limit::of(link.buffer), false, None);
        let mut now = Time::ZERO;
        let put = |queue: &mut Queue<_, _>, now, udp| {
            let packet = TestPacket { number: 0, bytes: 1000, flow: 0, ecn: Ecn::NotEct, udp };
            assert_eq!(queue.enqueue(now, packet), Admission::Queued);
        };
        put(&mut queue, now, false);
        let _ = queue.dequeue(now, &mut |_, _| {});
        (0..q1).for_each(|_| put(&mut queue, now, true));
        (0..300).for_each(|_| put(&mut queue, now, false));
        let mut first = 0;
        for sent in 1..=2000 {
            now += Duration::from_millis(1);
            let (packet, _) = queue.dequeue(now, &mut |_, _| {}).unwrap();
            first += packet.udp as u32;
            put(&mut queue, now, packet.udp);
            let fair = want * f64::from(sent);
            assert!((f64::from(first) - fair).abs() <= 1.0 + 1e-9, "{first} of {sent} at q1 = {q1}");
        }
    }
}

/// Whoever fills the buffer, it is full for both.
#[test]
fn the_buffer_is_shared() {
    let aqm = red_tail(1).build(&link()).unwrap();
    let mut queue = Queue::new(aqm, Seed(1).stream("share"), Limit::Packets(60), false, None);
    assert!(matches!(queue, Queue::Parallel(_)));
    let packet = TestPacket { number: 0, bytes: 1000, flow: 0, ecn: Ecn::NotEct, udp: true };
    for _ in 0..60 {
        assert_eq!(queue.enqueue(Time::ZERO, packet), Admission::Queued);
    }
    let old = TestPacket { udp: false, ..packet };
    for _ in 0..3 {
        assert_eq!(queue.enqueue(Time::ZERO, old), Admission::Dropped(Cause::Overflow));
    }
    assert_eq!(queue.counters().overflowed, 3);
}
