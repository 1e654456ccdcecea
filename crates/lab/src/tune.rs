//! The values of a scenario's fields with which a metric is best, or the front of two metrics.

use std::fmt;
use std::str::FromStr;

use quell_metrics::{Better, Estimate, Quantity, Results};
use quell_scenario::{Document, Point, Setting};
use serde::{Serialize, Serializer};

use crate::axis::Axis;
use crate::explore::{Exploration, front};
use crate::options::Options;
use crate::search::{SearchError, choose};
use crate::trials::{Asked, Bench, Prepared, nothing};

/// The most points of a front that are checked.
const MOST_CHECKED: usize = 8;

/// A metric, and the direction in which it is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// The metric.
    pub metric: Quantity,
    /// True if less is better.
    pub less: bool,
}

impl Goal {
    /// The sign with which less is better.
    pub(crate) fn sign(&self) -> f64 {
        if self.less { 1.0 } else { -1.0 }
    }
}

impl FromStr for Goal {
    type Err = String;

    /// Reads a metric, with `:min` or `:max` behind it where its better direction is not meant, or not known.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, less) = match (text.trim().strip_suffix(":min"), text.trim().strip_suffix(":max")) {
            (Some(name), _) => (name, Some(true)),
            (_, Some(name)) => (name, Some(false)),
            _ => (text, None),
        };
        let metric: Quantity = name.parse()?;
        let less = less.or(match metric.better() {
            Better::Lower => Some(true),
            Better::Higher => Some(false),
            Better::Neither => None,
        });
        let unclear =
            || format!("no direction of {metric} is always better: write {metric}:min or {metric}:max");
        let less = less.ok_or_else(unclear)?;
        Ok(Goal { metric, less })
    }
}

/// The name, which is read back.
impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.metric, if self.less { "min" } else { "max" })
    }
}

impl Serialize for Goal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A search for the best values of fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Tune {
    /// The fields that vary.
    pub over: Vec<Axis>,
    /// The metric, or the two metrics of a front.
    pub goals: Vec<Goal>,
    /// The algorithm, by its label. None: the one that the fields name, or the only one.
    pub algorithm: Option<String>,
    /// The link; `None`: the first observed one.
    pub link: Option<String>,
    /// The traffic: "all", "data" or a class.
    pub scope: String,
    /// No more trials than this.
    pub trials: usize,
    /// The seeds of each trial: 1, 2, ... up to this.
    pub seeds: usize,
    /// The number of fresh seeds on which the outcome is checked: those that follow.
    pub fresh: usize,
    /// The seed of the search itself.
    pub seed: u64,
}

/// A trial: a point of the fields, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// The value of each field, without its unit.
    pub at: Vec<f64>,
    /// The mean of each metric over the seeds. `None`: it was refused, or a metric has no value for each seed.
    pub values: Option<Vec<f64>>,
    /// The reason why the scenario is refused there.
    pub refused: Option<String>,
}

/// The kind of a setting that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The scenario as it is.
    Own,
    /// The scenario with one field at an end of its range.
    End,
    /// What the search found.
    Best,
}

/// A setting on fresh seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Its kind.
    pub kind: Kind,
    /// The value of each field, with its unit; that of a field which the scenario does not have is empty.
    pub settings: Vec<Setting>,
    /// Each metric. `None`: it has no value for each seed, or the scenario is refused.
    pub values: Vec<Option<Estimate>>,
    /// The difference of each metric from the scenario as it is, paired by seed.
    pub differences: Vec<Option<Estimate>>,
    /// The reason why the scenario is refused there.
    pub refused: Option<String>,
    /// The scenario with every default, of which `quell run` gives these figures.
    #[serde(skip)]
    pub scenario: String,
}

/// The answer to the question whether the best setting is better than the scenario's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is: the interval of the paired difference says so.
    Better,
    /// The opposite is true.
    Worse,
    /// The interval holds 0.
    Undecided,
    /// There is no interval: of one seed, or because nothing is left to chance.
    NoInterval,
    /// It is the same setting.
    Same,
}

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuned {
    /// The algorithm.
    pub algorithm: String,
    /// The link.
    pub link: String,
    /// The traffic.
    pub scope: String,
    /// The names of the fields.
    pub fields: Vec<String>,
    /// Their units; may be empty.
    pub field_units: Vec<String>,
    /// The metrics, with the direction that is better.
    pub goals: Vec<Goal>,
    /// Their units; "1" for a pure number.
    pub units: Vec<String>,
    /// The trials in their order.
    pub trials: Vec<Trial>,
    /// The numbers of the trials that no other one is as good as: one, or a front in the order of its first metric.
    pub front: Vec<usize>,
    /// The seeds of each trial.
    pub seeds: Vec<u64>,
    /// The seeds of the checks.
    pub fresh_seeds: Vec<u64>,
    /// The settings that were checked: the scenario's own, the ends of each range, and the best.
    pub checks: Vec<Check>,
    /// With one metric, whether the best setting is better than the scenario's own, if both were checked.
    pub verdict: Option<Verdict>,
    /// The start times that the seeds draw and the scenario does not, in words.
    pub drawn_starts: Vec<String>,
    /// True if it was stopped before all was done.
    pub interrupted: bool,
}

