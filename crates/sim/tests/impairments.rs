//! Wires that lose in bursts, waver and copy, as links of a network.

use crate::common::*;
use quell_aqm::Seed;
use quell_sim::network::*;
use quell_sim::outcome::{Outcome, Segment};
use quell_sim::{Control, Engine, run};
use quell_tcp::{Recovery, TcpParams};
use quell_units::{BitRate, QueueSize};

/// 10 Mbit/s and 1000-byte packets: 1250 packets are served per second.
const RATE: u64 = 10_000_000;
const MU: f64 = 1250.0;

/// Poisson arrivals of 1000 bytes at load `rho` over a fast link of 200 ms with `before`, into a queue whose wire has
/// `behind`; 20 segments of 50 s. Both engines give the same.
fn udp(rho: f64, before: &Impairments, behind: &Impairments) -> Outcome {
    let network = || Network {
        links: vec![
            LinkSpec { impairments: before.clone(), ..wire(1_000_000_000_000, secs(0.2)) },
            LinkSpec {
                impairments: behind.clone(),
                ..bottleneck(RATE, secs(0.01), QueueSize::Packets(1e6), drop_tail(), false)
            },
        ],
        flows: vec![FlowSpec {
            class: 0,
            ack_class: 0,
            dscp: 0,
            hosts: Default::default(),
            forward: vec![LinkId(0), LinkId(1)],
            reverse: vec![],
            traffic: Traffic::Udp(UdpSpec {
                packet: Distribution::Constant(1000.0),
                pace: Pace {
                    rate: Schedule::constant(BitRate::from_bps((RATE as f64 * rho) as u64)),
                    gaps: Gaps::Exponential,
                    on_off: None,
                },
                ecn: false,
            }),
            start: at(0.0),
            stop: None,
            timed: false,
        }],
        classes: vec!["udp".into()],
        measure: Measure {
            warmup: at(20.0),
            end: at(1020.0),
            boundaries: (1..20).map(|i| at(20.0 + 50.0 * i as f64)).collect(),
            step: None,
        },
        seed: Seed(1),
    };
    let [fast, reference] =
        [Engine::Fast, Engine::Reference].map(|engine| run(network(), engine, &Control::default()).unwrap());
    assert_eq!((fast.digest, fast.conservation), (reference.digest, reference.conservation));
    let c = fast.conservation;
    assert_eq!(c.sent + c.duplicated, c.delivered + c.dropped + c.lost + c.in_flight, "{c:?}");
    fast
}

/// The theory's value lies in the 99.9% interval, which is narrow enough to mean something.
fn assert_within(what: &str, (mean, half): (f64, f64), theory: f64, narrow: f64) {
    println!("{what}: measured {mean:.5} +- {half:.5}, theory {theory:.5}");
    assert!(half < narrow * theory, "{what}: interval {half} too wide to judge {theory}");
    assert!((mean - theory).abs() <= half, "{what}: {mean} +- {half}, theory {theory}");
}

fn share_lost(s: &Segment) -> f64 {
    s.classes[0].counts.lost as f64 / s.classes[0].counts.departed as f64
}

#[test]
fn a_wire_that_loses_in_bursts_loses_the_share_of_its_chain() {
    let chain = GilbertElliott { p: 0.01, r: 0.2, good_loss: 0.001, bad_loss: 0.9 };
    let wire = Impairments { loss: Loss::GilbertElliott(chain), ..Default::default() };
    let o = udp(0.9, &Impairments::default(), &wire);
    assert_within("wire loss", batch_means(&o, share_lost), chain.mean(), 0.1);
}

/// Points of a Poisson process that are moved independently are a Poisson process: the queue behind a link with jitter
/// is M/D/1 still, and Little's law holds. Without overtaking they come in clumps, and the queue is longer.
#[test]
fn jitter_leaves_poisson_arrivals_what_they_are() {
    let waiting = 0.8 * 0.8 / (2.0 * 0.2);
    for distribution in [Deviation::Uniform, Deviation::Normal, Deviation::Pareto] {
        let jitter = |reorder| Impairments {
            jitter: Some(Jitter { size: secs(0.04), distribution, correlation: 0.0, reorder }),
            ..Default::default()
        };
        let o = udp(0.8, &jitter(true), &Impairments::default());
        assert_within("M/D/1 queue", batch_means(&o, queue), waiting, 0.1);
        let integral: f64 = o.links[0].segments.iter().map(|s| s.queue_packet_seconds).sum();
        let delays: f64 =
            o.links[0].segments.iter().map(|s| s.classes[0].counts.delay_sum_ns as f64 * 1e-9).sum();
        // They differ by what waits at either end.
        assert!((integral - delays).abs() < 1.0 && integral > 1000.0, "{integral} {delays}");
        let (kept, _) = batch_means(&udp(0.8, &jitter(false), &Impairments::default()), queue);
        assert!(kept > 2.0 * waiting, "{distribution:?}: {kept}");
    }
}

