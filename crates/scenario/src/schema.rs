//! The JSON Schema of scenario files, as it is published.

use crate::format::Scenario;

impl Scenario {
    /// The JSON Schema of scenario files.
    pub fn json_schema() -> serde_json::Value {
        // A test holds that it is what the types make.
        serde_json::from_str(include_str!("../../../scenarios/schema.json")).unwrap_or_default()
    }
}

/// A key that a table may have.
pub(crate) struct Key {
    pub name: &'static str,
    /// Its meaning in one line.
    pub description: &'static str,
    /// True if it may be left out with the meaning that its description gives.
    pub has_default: bool,
}

/// The keys of a table: "" for the scenario itself, one of the schema's definitions, "tcp", or an algorithm. The build
/// script takes them out of the schema.
pub(crate) fn keys(table: &str) -> &'static [Key] {
    include!(concat!(env!("OUT_DIR"), "/keys.rs"))
}
