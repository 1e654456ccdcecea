//! One case, once, in its own process, so that CPU time and memory are its own.

use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cpu_time::ProcessTime;
use quell_scenario::Plugins;
use quell_sim::network::Network;
use quell_sim::outcome::{Counts, Outcome as Measured};
use quell_sim::{Control, Engine};
use serde::{Deserialize, Serialize};

use crate::Outcome;
use crate::case;

#[derive(clap::Args, Clone)]
pub struct Args {
    /// The case
    pub case: String,
    /// Its queue
    #[arg(long, default_value = "red")]
    pub aqm: String,
    /// Set a field of the scenario, such as `duration=10s` or `flows.reno.count=50`
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
    /// Use the engine that takes every packet through every step
    #[arg(long)]
    pub reference: bool,
    /// Only count hops: record every queue, which costs time that is not the case's
    #[arg(long)]
    pub hops: bool,
    /// Cores that may help with the run
    #[arg(long, default_value_t = 1)]
    pub cores: usize,
    /// Parts into which the flows are divided; default: what suits their number
    #[arg(long)]
    pub parts: Option<usize>,
}

impl Args {
    pub fn new(case: &str, aqm: &str) -> Self {
        Args {
            case: case.to_string(),
            aqm: aqm.to_string(),
            set: Vec::new(),
            reference: false,
            hops: false,
            cores: 1,
            parts: None,
        }
    }

    /// The same with some fields of the scenario set.
    pub fn with(mut self, set: &[(&str, &str)]) -> Self {
        self.set.extend(set.iter().map(|(field, value)| format!("{field}={value}")));
        self
    }

    /// The same on the command line of this program.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec!["one".into(), self.case.clone(), "--aqm".into(), self.aqm.clone()];
        words.extend(self.set.iter().flat_map(|s| ["--set".to_string(), s.clone()]));
        words.extend(self.hops.then(|| "--hops".into()));
        words.extend(self.reference.then(|| "--reference".into()));
        words.extend(["--cores".into(), self.cores.to_string()]);
        words.extend(self.parts.into_iter().flat_map(|n| ["--parts".to_string(), n.to_string()]));
        words
    }
}

/// The cost of one run and what it did. All times are CPU time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cost {
    pub case: String,
    pub aqm: String,
    /// `quell_sim::run`, from a network to an outcome.
    pub run_ns: u64,
    /// The same in time that passed.
    pub wall_ns: u64,
    /// The part of that before the first event: planning, flows, recorders.
    pub prepare_ns: u64,
    /// The process from its start until the outcome is there.
    pub process_ns: u64,
    /// Data packets that arrived at the recorded links: the bottlenecks in the direction of data.
    pub packets: u64,
    /// Those that were dropped there.
    pub dropped: u64,
    /// Packets of every kind that arrived at recorded links.
    pub arrivals: u64,
    /// Packets of every kind that took an access link.
    pub access: u64,
    pub events: u64,
    /// Mean over the recorded links.
    pub utilization: f64,
    pub flows: u64,
    /// Largest resident memory of the process.
    pub peak_bytes: u64,
    /// The sample path, in hexadecimal.
    pub digest: String,
}

/// CPU time of this process in nanoseconds.
fn cpu_ns() -> u64 {
    ProcessTime::now().as_duration().as_nanos() as u64
}

pub fn command(args: &Args) -> Outcome<()> {
    let cost = measure(args)?;
    let text = serde_json::to_string(&cost).map_err(|e| e.to_string())?;
    println!("{text}");
    Ok(())
}

fn network(args: &Args) -> Outcome<Network> {
    let set: Vec<(String, String)> = args
        .set
        .iter()
        .map(|s| {
            let (field, value) = s.split_once('=').ok_or_else(|| format!("--set {s}: write FIELD=VALUE"))?;
            Ok((field.trim().to_string(), value.trim().to_string()))
        })
        .collect::<Outcome<_>>()?;
    let point = case::find(&args.case)?.point(&set)?;
    let labels: Vec<&str> = point.scenario.aqm.iter().map(|a| a.label()).collect();
    let aqm = labels.iter().position(|l| *l == args.aqm).ok_or_else(|| {
        format!("case {} has no queue \"{}\"; it has {}", args.case, args.aqm, labels.join(", "))
    })?;
    let seed = point.scenario.seeds.list()[0];
    let mut network = point.plan(aqm, seed, &Plugins::new()).map_err(|e| e.to_string())?.network;
    if args.hops {
        for link in &mut network.links {
            link.observe = link.queue.is_some();
        }
    }
    Ok(network)
}

