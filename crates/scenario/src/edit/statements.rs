//! Keys and heads of tables as lines of a text, to take them out with what is said of them.

use std::collections::BTreeMap;
use std::ops::Range;

use toml_parser::parser::{Event, EventKind, parse_document};
use toml_parser::{ErrorSink, ParseError, Source};

use crate::edit::path::Step;

/// A key with its value, or the head of a table.
struct Statement {
    path: Vec<Step>,
    /// Its lines.
    lines: Range<usize>,
    is_head: bool,
}

/// The text without what a path names, if lines of their own have it: with the comments right above it, and for a table
/// with those right below its last value. Comments that an empty line keeps apart stay, as does what the file begins
/// with. `None` if it stands within a value, or nowhere.
pub(super) fn without(text: &str, path: &[Step]) -> Option<String> {
    let statements = statements(text);
    let is_gone = |statement: &Statement| statement.path.starts_with(path);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // What looks like a comment within a text of several lines is none.
    let mut kinds: Vec<Line> = lines.iter().map(|line| Line::of(line)).collect();
    for at in statements.iter().flat_map(|statement| statement.lines.clone()) {
        if let Some(kind) = kinds.get_mut(at) {
            *kind = Line::Other;
        }
    }
    let kind = |at: usize| kinds.get(at).copied();
    let mut gone: Vec<Range<usize>> = Vec::new();
    for run in statements.chunk_by(|a, b| is_gone(a) == is_gone(b)) {
        let [first, ..] = run else { continue };
        if !is_gone(first) {
            continue;
        }
        let mut range = first.lines.start..run.last().map_or(first.lines.end, |last| last.lines.end);
        if run.iter().any(|statement| statement.is_head) {
            let comments = (range.end..).take_while(|at| kind(*at) == Some(Line::Comment)).count();
            if matches!(kind(range.end + comments), None | Some(Line::Empty)) {
                range.end += comments;
            }
        }
        let comments = (0..range.start).rev().take_while(|at| kind(*at) == Some(Line::Comment)).count();
        if comments < range.start {
            range.start -= comments;
        }
        // One empty line is left where there were two.
        let is_open = |at: Option<usize>| at.and_then(kind).is_none_or(|line| line == Line::Empty);
        if is_open(range.start.checked_sub(1)) && is_open(Some(range.end)) {
            range.end += (range.end..).take_while(|at| kind(*at) == Some(Line::Empty)).count();
            if range.end == lines.len() {
                range.start -= (0..range.start).rev().take_while(|at| kind(*at) == Some(Line::Empty)).count();
            }
        }
        gone.push(range);
    }
    if gone.is_empty() {
        return None;
    }
    let kept = lines.iter().enumerate().filter(|(at, _)| !gone.iter().any(|range| range.contains(at)));
    Some(kept.map(|(_, line)| *line).collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    Comment,
    Other,
}

impl Line {
    fn of(line: &str) -> Line {
        match line.trim_start().chars().next() {
            None => Line::Empty,
            Some('#') => Line::Comment,
            Some(_) => Line::Other,
        }
    }
}

/// The statements of a text that is TOML, in its order.
fn statements(text: &str) -> Vec<Statement> {
    let source = Source::new(text);
    let tokens = source.lex().into_vec();
    let mut events: Vec<Event> = Vec::new();
    parse_document(&tokens, &mut |event: Event| events.push(event), &mut Unheard);
    let starts: Vec<usize> = [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let line = |at: usize| starts.partition_point(|start| *start <= at).saturating_sub(1);
    // How many tables each list has so far.
    let mut counts: BTreeMap<Vec<Step>, usize> = BTreeMap::new();
    let (mut all, mut table, mut keys, mut depth) = (Vec::new(), Vec::new(), Vec::new(), 0_usize);
    let mut begin = None;
    for event in &events {
        let (start, end) = (event.span().start(), event.span().end());
        match event.kind() {
            EventKind::StdTableOpen | EventKind::ArrayTableOpen => (keys, begin) = (Vec::new(), Some(start)),
            EventKind::SimpleKey if depth == 0 => {
                begin.get_or_insert(start);
                let mut key = std::borrow::Cow::Borrowed("");
                if let Some(raw) = source.get(event) {
                    raw.decode_key(&mut key, &mut Unheard);
                }
                keys.push(Step::Key(key.into_owned()));
            }
            EventKind::StdTableClose | EventKind::ArrayTableClose => {
                table = Vec::new();
                let last = keys.len().wrapping_sub(1);
                for (i, key) in std::mem::take(&mut keys).into_iter().enumerate() {
                    table.push(key);
                    if event.kind() == EventKind::ArrayTableClose && i == last {
                        *counts.entry(table.clone()).or_default() += 1;
                    }
                    if let Some(count) = counts.get(&table) {
                        table.push(Step::Item(count - 1));
                    }
                }
                let lines = line(begin.take().unwrap_or(start))..line(end - 1) + 1;
                all.push(Statement { path: table.clone(), lines, is_head: true });
            }
            EventKind::InlineTableOpen | EventKind::ArrayOpen => depth += 1,
            EventKind::InlineTableClose | EventKind::ArrayClose => depth = depth.saturating_sub(1),
            _ => {}
        }
        let ends_value =
            matches!(event.kind(), EventKind::Scalar | EventKind::InlineTableClose | EventKind::ArrayClose);
        if let (0, true, Some(from)) = (depth, ends_value, begin) {
            let path = table.iter().cloned().chain(std::mem::take(&mut keys)).collect();
            all.push(Statement { path, lines: line(from)..line(end - 1) + 1, is_head: false });
            begin = None;
        }
    }
    all
}

/// Errors are for a reader of the text before.
struct Unheard;

impl ErrorSink for Unheard {
    fn report_error(&mut self, _: ParseError) {}
}
