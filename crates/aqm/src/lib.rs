//! The algorithms: pure decisions about one queue.
//!
//! An [`Aqm`] is told what happens at a FIFO (arrivals, departures, idleness, its own scheduled
//! updates) and answers whether to signal congestion. It sees sizes and times, never packets; it
//! owns no clock and no generator, so whatever hosts it, a simulator or a real link, runs the same code.
//!
//! An algorithm is a file: `XParams` (what a user sets) → [`build`](catalog::AqmConfig::build) → `X`
//! (what it remembers) → [`Aqm`]. Counters belong to the host. One line in [`catalog`] makes it
//! known to every host, the command line, Python, the conformance laws and the documentation.
#![no_std]
#![deny(missing_docs)]

extern crate alloc;

pub mod catalog;
mod contract;
pub mod params;
pub mod part;
mod rng;

pub mod ap_red;
pub mod ared;
pub mod ared_dt;
pub mod ared_fixed;
pub mod auto_tuning_red;
pub mod avq;
pub mod avq_rate;
pub mod blue;
pub mod dred;
pub mod drop_tail;
pub mod dsred;
pub mod e_red;
pub mod feng_ared;
pub mod fred;
pub mod fuzzy_red;
pub mod green;
pub mod hred;
pub mod hred_fixed;
pub mod lred;
pub mod pd_red;
pub mod pi;
pub mod pi_fixed;
pub mod pid;
pub mod red;
pub mod red_fixed;
pub mod red_tail;
pub mod rem;
pub mod spf;
pub mod sred;
pub mod st_pi;
pub mod st_red;
pub mod vrc;
pub mod wred;

pub use contract::{
    Algorithm, Aqm, Cause, Ctx, Departures, Discipline, Ecn, FlowId, Lanes, LanesCtx, Link, Next, PacketMeta,
    Probe, QueueView, Transport, Verdict, Victim,
};
pub use params::ParamError;
pub use rng::{Rng, Seed};
