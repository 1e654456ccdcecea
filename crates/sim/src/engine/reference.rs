//! The reference engine: every packet takes every step as an event of its own, in a heap. Slow and
//! plain, it is the judge of the fast engine.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use quell_units::{Duration, Time};

use super::service::{Left, ServedLink, hosts_of_flows};
use super::waiting::Waiting;
use super::{CHECK_EVERY, Ends, outcome, recorder, report, taps};
use crate::flow::{Direction, Host};
use crate::network::{LinkId, Network};
use crate::outcome::{Conservation, Outcome, Transfer};
use crate::packet::{Pkt, SackTable};
use crate::record::{RoundTrips, bounds};
use crate::route::{Plan, Stop};
use crate::tap::Tapped;
use crate::wire::Wire;
use crate::{Control, Error};

/// The order within one instant; within a rank by number, then as scheduled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Packets leave queues.
    Service,
    /// Flows' timers run out and packets reach their ends or private links.
    Flow,
    /// Packets reach merging links, by hop.
    Merge,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Service(LinkId),
    Timer(u32),
    /// A packet reaches a link: which, and whether it is the last before the packet's next stop.
    Link(LinkId, Pkt),
    End(Pkt),
}

/// An event, with its place in the order: no two have the same.
type Scheduled = Reverse<((Time, Rank, u32, u64), Event)>;

/// A link of any algorithm, observed or not.
type Link = ServedLink<Waiting<u32>, Tapped>;

struct Net {
    plan: Plan,
    /// Per flow: the one that takes its packets, which is the first of the connections of one client's pages.
    takers: Vec<u32>,
    /// Per flow: its access link's wire, if senders ask when it will have sent their packets. It takes each packet when
    /// it is put on its way, ahead of the link itself.
    access: Vec<Option<Wire>>,
    /// Per flow: the links of data and of acknowledgments. A packet's `hop` counts links here.
    ways: Vec<[Vec<LinkId>; 2]>,
    links: Vec<Link>,
    /// The packets that left a link's queue just now.
    left: Vec<Left>,
    /// The time for which the next departure from each link was scheduled last.
    departures: Vec<Time>,
    heap: BinaryHeap<Scheduled>,
    scheduled: u64,
    classes: Vec<[u16; 2]>,
    sacks: SackTable,
    transfers: Vec<Transfer>,
    round_trips: RoundTrips,
    bounds: Vec<Time>,
    count: Conservation,
}

