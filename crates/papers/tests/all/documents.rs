//! The documents of this repository.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;

use quell_aqm::catalog::{CATALOG, Label};
use quell_papers::{
    Extent, Papers, Plan, Record, WITHHELD, by_algorithm, file_names, matches, scoreboard, scores_on_record,
};

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

/// The index of the pages is of the verdicts on record, and the label "reproduced" is earned by them.
#[test]
fn the_index_and_labels_are_of_what_is_on_record() {
    let papers = read();
    let plan = Plan::of(&papers, papers.experiments(), Extent::default()).unwrap_or_else(|e| panic!("{e}"));
    let record = Record::read(&papers.folder.join("verdicts.csv")).unwrap_or_else(|e| panic!("{e}"));
    let earned = by_algorithm(&papers, &plan, &record);
    let index = scoreboard(&papers, &record, &earned);
    let path = papers.folder.join("../docs/papers/README.md");
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &index).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap();
    assert!(
        index == written,
        "docs/papers/README.md is not of papers/verdicts.csv; QUELL_UPDATE_DOCS=1 or make papers writes it again"
    );
    for entry in CATALOG {
        let of = earned.get(entry.name).copied().unwrap_or_default();
        let (is, should) = (entry.label == Label::Reproduced, of.holds());
        assert_eq!(is, should, "{}: {of:?}; change its label in crates/aqm/src/catalog/mod.rs", entry.name);
    }
}

/// What the project's README says of the documents is so.
#[test]
fn the_readme_counts_numbers_and_claims() {
    let papers = read();
    let claims = papers.experiments().flat_map(|e| &e.claims).filter(|c| !c.ours).count();
    let says = format!("print {} numbers and make {claims} claims", papers.cells.len());
    let readme = std::fs::read_to_string(papers.folder.join("../README.md")).unwrap();
    assert!(readme.contains(&says), "README.md must say that the papers {says}");
}

/// What does not come out is not left at that: a claim that fails has its mechanism, and an open number what was tried.
#[test]
fn what_does_not_come_out_has_its_reason() {
    let papers = read();
    let record = Record::read(&papers.folder.join("verdicts.csv")).unwrap_or_else(|e| panic!("{e}"));
    let is = |id: &str, verdict: &str| record.0.get(id).is_some_and(|of| of.verdict == verdict);
    let mut bare = Vec::new();
    for e in papers.experiments() {
        let failing = |c: &&quell_papers::Claim| !c.ours && is(&format!("{}#{}", e.id, c.name), "fails");
        let without = e.claims.iter().filter(failing).filter(|claim| {
            let refuted = e.refuted.iter().any(|r| r.claims.contains(&claim.name));
            claim.because.is_none() && !refuted
        });
        bare.extend(without.map(|claim| format!("{}#{}: needs \"because\"", e.id, claim.name)));
        let listed = |id: &str| {
            let patterns =
                e.open.iter().flat_map(|o| &o.cells).chain(e.refuted.iter().flat_map(|r| &r.cells));
            patterns.into_iter().any(|pattern| matches(pattern, id))
        };
        let open = e.cells.iter().flat_map(|of| papers.cells_of(of));
        let open = open.filter(|cell| is(&cell.id, "open") && !listed(&cell.id));
        bare.extend(open.map(|cell| format!("{}: needs [[open]] in {}", cell.id, e.id)));
    }
    assert!(bare.is_empty(), "{}", bare.join("\n"));
}

