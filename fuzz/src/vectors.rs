//! The fuzz target of conformance vectors: any text as a file of vectors, and as what an adaptor is told.

use quell_conformance::{Vector, answer};

/// Reads any bytes as vectors: the error names a line of the text and a rule, and what is read is the same when it is
/// written and read again, and answers to it are lines.
pub fn vectors(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let all = match Vector::read_all(text) {
        Ok(all) => all,
        Err(e) => {
            assert!((1..=text.lines().count().max(1) + 1).contains(&e.line) && !e.why.is_empty(), "{e}");
            return;
        }
    };
    assert!(!all.is_empty());
    let written: String = all.iter().map(Vector::text).collect();
    assert_eq!(Vector::read_all(&written).as_ref(), Ok(&all));
    let windows = format!("\u{feff}{}", written.replace('\n', "\r\n"));
    assert_eq!(Vector::read_all(&windows).as_ref(), Ok(&all));
    for vector in all {
        // Updates of all the time between are run.
        if vector.events.last().is_some_and(|last| last.t > 10_000_000_000) {
            continue;
        }
        let mut answers = Vec::new();
        match answer(vector.text().as_bytes(), &mut answers) {
            Ok(()) => assert_eq!(answers.iter().filter(|b| **b == b'\n').count(), 1 + vector.events.len()),
            Err(e) => assert!(!e.to_string().is_empty()),
        }
    }
}
