//! The links where flows merge, and when what happens at one can reach another.

use quell_units::{Duration, Time};

use super::inbox::{Inbox, Key};
use super::link::Link;
use super::moving::{Gone, Moving};
use super::part::Beyond;
use super::prefetch::prefetch;
use super::tree::WinnerTree;
use crate::network::{LinkId, LinkSpec, Network, Traffic};
use crate::packet::Pkt;
use crate::record::RoundTrips;
use crate::route::{Plan, Stop};

/// The node for all stops that are not merging links.
pub(super) const RELAY: u32 = 0;

/// A place where packets stop: a merging link, or the one for all other stops.
pub(super) struct Node {
    pub inbox: Inbox,
    /// The time at which something happens there next; zero while the node runs.
    pub due: Time,
    /// The least time from another node, and from a flow's timer, to here.
    pub from_nodes: u64,
    pub from_timers: u64,
    /// The least time in which what happens here comes back; a nanosecond or more.
    pub round: u64,
}

/// The links where flows merge.
pub(super) struct Net {
    /// The class of the packets on each hop.
    pub classes: Vec<u16>,
    pub links: Vec<Link>,
    /// Number 0 is for relays and for ends that packets may reach out of order, the others are those
    /// of the links.
    pub nodes: Vec<Node>,
    /// The nodes by when they are due, without the one that runs.
    pub waiting: WinnerTree,
    /// The parts by when their first timers are due.
    pub timers: WinnerTree,
    /// Bits of a [`Key`] that hold the hop.
    pub bits: u32,
    /// There is more state of flows than the nearest caches hold.
    pub prefetches: bool,
    pub round_trips: RoundTrips,
    pub end: Time,
    pub events: u64,
    /// The node that runs, and up to when (and not at when) it can go on: before that nothing that
    /// happens elsewhere can have a packet here.
    pub running: u32,
    pub horizon: Time,
    /// Just after what is due now, which can happen in any case.
    pub soon: Time,
}

impl Beyond for Net {
    const WHOLE: bool = true;

    #[inline(always)]
    fn arrives(&mut self, to: u32, now: Time, key: Key, pkt: Pkt) -> bool {
        let Some(node) = self.nodes.get_mut(to as usize) else { return false };
        node.inbox.push(key, pkt);
        if now < node.due {
            node.due = now;
            self.waiting.set(to, now);
            self.look_ahead();
        }
        true
    }
    fn measured(&mut self, flow: u32, segment: usize, rtt: Duration) {
        self.round_trips.measured(flow, segment, rtt);
    }
    fn timer(&mut self, number: u32, due: Time) {
        self.timers.set(number, due);
        self.look_ahead();
    }
}

impl Net {
    /// Begins with what is due first at a node; says when that is.
    pub fn begin(&mut self, node: u32) -> Time {
        self.waiting.set(node, Time::MAX);
        // What is due at this instant can happen: every transmission takes time, and what needs none
        // (timers, and the relay, whose number is the lowest) came before.
        let now = std::mem::replace(&mut self.nodes[node as usize].due, Time::ZERO);
        self.soon = now + Duration::from_nanos(1);
        self.running = node;
        self.look_ahead();
        now
    }

    /// Ends what [`Net::begin`] began.
    pub fn leave(&mut self, node: u32) {
        let first = self.nodes[node as usize].inbox.first().map_or(Time::MAX, |key| key.time(self.bits));
        let due = first.min(self.next_service(node));
        self.nodes[node as usize].due = due;
        self.waiting.set(node, due);
    }

    /// Passes as many packets as cannot be the cause of an arrival among them over the node that runs, all before
    /// `limit`. Those that go on move then; those at the relay still have the hops by which they came. Says whether
    /// anything was due.
    #[inline]
    pub fn pass(&mut self, node: u32, limit: Time, moving: &mut Vec<Moving>, gone: &mut Gone) -> bool {
        let at = &mut self.nodes[node as usize];
        if let Some(Link::Head(_)) = self.links.get((node as usize).wrapping_sub(1)) {
            return self.serve(node, limit, moving, gone);
        }
        let batch = at.inbox.ready(Key::new(limit, 0, self.bits), at.round);
        let entries = at.inbox.next(batch);
        self.events += batch as u64;
        if self.prefetches {
            entries.iter().for_each(|(key, _)| prefetch(&self.classes[key.hop(self.bits)]));
        }
        let gets = |(key, pkt): &(Key, Pkt)| (key.time(self.bits), key.hop(self.bits) as u32, *pkt);
        match node.checked_sub(1).map(|link| &mut self.links[link as usize]) {
            None => moving.extend(entries.iter().map(gets).map(|(at, hop, pkt)| Moving { at, pkt, hop })),
            Some(Link::Arrival(queue)) => queue.arrive(entries, &self.classes, moving, gone),
            Some(Link::Plain(wire)) => {
                for (now, hop, pkt) in entries.iter().map(gets) {
                    let flight = wire.transmit(wire.start(now), pkt.bytes());
                    if flight.lost {
                        gone.lost.push((flight.start, pkt));
                    } else {
                        if flight.copied {
                            gone.copied.push((flight.start, moving.len()));
                        }
                        moving.push(Moving { at: flight.arrives, pkt, hop: hop + 1 });
                    }
                }
            }
            Some(Link::Head(_)) => unreachable!("it is served"),
        }
        at.inbox.skip(batch);
        batch > 0
    }

    /// [`Net::pass`] for a link that serves its queue packet by packet: departures count as arrivals do, in
    /// their order.
    #[inline(never)]
    fn serve(&mut self, node: u32, limit: Time, moving: &mut Vec<Moving>, gone: &mut Gone) -> bool {
        let service = self.next_service(node);
        let at = &mut self.nodes[node as usize];
        let round = Duration::from_nanos(at.round);
        let mut until = limit.min(service + round);
        let batch = at.inbox.ready(Key::new(until, 0, self.bits), at.round);
        let entries = at.inbox.next(batch);
        if let Some((first, _)) = entries.first() {
            let complete = at.inbox.complete_until(batch).time(self.bits);
            until = until.min(first.time(self.bits) + round).min(complete);
        } else if service >= limit {
            return false;
        }
        if let Link::Head(link) = &mut self.links[node as usize - 1] {
            link.serve(entries, until, self.bits, &self.classes, moving, gone);
        }
        at.inbox.skip(batch);
        self.events += batch as u64;
        true
    }

    /// The time at which a served link is to run next, see [`HeadQueue::next`](super::service::HeadQueue::next); never
    /// for other links.
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

/// Longer than every delay, and sums of a few do not overflow.
pub(super) const NEVER: u64 = 1 << 60;

/// Long enough for as many packets as are taken together, and added to a time without overflow.
const LONGEST_ROUND: u64 = 1 << 30;

/// Finds the least times from other nodes, and from the timers of flows, to each node. Delays
/// alone: that transmissions take time makes it a little longer.
pub(super) fn reach(plan: &Plan, network: &Network, merging: &[u32], nodes: &mut [Node]) {
    let least = |link: &LinkSpec| link.least_delay().nanos().min(NEVER / 1024);
    let delays: Vec<u64> = network.links.iter().map(least).collect();
    let delay = |link: &LinkId| delays[link.0 as usize];
    for (flow, spec) in network.flows.iter().enumerate() {
        // A source of UDP, or of a trace, hears nothing: no arrival causes what its timer does.
        let (hears, timer_back) = match &spec.traffic {
            Traffic::Tcp { tcp, app } => (true, tcp.acknowledges_later() || app.asks()),
            Traffic::Udp(_) | Traffic::Trace(_) => (false, false),
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
