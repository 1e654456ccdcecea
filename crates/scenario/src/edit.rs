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

mod endings;
mod path;
mod rows;
mod statements;

use quell_units::text::cut;
use toml_edit::{Array, ArrayOfTables, Decor, DocumentMut, InlineTable, Item, Table, Value};

use crate::edit::path::{Step, read};
use crate::edit::rows::{Rows, visit};
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

/// Makes changes one after the other; gives the text. Lines end as they did, and a byte order mark stays.
///
/// # Errors
/// If the text or a value is not TOML, or a path leads nowhere; names the path and the rule.
pub fn edit(text: &str, edits: &[Edit]) -> Result<String, String> {
    Node::parse(text).map_err(|(_, message)| format!("not valid TOML: {message}"))?;
    let mark = text.starts_with(endings::BYTE_ORDER_MARK).then_some(endings::BYTE_ORDER_MARK);
    let mut text = text.trim_start_matches(endings::BYTE_ORDER_MARK).to_string();
    for Edit { path, change } in edits {
        let edited =
            apply(&endings::plain(&text), path, change).map_err(|rule| format!("{}: {rule}", cut(path)))?;
        text = endings::restored(&text, edited);
    }
    // Whatever was put into it: what comes out is read again.
    Node::parse(&text).map_err(|(_, message)| message)?;
    Ok(mark.into_iter().chain(text.chars()).collect())
}

