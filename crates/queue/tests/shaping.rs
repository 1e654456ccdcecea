//! The laws of shapers and trees, whatever comes; `conformance/linux` compares both with Linux's.

use std::collections::{HashMap, VecDeque};

use proptest::prelude::*;
use quell_aqm::catalog::{AnyAqm, AnyDiscipline, CATALOG, find};
use quell_aqm::drop_tail::DropTail;
use quell_aqm::{Aqm, Cause, Ctx, Departures, Ecn, FlowId, Hosts, Link, PacketMeta, Seed, Verdict};
use quell_queue::{
    Admission, Class, Classify, Dequeued, DropPoint, Dropped, Fifo, Host, Limit, Limits, Line, Match, Packet,
    Peak, Plan, Qdisc, Queue, Refused, Sent, Shaped, Shaper, Table, Tree,
};
use quell_units::{BitRate, Bytes, Duration, LinkLayer, QueueSize, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pkt {
    number: usize,
    bytes: u64,
    leaf: usize,
    ecn: Ecn,
    lane: usize,
    dscp: u8,
    group: u32,
    mark: u32,
    hosts: Hosts,
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
        FlowId(self.number as u32 % 7)
    }
    fn set_lane(&mut self, lane: usize) {
        self.lane = lane;
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn group(&self) -> u32 {
        self.group
    }
    fn mark(&self) -> u32 {
        self.mark
    }
    fn hosts(&self) -> Hosts {
        self.hosts
    }
}

type Plain = Fifo<Pkt, DropTail>;
type ByLeaf = fn(&Pkt) -> usize;

fn by_leaf(packet: &Pkt) -> usize {
    packet.leaf
}

fn fifo(packets: u32) -> Plain {
    Fifo::new(DropTail, Seed(1).stream("queue"), Limit::Packets(packets), false, None)
}

fn mbit(x: f64) -> BitRate {
    BitRate::from_bps((x * 1e6) as u64)
}

fn bytes(n: u64) -> Bytes {
    Bytes::new(n)
}

fn ns(n: u64) -> Time {
    Time::from_nanos(n)
}

/// What left, and when; what was dropped.
#[derive(Debug, Default, PartialEq)]
struct Away {
    sent: Vec<Sent<Pkt>>,
    dropped: Vec<(Time, Dropped<Pkt>)>,
}

impl Host<Pkt> for Away {
    fn sent(&mut self, sent: Sent<Pkt>) {
        self.sent.push(sent);
    }
    fn dropped(&mut self, now: Time, dropped: Dropped<Pkt>) {
        self.dropped.push((now, dropped));
    }
}

/// Gaps, leaves (of so many), sizes.
type Load = Vec<(u64, usize, u64)>;

fn load(packets: usize) -> impl Strategy<Value = Load> {
    // Now and then nothing comes for long.
    let gap = prop_oneof![20 => 0u64..400_000, 5 => Just(0), 1 => 0u64..300_000_000];
    prop::collection::vec((gap, 0..1000usize, prop_oneof![40u64..1500, Just(1500)]), 1..packets)
}

fn packets(load: &Load, leaves: usize) -> Vec<(Time, Pkt)> {
    let mut now = 0;
    let packet = |(number, &(gap, leaf, bytes)): (usize, &(u64, usize, u64))| {
        now += gap;
        let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][number % 3];
        (ns(now), Pkt { number, bytes, leaf: leaf % leaves, ecn, ..Default::default() })
    };
    load.iter().enumerate().map(packet).collect()
}

/// All of it through a line, to the end; checks the counts on the way.
fn through<Q: Qdisc<Packet = Pkt>>(queue: Q, rate: BitRate, packets: &[(Time, Pkt)]) -> (Away, Line<Q>) {
    let (mut line, mut away) = (Line::new(queue, rate), Away::default());
    for (came, (now, packet)) in packets.iter().enumerate() {
        let _ = line.arrive(*now, *packet, &mut away);
        balanced(line.queue(), &away, came + 1);
    }
    let mut now = packets.last().map_or(Time::ZERO, |(now, _)| *now);
    while let Some(next) = line.next_departure() {
        assert!(next > now, "nothing is due in the past");
        now = next;
        line.run(now, &mut away);
        balanced(line.queue(), &away, packets.len());
    }
    (away, line)
}

/// Packets and bytes are conserved, and the counts say so.
fn balanced<Q: Qdisc<Packet = Pkt>>(queue: &Q, away: &Away, came: usize) {
    let (view, all) = (queue.view(), queue.counters());
    assert_eq!(view.packets.get() as usize, came - away.sent.len() - away.dropped.len());
    assert_eq!(queue.is_empty(), view.packets.get() == 0);
    assert_eq!(view.head_since.is_some(), !queue.is_empty());
    let at_arrival = away.dropped.iter().filter(|(_, gone)| gone.place == DropPoint::Arrival).count();
    assert_eq!(all.arrived.packets as usize, came);
    assert_eq!(all.refused.total().packets as usize, at_arrival);
    assert_eq!(all.dropped.total().packets as usize, away.dropped.len() - at_arrival);
    assert_eq!(all.departed.packets as usize, away.sent.len());
    assert_eq!(all.departed.bytes, away.sent.iter().map(|sent| sent.packet.bytes).sum::<u64>());
    assert_eq!(
        all.enqueued.bytes,
        all.departed.bytes + all.dropped.total().bytes + view.bytes.get(),
        "bytes are conserved"
    );
}

/// In every window, what leaves is at most `burst + rate t`; of packets for which `of` says so.
fn bounded(sent: &[Sent<Pkt>], rate: BitRate, burst: u64, of: impl Fn(&Pkt) -> bool) {
    // From each packet on, the sum less the rate's share is largest at some later packet: a running maximum.
    let (mut sum, mut lowest) = (0i128, i128::MAX);
    for Sent { packet, start, .. } in sent.iter().filter(|sent| of(&sent.packet)) {
        let share = i128::from(rate.bps()) * i128::from(start.nanos());
        lowest = lowest.min(sum - share);
        sum += i128::from(packet.bytes) * 8_000_000_000;
        assert!(
            sum - share - lowest <= i128::from(burst) * 8_000_000_000,
            "more than {burst} bytes and {rate} by {start}"
        );
    }
}

