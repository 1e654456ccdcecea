//! A transfer is complete when its receiver has all of it: by arithmetic, with both engines. And the time that it takes
//! alone, which is its own where it is alone.

use crate::common::*;
use quell_aqm::Seed;
use quell_sim::network::*;
use quell_sim::outcome::{Outcome, Transfer};
use quell_sim::{Control, Engine, run};
use quell_tcp::{CongestionControl, Recovery, TcpParams};
use quell_units::{BitRate, Duration, QueueSize};

const RATE: u64 = 8_000_000;
/// Each way.
const DELAY: u64 = 20_000;

fn us(x: u64) -> Duration {
    Duration::from_micros(x)
}

/// The time that so many bytes take at the link's rate.
fn sending(bytes: u64) -> Duration {
    us(bytes)
}

/// The time from one end to the other for the first of so many bytes, and of a packet.
fn one_way() -> Duration {
    us(DELAY) + sending(1000)
}

/// The time of a SYN there and back.
fn handshake() -> Duration {
    us(2 * DELAY) + sending(2 * 40)
}

/// Transfers over one link there and one back.
struct Senders {
    flows: usize,
    tcp: TcpParams,
    packets: f64,
    think: f64,
    count: u32,
    connection: Connection,
    request: Option<f64>,
    /// Room in the queue of the link there, in packets.
    buffer: f64,
    end: f64,
}

impl Default for Senders {
    fn default() -> Self {
        Senders {
            flows: 1,
            tcp: TcpParams { syn: false, ..Default::default() },
            packets: 1.0,
            think: 0.01,
            count: 1,
            connection: Connection::Fresh,
            request: None,
            buffer: 1000.0,
            end: 20.0,
        }
    }
}

impl Senders {
    fn network(&self) -> Network {
        let app = App::Transfers {
            size: Distribution::Constant(self.packets),
            think: Distribution::Constant(self.think),
            count: Some(self.count),
            connection: self.connection,
            request: self.request.map(Distribution::Constant),
        };
        let flow = FlowSpec {
            class: 0,
            ack_class: 1,
            dscp: 0,
            hosts: Default::default(),
            forward: vec![LinkId(0)],
            reverse: vec![LinkId(1)],
            traffic: Traffic::Tcp { tcp: self.tcp.clone(), app },
            start: at(1.0),
            stop: None,
            timed: false,
        };
        let buffer = QueueSize::Packets(self.buffer);
        Network {
            links: vec![bottleneck(RATE, us(DELAY), buffer, drop_tail(), false), wire(RATE, us(DELAY))],
            flows: vec![flow; self.flows],
            classes: vec!["web".into(), "acks".into()],
            measure: Measure { warmup: at(0.0), end: at(self.end), boundaries: vec![], step: None },
            seed: Seed(1),
        }
    }

    /// The same outcome of both engines.
    fn run(&self) -> Outcome {
        of_both(|| self.network())
    }

    fn transfers(&self) -> Vec<Transfer> {
        self.run().transfers
    }
}

/// The outcome that both engines have.
fn of_both(network: impl Fn() -> Network) -> Outcome {
    let of = |engine| run(network(), engine, &Control::default()).unwrap();
    let (fast, reference) = (of(Engine::Fast), of(Engine::Reference));
    assert_eq!((fast.digest, &fast.transfers), (reference.digest, &reference.transfers));
    fast
}

fn took(t: &Transfer) -> Duration {
    t.end - t.start
}

#[test]
fn a_packet_over_an_empty_path_takes_its_way() {
    // An acknowledgment may be delayed, which concerns its sender alone.
    for delayed_ack in [None, Some(us(40_000))] {
        for syn in [false, true] {
            for request in [None, Some(500.0)] {
                let tcp = TcpParams { syn, delayed_ack, ..Default::default() };
                let t = Senders { tcp, request, ..Default::default() }.transfers();
                let open = if syn { handshake() } else { Duration::ZERO };
                let asking = request.map_or(Duration::ZERO, |_| us(DELAY) + sending(500));
                assert_eq!(t.len(), 1);
                assert_eq!(took(&t[0]), asking + open + one_way(), "syn {syn} {request:?}");
                let ack = us(DELAY) + sending(40) + delayed_ack.unwrap_or(Duration::ZERO);
                assert_eq!(t[0].acknowledged, Some(t[0].end + ack), "syn {syn} {request:?}");
            }
        }
    }
}

/// The last packet of each second transfer is one of an odd number, whose acknowledgment waits for another one: for
/// the next request, after the time to think.
#[test]
fn the_time_to_think_on_one_connection_is_no_part_of_a_transfer() {
    for request in [None, Some(500.0)] {
        let tcp = TcpParams { syn: false, delayed_ack: Some(us(500_000)), ..Default::default() };
        let connection = Connection::Persistent;
        let senders = Senders { tcp, connection, count: 6, request, ..Default::default() };
        let t = senders.transfers();
        assert_eq!(t.len(), 6);
        let asking = request.map_or(Duration::ZERO, |_| us(DELAY) + sending(500));
        for t in &t {
            assert_eq!(took(t), asking + one_way(), "{request:?}");
        }
        assert!(t.iter().any(|t| t.acknowledged.is_some_and(|heard| heard > t.end + us(DELAY) + us(9_000))));
    }
}

