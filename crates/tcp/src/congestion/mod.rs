//! Congestion control: how large the window is. How losses are found and repaired is the other axis,
//! [`Recovery`](crate::Recovery).

pub(crate) mod bbr1;
pub(crate) mod bbr3;
pub mod cubic;
pub(crate) mod model;
pub mod reno;

use quell_aqm::choice;
use quell_units::{Duration, Time};

use crate::Config;

use cubic::Cubic;

choice! {
    /// Which congestion control a sender has.
    pub enum CongestionControl {
        /// A packet more each round trip, half the window after a loss (RFC 5681).
        Reno = "reno",
        /// A cubic function of the time since the last loss (RFC 9438).
        Cubic = "cubic",
        /// A model of the path: bandwidth and round-trip time (draft-cardwell-iccrg-bbr-congestion-control-00).
        Bbr1 = "bbr1",
        /// The same, with bounds that losses teach (draft-ietf-ccwg-bbr).
        Bbr3 = "bbr3",
    }
}

/// The congestion window and the threshold of slow start, in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    pub cwnd: f64,
    pub ssthresh: f64,
}

impl Window {
    /// Slow start takes as much of `acked` packets as lies below `ssthresh`, whole packets of it; returns the
    /// rest, which is congestion avoidance's.
    #[inline]
    pub fn slow_start(&mut self, acked: f64) -> f64 {
        if self.cwnd >= self.ssthresh {
            return acked;
        }
        if acked <= 1.0 {
            self.cwnd += acked;
            return 0.0;
        }
        let take = acked.min(libm::ceil(self.ssthresh - self.cwnd));
        self.cwnd += take;
        acked - take
    }
}

/// What reduced the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A loss that duplicates found.
    Loss,
    /// A mark, echoed.
    Echo,
    /// The timer.
    Timeout,
}

/// A congestion control and its state, of which Reno has none.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    Reno,
    Cubic(Cubic),
}

impl Control {
    pub fn new(cfg: &Config) -> Self {
        match cfg.congestion {
            // A model has its own ways; see `Model`.
            CongestionControl::Reno | CongestionControl::Bbr1 | CongestionControl::Bbr3 => Control::Reno,
            CongestionControl::Cubic => Control::Cubic(Cubic::new(cfg.reno_friendly)),
        }
    }

    /// So many packets are acknowledged, in congestion avoidance.
    pub fn avoid(&mut self, window: &mut Window, acked: f64, now: Time, rtt: Duration) {
        match self {
            Control::Reno => reno::avoid(window, acked),
            Control::Cubic(c) => c.avoid(window, acked, now, rtt),
        }
    }

    /// Lowers the threshold, and the window with it; a timeout leaves it to the sender.
    pub fn reduce(&mut self, window: &mut Window, cause: Cause) {
        match self {
            Control::Reno => reno::reduce(window, cause),
            Control::Cubic(c) => c.reduce(window, cause),
        }
    }

    /// An acknowledgment of a window that was not used.
    pub fn pause(&mut self, now: Time) {
        if let Control::Cubic(c) = self {
            c.pause(now);
        }
    }

    /// Slow start begins again after an idle time.
    pub fn on_idle(&mut self) {
        if let Control::Cubic(c) = self {
            c.on_idle();
        }
    }
}
