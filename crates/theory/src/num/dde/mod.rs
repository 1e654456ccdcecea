//! A solver for delay differential equations whose delays may depend on the state.
//!
//! Dormand and Prince's method of order 5 with its error estimate, and its continuous extension of
//! order 4 for what lies in the past (Dormand and Prince 1980; Hairer, Norsett and Wanner, *Solving
//! Ordinary Differential Equations I*, II.5, II.6 and II.17). With a delay that is at least as long as
//! the step, the order stays 5: the extension's error per step is as small as the method's.
//!
//! Where the solution is smooth a step may be longer than the delay. What it looks up beyond its own start
//! is then the continuation of the step before; by how much the new step contradicts it counts as an
//! error. (Hairer and Wanner's RETARD and Shampine's ddesd iterate instead, which costs the stages again.)
//! A delay that goes to 0 ends in an error.
//!
//! Given discontinuities are hit exactly, and so are the weaker ones that they cause a delay later, as far
//! as the error needs it. Left to the error control alone they made the error of `y' = -y(t - 1)` 40 times
//! as large at a tolerance of 1e-4, with more steps; and that of Neves' equation, whose delay depends on
//! the state, 90 times. What a law's own kinks and bounds do is left to the error control.

mod breaks;
mod past;
mod solve;
#[cfg(test)]
mod tests;
mod tolerance;

pub use past::{Past, Piece, System};
pub use solve::solve;
pub use tolerance::{Tolerance, Work};
