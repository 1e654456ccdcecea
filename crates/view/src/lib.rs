//! Results for people: the [report] of a run as a page, [charts](chart) of it for a terminal and as CSV,
//! [pictures](picture) as SVG, [figures] with the unit and the digits that fit, [grids](grid) as CSV, Markdown and LaTeX,
//! and the [style] of each algorithm in all of them.
#![deny(missing_docs)]

pub mod chart;
pub mod figures;
pub mod grid;
pub mod picture;
pub mod report;
pub mod style;
