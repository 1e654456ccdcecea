//! The file of `--config`: what it says, and where.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use quell_files::Limit;
use quell_names::suggest;
use quell_units::text::{cut, named};
use quell_units::{BitRate, Bytes, QueueSize};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::algorithm::{MOST_FAULTS, explained, meant, unknown_and_known};
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
    pub burst: Option<Bytes>,
    pub peak_rate: Option<BitRate>,
    #[serde(default)]
    pub classes: Vec<TrafficClass>,
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
    /// What is wrong in it, each with its line. What it is about is not in the other fields.
    #[serde(skip)]
    pub faults: Vec<String>,
    /// The settings that `faults` are about.
    #[serde(skip)]
    spoiled: BTreeSet<String>,
}

/// A class of packets.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrafficClass {
    pub name: String,
    pub dscp: Option<OneOrMore<u8>>,
    pub mark: Option<OneOrMore<u16>>,
    pub priority: Option<u8>,
    pub quantum: Option<Bytes>,
    pub buffer: Option<QueueSize>,
    pub aqm: Option<Value>,
    // Which scenarios have, and a gateway does not.
    pub rate: Option<Value>,
    pub ceil: Option<Value>,
    pub parent: Option<Value>,
}

/// A number, or a list of them.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMore<T> {
    One(T),
    More(Vec<T>),
}

impl<T: Copy> OneOrMore<T> {
    pub fn all(&self) -> &[T] {
        match self {
            OneOrMore::One(one) => std::slice::from_ref(one),
            OneOrMore::More(more) => more,
        }
    }
}

/// The lines of a file's fields.
#[derive(Debug, Default)]
struct Places {
    name: String,
    /// The line of each field, such as `aqm.target` and `shadow[1]`, counted from 1.
    lines: BTreeMap<String, usize>,
}

/// A field, where its key is and where its value is.
struct Field<'a> {
    /// The number of the field that it is in.
    within: Option<usize>,
    step: Step<'a>,
    key: Range<usize>,
    value: Range<usize>,
}

/// The way from a field to one in it.
#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Item(usize),
}

/// The fields of a file, each after the one that it is in. Each has its own part of its name only: a name that many
/// fields are in would be kept as often.
#[derive(Default)]
struct Fields<'a> {
    all: Vec<Field<'a>>,
    /// Those that have a value which no setting has, and the rule.
    strange: Vec<(usize, &'static str)>,
}

impl<'a> Fields<'a> {
    fn of(table: &'a DeTable<'_>) -> Self {
        let mut fields = Fields::default();
        fields.add_table(table, None);
        fields
    }

    fn add_table(&mut self, table: &'a DeTable<'_>, within: Option<usize>) {
        for (key, value) in table {
            self.add(within, Step::Key(key.get_ref()), key.span(), value);
        }
    }

    fn add(
        &mut self,
        within: Option<usize>,
        step: Step<'a>,
        key: Range<usize>,
        value: &'a Spanned<DeValue<'_>>,
    ) {
        let number = self.all.len();
        let own = Some(number);
        self.all.push(Field { within, step, key, value: value.span() });
        let strange = match value.get_ref() {
            DeValue::Float(x) if x.as_str().ends_with("nan") || x.as_str().ends_with("inf") => {
                Some("must be a number")
            }
            DeValue::Datetime(_) => Some("a date is not a value of any setting; put text in quotation marks"),
            _ => None,
        };
        self.strange.extend(strange.map(|rule| (number, rule)));
        match value.get_ref() {
            DeValue::Table(table) => self.add_table(table, own),
            DeValue::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    self.add(own, Step::Item(n), item.span(), item);
                }
            }
            _ => {}
        }
    }

    /// The name of a field, such as `shadow[1].target`.
    fn name(&self, field: &Field<'_>) -> String {
        let around = field.within.map_or(String::new(), |n| self.name(&self.all[n]));
        match field.step {
            Step::Key(key) if around.is_empty() => key.to_string(),
            Step::Key(key) => format!("{around}.{key}"),
            Step::Item(n) => format!("{around}[{n}]"),
        }
    }

    /// The key that a field is, or is an item of.
    fn keyed(&self, mut number: usize) -> &Field<'a> {
        while let (Step::Item(_), Some(within)) = (self.all[number].step, self.all[number].within) {
            number = within;
        }
        &self.all[number]
    }

    /// The setting that a field is in.
    fn setting(&self, mut number: usize) -> String {
        while let Some(within) = self.all[number].within {
            number = within;
        }
        self.name(&self.all[number])
    }

    /// Those that a message may be about: settings, items of their lists, and parameters of algorithms.
    fn named(&self) -> impl Iterator<Item = &Field<'a>> {
        let is_item = |n: usize| matches!(self.all[n].step, Step::Item(_));
        let is_it = move |field: &&Field<'_>| match field.within {
            None => true,
            Some(n) => self.all[n].within.is_none() || is_item(n) && matches!(field.step, Step::Key(_)),
        };
        self.all.iter().filter(is_it)
    }
}

