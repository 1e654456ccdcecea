//! The shapes of `--format json`; a change of shape raises [`SCHEMA`].

use quell_aqm::params::ParamDoc;
use quell_lab::{Better, Estimate, Range};
use quell_scenario::Setting;
use quell_units::text::visible_json;
use serde::Serialize;
use serde_json::json;

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
    terminal::print(&(visible_json(&text) + "\n"))
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
    /// Half the width of its 95% interval; null for a single replication, or if every seed gave the same path.
    pub half_width: Option<f64>,
    /// The lower end of the interval, clipped to the metric's possible values.
    pub low: Option<f64>,
    /// The upper end of the interval, clipped to the metric's possible values.
    pub high: Option<f64>,
    /// The number of replications that it comes from.
    pub n: usize,
    /// The unit; "1" for a pure number.
    pub unit: String,
}

impl Value {
    /// A value from an estimate and its unit.
    pub fn of(unit: String, estimate: &Estimate) -> Self {
        Value::within(unit, estimate, Range::ANY)
    }

    /// The same of a figure that can only be within a range.
    pub fn within(unit: String, estimate: &Estimate, range: Range) -> Self {
        let interval = estimate.interval_within(range);
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

/// Settings that distinguish a point from the others, with numbers as numbers.
pub fn settings(settings: &[Setting]) -> Vec<serde_json::Value> {
    let value = |text: &str| match serde_json::from_str(text) {
        Ok(value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_))) => value,
        _ => serde_json::Value::from(text),
    };
    settings.iter().map(|s| json!({ "field": s.field, "value": value(&s.value) })).collect()
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
