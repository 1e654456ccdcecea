//! Reno (RFC 5681): a packet more each round trip, half the window after a loss.
//!
//! `ssthresh` comes from the congestion window, not the flight size; see [`Sender`](crate::Sender).

use super::{Cause, Window};
use crate::catalog::Entry;

/// What a user may read about it.
pub(crate) const ENTRY: Entry = Entry {
    key: "congestion",
    name: "reno",
    title: "Reno",
    summary: "A packet more each round trip, half the window after a loss or a mark.",
    source: "RFC 5681",
    reads: &["slow_start", "initial_ssthresh", "growth"],
    needs: &[],
    refuses: &[],
    network: "",
    choices: &[
        "The window that is reduced is the congestion window; RFC 5681 takes the flight size. A window that is not used grows all the same, as in ns-2.",
        "The threshold of slow start is a whole number of packets, at least two; every timeout lowers it.",
        "A mark reduces the window as a loss does, and on a window of one packet holds the sender until its timer (RFC 3168 section 6.1.2); further marks there double the timer.",
    ],
};

/// RFC 5681 eq. 3: a window of acknowledged packets adds one.
#[inline]
pub(crate) fn avoid(window: &mut Window, acked: f64) {
    window.cwnd += acked / window.cwnd;
}

/// RFC 5681 eq. 4, in whole packets.
pub(crate) fn reduce(window: &mut Window, cause: Cause) {
    window.ssthresh = libm::floor(window.cwnd / 2.0).max(2.0);
    if cause != Cause::Timeout {
        window.cwnd /= 2.0;
    }
}
