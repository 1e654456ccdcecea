//! Packets that are timed from end to end, the beginning of transfers, and events of loss.

use crate::common::*;
use quell_aqm::Seed;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::red::RedParams;
use quell_sim::network::*;
use quell_sim::outcome::{LossEvent, Outcome, TimedSegment};
use quell_sim::{Control, Engine, run};
use quell_tcp::{CongestionControl, TcpParams};
use quell_units::{BitRate, Duration, QueueSize, Time};

const RATE: u64 = 1_000_000;
/// Each way.
const DELAY: u64 = 64_000;

fn us(x: u64) -> Duration {
    Duration::from_micros(x)
}

/// How long so many bytes take at the links' rate.
fn sending(bytes: u64) -> Duration {
    us(bytes * 8)
}

/// One flow behind a link each way; its segments end at 10 s and at 20 s.
fn one(traffic: Traffic) -> Vec<TimedSegment> {
    let udp = matches!(traffic, Traffic::Udp(_));
    let network = Network {
        links: vec![wire(RATE, us(DELAY)), wire(RATE, us(DELAY))],
        flows: vec![FlowSpec {
            class: 0,
            ack_class: 0,
            dscp: 0,
            hosts: Default::default(),
            forward: vec![LinkId(0)],
            reverse: if udp { vec![] } else { vec![LinkId(1)] },
            traffic,
            start: at(0.0),
            stop: Some(at(19.0)),
            timed: true,
        }],
        classes: vec!["all".into()],
        measure: Measure { warmup: at(0.0), end: at(20.0), boundaries: vec![at(10.0)], step: None },
        seed: Seed(1),
    };
    run(network, Engine::Fast, &Control::default()).unwrap().flows.remove(0).timed
}

fn all(segments: &[TimedSegment], of: impl Fn(&TimedSegment) -> u64) -> u64 {
    segments.iter().map(of).sum()
}

#[test]
fn a_packet_alone_takes_its_transmission_and_the_way() {
    let pace =
        Pace { rate: Schedule::constant(BitRate::from_bps(80_000)), gaps: Gaps::Constant, on_off: None };
    let packet = Distribution::Constant(1000.0);
    let segments = one(Traffic::Udp(UdpSpec { packet, pace, ecn: false }));
    let alone = (us(DELAY) + sending(1000)).nanos();
    for segment in &segments {
        assert_eq!((segment.least_ns, segment.sum_ns), (alone, alone * segment.packets));
        let [(middle, count)] = segment.delays[..] else { panic!("{segment:?}") };
        assert_eq!(u64::from(count), segment.packets);
        assert!(middle.abs_diff(alone) * 500 <= alone, "{middle} for {alone}");
    }
    // One each 100 ms, from 0 s on.
    assert_eq!(segments.iter().map(|s| s.packets).collect::<Vec<_>>(), [100, 90]);
    assert_eq!(all(&segments, |s| s.begun), 0, "it makes no transfers");
}

#[test]
fn a_transfer_starts_up_with_its_first_packet_of_data() {
    let way = us(DELAY) + sending(1000);
    let handshake = us(2 * DELAY) + sending(80);
    let request = us(DELAY) + sending(500);
    for syn in [false, true] {
        for asks in [false, true] {
            for connection in [Connection::Fresh, Connection::Persistent] {
                let app = App::Transfers {
                    size: Distribution::Constant(7.0),
                    think: Distribution::Constant(1.0),
                    count: Some(4),
                    connection,
                    request: asks.then_some(Distribution::Constant(500.0)),
                };
                let segments = one(Traffic::Tcp { tcp: TcpParams { syn, ..Default::default() }, app });
                let opened = match connection {
                    _ if !syn => 0,
                    Connection::Fresh => 4,
                    Connection::Persistent => 1,
                };
                let each = if asks { way + request } else { way };
                assert_eq!(all(&segments, |s| s.begun), 4);
                assert_eq!(
                    all(&segments, |s| s.start_up_ns),
                    (each * 4 + handshake * opened).nanos(),
                    "{syn} {asks} {connection:?}"
                );
                assert_eq!(all(&segments, |s| s.packets), 28, "a SYN is no data");
            }
        }
    }
}

