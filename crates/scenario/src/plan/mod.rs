//! The network that the simulator runs, from a checked scenario, an algorithm and a seed.
//!
//! Chance enters here: round-trip times, starts, stops and session arrivals are drawn from streams
//! of their own, named after the flow group. No algorithm has a part in them, so all algorithms meet
//! the same traffic (common random numbers).

mod cell;
mod check;
mod classes;
mod estimate;
mod flows;
mod groups;
mod handovers;
mod links;
mod measure;
mod packets;
mod queues;
mod resolve;
mod routes;
mod traffic;
mod wifi;

use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::{About, Marks};
use quell_aqm::{Link, Seed};
use quell_sim::network::{
    CellSpec, Classifier, FlowSpec, LinkId, LinkSpec, Network, QueueSpec, Schedule, TreeSpec, UserSpec,
    WifiSpec,
};
use quell_units::{BitRate, QueueSize, Time};

use self::classes::{Classes, Comer, unmet};
use crate::dialect::gives;
use crate::error::Problem;
use crate::files::Loaded;
use crate::format::{AqmChoice, FlowGroup, Scenario};
use crate::plugins::Plugins;
use crate::tree::{Node, Path, Step, steps};
use cell::{CellPlan, of_users};
use check::{basics, check_packets, check_totals, unmarked};
use flows::draw_flows;
use measure::{at, steady_state};
use packets::{access_rate, check_access, mean_packet};
use queues::configure;
use routes::{Frame, Route, Station};

pub(crate) use classes::copies_of;
pub(crate) use estimate::{estimated_memory, estimated_packets, lifted_above_access, limited_by_access};
pub use flows::FlowFact;
pub(crate) use groups::Group;
use links::LinkPlan;
pub(crate) use links::wires;
pub use links::{Decides, WireFact};
pub use measure::ACKS;
pub(crate) use measure::{classes, measure};
pub(crate) use packets::largest_packet;
pub(crate) use resolve::resolved;

/// The network of a replication, and what its outcome means.
pub struct Plan {
    /// The network that the simulator runs.
    pub network: Network,
    /// The facts that give its outcome a meaning.
    pub facts: Facts,
}

/// The facts that figures are computed from, beside the outcome.
pub struct Facts {
    /// The traffic classes: those of the groups in order, then [`ACKS`].
    pub classes: Vec<String>,
    /// The names of the flow groups.
    pub groups: Vec<String>,
    /// One for each flow of the network, in its order.
    pub flows: Vec<FlowFact>,
    /// One for each link of the network, in its order; none for a link without a limit.
    pub buffers: Vec<Option<QueueSize>>,
    /// The window that response times are taken against, if the scenario names one.
    pub steady_state: Option<(Time, Time)>,
}

/// What a scenario that is sound means.
pub(crate) struct Checked {
    /// The groups of flows.
    pub groups: Vec<Group>,
    /// The algorithms under comparison that refuse a link, in order, with the reason.
    pub refusals: Vec<(usize, Problem)>,
}

/// Checks everything that can be checked without running. Algorithms under comparison may refuse a link, if one is left
/// that does not.
pub(crate) fn check(s: Loaded<'_>, plugins: &Plugins) -> Result<Checked, Problem> {
    basics(&s)?;
    let access = access_rate(s);
    let groups = s.flows.iter().enumerate().map(|(i, group)| group.typed(s, access, &steps!["flows", i]));
    let groups = groups.collect::<Result<Vec<_>, _>>()?;
    check_access(s)?;
    let frame = Frame::of(s)?;
    check_totals(&s, &groups, &frame)?;
    check_packets(&s, &groups, &frame)?;
    let mut refusals = Vec::new();
    for aqm in 0..s.aqm.len() {
        match frame.queues(s, aqm, plugins) {
            Err(problem) if problem.of_link && problem.path.0.starts_with(&steps!["aqm", aqm].0) => {
                refusals.push((aqm, problem));
            }
            built => drop(built?),
        }
    }
    if refusals.len() == s.aqm.len() {
        return Err(refusals.swap_remove(0).1);
    }
    let seed = Seed(s.seeds.list()[0]);
    draw_flows(&s, &groups, &mut frame.topology(None)?, &frame, seed, None)?;
    Ok(Checked { groups, refusals })
}

