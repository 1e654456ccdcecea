//! The fast engine: an event only where flows merge.
//!
//! When a packet passes a merging link, its departure is computed at once, and everything up to its
//! next stop with it: private links, the receiver and its acknowledgment, the sender and what it
//! sends. That runs ahead of the clock, which is exact because nothing else can touch a flow in
//! between except its own timers, and [`Flow`](crate::flow::Flow) runs those first.
//!
//! What happens at one link can reach another only after the delays between them. So a link is run
//! on as long as nothing at the other links and no timer can still send it an earlier packet
//! ([`Net::horizon`]), and packets that come sooner after each other than what they cause can come
//! back ([`Node::round`]) are taken together: all through the queue, then each over its hop and to its
//! flow ([`Part::settle`]). Both have a state of their own and keep the order of every flow, so it
//! does not matter that they do not take turns; and short loops over many packets are what a processor
//! is quick at.

use std::ops::Range;

use quell_units::Time;

use super::drive::{Ahead, drive};
use super::inbox::Inbox;
use super::link::Link;
use super::net::{NEVER, Net, Node, RELAY, reach};
use super::part::{Crowd, END, Hop, ON, Part, Settings, Ways};
use super::service::hosts_of_flows;
use super::split::{self, CHUNK, PARTS};
use super::tree::WinnerTree;
use super::{Ends, outcome, taps};
use crate::network::{LinkId, Network};
use crate::outcome::{Conservation, Outcome};
use crate::record::{RoundTrips, bounds};
use crate::route::{Plan, Stop};
use crate::wire::Wire;
use crate::{Control, Error};

/// Flows from which on prefetching pays, and parts that other cores can take further.
const MANY_FLOWS: usize = 5000;

/// A run in a browser has one core, so that its module has no code for several.
const ONE_CORE: bool = cfg!(target_family = "wasm");

/// All flows, one after the other.
impl Ahead for Part<Net> {
    #[inline]
    fn net(&mut self) -> &mut Net {
        &mut self.ways.beyond
    }

    fn wake(&mut self, part: u32) {
        Part::wake(self);
        let due = self.due();
        self.ways.beyond.timers.set(part, due);
    }

    fn visit(&mut self, node: u32) {
        self.ways.beyond.begin(node);
        loop {
            let Ways { beyond: net, moving, gone, .. } = &mut self.ways;
            if !net.pass(node, net.horizon, moving, gone) {
                return net.leave(node);
            }
            if node == RELAY {
                self.ways.relay();
            }
            self.settle();
        }
    }
}

/// The hops of all ways and where those of each flow begin. `merging` gives each merging link its
/// node. Only those of `flows`; their numbers, like those of `classes`, begin where those before end.
fn hops(
    plan: &Plan,
    network: &Network,
    merging: &[u32],
    flows: Range<usize>,
    classes: &mut Vec<u16>,
) -> (Vec<Hop>, Vec<[u32; 2]>) {
    let wire = |link: &LinkId| Wire::new(&network.links[link.0 as usize], network.seed, link.0);
    let (mut hops, mut ways) = (Vec::new(), Vec::with_capacity(flows.len()));
    let begin = flows.start;
    for (flow, spec) in flows.clone().zip(&network.flows[flows]) {
        if let Some(first) = spec.first_connection() {
            ways.push(ways[first as usize - begin]);
            continue;
        }
        ways.push([(0, spec.class), (1, spec.ack_class)].map(|(direction, class)| {
            let first = classes.len();
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
    (hops, ways)
}

/// Runs a network.
pub(crate) fn run(mut network: Network, control: &Control) -> Result<Outcome, Error> {
    let plan = Plan::new(&network)?;
    let bounds = bounds(&network.measure);
    let measure = network.measure.clone();
    let round_trips = RoundTrips::new(&network);
    let mut ends = Ends::new(&network, &bounds, control)?;

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
    // A part of them has a power of two of flows.
    let number = network.flows.len();
    let many = number >= MANY_FLOWS;
    let parts = control.parts.unwrap_or(if many { PARTS } else { 1 }).clamp(1, number.max(1));
    let parts = if ONE_CORE { 1 } else { parts };
    let mut shift = number.div_ceil(parts).next_power_of_two().trailing_zeros();
    // The connections of one client's pages are in one part.
    let apart = |shift: u32| {
        let together = (0..).zip(&network.flows).filter_map(|(i, f)| Some((i, f.first_connection()?)));
        together.into_iter().any(|(i, first): (u32, u32)| i >> shift != first >> shift)
    };
    while apart(shift) {
        shift += 1;
    }
    let mut classes_of_hops = Vec::new();
    let mut crowds = Vec::new();
    let mut flows = std::mem::take(&mut ends.flows).into_iter();
    for first in (0..number.max(1)).step_by(1 << shift) {
        let range = first..(first + (1 << shift)).min(number);
        let first_hop = classes_of_hops.len() as u32;
        let (hops, ways) = hops(&plan, &network, &merging, range, &mut classes_of_hops);
        let flows = flows.by_ref().take(1 << shift).collect();
        crowds.push((first_hop, Crowd { flows, hops, ways }));
    }
    let hosts = hosts_of_flows(&network);
    let links: Vec<Link> = (0..network.links.len())
        .filter(|i| plan.merges[*i])
        .map(|i| {
            let taps = taps(control, ends.tracer.as_ref(), &network.links[i], i);
            Link::new(&mut network, i, bits, taps, &hosts, control)
        })
        .collect();
    drop(network);

    let net = Net {
        classes: classes_of_hops,
        links,
        waiting: WinnerTree::new(nodes.len(), measure.end)?,
        nodes,
        timers: WinnerTree::new(crowds.len(), measure.end)?,
        bits,
        prefetches: many,
        round_trips,
        end: measure.end,
        events: 0,
        running: RELAY,
        horizon: Time::ZERO,
        soon: Time::ZERO,
    };
    let settings = Settings { bits, bounds: bounds.clone(), end: measure.end, prefetches: many };
    let (net, parts) = match <[_; 1]>::try_from(crowds) {
        Ok([(_, all)]) => {
            let mut all = Part::new((0, 0, 0), all, &settings, net)?;
            let due = all.due();
            all.ways.beyond.timers.set(0, due);
            drive(&mut all, measure.end, control)?;
            let (net, rest) = all.finish();
            (net, vec![rest])
        }
        Err(_) if ONE_CORE => unreachable!("there is one part"),
        Err(crowds) => {
            // Whoever asks for parts wants them used, even in a small network.
            let chunk = if control.parts.is_some() { 8 } else { CHUNK };
            split::run(net, crowds, shift, &settings, (chunk, &control.idle), |split| {
                drive(split, measure.end, control)
            })?
        }
    };

    let mut count = Conservation::default();
    let (mut flows, mut transfers) = (Vec::with_capacity(number), Vec::new());
    for part in parts {
        count += part.count;
        flows.extend(part.flows);
        transfers.extend(part.transfers);
    }
    count.in_flight += net.nodes.iter().map(|n| n.inbox.len() as u64).sum::<u64>();
    let mut recorded = Vec::new();
    for link in net.links {
        recorded.extend(match link {
            Link::Plain(_) => None,
            Link::Arrival(queue) => queue.finish(measure.end),
            Link::Head(link) => {
                let (measured, waiting) = link.finish(measure.end);
                count.in_flight += waiting;
                measured
            }
        });
    }
    let flows = Ends { flows, ..ends }.finish(&bounds, &mut transfers);
    Ok(outcome(recorded, flows, transfers, net.round_trips, measure.warmup, count, net.events))
}
