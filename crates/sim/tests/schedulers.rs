//! Shapers and trees of classes, as links of a network: what whole runs must obey.

use std::sync::Arc;

use crate::common::*;
use quell_aqm::Seed;
use quell_aqm::catalog::{AnyAlgorithm, AqmConfig};
use quell_queue::{Class, Limit, Peak, Plan, Shaper};
use quell_sim::network::*;
use quell_sim::outcome::{ClassStats, Left, Outcome, Segment};
use quell_sim::{Control, Engine, Error, run};
use quell_tcp::TcpParams;
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

/// The rate of the interface.
const RATE: u64 = 100_000_000;

fn mbps(x: f64) -> BitRate {
    BitRate::from_bps((x * 1e6) as u64)
}

fn link(buffer: f64, algorithm: AnyAlgorithm) -> LinkSpec {
    bottleneck(RATE, secs(0.01), QueueSize::Packets(buffer), algorithm, false)
}

fn classed(plan: Plan, algorithm: impl Fn(usize) -> AnyAlgorithm, buffer: f64) -> LinkSpec {
    let n = plan.leaves().unwrap().len();
    let leaf = |i| QueueSpec { buffer: QueueSize::Packets(buffer), algorithm: algorithm(i), ecn: false };
    // Flow i waits in leaf i.
    let rows: Vec<[u8; 64]> = (0..n).map(|leaf| [leaf as u8; 64]).collect();
    let classifier = Classifier { rows: rows.into(), of_flow: (0..n as u32).collect() };
    let leaves = (0..n).map(leaf).collect();
    let tree = TreeSpec { plan, leaves, classifier };
    LinkSpec { queue: None, tree: Some(Box::new(tree)), ..link(1.0, drop_tail()) }
}

/// Packets of `bytes` at `rate`.
fn udp(rate: BitRate, bytes: f64, start: f64, on_off: Option<(f64, f64)>) -> (Traffic, Time) {
    let on_off = on_off.map(|(on, off)| (Distribution::Constant(on), Distribution::Constant(off)));
    let pace = Pace { rate: Schedule::constant(rate), gaps: Gaps::Constant, on_off };
    (Traffic::Udp(UdpSpec { packet: Distribution::Constant(bytes), pace, ecn: false }), at(start))
}

fn bulk() -> (Traffic, Time) {
    (Traffic::Tcp { tcp: TcpParams::default(), app: App::Bulk }, at(0.0))
}

/// Flows over the link, each with an access link of its own; a segment from 5 s to 25 s. Both engines give the same.
fn runs(link: impl Fn() -> LinkSpec, flows: &[(Traffic, Time)]) -> Outcome {
    let network = || {
        let mut links = vec![link(), wire(RATE, secs(0.01))];
        let flows = flows.iter().map(|(traffic, start)| {
            links.push(wire(10 * RATE, secs(0.001)));
            FlowSpec {
                class: 0,
                ack_class: 1,
                dscp: 0,
                hosts: Default::default(),
                forward: vec![LinkId(links.len() as u32 - 1), LinkId(0)],
                reverse: if matches!(traffic, Traffic::Udp(_)) { vec![] } else { vec![LinkId(1)] },
                traffic: traffic.clone(),
                start: *start,
                stop: None,
                timed: false,
            }
        });
        let flows = flows.collect();
        Network {
            links,
            flows,
            classes: vec!["data".into(), "acks".into()],
            measure: Measure { warmup: at(5.0), end: at(25.0), boundaries: vec![], step: None },
            seed: Seed(3),
        }
    };
    let [fast, reference] = [Engine::Fast, Engine::Reference].map(|engine| {
        let control = Control { logged: vec![LinkId(0)], ..Control::default() };
        run(network(), engine, &control).unwrap()
    });
    assert_eq!((fast.digest, fast.conservation), (reference.digest, reference.conservation));
    assert_eq!(fast.links, reference.links);
    let c = fast.conservation;
    assert_eq!(c.sent + c.duplicated, c.delivered + c.dropped + c.lost + c.in_flight, "{c:?}");
    fast
}

fn segment(o: &Outcome) -> &Segment {
    &o.links[0].segments[0]
}

fn lane<'a>(o: &'a Outcome, name: &str) -> &'a ClassStats {
    let at = o.links[0].lanes.iter().position(|lane| lane == name).unwrap();
    &segment(o).lanes[at]
}

