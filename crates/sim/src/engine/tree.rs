//! Pending events: a winner tree over fixed slots, four to a block.
//!
//! Each slot has at most one pending event. The slots of a flow lie in one block, because what
//! happens to a flow usually moves several of them: [`WinnerTree::put`] notes each, and one walk from
//! the block to the root, without a branch that depends on the data, settles them all. Events at the
//! same time come in the order of their slots' numbers.
#![allow(unsafe_code)] // the walk to the root is a tenth of the engine's instructions

use quell_units::Time;

use crate::Error;

/// Slots of a block.
pub(crate) const BLOCK: u32 = 4;

/// The pending events of slots 0 to n-1.
pub(crate) struct WinnerTree {
    /// Per slot `time << bits | slot`; `u64::MAX` for none.
    slots: Vec<[u64; BLOCK as usize]>,
    /// The smallest key below each node. Node 1 is the root, that of block b is `leaves + b`.
    nodes: Vec<u64>,
    leaves: usize,
    bits: u32,
    /// Later times cannot be told from none.
    latest: u64,
    /// The block that [`WinnerTree::settle`] will come for.
    open: u32,
}

impl WinnerTree {
    /// A tree without events for `slots` slots and times below `end`.
    pub fn new(slots: usize, end: Time) -> Result<Self, Error> {
        let blocks = slots.div_ceil(BLOCK as usize).max(2);
        let leaves = blocks.next_power_of_two();
        let bits = leaves.trailing_zeros() + BLOCK.trailing_zeros();
        let latest = u64::MAX >> bits >> 1;
        if end.nanos() > latest {
            let hours = latest as f64 / 3.6e12;
            return Err(Error::Invalid(format!(
                "a run with {slots} sources of events can last {hours:.1} hours at most"
            )));
        }
        Ok(WinnerTree {
            slots: vec![[u64::MAX; BLOCK as usize]; blocks],
            nodes: vec![u64::MAX; 2 * leaves],
            leaves,
            bits,
            latest,
            open: u32::MAX,
        })
    }

    /// Sets the pending event of `slot`; [`Time::MAX`] cancels it.
    #[inline]
    pub fn put(&mut self, slot: u32, time: Time) {
        let fits = time.nanos() <= self.latest;
        let key = if fits { time.nanos() << self.bits | slot as u64 } else { u64::MAX };
        let block = slot / BLOCK;
        self.slots[block as usize][(slot % BLOCK) as usize] = key;
        if block != self.open {
            self.settle_block(block);
        }
    }

    /// The pending event of `slot`; [`Time::MAX`] for none.
    #[inline]
    pub fn get(&self, slot: u32) -> Time {
        match self.slots[(slot / BLOCK) as usize][(slot % BLOCK) as usize] {
            u64::MAX => Time::MAX,
            key => Time::from_nanos(key >> self.bits),
        }
    }

    /// The next event, if there is one. Its block is open from here to [`WinnerTree::settle`]:
    /// events put into it take effect then.
    #[inline]
    pub fn next(&mut self) -> Option<(Time, u32)> {
        let key = self.nodes[1];
        let slot = (key & ((1 << self.bits) - 1)) as u32;
        if key == u64::MAX {
            return None;
        }
        self.open = slot / BLOCK;
        Some((Time::from_nanos(key >> self.bits), slot))
    }

    /// The open block takes part again.
    #[inline]
    pub fn settle(&mut self) {
        let block = std::mem::replace(&mut self.open, u32::MAX);
        self.settle_block(block);
    }

    #[inline]
    fn settle_block(&mut self, block: u32) {
        let [a, b, c, d] = self.slots[block as usize];
        let mut key = a.min(b).min(c.min(d));
        // There are at most `leaves` blocks, so 1 <= i < 2 leaves, the length, holds for the leaf
        // and for its ancestors; a sibling `i ^ 1` differs in the last bit of an i >= 2.
        let mut i = self.leaves + block as usize;
        let nodes = self.nodes.as_mut_ptr();
        // SAFETY: as above for `i`, `i ^ 1` and `i >> 1`.
        unsafe {
            *nodes.add(i) = key;
            while i > 1 {
                key = key.min(*nodes.add(i ^ 1));
                i >>= 1;
                *nodes.add(i) = key;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The tree against the obvious way to find the smallest.
        #[test]
        fn next_is_the_smallest_time_then_the_smallest_slot(
            n in 1usize..70,
            puts in prop::collection::vec((0u32..70, 0u64..20, any::<bool>(), any::<bool>()), 1..200),
        ) {
            let mut tree = WinnerTree::new(n, Time::from_nanos(100)).unwrap();
            let mut all = vec![Time::MAX; n];
            for (slot, t, cancel, settle) in puts {
                let slot = slot % n as u32;
                let t = if cancel { Time::MAX } else { Time::from_nanos(t) };
                tree.put(slot, t);
                all[slot as usize] = t;
                prop_assert_eq!(tree.get(slot), t);
                if tree.open != u32::MAX {
                    if !settle {
                        continue;
                    }
                    tree.settle();
                }
                let want = (0..n).filter(|i| all[*i] != Time::MAX).map(|i| (all[i], i as u32)).min();
                prop_assert_eq!(tree.next(), want);
            }
        }
    }

    #[test]
    fn a_run_that_is_too_long_for_its_slots_is_refused() {
        assert!(WinnerTree::new(1 << 20, Time::from_nanos(5 * 3_600_000_000_000)).is_err());
        assert!(WinnerTree::new(1000, Time::from_nanos(5 * 3_600_000_000_000)).is_ok());
    }
}
