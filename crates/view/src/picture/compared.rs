//! Published numbers, and what was found in their place.

use super::axis::{Axis, Scale, Tick};
use super::plot;
use super::plot::{Form, Panel, Position, mark};
use super::sheet::Sheet;
use super::svg::{Anchor, FAINT, Font, INK, Stroke, Svg, fitting, text_width};

/// What became of a published number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// It was found.
    Agrees,
    /// It is one that the runs could give.
    Inside,
    /// It was found, but is not counted: it chose the reading.
    Withheld,
    /// It is found under another reading of what was published.
    Explained,
    /// It is found only under a reading that was fitted to it.
    Fitted,
    /// It cannot be found, and it is shown why.
    Refuted,
    /// It was not found.
    Open,
    /// Nothing was run for it.
    Missing,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 8] = [
        Outcome::Agrees,
        Outcome::Inside,
        Outcome::Withheld,
        Outcome::Explained,
        Outcome::Fitted,
        Outcome::Refuted,
        Outcome::Open,
        Outcome::Missing,
    ];

    /// Its name in a legend.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Agrees => "agrees",
            Outcome::Inside => "inside",
            Outcome::Withheld => "withheld: nothing else supports the reading",
            Outcome::Explained => "explained by another reading",
            Outcome::Fitted => "only by a fit",
            Outcome::Refuted => "refuted",
            Outcome::Open => "open",
            Outcome::Missing => "missing",
        }
    }

    /// Its color.
    pub(super) fn color(self) -> &'static str {
        match self {
            Outcome::Agrees => "#0072B2",
            Outcome::Inside => "#56B4E9",
            Outcome::Withheld => "#009E73",
            Outcome::Explained => "#E69F00",
            Outcome::Fitted => "#CC79A7",
            Outcome::Refuted => "#222222",
            Outcome::Open => "#D55E00",
            Outcome::Missing => "#bdbdbd",
        }
    }

    /// The form of its mark, which says as much as its color.
    fn form(self) -> Form {
        match self {
            Outcome::Agrees | Outcome::Inside | Outcome::Withheld => Form::Circle,
            Outcome::Explained | Outcome::Fitted => Form::Triangle,
            Outcome::Refuted | Outcome::Missing => Form::Square,
            Outcome::Open => Form::Diamond,
        }
    }

    /// Says whether its mark is to be seen first, with its name beside it.
    fn is_outlier(self) -> bool {
        matches!(self, Outcome::Explained | Outcome::Fitted | Outcome::Refuted | Outcome::Open)
    }
}

/// A quantity, which has a column of panels.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedColumn {
    /// The quantity with its unit.
    pub title: String,
    /// Equal steps are equal ratios.
    pub log: bool,
}

/// A row: its numbers, one for each column.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRow {
    /// The head over the rows that belong together; may be empty.
    pub group: String,
    /// Its name.
    pub label: String,
    /// Its numbers.
    pub cells: Vec<Option<ComparedCell>>,
}

/// A published number, and what was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparedCell {
    /// Its ends; equal but for a range.
    pub printed: (f64, f64),
    /// The values that are near enough.
    pub band: (f64, f64),
    /// What was found.
    pub found: Option<f64>,
    /// Half the width of its interval.
    pub half_width: Option<f64>,
    /// What another simulator gives.
    pub other: Option<f64>,
    /// What became of it.
    pub outcome: Outcome,
}

/// The most columns side by side.
const MOST_COLUMNS: usize = 4;
const ROW: f64 = 19.0;
const GROUP: f64 = 20.0;
const SMALL: f64 = 11.0;
/// The most room for the names of the rows.
const MOST_NAMES: f64 = 230.0;
const GAP: f64 = 14.0;
const BAND: &str = "#d9d9d9";
const OTHER: &str = "#CC79A7";

