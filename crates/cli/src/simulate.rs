//! From a scenario file and the command line to results.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Instant;

use quell_lab::{Cache, Options, Progress, Results, Series};
use quell_scenario::{Plugins, ScenarioError, Study};
use quell_sim::Engine;
use quell_units::text::cut;

use crate::args::{CacheDir, EngineChoice, Seeds, SeriesChoice, SimulationArgs};
use crate::failure::Failure;
use crate::interrupt;
use crate::selection::Selection;
use crate::terminal::{self, Meter};

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
    let original = quell_lab::read(path)?;
    let mut document = original.clone();
    let mut changes: Vec<String> = Vec::new();
    for (field, value) in set {
        let change = format!("--set {}={}", cut(field), cut(value));
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
    let use_of = &args.cache;
    // The plain engine is for checking the other: it computes.
    let cached = !use_of.no_cache && args.engine == EngineChoice::Fast;
    let watch = Watch {
        threads: args.threads.map(usize::from),
        engine: args.engine,
        cache: if cached { cache(&use_of.dir) } else { None },
        fresh: use_of.fresh,
        verify: use_of.verify.unwrap_or(0.0),
        series: match args.series {
            SeriesChoice::Drawn => Series::Drawn,
            SeriesChoice::All => Series::All,
            SeriesChoice::None => Series::None,
        },
        ..Watch::new(args.quiet)
    };
    let results = watch.run(study, (0, 1), line);
    watch.finish();
    let results = results?;
    if let (Some(cache), 1.., false) = (&watch.cache, results.run.reused, args.quiet) {
        let of = results.replications.len();
        terminal::note(&format!(
            "{} of {of} replications are from the cache ({}); --fresh runs them again",
            results.run.reused,
            cache.dir().display()
        ));
    }
    if results.replications.is_empty() {
        return Err(Failure::Interrupted("no replication finished; nothing was written".to_string()));
    }
    Ok(results)
}

/// The cache that the command line names, or the user's; none without either.
pub fn cache(dir: &CacheDir) -> Option<Cache> {
    dir.cache.clone().or_else(Cache::default_dir).map(Cache::at)
}

/// Runs studies one after the other under one progress bar.
pub struct Watch {
    threads: Option<usize>,
    engine: EngineChoice,
    cache: Option<Cache>,
    fresh: bool,
    verify: f64,
    series: Series,
    meter: Meter,
    since: Instant,
    stop: &'static AtomicBool,
    said: AtomicBool,
}

impl Watch {
    /// Ready to run; a quiet one shows no progress.
    pub fn new(quiet: bool) -> Self {
        Watch {
            threads: None,
            engine: EngineChoice::Fast,
            cache: None,
            fresh: false,
            verify: 0.0,
            series: Series::Drawn,
            meter: Meter::new(quiet),
            since: Instant::now(),
            stop: interrupt::listen(),
            said: AtomicBool::new(false),
        }
    }

    /// Runs number `i` of `n` studies that take about as long as each other.
    pub fn run(&self, study: &Study, (i, n): (usize, usize), line: Vec<String>) -> Result<Results, Failure> {
        let progress = |part: &Progress| {
            if self.stop.load(Ordering::Relaxed) && !self.said.swap(true, Ordering::Relaxed) {
                self.meter.note("stopping; finished replications are kept (Ctrl-C again quits at once)");
            }
            let elapsed = self.since.elapsed();
            let done = (i as f64 + part.done) / n as f64;
            let left = part
                .left
                .filter(|_| n == 1)
                .or_else(|| (n > 1 && done > 0.0).then(|| elapsed.mul_f64((1.0 - done).max(0.0) / done)));
            let (finished, total) = (i * part.total + part.finished, n * part.total);
            self.meter.show(&Progress { done, finished, total, elapsed, left });
        };
        let warn = |why: &str| self.meter.note(&format!("warning: {why}"));
        let options = Options {
            cache: self.cache.as_ref(),
            fresh: self.fresh,
            verify: self.verify,
            series: self.series,
            warn: Some(&warn),
            threads: self.threads,
            engine: match self.engine {
                EngineChoice::Fast => Engine::Fast,
                EngineChoice::Reference => Engine::Reference,
            },
            progress: Some(&progress),
            stop: Some(self.stop),
            command: line,
            ..Options::default()
        };
        Ok(quell_lab::run(study, &options)?)
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.meter.finish();
    }
}

/// Refuses a link that the study does not have, before anything runs.
pub fn check_link(selection: &Selection, study: &Study) -> Result<(), Failure> {
    let links: Vec<String> = study.points.iter().flat_map(quell_scenario::Point::links).collect();
    selection.check_link(links.iter().map(String::as_str))
}
