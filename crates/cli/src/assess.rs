//! The network of the commands about theory, from a scenario or from a few words.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use quell_analysis::{
    Assessment, Bottleneck, Figures, MarginFigures, Motion, Packets, Prediction, Shorthand, shorthand,
};
use quell_aqm::catalog::AqmConfig;
use quell_scenario::{Document, Plugins, ScenarioError, Study, suggest, unknown};
use quell_theory::rules::reach::{Beyond, Edge, Quantity, Reach};
use quell_theory::{Congestion, Plant, TheoryError};
use quell_units::text::{duration, three_digits};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

use crate::args::{Changes, link_rate, round_trip, whole};
use crate::failure::{Failure, unknown_name};
use crate::table::{self, Column, Tint};
use crate::{simulate, terminal};

/// A network: that of a scenario, or one link and one kind of flow in a few words.
#[derive(Clone, Debug, Args)]
pub struct NetworkArgs {
    /// The scenario file, unless you give --rate, --rtt, --flows and --aqm.
    #[arg(value_name = "SCENARIO")]
    pub scenario: Option<PathBuf>,
    /// The link's rate, such as 10Mbit/s.
    #[arg(long, value_name = "RATE", conflicts_with = "scenario", value_parser = link_rate)]
    pub rate: Option<BitRate>,
    /// The round-trip time without queueing, such as 100ms.
    #[arg(long, value_name = "TIME", conflicts_with = "scenario", value_parser = round_trip)]
    pub rtt: Option<Duration>,
    /// The number of long-lived flows.
    #[arg(long, value_name = "N", conflicts_with = "scenario", value_parser = whole(1..=200_000_u32))]
    pub flows: Option<u32>,
    /// The link's buffer; default: twice the bandwidth-delay product, at least 100 packets, or 200 ms if an algorithm
    /// needs more.
    #[arg(long, value_name = "SIZE", conflicts_with = "scenario")]
    pub buffer: Option<QueueSize>,
    /// Size of a packet on the wire; default: 1000 B.
    #[arg(long, value_name = "SIZE", conflicts_with = "scenario", value_parser = packet)]
    pub packet: Option<Bytes>,
    /// The flows' congestion control: reno (default), cubic, dctcp or prague. In a scenario, it replaces that of its
    /// flows and sets what it needs.
    #[arg(long, value_name = "NAME", value_parser = congestion)]
    pub congestion: Option<Congestion>,
    /// Additional scalable flows, such as prague=10 or dctcp=10; they are marked even with --drops.
    #[arg(long, value_name = "NAME=N", conflicts_with = "scenario", value_parser = beside)]
    pub beside: Option<(u32, Congestion)>,
    /// Drop packets instead of marking them (ECN).
    #[arg(long, conflicts_with = "scenario")]
    pub drops: bool,
    /// Algorithms: labels in the scenario (default: all), or catalog names without a scenario.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub aqm: Vec<String>,
    #[command(flatten)]
    pub changes: Changes,
}

/// Which part of the flows' delay the linear model keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PlantChoice {
    /// The whole delay.
    #[default]
    Exact,
    /// Only the delay of the signal (Hollot et al. 2001a).
    Simplified,
}

/// A congestion control of which there is a fluid model.
pub fn congestion(text: &str) -> Result<Congestion, String> {
    let all: Vec<&str> = quell_tcp::catalog::of_key("congestion").map(|e| e.name).collect();
    let meant = if all.contains(&text) { None } else { unknown("congestion control", text, &all).1 };
    Congestion::named(text).map_err(|e| match meant {
        Some(name) => suggest(&e.to_string(), Some(&name), None),
        None => e.to_string(),
    })
}

/// Scalable flows, as a name and how many.
pub fn beside(text: &str) -> Result<(u32, Congestion), String> {
    let (name, count) =
        text.split_once('=').ok_or("must be a name and a number of flows, such as prague=10")?;
    let law = congestion(name)?;
    if !matches!(law, Congestion::Scalable(_)) {
        return Err(format!("{name} is not scalable: must be dctcp or prague"));
    }
    match count.parse() {
        Ok(flows @ 1..=200_000) => Ok((flows, law)),
        _ => Err(format!("{count} flows: must be a number from 1 to 200000")),
    }
}

/// A size that a packet can have.
pub fn packet(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|e| format!("{e}"))?;
    // The length field of IPv4.
    match size.get() {
        1..=65_535 => Ok(size),
        _ => Err("must lie between 1 B and 65535 B".to_string()),
    }
}

/// The name in errors of a scenario that was made from options.
const FROM_OPTIONS: &str = "the network of --rate, --rtt and --flows";

