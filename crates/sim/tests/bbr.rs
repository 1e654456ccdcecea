//! BBR alone, beside itself and under loss; and what pacing costs.

use crate::common::*;
use quell_aqm::Seed;
use quell_sim::network::*;
use quell_sim::outcome::Outcome;
use quell_sim::{Control, Engine, run};
use quell_tcp::{CongestionControl, Growth, Recovery, SlowStart, TcpParams};
use quell_units::Duration;

const VERSIONS: [CongestionControl; 2] = [CongestionControl::Bbr1, CongestionControl::Bbr3];

fn bbr(congestion: CongestionControl) -> TcpParams {
    TcpParams {
        congestion,
        recovery: Recovery::Rack,
        pacing: true,
        initial_window: 10,
        granularity: Duration::from_millis(1),
        ..Default::default()
    }
}

fn cubic(pacing: bool) -> TcpParams {
    TcpParams {
        congestion: CongestionControl::Cubic,
        slow_start: SlowStart::HyStartPlusPlus,
        growth: Growth::Packets,
        pacing,
        ..bbr(CongestionControl::Bbr1)
    }
}

/// Flows over one bottleneck with a buffer of so many bandwidth-delay products.
fn dumbbell(tcp: TcpParams, flows: usize, mbps: u64, rtt: f64, bdps: f64) -> Dumbbell {
    let rate = mbps * 1_000_000;
    let buffer = (bdps * rate as f64 * rtt / 8000.0).ceil().max(20.0);
    Dumbbell { flows, rate, rtt, spread: 0.0, buffer, tcp, warmup: 5.0, end: 35.0, ..Default::default() }
}

fn utilization(o: &Outcome, d: &Dumbbell) -> f64 {
    let bytes: u64 = o.flows.iter().map(|f| f.segments[0].delivered_bytes).sum();
    bytes as f64 * 8.0 / (d.end - d.warmup) / d.rate as f64
}

#[test]
fn one_flow_fills_its_link_with_a_short_queue() {
    for version in VERSIONS {
        for (mbps, rtt) in [(2, 0.05), (10, 0.1), (50, 0.04), (50, 0.2), (90, 0.02)] {
            let d = dumbbell(bbr(version), 1, mbps, rtt, 2.0);
            let d = Dumbbell { warmup: 10.0, end: 40.0, step: Some(0.05), ..d };
            let o = d.run();
            let (u, q) = (utilization(&o, &d), mean_queue(&o));
            let bdp = d.rate as f64 * rtt / 8000.0;
            let mut queues = o.links[0].series.queue_mean_packets[200..].to_vec();
            queues.sort_by(f64::total_cmp);
            let median = queues[queues.len() / 2];
            println!(
                "{version:?} {mbps} Mbit/s {rtt} s: utilization {u:.4}, queue {q:.1}, median {median:.1} of a product of {bdp:.0}"
            );
            // Between probes no more than what the drafts allow hosts to keep together.
            let quantum = (d.rate as f64 / 8e6).max(2.0);
            assert!(median < 3.0 * quantum + 5.0, "{version:?} {mbps} {rtt}: {median}");
            assert!(u >= 0.95, "{version:?} {mbps} {rtt}: {u}");
        }
    }
}

#[test]
fn random_losses_hardly_matter() {
    let goodput = |tcp: TcpParams, loss: f64| {
        let d = dumbbell(tcp, 1, 100, 0.1, 1.0);
        let mut network = d.network();
        network.links[0].impairments = Impairments::losing(loss);
        let o = go(network);
        o.flows[0].segments[0].delivered_bytes as f64 * 8e-6 / 30.0
    };
    for loss in [1e-3, 1e-2] {
        let cubic = goodput(cubic(false), loss);
        let [one, three] = VERSIONS.map(|v| goodput(bbr(v), loss));
        println!("loss {loss}: cubic {cubic:.1}, bbr1 {one:.1}, bbr3 {three:.1} Mbit/s");
        assert!(one > 85.0 && one > 10.0 * cubic && three > 10.0 * cubic, "{loss}: {cubic} {one} {three}");
    }
}

