//! The comparison of candidates with a capture.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::Serialize;

use crate::candidate::Discipline;
use crate::likelihood::{Likelihood, Model, Tried, beyond};
use crate::observed::Observed;
use crate::simulated::{Run, SimulationError};
use crate::statistics::{NAMES, Statistics};

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The disciplines that are tried.
    pub disciplines: Vec<Discipline>,
    /// Seeds of each value.
    pub seeds: u32,
    /// The congestion control of the senders, as scenarios name it.
    pub tcp: String,
}

/// A value of a parameter with an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The most likely value.
    pub value: f64,
    /// The bounds between which it is with 95%.
    pub within: [f64; 2],
    /// A bound is the end of what was tried.
    pub is_open: bool,
}

/// A discipline, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// The discipline.
    pub discipline: Discipline,
    /// Its posterior probability among those that were tried, with flat priors.
    pub probability: f64,
    /// The logarithm of its evidence over that of the best: 0 or less.
    pub log_evidence: f64,
    /// Its parameter, in seconds.
    pub parameter: Interval,
    /// How well its simulations explain the capture: the tail of chi-squared beyond the capture's distance from them, with
    /// the tolerances of the method added to the variance. It is high if nothing contradicts, and is not a p-value.
    pub fit: f64,
    /// The statistics that lie farthest from its simulations, in deviations, the farthest first.
    pub farthest: Vec<(&'static str, f64)>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The disciplines, the most likely first.
    pub found: Vec<Found>,
    /// The number of simulations.
    pub runs: usize,
}

/// The progress of the simulations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs that are done.
    pub done: usize,
    /// Runs in all, as far as known.
    pub total: usize,
}

impl Answer {
    /// The least fit of a discipline that explains the capture.
    pub const LEAST_FIT: f64 = 0.001;
    /// A discipline of which one statistic lies farther than this, in deviations, does not explain the capture either.
    pub const FARTHEST: f64 = 4.0;
    /// Evidence is strong above this factor (Kass and Raftery 1995, section 3.2).
    pub const STRONG: f64 = 20.0;

    /// The disciplines that explain the capture and that no other rules out, the most likely first; empty if none of those
    /// tried explains it.
    pub fn likely(&self) -> Vec<&Found> {
        let fits: Vec<&Found> = self.found.iter().filter(|found| found.explains()).collect();
        let best = fits.first().map_or(0.0, |found| found.log_evidence);
        let near = |found: &&Found| best - found.log_evidence < libm::log(Self::STRONG);
        // Where the most likely one of all does not fit, what is far less likely does not either.
        let fits = fits.into_iter().filter(|found| found.log_evidence > -libm::log(Self::STRONG));
        fits.filter(near).collect()
    }
}

impl Found {
    /// Its simulations explain the capture.
    pub fn explains(&self) -> bool {
        let is_near = self.farthest.first().is_none_or(|(_, off)| libm::fabs(*off) <= Answer::FARTHEST);
        self.fit >= Answer::LEAST_FIT && is_near
    }
}

/// Values beside the best that the second round tries, as shares of the way to its neighbors.
const FINER: [f64; 2] = [1.0 / 3.0, 2.0 / 3.0];
/// Disciplines whose evidence is less than the best's by more than this, as a logarithm, get no second round.
const HOPELESS: f64 = 30.0;
/// Places at which the posterior is computed.
const PLACES: u32 = 400;

