//! The file of `--config`: what it says, and where.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use quell_files::Limit;
use quell_names::suggest;
use quell_units::text::cut;
use quell_units::{BitRate, Bytes, QueueSize};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::algorithm::{explained, meant};
use super::super::failure::Failure;
use super::firewall::Choice;

/// What becomes of traffic if this program dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnExit {
    /// It passes unshaped.
    #[default]
    Open,
    /// It stops.
    Closed,
}

/// The contents of a file: the options of the command line by their names, the algorithm as in scenarios.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub wan: Option<String>,
    pub up: Option<BitRate>,
    pub down: Option<BitRate>,
    pub aqm: Option<Value>,
    pub buffer: Option<QueueSize>,
    pub ecn: Option<bool>,
    pub seed: Option<u64>,
    pub log: Option<PathBuf>,
    pub log_size: Option<Bytes>,
    pub log_total: Option<Bytes>,
    pub on_exit: Option<OnExit>,
    #[serde(default)]
    pub shadow: Vec<Value>,
    pub metrics: Option<SocketAddr>,
    pub metrics_any: Option<bool>,
    pub firewall: Option<Choice>,
    pub queue: Option<u16>,
    pub mark_bit: Option<u8>,
    pub id: Option<String>,
    pub user: Option<Value>,
    #[serde(skip)]
    places: Places,
}

/// The lines of a file's fields.
#[derive(Debug, Default)]
struct Places {
    name: String,
    /// The line of each field, such as `aqm.target` and `shadow[1]`, counted from 1.
    lines: BTreeMap<String, usize>,
}

/// A field, where its key is and where its value is.
struct Field {
    name: String,
    key: Range<usize>,
    value: Range<usize>,
}

/// The fields of a table, each after the one that it is in.
fn fields(table: &DeTable<'_>, before: &str, all: &mut Vec<Field>) {
    for (key, value) in table {
        of_value(format!("{before}{}", key.get_ref()), key.span(), value, all);
    }
}

fn of_value(name: String, key: Range<usize>, value: &Spanned<DeValue<'_>>, all: &mut Vec<Field>) {
    all.push(Field { name: name.clone(), key, value: value.span() });
    match value.get_ref() {
        DeValue::Table(table) => fields(table, &format!("{name}."), all),
        DeValue::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                of_value(format!("{name}[{n}]"), item.span(), item, all);
            }
        }
        _ => {}
    }
}

impl File {
    /// Reads a file.
    ///
    /// # Errors
    /// Names the file, the line, the field, its value and the rule.
    pub fn read(path: &Path) -> Result<File, Failure> {
        let name = quell_files::name(path);
        let text = quell_files::read_text(path, Limit::of_text("a configuration"))
            .map_err(|e| Failure::BadInput(format!("{name}: {e}")))?;
        let line = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
        let wrong = |at: Option<usize>, why: String| {
            let place = at.map_or(String::new(), |at| format!(":{}", line(at)));
            Failure::BadInput(format!("{name}{place}: {why}"))
        };
        let begin = |e: &toml::de::Error| e.span().map(|span| span.start);
        let table = DeTable::parse(&text).map_err(|e| wrong(begin(&e), e.message().into()))?;
        let mut all = Vec::new();
        fields(table.get_ref(), "", &mut all);
        let mut file: File = toml::from_str(&text).map_err(|e| {
            let span = e.span().unwrap_or_default();
            let within = |range: &Range<usize>| range.start <= span.start && span.end <= range.end;
            // The innermost of those that it is in.
            let of = |of: fn(&Field) -> &Range<usize>| all.iter().rfind(|field| within(of(field)));
            let Some(field) = of(|field| &field.key).or_else(|| of(|field| &field.value)) else {
                return wrong(begin(&e), e.message().into());
            };
            let why = match e.message().split('`').skip(1).step_by(2).collect::<Vec<_>>()[..] {
                [unknown, ref known @ ..] if e.message().starts_with("unknown field") => {
                    let (rule, nearest) = meant("key", unknown, known);
                    let known = format!("known: {}", known.join(", "));
                    format!("{}: {}", cut(unknown), suggest(&rule, nearest.as_deref(), Some(&known)))
                }
                _ => {
                    let value = text.get(field.value.clone()).unwrap_or_default();
                    format!("{} = {}: {}", field.name, cut(value), explained(e.message()))
                }
            };
            wrong(Some(field.key.start), why)
        })?;
        let lines = all.into_iter().map(|field| (field.name, line(field.key.start))).collect();
        file.places = Places { name, lines };
        Ok(file)
    }

    /// The place of a field, or of what it is in: the file, the line, the field.
    pub fn place(&self, field: &str) -> String {
        let Places { name, lines } = &self.places;
        let around = field.rfind(['.', '[']).map_or("", |end| &field[..end]);
        let line = lines.get(field).or_else(|| lines.get(around));
        format!("{name}{}: {field}", line.map_or(String::new(), |line| format!(":{line}")))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_field_has_the_line_of_its_key_and_a_part_that_is_not_there_that_of_the_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("g.toml");
        fs::write(&path, "# first\nup = \"5 Mbit/s\"\nshadow = [\n  \"pie\",\n  { algorithm = \"red\" },\n]\n[aqm]\nalgorithm = \"pi\"\n")
            .unwrap();
        let file = File::read(&path).unwrap();
        let name = quell_files::name(path);
        for (field, line) in
            [("up", 2), ("shadow[1]", 5), ("aqm", 7), ("aqm.algorithm", 8), ("aqm.target", 7), ("shadow", 3)]
        {
            assert_eq!(file.place(field), format!("{name}:{line}: {field}"));
        }
        assert_eq!(file.place("down"), format!("{name}: down"));
    }
}
