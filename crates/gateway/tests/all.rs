//! The tests of the crate, in one binary, which links once. `netns`, `router` and `service` are apart: they send real packets in
//! network namespaces, which need root and would be late beside tests that compute.

mod behind;
mod commands;
mod common;
mod dist;
mod docs;
mod fuzzed;
mod hosts;
mod metrics;
mod relay;
mod served;

#[global_allocator]
static COUNTING: common::Counting = common::Counting;