fn measure(args: &Args) -> Outcome<Cost> {
    let engine = if args.reference { Engine::Reference } else { Engine::Fast };
    let network = self::network(args)?;
    let (flows, classes) = (network.flows.len() as u64, network.classes.clone());
    let access = share_of_access(&network);
    let before = cpu_ns();
    let control = Control { parts: args.parts, ..Control::default() };
    control.idle.add(args.cores - 1);
    let clock = Instant::now();
    let outcome = quell_sim::run(network, engine, &control).map_err(|e| e.to_string())?;
    let wall_ns = clock.elapsed().as_nanos() as u64;
    let process_ns = cpu_ns();
    let peak_bytes = peak_bytes()?;

    // A run that is stopped before its first event has done everything that comes before it.
    let stopped = Control::default();
    stopped.stop.store(true, Ordering::Relaxed);
    let network = self::network(args)?;
    let start = cpu_ns();
    let none = quell_sim::run(network, engine, &stopped);
    let prepare_ns = cpu_ns() - start;
    if none.is_ok() {
        return Err("a run that was told to stop did not".to_string());
    }

    let data = |class: usize| classes[class] != "acks";
    Ok(Cost {
        case: args.case.clone(),
        aqm: args.aqm.clone(),
        run_ns: process_ns - before,
        wall_ns,
        prepare_ns,
        process_ns,
        packets: sum(&outcome, data, |c| c.arrived),
        dropped: sum(&outcome, data, Counts::dropped),
        arrivals: sum(&outcome, |_| true, |c| c.arrived),
        access: (access * (outcome.conservation.sent + outcome.conservation.delivered) as f64) as u64,
        events: outcome.events,
        utilization: utilization(&outcome),
        flows,
        peak_bytes,
        digest: format!("{:016x}", outcome.digest),
    })
}

/// The share of the ends of the flows' ways that have an access link, which has no limit and no
/// algorithm: 1 if every packet takes one where it is sent and one where it is delivered.
fn share_of_access(network: &Network) -> f64 {
    let ways = network.flows.iter().flat_map(|f| [&f.forward, &f.reverse]).filter(|way| !way.is_empty());
    let ends = ways.flat_map(|way| [way[0], way[way.len() - 1]]);
    let (mut all, mut access) = (0, 0);
    for link in ends {
        all += 1;
        access += usize::from(network.links[link.0 as usize].queue.is_none());
    }
    access as f64 / all as f64
}

fn sum(outcome: &Measured, which: impl Fn(usize) -> bool, of: impl Fn(&Counts) -> u64) -> u64 {
    let segments = outcome.links.iter().flat_map(|l| &l.segments);
    let classes = segments.flat_map(|s| s.classes.iter().enumerate());
    classes.filter(|(i, _)| which(*i)).map(|(_, c)| of(&c.counts)).sum()
}

fn utilization(outcome: &Measured) -> f64 {
    let of = |l: &quell_sim::outcome::LinkOutcome| {
        let sum = |f: fn(&quell_sim::outcome::Segment) -> f64| l.segments.iter().map(f).sum::<f64>();
        sum(|s| s.sent_bits) / sum(|s| s.capacity_bits)
    };
    outcome.links.iter().map(of).sum::<f64>() / outcome.links.len() as f64
}

/// The largest resident memory of this process (unlike getrusage's, not of the one it came from).
fn peak_bytes() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")
        .map_err(|e| format!("cannot read /proc/self/status ({e}): memory is measured on Linux only"))?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.map(|k| k * 1024).ok_or_else(|| "/proc/self/status has no VmHWM".to_string())
}

/// Runs a case in a process of its own.
pub fn spawn(args: &Args) -> Outcome<Cost> {
    let program = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let output = Command::new(program)
        .args(args.words())
        .output()
        .map_err(|e| format!("cannot start this program again: {e}"))?;
    let name = format!("case {} with {}", args.case, args.aqm);
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name}: {}", why.trim().trim_start_matches("error: ")));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("{name} printed no result: {e}"))
}
