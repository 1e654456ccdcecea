//! Prague (draft-briscoe-iccrg-prague-congestion-control): DCTCP for the Internet. Flows with a round-trip time of
//! less than 25 ms grow, and follow the share of marks, as if it were 25 ms; a loss is answered as by Reno.
//!
//! Left out: the slower start of that independence after a slow start, and the reaction to reordering.

use quell_units::Duration;

use super::contract::{Acked, Answer, Cause, Congestion, Delivery, InOrder, Window};
use super::dctcp::Estimate;
use super::reno;
use crate::entry::Entry;
use crate::float::seconds;
use crate::params::Config;

/// The entry in the catalog.
pub(crate) const ENTRY: Entry = Entry {
    key: "congestion",
    name: "prague",
    title: "Prague",
    summary: "DCTCP with ECT(1) for the Internet: it behaves as if no round trip took less than 25 ms.",
    source: "draft-briscoe-iccrg-prague-congestion-control",
    reads: &["slow_start", "initial_ssthresh", "growth"],
    needs: &[("ecn", &["true"]), ("feedback", &["exact", "accecn"]), ("pacing", &["true"])],
    network: "a queue on its path that marks: ecn = true in the link's table, and an algorithm other than drop-tail",
    choices: &[
        "The first mark in a window of data reduces the window by the current estimate, once in each window of data \
         over which the share of marks is measured. With independent marks, the mean window is 2.24/p. (The 2/p of RFC \
         9332 assumes a reduction in every round trip, but one in ten has no mark.) Windows of data follow each other, \
         so two reductions may come in less than a round trip. If they were counted from each reduction, as RFC 3168 \
         section 6.1.2 may be read, the mean would be (1 + sqrt(3))/p. mark_reduction has no effect.",
        "Marked packets add nothing to the window, and at least two packets are left. A loss has the same effect as in \
         Reno, even after a mark.",
        "The first mark halves the window.",
        "Independence from the round-trip time begins with the connection; in the draft it begins some time after slow \
         start.",
        "It does not react to reordering.",
    ],
    ..Entry::PLAIN
};

/// The round-trip time that shorter ones behave like.
const REFERENCE: Duration = Duration::from_millis(25);

/// Prague and its memory.
#[derive(Clone, Debug)]
pub(crate) struct Prague {
    estimate: Estimate,
    /// A packet was marked: before, nothing is known of the share.
    marked: bool,
}

impl Prague {
    pub fn new(_: &Config) -> Self {
        Prague::ignorant()
    }

    /// No packet was marked yet.
    fn ignorant() -> Self {
        Prague { estimate: Estimate::new(false, false), marked: false }
    }

    #[inline(always)]
    fn on_delivery(&mut self, window: &mut Window, d: &Delivery) -> bool {
        self.marked |= d.marked > 0;
        self.marked && self.estimate.on_delivery(window, d, REFERENCE)
    }

    /// Grows by as many packets in a second as a window of the same rate would gain in round trips of 25 ms; `srtt`
    /// is the smoothed round-trip time.
    #[inline(always)]
    fn avoid(&self, window: &mut Window, acked: f64, srtt: Duration) {
        if srtt >= REFERENCE {
            return reno::avoid(window, acked);
        }
        let share = seconds(srtt) / seconds(REFERENCE);
        window.cwnd += share * share * acked / window.cwnd;
    }
}

impl Congestion for Prague {
    #[inline(always)]
    fn grow(&mut self, window: &mut Window, acked: &Acked<'_>) {
        self.avoid(window, acked.packets, acked.srtt);
    }

    fn reduce(&mut self, window: &mut Window, cause: Cause) {
        reno::reduce(window, cause, false);
    }

    #[inline(always)]
    fn on_usual_ack(&mut self, window: &mut Window, ack: &InOrder<'_>) -> bool {
        let usual = !self.marked || self.estimate.only_counts(ack);
        if usual {
            self.avoid(window, ack.packets, ack.srtt);
        }
        usual
    }

    #[inline(always)]
    fn on_marks(&mut self, window: &mut Window, delivery: &Delivery) -> Answer {
        if self.on_delivery(window, delivery) { Answer::Reduced } else { Answer::Counted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_units::Time;

    #[test]
    fn the_first_mark_halves_the_window_however_late_it_comes() {
        let (mut p, mut w) = (Prague::ignorant(), Window { cwnd: 100.0, ssthresh: 1e6 });
        let d = |ack, marked| Delivery {
            now: Time::ZERO + Duration::from_millis(ack as u64),
            ack,
            next: ack + 100,
            delivered: 1,
            marked,
            may_reduce: true,
        };
        (2..3000).for_each(|ack| assert!(!p.on_delivery(&mut w, &d(ack, 0))));
        assert!(p.on_delivery(&mut w, &d(3000, 1)));
        assert_eq!(w, Window { cwnd: 50.0, ssthresh: 50.0 });
    }

    /// A round trip R adds a packet to the window, and 1/R to the rate: 1/R² in a second.
    #[test]
    fn below_the_reference_the_rate_grows_as_fast_as_at_it() {
        let growth = |ms: u64| {
            let (p, mut w) = (Prague::ignorant(), Window { cwnd: 100.0, ssthresh: 2.0 });
            (0..100).for_each(|_| p.avoid(&mut w, 1.0, Duration::from_millis(ms)));
            (w.cwnd - 100.0) / (ms as f64 / 1e3).powi(2)
        };
        let at = growth(25);
        assert!((at * 0.025 * 0.025 - 1.0).abs() < 0.01, "{at}");
        for ms in [1, 5, 24] {
            assert!((growth(ms) / at - 1.0).abs() < 0.01, "{ms}: {} {at}", growth(ms));
        }
        assert!((growth(100) / at * 16.0 - 1.0).abs() < 0.01);
    }
}
