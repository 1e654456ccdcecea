//! Why a command ended without success, and its exit code.

use core::fmt;

/// Why a command ended without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The user's input is wrong: exit code 2.
    BadInput(String),
    /// Something else went wrong: exit code 1.
    Failed(String),
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Failed(_) => 1,
            Failure::BadInput(_) => 2,
        }
    }

    /// What happened.
    pub fn message(&self) -> &str {
        match self {
            Failure::BadInput(message) | Failure::Failed(message) => message,
        }
    }

    /// Something could not be done: "cannot write x: no space left on device".
    pub fn cannot(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Failure::Failed(format!("cannot {what}: {why}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Failure {}
