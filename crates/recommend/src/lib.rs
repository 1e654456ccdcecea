//! An answer for a link: which queue to give it, at which rates, and why.
//!
//! A [`Request`] says what link it is, what it carries, and what is asked of it. [`plan()`] makes scenarios of it: one for
//! what one has today, and one for each candidate that the router has, shaped in front of the modem's own queue. Whoever
//! calls runs them. [`judge()`] ranks what they found, and [`reach()`] makes the scenarios that tell how far the answer
//! carries: other rates, longer round trips, fewer and more flows.
//!
//! Nothing here touches files, threads or clocks: it computes the same in a browser.
#![deny(missing_docs)]
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod advice;
mod autorate;
mod candidate;
mod columns;
mod course;
mod goal;
mod judge;
mod load;
mod measure;
mod plan;
mod reach;
mod report;
mod request;
mod scenario;
mod size;
mod span;
mod typed;
mod verdict;
mod way;
mod why;
mod wire;
mod words;

pub use advice::{Advice, Text};
pub use candidate::Candidate;
pub use course::Course;
pub use goal::{Condition, Goal, Threshold};
pub use judge::{Answer, judge};
pub use load::Load;
pub use measure::{Column, Kind};
pub use plan::{Plan, Row, plan};
pub use reach::{Reach, further, reach};
pub use report::Report;
pub use request::Request;
pub use span::Span;
pub use verdict::{Cell, Found, Judged, Verdict};
pub use way::{Direction, Shape, Way};
pub use wire::{Wire, wire};
