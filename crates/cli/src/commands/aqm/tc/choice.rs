//! Choices that writing and reading share.

use quell_scenario::ScenarioError;

use crate::failure::Failure;

/// The format of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Lines.
    #[default]
    #[value(alias = "toml", alias = "table")]
    Text,
    /// JSON.
    Json,
}

/// What a line becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum To {
    /// Tables of a scenario.
    #[default]
    Scenario,
    /// A configuration of quell gateway.
    Gateway,
}

/// An error of a text that nobody has a file of.
pub fn without_line(mut error: ScenarioError) -> Failure {
    (error.line, error.column) = (None, None);
    error.into()
}