impl Tuned {
    /// The number of trials that the scenario refused.
    pub fn refused(&self) -> usize {
        self.trials.iter().filter(|t| t.refused.is_some()).count()
    }

    /// The number of trials in which a metric has no value for each seed.
    pub fn without_value(&self) -> usize {
        self.trials.iter().filter(|t| t.refused.is_none() && t.values.is_none()).count()
    }
}

impl Tune {
    /// Searches a scenario.
    ///
    /// # Errors
    /// If the question does not fit the scenario, if no trial has a value, or if a replication cannot be run.
    pub fn search(&self, scenario: &Document, options: &Options<'_>) -> Result<Tuned, SearchError> {
        let question = |why: String| Err(SearchError::Question(why));
        if let [a, b] = self.goals.as_slice()
            && a.metric == b.metric
        {
            return question(format!("{} is named twice: a front has two metrics", a.metric));
        }
        if !(1..=2).contains(&self.goals.len()) {
            return question(format!("{} metrics: must be one, or two for a front", self.goals.len()));
        }
        let metrics: Vec<Quantity> = self.goals.iter().map(|goal| goal.metric.clone()).collect();
        let asked = Asked {
            over: &self.over,
            metrics: &metrics,
            link: self.link.as_ref(),
            scope: &self.scope,
            trials: self.trials,
            seeds: self.seeds,
            fresh: self.fresh,
        };
        let fields: Vec<&str> = self.over.iter().map(|axis| axis.name.as_str()).collect();
        let named = |point: &Point| Ok(vec![choose(self.algorithm.as_ref(), &fields, point)?]);
        let mut bench = Bench::new(scenario, asked, options, named)?;
        let rows = 1 + 2 * self.over.len() + if self.goals.len() == 1 { 1 } else { MOST_CHECKED };
        bench.plan(self.trials * self.seeds + rows * self.fresh);
        let (algorithm, seeds) = (bench.labels[0].clone(), Bench::seeds(self.seeds));
        let mut trials: Vec<Trial> = Vec::new();
        let (mut last, mut units) = (None, vec![String::new(); self.goals.len()]);
        let ways = bench.ways.clone();
        let first = bench.known_places();
        let exploration = Exploration::new(&ways, self.trials, self.seed);
        let tried = exploration.run(&first, |batch| -> Result<_, SearchError> {
            let begin = trials.len();
            let prepared: Vec<Prepared> = batch.iter().map(|at| bench.prepare(at)).collect();
            let points: Vec<Point> = prepared.iter().filter_map(|p| p.as_ref().ok()).cloned().collect();
            bench.forgo((batch.len() - points.len()) * self.seeds);
            let results = if points.is_empty() { None } else { Some(bench.run(points, &seeds)?) };
            let mut number = 0;
            for (at, prepared) in batch.iter().zip(prepared) {
                let (at, mut values, mut refused) = (at.clone(), None, None);
                match (prepared, &results) {
                    (Err(error), _) => refused = Some(error.reason()),
                    (Ok(_), Some(results)) if bench.is_finished(results, number) => {
                        let of = |metric: &Quantity| {
                            let samples = bench.samples(results, number, &algorithm, metric)?;
                            Some(Estimate::of(&samples)?.mean)
                        };
                        values = metrics.iter().map(of).collect();
                        number += 1;
                    }
                    // It was stopped.
                    _ => break,
                }
                trials.push(Trial { at, values, refused });
            }
            if let Some(results) = results {
                for (unit, metric) in units.iter_mut().zip(&metrics) {
                    *unit = results.unit(metric);
                }
                last = Some(results);
            }
            let goals = |t: &Trial| {
                let values = t.values.as_ref()?;
                Some(self.goals.iter().zip(values).map(|(goal, x)| goal.sign() * x).collect())
            };
            Ok(trials[begin..].iter().map(goals).collect::<Vec<Option<Vec<f64>>>>())
        })?;
        let is_whole = !options.is_stopped();
        if is_whole && trials.iter().all(|t| t.values.is_none()) {
            let refused: Vec<&String> = trials.iter().filter_map(|t| t.refused.as_ref()).collect();
            let lacks = |m: &&Quantity| last.as_ref().is_some_and(|results| results.lacks(m).is_some());
            let metric = metrics.iter().find(lacks).unwrap_or(&metrics[0]);
            return Err(nothing(metric, &self.scope, last.as_ref(), &refused, trials.len()));
        }
        let front = front(&tried);
        bench.forgo((self.trials - trials.len()) * self.seeds);
        let mut found = Tuned {
            algorithm,
            link: bench.view.link.clone().unwrap_or_default(),
            scope: self.scope.clone(),
            fields: fields.iter().map(|field| field.to_string()).collect(),
            field_units: self.over.iter().map(|axis| axis.unit.clone()).collect(),
            goals: self.goals.clone(),
            units,
            trials,
            front,
            seeds,
            fresh_seeds: Bench::fresh(self.seeds, self.fresh),
            checks: Vec::new(),
            verdict: None,
            drawn_starts: bench.drawn.clone(),
            interrupted: !is_whole,
        };
        if is_whole {
            self.check(&mut found, &mut bench, &metrics)?;
            found.interrupted = options.is_stopped();
        }
        Ok(found)
    }

