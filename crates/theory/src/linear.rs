//! A network and an algorithm near the point where they rest: one loop, with the delays kept as they
//! are.
//!
//! The flows are linearized as in vrc eq. 14 and appendix A.1, for any number of classes. With
//! `tau_i = increase/(W R_i)` and `e_i = e^(-s R_i)`, a class answers by
//!
//! ```text
//! (s + tau_i + tau_i e_i) dW_i = -increase/(R_i^2 C) (1 - e_i) dq - W^2/(a R_i) e_i dp
//! ```
//!
//! and the queue, with S = 1 for marks and S = 1 - p for drops, by
//!
//! ```text
//! s dq = S sum N_i/R_i (dW_i - W/(R_i C) dq) - [drops: arrivals] dp
//! ```
//!
//! since a dropped packet is missing from the queue at once. So `dq = -B(s)/E(s) dp`, and the loop is
//! `L = C(s) B(s)/E(s)`. An algorithm of the rate (AVQ) keeps the queue empty: no round-trip time moves,
//! and `E = 1`.
//!
//! The flows alone are stable: on the imaginary axis `Re E >= S sum N_i W/(R_i^2 C) (1 + tau_i w sin(w
//! R_i)/|s + tau_i + tau_i e_i|^2) > 0`, because `|...|^2 >= 4 w tau_i |sin(w R_i)|` where the sine is
//! negative. Hence E has no root to the right, and the loop is stable exactly if
//! `F = E(s) D(s) + B(s) Z(s)` has none, where `C = Z/D`.
//!
//! F is followed along the imaginary axis in steps that a bound on its slope proves small enough, so
//! that the count of its roots is right and not a matter of the grid.

use num_complex::Complex64;
use serde::Serialize;
use std::f64::consts::{FRAC_PI_2, PI, TAU};

use crate::error::{TheoryError, require};
use crate::models::{Controller, Input};
use crate::network::{Point, Signal};
use crate::poly::{Poly, Rational};
use crate::routh::Routh;

/// How much of the flows' delay is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plant {
    /// All of it (vrc eq. 14).
    #[default]
    Exact,
    /// `W(t - R)` and `q(t - R)` in the windows' own motion are those of now; only the signal is late
    /// (thesis eq. 4.2; Hollot, Misra, Towsley and Gong 2001). Good where `W` is much larger than 1.
    Simplified,
}

/// A class of flows in the loop.
#[derive(Clone, Copy, Debug)]
struct Windows {
    /// R in seconds.
    rtt: f64,
    /// `tau = increase/(W R)`, per second.
    tau: f64,
    /// `N/R W^2/(a R)`: how the rate's growth answers the signal, times S for the queue.
    gain: f64,
    /// `N/R increase/(R^2 C)`: how it answers the queue, times S.
    coupling: f64,
}

impl Windows {
    /// `s + tau + tau e^(-s R)`, whose roots are the modes of the windows alone, and its slope.
    fn own(&self, s: Complex64) -> (Complex64, Complex64) {
        let late = self.tau * (-s * self.rtt).exp();
        (s + self.tau + late, 1.0 - self.rtt * late)
    }

    /// The root of that which Newton's method finds from the one without delay.
    fn slowest(&self) -> Option<Complex64> {
        // Off the real axis, which it would not leave.
        let mut s = Complex64::new(-2.0 * self.tau, 0.1 * self.tau);
        for _ in 0..50 {
            let (f, slope) = self.own(s);
            s -= f / slope;
        }
        s.is_finite().then_some(Complex64::new(s.re, s.im.abs()))
    }
}

/// The loop of a network and an algorithm near their rest.
#[derive(Clone, Debug)]
pub struct Loop {
    controller: Rational,
    input: Input,
    plant: Plant,
    classes: Vec<Windows>,
    /// `S sum N W/(R^2 C)`: how the rate falls as the queue delays it, per second.
    leak: f64,
    /// Drops: the arrivals, in packets per second. Marks: 0.
    direct: f64,
    /// A delay beside the round-trip time, in seconds.
    extra: f64,
}

/// E, B and their slopes at a point.
struct Values {
    e: Complex64,
    de: Complex64,
    b: Complex64,
    db: Complex64,
}

/// What `|E|`, `|E'|`, `|B|` and `|B'|` do not exceed on a piece of a vertical line.
struct Bounds {
    e: f64,
    de: f64,
    b: f64,
    db: f64,
}

/// How far the loop is from its limit of stability.
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
    /// Where the gain is 1, in radians per second, rising.
    pub crossovers: Vec<f64>,
    /// Where the loop's value is negative, in radians per second, rising: those that matter to the gain.
    pub phase_crossovers: Vec<f64>,
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
    /// Time in which it falls to 2 %, four time constants, in seconds; `None` if it does not fall.
    pub settling: Option<f64>,
}

/// What a loop does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stability {
    /// Roots to the right of the imaginary axis, counted with their conjugates; 0 is stable.
    pub unstable_roots: usize,
    /// How far from the limit.
    pub margins: Margins,
    /// The slowest mode, or the fastest to grow.
    pub mode: Mode,
}

impl Stability {
    /// Whether every mode dies out.
    pub fn stable(&self) -> bool {
        self.unstable_roots == 0
    }
}

/// A number for people: three digits, whole from a thousand on.
pub(crate) fn figure(x: f64) -> String {
    match x.abs() {
        a if a >= 1000.0 => format!("{x:.0}"),
        a if a >= 100.0 => format!("{x:.1}"),
        a if a >= 10.0 => format!("{x:.2}"),
        a if a >= 0.1 || a == 0.0 => format!("{x:.3}"),
        _ => format!("{x:.2e}"),
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.settling {
            Some(t) => write!(f, "the slowest mode falls to 2 % in {} s", figure(t))?,
            None => write!(f, "a mode grows e-fold every {} s", figure(1.0 / self.root.re))?,
        }
        match self.period {
            Some(t) => write!(
                f,
                " and oscillates with a period of {} s (damping {})",
                figure(t),
                figure(self.damping)
            ),
            None => write!(f, " without oscillation"),
        }
    }
}

/// The verdict in words.
impl std::fmt::Display for Stability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let m = &self.margins;
        if self.stable() {
            write!(f, "stable: {}", self.mode)?;
        } else {
            write!(
                f,
                "unstable, with {} roots to the right of the imaginary axis: {}",
                self.unstable_roots, self.mode
            )?;
        }
        match m.gain {
            Some(k) if self.stable() => write!(f, "; the gain may rise {} times", figure(k))?,
            Some(k) => write!(f, "; it would be stable with less than {} of the gain", figure(k))?,
            None => write!(f, "; no factor of the gain changes that")?,
        }
        if let (Some(phase), Some(w)) = (m.phase, m.crossovers.last()) {
            write!(
                f,
                ", the phase margin is {} degrees (crossover at {} rad/s)",
                figure(phase.to_degrees()),
                figure(*w)
            )?;
        } else {
            write!(f, ", the gain is below 1 at every frequency")?;
        }
        if let Some(delay) = m.delay {
            write!(f, ", and the signal may come {} s later", figure(delay))?;
        }
        Ok(())
    }
}