/// The network for one algorithm and seed.
pub(crate) fn plan(
    s: Loaded<'_>,
    groups: &[Group],
    aqm: usize,
    seed: u64,
    plugins: &Plugins,
) -> Result<Plan, Problem> {
    let seed = Seed(seed);
    let frame = Frame::of(s)?;
    let mut topology = frame.topology(Some(seed))?;
    let (flows, facts) = draw_flows(&s, groups, &mut topology, &frame, seed, None)?;
    let mut links = topology.into_links();
    let queues = frame.queues(s, aqm, plugins)?;
    for (number, ((link, plan), mut queues)) in (0..).zip(links.iter_mut().zip(&frame.links).zip(queues)) {
        if let Some(wifi) = &plan.wifi {
            let id = LinkId(number);
            let sends = |fact: &FlowFact| {
                frame.routes[usize::from(fact.group)].iter().any(|route| route.up.contains(&id))
            };
            let at_stations = flows.iter().zip(&facts).map(|(flow, fact)| (flow, fact.group, sends(fact)));
            let of_flow = wifi.of_flow(&s, at_stations).into();
            link.wifi = Some(Box::new(WifiSpec { channel: wifi.channel.clone(), queues, of_flow }));
            continue;
        }
        match &plan.classes {
            Some((classes, _)) => {
                let classifier =
                    classes.classifier(&s, flows.iter().zip(facts.iter().map(|fact| fact.group)));
                if let Some(cell) = &plan.cell {
                    let cell = users(plan, (cell, classes), queues, seed, classifier);
                    link.cell = Some(Box::new(cell));
                    continue;
                }
                let tree = TreeSpec { plan: classes.plan.clone(), leaves: queues, classifier };
                link.tree = Some(Box::new(tree));
            }
            None => link.queue = queues.pop().map(Box::new),
        }
    }
    let classes = classes(&s);
    let buffers = links.iter().map(buffer).collect();
    let network = Network { links, flows, classes: classes.clone(), measure: measure(&s), seed };
    let groups = groups.iter().map(|g| g.name.clone()).collect();
    let steady_state = steady_state(&s);
    Ok(Plan { network, facts: Facts { classes, groups, flows: facts, buffers, steady_state } })
}

/// The cell of a link in a replication.
fn users(
    link: &LinkPlan,
    (cell, classes): (&CellPlan, &Classes),
    queues: Vec<QueueSpec>,
    seed: Seed,
    classifier: Classifier,
) -> CellSpec {
    let CellPlan { policy, interval, rates, known, .. } = cell;
    let course = link.handovers.as_ref().map(|handovers| handovers.draw(seed));
    let names = classes.plan.classes.iter().map(|class| &class.name);
    let users = names.zip(queues).zip(rates.iter().zip(known));
    let user =
        |((name, queue), (rate, known)): ((&String, QueueSpec), (&Schedule<BitRate>, &BitRate))| UserSpec {
            name: name.clone(),
            rate: course.as_ref().map_or_else(|| rate.clone(), |course| course.rate(rate)),
            queue,
            known: *known,
        };
    CellSpec { policy: *policy, interval: *interval, users: users.map(user).collect(), classifier }
}

/// The room at a link, that of all leaves together; none where it has no limit, or leaves count differently.
fn buffer(link: &LinkSpec) -> Option<QueueSize> {
    let leaves = link.tree.iter().flat_map(|tree| &tree.leaves);
    let users = link.cell.iter().flat_map(|cell| cell.users.iter().map(|user| &user.queue));
    let stations = link.wifi.iter().flat_map(|wifi| &wifi.queues);
    let mut all = link
        .queue
        .as_deref()
        .into_iter()
        .chain(leaves)
        .chain(users)
        .chain(stations)
        .map(|queue| queue.buffer);
    let first = all.next()?;
    all.try_fold(first, |sum, next| match (sum, next) {
        (QueueSize::Packets(a), QueueSize::Packets(b)) => Some(QueueSize::Packets(a + b)),
        (QueueSize::Bytes(a), QueueSize::Bytes(b)) => Some(QueueSize::Bytes(a + b)),
        _ => None,
    })
}

