//! The knowledge in an exponentially weighted average (Trinh and Molnár, section 4.3).
//!
//! RED's average of the queue, `avg_t = w q_t + (1 - w) avg_(t-1)` (Trinh and Molnár, eq. 2), is an estimator
//! of the mean queue. Its variance is given here in units of the variance of the samples, at the `t`-th
//! sample and in the limit.
//!
//! The paper begins with `avg_1 = q_1 = 0`, a queue that is known to be empty. What is left is
//! `avg_t = sum_(i=2..t) w (1 - w)^(t-i) q_i`: `t - 1` random samples, so that a lag takes the values
//! 1 to `t - 2`, and of the products of weights at lag `k` there are `t - 1 - k`. Derived from that:
//!
//! - eq. 3 holds as printed;
//! - the limits of the sums of eq. 4 hold as printed, but its second sum lacks the factor `sigma^2`,
//!   without which it is not a variance ([`Ewma::variance`] has it);
//! - lemma 1, that the average is unbiased, holds in the limit only: with the first sample fixed at 0
//!   the expectation is `1 - (1 - w)^(t-1)` times the mean ([`Ewma::expectation`]);
//! - remark 5 is about the coefficient with which `rho(k)` enters the second sum of eq. 4, and right
//!   ([`Ewma::lag_coefficient`]). It is not the correlation of the average itself, which for
//!   independent samples is `(1 - w)^k` ([`Ewma::autocorrelation_independent`]).
//!
//! Whether arrivals see time averages (proposition 1) and whether loss is proportional (corollary 1)
//! is measured by the metrics `queue_seen_packets` beside `queue_packets`, and `loss_share` beside
//! `arrival_share`, of every run.

use crate::TheoryError;
use crate::error::require;

/// An exponentially weighted average of samples of a stationary sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ewma {
    weight: f64,
}

impl Ewma {
    /// The smallest weight for which [`Ewma::variance_limit`] sums over lags; about thirty over the
    /// weight of them count.
    pub const SMALLEST_SUMMED: f64 = 1e-7;

    /// The average with the weight `w_q` of a new sample.
    ///
    /// # Errors
    /// Where the weight does not lie in (0, 1]: with 0 the average never moves.
    pub fn new(weight: f64) -> Result<Self, TheoryError> {
        require(
            weight > 0.0 && weight <= 1.0,
            "weight w_q",
            weight,
            "must lie in (0, 1] (Trinh and Molnár, eq. 2; with 0 no sample would count)",
        )?;
        Ok(Ewma { weight })
    }

    /// The weight of a new sample.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// `1 - (1 - w)^n`, exact for small weights too.
    fn forgotten(&self, n: f64) -> f64 {
        // With w = 1 the logarithm is infinite, and times zero no number.
        if n == 0.0 { 0.0 } else { -libm::expm1(n * libm::log1p(-self.weight)) }
    }

    /// The expectation of the average at the `t`-th sample over the mean of the samples, where the
    /// first sample is 0 and all others have the same mean: `1 - (1 - w)^(t-1)`. 0 for `t` = 0.
    pub fn expectation(&self, t: u64) -> f64 {
        self.forgotten(t.saturating_sub(1) as f64)
    }

    /// The variance at the `t`-th sample, over that of the samples, where these are uncorrelated and
    /// the first is 0 (Trinh and Molnár, eq. 3).
    pub fn variance_independent(&self, t: u64) -> f64 {
        self.variance_independent_limit() * self.forgotten(2.0 * t.saturating_sub(1) as f64)
    }

    /// The limit of [`Ewma::variance_independent`]: `w / (2 - w)`, about `w / 2` for small weights.
    pub fn variance_independent_limit(&self) -> f64 {
        self.weight / (2.0 - self.weight)
    }

    /// The variance at the `t`-th sample, over that of the samples, where these have the correlation
    /// `rho(k)` at lag `k` and the first is 0 (Trinh and Molnár, eq. 4, with the `sigma^2` that its second
    /// sum lacks). The inner sum has a closed form, so that this takes `t` steps.
    ///
    /// # Errors
    /// Where `rho` leaves [-1, 1], or the result is negative: then it is not a correlation of a
    /// stationary sequence.
    pub fn variance(&self, t: u64, rho: impl Fn(u64) -> f64) -> Result<f64, TheoryError> {
        let mut sum = 0.0;
        for k in 1..t.saturating_sub(1) {
            // w^2 sum_(j=0..t-2-k) (1 - w)^(2j+k)
            sum += correlation(&rho, k)? * self.lag_coefficient(k) * self.forgotten(2.0 * (t - 1 - k) as f64);
        }
        nonnegative(self.variance_independent(t) + 2.0 * sum)
    }

