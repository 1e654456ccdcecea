//! Recorded arrivals: a `Line` that is given them directly, as a gateway's queue is, and both engines decide the same
//! about every packet. This is what "the same code in the simulator and in a gateway" means.

use crate::common::{at, bottleneck, build, drop_tail, secs, wire};
use quell_aqm::catalog::CATALOG;
use quell_aqm::{Cause, Ecn, FlowId, Rng, Seed, Transport};
use quell_queue::{Dropped, Host, Limit, Line, Packet, Queue, Sent};
use quell_sim::network::*;
use quell_sim::outcome::{Admission, DropPoint, Fate, Left, Outcome};
use quell_sim::{Control, Engine, Error, run};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

const RATE: u64 = 10_000_000;
const BUFFER: QueueSize = QueueSize::Packets(100.0);
const SEED: Seed = Seed(11);

fn one_of<T: Copy>(rng: &mut Rng, choice: &[T]) -> T {
    choice[rng.next_u64() as usize % choice.len()]
}

/// Packets of many flows in phases of different load, the highest twice what the link can carry; among them
/// trains at one instant and idle times of up to some seconds.
fn bursty(packets: usize) -> Trace {
    let mut rng = Seed(3).stream("test.trace");
    let mut now = Time::ZERO;
    let mut mean_gap = 0.0;
    let arrivals: Vec<_> = (0..packets)
        .map(|i| {
            if i % 500 == 0 {
                mean_gap = 7e-4 / one_of(&mut rng, &[0.7, 1.0, 1.1, 1.5, 2.0]);
            }
            now += match rng.next_u64() % 1000 {
                0 => secs(rng.uniform_in(0.0, 3.0)),
                1..400 => Duration::ZERO,
                _ => secs(rng.exponential(mean_gap / 0.6)),
            };
            let ecn = [Ecn::NotEct, Ecn::NotEct, Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
            let transport =
                [Transport::Tcp, Transport::Tcp, Transport::Tcp, Transport::Udp, Transport::Other];
            TraceArrival {
                time: now,
                bytes: one_of(&mut rng, &[40, 40, 576, 1000, 1500, 1500, 1501]),
                // Few flows have most packets.
                flow: FlowId((rng.pareto(0.8, 1.0) as u32).wrapping_mul(0x9e37_79b9)),
                ecn: one_of(&mut rng, &ecn),
                transport: one_of(&mut rng, &transport),
                syn: rng.chance(0.05),
                dscp: one_of(&mut rng, &[0, 0, 10, 46, 63]),
            }
        })
        .collect();
    Trace::new(arrivals).unwrap()
}

/// A record in a queue, with its number.
#[derive(Clone, Copy)]
struct Recorded(usize, TraceArrival, bool);

impl Packet for Recorded {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.1.bytes.into())
    }
    fn ecn(&self) -> Ecn {
        if self.2 { Ecn::Ce } else { self.1.ecn }
    }
    fn set_ce(&mut self) {
        self.2 = true;
    }
    fn flow(&self) -> FlowId {
        self.1.flow
    }
    fn is_syn(&self) -> bool {
        self.1.syn
    }
    fn dscp(&self) -> u8 {
        self.1.dscp
    }
    fn transport(&self) -> Transport {
        self.1.transport
    }
}

/// Keeps what becomes of each.
#[derive(Default)]
struct Keeper(Vec<Fate>);

impl Host<Recorded> for Keeper {
    fn sent(&mut self, sent: Sent<Recorded>) {
        let Recorded(number, _, marked) = sent.packet;
        let fate = &mut self.0[number];
        let marked = marked && fate.admission != Admission::Marked;
        fate.left = Some(Left::Sent { start: sent.start, marked });
    }
    fn dropped(&mut self, time: Time, dropped: Dropped<Recorded>) {
        let Dropped { packet: Recorded(number, ..), cause, place } = dropped;
        match place {
            DropPoint::Arrival => self.0[number].admission = Admission::Dropped(cause),
            _ => self.0[number].left = Some(Left::Dropped { time, cause, place }),
        }
    }
    fn arrived(&mut self, _: Time, _: usize, admission: Admission) {
        if let Some(fate) = self.0.last_mut() {
            fate.admission = admission;
        }
    }
}

