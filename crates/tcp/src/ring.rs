//! Records of packets by number, in a window that moves up.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// A record for each number from `first` to before `end`. A power of two of places, so that a number's is its lower
/// bits.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    places: Vec<T>,
    first: u32,
    end: u32,
}

impl<T: Copy> Ring<T> {
    /// Nothing, and the first number is 1.
    pub fn new() -> Self {
        Ring { places: Vec::new(), first: 1, end: 1 }
    }

    /// Forgets all records and keeps the memory.
    pub fn clear(&mut self) {
        (self.first, self.end) = (1, 1);
    }

    /// The first number that has a record.
    #[inline]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// One past the last.
    #[inline]
    pub fn end(&self) -> u32 {
        self.end
    }

    #[inline]
    pub fn len(&self) -> u32 {
        self.end - self.first
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    #[inline]
    fn place(&self, seq: u32) -> usize {
        seq as usize & self.places.len().wrapping_sub(1)
    }

    /// The record of the number `seq`, which is `end`, or any if there is none.
    #[inline]
    pub fn push(&mut self, seq: u32, record: T) {
        if self.is_empty() {
            (self.first, self.end) = (seq, seq);
        }
        debug_assert_eq!(seq, self.end);
        if self.len() as usize == self.places.len() {
            self.grow(record);
        }
        let place = self.place(seq);
        self.places[place] = record;
        self.end = seq + 1;
    }

    /// Returns whether there is a place for another record.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        (self.len() as usize) < self.places.len()
    }

    /// [`Ring::push`] of the number `end`, where there is room.
    #[inline(always)]
    pub fn push_within(&mut self, record: T) {
        debug_assert!(self.has_room());
        let place = self.place(self.end);
        self.places[place] = record;
        self.end += 1;
    }

    /// The records of all numbers from `from`, which is `end`, or any if there is none, to before `to`.
    #[inline(always)]
    pub fn extend(&mut self, from: u32, to: u32, record: impl Fn(u32) -> T) {
        if self.is_empty() {
            (self.first, self.end) = (from, from);
        }
        debug_assert_eq!(from, self.end);
        while (to - self.first) as usize > self.places.len() {
            self.grow(record(from));
        }
        for seq in from..to {
            let place = self.place(seq);
            self.places[place] = record(seq);
        }
        self.end = to;
    }

    #[cold]
    fn grow(&mut self, any: T) {
        let mut places = Vec::new();
        places.resize((2 * self.places.len()).max(4), any);
        for seq in self.first..self.end {
            let to = seq as usize & (places.len() - 1);
            places[to] = self[seq];
        }
        self.places = places;
    }

    /// [`Ring::forget_below`], where all below `seq` have had records.
    #[inline(always)]
    pub fn forget_first(&mut self, seq: u32) {
        debug_assert!((self.first..=self.end).contains(&seq));
        self.first = seq;
    }

    /// Forgets all below `seq`.
    #[inline]
    pub fn forget_below(&mut self, seq: u32) {
        self.first = seq.clamp(self.first, self.end);
    }
}

impl<T: Copy> Index<u32> for Ring<T> {
    type Output = T;
    #[inline]
    fn index(&self, seq: u32) -> &T {
        debug_assert!((self.first..self.end).contains(&seq));
        &self.places[self.place(seq)]
    }
}

impl<T: Copy> IndexMut<u32> for Ring<T> {
    #[inline]
    fn index_mut(&mut self, seq: u32) -> &mut T {
        debug_assert!((self.first..self.end).contains(&seq));
        let place = self.place(seq);
        &mut self.places[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_map_of_the_last_numbers(steps in proptest::collection::vec((0u32..30, 0u32..30), 1..40)) {
            let (mut ring, mut map, mut seq) = (Ring::new(), BTreeMap::new(), 7);
            for (more, fewer) in steps {
                for _ in 0..more {
                    ring.push(seq, 3 * seq);
                    map.insert(seq, 3 * seq);
                    seq += 1;
                }
                let first = ring.first() + fewer;
                ring.forget_below(first);
                map.retain(|s, _| *s >= first);
                prop_assert_eq!(ring.len() as usize, map.len());
                prop_assert_eq!(ring.is_empty(), map.is_empty());
                prop_assert!(map.iter().all(|(s, record)| ring[*s] == *record));
                prop_assert!(map.is_empty() || ring.end() == seq);
            }
        }
    }
}
