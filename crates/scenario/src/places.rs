//! The places of all keys and values in the text of a scenario file, sound or not: an editor's view of it.

use std::ops::Range;

use serde::Serialize;

use crate::error::{ScenarioError, Source};
use crate::tree::{Node, Value};

/// The kind of a value in TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A text, or a date.
    String,
    /// A whole number.
    Integer,
    /// A number with a fraction.
    Float,
    /// True or false.
    Boolean,
    /// A list.
    Array,
    /// A table, in line or with a head of its own.
    Table,
}

/// The place of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its path, such as `flows[1].rtt`. A key with other characters than letters, digits, `_` and `-` is in
    /// quotation marks, as JSON and TOML write it.
    pub path: String,
    /// The bytes of its key; none for items of a list.
    pub key: Option<Range<usize>>,
    /// Its bytes; for a table with a head of its own, those of the head.
    pub value: Range<usize>,
    /// Its line, counted from 1.
    pub line: usize,
    /// Its kind.
    pub form: Form,
}

/// A text as TOML reads it.
#[derive(Clone, Debug)]
pub struct Places {
    /// The values. Dates are texts.
    pub table: toml::Table,
    /// The place of each, a table before what it holds.
    pub places: Vec<Place>,
    /// The names of the files that the text mentions, each once: the values of all keys `file`.
    pub files: Vec<String>,
}

impl Places {
    /// Reads a text; `name` stands for it in errors.
    ///
    /// # Errors
    /// If it is not TOML.
    pub fn of(text: &str, name: &str) -> Result<Places, ScenarioError> {
        let source = Source { name: name.to_string(), text: Some(text.to_string()) };
        let tree = Node::parse(text).map_err(|(span, message)| {
            source.error_at(span.map(|s| s.start), format!("not valid TOML: {message}"))
        })?;
        let lines: Vec<usize> =
            [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut collected = Collected { lines, places: Vec::new(), files: Vec::new() };
        collected.below(&tree, &mut String::new());
        let Collected { places, files, .. } = collected;
        Ok(Places { table: tree.to_table(), places, files })
    }
}

struct Collected {
    /// The beginning of each line.
    lines: Vec<usize>,
    places: Vec<Place>,
    files: Vec<String>,
}

impl Collected {
    /// Adds what a node holds; `path` leads there and is given back as it was.
    fn below(&mut self, node: &Node, path: &mut String) {
        let length = path.len();
        for entry in node.entries() {
            path.push_str(if length == 0 { "" } else { "." });
            path.push_str(&written(&entry.key));
            if let (true, Value::String(name)) = (entry.key == "file", &entry.node.value)
                && !self.files.contains(name)
            {
                self.files.push(name.clone());
            }
            self.add(&entry.node, entry.key_span.clone(), path);
            path.truncate(length);
        }
        for (i, item) in node.items().iter().enumerate() {
            path.push_str(&format!("[{i}]"));
            self.add(item, None, path);
            path.truncate(length);
        }
    }

    fn add(&mut self, node: &Node, key: Option<Range<usize>>, path: &mut String) {
        let value = node.span.clone().or_else(|| key.clone()).unwrap_or(0..0);
        let form = match node.value {
            Value::String(_) => Form::String,
            Value::Integer(_) => Form::Integer,
            Value::Float(_) => Form::Float,
            Value::Bool(_) => Form::Boolean,
            Value::Array(_) => Form::Array,
            Value::Table(_) => Form::Table,
        };
        let start = key.as_ref().map_or(value.start, |key| key.start);
        let line = self.lines.partition_point(|begin| *begin <= start);
        self.places.push(Place { path: path.clone(), key, value, line, form });
        self.below(node, path);
    }
}

/// A key in a path.
fn written(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !key.is_empty() && key.chars().all(bare) {
        true => key.to_string(),
        // Text as JSON is never refused.
        false => serde_json::to_string(key).unwrap_or_default(),
    }
}
