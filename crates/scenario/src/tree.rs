//! A scenario file as a tree that remembers the position of each part.
//!
//! Serde forgets positions as soon as an enum buffers its content, so the tree is our own: reading
//! from it gives errors that carry the path to the offending part, and the path leads back to a
//! line.

use std::fmt::{self, Display, Write as _};
use std::ops::Range;

use quell_units::text::{cut, short};
use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use toml::de::{DeTable, DeValue};
use toml_parser::lexer::TokenKind;

use crate::limits;

/// One step into a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Step::Key(key.to_string())
    }
}

impl From<String> for Step {
    fn from(key: String) -> Self {
        Step::Key(key)
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

/// A way into a tree, such as `flows[1].rtt`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Path(pub Vec<Step>);

impl Path {
    /// This path and one step more.
    pub fn then(&self, step: impl Into<Step>) -> Path {
        let mut steps = self.0.clone();
        steps.push(step.into());
        Path(steps)
    }

    /// The last key on the way, which leads to a value or to the list that has it.
    pub fn last_key(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        })
    }
}

/// Makes a [`Path`] from its steps: `steps!["flows", 1, "rtt"]`.
macro_rules! steps {
    ($($step:expr),* $(,)?) => { $crate::tree::Path(vec![$($crate::tree::Step::from($step)),*]) };
}
pub(crate) use steps;

