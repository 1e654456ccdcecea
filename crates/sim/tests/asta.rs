//! What arrivals see of a queue, and who bears its losses. Poisson arrivals see the time average and
//! lose in proportion to what they send; TCP's do neither (Trinh and Molnár, A Comprehensive
//! Performance Analysis of Random Early Detection Mechanism, Proposition 1 and Corollary 1).

use crate::common::*;
use quell_aqm::Seed;
use quell_aqm::catalog::{AnyAlgorithm, AqmConfig};
use quell_aqm::red::RedParams;
use quell_sim::network::*;
use quell_sim::outcome::{Outcome, Segment};
use quell_sim::{Control, Engine, run};
use quell_tcp::TcpParams;
use quell_units::{BitRate, Bytes, QueueSize};

/// The paper's RED: thresholds of 10 and 30 packets.
fn red() -> AqmConfig {
    let (min_th, max_th) = (QueueSize::Packets(10.0), QueueSize::Packets(30.0));
    AqmConfig::Red(RedParams { min_th, max_th, ..Default::default() })
}

fn tail() -> AqmConfig {
    AqmConfig::DropTail(Default::default())
}

/// Twenty segments of `each` seconds after a warm-up of ten.
fn twenty_segments(each: f64) -> Measure {
    Measure {
        warmup: at(10.0),
        end: at(10.0 + 20.0 * each),
        boundaries: (1..20).map(|i| at(10.0 + each * i as f64)).collect(),
        step: None,
    }
}

/// UDP sources on the router, each a class of its own.
fn udp(link: LinkSpec, gaps: Gaps, rates: &[u64], measure: Measure) -> Network {
    let flow = |(class, rate): (usize, &u64)| FlowSpec {
        class: class as u16,
        ack_class: 0,
        dscp: 0,
        hosts: Default::default(),
        forward: vec![LinkId(0)],
        reverse: vec![],
        traffic: Traffic::Udp(UdpSpec {
            packet: Distribution::Constant(1000.0),
            pace: Pace { rate: Schedule::constant(BitRate::from_bps(*rate)), gaps, on_off: None },
            ecn: false,
        }),
        start: at(0.0),
        stop: None,
        timed: false,
    };
    Network {
        links: vec![link],
        flows: rates.iter().enumerate().map(flow).collect(),
        classes: (0..rates.len()).map(|i| format!("udp-{i}")).collect(),
        measure,
        seed: Seed(1),
    }
}

/// The paper's bottleneck.
fn link(aqm: AnyAlgorithm) -> LinkSpec {
    bottleneck(15_000_000, secs(0.05), QueueSize::Packets(50.0), aqm, false)
}

fn aqm(config: &AqmConfig) -> AnyAlgorithm {
    build(config, 15_000_000, QueueSize::Packets(50.0), 1000)
}

/// The share that a class has of the losses, over its share of the arrivals.
fn loss_over_arrivals(s: &Segment, class: usize) -> f64 {
    let (mut arrived, mut dropped) = (0, 0);
    for c in &s.classes {
        arrived += c.counts.arrived;
        dropped += c.counts.dropped();
    }
    let c = &s.classes[class];
    (c.counts.dropped() as f64 / dropped as f64) / (c.counts.arrived as f64 / arrived as f64)
}

/// The queue that arrivals find, over its time average.
fn seen_over_queue(s: &Segment) -> f64 {
    queue_seen(s) / queue(s)
}

fn show(what: &str, (mean, half): (f64, f64)) -> (f64, f64) {
    println!("{what}: {mean:.4} +- {half:.4}");
    (mean, half)
}

#[test]
fn what_three_sources_in_phase_see() {
    // Every 10 ms three packets come at once, and each takes 1 ms. The first is sent at once, so that
    // the second finds nothing waiting; the third finds the second.
    for engine in [Engine::Fast, Engine::Reference] {
        let link = bottleneck(8_000_000, secs(0.01), QueueSize::Packets(5.0), drop_tail(), false);
        let measure = Measure { warmup: at(0.2), end: at(1.2), boundaries: vec![at(0.7)], step: None };
        let network = udp(link, Gaps::Constant, &[800_000; 3], measure);
        let o = run(network, engine, &Control::default()).unwrap();
        for s in &o.links[0].segments {
            let seen: Vec<_> =
                s.classes.iter().map(|c| (c.counts.arrived, c.counts.queue_seen_packets)).collect();
            assert_eq!(seen, [(50, 0), (50, 0), (50, 50)], "{engine:?}");
            // The second waits for 1 ms of every 10, the third for 2.
            assert!((queue(s) - 0.3).abs() < 1e-12, "{}", queue(s));
        }
    }
}

