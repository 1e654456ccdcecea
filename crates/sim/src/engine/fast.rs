//! The fast engine: an event only where flows merge.
//!
//! A packet that passes a merging link has its departure computed at once, and everything up to its
//! next stop with it: private links, the receiver and its acknowledgment, the sender and what it
//! sends. That runs ahead of the clock for one flow at a time, which is exact because nothing else
//! can touch that flow in between except its own timers, and [`Flow`] runs those first.
//!
//! What happens at one link can reach another only after the delays between them. So a link is run
//! on as long as nothing at the other links and no timer can still send it an earlier packet
//! ([`Net::horizon`]): many packets at a time, where delays are long.

use quell_queue::{Admission, Queue};
use quell_units::{Duration, Time};

use super::inbox::{Inbox, Key};
use super::lindley::{self, ArrivalQueue, Passage};
use super::prefetch::prefetch;
use super::ring::Ring;
use super::service::ServiceQueue;
use super::tree::WinnerTree;
use super::{CHECK_EVERY, Ends, bounds, outcome, recorder, report};
use crate::flow::{Direction, Flow, Host};
use crate::network::{LinkId, Network, Traffic};
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
    /// Its queue decides at the head and is served whenever the wire is free.
    Served(Box<ServiceQueue>, Wire),
}

/// Where a hop leads if not to a node.
const END: u32 = u32::MAX;
/// To another private link.
const ON: u32 = u32::MAX - 1;

/// One step of a way: over a private link, if there is one, to a stop. A cache line.
#[repr(align(64))]
struct Hop {
    wire: Wire,
    /// The node that the packet goes to, or [`END`] or [`ON`].
    to: u32,
    /// The class of the packets.
    class: u16,
    /// Its number on its way.
    number: u8,
    /// There is a wire.
    wired: bool,
    /// The node is the flow's other end, see [`Net::relay`].
    ends: bool,
}

/// The node for all stops that are no merging links.
const RELAY: u32 = 0;

/// Where packets stop: a merging link, or the place for all other stops.
struct Node {
    inbox: Inbox,
    /// When something happens there next; zero while the node runs.
    due: Time,
    /// How long what happens at another node, or a flow's timer, takes at least to get here.
    from_nodes: u64,
    from_timers: u64,
}

