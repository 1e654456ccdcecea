//! The statistics of studies that decide themselves when there are enough samples. Nothing here runs
//! anything.
//!
//! A 95% interval is right 95 times in 100 if the number of samples was fixed in advance. If you look repeatedly and
//! stop as soon as it excludes 0, you are wrong three times as often. [`Looks`] are for decisions: they divide the
//! error, so that *all* their intervals together are right 95 times in 100 (repeated confidence intervals, Jennison and
//! Turnbull 1984). [`widths`] is for intervals that must become narrow enough.

use serde::{Deserialize, Serialize};

use crate::stats::Estimate;

/// The first look at a decision comes no earlier: from fewer samples, a variance is hardly known.
const FIRST_LOOK: usize = 5;
/// The first look at a width. It is the variance alone that stops there, so it must be known better.
const FIRST_WIDTH: usize = 10;
/// The growth from one look at a width to the next.
const GROWTH: f64 = 1.25;

/// One look at the samples so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// The number of samples after which it is taken.
    pub samples: usize,
    /// The probability with which the interval of this look misses the mean.
    pub error: f64,
}

/// The looks at which something is decided.
///
/// The last one is at `most` samples, the others at a half of it, a quarter, and so on. The error that is spent
/// grows in proportion to the samples, as in Kim and DeMets 1987 with rho = 1. By Boole's inequality, the
/// intervals of all looks hold together with probability 1 - `error` for normal samples: so whatever makes one
/// stop, and at whichever look, the interval found there is right with at least that probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Looks(Vec<Look>);

impl Looks {
    /// The looks up to `most` samples (at least 2) that together err with probability `error`.
    pub fn new(most: usize, error: f64) -> Looks {
        let most = most.max(2);
        let mut samples = vec![most];
        while let Some(half) = samples.last().map(|n| n.div_ceil(2)).filter(|n| *n >= FIRST_LOOK) {
            samples.push(half);
        }
        samples.reverse();
        let mut before = 0;
        let look = |n: usize| {
            let share = (n - before) as f64 / most as f64;
            before = n;
            Look { samples: n, error: error * share }
        };
        Looks(samples.into_iter().map(look).collect())
    }

    /// The looks, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Look> {
        self.0.iter()
    }

    /// The error of the look at `samples`; between two looks, where chance of another kind stopped, that of
    /// the one which did not come about.
    pub fn error_at(&self, samples: usize) -> f64 {
        let look = self.0.iter().find(|l| l.samples >= samples).or(self.0.last());
        look.map_or(f64::NAN, |l| l.error)
    }

    /// The mean of samples with the interval of their look; `None` without samples.
    pub fn estimate(&self, samples: &[f64]) -> Option<Estimate> {
        Estimate::with_error(samples, self.error_at(samples.len()))
    }
}

/// The numbers of samples after which an interval is looked at, up to `most` (at least 2).
///
/// At each, the usual 95% interval is computed, and the first one that is narrow enough ends the run (Chow and Robbins
/// 1965). This is right in the limit of narrow intervals; `tests/sequential.rs` measures it for wide ones.
pub fn widths(most: usize) -> Vec<usize> {
    let most = most.max(2);
    let mut all = vec![FIRST_WIDTH.min(most)];
    while let Some(last) = all.last().copied().filter(|n| *n < most) {
        all.push(((last as f64 * GROWTH).ceil() as usize).min(most));
    }
    all
}

/// The width that an interval may have: half of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Width {
    /// A value in the unit of the metric.
    Absolute(f64),
    /// A share of the mean's magnitude.
    Relative(f64),
}

impl Width {
    /// True if half the width `half` of an interval around or beside `mean` is within it.
    pub fn admits(self, half: f64, mean: f64) -> bool {
        match self {
            Width::Absolute(width) => half <= width,
            Width::Relative(share) => half <= share * mean.abs(),
        }
    }
}

impl std::fmt::Display for Width {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Width::Absolute(width) => write!(f, "{width}"),
            // 100 times 0.07 is not 7.
            Width::Relative(share) => write!(f, "{}%", (share * 1e14).round() / 1e12),
        }
    }
}

impl std::str::FromStr for Width {
    type Err = String;

    fn from_str(text: &str) -> Result<Width, String> {
        let (number, width): (_, fn(f64) -> Width) = match text.trim().strip_suffix('%') {
            Some(number) => (number, |x| Width::Relative(x / 100.0)),
            None => (text, Width::Absolute),
        };
        let number = number.trim().parse::<f64>().ok().filter(|x| x.is_finite() && *x > 0.0);
        number.map(width).ok_or_else(|| {
            format!(
                "\"{}\" is not a width: it must be above 0, as a share of the mean (1%) or in the metric's unit (0.5)",
                quell_units::text::cut(text.trim())
            )
        })
    }
}

impl Serialize for Width {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Width {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::ERROR;

    fn samples(looks: &Looks) -> Vec<usize> {
        looks.iter().map(|l| l.samples).collect()
    }

    #[test]
    fn looks_halve_from_the_last_one() {
        assert_eq!(samples(&Looks::new(50, ERROR)), [7, 13, 25, 50]);
        assert_eq!(samples(&Looks::new(40, ERROR)), [5, 10, 20, 40]);
        assert_eq!(samples(&Looks::new(8, ERROR)), [8]);
        assert_eq!(samples(&Looks::new(1, ERROR)), [2]);
        assert_eq!(widths(25), [10, 13, 17, 22, 25]);
        assert_eq!(widths(4), [4]);
    }

    #[test]
    fn each_look_spends_what_its_samples_add() {
        let looks = Looks::new(40, 0.04);
        for (n, error) in
            [(5, 0.005), (10, 0.005), (20, 0.01), (40, 0.02), (3, 0.005), (11, 0.01), (99, 0.02)]
        {
            assert!((looks.error_at(n) - error).abs() < 1e-12, "{n}");
        }
    }

    #[test]
    fn widths_are_shares_or_values() {
        assert_eq!("1%".parse(), Ok(Width::Relative(0.01)));
        assert_eq!(" 0.5 ".parse(), Ok(Width::Absolute(0.5)));
        for wrong in ["", "0", "-1%", "x", "inf", "%", "nan"] {
            assert!(wrong.parse::<Width>().is_err(), "{wrong}");
        }
        assert!(Width::Relative(0.1).admits(1.0, -10.0) && !Width::Relative(0.1).admits(1.1, 10.0));
        assert!(Width::Absolute(1.0).admits(1.0, 0.0) && !Width::Absolute(1.0).admits(1.1, 100.0));
    }

    proptest! {
        #[test]
        fn the_looks_spend_the_error_and_no_more(most in 2_usize..5000, error in 1e-6..0.5_f64) {
            let looks = Looks::new(most, error);
            let spent: f64 = looks.iter().map(|l| l.error).sum();
            prop_assert!((spent - error).abs() < 1e-9 * error, "{spent}");
            prop_assert!(samples(&looks).windows(2).all(|w| w[0] < w[1]));
            prop_assert_eq!(samples(&looks).last().copied(), Some(most));
            prop_assert_eq!(widths(most).last().copied(), Some(most));
        }

        #[test]
        fn a_width_reads_what_it_prints(x in 1e-6..1e6_f64, relative: bool) {
            let width = if relative { Width::Relative(x) } else { Width::Absolute(x) };
            let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
            match (width, width.to_string().parse::<Width>().unwrap()) {
                (Width::Relative(a), Width::Relative(b)) | (Width::Absolute(a), Width::Absolute(b)) => {
                    prop_assert!(close(a, b), "{a} {b}");
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }
}
