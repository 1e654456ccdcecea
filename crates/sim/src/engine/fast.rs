//! The fast engine: an event only where flows merge.
//!
//! A packet that passes a merging link has its departure computed at once, and everything up to its
//! next stop with it: private links, the receiver and its acknowledgment, the sender and what it
//! sends. That runs ahead of the clock for one flow at a time, which is exact because nothing else
//! can touch that flow in between except its own timers, and [`Flow`] runs those first.

use quell_queue::{Admission, Fifo};
use quell_units::Time;

use super::lindley::{self, ArrivalQueue, Passage};
use super::ring::Ring;
use super::service::ServiceQueue;
use super::streams::{Pool, Stream};
use super::tree::{BLOCK, WinnerTree};
use super::{CHECK_EVERY, Ends, bounds, outcome, recorder, report};
use crate::flow::{Direction, Flow, Host};
use crate::network::Network;
use crate::outcome::{Conservation, Outcome, Transfer};
use crate::packet::{Pkt, SackTable};
use crate::route::{Plan, Stop};
use crate::wire::Wire;
use crate::{Control, Error};

/// A link where flows merge.
enum Link {
    /// Unlimited and not observed: the wire is enough.
    Plain(Wire),
    /// Its queue decides on arrival.
    Lindley(Box<dyn ArrivalQueue>),
    /// Its queue decides at the head, served by the events of this slot.
    Served(Box<ServiceQueue>, Wire, u32),
}

/// No slot.
const NONE: u32 = u32::MAX;

/// Where a hop leads: the index of a merging link, or one of these.
const END: u32 = u32::MAX;
const RELAY: u32 = u32::MAX - 1;
/// Not a stop: another private link.
const ON: u32 = u32::MAX - 2;

/// One step of a way: over a private link, if there is one, to a stop. Nobody else uses it, so
/// what belongs to the link and what waits for the stop is here.
struct Hop {
    wire: Wire,
    waiting: Stream,
    stop: u32,
    /// The slot of the stream in which packets wait for the stop, or [`NONE`].
    slot: u32,
    /// That stream: [`Hop::waiting`] of the hop with this number.
    stream: u32,
    /// The class of the packets at the stop.
    class: u16,
    /// Its number on its way.
    number: u8,
    /// There is a wire.
    wired: bool,
    /// Packets wait here, and come in order.
    plain: bool,
}

/// What a slot of the tree stands for.
#[derive(Clone, Copy)]
enum Source {
    /// The stream at this hop, which all its packets are at.
    Own(u32),
    /// The stream at this hop, each of whose packets knows its own hop.
    Shared(u32),
    Timer(u32),
    /// A merging link.
    Served(u32),
}

/// The network between the ends.
struct Net {
    /// The hops of each way follow each other.
    hops: Vec<Hop>,
    /// Per flow: the first hop of data and of acknowledgments.
    ways: Vec<[u32; 2]>,
    links: Vec<Link>,
    /// By slot.
    sources: Vec<Source>,
    tree: WinnerTree,
    pool: Pool,
    sacks: SackTable,
    transfers: Vec<Transfer>,
    bounds: Vec<Time>,
    end: Time,
    count: Conservation,
    /// Packets that reach the other end without a stop, and when: delivered one after the other
    /// once what sent them has returned.
    arrivals: Ring<(Time, Pkt)>,
}

impl Host for Net {
    #[inline]
    fn send(&mut self, now: Time, pkt: Pkt, direction: Direction) {
        self.count.sent += 1;
        let way = self.ways[pkt.flow() as usize][direction as usize] as usize;
        if let Some(at) = self.forward(now, pkt, way) {
            self.arrivals.push_back((at, pkt));
        }
    }
    fn sacks(&mut self) -> &mut SackTable {
        &mut self.sacks
    }
    fn finished(&mut self, transfer: Transfer) {
        self.transfers.push(transfer);
    }
    fn bounds(&self) -> &[Time] {
        &self.bounds
    }
}

impl Net {
    /// Where the way of a packet begins in [`Net::hops`].
    #[inline]
    fn way_of(&self, pkt: Pkt) -> usize {
        self.ways[pkt.flow() as usize][pkt.is_ack() as usize] as usize
    }