const FAST: u64 = 100_000_000_000;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// No window has more than the burst and the rate's share, nor than the peak's; order stays; what is dropped is too
    /// large or beyond the limit.
    #[test]
    fn a_shaper_bounds_every_window(
        load in load(300), rate in 50_000u64..500_000_000, burst in 1000u64..10_000,
        peak in prop::option::of((1u64..20, 1000u64..3000)), limit in prop::option::of(3000u64..60_000),
    ) {
        let peak = peak.map(|(times, mtu)| Peak { rate: BitRate::from_bps(rate + rate / 10 * times), mtu: bytes(mtu) });
        let rate = BitRate::from_bps(rate);
        let shaper = Shaper {
            rate: LinkLayer::plain(rate), burst: bytes(burst), peak, limit: limit.map(Limit::Bytes),
        };
        let packets = packets(&load, 1);
        let (away, line) = through(Shaped::new(fifo(100), &shaper), BitRate::from_bps(FAST), &packets);
        bounded(&away.sent, rate, burst, |_| true);
        let most = peak.map_or(burst, |peak| burst.min(peak.mtu.get()));
        if let Some(Peak { rate, mtu }) = peak {
            bounded(&away.sent, rate, mtu.get(), |_| true);
        }
        prop_assert!(away.sent.is_sorted_by_key(|sent| sent.packet.number));
        for (_, Dropped { packet, cause, .. }) in &away.dropped {
            prop_assert_eq!(*cause == Cause::Forced, packet.bytes > most);
        }
        prop_assert!(away.sent.iter().all(|sent| sent.packet.bytes <= most));
        prop_assert!(line.queue().is_empty());
    }

    /// It waits for tokens and for nothing else: a nanosecond earlier they are not there.
    #[test]
    fn a_shaper_waits_no_longer_than_it_must(load in load(100), rate in 50_000u64..500_000_000, burst in 1500u64..5000) {
        let shaper = Shaper::plain(BitRate::from_bps(rate), bytes(burst));
        let mut queue = Shaped::new(fifo(100), &shaper);
        let mut content = i128::from(burst) * 8_000_000_000;
        let mut last = 0;
        for (at, packet) in packets(&load, 1) {
            let _ = queue.enqueue(at, packet, &mut |_| {});
            let mut now = at.nanos().max(last);
            while let asked @ (Dequeued::Packet(..) | Dequeued::NotBefore(_)) = queue.dequeue(ns(now), &mut |_| {}) {
                let at = |now: u64| {
                    let came = i128::from(rate) * i128::from(now - last);
                    (content + came).min(i128::from(burst) * 8_000_000_000)
                };
                match asked {
                    Dequeued::Packet(packet, _) => {
                        content = at(now) - i128::from(packet.bytes) * 8_000_000_000;
                        prop_assert!(content >= 0);
                        last = now;
                    }
                    Dequeued::NotBefore(time) => {
                        let early = queue.clone().dequeue(ns(time.nanos() - 1), &mut |_| {});
                        prop_assert_eq!(early, Dequeued::NotBefore(time));
                        now = time.nanos();
                    }
                    Dequeued::Nothing => unreachable!(),
                }
            }
        }
    }
}

fn link() -> Link {
    Link { rate: mbit(10.0), buffer: QueueSize::Packets(60.0), mean_packet: bytes(800) }
}

/// The queue of a catalog's algorithm.
fn any_queue(number: usize) -> Queue<Pkt, AnyAqm, AnyDiscipline> {
    let algorithm = (CATALOG[number].default)().build(&link()).unwrap();
    Queue::new(algorithm, Seed(7).stream("queue"), Limit::Packets(60), true, Some(link().rate))
}

fn one_leaf() -> Plan {
    Plan::new(vec![Class::new("all")])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A shaper that never waits, and a tree with one leaf that only the link limits, change nothing, whatever
    /// algorithm or discipline is inside: it hears the same, at the same times.
    #[test]
    fn what_limits_nothing_changes_nothing(number in 0..CATALOG.len(), load in load(400)) {
        let packets = packets(&load, 1);
        let no_lanes = |away: Away| {
            let sent = away.sent.into_iter().map(|s| (s.packet.number, s.packet.ecn, s.arrived, s.start, s.end));
            let gone = away.dropped.into_iter().map(|(now, d)| (now, d.packet.number, d.cause, d.place));
            (sent.collect::<Vec<_>>(), gone.collect::<Vec<_>>())
        };
        let (alone, line) = through(any_queue(number), link().rate, &packets);
        let alone = no_lanes(alone);
        let shaper = Shaper::plain(BitRate::from_bps(FAST), bytes(1_000_000));
        let (shaped, shaped_line) = through(Shaped::new(any_queue(number), &shaper), link().rate, &packets);
        prop_assert_eq!(&no_lanes(shaped), &alone, "{}", CATALOG[number].name);
        prop_assert_eq!(shaped_line.counters(), line.counters());
        let tree = Tree::new(&one_leaf(), by_leaf as ByLeaf, Some(link().rate), |_, _| any_queue(number)).unwrap();
        let (tree, tree_line) = through(tree, link().rate, &packets);
        prop_assert_eq!(&no_lanes(tree), &alone, "{}", CATALOG[number].name);
        prop_assert_eq!(tree_line.counters(), line.counters());
    }
}

/// A tree drawn at random: rates that fit, ceilings, priorities, quanta. Its leaves are numbered in the plan's order.
fn plan() -> impl Strategy<Value = Plan> {
    let class = (any::<prop::sample::Index>(), 2u64..6, 0..3u32, 0..4u8, 1500u64..9000, 1500u64..6000);
    (mbit_range(), prop::collection::vec(class, 1..14)).prop_map(|(rate, drawn)| {
        let mut classes = vec![Class::new("0").limited(rate, rate, bytes(3000))];
        let mut left = vec![rate.bps()];
        let mut depths = vec![1];
        for (index, divisor, ceil, priority, quantum, burst) in drawn {
            let parent = index.index(classes.len());
            if depths[parent] == 8 {
                continue;
            }
            (classes[parent].priority, classes[parent].quantum) = (None, None);
            let above = classes[parent].limits.unwrap();
            let rate = left[parent] / divisor;
            left[parent] -= rate;
            let ceil = match ceil {
                0 => above.ceil.bps(),
                1 => rate.max(above.ceil.bps() / 2),
                _ => rate.max(1),
            };
            let limits = Limits {
                rate: BitRate::from_bps(rate),
                ceil: BitRate::from_bps(ceil),
                burst: bytes(burst),
                cburst: bytes(burst),
            };
            let name = classes.len().to_string();
            let class =
                Class::new(name).below(parent.to_string()).first_by(priority).in_turns_of(bytes(quantum));
            classes.push(Class { limits: Some(limits), ..class });
            left.push(rate);
            depths.push(depths[parent] + 1);
        }
        Plan::new(classes)
    })
}

fn mbit_range() -> impl Strategy<Value = BitRate> {
    (100_000u64..200_000_000).prop_map(BitRate::from_bps)
}

fn tree(plan: &Plan, packets: u32) -> Tree<Plain, ByLeaf> {
    Tree::new(plan, by_leaf as ByLeaf, None, |_, _| fifo(packets)).unwrap()
}

