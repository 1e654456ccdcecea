//! Reasons for which theory refuses an answer.

use quell_aqm::ParamError;

/// A question that the theory cannot answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TheoryError {
    /// A quantity that is not physical, not finite, or outside what a formula holds for.
    Quantity {
        /// The quantity, in words and with its symbol: "capacity C".
        quantity: String,
        /// Its value, with its unit.
        value: String,
        /// The rule that it breaks, with the source of the rule.
        rule: String,
    },
    /// The model has no equilibrium.
    NoEquilibrium {
        /// The quantity that cannot be found.
        quantity: String,
        /// The reason, and what would help.
        reason: String,
    },
    /// A margin was asked of a loop whose open loop is itself unstable.
    UnstableOpenLoop {
        /// The reason.
        reason: String,
    },
    /// A solver that did not reach its tolerance.
    Tolerance {
        /// The time of the model at which it gave up, in seconds.
        at: f64,
        /// Its attempts.
        reason: String,
    },
    /// The algorithm has no continuous form.
    NoModel {
        /// The algorithm.
        algorithm: String,
        /// The reason.
        reason: String,
    },
    /// A parameter of the algorithm breaks a rule of its own.
    Parameter(ParamError),
}

impl TheoryError {
    /// The error for a quantity that breaks a rule.
    pub fn quantity(name: impl ToString, value: impl ToString, rule: impl Into<String>) -> Self {
        TheoryError::Quantity { quantity: name.to_string(), value: value.to_string(), rule: rule.into() }
    }
}

/// Refuses a quantity unless `ok`.
pub(crate) fn require(
    ok: bool,
    name: impl ToString,
    value: impl ToString,
    rule: impl Into<String>,
) -> Result<(), TheoryError> {
    if ok { Ok(()) } else { Err(TheoryError::quantity(name, value, rule)) }
}

/// Refuses a quantity that is not a positive finite number.
pub(crate) fn positive(name: &str, x: f64, unit: &str) -> Result<(), TheoryError> {
    require(x > 0.0 && x.is_finite(), name, format!("{x} {unit}"), "must be positive and finite")
}

impl std::fmt::Display for TheoryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TheoryError::Quantity { quantity, value, rule } => write!(f, "{quantity} = {value}: {rule}"),
            TheoryError::NoEquilibrium { quantity, reason } => {
                write!(f, "no equilibrium for {quantity}: {reason}")
            }
            TheoryError::UnstableOpenLoop { reason } => write!(f, "the open loop is unstable: {reason}"),
            TheoryError::Tolerance { at, reason } => write!(f, "the solver gave up at t = {at} s: {reason}"),
            TheoryError::NoModel { algorithm, reason } => write!(f, "no model of {algorithm}: {reason}"),
            TheoryError::Parameter(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for TheoryError {}

impl From<ParamError> for TheoryError {
    fn from(e: ParamError) -> Self {
        TheoryError::Parameter(e)
    }
}
