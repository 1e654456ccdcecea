//! Files of all kinds as text in lines, and what may be wrong with it.

/// A fault of a file: the line, if it is in one, and the rule.
#[derive(Debug)]
pub(super) struct Fault(pub(super) Option<usize>, pub(super) String);

/// A file as text.
pub(super) fn text(bytes: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(bytes).map_err(|e| {
        let line = 1 + bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count();
        Fault(Some(line), "is not UTF-8 text".to_string())
    })
}

/// The lines of a table that say something, with their numbers.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.trim_start_matches('\u{feff}')
        .lines()
        .zip(1..)
        .map(|(line, number)| (number, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}
