//! The turns of stations at the access point.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use quell_units::Duration;

use super::channel::AccessPoint;

/// The stations for which the access point has packets, in the order of their turns.
///
/// Turns in airtime are those of deficit round robin: a station sends while it has airtime left, and pays for each frame
/// afterward, of both directions, as in Høiland-Jørgensen et al. (2017), section 3.2, without their priority for
/// stations that have just come.
#[derive(Clone, Debug)]
pub struct Ring {
    order: VecDeque<usize>,
    /// The station is in the order, or has its turn.
    inside: Vec<bool>,
    /// The airtime that each station has left, in nanoseconds; none where turns are frames.
    left: Vec<i64>,
    quantum: i64,
}

/// The most that a station owes: it may send much while the access point has nothing for it.
const MOST_OWED: i64 = 100_000_000;

impl Ring {
    /// Nobody's turn, of so many stations.
    pub fn new(stations: usize, access_point: AccessPoint) -> Self {
        let quantum = match access_point {
            AccessPoint::Airtime { quantum } => signed(quantum),
            AccessPoint::One { .. } | AccessPoint::Turns => 0,
        };
        let left = if quantum > 0 { alloc::vec![quantum; stations] } else { Vec::new() };
        Ring { order: VecDeque::with_capacity(stations), inside: alloc::vec![false; stations], left, quantum }
    }

    /// Nobody waits for a turn.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// A station has packets.
    #[inline]
    pub fn join(&mut self, station: usize) {
        if !core::mem::replace(&mut self.inside[station], true) {
            self.order.push_back(station);
        }
    }

    /// The station whose turn begins; [`Ring::end_turn`] or [`Ring::leave`] ends it.
    pub fn next(&mut self) -> Option<usize> {
        if self.quantum > 0 {
            while let Some(first) = self.order.front().copied().filter(|first| self.left[*first] <= 0) {
                self.left[first] += self.quantum;
                self.order.rotate_left(1);
            }
        }
        self.order.pop_front()
    }

    /// A station whose turn it was has sent; `goes_on` if it has more packets.
    pub fn end_turn(&mut self, station: usize, goes_on: bool) {
        match goes_on {
            false => self.leave(station),
            true if self.quantum > 0 => self.order.push_front(station),
            true => self.order.push_back(station),
        }
    }

    /// A station whose turn it was has no packets.
    pub fn leave(&mut self, station: usize) {
        self.inside[station] = false;
    }

    /// A station has used airtime.
    #[inline]
    pub fn charge(&mut self, station: usize, airtime: Duration) {
        if let Some(left) = self.left.get_mut(station) {
            *left = left.saturating_sub(signed(airtime)).max(-MOST_OWED);
        }
    }
}

fn signed(time: Duration) -> i64 {
    i64::try_from(time.nanos()).unwrap_or(i64::MAX)
}
