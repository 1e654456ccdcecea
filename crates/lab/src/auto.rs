//! Runs that decide themselves how many seeds each algorithm needs.

use std::time::Instant;

use quell_metrics::{
    Aim, Auto, Estimate, Quantity, Reason, Replication, Results, Sequential, Stop, View, digest,
};
use quell_scenario::values::Seeds;
use quell_scenario::{Point, Study};

use crate::options::{Options, Progress, RunError, Series};
use crate::run::run;

/// Runs a study with the seeds 1, 2, 3, ... that `auto` asks for, whatever seeds the study names: every
/// algorithm at every point as many as it needs. What was decided is in [`RunInfo::sequential`].
///
/// Stopped from outside, it keeps what is finished, like [`run`].
///
/// [`RunInfo::sequential`]: crate::RunInfo::sequential
///
/// # Errors
/// If a replication cannot be run; names one.
pub fn run_auto(study: &Study, auto: &Auto, options: &Options<'_>) -> Result<Results, RunError> {
    let clock = Instant::now();
    let ladder = auto.ladder();
    let everywhere = study.points.iter().map(|point| with_seeds(point, 0, ladder[0])).collect();
    let mut results = run_round(&study.with_points(everywhere), 0, options, &clock)?;
    results.run.holes = study.holes.clone();
    // Which signals there are, only the algorithms know.
    let lacking = auto.aims.iter().find_map(|aim| results.lacks(&aim.metric));
    if let Some(why) = lacking.filter(|_| !results.run.partial) {
        return Err(RunError::Lacks(why));
    }
    let mut open = everything(&results, auto);
    let mut stops = Vec::new();
    // What decides is the interval that is printed in the end.
    results.run.sequential =
        vec![Sequential { asked: auto.clone(), looks: auto.looks(), stops: open.clone() }];
    for (i, &seeds) in ladder.iter().enumerate() {
        open.iter_mut().for_each(|stop| judge(stop, &results, auto, seeds));
        let next = ladder.get(i + 1);
        let (more, done): (Vec<Stop>, _) =
            open.into_iter().partition(|stop| next.is_some() && stop.reason == Reason::Cap);
        (open, stops) = (more, [stops, done].concat());
        let (Some(next), false) = (next, open.is_empty()) else { break };
        let (round, points) = round(study, auto, &open, seeds, *next);
        // The first round has the seeds whose time series are drawn.
        let series = if options.series == Series::All { Series::All } else { Series::None };
        let options = Options { series, ..options.clone() };
        let found = run_round(&round, results.replications.len(), &options, &clock)?;
        add(&mut results, found, &points);
    }
    finish(&mut results, study, auto, stops);
    results.run.elapsed_s = clock.elapsed().as_secs_f64();
    Ok(results)
}

/// The point with the seeds after `from`, up to `to`.
fn with_seeds(point: &Point, from: usize, to: usize) -> Point {
    let mut point = point.clone();
    point.scenario.seeds = match from {
        0 => Seeds::Count(u32::try_from(to).unwrap_or(u32::MAX)),
        _ => Seeds::List((from as u64 + 1..=to as u64).collect()),
    };
    point
}

/// The open points with the seeds after `from`, up to `to`; and the number of each in the study.
fn round(study: &Study, auto: &Auto, open: &[Stop], from: usize, to: usize) -> (Study, Vec<usize>) {
    let mut numbers: Vec<usize> = open.iter().map(|stop| stop.point).collect();
    numbers.dedup();
    let point = |number: &usize| {
        let mut point = with_seeds(&study.points[*number], from, to);
        point.scenario.aqm.retain(|aqm| {
            let is_open = open.iter().any(|s| s.point == *number && s.algorithm == aqm.label());
            is_open || auto.baseline.as_deref() == Some(aqm.label())
        });
        point
    };
    (study.with_points(numbers.iter().map(point).collect()), numbers)
}

/// Runs a part of the whole; `before` replications are done.
fn run_round(
    round: &Study,
    before: usize,
    options: &Options<'_>,
    clock: &Instant,
) -> Result<Results, RunError> {
    let note = |part: &Progress| {
        let total = before + part.total;
        let done = (before as f64 + part.done * part.total as f64) / total.max(1) as f64;
        let whole =
            Progress { done, finished: before + part.finished, total, elapsed: clock.elapsed(), ..*part };
        options.progress.iter().for_each(|progress| progress(&whole));
    };
    run(round, &Options { progress: Some(&note), ..options.clone() })
}

/// Puts a round's replications among the others; `points` says which point each of its points is.
fn add(results: &mut Results, found: Results, points: &[usize]) {
    results.run.partial |= found.run.partial;
    results.run.reused += found.run.reused;
    results.run.verified += found.run.verified;
    results.run.kept &= found.run.kept;
    let moved = found.replications.into_iter().map(|r| Replication { point: points[r.point], ..r });
    results.replications.extend(moved);
    let algorithms: Vec<Vec<String>> = results.run.points.iter().map(|p| p.algorithms.clone()).collect();
    results.replications.sort_by_key(|r| {
        let place = algorithms[r.point].iter().position(|a| *a == r.algorithm);
        (r.point, place, r.seed)
    });
}