/// What may surprise in the algorithms at their links, in sentences, and the groups of flows that live on marks and
/// never meet any.
pub(crate) fn remarks(s: Loaded<'_>, groups: &[Group], plugins: &Plugins) -> (Vec<String>, Vec<String>) {
    let capable = s.flows.iter().any(FlowGroup::may_be_marked);
    let Ok(frame) = Frame::of(s) else { return Default::default() };
    let mut all = Vec::new();
    for link in &frame.links {
        let at_link = if link.name == "bottleneck" { String::new() } else { format!(" at {}", link.name) };
        let stations = link.stations(mean_packet(s));
        let compares = link.queue.as_ref().is_some_and(|queue| queue.own.is_none());
        if compares
            && link.observe
            && !stations.is_empty()
            && stations.iter().all(|station| station.own.is_some())
        {
            all.push(format!(
                "aqm: no leaf{at_link} runs the algorithms that are compared, because each has its own; leave out aqm at \
                 one"
            ));
        }
        let stations: Vec<_> = stations.into_iter().filter(|station| !station.repeated).collect();
        let ecn = stations.first().is_some_and(|station| station.ecn);
        let everything: Vec<_> = stations.iter().flat_map(|station| choices(s.scenario, station)).collect();
        all.extend(unmarking(s, &link.name, ecn, &everything));
        let unmarked = match (ecn, capable) {
            (true, true) => None,
            (true, false) => {
                Some("without ECN-capable flows because nothing is marked; set ecn = true for some")
            }
            (false, _) => {
                Some("with ecn = false at the link because nothing is marked there; set ecn = true")
            }
        };
        for station in &stations {
            let at = station.class.map_or(at_link.clone(), |class| format!("{at_link} in class {class}"));
            for (choice, path) in choices(s.scenario, station) {
                let remarks = of_choice(s, choice, &path, &station.known, unmarked, plugins);
                all.extend(remarks.map(|remark| format!("{}{at}: {remark}", choice.label())));
            }
        }
    }
    all.extend(of_service(groups, &frame));
    all.extend(way_back(s, &frame));
    let unmarked = unmarked(&s, groups, &frame).into_iter().map(str::to_string).collect();
    (all, unmarked)
}

/// The algorithms that may decide in a queue, and where each is written.
fn choices<'a>(s: &'a Scenario, station: &Station<'a>) -> Vec<(&'a AqmChoice, Path)> {
    match station.own {
        Some((choice, path)) => vec![(choice, path.clone())],
        None => s.aqm.iter().enumerate().map(|(i, choice)| (choice, steps!["aqm", i])).collect(),
    }
}

/// Remarks on an algorithm, which is written at `path`; `unmarked` says why nothing is marked, if so.
fn of_choice(
    s: Loaded<'_>,
    choice: &AqmChoice,
    path: &Path,
    known: &Link,
    unmarked: Option<&str>,
    plugins: &Plugins,
) -> impl Iterator<Item = String> {
    let mut all = Vec::new();
    let Ok(config) = configure(choice, &Path::default(), plugins) else { return all.into_iter() };
    let (dialect, written) = (s.dialect.unwrap_or_default(), Node::of(choice).ok());
    // What the dialect gives is nobody's mistake.
    let of_file = |field: &str| !written.as_ref().is_some_and(|table| gives(dialect, path, table, field));
    let remarks = config.remarks(known);
    let remarks = remarks.iter().filter(|remark| remark.about != About::Void || of_file(remark.field));
    all.extend(remarks.map(ToString::to_string));
    if let Some(why) = unmarked {
        let of_marks = config.of_marks();
        let changed = config.changed().into_iter().filter(|(field, _)| of_marks.contains(field));
        let changed = changed.filter(|(field, _)| of_file(field));
        all.extend(changed.map(|(field, value)| format!("{field} = {value} has no effect {why}")));
    }
    all.into_iter()
}

/// Notes on shapers that hold nothing back, and on classes that no packet meets or that promise too much.
fn of_service(groups: &[Group], frame: &Frame) -> Vec<String> {
    let mut all = Vec::new();
    for (i, link) in frame.links.iter().enumerate() {
        let id = LinkId(i as u32);
        let fastest = link.rate.values().max().unwrap_or_default();
        // Of each link the way back follows.
        let way = if i % 2 == 1 { "reverse." } else { "" };
        if let Some(shaper) =
            link.shaper.filter(|shaper| shaper.rate.rate >= fastest && shaper.limit.is_none())
        {
            all.push(format!(
                "{}: {way}shaper.rate = {} has no effect because {way}rate is not higher ({fastest}); lower \
                 {way}shaper.rate, or leave the shaper out",
                link.name, shaper.rate.rate
            ));
        }
        if let Some(wifi) = &link.wifi {
            let comes = |routes: &[Route]| {
                routes.iter().any(|route| route.there.contains(&id) || route.back.contains(&id))
            };
            let comers = (0..).zip(groups.iter().zip(&frame.routes));
            let comers = comers.filter(|(_, (_, routes))| comes(routes));
            let comers: Vec<Comer> =
                comers.map(|(group, (g, routes))| g.comer(group, routes.len())).collect();
            all.extend(wifi.unmet(&comers));
        }
        let Some((classes, at)) = &link.classes else { continue };
        all.extend(link.cell.as_ref().and_then(|cell| still(cell, classes, at)));
        if link.cell.as_ref().is_some_and(|cell| !cell.follows) {
            all.push(format!(
                "{}: {way}rate has no effect because all users of the cell have rates of their own; leave out the rate \
                 of the link, or that of a user",
                link.name
            ));
        }
        let crosses = |route: &Route| route.there.contains(&id) || route.back.contains(&id);
        let comers = (0..).zip(groups.iter().zip(&frame.routes));
        let comers = comers.filter(|(_, (_, routes))| routes.iter().any(crosses));
        let comers: Vec<Comer> = comers.map(|(group, (g, routes))| g.comer(group, routes.len())).collect();
        let notes = unmet(classes, &comers, at);
        match link.cell {
            Some(_) => all.extend(notes.iter().map(|note| of_users(note))),
            None => all.extend(notes),
        }
        let tops = classes.plan.classes.iter().filter(|class| class.parent.is_none());
        let promised: u128 =
            tops.filter_map(|class| class.limits).map(|limits| u128::from(limits.rate.bps())).sum();
        let slowest = link.shaper.map_or(fastest, |shaper| shaper.rate.rate.min(fastest));
        if promised > u128::from(slowest.bps()) {
            let promised = BitRate::from_bps(u64::try_from(promised).unwrap_or(u64::MAX));
            all.push(format!(
                "{at}: the classes are promised {promised}, and at most {slowest} can leave, so that some get less than \
                 their rates"
            ));
        }
    }
    all
}

