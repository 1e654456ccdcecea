//! The form of a design rule.

use quell_aqm::catalog::AqmConfig;

use super::target::Target;
use crate::error::TheoryError;

/// The rule for the parameters of one algorithm.
pub(super) trait Rule {
    /// The algorithm's name in the catalog.
    const NAME: &'static str;

    /// Tells whether it is for any window, not for Reno's alone.
    const ANY_WINDOW: bool = false;

    /// The parameters for a target, and the queue in packets that they hold.
    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError>;
}

/// Notes for users beside the parameters.
#[derive(Default)]
pub(super) struct Notes {
    /// The rule with its source, and what it assumes.
    pub(super) assumptions: Vec<String>,
    /// Warnings to read before use.
    pub(super) warnings: Vec<String>,
}

impl Notes {
    /// Notes what a rule takes for granted.
    pub(super) fn assume(&mut self, what: impl Into<String>) {
        self.assumptions.push(what.into());
    }

    /// Notes what a user should know before use.
    pub(super) fn warn(&mut self, what: impl Into<String>) {
        self.warnings.push(what.into());
    }
}