/// Every algorithm whose number of seeds is to be decided.
fn everything(results: &Results, auto: &Auto) -> Vec<Stop> {
    let of_point = |point: usize| {
        let algorithms = results.algorithms(point).iter().filter(|a| auto.baseline.as_ref() != Some(*a));
        algorithms.map(move |algorithm| Stop {
            point,
            algorithm: algorithm.clone(),
            seeds: 0,
            reason: Reason::Cap,
            open: Vec::new(),
        })
    };
    (0..results.run.points.len()).flat_map(of_point).collect()
}

/// Says what is known of an algorithm that was given this many seeds.
fn judge(stop: &mut Stop, results: &Results, auto: &Auto, seeds: usize) {
    stop.seeds = seeds;
    stop.open = open_metrics(auto, results, stop.point, &stop.algorithm);
    let is_whole = |algorithm: &str| results.finished(stop.point, algorithm) == seeds;
    let whole = is_whole(&stop.algorithm) && auto.baseline.as_deref().is_none_or(is_whole);
    stop.reason = match () {
        () if !whole => Reason::Interrupted,
        () if is_fixed(auto, results, stop.point, &stop.algorithm) => Reason::Fixed,
        () if stop.open.is_empty() => Reason::Reached,
        () if results.run.partial => Reason::Interrupted,
        () => Reason::Cap,
    };
    if stop.reason == Reason::Fixed {
        stop.open.clear();
    }
}

/// Records what was decided.
fn finish(results: &mut Results, study: &Study, auto: &Auto, mut stops: Vec<Stop>) {
    for (number, (info, point)) in results.run.points.iter_mut().zip(&study.points).enumerate() {
        let of_point = stops.iter().filter(|s| s.point == number);
        let most = of_point.map(|s| s.seeds).max().unwrap_or(info.seeds.len());
        // The scenario that repeats it has the seeds of the algorithm that needed the most.
        let point = with_seeds(point, 0, most);
        (info.seeds, info.scenario) = (point.scenario.seeds.list(), point.to_toml());
        stops.extend(auto.baseline.iter().map(|baseline| Stop {
            point: number,
            algorithm: baseline.clone(),
            seeds: most,
            reason: Reason::Baseline,
            open: Vec::new(),
        }));
    }
    let points = &results.run.points;
    let place = |s: &Stop| points[s.point].algorithms.iter().position(|a| *a == s.algorithm);
    stops.sort_by_key(|s| (s.point, place(s)));
    results.run.digest = digest(&results.replications);
    results.run.sequential = vec![Sequential { asked: auto.clone(), looks: auto.looks(), stops }];
}

/// The metrics of which `results` say less of an algorithm than is asked.
fn open_metrics(auto: &Auto, results: &Results, point: usize, algorithm: &str) -> Vec<Quantity> {
    let view = View { point, link: auto.link.clone(), segment: None, scope: auto.scope.clone() };
    let narrow = |aim: &Aim, estimate: &Estimate, beside: f64| match (aim.width, estimate.half_width) {
        (Some(width), Some(half)) => !is_nothing(estimate, beside) && width.admits(half, beside),
        _ => false,
    };
    let mean = |algorithm, metric: &Quantity| results.estimate(&view, algorithm, metric);
    let is_open = |aim: &&Aim| match &auto.baseline {
        None => mean(algorithm, &aim.metric).is_some_and(|e| !narrow(aim, &e, e.mean)),
        Some(baseline) => {
            let base = mean(baseline, &aim.metric).map_or(0.0, |e| e.mean);
            results.difference(&view, baseline, algorithm, &aim.metric).is_some_and(|d| {
                // What differs for no seed at all will hardly begin to.
                let same = d.half_width == Some(0.0) && !is_nothing(&d, base);
                !(d.excludes_zero() || same || narrow(aim, &d, base))
            })
        }
    };
    auto.aims.iter().filter(is_open).map(|aim| aim.metric.clone()).collect()
}

/// True if more seeds would repeat what is known.
fn is_fixed(auto: &Auto, results: &Results, point: usize, algorithm: &str) -> bool {
    let baseline = auto.baseline.as_deref().unwrap_or(algorithm);
    [algorithm, baseline].iter().all(|a| results.is_fixed(point, a))
}

/// True if something was seen with no seed: that does not say how seldom it is.
fn is_nothing(estimate: &Estimate, beside: f64) -> bool {
    estimate.half_width == Some(0.0) && estimate.mean == 0.0 && beside == 0.0
}
