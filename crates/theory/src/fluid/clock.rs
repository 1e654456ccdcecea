//! The times of the samples.

/// Times of samples.
pub(super) struct Clock {
    pub(super) sample: f64,
    pub(super) next: usize,
    pub(super) last: usize,
}

impl Clock {
    /// Multiples of `sample` between two times.
    pub(super) fn new(sample: f64, from: f64, to: f64) -> Clock {
        // A multiple that rounding puts outside counts.
        let count = |t: f64| t / sample * (1.0 + 4.0 * f64::EPSILON);
        Clock {
            sample,
            next: (from / sample * (1.0 - 4.0 * f64::EPSILON)).ceil() as usize,
            last: count(to).floor() as usize,
        }
    }

    #[inline(always)]
    pub(super) fn next_in(&mut self, to: f64) -> Option<f64> {
        let t = self.next as f64 * self.sample;
        if self.next > self.last || t > to * (1.0 + 8.0 * f64::EPSILON) {
            return None;
        }
        self.next += 1;
        Some(t)
    }

    pub(super) fn len(&self) -> usize {
        (self.last + 1).saturating_sub(self.next)
    }
}
