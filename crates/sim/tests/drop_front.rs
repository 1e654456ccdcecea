//! A buffer that drops at the front under overload, beside what Linux's does.

use crate::common::*;
use quell_aqm::Seed;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::drop_tail::{Drop, DropTailParams};
use quell_sim::network::*;
use quell_sim::{Control, Engine, run};
use quell_units::{BitRate, QueueSize};

/// 10 Mbit/s with 80 packets of buffer under 20 Mbit/s of UDP: the mean wait of what is sent, and the share that is lost.
fn overload(drop: Drop, engine: Engine) -> (f64, f64) {
    const RATE: u64 = 10_000_000;
    const PACKET: u64 = 1514;
    let buffer = QueueSize::Packets(80.0);
    let algorithm = build(&AqmConfig::DropTail(DropTailParams { drop }), RATE, buffer, PACKET);
    let network = Network {
        links: vec![bottleneck(RATE, secs(0.05), buffer, algorithm, false)],
        flows: vec![FlowSpec {
            class: 0,
            ack_class: 0,
            dscp: 0,
            hosts: Default::default(),
            forward: vec![LinkId(0)],
            reverse: vec![],
            traffic: Traffic::Udp(UdpSpec {
                packet: Distribution::Constant(PACKET as f64),
                pace: Pace {
                    rate: Schedule::constant(BitRate::from_bps(2 * RATE)),
                    gaps: Gaps::Constant,
                    on_off: None,
                },
                ecn: false,
            }),
            start: at(0.0),
            stop: None,
            timed: false,
        }],
        classes: vec!["udp".into()],
        measure: Measure { warmup: at(5.0), end: at(20.0), boundaries: vec![], step: None },
        seed: Seed(1),
    };
    let counts = run(network, engine, &Control::default()).unwrap().links[0].segments[0].classes[0].counts;
    let waits = counts.delay_sum_ns as f64 * 1e-9 / counts.departed as f64;
    (waits, counts.dropped() as f64 / counts.arrived as f64)
}

/// Linux 7.2.13 in such a network: 96.5 ms with pfifo, 48.2 ms with pfifo_head_drop (one-way delays of 146.5 and 98.16 ms
/// over 50 ms and the transmission), and half of the packets lost with either. The buffer holds the last 80 arrivals, which
/// came at twice the rate at which they leave.
#[test]
fn what_is_sent_from_the_front_has_waited_half_as_long() {
    for engine in [Engine::Fast, Engine::Reference] {
        let (tail, lost) = overload(Drop::Tail, engine);
        let (front, lost_at_front) = overload(Drop::Front, engine);
        println!("{tail} {lost} {front} {lost_at_front}");
        assert!((tail / 0.0965 - 1.0).abs() < 0.02, "{tail}");
        assert!((front / 0.0482 - 1.0).abs() < 0.02, "{front}");
        assert!((lost - 0.5).abs() < 0.002 && (lost_at_front - 0.5).abs() < 0.002, "{lost} {lost_at_front}");
    }
}
