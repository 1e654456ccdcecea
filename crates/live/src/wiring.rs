//! The wire of a replication: its lines, what happens to them by themselves, and its flows. What no wire can be is
//! refused.

use quell_aqm::Seed;
use quell_aqm::catalog::AqmConfig;
use quell_gateway::traffic::{Flow, MOST_FLOWS, address};
use quell_gateway::wire::Side;
use quell_gateway::{BehindConfig, Change, ClassesConfig, Course, LineConfig, ShaperConfig};
use quell_scenario::{Plan, Plugins};
use quell_sim::network::{LinkId, LinkSpec, Loss, Schedule, Traffic};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

use crate::apps::{Tcp, datagrams, tcp_app};
use crate::hosts::{FORWARD, Leaves, Source, Sources};
use crate::job::{Job, LiveError};

/// More than a machine can be expected to relay.
const FASTEST: BitRate = BitRate::from_bps(10_000_000_000);

/// The link back.
const BACK: &str = "reverse";

/// A wire and its traffic: what lies between the hosts, and what they send.
pub(crate) struct Wiring {
    pub line: LineConfig,
    pub back: Option<LineConfig>,
    /// The courses of the line and the one back.
    pub courses: [Course; 2],
    pub crowd: Crowd,
}

/// The flows between the hosts.
pub(crate) struct Crowd {
    pub flows: Vec<Flow>,
    /// The flows' delays there and back.
    pub delays: Vec<[Duration; 2]>,
    pub sources: Sources,
    /// The largest packet.
    pub mtu: u16,
}

/// The link that is made real, and the one back if there is one.
struct Ways {
    forward: LinkId,
    back: Option<LinkId>,
}

impl Ways {
    fn both(&self) -> [Option<LinkId>; 2] {
        [Some(self.forward), self.back]
    }
}

impl Wiring {
    /// The wire of a replication, for a kernel with the congestion controls `known`.
    pub fn of(job: &Job<'_>, known: &[String]) -> Result<Wiring, LiveError> {
        if job.point.scenario.dumbbell.is_none() {
            let other = if job.point.scenario.graph.is_some() { "graph" } else { "parking_lot" };
            let rule = format!("[{other}]: a wire is a single bottleneck; use [dumbbell] instead");
            return Err(job.refuse(rule));
        }
        let plan = job.point.plan(job.aqm, job.seed, &Plugins::new())?;
        let ways = refuse_unwireable(job, &plan)?;
        let line = line(job, &plan, &ways)?;
        let back = back(job, &plan, &ways, &line)?;
        let delays = delays(&plan, &ways);
        let courses = courses(job, &plan, &ways, &delays)?;
        let leaves = spec(&plan, &ways.forward).tree.as_ref().map(|tree| Leaves {
            plan: tree.plan.clone(),
            buffers: tree.leaves.iter().map(|leaf| leaf.buffer).collect(),
            classifier: tree.classifier.clone(),
        });
        let mut crowd = crowd(job, known, plan, &ways, (line.mean_packet, delays))?;
        crowd.sources.leaves = leaves;
        line.build().map_err(|e| job.refuse(e.to_string()))?;
        Ok(Wiring { line, back, courses, crowd })
    }
}

fn spec<'a>(plan: &'a Plan, link: &LinkId) -> &'a LinkSpec {
    &plan.network.links[link.0 as usize]
}

/// Refuses links that a wire cannot be; gives those that it is.
fn refuse_unwireable(job: &Job<'_>, plan: &Plan) -> Result<Ways, LiveError> {
    let links = &plan.network.links;
    let id = |name: &str| links.iter().position(|l| l.name == name).map(|i| LinkId(i as u32));
    let Some(forward) = id(FORWARD) else {
        return Err(job.refuse("the scenario has no link \"bottleneck\""));
    };
    let ways = Ways { forward, back: id(BACK) };
    for (i, link) in links.iter().enumerate() {
        let name = match &*link.name {
            FORWARD => "dumbbell",
            BACK => "dumbbell.reverse",
            name => name,
        };
        if !ways.both().contains(&Some(LinkId(i as u32)))
            && (!link.rate.is_constant() || !link.impairments.is_none())
        {
            let rule = "on a wire, only the bottleneck and the reverse direction can change their rate, or lose, copy or \
                vary the delay of packets";
            return Err(job.refuse(format!("the link {name}: {rule}; change those")));
        }
        if link.rate.initial.bps() == 0 {
            let rule = "a wire starts with a rate; make the first change later than 0 s";
            return Err(job.refuse(format!("{name}.rate = {} at 0 s: {rule}", link.rate.initial)));
        }
        if !link.impairments.outages.is_empty() {
            let rule = "a wire's losses follow a law; leave lost out, so that packets wait";
            return Err(job.refuse(format!("{name}.handovers: {rule}")));
        }
        if link.cell.is_some() {
            let rule = "a wire has no intervals; leave it out";
            return Err(job.refuse(format!("{name}.cell: {rule}")));
        }
        if link.wifi.is_some() {
            let rule = "a wire is no channel that stations share; leave it out, and write rate and delay";
            return Err(job.refuse(format!("{name}.wifi: {rule}")));
        }
        let most = link.rate.values().fold(BitRate::from_bps(0), BitRate::max);
        if (link.queue.is_some() || link.tree.is_some()) && most > FASTEST {
            let rule = format!("a wire relays at most {FASTEST}; use a slower link");
            return Err(job.refuse(format!("{name}.rate = {most}: {rule}")));
        }
    }
    Ok(ways)
}

