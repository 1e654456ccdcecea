//! All tests of the crate that may share a process, in one binary: it links once.

mod cake;
mod cell;
mod common;
mod flow_queues;
mod flow_twins;
mod fuzzed;
mod lines;
mod shaping;
mod wifi;
