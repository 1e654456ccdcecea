//! TCP and an algorithm as a fluid: Chen 2010, eq. 4.1, Park et al. 2004, eq. 6-9.
//!
//! Per class i of flows, with the queue q that all share, for Reno (other windows: [`crate::Congestion`]):
//!
//! ```text
//! R_i  = T_i + q/C
//! W_i' = increase/R_i - W_i W_i(t - R_i) p(t - R_i) / (a R_i(t - R_i))
//! q'   = sum N_i W_i/R_i - C
//! ```
//!
//! and the algorithm's law for p. The delay R depends on the state; N, C and T may change in steps.
//!
//! What the papers leave open is settled so:
//!
//! - The queue stays in `[0, B]`. At a full queue what exceeds C is lost. Those losses are signals, too,
//!   as a sender sees them, to DCTCP and Prague as marks: [`Overflow::Signals`]. The papers leave them out: [`Overflow::Ignored`].
//! - With [`Signal::Drop`] what the algorithm drops does not enter the queue: `q' = (1 - p) r - C`.
//! - New flows have the windows of those that are there. An estimate of the share of marks begins with 1 (RFC 8257
//!   section 3.3), at an equilibrium with p.
//! - A window is any positive number. Below about 4 packets TCP relies on timeouts, which no document's
//!   fluid has.

mod batch;
mod clock;
mod plant;
mod run;
mod setup;
mod simd;
#[cfg(test)]
mod tests;
mod trajectory;

pub use batch::{batch, queues};
pub use setup::{Fluid, Options, Overflow, Start};
pub use trajectory::{Summary, Trajectory};
