//! Reno (RFC 5681): a packet more each round trip, half the window after a loss.
//!
//! `ssthresh` comes from the congestion window, not the flight size; see [`Sender`](crate::Sender).

use super::contract::{Acked, Cause, Congestion, InOrder, Window};
use crate::choices::Growth;
use crate::entry::Entry;
use crate::params::Config;

/// The entry in the catalog.
pub(crate) const ENTRY: Entry = Entry {
    key: "congestion",
    name: "reno",
    title: "Reno",
    summary: "The window grows by one packet per round trip and halves after a loss or a mark.",
    source: "RFC 5681",
    reads: &["slow_start", "initial_ssthresh", "growth", "whole_reductions", "rules"],
    choices: &[
        "It reduces the congestion window, or max_window if that is smaller; RFC 5681 reduces the flight size. An \
         unused window still grows, as in ns-2, but not with prr, rack, pacing or counted marks (RFC 9002 section \
         7.8).",
        "The slow-start threshold is a whole number of packets, at least two. Every timeout lowers it, except with prr \
         and rack (see there).",
        "A mark reduces the window as a loss does. With a window of one packet, it holds the sender until its timer \
         expires (RFC 3168 section 6.1.2), and further marks double the timer. With mark_reduction = \"proportional\", \
         two packets are left, as in Linux.",
    ],
    ..Entry::PLAIN
};

/// Reno, which remembers nothing.
#[derive(Clone, Debug)]
pub(crate) struct Reno {
    /// Growth counts whole packets.
    whole: bool,
    /// Reductions leave whole packets.
    whole_reductions: bool,
}

impl Reno {
    pub fn new(cfg: &Config) -> Self {
        Reno { whole: cfg.growth == Growth::WholePackets, whole_reductions: cfg.whole_reductions }
    }
}

impl Congestion for Reno {
    #[inline(always)]
    fn grow(&mut self, window: &mut Window, acked: &Acked<'_>) {
        grow(window, acked.packets, self.whole);
    }

    fn reduce(&mut self, window: &mut Window, cause: Cause) {
        reduce(window, cause, self.whole_reductions);
    }

    #[inline(always)]
    fn on_usual_ack(&mut self, window: &mut Window, ack: &InOrder<'_>) -> bool {
        if !self.whole {
            avoid(window, ack.packets);
        }
        !self.whole
    }
}

/// RFC 5681 eq. 3, in whole packets or not.
#[inline(always)]
pub(crate) fn grow(window: &mut Window, acked: f64, whole: bool) {
    if whole { window.rarely(|w| count(w, acked)) } else { avoid(window, acked) }
}

/// RFC 5681 eq. 3: a window of acknowledged packets adds one.
#[inline(always)]
pub(crate) fn avoid(window: &mut Window, acked: f64) {
    window.cwnd += acked / window.cwnd;
}

/// Eq. 3 in whole packets: the fraction of the window is how many of it have been acknowledged.
fn count(window: &mut Window, acked: f64) {
    let w = libm::floor(window.cwnd).max(1.0);
    let counted = libm::rint((window.cwnd - w) * w) + acked;
    let more = libm::floor(counted / w);
    window.cwnd = w + more + (counted - more * w) / (w + more);
}

/// RFC 5681 eq. 4. The threshold is whole; the window is, too, with `whole`, and may then be none.
pub(crate) fn reduce(window: &mut Window, cause: Cause, whole: bool) {
    let half = window.cwnd / 2.0;
    window.ssthresh = libm::floor(half).max(2.0);
    if cause != Cause::Timeout {
        window.cwnd = if whole { libm::floor(half) } else { half };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 3 packets to 6: 3 + 4 + 5 acknowledged ones; where each adds 1/w to a fraction, 14.
    #[test]
    fn whole_packets_grow_with_every_window_of_them() {
        let packets = |grow: fn(&mut Window, f64), to: f64| {
            let mut window = Window { cwnd: 3.0, ssthresh: 2.0 };
            (1..).find(|_| {
                grow(&mut window, 1.0);
                window.cwnd >= to
            })
        };
        assert_eq!(packets(count, 6.0), Some(12));
        assert_eq!(packets(avoid, 6.0), Some(14));
        assert_eq!(packets(count, 300.0), Some((3..300).sum()));
    }

    /// As in ns-2 until January 2006 (slowdown() in tcp.cc, without precisionReduce_).
    #[test]
    fn whole_reductions_round_down_to_nothing() {
        let reduced = |cwnd: f64, cause: Cause, whole: bool| {
            let mut window = Window { cwnd, ssthresh: 20.0 };
            reduce(&mut window, cause, whole);
            (window.cwnd, window.ssthresh)
        };
        assert_eq!(reduced(5.9, Cause::Echo, false), (2.95, 2.0));
        assert_eq!(reduced(5.9, Cause::Echo, true), (2.0, 2.0));
        assert_eq!(reduced(7.9, Cause::Loss, true), (3.0, 3.0));
        assert_eq!(reduced(1.9, Cause::Loss, true), (0.0, 2.0));
        assert_eq!(reduced(9.0, Cause::Timeout, true), (9.0, 4.0));
    }

    #[test]
    fn whole_packets_may_be_acknowledged_together() {
        let mut window = Window { cwnd: 5.0, ssthresh: 2.0 };
        (0..2).for_each(|_| count(&mut window, 2.0));
        assert_eq!(libm::floor(window.cwnd), 5.0);
        // The sixth is the first of the window of six.
        count(&mut window, 2.0);
        assert_eq!(libm::rint(window.cwnd * 6.0), 37.0);
        count(&mut window, 12.0);
        assert_eq!(libm::floor(window.cwnd), 8.0);
    }
}
