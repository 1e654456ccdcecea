//! TCP against the laws of its throughput at a given loss rate.

mod common;

use common::*;
use quell_aqm::Seed;
use quell_sim::network::*;
use quell_sim::outcome::Outcome;
use quell_tcp::{TcpParams, Variant};

/// Flows that share nothing but a wire that loses packets: round-trip time 100 ms.
fn forced_loss(variant: Variant, p: f64, seed: u64) -> Outcome {
    let flows = 40;
    let mut links = Vec::new();
    let flows = (0..flows).map(|i| {
        let mut forward = wire(1_000_000_000, secs(0.05));
        forward.loss = p;
        links.extend([forward, wire(1_000_000_000, secs(0.05))]);
        let n = links.len() as u32;
        FlowSpec {
            class: 0,
            ack_class: 0,
            precedence: 0,
            forward: vec![LinkId(n - 2)],
            reverse: vec![LinkId(n - 1)],
            traffic: Traffic::Tcp { tcp: TcpParams { variant, ..Default::default() }, app: App::Bulk },
            start: at(0.1 * i as f64),
            stop: None,
        }
    });
    let flows = flows.collect();
    go(Network {
        links,
        flows,
        classes: vec!["tcp".into()],
        measure: Measure { warmup: at(50.0), end: at(300.0), boundaries: vec![], step: None },
        seed: Seed(seed),
    })
}

/// Packets per round trip and flow that arrive for the first time.
fn window(o: &Outcome) -> f64 {
    let bytes: u64 = o.flows.iter().map(|f| f.segments[0].delivered_bytes).sum();
    bytes as f64 / 1000.0 / o.flows.len() as f64 / 250.0 * 0.1
}

#[test]
fn the_square_root_law() {
    // Losses independent of each other: W = 1.31 / sqrt(p) (Ott et al. 1996). At p =
    // 1e-4 the window is 131 and loses one packet in 76 round trips; at 1e-3 it is 41.
    for (variant, tolerance) in [(Variant::Sack, 0.07), (Variant::NewReno, 0.07), (Variant::Reno, 0.15)] {
        for p in [1e-4, 1e-3] {
            let w = window(&forced_loss(variant, p, 1));
            let law = 1.31 / p.sqrt();
            println!("{variant:?} p {p}: window {w:.2}, law {law:.2}");
            assert!((w / law - 1.0).abs() < tolerance, "{variant:?} {p}: {w} against {law}");
        }
    }
}

#[test]
fn padhye_s_formula_with_timeouts() {
    // Padhye et al. 1998 eq. 30, b = 1 acknowledgment per packet, T0 the timeout.
    let padhye = |p: f64, rtt: f64, t0: f64| {
        let fast = rtt * (2.0 * p / 3.0).sqrt();
        let timeouts = t0 * (3.0 * (3.0 * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
        rtt / (fast + timeouts)
    };
    for p in [0.01, 0.03, 0.1] {
        let w = window(&forced_loss(Variant::Reno, p, 1));
        // Constant round-trip time: the timeout stands at its minimum.
        let law = padhye(p, 0.1, 0.2);
        println!("Reno p {p}: window {w:.3}, law {law:.3}");
        assert!((w / law - 1.0).abs() < 0.25, "{p}: {w} against {law}");
    }
}

#[test]
fn better_recovery_never_does_worse() {
    for p in [0.003, 0.02] {
        let w = |v| window(&forced_loss(v, p, 1));
        let (tahoe, reno, newreno, sack) =
            (w(Variant::Tahoe), w(Variant::Reno), w(Variant::NewReno), w(Variant::Sack));
        println!("p {p}: tahoe {tahoe:.2} reno {reno:.2} newreno {newreno:.2} sack {sack:.2}");
        assert!(tahoe < newreno && reno < newreno && newreno < sack * 1.02);
    }
}
