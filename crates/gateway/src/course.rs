//! The course of a path: its rate, its delays and its wire change at times that are known before.

use quell_units::{BitRate, Duration, Time};

/// A change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The line has this rate from then on; the packet in transmission keeps its own. At a rate of zero nothing is
    /// sent, and the algorithm keeps the rate that it knew.
    Rate(BitRate),
    /// Packets with this [`Packet::tag`](crate::Packet::tag) whose transmission begins from then on have this delay.
    Delay(u16, Duration),
    /// The wire behind the line loses packets whose transmission begins from then on with this probability.
    Loss(f64),
    /// The wire itself has this delay, which bounds its jitter. [`Change::Delay`] changes that of packets.
    Wire(Duration),
}

/// The changes of a path; by default none.
///
/// Changes happen at their own times, however late the relay wakes: departures before them are those of the old rate. So
/// a simulation that has the same changes decides the same.
#[derive(Clone, Debug)]
pub struct Course {
    /// Changes in the order of time.
    changes: Vec<(Time, Change)>,
    /// The number of changes that have happened.
    done: usize,
    /// The time of the next one.
    next: Time,
}

impl Default for Course {
    fn default() -> Self {
        Course { changes: Vec::new(), done: 0, next: Time::MAX }
    }
}

impl Course {
    /// Changes at times of the relay's clock; those of one time happen in the order in which they are here.
    pub fn new(mut changes: Vec<(Time, Change)>) -> Self {
        changes.sort_by_key(|(time, _)| *time);
        let next = changes.first().map_or(Time::MAX, |c| c.0);
        Course { changes, done: 0, next }
    }

    /// The time of the next change; [`Time::MAX`] if none is left.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Takes the next change.
    pub(crate) fn take(&mut self) -> Option<(Time, Change)> {
        let change = self.changes.get(self.done).copied()?;
        self.done += 1;
        self.next = self.changes.get(self.done).map_or(Time::MAX, |c| c.0);
        Some(change)
    }

    /// The highest of its rates and `rate`.
    pub(crate) fn fastest(&self, rate: BitRate) -> BitRate {
        let rates = self.changes.iter().filter_map(|(_, change)| match change {
            Change::Rate(rate) => Some(*rate),
            _ => None,
        });
        rates.fold(rate, |most, rate| if rate.bps() > most.bps() { rate } else { most })
    }

    /// The longest of its delays and `delay`.
    pub(crate) fn longest(&self, delay: Duration) -> Duration {
        let delays = self.changes.iter().filter_map(|(_, change)| match change {
            Change::Delay(_, delay) => Some(*delay),
            _ => None,
        });
        delays.fold(delay, Duration::max)
    }
}
