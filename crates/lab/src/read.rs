//! Scenario files from disk.

use std::path::Path;

use quell_scenario::{Document, ScenarioError};

/// Far above any scenario; a larger file is something else.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Reads a scenario file.
///
/// # Errors
/// If it cannot be read or is not TOML.
pub fn read(path: impl AsRef<Path>) -> Result<Document, ScenarioError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let unreadable = |e: std::io::Error| ScenarioError::of_file(&name, format!("cannot read: {e}"));
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_FILE_BYTES {
        return Err(ScenarioError::of_file(&name, format!("is {size} bytes long: not a scenario")));
    }
    Document::from_bytes(std::fs::read(path).map_err(unreadable)?, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let e = read("no/such/file.toml").unwrap_err().to_string();
        assert!(e.starts_with("no/such/file.toml: cannot read:"), "{e}");
    }
}