#[test]
fn two_flows_share_a_link() {
    // Version 3 takes longer: its probes are two to three seconds apart.
    for (version, warmup) in [(VERSIONS[0], 20.0), (VERSIONS[1], 60.0)] {
        let d = Dumbbell { warmup, end: 120.0, ..dumbbell(bbr(version), 2, 50, 0.04, 2.0) };
        let o = d.run();
        let x: Vec<f64> = o.flows.iter().map(|f| f.segments[0].delivered_bytes as f64).collect();
        let jain = (x[0] + x[1]).powi(2) / (2.0 * (x[0] * x[0] + x[1] * x[1]));
        println!("{version:?}: {:.3}, Jain {jain:.4}, utilization {:.4}", x[0] / x[1], utilization(&o, &d));
        assert!(jain > 0.98 && utilization(&o, &d) > 0.95, "{version:?}: {x:?}");
    }
}

#[test]
fn pacing_costs_less_than_half_an_event_per_packet() {
    let events = |tcp: &TcpParams, delay: bool| {
        let d = dumbbell(tcp.clone(), 20, 100, 0.1, 1.0);
        let mut network = d.network();
        if !delay {
            // Sources on the routers.
            for f in &mut network.flows {
                f.forward.remove(0);
                f.reverse.pop();
            }
        }
        let o = run(network, Engine::Fast, &Control::default()).unwrap();
        let packets: u64 = o.flows.iter().flat_map(|f| &f.segments).map(|s| s.sent_packets).sum();
        o.events as f64 / packets as f64
    };
    for delay in [true, false] {
        let (off, on) = (events(&cubic(false), delay), events(&cubic(true), delay));
        println!("events per packet: {off:.2}, paced {on:.2}; delay {delay}");
        if delay {
            assert!(on < off + 0.5, "{off} {on}");
        }
    }
}

#[test]
fn a_small_buffer_keeps_its_link_busier_if_packets_are_paced() {
    let used = |pacing| {
        let d = dumbbell(cubic(pacing), 20, 50, 0.1, 0.1);
        utilization(&d.run(), &d)
    };
    let (bursts, paced) = (used(false), used(true));
    println!("utilization {bursts:.4}, paced {paced:.4}");
    assert!(paced > bursts, "{bursts} {paced}");
}

#[test]
fn the_same_seed_gives_the_same_path_in_both_engines() {
    for version in VERSIONS {
        let d = Dumbbell { end: 15.0, ..dumbbell(bbr(version), 3, 20, 0.05, 1.0) };
        let network = || Network { seed: Seed(3), ..d.network() };
        let fast = run(network(), Engine::Fast, &Control::default()).unwrap();
        let reference = run(network(), Engine::Reference, &Control::default()).unwrap();
        assert_eq!(fast.digest, reference.digest, "{version:?}");
    }
}

/// What each flow gets in Mbit/s, and how equal that is.
fn shares(o: &Outcome, d: &Dumbbell) -> (Vec<f64>, f64) {
    let mbps = |bytes: u64| bytes as f64 * 8e-6 / (d.end - d.warmup);
    let x: Vec<f64> = o.flows.iter().map(|f| mbps(f.segments[0].delivered_bytes)).collect();
    let (sum, squares) = (x.iter().sum::<f64>(), x.iter().map(|x| x * x).sum::<f64>());
    let jain = sum * sum / (x.len() as f64 * squares);
    (x, jain)
}

/// The share of packets that the bottleneck dropped.
fn dropped(o: &Outcome) -> f64 {
    let (mut sent, mut again) = (0, 0);
    for s in o.flows.iter().map(|f| &f.segments[0]) {
        sent += s.sent_packets;
        again += s.retransmitted_packets;
    }
    again as f64 / sent as f64
}

