//! A growing ring buffer, the engine's queue of packets and departures.
//!
//! `VecDeque` checks on every access what holds by construction here: an index taken modulo the
//! capacity, a power of two, is within it. Those checks were a tenth of the engine's instructions,
//! so this module has the engine's `unsafe`; its tests compare it with `VecDeque` operation by operation.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// First in, first out; elements are plain data.
pub(super) struct Ring<T: Copy> {
    /// A power of two of slots. Those from `head` to before `tail`, modulo the capacity, are
    /// initialized.
    slots: Box<[MaybeUninit<T>]>,
    /// The number of slots, less one.
    mask: u32,
    head: u32,
    tail: u32,
}

impl<T: Copy> Ring<T> {
    /// An empty ring that holds `capacity` elements before it grows.
    pub fn with_capacity(capacity: u32) -> Self {
        let capacity = capacity.max(2).next_power_of_two();
        let slots: Box<[_]> = (0..capacity).map(|_| MaybeUninit::uninit()).collect();
        Ring { slots, mask: capacity - 1, head: 0, tail: 0 }
    }

    #[inline]
    pub fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline]
    fn index(&self, at: u32) -> usize {
        (at & self.mask) as usize
    }

    /// The element at position `at` of the counters `head` and `tail`.
    #[inline]
    fn get(&self, at: u32) -> T {
        debug_assert!(at.wrapping_sub(self.head) < self.len());
        // SAFETY: the index is below the capacity, a power of two, and slots from `head` to before
        // `tail` are initialized.
        unsafe { self.slots.get_unchecked(self.index(at)).assume_init() }
    }

    #[inline]
    pub fn front(&self) -> Option<T> {
        (!self.is_empty()).then(|| self.get(self.head))
    }

    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = self.front()?;
        self.head = self.head.wrapping_add(1);
        Some(first)
    }

    #[inline]
    pub fn push_back(&mut self, x: T) {
        if self.len() > self.mask {
            self.grow();
        }
        let i = self.index(self.tail);
        // SAFETY: the index is below the capacity, a power of two.
        unsafe { self.slots.get_unchecked_mut(i).write(x) };
        self.tail = self.tail.wrapping_add(1);
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = Ring::with_capacity(self.slots.len() as u32 * 2);
        while let Some(x) = self.pop_front() {
            larger.push_back(x);
        }
        *self = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

        /// The same operations on a ring and a `VecDeque`.
        #[test]
        fn a_ring_is_a_queue(ops in prop::collection::vec((0u8..3, 0u32..50), 0..300)) {
            let mut ring = Ring::with_capacity(2);
            let mut queue = VecDeque::new();
            for (op, x) in ops {
                match op {
                    0 | 1 => {
                        ring.push_back(x);
                        queue.push_back(x);
                    }
                    _ => prop_assert_eq!(ring.pop_front(), queue.pop_front()),
                }
                prop_assert_eq!(ring.len() as usize, queue.len());
                prop_assert_eq!(ring.front(), queue.front().copied());
            }
            while let Some(x) = ring.pop_front() {
                prop_assert_eq!(Some(x), queue.pop_front());
            }
            prop_assert!(queue.is_empty());
        }
    }
}