/// Draws numbers beside each other, a row each: the band in gray, what is printed as a bar of ink, what was found as a mark
/// with its interval, and what `other` gives as a ring. Marks outside of the band have the row's name beside them.
pub fn compared(sheet: &Sheet<'_>, columns: &[ComparedColumn], rows: &[ComparedRow], other: &str) -> String {
    let (sheet, mut svg) = (sheet.sized(), Svg::default());
    let top = plot::head(&mut svg, &sheet);
    let mut y = key(&mut svg, rows, other, (20.0, sheet.width - 20.0), top);
    let names = rows.iter().flat_map(|r| [1.08 * text_width(&r.label, SMALL), text_width(&r.group, SMALL)]);
    let left = 20.0 + (names.fold(0.0, f64::max) + 16.0).clamp(60.0, MOST_NAMES);
    for (block, of) in columns.chunks(MOST_COLUMNS).enumerate() {
        y = draw(&mut svg, of, rows, block * MOST_COLUMNS, (left, sheet.width - 20.0), y);
    }
    svg.finish((sheet.width, y), sheet.title, sheet.description)
}

/// The legend, of what there is.
fn key(svg: &mut Svg, rows: &[ComparedRow], other: &str, (left, right): (f64, f64), top: f64) -> f64 {
    let all = || rows.iter().flat_map(|r| r.cells.iter().flatten());
    let (mut x, mut y) = (left, top + SMALL);
    let mut entry = |svg: &mut Svg, name: &str, sign: &dyn Fn(&mut Svg, Position)| {
        let width = 20.0 + text_width(name, SMALL);
        if x > left && x + width > right {
            (x, y) = (left, y + 17.0);
        }
        sign(svg, (x + 8.0, y - 4.0));
        svg.text((x + 20.0, y), name, Font::new(SMALL, Anchor::Start));
        x += width + 14.0;
    };
    entry(svg, "printed", &|svg, (x, y)| svg.rect((x - 1.0, y - 6.0), (2.0, 12.0), INK));
    entry(svg, "its band", &|svg, (x, y)| svg.rect((x - 8.0, y - 5.0), (16.0, 10.0), BAND));
    for outcome in Outcome::ALL {
        let found = |c: &&ComparedCell| c.outcome == outcome && c.found.is_some();
        if all().any(|c| found(&c)) {
            let name = match outcome {
                Outcome::Agrees => "found: agrees",
                other => other.name(),
            };
            entry(svg, name, &|svg, at| dot(svg, at, outcome));
        }
    }
    if all().any(|c| c.other.is_some()) {
        entry(svg, other, &|svg, at| ring(svg, at));
    }
    y + 8.0
}

fn dot(svg: &mut Svg, at: Position, outcome: Outcome) {
    mark(svg, at, outcome.form(), 4.0, outcome.color());
}

fn ring(svg: &mut Svg, (x, y): Position) {
    let corners = [(x, y - 5.5), (x + 4.5, y), (x, y + 5.5), (x - 4.5, y), (x, y - 5.5)];
    svg.strokes(&[corners.to_vec()], Stroke::solid(OTHER, 1.6));
}

