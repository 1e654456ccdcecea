//! Results for people: the [report] of a run as a page, [charts](chart) of it for a terminal and as CSV,
//! [pictures](picture) as SVG, and [figures] with the unit and the digits that fit.
#![deny(missing_docs)]

pub mod chart;
pub mod figures;
pub mod picture;
pub mod report;
