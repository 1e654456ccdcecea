//! Parts that several algorithms share.

mod average;
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

pub use average::{Average, is_drop};
pub use ewma::{Ewma, link_rate_weight};
pub use flow_ages::FlowAges;
pub use flow_counts::{FlowCount, FlowCounts};
pub use flows::FlowTable;
pub use gauge::Gauge;
pub use rate::{IntervalRate, RateEstimator, RateUpdate, averaged_rate, interval_lag};
pub use signal::{SignalMode, Sizer};
pub use spacing::{Spacer, Spacing, spaced};
pub use ticker::Ticker;
