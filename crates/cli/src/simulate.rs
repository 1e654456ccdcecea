//! The way from a scenario file and the command line to results.

use std::path::{Path, PathBuf};
#[cfg(feature = "all")]
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quell_aqm::catalog::{self, CATALOG};
use quell_lab::{
    Aim, Auto, Cache, MAX_SEEDS, Options, Progress, Quantity, Results, Reuse, Series, Tracing, files_in,
};
use quell_scenario::{Document, Plugins, ScenarioError, Study};
use quell_sim::Engine;
use quell_units::text::cut;

use crate::args::{
    CacheDir, CacheUse, Changes, EngineChoice, Seeds, SeriesChoice, SimulationArgs, WatchArgs,
};
use crate::failure::{Failure, unknown_name};
use crate::folder;
use crate::interrupt;
use crate::selection::Selection;
use crate::terminal::{self, Meter};

/// Reads a scenario and applies what the command line changes; `baseline` runs in any case.
pub fn read(path: &Path, args: &SimulationArgs, baseline: Option<&str>) -> Result<Study, Failure> {
    let seeds = match (&args.seeds, args.seed) {
        // What is run chooses them.
        (Some(Seeds::Auto), _) => None,
        (Some(Seeds::Count(n)), _) => Some(toml::Value::Integer(i64::from(*n))),
        (Some(Seeds::List(list)), _) => Some(list_of(list)?),
        (None, Some(seed)) => Some(list_of(&[seed])?),
        (None, None) => None,
    };
    let chosen = Chosen { aqm: &args.aqm, baseline };
    Ok(changed(path, &args.changes, seeds, chosen)?.0)
}

/// Keeps in each point the algorithms with these labels, in their order, and adds those that it lacks from the catalog,
/// with their defaults; without labels, keeps all.
pub fn choose(study: &mut Study, names: &[String]) -> Result<(), Failure> {
    if names.is_empty() {
        return Ok(());
    }
    select(study, |labels| {
        let mut chosen: Vec<String> = Vec::new();
        for name in names {
            check_algorithm(name, labels)?;
            if !chosen.contains(name) {
                chosen.push(name.clone());
            }
        }
        Ok(chosen)
    })
}

/// Refuses an algorithm that neither these labels nor the catalog name.
pub fn check_algorithm(name: &str, labels: &[String]) -> Result<(), Failure> {
    if labels.iter().any(|label| label == name) || catalog::find(name).is_some() {
        return Ok(());
    }
    let others = CATALOG.iter().map(|entry| entry.name).filter(|name| !labels.iter().any(|l| l == name));
    Err(unknown_name("algorithm", name, labels.iter().map(String::as_str).chain(others)))
}

/// Leaves in each point the algorithms that `choose` names, given the labels that are there; those that have no label
/// there are the catalog's.
pub fn select(
    study: &mut Study,
    choose: impl Fn(&[String]) -> Result<Vec<String>, Failure>,
) -> Result<(), Failure> {
    study.select(&files_in(Path::new("")), choose)
}

/// Reads scenarios as one study.
pub fn read_all(paths: &[PathBuf], args: &SimulationArgs) -> Result<Study, Failure> {
    if let [path] = paths {
        return read(path, args, None);
    }
    if let Some(twice) = (1..paths.len()).find(|i| paths[..*i].contains(&paths[*i])) {
        return Err(bad_input!("{} is named twice: name it once", quell_files::name(&paths[twice])));
    }
    let names = folder::names(paths);
    let part = |(name, path): (String, &PathBuf)| Ok((name, read(path, args, None)?));
    Ok(Study::join(names.into_iter().zip(paths).map(part).collect::<Result<_, Failure>>()?))
}