/// The study that the arguments describe, with its algorithms chosen.
pub fn study(args: &NetworkArgs) -> Result<Study, Failure> {
    let Some(path) = &args.scenario else { return from_options(args) };
    let (mut study, document) =
        simulate::changed(path, &args.changes, None, simulate::Chosen { aqm: &args.aqm, baseline: None })?;
    if let Some(congestion) = args.congestion {
        study = with_congestion(&study, document, congestion)?;
    }
    for point in &mut study.points {
        choose(&mut point.scenario, &args.aqm)?;
    }
    Ok(study)
}

/// The same with another congestion control of all TCP flows, and with what that needs.
fn with_congestion(study: &Study, mut document: Document, to: Congestion) -> Result<Study, Failure> {
    let option = format!("--congestion {}", to.name());
    let needs = shorthand::needs(to.name());
    let point = study.points.first().ok_or_else(|| bad_input!("{option}: nothing to change"))?;
    let groups: Vec<&str> =
        point.scenario.flows.iter().filter(|g| g.kind.is_tcp()).map(|g| g.name.as_str()).collect();
    for group in &groups {
        document.set_text(&format!("flows.{group}.tcp.congestion"), to.name())?;
        for (key, value) in needs {
            document.set_text(&format!("flows.{group}.tcp.{key}"), value)?;
        }
    }
    let needs: Vec<String> = needs.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let with = if needs.is_empty() { String::new() } else { format!(", with {}", needs.join(", ")) };
    terminal::note(&format!("{option} replaces what these flows have{with}: {}", groups.join(", ")));
    let blame =
        |e: ScenarioError| ScenarioError { file: format!("{} with {option}", e.file), line: None, ..e };
    Ok(document.study(&Plugins::new()).map_err(blame)?)
}

/// Leaves the algorithms with these labels; all, without any.
fn choose(scenario: &mut quell_scenario::Scenario, labels: &[String]) -> Result<(), Failure> {
    if labels.is_empty() {
        return Ok(());
    }
    for label in labels {
        if !scenario.aqm.iter().any(|a| a.label() == label) {
            return Err(unknown_name(
                "algorithm of the scenario",
                label,
                scenario.aqm.iter().map(|a| a.label()),
            ));
        }
    }
    scenario.aqm.retain(|a| labels.iter().any(|l| l == a.label()));
    Ok(())
}

/// A dumbbell with flows of one kind.
fn from_options(args: &NetworkArgs) -> Result<Study, Failure> {
    let given = (args.rate, args.rtt, args.flows);
    let (Some(rate), Some(rtt), Some(flows), false) = (given.0, given.1, given.2, args.aqm.is_empty()) else {
        let missing = [
            ("--rate", args.rate.is_none()),
            ("--rtt", args.rtt.is_none()),
            ("--flows", args.flows.is_none()),
            ("--aqm", args.aqm.is_empty()),
        ];
        let missing: Vec<&str> = missing.into_iter().filter_map(|(name, is)| is.then_some(name)).collect();
        return Err(bad_input!(
            "no network was given: name a scenario file, or give --rate, --rtt, --flows and --aqm ({} missing)",
            match missing.split_last() {
                Some((last, [])) => format!("{last} is"),
                Some((last, others)) => format!("{} and {last} are", others.join(", ")),
                None => "none is".to_string(),
            }
        ));
    };
    check_names(&args.aqm)?;
    let congestion = args.congestion.unwrap_or_default();
    if args.drops && matches!(congestion, Congestion::Scalable(_)) {
        return Err(bad_input!(
            "--drops: {0} needs the share of marks, and --drops gives it none (RFC 8257 section 3); leave out --drops, \
             or choose a --congestion that reacts to losses (reno, cubic)",
            congestion.name()
        ));
    }
    check_beside(args.beside, congestion)?;
    let packet = args.packet.unwrap_or(Bytes::new(1000));
    let study = |buffer| -> Result<Study, Failure> {
        let shorthand = Shorthand {
            buffer,
            congestion,
            ecn: !args.drops,
            scalables: args.beside,
            algorithms: args.aqm.iter().map(|name| format!("algorithm = {name:?}\n")).collect(),
            ..Shorthand::new(rate, rtt, flows, packet)
        };
        let mut document = shorthand.document(FROM_OPTIONS);
        simulate::change(&mut document, &args.changes, simulate::Chosen::default())?;
        Ok(document.study(&Plugins::new())?)
    };
    match args.buffer {
        Some(buffer) => study(buffer),
        None => {
            let ample = study(Shorthand::ample_buffer(rate, rtt, packet))?;
            if shorthand::holds_targets(&ample) {
                Ok(ample)
            } else {
                study(Shorthand::roomy_buffer(rate, packet))
            }
        }
    }
}

