//! `quell design`.

use std::path::PathBuf;

use quell_analysis::{Assessment, Bottleneck, Shorthand, shorthand};
use quell_scenario::{Document, Plugins};
use quell_theory::rules::design::{
    DESIGNED, Design, SET, Setting, Target, design as by_rule, setting, without_rule,
};
use quell_theory::{Congestion, Signal};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};
use serde::Serialize;
use serde_json::json;

use crate::args::{Format, FormatArgs, link_rate, round_trip, whole};
use crate::assess::{self, Checked, PointVerdicts, beside, congestion, packet};
use crate::diagram;
use crate::failure::Failure;
use crate::simulate::Watch;
use crate::{folder, json, terminal};

/// Arguments of `design`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell design --rate 10Mbit/s --rtt 100ms --flows 100 --aqm pi
  quell design --rate 10Mbit/s --rtt 100ms --flows 100 --aqm pi,vrc,red --check
  quell design --rate 100Mbit/s --rtt 40ms --flows 20 --congestion cubic --aqm pi --check
  quell design --rate 40Mbit/s --rtt 60ms --flows 10 --beside prague=10 --aqm dualpi2 --check
  quell design --rate 1Gbit/s --rtt 40ms --flows 500 --aqm pi --queue \"500 packets\" --save pi.toml

Give the worst case: the fewest flows and the longest round-trip time that the link will see.")]
pub struct Args {
    /// The link's rate, such as 10Mbit/s.
    #[arg(long, value_name = "RATE", value_parser = link_rate)]
    rate: BitRate,
    /// The longest round-trip time, with the queue at its target.
    #[arg(long, value_name = "TIME", value_parser = round_trip)]
    rtt: Duration,
    /// The fewest long-lived flows.
    #[arg(long, value_name = "N", value_parser = whole(1..=200_000_u32))]
    flows: u32,
    /// The algorithms, by their names in the catalog.
    #[arg(long, value_name = "NAME", value_delimiter = ',', required = true)]
    aqm: Vec<String>,
    /// The link's buffer; default: the bandwidth-delay product.
    #[arg(long, value_name = "SIZE")]
    buffer: Option<QueueSize>,
    /// The target queue; default: a quarter of the buffer. For pi2 and dualpi2, it is their own target if it fits in
    /// half of the buffer.
    #[arg(long, value_name = "SIZE")]
    queue: Option<QueueSize>,
    /// Size of a packet on the wire.
    #[arg(long, value_name = "SIZE", default_value = "1000 B", value_parser = packet)]
    packet: Bytes,
    /// The flows' congestion control: reno (default); also cubic, dctcp or prague with pi, and cubic with pi2 and
    /// dualpi2.
    #[arg(long, value_name = "NAME", value_parser = congestion)]
    congestion: Option<Congestion>,
    /// Additional scalable flows, such as prague=10 or dctcp=10; they are marked even with --drops.
    #[arg(long, value_name = "NAME=N", value_parser = beside)]
    beside: Option<(u32, Congestion)>,
    /// Drop packets instead of marking them (ECN).
    #[arg(long)]
    drops: bool,
    /// Also simulate, and report whether the packets confirm the design.
    #[arg(long)]
    check: bool,
    /// Do not show progress.
    #[arg(long, short)]
    quiet: bool,
    /// Also write a scenario with the designed parameters to this file.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Replace that scenario if it exists.
    #[arg(long, requires = "save")]
    overwrite: bool,
    /// Also write the loops' Bode diagram to this SVG file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
}

/// A design, for JSON.
#[derive(Serialize)]
struct DesignOutput<'a> {
    /// The parameters, as in a scenario.
    aqm: &'a quell_aqm::catalog::AqmConfig,
    assumptions: &'a [String],
    warnings: &'a [String],
    #[serde(flatten)]
    assessment: &'a Assessment,
}

