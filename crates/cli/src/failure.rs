//! Why a command ended without success, and its exit code.

use std::fmt;

use quell_lab::RunError;
use quell_scenario::ScenarioError;

use crate::terminal;

/// Why a command ended without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The user's input is wrong: exit code 2.
    BadInput(String),
    /// Something else went wrong: exit code 1.
    Failed(String),
    /// Interrupted; the message says what was kept: exit code 130.
    Interrupted(String),
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> i32 {
        match self {
            Failure::Failed(_) => 1,
            Failure::BadInput(_) => 2,
            Failure::Interrupted(_) => 130, // 128 + SIGINT, as shells have it.
        }
    }

    /// Tells the user, on stderr.
    pub fn report(&self) {
        match self {
            Failure::BadInput(message) | Failure::Failed(message) => terminal::complain("error", message),
            Failure::Interrupted(message) => terminal::complain("interrupted", message),
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
