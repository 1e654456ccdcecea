//! Spacing of RED's signals.

choice! {
    /// Spacing of signals over arrivals that each deserve one with probability p.
    pub enum Spacing {
        /// Gaps uniform on [1, 1/p]: `p / (1 - count p)`, the count without the arriving packet (Floyd and
        /// Jacobson 1993, the text of section 7). About 2p of the arrivals are signaled.
        Uniform = "uniform",
        /// Gaps uniform on [1, 1/p - 1]: the same with the arriving packet counted, as the pseudo-code of
        /// the same paper and ns-2 without `wait_` do. 2p of the arrivals are signaled.
        UniformPseudocode = "uniform-pseudocode",
        /// Gaps uniform on [1/p, 2/p): `p / (2 - count p)` from the arrival that makes count p reach
        /// 1, ns-2's `wait_`. About 2p/3 of the arrivals are signaled.
        Wait = "wait",
        /// Gaps uniform on [1, 1/p] while p stays: one number is drawn for each gap and held against `count p`, the
        /// count with the arriving packet (Floyd and Jacobson 1993, section 7; Linux). A p that has moved counts
        /// for all arrivals since the last signal; by `uniform` it counts from its own arrival on. The first arrival
        /// that deserves a signal, after some that did not, has none.
        OneDraw = "one-draw",
        /// Independent decisions: geometric gaps, p of the arrivals are signaled.
        Geometric = "geometric",
    }
}

impl Spacing {
    /// Tells whether the count with which an arrival is decided includes it.
    #[inline]
    pub fn counts_arriving(self) -> bool {
        matches!(self, Spacing::UniformPseudocode | Spacing::Wait)
    }
}

/// Counts arrivals since the last signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spacer {
    spacing: Spacing,
    /// Arrivals since the last signal, in mean packets.
    count: f64,
    /// What the number drawn for this gap is known to exceed, where one is drawn for each.
    exceeds: f64,
}

impl Spacer {
    /// Nothing counted yet.
    pub fn new(spacing: Spacing) -> Self {
        let mut spacer = Spacer { spacing, count: 0.0, exceeds: 0.0 };
        spacer.rest();
        spacer
    }

    /// Counts an arrival of `packets` mean packets and turns `p` into the probability that it is
    /// signaled.
    #[inline]
    pub fn next(&mut self, p: f64, packets: f64) -> f64 {
        let before = self.count;
        self.count += packets;
        if self.spacing == Spacing::OneDraw {
            let (p, exceeds) = drawn_once(p, self.count, self.exceeds);
            self.exceeds = exceeds;
            return p;
        }
        spaced(self.spacing, p, if self.spacing.counts_arriving() { self.count } else { before })
    }

    /// Restarts counting after a signal.
    #[inline]
    pub fn restart(&mut self) {
        self.count = 0.0;
        self.exceeds = 0.0;
    }

    /// Restarts counting where no signal is due, or every arrival deserves one.
    #[inline]
    pub fn rest(&mut self) {
        self.restart();
        if self.spacing == Spacing::OneDraw {
            self.count = -1.0;
        }
    }

    /// Takes note of a loss to a full buffer, which informs a sender as well as a signal does. Linux does not count it.
    #[inline]
    pub fn overflow(&mut self) {
        if self.spacing != Spacing::OneDraw {
            self.restart();
        }
    }
}

/// The probability that an arrival is signaled where a number, uniform on [0, 1), is drawn for each gap and held against
/// `count p`, and what it then exceeds if it is not. It is known to exceed `exceeds`.
#[inline]
pub fn drawn_once(p: f64, count: f64, exceeds: f64) -> (f64, f64) {
    let reached = count * p;
    if reached <= exceeds {
        (0.0, exceeds)
    } else if reached >= 1.0 {
        (1.0, exceeds)
    } else {
        ((reached - exceeds) / (1.0 - exceeds), reached)
    }
}

/// The probability that an arrival is signaled. `count` is the number of unsignaled arrivals since
/// the last signal, with this one where [`Spacing::counts_arriving`] says so.
#[inline]
pub fn spaced(spacing: Spacing, p: f64, count: f64) -> f64 {
    let cp = count * p;
    match spacing {
        Spacing::Geometric => p,
        Spacing::Uniform | Spacing::UniformPseudocode | Spacing::OneDraw if cp < 1.0 => {
            (p / (1.0 - cp)).min(1.0)
        }
        Spacing::Wait if cp < 1.0 => 0.0,
        Spacing::Wait if cp < 2.0 => (p / (2.0 - cp)).min(1.0),
        _ => 1.0,
    }
}

