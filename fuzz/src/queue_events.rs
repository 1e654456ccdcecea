//! The fuzz target of queues: any events at a line of any configuration.

mod line;

use std::collections::{BTreeMap, BTreeSet};

use arbitrary::Unstructured;
use quell_aqm::catalog::{AnyAqm, AnyDiscipline, AqmConfig};
use quell_aqm::{Cause, Ecn, FlowId, Hosts, Link, Seed, Transport};
use quell_queue::{Admission, DropPoint, Dropped, Host, Limit, Line, Packet, Qdisc, Queue, Sent};
use quell_units::{BitRate, Bytes, QueueSize, Time};
use serde_json::Value;

/// Drives a line through the events that `data` spells. No packet appears or vanishes, none overtakes another of its
/// flow, the limit holds, transmissions do not overlap, and a host that wakes on time has the same departures as one
/// that wakes late.
pub fn queue_events(data: &[u8]) {
    let Ok(script) = Script::read(&mut Unstructured::new(data)) else { return };
    let (late, on_time) = (script.run(false), script.run(true));
    let differ = late.iter().zip(&on_time).find(|(late, on_time)| late != on_time);
    assert!(
        differ.is_none() && late.len() == on_time.len(),
        "a host that wakes late, and one on time: {differ:?}"
    );
}

/// The fate of a packet, by its number.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Sent(u32, Time, Time, bool),
    Dropped(u32, Time, Cause, DropPoint),
    /// None yet: an event at this time, after which so many wait and an update is due then.
    Event(&'static str, Time, u32, Option<Time>),
}

/// A line's configuration.
struct Config {
    rate: BitRate,
    buffer: QueueSize,
    mean: Bytes,
    ecn: bool,
    aqm: AqmConfig,
}

type Any = Queue<Segment, AnyAqm, AnyDiscipline>;

impl Config {
    /// The configuration; with default parameters if others are refused, which must be for a reason.
    fn read(u: &mut Unstructured) -> arbitrary::Result<Config> {
        let mut line = line::line(u)?;
        let text = |key: &str| line[key].as_str().expect("these are texts");
        let (rate, buffer, mean) =
            (text("rate").parse(), text("buffer").parse(), text("mean_packet").parse());
        let (rate, buffer, mean) = (rate.expect("a rate"), buffer.expect("a size"), mean.expect("a size"));
        let Some(Value::Object(mut aqm)) = line.remove("aqm") else { panic!("a line has an algorithm") };
        let name = aqm.remove("algorithm").expect("it has a name");
        let name = name.as_str().expect("which is text");
        let of = |parameters| AqmConfig::deserialize_named(name, parameters).expect("it is in the catalog");
        let defaults = || of(Value::Object(Default::default())).expect("all have defaults");
        let aqm = of(Value::Object(aqm)).unwrap_or_else(|e| {
            assert!(!e.to_string().is_empty());
            defaults()
        });
        let mut config = Config { rate, buffer, mean, ecn: line["ecn"] == true, aqm };
        if let Err(e) = config.aqm.build(&config.link()) {
            assert!(!e.field.is_empty() && !e.value.is_empty() && !e.rule.is_empty(), "{e:?}");
            config.aqm = defaults();
        }
        Ok(config)
    }

    fn link(&self) -> Link {
        Link { rate: self.rate, buffer: self.buffer, mean_packet: self.mean }
    }

    /// The queue; none if the link is not one for its algorithm.
    fn queue(&self) -> Option<Any> {
        let algorithm = self.aqm.build(&self.link()).ok()?;
        let (rng, limit) = (Seed(1).stream("fuzz.aqm"), Limit::of(self.buffer));
        Some(Queue::new(algorithm, rng, limit, self.ecn, Some(self.rate)))
    }
}

enum Step {
    Arrive(Segment),
    Rate(BitRate),
    Reconfigure(usize),
    Run,
}

/// What is to happen; before each step a seed of the time to it.
struct Script {
    lines: Vec<Config>,
    steps: Vec<([u8; 2], Step)>,
}

