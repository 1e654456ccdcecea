//! Options that cannot be used.

use std::fmt;

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
