//! The fast engine: an event only where flows merge.
//!
//! When a packet passes a merging link, its departure is computed at once, and everything up to its
//! next stop with it: private links, the receiver and its acknowledgment, the sender and what it
//! sends. That runs ahead of the clock, which is exact because nothing else can touch a flow in
//! between except its own timers, and [`Flow`] runs those first.
//!
//! What happens at one link can reach another only after the delays between them. So a link is run
//! on as long as nothing at the other links and no timer can still send it an earlier packet
//! ([`Net::horizon`]), and packets that come sooner after each other than what they cause can come
//! back ([`Node::round`]) are taken together: all through the queue, then each over its hop and to its
//! flow ([`Engine::forward`]). Both have a state of their own and keep the order of every flow, so it
//! does not matter that they do not take turns; and short loops over many packets are what a processor
//! is quick at.

use quell_units::{Duration, Time};

use super::inbox::{Inbox, Key};
use super::link::Link;
use super::moving::{Gone, Moving};
use super::prefetch::prefetch;
use super::tree::WinnerTree;
use super::{CHECK_EVERY, Ends, bounds, outcome, report};
use crate::flow::{Direction, Flow, Host};
use crate::network::{LinkId, LinkSpec, Network, Traffic};
use crate::outcome::{Conservation, Outcome, Transfer};
use crate::packet::{Pkt, SackTable};
use crate::record::RoundTrips;
use crate::route::{Plan, Stop};
use crate::wire::{Flight, Wire};
use crate::{Control, Error};

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
    /// There is a wire.
    wired: bool,
    /// The node is the flow's other end, so that [`RELAY`] delivers.
    ends: bool,
}

/// The node for all stops that are no merging links.
const RELAY: u32 = 0;

/// Room for the packets that move together: those that a node takes at once and what they cause.
const ROOM: usize = 1024;

/// Where packets stop: a merging link, or the place for all other stops.
struct Node {
    inbox: Inbox,
    /// When something happens there next; zero while the node runs.
    due: Time,
    /// How long what happens at another node, or a flow's timer, takes at least to get here.
    from_nodes: u64,
    from_timers: u64,
    /// How long what happens here takes at least to come back; a nanosecond or more.
    round: u64,
}

/// The network between the ends.
struct Net {
    /// The hops of each way follow each other.
    hops: Vec<Hop>,
    /// The class of the packets on each hop.
    classes: Vec<u16>,
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
    round_trips: RoundTrips,
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
    /// Packets on their way to their next stops, and those that have reached their other ends without one: taken
    /// further together, see [`Engine::settle`].
    moving: Vec<Moving>,
    arrived: Vec<(Time, Pkt)>,
    /// Those that go no further.
    gone: Gone,
    /// There is more state of flows than the nearest caches hold.
    prefetches: bool,
}

impl Host for Net {
    #[inline(always)]
    fn send(&mut self, now: Time, pkt: Pkt, direction: Direction) {
        self.count.sent += 1;
        let hop = self.ways[pkt.flow() as usize][direction as usize];
        if let Some(arrives) = self.step(Moving { at: now, pkt, hop }) {
            self.arrived.push((arrives, pkt));
        }
    }
    fn sacks(&mut self) -> &mut SackTable {
        &mut self.sacks
    }
    fn finished(&mut self, transfer: Transfer) {
        self.transfers.push(transfer);
    }
    fn measured(&mut self, flow: u32, segment: usize, rtt: Duration) {
        self.round_trips.measured(flow, segment, rtt);
    }
    fn bounds(&self) -> &[Time] {
        &self.bounds
    }
}

impl Net {
    /// Takes a packet that moves over a hop, to its next stop; when it arrives if that is its other end.
    #[inline(always)]
    fn step(&mut self, Moving { at, pkt, hop }: Moving) -> Option<Time> {
        let step = &mut self.hops[hop as usize];
        let start = step.wire.start(at);
        let now = match step.wire.transmit_usual(start, pkt.bytes()) {
            Some(arrives) => arrives,
            None if !step.wired => at,
            None => {
                let Flight { start, arrives, lost } = step.wire.transmit_any(start, pkt.bytes());
                if lost {
                    self.gone.lost.push((start, pkt));
                    return None;
                }
                arrives
            }
        };
        if now >= self.end {
            self.gone.late.push(pkt);
        } else if let Some(node) = self.nodes.get_mut(step.to as usize) {
            node.inbox.push(Key::new(now, hop as usize, self.bits), pkt);
            if now < node.due {
                node.due = now;
                self.waiting.set(step.to, now);
                self.look_ahead();
            }
        } else if step.to == END {
            return Some(now);
        } else {
            self.moving.push(Moving { at: now, pkt, hop: hop + 1 });
        }
        None
    }

