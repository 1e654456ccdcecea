//! Numbers of seeds that a run decides itself: what is asked, and what was decided. Nothing here runs anything.

use quell_scenario::{Point, Study, suggest, unknown};
use serde::{Deserialize, Serialize};

use crate::metric::{LANE, SIZE, SIZES};
use crate::quantity::Quantity;
use crate::sequential::{Looks, Width, widths};
use crate::stats::{ERROR, distinct};

/// A metric, and how well it is to be known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aim {
    /// The quantity: a metric, perhaps of a class, a ratio, or the average of an internal signal.
    pub metric: Quantity,
    /// Half the width of an interval that is narrow enough. Without a baseline there must be one; with one it
    /// says below which a difference does not matter, and a relative one is a share of the baseline's mean.
    pub width: Option<Width>,
}

/// The rule by which a run decides its number of seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Auto {
    /// The aims, all of which are to be reached.
    pub aims: Vec<Aim>,
    /// The algorithm whose difference from each other one is to be decided. `None`: each algorithm's own mean is to be
    /// known within the widths.
    pub baseline: Option<String>,
    /// The link; `None`: each point's first observed one.
    pub link: Option<String>,
    /// The traffic: "all", "data" or a class.
    pub scope: String,
    /// No more seeds than this, at least 2.
    pub max_seeds: usize,
}

/// The cap on seeds where none is given.
pub const MAX_SEEDS: usize = 50;

/// The reason for which an algorithm got no more seeds.
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

/// The stop of one algorithm at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// Index of the point.
    pub point: usize,
    /// The algorithm.
    pub algorithm: String,
    /// The number of seeds that it was given: 1, 2, ... up to this.
    pub seeds: usize,
    /// The reason for which it got no more.
    pub reason: Reason,
    /// The metrics that are not known as precisely as requested.
    pub open: Vec<Quantity>,
}

/// The decisions about the numbers of seeds of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sequential {
    /// The question.
    pub asked: Auto,
    /// The looks at the differences, and the error of each; `None` without a baseline.
    pub looks: Option<Looks>,
    /// The stop of each algorithm, by point and in the order of the scenario.
    pub stops: Vec<Stop>,
}

impl Auto {
    /// The numbers of seeds after which it looks.
    pub fn ladder(&self) -> Vec<usize> {
        match self.looks() {
            Some(looks) => looks.iter().map(|l| l.samples).collect(),
            None => widths(self.max_seeds),
        }
    }

    /// The looks at the differences, and the error of each; `None`: without a baseline.
    pub fn looks(&self) -> Option<Looks> {
        self.baseline.as_ref().map(|_| Looks::new(self.max_seeds, ERROR))
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
            return Err("name a metric whose precision decides the number of seeds".to_string());
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
}

/// The most names of lanes that an error lists.
const MOST_NAMES: usize = 6;

/// Refuses a figure of a class or of a lane that no point of a study has.
///
/// # Errors
/// Names the classes, or some of the lanes.
pub fn check_class(figure: &Quantity, study: &Study) -> Result<(), String> {
    check_lane(figure, study)?;
    let classes = distinct(study.points.iter().flat_map(Point::classes));
    let Some(wrong) = figure.unknown_class(&classes) else { return Ok(()) };
    let sizes = SIZES.map(|(name, _)| format!("{SIZE}{name}"));
    let (kind, known) = match wrong.starts_with(SIZE) {
        true => ("size", sizes.iter().map(String::as_str).collect::<Vec<_>>()),
        false => ("class", ["all", "data"].into_iter().chain(classes.iter().map(String::as_str)).collect()),
    };
    let (rule, nearest) = unknown(kind, wrong, &known);
    let known = format!("known: {}", known.join(", "));
    Err(format!("{figure}: \"{wrong}\": {}", suggest(&rule, nearest.as_deref(), Some(&known))))
}

fn check_lane(figure: &Quantity, study: &Study) -> Result<(), String> {
    let named: Vec<&str> = figure.scopes().filter_map(|scope| scope.strip_prefix(LANE)).collect();
    if named.is_empty() {
        return Ok(());
    }
    let lanes = distinct(study.points.iter().flat_map(Point::lanes));
    let Some(wrong) = named.into_iter().find(|name| !lanes.iter().any(|lane| lane == name)) else {
        return Ok(());
    };
    let names: Vec<&str> = lanes.iter().map(String::as_str).collect();
    let (rule, nearest) = unknown("lane", wrong, &names);
    let known = match names.len() {
        0 => "lanes are classes of traffic, users of a cell and queues of Wi-Fi, and no link here has any"
            .to_string(),
        n if n <= MOST_NAMES => format!("known: {}", names.join(", ")),
        n => format!("known: {} and {} others", names[..MOST_NAMES].join(", "), n - MOST_NAMES),
    };
    Err(format!("{figure}: \"{wrong}\": {}", suggest(&rule, nearest.as_deref(), Some(&known))))
}

impl Sequential {
    /// The rule by which the seeds were chosen, in a sentence.
    pub fn rule(&self) -> String {
        let (most, words) = (self.asked.max_seeds, self.asked.words());
        let at = |looks: &Looks| looks.iter().map(|l| l.samples.to_string()).collect::<Vec<_>>().join(", ");
        match (&self.asked.baseline, &self.looks) {
            (Some(baseline), Some(looks)) => format!(
                "seeds were added until each difference from {baseline} was decided or within the requested width \
                 ({words}), up to {most} seeds; the intervals of all looks (at {} seeds) hold together with 95% \
                 confidence, so they are wider than usual",
                at(looks)
            ),
            _ => format!(
                "seeds were added until the 95% intervals were as narrow as requested ({words}), up to {most} seeds"
            ),
        }
    }
}
