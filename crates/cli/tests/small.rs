//! The command without features: it lists every command, and those that it lacks say what builds them.

use std::process::Command;

fn quell(args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_quell")).args(args).output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[test]
fn a_command_that_is_absent_is_listed_and_says_what_builds_it() {
    let (code, help) = quell(&["--help"]);
    assert_eq!(code, Some(0), "{help}");
    for name in [
        "lab",
        "bundle",
        "reproduce",
        "characterize",
        "wire",
        "gateway",
        "measure",
        "import",
        "export",
        "conformance",
        "completions",
        "man",
        "analyze",
        "design",
        "map",
    ] {
        assert!(help.contains(&format!("\n  {name} ")), "{help}");
        for args in [&[name][..], &[name, "--help"], &[name, "--list", "x", "--", "y"]] {
            let (code, said) = quell(args);
            assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
            assert!(said.starts_with(&format!("error: quell {name} ")), "{said}");
            assert!(
                said.contains("`cargo build --release --bin quell`") || !cfg!(target_os = "linux"),
                "{said}"
            );
        }
    }
    let note = help.split("Not in this build").nth(1).unwrap_or_default();
    assert!(note.contains("analyze") && note.contains("conformance"), "{help}");
    let (code, list) = quell(&["aqm", "list"]);
    assert!(code == Some(0) && list.contains("drop-tail"), "{list}");
}
