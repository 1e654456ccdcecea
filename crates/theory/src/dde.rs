//! A solver for delay differential equations whose delays may depend on the state.
//!
//! Dormand and Prince's method of order 5 with its error estimate, and its continuous extension of
//! order 4 for what lies in the past (Dormand and Prince 1980; Hairer, Norsett and Wanner, *Solving
//! Ordinary Differential Equations I*, II.5, II.6 and II.17). With a delay that is at least as long as
//! the step, the order stays 5: the extension's error per step is as small as the method's.
//!
//! Where the solution is smooth a step may be longer than the delay. What it looks up beyond its own start
//! is then the continuation of the step before; by how much the new step contradicts it counts as an
//! error. (Hairer and Wanner's RETARD and Shampine's ddesd iterate instead, which costs the stages again.)
//! A delay that goes to 0 ends in an error.
//!
//! Given discontinuities are hit exactly, and so are the weaker ones that they cause a delay later, as far
//! as the error needs it. Left to the error control alone they made the error of `y' = -y(t - 1)` 40 times
//! as large at a tolerance of 1e-4, with more steps; and that of Neves' equation, whose delay depends on
//! the state, 90 times. What a law's own kinks and bounds do is left to the error control.

use crate::error::{TheoryError, positive, require};
use crate::real::Real;

/// A delay equation `y' = f(t, y, y(t - R(t, y)))` in `D` variables.
pub trait System<V: Real, const D: usize> {
    /// How many delays there are.
    fn delays(&self) -> usize;

    /// The longest any of them can be, in seconds: as much of the past is kept.
    fn longest_delay(&self) -> f64;

    /// The state before the start, at `t`, in a lane.
    fn before(&self, lane: usize, t: f64) -> [f64; D];

    /// `y'`. `leg` counts the discontinuities that have been passed; at one, the end of the leg before
    /// it and the start of the one after it have the same `t`.
    fn rates(&self, leg: usize, t: f64, y: &[V; D], past: &mut Past<'_, V, D>) -> [V; D];

    /// Moves a state at the end of a step back into its bounds, which only the solver's error has it
    /// leave.
    fn confine(&self, _y: &mut [V; D]) {}

    /// What jumps as soon as the state allows it; whether something does. It happens at that time to
    /// rounding, and the past keeps the jump.
    fn switch(&self, _leg: usize, _t: f64, _y: &mut [V; D]) -> bool {
        false
    }

    /// What the absolute tolerance is multiplied with for a variable; 0 for one that is not used.
    fn scale(&self, _variable: usize) -> f64 {
        1.0
    }
}

/// How accurate, and how much work at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Error per step relative to the variable.
    pub relative: f64,
    /// Error per step in units of the variable, see [`System::scale`].
    pub absolute: f64,
    /// Steps after which the solver gives up.
    pub steps: usize,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { relative: 1e-6, absolute: 1e-6, steps: 1_000_000 }
    }
}

impl Tolerance {
    /// The same relative and absolute tolerance.
    pub fn of(tolerance: f64) -> Self {
        Tolerance { relative: tolerance, absolute: tolerance, ..Tolerance::default() }
    }

    fn check(&self) -> Result<(), TheoryError> {
        positive("absolute tolerance", self.absolute, "")?;
        require(
            self.relative >= 1e-14 && self.relative <= 0.1,
            "relative tolerance",
            self.relative,
            "must lie in [1e-14, 0.1]: double precision resolves no less, and more is no answer",
        )?;
        require(self.steps > 0, "steps", self.steps, "must be positive")
    }
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Steps that were kept.
    pub steps: usize,
    /// Steps that were tried and repeated shorter.
    pub rejected: usize,
    /// Evaluations of [`System::rates`].
    pub evaluations: usize,
}

/// A step and the polynomial on it: the variables by powers of the part of the step that has passed.
#[derive(Clone, Copy, Debug)]
pub struct Piece<V, const D: usize> {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    per_step: f64,
    powers: [[V; D]; 5],
}

