//! A network and an algorithm near their equilibrium: one loop, with the delays kept as they
//! are.
//!
//! Reno's flows are linearized as in Park et al. 2004, eq. 14 and appendix A.1, for any number of classes, and those
//! of other congestion controls in the same form ([`crate::Congestion`]). With
//! `tau_i = increase/(W R_i)` and `e_i = e^(-s R_i)`, a class answers by
//!
//! ```text
//! (s + tau_i + tau_i e_i) dW_i = -increase/(R_i^2 C) (1 - e_i) dq - W^2/(a R_i) e_i dp
//! ```
//!
//! and the queue, with S = 1 for marks and S = 1 - p for drops, by
//!
//! ```text
//! s dq = S sum N_i/R_i (dW_i - W/(R_i C) dq) - [drops: arrivals] dp
//! ```
//!
//! since a dropped packet is missing from the queue at once. So `dq = -B(s)/E(s) dp`, and the loop is
//! `L = C(s) B(s)/E(s)`. An algorithm of the rate (AVQ) keeps the queue empty: no round-trip time moves,
//! and `E = 1`.
//!
//! Reno's flows alone are stable: on the imaginary axis `Re E >= S sum N_i W/(R_i^2 C) (1 + tau_i w sin(w
//! R_i)/|s + tau_i + tau_i e_i|^2) > 0`, because `|...|^2 >= 4 w tau_i |sin(w R_i)|` where the sine is
//! negative. Hence E has no root to the right, and the loop is stable exactly if
//! `F = E(s) D(s) + B(s) Z(s)` has none, where `C = Z/D`. DCTCP's windows do not see the round-trip time, so that
//! `E = s + S sum N_i W/(R_i^2 C)`. Prague's below 25 ms keep their rate as the queue grows: E has a root at 0, and
//! for windows of more than one packet none to the right. CUBIC's past outweighs their present: where the round-trip time
//! is long against the time between signals they may grow by themselves, which is counted.
//!
//! F is followed along the imaginary axis in steps that a bound on its curvature proves small enough, so
//! that the count of its roots is right and not a matter of the grid.

mod diagrams;
mod margins;
mod roots;
mod stability;
#[cfg(test)]
mod tests;
mod transfer;

pub use diagrams::{Bode, Crossings};
pub use margins::Margins;
pub use roots::Mode;
pub use stability::Stability;
pub use transfer::{Loop, Plant};
