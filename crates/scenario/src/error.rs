//! Errors of scenario files: one message with file, line, field, value and rule.

use std::fmt;

use quell_names::{suggest, unknown};
use quell_tcp::catalog::Parameter;
use quell_units::text::named;
use quell_units::{BitRate, Duration, QueueSize};
use serde::Serialize;

use crate::range;
use crate::tree::{Fault, Node, Path, Step, known};

/// A scenario that cannot be used: where, what, why, and what may have been meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScenarioError {
    /// The file, or whatever the text was called.
    pub file: String,
    /// The line, counted from 1; none for scenarios that come from no text.
    pub line: Option<usize>,
    /// The column in characters, counted from 1; none where there is no line. It is for editors, and is not written.
    #[serde(skip)]
    pub column: Option<usize>,
    /// The field, such as `flows[1].rtt`; empty if the file as a whole is meant.
    pub field: String,
    /// Its value as written, if it has one.
    pub value: Option<String>,
    /// The rule that it breaks.
    pub rule: String,
    /// The nearest valid name, if a name is wrong and one is near.
    pub nearest: Option<String>,
    /// The valid names, where a name is wrong: "known: drop-tail, red".
    pub known: Option<String>,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&named(&self.file))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.reason())
    }
}

impl std::error::Error for ScenarioError {}

impl ScenarioError {
    /// The message without the file and the line.
    pub fn reason(&self) -> String {
        let value = self.value.as_ref().map_or(String::new(), |value| format!(" = {value}"));
        let field = if self.field.is_empty() { String::new() } else { format!("{}{value}: ", self.field) };
        field + &suggest(&self.rule, self.nearest.as_deref(), self.known.as_deref())
    }

    /// The error for a file that cannot be used as a whole: one that cannot be read, for instance.
    pub fn of_file(file: impl Into<String>, rule: impl Into<String>) -> ScenarioError {
        ScenarioError {
            file: file.into(),
            line: None,
            column: None,
            field: String::new(),
            value: None,
            rule: rule.into(),
            nearest: None,
            known: None,
        }
    }
}

/// A fault of a scenario, before its place in a file is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub path: Path,
    pub value: Option<String>,
    pub rule: String,
    pub nearest: Option<String>,
    pub known: Option<String>,
    /// The value is none of its field, whatever the other fields are.
    pub misread: bool,
    /// An algorithm refuses the link, and might suit another one.
    pub of_link: bool,
}

impl Problem {
    /// `rule` is broken at `path`; the value is looked up there.
    pub fn new(path: Path, rule: impl Into<String>) -> Self {
        Problem {
            path,
            value: None,
            rule: rule.into(),
            nearest: None,
            known: None,
            misread: false,
            of_link: false,
        }
    }

    pub fn with_value(mut self, value: impl ToString) -> Self {
        self.value = Some(value.to_string());
        self
    }

    pub fn of_link(self) -> Self {
        Problem { of_link: true, ..self }
    }

    /// What is wrong with the text of a quantity that an expression needs, as if none did; `None` if it may be right.
    pub fn unread(path: &Path, text: &str) -> Option<Problem> {
        let error = match path.last_key()? {
            "rate" => text.parse::<BitRate>().err(),
            "delay" | "rtt" | "duration" => text.parse::<Duration>().err(),
            "buffer" => text.parse::<QueueSize>().err(),
            _ => None,
        };
        let rule = error?.to_string() + &size_of_time(path, text).unwrap_or_default();
        Some(Problem { misread: true, ..Problem::new(path.clone(), rule) })
    }

    /// `wrong`, which is at `path`, is not one of the names of its kind.
    pub fn unknown(path: Path, kind: &str, wrong: &str, intro: &str, names: &[&str]) -> Self {
        let (rule, nearest) = unknown(kind, wrong, names);
        Problem { nearest, known: Some(known(intro, names)), misread: true, ..Problem::new(path, rule) }
    }
}

/// The advice for a key of a group's `tcp` table that stands beside it.
pub(crate) fn in_tcp(key: &str, value: &str) -> String {
    format!("belongs in the group's tcp table: write tcp = {{ {key} = {value} }}")
}

/// Refuses unless `ok`.
pub(crate) fn require(ok: bool, path: Path, rule: impl Into<String>) -> Result<(), Problem> {
    if ok { Ok(()) } else { Err(Problem::new(path, rule)) }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        let mut rule = match wanted(&fault) {
            Some(wanted) if !fault.unknown_key => wanted,
            _ => fault.rule.clone(),
        };
        let range = fault.value.as_ref().is_some_and(|v| v.starts_with('"') && range::looks_like_one(v));
        if !fault.unknown_key && (fault.list || range) {
            rule.push_str(
                "; to run each of several values, sweep over them: --sweep FIELD=A,B, or [sweep] in the file",
            );
        }
        let value = if fault.unknown_key { Some(String::new()) } else { fault.value.clone() };
        let path = fault.path();
        rule.extend(fault.value.as_ref().and_then(|value| size_of_time(&path, value)));
        let misread = !fault.unknown_key && !fault.missing;
        Problem { path, value, rule, nearest: fault.nearest, known: fault.known, misread, of_link: false }
    }
}

