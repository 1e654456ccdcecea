//! Gain and phase over frequency.

use super::axis::{Axis, Scale, Tick, linear_ticks, rounded};
use super::plot::{BELOW, Column, Form, LEFT, Panel, RIGHT, SMALL, Sign, head, mark, style, table};
use super::sheet::Sheet;
use super::svg::{INK, Stroke, Svg};

const HEIGHT: f64 = 210.0;
const GAP: f64 = 18.0;

/// A delay turns the phase without limit; below this it is drawn only where a margin is.
const LEAST_PHASE: f64 = -360.0;
/// Gains beyond this are not told apart.
const MOST_GAIN: f64 = 100.0;
/// Degrees beyond which a phase does not widen the diagram, whatever it is: a computation went wrong.
const MOST_PHASE: f64 = 1e6;

/// A crossing of the gain of one or of the phase of -180 degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The frequency in rad/s.
    pub frequency: f64,
    /// The margin there: degrees above -180 at the gain of one, decibels below 0 at the phase of -180.
    pub margin: f64,
}

/// The frequency response of an open loop.
#[derive(Clone, Debug)]
pub struct Response<'a> {
    /// Its name, that of an algorithm.
    pub label: &'a str,
    /// The frequencies in rad/s, rising.
    pub frequency: Vec<f64>,
    /// The gain in decibels, at each frequency.
    pub gain: Vec<f64>,
    /// The phase in degrees, unwrapped, at each frequency.
    pub phase: Vec<f64>,
    /// The crossings of the gain of one, with the phase margin in degrees.
    pub crossover: Option<Crossing>,
    /// The crossings of the phase of -180 degrees, with the gain margin in decibels.
    pub phase_crossover: Option<Crossing>,
}

impl Response<'_> {
    /// A curve at a frequency, between its points; `None` outside of them.
    fn at(&self, curve: &[f64], frequency: f64) -> Option<f64> {
        let i = self.frequency.windows(2).position(|f| f[0] <= frequency && frequency <= f[1])?;
        let (f, v) = (&self.frequency[i..], &curve[i..]);
        if f[0] == f[1] {
            return Some(v[0]);
        }
        let share = libm::log(frequency / f[0]) / libm::log(f[1] / f[0]);
        Some(v[0] + share * (v[1] - v[0])).filter(|v| v.is_finite())
    }
}

/// Draws gain and phase over the frequency. A table names the curves and says where they cross and their
/// margins; the same places are marked in the diagrams, each with a line as long as the margin.
///
/// # Panics
///
/// If a response does not have as many gains and phases as frequencies.
pub fn bode(sheet: &Sheet<'_>, responses: &[Response<'_>]) -> String {
    for r in responses {
        assert_eq!(r.gain.len(), r.frequency.len(), "gains and frequencies of {:?}", r.label);
        assert_eq!(r.phase.len(), r.frequency.len(), "phases and frequencies of {:?}", r.label);
    }
    let (sheet, mut svg) = (sheet.sized(), Svg::default());
    let top = head(&mut svg, &sheet);
    let (left, right) = (LEFT, sheet.width - RIGHT);
    let top = figures(&mut svg, responses, (left, right), top) + 4.0;

    let frequencies = responses.iter().flat_map(|r| &r.frequency).copied();
    let x = Scale::of(&Axis::log(""), frequencies, (left, right));
    let gains = responses.iter().flat_map(|r| &r.gain).map(|g| g.clamp(-MOST_GAIN, MOST_GAIN));
    let gain = Scale::of(&Axis::linear(""), gains.chain([0.0]), (top + HEIGHT, top));
    let (gain, gain_ticks) = stepped(gain, &[0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0]);
    let gain = Panel { x, y: gain };
    let top = top + HEIGHT + GAP;
    let marked = responses.iter().flat_map(|r| {
        let crossings = [r.crossover, r.phase_crossover];
        let phases = crossings.into_iter().flatten().filter_map(|c| r.at(&r.phase, c.frequency));
        phases.map(|p| p.clamp(-MOST_PHASE, MOST_PHASE))
    });
    let phases = responses.iter().flat_map(|r| &r.phase).map(|p| p.clamp(LEAST_PHASE, MOST_PHASE));
    let phase = Scale::of(&Axis::linear(""), phases.chain(marked).chain([-180.0]), (top + HEIGHT, top));
    let (phase, phase_ticks) = stepped(phase, &[1.0, 5.0, 15.0, 30.0, 45.0, 90.0, 180.0]);
    // A loop with an integrator begins at a tick: not on the frame.
    let phase = Panel { x, y: phase.extended(0.0, 0.05 * phase.span()) };

    let across = gain.ticks_across(70.0);
    let unlabeled: Vec<_> =
        across.iter().map(|t| Tick { label: t.label.as_ref().map(|_| String::new()), ..t.clone() }).collect();
    for (panel, across, up, name, critical) in [
        (gain, &unlabeled, gain_ticks, "gain (dB)", 0.0),
        (phase, &across, phase_ticks, "phase (degrees)", -180.0),
    ] {
        panel.grid(&mut svg, across, &up);
        panel.frame(&mut svg, across, &up, SMALL);
        panel.name_y(&mut svg, name);
        if let Some(y) = panel.y.at(critical) {
            svg.line((left, y), (right, y), Stroke { color: INK, width: 1.0, dashes: &[5, 3] });
        }
    }
    phase.name_x(&mut svg, "frequency (rad/s)");
    for (i, r) in responses.iter().enumerate() {
        let points = |values| r.frequency.iter().copied().zip::<&[f64]>(values).map(|(f, v)| (f, *v));
        svg.strokes(&gain.curve(points(&r.gain)), style(i));
        svg.strokes(&phase.curve(points(&r.phase)), style(i));
    }
    // Above all curves.
    for (i, r) in responses.iter().enumerate() {
        margins(&mut svg, r, gain, phase, style(i).color);
    }
    svg.finish((sheet.width, phase.y.from + BELOW), sheet.title, sheet.description)
}

