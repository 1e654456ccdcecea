//! The measurements of one path while it runs, without allocation.

use hdrhistogram::Histogram;
use quell_queue::{Counters, Tally};
use quell_units::Duration;

/// Delays, lateness and what was sent. Counts of the queue are its own ([`Counters`]).
#[derive(Clone, Debug)]
pub struct Meter {
    /// Delays from arrival to the start of transmission, in nanoseconds.
    pub delay: Histogram<u64>,
    /// The sum of these delays, for an exact mean.
    pub delay_sum_ns: u128,
    /// Times from the end of a packet's way to its release, in nanoseconds.
    pub lateness: Histogram<u64>,
    /// Packets and bytes that were sent.
    pub sent: Tally,
    /// Packets among them that the wire behind the line lost ([`BehindConfig`](crate::BehindConfig)).
    pub lost: u64,
    /// Packets among them of which it made a copy.
    pub copied: u64,
    /// The queue's counters at the end.
    pub counters: Counters,
}

/// Delays beyond this count as this.
const LONGEST_NS: u64 = 1_000_000_000_000;

impl Meter {
    /// Nothing measured yet.
    pub fn new() -> Self {
        // Two digits: a snapshot is a copy.
        let empty =
            Histogram::new_with_bounds(1, LONGEST_NS, 2).expect("the bounds are what the library allows");
        Meter {
            delay: empty.clone(),
            delay_sum_ns: 0,
            lateness: empty,
            sent: Tally::default(),
            lost: 0,
            copied: 0,
            counters: Counters::default(),
        }
    }

    #[inline]
    pub(crate) fn sent(&mut self, delay: Duration, bytes: u64) {
        self.delay.saturating_record(delay.nanos().max(1));
        self.delay_sum_ns += u128::from(delay.nanos());
        self.sent.packets += 1;
        self.sent.bytes += bytes;
    }

    #[inline]
    pub(crate) fn late(&mut self, lateness: Duration) {
        self.lateness.saturating_record(lateness.nanos().max(1));
    }

    /// The mean delay in seconds; `None` if nothing was sent.
    pub fn mean_delay_s(&self) -> Option<f64> {
        (self.sent.packets > 0).then(|| self.delay_sum_ns as f64 / self.sent.packets as f64 / 1e9)
    }

    /// The 99th percentile of the delays in seconds; `None` if nothing was sent.
    pub fn delay_p99_s(&self) -> Option<f64> {
        p99_s(&self.delay)
    }

    /// The 99th percentile of the lateness in seconds; `None` if nothing was let go.
    pub fn lateness_p99_s(&self) -> Option<f64> {
        p99_s(&self.lateness)
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.delay.reset();
        self.lateness.reset();
        self.delay_sum_ns = 0;
        self.sent = Tally::default();
        (self.lost, self.copied) = (0, 0);
    }
}

fn p99_s(times: &Histogram<u64>) -> Option<f64> {
    (!times.is_empty()).then(|| times.value_at_quantile(0.99) as f64 / 1e9)
}

impl Default for Meter {
    fn default() -> Self {
        Meter::new()
    }
}