/// Refuses scalable flows beside scalable ones: of one kind the models have one law.
pub fn check_beside(beside: Option<(u32, Congestion)>, congestion: Congestion) -> Result<(), Failure> {
    match (beside, congestion) {
        (Some(_), Congestion::Scalable(_)) => Err(bad_input!(
            "--beside: adds scalable flows to Classic ones, but --congestion {} is scalable, too; choose reno or cubic \
             for it",
            congestion.name()
        )),
        _ => Ok(()),
    }
}

/// Refuses names that the catalog does not have, and names given twice.
pub fn check_names(names: &[String]) -> Result<(), Failure> {
    for (i, name) in names.iter().enumerate() {
        if quell_aqm::catalog::find(name).is_none() {
            let all = quell_aqm::catalog::CATALOG.iter().map(|entry| entry.name);
            return Err(unknown_name("algorithm", name, all));
        }
        if names[..i].contains(name) {
            return Err(bad_input!("--aqm names {name} twice: name it once"));
        }
    }
    Ok(())
}

/// Samples of the queue per round-trip time without queueing: enough for the fastest swing.
const SAMPLES_PER_RTT: f64 = 8.0;
/// The shortest step between samples: shorter ones would show single packets.
const SHORTEST_STEP: Duration = Duration::from_millis(2);

/// The theory's verdicts on one point of a study.
pub struct PointVerdicts {
    /// Its link and flows.
    pub bottleneck: Bottleneck,
    /// The time that the verdicts are about.
    pub time: Time,
    /// The algorithms' parameters.
    pub configs: Vec<AqmConfig>,
    /// The verdict on each of them.
    pub assessments: Vec<Assessment>,
}

/// How much of a study the packets were asked about.
#[derive(PartialEq, Eq)]
pub enum Checked {
    /// All points.
    All,
    /// The points before an interruption; says how many.
    Part(String),
}

impl Checked {
    /// Fails if it was interrupted: for the end of a command, after its results.
    pub fn or_fail(self) -> Result<(), Failure> {
        match self {
            Checked::All => Ok(()),
            Checked::Part(what) => Err(Failure::Interrupted(what)),
        }
    }
}

/// Asks the packets. Each point is simulated by itself, so that only its samples are held.
pub fn check(
    study: &Study,
    found: &mut [PointVerdicts],
    watch: &simulate::Watch,
    line: &[String],
) -> Result<Checked, Failure> {
    let all = study.points.len();
    let cut_short = |i: usize| {
        watch.finish();
        Ok(Checked::Part(match i {
            0 => format!("none of {all} points was checked; all have only the theory's verdict"),
            _ => format!("{i} of {all} points were checked; the others have only the theory's verdict"),
        }))
    };
    for (i, (point, found)) in study.points.iter().zip(found).enumerate() {
        let mut point = point.clone();
        let shortest =
            found.bottleneck.network.classes.iter().map(|c| c.propagation).fold(f64::INFINITY, f64::min);
        let step = Duration::from_secs_f64(shortest / SAMPLES_PER_RTT).max(SHORTEST_STEP);
        point.scenario.series_step = Some(point.scenario.series_step.map_or(step, |given| given.min(step)));
        let from = point.scenario.warmup.as_secs_f64();
        let end = point.scenario.duration.as_secs_f64();
        let results = watch.run(&study.with_points(vec![point]), (i, all), line.to_vec())?;
        if results.run.partial {
            return cut_short(i);
        }
        for (assessment, config) in found.assessments.iter_mut().zip(&found.configs) {
            assessment.follow(config, &found.bottleneck, from, end);
            assessment.compare(&results, 0, &found.bottleneck.name, from);
        }
        // The fluid does not stop: who asked meanwhile is heard here.
        if watch.is_stopped() && i + 1 < all {
            return cut_short(i + 1);
        }
    }
    watch.finish();
    Ok(Checked::All)
}

/// The verdict on an algorithm, line by line: reasons, how far the network may move, and the packets' answer.
pub fn words(assessment: &Assessment) -> String {
    let reasons = assessment.reasons.iter().map(|reason| format!("{}: {reason}\n", assessment.label));
    reasons.collect::<String>() + &limits(assessment)
}

/// The limits within which the network may move, and the packets' answer.
pub fn limits(assessment: &Assessment) -> String {
    let mut lines: Vec<String> = assessment.reach.iter().map(reach).collect();
    if let Some(packets) = &assessment.packets {
        let verdict = match (packets.agrees, packets.queue.motion) {
            (Some(true), _) => "The packets confirm it",
            (Some(false), Motion::Irregular) => {
                "The packets do not oscillate, but noise moves the queue widely"
            }
            (Some(false), _) => "The packets contradict it",
            (None, _) => "The packets",
        };
        lines.push(format!(
            "{verdict}: the simulated queue is {}, {} ± {} packets.",
            packets.queue.motion.word(),
            three_digits(packets.queue.mean_packets),
            three_digits(packets.queue.deviation_packets)
        ));
    }
    lines.iter().map(|line| format!("{}: {line}\n", assessment.label)).collect()
}