equations! {
    spaced(spacing: Spacing, p_b, count) -> p = spaced(spacing, p_b, count);
    drawn_once(p_b, count, exceeds) -> p, exceeds = drawn_once(p_b, count, exceeds);
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::Seed;

    /// The law of the gap, exactly: P(gap = k) for k = 1, 2, ...
    fn gaps(spacing: Spacing, p: f64) -> Vec<f64> {
        let (mut survive, mut law, mut spacer) = (1.0, Vec::new(), Spacer::new(spacing));
        while survive > 1e-15 {
            let signal = spacer.next(p, 1.0);
            law.push(survive * signal);
            survive *= 1.0 - signal;
        }
        law
    }

    /// The same, drawn.
    fn drawn_gaps(spacing: Spacing, p: f64, draws: u32) -> Vec<f64> {
        let (mut rng, mut spacer) = (Seed(1).stream("gaps"), Spacer::new(spacing));
        let mut law = Vec::new();
        for _ in 0..draws {
            let mut gap = 1;
            while !rng.chance(spacer.next(p, 1.0)) {
                gap += 1;
            }
            spacer.restart();
            law.resize(law.len().max(gap), 0.0);
            law[gap - 1] += 1.0 / f64::from(draws);
        }
        law
    }

    fn mean(law: &[f64]) -> f64 {
        law.iter().zip(1..).map(|(share, gap)| share * f64::from(gap)).sum()
    }

    #[test]
    fn gaps_are_uniform_and_the_readings_of_the_paper_differ_by_one() {
        // From the first gap to the last. The values of p are exact in binary.
        for (spacing, p, first, last) in [
            (Spacing::Uniform, 0.125, 1, 8),
            (Spacing::UniformPseudocode, 0.125, 1, 7),
            (Spacing::Wait, 0.125, 8, 15),
            (Spacing::Uniform, 0.5, 1, 2),
            (Spacing::UniformPseudocode, 0.5, 1, 1),
            (Spacing::Wait, 0.5, 2, 3),
        ] {
            let share = 1.0 / f64::from(last - first + 1);
            let want = |gap: usize| if gap + 1 < first as usize { 0.0 } else { share };
            let (law, drawn) = (gaps(spacing, p), drawn_gaps(spacing, p, 70_000));
            assert_eq!((law.len(), drawn.len()), (last as usize, last as usize), "{spacing:?} {p}");
            for gap in 0..last as usize {
                assert!((law[gap] - want(gap)).abs() < 1e-12, "{spacing:?} {p}: {law:?}");
                // Five standard deviations of a share of 1/2 and less.
                assert!((drawn[gap] - want(gap)).abs() < 0.01, "{spacing:?} {p}: {drawn:?}");
            }
        }
    }

    /// One number is drawn at the first arrival and held against `count p`, as include/net/red.h does it.
    #[test]
    fn one_draw_is_held_against_a_probability_that_moves() {
        let course = [0.02, 0.05, 0.01, 0.2, 0.25, 0.03, 0.12, 0.3, 0.05];
        let mut rng = Seed(2).stream("gaps");
        let mut drawn = [0.0; 9];
        const DRAWS: u32 = 200_000;
        for _ in 0..DRAWS {
            let u = rng.uniform();
            let signal = course.iter().enumerate().position(|(count, p)| count as f64 * p >= u && count > 0);
            if let Some(at) = signal {
                drawn[at] += 1.0 / f64::from(DRAWS);
            }
        }
        let (mut survive, mut spacer) = (1.0, Spacer::new(Spacing::OneDraw));
        for (p, share) in course.iter().zip(drawn) {
            let signal = spacer.next(*p, 1.0);
            assert!((survive * signal - share).abs() < 0.005, "{signal}, {share}");
            survive *= 1.0 - signal;
        }
        // After a signal the next arrival may be signaled, after a rest it is not.
        spacer.restart();
        assert_eq!(spacer.next(0.25, 1.0), 0.25);
        spacer.rest();
        assert_eq!(spacer.next(0.25, 1.0), 0.0);
    }

    #[test]
    fn mean_gaps_are_those_of_the_laws() {
        for p in [0.5, 0.125, 0.015625] {
            assert!((mean(&gaps(Spacing::Uniform, p)) - (1.0 + 1.0 / p) / 2.0).abs() < 1e-9);
            assert!((mean(&gaps(Spacing::UniformPseudocode, p)) - 0.5 / p).abs() < 1e-9);
            assert!((mean(&gaps(Spacing::Wait, p)) - (3.0 / p - 1.0) / 2.0).abs() < 1e-9);
            assert!((mean(&gaps(Spacing::Geometric, p)) - 1.0 / p).abs() < 1e-9);
        }
    }

    #[test]
    fn boundary_values() {
        assert_eq!(spaced(Spacing::Uniform, 0.1, 0.0), 0.1);
        assert_eq!(spaced(Spacing::Uniform, 0.1, 10.0), 1.0);
        assert_eq!(spaced(Spacing::UniformPseudocode, 0.125, 1.0), 1.0 / 7.0);
        assert_eq!(spaced(Spacing::UniformPseudocode, 0.125, 7.0), 1.0);
        assert_eq!(spaced(Spacing::Wait, 0.1, 9.0), 0.0);
        assert_eq!(spaced(Spacing::Wait, 0.1, 10.0), 0.1);
        assert_eq!(spaced(Spacing::Wait, 0.1, 20.0), 1.0);
        assert_eq!(spaced(Spacing::Uniform, 0.0, 1e9), 0.0);
    }
}
