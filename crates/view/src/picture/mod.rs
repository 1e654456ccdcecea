//! Pictures of what the theory says: Bode and Nyquist diagrams, maps of stability, verdicts beside what
//! packets do, and series over time.
//!
//! Each function takes plain figures and gives one SVG document that needs nothing else: no font, no
//! script, no style sheet. Its background is white, so that it can be read on dark pages. The same
//! figures give the same bytes. What an axis cannot show (no number, an infinite one, one that is not
//! positive on a logarithmic axis) leaves a gap, and where that would hide something the picture says so.
//!
//! Written by hand because the SVG of `plotters` 0.3 rounds every coordinate to whole pixels, which turns
//! flat curves into stairs.
//!
//! ```
//! use quell_view::picture::{Axis, SeriesLine, Sheet, series};
//! let (time, queue) = ([0.0, 1.0, 2.0], [0.0, 80.0, 50.0]);
//! let lines = [SeriesLine { label: "fluid model", x: &time, y: &queue }];
//! let sheet = Sheet::new("Queue of PI", "The queue rises to 80 packets and falls to 50.");
//! let svg = series(&sheet, Axis::linear("time (s)"), Axis::linear("queue (packets)"), &lines);
//! assert!(svg.starts_with("<svg"));
//! ```

pub(crate) mod axis;
mod bode;
mod chart;
mod compared;
mod map;
mod nyquist;
mod plot;
mod series;
mod sheet;
mod svg;
mod verdicts;

pub use axis::Axis;
pub use bode::{Crossing, Response, bode};
pub use chart::{Ends, Paper, chart, chart_on, chart_within};
pub use compared::{ComparedCell, ComparedColumn, ComparedRow, Kind, Outcome, Tally, compared, tally};
pub use map::{Map, Spot, map};
pub use nyquist::{Locus, nyquist};
pub use series::{SeriesLine, series};
pub use sheet::Sheet;
pub use verdicts::{Case, Cases, Verdicts, verdicts};

#[cfg(test)]
mod tests;