/// A point of a diagram of Bode.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bode {
    /// In radians per second.
    pub omega: f64,
    /// `|L|`.
    pub gain: f64,
    /// The phase in radians, continuous from the lowest frequency on.
    pub phase: f64,
}

/// Two crossings closer than this share of their frequency are taken for a curve that only touches.
const APART: f64 = 1e-6;

/// Steps after which a curve is not followed any further.
const MOST_STEPS: usize = 5_000_000;

impl Loop {
    /// The loop of an algorithm and a network at rest.
    ///
    /// # Errors
    /// A quantity is not physical, or the algorithm's transfer function grows with the frequency faster
    /// than the loop allows.
    pub fn new(point: &Point, controller: &Controller, plant: Plant) -> Result<Loop, TheoryError> {
        let Controller { transfer, input } = controller;
        let finite = |p: &Poly| p.coefficients().iter().all(|c| c.is_finite());
        require(
            finite(&transfer.numerator)
                && finite(&transfer.denominator)
                && transfer.denominator != Poly::new([0.0]),
            "the algorithm's transfer function",
            format!("{:?} / {:?}", transfer.numerator.coefficients(), transfer.denominator.coefficients()),
            "must have finite coefficients and a denominator",
        )?;
        let (zeros, poles) = (transfer.numerator.degree(), transfer.denominator.degree());
        let drops = point.signal == Signal::Drop && *input == Input::Queue;
        let most = poles + usize::from(*input == Input::Queue && !drops);
        require(
            zeros <= most,
            "the degree of the algorithm's numerator",
            zeros,
            format!("must be at most {most} here: a derivative needs a filter where the signal acts at once"),
        )?;
        require(
            transfer.numerator.coefficients()[0] != 0.0 || transfer.denominator.coefficients()[0] != 0.0,
            "the algorithm's transfer function",
            "0/0 at s = 0",
            "must not have a pole and a zero at the origin: cancel them",
        )?;
        let share = match point.signal {
            Signal::Drop if *input == Input::Queue => 1.0 - point.probability,
            _ => 1.0,
        };
        let mut classes: Vec<Windows> = Vec::new();
        let mut leak = 0.0;
        for c in &point.classes {
            let (n, r, w) = (c.flows, c.rtt, c.window);
            for (name, x) in [("flows N", n), ("round-trip time R", r), ("window W", w)] {
                crate::error::positive(name, x, "at rest")?;
            }
            leak += share * n * w / (r * r * point.capacity);
            let gain = share * n / r * w * w / (point.tcp.decrease * r);
            let coupling = share * n / r * point.tcp.increase / (r * r * point.capacity);
            match classes.iter_mut().find(|k| k.rtt == r) {
                // Classes of one round-trip time differ only in modes that the queue does not see.
                Some(k) => {
                    k.gain += gain;
                    k.coupling += coupling;
                }
                None => {
                    classes.push(Windows { rtt: r, tau: point.tcp.increase / (w * r), gain, coupling });
                }
            }
        }
        require(!classes.is_empty(), "flows", "none", "a loop has at least one class of flows")?;
        Ok(Loop {
            controller: transfer.clone(),
            input: *input,
            plant,
            classes,
            leak,
            direct: if drops { point.arrivals } else { 0.0 },
            extra: 0.0,
        })
    }

    /// The same loop with its gain times `k`.
    pub fn with_gain(&self, k: f64) -> Loop {
        let controller = Rational {
            numerator: self.controller.numerator.scaled(k),
            denominator: self.controller.denominator.clone(),
        };
        Loop { controller, ..self.clone() }
    }

    /// The same loop with a further delay of the signal in seconds, the round-trip times unchanged.
    pub fn with_delay(&self, seconds: f64) -> Loop {
        Loop { extra: self.extra + seconds, ..self.clone() }
    }

    /// The algorithm's transfer function.
    pub fn controller(&self) -> &Rational {
        &self.controller
    }

    /// What the simplified loop of one class is without its delay, and the delay in seconds: the form in
    /// which other tools take it. `None` where the delay does not stand apart.
    pub fn rational(&self) -> Option<(Rational, f64)> {
        let [c] = self.classes[..] else { return None };
        if self.plant == Plant::Exact || self.direct != 0.0 {
            return None;
        }
        let windows = Rational::new([c.gain], [2.0 * c.tau, 1.0]);
        let queue = match self.input {
            Input::Queue => Rational::lag(1.0 / self.leak),
            Input::Rate => Rational::new([1.0], [1.0]),
        };
        let scale = if self.input == Input::Queue { 1.0 / self.leak } else { 1.0 };
        let all = &(&windows * &queue) * &self.controller;
        Some((
            Rational { numerator: all.numerator.scaled(scale), denominator: all.denominator },
            c.rtt + self.extra,
        ))
    }

    /// The characteristic equation of one class, `P(s) + Q(s) e^(-s R) = 0`, as P, Q and R (vrc eq. 15).
    /// `None` for several classes or a further delay.
    pub fn quasi_polynomial(&self) -> Option<(Poly, Poly, f64)> {
        let [c] = self.classes[..] else { return None };
        if self.extra != 0.0 {
            return None;
        }
        // E and B times s + tau + tau e, as (without e, with e).
        let (window, late) = match self.plant {
            Plant::Exact => (Poly::new([c.tau, 1.0]), Poly::new([c.tau])),
            Plant::Simplified => (Poly::new([2.0 * c.tau, 1.0]), Poly::new([0.0])),
        };
        let coupling = if self.plant == Plant::Exact { c.coupling } else { 0.0 };
        let (e0, e1) = match self.input {
            Input::Queue => {
                let queue = Poly::new([self.leak, 1.0]);
                (&(&queue * &window) + &Poly::new([coupling]), &(&queue * &late) + &Poly::new([-coupling]))
            }
            Input::Rate => (window.clone(), late.clone()),
        };
        let b0 = window.scaled(self.direct);
        let b1 = &late.scaled(self.direct) + &Poly::new([c.gain]);
        let (z, d) = (&self.controller.numerator, &self.controller.denominator);
        Some((&(&e0 * d) + &(&b0 * z), &(&e1 * d) + &(&b1 * z), c.rtt))
    }

    /// The characteristic polynomial with the first-order lag `1/(1 + R s)` in place of the delay, its
    /// leading coefficient 1: vrc eq. 16, for any algorithm. `None` where the quasi-polynomial is.
    ///
    /// The lag is late by less than the delay from `1/R` on: what it calls stable need not be.
    pub fn first_order_lag(&self) -> Option<Poly> {
        let (p, q, r) = self.quasi_polynomial()?;
        let all = &(&p * &Poly::new([1.0, r])) + &q;
        let lead = *all.coefficients().last().expect("a polynomial has a coefficient");
        Some(all.scaled(1.0 / lead))
    }