impl Script {
    fn read(u: &mut Unstructured) -> arbitrary::Result<Script> {
        let mut lines = vec![Config::read(u)?];
        for _ in 0..u.int_in_range(0..=2u8)? {
            lines.push(Config::read(u)?);
        }
        let (mut steps, mut number) = (Vec::new(), 0);
        while !u.is_empty() && steps.len() < 4_000 {
            let gap = u.arbitrary()?;
            let step = match u.arbitrary::<u8>()? {
                0 => Step::Rate(BitRate::from_bps(0)),
                1..8 => Step::Rate(BitRate::from_bps(1 + 10_000 * u64::from(u.arbitrary::<u8>()?))),
                8..12 => Step::Reconfigure(usize::from(u.arbitrary::<u8>()?) % lines.len()),
                12..32 => Step::Run,
                _ => {
                    number += 1;
                    Step::Arrive(Segment::new(number, line::header(u)?))
                }
            };
            steps.push((gap, step));
        }
        Ok(Script { lines, steps })
    }

    /// Runs it, and gives what became of each packet.
    fn run(&self, on_time: bool) -> Vec<Fate> {
        let mut config = &self.lines[0];
        let Some(queue) = config.queue() else { return Vec::new() };
        let (mut line, mut away) = (Line::new(queue, config.rate), Away::default());
        away.may_mark = self.lines.iter().any(|line| line.ecn);
        away.may_overtake = format!("{:?}", config.aqm).contains("perturb: Some");
        let (mut now, mut arrived) = (Time::ZERO, (0u64, 0u64));
        for (gap, step) in &self.steps {
            let update = line.queue().next_update().map(|due| due.nanos().saturating_sub(now.nanos()));
            let gap = line::gap(
                &mut Unstructured::new(gap),
                config.rate.transmission_time(config.mean).nanos(),
                update,
            );
            now = Time::from_nanos(now.nanos() + gap.unwrap_or(0));
            (away.algorithm, away.in_order) = (config.aqm.name(), matches!(line.queue(), Queue::Fifo(_)));
            while let Some(next) = line.next().filter(|next| on_time && *next < now) {
                line.run(next, &mut away);
                assert!(
                    line.next().is_none_or(|after| after > next),
                    "{}: next() is over",
                    config.aqm.name()
                );
            }
            let before = line.queue().view();
            match step {
                Step::Arrive(segment) => {
                    arrived = (arrived.0 + 1, arrived.1 + u64::from(segment.header.bytes));
                    away.arrives(now, segment);
                    let admission = line.arrive(now, *segment, &mut away);
                    let view = line.queue().view();
                    let fits = match Limit::of(config.buffer) {
                        Limit::Packets(most) => view.packets.get() <= most.max(before.packets.get()),
                        Limit::Bytes(most) => view.bytes.get() <= most.max(before.bytes.get()),
                    };
                    assert!(fits, "{:?}: {view:?} wait in {}", config.aqm, config.buffer);
                    assert!(
                        config.ecn || admission != Admission::Marked,
                        "{:?} marks without ECN",
                        config.aqm
                    );
                }
                Step::Rate(rate) => line.set_rate(now, *rate, &mut away),
                Step::Reconfigure(other) => match self.lines[*other].queue() {
                    Some(queue) => {
                        config = &self.lines[*other];
                        line.set_rate(now, config.rate, &mut away);
                        line.reconfigure(now, queue, &mut away);
                        away.may_overtake = true;
                    }
                    None => line.run(now, &mut away),
                },
                Step::Run => line.run(now, &mut away),
            }
            let (view, n) = (line.queue().view(), line.counters());
            let waiting = (u64::from(view.packets.get()), view.bytes.get());
            let name = &config.aqm;
            assert_eq!(away.waiting.len() as u64, waiting.0, "{name:?}: packets are conserved");
            assert_eq!((n.arrived.packets, n.arrived.bytes), arrived, "{name:?}");
            assert_eq!(n.departed.packets, away.sent, "{name:?}");
            let (refused, dropped) = (n.refused.total(), n.dropped.total());
            let sums = [
                (n.arrived.packets, n.enqueued.packets + refused.packets),
                (n.arrived.bytes, n.enqueued.bytes + refused.bytes),
                (n.enqueued.packets, n.departed.packets + dropped.packets + waiting.0),
                (n.enqueued.bytes, n.departed.bytes + dropped.bytes + waiting.1),
            ];
            assert!(sums.iter().all(|(all, parts)| all == parts), "{name:?}: {n:?}, {waiting:?} wait");
            away.fates.push(Fate::Event(
                config.aqm.name(),
                now,
                view.packets.get(),
                line.queue().next_update(),
            ));
            if let (Step::Arrive(_) | Step::Run, true, false) = (step, waiting.0 > 0, line.stopped()) {
                let next = line.next_departure();
                assert!(
                    next.is_some_and(|next| next > now),
                    "{name:?}: something waits, and the link is free"
                );
            }
        }
        away.fates
    }
}

