//! Random numbers that are the same on every machine.

use rand_core::{Rng as _, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A stream of random numbers. Portable: the algorithm (PCG XSL 128/64 MCG) is fixed, and
/// transcendental functions come from `libm`, so a seed gives the same numbers on every machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Rng(Pcg64Mcg);

impl Rng {
    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform on [0, 1), with 53 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform on [low, high).
    #[inline]
    pub fn uniform_in(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// True with probability `p`; one number is drawn unless `p` is 0 or less.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.uniform() < p
    }

    /// True with probability `p / 2^32`, without floating point; one number is drawn unless `p` is 0.
    /// From the same number, [`Rng::chance`] of that probability decides alike.
    #[inline]
    pub fn chance_fixed(&mut self, p: u64) -> bool {
        p > 0 && self.next_u64() >> 32 < p
    }

    /// Exponential with the given mean.
    #[cfg(feature = "catalog")]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Pareto with the given shape and smallest value: P(X > x) = (scale / x)^shape.
    #[cfg(feature = "catalog")]
    pub fn pareto(&mut self, shape: f64, scale: f64) -> f64 {
        scale / libm::pow(1.0 - self.uniform(), 1.0 / shape)
    }
}

/// The seed of a run. Each consumer of chance gets a stream by name, so that adding a consumer
/// does not change the other streams' numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream of the consumer called `name`.
    pub fn stream(self, name: &str) -> Rng {
        // FNV-1a separates the names, SplitMix64's finalizer spreads neighboring seeds.
        let mut h = 0xcbf2_9ce4_8422_2325u64;
        for b in name.bytes() {
            h = (h ^ b as u64).wrapping_mul(0x0100_0000_01b3);
        }
        Rng(Pcg64Mcg::seed_from_u64(mix(h ^ mix(self.0))))
    }

    /// The stream of number `index` among the consumers called `name` (flow 17 of a group).
    pub fn indexed_stream(self, name: &str, index: u64) -> Rng {
        Seed(mix(self.0 ^ mix(index.wrapping_add(1)))).stream(name)
    }
}

fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_depend_on_seed_name_and_index() {
        let first = |mut r: Rng| r.next_u64();
        assert_eq!(first(Seed(1).stream("a")), first(Seed(1).stream("a")));
        assert_ne!(first(Seed(1).stream("a")), first(Seed(2).stream("a")));
        assert_ne!(first(Seed(1).stream("a")), first(Seed(1).stream("b")));
        assert_ne!(first(Seed(1).indexed_stream("a", 0)), first(Seed(1).indexed_stream("a", 1)));
    }

    #[test]
    fn both_kinds_of_chance_decide_alike() {
        let (mut a, mut b) = (Seed(3).stream("chance"), Seed(3).stream("chance"));
        let mut p = 1u64;
        for _ in 0..10_000 {
            p = p * 48271 % 0x7fff_ffff;
            assert_eq!(a.chance(p as f64 / (1u64 << 32) as f64), b.chance_fixed(p));
        }
        assert!(b.chance_fixed(1 << 32) && !b.chance_fixed(0));
    }

    #[test]
    fn moments_of_the_distributions() {
        let mut r = Seed(7).stream("moments");
        let n = 200_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / n as f64;
        assert!((mean(&mut || r.uniform()) - 0.5).abs() < 0.003);
        assert!((mean(&mut || r.exponential(3.0)) - 3.0).abs() < 0.03);
        // Mean of a Pareto: shape * scale / (shape - 1).
        assert!((mean(&mut || r.pareto(3.0, 2.0)) - 3.0).abs() < 0.03);
        assert!((mean(&mut || r.chance(0.1) as u8 as f64) - 0.1).abs() < 0.003);
    }
}