    /// E and B at `s`.
    fn values(&self, s: Complex64) -> Values {
        let queue = self.input == Input::Queue;
        let one = if queue { Complex64::ONE } else { Complex64::ZERO };
        let mut v = Values {
            e: if queue { s + self.leak } else { Complex64::ONE },
            de: one,
            b: Complex64::new(self.direct, 0.0),
            db: Complex64::ZERO,
        };
        for c in &self.classes {
            let e = (-s * c.rtt).exp();
            let (window, slope) = match self.plant {
                Plant::Exact => c.own(s),
                Plant::Simplified => (s + 2.0 * c.tau, Complex64::ONE),
            };
            let inverse = window.inv();
            let turn = slope * inverse;
            if queue && self.plant == Plant::Exact {
                let part = c.coupling * inverse;
                v.e += part * (1.0 - e);
                v.de += part * (c.rtt * e - (1.0 - e) * turn);
            }
            let part = c.gain * e * inverse;
            v.b += part;
            v.db -= part * (c.rtt + turn);
        }
        if self.extra != 0.0 {
            let late = (-s * self.extra).exp();
            v.db = late * (v.db - self.extra * v.b);
            v.b *= late;
        }
        v
    }

    /// L(s): what a change of the signal's probability brings back, negative.
    pub fn at(&self, s: Complex64) -> Complex64 {
        let v = self.values(s);
        self.controller.at(s) * v.b / v.e
    }

    /// `L(j omega)`.
    pub fn response(&self, omega: f64) -> Complex64 {
        self.at(Complex64::new(0.0, omega))
    }

    /// `B(s)/E(s)`: the plant alone, from the probability to the queue or the rate, its sign reversed.
    pub fn plant_response(&self, omega: f64) -> Complex64 {
        let v = self.values(Complex64::new(0.0, omega));
        v.b / v.e
    }

    /// F at `s`, whose roots are the modes, and its slope.
    fn characteristic(&self, s: Complex64) -> (Complex64, Complex64) {
        let v = self.values(s);
        let (z, d) = (&self.controller.numerator, &self.controller.denominator);
        let (zs, ds) = (z.at(s), d.at(s));
        let slope = v.de * ds + v.e * d.derivative().at(s) + v.db * zs + v.b * z.derivative().at(s);
        (v.e * ds + v.b * zs, slope)
    }

    /// The power of s that F grows with.
    fn degree(&self) -> usize {
        self.controller.denominator.degree() + usize::from(self.input == Input::Queue)
    }

    /// Bounds from `sigma + j from` to `sigma + j to`; `None` if a window's own mode may lie there.
    fn bounds(&self, sigma: f64, from: f64, to: f64) -> Option<Bounds> {
        let s = Complex64::new(sigma, from);
        let farthest = sigma.abs().hypot(to.abs().max(from.abs()));
        let queue = self.input == Input::Queue;
        let mut v = Bounds {
            e: if queue { farthest + self.leak } else { 1.0 },
            de: if queue { 1.0 } else { 0.0 },
            b: self.direct,
            db: 0.0,
        };
        for c in &self.classes {
            let size = (-sigma * c.rtt).exp();
            let (window, slope) = match self.plant {
                Plant::Exact => (c.own(s).0, 1.0 + c.tau * c.rtt * size),
                Plant::Simplified => (s + 2.0 * c.tau, 1.0),
            };
            let least = window.norm() - slope * (to - from);
            if least <= 0.0 {
                return None;
            }
            let turn = slope / least;
            if queue && self.plant == Plant::Exact {
                let part = c.coupling / least;
                v.e += part * (1.0 + size);
                v.de += part * (c.rtt * size + (1.0 + size) * turn);
            }
            let part = c.gain * size / least;
            v.b += part;
            v.db += part * (c.rtt + turn);
        }
        if self.extra != 0.0 {
            let size = (-sigma * self.extra).exp();
            v.db = size * (v.db + self.extra * v.b);
            v.b *= size;
        }
        Some(v)
    }

    /// Bounds of `|B|` and of what E has beside s, for `|s| >= r` on `Re s >= sigma`.
    fn beyond(&self, sigma: f64, r: f64) -> Option<(f64, f64)> {
        let (mut b, mut rest) = (self.direct, self.leak);
        for c in &self.classes {
            let size = (-sigma * c.rtt).exp().max(1.0);
            let least = match self.plant {
                Plant::Exact => r - c.tau * (1.0 + size),
                Plant::Simplified => r - 2.0 * c.tau,
            };
            if least <= 0.0 {
                return None;
            }
            b += c.gain * size / least;
            if self.plant == Plant::Exact {
                rest += c.coupling * (1.0 + size) / least;
            }
        }
        if self.input == Input::Rate {
            rest = 0.0;
        }
        Some((b * (-sigma * self.extra).exp().max(1.0), rest))
    }

    /// From r on: what `|B Z|` is at most, and `|E D|` at least, both over the leading term of F.
    fn tail(&self, sigma: f64, r: f64) -> Option<(f64, f64)> {
        let (b, rest) = self.beyond(sigma, r)?;
        let (z, d) = (&self.controller.numerator, &self.controller.denominator);
        let lead = d.coefficients()[d.degree()].abs() * r.powi(d.degree() as i32);
        let scale = if self.input == Input::Queue { r } else { 1.0 };
        let all = d.bound(r);
        let lesser = rest * all + scale * (all - lead);
        Some((b * z.bound(r) / (scale * lead), 1.0 - lesser / (scale * lead)))
    }

