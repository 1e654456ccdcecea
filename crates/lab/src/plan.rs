//! From a checked scenario, an algorithm and a seed to the network that the simulator runs.
//!
//! Chance enters here: round-trip times, starts, stops and session arrivals are drawn from streams
//! of their own, named after the flow group. No algorithm has a part in them, so all algorithms meet
//! the same traffic (common random numbers).

use quell_aqm::catalog::{AnyAqm, AqmConfig, CATALOG};
use quell_aqm::{Link, Rng, Seed};
use quell_sim::network::{
    App, Connection, Distribution, FlowSpec, Gaps, LinkId, LinkSpec, Measure, Network, QueueSpec, Schedule,
    Traffic, UdpSpec,
};
use quell_sim::topology::{self, Topology};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

use crate::error::Problem;
use crate::node::{Node, Path, known, nearest, steps};
use crate::scenario::{AqmChoice, Change, Direction, FlowGroup, Kind, Reverse, Scenario};
use crate::study::Plugins;
use crate::values::{Access, Dist, OneOr, Quantity, Rtt, RttSpread, Segments, Shape, When, WhenSpread};

/// The class of acknowledgments.
pub(crate) const ACKS: &str = "acks";

/// Beyond these a scenario would not fit into memory, so it is a slip of the pen.
mod limits {
    pub const FLOWS: f64 = 200_000.0;
    pub const SEGMENTS: u64 = 10_000;
    pub const SAMPLES: u64 = 1_000_000;
    pub const SEEDS: usize = 100_000;
    pub const BOTTLENECKS: u32 = 1_000;
    pub const BUFFER_PACKETS: f64 = 1e7;
    pub const BUFFER_BYTES: f64 = 1e10;
    pub const SECONDS: u64 = 10_000_000;
    pub const DELAY_SECONDS: u64 = 1_000;
    pub const RATE_BPS: u64 = 1_000_000_000_000;
    pub const WINDOW: u32 = 1_000_000;
    /// Each class costs a histogram of 86 kB per link and segment, in each thread.
    pub const CLASS_SEGMENTS: usize = 2_000;
}

/// What the simulator runs, and what its outcome means.
pub(crate) struct Plan {
    pub network: Network,
    pub facts: Facts,
}

/// What figures are computed from, beside the outcome.
pub(crate) struct Facts {
    pub classes: Vec<String>,
    pub groups: Vec<String>,
    pub flows: Vec<FlowFact>,
}

/// One flow.
pub(crate) struct FlowFact {
    pub group: u16,
    pub class: u16,
    pub base_rtt: Duration,
    pub start: Time,
    pub stop: Option<Time>,
    pub bulk: bool,
    /// The links that its data crosses.
    pub links: Vec<LinkId>,
}

/// Checks everything that can be checked without running.
pub(crate) fn check(scenario: &Scenario, plugins: &Plugins) -> Result<(), Problem> {
    basics(scenario)?;
    let seeds = scenario.seeds.list();
    for (i, group) in scenario.flows.iter().enumerate() {
        check_group(scenario, group, &steps!["flows", i])?;
    }
    let frame = Frame::of(scenario)?;
    check_totals(scenario, &frame)?;
    for aqm in 0..scenario.aqm.len() {
        frame.queues(scenario, aqm, plugins)?;
    }
    draw_flows(scenario, &mut frame.topology()?, &frame, Seed(seeds[0]), None)?;
    Ok(())
}

/// The network for one algorithm and seed.
pub(crate) fn plan(scenario: &Scenario, aqm: usize, seed: u64, plugins: &Plugins) -> Result<Plan, Problem> {
    let seed = Seed(seed);
    let frame = Frame::of(scenario)?;
    let mut topology = frame.topology()?;
    let (flows, facts) = draw_flows(scenario, &mut topology, &frame, seed, None)?;
    let mut links = topology.into_links();
    for (link, queue) in links.iter_mut().zip(frame.queues(scenario, aqm, plugins)?) {
        link.queue = queue.map(Box::new);
    }
    let classes = classes(scenario);
    let network = Network { links, flows, classes: classes.clone(), measure: measure(scenario), seed };
    let groups = scenario.flows.iter().map(|g| g.name.clone()).collect();
    Ok(Plan { network, facts: Facts { classes, groups, flows: facts } })
}

/// A link at a time: as its algorithms know it, its rate then, the algorithms for it, and whether it marks.
pub(crate) struct LinkAt {
    pub link: Link,
    pub rate: BitRate,
    pub algorithms: Vec<(String, AqmConfig)>,
    pub ecn: bool,
    /// Whether its rate or its delay changes after that time.
    pub changes: bool,
}

/// The observed link called `name` at a time.
pub(crate) fn link_at(s: &Scenario, name: &str, time: Time, plugins: &Plugins) -> Result<LinkAt, Problem> {
    let frame = Frame::of(s)?;
    let found = frame.links.iter().find_map(|l| (l.name == name).then_some((l, l.queue.as_ref()?)));
    let Some((plan, queue)) = found else {
        return Err(Problem::new(Path::default(), format!("the link {name} has no queue")));
    };
    let named = |choice: &AqmChoice, at: &Path| -> Result<_, Problem> {
        Ok((choice.label().to_string(), configure(choice, at, plugins)?))
    };
    let algorithms = match &queue.own {
        Some((choice, at)) => vec![named(choice, at)?],
        None => s
            .aqm
            .iter()
            .enumerate()
            // A plug-in has no parameters that the theory could read.
            .filter(|(_, choice)| plugins.get(&choice.algorithm).is_none())
            .map(|(i, choice)| named(choice, &steps!["aqm", i]))
            .collect::<Result<_, _>>()?,
    };
    let link = Link { rate: plan.rate.initial, buffer: queue.buffer, mean_packet: mean_packet(s) };
    let changes = plan.rate.changes.iter().any(|(at, _)| *at > time)
        || plan.delay.changes.iter().any(|(at, _)| *at > time);
    Ok(LinkAt { link, rate: plan.rate.at(time), algorithms, ecn: queue.ecn, changes })
}

