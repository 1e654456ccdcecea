//! What is compiled once for the tests and for the Python extension: cargo shares a crate only between builds that
//! turn the same features of it on, and of all that it depends on.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What `make py` adds, beside the profile.
const OF_MAKE: &str = "quell-scenario/edit";

#[test]
fn the_extension_has_the_features_that_the_tests_have() {
    let tests = features(&["--workspace", "--edges", "normal,build,dev"]);
    let extension = features(&["--package", "quell-py", "--features", OF_MAKE, "--edges", "normal,build"]);
    let wrong: String = extension
        .iter()
        .filter_map(|(name, sets)| Some((name, sets, tests.get(name)?)))
        .filter(|(_, of_extension, of_tests)| !of_extension.is_subset(of_tests))
        .map(|(name, of_extension, of_tests)| format!("\n{name}: {of_extension:?}, in tests {of_tests:?}"))
        .collect();
    assert!(
        wrong.is_empty(),
        "compiled twice, for the extension and for the tests, with what uses it:{wrong}"
    );
    let makefile = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Makefile"));
    let makefile = makefile.expect("the Makefile is text");
    assert!(makefile.contains(&format!("--profile dev --features {OF_MAKE}\"")), "make py");
}

/// The features of each crate that such a build compiles: a crate may be there with several sets.
fn features(selection: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--prefix", "none", "--format", "{p}|{f}"])
        .args(selection)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("cargo is there");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    for line in String::from_utf8(output.stdout).expect("cargo prints text").lines() {
        // `(*)` follows what was listed before.
        if let Some((package, features)) = line.trim_end_matches(" (*)").split_once('|') {
            found.entry(package.to_string()).or_default().insert(features.trim().to_string());
        }
    }
    found
}
