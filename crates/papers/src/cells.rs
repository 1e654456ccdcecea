//! The printed numbers: `papers/cells.csv` and `papers/ns2.csv`.

use std::collections::HashMap;
use std::path::Path;

use crate::csv::rows;
use crate::error::PaperError;

/// A printed number, or the ends of a printed range.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// `document/table/case/algorithm/metric`, of which each part is in lower case, and what is neither letter nor
    /// digit a hyphen.
    pub id: String,
    /// The document's key, such as `vrc`.
    pub document: String,
    /// The table as the document numbers it.
    pub table: String,
    /// The page, section or line on which the table is; may be empty.
    pub page: String,
    /// The experiment or the window within it.
    pub case: String,
    /// The algorithm as the table names it.
    pub algorithm: String,
    /// The metric.
    pub metric: String,
    /// The unit of the number.
    pub unit: String,
    /// The number, or the lower end of the range.
    pub low: Printed,
    /// The number, or the upper end of the range.
    pub high: Printed,
    /// A note that is printed beside it; may be empty.
    pub note: String,
}

/// A number as it is printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    /// The text in the table.
    pub text: String,
    /// Its value.
    pub value: f64,
    /// Half a unit of its last digit: how far rounding may have moved it.
    pub rounding: f64,
}

impl Printed {
    /// Reads a number; `None` if it is not one.
    pub fn read(text: &str) -> Option<Printed> {
        let value = text.parse::<f64>().ok().filter(|v| v.is_finite())?;
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let decimals = mantissa.split_once('.').map_or(0, |(_, digits)| digits.len());
        let digit = exponent.parse::<i32>().ok()?.checked_sub(i32::try_from(decimals).ok()?)?;
        let rounding = Some(0.5 * 10f64.powi(digit)).filter(|rounding| rounding.is_finite())?;
        Some(Printed { text: text.to_string(), value, rounding })
    }
}

impl Cell {
    /// The number, or `low-high`.
    pub fn printed(&self) -> String {
        match self.low == self.high {
            true => self.low.text.clone(),
            false => format!("{} to {}", self.low.text, self.high.text),
        }
    }

    /// A part of the id: 0 document, 1 table, 2 case, 3 algorithm, 4 metric.
    pub fn part(&self, i: usize) -> &str {
        self.id.split('/').nth(i).unwrap_or("")
    }

    /// The middle of a range; of a number, the number.
    pub fn middle(&self) -> f64 {
        0.5 * (self.low.value + self.high.value)
    }

    /// The case without the window in which it is measured, such as "100-200 s, ": what is left says which network
    /// it is.
    pub(crate) fn network(&self) -> &str {
        let Some((window, rest)) = self.case.split_once(" s, ") else { return &self.case };
        let is_window = window.split_once('-').is_some_and(|(from, to)| {
            [from, to]
                .iter()
                .all(|end| !end.is_empty() && end.chars().all(|c| c.is_ascii_digit() || c == '.'))
        });
        if is_window { rest } else { &self.case }
    }

    /// Says whether another one has the same network: the same quantity of the same algorithm in the same table, in
    /// another window.
    pub(crate) fn is_same_network(&self, other: &Cell) -> bool {
        let of = |c: &Cell| [1, 3, 4].map(|i| c.part(i).to_string());
        self.document == other.document && of(self) == of(other) && self.network() == other.network()
    }
}

/// A part of an id: lower case, a hyphen for each run of what is neither a letter nor a digit; underscores and
/// points between digits stay.
pub fn slug(text: &str) -> String {
    let chars: Vec<char> = text.to_lowercase().chars().collect();
    let digit = |i: Option<usize>| i.and_then(|i| chars.get(i)).is_some_and(char::is_ascii_digit);
    let mut slug = String::new();
    for (i, c) in chars.iter().enumerate() {
        let stays = c.is_ascii_alphanumeric()
            || *c == '_'
            || (*c == '.' && digit(i.checked_sub(1)) && digit(Some(i + 1)));
        match stays {
            true => slug.push(*c),
            false if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            false => {}
        }
    }
    slug.trim_end_matches('-').to_string()
}

