//! Packets that each flow has sent, in a bounded table.

use alloc::vec;
use alloc::vec::Vec;

use quell_units::{Duration, Time, index};

use crate::FlowId;

/// Slots that a flow may have.
const WAYS: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Slot {
    flow: FlowId,
    /// Packets of the flow so far; zero if the slot is free.
    packets: u32,
    last: Time,
}

const FREE: Slot = Slot { flow: FlowId(0), packets: 0, last: Time::ZERO };

/// Counts the packets of each flow, and forgets flows that have been silent.
///
/// A flow may be in any of eight slots. When others have all of them, it takes the place of the one
/// that has been silent for longest; that one starts again if it comes back.
#[derive(Clone, Debug)]
pub struct FlowAges {
    slots: Vec<Slot>,
    /// Bits by which a flow's hash is shifted to give its eight slots; the rest of the hash is lost.
    shift: u32,
    forget_after: Duration,
    /// Flows that lost their place before they were forgotten.
    displaced: u64,
}

impl FlowAges {
    /// A table for at least `flows` flows that forgets those silent for more than `forget_after`.
    pub fn new(flows: u32, forget_after: Duration) -> Self {
        let sets = (flows as usize).div_ceil(WAYS).next_power_of_two();
        let slots = vec![FREE; sets * WAYS];
        FlowAges { slots, shift: 64 - sets.trailing_zeros(), forget_after, displaced: 0 }
    }

    /// A packet of `flow` arrives: which of the flow's packets it is, from 1.
    #[inline]
    pub fn count(&mut self, now: Time, flow: FlowId) -> u32 {
        // Fibonacci hashing: neighboring numbers go to slots far apart. A shift by 64 gives none.
        let hash = (flow.0 as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = index(hash.checked_shr(self.shift).unwrap_or(0)) * WAYS;
        let set = &mut self.slots[first..first + WAYS];
        if let Some(slot) = set.iter_mut().find(|s| s.flow == flow && s.packets > 0) {
            let forgotten = now.since(slot.last) > self.forget_after;
            slot.packets = if forgotten { 1 } else { slot.packets.saturating_add(1) };
            slot.last = now;
            return slot.packets;
        }
        let place = set.iter_mut().min_by_key(|s| (s.packets > 0, s.last)).expect("there are eight");
        self.displaced += (place.packets > 0 && now.since(place.last) <= self.forget_after) as u64;
        *place = Slot { flow, packets: 1, last: now };
        1
    }

    /// Number of flows that lost their place to others before they were forgotten.
    pub fn displaced(&self) -> u64 {
        self.displaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(t: u64) -> Time {
        Time::from_nanos(t * 1_000_000)
    }

    #[test]
    fn packets_are_counted_until_the_flow_is_forgotten() {
        let mut table = FlowAges::new(16, Duration::from_secs(1));
        assert_eq!(table.count(ms(0), FlowId(7)), 1);
        assert_eq!(table.count(ms(1), FlowId(0)), 1);
        assert_eq!(table.count(ms(500), FlowId(7)), 2);
        // Seen just a second ago is seen.
        assert_eq!(table.count(ms(1500), FlowId(7)), 3);
        assert_eq!(table.count(ms(2501), FlowId(7)), 1);
        assert_eq!(table.displaced(), 0);
    }

    #[test]
    fn a_full_table_forgets_the_flow_that_is_silent_for_longest() {
        let mut table = FlowAges::new(1, Duration::from_secs(1));
        for flow in 0..8 {
            assert_eq!(table.count(ms(flow as u64), FlowId(flow)), 1);
        }
        assert_eq!(table.count(ms(10), FlowId(0)), 2);
        assert_eq!(table.count(ms(11), FlowId(8)), 1);
        assert_eq!((table.count(ms(12), FlowId(0)), table.displaced()), (3, 1));
        // Flow 1 made room for flow 8, and flow 2 makes room for flow 1.
        assert_eq!((table.count(ms(13), FlowId(1)), table.displaced()), (1, 2));
        // Taking the place of a forgotten flow displaces no other flow.
        assert_eq!((table.count(ms(5000), FlowId(20)), table.displaced()), (1, 2));
    }

    #[test]
    fn as_many_flows_as_it_is_for_hardly_disturb_each_other() {
        let mut table = FlowAges::new(4096, Duration::from_secs(1));
        for round in 1..=3 {
            let kept = (0..2048).filter(|flow| table.count(ms(round), FlowId(*flow)) == round as u32);
            assert!(kept.count() > 2000);
        }
        assert!(table.displaced() < 50);
    }
}
