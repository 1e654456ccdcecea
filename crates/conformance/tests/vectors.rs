//! What is committed of the vectors is what the catalog gives, every algorithm decides something in them, and
//! the reference passes its own.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use quell_aqm::catalog::CATALOG;
use quell_conformance::{Vector, answer, generate, vector};
use sha2::{Digest, Sha256};

/// Algorithms whose vectors are committed whole; of the others there are digests.
const COMMITTED: &[&str] = &["drop-tail", "red", "ared", "pi", "codel", "pie", "blue", "red+tail"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

/// Compares a file with what it should hold, or writes it.
fn keep(path: &Path, text: &str) {
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(path, text).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == text,
        "{}: run `QUELL_UPDATE_DOCS=1 cargo test -p quell-conformance --test vectors`",
        path.display()
    );
}

#[test]
fn what_is_committed_is_what_the_catalog_gives() {
    let mut digests = String::new();
    for entry in CATALOG {
        let vectors = generate::of(entry);
        let text: String = vectors.iter().map(Vector::text).collect();
        for vector in &vectors {
            let digest = Sha256::digest(vector.text());
            let digest: String = digest.iter().take(16).fold(String::new(), |mut all, byte| {
                let _ = write!(all, "{byte:02x}");
                all
            });
            writeln!(digests, "{digest} {} {}", vector.header.events, vector.header.vector).unwrap();
        }
        if COMMITTED.contains(&entry.name) {
            keep(&folder().join("vectors").join(format!("{}.jsonl", entry.name)), &text);
        }
        assert_eq!(Vector::read_all(&text).unwrap(), vectors, "{}: reads what it writes", entry.name);
    }
    keep(&folder().join("digests.txt"), &digests);
    let schema = serde_json::to_string_pretty(&vector::schema()).unwrap() + "\n";
    keep(&folder().join("schema.json"), &schema);
    let size: u64 = std::fs::read_dir(folder().join("vectors"))
        .unwrap()
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(size < 5_000_000, "{size} bytes are committed");
}

/// A vector in which nothing is decided would accept anything.
#[test]
fn every_algorithm_decides_something() {
    let mut idle = Vec::new();
    for entry in CATALOG {
        let vectors = generate::of(entry);
        let names: BTreeSet<_> = vectors.iter().map(|v| v.header.vector.clone()).collect();
        assert_eq!(names.len(), vectors.len(), "{}: names are used once", entry.name);
        let decided: usize = vectors.iter().map(|v| v.signals().0 - v.signals().1).sum();
        if decided < 15 && entry.name != "drop-tail" {
            idle.push((entry.name, decided));
        }
        let draws = vectors.iter().flat_map(|v| &v.events).flat_map(|e| &e.draws);
        assert!(draws.copied().all(|u| (0.0..1.0).contains(&u)));
    }
    assert!(idle.is_empty(), "too little is decided, add a variant: {idle:?}");
}

/// The events alone make the reference answer as it did: nothing that a decision depends on is left out.
#[test]
fn the_reference_passes_its_own_vectors() {
    for vector in generate::all() {
        let mut input = serde_json::to_string(&vector.header).unwrap() + "\n";
        for event in &vector.events {
            let question = vector::Event { expect: None, ..event.clone() };
            input += &(serde_json::to_string(&question).unwrap() + "\n");
        }
        let mut output = Vec::new();
        answer(input.as_bytes(), &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        let mut lines = output.lines();
        assert_eq!(lines.next(), Some("{\"ready\":true}"));
        for event in &vector.events {
            let mut came: vector::Answer = serde_json::from_str(lines.next().unwrap()).unwrap();
            assert_eq!(came.used.take(), Some(event.draws.len() as u32));
            assert_eq!(Some(&came), event.expect.as_ref(), "{}, event {}", vector.header.vector, event.event);
        }
    }
}

#[test]
fn a_broken_vector_is_refused_with_its_line_and_the_reason() {
    let vector = &generate::of(&CATALOG[0])[0];
    let text = vector.text();
    let lines: Vec<&str> = text.lines().collect();
    let refused = |text: &str| Vector::read_all(text).unwrap_err().to_string();
    let with = |number: usize, line: &str| {
        let mut all = lines.clone();
        all[number - 1] = line;
        refused(&all.join("\n"))
    };
    for (number, from, to, says) in [
        (1, "\"conformance\":1", "\"conformance\":2", "line 1: conformance = 2"),
        (1, "\"algorithm\":\"drop-tail\"", "\"algorithm\":\"red\"", "begins with its algorithm"),
        (1, "\"seed\"", "\"sede\"", "unknown field `sede`"),
        (3, "\"event\":2", "\"event\":7", "line 3: event 7 comes where event 2 is due"),
        (3, "\"enqueue\"", "\"enqeue\"", "unknown variant `enqeue`"),
        (3, "\"packet\"", "\"paket\"", "unknown field `paket`"),
        (3, "\"verdict\":\"queued\"", "\"marked\":true", "\"verdict\" belongs to"),
        (3, "}}", "}", "line 3: is not JSON"),
    ] {
        let line = lines[number - 1];
        assert!(line.contains(from), "{line}");
        let why = with(number, &line.replace(from, to));
        assert!(why.contains(says), "{to}: {why}");
    }
    assert!(with(lines.len(), "").contains("and its header says"));
    assert!(with(1, "").contains("line 2: an event before any header"));
    assert_eq!(refused(""), "line 1: no vector");
}
