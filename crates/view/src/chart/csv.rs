//! A chart's numbers for other programs.

use super::curves::{Chart, Curve, Form};
use super::sweep;
use crate::digits::magnitude;

/// The numbers of a chart as CSV (RFC 4180): a row for each value of each curve, with its panel where there are
/// several. Where values are means over replications, there follow half the width of the interval, its ends within what the
/// quantity can be, and the number of seeds. Units are in the header; the values of a swept field are numbers wherever they
/// can be. A gap has an empty field. A value has the digits that its interval supports, or seven.
pub fn csv(chart: &Chart) -> String {
    // A curve in a panel of its own is named by the same key.
    let panels = chart.panels.len() > 1 && chart.panel_key != chart.curve_key;
    let any = |of: fn(&Curve) -> bool| chart.curves().any(of);
    let [intervals, ends, seeds] =
        [any(|c| !c.half_width.is_empty()), any(|c| !c.low.is_empty()), any(|c| !c.seeds.is_empty())];
    // A bar is named by its curve.
    let places = chart.form != Form::Bars;
    let titles: Vec<&str> = chart.panels.iter().map(|panel| panel.title.as_str()).collect();
    let (panel_key, titles) = values(&chart.panel_key, &titles);
    let mut out = String::new();
    let heads = [
        panels.then_some(panel_key),
        Some(chart.curve_key.clone()),
        places.then(|| chart.x.label.clone()),
        Some(chart.y.clone()),
        intervals.then(|| "half-width".to_string()),
        ends.then(|| "low".to_string()),
        ends.then(|| "high".to_string()),
        seeds.then(|| "seeds".to_string()),
    ];
    row(&mut out, heads.into_iter().flatten());
    for (panel, title) in chart.panels.iter().zip(&titles) {
        for curve in &panel.curves {
            for (i, (x, y)) in curve.x.iter().zip(&curve.y).enumerate() {
                let name = || chart.x.names.get(*x as usize).cloned();
                let at = |list: &[f64]| list.get(i).copied().unwrap_or(f64::NAN);
                let half = at(&curve.half_width);
                let like_half = |v: f64| if half > 0.0 { rounded_as(v, half) } else { number(v, DIGITS) };
                let fields = [
                    panels.then(|| title.clone()),
                    Some(curve.label.clone()),
                    places.then(|| name().unwrap_or_else(|| number(*x, DIGITS_OF_PLACES))),
                    Some(like_half(*y)),
                    intervals.then(|| like_half(half)),
                    ends.then(|| like_half(at(&curve.low))),
                    ends.then(|| like_half(at(&curve.high))),
                    seeds.then(|| curve.seeds.get(i).map_or(String::new(), usize::to_string)),
                ];
                row(&mut out, fields.into_iter().flatten());
            }
        }
    }
    out
}

/// Significant digits of a value without an interval.
const DIGITS: usize = 7;
/// Of a place along the axis, which others look up.
const DIGITS_OF_PLACES: usize = 12;

/// The values of a field, and its name, with the unit if they are numbers.
pub(crate) fn values(field: &str, labels: &[&str]) -> (String, Vec<String>) {
    match sweep::numbers(labels) {
        Some((unit, numbers)) => {
            let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
            let field = format!("{field}{unit}");
            (field, numbers.into_iter().map(|x| number(x, DIGITS_OF_PLACES)).collect())
        }
        None => (field.to_string(), labels.iter().map(|label| label.to_string()).collect()),
    }
}

/// A number with so many significant digits and no needless zeros; empty if it is none.
pub(crate) fn number(x: f64, digits: usize) -> String {
    if !x.is_finite() {
        return String::new();
    }
    let short: f64 = format!("{x:.*e}", digits.saturating_sub(1)).parse().unwrap_or(x);
    // Zero has no sign.
    (short + 0.0).to_string()
}

/// A number to the place of the third digit of half the width of its interval.
pub(crate) fn rounded_as(x: f64, half_width: f64) -> String {
    if !x.is_finite() {
        return String::new();
    }
    if x == 0.0 {
        return "0".to_string();
    }
    let digits = (magnitude(x) - magnitude(half_width) + 3).clamp(1, 15);
    number(x, digits as usize)
}

/// Adds a row; what needs quotes has them.
pub fn row(out: &mut String, fields: impl Iterator<Item = String>) {
    for (i, field) in fields.enumerate() {
        if i > 0 {
            out.push(',');
        }
        match field.contains([',', '"', '\n', '\r']) {
            true => out.push_str(&format!("\"{}\"", field.replace('"', "\"\""))),
            false => out.push_str(&field),
        }
    }
    out.push_str("\r\n");
}