    /// The limit of [`Ewma::variance`], to within 1e-12. It takes about thirty over the weight steps.
    ///
    /// # Errors
    /// As [`Ewma::variance`], and where the weight is below [`Ewma::SMALLEST_SUMMED`].
    pub fn variance_limit(&self, rho: impl Fn(u64) -> f64) -> Result<f64, TheoryError> {
        require(
            self.weight >= Self::SMALLEST_SUMMED,
            "weight w_q",
            self.weight,
            "too small to sum over all lags that count; variance_limit_geometric needs no sum",
        )?;
        let mut sum = 0.0;
        for k in 1.. {
            // What all further lags can add, for |rho| is at most 1.
            if 2.0 * self.lag_coefficient(k) / self.weight < 1e-12 {
                break;
            }
            sum += correlation(&rho, k)? * self.lag_coefficient(k);
        }
        nonnegative(self.variance_independent_limit() + 2.0 * sum)
    }

    /// The limit of [`Ewma::variance`] for `rho(k) = r^k`, as an AR(1) sequence has it:
    /// `w / (2 - w) * (1 + (1 - w) r) / (1 - (1 - w) r)`.
    ///
    /// # Errors
    /// Where `r` does not lie in [-1, 1].
    pub fn variance_limit_geometric(&self, r: f64) -> Result<f64, TheoryError> {
        let r = correlation(&|_| r, 1)?;
        // 1 - (1 - w) r without cancellation where both are near 1.
        let below = (1.0 - r) + self.weight * r;
        Ok(self.variance_independent_limit() * (1.0 + (1.0 - self.weight) * r) / below)
    }

    /// The factor of `rho(k)` in the second sum of Trinh and Molnár, eq. 4 as `t` grows (remark 5): `w / (2 -
    /// w) * (1 - w)^k`. The sum itself is doubled.
    pub fn lag_coefficient(&self, k: u64) -> f64 {
        self.variance_independent_limit() * self.autocorrelation_independent(k)
    }

    /// The correlation of the average with itself `k` samples later, in the limit, where the samples
    /// are uncorrelated: `(1 - w)^k`.
    pub fn autocorrelation_independent(&self, k: u64) -> f64 {
        if k == 0 { 1.0 } else { libm::exp(k as f64 * libm::log1p(-self.weight)) }
    }

    /// The correlation of the average with itself `k` samples later, in the limit, where the samples
    /// have the correlation `r^k`. It takes `k` steps.
    ///
    /// With `c = E[q_t avg_t] / sigma^2 = w / (1 - (1 - w) r)` the covariance follows
    /// `g(k) = (1 - w) g(k-1) + w c r^k`.
    ///
    /// # Errors
    /// Where `r` does not lie in [-1, 1].
    pub fn autocorrelation_geometric(&self, r: f64, k: u64) -> Result<f64, TheoryError> {
        let variance = self.variance_limit_geometric(r)?;
        require(
            variance > 0.0,
            "correlation r",
            r,
            "with this weight the average is constant and has no correlation",
        )?;
        let c = self.weight / ((1.0 - r) + self.weight * r);
        let (mut covariance, mut power) = (variance, 1.0);
        for _ in 0..k {
            power *= r;
            covariance = (1.0 - self.weight) * covariance + self.weight * c * power;
        }
        Ok(covariance / variance)
    }
}

fn correlation(rho: &impl Fn(u64) -> f64, k: u64) -> Result<f64, TheoryError> {
    let x = rho(k);
    require(x.abs() <= 1.0, format!("correlation rho({k})"), x, "must lie in [-1, 1]")?;
    Ok(x)
}