    /// Takes a packet that has just left a stop, or its sender, along hop number `hop` to its next
    /// stop; returns when it is at its other end, if nothing stops it before.
    #[inline]
    fn forward(&mut self, mut now: Time, pkt: Pkt, hop: usize) -> Option<Time> {
        let at = &mut self.hops[hop];
        if at.wired {
            let start = at.wire.start(now);
            let flight = at.wire.transmit(start, pkt.bytes());
            if flight.lost {
                self.lose(start, pkt);
                return None;
            }
            now = flight.arrives;
        }
        if now >= self.end {
            self.beyond_the_end(pkt);
            return None;
        }
        if at.plain {
            if self.pool.push(&mut at.waiting, now, pkt) {
                self.tree.put(at.slot, now);
            }
            return None;
        }
        if at.slot == NONE && at.stop == END {
            return Some(now);
        }
        self.forward_to(now, pkt, hop)
    }

    /// Nothing that happens from the end on can be seen.
    #[cold]
    #[inline(never)]
    fn beyond_the_end(&mut self, pkt: Pkt) {
        self.count.in_flight += 1;
        self.sacks.take(pkt);
    }

    /// The less usual ways on: another private link, a stream that hops share, one that is out of
    /// order after a wire's delay has shrunk.
    #[inline(never)]
    fn forward_to(&mut self, now: Time, pkt: Pkt, hop: usize) -> Option<Time> {
        let at = &self.hops[hop];
        if at.stop == ON {
            return self.forward(now, pkt, hop + 1);
        }
        let (slot, stream) = (at.slot, at.stream as usize);
        let mut pkt = pkt;
        pkt.set_hop(at.number);
        if self.pool.insert(&mut self.hops[stream].waiting, now, pkt) {
            self.tree.put(slot, now);
        }
        None
    }

    /// A wire loses a packet whose transmission begins at `start`.
    #[inline(never)]
    fn lose(&mut self, start: Time, pkt: Pkt) {
        if start < self.end {
            self.count.lost += 1;
        } else {
            self.count.in_flight += 1;
        }
        self.sacks.take(pkt);
    }

    /// A packet arrives at a merging link at the end of hop number `hop`; returns it and when it is
    /// at its other end, if nothing stops it before.
    #[inline]
    fn arrive(&mut self, now: Time, link: u32, mut pkt: Pkt, hop: usize) -> Option<(Time, Pkt)> {
        let at = &self.hops[hop];
        let passage = match &mut self.links[link as usize] {
            Link::Lindley(queue) => queue.arrive(now, at.class, pkt),
            Link::Plain(wire) => {
                let start = wire.start(now);
                Passage::over(wire, start, pkt.bytes(), false)
            }
            Link::Served(queue, wire, _) => {
                pkt.set_hop(at.number);
                match queue.arrive(now, at.class, pkt, wire) {
                    Admission::Dropped(_) => Passage::Dropped,
                    _ => {
                        if wire.busy_until <= now {
                            self.serve(now, link);
                        }
                        return None;
                    }
                }
            }
        };
        match passage {
            Passage::Arrives { at, marked } => {
                if marked {
                    quell_queue::Packet::set_ce(&mut pkt);
                }
                self.forward(at, pkt, hop + 1).map(|at| (at, pkt))
            }
            Passage::Lost(start) => {
                self.lose(start, pkt);
                None
            }
            Passage::Dropped => {
                self.count.dropped += 1;
                self.sacks.take(pkt);
                None
            }
        }
    }

    /// The wire of a served link is free.
    fn serve(&mut self, now: Time, link: u32) {
        let Link::Served(queue, wire, slot) = &mut self.links[link as usize] else { return };
        let (count, sacks) = (&mut self.count, &mut self.sacks);
        let started = queue.serve(now, wire, |pkt| {
            count.dropped += 1;
            sacks.take(pkt);
        });
        let Some((pkt, flight)) = started else {
            self.tree.put(*slot, Time::MAX);
            return;
        };
        self.tree.put(*slot, wire.busy_until);
        if flight.lost {
            self.lose(now, pkt);
        } else if let Some(at) = self.forward(flight.arrives, pkt, self.way_of(pkt) + pkt.hop() as usize + 1)
        {
            self.arrivals.push_back((at, pkt));
        }
    }
}

/// A flow and its timer.
struct End {
    flow: Flow,
    /// The slot of its timer, and the event there: one that comes too early does no harm and finds
    /// the right time, so only an earlier deadline moves it.
    slot: u32,
    watched: Time,
}

struct Engine {
    net: Net,
    ends: Vec<End>,
    configs: Vec<crate::tcp::Config>,
}

impl Engine {
    /// Delivers what arrived without a stop, and what that sends, and so on.
    #[inline]
    fn deliver_arrivals(&mut self) {
        while let Some((at, pkt)) = self.net.arrivals.pop_front() {
            self.deliver(at, pkt);
        }
    }

