//! DCTCP (RFC 8257): the window is reduced by half the share of packets that are marked, and grows as Reno's.

use quell_units::{Duration, Time};

use super::{Delivery, Window};
use crate::catalog::Entry;

/// What a user may read about it.
pub(crate) const ENTRY: Entry = Entry {
    key: "congestion",
    name: "dctcp",
    title: "DCTCP",
    summary: "The share of packets that are marked reduces the window; it grows as Reno's.",
    source: "RFC 8257",
    reads: &["slow_start", "initial_ssthresh", "growth"],
    needs: &[("ecn", &["true"]), ("feedback", &["exact", "accecn"])],
    refuses: &[],
    network: "a queue on its way that gives marks: ecn = true in the link's table, and an algorithm other than drop-tail",
    choices: &[
        "The window is reduced with the first mark of a window of data, by the estimate that there is then, and once in each window of data over which the share of marks is measured. With marks that are independent of each other the mean window is 2.24/p: the 2/p of RFC 9332 has a reduction in every round trip, and one in ten has no mark. Windows of data follow each other: two reductions may come in less than a round trip. Counted from each reduction, as RFC 3168 section 6.1.2 may be read and as Linux does, it would be (1 + sqrt(3))/p.",
        "Marked packets add nothing to the window, and at least two packets are left. A loss is answered as by Reno even where a mark has been.",
        "In slow start the estimate falls with every window without marks, as section 3.3 says.",
    ],
};

/// g: how much a window of data changes the estimate (RFC 8257 section 4.2).
pub(crate) const GAIN: f64 = 1.0 / 16.0;
/// What a mark leaves at least, in packets: a sender with less would have to wait for its timer (RFC 3168 section
/// 6.1.2).
const LEAST: f64 = 2.0;

/// What is known of the share of marked packets.
#[derive(Clone, Debug)]
pub(crate) struct Estimate {
    /// DCTCP.Alpha.
    alpha: f64,
    /// DCTCP.WindowEnd: the window of data ends with an acknowledgment beyond this packet, and not before `until`.
    end: u32,
    until: Time,
    delivered: u32,
    marked: u32,
    /// A mark has reduced the window in this window of data.
    reduced: bool,
}

impl Estimate {
    /// Nothing is known: the first mark halves the window.
    pub fn new() -> Self {
        Estimate { alpha: 1.0, end: 1, until: Time::ZERO, delivered: 0, marked: 0, reduced: false }
    }

    /// RFC 8257 section 3.3: the first mark in a window of data reduces the window, and its end moves the estimate.
    /// A window of data takes `span` at least. True if the window was reduced.
    pub fn on_delivery(&mut self, window: &mut Window, d: Delivery, span: Duration) -> bool {
        self.delivered += d.delivered;
        self.marked += d.marked;
        let reduces = d.marked > 0 && d.may_reduce && !self.reduced;
        if reduces {
            self.reduced = true;
            window.cwnd = (window.cwnd * (1.0 - self.alpha / 2.0)).max(LEAST.min(window.cwnd));
            window.ssthresh = window.cwnd;
        }
        if d.ack > self.end && d.now >= self.until {
            let share = f64::from(self.marked) / f64::from(self.delivered.max(self.marked).max(1));
            self.alpha += GAIN * (share - self.alpha);
            (self.end, self.until) = (d.next, d.now + span);
            (self.delivered, self.marked, self.reduced) = (0, 0, false);
        }
        reduces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn delivery(ack: u32, marked: u32) -> Delivery {
        Delivery { now: at(ack as u64), ack, next: ack + 10, delivered: 1, marked, may_reduce: true }
    }

    #[test]
    fn alpha_is_the_moving_average_of_the_share_of_marks() {
        let (mut e, mut w) = (Estimate::new(), Window { cwnd: 1e6, ssthresh: 1e6 });
        let mut alpha = 1.0;
        for _ in 0..100 {
            for i in 0..10 {
                e.on_delivery(&mut w, delivery(e.end, (i < 3) as u32), Duration::ZERO);
            }
            assert_eq!(e.alpha, alpha, "only the end of a window of data moves it");
            e.on_delivery(&mut w, delivery(e.end + 1, 0), Duration::ZERO);
            alpha += (3.0 / 11.0 - alpha) / 16.0;
            assert!((e.alpha - alpha).abs() < 1e-12);
        }
        assert!((alpha - 3.0 / 11.0).abs() < 0.01);
    }

    #[test]
    fn the_window_is_reduced_once_in_a_window_of_data_by_half_of_alpha() {
        let (mut e, mut w) = (Estimate::new(), Window { cwnd: 100.0, ssthresh: 500.0 });
        (e.alpha, e.end) = (0.5, 20);
        assert!(!e.on_delivery(&mut w, delivery(18, 0), Duration::ZERO));
        assert!(e.on_delivery(&mut w, delivery(19, 1), Duration::ZERO));
        assert_eq!(w, Window { cwnd: 75.0, ssthresh: 75.0 });
        assert!(!e.on_delivery(&mut w, delivery(20, 1), Duration::ZERO));
        // The mark that ends a window of data belongs to it.
        assert!(!e.on_delivery(&mut w, delivery(21, 1), Duration::ZERO));
        assert!((e.alpha - (0.5 + (0.75 - 0.5) / 16.0)).abs() < 1e-12);
        assert!(e.on_delivery(&mut w, delivery(22, 1), Duration::ZERO));
    }

    #[test]
    fn a_window_of_data_may_have_a_shortest_time() {
        let (mut e, mut w) = (Estimate::new(), Window { cwnd: 100.0, ssthresh: 500.0 });
        let span = Duration::from_millis(25);
        let reduced = (2..102).filter(|ack| {
            // A round trip takes 10 ms, the whole 100 ms.
            e.on_delivery(&mut w, delivery(*ack, 1), span)
        });
        assert_eq!(reduced.count(), 5);
    }

    #[test]
    fn a_small_window_is_left_two_packets_and_a_smaller_one_is_left_alone() {
        for (cwnd, left) in [(3.0, 2.0), (1.5, 1.5)] {
            let mut w = Window { cwnd, ssthresh: 9.0 };
            let d = Delivery { now: at(0), ack: 2, next: 4, delivered: 1, marked: 1, may_reduce: true };
            assert!(Estimate::new().on_delivery(&mut w, d, Duration::ZERO));
            assert_eq!(w.cwnd, left);
        }
    }

    #[test]
    fn during_a_recovery_marks_only_count() {
        let (mut e, mut w) = (Estimate::new(), Window { cwnd: 50.0, ssthresh: 50.0 });
        let d = Delivery { now: at(0), ack: 1, next: 60, delivered: 1, marked: 1, may_reduce: false };
        assert!(!e.on_delivery(&mut w, d, Duration::ZERO));
        assert_eq!((w.cwnd, e.marked), (50.0, 1));
    }
}
