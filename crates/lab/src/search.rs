//! The place on an axis where a metric crosses a value.
//!
//! Bisection, in which noise is taken for what it is: on which side of the value the metric is at a probe is
//! decided by an interval over seeds, with more seeds where it is undecided. The probes share the error, so the
//! interval that is found holds the crossing with the stated probability; where a probe remains undecided, the
//! search goes on at both sides of it, so that what is found is as narrow as the seeds allow.

use std::time::Instant;

use quell_metrics::{ERROR, Estimate, Looks, Quantity, View, Width, check_class, distinct};
use quell_scenario::values::Seeds;
use quell_scenario::{Document, Point, ScenarioError, Study};
use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::options::{Options, Progress, RunError};
use crate::replicate::Ended;
use crate::run::run;

/// Each probe leaves at most this share of what it divides: probes are round numbers near the middle.
const SHRINK: f64 = 0.6;
/// The share of an axis of equal steps below which no relative tolerance asks.
const FINEST: f64 = 1e-3;

/// A crossing that is looked for on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Bisection {
    /// The axis.
    pub axis: Axis,
    /// Only whole numbers are probed.
    pub whole: bool,
    /// The value that is crossed.
    pub crosses: f64,
    /// The width that the interval for the crossing may have: all of it, relative to the crossing or in the
    /// axis's unit.
    pub tolerance: Width,
    /// No more seeds than this for a probe, at least 2.
    pub max_seeds: usize,
}

/// The side of the value on which a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Less.
    Below,
    /// More.
    Above,
}

/// One value at which the metric was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The value on the axis, without its unit.
    pub at: f64,
    /// The metric there, with the interval that decided: wider than the usual one.
    pub estimate: Estimate,
    /// The side that this is; `None`: all seeds left it undecided.
    pub side: Option<Side>,
}

/// The ending of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The interval is within the tolerance.
    Found,
    /// It is wider: within it there are probes that all seeds left undecided.
    Undecided,
    /// The metric is on the same side at both ends: no crossing is known.
    SameSide,
    /// All seeds left an end undecided.
    EndUndecided,
    /// It was stopped; what is known until then.
    Interrupted,
}

/// The result of a search on an axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossing {
    /// Its ending.
    pub ending: Ending,
    /// The interval that holds the crossing, if one is known: with a probability of at least 95%, for normal
    /// samples and a metric that crosses the value once.
    pub interval: Option<(f64, f64)>,
    /// True if the metric rises along the axis, if that is known.
    pub rises: Option<bool>,
    /// The probes, in their order.
    pub probes: Vec<Probe>,
}

/// The samples of a probe, and true if the scenario leaves nothing to chance, so that they are certain.
pub type Samples<E> = Result<(Vec<f64>, bool), Ended<E>>;

impl Bisection {
    /// Looks for the crossing. `sample` gives the metric at a value for the seeds after the first number, up to
    /// the second.
    ///
    /// # Errors
    /// Those with which `sample` failed.
    pub fn search<E>(&self, mut sample: impl FnMut(f64, usize, usize) -> Samples<E>) -> Result<Crossing, E> {
        let mut found =
            Crossing { ending: Ending::Interrupted, interval: None, rises: None, probes: Vec::new() };
        match self.narrow_down(&mut found, &mut sample) {
            Ok(ending) => found.ending = ending,
            Err(Ended::Stopped) => {}
            Err(Ended::Failed(error)) => return Err(error),
        }
        Ok(found)
    }

