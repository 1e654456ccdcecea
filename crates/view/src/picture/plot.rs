//! The parts that the pictures share: the sheet, a panel with its axes, curves cut at its edges, legends.

use std::f64::consts::FRAC_1_SQRT_2;

use super::axis::{Scale, Tick};
use super::sheet::Sheet;
use super::svg::{Anchor, FAINT, Font, GRID, INK, Stroke, Svg, fitting, text_width, wrap};
use crate::style::Style;

/// A place in pixels.
pub(super) type Position = (f64, f64);

/// Left of a panel: the labels of its ticks and the name of its axis.
pub(super) const LEFT: f64 = 78.0;
/// Right of a panel.
pub(super) const RIGHT: f64 = 22.0;
/// Below a panel: the labels of its ticks and the name of its axis.
pub(super) const BELOW: f64 = 48.0;

const TITLE: f64 = 16.0;
const LABEL: f64 = 13.0;
/// Ticks and legends.
pub(super) const SMALL: f64 = 12.0;
/// The distance from one row of a legend to the next.
pub(super) const ROW: f64 = 19.0;

/// The style of the curve with a number.
pub(super) fn style(curve: usize) -> Stroke<'static> {
    let Style { color, dashes, .. } = Style::number(curve);
    Stroke { color, width: 1.7, dashes }
}

/// Writes the title; gives where it ends.
pub(super) fn head(svg: &mut Svg, sheet: &Sheet<'_>) -> f64 {
    let font = Font { bold: true, ..Font::new(TITLE, Anchor::Start) };
    let mut y = 10.0;
    for line in wrap(sheet.title, 1.06 * TITLE, sheet.width - 40.0) {
        y += TITLE + 5.0;
        svg.text((20.0, y - 3.0), &line, font);
    }
    y + 6.0
}

/// A rectangle with two axes. The vertical one rises: its scale goes from the lower edge to the upper.
#[derive(Clone, Copy)]
pub(super) struct Panel {
    pub x: Scale,
    pub y: Scale,
}

impl Panel {
    fn size(&self) -> (f64, f64) {
        (self.x.to - self.x.from, self.y.from - self.y.to)
    }

    /// The place of two values, outside of the panel too; `None` where an axis has no place for them.
    pub fn at(&self, x: f64, y: f64) -> Option<Position> {
        Some((self.x.at(x)?, self.y.at(y)?))
    }

    /// The same, if it is inside.
    pub fn inside(&self, x: f64, y: f64) -> Option<Position> {
        if self.x.contains(x) && self.y.contains(y) { self.at(x, y) } else { None }
    }

    /// Lines at all ticks.
    pub fn grid(&self, svg: &mut Svg, x: &[Tick], y: &[Tick]) {
        let stroke = |tick: &Tick| Stroke::solid(GRID, if tick.label.is_some() { 1.0 } else { 0.5 });
        for tick in x {
            if let Some(at) = self.x.at(tick.value) {
                svg.line((at, self.y.from), (at, self.y.to), stroke(tick));
            }
        }
        for tick in y {
            if let Some(at) = self.y.at(tick.value) {
                svg.line((self.x.from, at), (self.x.to, at), stroke(tick));
            }
        }
    }

    /// The frame, and marks and labels at the ticks.
    pub fn frame(&self, svg: &mut Svg, x: &[Tick], y: &[Tick], size: f64) {
        self.frame_within(svg, x, y, size, LEFT);
    }

    /// The same with `left` pixels on the left.
    pub fn frame_within(&self, svg: &mut Svg, x: &[Tick], y: &[Tick], size: f64, left: f64) {
        let stroke = Stroke::solid(INK, 1.0);
        for tick in x {
            let (Some(at), Some(label)) = (self.x.at(tick.value), &tick.label) else { continue };
            svg.line((at, self.y.from), (at, self.y.from + 4.0), stroke);
            svg.text((at, self.y.from + 6.0 + size), label, Font::new(size, Anchor::Middle));
        }
        // Beside the name of the axis.
        let size = size_of(y, size, left - 33.0);
        for tick in y {
            let (Some(at), Some(label)) = (self.y.at(tick.value), &tick.label) else { continue };
            svg.line((self.x.from, at), (self.x.from - 4.0, at), stroke);
            svg.text((self.x.from - 7.0, at + 0.36 * size), label, Font::new(size, Anchor::End));
        }
        svg.frame((self.x.from, self.y.to), self.size(), stroke);
    }

