//! The traffic under which one algorithm loses most against another.

use std::collections::HashMap;

use quell_metrics::{Estimate, Results};
use quell_scenario::{Document, Point, Setting};
use serde::Serialize;

use crate::axis::Axis;
use crate::explore::{Exploration, front};
use crate::options::Options;
use crate::search::SearchError;
use crate::trials::{Asked, Bench, Prepared, nothing};
use crate::tune::Goal;

/// A search for the traffic under which `a` loses most against `b`.
#[derive(Clone, Debug, PartialEq)]
pub struct Adversary {
    /// The label of the algorithm that is to lose.
    pub a: String,
    /// The label of the other one.
    pub b: String,
    /// The metric, and the direction in which it is better.
    pub goal: Goal,
    /// The fields that vary, and their bounds.
    pub over: Vec<Axis>,
    /// The link; `None`: the first observed one.
    pub link: Option<String>,
    /// The traffic: "all", "data" or a class.
    pub scope: String,
    /// No more trials than this in each of both searches.
    pub trials: usize,
    /// The seeds of each trial: 1, 2, ... up to this.
    pub seeds: usize,
    /// The number of fresh seeds that confirm a case: those that follow.
    pub fresh: usize,
    /// The seed of the search itself.
    pub seed: u64,
}

/// The traffic that was found, on fresh seeds. The loser is the algorithm for whose loss it was searched.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// The algorithm that is to lose.
    pub loser: String,
    /// The other one.
    pub winner: String,
    /// The value of each field, with its unit.
    pub settings: Vec<Setting>,
    /// The mean relative loss in the search, on its own seeds.
    pub searched_loss: f64,
    /// The relative loss: the difference over the larger of both values, per seed. It is above 0 if the loser loses,
    /// and is within -1 and 1 for metrics that are not negative.
    pub loss: Option<Estimate>,
    /// The metric of the loser.
    pub loser_value: Option<Estimate>,
    /// The metric of the other one.
    pub winner_value: Option<Estimate>,
    /// The loser's value minus the other's, paired by seed.
    pub difference: Option<Estimate>,
    /// The answer on the fresh seeds. `None`: they were not finished, or have no value.
    pub verdict: Option<Loss>,
    /// The scenario with every default, of which `quell run` gives these figures.
    #[serde(skip)]
    pub scenario: String,
}

/// The answer to the question whether an algorithm loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// It does.
    Loses,
    /// It does not even there: this is the closest case.
    DoesNot,
    /// The interval of the loss holds 0.
    Undecided,
}

/// The outcome of both searches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Adversaries {
    /// The link.
    pub link: String,
    /// The traffic.
    pub scope: String,
    /// The names of the fields.
    pub fields: Vec<String>,
    /// The metric, with the direction that is better.
    pub goal: Goal,
    /// Its unit; "1" for a pure number.
    pub unit: String,
    /// The trials of both searches together, each once.
    pub trials: usize,
    /// The trials that the scenario refused.
    pub refused: usize,
    /// The trials in which the metric has no value for each seed and algorithm.
    pub without_value: usize,
    /// The seeds of each trial.
    pub seeds: Vec<u64>,
    /// The seeds of the confirmation.
    pub fresh_seeds: Vec<u64>,
    /// The worst case of `a`, then that of `b`; fewer if it was stopped.
    pub cases: Vec<Case>,
    /// The start times that the seeds draw and the scenario does not, in words.
    pub drawn_starts: Vec<String>,
    /// True if it was stopped before all was done.
    pub interrupted: bool,
}

/// The loss of `a` against `b` relative to the larger of both; 0 where both are 0. Swapped, its sign is the other.
fn relative_loss(goal: &Goal, a: f64, b: f64) -> f64 {
    let larger = a.abs().max(b.abs());
    if larger == 0.0 { 0.0 } else { goal.sign() * (a - b) / larger }
}

/// What is known of a trial: the mean loss of `a`. An error is the reason why the scenario is refused.
type Known = HashMap<Vec<u64>, Result<Option<f64>, String>>;