/// The rule by which the run chooses the seeds itself. `None`: it does not. With a baseline, differences from it
/// decide.
pub fn auto(
    args: &SimulationArgs,
    selection: &Selection,
    baseline: Option<&str>,
    study: &Study,
) -> Result<Option<Auto>, Failure> {
    if args.seeds != Some(Seeds::Auto) {
        let given = [("--precision", !args.precision.is_empty()), ("--max-seeds", args.max_seeds.is_some())];
        return match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(bad_input!("{option} has an effect only with --seeds auto")),
            None => Ok(None),
        };
    }
    let mut aims = args.precision.clone();
    let names_it = |aims: &[Aim], metric: &Quantity| aims.iter().any(|aim| aim.metric == *metric);
    if let Some(twice) = (1..aims.len()).find(|i| names_it(&aims[..*i], &aims[*i].metric)) {
        let why = format!("--precision names {} twice: name it once", aims[twice].metric);
        return Err(Failure::BadInput(why));
    }
    if baseline.is_some() {
        let shown = if aims.is_empty() { selection.table_metrics("all") } else { Vec::new() };
        for figure in selection.asked_metrics().unwrap_or(&shown) {
            if !names_it(&aims, figure) {
                aims.push(Aim { metric: figure.clone(), width: None });
            }
        }
    }
    if aims.is_empty() {
        return Err(bad_input!(
            "--seeds auto needs target interval widths, such as --precision utilization=1%,queue_packets=5%"
        ));
    }
    let auto = Auto {
        aims,
        baseline: baseline.map(str::to_string),
        link: selection.link().map(str::to_string),
        scope: "all".to_string(),
        max_seeds: args.max_seeds.map_or(MAX_SEEDS, |n| n as usize),
    };
    auto.check(study).map_err(|why| bad_input!("--seeds auto: {why}"))?;
    Ok(Some(auto))
}

/// The file of a scenario, or standard input for "-".
///
/// # Errors
/// If it cannot be read or is not TOML.
#[allow(clippy::result_large_err)] // Who asks says more of the error.
pub fn document(path: &Path) -> Result<Document, ScenarioError> {
    match path.to_str() {
        Some("-") => quell_lab::read_from(std::io::stdin().lock(), "standard input"),
        _ => quell_lab::read(path),
    }
}

/// Makes changes in a scenario; gives the options that say so. The last of several values for one field counts.
///
/// # Errors
/// If a field is not there, or a value takes its name from an algorithm of `chosen`.
#[allow(clippy::result_large_err)] // As above.
pub fn change(
    document: &mut Document,
    changes: &Changes,
    chosen: Chosen<'_>,
) -> Result<Vec<String>, ScenarioError> {
    let blame = |option: &String, error| ScenarioError { file: option.clone(), line: None, ..error };
    let mut options = Vec::new();
    for (at, (field, value)) in changes.set.iter().enumerate() {
        let option = set_option(field, value);
        let there: Vec<&str> = chosen.names().filter(|name| document.has_algorithm(name)).collect();
        document.set_text(field, value).map_err(|error| blame(&option, error))?;
        // Who gives the whole list says which algorithms there are; that of the option then has its defaults.
        let lost = there.into_iter().find(|name| field.trim() != "aqm" && !document.has_algorithm(name));
        if let Some(name) = lost {
            return Err(no_longer(option, name));
        }
        if document.sweeps(field) {
            terminal::note(&format!("{option}: replaces the scenario's sweep of this field"));
        }
        if let Some((field, value)) = changes.set[at + 1..].iter().find(|later| is_of(later, field)) {
            let later = set_option(field, value);
            terminal::note(&format!("{option} has no effect because {later} comes after it"));
        }
        options.push(option);
    }
    for text in &changes.sweep {
        let option = format!("--sweep {}", cut(text));
        document.sweep_text(text).map_err(|error| blame(&option, error))?;
        options.push(option);
    }
    Ok(options)
}

fn set_option(field: &str, value: &str) -> String {
    format!("--set {}={}", cut(field), cut(value))
}

/// True if a change is of this field.
fn is_of((of, _): &(String, String), field: &str) -> bool {
    of.trim() == field.trim()
}

/// The error of an option after which no algorithm has a name that another option uses.
fn no_longer(option: String, name: &str) -> ScenarioError {
    let rule = format!(
        "no algorithm is called \"{}\" after this change, but the command names it: use its new name",
        cut(name)
    );
    ScenarioError {
        file: option,
        line: None,
        column: None,
        field: String::new(),
        value: None,
        rule,
        nearest: None,
        known: None,
    }
}

