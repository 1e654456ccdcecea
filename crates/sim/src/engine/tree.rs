//! Pending events: a winner tree with one fixed leaf per source.
//!
//! Each source has at most one pending event. Setting, moving and canceling it are one walk from
//! its leaf to the root without a branch that depends on the data, and events at the same time come
//! in the order of their sources' numbers.

use quell_units::Time;

use crate::Error;

/// The pending events of sources 0 to n-1.
pub(crate) struct WinnerTree {
    /// `time << bits | source`; `u64::MAX` for none. Node 1 is the root, the leaves begin at `leaves`.
    keys: Vec<u64>,
    leaves: usize,
    bits: u32,
    /// Later times cannot be told from none.
    latest: u64,
}

impl WinnerTree {
    /// A tree without events for `sources` sources and times below `end`.
    pub fn new(sources: usize, end: Time) -> Result<Self, Error> {
        let leaves = sources.max(2).next_power_of_two();
        let bits = leaves.trailing_zeros();
        let latest = u64::MAX >> bits >> 1;
        if end.nanos() > latest {
            let hours = latest as f64 / 3.6e12;
            return Err(Error::Invalid(format!(
                "a run with {sources} sources of events can last {hours:.1} hours at most"
            )));
        }
        Ok(WinnerTree { keys: vec![u64::MAX; 2 * leaves], leaves, bits, latest })
    }

    /// Sets the pending event of `source`; [`Time::MAX`] cancels it.
    #[inline]
    pub fn set(&mut self, source: u32, time: Time) {
        let fits = time.nanos() <= self.latest;
        let mut key = if fits { time.nanos() << self.bits | source as u64 } else { u64::MAX };
        let mut i = self.leaves + source as usize;
        self.keys[i] = key;
        while i > 1 {
            key = key.min(self.keys[i ^ 1]);
            i /= 2;
            self.keys[i] = key;
        }
    }

    /// The next event, [`Time::MAX`] if there is none, and its source.
    #[inline]
    pub fn first(&self) -> (Time, u32) {
        let key = self.keys[1];
        let source = (key & ((1 << self.bits) - 1)) as u32;
        (if key == u64::MAX { Time::MAX } else { Time::from_nanos(key >> self.bits) }, source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The tree against the obvious way to find the smallest.
        #[test]
        fn first_is_the_smallest_time_then_the_smallest_source(
            n in 1usize..70,
            sets in prop::collection::vec((0u32..70, 0u64..20, any::<bool>()), 1..200),
        ) {
            let mut tree = WinnerTree::new(n, Time::from_nanos(100)).unwrap();
            let mut all = vec![Time::MAX; n];
            for (source, t, cancel) in sets {
                let source = source % n as u32;
                let t = if cancel { Time::MAX } else { Time::from_nanos(t) };
                tree.set(source, t);
                all[source as usize] = t;
                let want = (0..n).filter(|i| all[*i] != Time::MAX).map(|i| (all[i], i as u32)).min();
                let first = tree.first();
                prop_assert_eq!((first.0 < Time::MAX).then_some(first), want);
            }
        }
    }

    #[test]
    fn a_run_that_is_too_long_for_its_sources_is_refused() {
        assert!(WinnerTree::new(1 << 20, Time::from_nanos(5 * 3_600_000_000_000)).is_err());
        assert!(WinnerTree::new(1000, Time::from_nanos(5 * 3_600_000_000_000)).is_ok());
    }
}
