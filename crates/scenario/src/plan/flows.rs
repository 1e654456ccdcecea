//! The flows of a scenario, drawn: when each begins, and over which links it goes.

use quell_aqm::{Hosts, Rng, Seed};
use quell_sim::network::{App, FlowSpec, LinkId, Schedule, Traffic};
use quell_sim::topology::{self, Topology};
use quell_units::{Duration, Time, index};

use super::groups::{Group, Population};
use super::measure::{ACKS, at, classes};
use super::routes::{Frame, Route};
use crate::error::{Problem, require};
use crate::format::Scenario;
use crate::limits;
use crate::tree::{Path, steps};
use crate::values::{Access, OneOr, Rtt, RttSpread, When, WhenSpread};

/// One flow of a plan.
#[derive(Clone, Debug)]
pub struct FlowFact {
    /// Its group's number.
    pub group: u16,
    /// The class that its data is counted in.
    pub class: u16,
    /// Its round-trip time without queueing.
    pub base_rtt: Duration,
    /// The time at which it begins.
    pub start: Time,
    /// The time at which it ends, if it is made to.
    pub stop: Option<Time>,
    /// True if it always has something to send.
    pub bulk: bool,
    /// The links that its data crosses.
    pub links: Vec<LinkId>,
}

/// Number `i` of `n` round-trip times; `rng` is asked only if chance decides.
fn rtt_of(rtt: &Rtt, i: u64, n: u64, rng: impl FnOnce() -> Rng) -> Duration {
    let between = |low: Duration, high: Duration, x: f64| low + (high - low).mul_f64(x);
    match rtt {
        OneOr::One(d) => *d,
        OneOr::Spread(RttSpread::Uniform([low, high])) => between(*low, *high, rng().uniform()),
        OneOr::Spread(RttSpread::Grid([low, high])) => {
            between(*low, *high, (i as f64 + 0.5) / n.max(1) as f64)
        }
        OneOr::Spread(RttSpread::Linear(l)) => l.first + l.step * i,
        OneOr::Spread(RttSpread::List(list)) => list[index(i) % list.len()],
    }
}

fn when_of(when: &When, i: u64, rng: impl FnOnce() -> Rng) -> Duration {
    match when {
        OneOr::One(t) => *t,
        OneOr::Spread(WhenSpread::Between([a, b])) => *a + (*b - *a).mul_f64(rng().uniform()),
        OneOr::Spread(WhenSpread::Linear(l)) => l.first + l.step * i,
        OneOr::Spread(WhenSpread::List(list)) => list[index(i) % list.len()],
    }
}

/// The times at which sessions arrive, `mean_gap` seconds apart on average: a Poisson process.
fn arrivals(mean_gap: f64, from: Duration, to: Duration, rng: &mut Rng) -> Vec<Duration> {
    let mut times = Vec::new();
    let mut t = from.as_secs_f64();
    loop {
        t += rng.exponential(mean_gap);
        // Twice the limit on the expected number is out of chance's reach.
        if t >= to.as_secs_f64() || times.len() as f64 > 2.0 * limits::FLOWS {
            return times;
        }
        times.push(Duration::from_secs_f64(t));
    }
}