/// Every flow, with its round-trip time at `time`, and which of them cross the link called `name`.
pub(crate) fn flows_at(
    s: &Scenario,
    name: &str,
    time: Time,
    seed: u64,
) -> Result<Vec<(FlowSpec, FlowFact)>, Problem> {
    let frame = Frame::of(s)?;
    let (specs, facts) = draw_flows(s, &mut frame.topology()?, &frame, Seed(seed), Some(time))?;
    let crosses =
        |f: &FlowFact| f.links.iter().any(|l| frame.links.get(l.0 as usize).is_some_and(|l| l.name == name));
    Ok(specs.into_iter().zip(facts).filter(|(_, f)| crosses(f)).collect())
}

/// When the scenario measures.
pub(crate) fn measure(scenario: &Scenario) -> Measure {
    let (warmup, end) = (at(scenario.warmup), at(scenario.duration));
    let boundaries = match &scenario.segments {
        None => Vec::new(),
        Some(Segments::At(times)) => times.iter().map(|t| at(*t)).collect(),
        Some(Segments::Every(length)) => {
            let step = length.nanos().max(1);
            (warmup.nanos()..end.nanos()).step_by(step as usize).skip(1).map(Time::from_nanos).collect()
        }
    };
    Measure { warmup, end, boundaries, step: Some(series_step(scenario)) }
}

fn series_step(scenario: &Scenario) -> Duration {
    let default = Duration::from_nanos((scenario.duration.nanos() / 500).max(1));
    scenario.series_step.unwrap_or(default)
}

/// The traffic classes: those of the groups in order, then the acknowledgments.
pub(crate) fn classes(scenario: &Scenario) -> Vec<String> {
    let mut classes: Vec<String> = Vec::new();
    for group in &scenario.flows {
        if !classes.iter().any(|c| c == group.class()) {
            classes.push(group.class().to_string());
        }
    }
    classes.push(ACKS.to_string());
    classes
}

/// The names of the observed links, in order.
pub(crate) fn observed_links(scenario: &Scenario) -> Vec<String> {
    Frame::of(scenario)
        .map(|f| f.links.iter().filter(|l| l.observe).map(|l| l.name.clone()).collect())
        .unwrap_or_default()
}

fn at(d: Duration) -> Time {
    Time::ZERO + d
}

fn require(ok: bool, path: Path, rule: impl Into<String>) -> Result<(), Problem> {
    if ok { Ok(()) } else { Err(Problem::new(path, rule)) }
}

// What holds for the scenario as a whole.

fn basics(s: &Scenario) -> Result<(), Problem> {
    require(s.schema == 1, steps!["schema"], "must be 1, the version of the format that this program reads")?;
    require(!s.duration.is_zero(), steps!["duration"], "must be longer than 0 s")?;
    require(
        s.duration.nanos() / 1_000_000_000 <= limits::SECONDS,
        steps!["duration"],
        format!("must be at most {} s", limits::SECONDS),
    )?;
    require(
        s.warmup < s.duration,
        steps!["warmup"],
        format!("must be shorter than duration ({})", s.duration),
    )?;
    check_segments(s)?;
    let step = series_step(s);
    require(!step.is_zero(), steps!["series_step"], "must be longer than 0 s")?;
    require(
        s.duration.nanos() / step.nanos() <= limits::SAMPLES,
        steps!["series_step"],
        format!("makes more than {} samples in {}", limits::SAMPLES, s.duration),
    )?;
    check_seeds(s)?;
    if let Some(bytes) = s.mean_packet {
        require(
            (1..=65_535).contains(&bytes.get()),
            steps!["mean_packet"],
            "must lie between 1 B and 65535 B",
        )?;
    }
    check_algorithms(s)?;
    require(!s.flows.is_empty(), steps!["flows"], "at least one [[flows]] group is needed")?;
    let mut names: Vec<&str> = Vec::new();
    for (i, group) in s.flows.iter().enumerate() {
        let ok = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name = &group.name;
        require(
            !name.is_empty() && name.chars().all(ok),
            steps!["flows", i, "name"],
            "must consist of letters, digits, \"-\" and \"_\"",
        )?;
        require(!names.contains(&name.as_str()), steps!["flows", i, "name"], "is taken by another group")?;
        names.push(name);
        let field = if group.class.is_some() { "class" } else { "name" };
        let reserved = ["all", "data", ACKS].contains(&group.class()) || group.class().trim().is_empty();
        require(
            !reserved,
            steps!["flows", i, field],
            "cannot be a class: \"all\", \"data\" and \"acks\" have a meaning of their own",
        )?;
    }
    Ok(())
}

fn check_segments(s: &Scenario) -> Result<(), Problem> {
    match &s.segments {
        None => Ok(()),
        Some(Segments::Every(length)) => {
            require(!length.is_zero(), steps!["segments"], "must be longer than 0 s")?;
            require(
                (s.duration - s.warmup).nanos() / length.nanos() <= limits::SEGMENTS,
                steps!["segments"],
                format!("makes more than {} segments", limits::SEGMENTS),
            )
        }
        Some(Segments::At(times)) => {
            require(
                times.len() as u64 <= limits::SEGMENTS,
                steps!["segments"],
                format!("makes more than {} segments", limits::SEGMENTS),
            )?;
            let mut before = s.warmup;
            for (i, t) in times.iter().enumerate() {
                require(
                    *t > before && *t < s.duration,
                    steps!["segments", i],
                    format!("must lie after {before} and before the end ({})", s.duration),
                )?;
                before = *t;
            }
            Ok(())
        }
    }
}

fn check_seeds(s: &Scenario) -> Result<(), Problem> {
    if let crate::values::Seeds::Count(n) = s.seeds {
        require(
            n >= 1 && n as usize <= limits::SEEDS,
            steps!["seeds"],
            format!("must be between 1 and {} (or a list of seeds)", limits::SEEDS),
        )?;
    }
    let seeds = s.seeds.list();
    require(!seeds.is_empty(), steps!["seeds"], "at least one seed is needed")?;
    let mut sorted = seeds;
    sorted.sort_unstable();
    let twice = sorted.windows(2).find(|w| w[0] == w[1]).map(|w| w[0]);
    match twice {
        Some(seed) => Err(Problem::new(steps!["seeds"], format!("has the seed {seed} twice"))),
        None => Ok(()),
    }
}

