//! Answers of computations, and how their figures are made.

use quell_view::chart::{Chart, Curve, Form, Horizontal, Panel};

/// The result of a computation.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A number.
    Number(f64),
    /// A figure.
    Chart(Box<Chart>),
}

/// A quantity of a figure that tests may name, and the fields on which it depends.
pub type Named = (&'static str, &'static [&'static str]);

/// The value of a field where a quantity is asked for.
pub(super) type At<'a> = dyn Fn(&str) -> Result<f64, String> + 'a;

/// There is no such quantity; what is read from files is checked before.
pub(super) fn unknown(name: &str) -> String {
    format!("{name}: there is no such quantity")
}

/// Evenly spaced values.
pub(super) fn steps(from: f64, to: f64, n: usize) -> Vec<f64> {
    (0..=n).map(|i| from + (to - from) * i as f64 / n as f64).collect()
}

/// A chart of lines.
pub(super) fn lines(x: &str, y: &str, curve_key: &str, panel_key: &str, panels: Vec<Panel>) -> Answer {
    Answer::Chart(Box::new(Chart {
        title: String::new(),
        x: Horizontal { label: x.to_string(), log: false, names: Vec::new() },
        y: y.to_string(),
        y_factor: 1.0,
        panel_key: panel_key.to_string(),
        curve_key: curve_key.to_string(),
        panels,
        form: Form::Line,
        warmup: None,
        events: Vec::new(),
    }))
}

/// A chart of lines in one panel.
pub(super) fn panel(x: &str, y: &str, curve_key: &str, curves: Vec<Curve>) -> Answer {
    lines(x, y, curve_key, "", vec![Panel { title: String::new(), curves }])
}

/// A curve for each of some values, over an axis.
pub(super) fn curves_of(
    values: &[f64],
    label: impl Fn(f64) -> String,
    axis: &[f64],
    y: impl Fn(f64, f64) -> f64,
) -> Vec<Curve> {
    let curve = |(i, value): (usize, &f64)| line(label(*value), i, axis.iter().map(|x| (*x, y(*value, *x))));
    values.iter().enumerate().map(curve).collect()
}

/// A line of a chart.
pub(super) fn line(label: String, style: usize, points: impl IntoIterator<Item = (f64, f64)>) -> Curve {
    let (x, y) = points.into_iter().unzip();
    Curve::new(label, style, x, y)
}

/// An error of the theory, as a sentence.
pub(super) fn why(error: quell_theory::TheoryError) -> String {
    error.to_string()
}
