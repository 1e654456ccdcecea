//! Tables in CSV, whose errors name the line and the column.

use std::path::Path;

use quell_files::Limit;

use crate::error::PaperError;

/// A row of a table.
#[derive(Debug)]
pub(crate) struct Row<'f> {
    file: &'f Path,
    columns: &'static [&'static str],
    line: usize,
    /// The fields in the order of the columns.
    values: Vec<String>,
}

impl Row<'_> {
    /// Its line, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Its value in a column.
    pub fn get(&self, column: &str) -> &str {
        let at = self.columns.iter().position(|c| *c == column);
        at.and_then(|at| self.values.get(at)).map_or("", String::as_str)
    }

    /// The error that a value breaks a rule.
    pub fn wrong(&self, column: &str, rule: impl std::fmt::Display) -> PaperError {
        PaperError::at(self.file, self.line, format!("{column} = \"{}\": {rule}", self.get(column)))
    }

    /// A value as a finite number.
    pub fn number(&self, column: &str) -> Result<f64, PaperError> {
        let number = self.get(column).parse().ok().filter(|x: &f64| x.is_finite());
        number.ok_or_else(|| self.wrong(column, "must be a number, such as 12.5"))
    }
}

/// Reads a table, whose header names these columns in any order.
///
/// # Errors
/// If it cannot be read, or a column is missing, unknown or named twice, or a row has too few values or too many.
pub(crate) fn rows<'f>(file: &'f Path, columns: &'static [&'static str]) -> Result<Vec<Row<'f>>, PaperError> {
    rows_with(file, columns, &[])
}

/// As [`rows`], of a table that may lack some of the columns, whose values are then empty.
pub(crate) fn rows_with<'f>(
    file: &'f Path,
    columns: &'static [&'static str],
    optional: &[&str],
) -> Result<Vec<Row<'f>>, PaperError> {
    let fail = |e: ::csv::Error| match e.kind() {
        ::csv::ErrorKind::Io(e) => PaperError::of(file, format!("cannot be read: {e}")),
        ::csv::ErrorKind::Utf8 { pos, .. } => {
            let line = pos.as_ref().map_or(1, |p| p.line() as usize);
            PaperError::at(file, line, "is not UTF-8 text")
        }
        _ => PaperError::of(file, e.to_string()),
    };
    let text = quell_files::read(file, Limit::of_text("a table")).map_err(|e| fail(e.into()))?;
    let mut reader = ::csv::ReaderBuilder::new();
    let mut reader = reader.trim(::csv::Trim::All).flexible(true).from_reader(text.as_slice());
    let header = reader.headers().map_err(fail)?.clone();
    let wrong = |rule: String| Err(PaperError::at(file, 1, rule));
    for (i, name) in header.iter().enumerate() {
        if !columns.contains(&name) {
            let (rule, nearest) = quell_scenario::unknown("column", name, columns);
            let known = format!("the columns are {}", columns.join(", "));
            let rule = quell_scenario::suggest(&rule, nearest.as_deref(), Some(&known));
            return wrong(format!("\"{name}\": {rule}"));
        }
        if header.iter().take(i).any(|other| other == name) {
            return wrong(format!("column \"{name}\": is named twice"));
        }
    }
    let needed = columns.iter().filter(|name| !optional.contains(name));
    if let Some(lost) = needed.into_iter().find(|name| !header.iter().any(|other| other == **name)) {
        return wrong(format!("column \"{lost}\": is missing; the columns are {}", columns.join(", ")));
    }
    let mut all = Vec::new();
    for record in reader.records() {
        let record = record.map_err(fail)?;
        let line = record.position().map_or(0, |p| p.line() as usize);
        if record.len() != header.len() {
            let rule = format!(
                "has {}, and the header names {}; a value with a comma stands in double quotes",
                quell_units::text::plural(record.len(), "value"),
                quell_units::text::plural(header.len(), "column")
            );
            return Err(PaperError::at(file, line, rule));
        }
        let value = |column: &&str| {
            let at = header.iter().position(|other| other == *column);
            at.map_or(String::new(), |at| record[at].to_string())
        };
        all.push(Row { file, columns, line, values: columns.iter().map(value).collect() });
    }
    Ok(all)
}
