//! DCTCP (RFC 8257): the window is reduced by half the share of packets that are marked, and grows as Reno's.

use quell_units::{Duration, Time};

use super::contract::{Acked, Answer, Cause, Congestion, Delivery, InOrder, Window};
use super::reno;
use crate::choices::Growth;
use crate::entry::Entry;
use crate::params::Config;

/// The entry in the catalog.
pub(crate) const ENTRY: Entry = Entry {
    key: "congestion",
    name: "dctcp",
    title: "DCTCP",
    summary: "The share of marked packets reduces the window, which grows like Reno's.",
    source: "RFC 8257",
    reads: &["slow_start", "initial_ssthresh", "growth"],
    needs: &[("ecn", &["true"]), ("feedback", &["exact", "accecn"])],
    network: "a queue on its path that marks: ecn = true in the link's table, and an algorithm other than drop-tail",
    choices: &[
        "The first mark in a window of data reduces the window by the current estimate, once in each window of data \
         over which the share of marks is measured. With independent marks, the mean window is 2.24/p. (The 2/p of RFC \
         9332 assumes a reduction in every round trip, but one in ten has no mark.) Windows of data follow each other, \
         so two reductions may come in less than a round trip. If they were counted from each reduction, as RFC 3168 \
         section 6.1.2 may be read, the mean would be (1 + sqrt(3))/p.",
        "With mark_reduction = \"proportional\", a reduction takes the round trip after the mark. In it, the window \
         does not grow and further marks only count; the next mark after it acts at once. The first packet sent in it \
         carries CWR and is acknowledged at once, so in a window of two the other packet waits for the delayed \
         acknowledgment. The estimate is updated before it is used for a mark.",
        "Marked packets add nothing to the window, and at least two packets are left. A loss has the same effect as in \
         Reno, even after a mark.",
        "In slow start, the estimate falls with every window without marks, as section 3.3 says.",
    ],
    ..Entry::PLAIN
};

/// g: how much a window of data changes the estimate (RFC 8257 section 4.2).
pub(crate) const GAIN: f64 = 1.0 / 16.0;
/// The parts in which the estimate is a whole number.
const PARTS: u32 = 1024;
/// The packets that a mark leaves at least: a sender with less would have to wait for its timer (RFC 3168 section
/// 6.1.2).
const LEAST: f64 = 2.0;

/// DCTCP, which remembers its estimate.
#[derive(Clone, Debug)]
pub(crate) struct Dctcp(Estimate);

impl Dctcp {
    pub fn new(cfg: &Config) -> Self {
        Dctcp(Estimate::new(cfg.growth == Growth::WholePackets, cfg.gradual()))
    }
}

impl Congestion for Dctcp {
    #[inline(always)]
    fn grow(&mut self, window: &mut Window, acked: &Acked<'_>) {
        reno::grow(window, acked.packets, self.0.whole);
    }

    /// Reduces it as Reno, for what is not a mark (RFC 8257 section 3.5).
    fn reduce(&mut self, window: &mut Window, cause: Cause) {
        reno::reduce(window, cause, false);
    }

    #[inline(always)]
    fn on_usual_ack(&mut self, window: &mut Window, ack: &InOrder<'_>) -> bool {
        let usual = !self.0.whole && self.0.only_counts(ack);
        if usual {
            reno::avoid(window, ack.packets);
        }
        usual
    }

    #[inline(always)]
    fn on_marks(&mut self, window: &mut Window, delivery: &Delivery) -> Answer {
        let reduced = self.0.on_delivery(window, delivery, Duration::ZERO);
        if reduced { Answer::Reduced } else { Answer::Counted }
    }
}

/// The estimate of the share of marked packets.
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
    /// The estimate and what it takes from the window are whole numbers: of [`PARTS`], and of packets.
    whole: bool,
    /// A reduction takes a round trip, after which the next mark is answered: the sender says when one may be. Else
    /// one is answered in a window of data.
    gradual: bool,
}

impl Estimate {
    /// Nothing is known: the first mark halves the window.
    pub fn new(whole: bool, gradual: bool) -> Self {
        Estimate {
            alpha: 1.0,
            end: 1,
            until: Time::ZERO,
            delivered: 0,
            marked: 0,
            reduced: false,
            whole,
            gradual,
        }
    }

