//! The steps of a packet's way that need an event.
//!
//! A packet's way is cut at its *stops*: the links where flows merge, and the few places where
//! packets of one flow may overtake each other. Between stops nothing can interfere, so those links
//! are computed ahead, in the order of the flow, when the packet leaves its last stop. Packets that
//! reach a link at the same instant are served in the order of their hops' numbers, those of one hop
//! as they set out. Both engines use the same plan, so they agree on ties.

use std::ops::Range;

use crate::Error;
use crate::network::{App, FlowSpec, LinkId, LinkSpec, Network, Traffic};

/// A place where a packet must wait for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A link that several flows share, or that is measured.
    Merge(LinkId),
    /// The link before it may reorder or copy: go on from here in order of time.
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
    /// The stop takes an event; it does not where nothing can come between.
    pub event: bool,
}

/// The plan by which a network is run.
pub(crate) struct Plan {
    /// All ways, one after the other.
    pub hops: Vec<Hop>,
    /// Per flow: the first hop of data, of acknowledgments, and the one after those. All connections of one client's
    /// pages have the same.
    ways: Vec<[u32; 3]>,
    pub private: Vec<LinkId>,
    /// Per link: whether flows merge there.
    pub merges: Vec<bool>,
}

/// The links where flows merge, or that are measured or have a queue of their own: whether each is one. The others are private.
pub(crate) fn merges(network: &Network) -> Vec<bool> {
    let mut users = vec![0u32; network.links.len()];
    for flow in network.flows.iter().filter(|flow| flow.first_connection().is_none()) {
        for link in flow.forward.iter().chain(&flow.reverse) {
            users[link.0 as usize] += 1;
        }
    }
    let merges = |(link, users): (&LinkSpec, &u32)| *users > 1 || link.observe || link.has_queue();
    network.links.iter().zip(&users).map(merges).collect()
}

impl Plan {
    pub fn new(network: &Network) -> Result<Plan, Error> {
        check(network)?;
        let merges = merges(network);
        let shuffles: Vec<bool> = network.links.iter().map(LinkSpec::shuffles).collect();
        let mut plan = Plan { hops: Vec::new(), ways: Vec::new(), private: Vec::new(), merges };
        for flow in &network.flows {
            if let Some(first) = flow.first_connection() {
                plan.ways.push(plan.ways[first as usize]);
                continue;
            }
            let data = plan.hops.len() as u32;
            plan.cut(&shuffles, &flow.forward, true);
            let acks = plan.hops.len() as u32;
            if let Traffic::Tcp { .. } = flow.traffic {
                plan.cut(&shuffles, &flow.reverse, false);
            }
            plan.ways.push([data, acks, plan.hops.len() as u32]);
        }
        Ok(plan)
    }

    /// Cuts a way into hops; `shuffles` says after which links packets must stop.
    fn cut(&mut self, shuffles: &[bool], links: &[LinkId], data: bool) {
        let mut begin = self.private.len() as u32;
        let mut shuffled = false;
        let mut stopped = false;
        let mut stop = |plan: &mut Plan, stop: Stop, event: bool| {
            let links = (begin, plan.private.len() as u32);
            begin = links.1;
            plan.hops.push(Hop { links, stop, event });
        };
        for &id in links {
            if self.merges[id.0 as usize] {
                stop(self, Stop::Merge(id), true);
                stopped = true;
            } else {
                if shuffled {
                    stop(self, Stop::Relay, true);
                    stopped = true;
                }
                self.private.push(id);
            }
            shuffled = shuffles[id.0 as usize];
        }
        // Data must stop somewhere, or sender and receiver would call each other without end.
        stop(self, Stop::End, shuffled || (data && !stopped));
    }

    /// The way of a flow's data (0) or acknowledgments (1).
    pub fn way(&self, flow: usize, direction: usize) -> &[Hop] {
        &self.hops[self.way_range(flow, direction)]
    }

    /// The place of that way in [`Plan::hops`].
    pub fn way_range(&self, flow: usize, direction: usize) -> Range<usize> {
        let [data, acks, end] = self.ways[flow];
        [data as usize..acks as usize, acks as usize..end as usize][direction].clone()
    }