/// The classes above a class, from itself on.
fn ancestry(plan: &Plan, class: usize) -> Vec<usize> {
    std::iter::successors(Some(class), |at| Some(plan.classes[*at].parent.as_ref()?.parse().unwrap()))
        .collect()
}

/// The class of each leaf.
fn leaves(plan: &Plan) -> Vec<usize> {
    plan.leaves().unwrap().into_iter().map(|name| name.parse().unwrap()).collect()
}

/// Sends without pause, with something waiting in each of `busy` always: what left each leaf, and when.
fn backlogged(tree: &mut Tree<Plain, ByLeaf>, busy: &[usize], end: Time, sizes: &[u64]) -> Vec<Sent<Pkt>> {
    let (mut now, mut number, mut sent) = (Time::ZERO, 0, Vec::new());
    let mut put = |tree: &mut Tree<Plain, ByLeaf>, now, leaf| {
        let packet = Pkt { number, bytes: sizes[number % sizes.len()], leaf, ..Default::default() };
        number += 1;
        assert_eq!(tree.enqueue(now, packet, &mut |_| {}), Admission::Queued);
    };
    for leaf in busy {
        (0..3).for_each(|_| put(tree, now, *leaf));
    }
    while now < end {
        match tree.dequeue(now, &mut |_| {}) {
            Dequeued::Packet(packet, arrived) => {
                sent.push(Sent { packet, arrived, start: now, end: now });
                put(tree, now, packet.leaf);
            }
            Dequeued::NotBefore(time) => {
                assert!(time > now && time < Time::MAX);
                // A nanosecond earlier there is nothing to send.
                let early = tree.clone().dequeue(ns(time.nanos() - 1), &mut |_| {});
                assert_eq!(early, Dequeued::NotBefore(time));
                now = time;
            }
            Dequeued::Nothing => panic!("something waits"),
        }
    }
    sent
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Whatever the tree and the load: nothing is lost, leaves keep their order, no leaf passes its ceiling, and no
    /// class passes its own by more than the bursts below it.
    #[test]
    fn ceilings_hold_in_every_window(plan in plan(), load in load(400), slow in any::<bool>()) {
        let of_leaf = leaves(&plan);
        let packets = packets(&load, of_leaf.len());
        let rate = if slow { mbit(20.0) } else { BitRate::from_bps(FAST) };
        let (away, line) = through(tree(&plan, 40), rate, &packets);
        prop_assert!(line.queue().is_empty());
        for (leaf, class) in of_leaf.iter().enumerate() {
            let order = away.sent.iter().filter(|sent| sent.packet.leaf == leaf).map(|sent| sent.packet.number);
            prop_assert!(order.is_sorted());
            let lane = line.queue().lane_counters(leaf).unwrap();
            prop_assert_eq!(lane.arrived.packets as usize, packets.iter().filter(|(_, p)| p.leaf == leaf).count());
            prop_assert_eq!(line.queue().lane_name(leaf), Some(plan.classes[*class].name.as_str()));
        }
        prop_assert!(away.sent.iter().all(|sent| sent.packet.lane == sent.packet.leaf));
        prop_assert!(away.dropped.iter().all(|(_, gone)| gone.packet.lane == gone.packet.leaf));
        for (number, class) in plan.classes.iter().enumerate() {
            let limits = class.limits.unwrap();
            let below: Vec<usize> = (0..plan.classes.len()).filter(|c| ancestry(&plan, *c).contains(&number)).collect();
            let bursts = below.iter().map(|c| plan.classes[*c].limits.unwrap().cburst.get() + 1500).sum();
            bounded(&away.sent, limits.ceil, bursts, |packet| ancestry(&plan, of_leaf[packet.leaf]).contains(&number));
        }
    }

    /// A leaf in which something always waits gets its rate, from the start to any later time, whatever the others do:
    /// nobody starves. The top gives all that it has if someone may take it.
    #[test]
    fn guarantees_hold(plan in plan(), busy in prop::collection::vec(any::<bool>(), 14), size in 60u64..1500) {
        let of_leaf = leaves(&plan);
        let busy: Vec<usize> = (0..of_leaf.len()).filter(|leaf| busy[*leaf]).collect();
        if busy.is_empty() {
            return Ok(());
        }
        let end = ns(400 * 1500 * 8 * 1_000_000_000 / plan.classes[0].limits.unwrap().rate.bps());
        let sent = backlogged(&mut tree(&plan, 60), &busy, end, &[1500, size]);
        let mut got = vec![0u64; of_leaf.len()];
        for Sent { packet, start, .. } in &sent {
            // Just before this packet.
            let rate = plan.classes[of_leaf[packet.leaf]].limits.unwrap().rate;
            let due = u128::from(rate.bps()) * u128::from(start.nanos());
            let gets = u128::from(got[packet.leaf]) * 8_000_000_000;
            prop_assert!(gets + 8_000_000_000 >= due, "leaf {} has {gets} of {due}", packet.leaf);
            got[packet.leaf] += packet.bytes;
        }
        for leaf in &busy {
            let rate = plan.classes[of_leaf[*leaf]].limits.unwrap().rate;
            let due = u128::from(rate.bps()) * u128::from(end.nanos()) / 8_000_000_000;
            prop_assert!(u128::from(got[*leaf] + 1500) >= due, "leaf {leaf} has {} of {due}", got[*leaf]);
        }
        let top = plan.classes[0].limits.unwrap();
        let takes_all = |leaf: &usize| {
            ancestry(&plan, of_leaf[*leaf]).iter().all(|class| plan.classes[*class].limits.unwrap().ceil == top.ceil)
        };
        if busy.iter().any(takes_all) {
            let all: u64 = got.iter().sum();
            let due = u128::from(top.rate.bps()) * u128::from(end.nanos()) / 8_000_000_000;
            prop_assert!(u128::from(all + 1500) >= due, "{all} of {due}");
        }
    }

    /// Without rates, a link never waits; the lowest priority goes first; among equals, what two have sent for each byte
    /// of their quanta differs by less than a turn and the largest packet.
    #[test]
    fn turns_are_fair_and_priority_is_strict(
        classes in prop::collection::vec((0..3u8, 1500u64..9000), 1..80), sizes in prop::collection::vec(40u64..1500, 1..9),
    ) {
        let class = |(number, &(priority, quantum)): (usize, &(u8, u64))| {
            Class::new(number.to_string()).first_by(priority).in_turns_of(bytes(quantum))
        };
        let plan = Plan::new(classes.iter().enumerate().map(class).collect());
        let mut tree = tree(&plan, 60);
        let best = classes.iter().map(|(priority, _)| *priority).min().unwrap();
        let busy: Vec<usize> = (0..classes.len()).collect();
        let mut got = vec![0u64; classes.len()];
        let put = |tree: &mut Tree<Plain, ByLeaf>, leaf, number| {
            let packet = Pkt { number, bytes: sizes[number % sizes.len()], leaf, ..Default::default() };
            let _ = tree.enqueue(Time::ZERO, packet, &mut |_| {});
        };
        busy.iter().for_each(|leaf| (0..2).for_each(|n| put(&mut tree, *leaf, n)));
        for number in 0..4000 {
            let (packet, _) = tree.dequeue(Time::ZERO, &mut |_| {}).packet().expect("it never waits");
            prop_assert_eq!(classes[packet.leaf].0, best);
            got[packet.leaf] += packet.bytes;
            put(&mut tree, packet.leaf, number);
        }
        let equals = || busy.iter().filter(|leaf| classes[**leaf].0 == best);
        let normal = |leaf: &usize| got[*leaf] as f64 / classes[*leaf].1 as f64;
        let spread = equals().map(normal).fold(0.0, f64::max) - equals().map(normal).fold(f64::MAX, f64::min);
        let quantum = equals().map(|leaf| classes[*leaf].1).min().unwrap();
        prop_assert!(spread < 1.0 + 1500.0 / quantum as f64, "{spread}");
    }
}

