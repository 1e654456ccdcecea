//! Licenses of what Quell depends on: those that `deny.toml` allows, on machines without `cargo deny` as well.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn dependencies_have_licenses_that_are_allowed() {
    let rules = fs::read_to_string(root().join("deny.toml")).expect("deny.toml is readable text");
    let rules: toml::Table = rules.parse().expect("deny.toml is TOML");
    let rules = &rules["licenses"];
    let mut wrong = String::new();
    for package in packages() {
        let name = package["name"].as_str().expect("a package has a name");
        let exceptions = rules["exceptions"].as_array().into_iter().flatten();
        let own = exceptions.filter(|e| e["crate"].as_str() == Some(name)).map(|e| &e["allow"]);
        let allowed = own.chain([&rules["allow"]]).flat_map(|list| list.as_array().expect("it is a list"));
        let allowed: Vec<&str> = allowed.filter_map(toml::Value::as_str).collect();
        let license = package["license"].as_str().unwrap_or("none");
        if !is_allowed(license, &allowed) {
            wrong += &format!("\n{name} {}: {license}", package["version"]);
        }
    }
    assert!(wrong.is_empty(), "licenses that deny.toml does not allow:{wrong}");
}

/// Reads `A OR B AND C` as `(A OR B) AND C`, which asks for no less than it says.
fn is_allowed(license: &str, allowed: &[&str]) -> bool {
    let license = license.replace(['(', ')'], "").replace('/', " OR ");
    license.split(" AND ").all(|part| part.split(" OR ").any(|name| allowed.contains(&name.trim())))
}

/// What is compiled on this machine, for the tests too.
fn packages() -> Vec<Value> {
    let cargo = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output();
        let output = output.expect("cargo is there");
        assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("cargo prints text")
    };
    let version = cargo(&["--version", "--verbose"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo names its host");
    let metadata = cargo(&["metadata", "--format-version", "1", "--locked", "--filter-platform", host]);
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo prints JSON");
    metadata["packages"].as_array().expect("it is a list").clone()
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn of_a_choice_one_is_enough_and_of_a_sum_all_are_needed() {
    let allowed = ["MIT", "Zlib"];
    for license in ["MIT", "MIT/GPL-2.0", "GPL-2.0 OR MIT", "(MIT OR GPL-2.0) AND Zlib"] {
        assert!(is_allowed(license, &allowed), "{license}");
    }
    for license in ["none", "GPL-2.0", "MIT AND GPL-2.0", "(MIT OR Zlib) AND GPL-2.0", "MIT WITH x"] {
        assert!(!is_allowed(license, &allowed), "{license}");
    }
}