/// The beginnings of a text's lines but the first.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn of(text: &str) -> Self {
        LineStarts(text.match_indices('\n').map(|(at, _)| at + 1).collect())
    }

    /// The number of the line that a place is in, counted from 1.
    fn line(&self, at: usize) -> usize {
        self.0.partition_point(|start| *start <= at) + 1
    }
}

/// The beginning of the first line that is refused alone for the same reason, as a setting or as an item of a list.
fn alone(text: &str, reason: &str) -> Option<usize> {
    let is_it = |text: &str| DeTable::parse(text).is_err_and(|e| e.span().is_none() && e.message() == reason);
    let mut begins = 0;
    text.split_inclusive('\n').find_map(|line| {
        let begin = begins;
        begins += line.len();
        (is_it(line) || is_it(&format!("x = [{}\n]", line.trim_end()))).then_some(begin)
    })
}

/// Takes the field out that has its value there.
fn remove(table: &mut DeTable<'_>, at: &Range<usize>) {
    let key = table.iter().find(|(_, value)| value.span() == *at).map(|(key, _)| key.clone());
    if let Some(key) = key {
        table.remove(&key);
        return;
    }
    for (_, value) in table.iter_mut() {
        match value.get_mut() {
            DeValue::Table(table) => remove(table, at),
            DeValue::Array(items) => {
                for item in items.iter_mut() {
                    if let DeValue::Table(table) = item.get_mut() {
                        remove(table, at);
                    }
                }
            }
            _ => {}
        }
    }
}

/// All faults as one message.
///
/// # Errors
/// If there are any.
pub(super) fn all(faults: &[String]) -> Result<(), Failure> {
    if faults.is_empty() { Ok(()) } else { Err(Failure::BadInput(faults.join("\n  "))) }
}

impl File {
    /// Reads a file. What is wrong with its fields is in `faults`.
    ///
    /// # Errors
    /// If it cannot be read as TOML: names the file, the line and the rule.
    pub fn read(path: &Path) -> Result<File, Failure> {
        let name = quell_files::name(path);
        let text = quell_files::read_text(path, Limit::of_settings("a gateway's configuration"))
            .map_err(|e| Failure::BadInput(format!("{name}: {e}")))?;
        let starts = LineStarts::of(&text);
        let wrong = |at: Option<usize>, why: String| {
            let place = at.map_or(String::new(), |at| format!(":{}", starts.line(at)));
            Failure::BadInput(format!("{name}{place}: {why}"))
        };
        let begin = |e: &toml::de::Error| e.span().map(|span| span.start);
        let table = DeTable::parse(&text).map_err(|e| {
            // Which one does not say itself.
            let key = e.span().filter(|_| e.message() == "duplicate key").and_then(|span| text.get(span));
            let of = key.map_or(String::new(), |key| format!(" {}: give it once", cut(key)));
            // What is too deep for the reader of TOML it does not always place.
            let at = begin(&e).or_else(|| alone(&text, e.message()));
            wrong(at, format!("{}{of}", named(e.message())))
        })?;
        let fields = Fields::of(table.get_ref());
        let mut rest = table.clone();
        // The number of the field, and what is wrong with it.
        let mut faults: Vec<(usize, String)> = Vec::new();
        let with_value = |number: usize, rule: &str| {
            let field = &fields.all[number];
            let value = text.get(field.value.clone()).unwrap_or_default();
            format!("{} = {}: {rule}", cut(&fields.name(field)), cut(value))
        };
        // What none of them can have, and what reads it would take for something else.
        for (number, rule) in fields.strange.iter().take(MOST_FAULTS) {
            faults.push((*number, with_value(*number, rule)));
            remove(rest.get_mut(), &fields.keyed(*number).value);
        }
        let mut file = loop {
            let e = match File::deserialize(toml::Deserializer::from(rest.clone())) {
                Ok(file) => break file,
                Err(_) if faults.len() >= MOST_FAULTS => break File::default(),
                Err(e) => e,
            };
            let span = e.span().unwrap_or_default();
            let within = |range: &Range<usize>| range.start <= span.start && span.end <= range.end;
            // The innermost of those that it is in.
            let of = |of: for<'r> fn(&'r Field<'_>) -> &'r Range<usize>| {
                fields.all.iter().rposition(|field| within(of(field)))
            };
            let Some(number) = of(|field| &field.key).or_else(|| of(|field| &field.value)) else {
                return Err(wrong(begin(&e), named(e.message()).into_owned()));
            };
            let why = match unknown_and_known(e.message()) {
                Some((unknown, known)) if e.message().starts_with("unknown field") => {
                    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
                    let (rule, nearest) = meant("key", unknown, &known);
                    let known = format!("known: {}", known.join(", "));
                    format!("{}: {}", cut(unknown), suggest(&named(&rule), nearest.as_deref(), Some(&known)))
                }
                _ => with_value(number, &explained(e.message())),
            };
            faults.push((number, why));
            remove(rest.get_mut(), &fields.keyed(number).value);
        };
        faults.sort_by_key(|(number, _)| fields.all[*number].key.start);
        file.spoiled = faults.iter().map(|(number, _)| fields.setting(*number)).collect();
        let said =
            |(number, why): (usize, String)| wrong(Some(fields.all[number].key.start), why).to_string();
        file.faults = faults.into_iter().map(said).collect();
        let line = |field: &Field<'_>| (fields.name(field), starts.line(field.key.start));
        let lines = fields.named().map(line).collect();
        file.places = Places { name, lines };
        Ok(file)
    }