#[test]
fn a_sender_that_times_its_packets_itself_is_timed_too() {
    for congestion in [CongestionControl::Reno, CongestionControl::Ledbat] {
        let tcp = TcpParams { congestion, max_window: 10, ..Default::default() };
        let segments = one(Traffic::Tcp { tcp, app: App::Bulk });
        // Ten packets in a round trip; a burst of two waits for itself at most.
        let least = (us(DELAY) + sending(1000)).nanos();
        assert!(all(&segments, |s| s.packets) > 900, "{congestion:?}");
        assert!(segments.iter().all(|s| s.least_ns == least), "{congestion:?}");
        assert!(segments.iter().all(|s| s.delays.iter().all(|d| d.0 < 3 * least)), "{congestion:?}");
    }
}

const FLOWS: u32 = 10;

/// Greedy flows of equal round trips over one queue.
fn greedy(aqm: &AqmConfig) -> Outcome {
    let (rate, buffer) = (10_000_000, QueueSize::Packets(100.0));
    let mut links = vec![bottleneck(rate, us(10_000), buffer, build(aqm, rate, buffer, 1000), false)];
    let mut flows = Vec::new();
    for i in 0..FLOWS {
        let way = links.len() as u32;
        links.extend([wire(100_000_000, us(20_000)), wire(100_000_000, us(30_000))]);
        flows.push(FlowSpec {
            class: (i % 2) as u16,
            ack_class: 2,
            dscp: 0,
            hosts: Default::default(),
            forward: vec![LinkId(way), LinkId(0)],
            reverse: vec![LinkId(way + 1)],
            traffic: Traffic::Tcp { tcp: TcpParams::default(), app: App::Bulk },
            start: at(f64::from(i) * 0.1),
            stop: None,
            timed: false,
        });
    }
    let network = Network {
        links,
        flows,
        classes: vec!["even".into(), "odd".into(), "acks".into()],
        measure: Measure { warmup: at(30.0), end: at(150.0), boundaries: vec![], step: None },
        seed: Seed(1),
    };
    run(network, Engine::Fast, &Control { logged: vec![LinkId(0)], ..Control::default() }).unwrap()
}

/// The mean share of the flows that an event of loss hits.
fn share(outcome: &Outcome) -> f64 {
    let late = |event: &&LossEvent| event.time >= at(30.0);
    let events: Vec<u32> =
        outcome.links[0].loss_events.iter().filter(late).map(|e| e.losers.iter().sum()).collect();
    assert!(events.len() > 10, "{events:?}");
    f64::from(events.iter().sum::<u32>()) / (events.len() as f64 * f64::from(FLOWS))
}

#[test]
fn drop_tail_synchronizes_losses_and_red_does_not() {
    let drop_tail = greedy(&AqmConfig::DropTail(Default::default()));
    // Each of the flows adds a packet per round trip until it loses one.
    let (tail, red) = (share(&drop_tail), share(&greedy(&AqmConfig::Red(RedParams::default()))));
    assert!(tail > 0.7 && red < tail / 2.0, "{tail} {red}");
    // The first drop of all begins the first event, and no event begins before the one before it is over.
    let events = &drop_tail.links[0].loss_events;
    let dropped =
        |f: &&quell_sim::outcome::Fate| matches!(f.admission, quell_sim::outcome::Admission::Dropped(_));
    assert_eq!(events[0].time, drop_tail.links[0].log.iter().find(dropped).unwrap().arrived);
    // 60 ms of propagation, and 100 packets of 0.8 ms.
    let gaps = events.windows(2).map(|w| w[1].time - w[0].time);
    assert!(gaps.clone().all(|gap| gap >= us(60_000 + 80_000)), "{:?}", gaps.min());
    assert!(events.iter().all(|e| e.losers[2] == 0 && e.losers[0] + e.losers[1] > 0));
    let drops = drop_tail.links[0].segments[0].classes[0].drops.unwrap();
    assert!(at(30.0) <= drops.0 && drops.0 < drops.1 && drops.1 < Time::MAX);
}