/// Says whether an id matches a pattern, in which `*` stands for any part or piece of a part.
pub fn matches(pattern: &str, id: &str) -> bool {
    let (parts, ids): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), id.split('/').collect());
    let part = |pattern: &str, part: &str| {
        let pieces: Vec<&str> = pattern.split('*').collect();
        let [first, middle @ .., last] = &pieces[..] else { return pattern == part };
        let Some(mut rest) = part.strip_prefix(first) else { return false };
        for piece in middle {
            match rest.find(piece) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    };
    // A pattern that is shorter is a prefix.
    parts.len() <= ids.len() && parts.iter().zip(&ids).all(|(pattern, id)| part(pattern, id))
}

const COLUMNS: &[&str] =
    &["id", "document", "table", "page", "case", "algorithm", "metric", "unit", "low", "high", "note"];

/// Reads `papers/cells.csv`; `documents` are the keys of the documents that there are.
///
/// # Errors
/// If it cannot be read, a number is none, a unit or a document is not known, or an id is not that of its row or not
/// unique.
pub fn read_cells(file: &Path, documents: &[String]) -> Result<Vec<Cell>, PaperError> {
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    let units = crate::units::names();
    let mut cells: Vec<Cell> = Vec::new();
    let mut lines: HashMap<String, usize> = HashMap::new();
    for row in rows(file, COLUMNS)? {
        let number = |column: &str| {
            let number = Printed::read(row.get(column));
            number.ok_or_else(|| row.wrong(column, "must be a number as it is printed, such as 12.5"))
        };
        let one_of = |column: &str, names: &[&str]| {
            if names.contains(&row.get(column)) {
                return Ok(());
            }
            let (rule, nearest) = quell_scenario::unknown(column, row.get(column), names);
            let known = format!("there are {}", names.join(", "));
            let rule = quell_scenario::suggest(&rule, nearest.as_deref(), Some(&known));
            Err(row.wrong(column, rule))
        };
        one_of("document", &documents)?;
        one_of("unit", &units)?;
        let (low, high) = (number("low")?, number("high")?);
        if low.value > high.value {
            return Err(row.wrong("low", format!("must be no more than high = {}", high.text)));
        }
        let parts = ["document", "table", "case", "algorithm", "metric"];
        if let Some(part) = parts.into_iter().find(|part| slug(row.get(part)).is_empty()) {
            return Err(row.wrong(part, "must have a letter or a digit: it is a part of the id"));
        }
        let id = parts.map(|part| slug(row.get(part))).join("/");
        if row.get("id") != id {
            return Err(row.wrong("id", format!("must be \"{id}\", after the row's other columns")));
        }
        if let Some(first) = lines.insert(id.clone(), row.line()) {
            return Err(row.wrong("id", format!("is that of line {first} as well")));
        }
        let text = |column: &str| row.get(column).to_string();
        cells.push(Cell {
            id,
            document: text("document"),
            table: text("table"),
            page: text("page"),
            case: text("case"),
            algorithm: text("algorithm"),
            metric: text("metric"),
            unit: text("unit"),
            low,
            high,
            note: text("note"),
        });
    }
    Ok(cells)
}

/// The value that ns-2 gives for a cell, in the cell's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Ns2 {
    /// The id of the cell.
    pub cell: String,
    /// The mean of the runs.
    pub mean: f64,
    /// Their standard deviation; none of a single run.
    pub std: Option<f64>,
    /// The number of runs.
    pub runs: usize,
    /// The version of ns-2.
    pub version: String,
    /// The reading of the experiment that ns-2 ran, in square brackets before the settings; `None`: it is not named, and
    /// the row refutes nothing.
    pub reading: Option<String>,
    /// The settings that differ from the version's own.
    pub setting: String,
    /// The line of the file.
    pub line: usize,
}