    /// Looks for the crossing until it is known well enough.
    fn narrow_down<E>(
        &self,
        found: &mut Crossing,
        sample: &mut impl FnMut(f64, usize, usize) -> Samples<E>,
    ) -> Result<Ending, Ended<E>> {
        let most = self.most_probes();
        let looks = Looks::new(self.max_seeds, ERROR / most as f64);
        let mut probe = |at: f64, found: &mut Crossing| -> Result<Option<Side>, Ended<E>> {
            let probe = self.probe(at, &looks, sample)?;
            found.probes.push(probe);
            Ok(probe.side)
        };
        let (mut low, mut high) = (self.axis.from, self.axis.to);
        let (Some(first), Some(last)) = (probe(low, found)?, probe(high, found)?) else {
            return Ok(Ending::EndUndecided);
        };
        if first == last {
            return Ok(Ending::SameSide);
        }
        (found.interval, found.rises) = (Some((low, high)), Some(last == Side::Above));
        // Between them all probes were undecided.
        let mut undecided: Option<(f64, f64)> = None;
        while found.probes.len() < most {
            let at = match undecided {
                None if self.is_narrow(low, high, 1.0) => None,
                None => self.middle(low, high),
                Some((from, to)) => [(low, from), (to, high)]
                    .into_iter()
                    .filter(|(a, b)| !self.is_narrow(*a, *b, 0.5))
                    .filter_map(|(a, b)| Some((self.length(a, b), self.middle(a, b)?)))
                    .max_by(|x, y| x.0.total_cmp(&y.0))
                    .map(|(_, at)| at),
            };
            let Some(at) = at else { break };
            match probe(at, found)? {
                Some(side) if side == first => {
                    low = at;
                    // Beyond what was undecided: only what is still ahead remains so.
                    undecided = undecided.filter(|(from, _)| *from > at);
                }
                Some(_) => {
                    high = at;
                    undecided = undecided.filter(|(_, to)| *to < at);
                }
                None => {
                    undecided = Some(undecided.map_or((at, at), |(from, to)| (from.min(at), to.max(at))));
                }
            }
            found.interval = Some((low, high));
        }
        let narrow =
            self.is_narrow(low, high, 1.0) || (undecided.is_none() && self.middle(low, high).is_none());
        Ok(if narrow { Ending::Found } else { Ending::Undecided })
    }

    /// Measures at a value until its side is decided.
    fn probe<E>(
        &self,
        at: f64,
        looks: &Looks,
        sample: &mut impl FnMut(f64, usize, usize) -> Samples<E>,
    ) -> Result<Probe, Ended<E>> {
        let mut samples = Vec::new();
        let mut seeds = 0;
        let mut last =
            Probe { at, estimate: Estimate { mean: f64::NAN, half_width: None, n: 0 }, side: None };
        for look in looks.iter() {
            let (more, fixed) = sample(at, seeds, look.samples)?;
            samples.extend(more);
            seeds = look.samples;
            let Some(estimate) = Estimate::with_error(&samples, look.error) else { continue };
            let side = estimate.interval().and_then(|(low, high)| match () {
                () if low > self.crosses => Some(Side::Above),
                () if high < self.crosses => Some(Side::Below),
                () => None,
            });
            // What was seen with no seed may be seldom: how seldom, such samples do not say, unless the scenario
            // leaves nothing to chance.
            let equal = estimate.half_width == Some(0.0);
            let side = side.filter(|_| fixed || !equal || estimate.mean != 0.0);
            last = Probe { at, estimate, side };
            if side.is_some() || (equal && estimate.mean != 0.0) || fixed {
                break;
            }
        }
        Ok(last)
    }

    /// A place on the axis on which steps are equal.
    fn place(&self, x: f64) -> f64 {
        if self.axis.logarithmic { x.ln() } else { x }
    }

    fn length(&self, low: f64, high: f64) -> f64 {
        self.place(high) - self.place(low)
    }

    /// The width that an interval around `x` may have.
    fn tolerance_at(&self, x: f64) -> f64 {
        match self.tolerance {
            Width::Absolute(width) => width,
            Width::Relative(share) if self.axis.logarithmic => share * x,
            Width::Relative(share) => (share * x.abs()).max(FINEST * (self.axis.to - self.axis.from)),
        }
    }

    /// True if the interval is within this part of the tolerance.
    fn is_narrow(&self, low: f64, high: f64, part: f64) -> bool {
        high - low <= part * self.tolerance_at(low.abs().max(high.abs()))
    }

    /// No search needs more probes: each leaves at most [`SHRINK`] of an interval; from the first undecided
    /// probe on, one at either side is divided, until each is half the tolerance.
    fn most_probes(&self) -> usize {
        let (from, to) = (self.axis.from, self.axis.to);
        let whole = self.length(from, to);
        let finest = |x: f64| {
            let apart = self.axis.values.windows(2).map(|pair| pair[1] - pair[0]).reduce(f64::min);
            let apart = apart.unwrap_or(if self.whole { 1.0 } else { 0.0 });
            let tolerance = self.tolerance_at(x).max(apart);
            // On a logarithmic axis, as a length there.
            let tolerance = if self.axis.logarithmic { (tolerance / x).ln_1p() } else { tolerance };
            (whole / tolerance.max(f64::MIN_POSITIVE)).max(1.0)
        };
        // The tolerance is finest at an end, or at 0.
        let inside = if from <= 0.0 && to >= 0.0 { 0.0 } else { from.abs().min(to.abs()) };
        let most = if self.axis.logarithmic { finest(from).max(finest(to)) } else { finest(inside) };
        let halvings = (most.ln() / -SHRINK.ln()).ceil();
        2 + 2 * (halvings as usize + 2)
    }