/// The algorithms that a command names beside the changes of a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen<'a> {
    /// Those that run; none: all of the scenario.
    pub aqm: &'a [String],
    /// That which others are compared with, and runs in any case.
    pub baseline: Option<&'a str>,
}

impl Chosen<'_> {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.aqm.iter().map(String::as_str).chain(self.baseline)
    }

    /// True if the algorithm with this label runs.
    fn has(&self, label: &str) -> bool {
        self.aqm.is_empty() || self.names().any(|name| name == label)
    }
}

/// Reads a scenario with changes and other seeds; gives the file as it was changed too.
///
/// # Errors
/// Where the file is sound by itself, the command line is to blame, and no line of the file.
#[allow(clippy::result_large_err)] // As above.
pub fn changed(
    path: &Path,
    changes: &Changes,
    seeds: Option<toml::Value>,
    chosen: Chosen<'_>,
) -> Result<(Study, Document), ScenarioError> {
    changed_of(document(path)?, changes, seeds, chosen)
}

/// The same of a file that has been read.
#[allow(clippy::result_large_err)] // As above.
pub fn changed_of(
    original: Document,
    changes: &Changes,
    seeds: Option<toml::Value>,
    chosen: Chosen<'_>,
) -> Result<(Study, Document), ScenarioError> {
    let mut with = original.clone();
    let mut options = add(&mut with, changes, chosen);
    let mut document = with.clone();
    options.extend(change(&mut document, changes, chosen)?);
    options.extend(complete(&mut document, changes, chosen));
    if let Some(seeds) = &seeds {
        document.set("seeds", seeds)?;
        options.push("--seeds".to_string());
    }
    let plugins = Plugins::new();
    let study = document.study(&plugins).map_err(|error| {
        let blame = !options.is_empty() && original.study(&plugins).is_ok();
        let file = format!("{} with {}", error.file, options.join(" "));
        if blame { ScenarioError { file, line: None, ..error } } else { error }
    })?;
    check_swept(&study, &document, changes, chosen)?;
    say_idle(&study, &with, changes, seeds.as_ref(), chosen);
    Ok((study, document))
}

/// Adds the algorithms that are named and whose fields are changed, so that `--aqm pie --set aqm.pie.target=5ms` means
/// what it says where the scenario has none; gives the options that say so.
fn add(document: &mut Document, changes: &Changes, chosen: Chosen<'_>) -> Vec<String> {
    let swept = changes.sweep.iter().flat_map(|text| text.split(';'));
    let fields: Vec<&str> = changes.set.iter().map(|(field, _)| field.as_str()).chain(swept).collect();
    let added = document.add_changed(chosen.names(), &fields);
    added.into_iter().map(|name| format!("--aqm {name}")).collect()
}

/// Adds the others that are named, so that what a change does to them is seen; gives the options that say so.
fn complete(document: &mut Document, changes: &Changes, chosen: Chosen<'_>) -> Vec<String> {
    let mut added: Vec<&str> = Vec::new();
    if !changes.set.is_empty() {
        added.extend(chosen.names().filter(|name| document.add_algorithm(name)));
    }
    added.into_iter().map(|name| format!("--aqm {name}")).collect()
}

/// Refuses sweeps after which an algorithm that a command names has its name at some points only, or at none: the
/// catalog's would take its place there.
#[allow(clippy::result_large_err)] // As above.
fn check_swept(
    study: &Study,
    document: &Document,
    changes: &Changes,
    chosen: Chosen<'_>,
) -> Result<(), ScenarioError> {
    let lacks = |name: &str| {
        let of = |point: &quell_scenario::Point| point.scenario.aqm.iter().all(|aqm| aqm.label() != name);
        document.has_algorithm(name) && study.points.iter().any(of)
    };
    match chosen.names().find(|name| lacks(name)) {
        Some(name) if !changes.sweep.is_empty() => {
            let options: Vec<String> =
                changes.sweep.iter().map(|text| format!("--sweep {}", cut(text))).collect();
            Err(no_longer(options.join(" "), name))
        }
        _ => Ok(()),
    }
}