/// A packet of the fuzzer.
#[derive(Clone, Copy)]
struct Segment {
    number: u32,
    header: line::Header,
    ecn: Ecn,
    marked: bool,
}

/// What packets share of which none may overtake another: flow, ECN field, protocol, DSCP and hosts.
type Key = (u32, u8, u8, u8, (u16, u16));

impl Segment {
    fn new(number: u32, header: line::Header) -> Segment {
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(header.ecn)];
        Segment { number, header, ecn, marked: false }
    }

    fn key(&self) -> Key {
        let h = &self.header;
        (h.flow, h.ecn, h.protocol, h.dscp, h.hosts)
    }
}

impl Packet for Segment {
    fn bytes(&self) -> Bytes {
        Bytes::new(u64::from(self.header.bytes))
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        assert!(self.ecn.is_capable(), "only ECN-capable packets are marked");
        self.marked |= self.ecn != Ecn::Ce;
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> FlowId {
        FlowId(self.header.flow)
    }
    fn is_syn(&self) -> bool {
        self.header.syn
    }
    fn dscp(&self) -> u8 {
        self.header.dscp
    }
    fn hosts(&self) -> Hosts {
        Hosts { source: self.header.hosts.0, destination: self.header.hosts.1 }
    }
    fn transport(&self) -> Transport {
        match self.header.protocol {
            6 => Transport::Tcp,
            17 => Transport::Udp,
            _ => Transport::Other,
        }
    }
}

/// What waits and what became of the rest.
#[derive(Default)]
struct Away {
    may_mark: bool,
    algorithm: &'static str,
    /// There is one queue.
    in_order: bool,
    /// Packets of a flow may overtake each other: the queue was replaced, and what had been marked may be in another
    /// lane than its flow; or the hash of flows changes (`perturb`).
    may_overtake: bool,
    waiting: BTreeMap<u32, Time>,
    flows: BTreeMap<Key, BTreeSet<u32>>,
    sent: u64,
    free: Time,
    fates: Vec<Fate>,
}

impl Away {
    fn arrives(&mut self, now: Time, segment: &Segment) {
        self.waiting.insert(segment.number, now);
        self.flows.entry(segment.key()).or_default().insert(segment.number);
    }

    fn leaves(&mut self, segment: &Segment) {
        let number = segment.number;
        assert!(self.waiting.remove(&number).is_some(), "packet {number} was not there");
        self.flows.get_mut(&segment.key()).expect("its flow is known").remove(&number);
    }
}

impl Host<Segment> for Away {
    fn sent(&mut self, Sent { packet, arrived, start, end }: Sent<Segment>) {
        assert!(arrived <= start && start < end && self.free <= start);
        assert!(self.may_mark || !packet.marked, "a mark without ECN");
        // Of packets that came at once, those of different lanes may change places when the queue is replaced.
        assert_eq!(
            self.waiting.first_key_value().filter(|_| self.in_order).map_or(arrived, |first| *first.1),
            arrived
        );
        let first = self.flows[&packet.key()].first().filter(|_| !self.may_overtake);
        assert!(
            first.is_none_or(|first| *first == packet.number),
            "{}: a packet is overtaken",
            self.algorithm
        );
        self.free = end;
        self.sent += 1;
        self.leaves(&packet);
        self.fates.push(Fate::Sent(packet.number, start, end, packet.marked));
    }

    fn dropped(&mut self, now: Time, Dropped { packet, cause, place }: Dropped<Segment>) {
        self.leaves(&packet);
        self.fates.push(Fate::Dropped(packet.number, now, cause, place));
    }
}
