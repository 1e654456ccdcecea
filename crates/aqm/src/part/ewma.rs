//! The exponentially weighted moving average of a queue.

/// `avg = (1 - w) avg + w q` per sample (Floyd and Jacobson 1993, eq. 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ewma {
    /// The average.
    pub avg: f64,
    /// The weight of a new sample.
    pub weight: f64,
}

impl Ewma {
    /// Starts at zero.
    pub fn new(weight: f64) -> Self {
        Ewma { avg: 0.0, weight }
    }

    /// Takes a sample in.
    #[inline]
    pub fn sample(&mut self, x: f64) {
        self.avg += self.weight * (x - self.avg);
    }

    /// Ages the average as if `samples` samples of zero had come (thesis 2.2: `avg *= (1-w)^m`).
    #[inline]
    pub fn age(&mut self, samples: f64) {
        self.avg *= libm::pow(1.0 - self.weight, samples);
    }
}

/// The weight whose time constant is `seconds` at `capacity` samples per second:
/// `w = 1 - exp(-1 / (seconds C))`. One second gives thesis 3.2.3 (ARED), `10 R` gives thesis 2.3.4
/// (Auto-Tuning RED), and 0.1 s gives ns-2's `q_weight_ -2`.
pub fn link_rate_weight(capacity: f64, seconds: f64) -> f64 {
    -libm::expm1(-1.0 / (seconds * capacity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automatic_weights_match_the_documents() {
        // 15 Mb/s of 1000-byte packets (fuzzy 4): 0.00053, and 0.0053 by ns-2's rule.
        assert!((link_rate_weight(1875.0, 1.0) - 0.000533).abs() < 1e-6);
        assert!((link_rate_weight(1875.0, 0.1) - 0.00532).abs() < 1e-5);
    }

    #[test]
    fn ageing_equals_that_many_zero_samples() {
        let mut a = Ewma { avg: 10.0, weight: 0.002 };
        let mut b = a;
        a.age(50.0);
        (0..50).for_each(|_| b.sample(0.0));
        assert!((a.avg - b.avg).abs() < 1e-12);
    }
}
