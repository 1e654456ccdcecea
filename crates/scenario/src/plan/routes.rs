//! The links of a scenario, and the routes of its groups over them.

use quell_aqm::{Link, Seed};
use quell_sim::network::{LinkId, LinkSpec, QueueSpec};
use quell_sim::topology::{self, Topology};
use quell_units::Bytes;

use super::classes::Leaf;
use super::links::{LinkPlan, links};
use super::packets::mean_packet;
use super::queues::build;
use super::wifi::{Lane, WifiPlan};
use crate::error::{Problem, require};
use crate::files::Loaded;
use crate::format::{AqmChoice, Direction, FlowGroup, Scenario};
use crate::plugins::Plugins;
use crate::tree::{Path, steps};

/// The links between routers and the routes of the groups.
pub(super) struct Frame {
    pub(super) links: Vec<LinkPlan>,
    /// The routes of each group, one per pair of ends ("cross" has several).
    pub(super) routes: Vec<Vec<Route>>,
}

/// The links there and back.
pub(super) struct Route {
    pub(super) there: Vec<LinkId>,
    pub(super) back: Vec<LinkId>,
    /// The channels of Wi-Fi that data crosses to the access point.
    pub(super) up: Vec<LinkId>,
}

impl Frame {
    pub(super) fn of(s: Loaded<'_>) -> Result<Frame, Problem> {
        let links = links(s)?;
        let mut frame = Frame { links, routes: Vec::new() };
        // Routes are the same in all replications.
        let topology = frame.topology(None)?;
        for (i, group) in s.flows.iter().enumerate() {
            let ends = ends(&s, group, &topology, &steps!["flows", i])?;
            let routes = ends
                .into_iter()
                .map(|(from, to)| {
                    let missing = |a, b| {
                        let name = |n: topology::NodeId| topology.name(n).to_string();
                        let rule = format!("no path leads from {} to {}", name(a), name(b));
                        Problem::new(steps!["flows", i, "to"], rule)
                    };
                    let there = topology.route(from, to).ok_or_else(|| missing(from, to))?;
                    let back = topology.route(to, from).ok_or_else(|| missing(to, from))?;
                    Ok(frame.over_channels(Route { there, back, up: Vec::new() }))
                })
                .collect::<Result<Vec<_>, Problem>>()?;
            // More groups than numbers are refused later.
            let number = u16::try_from(i).unwrap_or(u16::MAX);
            for channel in frame.channels_of(&routes) {
                channel.check_group(number, &steps!["flows", i])?;
            }
            frame.routes.push(routes);
        }
        for route in frame.routes.iter().flatten() {
            for link in &route.there {
                let link = &mut frame.links[link.0 as usize];
                link.observe = link.queue.is_some();
            }
        }
        if !frame.links.iter().any(|l| l.observe) {
            let rule = "no group's data crosses a link with a buffer, so there is nothing to measure";
            return Err(Problem::new(steps!["flows"], rule).with_value(""));
        }
        Ok(frame)
    }

    /// The same route, with channels of Wi-Fi for the links of both their directions.
    fn over_channels(&self, mut route: Route) -> Route {
        let is_other_way = |link: &LinkId| {
            let before = link.0.checked_sub(1).map(|before| &self.links[before as usize]);
            before.is_some_and(|link| link.wifi.is_some())
        };
        let channel = |link: LinkId| LinkId(link.0 - 1);
        route.up = route.there.iter().filter(|link| is_other_way(link)).map(|link| channel(*link)).collect();
        for link in route.there.iter_mut().chain(&mut route.back).filter(|link| is_other_way(link)) {
            *link = channel(*link);
        }
        route
    }

    /// The channels on routes.
    fn channels_of(&self, routes: &[Route]) -> impl Iterator<Item = &WifiPlan> {
        let crosses =
            |id: LinkId| routes.iter().any(|route| route.there.contains(&id) || route.back.contains(&id));
        let crossed: Vec<bool> = (0..self.links.len()).map(|i| crosses(LinkId(i as u32))).collect();
        self.links
            .iter()
            .zip(crossed)
            .filter(|(_, crossed)| *crossed)
            .filter_map(|(link, _)| link.wifi.as_ref())
    }

    /// The links without their queues, with the delays that a seed draws; without one, with the mean delays.
    pub(super) fn topology(&self, seed: Option<Seed>) -> Result<Topology, Problem> {
        let mut topology = Topology::new();
        for link in &self.links {
            let (from, to) = (topology.node(&link.from), topology.node(&link.to));
            let (mut rate, mut delay) = (link.rate.clone(), link.delay(seed));
            let mut impairments = link.impairments.clone();
            if let (Some(handovers), Some(seed)) = (&link.handovers, seed) {
                let course = handovers.draw(seed);
                (rate, delay) = (course.rate(&rate), course.delay(delay));
                impairments.outages = course.losing().unwrap_or_default().into();
            }
            let spec = LinkSpec {
                name: link.name.clone(),
                rate,
                delay,
                queue: None,
                tree: None,
                shaper: link.shaper.map(Box::new),
                cell: None,
                wifi: None,
                impairments,
                observe: link.observe,
            };
            topology.link(from, to, spec);
        }
        Ok(topology)
    }