fn nonnegative(variance: f64) -> Result<f64, TheoryError> {
    // Rounding may leave a variance of zero a little below it.
    require(
        variance >= -1e-12,
        "variance of the average",
        variance,
        "is negative: no stationary sequence has the given correlation rho",
    )?;
    Ok(variance.max(0.0))
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    const WEIGHTS: [f64; 6] = [1.0, 0.7, 0.25, 0.02, 0.002, 1e-6];

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1e-300), "{a} is not {b}");
    }

    /// The variance from the definition: the recursion of eq. 2 run on the weights of the samples, and
    /// the quadratic form of these with the covariance matrix. Sample 1 is the constant 0.
    fn by_definition(w: f64, t: usize, rho: impl Fn(u64) -> f64) -> f64 {
        let mut weights = vec![0.0; t + 1];
        for i in 2..=t {
            weights.iter_mut().for_each(|a| *a *= 1.0 - w);
            weights[i] = w;
        }
        let lag = |i: usize, j: usize| if i == j { 1.0 } else { rho(i.abs_diff(j) as u64) };
        (2..=t)
            .flat_map(|i| (2..=t).map(move |j| (i, j)))
            .map(|(i, j)| weights[i] * weights[j] * lag(i, j))
            .sum()
    }

    #[test]
    fn variance_is_the_quadratic_form_of_the_weights() {
        for w in WEIGHTS {
            let ewma = Ewma::new(w).unwrap();
            for t in [1, 2, 3, 4, 7, 50] {
                close(ewma.variance_independent(t as u64), by_definition(w, t, |_| 0.0), 1e-12);
                for r in [0.9, 0.3, -0.6, 1.0] {
                    let rho = |k: u64| f64::powi(r, k as i32);
                    close(ewma.variance(t as u64, rho).unwrap(), by_definition(w, t, rho), 1e-12);
                }
                // A correlation that is not geometric: that of fractional noise, Hurst parameter 0.8.
                let rho = |k: u64| {
                    let k = k as f64;
                    0.5 * ((k + 1.0).powf(1.6) - 2.0 * k.powf(1.6) + (k - 1.0).powf(1.6))
                };
                close(ewma.variance(t as u64, rho).unwrap(), by_definition(w, t, rho), 1e-12);
            }
        }
    }

    #[test]
    fn the_printed_equation_4_is_off_by_sigma_squared() {
        // w = 0.5, t = 3, samples 0, q_2, q_3 with variance 4 and correlation 0.5. By hand:
        // avg_3 = 0.25 q_2 + 0.5 q_3, variance 4 (0.0625 + 0.25 + 2 * 0.125 * 0.5) = 1.75.
        // As printed: 4 * 0.3125 + 0.125 = 1.375.
        let ewma = Ewma::new(0.5).unwrap();
        assert_eq!(4.0 * ewma.variance(3, |_| 0.5).unwrap(), 1.75);
    }

    #[test]
    fn limits_are_what_long_sequences_tend_to() {
        for w in [1.0, 0.7, 0.25, 0.02, 0.002] {
            let ewma = Ewma::new(w).unwrap();
            close(ewma.variance_independent_limit(), ewma.variance_independent(100_000), 1e-12);
            for r in [0.99, 0.5, -0.5, 1.0] {
                let rho = |k: u64| {
                    f64::powf(f64::abs(r), k as f64) * if r < 0.0 && k % 2 == 1 { -1.0 } else { 1.0 }
                };
                let limit = ewma.variance_limit_geometric(r).unwrap();
                close(ewma.variance(100_000, rho).unwrap(), limit, 1e-9);
                close(ewma.variance_limit(rho).unwrap(), limit, 1e-9);
            }
        }
        // Samples that never change: the average is as uncertain as one of them.
        close(Ewma::new(0.002).unwrap().variance_limit_geometric(1.0).unwrap(), 1.0, 1e-14);
        // The paper's approximation for small weights.
        close(Ewma::new(1e-6).unwrap().variance_independent_limit(), 0.5e-6, 1e-6);
    }

    #[test]
    fn remark_5_is_the_coefficient_of_rho() {
        let ewma = Ewma::new(0.25).unwrap();
        // rho that is 1 at one lag only is not a correlation, but shows its coefficient.
        for k in 1..6 {
            let with = ewma.variance(500, |lag| if lag == k { 0.3 } else { 0.0 }).unwrap();
            close((with - ewma.variance_independent(500)) / 0.6, ewma.lag_coefficient(k), 1e-9);
        }
        close(ewma.lag_coefficient(3), 0.25 / 1.75 * 0.421875, 1e-12);
    }

    #[test]
    fn the_first_sample_biases_the_average() {
        let ewma = Ewma::new(0.002).unwrap();
        assert_eq!((ewma.expectation(1), ewma.expectation(0)), (0.0, 0.0));
        close(ewma.expectation(2), 0.002, 1e-12);
        close(ewma.expectation(501), 1.0 - 0.998_f64.powi(500), 1e-12);
        assert_eq!(Ewma::new(1.0).unwrap().expectation(2), 1.0);
    }

    /// A standard normal number (Box and Muller).
    fn normal(generator: &mut Pcg64Mcg) -> f64 {
        let mut uniform = || (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let (u, v) = (1.0 - uniform(), uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    #[test]
    fn a_simulated_sequence_has_the_variance_and_correlation() {
        // An AR(1) sequence with r = 0.9 and variance 9, and averages of it. The estimate of a variance
        // from n samples with the correlation s(k) has the relative variance
        // (2 / n) (1 + 2 sum s(k)^2) (Bartlett), here from the theory's own s; five standard
        // deviations are allowed, which a right formula leaves once in a million. They are 4.1 % and
        // 1.9 %; eq. 4 as printed is 83 % and 69 % too small here.
        const N: usize = 2_000_000;
        const R: f64 = 0.9;
        for (w, seed) in [(0.02, 1_u64), (0.3, 2)] {
            let ewma = Ewma::new(w).unwrap();
            let mut generator = Pcg64Mcg::seed_from_u64(seed);
            let (mut q, mut avg) = (0.0, 0.0);
            let mut path = Vec::with_capacity(N);
            for i in 0..N + 10_000 {
                q = R * q + (9.0 * (1.0 - R * R)).sqrt() * normal(&mut generator);
                avg = w * q + (1.0 - w) * avg;
                if i >= 10_000 {
                    path.push(avg);
                }
            }
            let limit = 9.0 * ewma.variance_limit_geometric(R).unwrap();
            let squares: f64 = (1..2000).map(|k| ewma.autocorrelation_geometric(R, k).unwrap().powi(2)).sum();
            let spread = (2.0 / N as f64 * (1.0 + 2.0 * squares)).sqrt();
            let product =
                |k: usize| path.iter().zip(&path[k..]).map(|(a, b)| a * b).sum::<f64>() / (N - k) as f64;
            let variance = product(0);
            assert!((variance / limit - 1.0).abs() < 5.0 * spread, "{w}: {variance}, {limit}, {spread}");
            assert!(5.0 * spread < 0.05, "{spread}");
            let independent = ewma.variance_independent_limit();
            let printed = 9.0 * independent + (limit / 9.0 - independent);
            assert!((variance / printed - 1.0).abs() > 0.5, "{w}: {variance}, {printed}");
            for k in [1, 5, 30] {
                let expected = ewma.autocorrelation_geometric(R, k as u64).unwrap();
                let found = product(k) / variance;
                // A covariance is at most as uncertain as the variance.
                assert!((found - expected).abs() < 10.0 * spread, "{w}, {k}: {found}, {expected}");
            }
        }
    }

    #[test]
    fn averages_of_independent_samples_are_correlated_by_their_memory() {
        let ewma = Ewma::new(0.1).unwrap();
        for k in [0, 1, 5, 40] {
            close(
                ewma.autocorrelation_geometric(0.0, k).unwrap(),
                ewma.autocorrelation_independent(k),
                1e-12,
            );
        }
        // Where the memory and the correlation are the same: (1 + k (1 - a^2) / (1 + a^2)) a^k.
        let a: f64 = 0.9;
        let expected = |k: f64| (1.0 + k * (1.0 - a * a) / (1.0 + a * a)) * a.powf(k);
        close(ewma.autocorrelation_geometric(a, 7).unwrap(), expected(7.0), 1e-12);
    }

    #[test]
    fn what_is_no_weight_or_no_correlation_is_refused() {
        for w in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(Ewma::new(w).is_err(), "{w}");
        }
        let ewma = Ewma::new(0.5).unwrap();
        for r in [1.1, -2.0, f64::NAN] {
            assert!(ewma.variance_limit_geometric(r).is_err());
            assert!(ewma.variance(10, |_| r).is_err() && ewma.variance_limit(|_| r).is_err());
        }
        // All pairs cannot be opposed to each other.
        let error = Ewma::new(0.01).unwrap().variance(100, |_| -1.0).unwrap_err().to_string();
        assert!(error.contains("no stationary sequence"), "{error}");
        assert!(Ewma::new(1e-9).unwrap().variance_limit(|_| 0.0).is_err());
        // With w = 1 the average is the sample.
        assert_eq!(Ewma::new(1.0).unwrap().variance_limit_geometric(-1.0), Ok(1.0));
        assert_eq!(Ewma::new(1.0).unwrap().autocorrelation_geometric(0.5, 3), Ok(0.125));
    }
}
