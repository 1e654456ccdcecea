//! The two engines and what they share.

mod drive;
pub(crate) mod fast;
mod inbox;
mod lindley;
mod link;
mod moving;
mod net;
mod part;
mod prefetch;
pub(crate) mod reference;
mod ring;
mod service;
mod split;
mod tree;
mod waiting;

use std::sync::Arc;

use quell_aqm::catalog::{AnyAlgorithm, AnyAqm};
use quell_aqm::drop_tail::DropTail;
use quell_queue::Limit;
use quell_tcp::{Config, TcpParams};
use quell_units::Time;

use crate::flow::{Alone, Flow, Group, Steps, Traced};
use crate::network::{LinkId, LinkSpec, Network, QueueSpec, Traffic};
use crate::outcome::{Conservation, Fate, FlowOutcome, LinkOutcome, Outcome, Transfer};
use crate::record::{Losses, Recorder, RoundTrips};
use crate::route::merges;
use crate::tap::Tap;
use crate::trace::log::{LinkTap, Tracer};
use crate::trace::{Chosen, Trace, TraceRequest};
use crate::{Control, Error};

/// The flows of a network and their classes.
struct Ends {
    flows: Vec<Flow>,
    /// Per flow: the class of its data and of its acknowledgments.
    classes: Vec<[u16; 2]>,
    alone: Alone,
    warmup: Time,
    tracer: Option<Arc<Tracer>>,
}

impl Ends {
    fn new(network: &Network, bounds: &[Time], control: &Control) -> Result<Self, Error> {
        let observed = |link: &LinkId| network.links.get(link.0 as usize).is_some_and(|l| l.observe);
        if let Some(LinkId(link)) = control.logged.iter().find(|link| !observed(link)) {
            return Err(Error::Invalid(format!("link {link} is not observed, so it has no log")));
        }
        if control.trace.as_ref().is_some_and(|trace| !trace.packets.is_none() && !trace.links.is_none())
            && let Some(why) = network.untraceable()
        {
            return Err(Error::Invalid(why));
        }
        let tracer = control.trace.as_ref().map(|_| Arc::<Tracer>::default());
        if let Some(TraceRequest { links: Chosen::These(links), .. }) = &control.trace
            && let Some(LinkId(link)) = links.iter().find(|link| !observed(link))
        {
            return Err(Error::Invalid(format!(
                "link {link} is not observed, so its packets are not traced"
            )));
        }
        let mut known: Vec<(&TcpParams, u8, bool, Arc<Group>)> = Vec::new();
        let merges = merges(network);
        let mut flows = Vec::with_capacity(network.flows.len());
        let mut alone = Alone::new(network);
        let steps = Steps::of(network, bounds);
        for (i, spec) in network.flows.iter().enumerate() {
            let mut config = None;
            if let Traffic::Tcp { tcp, .. } = &spec.traffic {
                // Who sits on a router has no link that only its packets wait for.
                let has_access = !merges[spec.forward[0].0 as usize];
                // Flows of one group follow each other: look at the latest first.
                let at = known.iter().rposition(|k| (k.1, k.2) == (spec.dscp, has_access) && k.0 == tcp);
                if at.is_none() {
                    let new = Config::new(tcp).map_err(|e| Error::Invalid(format!("flow {i}: tcp.{e}")))?;
                    let new = if has_access { new.with_host() } else { new };
                    known.push((tcp, spec.dscp, has_access, Arc::new(Group::new(new, spec.dscp))));
                }
                let found = &known[at.unwrap_or(known.len() - 1)].3;
                alone.add(network, i as u32, found);
                config = Some(found);
            }
            let flow = Flow::new(i as u32, spec, config, network.seed, (bounds, steps.as_ref()));
            let is_watched = control.windows_of.as_ref().is_none_or(|those| those.contains(&(i as u32)));
            let flow = match control.windows.filter(|_| is_watched) {
                Some(step) => flow.watched(step, network.measure.end),
                None => flow,
            };
            let flow = if spec.timed { flow.timed(bounds) } else { flow };
            flows.push(match (&control.trace, &tracer) {
                (Some(request), Some(tracer)) if spec.first_connection().is_none() => {
                    let others =
                        network.flows[i + 1..].iter().take_while(|f| f.first_connection() == Some(i as u32));
                    let numbers = (i as u32, 1 + others.count() as u32);
                    Traced::around(flow, numbers, request, config, network.measure.end, tracer)
                }
                _ => flow,
            });
        }
        let classes = network.flows.iter().map(|f| [f.class, f.ack_class]).collect();
        Ok(Ends { flows, classes, alone, warmup: network.measure.warmup, tracer })
    }

