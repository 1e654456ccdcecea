//! One replication: planned, simulated, reduced and shown.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use quell_metrics::{InternalSeries, LinkSeries, Replication as Found, pack, reduce};
use quell_scenario::{Plan, Plugins, Point, Study};
use quell_sim::network::{LinkId, Network, Traffic};
use quell_sim::outcome::{FlowOutcome, Series};
use quell_sim::{Control, Engine, Watcher};
use quell_units::text::cut;
use quell_units::{Duration, Time};

use crate::check::{memory, point};
use crate::fault::Fault;
use crate::protocol::{Delays, FlowWindow, Numbers, Replication, RunRequest, Seed, Transfers};
use crate::source::encode;

/// The most memory that a run may need by estimate: a page has less than a machine.
const MEMORY: f64 = 400e6;
/// The flows whose windows are shown.
const WINDOWS: usize = 12;
/// More flows and transfers than these are not shown.
const FLOWS: usize = 1000;
const TRANSFERS: usize = 20_000;
/// The least step of a series that is asked for: a million samples.
const SAMPLES: f64 = 1e6;

/// A listener to a run.
pub trait Listener: Debug + Send + Sync {
    /// This share of the time is simulated; `samples` are the links' samples since the last time, as a list of
    /// [`LinkSeries`] in JSON.
    fn progress(&self, done: f64, samples: &str);
}

/// Nobody listens.
#[derive(Debug)]
pub struct Silence;

impl Listener for Silence {
    fn progress(&self, _: f64, _: &str) {}
}

pub(crate) fn run(
    study: &Study,
    ask: &RunRequest,
    listener: &Arc<dyn Listener>,
) -> Result<Replication, Fault> {
    let number = ask.point.unwrap_or(0);
    let point = point(&study.points, number)?;
    let Some(aqm) = point.scenario.aqm.iter().position(|aqm| aqm.label() == ask.algorithm) else {
        let there: Vec<&str> = point.scenario.aqm.iter().map(|aqm| aqm.label()).collect();
        let (label, there) = (cut(&ask.algorithm), there.join(", "));
        return Err(Fault::request(format!(
            "algorithm \"{label}\": is not at this point; here are: {there}"
        )));
    };
    check_memory(ask, point)?;
    let Plan { mut network, facts } = point.plan(aqm, ask.seed.0, &Plugins::new())?;
    let duration_s = network.measure.end.as_secs_f64();
    if let Some(step) = ask.step_s {
        if !(step.is_finite() && step * SAMPLES >= duration_s) {
            let why = "must be a number of seconds, and at least a millionth of the duration";
            return Err(Fault::request(format!("step_s {step}: {why}")));
        }
        network.measure.step = Some(Duration::from_secs_f64(step));
    }
    let (warmup, end, step) = (network.measure.warmup, network.measure.end, network.measure.step);
    let shown = ask.shown.unwrap_or(true);
    let watched = if shown { flows_to_watch(&network, &facts.flows) } else { Vec::new() };
    let links: Vec<String> = network.links.iter().map(|link| link.name.clone()).collect();
    let control = Control {
        windows: step.filter(|step| !watched.is_empty() && *step > Duration::ZERO),
        windows_of: Some(watched.clone()),
        watcher: ask.watched.unwrap_or(false).then(|| follow(&network, &facts.classes, listener)),
        ..Control::default()
    };
    let mut outcome = quell_sim::run(network, Engine::Fast, &control)
        .map_err(|e| Fault::failed(format!("{}: {e}", study.name())))?;
    let packets = outcome.conservation.sent as f64;
    let mut windows = Vec::new();
    for flow in &watched {
        let Some(found) = outcome.flows.get_mut(*flow as usize) else { continue };
        let fact = &facts.flows[*flow as usize];
        let name = |names: &[String], i: u16| names.get(usize::from(i)).cloned().unwrap_or_default();
        let crossed = fact.links.iter().filter_map(|link| links.get(link.0 as usize).cloned());
        windows.push(FlowWindow {
            flow: *flow as usize,
            group: name(&facts.groups, fact.group),
            class: name(&facts.classes, fact.class),
            links: crossed.collect(),
            bulk: fact.bulk,
            base_rtt_s: fact.base_rtt.as_secs_f64(),
            ..window(found)
        });
        found.windows = Vec::new();
    }
    let found = reduce(&facts, outcome, (warmup, end));
    let found = Found { point: number, algorithm: ask.algorithm.clone(), seed: ask.seed.0, ..found };
    let packed = match ask.packed.unwrap_or(false) {
        true => Some(encode(&pack(std::slice::from_ref(&found)).map_err(Fault::failed)?)),
        false => None,
    };
    let (transfers, delays) = match shown {
        true => (transfers(&found), delays(&found)),
        false => (Transfers::default(), Vec::new()),
    };
    let mut flows = if shown { found.flows } else { Vec::new() };
    flows.truncate(FLOWS);
    Ok(Replication {
        point: number,
        algorithm: ask.algorithm.clone(),
        seed: Seed(ask.seed.0),
        digest: format!("{:016x}", found.digest),
        events: found.events as f64,
        packets,
        duration_s,
        warmup_s: warmup.as_secs_f64(),
        metrics: found.metrics,
        windows,
        internal_means: found.internal_means,
        flows,
        transfers,
        delays,
        series: if shown { found.series } else { Vec::new() },
        packed,
    })
}

