//! How RED spreads its signals.

use crate::choice;

choice! {
    /// How signals are spread over arrivals that each deserve one with probability p.
    pub enum Spacing {
        /// Gaps uniform on [1, 1/p]: `p / (1 - count p)` (Floyd and Jacobson 1993, section 7). About
        /// 2p of the arrivals are signalled.
        Uniform = "uniform",
        /// Gaps uniform on [1/p, 2/p]: `p / (2 - count p)` after the first 1/p arrivals, ns-2's
        /// `wait_`. About 2p/3 of the arrivals are signalled.
        Wait = "wait",
        /// Independent decisions: geometric gaps, p of the arrivals are signalled.
        Geometric = "geometric",
    }
}

/// Counts arrivals since the last signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spacer {
    spacing: Spacing,
    /// Arrivals since the last signal, this one included; 0 just after one.
    count: f64,
}

impl Spacer {
    /// Nothing counted yet.
    pub fn new(spacing: Spacing) -> Self {
        Spacer { spacing, count: 0.0 }
    }

    /// Counts an arrival of `packets` mean packets and turns `p` into the probability that it is
    /// signalled.
    #[inline]
    pub fn next(&mut self, p: f64, packets: f64) -> f64 {
        let p_a = spaced(self.spacing, p, self.count);
        self.count += packets;
        p_a
    }

    /// Starts counting anew, after a signal.
    #[inline]
    pub fn restart(&mut self) {
        self.count = 0.0;
    }
}

/// The probability of a signal after `count` unsignalled arrivals.
#[inline]
pub fn spaced(spacing: Spacing, p: f64, count: f64) -> f64 {
    let cp = count * p;
    match spacing {
        Spacing::Geometric => p,
        Spacing::Uniform if cp < 1.0 => (p / (1.0 - cp)).min(1.0),
        Spacing::Wait if cp < 1.0 => 0.0,
        Spacing::Wait if cp < 2.0 => (p / (2.0 - cp)).min(1.0),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean gap by the exact law: sum over k of P(gap > k).
    fn mean_gap(spacing: Spacing, p: f64) -> f64 {
        let (mut survive, mut gap, mut k) = (1.0, 0.0, 0.0);
        while survive > 1e-12 {
            gap += survive;
            survive *= 1.0 - spaced(spacing, p, k);
            k += 1.0;
        }
        gap
    }

    #[test]
    fn mean_gaps_are_those_of_the_uniform_laws() {
        let p = 0.02;
        assert!((mean_gap(Spacing::Uniform, p) - 25.5).abs() < 0.01);
        assert!((mean_gap(Spacing::Wait, p) - 75.5).abs() < 0.6);
        assert!((mean_gap(Spacing::Geometric, p) - 50.0).abs() < 0.01);
    }

    #[test]
    fn boundary_values() {
        assert_eq!(spaced(Spacing::Uniform, 0.1, 0.0), 0.1);
        assert_eq!(spaced(Spacing::Uniform, 0.1, 10.0), 1.0);
        assert_eq!(spaced(Spacing::Wait, 0.1, 9.0), 0.0);
        assert_eq!(spaced(Spacing::Wait, 0.1, 10.0), 0.1);
        assert_eq!(spaced(Spacing::Wait, 0.1, 20.0), 1.0);
        assert_eq!(spaced(Spacing::Uniform, 0.0, 1e9), 0.0);
    }
}
