//! Transfers that are asked for: the request takes the way back, may be lost there and is sent again,
//! and the time of the transfer counts from it.

use crate::common::*;
use quell_aqm::Seed;
use quell_sim::network::*;
use quell_sim::outcome::{Outcome, Transfer};
use quell_sim::{Control, Engine, run};
use quell_tcp::TcpParams;
use quell_units::{Duration, Time};

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

struct Clients {
    flows: usize,
    tcp: TcpParams,
    packets: f64,
    think: f64,
    count: Option<u32>,
    connection: Connection,
    /// Bytes.
    request: Option<f64>,
    /// The probability that a wire loses a packet, there and back.
    loss: [f64; 2],
    stop: Option<Time>,
    end: f64,
}

impl Default for Clients {
    fn default() -> Self {
        Clients {
            flows: 1,
            tcp: TcpParams { syn: false, ..Default::default() },
            packets: 1.0,
            think: 1.0,
            count: Some(1),
            connection: Connection::Fresh,
            request: Some(500.0),
            loss: [0.0, 0.0],
            stop: None,
            end: 20.0,
        }
    }
}

impl Clients {
    /// Each client has links of its own.
    fn run(&self) -> Outcome {
        let links = (0..2 * self.flows)
            .map(|i| LinkSpec { impairments: Impairments::losing(self.loss[i % 2]), ..wire(RATE, us(DELAY)) })
            .collect();
        let app = App::Transfers {
            size: Distribution::Constant(self.packets),
            think: Distribution::Constant(self.think),
            count: self.count,
            connection: self.connection,
            request: self.request.map(Distribution::Constant),
        };
        let flow = |i| FlowSpec {
            class: 0,
            ack_class: 1,
            dscp: 0,
            hosts: Default::default(),
            forward: vec![LinkId(i)],
            reverse: vec![LinkId(i + 1)],
            traffic: Traffic::Tcp { tcp: self.tcp.clone(), app: app.clone() },
            start: at(0.0),
            stop: self.stop,
            timed: false,
        };
        let network = Network {
            links,
            flows: (0..self.flows as u32).map(|i| flow(2 * i)).collect(),
            classes: vec!["web".into(), "acks".into()],
            measure: Measure { warmup: at(0.0), end: at(self.end), boundaries: vec![], step: None },
            seed: Seed(1),
        };
        run(network, Engine::Fast, &Control::default()).unwrap()
    }

    fn transfers(&self) -> Vec<Transfer> {
        let outcome = self.run();
        let c = outcome.conservation;
        assert_eq!(c.sent + c.duplicated, c.delivered + c.dropped + c.lost + c.in_flight);
        outcome.transfers
    }
}

fn took(t: &Transfer) -> Duration {
    t.end - t.start
}

#[test]
fn a_request_adds_its_way_to_the_time_of_a_transfer() {
    for syn in [false, true] {
        for packets in [1.0, 30.0] {
            let with = |request| Clients {
                request,
                packets,
                tcp: TcpParams { syn, ..Default::default() },
                ..Default::default()
            };
            let (alone, asked) = (with(None).transfers(), with(Some(500.0)).transfers());
            assert_eq!((alone.len(), asked.len()), (1, 1));
            assert_eq!(asked[0].start, Time::ZERO, "it counts from the request");
            assert_eq!(took(&asked[0]), took(&alone[0]) + us(DELAY) + sending(500));
        }
    }
}

#[test]
fn a_request_has_a_size_of_forty_bytes_at_least() {
    for (request, bytes) in [(0.0, 40), (40.4, 40), (40.6, 41), (1e6, 65_535)] {
        let t = Clients { request: Some(request), ..Default::default() }.transfers();
        assert_eq!(took(&t[0]), us(2 * DELAY) + sending(bytes + 1000));
    }
}

#[test]
fn the_client_thinks_from_the_last_packet_it_receives_to_its_next_request() {
    let asking = us(DELAY) + sending(500);
    let reply = us(DELAY) + sending(1000);
    let ack = us(DELAY) + sending(40);
    let handshake = us(2 * DELAY) + sending(80);
    for (connection, syn, again) in [
        (Connection::Fresh, true, true),
        (Connection::Persistent, true, false),
        (Connection::Persistent, false, false),
    ] {
        let tcp = TcpParams { syn, ..Default::default() };
        let t = Clients { tcp, connection, count: Some(3), ..Default::default() }.transfers();
        assert_eq!(t.len(), 3, "as many as it asks for");
        for (i, now) in t.iter().enumerate() {
            let opens = syn && (i == 0 || again);
            let open = if opens { handshake } else { Duration::ZERO };
            assert_eq!(took(now), asking + open + reply, "{connection:?} {i}");
            assert_eq!(now.acknowledged, Some(now.end + ack), "{connection:?} {i}");
        }
        for pair in t.windows(2) {
            assert_eq!(pair[1].start, pair[0].end + secs(1.0));
        }
    }
}

