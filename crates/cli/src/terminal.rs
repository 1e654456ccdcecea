//! Talking to the user: results on stdout, everything else on stderr. Nothing here panics if nobody
//! listens. What a terminal would obey is shown: text comes from files, too, and from other programs.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use console::{Term, measure_text_width, style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use quell_lab::Progress;
use quell_units::text::{cut, visible};

use crate::failure::Failure;

/// The width below which tables are unreadable in any layout.
const MIN_WIDTH: usize = 30;

/// The width of text in a pipe of which nothing is known.
const PIPE_WIDTH: usize = 100;

/// The width that tables may take: that of the terminal, elsewhere what COLUMNS asks for; none without
/// either: then no figures are cut off others.
pub fn width() -> Option<usize> {
    let term = Term::stdout();
    let terminal = || Some(usize::from(term.size_checked()?.1));
    let columns = if term.is_term() { terminal() } else { asked(std::env::var("COLUMNS").ok().as_deref()) };
    columns.map(|columns| columns.max(MIN_WIDTH))
}

/// The width that text may take: it wraps in a pipe too.
pub fn text_width() -> usize {
    width().unwrap_or(PIPE_WIDTH)
}

/// The width that COLUMNS asks for. `None`: it is not a positive number.
fn asked(columns: Option<&str>) -> Option<usize> {
    columns?.trim().parse().ok().filter(|n| *n > 0)
}

/// True if stdout is to be colored: it is a terminal and the user has not said otherwise.
pub fn colors() -> bool {
    io::stdout().is_terminal() && console::colors_enabled()
}

/// Breaks lines of prose between words where the terminal ends; what follows of a line is indented.
pub fn prose(text: &str) -> String {
    prose_within(text, width())
}

fn prose_within(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_string() };
    let mut all = String::new();
    for line in text.lines() {
        let mut used = 0;
        for (i, word) in line.split(' ').enumerate() {
            let more = measure_text_width(word);
            if i > 0 && used + 1 + more > width {
                all.push_str("\n  ");
                used = 2;
            } else if i > 0 {
                all.push(' ');
                used += 1;
            }
            all.push_str(word);
            used += more;
        }
        all.push('\n');
    }
    all
}

/// A text to be shown, with none but the colors that this program itself may have put there.
fn shown(text: &str, colors: bool) -> Cow<'_, str> {
    if !colors || !text.contains('\u{1b}') {
        return visible(text);
    }
    let mut parts = text.split('\u{1b}');
    let mut all = visible(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        all.push_str(if is_color(part) { "\u{1b}" } else { "\\u{1b}" });
        all.push_str(&visible(part));
    }
    Cow::Owned(all)
}

/// What this program itself writes between "ESC[" and "m": no color, bold letters, and the colors of its tables, words and
/// help (ECMA-48, section 8.3.117).
const COLORS: &[&str] = &["0", "1", "31", "32", "33", "34", "35", "36", "38;5;9", "38;5;10", "38;5;14", "39"];

/// True for what follows ESC where this program's colors begin or end.
fn is_color(text: &str) -> bool {
    let code = text.strip_prefix('[').and_then(|rest| rest.split_once('m')).map(|(code, _)| code);
    code.is_some_and(|code| COLORS.contains(&code))
}

/// Writes a command's result to stdout. A closed pipe is not an error: its reader wanted no more.
pub fn print(text: &str) -> Result<(), Failure> {
    write(&shown(text, colors()))
}

/// The same for what programs read, such as CSV: exact, but on a terminal.
pub fn print_data(text: &str) -> Result<(), Failure> {
    // The ends of lines of CSV (RFC 4180) are not a terminal's business.
    if io::stdout().is_terminal() { print(&text.replace("\r\n", "\n")) } else { write(text) }
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|e| Failure::cannot("write to standard output", e)),
    }
}

/// A size with three digits.
pub fn size(bytes: u64) -> String {
    let x = bytes as f64;
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{} kB", quell_units::text::three_digits(x / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", quell_units::text::three_digits(x / 1e6)),
        _ => format!("{} GB", quell_units::text::three_digits(x / 1e9)),
    }
}

/// One line on stderr.
pub fn say(line: &str) {
    // If stderr is closed, there is nothing left to do.
    let _ = writeln!(io::stderr(), "{}", shown(line, console::colors_enabled_stderr()));
}

/// A message on stderr that begins with a word for its kind.
pub fn complain(kind: &str, message: &str) {
    let word = style(format!("{kind}:")).for_stderr().red().bold();
    say(&format!("{word} {}", visible(&without_endless_paths(message))));
}

