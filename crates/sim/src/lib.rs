//! A packet-level simulator of TCP and active queue management.
//!
//! A [`Network`](network::Network) goes in, an [`Outcome`](outcome::Outcome) comes out; see
//! [`run`]. Two engines give the same sample path: [`Engine::Fast`] holds an event only where flows
//! merge, [`Engine::Reference`] takes every packet through every step and is the judge.
#![deny(missing_docs)]
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

extern crate alloc;

mod control;
mod engine;
mod flow;
pub mod network;
mod observe;
pub mod outcome;
mod packet;
mod record;
pub mod responsiveness;
mod route;
pub mod source;
mod tap;
pub mod topology;
pub mod trace;
mod wire;

pub use control::{Control, Engine, Error, IdleCores, Watcher};
use network::Network;
use outcome::Outcome;

/// Runs `network` to its end.
///
/// # Errors
/// [`Error::Invalid`] if the network cannot be simulated, [`Error::Interrupted`] if
/// [`Control::stop`] was set.
// Whoever names the engine is linked with that one alone.
#[inline(always)]
pub fn run(network: Network, engine: Engine, control: &Control) -> Result<Outcome, Error> {
    match engine {
        Engine::Fast => engine::fast::run(network, control),
        Engine::Reference => engine::reference::run(network, control),
    }
}
