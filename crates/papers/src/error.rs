//! Errors of the files under `papers/`.

use std::fmt;
use std::path::Path;

use quell_scenario::ScenarioError;
use quell_units::text::named;

/// A file that cannot be used: where, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaperError {
    /// The file.
    pub file: String,
    /// The line, counted from 1; `None` if the file as a whole is meant.
    pub line: Option<usize>,
    /// The rule that is broken, with what would be right.
    pub rule: String,
}

impl PaperError {
    /// An error in a line of a file.
    pub(crate) fn at(file: &Path, line: usize, rule: impl Into<String>) -> Self {
        PaperError { file: file.display().to_string(), line: Some(line), rule: rule.into() }
    }

    /// An error of a file as a whole.
    pub(crate) fn of(file: &Path, rule: impl Into<String>) -> Self {
        PaperError { file: file.display().to_string(), line: None, rule: rule.into() }
    }
}

impl fmt::Display for PaperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&named(&self.file))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.rule)
    }
}

impl std::error::Error for PaperError {}

impl From<ScenarioError> for PaperError {
    fn from(error: ScenarioError) -> Self {
        PaperError { file: error.file.clone(), line: error.line, rule: error.reason() }
    }
}