/// The advice for a buffer that is written as a time: as much as the link sends in it.
fn size_of_time(path: &Path, value: &str) -> Option<String> {
    let (last, link) = path.0.split_last()?;
    let time = value.trim_matches('"');
    // A reverse link may have the rate of the other direction, and no key of its own.
    let is_reverse = link.last() == Some(&Step::from("reverse"));
    if *last != Step::from("buffer") || link.is_empty() || is_reverse || time.parse::<Duration>().is_err() {
        return None;
    }
    let rate = Path(link.iter().cloned().chain([Step::from("rate")]).collect());
    Some(format!("; for what the link sends in that time, write \"{time} * {rate}\""))
}

/// The rule of a field whose type alone says too little.
fn wanted(fault: &Fault) -> Option<String> {
    let path = fault.path();
    if let ([Step::Key(key)], true) = (&path.0[..], fault.missing) {
        let example = match key.as_str() {
            "schema" => "1",
            "duration" => "\"100 s\"",
            _ => return None,
        };
        return Some(format!("is missing: write {key} = {example}"));
    }
    if !fault.mistyped {
        return None;
    }
    if let [Step::Key(list), Step::Index(_), Step::Key(table), Step::Key(key)] = &path.0[..]
        && (list.as_str(), table.as_str()) == ("flows", "tcp")
        && fault.rule.contains("a whole number")
    {
        let parameter = Parameter::all().into_iter().find(|p| p.doc.name == key)?;
        let form = if parameter.doc.unit == "packets" { ", such as 10 or \"10 packets\"" } else { "" };
        return Some(match parameter.range.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("must be a whole number from {}{form}", parameter.range),
            false => format!("must be {}", parameter.range),
        });
    }
    if let Some(rule) = of_wire(&path) {
        let share = fault.value.as_ref().and_then(|value| share(value));
        return Some(share.map_or(rule.into(), |share| format!("{rule}; write {share}")));
    }
    let field = path.last_key()?;
    let whole = matches!(path.0.last(), Some(Step::Key(_)));
    let text = match (field, whole) {
        ("aqm", true) if path.0.len() == 1 => {
            "write [[aqm]]: a list of tables; or aqm = \"all\" for the whole catalog"
        }
        ("flows", true) => "write [[flows]]: a list of tables",
        ("links", true) => "write [[graph.links]]: a list of tables",
        ("classes", true) => {
            "must be a list of tables, such as [{ name = \"voice\", match = { dscp = 46 } }, { name = \"rest\", priority \
             = 1 }]"
        }
        ("users", true) => "must be a list of tables, such as [{ name = \"phone\", repeat = 4 }]",
        ("changes", true) => {
            "must be a list of changes, such as [{ at = \"10 s\", rate = \"5 Mbit/s\" }], or a table with a list or \
             a file"
        }
        ("rtt_changes" | "rate_changes", true) => {
            "must be a list of tables, such as [{ at = \"10 s\", ... }]"
        }
        ("count", true) => "must be a whole number from 1 to 200000",
        ("bottlenecks", true) => "must be a whole number from 1 to 1000",
        ("transfers", true) => "must be a whole number of at least 1, or a table such as { exponential = 5 }",
        ("steady_state", true) => "must be a list of two times, such as [\"30 s\", \"50 s\"]",
        ("schema", true) => "must be 1, the version of the format that this program reads",
        ("seeds", true) => "must be a number of seeds from 1 to 100000, or a list of seeds",
        ("seeds", false) => "must be a whole number of at least 0",
        ("sessions_per_second", true) => "must be a positive number",
        _ => return None,
    };
    Some(text.to_string())
}

