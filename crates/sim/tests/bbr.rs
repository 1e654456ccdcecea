//! BBR alone, beside itself and under loss; and what pacing costs.

mod common;

use common::*;
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
        network.links[0].loss = loss;
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
