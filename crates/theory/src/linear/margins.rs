//! Distance of a loop from its limit of stability.

use std::f64::consts::{PI, TAU};

use num_complex::Complex64;
use serde::Serialize;

use super::roots::MOST_STEPS;
use super::transfer::{Loop, Windows};
use crate::error::TheoryError;
use crate::num::routh::Routh;
use crate::num::{Poly, Rational, complex};

/// Distance of the loop from its limit of stability.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Margins {
    /// The factor by which the gain may rise before the loop is unstable; of an unstable loop, the one
    /// to which it must fall. `None` if no factor changes the verdict.
    pub gain: Option<f64>,
    /// The smallest turn of the phase that makes the curve of Nyquist meet -1, in radians: positive for
    /// a lag, negative for a lead; of an unstable loop always the lead. `None` without a crossover.
    pub phase: Option<f64>,
    /// The smallest further delay at which a root crosses the imaginary axis, in seconds. `None` without
    /// a crossover, and of an unstable loop.
    pub delay: Option<f64>,
    /// Frequencies at which the gain is 1, in radians per second, rising.
    pub crossovers: Vec<f64>,
    /// Frequencies at which the loop's value is negative, in radians per second, rising: those that matter to
    /// the gain margin.
    pub phase_crossovers: Vec<f64>,
}

/// Two crossings closer than this share of their frequency are taken for a curve that only touches.
const APART: f64 = 1e-6;

impl Loop {
    /// Frequencies at which the gain is 1, in radians per second, rising.
    ///
    /// # Errors
    /// The loop does not become quiet at high frequencies.
    pub fn crossovers(&self) -> Result<Vec<f64>, TheoryError> {
        let top = self.ceiling(0.0)?;
        self.crossings(
            0.0,
            top,
            &self.poles,
            |over, under| over.norm_sqr() - under.norm_sqr(),
            |b| 2.0 * (b.0 * b.1 + b.2 * b.3),
        )
    }

    /// Frequencies at which a function of `B Z` and `E D` changes its sign, with a polynomial for D.
    fn crossings(
        &self,
        from: f64,
        to: f64,
        d: &Poly,
        f: impl Fn(Complex64, Complex64) -> f64,
        slope: impl Fn((f64, f64, f64, f64)) -> f64,
    ) -> Result<Vec<f64>, TheoryError> {
        let z = &self.controller.numerator;
        let (dz, dd) = (z.derivative(), d.derivative());
        let value = |w: f64| {
            let s = Complex64::new(0.0, w);
            let v = self.values(s);
            f(v.b * z.at(s), v.e * d.at(s))
        };
        let slope = |a: f64, b: f64| {
            let v = self.bounds(0.0, a, b)?;
            Some(slope((
                v.b * z.bound(b),
                v.db * z.bound(b) + v.b * dz.bound(b),
                v.e * d.bound(b),
                v.de * d.bound(b) + v.e * dd.bound(b),
            )))
        };
        sign_changes(from, to, value, slope)
    }

    /// Refuses an algorithm or windows with a pole of their own where no margin is defined.
    fn open_loop(&self) -> Result<(), TheoryError> {
        if self.classes.iter().any(Windows::may_grow) {
            let alone =
                Loop { controller: Rational::new([0.0], [1.0]), poles: Poly::new([1.0]), ..self.clone() };
            let growing = alone.unstable_roots()?;
            if growing > 0 {
                return Err(TheoryError::UnstableOpenLoop {
                    reason: format!(
                        "the windows themselves have {growing} growing modes because their round-trip time is long \
                         compared with the time between signals, but margins need a loop that is stable when opened; \
                         ask for the number of unstable roots instead"
                    ),
                });
            }
        }
        let own = Routh::of(&self.controller.denominator)?;
        let at_origin = self.controller.denominator.coefficients().iter().take_while(|&&c| c == 0.0).count();
        if own.right == 0 && own.on_axis == at_origin {
            return Ok(());
        }
        let poles = self.controller.denominator.roots();
        let worst = poles
            .into_iter()
            .filter(|p| *p != Complex64::ZERO)
            .max_by(|a, b| a.re.total_cmp(&b.re))
            .unwrap_or_default();
        Err(TheoryError::UnstableOpenLoop {
            reason: format!(
                "the algorithm itself has a pole at s = {:.6} {:+.6}j per second, but margins need a loop that is \
                 stable when opened; ask for the number of unstable roots instead",
                worst.re, worst.im
            ),
        })
    }

