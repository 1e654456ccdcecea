//! Running a study: every algorithm with every seed at every point, over all cores.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use quell_scenario::{Identity, Plugins, Point, Study};
use quell_sim::{Control, Engine, IdleCores};
use sha2::{Digest, Sha256};

use crate::cache::{About, Cache, Hit, Indexed, Key, Lookup, Syncer};
use crate::reduce;
use crate::results::{PointInfo, Replication, Results, RunInfo};
use crate::table;

/// Surrounds all the work that a thread does in a run; must call what it is given, once.
pub type Surround = Arc<dyn Fn(&(dyn Fn() + Sync)) + Send + Sync>;

/// Of which replications the time series are kept, which take more room than all else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Series {
    /// Of those that a report can draw: the first seeds of every algorithm at every point, at least one and
    /// at most ten, about [`DRAWN`] in all.
    #[default]
    Drawn,
    /// Of all.
    All,
    /// Of none.
    None,
}

/// How many replications have time series, unless every one has or that is less than one per algorithm.
pub const DRAWN: usize = 100;

/// How to run a study.
#[derive(Clone, Default)]
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
    /// Runs nothing: the results hold what the cache has, and are marked partial unless that is all.
    pub finished: bool,
    /// The share of the replications from the cache that are run again; one that differs is an error.
    pub verify: f64,
    /// Told what goes wrong without stopping the run.
    pub warn: Option<&'a (dyn Fn(&str) + Sync)>,
    /// Of which replications the time series are kept.
    pub series: Series,
    /// The command to record in `run.json`, word by word.
    pub command: Vec<String>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Share of the work that is done, unfinished replications included: of the packets that they handle, roughly.
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
    /// What decides about the seeds is not among what was measured; says what is.
    Lacks(String),
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
            RunError::Lacks(why) => write!(f, "metric {why}"),
            RunError::Threads(why) => write!(f, "cannot start threads: {why}"),
        }
    }
}

impl std::error::Error for RunError {}

/// One replication to run.
pub(crate) struct Job<'a> {
    pub(crate) point: usize,
    pub(crate) spec: &'a Point,
    pub(crate) aqm: usize,
    pub(crate) seed: u64,
    seed_index: usize,
    /// What it costs, beside the others: the packets that it handles, roughly.
    weight: f64,
    /// Whether its time series are kept.
    pub(crate) series: bool,
    /// Under which a cache has it, when that was asked for; none without a cache.
    kept: Option<Arc<OnceLock<Option<Kept>>>>,
    control: Control,
    over: AtomicBool,
}

/// What the replications of one algorithm at one point share in a cache.
pub(crate) struct Kept {
    pub(crate) identity: Identity,
    about: About,
}

/// A replication that is finished.
pub(crate) struct Finished {
    pub(crate) replication: Replication,
    /// It was in the cache.
    pub(crate) reused: bool,
    /// It was run again, and was the same.
    verified: bool,
    /// It was put into the cache, under this key.
    pub(crate) put: Option<Key>,
}

impl Job<'_> {
    pub(crate) fn label(&self) -> &str {
        self.spec.scenario.aqm[self.aqm].label()
    }

    /// What identifies it, but for its seed; none if it cannot be kept. It is found out when it is needed: a
    /// study may have thousands of points, and be stopped.
    pub(crate) fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()?.get_or_init(|| kept(self.spec, self.aqm)).as_ref()
    }

    /// Its key; none if it cannot be kept.
    pub(crate) fn key(&self) -> Option<Key> {
        Key::new(&self.kept()?.identity, self.seed).ok()
    }

    fn duration_ns(&self) -> u64 {
        self.spec.scenario.duration.nanos()
    }

    /// How much of its weight is done.
    fn done(&self) -> f64 {
        if self.over.load(Ordering::Relaxed) {
            return self.weight;
        }
        let simulated = self.control.progress_ns.load(Ordering::Relaxed) as f64;
        self.weight * (simulated / self.duration_ns().max(1) as f64).min(1.0)
    }
}