/// What each gets of `whole` if nobody gets more than it asks for, and what is left goes to the others by weight.
fn max_min(whole: f64, asks: &[(f64, f64)]) -> Vec<f64> {
    let mut gets = vec![0.0; asks.len()];
    let mut open: Vec<usize> = (0..asks.len()).collect();
    let mut left = whole;
    loop {
        let weights: f64 = open.iter().map(|n| asks[*n].1).sum();
        let content = |n: &usize| asks[*n].0 <= left * asks[*n].1 / weights;
        let (done, rest): (Vec<usize>, Vec<usize>) = open.iter().partition(|n| content(n));
        if done.is_empty() {
            rest.iter().for_each(|n| gets[*n] = left * asks[*n].1 / weights);
            return gets;
        }
        done.iter().for_each(|n| gets[*n] = asks[*n].0);
        left -= done.iter().map(|n| asks[*n].0).sum::<f64>();
        open = rest;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Shares of equals are max-min fair by their quanta, whether they are leaves of a link or borrow all that they get
    /// from a parent at its rate.
    #[test]
    fn shares_are_max_min_by_quantum(
        asks in prop::collection::vec((0.02f64..1.5, 1500u64..9000), 2..7), shaped in any::<bool>(),
    ) {
        let (rate, seconds) = (40.0, 1.0);
        let class = |(n, (_, quantum)): (usize, &(f64, u64))| {
            let class = Class::new(n.to_string()).in_turns_of(bytes(*quantum));
            if shaped { class.below("all").limited(mbit(0.0), mbit(rate), bytes(3000)) } else { class }
        };
        let top = shaped.then(|| Class::new("all").limited(mbit(rate), mbit(rate), bytes(3000)));
        let plan = Plan::new(top.into_iter().chain(asks.iter().enumerate().map(class)).collect());
        // Evenly spaced packets of each, from times of their own.
        let mut packets = Vec::new();
        for (leaf, (share, _)) in asks.iter().enumerate() {
            let gap = 12_000.0 / (share * rate * 1e6);
            let times = (0..).map(|n| (n as f64 + 0.1 * leaf as f64) * gap).take_while(|t| *t < seconds);
            packets.extend(times.map(|t| (ns((t * 1e9) as u64), Pkt { bytes: 1500, leaf, ..Default::default() })));
        }
        packets.sort_by_key(|(at, _)| *at);
        let link = if shaped { BitRate::from_bps(FAST) } else { mbit(rate) };
        let (mut line, mut away) = (Line::new(tree(&plan, 30), link), Away::default());
        for (now, packet) in packets {
            let _ = line.arrive(now, packet, &mut away);
        }
        let all: f64 = asks.iter().map(|(share, _)| share * rate).sum();
        let asked: Vec<(f64, f64)> = asks.iter().map(|(share, quantum)| (share * rate, *quantum as f64)).collect();
        for (leaf, want) in max_min(rate.min(all), &asked).into_iter().enumerate() {
            let of = away.sent.iter().filter(|sent| sent.packet.leaf == leaf && sent.start < ns(1_000_000_000));
            let got = of.map(|sent| sent.packet.bytes).sum::<u64>() as f64 * 8.0 / 1e6 / seconds;
            // A buffer, a burst and a turn more or less.
            prop_assert!((got - want).abs() < 0.02 * want + 0.6, "leaf {leaf} gets {got} and not {want}: {asks:?}");
        }
    }
}

/// Mbit/s of each leaf over a busy time.
fn shares(plan: &Plan, busy: &[usize], end: Duration) -> Vec<f64> {
    let sent = backlogged(&mut tree(plan, 60), busy, Time::ZERO + end, &[1500]);
    let mut got = vec![0u64; leaves_of(plan)];
    sent.iter().for_each(|sent| got[sent.packet.leaf] += sent.packet.bytes);
    got.iter().map(|bytes| *bytes as f64 * 8.0 / end.as_secs_f64() / 1e6).collect()
}

fn leaves_of(plan: &Plan) -> usize {
    plan.leaves().unwrap().len()
}

fn assert_near(got: &[f64], want: &[f64]) {
    assert!(
        got.iter().zip(want).all(|(got, want)| (got - want).abs() < 0.01 * want + 0.02),
        "{got:?} {want:?}"
    );
}

/// The example of Devera's page: what A1 leaves goes to A2 first and then to B; priority decides who borrows first.
#[test]
fn excess_is_borrowed_in_order() {
    let burst = bytes(3000);
    let classes = |a1: u8, b: u8| {
        let leaf = |name: &str, rate, ceil, priority| {
            Class::new(name)
                .limited(mbit(rate), mbit(ceil), burst)
                .first_by(priority)
                .in_turns_of(bytes(1500))
        };
        Plan::new(vec![
            Class::new("root").limited(mbit(10.0), mbit(10.0), burst),
            Class::new("a").limited(mbit(6.0), mbit(10.0), burst).below("root"),
            leaf("a1", 4.0, 10.0, a1).below("a"),
            leaf("a2", 2.0, 10.0, 0).below("a"),
            leaf("b", 4.0, 10.0, b).below("root"),
        ])
    };
    let second = Duration::from_secs(2);
    assert_near(&shares(&classes(0, 0), &[0, 1, 2], second), &[4.0, 2.0, 4.0]);
    // What a1 leaves stays in `a`: b has its own rate, and a2 all of a's.
    assert_near(&shares(&classes(0, 0), &[1, 2], second), &[0.0, 6.0, 4.0]);
    assert_near(&shares(&classes(0, 0), &[0], second), &[10.0, 0.0, 0.0]);
    // b leaves 4 Mbit/s to the children of `a`: all to the one of higher priority.
    assert_near(&shares(&classes(1, 0), &[0, 1], second), &[4.0, 6.0, 0.0]);
    assert_near(&shares(&classes(0, 1), &[0, 1], second), &[6.0, 4.0, 0.0]);
}

/// Two families that borrow from the same class take turns, a round of the one after a round of the other.
///
/// What a family lends itself moves its children's turn, too, as in Linux. So their own rates are small here.
#[test]
fn families_share_what_they_borrow() {
    let burst = bytes(3000);
    let family = |name: &str| Class::new(name).limited(mbit(0.02), mbit(10.0), burst).below("root");
    let leaf = |name: &str, above: &str, quantum| {
        Class::new(name).limited(mbit(0.0), mbit(10.0), burst).below(above).in_turns_of(bytes(quantum))
    };
    let plan = Plan::new(vec![
        Class::new("root").limited(mbit(10.0), mbit(10.0), burst),
        family("a"),
        family("b"),
        leaf("a1", "a", 1500),
        leaf("b1", "b", 1500),
        leaf("b2", "b", 1500),
    ]);
    // Each family has its own rate, and then what a round of all children gives: one turn of three, and two.
    let own_and = |turns: f64| 0.02 + 9.96 * turns / 3.0;
    let got = shares(&plan, &[0, 1, 2], Duration::from_secs(4));
    assert_near(&got, &[own_and(1.0), own_and(2.0) / 2.0, own_and(2.0) / 2.0]);
}

/// Leaves with a rate of zero share their parent's by priority and weight: a scheduler behind a shaper.
#[test]
fn a_rate_of_zero_guarantees_nothing() {
    let burst = bytes(3000);
    let leaf = |name: &str, priority, quantum| {
        let limits = Class::new(name).below("root").limited(mbit(0.0), mbit(9.0), burst);
        limits.first_by(priority).in_turns_of(bytes(quantum))
    };
    let plan = Plan::new(vec![
        Class::new("root").limited(mbit(9.0), mbit(9.0), burst),
        leaf("urgent", 0, 1500),
        leaf("one", 1, 1500),
        leaf("two", 1, 3000),
    ]);
    let second = Duration::from_secs(2);
    assert_near(&shares(&plan, &[1, 2], second), &[0.0, 3.0, 6.0]);
    assert_near(&shares(&plan, &[0, 1, 2], second), &[9.0, 0.0, 0.0]);
}

/// A packet of the first priority waits for the transmission under way and for no other, however many wait.
#[test]
fn the_first_priority_waits_for_one_packet() {
    let plan = Plan::new(vec![Class::new("urgent").first_by(0), Class::new("bulk").first_by(1)]);
    let packets: Vec<(Time, Pkt)> = (0..900)
        .map(|number| {
            let leaf = usize::from(number % 9 > 0);
            (ns(number as u64 * 300_000), Pkt { number, bytes: 1500, leaf, ..Default::default() })
        })
        .collect();
    let (away, _) = through(tree(&plan, 2000), mbit(10.0), &packets);
    let one = Duration::from_micros(1200);
    let wait = |sent: &Sent<Pkt>| sent.start.since(sent.arrived);
    assert!(away.sent.iter().filter(|sent| sent.packet.leaf == 0).all(|sent| wait(sent) <= one));
    assert!(away.sent.iter().any(|sent| sent.packet.leaf == 1 && wait(sent) > one * 100));
}

/// Notes when its updates run.
#[derive(Clone, Debug)]
struct Diary {
    due: Time,
    every: Duration,
    ran: Vec<Time>,
    idle: Vec<Time>,
}

impl Aqm for Diary {
    fn next_update(&self) -> Option<Time> {
        Some(self.due)
    }
    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        self.ran.push(cx.now);
        self.due += self.every;
    }
    fn on_idle(&mut self, since: Time) {
        self.idle.push(since);
    }
}