/// Of a lane, in Mbit/s.
fn throughput(o: &Outcome, name: &str) -> f64 {
    lane(o, name).counts.departed_bytes as f64 * 8e-6 / 20.0
}

/// Of a lane, in milliseconds.
fn most_delay(o: &Outcome, name: &str) -> f64 {
    lane(o, name).delay_ns.max() as f64 * 1e-6
}

/// The packets that left: when their transmission began, and their size.
fn sent(o: &Outcome) -> Vec<(Time, u64)> {
    let log = o.links[0].log.iter();
    let mut all: Vec<(Time, u64)> = log
        .filter_map(|fate| match fate.left {
            Some(Left::Sent { start, .. }) => Some((start, u64::from(fate.bytes))),
            _ => None,
        })
        .collect();
    all.sort_unstable();
    all
}

/// In no window more leaves than a bucket allows.
fn assert_bounded(sent: &[(Time, u64)], rate: BitRate, burst: Bytes) {
    // The most that has been ahead of the rate: the burst is a bound of it.
    let (mut ahead, mut before, mut most) = (0.0_f64, Time::ZERO, 0.0_f64);
    for &(at, bytes) in sent {
        ahead = (ahead - (at - before).as_secs_f64() * rate.bps() as f64 / 8.0).max(0.0) + bytes as f64;
        before = at;
        most = most.max(ahead);
    }
    assert!(most <= burst.get() as f64 + 1e-3, "{most} B are ahead of {rate}, where {burst} are allowed");
    assert!(most > 0.9 * burst.get() as f64, "{most} B of {burst}: the bound is not reached");
}

#[test]
fn a_shaper_sends_at_its_rate_and_no_more_than_its_burst_at_once() {
    let burst = Bytes::new(15_000);
    let shaper = Shaper::plain(mbps(20.0), burst);
    let shaped = || LinkSpec { shaper: Some(Box::new(shaper)), ..link(100.0, drop_tail()) };
    let o = runs(shaped, &[bulk(), bulk(), bulk()]);
    let s = segment(&o);
    assert!((s.capacity_bits - 20e6 * 20.0).abs() < 1.0, "{}", s.capacity_bits);
    let utilization = s.sent_bits / s.capacity_bits;
    assert!((0.99..=1.0).contains(&utilization), "{utilization}");
    assert_bounded(&sent(&o), mbps(20.0), burst);
    // Bursts of 30 packets leave at the rate of the interface, or at the peak rate.
    let bursts = udp(mbps(100.0), 1000.0, 0.0, Some((0.0025, 0.05)));
    let o = runs(shaped, std::slice::from_ref(&bursts));
    assert_bounded(&sent(&o), mbps(20.0), burst);
    let free = least_gap(&o);
    let peak = Peak { rate: mbps(40.0), mtu: Bytes::new(1500) };
    let peaked = Shaper { peak: Some(peak), ..shaper };
    let o = runs(|| LinkSpec { shaper: Some(Box::new(peaked)), ..link(100.0, drop_tail()) }, &[bursts]);
    assert_bounded(&sent(&o), mbps(40.0), peak.mtu);
    let held = least_gap(&o);
    // 1000 bytes take 80 us at 100 Mbit/s. At 40 Mbit/s they take 200 us, and half of the next packet is there at once.
    assert_eq!((free, held), (Duration::from_micros(80), Duration::from_micros(100)));
}

/// The shortest time between packets that leave.
fn least_gap(o: &Outcome) -> Duration {
    sent(o).windows(2).map(|w| w[1].0 - w[0].0).min().unwrap()
}

/// The packet that waits for tokens is of the limit, and of the queue that is measured.
#[test]
fn a_shaper_drops_what_its_limit_has_no_room_for() {
    let shaper = Shaper { limit: Some(Limit::Packets(10)), ..Shaper::plain(mbps(5.0), Bytes::new(1500)) };
    let shaped = || LinkSpec { shaper: Some(Box::new(shaper)), ..link(1000.0, drop_tail()) };
    let o = runs(shaped, &[udp(mbps(10.0), 1000.0, 0.0, None)]);
    let s = segment(&o);
    let counts = s.classes[0].counts;
    assert!((counts.dropped_overflow as f64 / counts.arrived as f64 - 0.5).abs() < 0.01, "{counts:?}");
    let mean = s.queue_packet_seconds / 20.0;
    assert!((9.0..=10.0).contains(&mean), "{mean}");
}

