//! DualPI2 under the senders it is for: what the coupling does to their windows, and what is recorded of its lanes.

use crate::common::*;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::dualpi2::{DualPi2Params, NotEct};
use quell_aqm::part::dual_queue::Classifier;
use quell_sim::network::*;
use quell_sim::outcome::{ClassStats, Counts, Outcome};
use quell_sim::{Control, Engine, run};
use quell_tcp::{Codepoint, CongestionControl, Feedback, Recovery, TcpParams};
use quell_units::{BitRate, Duration};

const RTT: f64 = 0.03;
const EACH: usize = 5;

/// As many Reno flows (class 0) as scalable ones (class 2) at 40 Mbit/s.
fn network(scalable: CongestionControl, seed: u64, end: f64) -> Network {
    let classifier =
        if scalable == CongestionControl::Prague { Classifier::Ect1 } else { Classifier::AnyEct };
    with_codepoint(scalable, None, classifier, seed, end)
}

/// The same with a codepoint and a classifier of the scalable flows.
fn with_codepoint(
    scalable: CongestionControl,
    codepoint: Option<Codepoint>,
    classifier: Classifier,
    seed: u64,
    end: f64,
) -> Network {
    let reno = TcpParams { recovery: Recovery::Sack, ..Default::default() };
    let l4s = TcpParams {
        congestion: scalable,
        feedback: Feedback::Exact,
        pacing: scalable == CongestionControl::Prague,
        ecn: true,
        codepoint,
        granularity: Duration::from_millis(1),
        ..reno.clone()
    };
    let bed = Dumbbell {
        flows: 2 * EACH,
        rate: 40_000_000,
        rtt: RTT,
        spread: 0.0,
        buffer: 2000.0,
        // A queue that marks.
        tcp: l4s.clone(),
        aqm: AqmConfig::DualPi2(DualPi2Params { classifier, ..Default::default() }),
        warmup: 20.0,
        end,
        seed,
        ..Default::default()
    };
    let mut network = bed.network();
    network.classes.push("l4s".into());
    for flow in network.flows.iter_mut().skip(EACH) {
        flow.class = 2;
    }
    for flow in network.flows.iter_mut().take(EACH) {
        flow.traffic = Traffic::Tcp { tcp: reno.clone(), app: App::Bulk };
    }
    network
}

fn lane<'a>(outcome: &'a Outcome, name: &str) -> &'a ClassStats {
    let link = &outcome.links[0];
    let i = link.lanes.iter().position(|lane| *lane == name).unwrap();
    &link.segments[0].lanes[i]
}

fn delay(stats: &ClassStats) -> f64 {
    stats.counts.delay_sum_ns as f64 * 1e-9 / stats.counts.departed as f64
}

/// RFC 9332 sections 1.2 and 2.1: with k = 2 the coupling gives Reno and a scalable sender the same window. Of
/// windows of 1.22/p' and 2/(2 p') the second is 0.82 of the first.
#[test]
fn reno_and_scalable_senders_have_about_the_same_window() {
    for scalable in [CongestionControl::Prague, CongestionControl::Dctcp] {
        let mut ratios = Vec::new();
        for seed in 1..=3 {
            let outcome = go(network(scalable, seed, 120.0));
            let classes = &outcome.links[0].segments[0].classes;
            let (c, l) = (lane(&outcome, "c"), lane(&outcome, "l"));
            let window = |class: usize, lane: &ClassStats| {
                classes[class].counts.departed_bytes as f64 * (RTT + delay(lane))
            };
            let ratio = window(2, l) / window(0, c);
            println!(
                "{scalable:?} seed {seed}: windows {ratio:.3}, rates {:.3}, delay {:.2} and {:.2} ms",
                classes[2].counts.departed_bytes as f64 / classes[0].counts.departed_bytes as f64,
                1e3 * delay(c),
                1e3 * delay(l)
            );
            // The Classic queue is at its target, the other below its threshold, and both are used.
            assert!((delay(c) - 0.015).abs() < 0.003 && delay(l) < 0.0015, "{scalable:?}");
            ratios.push(ratio);
        }
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        assert!((0.7..1.3).contains(&mean), "{scalable:?}: {mean}");
    }
}

/// Packets of DCTCP that say ECT(1) wait in the L queue under its usual classifier, as all of them do under "any-ect".
#[test]
fn a_sender_says_ect1_whatever_its_congestion_control() {
    let any = network(CongestionControl::Dctcp, 1, 25.0);
    let remarked = with_codepoint(CongestionControl::Dctcp, Some(Codepoint::Ect1), Classifier::Ect1, 1, 25.0);
    assert_eq!(go(remarked).links, go(any).links);
}

/// What the lanes' records add up to is what the link did, and both engines have the same.
#[test]
fn lanes_are_recorded_alike_by_both_engines() {
    let one = |engine| run(network(CongestionControl::Prague, 1, 30.0), engine, &Control::default()).unwrap();
    let (fast, reference) = (one(Engine::Fast), one(Engine::Reference));
    assert_eq!(fast.links, reference.links);
    let segment = &fast.links[0].segments[0];
    assert_eq!(fast.links[0].lanes, ["c", "l"]);
    let sums: [fn(&Counts) -> u64; 7] = [
        |s| s.arrived,
        |s| s.departed,
        |s| s.departed_bytes,
        |s| s.marked,
        Counts::dropped,
        |s| s.dropped_ecn,
        |s| s.delay_sum_ns,
    ];
    for (i, of) in sums.into_iter().enumerate() {
        let lanes: u64 = segment.lanes.iter().map(|s| of(&s.counts)).sum();
        let classes: u64 = segment.classes.iter().map(|s| of(&s.counts)).sum();
        assert_eq!(lanes, classes, "sum {i}");
    }
    // Each class has a queue of its own here.
    let [c, l] = &segment.lanes[..] else { panic!("two lanes") };
    assert_eq!(
        (c.counts.departed, l.counts.departed),
        (segment.classes[0].counts.departed, segment.classes[2].counts.departed)
    );
    assert_eq!(l.delay_ns, segment.classes[2].delay_ns);
    assert!(
        c.counts.dropped() > 0 && c.counts.dropped_ecn == 0 && l.counts.marked > 0,
        "Reno is dropped, Prague marked"
    );
}

