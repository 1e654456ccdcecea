//! The tests of the crate from outside, in one program.

mod citations;
mod conformance;
mod defaults;
mod docs;
mod fixed_point;
mod rfc9332;
mod transcriptions;
mod vectors;
