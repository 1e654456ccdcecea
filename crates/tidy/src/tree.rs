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
