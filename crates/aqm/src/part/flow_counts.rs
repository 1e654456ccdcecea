//! Packets that each flow has in the queue.

use alloc::vec;
use alloc::vec::Vec;

use crate::FlowId;

/// State of a flow with packets in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCount {
    /// Its packets in the queue; 0 of a place that is free.
    pub packets: u32,
    /// Number of times that it was found out of bounds (Lin and Morris 1997).
    pub strikes: u32,
    flow: FlowId,
}

/// A table of the flows that have packets in the queue: open addressing with linear probing, in
/// room that is taken once. A flow that finds no room is not counted.
#[derive(Clone, Debug)]
pub struct FlowCounts {
    /// A power of two, at least twice `room`.
    places: Vec<FlowCount>,
    room: u32,
    active: u32,
}

impl FlowCounts {
    /// The most flows that get room.
    const MOST: u32 = 1 << 20;

    /// Room for at least `flows` flows (a million at most).
    pub fn with_room(flows: f64) -> Self {
        let room = flows.clamp(1.0, f64::from(Self::MOST)) as u32;
        FlowCounts {
            places: vec![FlowCount::default(); 2 * room.next_power_of_two() as usize],
            room,
            active: 0,
        }
    }

    /// Flows with packets in the queue.
    #[inline]
    pub fn active(&self) -> u32 {
        self.active
    }

    #[inline]
    fn home(&self, flow: FlowId) -> usize {
        // Multiplicative hashing; neighboring flows part.
        let hash = (flow.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        hash as usize & (self.places.len() - 1)
    }

    /// The place of a flow, or the free one where it would go. At most half of the places are taken,
    /// so there is one.
    #[inline]
    fn place(&self, flow: FlowId) -> usize {
        let mut at = self.home(flow);
        while self.places[at].packets > 0 && self.places[at].flow != flow {
            at = (at + 1) & (self.places.len() - 1);
        }
        at
    }

    /// State of a flow; the default for one without packets in the queue.
    #[inline]
    pub fn get(&self, flow: FlowId) -> FlowCount {
        self.places[self.place(flow)]
    }

    /// A flow is out of bounds once more.
    #[inline]
    pub fn strike(&mut self, flow: FlowId) {
        let at = self.place(flow);
        if self.places[at].packets > 0 {
            self.places[at].strikes = self.places[at].strikes.saturating_add(1);
        }
    }

    /// A packet of a flow is stored.
    #[inline]
    pub fn add(&mut self, flow: FlowId) {
        let at = self.place(flow);
        if self.places[at].packets > 0 {
            self.places[at].packets += 1;
        } else if self.active < self.room {
            self.places[at] = FlowCount { packets: 1, strikes: 0, flow };
            self.active += 1;
        }
    }

    /// A packet of a flow has gone; with the last one goes what was remembered.
    #[inline]
    pub fn remove(&mut self, flow: FlowId) {
        let at = self.place(flow);
        match self.places[at].packets {
            0 => {}
            1 => self.vacate(at),
            _ => self.places[at].packets -= 1,
        }
    }

    /// Frees a place, and moves up those behind it that would not be found any more.
    fn vacate(&mut self, mut hole: usize) {
        let mask = self.places.len() - 1;
        self.active -= 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            if self.places[at].packets == 0 {
                break;
            }
            // It may stay if its home lies behind the hole, counted from the hole around.
            let home = self.home(self.places[at].flow);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.places[hole] = self.places[at];
                hole = at;
            }
        }
        self.places[hole] = FlowCount::default();
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;
    use crate::Seed;

    #[test]
    fn counts_are_those_of_a_map() {
        let mut rng = Seed(1).stream("flow counts");
        let mut table = FlowCounts::with_room(60.0);
        let mut map: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        for _ in 0..100_000 {
            let flow = (rng.uniform() * 60.0) as u32;
            match (rng.uniform() * 5.0) as u32 {
                0 | 1 => {
                    table.add(FlowId(flow));
                    map.entry(flow).or_default().0 += 1;
                }
                2 => {
                    table.strike(FlowId(flow));
                    map.entry(flow).and_modify(|e| e.1 += 1);
                }
                _ => {
                    table.remove(FlowId(flow));
                    map.entry(flow).and_modify(|e| e.0 -= 1);
                    map.retain(|_, e| e.0 > 0);
                }
            }
            let got = table.get(FlowId(flow));
            assert_eq!((got.packets, got.strikes), map.get(&flow).copied().unwrap_or_default());
            assert_eq!(table.active() as usize, map.len());
        }
    }

    #[test]
    fn a_flow_that_finds_no_room_is_not_counted() {
        let mut table = FlowCounts::with_room(1.0);
        table.add(FlowId(1));
        table.add(FlowId(2));
        assert_eq!((table.active(), table.get(FlowId(2)).packets), (1, 0));
        table.remove(FlowId(2));
        table.remove(FlowId(1));
        assert_eq!(table.active(), 0);
        table.add(FlowId(2));
        assert_eq!(table.get(FlowId(2)).packets, 1);
    }
}
