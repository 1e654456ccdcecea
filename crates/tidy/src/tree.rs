//! The crates of the workspace and their source files.

use std::fs;
use std::path::{Path, PathBuf};

/// A crate: its name as that of its folder, the path to its source, and the files there with their text, sorted.
pub struct Crate {
    pub name: String,
    pub source: String,
    pub files: Vec<(String, String)>,
}

/// All crates of the workspace.
pub fn crates() -> Vec<Crate> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let inside =
        entries(&root.join("crates")).into_iter().map(|folder| format!("crates/{}", file_name(&folder)));
    let sources = inside.chain(["benches".to_string()]).map(|folder| format!("{folder}/src/"));
    let crates = sources.filter(|source| root.join(source).is_dir()).map(|source| {
        let name = file_name(Path::new(&source).parent().expect("it lies in its crate's folder"));
        Crate { name, files: files(&root.join(&source), ""), source }
    });
    crates.collect()
}

/// The lines of a file outside its tests, without their indentation, each with its index. A module of tests, and a
/// test, end at the brace in their own column, as rustfmt sets it.
pub fn without_tests<'f>(name: &str, text: &'f str) -> Vec<(usize, &'f str)> {
    let (mut end, mut for_tests, mut lines) = (None, false, Vec::new());
    for (index, line) in text.lines().enumerate().filter(|_| !name.ends_with("tests.rs")) {
        if let Some(brace) = &end {
            if line == brace {
                end = None;
            }
            continue;
        }
        let code = line.trim_start();
        if for_tests && (code.starts_with("mod ") || code.starts_with("fn ")) && code.ends_with('{') {
            end = Some(format!("{}}}", &line[..line.len() - code.len()]));
        }
        for_tests = ["#[test]", "#[cfg(test)]", "#[cfg(all(test"].iter().any(|mark| code.starts_with(mark));
        lines.push((index, code));
    }
    lines
}

fn files(folder: &Path, prefix: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for path in entries(folder) {
        let name = format!("{prefix}{}", file_name(&path));
        if path.is_dir() {
            found.extend(files(&path, &format!("{name}/")));
        } else if name.ends_with(".rs") {
            found.push((name, fs::read_to_string(&path).expect("a source file is readable text")));
        }
    }
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.expect("a folder can be listed").path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().expect("a listed path has a name").to_string_lossy().into_owned()
}
