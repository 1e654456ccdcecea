//! The laws of lines, whatever comes: of a discipline that does everything at random, of RED+Tail, of dual queues and
//! flow queues with packets of every ECN field, and of every algorithm of the catalog in a lane of its own.

use std::collections::HashMap;

use proptest::prelude::*;
use quell_aqm::catalog::{AnyAqm, AnyDiscipline, AqmConfig, CATALOG, find};
use quell_aqm::drop_tail::{Drop, DropTailParams};
use quell_aqm::red_tail::RedTailParams;
use quell_aqm::{
    Aqm, Cause, Ctx, Departures, Discipline, Ecn, FlowId, LanesCtx, Link, Next, PacketMeta, Probe, Rng, Seed,
    Transport, Verdict, Victim,
};
use quell_queue::{
    Admission, CATCH_UP, Dequeued, DropPoint, Dropped, Fifo, Host, Limit, Line, Packet, Parallel, Qdisc,
    Queue, Sent,
};
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

/// Chooses everything at random, and has an update each millisecond.
#[derive(Clone)]
struct Dice {
    lanes: usize,
    rng: Rng,
    due: Time,
    own_limit: u32,
}

impl Dice {
    fn new(lanes: usize, seed: u64) -> Self {
        Dice {
            lanes,
            rng: Seed(seed).stream("dice"),
            due: Time::from_nanos(1_000_000),
            own_limit: 20 + seed as u32 % 50,
        }
    }

    fn roll(&mut self, sides: usize) -> usize {
        (self.rng.uniform() * sides as f64) as usize
    }

    fn verdict(&mut self) -> Verdict {
        match self.roll(8) {
            0 => Verdict::Signal(Cause::Early),
            1 => Verdict::Drop(Cause::Early),
            _ => Verdict::Pass,
        }
    }

    /// A lane in which something waits.
    fn filled(&mut self, cx: &LanesCtx<'_>) -> Option<usize> {
        let start = self.roll(self.lanes);
        let lanes = (start..start + self.lanes).map(|i| i % self.lanes);
        lanes.into_iter().find(|i| cx.lanes.each[*i].packets.get() > 0)
    }
}

impl Discipline for Dice {
    fn lanes(&self) -> usize {
        self.lanes
    }
    fn classify(&mut self, _: Time, _: &PacketMeta) -> usize {
        self.roll(self.lanes)
    }
    fn on_enqueue(&mut self, _: &mut LanesCtx<'_>, _: usize, _: &PacketMeta) -> Verdict {
        self.verdict()
    }
    /// Its own limit, which it meets one packet below of every second flow, lies about the host's.
    fn is_crowded(&self, lanes: &quell_aqm::Lanes<'_>, pkt: &PacketMeta) -> bool {
        lanes.packets.get() + pkt.flow.0 % 2 >= self.own_limit
    }
    fn victim(&mut self, cx: &mut LanesCtx<'_>, _: usize, _: &PacketMeta) -> Victim {
        match (self.filled(cx), self.roll(3)) {
            (Some(lane), 0) => Victim::Head(lane),
            (Some(lane), 1) => Victim::Tail(lane),
            _ => Victim::Arrival,
        }
    }
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        if self.roll(6) == 0 {
            return Next::NotBefore(cx.now + Duration::from_micros(1 + self.roll(3000) as u64));
        }
        Next::Serve(self.filled(cx).expect("something waits"))
    }
    fn on_dequeue(&mut self, _: &mut LanesCtx<'_>, _: usize, _: &PacketMeta) -> Verdict {
        self.verdict()
    }
    fn next_update(&self) -> Option<Time> {
        Some(self.due)
    }
    fn on_update(&mut self, _: &mut LanesCtx<'_>) {
        self.due += Duration::from_millis(1);
    }
}

/// Watches a discipline, and checks what its host promised.
struct Watch<D> {
    inner: D,
    last: Time,
    /// The lanes that the discipline knows to be idle.
    idle: Vec<bool>,
    log: Vec<(Time, Verdict)>,
    /// In which lane each arrival went, in order.
    lanes: Vec<usize>,
    updates: u64,
}

impl<D: Discipline> Watch<D> {
    fn new(inner: D) -> Self {
        let idle = vec![false; inner.lanes()];
        Watch { inner, last: Time::ZERO, idle, log: Vec::new(), lanes: Vec::new(), updates: 0 }
    }

    fn called(&mut self, now: Time) {
        assert!(now >= self.last, "calls come in time order");
        assert!(self.inner.next_update().is_none_or(|due| due > now), "an update was missed");
        self.last = now;
    }

