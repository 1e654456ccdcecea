//! The commit of the source that a program was built from.
//!
//! A program says it when it begins. The libraries do not have it themselves: each commit would compile them again.

use std::sync::OnceLock;

use quell_metrics::UNKNOWN;

static COMMIT: OnceLock<String> = OnceLock::new();

/// The program was built from this commit: forty digits, as [`last_commit`] finds them. Results say so from now on; of
/// several calls the first one holds.
pub fn built_from(commit: Option<[u8; 40]>) {
    if let Some(text) = commit.as_ref().and_then(|digits| std::str::from_utf8(digits).ok()) {
        let _ = COMMIT.set(text.to_string());
    }
}

/// The commit that the program was built from; "unknown" if nobody has said.
pub fn commit() -> &'static str {
    COMMIT.get().map_or(UNKNOWN, String::as_str)
}

/// The commit that was checked out last, by git's log of that (`logs/HEAD`): the second word of its last line. `None` if
/// it is not forty digits.
pub const fn last_commit(log: &[u8]) -> Option<[u8; 40]> {
    let mut at = log.len().saturating_sub(1);
    while at > 0 && log[at - 1] != b'\n' {
        at -= 1;
    }
    while at < log.len() && log[at] != b' ' {
        at += 1;
    }
    if at + 41 >= log.len() || log[at + 41] != b' ' {
        return None;
    }
    let mut commit = [0; 40];
    let mut i = 0;
    while i < 40 {
        commit[i] = log[at + 1 + i];
        if !commit[i].is_ascii_hexdigit() {
            return None;
        }
        i += 1;
    }
    Some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_the_log_has_the_commit() {
        let [a, b] = ["a1".repeat(20), "b2".repeat(20)];
        let zero = "0".repeat(40);
        let line = |from: &str, to: &str| format!("{from} {to} A. Writer <a@b> 1 +0000\tcommit: Words\n");
        let found = |log: &str| last_commit(log.as_bytes()).map(|c| String::from_utf8(c.to_vec()).unwrap());
        let log = line(&zero, &a) + &line(&a, &b);
        assert_eq!(found(&log), Some(b.clone()));
        assert_eq!(found(log.trim_end()), Some(b));
        assert_eq!(found(&line(&zero, &a)), Some(a.clone()));
        for wrong in ["", "\n", "x", &zero, &format!("{zero} {a}"), &format!("{zero} {} W", "g".repeat(40))] {
            assert_eq!(found(wrong), None, "{wrong}");
        }
    }
}
