//! VRC holds its queue at the target, whatever the memory of its estimate and whichever gain is beta.

use crate::common::*;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::AutoSize;
use quell_aqm::part::RateUpdate;
use quell_aqm::vrc::VrcParams;
use quell_tcp::TcpParams;
use quell_units::{Bytes, Duration, QueueSize};

const Q_REF: f64 = 50.0;

/// The mean queue of Park et al.'s case B: 50 flows that mark, of 50 to 150 ms, on 10 Mbit/s.
fn held(memory_ms: u64, beta: f64, gamma: f64, rate_update: RateUpdate) -> f64 {
    let params = VrcParams {
        alpha: Some(0.0003),
        beta: Some(beta),
        gamma: Some(gamma),
        q_ref: AutoSize::Size(QueueSize::Packets(Q_REF)),
        rate_memory: Duration::from_millis(memory_ms),
        rate_update,
        ..Default::default()
    };
    let of_seed = |seed| {
        mean_queue(
            &Dumbbell {
                aqm: AqmConfig::Vrc(params.clone()),
                flows: 50,
                rtt: 0.05,
                spread: 0.1,
                buffer: 100.0,
                tcp: TcpParams { ecn: true, packet: Bytes::new(1000), ..Default::default() },
                end: 110.0,
                seed,
                ..Default::default()
            }
            .run(),
        )
    };
    (1..=3).map(of_seed).sum::<f64>() / 3.0
}

#[test]
fn the_target_is_held_for_any_memory_and_either_order_of_the_gains() {
    for memory_ms in [5, 20, 80] {
        for (beta, gamma) in [(3.0, 5.0), (5.0, 3.0)] {
            let queue = held(memory_ms, beta, gamma, RateUpdate::Interval);
            println!("K = {memory_ms} ms, beta = {beta}, gamma = {gamma}: {queue}");
            assert!((queue - Q_REF).abs() < 0.8, "K = {memory_ms} ms, {beta}, {gamma}: {queue}");
        }
    }
}

/// What an estimate at every arrival overestimates, `b`, stands as `b/gamma` below the target: for
/// Poisson arrivals b would be 1/(2 K), 100 packets/s here. TCP's are less random than that.
#[test]
fn an_estimate_at_every_arrival_holds_less_by_its_bias_over_gamma() {
    let bias = [(3.0, 5.0), (5.0, 3.0)].map(|(beta, gamma)| {
        let queue = held(5, beta, gamma, RateUpdate::Arrival);
        println!("gamma = {gamma}: {queue}");
        gamma * (Q_REF - queue)
    });
    assert!((bias[0] / bias[1] - 1.0).abs() < 0.15, "{bias:?}");
    assert!(bias[0] > 10.0 && bias[0] < 100.0, "{bias:?}");
}