    #[inline]
    fn deliver(&mut self, at: Time, pkt: Pkt) {
        self.net.count.delivered += 1;
        let end = &mut self.ends[pkt.flow() as usize];
        end.flow.on_packet(&self.configs, at, pkt, &mut self.net);
        let due = end.flow.due();
        if due < end.watched {
            end.watched = due;
            self.net.tree.put(end.slot, due);
        }
    }

    /// A flow's own event.
    fn wake(&mut self, now: Time, flow: u32) {
        let end = &mut self.ends[flow as usize];
        end.flow.advance(&self.configs, now, &mut self.net);
        end.watched = end.flow.due();
        self.net.tree.put(end.slot, end.watched);
    }

    /// What waits at a slot happens.
    #[inline]
    fn event(&mut self, now: Time, slot: u32) {
        let (stream, own) = match self.net.sources[slot as usize] {
            Source::Own(hop) => (hop, true),
            Source::Shared(hop) => (hop, false),
            Source::Timer(flow) => return self.wake(now, flow),
            Source::Served(link) => return self.net.serve(now, link),
        };
        let waiting = &mut self.net.hops[stream as usize].waiting;
        let Some((pkt, next)) = self.net.pool.pop(waiting) else { return };
        self.net.tree.put(slot, next);
        let hop = if own { stream as usize } else { self.net.way_of(pkt) + pkt.hop() as usize };
        let arrived = match self.net.hops[hop].stop {
            END => Some((now, pkt)),
            RELAY => self.net.forward(now, pkt, hop + 1).map(|at| (at, pkt)),
            link => self.net.arrive(now, link, pkt, hop),
        };
        if let Some((at, pkt)) = arrived {
            self.deliver(at, pkt);
        }
    }
}

/// The slots of the tree: served links, the flows (each its timer and its own streams, in blocks of
/// its own), the outputs of merging links.
struct Slots {
    /// Per flow: the slot of its timer.
    timers: Vec<u32>,
    /// Per stream.
    streams: Vec<u32>,
    total: u32,
}

impl Slots {
    fn new(plan: &Plan, served: u32, flows: usize) -> Self {
        let mut slots = Slots {
            timers: Vec::with_capacity(flows),
            streams: Vec::with_capacity(plan.streams as usize),
            total: served.next_multiple_of(BLOCK),
        };
        for flow in 0..flows {
            let own = plan.own_streams(flow).len() as u32;
            slots.timers.push(slots.total);
            slots.streams.extend((1..=own).map(|i| slots.total + i));
            slots.total += (1 + own).next_multiple_of(BLOCK);
        }
        let outputs = plan.streams - slots.streams.len() as u32;
        slots.streams.extend((0..outputs).map(|i| slots.total + i));
        slots.total += outputs;
        slots
    }

    /// The hops of all ways, where those of each flow begin, and what each slot stands for.
    fn hops(
        &self,
        plan: &Plan,
        network: &Network,
        merging: &[u32],
    ) -> (Vec<Hop>, Vec<[u32; 2]>, Vec<Source>) {
        let mut hops: Vec<Hop> = Vec::new();
        let mut ways = Vec::with_capacity(network.flows.len());
        let mut sources = vec![Source::Timer(0); self.total as usize];
        // The hop that has each stream.
        let mut streams = vec![NONE; plan.streams as usize];
        for (flow, spec) in network.flows.iter().enumerate() {
            sources[self.timers[flow] as usize] = Source::Timer(flow as u32);
            let own = plan.own_streams(flow);
            let ends = [(plan.way(flow, 0), spec.class), (plan.way(flow, 1), spec.ack_class)];
            ways.push(ends.map(|(way, class)| {
                let first = hops.len();
                for step in way {
                    let (from, to) = (step.links.0 as usize, step.links.1 as usize);
                    let mut wires = plan.private[from..to].iter().map(|link| {
                        let i = link.0 as usize;
                        Wire::new(&network.links[i], network.seed, i as u32)
                    });
                    let hop = |wire: Option<Wire>, stop| Hop {
                        wired: wire.is_some(),
                        wire: wire.unwrap_or_default(),
                        waiting: Stream::EMPTY,
                        stop,
                        slot: NONE,
                        stream: NONE,
                        class,
                        number: 0,
                        plain: false,
                    };
                    hops.extend(wires.by_ref().take((to - from).saturating_sub(1)).map(|w| hop(Some(w), ON)));
                    let stop = match step.stop {
                        Stop::Merge(link) => merging[link.0 as usize],
                        Stop::Relay => RELAY,
                        Stop::End => END,
                    };
                    let mut last = hop(wires.next(), stop);
                    if let Some(stream) = step.stream {
                        let known = &mut streams[stream.0 as usize];
                        last.slot = self.streams[stream.0 as usize];
                        if *known == NONE {
                            *known = hops.len() as u32;
                            let own = own.contains(&stream.0);
                            let source = if own { Source::Own } else { Source::Shared };
                            sources[last.slot as usize] = source(*known);
                            last.plain = own && step.in_order;
                        }
                        last.stream = *known;
                    }
                    hops.push(last);
                }
                hops[first..].iter_mut().zip(0..).for_each(|(hop, number)| hop.number = number);
                first as u32
            }));
        }
        (hops, ways, sources)
    }
}