/// Paths are said whole, but for those that no file can have.
fn without_endless_paths(message: &str) -> String {
    // Linux's PATH_MAX; other systems have less, or hardly more.
    const LONGEST: usize = 4096;
    let words = message.split(' ').map(|word| {
        let path = word.trim_end_matches(':');
        match path.len() > LONGEST {
            true => format!("{}{}", cut(path), &word[path.len()..]),
            false => word.to_string(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A remark on stderr.
pub fn note(message: &str) {
    let word = style("note:").for_stderr().yellow().bold();
    say(&format!("{word} {}", visible(message)));
}

/// Shows progress on stderr: a bar on a terminal, a line now and then elsewhere.
pub struct Meter {
    bar: Option<ProgressBar>,
    last_line: Mutex<Option<Instant>>,
    quiet: bool,
}

/// The time after which the progress of what is mostly short is shown.
#[cfg(feature = "theory")]
const SOON: Duration = Duration::from_secs(2);
/// The time between lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(15);
/// The steps of the bar.
const STEPS: u64 = 1000;

impl Meter {
    /// A meter; a quiet one shows nothing.
    pub fn new(quiet: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
            // The template is a constant that indicatif accepts; its default would do too.
            if let Ok(style) = ProgressStyle::with_template("{wide_bar:.cyan/dim} {percent:>3}%  {msg}") {
                bar.set_style(style.progress_chars("━╸─"));
            }
            bar
        });
        Meter { bar, last_line: Mutex::new(None), quiet }
    }

    /// Shows how far a run is.
    pub fn show(&self, progress: &Progress) {
        let runs = format!("{}/{} runs", progress.finished, progress.total);
        let left = progress.left.map_or("…".to_string(), |left| format!("{} left", span(left)));
        let text = format!("{runs}  {left}");
        match progress.finished < progress.total {
            true => self.advance(progress.done, progress.elapsed, &text),
            // A line about what is over would come too late.
            false => _ = self.draw(progress.done, &text),
        }
    }

    /// Shows the share that is done since a time, and how long the rest takes; nothing of what takes less than [`SOON`].
    #[cfg(feature = "theory")]
    pub fn advance_since(&self, begun: Instant, done: f64) {
        let elapsed = begun.elapsed();
        if elapsed >= SOON {
            let left = elapsed.mul_f64((1.0 - done) / done.max(1e-9));
            self.advance(done, elapsed, &format!("{} left", span(left)));
        }
    }

    /// Shows the share that is done after some time, and a text.
    pub fn advance(&self, done: f64, elapsed: Duration, text: &str) {
        if self.draw(done, text) || self.quiet {
            return;
        }
        // No other thread can have panicked with the lock: nothing under it does.
        let Ok(mut last) = self.last_line.lock() else { return };
        let since = last.map_or(elapsed, |at| at.elapsed());
        if since >= LINE_EVERY {
            *last = Some(Instant::now());
            say(&format!("{:3.0}%  {text}", done * 100.0));
        }
    }

    /// Moves the bar, if there is one.
    fn draw(&self, done: f64, text: &str) -> bool {
        if let Some(bar) = &self.bar {
            bar.set_message(visible(text).into_owned());
            bar.set_position((done * STEPS as f64) as u64);
        }
        self.bar.is_some()
    }

    /// Says something beside the bar, quiet or not.
    pub fn note(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(line)),
            None => say(line),
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A length of time as one says it: "8 s", "2 min 05 s", "1 h 20 min".
pub fn span(d: Duration) -> String {
    let s = d.as_secs_f64().ceil() as u64;
    match s {
        0..=59 => format!("{s} s"),
        60..=3599 => format!("{} min {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} min", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_breaks_between_words_on_a_terminal_only() {
        let text = "pi: it bears much of further delay\n\nend\n";
        assert_eq!(prose_within(text, None), text);
        assert_eq!(prose_within(text, Some(14)), "pi: it bears\n  much of\n  further\n  delay\n\nend\n");
    }

    #[test]
    fn colors_pass_where_they_are_shown_and_nothing_else_does() {
        let text = "\u{1b}[1mhead\u{1b}[0m \u{1b}[38;5;10mgood\u{1b}[39m";
        assert_eq!(shown(text, true), text);
        assert_eq!(shown("\u{1b}[31ma", false), "\\u{1b}[31ma");
        for wrong in [
            "[2J",
            "[8m",
            "]0;title\u{7}",
            "c",
            "[31",
            "",
            "[?1049h",
            "[3\u{1b}[31m",
            "[0;8m",
            "[30m",
            "[38;5;0m",
        ] {
            let said = shown(&format!("a\u{1b}{wrong}"), true).into_owned();
            assert!(said.starts_with("a\\u{1b}"), "{said:?}");
        }
    }

    #[test]
    fn columns_ask_for_a_width() {
        assert_eq!(
            [Some("72"), Some(" 80\n"), Some("0"), Some("wide"), None].map(asked),
            [Some(72), Some(80), None, None, None]
        );
    }

    #[test]
    fn spans_read_naturally() {
        let text = |s| span(Duration::from_secs_f64(s));
        assert_eq!(text(0.0), "0 s");
        assert_eq!(text(0.2), "1 s");
        assert_eq!(text(59.2), "1 min 00 s");
        assert_eq!(text(125.0), "2 min 05 s");
        assert_eq!(text(4800.0), "1 h 20 min");
    }
}
