//! The documents of this repository.

use std::path::Path;

use quell_papers::{Extent, Papers, Plan};

/// Every experiment can be run: its scenarios, readings and tests fit together.
#[test]
fn every_experiment_can_be_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let papers = Papers::read(&folder).unwrap_or_else(|e| panic!("{e}"));
    for e in papers.experiments() {
        let plan = Plan::of(&papers, [e], Extent::default()).unwrap_or_else(|e| panic!("{e}"));
        assert!(plan.study.holes.is_empty(), "{}: {:?}", e.id, plan.study.holes);
    }
}
