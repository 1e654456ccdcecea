//! What was chosen and what was tried, each said once.

use crate::cells::matches;
use crate::experiment::Experiment;
use crate::judge::{JudgedCell, JudgedExperiment, JudgedTable, Verdict};

/// Numbers, and the sentences that are for them.
pub(super) type Note = (String, Vec<String>);

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

    /// Sentences that follow each other and are for the same numbers are together.
    fn done(self) -> Vec<Note> {
        let mut all: Vec<Note> = Vec::new();
        for (sentence, names) in self.0 {
            let names = names.join(", ");
            match all.last_mut() {
                Some((known, sentences)) if *known == names => sentences.push(sentence),
                _ => all.push((names, vec![sentence])),
            }
        }
        all
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

/// Adds why numbers of a table lie outside, or do not count.
fn reasons(notes: &mut Notes, e: &Experiment, table: &JudgedTable<'_>) {
    for cell in table.cells.iter().filter(|c| !c.why.is_empty()) {
        let names = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, &cell.cell.id));
        let mut rest = cell.why.as_str();
        if cell.verdict == Verdict::Open {
            // Each attempt is a sentence of its own, below.
            rest = rest.split_once("tried: ").map_or(rest, |(head, _)| head.trim_end_matches("; "));
        }
        let mechanism = e.refuted.iter().map(|r| r.mechanism.as_str()).find(|text| rest.starts_with(text));
        match mechanism {
            // What shows it for a number, or does not, stands behind the number.
            Some(mechanism) => {
                notes.add(mechanism, format!("{}{}", name(table, cell), rest[mechanism.len()..].trim_end()))
            }
            None if rest.is_empty() => {}
            None => notes.add(rest, name(table, cell)),
        }
        let open = e.open.iter().filter(|open| cell.verdict == Verdict::Open && names(&open.cells));
        for attempt in open.flat_map(|open| &open.tried) {
            notes.add(&format!("Tried: {}", attempt.trim()), name(table, cell));
        }
    }
}

/// Adds the settings of ns-2 for a table, each with the algorithms that it is for.
fn settings(notes: &mut Notes, table: &JudgedTable<'_>) {
    for cell in &table.cells {
        if let Some(setting) = cell.ns2.map(|n| n.setting.as_str()).filter(|s| !s.is_empty()) {
            notes.add(&format!("In ns-2: {setting}"), cell.label.to_string());
        }
    }
}

/// All notes of an experiment's tables, each once.
pub(super) fn all(judged: &JudgedExperiment<'_>) -> Vec<Note> {
    let mut notes = Notes::default();
    for table in &judged.tables {
        reasons(&mut notes, judged.experiment, table);
        settings(&mut notes, table);
    }
    notes.done()
}
