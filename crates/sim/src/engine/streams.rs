//! What waits for stops: many short queues of packets in one pool.
//!
//! A packet that leaves its queue gives its place to the next that enters any, so the memory in use
//! is that of the packets on their way, and most of it is in the cache.

use quell_units::Time;

use crate::packet::Pkt;

/// No place.
const NONE: u32 = u32::MAX;

/// A packet and when it reaches its stop.
#[derive(Clone, Copy)]
struct Place {
    at: Time,
    pkt: Pkt,
    /// The place behind it in its stream, or in the list of free ones.
    next: u32,
}

/// The places of all streams.
pub(super) struct Pool {
    places: Vec<Place>,
    free: u32,
}

/// A queue in a [`Pool`]: packets by time, those at the same time as they came.
#[derive(Clone, Copy)]
pub(super) struct Stream {
    first: u32,
    /// Of no meaning while the stream is empty.
    last: u32,
}

impl Stream {
    pub const EMPTY: Stream = Stream { first: NONE, last: NONE };

    fn is_empty(&self) -> bool {
        self.first == NONE
    }
}

impl Pool {
    pub fn new() -> Self {
        Pool { places: Vec::new(), free: NONE }
    }

    /// How many packets wait.
    pub fn len(&self) -> usize {
        let place = |at: u32| self.places.get(at as usize);
        self.places.len() - std::iter::successors(place(self.free), |free| place(free.next)).count()
    }

    #[inline]
    fn place(&mut self, at: Time, pkt: Pkt) -> u32 {
        let i = self.free;
        let Some(place) = self.places.get_mut(i as usize) else { return self.grow(at, pkt) };
        self.free = place.next;
        place.at = at;
        place.pkt = pkt;
        place.next = NONE;
        i
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, at: Time, pkt: Pkt) -> u32 {
        self.places.push(Place { at, pkt, next: NONE });
        self.places.len() as u32 - 1
    }

    /// Puts a packet at the end of a stream, none of whose packets reaches the stop later; true if
    /// it is the first then.
    #[inline]
    pub fn push(&mut self, stream: &mut Stream, at: Time, pkt: Pkt) -> bool {
        let i = self.place(at, pkt);
        let last = std::mem::replace(&mut stream.last, i);
        if stream.first == NONE {
            stream.first = i;
            return true;
        }
        self.places[last as usize].next = i;
        false
    }

    /// Puts a packet behind all that do not reach the stop later; true if it is the first then.
    pub fn insert(&mut self, stream: &mut Stream, at: Time, pkt: Pkt) -> bool {
        let last = self.places.get(stream.last as usize);
        if !stream.is_empty() && last.is_some_and(|last| last.at <= at) {
            return self.push(stream, at, pkt);
        }
        let mut before = NONE;
        let mut behind = stream.first;
        while let Some(place) = self.places.get(behind as usize).filter(|place| place.at <= at) {
            before = behind;
            behind = place.next;
        }
        let i = self.place(at, pkt);
        self.places[i as usize].next = behind;
        match self.places.get_mut(before as usize) {
            Some(before) => before.next = i,
            None => stream.first = i,
        }
        if behind == NONE {
            stream.last = i;
        }
        before == NONE
    }

    /// The first packet of a stream, and when the one behind it reaches the stop, [`Time::MAX`] if
    /// there is none.
    #[inline]
    pub fn pop(&mut self, stream: &mut Stream) -> Option<(Pkt, Time)> {
        let i = stream.first;
        let place = self.places.get_mut(i as usize)?;
        let Place { pkt, next, .. } = *place;
        place.next = std::mem::replace(&mut self.free, i);
        stream.first = next;
        Some((pkt, self.places.get(next as usize).map_or(Time::MAX, |next| next.at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Kind;
    use proptest::prelude::*;

    proptest! {
        /// The same operations on streams and on sorted lists.
        #[test]
        fn streams_are_sorted_lists(ops in prop::collection::vec((0u8..4, 0usize..3, 0u64..50), 0..300)) {
            let mut pool = Pool::new();
            let mut streams = [Stream::EMPTY; 3];
            let mut lists: [Vec<(Time, Pkt)>; 3] = Default::default();
            for (number, (op, which, time)) in ops.into_iter().enumerate() {
                let (stream, list) = (&mut streams[which], &mut lists[which]);
                let pkt = Pkt::new(Kind::Data, which as u32, 0, number as u32, 40);
                match op {
                    0 => {
                        let at = list.last().map_or(Time::from_nanos(time), |l| l.0);
                        prop_assert_eq!(pool.push(stream, at, pkt), list.is_empty());
                        list.push((at, pkt));
                    }
                    1 => {
                        let at = Time::from_nanos(time);
                        let to = list.partition_point(|l| l.0 <= at);
                        prop_assert_eq!(pool.insert(stream, at, pkt), to == 0);
                        list.insert(to, (at, pkt));
                    }
                    _ if list.is_empty() => prop_assert_eq!(pool.pop(stream), None),
                    _ => {
                        let next = list.get(1).map_or(Time::MAX, |l| l.0);
                        prop_assert_eq!(pool.pop(stream), Some((list.remove(0).1, next)));
                    }
                }
                prop_assert_eq!(stream.is_empty(), list.is_empty());
                prop_assert_eq!(pool.len(), lists.iter().map(Vec::len).sum::<usize>());
            }
        }
    }
}
