//! Running a study: every algorithm with every seed at every point, over all cores.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use quell_metrics::{PointInfo, Replication, Results, RunInfo, digest};
use quell_scenario::{Point, Study, notes};

use crate::cache::Indexed;
use crate::commit::commit;
use crate::fingerprint::fingerprint;
use crate::jobs::{Finished, Job, execute, jobs};
use crate::options::{Options, RunError};

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

/// A listener to the number of a part and its results.
pub type OnPart<'a> = dyn Fn(usize, Results) + Sync + 'a;

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
    take: &OnPart<'_>,
) -> Result<(), RunError> {
    let (started, clock) = (std::time::SystemTime::now(), Instant::now());
    let mut jobs = jobs(study, options, options.cache.is_some());
    ask_for_traces(&mut jobs, options)?;
    // All algorithms meet one seed before any meets the next, so that a run that is stopped has pairs to
    // compare.
    jobs.sort_by_key(|job| (job.point, job.seed_index, job.aqm));
    let infos: Vec<OnceLock<PointInfo>> = study.points.iter().map(|_| OnceLock::new()).collect();
    let info = |point: usize| infos[point].get_or_init(|| PointInfo::of(&study.points[point]));
    // They are found while the first replications run, and mostly known from the keys of the cache.
    let engines: Vec<OnceLock<BTreeMap<String, String>>> = parts.iter().map(|_| OnceLock::new()).collect();
    let engine =
        |part: usize| engines[part].get_or_init(|| fingerprints(&study.points[parts[part].clone()])).clone();
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
                let about = &jobs[*at].cached()?.about;
                Some(Indexed { key: f.put?, about, replication: &f.replication })
            });
            if let Err(error) = cache.add_to_index(&new.collect::<Vec<_>>()) {
                options.warn(&error.to_string());
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
            commit: commit().to_string(),
            engine: engine(part),
            title: study.title().to_string(),
            started: humantime::format_rfc3339_nanos(started).to_string(),
            elapsed_s: clock.elapsed().as_secs_f64(),
            command: options.command.clone(),
            scenario_file: study.name().to_string(),
            scenario_text: study.text().map(str::to_string),
            points: parts[part].clone().map(|point| info(point).clone()).collect(),
            holes: study.holes.clone(),
            notes: notes(&study.points[parts[part].clone()]),
            partial,
            reused,
            verified,
            kept,
            digest: digest(&replications),
            ..RunInfo::default()
        };
        take(part, Results { run, replications });
    };
    let failed = OnceLock::new();
    // What is told of the points does not depend on what they find: nobody waits for it after Ctrl-C.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (0..parts.len()).for_each(|part| _ = engine(part));
            (0..infos.len()).for_each(|point| _ = info(point));
        });
        execute(&jobs, options, &|at, outcome| {
            let part = part_of(jobs[at].point);
            let finished = match outcome {
                Ok(finished) => finished,
                Err(error) => {
                    // The first is as good as any other.
                    let _ = failed.set(error);
                    return ControlFlow::Break(());
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
            ControlFlow::Continue(())
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

/// Tells the replications of the first seeds what of them is traced.
fn ask_for_traces(jobs: &mut [Job<'_>], options: &Options<'_>) -> Result<(), RunError> {
    let Some(tracing) = options.trace else { return Ok(()) };
    let wanted = tracing.options();
    for job in jobs.iter_mut().filter(|job| job.seed_index < wanted.seeds) {
        let asked = wanted.of(job.spec, job.aqm, job.seed, &options.plugins);
        job.trace(asked.map_err(|error| RunError::Failed {
            point: job.spec.title(),
            algorithm: job.label().to_string(),
            seed: job.seed,
            why: error.to_string(),
        })?);
    }
    Ok(())
}

/// The fingerprints of the algorithms that take part in points; one from outside the catalog has none.
fn fingerprints(points: &[Point]) -> BTreeMap<String, String> {
    let names: BTreeSet<String> = points.iter().flat_map(Point::algorithms).collect();
    names.into_iter().filter_map(|name| fingerprint(&name).ok().map(|print| (name, print))).collect()
}
