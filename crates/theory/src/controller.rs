//! What an algorithm is near its rest, for the loop.

use crate::num::Rational;

/// What an algorithm turns into a change of the signal probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Changes of the queue, in packets.
    Queue,
    /// Changes of the rate of arrivals, in packets per second, the queue being empty.
    Rate,
}

/// A law near its rest: `dp = C(s) dq`, or `C(s) dr`.
#[derive(Clone, Debug, PartialEq)]
pub struct Controller {
    /// C(s).
    pub transfer: Rational,
    /// What it is applied to.
    pub input: Input,
}
