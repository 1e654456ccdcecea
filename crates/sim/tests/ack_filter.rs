//! A download whose acknowledgments go over a slow line: CAKE drops those that say nothing new.

use crate::common::*;
use quell_aqm::cake::CakeParams;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::part::AckFilter;
use quell_sim::outcome::Outcome;
use quell_sim::{Control, Engine, run};
use quell_tcp::{CongestionControl, Growth, Recovery, TcpParams};
use quell_units::QueueSize;

const DOWN: u64 = 20_000_000;
const UP: u64 = DOWN / 100;

/// A home router with CAKE in both directions.
fn download(flows: usize, ack_filter: AckFilter, engine: Engine) -> Outcome {
    let cake =
        |ack_filter| AqmConfig::Cake(CakeParams { ack_filter, hash_key: Some(1), ..Default::default() });
    // Windows grow by what is acknowledged, and not by how often (RFC 3465).
    let tcp = TcpParams {
        recovery: Recovery::Prr,
        congestion: CongestionControl::Cubic,
        growth: Growth::Packets,
        ..Default::default()
    };
    let aqm = cake(AckFilter::Off);
    let line = Dumbbell {
        flows,
        rate: DOWN,
        buffer: 1000.0,
        rtt: 0.04,
        spread: 0.0,
        tcp,
        aqm,
        ..Default::default()
    };
    let mut network = line.network();
    let buffer = QueueSize::Packets(1000.0);
    network.links[1] = bottleneck(UP, secs(0.005), buffer, build(&cake(ack_filter), UP, buffer, 40), false);
    run(network, engine, &Control::default()).unwrap()
}

/// Mbit/s of the download, and the acknowledgments on the way back: arrived, filtered, their mean delay in seconds.
fn result(o: &Outcome) -> (f64, u64, u64, f64) {
    let down = &o.links[0].segments[0];
    let counts = &o.links[1].segments[0].classes[1].counts;
    let bits = 8.0 * down.classes[0].counts.departed_bytes as f64;
    (
        1e-6 * bits / (down.to - down.from).as_secs_f64(),
        counts.arrived,
        counts.dropped_forced,
        1e-9 * counts.delay_sum_ns as f64 / counts.departed as f64,
    )
}

/// The acknowledgments of 20 Mbit/s are 267 kbit/s with 40 bytes for every second packet, and the line back has 200.
/// Without the filter COBALT drops some at random, those with the blocks of what is lost among them.
#[test]
fn a_download_over_an_asymmetric_line_is_faster_with_its_acknowledgments_filtered() {
    for flows in [1, 4] {
        let (off, _, filtered, _) = result(&download(flows, AckFilter::Off, Engine::Fast));
        assert_eq!(filtered, 0);
        for filter in [AckFilter::On, AckFilter::Aggressive] {
            let fast = result(&download(flows, filter, Engine::Fast));
            assert_eq!(fast, result(&download(flows, filter, Engine::Reference)), "the engines agree");
            let (on, arrived, filtered, delay) = fast;
            println!("{flows} flows: {off:.1} Mbit/s, {filter:?} {on:.1}, {filtered} of {arrived}, {delay}");
            assert!(on > 1.4 * off && on > 17.0, "{flows} flows, {filter:?}: {on} Mbit/s, and {off} without");
            assert!(filtered > arrived / 2, "{filtered} of {arrived}");
            assert!(delay < 0.03, "{delay}");
        }
    }
}
