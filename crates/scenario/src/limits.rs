//! The largest numbers that a scenario may have: beyond them it would not fit into memory, so that it is almost
//! certainly a typo.

pub(crate) const FLOWS: f64 = 200_000.0;
pub(crate) const SEGMENTS: u64 = 10_000;
pub(crate) const SAMPLES: u64 = 1_000_000;
pub(crate) const SEEDS: usize = 100_000;
pub(crate) const BOTTLENECKS: u32 = 1_000;
pub(crate) const BUFFER_PACKETS: f64 = 1e7;
pub(crate) const BUFFER_BYTES: f64 = 1e10;
pub(crate) const SECONDS: u64 = 10_000_000;
pub(crate) const DELAY_SECONDS: u64 = 1_000;
pub(crate) const RATE_BPS: u64 = 1_000_000_000_000;
/// Each class costs a histogram of up to 127 kB per link and segment, in each thread.
pub(crate) const CLASS_SEGMENTS: usize = 2_000;
/// Steps of a trace, and changes that a link meets in a run.
pub(crate) const STEPS: u64 = 10_000_000;
pub(crate) const CHANGES: u64 = 1_000_000_000;
/// The most packets of a trace of arrivals, each of 24 bytes.
pub const ARRIVALS: usize = 20_000_000;
/// The samples that the second half of a segment has at least.
pub(crate) const STEADY_SAMPLES: u64 = 20;
/// The points of a sweep: nobody waits for more.
pub(crate) const POINTS: usize = 10_000;
/// A packet's number has 32 bits.
pub(crate) const PACKETS: f64 = u32::MAX as f64;
/// The parts of a field's name, and the levels of tables and lists in a file or a value: whatever walks them needs some
/// of the stack for each.
pub(crate) const DEPTH: usize = 32;
