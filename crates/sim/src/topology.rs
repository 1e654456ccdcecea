//! Named nodes, links between them and static routes.
//!
//! A [`Topology`] collects the links of a [`Network`](crate::network::Network). Links between
//! nodes take part in routing; access links belong to one endpoint and are added on the way when a
//! flow is [connected](Topology::connect).

use quell_units::{BitRate, Duration, Time};

use crate::network::{Impairments, LinkId, LinkSpec, Schedule};

/// A node: a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

/// Nodes and links.
#[derive(Default)]
pub struct Topology {
    names: Vec<String>,
    edges: Vec<Edge>,
    links: Vec<LinkSpec>,
}

/// A link between two nodes.
struct Edge {
    from: NodeId,
    to: NodeId,
    link: LinkId,
    delay: Duration,
}

/// The attachment of an endpoint to its router: a link of its own, with an unlimited queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The link's rate, the same both ways.
    pub rate: BitRate,
    /// Its one-way propagation delay, the same both ways.
    pub delay: Schedule<Duration>,
}

/// The links that a flow takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowPath {
    /// The way from source to receiver.
    pub forward: Vec<LinkId>,
    /// The way from receiver to source; empty if nothing comes back.
    pub reverse: Vec<LinkId>,
}

/// The cost of reaching a node (nanoseconds, links) and the edge it was reached by.
type Reached = ((u64, usize), Option<usize>);

impl Topology {
    /// Neither nodes nor links.
    pub fn new() -> Self {
        Self::default()
    }

    /// Two nodes, `r1` and `r2`, and a link each way between them.
    pub fn dumbbell(forward: LinkSpec, reverse: LinkSpec) -> Self {
        Self::chain("r", 1, [(forward, reverse)])
    }

    /// Nodes `r0`, `r1`, ... in a row and a link each way between neighbors.
    pub fn parking_lot(links: impl IntoIterator<Item = (LinkSpec, LinkSpec)>) -> Self {
        Self::chain("r", 0, links)
    }

    fn chain(prefix: &str, first: usize, links: impl IntoIterator<Item = (LinkSpec, LinkSpec)>) -> Self {
        let mut topology = Self::new();
        let mut here = topology.node(&format!("{prefix}{first}"));
        for (i, (forward, reverse)) in links.into_iter().enumerate() {
            let next = topology.node(&format!("{prefix}{}", first + i + 1));
            topology.link(here, next, forward);
            topology.link(next, here, reverse);
            here = next;
        }
        topology
    }

    /// The node called `name`, made if there is none yet.
    pub fn node(&mut self, name: &str) -> NodeId {
        self.find(name).unwrap_or_else(|| {
            self.names.push(name.to_string());
            NodeId(self.names.len() as u32 - 1)
        })
    }

    /// The node called `name`.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.names.iter().position(|n| n == name).map(|i| NodeId(i as u32))
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.names[node.0 as usize]
    }

    /// The names of the nodes, in the order in which they were made.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Adds a one-way link between two nodes.
    pub fn link(&mut self, from: NodeId, to: NodeId, spec: LinkSpec) -> LinkId {
        let delay = spec.delay.initial;
        let link = self.push(spec);
        self.edges.push(Edge { from, to, link, delay });
        link
    }

    fn push(&mut self, spec: LinkSpec) -> LinkId {
        self.links.push(spec);
        LinkId(self.links.len() as u32 - 1)
    }

    /// The links added so far; [`LinkId`] is the index.
    pub fn links(&self) -> &[LinkSpec] {
        &self.links
    }

    /// Gives up the links.
    pub fn into_links(self) -> Vec<LinkSpec> {
        self.links
    }

    /// The way from one node to another: least propagation delay at the start, then fewest links,
    /// then the links that were added first. Empty if they are the same node, `None` if no way
    /// leads there.
    pub fn route(&self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        // Dijkstra, plainly: networks have few routers and each route is asked for once.
        let n = self.names.len();
        let mut best: Vec<Option<Reached>> = vec![None; n];
        let mut done = vec![false; n];
        best[from.0 as usize] = Some(((0, 0), None));
        loop {
            let here =
                (0..n).filter(|&i| !done[i] && best[i].is_some()).min_by_key(|&i| best[i].map(|b| b.0))?;
            if here == to.0 as usize {
                break;
            }
            done[here] = true;
            let (delay, hops) = best[here].map_or((0, 0), |b| b.0);
            for (i, edge) in self.edges.iter().enumerate().filter(|(_, e)| e.from.0 as usize == here) {
                let cost = (delay.saturating_add(edge.delay.nanos()), hops + 1);
                let there = &mut best[edge.to.0 as usize];
                if there.is_none_or(|(known, _)| cost < known) {
                    *there = Some((cost, Some(i)));
                }
            }
        }
        let mut way = Vec::new();
        let mut at = to.0 as usize;
        while let Some((_, Some(i))) = best[at] {
            way.push(self.edges[i].link);
            at = self.edges[i].from.0 as usize;
        }
        way.reverse();
        Some(way)
    }

    /// The propagation delay along `links` at time `t`.
    pub fn propagation(&self, links: &[LinkId], t: Time) -> Duration {
        links.iter().fold(Duration::ZERO, |sum, l| sum + self.links[l.0 as usize].delay.at(t))
    }

    /// Makes the path of a flow: its endpoints' access links, and between them `there` and `back`
    /// (routes of this topology). An endpoint without an access link sits on its router. Without
    /// `acks` nothing comes back, and only the forward half of each access link is made.
    pub fn connect(
        &mut self,
        there: &[LinkId],
        back: &[LinkId],
        source: Option<&Access>,
        receiver: Option<&Access>,
        acks: bool,
    ) -> FlowPath {
        let mut path = FlowPath::default();
        path.forward.extend(source.map(|a| self.push(access_link(a))));
        path.forward.extend(there);
        path.forward.extend(receiver.map(|a| self.push(access_link(a))));
        if acks {
            path.reverse.extend(receiver.map(|a| self.push(access_link(a))));
            path.reverse.extend(back);
            path.reverse.extend(source.map(|a| self.push(access_link(a))));
        }
        path
    }
}

