//! The error of names and pairs.

use std::fmt;

/// The reason for which names make no scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetError(pub(crate) String);

impl fmt::Display for PresetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PresetError {}
