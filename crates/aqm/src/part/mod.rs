//! Parts that several algorithms share.

mod ewma;
mod gauge;
mod spacing;

pub use ewma::{Ewma, link_rate_weight};
pub use gauge::Gauge;
pub use spacing::{Spacer, Spacing};
