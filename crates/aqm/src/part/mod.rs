//! Parts that several algorithms share.

mod ewma;
pub mod fixed;
mod gauge;
mod rate;
mod signal;
mod spacing;
mod ticker;

pub use ewma::{Ewma, link_rate_weight};
pub use gauge::Gauge;
pub use rate::{RateEstimator, averaged_rate};
pub use signal::{SignalMode, Sizer};
pub use spacing::{Spacer, Spacing, spaced};
pub use ticker::Ticker;