/// Copies load what is behind the wire that makes them, and a receiver counts each packet once.
#[test]
fn a_wire_that_copies_loads_what_is_behind_it() {
    let copies = Impairments { duplicate: 0.25, ..Default::default() };
    // Before the queue they load it, behind it they do not.
    let (before, behind) =
        (udp(0.6, &copies, &Impairments::default()), udp(0.6, &Impairments::default(), &copies));
    let load = |s: &Segment| s.sent_bits / s.capacity_bits;
    assert_within("load", batch_means(&before, load), 0.75, 0.02);
    assert_within("load", batch_means(&behind, load), 0.6, 0.02);
    for o in [before, behind] {
        let c = o.conservation;
        assert!((c.duplicated as f64 / c.sent as f64 - 0.25).abs() < 0.005, "{c:?}");
        let delivered: u64 = o.flows[0].segments.iter().map(|s| s.delivered_bytes).sum();
        let wanted = 0.6 * MU * 1000.0 * 1000.0;
        assert!((delivered as f64 / wanted - 1.0).abs() < 0.01, "{delivered} {wanted}");
        assert!(c.delivered as f64 > 1.24 * (c.sent - c.in_flight) as f64, "{c:?}");
    }
    // Also a packet that was copied twice, and of which a wire lost one or the other, counts once.
    let both = Impairments { loss: Loss::from(0.2), duplicate: 0.5, ..Default::default() };
    let o = udp(0.3, &both, &both);
    let delivered: u64 = o.flows[0].segments.iter().map(|s| s.delivered_bytes).sum();
    // Over the first wire goes none (l), one or two; each of these is lost on the second one with l.
    let (l, d) = (0.2, 0.5);
    let share = (1.0 - l) * (1.0 - (1.0 - d) * l - d * l * l);
    let wanted = 0.3 * MU * 1000.0 * 1000.0 * share;
    assert!((delivered as f64 / wanted - 1.0).abs() < 0.02, "{delivered} {wanted}");
}

/// TCP delivers each byte once whatever the wires do, and copies alone cost it next to nothing, nor do they hide losses.
#[test]
fn tcp_takes_copies_for_what_they_are() {
    let goodput = |recovery: Recovery, duplicate: f64, loss: f64| {
        let d =
            Dumbbell { flows: 4, tcp: TcpParams { recovery, ..Default::default() }, ..Default::default() };
        let mut network = d.network();
        network.links[0].impairments.loss = loss.into();
        network.links[0].impairments.duplicate = duplicate;
        network.links[1].impairments.duplicate = duplicate;
        let o = go(network);
        let bytes: u64 = o.flows.iter().flat_map(|f| &f.segments).map(|s| s.delivered_bytes).sum();
        (bytes as f64 * 8e-6 / (d.end - d.warmup), o.conservation)
    };
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Prr, Recovery::Rack] {
        let ((plain, none), (copied, some)) = (goodput(recovery, 0.0, 0.0), goodput(recovery, 0.02, 0.0));
        println!("{recovery:?}: {plain:.3} Mbit/s without copies, {copied:.3} with");
        assert_eq!(none.duplicated, 0);
        assert!(some.duplicated > 1000 && copied <= 10.0, "{recovery:?}: {copied} {some:?}");
        assert!(copied > 0.9 * plain, "{recovery:?}: {plain} {copied}");
    }
    for recovery in [Recovery::Sack, Recovery::Prr, Recovery::Rack] {
        let ((plain, _), (copied, _)) = (goodput(recovery, 0.0, 0.02), goodput(recovery, 0.05, 0.02));
        println!("{recovery:?}: {plain:.3} Mbit/s with losses, {copied:.3} with copies too");
        assert!(plain < 8.0, "losses bound the window: {plain}");
        assert!((0.85..1.15).contains(&(copied / plain)), "{recovery:?}: {plain} {copied}");
    }
}
