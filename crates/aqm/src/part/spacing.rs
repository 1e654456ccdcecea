//! How RED spreads its signals.

use crate::choice;

choice! {
    /// How signals are spread over arrivals that each deserve one with probability p.
    pub enum Spacing {
        /// Gaps uniform on [1, 1/p]: `p / (1 - count p)` (Floyd and Jacobson 1993, section 7). About
        /// 2p of the arrivals are signalled.
        Uniform = "uniform",
        /// Gaps uniform on [1/p, 2/p): `p / (2 - count p)` from the arrival that makes count p reach
        /// 1, ns-2's `wait_`. About 2p/3 of the arrivals are signalled.
        Wait = "wait",
        /// Independent decisions: geometric gaps, p of the arrivals are signalled.
        Geometric = "geometric",
    }
}

/// Counts arrivals since the last signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spacer {
    spacing: Spacing,
    /// Arrivals since the last signal, in mean packets.
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
        let before = self.count;
        self.count += packets;
        spaced(self.spacing, p, if self.spacing == Spacing::Wait { self.count } else { before })
    }

    /// Starts counting anew, after a signal or where none is due.
    #[inline]
    pub fn restart(&mut self) {
        self.count = 0.0;
    }
}

/// The probability that an arrival is signalled. `count` is the number of unsignalled arrivals since
/// the last signal; `wait`, which no paper defines, counts this one too, as ns-2 does.
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

equations! {
    spaced(spacing: Spacing, p_b, count) -> p = spaced(spacing, p_b, count);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean gap by the exact law: sum over k of P(gap > k).
    fn mean_gap(spacing: Spacing, p: f64) -> f64 {
        let (mut survive, mut gap, mut spacer) = (1.0, 0.0, Spacer::new(spacing));
        while survive > 1e-12 {
            gap += survive;
            survive *= 1.0 - spacer.next(p, 1.0);
        }
        gap
    }

    #[test]
    fn mean_gaps_are_those_of_the_uniform_laws() {
        // Uniform on 1..=1/p, on 1/p..2/p, and geometric. The values of p are exact in binary.
        for p in [0.5, 0.125, 0.015625] {
            assert!((mean_gap(Spacing::Uniform, p) - (1.0 + 1.0 / p) / 2.0).abs() < 1e-9);
            assert!((mean_gap(Spacing::Wait, p) - (3.0 / p - 1.0) / 2.0).abs() < 1e-9);
            assert!((mean_gap(Spacing::Geometric, p) - 1.0 / p).abs() < 1e-9);
        }
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
