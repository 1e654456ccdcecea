//! Numbers and figures of the theory, which the documents compute rather than simulate.

mod answer;
mod compute;
mod fuzzy;
mod hred;
mod red_tail;
mod thesis;
mod vrc;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use answer::Answer;
use answer::Named;
pub use compute::Compute;
use red_tail::Simulated;

use crate::value::Value;

/// A number or a figure that the document computes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Computed {
    /// The id of the printed number, if it is one.
    pub cell: Option<String>,
    /// The number of the figure, if it is one.
    pub figure: Option<String>,
    /// Its title.
    #[serde(default)]
    pub title: String,
    /// The computation.
    pub compute: Compute,
    /// Borders that runs show, to draw over what is computed.
    #[serde(default, rename = "border")]
    pub borders: Vec<Border>,
}

/// The border at which a quantity of runs leaves a range as a field is raised, for each value of another field.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Border {
    /// The label of the curve.
    pub label: String,
    /// The title of its panel; `None`: all panels.
    pub panel: Option<String>,
    /// The run; `None`: the first.
    pub run: Option<String>,
    /// The label of the algorithm.
    pub algorithm: String,
    /// The quantity.
    pub metric: Value,
    /// The range that its mean leaves.
    pub leaves: [f64; 2],
    /// The points of the run: fields and their values.
    #[serde(default)]
    pub at: BTreeMap<String, toml::Value>,
    /// The field along the horizontal axis; times are seconds.
    pub x: String,
    /// The field along the vertical axis.
    pub y: String,
    /// The one of the two fields that is raised.
    pub raised: Raised,
}

/// An axis of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Raised {
    /// The horizontal one.
    X,
    /// The vertical one.
    Y,
}

impl Compute {
    /// Says whether it gives a number rather than a figure.
    pub fn is_number(&self) -> bool {
        matches!(
            self,
            Compute::VrcLargestIntegral { .. }
                | Compute::VrcLargestProportional { .. }
                | Compute::VrcLongestRtt { .. }
                | Compute::AvqLongestRtt { .. }
        )
    }

    /// The runs that stand beside it.
    pub fn runs(&self) -> &[String] {
        match self {
            Compute::RedTailDistribution(of) => &of.runs,
            _ => &[],
        }
    }

    /// Computes it; `simulated` gives a run's density of the queue, in packets, where one stands beside.
    ///
    /// # Errors
    /// A sentence, if a value is not physical.
    pub fn answer(&self, simulated: &Simulated<'_>) -> Result<Answer, String> {
        match self {
            Compute::RedTailMap(of) => of.chart(),
            Compute::RedTailTrajectory(of) => of.chart(),
            Compute::RedTailDistribution(of) => of.chart(simulated),
            Compute::RedTailFirstLosses(of) => of.chart(),
            Compute::RedTailVariation(of) => of.chart(),
            Compute::RedTailSlots(of) => of.chart(),
            Compute::EwmaVariance(of) => of.chart(),
            Compute::FuzzyWeights(of) => of.chart(),
            Compute::PiDesigned(of) => of.chart(),
            Compute::PiTuned(of) => of.chart(),
            Compute::PiFollowing(of) => of.chart(),
            Compute::RedProposition(of) => of.chart(),
            Compute::HredGain(of) => of.chart(),
            Compute::HredLeastBuffer(of) => of.chart(),
            Compute::HredTolerance(of) => of.chart(),
            Compute::HredAdjustment(of) => of.chart(),
            of => vrc::answer(of),
        }
    }

