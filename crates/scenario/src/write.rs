//! A scenario as a file in which nothing is left unsaid: every key with its value, and as comments the keys
//! whose default is not a value. Which keys there are, and what they mean, is taken from the JSON Schema,
//! which is made from the types.

use std::sync::OnceLock;

use serde_json::Value as Json;

use crate::dialect::{self, Dialect};
use crate::format::{FlowGroup, Scenario};
use crate::tree::{Entry, Node, Path, Value};

/// The text of a scenario whose defaults are filled in.
pub(crate) fn write(resolved: &Scenario) -> Result<String, String> {
    let text = toml::to_string(resolved).map_err(|e| e.to_string())?;
    let tree = Node::parse(&text).map_err(|(_, e)| e)?;
    // To make it takes longer than to write a scenario, and a sweep writes thousands.
    static SCHEMA: OnceLock<Json> = OnceLock::new();
    let root = SCHEMA.get_or_init(Scenario::json_schema);
    let mut out = String::new();
    let dialect = resolved.dialect.unwrap_or_default();
    Writer { root, dialect }.section(&tree, root, &Path::default(), &mut out);
    Ok(out)
}

struct Writer<'a> {
    root: &'a Json,
    /// What has a default of it is told so.
    dialect: Dialect,
}

impl<'a> Writer<'a> {
    /// A table as a section: what it holds, what it leaves out, then the sections within it.
    fn section(&self, table: &Node, schema: &'a Json, at: &Path, out: &mut String) {
        let mut within: Vec<(&Entry, &'a Json)> = Vec::new();
        let mut said: Vec<&str> = Vec::new();
        for e in table.entries() {
            let property = property(schema, &e.key);
            match property.and_then(|p| self.sectioned(&e.node, p)) {
                Some(object) => within.push((e, object)),
                None => {
                    if matches!(&e.node.value, Value::String(s) if s == "auto") {
                        remark(&e.key, property, out);
                    }
                    out.push_str(&format!("{} = {}", Path(vec![e.key.clone().into()]), value(&e.node)));
                    if dialect::gives(self.dialect, at, table, &e.key) {
                        out.push_str(&format!(" # as in {}", self.dialect.name()));
                    }
                    out.push('\n');
                }
            }
            said.push(&e.key);
        }
        for (key, property) in properties(schema) {
            let applies = || match table.get("kind").map(|n| &n.value) {
                Some(Value::String(kind)) => FlowGroup::applies(key, kind),
                _ => true,
            };
            if has_default(property) && !said.contains(&key.as_str()) && applies() {
                match dialect::needs_none(self.dialect, at, table, key) {
                    true => out.push_str(&format!("{key} = \"none\"\n")),
                    false => remark(key, Some(property), out),
                }
            }
        }
        for (e, object) in within {
            let at = at.then(e.key.as_str());
            match &e.node.value {
                Value::Array(items) => {
                    for item in items {
                        out.push_str(&format!("\n[[{at}]]\n"));
                        self.section(item, self.object(item, object).unwrap_or(object), &at, out);
                    }
                }
                _ => {
                    out.push_str(&format!("\n[{at}]\n"));
                    self.section(&e.node, object, &at, out);
                }
            }
        }
    }

    /// The schema of a table, or of the tables in a list, that deserves sections of its own: one that has
    /// defaults. Without any there is nothing to say beside its values, and it is written in its line.
    fn sectioned(&self, node: &Node, schema: &'a Json) -> Option<&'a Json> {
        let (table, within) = match &node.value {
            Value::Array(items) => (items.first()?, self.items(schema)?),
            Value::Table(_) => (node, schema),
            _ => return None,
        };
        let object = self.object(table, within)?;
        let defaults = properties(object).any(|(_, p)| has_default(p));
        // The tables of a list may differ: each looks for its own.
        defaults.then_some(if matches!(node.value, Value::Array(_)) { within } else { object })
    }

    /// What a schema says of the items of a list.
    fn items(&self, schema: &'a Json) -> Option<&'a Json> {
        let schema = self.followed(schema);
        schema.get("items").or_else(|| alternatives(schema).find_map(|a| self.items(a)))
    }

    /// The one of a schema's alternatives that describes `table`.
    fn object(&self, table: &Node, schema: &'a Json) -> Option<&'a Json> {
        let schema = self.followed(schema);
        let Some(properties) = schema.get("properties") else {
            return alternatives(schema).find_map(|a| self.object(table, a));
        };
        let fits = |e: &Entry| {
            properties.get(&e.key).is_some_and(|p| match (p.get("const"), &e.node.value) {
                (Some(Json::String(name)), Value::String(s)) => name == s,
                _ => true,
            })
        };
        table.entries().iter().all(fits).then_some(schema)
    }

    fn followed(&self, schema: &'a Json) -> &'a Json {
        let named = schema.get("$ref").and_then(Json::as_str).and_then(|r| r.strip_prefix('#'));
        named.and_then(|pointer| self.root.pointer(pointer)).unwrap_or(schema)
    }
}

fn alternatives(schema: &Json) -> impl Iterator<Item = &Json> {
    ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten()
}

fn properties(schema: &Json) -> impl Iterator<Item = (&String, &Json)> {
    schema.get("properties").and_then(Json::as_object).into_iter().flatten()
}

fn property<'a>(schema: &'a Json, key: &str) -> Option<&'a Json> {
    schema.get("properties")?.get(key)
}

fn description(schema: &Json) -> &str {
    schema.get("description").and_then(Json::as_str).unwrap_or_default()
}

/// Whether a key may be left out with the meaning that its description gives.
fn has_default(schema: &Json) -> bool {
    schema.get("default").is_some() || description(schema).to_lowercase().contains("default")
}

/// A key that has no value, and what that means.
fn remark(key: &str, schema: Option<&Json>, out: &mut String) {
    let text: Vec<&str> = schema.map(description).unwrap_or_default().split_whitespace().collect();
    out.push_str(&format!("# {key}: {}\n", text.join(" ")));
}

/// A value in one line, or a list of tables in one line for each.
fn value(node: &Node) -> String {
    match &node.value {
        Value::String(s) => toml::Value::String(s.clone()).to_string(),
        Value::Integer(n) => n.to_string(),
        Value::Float(x) => toml::Value::Float(*x).to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Array(items) => {
            let lines = items.iter().any(|i| matches!(i.value, Value::Table(_)));
            let (before, between, after) = if lines { ("\n  ", ",\n  ", "\n") } else { ("", ", ", "") };
            let items: Vec<String> = items.iter().map(value).collect();
            format!("[{before}{}{after}]", items.join(between))
        }
        Value::Table(entries) => {
            let entry = |e: &Entry| format!("{} = {}", Path(vec![e.key.clone().into()]), value(&e.node));
            format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}