/// Beyond as many runs it takes long to see what a change has changed.
const MOST_RUNS: usize = 500;

/// Likewise beyond as many characters of all that is to be compared: those of a scenario with a long trace are many.
const MOST_COMPARED: usize = 16 << 20;

/// Says which changes are without effect: with them, every run is what it is without.
fn say_idle(
    study: &Study,
    original: &Document,
    changes: &Changes,
    seeds: Option<&toml::Value>,
    chosen: Chosen<'_>,
) {
    let runs: usize = study.points.iter().map(|point| point.scenario.aqm.len()).sum();
    if changes.set.is_empty() || runs > MOST_RUNS {
        return;
    }
    // All algorithms of a point have the same traces.
    let length = |point: &quell_scenario::Point| point.identity(0).map_or(0, |id| id.text.len());
    let compared: usize = study.points.iter().map(|p| length(p) * p.scenario.aqm.len()).sum();
    if compared.saturating_mul(changes.set.len()) > MOST_COMPARED {
        return;
    }
    let without = |left_out: &str| {
        let mut document = original.clone();
        for change @ (field, value) in &changes.set {
            if !is_of(change, left_out) {
                document.set_text(field, value).ok()?;
            }
        }
        for text in &changes.sweep {
            document.sweep_text(text).ok()?;
        }
        complete(&mut document, changes, chosen);
        if let Some(seeds) = seeds {
            document.set("seeds", seeds).ok()?;
        }
        document.study(&Plugins::new()).ok()
    };
    for (i, (field, value)) in changes.set.iter().enumerate() {
        // Which is said already.
        let is_last = !changes.set[i + 1..].iter().any(|later| is_of(later, field));
        if !is_last || !without(field).is_some_and(|before| study.runs_as(&before, |label| chosen.has(label)))
        {
            continue;
        }
        let label = field.strip_prefix("aqm.").and_then(|rest| rest.split(['.', '[']).next());
        let why = match label.filter(|label| !chosen.has(label)) {
            Some(label) => format!("{} is not among the algorithms of --aqm", cut(label)),
            None => "every run is the same without it (the value is that of the file or the default, or nothing reads it)"
                .to_string(),
        };
        terminal::note(&format!("{} has no effect: {why}", set_option(field, value)));
    }
}

fn list_of(seeds: &[u64]) -> Result<toml::Value, Failure> {
    let number = |seed: &u64| {
        let n = i64::try_from(*seed);
        n.map(toml::Value::Integer)
            .map_err(|_| bad_input!("seed {seed} is too large: scenario files hold seeds up to {}", i64::MAX))
    };
    Ok(toml::Value::Array(seeds.iter().map(number).collect::<Result<_, _>>()?))
}

/// The cache that a run uses. The plain engine is for checking the other: it computes.
fn cache_of(args: &CacheUse, engine: EngineChoice) -> Option<Cache> {
    let cached = !args.no_cache && engine == EngineChoice::Fast;
    if cached { cache(&args.dir) } else { None }
}

/// Refuses a run that has no room, before it begins; `results` is where its results go, if they are kept.
pub fn check_space(study: &Study, args: &SimulationArgs, results: Option<&Path>) -> Result<(), Failure> {
    let cache = cache_of(&args.cache, args.engine);
    let options = Options { cache: cache.as_ref(), series: series(args.series), ..Options::default() };
    let free = cache.as_ref().and_then(|cache| quell_lab::free_space(cache.dir()));
    let needed = quell_lab::space(study, &options, free.unwrap_or(u64::MAX));
    let check = |folder: &Path, bytes: u64, elsewhere: &str| match quell_lab::free_space(folder) {
        Some(free) if free < bytes => Err(bad_input!(
            "{}: needs at least {} of disk space, but {} is free; free some space, choose another disk with \
             {elsewhere}, or keep no time series (--series none)",
            quell_files::name(folder),
            terminal::size(bytes),
            terminal::size(free)
        )),
        _ => Ok(()),
    };
    // Whether both are on one disk is not known; that nothing fits on one is.
    if let Some(cache) = &cache {
        check(cache.dir(), needed.cache, "--cache (or use none: --no-cache)")?;
    }
    results.map_or(Ok(()), |folder| check(folder, needed.results, "--out"))
}

