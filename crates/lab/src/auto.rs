//! Runs that decide themselves how many seeds each algorithm needs.

use std::time::Instant;

use quell_scenario::values::Seeds;
use quell_scenario::{Point, Study, suggest, unknown};
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;
use crate::results::{Replication, Results, View};
use crate::run::{Options, Progress, RunError, Series, digest, run};
use crate::sequential::{Looks, Width, widths};
use crate::stats::{ERROR, Estimate};

/// What is to be known of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aim {
    /// Which: a metric, perhaps of a class, a ratio, or the average of an internal signal.
    pub metric: Quantity,
    /// Half the width of an interval that is narrow enough. Without a baseline there must be one; with one it
    /// says below which a difference does not matter, and a relative one is a share of the baseline's mean.
    pub width: Option<Width>,
}

/// How many seeds a run takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Auto {
    /// What is to be known; all of it.
    pub aims: Vec<Aim>,
    /// Whose difference from each other algorithm is to be decided. None: each algorithm's own mean is to be
    /// known within the widths.
    pub baseline: Option<String>,
    /// At which link; none for each point's first observed one.
    pub link: Option<String>,
    /// For what traffic: "all", "data" or a class.
    pub scope: String,
    /// No more seeds than this, at least 2.
    pub max_seeds: usize,
}

/// The cap on seeds where none is given.
pub const MAX_SEEDS: usize = 50;

/// Why an algorithm got no more seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// All that was asked is known.
    Reached,
    /// Nothing is random: more seeds would say nothing.
    Fixed,
    /// The cap: some metrics are open.
    Cap,
    /// The run was stopped.
    Interrupted,
    /// It is the baseline, which has as many as the others need.
    Baseline,
}

/// Where one algorithm stopped at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// Index of the point.
    pub point: usize,
    /// The algorithm.
    pub algorithm: String,
    /// How many seeds it was given: 1, 2, ... up to this.
    pub seeds: usize,
    /// Why no more.
    pub reason: Reason,
    /// The metrics of which less is known than was asked.
    pub open: Vec<Quantity>,
}

/// How the numbers of seeds of a result were decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sequential {
    /// What was asked.
    pub asked: Auto,
    /// The looks at the differences, and the error of each; none without a baseline.
    pub looks: Option<Looks>,
    /// Where each algorithm stopped, by point and in the order of the scenario.
    pub stops: Vec<Stop>,
}

impl Auto {
    /// After how many seeds it looks.
    fn ladder(&self) -> Vec<usize> {
        match self.looks() {
            Some(looks) => looks.iter().map(|l| l.samples).collect(),
            None => widths(self.max_seeds),
        }
    }

    fn looks(&self) -> Option<Looks> {
        self.baseline.as_ref().map(|_| Looks::new(self.max_seeds, ERROR))
    }

    fn view(&self, point: usize) -> View {
        View { point, link: self.link.clone(), segment: None, scope: self.scope.clone() }
    }

    /// The metrics with their widths, in words.
    fn words(&self) -> String {
        let each = self.aims.iter().map(|aim| match aim.width {
            Some(width) => format!("{} \u{b1} {width}", aim.metric),
            None => aim.metric.to_string(),
        });
        each.collect::<Vec<_>>().join(", ")
    }