impl Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(n) => write!(f, "[{n}]")?,
                Step::Key(key) => {
                    if i > 0 {
                        f.write_char('.')?;
                    }
                    let key = short(key);
                    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                    if !key.is_empty() && key.chars().all(bare) {
                        f.write_str(&key)?;
                    } else {
                        write!(f, "{key:?}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A value and its position in the text, if it comes from one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub value: Value,
    pub span: Option<Range<usize>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    String(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub key_span: Option<Range<usize>>,
    pub node: Node,
}

impl Node {
    /// Reads TOML; the error carries a position and a message.
    pub fn parse(text: &str) -> Result<Node, (Option<Range<usize>>, String)> {
        if let Some(place) = too_deep(text) {
            return Err((Some(place), nested_rule()));
        }
        let table = DeTable::parse(text).map_err(|e| (e.span(), e.message().to_string()))?;
        let span = table.span();
        from_table(table.get_ref(), limits::DEPTH).map(|value| Node { value, span: Some(span) })
    }

    /// A value that comes from no text.
    pub fn from_toml(value: &toml::Value) -> Node {
        let value = match value {
            toml::Value::String(s) => Value::String(s.clone()),
            toml::Value::Integer(n) => Value::Integer(*n),
            toml::Value::Float(x) => Value::Float(*x),
            toml::Value::Boolean(b) => Value::Bool(*b),
            toml::Value::Datetime(d) => Value::String(d.to_string()),
            toml::Value::Array(items) => Value::Array(items.iter().map(Node::from_toml).collect()),
            toml::Value::Table(table) => return Node::from_table(table),
        };
        Node { value, span: None }
    }

    /// A table that comes from no text.
    pub fn from_table(table: &toml::Table) -> Node {
        let entry = |(key, value): (&String, &toml::Value)| Entry {
            key: key.clone(),
            key_span: None,
            node: Node::from_toml(value),
        };
        Node { value: Value::Table(table.iter().map(entry).collect()), span: None }
    }

    /// The value as `toml` has it.
    pub fn to_toml(&self) -> toml::Value {
        match &self.value {
            Value::String(s) => s.as_str().into(),
            Value::Integer(n) => (*n).into(),
            Value::Float(x) => (*x).into(),
            Value::Bool(b) => (*b).into(),
            Value::Array(items) => toml::Value::Array(items.iter().map(Node::to_toml).collect()),
            Value::Table(_) => toml::Value::Table(self.to_table()),
        }
    }

    /// A table as `toml` has it.
    pub fn to_table(&self) -> toml::Table {
        self.entries().iter().map(|e| (e.key.clone(), e.node.to_toml())).collect()
    }

    /// Puts the tables that are sections of a file behind the other entries, as a file has them.
    pub fn sections_last(&mut self) {
        let is_table = |node: &Node| matches!(node.value, Value::Table(_));
        let is_section =
            |node: &Node| is_table(node) || !node.items().is_empty() && node.items().iter().all(is_table);
        match &mut self.value {
            Value::Table(entries) => {
                entries.sort_by_key(|e| is_section(&e.node));
                entries.iter_mut().filter(|e| is_section(&e.node)).for_each(|e| e.node.sections_last());
            }
            Value::Array(items) => items.iter_mut().for_each(Node::sections_last),
            _ => {}
        }
    }

    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// The value of a key of a table, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let Value::Table(entries) = &mut self.value else { return None };
        entries.iter_mut().find(|e| e.key == key).map(|e| &mut e.node)
    }

    /// The text that it is, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::Array(items) => items,
            _ => &[],
        }
    }

    /// Takes a key out of a table.
    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        let Value::Table(entries) = &mut self.value else { return None };
        let at = entries.iter().position(|e| e.key == key)?;
        Some(entries.remove(at))
    }

    /// The node at `path`.
    pub fn at(&self, path: &Path) -> Option<&Node> {
        path.0.iter().try_fold(self, |node, step| match step {
            Step::Key(key) => node.get(key),
            Step::Index(i) => node.items().get(*i),
        })
    }

    /// The node at `path`, to change it.
    pub fn at_mut(&mut self, path: &Path) -> Option<&mut Node> {
        path.0.iter().try_fold(self, |node, step| match step {
            Step::Key(key) => node.get_mut(key),
            Step::Index(i) => match &mut node.value {
                Value::Array(items) => items.get_mut(*i),
                _ => None,
            },
        })
    }

    /// The offset of `path` in the text, or of as much of it as there is: a missing key leads to its table.
    pub fn locate(&self, path: &Path) -> Option<usize> {
        let mut node = self;
        let mut found = None;
        for step in &path.0 {
            let (next, start) = match step {
                Step::Key(key) => match node.entries().iter().find(|e| e.key == *key) {
                    Some(e) => (&e.node, e.key_span.as_ref().or(e.node.span.as_ref())),
                    None => break,
                },
                Step::Index(i) => match node.items().get(*i) {
                    Some(n) => (n, n.span.as_ref()),
                    None => break,
                },
            };
            found = start.map(|s| s.start).or(found);
            node = next;
        }
        found
    }

    /// True if both say the same, wherever they stand.
    pub fn same(&self, other: &Node) -> bool {
        match (&self.value, &other.value) {
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
            }
            (Value::Table(a), Value::Table(b)) => {
                a.len() == b.len() && a.iter().all(|e| other.get(&e.key).is_some_and(|n| n.same(&e.node)))
            }
            (a, b) => a == b,
        }
    }

    /// The value as it would be written, cut short if it is long.
    pub fn show(&self) -> String {
        if let Value::String(s) = &self.value {
            return format!("{:?}", short(s));
        }
        let mut out = String::new();
        self.write(&mut out);
        match out.char_indices().nth(60) {
            Some((at, _)) => format!("{}...", &out[..at]),
            None => out,
        }
    }

    fn write(&self, out: &mut String) {
        if out.len() > 400 {
            return; // Only the beginning is shown.
        }
        // Writing to a String does not fail.
        let _ = match &self.value {
            Value::String(s) => write!(out, "{s:?}"),
            Value::Integer(n) => write!(out, "{n}"),
            Value::Float(x) => write!(out, "{x:?}"),
            Value::Bool(b) => write!(out, "{b}"),
            Value::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    item.write(out);
                }
                write!(out, "]")
            }
            Value::Table(entries) => {
                out.push_str("{ ");
                for (i, e) in entries.iter().enumerate() {
                    let _ = write!(out, "{}{} = ", if i > 0 { ", " } else { "" }, e.key);
                    e.node.write(out);
                }
                write!(out, " }}")
            }
        };
    }

    /// Reads a `T` from this node.
    pub fn read<'de, T: de::Deserialize<'de>>(&self) -> Result<T, Fault> {
        T::deserialize(self.reader())
    }

    /// This node for serde to read.
    pub fn reader(&self) -> De<'_> {
        De(self)
    }
}