/// What lies outside has a list of its own: no block is of numbers that come out, a pattern is of open numbers of one metric,
/// and no attempt is told of two tables.
#[test]
fn lists_are_of_what_is_outside() {
    let papers = read();
    let record = Record::read(&papers.folder.join("verdicts.csv")).unwrap_or_else(|e| panic!("{e}"));
    let comes_out = |id: &str| record.0.get(id).is_some_and(|of| of.comes_out() || of.note == WITHHELD);
    let mut wrong = Vec::new();
    // Each attempt, with the table and the file in which it is told first.
    let mut told: HashMap<&str, (&str, &str)> = HashMap::new();
    for e in papers.experiments() {
        let refuted = e.refuted.iter().flat_map(|r| &r.cells).map(|pattern| ("refuted", pattern));
        let open = e.open.iter().flat_map(|open| &open.cells).map(|pattern| ("open", pattern));
        for (kind, pattern) in refuted.chain(open) {
            let mut named = papers.cells.iter().filter(|cell| matches(pattern, &cell.id));
            if named.all(|cell| comes_out(&cell.id)) {
                wrong.push(format!("{}: [[{kind}]] \"{pattern}\": all that it names comes out", e.id));
            }
            let named = papers.cells.iter().filter(|cell| matches(pattern, &cell.id));
            let open = named.filter(|c| record.0.get(&c.id).is_some_and(|of| of.verdict == "open"));
            let metrics: BTreeSet<&str> = open.map(|cell| cell.metric.as_str()).collect();
            if kind == "open" && metrics.len() > 1 {
                wrong.push(format!("{}: [[open]] \"{pattern}\": is of {metrics:?}; name one", e.id));
            }
        }
        for open in &e.open {
            let tables = open.cells.iter().filter_map(|pattern| pattern.split('/').nth(1));
            let tables: BTreeSet<&str> = tables.collect();
            for (table, attempt) in
                tables.into_iter().flat_map(|table| open.tried.iter().map(move |text| (table, text)))
            {
                let (first, of) = *told.entry(attempt).or_insert((table, &e.id));
                if first != table {
                    wrong.push(format!("{}: [[open]] of table {first} in {of} has it too: {attempt}", e.id));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A phrase has one meaning: who says "almost all" is asked for nine of ten.
#[test]
fn almost_all_is_nine_of_ten() {
    let papers = read();
    for (e, claim) in papers.experiments().flat_map(|e| e.claims.iter().map(move |claim| (e, claim))) {
        // "Here: ..." is ours, and may tell of the phrase.
        let theirs = claim.says.split("; here:").next().unwrap_or_default().to_lowercase();
        let says = ["almost all", "almost always", "nearly all"].iter().any(|phrase| theirs.contains(phrase));
        let test = &claim.test;
        let asked = test.parts.iter().all(|part| part.share.is_some_and(|share| (share - 0.9).abs() < 1e-9));
        assert!(
            !says || asked,
            "{}#{}: each part must end with \"for 90% of cases\": {}",
            e.id,
            claim.name,
            test.text
        );
    }
}

/// What is computed by formulas of a document is apart from what is simulated, and from what a guess gives.
#[test]
fn computed_numbers_are_counted_apart() {
    let papers = read();
    let record = Record::read(&papers.folder.join("verdicts.csv")).unwrap_or_else(|e| panic!("{e}"));
    let rows = scores_on_record(&papers, &record);
    let of = |table: &str| &rows.iter().find(|(key, name, _)| key == "vrc" && name == table).unwrap().2;
    for (table, numbers) in [("sec. 5.4.2", 3), ("sec. 3.2 example", 2)] {
        let score = of(table);
        assert_eq!((score.computed, score.free, score.beyond(), score.beyond_come_out()), (numbers, 0, 0, 0));
    }
    assert_eq!(of("2").computed, 0);
}

/// How names of fields of a scenario begin.
const FIELDS: [&str; 5] = ["flows.", "aqm.", "dumbbell.", "parking_lot.", "graph."];

/// The figures of the pages have the titles and ranges that the documents print, and words for fields.
#[test]
fn figures_have_the_axes_of_the_documents() {
    let papers = read();
    let images = papers.folder.join("../docs/papers/images");
    for e in papers.experiments() {
        for (figure, name) in e.figures.iter().zip(file_names(e)) {
            let place = format!("figure {} of {}", figure.number, e.id);
            let (Some(x), Some(y)) = (&figure.x_axis, &figure.y_axis) else {
                panic!("{place}: has no x_axis and y_axis");
            };
            let file = images.join(format!("{name}.svg"));
            let svg = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let escaped = |text: &str| {
                text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
            };
            for axis in [x, y] {
                assert!(
                    svg.contains(&format!(">{}</text>", escaped(&axis.title))),
                    "{place}: {}",
                    axis.title
                );
            }
            let ends = svg.split("<metadata>").nth(1).and_then(|rest| rest.split("</metadata>").next());
            let ends: Vec<f64> =
                ends.unwrap_or("").split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
            assert_eq!(ends.len(), 4, "{place}: {ends:?}");
            for (range, own) in [(x.range, &ends[..2]), (y.range, &ends[2..])] {
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * b.abs().max(1e-9);
                assert!(
                    range.is_none_or(|range| own.iter().zip(&range).all(near)),
                    "{place}: {own:?}, not {range:?}"
                );
            }
            let texts = svg.split("<text").skip(1).filter_map(|rest| rest.split("</text>").next());
            for text in texts {
                // What does not fit is written smaller, down to where nobody can read it.
                let size = text
                    .split("font-size=\"")
                    .nth(1)
                    .and_then(|rest| rest.split('"').next()?.parse::<f64>().ok());
                assert!(size.is_some_and(|size| size >= 8.0), "{place}: too long for its place: {text}");
                assert!(!FIELDS.iter().any(|field| text.contains(field)), "{place}: {text}");
            }
        }
    }
}

/// Each picture of the pages is shown by one, and none is missing.
#[test]
fn pictures_are_those_of_the_pages() {
    let pages = read().folder.join("../docs/papers");
    let names = |folder: &Path, ending: &str| -> BTreeSet<String> {
        let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
        files.filter(|name| name.ends_with(ending)).collect()
    };
    let mut shown = BTreeSet::new();
    for page in names(&pages, ".md") {
        let text = std::fs::read_to_string(pages.join(page)).unwrap();
        shown.extend(
            text.split("](images/").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_string())),
        );
    }
    let there = names(&pages.join("images"), "");
    assert!(shown == there, "{:?}", shown.symmetric_difference(&there).collect::<Vec<_>>());
}

/// `ns2.py` refuses what gives no cell, and says which rows have other numbers of runs than its plan.
#[test]
fn ns2_is_asked_for_what_there_is() {
    let script = read().folder.join("ns2.py");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let run = |args: &[&str]| {
        let output = Command::new("python3").arg(&script).args(args).output().unwrap();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    };
    let (passed, _, said) = run(&["nosuch"]);
    assert!(!passed && said.contains("nosuch: nothing in ns2.toml") && said.contains("vrc/2"), "{said}");
    let (passed, said, _) = run(&["--list", "vrc/2"]);
    assert!(passed && said.contains("vrc.tcl b2"), "{said}");
    let (passed, _, errors) = run(&["--check"]);
    assert!(passed, "{errors}");
    let asks = "import sys; sys.path.insert(0, sys.argv[1]); import ns2; plan = ns2.planned(); \
                cell = next(iter(plan[0].cells)); \
                print(ns2.other_seeds([[cell, '', '', '3'], [cell, '', '', str(plan[0].seeds)]], plan))";
    let output = Command::new("python3").args(["-B", "-c", asks]).arg(read().folder).output().unwrap();
    assert_eq!(
        text(&output.stdout),
        "['vrc/2/b2-random-connections/drop_tail/mean_queue: 3 runs, ns2.toml asks for 10']\n",
        "{}",
        text(&output.stderr)
    );
}

/// No table of the pages has a cell that must be read twice.
#[test]
fn cells_of_tables_are_short() {
    let pages = read().folder.join("../docs/papers");
    for document in read().documents.iter().map(|d| d.key.as_str()).chain(["README"]) {
        let text = std::fs::read_to_string(pages.join(format!("{document}.md"))).unwrap();
        for line in text.lines().filter(|line| line.starts_with('|')) {
            for cell in line.replace("\\|", " ").split('|') {
                assert!(cell.trim().chars().count() <= 80, "{document}.md: {}", cell.trim());
            }
        }
    }
}
