//! The steps: an embedded pair of orders 5 and 4, its error, and where it stops.

use super::breaks::Breaks;
use super::past::{Past, Piece, System};
use super::tolerance::{Tolerance, Work};
use crate::error::{TheoryError, require};
use crate::num::Real;

/// `h sum a_i k_i`.
#[inline(always)]
pub(super) fn sum<V: Real, const D: usize>(h: f64, a: &[f64], k: &[[V; D]]) -> [V; D] {
    let mut sum = [V::of(0.0); D];
    for (a, k) in a.iter().zip(k) {
        let a = V::of(h * a);
        for d in 0..D {
            sum[d] = sum[d] + a * k[d];
        }
    }
    sum
}

/// Dormand and Prince's method: when the stages are, and of which rates they are made.
const TIMES: [f64; 6] = [0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0];
const STAGES: [[f64; 6]; 6] = [
    [0.2, 0.0, 0.0, 0.0, 0.0, 0.0],
    [3.0 / 40.0, 9.0 / 40.0, 0.0, 0.0, 0.0, 0.0],
    [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0, 0.0, 0.0, 0.0],
    [19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0, 0.0, 0.0],
    [9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0, 0.0],
    [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
/// Its difference from the method of order 4.
const ERROR: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];
/// Its continuous extension (Hairer, Norsett and Wanner, II.6).
const BETWEEN: [f64; 7] = [
    -12715105075.0 / 11282082432.0,
    0.0,
    87487479700.0 / 32700410799.0,
    -10690763975.0 / 1880347072.0,
    701980252875.0 / 199316789632.0,
    -1453857185.0 / 822651844.0,
    69997945.0 / 29380423.0,
];

/// Size of something in units of the tolerance: the root of the mean square over the variables, in the worst
/// lane.
struct Norm<V, const D: usize> {
    pub(super) relative: V,
    pub(super) absolute: [V; D],
    pub(super) used: f64,
}

impl<V: Real, const D: usize> Norm<V, D> {
    #[inline(always)]
    pub(super) fn of(&self, x: &[V; D], y: &[V; D], z: &[V; D]) -> f64 {
        let mut sum = V::of(0.0);
        for d in 0..D {
            let size = y[d].max(-y[d]).max(z[d].max(-z[d]));
            let part = x[d] / (self.absolute[d] + self.relative * size);
            sum = sum + part * part;
        }
        // Not a number in any lane stays that.
        let worst = (0..V::LANES).fold(0.0, |m: f64, i| match sum.lane(i) {
            x if x <= m => m,
            x => x.max(m) + 0.0 * (x + m),
        });
        (worst / self.used).sqrt()
    }
}

/// `x^n` to a tenth, for small n: what a step length need not be better than. The bits of a number are
/// nearly its logarithm.
#[inline(always)]
pub(super) fn power(x: f64, n: f64) -> f64 {
    const ONE: f64 = 1.0_f64.to_bits() as f64;
    let x = x.clamp(1e-30, 1e30);
    f64::from_bits((ONE + n * (x.to_bits() as f64 - ONE)) as u64)
}

/// Steps that are to be this many delays long may be longer than the delay.
const FAR: f64 = 1.3;
/// They are not longer than this many.
const FURTHEST: f64 = 8.0;

/// Steps after one that was too long, of which none is longer than the one before.
const CALM: usize = 8;

/// Result of a trial step.
struct Tried<V, const D: usize> {
    pub(super) y: [V; D],
    pub(super) last: [V; D],
    pub(super) error: f64,
    pub(super) piece: Piece<V, D>,
}

/// Solves a system from `start` to `end` and shows every step to `see`.
///
/// `stops` are the times between them at which the system changes, in order. The state starts as `y`,
/// whatever it was before. The steps are those of the lane that needs the shortest.
///
/// # Errors
/// The tolerance cannot be reached, or a time or tolerance is not one.
#[inline(always)]
pub fn solve<V: Real, const D: usize>(
    system: &dyn System<V, D>,
    (start, end): (f64, f64),
    stops: &[f64],
    mut y: [V; D],
    tolerance: &Tolerance,
    see: &mut dyn FnMut(&Piece<V, D>),
) -> Result<Work, TheoryError> {
    check(start, end, stops, tolerance)?;
    let keep = system.longest_delay();
    let mut past = Past::new(system, start);
    let scale: [f64; D] = std::array::from_fn(|d| system.scale(d));
    let used = scale.iter().filter(|s| **s > 0.0).count();
    // Variables that are not used never count as wrong.
    let absolute: [V; D] = scale.map(|s| V::of(if s > 0.0 { tolerance.absolute * s } else { f64::MAX }));
    let norm = Norm { relative: V::of(tolerance.relative), absolute, used: used as f64 };
    let mut breaks = Breaks::new(system.delays(), start);
    let mut work = Work::default();
    let mut t = start;
    let mut h = f64::INFINITY;
    let mut memory: f64 = 1e-4;
    for leg in 0..=stops.len() {
        let stop = stops.get(leg).copied().unwrap_or(end);
        if leg > 0 {
            breaks.push(t);
        }
        let mut k = rates_at(system, leg, t, &y, &mut past);
        work.evaluations += 1;
        let mut shortest = past.shortest();
        if leg == 0 {
            // Hairer, Norsett and Wanner, II.4: where a step would change the state by a hundredth.
            let (speed, size) = (norm.of(&k, &y, &y), norm.of(&y, &y, &y));
            h = if speed > 1e-10 && size > 1e-10 { 0.01 * size / speed } else { 1e-4 * (end - start) };
            h = h.min(shortest);
        }
        let mut again = false;
        let first = work.steps + 1;
        let mut calm = 0;
        let mut exactly = None;
        breaks.begin(&past.looked);
        while t < stop {
            let least = 16.0 * f64::EPSILON * t.abs().max(stop.abs());
            let reach = breaks.reach(shortest);
            // A step that looks beyond its start continues the step before: a smooth one, after no jump.
            let far = h > FAR * reach && work.steps > first && breaks.points.is_empty();
            h = h.min(if far { FURTHEST * reach } else { reach });
            if h.is_nan() || h <= least {
                return Err(hopeless(t, h, shortest, tolerance));
            }
            let left = stop - t;
            // No crumb is left over for the last step.
            let (step, whole) = match exactly.take().or_else(|| breaks.expected(h.min(left))) {
                Some(step) => (step, false),
                _ if h >= left => (left, true),
                _ if 2.0 * h > left => (0.5 * left, false),
                _ => (h, false),
            };
            let to = if whole { stop } else { t + step };
            past.ask();
            let tried = attempt(system, leg, t, step, to, &y, &k, &mut past, &norm);
            work.evaluations += 6;
            if past.lost {
                return Err(lost(t, keep));
            }
            if work.steps + work.rejected >= tolerance.steps {
                return Err(too_many(t, step, shortest, tolerance));
            }
            let ahead = past.after(t, step);
            if ahead && (!far || past.after(to, step)) {
                work.rejected += 1;
                h = step * (0.9 * past.shortest() / step).clamp(0.1, 0.9);
                again = true;
                continue;
            }
            let mut error = tried.error;
            if ahead {
                error = error.max(norm.of(&past.mismatch(&tried.piece), &y, &tried.y));
            }
            let good = error <= 1.0;
            if !good {
                work.rejected += 1;
                h = step * (0.9 * power(error, -0.2)).clamp(0.2, 0.9);
                if error.is_nan() {
                    h = 0.1 * step;
                }
                if ahead {
                    h = h.max(reach);
                    calm = CALM;
                }
                again = true;
                continue;
            }
            exactly = breaks.inside(&past.looked, step);
            if exactly.is_some() {
                work.rejected += 1;
                continue;
            }
            breaks.pass(&past.looked, t, step);
            breaks.follow(&past.looked, step);
            // With a memory, as Hairer's DOPRI5.
            let growth = 0.9 * power(error, -0.17) * power(memory, 0.04);
            let growth = growth.clamp(0.2, if again { 1.0 } else { 10.0 });
            memory = error.max(1e-4);
            again = false;
            // A step cut short by a breaking point says little about the next one.
            h = (growth * step).max(if growth >= 1.0 { h } else { 0.0 });
            // Beyond the delay it grows slowly, and not soon after it has been too long: what bounds it
            // there is stability, and the error says so late.
            let slow = if calm > 0 { 1.0 } else { 1.5 };
            h = h.min((slow * step).max(reach * slow));
            calm = calm.saturating_sub(1);
            let mut piece = tried.piece;
            y = tried.y;
            system.confine(&mut y);
            let mut to = to;
            let jumps = system.switch(leg, to, &mut y);
            if jumps {
                to = first_switch(system, leg, &piece);
                piece.to = to;
                y = piece.at(to);
                system.confine(&mut y);
                system.switch(leg, to, &mut y);
                breaks.push(to);
            }
            work.steps += 1;
            past.push(&piece, keep);
            see(&piece);
            t = to;
            let moved = (0..D).any(|d| V::any(V::or(y[d].lt(tried.y[d]), tried.y[d].lt(y[d]))));
            if jumps || moved {
                k = rates_at(system, leg, t, &y, &mut past);
                work.evaluations += 1;
            } else {
                k = tried.last;
            }
            shortest = past.shortest();
            breaks.begin(&past.looked);
        }
    }
    Ok(work)
}

/// The rates at a time from which a series of steps begins.
#[inline(always)]
fn rates_at<V: Real, const D: usize>(
    system: &dyn System<V, D>,
    leg: usize,
    t: f64,
    y: &[V; D],
    past: &mut Past<'_, V, D>,
) -> [V; D] {
    past.ask();
    past.time = t;
    system.rates(leg, t, y, past)
}

#[inline(never)]
pub(super) fn check(start: f64, end: f64, stops: &[f64], tolerance: &Tolerance) -> Result<(), TheoryError> {
    tolerance.check()?;
    require(start.is_finite(), "start", start, "must be finite")?;
    require(end.is_finite() && end > start, "end", end, format!("must be finite and after {start}"))?;
    require(
        stops.iter().all(|s| start < *s && *s < end) && stops.windows(2).all(|w| w[0] < w[1]),
        "times of change",
        format!("{stops:?}"),
        format!("must increase, between the start {start} and the end {end}"),
    )
}

#[cold]
#[inline(never)]
pub(super) fn lost(t: f64, keep: f64) -> TheoryError {
    let reason = format!("a delay is longer than the declared maximum, {keep} s");
    TheoryError::Tolerance { at: t, reason }
}

#[cold]
#[inline(never)]
fn too_many(t: f64, step: f64, shortest: f64, tolerance: &Tolerance) -> TheoryError {
    let reason = format!(
        "{} steps did not suffice for a relative tolerance of {}; the last took {step:e} s and the shortest delay is {shortest} s; allow more steps or a larger tolerance",
        tolerance.steps, tolerance.relative
    );
    TheoryError::Tolerance { at: t, reason }
}

#[cold]
#[inline(never)]
fn hopeless(t: f64, h: f64, shortest: f64, tolerance: &Tolerance) -> TheoryError {
    let reason = if shortest <= 2.0 * FURTHEST * h.abs() {
        format!("a delay fell to {shortest:e} s, and no step may be much longer than the shortest delay")
    } else {
        format!(
            "a relative tolerance of {} asks for steps of {h:e} s, which double precision does not resolve; the solution may grow without bound",
            tolerance.relative
        )
    };
    TheoryError::Tolerance { at: t, reason }
}

/// One step of Dormand and Prince's method, with its error as a multiple of the tolerance.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn attempt<V: Real, const D: usize>(
    system: &dyn System<V, D>,
    leg: usize,
    t: f64,
    h: f64,
    to: f64,
    y: &[V; D],
    k1: &[V; D],
    past: &mut Past<'_, V, D>,
    norm: &Norm<V, D>,
) -> Tried<V, D> {
    let zero = [V::of(0.0); D];
    let mut k = [zero; 7];
    k[0] = *k1;
    let mut new = *y;
    for stage in 0..6 {
        let change = sum(h, &STAGES[stage][..=stage], &k[..=stage]);
        for d in 0..D {
            new[d] = y[d] + change[d];
        }
        past.time = if TIMES[stage] == 1.0 { to } else { t + TIMES[stage] * h };
        k[stage + 1] = system.rates(leg, past.time, &new, past);
    }
    let wrong = sum(h, &ERROR, &k);
    let r5 = sum(h, &BETWEEN, &k);
    let k7 = k[6];
    let step = V::of(h);
    let mut powers = [*y, zero, zero, zero, r5];
    for d in 0..D {
        let difference = new[d] - y[d];
        let r3 = step * k1[d] - difference;
        let r4 = difference - step * k7[d] - r3;
        powers[1][d] = step * k1[d];
        powers[2][d] = r4 + r5[d] - r3;
        powers[3][d] = -(r4 + r5[d] + r5[d]);
    }
    let error = norm.of(&wrong, y, &new);
    Tried { y: new, last: k7, error, piece: Piece { from: t, to, per_step: 1.0 / h, powers } }
}

/// The time in a step from which on the system switches, to rounding.
#[cold]
#[inline(never)]
fn first_switch<V: Real, const D: usize>(system: &dyn System<V, D>, leg: usize, piece: &Piece<V, D>) -> f64 {
    let (mut low, mut high) = (piece.from, piece.to);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        let mut y = piece.at(middle);
        system.confine(&mut y);
        if system.switch(leg, middle, &mut y) { high = middle } else { low = middle }
    }
    high
}
