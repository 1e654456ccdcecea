//! The roots of the characteristic function: how many lie to the right, and which lies furthest there.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use num_complex::Complex64;
use serde::Serialize;

use super::transfer::{Loop, Plant, Windows};
use crate::controller::Input;
use crate::error::TheoryError;
use crate::num::complex;

/// Bounds of `|E|` and `|B|` and of their first and second derivative on a piece of a vertical line.
pub(super) struct Bounds {
    pub(super) e: f64,
    pub(super) de: f64,
    pub(super) dde: f64,
    pub(super) b: f64,
    pub(super) db: f64,
    pub(super) ddb: f64,
}

/// A mode of the closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mode {
    /// The root, per second.
    pub root: Complex64,
    /// `-Re/|root|`.
    pub damping: f64,
    /// The period in seconds, if it oscillates.
    pub period: Option<f64>,
    /// Time in which it falls to 2%, four time constants, in seconds; `None` if it does not fall.
    pub settling: Option<f64>,
}

/// Steps after which a curve is not followed any further.
pub(super) const MOST_STEPS: usize = 5_000_000;

impl Loop {
    /// Tells whether E grows with s.
    fn grows(&self) -> bool {
        self.input == Input::Queue && !self.integrates
    }

    /// The power of s that F grows with.
    pub(super) fn degree(&self) -> usize {
        self.poles.degree() + usize::from(self.grows())
    }

    /// Bounds from `sigma + j from` to `sigma + j to`; `None` if a window's own mode may lie there.
    pub(super) fn bounds(&self, sigma: f64, from: f64, to: f64) -> Option<Bounds> {
        let s = Complex64::new(sigma, from);
        let farthest = libm::hypot(sigma.abs(), to.abs().max(from.abs()));
        let nearest = if from * to > 0.0 { from.abs().min(to.abs()) } else { 0.0 };
        let queue = self.grows();
        let mut v = Bounds {
            e: if queue { farthest + self.leak } else { 1.0 },
            de: if queue { 1.0 } else { 0.0 },
            dde: 0.0,
            b: self.direct,
            db: 0.0,
            ddb: 0.0,
        };
        for c in &self.classes {
            let size = libm::exp(-sigma * c.rtt);
            let (slope, bend) = match self.plant {
                Plant::Exact => (1.0 + c.own.1 * c.rtt * size, c.own.1 * c.rtt * c.rtt * size),
                Plant::Simplified => (1.0, 0.0),
            };
            let window = c.motion(self.plant, s).0;
            let least = complex::norm(window) - slope * (to - from);
            if least <= 0.0 {
                return None;
            }
            // As in `Loop::curvature`, term by term.
            let (turn, bend) = (slope / least, bend / least);
            let twice = 2.0 * turn * turn + bend;
            if self.integrates {
                let part = c.leak() / least;
                v.e += part;
                v.de += part * turn;
                v.dde += part * twice;
            } else if queue {
                let part = c.coupling / least;
                let (turns, moves) = self.turns(c, size);
                v.e += part * turns;
                v.de += part * (moves + turns * turn);
                v.dde += part * (c.rtt * moves + 2.0 * moves * turn + turns * twice);
            }
            let [answer, first, second] = c.answer_bound(libm::hypot(sigma + c.filter, nearest))?;
            let (part, falls) = (size / least, c.rtt + turn);
            v.b += answer * part;
            v.db += part * (first + answer * falls);
            v.ddb += part * (second + 2.0 * first * falls + answer * (falls * falls + turn * turn + bend));
        }
        if self.extra != 0.0 {
            let size = libm::exp(-sigma * self.extra);
            v.ddb = size * (v.ddb + self.extra * (2.0 * v.db + self.extra * v.b));
            v.db = size * (v.db + self.extra * v.b);
            v.b *= size;
        }
        Some(v)
    }

    /// Bounds of a class's answer to the queue but for its coupling and its own motion, and of its slope.
    fn turns(&self, c: &Windows, size: f64) -> (f64, f64) {
        match self.plant {
            Plant::Exact => (c.turns.0.abs() + c.turns.1.abs() * size, c.turns.1.abs() * c.rtt * size),
            Plant::Simplified => ((c.turns.0 + c.turns.1).abs(), 0.0),
        }
    }

