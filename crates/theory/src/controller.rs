//! An algorithm near its equilibrium, as the loop sees it.

use crate::num::Rational;

/// The quantity that an algorithm turns into a change of the signal probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Changes of the queue, in packets.
    Queue,
    /// Changes of the rate of arrivals, in packets per second, the queue being empty.
    Rate,
}

/// A law near its equilibrium: `dp = C(s) dq`, or `C(s) dr`.
#[derive(Clone, Debug, PartialEq)]
pub struct Controller {
    /// C(s).
    pub transfer: Rational,
    /// The input to which it is applied.
    pub input: Input,
}
