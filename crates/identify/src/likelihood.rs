//! The synthetic likelihood of a candidate.
//!
//! The statistics of K seeds at a value of the parameter are taken for Gaussian (Wood 2010, equation 1). Their
//! covariance is shrunk: K is less than the number of statistics. Deviations are drawn towards those of the
//! discipline's other values, and correlations, pooled over all values, towards zero (Ledoit and Wolf 2004 shrink
//! likewise). The deviation that a model may have from real hosts is added to the variance.

use crate::statistics::{COUNT, Statistics, TOLERANCE};

/// The weight of the discipline's other values in a deviation, as a number of seeds.
const PRIOR: f64 = 4.0;
/// The share that is taken from correlations.
const SHRINK: f64 = 0.3;

type Vector = [f64; COUNT];
type Matrix = [Vector; COUNT];

/// A value of the parameter with the statistics of its seeds.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    /// The logarithm of the value.
    pub place: f64,
    pub seeds: Vec<Statistics>,
}

/// The distribution of the statistics of a discipline, over its parameter.
pub(crate) struct Model {
    /// Points in the order of their places.
    points: Vec<Point>,
    correlation: Matrix,
}

struct Point {
    place: f64,
    mean: Vector,
    /// Variances by chance.
    variance: Vector,
    seeds: f64,
}

/// The logarithm of a likelihood, and the squared distance of the observation in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Likelihood {
    pub log: f64,
    pub distance: f64,
}

impl Model {
    /// The model of what was tried.
    pub fn of(tried: &[Tried]) -> Model {
        let mut points: Vec<Point> = tried.iter().map(Point::of).collect();
        points.sort_by(|a, b| a.place.total_cmp(&b.place));
        let mut pooled = [0.0; COUNT];
        for point in &points {
            for (sum, variance) in pooled.iter_mut().zip(point.variance) {
                *sum += variance / points.len() as f64;
            }
        }
        for point in &mut points {
            let free = (point.seeds - 1.0).max(0.0);
            for (variance, pooled) in point.variance.iter_mut().zip(pooled) {
                *variance = (free * *variance + PRIOR * pooled) / (free + PRIOR);
            }
        }
        Model { correlation: correlation(tried), points }
    }

    /// The likelihood of an observation at a place.
    pub fn at(&self, place: f64, observed: &Statistics) -> Likelihood {
        let Some((deviation, off)) = self.distance(place, observed) else {
            return Likelihood { log: f64::NEG_INFINITY, distance: f64::INFINITY };
        };
        let mut matrix = [[0.0; COUNT]; COUNT];
        for (i, row) in matrix.iter_mut().enumerate() {
            for (j, cell) in row.iter_mut().enumerate() {
                *cell = deviation[i] * deviation[j] * self.correlation[i][j];
            }
            row[i] += TOLERANCE[i] * TOLERANCE[i];
        }
        gaussian(&matrix, &off)
    }

    /// How many deviations each statistic of an observation is away at a place.
    pub fn deviations(&self, place: f64, observed: &Statistics) -> Vector {
        let Some((deviation, mut off)) = self.distance(place, observed) else { return [0.0; COUNT] };
        for i in 0..COUNT {
            off[i] /= libm::hypot(deviation[i], TOLERANCE[i]);
        }
        off
    }

    /// The deviations by chance at a place, and how far an observation is from the means; between values that were
    /// tried, both are interpolated.
    fn distance(&self, place: f64, observed: &Statistics) -> Option<(Vector, Vector)> {
        let last = self.points.len().checked_sub(1)?;
        let after = self.points.partition_point(|point| point.place < place).clamp(1.min(last), last);
        let (a, b) = (self.points.get(after.saturating_sub(1))?, self.points.get(after)?);
        let width = b.place - a.place;
        let share = if width > 0.0 { ((place - a.place) / width).clamp(0.0, 1.0) } else { 0.0 };
        let between = |x: f64, y: f64| x + share * (y - x);
        // The mean of so many seeds deviates, too.
        let of_mean = libm::sqrt(1.0 + 1.0 / a.seeds.min(b.seeds));
        let (mut deviation, mut off) = ([0.0; COUNT], [0.0; COUNT]);
        for i in 0..COUNT {
            deviation[i] = of_mean * between(libm::sqrt(a.variance[i]), libm::sqrt(b.variance[i]));
            off[i] = observed.0[i] - between(a.mean[i], b.mean[i]);
        }
        Some((deviation, off))
    }
}