/// What a line decides that is given the records.
fn by_line(algorithm: quell_aqm::catalog::AnyAlgorithm, ecn: bool, trace: &Trace, end: Time) -> Vec<Fate> {
    let rate = BitRate::from_bps(RATE);
    let rng = SEED.indexed_stream("link.aqm", 0);
    let mut line = Line::new(Queue::new(algorithm, rng, Limit::of(BUFFER), ecn, Some(rate)), rate);
    let mut keeper = Keeper::default();
    for (number, arrival) in trace.arrivals().iter().enumerate() {
        keeper.0.push(Fate {
            arrived: arrival.time,
            source: 0,
            flow: arrival.flow,
            bytes: arrival.bytes,
            admission: Admission::Queued,
            left: None,
        });
        let packet = Recorded(number, *arrival, false);
        assert_eq!(line.arrive(arrival.time, packet, &mut keeper), keeper.0[number].admission);
    }
    line.run_before(end, &mut keeper);
    keeper.0
}

/// A trace over one link, which is observed.
fn network(link: LinkSpec, trace: &Trace, end: Time) -> Network {
    Network {
        links: vec![link],
        flows: vec![FlowSpec {
            class: 0,
            forward: vec![LinkId(0)],
            reverse: vec![],
            ack_class: 0,
            traffic: Traffic::Trace(trace.clone()),
            dscp: 0,
            hosts: Default::default(),
            start: Time::ZERO,
            stop: None,
            timed: false,
        }],
        classes: vec!["trace".into()],
        measure: Measure { warmup: at(0.1), end, boundaries: vec![], step: None },
        seed: SEED,
    }
}

fn log_first() -> Control {
    Control { logged: vec![LinkId(0)], ..Control::default() }
}

fn log(network: Network, engine: Engine) -> (Vec<Fate>, Outcome) {
    let mut outcome = run(network, engine, &log_first()).unwrap();
    (std::mem::take(&mut outcome.links[0].log), outcome)
}

/// Each packet is compared, so that a difference names the first one.
fn assert_same(name: &str, what: &str, a: &[Fate], b: &[Fate]) {
    for (number, (a, b)) in a.iter().zip(b).enumerate() {
        assert_eq!(a, b, "{name}, {what}: packet {number}");
    }
    assert_eq!(a.len(), b.len(), "{name}, {what}");
}

#[test]
fn a_line_and_both_engines_decide_the_same_about_every_packet() {
    let trace = bursty(60_000);
    let last = trace.arrivals().last().unwrap().time;
    // Some packets still wait at the end.
    let end = last + Duration::from_millis(1);
    let mut kinds = std::collections::BTreeMap::new();
    for entry in CATALOG {
        for ecn in [false, true] {
            let algorithm = || build(&(entry.default)(), RATE, BUFFER, 1000);
            let net = || network(bottleneck(RATE, secs(0.01), BUFFER, algorithm(), ecn), &trace, end);
            let line = by_line(algorithm(), ecn, &trace, end);
            let (fast, outcome) = log(net(), Engine::Fast);
            let (reference, _) = log(net(), Engine::Reference);
            assert_same(entry.name, "line and reference engine", &line, &reference);
            assert_same(entry.name, "line and fast engine", &line, &fast);
            assert_eq!(line.len(), trace.arrivals().len(), "{}", entry.name);
            // A log is only a log.
            let plain = run(net(), Engine::Fast, &Control::default()).unwrap();
            assert_eq!((plain.digest, &plain.links[0].log[..]), (outcome.digest, &[][..]), "{}", entry.name);
            let mut signals = 0;
            for fate in &line {
                let kind = match (fate.admission, fate.left) {
                    (Admission::Queued, Some(Left::Sent { marked: false, .. })) => "passed",
                    (Admission::Queued, Some(Left::Sent { marked: true, .. })) => "marked at the head",
                    (Admission::Queued, Some(Left::Dropped { place: DropPoint::Head, .. })) => {
                        "dropped at the head"
                    }
                    (_, Some(Left::Dropped { place: DropPoint::Waiting, .. })) => "evicted",
                    (Admission::Marked, _) => "marked on arrival",
                    (Admission::Dropped(Cause::Overflow), None) => "overflow",
                    (Admission::Dropped(Cause::Early), None) => "early",
                    (Admission::Dropped(Cause::Forced), None) => "forced",
                    (_, None) => "waits",
                    other => panic!("{}: {other:?}", entry.name),
                };
                signals += !["passed", "overflow", "waits", "evicted"].contains(&kind) as u32;
                *kinds.entry(kind).or_insert(0) += 1;
            }
            // The comparison is one of decisions. The averages of two are too slow for a trace of this length.
            // A step signals what can be marked and nothing else.
            let silent = ["drop-tail", "sfq", "ap-red", "st-red"].contains(&entry.name);
            let silent = silent || (entry.name == "step" && !ecn);
            assert!(silent || signals > 10, "{} {ecn}: {signals} signals", entry.name);
        }
    }
    for kind in ["passed", "waits", "overflow", "early", "forced"] {
        assert!(kinds.get(kind).is_some_and(|n| *n > 0), "{kind}: {kinds:?}");
    }
    for kind in ["marked on arrival", "marked at the head", "dropped at the head"] {
        assert!(kinds.get(kind).is_some_and(|n| *n > 100), "{kind}: {kinds:?}");
    }
}

