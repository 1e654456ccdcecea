//! Sets of small numbers with a hand that goes around.

use alloc::vec::Vec;

/// A set of numbers below a bound, and the number whose turn it is. Each operation looks at a word for each power of 64
/// that the bound has, and never allocates.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Words of 64 bits: one bit for each number, then one for each word of those that is not zero, and so on.
    words: Vec<u64>,
    /// Where each layer begins.
    starts: [u32; LAYERS],
    layers: usize,
    /// The first number whose turn it may be; [`END`] if the round has ended.
    hand: u32,
}

/// 64^6 exceeds 2^32.
const LAYERS: usize = 6;

const END: u32 = u32::MAX;

impl Ring {
    /// An empty set of numbers below `bound`; its round has ended.
    pub fn new(bound: usize) -> Self {
        let (mut starts, mut layers, mut words, mut width) = ([0; LAYERS], 0, 0, bound);
        while layers == 0 || width > 1 {
            width = width.div_ceil(64);
            starts[layers] = words as u32;
            words += width;
            layers += 1;
        }
        Ring { words: alloc::vec![0; words], starts, layers, hand: END }
    }

    /// Says whether it has no number.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.last().is_none_or(|word| *word == 0)
    }

    /// Takes a number in.
    #[inline]
    pub fn insert(&mut self, number: u32) {
        let mut bit = number;
        for start in &self.starts[..self.layers] {
            self.words[(start + bit / 64) as usize] |= 1 << (bit % 64);
            bit /= 64;
        }
    }

    /// Takes a number out. If it was its turn, it is that of the next number from there.
    #[inline]
    pub fn remove(&mut self, number: u32) {
        let mut bit = number;
        for start in &self.starts[..self.layers] {
            let word = &mut self.words[(start + bit / 64) as usize];
            *word &= !(1 << (bit % 64));
            if *word != 0 {
                break;
            }
            bit /= 64;
        }
    }

    /// The first number from `from` on.
    #[inline]
    fn first_from(&self, from: u32) -> Option<u32> {
        let (mut bit, mut layer) = (from, 0);
        loop {
            let at = self.starts[layer] + bit / 64;
            let end = self.starts.get(layer + 1).filter(|_| layer + 1 < self.layers);
            let inside = at < end.map_or(self.words.len() as u32, |end| *end);
            let word = if inside { self.words[at as usize] & (!0 << (bit % 64)) } else { 0 };
            if word != 0 {
                bit = bit / 64 * 64 + word.trailing_zeros();
                break;
            }
            layer += 1;
            if layer == self.layers {
                return None;
            }
            bit = bit / 64 + 1;
        }
        while layer > 0 {
            layer -= 1;
            bit = bit * 64 + self.words[(self.starts[layer] + bit) as usize].trailing_zeros();
        }
        Some(bit)
    }

    /// The number whose turn it is, unless the round has ended.
    #[inline]
    pub fn turn(&mut self) -> Option<u32> {
        let turn = if self.hand == END { None } else { self.first_from(self.hand) };
        self.hand = turn.unwrap_or(END);
        turn
    }

    /// A new round begins.
    #[inline]
    pub fn rewind(&mut self) {
        self.hand = self.first_from(0).unwrap_or(END);
    }

    /// It is the turn of the next number. A number beyond the last one that comes later waits for the next round.
    #[inline]
    pub fn step(&mut self) {
        if self.hand != END {
            self.hand = self.first_from(self.hand + 1).unwrap_or(END);
        }
    }

    /// Takes a number out. If it was its turn, it is that of the next number, or the round has ended.
    #[inline]
    pub fn remove_and_step(&mut self, number: u32) {
        if self.hand == number {
            self.step();
        }
        self.remove(number);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    extern crate std;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_round_takes_each_in_order() {
        let mut ring = Ring::new(200);
        [199, 3, 64].into_iter().for_each(|n| ring.insert(n));
        assert_eq!(ring.turn(), None, "no round has begun");
        ring.rewind();
        let mut round = Vec::new();
        while let Some(n) = ring.turn() {
            round.push(n);
            ring.step();
        }
        assert_eq!(round, [3, 64, 199]);
    }

    proptest! {
        /// It is a set, whatever its size.
        #[test]
        fn it_is_a_set(
            bound in prop::sample::select(alloc::vec![1usize, 63, 64, 65, 4096, 4097, 300_000]),
            steps in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..200),
        ) {
            let (mut ring, mut set) = (Ring::new(bound), BTreeSet::new());
            for (index, insert) in steps {
                let n = index.index(bound) as u32;
                if insert {
                    ring.insert(n);
                    set.insert(n);
                } else {
                    ring.remove(n);
                    set.remove(&n);
                }
                prop_assert_eq!(ring.is_empty(), set.is_empty());
                for from in [0, n, n + 1, n.saturating_sub(70)] {
                    prop_assert_eq!(ring.first_from(from), set.range(from..).next().copied());
                }
            }
        }
    }
}