impl<V: Real, const D: usize> Piece<V, D> {
    /// The state at a time within the step.
    #[inline(always)]
    pub fn at(&self, t: f64) -> [V; D] {
        let part = V::of((t - self.from) * self.per_step);
        std::array::from_fn(|d| self.one(d, part))
    }

    /// One variable at a time within the step.
    #[inline(always)]
    pub fn variable(&self, d: usize, t: f64) -> V {
        self.one(d, V::of((t - self.from) * self.per_step))
    }

    /// The state at a time that differs from lane to lane.
    #[inline(always)]
    fn at_each(&self, t: V) -> [V; D] {
        let part = (t - V::of(self.from)) * V::of(self.per_step);
        let mut found = self.powers[0];
        for (d, x) in found.iter_mut().enumerate() {
            *x = self.one(d, part);
        }
        found
    }

    #[inline(always)]
    fn one(&self, d: usize, part: V) -> V {
        let [a, b, c, e, f] = &self.powers;
        let square = part * part;
        (a[d] + part * b[d]) + square * ((c[d] + part * e[d]) + square * f[d])
    }
}

/// The solution so far, as far back as the longest delay.
///
/// A ring.
pub struct Past<'s, V, const D: usize> {
    system: &'s dyn System<V, D>,
    /// `(start, 1/length)` of the steps, by their number modulo the ring's length.
    steps: Vec<(f64, f64)>,
    /// Their polynomials, in the same order.
    powers: Vec<[[V; D]; 5]>,
    /// Numbers of the first step that is kept and of the one after the last.
    first: usize,
    end: usize,
    /// The end of the last step.
    now: f64,
    /// Where each delay's earliest and latest look-up found their steps the last time.
    hints: Vec<usize>,
    /// The time at which rates are wanted.
    time: f64,
    /// Shortest delay since [`Past::ask`], and the latest time looked up.
    shortest: V,
    latest: V,
    /// The last look-up of each delay.
    looked: Vec<V>,
    /// Whether something older than what is kept was asked for.
    lost: bool,
}

impl<'s, V: Real, const D: usize> Past<'s, V, D> {
    fn new(system: &'s dyn System<V, D>, start: f64) -> Self {
        const LENGTH: usize = 16;
        let delays = system.delays();
        Past {
            system,
            steps: vec![(start, 0.0); LENGTH],
            powers: vec![[[V::of(0.0); D]; 5]; LENGTH],
            first: 0,
            end: 0,
            now: start,
            hints: vec![0; 2 * delays],
            time: start,
            shortest: V::of(f64::INFINITY),
            latest: V::of(f64::NEG_INFINITY),
            looked: vec![V::of(start); delays],
            lost: false,
        }
    }

    /// The state at the time `t`, which differs from lane to lane; `delay` is the number of the delay
    /// that leads there.
    #[inline(always)]
    pub fn at(&mut self, delay: usize, t: V) -> [V; D] {
        self.shortest = self.shortest.min(V::of(self.time) - t);
        self.latest = self.latest.max(t);
        self.looked[delay] = t;
        // The lanes' times are mostly in one step or in two neighbours: those of all lanes at once.
        let (mut early, mut late) = (t.lane(0), t.lane(0));
        for lane in 1..V::LANES {
            early = Real::min(early, t.lane(lane));
            late = Real::max(late, t.lane(lane));
        }
        let low = self.find(self.hints[2 * delay], early);
        let high = if V::LANES == 1 { low } else { self.find(self.hints[2 * delay + 1], late) };
        (self.hints[2 * delay], self.hints[2 * delay + 1]) = (low, high);
        let mask = self.steps.len() - 1;
        if self.end == 0 || early < self.steps[low & mask].0 || high - low > 12 {
            return self.lane_by_lane(t, low);
        }
        let mut found = self.evaluate(low, t);
        for i in low + 1..=high {
            let earlier = t.lt(V::of(self.steps[i & mask].0));
            let here = self.evaluate(i, t);
            for d in 0..D {
                found[d] = V::select(earlier, found[d], here[d]);
            }
        }
        found
    }

