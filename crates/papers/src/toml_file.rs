//! Reading one file in TOML.

use std::path::Path;

use quell_files::Limit;
use quell_scenario::TomlFile;
use serde::de::DeserializeOwned;

use crate::error::PaperError;

/// Reads a file in TOML; also gives its tree, in which places have lines.
pub(crate) fn read_toml<T: DeserializeOwned>(file: &Path) -> Result<(T, TomlFile), PaperError> {
    let text = quell_files::read_text(file, Limit::of_text("a document"))
        .map_err(|e| PaperError::of(file, format!("cannot be read: {e}")))?;
    let toml = TomlFile::parse(&text, &file.display().to_string())?;
    Ok((toml.read()?, toml))
}
