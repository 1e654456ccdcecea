//! The curves of Nyquist and Bode.

use num_complex::Complex64;
use serde::Serialize;

use super::transfer::Loop;
use crate::error::TheoryError;
use crate::num::complex;

/// A point of a diagram of Bode.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bode {
    /// Frequency in radians per second.
    pub omega: f64,
    /// `|L|`.
    pub gain: f64,
    /// The phase in radians, continuous from the lowest frequency on.
    pub phase: f64,
}

/// The places of a diagram of Bode that the margins are of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Crossings {
    /// The last crossing of a gain of 1: its frequency in radians per second, and the phase margin in radians.
    pub gain: Option<(f64, f64)>,
    /// The crossing of a phase of -180 degrees at which the gain margin is: its frequency, and that margin as a factor.
    pub phase: Option<(f64, f64)>,
}

impl Loop {
    /// The crossings that the margins are of.
    ///
    /// # Errors
    /// Those of [`Loop::margins`].
    pub fn margin_crossings(&self) -> Result<Crossings, TheoryError> {
        let margins = self.margins()?;
        let gain = margins.phase.zip(margins.crossovers.last()).map(|(margin, w)| (*w, margin));
        let phase = margins.gain.and_then(|gain| {
            let distance = |w: &f64| {
                let response = self.response(*w);
                libm::log(libm::hypot(response.re, response.im) * gain).abs()
            };
            let at = margins.phase_crossovers.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
            Some((*at, gain))
        });
        Ok(Crossings { gain, phase })
    }

    /// `count` frequencies that show the loop, evenly on a logarithmic scale, in radians per second:
    /// from a hundredth of the slowest corner to beyond the crossovers.
    ///
    /// # Errors
    /// The loop does not become quiet at high frequencies.
    pub fn frequencies(&self, count: usize) -> Result<Vec<f64>, TheoryError> {
        let corners = self
            .classes
            .iter()
            .flat_map(|c| [c.own.0 + c.own.1, 1.0 / c.rtt])
            .chain(self.filters())
            .chain(self.controller.denominator.roots().into_iter().map(complex::norm))
            .chain(self.controller.numerator.roots().into_iter().map(complex::norm))
            .filter(|&w| w > 0.0);
        let crossovers = self.crossovers()?;
        let low = corners.chain(crossovers.first().copied()).fold(f64::INFINITY, f64::min) / 100.0;
        let high = crossovers.last().map_or(0.0, |w| 10.0 * w);
        let high = self.classes.iter().map(|c| 10.0 / c.rtt).fold(high, f64::max);
        let ratio = libm::log(high / low) / count.saturating_sub(1).max(1) as f64;
        Ok((0..count).map(|i| low * libm::exp(ratio * i as f64)).collect())
    }

    /// The curve of Nyquist.
    pub fn nyquist(&self, frequencies: &[f64]) -> Vec<Complex64> {
        frequencies.iter().map(|&w| self.response(w)).collect()
    }

    /// The diagram of Bode at frequencies that rise.
    pub fn bode(&self, frequencies: &[f64]) -> Vec<Bode> {
        let longest = self.classes.iter().map(|c| c.rtt).fold(0.0, f64::max) + self.extra;
        let mut last: Option<(f64, f64)> = None;
        let mut points = Vec::with_capacity(frequencies.len());
        for &omega in frequencies {
            let l = self.response(omega);
            let phase = match last {
                None => complex::arg(l),
                Some((from, mut phase)) => {
                    // Small steps, so that no turn is missed in between.
                    let steps =
                        ((omega - from) * longest / 0.2).max(libm::log(omega / from) / 0.05).ceil() as usize;
                    let mut before = self.response(from);
                    for i in 1..=steps.max(1) {
                        let w = if i >= steps {
                            omega
                        } else {
                            from * libm::pow(omega / from, i as f64 / steps as f64)
                        };
                        let now = self.response(w);
                        phase += complex::arg(now / before);
                        before = now;
                    }
                    phase
                }
            };
            last = Some((omega, phase));
            points.push(Bode { omega, gain: complex::norm(l), phase });
        }
        points
    }
}
