//! Sets of packet numbers in a window that moves up.

use alloc::collections::VecDeque;

/// A bit for each number from a base on. Finding, counting and forgetting take a step for 64 numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    /// The word that the first of `words` is: it holds the numbers from 64 times that on.
    base: u32,
    words: VecDeque<u64>,
}

/// The bits of a word from `from` to below `to`, which are at most 64.
#[inline]
fn mask(from: u32, to: u32) -> u64 {
    (u64::MAX >> (64 - (to - from))) << from
}

impl Bits {
    /// Empties the set and keeps its memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.base = 0;
    }

    /// The word with these numbers.
    #[inline]
    fn word(&self, index: u32) -> u64 {
        let at = index.checked_sub(self.base);
        at.and_then(|at| self.words.get(at as usize)).copied().unwrap_or(0)
    }

    /// One past the last word.
    fn end(&self) -> u32 {
        self.base + self.words.len() as u32
    }

    #[inline]
    pub fn contains(&self, seq: u32) -> bool {
        self.word(seq / 64) >> (seq % 64) & 1 == 1
    }

    /// The words that hold numbers of [from, to), with the mask of those.
    #[inline]
    fn masks(from: u32, to: u32) -> impl Iterator<Item = (u32, u64)> {
        let words = if from < to { from / 64..(to - 1) / 64 + 1 } else { 0..0 };
        words.map(move |w| {
            let first = from.max(w * 64) - w * 64;
            (w, mask(first, (to - w * 64).min(64)))
        })
    }

    /// Adds the numbers of [from, to), none of which was forgotten.
    pub fn insert(&mut self, from: u32, to: u32) {
        debug_assert!(from / 64 >= self.base);
        for (w, mask) in Self::masks(from, to) {
            let at = (w - self.base) as usize;
            if at >= self.words.len() {
                self.words.resize(at + 1, 0);
            }
            self.words[at] |= mask;
        }
    }

    /// Adds a number that was not forgotten.
    #[inline]
    pub fn insert_one(&mut self, seq: u32) {
        let at = (seq / 64 - self.base) as usize;
        match self.words.get_mut(at) {
            Some(word) => *word |= 1 << (seq % 64),
            None => self.insert(seq, seq + 1),
        }
    }

    /// The number of those of [from, to) that it has.
    #[inline]
    pub fn count(&self, from: u32, to: u32) -> u32 {
        let from = from.max(self.base * 64);
        let to = to.min(self.end().saturating_mul(64));
        Self::masks(from, to).map(|(w, mask)| (self.word(w) & mask).count_ones()).sum()
    }

    /// The first number from `from` on that it has not.
    pub fn next_absent(&self, from: u32) -> u32 {
        let mut w = from / 64;
        let mut absent = !self.word(w) & (u64::MAX << (from % 64));
        while absent == 0 {
            w += 1;
            absent = !self.word(w);
        }
        w * 64 + absent.trailing_zeros()
    }

    /// The last number below `before` that it has not; numbers below those that were kept count as absent.
    pub fn last_absent(&self, before: u32) -> u32 {
        let mut seq = before - 1;
        while self.contains(seq) {
            let present = !self.word(seq / 64) << (63 - seq % 64);
            seq -= present.leading_zeros().min(seq % 64 + 1);
        }
        seq
    }

    /// The `n`-th number, from 1, of those from `from` on; it must exist.
    pub fn select(&self, from: u32, mut n: u32) -> u32 {
        let mut w = from / 64;
        let mut bits = self.word(w) & (u64::MAX << (from % 64));
        while bits.count_ones() < n {
            n -= bits.count_ones();
            w += 1;
            debug_assert!(w < self.end());
            bits = self.word(w);
        }
        for _ in 1..n {
            bits &= bits - 1;
        }
        w * 64 + bits.trailing_zeros()
    }

    /// The `n`-th number, from 1, counted down from the highest; it must exist.
    pub fn select_down(&self, mut n: u32) -> u32 {
        let mut w = self.end() - 1;
        while self.word(w).count_ones() < n {
            n -= self.word(w).count_ones();
            w -= 1;
        }
        let mut bits = self.word(w);
        for _ in 1..n {
            bits &= !(1 << (63 - bits.leading_zeros()));
        }
        w * 64 + 63 - bits.leading_zeros()
    }

    /// Forgets words that have only numbers below `seq`: those are not asked for any more.
    pub fn forget_below(&mut self, seq: u32) {
        let gone = (seq / 64).saturating_sub(self.base);
        self.words.drain(..self.words.len().min(gone as usize));
        self.base += gone;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_set_of_numbers(
            runs in proptest::collection::vec((0u32..400, 0u32..150), 1..12),
            (from, length, low) in (0u32..500, 0u32..200, 1u32..300),
        ) {
            let (mut bits, mut set) = (Bits::default(), BTreeSet::new());
            bits.forget_below(low);
            bits.insert(low, low + 1);
            set.insert(low);
            for (start, length) in runs {
                let (from, to) = (low + start, low + start + length);
                bits.insert(from, to);
                set.extend(from..to);
            }
            prop_assert_eq!(bits.count(from, from + length), set.range(from..from + length).count() as u32);
            prop_assert_eq!(bits.contains(from), set.contains(&from));
            let absent = (from..).find(|s| !set.contains(s)).unwrap();
            prop_assert_eq!(bits.next_absent(from), absent);
            let last = (0..from + 1).rev().find(|s| !set.contains(s)).unwrap();
            prop_assert_eq!(bits.last_absent(from + 1), last);
            for (i, &seq) in set.range(from..).enumerate().take(100) {
                prop_assert_eq!(bits.select(from, i as u32 + 1), seq);
            }
            for (i, &seq) in set.iter().rev().enumerate().take(100) {
                prop_assert_eq!(bits.select_down(i as u32 + 1), seq);
            }
            bits.forget_below(from);
            let left: Vec<u32> = set.range(from..).copied().collect();
            let kept: Vec<u32> = (from..2000).filter(|&s| bits.contains(s)).collect();
            prop_assert_eq!(kept, left);
        }
    }
}