/// A table with at most so many levels below it.
fn from_table(table: &DeTable<'_>, depth: usize) -> Result<Value, (Option<Range<usize>>, String)> {
    let mut entries = table
        .iter()
        .map(|(key, value)| {
            Ok(Entry {
                key: key.get_ref().to_string(),
                key_span: Some(key.span()),
                node: Node {
                    value: from_value(value.get_ref(), value.span(), depth)?,
                    span: Some(value.span()),
                },
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    // The order of the text: sweeps vary their keys in the order in which they are written.
    entries.sort_by_key(|e| e.key_span.as_ref().map_or(0, |s| s.start));
    Ok(Value::Table(entries))
}

fn nested_rule() -> String {
    format!("tables and lists are nested more than {} deep", limits::DEPTH)
}

/// The place where TOML nests tables and lists far deeper than is allowed. The reader of TOML has a limit for brackets and
/// one for the parts of a key, but a key of many parts within each bracket makes a tree that is as deep as both together,
/// and dropping that alone takes a stack as deep. So the text is looked at before there is a tree.
pub(crate) fn too_deep(text: &str) -> Option<Range<usize>> {
    // What each open bracket adds, the parts of the table's own key, and the dots since.
    let (mut open, mut header, mut dots) = (Vec::new(), 0, 0);
    let mut value = false;
    for token in toml_parser::Source::new(text).lex() {
        match token.kind() {
            TokenKind::Dot => dots += 1,
            TokenKind::Equals => value = true,
            TokenKind::LeftSquareBracket if open.is_empty() && !value => header = 0,
            TokenKind::RightSquareBracket if open.is_empty() => {
                header = header.max(dots + 1);
                dots = 0;
            }
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                open.push(dots + 1);
                dots = 0;
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                open.pop();
                dots = 0;
            }
            TokenKind::Comma => dots = 0,
            TokenKind::Newline if open.is_empty() => (dots, value) = (0, false),
            _ => {}
        }
        // A number has a dot as well, and what is a little too deep is counted exactly once there is a tree.
        if header + open.iter().sum::<usize>() + dots > 2 * limits::DEPTH {
            return Some(token.span().start()..token.span().end());
        }
    }
    None
}

fn out_of_range(integer: &str) -> String {
    format!("{} is out of range: whole numbers lie between {} and {}", cut(integer), i64::MIN, i64::MAX)
}

fn from_value(
    value: &DeValue<'_>,
    span: Range<usize>,
    depth: usize,
) -> Result<Value, (Option<Range<usize>>, String)> {
    let deeper = || depth.checked_sub(1).ok_or_else(|| (Some(span.clone()), nested_rule()));
    Ok(match value {
        DeValue::String(s) => Value::String(s.to_string()),
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(d) => Value::String(d.to_string()),
        DeValue::Integer(n) => Value::Integer(
            i64::from_str_radix(n.as_str(), n.radix()).map_err(|_| (Some(span), out_of_range(n.as_str())))?,
        ),
        DeValue::Float(x) => Value::Float(
            x.as_str()
                .parse()
                .map_err(|e| (Some(span), format!("{} is not a number: {e}", cut(x.as_str()))))?,
        ),
        DeValue::Array(items) => {
            let depth = deeper()?;
            let node = |item: &toml::Spanned<DeValue<'_>>| {
                Ok(Node { value: from_value(item.get_ref(), item.span(), depth)?, span: Some(item.span()) })
            };
            Value::Array(items.iter().map(node).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => from_table(table, deeper()?)?,
    })
}

/// The reason why a tree is not what was to be read from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The path, innermost step first while it is being built.
    steps: Vec<Step>,
    pub value: Option<String>,
    pub rule: String,
    pub nearest: Option<String>,
    /// The names that there are, for the end of the message.
    pub known: Option<String>,
    /// Set when the fault is a key that must not be there.
    pub unknown_key: bool,
    /// Set when a key is missing.
    pub missing: bool,
    /// Set when a value is of another type, or of another size, than what is read there.
    pub mistyped: bool,
    /// Set when a list stands where one value is wanted.
    pub list: bool,
}

impl Fault {
    fn new(rule: impl Into<String>) -> Self {
        Fault { rule: rule.into(), ..Fault::default() }
    }

    pub fn path(&self) -> Path {
        Path(self.steps.iter().rev().cloned().collect())
    }

    fn within(mut self, step: impl Into<Step>) -> Self {
        self.steps.push(step.into());
        self
    }

    /// Names the value, if no part of it was named already.
    fn about(mut self, node: &Node) -> Self {
        if self.steps.is_empty() && self.value.is_none() && !matches!(node.value, Value::Table(_)) {
            self.value = Some(node.show());
        }
        self
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rule)
    }
}

impl std::error::Error for Fault {}

impl serde::ser::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Fault::new(message.to_string())
    }
}