/// The range in which a quantity may move, in a sentence.
fn reach(reach: &Reach) -> String {
    let value = |x: f64| match reach.quantity {
        Quantity::Flows if x.fract() == 0.0 => format!("{x} flows"),
        Quantity::Flows => format!("{} flows", three_digits(x)),
        Quantity::Capacity => format!("{} packets/s", three_digits(x)),
        Quantity::Rtt => duration(x),
    };
    let name = match reach.quantity {
        Quantity::Flows => "N",
        Quantity::Capacity => "C",
        Quantity::Rtt => "R",
    };
    let edge = |edge: &Option<Edge>, free: &str| match edge {
        None => free.to_string(),
        Some(e) => {
            let beyond = match &e.beyond {
                Beyond::Stable => "stable",
                Beyond::Unstable => "unstable",
                Beyond::NoEquilibrium(_) => "no equilibrium",
            };
            format!("{} ({beyond} beyond)", value(e.at))
        }
    };
    format!(
        "The verdict holds for {name} from {} to {}; it is now {}.",
        edge(&reach.below, "almost 0"),
        edge(&reach.above, "any value"),
        value(reach.now)
    )
}

/// The table of verdicts and figures of each algorithm.
pub fn figures(assessments: &[Assessment]) -> String {
    let names = Column::names("algorithm", assessments.iter().map(|a| &a.label));
    table::figures(&names, &columns(assessments))
}

/// A number with three digits, or a dash.
fn cell(x: Option<f64>) -> String {
    x.map_or("–".to_string(), three_digits)
}

/// The columns of verdicts and figures.
fn columns(assessments: &[Assessment]) -> Vec<Column> {
    let column = |title: &str, unit: &str, cell_of: &dyn Fn(&Assessment) -> (String, Tint)| {
        Column::new(title, unit, assessments.iter().map(cell_of))
    };
    let equilibrium =
        |f: fn(&Figures) -> f64| move |a: &Assessment| (cell(a.equilibrium.as_ref().map(f)), Tint::Plain);
    let margin = |f: fn(&MarginFigures) -> Option<f64>| {
        move |a: &Assessment| (cell(a.margins.as_ref().and_then(f)), Tint::Plain)
    };
    let verdict = |a: &Assessment| {
        let tint = match a.verdict {
            Prediction::Stable => Tint::Good,
            Prediction::Unstable | Prediction::NoEquilibrium => Tint::Bad,
            Prediction::NoModel => Tint::Plain,
        };
        (a.verdict.word().to_string(), tint)
    };
    let mut all = vec![
        column("verdict", "", &verdict),
        column("queue", "packets", &equilibrium(|r| r.queue_packets)),
        column("signals", "%", &equilibrium(|r| 100.0 * r.probability)),
        column("window", "packets", &equilibrium(|r| r.window_packets)),
        column("gain margin", "1", &margin(|m| m.gain)),
        column("phase margin", "degrees", &margin(|m| m.phase_deg)),
        column("delay margin", "ms", &margin(|m| m.delay_s.map(|s| 1e3 * s))),
        column("period", "s", &margin(|m| m.period_s)),
        column("settling", "s", &margin(|m| m.settling_s)),
    ];
    if assessments.iter().any(|a| a.packets.is_some()) {
        let packets = |a: &Assessment| match &a.packets {
            None => ("–".to_string(), Tint::Plain),
            Some(p) => {
                let tint = match p.agrees {
                    Some(true) => Tint::Good,
                    Some(false) => Tint::Bad,
                    None => Tint::Plain,
                };
                (p.queue.motion.word().to_string(), tint)
            }
        };
        let fluid = |a: &Assessment| {
            let motion = a.fluid.as_ref().map(|f| f.motion.word());
            (motion.unwrap_or("–").to_string(), Tint::Plain)
        };
        all.push(column("fluid", "", &fluid));
        all.push(column("packets", "", &packets));
        let figure =
            |f: fn(&Packets) -> f64| move |a: &Assessment| (cell(a.packets.as_ref().map(f)), Tint::Plain);
        all.push(column("mean queue", "packets", &figure(|p| p.queue.mean_packets)));
        all.push(column("deviation", "packets", &figure(|p| p.queue.deviation_packets)));
        all.push(column("their period", "s", &figure(|p| p.queue.period_s)));
    }
    all
}

impl From<PlantChoice> for Plant {
    fn from(choice: PlantChoice) -> Plant {
        match choice {
            PlantChoice::Exact => Plant::Exact,
            PlantChoice::Simplified => Plant::Simplified,
        }
    }
}

impl From<TheoryError> for Failure {
    fn from(error: TheoryError) -> Self {
        Failure::BadInput(error.to_string())
    }
}
