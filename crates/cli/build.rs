//! Says where git's log of what was checked out is, to read the commit from it. This script is not run again with each
//! commit, which would compile the library again. It is the Python extension's too.

use std::path::{Path, PathBuf};

/// Says it.
pub fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(quell_git)");
    let Some(git) = std::env::var_os("CARGO_MANIFEST_DIR").and_then(|own| git(Path::new(&own))) else {
        return;
    };
    // Gone with the repository, but not changed by what is done in it.
    let marks = [git.join("description"), git.join("commondir"), git.join("config")];
    let (Some(mark), log) = (marks.iter().find(|mark| mark.is_file()), git.join("logs/HEAD")) else { return };
    if let (true, Some(log)) = (log.is_file(), log.to_str()) {
        println!("cargo::rerun-if-changed={}", mark.display());
        println!("cargo::rustc-cfg=quell_git");
        println!("cargo::rustc-env=QUELL_GIT_LOG={log}");
    }
}

/// Git's folder of the workspace that this package is in; a repository around that is another one.
fn git(package: &Path) -> Option<PathBuf> {
    let root = package.join("../..").canonicalize().ok()?;
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    // Of a further work tree it is a file that names the folder.
    let text = std::fs::read_to_string(git).ok()?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}
