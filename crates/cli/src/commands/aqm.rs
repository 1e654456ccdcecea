//! `quell aqm`: the catalog of algorithms.

use quell_aqm::catalog::{self, CATALOG, Entry, Label};
use quell_aqm::params::ParamDoc;
use serde_json::{Value, json};

mod tc;

use crate::args::{Format, FormatArgs};
use crate::failure::{Failure, unknown_name};
use crate::{json, table, terminal};

/// About algorithms.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List every algorithm.
    List(FormatArgs),
    /// Describe one: its parameters, their units and defaults, and where each default comes from.
    Describe {
        /// The algorithm's name.
        name: String,
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Write the lines of Linux's tc for an algorithm.
    Tc(Box<tc::Args>),
}

/// Lists the algorithms, or describes one.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::List(args) => list(args.format),
        Command::Describe { name, format } => describe(name, format.format),
        Command::Tc(args) => tc::run(args),
    }
}

/// An algorithm, for JSON.
fn output(entry: &Entry) -> Value {
    let &Entry { name, title, family, source, label, .. } = entry;
    json!({ "name": name, "title": title, "family": family.name(), "label": label, "source": source })
}

/// Lists the catalog.
fn list(format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return json::print(&json!({ "algorithms": CATALOG.iter().map(output).collect::<Vec<_>>() }));
    }
    let mut header = vec!["name", "algorithm", "family", "trust", "source"];
    let row =
        |e: &Entry| [e.name, e.title, e.family.name(), word(e.label), e.source].map(str::to_string).to_vec();
    let mut rows: Vec<Vec<String>> = CATALOG.iter().map(row).collect();
    // `describe` has what is left out where words would break.
    for column in ["family", "trust", "source"] {
        if let (false, Some(at)) = (table::fits(&header, &rows), header.iter().position(|h| *h == column)) {
            header.remove(at);
            rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
    }
    terminal::print(&table::text(&header, &rows))
}

/// The width below which a description has fewer columns.
const NARROW_DESCRIPTION: usize = 100;

/// Describes one algorithm.
fn describe(name: &str, format: Format) -> Result<(), Failure> {
    let entry =
        catalog::find(name).ok_or_else(|| unknown_name("algorithm", name, CATALOG.iter().map(|e| e.name)))?;
    let docs = (entry.params)();
    if format == Format::Json {
        let parameters: Vec<_> = docs.into_iter().map(|doc| json::Parameter::of(doc, None)).collect();
        let mut output = output(entry);
        output["parameters"] = json!(parameters);
        return json::print(&output);
    }
    let mut text = format!("{} ({})\n", entry.title, entry.name);
    text.push_str(&format!("family  {}\n", entry.family.name()));
    text.push_str(&format!("source  {}\n", entry.source));
    text.push_str(&format!("trust   {}: {}\n", word(entry.label), meaning(entry.label)));
    let mut text = terminal::prose(&text) + "\n";
    if docs.is_empty() {
        text.push_str("It has no parameters.\n");
    } else {
        text.push_str(&parameters(docs, terminal::text_width() < NARROW_DESCRIPTION));
    }
    terminal::print(&text)
}

/// The table of parameters; a narrow one has the unit below the default and the source in the text.
fn parameters(docs: Vec<ParamDoc>, narrow: bool) -> String {
    let wide =
        |d: ParamDoc| vec![d.name.into(), d.default, unit(d.unit).into(), one_line(d.doc), d.source.into()];
    let short = |d: ParamDoc| {
        let unit = if d.unit == "1" { String::new() } else { format!("\n[{}]", d.unit) };
        let meaning = format!("{} Default from {}.", one_line(d.doc), d.source);
        vec![d.name.into(), d.default + &unit, meaning]
    };
    match narrow {
        true => {
            let rows: Vec<_> = docs.into_iter().map(short).collect();
            table::text(&["parameter", "default", "meaning"], &rows)
        }
        false => {
            let rows: Vec<_> = docs.into_iter().map(wide).collect();
            table::text(&["parameter", "default", "unit", "meaning", "default from"], &rows)
        }
    }
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
        Label::Faithful => "every equation is tested against known answers",
        Label::Reproduced => "most of the published numbers that need a simulation are reproduced",
    }
}