    fn seen(&mut self, cx: &LanesCtx<'_>) {
        self.called(cx.now);
        check_lanes(cx);
    }
}

fn check_lanes(cx: &LanesCtx<'_>) {
    let each = cx.lanes.each;
    assert_eq!(cx.lanes.packets.get(), each.iter().map(|v| v.packets.get()).sum::<u32>());
    assert_eq!(cx.lanes.bytes.get(), each.iter().map(|v| v.bytes.get()).sum::<u64>());
    assert!(each.iter().all(|v| v.head_since.is_some() == (v.packets.get() > 0)));
}

impl<D: Discipline> Discipline for Watch<D> {
    fn draw(&mut self, rng: &mut Rng) {
        self.inner.draw(rng);
    }
    fn is_crowded(&self, lanes: &quell_aqm::Lanes<'_>, pkt: &PacketMeta) -> bool {
        self.inner.is_crowded(lanes, pkt)
    }
    fn lanes(&self) -> usize {
        self.inner.lanes()
    }
    fn classify(&mut self, now: Time, pkt: &PacketMeta) -> usize {
        self.called(now);
        let lane = self.inner.classify(now, pkt);
        self.lanes.push(lane);
        lane
    }
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        self.seen(cx);
        assert_eq!(self.lanes.last(), Some(&lane), "the arrival has just been classified");
        let verdict = self.inner.on_enqueue(cx, lane, pkt);
        self.log.push((cx.now, verdict));
        verdict
    }
    fn victim(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Victim {
        self.seen(cx);
        self.inner.victim(cx, lane, pkt)
    }
    fn on_overflow(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {
        self.seen(cx);
        self.inner.on_overflow(cx, lane, pkt);
    }
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        self.seen(cx);
        assert!(cx.lanes.packets.get() > 0, "something waits");
        for (lane, view) in cx.lanes.each.iter().enumerate() {
            if view.packets.get() > 0 {
                self.idle[lane] = false;
            }
            assert!(self.idle[lane] || view.packets.get() > 0, "an empty lane is idle when the link is free");
        }
        self.inner.next(cx)
    }
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        self.seen(cx);
        let verdict = self.inner.on_dequeue(cx, lane, pkt);
        self.log.push((cx.now, verdict));
        verdict
    }
    fn on_idle(&mut self, lane: usize, since: Time) {
        assert!(since >= self.last, "idleness is reported before anything later");
        self.last = since;
        self.idle[lane] = true;
        self.inner.on_idle(lane, since);
    }
    fn next_update(&self) -> Option<Time> {
        self.inner.next_update()
    }
    fn on_update(&mut self, cx: &mut LanesCtx<'_>) {
        assert_eq!(self.inner.next_update(), Some(cx.now), "an update runs when it is due");
        assert!(cx.now >= self.last, "calls come in time order");
        self.last = cx.now;
        check_lanes(cx);
        self.inner.on_update(cx);
        self.updates += 1;
    }
}

const RATE: BitRate = BitRate::from_bps(8_000_000);

/// Where packets go.
#[derive(Debug, Default, PartialEq)]
struct Away {
    sent: Vec<Sent<TestPacket>>,
    dropped: Vec<(Time, Dropped<TestPacket>)>,
    admitted: u64,
}

impl Host<TestPacket> for Away {
    fn arrived(&mut self, _: Time, _: usize, admission: Admission) {
        self.admitted += u64::from(!matches!(admission, Admission::Dropped(_)));
    }
    fn sent(&mut self, sent: Sent<TestPacket>) {
        assert!(sent.arrived <= sent.start);
        assert!(self.sent.last().is_none_or(|last| last.end <= sent.start), "one after the other");
        self.sent.push(sent);
    }
    fn dropped(&mut self, now: Time, dropped: Dropped<TestPacket>) {
        self.dropped.push((now, dropped));
    }
}

/// A line and what left it. A host on time wakes for every update and departure, a late one only for
/// arrivals.
struct Bench<Q> {
    line: Line<Q>,
    on_time: bool,
    away: Away,
}

impl<Q: Qdisc<Packet = TestPacket>> Bench<Q> {
    fn new(queue: Q, on_time: bool) -> Self {
        Bench { line: Line::new(queue, RATE), on_time, away: Away::default() }
    }

    fn run_until(&mut self, now: Time) {
        while let Some(at) = [self.line.queue().next_update(), self.line.next_departure()]
            .into_iter()
            .flatten()
            .min()
            .filter(|at| self.on_time && *at <= now)
        {
            self.line.run(at, &mut self.away);
        }
    }