    /// Itself, if nothing is wrong with its fields.
    ///
    /// # Errors
    /// Names the file and of each fault the line, the field, its value and the rule.
    pub fn sound(self) -> Result<File, Failure> {
        all(&self.faults)?;
        Ok(self)
    }

    /// Whether a fault is about this setting.
    pub fn spoils(&self, setting: &str) -> bool {
        self.spoiled.contains(setting)
    }

    /// The place of a field, or of what it is in: the file, the line, the field.
    pub fn place(&self, field: &str) -> String {
        let Places { name, lines } = &self.places;
        let around = field.rfind(['.', '[']).map_or("", |end| &field[..end]);
        let line = lines.get(field).or_else(|| lines.get(around));
        let field = cut(field);
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
    /// Keys of many parts are nested too deep for the reader of TOML, which does not say where.
    #[test]
    fn what_is_too_deep_has_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("g.toml");
        let deep = ["a"; 100].join(".");
        for (text, line) in [
            (format!("up = \"5 Mbit/s\"\n{deep} = 1\n"), 2),
            (format!("up = \"5 Mbit/s\"\n\n[{deep}]\nx = 1\n"), 3),
            (format!("up = \"5 Mbit/s\"\nshadow = [\n  \"pie\",\n  {{ {deep} = 1 }},\n]\n"), 4),
            (format!("up = \"5 Mbit/s\"\naqm = {}{}\n", "[".repeat(100), "]".repeat(100)), 2),
        ] {
            fs::write(&path, text).unwrap();
            let said = File::read(&path).unwrap_err().to_string();
            let place = format!("{}:{line}: ", quell_files::name(&path));
            assert!(said.starts_with(&place) && said.contains("recurs"), "{said}");
        }
    }

    /// The time to read a file grows with its size, not with the square of that: a gateway that runs reads it while
    /// packets wait.
    #[test]
    fn a_file_of_any_shape_is_read_at_once_and_a_large_one_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("g.toml");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            let begin = std::time::Instant::now();
            let read = File::read(&path).and_then(File::sound).map_err(|e| e.to_string());
            assert!(begin.elapsed().as_secs() < 10, "{} ms", begin.elapsed().as_millis());
            read
        };
        let ones = |n: usize| format!("[{}]", vec!["1"; n].join(","));
        let key = "k".repeat(30_000);
        assert_eq!(read(&format!("shadow = {}", ones(32_000))).unwrap().shadow.len(), 32_000);
        read(&format!("[aqm]\n{key} = {}", ones(16_000))).unwrap();
        assert!(read(&format!("{key} = {}", ones(16_000))).unwrap_err().contains(": unknown key"));
        read(&format!("shadow = [{}]", vec!["\n{a=1}"; 8_000].join(","))).unwrap();
        for text in [
            format!("shadow = {}", ones(200_000)),
            format!("[aqm]\n{} = {}", "k".repeat(100_000), ones(100_000)),
        ] {
            let said = read(&text).unwrap_err();
            assert!(said.contains("is too large: it has ") && said.contains("at most 64.0 KiB"), "{said}");
        }
    }

    /// What is kept of a file is not larger than it, but for a few numbers of each field.
    #[test]
    fn a_name_is_kept_once() {
        let text =
            format!("[aqm]\n{} = [{}]\n[[shadow]]\na = 1", "k".repeat(1000), vec!["1"; 1000].join(","));
        let table = DeTable::parse(&text).unwrap();
        let fields = Fields::of(table.get_ref());
        let names: Vec<String> = fields.named().map(|field| fields.name(field)).collect();
        assert_eq!(names.iter().map(String::len).sum::<usize>(), 3 + 1004 + 6 + 9 + 11);
        assert_eq!(fields.all.len(), names.len() + 1000);
        assert_eq!(
            fields.name(fields.all.iter().find(|field| matches!(field.step, Step::Item(7))).unwrap()).len(),
            1007
        );
    }
}
