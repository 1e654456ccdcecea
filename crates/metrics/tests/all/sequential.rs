//! What is said of runs that decide their number of seeds themselves, tried on samples of known mean: the
//! probability of a false decision, and of an interval that misses the mean. Each count is held against the
//! stated probability by the exact binomial distribution.

use quell_metrics::{ERROR, Estimate, Looks, Width, widths};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use statrs::distribution::{Binomial, DiscreteCDF};

/// Studies tried per case.
const TRIALS: u64 = 8_000;
/// A count this improbable refutes what is stated.
const REFUTED: f64 = 1e-4;

/// Where samples come from; all have mean 0.
#[derive(Clone, Copy, Debug)]
enum Source {
    Normal,
    /// The difference of two exponentials: heavy tails on both sides, like a paired difference.
    Laplace,
    /// A gamma variable of shape 4 (skewness 1) less its mean.
    Gamma,
    /// An exponential variable (skewness 2) less its mean.
    Exponential,
}

impl Source {
    fn deviation(self) -> f64 {
        match self {
            Source::Normal | Source::Exponential => 1.0,
            Source::Laplace => 2.0_f64.sqrt(),
            Source::Gamma => 2.0,
        }
    }

    fn draw(self, rng: &mut Pcg64Mcg) -> f64 {
        let uniform = |rng: &mut Pcg64Mcg| (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let exponential = |rng: &mut Pcg64Mcg| -(1.0 - uniform(rng)).ln();
        match self {
            Source::Normal => (2.0 * exponential(rng)).sqrt() * (std::f64::consts::TAU * uniform(rng)).cos(),
            Source::Laplace => exponential(rng) - exponential(rng),
            Source::Gamma => (0..4).map(|_| exponential(rng)).sum::<f64>() - 4.0,
            Source::Exponential => exponential(rng) - 1.0,
        }
    }
}

/// How many of the studies `fails` says yes to; each gets `most` samples.
fn count(source: Source, most: usize, mut fails: impl FnMut(&[f64]) -> bool) -> u64 {
    let mut rng = Pcg64Mcg::seed_from_u64(most as u64);
    let mut samples = vec![0.0; most];
    let mut count = 0;
    for _ in 0..TRIALS {
        samples.iter_mut().for_each(|x| *x = source.draw(&mut rng));
        count += u64::from(fails(&samples));
    }
    count
}

/// The count is not so high that the probability cannot be `stated` or less.
fn assert_at_most(count: u64, stated: f64, what: &str) {
    let tail = match count {
        0 => 1.0,
        n => Binomial::new(stated, TRIALS).unwrap().sf(n - 1),
    };
    assert!(tail > REFUTED, "{what}: {count} of {TRIALS}, stated {stated}");
}

/// The count is so high that the probability is more than `stated`.
fn assert_more_than(count: u64, stated: f64, what: &str) {
    let tail = Binomial::new(stated, TRIALS).unwrap().sf(count.max(1) - 1);
    assert!(tail < REFUTED, "{what}: {count} of {TRIALS}, {stated}");
}

/// The interval at which a decision stops.
fn decided(samples: &[f64], looks: &Looks) -> Estimate {
    let at = |n: usize| looks.estimate(&samples[..n]).unwrap();
    let mut each = looks.iter().map(|look| at(look.samples));
    each.find(Estimate::excludes_zero).unwrap_or_else(|| at(samples.len()))
}

/// The interval at which a width stops.
fn narrow(samples: &[f64], width: Width) -> Estimate {
    let at = |n: usize| Estimate::of(&samples[..n]).unwrap();
    let mut each = widths(samples.len()).into_iter().map(at);
    each.find(|e| width.admits(e.half_width.unwrap(), e.mean)).unwrap_or_else(|| at(samples.len()))
}

fn misses(estimate: &Estimate, mean: f64) -> bool {
    estimate.interval().is_none_or(|(low, high)| mean < low || mean > high)
}

#[test]
fn a_difference_that_is_none_is_decided_as_rarely_as_stated() {
    for most in [20, 50, 100] {
        let looks = Looks::new(most, ERROR);
        for source in [Source::Normal, Source::Laplace] {
            let false_ones = count(source, most, |x| decided(x, &looks).excludes_zero());
            assert_at_most(false_ones, ERROR, &format!("{source:?}, {most} seeds"));
        }
    }
}

#[test]
fn repeated_usual_intervals_would_not_do() {
    let looks = Looks::new(50, ERROR);
    let naive = |x: &[f64]| {
        looks.iter().any(|look| Estimate::of(&x[..look.samples]).is_some_and(|e| e.excludes_zero()))
    };
    assert_more_than(count(Source::Normal, 50, naive), 0.13, "usual intervals at every look");
}

#[test]
fn skewed_differences_err_more_often_as_documented() {
    let looks = Looks::new(50, ERROR);
    for (source, stated) in [(Source::Gamma, 0.065), (Source::Exponential, 0.12)] {
        let false_ones = count(source, 50, |x| decided(x, &looks).excludes_zero());
        assert_at_most(false_ones, stated, &format!("{source:?}"));
        if matches!(source, Source::Exponential) {
            assert_more_than(false_ones, 0.09, "exponential");
        }
    }
}

#[test]
fn the_interval_at_which_a_decision_stops_holds_the_difference() {
    let looks = Looks::new(50, ERROR);
    // From hardly visible to plain at the first look.
    for mean in [0.1, 0.3, 0.6, 1.0, 2.0] {
        let missed = count(Source::Normal, 50, |x| {
            let shifted: Vec<f64> = x.iter().map(|x| x + mean).collect();
            misses(&decided(&shifted, &looks), mean)
        });
        assert_at_most(missed, ERROR, &format!("difference {mean}"));
    }
}

#[test]
fn a_width_that_is_reached_holds_as_often_as_documented() {
    // Widths that some 10, 20, ... samples suffice for; the cap does not bind.
    for needed in [10.0_f64, 15.0, 20.0, 30.0, 40.0, 80.0] {
        for (source, asked, printed) in [
            (Source::Normal, 0.05, 0.07),
            (Source::Laplace, 0.06, 0.07),
            (Source::Gamma, 0.07, 0.09),
            (Source::Exponential, 0.12, 0.15),
        ] {
            let width = 1.96 * source.deviation() / needed.sqrt();
            let what = format!("{source:?}, {needed} samples");
            let stop = |x: &[f64]| narrow(x, Width::Absolute(width));
            assert_at_most(count(source, 300, |x| stop(x).mean.abs() > width), asked, &what);
            assert_at_most(count(source, 300, |x| misses(&stop(x), 0.0)), printed, &what);
        }
    }
}

#[test]
fn a_relative_width_holds_too() {
    for needed in [15.0_f64, 40.0] {
        let mean = 10.0;
        let share = 1.96 / needed.sqrt() / mean;
        let missed = |x: &[f64]| {
            let shifted: Vec<f64> = x.iter().map(|x| x + mean).collect();
            (narrow(&shifted, Width::Relative(share)).mean - mean).abs() > share * mean
        };
        assert_at_most(count(Source::Normal, 300, missed), ERROR, &format!("{needed} samples"));
    }
}
