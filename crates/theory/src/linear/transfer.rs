//! The loop of a network and an algorithm, and its transfer function anywhere in the plane.

use num_complex::Complex64;

use crate::congestion::Signal;
use crate::controller::{Controller, Input};
use crate::error::{TheoryError, require};
use crate::network::OperatingPoint;
use crate::num::{Poly, Rational, complex};

/// The part of the flows' delay that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plant {
    /// All of it (Park et al. 2004, eq. 14).
    #[default]
    Exact,
    /// `W(t - R)` and `q(t - R)` in the windows' own motion are those of now; only the signal is late
    /// (Chen 2010, eq. 4.2; Hollot et al. 2001a). Good where `W` is much larger than 1.
    Simplified,
}

/// A class of flows in the loop, from its [law near the equilibrium](crate::congestion).
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    /// R in seconds.
    pub(super) rtt: f64,
    /// tau, per second.
    pub(super) tau: f64,
    /// Share of the window itself, now and a round trip ago, in its motion, per second: tau each for Reno.
    pub(super) own: (f64, f64),
    /// `N/R tau W/(R C)`: how the rate's growth answers the queue, times S.
    pub(super) coupling: f64,
    /// Share of that now and a round trip ago: 1 and -1 for Reno.
    pub(super) turns: (f64, f64),
    /// `N/R` times how the window's growth answers the signal, times S for the queue.
    pub(super) gain: f64,
    /// The same through the estimate of the share of marks.
    pub(super) share: f64,
    /// The rate of that estimate, per second; 0 without.
    pub(super) filter: f64,
}

impl Windows {
    /// `s + own.0 + own.1 e^(-s R)`, whose roots are the modes of the windows alone, and its slope.
    pub(super) fn own(&self, s: Complex64) -> (Complex64, Complex64) {
        let late = self.own.1 * complex::exp(-s * self.rtt);
        (s + self.own.0 + late, 1.0 - self.rtt * late)
    }

    /// The same as far as a plant keeps the delay.
    pub(super) fn motion(&self, plant: Plant, s: Complex64) -> (Complex64, Complex64) {
        match plant {
            Plant::Exact => self.own(s),
            Plant::Simplified => (s + (self.own.0 + self.own.1), Complex64::ONE),
        }
    }

    /// The second derivative of [`Windows::motion`].
    pub(super) fn bend(&self, plant: Plant, s: Complex64) -> Complex64 {
        match plant {
            Plant::Exact => self.own.1 * self.rtt * self.rtt * complex::exp(-s * self.rtt),
            Plant::Simplified => Complex64::ZERO,
        }
    }

    /// Tells whether the windows of both have one equation of motion, with the same answer to the queue but
    /// for its size.
    fn moves_as(&self, other: &Windows) -> bool {
        (self.rtt, self.tau, self.own, self.turns, self.filter)
            == (other.rtt, other.tau, other.own, other.turns, other.filter)
    }

    /// Tells whether the windows alone may have a growing mode: their past outweighs their present.
    pub(super) fn may_grow(&self) -> bool {
        self.own.1 > self.own.0
    }

    /// Bounds of [`Windows::answer`] and of its first and second derivative where `|s + filter|` is at least `least`;
    /// `None` if that is its pole.
    pub(super) fn answer_bound(&self, least: f64) -> Option<[f64; 3]> {
        if self.share == 0.0 {
            return Some([self.gain, 0.0, 0.0]);
        }
        let late = self.share * self.filter / least;
        (least > 0.0).then_some([self.gain + late, late / least, 2.0 * late / (least * least)])
    }

    /// `N/R W/(R C)`, times S: how the rate falls as the queue delays it, per second.
    pub(super) fn leak(&self) -> f64 {
        self.coupling / self.tau
    }

    /// Answer of the window's growth to the signal, but for the delay, and the slope of that.
    fn answer(&self, s: Complex64) -> (Complex64, Complex64) {
        let direct = Complex64::new(self.gain, 0.0);
        if self.share == 0.0 {
            return (direct, Complex64::ZERO);
        }
        let lag = (s + self.filter).inv();
        let late = self.share * self.filter * lag;
        (direct + late, -late * lag)
    }

