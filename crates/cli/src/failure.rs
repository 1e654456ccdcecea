//! Why a command ended without success, and its exit code.

use std::fmt;

use quell_lab::RunError;
use quell_scenario::ScenarioError;

/// Why a command ended without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The user's input is wrong: exit code 2.
    BadInput(String),
    /// Something else went wrong: exit code 1.
    Failed(String),
    /// Interrupted; the message says what was kept: exit code 130, or 143 if it was asked to terminate.
    Interrupted(String),
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> i32 {
        match self {
            Failure::Failed(_) => 1,
            Failure::BadInput(_) => 2,
            Failure::Interrupted(_) => crate::interrupt::code(),
        }
    }

    /// The word that its message begins with.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::BadInput(_) | Failure::Failed(_) => "error",
            Failure::Interrupted(_) => "interrupted",
        }
    }

    /// What happened.
    pub fn message(&self) -> &str {
        match self {
            Failure::BadInput(message) | Failure::Failed(message) | Failure::Interrupted(message) => message,
        }
    }

    /// The same with more to say.
    pub fn with(self, more: &str) -> Self {
        match self {
            Failure::BadInput(message) => Failure::BadInput(message + more),
            Failure::Failed(message) => Failure::Failed(message + more),
            Failure::Interrupted(message) => Failure::Interrupted(message + more),
        }
    }

    /// Something could not be done: "cannot write x: no space left on device".
    pub fn cannot(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Failure::Failed(format!("cannot {what}: {why}"))
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Failure::BadInput(error.to_string())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Failure::Failed(error.to_string())
    }
}
