//! Scenario files from disk.

use std::io::{self, Read};
use std::path::Path;

use quell_files::Limit;
use quell_scenario::{Document, Files, FoundFile, ScenarioError};

const SCENARIO: Limit = Limit::of_text("a scenario");
/// Room for ten million changes.
const TRACE: Limit = Limit::of_data("a trace");

/// Reads a scenario file. The files that it names are found relative to its folder; if it is a pipe or standard
/// input, relative to the working directory.
///
/// # Errors
/// If it cannot be read or is not TOML.
pub fn read(path: impl AsRef<Path>) -> Result<Document, ScenarioError> {
    let path = path.as_ref();
    parse(read_bytes(path).map_err(|e| unreadable(&path.display().to_string(), &e))?, path)
}

/// Reads a scenario file that another file names, as [`read`]; it is never standard input.
///
/// # Errors
/// If it cannot be read or is not TOML.
pub fn read_named(path: &Path) -> Result<Document, ScenarioError> {
    let bytes = quell_files::read_named(path, SCENARIO);
    parse(bytes.map_err(|e| unreadable(&path.display().to_string(), &e))?, path)
}

/// Reads the bytes of a scenario file, which [`parse`] reads: for those who tell apart what the system says from what
/// Quell says.
///
/// # Errors
/// If it cannot be read.
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    quell_files::read(path, SCENARIO)
}

/// Reads a scenario from the bytes of its file, as [`read`].
///
/// # Errors
/// If they are not TOML.
pub fn parse(bytes: Vec<u8>, path: &Path) -> Result<Document, ScenarioError> {
    let folder = path.parent().filter(|_| !quell_files::is_given(path));
    let document = Document::from_bytes(bytes, &path.display().to_string())?;
    Ok(document.among(files_in(folder.unwrap_or(Path::new("")))))
}

/// Reads a scenario from what is open already; `name` stands for it in errors, and the files that it names are
/// found relative to the working directory.
///
/// # Errors
/// If it cannot be read or is not TOML.
pub fn read_from(source: impl Read, name: &str) -> Result<Document, ScenarioError> {
    let bytes = quell_files::read_all(source, SCENARIO).map_err(|e| unreadable(name, &e))?;
    Ok(Document::from_bytes(bytes, name)?.among(files_in(Path::new(""))))
}

fn unreadable(name: &str, error: &io::Error) -> ScenarioError {
    ScenarioError::of_file(name, format!("cannot read: {error}"))
}

/// The files that a scenario in `folder` may name; "" is the working directory. What is compressed is unpacked.
pub fn files_in(folder: &Path) -> Files {
    let folder = folder.to_path_buf();
    Files::new(move |name| {
        let path = folder.join(name);
        let bytes = quell_files::read_named_unpacked(&path, TRACE)
            .map_err(|e| format!("cannot read {}: {e}", quell_files::name(&path)))?;
        Ok(FoundFile { name: path.display().to_string(), bytes })
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
