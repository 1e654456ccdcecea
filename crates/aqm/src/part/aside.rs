//! Lanes that are empty and not yet forgotten.

use alloc::vec;
use alloc::vec::Vec;

/// A first-in, first-out list of lanes from whose middle lanes can be taken.
#[derive(Clone, Debug)]
pub struct Aside {
    /// The neighbors of each lane that is on it, and of the list's ends, which are each other's behind the last lane.
    links: Vec<Links>,
}

#[derive(Clone, Copy, Debug)]
struct Links {
    before: u32,
    after: u32,
}

/// A lane that is not on the list.
const OFF: Links = Links { before: u32::MAX, after: u32::MAX };

impl Aside {
    /// An empty list for so many lanes.
    pub fn new(lanes: usize) -> Self {
        let mut links = vec![OFF; lanes + 1];
        links[lanes] = Links { before: lanes as u32, after: lanes as u32 };
        Aside { links }
    }

    fn ends(&self) -> usize {
        self.links.len() - 1
    }

    /// The lane that has been on it for longest.
    #[inline]
    pub fn head(&self) -> Option<usize> {
        let head = self.links[self.ends()].after as usize;
        (head != self.ends()).then_some(head)
    }

    /// Tells whether `lane` is on it.
    #[inline]
    pub fn has(&self, lane: usize) -> bool {
        self.links[lane].after != OFF.after
    }

    /// Puts `lane` at its end, whether it is on it or not.
    #[inline]
    pub fn put(&mut self, lane: usize) {
        self.take(lane);
        let ends = self.ends();
        let last = core::mem::replace(&mut self.links[ends].before, lane as u32);
        self.links[last as usize].after = lane as u32;
        self.links[lane] = Links { before: last, after: ends as u32 };
    }

    /// Takes `lane` off it, if it is on it.
    #[inline]
    pub fn take(&mut self, lane: usize) {
        if self.has(lane) {
            let Links { before, after } = core::mem::replace(&mut self.links[lane], OFF);
            self.links[before as usize].after = after;
            self.links[after as usize].before = before;
        }
    }

    /// Its lanes, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        core::iter::successors(self.head(), |lane| {
            let next = self.links[*lane].after as usize;
            (next != self.ends()).then_some(next)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_come_in_order_and_leave_from_anywhere() {
        let mut list = Aside::new(5);
        assert_eq!(list.head(), None);
        [3, 1, 4].into_iter().for_each(|lane| list.put(lane));
        assert_eq!(list.iter().collect::<Vec<_>>(), [3, 1, 4]);
        list.take(1);
        list.take(1);
        assert_eq!((list.has(1), list.has(4)), (false, true));
        list.put(3);
        assert_eq!(list.iter().collect::<Vec<_>>(), [4, 3]);
        [4, 3].into_iter().for_each(|lane| list.take(lane));
        assert_eq!(list.head(), None);
    }
}