    /// The name of the horizontal axis.
    pub fn name_x(&self, svg: &mut Svg, label: &str) {
        let (width, _) = self.size();
        let font = Font::new(fitting(label, LABEL, width), Anchor::Middle);
        svg.text((self.x.from + width / 2.0, self.y.from + 39.0), label, font);
    }

    /// The name of the vertical axis.
    pub fn name_y(&self, svg: &mut Svg, label: &str) {
        self.name_y_within(svg, label, LEFT);
    }

    /// The same with `left` pixels on the left.
    pub fn name_y_within(&self, svg: &mut Svg, label: &str, left: f64) {
        let (_, height) = self.size();
        let font = Font { upright: true, ..Font::new(fitting(label, LABEL, height), Anchor::Middle) };
        svg.text((self.x.from - left + 18.0, self.y.to + height / 2.0), label, font);
    }

    /// Grid, frame and names, with the ticks that fit.
    pub fn axes(&self, svg: &mut Svg, x: &str, y: &str) {
        let (across, up) = (self.ticks_across(70.0), self.ticks_up(45.0));
        self.grid(svg, &across, &up);
        self.frame(svg, &across, &up, SMALL);
        self.name_x(svg, x);
        self.name_y(svg, y);
    }

    /// The horizontal axis's ticks, about `spacing` apart.
    pub fn ticks_across(&self, spacing: f64) -> Vec<Tick> {
        self.x.ticks(self.size().0 / spacing)
    }

    /// The vertical axis's ticks, about `spacing` apart.
    pub fn ticks_up(&self, spacing: f64) -> Vec<Tick> {
        self.y.ticks(self.size().1 / spacing)
    }

    /// A curve as strokes of a pen: cut at the panel's edges, with gaps where a value has no place, and
    /// without the points that cannot be seen.
    pub fn curve(&self, points: impl Iterator<Item = (f64, f64)>) -> Vec<Vec<Position>> {
        let mut strokes: Vec<Vec<Position>> = Vec::new();
        let mut last: Option<Position> = None;
        for (x, y) in points {
            let place = self.at(x, y);
            if let (Some(a), Some(b)) = (last, place)
                && let Some((from, to)) = self.clip(a, b)
            {
                match strokes.last_mut() {
                    Some(stroke) if stroke.last() == Some(&from) => stroke.push(to),
                    _ => strokes.push(vec![from, to]),
                }
            }
            last = place;
        }
        strokes.iter().map(|s| straighten(&thin(s))).collect()
    }

    /// The part of a stretch that is inside (Liang and Barsky).
    fn clip(&self, a: Position, b: Position) -> Option<(Position, Position)> {
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        let edges = [
            (-dx, a.0 - self.x.from),
            (dx, self.x.to - a.0),
            (-dy, a.1 - self.y.to),
            (dy, self.y.from - a.1),
        ];
        for (speed, room) in edges {
            if speed == 0.0 {
                if room < 0.0 {
                    return None;
                }
            } else if speed < 0.0 {
                enter = enter.max(room / speed);
            } else {
                leave = leave.min(room / speed);
            }
        }
        let on = |t: f64| (a.0 + t * dx, a.1 + t * dy);
        // Ends that are inside stay the same to the bit, so that stretches join.
        let (from, to) = (if enter > 0.0 { on(enter) } else { a }, if leave < 1.0 { on(leave) } else { b });
        (enter <= leave).then_some((from, to))
    }
}

/// The font size, at most `size`, at which all labels are at most `width` wide.
pub(super) fn size_of(ticks: &[Tick], size: f64, width: f64) -> f64 {
    ticks.iter().filter_map(|t| t.label.as_deref()).fold(size, |size, label| fitting(label, size, width))
}

/// A stroke without what cannot be seen: of the points that follow each other in half a pixel's column,
/// the first, the last, the highest and the lowest.
fn thin(stroke: &[Position]) -> Vec<Position> {
    let column = |p: &Position| (2.0 * p.0).floor();
    let mut kept = Vec::new();
    for run in stroke.chunk_by(|a, b| column(a) == column(b)) {
        let by_height = |(_, a): &(usize, &Position), (_, b): &(usize, &Position)| a.1.total_cmp(&b.1);
        let lowest = run.iter().enumerate().min_by(by_height).map_or(0, |(i, _)| i);
        let highest = run.iter().enumerate().max_by(by_height).map_or(0, |(i, _)| i);
        let mut of_run = [0, lowest, highest, run.len() - 1];
        of_run.sort_unstable();
        for (i, at) in of_run.iter().enumerate() {
            if i == 0 || of_run[i - 1] != *at {
                kept.push(run[*at]);
            }
        }
    }
    kept
}

