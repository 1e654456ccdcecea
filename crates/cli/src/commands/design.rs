//! `quell design`.

use quell_analysis::{Assessment, Bottleneck, Shorthand, shorthand};
use quell_scenario::{Document, Plugins};
use quell_theory::Signal;
use quell_theory::rules::design::{DESIGNED, Design, Target, design as by_rule, without_rule};
use quell_units::Time;
use serde::Serialize;

use super::analyze;
use crate::args::{DesignArgs, Format};
use crate::assess::{self, Checked, Found};
use crate::diagram;
use crate::failure::Failure;
use crate::simulate::Watch;
use crate::{folder, json, table, terminal};

/// What `design` prints as JSON.
#[derive(Serialize)]
struct Output<'a> {
    schema: u32,
    designs: Vec<DesignOutput<'a>>,
}

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
pub fn design(args: &DesignArgs, line: Vec<String>) -> Result<(), Failure> {
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
    if let Some(name) = args.aqm.iter().find(|name| !DESIGNED.contains(&name.as_str())) {
        return Err(Failure::BadInput(format!(
            "--aqm {name}: {}; there are rules for {}",
            without_rule(name),
            DESIGNED.join(", ")
        )));
    }
    let mut designs = Vec::new();
    for name in &args.aqm {
        match by_rule(name, &target) {
            Ok(design) => designs.push(design),
            // Of several, the others are still wanted.
            Err(e) if args.aqm.len() > 1 => terminal::note(&format!("{name}: {e}")),
            Err(e) => return Err(e.into()),
        }
    }
    if designs.is_empty() {
        return Err(Failure::BadInput("no rule suits this link; the notes explain why".into()));
    }
    if let Some(file) = args.save.as_ref().filter(|file| file.is_file() && !args.overwrite) {
        let help = "exists; --overwrite replaces it, --save names another";
        return Err(Failure::BadInput(format!("{}: {help}", file.display())));
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
            let help = "leave out --save to have the parameters alone";
            let why = format!("--save: it could not be run: {}; {help}", error.reason());
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
            json::print(&Output { schema: json::SCHEMA, designs: designs.collect() })?;
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
            text.push_str(&table::figures(&analyze::names(&assessments), &analyze::columns(&assessments)));
            terminal::print(&text)?;
        }
    }
    checked.or_fail()
}

/// What the theory says of a design.
fn assess(design: &Design) -> Result<Found, Failure> {
    let bottleneck = Bottleneck::of_design(design);
    let name = design.config.name();
    let assessment = Assessment::of(name, &design.config, &bottleneck, quell_theory::Plant::Exact, true)?;
    let configs = vec![design.config.clone()];
    Ok(Found { bottleneck, time: Time::ZERO, configs, assessments: vec![assessment] })
}

/// A scenario with the designs, on the network they are for.
fn scenario(args: &DesignArgs, designs: &[&Design]) -> Result<String, Failure> {
    let algorithms = designs.iter().map(|d| parameters(d)).collect::<Result<_, _>>()?;
    let first = designs.first().expect("clap asks for an algorithm");
    Ok(Shorthand::of_design(first, args.flows, algorithms).to_toml())
}

fn parameters(design: &Design) -> Result<String, Failure> {
    shorthand::changed(&design.config).map_err(|e| Failure::cannot("write the parameters", e))
}