    /// Says what makes it unfit for a study.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check(&self, study: &Study) -> Result<(), String> {
        if self.max_seeds < 2 {
            return Err(format!("max seeds = {}: must be at least 2, for an interval", self.max_seeds));
        }
        if self.aims.is_empty() {
            return Err("no metric is named whose precision decides the number of seeds".to_string());
        }
        if let (None, Some(aim)) = (&self.baseline, self.aims.iter().find(|a| a.width.is_none())) {
            return Err(format!("{}: needs a width, such as 1%", aim.metric));
        }
        self.aims.iter().try_for_each(|aim| check_class(&aim.metric, study))?;
        if let Some(link) = &self.link
            && !study.points.iter().any(|p| p.links().contains(link))
        {
            return Err(format!("no link is called \"{link}\""));
        }
        let has = |p: &Point, label: &String| p.scenario.aqm.iter().any(|a| a.label() == label);
        match &self.baseline {
            Some(baseline) if !study.points.iter().all(|p| has(p, baseline)) => {
                Err(format!("the baseline \"{baseline}\" is not among the algorithms"))
            }
            _ => Ok(()),
        }
    }

    /// The metrics of which `results` say less of an algorithm than is asked.
    fn open(&self, results: &Results, point: usize, algorithm: &str) -> Vec<Quantity> {
        let view = self.view(point);
        let narrow = |aim: &Aim, estimate: &Estimate, beside: f64| match (aim.width, estimate.half_width) {
            (Some(width), Some(half)) => !is_nothing(estimate, beside) && width.admits(half, beside),
            _ => false,
        };
        let mean = |algorithm, metric: &Quantity| results.estimate(&view, algorithm, metric);
        let is_open = |aim: &&Aim| match &self.baseline {
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
        self.aims.iter().filter(is_open).map(|aim| aim.metric.clone()).collect()
    }

    /// True if more seeds would repeat what is known.
    fn is_fixed(&self, results: &Results, point: usize, algorithm: &str) -> bool {
        let baseline = self.baseline.as_deref().unwrap_or(algorithm);
        [algorithm, baseline].iter().all(|a| results.is_fixed(point, a))
    }
}

/// Refuses a figure of a class that no point of a study has.
///
/// # Errors
/// Names the classes.
pub fn check_class(figure: &Quantity, study: &Study) -> Result<(), String> {
    let mut classes: Vec<String> = Vec::new();
    study.points.iter().flat_map(Point::classes).for_each(|class| {
        if !classes.contains(&class) {
            classes.push(class);
        }
    });
    let Some(wrong) = figure.unknown_class(&classes) else { return Ok(()) };
    let known = ["all", "data"].into_iter().chain(classes.iter().map(String::as_str)).collect::<Vec<_>>();
    let (rule, nearest) = unknown("class", wrong, &known);
    let known = format!("known: {}", known.join(", "));
    Err(format!("{figure}: \"{wrong}\": {}", suggest(&rule, nearest.as_deref(), Some(&known))))
}

/// True if something was seen with no seed: that does not say how seldom it is.
fn is_nothing(estimate: &Estimate, beside: f64) -> bool {
    estimate.half_width == Some(0.0) && estimate.mean == 0.0 && beside == 0.0
}

impl Sequential {
    /// How the seeds were chosen, in a sentence.
    pub fn rule(&self) -> String {
        let (most, words) = (self.asked.max_seeds, self.asked.words());
        let at = |looks: &Looks| looks.iter().map(|l| l.samples.to_string()).collect::<Vec<_>>().join(", ");
        match (&self.asked.baseline, &self.looks) {
            (Some(baseline), Some(looks)) => format!(
                "seeds were added until each difference from {baseline} was decided or within the width asked \
                 ({words}), or there were {most}; the intervals of all looks (at {} seeds) hold together with 95 %, so \
                 they are wider than usual ones",
                at(looks)
            ),
            _ => format!(
                "seeds were added until the 95 % intervals were as narrow as asked ({words}), or there were {most}"
            ),
        }
    }
}

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

/// What is open, with the seeds after `from`, up to `to`; and which point of the study each point is.
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
    stop.open = auto.open(results, stop.point, &stop.algorithm);
    let is_whole = |algorithm: &str| results.finished(stop.point, algorithm) == seeds;
    let whole = is_whole(&stop.algorithm) && auto.baseline.as_deref().is_none_or(is_whole);
    stop.reason = match () {
        () if !whole => Reason::Interrupted,
        () if auto.is_fixed(results, stop.point, &stop.algorithm) => Reason::Fixed,
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