#[test]
fn four_flows_share_a_link_with_buffers_of_half_to_two_products() {
    for bdps in [0.5, 1.0, 2.0] {
        let d = Dumbbell { warmup: 60.0, end: 180.0, ..dumbbell(bbr(VERSIONS[1]), 4, 100, 0.1, bdps) };
        let jains: Vec<f64> = (1..=6)
            .map(|seed| {
                let d = Dumbbell { seed, ..dumbbell(bbr(VERSIONS[1]), 4, 100, 0.1, bdps) };
                let d = Dumbbell { warmup: 60.0, end: 180.0, ..d };
                shares(&d.run(), &d).1
            })
            .collect();
        let mean = jains.iter().sum::<f64>() / jains.len() as f64;
        println!("{bdps} products ({} packets): Jain {jains:.3?}, mean {mean:.3}", d.buffer);
        assert!(mean > 0.8, "{bdps}: {jains:?}");
    }
}

#[test]
fn a_flow_that_joins_late_gets_a_share() {
    for version in VERSIONS {
        let d = Dumbbell { warmup: 60.0, end: 160.0, ..dumbbell(bbr(version), 3, 50, 0.04, 1.5) };
        let mut network = d.network();
        network.flows[2].start = at(30.0);
        let (x, jain) = shares(&go(network), &d);
        println!("{version:?}: {x:.1?} Mbit/s, Jain {jain:.3}");
        assert!(jain > 0.9 && x[2] > 8.0, "{version:?}: {x:?}");
    }
}

#[test]
fn a_longer_and_a_shorter_round_trip_are_found() {
    for version in VERSIONS {
        let d = Dumbbell { warmup: 45.0, end: 60.0, ..dumbbell(bbr(version), 1, 50, 0.04, 4.0) };
        for (from, to) in [(0.005, 0.085), (0.085, 0.005)] {
            let mut network = d.network();
            network.links[0].delay = Schedule::changing(secs(from), [(at(20.0), secs(to))].to_vec());
            let o = go(network);
            let (u, q) = (utilization(&o, &d), mean_queue(&o));
            println!("{version:?}: delay {from} to {to} s: utilization {u:.3}, queue {q:.0} packets");
            assert!(
                u > 0.93 && q < 0.35 * d.rate as f64 * (0.035 + to) / 8000.0,
                "{version:?} {to}: {u} {q}"
            );
        }
    }
}

#[test]
fn shallow_buffers_lose_less_than_a_fiftieth_where_losses_teach() {
    for bdps in [0.05, 0.1, 0.25] {
        let [one, three] = VERSIONS.map(|version| {
            let d = Dumbbell { warmup: 20.0, end: 80.0, ..dumbbell(bbr(version), 4, 100, 0.05, bdps) };
            let o = d.run();
            (utilization(&o, &d), dropped(&o))
        });
        println!("{bdps} products: utilization and losses {one:.4?}, {three:.4?}");
        assert!(three.1 < 0.02 && three.0 > 0.85, "{bdps}: {three:?}");
        assert!(one.1 > 2.0 * three.1, "{bdps}: {one:?} {three:?}");
    }
}

#[test]
fn beside_cubic_version_1_takes_short_buffers_and_version_3_about_its_share() {
    for version in VERSIONS {
        let of: Vec<f64> = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
            .into_iter()
            .map(|bdps| {
                let d = Dumbbell { warmup: 30.0, end: 120.0, ..dumbbell(bbr(version), 2, 50, 0.04, bdps) };
                let mut network = d.network();
                network.flows[1].traffic = Traffic::Tcp { tcp: cubic(false), app: App::Bulk };
                let (x, _) = shares(&go(network), &d);
                x[0] / (x[0] + x[1])
            })
            .collect();
        println!("{version:?}: of a link with CUBIC, 1/4 to 8 products: {of:.3?}");
        if version == VERSIONS[0] {
            assert!(of[..3].iter().all(|x| *x > 0.85) && of[5] < 0.5, "{of:?}");
        } else {
            assert!(of.iter().all(|x| (0.45..0.8).contains(x)), "{of:?}");
        }
    }
}