    fn check(&self, limit: Limit) {
        let n = self.line.counters();
        let view = self.line.queue().view();
        assert_eq!(n.arrived.packets, n.enqueued.packets + n.refused.total().packets);
        let gone = n.departed.packets + n.dropped.total().packets;
        assert_eq!(n.enqueued.packets, gone + u64::from(view.packets.get()));
        assert_eq!(n.enqueued.packets, self.away.admitted);
        assert_eq!(n.departed.packets, self.away.sent.len() as u64);
        assert_eq!(n.departed.bytes, self.away.sent.iter().map(|s| s.packet.bytes).sum::<u64>());
        let dropped = n.refused.total().packets + n.dropped.total().packets;
        assert_eq!(dropped, self.away.dropped.len() as u64);
        match limit {
            Limit::Packets(most) => assert!(view.packets.get() <= most),
            Limit::Bytes(most) => assert!(view.bytes.get() <= most),
        }
    }

    fn run(&mut self, arrivals: &[(u64, TestPacket)], limit: Limit) {
        let mut now = Time::ZERO;
        for (gap, packet) in arrivals {
            now += Duration::from_micros(*gap);
            self.run_until(now);
            let _ = self.line.arrive(now, *packet, &mut self.away);
            self.check(limit);
        }
        // Everything leaves, and some updates more are due.
        now += Duration::from_secs(20);
        self.run_until(now);
        self.line.run(now, &mut self.away);
        assert_eq!(self.line.queue().view().packets.get(), 0);
        self.check(limit);
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

type Lanes<D> = Parallel<TestPacket, Watch<D>>;

fn lanes<D: Discipline>(discipline: D, limit: Limit) -> Lanes<D> {
    Parallel::new(Watch::new(discipline), Seed(7).stream("lanes"), limit, true, Some(RATE))
}

fn red_tail(young_packets: u32) -> AnyDiscipline {
    let config = AqmConfig::RedTail(RedTailParams { young_packets, ..Default::default() });
    match config.build(&link()).unwrap() {
        quell_aqm::Algorithm::Discipline(d) => d,
        quell_aqm::Algorithm::Aqm(_) => unreachable!("it has two lanes"),
    }
}

/// A host that wakes late decides the same as one that wakes on time, and both keep the laws.
fn obeys_the_laws<D: Discipline>(build: impl Fn() -> D, limit: Limit, arrivals: &[(u64, TestPacket)]) {
    let mut on_time = Bench::new(lanes(build(), limit), true);
    let mut late = Bench::new(lanes(build(), limit), false);
    on_time.run(arrivals, limit);
    late.run(arrivals, limit);
    assert_eq!(on_time.away, late.away);
    assert_eq!(on_time.line.counters(), late.line.counters());
    let (a, b) = (on_time.line.queue().discipline(), late.line.queue().discipline());
    assert_eq!((&a.log, a.updates), (&b.log, b.updates));
    // No packet is lost from sight or sent twice, and each lane keeps its order.
    let Away { sent, dropped, .. } = &on_time.away;
    let mut gone: Vec<usize> = sent.iter().map(|s| s.packet.number).collect();
    gone.extend(dropped.iter().map(|(_, d)| d.packet.number));
    gone.sort_unstable();
    assert!(gone.into_iter().eq(0..arrivals.len()));
    let mut last = HashMap::new();
    for Sent { packet, .. } in sent {
        let before = last.insert(a.lanes[packet.number], packet.number);
        assert!(before < Some(packet.number), "a lane is first in, first out");
    }
    // Marks are on packets that could carry them.
    let marked = sent.iter().filter(|s| s.packet.ecn == Ecn::Ce).count() as u64;
    assert!(marked <= on_time.line.counters().arrived_ce.packets + on_time.line.counters().marked.packets);
    assert!(sent.iter().all(|s| s.packet.ecn != Ecn::Ce || arrivals[s.packet.number].1.ecn != Ecn::NotEct));
}

/// Disciplines with options in which packets of every ECN field and of many flows take different ways.
fn disciplines() -> Vec<AqmConfig> {
    use quell_aqm::curvy_red::CurvyRedParams;
    use quell_aqm::dualpi2::{DelayFrom, DualPi2Params, Overload, SignalAt, Signals, ThLenAt};
    use quell_aqm::fq_codel::{FqCodelParams, FqCodelRules};
    use quell_aqm::part::dual_queue::{Classifier, Scheduler};
    // Updates every millisecond with large gains: a few hundred packets reach overload.
    let dual = DualPi2Params {
        update_interval: Some(Duration::from_millis(1)),
        alpha: Some(5.0),
        beta: Some(20.0),
        ..Default::default()
    };
    vec![
        AqmConfig::DualPi2(DualPi2Params::default()),
        AqmConfig::DualPi2(dual.clone()),
        AqmConfig::DualPi2(DualPi2Params {
            scheduler: Scheduler::TsFifo,
            signal_at: SignalAt::Enqueue,
            th_len_at: ThLenAt::Enqueue,
            signals: Signals::Random,
            ..dual.clone()
        }),
        AqmConfig::DualPi2(DualPi2Params {
            classifier: Classifier::AnyEct,
            overload: Overload::Overflow,
            delay_from: DelayFrom::Backlog,
            th_len_at: ThLenAt::Head,
            c_weight: 0.4,
            ..dual
        }),
        AqmConfig::CurvyRed(CurvyRedParams { scheduler: Scheduler::Wrr, scale: -6, ..Default::default() }),
        AqmConfig::FqCodel(FqCodelParams {
            flows: 3,
            limit: 25,
            rules: FqCodelRules::Linux,
            interval: Duration::from_millis(20),
            ..Default::default()
        }),
        AqmConfig::FqPie(quell_aqm::fq_pie::FqPieParams { flows: 4, ..Default::default() }),
        AqmConfig::SfqRed(quell_aqm::sfq_red::SfqRedParams { flows: 4, ..Default::default() }),
        AqmConfig::Cake(quell_aqm::cake::CakeParams {
            bandwidth: Some(BitRate::from_bps(6_000_000)),
            flows: 16,
            ..Default::default()
        }),
        AqmConfig::DropTail(DropTailParams { drop: Drop::Front }),
    ]
}

/// A buffer that drops at the front, by hand and as Linux's pfifo_head_drop does it (net/sched/sch_fifo.c): the head goes,
/// and the arrival is kept.
#[test]
fn the_front_makes_room() {
    let front = AqmConfig::DropTail(DropTailParams { drop: Drop::Front });
    let with = |buffer: QueueSize| {
        let discipline = match front.build(&Link { buffer, ..link() }).unwrap() {
            quell_aqm::Algorithm::Discipline(d) => d,
            quell_aqm::Algorithm::Aqm(_) => unreachable!("only disciplines choose what goes"),
        };
        Parallel::new(discipline, Seed(1).stream("front"), Limit::of(buffer), false, None)
    };
    let sent = |queue: &mut Parallel<TestPacket, AnyDiscipline>, sizes: &[u64]| {
        let mut gone = Vec::new();
        for (number, bytes) in sizes.iter().enumerate() {
            let pkt = TestPacket { number, bytes: *bytes, flow: 0, ecn: Ecn::NotEct, udp: true };
            let _ = queue.enqueue(Time::ZERO, pkt, &mut |d| gone.push(d.packet.number));
        }
        let mut left = Vec::new();
        while let Dequeued::Packet(pkt, _) = queue.dequeue(Time::ZERO, &mut |d| gone.push(d.packet.number)) {
            left.push(pkt.number);
        }
        (gone, left)
    };
    // Three fit; the first three of six go.
    let mut queue = with(QueueSize::Packets(3.0));
    assert_eq!(sent(&mut queue, &[500; 6]), (vec![0, 1, 2], vec![3, 4, 5]));
    // 3000 B: two heads of 1000 B for 1500 B, and then one.
    let mut queue = with(QueueSize::Bytes(3000.0));
    assert_eq!(sent(&mut queue, &[1000, 1000, 1000, 1500, 200]), (vec![0, 1], vec![2, 3, 4]));
    // What never fits costs nothing else.
    let mut queue = with(QueueSize::Bytes(3000.0));
    assert_eq!(sent(&mut queue, &[1000, 3001, 1000]), (vec![1], vec![0, 2]));
    let mut queue = with(QueueSize::Packets(0.0));
    assert_eq!(sent(&mut queue, &[500]), (vec![0], vec![]));
}

fn discipline(config: &AqmConfig) -> AnyDiscipline {
    match config.build(&link()).unwrap() {
        quell_aqm::Algorithm::Discipline(d) => d,
        quell_aqm::Algorithm::Aqm(_) => unreachable!("all of them have several lanes"),
    }
}

/// An algorithm for one queue as a discipline with one lane.
struct Single(AnyAqm);

impl Discipline for Single {
    fn lanes(&self) -> usize {
        1
    }
    fn classify(&mut self, _: Time, _: &PacketMeta) -> usize {
        0
    }
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        self.0.on_enqueue(&mut cx.of(lane), pkt)
    }
    fn on_overflow(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {
        self.0.on_overflow(&mut cx.of(lane), pkt);
    }
    fn next(&mut self, _: &mut LanesCtx<'_>) -> Next {
        Next::Serve(0)
    }
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        match self.0.departures() {
            Departures::Ignored => Verdict::Pass,
            Departures::Watched | Departures::Decided => self.0.on_dequeue(&mut cx.of(lane), pkt),
        }
    }
    fn on_idle(&mut self, _: usize, since: Time) {
        self.0.on_idle(since);
    }
    fn next_update(&self) -> Option<Time> {
        self.0.next_update()
    }
    fn on_update(&mut self, cx: &mut LanesCtx<'_>) {
        self.0.on_update(&mut cx.of(0));
    }
}

proptest! {
    #[test]
    fn random_lanes_obey_the_laws(
        seed in 0..1000u64, lanes in 1..5usize, limit in limits(), arrivals in arrivals(),
    ) {
        obeys_the_laws(|| Dice::new(lanes, seed), limit, &arrivals);
    }

    #[test]
    fn red_tail_obeys_the_laws(young in 1..80u32, limit in limits(), arrivals in arrivals()) {
        obeys_the_laws(|| red_tail(young), limit, &arrivals);
    }

    #[test]
    fn disciplines_obey_the_laws(i in 0..disciplines().len(), limit in limits(), arrivals in arrivals()) {
        let config = &disciplines()[i];
        obeys_the_laws(|| discipline(config), limit, &arrivals);
    }

    /// An algorithm decides the same in a queue of its own and in the only lane of several.
    #[test]
    fn a_lane_is_a_queue(i in 0..CATALOG.len(), limit in limits(), arrivals in arrivals()) {
        let build = || (CATALOG[i].default)().build(&link()).unwrap().aqm();
        if let (Some(in_queue), Some(in_lane)) = (build(), build()) {
            let rng = || Seed(7).stream("lanes");
            let fifo = Fifo::new(in_queue, rng(), limit, true, Some(RATE));
            let lane = Parallel::new(Single(in_lane), rng(), limit, true, Some(RATE));
            let (mut fifo, mut lane) = (Bench::new(fifo, false), Bench::new(lane, true));
            fifo.run(&arrivals, limit);
            lane.run(&arrivals, limit);
            prop_assert_eq!(&fifo.away, &lane.away, "{}", CATALOG[i].name);
            prop_assert_eq!(fifo.line.counters(), lane.line.counters());
        }
    }

    /// Packets of young flows and of UDP are lost only where the buffer has no room, and never marked.
    #[test]
    fn red_tail_signals_old_flows_only(young in 1..80u32, arrivals in arrivals()) {
        let limit = Limit::Packets(60);
        let mut bench = Bench::new(lanes(red_tail(young), limit), true);
        bench.run(&arrivals, limit);
        let watch = bench.line.queue().discipline();
        for Sent { packet, .. } in &bench.away.sent {
            let came = arrivals[packet.number].1;
            prop_assert!(packet.ecn == came.ecn || watch.lanes[packet.number] == 0);
        }
        for (_, Dropped { packet, cause, .. }) in &bench.away.dropped {
            prop_assert!(*cause == Cause::Overflow || watch.lanes[packet.number] == 0);
        }
        prop_assert!(arrivals.iter().all(|(_, p)| !p.udp || watch.lanes[p.number] == 1));
    }

    /// Whatever is reconfigured in the middle of a run, no packet is lost or reordered by it.
    #[test]
    fn what_waits_survives_reconfiguration(
        from in 0..CATALOG.len(), to in 0..CATALOG.len(), arrivals in arrivals(), cut in 0..400usize,
    ) {
        let build = |i: usize, limit: Limit| {
            let algorithm = (CATALOG[i].default)().build(&link()).unwrap();
            Queue::new(algorithm, Seed(7).stream("lanes"), limit, true, Some(RATE))
        };
        let wide = Limit::Packets(60);
        let mut bench = Bench::new(build(from, wide), true);
        let mut now = Time::ZERO;
        for (i, (gap, packet)) in arrivals.iter().enumerate() {
            now += Duration::from_micros(*gap);
            bench.run_until(now);
            if i == cut {
                let (before, waiting) = (bench.line.counters(), bench.line.queue().view());
                bench.line.reconfigure(now, build(to, Limit::Packets(20)), &mut bench.away);
                let after = bench.line.queue().view();
                prop_assert_eq!((waiting.packets, waiting.bytes), (after.packets, after.bytes));
                prop_assert_eq!(before, bench.line.counters());
            }
            let _ = bench.line.arrive(now, *packet, &mut bench.away);
            bench.check(wide);
        }
        bench.line.run(now + Duration::from_secs(20), &mut bench.away);
        let gone = bench.away.sent.len() + bench.away.dropped.len();
        prop_assert_eq!(gone, arrivals.len());
    }
}

/// Who counts what waits counts what waited before its life began.
#[test]
fn what_waits_is_known_to_who_takes_over() {
    let build = |name: &str| {
        let algorithm = (find(name).unwrap().default)().build(&link()).unwrap();
        Queue::new(algorithm, Seed(7).stream("lanes"), Limit::Packets(60), true, Some(RATE))
    };
    let active_flows = |queue: &Queue<TestPacket, AnyAqm, AnyDiscipline>| {
        let mut active = Signal("active_flows", f64::NAN);
        queue.observe(&mut active);
        active.1
    };
    let mut bench = Bench::new(build("drop-tail"), true);
    for number in 0..21 {
        let packet = TestPacket { flow: number as u32 % 7, ..plain(number) };
        let _ = bench.line.arrive(Time::ZERO, packet, &mut bench.away);
    }
    let now = Time::from_nanos(1);
    bench.line.reconfigure(now, build("fred"), &mut bench.away);
    // The packet in transmission is not in the queue: flow 0 has two left, the others three.
    assert_eq!(active_flows(bench.line.queue()), 7.0);
    for (sent, active) in [(14, 7.0), (15, 6.0), (17, 4.0), (20, 1.0), (21, 0.0)] {
        let departure = |bench: &Bench<_>| bench.line.next_departure();
        while bench.away.sent.len() < sent {
            let at = departure(&bench).unwrap();
            bench.line.run(at, &mut bench.away);
        }
        assert_eq!(active_flows(bench.line.queue()), active, "{sent}");
    }
}

/// One signal of an algorithm.
struct Signal(&'static str, f64);

impl Probe for Signal {
    fn value(&mut self, name: &'static str, _: &'static str, x: f64) {
        if name == self.0 {
            self.1 = x;
        }
    }
}

/// What is left in the queue is not the standing queue's: the whole link's backlog is (RFC 8289 section 4.4).
#[test]
fn codel_in_a_lane_sees_the_backlog_of_its_link() {
    let signals = |others: usize| {
        let codel = |_| Single((find("codel").unwrap().default)().build(&link()).unwrap().aqm().unwrap());
        let lanes = TwoSingles([codel(0), codel(1)]);
        let mut queue = Parallel::new(lanes, Seed(1).stream("codel"), Limit::Packets(1000), false, None);
        let packet = |lane| TestPacket { flow: lane, ..plain(0) };
        for _ in 0..others {
            let _ = queue.enqueue(Time::ZERO, packet(0), &mut |_| {});
        }
        let mut drops = 0;
        let mut now = Time::ZERO;
        for _ in 0..100 {
            let _ = queue.enqueue(now, packet(1), &mut |_| {});
            now += Duration::from_millis(50);
            let _ = queue.dequeue(now, &mut |_| drops += 1);
        }
        drops
    };
    assert_eq!(signals(0), 0, "what it holds is a packet in flight");
    assert!(signals(300) > 10);
}

/// Two algorithms, each with the flow of its number; the second is served first.
struct TwoSingles([Single; 2]);

impl Discipline for TwoSingles {
    fn lanes(&self) -> usize {
        2
    }
    fn classify(&mut self, _: Time, pkt: &PacketMeta) -> usize {
        pkt.flow.0 as usize
    }
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        self.0[lane].on_enqueue(cx, lane, pkt)
    }
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        Next::Serve(usize::from(cx.lanes.each[1].packets.get() > 0))
    }
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        self.0[lane].on_dequeue(cx, lane, pkt)
    }
}

