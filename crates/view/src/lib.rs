//! Results for people: the [report] of a run as a page, [charts](chart) of it for a terminal and as CSV,
//! [pictures](picture) as SVG, [figures] with the unit and the digits that fit, [grids](grid) as CSV, Markdown and LaTeX,
//! and the [style] of each algorithm in all of them.
#![deny(missing_docs)]
// The same figures on every platform, as a page has what the command prints: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod chart;
mod digits;
pub mod figures;
pub mod grid;
pub mod picture;
pub mod report;
pub mod style;