    /// The quantities of the figure; a number has none.
    pub fn quantities(&self) -> &'static [Named] {
        match self {
            Compute::RedTailMap(_) => red_tail::Mapped::QUANTITIES,
            Compute::RedTailTrajectory(_) => red_tail::Trajectory::QUANTITIES,
            Compute::RedTailDistribution(_) => red_tail::Distribution::QUANTITIES,
            Compute::RedTailFirstLosses(_) => red_tail::FirstLosses::QUANTITIES,
            Compute::RedTailVariation(_) => red_tail::Variation::QUANTITIES,
            Compute::RedTailSlots(_) => red_tail::Slots::QUANTITIES,
            Compute::EwmaVariance(_) => fuzzy::Average::QUANTITIES,
            Compute::FuzzyWeights(_) => fuzzy::Weights::QUANTITIES,
            Compute::PiDesigned(_) => thesis::Designed::QUANTITIES,
            Compute::PiTuned(_) => thesis::Tuned::QUANTITIES,
            Compute::PiFollowing(_) => thesis::Following::QUANTITIES,
            Compute::RedProposition(_) => thesis::Proposition::QUANTITIES,
            Compute::HredGain(_) => hred::Gain::QUANTITIES,
            Compute::HredLeastBuffer(_) => hred::LeastBuffer::QUANTITIES,
            Compute::HredTolerance(_) => hred::Tolerance::QUANTITIES,
            Compute::HredAdjustment(_) => hred::Adjustment::QUANTITIES,
            of => vrc::quantities(of),
        }
    }

    /// The values of a field in the figure, from the least on where it is an axis.
    pub fn values(&self, field: &str) -> Vec<f64> {
        match self {
            Compute::RedTailMap(of) => of.values(field),
            Compute::RedTailTrajectory(of) => of.values(field),
            Compute::RedTailDistribution(of) => of.values(field),
            Compute::RedTailFirstLosses(of) => of.values(field),
            Compute::RedTailVariation(of) => of.values(field),
            Compute::RedTailSlots(of) => of.values(field),
            Compute::EwmaVariance(of) => of.values(field),
            Compute::FuzzyWeights(of) => of.values(field),
            Compute::PiDesigned(of) => of.values(field),
            Compute::PiTuned(of) => of.values(field),
            Compute::PiFollowing(of) => of.values(field),
            Compute::RedProposition(of) => of.values(field),
            Compute::HredGain(of) => of.values(field),
            Compute::HredLeastBuffer(of) => of.values(field),
            Compute::HredTolerance(of) => of.values(field),
            Compute::HredAdjustment(of) => of.values(field),
            of => vrc::values(of, field),
        }
    }

    /// A quantity of the figure where fields have some values; a field that is not named has the only value of the figure.
    ///
    /// # Errors
    /// A sentence, if a field may have several values, or the quantity has no value there.
    pub fn quantity(&self, name: &str, at: &[(&str, f64)]) -> Result<f64, String> {
        let of = |field: &str| match (at.iter().find(|(f, _)| *f == field), &self.values(field)[..]) {
            (Some((_, value)), _) => Ok(*value),
            (None, [value]) => Ok(*value),
            (None, _) => Err(format!("{field}: the figure has several values; say which with \"at\"")),
        };
        match self {
            Compute::RedTailMap(map) => map.quantity(name, &of),
            Compute::RedTailTrajectory(path) => path.quantity(name, &of),
            Compute::RedTailDistribution(distribution) => distribution.quantity(name, &of),
            Compute::RedTailFirstLosses(losses) => losses.quantity(&of),
            Compute::RedTailVariation(variation) => variation.quantity(name, &of),
            Compute::RedTailSlots(slots) => slots.quantity(name, &of),
            Compute::EwmaVariance(average) => average.quantity(name, &of),
            Compute::FuzzyWeights(weights) => weights.quantity(name, &of),
            Compute::PiDesigned(pi) => pi.quantity(name, &of),
            Compute::PiTuned(pi) => pi.quantity(name, &of),
            Compute::PiFollowing(pi) => pi.quantity(name, &of),
            Compute::RedProposition(red) => red.quantity(name, &of),
            Compute::HredGain(hred) => hred.quantity(name, &of),
            Compute::HredLeastBuffer(hred) => hred.quantity(name, &of),
            Compute::HredTolerance(hred) => hred.quantity(name, &of),
            Compute::HredAdjustment(hred) => hred.quantity(name, &of),
            compute => vrc::quantity(compute, name, &of),
        }
    }
}
