//! Beyond these a scenario would not fit into memory, so it is almost certainly a typo.

pub(super) const FLOWS: f64 = 200_000.0;
pub(super) const SEGMENTS: u64 = 10_000;
pub(super) const SAMPLES: u64 = 1_000_000;
pub(super) const SEEDS: usize = 100_000;
pub(super) const BOTTLENECKS: u32 = 1_000;
pub(super) const BUFFER_PACKETS: f64 = 1e7;
pub(super) const BUFFER_BYTES: f64 = 1e10;
pub(super) const SECONDS: u64 = 10_000_000;
pub(super) const DELAY_SECONDS: u64 = 1_000;
pub(super) const RATE_BPS: u64 = 1_000_000_000_000;
/// Each class costs a histogram of up to 127 kB per link and segment, in each thread.
pub(super) const CLASS_SEGMENTS: usize = 2_000;
/// Steps of a trace, and changes that a link meets in a run.
pub(super) const STEPS: u64 = 10_000_000;
pub(super) const CHANGES: u64 = 1_000_000_000;
/// Packets of a trace of arrivals, each of 24 bytes.
pub(super) const ARRIVALS: usize = 20_000_000;
/// As many as the second half of a segment has at least.
pub(super) const STEADY_SAMPLES: u64 = 20;
/// A packet's number has 32 bits.
pub(super) const PACKETS: f64 = u32::MAX as f64;
