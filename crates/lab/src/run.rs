//! Running a study: every algorithm with every seed at every point, over all cores.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use quell_scenario::{Identity, Plugins, Point, Study};
use quell_sim::{Control, Engine};
use sha2::{Digest, Sha256};

use crate::cache::{About, Cache, Key, Lookup, Syncer};
use crate::reduce;
use crate::results::{PointInfo, Replication, Results, RunInfo};
use crate::table;

/// Surrounds all the work that a thread does in a run; must call what it is given, once.
pub type Surround = Arc<dyn Fn(&(dyn Fn() + Sync)) + Send + Sync>;

/// How to run a study.
#[derive(Default)]
pub struct Options<'a> {
    /// How many threads; none for one per core.
    pub threads: Option<usize>,
    /// Which engine.
    pub engine: Engine,
    /// Algorithms from outside the catalog.
    pub plugins: Plugins,
    /// Prepares each thread for the algorithms, once rather than at each of their calls.
    pub surround: Option<Surround>,
    /// Called a few times a second, from a thread of its own, and once at the end.
    pub progress: Option<&'a (dyn Fn(&Progress) + Sync)>,
    /// Set from outside to stop; finished replications are kept.
    pub stop: Option<&'a AtomicBool>,
    /// Where replications are kept as they finish, and looked up before they are run; none: nowhere.
    pub cache: Option<&'a Cache>,
    /// Runs every replication, whatever the cache has.
    pub fresh: bool,
    /// The share of the replications from the cache that are run again; one that differs is an error.
    pub verify: f64,
    /// Told what goes wrong without stopping the run.
    pub warn: Option<&'a (dyn Fn(&str) + Sync)>,
    /// The command to record in `run.json`, word by word.
    pub command: Vec<String>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Share of the simulated time that is done, unfinished replications included.
    pub done: f64,
    /// Finished replications.
    pub finished: usize,
    /// All replications.
    pub total: usize,
    /// Time since the beginning.
    pub elapsed: Duration,
    /// Estimated time to the end; none while nothing is known.
    pub left: Option<Duration>,
}

/// Why a run gave no results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A replication could not be run; says which and why.
    Failed {
        /// The point's title; may be empty.
        point: String,
        /// The algorithm's label.
        algorithm: String,
        /// The seed.
        seed: u64,
        /// Why.
        why: String,
    },
    /// A replication that was kept differs from what the engine computes now.
    Differs {
        /// The point's title; may be empty.
        point: String,
        /// The algorithm's label.
        algorithm: String,
        /// The seed.
        seed: u64,
        /// The entry's key.
        key: Key,
    },
    /// The threads could not be started.
    Threads(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Failed { point, algorithm, seed, why } => {
                let comma = if point.is_empty() { "" } else { ", " };
                write!(f, "{algorithm} with seed {seed}{comma}{point}: {why}")
            }
            RunError::Differs { point, algorithm, seed, key } => {
                let comma = if point.is_empty() { "" } else { ", " };
                write!(
                    f,
                    "{algorithm} with seed {seed}{comma}{point}: the cache's entry {key} differs from what was \
                     computed now; --fresh computes everything again"
                )
            }
            RunError::Threads(why) => write!(f, "cannot start threads: {why}"),
        }
    }
}

impl std::error::Error for RunError {}

/// One replication to run.
struct Job<'a> {
    point: usize,
    spec: &'a Point,
    aqm: usize,
    seed: u64,
    seed_index: usize,
    /// Under which a cache has it; none if it cannot be kept.
    kept: Option<Arc<Kept>>,
    control: Control,
    outcome: OnceLock<Result<Replication, RunError>>,
}

/// What the replications of one algorithm at one point share in a cache.
struct Kept {
    identity: Identity,
    about: About,
}

impl Job<'_> {
    fn duration_ns(&self) -> u64 {
        self.spec.scenario.duration.nanos()
    }

    /// Simulated time that is done.
    fn done_ns(&self) -> u64 {
        match self.outcome.get().is_some() {
            true => self.duration_ns(),
            false => self.control.progress_ns.load(Ordering::Relaxed).min(self.duration_ns()),
        }
    }
}