/// A stroke without points that are on the straight way between others, to a tenth of a pixel (Ramer, Douglas
/// and Peucker).
fn straighten(stroke: &[Position]) -> Vec<Position> {
    const FINE: f64 = 0.1;
    let mut kept = vec![false; stroke.len()];
    let mut open = Vec::new();
    if let Some(last) = stroke.len().checked_sub(1) {
        (kept[0], kept[last]) = (true, true);
        open.push((0, last));
    }
    while let Some((from, to)) = open.pop() {
        let between = (from + 1..to).map(|i| (i, distance(stroke[i], stroke[from], stroke[to])));
        if let Some((i, farthest)) = between.max_by(|a, b| a.1.total_cmp(&b.1))
            && farthest > FINE
        {
            kept[i] = true;
            open.extend([(from, i), (i, to)]);
        }
    }
    stroke.iter().zip(kept).filter(|(_, kept)| *kept).map(|(p, _)| *p).collect()
}

/// The distance from a place to the nearest of a stretch.
fn distance(p: Position, a: Position, b: Position) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx * dx + dy * dy;
    let along = if length > 0.0 { ((p.0 - a.0) * dx + (p.1 - a.1) * dy) / length } else { 0.0 };
    let along = along.clamp(0.0, 1.0);
    libm::hypot(p.0 - a.0 - along * dx, p.1 - a.1 - along * dy)
}

/// A mark whose form tells as much as its color.
pub(super) use crate::style::Mark as Form;

/// The corners of an upright cross.
const CROSS: [(f64, f64); 12] = [
    (-0.42, -1.3),
    (0.42, -1.3),
    (0.42, -0.42),
    (1.3, -0.42),
    (1.3, 0.42),
    (0.42, 0.42),
    (0.42, 1.3),
    (-0.42, 1.3),
    (-0.42, 0.42),
    (-1.3, 0.42),
    (-1.3, -0.42),
    (-0.42, -0.42),
];

/// Draws a mark.
pub(super) fn mark(svg: &mut Svg, (x, y): Position, form: Form, radius: f64, fill: &str) {
    let corners = |offsets: &[(f64, f64)]| -> Vec<Position> {
        offsets.iter().map(|(dx, dy)| (x + radius * dx, y + radius * dy)).collect()
    };
    match form {
        Form::Circle => svg.dot((x, y), radius, fill),
        // Of about the circle's area.
        Form::Square => {
            svg.polygon(&corners(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]), fill);
        }
        Form::Triangle => svg.polygon(&corners(&[(0.0, -1.25), (1.15, 0.85), (-1.15, 0.85)]), fill),
        Form::Diamond => svg.polygon(&corners(&[(0.0, -1.35), (1.1, 0.0), (0.0, 1.35), (-1.1, 0.0)]), fill),
        Form::Down => svg.polygon(&corners(&[(0.0, 1.25), (1.15, -0.85), (-1.15, -0.85)]), fill),
        Form::Pentagon => svg.polygon(
            &corners(&[(0.0, -1.15), (1.09, -0.36), (0.68, 0.93), (-0.68, 0.93), (-1.09, -0.36)]),
            fill,
        ),
        Form::Plus => svg.polygon(&corners(&CROSS), fill),
        // The same, turned by an eighth.
        Form::Cross => svg
            .polygon(&corners(&CROSS.map(|(x, y)| (FRAC_1_SQRT_2 * (x - y), FRAC_1_SQRT_2 * (x + y)))), fill),
    }
}