fn check_algorithms(s: &Scenario) -> Result<(), Problem> {
    require(!s.aqm.is_empty(), steps!["aqm"], "at least one [[aqm]] is needed")?;
    let mut labels: Vec<&str> = Vec::new();
    for (i, choice) in s.aqm.iter().enumerate() {
        let field = if choice.label.is_some() { "label" } else { "algorithm" };
        require(!choice.label().trim().is_empty(), steps!["aqm", i, field], "must not be empty")?;
        require(
            !labels.contains(&choice.label()),
            steps!["aqm", i, field],
            "is the label of another algorithm: give this one a label of its own",
        )?;
        labels.push(choice.label());
    }
    Ok(())
}

// The links.

/// A link between two routers, before its queue is built.
struct LinkPlan {
    name: String,
    from: String,
    to: String,
    rate: Schedule<BitRate>,
    delay: Schedule<Duration>,
    loss: f64,
    queue: Option<QueuePlan>,
    observe: bool,
}

struct QueuePlan {
    buffer: QueueSize,
    /// Its own algorithm and where that is written; none for the one under comparison.
    own: Option<(AqmChoice, Path)>,
    ecn: bool,
}

/// The links between routers and the routes of the groups.
struct Frame {
    links: Vec<LinkPlan>,
    /// For each group, one route per pair of ends ("cross" has several).
    routes: Vec<Vec<Route>>,
}

/// The links there and back.
struct Route {
    there: Vec<LinkId>,
    back: Vec<LinkId>,
}

/// The fields that all topologies' links share, and where they stand.
struct Duplex<'a> {
    at: Path,
    names: [String; 2],
    ends: [String; 2],
    rate: BitRate,
    delay: Duration,
    buffer: Option<QueueSize>,
    aqm: Option<&'a AqmChoice>,
    ecn: bool,
    loss: f64,
    reverse: &'a Reverse,
    changes: &'a [Change],
    end: Duration,
}