    /// A frequency from which on the leading term of F outweighs the others by half.
    fn ceiling(&self, sigma: f64) -> Result<f64, TheoryError> {
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
            "must let the loop be quiet below 1e15 rad/s",
        ))
    }

    /// Roots of F with a real part above `sigma`.
    fn roots_beyond(&self, sigma: f64) -> Result<usize, TheoryError> {
        let top = self.ceiling(sigma)?;
        let (z, d) = (&self.controller.numerator, &self.controller.denominator);
        let (dz, dd) = (z.derivative(), d.derivative());
        let value = |w: f64| self.characteristic(Complex64::new(sigma, w)).0;
        let slope = |a: f64, b: f64| {
            let v = self.bounds(sigma, a, b)?;
            let r = sigma.hypot(b);
            Some(v.de * d.bound(r) + v.e * dd.bound(r) + v.db * z.bound(r) + v.b * dz.bound(r))
        };
        // At the top, F is its leading term but for a factor in the right half-plane, which tends to 1.
        let n = self.degree() as f64;
        let turned = turn(top, value, slope)?;
        let end = Complex64::new(sigma, top);
        let lead = d.coefficients()[d.degree()] * end.powu(self.degree() as u32);
        let total = turned + n * (FRAC_PI_2 - end.arg()) - (value(top) / lead).arg();
        let mut roots = whole(n / 2.0 - total / PI)?;
        if sigma < 0.0 && self.plant == Plant::Exact {
            // To the left of the axis F has poles, the windows' own modes.
            for c in &self.classes {
                let size = (-sigma * c.rtt).exp();
                let value = |w: f64| c.own(Complex64::new(sigma, w)).0;
                let slope = |_: f64, _: f64| Some(1.0 + c.tau * c.rtt * size);
                let top = 2.0 * (sigma.abs() + c.tau * (1.0 + size));
                let turned = turn(top, value, slope)?;
                let end = Complex64::new(sigma, top);
                let total = turned + FRAC_PI_2 - end.arg() - (value(top) / end).arg();
                roots += whole(0.5 - total / PI)?;
            }
        } else if sigma < 0.0 {
            roots += self.classes.iter().filter(|c| -2.0 * c.tau > sigma).count() as i64;
        }
        usize::try_from(roots).map_err(|_| TheoryError::Tolerance {
            at: 0.0,
            reason: format!("a count of roots came out as {roots}"),
        })
    }

    /// Roots of the closed loop to the right of the imaginary axis, conjugates included: 0 is stable.
    /// By the principle of the argument, in steps that a bound on the slope proves small enough.
    ///
    /// # Errors
    /// A root lies on the axis, as near as numbers tell.
    pub fn unstable_roots(&self) -> Result<usize, TheoryError> {
        self.roots_beyond(0.0)
    }

    /// Whether every mode dies out. A root on the axis, as near as numbers tell, does not.
    pub fn stable(&self) -> bool {
        self.unstable_roots() == Ok(0)
    }

    /// Where the gain is 1, in radians per second, rising.
    ///
    /// # Errors
    /// The loop does not become quiet at high frequencies.
    pub fn crossovers(&self) -> Result<Vec<f64>, TheoryError> {
        let top = self.ceiling(0.0)?;
        self.crossings(
            0.0,
            top,
            |over, under| over.norm_sqr() - under.norm_sqr(),
            |b| 2.0 * (b.0 * b.1 + b.2 * b.3),
        )
    }

    /// Where a function of `B Z` and `E D` changes its sign.
    fn crossings(
        &self,
        from: f64,
        to: f64,
        f: impl Fn(Complex64, Complex64) -> f64,
        slope: impl Fn((f64, f64, f64, f64)) -> f64,
    ) -> Result<Vec<f64>, TheoryError> {
        let (z, d) = (&self.controller.numerator, &self.controller.denominator);
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

    /// Refuses an algorithm whose own transfer function has a pole where no margin is defined.
    fn open_loop(&self) -> Result<(), TheoryError> {
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
                "the algorithm itself has a pole at s = {:.6} {:+.6}j per second, and margins are measured from a loop that is stable when opened; ask for the number of unstable roots instead",
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
            (PI + l.arg()).rem_euclid(TAU)
        };
        let phase = crossovers
            .iter()
            .map(|&w| if lag(w) > PI || !stable { lag(w) - TAU } else { lag(w) })
            .min_by(|a, b| a.abs().total_cmp(&b.abs()));
        let delay = if stable { crossovers.iter().map(|&w| lag(w) / w).min_by(f64::total_cmp) } else { None };
        let phase_crossovers = self.phase_crossovers()?;
        let mut factors: Vec<f64> = phase_crossovers
            .iter()
            .map(|&w| 1.0 / self.response(w).norm())
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

    /// Where L is negative, up to where its gain no longer matters to the gain margin.
    fn phase_crossovers(&self) -> Result<Vec<f64>, TheoryError> {
        let top = self.ceiling(0.0)?;
        let shortest = self.classes.iter().map(|c| c.rtt).fold(f64::INFINITY, f64::min);
        let mut found: Vec<f64> = Vec::new();
        let (mut from, mut to) = (top * 1e-9, top);
        let least = self.response(top).norm() * 1e-6;
        loop {
            let negative = self
                .crossings(from, to, |over, under| (over * under.conj()).im, |b| b.1 * b.2 + b.0 * b.3)?
                .into_iter()
                .filter(|&w| self.response(w).re < 0.0);
            found.extend(negative);
            let best =
                found.iter().map(|&w| self.response(w).norm()).filter(|&g| g < 1.0).fold(0.0, f64::max);
            let (b, ed) = self.tail(0.0, to).unwrap_or((f64::INFINITY, 1.0));
            if b / ed <= best.max(least) {
                return Ok(found);
            }
            (from, to) = (to, to + (TAU / shortest).max(0.5 * to));
        }
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
        starts.extend(self.controller.numerator.roots());
        starts.extend(self.controller.denominator.roots().iter().map(|p| p * 0.9));
        let best = starts
            .into_iter()
            .filter_map(|s| self.newton(s))
            .max_by(|a, b| a.re.total_cmp(&b.re))
            .filter(|root| self.roots_beyond(root.re + 1e-6 * root.norm()) == Ok(0));
        let root = match best {
            Some(root) => root,
            None => self.rightmost()?,
        };
        let size = root.norm();
        let oscillates = root.im > 1e-9 * size;
        Ok(Mode {
            root,
            damping: -root.re / size,
            period: oscillates.then(|| TAU / root.im),
            settling: (root.re < 0.0).then(|| -4.0 / root.re),
        })
    }

    /// Newton's step at `s`, for F times the windows' own characteristics: F has poles at their roots,
    /// the product has none.
    fn step(&self, s: Complex64) -> Complex64 {
        let (f, slope) = self.characteristic(s);
        if f == Complex64::ZERO {
            return f;
        }
        let own = |c: &Windows| match self.plant {
            Plant::Exact => c.own(s).1 / c.own(s).0,
            Plant::Simplified => (s + 2.0 * c.tau).inv(),
        };
        (slope / f + self.classes.iter().map(own).sum::<Complex64>()).inv()
    }

    /// The root that Newton's method finds from `s`, in the upper half-plane.
    fn newton(&self, mut s: Complex64) -> Option<Complex64> {
        let mut last = f64::INFINITY;
        for _ in 0..100 {
            let step = self.step(s);
            if !step.is_finite() {
                return None;
            }
            s -= step;
            last = step.norm() / s.norm();
            if last <= 1e-14 {
                break;
            }
        }
        // Near a double root steps stay at the root of the rounding; a point far out, where nothing moves
        // any more, is no root.
        let v = self.bounds(s.re, s.im, s.im)?;
        let size = v.e * self.controller.denominator.bound(s.norm())
            + v.b * self.controller.numerator.bound(s.norm());
        let found = last <= 1e-6 && size.is_finite() && self.characteristic(s).0.norm() <= 1e-9 * size;
        found.then_some(Complex64::new(s.re, s.im.abs()))
    }

    /// The root farthest to the right, by counting roots right of lines ever closer to it.
    fn rightmost(&self) -> Result<Complex64, TheoryError> {
        let scale = 1.0 / self.classes.iter().map(|c| c.rtt).fold(0.0, f64::max);
        // A line through a root cannot be counted on; a bit beside it can.
        let beyond =
            |x: f64| self.roots_beyond(x).or_else(|_| self.roots_beyond(x + 1e-7 * scale.max(x.abs())));
        let (mut low, mut high) = (-0.5 * scale, 0.5 * scale);
        while beyond(high)? > 0 {
            (low, high) = (high, 2.0 * high);
        }
        while beyond(low)? == 0 {
            (low, high) = (2.0 * low, low);
            if low < -100.0 * scale {
                return Err(TheoryError::Tolerance {
                    at: 0.0,
                    reason: format!("no root right of {low} per second"),
                });
            }
        }
        while high - low > 1e-3 * high.abs().max(low.abs()).max(1e-6 * scale) {
            let middle = 0.5 * (low + high);
            if beyond(middle)? > 0 { low = middle } else { high = middle }
        }
        // Along that line Newton's step is shortest beside the root.
        let top = self.ceiling(high)?;
        let count = 20_000;
        let mut near: Vec<(f64, Complex64)> = (0..=count)
            .map(|i| Complex64::new(high, top * f64::from(i) / f64::from(count)))
            .map(|s| (self.step(s).norm(), s))
            .collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        let width = high - low;
        near.iter()
            .take(50)
            .filter_map(|&(_, s)| self.newton(s))
            .find(|root| (low - 10.0 * width..=high + 10.0 * width).contains(&root.re))
            .ok_or_else(|| TheoryError::Tolerance {
                at: 0.0,
                reason: format!("the slowest mode lies between {low} and {high} per second, and Newton's method does not find it"),
            })
    }

    /// Whether it is stable, how far from the limit, and its slowest mode.
    ///
    /// # Errors
    /// Those of [`Self::margins`] and [`Self::mode`].
    pub fn stability(&self) -> Result<Stability, TheoryError> {
        Ok(Stability { unstable_roots: self.unstable_roots()?, margins: self.margins()?, mode: self.mode()? })
    }

    /// `count` frequencies that show the loop, evenly on a logarithmic scale, in radians per second:
    /// from a hundredth of the slowest corner to beyond the crossovers.
    ///
    /// # Errors
    /// The loop does not become quiet at high frequencies.
    pub fn frequencies(&self, count: usize) -> Result<Vec<f64>, TheoryError> {
        let corners = self
            .classes
            .iter()
            .flat_map(|c| [2.0 * c.tau, 1.0 / c.rtt])
            .chain(self.controller.denominator.roots().into_iter().map(|p| p.norm()))
            .chain(self.controller.numerator.roots().into_iter().map(|p| p.norm()))
            .filter(|&w| w > 0.0);
        let crossovers = self.crossovers()?;
        let low = corners.chain(crossovers.first().copied()).fold(f64::INFINITY, f64::min) / 100.0;
        let high = crossovers.last().map_or(0.0, |w| 10.0 * w);
        let high = self.classes.iter().map(|c| 10.0 / c.rtt).fold(high, f64::max);
        let ratio = (high / low).ln() / count.saturating_sub(1).max(1) as f64;
        Ok((0..count).map(|i| low * (ratio * i as f64).exp()).collect())
    }

    /// The curve of Nyquist.
    pub fn nyquist(&self, frequencies: &[f64]) -> Vec<Complex64> {
        frequencies.iter().map(|&w| self.response(w)).collect()
    }

    /// The diagram of Bode at frequencies that rise.
    pub fn bode(&self, frequencies: &[f64]) -> Vec<Bode> {
        let longest = self.classes.iter().map(|c| c.rtt).fold(0.0, f64::max) + self.extra;
        let mut last: Option<(f64, f64)> = None;
        let mut points = Vec::with_capacity(frequencies.len());
        for &omega in frequencies {
            let l = self.response(omega);
            let phase = match last {
                None => l.arg(),
                Some((from, mut phase)) => {
                    // Small steps, so that no turn is missed in between.
                    let steps =
                        ((omega - from) * longest / 0.2).max((omega / from).ln() / 0.05).ceil() as usize;
                    let mut before = self.response(from);
                    for i in 1..=steps.max(1) {
                        let w = if i >= steps {
                            omega
                        } else {
                            from * (omega / from).powf(i as f64 / steps as f64)
                        };
                        let now = self.response(w);
                        phase += (now / before).arg();
                        before = now;
                    }
                    phase
                }
            };
            last = Some((omega, phase));
            points.push(Bode { omega, gain: l.norm(), phase });
        }
        points
    }
}