/// The algorithm behind a shaper knows the rate at which its packets leave: its queue is that of a link of this rate.
#[test]
fn an_algorithm_works_behind_a_shaper_as_before_a_slow_link() {
    let pie = |rate| build(&AqmConfig::Pie(Default::default()), rate, QueueSize::Packets(1000.0), 1000);
    let flows: Vec<_> = (0..5).map(|_| bulk()).collect();
    let shaper = Shaper::plain(mbps(10.0), Bytes::new(1000));
    let shaped =
        runs(|| LinkSpec { shaper: Some(Box::new(shaper)), ..link(1000.0, pie(10_000_000)) }, &flows);
    let slow =
        runs(|| LinkSpec { rate: Schedule::constant(mbps(10.0)), ..link(1000.0, pie(10_000_000)) }, &flows);
    let delay = |o: &Outcome| segment(o).queue_byte_seconds / segment(o).sent_bits * 8.0;
    let [shaped, slow] = [shaped, slow].map(|o| delay(&o));
    assert!(
        shaped > 0.005 && (shaped / slow - 1.0).abs() < 0.25,
        "{shaped} s behind a shaper, {slow} s before a link"
    );
}

/// Utilization is relative to the shaper while the link is faster, and to the link while it is slower.
#[test]
fn capacity_is_the_lower_of_two_rates_at_each_time() {
    let rate = Schedule::changing(mbps(100.0), vec![(at(10.0), mbps(4.0)), (at(15.0), mbps(50.0))]);
    let shaper = Shaper::plain(mbps(20.0), Bytes::new(3000));
    let shaped =
        || LinkSpec { rate: rate.clone(), shaper: Some(Box::new(shaper)), ..link(100.0, drop_tail()) };
    let o = runs(shaped, &[udp(mbps(30.0), 1000.0, 0.0, None)]);
    let s = segment(&o);
    assert!((s.capacity_bits / (15.0 * 20e6 + 5.0 * 4e6) - 1.0).abs() < 1e-3, "{}", s.capacity_bits);
    assert!((s.sent_bits / s.capacity_bits - 1.0).abs() < 2e-3, "{}", s.sent_bits / s.capacity_bits);
}

/// With nothing else there, a transfer takes as long as it takes alone, by the tokens.
#[test]
fn a_transfer_through_a_shaper_takes_as_long_as_alone() {
    let transfers = |think: f64| App::Transfers {
        size: Distribution::Constant(60.0),
        think: Distribution::Constant(think),
        count: None,
        connection: Connection::Fresh,
        request: None,
    };
    let traffic = Traffic::Tcp { tcp: TcpParams::default(), app: transfers(0.3) };
    let shaper = Shaper::plain(mbps(8.0), Bytes::new(20_000));
    let shaped = || LinkSpec { shaper: Some(Box::new(shaper)), ..link(1000.0, drop_tail()) };
    let o = runs(shaped, &[(traffic.clone(), at(0.0))]);
    assert!(o.transfers.len() > 20, "{}", o.transfers.len());
    for t in &o.transfers {
        assert_eq!(t.alone, Some(t.end - t.start), "{t:?}");
    }
    // It is the shaper that takes the time.
    let free = runs(|| link(1000.0, drop_tail()), &[(traffic, at(0.0))]);
    let takes = |o: &Outcome| o.transfers[0].end - o.transfers[0].start;
    assert!(takes(&o) > takes(&free) + Duration::from_millis(5), "{} {}", takes(&o), takes(&free));
}

fn limited(name: &str, rate: f64, ceil: f64) -> Class {
    Class::new(name).limited(mbps(rate), mbps(ceil), Bytes::new(1600))
}

/// 6, 3 and 1 Mbit/s of 10.
fn thirds() -> Plan {
    Plan::new(vec![
        limited("all", 10.0, 10.0),
        limited("a", 6.0, 10.0).below("all"),
        limited("b", 3.0, 10.0).below("all"),
        limited("c", 1.0, 10.0).below("all"),
    ])
}