impl Adversary {
    /// Searches a scenario for the worst case of each algorithm against the other.
    ///
    /// # Errors
    /// If the question does not fit the scenario, if no trial has a value, or if a replication cannot be run.
    pub fn search(&self, scenario: &Document, options: &Options<'_>) -> Result<Adversaries, SearchError> {
        let question = |why: String| SearchError::Question(why);
        if self.a == self.b {
            return Err(question(format!("{} is both: name two algorithms", self.a)));
        }
        let metrics = [self.goal.metric.clone()];
        let asked = Asked {
            over: &self.over,
            metrics: &metrics,
            link: self.link.as_ref(),
            scope: &self.scope,
            trials: self.trials,
            seeds: self.seeds,
            fresh: self.fresh,
        };
        let both = |point: &Point| {
            let there: Vec<&str> = point.scenario.aqm.iter().map(|aqm| aqm.label()).collect();
            let labels = [&self.a, &self.b].map(String::clone);
            match labels.iter().find(|label| !there.contains(&label.as_str())) {
                Some(label) => {
                    Err(question(format!("algorithm \"{label}\": the scenario has {}", there.join(", "))))
                }
                None => Ok(labels.to_vec()),
            }
        };
        let mut bench = Bench::new(scenario, asked, options, both)?;
        bench.plan(2 * (self.trials * self.seeds + self.fresh));
        let (mut known, mut last) = (Known::new(), None);
        let mut worst: Vec<Option<(Vec<f64>, f64)>> = Vec::new();
        for sign in [1.0, -1.0] {
            let found = self.worst(&mut bench, sign, &mut known, &mut last)?;
            worst.push(found);
            if options.is_stopped() {
                break;
            }
        }
        let refused: Vec<&String> = known.values().filter_map(|k| k.as_ref().err()).collect();
        let without_value = known.values().filter(|k| matches!(k, Ok(None))).count();
        if !options.is_stopped() && refused.len() + without_value == known.len() {
            return Err(nothing(&metrics[0], &self.scope, last.as_ref(), &refused, known.len()));
        }
        let mut all = Adversaries {
            link: bench.view.link.clone().unwrap_or_default(),
            scope: self.scope.clone(),
            fields: self.over.iter().map(|axis| axis.name.clone()).collect(),
            goal: self.goal.clone(),
            unit: last.as_ref().map_or(String::new(), |results| results.unit(&metrics[0])),
            trials: known.len(),
            refused: refused.len(),
            without_value,
            seeds: Bench::seeds(self.seeds),
            fresh_seeds: Bench::fresh(self.seeds, self.fresh),
            cases: Vec::new(),
            drawn_starts: bench.drawn.clone(),
            interrupted: false,
        };
        let roles = [(&self.a, &self.b), (&self.b, &self.a)];
        for (found, (loser, winner)) in worst.into_iter().zip(roles) {
            if let Some((at, loss)) = found {
                all.cases.push(self.confirm(&mut bench, &at, loss, (loser, winner), &all.fresh_seeds)?);
            }
        }
        all.interrupted = options.is_stopped();
        Ok(all)
    }

