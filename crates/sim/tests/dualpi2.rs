//! DualPI2 under the senders it is for: what the coupling does to their windows, and what is recorded of its lanes.

use crate::common::*;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::dualpi2::DualPi2Params;
use quell_aqm::part::dual_queue::Classifier;
use quell_sim::network::*;
use quell_sim::outcome::{ClassStats, Counts, Outcome};
use quell_sim::{Control, Engine, run};
use quell_tcp::{Codepoint, CongestionControl, Feedback, Recovery, TcpParams};
use quell_units::Duration;

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
