//! The score: how many printed numbers and claims come out.

use std::collections::BTreeMap;

use crate::cells::Cell;
use crate::experiment::{Document, Papers};
use crate::judge::{Holds, JudgedExperiment, Verdict};
use crate::plan::Plan;
use crate::record::{EDGE, MIDDLE, Record, Recorded, WITHHELD};

/// The score: the count of printed numbers and of claims with each verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// The numbers, in the order of [`Verdict::ALL`].
    pub cells: [usize; Verdict::ALL.len()],
    /// The claims, in the order of [`Holds::ALL`].
    pub claims: [usize; Holds::ALL.len()],
    /// The explained numbers that come out under the judged reading, but chose it.
    pub withheld: usize,
    /// The ranges that lie outside by their middle alone.
    pub off_middle: usize,
    /// The agreeing numbers that other seeds might judge otherwise.
    pub edges: usize,
    /// The numbers that come out without a simulation, and so prove little.
    pub free: usize,
    /// Those of them that agree or are inside.
    pub free_come_out: usize,
    /// The numbers that are computed by the document's own formulas, and not simulated.
    pub computed: usize,
    /// Those of them that agree.
    pub computed_come_out: usize,
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

    /// The count of printed numbers that agree or are inside.
    pub fn come_out(&self) -> usize {
        self.cell(Verdict::Agrees) + self.cell(Verdict::Inside)
    }

    /// The count of explained numbers that come out under another reading than the judged one.
    pub fn explained_otherwise(&self) -> usize {
        self.cell(Verdict::Explained) - self.withheld
    }

    /// The count of printed numbers that need a simulation to come out.
    pub fn beyond(&self) -> usize {
        self.of_cells() - self.free - self.computed
    }

    /// Those of them that agree or are inside.
    pub fn beyond_come_out(&self) -> usize {
        self.come_out() - self.free_come_out - self.computed_come_out
    }

    /// The count of claims that the runs decide.
    pub fn decided(&self) -> usize {
        self.claim(Holds::Holds) + self.claim(Holds::Fails) + self.claim(Holds::Refuted)
    }

    /// This and another together.
    pub fn and(mut self, other: &Score) -> Score {
        self.cells.iter_mut().zip(other.cells).for_each(|(a, b)| *a += b);
        self.claims.iter_mut().zip(other.claims).for_each(|(a, b)| *a += b);
        self.withheld += other.withheld;
        self.off_middle += other.off_middle;
        self.edges += other.edges;
        self.free += other.free;
        self.free_come_out += other.free_come_out;
        self.computed += other.computed;
        self.computed_come_out += other.computed_come_out;
        self
    }

    /// Counts a printed number.
    fn take(&mut self, papers: &Papers, cell: &Cell, verdict: Verdict, note: &str) {
        let (free, computed) = (papers.is_free(cell), papers.is_computed(cell));
        let comes_out = [Verdict::Agrees, Verdict::Inside].contains(&verdict);
        self.cells[verdict as usize] += 1;
        self.withheld += usize::from(note == WITHHELD);
        self.edges += usize::from(note == EDGE && verdict == Verdict::Agrees);
        self.off_middle += usize::from(note == MIDDLE && !comes_out);
        self.free += usize::from(free);
        self.free_come_out += usize::from(free && comes_out);
        self.computed += usize::from(computed);
        self.computed_come_out += usize::from(computed && comes_out);
    }
}