/// Packets of 1000 bytes at these times in milliseconds, of flows with their numbers.
fn trains(times: &[u64]) -> Trace {
    let arrival = |(i, ms): (usize, &u64)| TraceArrival {
        time: Time::ZERO + Duration::from_millis(*ms),
        bytes: 1000,
        flow: FlowId(i as u32),
        ecn: Ecn::NotEct,
        transport: Transport::Tcp,
        syn: false,
        dscp: 0,
    };
    Trace::new(times.iter().enumerate().map(arrival).collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_log_says_what_became_of_each_packet() {
    let trace = trains(&[0, 5, 5, 5, 5, 7, 20]);
    for engine in [Engine::Fast, Engine::Reference] {
        // 0.8 ms a packet; the trace begins at 2 ms and is cut at 20 ms.
        let mut net = network(
            bottleneck(RATE, secs(0.01), QueueSize::Packets(2.0), drop_tail(), false),
            &trace,
            at(1.0),
        );
        net.flows[0].start = at(0.002);
        net.flows[0].stop = Some(at(0.020));
        let (log, outcome) = log(net, engine);
        let fates: Vec<_> = log
            .iter()
            .map(|f| {
                assert_eq!((f.source, f.bytes), (0, 1000));
                let left = f.left.map(|left| match left {
                    Left::Sent { start, marked: false } => start.nanos() / 1000,
                    other => panic!("{other:?}"),
                });
                (f.flow.0, f.arrived.nanos() / 1000, f.admission, left)
            })
            .collect();
        let (queued, full) = (Admission::Queued, Admission::Dropped(Cause::Overflow));
        let expected = [
            (0, 2000, queued, Some(2000)),
            (1, 7000, queued, Some(7000)),
            (2, 7000, queued, Some(7800)),
            (3, 7000, queued, Some(8600)),
            (4, 7000, full, None),
            (5, 9000, queued, Some(9400)),
        ];
        assert_eq!(fates, expected);
        assert_eq!((outcome.conservation.sent, outcome.conservation.delivered), (6, 5));
    }
}

#[test]
fn what_cannot_be_replayed_or_logged_is_refused() {
    let mut arrivals = trains(&[1, 2, 2]).arrivals().to_vec();
    arrivals[2].time = Time::ZERO;
    assert_eq!(Trace::new(arrivals.clone()), Err((2, "is earlier than the arrival before it")));
    arrivals[1].bytes = 0;
    assert_eq!(Trace::new(arrivals.clone()), Err((1, "must have at least one byte")));
    arrivals[0].dscp = 64;
    assert_eq!(Trace::new(arrivals), Err((0, "its DSCP must be at most 63 (RFC 2474 section 3)")));
    for engine in [Engine::Fast, Engine::Reference] {
        let unobserved = network(wire(RATE, secs(0.01)), &trains(&[1]), at(1.0));
        let error = run(unobserved, engine, &log_first()).unwrap_err();
        assert_eq!(error, Error::Invalid("link 0 is not observed, so it has no log".into()));
        // An empty trace sends nothing.
        let silent = network(wire(RATE, secs(0.01)), &Trace::new(vec![]).unwrap(), at(1.0));
        assert_eq!(run(silent, engine, &Control::default()).unwrap().conservation.sent, 0);
    }
}
