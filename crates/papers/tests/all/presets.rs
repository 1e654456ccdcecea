//! The experiments of documents that the page of the laboratory opens.

use std::path::Path;

use quell_papers::{MOST_PACKETS, Papers, Preset, Record, presets};

fn all() -> Vec<Preset> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let papers = Papers::read(&folder).unwrap_or_else(|e| panic!("{e}"));
    let record = Record::read(&folder.join("verdicts.csv")).unwrap_or_else(|e| panic!("{e}"));
    presets(&papers, &record).unwrap_or_else(|e| panic!("{e}"))
}

/// The page has the presets; `QUELL_UPDATE_DOCS=1 cargo test -p quell-papers --test all presets` writes them.
#[test]
fn the_page_has_the_presets() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/src/learn/papers.json");
    let lines: Vec<String> = all().iter().map(|preset| serde_json::to_string(preset).unwrap()).collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap_or_default() == text,
        "lab/src/learn/papers.json differs from what papers has; \
         QUELL_UPDATE_DOCS=1 cargo test -p quell-papers --test all presets writes it again"
    );
}

/// Each preset is a scenario that is there, small enough for a page, with verdicts on record.
#[test]
fn presets_can_be_opened() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let presets = all();
    let mut ids: Vec<&str> = presets.iter().map(|preset| preset.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), presets.len(), "two presets have one id");
    let numbers: usize = presets.iter().map(|preset| preset.numbers.len()).sum();
    assert!(presets.len() > 30 && numbers > 300, "{} presets, {numbers} numbers", presets.len());
    for preset in &presets {
        let mut scenario = quell_lab::read_named(&scenarios.join(&preset.scenario)).unwrap();
        for (field, value) in preset.set.iter().chain(&preset.sweep) {
            let table: toml::Table =
                format!("value = {value}").parse().unwrap_or_else(|e| panic!("{value}: {e}"));
            let of_sweep = preset.sweep.iter().any(|(swept, _)| swept == field);
            let set = if of_sweep {
                scenario.sweep(field, &table["value"])
            } else {
                scenario.set(field, &table["value"])
            };
            set.unwrap_or_else(|e| panic!("{}: {e}", preset.id));
        }
        let study =
            scenario.study(&quell_scenario::Plugins::new()).unwrap_or_else(|e| panic!("{}: {e}", preset.id));
        for point in &study.points {
            assert!(point.estimated_packets() <= MOST_PACKETS, "{}", preset.id);
        }
        for number in &preset.numbers {
            assert!(!number.verdict.is_empty(), "{}: {} {}", preset.id, number.label, number.name);
            let point = study.points.get(number.point);
            let has =
                point.is_some_and(|point| point.scenario.aqm.iter().any(|aqm| aqm.label() == number.label));
            assert!(has, "{}: point {} has no {}", preset.id, number.point, number.label);
        }
        for claim in &preset.claims {
            assert!(!claim.verdict.is_empty(), "{}: {}", preset.id, claim.says);
        }
    }
}
