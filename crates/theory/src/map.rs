//! Maps: a quantity over a grid of two others.
//!
//! Three kinds. [`map`] asks any function at each point on all cores, a time-domain solution for
//! example. [`loop_map`] asks a [`Loop`], with the exact delay. [`Closed`] is a closed form, fast enough
//! for a million points at each turn of a knob: a plain loop over numbers that the compiler turns into
//! vector instructions, in single precision, with a twin in double precision that tests hold beside it.

use std::ops::{Add, Div, Mul, Sub};

use rayon::prelude::*;

use crate::congestion::Tcp;
use crate::error::{TheoryError, require};
use crate::linear::Loop;
use crate::rules::criteria::PidGains;

/// One side of a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// The first value.
    pub from: f64,
    /// The last value.
    pub to: f64,
    /// Number of values.
    pub count: usize,
    /// Spaces the values by equal factors, not by equal steps.
    pub logarithmic: bool,
}

impl Axis {
    /// Values in equal steps.
    pub fn linear(from: f64, to: f64, count: usize) -> Axis {
        Axis { from, to, count, logarithmic: false }
    }

    /// Values by equal factors.
    pub fn logarithmic(from: f64, to: f64, count: usize) -> Axis {
        Axis { from, to, count, logarithmic: true }
    }

    /// The values.
    ///
    /// # Errors
    /// There are none, they are not finite, or logarithms of them do not exist.
    pub fn values(&self) -> Result<Vec<f64>, TheoryError> {
        let Axis { from, to, count, logarithmic } = *self;
        require(count >= 1, "points of an axis", count, "must be at least 1")?;
        let ends = format!("{from} to {to}");
        require(from.is_finite() && to.is_finite(), "axis", &ends, "must be finite")?;
        require(
            !logarithmic || (from > 0.0 && to > 0.0),
            "axis",
            &ends,
            "must be positive to be logarithmic",
        )?;
        let share = |i: usize| if count == 1 { 0.0 } else { i as f64 / (count - 1) as f64 };
        let at = |t: f64| if logarithmic { from * libm::pow(to / from, t) } else { from + (to - from) * t };
        Ok((0..count).map(|i| if i + 1 == count && count > 1 { to } else { at(share(i)) }).collect())
    }
}

/// Values over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid<T> {
    /// Across.
    pub x: Vec<f64>,
    /// Up.
    pub y: Vec<f64>,
    /// The value at `x[i]`, `y[j]` is at `j x.len() + i`.
    pub values: Vec<T>,
}

impl<T> Grid<T> {
    /// The value at `x[i]`, `y[j]`.
    pub fn at(&self, i: usize, j: usize) -> &T {
        &self.values[j * self.x.len() + i]
    }
}

/// Any function over a grid, on all cores.
///
/// # Errors
/// Those of [`Axis::values`].
pub fn map<T: Send>(x: &Axis, y: &Axis, f: impl Fn(f64, f64) -> T + Sync) -> Result<Grid<T>, TheoryError> {
    let (x, y) = (x.values()?, y.values()?);
    let values = over(&x, &y, f);
    Ok(Grid { x, y, values })
}

/// Any function at each pair of values, on all cores, in the order of [`Grid::values`].
pub fn over<T: Send>(x: &[f64], y: &[f64], f: impl Fn(f64, f64) -> T + Sync) -> Vec<T> {
    (0..x.len() * y.len()).into_par_iter().map(|k| f(x[k % x.len()], y[k / x.len()])).collect()
}

/// A quantity of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Roots to the right of the axis; 0 is stable.
    UnstableRoots,
    /// The factor to the limit.
    GainMargin,
    /// Real part of the slowest mode's root, per second: negative is stable.
    Growth,
    /// The phase margin in radians.
    PhaseMargin,
    /// The delay margin in seconds.
    DelayMargin,
    /// The highest crossover, in radians per second.
    Crossover,
    /// The damping of the slowest mode.
    Damping,
    /// The period of the slowest mode, in seconds.
    Period,
    /// The settling time of the slowest mode, in seconds.
    Settling,
}

