//! The simulator against results that are exact: M/D/1, M/M/1 and M/M/1/K queues fed by Poisson
//! UDP. The queue of the theory is what waits, without the packet in service; so is Quell's.

use crate::common::*;
use quell_aqm::Seed;
use quell_sim::network::*;
use quell_sim::outcome::Outcome;
use quell_units::{BitRate, QueueSize};

/// 10 Mbit/s and 1000-byte packets: 1250 packets are served per second.
const RATE: u64 = 10_000_000;
const MU: f64 = 1250.0;

/// Poisson arrivals at load `rho` into a FIFO with room for `buffer` packets; 20 segments.
fn poisson_queue(rho: f64, packet: Distribution, buffer: f64, seed: u64) -> Outcome {
    lossy_poisson_queue(rho, packet, buffer, 0.0, seed)
}

fn lossy_poisson_queue(rho: f64, packet: Distribution, buffer: f64, loss: f64, seed: u64) -> Outcome {
    let end = 2020.0;
    let queue = bottleneck(RATE, secs(0.01), QueueSize::Packets(buffer), drop_tail(), false);
    let network = Network {
        links: vec![LinkSpec { impairments: Impairments::losing(loss), ..queue }],
        flows: vec![FlowSpec {
            class: 0,
            ack_class: 0,
            dscp: 0,
            hosts: Default::default(),
            forward: vec![LinkId(0)],
            reverse: vec![],
            traffic: Traffic::Udp(UdpSpec {
                packet,
                pace: Pace {
                    rate: Schedule::constant(BitRate::from_bps((RATE as f64 * rho) as u64)),
                    gaps: Gaps::Exponential,
                    on_off: None,
                },
                ecn: false,
            }),
            start: at(0.0),
            stop: None,
            timed: false,
        }],
        classes: vec!["udp".into()],
        measure: Measure {
            warmup: at(20.0),
            end: at(end),
            boundaries: (1..20).map(|i| at(20.0 + 100.0 * i as f64)).collect(),
            step: None,
        },
        seed: Seed(seed),
    };
    go(network)
}

/// The theory's value lies in the interval, and the interval is narrow enough to mean something.
fn assert_within(what: &str, (mean, half): (f64, f64), theory: f64, narrow: f64) {
    println!("{what}: measured {mean:.5} +- {half:.5}, theory {theory:.5}");
    assert!(half < narrow * theory, "{what}: interval {half} too wide to judge {theory}");
    assert!((mean - theory).abs() <= half, "{what}: {mean} +- {half}, theory {theory}");
}

/// PASTA: the queue that arrivals find is the time average, of the theory and of the run itself.
fn assert_poisson_sees_time_averages(what: &str, o: &Outcome, theory: f64) {
    assert_within(&format!("{what} queue seen"), batch_means(o, queue_seen), theory, 0.1);
    let (bias, half) = batch_means(o, |s| queue_seen(s) - queue(s));
    println!("{what} queue seen less queue: {bias:.5} +- {half:.5}");
    assert!(half < 0.02 * theory, "{what}: interval {half} too wide to judge a bias");
    assert!(bias.abs() <= half, "{what}: a bias of {bias} +- {half}");
}

fn delay_s(s: &quell_sim::outcome::Segment) -> f64 {
    s.classes[0].counts.delay_sum_ns as f64 * 1e-9 / s.classes[0].counts.departed as f64
}

#[test]
fn m_d_1() {
    for rho in [0.5, 0.8, 0.9] {
        let o = poisson_queue(rho, Distribution::Constant(1000.0), 1e6, 1);
        // Pollaczek-Khinchine with no variance of service.
        let waiting = rho * rho / (2.0 * (1.0 - rho));
        assert_within("M/D/1 queue", batch_means(&o, queue), waiting, 0.1);
        assert_within("M/D/1 delay", batch_means(&o, delay_s), waiting / (rho * MU), 0.1);
        assert_poisson_sees_time_averages("M/D/1", &o, waiting);
    }
}

