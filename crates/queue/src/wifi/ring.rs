//! The turns of stations at the access point.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use quell_units::{Duration, Time};

use super::channel::AccessPoint;

/// The stations for which the access point has packets, in the order of their turns.
///
/// Turns in airtime are those of deficit round robin: a station sends while it has airtime left, and pays for each frame
/// afterward, of both directions, as in Høiland-Jørgensen et al. (2017), section 3.2, without their priority for
/// stations that have just come. Linux pays so too. As there (F. Fietkau, patches 4/7 and 7/7 of 25 June 2022 to
/// linux-wireless), a station pays for what it sends only within [`ACTIVE`] of having come into the order or having had a
/// turn that left packets, and one that owes airtime is in the order without packets until it has earned what it owes.
/// So a station that sends much does not wait long for the little that the access point has for it.
#[derive(Clone, Debug)]
pub struct Ring {
    order: VecDeque<usize>,
    /// The station is in the order, or has its turn.
    inside: Vec<bool>,
    /// The access point has packets for the station.
    waits: Vec<bool>,
    /// The number of those.
    waiting: usize,
    /// The airtime that each station has left, in nanoseconds; none where turns are frames.
    left: Vec<i64>,
    /// When the station last came into the order with packets.
    active: Vec<Time>,
    quantum: i64,
}

/// The time for which a station pays for what it sends after it came into the order: Linux's.
const ACTIVE: Duration = Duration::from_millis(100);

impl Ring {
    /// Nobody's turn, of so many stations.
    pub fn new(stations: usize, access_point: AccessPoint) -> Self {
        let quantum = match access_point {
            AccessPoint::Airtime { quantum } => signed(quantum),
            AccessPoint::One { .. } | AccessPoint::Turns => 0,
        };
        Ring {
            order: VecDeque::with_capacity(stations),
            inside: alloc::vec![false; stations],
            waits: alloc::vec![false; stations],
            waiting: 0,
            left: if quantum > 0 { alloc::vec![quantum; stations] } else { Vec::new() },
            active: alloc::vec![Time::ZERO; stations],
            quantum,
        }
    }

    /// Nobody waits for a turn.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// A station has packets.
    #[inline]
    pub fn join(&mut self, now: Time, station: usize) {
        if core::mem::replace(&mut self.waits[station], true) {
            return;
        }
        self.waiting += 1;
        if !core::mem::replace(&mut self.inside[station], true) {
            self.order.push_back(station);
            self.active[station] = now;
        }
    }

    /// The station whose turn begins; [`Ring::end_turn`] or [`Ring::leave`] ends it.
    pub fn next(&mut self) -> Option<usize> {
        while self.waiting > 0 {
            let first = self.order.pop_front()?;
            if self.owes(first) {
                self.left[first] += self.quantum;
                self.order.push_back(first);
            } else if self.waits[first] {
                return Some(first);
            } else {
                self.inside[first] = false;
            }
        }
        None
    }

    fn owes(&self, station: usize) -> bool {
        self.left.get(station).is_some_and(|left| *left <= 0)
    }

    /// A station whose turn it was has sent; `goes_on` if it has more packets.
    pub fn end_turn(&mut self, now: Time, station: usize, goes_on: bool) {
        if !goes_on {
            return self.leave(station);
        }
        self.active[station] = now;
        match self.quantum > 0 {
            true => self.order.push_front(station),
            false => self.order.push_back(station),
        }
    }

    /// A station whose turn it was has no packets.
    pub fn leave(&mut self, station: usize) {
        self.waits[station] = false;
        self.waiting -= 1;
        self.inside[station] = self.owes(station);
        if self.inside[station] {
            self.order.push_back(station);
        }
    }

    /// Nobody has packets anymore.
    pub fn clear(&mut self) {
        self.waits.fill(false);
        self.waiting = 0;
    }

    /// A frame to a station, or from it (`sends`), that ended at `now` has used airtime.
    #[inline]
    pub fn charge(&mut self, now: Time, station: usize, sends: bool, airtime: Duration) {
        if let Some(left) = self.left.get_mut(station)
            && (!sends || now <= self.active[station] + ACTIVE)
        {
            *left = left.saturating_sub(signed(airtime));
            if *left <= 0 && !core::mem::replace(&mut self.inside[station], true) {
                self.order.push_back(station);
            }
        }
    }
}

fn signed(time: Duration) -> i64 {
    i64::try_from(time.nanos()).unwrap_or(i64::MAX)
}
