//! Results for people: the [report] of a run as a page, [pictures](picture) as SVG, and [figures] with the unit
//! and the digits that fit.
#![deny(missing_docs)]

pub mod figures;
pub mod picture;
pub mod report;
