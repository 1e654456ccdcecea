//! Trials of a scenario: with other values of its fields, over seeds. Every trial has the same seeds (common random
//! numbers), so that what differs between two of them is what the fields do.

use std::time::Instant;

use quell_metrics::{Estimate, Quantity, Results, View, check_class};
use quell_scenario::values::{OneOr, Seeds};
use quell_scenario::{Document, Point, ScenarioError, Setting, Study};
use quell_units::Duration;

use crate::axis::Axis;
use crate::explore::{MOST_AXES, Way};
use crate::options::{Options, Progress};
use crate::run::run;
use crate::search::SearchError;

/// The time within which starts are drawn that the scenario gives as one time, unless a tenth of the run is shorter.
const SPREAD: Duration = Duration::from_secs(1);

/// The question that trials answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub over: &'a [Axis],
    pub metrics: &'a [Quantity],
    pub link: Option<&'a String>,
    pub scope: &'a str,
    pub trials: usize,
    pub seeds: usize,
    pub fresh: usize,
}

/// A scenario of which trials are made.
pub(crate) struct Bench<'a, 'o> {
    document: Document,
    options: &'a Options<'o>,
    study: Study,
    clock: Instant,
    /// Replications that are over, and those that are expected in all.
    before: usize,
    planned: usize,
    /// The algorithms that run.
    pub labels: Vec<String>,
    pub ways: Vec<Way>,
    pub view: View,
    /// What was done to start times, in words.
    pub drawn: Vec<String>,
}

/// A point whose replications are to be run, or why it is refused.
pub(crate) type Prepared = Result<Point, ScenarioError>;

impl<'a, 'o> Bench<'a, 'o> {
    /// Checks the question. `choose` gives the labels of the algorithms that run.
    pub fn new(
        scenario: &Document,
        asked: Asked<'_>,
        options: &'a Options<'o>,
        choose: impl FnOnce(&Point) -> Result<Vec<String>, SearchError>,
    ) -> Result<Self, SearchError> {
        let fail = |why: String| Err(SearchError::Question(why));
        let over = asked.over;
        if over.is_empty() {
            return fail(
                "no field varies: give one and its range, such as aqm.red.max_p=0.01..0.5:log".into(),
            );
        }
        if over.len() > MOST_AXES {
            return fail(format!("{} fields vary: must be at most {MOST_AXES}", over.len()));
        }
        if let Some(twice) = (1..over.len()).find(|i| over[..*i].iter().any(|a| a.name == over[*i].name)) {
            return fail(format!("{} varies twice: give it one range", over[twice].name));
        }
        for (what, number) in [("trials", asked.trials), ("seeds", asked.seeds), ("check seeds", asked.fresh)]
        {
            if number == 0 {
                return fail(format!("{what} = 0: must be at least 1"));
            }
        }
        let study = scenario.study(&options.plugins)?;
        let [point] = study.points.as_slice() else {
            let n = study.points.len();
            return fail(format!("trials need a scenario that is one point, not a sweep over {n}"));
        };
        // Names before all else: a field may say which algorithm is meant.
        for axis in over {
            scenario.clone().set_text(&axis.name, &axis.text(axis.from))?;
        }
        let labels = choose(point)?;
        asked.metrics.iter().try_for_each(|m| check_class(m, &study)).map_err(SearchError::Question)?;
        let links = point.links();
        let link = match asked.link {
            Some(link) if !links.contains(link) => {
                return fail(format!("link \"{link}\": there are {}", links.join(", ")));
            }
            Some(link) => link.clone(),
            // A scenario has a link.
            None => links.first().cloned().unwrap_or_default(),
        };
        let (document, drawn) = draw_starts(scenario, point, over, options);
        let study = document.study(&options.plugins)?;
        let planned = 0;
        let view = View { point: 0, link: Some(link), segment: None, scope: asked.scope.to_string() };
        let clock = Instant::now();
        let mut bench = Bench {
            document,
            options,
            study,
            clock,
            before: 0,
            planned,
            labels,
            ways: Vec::new(),
            view,
            drawn,
        };
        for axis in over {
            let way = bench.way(axis)?;
            bench.ways.push(way);
        }
        Ok(bench)
    }

    /// Expects so many replications of each algorithm beside those that are over.
    pub fn plan(&mut self, more: usize) {
        self.planned += more * self.labels.len();
    }

    /// No longer expects so many.
    pub fn forgo(&mut self, fewer: usize) {
        self.planned = self.planned.saturating_sub(fewer * self.labels.len());
    }

