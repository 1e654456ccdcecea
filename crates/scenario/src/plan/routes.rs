//! The links of a scenario, and the routes of its groups over them.

use quell_aqm::{Link, Seed};
use quell_sim::network::{LinkId, LinkSpec, QueueSpec};
use quell_sim::topology::{self, Topology};

use super::links::{LinkPlan, links};
use super::packets::mean_packet;
use super::queues::build;
use crate::error::{Problem, require};
use crate::files::Loaded;
use crate::format::{Direction, FlowGroup, Scenario};
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
                    Ok(Route { there, back })
                })
                .collect::<Result<Vec<_>, Problem>>()?;
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

    /// The links without their queues, with the delays that a seed draws; without one, with the mean delays.
    pub(super) fn topology(&self, seed: Option<Seed>) -> Result<Topology, Problem> {
        let mut topology = Topology::new();
        for link in &self.links {
            let (from, to) = (topology.node(&link.from), topology.node(&link.to));
            let spec = LinkSpec {
                name: link.name.clone(),
                rate: link.rate.clone(),
                delay: link.delay(seed),
                queue: None,
                loss: link.loss,
                observe: link.observe,
            };
            topology.link(from, to, spec);
        }
        Ok(topology)
    }

    /// The queues of the links, in order, with the algorithm under comparison number `aqm`.
    pub(super) fn queues(
        &self,
        s: Loaded<'_>,
        aqm: usize,
        plugins: &Plugins,
    ) -> Result<Vec<Option<QueueSpec>>, Problem> {
        self.links
            .iter()
            .map(|link| {
                let Some(queue) = &link.queue else { return Ok(None) };
                let known =
                    Link { rate: link.rate.initial, buffer: queue.buffer, mean_packet: mean_packet(s) };
                let algorithm = match &queue.own {
                    Some((choice, at)) => build(choice, at, &known, &link.name, plugins)?,
                    None => build(&s.aqm[aqm], &steps!["aqm", aqm], &known, &link.name, plugins)?,
                };
                Ok(Some(QueueSpec { buffer: queue.buffer, algorithm, ecn: queue.ecn }))
            })
            .collect()
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