    /// Gain, phase and delay margins.
    ///
    /// # Errors
    /// The open loop is unstable by itself, or a root lies on the axis.
    pub fn margins(&self) -> Result<Margins, TheoryError> {
        self.open_loop()?;
        let stable = self.unstable_roots()? == 0;
        let crossovers = self.crossovers()?;
        let lag = |w: f64| {
            let l = self.response(w);
            (PI + complex::arg(l)).rem_euclid(TAU)
        };
        let phase = crossovers
            .iter()
            .map(|&w| if lag(w) > PI || !stable { lag(w) - TAU } else { lag(w) })
            .min_by(|a, b| a.abs().total_cmp(&b.abs()));
        let delay = if stable { crossovers.iter().map(|&w| lag(w) / w).min_by(f64::total_cmp) } else { None };
        let phase_crossovers = self.phase_crossovers()?;
        let mut factors: Vec<f64> = phase_crossovers
            .iter()
            .map(|&w| 1.0 / complex::norm(self.response(w)))
            .filter(|&k| (k > 1.0) == stable)
            .collect();
        factors.sort_by(f64::total_cmp);
        let gain = if stable {
            factors.first().copied()
        } else {
            // Each count costs, and a loop far beyond its limit has hundreds of these: halve, as stable
            // below and unstable above one of them.
            let below = |k: &f64| self.with_gain(k * (1.0 - 1e-6)).stable();
            factors[..factors.partition_point(below)].last().copied()
        };
        Ok(Margins { gain, phase, delay, crossovers, phase_crossovers })
    }

    /// Frequencies at which L is negative, up to where its gain no longer matters to the gain margin.
    pub(super) fn phase_crossovers(&self) -> Result<Vec<f64>, TheoryError> {
        let top = self.ceiling(0.0)?;
        let shortest = self.classes.iter().map(|c| c.rtt).fold(f64::INFINITY, f64::min);
        let mut found: Vec<f64> = Vec::new();
        let (mut from, mut to) = (top * 1e-9, top);
        let least = complex::norm(self.response(top)) * 1e-6;
        // Poles at the origin turn the phase by quarters; what their factors of s do to the size matters not here, and
        // of two integrators nothing would be left at low frequencies to tell the sign from.
        let coefficients = self.poles.coefficients();
        let origin = coefficients.iter().take_while(|&&c| c == 0.0).count();
        let rest = Poly::new(&coefficients[origin..]);
        let quarters = Complex64::I.powu(origin as u32);
        loop {
            let negative = self
                .crossings(
                    from,
                    to,
                    &rest,
                    |over, under| (over * (under * quarters).conj()).im,
                    |b| b.1 * b.2 + b.0 * b.3,
                )?
                .into_iter()
                .filter(|&w| self.response(w).re < 0.0);
            found.extend(negative);
            let best = found
                .iter()
                .map(|&w| complex::norm(self.response(w)))
                .filter(|&g| g < 1.0)
                .fold(0.0, f64::max);
            let (b, ed) = self.tail(0.0, to).unwrap_or((f64::INFINITY, 1.0));
            if b / ed <= best.max(least) {
                return Ok(found);
            }
            (from, to) = (to, to + (TAU / shortest).max(0.5 * to));
        }
    }
}

/// Points at which `f` changes its sign between `from` and `to`; `slope` bounds its slope.
fn sign_changes(
    from: f64,
    to: f64,
    f: impl Fn(f64) -> f64,
    slope: impl Fn(f64, f64) -> Option<f64>,
) -> Result<Vec<f64>, TheoryError> {
    let mut found = Vec::new();
    let mut open = vec![(from, to)];
    for _ in 0..MOST_STEPS {
        let Some((a, b)) = open.pop() else { return Ok(found) };
        let middle = 0.5 * (a + b);
        // The bound over the whole piece, from the middle either way.
        let none = slope(a, b).is_some_and(|m| f(middle).abs() > 0.5 * m * (b - a));
        if none {
            continue;
        }
        if b - a > APART * b {
            open.push((middle, b));
            open.push((a, middle));
            continue;
        }
        let (fa, fb) = (f(a), f(b));
        if fa != 0.0 && (fb == 0.0 || fa.is_sign_negative() != fb.is_sign_negative()) {
            found.push(root_between(a, b, &f));
        }
    }
    Err(TheoryError::Tolerance {
        at: 0.0,
        reason: format!("crossovers between {from} and {to} rad/s are too many to separate"),
    })
}

/// The change of sign between two points, by halving.
fn root_between(mut a: f64, mut b: f64, f: &impl Fn(f64) -> f64) -> f64 {
    let negative = f(a).is_sign_negative();
    for _ in 0..60 {
        let middle = 0.5 * (a + b);
        if f(middle).is_sign_negative() == negative { a = middle } else { b = middle }
    }
    0.5 * (a + b)
}