/// A count that came out of angles.
fn whole(x: f64) -> Result<i64, TheoryError> {
    if (x - x.round()).abs() < 1e-3 {
        return Ok(x.round() as i64);
    }
    Err(TheoryError::Tolerance { at: 0.0, reason: format!("a count of roots came out as {x}") })
}

/// By how much the argument of `f` turns from 0 to `top`. On each step `slope` bounds the slope, so that
/// the curve stays on one side of the origin.
fn turn(
    top: f64,
    f: impl Fn(f64) -> Complex64,
    slope: impl Fn(f64, f64) -> Option<f64>,
) -> Result<f64, TheoryError> {
    let (mut at, mut here) = (0.0, f(0.0));
    let mut step = top / 64.0;
    let mut total = 0.0;
    for _ in 0..MOST_STEPS {
        if at >= top {
            return Ok(total);
        }
        let to = (at + step).min(top);
        let enough = slope(at, to).is_some_and(|m| m * (to - at) < 0.95 * here.norm());
        if enough {
            let next = f(to);
            total += (next / here).arg();
            (at, here) = (to, next);
            step *= 1.5;
        } else {
            step = 0.5 * (to - at);
            if step < 1e-13 * top {
                break;
            }
        }
    }
    Err(TheoryError::Tolerance {
        at: 0.0,
        reason: format!(
            "a root lies on the line of the count, at {at} rad/s as near as numbers tell: the loop is at its limit"
        ),
    })
}