    /// The queues of the links, in order, with the algorithm under comparison number `aqm`: one, or those of leaves.
    pub(super) fn queues(
        &self,
        s: Loaded<'_>,
        aqm: usize,
        plugins: &Plugins,
    ) -> Result<Vec<Vec<QueueSpec>>, Problem> {
        let of_station = |link: &LinkPlan, station: Station<'_>| {
            let Station { known, own, ecn, .. } = station;
            let algorithm = match own {
                Some((choice, at)) => build(choice, at, &known, &link.name, plugins)?,
                None => build(&s.aqm[aqm], &steps!["aqm", aqm], &known, &link.name, plugins)?,
            };
            Ok(QueueSpec { buffer: known.buffer, algorithm, ecn })
        };
        let of_link = |link: &LinkPlan| {
            link.stations(mean_packet(s)).into_iter().map(|at| of_station(link, at)).collect()
        };
        self.links.iter().map(of_link).collect()
    }
}

/// A queue of a link.
pub(super) struct Station<'a> {
    /// The class that it is the leaf of; none where the link has no classes.
    pub(super) class: Option<&'a str>,
    /// It is not the first of several that are alike.
    pub(super) repeated: bool,
    /// The link as its algorithm knows it.
    pub(super) known: Link,
    /// Its own algorithm and where that is written; none for the one under comparison.
    pub(super) own: Option<(&'a AqmChoice, &'a Path)>,
    pub(super) ecn: bool,
}

impl LinkPlan {
    /// Its queues: none, one, or those of leaves in their order.
    pub(super) fn stations(&self, mean_packet: Bytes) -> Vec<Station<'_>> {
        let Some(queue) = &self.queue else { return Vec::new() };
        let rate = self.capacity().initial;
        let link = Link { rate, buffer: queue.buffer, mean_packet };
        if let Some(wifi) = &self.wifi {
            let station = |lane: &'_ Lane| (lane.rate.min(rate), lane.buffer);
            let of = |lane| {
                let (rate, buffer) = station(lane);
                Link { rate, buffer, ..link }
            };
            let all = wifi.lanes.iter().map(|lane| Station {
                class: Some(&lane.name),
                repeated: lane.repeated,
                known: of(lane),
                own: lane.own.as_ref().or(queue.own.as_ref()).map(|(choice, at)| (choice, at)),
                ecn: queue.ecn,
            });
            return all.collect();
        }
        let Some((classes, _)) = &self.classes else {
            return vec![Station {
                class: None,
                repeated: false,
                known: link,
                own: queue.own.as_ref().map(|(choice, at)| (choice, at)),
                ecn: queue.ecn,
            }];
        };
        let mut all = Vec::with_capacity(classes.leaves.len());
        for (i, Leaf { class, repeated, buffer, own, ceil }) in classes.leaves.iter().enumerate() {
            let of_class = ceil.map_or(rate, |ceil| ceil.min(rate));
            let rate = self.cell.as_ref().map_or(of_class, |cell| cell.known[i]);
            let known = Link { rate, buffer: *buffer, ..link };
            let own = own.as_ref().or(queue.own.as_ref()).map(|(choice, at)| (choice, at));
            all.push(Station { class: Some(class), repeated: *repeated, known, own, ecn: queue.ecn });
        }
        all
    }
}

/// The pairs of nodes between which a group's data goes.
fn ends(
    s: &Scenario,
    g: &FlowGroup,
    topology: &Topology,
    at: &Path,
) -> Result<Vec<(topology::NodeId, topology::NodeId)>, Problem> {
    let find = |name: &str, field: &str| {
        topology.find(name).ok_or_else(|| {
            let names: Vec<&str> = topology.names().iter().map(String::as_str).collect();
            Problem::unknown(at.then(field), "node", name, "the nodes are", &names)
        })
    };
    if g.from.is_some() || g.to.is_some() || s.graph.is_some() {
        require(
            g.direction == Direction::Forward,
            at.then("direction"),
            "cannot be combined with from and to, or used in a graph",
        )?;
        let name = |end: &Option<String>, field: &str| {
            end.clone()
                .ok_or_else(|| Problem::new(at.then(field), "is missing: give both from and to, or neither"))
        };
        let (from, to) = (name(&g.from, "from")?, name(&g.to, "to")?);
        require(from != to, at.then("to"), "must not be the node that sends the data")?;
        return Ok(vec![(find(&from, "from")?, find(&to, "to")?)]);
    }
    let names = topology.names();
    let (first, last) = (names[0].as_str(), names[names.len() - 1].as_str());
    match g.direction {
        Direction::Forward => Ok(vec![(find(first, "direction")?, find(last, "direction")?)]),
        Direction::Reverse => Ok(vec![(find(last, "direction")?, find(first, "direction")?)]),
        Direction::Cross => {
            require(s.parking_lot.is_some(), at.then("direction"), "\"cross\" needs a parking lot")?;
            names.windows(2).map(|w| Ok((find(&w[0], "direction")?, find(&w[1], "direction")?))).collect()
        }
    }
}
