//! The command itself, on a few cases.

use std::process::Command;

fn run(arguments: &[&str]) -> (String, Option<i32>) {
    let out = Command::new(env!("CARGO_BIN_EXE_quell-validate")).args(arguments).output().unwrap();
    eprint!("{}", String::from_utf8_lossy(&out.stderr));
    (String::from_utf8(out.stdout).unwrap(), out.status.code())
}

#[test]
fn a_few_cases_and_the_laws_agree() {
    let (text, code) = run(&["--short"]);
    println!("{text}");
    assert_eq!(code, Some(0));
    assert!(text.contains(" 0 outside"));
}

#[test]
fn every_case_is_a_scenario() {
    let (text, code) = run(&["--scenarios", "--seeds", "1"]);
    assert_eq!(code, Some(0));
    let refused: Vec<&str> = text.lines().filter(|l| l.starts_with("# ")).collect();
    assert!(refused.is_empty(), "{refused:?}");
}

#[test]
fn a_case_that_does_not_exist_is_an_error() {
    assert_eq!(run(&["--only", "R99"]).1, Some(2));
}
