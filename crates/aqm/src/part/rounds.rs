//! Deficit round robin with a list for queues that have just become active (RFC 8290 section 4.2).

use alloc::vec;
use alloc::vec::Vec;

use crate::Lanes;

/// The order in which lanes are served: in turn, a quantum of bytes at a time, those first that have just begun
/// to send.
#[derive(Clone, Debug)]
pub struct Rounds {
    slots: Vec<Slot>,
    new: List,
    old: List,
    /// Lane of the packet in transmission, if there is one.
    sending: u32,
}

/// The list of a lane, and the bytes that it may send.
#[derive(Clone, Copy, Debug)]
struct Slot {
    next: u32,
    credits: i32,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Nowhere,
    New,
    Old,
}

/// A first-in, first-out list of lanes.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

const NONE: u32 = u32::MAX;

/// Treatment of a lane that is found empty on the list of new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emptied {
    /// Moves it to the end of the old ones (RFC 8290 section 4.2), which keeps it from being new again at
    /// once.
    ToOld,
    /// There only if old ones wait for their turn; otherwise it leaves (Linux).
    ToOldBehindOthers,
    /// It leaves (CAKE).
    Leaves,
}

impl Rounds {
    /// No lane is on a list.
    pub fn new(lanes: usize) -> Self {
        let slot = Slot { next: NONE, credits: 0, place: Place::Nowhere };
        let empty = List { head: NONE, tail: NONE };
        Rounds { slots: vec![slot; lanes], new: empty, old: empty, sending: NONE }
    }