/// Runs every replication of `study`.
///
/// If it is stopped, the results hold what was finished and are marked partial.
///
/// # Errors
/// If a replication cannot be run; names one.
pub fn run(study: &Study, options: &Options<'_>) -> Result<Results, RunError> {
    let started = std::time::SystemTime::now();
    let clock = Instant::now();
    let jobs = jobs(study, options);
    let syncer = options.cache.map(|_| Syncer::start());
    let reused = AtomicUsize::new(0);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads.unwrap_or(0))
        .build()
        .map_err(|e| RunError::Threads(e.to_string()))?;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&jobs, options, &clock, &over));
        replicate_all(
            &jobs,
            options,
            &pool,
            &Keeps { syncer: syncer.as_ref(), full: AtomicBool::new(false), reused: &reused },
        );
        over.store(true, Ordering::Release);
        watcher.thread().unpark();
    });
    drop(syncer);
    let asked = jobs.len();
    let outcomes = jobs.into_iter().filter_map(|job| job.outcome.into_inner());
    let replications = outcomes.collect::<Result<Vec<_>, _>>()?;
    let partial = replications.len() < asked;
    let run = RunInfo {
        schema: 1,
        version: env!("CARGO_PKG_VERSION").to_string(),
        title: study.title().to_string(),
        started: humantime::format_rfc3339_nanos(started).to_string(),
        elapsed_s: clock.elapsed().as_secs_f64(),
        command: options.command.clone(),
        scenario_file: study.name().to_string(),
        scenario_text: study.text().map(str::to_string),
        points: study.points.iter().map(point_info).collect(),
        holes: study.holes.clone(),
        partial,
        reused: reused.into_inner(),
        digest: digest(&replications),
        files: Vec::new(),
    };
    Ok(Results { run, replications })
}

fn jobs<'a>(study: &'a Study, options: &Options<'_>) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    for (point, spec) in study.points.iter().enumerate() {
        for aqm in 0..spec.scenario.aqm.len() {
            let kept = options.cache.and_then(|_| kept(spec, aqm)).map(Arc::new);
            for (seed_index, seed) in spec.scenario.seeds.list().into_iter().enumerate() {
                let (control, outcome) = (Control::default(), OnceLock::new());
                jobs.push(Job { point, spec, aqm, seed, seed_index, kept: kept.clone(), control, outcome });
            }
        }
    }
    jobs
}

fn kept(point: &Point, aqm: usize) -> Option<Kept> {
    let identity = point.identity(aqm)?;
    let about = About {
        title: point.scenario.title.clone(),
        point: point.title(),
        scenario: identity.text.clone(),
        version: env!("CARGO_PKG_VERSION").to_string(),
    };
    Some(Kept { identity, about })
}

/// Runs the jobs on all threads, each taking the next as it becomes free. All algorithms meet one
/// seed before any meets the next, so that a run that is stopped has pairs to compare.
fn replicate_all(jobs: &[Job<'_>], options: &Options<'_>, pool: &rayon::ThreadPool, keeps: &Keeps<'_>) {
    let mut order: Vec<&Job<'_>> = jobs.iter().collect();
    order.sort_by_key(|job| (job.point, job.seed_index, job.aqm));
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let work = || {
        while let Some(job) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failed.load(Ordering::Relaxed) {
                return; // The others would run for nothing.
            }
            if let Some(outcome) = from_cache_or(job, options, keeps) {
                failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
                // Each job is taken once, so its cell is empty.
                let _ = job.outcome.set(outcome);
            }
        }
    };
    pool.broadcast(|_| match &options.surround {
        Some(surround) => surround(&work),
        None => work(),
    });
}

/// What keeping replications needs.
struct Keeps<'a> {
    /// None without a cache.
    syncer: Option<&'a Syncer>,
    /// An entry could not be written: the next ones are not tried.
    full: AtomicBool,
    /// How many replications were found.
    reused: &'a AtomicUsize,
}

/// Finds a replication in the cache, or runs and keeps it; none if it was stopped.
fn from_cache_or(
    job: &Job<'_>,
    options: &Options<'_>,
    keeps: &Keeps<'_>,
) -> Option<Result<Replication, RunError>> {
    let (Some(cache), Some(kept)) = (options.cache, &job.kept) else { return replicate(job, options) };
    let warn = |why: &str| options.warn.iter().for_each(|warn| warn(why));
    let key = match Key::new(&kept.identity, job.seed) {
        Ok(key) => key,
        // It cannot be kept, but run.
        Err(_) => return replicate(job, options),
    };
    let label = job.spec.scenario.aqm[job.aqm].label();
    let found = match options.fresh {
        true => None,
        false => match cache.get(&key) {
            Lookup::Hit(found) => {
                Some(Replication { point: job.point, algorithm: label.to_string(), ..*found })
            }
            Lookup::Miss => None,
            Lookup::Damaged(error) => {
                warn(&format!("{error}; it is run again"));
                None
            }
        },
    };
    if let Some(found) = found {
        if is_sampled(&key, options.verify) {
            let again = match replicate(job, options)? {
                Ok(again) => again,
                Err(error) => return Some(Err(error)),
            };
            // What cannot be compared is not the same.
            let same = matches!((table::found(&found), table::found(&again)), (Ok(a), Ok(b)) if a == b);
            if !same {
                let (point, algorithm) = (job.spec.title(), label.to_string());
                return Some(Err(RunError::Differs { point, algorithm, seed: job.seed, key }));
            }
        }
        keeps.reused.fetch_add(1, Ordering::Relaxed);
        return Some(Ok(found));
    }
    let outcome = replicate(job, options)?;
    if let (Ok(replication), false) = (&outcome, keeps.full.load(Ordering::Relaxed)) {
        match cache.put(&key, replication, &kept.about) {
            Ok(path) => {
                if let Some(syncer) = keeps.syncer {
                    syncer.sync(path);
                }
            }
            Err(error) if !keeps.full.swap(true, Ordering::Relaxed) => {
                warn(&format!("{error}; the run goes on, but what it finishes from here on is not kept"));
            }
            Err(_) => {}
        }
    }
    Some(outcome)
}

