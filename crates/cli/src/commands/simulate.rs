//! From a scenario file and the command line to results.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use quell_lab::{Document, Options, Plugins, Progress, Results, ScenarioError, Study};
use quell_sim::Engine;

use crate::args::{EngineChoice, Seeds, SimulationArgs};
use crate::failure::Failure;
use crate::interrupt;
use crate::terminal::Meter;

use super::view::Selection;

/// Reads a scenario and applies what the command line changes.
pub fn read(path: &Path, args: &SimulationArgs) -> Result<Study, Failure> {
    let seeds = match (&args.seeds, args.seed) {
        (Some(Seeds::Count(n)), _) => Some(toml::Value::Integer(i64::from(*n))),
        (Some(Seeds::List(list)), _) => Some(list_of(list)?),
        (None, Some(seed)) => Some(list_of(&[seed])?),
        (None, None) => None,
    };
    study(path, &args.set, seeds)
}

/// Reads a scenario with fields set and other seeds.
///
/// # Errors
/// Where the file is sound by itself, the command line is to blame, and no line of the file.
pub fn study(path: &Path, set: &[(String, String)], seeds: Option<toml::Value>) -> Result<Study, Failure> {
    let original = Document::read(path)?;
    let mut document = original.clone();
    let mut changes: Vec<String> = Vec::new();
    for (field, value) in set {
        let change = format!("--set {field}={value}");
        document.set_text(field, value).map_err(|error| ScenarioError {
            file: change.clone(),
            line: None,
            ..error
        })?;
        changes.push(change);
    }
    if let Some(seeds) = seeds {
        document.set("seeds", &seeds)?;
        changes.push("--seeds".to_string());
    }
    let plugins = Plugins::new();
    document.study(&plugins).map_err(|error| {
        let blame = !changes.is_empty() && original.study(&plugins).is_ok();
        let file = format!("{} with {}", error.file, changes.join(" "));
        let error = if blame { ScenarioError { file, line: None, ..error } } else { error };
        error.into()
    })
}

fn list_of(seeds: &[u64]) -> Result<toml::Value, Failure> {
    let number = |seed: &u64| {
        let n = i64::try_from(*seed);
        n.map(toml::Value::Integer).map_err(|_| {
            Failure::BadInput(format!(
                "seed {seed} is too large: scenario files hold seeds up to {}",
                i64::MAX
            ))
        })
    };
    Ok(toml::Value::Array(seeds.iter().map(number).collect::<Result<_, _>>()?))
}

/// Runs a study, with progress on stderr, until it is done or interrupted.
pub fn run(study: &Study, args: &SimulationArgs, line: Vec<String>) -> Result<Results, Failure> {
    let stop = interrupt::listen();
    let meter = Meter::new(args.quiet);
    let said = AtomicBool::new(false);
    let progress = |progress: &Progress| {
        if stop.load(Ordering::Relaxed) && !said.swap(true, Ordering::Relaxed) {
            meter.note("stopping; what is finished is kept (Ctrl-C again quits at once)");
        }
        meter.show(progress);
    };
    let options = Options {
        threads: args.threads.map(usize::from),
        engine: match args.engine {
            EngineChoice::Fast => Engine::Fast,
            EngineChoice::Reference => Engine::Reference,
        },
        plugins: Plugins::new(),
        progress: Some(&progress),
        stop: Some(stop),
        command: line,
    };
    let results = quell_lab::run(study, &options);
    meter.finish();
    let results = results?;
    if results.replications.is_empty() {
        return Err(Failure::Interrupted("no replication was finished; nothing is written".to_string()));
    }
    Ok(results)
}

/// Refuses a link that the study does not have, before anything runs.
pub fn check_link(selection: &Selection, study: &Study) -> Result<(), Failure> {
    let links: Vec<String> = study.points.iter().flat_map(quell_lab::Point::links).collect();
    selection.check_link(links.iter().map(String::as_str))
}