/// Both queues always have packets: the first gets `C q1/max_th1` of the link, within a packet.
#[test]
fn the_link_is_divided_by_the_length_of_the_first_queue() {
    let params = RedTailParams {
        min_th1: quell_aqm::params::AutoSize::Size(QueueSize::Packets(2.0)),
        max_th1: quell_aqm::params::AutoSize::Size(QueueSize::Packets(40.0)),
        vq2: Box::new(AqmConfig::DropTail(Default::default())),
        young_packets: 1,
        ..Default::default()
    };
    let link = Link { buffer: QueueSize::Packets(1000.0), ..link() };
    for (q1, want) in [(1, 0.05), (10, 0.25), (20, 0.5), (30, 0.75), (36, 0.9), (80, 0.9)] {
        let red_tail = params.build(&link).unwrap();
        let rng = Seed(1).stream("split");
        let mut queue = Parallel::new(red_tail, rng, Limit::of(link.buffer), false, None);
        let mut now = Time::ZERO;
        let put = |queue: &mut Parallel<_, _>, now, udp| {
            let packet = TestPacket { number: 0, bytes: 1000, flow: 0, ecn: Ecn::NotEct, udp };
            assert_eq!(queue.enqueue(now, packet, &mut |_| {}), Admission::Queued);
        };
        put(&mut queue, now, false);
        assert!(queue.dequeue(now, &mut |_| {}).packet().is_some());
        (0..q1).for_each(|_| put(&mut queue, now, true));
        (0..300).for_each(|_| put(&mut queue, now, false));
        let mut first = 0;
        for sent in 1..=2000 {
            now += Duration::from_millis(1);
            let (packet, _) = queue.dequeue(now, &mut |_| {}).packet().unwrap();
            first += packet.udp as u32;
            put(&mut queue, now, packet.udp);
            let fair = want * f64::from(sent);
            assert!((f64::from(first) - fair).abs() <= 1.0 + 1e-9, "{first} of {sent} at q1 = {q1}");
        }
    }
}