impl de::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Fault::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let rule = format!("expected {}, not {}", plain_words(&expected.to_string()), kind(&found));
        let expected = expected.to_string();
        let table = expected == "a map" || expected.starts_with("struct ");
        let list = matches!(found, Unexpected::Seq) && !table;
        Fault { mistyped: true, list, ..Fault::new(rule) }
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let rule = format!("expected {}", plain_words(&expected.to_string()));
        Fault { mistyped: true, ..Fault::new(rule) }
    }

    fn invalid_length(length: usize, expected: &dyn de::Expected) -> Self {
        Fault::new(format!("expected {}, not {length}", plain_words(&expected.to_string())))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let (rule, nearest) = quell_names::unknown("key", field, expected);
        let known = Some(known("known keys", expected));
        Fault { nearest, known, unknown_key: true, ..Fault::new(rule).within(field) }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let choice = known("must be one of", expected);
        match quell_names::of_sender(variant, expected) {
            Some((Some(rule), _)) => return Fault { known: Some(choice), ..Fault::new(rule) },
            Some((None, nearest)) => return Fault { nearest, ..Fault::new(choice) },
            None => {}
        }
        match quell_names::unknown("name", variant, expected) {
            (rule, None) if rule != "unknown name" => Fault { known: Some(choice), ..Fault::new(rule) },
            (_, nearest) => Fault { nearest, ..Fault::new(choice) },
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Fault { missing: true, ..Fault::new("is missing") }.within(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Fault::new("is given twice").within(field)
    }
}

/// The words for what serde expects, without the names of Rust's types.
fn plain_words(expected: &str) -> String {
    match expected {
        "u8" | "u16" => "a whole number from 0 to 65535".into(),
        "u32" | "u64" | "usize" => "a whole number of at least 0".into(),
        "i8" | "i16" | "i32" | "i64" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" => "text in quotes".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        "unit" | "unit variant" => "a name in quotes".into(),
        other => match other.strip_prefix("an array of length ") {
            Some(length) => format!("a list of {length} values"),
            None if other.starts_with("struct ") => "a table".into(),
            None => other.into(),
        },
    }
}

fn kind(found: &Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "true or false",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "a whole number",
        Unexpected::Float(_) => "a number",
        Unexpected::Str(_) => "a string",
        Unexpected::Seq => "a list",
        Unexpected::Map => "a table",
        _ => "this",
    }
}

pub(crate) fn known(intro: &str, names: &[&str]) -> String {
    format!("{intro}: {}", names.join(", "))
}

/// The types of tables that cannot be lists.
const TABLES: &[&str] = &[
    "Cell",
    "CellUser",
    "GilbertElliott",
    "Handovers",
    "Jitter",
    "Match",
    "Shaper",
    "TrafficClass",
    "Wifi",
    "WifiStation",
    "WifiUplink",
];

/// Reads a node through serde.
pub(crate) struct De<'a>(&'a Node);

impl<'de> De<'_> {
    fn any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::String(s) => visitor.visit_str(s),
            Value::Integer(n) => visitor.visit_i64(*n),
            Value::Float(x) => visitor.visit_f64(*x),
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::Array(items) => visitor.visit_seq(Items { items, next: 0 }),
            Value::Table(entries) => visitor.visit_map(Entries { entries, next: 0 }),
        }
    }
}

