//! The reasons why a command ends without success.

use std::fmt;

use quell_lab::{RunError, SearchError};
use quell_scenario::{ScenarioError, suggest, unknown};
use quell_units::text::cut;

/// The reasons why a command ends without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The user's input is wrong: exit code 2.
    BadInput(String),
    /// Something else went wrong: exit code 1.
    Failed(String),
    /// Interrupted; the message says what was kept: exit code 130, or 143 if it was asked to terminate.
    Interrupted(String),
}

/// A failure that the user's input is to blame for; the message is given as to `format!`.
macro_rules! bad_input {
    ($($message:tt)+) => { $crate::failure::Failure::BadInput(format!($($message)+)) };
}

impl Failure {
    /// The word that its message begins with.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::BadInput(_) | Failure::Failed(_) => "error",
            Failure::Interrupted(_) => "interrupted",
        }
    }

    /// The message.
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

impl From<SearchError> for Failure {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Scenario(error) => (*error).into(),
            SearchError::Run(error) => error.into(),
            SearchError::Question(why) => Failure::BadInput(why),
        }
    }
}

/// The error for a name that does not exist, with the nearest one that does.
pub fn unknown_name<'a>(what: &str, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Failure {
    let names: Vec<&str> = names.into_iter().collect();
    if what.starts_with("algorithm") && quell_aqm::catalog::find(wrong).is_some() {
        let there = names.join(", ");
        return bad_input!("{what} \"{wrong}\": is in the catalog but not here; must be one of: {there}");
    }
    let (rule, nearest) = unknown(what, wrong, &names);
    let known = format!("known: {}", names.join(", "));
    let message = suggest(&rule, nearest.as_deref(), Some(&known));
    bad_input!("{what} \"{}\": {message}", cut(wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_comes_with_the_nearest() {
        let message = |wrong| match unknown_name("algorithm", wrong, ["drop-tail", "red", "ared"]) {
            Failure::BadInput(message) => message,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            message("droptail"),
            "algorithm \"droptail\": unknown algorithm; did you mean \"drop-tail\"? Known: drop-tail, red, ared"
        );
        assert_eq!(
            message("pi"),
            "algorithm \"pi\": is in the catalog but not here; must be one of: drop-tail, red, ared"
        );
        assert_eq!(
            message("something"),
            "algorithm \"something\": unknown algorithm; known: drop-tail, red, ared"
        );
    }
}