/// What a step leads out of.
enum Holder<'a> {
    /// A table with a head of its own, or the file.
    Table(&'a mut Table),
    /// A table in one line.
    Inline(&'a mut InlineTable),
    /// A list of values.
    Array(&'a mut Array),
    /// A list of tables with heads of their own.
    Tables(&'a mut ArrayOfTables),
}

fn apply(text: &str, path: &str, change: &Change) -> Result<String, String> {
    let steps = read(path)?;
    let Some((last, way)) = steps.split_last() else { return Err("leads nowhere: name a field".to_string()) };
    if let (Change::Remove, Some(rest)) = (change, statements::without(text, &steps)) {
        return Ok(rest);
    }
    if let (Change::Set(_), true, at @ 1..) = (change, way.is_empty(), head(text)) {
        let (head, rest) = text.split_at(at);
        return Ok(format!("{head}{}", apply(rest, path, change)?));
    }
    let mut document: DocumentMut =
        text.parse().map_err(|e: toml_edit::TomlError| format!("not valid TOML: {}", e.message()))?;
    let value = match change {
        Change::Set(text) => Some(value_of(text)?),
        Change::Remove | Change::Move(_) => None,
    };
    let mut holder = Holder::Table(document.as_table_mut());
    for (at, step) in way.iter().enumerate() {
        let next = way.get(at + 1).unwrap_or(last);
        holder = enter(holder, step, next, value.as_ref(), at == 0)?;
    }
    match (change, value) {
        (Change::Set(_), Some(value)) => set(holder, last, value, way.is_empty())?,
        (Change::Move(to), _) => move_to(holder, last, *to)?,
        _ => remove(holder, last)?,
    }
    Ok(document.to_string())
}

/// How much of a text that begins with a table is said of the file: its directives (`#:schema`), and comments up to the
/// last empty line. A new key at the top comes behind it.
fn head(text: &str) -> usize {
    let (mut at, mut end) = (0, 0);
    for line in text.split_inclusive('\n') {
        match line.trim_start().chars().next() {
            None => end = at + line.len(),
            Some('#') if line.starts_with("#:") => end = at + line.len(),
            Some('#') => {}
            Some('[') => return end,
            Some(_) => return 0,
        }
        at += line.len();
    }
    0
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
    let is_list = !matches!(next, Step::Key(_));
    // Tables and lists are made for a value, and no item of a list that is not there.
    let new = value.filter(|_| !matches!(next, Step::Item(_)));
    match (holder, step) {
        (Holder::Table(table), Step::Key(key)) => {
            if !table.contains_key(key) {
                let value = new.ok_or(NOTHING)?;
                let item = match (is_list, at_top) {
                    (true, true) if value.is_inline_table() => Item::ArrayOfTables(ArrayOfTables::new()),
                    (false, true) => Item::Table(headed_table()),
                    _ => Item::Value(empty(is_list)),
                };
                table.insert(key, item);
            }
            match table.get_mut(key).ok_or(NOTHING)? {
                Item::Table(table) => Ok(Holder::Table(table)),
                Item::ArrayOfTables(tables) => Ok(Holder::Tables(tables)),
                Item::Value(value) => of_value(value),
                Item::None => Err(NOTHING.to_string()),
            }
        }
        (Holder::Inline(table), Step::Key(key)) => {
            if !table.contains_key(key) {
                new.ok_or(NOTHING)?;
                insert(table, key, empty(is_list));
            }
            of_value(table.get_mut(key).ok_or(NOTHING)?)
        }
        (Holder::Array(array), Step::Item(i)) => of_value(array.get_mut(*i).ok_or(NOTHING)?),
        (Holder::Tables(tables), Step::Item(i)) => Ok(Holder::Table(tables.get_mut(*i).ok_or(NOTHING)?)),
        (_, Step::New) => Err("[+] must be the last part".to_string()),
        _ => Err(NOTHING.to_string()),
    }
}

fn of_value<'a>(value: &'a mut Value) -> Result<Holder<'a>, String> {
    match value {
        Value::InlineTable(table) => Ok(Holder::Inline(table)),
        Value::Array(array) => Ok(Holder::Array(array)),
        _ => Err("is a plain value, which holds nothing".to_string()),
    }
}

/// A list, or a table in one line, with nothing in it.
fn empty(is_list: bool) -> Value {
    if is_list { Value::Array(Array::new()) } else { Value::InlineTable(InlineTable::new()) }
}

/// Puts a new key at the end of a table in one line.
fn insert(table: &mut InlineTable, key: &str, value: Value) {
    let mut rows = Rows::of_table(table);
    rows.push(if table.is_empty() { " " } else { "" });
    // What was inserted last is written last.
    table.insert(key, with_decor(value, Decor::new(" ", "")));
    rows.put_into_table(table);
}

/// A table with a head of its own, after an empty line.
fn headed_table() -> Table {
    let mut table = Table::new();
    *table.decor_mut() = Decor::new("\n", "");
    table
}

/// The same with what an inline table holds.
fn headed(inline: InlineTable) -> Table {
    let mut table = inline.into_table();
    table.fmt();
    *table.decor_mut() = Decor::new("\n", "");
    table
}

fn set(holder: Holder<'_>, last: &Step, value: Value, at_top: bool) -> Result<(), String> {
    match (holder, last) {
        (Holder::Table(table), Step::Key(key)) => match table.get_mut(key) {
            Some(item) => replace(item, value),
            None => {
                let item = match value {
                    Value::InlineTable(inline) if at_top => Item::Table(self::headed(inline)),
                    value => Item::Value(value),
                };
                table.insert(key, item);
            }
        },
        (Holder::Inline(table), Step::Key(key)) => match table.get_mut(key) {
            Some(old) => *old = with_decor(value, old.decor().clone()),
            None => insert(table, key, value),
        },
        (Holder::Array(array), Step::Item(i)) => {
            let old = array.get_mut(*i).ok_or(NOTHING)?;
            *old = with_decor(value, old.decor().clone());
        }
        (Holder::Array(array), Step::New) => {
            let mut rows = Rows::of_array(array);
            rows.push("");
            array.push_formatted(value);
            rows.put_into_array(array);
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
fn fill(table: &mut Table, inline: InlineTable) {
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

/// Removes what stands within a value; what has lines of its own is removed with them (`statements`).
fn remove(holder: Holder<'_>, last: &Step) -> Result<(), String> {
    match (holder, last) {
        (Holder::Table(table), Step::Key(key)) => drop(table.remove(key).ok_or(NOTHING)?),
        (Holder::Inline(table), Step::Key(key)) => {
            let mut rows = Rows::of_table(table);
            let (at, count) = pairs(table, key);
            table.remove(key).ok_or(NOTHING)?;
            rows.remove(at, count);
            rows.put_into_table(table);
        }
        (Holder::Array(array), Step::Item(i)) if *i < array.len() => {
            let mut rows = Rows::of_array(array);
            array.remove(*i);
            rows.remove(*i, 1);
            rows.put_into_array(array);
        }
        _ => return Err(NOTHING.to_string()),
    }
    Ok(())
}

/// The pairs that a key of a table in one line stands for, several if it is dotted: the first and their number.
fn pairs(table: &mut InlineTable, key: &str) -> (usize, usize) {
    let (mut at, mut count) = (0, 0);
    for (other, value) in table.iter_mut() {
        let mut written = 1;
        if let Value::InlineTable(inner) = value
            && inner.is_dotted()
        {
            written = 0;
            visit(inner, &mut |_, _| written += 1);
        }
        if other.get() == key {
            count = written;
            break;
        }
        at += written;
    }
    (at, count)
}

fn move_to(holder: Holder<'_>, last: &Step, to: usize) -> Result<(), String> {
    let Step::Item(from) = last else { return Err("only items of lists move".to_string()) };
    let refuse = |length: usize| Err(format!("cannot move to place {to}: there are {length}"));
    match holder {
        Holder::Array(array) if *from < array.len() => {
            if to >= array.len() {
                return refuse(array.len());
            }
            let mut rows = Rows::of_array(array);
            rows.move_to(*from, to);
            let value = array.remove(*from);
            array.insert_formatted(to, value);
            rows.put_into_array(array);
            Ok(())
        }
        Holder::Tables(tables) if *from < tables.len() => {
            if to >= tables.len() {
                return refuse(tables.len());
            }
            let mut all: Vec<(String, Table)> = Vec::new();
            let mut places = Vec::new();
            for table in tables.iter() {
                let above = table.decor().prefix().and_then(|raw| raw.as_str()).unwrap_or_default();
                let (place, own) = above.split_at(apart(above));
                places.push(place.to_string());
                all.push((own.to_string(), table.clone()));
            }
            let table = all.remove(*from);
            all.insert(to, table);
            tables.clear();
            for (place, (own, mut table)) in places.into_iter().zip(all) {
                // They are written in the order of the list from here on, each with what is below it.
                anywhere(&mut table);
                table.decor_mut().set_prefix(place + &own);
                tables.push(table);
            }
            Ok(())
        }
        _ => Err(NOTHING.to_string()),
    }
}

/// How much of what is above a table stays in its place: all up to the last empty line.
fn apart(above: &str) -> usize {
    match above.rfind("\n\n") {
        Some(at) => at + 2,
        None => usize::from(above.starts_with('\n')),
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

#[cfg(test)]
fn changed(text: &str, path: &str, change: Change) -> String {
    edit(text, &[Edit { path: path.into(), change }]).unwrap()
}

#[test]
fn a_text_that_looks_like_a_comment_is_none() {
    let text = "description = \"\"\"\nSee\n# 3\"\"\"\nseeds = 5\n";
    assert_eq!(changed(text, "seeds", Change::Remove), "description = \"\"\"\nSee\n# 3\"\"\"\n");
    let text = "a = 1\n# of b\nb = \"\"\"\n# 1\n\n# 2\"\"\"\n# of c\nc = 2\n";
    assert_eq!(changed(text, "c", Change::Remove), "a = 1\n# of b\nb = \"\"\"\n# 1\n\n# 2\"\"\"\n");
    assert_eq!(changed(text, "b", Change::Remove), "a = 1\n# of c\nc = 2\n");
}

#[test]
fn tables_move_with_their_comments_and_leave_empty_lines() {
    let text = "# Flows\n\n# one\n[[flows]]\nn = 1\n\n# two\n[[flows]]\nn = 2\n\n[z]\n";
    let moved = "# Flows\n\n# two\n[[flows]]\nn = 2\n\n# one\n[[flows]]\nn = 1\n\n[z]\n";
    assert_eq!(changed(text, "flows[1]", Change::Move(0)), moved);
    let text = "[[flows]]\nn = 1\n\n[[flows]]\nn = 2\n";
    assert_eq!(changed(text, "flows[1]", Change::Move(0)), "[[flows]]\nn = 2\n\n[[flows]]\nn = 1\n");
}

#[test]
fn a_new_key_comes_behind_what_is_said_of_the_file() {
    let set = |text| changed(text, "seeds", Change::Set("5".into()));
    assert_eq!(set("#:schema s.json\n[[flows]]\n"), "#:schema s.json\nseeds = 5\n[[flows]]\n");
    assert_eq!(set("# Mine\n\n# one\n[[flows]]\n"), "# Mine\n\nseeds = 5\n# one\n[[flows]]\n");
    assert_eq!(set("# Mine\n\nseeds = 1\n[[flows]]\n"), "# Mine\n\nseeds = 5\n[[flows]]\n");
}