impl Host for Net {
    fn leaves(&self, pkt: Pkt) -> Time {
        let access = &self.access[self.takers[pkt.flow() as usize] as usize];
        access.as_ref().map_or(Time::ZERO, |wire| wire.busy_until)
    }
    fn send(&mut self, now: Time, pkt: Pkt, direction: Direction) {
        self.count.sent += 1;
        if let (Some(wire), Direction::Forward) =
            (&mut self.access[self.takers[pkt.flow() as usize] as usize], direction)
        {
            wire.transmit(wire.start(now), pkt.bytes());
        }
        self.go_on(now, pkt);
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
    fn schedule(&mut self, at: Time, rank: Rank, number: u32, event: Event) {
        self.scheduled += 1;
        self.heap.push(Reverse(((at, rank, number, self.scheduled), event)));
    }

    /// A packet is ready for its next link, or its end, at `at`.
    fn go_on(&mut self, at: Time, pkt: Pkt) {
        let taker = self.takers[pkt.flow() as usize];
        match self.ways[pkt.flow() as usize][pkt.is_ack() as usize].get(pkt.hop() as usize) {
            None => self.schedule(at, Rank::Flow, taker, Event::End(pkt)),
            Some(&link) if self.plan.merges[link.0 as usize] => {
                let hop = self.hop(pkt);
                self.schedule(at, Rank::Merge, hop, Event::Link(link, pkt));
            }
            Some(&link) => self.schedule(at, Rank::Flow, taker, Event::Link(link, pkt)),
        }
    }

    /// The hop by which a packet goes to a merging link: it orders arrivals at the same time.
    fn hop(&self, pkt: Pkt) -> u32 {
        let mut links = 0;
        for i in self.plan.way_range(pkt.flow() as usize, pkt.is_ack() as usize) {
            let hop = &self.plan.hops[i];
            links += (hop.links.1 - hop.links.0) as usize;
            if let Stop::Merge(_) = hop.stop {
                if links == pkt.hop() as usize {
                    return i as u32;
                }
                links += 1;
            }
        }
        unreachable!("a hop of the way ends at every merging link")
    }

    fn arrive(&mut self, now: Time, id: LinkId, pkt: Pkt) {
        let class = self.classes[pkt.flow() as usize][pkt.is_ack() as usize];
        let left = &mut self.left;
        self.links[id.0 as usize].arrive(now, (0, class), pkt, left);
        self.went_on(id);
    }

    fn serve(&mut self, now: Time, id: LinkId) {
        let left = &mut self.left;
        self.links[id.0 as usize].run(now, left);
        self.went_on(id);
    }

    /// Takes what left a link's queue further, and comes back when the next packet does.
    fn went_on(&mut self, id: LinkId) {
        let next = self.links[id.0 as usize].next();
        // One that moves earlier leaves an event behind that finds nothing due.
        if let Some(next) = next.filter(|next| *next != self.departures[id.0 as usize]) {
            self.departures[id.0 as usize] = next;
            self.schedule(next, Rank::Service, id.0, Event::Service(id));
        }
        for packet in std::mem::take(&mut self.left) {
            match packet {
                Left::Dropped(pkt) => {
                    self.count.dropped += 1;
                    self.sacks.take(pkt);
                }
                Left::Sent(_, pkt, flight) if flight.lost => {
                    self.count.lost += 1;
                    self.sacks.take(pkt);
                }
                Left::Sent(_, mut pkt, flight) => {
                    pkt.set_hop(pkt.hop() + 1);
                    if flight.copied {
                        self.count.duplicated += 1;
                        self.sacks.share(&mut pkt);
                        self.go_on(flight.arrives, pkt);
                    }
                    self.go_on(flight.arrives, pkt);
                }
            }
        }
    }
}

/// Runs a network.
pub(crate) fn run(network: Network, control: &Control) -> Result<Outcome, Error> {
    let plan = Plan::new(&network)?;
    let bounds = bounds(&network.measure);
    let measure = network.measure.clone();
    let round_trips = RoundTrips::new(&network);
    let mut ends = Ends::new(&network, &bounds, control)?;
    let takers = (0..).zip(&network.flows).map(|(i, f)| f.first_connection().unwrap_or(i)).collect();
    let ways = network.flows.iter().map(|f| [f.forward.clone(), f.reverse.clone()]).collect();
    let recorders: Vec<_> = (0..network.links.len()).map(|i| recorder(&network, i, control)).collect();
    let seed = network.seed;
    let hosts = hosts_of_flows(&network);
    let access = network.flows.iter().zip(&ends.flows).map(|(spec, flow)| {
        let link = spec.forward[0].0;
        flow.asks_host().then(|| Wire::new(&network.links[link as usize], seed, link))
    });
    let access = access.collect();
    let links = network.links.into_iter().zip(recorders).enumerate().map(|(i, (mut spec, recorder))| {
        let wire = Wire::new(&spec, seed, i as u32);
        let taps = taps(control, ends.tracer.as_ref(), &spec, i);
        let rate = spec.transmitter();
        let queue = Waiting::of(&mut spec, seed, i);
        let observer = Tapped::new(recorder, taps);
        ServedLink::new(queue, &rate, wire, observer, hosts.clone())
    });
    let links: Vec<_> = links.collect();
    let mut net = Net {
        plan,
        takers,
        access,
        ways,
        departures: vec![Time::MAX; links.len()],
        links,
        left: Vec::new(),
        heap: BinaryHeap::new(),
        scheduled: 0,
        classes: ends.classes.clone(),
        sacks: SackTable::default(),
        transfers: Vec::new(),
        round_trips,
        bounds: bounds.clone(),
        count: Conservation::default(),
    };
    // The earliest timer event of each flow. One that comes too early finds nothing due and is
    // scheduled again; a deadline that moves earlier gets an event of its own.
    let mut timers = vec![Time::MAX; ends.flows.len()];
    for (i, flow) in ends.flows.iter().enumerate() {
        timers[i] = flow.due();
        net.schedule(flow.due(), Rank::Flow, i as u32, Event::Timer(i as u32));
    }

    let mut events = 0u64;
    while let Some(Reverse(((now, ..), event))) = net.heap.pop() {
        if now >= measure.end {
            // Put it back: it is still on its way.
            net.heap.push(Reverse(((now, Rank::Flow, 0, 0), event)));
            break;
        }
        if events.is_multiple_of(CHECK_EVERY) {
            report(control, now)?;
        }
        events += 1;
        let flow = match event {
            Event::Service(link) => {
                net.serve(now, link);
                continue;
            }
            Event::Link(link, pkt) => {
                net.arrive(now, link, pkt);
                continue;
            }
            Event::Timer(flow) => {
                if timers[flow as usize] == now {
                    timers[flow as usize] = Time::MAX;
                }
                ends.flows[flow as usize].advance(now, &mut net);
                flow
            }
            Event::End(pkt) => {
                net.count.delivered += 1;
                let taker = net.takers[pkt.flow() as usize];
                ends.flows[taker as usize].on_packet(now, pkt, &mut net);
                taker
            }
        };
        let due = ends.flows[flow as usize].due();
        if due < timers[flow as usize] {
            timers[flow as usize] = due;
            net.schedule(due, Rank::Flow, flow, Event::Timer(flow));
        }
    }

    let mut count = net.count;
    let on_their_way = |e: &&Scheduled| matches!(e.0.1, Event::Link(..) | Event::End(_));
    count.in_flight += net.heap.iter().filter(on_their_way).count() as u64;
    let mut recorded = Vec::new();
    for link in net.links {
        let (measured, waiting) = link.finish(measure.end, &mut Vec::new());
        count.in_flight += waiting;
        recorded.extend(measured);
    }
    let mut transfers = net.transfers;
    let flows = ends.finish(&bounds, &mut transfers);
    Ok(outcome(recorded, flows, transfers, net.round_trips, measure.warmup, count, events))
}