/// Writes the table.
fn figures(svg: &mut Svg, responses: &[Response<'_>], (left, right): (f64, f64), top: f64) -> f64 {
    let width = right - left;
    let column = |head, form, share: f64| Column { head, form, end: share * width };
    let columns = [
        column("crossover", Some(Form::Circle), 0.46),
        column("phase margin", None, 0.62),
        column("phase crossover", Some(Form::Square), 0.84),
        column("gain margin", None, 1.0),
    ];
    let shown = |c: Option<Crossing>, f: &dyn Fn(Crossing) -> String| c.map_or("none".to_string(), f);
    let rows: Vec<_> = responses
        .iter()
        .enumerate()
        .map(|(i, r)| {
            let figures = vec![
                shown(r.crossover, &|c| format!("{} rad/s", rounded(c.frequency))),
                shown(r.crossover, &|c| format!("{}°", rounded(c.margin))),
                shown(r.phase_crossover, &|c| format!("{} rad/s", rounded(c.frequency))),
                shown(r.phase_crossover, &|c| format!("{} dB", rounded(c.margin))),
            ];
            (Sign::Line(style(i)), r.label, figures)
        })
        .collect();
    table(svg, &columns, &rows, (left, top))
}

/// Marks where a loop crosses, in both diagrams.
fn margins(svg: &mut Svg, r: &Response<'_>, gain: Panel, phase: Panel, color: &str) {
    let line = Stroke::solid(color, 1.3);
    if let Some(c) = r.crossover {
        if let Some(place) = gain.inside(c.frequency, 0.0) {
            mark(svg, place, Form::Circle, 4.5, color);
        }
        if let Some(at) = r.at(&r.phase, c.frequency) {
            svg.strokes(&phase.curve([(c.frequency, at - c.margin), (c.frequency, at)].into_iter()), line);
            if let Some(place) = phase.inside(c.frequency, at) {
                mark(svg, place, Form::Circle, 4.5, color);
            }
        }
    }
    if let Some(c) = r.phase_crossover {
        if let Some(place) = r.at(&r.phase, c.frequency).and_then(|at| phase.inside(c.frequency, at)) {
            mark(svg, place, Form::Square, 4.5, color);
        }
        if let Some(at) = r.at(&r.gain, c.frequency) {
            svg.strokes(&gain.curve([(c.frequency, 0.0), (c.frequency, at)].into_iter()), line);
            if let Some(place) = gain.inside(c.frequency, at) {
                mark(svg, place, Form::Square, 4.5, color);
            }
        }
    }
}

/// A scale that begins and ends at ticks, and these, at multiples of the first of `steps` that gives at most
/// seven; of whole multiples of the last if none does.
fn stepped(scale: Scale, steps: &[f64]) -> (Scale, Vec<Tick>) {
    let (low, high) = scale.ends();
    let rough = (high - low) / 5.0;
    let last = steps[steps.len() - 1];
    let step = steps.iter().copied().find(|s| *s >= rough).unwrap_or((rough / last).ceil() * last);
    let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
    let axis = Axis::linear("").between(low, high);
    let scale = Scale::of(&axis, std::iter::empty(), (scale.from, scale.to));
    (scale, linear_ticks(low, high, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_marked_at_angles_that_mean_something() {
        let ticks = |low: f64, high: f64| -> Vec<f64> {
            let scale = Scale::of(&Axis::linear("").between(low, high), std::iter::empty(), (0.0, 1.0));
            stepped(scale, &[45.0, 90.0, 180.0]).1.iter().map(|t| t.value).collect()
        };
        assert_eq!(ticks(-350.0, 0.0), [-360.0, -270.0, -180.0, -90.0, 0.0]);
        assert_eq!(ticks(-269.0, -91.0), [-270.0, -225.0, -180.0, -135.0, -90.0]);
        assert_eq!(ticks(-4000.0, 0.0), [-4500.0, -3600.0, -2700.0, -1800.0, -900.0, 0.0]);
    }

    #[test]
    fn a_response_between_its_points() {
        let r = Response {
            label: "",
            frequency: vec![1.0, 100.0],
            gain: vec![20.0, -20.0],
            phase: vec![0.0, f64::NAN],
            crossover: None,
            phase_crossover: None,
        };
        assert_eq!(r.at(&r.gain, 10.0), Some(0.0));
        assert_eq!(r.at(&r.gain, 0.5), None);
        assert_eq!(r.at(&r.phase, 10.0), None);
    }
}
