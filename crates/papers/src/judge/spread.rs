//! The spread of runs.

use std::f64::consts::PI;

/// Intervals of Simpson's rule, an even number: with these the probability is right to six digits.
const INTERVALS: usize = 200;

/// Those over a plane: with these the variance is.
const COARSE: usize = 64;

/// The probability that the range of `runs` normal values is at most `ratio` times the standard deviation that other
/// values of them give, with `freedom` degrees of freedom: the distribution of the studentized range.
pub(super) fn studentized_range(ratio: f64, runs: u32, freedom: usize) -> f64 {
    let v = freedom as f64;
    // The density of the deviation over the true one.
    let constant = 2f64.ln() + 0.5 * v * (0.5 * v).ln() - libm::lgamma(0.5 * v);
    let density = |u: f64| (constant + (v - 1.0) * u.ln() - 0.5 * v * u * u).exp();
    simpson(INTERVALS, f64::EPSILON, 1.0 + 8.0 / v.sqrt(), |u| density(u) * range(ratio * u, runs))
}

/// The probability that the range of some standard normal values is at most `width`.
fn range(width: f64, runs: u32) -> f64 {
    let below = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
    let normal = |z: f64| (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    let others = i32::try_from(runs).unwrap_or(i32::MAX) - 1;
    // By the least of them: all others lie no more than the width above it.
    f64::from(runs)
        * simpson(INTERVALS, -8.0, 8.0, |z| normal(z) * (below(z + width) - below(z)).powi(others))
}

/// The variance of the middle of the range of some standard normal values.
pub(super) fn variance_of_middle(runs: u32) -> f64 {
    let below = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
    let others = i32::try_from(runs).unwrap_or(i32::MAX) - 2;
    // The density of the least and the greatest together, over the middle and the width of their range.
    let pairs = f64::from(runs) * (f64::from(runs) - 1.0) / (2.0 * PI);
    let density = |middle: f64, width: f64| {
        let between = below(middle + 0.5 * width) - below(middle - 0.5 * width);
        pairs * (-middle * middle - 0.25 * width * width).exp() * between.powi(others)
    };
    let of_middle = |middle: f64| simpson(COARSE, 0.0, 16.0, |width| density(middle, width));
    simpson(COARSE, -8.0, 8.0, |middle| middle * middle * of_middle(middle))
}

fn simpson(intervals: usize, from: f64, to: f64, f: impl Fn(f64) -> f64) -> f64 {
    let step = (to - from) / intervals as f64;
    let weight = |i: usize| match i {
        i if i == 0 || i == intervals => 1.0,
        i if i % 2 == 1 => 4.0,
        _ => 2.0,
    };
    (0..=intervals).map(|i| weight(i) * f(from + step * i as f64)).sum::<f64>() * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 95% points of the published tables.
    #[test]
    fn the_distribution_is_that_of_the_tables() {
        for (ratio, runs, freedom) in [(3.877, 3, 10), (4.232, 5, 20), (3.636, 2, 5), (5.244, 7, 9)] {
            let found = studentized_range(ratio, runs, freedom);
            assert!((found - 0.95).abs() < 5e-4, "{ratio} {runs} {freedom}: {found}");
        }
    }

    /// Of two it is their mean; of more by the published moments of order statistics.
    #[test]
    fn the_middle_varies_as_the_tables_say() {
        let by_moments = |end: f64, both: f64| 0.5 * (end + both);
        for (runs, known) in [
            (2, 0.5),
            (3, by_moments(0.559_467, 0.164_868)),
            (5, by_moments(0.447_534, 0.074_215)),
            (7, by_moments(0.391_918, 0.044_802)),
        ] {
            let found = variance_of_middle(runs);
            assert!((found - known).abs() < 1e-5, "{runs}: {found}, not {known}");
        }
    }
}