    /// Tells whether no lane is on either list.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.new.head == NONE && self.old.head == NONE
    }

    /// Number of lanes.
    pub fn lanes(&self) -> usize {
        self.slots.len()
    }

    /// A packet arrives for `lane`: a lane that is on no list becomes new, or the last of the old ones if not
    /// `new_first`, with a quantum to send.
    ///
    /// A link that fell idle with nothing waiting has found every lane empty: `emptied` is told of each.
    #[inline]
    pub fn arrive(
        &mut self,
        lane: usize,
        lanes: &Lanes<'_>,
        quantum: i32,
        new_first: bool,
        emptied: impl FnMut(usize),
    ) {
        if lanes.packets.get() == 0 && self.sending == NONE {
            self.clear(emptied);
        }
        self.inherit(lane, quantum, new_first);
    }

    /// A packet waits in `lane`, for which nothing was to be found empty.
    #[inline]
    pub fn inherit(&mut self, lane: usize, quantum: i32, new_first: bool) {
        if self.slots[lane].place == Place::Nowhere {
            self.slots[lane].credits = quantum;
            self.append(lane, if new_first { Place::New } else { Place::Old });
        }
    }

    /// `lane`, which has just been served, loses its place.
    #[inline]
    pub fn leave(&mut self, lane: usize) {
        let place = self.slots[lane].place;
        debug_assert_eq!(self.list(place).head, lane as u32, "it has just been served");
        self.take(place);
    }

    /// RFC 8290 section 4.2: the lane whose head is next. Something waits. `quantum` says what a lane may send in
    /// its turn, and `emptied` is told of those that are found empty.
    #[inline(always)]
    pub fn next(
        &mut self,
        lanes: &Lanes<'_>,
        rule: Emptied,
        mut quantum: impl FnMut(usize) -> i32,
        mut emptied: impl FnMut(usize),
    ) -> usize {
        loop {
            let lane = self.head();
            if self.slots[lane].credits <= 0 {
                self.another_turn(lane, quantum(lane));
            } else if lanes.each[lane].packets.get() > 0 {
                return lane;
            } else {
                emptied(lane);
                self.found_empty(lane, rule);
            }
        }
    }

    /// The lane whose turn it is: the first of the new ones, or of the old ones. Something is on a list.
    #[inline]
    pub fn head(&self) -> usize {
        let head = if self.new.head != NONE { self.new.head } else { self.old.head };
        debug_assert!(head != NONE, "what waits is on a list");
        head as usize
    }

    /// The [`Rounds::head`] has used up its turn: it gets another, at the end of the old ones.
    #[inline(always)]
    pub fn another_turn(&mut self, lane: usize, quantum: i32) {
        let slot = &mut self.slots[lane];
        slot.credits += quantum;
        let behind = core::mem::replace(&mut slot.next, NONE);
        if core::mem::replace(&mut slot.place, Place::Old) == Place::New {
            self.new.head = behind;
            if behind == NONE {
                self.new.tail = NONE;
            }
        } else {
            self.old.head = behind;
            if behind == NONE {
                self.old.tail = NONE;
            }
        }
        self.link_old(lane);
    }

    /// Puts a lane whose place is among the old ones at their end.
    #[inline(always)]
    fn link_old(&mut self, lane: usize) {
        let tail = core::mem::replace(&mut self.old.tail, lane as u32);
        match self.slots.get_mut(tail as usize) {
            Some(last) => last.next = lane as u32,
            None => self.old.head = lane as u32,
        }
    }

    /// Nothing waits in the [`Rounds::head`].
    #[inline]
    pub fn found_empty(&mut self, lane: usize, rule: Emptied) {
        let place = self.slots[lane].place;
        self.take(place);
        let stays = match rule {
            Emptied::ToOld => true,
            Emptied::ToOldBehindOthers => self.old.head != NONE,
            Emptied::Leaves => false,
        };
        if stays && place == Place::New {
            self.append(lane, Place::Old);
        }
    }

    /// `lane` sends so many bytes.
    #[inline]
    pub fn charge(&mut self, lane: usize, bytes: u64) {
        self.slots[lane].credits -= bytes.min(1 << 24) as i32;
        self.sending = lane as u32;
    }

    /// Nothing of `lane` waits or is in transmission any more.
    #[inline]
    pub fn idle(&mut self, lane: usize) {
        if self.sending == lane as u32 {
            self.sending = NONE;
        }
    }

    /// Bytes that `lane` may send; it has sent more than its quantum if they are negative.
    pub fn credits(&self, lane: usize) -> i32 {
        self.slots[lane].credits
    }

    /// Tells whether `lane` is on neither list.
    #[inline]
    pub fn is_off(&self, lane: usize) -> bool {
        self.slots[lane].place == Place::Nowhere
    }

    /// Tells whether `lane` is on the list of old ones.
    #[inline]
    pub fn is_old(&self, lane: usize) -> bool {
        self.slots[lane].place == Place::Old
    }

    /// Lanes on each list, the new ones first.
    pub fn counts(&self) -> (u32, u32) {
        (self.on(self.new).count() as u32, self.on(self.old).count() as u32)
    }

    /// Lanes on either list.
    pub fn active(&self) -> impl Iterator<Item = usize> + '_ {
        self.on(self.new).chain(self.on(self.old))
    }

    fn on(&self, list: List) -> impl Iterator<Item = usize> + '_ {
        let some = |lane: u32| (lane != NONE).then_some(lane as usize);
        core::iter::successors(some(list.head), move |lane| some(self.slots[*lane].next))
    }

    #[cold]
    fn clear(&mut self, mut emptied: impl FnMut(usize)) {
        for place in [Place::New, Place::Old] {
            while self.list(place).head != NONE {
                emptied(self.list(place).head as usize);
                self.take(place);
            }
        }
    }

    #[inline]
    fn list(&mut self, place: Place) -> &mut List {
        if place == Place::New { &mut self.new } else { &mut self.old }
    }

    /// Takes the first lane off a list.
    #[inline]
    fn take(&mut self, place: Place) {
        let lane = self.list(place).head;
        let next = self.slots[lane as usize].next;
        self.slots[lane as usize].place = Place::Nowhere;
        let list = self.list(place);
        list.head = next;
        if next == NONE {
            list.tail = NONE;
        }
    }

    #[inline]
    fn append(&mut self, lane: usize, place: Place) {
        let slot = &mut self.slots[lane];
        (slot.place, slot.next) = (place, NONE);
        if place == Place::Old {
            return self.link_old(lane);
        }
        let tail = core::mem::replace(&mut self.new.tail, lane as u32);
        match self.slots.get_mut(tail as usize) {
            Some(last) => last.next = lane as u32,
            None => self.new.head = lane as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueueView;
    use quell_units::{Bytes, Packets};

    /// RFC 8290 section 4.2: a queue's turn is over when it has sent at least a quantum, that is at zero credits.
    #[test]
    fn a_turn_is_over_with_the_last_byte_of_the_quantum() {
        let one =
            QueueView { packets: Packets::new(9), bytes: Bytes::new(900), head_since: None, link_rate: None };
        let lanes = Lanes { each: &[one; 2], packets: Packets::new(18), bytes: Bytes::new(1800) };
        let next = |rounds: &mut Rounds| {
            rounds.next(&lanes, Emptied::ToOld, |_| 300, |lane| panic!("{lane} is not empty"))
        };
        let mut rounds = Rounds::new(2);
        rounds.inherit(0, 300, true);
        rounds.inherit(1, 300, true);
        rounds.charge(0, 299);
        assert_eq!((next(&mut rounds), rounds.counts()), (0, (2, 0)), "one byte is left");
        rounds.charge(0, 1);
        assert_eq!((next(&mut rounds), rounds.counts()), (1, (1, 1)));
        assert_eq!((rounds.credits(0), rounds.is_old(0)), (300, true));
    }
}