/// The bottleneck.
fn line(job: &Job<'_>, plan: &Plan, ways: &Ways) -> Result<LineConfig, LiveError> {
    let at = job.point.link_at(FORWARD, Time::ZERO, &Plugins::new())?;
    let Some((_, aqm)) = at.algorithms.get(job.aqm).cloned() else {
        return Err(
            job.refuse(format!("{} is a plug-in, but a wire runs only algorithms in the catalog", job.label))
        );
    };
    Ok(LineConfig {
        name: FORWARD.into(),
        rate: spec(plan, &ways.forward).rate.initial,
        buffer: at.link.buffer,
        mean_packet: at.link.mean_packet,
        ecn: at.ecn,
        seed: job.seed,
        aqm,
        shaper: spec(plan, &ways.forward).shaper.as_deref().map(ShaperConfig::of),
        classes: classes(job, plan, ways.forward)?,
        behind: behind(plan, ways.forward),
    })
}

/// The classes of a link, if it has any.
fn classes(job: &Job<'_>, plan: &Plan, link: LinkId) -> Result<Option<ClassesConfig>, LiveError> {
    let link = spec(plan, &link);
    let Some(tree) = &link.tree else { return Ok(None) };
    let queues = job.point.queues_at(&link.name, job.aqm)?;
    let leaf = |leaf: usize| (queues[leaf].link.buffer, queues[leaf].aqm.clone());
    let classes = ClassesConfig::of(&tree.plan, &tree.classifier, address(0), leaf);
    classes.map(Some).map_err(|refused| job.refuse(refused.to_string()))
}

/// The wire of a link, if it does more than to delay packets. It draws from the simulator's streams of this link.
fn behind(plan: &Plan, link: LinkId) -> Option<BehindConfig> {
    let LinkSpec { impairments, delay, .. } = spec(plan, &link);
    (!impairments.is_none()).then(|| BehindConfig::of(link.0, delay.initial, impairments))
}

/// The way back, if it is a link: with an algorithm of its own, that of the run, or drop-tail.
fn back(job: &Job<'_>, plan: &Plan, ways: &Ways, line: &LineConfig) -> Result<Option<LineConfig>, LiveError> {
    let Some(id) = ways.back else { return Ok(None) };
    let link = spec(plan, &id);
    let manages = job.point.scenario.dumbbell.as_ref().is_some_and(|d| d.reverse.aqm.is_some());
    let aqm = if manages {
        let algorithms = job.point.link_at(BACK, Time::ZERO, &Plugins::new())?.algorithms;
        let of = if algorithms.len() == 1 { algorithms.first() } else { algorithms.get(job.aqm) };
        let rule = "the reverse direction has a plug-in, but a wire runs only algorithms in the catalog";
        of.ok_or_else(|| job.refuse(rule))?.1.clone()
    } else {
        AqmConfig::DropTail(Default::default())
    };
    let leaf = link.tree.as_ref().and_then(|tree| tree.leaves.first());
    let queue = link.queue.as_deref().or(leaf);
    Ok(Some(LineConfig {
        name: BACK.into(),
        rate: link.rate.initial,
        buffer: queue.map_or(QueueSize::Packets(f64::from(1 << 16)), |q| q.buffer),
        ecn: queue.is_some_and(|q| q.ecn),
        aqm,
        shaper: link.shaper.as_deref().map(ShaperConfig::of),
        classes: classes(job, plan, id)?,
        behind: behind(plan, id),
        ..line.clone()
    }))
}

/// The delays of each flow's packets there and back over the bottleneck and the link back: half of the round trip
/// each, but no less than that of a link whose jitter makes packets earlier by up to its delay.
fn delays(plan: &Plan, ways: &Ways) -> Vec<[Duration; 2]> {
    let links = ways.both().map(|link| link.map(|link| spec(plan, &link)));
    let jitters = |link: &&LinkSpec| link.impairments.jitter.is_some();
    let needed = links.map(|link| link.filter(jitters).map_or(Duration::ZERO, |link| link.delay.initial));
    let split = |round_trip: Duration| {
        let half = round_trip / 2;
        if needed.iter().all(|needed| *needed <= half) {
            return [half, half];
        }
        let there = half.max(needed[0]).min(round_trip - needed[1].min(round_trip));
        [there, round_trip - there]
    };
    plan.facts.flows.iter().map(|fact| split(fact.base_rtt)).collect()
}