/// Three packets come at once: one is sent, one waits, and the last one is dropped. It is sent again when the timer
/// has run out, and the transfer is complete when it is there.
#[test]
fn a_transfer_whose_last_packet_was_lost_is_complete_when_that_is_there() {
    let tcp = TcpParams { syn: false, initial_window: 3, ..Default::default() };
    let outcome = Senders { tcp, packets: 3.0, buffer: 1.0, ..Default::default() }.run();
    let [t] = outcome.transfers[..] else { panic!("{:?}", outcome.transfers) };
    let flow = outcome.flows[0].segments[0];
    assert_eq!((flow.timeouts, flow.retransmitted_packets, flow.delivered_bytes), (1, 1, 3000));
    assert!(took(&t) > us(200_000), "the timer ran out first: {}", took(&t));
    assert_eq!(t.acknowledged, Some(t.end + us(DELAY) + sending(40)));
}

#[test]
fn of_those_who_send_at_once_each_is_complete_when_its_packet_has_come() {
    let t = Senders { flows: 64, ..Default::default() }.transfers();
    let expected: Vec<Duration> = (1..=64).map(|i| us(DELAY) + sending(1000 * i)).collect();
    assert_eq!(t.iter().map(took).collect::<Vec<_>>(), expected);
}

/// The end of the run may come between the last packet and its acknowledgment.
#[test]
fn a_transfer_is_complete_though_nobody_hears_of_it() {
    let end = |after: Duration| (at(1.0) + after).as_secs_f64();
    let transfers = |after| Senders { end: end(after), ..Default::default() }.transfers();
    assert_eq!(transfers(one_way()), []);
    let there = transfers(one_way() + us(1));
    assert_eq!((there[0].end, there[0].acknowledged), (at(1.0) + one_way(), None));
    let heard = transfers(one_way() + us(DELAY + 41));
    assert_eq!(heard[0].acknowledged, Some(there[0].end + us(DELAY + 40)));
}

/// Senders of several kinds.
fn senders() -> Vec<TcpParams> {
    let plain = TcpParams { syn: false, ..Default::default() };
    let of_today = TcpParams {
        initial_window: 10,
        delayed_ack: Some(us(40_000)),
        recovery: Recovery::Sack,
        ..Default::default()
    };
    let with = |congestion, recovery| TcpParams { congestion, recovery, ..of_today.clone() };
    vec![
        plain,
        of_today.clone(),
        with(CongestionControl::Cubic, Recovery::Sack),
        with(CongestionControl::Ledbat, Recovery::Sack),
        TcpParams { pacing: true, ..with(CongestionControl::Bbr3, Recovery::Rack) },
    ]
}

#[test]
fn a_transfer_that_is_alone_takes_its_time_alone() {
    for tcp in senders() {
        for connection in [Connection::Fresh, Connection::Persistent] {
            for request in [None, Some(500.0)] {
                for packets in [1.0, 3.0, 40.0, 400.0] {
                    for think in [0.01, 3.0] {
                        let tcp = tcp.clone();
                        let more = Senders { tcp, connection, request, packets, think, ..Default::default() };
                        let t = Senders { count: 5, end: 60.0, ..more }.transfers();
                        assert_eq!(t.len(), 5);
                        let same = |t: &Transfer| t.alone == Some(took(t));
                        assert!(t.iter().all(same), "{connection:?} {request:?} {packets} {t:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn who_waits_for_others_takes_longer_than_alone() {
    let t = Senders { flows: 64, ..Default::default() }.transfers();
    assert!(t.iter().all(|t| t.alone == Some(one_way())), "{t:?}");
    // And who has to send again.
    let tcp = TcpParams { syn: false, initial_window: 3, ..Default::default() };
    let t = Senders { tcp, packets: 3.0, buffer: 1.0, ..Default::default() }.transfers();
    assert_eq!(t[0].alone, Some(us(DELAY) + sending(3000)));
    assert!(took(&t[0]) > us(200_000));
}

/// The rate alone is that of the time at which the transfer is made.
#[test]
fn alone_too_a_link_has_the_rate_of_the_time() {
    for connection in [Connection::Fresh, Connection::Persistent] {
        let senders = Senders { connection, count: 8, think: 0.5, packets: 20.0, ..Default::default() };
        let transfers = of_both(|| {
            let mut network = senders.network();
            let rates = (1..20).map(|i| (at(0.7 * f64::from(i)), BitRate::from_bps(RATE >> (i % 3))));
            let rates = Changes::once(rates.collect());
            network.links[0].rate = Schedule::changing(BitRate::from_bps(RATE), rates);
            network.measure.warmup = at(2.0);
            network
        })
        .transfers;
        assert!(transfers.len() > 3);
        let times: std::collections::BTreeSet<Duration> = transfers.iter().map(took).collect();
        assert!(times.len() > 2, "{times:?}");
        assert!(transfers.iter().all(|t| t.alone == Some(took(t))), "{transfers:?}");
    }
}

/// An outage without an end holds back what was sent before it for ever, alone as in the run.
#[test]
fn what_never_comes_has_no_time() {
    let transfers = of_both(|| {
        let mut network = Senders { count: 100, ..Default::default() }.network();
        let outage = vec![(at(2.0), BitRate::from_bps(0))];
        network.links[0].rate = Schedule::changing(BitRate::from_bps(RATE), outage);
        network
    })
    .transfers;
    assert!(transfers.len() > 10 && transfers.iter().all(|t| t.alone == Some(one_way())));
}