#[test]
fn m_m_1() {
    for rho in [0.5, 0.8] {
        let o = poisson_queue(rho, Distribution::Exponential(1000.0), 1e6, 1);
        let waiting = rho * rho / (1.0 - rho);
        assert_within("M/M/1 queue", batch_means(&o, queue), waiting, 0.1);
        assert_within("M/M/1 delay", batch_means(&o, delay_s), waiting / (rho * MU), 0.1);
        assert_poisson_sees_time_averages("M/M/1", &o, waiting);
        // Of the delay, P(W > t) = rho exp(-(1 - rho) mu t): its 95th percentile.
        let p95 = (rho / 0.05).ln() / ((1.0 - rho) * MU);
        let quantile =
            |s: &quell_sim::outcome::Segment| s.classes[0].delay_ns.value_at_quantile(0.95) as f64 * 1e-9;
        assert_within("M/M/1 P95", batch_means(&o, quantile), p95, 0.1);
    }
}

#[test]
fn m_m_1_k() {
    for (rho, k) in [(0.8, 5), (1.0, 10), (1.5, 4)] {
        // One in service and k - 1 waiting.
        let o = poisson_queue(rho, Distribution::Exponential(1000.0), (k - 1) as f64, 1);
        let blocked = match rho {
            1.0 => 1.0 / (k as f64 + 1.0),
            _ => (1.0 - rho) * f64::powi(rho, k) / (1.0 - f64::powi(rho, k + 1)),
        };
        let loss = |s: &quell_sim::outcome::Segment| {
            s.classes[0].counts.dropped_overflow as f64 / s.classes[0].counts.arrived as f64
        };
        assert_within("M/M/1/K loss", batch_means(&o, loss), blocked, 0.1);
        // Busy with probability 1 - p0; the time it is busy is what it sends. With exponential sizes
        // the lost packets are as long as the others.
        let p0 = match rho {
            1.0 => 1.0 / (k as f64 + 1.0),
            _ => (1.0 - rho) / (1.0 - f64::powi(rho, k + 1)),
        };
        let busy = |s: &quell_sim::outcome::Segment| {
            s.classes[0].counts.departed_bytes as f64 * 8.0 / s.capacity_bits
        };
        assert_within("M/M/1/K utilization", batch_means(&o, busy), 1.0 - p0, 0.02);
    }
}

#[test]
fn little_s_law_holds_to_the_edges_of_the_window() {
    let o = poisson_queue(0.9, Distribution::Exponential(1000.0), 100.0, 5);
    let integral: f64 = o.links[0].segments.iter().map(|s| s.queue_packet_seconds).sum();
    let delays: f64 =
        o.links[0].segments.iter().map(|s| s.classes[0].counts.delay_sum_ns as f64 * 1e-9).sum();
    // They differ by what waited at the beginning and at the end: at most 100 packets, each for
    // as long as a hundred packets take.
    assert!((integral - delays).abs() < 2.0 * 100.0 * 100.0 / MU, "{integral} {delays}");
    assert!(integral > 5000.0);
}

#[test]
fn an_overloaded_link_sends_all_the_time_and_its_wire_loses_its_share() {
    let o = lossy_poisson_queue(1.2, Distribution::Exponential(1000.0), 20.0, 0.05, 1);
    for s in &o.links[0].segments {
        // Busy but for the odd moment: never more than all of the time, at any edge.
        assert!(
            (0.9..=1.0 + 1e-12).contains(&(s.sent_bits / s.capacity_bits)),
            "{}",
            s.sent_bits / s.capacity_bits
        );
    }
    let lost = |s: &quell_sim::outcome::Segment| {
        s.classes[0].counts.lost as f64 / s.classes[0].counts.departed as f64
    };
    assert_within("wire loss", batch_means(&o, lost), 0.05, 0.02);
    // What is not lost arrives.
    let delivered: u64 = o.flows[0].segments.iter().map(|s| s.delivered_bytes).sum();
    let sent: u64 = o.links[0].segments.iter().map(|s| s.classes[0].counts.departed_bytes).sum();
    assert!((delivered as f64 / sent as f64 - 0.95).abs() < 0.001);
}