    /// Packets arrive at the node that runs, a link with a queue that decides on arrival or none, or
    /// the relay: those that go on move then.
    fn pass(&mut self, node: u32, batch: usize) {
        let inbox = &mut self.nodes[node as usize].inbox;
        let entries = inbox.next(batch);
        self.events += batch as u64;
        let at = |key: Key| (key.time(self.bits), key.hop(self.bits));
        if node == RELAY {
            for &(key, pkt) in entries {
                let (now, hop) = at(key);
                if self.hops[hop].ends {
                    self.arrived.push((now, pkt));
                } else {
                    self.moving.push(Moving { at: now, pkt, hop: hop as u32 + 1 });
                }
            }
            return inbox.skip(batch);
        }
        match &mut self.links[node as usize - 1] {
            Link::Arrival(queue) => queue.arrive(entries, &self.classes, &mut self.moving, &mut self.gone),
            Link::Plain(wire) => {
                for &(key, pkt) in entries {
                    let (now, hop) = at(key);
                    let flight = wire.transmit(wire.start(now), pkt.bytes());
                    if flight.lost {
                        self.gone.lost.push((flight.start, pkt));
                    } else {
                        self.moving.push(Moving { at: flight.arrives, pkt, hop: hop as u32 + 1 });
                    }
                }
            }
            Link::Head(_) => unreachable!("it has its own path"),
        }
        inbox.skip(batch);
    }

    /// What does not go on.
    #[inline]
    fn clear_gone(&mut self) {
        if !self.gone.is_empty() {
            self.count_gone();
        }
    }

    #[inline(never)]
    fn count_gone(&mut self) {
        self.count.dropped += self.gone.dropped.len() as u64;
        // What a wire would lose, or deliver, from the end on cannot be seen.
        let lost = self.gone.lost.iter().filter(|(start, _)| *start < self.end).count();
        self.count.lost += lost as u64;
        self.count.in_flight += (self.gone.lost.len() - lost + self.gone.late.len()) as u64;
        let lost = self.gone.lost.drain(..).map(|(_, pkt)| pkt);
        for pkt in self.gone.dropped.drain(..).chain(self.gone.late.drain(..)).chain(lost) {
            self.sacks.take(pkt);
        }
    }

    /// Packets arrive at a served link, and what is due there before `until` leaves.
    fn serve(&mut self, node: u32, batch: usize, until: Time) {
        let Link::Head(link) = &mut self.links[node as usize - 1] else { return };
        let inbox = &mut self.nodes[node as usize].inbox;
        let entries = inbox.next(batch);
        link.serve(entries, until, self.bits, &self.classes, &mut self.moving, &mut self.gone);
        inbox.skip(batch);
        self.events += batch as u64;
    }