    /// RFC 8257 section 3.3: the first mark in a window of data reduces the window, and its end moves the estimate.
    /// A window of data takes `span` at least. True if the window was reduced.
    #[inline(always)]
    pub fn on_delivery(&mut self, window: &mut Window, d: &Delivery, span: Duration) -> bool {
        self.delivered += d.delivered;
        self.marked += d.marked;
        if self.gradual {
            if d.ack >= self.end && d.now >= self.until {
                self.renew(d.next, d.now + span);
            }
            let reduces = d.marked > 0 && d.may_reduce;
            if reduces {
                self.reduce(window);
            }
            return reduces;
        }
        let reduces = d.marked > 0 && d.may_reduce && !self.reduced;
        if reduces {
            self.reduced = true;
            self.reduce(window);
        }
        if d.ack > self.end && d.now >= self.until {
            self.renew(d.next, d.now + span);
        }
        reduces
    }

    /// Counts packets that have arrived without marks, if [`Estimate::on_delivery`] does no more; else nothing changes.
    #[inline(always)]
    pub fn only_counts(&mut self, ack: &InOrder<'_>) -> bool {
        let over = if self.gradual { ack.ack >= self.end } else { ack.ack > self.end };
        let counts = !over || ack.now < self.until;
        self.delivered += if counts { ack.newly } else { 0 };
        counts
    }

    /// The window falls by half of the estimate.
    #[inline(never)]
    fn reduce(&self, window: &mut Window) {
        let left = if self.whole {
            let cwnd = libm::floor(window.cwnd);
            cwnd - libm::floor(cwnd * self.alpha / 2.0)
        } else {
            window.cwnd * (1.0 - self.alpha / 2.0)
        };
        window.cwnd = left.max(LEAST.min(window.cwnd));
        window.ssthresh = window.cwnd;
    }

    /// A window of data has ended: the estimate moves, and the next one begins, with `end` and `until`.
    #[inline(never)]
    fn renew(&mut self, end: u32, until: Time) {
        let of = self.delivered.max(self.marked).max(1);
        self.alpha = if self.whole {
            f64::from(moved((self.alpha * f64::from(PARTS)) as u32, self.marked, of)) / f64::from(PARTS)
        } else {
            self.alpha + GAIN * (f64::from(self.marked) / f64::from(of) - self.alpha)
        };
        (self.end, self.until) = (end, until);
        (self.delivered, self.marked, self.reduced) = (0, 0, false);
    }
}

