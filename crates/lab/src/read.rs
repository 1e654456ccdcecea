//! Scenario files from disk.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use quell_scenario::{Document, Files, FoundFile, ScenarioError};

/// Far above any scenario; a larger file is something else.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Room for ten million changes.
const MAX_TRACE_BYTES: u64 = 512 << 20;

/// Reads a scenario file. The files that it names are found relative to its folder; if it is a pipe or standard
/// input, relative to the working directory.
///
/// # Errors
/// If it cannot be read or is not TOML.
pub fn read(path: impl AsRef<Path>) -> Result<Document, ScenarioError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let unreadable = |e: std::io::Error| ScenarioError::of_file(&name, format!("cannot read: {e}"));
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_FILE_BYTES {
        return Err(ScenarioError::of_file(&name, format!("is {size} bytes long: too large for a scenario")));
    }
    let document = Document::from_bytes(std::fs::read(path).map_err(unreadable)?, &name)?;
    let folder = path.parent().filter(|_| !path.starts_with("/dev") && !path.starts_with("/proc"));
    Ok(document.among(files_in(folder.unwrap_or(Path::new("")))))
}

/// The files that a scenario in `folder` may name; "" is the working directory.
pub fn files_in(folder: &Path) -> Files {
    let folder = folder.to_path_buf();
    Files::new(move |name| {
        let path = folder.join(name);
        let unreadable = |e: std::io::Error| format!("cannot read {}: {e}", path.display());
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(unreadable)?;
        file.take(MAX_TRACE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        match bytes.len() as u64 {
            n if n > MAX_TRACE_BYTES => {
                Err(format!("is too large: at most {} MB are read", MAX_TRACE_BYTES >> 20))
            }
            _ => Ok(FoundFile { name: path.display().to_string(), bytes }),
        }
    })
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
