//! Files in TOML that stand beside scenarios, read with the same errors.

use serde::de::DeserializeOwned;

use crate::error::{Problem, ScenarioError, Source};
use crate::tree::{Node, Path, Step, Value};

/// A file in TOML that is not a scenario: what it holds, and where.
#[derive(Clone, Debug)]
pub struct TomlFile {
    source: Source,
    tree: Node,
}

impl TomlFile {
    /// Reads a text; `name` stands for the file in errors.
    ///
    /// # Errors
    /// If it is not TOML, or a number in it is not finite.
    pub fn parse(text: &str, name: &str) -> Result<TomlFile, ScenarioError> {
        let source = Source { name: name.to_string(), text: Some(text.to_string()) };
        let tree = Node::parse(text).map_err(|(span, message)| {
            source.error_at(span.map(|s| s.start), format!("not valid TOML: {message}"))
        })?;
        if let Some(path) = endless(&tree, &Path::default()) {
            return Err(source.error(&tree, Problem::new(path, "must be a finite number")));
        }
        Ok(TomlFile { source, tree })
    }

    /// Reads what the file says as a type.
    ///
    /// # Errors
    /// If a key is missing or unknown, or its value is not what belongs there.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ScenarioError> {
        self.tree.read().map_err(|fault| {
            // The value of a key that must not be there does not matter.
            let value = if fault.unknown_key { Some(String::new()) } else { fault.value.clone() };
            let path = fault.path();
            let problem = Problem {
                value,
                nearest: fault.nearest,
                known: fault.known,
                ..Problem::new(path, fault.rule)
            };
            self.source.error(&self.tree, problem)
        })
    }

    /// The line of a key, or of what it would be in; steps that are numbers lead into lists.
    pub fn line(&self, path: &[&str]) -> Option<usize> {
        let step = |step: &&str| step.parse().map_or_else(|_| Step::from(*step), Step::Index);
        let offset = self.tree.locate(&Path(path.iter().map(step).collect()))?;
        self.source.line(offset)
    }
}

/// The path of a number that is not finite; `None` without one.
fn endless(node: &Node, path: &Path) -> Option<Path> {
    match &node.value {
        Value::Float(x) if !x.is_finite() => Some(path.clone()),
        Value::Array(items) => items.iter().enumerate().find_map(|(i, item)| endless(item, &path.then(i))),
        Value::Table(entries) => entries.iter().find_map(|e| endless(&e.node, &path.then(e.key.as_str()))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Given {
        title: String,
        #[serde(default)]
        parts: Vec<Part>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
    #[allow(dead_code)]
    enum Part {
        LongOne { length: f64 },
        Other { width: f64 },
    }

    #[test]
    fn errors_say_where_and_what() {
        let error = |text: &str| match TomlFile::parse(text, "a.toml").and_then(|t| t.read::<Given>()) {
            Ok(given) => panic!("{given:?}"),
            Err(e) => e.to_string(),
        };
        for (text, said) in [
            ("\ntitel = \"x\"", "a.toml:2: titel: unknown key; did you mean \"title\"?"),
            ("title = 5.0\n\nparts = 1", "parts = 1: expected a list, not a whole number"),
            ("parts = []", "a.toml:1: title: is missing"),
            ("title = \"x\"\n[[parts]]\nlength = 1.0", "a.toml:2: parts[0].kind: is missing"),
            (
                "title = \"x\"\n[[parts]]\nkind = \"lang-one\"\nlength = 1.0",
                "a.toml:3: parts[0].kind = \"lang-one\": must be one of: long-one, other; did you mean \"long-one\"?",
            ),
            ("title = \"x\"\n[[parts]]\nkind = \"other\"", "width: is missing"),
            (
                "title = \"x\"\n[[parts]]\nkind = \"other\"\nwidth = nan",
                "a.toml:4: parts[0].width = NaN: must be a finite number",
            ),
            ("title = \"x", "a.toml:1: not valid TOML"),
        ] {
            let error = error(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn lines_are_those_of_keys() {
        let file =
            TomlFile::parse("title = \"x\"\n[[parts]]\nkind = \"other\"\n[[parts]]\n\nwidth = 1.0", "a")
                .unwrap();
        assert_eq!(file.line(&["parts", "0", "kind"]), Some(3));
        assert_eq!(file.line(&["parts", "1", "width"]), Some(6));
        assert_eq!(file.line(&["parts", "1", "kind"]), Some(4));
    }
}
