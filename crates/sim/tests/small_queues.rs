//! Senders whose own access link is their bottleneck: the queue there is unlimited, and a host fills it or keeps it small.

use crate::common::*;
use quell_sim::network::*;
use quell_sim::outcome::Outcome;
use quell_sim::{Control, Engine, run};
use quell_tcp::{CongestionControl, Growth, Recovery, TcpParams};
use quell_units::{BitRate, Bytes, Duration};

/// A host of Linux.
fn linux(congestion: CongestionControl, small_queues: bool) -> TcpParams {
    TcpParams {
        congestion,
        recovery: Recovery::Rack,
        pacing: congestion == CongestionControl::Bbr1,
        growth: Growth::WholePackets,
        packet: Bytes::new(1448),
        header: Bytes::new(66),
        initial_window: 10,
        // Slow start ends before it would ask for pieces of more packets.
        initial_ssthresh: Some(40),
        delayed_ack: Some(Duration::from_millis(40)),
        send_quantum: Some(Duration::from_nanos(976_562)),
        granularity: Duration::from_millis(1),
        small_queues,
        ..Default::default()
    }
}

/// Flows over 100 Mbit/s and 60 ms, each behind an access link of so many Mbit/s.
fn behind(mbps: u64, flows: usize, tcp: TcpParams) -> Network {
    let d = Dumbbell {
        flows,
        rate: 100_000_000,
        rtt: 0.06,
        spread: 0.0,
        buffer: 1000.0,
        tcp,
        ..Default::default()
    };
    let mut network = d.network();
    for flow in &network.flows {
        network.links[flow.forward[0].0 as usize].rate =
            Schedule::constant(BitRate::from_bps(mbps * 1_000_000));
    }
    network
}

fn milliseconds(o: &Outcome) -> f64 {
    let segments = || o.flows.iter().flat_map(|f| &f.segments);
    let samples: u64 = segments().map(|s| s.rtt_samples).sum();
    segments().map(|s| s.rtt_sum_ns).sum::<u64>() as f64 / samples as f64 / 1e6
}

/// A host has two pieces of two packets, of which the second is handed over when the first has left: an
/// acknowledgment, of the two of a piece, comes four transmissions and a round trip after the first. In Linux 7.2 (a
/// device that takes whole pieces) the smoothed round-trip time of one flow of CUBIC is 84.2 ms at 2 Mbit/s, of BBR
/// 82.8 and at 10 Mbit/s 64.7.
#[test]
fn a_host_keeps_two_pieces_in_its_own_link() {
    for (mbps, flows) in [(2, 1), (10, 1), (2, 3)] {
        for congestion in [CongestionControl::Cubic, CongestionControl::Bbr1] {
            let o = go(behind(mbps, flows, linux(congestion, true)));
            let rtt = milliseconds(&o);
            let expected = 60.0 + 4.0 * 1514.0 * 8.0 / (1000.0 * mbps as f64);
            assert!(
                (rtt - expected).abs() < 0.02 * expected,
                "{mbps} {flows} {congestion:?}: {rtt} {expected}"
            );
            let delivered = o.flows[0].segments[0].delivered_bytes as f64 * 8.0 / 50.0 / 1e6;
            // BBR looks for the smallest round-trip time for a fiftieth of the time.
            let least = if congestion == CongestionControl::Cubic { 0.999 } else { 0.96 };
            let full = mbps as f64 * 1448.0 / 1514.0;
            assert!(delivered > least * full, "{mbps} {flows} {congestion:?}: {delivered} {full}");
        }
    }
    let filled = milliseconds(&go(behind(10, 1, linux(CongestionControl::Cubic, false))));
    assert!(filled > 1000.0, "{filled}");
}

/// What leaves at once where a host's link is fast, or it has none, leaves as if nobody asked; with one sample path.
#[test]
fn a_fast_link_is_not_asked() {
    let outcome = |small, direct: bool| {
        let d = Dumbbell { flows: 5, tcp: linux(CongestionControl::Cubic, small), ..Default::default() };
        let mut network = d.network();
        if direct {
            for flow in &mut network.flows {
                flow.forward.remove(0);
            }
        }
        run(network, Engine::Reference, &Control::default()).unwrap().digest
    };
    for direct in [false, true] {
        assert_eq!(outcome(true, direct), outcome(false, direct));
    }
}