    /// Bounds of `|B|` and of what E has beside s, for `|s| >= r` on `Re s >= sigma`.
    pub(super) fn beyond(&self, sigma: f64, r: f64) -> Option<(f64, f64)> {
        let (mut b, mut rest) = (self.direct, if self.integrates { 0.0 } else { self.leak });
        for c in &self.classes {
            let size = libm::exp(-sigma * c.rtt).max(1.0);
            let least = match self.plant {
                Plant::Exact => r - c.own.0 - c.own.1 * size,
                Plant::Simplified => r - c.own.0 - c.own.1,
            };
            if least <= 0.0 {
                return None;
            }
            b += c.answer_bound(r - c.filter)?[0] * size / least;
            rest += if self.integrates { c.leak() } else { c.coupling * self.turns(c, size).0 } / least;
        }
        if self.input == Input::Rate {
            rest = 0.0;
        }
        Some((b * libm::exp(-sigma * self.extra).max(1.0), rest))
    }

    /// Bounds from r on: the most that `|B Z|` and the least that `|E D|` can be, both over the leading term
    /// of F.
    pub(super) fn tail(&self, sigma: f64, r: f64) -> Option<(f64, f64)> {
        let (b, rest) = self.beyond(sigma, r)?;
        let (z, d) = (&self.controller.numerator, &self.poles);
        let lead = d.coefficients()[d.degree()].abs() * libm::pow(r, d.degree() as f64);
        let scale = if self.grows() { r } else { 1.0 };
        let all = d.bound(r);
        let lesser = rest * all + scale * (all - lead);
        Some((b * z.bound(r) / (scale * lead), 1.0 - lesser / (scale * lead)))
    }

    /// A frequency from which on the leading term of F outweighs the others by half.
    pub(super) fn ceiling(&self, sigma: f64) -> Result<f64, TheoryError> {
        let mut r = self.classes.iter().map(|c| c.tau.max(0.1 / c.rtt)).fold(sigma.abs(), f64::max);
        while r < 1e15 {
            if self.tail(sigma, r).is_some_and(|(b, ed)| ed - b > 0.5) {
                return Ok(r);
            }
            r *= 1.5;
        }
        Err(TheoryError::quantity(
            "the loop's gain",
            format!("{:e} packets/s per unit of p at most", self.beyond(sigma, 1e15).map_or(0.0, |b| b.0)),
            "must fall below 1 before 1e15 rad/s",
        ))
    }

    /// Roots of F with a real part above `sigma`.
    pub(super) fn roots_beyond(&self, sigma: f64) -> Result<usize, TheoryError> {
        let top = self.ceiling(sigma)?;
        let (z, d) = (&self.controller.numerator, &self.poles);
        let (dz, dd) = (z.derivative(), d.derivative());
        let (ddz, ddd) = (dz.derivative(), dd.derivative());
        let value = |w: f64| self.characteristic(Complex64::new(sigma, w));
        let bend = |a: f64, b: f64| {
            let v = self.bounds(sigma, a, b)?;
            let r = libm::hypot(sigma, b);
            let e = v.dde * d.bound(r) + 2.0 * v.de * dd.bound(r) + v.e * ddd.bound(r);
            let b = v.ddb * z.bound(r) + 2.0 * v.db * dz.bound(r) + v.b * ddz.bound(r);
            Some(e + b)
        };
        // At the top, F is its leading term but for a factor in the right half-plane, which tends to 1.
        let n = self.degree() as f64;
        let turned = turn(top, value, bend)?;
        let end = Complex64::new(sigma, top);
        let lead = d.coefficients()[d.degree()] * end.powu(self.degree() as u32);
        let total = turned + n * (FRAC_PI_2 - complex::arg(end)) - complex::arg(value(top).0 / lead);
        let mut roots = whole(n / 2.0 - total / PI)?;
        // F has poles: the windows' own modes, and the estimates of the share of marks, to the left of the axis but
        // for windows that grow by themselves.
        if self.plant == Plant::Exact {
            for c in self.classes.iter().filter(|c| sigma < 0.0 || c.may_grow()) {
                let size = libm::exp(-sigma * c.rtt);
                let value = |w: f64| c.own(Complex64::new(sigma, w));
                let bend = |_: f64, _: f64| Some(c.own.1 * c.rtt * c.rtt * size);
                let top = 2.0 * (sigma.abs() + c.own.0 + c.own.1 * size);
                let turned = turn(top, value, bend)?;
                let end = Complex64::new(sigma, top);
                let total = turned + FRAC_PI_2 - complex::arg(end) - complex::arg(value(top).0 / end);
                roots += whole(0.5 - total / PI)?;
            }
        } else if sigma < 0.0 {
            roots += self.classes.iter().filter(|c| -c.own.0 - c.own.1 > sigma).count() as i64;
        }
        roots += self.filters().iter().filter(|&&f| -f > sigma).count() as i64;
        usize::try_from(roots).map_err(|_| TheoryError::Tolerance {
            at: 0.0,
            reason: format!("a count of roots came out as {roots}"),
        })
    }

