//! Puts the page into the library, if `make lab` has built it: each file of `lab/dist`, compressed.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let place = |name: &str| env::var_os(name).map(PathBuf::from).expect("cargo sets it");
    let (built, out) = (place("CARGO_MANIFEST_DIR").join("../../lab/dist"), place("OUT_DIR"));
    println!("cargo::rerun-if-changed=build.rs");
    // The folder is in the repository, empty: where there is no folder, this script would run each time.
    println!("cargo::rerun-if-changed={}", built.display());
    let names = compressed(&built);
    let mut table = String::from("&[\n");
    for name in names.iter().filter(|_| names.iter().any(|name| name == "index.html")) {
        let packed = format!("{name}.gz");
        // A copy, since the page may be built again while this is compiled.
        fs::copy(built.join(&packed), out.join(&packed)).expect("a file of the page can be copied");
        table.push_str(&format!(
            "    ({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), {:?}))),\n",
            format!("/{packed}")
        ));
    }
    fs::write(out.join("files.rs"), table + "]\n").expect("cargo's folder can be written to");
}

/// The names, sorted, of the files in a folder that are there compressed.
fn compressed(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".gz").map(str::to_string)).collect();
    names.sort();
    names
}
