//! The fast engine: an event only where flows merge.
//!
//! A packet that passes a merging link has its departure computed at once, and everything up to its
//! next stop with it: private links, the receiver and its acknowledgment, the sender and what it
//! sends. That runs ahead of the clock for one flow at a time, which is exact because nothing else
//! can touch that flow in between except its own timers, and [`Flow`] runs those first.

use quell_aqm::Seed;
use quell_queue::{Admission, Fifo, Gate};
use quell_units::Time;

use super::lindley::LindleyQueue;
use super::ring::Ring;
use super::service::ServiceQueue;
use super::tree::WinnerTree;
use super::{CHECK_EVERY, Ends, bounds, outcome, recorder, report};
use crate::flow::{Flow, Host};
use crate::network::{LinkId, Network};
use crate::outcome::{Conservation, Outcome, Transfer};
use crate::packet::{Pkt, SackTable};
use crate::route::{Plan, Stop};
use crate::wire::Wire;
use crate::{Control, Error};

/// A link's queue.
enum Queue {
    /// Unlimited and not observed: the wire is enough.
    Plain,
    /// Decides on arrival.
    Lindley(Box<LindleyQueue>),
    /// Decides at the head, served by events of this source.
    Served(Box<ServiceQueue>, u32),
}

struct Link {
    wire: Wire,
    queue: Queue,
}

/// What waits for a stop, by time.
type Stream = Ring<(Time, Pkt)>;

/// Where each kind of source begins among the leaves of the tree.
struct Sources {
    /// The flows, after the served links.
    flows: u32,
    /// The streams, after the flows.
    streams: u32,
}

