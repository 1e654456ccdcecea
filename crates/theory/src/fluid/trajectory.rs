//! Results of a run: samples, and their summary in a few figures.

use crate::error::{TheoryError, require};
use crate::num::dde::Work;

/// Samples of a fluid. At a jump, they show the state before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// Time in seconds.
    pub time: Vec<f64>,
    /// W of each class, in packets.
    pub windows: Vec<Vec<f64>>,
    /// R of each class, in seconds.
    pub rtts: Vec<Vec<f64>>,
    /// q in packets.
    pub queue: Vec<f64>,
    /// p that the algorithm signals with.
    pub probability: Vec<f64>,
    /// r: what arrives, in packets per second.
    pub arrivals: Vec<f64>,
    /// Losses of a full queue, as a share of the packets that the algorithm let pass.
    pub lost: Vec<f64>,
    /// The law's variables, in the order of [`AnyModel::variables`].
    pub state: Vec<Vec<f64>>,
    /// alpha of each class, where the senders estimate the share of marks.
    pub shares: Vec<Vec<f64>>,
    /// The solver's work.
    pub work: Work,
}

impl Trajectory {
    /// The queue from a time on, in seconds.
    ///
    /// # Errors
    /// There are less than 8 samples from then on.
    pub fn summary(&self, from: f64) -> Result<Summary, TheoryError> {
        let first = self.time.partition_point(|t| *t < from);
        let sample = if self.time.len() > 1 { self.time[1] - self.time[0] } else { 0.0 };
        Summary::of(&self.queue[first..], sample)
    }
}

/// Behavior of a queue over some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The mean of q in packets.
    pub mean: f64,
    /// Its standard deviation in packets.
    pub deviation: f64,
    /// Smallest q.
    pub least: f64,
    /// Largest q.
    pub most: f64,
    /// The amplitude, half of the way from the least to the most, in packets: in the second half.
    pub amplitude: f64,
    /// The same in the first half.
    pub amplitude_before: f64,
    /// Seconds of an oscillation, if there are at least two.
    pub period: Option<f64>,
}

impl Summary {
    /// A queue whose oscillations are smaller than this, in packets, has settled.
    pub const STILL: f64 = 0.5;
    /// Oscillations that become smaller than this share of what they were die out.
    pub const DYING: f64 = 0.9;

    /// Sums up samples that are `sample` seconds apart.
    ///
    /// # Errors
    /// There are less than 8.
    pub fn of(queue: &[f64], sample: f64) -> Result<Summary, TheoryError> {
        require(
            queue.len() >= 8,
            "samples",
            queue.len(),
            "must be at least 8 in the summarized time: sample more often",
        )?;
        let n = queue.len() as f64;
        let mean = queue.iter().sum::<f64>() / n;
        let deviation = (queue.iter().map(|q| (q - mean) * (q - mean)).sum::<f64>() / n).sqrt();
        let bounds = |q: &[f64]| q.iter().fold((f64::MAX, f64::MIN), |(l, m), q| (l.min(*q), m.max(*q)));
        let half = |q: &[f64]| 0.5 * (bounds(q).1 - bounds(q).0);
        let (before, after) = queue.split_at(queue.len() / 2);
        let (least, most) = bounds(queue);
        let (amplitude_before, amplitude) = (half(before), half(after));
        // Upward crossings of the middle, by a quarter of the amplitude to either side.
        let (middle, margin) = (0.5 * (least + most), 0.125 * (most - least));
        let (mut low, mut at, mut crossings) = (false, 0.0, Vec::new());
        for (i, pair) in queue.windows(2).enumerate() {
            if pair[0] <= middle && pair[1] > middle {
                at = i as f64 + (middle - pair[0]) / (pair[1] - pair[0]);
            }
            if pair[1] < middle - margin {
                low = true;
            }
            if low && pair[1] > middle + margin {
                low = false;
                crossings.push(at);
            }
        }
        let period = (crossings.len() >= 3)
            .then(|| (crossings[crossings.len() - 1] - crossings[0]) / (crossings.len() - 1) as f64 * sample);
        Ok(Summary { mean, deviation, least, most, amplitude, amplitude_before, period })
    }

    /// Tells whether the queue settles, or its oscillations die out; else they stay or grow.
    pub fn settles(&self) -> bool {
        self.amplitude < Self::STILL || self.amplitude < Self::DYING * self.amplitude_before
    }
}
