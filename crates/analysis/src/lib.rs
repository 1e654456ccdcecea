//! A scenario as control theory sees it.
//!
//! A [`Bottleneck`] is one link of a scenario at one time, with the flows that fill it; an [`Assessment`] says
//! whether an algorithm is stable there, and puts beside it what simulated packets do. A [`Variation`] is a
//! bottleneck of which two things vary, a [`Mapper`] makes maps of it, and a [`Shorthand`] is a scenario in a few words.
#![deny(missing_docs)]
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
// Errors of scenario files end a command; none is made on a hot path.
#![allow(clippy::result_large_err)]

mod assessment;
mod bottleneck;
mod map;
mod oscillation;
pub mod shorthand;
mod variation;

pub use assessment::{Assessment, Figures, MarginFigures, Packets, Prediction, Swing};
pub use bottleneck::Bottleneck;
pub use map::{Border, Map, MapAxis, MapRequest, MapShown, Mapper, Missing};
pub use oscillation::{Motion, Oscillation};
pub use shorthand::Shorthand;
pub use variation::{Shown, Variation};
