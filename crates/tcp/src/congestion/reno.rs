//! Reno (RFC 5681): a packet more each round trip, half the window after a loss.
//!
//! `ssthresh` comes from the congestion window, not the flight size; see [`Sender`](crate::Sender).

use super::{Cause, Window};

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