    /// Runs what was found, the scenario's own setting and the ends of the ranges on fresh seeds.
    fn check(
        &self,
        found: &mut Tuned,
        bench: &mut Bench<'_, '_>,
        metrics: &[Quantity],
    ) -> Result<(), SearchError> {
        let own = |field: &String| Setting { field: field.clone(), value: bench.own_value(field) };
        let own: Vec<Setting> = found.fields.iter().map(own).collect();
        let best = evenly(&found.front, MOST_CHECKED).map(|trial| bench.settings(&found.trials[trial].at));
        let best: Vec<Vec<Setting>> = best.collect();
        let mut all = vec![(Kind::Own, own.clone(), Ok(bench.own()))];
        for (i, axis) in self.over.iter().enumerate() {
            for end in [axis.from, axis.to] {
                let mut settings = own.clone();
                settings[i].value = axis.text(end);
                if !best.contains(&settings) {
                    let point = bench.with(&settings[i..=i]);
                    all.push((Kind::End, settings, point));
                }
            }
        }
        all.extend(best.into_iter().map(|settings| {
            let point = bench.with(&settings);
            (Kind::Best, settings, point)
        }));
        let points: Vec<Point> = all.iter().filter_map(|(.., p)| p.as_ref().ok()).cloned().collect();
        let same = points.last().map(|p| p.scenario == points[0].scenario);
        let results = bench.run(points, &found.fresh_seeds)?;
        let mut number = 0;
        for (kind, settings, point) in all {
            let nothing = vec![None; metrics.len()];
            let check = match point {
                Err(error) => Check {
                    kind,
                    settings,
                    values: nothing.clone(),
                    differences: nothing,
                    refused: Some(error.reason()),
                    scenario: String::new(),
                },
                Ok(point) => {
                    let of = |m: &Quantity| compare(bench, &results, number, &found.algorithm, m);
                    let (values, differences) = metrics.iter().map(of).unzip();
                    number += 1;
                    let scenario = bench.dressed(point, &found.fresh_seeds).to_toml();
                    Check { kind, settings, values, differences, refused: None, scenario }
                }
            };
            found.checks.push(check);
        }
        if let ([goal], Some(best)) = (self.goals.as_slice(), found.checks.last()) {
            found.verdict = best.differences[0].map(|d| match d.interval() {
                _ if same == Some(true) => Verdict::Same,
                None => Verdict::NoInterval,
                Some((low, high)) if low > 0.0 || high < 0.0 => {
                    if goal.sign() * d.mean < 0.0 {
                        Verdict::Better
                    } else {
                        Verdict::Worse
                    }
                }
                Some(_) => Verdict::Undecided,
            });
        }
        Ok(())
    }
}

/// A metric at a point of results, and its difference from the first point, paired by seed.
fn compare(
    bench: &Bench<'_, '_>,
    results: &Results,
    point: usize,
    label: &str,
    metric: &Quantity,
) -> (Option<Estimate>, Option<Estimate>) {
    let samples = |point| bench.samples(results, point, label, metric);
    let Some(here) = samples(point) else { return (None, None) };
    let value = bench.estimate(results, &[point], &here);
    let difference = samples(0).filter(|_| point > 0).and_then(|own| {
        let pairs: Vec<f64> = here.iter().zip(&own).map(|(a, b)| a - b).collect();
        bench.estimate(results, &[0, point], &pairs)
    });
    (value, difference)
}

/// At most so many of a list, its ends among them.
fn evenly(all: &[usize], most: usize) -> impl Iterator<Item = usize> {
    let count = all.len().min(most);
    (0..count).map(move |i| all[if count < 2 { 0 } else { i * (all.len() - 1) / (count - 1) }])
}
