//! How near a mean must be to a printed number: `papers/bands.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use quell_lab::Width;
use serde::Deserialize;

use crate::cells::{Cell, matches};
use crate::error::PaperError;
use crate::toml_file::read_toml;

/// How near a mean must be to a printed number of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// A share of the number, or a distance in its unit.
    pub width: Width,
    /// What is judged instead where the number is nearly all that there is.
    pub idle: Option<NearlyFull>,
}

/// Numbers of a share that are nearly the whole are judged by what is left of it, from where that is stricter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearlyFull {
    /// The band: this share of what the number leaves of the whole.
    pub share: f64,
    /// At least so much, in the unit of the number.
    pub floor: f64,
    /// The whole, in the unit of the number.
    pub full: f64,
}

impl Default for Band {
    fn default() -> Self {
        Band { width: Width::Relative(0.1), idle: None }
    }
}

impl FromStr for Band {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Band { width: text.parse()?, idle: None })
    }
}

impl Band {
    /// What judges a number by what it leaves of the whole; `None`: it is far from it, and the width is less.
    pub fn nearly_full(self, cell: &Cell) -> Option<NearlyFull> {
        self.idle.filter(|idle| idle.reach(cell) < self.own_reach(cell))
    }

    /// The largest distance from the number, or the middle of a range.
    pub(crate) fn reach(self, cell: &Cell) -> f64 {
        self.nearly_full(cell).map_or(self.own_reach(cell), |idle| idle.reach(cell))
    }

    fn own_reach(self, cell: &Cell) -> f64 {
        match self.width {
            Width::Absolute(width) => width,
            Width::Relative(share) => share * cell.middle().abs(),
        }
    }
}

impl NearlyFull {
    fn reach(self, cell: &Cell) -> f64 {
        (self.share * (self.full - cell.middle()).abs()).max(self.floor)
    }
}

impl Cell {
    /// The ends of what is printed, give or take its rounding.
    pub(crate) fn rounded(&self, band: Band) -> (f64, f64) {
        // Who prints utilization to the hundredth prints a whole 100 as "100".
        let most = band.nearly_full(self).map_or(f64::INFINITY, |idle| idle.floor);
        // And nothing is more than the whole.
        let whole = band.idle.map_or(f64::INFINITY, |idle| idle.full);
        (
            self.low.value - self.low.rounding.min(most),
            (self.high.value + self.high.rounding.min(most)).min(whole),
        )
    }

    /// The interval in which a mean agrees with the number: within the band of it, or, of a range, in the range or
    /// within the band of its middle. Rounding is allowed for.
    pub fn limits(&self, band: Band) -> (f64, f64) {
        let (low, high) = self.rounded(band);
        let (middle, reach) = (self.middle(), band.reach(self));
        (low.min(middle - reach), high.max(middle + reach))
    }

    /// Says whether `value` lies in the interval in which it agrees.
    pub fn is_near(&self, value: f64, band: Band) -> bool {
        let (low, high) = self.limits(band);
        low <= value && value <= high
    }
}

/// A band as the file has it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Written {
    Width(String),
    Idle(WrittenIdle),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenIdle {
    width: String,
    idle: String,
    floor: f64,
}

/// Bands by metric, each of a metric that some number has; a file that is not there has none.
pub(crate) fn read_bands(file: &Path, cells: &[Cell]) -> Result<BTreeMap<String, Band>, PaperError> {
    if !file.exists() {
        return Ok(BTreeMap::new());
    }
    let (texts, toml): (BTreeMap<String, Written>, _) = read_toml(file)?;
    let known: BTreeSet<&str> = cells.iter().map(|cell| cell.metric.as_str()).collect();
    let known: Vec<&str> = known.into_iter().collect();
    let band = |(metric, written): (String, Written)| {
        let wrong = |rule: String| PaperError { line: toml.line(&[&metric]), ..PaperError::of(file, rule) };
        if !known.contains(&metric.as_str()) {
            let (rule, nearest) = quell_scenario::unknown("metric", &metric, &known);
            let rule = quell_scenario::suggest(&rule, nearest.as_deref(), None);
            return Err(wrong(format!("{metric}: {rule}")));
        }
        let width = |text: &str| text.parse().map_err(|why| wrong(format!("{metric} = {why}")));
        let band = match &written {
            Written::Width(text) => Band { width: width(text)?, idle: None },
            Written::Idle(idle) => {
                let units = quell_lab::distinct(cells.iter().filter(|c| c.metric == metric).map(|c| &c.unit));
                let full = match units.iter().map(|unit| unit.as_str()).collect::<Vec<_>>()[..] {
                    ["percent"] => 100.0,
                    ["1"] => 1.0,
                    _ => {
                        let rule = "idle: its numbers must all be in percent, or all in 1";
                        return Err(wrong(format!("{metric}.{rule}")));
                    }
                };
                let Width::Relative(share) = width(&idle.idle)? else {
                    let rule = "must be a share of what the number leaves of the whole, such as \"20%\"";
                    return Err(wrong(format!("{metric}.idle = \"{}\": {rule}", idle.idle)));
                };
                let floor = idle.floor;
                if !(floor > 0.0 && floor < full) {
                    let rule = format!("floor = {floor}: must be above 0 and below the whole, {full}");
                    return Err(wrong(format!("{metric}: {rule}")));
                }
                Band { width: width(&idle.width)?, idle: Some(NearlyFull { share, floor, full }) }
            }
        };
        Ok((metric, band))
    };
    texts.into_iter().map(band).collect()
}

/// What can be said of some printed numbers without a simulation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guess {
    /// Patterns of ids.
    pub cells: Vec<String>,
    /// The value that is said of them, in their unit.
    pub is: f64,
    /// Why it is the one.
    #[serde(default)]
    pub because: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NullModel {
    #[serde(default)]
    guess: Vec<Guess>,
}

/// Reads `papers/null.toml`; a file that is not there guesses nothing.
pub(crate) fn read_null(file: &Path, cells: &[Cell]) -> Result<Vec<Guess>, PaperError> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let (model, toml): (NullModel, _) = read_toml(file)?;
    for (i, guess) in model.guess.iter().enumerate() {
        let lost = guess.cells.iter().find(|p| !cells.iter().any(|c| matches(p, &c.id)));
        if let Some(lost) = lost {
            let rule = format!("cells = \"{lost}\": no cell has such an id");
            let line = toml.line(&["guess", &i.to_string(), "cells"]);
            return Err(PaperError { line, ..PaperError::of(file, rule) });
        }
    }
    Ok(model.guess)
}