    /// The roundest number near the middle; `None` if there is none between.
    fn middle(&self, low: f64, high: f64) -> Option<f64> {
        let (a, b) = (self.place(low), self.place(high));
        let back = |p: f64| if self.axis.logarithmic { p.exp() } else { p };
        let (from, center, to) =
            (back(b - SHRINK * (b - a)), back((a + b) / 2.0), back(a + SHRINK * (b - a)));
        if !self.axis.values.is_empty() {
            let inside = self.axis.values.iter().copied().filter(|x| low < *x && *x < high);
            let off = |x: f64| (self.place(x) - (a + b) / 2.0).abs();
            return inside.min_by(|x, y| off(*x).total_cmp(&off(*y)));
        }
        if self.whole {
            let at = center.round();
            return (low < at && at < high).then_some(at);
        }
        let rounded = |digits: usize| format!("{center:.*e}", digits).parse::<f64>().ok();
        let at = (0..17).filter_map(rounded).find(|x| from <= *x && *x <= to).unwrap_or(center);
        (low < at && at < high).then_some(at)
    }
}

/// A crossing that is looked for in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// The field of the scenario that varies, as its name, and its values.
    pub over: Axis,
    /// The figure: a metric, perhaps of a class, a ratio, or the average of an internal signal.
    pub metric: Quantity,
    /// The value that it crosses, in its unit.
    pub crosses: f64,
    /// The algorithm, by its label. None: the one that the field names (`aqm.NAME. ...`), or the only one.
    pub algorithm: Option<String>,
    /// The link; `None`: the first observed one.
    pub link: Option<String>,
    /// The traffic: "all", "data" or a class.
    pub scope: String,
    /// The width that the interval for the crossing may have.
    pub tolerance: Width,
    /// No more seeds than this for a probe, at least 2.
    pub max_seeds: usize,
}

/// The result of a search in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Searched {
    /// The algorithm.
    pub algorithm: String,
    /// The link.
    pub link: String,
    /// The unit of the figure; "1" for a pure number.
    pub unit: String,
    /// True if only whole numbers were probed, because the field takes no others.
    pub whole: bool,
    /// The result on the axis.
    pub crossing: Crossing,
}

/// The reason for which a search found nothing out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The scenario is wrong, perhaps at a value of the axis.
    #[error(transparent)]
    Scenario(Box<ScenarioError>),
    /// A replication could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The question does not fit the scenario.
    #[error("{0}")]
    Question(String),
}

impl From<ScenarioError> for SearchError {
    fn from(error: ScenarioError) -> Self {
        SearchError::Scenario(Box::new(error))
    }
}

