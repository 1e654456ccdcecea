//! Parts that several algorithms share.

#[cfg(feature = "catalog")]
pub mod ack_filter;
#[cfg(feature = "catalog")]
mod aside;
#[cfg(feature = "catalog")]
mod average;
#[cfg(feature = "catalog")]
mod curve;
#[cfg(feature = "catalog")]
pub mod detector;
#[cfg(feature = "catalog")]
pub mod dual_queue;
#[cfg(feature = "catalog")]
mod ewma;
#[cfg(feature = "catalog")]
mod fattest;
pub mod fixed;
#[cfg(feature = "catalog")]
mod flow_ages;
#[cfg(feature = "catalog")]
mod flow_counts;
#[cfg(feature = "catalog")]
pub mod flow_hash;
#[cfg(feature = "catalog")]
mod flows;
#[cfg(feature = "catalog")]
mod gauge;
#[cfg(feature = "catalog")]
mod per_flow;
#[cfg(feature = "catalog")]
mod rate;
#[cfg(feature = "catalog")]
mod rounds;
#[cfg(feature = "catalog")]
mod set_table;
mod signal;
mod spacing;
mod ticker;
#[cfg(feature = "catalog")]
mod weight;

#[cfg(feature = "catalog")]
pub use self::{
    ack_filter::AckFilter,
    aside::Aside,
    average::Average,
    curve::{Curve, Thresholds, is_step, thresholds},
    ewma::{Ewma, link_rate_weight},
    fattest::{fattest, head_of},
    flow_ages::FlowAges,
    flow_counts::{FlowCount, FlowCounts},
    flow_hash::FlowHash,
    flows::FlowTable,
    gauge::Gauge,
    per_flow::{Arrangement, Full, Longest, OfFlow, PerFlow, Service},
    rate::{IntervalRate, RateEstimator, RateUpdate, averaged_rate, interval_lag},
    rounds::{Emptied, Rounds},
    set_table::{Found, SetTable},
    weight::{Memory, Weight, WeightRule},
};
pub use signal::{Forced, SignalMode, Sizer, Unmarkable};
pub use spacing::{Spacer, Spacing, spaced};
pub use ticker::Ticker;

/// The equations of every part, with the path that vectors write before their names.
#[cfg(test)]
pub(crate) const EQUATIONS: &[(&str, &[crate::equations::Equation])] = &[
    ("part", curve::EQUATIONS),
    ("part::detector", detector::EQUATIONS),
    ("part::dual_queue", dual_queue::EQUATIONS),
    ("part", ewma::EQUATIONS),
    ("part::fixed", fixed::EQUATIONS),
    ("part::flow_hash", flow_hash::EQUATIONS),
    ("part", rate::EQUATIONS),
    ("part", spacing::EQUATIONS),
    ("part", weight::EQUATIONS),
];
