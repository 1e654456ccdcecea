//! Detects whether a queue oscillates, from samples: the answer of a packet simulation to a verdict
//! of stability.

use std::sync::Arc;

use rustfft::algorithm::{BluesteinsAlgorithm, Radix4};
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftDirection};

/// Half of the strongest frequency's width, as a share of it, that counts as one oscillation.
const HALF_WIDTH: f64 = 0.25;
/// The spectrum is averaged over three stretches, each half as long as the samples: fewer would leave
/// noise looking like peaks, more would not resolve slow oscillations.
const STRETCHES: usize = 3;
/// The periods of an oscillation that a stretch must hold for its frequency to be told from a drift.
const LEAST_PERIODS: usize = 3;

/// The strongest periodic motion of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oscillation {
    /// Its period in seconds.
    pub period: f64,
    /// Its share of the queue's variance, within a quarter of its frequency.
    pub share: f64,
    /// The amplitude of a sine with its variance, in the unit of the samples.
    pub amplitude: f64,
    /// The queue's mean.
    pub mean: f64,
    /// The queue's standard deviation.
    pub deviation: f64,
}

impl Oscillation {
    /// The strongest oscillation in samples that are `step` seconds apart: Welch's averaged spectrum with a
    /// Hann window. `None` if there are fewer than 64 samples, or if the queue does not move.
    pub fn find(samples: &[f64], step: f64) -> Option<Oscillation> {
        let n = samples.len();
        let length = n / 2;
        if n < 64 || samples.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let mean = samples.iter().sum::<f64>() / n as f64;
        let variance = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64;
        if variance <= 1e-12 * mean * mean {
            return None;
        }
        // A plan that suits every length: one that is made for this length is a little faster, and the code of all that a
        // planner may choose is a fiftieth of the page.
        let inner = Radix4::new((2 * length - 1).next_power_of_two(), FftDirection::Forward);
        let transform = BluesteinsAlgorithm::new(length, Arc::new(inner));
        let mut power = vec![0.0; length / 2 + 1];
        for k in 0..STRETCHES {
            let from = k * (n - length) / (STRETCHES - 1);
            let stretch = &samples[from..from + length];
            let middle = stretch.iter().sum::<f64>() / length as f64;
            let mut windowed: Vec<Complex64> = stretch
                .iter()
                .enumerate()
                .map(|(i, x)| {
                    let angle = std::f64::consts::TAU * (i as f64 + 0.5) / length as f64;
                    Complex64::from((x - middle) * (1.0 - libm::cos(angle)) / 2.0)
                })
                .collect();
            transform.process(&mut windowed);
            for (sum, x) in power.iter_mut().zip(&windowed) {
                *sum += x.norm_sqr();
            }
        }
        // Below this a stretch cannot tell an oscillation from a drift; both count as variance.
        let total: f64 = power[1..].iter().sum();
        let (peak, _) = power.iter().enumerate().skip(LEAST_PERIODS).max_by(|a, b| a.1.total_cmp(b.1))?;
        let half = (HALF_WIDTH * peak as f64).max(1.0).floor() as usize;
        let share = power[peak - half..=(peak + half).min(length / 2)].iter().sum::<f64>() / total;
        Some(Oscillation {
            period: length as f64 * step / peak as f64,
            share,
            amplitude: (2.0 * share * variance).sqrt(),
            mean,
            deviation: variance.sqrt(),
        })
    }

    /// The amplitude of a sine of the queue's variance, over the mean queue.
    pub fn swing(&self) -> f64 {
        std::f64::consts::SQRT_2 * self.deviation / self.mean
    }

    /// The kind of motion.
    pub fn motion(&self) -> Motion {
        if self.swing() <= SETTLED {
            Motion::Settled
        } else if self.share > REGULAR {
            Motion::Oscillating
        } else {
            Motion::Irregular
        }
    }
}

/// A sine of the queue's variance may swing by this share of the mean queue to either side.
pub(crate) const SETTLED: f64 = 0.5;
/// One frequency must have more than this share of the variance.
const REGULAR: f64 = 0.5;

/// The motion of a queue in the long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Motion {
    /// It stays near its mean: a sine of its variance would not come halfway to empty.
    Settled,
    /// It swings further than that, and one frequency has more than half of its variance.
    Oscillating,
    /// It swings further than that without a period: far beyond the border of stability the queue is
    /// empty for most of the time and fills in bursts.
    Irregular,
}

impl Motion {
    /// The motion in a word.
    pub fn word(self) -> &'static str {
        match self {
            Motion::Settled => "settled",
            Motion::Oscillating => "oscillating",
            Motion::Irregular => "irregular",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator good enough for noise.
    fn noise(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }

    #[test]
    fn a_sine_is_found_with_its_period_and_amplitude() {
        let sine = |i: usize| 50.0 + 40.0 * (std::f64::consts::TAU * i as f64 * 0.02 / 1.3).sin();
        let found = Oscillation::find(&(0..5000).map(sine).collect::<Vec<_>>(), 0.02).unwrap();
        assert!((found.period - 1.3).abs() < 0.02, "{found:?}");
        assert!((found.amplitude - 40.0).abs() < 1.0, "{found:?}");
        assert!(found.share > 0.99, "{found:?}");
        assert_eq!(found.motion(), Motion::Oscillating);
    }

    /// A small sine is a settled queue; large noise is not an oscillation, neither white nor with a memory
    /// of two seconds.
    #[test]
    fn settled_and_irregular_queues() {
        let small = |i: usize| 50.0 + 10.0 * (std::f64::consts::TAU * i as f64 * 0.02 / 1.3).sin();
        let small = Oscillation::find(&(0..5000).map(small).collect::<Vec<_>>(), 0.02).unwrap();
        assert!(small.share > 0.99 && small.motion() == Motion::Settled, "{small:?}");
        for memory in [0.0, 0.99] {
            let (mut seed, mut x) = (7, 0.0);
            let samples: Vec<f64> = (0..5000)
                .map(|_| {
                    x = memory * x + noise(&mut seed);
                    50.0 + 120.0 * x * (1.0_f64 - memory * memory).sqrt()
                })
                .collect();
            let found = Oscillation::find(&samples, 0.02).unwrap();
            assert!(found.deviation > 25.0, "{memory}: {found:?}");
            assert_eq!(found.motion(), Motion::Irregular, "{memory}: {found:?}");
        }
    }

    #[test]
    fn what_does_not_move_does_not_oscillate() {
        assert_eq!(Oscillation::find(&[5.0; 1000], 0.1), None);
        assert_eq!(Oscillation::find(&[1.0, 2.0], 0.1), None);
    }
}