impl Search {
    /// Looks for the crossing in a scenario, with the seeds 1, 2, 3, ... at each value.
    ///
    /// # Errors
    /// If the scenario is wrong at a value, has several points or no such algorithm, link or metric, or if a
    /// replication cannot be run.
    pub fn search(&self, scenario: &Document, options: &Options<'_>) -> Result<Searched, SearchError> {
        let fail = |why: String| Err(SearchError::Question(why));
        if self.max_seeds < 2 {
            return fail(format!("max seeds = {}: must be at least 2, for an interval", self.max_seeds));
        }
        let (first, whole) = self.kind(scenario, options)?;
        let [point] = first.points.as_slice() else {
            let n = first.points.len();
            return fail(format!("a search needs a scenario that is one point, not a sweep over {n}"));
        };
        let algorithm = choose(self.algorithm.as_ref(), &[self.over.name.as_str()], point)?;
        check_class(&self.metric, &first).map_err(SearchError::Question)?;
        let mut unit = String::new();
        let links = point.links();
        let link = match &self.link {
            Some(link) if !links.contains(link) => {
                return fail(format!("link \"{link}\": there are {}", links.join(", ")));
            }
            Some(link) => link.clone(),
            // A scenario has a link.
            None => links.first().cloned().unwrap_or_default(),
        };
        let view = View { point: 0, link: Some(link.clone()), segment: None, scope: self.scope.clone() };
        let clock = Instant::now();
        let mut before = 0;
        let sample = |at: f64, from: usize, to: usize| -> Samples<SearchError> {
            let mut study = self.study(scenario, at, options).map_err(SearchError::from)?;
            for point in &mut study.points {
                point.scenario.seeds = Seeds::List((from as u64 + 1..=to as u64).collect());
                point.scenario.aqm.retain(|aqm| aqm.label() == algorithm);
            }
            let note = |part: &Progress| {
                let (finished, total) = (before + part.finished, before + part.total);
                let done = (before as f64 + part.done * part.total as f64) / total.max(1) as f64;
                let whole = Progress { done, finished, total, elapsed: clock.elapsed(), ..*part };
                options.progress.iter().for_each(|progress| progress(&whole));
            };
            let results = run(&study, &Options { progress: Some(&note), ..options.clone() });
            let results = results.map_err(SearchError::from)?;
            if results.run.partial {
                return Err(Ended::Stopped);
            }
            before += results.replications.len();
            let samples: Vec<f64> =
                results.samples(&view, &algorithm, &self.metric).iter().map(|s| s.1).collect();
            if let Some(why) = results.lacks(&self.metric) {
                return Err(SearchError::Question(format!("metric {why}")).into());
            }
            unit = results.unit(&self.metric);
            if samples.is_empty() {
                return Err(SearchError::Question(format!(
                    "{} has no value at {link} for \"{}\" with {} = {}: the traffic there is {}",
                    self.metric,
                    self.scope,
                    self.over.name,
                    self.text(at),
                    results.scopes(0).join(", ")
                ))
                .into());
            }
            Ok((samples, results.is_fixed(0, &algorithm)))
        };
        let bisection = Bisection {
            axis: self.over.clone(),
            whole,
            crosses: self.crosses,
            tolerance: self.tolerance,
            max_seeds: self.max_seeds,
        };
        let crossing = bisection.search(sample)?;
        Ok(Searched { algorithm, link, unit, whole, crossing })
    }

    /// A value of the axis with its unit.
    pub fn text(&self, at: f64) -> String {
        self.over.text(at)
    }

    fn study(&self, scenario: &Document, at: f64, options: &Options<'_>) -> Result<Study, ScenarioError> {
        let mut document = scenario.clone();
        let blame = |error: ScenarioError| {
            let file = format!("{} with {} = {}", error.file, self.over.name, self.text(at));
            ScenarioError { file, line: None, ..error }
        };
        document.set_text(&self.over.name, &self.text(at)).map_err(blame)?;
        document.study(&options.plugins).map_err(blame)
    }

    /// The scenario at the beginning of the axis, and whether the field takes whole numbers only.
    fn kind(&self, scenario: &Document, options: &Options<'_>) -> Result<(Study, bool), SearchError> {
        let first = self.study(scenario, self.over.from, options)?;
        self.study(scenario, self.over.to, options)?;
        let (from, to) = (self.over.from, self.over.to);
        if from.fract() != 0.0 || to.fract() != 0.0 || !self.over.values.is_empty() {
            return Ok((first, false));
        }
        // Only the scenario knows.
        let between = from + 0.5;
        let whole = self.study(scenario, between, options).is_err();
        Ok((first, whole))
    }
}

/// The algorithm that is meant: the one that is named, else the one that a field names, else the only one.
pub(crate) fn choose(
    algorithm: Option<&String>,
    fields: &[&str],
    point: &Point,
) -> Result<String, SearchError> {
    let labels: Vec<&str> = point.scenario.aqm.iter().map(|a| a.label()).collect();
    let in_fields = fields.iter().filter_map(|f| f.strip_prefix("aqm.")?.split('.').next());
    let named = distinct(in_fields.filter(|name| labels.contains(name)));
    let chosen = match (algorithm, named.as_slice(), labels.as_slice()) {
        (Some(label), ..) => Some(label.as_str()),
        (None, [named], _) => Some(*named),
        (None, [], [only]) => Some(*only),
        _ => None,
    };
    match chosen {
        Some(label) if labels.contains(&label) => Ok(label.to_string()),
        Some(label) => Err(SearchError::Question(format!(
            "algorithm \"{label}\": the scenario has {}",
            labels.join(", ")
        ))),
        None => Err(SearchError::Question(format!(
            "which algorithm is meant? The scenario has {}; name one",
            labels.join(", ")
        ))),
    }
}
