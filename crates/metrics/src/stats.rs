//! Figures over replications: means with confidence intervals, paired differences.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::metric::Range;

/// The probability with which an interval misses what it is for.
pub const ERROR: f64 = 0.05;

/// A mean over replications and its 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95% interval (Student's t); `None` for a single replication, or if every seed gave the
    /// same path.
    pub half_width: Option<f64>,
    /// The number of replications that it comes from.
    pub n: usize,
}

impl Estimate {
    /// The estimate from one value per replication; `None`: there are none.
    pub fn of(samples: &[f64]) -> Option<Estimate> {
        Estimate::with_error(samples, ERROR)
    }

    /// [`Estimate::of`] with an interval that misses the mean with probability `error` (for normal samples) rather than
    /// 5%.
    pub fn with_error(samples: &[f64], error: f64) -> Option<Estimate> {
        if samples.is_empty() {
            return None;
        }
        let n = samples.len();
        let mean = samples.iter().sum::<f64>() / n as f64;
        let half_width = (n > 1).then(|| {
            let variance = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1) as f64;
            t_quantile(n - 1, error) * (variance / n as f64).sqrt()
        });
        Some(Estimate { mean, half_width, n })
    }

    /// The same mean, of which nothing is known beyond its value.
    pub fn without_interval(self) -> Estimate {
        Estimate { half_width: None, ..self }
    }

    /// The interval, if there is one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.half_width.map(|h| (self.mean - h, self.mean + h))
    }

    /// The part of the interval that a figure can have at all, if there is an interval.
    pub fn interval_within(&self, range: Range) -> Option<(f64, f64)> {
        self.interval().map(|ends| range.clip(self.mean, ends))
    }

    /// True if zero lies outside the interval: for a difference, that it is significant.
    pub fn excludes_zero(&self) -> bool {
        self.interval().is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

/// The value that Student's t with `freedom` degrees of freedom exceeds, on either side, with probability `error`, to ten
/// decimals: the last digits depend on a platform's logarithm, and the page in a browser shows what the command prints.
pub fn t_quantile(freedom: usize, error: f64) -> f64 {
    // Location 0, scale 1 and at least one degree of freedom are always valid.
    let t = StudentsT::new(0.0, 1.0, freedom.max(1) as f64);
    let exact = t.map_or(f64::NAN, |t| t.inverse_cdf(1.0 - error / 2.0));
    (exact * 1e10).round() / 1e10
}

/// Jain's fairness index, `(sum x)^2 / (n sum x^2)`; `None` if nothing was shared.
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// The `q`-quantile of sorted values: the smallest one that at least a share `q` does not exceed.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

/// The distinct items, in the order of first appearance.
pub fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for x in all {
        if !once.contains(&x) {
            once.push(x);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_follow_students_t() {
        // Table values of t(0.975): 12.706 (1), 2.776 (4), 2.045 (29).
        for (freedom, t) in [(1, 12.706), (4, 2.776), (29, 2.045)] {
            assert!((t_quantile(freedom, ERROR) - t).abs() < 1e-3, "{freedom}");
        }
        // 1..5: mean 3, s = sqrt(2.5), half width 2.776 * sqrt(2.5 / 5).
        let e = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((e.mean, e.n), (3.0, 5));
        assert!((e.half_width.unwrap() - 1.9632).abs() < 1e-3);
        assert!(e.excludes_zero());
    }

    #[test]
    fn one_replication_has_no_interval() {
        let e = Estimate::of(&[7.0]).unwrap();
        assert_eq!((e.mean, e.half_width, e.n), (7.0, None, 1));
        assert!(!e.excludes_zero());
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn an_interval_ends_where_its_figure_must() {
        let e = Estimate { mean: 0.98, half_width: Some(0.05), n: 3 };
        assert_eq!(e.interval_within(Range::SHARE), Some((0.98 - 0.05, 1.0)));
        assert_eq!(e.interval_within(Range::ANY), e.interval());
        let small = Estimate { mean: 0.5, half_width: Some(3.0), n: 2 };
        assert_eq!(small.interval_within(Range::POSITIVE), Some((0.0, 3.5)));
        // A mean that is out of range by rounding is never outside its own interval.
        let rounded = 1.0 + f64::EPSILON;
        let over = Estimate { mean: rounded, half_width: Some(0.25), n: 2 };
        assert_eq!(over.interval_within(Range::SHARE), Some((rounded - 0.25, rounded)));
        // One that is so by a burst is in the middle of the whole of it.
        let burst = Estimate { mean: 5.0, half_width: Some(0.25), n: 2 };
        assert_eq!(burst.interval_within(Range::SHARE), Some((4.75, 5.25)));
        assert_eq!(Estimate { half_width: None, ..small }.interval_within(Range::SHARE), None);
    }

    #[test]
    fn jain_index_of_known_shares() {
        assert_eq!(jain_index(&[2.0, 2.0, 2.0]), Some(1.0));
        assert_eq!(jain_index(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index(&[1.0, 3.0]), Some(0.8));
        assert_eq!(jain_index(&[0.0, 0.0]), None);
        assert_eq!(jain_index(&[]), None);
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        let v = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&v, 0.5), Some(2.0));
        assert_eq!(quantile(&v, 0.51), Some(3.0));
        assert_eq!(quantile(&v, 1.0), Some(4.0));
        assert_eq!(quantile(&v, 0.0), Some(1.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