/// The network between the ends.
struct Net {
    /// The hops of each way follow each other.
    hops: Vec<Hop>,
    /// Per flow: the first hop of data and of acknowledgments.
    ways: Vec<[u32; 2]>,
    links: Vec<Link>,
    /// Number 0 is for relays and for ends that packets may reach out of order, the others are those
    /// of the links.
    nodes: Vec<Node>,
    /// The nodes by when they are due, without the one that runs.
    waiting: WinnerTree,
    /// The flows by when their timers are due.
    timers: WinnerTree,
    /// Bits of a [`Key`] that hold the hop.
    bits: u32,
    sacks: SackTable,
    transfers: Vec<Transfer>,
    bounds: Vec<Time>,
    end: Time,
    count: Conservation,
    events: u64,
    /// The node that runs, and up to when (and not at when) it can go on: before that nothing that
    /// happens elsewhere can have a packet here.
    running: u32,
    horizon: Time,
    /// Just after what is due now, which can happen in any case.
    soon: Time,
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
        let to = at.to;
        if to >= ON {
            return if to == END { Some(now) } else { self.forward_on(now, pkt, hop + 1) };
        }
        let node = &mut self.nodes[to as usize];
        node.inbox.push(Key::new(now, hop, self.bits), pkt);
        if now < node.due {
            node.due = now;
            self.waiting.set(to, now);
            self.look_ahead();
        }
        None
    }

    #[inline(never)]
    fn forward_on(&mut self, now: Time, pkt: Pkt, hop: usize) -> Option<Time> {
        self.forward(now, pkt, hop)
    }

    /// Nothing that happens from the end on can be seen.
    #[cold]
    #[inline(never)]
    fn beyond_the_end(&mut self, pkt: Pkt) {
        self.count.in_flight += 1;
        self.sacks.take(pkt);
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
    #[inline(always)]
    fn arrive(&mut self, now: Time, node: u32, mut pkt: Pkt, hop: usize) -> Option<(Time, Pkt)> {
        let at = &self.hops[hop];
        let passage = match &mut self.links[node as usize - 1] {
            Link::Lindley(queue) => queue.arrive(now, at.class, pkt),
            Link::Plain(wire) => {
                let start = wire.start(now);
                Passage::over(wire, start, pkt.bytes(), false)
            }
            Link::Served(queue, wire) => {
                pkt.set_hop(at.number);
                match queue.arrive(now, at.class, pkt, wire) {
                    Admission::Dropped(_) => Passage::Dropped,
                    _ if wire.busy_until <= now => return self.serve(now, node),
                    _ => return None,
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

    /// The wire of a served link is free; as [`Net::arrive`] for the packet that it takes.
    fn serve(&mut self, now: Time, node: u32) -> Option<(Time, Pkt)> {
        let Link::Served(queue, wire) = &mut self.links[node as usize - 1] else { return None };
        let (count, sacks) = (&mut self.count, &mut self.sacks);
        let (pkt, flight) = queue.serve(now, wire, |pkt| {
            count.dropped += 1;
            sacks.take(pkt);
        })?;
        if flight.lost {
            self.lose(now, pkt);
            return None;
        }
        let hop = self.way_of(pkt) + pkt.hop() as usize + 1;
        self.forward(flight.arrives, pkt, hop).map(|at| (at, pkt))
    }

    /// When the wire of a served link is free for a packet that waits; never for other links.
    fn next_service(&self, node: u32) -> Time {
        match self.links.get((node as usize).wrapping_sub(1)) {
            Some(Link::Served(queue, wire)) if queue.len() > 0 => wire.busy_until,
            _ => Time::MAX,
        }
    }

    /// Finds out how far the node that runs can go on, see [`Net::horizon`].
    #[inline]
    fn look_ahead(&mut self) {
        let at = &self.nodes[self.running as usize];
        let nodes = self.waiting.first().0.nanos().min(NEVER) + at.from_nodes;
        let timers = self.timers.first().0.nanos().min(NEVER) + at.from_timers;
        self.horizon = Time::from_nanos(nodes.min(timers).min(self.end.nanos())).max(self.soon);
    }
}

/// A flow and its timer.
#[repr(align(64))]
struct End {
    flow: Flow,
    /// The event there: one that comes too early does no harm and finds the right time, so only an
    /// earlier deadline moves it.
    watched: Time,
}

struct Engine {
    net: Net,
    ends: Vec<End>,
    /// There is more state of flows than the nearest caches hold.
    prefetches: bool,
}

/// Flows from which on prefetching pays.
const MANY_FLOWS: usize = 5000;

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
        end.flow.on_packet(at, pkt, &mut self.net);
        let due = end.flow.due();
        if due < end.watched {
            end.watched = due;
            self.net.timers.set(pkt.flow(), due);
            self.net.look_ahead();
        }
    }

    /// A flow's own event.
    fn wake(&mut self, now: Time, flow: u32) {
        self.net.events += 1;
        let end = &mut self.ends[flow as usize];
        end.flow.advance(now, &mut self.net);
        end.watched = end.flow.due();
        self.net.timers.set(flow, end.watched);
        self.deliver_arrivals();
    }

    /// Prepares for packets that come soon to a node: what they pass first is asked for first.
    #[inline(never)]
    fn prefetch(&self, node: usize) {
        let inbox = &self.net.nodes[node].inbox;
        if let Some((key, pkt)) = inbox.ahead(6) {
            let hop = key.hop(self.net.bits);
            prefetch(&self.net.hops[hop]);
            prefetch(&self.net.hops[hop + 1]);
            prefetch(&self.ends[pkt.flow() as usize]);
            prefetch(&self.net.ways[pkt.flow() as usize]);
        }
        if let Some((_, pkt)) = inbox.ahead(2) {
            let way = self.net.ways[pkt.flow() as usize][1 - pkt.is_ack() as usize] as usize;
            if let Some(hop) = self.net.hops.get(way) {
                prefetch(hop);
            }
        }
    }

    /// Runs a node as far as it can go.
    fn visit(&mut self, node: u32) {
        let i = node as usize;
        self.net.waiting.set(node, Time::MAX);
        // What is due at this instant can happen: every transmission takes time, and what needs none
        // (timers, and the relay, whose number is the lowest) came before.
        let now = std::mem::replace(&mut self.net.nodes[i].due, Time::ZERO);
        self.net.soon = now + Duration::from_nanos(1);
        self.net.running = node;
        self.net.look_ahead();
        let served = node != RELAY && matches!(self.net.links[i - 1], Link::Served(..));
        if served {
            self.run_served(node);
        } else {
            while let Some((key, pkt)) = self.pop(self.net.horizon) {
                self.arrive(node, key, pkt);
            }
        }
        let first = self.net.nodes[i].inbox.first().map_or(Time::MAX, |key| key.time(self.net.bits));
        let due = first.min(self.net.next_service(node));
        self.net.nodes[i].due = due;
        self.net.waiting.set(node, due);
    }

    /// The next packet of the node that runs, if it comes before `limit`.
    #[inline(always)]
    fn pop(&mut self, limit: Time) -> Option<(Key, Pkt)> {
        let inbox = &mut self.net.nodes[self.net.running as usize].inbox;
        let entry = inbox.pop_below(Key::new(limit, 0, self.net.bits));
        if self.prefetches && entry.is_some() {
            self.prefetch(self.net.running as usize);
        }
        entry
    }

    /// Runs a link that serves its queue packet by packet.
    #[inline(never)]
    fn run_served(&mut self, node: u32) {
        loop {
            // At one instant the wire is free before packets arrive.
            let service = self.net.next_service(node);
            if let Some((key, pkt)) = self.pop(service.min(self.net.horizon)) {
                self.arrive(node, key, pkt);
            } else if service < self.net.horizon {
                self.net.events += 1;
                if let Some((at, pkt)) = self.net.serve(service, node) {
                    self.deliver(at, pkt);
                }
                self.deliver_arrivals();
            } else {
                return;
            }
        }
    }

    /// A packet reaches its stop.
    #[inline(always)]
    fn arrive(&mut self, node: u32, key: Key, pkt: Pkt) {
        self.net.events += 1;
        let (now, hop) = (key.time(self.net.bits), key.hop(self.net.bits));
        let arrived = if node != RELAY {
            self.net.arrive(now, node, pkt, hop)
        } else if self.net.hops[hop].ends {
            Some((now, pkt))
        } else {
            self.net.forward(now, pkt, hop + 1).map(|at| (at, pkt))
        };
        if let Some((at, pkt)) = arrived {
            self.deliver(at, pkt);
        }
        self.deliver_arrivals();
    }
}

/// The hops of all ways and where those of each flow begin. `merging` gives each merging link its
/// node.
fn hops(plan: &Plan, network: &Network, merging: &[u32]) -> (Vec<Hop>, Vec<[u32; 2]>) {
    let wire = |link: &LinkId| Wire::new(&network.links[link.0 as usize], network.seed, link.0);
    let mut hops: Vec<Hop> = Vec::new();
    let mut ways = Vec::with_capacity(network.flows.len());
    for (flow, spec) in network.flows.iter().enumerate() {
        ways.push([(0, spec.class), (1, spec.ack_class)].map(|(direction, class)| {
            let first = hops.len();
            for step in plan.way(flow, direction) {
                let mut wires = plan.private_links(step).iter().map(wire).peekable();
                loop {
                    let wire = wires.next();
                    let to = match step.stop {
                        _ if wires.peek().is_some() => ON,
                        Stop::Merge(link) => merging[link.0 as usize],
                        _ if step.event => RELAY,
                        _ => END,
                    };
                    let number = (hops.len() - first) as u8;
                    let ends = step.stop == Stop::End;
                    let wired = wire.is_some();
                    hops.push(Hop { wire: wire.unwrap_or_default(), to, class, number, wired, ends });
                    if to != ON {
                        break;
                    }
                }
            }
            first as u32
        }));
    }
    (hops, ways)
}

/// Longer than every delay, and sums of a few do not overflow.
const NEVER: u64 = 1 << 60;

/// How long it takes at least from other nodes, and from the timers of flows, to each node. Delays
/// alone: that transmissions take time makes it a little longer.
fn reach(plan: &Plan, network: &Network, merging: &[u32], nodes: &mut [Node]) {
    let delay = |link: &LinkId| {
        let delay = &network.links[link.0 as usize].delay;
        let least = delay.changes.iter().map(|c| c.1).fold(delay.initial, Duration::min);
        least.nanos().min(NEVER / 1024)
    };
    for (flow, spec) in network.flows.iter().enumerate() {
        let delayed_ack = matches!(&spec.traffic, Traffic::Tcp { tcp, .. } if tcp.delayed_ack.is_some());
        let (mut since_stop, mut since_timer) = (NEVER, NEVER);
        // Data follows acknowledgments: the second time round the last stop before it is known.
        for direction in [0, 1, 0] {
            if direction == 0 || delayed_ack {
                since_timer = 0;
            }
            for step in plan.way(flow, direction) {
                let along: u64 = plan.private_links(step).iter().map(delay).sum();
                since_stop = (since_stop + along).min(NEVER);
                since_timer = (since_timer + along).min(NEVER);
                let (node, after) = match step.stop {
                    Stop::Merge(link) => (merging[link.0 as usize] as usize, delay(&link)),
                    _ if step.event => (RELAY as usize, 0),
                    _ => continue,
                };
                nodes[node].from_nodes = nodes[node].from_nodes.min(since_stop);
                nodes[node].from_timers = nodes[node].from_timers.min(since_timer);
                (since_stop, since_timer) = (after, NEVER);
            }
        }
    }
    // What a timer sends can also get here by way of other nodes.
    let first = nodes.iter().map(|node| node.from_timers).min().unwrap_or(0);
    for node in nodes {
        node.from_timers = node.from_timers.min(first + node.from_nodes);
    }
}

/// The merging link `i` of a network.
fn link(network: &mut Network, i: usize) -> Link {
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
        let queue = Queue::new(aqm, rng, limit, ecn, Some(rate));
        Link::Served(Box::new(ServiceQueue::new(queue, recorder)), wire)
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

    let mut merging = vec![END; network.links.len()];
    let merge = (0..network.links.len()).filter(|i| plan.merges[*i]);
    merge.zip(1..).for_each(|(i, number)| merging[i] = number);
    // At most one hop for each private link more than the plan has.
    let bits = (plan.hops.len() + plan.private.len()).next_power_of_two().trailing_zeros();
    if measure.end.nanos() >= u64::MAX >> bits >> 1 {
        let hours = (u64::MAX >> bits) as f64 / 7.2e12;
        return Err(Error::Invalid(format!(
            "a run with ways of {} steps in all can last {hours:.1} hours at most",
            plan.hops.len()
        )));
    }
    let count = merging.iter().filter(|m| **m != END).count();
    let node = || Node { inbox: Inbox::new(bits), due: Time::MAX, from_nodes: NEVER, from_timers: NEVER };
    let mut nodes: Vec<Node> = (0..=count).map(|_| node()).collect();
    reach(&plan, &network, &merging, &mut nodes);
    let (hops, ways) = hops(&plan, &network, &merging);
    let links: Vec<Link> =
        (0..network.links.len()).filter(|i| plan.merges[*i]).map(|i| link(&mut network, i)).collect();
    drop(network);

    let mut timers = WinnerTree::new(ends.flows.len(), measure.end)?;
    let classes = ends.classes;
    let mut flows = Vec::with_capacity(ends.flows.len());
    for (i, flow) in ends.flows.into_iter().enumerate() {
        let watched = flow.due();
        timers.set(i as u32, watched);
        flows.push(End { flow, watched });
    }
    let mut engine = Engine {
        net: Net {
            hops,
            ways,
            links,
            waiting: WinnerTree::new(nodes.len(), measure.end)?,
            nodes,
            timers,
            bits,
            sacks: SackTable::default(),
            transfers: Vec::new(),
            bounds: bounds.clone(),
            end: measure.end,
            count: Conservation::default(),
            events: 0,
            running: RELAY,
            horizon: Time::ZERO,
            soon: Time::ZERO,
            arrivals: Ring::with_capacity(4),
        },
        prefetches: flows.len() >= MANY_FLOWS,
        ends: flows,
    };

    let mut checked = 0;
    loop {
        let (node_due, node) = engine.net.waiting.first();
        let (timer_due, flow) = engine.net.timers.first();
        let now = node_due.min(timer_due);
        if now >= measure.end {
            break;
        }
        if engine.net.events >= checked {
            checked = engine.net.events + CHECK_EVERY;
            report(control, now)?;
        }
        // At one instant timers come before arrivals.
        if timer_due <= node_due {
            engine.wake(timer_due, flow);
        } else {
            engine.visit(node);
        }
    }

    let Engine { net, ends, .. } = engine;
    let mut count = net.count;
    count.in_flight += net.nodes.iter().map(|n| n.inbox.len() as u64).sum::<u64>();
    let mut recorded = Vec::new();
    for link in net.links {
        let recorder = match link {
            Link::Plain(_) => None,
            Link::Lindley(queue) => queue.finish(measure.end),
            Link::Served(queue, wire) => {
                count.in_flight += queue.len() as u64;
                queue.finish(measure.end, &wire)
            }
        };
        recorded.extend(recorder.map(|r| r.finish()));
    }
    let ends = Ends { flows: ends.into_iter().map(|end| end.flow).collect(), classes };
    let flows = ends.finish(&bounds);
    Ok(outcome(recorded, flows, net.transfers, measure.warmup, count, net.events))
}
