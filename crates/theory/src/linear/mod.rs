//! A network and an algorithm near the point where they rest: one loop, with the delays kept as they
//! are.
//!
//! The flows are linearized as in vrc eq. 14 and appendix A.1, for any number of classes. With
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
//! The flows alone are stable: on the imaginary axis `Re E >= S sum N_i W/(R_i^2 C) (1 + tau_i w sin(w
//! R_i)/|s + tau_i + tau_i e_i|^2) > 0`, because `|...|^2 >= 4 w tau_i |sin(w R_i)|` where the sine is
//! negative. Hence E has no root to the right, and the loop is stable exactly if
//! `F = E(s) D(s) + B(s) Z(s)` has none, where `C = Z/D`.
//!
//! F is followed along the imaginary axis in steps that a bound on its slope proves small enough, so
//! that the count of its roots is right and not a matter of the grid.

mod diagrams;
mod margins;
mod roots;
mod stability;
#[cfg(test)]
mod tests;
mod transfer;

pub use diagrams::Bode;
pub use margins::Margins;
pub use roots::Mode;
pub use stability::Stability;
pub use transfer::{Loop, Plant};