/// The flows; `moment` is when their round-trip times are read; if `None`, at each flow's start.
pub(super) fn draw_flows(
    s: &Scenario,
    groups: &[Group],
    topology: &mut Topology,
    frame: &Frame,
    seed: Seed,
    moment: Option<Time>,
) -> Result<(Vec<FlowSpec>, Vec<FlowFact>), Problem> {
    let names = classes(s);
    // Flows know their group and class by numbers of 16 bits.
    let most = usize::from(u16::MAX);
    let counted = groups.len() <= most && names.len() <= most;
    require(
        counted,
        steps!["flows"],
        format!("has {} groups, and at most {most} are allowed", groups.len()),
    )?;
    let class_of = |name: &str| names.iter().position(|c| c == name).unwrap_or(0) as u16;
    let acks = class_of(ACKS);
    // What a link's delay draws is not made up for, as little as what it changes to.
    let usual = frame.topology(None)?;
    let (mut flows, mut facts) = (Vec::new(), Vec::new());
    let mut first_host = 1_u16;
    for (group, (g, routes)) in groups.iter().zip(&frame.routes).enumerate() {
        let at_group = steps!["flows", group];
        let class = class_of(&g.class);
        let mut number = 0; // Counts the group's flows over all its routes.
        for (k, route) in routes.iter().enumerate() {
            let (n, sessions) = match g.population {
                Population::Fixed(n) => (u64::from(n), None),
                Population::Sessions { per_second, from, to } => {
                    let mut rng = seed.indexed_stream(&format!("flows.{}.arrivals", g.name), k as u64);
                    let times = arrivals(1.0 / per_second, from, to, &mut rng);
                    (times.len() as u64, Some(times))
                }
            };
            for i in 0..n {
                let stream = |what: &str| seed.indexed_stream(&format!("flows.{}.{what}", g.name), number);
                let start = match &sessions {
                    Some(times) => times[index(i)],
                    None => when_of(&g.start, i, || stream("start")),
                };
                // A session that has arrived runs to its end.
                let stop = g.stop.as_ref().filter(|_| sessions.is_none());
                let stop = stop.map(|w| at(when_of(w, i, || stream("stop"))));
                let access = access_of(g, i, n, &usual, route, &at_group, stream)?;
                let (source, receiver) = (endpoint(g.access, &access), endpoint(g.receiver, &access));
                let share = if source.is_some() && receiver.is_some() { 2 } else { 1 };
                let divide = |a: Option<topology::Access>| {
                    a.map(|a| topology::Access { delay: a.delay.map(|delay| delay / share), ..a })
                };
                let (source, receiver) = (divide(source), divide(receiver));
                if source.is_none() && receiver.is_none() {
                    let none = access.values().all(|delay| delay.is_zero());
                    require(
                        none,
                        at_group.then("rtt"),
                        format!(
                            "needs an access link to add the delay, but there is none: give {} a rate",
                            access_field(s, group, &at_group)
                        ),
                    )?;
                }
                let tcp = g.tcp().is_some();
                let way =
                    topology.connect(&route.there, &route.back, source.as_ref(), receiver.as_ref(), tcp);
                let read = moment.unwrap_or(at(start));
                let base_rtt = topology.propagation(&route.there, read)
                    + topology.propagation(&route.back, read)
                    + access.at(read) * 2;
                let fact = FlowFact {
                    group: group as u16,
                    class,
                    base_rtt,
                    start: at(start),
                    stop,
                    bulk: g.is_bulk(),
                    links: route.there.clone(),
                };
                let source = g.hosts.map_or(0, |n| first_host.saturating_add((number % u64::from(n)) as u16));
                let flow = FlowSpec {
                    class,
                    forward: way.forward,
                    reverse: way.reverse,
                    ack_class: acks,
                    traffic: g.traffic(|| stream("transfers")),
                    dscp: g.dscp,
                    hosts: Hosts { source, destination: 0 },
                    start: at(start),
                    stop,
                    timed: g.timed,
                };
                facts.extend(std::iter::repeat_n(fact, g.connections() as usize));
                let first = flows.len();
                flows.push(flow);
                for tcp in (1..g.connections()).filter_map(|_| g.tcp()) {
                    let app = App::Connection { of: first as u32 };
                    let traffic = Traffic::Tcp { tcp: tcp.clone(), app };
                    flows.push(FlowSpec { traffic, ..flows[first].clone() });
                }
                number += 1;
            }
        }
        first_host = first_host.saturating_add(g.hosts.unwrap_or(0));
    }
    Ok((flows, facts))
}

/// The field that says whether a group has access links: its own, or the topology's.
fn access_field(s: &Scenario, group: usize, at_group: &Path) -> Path {
    let topology = match (&s.dumbbell, &s.parking_lot) {
        _ if s.flows[group].access_rate.is_some() => return at_group.then("access_rate"),
        (Some(_), _) => "dumbbell",
        (None, Some(_)) => "parking_lot",
        (None, None) => "graph",
    };
    steps![topology, "access_rate"]
}

fn endpoint(access: Access, delay: &Schedule<Duration>) -> Option<topology::Access> {
    match access {
        Access::Rate(rate) => Some(topology::Access { rate, delay: delay.clone() }),
        Access::None => None,
    }
}

/// The one-way delay that a flow's access links must add over time, so that its round trip takes what
/// the group asks for.
fn access_of(
    g: &Group,
    i: u64,
    n: u64,
    topology: &Topology,
    route: &Route,
    at_group: &Path,
    stream: impl Fn(&str) -> Rng,
) -> Result<Schedule<Duration>, Problem> {
    let Some(rtt) = &g.rtt else { return Ok(Schedule::constant(Duration::ZERO)) };
    let missing = |rtt: &Rtt, drawn: Duration, t: Time, at: Path| {
        let routers = topology.propagation(&route.there, t) + topology.propagation(&route.back, t);
        // The smallest that may be drawn, so that a scenario is sound for every seed or for none.
        let least = match rtt {
            OneOr::Spread(RttSpread::Uniform([low, _])) => *low,
            _ => drawn,
        };
        require(
            least >= routers,
            at,
            format!(
                "is less than the {routers} that the links between routers take for a round trip (flow {i}: {least})"
            ),
        )?;
        Ok::<_, Problem>((drawn - routers) / 2)
    };
    let drawn = rtt_of(rtt, i, n, || stream("rtt"));
    let initial = missing(rtt, drawn, Time::ZERO, at_group.then("rtt"))?;
    let mut changes = Vec::with_capacity(g.rtt_changes.len());
    for (j, change) in g.rtt_changes.iter().enumerate() {
        let drawn = rtt_of(&change.rtt, i, n, || stream(&format!("rtt.{j}")));
        let here = at_group.then("rtt_changes").then(j).then("rtt");
        changes.push((at(change.at), missing(&change.rtt, drawn, at(change.at), here)?));
    }
    Ok(Schedule::changing(initial, changes))
}
