//! `quell analyze`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use quell_analysis::{Assessment, Bottleneck, Motion, Prediction};
use quell_scenario::{Plugins, Setting, Study};
use quell_units::text::{duration, seconds, three_digits};
use quell_units::{Duration, Time};
use serde::Serialize;
use serde_json::json;

use crate::args::{Format, FormatArgs};
use crate::assess::{self, Checked, NetworkArgs, PlantChoice, PointVerdicts};
use crate::diagram::{self, Diagram};
use crate::failure::Failure;
use crate::simulate::Watch;
use crate::table::{self, Column, Tint};
use crate::{json, notes, terminal};

/// Arguments of `analyze`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell analyze scenarios/main.toml --aqm pi,red
  quell analyze scenarios/theory.toml --check
  quell analyze --rate 10Mbit/s --rtt 100ms --flows 100 --aqm pi --svg pi.svg
  quell analyze --rate 100Mbit/s --rtt 20ms --flows 10 --congestion dctcp --aqm pi
  quell analyze --rate 40Mbit/s --rtt 20ms --flows 10 --beside prague=10 --drops --aqm dualpi2,pi2
  quell analyze scenarios/main.toml --at \"60 s\" --format json | jq '.points[0].algorithms[].margins'

The model is TCP (Reno, CUBIC, DCTCP or Prague) in congestion avoidance with a fluid queue, linearized at its \
equilibrium, with the exact delay. It covers long-lived flows only. For a sweep, the table has only the numbers; use \
--format json for the reasons. Ctrl-C ends a check after the current simulations and prints what was checked.")]
pub struct Args {
    #[command(flatten)]
    network: NetworkArgs,
    /// The link; default: the first bottleneck.
    #[arg(long, value_name = "NAME")]
    link: Option<String>,
    /// The time at which to read flows, rates and delays; default: the end of the warm-up, or, if no long-lived flow is
    /// sending then, the first time at which most of them are.
    #[arg(long, value_name = "TIME")]
    at: Option<Duration>,
    /// Which part of the flows' delay the model keeps.
    #[arg(long, value_enum, default_value_t, value_name = "PLANT")]
    plant: PlantChoice,
    /// Also simulate, and report whether the queue settles or oscillates as predicted.
    #[arg(long)]
    check: bool,
    /// Do not show progress.
    #[arg(long, short)]
    quiet: bool,
    /// Also write a diagram to this SVG file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Diagram to draw; default: bode, or verdicts when many points are checked.
    #[arg(long, value_enum, value_name = "DIAGRAM", requires = "svg")]
    diagram: Option<Diagram>,
    #[command(flatten)]
    format: FormatArgs,
}

/// One point of the study, for JSON.
#[derive(Serialize)]
struct PointOutput<'a> {
    settings: Vec<serde_json::Value>,
    link: &'a str,
    at_s: f64,
    flows: f64,
    capacity_pps: f64,
    buffer_packets: f64,
    rtt_s: f64,
    congestion: &'static str,
    /// The congestion control of flows of a second kind, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    scalable: Option<&'static str>,
    left_out: &'a [String],
    algorithms: &'a [Assessment],
}

/// The numbers of points by verdict and by the packets' answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Agreement {
    stable_settled: usize,
    stable_unsettled: usize,
    unstable_settled: usize,
    unstable_unsettled: usize,
    no_equilibrium_settled: usize,
    no_equilibrium_unsettled: usize,
}

impl Agreement {
    fn count(&mut self, assessment: &Assessment) {
        let Some(packets) = &assessment.packets else { return };
        let settled = packets.queue.motion == Motion::Settled;
        let cell = match (assessment.verdict, settled) {
            (Prediction::Stable, true) => &mut self.stable_settled,
            (Prediction::Stable, false) => &mut self.stable_unsettled,
            (Prediction::Unstable, true) => &mut self.unstable_settled,
            (Prediction::Unstable, false) => &mut self.unstable_unsettled,
            (Prediction::NoEquilibrium, true) => &mut self.no_equilibrium_settled,
            (Prediction::NoEquilibrium, false) => &mut self.no_equilibrium_unsettled,
            (Prediction::NoModel, _) => return,
        };
        *cell += 1;
    }
}

/// Prints what the theory says about a scenario, and with `--check` what the packets say.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    // From here on an interruption is heard, and said.
    let watch = args.check.then(|| Watch::new(args.quiet));
    let study = assess::study(&args.network)?;
    notes::say_holes(&study, 1);
    let mut found = look(&study, args, watch.as_ref())?;
    let chosen =
        args.diagram.unwrap_or(if args.check && found.len() > 1 { Diagram::Verdicts } else { Diagram::Bode });
    if let Some(file) = &args.svg {
        diagram::check(chosen, &found, args.check, file)?;
    }
    let checked = match &watch {
        Some(watch) => assess::check(&study, &mut found, watch, &line)?,
        None => Checked::All,
    };
    let agreement = args.check.then(|| {
        let mut all: BTreeMap<String, Agreement> = BTreeMap::new();
        for assessment in found.iter().flat_map(|f| &f.assessments) {
            all.entry(assessment.label.clone()).or_default().count(assessment);
        }
        all
    });
    if let Some(file) = &args.svg {
        let drawn = diagram::write(chosen, study.title(), &found, file);
        // What was interrupted may have nothing to draw.
        if checked == Checked::All {
            drawn?;
        }
    }
    match args.format.format {
        Format::Json => {
            json::print(&json!({
                "title": study.title(),
                "points": study.points.iter().zip(&found).map(|(p, f)| point_output(&p.settings, f)).collect::<Vec<_>>(),
                // The agreement of verdicts and packets, by algorithm; null without --check.
                "agreement": agreement,
            }))?;
        }
        Format::Table => {
            let sweeps = study.points.len() > 1;
            let mut text = if sweeps { format!("{}\n\n", study.title()) } else { String::new() };
            for (point, found) in study.points.iter().zip(&found) {
                let title = if sweeps { point.title() } else { study.title().to_string() };
                text.push_str(&point_text(&title, found, sweeps));
            }
            if let Some(agreement) = agreement.filter(|_| sweeps) {
                text.push_str(&agreement_text(&agreement));
            }
            terminal::print(&text)?;
        }
    }
    checked.or_fail()
}

