//! The sizes of packets: what acknowledgments and SYNs take of a link.

use crate::common::*;
use quell_sim::outcome::Outcome;
use quell_tcp::{Recovery, TcpParams};
use quell_units::{Bytes, Duration};

/// A host of Linux, whose packets count with Ethernet's header and TCP's options.
fn linux() -> TcpParams {
    TcpParams {
        recovery: Recovery::Rack,
        packet: Bytes::new(1448),
        header: Bytes::new(66),
        ack_size: Bytes::new(66),
        syn_size: Bytes::new(74),
        sack_sizes: true,
        delayed_ack: Some(Duration::from_millis(40)),
        ..Default::default()
    }
}

/// The packets and bytes that came to the way back.
fn back(d: &Dumbbell) -> (Outcome, f64, f64) {
    let mut network = d.network();
    network.links[1].observe = true;
    let o = go(network);
    let (mut packets, mut bytes) = (0, 0);
    for class in o.links[1].segments.iter().flat_map(|s| &s.classes) {
        packets += class.counts.arrived;
        bytes += class.counts.arrived_bytes;
    }
    (o, packets as f64, bytes as f64)
}

#[test]
fn acknowledgments_have_the_size_of_their_headers_and_blocks() {
    // Nothing is lost with so large a buffer.
    let d = Dumbbell {
        flows: 4,
        buffer: 1e5,
        tcp: TcpParams { max_window: 60, ..linux() },
        ..Default::default()
    };
    let (_, packets, bytes) = back(&d);
    assert!(packets > 1000.0);
    assert_eq!(bytes, 66.0 * packets);
    // With losses some have blocks: one makes 12 bytes, three make 28.
    let d = Dumbbell { flows: 4, buffer: 20.0, ..Dumbbell { tcp: linux(), ..Default::default() } };
    let (_, packets, bytes) = back(&d);
    let more = bytes / packets - 66.0;
    assert!((0.5..28.0).contains(&more), "{more}");
    let (_, packets, bytes) = back(&Dumbbell { tcp: TcpParams { sack_sizes: false, ..linux() }, ..d });
    assert_eq!(bytes, 66.0 * packets);
}

#[test]
fn a_handshake_has_its_own_size() {
    let d = Dumbbell {
        flows: 4,
        warmup: 0.0,
        end: 4.0,
        tcp: TcpParams { max_window: 4, ..linux() },
        ..Default::default()
    };
    let (_, packets, bytes) = back(&d);
    assert_eq!(bytes, 66.0 * packets + 4.0 * 8.0);
}
