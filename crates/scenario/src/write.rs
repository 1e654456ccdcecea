//! A scenario as a file in which nothing is left unsaid: every key with its value, and as comments the keys
//! whose default is not a value. Which keys there are, and what they mean, is taken from the JSON Schema.

use crate::dialect::{self, Dialect};
use crate::format::{FlowGroup, Scenario};
use crate::schema::{Key, keys};
use crate::tree::{Entry, Fault, Node, Path, Value};

/// The text of a scenario whose defaults are filled in.
pub(crate) fn write(resolved: &Scenario) -> Result<String, Fault> {
    let mut tree = Node::of(resolved)?;
    tree.sections_last();
    let mut out = String::new();
    section(resolved.dialect.unwrap_or_default(), &tree, keys(""), &Path::default(), &mut out);
    Ok(out)
}

/// A table as a section: what it holds, what it leaves out, then the sections within it.
fn section(dialect: Dialect, table: &Node, keys: &[Key], at: &Path, out: &mut String) {
    let mut within: Vec<&Entry> = Vec::new();
    for e in table.entries() {
        let key = keys.iter().find(|key| key.name == e.key);
        // Without defaults there is nothing to say beside the values of a table, which stays in its line.
        let first = e.node.items().first().unwrap_or(&e.node);
        if key.is_some() && keys_of(&e.key, first).iter().any(|key| key.has_default) {
            within.push(e);
            continue;
        }
        if matches!(&e.node.value, Value::String(s) if s == "auto") {
            remark(&e.key, key, out);
        }
        out.push_str(&format!("{} = {}", Path(vec![e.key.clone().into()]), value(&e.node)));
        if dialect::gives(dialect, at, table, &e.key) {
            out.push_str(&format!(" # as in {}", dialect.name()));
        }
        out.push('\n');
    }
    for key in keys.iter().filter(|key| key.has_default && table.get(key.name).is_none()) {
        let applies = match table.get("kind").map(|n| &n.value) {
            Some(Value::String(kind)) => FlowGroup::applies(key.name, kind),
            _ => true,
        };
        match applies && dialect::needs_none(dialect, at, table, key.name) {
            true => out.push_str(&format!("{} = \"none\"\n", key.name)),
            false if applies => remark(key.name, Some(key), out),
            false => {}
        }
    }
    for e in within {
        let at = at.then(e.key.as_str());
        let (tables, head) = match &e.node.value {
            Value::Array(items) => (items.as_slice(), format!("\n[[{at}]]\n")),
            _ => (std::slice::from_ref(&e.node), format!("\n[{at}]\n")),
        };
        for table in tables {
            out.push_str(&head);
            section(dialect, table, keys_of(&e.key, table), &at, out);
        }
    }
}

/// The keys of the table that stands under a key; none if it has others, as that of a plug-in.
fn keys_of(key: &str, table: &Node) -> &'static [Key] {
    let keys = match (key, table.get("algorithm").map(|n| &n.value)) {
        ("dumbbell", _) => keys("Dumbbell"),
        ("parking_lot", _) => keys("ParkingLot"),
        ("graph", _) => keys("Graph"),
        ("links", _) => keys("GraphLink"),
        ("reverse", _) => keys("Reverse"),
        ("changes", _) => keys("Course"),
        ("handovers", _) => keys("Handovers"),
        ("cell", _) => keys("Cell"),
        ("users", _) => keys("CellUser"),
        ("shaper", _) => keys("Shaper"),
        ("classes", _) => keys("TrafficClass"),
        ("wifi", _) => keys("Wifi"),
        ("stations", _) => keys("WifiStation"),
        ("uplink", _) => keys("WifiUplink"),
        ("flows", _) => keys("FlowGroup"),
        ("tcp", _) => keys("tcp"),
        ("aqm", Some(Value::String(algorithm))) => keys(algorithm),
        _ => &[],
    };
    let known = |e: &Entry| keys.iter().any(|key| key.name == e.key);
    let table = matches!(table.value, Value::Table(_)) && table.entries().iter().all(known);
    if table { keys } else { &[] }
}

/// A key that has no value, and what that means.
fn remark(name: &str, key: Option<&Key>, out: &mut String) {
    out.push_str(&format!("# {name}: {}\n", key.map_or("", |key| key.description)));
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
