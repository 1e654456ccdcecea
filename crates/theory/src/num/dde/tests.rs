use std::f64::consts::{E, FRAC_PI_2};

use super::*;
use crate::error::TheoryError;
use crate::num::Real;

/// One variable, one delay, from closures.
struct One<F, T, H> {
    /// `y'` from t, y and the past y.
    rate: F,
    /// The time of the past from t and y.
    time: T,
    before: H,
    longest: f64,
}

fn one<F, T, H>(longest: f64, rate: F, time: T, before: H) -> One<F, T, H>
where
    F: Fn(usize, f64, f64, f64) -> f64,
    T: Fn(f64, f64) -> f64,
    H: Fn(f64) -> f64,
{
    One { rate, time, before, longest }
}

impl<V: Real, F, T, H> System<V, 1> for One<F, T, H>
where
    F: Fn(usize, f64, f64, f64) -> f64,
    T: Fn(f64, f64) -> f64,
    H: Fn(f64) -> f64,
{
    fn delays(&self) -> usize {
        1
    }
    fn longest_delay(&self) -> f64 {
        self.longest
    }
    fn before(&self, _: usize, t: f64) -> [f64; 1] {
        [(self.before)(t)]
    }
    fn rates(&self, leg: usize, t: f64, y: &[V; 1], past: &mut Past<'_, V, 1>) -> [V; 1] {
        let [z] = past.at(0, V::from_lanes(|i| (self.time)(t, y[0].lane(i))));
        [V::from_lanes(|i| (self.rate)(leg, t, y[0].lane(i), z.lane(i)))]
    }
}

/// The largest error on the way and what it took; relative where the solution is large.
fn error(
    system: &dyn System<f64, 1>,
    span: (f64, f64),
    exact: impl Fn(f64) -> f64,
    tolerance: &Tolerance,
) -> (f64, Work) {
    let mut worst: f64 = 0.0;
    let work = solve(system, span, &[], [exact(span.0)], tolerance, &mut |piece| {
        for i in 0..=4 {
            let t = piece.from + (piece.to - piece.from) * f64::from(i) / 4.0;
            worst = worst.max((piece.at(t)[0] - exact(t)).abs() / exact(t).abs().max(1.0));
        }
    })
    .unwrap();
    (worst, work)
}

/// `y' = -y(t - 1)`, 1 before 0, by the method of steps: `sum (-1)^k (t - k + 1)^k / k!` over all k
/// with `t > k - 1`.
fn steps(t: f64) -> f64 {
    let (mut sum, mut factorial) = (1.0, 1.0);
    for k in 1..100 {
        let base = t - f64::from(k - 1);
        if base <= 0.0 {
            break;
        }
        factorial *= -f64::from(k);
        sum += base.powi(k) / factorial;
    }
    sum
}

fn linear() -> impl System<f64, 1> {
    one(1.0, |_, _, _, z| -z, |t, _| t - 1.0, |_| 1.0)
}

#[test]
fn the_method_of_steps() {
    for tolerance in [1e-4, 1e-8, 1e-12] {
        let (e, work) = error(&linear(), (0.0, 8.0), steps, &Tolerance::of(tolerance));
        println!("{tolerance}: {e:e} {work:?}");
        assert!(e < 10.0 * tolerance, "{tolerance}: {e:e} {work:?}");
    }
}

#[test]
fn a_cosine_is_its_own_past() {
    let system = one(FRAC_PI_2, |_, _, _, z| -z, |t, _| t - FRAC_PI_2, f64::cos);
    for tolerance in [1e-5, 1e-8, 1e-11] {
        let (e, work) = error(&system, (0.0, 50.0), f64::cos, &Tolerance::of(tolerance));
        println!("{tolerance}: {e:e} {work:?}");
        // Nothing is forgotten here: a tolerance per unit of time.
        assert!(e < 50.0 * tolerance, "{tolerance}: {e:e} {work:?}");
    }
}

/// `y' = a y + b y(t - 1)` has `e^(l t)` with `b = (l - a) e^l`.
#[test]
fn an_exponential_past() {
    let (l, a) = (-0.3_f64, -1.0);
    let b = (l - a) * l.exp();
    let system = one(1.0, |_, _, y, z| a * y + b * z, |t, _| t - 1.0, |t| (l * t).exp());
    for tolerance in [1e-5, 1e-8, 1e-11] {
        let (e, work) = error(&system, (0.0, 10.0), |t| (l * t).exp(), &Tolerance::of(tolerance));
        println!("{tolerance}: {e:e} {work:?}");
        assert!(e < tolerance, "{tolerance}: {e:e} {work:?}");
    }
}

