//! The replications of a study as jobs: taken from the cache or run, on all threads.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use quell_metrics::Replication;
use quell_scenario::{Identity, Point, Study};
use quell_sim::trace::TraceRequest;
use quell_sim::{Control, IdleCores};

use crate::cache::{About, Cache, Hit, Key, Lookup, Syncer};
use crate::options::{DRAWN, Options, Progress, Reuse, RunError, Series};
use crate::replicate::{Ended, bytes, replicate};

/// One replication to run.
pub(crate) struct Job<'a> {
    pub(crate) point: usize,
    pub(crate) spec: &'a Point,
    pub(crate) aqm: usize,
    pub(crate) seed: u64,
    pub(crate) seed_index: usize,
    /// Its cost beside the others: the packets that it handles, roughly.
    weight: f64,
    /// True if its time series are kept.
    pub(crate) series: bool,
    /// Its identity in a cache, once that was asked for; `None`: there is no cache.
    cached: Option<Arc<OnceLock<Option<Cached>>>>,
    control: Control,
    over: AtomicBool,
}

/// The identity that the replications of one algorithm at one point share in a cache.
pub(crate) struct Cached {
    pub(crate) identity: Identity,
    pub(crate) about: About,
}

/// A replication that is finished.
pub(crate) struct Finished {
    pub(crate) replication: Replication,
    /// It was in the cache.
    pub(crate) reused: bool,
    /// It was run again, and was the same.
    pub(crate) verified: bool,
    /// It was put into the cache, under this key.
    pub(crate) put: Option<Key>,
}

impl Job<'_> {
    pub(crate) fn label(&self) -> &str {
        self.spec.scenario.aqm[self.aqm].label()
    }

    /// Its identity without the seed; `None`: it cannot be kept. It is found out when it is needed: a
    /// study may have thousands of points, and be stopped.
    pub(crate) fn cached(&self) -> Option<&Cached> {
        self.cached.as_ref()?.get_or_init(|| cached(self.spec, self.aqm)).as_ref()
    }

    /// Its key; `None` if it cannot be kept.
    pub(crate) fn key(&self) -> Option<Key> {
        Key::new(&self.cached()?.identity, self.seed).ok()
    }

    /// Traces are kept of it.
    pub(crate) fn trace(&mut self, request: TraceRequest) {
        self.control.trace = Some(request);
    }

    fn duration_ns(&self) -> u64 {
        self.spec.scenario.duration.nanos()
    }

    /// The part of its weight that is done.
    fn done(&self) -> f64 {
        if self.over.load(Ordering::Relaxed) {
            return self.weight;
        }
        let simulated = self.control.progress_ns.load(Ordering::Relaxed) as f64;
        self.weight * (simulated / self.duration_ns().max(1) as f64).min(1.0)
    }
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
            let cached = keep.then(Arc::default);
            for (seed_index, seed) in spec.scenario.seeds.list().into_iter().enumerate() {
                let (series, cached) = (seed_index < drawn, cached.clone());
                let control = Control { idle: Arc::clone(&idle), ..Control::default() };
                let over = AtomicBool::new(false);
                jobs.push(Job { point, spec, aqm, seed, seed_index, weight, series, cached, control, over });
            }
        }
    }
    jobs
}

fn cached(point: &Point, aqm: usize) -> Option<Cached> {
    let identity = point.identity(aqm)?;
    let about = About {
        title: point.scenario.title.clone(),
        point: point.title(),
        algorithm: point.scenario.aqm[aqm].algorithm.clone(),
        scenario: identity.text.clone(),
        version: env!("CARGO_PKG_VERSION").to_string(),
    };
    Some(Cached { identity, about })
}

/// A listener to the outcome of the job of a number; a break lets no other begin.
pub(crate) type OnOutcome<'a> = dyn Fn(usize, Result<Finished, RunError>) -> ControlFlow<()> + Sync + 'a;