/// DSCP 45, the non-queue-building behavior's.
const NQB: u8 = 45;

/// CUBIC flows (class 0) and a UDP flow of `udp` bit/s of small packets that are not ECN-capable and carry DSCP 45
/// (class 2), at 20 Mbit/s.
fn beside_cubic(params: DualPi2Params, udp: u64) -> Network {
    let cubic = TcpParams {
        congestion: CongestionControl::Cubic,
        recovery: Recovery::Sack,
        ecn: true,
        ..Default::default()
    };
    let bed = Dumbbell {
        flows: 4,
        rate: 20_000_000,
        rtt: RTT,
        spread: 0.0,
        buffer: 2000.0,
        tcp: cubic,
        aqm: AqmConfig::DualPi2(params),
        warmup: 10.0,
        end: 60.0,
        ..Default::default()
    };
    let mut network = bed.network();
    network.classes.push("nqb".into());
    network.flows.push(FlowSpec {
        class: 2,
        ack_class: 1,
        dscp: NQB,
        hosts: Default::default(),
        forward: vec![LinkId(0)],
        reverse: vec![],
        traffic: Traffic::Udp(UdpSpec {
            packet: Distribution::Constant(200.0),
            pace: Pace {
                rate: Schedule::constant(BitRate::from_bps(udp)),
                gaps: Gaps::Exponential,
                on_off: None,
            },
            ecn: false,
        }),
        start: at(0.0),
        stop: None,
        timed: false,
    });
    network
}

/// Traffic that builds no queue waits in the low-latency queue if its DSCP is given, though it is not ECT(1) (RFC 9332
/// section 2.3), and with `not_ect_in_l = "pass"` none of it is dropped; by default it waits and is dropped as the
/// Classic traffic is.
#[test]
fn non_queue_building_traffic_waits_in_the_l_queue() {
    let with = |dscp: Option<u32>, not_ect_in_l: NotEct| {
        let params = DualPi2Params { dscp, not_ect_in_l, ..Default::default() };
        let network = || beside_cubic(params.clone(), 500_000);
        let fast = go(network());
        assert_eq!(run(network(), Engine::Reference, &Control::default()).unwrap().links, fast.links);
        let classes = &fast.links[0].segments[0].classes;
        let nqb = &classes[2];
        assert_eq!(nqb.counts.marked, 0, "it is not ECN-capable");
        let in_l = lane(&fast, "l").counts.departed;
        assert_eq!(in_l, if dscp.is_some() { nqb.counts.departed } else { 0 });
        let used = classes.iter().map(|c| c.counts.departed_bytes).sum::<u64>() as f64 * 8.0 / (50.0 * 20e6);
        let lost = nqb.counts.dropped() as f64 / nqb.counts.arrived as f64;
        println!("{dscp:?} {not_ect_in_l:?}: {:.3} ms, {lost:.5} lost, {used:.3} used", 1e3 * delay(nqb));
        assert!(used > 0.95, "{used}");
        (delay(nqb), lost, delay(&classes[0]))
    };
    let dscp = Some(u32::from(NQB));
    let (classic, lost, queue) = with(None, NotEct::Drop);
    assert!((classic / queue - 1.0).abs() < 0.15 && classic > 0.008, "{classic} {queue}");
    assert!(lost > 0.001, "{lost}");
    // A packet of CUBIC's takes 0.4 ms, which it may have to wait for.
    let (passes, lost, queue) = with(dscp, NotEct::Pass);
    assert!(passes < 0.0006 && queue > 0.008, "{passes} {queue}");
    assert_eq!(lost, 0.0);
    // Where it is dropped, it is for its own queue and for the Classic one's, by a Classic sender's probability.
    let (drops, lost, _) = with(dscp, NotEct::Drop);
    assert!(drops < 0.0006 && lost > 0.001, "{drops} {lost}");
}

/// What calls itself non-queue-building and fills the link is dropped there, too: the coupling is saturated, and all of the
/// low-latency queue is dropped with the Classic probability (RFC 9332 section 4.2.3).
#[test]
fn what_overloads_the_l_queue_is_dropped_whatever_it_says() {
    let params =
        DualPi2Params { dscp: Some(u32::from(NQB)), not_ect_in_l: NotEct::Pass, ..Default::default() };
    let outcome = go(beside_cubic(params, 30_000_000));
    let counts = outcome.links[0].segments[0].classes[2].counts;
    let lost = counts.dropped() as f64 / counts.arrived as f64;
    println!("{lost} lost, {} by the controller", counts.dropped_early);
    // The link carries two thirds; what is dropped is dropped before the buffer is full.
    assert!((1.0 / 3.0..0.4).contains(&lost), "{lost}");
    assert!(counts.dropped_early * 2 > counts.dropped(), "{counts:?}");
}