    /// Roots of the closed loop to the right of the imaginary axis, conjugates included: 0 is stable.
    /// By the principle of the argument, in steps that a bound on the curvature proves small enough.
    ///
    /// # Errors
    /// A root lies on the axis, as near as numbers tell.
    pub fn unstable_roots(&self) -> Result<usize, TheoryError> {
        self.roots_beyond(0.0)
    }

    /// Tells whether every mode dies out. A root on the axis, as near as numbers tell, does not.
    pub fn stable(&self) -> bool {
        self.unstable_roots() == Ok(0)
    }

    /// The slowest mode of the closed loop, or the fastest to grow: the root farthest to the right.
    ///
    /// # Errors
    /// No root could be confirmed as the farthest.
    pub fn mode(&self) -> Result<Mode, TheoryError> {
        let mut starts: Vec<Complex64> = vec![Complex64::ZERO];
        for w in self.crossovers()?.into_iter().chain(self.phase_crossovers()?) {
            starts.extend([0.0, -0.3, 0.1].map(|x| Complex64::new(x * w, w)));
        }
        for c in &self.classes {
            starts.extend([0.3, 1.0, 3.0].map(|k| Complex64::new(-k * c.tau, 0.0)));
            starts.extend([0.3, 1.0, 2.0].map(|k| Complex64::new(-k / c.rtt, 0.0)));
        }
        // Between the own modes of two classes lies one of the loop.
        let mut own: Vec<Complex64> = self.classes.iter().filter_map(Windows::slowest).collect();
        own.sort_by(|a, b| a.re.total_cmp(&b.re));
        starts.extend(own.windows(2).map(|w| 0.5 * (w[0] + w[1])));
        starts.extend(own.iter().map(|s| s * 1.001));
        starts.extend(self.filters().iter().map(|f| Complex64::new(-0.9 * f, 0.0)));
        starts.extend(self.controller.numerator.roots());
        starts.extend(self.controller.denominator.roots().iter().map(|p| p * 0.9));
        let best = starts
            .into_iter()
            .filter_map(|s| self.search(s, &[]))
            .max_by(|a, b| a.re.total_cmp(&b.re))
            .filter(|root| self.roots_beyond(root.re + 1e-6 * complex::norm(*root)) == Ok(0));
        let root = match best {
            Some(root) => root,
            None => self.rightmost()?,
        };
        let size = complex::norm(root);
        let oscillates = root.im > 1e-9 * size;
        Ok(Mode {
            root,
            damping: -root.re / size,
            period: oscillates.then(|| TAU / root.im),
            settling: (root.re < 0.0).then(|| -4.0 / root.re),
        })
    }

    /// What a logarithm has beside F's: that of the windows' own characteristics and the estimates', since F has poles
    /// at their roots and the product has none, less that of the roots already known, which the quotient no longer has
    /// (Maehly 1954). Its first and second derivative.
    fn beside(&self, s: Complex64, known: &[Complex64]) -> (Complex64, Complex64) {
        let (mut first, mut second) = (Complex64::ZERO, Complex64::ZERO);
        for c in &self.classes {
            let (motion, slope) = c.motion(self.plant, s);
            let turn = slope / motion;
            first += turn;
            second += c.bend(self.plant, s) / motion - turn * turn;
        }
        for lag in self.filters().into_iter().map(|f| (s + f).inv()) {
            first += lag;
            second -= lag * lag;
        }
        for near in known.iter().map(|r| (s - r).inv()) {
            first -= near;
            second += near * near;
        }
        (first, second)
    }

    /// Newton's step at `s`, to a root that is not known.
    pub(super) fn step(&self, s: Complex64, known: &[Complex64]) -> Complex64 {
        let (f, slope) = self.characteristic(s);
        if f == Complex64::ZERO {
            return f;
        }
        (slope / f + self.beside(s, known).0).inv()
    }