/// Runs jobs on all threads, each taking the next as it becomes free, and tells `done` of each that is not
/// stopped.
pub(crate) fn execute(jobs: &[Job<'_>], options: &Options<'_>, done: &OnOutcome<'_>) -> Result<(), RunError> {
    let clock = Instant::now();
    let keeps = Keeps { syncer: options.cache.map(|_| Syncer::start()), full: AtomicBool::new(false) };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads.unwrap_or(0))
        .build()
        .map_err(|e| RunError::Threads(e.to_string()))?;
    let (next, broken, over) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicBool::new(false));
    let work = || {
        while !options.is_stopped() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(at).filter(|_| !broken.load(Ordering::Relaxed)) else {
                // The replications that still run may use the core.
                return jobs.iter().take(1).for_each(|job| job.control.idle.add(1));
            };
            let outcome = match finish(job, options, &keeps) {
                Ok(finished) => Ok(as_asked(finished, options)),
                Err(Ended::Failed(error)) => Err(error),
                Err(Ended::Stopped) => continue,
            };
            job.over.store(true, Ordering::Relaxed);
            broken.fetch_or(done(at, outcome).is_break(), Ordering::Relaxed);
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

/// The state of keeping replications.
struct Keeps {
    /// The thread that syncs; `None`: there is no cache.
    syncer: Option<Syncer>,
    /// An entry could not be written: the next ones are not tried.
    full: AtomicBool,
}

/// What is handed over of a replication that is kept.
fn as_asked(mut finished: Finished, options: &Options<'_>) -> Finished {
    if options.without_flows {
        // Their room is given back as well.
        finished.replication.flows = Vec::new();
        finished.replication.transfers = Vec::new();
    }
    finished
}

/// Takes a replication from the cache, or runs and keeps it.
fn finish(job: &Job<'_>, options: &Options<'_>, keeps: &Keeps) -> Result<Finished, Ended<RunError>> {
    let fresh = |replication, put| Finished { replication, reused: false, verified: false, put };
    let (Some(cache), Some(cached), Some(key)) = (options.cache, job.cached(), job.key()) else {
        return Ok(fresh(simulate(job, options)?, None));
    };
    if let Some(replication) = look_up(job, options, cache, &key) {
        let verified = matches!(options.reuse, Reuse::Verify(share) if key.position() < share);
        // What cannot be compared is not the same.
        let same = |again| matches!((bytes(&replication), bytes(&again)), (Ok(a), Ok(b)) if a == b);
        if verified && !same(simulate(job, options)?) {
            let (point, algorithm) = (job.spec.title(), job.label().to_string());
            return Err(RunError::Differs { point, algorithm, seed: job.seed, key }.into());
        }
        return Ok(Finished { replication, reused: true, verified, put: None });
    }
    let replication = simulate(job, options)?;
    let hit = Hit { replication, series: job.series, about: cached.about.clone() };
    if keeps.full.load(Ordering::Relaxed) {
        return Ok(fresh(hit.replication, None));
    }
    match cache.put(&key, &hit) {
        Ok(path) => {
            keeps.syncer.iter().for_each(|syncer| syncer.sync(path.clone()));
            Ok(fresh(hit.replication, Some(key)))
        }
        Err(error) => {
            if !keeps.full.swap(true, Ordering::Relaxed) {
                let what = "the run goes on, but what it finishes from here on is not kept";
                options.warn(&format!("{error}; {what}"));
            }
            Ok(fresh(hit.replication, None))
        }
    }
}

/// Runs the replication of a job, as the job wants it.
fn simulate(job: &Job<'_>, options: &Options<'_>) -> Result<Replication, Ended<RunError>> {
    if options.is_stopped() || options.reuse == Reuse::Only {
        return Err(Ended::Stopped);
    }
    let with = (options.engine, &options.plugins);
    let traces = options.trace.map(|tracing| (tracing, job.point));
    let mut found =
        replicate(job.spec, job.aqm, job.seed, with, &job.control, traces).map_err(|ended| match ended {
            Ended::Stopped => Ended::Stopped,
            Ended::Failed(why) => {
                let (point, algorithm) = (job.spec.title(), job.label().to_string());
                Ended::Failed(RunError::Failed { point, algorithm, seed: job.seed, why })
            }
        })?;
    found.point = job.point;
    if !job.series {
        found.series.clear();
    }
    Ok(found)
}

/// The replication that the cache has of a job, as the job wants it.
fn look_up(job: &Job<'_>, options: &Options<'_>, cache: &Cache, key: &Key) -> Option<Replication> {
    if options.reuse == Reuse::No || job.control.trace.is_some() {
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
            options.warn(&format!("{error}; it is run again"));
            None
        }
    }
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
        if options.is_stopped() {
            jobs.iter().for_each(|j| j.control.stop.store(true, Ordering::Relaxed));
        }
        report();
        std::thread::park_timeout(Duration::from_millis(100));
    }
    report();
}
