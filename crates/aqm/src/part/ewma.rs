//! The exponentially weighted moving average of a queue.

/// `avg = (1 - w) avg + w q` per sample (Floyd and Jacobson 1993, eq. 1; thesis eq. 2.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ewma {
    /// The average.
    pub avg: f64,
    weight: f64,
    /// `ln(1 - weight)`: ageing happens at every arrival of a lightly loaded link, and an
    /// exponential is cheaper than a power.
    ln_keep: f64,
}

impl Ewma {
    /// Starts at zero; `weight` of a new sample in (0, 1].
    pub fn new(weight: f64) -> Self {
        Ewma { avg: 0.0, weight, ln_keep: libm::log1p(-weight) }
    }

    /// The weight of a new sample.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Changes the weight of a new sample, in (0, 1].
    pub fn set_weight(&mut self, weight: f64) {
        *self = Ewma { avg: self.avg, ..Ewma::new(weight) };
    }

    /// Takes a sample in.
    #[inline]
    pub fn sample(&mut self, x: f64) {
        self.sample_as(x, self.weight);
    }

    /// Takes a sample in that weighs `weight`.
    #[inline]
    pub fn sample_as(&mut self, x: f64, weight: f64) {
        self.avg += weight * (x - self.avg);
    }

    /// Ages the average as if `samples` samples of zero had come (thesis 2.2: `avg *= (1-w)^m`).
    #[inline]
    pub fn age(&mut self, samples: f64) {
        // At weight 1 the logarithm is infinite, and no sample must change nothing.
        if samples > 0.0 {
            self.avg *= libm::exp(samples * self.ln_keep);
        }
    }
}

/// The weight whose time constant is `seconds` at `capacity` samples per second:
/// `w = 1 - exp(-1 / (seconds C))`. One second gives thesis 3.2.3 (ARED), `10 R` gives thesis 2.3.4
/// (Auto-Tuning RED), and 0.1 s gives ns-2's `q_weight_ -2`.
pub fn link_rate_weight(capacity: f64, seconds: f64) -> f64 {
    -libm::expm1(-1.0 / (seconds * capacity))
}

equations! {
    Ewma::sample(w, avg, q) -> avg = {
        let mut e = Ewma { avg, ..Ewma::new(w) };
        e.sample(q);
        e.avg
    };
    Ewma::age(w, avg, m) -> avg = {
        let mut e = Ewma { avg, ..Ewma::new(w) };
        e.age(m);
        e.avg
    };
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
        let mut a = Ewma::new(0.002);
        a.avg = 10.0;
        let mut b = a;
        a.age(50.0);
        (0..50).for_each(|_| b.sample(0.0));
        assert!((a.avg - b.avg).abs() < 1e-12);
    }

    #[test]
    fn a_weight_of_one_forgets_at_the_first_sample_and_not_before() {
        let mut a = Ewma::new(1.0);
        a.sample(7.0);
        a.age(0.0);
        assert_eq!(a.avg, 7.0);
        a.age(0.5);
        assert_eq!(a.avg, 0.0);
    }
}