/// Reads `papers/ns2.csv`; a file that is not there has no rows. A cell may have a row for each reading.
///
/// # Errors
/// If it cannot be read, a number is none, or a row names no cell, or one that another row of the reading names.
pub fn read_ns2(file: &Path, cells: &[Cell]) -> Result<HashMap<String, Vec<Ns2>>, PaperError> {
    let mut found: HashMap<String, Vec<Ns2>> = HashMap::new();
    if !file.exists() {
        return Ok(found);
    }
    for row in rows(file, &["cell", "mean", "std", "runs", "version", "setting"])? {
        let cell = row.get("cell").to_string();
        if !cells.iter().any(|known| known.id == cell) {
            return Err(row.wrong("cell", "no cell has this id"));
        }
        let (reading, setting) = bracketed(row.get("setting"));
        let own = found.entry(cell.clone()).or_default();
        if let Some(first) = own.iter().find(|other| other.reading == reading) {
            let rule =
                format!("is that of line {} as well; name the reading of each in \"setting\"", first.line);
            return Err(row.wrong("cell", rule));
        }
        let std = match row.get("std") {
            "" => None,
            _ => Some(row.number("std")?),
        };
        if std.is_some_and(|std| std < 0.0) {
            return Err(row.wrong("std", "must be at least 0; leave it empty for a single run"));
        }
        let runs = row.get("runs").parse().ok().filter(|n| *n >= 1);
        let runs = runs.ok_or_else(|| row.wrong("runs", "must be a whole number of at least 1"))?;
        let (mean, version, line) = (row.number("mean")?, row.get("version").to_string(), row.line());
        own.push(Ns2 { cell, mean, std, runs, version, reading, setting, line });
    }
    Ok(found)
}

/// `[NAME] rest` apart.
fn bracketed(text: &str) -> (Option<String>, String) {
    match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, rest)) => (Some(name.trim().to_string()), rest.trim().to_string()),
        None => (None, text.to_string()),
    }
}