fn plain(number: usize) -> TestPacket {
    TestPacket { number, bytes: 1000, flow: 0, ecn: Ecn::NotEct, udp: true }
}

/// Whoever fills the buffer, it is full for both.
#[test]
fn the_buffer_is_shared() {
    let mut queue = Parallel::new(red_tail(1), Seed(1).stream("share"), Limit::Packets(60), false, None);
    let mut gone = Vec::new();
    for i in 0..60 {
        assert_eq!(queue.enqueue(Time::ZERO, plain(i), &mut |d| gone.push(d)), Admission::Queued);
    }
    let old = TestPacket { udp: false, ..plain(60) };
    for _ in 0..3 {
        let admission = queue.enqueue(Time::ZERO, old, &mut |d| gone.push(d));
        assert_eq!(admission, Admission::Dropped(Cause::Overflow));
    }
    assert_eq!(queue.counters().refused.overflow.packets, 3);
    assert_eq!(gone, [Dropped { packet: old, cause: Cause::Overflow, place: DropPoint::Arrival }; 3]);
}

/// Every departure has the time that the rates make it, whenever the host wakes.
#[test]
fn a_packet_keeps_the_rate_at_which_its_transmission_began() {
    let mut away = Away::default();
    let drop_tail = AqmConfig::DropTail(Default::default()).build(&link()).unwrap();
    let queue = Queue::new(drop_tail, Seed(1).stream("rate"), Limit::Packets(60), false, Some(RATE));
    let mut line = Line::new(queue, RATE);
    let at = |us: u64| Time::from_nanos(1000 * us);
    (0..4).for_each(|i| assert_eq!(line.arrive(at(0), plain(i), &mut away), Admission::Queued));
    assert_eq!(line.next(), Some(at(1000)));
    line.set_rate(at(1500), BitRate::from_bps(16_000_000), &mut away);
    assert_eq!(line.queue().view().link_rate, Some(BitRate::from_bps(16_000_000)));
    line.run(at(10_000), &mut away);
    let times: Vec<_> = away.sent.iter().map(|s| (s.start, s.end)).collect();
    let want = [(0, 1000), (1000, 2000), (2000, 2500), (2500, 3000)];
    assert_eq!(times, want.map(|(start, end)| (at(start), at(end))));
    assert_eq!(line.next(), None);
}

