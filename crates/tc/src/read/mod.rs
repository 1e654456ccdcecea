//! What tc prints and what people type.

use crate::Kernel;

mod dump;
mod json;
mod networkd;
mod text;
mod uci;

pub(crate) use dump::structure;
pub use dump::{Added, Bucket, Class, Counters, Dump, Problem, Queue, header};

/// Reads lines of tc, what `tc qdisc show` and `tc class show` print (with `-s`, `-d`, `-j`), the file of sqm-scripts
/// (UCI, lines of `uci set` too) or a `.network` file of systemd-networkd. What a line leaves out is the kernel's.
pub fn read(text: &str, kernel: Kernel) -> Dump {
    let mut dump = Dump::default();
    // A mark of the order of bytes does not belong to the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let begin = text.trim_start_matches([' ', '\t', '\r', '\n']);
    let first = |is: fn(&str) -> bool| {
        text.lines()
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with(['#', ';']))
            .is_some_and(is)
    };
    if let Some(at) = text.find(['\0', '\u{fffd}']) {
        let line = text[..at].matches('\n').count() + 1;
        dump.problem(
            line,
            &text[at..].chars().take(1).collect::<String>(),
            "no character of a text; left out",
            false,
        );
    }
    if first(|line| {
        line.starts_with('[')
            && !line.starts_with("[{")
            && line.len() > 1
            && line.ends_with(']')
            && line[1..].starts_with(|c: char| c.is_ascii_alphabetic())
    }) {
        networkd::read(&mut dump, text, kernel);
    } else if begin.starts_with(['[', '{']) {
        json::read(&mut dump, text, kernel);
    } else if first(|line| {
        ["config ", "package ", "sqm.", "uci "].iter().any(|begin| line.starts_with(begin))
    }) {
        uci::read(&mut dump, text, kernel);
    } else {
        text::read(&mut dump, text, kernel);
    }
    if dump.queues.is_empty() && dump.classes.is_empty() && dump.problems.is_empty() {
        let says = "no queue is in it; give a line of tc's that adds one, or what tc qdisc show prints";
        dump.problem(1, "", says, true);
    }
    dump
}

/// Says whether a text ends inside of a line that tc prints: tc ends each with a new line, so what is there may be half of
/// a number.
pub fn is_cut(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_shown = |line: &str| line.starts_with("qdisc ") || line.starts_with("class ");
    let last = text.lines().rfind(|line| !line.trim().is_empty() && !line.starts_with([' ', '\t']));
    !text.ends_with(['\n', '\r']) && last.is_some_and(is_shown)
}
