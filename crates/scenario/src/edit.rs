//! Changes to the text of a scenario file that keep its comments, its order and its way of writing, for a program that
//! shows a form beside it.
//!
//! ```
//! use quell_scenario::edit::{Change, Edit, edit};
//! let text = "duration = \"10 s\" # short\n[[flows]]\nname = \"a\"\n";
//! let longer = Edit { path: "duration".into(), change: Change::Set("\"60 s\"".into()) };
//! let another = Edit { path: "flows[+]".into(), change: Change::Set("{ name = \"b\" }".into()) };
//! let text = edit(text, &[longer, another])?;
//! assert_eq!(text, "duration = \"60 s\" # short\n[[flows]]\nname = \"a\"\n\n[[flows]]\nname = \"b\"\n");
//! # Ok::<(), String>(())
//! ```

use quell_units::text::cut;
use toml_edit::{Array, ArrayOfTables, Decor, DocumentMut, Item, Table, TableLike, Value};

use crate::limits;
use crate::tree::{Node, too_deep};

/// A change at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The place, as [`Place::path`](crate::Place::path) has it; `[+]` is a new item at the end of a list. Tables and
    /// lists on the way that are not there are made.
    pub path: String,
    /// The change.
    pub change: Change,
}

/// The kind of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The value becomes this one, which is TOML: `"10 Mbit/s"` with its quotation marks, `5`, `{ name = "web" }`.
    Set(String),
    /// What is there is removed, with the comments right above and behind it.
    Remove,
    /// The item of a list moves to this place among the others, counted from 0.
    Move(usize),
}

/// Makes changes one after the other; gives the text.
///
/// # Errors
/// If the text or a value is not TOML, or a path leads nowhere; names the path and the rule.
pub fn edit(text: &str, edits: &[Edit]) -> Result<String, String> {
    Node::parse(text).map_err(|(_, message)| format!("not valid TOML: {message}"))?;
    let mut document: DocumentMut =
        text.parse().map_err(|e: toml_edit::TomlError| format!("not valid TOML: {}", e.message()))?;
    for Edit { path, change } in edits {
        apply(&mut document, path, change).map_err(|rule| format!("{}: {rule}", cut(path)))?;
    }
    let text = document.to_string();
    // Whatever was put into it: what comes out is read again.
    Node::parse(&text).map_err(|(_, message)| message)?;
    Ok(text)
}

/// A step on the way to a value.
#[derive(Debug)]
enum Step {
    Key(String),
    Item(usize),
    New,
}

/// What a step leads out of.
enum Holder<'a> {
    /// A table; true if it has a head of its own, or is the file.
    Table(&'a mut dyn TableLike, bool),
    /// A list of values.
    Array(&'a mut Array),
    /// A list of tables with heads of their own.
    Tables(&'a mut ArrayOfTables),
}

fn apply(document: &mut DocumentMut, path: &str, change: &Change) -> Result<(), String> {
    let steps = read(path)?;
    let Some((last, way)) = steps.split_last() else { return Err("leads nowhere: name a field".to_string()) };
    let value = match change {
        Change::Set(text) => Some(value_of(text)?),
        Change::Remove | Change::Move(_) => None,
    };
    let mut holder = Holder::Table(document.as_table_mut(), true);
    for (at, step) in way.iter().enumerate() {
        let next = way.get(at + 1).unwrap_or(last);
        holder = enter(holder, step, next, value.as_ref(), at == 0)?;
    }
    match (change, value) {
        (Change::Set(_), Some(value)) => set(holder, last, value, way.is_empty()),
        (Change::Move(to), _) => move_to(holder, last, *to),
        _ => remove(holder, last, way.is_empty()),
    }
}

const NOTHING: &str = "there is nothing";

/// Goes one step, and makes what is not there for a value that comes into it; it is a list if `next` is an item of one.
fn enter<'a>(
    holder: Holder<'a>,
    step: &Step,
    next: &Step,
    value: Option<&Value>,
    at_top: bool,
) -> Result<Holder<'a>, String> {
    match (holder, step) {
        (Holder::Table(table, headed), Step::Key(key)) => {
            if !table.contains_key(key) {
                let is_list = !matches!(next, Step::Key(_));
                let Some(value) = value.filter(|_| !matches!(next, Step::Item(_))) else {
                    return Err(NOTHING.to_string());
                };
                let new = match (is_list, headed && at_top) {
                    (true, true) if value.is_inline_table() => Item::ArrayOfTables(ArrayOfTables::new()),
                    (true, _) => Item::Value(Value::Array(Array::new())),
                    (false, true) => Item::Table(headed_table()),
                    (false, false) => Item::Value(Value::InlineTable(Default::default())),
                };
                table.insert(key, new);
            }
            let item = table.get_mut(key).ok_or(NOTHING)?;
            match item {
                Item::Table(table) => Ok(Holder::Table(table, true)),
                Item::ArrayOfTables(tables) => Ok(Holder::Tables(tables)),
                Item::Value(value) => of_value(value),
                Item::None => Err(NOTHING.to_string()),
            }
        }
        (Holder::Array(array), Step::Item(i)) => of_value(array.get_mut(*i).ok_or(NOTHING)?),
        (Holder::Tables(tables), Step::Item(i)) => {
            Ok(Holder::Table(tables.get_mut(*i).ok_or(NOTHING)?, true))
        }
        (_, Step::New) => Err("[+] must be the last part".to_string()),
        _ => Err(NOTHING.to_string()),
    }
}

