//! Thins series to a size that a page can hold.

use serde::{Serialize, Serializer};

/// A number of a chart: four digits, `null` where there is none. A pixel shows no more, and the page
/// is a third of the size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Num(pub f64);

impl Serialize for Num {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_finite() {
            return serializer.serialize_none();
        }
        // What was printed as a number reads as a number.
        let rounded: f64 = format!("{:.3e}", self.0).parse().unwrap_or(self.0);
        if rounded == rounded.trunc() && rounded.abs() < 1e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

/// The numbers of a chart, each times `factor`.
pub(super) fn nums(values: &[f64], factor: f64) -> Vec<Num> {
    values.iter().map(|x| Num(x * factor)).collect()
}

/// Cuts a series into buckets and keeps the smallest and the largest value of each, in their order, so
/// that no peak is lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thinning {
    /// Samples per bucket; 1 or 2 keep everything.
    bucket: usize,
}

impl Thinning {
    /// The thinning from series of `samples` to at most about `target` values.
    pub fn new(samples: usize, target: usize) -> Self {
        Thinning { bucket: if samples <= target { 1 } else { (2 * samples).div_ceil(target.max(2)) } }
    }

    /// The values that are kept. NaN counts only where a bucket has nothing else.
    pub fn values(&self, all: &[f64]) -> Vec<f64> {
        if self.bucket <= 2 {
            return all.to_vec();
        }
        all.chunks(self.bucket).flat_map(extremes).collect()
    }

    /// The times to draw them at: each bucket's first and last. A value moves by less than a bucket.
    pub fn times(&self, all: &[f64]) -> Vec<f64> {
        if self.bucket <= 2 {
            return all.to_vec();
        }
        // Chunks are never empty.
        all.chunks(self.bucket).flat_map(|c| [c[0], c[c.len() - 1]]).collect()
    }
}

/// Joins the steps of a series of rates, whose area is what counts, into longer ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps(usize);

impl Steps {
    /// The thinning from `samples` steps to at most `most`.
    pub fn new(samples: usize, most: usize) -> Self {
        Steps(samples.div_ceil(most.max(1)).max(1))
    }

    /// The mean of each longer step.
    pub fn means(&self, all: &[f64]) -> Vec<f64> {
        let mean = |c: &[f64]| {
            let present = || c.iter().filter(|x| x.is_finite());
            present().sum::<f64>() / present().count() as f64
        };
        all.chunks(self.0).map(mean).collect()
    }

    /// Their ends.
    pub fn times(&self, all: &[f64]) -> Vec<f64> {
        all.chunks(self.0).map(|c| c[c.len() - 1]).collect()
    }
}

fn extremes(values: &[f64]) -> [f64; 2] {
    let mut low: Option<(usize, f64)> = None;
    let mut high: Option<(usize, f64)> = None;
    for (i, x) in values.iter().copied().enumerate().filter(|(_, x)| !x.is_nan()) {
        if low.is_none_or(|(_, least)| x < least) {
            low = Some((i, x));
        }
        if high.is_none_or(|(_, most)| x > most) {
            high = Some((i, x));
        }
    }
    match (low, high) {
        (Some((i, least)), Some((j, most))) if i <= j => [least, most],
        (Some((_, least)), Some((_, most))) => [most, least],
        _ => [f64::NAN; 2],
    }
}

/// The mean of several series at each sample, over those that have a value there.
pub(super) fn mean<S: AsRef<[f64]>>(series: &[S]) -> Vec<f64> {
    let length = series.iter().map(|s| s.as_ref().len()).max().unwrap_or(0);
    let at = |i: usize| {
        let present = || series.iter().filter_map(|s| s.as_ref().get(i)).filter(|x| x.is_finite());
        present().sum::<f64>() / present().count() as f64
    };
    (0..length).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_peaks_in_their_order() {
        let thin = Thinning::new(9, 6);
        assert_eq!(
            thin.values(&[1.0, 9.0, 2.0, 5.0, 4.0, 3.0, 7.0, 7.0, 7.0]),
            [1.0, 9.0, 5.0, 3.0, 7.0, 7.0]
        );
        assert_eq!(
            thin.times(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
            [0.0, 2.0, 3.0, 5.0, 6.0, 8.0]
        );
    }

    #[test]
    fn rates_keep_their_area() {
        let steps = Steps::new(7, 3);
        assert_eq!(steps.means(&[0.0, 0.0, 9.0, 2.0, f64::NAN, 4.0, 1.0]), [3.0, 3.0, 1.0]);
        assert_eq!(steps.times(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), [3.0, 6.0, 7.0]);
        assert_eq!(Steps::new(2, 5).means(&[1.0, 2.0]), [1.0, 2.0]);
    }

    #[test]
    fn short_series_stay_as_they_are() {
        assert_eq!(Thinning::new(3, 4).values(&[3.0, 1.0, 2.0]), [3.0, 1.0, 2.0]);
    }

    #[test]
    fn gaps_stay_gaps() {
        let nan = f64::NAN;
        let kept = Thinning::new(8, 4).values(&[nan, nan, nan, nan, nan, 2.0, 1.0, nan]);
        assert!(kept[0].is_nan() && kept[1].is_nan());
        assert_eq!(kept[2..], [2.0, 1.0]);
    }

    #[test]
    fn a_mean_is_over_what_is_there() {
        let m = mean::<&[f64]>(&[&[1.0, f64::NAN, f64::NAN], &[3.0, 5.0]]);
        assert_eq!(m[..2], [2.0, 5.0]);
        assert!(m[2].is_nan());
    }

    #[test]
    fn numbers_are_short() {
        let text = serde_json::to_string(&nums(&[1.0 / 3.0, 2.0, f64::NAN, 1.23456e-7], 1.0)).unwrap();
        assert_eq!(text, "[0.3333,2,null,1.235e-7]");
    }
}
