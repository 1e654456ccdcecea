//! The network that the simulator runs, from a checked scenario, an algorithm and a seed.
//!
//! Chance enters here: round-trip times, starts, stops and session arrivals are drawn from streams
//! of their own, named after the flow group. No algorithm has a part in them, so all algorithms meet
//! the same traffic (common random numbers).

mod check;
mod estimate;
mod flows;
mod groups;
mod links;
mod measure;
mod packets;
mod queues;
mod resolve;
mod routes;
mod traffic;

use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::{About, Marks};
use quell_aqm::{Link, Seed};
use quell_sim::network::{FlowSpec, Network};
use quell_units::{BitRate, QueueSize, Time};

use crate::dialect::gives;
use crate::error::Problem;
use crate::files::Loaded;
use crate::format::{AqmChoice, FlowGroup};
use crate::plugins::Plugins;
use crate::tree::{Node, Path, Step, steps};
use check::{basics, check_packets, check_totals, unmarked};
use flows::draw_flows;
use measure::{at, steady_state};
use packets::{access_rate, check_access, mean_packet};
use queues::configure;
use routes::Frame;

pub(crate) use estimate::{estimated_memory, estimated_packets, lifted_above_access, limited_by_access};
pub use flows::FlowFact;
pub(crate) use groups::Group;
pub use measure::ACKS;
pub(crate) use measure::{classes, measure};
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
    for (link, queue) in links.iter_mut().zip(frame.queues(s, aqm, plugins)?) {
        link.queue = queue.map(Box::new);
    }
    let classes = classes(&s);
    let buffers = links.iter().map(|l| Some(l.queue.as_ref()?.buffer)).collect();
    let network = Network { links, flows, classes: classes.clone(), measure: measure(&s), seed };
    let groups = groups.iter().map(|g| g.name.clone()).collect();
    let steady_state = steady_state(&s);
    Ok(Plan { network, facts: Facts { classes, groups, flows: facts, buffers, steady_state } })
}

/// What may surprise in the algorithms at their links, in sentences, and the groups of flows that live on marks and
/// never meet any.
pub(crate) fn remarks(s: Loaded<'_>, groups: &[Group], plugins: &Plugins) -> (Vec<String>, Vec<String>) {
    let capable = s.flows.iter().any(FlowGroup::may_be_marked);
    let Ok(frame) = Frame::of(s) else { return Default::default() };
    let mut all = Vec::new();
    for link in &frame.links {
        let Some(queue) = &link.queue else { continue };
        let known = Link { rate: link.rate.initial, buffer: queue.buffer, mean_packet: mean_packet(s) };
        let own = queue.own.as_ref().map(|(choice, path)| (choice, path.clone()));
        let shared = if own.is_some() { &[] } else { s.aqm.as_slice() };
        let shared = shared.iter().enumerate().map(|(i, choice)| (choice, steps!["aqm", i]));
        let at = if link.name == "bottleneck" { String::new() } else { format!(" at {}", link.name) };
        let unmarked = match (queue.ecn, capable) {
            (true, true) => None,
            (true, false) => {
                Some("without ECN-capable flows because nothing is marked; set ecn = true for some")
            }
            (false, _) => {
                Some("with ecn = false at the link because nothing is marked there; set ecn = true")
            }
        };
        let choices: Vec<(&AqmChoice, Path)> = own.into_iter().chain(shared).collect();
        all.extend(unmarking(s, &link.name, queue.ecn, &choices));
        for (choice, path) in choices {
            let Ok(config) = configure(choice, &Path::default(), plugins) else { continue };
            let (dialect, written) = (s.dialect.unwrap_or_default(), Node::of(choice).ok());
            // What the dialect gives is nobody's mistake.
            let of_file =
                |field: &str| !written.as_ref().is_some_and(|table| gives(dialect, &path, table, field));
            let remarks = config.remarks(&known);
            let remarks =
                remarks.iter().filter(|remark| remark.about != About::Void || of_file(remark.field));
            let of_marks = config.of_marks();
            let void = unmarked.map(|why| {
                let changed = config.changed().into_iter().filter(|(field, _)| of_marks.contains(field));
                let changed = changed.filter(|(field, _)| of_file(field));
                changed.map(move |(field, value)| format!("{field} = {value} has no effect {why}"))
            });
            let remarks = remarks.map(ToString::to_string).chain(void.into_iter().flatten());
            all.extend(remarks.map(|remark| format!("{}{at}: {remark}", choice.label())));
        }
    }
    let unmarked = unmarked(&s, groups, &frame).into_iter().map(str::to_string).collect();
    (all, unmarked)
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
        let labels: Vec<&str> = choices.iter().map(|(choice, _)| choice.label()).collect();
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
    let link = Link { rate: plan.rate.initial, buffer: queue.buffer, mean_packet: mean_packet(s) };
    let end = at(s.duration);
    let changes = plan.rate.next_change(time).min(plan.delay.next_change(time)) < end;
    let rate = plan.rate.at(time);
    if rate.bps() == 0 {
        let rule = format!("the rate of the link {name} is zero at {time}: choose another time");
        return Err(Problem::new(Path::default(), rule));
    }
    Ok(LinkAt { link, rate, algorithms, ecn: queue.ecn, changes })
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