    /// The private links of a step.
    pub fn private_links(&self, hop: &Hop) -> &[LinkId] {
        &self.private[hop.links.0 as usize..hop.links.1 as usize]
    }
}

/// The reason why flow `number` cannot send this, if it cannot; `next` are the flows after it.
fn fault(app: &App, flow: &FlowSpec, next: &[FlowSpec], number: usize) -> Option<&'static str> {
    match app {
        App::Transfers { count: Some(0), .. } => Some("it must make at least one transfer"),
        App::Video(video) => video.fault(),
        App::Pages(_) | App::Responsiveness(_) => {
            let others = (app.flows() as usize).checked_sub(1).and_then(|n| next.get(..n));
            let Some(others) = others else { return Some("a flow must follow for each further connection") };
            let connection = App::Connection { of: number as u32 };
            let alike = |other: &FlowSpec| match (&other.traffic, &flow.traffic) {
                (Traffic::Tcp { tcp, app: has }, Traffic::Tcp { tcp: own, .. }) => {
                    let rest = (&other.forward, &other.reverse, other.class, other.ack_class, other.dscp);
                    *has == connection
                        && tcp == own
                        && rest == (&flow.forward, &flow.reverse, flow.class, flow.ack_class, flow.dscp)
                }
                _ => false,
            };
            if !others.iter().all(alike) {
                return Some("the next flows must be its other connections, with the same settings");
            }
            match app {
                App::Pages(pages) => (pages.count == Some(0)).then_some("it must load at least one page"),
                App::Responsiveness(test) => test.fault(),
                _ => None,
            }
        }
        _ => None,
    }
}

fn check(network: &Network) -> Result<(), Error> {
    let invalid = |why: String| Err(Error::Invalid(why));
    let name = |i: usize| match network.links[i].name.as_str() {
        "" => format!("link {i}"),
        name => format!("link {i} ({name})"),
    };
    for (i, link) in network.links.iter().enumerate() {
        // Its algorithm is built for this rate.
        if link.rate.initial.bps() == 0 {
            return invalid(format!("{}: its rate at the start must be above 0 bit/s", name(i)));
        }
        if let Some(fault) = link.impairments.fault() {
            return invalid(format!("{}: {fault}", name(i)));
        }
        if let Some(fault) = link.unservable() {
            return invalid(format!("{}: {fault}", name(i)));
        }
        if let Some(fault) = link.rate.fault().or(link.delay.fault()) {
            return invalid(format!("{}: {fault}", name(i)));
        }
    }
    let mut connections = 0..0;
    for (i, flow) in network.flows.iter().enumerate() {
        if let Traffic::Tcp { app: app @ (App::Pages(_) | App::Responsiveness(_)), .. } = &flow.traffic {
            connections = i as u32..i as u32 + app.flows();
        } else if let Some(of) = flow.first_connection()
            && (of != connections.start || !connections.contains(&(i as u32)))
        {
            return invalid(format!(
                "flow {i}: flow {of} has no pages and no test that it could be a connection of"
            ));
        }
        let ways = flow.forward.iter().chain(&flow.reverse);
        if let Some(l) = ways.into_iter().find(|l| l.0 as usize >= network.links.len()) {
            return invalid(format!("flow {i}: there is no link {}", l.0));
        }
        if flow.forward.is_empty() {
            return invalid(format!("flow {i}: its path to the receiver has no link"));
        }
        if flow.forward.len().max(flow.reverse.len()) > 200 {
            return invalid(format!("flow {i}: a path may have at most 200 links"));
        }
        if flow.reverse.is_empty() && matches!(flow.traffic, Traffic::Tcp { .. }) {
            return invalid(format!("flow {i}: its reverse path has no link, but TCP needs one"));
        }
        if let Traffic::Tcp { app, .. } = &flow.traffic
            && let Some(fault) = fault(app, flow, &network.flows[i + 1..], i)
        {
            return invalid(format!("flow {i}: {fault}"));
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
        return invalid(
            "the end of the warm-up, the segments and the end of the run must be in increasing order".into(),
        );
    }
    if m.step.is_some_and(|s| s.is_zero() || m.end.nanos() / s.nanos() > 100_000_000) {
        return invalid("the step of the time series must give at most 100 million samples".into());
    }
    Ok(())
}