    /// The place where the loss of `a` times `sign` is largest, and that loss. What is known is not run again.
    fn worst(
        &self,
        bench: &mut Bench<'_, '_>,
        sign: f64,
        known: &mut Known,
        last: &mut Option<Results>,
    ) -> Result<Option<(Vec<f64>, f64)>, SearchError> {
        let seeds = Bench::seeds(self.seeds);
        let key = |at: &[f64]| at.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        let loss = |known: &Known, at: &[f64]| known.get(&key(at)).and_then(|k| k.clone().ok().flatten());
        // The other search may have met what is worst for this one.
        let mut first = bench.known_places();
        let met = known.iter().filter_map(|(at, k)| Some((at, sign * k.as_ref().ok().copied()??)));
        let met = met.max_by(|x, y| x.1.total_cmp(&y.1).then(x.0.cmp(y.0)));
        first.extend(met.map(|(at, _)| at.iter().map(|x| f64::from_bits(*x)).collect()));
        let ways = bench.ways.clone();
        let tried = Exploration::new(&ways, self.trials, self.seed).run(
            &first,
            |batch| -> Result<_, SearchError> {
                let new: Vec<&Vec<f64>> = batch.iter().filter(|at| !known.contains_key(&key(at))).collect();
                let prepared: Vec<Prepared> = new.iter().map(|at| bench.prepare(at)).collect();
                let points: Vec<Point> = prepared.iter().filter_map(|p| p.as_ref().ok()).cloned().collect();
                bench.forgo((batch.len() - points.len()) * self.seeds);
                let results = if points.is_empty() { None } else { Some(bench.run(points, &seeds)?) };
                let mut number = 0;
                for (at, prepared) in new.into_iter().zip(prepared) {
                    let what = match (prepared, &results) {
                        (Err(error), _) => Err(error.reason()),
                        (Ok(_), Some(results)) => {
                            let is_finished = bench.is_finished(results, number);
                            number += 1;
                            if !is_finished {
                                continue;
                            }
                            let losses = self.losses(bench, results, number - 1, (&self.a, &self.b));
                            Ok(losses.and_then(|(losses, ..)| Some(Estimate::of(&losses)?.mean)))
                        }
                        (Ok(_), None) => continue,
                    };
                    known.insert(key(at), what);
                }
                if results.is_some() {
                    *last = results;
                }
                let finished = batch.iter().take_while(|at| known.contains_key(&key(at)));
                Ok(finished.map(|at| Some(vec![-sign * loss(known, at)?])).collect())
            },
        )?;
        bench.forgo((self.trials - tried.len()) * self.seeds);
        let best = front(&tried).first().map(|trial| tried[*trial].at.clone());
        Ok(best.and_then(|at| {
            let loss = sign * loss(known, &at)?;
            Some((at, loss))
        }))
    }

    /// The relative loss of the first algorithm per seed, and the values of both.
    fn losses(
        &self,
        bench: &Bench<'_, '_>,
        results: &Results,
        point: usize,
        (a, b): (&str, &str),
    ) -> Option<(Vec<f64>, Vec<f64>, Vec<f64>)> {
        let of = |label: &str| bench.samples(results, point, label, &self.goal.metric);
        let (a, b) = (of(a)?, of(b)?);
        let losses = a.iter().zip(&b).map(|(a, b)| relative_loss(&self.goal, *a, *b)).collect();
        Some((losses, a, b))
    }

    /// Runs a case on fresh seeds.
    fn confirm(
        &self,
        bench: &mut Bench<'_, '_>,
        at: &[f64],
        searched_loss: f64,
        (loser, winner): (&String, &String),
        fresh: &[u64],
    ) -> Result<Case, SearchError> {
        let point = bench.prepare(at)?;
        let results = bench.run(vec![point.clone()], fresh)?;
        let found = self.losses(bench, &results, 0, (loser, winner));
        let (loss, loser_value, winner_value, difference) = match found {
            None => (None, None, None, None),
            Some((losses, a, b)) => {
                let pairs: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
                let of = |samples: &[f64]| bench.estimate(&results, &[0], samples);
                (of(&losses), of(&a), of(&b), of(&pairs))
            }
        };
        let verdict = loss.map(|loss| match loss.interval().unwrap_or((loss.mean, loss.mean)) {
            (low, _) if low > 0.0 => Loss::Loses,
            (_, high) if high <= 0.0 => Loss::DoesNot,
            _ => Loss::Undecided,
        });
        Ok(Case {
            loser: loser.clone(),
            winner: winner.clone(),
            settings: bench.settings(at),
            searched_loss,
            loss,
            loser_value,
            winner_value,
            difference,
            verdict,
            scenario: bench.dressed(point, fresh).to_toml(),
        })
    }
}