    /// The step that a time lies in, looked for from `hint` on; the first or last for times outside.
    #[inline(always)]
    fn find(&self, hint: usize, t: f64) -> usize {
        let mask = self.steps.len() - 1;
        let mut i = hint;
        while i + 1 < self.end && self.steps[(i + 1) & mask].0 <= t {
            i += 1;
        }
        while i > self.first && t < self.steps[i & mask].0 {
            i -= 1;
        }
        i
    }

    /// The polynomials of a step.
    #[inline(always)]
    fn evaluate(&self, step: usize, t: V) -> [V; D] {
        let slot = step & (self.steps.len() - 1);
        let (start, per_step) = self.steps[slot];
        let part = (t - V::of(start)) * V::of(per_step);
        let square = part * part;
        let [a, b, c, e, f] = &self.powers[slot];
        // No `from_fn`: it does not become vector instructions.
        let mut found = *a;
        for d in 0..D {
            found[d] = (a[d] + part * b[d]) + square * ((c[d] + part * e[d]) + square * f[d]);
        }
        found
    }

    /// The same where the lanes' times lie far apart, or before the start.
    #[cold]
    #[inline(never)]
    fn lane_by_lane(&mut self, t: V, hint: usize) -> [V; D] {
        let mask = self.steps.len() - 1;
        let mut found = [t; D];
        for lane in 0..V::LANES {
            let i = self.find(hint, t.lane(lane));
            let one = if self.end == 0 || t.lane(lane) < self.steps[i & mask].0 {
                self.lost |= i > 0;
                self.system.before(lane, t.lane(lane))
            } else {
                self.evaluate(i, V::of(t.lane(lane))).map(|x| x.lane(lane))
            };
            for d in 0..D {
                found[d] = V::from_lanes(|l| if l == lane { one[d] } else { found[d].lane(l) });
            }
        }
        found
    }

    /// Begins a series of look-ups.
    #[inline(always)]
    fn ask(&mut self) {
        self.shortest = V::of(f64::INFINITY);
        self.latest = V::of(f64::NEG_INFINITY);
    }

    /// The shortest delay since then, of any lane.
    #[inline(always)]
    fn shortest(&self) -> f64 {
        (0..V::LANES).fold(f64::INFINITY, |m, i| m.min(self.shortest.lane(i)))
    }

    /// Whether something later than `t` was looked up, but for rounding.
    #[inline(always)]
    fn after(&self, t: f64, step: f64) -> bool {
        let limit = t + 1e-10 * step;
        (0..V::LANES).any(|i| self.latest.lane(i) > limit)
    }

    /// By how much the solution in `piece` differs at the latest look-up from the continuation of the
    /// step before, which that look-up was answered with.
    #[inline(always)]
    fn mismatch(&self, piece: &Piece<V, D>) -> [V; D] {
        let (said, is) = (self.evaluate(self.end - 1, self.latest), piece.at_each(self.latest));
        let mut apart = said;
        for d in 0..D {
            apart[d] = said[d] - is[d];
        }
        apart
    }

