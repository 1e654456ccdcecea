//! `quell tcp`: the parts of senders.

use quell_tcp::catalog::{self, COMMON, Entry, Parameter, SENDERS};
use serde_json::{Value, json};

use crate::args::{Format, FormatArgs};
use crate::failure::{Failure, unknown_name};
use crate::{json, table, terminal};

/// About senders.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List every value of the keys that select a sender's parts.
    List(FormatArgs),
    /// Describe one: what it needs and refuses, the keys it reads with their ranges, and what Quell does where its
    /// source leaves something open.
    Describe {
        /// The value, such as cubic, or with its key if the name is ambiguous: recovery.reno.
        name: String,
        #[command(flatten)]
        format: FormatArgs,
    },
}

/// Lists the parts of senders, or describes one.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::List(args) => list(args.format),
        Command::Describe { name, format } => describe(name, format.format),
    }
}

/// A value of a key, for JSON.
fn output(entry: &Entry) -> Value {
    let &Entry { key, name, title, summary, source, .. } = entry;
    json!({ "key": key, "name": name, "title": title, "summary": summary, "source": source })
}

/// A key that senders read, for JSON.
fn key(Parameter { doc, range }: Parameter) -> json::Parameter {
    json::Parameter::of(doc, Some(range))
}

fn common() -> impl Iterator<Item = Parameter> {
    Parameter::all().into_iter().filter(|p| COMMON.contains(&p.doc.name))
}

/// Lists the catalog.
fn list(format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return json::print(&json!({
            "senders": SENDERS.iter().map(|e| output(e)).collect::<Vec<_>>(),
            // The keys that every sender reads.
            "common": common().map(key).collect::<Vec<_>>(),
        }));
    }
    let row = |e: &&Entry| [e.key, e.name, e.summary, e.source].map(str::to_string).to_vec();
    let rows: Vec<_> = SENDERS.iter().map(row).collect();
    let header = ["key", "value", "meaning", "source"];
    if table::fits(&header, &rows) {
        return terminal::print(&table::text(&header, &rows));
    }
    let line = |e: &&Entry| format!("{} = \"{}\": {} Source: {}.\n", e.key, e.name, e.summary, e.source);
    terminal::print(&terminal::prose(&SENDERS.iter().map(line).collect::<String>()))
}

/// Says of a key of the `tcp` table what it is, what it may be and which values of others read it.
fn describe_key(parameter: &Parameter, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return json::print(&key(parameter.clone()));
    }
    let Parameter { doc, range } = parameter;
    let values: Vec<String> = catalog::of_key(doc.name).map(Entry::id).collect();
    let mut text = format!(
        "{}, a key of a group's tcp table\n{}\ndefault  {} ({})\nrange    {range}\nunit     {}\n",
        doc.name, doc.doc, doc.default, doc.source, doc.unit
    );
    text.push_str(&format!("read by  {}\n", catalog::readers(doc.name)));
    if !values.is_empty() {
        text.push_str(&format!("\nIts values: quell tcp describe {}\n", values.join(" | ")));
    }
    text.push_str("See docs/senders/README.md, and the page of each value that reads it.\n");
    terminal::print(&terminal::prose(&text))
}

/// The width below which a description has fewer columns.
const NARROW: usize = 110;

/// Describes one value, or one key.
fn describe(name: &str, format: Format) -> Result<(), Failure> {
    let keys = Parameter::all();
    if let Some(key) = keys.iter().find(|p| p.doc.name == name) {
        return describe_key(key, format);
    }
    let entry = catalog::find(name).ok_or_else(|| {
        let ids: Vec<String> = SENDERS.iter().map(|e| e.id()).collect();
        let names = ids.iter().map(String::as_str).chain(keys.iter().map(|p| p.doc.name));
        unknown_name("part of a sender", name, names)
    })?;
    if format == Format::Json {
        let mut output = output(entry);
        output["needs"] = json!(entry.demands());
        output["refuses"] = json!(entry.refusals());
        output["parameters"] = json!(entry.parameters().into_iter().map(key).collect::<Vec<_>>());
        output["choices"] = json!(entry.choices);
        return json::print(&output);
    }
    let mut text = format!("{} ({} = \"{}\")\n{}\n", entry.title, entry.key, entry.name, entry.summary);
    text.push_str(&format!("source   {}\n", entry.source));
    for (what, lines) in [("needs  ", entry.demands()), ("refuses", entry.refusals())] {
        lines.iter().for_each(|line| text.push_str(&format!("{what}  {line}\n")));
    }
    let own = entry.parameters();
    text.push('\n');
    if own.is_empty() {
        text.push_str("It reads only the keys that every sender reads:\n");
    } else {
        text.push_str(&key_table(own));
        text.push_str("Every sender also reads:\n");
    }
    text.push_str(&format!("{}\n", common().map(|p| p.doc.name).collect::<Vec<_>>().join(", ")));
    if !entry.choices.is_empty() {
        text.push_str("\nWhere the source leaves something open, or the code differs from it:\n");
        entry.choices.iter().for_each(|choice| text.push_str(&format!("- {choice}\n")));
    }
    for other in SENDERS.iter().filter(|e| e.name == entry.name && e.key != entry.key) {
        text.push_str(&format!(
            "\nFor {} = \"{}\": quell tcp describe {}.{}\n",
            other.key, other.name, other.key, other.name
        ));
    }
    terminal::print(&terminal::prose(&text))
}

/// The table of keys; a narrow one has unit and range below the default, and the source in the text.
fn key_table(list: Vec<Parameter>) -> String {
    let narrow = terminal::text_width() < NARROW;
    let row = |Parameter { doc, range }: Parameter| match narrow {
        true => {
            let meaning = format!("{} Range: {range}. Default from {}.", doc.doc, doc.source);
            vec![doc.name.to_string(), doc.default, meaning]
        }
        false => vec![
            doc.name.to_string(),
            doc.default,
            doc.unit.to_string(),
            range,
            doc.doc.to_string(),
            doc.source.to_string(),
        ],
    };
    let rows: Vec<_> = list.into_iter().map(row).collect();
    match narrow {
        true => table::text(&["key", "default", "meaning"], &rows),
        false => table::text(&["key", "default", "unit", "range", "meaning", "default from"], &rows),
    }
}
