//! With its defaults alone, every algorithm controls a usual link: 10 Mb/s, 500-byte packets, a
//! buffer of 500 packets, a hundred flows.
//!
//! The flows are the simplest that respond: additive increase, one halving per round-trip time. The
//! simulator judges how well an algorithm does; this test says that it is in its regime.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use quell_aqm::catalog::{AnyAlgorithm, AqmConfig, CATALOG};
use quell_aqm::{Ecn, FlowId, Link, Rng, Seed};
use quell_queue::{Counters, Dropped, Host, Limit, Line, Packet, Qdisc, Queue, Sent};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

#[derive(Clone, Copy)]
struct Segment {
    flow: u32,
    ecn: Ecn,
}

impl Packet for Segment {
    fn bytes(&self) -> Bytes {
        Bytes::new(500)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> FlowId {
        FlowId(self.flow)
    }
}

struct Flow {
    window: f64,
    in_flight: u32,
    /// Propagation there and back.
    rtt: Duration,
    /// Signals before this time belong to the same halving.
    deaf_until: Time,
}

#[derive(Debug)]
struct Outcome {
    utilization: f64,
    mean_queue: f64,
    /// Share of arrivals dropped or marked.
    signal_rate: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet may be due to leave.
    Link,
    /// A flow hears of one of its packets, and whether congestion was signaled on it.
    News(u32, bool),
    Start(u32),
}

/// What the flows will hear.
struct News<'a> {
    flows: &'a [Flow],
    events: &'a mut BinaryHeap<Reverse<(Time, Event)>>,
}

impl Host<Segment> for News<'_> {
    fn sent(&mut self, Sent { packet, end, .. }: Sent<Segment>) {
        let rtt = self.flows[packet.flow as usize].rtt;
        self.events.push(Reverse((end + rtt, Event::News(packet.flow, packet.ecn == Ecn::Ce))));
    }
    /// The later packets of the window tell.
    fn dropped(&mut self, now: Time, Dropped { packet, .. }: Dropped<Segment>) {
        let rtt = self.flows[packet.flow as usize].rtt;
        self.events.push(Reverse((now + rtt, Event::News(packet.flow, true))));
    }
}

fn run(algorithm: AnyAlgorithm, link: Link, ecn: Ecn) -> Outcome {
    let mut rng: Rng = Seed(3).stream("flows");
    let queue = Queue::new(algorithm, Seed(3).stream("aqm"), Limit::of(link.buffer), true, Some(link.rate));
    let mut line = Line::new(queue, link.rate);
    let mut flows: Vec<Flow> = (0..100)
        .map(|_| Flow {
            window: 2.0,
            in_flight: 0,
            rtt: Duration::from_secs_f64(rng.uniform_in(0.08, 0.12)),
            deaf_until: Time::ZERO,
        })
        .collect();
    let mut events = BinaryHeap::new();
    for i in 0..100 {
        let start = Time::ZERO + Duration::from_secs_f64(rng.uniform_in(0.0, 5.0));
        events.push(Reverse((start, Event::Start(i))));
    }
    let (warm, end) = (Time::from_nanos(60_000_000_000), Time::from_nanos(120_000_000_000));
    let (mut before, mut queue_time, mut last) = (Counters::default(), 0.0, warm);
    // For when the next departure was scheduled last.
    let mut wakes = Time::MAX;
    while let Some(Reverse((now, event))) = events.pop() {
        if now >= warm {
            if before.arrived.packets == 0 {
                before = line.counters();
            }
            queue_time += now.since(last).as_secs_f64() * line.queue().view().packets.get() as f64;
            last = now;
        }
        if now > end {
            break;
        }
        let sender = match event {
            Event::Link => {
                line.run(now, &mut News { flows: &flows, events: &mut events });
                None
            }
            Event::News(i, signal) => {
                let flow = &mut flows[i as usize];
                flow.in_flight -= 1;
                if !signal {
                    flow.window += 1.0 / flow.window;
                } else if now >= flow.deaf_until {
                    flow.window = (flow.window / 2.0).max(1.0);
                    flow.deaf_until = now + flow.rtt;
                }
                Some(i)
            }
            Event::Start(i) => Some(i),
        };
        if let Some(i) = sender {
            while f64::from(flows[i as usize].in_flight) < flows[i as usize].window.floor() {
                flows[i as usize].in_flight += 1;
                let _ = line.arrive(
                    now,
                    Segment { flow: i, ecn },
                    &mut News { flows: &flows, events: &mut events },
                );
            }
        }
        if let Some(at) = line.next_departure().filter(|at| *at != wakes) {
            wakes = at;
            events.push(Reverse((at, Event::Link)));
        }
    }
    let n = line.counters();
    let seconds = end.since(warm).as_secs_f64();
    let sent_bits = (n.departed.bytes - before.departed.bytes) as f64 * 8.0;
    let lost_or_marked =
        |n: &Counters| n.refused.total().packets + n.dropped.total().packets + n.marked.packets;
    Outcome {
        utilization: sent_bits / seconds / link.rate.bps() as f64,
        mean_queue: queue_time / seconds,
        signal_rate: (lost_or_marked(&n) - lost_or_marked(&before)) as f64
            / (n.arrived.packets - before.arrived.packets) as f64,
    }
}

