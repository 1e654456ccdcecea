//! The characterization guidelines of RFC 7928 as a suite of scenarios, and what algorithms do in them.
//!
//! `suite/` has the scenarios of sections 4.4 to 10, a file each: what is run, which figures the section asks for,
//! and which way each of them is better. A [`Plan`] puts algorithms into them beside drop-tail, which the RFC
//! compares everything with, and a baseline; [`Findings`] are the figures with their verdicts, and [`Facts`] answer
//! sections 8.3 and 11 to 13, which no scenario can: stability, cost, and control knobs.
#![deny(missing_docs)]
// Errors of scenario files end a command; none is made on a hot path.
#![allow(clippy::result_large_err)]

mod candidate;
mod ellipse;
mod facts;
mod findings;
mod heading;
mod page;
mod plan;
mod suite;

pub use candidate::{Candidate, DROP_TAIL};
pub use ellipse::{Ellipse, tradeoff};
pub use facts::{Cost, Facts, Knob, StabilityAt};
pub use findings::{Cell, FigureRow, Findings, PointFound, RELEVANT, SectionFound, Tally, Verdict};
pub use heading::Heading;
pub use page::{html, markdown};
pub use plan::{Part, Plan, Request};
pub use suite::{Figure, Section, Weight, Wish, select, suite};
