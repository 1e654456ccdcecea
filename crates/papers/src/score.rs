//! How many printed numbers and claims come out.

use crate::cells::Cell;
use crate::experiment::Papers;
use crate::judge::{Holds, JudgedExperiment, Verdict};

/// How many numbers and claims have each verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// The numbers, in the order of [`Verdict::ALL`].
    pub cells: [usize; Verdict::ALL.len()],
    /// The claims, in the order of [`Holds::ALL`].
    pub claims: [usize; Holds::ALL.len()],
}

impl Score {
    /// How many numbers.
    pub fn of_cells(&self) -> usize {
        self.cells.iter().sum()
    }

    /// How many claims.
    pub fn of_claims(&self) -> usize {
        self.claims.iter().sum()
    }

    /// How many numbers have a verdict.
    pub fn cell(&self, verdict: Verdict) -> usize {
        self.cells[verdict as usize]
    }

    /// How many claims have a verdict.
    pub fn claim(&self, holds: Holds) -> usize {
        self.claims[holds as usize]
    }

    /// This and another together.
    pub fn and(mut self, other: &Score) -> Score {
        self.cells.iter_mut().zip(other.cells).for_each(|(a, b)| *a += b);
        self.claims.iter_mut().zip(other.claims).for_each(|(a, b)| *a += b);
        self
    }
}

/// The score of each table of some documents, as (document, table), in the order of the numbers; claims count under
/// an empty table.
pub fn scores(
    papers: &Papers,
    documents: &[&str],
    judged: &[JudgedExperiment<'_>],
) -> Vec<(String, String, Score)> {
    let verdict = |cell: &Cell| {
        let tables = judged.iter().flat_map(|j| &j.tables);
        let judged = tables.flat_map(|t| &t.cells).find(|c| c.cell.id == cell.id);
        judged.map_or(Verdict::Missing, |c| c.verdict)
    };
    let mut all: Vec<(String, String, Score)> = Vec::new();
    for key in documents {
        for cell in papers.cells.iter().filter(|c| c.document == *key) {
            if !all.iter().any(|(d, t, _)| d == key && *t == cell.table) {
                all.push((key.to_string(), cell.table.clone(), Score::default()));
            }
            if let Some((.., score)) = all.iter_mut().find(|(d, t, _)| d == key && *t == cell.table) {
                score.cells[verdict(cell) as usize] += 1;
            }
        }
        let mut claims = Score::default();
        let of_document = judged.iter().filter(|j| papers.document_of(j.experiment).key == *key);
        of_document.flat_map(|j| &j.claims).for_each(|c| claims.claims[c.holds as usize] += 1);
        all.push((key.to_string(), String::new(), claims));
    }
    all
}
