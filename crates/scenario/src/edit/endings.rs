//! Ends of lines, as a text has them: what edits it knows "\n" alone.

/// The mark with which some editors begin a file.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// A text whose lines all end with "\n".
pub(super) fn plain(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// The edited text, each line with the end that it had in the text before the edit; a new line ends as the one above it.
pub(super) fn restored(before: &str, edited: String) -> String {
    if !before.contains('\r') && before.ends_with('\n') {
        return edited;
    }
    let old: Vec<(&str, &str)> = before.split_inclusive('\n').map(split).collect();
    let new: Vec<&str> = edited.split_inclusive('\n').map(|line| split(line).0).collect();
    let usual = old.first().map_or("\n", |(_, end)| end);
    let usual = if usual.is_empty() { "\n" } else { usual };
    let is_same = |(old, new): &(&(&str, &str), &&str)| old.0 == **new;
    let above = old.iter().zip(&new).take_while(is_same).count();
    let below = old[above..].iter().rev().zip(new[above..].iter().rev()).take_while(is_same).count();
    let mut ends: Vec<&str> = old[..above].iter().map(|(_, end)| *end).collect();
    let mut between = &old[above..old.len() - below];
    for line in &new[above..new.len() - below] {
        let end = match between.iter().position(|(text, _)| text == line) {
            Some(at) => {
                let end = between[at].1;
                between = &between[at + 1..];
                end
            }
            None => ends.last().copied().unwrap_or(usual),
        };
        ends.push(end);
    }
    ends.extend(old[old.len() - below..].iter().map(|(_, end)| end));
    // A text whose last line has no end stays so.
    let last = if before.ends_with('\n') { None } else { ends.len().checked_sub(1) };
    let end = |(i, end): (usize, &str)| match end {
        _ if Some(i) == last => String::new(),
        "" => usual.to_string(),
        end => end.to_string(),
    };
    let ends = ends.into_iter().enumerate().map(end);
    new.iter().zip(ends).flat_map(|(line, end)| [line.to_string(), end]).collect()
}

/// A line and its end.
fn split(line: &str) -> (&str, &str) {
    let text = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
    line.split_at(text.len())
}
