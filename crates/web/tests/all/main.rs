//! The laboratory of a page, asked natively.

// Errors of scenarios are as large as what they say.
#![allow(clippy::result_large_err)]

mod abi;
mod answers;
mod edits;
mod hostile;
mod scenarios;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The answer to a message.
fn answer(lab: &mut quell_web::Lab, request: &Value) -> Value {
    serde_json::from_str(&lab.answer(&request.to_string())).expect("answers are JSON")
}

/// What a message is answered with.
fn ok(lab: &mut quell_web::Lab, request: &Value) -> Value {
    let mut answer = answer(lab, request);
    assert!(answer.get("error").is_none(), "{request}: {answer}");
    answer["ok"].take()
}

/// The fault of a message.
fn fault(request: &Value) -> Value {
    let mut answer = answer(&mut quell_web::Lab::default(), request);
    assert!(answer.get("ok").is_none(), "{request} has an answer");
    answer["error"].take()
}

/// A small scenario: a second of two algorithms and two seeds.
const SMALL: &str = r#"
schema = 1
title = "Small"
duration = "4 s"
warmup = "1 s"
seeds = 2

[dumbbell]
rate = "2 Mbit/s"
delay = "10 ms"
buffer = "40 packets"

[[aqm]]
algorithm = "drop-tail"

[[aqm]]
algorithm = "pi"

[[flows]]
name = "ftp"
count = 3
rtt = "60 ms"
"#;

fn small() -> Value {
    json!({ "text": SMALL, "name": "small.toml" })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// All scenarios: their names below `scenarios`, and their texts. Links and loads are parts of some.
fn scenarios() -> Vec<(String, String)> {
    fn walk(at: &Path, into: &mut Vec<(String, String)>) {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
            if path.is_dir() && !["links", "loads"].contains(&&*name) {
                walk(&path, into);
            } else if name.ends_with(".toml") {
                into.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut all = Vec::new();
    walk(&root(), &mut all);
    assert!(all.len() > 80, "{}", all.len());
    all
}