/// The score of each table of some documents, as (document, table), in the order of the numbers; claims count under
/// an empty table.
pub fn scores(
    papers: &Papers,
    documents: &[&str],
    judged: &[JudgedExperiment<'_>],
) -> Vec<(String, String, Score)> {
    let of = |document: &&Document| documents.contains(&document.key.as_str());
    tables(papers, papers.documents.iter().filter(of), &Record::of(judged))
        .into_iter()
        .map(|(document, table, mut score)| {
            // What was not judged is not missing.
            if table.is_empty() {
                let of_document = judged.iter().filter(|j| papers.document_of(j.experiment).key == document);
                let claims = of_document.flat_map(|j| &j.claims).filter(|c| !c.claim.ours).count();
                score.claims[Holds::Missing as usize] -= score.of_claims() - claims;
            }
            (document, table, score)
        })
        .collect()
}

/// The score of every table of every document by the verdicts on record, in the form of [`scores`].
pub fn scores_on_record(papers: &Papers, record: &Record) -> Vec<(String, String, Score)> {
    tables(papers, papers.documents.iter(), record)
}

fn tables<'a>(
    papers: &'a Papers,
    documents: impl Iterator<Item = &'a Document>,
    record: &Record,
) -> Vec<(String, String, Score)> {
    let none = Recorded::default();
    let mut all: Vec<(String, String, Score)> = Vec::new();
    for document in documents {
        let key = &document.key;
        for cell in papers.cells.iter().filter(|c| c.document == *key) {
            let at = match all.iter().position(|(d, t, _)| d == key && *t == cell.table) {
                Some(at) => at,
                None => {
                    all.push((key.clone(), cell.table.clone(), Score::default()));
                    all.len() - 1
                }
            };
            let recorded = record.0.get(&cell.id).unwrap_or(&none);
            let verdict = Verdict::ALL.into_iter().find(|v| v.name() == recorded.verdict);
            all[at].2.take(papers, cell, verdict.unwrap_or(Verdict::Missing), &recorded.note);
        }
        let mut claims = Score::default();
        for e in &document.experiments {
            for claim in e.claims.iter().filter(|c| !c.ours) {
                let recorded = record.0.get(&format!("{}#{}", e.id, claim.name)).unwrap_or(&none);
                let holds = Holds::ALL.into_iter().find(|h| h.name() == recorded.verdict);
                claims.claims[holds.unwrap_or(Holds::Missing) as usize] += 1;
            }
        }
        all.push((key.clone(), String::new(), claims));
    }
    all
}

/// So many printed numbers of an algorithm must need a simulation before it can count as reproduced.
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
    /// The number that come out under the judged reading, but chose it.
    pub withheld: usize,
    /// The number that come out without a simulation.
    pub free: usize,
    /// Those of them that agree or are inside.
    pub free_come_out: usize,
}

impl Reproduced {
    /// The number of those that need a simulation to come out.
    pub fn beyond(self) -> usize {
        self.numbers - self.free
    }

    /// Those of them that agree or are inside.
    pub fn beyond_come_out(self) -> usize {
        self.come_out - self.free_come_out
    }

    /// Says whether the algorithm's published results are reproduced, by the numbers that need a simulation:
    /// [`LEAST_NUMBERS`] and [`LEAST_SHARE`].
    pub fn holds(self) -> bool {
        let (of, out) = (self.beyond(), self.beyond_come_out());
        of >= LEAST_NUMBERS && out as f64 >= LEAST_SHARE * of as f64
    }
}

/// The printed numbers that come out for each algorithm of the catalog by the verdicts on record, over all documents.
pub fn by_algorithm(papers: &Papers, plan: &Plan, record: &Record) -> BTreeMap<String, Reproduced> {
    let mut all: BTreeMap<String, Reproduced> = BTreeMap::new();
    for e in papers.experiments() {
        for of in e.cells.iter().filter(|of| of.of_algorithm) {
            for cell in papers.cells_of(of) {
                let Some(algorithm) = plan.algorithm(e, &of.algorithm[&cell.algorithm]) else { continue };
                let own = all.entry(algorithm.to_string()).or_default();
                own.numbers += 1;
                let recorded = record.0.get(&cell.id);
                let comes_out = recorded.is_some_and(Recorded::comes_out);
                let free = papers.is_free(cell);
                own.come_out += usize::from(comes_out);
                own.withheld += usize::from(recorded.is_some_and(|of| of.note == WITHHELD));
                own.free += usize::from(free);
                own.free_come_out += usize::from(free && comes_out);
            }
        }
    }
    all
}
