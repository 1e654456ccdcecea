//! What was chosen and what was tried, each said once.

use crate::cells::matches;
use crate::experiment::Experiment;
use crate::judge::{JudgedCell, JudgedExperiment, JudgedTable, Verdict};

/// A sentence, and the numbers that it is for.
pub(super) type Note = (String, String);

/// Sentences with the numbers that each is for, in the order in which they first come.
#[derive(Default)]
struct Notes(Vec<(String, Vec<String>)>);

impl Notes {
    fn add(&mut self, sentence: &str, name: String) {
        let sentence = sentence.trim();
        match self.0.iter_mut().find(|(known, _)| known == sentence) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => self.0.push((sentence.to_string(), vec![name])),
        }
    }

    fn done(self) -> Vec<Note> {
        self.0.into_iter().map(|(sentence, names)| (names.join(", "), sentence)).collect()
    }
}

/// The number's name within its table: the algorithm and the metric, and the case if there are several.
fn name(table: &JudgedTable<'_>, cell: &JudgedCell<'_>) -> String {
    let several = table.cells.iter().any(|c| c.cell.case != cell.cell.case);
    let same = |c: &&JudgedCell<'_>| c.label == cell.label && c.cell.metric == cell.cell.metric;
    let all = table
        .cells
        .iter()
        .filter(same)
        .filter(|c| c.verdict != Verdict::Agrees && c.verdict != Verdict::Inside);
    let metric = cell.cell.metric.replace('_', " ");
    // Of a number that is outside in each case the case says nothing.
    match several && all.count() < table.cells.iter().filter(same).count() {
        true => format!("{} {metric} at {}", cell.label, cell.cell.case),
        false => format!("{} {metric}", cell.label),
    }
}

/// Why numbers of a table lie outside, or do not count.
pub(super) fn reasons(e: &Experiment, table: &JudgedTable<'_>) -> Vec<Note> {
    let mut notes = Notes::default();
    for cell in table.cells.iter().filter(|c| !c.why.is_empty()) {
        let names = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, &cell.cell.id));
        let mut rest = cell.why.as_str();
        if cell.verdict == Verdict::Open {
            // Each attempt is a sentence of its own, below.
            rest = rest.split_once("tried: ").map_or(rest, |(head, _)| head.trim_end_matches("; "));
        }
        if !rest.is_empty() {
            notes.add(rest, name(table, cell));
        }
        let open = e.open.iter().filter(|open| cell.verdict == Verdict::Open && names(&open.cells));
        for attempt in open.flat_map(|open| &open.tried) {
            notes.add(&format!("Tried: {}", attempt.trim()), name(table, cell));
        }
    }
    notes.done()
}

/// The settings of ns-2 for a table, each with the algorithms that it is for.
pub(super) fn settings(table: &JudgedTable<'_>) -> Vec<Note> {
    let mut notes = Notes::default();
    for cell in &table.cells {
        if let Some(setting) = cell.ns2.map(|n| n.setting.as_str()).filter(|s| !s.is_empty()) {
            notes.add(setting, cell.label.to_string());
        }
    }
    notes.done().into_iter().map(|(names, setting)| (format!("ns-2, {names}"), setting)).collect()
}

/// All notes of an experiment's tables, each once.
pub(super) fn all(judged: &JudgedExperiment<'_>) -> Vec<Note> {
    let mut notes = Notes::default();
    for table in &judged.tables {
        for (names, sentence) in reasons(judged.experiment, table).into_iter().chain(settings(table)) {
            notes.add(&sentence, names);
        }
    }
    notes.done()
}
