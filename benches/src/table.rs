//! Tables that read well in a terminal and in the documentation.

use std::io::Write;
use std::path::Path;

use crate::Outcome;

/// A table with a remark on how it was measured.
pub struct Section {
    /// The name of its markers: `<!-- NAME -->` and `<!-- end NAME -->`.
    name: &'static str,
    remark: String,
    rows: Vec<Vec<String>>,
}

impl Section {
    pub fn new(name: &'static str, head: &[&str]) -> Self {
        let head = head.iter().map(|s| s.to_string()).collect();
        Section { name, remark: String::new(), rows: vec![head] }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn remark(&mut self, remark: impl Into<String>) {
        self.remark = remark.into();
    }

    /// The table in Markdown, figures to the right.
    pub fn text(&self) -> String {
        let columns = self.rows[0].len();
        let wide = |s: &str| s.chars().count();
        let width = |i: usize| self.rows.iter().map(|r| wide(&r[i])).max().unwrap_or(0).max(2);
        let number = |i: usize| {
            let figure = |s: &str| s.starts_with(|c: char| c.is_ascii_digit() || c == '–');
            self.rows[1..].iter().all(|r| figure(&r[i]))
        };
        let mut out = String::new();
        for (n, row) in self.rows.iter().enumerate() {
            for (i, cell) in row.iter().enumerate() {
                let pad = " ".repeat(width(i) - wide(cell));
                let cell = if number(i) { format!("{pad}{cell}") } else { format!("{cell}{pad}") };
                out += &format!("| {cell} ");
            }
            out += "|\n";
            if n == 0 {
                for i in 0..columns {
                    let (rule, end) = ("-".repeat(width(i) - 1), if number(i) { ":" } else { "-" });
                    out += &format!("| {rule}{end} ");
                }
                out += "|\n";
            }
        }
        if !self.remark.is_empty() {
            out += &format!("\n{}\n", self.remark);
        }
        out
    }

    /// Puts the table between its markers in a file, in one step.
    pub fn write(&self, file: &Path) -> Outcome<()> {
        let old =
            std::fs::read_to_string(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
        let (begin, end) = (format!("<!-- {} -->", self.name), format!("<!-- end {} -->", self.name));
        let new = between(&old, &begin, &end, &self.text())
            .ok_or_else(|| format!("{} has no lines \"{begin}\" and \"{end}\" after it", file.display()))?;
        replace(file, &new)
    }
}

/// Replaces a file in one step: an interruption leaves the old one or the new one.
pub fn replace(file: &Path, text: &str) -> Outcome<()> {
    let fail = |e: std::io::Error| format!("cannot write {}: {e}", file.display());
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut fresh = tempfile::NamedTempFile::new_in(folder).map_err(fail)?;
    fresh.write_all(text.as_bytes()).map_err(fail)?;
    if let Ok(old) = std::fs::metadata(file) {
        fresh.as_file().set_permissions(old.permissions()).map_err(fail)?;
    }
    fresh.persist(file).map_err(|e| fail(e.error))?;
    Ok(())
}

fn between(text: &str, begin: &str, end: &str, new: &str) -> Option<String> {
    let from = text.find(begin)? + begin.len();
    let to = from + text[from..].find(end)?;
    Some(format!("{}\n\n{new}\n{}", &text[..from], &text[to..]))
}

/// A count with its thousands apart.
pub fn count(n: u64) -> String {
    match n {
        0..1000 => n.to_string(),
        _ => format!("{} {:03}", count(n / 1000), n % 1000),
    }
}

/// Three digits, as far as they say something.
pub fn figure(x: f64) -> String {
    match x.abs() {
        a if a >= 99.95 || !a.is_finite() => format!("{x:.0}"),
        a if a >= 9.995 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

/// The load of the machine, from the system's averages.
pub fn load() -> String {
    let average = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let minute = average.split(' ').next().filter(|s| !s.is_empty()).unwrap_or("unknown");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("load {minute} on {cores} cores")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_figures() {
        assert_eq!(
            ["7", "123", "1 034", "1 234 567"].map(String::from),
            [7, 123, 1034, 1_234_567].map(count)
        );
        assert_eq!(
            ["1.23", "12.3", "123", "1235"].map(String::from),
            [1.234, 12.34, 123.4, 1234.6].map(figure)
        );
    }

    #[test]
    fn a_section_replaces_what_stands_between_its_markers() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("doc.md");
        std::fs::write(&file, "before\n<!-- x -->\nold\n<!-- end x -->\nafter\n").unwrap();
        let mut section = Section::new("x", &["case", "ns"]);
        section.row(vec!["a".into(), "59".into()]);
        section.write(&file).unwrap();
        let table = "| case | ns |\n| ---- | -: |\n| a    | 59 |\n";
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, format!("before\n<!-- x -->\n\n{table}\n<!-- end x -->\nafter\n"));
        assert!(Section::new("y", &[]).write(&file).unwrap_err().contains("<!-- y -->"));
    }
}
