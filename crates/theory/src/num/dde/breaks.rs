//! Points at which the solution is not smooth: the discontinuities, and what delays make of them.

use crate::num::Real;

/// A time at which some derivative of the solution jumps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Break {
    pub(super) at: f64,
    /// Least order of the derivative that jumps.
    level: usize,
    /// The lane in which it is, if not in all.
    pub(super) lane: Option<usize>,
}

/// The breaking points: every discontinuity causes a weaker one each delay later (Bellen and Zennaro,
/// *Numerical Methods for Delay Differential Equations*, 2.2). A step ends where a look-up meets one.
pub(super) struct Breaks<V> {
    pub(super) points: Vec<Break>,
    /// Level up to which the consequences of a discontinuity are looked for.
    levels: usize,
    /// The times looked up at the start of the step, and by how much they grow per second.
    pub(super) from: Vec<V>,
    slope: Vec<V>,
    /// Number of times that the step has been shortened for one.
    tries: usize,
}

impl<V: Real> Breaks<V> {
    /// Parts of a step in which a breaking point is as good as at its start or end: what a jump of the first
    /// derivative does in them is `1e-4^2` and `1e-5^2` of what it does in the step.
    const START: f64 = 1e-4;
    const END: f64 = 1.0 - 1e-5;

    pub(super) fn new(delays: usize, start: f64) -> Self {
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
    pub(super) fn push(&mut self, at: f64) {
        self.points.push(Break { at, level: 0, lane: None });
    }

    /// The longest step whose look-ups are expected not to go beyond its start, with a delay of
    /// `shortest` there.
    #[inline(always)]
    pub(super) fn reach(&self, shortest: f64) -> f64 {
        let mut fastest = 1.0;
        for slope in &self.slope {
            for lane in 0..V::LANES {
                fastest = slope.lane(lane).max(fastest);
            }
        }
        if fastest > 1.0 { 0.99 * shortest / fastest } else { shortest }
    }

    #[inline(always)]
    pub(super) fn begin(&mut self, looked: &[V]) {
        self.from.copy_from_slice(looked);
        self.tries = 0;
    }

    /// Every delay, lane and breaking point that matters to them.
    pub(super) fn each(&self, mut f: impl FnMut(usize, usize, &Break)) {
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
    pub(super) fn expected(&self, step: f64) -> Option<f64> {
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
    pub(super) fn inside(&mut self, looked: &[V], step: f64) -> Option<f64> {
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
    pub(super) fn pass(&mut self, looked: &[V], t: f64, step: f64) {
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
    pub(super) fn follow(&mut self, looked: &[V], step: f64) {
        let per_step = V::of(1.0 / step);
        for ((slope, from), to) in self.slope.iter_mut().zip(&self.from).zip(looked) {
            let speed = (*to - *from) * per_step;
            *slope = V::select(V::of(0.0).lt(speed), speed, V::of(1.0));
        }
    }
}
