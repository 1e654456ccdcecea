//! Tables of measurements, which are part of the program.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

/// A line of a table, by column.
pub type CsvLine = BTreeMap<String, String>;

const WHOLE: &str = "the data is part of the program";

/// The lines of a table.
pub fn lines(text: &str) -> Vec<CsvLine> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().collect::<Result<_, _>>().expect(WHOLE)
}

/// The lines of a table, together where they have the same setting, in the order of their first.
pub fn groups<S: DeserializeOwned + PartialEq>(text: &str) -> Vec<(S, Vec<CsvLine>)> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().expect(WHOLE).clone();
    let mut groups: Vec<(S, Vec<CsvLine>)> = Vec::new();
    for record in reader.records() {
        let record = record.expect(WHOLE);
        let setting: S = record.deserialize(Some(&headers)).expect(WHOLE);
        let line = record.deserialize(Some(&headers)).expect(WHOLE);
        match groups.iter_mut().find(|(known, _)| *known == setting) {
            Some((_, lines)) => lines.push(line),
            None => groups.push((setting, vec![line])),
        }
    }
    groups
}

/// The numbers of the lines in a column.
pub fn values(lines: &[CsvLine], column: &str) -> Vec<f64> {
    lines.iter().filter_map(|line| line[column].parse().ok()).collect()
}