/// The network between the ends.
struct Net {
    plan: Plan,
    links: Vec<Link>,
    streams: Vec<Stream>,
    tree: WinnerTree,
    sources: Sources,
    classes: Vec<[u16; 2]>,
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
    fn send(&mut self, now: Time, pkt: Pkt) {
        self.count.sent += 1;
        if let Some(at) = self.forward(now, &pkt) {
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
    /// Takes a packet that has just left a stop, or its sender, to its next stop; returns when it
    /// is at its other end, if nothing stops it before.
    #[inline]
    fn forward(&mut self, mut now: Time, pkt: &Pkt) -> Option<Time> {
        let hop = self.plan.hop(pkt);
        for i in hop.links.0..hop.links.1 {
            let wire = &mut self.links[self.plan.private[i as usize].0 as usize].wire;
            let start = wire.start(now);
            let flight = wire.transmit(start, pkt.bytes);
            if flight.lost {
                self.lose(start, pkt);
                return None;
            }
            now = flight.arrives;
        }
        if now >= self.end {
            // Nothing that happens then can be seen.
            self.count.in_flight += 1;
            self.sacks.take(pkt);
            return None;
        }
        let Some(stream) = hop.stream else { return Some(now) };
        // Out of order only after a wire's delay has shrunk.
        if self.streams[stream.0 as usize].insert_sorted((now, *pkt), |(t, _)| *t > now) == 0 {
            self.tree.set(self.sources.streams + stream.0, now);
        }
        None
    }

    /// A wire loses a packet whose transmission begins at `start`.
    fn lose(&mut self, start: Time, pkt: &Pkt) {
        if start < self.end {
            self.count.lost += 1;
        } else {
            self.count.in_flight += 1;
        }
        self.sacks.take(pkt);
    }

    /// A packet arrives at a merging link; returns when it is at its other end, if nothing stops it
    /// before.
    #[inline]
    fn arrive(&mut self, now: Time, id: LinkId, pkt: &mut Pkt) -> Option<Time> {
        let link = &mut self.links[id.0 as usize];
        let class = self.classes[pkt.flow as usize][pkt.is_ack() as usize];
        pkt.hop += 1;
        let (start, flight) = match &mut link.queue {
            Queue::Plain => {
                let start = link.wire.start(now);
                (start, link.wire.transmit(start, pkt.bytes))
            }
            Queue::Lindley(queue) => {
                let (admission, flight) = queue.arrive(now, class, pkt, &mut link.wire);
                if admission == Admission::Marked {
                    quell_queue::Packet::set_ce(pkt);
                }
                let Some(started) = flight else {
                    self.count.dropped += 1;
                    self.sacks.take(pkt);
                    return None;
                };
                started
            }
            Queue::Served(queue, _) => {
                if let Admission::Dropped(_) = queue.arrive(now, class, *pkt, &link.wire) {
                    self.count.dropped += 1;
                    self.sacks.take(pkt);
                } else if link.wire.busy_until <= now {
                    self.serve(now, id);
                }
                return None;
            }
        };
        if flight.lost {
            self.lose(start, pkt);
            return None;
        }
        self.forward(flight.arrives, pkt)
    }

    /// The wire of a served link is free.
    fn serve(&mut self, now: Time, id: LinkId) {
        let link = &mut self.links[id.0 as usize];
        let Queue::Served(queue, source) = &mut link.queue else { return };
        let (count, sacks) = (&mut self.count, &mut self.sacks);
        let started = queue.serve(now, &mut link.wire, |pkt| {
            count.dropped += 1;
            sacks.take(pkt);
        });
        let Some((pkt, flight)) = started else {
            self.tree.set(*source, Time::MAX);
            return;
        };
        self.tree.set(*source, link.wire.busy_until);
        if flight.lost {
            self.lose(now, &pkt);
        } else if let Some(at) = self.forward(flight.arrives, &pkt) {
            self.arrivals.push_back((at, pkt));
        }
    }
}

struct Engine {
    net: Net,
    flows: Vec<Flow>,
    configs: Vec<crate::tcp::Config>,
}

impl Engine {
    /// Delivers what arrived without a stop, and what that sends, and so on.
    #[inline]
    fn deliver_arrivals(&mut self) {
        while let Some((at, pkt)) = self.net.arrivals.pop_front() {
            self.deliver(at, &pkt);
        }
    }

    #[inline]
    fn deliver(&mut self, at: Time, pkt: &Pkt) {
        self.net.count.delivered += 1;
        let flow = &mut self.flows[pkt.flow as usize];
        flow.on_packet(&self.configs, at, pkt, &mut self.net);
        self.watch(pkt.flow);
    }

    /// Makes sure that the flow's next timer has its event. One that comes too early does no harm
    /// and finds the right time, so only an earlier deadline moves it.
    #[inline]
    fn watch(&mut self, flow: u32) {
        let due = self.flows[flow as usize].due();
        let source = self.net.sources.flows + flow;
        if due < self.net.tree.get(source) {
            self.net.tree.set(source, due);
        }
    }

    /// A flow's own event.
    fn wake(&mut self, now: Time, flow: u32) {
        self.flows[flow as usize].advance(&self.configs, now, &mut self.net);
        let due = self.flows[flow as usize].due();
        self.net.tree.set(self.net.sources.flows + flow, due);
    }

    /// The front of a stream reaches its stop.
    #[inline]
    fn pop(&mut self, now: Time, stream: u32) {
        let packets = &mut self.net.streams[stream as usize];
        let Some((_, mut pkt)) = packets.pop_front() else { return };
        let next = packets.front().map_or(Time::MAX, |(t, _)| t);
        self.net.tree.set(self.net.sources.streams + stream, next);
        let arrived = match self.net.plan.hop(&pkt).stop {
            Stop::Merge(link) => self.net.arrive(now, link, &mut pkt),
            Stop::Relay => {
                pkt.hop += 1;
                self.net.forward(now, &pkt)
            }
            Stop::End => Some(now),
        };
        if let Some(at) = arrived {
            self.deliver(at, &pkt);
        }
    }
}

fn links(network: Network, plan: &Plan) -> (Vec<Link>, u32) {
    let seed: Seed = network.seed;
    let mut served = 0;
    let mut recorders: Vec<_> = (0..network.links.len()).map(|i| recorder(&network, i)).collect();
    let links = network.links.into_iter().enumerate().map(|(i, spec)| {
        let wire = Wire::new(&spec, seed, i as u32);
        if !plan.merges[i] || (spec.queue.is_none() && !spec.observe) {
            return Link { wire, queue: Queue::Plain };
        }
        let recorder = recorders[i].take();
        let rng = seed.indexed_stream("link.aqm", i as u64);
        let rate = spec.rate.initial;
        let (aqm, limit, ecn) = super::queue_parts(spec.queue);
        let queue = if quell_aqm::Aqm::decides_at_dequeue(&aqm) {
            let fifo = Fifo::new(aqm, rng, limit, ecn, Some(rate));
            served += 1;
            Queue::Served(Box::new(ServiceQueue::new(fifo, recorder)), served - 1)
        } else {
            Queue::Lindley(Box::new(LindleyQueue::new(Gate::new(aqm, rng, limit, ecn), rate, recorder)))
        };
        Link { wire, queue }
    });
    let links = links.collect();
    (links, served)
}

/// Runs a network.
pub(crate) fn run(network: Network, control: &Control) -> Result<Outcome, Error> {
    let plan = Plan::new(&network)?;
    let bounds = bounds(&network);
    let measure = network.measure.clone();
    let ends = Ends::new(&network, &bounds)?;
    let (links, served) = links(network, &plan);
    let sources = Sources { flows: served, streams: served + ends.flows.len() as u32 };
    let mut tree = WinnerTree::new((sources.streams + plan.streams) as usize, measure.end)?;
    for (i, flow) in ends.flows.iter().enumerate() {
        tree.set(sources.flows + i as u32, flow.due());
    }
    let served_links: Vec<LinkId> = links
        .iter()
        .enumerate()
        .filter(|(_, l)| matches!(l.queue, Queue::Served(..)))
        .map(|(i, _)| LinkId(i as u32))
        .collect();
    let mut engine = Engine {
        net: Net {
            streams: (0..plan.streams).map(|_| Ring::with_capacity(16)).collect(),
            plan,
            links,
            tree,
            sources,
            classes: ends.classes.clone(),
            sacks: SackTable::default(),
            transfers: Vec::new(),
            bounds: bounds.clone(),
            end: measure.end,
            count: Conservation::default(),
            arrivals: Ring::with_capacity(4),
        },
        flows: ends.flows,
        configs: ends.configs,
    };

    let mut events = 0u64;
    while let Some((now, source)) = engine.net.tree.first() {
        if now >= measure.end {
            break;
        }
        if events.is_multiple_of(CHECK_EVERY) {
            report(control, now)?;
        }
        events += 1;
        if source >= engine.net.sources.streams {
            engine.pop(now, source - engine.net.sources.streams);
        } else if source >= engine.net.sources.flows {
            engine.wake(now, source - engine.net.sources.flows);
        } else {
            engine.net.serve(now, served_links[source as usize]);
        }
        engine.deliver_arrivals();
    }

    let Engine { net, flows, configs } = engine;
    let mut count = net.count;
    count.in_flight += net.streams.iter().map(|s| s.len() as u64).sum::<u64>();
    let mut recorded = Vec::new();
    for link in net.links {
        let recorder = match link.queue {
            Queue::Plain => None,
            Queue::Lindley(queue) => queue.finish(measure.end, &link.wire),
            Queue::Served(queue, _) => {
                count.in_flight += queue.len() as u64;
                queue.finish(measure.end, &link.wire)
            }
        };
        recorded.extend(recorder.map(|r| r.finish()));
    }
    let ends = Ends { flows, configs, classes: net.classes };
    let flows = ends.finish(&bounds);
    Ok(outcome(recorded, flows, net.transfers, measure.warmup, count, events))
}