/// Runs every replication of `study`.
///
/// If it is stopped, the results hold what was finished and are marked partial.
///
/// # Errors
/// If a replication cannot be run; names one.
pub fn run(study: &Study, options: &Options<'_>) -> Result<Results, RunError> {
    let whole = OnceLock::new();
    run_in_parts(study, options, std::slice::from_ref(&(0..study.points.len())), &|_, results| {
        // There is one part.
        let _ = whole.set(results);
    })?;
    whole.into_inner().ok_or_else(|| RunError::Threads("no results".to_string()))
}

/// Told the number of a part, and its results.
pub type Take<'a> = dyn Fn(usize, Results) + Sync + 'a;

/// Runs every replication of `study`, and hands over the results of parts of it, ranges of points that follow each
/// other: each part as soon as its last replication is finished, while the others go on. What is handed over is
/// not kept here. The points of a part's results are counted from its first.
///
/// If it is stopped, the parts that are not finished are handed over last, and are marked partial.
///
/// # Errors
/// If a replication cannot be run; names one.
pub fn run_in_parts(
    study: &Study,
    options: &Options<'_>,
    parts: &[Range<usize>],
    take: &Take<'_>,
) -> Result<(), RunError> {
    let (started, clock) = (std::time::SystemTime::now(), Instant::now());
    let mut jobs = jobs(study, options, options.cache.is_some());
    // All algorithms meet one seed before any meets the next, so that a run that is stopped has pairs to
    // compare.
    jobs.sort_by_key(|job| (job.point, job.seed_index, job.aqm));
    let infos: Vec<OnceLock<PointInfo>> = study.points.iter().map(|_| OnceLock::new()).collect();
    let info = |point: usize| infos[point].get_or_init(|| PointInfo::of(&study.points[point]));
    let part_of = |point: usize| parts.partition_point(|part| part.end <= point);
    let mut asked = vec![0; parts.len()];
    jobs.iter().for_each(|job| asked[part_of(job.point)] += 1);
    // None once it was handed over.
    type Waiting = Mutex<Option<Vec<(usize, Finished)>>>;
    let waiting: Vec<Waiting> = parts.iter().map(|_| Mutex::new(Some(Vec::new()))).collect();
    let hand_over = |part: usize, mut finished: Vec<(usize, Finished)>| {
        finished.sort_by_key(|(at, _)| {
            let job = &jobs[*at];
            (job.point, job.aqm, job.seed_index)
        });
        let partial = finished.len() < asked[part];
        // Who stopped it does not wait for the index: it is brought up to date when somebody asks for it.
        if let Some(cache) = options.cache.filter(|_| !partial) {
            let new = finished.iter().filter_map(|(at, f)| {
                let about = &jobs[*at].kept()?.about;
                Some(Indexed { key: f.put?, about, replication: &f.replication })
            });
            if let Err(error) = cache.add_to_index(&new.collect::<Vec<_>>()) {
                warn(options, &error.to_string());
            }
        }
        let reused = finished.iter().filter(|(_, f)| f.reused).count();
        let verified = finished.iter().filter(|(_, f)| f.verified).count();
        let kept = finished.iter().all(|(_, f)| f.reused || f.put.is_some());
        let first = parts[part].start;
        let own = |f: Finished| Replication { point: f.replication.point - first, ..f.replication };
        let replications: Vec<Replication> = finished.into_iter().map(|(_, f)| own(f)).collect();
        let run = RunInfo {
            schema: 1,
            version: env!("CARGO_PKG_VERSION").to_string(),
            title: study.title().to_string(),
            started: humantime::format_rfc3339_nanos(started).to_string(),
            elapsed_s: clock.elapsed().as_secs_f64(),
            command: options.command.clone(),
            scenario_file: study.name().to_string(),
            scenario_text: study.text().map(str::to_string),
            live: false,
            points: parts[part].clone().map(|point| info(point).clone()).collect(),
            holes: study.holes.clone(),
            partial,
            reused,
            verified,
            kept,
            sequential: Vec::new(),
            digest: digest(&replications),
            files: Vec::new(),
            sha256: String::new(),
        };
        take(part, Results { run, replications });
    };
    let failed = OnceLock::new();
    // What is told of the points does not depend on what they find: nobody waits for it after Ctrl-C.
    std::thread::scope(|scope| {
        scope.spawn(|| (0..infos.len()).for_each(|point| _ = info(point)));
        execute(&jobs, options, &|at, outcome| {
            let part = part_of(jobs[at].point);
            let finished = match outcome {
                Ok(finished) => finished,
                Err(error) => {
                    // The first is as good as any other.
                    let _ = failed.set(error);
                    return false;
                }
            };
            let whole = {
                let mut waiting = waiting[part].lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(own) = waiting.as_mut() {
                    own.push((at, finished));
                }
                waiting.take_if(|own| own.len() == asked[part])
            };
            if let Some(whole) = whole {
                hand_over(part, whole);
            }
            true
        })
    })?;
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    for (part, waiting) in waiting.into_iter().enumerate() {
        if let Some(rest) = waiting.into_inner().unwrap_or_else(PoisonError::into_inner) {
            hand_over(part, rest);
        }
    }
    Ok(())
}