/// Compares the candidates with what was observed; tells `progress` after each run, on any thread. `None` if it was
/// stopped.
///
/// # Errors
/// If a simulation fails.
pub fn identify(
    observed: &Observed,
    question: &Question,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Option<Answer>, SimulationError> {
    let done = AtomicUsize::new(0);
    let seeds = question.seeds as usize;
    let first: Vec<(Discipline, f64)> = question
        .disciplines
        .iter()
        .flat_map(|discipline| discipline.grid(observed).into_iter().map(|value| (*discipline, value)))
        .collect();
    // The second round is at most four values of each discipline.
    let total = (first.len() + 4 * question.disciplines.len()) * seeds;
    let tell = || {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        progress(Progress { done, total });
    };
    let Some(mut tried) = round(observed, question, &first, &tell, stop)? else { return Ok(None) };
    let rough = compare(observed, question, &tried);
    let mut second = Vec::new();
    for found in rough.iter().filter(|found| found.log_evidence > -HOPELESS) {
        let own = tried.iter().filter(|(discipline, _)| *discipline == found.discipline);
        let mut places: Vec<f64> = own.map(|(_, tried)| tried.place).collect();
        places.sort_by(f64::total_cmp);
        let best = libm::log(found.parameter.value);
        let nearest = |a: &f64, b: &f64| libm::fabs(a - best).total_cmp(&libm::fabs(b - best));
        let Some(at) = places.iter().copied().min_by(nearest) else { continue };
        let i = places.partition_point(|place| *place < at);
        for (a, b) in [(i.wrapping_sub(1), i), (i, i + 1)] {
            if let (Some(a), Some(b)) = (places.get(a), places.get(b)) {
                second.extend(FINER.map(|share| (found.discipline, libm::exp(a + share * (b - a)))));
            }
        }
    }
    let Some(finer) = round(observed, question, &second, &tell, stop)? else { return Ok(None) };
    tried.extend(finer);
    let found = compare(observed, question, &tried);
    Ok(Some(Answer { found, runs: (first.len() + second.len()) * seeds }))
}

/// Runs all seeds of values.
fn round(
    observed: &Observed,
    question: &Question,
    values: &[(Discipline, f64)],
    tell: &(dyn Fn() + Sync),
    stop: &AtomicBool,
) -> Result<Option<Vec<(Discipline, Tried)>>, SimulationError> {
    let seeds = u64::from(question.seeds);
    let runs: Vec<Run> = values
        .iter()
        .flat_map(|(discipline, value)| {
            (1..=seeds).map(|seed| Run { discipline: *discipline, value: *value, seed })
        })
        .collect();
    let one = |run: &Run| {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let found = run.statistics(observed, &question.tcp)?;
        tell();
        Ok(Some(found))
    };
    let found: Vec<Option<Statistics>> = runs.par_iter().map(one).collect::<Result<_, SimulationError>>()?;
    let Some(found) = found.into_iter().collect::<Option<Vec<Statistics>>>() else { return Ok(None) };
    let each = found.chunks(question.seeds.max(1) as usize);
    let tried = values.iter().zip(each).map(|((discipline, value), seeds)| {
        (*discipline, Tried { place: libm::log(*value), seeds: seeds.to_vec() })
    });
    Ok(Some(tried.collect()))
}

/// The posterior of what was tried, the most likely first.
fn compare(observed: &Observed, question: &Question, tried: &[(Discipline, Tried)]) -> Vec<Found> {
    let mut found: Vec<Found> = question
        .disciplines
        .iter()
        .map(|discipline| {
            let own: Vec<Tried> =
                tried.iter().filter(|(d, _)| d == discipline).map(|(_, t)| t.clone()).collect();
            posterior(*discipline, &own, observed)
        })
        .collect();
    found.sort_by(|a, b| b.log_evidence.total_cmp(&a.log_evidence));
    let best = found.first().map_or(0.0, |found| found.log_evidence);
    found.iter_mut().for_each(|found| found.log_evidence -= best);
    let sum: f64 = found.iter().map(|found| libm::exp(found.log_evidence)).sum();
    found.iter_mut().for_each(|found| found.probability = libm::exp(found.log_evidence) / sum);
    found
}

/// The evidence of a discipline and the posterior of its parameter: the likelihood, summed over the logarithm of the
/// parameter, over the width of the prior.
fn posterior(discipline: Discipline, tried: &[Tried], observed: &Observed) -> Found {
    let model = Model::of(tried);
    let ends = tried.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], tried| {
        [low.min(tried.place), high.max(tried.place)]
    });
    let step = (ends[1] - ends[0]) / f64::from(PLACES);
    let places: Vec<f64> = (0..=PLACES).map(|i| ends[0] + f64::from(i) * step).collect();
    let all: Vec<Likelihood> = places.iter().map(|place| model.at(*place, &observed.statistics)).collect();
    let best = (0..all.len()).max_by(|a, b| all[*a].log.total_cmp(&all[*b].log)).unwrap_or(0);
    let top = all[best];
    let weights: Vec<f64> = all.iter().map(|likelihood| libm::exp(likelihood.log - top.log)).collect();
    let sum: f64 = weights.iter().sum();
    let quantile = |share: f64| {
        let mut so_far = 0.0;
        let at = weights.iter().position(|weight| {
            so_far += weight;
            so_far >= share * sum
        });
        places[at.unwrap_or(places.len() - 1)]
    };
    let [low, high] = discipline.range(observed);
    let width = libm::log(high / low);
    let bounds = [quantile(0.025), quantile(0.975)];
    let is_open = bounds[0] <= places[0] + 2.0 * step || bounds[1] >= places[places.len() - 1] - 2.0 * step;
    let mut farthest: Vec<(&'static str, f64)> =
        NAMES.iter().copied().zip(model.deviations(places[best], &observed.statistics)).collect();
    farthest.sort_by(|a, b| libm::fabs(b.1).total_cmp(&libm::fabs(a.1)));
    farthest.truncate(3);
    Found {
        discipline,
        probability: 0.0,
        log_evidence: top.log + libm::log(sum * step / width),
        parameter: Interval { value: libm::exp(places[best]), within: bounds.map(libm::exp), is_open },
        fit: beyond(top.distance),
        farthest,
    }
}