impl<'de> Deserializer<'de> for De<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let node = self.0;
        self.any(visitor).map_err(|e| e.about(node))
    }

    /// A number where text is wanted is mostly a quantity without its unit: it is handed on as text,
    /// and the quantity says what is missing.
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let node = self.0;
        match node.value {
            Value::Integer(_) | Value::Float(_) => {
                visitor.visit_str::<Fault>(&node.show()).map_err(|e| e.about(node))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let node = self.0;
        visitor.visit_some(self).map_err(|fault| match &node.value {
            Value::String(s) if s == "none" && fault.steps.is_empty() => {
                Fault::new("is not a value here; leave out the key").about(node)
            }
            _ => fault,
        })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    /// serde reads a list as the values of a table in their order. Old files rely on that, as in `linear = ["0 s", "1 s"]`,
    /// but newer tables are as the schema has them.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if matches!(self.0.value, Value::Array(_)) && TABLES.contains(&name) {
            let fault = <Fault as de::Error>::invalid_type(Unexpected::Seq, &visitor);
            return Err(fault.about(self.0));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let node = self.0;
        match &node.value {
            Value::String(s) => {
                let name: StrDeserializer<'_, Fault> = s.as_str().into_deserializer();
                visitor.visit_enum(name)
            }
            Value::Table(entries) if entries.len() == 1 => {
                visitor.visit_enum(de::value::MapAccessDeserializer::new(Entries { entries, next: 0 }))
            }
            _ => Err(Fault::new(known("must be one of", variants))),
        }
        .map_err(|e| e.about(node))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier ignored_any
    }
}

struct Items<'a> {
    items: &'a [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(item) = self.items.get(self.next) else { return Ok(None) };
        self.next += 1;
        seed.deserialize(De(item)).map(Some).map_err(|e| e.about(item).within(self.next - 1))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

struct Entries<'a> {
    entries: &'a [Entry],
    next: usize,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some(entry) = self.entries.get(self.next) else { return Ok(None) };
        seed.deserialize(entry.key.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let entry = &self.entries[self.next];
        self.next += 1;
        seed.deserialize(De(&entry.node)).map_err(|e| e.about(&entry.node).within(entry.key.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Inner {
        rtt: quell_units::Duration,
        shape: Option<Shape>,
    }
    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[allow(dead_code)]
    enum Shape {
        Pareto { shape: f64 },
    }
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Outer {
        flows: Vec<Inner>,
    }

    fn fault(text: &str) -> (String, usize, Fault) {
        let node = Node::parse(text).unwrap();
        let fault = node.read::<Outer>().unwrap_err();
        let line = text[..node.locate(&fault.path()).unwrap()].lines().count().max(1);
        (fault.path().to_string(), line, fault)
    }

    #[test]
    fn faults_know_their_path_and_line_inside_tagged_tables_too() {
        let (path, _, f) = fault("\n[[flows]]\nrtt = \"1 s\"\n[[flows]]\nrtts = \"1 s\"\n");
        assert_eq!(
            (path.as_str(), f.nearest.as_deref(), f.unknown_key),
            ("flows[1].rtts", Some("rtt"), true)
        );
        let (path, _, f) = fault("[[flows]]\nrtt = 100\n");
        assert_eq!((path.as_str(), f.value.as_deref()), ("flows[0].rtt", Some("100")));
        assert!(f.rule.contains("a time with its unit"), "{}", f.rule);
        let (path, _, f) = fault("[[flows]]\nrtt = \"1 s\"\nshape = { pareto = { shape = \"x\" } }\n");
        assert_eq!((path.as_str(), f.value.as_deref()), ("flows[0].shape.pareto.shape", Some("\"x\"")));
        let (path, _, f) = fault("[[flows]]\nrtt = \"1 s\"\nshape = { parto = { shape = 1 } }\n");
        assert_eq!((path.as_str(), f.nearest.as_deref()), ("flows[0].shape", Some("pareto")));
    }
}