    #[inline(always)]
    fn push(&mut self, piece: &Piece<V, D>, keep: f64) {
        let mut mask = self.steps.len() - 1;
        // A step is needed until the one after it begins before what is kept.
        while self.first + 1 < self.end && self.steps[(self.first + 1) & mask].0 < piece.to - keep {
            self.first += 1;
        }
        if self.end - self.first > mask {
            self.grow();
            mask = self.steps.len() - 1;
        }
        let slot = self.end & mask;
        self.steps[slot] = (piece.from, piece.per_step);
        self.powers[slot] = piece.powers;
        self.end += 1;
        self.now = piece.to;
        for hint in &mut self.hints {
            *hint = (*hint).max(self.first);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let old = self.steps.len();
        let mut steps = vec![(0.0, 0.0); 2 * old];
        let mut powers = vec![[[V::of(0.0); D]; 5]; 2 * old];
        for i in self.first..self.end {
            let (from, to) = (i & (old - 1), i & (2 * old - 1));
            (steps[to], powers[to]) = (self.steps[from], self.powers[from]);
        }
        (self.steps, self.powers) = (steps, powers);
    }
}

/// A time at which some derivative of the solution jumps.
#[derive(Clone, Copy, Debug)]
struct Break {
    at: f64,
    /// Of what order the derivative is, at least.
    level: usize,
    /// Where, if not everywhere.
    lane: Option<usize>,
}

/// The breaking points: every discontinuity causes a weaker one each delay later (Bellen and Zennaro,
/// *Numerical Methods for Delay Differential Equations*, 2.2). A step ends where a look-up meets one.
struct Breaks<V> {
    points: Vec<Break>,
    /// How weak a discontinuity may be to have its consequences looked for.
    levels: usize,
    /// The times looked up at the start of the step, and by how much they grow per second.
    from: Vec<V>,
    slope: Vec<V>,
    /// How often the step has been shortened for one.
    tries: usize,
}

impl<V: Real> Breaks<V> {
    /// Within these parts of a step a breaking point is as good as at its start or end: what a jump of
    /// the first derivative does in them is `1e-4^2` and `1e-5^2` of what it does in the step.
    const START: f64 = 1e-4;
    const END: f64 = 1.0 - 1e-5;

    fn new(delays: usize, start: f64) -> Self {
        let levels = match delays * V::LANES {
            1 => 4,
            2..=4 => 3,
            _ => 2,
        };
        let mut breaks = Breaks {
            points: Vec::new(),
            levels,
            from: vec![V::of(start); delays],
            slope: vec![V::of(1.0); delays],
            tries: 0,
        };
        breaks.push(start);
        breaks
    }

    /// Here everything jumps.
    fn push(&mut self, at: f64) {
        self.points.push(Break { at, level: 0, lane: None });
    }

    /// The longest step whose look-ups are expected not to go beyond its start, with a delay of
    /// `shortest` there.
    #[inline(always)]
    fn reach(&self, shortest: f64) -> f64 {
        let mut fastest = 1.0;
        for slope in &self.slope {
            for lane in 0..V::LANES {
                fastest = slope.lane(lane).max(fastest);
            }
        }
        if fastest > 1.0 { 0.99 * shortest / fastest } else { shortest }
    }

    #[inline(always)]
    fn begin(&mut self, looked: &[V]) {
        self.from.copy_from_slice(looked);
        self.tries = 0;
    }

    /// Every delay, lane and breaking point that matters to them.
    fn each(&self, mut f: impl FnMut(usize, usize, &Break)) {
        for point in &self.points {
            for delay in 0..self.from.len() {
                match point.lane {
                    Some(lane) => f(delay, lane, point),
                    None => (0..V::LANES).for_each(|lane| f(delay, lane, point)),
                }
            }
        }
    }

    /// The time until a look-up meets a breaking point, if that is expected within a step.
    #[inline(always)]
    fn expected(&self, step: f64) -> Option<f64> {
        if self.points.is_empty() { None } else { self.expected_among(step) }
    }

    #[inline(never)]
    fn expected_among(&self, step: f64) -> Option<f64> {
        let mut first = None;
        self.each(|delay, lane, point| {
            let wait = (point.at - self.from[delay].lane(lane)) / self.slope[delay].lane(lane);
            if wait > Self::START * step && wait < Self::END * first.unwrap_or(step) {
                first = Some(wait);
            }
        });
        first
    }

    /// The shorter step that a step should have been, for a look-up met a breaking point inside it.
    #[inline(always)]
    fn inside(&mut self, looked: &[V], step: f64) -> Option<f64> {
        if self.points.is_empty() { None } else { self.inside_among(looked, step) }
    }