/// The merging link `i` of a network; `slot` is its own if it needs one.
fn link(network: &mut Network, i: usize, slot: u32) -> Link {
    let recorder = recorder(network, i);
    let spec = &mut network.links[i];
    let wire = Wire::new(spec, network.seed, i as u32);
    if spec.queue.is_none() && recorder.is_none() {
        return Link::Plain(wire);
    }
    let rng = network.seed.indexed_stream("link.aqm", i as u64);
    let rate = spec.rate.initial;
    let (aqm, limit, ecn) = super::queue_parts(spec.queue.take());
    if quell_aqm::Aqm::decides_at_dequeue(&aqm) {
        let fifo = Fifo::new(aqm, rng, limit, ecn, Some(rate));
        Link::Served(Box::new(ServiceQueue::new(fifo, recorder)), wire, slot)
    } else {
        Link::Lindley(aqm.visit(lindley::Builder { wire, rng, limit, ecn, rate, recorder }))
    }
}

/// Runs a network.
pub(crate) fn run(mut network: Network, control: &Control) -> Result<Outcome, Error> {
    let plan = Plan::new(&network)?;
    let bounds = bounds(&network);
    let measure = network.measure.clone();
    let ends = Ends::new(&network, &bounds)?;

    let mut links = Vec::new();
    // Per link of the network: its number among the merging ones.
    let mut merging = vec![NONE; network.links.len()];
    let mut served = Vec::new();
    for i in (0..network.links.len()).filter(|i| plan.merges[*i]) {
        merging[i] = links.len() as u32;
        let link = link(&mut network, i, served.len() as u32);
        if let Link::Served(..) = link {
            served.push(links.len() as u32);
        }
        links.push(link);
    }

    let slots = Slots::new(&plan, served.len() as u32, ends.flows.len());
    let tree = WinnerTree::new(slots.total as usize, measure.end)?;
    let classes = ends.classes;
    let (hops, ways, mut sources) = slots.hops(&plan, &network, &merging);
    served.iter().zip(&mut sources).for_each(|(link, source)| *source = Source::Served(*link));
    drop((plan, network));
    let mut engine = Engine {
        net: Net {
            hops,
            ways,
            links,
            sources,
            tree,
            pool: Pool::new(),
            sacks: SackTable::default(),
            transfers: Vec::new(),
            bounds: bounds.clone(),
            end: measure.end,
            count: Conservation::default(),
            arrivals: Ring::with_capacity(4),
        },
        ends: Vec::with_capacity(ends.flows.len()),
        configs: ends.configs,
    };
    for (flow, slot) in ends.flows.into_iter().zip(slots.timers) {
        let watched = flow.due();
        engine.net.tree.put(slot, watched);
        engine.ends.push(End { flow, slot, watched });
    }

    let mut events = 0u64;
    loop {
        let (now, slot) = engine.net.tree.next();
        if now >= measure.end {
            break;
        }
        if events.is_multiple_of(CHECK_EVERY) {
            report(control, now)?;
        }
        events += 1;
        engine.event(now, slot);
        engine.deliver_arrivals();
        engine.net.tree.settle();
    }

    let Engine { net, ends, configs } = engine;
    let mut count = net.count;
    count.in_flight += net.pool.len() as u64;
    let mut recorded = Vec::new();
    for link in net.links {
        let recorder = match link {
            Link::Plain(_) => None,
            Link::Lindley(queue) => queue.finish(measure.end),
            Link::Served(queue, wire, _) => {
                count.in_flight += queue.len() as u64;
                queue.finish(measure.end, &wire)
            }
        };
        recorded.extend(recorder.map(|r| r.finish()));
    }
    let ends = Ends { flows: ends.into_iter().map(|end| end.flow).collect(), configs, classes };
    let flows = ends.finish(&bounds);
    Ok(outcome(recorded, flows, net.transfers, measure.warmup, count, events))
}
