//! Lines over time.

use super::axis::{Axis, Scale};
use super::plot::{BELOW, LEFT, Panel, RIGHT, Sign, head, legend, style};
use super::sheet::Sheet;
use super::svg::Svg;

const HEIGHT: f64 = 300.0;

/// A line of a diagram.
#[derive(Clone, Copy, Debug)]
pub struct SeriesLine<'a> {
    /// Its name in the legend.
    pub label: &'a str,
    /// The places of its values along the horizontal axis.
    pub x: &'a [f64],
    /// Its values, as many; one that is not a number leaves a gap.
    pub y: &'a [f64],
}

/// Draws lines into one diagram. Lines that vary fast are drawn as their highest and lowest values in
/// each half pixel, so that a long series does not make a large file and loses no peak.
///
/// # Panics
///
/// If a line does not have as many places as values.
pub fn series(sheet: &Sheet<'_>, x: Axis<'_>, y: Axis<'_>, lines: &[SeriesLine<'_>]) -> String {
    for line in lines {
        assert_eq!(line.x.len(), line.y.len(), "places and values of {:?}", line.label);
    }
    let (sheet, mut svg) = (sheet.sized(), Svg::default());
    let top = head(&mut svg, &sheet);
    let (left, right) = (LEFT, sheet.width - RIGHT);
    let entries: Vec<_> = lines.iter().enumerate().map(|(i, l)| (Sign::Line(style(i)), l.label)).collect();
    let top = legend(&mut svg, &entries, (left, right), top) + 4.0;
    let bottom = top + HEIGHT;
    let points = || lines.iter().flat_map(|l| l.x.iter().zip(l.y));
    let vertical = Scale::of(&y, points().map(|p| *p.1), (bottom, top));
    let panel = Panel {
        x: Scale::of(&x, points().map(|p| *p.0), (left, right)),
        y: if y.range.is_some() { vertical } else { vertical.rounded(HEIGHT / 45.0) },
    };
    panel.axes(&mut svg, x.label, y.label);
    for (i, line) in lines.iter().enumerate() {
        let curve = panel.curve(line.x.iter().copied().zip(line.y.iter().copied()));
        svg.strokes(&curve, style(i));
    }
    svg.finish((sheet.width, bottom + BELOW), sheet.title, sheet.description)
}
