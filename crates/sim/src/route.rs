//! Which steps of a packet's way need an event.
//!
//! A packet's way is cut at its *stops*: the links where flows merge, and the few places where
//! packets of one flow may overtake each other. Between stops nothing can interfere, so those links
//! are computed ahead, in the order of the flow, when the packet leaves its last stop. What waits to
//! reach a stop waits in a *stream*, sorted by time; packets that reach a link at the same instant
//! are served in the order of their streams' numbers. Both engines use the same plan, so they agree
//! on ties.

use crate::Error;
use crate::network::{App, LinkId, LinkSpec, Network, Traffic};

/// The index of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamId(pub u32);

/// Where a packet must wait for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A link that several flows share, or that is measured.
    Merge(LinkId),
    /// The links before it may reorder: go on from here in order of time.
    Relay,
    /// The other end of the flow.
    End,
}

/// One step of a way: links that only this flow uses, then a stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// The private links: a range of [`Plan::private`].
    pub links: (u32, u32),
    pub stop: Stop,
    /// Where the packet waits for the stop; `None` if it is reached without an event.
    pub stream: Option<StreamId>,
    /// Packets that reach the stop by this step do so in the order in which they set out.
    pub in_order: bool,
}

/// How a network is run.
pub(crate) struct Plan {
    hops: Vec<Hop>,
    /// Where in `hops` each way ends: of each flow that of data, then that of acknowledgments.
    ends: Vec<u32>,
    pub private: Vec<LinkId>,
    /// Streams of one flow only: those of flow f are number `own[f]` to before `own[f + 1]`.
    own: Vec<u32>,
    /// The outputs of merging links come after them.
    pub streams: u32,
    /// Per link: whether flows merge there.
    pub merges: Vec<bool>,
}

/// A stream is private to a step of a flow, or the output of a merging link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Own,
    Output(LinkId),
}

/// Whether packets on the link's wire may overtake each other.
fn reorders(link: &LinkSpec) -> bool {
    let mut before = link.delay.initial;
    link.delay.changes.iter().any(|&(_, delay)| delay < std::mem::replace(&mut before, delay))
}

impl Plan {
    pub fn new(network: &Network) -> Result<Plan, Error> {
        check(network)?;
        let mut users = vec![0u32; network.links.len()];
        for flow in &network.flows {
            for link in flow.forward.iter().chain(&flow.reverse) {
                users[link.0 as usize] += 1;
            }
        }
        let merges: Vec<bool> = network
            .links
            .iter()
            .zip(&users)
            .map(|(link, users)| *users > 1 || link.observe || link.queue.is_some())
            .collect();
        let mut plan = Plan {
            hops: Vec::new(),
            ends: Vec::new(),
            private: Vec::new(),
            own: vec![0],
            streams: 0,
            merges,
        };
        let mut ways = Vec::with_capacity(2 * network.flows.len());
        for flow in &network.flows {
            ways.push(plan.cut(network, &flow.forward, true));
            ways.push(match flow.traffic {
                Traffic::Tcp { .. } => plan.cut(network, &flow.reverse, false),
                Traffic::Udp(_) => Vec::new(),
            });
        }
        plan.number_streams(&mut ways);
        for way in ways {
            plan.hops.extend(way.into_iter().map(|(hop, _)| hop));
            plan.ends.push(plan.hops.len() as u32);
        }
        Ok(plan)
    }

    /// Cuts a way into hops.
    fn cut(&mut self, network: &Network, links: &[LinkId], data: bool) -> Vec<(Hop, Key)> {
        let mut way = Vec::new();
        let mut begin = self.private.len() as u32;
        // The merging link just left, if no private link has come since.
        let mut output = None;
        let mut shuffled = false;
        let mut stopped = false;
        let mut stop = |plan: &mut Plan, stop: Stop, event: bool, output: Option<LinkId>, in_order: bool| {
            let links = (begin, plan.private.len() as u32);
            begin = links.1;
            // Numbered below; a placeholder says that there is one.
            let key = match (stop, output) {
                (Stop::Merge(_), Some(link)) => Key::Output(link),
                _ => Key::Own,
            };
            way.push((Hop { links, stop, stream: event.then_some(StreamId(0)), in_order }, key));
        };
        for &id in links {
            let link = &network.links[id.0 as usize];
            if self.merges[id.0 as usize] {
                stop(self, Stop::Merge(id), true, output, !shuffled);
                output = Some(id);
                shuffled = reorders(link);
                stopped = true;
            } else {
                if shuffled {
                    stop(self, Stop::Relay, true, None, false);
                    stopped = true;
                }
                self.private.push(id);
                output = None;
                shuffled = reorders(link);
            }
        }
        // Data must stop somewhere, or sender and receiver would call each other without end.
        stop(self, Stop::End, shuffled || (data && !stopped), None, !shuffled);
        way
    }

