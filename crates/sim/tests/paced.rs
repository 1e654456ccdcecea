//! Sources with a clock of their own over TCP: what they hand over is sent, if not now then later.

use crate::common::*;
use quell_aqm::Seed;
use quell_sim::network::*;
use quell_sim::outcome::FlowSegment;
use quell_tcp::TcpParams;
use quell_units::{BitRate, Time};

/// What one flow does in each segment, over a link of its own with 10 ms each way.
fn segments(
    link: u64,
    rate: u64,
    on_off: Option<[f64; 2]>,
    stop: Option<Time>,
    times: &[f64],
) -> Vec<FlowSegment> {
    let pace = Pace {
        rate: Schedule::constant(BitRate::from_bps(rate)),
        gaps: Gaps::Constant,
        on_off: on_off.map(|[on, off]| (Distribution::Constant(on), Distribution::Constant(off))),
    };
    let (end, boundaries) = times.split_last().unwrap();
    let network = Network {
        links: vec![wire(link, secs(0.01)), wire(link, secs(0.01))],
        flows: vec![FlowSpec {
            class: 0,
            ack_class: 1,
            dscp: 0,
            hosts: Default::default(),
            forward: vec![LinkId(0)],
            reverse: vec![LinkId(1)],
            traffic: Traffic::Tcp { tcp: TcpParams::default(), app: App::Paced(pace) },
            start: at(0.0),
            stop,
            timed: false,
        }],
        classes: vec!["paced".into(), "acks".into()],
        measure: Measure {
            warmup: at(0.0),
            end: at(*end),
            boundaries: boundaries.iter().map(|t| at(*t)).collect(),
            step: None,
        },
        seed: Seed(1),
    };
    go(network).flows.remove(0).segments
}

/// Whole packets delivered in each segment.
fn delivered(segments: &[FlowSegment]) -> Vec<u64> {
    segments.iter().map(|s| s.delivered_bytes / 1000).collect()
}

#[test]
fn what_the_window_allows_goes_as_it_comes() {
    // Ten packets a second, each delivered within its tenth.
    let s = segments(10_000_000, 80_000, None, None, &[5.05, 10.05]);
    assert_eq!(delivered(&s), [51, 50]);
    // On and off for a second each.
    let s = segments(10_000_000, 80_000, Some([1.0, 1.0]), None, &[0.99, 1.99, 2.99, 3.99, 19.99]);
    assert_eq!(delivered(&s), [10, 0, 10, 0, 80]);
}

#[test]
fn what_the_window_does_not_allow_waits() {
    // In its second the source hands over 250 packets; the link takes 125 a second.
    let s = segments(1_000_000, 2_000_000, Some([1.0, 4.0]), None, &[1.0, 3.0, 5.0]);
    let d = delivered(&s);
    assert_eq!((d.iter().sum::<u64>(), d[2]), (250, 0), "{d:?}");
    assert!((100..=125).contains(&d[0]), "{d:?}");
}

#[test]
fn a_source_that_stops_hands_nothing_over() {
    let s = segments(10_000_000, 80_000, None, Some(at(2.05)), &[2.1, 10.0]);
    assert_eq!(delivered(&s), [21, 0]);
    // What waits then is discarded.
    let s = segments(1_000_000, 100_000_000, None, Some(at(1.0)), &[1.0, 3.0]);
    let d = delivered(&s);
    let in_flight = s.iter().map(|s| s.sent_packets - s.retransmitted_packets).sum::<u64>();
    assert_eq!((d.iter().sum::<u64>(), s[1].sent_packets - s[1].retransmitted_packets), (in_flight, 0));
}

#[test]
fn after_a_pause_longer_than_the_timeout_tcp_slow_starts_again() {
    // 250 packets in 20 ms, every other time with a pause; a round trip is 20 ms.
    let s = segments(1_000_000_000, 100_000_000, Some([0.02, 2.0]), None, &[2.02, 2.035, 2.055, 4.0]);
    assert_eq!(delivered(&s)[..3], [250, 2, 4], "two packets, then two for each");
}

#[test]
fn a_source_faster_than_the_link_fills_it() {
    let s = segments(1_000_000, 2_000_000, None, None, &[5.0, 25.0]);
    assert!((2490..=2500).contains(&delivered(&s)[1]), "{s:?}");
}
