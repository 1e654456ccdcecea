//! The documents of this repository.

use std::path::Path;

use quell_aqm::catalog::{CATALOG, Label};
use quell_papers::{Extent, Papers, Plan, Record, by_algorithm, scoreboard};

fn read() -> Papers {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    Papers::read(&folder).unwrap_or_else(|e| panic!("{e}"))
}

/// The documents, and the cases of drafts.
fn all() -> [Papers; 2] {
    let drafts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drafts");
    [read(), Papers::read(&drafts).unwrap_or_else(|e| panic!("{e}"))]
}

/// The page of BBR has every case of the draft, with the verdict on record.
#[test]
fn the_page_of_bbr_has_the_verdicts() {
    let [_, drafts] = all();
    let record = Record::read(&drafts.folder.join("verdicts.csv")).unwrap_or_else(|e| panic!("{e}"));
    let page = std::fs::read_to_string(drafts.folder.join("../docs/senders/bbr3.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `bbr-")).collect();
    assert_eq!(rows.len(), record.0.len());
    for (id, recorded) in &record.0 {
        let verdict = &recorded.verdict;
        let row = rows.iter().find(|row| row.starts_with(&format!("| `{id}` |")));
        assert!(row.is_some_and(|row| row.ends_with(&format!(" | {verdict} |"))), "{id}: {row:?}, {verdict}");
    }
}

/// Every experiment can be run: its scenarios, readings and tests fit together.
#[test]
fn every_experiment_can_be_run() {
    for papers in all() {
        for e in papers.experiments() {
            let plan = Plan::of(&papers, [e], Extent::default()).unwrap_or_else(|e| panic!("{e}"));
            assert!(plan.study.holes.is_empty(), "{}: {:?}", e.id, plan.study.holes);
        }
    }
}

/// Printed numbers have an experiment, and a verdict on record.
#[test]
fn every_number_is_judged() {
    all().iter().for_each(is_judged);
}

fn is_judged(papers: &Papers) {
    let record = Record::read(&papers.folder.join("verdicts.csv")).unwrap_or_else(|e| panic!("{e}"));
    for cell in &papers.cells {
        let verdict = record.0.get(&cell.id).map(|of| of.verdict.as_str());
        assert!(verdict.is_some_and(|v| v != "missing"), "{}: {verdict:?}", cell.id);
    }
    for (e, claim) in papers.experiments().flat_map(|e| e.claims.iter().map(move |claim| (e, claim))) {
        let id = format!("{}#{}", e.id, claim.name);
        let verdict = record.0.get(&id).map(|of| of.verdict.as_str());
        assert!(verdict.is_some_and(|v| v != "missing"), "{id}: {verdict:?}; run make papers");
    }
}

/// The index of the pages is of the verdicts on record.
#[test]
fn the_index_is_of_what_is_on_record() {
    let papers = read();
    let plan = Plan::of(&papers, papers.experiments(), Extent::default()).unwrap_or_else(|e| panic!("{e}"));
    let record = Record::read(&papers.folder.join("verdicts.csv")).unwrap_or_else(|e| panic!("{e}"));
    let index = scoreboard(&papers, &record, &by_algorithm(&papers, &plan, &record));
    let written = std::fs::read_to_string(papers.folder.join("../docs/papers/README.md")).unwrap();
    assert!(index == written, "docs/papers/README.md is not of papers/verdicts.csv; run make papers");
}

/// The label "reproduced" is earned by the verdicts on record.
#[test]
fn labels_are_earned() {
    let papers = read();
    let plan = Plan::of(&papers, papers.experiments(), Extent::default()).unwrap_or_else(|e| panic!("{e}"));
    let record = Record::read(&papers.folder.join("verdicts.csv")).unwrap_or_else(|e| panic!("{e}"));
    let earned = by_algorithm(&papers, &plan, &record);
    for entry in CATALOG {
        let of = earned.get(entry.name).copied().unwrap_or_default();
        let (is, should) = (entry.label == Label::Reproduced, of.holds());
        assert_eq!(is, should, "{}: {of:?}; change its label in crates/aqm/src/catalog/mod.rs", entry.name);
    }
}