/// The replications of a study, by point, algorithm and seed; `keep` says whether they are to have keys.
pub(crate) fn jobs<'a>(study: &'a Study, options: &Options<'_>, keep: bool) -> Vec<Job<'a>> {
    let algorithms: usize = study.points.iter().map(|point| point.scenario.aqm.len()).sum();
    let drawn = match options.series {
        Series::Drawn => (DRAWN / algorithms.max(1)).clamp(1, 10),
        Series::All => usize::MAX,
        Series::None => 0,
    };
    let mut jobs = Vec::new();
    let idle = Arc::new(IdleCores::default());
    for (point, spec) in study.points.iter().enumerate() {
        let weight = spec.estimated_packets();
        for aqm in 0..spec.scenario.aqm.len() {
            let kept = keep.then(Arc::default);
            for (seed_index, seed) in spec.scenario.seeds.list().into_iter().enumerate() {
                let (series, kept) = (seed_index < drawn, kept.clone());
                let control = Control { idle: Arc::clone(&idle), ..Control::default() };
                let over = AtomicBool::new(false);
                jobs.push(Job { point, spec, aqm, seed, seed_index, weight, series, kept, control, over });
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
        algorithm: point.scenario.aqm[aqm].algorithm.clone(),
        scenario: identity.text.clone(),
        version: env!("CARGO_PKG_VERSION").to_string(),
    };
    Some(Kept { identity, about })
}

/// Is told what became of the job of a number; false lets no other begin.
pub(crate) type Done<'a> = dyn Fn(usize, Result<Finished, RunError>) -> bool + Sync + 'a;

/// Runs jobs on all threads, each taking the next as it becomes free, and tells `done` of each that is not
/// stopped.
pub(crate) fn execute(jobs: &[Job<'_>], options: &Options<'_>, done: &Done<'_>) -> Result<(), RunError> {
    let clock = Instant::now();
    let keeps = Keeps { syncer: options.cache.map(|_| Syncer::start()), full: AtomicBool::new(false) };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads.unwrap_or(0))
        .build()
        .map_err(|e| RunError::Threads(e.to_string()))?;
    let (next, failed, over) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicBool::new(false));
    let stopped = || options.stop.is_some_and(|s| s.load(Ordering::Relaxed));
    let work = || {
        while !stopped() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(at).filter(|_| !failed.load(Ordering::Relaxed)) else {
                // The replications that still run may use the core.
                return jobs.iter().take(1).for_each(|job| job.control.idle.add(1));
            };
            if let Some(outcome) = from_cache_or(job, options, &keeps) {
                job.over.store(true, Ordering::Relaxed);
                failed.fetch_or(!done(at, outcome), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(jobs, options, &clock, &over));
        pool.broadcast(|_| match &options.surround {
            Some(surround) => surround(&work),
            None => work(),
        });
        over.store(true, Ordering::Release);
        watcher.thread().unpark();
    });
    Ok(())
}

/// What keeping replications needs.
struct Keeps {
    /// None without a cache.
    syncer: Option<Syncer>,
    /// An entry could not be written: the next ones are not tried.
    full: AtomicBool,
}

fn warn(options: &Options<'_>, why: &str) {
    if let Some(warn) = options.warn {
        warn(why);
    }
}

/// Finds a replication in the cache, or runs and keeps it; none if it was stopped.
fn from_cache_or(job: &Job<'_>, options: &Options<'_>, keeps: &Keeps) -> Option<Result<Finished, RunError>> {
    let (Some(cache), Some(kept), Some(key)) = (options.cache, job.kept(), job.key()) else {
        if options.finished {
            return None;
        }
        let outcome = replicate(job, options)?;
        return Some(outcome.map(|replication| Finished {
            replication,
            reused: false,
            verified: false,
            put: None,
        }));
    };
    if let Some(found) = look_up(job, options, cache, &key) {
        let verified = is_sampled(&key, options.verify);
        if verified {
            let again = match replicate(job, options)? {
                Ok(again) => again,
                Err(error) => return Some(Err(error)),
            };
            // What cannot be compared is not the same.
            let same = matches!((table::found(&found), table::found(&again)), (Ok(a), Ok(b)) if a == b);
            if !same {
                let (point, algorithm) = (job.spec.title(), job.label().to_string());
                return Some(Err(RunError::Differs { point, algorithm, seed: job.seed, key }));
            }
        }
        return Some(Ok(Finished { replication: found, reused: true, verified, put: None }));
    }
    if options.finished {
        return None;
    }
    let replication = match replicate(job, options)? {
        Ok(replication) => replication,
        Err(error) => return Some(Err(error)),
    };
    let hit = Hit { replication, series: job.series, about: kept.about.clone() };
    let put = match keeps.full.load(Ordering::Relaxed) {
        true => None,
        false => match cache.put(&key, &hit) {
            Ok(path) => {
                keeps.syncer.iter().for_each(|syncer| syncer.sync(path.clone()));
                Some(key)
            }
            Err(error) => {
                if !keeps.full.swap(true, Ordering::Relaxed) {
                    let what = "the run goes on, but what it finishes from here on is not kept";
                    warn(options, &format!("{error}; {what}"));
                }
                None
            }
        },
    };
    Some(Ok(Finished { replication: hit.replication, reused: false, verified: false, put }))
}

/// What the cache has of a job, as the job wants it.
fn look_up(job: &Job<'_>, options: &Options<'_>, cache: &Cache, key: &Key) -> Option<Replication> {
    if options.fresh {
        return None;
    }
    match cache.get(key) {
        // One that was kept without its time series is run again where they are wanted.
        Lookup::Hit(hit) if hit.series || !job.series => {
            let mut found = hit.replication;
            if !job.series {
                found.series.clear();
            }
            Some(Replication { point: job.point, algorithm: job.label().to_string(), ..found })
        }
        Lookup::Hit(_) | Lookup::Miss => None,
        Lookup::Damaged(error) => {
            warn(options, &format!("{error}; it is run again"));
            None
        }
    }
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
    let algorithm = job.label().to_string();
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
    let mut found = Replication {
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
        internal_means: Vec::new(),
        algorithm,
    };
    found.internal_means = reduce::internal_means(&found.metrics, &found.series);
    if !job.series {
        found.series.clear();
    }
    Some(Ok(found))
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
    let total: f64 = jobs.iter().map(|j| j.weight).sum();
    let report = || {
        let Some(progress) = options.progress else { return };
        let done = jobs.iter().map(Job::done).sum::<f64>();
        let done = if total > 0.0 { done / total } else { 1.0 };
        let elapsed = clock.elapsed();
        // Nothing sensible can be said from the first moments.
        let left = (done > 0.005).then(|| elapsed.mul_f64(((1.0 - done) / done).max(0.0)));
        let finished = jobs.iter().filter(|j| j.over.load(Ordering::Relaxed)).count();
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

/// Depends on what was simulated and on nothing else.
pub(crate) fn digest(replications: &[Replication]) -> String {
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
