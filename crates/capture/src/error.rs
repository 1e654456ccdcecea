//! Options that cannot be used, and captures that cannot be measured.

use std::fmt;
use std::io;

use quell_units::text::cut;

/// An option that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    /// The option.
    pub option: &'static str,
    /// Its value.
    pub value: String,
    /// The rule.
    pub rule: &'static str,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: {}", self.option, cut(&self.value), self.rule)
    }
}

impl std::error::Error for OptionError {}

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
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file is none.
    NotACapture {
        /// The thing that it is instead.
        why: String,
    },
    /// It cannot be read.
    Io(io::Error),
    /// An option breaks a rule.
    Option(OptionError),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::NotACapture { why } => write!(f, "not a packet capture: {why}"),
            CaptureError::Io(e) => write!(f, "cannot read the capture: {e}"),
            CaptureError::Option(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for CaptureError {}

impl From<io::Error> for CaptureError {
    fn from(e: io::Error) -> Self {
        CaptureError::Io(e)
    }
}

impl From<OptionError> for CaptureError {
    fn from(e: OptionError) -> Self {
        CaptureError::Option(e)
    }
}