fn of_value<'a>(value: &'a mut Value) -> Result<Holder<'a>, String> {
    match value {
        Value::InlineTable(table) => Ok(Holder::Table(table, false)),
        Value::Array(array) => Ok(Holder::Array(array)),
        _ => Err("is a plain value, which holds nothing".to_string()),
    }
}

/// A table with a head of its own, after an empty line.
fn headed_table() -> Table {
    let mut table = Table::new();
    *table.decor_mut() = Decor::new("\n", "");
    table
}

/// The same with what an inline table holds.
fn headed(inline: toml_edit::InlineTable) -> Table {
    let mut table = inline.into_table();
    table.fmt();
    *table.decor_mut() = Decor::new("\n", "");
    table
}

fn set(holder: Holder<'_>, last: &Step, value: Value, at_top: bool) -> Result<(), String> {
    match (holder, last) {
        (Holder::Table(table, headed), Step::Key(key)) => match table.get_mut(key) {
            Some(item) => replace(item, value),
            None => {
                let item = match value {
                    Value::InlineTable(inline) if at_top && headed => Item::Table(self::headed(inline)),
                    value => Item::Value(value),
                };
                table.insert(key, item);
            }
        },
        (Holder::Array(array), Step::Item(i)) => {
            let old = array.get_mut(*i).ok_or(NOTHING)?;
            *old = with_decor(value, old.decor().clone());
        }
        (Holder::Array(array), Step::New) => {
            // As the last one is written, on a line of its own or not; a comment that stands before it is its own.
            let last = array.iter().last().and_then(|v| v.decor().prefix()?.as_str());
            let space: String = match last {
                Some(prefix) => prefix.rsplit_once('\n').map_or(String::from(" "), |(_, s)| format!("\n{s}")),
                None => String::new(),
            };
            let own_line = space.starts_with('\n');
            // What stands behind the last one is mostly the end of its line.
            let behind = match array.get_mut(array.len().saturating_sub(1)) {
                Some(last) if own_line => last.decor().suffix().and_then(|s| s.as_str()).map(str::to_string),
                _ => None,
            };
            if let (Some(behind), Some(last)) = (&behind, array.get_mut(array.len().saturating_sub(1)))
                && behind.trim().is_empty()
            {
                last.decor_mut().set_suffix("");
                array.push_formatted(with_decor(value, Decor::new(space, behind.as_str())));
            } else {
                array.push_formatted(with_decor(value, Decor::new(space, "")));
            }
        }
        (Holder::Tables(tables), Step::Item(i)) => {
            let Value::InlineTable(inline) = value else { return Err("must be a table".to_string()) };
            fill(tables.get_mut(*i).ok_or(NOTHING)?, inline);
        }
        (Holder::Tables(tables), Step::New) => {
            let Value::InlineTable(inline) = value else { return Err("must be a table".to_string()) };
            tables.push(headed(inline));
        }
        _ => return Err(NOTHING.to_string()),
    }
    Ok(())
}

