//! The fuzz target of scenarios, which the tests of `crates/scenario` run on a few inputs.

use quell_scenario::{Document, Plugins};

/// Reads any bytes as a scenario: it loads, or the error names a line and a rule.
pub fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let document = match Document::parse(text, "fuzz.toml") {
        Ok(document) => document,
        Err(e) => return assert!(e.line.is_some() && !e.rule.is_empty(), "{e}"),
    };
    match document.study(&Plugins::new()) {
        Ok(study) => assert!(!study.points.is_empty()),
        Err(e) => assert!(e.line.is_some() && !e.rule.is_empty(), "{e}"),
    }
}
