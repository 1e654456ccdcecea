//! RED+Tail on the traffic it is for: ten long flows, web clients and a CBR source share 3 Mbit/s
//! (Jou et al. 2003, section IV).

use crate::common::*;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::AutoSize;
use quell_aqm::red_tail::RedTailParams;
use quell_aqm::{Seed, ared::AredParams};
use quell_sim::network::*;
use quell_sim::outcome::Outcome;
use quell_tcp::TcpParams;
use quell_units::{BitRate, Bytes, QueueSize};

const KB: fn(f64) -> AutoSize = |n| AutoSize::Size(QueueSize::Bytes(1000.0 * n));

fn ared() -> AredParams {
    AredParams { min_th: KB(20.0), max_th: KB(80.0), ..Default::default() }
}

/// Table II.
fn red_tail() -> RedTailParams {
    RedTailParams {
        min_th1: KB(2.0),
        max_th1: KB(30.0),
        vq2: Box::new(AqmConfig::Ared(ared())),
        ..Default::default()
    }
}

const FTP: usize = 0;
const WEB: usize = 1;
const CBR: usize = 2;

/// The network of Jou et al. 2003, section II with `long` flows, measured from 20 s to `end`.
fn network(aqm: &AqmConfig, long: usize, end: f64, seed: u64) -> Network {
    let buffer = QueueSize::Bytes(160_000.0);
    let seed = Seed(seed);
    let mut rng = seed.stream("network");
    let tcp = TcpParams { packet: Bytes::new(1000), ..Default::default() };
    let delay = 0.005;
    let aqm = build(aqm, 3_000_000, buffer, 1000);
    let mut links =
        vec![bottleneck(3_000_000, secs(delay), buffer, aqm, false), wire(3_000_000, secs(delay))];
    let mut flow = |class: usize, rtt: f64, start: f64, traffic: Traffic| {
        let way = || wire(100_000_000, secs(rtt / 2.0 - delay));
        links.extend([way(), way()]);
        let n = links.len() as u32;
        let reverse = match traffic {
            Traffic::Udp(_) | Traffic::Trace(_) => vec![],
            Traffic::Tcp { .. } => vec![LinkId(1), LinkId(n - 1)],
        };
        let forward = vec![LinkId(n - 2), LinkId(0)];
        FlowSpec {
            class: class as u16,
            ack_class: 3,
            forward,
            reverse,
            traffic,
            dscp: 0,
            hosts: Default::default(),
            start: at(start),
            stop: None,
            timed: false,
        }
    };
    let mut flows = Vec::new();
    for _ in 0..long {
        let traffic = Traffic::Tcp { tcp: tcp.clone(), app: App::Bulk };
        flows.push(flow(FTP, 0.064, rng.uniform(), traffic));
    }
    for _ in 0..800 {
        let app = App::Transfers {
            size: Distribution::Pareto { shape: 1.3, scale: 2.3 },
            think: Distribution::Exponential(50.0),
            count: None,
            connection: Connection::Fresh,
            request: None,
        };
        let traffic = Traffic::Tcp { tcp: tcp.clone(), app };
        flows.push(flow(WEB, rng.uniform_in(0.016, 0.24), rng.uniform_in(0.0, 50.0), traffic));
    }
    let cbr = UdpSpec {
        packet: Distribution::Constant(1000.0),
        pace: Pace {
            rate: Schedule::constant(BitRate::from_bps(160_000)),
            gaps: Gaps::Constant,
            on_off: None,
        },
        ecn: false,
    };
    flows.push(flow(CBR, 0.064, 0.0, Traffic::Udp(cbr)));
    Network {
        links,
        flows,
        classes: ["ftp", "web", "cbr", "acks"].map(String::from).to_vec(),
        measure: Measure { warmup: at(20.0), end: at(end), boundaries: vec![], step: Some(secs(10.0)) },
        seed,
    }
}