    /// The scenario's own point, whose starts are drawn.
    pub fn own(&self) -> Point {
        self.study.points[0].clone()
    }

    /// The value of a field in the scenario, defaults included; empty if it has none.
    pub fn own_value(&self, field: &str) -> String {
        let own = Document::parse(&self.study.points[0].to_toml(), "own");
        own.ok().and_then(|own| own.value(field)).unwrap_or_default()
    }

    /// The places that are known before any search: the scenario's own, if it is within the ranges, and from there both
    /// ends of each axis. With them among the trials, what is found is never worse than what one had.
    pub fn known_places(&self) -> Vec<Vec<f64>> {
        let read = |way: &Way| way.axis.read(&self.own_value(&way.axis.name));
        let own: Vec<Option<f64>> = self.ways.iter().map(read).collect();
        let from: Vec<f64> =
            self.ways.iter().zip(&own).map(|(way, own)| own.unwrap_or(way.middle())).collect();
        let mut all = Vec::new();
        if own.iter().all(Option::is_some) {
            all.push(from.clone());
        }
        for (i, way) in self.ways.iter().enumerate() {
            for end in [way.axis.from, way.axis.to] {
                let mut at = from.clone();
                at[i] = end;
                all.push(at);
            }
        }
        all
    }

    /// The values of the axes at a place, with their units.
    pub fn settings(&self, at: &[f64]) -> Vec<Setting> {
        let setting =
            |(way, x): (&Way, &f64)| Setting { field: way.axis.name.clone(), value: way.axis.text(*x) };
        self.ways.iter().zip(at).map(setting).collect()
    }

    /// The point at a place on the axes.
    pub fn prepare(&self, at: &[f64]) -> Prepared {
        self.with(&self.settings(at))
    }

    /// The scenario with some settings.
    pub fn with(&self, settings: &[Setting]) -> Prepared {
        let mut document = self.document.clone();
        let words = || settings.iter().map(|s| format!("{} = {}", s.field, s.value)).collect::<Vec<_>>();
        let blame = |error: ScenarioError| {
            let file = format!("{} with {}", error.file, words().join(", "));
            ScenarioError { file, line: None, ..error }
        };
        for setting in settings {
            document.set_text(&setting.field, &setting.value).map_err(blame)?;
        }
        let mut study = document.study(&self.options.plugins).map_err(blame)?;
        // It is not a sweep, so it has one point.
        Ok(study.points.swap_remove(0))
    }

    /// An axis, and whether only whole numbers of something are tried: because its field takes no others, or because it
    /// counts packets or bytes.
    fn way(&self, axis: &Axis) -> Result<Way, SearchError> {
        let at = |x: f64| self.with(&[Setting { field: axis.name.clone(), value: axis.text(x) }]);
        let (from, to) = (at(axis.from), at(axis.to));
        // A name that is wrong is wrong everywhere; a value may suit other values of other fields.
        if let (Err(error), Err(_)) = (&from, &to)
            && error.known.is_some()
        {
            return Err(error.clone().into());
        }
        let is_whole = axis.from.fract() == 0.0 && axis.to.fract() == 0.0 && axis.values.is_empty();
        // Only the scenario knows.
        let whole = is_whole
            && at(axis.from + 0.5).is_err_and(|e| from.is_ok() || to.is_ok() || e.rule.contains("whole"));
        Ok(Way { axis: axis.clone(), per_unit: whole.then_some(1.0).or(axis.whole_per_unit()) })
    }

    /// Runs points with these seeds; stopped, the results are partial.
    pub fn run(&mut self, points: Vec<Point>, seeds: &[u64]) -> Result<Results, SearchError> {
        let points = points.into_iter().map(|point| self.dressed(point, seeds)).collect();
        let study = self.study.with_points(points);
        let (before, planned, clock) = (self.before, self.planned, self.clock);
        let note = |part: &Progress| {
            let total = planned.max(before + part.total);
            let done = (before as f64 + part.done * part.total as f64) / total.max(1) as f64;
            let elapsed = clock.elapsed();
            let left = (done > 0.0).then(|| elapsed.mul_f64((1.0 - done).max(0.0) / done));
            let whole = Progress { done, finished: before + part.finished, total, elapsed, left };
            self.options.progress.iter().for_each(|progress| progress(&whole));
        };
        let options = Options { progress: Some(&note), without_flows: true, ..self.options.clone() };
        let results = run(&study, &options)?;
        self.before += results.replications.len();
        Ok(results)
    }