#[test]
fn a_dropped_packet_has_seen_the_queue_too() {
    // As above, with room for one: the third is dropped.
    let link = bottleneck(8_000_000, secs(0.01), QueueSize::Packets(1.0), drop_tail(), false);
    let measure = Measure { warmup: at(0.2), end: at(1.2), boundaries: vec![], step: None };
    let o = go(udp(link, Gaps::Constant, &[800_000; 3], measure));
    let third = &o.links[0].segments[0].classes[2];
    assert_eq!(
        (third.counts.arrived, third.counts.dropped(), third.counts.queue_seen_packets),
        (100, 100, 100)
    );
}

#[test]
fn poisson_arrivals_see_time_averages_and_lose_in_proportion() {
    for (config, load) in [(tail(), 1.0), (tail(), 1.1), (red(), 1.0), (red(), 1.1)] {
        let rates = [0.1, 0.2, 0.3, 0.4].map(|part| (15e6 * load * part) as u64);
        let o = go(udp(link(aqm(&config)), Gaps::Exponential, &rates, twenty_segments(60.0)));
        let what = format!("{} at {load}", config.name());
        let (seen, half) = show(&format!("{what}, queue seen over queue"), batch_means(&o, seen_over_queue));
        assert!(half < 0.02 && (seen - 1.0).abs() <= half, "{what}");
        for class in 0..4 {
            let losses = batch_means(&o, |s| loss_over_arrivals(s, class));
            let (ratio, half) = show(&format!("{what}, loss of class {class}"), losses);
            assert!(half < 0.1 && (ratio - 1.0).abs() <= half, "{what}, class {class}");
        }
    }
}

const NEAR: usize = 0;
const FAR: usize = 3;

/// The paper's bottleneck with `n` flows whose access delays are 10, 11, ... ms; the nearest and
/// the farthest quarter are classes.
fn tcp(config: AqmConfig, n: usize) -> Outcome {
    let mut network = Dumbbell {
        flows: n,
        rate: 15_000_000,
        rtt: 0.119,
        spread: 0.002 * n as f64,
        buffer: 50.0,
        tcp: TcpParams { packet: Bytes::new(1000), ..Default::default() },
        aqm: config,
        ..Default::default()
    }
    .network();
    network.classes = ["near", "acks", "middle", "far"].map(String::from).to_vec();
    for (i, flow) in network.flows.iter_mut().enumerate() {
        flow.class = [NEAR as u16, 2, 2, FAR as u16][4 * i / n];
    }
    network.measure = twenty_segments(60.0);
    go(network)
}

#[test]
fn tcp_arrivals_see_more_than_the_time_average() {
    // The less of the link they use, the more: where the queue is empty, few packets come to see it.
    for (config, n, least, most) in
        [(tail(), 16, 1.05, 1.1), (red(), 16, 1.15, 1.25), (tail(), 64, 1.02, 1.05), (red(), 64, 1.1, 1.16)]
    {
        let what = format!("{} with {n} flows, queue seen over queue", config.name());
        let (seen, half) = show(&what, batch_means(&tcp(config, n), seen_over_queue));
        assert!(seen - half > least && seen + half < most, "{what}");
    }
}

#[test]
fn tcp_does_not_lose_in_proportion() {
    // Under drop-tail near flows lose less than their share and far flows more; RED comes closer.
    let of = |config: AqmConfig| {
        let name = config.name();
        let o = tcp(config, 256);
        [NEAR, FAR].map(|class| {
            let what = format!("{name}, loss share over arrival share of class {class}");
            show(&what, batch_means(&o, |s| loss_over_arrivals(s, class)))
        })
    };
    let [near, far] = of(tail());
    assert!(near.0 + near.1 < 0.95 && near.0 > 0.8, "{near:?}");
    assert!(far.0 - far.1 > 1.05 && far.0 < 1.3, "{far:?}");
    for (ratio, half) in of(red()) {
        assert!((ratio - 1.0).abs() + half < 0.05, "{ratio} +- {half}");
    }
}