/// Finds parameters by the published rules, and with `--check` lets packets confirm them.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    assess::check_beside(args.beside, args.congestion.unwrap_or_default())?;
    let target = Target {
        scalables: args.beside.map(|(flows, congestion)| (f64::from(flows), congestion)),
        buffer: args.buffer.map(|b| b.in_packets(args.packet)),
        queue: args.queue.map(|q| q.in_packets(args.packet)),
        congestion: args.congestion.unwrap_or_default(),
        signal: if args.drops { Signal::Drop } else { Signal::Mark },
        ..Target::new(args.rate, args.packet, args.rtt, f64::from(args.flows))
    };
    assess::check_names(&args.aqm)?;
    let known = |name: &str| DESIGNED.contains(&name) || SET.contains(&name);
    if let Some(name) = args.aqm.iter().find(|name| !known(name)) {
        let others = SET.iter().filter(|name| !DESIGNED.contains(name));
        return Err(bad_input!(
            "--aqm {name}: {}; rules exist for {}",
            without_rule(name),
            DESIGNED.iter().chain(others).copied().collect::<Vec<_>>().join(", ")
        ));
    }
    let (by_model, by_document): (Vec<&String>, Vec<&String>) =
        args.aqm.iter().partition(|name| DESIGNED.contains(&name.as_str()));
    let settings: Vec<Setting> =
        by_document.iter().filter_map(|name| setting(name, args.rate, args.packet, args.rtt)).collect();
    if by_model.is_empty() {
        let option =
            [(args.check, "--check"), (args.save.is_some(), "--save"), (args.svg.is_some(), "--svg")];
        if let Some((_, option)) = option.into_iter().find(|(given, _)| *given) {
            return Err(bad_input!(
                "{option}: {} follow from documents and not from a model, so there is nothing to check or to draw; quell \
                 recommend simulates them",
                by_document.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
            ));
        }
        return print_settings(args, &settings);
    }
    let mut designs = Vec::new();
    for name in by_model {
        match by_rule(name, &target) {
            Ok(design) => designs.push(design),
            // Of several, the others are still wanted.
            Err(e) if args.aqm.len() > 1 => terminal::note(&format!("{name}: {e}")),
            Err(e) => return Err(e.into()),
        }
    }
    if designs.is_empty() {
        return Err(bad_input!("no rule suits this link; see the notes for the reasons"));
    }
    if let Some(file) = args.save.as_ref().filter(|file| file.is_file() && !args.overwrite) {
        let help = "exists; use --overwrite to replace it, or --save to name another file";
        return Err(bad_input!("{}: {help}", quell_files::name(file)));
    }
    for file in args.save.iter().chain(&args.svg) {
        folder::check_writable(file)?;
    }
    let mut found = designs.iter().map(assess).collect::<Result<Vec<_>, _>>()?;
    let scenarios = designs.iter().map(|d| scenario(args, &[d])).collect::<Result<Vec<_>, _>>()?;
    // What is saved can be run.
    let saved =
        args.save.as_ref().map(|_| scenario(args, &designs.iter().collect::<Vec<_>>())).transpose()?;
    if let Some(text) = &saved {
        let refused = match Document::parse(text, "the design") {
            Ok(document) => document.study(&Plugins::new()).err(),
            Err(error) => Some(error),
        };
        if let Some(error) = refused {
            let help = "leave out --save to get only the parameters";
            let why = format!("--save: the scenario would be invalid: {}; {help}", error.reason());
            return Err(Failure::BadInput(why));
        }
    }
    let mut checked = Checked::All;
    if args.check {
        let parse = |text: &String| -> Result<_, Failure> {
            Ok(Document::parse(text, "the design")?.study(&Plugins::new())?)
        };
        let studies = scenarios.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let points = studies.iter().flat_map(|s| s.points.clone()).collect();
        let watch = Watch::new(args.quiet);
        checked = assess::check(&studies[0].with_points(points), &mut found, &watch, &line)?;
    }
    if let (Some(file), Some(text)) = (&args.save, &saved) {
        folder::write_whole(text, file)?;
    }
    let assessments: Vec<Assessment> = found.into_iter().flat_map(|f| f.assessments).collect();
    if let Some(file) = &args.svg {
        let title = format!("{} flows, {}, {}", args.flows, args.rate, args.rtt);
        folder::write_whole(&diagram::bode(&title, &assessments)?, file)?;
    }
    match args.format.format {
        Format::Json => {
            let designs = designs.iter().zip(&assessments).map(|(d, assessment)| DesignOutput {
                aqm: &d.config,
                assumptions: &d.assumptions,
                warnings: &d.warnings,
                assessment,
            });
            json::print(
                &json!({ "designs": designs.collect::<Vec<_>>(), "settings": settings_output(&settings) }),
            )?;
        }
        Format::Table => {
            let mut text = String::new();
            // Common assumptions are printed once, after them.
            let common =
                |line: &String| designs.len() > 1 && designs.iter().all(|d| d.assumptions.contains(line));
            for (design, assessment) in designs.iter().zip(&assessments) {
                text.push_str(&format!("[[aqm]]\n{}\n", parameters(design)?));
                let mut words = String::new();
                for assumption in design.assumptions.iter().filter(|line| !common(line)) {
                    words.push_str(&format!("assumes: {assumption}\n"));
                }
                for warning in &design.warnings {
                    words.push_str(&format!("note: {warning}\n"));
                }
                words.push_str(&assess::limits(assessment));
                text.push_str(&format!("{}\n", terminal::prose(&words)));
            }
            let all: Vec<String> =
                designs[0].assumptions.iter().filter(|line| common(line)).cloned().collect();
            if !all.is_empty() {
                let words: String = all.iter().map(|line| format!("all assume: {line}\n")).collect();
                text.push_str(&format!("{}\n", terminal::prose(&words)));
            }
            text.push_str(&assess::figures(&assessments));
            for setting in &settings {
                text.push_str(&format!("\n{}", settings_text(setting)?));
            }
            terminal::print(&text)?;
        }
    }
    checked.or_fail()
}