/// Runs a study, with progress on stderr, until it is done or interrupted; if `finished`, runs nothing but takes
/// what the cache has.
pub fn run(
    study: &Study,
    args: &SimulationArgs,
    (auto, tracing, finished): (Option<&Auto>, Option<&Tracing>, bool),
    line: Vec<String>,
) -> Result<Results, Failure> {
    let watch = Watch { engine: args.engine, ..Watch::new(args.quiet) };
    let mut watch = watch.with_threads(args.threads).with_cache(&args.cache).with_series(series(args.series));
    if finished {
        watch.reuse = Reuse::Only;
    }
    let results = watch.attend((0, 1), line, |options| match auto {
        Some(auto) => quell_lab::run_auto(study, auto, options),
        None => quell_lab::run(study, &Options { trace: tracing, ..options.clone() }),
    });
    watch.finish();
    let results = results?;
    if finished {
        return match results.replications.is_empty() {
            true => Err(bad_input!("--finished: the cache has no replications of this scenario")),
            false => Ok(results),
        };
    }
    let (of, reused) = (results.replications.len(), results.run.reused);
    if let (Some(cache), 1.., false) = (&watch.cache, reused, args.quiet) {
        terminal::note(&format!(
            "{reused} of {of} replications are from the cache ({}); use --fresh to run them again",
            quell_files::name(cache.dir())
        ));
    }
    if let (Some(_), Some(share)) = (&watch.cache, args.cache.verify) {
        terminal::note(&match results.run.verified {
            0 => format!(
                "--verify: none of {reused} cached replications fell into the {}% sample",
                share * 100.0
            ),
            1 => {
                format!("--verify: 1 of {reused} cached replications was rerun and is the same")
            }
            n => format!("--verify: {n} of {reused} cached replications were rerun, and all are the same"),
        });
    }
    if results.replications.is_empty() {
        return Err(Failure::Interrupted("no replication finished; nothing was written".to_string()));
    }
    Ok(results)
}

/// The replications whose time series are kept.
pub fn series(choice: SeriesChoice) -> Series {
    match choice {
        SeriesChoice::Drawn => Series::Drawn,
        SeriesChoice::All => Series::All,
        SeriesChoice::None => Series::None,
    }
}

/// What becomes of the replications that the cache has.
pub fn reuse(args: &CacheUse) -> Reuse {
    match (args.fresh, args.verify) {
        (true, _) => Reuse::No,
        (false, Some(share)) => Reuse::Verify(share),
        (false, None) => Reuse::Yes,
    }
}

/// The failure for a missing cache where one is needed.
pub fn no_cache() -> Failure {
    bad_input!("no cache is set: name a folder with --cache DIR or QUELL_CACHE")
}

/// The cache that the command line names, or the user's. `None`: neither is there.
pub fn cache(dir: &CacheDir) -> Option<Cache> {
    dir.cache.clone().or_else(Cache::default_dir).map(Cache::at)
}

/// Runs studies one after the other under one progress bar.
pub struct Watch {
    threads: Option<usize>,
    engine: EngineChoice,
    cache: Option<Cache>,
    reuse: Reuse,
    series: Series,
    meter: Meter,
    since: Instant,
    stop: &'static AtomicBool,
    said: AtomicBool,
    /// The most replications that [`Watch::run_after`] has shown as finished.
    #[cfg(feature = "all")]
    furthest: AtomicUsize,
}

impl Watch {
    /// Ready to run; a quiet one shows no progress.
    pub fn new(quiet: bool) -> Self {
        Watch {
            threads: None,
            engine: EngineChoice::Fast,
            cache: None,
            reuse: Reuse::Yes,
            // What is not kept is looked at whole.
            series: Series::All,
            meter: Meter::new(quiet),
            since: Instant::now(),
            stop: interrupt::listen(),
            said: AtomicBool::new(false),
            #[cfg(feature = "all")]
            furthest: AtomicUsize::new(0),
        }
    }