/// Neves (1975): `y' = y y(ln y) / t`, 1 until t = 1.
fn neves() -> impl System<f64, 1> {
    one(12.0, |_, t, y, z| y * z / t, |_, y| y.ln(), |_| 1.0)
}

/// Its solution: t, then `e^(t/e)` from e on, then `(e/(3 - ln t))^e` from e^2 on.
fn neves_exact(t: f64) -> f64 {
    match t {
        _ if t <= E => t,
        _ if t <= E * E => (t / E).exp(),
        _ => (E / (3.0 - t.ln())).powf(E),
    }
}

#[test]
fn a_delay_that_depends_on_the_state() {
    for tolerance in [1e-5, 1e-8, 1e-11] {
        let (e, work) = error(&neves(), (1.0, 10.0), neves_exact, &Tolerance::of(tolerance));
        println!("{tolerance}: {e:e} {work:?}");
        assert!(e < 20.0 * tolerance, "{tolerance}: {e:e} {work:?}");
    }
}

/// The error falls with the fifth power of the steps.
#[test]
fn the_order_is_five() {
    let (l, a) = (-0.3_f64, -1.0);
    let b = (l - a) * l.exp();
    let system = one(1.0, |_, _, y, z| a * y + b * z, |t, _| t - 1.0, |t| (l * t).exp());
    let of = |tolerance| error(&system, (0.0, 10.0), |t| (l * t).exp(), &Tolerance::of(tolerance));
    let ((rough, few), (fine, many)) = (of(1e-8), of(1e-11));
    let order = (rough / fine).ln() / (many.steps as f64 / few.steps as f64).ln();
    assert!((4.7..6.0).contains(&order), "{order}");
}

/// The equation stops acting at 1.5: a step ends there, and nothing moves afterwards.
#[test]
fn a_given_discontinuity_is_hit() {
    let rate = |leg, _, _, z: f64| if leg == 0 { -z } else { 0.0 };
    let system = one(1.0, rate, |t, _| t - 1.0, |_| 1.0);
    let (mut ends, mut last) = (Vec::new(), 0.0);
    solve(&system, (0.0, 3.0), &[1.5], [1.0], &Tolerance::of(1e-10), &mut |piece| {
        ends.push(piece.to);
        last = piece.variable(0, piece.to);
    })
    .unwrap();
    assert!(ends.contains(&1.5));
    assert!((last - steps(1.5)).abs() < 1e-12, "{last}");
}

/// `y' = -1` with the delay y, which is gone at 1; a delay that was announced too short; a solution
/// that goes to infinity: each ends in an error that says so.
#[test]
fn what_cannot_be_solved_is_said() {
    let ends = |system: &dyn Fn() -> Result<Work, TheoryError>| system().unwrap_err().to_string();
    let gone = one(1.0, |_, _, _, z| -1.0 + 0.0 * z, |t, y| t - y, |_| 1.0);
    let text = ends(&|| solve(&gone, (0.0, 2.0), &[], [1.0], &Tolerance::of(1e-6), &mut |_| ()));
    assert!(text.contains("gave up at t = 0.99") && text.contains("went down to"), "{text}");
    let short = one(0.1, |_, _, _, z| -z, |t, _| t - 1.0, |_| 1.0);
    let text = ends(&|| solve(&short, (0.0, 5.0), &[], [1.0], &Tolerance::of(1e-12), &mut |_| ()));
    assert!(text.contains("longer than the longest that was announced"), "{text}");
    let large = one(1.0, |_, _, y: f64, z| y * y + 0.0 * z, |t, _| t - 1.0, |_| 1.0);
    let text = ends(&|| solve(&large, (0.0, 2.0), &[], [1.0], &Tolerance::of(1e-6), &mut |_| ()));
    assert!(text.contains("grow without bound") || text.contains("did not suffice"), "{text}");
    let text = ends(&|| solve(&large, (0.0, 2.0), &[3.0], [1.0], &Tolerance::of(1e-6), &mut |_| ()));
    assert!(text.contains("times of change = [3.0]"), "{text}");
    let text = ends(&|| solve(&large, (0.0, 2.0), &[], [1.0], &Tolerance::of(f64::NAN), &mut |_| ()));
    assert!(text.contains("absolute tolerance = NaN"), "{text}");
}
