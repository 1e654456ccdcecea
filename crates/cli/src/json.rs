//! The shapes of `--format json`; a change of shape raises [`SCHEMA`].

use std::collections::BTreeMap;

use quell_aqm::params::ParamDoc;
use quell_lab::{Better, Estimate, Sequential};
use quell_scenario::Setting;
use serde::Serialize;

use crate::failure::Failure;
use crate::terminal;

/// The version of the shapes.
const SCHEMA: u32 = 1;

/// Prints an output, after the version of the shapes.
pub fn print(output: &impl Serialize) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Versioned<'a, T> {
        schema: u32,
        #[serde(flatten)]
        output: &'a T,
    }
    print_whole(&Versioned { schema: SCHEMA, output })
}

/// Prints a value as it is.
pub fn print_whole(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Failure::cannot("write JSON", e))?;
    terminal::print(&(text + "\n"))
}

/// A parameter of an algorithm, or a key of a sender with its range.
#[derive(Debug, Serialize)]
pub struct Parameter {
    name: &'static str,
    unit: &'static str,
    default: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    description: &'static str,
    source: &'static str,
}

impl Parameter {
    /// A parameter from its documentation.
    pub fn of(doc: ParamDoc, range: Option<String>) -> Self {
        let ParamDoc { name, unit, default, doc: description, source, .. } = doc;
        Parameter { name, unit, default, range, description, source }
    }
}

/// An estimate with its interval and unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Value {
    /// The mean over the replications.
    pub mean: f64,
    /// Half the width of its 95 % interval; null from a single replication or where every seed gave
    /// the same path.
    pub half_width: Option<f64>,
    /// The lower end of the interval.
    pub low: Option<f64>,
    /// The upper end of the interval.
    pub high: Option<f64>,
    /// The number of replications that it comes from.
    pub n: usize,
    /// The unit; "1" for a pure number.
    pub unit: String,
}

impl Value {
    /// A value from an estimate and its unit.
    pub fn of(unit: String, estimate: &Estimate) -> Self {
        let interval = estimate.interval();
        Value {
            mean: estimate.mean,
            half_width: estimate.half_width,
            low: interval.map(|i| i.0),
            high: interval.map(|i| i.1),
            n: estimate.n,
            unit,
        }
    }
}

/// Figures by name; null where one does not apply.
pub type Values = BTreeMap<String, Option<Value>>;

/// The output of `run` and `show`.
#[derive(Debug, Serialize)]
pub struct Output<'a> {
    /// The run behind the figures.
    #[serde(flatten)]
    pub run: Run<'a>,
    /// One per point of the study.
    pub points: Vec<Point<'a, Row<'a>>>,
}

/// The run behind the figures.
#[derive(Debug, Serialize)]
pub struct Run<'a> {
    /// The scenario's title.
    pub title: &'a str,
    /// Its file.
    pub scenario: &'a str,
    /// The version of Quell.
    pub version: &'a str,
    /// The digest of all replications.
    pub digest: &'a str,
    /// True if the run was stopped before its end.
    pub partial: bool,
    /// Replications asked for.
    pub replications_asked: usize,
    /// Replications finished.
    pub replications_finished: usize,
    /// The points of a sweep that are not valid.
    pub holes: Vec<Hole<'a>>,
    /// The wall-clock time that it took.
    pub elapsed_s: f64,
    /// The rules by which the run chose the numbers of seeds, where it did.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub sequential: &'a [Sequential],
    /// The results folder, if they were written.
    pub folder: Option<String>,
    /// The HTML report, if it was written.
    pub report: Option<String>,
}

/// A point of a sweep that is not valid.
#[derive(Debug, Serialize)]
pub struct Hole<'a> {
    /// The combination of values.
    pub settings: Vec<PointSetting<'a>>,
    /// The rule that it breaks.
    pub reason: &'a str,
}

/// A setting that distinguishes a point from the others.
#[derive(Debug, Serialize)]
pub struct PointSetting<'a> {
    /// The field.
    pub field: &'a str,
    /// Its value; a number where it is one.
    pub value: serde_json::Value,
}

/// Settings with numbers as numbers.
pub fn settings(settings: &[Setting]) -> Vec<PointSetting<'_>> {
    let value = |text: &str| match serde_json::from_str(text) {
        Ok(value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_))) => value,
        _ => serde_json::Value::from(text),
    };
    settings.iter().map(|s| PointSetting { field: &s.field, value: value(&s.value) }).collect()
}

/// One point of a study.
#[derive(Debug, Serialize)]
pub struct Point<'a, R> {
    /// The settings that distinguish it from the others.
    pub settings: Vec<PointSetting<'a>>,
    /// The link that the figures are about.
    pub link: &'a str,
    /// The figures.
    pub rows: Vec<R>,
}

/// The figures of one algorithm, scope and segment.
#[derive(Debug, Serialize)]
pub struct Row<'a> {
    /// The algorithm's label.
    pub algorithm: &'a str,
    /// "all", "data" (all but acknowledgments), or a traffic class.
    pub scope: String,
    /// Index of the segment; null for the whole measured window.
    pub segment: Option<u32>,
    /// The metrics.
    pub metrics: Values,
}

/// The output of `compare`.
#[derive(Debug, Serialize)]
pub struct Comparison<'a> {
    /// The run behind the figures.
    #[serde(flatten)]
    pub run: Run<'a>,
    /// The label of the baseline.
    pub baseline: &'a str,
    /// One per point of the study.
    pub points: Vec<ComparedPoint<'a>>,
}

/// One point of a comparison.
#[derive(Debug, Serialize)]
pub struct ComparedPoint<'a> {
    /// The differences.
    #[serde(flatten)]
    pub point: Point<'a, ComparedRow>,
    /// The baseline's own figures.
    pub baseline_rows: Vec<Row<'a>>,
}

/// The differences of one algorithm from the baseline, in one scope and segment.
#[derive(Debug, Serialize)]
pub struct ComparedRow {
    /// The algorithm's label.
    pub algorithm: String,
    /// The same as in [`Row`].
    pub scope: String,
    /// The same as in [`Row`].
    pub segment: Option<u32>,
    /// The differences: algorithm minus baseline.
    pub differences: BTreeMap<String, Option<Difference>>,
}

/// One difference.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// Algorithm minus baseline, paired by seed.
    #[serde(flatten)]
    pub value: Value,
    /// True if the interval excludes 0.
    pub excludes_zero: bool,
    /// The better direction of this metric.
    pub better: Better,
}