/// Prints settings that follow from documents alone.
fn print_settings(args: &Args, settings: &[Setting]) -> Result<(), Failure> {
    match args.format.format {
        Format::Json => json::print(&json!({ "designs": [], "settings": settings_output(settings) })),
        Format::Table => {
            let texts = settings.iter().map(settings_text).collect::<Result<Vec<_>, _>>()?;
            terminal::print(&texts.join("\n"))
        }
    }
}

fn settings_output(settings: &[Setting]) -> Vec<serde_json::Value> {
    settings.iter().map(|setting| json!({ "aqm": setting.config, "reasons": setting.reasons })).collect()
}

/// A setting as a part of a scenario, and its reasons.
fn settings_text(setting: &Setting) -> Result<String, Failure> {
    let table =
        shorthand::changed(&setting.config).map_err(|e| Failure::cannot("write the parameters", e))?;
    let words: String = setting.reasons.iter().map(|reason| format!("{reason}\n")).collect();
    let words = format!("{words}No model says whether this is stable; quell recommend simulates it.\n");
    Ok(format!("[[aqm]]\n{table}\n{}", terminal::prose(&words)))
}

/// The theory's verdict on a design.
fn assess(design: &Design) -> Result<PointVerdicts, Failure> {
    let bottleneck = Bottleneck::of_design(design);
    let name = design.config.name();
    let assessment = Assessment::of(name, &design.config, &bottleneck, quell_theory::Plant::Exact, true)?;
    let configs = vec![design.config.clone()];
    Ok(PointVerdicts { bottleneck, time: Time::ZERO, configs, assessments: vec![assessment] })
}

/// A scenario with the designs, on the network they are for.
fn scenario(args: &Args, designs: &[&Design]) -> Result<String, Failure> {
    let algorithms = designs.iter().map(|d| parameters(d)).collect::<Result<_, _>>()?;
    let first = designs.first().expect("clap asks for an algorithm");
    Ok(Shorthand::of_design(first, args.flows, algorithms).to_toml())
}

fn parameters(design: &Design) -> Result<String, Failure> {
    shorthand::changed(&design.config).map_err(|e| Failure::cannot("write the parameters", e))
}