#[test]
fn no_request_is_sent_when_the_flow_has_stopped() {
    let clients = |stop| Clients { count: None, stop: Some(at(stop)), ..Default::default() };
    let all = Clients { count: None, ..Default::default() }.transfers();
    let (third, fourth) = (all[2].start.as_secs_f64(), all[3].start.as_secs_f64());
    // One that is under way is completed.
    assert_eq!(clients((third + fourth) / 2.0).transfers(), all[..3]);
    assert_eq!(clients(third + 0.01).transfers(), all[..3]);
    assert_eq!(clients(third).transfers(), all[..2]);
    assert!(clients(0.0).transfers().is_empty());
}

/// Requests that are lost wait for the timer, which doubles each time; so does the server's, whose
/// acknowledgments take the same way.
#[test]
fn a_lost_request_is_sent_again_by_the_timer_of_tcp() {
    let clients = Clients {
        flows: 2000,
        loss: [0.0, 0.5],
        end: 500.0,
        tcp: TcpParams { syn: false, initial_rto: secs(1.5), max_rto: secs(6.0), ..Default::default() },
        ..Default::default()
    };
    let t = clients.transfers();
    let (reply, ack) = (us(2 * DELAY) + sending(500 + 1000), us(DELAY) + sending(40));
    // After k losses in a row: 0, 1.5 s, 4.5 s, 10.5 s, then 6 s more each.
    let waited = |k: u32| match k {
        0..=2 => secs(1.5 * f64::from((1 << k) - 1)),
        _ => secs(4.5 + 6.0 * f64::from(k - 2)),
    };
    let (mut requests, mut acknowledgments) = ([0; 3], [0; 3]);
    for t in &t {
        let extra = took(t) - reply;
        let request = (0..40).find(|k| waited(*k) == extra);
        assert!(request.is_some(), "{extra}");
        // The server sends again what is acknowledged late, and each copy is acknowledged.
        let extra = t.acknowledged.map(|heard| heard - (t.end + ack));
        assert!(extra.is_none_or(|extra| (0..40).any(|k| waited(k) == extra)), "{extra:?}");
        for k in 0..3 {
            requests[k] += u32::from(request == Some(k as u32));
            acknowledgments[k] += u32::from(extra == Some(waited(k as u32)));
        }
    }
    assert!(t.len() > 1990, "{}", t.len());
    for (n, share) in requests.iter().chain(&acknowledgments).zip([0.5_f64, 0.25, 0.125].repeat(2)) {
        let sd = (2000.0 * share * (1.0 - share)).sqrt();
        assert!((f64::from(*n) - 2000.0 * share).abs() < 4.0 * sd, "{requests:?} {acknowledgments:?}");
    }
}

/// Whatever is lost, a client goes on: a request stands for the acknowledgments of the reply before it,
/// and one that arrives twice is answered once.
#[test]
fn a_client_goes_on_through_any_loss() {
    for connection in [Connection::Fresh, Connection::Persistent] {
        for syn in [false, true] {
            let clients = Clients {
                flows: 100,
                connection,
                packets: 5.0,
                think: 0.0,
                count: Some(20),
                loss: [0.1, 0.3],
                end: 5000.0,
                tcp: TcpParams { syn, initial_rto: secs(0.3), ..Default::default() },
                ..Default::default()
            };
            let outcome = clients.run();
            let mut per_flow = vec![Vec::new(); 100];
            outcome.transfers.iter().for_each(|t| per_flow[t.flow as usize].push(*t));
            for t in &per_flow {
                assert_eq!(t.len(), 20, "{connection:?} syn {syn}");
                assert!(t.iter().all(|t| t.packets == 5 && took(t) > us(2 * DELAY)));
                assert!(t.windows(2).all(|w| w[0].start < w[1].start && w[0].end <= w[1].end));
            }
            // Each packet of each reply once.
            let delivered: u64 = outcome.flows.iter().map(|f| f.segments[0].delivered_bytes).sum();
            assert_eq!(delivered, 100 * 20 * 5 * 1000);
        }
    }
}
