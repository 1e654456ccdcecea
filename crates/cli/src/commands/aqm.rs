//! `quell aqm`: what algorithms there are.

use quell_aqm::catalog::{self, CATALOG, Entry, Label};
use serde::Serialize;

use crate::args::Format;
use crate::failure::Failure;
use crate::{json, table, terminal, unknown_name};

/// An algorithm, for JSON.
#[derive(Serialize)]
struct Algorithm {
    name: &'static str,
    title: &'static str,
    family: &'static str,
    label: Label,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Vec<Parameter>>,
}

/// A parameter, for JSON.
#[derive(Serialize)]
struct Parameter {
    name: &'static str,
    unit: &'static str,
    default: String,
    description: &'static str,
    source: &'static str,
}

#[derive(Serialize)]
struct List {
    schema: u32,
    algorithms: Vec<Algorithm>,
}

#[derive(Serialize)]
struct Description {
    schema: u32,
    #[serde(flatten)]
    algorithm: Algorithm,
}

impl Algorithm {
    fn of(entry: &Entry) -> Self {
        let &Entry { name, title, family, source, label, .. } = entry;
        Algorithm { name, title, family, label, source, parameters: None }
    }
}

/// Lists the catalog.
pub fn list(format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return json::print(&List {
            schema: json::SCHEMA,
            algorithms: CATALOG.iter().map(Algorithm::of).collect(),
        });
    }
    let row = |e: &Entry| {
        vec![
            e.name.to_string(),
            e.title.to_string(),
            e.family.to_string(),
            word(e.label).to_string(),
            e.source.to_string(),
        ]
    };
    let rows: Vec<_> = CATALOG.iter().map(row).collect();
    terminal::print(&table::text(&["name", "algorithm", "family", "trust", "source"], &rows))
}

/// Describes one algorithm.
pub fn describe(name: &str, format: Format) -> Result<(), Failure> {
    let entry =
        catalog::find(name).ok_or_else(|| unknown_name("algorithm", name, CATALOG.iter().map(|e| e.name)))?;
    let docs = (entry.params)();
    if format == Format::Json {
        let parameters = docs
            .into_iter()
            .map(|d| Parameter {
                name: d.name,
                unit: d.unit,
                default: d.default,
                description: d.doc,
                source: d.source,
            })
            .collect();
        let algorithm = Algorithm { parameters: Some(parameters), ..Algorithm::of(entry) };
        return json::print(&Description { schema: json::SCHEMA, algorithm });
    }
    let mut text = format!("{} ({})\n", entry.title, entry.name);
    text.push_str(&format!("family  {}\n", entry.family));
    text.push_str(&format!("source  {}\n", entry.source));
    text.push_str(&format!("trust   {}: {}\n\n", word(entry.label), meaning(entry.label)));
    if docs.is_empty() {
        text.push_str("It has no parameters.\n");
    } else {
        let rows: Vec<_> = docs
            .into_iter()
            .map(|d| {
                vec![
                    d.name.to_string(),
                    d.default,
                    unit(d.unit).to_string(),
                    one_line(d.doc),
                    d.source.to_string(),
                ]
            })
            .collect();
        text.push_str(&table::text(&["parameter", "default", "unit", "meaning", "default from"], &rows));
    }
    terminal::print(&text)
}

/// The unit as people write it.
fn unit(unit: &str) -> &str {
    if unit == "1" { "-" } else { unit }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn word(label: Label) -> &'static str {
    match label {
        Label::Experimental => "experimental",
        Label::Faithful => "faithful",
        Label::Reproduced => "reproduced",
    }
}

fn meaning(label: Label) -> &'static str {
    match label {
        Label::Experimental => "written from an incomplete description",
        Label::Faithful => "every equation has known answers in the tests",
        Label::Reproduced => "matches published numbers",
    }
}
