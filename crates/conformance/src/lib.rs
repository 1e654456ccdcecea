//! The decisions of every algorithm, event by event, for implementations in any language to be held against.
//!
//! A [`Vector`] is a configuration and a sequence of events at a queue (arrivals, departures, updates,
//! idleness), with the answer of the reference to each: what was queued, marked, dropped and sent, the random
//! numbers that it drew, and its internal signals. [`generate`] makes them from the catalog, the same on
//! every machine. [`run()`] speaks them to a process over its standard input and output, and says in words
//! where it first differs. The form is described in `docs/conformance.md`; [`vector::schema`] is its JSON
//! Schema.
#![deny(missing_docs)]

pub mod generate;
pub mod museum;
mod reference;
mod rules;
pub mod run;
mod strays;
mod variants;
pub mod vector;
mod words;

pub use reference::answer;
pub use rules::rule;
pub use run::{Outcome, RunError, Runner, run};
pub use vector::{Broken, Vector};
pub use words::{Difference, Part, Warning};
