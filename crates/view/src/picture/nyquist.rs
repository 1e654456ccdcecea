//! Loops in the complex plane.

use super::axis::{Axis, Scale};
use super::plot::{BELOW, LEFT, Panel, Position, RIGHT, Sign, head, legend, style};
use super::sheet::Sheet;
use super::svg::{Anchor, FAINT, Font, INK, Stroke, Svg};

/// The least reach of the picture to the left of zero, if no curve crosses the real axis farther left.
const REACH: f64 = 2.5;
/// It reaches no farther than this, so that the surroundings of -1 remain visible.
const FARTHEST: f64 = 12.0;
/// The share of its width left of zero, and its height over its width.
const LEFT_SHARE: f64 = 0.62;
const ASPECT: f64 = 0.75;

/// The open loop at positive frequencies, as a curve in the complex plane.
#[derive(Clone, Debug)]
pub struct Locus<'a> {
    /// Its name in the legend.
    pub label: &'a str,
    /// Its real and imaginary parts, in the order of rising frequency.
    pub points: Vec<(f64, f64)>,
}

impl Locus<'_> {
    fn stretches(&self) -> impl Iterator<Item = ((f64, f64), (f64, f64))> {
        self.points.windows(2).map(|p| (p[0], p[1]))
    }

    /// The leftmost place where the curve crosses the real axis, as far as that is shown.
    fn leftmost(&self) -> Option<f64> {
        let crossings = self.stretches().filter(|(a, b)| (a.1 < 0.0) != (b.1 < 0.0)).map(|(a, b)| {
            let share = a.1 / (a.1 - b.1);
            a.0 + share * (b.0 - a.0)
        });
        crossings.filter(|re| *re < 0.0 && *re > -FARTHEST).reduce(f64::min)
    }

    /// The crossings of the unit circle.
    fn on_circle(&self) -> impl Iterator<Item = (f64, f64)> {
        let size = |p: (f64, f64)| libm::hypot(p.0, p.1);
        self.stretches().filter(move |(a, b)| (size(*a) < 1.0) != (size(*b) < 1.0)).map(move |(a, b)| {
            let share = (size(a) - 1.0) / (size(a) - size(b));
            let p = (a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1));
            // Back onto the circle from its chord.
            (p.0 / size(p), p.1 / size(p))
        })
    }
}

/// Draws the Nyquist curves around -1, with both axes to one scale. What is far from there is cut off,
/// because integrators come from infinity. Arrows point to higher frequencies; a dot is where the gain is
/// one.
pub fn nyquist(sheet: &Sheet<'_>, loci: &[Locus<'_>]) -> String {
    let (sheet, mut svg) = (sheet.sized(), Svg::default());
    let top = head(&mut svg, &sheet);
    let (left, right) = (LEFT, sheet.width - RIGHT);
    let circle = Stroke { color: FAINT, width: 1.2, dashes: &[4, 3] };
    let mut entries: Vec<_> = loci.iter().enumerate().map(|(i, l)| (Sign::Line(style(i)), l.label)).collect();
    entries.push((Sign::Line(circle), "gain of one"));
    let top = legend(&mut svg, &entries, (left, right), top) + 4.0;

    let farthest = loci.iter().filter_map(Locus::leftmost).fold(-REACH, |m, re| m.min(1.15 * re));
    let width = -farthest / LEFT_SHARE;
    let bottom = top + ASPECT * (right - left);
    let scale =
        |low: f64, high: f64, ends| Scale::of(&Axis::linear("").between(low, high), std::iter::empty(), ends);
    let panel = Panel {
        x: scale(farthest, farthest + width, (left, right)),
        y: scale(-0.5 * ASPECT * width, 0.5 * ASPECT * width, (bottom, top)),
    };
    panel.axes(&mut svg, "real part of the open loop", "imaginary part of the open loop");
    let axes = [[(farthest, 0.0), (farthest + width, 0.0)], [(0.0, -width), (0.0, width)]];
    for axis in axes {
        svg.strokes(&panel.curve(axis.into_iter()), Stroke::solid(FAINT, 0.8));
    }
    let around = (0..=180).map(|i| libm::sincos(f64::from(2 * i).to_radians()));
    svg.strokes(&panel.curve(around), circle);
    for (i, locus) in loci.iter().enumerate() {
        let strokes = panel.curve(locus.points.iter().copied());
        svg.strokes(&strokes, style(i));
        if let Some(corners) = arrow(&strokes) {
            svg.polygon(&corners, style(i).color);
        }
    }
    for (i, locus) in loci.iter().enumerate() {
        for (re, im) in locus.on_circle() {
            if let Some(place) = panel.inside(re, im) {
                svg.dot(place, 4.0, style(i).color);
            }
        }
    }
    if let Some((x, y)) = panel.inside(-1.0, 0.0) {
        for slope in [-5.0, 5.0] {
            svg.line((x - 5.0, y - slope), (x + 5.0, y + slope), Stroke::solid("#ffffff", 4.5));
        }
        for slope in [-5.0, 5.0] {
            svg.line((x - 5.0, y - slope), (x + 5.0, y + slope), Stroke::solid(INK, 2.2));
        }
        let font = Font { bold: true, rim: true, ..Font::new(13.0, Anchor::End) };
        svg.text((x - 9.0, y - 8.0), "−1", font);
    }
    svg.finish((sheet.width, bottom + BELOW), sheet.title, sheet.description)
}

/// A head of an arrow in the middle of the longest stroke.
fn arrow(strokes: &[Vec<Position>]) -> Option<[Position; 3]> {
    let step = |w: &[Position]| libm::hypot(w[1].0 - w[0].0, w[1].1 - w[0].1);
    let length = |s: &Vec<Position>| s.windows(2).map(step).sum::<f64>();
    let stroke = strokes.iter().max_by(|a, b| length(a).total_cmp(&length(b)))?;
    let mut left = 0.5 * length(stroke);
    for w in stroke.windows(2) {
        let here = step(w);
        if here > 0.0 && left <= here {
            let (dx, dy) = ((w[1].0 - w[0].0) / here, (w[1].1 - w[0].1) / here);
            let (x, y) = (w[0].0 + left * dx, w[0].1 + left * dy);
            let corner = |along: f64, aside: f64| (x + along * dx - aside * dy, y + along * dy + aside * dx);
            return Some([corner(8.0, 0.0), corner(-5.0, 5.5), corner(-5.0, -5.5)]);
        }
        left -= here;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_are_found_between_points() {
        let l = Locus { label: "", points: vec![(-4.0, -1.0), (-2.0, 1.0), (0.0, 0.0)] };
        assert_eq!(l.leftmost(), Some(-3.0));
        let on: Vec<_> = l.on_circle().collect();
        assert_eq!(on.len(), 1);
        assert!((on[0].0.hypot(on[0].1) - 1.0).abs() < 1e-12);
        let far = Locus { label: "", points: vec![(-400.0, -1.0), (-200.0, 1.0)] };
        assert_eq!(far.leftmost(), None);
    }

    #[test]
    fn arrows_point_along_the_curve() {
        let corners = arrow(&[vec![(0.0, 0.0), (100.0, 0.0)]]).unwrap();
        assert_eq!(corners[0], (58.0, 0.0));
        assert_eq!(arrow(&[]), None);
    }
}
