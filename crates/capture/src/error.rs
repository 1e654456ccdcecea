//! Options that cannot be used, and captures that cannot be measured.

use std::io;

use quell_units::text::cut;

/// An option that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} = {}: {rule}", cut(.value))]
pub struct OptionError {
    /// The option.
    pub option: &'static str,
    /// Its value.
    pub value: String,
    /// The rule.
    pub rule: &'static str,
}

/// Refuses an option unless `ok`.
pub(crate) fn require(
    ok: bool,
    option: &'static str,
    value: impl ToString,
    rule: &'static str,
) -> Result<(), OptionError> {
    if ok { Ok(()) } else { Err(OptionError { option, value: value.to_string(), rule }) }
}

/// The reason why a capture cannot be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file is none.
    #[error("not a packet capture: {why}")]
    NotACapture {
        /// The thing that it is instead.
        why: String,
    },
    /// It cannot be read.
    #[error("cannot read the capture: {0}")]
    Io(#[from] io::Error),
    /// An option breaks a rule.
    #[error(transparent)]
    Option(#[from] OptionError),
}
