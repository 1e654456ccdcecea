//! The algorithms on real packets.
//!
//! Packets come from [`Ports`], go through the [`Line`](quell_queue::Line) of their path, which is the one that
//! the simulator runs, then through its delay, and leave ([`Relay`]). What arrived and what was decided goes to a
//! log ([`Recorder`]); [`replay()`] gives every decision once more, and another algorithm's beside it. Headers are
//! read and marks written by [`header`].
//!
//! Ports that a test makes up need nothing of the system; those of Linux are in [`port`]. `unsafe` code is only
//! in `sys`, where the system calls are.
#![deny(missing_docs)]

mod behind;
mod classes;
pub mod commands;
mod config;
#[cfg(target_os = "linux")]
mod confine;
mod course;
pub mod header;
mod meter;
#[cfg(target_os = "linux")]
pub mod metrics;
mod packet;
#[cfg(target_os = "linux")]
pub mod port;
mod record;
mod relay;
mod replay;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
pub mod traffic;
#[cfg(target_os = "linux")]
pub mod wire;

pub use behind::{BehindConfig, DeviationConfig, JitterConfig, LossConfig};
pub use classes::{ClassConfig, ClassesConfig, Finder, Lead, LeadRule, LimitsConfig, ShaperConfig};
pub use config::{ConfigError, LineConfig, MAX_PACKETS, Shaped, Waits, observe};
pub use course::{Change, Course};
pub use meter::Meter;
pub use packet::Packet;
pub use record::{
    ARRIVAL_COLUMNS, Entry, Event, LogError, LogHeader, LogReader, RECORD, Recorder, Resumed, THERE_ALREADY,
    create_log, create_next_log, prune_logs, write_arrival,
};
pub use relay::{Delays, LONGEST_SLEEP, PAUSE, Pace, Path, Ports, Relay, Shadow, Sleep};
pub use replay::{Difference, Replay, ReplayError, Replayed, replay};

/// The time now in seconds since 1970; zero before.
fn unix_s() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// A seed of the system's generator, for algorithms whose chance nobody has chosen.
///
/// # Errors
/// If the system gives no random numbers.
pub fn random_seed() -> std::io::Result<u64> {
    getrandom::u64().map_err(|e| std::io::Error::other(e.to_string()))
}
