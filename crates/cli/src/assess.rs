//! What the commands about theory share: a network, from a scenario or from a few words.

use quell_analysis::{Assessment, Bottleneck, Motion, Shorthand, shorthand};
use quell_aqm::catalog::AqmConfig;
use quell_scenario::{Document, Plugins, ScenarioError, Study};
use quell_theory::rules::reach::{Beyond, Edge, Quantity, Reach};
use quell_theory::{Congestion, Plant, TheoryError};
use quell_units::text::{duration, three_digits};
use quell_units::{Bytes, Duration, Time};

use crate::args::{NetworkArgs, PlantChoice};
use crate::failure::Failure;
use crate::{simulate, terminal, unknown_name};

/// The name in errors of a scenario that was made from options.
const FROM_OPTIONS: &str = "the network of --rate, --rtt and --flows";

/// The study that the arguments describe, with its algorithms chosen.
pub fn study(args: &NetworkArgs) -> Result<Study, Failure> {
    let Some(path) = &args.scenario else { return from_options(args) };
    let (mut study, document) = simulate::changed(path, &args.changes, None)?;
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
    let point =
        study.points.first().ok_or_else(|| Failure::BadInput(format!("{option}: nothing to change")))?;
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
    terminal::note(&format!(
        "{option} takes the place of what these flows have{with}: {}",
        groups.join(", ")
    ));
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
        return Err(Failure::BadInput(format!(
            "no network was given: name a scenario file, or give --rate, --rtt, --flows and --aqm ({} missing)",
            match missing.split_last() {
                Some((last, [])) => format!("{last} is"),
                Some((last, others)) => format!("{} and {last} are", others.join(", ")),
                None => "none is".to_string(),
            }
        )));
    };
    check_names(&args.aqm)?;
    let congestion = args.congestion.unwrap_or_default();
    if args.drops && matches!(congestion, Congestion::Scalable(_)) {
        return Err(Failure::BadInput(format!(
            "--drops: {0} lives on the share of marks, and with --drops there are none (RFC 8257 section 3): leave out \
             --drops, or name a --congestion that losses reduce (reno, cubic)",
            congestion.name()
        )));
    }
    check_beside(args.beside, congestion)?;
    let packet = args.packet.unwrap_or(Bytes::new(1000));
    let shorthand = Shorthand {
        buffer: args.buffer.unwrap_or_else(|| Shorthand::ample_buffer(rate, rtt, packet)),
        congestion,
        ecn: !args.drops,
        scalables: args.beside,
        algorithms: args.aqm.iter().map(|name| format!("algorithm = {name:?}\n")).collect(),
        ..Shorthand::new(rate, rtt, flows, packet)
    };
    let mut document = shorthand.document(FROM_OPTIONS);
    simulate::change(&mut document, &args.changes)?;
    Ok(document.study(&Plugins::new())?)
}

/// Refuses scalable flows beside scalable ones: of one kind the models have one law.
pub fn check_beside(beside: Option<(u32, Congestion)>, congestion: Congestion) -> Result<(), Failure> {
    match (beside, congestion) {
        (Some(_), Congestion::Scalable(_)) => Err(Failure::BadInput(format!(
            "--beside: stands for scalable flows beside Classic ones, and --congestion {} is scalable, too: name reno or \
             cubic there",
            congestion.name()
        ))),
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
            return Err(Failure::BadInput(format!("--aqm names {name} twice: name it once")));
        }
    }
    Ok(())
}

/// Samples of the queue per round-trip time without queueing: enough for the fastest swing.
const SAMPLES_PER_RTT: f64 = 8.0;
/// Below this, samples would show single packets.
const SHORTEST_STEP: Duration = Duration::from_millis(2);

/// What the theory says of one point of a study.
pub struct Found {
    /// Its link and flows.
    pub bottleneck: Bottleneck,
    /// The time at which it was looked at.
    pub time: Time,
    /// The algorithms' parameters.
    pub configs: Vec<AqmConfig>,
    /// What is said of each.
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
    found: &mut [Found],
    watch: &simulate::Watch,
    line: &[String],
) -> Result<Checked, Failure> {
    let all = study.points.len();
    let cut_short = |i: usize| {
        watch.finish();
        Ok(Checked::Part(match i {
            0 => format!("none of {all} points checked: there is only the theory's verdict"),
            _ => format!("{i} of {all} points checked; the others have only the theory's verdict"),
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

/// What is said of an algorithm, line by line: why, how far the network may move, and what packets do.
pub fn words(assessment: &Assessment) -> String {
    let reasons = assessment.reasons.iter().map(|reason| format!("{}: {reason}\n", assessment.label));
    reasons.collect::<String>() + &limits(assessment)
}

/// How far the network may move, and what packets do.
pub fn limits(assessment: &Assessment) -> String {
    let mut lines: Vec<String> = assessment.reach.iter().map(reach).collect();
    if let Some(packets) = &assessment.packets {
        let verdict = match (packets.agrees, packets.queue.motion) {
            (Some(true), _) => "The packets confirm it",
            (Some(false), Motion::Irregular) => "The packets do not oscillate, but noise moves the queue far",
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

/// How far a quantity may move, in a sentence.
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