#[test]
fn classes_get_their_rates_and_borrow_what_others_leave() {
    let tail = |_| drop_tail();
    let busy = udp(mbps(20.0), 1000.0, 0.0, None);
    let o = runs(|| classed(thirds(), tail, 50.0), &[busy.clone(), busy.clone(), busy.clone()]);
    assert_eq!(o.links[0].lanes, ["a", "b", "c"]);
    for (name, want) in [("a", 6.0), ("b", 3.0), ("c", 1.0)] {
        let got = throughput(&o, name);
        assert!((got / want - 1.0).abs() < 0.005, "{name}: {got} of {want}");
    }
    let s = segment(&o);
    assert!((s.sent_bits / s.capacity_bits - 1.0).abs() < 0.001 && (s.capacity_bits - 200e6).abs() < 1.0);
    // The lanes are all there is.
    let total = |of: fn(&ClassStats) -> u64| s.lanes.iter().map(of).sum::<u64>();
    assert_eq!(total(|lane| lane.counts.departed), s.classes[0].counts.departed);
    assert_eq!(total(|lane| lane.counts.dropped()), s.classes[0].counts.dropped());
    // What the first leaves is lent to the others, in turns of their quanta: a tenth of a second of their rates.
    let little = udp(mbps(1.0), 1000.0, 0.0, None);
    let o = runs(|| classed(thirds(), tail, 50.0), &[little, busy.clone(), busy]);
    let [a, b, c] = ["a", "b", "c"].map(|name| throughput(&o, name));
    assert!((a - 1.0).abs() < 0.01 && (a + b + c - 10.0).abs() < 0.01, "{a} {b} {c}");
    let (more_b, more_c) = (b - 3.0, c - 1.0);
    assert!((more_b / more_c - 3.0).abs() < 0.1, "{more_b} to {more_c}: 37.5 kB to 12.5 kB");
}

/// A class that borrows gets its ceiling if its bursts are turns. With turns longer than what it may send at once it loses
/// most of each, as in Linux: while it waits for tokens, the others' turns go on.
#[test]
fn a_ceiling_is_reached_if_turns_fit_into_bursts() {
    let capped = |quantum| {
        let quantum = Bytes::new(quantum);
        Plan::new(vec![
            limited("all", 10.0, 10.0),
            limited("a", 2.0, 4.0).below("all").in_turns_of(quantum),
            limited("b", 2.0, 10.0).below("all").in_turns_of(quantum),
        ])
    };
    let busy = udp(mbps(20.0), 1000.0, 0.0, None);
    let shares = |quantum| {
        let o = runs(|| classed(capped(quantum), |_| drop_tail(), 50.0), &[busy.clone(), busy.clone()]);
        ["a", "b"].map(|name| throughput(&o, name))
    };
    let [a, b] = shares(1500);
    assert!((a / 4.0 - 1.0).abs() < 0.005 && (b / 6.0 - 1.0).abs() < 0.005, "{a} {b}");
    let [a, b] = shares(25_000);
    assert!(a < 3.0 && (a + b - 10.0).abs() < 0.01, "{a} {b}");
}

/// A packet of the first class waits for the packet in transmission and no other; without classes it waits for all.
#[test]
fn the_first_priority_waits_for_one_packet_at_most() {
    let strict = || Plan::new(vec![Class::new("voice"), Class::new("rest").first_by(1)]);
    let flows = [udp(mbps(0.1), 200.0, 0.0, None), bulk()];
    let slow = |link| LinkSpec { rate: Schedule::constant(mbps(5.0)), ..link };
    let o = runs(|| slow(classed(strict(), |_| drop_tail(), 100.0)), &flows);
    // 1000 bytes at 5 Mbit/s take 1.6 ms.
    let (voice, rest) = (most_delay(&o, "voice"), most_delay(&o, "rest"));
    assert!(voice <= 1.6 + 0.01 && voice > 1.0, "{voice} ms");
    assert!(rest > 50.0, "{rest} ms");
    let o = runs(|| slow(link(100.0, drop_tail())), &flows);
    let alone = segment(&o).classes[0].delay_ns.value_at_quantile(0.5) as f64 * 1e-6;
    assert!(alone > 50.0, "{alone} ms");
}

/// Equal quanta give equal bytes to packets of different sizes, and others in their ratio.
#[test]
fn turns_share_bytes_by_their_quanta() {
    let turns = |a: u64, b: u64| {
        let class = |name: &str, quantum| Class::new(name).in_turns_of(Bytes::new(quantum));
        Plan::new(vec![class("small", a), class("large", b)])
    };
    let flows = [udp(mbps(30.0), 200.0, 0.0, None), udp(mbps(30.0), 1500.0, 0.0, None)];
    for (a, b) in [(1500, 1500), (3000, 9000)] {
        let slow = || LinkSpec {
            rate: Schedule::constant(mbps(10.0)),
            ..classed(turns(a, b), |_| drop_tail(), 50.0)
        };
        let o = runs(slow, &flows);
        let bytes = |name| lane(&o, name).counts.departed_bytes as f64;
        let ratio = bytes("large") / bytes("small");
        // Less than a turn and a packet apart, of 25 MB.
        assert!((ratio / (b as f64 / a as f64) - 1.0).abs() < 0.002, "{a} to {b}: {ratio}");
    }
}

