//! An equation, and its solution so far, to look up delayed states in.

use crate::num::Real;

/// A delay equation `y' = f(t, y, y(t - R(t, y)))` in `D` variables.
pub trait System<V: Real, const D: usize> {
    /// Number of delays.
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

    /// Makes the jump that is due as soon as the state allows it; returns whether there was one. It happens
    /// at that time to rounding, and the past keeps the jump.
    fn switch(&self, _leg: usize, _t: f64, _y: &mut [V; D]) -> bool {
        false
    }

    /// Factor of the absolute tolerance for a variable; 0 for one that is not used.
    fn scale(&self, _variable: usize) -> f64 {
        1.0
    }
}

/// A step and the polynomial on it: the variables by powers of the part of the step that has passed.
#[derive(Clone, Copy, Debug)]
pub struct Piece<V, const D: usize> {
    /// Time at which it begins.
    pub from: f64,
    /// Time at which it ends.
    pub to: f64,
    pub(super) per_step: f64,
    pub(super) powers: [[V; D]; 5],
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
    pub(super) fn one(&self, d: usize, part: V) -> V {
        let [a, b, c, e, f] = &self.powers;
        let square = part * part;
        (a[d] + part * b[d]) + square * ((c[d] + part * e[d]) + square * f[d])
    }
}

/// The solution so far, as far back as the longest delay.
///
/// A ring.
pub struct Past<'s, V, const D: usize> {
    pub(super) system: &'s dyn System<V, D>,
    /// `(start, 1/length)` of the steps, by their number modulo the ring's length.
    pub(super) steps: Vec<(f64, f64)>,
    /// Their polynomials, in the same order.
    pub(super) powers: Vec<[[V; D]; 5]>,
    /// Numbers of the first step that is kept and of the one after the last.
    pub(super) first: usize,
    pub(super) end: usize,
    /// The end of the last step.
    now: f64,
    /// Steps in which each delay's earliest and latest look-up were found the last time.
    hints: Vec<usize>,
    /// The time at which rates are wanted.
    pub(super) time: f64,
    /// Shortest delay since [`Past::ask`], and the latest time looked up.
    pub(super) shortest: V,
    latest: V,
    /// The last look-up of each delay.
    pub(super) looked: Vec<V>,
    /// Tells that something older than the kept past was asked for.
    pub(super) lost: bool,
}

impl<'s, V: Real, const D: usize> Past<'s, V, D> {
    pub(super) fn new(system: &'s dyn System<V, D>, start: f64) -> Self {
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
        // The lanes' times are mostly in one step or in two neighbors: those of all lanes at once.
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
    pub(super) fn ask(&mut self) {
        self.shortest = V::of(f64::INFINITY);
        self.latest = V::of(f64::NEG_INFINITY);
    }

    /// The shortest delay since then, of any lane.
    #[inline(always)]
    pub(super) fn shortest(&self) -> f64 {
        (0..V::LANES).fold(f64::INFINITY, |m, i| m.min(self.shortest.lane(i)))
    }

    /// Tells whether something later than `t` was looked up, but for rounding.
    #[inline(always)]
    pub(super) fn after(&self, t: f64, step: f64) -> bool {
        let limit = t + 1e-10 * step;
        (0..V::LANES).any(|i| self.latest.lane(i) > limit)
    }

    /// Difference at the latest look-up between the solution in `piece` and the continuation of the step
    /// before, with which that look-up was answered.
    #[inline(always)]
    pub(super) fn mismatch(&self, piece: &Piece<V, D>) -> [V; D] {
        let (said, is) = (self.evaluate(self.end - 1, self.latest), piece.at_each(self.latest));
        let mut apart = said;
        for d in 0..D {
            apart[d] = said[d] - is[d];
        }
        apart
    }

    #[inline(always)]
    pub(super) fn push(&mut self, piece: &Piece<V, D>, keep: f64) {
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
    pub(super) fn grow(&mut self) {
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
