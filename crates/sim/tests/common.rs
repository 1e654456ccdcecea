//! Small networks for the tests.
#![allow(dead_code)] // each test binary uses its own part

use quell_aqm::catalog::{AnyAlgorithm, AqmConfig};
use quell_aqm::{Link, Seed};
use quell_sim::network::*;
use quell_sim::outcome::{Outcome, Segment};
use quell_sim::{Control, Engine, run};
use quell_tcp::TcpParams;
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

pub fn secs(x: f64) -> Duration {
    Duration::from_secs_f64(x)
}

pub fn at(x: f64) -> Time {
    Time::ZERO + secs(x)
}

pub fn wire(rate: u64, delay: Duration) -> LinkSpec {
    LinkSpec {
        name: String::new(),
        rate: Schedule::constant(BitRate::from_bps(rate)),
        delay: Schedule::constant(delay),
        queue: None,
        tree: None,
        shaper: None,
        cell: None,
        wifi: None,
        impairments: Impairments::default(),
        observe: false,
    }
}

/// An observed link with a queue.
pub fn bottleneck(
    rate: u64,
    delay: Duration,
    buffer: QueueSize,
    algorithm: AnyAlgorithm,
    ecn: bool,
) -> LinkSpec {
    LinkSpec {
        name: "bottleneck".into(),
        queue: Some(Box::new(QueueSpec { buffer, algorithm, ecn })),
        observe: true,
        ..wire(rate, delay)
    }
}

pub fn build(config: &AqmConfig, rate: u64, buffer: QueueSize, packet: u64) -> AnyAlgorithm {
    let link = Link { rate: BitRate::from_bps(rate), buffer, mean_packet: Bytes::new(packet) };
    config.build(&link).unwrap()
}

pub fn drop_tail() -> AnyAlgorithm {
    build(&AqmConfig::DropTail(Default::default()), 1, QueueSize::Packets(1.0), 1)
}

/// `n` greedy flows over one bottleneck, with access links of 100 Mbit/s and round-trip times of
/// `rtt` and a little more for each further flow.
pub struct Dumbbell {
    pub flows: usize,
    pub rate: u64,
    pub rtt: f64,
    pub spread: f64,
    pub buffer: f64,
    pub tcp: TcpParams,
    pub aqm: AqmConfig,
    pub warmup: f64,
    pub end: f64,
    pub step: Option<f64>,
    pub seed: u64,
}

impl Default for Dumbbell {
    fn default() -> Self {
        Dumbbell {
            flows: 30,
            rate: 10_000_000,
            rtt: 0.08,
            spread: 0.04,
            buffer: 120.0,
            tcp: TcpParams::default(),
            aqm: AqmConfig::DropTail(Default::default()),
            warmup: 10.0,
            end: 60.0,
            step: None,
            seed: 1,
        }
    }
}

impl Dumbbell {
    pub fn network(&self) -> Network {
        let buffer = QueueSize::Packets(self.buffer);
        let packet = self.tcp.wire_bytes().get();
        let delay = 0.005;
        let aqm = build(&self.aqm, self.rate, buffer, packet);
        let mut links = vec![
            bottleneck(self.rate, secs(delay), buffer, aqm, self.tcp.ecn),
            LinkSpec { name: "back".into(), ..wire(self.rate, secs(delay)) },
        ];
        let flows = (0..self.flows).map(|i| {
            let rtt = self.rtt + self.spread * (i as f64 + 0.5) / self.flows as f64;
            let access = || wire(100_000_000, secs(rtt / 2.0 - delay));
            links.extend([access(), access()]);
            let n = links.len() as u32;
            FlowSpec {
                class: 0,
                ack_class: 1,
                dscp: 0,
                hosts: Default::default(),
                forward: vec![LinkId(n - 2), LinkId(0)],
                reverse: vec![LinkId(1), LinkId(n - 1)],
                traffic: Traffic::Tcp { tcp: self.tcp.clone(), app: App::Bulk },
                start: at(2.0 * Seed(self.seed).indexed_stream("start", i as u64).uniform()),
                stop: None,
                timed: false,
            }
        });
        let flows = flows.collect();
        Network {
            links,
            flows,
            classes: vec!["bulk".into(), "acks".into()],
            measure: Measure {
                warmup: at(self.warmup),
                end: at(self.end),
                boundaries: vec![],
                step: self.step.map(secs),
            },
            seed: Seed(self.seed),
        }
    }

    pub fn run(&self) -> Outcome {
        go(self.network())
    }
}

pub fn go(network: Network) -> Outcome {
    run(network, Engine::Fast, &Control::default()).unwrap()
}

/// Mean queue of the first link in packets, over all segments.
pub fn mean_queue(o: &Outcome) -> f64 {
    let s = &o.links[0].segments;
    let time: f64 = s.iter().map(|s| (s.to - s.from).as_secs_f64()).sum();
    s.iter().map(|s| s.queue_packet_seconds).sum::<f64>() / time
}

/// Mean and half width of the 99.9% interval from the batch means of 20 segments of the first link
/// (t = 3.883 at 19 degrees of freedom).
pub fn batch_means(o: &Outcome, value: impl Fn(&Segment) -> f64) -> (f64, f64) {
    let x: Vec<f64> = o.links[0].segments.iter().map(value).collect();
    let n = x.len() as f64;
    assert_eq!(n, 20.0);
    let mean = x.iter().sum::<f64>() / n;
    let var = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, 3.883 * (var / n).sqrt())
}

/// Time average of the packets that wait.
pub fn queue(s: &Segment) -> f64 {
    s.queue_packet_seconds / (s.to - s.from).as_secs_f64()
}

/// Mean of the packets that an arrival finds waiting, over all classes.
pub fn queue_seen(s: &Segment) -> f64 {
    let seen: u64 = s.classes.iter().map(|c| c.counts.queue_seen_packets).sum();
    let arrived: u64 = s.classes.iter().map(|c| c.counts.arrived).sum();
    seen as f64 / arrived as f64
}
