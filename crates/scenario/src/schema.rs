//! The JSON Schema of scenario files, as it is published.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::format::Scenario;

const SCHEMA: &str = include_str!("../../../scenarios/schema.json");

impl Scenario {
    /// The JSON Schema of scenario files.
    pub fn json_schema() -> serde_json::Value {
        // A test holds that it is what the types make.
        serde_json::from_str(SCHEMA).unwrap_or_default()
    }
}

/// A key that a table may have.
pub(crate) struct Key {
    pub name: &'static str,
    /// Its description as it stands in the schema.
    quoted: &'static str,
    default: bool,
}

impl Key {
    /// Its meaning in one line.
    pub fn description(&self) -> String {
        let text: String = serde_json::from_str(self.quoted).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// True if it may be left out with the meaning that its description gives.
    pub fn has_default(&self) -> bool {
        self.default || ["default", "Default"].iter().any(|word| self.quoted.contains(word))
    }
}

/// The keys of a table: "" for the scenario itself, one of the schema's definitions, "tcp", or an algorithm.
pub(crate) fn keys(table: &str) -> &'static [Key] {
    static TABLES: LazyLock<HashMap<&str, Vec<Key>>> = LazyLock::new(tables);
    TABLES.get(table).map_or(&[], Vec::as_slice)
}

/// The keys of all tables, read line by line: to parse the whole schema takes longer than a short run. Each level of
/// its file is indented by two spaces.
fn tables() -> HashMap<&'static str, Vec<Key>> {
    let mut tables: HashMap<&str, Vec<Key>> = HashMap::new();
    // The names that lead to a line, and the algorithm that is described there.
    let (mut way, mut algorithm) = ([""; 9], "");
    for line in SCHEMA.lines() {
        let text = line.trim_start_matches(' ');
        let depth = (line.len() - text.len()) / 2;
        let Some((name, value)) = text.strip_prefix('"').and_then(|text| text.split_once('"')) else {
            continue;
        };
        let (Some(value), true) = (value.strip_prefix(": "), depth < way.len()) else { continue };
        let value = value.trim_end_matches(',');
        way[depth] = name;
        way[depth + 1..].fill("");
        if name == "const" && way[6] == "algorithm" {
            algorithm = value.trim_matches('"');
        }
        let (table, above) = match way {
            [_, "properties", ..] => ("", 1),
            [_, "$defs", "FlowGroup", "properties", "tcp", "properties", ..] => ("tcp", 5),
            [_, "$defs", "Aqm", "oneOf", _, "properties", ..] => (algorithm, 5),
            [_, "$defs", table, "properties", ..] => (table, 3),
            _ => continue,
        };
        let keys = tables.entry(table).or_default();
        match (depth - above, name, keys.last_mut()) {
            (1, ..) if way[6] != "algorithm" => keys.push(Key { name, quoted: "\"\"", default: false }),
            (2, "const", _) => keys.push(Key { name: "algorithm", quoted: "\"\"", default: false }),
            (2, "description", Some(key)) => key.quoted = value,
            (2, "default", Some(key)) => key.default = true,
            _ => {}
        }
    }
    tables
}
