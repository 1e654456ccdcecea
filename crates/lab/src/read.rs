//! Scenario files from disk.

use std::io::Read;
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
    read_from(std::fs::File::open(path).map_err(unreadable)?, &name)
}

/// Reads a scenario from what is open already; `name` stands for it in errors.
///
/// # Errors
/// If it cannot be read or is not TOML.
pub fn read_from(source: impl Read, name: &str) -> Result<Document, ScenarioError> {
    let mut bytes = Vec::new();
    source
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| ScenarioError::of_file(name, format!("cannot read: {e}")))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let rule = format!("is longer than {MAX_FILE_BYTES} bytes: too large for a scenario");
        return Err(ScenarioError::of_file(name, rule));
    }
    Document::from_bytes(bytes, name)
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
