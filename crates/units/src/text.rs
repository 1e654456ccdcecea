//! Numbers for people: as many digits as one reads, and a unit that fits.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Write as _;

/// True for a character that a terminal obeys instead of showing it, or that shows others in another order: controls
/// but the end of a line and tabs, and the overrides of the direction of text.
pub fn is_obeyed(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text that shows what a terminal would obey: `\u{1b}` for ESC.
pub fn visible(text: &str) -> Cow<'_, str> {
    with_escapes(text, is_obeyed, |c, out| _ = write!(out, "\\u{{{:x}}}", u32::from(c)))
}

/// A name in a message or a line: as [`visible`], and ends of lines and tabs, which would forge others, are shown too.
pub fn named(name: &str) -> Cow<'_, str> {
    with_escapes(
        name,
        |c| is_obeyed(c) || matches!(c, '\n' | '\t'),
        |c, out| _ = write!(out, "\\u{{{:x}}}", u32::from(c)),
    )
}

/// A text on one line, such as a title: as [`visible`], with spaces for ends of lines and tabs.
pub fn one_line(text: &str) -> String {
    visible(&text.replace(['\n', '\t'], " ")).into_owned()
}

/// [`visible`] for JSON, where such characters can stand in strings only: it says what it said.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    // All of them have four digits at most.
    with_escapes(json, is_obeyed, |c, out| _ = write!(out, "\\u{:04x}", u32::from(c)))
}

fn with_escapes(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) { escape(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// A text for a message: as [`named`], but what is long is cut, and how long it was is said.
pub fn cut(text: &str) -> String {
    named(&short(text)).into_owned()
}

/// A text that is still to be quoted: what is long is cut, and how long it was is said.
pub fn short(text: &str) -> String {
    const MOST: usize = 80;
    match text.chars().count() {
        n if n > MOST => {
            let shown: String = text.chars().take(MOST / 2).collect();
            format!("{shown}\u{2026} ({n} characters)")
        }
        _ => text.to_string(),
    }
}

/// A number of things, "1 value" or "2 values".
pub fn plural(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// A number with three digits.
pub fn three_digits(x: f64) -> String {
    match x.abs() {
        a if a >= 1e6 || (a < 1e-3 && a > 0.0) => format!("{x:.2e}"),
        a if a >= 100.0 || a == 0.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 1.0 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

/// A length of time in seconds as one says it, with three digits.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{} us", three_digits(s * 1e6)),
        s if s < 1.0 => format!("{} ms", three_digits(s * 1e3)),
        s => format!("{} s", three_digits(s)),
    }
}

/// A time in seconds without the noise of binary fractions.
pub fn seconds(t: f64) -> String {
    let text = format!("{t:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        assert_eq!(visible("a\tb\n\u{e9} \u{1f642}"), "a\tb\n\u{e9} \u{1f642}");
        assert_eq!(
            visible("\u{1b}[2J\r\u{7}\u{7f}\u{9b}2J\u{85}\u{202e}txt\u{2066}\0"),
            r"\u{1b}[2J\u{d}\u{7}\u{7f}\u{9b}2J\u{85}\u{202e}txt\u{2066}\u{0}"
        );
        assert_eq!(named("a\nerror: b\t\u{9b}"), r"a\u{a}error: b\u{9}\u{9b}");
        assert_eq!(one_line("a\nb\tc\u{1b}[2J"), r"a b c\u{1b}[2J");
        assert_eq!(visible_json("[\"\u{9b}\u{202e}\",\n\"a\"]"), "[\"\\u009b\\u202e\",\n\"a\"]");
    }

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|n| plural(n, "value")), ["0 values", "1 value", "2 values"]);
    }

    #[test]
    fn times_are_read_as_they_were_written() {
        assert_eq!(seconds(60.00000000000001), "60");
        assert_eq!(seconds(0.1 + 0.2), "0.3");
    }

    #[test]
    fn numbers_have_three_digits_and_lengths_of_time_their_unit() {
        let shown = [0.0, 0.25, 1.234, 63.71, 512.4, 12345.6, 1.5e7, 2e-4].map(three_digits);
        assert_eq!(shown, ["0", "0.250", "1.23", "63.7", "512", "12346", "1.50e7", "2.00e-4"]);
        assert_eq!([2e-5, 0.0637, 12.0].map(duration), ["20.0 us", "63.7 ms", "12.0 s"]);
    }
}