impl Shown {
    /// Its value; `None` where there is none, as a margin without a crossover.
    ///
    /// # Errors
    /// Those of [`Loop::margins`] and [`Loop::mode`].
    pub fn of(self, l: &Loop) -> Result<Option<f64>, TheoryError> {
        Ok(match self {
            Shown::UnstableRoots => Some(l.unstable_roots()? as f64),
            Shown::GainMargin => l.margins()?.gain,
            Shown::Growth => Some(l.mode()?.root.re),
            Shown::PhaseMargin => l.margins()?.phase,
            Shown::DelayMargin => l.margins()?.delay,
            Shown::Crossover => l.crossovers()?.last().copied(),
            Shown::Damping => Some(l.mode()?.damping),
            Shown::Period => l.mode()?.period,
            Shown::Settling => l.mode()?.settling,
        })
    }
}

/// A quantity of the loop that `build` makes for each point, on all cores. Points without a loop, or
/// without an equilibrium, keep their error.
///
/// # Errors
/// Those of [`Axis::values`].
pub fn loop_map(
    x: &Axis,
    y: &Axis,
    shown: Shown,
    build: impl Fn(f64, f64) -> Result<Loop, TheoryError> + Sync,
) -> Result<Grid<Result<Option<f64>, TheoryError>>, TheoryError> {
    map(x, y, |x, y| shown.of(&build(x, y)?))
}

/// Finds for each `x` the largest y in `[low, high]` up to which `stable(x, y)` holds without a gap that 100
/// steps would see: the curves of Park et al. 2004, Fig. 4, 7 and 8. `None` where it does not hold at `low`.
///
/// # Errors
/// Those of [`Axis::values`].
pub fn boundary(
    x: &Axis,
    (low, high): (f64, f64),
    stable: impl Fn(f64, f64) -> bool + Sync,
) -> Result<Vec<(f64, Option<f64>)>, TheoryError> {
    let up = Axis::linear(low, high, 101).values()?;
    let edge = |x: f64| {
        let first = up.iter().position(|&y| !stable(x, y));
        match first {
            None => Some(high),
            Some(0) => None,
            Some(i) => {
                let (mut inside, mut outside) = (up[i - 1], up[i]);
                while outside - inside > 1e-12 * outside.abs() {
                    let middle = 0.5 * (inside + outside);
                    if middle <= inside || middle >= outside {
                        break;
                    }
                    if stable(x, middle) { inside = middle } else { outside = middle }
                }
                Some(inside)
            }
        }
    };
    Ok(x.values()?.into_par_iter().map(|x| (x, edge(x))).collect())
}

/// The inputs of a closed form, in the order of [`Closed::base`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// N.
    Flows,
    /// R in seconds.
    Rtt,
    /// C in packets per second.
    Capacity,
    /// RED: the slope L per packet. PID: K_P per packet.
    First,
    /// RED: the filter K per second. PID: K_I per packet and second.
    Second,
    /// PID: K_D in seconds per packet.
    Third,
}

/// The closed form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Red,
    Pid,
}

/// A loop in a closed form, for maps of very many points. One class of flows, marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closed {
    form: Form,
    /// 1/a.
    inverse_decrease: f64,
    /// N, R, C and the gains where they do not vary.
    base: [f64; 6],
}

impl Closed {
    /// RED's loop gain at `w_g = 0.1 min(2N/(R^2 C), 1/R)`, Chen 2010, eq. 4.11-4.12: at most 1 is stable.
    /// With the slope L per packet and the filter K per second.
    pub fn red(flows: f64, rtt: f64, capacity: f64, slope: f64, filter: f64) -> Closed {
        Closed { form: Form::Red, inverse_decrease: 0.5, base: [flows, rtt, capacity, slope, filter, 0.0] }
    }

    /// The two sides of Park et al. 2004, eq. 17 (its sign corrected), as `(left - right)/(|left| + right)`,
    /// between -1 and 1: positive is stable with the first-order lag in place of the delay. PI for K_D = 0;
    /// windows grow by one packet per round trip.
    pub fn pid(flows: f64, rtt: f64, capacity: f64, gains: &PidGains, tcp: Tcp) -> Closed {
        Closed {
            form: Form::Pid,
            inverse_decrease: 1.0 / tcp.decrease,
            base: [flows, rtt, capacity, gains.k_p, gains.k_i, gains.k_d],
        }
    }