#[cfg(test)]
impl Cell {
    /// A printed range, of nothing in particular.
    pub(crate) fn of_range(low: Printed, high: Printed) -> Self {
        let none = String::new;
        Cell {
            id: none(),
            document: none(),
            table: none(),
            page: none(),
            case: none(),
            algorithm: none(),
            metric: none(),
            unit: none(),
            low,
            high,
            note: none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use quell_lab::Width;

    use super::*;
    use crate::band::{Band, NearlyFull};

    #[test]
    fn ids_are_readable() {
        for (text, id) in [
            ("rtt 100..900 ms", "rtt-100-900-ms"),
            ("400-500 s, d U(630,900) ms", "400-500-s-d-u-630-900-ms"),
            ("UDP density 0.1..0.9", "udp-density-0.1-0.9"),
            ("sec. 5.4.2", "sec-5.4.2"),
            ("ared_20_60", "ared_20_60"),
            ("100 FTP + 20 HTTP", "100-ftp-20-http"),
        ] {
            assert_eq!(slug(text), id);
        }
    }

    #[test]
    fn numbers_have_a_last_digit() {
        for (text, rounding) in [
            ("12.5", Some(0.05)),
            ("1.5e3", Some(50.0)),
            ("7E-2", Some(0.005)),
            ("nan", None),
            // Zero, but without a digit that a double has.
            ("0e999", None),
            ("0.1e-2147483648", None),
        ] {
            let found = Printed::read(text).map(|number| number.rounding);
            let near = found.zip(rounding).is_some_and(|(a, b)| (a / b - 1.0).abs() < 1e-9);
            assert!(near || found == rounding, "{text}: {found:?}");
        }
    }

    #[test]
    fn patterns_match_parts_and_prefixes() {
        for (pattern, id, is) in [
            ("vrc/2", "vrc/2/b2/red/loss_rate", true),
            ("vrc/*/*/red/loss_rate", "vrc/2/b2/red/loss_rate", true),
            ("vrc/2/*/re*", "vrc/2/b2/red/loss_rate", true),
            ("vrc/2/b*2/*d", "vrc/2/b2/red/loss_rate", true),
            ("vrc/2/b2/red/loss_rate/x", "vrc/2/b2/red/loss_rate", false),
            ("vrc/22", "vrc/2/b2/red/loss_rate", false),
            ("vrc/2/*/rem", "vrc/2/b2/red/loss_rate", false),
        ] {
            assert_eq!(matches(pattern, id), is, "{pattern} {id}");
        }
    }

    /// A range is not wider for its band: the band is around its middle.
    #[test]
    fn a_range_has_its_band_around_the_middle() {
        let cell =
            |low: &str, high: &str| Cell::of_range(Printed::read(low).unwrap(), Printed::read(high).unwrap());
        let band: Band = "10%".parse().unwrap();
        for (low, high, value, is) in [
            ("80", "120", 120.4, true),
            ("80", "120", 121.0, false),
            ("80", "120", 79.4, false),
            ("99", "101", 109.9, true),
            ("99", "101", 90.1, true),
            ("99", "101", 110.2, false),
            ("100", "100", 109.9, true),
            ("100", "100", 110.1, false),
        ] {
            assert_eq!(cell(low, high).is_near(value, band), is, "{low} {high} {value}");
        }
        assert!(cell("97.0", "98.0").is_near(98.4, "1".parse().unwrap()));
        assert!(!cell("97.0", "99.0").is_near(99.4, "1".parse().unwrap()));
        assert!(cell("4", "4").is_near(4.4, "0.1".parse().unwrap()), "rounding");
    }

    /// Where it is stricter, the idle share must be near; "100" is then as exact as the numbers beside it.
    #[test]
    fn utilization_of_a_nearly_full_link_is_judged_by_the_idle_share() {
        let idle = NearlyFull { share: 0.2, floor: 0.02, full: 100.0 };
        let band = Band { width: Width::Absolute(1.0), idle: Some(idle) };
        let cell =
            |low: &str, high: &str| Cell::of_range(Printed::read(low).unwrap(), Printed::read(high).unwrap());
        for (low, high, value, is) in [
            ("99.0", "99.0", 99.19, true),
            ("99.0", "99.0", 98.79, false),
            ("99.91", "99.91", 99.89, true),
            ("99.91", "99.91", 99.78, false),
            ("100", "100", 99.985, true),
            ("100", "100", 99.9, false),
            ("99.9", "100", 99.885, true),
            ("99.9", "100", 99.87, false),
            ("97.5", "97.5", 97.98, true),
            ("97.5", "97.5", 98.4, false),
            ("94.0", "94.0", 94.98, true),
            ("94.0", "94.0", 95.1, false),
        ] {
            assert_eq!(cell(low, high).is_near(value, band), is, "{low} {high} {value}");
        }
        // No number has a much narrower band than the one beside it.
        let width = |percent: f64| {
            let text = format!("{percent:.2}");
            let (low, high) = cell(&text, &text).limits(band);
            high - low
        };
        let widths: Vec<f64> = (9000..=10000).map(|x| width(f64::from(x) / 100.0)).collect();
        assert!(widths.windows(2).all(|w| (w[0] - w[1]).abs() < 0.03), "{widths:?}");
    }

    #[test]
    fn windows_of_one_network_are_told_by_their_case() {
        let of = |case: &str| Cell { case: case.to_string(), ..Cell::of_range(at("1"), at("1")) };
        let first = of("100-200 s, 15 Mb/s");
        assert!(first.is_same_network(&of("500-600 s, 15 Mb/s")));
        assert!(!first.is_same_network(&of("300-400 s, 5 Mb/s")));
        assert!(!of("B2, random").is_same_network(&of("B3, random")));
        let (red, pi) = ("d/1/x/red/loss_rate".to_string(), "d/1/x/pi/loss_rate".to_string());
        assert!(!Cell { id: red, ..first.clone() }.is_same_network(&Cell { id: pi, ..first.clone() }));
    }

    fn at(text: &str) -> Printed {
        Printed::read(text).unwrap()
    }

    #[test]
    fn rounding_is_half_of_the_last_digit() {
        let rounding = |text: &str| Printed::read(text).unwrap().rounding;
        assert!((rounding("98.81") - 0.005).abs() < 1e-15);
        assert!((rounding("4") - 0.5).abs() < 1e-15);
        assert!((rounding("1.2e3") - 50.0).abs() < 1e-9);
        assert!(Printed::read("about 3").is_none());
    }
}
