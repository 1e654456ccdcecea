//! The values of ns-2 for the quantities of claims, a row for each seed.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::csv::rows;
use crate::error::PaperError;
use crate::experiment::{CellPlace, Experiment};
use crate::results::{same, text_of};
use crate::value::Value;

/// The values that ns-2 gives for some quantities.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    file: PathBuf,
    rows: Vec<One>,
    /// The lines that some test asked for.
    asked: RefCell<HashSet<usize>>,
}

/// A value of one seed.
#[derive(Clone, Debug)]
struct One {
    line: usize,
    quantity: String,
    algorithm: String,
    at: Vec<(String, String)>,
    segment: Option<u32>,
    link: String,
    run: String,
    seed: u64,
    value: f64,
}

const COLUMNS: &[&str] = &["quantity", "algorithm", "at", "segment", "link", "run", "seed", "value"];

impl Evidence {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or a value is none.
    pub(crate) fn read(file: &Path) -> Result<Evidence, PaperError> {
        let mut all = Vec::new();
        for row in rows(file, COLUMNS)? {
            let place = |setting: &str| {
                let pair = setting.split_once('=').map(|(f, v)| (f.trim().to_string(), v.trim().to_string()));
                pair.ok_or_else(|| row.wrong("at", "must be FIELD=VALUE, with a comma between several"))
            };
            let at = row.get("at").split(", ").filter(|setting| !setting.is_empty());
            let whole = |column: &str| {
                let number = row.get(column).parse::<u64>();
                number.map_err(|_| row.wrong(column, "must be a whole number of at least 0"))
            };
            let segment = match row.get("segment") {
                "" => None,
                _ => Some(u32::try_from(whole("segment")?).unwrap_or(u32::MAX)),
            };
            let text = |column: &str| row.get(column).to_string();
            all.push(One {
                line: row.line(),
                quantity: text("quantity"),
                algorithm: text("algorithm"),
                at: at.map(place).collect::<Result<_, _>>()?,
                segment,
                link: text("link"),
                run: text("run"),
                seed: whole("seed")?,
                value: row.number("value")?,
            });
        }
        Ok(Evidence { file: file.to_path_buf(), rows: all, asked: RefCell::default() })
    }

    /// Refuses rows that no test asked for.
    pub(crate) fn all_asked(&self) -> Result<(), PaperError> {
        let asked = self.asked.borrow();
        match self.rows.iter().find(|one| !asked.contains(&one.line)) {
            Some(one) => Err(PaperError::at(
                &self.file,
                one.line,
                format!(
                    "{} of {}: no test of the claims that it is to refute asks for this quantity at this place",
                    one.quantity, one.algorithm
                ),
            )),
            None => Ok(()),
        }
    }

    /// The values of a label at a place, with their seeds, at least so many; none if there are none at all.
    pub(crate) fn samples(
        &self,
        e: &Experiment,
        place: &CellPlace,
        label: &str,
        value: &Value,
        least: usize,
    ) -> Result<Option<Vec<(u64, f64)>>, String> {
        let quantity = value.quantity.to_string();
        let first = e.runs.first().map_or("", |run| run.name.as_str());
        let named = |run: &str| if run.is_empty() { first.to_string() } else { run.to_string() };
        let run = named(place.run.as_deref().unwrap_or(""));
        let is = |one: &&One| {
            one.quantity == quantity
                && one.algorithm == label
                && one.at.len() == place.at.len()
                && place
                    .at
                    .iter()
                    .all(|(field, value)| one.at.iter().any(|(f, v)| f == field && same(v, &text_of(value))))
                && one.segment == place.segment
                && one.link == place.link.as_deref().unwrap_or("")
                && named(&one.run) == run
        };
        let own: Vec<&One> = self.rows.iter().filter(is).collect();
        self.asked.borrow_mut().extend(own.iter().map(|one| one.line));
        let at: String = place.at.iter().map(|(f, v)| format!(" at {f}={}", text_of(v))).collect();
        match own.len() {
            0 => Ok(None),
            n if n < least => Err(format!(
                "ns-2 has {n} values of {quantity} of {label}{at}{}; at least {least} are needed",
                place.segment.map_or(String::new(), |s| format!(" in segment {s}"))
            )),
            _ => Ok(Some(own.into_iter().map(|one| (one.seed, value.factor * one.value)).collect())),
        }
    }
}