/// Every leaf's updates run at their own times, and each leaf hears of its own idleness.
#[test]
fn leaves_keep_their_own_time() {
    let plan = Plan::new((0..9).map(|n| Class::new(n.to_string())).collect());
    let diary = |class: &Class| {
        let every = Duration::from_micros(700 + 100 * class.name.parse::<u64>().unwrap());
        Diary { due: Time::ZERO + every, every, ran: Vec::new(), idle: Vec::new() }
    };
    let queue = Tree::new(&plan, by_leaf as ByLeaf, None, |class, _| {
        Fifo::new(diary(class), Seed(1).stream("diary"), Limit::Packets(9), false, None)
    })
    .unwrap();
    let (mut line, mut away) = (Line::new(queue, mbit(12.0)), Away::default());
    // A packet takes 1 ms.
    for number in 0..4 {
        let packet = Pkt { number, bytes: 1500, leaf: number % 2, ..Default::default() };
        let _ = line.arrive(ns(10_000_000 + 5_000_000 * number as u64), packet, &mut away);
    }
    line.run(ns(50_000_000), &mut away);
    for leaf in 0..9 {
        let Diary { every, ran, idle, .. } = line.queue().leaf(leaf).aqm();
        let times = (1..).map(|n| Time::ZERO + *every * n).take_while(|time| *time <= ns(50_000_000));
        assert_eq!(*ran, times.collect::<Vec<_>>());
        let want: &[u64] = match leaf {
            0 => &[0, 11_000_000, 21_000_000],
            1 => &[0, 16_000_000, 26_000_000],
            _ => &[0],
        };
        assert_eq!(*idle, want.iter().map(|t| ns(*t)).collect::<Vec<_>>(), "leaf {leaf}");
    }
}

/// A queue with a packet that waits for tokens is not idle, and its algorithm is not told so.
#[test]
fn a_shaped_queue_is_idle_when_nothing_waits_for_tokens() {
    let every = Duration::from_secs(9);
    let diary = Diary { due: Time::ZERO + every, every, ran: Vec::new(), idle: Vec::new() };
    let inner = Fifo::new(diary, Seed(1).stream("diary"), Limit::Packets(9), false, None);
    let shaped = Shaped::new(inner, &Shaper::plain(mbit(12.0), bytes(1500)));
    let (mut line, mut away) = (Line::new(shaped, mbit(1200.0)), Away::default());
    for number in 0..2 {
        let _ = line.arrive(ns(5_000_000), Pkt { number, bytes: 1500, ..Default::default() }, &mut away);
    }
    assert_eq!(line.queue().view().packets.get(), 1, "the second waits for tokens");
    line.run(ns(5_010_000), &mut away);
    assert_eq!(line.next_departure(), Some(ns(6_000_000)));
    line.run(ns(5_900_000), &mut away);
    assert_eq!(line.queue().inner().aqm().idle, [ns(0)]);
    line.run(ns(9_000_000), &mut away);
    assert_eq!(line.queue().inner().aqm().idle, [ns(0), ns(6_010_000)]);
    assert_eq!(line.queue().overlimits(), 1);
}