fn with_decor(mut value: Value, decor: Decor) -> Value {
    *value.decor_mut() = decor;
    value
}

/// Puts a value in the place of an item, in the way in which that is written as far as possible.
fn replace(item: &mut Item, value: Value) {
    match (&mut *item, value) {
        (Item::Value(old), value) => *old = with_decor(value, old.decor().clone()),
        (Item::Table(table), Value::InlineTable(inline)) => fill(table, inline),
        (Item::ArrayOfTables(tables), Value::Array(array)) if array.iter().all(Value::is_inline_table) => {
            let new = array.into_iter().filter_map(|value| match value {
                Value::InlineTable(inline) => Some(headed(inline)),
                _ => None,
            });
            let new: Vec<Table> = new.collect();
            if new.is_empty() {
                *item = Item::Value(Value::Array(Array::new()));
                return;
            }
            let first = tables.get(0).map(|table| table.decor().clone());
            tables.clear();
            for mut table in new {
                if let (true, Some(decor)) = (tables.is_empty(), &first) {
                    *table.decor_mut() = decor.clone();
                }
                tables.push(table);
            }
        }
        (_, value) => *item = Item::Value(value),
    }
}

/// Gives a table that has a head the content of another one; values that stay keep their comments.
fn fill(table: &mut Table, inline: toml_edit::InlineTable) {
    let gone: Vec<String> =
        table.iter().map(|(key, _)| key.to_string()).filter(|key| !inline.contains_key(key)).collect();
    gone.iter().for_each(|key| drop(table.remove(key)));
    for (key, value) in inline {
        match table.get_mut(&key) {
            Some(item) => replace(item, value),
            None => drop(table.insert(&key, Item::Value(with_decor(value, Decor::default())))),
        }
    }
}

fn remove(holder: Holder<'_>, last: &Step, at_top: bool) -> Result<(), String> {
    match (holder, last) {
        (Holder::Table(table, _), Step::Key(key)) => {
            // The words at the head of a file are not those of its first key.
            let is_first = at_top && table.iter().next().is_some_and(|(first, _)| first == key);
            let above = table.key(key).and_then(|key| key.leaf_decor().prefix()?.as_str());
            let above = above.map(|above| if is_first { above.to_string() } else { apart(above) });
            let after = {
                let mut keys = table.iter().map(|(key, _)| key.to_string());
                keys.find(|other| other == key);
                keys.next()
            };
            table.remove(key).ok_or(NOTHING)?;
            if let (Some(kept), Some(after)) = (above.filter(|kept| !kept.is_empty()), after) {
                match table.get_mut(&after) {
                    Some(Item::Table(next)) => put_above(next.decor_mut(), &kept),
                    Some(Item::ArrayOfTables(next)) => {
                        if let Some(first) = next.get_mut(0) {
                            put_above(first.decor_mut(), &kept);
                        }
                    }
                    _ => {
                        if let Some(mut next) = table.key_mut(&after) {
                            put_above(next.leaf_decor_mut(), &kept);
                        }
                    }
                }
            }
        }
        (Holder::Array(array), Step::Item(i)) if *i < array.len() => {
            let first = array.get(0).map(|value| value.decor().clone());
            let old = array.remove(*i);
            // The next one stands where the first stood.
            if let (0, Some(decor), Some(next)) = (*i, first, array.get_mut(0))
                && next.decor().prefix().and_then(|p| p.as_str()).is_none_or(|p| p.trim().is_empty())
            {
                let suffix = next.decor().suffix().cloned().unwrap_or_default();
                let prefix = decor.prefix().cloned().unwrap_or_default();
                *next.decor_mut() = Decor::new(prefix, suffix);
            }
            let suffix = old.decor().suffix().and_then(|s| s.as_str()).unwrap_or_default().to_string();
            let last = array.len();
            if let (true, Some(next)) = (*i == last, array.get_mut(last.wrapping_sub(1)))
                && suffix.contains('\n')
            {
                next.decor_mut().set_suffix(suffix);
            }
        }
        (Holder::Tables(tables), Step::Item(i)) if *i < tables.len() => drop(tables.remove(*i)),
        _ => return Err(NOTHING.to_string()),
    }
    Ok(())
}