    /// The way of a flow's data (0) or acknowledgments (1).
    pub fn way(&self, flow: usize, direction: usize) -> &[Hop] {
        let i = 2 * flow + direction;
        let begin = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.hops[begin as usize..self.ends[i] as usize]
    }

    /// The streams of one flow only.
    pub fn own_streams(&self, flow: usize) -> std::ops::Range<u32> {
        self.own[flow]..self.own[flow + 1]
    }

    /// Streams of a flow in the order of the flows, those to a relay or an end first: what leaves
    /// them may at the same instant come to a merging link. Then the outputs of merging links.
    fn number_streams(&mut self, ways: &mut [Vec<(Hop, Key)>]) {
        let mut next = 0;
        let mut number = |hop: &mut Hop| {
            hop.stream = Some(StreamId(next));
            next += 1;
            next
        };
        for both in ways.chunks_mut(2) {
            let mut end = self.own[self.own.len() - 1];
            for merge in [false, true] {
                let own = |(hop, key): &&mut (Hop, Key)| {
                    let merges = matches!(hop.stop, Stop::Merge(_));
                    hop.stream.is_some() && merges == merge && *key == Key::Own
                };
                for (hop, _) in both.iter_mut().flatten().filter(own) {
                    end = number(hop);
                }
            }
            self.own.push(end);
        }
        let mut outputs = vec![None; self.merges.len()];
        for (hop, key) in ways.iter_mut().flatten() {
            if let Key::Output(link) = key {
                let output = &mut outputs[link.0 as usize];
                if output.is_none() {
                    self.streams = number(hop);
                    *output = hop.stream;
                }
                hop.stream = *output;
            }
        }
        self.streams = self.streams.max(self.own[self.own.len() - 1]);
    }
}

fn check(network: &Network) -> Result<(), Error> {
    let invalid = |why: String| Err(Error::Invalid(why));
    let name = |i: usize| match network.links[i].name.as_str() {
        "" => format!("link {i}"),
        name => format!("link {i} ({name})"),
    };
    for (i, link) in network.links.iter().enumerate() {
        let rates = std::iter::once(link.rate.initial).chain(link.rate.changes.iter().map(|c| c.1));
        if rates.into_iter().any(|r| r.bps() == 0) {
            return invalid(format!("{}: a rate must be above 0 bit/s", name(i)));
        }
        if !(0.0..1.0).contains(&link.loss) {
            return invalid(format!("{}: loss {} must lie in [0, 1)", name(i), link.loss));
        }
        let rising = |t: &mut dyn Iterator<Item = quell_units::Time>| {
            let times: Vec<_> = t.collect();
            times.windows(2).all(|w| w[0] < w[1])
        };
        if !rising(&mut link.rate.changes.iter().map(|c| c.0))
            || !rising(&mut link.delay.changes.iter().map(|c| c.0))
        {
            return invalid(format!("{}: the times of changes must rise", name(i)));
        }
    }
    for (i, flow) in network.flows.iter().enumerate() {
        let ways = flow.forward.iter().chain(&flow.reverse);
        if let Some(l) = ways.into_iter().find(|l| l.0 as usize >= network.links.len()) {
            return invalid(format!("flow {i}: there is no link {}", l.0));
        }
        if flow.forward.is_empty() {
            return invalid(format!("flow {i}: its way to the receiver has no link"));
        }
        if flow.forward.len().max(flow.reverse.len()) > 200 {
            return invalid(format!("flow {i}: a way may have 200 links at most"));
        }
        if flow.reverse.is_empty() && matches!(flow.traffic, Traffic::Tcp { .. }) {
            return invalid(format!("flow {i}: its way back has no link, and TCP needs one"));
        }
        if let Traffic::Tcp { app: App::Transfers { count: Some(0), .. }, .. } = flow.traffic {
            return invalid(format!("flow {i}: it must make at least one transfer"));
        }
        if flow.class.max(flow.ack_class) as usize >= network.classes.len() {
            return invalid(format!("flow {i}: there is no class {}", flow.class.max(flow.ack_class)));
        }
    }
    let m = &network.measure;
    let mut times = vec![m.warmup];
    times.extend(&m.boundaries);
    times.push(m.end);
    if times.windows(2).any(|w| w[0] >= w[1]) {
        return invalid("the end of the warm-up, the segments and the end of the run must rise".into());
    }
    if m.step.is_some_and(|s| s.is_zero() || m.end.nanos() / s.nanos() > 100_000_000) {
        return invalid("the step of the time series must give at most 100 million samples".into());
    }
    Ok(())
}
