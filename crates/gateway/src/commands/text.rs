//! Text for people.

use std::io::{self, Write};

use quell_units::text::{duration, one_line, three_digits, visible, visible_json};

use super::failure::Failure;

/// The format of a printed result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A readable table.
    #[default]
    Table,
    /// JSON.
    Json,
}

/// Prints to stdout, where what a terminal would obey is shown; a reader who has seen enough may close it.
pub fn print(text: &str) -> Result<(), Failure> {
    print_on(text).map(drop)
}

/// The same; false if its reader has closed it, which is not an error.
pub fn print_on(text: &str) -> Result<bool, Failure> {
    write(&visible(text))
}

/// Writes to stdout what a terminal is to obey.
pub fn write(text: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Failure::Failed(format!("cannot print: {e}"))),
        Ok(()) => Ok(true),
    }
}

/// A value as JSON.
pub fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| Failure::Failed(format!("cannot write JSON: {e}")))?;
    Ok((visible_json(&text) + "\n").into_owned())
}

/// A line within `width`: broken between words, where it has some; what follows is indented.
pub fn wrap(line: &str, width: usize) -> Vec<String> {
    let length = |text: &str| text.chars().count();
    if length(line) <= width {
        return vec![line.to_string()];
    }
    let mut lines = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let last = lines.last().map_or(0, |last| length(last));
        if last + length(word.trim_end()) > width && last > 0 {
            lines.push("    ".into());
        }
        for c in word.chars() {
            if lines.last().is_some_and(|last| length(last) >= width) && c != ' ' {
                lines.push(String::new());
            }
            if let Some(last) = lines.last_mut() {
                last.push(c);
            }
        }
    }
    lines.iter().map(|line| line.trim_end().chars().take(width).collect()).collect()
}

/// The sign for a figure that is missing.
pub const NO_FIGURE: &str = "-";

/// A share in percent.
pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| NO_FIGURE.into(), |x| format!("{}%", three_digits(x * 100.0)))
}

/// A length of time.
pub fn seconds(s: Option<f64>) -> String {
    s.map_or_else(|| NO_FIGURE.into(), duration)
}

/// A rate.
pub fn bit_rate(bps: Option<f64>) -> String {
    let Some(bps) = bps else { return NO_FIGURE.into() };
    let (factor, unit) = match bps {
        b if b >= 1e9 => (1e9, "Gbit/s"),
        b if b >= 1e6 => (1e6, "Mbit/s"),
        b if b >= 1e3 => (1e3, "kbit/s"),
        _ => (1.0, "bit/s"),
    };
    format!("{} {unit}", three_digits(bps / factor))
}

/// A number of bytes.
pub fn bytes(n: u64) -> String {
    match n as f64 {
        b if b >= 1e6 => format!("{} MB", three_digits(b / 1e6)),
        b if b >= 1e3 => format!("{} kB", three_digits(b / 1e3)),
        _ => format!("{n} B"),
    }
}

/// A long time in the two units that one says: "3 h 12 min".
pub fn long(seconds: f64) -> String {
    let s = seconds as u64;
    match (s / 86_400, s / 3600 % 24, s / 60 % 60, s % 60) {
        (0, 0, 0, s) => format!("{s} s"),
        (0, 0, min, s) => format!("{min} min {s} s"),
        (0, h, min, _) => format!("{h} h {min} min"),
        (d, h, ..) => format!("{d} d {h} h"),
    }
}

/// One line, whatever the text: for what comes from elsewhere, before the room that it takes is counted.
pub fn plain(text: &str) -> String {
    one_line(text)
}

/// Rows of cells below each other. The first row is the head; of columns with figures the cells end together.
pub fn table(rows: &[Vec<String>], figures_from: usize) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|c| width(c).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let text: Vec<String> = cells
            .map(
                |(i, (cell, width))| {
                    if i < figures_from { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        text.join("  ").trim_end().to_string()
    };
    rows.iter().map(line).collect()
}

/// The width of stdout, if it is a terminal.
pub fn terminal_width() -> Option<usize> {
    #[cfg(target_os = "linux")]
    let width = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    #[cfg(not(target_os = "linux"))]
    let width = None;
    width.filter(|width| *width > 0)
}

/// [`table`] if it fits into `width`, otherwise a block for each row: its names, then a line for each of its figures.
pub fn table_within(width: Option<usize>, rows: &[Vec<String>], figures_from: usize) -> Vec<String> {
    let lines = table(rows, figures_from);
    let fits = |width| lines.iter().all(|line| line.chars().count() <= width);
    let ([head, rows @ ..], false) = (rows, width.is_none_or(fits)) else { return lines };
    let block = |row: &Vec<String>| {
        let figures: Vec<Vec<String>> = (figures_from..row.len().min(head.len()))
            .map(|i| vec![format!("  {}", head[i]), row[i].clone()])
            .collect();
        let names = row[..figures_from.min(row.len())].join(" ");
        [vec![names], table(&figures, 2)].concat()
    };
    rows.iter().flat_map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_their_units() {
        assert_eq!([percent(Some(0.0123)), percent(None)], ["1.23%", "-"]);
        assert_eq!(
            [17.25e6, 950e3, 12.0, 2.5e9].map(|b| bit_rate(Some(b))),
            ["17.2 Mbit/s", "950 kbit/s", "12.0 bit/s", "2.50 Gbit/s"]
        );
        assert_eq!([12, 1500, 3_200_000].map(bytes), ["12 B", "1.50 kB", "3.20 MB"]);
        assert_eq!(
            [12.9, 75.0, 11_530.0, 200_000.0].map(long),
            ["12 s", "1 min 15 s", "3 h 12 min", "2 d 7 h"]
        );
        assert_eq!(plain("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb c");
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("one two", 7), ["one two"]);
        assert_eq!(wrap("one, two, three", 9), ["one, two,", "    three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        for width in 1..30 {
            let lines = wrap("  name: one 1 packet, twenty-two 22.2 s", width);
            assert!(lines.iter().all(|l| l.chars().count() <= width), "{lines:?}");
            let all = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(all(&lines.join("")), all("  name: one 1 packet, twenty-two 22.2 s"), "{width}");
        }
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [["line", "loss"], ["up", "1.2%"], ["downward", "10%"]];
        let rows: Vec<Vec<String>> = rows.iter().map(|r| r.map(String::from).to_vec()).collect();
        assert_eq!(table(&rows, 1), ["line      loss", "up        1.2%", "downward   10%"]);
        assert_eq!(table_within(Some(14), &rows, 1), table(&rows, 1));
        assert_eq!(table_within(Some(13), &rows, 1), ["up", "  loss  1.2%", "downward", "  loss  10%"]);
    }
}
