//! Algorithms in integers: what a router links that has neither floating point nor an allocator.
//!
//! Each is built from whole numbers, its constants. A host computes them from parameters and a link
//! (`RedFixedParams::constants` and its siblings, feature `catalog`) and prints them with `{:?}`: the
//! text is the Rust expression that makes them, where the names of [`constants`] are in scope. See
//! `examples/router`, whose build script does so.

mod ared;
mod blue;
mod hred;
mod pi;
mod red;

pub use ared::{AredConstants, AredFixed};
pub use blue::{BlueConstants, BlueFixed};
#[cfg(feature = "catalog")]
pub(crate) use hred::GAIN_PLACES;
pub use hred::{HredConstants, HredFixed};
pub use pi::{PiConstants, PiFixed};
pub use red::{RedConstants, RedCurve, RedFixed};

/// The names in printed constants.
pub mod constants {
    pub use super::{AredConstants, BlueConstants, HredConstants, PiConstants, RedConstants, RedCurve};
    pub use crate::part::Spacing::*;
    pub use crate::part::fixed::FixedGauge::*;
    pub use crate::part::fixed::FixedSizer::*;
    pub use crate::part::fixed::Scale;
    pub use crate::{Cause::Forced, Verdict::Drop, Verdict::Signal};
}