/// Where `f` changes its sign between `from` and `to`; `slope` bounds its slope.
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
        reason: format!("crossovers between {from} and {to} rad/s are too many to tell apart"),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::network::{Class, Network, Tcp};

    fn pid(k_p: f64, k_i: f64, k_d: f64) -> Controller {
        Controller { transfer: Rational::new([k_i, k_p, k_d], [0.0, 1.0]), input: Input::Queue }
    }

    fn one(n: f64, r: f64, c: f64, tcp: Tcp, controller: &Controller, plant: Plant) -> Loop {
        Loop::new(&Point::at(n, r, c, 0.0, tcp).unwrap(), controller, plant).unwrap()
    }

    /// vrc 5.1, Table 1, with N = 100, C = 1250 and R seconds.
    fn table_1(r: f64) -> Loop {
        one(100.0, r, 1250.0, Tcp::SAWTOOTH, &pid(0.0024, 0.0045, 0.0003), Plant::Exact)
    }

    /// Hollot's PI at its 160 Hz: N = 60, C = 3750, R = 0.246 s.
    fn hollot(plant: Plant) -> Loop {
        let (a, b) = (1.822e-5, 1.816e-5);
        one(60.0, 0.246, 3750.0, Tcp::HALVING, &pid(0.5 * (a + b), (a - b) * 160.0, 0.0), plant)
    }

    /// Hollot's RED: L = 1.86e-4 behind K = 0.005, for the same network.
    fn hollot_red() -> Loop {
        let transfer = Rational::new([1.86e-4], [1.0, 1.0 / 0.005]);
        let controller = Controller { transfer, input: Input::Queue };
        one(60.0, 0.246, 3750.0, Tcp::HALVING, &controller, Plant::Exact)
    }

    fn close(x: f64, wanted: f64, relative: f64) {
        assert!((x - wanted).abs() <= relative * wanted.abs(), "{x}, not {wanted}");
    }

    /// vrc eq. 15 and 16, coefficient by coefficient.
    #[test]
    fn the_characteristic_equation_of_vrc() {
        let (n, r, c, k_d, k_p, k_i) = (100.0, 0.1, 1250.0, 0.001, 0.02, 0.01);
        let (tau1, tau2) = (n / (r * r * c), c * c / (1.5 * n));
        let l = one(n, r, c, Tcp::SAWTOOTH, &pid(k_p, k_i, k_d), Plant::Exact);
        let (p, q, delay) = l.quasi_polynomial().unwrap();
        assert_eq!(delay, r);
        let check = |poly: &Poly, wanted: &[f64]| {
            for (x, w) in poly.coefficients().iter().zip(wanted) {
                assert!((x - w).abs() < 1e-11 * w.abs(), "{poly:?}, not {wanted:?}");
            }
            assert_eq!(poly.coefficients().len(), wanted.len());
        };
        // s^3 + (tau1 + 1/R) s^2 + 2 tau1/R s, and (tau1 + K_D tau2) s^2 + K_P tau2 s + K_I tau2.
        assert!(p.coefficients()[0].abs() < 1e-12);
        check(&Poly::new(&p.coefficients()[1..]), &[2.0 * tau1 / r, tau1 + 1.0 / r, 1.0]);
        check(&q, &[k_i * tau2, k_p * tau2, tau1 + k_d * tau2]);
        let a1 = tau1 + 2.0 / r;
        let a2 = (4.0 * tau1 + k_d * tau2 + 1.0 / r) / r;
        let a3 = (2.0 * tau1 + k_p * tau2 * r) / (r * r);
        let a4 = k_i * tau2 / r;
        check(&l.first_order_lag().unwrap(), &[a4, a3, a2, a1, 1.0]);
    }

    /// The loop's value is that of eq. 15: `L = Q e^(-sR)/P` where the delay's part of the plant is
    /// counted into neither, checked through `F = 0` on the roots.
    #[test]
    fn the_response_and_the_characteristic_equation_agree() {
        for plant in [Plant::Exact, Plant::Simplified] {
            let l = one(100.0, 0.1, 1250.0, Tcp::SAWTOOTH, &pid(0.0024, 0.0045, 0.0003), plant);
            let (p, q, r) = l.quasi_polynomial().unwrap();
            for s in [Complex64::new(0.1, 3.0), Complex64::new(0.0, 20.0), Complex64::new(-2.0, 7.0)] {
                let window = match plant {
                    Plant::Exact => s + 8.0 + 8.0 * (-s * r).exp(),
                    Plant::Simplified => s + 16.0,
                };
                let f = (p.at(s) + q.at(s) * (-s * r).exp()) / window;
                assert!((f - l.characteristic(s).0).norm() < 1e-9 * f.norm(), "{s}");
                let slope = (l.characteristic(s + 1e-6).0 - l.characteristic(s - 1e-6).0) / 2e-6;
                assert!((slope - l.characteristic(s).1).norm() < 1e-5 * slope.norm(), "{s}");
            }
        }
        let (rational, delay) = hollot(Plant::Simplified).rational().unwrap();
        let s = Complex64::new(0.0, 1.3);
        let value = rational.at(s) * (-s * delay).exp();
        assert!((value - hollot(Plant::Simplified).response(1.3)).norm() < 1e-12 * value.norm());
    }

    #[test]
    fn the_verdict_in_words() {
        let words = hollot(Plant::Exact).stability().unwrap().to_string();
        assert_eq!(
            words,
            "stable: the slowest mode falls to 2 % in 7.328 s without oscillation; the gain may rise 8.702 times, the phase margin is 75.76 degrees (crossover at 0.518 rad/s), and the signal may come 2.553 s later"
        );
        let words = table_1(0.4).stability().unwrap().to_string();
        assert!(
            words.starts_with("unstable, with 2 roots") && words.contains("would be stable with less than"),
            "{words}"
        );
    }

    /// Two classes, as the state equations give them when solved at s = 3j by elimination, without this
    /// file's formulas (numpy, linalg.solve).
    #[test]
    fn two_classes_with_marks_and_with_drops() {
        for (signal, wanted) in [
            (Signal::Mark, Complex64::new(-0.4500142595274662, -0.685925349798481)),
            (Signal::Drop, Complex64::new(-0.4133589010658528, -0.7313953780203357)),
        ] {
            let l = two(signal, &pid(2e-4, 4e-4, 0.0));
            let value = l.response(3.0);
            assert!((value - wanted).norm() < 1e-9 * wanted.norm(), "{signal:?}: {value}, not {wanted}");
        }
    }

    /// 20 flows at 0.09 s and 30 at 0.24 s, p = 0.02, C = 2500.
    fn two(signal: Signal, controller: &Controller) -> Loop {
        let window = (1.5_f64 / 0.02).sqrt();
        let share = |flows, rtt| crate::network::Share { flows, rtt, window };
        let point = Point {
            classes: vec![share(20.0, 0.09), share(30.0, 0.24)],
            capacity: 2500.0,
            queue: 0.0,
            probability: 0.02,
            arrivals: window * (20.0 / 0.09 + 30.0 / 0.24),
            tcp: Tcp::SAWTOOTH,
            signal,
        };
        Loop::new(&point, controller, Plant::Exact).unwrap()
    }

    /// python-control 0.10, `stability_margins` on the frequency response with the exact delay.
    #[test]
    fn margins_as_python_control_has_them() {
        for (name, l, gain, phase_degrees, at, crossover) in [
            ("VRC", table_1(0.1), 4.857298, 94.551507, 22.130796, 0.29458296),
            ("PI", hollot(Plant::Exact), 8.701868, 75.763420, 3.5566394, 0.51796434),
            ("PI, simplified", hollot(Plant::Simplified), 8.800927, 75.446611, 3.4980294, 0.51963915),
            ("RED", hollot_red(), 45.168853, 88.845775, 1.0203751, 0.05021829),
            ("marks", two(Signal::Mark, &pid(2e-4, 4e-4, 0.0)), 4.441568, 61.745523, 8.703152, 2.4818362),
            ("drops", two(Signal::Drop, &pid(2e-4, 4e-4, 0.0)), 6.358401, 64.350734, 9.774858, 2.5523020),
        ] {
            let m = l.margins().unwrap();
            close(m.gain.unwrap(), gain, 2e-4);
            close(m.phase.unwrap().to_degrees(), phase_degrees, 2e-4);
            close(*m.crossovers.last().unwrap(), crossover, 2e-4);
            assert!(m.phase_crossovers.iter().any(|w| (w / at - 1.0).abs() < 2e-4), "{name}: {m:?}");
        }
    }

    /// vrc 5.4.2: where eq. 15 itself loses its stability, 0.280 s for VRC and 0.242 s for PI.
    #[test]
    fn the_exact_critical_delays() {
        let pi = |r| one(100.0, r, 1250.0, Tcp::SAWTOOTH, &pid(0.0024, 0.0045, 0.0), Plant::Exact);
        assert!(table_1(0.2795).stable() && !table_1(0.2805).stable());
        assert!(pi(0.2415).stable() && !pi(0.2425).stable());
        assert_eq!(pi(0.2425).unstable_roots(), Ok(2));
    }

    /// At its margins a loop has roots on the axis: just before them it is stable, just behind not.
    #[test]
    fn margins_are_where_the_verdict_changes() {
        let drops = two(Signal::Drop, &pid(2e-4, 4e-4, 0.0));
        for l in [table_1(0.1), table_1(0.2), hollot(Plant::Exact), hollot(Plant::Simplified), drops] {
            let m = l.margins().unwrap();
            let (gain, delay) = (m.gain.unwrap(), m.delay.unwrap());
            assert!(l.stable());
            assert!(l.with_gain(gain * 0.9999).stable() && !l.with_gain(gain * 1.0001).stable(), "{m:?}");
            assert!(l.with_delay(delay * 0.9999).stable() && !l.with_delay(delay * 1.0001).stable(), "{m:?}");
            // Of the loop made unstable, the gain margin leads back.
            let back = l.with_gain(gain * 2.0).margins().unwrap();
            close(back.gain.unwrap(), 0.5, 1e-9);
            assert!(back.phase.unwrap() < 0.0 && back.delay.is_none());
        }
    }

    /// With a resonance the gain crosses 1 three times, and it is the last, not the one with the smallest
    /// phase margin, whose delay is the shortest: the first delay, in steps of a thousandth, at which the
    /// loop is unstable, says so too.
    #[test]
    fn the_delay_margin_of_several_crossovers() {
        let peak = Rational::new([900.0], [900.0, 0.2, 1.0]);
        let slow = pid(1.8e-5, 1e-5, 0.0);
        let controller = Controller { transfer: &slow.transfer * &peak, ..slow };
        let l = one(60.0, 0.246, 3750.0, Tcp::HALVING, &controller, Plant::Exact);
        let l = l.with_gain(1.05 / l.response(30.0).norm());
        let m = l.margins().unwrap();
        assert_eq!(m.crossovers.len(), 3, "{m:?}");
        let delay = m.delay.unwrap();
        let first = (PI + l.response(m.crossovers[0]).arg()).rem_euclid(TAU) / m.crossovers[0];
        assert!(delay < 0.2 * first, "{delay} {first}");
        let lost = (1..).map(|i| f64::from(i) * 1e-3).find(|&d| !l.with_delay(d).stable()).unwrap();
        assert!(l.stable() && lost > delay && lost - delay <= 1e-3, "{lost} {delay}");
        assert!(l.with_delay(delay * 0.9999).stable() && !l.with_delay(delay * 1.0001).stable());
    }

    /// The slowest modes, beside roots of eq. 15 that scipy.optimize.root found from a grid of starts.
    #[test]
    fn the_slowest_mode() {
        let mode = table_1(0.1).mode().unwrap();
        close(mode.root.re, -0.27089792, 1e-7);
        assert!(mode.period.is_none() && mode.damping == 1.0);
        close(mode.settling.unwrap(), 4.0 / 0.27089792, 1e-7);
        close(hollot(Plant::Exact).mode().unwrap().root.re, -0.54585882, 1e-7);
        // With drops ten times the gain oscillates; the root satisfies F = 0 and counts confirm it.
        let drops = two(Signal::Drop, &pid(1e-3, 2e-3, 0.0));
        let mode = drops.mode().unwrap();
        assert!(mode.root.re < 0.0 && mode.period.is_some(), "{mode:?}");
        assert_eq!(drops.roots_beyond(mode.root.re - 1e-3), Ok(2));
        assert_eq!(drops.roots_beyond(mode.root.re + 1e-3), Ok(0));
        // Unstable: the mode grows and nothing settles.
        let mode = table_1(0.4).mode().unwrap();
        assert!(mode.root.re > 0.0 && mode.damping < 0.0 && mode.settling.is_none(), "{mode:?}");
    }

    #[test]
    fn what_is_refused() {
        let point = Point::at(100.0, 0.1, 1250.0, 0.0, Tcp::SAWTOOTH).unwrap();
        let loop_of = |numerator: &[f64], denominator: &[f64]| {
            let transfer = Rational::new(numerator, denominator);
            Loop::new(&point, &Controller { transfer, input: Input::Queue }, Plant::Exact)
        };
        let unstable = loop_of(&[1e-4], &[-0.5, 1.0]).unwrap();
        let e = unstable.margins().unwrap_err().to_string();
        assert!(e.contains("a pole at s = 0.500000 +0.000000j"), "{e}");
        assert_eq!(unstable.unstable_roots(), Ok(1));
        assert!(loop_of(&[0.0, 0.0, 0.0, 1.0], &[1.0]).unwrap_err().to_string().contains("needs a filter"));
        assert!(loop_of(&[f64::NAN], &[1.0]).is_err());
        assert!(loop_of(&[0.0, 1.0], &[0.0, 1.0]).is_err());
        // Too weak to cross: margins without a crossover.
        let m = loop_of(&[1e-6], &[1.0]).unwrap().margins().unwrap();
        assert!(m.phase.is_none() && m.delay.is_none() && m.crossovers.is_empty() && m.gain.unwrap() > 1.0);
    }

    #[test]
    fn bode_is_continuous() {
        let l = table_1(0.1);
        let coarse = l.bode(&[0.01, 300.0]);
        let fine = l.bode(&l.frequencies(2000).unwrap());
        assert!(fine.windows(2).all(|p| (p[1].phase - p[0].phase).abs() < 1.0));
        let last = l.bode(&[0.01, 0.1, 1.0, 7.0, 50.0, 300.0]);
        assert!((coarse[1].phase - last[5].phase).abs() < 1e-9);
        // At 300 rad/s the delay alone has turned it by 30 rad.
        assert!(coarse[1].phase < -30.0, "{coarse:?}");
    }

    /// The state equations themselves, stepped through time (Heun's method, half a millisecond): once
    /// the slowest mode is left, samples obey its recurrence, which gives its growth and period.
    fn growth_in_time(signal: Signal, k_p: f64, k_i: f64) -> Complex64 {
        let (classes, c, p, a, h) = ([(20.0, 0.09), (30.0, 0.24)], 2500.0, 0.02, 1.5_f64, 5e-4);
        let window = (a / p).sqrt();
        let arrivals: f64 = classes.iter().map(|(n, r)| n * window / r).sum();
        let (share, direct) = match signal {
            Signal::Mark => (1.0, 0.0),
            Signal::Drop => (1.0 - p, arrivals),
        };
        // W_1, W_2, q and the integral, with the past from before the start at rest.
        let mut past: Vec<[f64; 4]> = vec![[0.0; 4]; 1000];
        past.push([0.0, 0.0, 1.0, 0.0]);
        let probability = |x: &[f64; 4]| k_p * x[2] + x[3];
        let rates = |x: &[f64; 4], late: [&[f64; 4]; 2]| {
            let mut d = [0.0; 4];
            for (i, (n, r)) in classes.iter().enumerate() {
                let tau = 1.0 / (window * r);
                d[i] = -tau * (x[i] + late[i][i])
                    - (x[2] - late[i][2]) / (r * r * c)
                    - window * window / (a * r) * probability(late[i]);
                d[2] += share * n / r * (x[i] - window / (r * c) * x[2]);
            }
            d[2] -= direct * probability(x);
            d[3] = k_i * x[2];
            d
        };
        for _ in 0..60_000 {
            let k = past.len() - 1;
            let back = |k: usize| [&past[k - 180], &past[k - 480]];
            let x = past[k];
            let first = rates(&x, back(k));
            let guess: [f64; 4] = std::array::from_fn(|i| x[i] + h * first[i]);
            let second = rates(&guess, back(k + 1));
            past.push(std::array::from_fn(|i| x[i] + 0.5 * h * (first[i] + second[i])));
        }
        // y2 = 2 e^(st) cos(wt) y1 - e^(2st) y0, twice.
        let lag = 400;
        let y = |j: usize| past[past.len() - 1 - (3 - j) * lag][2];
        let determinant = y(1) * y(1) - y(2) * y(0);
        let twice_cosine = (y(2) * y(1) - y(3) * y(0)) / determinant;
        let square = (y(2) * y(2) - y(3) * y(1)) / determinant;
        let t = lag as f64 * h;
        Complex64::new(0.5 * square.ln() / t, (0.5 * twice_cosine / square.sqrt()).acos() / t)
    }

    /// For two classes, with marks and drops, on both sides of the limit.
    #[test]
    fn the_mode_is_what_time_shows() {
        // Near the limit of 4.44 and 6.36 times the gain, where other modes die out sooner.
        for (signal, limit) in [(Signal::Mark, 4.44), (Signal::Drop, 6.36)] {
            for k in [0.8 * limit, 1.3 * limit] {
                let mode = two(signal, &pid(2e-4 * k, 4e-4 * k, 0.0)).mode().unwrap().root;
                let seen = growth_in_time(signal, 2e-4 * k, 4e-4 * k);
                assert!((mode - seen).norm() < 1e-4 * mode.norm(), "{signal:?} {k}: {mode}, in time {seen}");
                assert_eq!(mode.re > 0.0, k > limit, "{mode}");
            }
        }
    }

    /// Walton and Marshall 1987: roots of `P + Q e^(-sR)` are those of `P + Q`, plus or minus two at
    /// each delay up to R at which a pair crosses, where `|P|^2 - |Q|^2` is 0, by the sign of its slope.
    fn walton_marshall(p: &Poly, q: &Poly, r: f64) -> Option<usize> {
        // p(s) p(-s) in powers of s^2 = -w^2.
        let square = |p: &Poly| {
            let mirrored: Vec<f64> =
                p.coefficients().iter().enumerate().map(|(i, c)| if i % 2 == 0 { *c } else { -c }).collect();
            let all = p * &Poly::new(mirrored);
            let even: Vec<f64> = all
                .coefficients()
                .iter()
                .step_by(2)
                .enumerate()
                .map(|(i, c)| if i % 2 == 0 { *c } else { -c })
                .collect();
            Poly::new(even)
        };
        let difference = &square(p) + &square(q).scaled(-1.0);
        let slope = difference.derivative();
        let mut unstable = Routh::of(&(p + q)).ok()?.right as i64;
        for x in difference.roots() {
            if x.re <= 0.0 || x.im.abs() > 1e-9 * x.re {
                continue;
            }
            let w = x.re.sqrt();
            let s = Complex64::new(0.0, w);
            let turn = (-q.at(s) / p.at(s)).arg().rem_euclid(TAU);
            let rises = slope.at(Complex64::new(x.re, 0.0)).re > 0.0;
            let mut delay = turn / w;
            while delay < r {
                if (delay - r).abs() < 1e-6 * r {
                    return None;
                }
                unstable += if rises { 2 } else { -2 };
                delay += TAU / w;
            }
        }
        usize::try_from(unstable).ok()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        /// Two methods without a step in common count the same unstable roots, from stable to far from it,
        /// and the slowest mode found lies on the side that both say.
        #[test]
        fn the_count_agrees_with_walton_and_marshall(
            window in 1.3..60.0_f64,
            rtt in 0.01..0.5_f64,
            flows in 1.0..300.0_f64,
            (k_d, k_p, k_i) in (0.0..2.0_f64, 0.0..3.0_f64, 0.01..3.0_f64),
            pole in prop::option::of(0.2..50.0_f64),
            (exact, drop) in (any::<bool>(), any::<bool>()),
        ) {
            // Gains as shares of those at which the delay alone would make the loop cross.
            let capacity = window * flows / rtt;
            let unit = 1.5 * flows / (capacity * capacity) / rtt;
            let ideal = pid(k_p * unit * 2.0 / rtt, k_i * unit / (rtt * rtt), k_d * unit);
            let controller = match pole {
                Some(p) => Controller { transfer: &ideal.transfer * &Rational::lag(rtt / p), ..ideal },
                None => ideal,
            };
            let plant = if exact { Plant::Exact } else { Plant::Simplified };
            // A derivative without a filter is refused where drops act at once.
            let signal = if drop && pole.is_some() { Signal::Drop } else { Signal::Mark };
            let network = Network { signal, ..Network::new(flows, rtt, capacity, 100.0) };
            let l = Loop::new(&network.point(0.0, capacity).unwrap(), &controller, plant).unwrap();
            let (p, q, r) = l.quasi_polynomial().unwrap();
            let twin = walton_marshall(&p, &q, r);
            prop_assume!(twin.is_some());
            let count = l.unstable_roots().unwrap();
            prop_assert_eq!(Some(count), twin);
            let mode = l.mode().unwrap();
            prop_assert_eq!(mode.root.re > 0.0, count > 0, "{:?}", mode);
            prop_assert!((p.at(mode.root) + q.at(mode.root) * (-mode.root * r).exp()).norm()
                < 1e-6 * (p.at(mode.root).norm() + q.at(mode.root).norm()));
        }

    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        /// Classes of one round-trip time are one class, and two that hardly differ nearly one.
        #[test]
        fn classes_join(split in 0.05..0.95_f64, drop: bool, k in 0.1..3.0_f64) {
            let signal = if drop { Signal::Drop } else { Signal::Mark };
            let network = |gap: f64| Network {
                classes: vec![
                    Class { flows: 60.0 * split, propagation: 0.2 },
                    Class { flows: 60.0 * (1.0 - split), propagation: 0.2 + gap },
                ],
                signal,
                ..Network::new(1.0, 1.0, 3750.0, 800.0)
            };
            let controller = pid(1.8e-5 * k, 1e-5 * k, 0.0);
            let loop_of = |gap| {
                Loop::new(&network(gap).point(175.0, 3750.0).unwrap(), &controller, Plant::Exact).unwrap()
            };
            let (same, near) = (loop_of(0.0), loop_of(1e-4));
            for w in [0.1, 1.0, 10.0] {
                prop_assert!((same.response(w) - near.response(w)).norm() < 1e-2 * same.response(w).norm());
            }
            prop_assert_eq!(same.unstable_roots(), near.unstable_roots());
            // In the second, windows also drift apart, which the queue does not see.
            let (a, b) = (same.mode().unwrap().root, near.mode().unwrap().root);
            prop_assert!(b.re > a.re - 1e-2 * a.norm(), "{} {}", a, b);
        }
    }
}