/// Counts updates.
struct Updates {
    aqm: AnyAqm,
    count: u64,
}

impl Aqm for Updates {
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.aqm.on_enqueue(cx, pkt)
    }
    fn next_update(&self) -> Option<Time> {
        self.aqm.next_update()
    }
    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        self.count += 1;
        self.aqm.on_update(cx);
    }
}

/// A host that obeys [`Line::next`] makes up for a second of updates at most, however long the line was
/// idle, and decides as one that did not.
#[test]
fn an_idle_day_does_not_stall_a_host() {
    let day = Time::ZERO + Duration::from_secs(86_400);
    let pi = AqmConfig::Pi(Default::default());
    let build = || {
        let aqm = Updates { aqm: pi.build(&link()).unwrap().aqm().unwrap(), count: 0 };
        Line::new(Fifo::new(aqm, Seed(1).stream("day"), Limit::Packets(60), false, Some(RATE)), RATE)
    };
    let (mut obedient, mut sleeper) = (build(), build());
    let (mut away, mut other) = (Away::default(), Away::default());
    // PI's 170 a second, and the one that is due.
    let most = 171;
    let mut last = Time::ZERO;
    while let Some(at) = obedient.next().filter(|at| *at <= day) {
        assert!(at > last, "there is something to do");
        let before = obedient.queue().aqm().count;
        obedient.run(at, &mut away);
        assert!((1..=most).contains(&(obedient.queue().aqm().count - before)), "{at}");
        last = at;
    }
    assert!(day - last <= CATCH_UP + Duration::from_millis(6));
    for i in 0..500 {
        assert_eq!(obedient.arrive(day, plain(i), &mut away), sleeper.arrive(day, plain(i), &mut other));
    }
    assert_eq!(away, other);
    assert_eq!(obedient.counters(), sleeper.counters());
    assert_eq!(obedient.queue().aqm().count, sleeper.queue().aqm().count);
}

