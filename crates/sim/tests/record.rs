//! What is measured at one link keeps its bounds: at rates that change and at the slowest ones.

use crate::common::*;
use quell_aqm::Seed;
use quell_sim::network::*;
use quell_sim::outcome::{Outcome, Segment};
use quell_sim::{Control, Engine, run};
use quell_tcp::TcpParams;
use quell_units::{BitRate, QueueSize, Time};

/// Packets of `bytes` at `offered` bit/s onto a link with room for 1000, in both engines.
fn one_link(rate: Schedule<BitRate>, bytes: f64, offered: u64, bounds: &[f64]) -> Outcome {
    one_link_of(rate, bytes, offered, bounds, 1000.0)
}

/// The same with room for so many packets.
fn one_link_of(rate: Schedule<BitRate>, bytes: f64, offered: u64, bounds: &[f64], room: f64) -> Outcome {
    let bounds: Vec<Time> = bounds.iter().map(|t| at(*t)).collect();
    let (warmup, end) = (bounds[0], bounds[bounds.len() - 1]);
    let boundaries = bounds[1..bounds.len() - 1].to_vec();
    let network = || Network {
        links: vec![LinkSpec {
            rate: rate.clone(),
            ..bottleneck(1, secs(0.01), QueueSize::Packets(room), drop_tail(), false)
        }],
        flows: vec![FlowSpec {
            class: 0,
            ack_class: 0,
            dscp: 0,
            hosts: Default::default(),
            forward: vec![LinkId(0)],
            reverse: vec![],
            traffic: Traffic::Udp(UdpSpec {
                packet: Distribution::Constant(bytes),
                pace: Pace {
                    rate: Schedule::constant(BitRate::from_bps(offered)),
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
        measure: Measure { warmup, end, boundaries: boundaries.clone(), step: None },
        seed: Seed(1),
    };
    let outcome = run(network(), Engine::Fast, &Control::default()).unwrap();
    let reference = run(network(), Engine::Reference, &Control::default()).unwrap();
    assert_eq!(outcome.links, reference.links);
    outcome
}

fn utilization(s: &Segment) -> f64 {
    s.sent_bits / s.capacity_bits
}

/// Packets of 100 bytes at 8 bit/s take 100 s each; every 80 s another comes. The n-th waits 20 s longer
/// than the one before.
#[test]
fn delays_of_hours_are_measured() {
    let o = one_link(Schedule::constant(BitRate::from_bps(8)), 100.0, 10, &[0.0, 80_000.0]);
    let c = &o.links[0].segments[0].classes[0];
    let mean = c.counts.delay_sum_ns as f64 * 1e-9 / c.counts.departed as f64;
    assert!((c.counts.departed as i64 - 800).abs() <= 1, "{}", c.counts.departed);
    assert!((mean - 0.5 * 20.0 * 800.0).abs() < 30.0, "{mean}");
    let at = |q: f64| c.delay_ns.value_at_quantile(q) as f64 * 1e-9;
    assert!((at(0.5) / mean - 1.0).abs() < 0.01, "{} beside {mean}", at(0.5));
    assert!((at(0.99) / 15_840.0 - 1.0).abs() < 0.01, "{}", at(0.99));
    assert!(utilization(&o.links[0].segments[0]) > 0.998);
}

/// Packets of 1500 bytes take 120 ns each at 100 Gbit/s and come twice as fast: four of them wait, 420 or 480 ns
/// long.
#[test]
fn delays_below_a_microsecond_are_measured() {
    let rate = Schedule::constant(BitRate::from_bps(100_000_000_000));
    let o = one_link_of(rate, 1500.0, 200_000_000_000, &[0.0005, 0.001], 4.0);
    let c = &o.links[0].segments[0].classes[0];
    let mean = c.counts.delay_sum_ns as f64 / c.counts.departed as f64;
    assert!(mean > 300.0 && mean < 600.0, "{mean}");
    for q in [0.5, 0.95, 0.99] {
        let delay = c.delay_ns.value_at_quantile(q) as f64;
        assert!((delay / mean - 1.0).abs() < 0.2, "{delay} at {q}, beside a mean of {mean}");
    }
    assert!(c.delay_ns.value_at_quantile(0.99) as f64 >= mean);
}

/// A packet keeps the rate at which its transmission began, so for its rest the link can do what it could
/// then. At 10 kbit/s a packet of 1000 bytes takes 0.8 s; a change falls into one.
#[test]
fn a_full_link_is_used_to_the_full_across_changes_of_its_rate() {
    let kbps = |x: u64| BitRate::from_bps(1000 * x);
    // The third and the fourth fall into one transmission.
    let changes = vec![(at(20.1), kbps(1)), (at(60.3), kbps(10)), (at(90.3), kbps(1)), (at(90.4), kbps(5))];
    let rate = Schedule::changing(kbps(10), changes);
    let o = one_link(rate, 1000.0, 20_000, &[5.0, 10.0, 20.1, 40.0, 60.3, 90.35, 120.0]);
    for s in &o.links[0].segments {
        assert!((utilization(s) - 1.0).abs() < 1e-9, "{} to {}: {}", s.from, s.to, utilization(s));
    }
}

/// A window of one packet on an empty network: every packet is timed, and takes the propagation both ways and
/// four transmissions of 80, 800, 32 and 3.2 us.
#[test]
fn round_trip_times_of_an_empty_network_are_known() {
    let tcp = TcpParams { max_window: 1, ..TcpParams::default() };
    let o = Dumbbell { flows: 1, spread: 0.0, tcp, ..Dumbbell::default() }.run();
    let flow = &o.flows[0].segments[0];
    let rtt_ns = 80_915_200;
    assert!(flow.sent_packets.abs_diff(flow.rtt_samples) <= 1, "{flow:?}");
    assert_eq!(flow.rtt_sum_ns, rtt_ns * flow.rtt_samples);
    assert!(flow.rtt_samples.abs_diff(50_000_000_000 / rtt_ns) <= 1, "{flow:?}");
    let classes = &o.links[0].segments[0].classes;
    assert!(classes[1].rtt_ns.is_empty(), "acknowledgments are not timed");
    assert_eq!(classes[0].rtt_ns.len(), flow.rtt_samples);
    for q in [0.01, 0.99] {
        let x = classes[0].rtt_ns.value_at_quantile(q) as f64;
        assert!((x / rtt_ns as f64 - 1.0).abs() < 0.02, "{x}");
    }
}

/// Thirty flows that fill the queue, over two segments: a measurement counts in the segment in which its
/// acknowledgment came, for its flow and for its class at the link; a sender times one packet in a round trip,
/// so what it measures is its propagation delay and the queue.
#[test]
fn round_trip_times_count_in_their_segments() {
    let bed = Dumbbell { tcp: TcpParams { syn: false, ..TcpParams::default() }, ..Dumbbell::default() };
    let mut network = bed.network();
    network.measure.boundaries = vec![at(30.0)];
    let o = go(network);
    for (i, segment) in o.links[0].segments.iter().enumerate() {
        let flows = || o.flows.iter().map(|f| &f.segments[i]);
        let samples: u64 = flows().map(|f| f.rtt_samples).sum();
        let mean = flows().map(|f| f.rtt_sum_ns).sum::<u64>() as f64 / samples as f64;
        let class = &segment.classes[0];
        assert_eq!(class.rtt_ns.len(), samples);
        assert!((class.rtt_ns.mean() / mean - 1.0).abs() < 0.01, "{} {mean}", class.rtt_ns.mean());
        let seconds = segment.to.since(segment.from).as_secs_f64();
        assert!(samples as f64 * mean * 1e-9 <= 30.0 * seconds * 1.01, "more than one at a time");
        let queue = class.counts.delay_sum_ns as f64 / class.counts.departed as f64;
        let propagation = 0.1009e9; // the mean of those of the flows, and four transmissions
        assert!((mean / (propagation + queue) - 1.0).abs() < 0.05, "{mean} {propagation} {queue}");
    }
}

/// What a receiver got is the same by steps and by segments, whose boundaries cut steps; and nothing is counted by steps
/// where one flow is alone or where no step is asked for.
#[test]
fn what_receivers_got_is_kept_by_steps() {
    let network = |flows, step| {
        let mut network = Dumbbell { flows, warmup: 2.0, end: 6.0, step, ..Default::default() }.network();
        network.measure.boundaries = vec![at(3.333), at(5.0)];
        network
    };
    let run = |flows, step| run(network(flows, step), Engine::Fast, &Control::default()).unwrap();
    let outcome = run(5, Some(0.1));
    for flow in &outcome.flows {
        assert_eq!(flow.step_bytes.len(), 60);
        let window = flow.segments.iter().map(|s| s.delivered_bytes).sum::<u64>();
        assert_eq!(flow.step_bytes[20..].iter().sum::<u64>(), window);
        assert_eq!(flow.step_bytes[50..].iter().sum::<u64>(), flow.segments[2].delivered_bytes);
        assert!(flow.step_bytes[..20].iter().sum::<u64>() > 0, "the warm-up is there too");
    }
    let plain = run(5, None);
    assert_eq!(outcome.digest, plain.digest);
    for other in [plain, run(1, Some(0.1)), run(5, Some(1e-6))] {
        assert!(other.flows.iter().all(|flow| flow.step_bytes.is_empty()));
    }
}
