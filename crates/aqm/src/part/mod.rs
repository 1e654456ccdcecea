//! Parts that several algorithms share.

mod ewma;
mod flows;
mod gauge;
mod signal;
mod spacing;
mod ticker;

pub use ewma::{Ewma, link_rate_weight};
pub use flows::FlowTable;
pub use gauge::Gauge;
pub use signal::{SignalMode, Sizer};
pub use spacing::{Spacer, Spacing, spaced};
pub use ticker::Ticker;