/// Notes its updates, one a millisecond, and when the link fell idle.
struct Diary {
    due: Time,
    notes: Vec<(&'static str, Time)>,
}

impl Aqm for Diary {
    fn on_enqueue(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) -> Verdict {
        Verdict::Pass
    }
    fn on_idle(&mut self, since: Time) {
        self.notes.push(("idle", since));
    }
    fn next_update(&self) -> Option<Time> {
        Some(self.due)
    }
    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        self.notes.push(("update", cx.now));
        self.due += Duration::from_millis(1);
    }
}

/// Within one instant updates come first ([`Line`]): for one at the very end of a transmission the link is still busy.
#[test]
fn an_update_at_the_end_of_a_transmission_comes_before_idleness() {
    let at = |us: u64| Time::from_nanos(1000 * us);
    let diary = Diary { due: at(1000), notes: Vec::new() };
    let queue = Fifo::new(diary, Seed(1).stream("diary"), Limit::Packets(60), false, Some(RATE));
    let (mut line, mut away) = (Line::new(queue, RATE), Away::default());
    // Transmissions from 0 to 1 ms and from 2.5 to 3.5 ms.
    assert_eq!(line.arrive(at(0), plain(0), &mut away), Admission::Queued);
    assert_eq!(line.arrive(at(2500), plain(1), &mut away), Admission::Queued);
    line.run(at(4500), &mut away);
    let want = [
        ("idle", 0),
        ("update", 1000),
        ("idle", 1000),
        ("update", 2000),
        ("update", 3000),
        ("idle", 3500),
        ("update", 4000),
    ];
    assert_eq!(line.queue().aqm().notes, want.map(|(what, us)| (what, at(us))));
}