/// Refuses what a page has no memory for, with the command that runs it.
fn check_memory(ask: &RunRequest, point: &Point) -> Result<(), Fault> {
    let (needed, most) = (memory(point), ask.memory.unwrap_or(MEMORY));
    if needed <= most {
        return Ok(());
    }
    let name = ask.source.name.as_deref().unwrap_or("scenario.toml");
    let (needed, most) = (needed / 1e6, most / 1e6);
    Err(Fault::large(format!(
        "it needs about {needed:.0} MB of memory, and a page has {most:.0} MB: run it on your machine, \
         quell run {} --aqm {} --seed {}",
        cut(name),
        cut(&ask.algorithm),
        ask.seed.0
    )))
}

/// The flows whose windows are recorded: the first of each group, then the others, as many as are shown.
fn flows_to_watch(network: &Network, facts: &[quell_scenario::FlowFact]) -> Vec<u32> {
    // Flows that make requests keep no windows.
    let is_tcp = |flow: &quell_sim::network::FlowSpec| matches!(flow.traffic, Traffic::Tcp { .. });
    let all: Vec<usize> = (0..network.flows.len()).filter(|i| is_tcp(&network.flows[*i])).collect();
    let mut chosen: Vec<usize> = Vec::new();
    for i in &all {
        if chosen.iter().all(|other| facts[*other].group != facts[*i].group) {
            chosen.push(*i);
        }
        if chosen.len() == WINDOWS {
            break;
        }
    }
    let others: Vec<usize> =
        all.into_iter().filter(|i| !chosen.contains(i)).take(WINDOWS.saturating_sub(chosen.len())).collect();
    chosen.extend(others);
    chosen.sort_unstable();
    chosen.into_iter().map(|i| i as u32).collect()
}

/// The samples of a flow's window.
fn window(found: &FlowOutcome) -> FlowWindow {
    let each = |of: &dyn Fn(&quell_sim::outcome::WindowSample) -> f64| {
        Numbers(found.windows.iter().map(of).collect())
    };
    FlowWindow {
        time_s: each(&|w| w.time.as_secs_f64()),
        packets: each(&|w| w.cwnd),
        // Without a threshold it is as large as numbers are.
        ssthresh_packets: each(&|w| if w.ssthresh < 1e9 { w.ssthresh } else { f64::NAN }),
        srtt_s: each(&|w| if w.srtt > Duration::ZERO { w.srtt.as_secs_f64() } else { f64::NAN }),
        ..FlowWindow::default()
    }
}