/// The note on users whose rates do not change, although those of the first of them do: the shift has passed the end of the
/// list.
fn still(cell: &CellPlan, classes: &Classes, at: &Path) -> Option<String> {
    let leaves = classes.leaves.iter().zip(&cell.rates);
    let moves = |class: &str| leaves.clone().any(|(leaf, rate)| leaf.class == class && !rate.is_constant());
    let mut still =
        leaves.clone().filter(|(leaf, rate)| leaf.repeated && rate.is_constant() && moves(&leaf.class));
    let class = &still.next()?.0.class;
    let count = 1 + still.filter(|(leaf, _)| leaf.class == *class).count();
    Some(format!(
        "{at}: {count} of the users `{class}` have a rate that never changes, because shift takes them past the last of \
         the changes; lower shift, or set changes.repeat to the length of the list"
    ))
}

/// The note on a way back whose data waits in the drop-tail queue that nobody wrote, while others are compared.
fn way_back(s: Loaded<'_>, frame: &Frame) -> Option<String> {
    let compares = s.aqm.iter().any(|choice| choice.algorithm != "drop-tail");
    let mut ways = frame.links.iter().enumerate().filter(|(i, link)| {
        // Of each link the way back follows; the links of a parking lot are one in the file.
        let written = if s.graph.is_some() { i / 2 } else { 0 };
        let fields = s.links().nth(written).map(|(_, fields)| fields);
        let silent = fields.is_some_and(|fields| fields.reverse.aqm.is_none() && fields.wifi.is_none());
        i % 2 == 1 && link.observe && link.queue.is_some() && silent
    });
    let (_, link) = ways.find(|_| compares)?;
    let name = &link.name;
    Some(format!(
        "{name}: data crosses the reverse direction, whose queue is drop-tail whichever algorithm is compared; write \
         reverse.aqm = \"same\" to compare them there, or {{ algorithm = \"drop-tail\" }} to keep it"
    ))
}

/// The note on a link whose `ecn` is written and has no effect, for none of its algorithms marks.
fn unmarking(s: Loaded<'_>, name: &str, ecn: bool, choices: &[(&AqmChoice, Path)]) -> Option<String> {
    let silent = choices.iter().all(|(choice, _)| choice.marks() == Marks::Nothing);
    let back = choices.first().is_some_and(|(_, path)| {
        path.0.iter().any(|step| matches!(step, Step::Key(key) if key == "reverse"))
    });
    // The way back has what the other one has, unless it says otherwise.
    let written = match back {
        false => ecn,
        true => s.links().any(|(_, link)| link.reverse.ecn.is_some_and(|back| back != link.ecn)),
    };
    (silent && written && !choices.is_empty()).then(|| {
        let mut labels: Vec<&str> = choices.iter().map(|(choice, _)| choice.label()).collect();
        labels.dedup();
        let labels = labels.join(", ");
        let field = if back { "reverse.ecn" } else { "ecn" };
        let remedy = if back { "give reverse.aqm one that marks" } else { "add one that marks" };
        format!("{name}: {field} = {ecn} has no effect with {labels} because nothing is marked; {remedy}, or leave out \
            {field}")
    })
}