    /// The outcomes of the flows, and the traces; the links are done. Adds to `transfers`, which are acknowledged, those
    /// that are complete and are not, and to each the time that it takes alone.
    fn finish(
        self,
        bounds: &[Time],
        transfers: &mut Vec<Transfer>,
    ) -> (Vec<FlowOutcome>, Option<Box<Trace>>) {
        transfers.extend(self.flows.iter().flat_map(Flow::unacknowledged));
        self.alone.put(transfers, self.warmup);
        let mut outcomes = Vec::with_capacity(self.flows.len());
        for (flow, [class, _]) in self.flows.into_iter().zip(&self.classes) {
            flow.finish(*class, bounds, &mut outcomes);
        }
        (outcomes, self.tracer.map(|tracer| Box::new(tracer.finish(&self.classes))))
    }
}

/// Puts an outcome together; `links` are finished recorders in the order of the network's links.
fn outcome(
    mut links: Vec<(LinkOutcome, u64)>,
    (flows, trace): (Vec<FlowOutcome>, Option<Box<Trace>>),
    mut transfers: Vec<Transfer>,
    round_trips: RoundTrips,
    warmup: Time,
    conservation: Conservation,
    events: u64,
) -> Outcome {
    transfers.retain(|t| t.start >= warmup);
    transfers.sort_by_key(|t| (t.end, t.flow));
    round_trips.put_into(links.iter_mut().map(|(outcome, _)| outcome));
    let mut digest = 0u64;
    let mut fold = |x: u64| digest = (digest.rotate_left(29) ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    links.iter().for_each(|(_, d)| fold(*d));
    for s in flows.iter().flat_map(|f| &f.segments) {
        fold(s.delivered_bytes);
        fold(s.sent_packets << 32 ^ s.timeouts);
    }
    for t in &transfers {
        fold(t.end.nanos() ^ (t.flow as u64) << 40);
        fold(t.acknowledged.map_or(u64::MAX, Time::nanos));
    }
    let links = links.into_iter().map(|(outcome, _)| outcome).collect();
    Outcome { links, flows, transfers, conservation, digest, events, trace }
}

/// Events after which an engine looks again whether it should stop.
const CHECK_EVERY: u64 = 1 << 14;

/// Says how far the run is and whether to go on.
fn report(control: &Control, now: Time) -> Result<(), Error> {
    use std::sync::atomic::Ordering::Relaxed;
    control.progress_ns.store(now.nanos(), Relaxed);
    let goes_on = control.watcher.as_ref().is_none_or(|watcher| watcher.reached(now));
    if control.stop.load(Relaxed) || !goes_on { Err(Error::Interrupted) } else { Ok(()) }
}

/// The recorder of a link, if it is observed.
fn recorder(network: &Network, link: usize, control: &Control) -> Option<Recorder> {
    let spec = &network.links[link];
    let id = LinkId(link as u32);
    let losses = || Losses::new(id, network);
    let watcher = || control.watcher.clone();
    spec.observe.then(|| Recorder::new(id, spec, losses(), &network.measure, watcher()))
}

/// The observers that follow the packets at a link one by one.
fn taps(control: &Control, tracer: Option<&Arc<Tracer>>, spec: &LinkSpec, link: usize) -> Vec<Box<dyn Tap>> {
    let id = LinkId(link as u32);
    let mut taps: Vec<Box<dyn Tap>> = Vec::new();
    if control.logged.contains(&id) {
        taps.push(Box::new(Vec::<Fate>::new()));
    }
    if let (Some(request), Some(tracer)) = (&control.trace, tracer)
        && spec.observe
        && request.links.has(&id)
    {
        taps.push(Box::new(LinkTap::new(id, &request.packets, tracer)));
    }
    taps
}

/// A queue's algorithm, limit and whether it marks; an unlimited drop-tail queue for none.
fn queue_parts(spec: Option<QueueSpec>) -> (AnyAlgorithm, Limit, bool) {
    match spec {
        Some(q) => (q.algorithm, Limit::of(q.buffer), q.ecn),
        None => (AnyAqm::DropTail(DropTail).into(), Limit::Packets(u32::MAX), false),
    }
}