/// Each leaf has an algorithm of its own, which holds its queue and no other's.
#[test]
fn each_leaf_has_its_own_algorithm() {
    let halves = || {
        Plan::new(vec![
            limited("all", 10.0, 10.0),
            limited("a", 5.0, 5.0).below("all"),
            limited("b", 5.0, 5.0).below("all"),
        ])
    };
    let codel = |i| match i {
        0 => build(&AqmConfig::Codel(Default::default()), 5_000_000, QueueSize::Packets(200.0), 1000),
        _ => drop_tail(),
    };
    let o = runs(|| classed(halves(), codel, 200.0), &[bulk(), bulk()]);
    let mean = |name| {
        let counts = lane(&o, name).counts;
        counts.delay_sum_ns as f64 / counts.departed as f64 * 1e-6
    };
    let (codel, tail) = (mean("a"), mean("b"));
    assert!(codel < 20.0 && tail > 150.0, "{codel} ms with CoDel, {tail} ms without");
    assert!(lane(&o, "a").counts.dropped_early > 0 && lane(&o, "b").counts.dropped_early == 0);
}

/// A shaper may stand before a tree: both limit what leaves.
#[test]
fn a_shaper_stands_before_a_tree() {
    let strict = || Plan::new(vec![Class::new("a"), Class::new("b").first_by(1)]);
    let shaper = Shaper::plain(mbps(10.0), Bytes::new(3000));
    let both = || LinkSpec { shaper: Some(Box::new(shaper)), ..classed(strict(), |_| drop_tail(), 50.0) };
    let o = runs(both, &[udp(mbps(7.0), 1000.0, 0.0, None), udp(mbps(7.0), 1000.0, 0.0, None)]);
    let [a, b] = ["a", "b"].map(|name| throughput(&o, name));
    assert!((a - 7.0).abs() < 0.01 && (b - 3.0).abs() < 0.01, "{a} {b}");
    assert_bounded(&sent(&o), mbps(10.0), Bytes::new(3000));
}

#[test]
fn links_that_nothing_can_serve_are_refused() {
    let refuses = |link: LinkSpec, want: &str| {
        let (traffic, start) = udp(mbps(1.0), 1000.0, 0.0, None);
        let network = Network {
            links: vec![link],
            flows: vec![FlowSpec {
                class: 0,
                ack_class: 0,
                dscp: 0,
                hosts: Default::default(),
                forward: vec![LinkId(0)],
                reverse: vec![],
                traffic,
                start,
                stop: None,
                timed: false,
            }],
            classes: vec!["udp".into()],
            measure: Measure { warmup: at(0.0), end: at(1.0), boundaries: vec![], step: None },
            seed: Seed(1),
        };
        match run(network, Engine::Fast, &Control::default()) {
            Err(Error::Invalid(why)) => assert!(why.contains(want), "{why}"),
            other => panic!("{want}: {other:?}"),
        }
    };
    let still = Shaper::plain(mbps(0.0), Bytes::new(1500));
    refuses(LinkSpec { shaper: Some(Box::new(still)), ..link(10.0, drop_tail()) }, "shaper: rate");
    let two = LinkSpec { queue: link(1.0, drop_tail()).queue, ..classed(thirds(), |_| drop_tail(), 9.0) };
    refuses(two, "both a queue and a tree");
    let mut short = classed(thirds(), |_| drop_tail(), 9.0);
    short.tree.as_mut().unwrap().leaves.pop();
    refuses(short, "3 leaves, and 2 queues");
    let mut astray = classed(thirds(), |_| drop_tail(), 9.0);
    astray.tree.as_mut().unwrap().classifier.rows = Arc::new([[3; 64]]);
    refuses(astray, "leaf 3 of 3");
    let mut orphan = classed(thirds(), |_| drop_tail(), 9.0);
    orphan.tree.as_mut().unwrap().plan.classes[2].parent = Some("nobody".into());
    refuses(orphan, "class `b`: parent = nobody");
    let many = |i: usize| Class::new(format!("c{i}"));
    refuses(classed(Plan::new((0..256).map(many).collect()), |_| drop_tail(), 9.0), "256 leaves");
}