/// A link at a time: as its algorithms know it, its rate then, the algorithms for it, and whether it marks.
pub struct LinkAt {
    /// The link as its algorithm knows it.
    pub link: Link,
    /// Its rate at that time.
    pub rate: BitRate,
    /// The algorithms of the catalog for this link: label and parameters.
    pub algorithms: Vec<(String, AqmConfig)>,
    /// True if packets that allow it are marked instead of dropped.
    pub ecn: bool,
    /// True if its rate or its delay changes after that time.
    pub changes: bool,
    /// True if classes share it, each leaf with a queue of its own.
    pub classes: bool,
    /// True if users of a cell share it, each with a queue of its own.
    pub cell: bool,
    /// True if it is a channel of Wi-Fi.
    pub wifi: bool,
}

/// The observed link called `name` at a time.
pub(crate) fn link_at(s: Loaded<'_>, name: &str, time: Time, plugins: &Plugins) -> Result<LinkAt, Problem> {
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
    let capacity = plan.capacity();
    let link = Link { rate: capacity.initial, buffer: queue.buffer, mean_packet: mean_packet(s) };
    let end = at(s.duration);
    let changes =
        plan.handovers.is_some() || capacity.next_change(time).min(plan.delay.next_change(time)) < end;
    let rate = capacity.at(time);
    if rate.bps() == 0 {
        let rule = format!("the rate of the link {name} is zero at {time}: choose another time");
        return Err(Problem::new(Path::default(), rule));
    }
    Ok(LinkAt {
        link,
        rate,
        algorithms,
        ecn: queue.ecn,
        changes,
        classes: plan.classes.is_some() && plan.cell.is_none(),
        cell: plan.cell.is_some(),
        wifi: plan.wifi.is_some(),
    })
}

/// A queue of a link: the link as its algorithm knows it, the algorithm, and whether it marks.
pub struct QueueAt {
    /// The link as its algorithm knows it.
    pub link: Link,
    /// The algorithm and its parameters.
    pub aqm: AqmConfig,
    /// True if packets that allow it are marked instead of dropped.
    pub ecn: bool,
}

/// The queues of the link called `name` in the runs of the algorithm number `aqm`: one, or those of the leaves of its
/// classes in their order. None if it has no limit.
pub(crate) fn queues_at(
    s: Loaded<'_>,
    name: &str,
    aqm: usize,
    plugins: &Plugins,
) -> Result<Vec<QueueAt>, Problem> {
    let frame = Frame::of(s)?;
    let Some(plan) = frame.links.iter().find(|l| l.name == name) else { return Ok(Vec::new()) };
    let queue = |station: Station<'_>| {
        let Station { known: link, own, ecn, .. } = station;
        let aqm = match own {
            Some((choice, at)) => configure(choice, at, plugins)?,
            None => configure(&s.aqm[aqm], &steps!["aqm", aqm], plugins)?,
        };
        Ok(QueueAt { link, aqm, ecn })
    };
    plan.stations(mean_packet(s)).into_iter().map(queue).collect()
}

/// Every flow, with its round-trip time at `time`, and which of them cross the link called `name`.
pub(crate) fn flows_at(
    s: Loaded<'_>,
    groups: &[Group],
    name: &str,
    time: Time,
    seed: u64,
) -> Result<Vec<(FlowSpec, FlowFact)>, Problem> {
    let frame = Frame::of(s)?;
    let (specs, facts) = draw_flows(&s, groups, &mut frame.topology(None)?, &frame, Seed(seed), Some(time))?;
    let crosses =
        |f: &FlowFact| f.links.iter().any(|l| frame.links.get(l.0 as usize).is_some_and(|l| l.name == name));
    Ok(specs.into_iter().zip(facts).filter(|(_, f)| crosses(f)).collect())
}

/// The names of the observed links, in order.
pub(crate) fn observed_links(s: Loaded<'_>) -> Vec<String> {
    Frame::of(s)
        .map(|f| f.links.iter().filter(|l| l.observe).map(|l| l.name.clone()).collect())
        .unwrap_or_default()
}

/// The names of the lanes of observed links.
pub(crate) fn observed_lanes(s: Loaded<'_>) -> Vec<String> {
    let links = Frame::of(s).map(|frame| frame.links).unwrap_or_default();
    links.iter().filter(|link| link.observe).flat_map(LinkPlan::lane_names).collect()
}

/// The leaves of observed links.
pub(crate) fn observed_leaves(s: Loaded<'_>) -> usize {
    let leaves = |frame: Frame| {
        let observed = frame.links.iter().filter(|link| link.observe);
        observed.map(LinkPlan::lanes).sum()
    };
    Frame::of(s).map(leaves).unwrap_or(0)
}
