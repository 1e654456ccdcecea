//! Scenario files from disk.

use std::fs::File;
use std::io::Read;
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
    let document = read_from(File::open(path).map_err(unreadable)?, &name)?;
    let folder = path.parent().filter(|_| !path.starts_with("/dev") && !path.starts_with("/proc"));
    Ok(document.among(files_in(folder.unwrap_or(Path::new("")))))
}

/// Reads a scenario from what is open already; `name` stands for it in errors, and the files that it names are
/// found relative to the working directory.
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
    Ok(Document::from_bytes(bytes, name)?.among(files_in(Path::new(""))))
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
