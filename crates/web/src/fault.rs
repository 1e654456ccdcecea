//! The reasons for which a message has no other answer.

use quell_scenario::ScenarioError;
use serde::Serialize;

/// The reason for which there is no other answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Fault {
    /// Its kind.
    pub kind: FaultKind,
    /// All of it in words, as the command says it: file, line, field, value, rule, what was meant.
    pub message: String,
    /// The name of the file.
    pub file: Option<String>,
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// The column in characters, counted from 1.
    pub column: Option<usize>,
    /// The field, such as `flows[1].rtt`; null if the file as a whole is meant.
    pub field: Option<String>,
    /// Its value as written.
    pub value: Option<String>,
    /// The rule that it breaks, without what was meant.
    pub rule: String,
    /// The nearest valid name.
    pub nearest: Option<String>,
    /// The valid names: "known: drop-tail, red".
    pub known: Option<String>,
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum FaultKind {
    /// The scenario cannot be used.
    Scenario,
    /// The message asks for what does not exist.
    Request,
    /// It is sound, and too large for a page; `message` has the command that runs it.
    Large,
    /// It should have worked.
    Failed,
}

impl Fault {
    fn new(kind: FaultKind, message: String) -> Fault {
        Fault {
            kind,
            rule: message.clone(),
            message,
            file: None,
            line: None,
            column: None,
            field: None,
            value: None,
            nearest: None,
            known: None,
        }
    }

    /// The message asks for what does not exist.
    pub(crate) fn request(message: impl Into<String>) -> Fault {
        Fault::new(FaultKind::Request, message.into())
    }

    /// It is too large for a page.
    pub(crate) fn large(message: impl Into<String>) -> Fault {
        Fault::new(FaultKind::Large, message.into())
    }

    /// It should have worked.
    pub(crate) fn failed(message: impl Into<String>) -> Fault {
        Fault::new(FaultKind::Failed, message.into())
    }
}

impl From<ScenarioError> for Fault {
    fn from(error: ScenarioError) -> Fault {
        let message = error.to_string();
        let ScenarioError { file, line, column, field, value, rule, nearest, known } = error;
        Fault {
            kind: FaultKind::Scenario,
            message,
            file: Some(file),
            line,
            column: column.filter(|_| line.is_some()),
            field: Some(field).filter(|field| !field.is_empty()),
            value,
            rule,
            nearest,
            known,
        }
    }
}