    /// The step to the nearer root of the parabola that touches at `s`, which is the step of Laguerre's method for
    /// degree two. Of a pair of roots that lie close together Newton's method sees only the middle: beside a double root it
    /// halves the distance and no more, and from between two conjugates it never leaves the real axis.
    fn parabola(&self, s: Complex64, known: &[Complex64]) -> Complex64 {
        let (f, slope) = self.characteristic(s);
        if f == Complex64::ZERO {
            return f;
        }
        let (first, second) = self.beside(s, known);
        let turn = slope / f;
        let rise = turn + first;
        let bend = self.curvature(s) / f - turn * turn + second;
        let apart = complex::sqrt(-rise * rise - 2.0 * bend);
        let (plus, minus) = (rise + apart, rise - apart);
        2.0 / if complex::norm(plus) >= complex::norm(minus) { plus } else { minus }
    }

    /// The root that Newton's method finds from `s`, or a parabola where Newton's does not settle, in the upper
    /// half-plane and not among those known.
    fn search(&self, from: Complex64, known: &[Complex64]) -> Option<Complex64> {
        let settle = |mut s: Complex64, steps: usize, step: &dyn Fn(Complex64) -> Complex64| {
            let mut last = f64::INFINITY;
            for _ in 0..steps {
                let step = step(s);
                s -= step;
                last = complex::norm(step) / complex::norm(s);
                if last <= 1e-14 || !s.is_finite() {
                    break;
                }
            }
            (s, last)
        };
        let (mut s, mut last) = settle(from, 100, &|s| self.step(s, known));
        if last.is_nan() || last > 1e-14 {
            let near = if last <= 1e-6 { s } else { from };
            (s, last) = settle(near, 50, &|s| self.parabola(s, known));
        }
        // Near a double root steps stay at the root of the rounding; a point far out, where nothing moves
        // any more, is not a root.
        let v = self.bounds(s.re, s.im, s.im)?;
        let size = v.e * self.poles.bound(complex::norm(s))
            + v.b * self.controller.numerator.bound(complex::norm(s));
        let found =
            last <= 1e-6 && size.is_finite() && complex::norm(self.characteristic(s).0) <= 1e-9 * size;
        found.then_some(Complex64::new(s.re, s.im.abs()))
    }

    /// The root farthest to the right, by counting roots right of lines ever closer to it.
    pub(super) fn rightmost(&self) -> Result<Complex64, TheoryError> {
        let scale = 1.0 / self.classes.iter().map(|c| c.rtt).fold(0.0, f64::max);
        // A line through a root cannot be counted on; one beside it can.
        let beyond = |x: f64, room: f64| {
            let count = |x: f64| self.roots_beyond(x).map(|n| (n, x));
            count(x).or_else(|_| count(x + 0.2 * room)).or_else(|_| count(x - 0.2 * room))
        };
        let (mut low, mut high, mut right) = (-0.5 * scale, 0.5 * scale, 0);
        loop {
            let (n, x) = beyond(high, 0.5 * scale)?;
            high = x;
            if n == 0 {
                break;
            }
            (low, high, right) = (x, 2.0 * high, n);
        }
        while right == 0 {
            let (n, x) = beyond(low, 0.5 * scale)?;
            if n == 0 {
                (low, high) = (2.0 * x, x);
            } else {
                (low, right) = (x, n);
            }
            if low < -100.0 * scale {
                return Err(TheoryError::Tolerance {
                    at: 0.0,
                    reason: format!("no root right of {low} per second"),
                });
            }
        }
        let mut width = 1e-3;
        loop {
            let size = high.abs().max(low.abs()).max(1e-6 * scale);
            while high - low > width * size {
                let (n, x) = beyond(0.5 * (low + high), high - low)?;
                if n > 0 { (low, right) = (x, n) } else { high = x }
            }
            let found = self.between(low, high, right)?;
            let count: usize = found.iter().map(|r| if r.im == 0.0 { 1 } else { 2 }).sum();
            let best = found.into_iter().max_by(|a, b| a.re.total_cmp(&b.re));
            // All of them are found; or what is found is as far to the right as is asked.
            if let Some(root) = best.filter(|_| count == right || width <= 1e-6) {
                return Ok(root);
            }
            if width <= 1e-6 {
                return Err(TheoryError::Tolerance {
                    at: 0.0,
                    reason: format!(
                        "{right} roots lie between {low} and {high} per second, and neither Newton's method nor a parabola finds them"
                    ),
                });
            }
            width *= 0.1;
        }
    }