impl Point {
    fn of(tried: &Tried) -> Point {
        let n = tried.seeds.len() as f64;
        let mut mean = [0.0; COUNT];
        for seed in &tried.seeds {
            mean.iter_mut().zip(seed.0).for_each(|(sum, x)| *sum += x / n);
        }
        let mut variance = [0.0; COUNT];
        for seed in &tried.seeds {
            for i in 0..COUNT {
                variance[i] += (seed.0[i] - mean[i]) * (seed.0[i] - mean[i]) / (n - 1.0).max(1.0);
            }
        }
        Point { place: tried.place, mean, variance, seeds: n }
    }
}

/// The correlations of statistics between seeds, pooled over values and shrunk.
fn correlation(tried: &[Tried]) -> Matrix {
    let mut sums = [[0.0; COUNT]; COUNT];
    for point in tried {
        let Point { mean, .. } = Point::of(point);
        for seed in &point.seeds {
            for i in 0..COUNT {
                for j in 0..COUNT {
                    sums[i][j] += (seed.0[i] - mean[i]) * (seed.0[j] - mean[j]);
                }
            }
        }
    }
    let mut found = [[0.0; COUNT]; COUNT];
    for i in 0..COUNT {
        for j in 0..COUNT {
            let scale = libm::sqrt(sums[i][i] * sums[j][j]);
            found[i][j] = match i == j {
                true => 1.0,
                false if scale > 0.0 => (1.0 - SHRINK) * sums[i][j] / scale,
                false => 0.0,
            };
        }
    }
    found
}

/// The density of a Gaussian around zero, by Cholesky's decomposition of its covariance.
fn gaussian(covariance: &Matrix, off: &Vector) -> Likelihood {
    let mut lower = [[0.0; COUNT]; COUNT];
    let (mut log_det, mut distance) = (0.0, 0.0);
    let mut solved = [0.0; COUNT];
    for i in 0..COUNT {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = covariance[i][j] - dot;
            // Tolerances on the diagonal keep it positive.
            lower[i][j] = if i == j { libm::sqrt(rest.max(1e-12)) } else { rest / lower[j][j] };
        }
        let dot: f64 = (0..i).map(|k| lower[i][k] * solved[k]).sum();
        solved[i] = (off[i] - dot) / lower[i][i];
        distance += solved[i] * solved[i];
        log_det += 2.0 * libm::log(lower[i][i]);
    }
    let circle = COUNT as f64 * libm::log(2.0 * std::f64::consts::PI);
    Likelihood { log: -0.5 * (distance + log_det + circle), distance }
}

/// The probability that a chi-squared variable of [`COUNT`] degrees exceeds a squared distance (Wilson and Hilferty
/// 1931).
pub(crate) fn beyond(distance: f64) -> f64 {
    let n = COUNT as f64;
    let spread = 2.0 / (9.0 * n);
    let z = (libm::cbrt(distance / n) - (1.0 - spread)) / libm::sqrt(spread);
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Abramowitz and Stegun, table 26.8: chi-squared of 18 degrees.
    #[test]
    fn the_tail_is_that_of_tables() {
        for (distance, p) in [(17.338, 0.5), (28.869, 0.05), (34.805, 0.01), (42.312, 0.001)] {
            let found = beyond(distance);
            assert!((found / p - 1.0).abs() < 0.05, "{distance}: {found} for {p}");
        }
    }

    /// Independent statistics: the density is the product of normal ones.
    #[test]
    fn a_density_without_correlation_is_a_product() {
        let mut covariance = [[0.0; COUNT]; COUNT];
        let mut off = [0.0; COUNT];
        let mut log = 0.0;
        for i in 0..COUNT {
            let deviation = 0.1 + i as f64;
            covariance[i][i] = deviation * deviation;
            off[i] = 0.5 * deviation;
            log += -0.125 - deviation.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln();
        }
        let found = gaussian(&covariance, &off);
        assert!((found.log - log).abs() < 1e-9 && (found.distance - 0.25 * COUNT as f64).abs() < 1e-9);
    }

    /// Two correlated values: the inverse of a two by two matrix, by hand.
    #[test]
    fn a_correlation_changes_the_distance() {
        let mut covariance = [[0.0; COUNT]; COUNT];
        (0..COUNT).for_each(|i| covariance[i][i] = 1.0);
        (covariance[0][1], covariance[1][0]) = (0.8, 0.8);
        let mut off = [0.0; COUNT];
        (off[0], off[1]) = (1.0, -1.0);
        // (1 + 1 + 2 * 0.8) / (1 - 0.64) = 10
        assert!((gaussian(&covariance, &off).distance - 10.0).abs() < 1e-9);
    }
}
