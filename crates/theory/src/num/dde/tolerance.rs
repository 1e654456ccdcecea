//! Accuracy of the solution of an equation, and the work that it took.

use crate::error::{TheoryError, positive, require};

/// The accuracy, and the most work allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Error per step relative to the variable.
    pub relative: f64,
    /// Error per step in units of the variable, see [`System::scale`].
    pub absolute: f64,
    /// Steps after which the solver gives up.
    pub steps: usize,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { relative: 1e-6, absolute: 1e-6, steps: 1_000_000 }
    }
}

impl Tolerance {
    /// The same relative and absolute tolerance.
    pub fn of(tolerance: f64) -> Self {
        Tolerance { relative: tolerance, absolute: tolerance, ..Tolerance::default() }
    }

    pub(super) fn check(&self) -> Result<(), TheoryError> {
        positive("absolute tolerance", self.absolute, "")?;
        require(
            self.relative >= 1e-14 && self.relative <= 0.1,
            "relative tolerance",
            self.relative,
            "must lie in [1e-14, 0.1]: double precision resolves no less, and a larger tolerance gives no answer",
        )?;
        require(self.steps > 0, "steps", self.steps, "must be positive")
    }
}

/// Work of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Steps that were kept.
    pub steps: usize,
    /// Steps that were tried and repeated shorter.
    pub rejected: usize,
    /// Evaluations of [`System::rates`].
    pub evaluations: usize,
}