/// The rule of a field that says what a wire does to packets, or how a link serves its queues.
fn of_wire(path: &Path) -> Option<&'static str> {
    let key = |step: &'_ Step| if let Step::Key(key) = step { Some(key.clone()) } else { None };
    let keys: Vec<String> = path.0.iter().filter_map(key).collect();
    let mut last = keys.iter().rev().map(String::as_str);
    let (field, table) = (last.next()?, last.next()?);
    Some(match (table, field) {
        ("changes" | "list", "loss") => {
            "must be a number from 0 to below 1, such as 0.01; bursts of losses do not change during a run, so they are \
             the link's loss, without changes of it"
        }
        (_, "loss") => {
            "must be a number from 0 to below 1, such as 0.01, or a table, such as { mean = 0.01, burst = 5 }"
        }
        (_, "duplicate") => "must be a number from 0 to below 1, such as 0.01",
        (_, "jitter") => "must be a table, such as { size = \"5 ms\" }",
        (_, "cell") => "must be a table, such as { users = [{ name = \"phone\", repeat = 4 }] }",
        ("users", "match") => "must be a table, such as { group = \"voice\" } or { dscp = [46, 34] }",
        ("users", "repeat") => "must be a whole number from 1 to 255",
        (_, "handovers") => {
            "must be a table, such as { every = \"15 s\", first = \"12 s\", delay = { uniform = [\"0 ms\", \"15 ms\"] } }"
        }
        ("handovers", "lost") => "must be true or false",
        ("handovers", "delay") => "must be a table, such as { uniform = [\"0 ms\", \"15 ms\"] }",
        ("handovers", "outage") => {
            "must be a time, such as \"50 ms\", or a table, such as { uniform = [\"20 ms\", \"80 ms\"] }"
        }
        (_, "shaper") => "must be a table, such as { rate = \"20 Mbit/s\", burst = \"15 kB\" }",
        (_, "wifi") => {
            "must be a table, such as { stations = [{ name = \"laptop\", rate = \"144.4 Mbit/s\" }] }"
        }
        ("wifi", "stations") => {
            "must be a list of tables, such as [{ name = \"laptop\", rate = \"144.4 Mbit/s\", repeat = 10 }]"
        }
        ("wifi", "uplink") => "must be a table, such as { buffer = \"100 packets\" }",
        ("stations", "repeat") => "must be a whole number from 1 to 127",
        ("stations", "error") => "must be a number from 0 to below 1, such as 0.1",
        ("wifi", "cw_min" | "cw_max") => "must be a whole number from 0 to 65535",
        ("wifi", "retries") => "must be a whole number from 0 to 255",
        ("wifi", "driver") => "must be a whole number of packets from 1 to 100000",
        ("wifi" | "stations", "aggregate_packets") => "must be a whole number from 1 to 1024",
        ("stations", "match") => "must be a table, such as { group = \"far\" }",
        ("classes", "match") => "must be a table, such as { group = \"voice\" } or { dscp = [46, 34] }",
        ("match", "group") => "must be the name of a group, or a list of names",
        ("match", "dscp") => "must be a number from 0 to 63, or a list of them",
        ("match", "host") => "must be a number of at least 1, or a list of them",
        ("classes", "repeat") => "must be a whole number from 1 to 255",
        ("classes", "priority") => "must be a whole number from 0 to 63",
        ("jitter", "correlation") => "must be a number from 0 to below 1, such as 0.25",
        ("loss", "gilbert_elliott") => "must be a table, such as { p = 0.01, r = 0.2 }",
        ("loss", "mean") => "must be a number from 0 to below 1, such as 0.01",
        ("loss", "burst") => "must be a number of packets from 1, such as 5",
        ("gilbert_elliott", "p" | "r" | "good_loss" | "bad_loss") => {
            "must be a number from 0 to 1, such as 0.01"
        }
        _ => return None,
    })
}

/// The share of 1 that a percentage in quotes is.
fn share(value: &str) -> Option<f64> {
    let percent: f64 = value.trim_matches('"').trim().strip_suffix('%')?.trim().parse().ok()?;
    // Dividing would give 0.7% as 0.006999999999999999.
    (0.0..=100.0).contains(&percent).then(|| (percent * 1e10).round() / 1e12)
}

/// A text, and what it is called.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub name: String,
    pub text: Option<String>,
}

impl Source {
    pub fn line(&self, offset: usize) -> Option<usize> {
        let text = self.text.as_ref()?;
        let before = &text.as_bytes()[..offset.min(text.len())];
        Some(1 + before.iter().filter(|b| **b == b'\n').count())
    }

    /// The column of a place, in characters.
    pub fn column(&self, offset: usize) -> Option<usize> {
        let before = self.text.as_ref()?.get(..offset)?;
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        Some(1 + before[begin..].chars().count())
    }

    /// An error about the file as a whole, or about a place in it that is not a field.
    pub fn error_at(&self, offset: Option<usize>, rule: impl Into<String>) -> ScenarioError {
        let (line, column) = (self.line(offset.unwrap_or(0)), offset.and_then(|at| self.column(at)));
        ScenarioError { line, column, ..ScenarioError::of_file(&self.name, rule) }
    }

    /// Places a problem: the line of its path in `tree`, or of the nearest part that exists.
    pub fn error(&self, tree: &Node, problem: Problem) -> ScenarioError {
        let written = tree.at(&problem.path).filter(|n| !matches!(n.value, crate::tree::Value::Table(_)));
        let value = match problem.value {
            Some(value) if value.is_empty() => None,
            Some(value) => Some(value),
            None => written.map(Node::show),
        };
        // "x" = "x" is not a time: once is enough.
        let rule = match &value {
            Some(v) => problem
                .rule
                .strip_prefix(&format!("{v} is "))
                .or_else(|| problem.rule.strip_prefix(&format!("\"{v}\" is ")))
                .map_or(problem.rule.clone(), str::to_string),
            None => problem.rule.clone(),
        };
        let place = tree.locate(&problem.path);
        ScenarioError {
            file: self.name.clone(),
            line: self.line(place.unwrap_or(0)),
            column: place.and_then(|at| self.column(at)),
            field: problem.path.to_string(),
            value,
            rule,
            nearest: problem.nearest,
            known: problem.known,
        }
    }
}
