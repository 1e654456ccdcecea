//! Reliable delivery as TCP does it: a sender and a receiver as state machines without clock or I/O.
//!
//! Time comes in with each call. What goes out is a value, not a packet: the host knows what its
//! packets look like. Sequence numbers count packets of a connection, from 1; a SYN is number 0.
//!
//! - [`Sender`]: what may be sent now, and what an acknowledgment or a timer means for that.
//! - [`Receiver`]: what has arrived, and which acknowledgment is owed.
//! - [`TcpParams`]: the parameters of both, as scenario files have them; [`Config`] is their checked form.
#![no_std]
#![deny(missing_docs)]
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod bits;
pub mod catalog;
mod choices;
mod congestion;
mod entry;
mod feedback;
mod float;
mod host_queue;
mod pacing;
mod params;
mod rate;
mod receiver;
mod recovery;
mod ring;
mod rtt;
mod scoreboard;
mod sender;
mod slow_start;

pub use choices::{
    AckTimer, Codepoint, CongestionControl, Feedback, Growth, LossWindow, MarkReduction, Recovery, RtoFloor,
    RttSamples, Rules, SlowStart,
};
pub use congestion::cubic;
pub use feedback::Report;
pub use params::{Config, TcpParams};
pub use receiver::{Acknowledgment, Arrival, Received, Receiver};
pub use rtt::RttEstimator;
pub use scoreboard::{Block, SackBlocks};
pub use sender::{Outgoing, Reaction, Sender, SenderPhase, SenderState};
