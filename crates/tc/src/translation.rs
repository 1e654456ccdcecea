//! A line of tc in the words of scenarios, as a message.

use quell_aqm::catalog::AqmConfig;
use serde_json::Value;

use crate::grammar::{GRAMMARS, find};
use crate::read::{Queue, read, structure};
use crate::{Kernel, QDISCS};

/// The most letters of a line that are read: a message has no more to say.
const MOST: usize = 4096;

/// An algorithm's name, and its parameters that are not as by default, as TOML.
pub fn keys(config: &AqmConfig) -> Vec<(&'static str, String)> {
    let all = serde_json::to_value(config).unwrap_or_default();
    let mut keys = vec![("algorithm", format!("\"{}\"", config.name()))];
    let changed = config.changed().into_iter();
    keys.extend(changed.filter_map(|(name, _)| Some((name, toml(all.get(name)?)))));
    keys
}

/// A value as TOML in one line.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let keys: Vec<String> =
                table.iter().map(|(key, value)| format!("{key} = {}", toml(value))).collect();
            format!("{{ {} }}", keys.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
        // Strings of both are written alike, and so are numbers.
        other => other.to_string(),
    }
}

/// Says whether a text begins as a line of tc does: with what `tc qdisc` is given or shows, or a qdisc with its words.
pub fn is_line(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let (first, more) = (words.next().unwrap_or_default(), words.next().is_some());
    let is_qdisc = QDISCS.iter().any(|(ours, theirs)| [*ours, *theirs].contains(&first));
    more && (is_qdisc || matches!(first, "tc" | "qdisc" | "sudo"))
}

/// Translates a line of tc that stands where the name of an algorithm should, if it is one: what `tc qdisc` is given,
/// what it shows, or a qdisc with its words. A name alone is none of a line.
pub fn translation(line: &str) -> Option<String> {
    let end = line.char_indices().nth(MOST).map_or(line.len(), |(at, _)| at);
    let (line, unread) = line.split_at(end);
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let is_command = matches!(first, "tc" | "qdisc" | "sudo");
    let rest: Vec<&str> = words.collect();
    if rest.is_empty() {
        return None;
    }
    let line = match is_command {
        true => line.to_string(),
        // People write names of qdiscs in several ways.
        false => {
            let plain = |name: &str| name.to_lowercase().replace(['-', ' '], "_");
            let known = GRAMMARS.iter().find(|grammar| plain(grammar.name) == plain(first));
            let name = known.map(|grammar| grammar.name).or(structure(first).map(|_| first))?;
            format!("{name} {}", rest.join(" "))
        }
    };
    let dump = read(&line, Kernel::NEWEST);
    let mut text = String::from("a line of tc's; ");
    let problems: Vec<String> = dump.problems.iter().map(|p| format!("{}: {}", p.word, p.says)).collect();
    let mut remarks = problems;
    match dump.queues.first() {
        None if remarks.is_empty() => return None,
        None => {}
        Some(queue) => {
            text.push_str(&said(queue));
            remarks.extend(queue.meaning.iter().flat_map(|meaning| meaning.notes.iter().cloned()));
        }
    }
    let of_defaults = dump.queues.first().is_some_and(|queue| find(&queue.kind).is_some());
    if of_defaults {
        remarks.push(format!("what the line does not say is as tc and Linux {} have it", Kernel::NEWEST));
    }
    if !unread.is_empty() {
        remarks.push(format!("{} more letters were not read: give the line alone", unread.chars().count()));
    }
    let begin = if text.ends_with("; ") { "" } else { "; " };
    Some(text + begin + &remarks.join("; "))
}

/// What a queue is in a scenario.
fn said(queue: &Queue) -> String {
    match (&queue.meaning, &queue.bucket) {
        (Some(meaning), _) => {
            let keys: Vec<String> =
                keys(&meaning.aqm).into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
            let ecn = if meaning.ecn { ", ecn = true" } else { "" };
            format!("write {}, and in the link's table buffer = \"{}\"{ecn}", keys.join(", "), meaning.buffer)
        }
        (None, Some(bucket)) => format!(
            "write in the link's table shaper = {{ rate = \"{}\", burst = \"{}\" }}",
            bucket.rate, bucket.burst
        ),
        (None, None) if queue.kind == "htb" => {
            "htb is a tree of classes: `quell aqm tc --read` reads all of its lines together".to_string()
        }
        (None, None) if queue.kind == "netem" => {
            "a link, not a queue: `quell import netem` writes its keys".to_string()
        }
        (None, None) => String::new(),
    }
}
