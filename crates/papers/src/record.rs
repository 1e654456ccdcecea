//! Verdicts on record: `papers/verdicts.csv`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::csv::rows_with;
use crate::error::PaperError;
use crate::experiment::Experiment;
use crate::judge::{Holds, JudgedCell, JudgedClaim, JudgedExperiment, Verdict};

/// Verdicts by what they are on: a cell's id, or an experiment's id, `#` and a claim's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record(pub BTreeMap<String, Recorded>);

/// A verdict on record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The verdict, by its name.
    pub verdict: String,
    /// What else is known of a number: [`WITHHELD`], [`MIDDLE`] or [`EDGE`]; may be empty.
    pub note: String,
}

/// The note of a number that comes out, or a claim that holds, but chose the reading.
pub const WITHHELD: &str = "withheld";

/// The note of a number whose mean is so near to the end of the band that other seeds might judge otherwise.
pub const EDGE: &str = "edge";

/// The note of a range whose ends may be those of runs like ours, but whose middle may not.
pub const MIDDLE: &str = "middle";

const NOTES: [&str; 4] = ["", WITHHELD, MIDDLE, EDGE];

impl Recorded {
    /// The verdict on a number.
    fn of_cell(cell: &JudgedCell<'_>) -> Recorded {
        let notes = [(cell.withheld, WITHHELD), (cell.off_middle, MIDDLE), (cell.knife_edge, EDGE)];
        let note = notes.into_iter().find(|(is, _)| *is).map_or("", |(_, note)| note);
        Recorded { verdict: cell.verdict.name().to_string(), note: note.to_string() }
    }

    /// Says whether a number agrees or is inside.
    pub fn comes_out(&self) -> bool {
        [Verdict::Agrees, Verdict::Inside].iter().any(|v| v.name() == self.verdict)
    }

    /// The verdict on a claim.
    fn of_claim(claim: &JudgedClaim<'_>) -> Recorded {
        let note = if claim.withheld { WITHHELD } else { "" };
        Recorded { verdict: claim.holds.name().to_string(), note: note.to_string() }
    }
}

impl std::fmt::Display for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.note.as_str() {
            "" => f.write_str(&self.verdict),
            note => write!(f, "{} ({note})", self.verdict),
        }
    }
}

const COLUMNS: [&str; 3] = ["id", "verdict", "note"];

impl Record {
    /// The verdicts of what was judged.
    pub fn of(judged: &[JudgedExperiment<'_>]) -> Record {
        let mut all = BTreeMap::new();
        for j in judged {
            for cell in j.tables.iter().flat_map(|t| &t.cells) {
                all.insert(cell.cell.id.clone(), Recorded::of_cell(cell));
            }
            for claim in &j.claims {
                let id = format!("{}#{}", j.experiment.id, claim.claim.name);
                all.insert(id, Recorded::of_claim(claim));
            }
        }
        Record(all)
    }

    /// Reads a file; one that is not there has no verdicts.
    ///
    /// # Errors
    /// If it cannot be read, names something twice, or has a verdict that there is not.
    pub fn read(file: &Path) -> Result<Record, PaperError> {
        if !file.exists() {
            return Ok(Record::default());
        }
        let numbers = Verdict::ALL.map(Verdict::name);
        let claims = Holds::ALL.map(Holds::name);
        let mut all = BTreeMap::new();
        for row in rows_with(file, &COLUMNS, &["note"])? {
            let (id, verdict, note) = (row.get("id"), row.get("verdict"), row.get("note"));
            let known = if id.contains('#') { &claims[..] } else { &numbers[..] };
            if !known.contains(&verdict) {
                return Err(row.wrong("verdict", format!("must be one of: {}", known.join(", "))));
            }
            if !NOTES.contains(&note) {
                let rule = format!("must be empty, {WITHHELD}, {MIDDLE} or {EDGE}");
                return Err(row.wrong("note", rule));
            }
            let recorded = Recorded { verdict: verdict.to_string(), note: note.to_string() };
            if all.insert(id.to_string(), recorded).is_some() {
                return Err(row.wrong("id", "is named twice"));
            }
        }
        Ok(Record(all))
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = ::csv::Writer::from_writer(Vec::new());
        let rows = self.0.iter().map(|(id, of)| [id.as_str(), &of.verdict, &of.note]);
        for row in std::iter::once(COLUMNS).chain(rows) {
            text.write_record(row).expect("memory takes rows of three");
        }
        let text = text.into_inner().expect("memory takes all of it");
        String::from_utf8(text).expect("it is made of text")
    }

    /// This record with the verdicts of another in place of its own.
    pub fn with(mut self, newer: Record) -> Record {
        self.0.extend(newer.0);
        self
    }

    /// This record without what is not of some experiments any more; `now` is all that is of them.
    pub fn without_stale(mut self, of: &[&Experiment], now: &Record) -> Record {
        let is_of = |id: &str| match id.split_once('#') {
            Some((experiment, _)) => of.iter().any(|e| e.id == experiment),
            // A number that no experiment answers has no verdict.
            None => false,
        };
        self.0.retain(|id, _| !is_of(id) || now.0.contains_key(id));
        self
    }

    /// A line for each verdict of `now` that differs from this record's or that this has not, and for each that
    /// this has of experiments that have it no more. What differs in the note alone is a change as well.
    pub fn changes(&self, of: &[&Experiment], now: &Record) -> Vec<String> {
        let changed = now.0.iter().filter(|(id, verdict)| self.0.get(*id) != Some(verdict));
        let was = |id: &String| self.0.get(id).map_or("not on record".to_string(), Recorded::to_string);
        let changed = changed.map(|(id, verdict)| format!("{id}: {verdict}, was {}", was(id)));
        let left = self.clone().without_stale(of, now);
        let gone = self.0.iter().filter(|(id, _)| !left.0.contains_key(*id));
        changed.chain(gone.map(|(id, verdict)| format!("{id}: no longer exists, was {verdict}"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_of_a_claim_can_be_on_record() {
        let of = |name: &str| {
            let holds = Recorded { verdict: Holds::Holds.name().to_string(), note: String::new() };
            (format!("vrc-2#{name}"), holds)
        };
        let record = Record(["less", "less, or more", "\"less\"", "less\nor more"].map(of).into());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), record.text()).unwrap();
        assert_eq!(Record::read(file.path()).unwrap(), record);
        let edge = Recorded { verdict: "agrees".to_string(), note: EDGE.to_string() };
        let plain = Record([("vrc/2/a".to_string(), edge)].into());
        assert_eq!(plain.text(), "id,verdict,note\nvrc/2/a,agrees,edge\n");
        // Records of before have no notes.
        std::fs::write(file.path(), "id,verdict\nvrc/2/a,agrees\n").unwrap();
        let before = Record::read(file.path()).unwrap();
        assert_eq!(plain.changes(&[], &before), ["vrc/2/a: agrees, was agrees (edge)"]);
        std::fs::write(file.path(), "id,verdict,note\nvrc/2/a,agrees,near\n").unwrap();
        let error = Record::read(file.path()).unwrap_err().to_string();
        assert!(error.contains("note = \"near\": must be empty, withheld, middle or edge"), "{error}");
    }
}