impl Frame {
    fn of(s: &Scenario) -> Result<Frame, Problem> {
        let links = links(s)?;
        let mut frame = Frame { links, routes: Vec::new() };
        let topology = frame.topology()?;
        for (i, group) in s.flows.iter().enumerate() {
            let ends = ends(s, group, &topology, &steps!["flows", i])?;
            let routes = ends
                .into_iter()
                .map(|(from, to)| {
                    let missing = |a, b| {
                        let name = |n: topology::NodeId| topology.name(n).to_string();
                        let rule = format!("no way leads from {} to {}", name(a), name(b));
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

    /// The links without their queues.
    fn topology(&self) -> Result<Topology, Problem> {
        let mut topology = Topology::new();
        for link in &self.links {
            let (from, to) = (topology.node(&link.from), topology.node(&link.to));
            let spec = LinkSpec {
                name: link.name.clone(),
                rate: link.rate.clone(),
                delay: link.delay.clone(),
                queue: None,
                loss: link.loss,
                observe: link.observe,
            };
            topology.link(from, to, spec);
        }
        Ok(topology)
    }

    /// The queues of the links, in order, with the algorithm under comparison number `aqm`.
    fn queues(&self, s: &Scenario, aqm: usize, plugins: &Plugins) -> Result<Vec<Option<QueueSpec>>, Problem> {
        self.links
            .iter()
            .map(|link| {
                let Some(queue) = &link.queue else { return Ok(None) };
                let known =
                    Link { rate: link.rate.initial, buffer: queue.buffer, mean_packet: mean_packet(s) };
                let aqm = match &queue.own {
                    Some((choice, at)) => build(choice, at, &known, &link.name, plugins)?,
                    None => build(&s.aqm[aqm], &steps!["aqm", aqm], &known, &link.name, plugins)?,
                };
                Ok(Some(QueueSpec { buffer: queue.buffer, aqm, ecn: queue.ecn }))
            })
            .collect()
    }
}

fn mean_packet(s: &Scenario) -> Bytes {
    s.mean_packet.unwrap_or_else(|| match s.flows.first() {
        Some(FlowGroup { kind: Kind::Udp, packet, .. }) => match packet {
            Some(OneOr::One(bytes)) => *bytes,
            Some(OneOr::Spread(Shape::Exponential(mean))) => *mean,
            _ => Bytes::new(1000),
        },
        Some(g) => g.tcp.wire_bytes(),
        None => Bytes::new(1000),
    })
}

fn links(s: &Scenario) -> Result<Vec<LinkPlan>, Problem> {
    let mut out = Vec::new();
    match (&s.dumbbell, &s.parking_lot, &s.graph) {
        (Some(d), None, None) => out.extend(duplex(Duplex {
            at: steps!["dumbbell"],
            names: ["bottleneck".into(), "reverse".into()],
            ends: ["r1".into(), "r2".into()],
            rate: d.rate,
            delay: d.delay,
            buffer: Some(d.buffer),
            aqm: None,
            ecn: d.ecn,
            loss: d.loss,
            reverse: &d.reverse,
            changes: &d.changes,
            end: s.duration,
        })?),
        (None, Some(p), None) => {
            require(
                (1..=limits::BOTTLENECKS).contains(&p.bottlenecks),
                steps!["parking_lot", "bottlenecks"],
                format!("must be between 1 and {}", limits::BOTTLENECKS),
            )?;
            for i in 0..p.bottlenecks {
                let [a, b] = [format!("r{i}"), format!("r{}", i + 1)];
                out.extend(duplex(Duplex {
                    at: steps!["parking_lot"],
                    names: [format!("{a}-{b}"), format!("{b}-{a}")],
                    ends: [a, b],
                    rate: p.rate,
                    delay: p.delay,
                    buffer: Some(p.buffer),
                    aqm: None,
                    ecn: p.ecn,
                    loss: p.loss,
                    reverse: &p.reverse,
                    changes: &p.changes,
                    end: s.duration,
                })?);
            }
        }
        (None, None, Some(g)) => {
            require(!g.links.is_empty(), steps!["graph", "links"], "at least one link is needed")?;
            require(
                g.links.len() <= limits::BOTTLENECKS as usize,
                steps!["graph", "links"],
                format!("must be at most {} links", limits::BOTTLENECKS),
            )?;
            for (i, l) in g.links.iter().enumerate() {
                let at = steps!["graph", "links", i];
                require(!l.from.trim().is_empty(), at.then("from"), "must not be empty")?;
                require(!l.to.trim().is_empty(), at.then("to"), "must not be empty")?;
                require(l.from != l.to, at.then("to"), "must not be the node that the link comes from")?;
                let same = |m: &crate::scenario::GraphLink| {
                    (m.from == l.from && m.to == l.to) || (m.from == l.to && m.to == l.from)
                };
                require(
                    !g.links[..i].iter().any(same),
                    at,
                    format!("{} and {} are linked already (a link has both directions)", l.from, l.to),
                )?;
                out.extend(duplex(Duplex {
                    at: steps!["graph", "links", i],
                    names: [format!("{}-{}", l.from, l.to), format!("{}-{}", l.to, l.from)],
                    ends: [l.from.clone(), l.to.clone()],
                    rate: l.rate,
                    delay: l.delay,
                    buffer: l.buffer,
                    aqm: l.aqm.as_ref(),
                    ecn: l.ecn,
                    loss: l.loss,
                    reverse: &l.reverse,
                    changes: &l.changes,
                    end: s.duration,
                })?);
            }
        }
        (None, None, None) => {
            return Err(Problem::new(
                steps![],
                "a topology is missing: [dumbbell], [parking_lot] or [graph]",
            ));
        }
        _ => {
            let second = if s.graph.is_some() { "graph" } else { "parking_lot" };
            let rule =
                "there is another topology: a scenario has one of [dumbbell], [parking_lot] and [graph]";
            return Err(Problem::new(steps![second], rule).with_value(""));
        }
    }
    Ok(out)
}

/// Both directions of a link.
fn duplex(d: Duplex<'_>) -> Result<[LinkPlan; 2], Problem> {
    check_rate(d.rate, d.at.then("rate"))?;
    check_delay(d.delay, d.at.then("delay"))?;
    check_loss(d.loss, d.at.then("loss"))?;
    let back = d.at.then("reverse");
    if let Some(buffer) = d.buffer {
        check_buffer(buffer, d.at.then("buffer"))?;
    } else {
        require(d.aqm.is_none(), d.at.then("aqm"), "needs a buffer beside it")?;
        require(!d.ecn, d.at.then("ecn"), "needs a buffer beside it")?;
    }
    let mut before = None;
    for (i, change) in d.changes.iter().enumerate() {
        let at = d.at.then("changes").then(i);
        check_change(change.at, before, d.end, at.then("at"))?;
        require(
            change.rate.is_some() || change.delay.is_some(),
            at.clone(),
            "changes nothing: give a rate or a delay",
        )?;
        change.rate.map_or(Ok(()), |rate| check_rate(rate, at.then("rate")))?;
        change.delay.map_or(Ok(()), |delay| check_delay(delay, at.then("delay")))?;
        before = Some(change.at);
    }
    let rate = Schedule {
        initial: d.rate,
        changes: d.changes.iter().filter_map(|c| Some((at(c.at), c.rate?))).collect(),
    };
    let delay = Schedule {
        initial: d.delay,
        changes: d.changes.iter().filter_map(|c| Some((at(c.at), c.delay?))).collect(),
    };
    let own = d.aqm.map(|choice| (choice.clone(), d.at.then("aqm")));
    let r = d.reverse;
    r.rate.map_or(Ok(()), |rate| check_rate(rate, back.then("rate")))?;
    r.loss.map_or(Ok(()), |loss| check_loss(loss, back.then("loss")))?;
    r.buffer.map_or(Ok(()), |buffer| check_buffer(buffer, back.then("buffer")))?;
    let own_back = r.aqm.as_ref().map(|choice| (choice.clone(), back.then("aqm"))).or(own.clone());
    let [name, name_back] = d.names;
    let [from, to] = d.ends;
    let buffer_back = r.buffer.or(d.buffer);
    if buffer_back.is_none() {
        require(r.aqm.is_none(), back.then("aqm"), "needs a buffer beside it")?;
        require(r.ecn.is_none(), back.then("ecn"), "needs a buffer beside it")?;
    }
    Ok([
        LinkPlan {
            name,
            from: from.clone(),
            to: to.clone(),
            rate: rate.clone(),
            delay: delay.clone(),
            loss: d.loss,
            queue: d.buffer.map(|buffer| QueuePlan { buffer, own, ecn: d.ecn }),
            observe: false,
        },
        LinkPlan {
            name: name_back,
            from: to,
            to: from,
            rate: r.rate.map_or(rate, Schedule::constant),
            delay,
            loss: r.loss.unwrap_or(d.loss),
            queue: buffer_back.map(|buffer| QueuePlan { buffer, own: own_back, ecn: r.ecn.unwrap_or(d.ecn) }),
            observe: false,
        },
    ])
}

/// Changes come one after another, and before the end.
fn check_change(at: Duration, before: Option<Duration>, end: Duration, path: Path) -> Result<(), Problem> {
    require(before.is_none_or(|b| at > b), path.clone(), "must be later than the change before it")?;
    require(at < end, path, format!("is not before the end ({end})"))
}

fn check_rate(rate: BitRate, path: Path) -> Result<(), Problem> {
    require(
        (1..=limits::RATE_BPS).contains(&rate.bps()),
        path,
        format!("must lie between 1 bit/s and {}", BitRate::from_bps(limits::RATE_BPS)),
    )
}

fn check_delay(delay: Duration, path: Path) -> Result<(), Problem> {
    let most = Duration::from_secs(limits::DELAY_SECONDS);
    require(delay <= most, path, format!("must be at most {most}"))
}

fn check_loss(loss: f64, path: Path) -> Result<(), Problem> {
    require((0.0..1.0).contains(&loss), path, "must be a probability below 1")
}

fn check_buffer(buffer: QueueSize, path: Path) -> Result<(), Problem> {
    let most = match buffer {
        QueueSize::Packets(_) => QueueSize::Packets(limits::BUFFER_PACKETS),
        QueueSize::Bytes(_) => QueueSize::Bytes(limits::BUFFER_BYTES),
    };
    require(
        buffer.value() >= 1.0 && buffer.value() <= most.value(),
        path,
        format!("must lie between {} and {most}", buffer.with_value(1.0)),
    )
}

// The algorithms.

/// An algorithm for the link called `name`; `at` is where it stands.
fn build(
    choice: &AqmChoice,
    at: &Path,
    link: &Link,
    name: &str,
    plugins: &Plugins,
) -> Result<AnyAqm, Problem> {
    // What one link allows another may forbid.
    let on_link = if name == "bottleneck" { String::new() } else { format!(" (link {name})") };
    if let Some(factory) = plugins.get(&choice.algorithm) {
        return factory(link, &choice.parameters).map(AnyAqm::Custom).map_err(|why| {
            Problem::new(at.then("algorithm"), format!("the plug-in refuses: {why}{on_link}"))
        });
    }
    let config = configure(choice, at, plugins)?;
    config.build(link).map_err(|e| {
        let written = choice.parameters.contains_key(e.field);
        let default = if written { "" } else { " (the value is the default)" };
        Problem::new(at.then(e.field), format!("{}{on_link}{default}", e.rule)).with_value(e.value)
    })
}

/// The parameters of an algorithm of the catalog.
fn configure(choice: &AqmChoice, at: &Path, plugins: &Plugins) -> Result<AqmConfig, Problem> {
    let name = choice.algorithm.as_str();
    let Some(entry) = quell_aqm::catalog::find(name) else {
        let names: Vec<&str> = CATALOG.iter().map(|e| e.name).chain(plugins.names()).collect();
        return Err(Problem::new(
            at.then("algorithm"),
            format!("is no algorithm; {}", known("known", &names)),
        )
        .with_nearest(nearest(name, names.iter().copied())));
    };
    if let (true, Some(key)) = ((entry.params)().is_empty(), choice.parameters.keys().next()) {
        let rule = format!("unknown key; {name} takes no parameters");
        return Err(Problem::new(at.then(key.as_str()), rule).with_value(""));
    }
    let parameters = Node::from_toml(&toml::Value::Table(choice.parameters.clone()));
    match AqmConfig::deserialize_named(name, parameters.reader()) {
        Some(Ok(config)) => Ok(config),
        Some(Err(fault)) => {
            let problem = Problem::from(fault);
            let mut path = at.clone();
            path.0.extend(problem.path.0.iter().cloned());
            Err(Problem { path, ..problem })
        }
        None => Err(Problem::new(at.then("algorithm"), "cannot be configured")),
    }
}

// The flows.

impl FlowGroup {
    /// The class its packets are counted in.
    pub fn class(&self) -> &str {
        self.class.as_deref().unwrap_or(&self.name)
    }
}

/// What stands in a group and which kinds it belongs to.
fn check_kind(g: &FlowGroup, at: &Path) -> Result<(), Problem> {
    use Kind::{Bulk, Sessions, Transfers, Udp};
    let fields: [(&str, bool, &[Kind]); 13] = [
        ("count", g.count.is_some(), &[Bulk, Transfers, Udp]),
        ("tcp", !g.tcp.is_absent(), &[Bulk, Transfers, Sessions]),
        ("size", g.size.is_some(), &[Transfers, Sessions]),
        ("think", g.think.is_some(), &[Transfers, Sessions]),
        ("transfers", g.transfers.is_some(), &[Transfers, Sessions]),
        ("connection", g.connection.is_some(), &[Transfers, Sessions]),
        ("sessions_per_second", g.sessions_per_second.is_some(), &[Sessions]),
        ("rate", g.rate.is_some(), &[Udp]),
        ("rate_changes", !g.rate_changes.is_empty(), &[Udp]),
        ("packet", g.packet.is_some(), &[Udp]),
        ("gaps", g.gaps.is_some(), &[Udp]),
        ("on_off", g.on_off.is_some(), &[Udp]),
        ("ecn", g.ecn.is_some(), &[Udp]),
    ];
    let word = |k: &Kind| match k {
        Bulk => "\"bulk\"",
        Transfers => "\"transfers\"",
        Sessions => "\"sessions\"",
        Udp => "\"udp\"",
    };
    for (field, present, kinds) in fields {
        if present && !kinds.contains(&g.kind) {
            let owners: Vec<_> = kinds.iter().map(word).collect();
            let rule =
                format!("does not apply to kind {}; it belongs to {}", word(&g.kind), owners.join(", "));
            return Err(Problem::new(at.then(field), rule));
        }
    }
    let needed = match g.kind {
        Bulk => &[][..],
        Transfers => &[("size", g.size.is_some())],
        Sessions => &[("size", g.size.is_some()), ("sessions_per_second", g.sessions_per_second.is_some())],
        Udp => &[("rate", g.rate.is_some())],
    };
    for (field, present) in needed {
        require(*present, at.then(*field), format!("is missing: kind {} needs it", word(&g.kind)))?;
    }
    Ok(())
}

fn check_group(s: &Scenario, g: &FlowGroup, at: &Path) -> Result<(), Problem> {
    check_kind(g, at)?;
    require(g.count != Some(0), at.then("count"), "must be at least 1")?;
    let count = f64::from(g.count.unwrap_or(1));
    require(count <= limits::FLOWS, at.then("count"), too_many_flows(count))?;
    require(g.transfers != Some(0), at.then("transfers"), "must be at least 1")?;
    require(g.precedence.is_none_or(|p| p <= 7), at.then("precedence"), "must be at most 7")?;
    if let Some(rate) = g.sessions_per_second {
        require(rate > 0.0 && rate.is_finite(), at.then("sessions_per_second"), "must be positive")?;
    }
    check_times(s, g, at)?;
    g.rtt.as_ref().map_or(Ok(()), |rtt| check_rtt(rtt, s, g, &at.then("rtt")))?;
    let mut before = None;
    for (i, change) in g.rtt_changes.iter().enumerate() {
        let here = at.then("rtt_changes").then(i);
        check_change(change.at, before, s.duration, here.then("at"))?;
        check_rtt(&change.rtt, s, g, &here.then("rtt"))?;
        before = Some(change.at);
    }
    require(g.rtt_changes.is_empty() || g.rtt.is_some(), at.then("rtt_changes"), "needs an rtt to change")?;
    for (field, access) in [("access_rate", g.access_rate), ("receiver_rate", g.receiver_rate)] {
        if let Some(Access::Rate(rate)) = access {
            check_rate(rate, at.then(field))?;
        }
    }
    match g.kind {
        Kind::Udp => check_udp(s, g, at),
        _ => check_tcp(g, &at.then("tcp")),
    }?;
    traffic(g, at).map(|_| ())
}

fn check_rtt(rtt: &Rtt, s: &Scenario, g: &FlowGroup, at: &Path) -> Result<(), Problem> {
    let most = Duration::from_secs(2 * limits::DELAY_SECONDS);
    let (low, high) = match rtt {
        OneOr::One(d) => (*d, *d),
        OneOr::Spread(RttSpread::Uniform([low, high]) | RttSpread::Grid([low, high])) => (*low, *high),
        OneOr::Spread(RttSpread::Linear(l)) => (l.first, l.first + l.step * (most_flows(s, g) - 1)),
        OneOr::Spread(RttSpread::List(list)) => {
            require(!list.is_empty(), at.clone(), "must list at least one time")?;
            (Duration::ZERO, list.iter().copied().max().unwrap_or_default())
        }
    };
    require(low <= high, at.clone(), "must rise from the first value to the second")?;
    let which = if low < high { format!(", but reaches {high}") } else { String::new() };
    require(high <= most, at.clone(), format!("must be at most {most}{which}"))?;
    let rule = format!("must be shorter than duration ({}){which}: no answer would ever arrive", s.duration);
    require(high < s.duration, at.clone(), rule)
}

/// How many flows a group has on a route; of sessions, how many are to be expected.
fn most_flows(s: &Scenario, g: &FlowGroup) -> u64 {
    let n = match (g.kind, g.sessions_per_second) {
        (Kind::Sessions, Some(rate)) => {
            let (from, to) = window(s, g);
            (rate * (to - from).as_secs_f64()).ceil() as u64
        }
        _ => u64::from(g.count.unwrap_or(1)),
    };
    n.max(1)
}

/// The earliest and the latest time that a start or stop may take, of `n` flows.
fn range(when: &When, n: u64) -> (Duration, Duration) {
    match when {
        OneOr::One(t) => (*t, *t),
        OneOr::Spread(WhenSpread::Between([a, b])) => (*a, *b),
        OneOr::Spread(WhenSpread::Linear(l)) => (l.first, l.first + l.step * n.saturating_sub(1)),
        OneOr::Spread(WhenSpread::List(list)) => {
            let pick = |d: Option<&Duration>| d.copied().unwrap_or_default();
            (pick(list.iter().min()), pick(list.iter().max()))
        }
    }
}

fn check_times(s: &Scenario, g: &FlowGroup, at: &Path) -> Result<(), Problem> {
    for (field, when) in [("start", &g.start), ("stop", &g.stop)] {
        match when {
            Some(OneOr::Spread(_)) if g.kind == Kind::Sessions => {
                return Err(Problem::new(
                    at.then(field),
                    "must be one time: sessions arrive at random anyway",
                ));
            }
            Some(OneOr::Spread(WhenSpread::Between([a, b]))) => {
                require(a <= b, at.then(field), "must rise from the first time to the second")?;
            }
            Some(OneOr::Spread(WhenSpread::List(list))) => {
                require(!list.is_empty(), at.then(field), "must list at least one time")?;
            }
            _ => {}
        }
    }
    let n = u64::from(g.count.unwrap_or(1));
    let start = g.start.as_ref().map_or((Duration::ZERO, Duration::ZERO), |w| range(w, n));
    require(start.0 < s.duration, at.then("start"), format!("is not before the end ({})", s.duration))?;
    let Some(stop) = &g.stop else { return Ok(()) };
    let flow = |when: &When, i: u64| match when {
        OneOr::Spread(WhenSpread::Linear(l)) => l.first + l.step * i,
        OneOr::Spread(WhenSpread::List(list)) => list[i as usize % list.len()],
        _ => Duration::ZERO,
    };
    let orderly = match (&g.start, stop) {
        // Both differ from flow to flow in a known way: compare flow by flow.
        (
            Some(a @ OneOr::Spread(WhenSpread::Linear(_) | WhenSpread::List(_))),
            b @ OneOr::Spread(WhenSpread::Linear(_) | WhenSpread::List(_)),
        ) => (0..n).all(|i| flow(a, i) < flow(b, i)),
        // Windows may touch: chance does not draw the same instant for both.
        (Some(OneOr::Spread(WhenSpread::Between(_))), OneOr::Spread(WhenSpread::Between(_))) => {
            start.1 <= range(stop, n).0
        }
        _ => start.1 < range(stop, n).0,
    };
    require(orderly, at.then("stop"), "must be later than start, for every flow and draw")
}

fn check_tcp(g: &FlowGroup, at: &Path) -> Result<(), Problem> {
    let t = &g.tcp;
    t.check().map_err(|e| Problem::new(at.then(e.field), e.rule).with_value(e.value))?;
    require(
        t.max_window <= limits::WINDOW,
        at.then("max_window"),
        format!("must be at most {}", limits::WINDOW),
    )
}

fn check_udp(s: &Scenario, g: &FlowGroup, at: &Path) -> Result<(), Problem> {
    let rates = g.rate.map(|r| (r, at.then("rate"))).into_iter().chain(
        g.rate_changes
            .iter()
            .enumerate()
            .map(|(i, c)| (c.rate, at.then("rate_changes").then(i).then("rate"))),
    );
    let access = g.access_rate.unwrap_or(access_rate(s));
    for (rate, here) in rates {
        check_rate(rate, here.clone())?;
        if let Access::Rate(limit) = access {
            let rule =
                format!("exceeds the access link's rate ({limit}), whose queue would grow without end");
            require(rate <= limit, here, rule)?;
        }
    }
    let mut before = None;
    for (i, change) in g.rate_changes.iter().enumerate() {
        check_change(change.at, before, s.duration, at.then("rate_changes").then(i).then("at"))?;
        before = Some(change.at);
    }
    Ok(())
}

/// The rate of access links where a group says nothing of its own.
fn access_rate(s: &Scenario) -> Access {
    let dumbbell = s.dumbbell.as_ref().map(|d| (d.access_rate, d.rate));
    let parking_lot = s.parking_lot.as_ref().map(|p| (p.access_rate, p.rate));
    let graph = s.graph.as_ref().map(|g| {
        let fastest = g.links.iter().map(|l| l.rate).max();
        (g.access_rate, fastest.unwrap_or_default())
    });
    let Some((given, fastest)) = dumbbell.or(parking_lot).or(graph) else { return Access::None };
    given.unwrap_or_else(|| {
        let tenfold = BitRate::from_bps(fastest.bps().saturating_mul(10));
        Access::Rate(tenfold.max(BitRate::from_bps(100_000_000)))
    })
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
            Problem::new(at.then(field), known("is no node of the topology; the nodes are", &names))
                .with_nearest(nearest(name, names.iter().copied()))
        })
    };
    if g.from.is_some() || g.to.is_some() || s.graph.is_some() {
        require(
            g.direction == Direction::Forward,
            at.then("direction"),
            "cannot stand beside from and to, nor in a graph",
        )?;
        let name = |end: &Option<String>, field: &str| {
            end.clone().ok_or_else(|| Problem::new(at.then(field), "is missing: from and to belong together"))
        };
        let (from, to) = (name(&g.from, "from")?, name(&g.to, "to")?);
        require(from != to, at.then("to"), "must not be the node that the data comes from")?;
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

fn check_totals(s: &Scenario, frame: &Frame) -> Result<(), Problem> {
    let mut total = 0.0;
    for (i, (g, routes)) in s.flows.iter().zip(&frame.routes).enumerate() {
        let (field, each) = match g.kind {
            Kind::Sessions => {
                let span = window(s, g);
                let rate = g.sessions_per_second.unwrap_or(0.0);
                ("sessions_per_second", rate * (span.1 - span.0).as_secs_f64())
            }
            _ => ("count", f64::from(g.count.unwrap_or(1))),
        };
        total += each * routes.len() as f64;
        require(total <= limits::FLOWS, steps!["flows", i, field], too_many_flows(total))?;
    }
    let classes = classes(s).len();
    let segments = measure(s).segments().len();
    let links = frame.links.iter().filter(|l| l.observe).count();
    let cells = classes * segments * links;
    require(
        cells <= limits::CLASS_SEGMENTS,
        steps!["segments"],
        format!(
            "{segments} segments x {classes} classes x {links} links make {cells} delay distributions, more \
             than the {} that memory is kept for: use longer segments, or one class for several groups",
            limits::CLASS_SEGMENTS
        ),
    )
}

fn too_many_flows(total: f64) -> String {
    format!("makes about {total} flows in all; at most {} are allowed", limits::FLOWS)
}

/// When sessions arrive.
fn window(s: &Scenario, g: &FlowGroup) -> (Duration, Duration) {
    let one = |when: &Option<When>, default| match when {
        Some(OneOr::One(t)) => *t,
        _ => default,
    };
    (one(&g.start, Duration::ZERO), one(&g.stop, s.duration).min(s.duration))
}

/// A distribution as the simulator wants it, in the unit that `convert` gives.
fn distribution<Q: Quantity>(
    d: &Dist<Q>,
    at: &Path,
    convert: impl Fn(Q) -> f64,
) -> Result<Distribution, Problem> {
    Ok(match d {
        OneOr::One(q) => Distribution::Constant(convert(*q)),
        OneOr::Spread(Shape::Exponential(mean)) => {
            require(convert(*mean) > 0.0, at.then("exponential"), "must be positive")?;
            Distribution::Exponential(convert(*mean))
        }
        OneOr::Spread(Shape::Uniform([low, high])) => {
            require(
                convert(*low) <= convert(*high),
                at.then("uniform"),
                "must rise from the first value to the second",
            )?;
            Distribution::Uniform(convert(*low), convert(*high))
        }
        OneOr::Spread(Shape::Pareto(p)) => {
            let at = at.then("pareto");
            // Below a tenth, most draws are beyond any number.
            require(p.shape >= 0.1 && p.shape.is_finite(), at.then("shape"), "must be at least 0.1")?;
            let scale = match (p.min, p.mean) {
                (Some(min), None) => convert(min),
                (None, Some(mean)) => {
                    require(
                        p.shape > 1.0,
                        at.then("shape"),
                        "must exceed 1: below it there is no finite mean",
                    )?;
                    convert(mean) * (p.shape - 1.0) / p.shape
                }
                _ => return Err(Problem::new(at, "needs either min or mean").with_value("")),
            };
            require(scale > 0.0, at, "its smallest value must be positive")?;
            Distribution::Pareto { shape: p.shape, scale }
        }
    })
}

/// What the flows of a group send.
fn traffic(g: &FlowGroup, at: &Path) -> Result<Traffic, Problem> {
    let seconds = |d: Duration| d.as_secs_f64();
    match g.kind {
        Kind::Bulk => Ok(Traffic::Tcp { tcp: g.tcp.params.clone(), app: App::Bulk }),
        Kind::Transfers | Kind::Sessions => {
            let packet = g.tcp.packet;
            let here = at.then("size");
            let Some(size) = &g.size else { return Err(Problem::new(here, "is missing")) };
            let size = distribution(size, &here, |q: QueueSize| q.in_packets(packet))?;
            require(size.mean() > 0.0, here.clone(), "must be positive")?;
            let huge = size.mean().is_finite() && size.mean() > 1e9;
            require(!huge, here, "is more than 1e9 packets: use kind \"bulk\" for data without end")?;
            let think = match &g.think {
                Some(think) => distribution(think, &at.then("think"), seconds)?,
                None => Distribution::Constant(0.0),
            };
            let default = if g.kind == Kind::Sessions { Some(1) } else { None };
            let connection = g.connection.map_or(Connection::Fresh, Connection::from);
            let app = App::Transfers { size, think, count: g.transfers.or(default), connection };
            Ok(Traffic::Tcp { tcp: g.tcp.params.clone(), app })
        }
        Kind::Udp => {
            let here = at.then("packet");
            let packet = match &g.packet {
                Some(packet) => distribution(packet, &here, |b: Bytes| b.get() as f64)?,
                None => Distribution::Constant(1000.0),
            };
            let mean = packet.mean();
            require((1.0..=1e6).contains(&mean), here, "must have a mean between 1 B and 1 MB")?;
            let on_off = g.on_off.as_ref().map(|o| {
                let at = at.then("on_off");
                let period = |d: &Dist<Duration>, field: &str| {
                    let here = at.then(field);
                    let d = distribution(d, &here, seconds)?;
                    require(d.mean() > 0.0, here, "must be longer than 0 s")?;
                    Ok::<_, Problem>(d)
                };
                Ok::<_, Problem>((period(&o.on, "on")?, period(&o.off, "off")?))
            });
            let Some(rate) = g.rate else { return Err(Problem::new(at.then("rate"), "is missing")) };
            Ok(Traffic::Udp(UdpSpec {
                packet,
                rate: Schedule {
                    initial: rate,
                    changes: g.rate_changes.iter().map(|c| (self::at(c.at), c.rate)).collect(),
                },
                gaps: g.gaps.map_or(Gaps::Constant, Gaps::from),
                on_off: on_off.transpose()?,
                ecn: g.ecn.unwrap_or(false),
            }))
        }
    }
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
        OneOr::Spread(RttSpread::List(list)) => list[i as usize % list.len()],
    }
}

fn when_of(when: &When, i: u64, rng: impl FnOnce() -> Rng) -> Duration {
    match when {
        OneOr::One(t) => *t,
        OneOr::Spread(WhenSpread::Between([a, b])) => *a + (*b - *a).mul_f64(rng().uniform()),
        OneOr::Spread(WhenSpread::Linear(l)) => l.first + l.step * i,
        OneOr::Spread(WhenSpread::List(list)) => list[i as usize % list.len()],
    }
}

/// The times at which sessions arrive: a Poisson process.
fn arrivals(s: &Scenario, g: &FlowGroup, seed: Seed, k: usize) -> Vec<Duration> {
    let (from, to) = window(s, g);
    let mut rng = seed.indexed_stream(&format!("flows.{}.arrivals", g.name), k as u64);
    let mean_gap = 1.0 / g.sessions_per_second.unwrap_or(1.0);
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

/// The flows; `moment` is when their round-trip times are read, without it when each begins.
fn draw_flows(
    s: &Scenario,
    topology: &mut Topology,
    frame: &Frame,
    seed: Seed,
    moment: Option<Time>,
) -> Result<(Vec<FlowSpec>, Vec<FlowFact>), Problem> {
    let names = classes(s);
    let class_of = |name: &str| names.iter().position(|c| c == name).unwrap_or(0) as u16;
    let acks = class_of(ACKS);
    let (mut flows, mut facts) = (Vec::new(), Vec::new());
    for (index, g) in s.flows.iter().enumerate() {
        let at_group = steps!["flows", index];
        let class = class_of(g.class());
        let mut number = 0; // Counts the group's flows over all its routes.
        for (k, route) in frame.routes[index].iter().enumerate() {
            let sessions = (g.kind == Kind::Sessions).then(|| arrivals(s, g, seed, k));
            let n = sessions.as_ref().map_or(u64::from(g.count.unwrap_or(1)), |times| times.len() as u64);
            for i in 0..n {
                let stream = |what: &str| seed.indexed_stream(&format!("flows.{}.{what}", g.name), number);
                let start = match &sessions {
                    Some(times) => times[i as usize],
                    None => g.start.as_ref().map_or(Duration::ZERO, |w| when_of(w, i, || stream("start"))),
                };
                // A session that has arrived runs to its end.
                let stop = g.stop.as_ref().filter(|_| sessions.is_none());
                let stop = stop.map(|w| when_of(w, i, || stream("stop")));
                let access = access_of(g, i, n, topology, route, &at_group, stream)?;
                let source = endpoint(g.access_rate.unwrap_or(access_rate(s)), &access);
                let receiver = endpoint(g.receiver_rate.unwrap_or(Access::None), &access);
                let share = if source.is_some() && receiver.is_some() { 2 } else { 1 };
                let divide = |a: Option<topology::Access>| {
                    a.map(|a| topology::Access { delay: divided(&a.delay, share), ..a })
                };
                let (source, receiver) = (divide(source), divide(receiver));
                if source.is_none() && receiver.is_none() {
                    let none = access.initial.is_zero() && access.changes.iter().all(|c| c.1.is_zero());
                    require(
                        none,
                        at_group.then("rtt"),
                        "needs an access link that adds the delay, but there is none",
                    )?;
                }
                let tcp = g.kind != Kind::Udp;
                let way =
                    topology.connect(&route.there, &route.back, source.as_ref(), receiver.as_ref(), tcp);
                let read = moment.unwrap_or(at(start));
                let base_rtt = topology.propagation(&route.there, read)
                    + topology.propagation(&route.back, read)
                    + access.at(read) * 2;
                facts.push(FlowFact {
                    group: index as u16,
                    class,
                    base_rtt,
                    start: at(start),
                    stop: stop.map(at),
                    bulk: g.kind == Kind::Bulk,
                    links: route.there.clone(),
                });
                flows.push(FlowSpec {
                    class,
                    forward: way.forward,
                    reverse: way.reverse,
                    ack_class: acks,
                    traffic: traffic(g, &at_group)?,
                    precedence: g.precedence.unwrap_or(0),
                    start: at(start),
                    stop: stop.map(at),
                });
                number += 1;
            }
        }
    }
    Ok((flows, facts))
}

fn endpoint(access: Access, delay: &Schedule<Duration>) -> Option<topology::Access> {
    match access {
        Access::Rate(rate) => Some(topology::Access { rate, delay: delay.clone() }),
        Access::None => None,
    }
}

fn divided(delay: &Schedule<Duration>, by: u64) -> Schedule<Duration> {
    Schedule {
        initial: delay.initial / by,
        changes: delay.changes.iter().map(|(t, d)| (*t, *d / by)).collect(),
    }
}

/// The one-way delay that a flow's access links must add over time, so that its round trip takes what
/// the group asks for.
fn access_of(
    g: &FlowGroup,
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
                "is less than the {routers} that the links between routers take there and back (flow {i}: {least})"
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
    Ok(Schedule { initial, changes })
}