    /// A point with these seeds and the algorithms that run.
    pub fn dressed(&self, mut point: Point, seeds: &[u64]) -> Point {
        point.scenario.seeds = Seeds::List(seeds.to_vec());
        point.scenario.aqm.retain(|aqm| self.labels.iter().any(|label| aqm.label() == label));
        point
    }

    /// The samples of a metric at a point of results, one per seed; `None` if a seed is not finished or has none.
    pub fn samples(
        &self,
        results: &Results,
        point: usize,
        label: &str,
        metric: &Quantity,
    ) -> Option<Vec<f64>> {
        let view = View { point, ..self.view.clone() };
        let samples: Vec<f64> = results.samples(&view, label, metric).into_iter().map(|s| s.1).collect();
        (samples.len() == results.run.points[point].seeds.len()).then_some(samples)
    }

    /// True if every replication of a point is finished.
    pub fn is_finished(&self, results: &Results, point: usize) -> bool {
        let seeds = results.run.points[point].seeds.len();
        self.labels.iter().all(|label| results.finished(point, label) == seeds)
    }

    /// The mean of samples; without an interval where nothing was left to chance.
    pub fn estimate(&self, results: &Results, points: &[usize], samples: &[f64]) -> Option<Estimate> {
        let estimate = Estimate::of(samples)?;
        let is_fixed =
            points.iter().all(|point| self.labels.iter().all(|label| results.is_fixed(*point, label)));
        Some(if is_fixed { estimate.without_interval() } else { estimate })
    }

    /// The seeds of the trials.
    pub fn seeds(seeds: usize) -> Vec<u64> {
        (1..=seeds as u64).collect()
    }

    /// Seeds that no trial had.
    pub fn fresh(seeds: usize, fresh: usize) -> Vec<u64> {
        (seeds as u64 + 1..=(seeds + fresh) as u64).collect()
    }
}

/// The error for trials none of which has what is asked.
pub(crate) fn nothing(
    metric: &Quantity,
    scope: &str,
    results: Option<&Results>,
    refused: &[&String],
    trials: usize,
) -> SearchError {
    let there = results.map_or(Vec::new(), |results| results.scopes(0));
    let of_scope = match there.iter().any(|other| other == scope) || there.is_empty() {
        true => String::new(),
        false => format!(" for \"{scope}\": the traffic there is {}", there.join(", ")),
    };
    let of_refused = match refused.len() {
        0 => String::new(),
        n => format!(" ({n} of them were refused)"),
    };
    SearchError::Question(match (refused, results.and_then(|results| results.lacks(metric))) {
        ([first, ..], _) if refused.len() == trials => {
            format!("the scenario refuses all {trials} trials, such as {first}")
        }
        (_, Some(why)) => format!("metric {why}"),
        _ => format!("{metric} has no value for each seed in any of {trials} trials{of_refused}{of_scope}"),
    })
}

/// Lets the seeds draw the starts that a scenario gives as one time. Otherwise each seed might be the same load, and
/// what is found might hold for this one alone. Gives what was done, in words.
fn draw_starts(
    scenario: &Document,
    point: &Point,
    over: &[Axis],
    options: &Options<'_>,
) -> (Document, Vec<String>) {
    let (mut document, mut drawn) = (scenario.clone(), Vec::new());
    let tenth = Duration::from_nanos(point.scenario.duration.nanos() / 10);
    for (i, group) in point.scenario.flows.iter().enumerate() {
        let from = match &group.start {
            None => Duration::ZERO,
            Some(OneOr::One(start)) => *start,
            Some(OneOr::Spread(_)) => continue,
        };
        let names = [format!("flows.{}.start", group.name), format!("flows[{i}].start")];
        if over.iter().any(|axis| names.iter().any(|name| axis.name.starts_with(name.as_str()))) {
            continue;
        }
        let to = from + tenth.min(SPREAD);
        let between = toml::Value::Array([from, to].map(|t| toml::Value::String(t.to_string())).to_vec());
        let spread = toml::Table::from_iter([("between".to_string(), between)]);
        let mut with = document.clone();
        // A kind of traffic that takes no such start keeps its own.
        let is_set = with.set(&names[1], &toml::Value::Table(spread)).is_ok();
        if is_set && with.study(&options.plugins).is_ok() {
            document = with;
            drawn.push(format!("{} between {from} and {to}", names[0]));
        }
    }
    (document, drawn)
}
