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
    /// Per slot `time << bits | slot`; with `never` for the time if nothing is pending.
    slots: Vec<u64>,
    /// The smallest key below each node. Node 1 is the root, that of block b is `leaves + b`.
    nodes: Vec<u64>,
    leaves: usize,
    bits: u32,
    /// Later times cannot be told from none.
    never: u64,
    /// The block that [`WinnerTree::settle`] will come for.
    open: u32,
}

impl WinnerTree {
    /// A tree without events for `slots` slots and times below `end`.
    pub fn new(slots: usize, end: Time) -> Result<Self, Error> {
        let leaves = slots.div_ceil(BLOCK as usize).max(2).next_power_of_two();
        let bits = leaves.trailing_zeros() + BLOCK.trailing_zeros();
        let never = u64::MAX >> bits;
        if end.nanos() >= never / 2 {
            let hours = never as f64 / 7.2e12;
            return Err(Error::Invalid(format!(
                "a run with {slots} sources of events can last {hours:.1} hours at most"
            )));
        }
        let slots = (0..(leaves * BLOCK as usize) as u64).map(|slot| never << bits | slot).collect();
        let nodes = vec![u64::MAX; 2 * leaves];
        Ok(WinnerTree { slots, nodes, leaves, bits, never, open: u32::MAX })
    }

    /// Sets the pending event of `slot`; [`Time::MAX`] cancels it.
    #[inline]
    pub fn put(&mut self, slot: u32, time: Time) {
        self.slots[slot as usize] = time.nanos().min(self.never) << self.bits | slot as u64;
        if slot / BLOCK != self.open {
            self.settle_block(slot / BLOCK);
        }
    }

    /// The next event: its time, far beyond the end if there is none, and its slot. The slot's block
    /// is open from here to [`WinnerTree::settle`]: events put into it take effect then.
    #[inline]
    pub fn next(&mut self) -> (Time, u32) {
        let key = self.nodes[1];
        let time = key >> self.bits;
        let slot = (key ^ time << self.bits) as u32;
        self.open = slot / BLOCK;
        (Time::from_nanos(time), slot)
    }

    /// The open block takes part again.
    #[inline]
    pub fn settle(&mut self) {
        let block = std::mem::replace(&mut self.open, u32::MAX);
        self.settle_block(block);
    }

    #[inline]
    fn settle_block(&mut self, block: u32) {
        let block = block as usize;
        assert!(block < self.leaves);
        let slots = self.slots.as_ptr();
        let nodes = self.nodes.as_mut_ptr();
        // SAFETY: there are `4 leaves` slots, of which a block has four, and `2 leaves` nodes. A node
        // i begins in leaves <= i < 2 leaves, and becomes its parent i / 2 as long as that is not
        // below 1; its sibling differs in the last bit.
        unsafe {
            let slot = |i: usize| *slots.add(block * BLOCK as usize + i);
            let mut key = slot(0).min(slot(1)).min(slot(2).min(slot(3)));
            let mut i = self.leaves + block;
            *nodes.add(i) = key;
            let mut up = || {
                key = key.min(*nodes.add(i ^ 1));
                i /= 2;
                *nodes.add(i) = key;
                i
            };
            while up() > 1 {
                // Two levels a turn.
                if up() == 1 {
                    break;
                }
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
                if tree.open != u32::MAX {
                    if !settle {
                        continue;
                    }
                    tree.settle();
                }
                let want = (0..n).filter(|i| all[*i] != Time::MAX).map(|i| (all[i], i as u32)).min();
                let (t, slot) = tree.next();
                let got = (t < Time::from_nanos(100)).then_some((t, slot));
                prop_assert_eq!(got, want);
            }
        }
    }

    #[test]
    fn a_run_that_is_too_long_for_its_slots_is_refused() {
        assert!(WinnerTree::new(1 << 20, Time::from_nanos(5 * 3_600_000_000_000)).is_err());
        assert!(WinnerTree::new(1000, Time::from_nanos(5 * 3_600_000_000_000)).is_ok());
    }
}