/// Whoever calls it, and however often: a queue whose packet waits for tokens is not idle.
#[test]
fn a_packet_that_waits_for_tokens_keeps_the_queue_busy() {
    let every = Duration::from_secs(9);
    let diary = Diary { due: Time::ZERO + every, every, ran: Vec::new(), idle: Vec::new() };
    let inner = Fifo::new(diary, Seed(1).stream("diary"), Limit::Packets(9), false, None);
    let mut queue = Shaped::new(inner, &Shaper::plain(mbit(12.0), bytes(1500)));
    for number in 0..2 {
        let _ = queue.enqueue(ns(0), Pkt { number, bytes: 1500, ..Default::default() }, &mut |_| {});
    }
    assert!(matches!(queue.dequeue(ns(0), &mut |_| {}), Dequeued::Packet(..)));
    assert_eq!(queue.dequeue(ns(10), &mut |_| {}), Dequeued::NotBefore(ns(1_000_000)));
    queue.idle(ns(10));
    assert_eq!(queue.inner().aqm().idle, []);
    assert!(queue.dequeue(ns(1_000_000), &mut |_| {}).packet().is_some());
    queue.idle(ns(1_000_010));
    assert_eq!(queue.inner().aqm().idle, [ns(1_000_010)]);
}

/// Drops every packet at the head.
#[derive(Clone, Debug, Default)]
struct Bin {
    idle: Vec<Time>,
}

impl Aqm for Bin {
    fn departures(&self) -> Departures {
        Departures::Decided
    }
    fn on_dequeue(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) -> Verdict {
        Verdict::Drop(Cause::Early)
    }
    fn on_idle(&mut self, since: Time) {
        self.idle.push(since);
    }
}

/// A leaf that its algorithm empties is idle from then on, and the next leaf is served at once.
#[test]
fn a_leaf_that_drops_all_it_has_is_idle() {
    let plan = Plan::new(vec![Class::new("bin").first_by(0), Class::new("other").first_by(1)]);
    let bin = |_: &Class, _| Fifo::new(Bin::default(), Seed(1).stream("bin"), Limit::Packets(9), false, None);
    let mut tree = Tree::new(&plan, by_leaf as ByLeaf, None, bin).unwrap();
    tree.idle(ns(0));
    for number in 0..6 {
        let _ = tree.enqueue(
            ns(5),
            Pkt { number, bytes: 1500, leaf: number / 3, ..Default::default() },
            &mut |_| {},
        );
    }
    let mut gone = Vec::new();
    assert_eq!(tree.dequeue(ns(7), &mut |drop| gone.push(drop.packet.number)), Dequeued::Nothing);
    assert_eq!(gone, [0, 1, 2, 3, 4, 5]);
    assert!(tree.is_empty());
    for leaf in 0..2 {
        assert_eq!(tree.leaf(leaf).aqm().idle, [ns(0), ns(7)]);
    }
}

