//! Periodic updates.

use quell_units::{Duration, Time};

#[cfg(feature = "catalog")]
use crate::params::{ParamError, require};

/// Calendar of an algorithm's updates, which are due at every multiple of its interval.
///
/// The next time is counted from the time the last one was due, never from the time it ran, so a
/// host that wakes late loses no update and moves none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ticker {
    due: Time,
    interval: Duration,
}

impl Ticker {
    /// Shorter intervals would make a host do nothing but updates.
    const SHORTEST: Duration = Duration::from_micros(1);
    /// Longer ones are almost certainly typos: no algorithm controls a queue once an hour.
    const LONGEST: Duration = Duration::from_secs(3600);

    /// The first update is due one interval after the start.
    ///
    /// # Errors
    /// Names `field` if the interval is shorter than a microsecond or longer than an hour.
    #[cfg(feature = "catalog")]
    pub fn new(field: &'static str, interval: Duration) -> Result<Self, ParamError> {
        require(interval >= Self::SHORTEST, field, interval, "must be at least 1 us")?;
        require(interval <= Self::LONGEST, field, interval, "must be at most 1 h")?;
        Ok(Ticker::every(interval))
    }

    /// Likewise, with an interval that is known to lie within the bounds of `new`.
    pub(crate) const fn every(interval: Duration) -> Self {
        Ticker { due: Time::from_nanos(interval.nanos()), interval }
    }

    /// Counts from `now` instead of time zero.
    pub fn on_start(&mut self, now: Time) {
        self.due = now + self.interval;
    }

    /// Time at which the next update is due.
    #[inline]
    pub fn due(&self) -> Time {
        self.due
    }

    /// The same, as algorithms answer it.
    #[inline]
    pub fn next_update(&self) -> Option<Time> {
        Some(self.due)
    }

    /// The length of one period.
    #[inline]
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Changes the length of the periods after the one that is under way, within the
    /// bounds of `new`.
    pub fn set_interval(&mut self, interval: Duration) {
        self.interval = interval.clamp(Self::SHORTEST, Self::LONGEST);
    }

    /// The update that was due has run.
    #[inline]
    pub fn advance(&mut self) {
        self.due += self.interval;
    }
}

#[cfg(all(test, feature = "catalog"))]
mod tests {
    use super::*;

    #[test]
    fn updates_fall_on_multiples_of_the_interval() {
        let mut t = Ticker::new("interval", Duration::from_millis(10)).unwrap();
        assert_eq!(t.due(), Time::from_nanos(10_000_000));
        t.advance();
        assert_eq!(t.due(), Time::from_nanos(20_000_000));
        assert_eq!(Ticker::new("interval", Duration::from_nanos(999)).unwrap_err().field, "interval");
    }
}
