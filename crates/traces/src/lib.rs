//! Traces of a run in the formats of others.
//!
//! - [`pcapng`]: a capture before and behind each queue, with real headers, for Wireshark and all that reads captures.
//! - [`qlog`]: the log of a sender in the form that the QUIC working group defines.
//! - [`perfetto`]: counters, slices and instants for Perfetto's viewer.
//!
//! Each takes a [`Trace`](quell_sim::trace::Trace) and writes its file from the beginning to the end, in the order of
//! time, so that it can go through a compressor or a pipe. Nothing here knows a file or a clock.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![deny(missing_docs)]

mod about;
mod flows;
mod headers;
mod numbers;
mod order;
pub mod pcapng;
pub mod perfetto;
pub mod qlog;
mod reasons;

pub use about::{About, Format, Version};