    /// N, R, C and the gains.
    pub fn base(&self) -> [f64; 6] {
        self.base
    }

    /// The value where nothing but `x` and `y` vary.
    pub fn at(&self, (x_is, x): (Input, f64), (y_is, y): (Input, f64)) -> f64 {
        let mut p = self.base;
        (p[x_is as usize], p[y_is as usize]) = (x, y);
        match self.form {
            Form::Red => red(p),
            Form::Pid => pid(p, self.inverse_decrease),
        }
    }

    /// Fills a map: across `x` and up `y`, rows one after another, in single precision.
    ///
    /// # Errors
    /// A value is not physical, or `out` has not a place for each point.
    pub fn fill(
        &self,
        (x_is, x): (Input, &[f32]),
        (y_is, y): (Input, &[f32]),
        out: &mut [f32],
    ) -> Result<(), TheoryError> {
        self.check((x_is, x), (y_is, y), out.len())?;
        fill(self.form, self.base.map(|v| v as f32), self.inverse_decrease as f32, (x_is, x), (y_is, y), out);
        Ok(())
    }

    /// [`Self::fill`] in double precision.
    ///
    /// # Errors
    /// The same.
    pub fn fill_f64(
        &self,
        (x_is, x): (Input, &[f64]),
        (y_is, y): (Input, &[f64]),
        out: &mut [f64],
    ) -> Result<(), TheoryError> {
        self.check((x_is, x), (y_is, y), out.len())?;
        fill(self.form, self.base, self.inverse_decrease, (x_is, x), (y_is, y), out);
        Ok(())
    }

    /// The map over two axes, in single precision.
    ///
    /// # Errors
    /// A value is not physical.
    pub fn map(
        &self,
        (x_is, x): (Input, &Axis),
        (y_is, y): (Input, &Axis),
    ) -> Result<Grid<f32>, TheoryError> {
        let (x, y) = (x.values()?, y.values()?);
        let narrow = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<_>>();
        let mut values = vec![0.0; x.len() * y.len()];
        self.fill((x_is, &narrow(&x)), (y_is, &narrow(&y)), &mut values)?;
        Ok(Grid { x, y, values })
    }

    fn check<T: Number>(
        &self,
        (x_is, x): (Input, &[T]),
        (y_is, y): (Input, &[T]),
        places: usize,
    ) -> Result<(), TheoryError> {
        require(x_is != y_is, "axes", format!("both {x_is:?}"), "must differ")?;
        require(places == x.len() * y.len(), "points of a map", places, "must be one for each point")?;
        let physical = |is: Input, v: f64| {
            let gain = self.form == Form::Pid && matches!(is, Input::First | Input::Third);
            require(
                v.is_finite() && v < 1e9 && (v > 1e-9 || (gain && v >= 0.0)),
                format!("{is:?}"),
                v,
                "must be positive (a gain at least 0), between 1e-9 and 1e9",
            )
        };
        let all = [Input::Flows, Input::Rtt, Input::Capacity, Input::First, Input::Second, Input::Third];
        for (is, &v) in all.into_iter().zip(&self.base) {
            if is != x_is && is != y_is && !(self.form == Form::Red && is == Input::Third) {
                physical(is, v)?;
            }
        }
        x.iter().try_for_each(|v| physical(x_is, v.wide()))?;
        y.iter().try_for_each(|v| physical(y_is, v.wide()))
    }
}

/// Single or double precision.
trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + PartialOrd
{
    fn narrow(x: f64) -> Self;
    fn wide(self) -> f64;
    fn root(self) -> Self;
    fn size(self) -> Self;
}