/// A watcher that hands samples on to a listener.
fn follow(network: &Network, classes: &[String], listener: &Arc<dyn Listener>) -> Arc<dyn Watcher> {
    let links = network.links.iter().map(|link| link.name.clone()).collect();
    let (classes, listener) = (classes.to_vec(), Arc::clone(listener));
    let end_s = network.measure.end.as_secs_f64();
    Arc::new(Follower { links, classes, end_s, listener, since: Mutex::default() })
}

/// Hands samples on.
#[derive(Debug)]
struct Follower {
    links: Vec<String>,
    classes: Vec<String>,
    end_s: f64,
    listener: Arc<dyn Listener>,
    /// The samples that have not been handed on.
    since: Mutex<Vec<LinkSeries>>,
}

impl Watcher for Follower {
    fn reached(&self, now: Time) -> bool {
        let new = std::mem::take(&mut *self.since.lock().unwrap_or_else(PoisonError::into_inner));
        let text = serde_json::to_string(&new).unwrap_or_else(|_| "[]".to_string());
        self.listener.progress(now.as_secs_f64() / self.end_s, &text);
        true
    }

    fn sampled(&self, link: LinkId, series: &Series) {
        let Some(name) = self.links.get(link.0 as usize) else { return };
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let at = since.iter().position(|s| s.link == *name).unwrap_or_else(|| {
            since.push(LinkSeries { link: name.clone(), ..LinkSeries::default() });
            since.len() - 1
        });
        let new = &mut since[at];
        let last = |values: &[f64]| values.last().copied().unwrap_or(f64::NAN);
        let count = |values: &[u64]| values.last().copied().unwrap_or(0);
        new.time_s.push(last(&series.time_s));
        new.queue_packets.push(last(&series.queue_packets));
        new.queue_bytes.push(last(&series.queue_bytes));
        new.queue_mean_packets.push(last(&series.queue_mean_packets));
        new.queue_delay_mean_s.push(last(&series.delay_mean_s));
        new.dropped_packets.push(count(&series.dropped));
        new.marked_packets.push(count(&series.marked));
        let samples = new.time_s.len();
        for (class, values) in self.classes.iter().zip(&series.throughput_bps) {
            let at = new.throughput_bps.iter().position(|(name, _)| name == class).unwrap_or_else(|| {
                new.throughput_bps.push((class.clone(), Vec::new()));
                new.throughput_bps.len() - 1
            });
            new.throughput_bps[at].1.push(last(values));
        }
        for internal in &series.internals {
            let at = new.internals.iter().position(|i| i.name == internal.name).unwrap_or_else(|| {
                let (name, unit) = (internal.name.to_string(), internal.unit.to_string());
                new.internals.push(InternalSeries { name, unit, values: Vec::new() });
                new.internals.len() - 1
            });
            let values = &mut new.internals[at].values;
            // One that is new has no earlier samples.
            values.resize(samples - 1, f64::NAN);
            values.push(last(&internal.values));
        }
    }
}

fn transfers(found: &Found) -> Transfers {
    let mut all = Transfers { count: found.transfers.len(), ..Transfers::default() };
    for row in found.transfers.iter().take(TRANSFERS) {
        all.class.push(row.class.to_string());
        all.start_s.0.push(row.start_s);
        all.flow_completion_time_s.0.push(row.flow_completion_time_s);
        all.size_packets.0.push(f64::from(row.size_packets));
        all.slowdown.0.push(row.slowdown.unwrap_or(f64::NAN));
    }
    all
}

fn delays(found: &Found) -> Vec<Delays> {
    let mut all: Vec<Delays> = Vec::new();
    for row in &found.delays {
        let is = |d: &Delays| d.link == *row.link && d.scope == *row.scope;
        if !all.last().is_some_and(is) {
            all.push(Delays {
                link: row.link.to_string(),
                scope: row.scope.to_string(),
                queue_delay_s: Numbers::default(),
                cumulative_probability: Numbers::default(),
            });
        }
        if let Some(last) = all.last_mut() {
            last.queue_delay_s.0.push(row.queue_delay_s);
            last.cumulative_probability.0.push(row.cumulative_probability);
        }
    }
    all
}
