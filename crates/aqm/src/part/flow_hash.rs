//! Choice of the lane in which a flow's packets wait.

use crate::{FlowId, Rng};

/// A hash with a key, so that nobody outside can choose flows that meet in one lane (RFC 8290 section 4.1).
#[derive(Clone, Copy, Debug)]
pub struct FlowHash {
    key: u64,
}

impl FlowHash {
    /// Makes a hash with this key, or with one that [`FlowHash::draw`] is to draw.
    pub fn new(key: Option<u64>) -> Self {
        FlowHash { key: key.unwrap_or(0) }
    }

    /// Draws the key.
    pub fn draw(&mut self, rng: &mut Rng) {
        self.key = rng.next_u64();
    }

    /// The key.
    #[inline]
    pub fn key(self) -> u64 {
        self.key
    }

    /// Returns the hash with another key, the one after so many turns.
    #[inline]
    #[must_use]
    pub fn turned(self, turns: u64) -> Self {
        FlowHash { key: self.key.wrapping_add(turns.wrapping_mul(0x9e37_79b9_7f4a_7c15)) }
    }

    /// The hash of a flow: 32 bits.
    #[inline]
    pub fn of(self, flow: FlowId) -> u32 {
        mix(u64::from(flow.0) ^ self.key)
    }

    /// The lane of a flow, one of so many.
    #[inline]
    pub fn lane(self, flow: FlowId, lanes: u32) -> usize {
        reduced(self.of(flow), lanes) as usize
    }
}

/// The finalizer of SplitMix64 (Steele et al. 2014), its upper half.
#[inline]
pub fn mix(x: u64) -> u32 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 32) as u32
}

/// A hash as one of `lanes`, without a division: the upper part of their product.
#[inline]
pub fn reduced(hash: u32, lanes: u32) -> u32 {
    ((u64::from(hash) * u64::from(lanes)) >> 32) as u32
}

/// RFC 8290 section 5.3: the probability that a flow shares its queue with none of the `flows - 1` others,
/// where `queues` are in sets of `ways`, and a flow takes any queue of its set that is free.
pub fn alone(flows: u32, queues: u32, ways: u32) -> f64 {
    let (others, share) = (flows - 1, f64::from(ways) / f64::from(queues));
    // Fewer than `ways` others in the same set: a binomial distribution's first terms.
    let mut term = libm::pow(1.0 - share, f64::from(others));
    let mut sum = 0.0;
    for k in 0..ways.min(flows) {
        sum += term;
        term *= f64::from(others - k) / f64::from(k + 1) * share / (1.0 - share);
    }
    sum
}

equations! {
    reduced(hash: u32, lanes: u32) -> lane = reduced(hash, lanes);
    alone(flows: u32, queues: u32, ways: u32) -> p = alone(flows, queues, ways);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use alloc::vec;

    /// RFC 8290 section 5.3: of 100 flows in 1024 queues, 90.78% share theirs with no other.
    #[test]
    fn flows_meet_as_often_as_chance_makes_them() {
        let (flows, queues, rounds) = (100, 1024, 4000);
        let mut rng = Seed(1).stream("hash");
        let mut alone_in = 0u32;
        for _ in 0..rounds {
            let mut hash = FlowHash::new(None);
            hash.draw(&mut rng);
            let mut counts = vec![0u32; queues as usize];
            (0..flows).for_each(|i| counts[hash.lane(FlowId(i), queues)] += 1);
            alone_in += counts.iter().filter(|n| **n == 1).count() as u32;
        }
        let got = f64::from(alone_in) / f64::from(flows * rounds);
        let want = alone(flows, queues, 1);
        // Of 400 000 flows; pairs that meet count twice, so the deviation is 0.00046 times the root of 2.
        assert!((got - want).abs() < 0.0026, "{got}, not {want}");
        assert!((want - 0.9078).abs() < 5e-5, "{want}");
    }
}