/// The courses of the line and the one back: their rates, the delays of flows and their wires change.
fn courses(
    job: &Job<'_>,
    plan: &Plan,
    ways: &Ways,
    starts: &[[Duration; 2]],
) -> Result<[Course; 2], LiveError> {
    /// The most changes that are written out before a run begins: 24 bytes each.
    const MOST: usize = 4_000_000;
    let end = job.end();
    let mut all = [Vec::new(), Vec::new()];
    for (changes, link) in all.iter_mut().zip(ways.both()) {
        let Some(LinkSpec { rate, delay, impairments, .. }) = link.map(|link| spec(plan, &link)) else {
            continue;
        };
        follow(changes, (end, MOST), rate, Change::Rate);
        if let Loss::Random(p) = &impairments.loss {
            follow(changes, (end, MOST), p, Change::Loss);
        }
        if impairments.jitter.is_some() {
            follow(changes, (end, MOST), delay, Change::Wire);
        }
    }
    for (i, (flow, starts)) in plan.network.flows.iter().zip(starts).enumerate() {
        let there = flow.forward.contains(&ways.forward);
        for (way, changes) in [(&flow.forward, usize::from(!there)), (&flow.reverse, usize::from(there))] {
            let delays: Vec<_> = way.iter().map(|link| &spec(plan, link).delay).collect();
            let sum = |at: Time| delays.iter().map(|d| d.at(at).nanos()).sum::<u64>();
            let next = |at: Time| delays.iter().map(|d| d.next_change(at)).min().unwrap_or(Time::MAX);
            let mut at = next(Time::ZERO);
            while at < end && all[changes].len() <= MOST {
                // A part of the round trip is added each way, and changes with its way.
                let delay = (starts[changes].nanos() + sum(at)).saturating_sub(sum(Time::ZERO));
                all[changes].push((at, Change::Delay(address(i), Duration::from_nanos(delay))));
                at = next(at);
            }
        }
    }
    if all.iter().any(|changes| changes.len() > MOST) {
        let rule =
            format!("more than {MOST} changes of rates and delays; make them less often, or for fewer flows");
        return Err(job.refuse(format!("changes: {rule}")));
    }
    let [there, returning] = all;
    Ok([Course::new(there), Course::new(returning)])
}

/// Adds the changes of a value before a time, up to one more than so many in all.
fn follow<T: Copy>(
    changes: &mut Vec<(Time, Change)>,
    (end, most): (Time, usize),
    value: &Schedule<T>,
    change: fn(T) -> Change,
) {
    let mut at = value.next_change(Time::ZERO);
    while at < end && changes.len() <= most {
        changes.push((at, change(value.at(at))));
        at = value.next_change(at);
    }
}

/// The flows as hosts send them.
fn crowd(
    job: &Job<'_>,
    known: &[String],
    plan: Plan,
    ways: &Ways,
    (mean_packet, delays): (Bytes, Vec<[Duration; 2]>),
) -> Result<Crowd, LiveError> {
    let (network, facts) = (plan.network, plan.facts);
    if network.flows.len() > MOST_FLOWS {
        return Err(job.refuse(format!("{} flows are more than {MOST_FLOWS}", network.flows.len())));
    }
    let end = job.point.scenario.duration;
    let mut mtu = 576.0f64;
    let (mut flows, mut sources) = (Vec::new(), Vec::new());
    for (i, (spec, fact)) in network.flows.into_iter().zip(facts.flows).enumerate() {
        let from = if spec.forward.contains(&ways.forward) { Side::Near } else { Side::Far };
        let rng = Seed(job.seed).indexed_stream("flow.traffic", i as u64);
        let tcp = matches!(spec.traffic, Traffic::Tcp { .. });
        let (kind, start, payload, largest) = match spec.traffic {
            Traffic::Tcp { tcp, app } => {
                let tcp = Tcp::of(job, &fact, known, &tcp)?;
                let (kind, start) = tcp_app(job, &fact, &tcp, app, rng, spec.start)?;
                (kind, start, tcp.payload(), tcp.packet as f64)
            }
            Traffic::Udp(udp) => {
                let largest = udp.packet.mean();
                let (kind, start) = datagrams(udp, rng, spec.start);
                (kind, start, 1, largest)
            }
            _ => {
                let rule = "a wire cannot send recorded packets; hosts there send kinds bulk, transfers, sessions and \
                    udp";
                return Err(job.refuse_flow(&fact, "kind", "\"trace\"", rule));
            }
        };
        mtu = mtu.max(largest.clamp(576.0, 9000.0));
        let since = |t: Time| t.since(Time::ZERO).min(end);
        flows.push(Flow {
            from,
            start: since(start),
            stop: spec.stop.map_or(end, since),
            dscp: spec.dscp,
            kind,
        });
        sources.push(Source { fact, forward: from == Side::Near, payload, tcp });
    }
    let sources =
        Sources { flows: sources, names: facts.groups, classes: facts.classes, mean_packet, leaves: None };
    Ok(Crowd { flows, delays, sources, mtu: mtu as u16 })
}