macro_rules! number {
    ($($t:ty),+) => {$(
        impl Number for $t {
            #[inline(always)]
            fn narrow(x: f64) -> Self {
                x as $t
            }
            fn wide(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn size(self) -> Self {
                self.abs()
            }
        }
    )+};
}
number!(f32, f64);

/// `L (RC)^3/(2N)^2 / sqrt(w_g^2/K^2 + 1)`, with `v = 2N/(RC)`, so that `(RC)^3/(2N)^2 = RC/v^2`.
#[inline(always)]
fn red<T: Number>([n, r, c, slope, filter, _]: [T; 6]) -> T {
    let one = T::narrow(1.0);
    let product = r * c;
    let v = (n + n) / product;
    let corner = T::narrow(0.1) * if v < one { v } else { one };
    let damping = corner / (r * filter);
    slope * product / (v * v * (one + damping * damping).root())
}

/// Park et al. 2004, eq. 17, both sides times R: with `t = tau1 R = N/(RC)` and `u = tau2 R = C (RC)/(a N)`.
#[inline(always)]
fn pid<T: Number>([n, r, c, k_p, k_i, k_d]: [T; 6], inverse_decrease: T) -> T {
    let (one, two) = (T::narrow(1.0), T::narrow(2.0));
    let product = r * c;
    let t = n / product;
    let u = c * product * inverse_decrease / n;
    let first = two + t;
    let third = two * t + u * r * k_p;
    let left = third * (first * (T::narrow(4.0) * t + u * k_d + one) - third);
    let right = first * first * u * r * r * k_i;
    (left - right) / (left.size() + right)
}

fn fill<T: Number>(
    form: Form,
    base: [T; 6],
    inverse_decrease: T,
    (x_is, x): (Input, &[T]),
    (y_is, y): (Input, &[T]),
    out: &mut [T],
) {
    if x.is_empty() {
        return;
    }
    for (&y, row) in y.iter().zip(out.chunks_exact_mut(x.len())) {
        let mut p = base;
        p[y_is as usize] = y;
        match form {
            Form::Red => across(x_is, x, row, p, red),
            Form::Pid => across(x_is, x, row, p, |p| pid(p, inverse_decrease)),
        }
    }
}

/// A row, with a loop of its own for each quantity that varies along it.
#[inline(always)]
fn across<T: Number>(x_is: Input, x: &[T], row: &mut [T], p: [T; 6], f: impl Fn([T; 6]) -> T) {
    #[inline(always)]
    fn one<const I: usize, T: Number>(x: &[T], row: &mut [T], p: [T; 6], f: impl Fn([T; 6]) -> T) {
        for (value, &x) in row.iter_mut().zip(x) {
            let mut p = p;
            p[I] = x;
            *value = f(p);
        }
    }
    match x_is {
        Input::Flows => one::<0, T>(x, row, p, f),
        Input::Rtt => one::<1, T>(x, row, p, f),
        Input::Capacity => one::<2, T>(x, row, p, f),
        Input::First => one::<3, T>(x, row, p, f),
        Input::Second => one::<4, T>(x, row, p, f),
        Input::Third => one::<5, T>(x, row, p, f),
    }
}

#[cfg(test)]
mod tests {
    use quell_aqm::ap_red::Conditions;

    use super::*;
    use crate::linear::Plant;
    use crate::network::OperatingPoint;
    use crate::num::routh::Routh;
    use crate::rules::criteria::{self, Delay};

    const FIG_3: PidGains = PidGains { k_p: 0.001, k_i: 0.001, k_d: 0.0001 };

    #[test]
    fn axes() {
        assert_eq!(Axis::linear(1.0, 3.0, 3).values().unwrap(), [1.0, 2.0, 3.0]);
        let log = Axis::logarithmic(1.0, 100.0, 3).values().unwrap();
        assert!((log[1] - 10.0).abs() < 1e-12 && log[2] == 100.0);
        assert_eq!(Axis::linear(5.0, 5.0, 1).values().unwrap(), [5.0]);
        assert!(Axis::logarithmic(0.0, 1.0, 3).values().is_err());
        assert!(Axis::linear(0.0, f64::NAN, 3).values().is_err());
        let grid = map(&Axis::linear(1.0, 3.0, 3), &Axis::linear(10.0, 20.0, 2), |x, y| x + y).unwrap();
        assert_eq!(grid.values, [11.0, 12.0, 13.0, 21.0, 22.0, 23.0]);
        assert_eq!(*grid.at(2, 1), 23.0);
    }

    /// The closed forms are the criteria, at each point; single precision says the same but within its
    /// rounding of a border.
    #[test]
    fn closed_forms_are_the_criteria() {
        let (n, r) = (Axis::logarithmic(10.0, 1000.0, 60), Axis::logarithmic(0.02, 2.0, 50));
        let (ns, rs) = (n.values().unwrap(), r.values().unwrap());
        let red = Closed::red(60.0, 0.246, 3750.0, 1.86e-4, 0.005);
        let vrc = Closed::pid(60.0, 0.246, 1250.0, &FIG_3, Tcp::SAWTOOTH);
        for (closed, limit) in [(red, 1.0), (vrc, 0.0)] {
            let single = closed.map((Input::Flows, &n), (Input::Rtt, &r)).unwrap();
            let mut double = vec![0.0; 3000];
            closed.fill_f64((Input::Flows, &ns), (Input::Rtt, &rs), &mut double).unwrap();
            let (mut inside, mut outside) = (0, 0);
            for (j, &rtt) in rs.iter().enumerate() {
                for (i, &flows) in ns.iter().enumerate() {
                    let (narrow, wide) = (f64::from(*single.at(i, j)), double[j * ns.len() + i]);
                    assert_eq!(wide, closed.at((Input::Flows, flows), (Input::Rtt, rtt)));
                    assert!((narrow - wide).abs() <= 2e-6 * wide.abs().max(1.0), "{narrow} {wide}");
                    let now = Conditions { flows, rtt, capacity: closed.base()[2] };
                    let holds = if limit == 1.0 {
                        let c = criteria::red_by_hollot(1.86e-4, 0.005, &now).unwrap();
                        assert!((wide - c.left / c.right).abs() <= 1e-12 * wide);
                        wide <= 1.0
                    } else {
                        let c = criteria::vrc_theorem(&FIG_3, &now, Tcp::SAWTOOTH).unwrap();
                        let side = (c.left - c.right) / (c.left.abs() + c.right);
                        assert!((wide - side).abs() <= 1e-9, "{wide} {side}");
                        wide > 0.0
                    };
                    *if holds { &mut inside } else { &mut outside } += 1;
                    if (wide - limit).abs() > 2e-6 {
                        assert_eq!(narrow > limit, wide > limit);
                    }
                }
            }
            assert!(inside > 100 && outside > 100, "{inside} {outside}");
        }
    }

    /// At the borders themselves: the two precisions place them within single precision's rounding.
    #[test]
    fn borders_agree_in_both_precisions() {
        let vrc = Closed::pid(100.0, 0.1, 1250.0, &PidGains::TABLE_1, Tcp::SAWTOOTH);
        let border =
            criteria::critical_delay(&PidGains::TABLE_1, 100.0, 1250.0, Tcp::SAWTOOTH, Delay::FirstOrderLag)
                .unwrap()
                .unwrap();
        for (shift, stable) in [(-1e-5, true), (1e-5, false)] {
            let rtt = [(border * (1.0 + shift)) as f32];
            let mut out = [0.0];
            vrc.fill((Input::Rtt, &rtt), (Input::Flows, &[100.0]), &mut out).unwrap();
            assert_eq!(out[0] > 0.0, stable, "{out:?}");
        }
    }

    /// Park et al. 2004, Fig. 3: stability is lost as R and C grow or N falls, at most once along each.
    #[test]
    fn figure_3_of_vrc() {
        let closed = Closed::pid(100.0, 0.1, 1250.0, &FIG_3, Tcp::SAWTOOTH);
        let (r, c) = (Axis::linear(0.05, 1.0, 40), Axis::linear(500.0, 10_000.0, 40));
        let count = |n: f64| {
            let closed = Closed { base: [n, 0.1, 1250.0, 0.001, 0.001, 0.0001], ..closed };
            let grid = closed.map((Input::Rtt, &r), (Input::Capacity, &c)).unwrap();
            for j in 0..40 {
                let row: Vec<bool> = (0..40).map(|i| *grid.at(i, j) > 0.0).collect();
                assert!(row.windows(2).all(|w| w[0] >= w[1]), "{n} {row:?}");
            }
            grid.values.iter().filter(|&&v| v > 0.0).count()
        };
        assert!(count(50.0) < count(100.0) && count(100.0) < count(300.0));
    }

    /// Park et al. 2004, Fig. 4 and 8: the largest K_I over K_P, by bisection of the scheme of Routh, is
    /// where eq. 21 has its K_P; with the exact delay it is smaller. It contracts as R grows.
    #[test]
    fn figures_4_and_8_of_vrc() {
        let k_p = Axis::linear(0.001, 0.008, 5);
        let curve = |rtt: f64, exact: bool| {
            let point = OperatingPoint::at(100.0, rtt, 1250.0, 0.0, Tcp::SAWTOOTH).unwrap();
            boundary(&k_p, (1e-6, 1.0), |k_p, k_i| {
                let gains = PidGains { k_p, k_i, k_d: 0.0003 };
                let l = Loop::new(&point, &gains.controller(), Plant::Exact).unwrap();
                match exact {
                    true => l.stable(),
                    false => Routh::of(&l.first_order_lag().unwrap()).unwrap().stable(),
                }
            })
            .unwrap()
        };
        let (near, far, exact) = (curve(0.2, false), curve(0.3, false), curve(0.2, true));
        let now = Conditions { flows: 100.0, rtt: 0.2, capacity: 1250.0 };
        for ((a, b), c) in near.iter().zip(&far).zip(&exact) {
            let (k_p, k_i) = (a.0, a.1.unwrap());
            let (low, high) = criteria::vrc_proportional(k_i, 0.0003, &now, Tcp::SAWTOOTH).unwrap();
            assert!((low - k_p).abs() < 1e-6 || (high - k_p).abs() < 1e-6, "{k_p} {low} {high}");
            assert!(b.1.is_none_or(|b| b < k_i), "{a:?} {b:?}");
            assert!(c.1.is_none_or(|c| c < k_i), "{a:?} {c:?}");
        }
    }

    /// What does not hold at the low end has no edge; what holds everywhere has the high end.
    #[test]
    fn edges_of_what_holds_nowhere_and_everywhere() {
        let edge = |holds: fn(f64) -> bool| {
            let found = boundary(&Axis::linear(1.0, 1.0, 1), (2.0, 4.0), |_, y| holds(y)).unwrap();
            found[0].1
        };
        assert_eq!(edge(|_| false), None);
        assert_eq!(edge(|y| y > 2.0), None);
        assert_eq!(edge(|_| true), Some(4.0));
        assert!((edge(|y| y < 3.3).unwrap() - 3.3).abs() < 1e-9);
        // Nothing beyond a gap is asked.
        assert!((edge(|y| !(2.5..3.0).contains(&y)).unwrap() - 2.5).abs() < 1e-9);
    }

    #[test]
    fn a_map_of_loops() {
        let gains = PidGains::TABLE_1;
        let build = |rtt: f64, flows: f64| {
            Loop::new(
                &OperatingPoint::at(flows, rtt, 1250.0, 0.0, Tcp::SAWTOOTH)?,
                &gains.controller(),
                Plant::Exact,
            )
        };
        let (x, y) = (Axis::linear(0.1, 0.5, 5), Axis::linear(100.0, 200.0, 2));
        let roots = loop_map(&x, &y, Shown::UnstableRoots, build).unwrap();
        let row: Vec<f64> = (0..5).map(|i| roots.at(i, 0).clone().unwrap().unwrap()).collect();
        assert_eq!(row, [0.0, 0.0, 2.0, 2.0, 2.0]);
        // 200 flows have no equilibrium at 0.1 s.
        assert!(roots.at(0, 1).is_err());
        let phase = loop_map(&x, &y, Shown::PhaseMargin, build).unwrap();
        assert!(phase.at(1, 0).clone().unwrap().unwrap() > 0.0);
        assert!(phase.at(4, 0).clone().unwrap().unwrap() < 0.0);
        let settling = loop_map(&x, &y, Shown::Settling, build).unwrap();
        assert_eq!(settling.at(4, 0), &Ok(None));
    }

    #[test]
    fn what_is_refused() {
        let closed = Closed::red(60.0, 0.246, 3750.0, 1.86e-4, 0.005);
        let axis = Axis::linear(0.0, 1.0, 3);
        let e = closed.map((Input::Rtt, &axis), (Input::Flows, &Axis::linear(1.0, 2.0, 2))).unwrap_err();
        assert!(e.to_string().starts_with("Rtt = 0"), "{e}");
        assert!(closed.map((Input::Rtt, &axis), (Input::Rtt, &axis)).is_err());
        assert!(closed.fill((Input::Rtt, &[0.1]), (Input::Flows, &[1.0]), &mut []).is_err());
    }
}