/// What a class lost of its packets, and their mean delay in seconds.
fn loss_and_delay(outcome: &Outcome, class: usize) -> (f64, f64) {
    let c = &outcome.links[0].segments[0].classes[class];
    let lost = c.counts.dropped_early + c.counts.dropped_forced + c.counts.dropped_overflow;
    (lost as f64 / c.counts.arrived as f64, c.counts.delay_sum_ns as f64 * 1e-9 / c.counts.departed as f64)
}

fn internal(outcome: &Outcome, name: &str) -> f64 {
    let series = &outcome.links[0].series;
    let signal = series.internals.iter().find(|i| i.name == name).unwrap();
    *signal.values.last().unwrap()
}

/// Jou et al. 2003, section III: "The probability of false alarm is less than 0.02 in our scenario." A false
/// alarm is a web transfer whose packets are counted beyond N.
#[test]
fn few_web_transfers_are_taken_for_long_flows() {
    let (mut new, mut aged) = (0.0, 0.0);
    for seed in 1..=5 {
        let outcome = go(network(&AqmConfig::RedTail(red_tail()), 0, 400.0, seed));
        new += internal(&outcome, "new_flows");
        aged += internal(&outcome, "aged_flows");
        println!("seed {seed}: {aged} of {new} so far");
    }
    assert!(new > 20_000.0, "{new} transfers");
    // P(size > 64 kB) = (2.3 / 64)^1.3 = 0.0132, and what a lost packet sends again counts too.
    let rate = aged / new;
    assert!((0.011..0.02).contains(&rate), "{aged} of {new} are false alarms: {rate}");
}

/// Jou et al. 2003, Table III and Fig. 4: beside Adaptive RED, web and CBR lose a fraction and wait less,
/// long flows lose less and wait longer; and the long flows are in the second queue.
#[test]
fn young_flows_lose_less_than_under_adaptive_red() {
    let two = go(network(&AqmConfig::RedTail(red_tail()), 10, 150.0, 1));
    let one = go(network(&AqmConfig::Ared(ared()), 10, 150.0, 1));
    for (class, factor) in [(FTP, 0.9), (WEB, 0.6), (CBR, 0.2)] {
        let ((with, longer), (without, shorter)) = (loss_and_delay(&two, class), loss_and_delay(&one, class));
        assert!(with < factor * without, "class {class} loses {with}, and {without} under ARED");
        assert_eq!(longer > shorter, class == FTP, "class {class}: {longer} s, {shorter} s under ARED");
    }
    let early = |class: usize| {
        let c = &two.links[0].segments[0].classes[class];
        c.counts.dropped_early as f64 / c.counts.arrived as f64
    };
    assert!(early(FTP) > 0.02 && early(CBR) == 0.0, "{} {}", early(FTP), early(CBR));
}

/// Where Adaptive RED measures both queues, it holds them together where it holds its own alone otherwise (20 and 80 kB,
/// so about 50 kB): long flows wait less by what waits in the first.
#[test]
fn adaptive_red_may_measure_both_queues() {
    use quell_aqm::red_tail::Sees;
    // By Little's law, in bytes: all that wait, and those of long flows.
    let waiting = |sees: Sees| {
        let params = RedTailParams { vq2_sees: sees, ..red_tail() };
        let outcome = go(network(&AqmConfig::RedTail(params), 10, 150.0, 1));
        let of = |class: usize| {
            let c = &outcome.links[0].segments[0].classes[class];
            c.counts.delay_sum_ns as f64 * 1e-9 / 130.0 * 1000.0
        };
        (of(FTP) + of(WEB) + of(CBR), of(FTP))
    };
    let ((own, own_long), (both, both_long)) = (waiting(Sees::Own), waiting(Sees::Both));
    assert!(both_long < 0.9 * own_long, "long flows: {both_long} of {own_long} bytes");
    assert!(own > 1.1 * both, "all: {both} of {own} bytes");
}
