//! Every scenario that comes with Quell loads, and the published schema is the one in the code.

use std::path::{Path, PathBuf};

use quell_scenario::{Document, Plugins, Scenario, Study};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn read(path: &Path) -> Document {
    let text = std::fs::read_to_string(path).unwrap();
    Document::parse(&text, &path.display().to_string()).unwrap_or_else(|e| panic!("{e}"))
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "toml") {
            out.push(path);
        }
    }
    out.sort();
    out
}

#[test]
fn every_scenario_loads_and_survives_being_written_out() {
    let files = files(&root());
    assert!(files.len() >= 15, "only {} scenarios found", files.len());
    for path in files {
        let study = read(&path).study(&Plugins::new()).unwrap_or_else(|e| panic!("{e}"));
        for point in &study.points {
            let text = point.scenario.to_toml();
            let again = Study::parse(&text, "resolved", &Plugins::new())
                .unwrap_or_else(|e| panic!("{}: {e}\n{text}", path.display()));
            assert_eq!(again.points[0].scenario, point.scenario, "{}", path.display());
        }
    }
}

#[test]
fn all_algorithms_are_the_catalog_in_its_order() {
    let study = read(&root().join("catalog.toml")).study(&Plugins::new()).unwrap();
    let listed = study.points[0].scenario.aqm.iter().map(|a| a.algorithm.as_str());
    assert!(listed.eq(quell_aqm::catalog::CATALOG.iter().map(|e| e.name)));
    assert!(study.points[0].scenario.aqm.iter().all(|a| a.label.is_none() && a.parameters.is_empty()));
    let text = FRAME.replace("duration", "aqm = \"every\"\nduration");
    let e = Study::parse(&text, "text", &Plugins::new()).unwrap_err().to_string();
    assert!(e.contains("write [[aqm]]: a list of tables; or aqm = \"all\""), "{e}");
}

/// What surrounds a snippet of the documentation.
const FRAME: &str = r#"
schema = 1
duration = "10 s"
dumbbell = { rate = "30 Mbit/s", delay = "10 ms", buffer = "500 packets" }
flows = [{ name = "ftp" }]
"#;

#[test]
fn every_snippet_of_the_algorithms_pages_can_be_used() {
    let mut found = 0;
    for entry in std::fs::read_dir(root().join("../docs/algorithms")).unwrap() {
        let path = entry.unwrap().path();
        let page = std::fs::read_to_string(&path).unwrap();
        for snippet in page.split("```toml\n").skip(1) {
            let (snippet, _) = snippet.split_once("```").unwrap();
            let text = format!("{FRAME}{snippet}");
            let name = path.display().to_string();
            Study::parse(&text, &name, &Plugins::new()).unwrap_or_else(|e| panic!("{e}\n{text}"));
            found += 1;
        }
    }
    assert!(found >= 2, "only {found} snippets found");
}

#[test]
fn the_published_schema_is_that_of_the_code() {
    let path = root().join("schema.json");
    let text = serde_json::to_string_pretty(&Scenario::json_schema()).unwrap() + "\n";
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == text, "scenarios/schema.json is stale: run the tests with QUELL_UPDATE_DOCS=1");
}

#[test]
fn sweeps_and_settings_reach_flows_and_algorithms_by_name() {
    let mut doc = read(&root().join("papers/fuzzy-s1.toml"));
    doc.set_text("aqm.red.max_p", "0.05").unwrap();
    doc.set_text("duration", "10 s").unwrap();
    doc.set_text("seeds", "[3, 4]").unwrap();
    let study = doc.study(&Plugins::new()).unwrap();
    let counts: Vec<_> = study.points.iter().map(|p| p.scenario.flows[0].count.unwrap()).collect();
    assert_eq!(counts, [4, 16, 64, 256]);
    assert_eq!(study.points[1].title(), "flows.ftp.count = 16");
    assert_eq!(study.points[0].scenario.aqm[1].parameters["max_p"].as_float(), Some(0.05));
    assert_eq!(study.points[0].scenario.seeds.list(), [3, 4]);
    let e = doc.set_text("flows.fpt.count", "3").unwrap_err().to_string();
    assert!(e.contains("did you mean \"ftp\"?"), "{e}");
}
