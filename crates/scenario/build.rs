//! Takes the keys of all tables, and what is said of them, out of the published JSON Schema, so that no run parses it.

use std::collections::BTreeMap;
use std::fmt::Write;

/// A key, its description as a literal, and whether it has a default.
type Key<'a> = (&'a str, String, bool);

fn main() {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/schema.json");
    println!("cargo::rerun-if-changed={schema}");
    let text = std::fs::read_to_string(schema).expect("the schema is published");
    let mut code = "match table {\n".to_string();
    for (table, keys) in tables(&text) {
        let _ = writeln!(code, "    {table:?} => &[");
        for (name, description, default) in keys {
            let _ = writeln!(
                code,
                "        Key {{ name: {name:?}, description: {description}, has_default: {default} }},"
            );
        }
        code.push_str("    ],\n");
    }
    code.push_str("    _ => &[],\n}\n");
    let out = std::env::var("OUT_DIR").expect("cargo says where");
    std::fs::write(out + "/keys.rs", code).expect("the folder can be written");
}

/// The keys of the scenario (""), of each definition, of "tcp" and of each algorithm. Each level of the file is indented
/// by two spaces; names of keys are at even levels, and what is said of them is a level below.
fn tables(schema: &str) -> BTreeMap<&str, Vec<Key<'_>>> {
    let mut tables: BTreeMap<&str, Vec<Key<'_>>> = BTreeMap::new();
    // The definition, if definitions have begun, and the table within: "tcp" or an algorithm.
    let (mut definition, mut within) = (None, "");
    for line in schema.lines() {
        let Some((indent, text)) = line.split_once('"') else { continue };
        let level = indent.len() / 2;
        let table = match (level, definition) {
            (1, _) => {
                definition = text.starts_with("$defs").then_some("");
                continue;
            }
            (2, Some(_)) => {
                definition = text.strip_suffix("\": {");
                continue;
            }
            (2 | 3, None) => "",
            (4 | 5, Some(definition)) => definition,
            (6 | 7, _) => within,
            _ => continue,
        };
        let keys = tables.entry(table).or_default();
        if level % 2 == 0 {
            let Some(name) = text.strip_suffix("\": {") else { continue };
            if level == 4 {
                within = if name == "tcp" { name } else { "" };
            }
            if name != "algorithm" {
                keys.push((name, "\"\"".to_string(), false));
            }
        } else if let (Some("Aqm"), Some(name)) = (definition, text.strip_prefix("const\": \"")) {
            within = name.trim_end_matches('"');
            tables.entry(within).or_default().push(("algorithm", "\"\"".to_string(), false));
        } else if let (Some(value), Some(key)) = (text.strip_prefix("description\": "), keys.last_mut()) {
            let words = value.trim_end_matches(',').replace("\\n", " ");
            key.1 = words.split_whitespace().collect::<Vec<_>>().join(" ");
            key.2 |= value.to_lowercase().contains("default");
        } else if let (Some(_), Some(key)) = (text.strip_prefix("default\": "), keys.last_mut()) {
            key.2 = true;
        }
    }
    tables
}