fn access_link(access: &Access) -> LinkSpec {
    LinkSpec {
        name: String::new(),
        rate: Schedule::constant(access.rate),
        delay: access.delay.clone(),
        queue: None,
        tree: None,
        shaper: None,
        cell: None,
        wifi: None,
        impairments: Impairments::default(),
        observe: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(ms: u64) -> LinkSpec {
        access_link(&Access {
            rate: BitRate::from_bps(1_000_000),
            delay: Schedule::constant(Duration::from_millis(ms)),
        })
    }

    #[test]
    fn a_route_has_least_delay_then_fewest_links_then_the_earliest() {
        let mut t = Topology::new();
        let [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map(|n| t.node(n));
        let ab = t.link(a, b, wire(5));
        let bd = t.link(b, d, wire(5));
        let ac = t.link(a, c, wire(5));
        let _cd = t.link(c, d, wire(5));
        assert_eq!(t.route(a, d), Some(vec![ab, bd]), "equal delay, equal length: the first");
        let ad = t.link(a, d, wire(10));
        assert_eq!(t.route(a, d), Some(vec![ad]), "equal delay: the shorter");
        let cd = t.link(c, d, wire(4));
        assert_eq!(t.route(a, d), Some(vec![ac, cd]), "less delay");
        assert_eq!(t.route(a, a), Some(vec![]));
        assert_eq!(t.route(d, a), None, "links are one-way");
        assert_eq!(t.route(a, e), None);
    }

    #[test]
    fn a_parking_lot_is_crossed_link_by_link_and_back() {
        let mut t = Topology::parking_lot((0..3).map(|_| (wire(7), wire(7))));
        let (first, last) = (t.find("r0").unwrap(), t.find("r3").unwrap());
        let there = t.route(first, last).unwrap();
        let back = t.route(last, first).unwrap();
        assert_eq!(there, [LinkId(0), LinkId(2), LinkId(4)]);
        assert_eq!(back, [LinkId(5), LinkId(3), LinkId(1)]);
        assert_eq!(t.propagation(&there, Time::ZERO), Duration::from_millis(21));
        let access =
            Access { rate: BitRate::from_bps(1), delay: Schedule::constant(Duration::from_millis(1)) };
        let path = t.connect(&there, &back, Some(&access), None, true);
        assert_eq!(path.forward.len(), 4);
        assert_eq!((path.reverse[2], path.reverse[3]), (LinkId(1), LinkId(7)));
        assert!(t.links()[path.forward[0].0 as usize].queue.is_none());
        assert!(t.connect(&there, &back, Some(&access), None, false).reverse.is_empty());
    }

    #[test]
    fn a_dumbbell_has_two_routers() {
        let t = Topology::dumbbell(wire(10), wire(10));
        assert_eq!(t.names(), ["r1", "r2"]);
    }
}