/// The panels of some columns; gives where they end.
fn draw(
    svg: &mut Svg,
    columns: &[ComparedColumn],
    rows: &[ComparedRow],
    first: usize,
    (left, right): (f64, f64),
    top: f64,
) -> f64 {
    let top = top + 20.0;
    let mut places: Vec<f64> = Vec::new();
    let mut y = top;
    for (i, row) in rows.iter().enumerate() {
        if !row.group.is_empty() && (i == 0 || rows[i - 1].group != row.group) {
            y += GROUP;
            let size = fitting(&row.group, SMALL, left - 30.0);
            let font = Font { color: FAINT, ..Font::new(size, Anchor::Start) };
            svg.text((20.0, y - 6.0), &row.group, font);
        }
        places.push(y + ROW / 2.0);
        y += ROW;
    }
    let bottom = y + 2.0;
    for (row, at) in rows.iter().zip(&places) {
        let cells = || row.cells.iter().skip(first).take(columns.len()).flatten();
        let bold = cells().any(|c| c.outcome.is_outlier());
        let room = (left - 34.0) / if bold { 1.08 } else { 1.0 };
        let font = Font { bold, ..Font::new(fitting(&row.label, SMALL, room), Anchor::End) };
        svg.text((left - 10.0, at + 4.0), &row.label, font);
    }
    let wide = (right - left - GAP * (columns.len() - 1) as f64) / columns.len() as f64;
    for (k, column) in columns.iter().enumerate() {
        let from = left + k as f64 * (wide + GAP);
        let ends = (from + 8.0, from + wide - 8.0);
        let of = |row: &ComparedRow| row.cells.get(first + k).copied().flatten();
        // Intervals may be cut at the edges: those of few runs are wider than all the rest.
        let values = rows.iter().filter_map(of).flat_map(|c| {
            let all = [c.band.0, c.band.1, c.printed.0, c.printed.1];
            all.into_iter().chain(c.found).chain(c.other)
        });
        let axis = Axis { log: column.log, ..Axis::linear(&column.title) };
        let x = Scale::of(&axis, values, ends).padded(0.03);
        let panel =
            Panel { x, y: Scale::of(&Axis::linear("").between(0.0, 1.0), [].into_iter(), (bottom, top)) };
        let ticks = apart(panel.ticks_across(if column.log { 30.0 } else { 36.0 }), &x);
        let frame = ((from, top), (wide, bottom - top));
        for tick in ticks.iter().filter(|t| t.label.is_some()) {
            if let Some(at) = x.at(tick.value) {
                svg.line((at, top), (at, bottom), Stroke::solid(super::svg::GRID, 1.0));
                svg.line((at, bottom), (at, bottom + 3.0), Stroke::solid(INK, 1.0));
                let label = tick.label.as_deref().unwrap_or("");
                svg.text((at, bottom + 14.0), label, Font::new(10.0, Anchor::Middle));
            }
        }
        let font =
            Font { bold: true, ..Font::new(fitting(&column.title, SMALL, wide / 1.08), Anchor::Middle) };
        svg.text((from + wide / 2.0, top - 6.0), &column.title, font);
        for (row, at) in rows.iter().zip(&places) {
            if let Some(cell) = of(row) {
                one(svg, x, &cell, &row.label, *at, (from, from + wide));
            }
        }
        svg.frame(frame.0, frame.1, Stroke::solid(INK, 1.0));
    }
    bottom + 26.0
}

/// Ticks whose labels do not touch.
fn apart(mut ticks: Vec<Tick>, x: &Scale) -> Vec<Tick> {
    let mut free = f64::NEG_INFINITY;
    for tick in &mut ticks {
        let Some(label) = tick.label.as_deref() else { continue };
        let half = text_width(label, 10.0) / 2.0;
        match x.at(tick.value) {
            Some(at) if at - half >= free => free = at + half + 4.0,
            _ => tick.label = None,
        }
    }
    ticks
}

/// A number on its row.
fn one(svg: &mut Svg, x: Scale, cell: &ComparedCell, name: &str, y: f64, (left, right): (f64, f64)) {
    let at = |value: f64| x.at_most(value);
    let mut taken = (f64::INFINITY, f64::NEG_INFINITY);
    let mut take = |from: f64, to: f64| taken = (taken.0.min(from), taken.1.max(to));
    if let (Some(from), Some(to)) = (at(cell.band.0), at(cell.band.1)) {
        svg.rect((from, y - 6.0), (to - from, 12.0), BAND);
        take(from, to);
    }
    if let (Some(from), Some(to)) = (at(cell.printed.0), at(cell.printed.1)) {
        if to - from > 2.0 {
            svg.rect((from, y - 1.5), (to - from, 3.0), INK);
        }
        for end in [from, to] {
            svg.rect((end - 1.0, y - 6.0), (2.0, 12.0), INK);
        }
        take(from, to);
    }
    if let Some(px) = cell.other.and_then(at) {
        ring(svg, (px, y));
        take(px - 5.0, px + 5.0);
    }
    let Some((found, px)) = cell.found.and_then(|found| Some((found, at(found)?))) else { return };
    let color = cell.outcome.color();
    if let Some((from, to)) = cell.half_width.and_then(|h| Some((at(found - h)?, at(found + h)?))) {
        svg.line((from, y), (to, y), Stroke::solid(color, 1.6));
        take(from, to);
    }
    dot(svg, (px, y), cell.outcome);
    take(px - 5.0, px + 5.0);
    if !cell.outcome.is_outlier() {
        return;
    }
    // Bold letters are wider.
    let width = 1.15 * text_width(name, 9.5) + 2.0;
    let font = Font { color, bold: true, ..Font::new(9.5, Anchor::Start) };
    if taken.1 + 4.0 + width < right {
        svg.text((taken.1 + 4.0, y + 3.5), name, font);
    } else if taken.0 - 4.0 - width > left {
        svg.text((taken.0 - 4.0, y + 3.5), name, Font { anchor: Anchor::End, ..font });
    }
}