/// RFC 8257 section 3.3 step 5 in whole 1024ths, each division rounded down (Linux): an estimate of less than 16 falls
/// to nothing.
fn moved(alpha: u32, marked: u32, of: u32) -> u32 {
    let kept = if alpha < 16 { 0 } else { alpha - alpha / 16 };
    (kept + (u64::from(marked) * 64 / u64::from(of)) as u32).min(PARTS)
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
        let (mut e, mut w) = (Estimate::new(false, false), Window { cwnd: 1e6, ssthresh: 1e6 });
        let mut alpha = 1.0;
        for _ in 0..100 {
            for i in 0..10 {
                e.on_delivery(&mut w, &delivery(e.end, (i < 3) as u32), Duration::ZERO);
            }
            assert_eq!(e.alpha, alpha, "only the end of a window of data moves it");
            e.on_delivery(&mut w, &delivery(e.end + 1, 0), Duration::ZERO);
            alpha += (3.0 / 11.0 - alpha) / 16.0;
            assert!((e.alpha - alpha).abs() < 1e-12);
        }
        assert!((alpha - 3.0 / 11.0).abs() < 0.01);
    }

    #[test]
    fn the_window_is_reduced_once_in_a_window_of_data_by_half_of_alpha() {
        let (mut e, mut w) = (Estimate::new(false, false), Window { cwnd: 100.0, ssthresh: 500.0 });
        (e.alpha, e.end) = (0.5, 20);
        assert!(!e.on_delivery(&mut w, &delivery(18, 0), Duration::ZERO));
        assert!(e.on_delivery(&mut w, &delivery(19, 1), Duration::ZERO));
        assert_eq!(w, Window { cwnd: 75.0, ssthresh: 75.0 });
        assert!(!e.on_delivery(&mut w, &delivery(20, 1), Duration::ZERO));
        // The mark that ends a window of data belongs to it.
        assert!(!e.on_delivery(&mut w, &delivery(21, 1), Duration::ZERO));
        assert!((e.alpha - (0.5 + (0.75 - 0.5) / 16.0)).abs() < 1e-12);
        assert!(e.on_delivery(&mut w, &delivery(22, 1), Duration::ZERO));
    }

    /// 1024ths: 1024 - 64 + 64 x 3/10, and so on; 15 of them are nothing.
    #[test]
    fn the_estimate_may_be_a_whole_number() {
        assert_eq!([moved(1024, 0, 10), moved(1024, 3, 10), moved(1024, 10, 10)], [960, 979, 1024]);
        assert_eq!([moved(16, 0, 1), moved(15, 0, 1), moved(0, 1, 65), moved(0, 1, 64)], [15, 0, 0, 1]);
        let mut e = Estimate::new(true, false);
        for (alpha, cwnd, left) in [(0.15, 10.0, 10.0), (0.2, 10.9, 9.0), (1.0, 9.0, 5.0), (1.0, 3.0, 2.0)] {
            let mut w = Window { cwnd, ssthresh: 99.0 };
            (e.alpha, e.reduced) = (alpha, false);
            assert!(e.on_delivery(&mut w, &delivery(0, 1), Duration::ZERO));
            assert_eq!((w.cwnd, w.ssthresh), (left, left));
        }
    }

    #[test]
    fn where_a_reduction_takes_a_round_trip_the_sender_says_when_the_next_may_be() {
        let (mut e, mut w) = (Estimate::new(true, true), Window { cwnd: 100.0, ssthresh: 500.0 });
        e.end = 50;
        assert!(e.on_delivery(&mut w, &delivery(10, 1), Duration::ZERO));
        assert!(!e.on_delivery(&mut w, &Delivery { may_reduce: false, ..delivery(11, 1) }, Duration::ZERO));
        assert_eq!((w.cwnd, e.marked), (50.0, 2));
        assert!(e.on_delivery(&mut w, &delivery(12, 1), Duration::ZERO));
        // The acknowledgment that ends a window of data moves the estimate first.
        e.on_delivery(&mut w, &delivery(49, 0), Duration::ZERO);
        assert_eq!((e.alpha, e.delivered), (1.0, 4));
        w.cwnd = 100.0;
        assert!(e.on_delivery(&mut w, &delivery(50, 1), Duration::ZERO));
        assert_eq!((e.alpha, w.cwnd), (1011.0 / 1024.0, 51.0));
    }

    #[test]
    fn a_window_of_data_may_have_a_shortest_time() {
        let (mut e, mut w) = (Estimate::new(false, false), Window { cwnd: 100.0, ssthresh: 500.0 });
        let span = Duration::from_millis(25);
        let reduced = (2..102).filter(|ack| {
            // A round trip takes 10 ms, the whole 100 ms.
            e.on_delivery(&mut w, &delivery(*ack, 1), span)
        });
        assert_eq!(reduced.count(), 5);
    }

    #[test]
    fn a_small_window_is_left_two_packets_and_a_smaller_one_is_left_alone() {
        for (cwnd, left) in [(3.0, 2.0), (1.5, 1.5)] {
            let mut w = Window { cwnd, ssthresh: 9.0 };
            let d = Delivery { now: at(0), ack: 2, next: 4, delivered: 1, marked: 1, may_reduce: true };
            assert!(Estimate::new(false, false).on_delivery(&mut w, &d, Duration::ZERO));
            assert_eq!(w.cwnd, left);
        }
    }

    #[test]
    fn during_a_recovery_marks_only_count() {
        let (mut e, mut w) = (Estimate::new(false, false), Window { cwnd: 50.0, ssthresh: 50.0 });
        let d = Delivery { now: at(0), ack: 1, next: 60, delivered: 1, marked: 1, may_reduce: false };
        assert!(!e.on_delivery(&mut w, &d, Duration::ZERO));
        assert_eq!((w.cwnd, e.marked), (50.0, 1));
    }
}