/// The part of the comments above a key that an empty line separates from it.
fn apart(above: &str) -> String {
    above.rfind("\n\n").map_or(String::new(), |at| above[..at + 2].to_string())
}

fn put_above(decor: &mut Decor, kept: &str) {
    let own = decor.prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
    let all = format!("{kept}{}", own.trim_start_matches('\n'));
    decor.set_prefix(all);
}

fn move_to(holder: Holder<'_>, last: &Step, to: usize) -> Result<(), String> {
    let Step::Item(from) = last else { return Err("only items of lists move".to_string()) };
    let refuse = |length: usize| Err(format!("cannot move to place {to}: there are {length}"));
    match holder {
        Holder::Array(array) if *from < array.len() => {
            if to >= array.len() {
                return refuse(array.len());
            }
            // The lines stay, what stands on them moves.
            let decors: Vec<Decor> = array.iter().map(|value| value.decor().clone()).collect();
            let value = array.remove(*from);
            array.insert_formatted(to, value);
            for (value, decor) in array.iter_mut().zip(decors) {
                *value.decor_mut() = decor;
            }
            Ok(())
        }
        Holder::Tables(tables) if *from < tables.len() => {
            if to >= tables.len() {
                return refuse(tables.len());
            }
            let mut all: Vec<Table> = tables.iter().cloned().collect();
            let table = all.remove(*from);
            all.insert(to, table);
            tables.clear();
            for mut table in all {
                // They are written in the order of the list from here on, each with what is below it.
                anywhere(&mut table);
                tables.push(table);
            }
            Ok(())
        }
        _ => Err(NOTHING.to_string()),
    }
}

/// Forgets where tables stood in the text.
fn anywhere(table: &mut Table) {
    table.set_position(None);
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(table) => anywhere(table),
            Item::ArrayOfTables(tables) => tables.iter_mut().for_each(anywhere),
            _ => {}
        }
    }
}

/// A value in TOML.
fn value_of(text: &str) -> Result<Value, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("{} is not a value in TOML: {why}", cut(text));
    if too_deep(&format!("value = {text}")).is_some() {
        return Err(wrong(&format!("it is nested more than {} deep", limits::DEPTH)));
    }
    let mut value: Value =
        text.trim().parse().map_err(|e: toml_edit::TomlError| wrong(&e.message().to_string()))?;
    value.decor_mut().clear();
    Ok(value)
}

/// The steps of a path.
fn read(path: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if steps.len() > limits::DEPTH {
            return Err(format!("has more than {} parts", limits::DEPTH));
        }
        if let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']').ok_or("lacks a ]")?;
            let step = match index {
                "+" => Some(Step::New),
                n => n.parse().ok().map(Step::Item),
            };
            steps.push(step.ok_or("has something else than a number or + between [ and ]")?);
            rest = after;
            continue;
        }
        if !steps.is_empty() {
            rest = rest.strip_prefix('.').ok_or("lacks a dot between two keys")?;
        }
        if rest.starts_with('"') {
            let mut parts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let key =
                parts.next().and_then(Result::ok).ok_or("has a key whose quotation marks do not end")?;
            rest = &rest[parts.byte_offset()..];
            steps.push(Step::Key(key));
            continue;
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        if end == 0 {
            return Err("has an empty part".to_string());
        }
        steps.push(Step::Key(rest[..end].to_string()));
        rest = &rest[end..];
    }
    Ok(steps)
}