/// A leaf that is shaped by itself, or a tree again, waits for its own time while the others go on.
#[test]
fn leaves_may_wait_for_a_time_of_their_own() {
    enum Leaf {
        Slow(Box<Shaped<Plain>>),
        Tree(Box<Tree<Plain, ByLeaf>>),
        Plain(Box<Plain>),
    }
    macro_rules! each {
        ($self:expr, $q:ident => $body:expr) => {
            match $self {
                Leaf::Slow($q) => $body,
                Leaf::Tree($q) => $body,
                Leaf::Plain($q) => $body,
            }
        };
    }
    impl Qdisc for Leaf {
        type Packet = Pkt;
        fn enqueue(&mut self, now: Time, packet: Pkt, dropped: &mut dyn FnMut(Dropped<Pkt>)) -> Admission {
            each!(self, q => q.enqueue(now, packet, dropped))
        }
        fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(Dropped<Pkt>)) -> Dequeued<Pkt> {
            each!(self, q => q.dequeue(now, dropped))
        }
        fn idle(&mut self, since: Time) {
            each!(self, q => q.idle(since))
        }
        fn advance(&mut self, now: Time) {
            each!(self, q => q.advance(now))
        }
        fn next_update(&self) -> Option<Time> {
            each!(self, q => q.next_update())
        }
        fn counters(&self) -> quell_queue::Counters {
            each!(self, q => q.counters())
        }
        fn view(&self) -> quell_aqm::QueueView {
            each!(self, q => q.view())
        }
        fn observe(&self, out: &mut dyn quell_aqm::Probe) {
            each!(self, q => q.observe(out))
        }
        fn set_rate(&mut self, rate: BitRate) {
            each!(self, q => q.set_rate(rate))
        }
        fn into_parts(self) -> (Vec<(Time, Pkt)>, quell_queue::Counters) {
            each!(self, q => q.into_parts())
        }
        fn take_over(&mut self, now: Time, waiting: Vec<(Time, Pkt)>, counters: quell_queue::Counters) {
            each!(self, q => q.take_over(now, waiting, counters))
        }
    }
    let inner = Plan::new(vec![Class::new("x").limited(mbit(2.0), mbit(2.0), bytes(1500)), Class::new("y")]);
    let plan = Plan::new(vec![
        Class::new("slow").first_by(0),
        Class::new("tree").first_by(1),
        Class::new("plain").first_by(2),
    ]);
    let queue = Tree::new(&plan, by_leaf as ByLeaf, None, |class, _| match class.name.as_str() {
        "slow" => Leaf::Slow(Box::new(Shaped::new(fifo(5000), &Shaper::plain(mbit(3.0), bytes(3000))))),
        // All of its packets wait in its first leaf.
        "tree" => {
            Leaf::Tree(Box::new(Tree::new(&inner, (|_| 0) as ByLeaf, None, |_, _| fifo(5000)).unwrap()))
        }
        _ => Leaf::Plain(Box::new(fifo(5000))),
    })
    .unwrap();
    let packets: Vec<(Time, Pkt)> = (0..3000)
        .map(|number| {
            (ns(number as u64 * 1000), Pkt { number, bytes: 1500, leaf: number % 3, ..Default::default() })
        })
        .collect();
    let (away, _) = through(queue, mbit(10.0), &packets);
    let until = ns(2_000_000_000);
    let rate = |leaf| {
        let of = away.sent.iter().filter(|sent| sent.packet.leaf == leaf && sent.start < until);
        of.map(|sent| sent.packet.bytes).sum::<u64>() as f64 * 8.0 / 2e6
    };
    assert_near(&[rate(0), rate(1), rate(2)], &[3.0, 2.0, 5.0]);
    for (leaf, most) in [(0, 3.0), (1, 2.0)] {
        // The burst of the one, and of the other with the packet that takes it into debt.
        bounded(&away.sent, mbit(most), 3000, |packet| packet.leaf == leaf);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Another tree takes over in the middle of a run: no packet is lost or counted twice, each leaf keeps its order,
    /// and the counts go on.
    #[test]
    fn what_waits_survives_reconfiguration(from in plan(), to in plan(), load in load(300), cut in 0..300usize) {
        let all = packets(&load, 1);
        // A packet's leaf is the one of its number, of however many.
        let build = |plan: &Plan| {
            let count = leaves_of(plan);
            let leaf: Box<dyn Fn(&Pkt) -> usize> = Box::new(move |packet| packet.number % count);
            Tree::new(plan, leaf, None, |_, _| {
                Shaped::new(fifo(30), &Shaper::plain(mbit(30.0), bytes(3000)))
            }).unwrap()
        };
        let (mut line, mut away) = (Line::new(build(&from), mbit(50.0)), Away::default());
        for (came, (now, packet)) in all.iter().enumerate() {
            if came == cut {
                let before = line.queue().counters();
                line.run_before(*now, &mut away);
                line.reconfigure(*now, build(&to), &mut away);
                prop_assert_eq!(line.queue().counters().arrived, before.arrived);
                balanced(line.queue(), &away, came);
            }
            let _ = line.arrive(*now, *packet, &mut away);
            balanced(line.queue(), &away, came + 1);
        }
        while let Some(next) = line.next_departure() {
            line.run(next, &mut away);
        }
        balanced(line.queue(), &away, all.len());
        prop_assert!(line.queue().is_empty());
        let mut last = HashMap::new();
        let count = leaves_of(&to);
        for sent in away.sent.iter().filter(|sent| sent.packet.number >= cut) {
            let before = last.insert(sent.packet.number % count, sent.packet.number);
            prop_assert!(before.is_none_or(|before| before < sent.packet.number));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Whoever calls, in whatever order: packets and bytes are conserved, with any algorithm and discipline in the leaves,
    /// which wait for times of their own; what waits leaves in the end, at the times that are promised.
    #[test]
    fn any_order_of_calls_conserves_packets(
        plan in plan(), algorithms in prop::collection::vec(0..CATALOG.len(), 14), slow in 1u64..100,
        calls in prop::collection::vec((0..12u8, 0u64..3_000_000, 0..1000usize, 40u64..1500), 1..300),
    ) {
        let count = leaves_of(&plan);
        let mut made = algorithms.iter();
        let mut tree = Tree::new(&plan, by_leaf as ByLeaf, None, |_, rate| {
            let mut queue = any_queue(*made.next().unwrap());
            rate.into_iter().for_each(|rate| queue.set_rate(rate));
            Shaped::new(queue, &Shaper::plain(BitRate::from_bps(slow * 1_000_000), bytes(3000)))
        }).unwrap();
        let (mut now, mut away, mut came) = (Time::ZERO, Away::default(), 0);
        let ask = |tree: &mut Tree<_, _>, now, away: &mut Away| {
            let asked = tree.dequeue(now, &mut |gone| away.dropped(now, gone));
            if let Dequeued::Packet(packet, arrived) = asked {
                away.sent(Sent { packet, arrived, start: now, end: now });
            }
            asked
        };
        for (call, gap, leaf, size) in calls {
            match call {
                0..=5 => {
                    let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][came % 3];
                    let packet = Pkt { number: came, bytes: size, leaf: leaf % count, ecn, ..Default::default() };
                    came += 1;
                    let _ = tree.enqueue(now, packet, &mut |gone| away.dropped(now, gone));
                }
                6..=8 => {
                    let _ = ask(&mut tree, now, &mut away);
                }
                9 => tree.idle(now),
                10 => tree.set_rate(BitRate::from_bps(1 + gap * 100)),
                _ => {
                    now += Duration::from_nanos(gap * 10);
                    tree.advance(now);
                }
            }
            now += Duration::from_nanos(gap / 100);
            balanced(&tree, &away, came);
        }
        loop {
            tree.advance(now);
            match ask(&mut tree, now, &mut away) {
                Dequeued::Packet(..) => {}
                Dequeued::NotBefore(time) => {
                    prop_assert!(time > now && time < Time::MAX);
                    now = time;
                }
                Dequeued::Nothing => break,
            }
            balanced(&tree, &away, came);
        }
        prop_assert!(tree.is_empty());
    }
}

/// A leaf is asked only while something of it can leave, so CoDel inside decides when a packet really leaves.
#[test]
fn an_algorithm_decides_when_its_packet_leaves() {
    let codel = CATALOG.iter().position(|entry| entry.name == find("codel").unwrap().name).unwrap();
    let plan = Plan::new(vec![
        Class::new("root").limited(mbit(8.0), mbit(8.0), bytes(1500)),
        Class::new("codel").limited(mbit(2.0), mbit(2.0), bytes(1500)).below("root"),
    ]);
    let packets: Vec<(Time, Pkt)> = (0..2000)
        .map(|number| (ns(number as u64 * 3_000_000), Pkt { number, bytes: 1500, ..Default::default() }))
        .collect();
    let queue = Tree::new(&plan, by_leaf as ByLeaf, None, |_, _| any_queue(codel)).unwrap();
    let (away, _) = through(queue, BitRate::from_bps(FAST), &packets);
    // 4 Mbit/s into 2: half is dropped at the head, and the delay stays near the target.
    let early = away.dropped.iter().filter(|(_, gone)| gone.place == DropPoint::Head).count();
    assert!(early > 500, "{early}");
    let mut waits: VecDeque<u64> =
        away.sent.iter().map(|sent| sent.start.since(sent.arrived).nanos() / 1_000_000).collect();
    waits.make_contiguous().sort_unstable();
    assert!(waits[waits.len() / 2] < 200, "{} ms", waits[waits.len() / 2]);
}

/// Rules lead by one fact of a packet, in the order of their kinds.
#[test]
fn a_table_classifies() {
    let plan = Plan::new(["a", "b", "c", "d", "e", "f"].map(Class::new).into());
    let rules = [
        (Match::Dscp(46), "b"),
        (Match::Group(2), "c"),
        (Match::Source(7), "d"),
        (Match::Destination(7), "e"),
        (Match::Mark(9), "f"),
        (Match::Dscp(8), "a"),
    ];
    let table = Table::new(&plan, &rules, "a").unwrap();
    let plain = Pkt::default();
    let hosts = |source, destination| Hosts { source, destination };
    for (packet, leaf) in [
        (plain, 0),
        (Pkt { dscp: 46, ..plain }, 1),
        (Pkt { dscp: 46, group: 2, ..plain }, 2),
        (Pkt { dscp: 46, group: 1, ..plain }, 1),
        (Pkt { hosts: hosts(7, 7), group: 2, ..plain }, 3),
        (Pkt { hosts: hosts(1, 7), group: 2, ..plain }, 4),
        (Pkt { hosts: hosts(7, 1), mark: 9, ..plain }, 5),
    ] {
        assert_eq!(table.leaf(&packet), leaf, "{packet:?}");
    }
}

fn refusal<T: std::fmt::Debug>(result: Result<T, Refused>) -> String {
    result.unwrap_err().to_string()
}

/// Each rule, with the class, the field, the value, and the fix.
#[test]
fn bad_trees_are_refused_with_the_rule() {
    let burst = bytes(3000);
    let root = || Class::new("root").limited(mbit(10.0), mbit(10.0), burst);
    let child =
        |name: &str, rate, ceil| Class::new(name).limited(mbit(rate), mbit(ceil), burst).below("root");
    let cases: Vec<(Vec<Class>, &str)> = vec![
        (vec![], "classes = none: a tree has at least one class; add a leaf"),
        (vec![Class::new("")], "class `class 1 of 1`: name = \"\": must not be empty; name the class"),
        (vec![root(), root()], "class `root`: name = root: another class has this name; rename one of them"),
        (
            vec![Class::new("a").below("b")],
            "class `a`: parent = b: must be a class; add the class, or name another",
        ),
        (
            vec![Class::new("a").below("b"), Class::new("b").below("c"), Class::new("c").below("a")],
            "class `a`: parent = a < b < c: a class must not be its own ancestor; give one of these classes another \
             parent, or none",
        ),
        (
            vec![Class::new("x").below("a"), Class::new("a").below("a")],
            "class `a`: parent = a: a class must not be its own ancestor; give one of these classes another parent, \
             or none",
        ),
        (
            vec![root(), child("a", 4.0, 3.0)],
            "class `a`: ceil = 3 Mbit/s: must be positive and at least the rate of 4 Mbit/s; raise ceil, or lower rate",
        ),
        (
            vec![root(), child("a", 4.0, 11.0)],
            "class `a`: ceil = 11 Mbit/s: must not exceed the ceil of its parent `root` (10 Mbit/s); lower it, or \
             raise the parent's",
        ),
        (
            vec![Class::new("a").limited(mbit(1.0), mbit(2.0), burst)],
            "class `a`: ceil = 2 Mbit/s: a class without a parent borrows from nobody, so ceil must be the rate of 1 \
             Mbit/s; set both alike, or give it a parent",
        ),
        (
            vec![root(), child("a", 6.0, 6.0), child("b", 5.0, 5.0)],
            "class `b`: rate = 5 Mbit/s: with those before it `root` guarantees 11 Mbit/s, and has a rate of 10 \
             Mbit/s; lower the children's rates, or raise the parent's",
        ),
        (
            vec![root(), Class::new("a").limited(mbit(1.0), mbit(2.0), bytes(1400)).below("root")],
            "class `a`: burst = 1.4 kB: must hold the largest packet, which takes 1.5 kB on the wire; set at least 1.5 kB",
        ),
        (
            vec![root(), Class::new("a").below("root")],
            "class `a`: limits = none: `root` has rates, which a class without rates would pass by; set a rate (0 \
             guarantees nothing) and a ceil",
        ),
        (
            vec![root().first_by(1), child("a", 1.0, 1.0)],
            "class `root`: priority = 1: only a class without children takes turns; set it on the leaves below",
        ),
        (
            vec![Class::new("a").first_by(64)],
            "class `a`: priority = 64: must be below 64; number the priorities from 0",
        ),
        (
            vec![Class::new("a").in_turns_of(bytes(1000))],
            "class `a`: quantum = 1 kB: must be at least the largest packet (1.5 kB); raise all quanta by \
             the same factor",
        ),
    ];
    for (classes, want) in cases {
        assert_eq!(refusal(Plan::new(classes).leaves()), want);
    }
    let deep = (0..9).map(|n| match n {
        0 => Class::new("0"),
        n => Class::new(n.to_string()).below((n - 1).to_string()),
    });
    assert_eq!(
        refusal(Plan::new(deep.collect()).leaves()),
        "class `8`: parent = 8 < 7 < 6 < 5 < 4 < 3 < 2 < 1 < 0: a tree has at most 8 levels; leave out a level"
    );
    let two = Plan::new(vec![root(), child("a", 1.0, 1.0), child("b", 1.0, 1.0)]);
    for (rules, default, want) in [
        (
            vec![],
            "a",
            "class `b`: match = none: a class without packets is empty: some rule must lead to it; add a \
                       rule, or leave the class out",
        ),
        (
            vec![],
            "root",
            "class `root`: class = root: packets wait in classes without children; name one of a, b",
        ),
        (
            vec![(Match::Dscp(64), "b")],
            "a",
            "class `b`: dscp = 64: must be at most 63; shift the byte of the IP \
                                             header right by two bits",
        ),
        (
            vec![(Match::Mark(1), "b"), (Match::Mark(1), "a")],
            "a",
            "class `a`: match = Mark(1): another rule is the \
                                                                   same; leave out one",
        ),
    ] {
        assert_eq!(refusal(Table::new(&two, &rules, default)), want);
    }
}

#[test]
fn bad_shapers_are_refused_with_the_rule() {
    let good = Shaper::plain(mbit(1.0), bytes(1500));
    assert_eq!(good.check(bytes(1500)), Ok(()));
    let peak = |rate, mtu| Some(Peak { rate: mbit(rate), mtu: bytes(mtu) });
    for (shaper, want) in [
        (
            Shaper::plain(mbit(0.0), bytes(1500)),
            "rate = 0 bit/s: must be positive; set the rate that may leave",
        ),
        (
            Shaper { burst: bytes(1499), ..good },
            "burst = 1499 B: must hold the largest packet, which takes 1.5 kB on the wire; set at least 1.5 kB",
        ),
        (
            Shaper { rate: LinkLayer { overhead: bytes(4), ..good.rate }, ..good },
            "burst = 1.5 kB: must hold the largest packet, which takes 1504 B on the wire; set at least 1504 B",
        ),
        (
            Shaper { peak: peak(1.0, 1500), ..good },
            "peak = 1 Mbit/s: must be above the rate of 1 Mbit/s; set a higher peak rate, or none",
        ),
        (
            Shaper { peak: peak(2.0, 1000), ..good },
            "mtu = 1 kB: must hold the largest packet, which takes 1.5 kB on the wire; set at least 1.5 kB",
        ),
        (
            Shaper { limit: Some(Limit::Packets(0)), ..good },
            "limit = 0 packets: must hold a packet; set at least 1",
        ),
        (
            Shaper { limit: Some(Limit::Bytes(1400)), ..good },
            "limit = 1.4 kB: must hold the largest packet of 1.5 kB; set a larger limit, or none",
        ),
    ] {
        assert_eq!(refusal(shaper.check(bytes(1500))), want);
    }
}
