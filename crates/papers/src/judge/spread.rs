//! The spread of runs.

use std::f64::consts::PI;

/// Intervals of Simpson's rule, an even number: with these the probability is right to six digits.
const INTERVALS: usize = 200;

/// The probability that the range of `runs` normal values is at most `ratio` times the standard deviation that other
/// values of them give, with `freedom` degrees of freedom: the distribution of the studentized range.
pub(super) fn studentized_range(ratio: f64, runs: u32, freedom: usize) -> f64 {
    let v = freedom as f64;
    // The density of the deviation over the true one.
    let constant = 2f64.ln() + 0.5 * v * (0.5 * v).ln() - libm::lgamma(0.5 * v);
    let density = |u: f64| (constant + (v - 1.0) * u.ln() - 0.5 * v * u * u).exp();
    simpson(f64::EPSILON, 1.0 + 8.0 / v.sqrt(), |u| density(u) * range(ratio * u, runs))
}

/// The probability that the range of some standard normal values is at most `width`.
fn range(width: f64, runs: u32) -> f64 {
    let below = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
    let normal = |z: f64| (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    let others = i32::try_from(runs).unwrap_or(i32::MAX) - 1;
    // By the least of them: all others lie no more than the width above it.
    f64::from(runs) * simpson(-8.0, 8.0, |z| normal(z) * (below(z + width) - below(z)).powi(others))
}

fn simpson(from: f64, to: f64, f: impl Fn(f64) -> f64) -> f64 {
    let step = (to - from) / INTERVALS as f64;
    let weight = |i: usize| match i {
        0 | INTERVALS => 1.0,
        i if i % 2 == 1 => 4.0,
        _ => 2.0,
    };
    (0..=INTERVALS).map(|i| weight(i) * f(from + step * i as f64)).sum::<f64>() * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 95 % points of the published tables.
    #[test]
    fn the_distribution_is_that_of_the_tables() {
        for (ratio, runs, freedom) in [(3.877, 3, 10), (4.232, 5, 20), (3.636, 2, 5), (5.244, 7, 9)] {
            let found = studentized_range(ratio, runs, freedom);
            assert!((found - 0.95).abs() < 5e-4, "{ratio} {runs} {freedom}: {found}");
        }
    }
}
