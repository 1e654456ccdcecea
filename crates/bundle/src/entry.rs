//! Files of a bundle, their hashes and their names.

use std::path::{Component, Path};

use quell_lab::Results;
use sha2::{Digest, Sha256};

use crate::names::{SCENARIO, flaw};

/// A file of a bundle.
pub(crate) struct Entry {
    /// Its name in the archive.
    pub name: String,
    /// A phrase that says what it is.
    pub title: String,
    /// The name by which the scenario of a point calls it, if it is an input.
    pub alias: Option<String>,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Entry {
    /// A file that is not an input.
    pub fn new(name: impl Into<String>, title: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Entry {
        Entry { name: name.into(), title: title.into(), alias: None, bytes: bytes.into() }
    }
}

/// The SHA-256 of bytes in hexadecimal.
pub(crate) fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The name of the scenario as it was written, in the archive.
pub(crate) fn scenario_name(results: &Results) -> Option<String> {
    results.run.scenario_text.as_ref()?;
    let file = Path::new(&results.run.scenario_file);
    let own = file.file_name().and_then(|name| name.to_str()).filter(|name| name.ends_with(".toml"));
    Some(format!("{SCENARIO}{}", own.filter(|name| plain(name).is_some()).unwrap_or("scenario.toml")))
}

/// A relative path as names in archives are, if it is one.
pub(crate) fn plain(path: &str) -> Option<String> {
    let parts = Path::new(path).components().map(|part| match part {
        Component::Normal(part) => part.to_str(),
        _ => None,
    });
    let path = parts.collect::<Option<Vec<_>>>()?.join("/");
    flaw(&path).is_none().then_some(path)
}