    /// The root that Newton's method finds, starting from the one without delay.
    pub(super) fn slowest(&self) -> Option<Complex64> {
        // Off the real axis, which it would not leave.
        let mut s = Complex64::new(-self.own.0 - self.own.1, 0.1 * self.tau);
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
    /// D, with the factor s of E where flows and queue integrate.
    pub(super) poles: Poly,
    /// No class yields to a longer queue: `E = s (1 + sum leak_i/own_i)`. The factor s stands with the algorithm's poles,
    /// since what nearly cancels cannot be bounded.
    pub(super) integrates: bool,
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
        let mut classes: Vec<Windows> = Vec::new();
        let (mut leak, mut direct) = (0.0, 0.0);
        for c in &point.classes {
            let (n, r, w) = (c.flows, c.rtt, c.window);
            for (name, x) in [("flows N", n), ("round-trip time R", r), ("window W", w)] {
                crate::error::positive(name, x, "at equilibrium")?;
            }
            let (p, follows) = c.signaled;
            let share = if drops { point.speed * c.admitted } else { point.speed };
            // What does not wait is not delayed by the queue.
            let late = if c.waits { w / (r * point.capacity) } else { 0.0 };
            let near = c.congestion.near(w, r, p);
            let rate = share * n / r;
            leak += rate * late;
            // Only what is dropped is missing at once.
            direct += if drops && c.admitted < 1.0 { point.speed * c.rate() } else { 0.0 };
            let windows = Windows {
                rtt: r,
                tau: near.tau,
                own: (near.tau * near.own.0, near.tau * near.own.1),
                coupling: rate * near.tau * late,
                turns: (-near.rtt.0, -near.rtt.1),
                gain: rate * follows * near.signal,
                share: rate * follows * near.share,
                filter: near.filter,
            };
            if windows.coupling == 0.0 && (windows.gain, windows.share) == (0.0, 0.0) {
                // It is signaled all the same whatever the queue is, and does not feel it.
                continue;
            }
            match classes.iter_mut().find(|k| k.moves_as(&windows)) {
                // Such classes differ only in modes that the queue does not see.
                Some(k) => {
                    k.gain += windows.gain;
                    k.share += windows.share;
                    k.coupling += windows.coupling;
                }
                None => classes.push(windows),
            }
        }
        require(!classes.is_empty(), "flows", "none", "a loop has at least one class of flows")?;
        let yields = |c: &Windows| {
            c.coupling != 0.0 && (c.own.0 + c.tau * c.turns.0, c.own.1 + c.tau * c.turns.1) != (0.0, 0.0)
        };
        let integrates = *input == Input::Queue && !classes.iter().any(yields);
        let factor = if integrates { Poly::new([0.0, 1.0]) } else { Poly::new([1.0]) };
        Ok(Loop {
            controller: transfer.clone(),
            poles: &transfer.denominator * &factor,
            integrates,
            input: *input,
            plant,
            classes,
            leak,
            direct,
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

    /// The rates of the estimates of the share of marks, each once, per second: poles of B to the left.
    pub(super) fn filters(&self) -> Vec<f64> {
        let mut all: Vec<f64> = Vec::new();
        for c in self.classes.iter().filter(|c| c.share != 0.0) {
            if !all.contains(&c.filter) {
                all.push(c.filter);
            }
        }
        all
    }

    /// The algorithm's transfer function.
    pub fn controller(&self) -> &Rational {
        &self.controller
    }

    /// The simplified loop of one class without its delay, and the delay in seconds: the form in which other
    /// tools take it. `None` where the delay is not a separate factor.
    pub fn rational(&self) -> Option<(Rational, f64)> {
        let [c] = self.classes[..] else { return None };
        if self.plant == Plant::Exact || self.direct != 0.0 {
            return None;
        }
        // What is late stands in Q alone here.
        let (p, q, _) = Loop { extra: 0.0, ..self.clone() }.quasi_polynomial()?;
        Some((Rational { numerator: q, denominator: p }, c.rtt + self.extra))
    }

    /// The characteristic equation of one class, `P(s) + Q(s) e^(-s R) = 0`, as P, Q and R (Park et al. 2004,
    /// eq. 15).
    /// `None` for several classes or a further delay.
    pub fn quasi_polynomial(&self) -> Option<(Poly, Poly, f64)> {
        let [c] = self.classes[..] else { return None };
        if self.extra != 0.0 {
            return None;
        }
        // E and B times the windows' own motion and the estimate's, as (without e, with e).
        let all = c.turns.0 + c.turns.1;
        let (window, late, turns) = match self.plant {
            Plant::Exact => (Poly::new([c.own.0, 1.0]), Poly::new([c.own.1]), c.turns),
            Plant::Simplified => (Poly::new([c.own.0 + c.own.1, 1.0]), Poly::new([0.0]), (all, 0.0)),
        };
        let lag = if c.share == 0.0 { Poly::new([1.0]) } else { Poly::new([c.filter, 1.0]) };
        let (e0, e1) = match self.input {
            Input::Queue => {
                let queue = Poly::new([self.leak, 1.0]);
                (
                    &(&queue * &window) + &Poly::new([c.coupling * turns.0]),
                    &(&queue * &late) + &Poly::new([c.coupling * turns.1]),
                )
            }
            Input::Rate => (window.clone(), late.clone()),
        };
        let (e0, e1) =
            if self.integrates { (&window + &Poly::new([c.leak()]), late.clone()) } else { (e0, e1) };
        let (e0, e1) = (&e0 * &lag, &e1 * &lag);
        let b0 = &window.scaled(self.direct) * &lag;
        let answer = &lag.scaled(c.gain) + &Poly::new([c.share * c.filter]);
        let b1 = &(&late.scaled(self.direct) * &lag) + &answer;
        let (z, d) = (&self.controller.numerator, &self.poles);
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
        let queue = self.input == Input::Queue && !self.integrates;
        let one = if queue { Complex64::ONE } else { Complex64::ZERO };
        let mut v = Values {
            e: if queue { s + self.leak } else { Complex64::ONE },
            de: one,
            b: Complex64::new(self.direct, 0.0),
            db: Complex64::ZERO,
        };
        for c in &self.classes {
            let e = complex::exp(-s * c.rtt);
            let (window, slope) = c.motion(self.plant, s);
            let inverse = window.inv();
            let turn = slope * inverse;
            if self.integrates {
                let part = c.leak() * inverse;
                v.e += part;
                v.de -= part * turn;
            } else if queue && c.turns != (0.0, 0.0) {
                let part = c.coupling * inverse;
                let (now, then, moves) = match self.plant {
                    Plant::Exact => (c.turns.0, c.turns.1 * e, c.rtt),
                    Plant::Simplified => (c.turns.0, Complex64::new(c.turns.1, 0.0), 0.0),
                };
                v.e += part * (now + then);
                v.de -= part * (moves * then + (now + then) * turn);
            }
            let (answer, bend) = c.answer(s);
            let part = answer * e * inverse;
            v.b += part;
            v.db += bend * e * inverse - part * (c.rtt + turn);
        }
        if self.extra != 0.0 {
            let late = complex::exp(-s * self.extra);
            v.db = late * (v.db - self.extra * v.b);
            v.b *= late;
        }
        v
    }

    /// L(s): what a change of the signal's probability brings back, negative.
    pub fn at(&self, s: Complex64) -> Complex64 {
        let v = self.values(s);
        self.controller.numerator.at(s) * v.b / (self.poles.at(s) * v.e)
    }

    /// `L(j omega)`.
    pub fn response(&self, omega: f64) -> Complex64 {
        self.at(Complex64::new(0.0, omega))
    }

    /// `B(s)/E(s)`: the plant alone, from the probability to the queue or the rate, its sign reversed.
    pub fn plant_response(&self, omega: f64) -> Complex64 {
        let s = Complex64::new(0.0, omega);
        let v = self.values(s);
        v.b / (if self.integrates { s * v.e } else { v.e })
    }

    /// F at `s`, whose roots are the modes, and its slope.
    pub(super) fn characteristic(&self, s: Complex64) -> (Complex64, Complex64) {
        let v = self.values(s);
        let (z, d) = (&self.controller.numerator, &self.poles);
        let (zs, ds) = (z.at(s), d.at(s));
        let slope = v.de * ds + v.e * d.derivative().at(s) + v.db * zs + v.b * z.derivative().at(s);
        (v.e * ds + v.b * zs, slope)
    }
    /// The second derivative of F at `s`.
    pub(super) fn curvature(&self, s: Complex64) -> Complex64 {
        let v = self.values(s);
        let (mut dde, mut ddb) = (Complex64::ZERO, Complex64::ZERO);
        for c in &self.classes {
            let e = complex::exp(-s * c.rtt);
            let (window, slope) = c.motion(self.plant, s);
            let inverse = window.inv();
            let turn = slope * inverse;
            let (late, moves) = match self.plant {
                Plant::Exact => (e, c.rtt),
                Plant::Simplified => (Complex64::ONE, 0.0),
            };
            let bend = c.bend(self.plant, s) * inverse;
            // The second derivative of 1/window, over 1/window.
            let twice = 2.0 * turn * turn - bend;
            if self.integrates {
                dde += c.leak() * inverse * twice;
            } else if self.input == Input::Queue {
                let then = c.turns.1 * late;
                dde += c.coupling
                    * inverse
                    * (moves * moves * then + 2.0 * moves * then * turn + (c.turns.0 + then) * twice);
            }
            let (answer, first) = c.answer(s);
            let second = if c.share == 0.0 { Complex64::ZERO } else { -2.0 * first / (s + c.filter) };
            let falls = c.rtt + turn;
            ddb +=
                e * inverse * (second - 2.0 * first * falls + answer * (falls * falls + turn * turn - bend));
        }
        if self.extra != 0.0 {
            // The values have the further delay already.
            let late = complex::exp(-s * self.extra);
            ddb = late * ddb - self.extra * (2.0 * v.db + self.extra * v.b);
        }
        let (z, d) = (&self.controller.numerator, &self.poles);
        let (dz, dd) = (z.derivative(), d.derivative());
        dde * d.at(s)
            + 2.0 * v.de * dd.at(s)
            + v.e * dd.derivative().at(s)
            + ddb * z.at(s)
            + 2.0 * v.db * dz.at(s)
            + v.b * dz.derivative().at(s)
    }
}
