//! The queue of a path, from a capture at the sender of bulk TCP transfers.
//!
//! A capture is reduced to statistics ([`Statistics`]): delays, losses, marks, shares. The same transfers are simulated
//! through candidate queues ([`Discipline`]), captured at the same place, and reduced by the same function. The
//! statistics of several seeds give a Gaussian for each candidate: a synthetic likelihood (Wood 2010). With flat priors it
//! tells which disciplines explain the capture, and which values of their one parameter.
//!
//! [`Observed::of`] measures a capture, [`identify`] compares it with the candidates. Nothing here opens files or prints.
#![deny(missing_docs)]

mod answer;
mod candidate;
mod likelihood;
mod observed;
mod simulated;
mod statistics;

pub use answer::{Answer, Found, Interval, Progress, Question, identify};
pub use candidate::Discipline;
pub use observed::{Flow, Observed, Unfit};
pub use simulated::{Run, SimulationError, simulate, simulate_at_sender};
pub use statistics::{COUNT, NAMES, Statistics};
