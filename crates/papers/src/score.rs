//! The score: how many printed numbers and claims come out.

use std::collections::BTreeMap;

use crate::cells::Cell;
use crate::experiment::Papers;
use crate::judge::{Holds, JudgedExperiment, Verdict};
use crate::plan::Plan;
use crate::record::Record;

/// The score: the count of printed numbers and of claims with each verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// The numbers, in the order of [`Verdict::ALL`].
    pub cells: [usize; Verdict::ALL.len()],
    /// The claims, in the order of [`Holds::ALL`].
    pub claims: [usize; Holds::ALL.len()],
}

impl Score {
    /// The count of all printed numbers.
    pub fn of_cells(&self) -> usize {
        self.cells.iter().sum()
    }

    /// The count of all claims.
    pub fn of_claims(&self) -> usize {
        self.claims.iter().sum()
    }

    /// The count of printed numbers with a verdict.
    pub fn cell(&self, verdict: Verdict) -> usize {
        self.cells[verdict as usize]
    }

    /// The count of claims with a verdict.
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
        let theirs = of_document.flat_map(|j| &j.claims).filter(|c| !c.claim.ours);
        theirs.for_each(|c| claims.claims[c.holds as usize] += 1);
        all.push((key.to_string(), String::new(), claims));
    }
    all
}

/// The score of every table of every document by the verdicts on record, in the form of [`scores`].
pub fn scores_on_record(papers: &Papers, record: &Record) -> Vec<(String, String, Score)> {
    let named = |id: &str| record.0.get(id).map(String::as_str);
    let mut all: Vec<(String, String, Score)> = Vec::new();
    for document in &papers.documents {
        for cell in papers.cells.iter().filter(|c| c.document == document.key) {
            let verdict = Verdict::ALL.into_iter().find(|v| named(&cell.id) == Some(v.name()));
            let verdict = verdict.unwrap_or(Verdict::Missing);
            match all.iter_mut().find(|(d, t, _)| *d == document.key && *t == cell.table) {
                Some((.., score)) => score.cells[verdict as usize] += 1,
                None => {
                    let mut score = Score::default();
                    score.cells[verdict as usize] += 1;
                    all.push((document.key.clone(), cell.table.clone(), score));
                }
            }
        }
        let mut claims = Score::default();
        for e in &document.experiments {
            for claim in e.claims.iter().filter(|c| !c.ours) {
                let id = format!("{}#{}", e.id, claim.name);
                let holds = Holds::ALL.into_iter().find(|h| named(&id) == Some(h.name()));
                claims.claims[holds.unwrap_or(Holds::Missing) as usize] += 1;
            }
        }
        all.push((document.key.clone(), String::new(), claims));
    }
    all
}

/// So many printed numbers of an algorithm must be judged before it can count as reproduced.
pub const LEAST_NUMBERS: usize = 12;

/// This share of them must agree or be inside.
pub const LEAST_SHARE: f64 = 0.8;

/// Printed numbers of an algorithm: how many there are, and how many agree or are inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reproduced {
    /// The number of all.
    pub numbers: usize,
    /// The number that agree or are inside.
    pub come_out: usize,
}

impl Reproduced {
    /// Says whether the algorithm's published results are reproduced: [`LEAST_NUMBERS`] and [`LEAST_SHARE`].
    pub fn holds(self) -> bool {
        self.numbers >= LEAST_NUMBERS && self.come_out as f64 >= LEAST_SHARE * self.numbers as f64
    }
}

/// The printed numbers that come out for each algorithm of the catalog by the verdicts on record, over all documents.
pub fn by_algorithm(papers: &Papers, plan: &Plan, record: &Record) -> BTreeMap<String, Reproduced> {
    let mut all: BTreeMap<String, Reproduced> = BTreeMap::new();
    for e in papers.experiments() {
        for of in &e.cells {
            for cell in papers.cells_of(of) {
                let Some(algorithm) = plan.algorithm(e, &of.algorithm[&cell.algorithm]) else { continue };
                let own = all.entry(algorithm.to_string()).or_default();
                own.numbers += 1;
                let verdict = record.0.get(&cell.id).map(String::as_str);
                let comes_out = [Verdict::Agrees, Verdict::Inside].map(|v| Some(v.name())).contains(&verdict);
                own.come_out += usize::from(comes_out);
            }
        }
    }
    all
}
