//! A chart's numbers for other programs.

use super::curves::Chart;

/// The numbers of a chart as CSV (RFC 4180): a row for each value of each curve, with its panel where there are
/// several, and half the width of its interval where there are intervals. A gap has an empty field. Numbers are
/// written so that they read back the same.
pub fn csv(chart: &Chart) -> String {
    let panels = chart.panels.len() > 1;
    let intervals = chart.curves().any(|c| !c.half_width.is_empty());
    let mut out = String::new();
    let heads = [
        panels.then(|| chart.panel_key.clone()),
        Some(chart.curve_key.clone()),
        Some(chart.x.label.clone()),
        Some(chart.y.clone()),
        intervals.then(|| "half-width".to_string()),
    ];
    row(&mut out, heads.into_iter().flatten());
    for panel in &chart.panels {
        for curve in &panel.curves {
            for (i, (x, y)) in curve.x.iter().zip(&curve.y).enumerate() {
                let name = || chart.x.names.get(*x as usize).cloned();
                let half = || number(curve.half_width.get(i).copied().unwrap_or(f64::NAN));
                let fields = [
                    panels.then(|| panel.title.clone()),
                    Some(curve.label.clone()),
                    Some(name().unwrap_or_else(|| number(*x))),
                    Some(number(*y)),
                    intervals.then(half),
                ];
                row(&mut out, fields.into_iter().flatten());
            }
        }
    }
    out
}

fn number(x: f64) -> String {
    if x.is_finite() { x.to_string() } else { String::new() }
}

fn row(out: &mut String, fields: impl Iterator<Item = String>) {
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
