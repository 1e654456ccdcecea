//! The fuzz target of documents: values, tests and patterns, and whole folders.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use quell_papers::{
    Extent, PaperError, Papers, Plan, Printed, PrintedOf, Record, Test, Value, matches, slug,
};

/// Lines before the first that begins with `=== ` are values, tests and numbers; such a line names a file, which
/// consists of the lines after it. Errors name a file and a rule, and what is read is the same when it is read again.
pub fn papers(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (lines, files) = text.split_once("=== ").unwrap_or((text, ""));
    lines.lines().for_each(expression);
    if !files.is_empty() {
        folder(files);
    }
}

fn expression(line: &str) {
    if let Ok(value) = line.parse::<Value>() {
        assert!(value.factor.is_finite());
        assert_eq!(value.to_string().parse::<Value>().as_ref(), Ok(&value), "{line:?}");
    }
    match line.parse::<Test>() {
        Ok(test) => assert_eq!(test.to_string().parse::<Test>().as_ref(), Ok(&test), "{line:?}"),
        Err(why) => assert!(!why.is_empty()),
    }
    if let Some(number) = Printed::read(line) {
        assert!(
            number.value.is_finite() && number.rounding.is_finite() && number.rounding >= 0.0,
            "{number:?}"
        );
        assert_eq!(Printed::read(&number.text).as_ref(), Some(&number));
    }
    let _ = line.parse::<PrintedOf>().inspect_err(|why| assert!(!why.is_empty()));
    let id = slug(line);
    assert_eq!(slug(&id), id, "{line:?}");
    assert!(matches(line, line) && matches("*", line), "{line:?}");
}

/// The files of a folder; others are not written.
const FILES: [&str; 8] = [
    "cells.csv",
    "ns2.csv",
    "bands.toml",
    "verdicts.csv",
    "doc/document.toml",
    "doc/one.toml",
    "doc/two.toml",
    "doc/scenario",
];

/// A folder of this process, which is written over and over.
fn place() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("quell-fuzz-papers-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("doc")).expect("the temporary folder can be written");
        folder
    })
}

fn folder(files: &str) {
    let folder = place();
    for name in FILES {
        // That which is not there is missing.
        let _ = std::fs::remove_file(folder.join(name));
    }
    for part in files.split("=== ") {
        let (name, text) = part.split_once('\n').unwrap_or((part, ""));
        if FILES.contains(&name.trim()) {
            std::fs::write(folder.join(name.trim()), text).expect("the temporary folder can be written");
        }
    }
    let verdicts = folder.join("verdicts.csv");
    match Record::read(&verdicts) {
        Ok(record) => {
            std::fs::write(&verdicts, record.text()).expect("the temporary folder can be written");
            assert_eq!(Record::read(&verdicts).as_ref(), Ok(&record));
        }
        Err(e) => checked(&e),
    }
    let Some((papers, found)) = read(folder) else { return };
    assert_eq!(read(folder).map(|(_, again)| again), Some(found), "the same folder");
    // What would be run.
    match Plan::of(&papers, papers.experiments(), Extent::default()) {
        Ok(plan) => assert!(plan.study.points.iter().all(|point| !point.links().is_empty())),
        Err(e) => checked(&e),
    }
}

fn checked(e: &PaperError) {
    assert!(!e.file.is_empty() && !e.rule.is_empty() && e.line.is_none_or(|line| line >= 1), "{e:?}");
}

/// What is in a folder, and the same as text.
fn read(folder: &Path) -> Option<(Papers, String)> {
    let (papers, broken) = Papers::read_usable(folder).inspect_err(checked).ok()?;
    broken.iter().for_each(|(_, e)| checked(e));
    let mut ns2: Vec<String> = papers.ns2.iter().map(|cell| format!("{cell:?}")).collect();
    ns2.sort();
    let text = format!("{:?}{ns2:?}{:?}{:?}{broken:?}", papers.cells, papers.bands, papers.documents);
    Some((papers, text))
}
