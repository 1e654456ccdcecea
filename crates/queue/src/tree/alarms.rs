//! Times at which numbered things wake.

use alloc::boxed::Box;
use alloc::vec::Vec;

use quell_units::Time;

/// A heap of times, at most one for each number below a bound. It never allocates after it is built.
#[derive(Clone, Debug)]
pub struct Alarms {
    /// The earliest first; of the same time, the lowest number.
    heap: Vec<(Time, u32)>,
    /// The place of each number in the heap, or [`NONE`].
    places: Box<[u32]>,
}

const NONE: u32 = u32::MAX;

impl Alarms {
    /// None of the numbers below `bound` has a time.
    pub fn new(bound: usize) -> Self {
        Alarms { heap: Vec::with_capacity(bound), places: alloc::vec![NONE; bound].into() }
    }

    /// The earliest time, and whose it is.
    #[inline]
    pub fn first(&self) -> Option<(Time, u32)> {
        self.heap.first().copied()
    }

    /// The number whose time is the earliest, if that is at or before `now`. It has no time anymore.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<u32> {
        let (_, number) = self.first().filter(|(time, _)| *time <= now)?;
        self.set(number, None);
        Some(number)
    }

    /// Sets the time of a number, or takes it away.
    #[inline]
    pub fn set(&mut self, number: u32, time: Option<Time>) {
        let place = self.places[number as usize];
        match (place, time) {
            (NONE, None) => {}
            (NONE, Some(time)) => {
                self.heap.push((time, number));
                self.rise(self.heap.len() - 1);
            }
            (place, Some(time)) => {
                if self.heap[place as usize].0 != time {
                    self.heap[place as usize].0 = time;
                    self.settle(place as usize);
                }
            }
            (place, None) => {
                self.heap.swap_remove(place as usize);
                self.places[number as usize] = NONE;
                if (place as usize) < self.heap.len() {
                    self.settle(place as usize);
                }
            }
        }
    }

    fn settle(&mut self, place: usize) {
        let place = self.rise(place);
        self.sink(place);
    }

    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 && self.heap[place] < self.heap[(place - 1) / 2] {
            self.heap.swap(place, (place - 1) / 2);
            self.note(place);
            place = (place - 1) / 2;
        }
        self.note(place);
        place
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let child = match (self.heap.get(2 * place + 1), self.heap.get(2 * place + 2)) {
                (Some(left), Some(right)) if right < left => 2 * place + 2,
                (Some(_), _) => 2 * place + 1,
                (None, _) => break,
            };
            if self.heap[place] <= self.heap[child] {
                break;
            }
            self.heap.swap(place, child);
            self.note(place);
            place = child;
        }
        self.note(place);
    }

    fn note(&mut self, place: usize) {
        self.places[self.heap[place].1 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The earliest is first, after any changes.
        #[test]
        fn the_earliest_is_first(steps in prop::collection::vec((0u32..40, prop::option::of(0u64..50)), 1..300)) {
            let (mut alarms, mut times) = (Alarms::new(40), [None; 40]);
            for (number, time) in steps {
                let time = time.map(Time::from_nanos);
                alarms.set(number, time);
                times[number as usize] = time;
                let earliest = (0..40).filter_map(|n| Some((times[n as usize]?, n))).min();
                prop_assert_eq!(alarms.first(), earliest);
            }
            while let Some(number) = alarms.pop(Time::MAX) {
                prop_assert!(times[number as usize].take().is_some());
            }
            prop_assert!(times.iter().all(Option::is_none));
        }
    }
}
