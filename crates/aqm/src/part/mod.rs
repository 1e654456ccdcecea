//! Parts that several algorithms share.

mod average;
mod curve;
pub mod detector;
mod ewma;
pub mod fixed;
mod flow_ages;
mod flow_counts;
mod flows;
mod gauge;
mod rate;
mod signal;
mod spacing;
mod ticker;
mod weight;

pub use average::Average;
pub use curve::{Curve, thresholds};
pub use ewma::{Ewma, link_rate_weight};
pub use flow_ages::FlowAges;
pub use flow_counts::{FlowCount, FlowCounts};
pub use flows::FlowTable;
pub use gauge::Gauge;
pub use rate::{IntervalRate, RateEstimator, RateUpdate, averaged_rate, interval_lag};
pub use signal::{SignalMode, Sizer};
pub use spacing::{Spacer, Spacing, spaced};
pub use ticker::Ticker;
pub use weight::{Memory, Weight, WeightRule};

/// The equations of every part, with the path that vectors write before their names.
#[cfg(test)]
pub(crate) const EQUATIONS: &[(&str, &[crate::equations::Equation])] = &[
    ("part", curve::EQUATIONS),
    ("part::detector", detector::EQUATIONS),
    ("part", ewma::EQUATIONS),
    ("part::fixed", fixed::EQUATIONS),
    ("part", rate::EQUATIONS),
    ("part", spacing::EQUATIONS),
    ("part", weight::EQUATIONS),
];