#[test]
fn defaults_control_a_usual_link() {
    let link = Link {
        rate: BitRate::from_bps(10_000_000),
        buffer: QueueSize::Packets(500.0),
        mean_packet: Bytes::new(500),
    };
    for entry in CATALOG {
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            let aqm = (entry.default)().build(&link).unwrap();
            let got = run(aqm, link, ecn);
            let place = format!("{} with {ecn:?}: {got:?}", entry.name);
            assert!(got.utilization > 0.8, "{place}");
            assert!((0.005..0.4).contains(&got.signal_rate), "{place}");
            let longest = match entry.name {
                // Drop-tail fills its buffer, BLUE and SPF do not look at the queue, dynamic thresholds
                // rise until a hundred flows lose no more than 2 %, SRED's probability for them ends at
                // 0.05, FRED's thresholds are shares of the buffer, a step signals no such packets, SFB's bins
                // may hold 20 each, and a policer at the link's rate lets its burst wait, which is half of it.
                "drop-tail" | "sfq" | "blue" | "blue-fixed" | "spf" | "ared-dt" | "sred" | "fred"
                | "step" | "sfb" | "policer" => 500.0,
                // A hundred queues of three packets, for which a signal needs an average of two, or of ten.
                "sfq-red" | "fq-blue" => 500.0,
                // Curvy RED has no target: the delay rises with the root of the drops that the load takes.
                "curvy-red" => 350.0,
                // Two packets of each flow are never signaled (RFC 8033 section 4.1).
                "fq-pie" => 220.0,
                // Between a quarter and half of the buffer.
                "hred" | "hred-fixed" => 250.0,
                _ => 150.0,
            };
            assert!((2.0..longest).contains(&got.mean_queue), "{place}");
        }
    }
}

/// Parameters that adapt find their way from the worst values that their bounds allow, within the
/// minute before the measurement.
#[test]
fn self_tuning_algorithms_recover_from_the_worst_start() {
    let link = Link {
        rate: BitRate::from_bps(10_000_000),
        buffer: QueueSize::Packets(500.0),
        mean_packet: Bytes::new(500),
    };
    for (name, start) in [
        ("ared", "max_p = 0.01"),
        ("ared", "max_p = 0.5"),
        ("feng-ared", "max_p = 1e-4"),
        ("feng-ared", "max_p = 1.0"),
        ("auto-tuning-red", "max_p = 0.01"),
        ("auto-tuning-red", "max_p = 0.5"),
        ("st-red", "max_p = 1e-6"),
        ("st-red", "max_p = 1.0"),
        ("st-red", "max_p = 1.0\nmin_th = \"5 packets\"\nmax_th = \"15 packets\""),
        ("ared-dt", "p_l = 0.05\np_u = 0.1\nmax_p = 0.01\nmin_th = \"5 packets\"\nmax_th = \"45 packets\""),
        ("ared-dt", "p_l = 0.05\np_u = 0.1\nmin_th = \"400 packets\"\nmax_th = \"440 packets\""),
        (
            "ap-red",
            "flows = [{ from = \"0 s\", value = 1 }, { from = \"30 s\", value = 100 }]\nrtt = \"100 ms\"",
        ),
    ] {
        let text = format!("algorithm = \"{name}\"\n{start}");
        let aqm = toml::from_str::<AqmConfig>(&text).unwrap().build(&link).unwrap();
        let got = run(aqm, link, Ecn::NotEct);
        let place = format!("{text}: {got:?}");
        assert!(got.utilization > 0.8, "{place}");
        assert!((0.005..0.4).contains(&got.signal_rate), "{place}");
        assert!((2.0..150.0).contains(&got.mean_queue), "{place}");
    }
}