    /// Ready to run as the command line says.
    pub fn of(args: &WatchArgs) -> Self {
        Watch::new(args.quiet).with_threads(args.threads).with_cache(&args.cache)
    }

    /// The same with threads of its own number.
    pub fn with_threads(self, threads: Option<u16>) -> Self {
        Watch { threads: threads.map(usize::from), ..self }
    }

    /// The same with a cache, used as the command line says.
    pub fn with_cache(self, args: &CacheUse) -> Self {
        Watch { cache: cache_of(args, self.engine), reuse: reuse(args), ..self }
    }

    /// The same with other time series.
    pub fn with_series(self, series: Series) -> Self {
        Watch { series, ..self }
    }

    /// Runs number `i` of `n` studies that take about as long as each other.
    #[cfg(feature = "theory")]
    pub fn run(&self, study: &Study, (i, n): (usize, usize), line: Vec<String>) -> Result<Results, Failure> {
        Ok(self.attend((i, n), line, |options| quell_lab::run(study, options))?)
    }

    /// Does number `i` of `n` pieces of work that take about as long as each other.
    pub fn attend<T>(
        &self,
        (i, n): (usize, usize),
        line: Vec<String>,
        work: impl FnOnce(&Options<'_>) -> T,
    ) -> T {
        let share = |part: &Progress, elapsed: Duration| {
            let done = (i as f64 + part.done) / n as f64;
            let left = part
                .left
                .filter(|_| n == 1)
                .or_else(|| (n > 1 && done > 0.0).then(|| elapsed.mul_f64((1.0 - done).max(0.0) / done)));
            let (finished, total) = (i * part.total + part.finished, n * part.total);
            Progress { done, finished, total, elapsed, left }
        };
        self.shown(share, line, work)
    }

    /// Runs a study whose replications come after `before` others of `all`. What runs again moves no bar back.
    #[cfg(feature = "all")]
    pub fn run_after(
        &self,
        study: &Study,
        (before, all): (usize, usize),
        line: Vec<String>,
    ) -> Result<Results, Failure> {
        let share = |part: &Progress, elapsed: Duration| {
            let finished = before + part.finished;
            let finished = self.furthest.fetch_max(finished, Ordering::Relaxed).max(finished).min(all);
            let done = finished as f64 / all as f64;
            let left = (finished > 0).then(|| elapsed.mul_f64((1.0 - done) / done));
            Progress { done, finished, total: all, elapsed, left }
        };
        Ok(self.shown(share, line, |options| quell_lab::run(study, options))?)
    }

    /// Does work whose progress is a share of all.
    fn shown<T>(
        &self,
        share: impl Fn(&Progress, Duration) -> Progress + Sync,
        line: Vec<String>,
        work: impl FnOnce(&Options<'_>) -> T,
    ) -> T {
        let progress = |part: &Progress| {
            if self.stop.load(Ordering::Relaxed) && !self.said.swap(true, Ordering::Relaxed) {
                self.meter
                    .note("stopping; finished replications are kept (press Ctrl-C again to quit at once)");
            }
            self.meter.show(&share(part, self.since.elapsed()));
        };
        let warn = |why: &str| self.meter.note(&format!("warning: {why}"));
        let options = Options {
            cache: self.cache.as_ref(),
            reuse: self.reuse,
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
        work(&options)
    }

    /// The flag that an interruption sets.
    pub fn stop(&self) -> &'static AtomicBool {
        self.stop
    }

    /// True if there was an interruption.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.meter.finish();
    }
}

/// Refuses a link or a class that the study does not have, before anything runs.
pub fn check_view(selection: &Selection, study: &Study) -> Result<(), Failure> {
    let links: Vec<String> = study.points.iter().flat_map(quell_scenario::Point::links).collect();
    selection.check_link(links.iter().map(String::as_str))?;
    let refuse = |why| bad_input!("metric {why}");
    let check = |figure| quell_lab::check_class(figure, study).map_err(refuse);
    selection.asked_metrics().unwrap_or_default().iter().try_for_each(check)
}