/// The sign before a name in a legend.
#[derive(Clone, Copy)]
pub(super) enum Sign<'a> {
    Line(Stroke<'a>),
    /// A line with a mark on it.
    Marked(Stroke<'a>, Form),
    Mark(Form, &'a str),
    Box(&'a str),
}

/// The width of a sign, with the space behind it.
pub(super) const SIGN: f64 = 30.0;

/// Draws a sign from `x` on, in the row whose text stands on `y`.
pub(super) fn sign(svg: &mut Svg, (x, y): Position, sign: Sign<'_>) {
    let middle = y - 0.36 * SMALL;
    match sign {
        Sign::Line(stroke) => svg.line((x, middle), (x + 24.0, middle), Stroke { width: 2.4, ..stroke }),
        Sign::Marked(stroke, form) => {
            svg.line((x, middle), (x + 24.0, middle), Stroke { width: 2.4, ..stroke });
            mark(svg, (x + 12.0, middle), form, 4.0, stroke.color);
        }
        Sign::Mark(form, fill) => mark(svg, (x + 17.0, middle), form, 4.5, fill),
        Sign::Box(fill) => svg.rect((x + 10.0, middle - 5.5), (14.0, 11.0), fill),
    }
}

/// Writes a legend in as many rows as it needs; gives where it ends.
pub(super) fn legend(
    svg: &mut Svg,
    entries: &[(Sign<'_>, &str)],
    (left, right): (f64, f64),
    top: f64,
) -> f64 {
    let (mut x, mut y) = (left, top + SMALL);
    for (of, label) in entries {
        let room = right - left - SIGN;
        let size = fitting(label, SMALL, room);
        let width = SIGN + text_width(label, size);
        if x > left && x + width > right {
            (x, y) = (left, y + ROW);
        }
        sign(svg, (x, y), *of);
        svg.text((x + SIGN, y), label, Font::new(size, Anchor::Start));
        x += width + 14.0;
    }
    if entries.is_empty() { top } else { y + 8.0 }
}

/// A column of a table: its head, with the mark that it explains, and how far from the left it ends.
pub(super) struct Column {
    pub head: &'static str,
    pub form: Option<Form>,
    pub end: f64,
}

/// Writes a legend with columns of figures; gives where it ends.
pub(super) fn table(
    svg: &mut Svg,
    columns: &[Column],
    rows: &[(Sign<'_>, &str, Vec<String>)],
    (left, top): Position,
) -> f64 {
    let mut y = top + SMALL;
    let faint = Font { color: FAINT, ..Font::new(SMALL, Anchor::End) };
    let names = columns.first().map_or(0.0, |c| c.end - 1.15 * text_width(c.head, SMALL) - SIGN - 20.0);
    for column in columns {
        svg.text((left + column.end, y), column.head, faint);
        if let Some(form) = column.form {
            let x = left + column.end - text_width(column.head, SMALL) - 4.0;
            mark(svg, (x, y - 0.36 * SMALL), form, 4.0, FAINT);
        }
    }
    for (of, name, figures) in rows {
        y += ROW;
        sign(svg, (left, y), *of);
        svg.text((left + SIGN, y), name, Font::new(fitting(name, SMALL, names), Anchor::Start));
        for (column, figure) in columns.iter().zip(figures) {
            svg.text((left + column.end, y), figure, Font::new(SMALL, Anchor::End));
        }
    }
    y + 10.0
}

#[cfg(test)]
mod tests {
    use super::super::Axis;
    use super::*;

    fn panel() -> Panel {
        let scale = |ends| Scale::of(&Axis::linear("").between(0.0, 1.0), std::iter::empty(), ends);
        Panel { x: scale((0.0, 100.0)), y: scale((100.0, 0.0)) }
    }

    #[test]
    fn curves_end_at_the_edges() {
        let strokes = panel().curve([(-0.5, 0.5), (0.5, 0.5), (0.5, 2.0), (0.9, 0.0)].into_iter());
        assert_eq!(strokes.len(), 2);
        assert_eq!(strokes[0], [(0.0, 50.0), (50.0, 50.0), (50.0, 0.0)]);
        assert!((strokes[1][0].0 - 70.0).abs() < 1e-9 && strokes[1][1] == (90.0, 100.0));
    }

    #[test]
    fn values_that_are_none_leave_a_gap() {
        let strokes =
            panel().curve([(0.0, 0.0), (0.2, 0.0), (0.3, f64::NAN), (0.5, 0.0), (0.6, 0.0)].into_iter());
        assert_eq!(strokes, [vec![(0.0, 100.0), (20.0, 100.0)], vec![(50.0, 100.0), (60.0, 100.0)]]);
    }

    #[test]
    fn straight_ways_need_two_points() {
        let straight: Vec<Position> = (0..100).map(|i| (f64::from(i), 2.0 * f64::from(i))).collect();
        assert_eq!(straighten(&straight), [(0.0, 0.0), (99.0, 198.0)]);
        // A way and back keeps its end.
        let back = [(0.0, 0.0), (5.0, 0.0), (9.0, 0.0), (0.0, 0.0)];
        assert_eq!(straighten(&back), [(0.0, 0.0), (9.0, 0.0), (0.0, 0.0)]);
        assert!(straighten(&[]).is_empty());
    }

    #[test]
    fn thinning_keeps_the_peaks() {
        let n = 100_000;
        let wave = (0..n)
            .map(|i| (f64::from(i) / f64::from(n), if i == 777 { 1.0 } else { f64::from(i % 7) / 10.0 }));
        let strokes = panel().curve(wave);
        assert!(strokes[0].len() <= 4 * 201, "{}", strokes[0].len());
        assert!(strokes[0].iter().any(|p| p.1 == 0.0));
    }
}
