//! The verdicts of the theory beside what packets do.

use super::axis::{Axis, Scale, Tick};
use super::plot::{BELOW, Form, LEFT, Panel, RIGHT, Sign, head, legend, mark};
use super::sheet::Sheet;
use super::svg::{Anchor, Font, INK, Stroke, Svg, fitting};

const COLUMNS: usize = 3;
const HEIGHT: f64 = 150.0;
/// The room between panels, and above each for its name.
const GAP: f64 = 16.0;
const NAME: f64 = 20.0;
const SMALL: f64 = 11.0;

/// The axes, and the borders between the verdicts.
#[derive(Clone, Copy, Debug)]
pub struct Verdicts<'a> {
    /// The quantity by which the theory decides, such as the phase margin in degrees.
    pub measure: Axis<'a>,
    /// Its border between stable and not.
    pub measure_border: f64,
    /// The swing of the queue of packets, such as its deviation over its mean.
    pub swing: Axis<'a>,
    /// Its border between settled and not.
    pub swing_border: f64,
}

/// An algorithm's panel.
#[derive(Clone, Copy, Debug)]
pub struct Cases<'a> {
    /// The algorithm.
    pub label: &'a str,
    /// The simulated cases.
    pub cases: &'a [Case],
}

/// A setting that the theory judged and that was simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// The theory's measure.
    pub measure: f64,
    /// The simulated queue's swing.
    pub swing: f64,
    /// True if the theory calls it stable.
    pub stable: bool,
    /// True if the simulated queue settles.
    pub settled: bool,
}

impl Case {
    /// The number of its outcome among the four.
    fn outcome(&self) -> usize {
        match (self.stable, self.settled) {
            (true, true) => 0,
            (false, false) => 1,
            (true, false) => 2,
            (false, true) => 3,
        }
    }
}

/// The outcomes: agreement is round, and each of the two kinds of disagreement has its own form.
const OUTCOMES: [(Form, &str, &str); 4] = [
    (Form::Circle, "#0072B2", "both stable"),
    (Form::Circle, "#E69F00", "both unstable"),
    (Form::Triangle, "#D55E00", "stable, but packets oscillate"),
    (Form::Square, "#000000", "unstable, but packets settle"),
];

/// Draws a panel for each algorithm: the theory's measure across, the packets' swing up, the borders of both
/// as lines. All panels have the same axes. What is beyond them, such as an infinite margin, is drawn at
/// their edge; a case without a measure or swing is not drawn but counted.
pub fn verdicts(sheet: &Sheet<'_>, of: &Verdicts<'_>, algorithms: &[Cases<'_>]) -> String {
    let (sheet, mut svg) = (sheet.sized(), Svg::default());
    let top = head(&mut svg, &sheet);
    let (left, right) = (LEFT, sheet.width - RIGHT);
    let entries = OUTCOMES.map(|(form, color, label)| (Sign::Mark(form, color), label));
    let top = legend(&mut svg, &entries, (20.0, right), top) + 2.0;

    let width = (right - left - (COLUMNS - 1) as f64 * GAP) / COLUMNS as f64;
    let all = || algorithms.iter().flat_map(|a| a.cases);
    let pad = |axis: Axis<'_>, scale: Scale| if axis.range.is_some() { scale } else { scale.padded(0.06) };
    let measures = all().map(|c| c.measure).chain([of.measure_border]);
    let across = pad(of.measure, Scale::of(&of.measure, measures, (0.0, width)));
    let swings = all().map(|c| c.swing).chain([of.swing_border]);
    let up = pad(of.swing, Scale::of(&of.swing, swings, (HEIGHT, 0.0)));

    let rows = algorithms.len().div_ceil(COLUMNS).max(1);
    let bottom = top + rows as f64 * (HEIGHT + NAME);
    for (k, algorithm) in algorithms.iter().enumerate() {
        let (column, row) = (k % COLUMNS, k / COLUMNS);
        let x = left + column as f64 * (width + GAP);
        let y = top + row as f64 * (HEIGHT + NAME) + NAME;
        let panel = Panel { x: across.along((x, x + width)), y: up.along((y + HEIGHT, y)) };
        // Labels at the left of a row and below the last of a column.
        let (outer_x, outer_y) = (k + COLUMNS >= algorithms.len(), column == 0);
        draw(&mut svg, of, algorithm, panel, (outer_x, outer_y));
    }
    let whole = Panel { x: across.along((left, right)), y: up.along((bottom, top + NAME)) };
    whole.name_x(&mut svg, of.measure.label);
    whole.name_y(&mut svg, of.swing.label);
    svg.finish((sheet.width, bottom + BELOW), sheet.title, sheet.description)
}

fn draw(svg: &mut Svg, of: &Verdicts<'_>, algorithm: &Cases<'_>, panel: Panel, outer: (bool, bool)) {
    let shown = |ticks: &[Tick], outer: bool| -> Vec<Tick> {
        ticks.iter().map(|t| Tick { label: t.label.clone().filter(|_| outer), ..t.clone() }).collect()
    };
    let (across, up) = (panel.ticks_across(55.0), panel.ticks_up(35.0));
    let labeled =
        |ticks: &[Tick]| -> Vec<Tick> { ticks.iter().filter(|t| t.label.is_some()).cloned().collect() };
    panel.grid(svg, &labeled(&across), &labeled(&up));
    let border = Stroke { color: INK, width: 1.2, dashes: &[4, 3] };
    let (x, y) = (panel.x, panel.y);
    if let Some(at) = x.at(of.measure_border).filter(|_| x.contains(of.measure_border)) {
        svg.line((at, y.from), (at, y.to), border);
    }
    if let Some(at) = y.at(of.swing_border).filter(|_| y.contains(of.swing_border)) {
        svg.line((x.from, at), (x.to, at), border);
    }
    let place = |c: &Case| Some((x.at_most(c.measure)?, y.at_most(c.swing)?));
    // Agreement first: what contradicts the theory is not to be hidden.
    for (outcome, (form, color, _)) in OUTCOMES.into_iter().enumerate() {
        for at in algorithm.cases.iter().filter(|c| c.outcome() == outcome).filter_map(place) {
            mark(svg, at, form, 3.2, color);
        }
    }
    panel.frame(svg, &shown(&across, outer.0), &shown(&up, outer.1), SMALL);

    let agree = algorithm.cases.iter().filter(|c| c.stable == c.settled).count();
    let hidden = algorithm.cases.iter().filter(|c| place(c).is_none()).count();
    let mut note = format!("{agree} of {} agree", algorithm.cases.len());
    if hidden > 0 {
        note.push_str(&format!(", {hidden} not drawn"));
    }
    let (width, base) = (x.to - x.from, y.to - 5.0);
    let size = fitting(&note, SMALL, 0.6 * width);
    let room = width - super::svg::text_width(&note, size) - 6.0;
    let name = Font { bold: true, ..Font::new(fitting(algorithm.label, 12.0, room / 1.08), Anchor::Start) };
    svg.text((x.from, base), algorithm.label, name);
    svg.text((x.to, base), &note, Font::new(size, Anchor::End));
}
