//! The loop of a network and an algorithm, and its transfer function anywhere in the plane.

use num_complex::Complex64;

use crate::congestion::Congestion;
use crate::controller::{Controller, Input};
use crate::error::{TheoryError, require};
use crate::network::{OperatingPoint, Signal};
use crate::num::{Poly, Rational};

/// How much of the flows' delay is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plant {
    /// All of it (Park et al. 2004, eq. 14).
    #[default]
    Exact,
    /// `W(t - R)` and `q(t - R)` in the windows' own motion are those of now; only the signal is late
    /// (Chen 2010, eq. 4.2; Hollot et al. 2001a). Good where `W` is much larger than 1.
    Simplified,
}

/// A class of flows in the loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    /// R in seconds.
    pub(super) rtt: f64,
    /// `tau = increase/(W R)`, per second.
    pub(super) tau: f64,
    /// `N/R W^2/(a R)`: how the rate's growth answers the signal, times S for the queue.
    pub(super) gain: f64,
    /// `N/R increase/(R^2 C)`: how it answers the queue, times S.
    pub(super) coupling: f64,
}

impl Windows {
    /// `s + tau + tau e^(-s R)`, whose roots are the modes of the windows alone, and its slope.
    pub(super) fn own(&self, s: Complex64) -> (Complex64, Complex64) {
        let late = self.tau * (-s * self.rtt).exp();
        (s + self.tau + late, 1.0 - self.rtt * late)
    }

    /// The root of that which Newton's method finds from the one without delay.
    pub(super) fn slowest(&self) -> Option<Complex64> {
        // Off the real axis, which it would not leave.
        let mut s = Complex64::new(-2.0 * self.tau, 0.1 * self.tau);
        for _ in 0..50 {
            let (f, slope) = self.own(s);
            s -= f / slope;
        }
        s.is_finite().then_some(Complex64::new(s.re, s.im.abs()))
    }
}

/// The loop of a network and an algorithm near their equilibrium.
#[derive(Clone, Debug)]
pub struct Loop {
    pub(super) controller: Rational,
    pub(super) input: Input,
    pub(super) plant: Plant,
    pub(super) classes: Vec<Windows>,
    /// `S sum N W/(R^2 C)`: how the rate falls as the queue delays it, per second.
    pub(super) leak: f64,
    /// Drops: the arrivals, in packets per second. Marks: 0.
    pub(super) direct: f64,
    /// A delay beside the round-trip time, in seconds.
    pub(super) extra: f64,
}

/// E, B and their slopes at a point.
pub(super) struct Values {
    pub(super) e: Complex64,
    pub(super) de: Complex64,
    pub(super) b: Complex64,
    pub(super) db: Complex64,
}

impl Loop {
    /// The loop of an algorithm and a network at equilibrium.
    ///
    /// # Errors
    /// A quantity is not physical, or the algorithm's transfer function grows with the frequency faster
    /// than the loop allows.
    pub fn new(point: &OperatingPoint, controller: &Controller, plant: Plant) -> Result<Loop, TheoryError> {
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
        let Congestion::Reno(tcp) = point.congestion;
        let mut classes: Vec<Windows> = Vec::new();
        let mut leak = 0.0;
        for c in &point.classes {
            let (n, r, w) = (c.flows, c.rtt, c.window);
            for (name, x) in [("flows N", n), ("round-trip time R", r), ("window W", w)] {
                crate::error::positive(name, x, "at equilibrium")?;
            }
            leak += share * n * w / (r * r * point.capacity);
            let gain = share * n / r * w * w / (tcp.decrease * r);
            let coupling = share * n / r * tcp.increase / (r * r * point.capacity);
            match classes.iter_mut().find(|k| k.rtt == r) {
                // Classes of one round-trip time differ only in modes that the queue does not see.
                Some(k) => {
                    k.gain += gain;
                    k.coupling += coupling;
                }
                None => {
                    classes.push(Windows { rtt: r, tau: tcp.increase / (w * r), gain, coupling });
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
    /// which other tools take it. `None` where the delay is not a separate factor.
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

    /// The characteristic equation of one class, `P(s) + Q(s) e^(-s R) = 0`, as P, Q and R (Park et al. 2004,
    /// eq. 15).
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
    /// leading coefficient 1: Park et al. 2004, eq. 16, for any algorithm. `None` where the quasi-polynomial
    /// is.
    ///
    /// The lag is late by less than the delay from `1/R` on: what it calls stable need not be.
    pub fn first_order_lag(&self) -> Option<Poly> {
        let (p, q, r) = self.quasi_polynomial()?;
        let all = &(&p * &Poly::new([1.0, r])) + &q;
        let lead = *all.coefficients().last().expect("a polynomial has at least one coefficient");
        Some(all.scaled(1.0 / lead))
    }

    /// E and B at `s`.
    pub(super) fn values(&self, s: Complex64) -> Values {
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
    pub(super) fn characteristic(&self, s: Complex64) -> (Complex64, Complex64) {
        let v = self.values(s);
        let (z, d) = (&self.controller.numerator, &self.controller.denominator);
        let (zs, ds) = (z.at(s), d.at(s));
        let slope = v.de * ds + v.e * d.derivative().at(s) + v.db * zs + v.b * z.derivative().at(s);
        (v.e * ds + v.b * zs, slope)
    }
}