    /// When a served link is to run next, see [`HeadQueue::next`](super::service::HeadQueue::next); never for other links.
    fn next_service(&self, node: u32) -> Time {
        match self.links.get((node as usize).wrapping_sub(1)) {
            Some(Link::Head(link)) => link.next().unwrap_or(Time::MAX),
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
}

/// Flows from which on prefetching pays, and for how many packets ahead it is done.
const MANY_FLOWS: usize = 5000;
const AHEAD: usize = 8;

impl Engine {
    /// Takes all packets that move to their next stops; those that reach their other ends without
    /// one are delivered, and what that sends moves as well.
    fn settle(&mut self) {
        while !self.net.moving.is_empty() || !self.net.arrived.is_empty() {
            self.forward();
            self.deliver();
        }
        self.net.clear_gone();
    }

    /// Takes packets over their hops.
    #[inline(never)]
    fn forward(&mut self) {
        let mut i = 0;
        while let Some(&moving) = self.net.moving.get(i) {
            if self.net.prefetches {
                self.look_after(i);
            }
            i += 1;
            if let Some(arrives) = self.net.step(moving) {
                self.deliver_one(arrives, moving.pkt);
            }
        }
        self.net.moving.clear();
    }

    /// Delivers the packets that reached their other ends without a stop on their way.
    fn deliver(&mut self) {
        let mut i = 0;
        while let Some(&(at, pkt)) = self.net.arrived.get(i) {
            i += 1;
            self.deliver_one(at, pkt);
        }
        self.net.arrived.clear();
    }

    /// Delivers a packet at its other end.
    #[inline(always)]
    fn deliver_one(&mut self, at: Time, pkt: Pkt) {
        self.net.count.delivered += 1;
        let end = &mut self.ends[pkt.flow() as usize];
        let due = end.flow.on_packet(at, pkt, &mut self.net);
        if due < end.watched {
            self.watch(pkt.flow(), due);
        }
    }

    /// A flow has something to do earlier than before.
    #[inline(never)]
    fn watch(&mut self, flow: u32, due: Time) {
        self.ends[flow as usize].watched = due;
        self.net.timers.set(flow, due);
        self.net.look_ahead();
    }

    /// Prepares for packets that come soon after number `i`, and for what they cause.
    #[inline]
    fn look_after(&self, i: usize) {
        let taken = &self.net.moving;
        if let Some(far) = taken.get(i + AHEAD) {
            prefetch(&self.net.hops[far.hop as usize]);
            prefetch(&self.ends[far.pkt.flow() as usize]);
            prefetch(&self.net.ways[far.pkt.flow() as usize]);
        }
        if let Some(near) = taken.get(i + AHEAD / 2) {
            let [forward, back] = self.net.ways[near.pkt.flow() as usize];
            prefetch(&self.net.hops[if near.pkt.is_ack() { forward } else { back } as usize]);
        }
    }

    /// A flow's own event.
    fn wake(&mut self, now: Time, flow: u32) {
        self.net.events += 1;
        let end = &mut self.ends[flow as usize];
        end.flow.advance(now, &mut self.net);
        end.watched = end.flow.due();
        self.net.timers.set(flow, end.watched);
        self.settle();
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
        let served = node != RELAY && matches!(self.net.links[i - 1], Link::Head(_));
        if served {
            self.run_served(node);
        } else {
            self.run(node);
        }
        let first = self.net.nodes[i].inbox.first().map_or(Time::MAX, |key| key.time(self.net.bits));
        let due = first.min(self.net.next_service(node));
        self.net.nodes[i].due = due;
        self.net.waiting.set(node, due);
    }

    /// Runs a node where no packet waits for an event. As many packets as cannot be the cause of an
    /// arrival among them are taken together.
    fn run(&mut self, node: u32) {
        loop {
            let at = &mut self.net.nodes[node as usize];
            let limit = Key::new(self.net.horizon, 0, self.net.bits);
            let batch = at.inbox.ready(limit, at.round);
            if batch == 0 {
                return;
            }
            self.net.pass(node, batch);
            self.settle();
        }
    }

    /// [`Engine::run`] for a link that serves its queue packet by packet: departures count as arrivals do, in
    /// their order.
    #[inline(never)]
    fn run_served(&mut self, node: u32) {
        loop {
            let service = self.net.next_service(node);
            let at = &mut self.net.nodes[node as usize];
            let round = Duration::from_nanos(at.round);
            let mut until = self.net.horizon.min(service + round);
            let batch = at.inbox.ready(Key::new(until, 0, self.net.bits), at.round);
            if let Some((first, _)) = at.inbox.next(batch).first() {
                let complete = at.inbox.complete_until(batch).time(self.net.bits);
                until = until.min(first.time(self.net.bits) + round).min(complete);
            } else if service >= self.net.horizon {
                return;
            }
            self.net.serve(node, batch, until);
            self.settle();
        }
    }
}

/// The hops of all ways and where those of each flow begin. `merging` gives each merging link its
/// node.
fn hops(plan: &Plan, network: &Network, merging: &[u32]) -> (Vec<Hop>, Vec<u16>, Vec<[u32; 2]>) {
    let wire = |link: &LinkId| Wire::new(&network.links[link.0 as usize], network.seed, link.0);
    let (mut hops, mut classes): (Vec<Hop>, Vec<u16>) = Default::default();
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
                    let ends = step.stop == Stop::End;
                    let wired = wire.is_some();
                    hops.push(Hop { wire: wire.unwrap_or_default(), to, wired, ends });
                    classes.push(class);
                    if to != ON {
                        break;
                    }
                }
            }
            first as u32
        }));
    }
    (hops, classes, ways)
}

