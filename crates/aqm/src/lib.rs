//! The algorithms: pure decisions about queues.
//!
//! An [`Aqm`] is told what happens at a FIFO (arrivals, departures, idleness, its own scheduled
//! updates) and answers whether to signal congestion. A [`Discipline`] does the same for several FIFOs
//! that share a buffer, and says which is served next. Both see sizes and times, never packets; they own
//! no clock and no generator, so whatever hosts them, a simulator or a real link, runs the same code.
//!
//! An algorithm is a file: `XParams` (what a user sets) → [`build`](catalog::AqmConfig::build) → `X`
//! (what it remembers) → [`Aqm`]. Counters belong to the host. It lies in the folder of its family in
//! `catalog/`; one line in [`catalog`] makes it a module here and known to every host, the command
//! line, Python, the conformance laws and the documentation.
//!
//! The feature `catalog`, on by default, is all of that, and needs an allocator, floating point and
//! serde. Without it there remain the contract and the algorithms in integers ([`integer`]), which a
//! router builds from constants.
#![no_std]
#![deny(missing_docs)]
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

#[cfg(feature = "catalog")]
extern crate alloc;

/// Its examples are tests.
#[cfg(all(doctest, feature = "catalog"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[macro_use]
mod choice;
#[macro_use]
mod delegate;
#[macro_use]
mod equations;
#[cfg(feature = "catalog")]
#[macro_use]
mod error;
#[macro_use]
mod contract;

#[cfg(feature = "catalog")]
pub mod catalog;
pub mod integer;
#[cfg(feature = "catalog")]
pub mod params;
pub mod part;
mod rng;

#[cfg(feature = "catalog")]
pub use catalog::algorithms::*;
pub use contract::{
    Acknowledgment, Algorithm, Aqm, Cause, Ctx, Departures, Discipline, Ecn, FlowId, Hosts, Lanes, LanesCtx,
    Link, Next, PacketMeta, Probe, QueueView, Transport, Verdict, Victim,
};
#[cfg(feature = "catalog")]
pub use params::ParamError;
pub use rng::{Rng, Seed};