    /// Roots between two lines, right of which lie `count` and none, as many as are found.
    fn between(&self, low: f64, high: f64, count: usize) -> Result<Vec<Complex64>, TheoryError> {
        let scale = 1.0 / self.classes.iter().map(|c| c.rtt).fold(0.0, f64::max);
        // Along the line on the right Newton's step is shortest beside the root.
        let top = self.ceiling(high)?;
        // A slow mode may lie decades below the top: in equal steps and in equal ratios.
        let points = 20_000;
        let even = (0..=points).map(|i| top * f64::from(i) / f64::from(points));
        let lowest = 1e-6 * high.abs().clamp(1e-6 * scale, scale);
        let ratios = (0..=points).map(|i| lowest * libm::pow(top / lowest, f64::from(i) / f64::from(points)));
        let mut near: Vec<f64> = even.chain(ratios).collect();
        near.sort_by(f64::total_cmp);
        let steps: Vec<(f64, Complex64)> = near
            .into_iter()
            .map(|w| Complex64::new(high, w))
            .map(|s| (complex::norm(self.step(s, &[])), s))
            .collect();
        let least = |i: usize| {
            let before = i.checked_sub(1).map_or(f64::INFINITY, |j| steps[j].0);
            steps[i].0 <= before && steps.get(i + 1).is_none_or(|next| steps[i].0 <= next.0)
        };
        let mut starts: Vec<(f64, Complex64)> =
            (0..steps.len()).filter(|&i| least(i)).map(|i| steps[i]).collect();
        starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut found, mut known): (Vec<Complex64>, Vec<Complex64>) = (Vec::new(), Vec::new());
        for &(_, start) in starts.iter().take(50) {
            // Of several close together a start finds one after the other.
            while known.len() < count
                && let Some(root) = self.search(start, &known)
                && root.re > low
            {
                // What is as good as on the real axis has no conjugate of its own.
                let root =
                    if root.im > 1e-9 * complex::norm(root) { root } else { Complex64::new(root.re, 0.0) };
                found.push(root);
                known.push(root);
                if root.im > 0.0 {
                    known.push(root.conj());
                }
            }
        }
        Ok(found)
    }
}

/// A count that came out of angles.
pub(super) fn whole(x: f64) -> Result<i64, TheoryError> {
    if (x - x.round()).abs() < 1e-3 {
        return Ok(x.round() as i64);
    }
    Err(TheoryError::Tolerance { at: 0.0, reason: format!("a count of roots came out as {x}") })
}

/// Angle by which the argument of `f` turns from 0 to `top`, from its values and slopes. On each step `bend` bounds
/// the second derivative, so that by Taylor's theorem the curve stays on one side of the origin. With a bound of the
/// slope alone, steps beside a double root would be as short as the square of the distance from it: the value falls
/// with that square, and the bound does not fall.
pub(super) fn turn(
    top: f64,
    f: impl Fn(f64) -> (Complex64, Complex64),
    bend: impl Fn(f64, f64) -> Option<f64>,
) -> Result<f64, TheoryError> {
    let (mut at, mut here) = (0.0, f(0.0));
    let mut step = top / 64.0;
    let mut total = 0.0;
    for _ in 0..MOST_STEPS {
        if at >= top {
            return Ok(total);
        }
        let to = (at + step).min(top);
        let h = to - at;
        let enough = bend(at, to)
            .is_some_and(|m| complex::norm(here.1) * h + 0.5 * m * h * h < 0.95 * complex::norm(here.0));
        if enough {
            let next = f(to);
            total += complex::arg(next.0 / here.0);
            (at, here) = (to, next);
            step *= 1.5;
        } else {
            step = 0.5 * (to - at);
            // A slow mode beside the line needs steps as short as its distance.
            if step < (1e-15 * at).max(1e-18 * top) {
                break;
            }
        }
    }
    Err(TheoryError::Tolerance {
        at: 0.0,
        reason: format!(
            "a root lies on the line of the count, at {at} rad/s within floating-point accuracy: the loop is at its stability limit"
        ),
    })
}