/// Longer than every delay, and sums of a few do not overflow.
const NEVER: u64 = 1 << 60;

/// Long enough for as many packets as are taken together, and added to a time without overflow.
const LONGEST_ROUND: u64 = 1 << 30;

/// How long it takes at least from other nodes, and from the timers of flows, to each node. Delays
/// alone: that transmissions take time makes it a little longer.
fn reach(plan: &Plan, network: &Network, merging: &[u32], nodes: &mut [Node]) {
    let least = |link: &LinkSpec| link.delay.values().min().map_or(0, |d| d.nanos().min(NEVER / 1024));
    let delays: Vec<u64> = network.links.iter().map(least).collect();
    let delay = |link: &LinkId| delays[link.0 as usize];
    for (flow, spec) in network.flows.iter().enumerate() {
        // A source of UDP hears nothing: no arrival causes what its timer does.
        let (hears, timer_back) = match &spec.traffic {
            Traffic::Tcp { tcp, app } => (true, tcp.delayed_ack.is_some() || app.asks()),
            Traffic::Udp(_) => (false, false),
        };
        let (mut since_stop, mut since_timer) = (NEVER, NEVER);
        // Data follows acknowledgments: the second time round the last stop before it is known.
        for direction in [0, 1, 0] {
            if direction == 0 || timer_back {
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
                // The last part of every way back begins at a node or at a timer.
                let back = if hears { since_stop.min(since_timer) } else { since_stop };
                nodes[node].round = nodes[node].round.min(back);
                (since_stop, since_timer) = (after, NEVER);
            }
        }
    }
    // What a timer sends can also get here by way of other nodes.
    let first = nodes.iter().map(|node| node.from_timers).min().unwrap_or(0);
    for node in nodes {
        node.from_timers = node.from_timers.min(first + node.from_nodes);
        node.round = node.round.clamp(1, LONGEST_ROUND);
    }
}

/// Runs a network.
pub(crate) fn run(mut network: Network, control: &Control) -> Result<Outcome, Error> {
    let plan = Plan::new(&network)?;
    let bounds = bounds(&network);
    let measure = network.measure.clone();
    let round_trips = RoundTrips::new(&network);
    let ends = Ends::new(&network, &bounds, control)?;

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
    let node = || Node {
        inbox: Inbox::new(bits),
        due: Time::MAX,
        from_nodes: NEVER,
        from_timers: NEVER,
        round: NEVER,
    };
    let mut nodes: Vec<Node> = (0..=count).map(|_| node()).collect();
    reach(&plan, &network, &merging, &mut nodes);
    let (hops, classes_of_hops, ways) = hops(&plan, &network, &merging);
    let links: Vec<Link> = (0..network.links.len())
        .filter(|i| plan.merges[*i])
        .map(|i| Link::new(&mut network, i, bits))
        .collect();
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
            classes: classes_of_hops,
            ways,
            links,
            waiting: WinnerTree::new(nodes.len(), measure.end)?,
            nodes,
            timers,
            bits,
            sacks: SackTable::default(),
            transfers: Vec::new(),
            round_trips,
            bounds: bounds.clone(),
            end: measure.end,
            count: Conservation::default(),
            events: 0,
            running: RELAY,
            horizon: Time::ZERO,
            soon: Time::ZERO,
            moving: Vec::with_capacity(ROOM),
            arrived: Vec::with_capacity(ROOM),
            gone: Gone::with_capacity(ROOM),
            prefetches: flows.len() >= MANY_FLOWS,
        },
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
            Link::Arrival(queue) => queue.finish(measure.end),
            Link::Head(link) => {
                let (recorder, waiting) = link.finish(measure.end);
                count.in_flight += waiting;
                recorder
            }
        };
        recorded.extend(recorder.map(|r| r.finish()));
    }
    let ends = Ends { flows: ends.into_iter().map(|end| end.flow).collect(), classes };
    let flows = ends.finish(&bounds);
    Ok(outcome(recorded, flows, net.transfers, net.round_trips, measure.warmup, count, net.events))
}
