//! Losses that were none: packets that overtake each other, and a path that takes longer for a while.

use crate::common::*;
use quell_sim::network::*;
use quell_tcp::{CongestionControl, Growth, Recovery, SlowStart, TcpParams};
use quell_units::{Duration, Time};

/// One flow of 20 Mbit/s over a link whose delay is another for a part of each period.
fn goodput(tcp: &TcpParams, (delay, other, from): (f64, f64, f64), period: f64) -> (f64, u64, u64) {
    let d = Dumbbell {
        flows: 1,
        rate: 20_000_000,
        rtt: 0.1,
        spread: 0.0,
        buffer: 300.0,
        tcp: tcp.clone(),
        end: 70.0,
        ..Default::default()
    };
    let mut network = d.network();
    let steps = (1..70).map(|i| i as f64 * period);
    let changes: Vec<(Time, Duration)> =
        steps.flat_map(|t| [(at(t), secs(other)), (at(t + from), secs(delay))]).collect();
    network.links[0].delay = Schedule::changing(secs(delay), changes);
    let o = go(network);
    let s = &o.flows[0].segments[0];
    (s.delivered_bytes as f64 * 8e-6 / (d.end - d.warmup), s.fast_retransmits, s.timeouts)
}

fn host(congestion: CongestionControl, recovery: Recovery) -> TcpParams {
    TcpParams {
        congestion,
        recovery,
        pacing: congestion == CongestionControl::Bbr3,
        slow_start: SlowStart::HyStartPlusPlus,
        growth: Growth::Packets,
        initial_window: 10,
        granularity: Duration::from_millis(1),
        ..Default::default()
    }
}

/// Senders that are told of duplicates keep nine tenths of the link; those that halve their windows, less than `most`
/// Mbit/s, where theirs do not grow back soon.
fn compare(path: (f64, f64, f64), period: f64, congestions: &[(CongestionControl, bool)], most: f64) {
    for &(congestion, soon) in congestions {
        for recovery in [Recovery::Rack, Recovery::Prr] {
            let told = recovery == Recovery::Rack;
            if !told && soon {
                continue;
            }
            let (mbps, fast, timeouts) = goodput(&host(congestion, recovery), path, period);
            println!("{congestion:?} {recovery:?}: {mbps:.2} Mbit/s, {fast} recoveries, {timeouts} timeouts");
            assert!(fast + timeouts > 0);
            assert!(if told { mbps > 18.0 } else { mbps < most }, "{congestion:?} {recovery:?}: {mbps}");
        }
    }
}

#[test]
fn packets_that_overtake_each_other_cost_little_where_duplicates_are_reported() {
    // Once in 3 s packets overtake those of the last 60 ms: more than a quarter of the round trip.
    let all = [
        (CongestionControl::Cubic, false),
        (CongestionControl::Reno, false),
        (CongestionControl::Bbr3, true),
    ];
    compare((0.065, 0.005, 0.2), 3.0, &all, 6.7);
}

#[test]
fn a_path_that_takes_longer_for_a_while_costs_little_where_duplicates_are_reported() {
    // More than a second for 100 ms, every 8 s; then packets overtake those. CUBIC's window is what it was after that
    // time (RFC 9438 section 4.2), since timeouts that follow each other reduce it once.
    // With SACK alone, what comes twice after a timeout is no duplicate (RFC 6675 section 2) and starts no recovery on top
    // of it, so that more is left than above.
    compare(
        (0.005, 1.2, 0.1),
        8.0,
        &[(CongestionControl::Cubic, true), (CongestionControl::Reno, false)],
        8.0,
    );
}