/// Many lanes, each with a packet: an operation touches one of them.
#[test]
fn a_thousand_lanes_are_served_by_turns() {
    struct Turns(usize);
    impl Discipline for Turns {
        fn lanes(&self) -> usize {
            1024
        }
        fn classify(&mut self, _: Time, pkt: &PacketMeta) -> usize {
            pkt.flow.0 as usize % 1024
        }
        fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
            while cx.lanes.each[self.0].packets.get() == 0 {
                self.0 = (self.0 + 1) % 1024;
            }
            self.0 = (self.0 + 1) % 1024;
            Next::Serve((self.0 + 1023) % 1024)
        }
    }
    let mut queue = Parallel::new(Turns(0), Seed(1).stream("turns"), Limit::Packets(1 << 20), false, None);
    for round in 0..3 {
        for flow in 0..1024u32 {
            let packet = TestPacket { flow, ..plain(round) };
            assert_eq!(queue.enqueue(Time::ZERO, packet, &mut |_| {}), Admission::Queued);
        }
    }
    for round in 0..3 {
        for flow in 0..1024 {
            let Dequeued::Packet(packet, _) = queue.dequeue(Time::ZERO, &mut |_| {}) else { panic!() };
            assert_eq!((packet.number, packet.flow), (round, flow));
        }
    }
    assert_eq!(queue.dequeue(Time::ZERO, &mut |_| {}), Dequeued::Nothing);
}