    #[inline(never)]
    fn inside_among(&mut self, looked: &[V], step: f64) -> Option<f64> {
        let mut first: Option<f64> = None;
        self.each(|delay, lane, point| {
            let (from, to) = (self.from[delay].lane(lane), looked[delay].lane(lane));
            let part = (point.at - from) / (to - from);
            if from < point.at && part > Self::START && part < first.unwrap_or(Self::END) {
                first = Some(part);
            }
        });
        self.tries += 1;
        first.filter(|_| self.tries < 8).map(|part| part * step)
    }

    /// Notes what the look-ups have passed in a step that is kept.
    #[inline(always)]
    fn pass(&mut self, looked: &[V], t: f64, step: f64) {
        if !self.points.is_empty() {
            self.pass_among(looked, t, step);
        }
    }

    #[inline(never)]
    fn pass_among(&mut self, looked: &[V], t: f64, step: f64) {
        let mut new = Vec::new();
        self.each(|delay, lane, point| {
            let (from, to) = (self.from[delay].lane(lane), looked[delay].lane(lane));
            if from < point.at && point.at <= to && point.level + 1 < self.levels {
                let at = t + step * (point.at - from) / (to - from);
                new.push(Break { at, level: point.level + 1, lane: Some(lane) });
            }
        });
        self.points.retain(|point| {
            let passed = |lane: usize| looked.iter().all(|to| to.lane(lane) >= point.at);
            !point.lane.map_or_else(|| (0..V::LANES).all(passed), passed)
        });
        self.points.extend(new);
    }

    /// Notes how fast the look-ups moved in a step that is kept.
    #[inline(always)]
    fn follow(&mut self, looked: &[V], step: f64) {
        let per_step = V::of(1.0 / step);
        for ((slope, from), to) in self.slope.iter_mut().zip(&self.from).zip(looked) {
            let speed = (*to - *from) * per_step;
            *slope = V::select(V::of(0.0).lt(speed), speed, V::of(1.0));
        }
    }
}

/// `h sum a_i k_i`.
#[inline(always)]
fn sum<V: Real, const D: usize>(h: f64, a: &[f64], k: &[[V; D]]) -> [V; D] {
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

/// How large something is in units of the tolerance: the root of the mean square over the variables, in
/// the worst lane.
struct Norm<V, const D: usize> {
    relative: V,
    absolute: [V; D],
    used: f64,
}

impl<V: Real, const D: usize> Norm<V, D> {
    #[inline(always)]
    fn of(&self, x: &[V; D], y: &[V; D], z: &[V; D]) -> f64 {
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
fn power(x: f64, n: f64) -> f64 {
    const ONE: f64 = 1.0_f64.to_bits() as f64;
    let x = x.clamp(1e-30, 1e30);
    f64::from_bits((ONE + n * (x.to_bits() as f64 - ONE)) as u64)
}

/// Steps that are to be this many delays long may be longer than the delay.
const FAR: f64 = 1.3;
/// They are not longer than this many.
const FURTHEST: f64 = 8.0;

/// For this many steps after one that was too long for that, none is longer than the one before.
const CALM: usize = 8;

/// What a step tried led to.
struct Tried<V, const D: usize> {
    y: [V; D],
    last: [V; D],
    error: f64,
    piece: Piece<V, D>,
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
fn check(start: f64, end: f64, stops: &[f64], tolerance: &Tolerance) -> Result<(), TheoryError> {
    tolerance.check()?;
    require(start.is_finite(), "start", start, "must be finite")?;
    require(end.is_finite() && end > start, "end", end, format!("must be finite and after {start}"))?;
    require(
        stops.iter().all(|s| start < *s && *s < end) && stops.windows(2).all(|w| w[0] < w[1]),
        "times of change",
        format!("{stops:?}"),
        format!("must rise, between the start {start} and the end {end}"),
    )
}

#[cold]
#[inline(never)]
fn lost(t: f64, keep: f64) -> TheoryError {
    let reason = format!("a delay is longer than the longest that was announced, {keep} s");
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
        format!("a delay went down to {shortest:e} s, and no step may be much longer than a delay")
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{E, FRAC_PI_2};

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
}