/// A kind of what is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name in the legend.
    pub name: &'static str,
    /// Its color.
    pub color: &'static str,
    /// Figures on it are white, not black.
    pub dark: bool,
}

impl Outcome {
    /// The outcome as a kind of what is counted.
    pub fn kind(self) -> Kind {
        let dark = !matches!(self, Outcome::Inside | Outcome::Explained | Outcome::Missing);
        Kind { name: self.name(), color: self.color(), dark }
    }
}

/// A row of counts, one for each kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// Its name.
    pub label: String,
    /// The counts.
    pub counts: Vec<usize>,
}

/// Draws counts as bars, a row each, of pieces of some kinds; `unit` says what is counted.
pub fn tally(sheet: &Sheet<'_>, kinds: &[Kind], rows: &[Tally], unit: &str) -> String {
    let (sheet, mut svg) = (sheet.sized(), Svg::default());
    let top = plot::head(&mut svg, &sheet);
    let count = |row: &Tally, k: usize| row.counts.get(k).copied().unwrap_or(0);
    let there: Vec<usize> = (0..kinds.len()).filter(|k| rows.iter().any(|row| count(row, *k) > 0)).collect();
    let entries: Vec<_> = there.iter().map(|k| (plot::Sign::Box(kinds[*k].color), kinds[*k].name)).collect();
    let top = plot::legend(&mut svg, &entries, (20.0, sheet.width - 20.0), top) + 6.0;
    let widest = rows.iter().map(|r| text_width(&r.label, SMALL)).fold(0.0, f64::max);
    let (left, right) = (20.0 + (widest + 14.0).min(280.0), sheet.width - 50.0);
    let most = rows.iter().map(|r| r.counts.iter().sum::<usize>()).max().unwrap_or(1).max(1) as f64;
    let bottom = top + rows.len() as f64 * ROW + 4.0;
    let x = Scale::of(&Axis::linear("").between(0.0, most), [].into_iter(), (left, right));
    for tick in x.ticks((right - left) / 60.0) {
        let (Some(at), Some(label)) = (x.at(tick.value), tick.label) else { continue };
        svg.line((at, top), (at, bottom), Stroke::solid(super::svg::GRID, 1.0));
        svg.text((at, bottom + 14.0), &label, Font::new(10.0, Anchor::Middle));
    }
    svg.text(((left + right) / 2.0, bottom + 30.0), unit, Font::new(SMALL, Anchor::Middle));
    for (i, row) in rows.iter().enumerate() {
        let y = top + i as f64 * ROW + ROW / 2.0 + 2.0;
        let font = Font::new(fitting(&row.label, SMALL, left - 34.0), Anchor::End);
        svg.text((left - 8.0, y + 4.0), &row.label, font);
        let mut sum = 0;
        for k in there.iter().copied().filter(|k| count(row, *k) > 0) {
            let n = count(row, k);
            let (Some(from), Some(to)) = (x.at(sum as f64), x.at((sum + n) as f64)) else { continue };
            sum += n;
            svg.rect((from, y - 7.0), (to - from, 14.0), kinds[k].color);
            let text = n.to_string();
            if text_width(&text, 10.0) + 4.0 < to - from {
                let color = if kinds[k].dark { "#ffffff" } else { "#000000" };
                let font = Font { color, ..Font::new(10.0, Anchor::Middle) };
                svg.text(((from + to) / 2.0, y + 3.5), &text, font);
            }
        }
        if let Some(end) = x.at(sum as f64) {
            let faint = Font { color: FAINT, ..Font::new(SMALL, Anchor::Start) };
            svg.text((end + 6.0, y + 4.0), &sum.to_string(), faint);
        }
    }
    svg.finish((sheet.width, bottom + 40.0), sheet.title, sheet.description)
}