/// Whether a replication belongs to a sample of this share of all.
fn is_sampled(key: &Key, share: f64) -> bool {
    key.position() < share
}

/// Runs one replication; none if it was stopped.
fn replicate(job: &Job<'_>, options: &Options<'_>) -> Option<Result<Replication, RunError>> {
    let stopped = || options.stop.is_some_and(|s| s.load(Ordering::Relaxed));
    if stopped() {
        return None;
    }
    let clock = Instant::now();
    // A plug-in may panic: that must not take the other replications' results along unnamed.
    let result = catch_unwind(AssertUnwindSafe(|| {
        let plan = job.spec.plan(job.aqm, job.seed, &options.plugins).map_err(|e| e.to_string())?;
        let facts = plan.facts;
        match quell_sim::run(plan.network, options.engine, &job.control) {
            Ok(outcome) => Ok(Some((facts, outcome))),
            Err(quell_sim::Error::Interrupted) => Ok(None),
            Err(e) => Err(e.to_string()),
        }
    }));
    let algorithm = job.spec.scenario.aqm[job.aqm].label().to_string();
    let fail =
        |why| RunError::Failed { point: job.spec.title(), algorithm: algorithm.clone(), seed: job.seed, why };
    let outcome = match result {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(why)) => return Some(Err(fail(why))),
        Err(panic) => return Some(Err(fail(format!("it panicked: {}", panic_message(&*panic))))),
    };
    let (facts, outcome) = outcome?;
    let measured = job.spec.measure();
    let window = (measured.warmup, measured.end);
    Some(Ok(Replication {
        point: job.point,
        seed: job.seed,
        digest: outcome.digest,
        events: outcome.events,
        elapsed_s: clock.elapsed().as_secs_f64(),
        metrics: reduce::metrics(&facts, &outcome),
        flows: reduce::flows(&facts, &outcome, window),
        transfers: reduce::transfers(&facts, &outcome),
        delays: reduce::delays(&facts, &outcome),
        series: reduce::series(&facts, outcome),
        algorithm,
    }))
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// Reports progress and passes a stop on to the replications that run, until all is over.
fn watch(jobs: &[Job<'_>], options: &Options<'_>, clock: &Instant, over: &AtomicBool) {
    let total_ns: f64 = jobs.iter().map(|j| j.duration_ns() as f64).sum();
    let report = || {
        let Some(progress) = options.progress else { return };
        let done_ns: f64 = jobs.iter().map(|j| j.done_ns() as f64).sum();
        let done = if total_ns > 0.0 { done_ns / total_ns } else { 1.0 };
        let elapsed = clock.elapsed();
        // Nothing sensible can be said from the first moments.
        let left = (done > 0.005).then(|| elapsed.mul_f64(((1.0 - done) / done).max(0.0)));
        let finished = jobs.iter().filter(|j| j.outcome.get().is_some()).count();
        progress(&Progress { done, finished, total: jobs.len(), elapsed, left });
    };
    while !over.load(Ordering::Acquire) {
        if options.stop.is_some_and(|s| s.load(Ordering::Relaxed)) {
            jobs.iter().for_each(|j| j.control.stop.store(true, Ordering::Relaxed));
        }
        report();
        std::thread::park_timeout(Duration::from_millis(100));
    }
    report();
}

fn point_info(point: &Point) -> PointInfo {
    let scenario = &point.scenario;
    let measure = point.measure();
    PointInfo {
        settings: point.settings.clone(),
        scenario: scenario.to_toml(),
        algorithms: scenario.aqm.iter().map(|a| a.label().to_string()).collect(),
        seeds: scenario.seeds.list(),
        links: point.links(),
        classes: point.classes(),
        segments: measure.segments().iter().map(|(a, b)| (a.as_secs_f64(), b.as_secs_f64())).collect(),
    }
}

/// Depends on what was simulated and on nothing else.
fn digest(replications: &[Replication]) -> String {
    let mut hash = Sha256::new();
    for r in replications {
        hash.update(format!("{} {} {} {:016x}\n", r.point, r.algorithm, r.seed, r.digest));
    }
    hex(&hash.finalize())
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