/// The theory's part.
fn look(study: &Study, args: &Args, watch: Option<&Watch>) -> Result<Vec<PointVerdicts>, Failure> {
    let all = study.points.len();
    let reach = all == 1;
    study
        .points
        .iter()
        .enumerate()
        .map(|(i, point)| {
            if watch.is_some_and(Watch::is_stopped) {
                let message = format!("the theory was evaluated at {i} of {all} points; nothing was checked");
                return Err(Failure::Interrupted(message));
            }
            let seed = point.scenario.seeds.list().first().copied().unwrap_or(1);
            let link = args.link.as_deref();
            let time = match args.at {
                None => Bottleneck::busy_time(point, link, seed)?,
                Some(at) if at <= point.scenario.duration => Time::ZERO + at,
                Some(at) => {
                    return Err(bad_input!(
                        "--at = {at}: must not be later than the end of the scenario ({})",
                        point.scenario.duration
                    ));
                }
            };
            let bottleneck = Bottleneck::of_point(point, link, Some(time), seed, &Plugins::new())?;
            let assessments = bottleneck
                .algorithms
                .iter()
                .map(|(label, config)| Assessment::of(label, config, &bottleneck, args.plant.into(), reach))
                .collect::<Result<_, _>>()?;
            let configs = bottleneck.algorithms.iter().map(|(_, config)| config.clone()).collect();
            Ok(PointVerdicts { bottleneck, time, configs, assessments })
        })
        .collect()
}

fn point_output<'a>(settings: &'a [Setting], found: &'a PointVerdicts) -> PointOutput<'a> {
    let network = &found.bottleneck.network;
    let flows: f64 = network.classes.iter().map(|c| c.flows).sum();
    PointOutput {
        settings: json::settings(settings),
        link: &found.bottleneck.name,
        at_s: found.time.as_secs_f64(),
        flows,
        capacity_pps: network.capacity,
        buffer_packets: network.buffer,
        rtt_s: network.classes.iter().map(|c| c.flows * c.propagation).sum::<f64>() / flows,
        congestion: network.congestion.name(),
        scalable: network.scalables.map(|s| s.congestion.name()),
        left_out: &found.bottleneck.left_out,
        algorithms: &found.assessments,
    }
}

fn point_text(title: &str, found: &PointVerdicts, brief: bool) -> String {
    let network = &found.bottleneck.network;
    let out = point_output(&[], found);
    let mut text = format!(
        "{title}\n{} at {} s: {} flows, {} packets/s, round trip {} without queueing, buffer {} packets, signals are {}{}\n",
        out.link,
        seconds((1e3 * out.at_s).round() / 1e3),
        out.flows,
        three_digits(out.capacity_pps),
        duration(out.rtt_s),
        three_digits(network.buffer),
        match network.signal {
            quell_theory::Signal::Mark => "marks",
            quell_theory::Signal::Drop => "drops",
        },
        match (out.congestion, out.scalable) {
            ("reno", None) => String::new(),
            (other, None) => format!(", windows follow {other}"),
            (classic, Some(scalable)) => format!(", windows follow {classic} and {scalable}"),
        }
    );
    for left in &found.bottleneck.left_out {
        text.push_str(&format!("omitted: {left}\n"));
    }
    let mut text = terminal::prose(&text);
    text.push('\n');
    text.push_str(&assess::figures(&found.assessments));
    if !brief {
        let words: String = found.assessments.iter().map(assess::words).collect();
        text.push_str(&format!("\n{}", terminal::prose(&words)));
    }
    text.push('\n');
    text
}

fn agreement_text(agreement: &BTreeMap<String, Agreement>) -> String {
    let names = Column::names("algorithm", agreement.keys());
    let column = |title: &str, tint: Tint, f: fn(&Agreement) -> usize| {
        Column::new(title, "", agreement.values().map(|a| (f(a).to_string(), tint)))
    };
    let columns = [
        column("stable, settled", Tint::Good, |a| a.stable_settled),
        column("stable, not settled", Tint::Bad, |a| a.stable_unsettled),
        column("unstable, settled", Tint::Bad, |a| a.unstable_settled),
        column("unstable, not settled", Tint::Good, |a| a.unstable_unsettled),
        column("no equilibrium, settled", Tint::Plain, |a| a.no_equilibrium_settled),
        column("no equilibrium, not settled", Tint::Plain, |a| a.no_equilibrium_unsettled),
    ];
    format!("Theory and packets over all points\n\n{}\n", table::figures(&names, &columns))
}
