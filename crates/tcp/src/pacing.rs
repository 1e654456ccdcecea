//! Pacing: packets leave one after the other at a rate, instead of all when an acknowledgment opens the window.

use quell_units::{Duration, Time};

use crate::float::duration;

/// What a sender without a rate of its own paces at, in windows a smoothed round-trip time: less than half of the
/// way to `ssthresh`, and beyond (as Linux does).
pub(crate) const SLOW_START: f64 = 2.0;
pub(crate) const AVOIDANCE: f64 = 1.2;

/// A bucket of packets that fills at the rate.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    /// In packets per second; zero while it is not known, and then nothing waits.
    rate: f64,
    /// Between packets.
    gap: Duration,
    /// Sooner than `next` packets may leave by that, after the sender was slower.
    credit: Duration,
    burst: u64,
    /// When the next packet leaves at the rate.
    next: Time,
    /// When a packet that waits may leave.
    pub wake: Time,
}

impl Pacer {
    /// At most `burst` packets leave at once.
    pub fn new(burst: u32) -> Self {
        Pacer {
            rate: 0.0,
            gap: Duration::ZERO,
            credit: Duration::ZERO,
            burst: burst as u64,
            next: Time::ZERO,
            wake: Time::MAX,
        }
    }

    /// Sets the rate in packets per second.
    #[inline]
    pub fn set_rate(&mut self, rate: f64) {
        if rate == self.rate {
            return;
        }
        self.rate = rate;
        self.gap = duration(1.0 / rate);
        if self.burst > 1 {
            self.credit = self.gap * (self.burst - 1);
        }
    }

    /// Whether a packet may leave; if not, `wake` says when.
    #[inline]
    pub fn releases(&mut self, now: Time) -> bool {
        let due = Time::ZERO + (self.next - Time::ZERO - self.credit);
        self.wake = if due <= now { Time::MAX } else { due };
        due <= now
    }

    /// At most so many packets leave, and as many as may: how many that are.
    #[inline(always)]
    pub fn release(&mut self, now: Time, most: u32) -> u32 {
        let (mut n, mut next) = (0, self.next);
        if n < most {
            let latest = now + self.credit;
            self.wake = Time::MAX;
            loop {
                if next > latest {
                    self.wake = Time::ZERO + (next - Time::ZERO - self.credit);
                    break;
                }
                next = next.max(now) + self.gap;
                n += 1;
                if n == most {
                    break;
                }
            }
            self.next = next;
        }
        n
    }

    /// A packet leaves.
    #[inline]
    pub fn sent(&mut self, now: Time) {
        self.next = self.next.max(now) + self.gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// When packets leave of which there are always some, from `from` ms on.
    fn leave(p: &mut Pacer, from: u64, count: usize) -> Vec<u64> {
        let mut now = Time::ZERO + Duration::from_millis(from);
        let mut out = Vec::new();
        while out.len() < count {
            if p.releases(now) {
                p.sent(now);
                out.push(now.nanos() / 1_000_000);
            } else {
                now = p.wake;
            }
        }
        out
    }

    #[test]
    fn packets_leave_at_the_rate_after_a_burst() {
        let mut p = Pacer::new(3);
        p.set_rate(100.0);
        assert_eq!(leave(&mut p, 50, 6), [50, 50, 50, 60, 70, 80]);
        // 15 ms without a packet are worth one more.
        assert_eq!(leave(&mut p, 105, 4), [105, 105, 110, 120]);
        assert_eq!(leave(&mut p, 1000, 4), [1000, 1000, 1000, 1010]);
    }

    #[test]
    fn a_burst_of_one_is_no_burst() {
        let mut p = Pacer::new(1);
        p.set_rate(1000.0);
        assert_eq!(leave(&mut p, 5, 4), [5, 6, 7, 8]);
        p.set_rate(100.0);
        assert_eq!(leave(&mut p, 8, 3), [9, 19, 29]);
    }

    #[test]
    fn nothing_waits_while_no_rate_is_known() {
        assert_eq!(leave(&mut Pacer::new(1), 0, 5), [0; 5]);
    }
}
