//! Congestion control: how large the window is. How losses are found and repaired is the other axis,
//! [`Recovery`](crate::Recovery).

pub(crate) mod bbr1;
pub(crate) mod bbr3;
pub mod cubic;
pub(crate) mod dctcp;
pub(crate) mod ledbat;
pub(crate) mod model;
pub(crate) mod prague;
pub mod reno;

use quell_aqm::choice;
use quell_units::{Duration, Time};

use crate::Config;

use cubic::Cubic;
use dctcp::Estimate;
use ledbat::Ledbat;
use prague::Prague;

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
        /// The share of packets that are marked reduces the window (RFC 8257).
        Dctcp = "dctcp",
        /// The same for the Internet (draft-briscoe-iccrg-prague-congestion-control).
        Prague = "prague",
        /// The delay that the queue adds is held at a target (RFC 6817).
        Ledbat = "ledbat",
    }
}

impl CongestionControl {
    /// Whether the share of marks matters to it, not only that there are some: its marks are "scalable" (RFC 9330
    /// section 3).
    pub fn is_scalable(self) -> bool {
        matches!(self, CongestionControl::Dctcp | CongestionControl::Prague)
    }

    /// Whether window and rate follow a model of the path.
    pub fn is_model(self) -> bool {
        matches!(self, CongestionControl::Bbr1 | CongestionControl::Bbr3)
    }

    /// Whether its packets ask for the low-latency queue: they are ECT(1) (RFC 9331 section 4.1).
    pub fn is_l4s(self) -> bool {
        self == CongestionControl::Prague
    }
}

/// The congestion window and the threshold of slow start, in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    pub cwnd: f64,
    pub ssthresh: f64,
}

impl Window {
    /// The window in whole packets.
    #[inline]
    pub fn packets(&self, cfg: &Config) -> u32 {
        let window = if self.cwnd < cfg.max_window { self.cwnd } else { cfg.max_window };
        window as u32
    }

    /// Does with a copy what few acknowledgments do: the others keep the window in registers.
    #[inline(always)]
    pub fn rarely<T>(&mut self, what: impl FnOnce(&mut Window) -> T) -> T {
        let mut copy = *self;
        let out = what(&mut copy);
        *self = copy;
        out
    }

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

/// What an acknowledgment says has arrived, where the receiver counts marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub now: Time,
    /// The cumulative acknowledgment, and one past the highest packet sent.
    pub ack: u32,
    pub next: u32,
    /// Packets that it says for the first time to have arrived, and to have come marked.
    pub delivered: u32,
    pub marked: u32,
    /// No loss is being repaired.
    pub may_reduce: bool,
}

/// A congestion control and its state, of which Reno has none.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    Reno,
    Cubic(Cubic),
    Dctcp(Estimate),
    Prague(Prague),
    Ledbat(Ledbat),
}

impl Control {
    pub fn new(cfg: &Config) -> Self {
        match cfg.congestion {
            // A model has its own ways; see `Model`.
            CongestionControl::Reno | CongestionControl::Bbr1 | CongestionControl::Bbr3 => Control::Reno,
            CongestionControl::Cubic => Control::Cubic(Cubic::new(cfg.reno_friendly, cfg.whole, cfg.ns3)),
            CongestionControl::Dctcp => Control::Dctcp(Estimate::new(cfg.whole, cfg.gradual)),
            CongestionControl::Prague => Control::Prague(Prague::new()),
            CongestionControl::Ledbat => Control::Ledbat(Ledbat::new(cfg.ledbat_target, cfg.ledbat_gain)),
        }
    }

    /// So many packets are acknowledged, in congestion avoidance, and counted in `whole` ones or not; `flight` were
    /// outstanding before. `rtt` is the smoothed round-trip time, `srtt` that where every acknowledgment measures one.
    #[inline(always)]
    pub fn avoid(
        &mut self,
        window: &mut Window,
        (acked, whole): (f64, bool),
        flight: f64,
        now: Time,
        (rtt, srtt): (impl Fn() -> Duration, Option<Duration>),
    ) {
        match self {
            Control::Reno | Control::Dctcp(_) if whole => window.rarely(|w| reno::count(w, acked)),
            Control::Reno | Control::Dctcp(_) => reno::avoid(window, acked),
            Control::Cubic(c) => c.avoid(window, acked, now, rtt),
            Control::Prague(p) => p.avoid(window, acked, srtt.unwrap_or_default()),
            Control::Ledbat(l) => window.rarely(|w| l.avoid(w, acked, flight)),
        }
    }

    /// Whether it begins with a slow start.
    pub fn slow_starts(&self) -> bool {
        !matches!(self, Control::Ledbat(_))
    }

    /// An acknowledgment says how long a packet was on its way.
    pub fn on_delay(&mut self, now: Time, delay: Duration) {
        if let Control::Ledbat(l) = self {
            l.on_delay(now, delay);
        }
    }

    /// Packets have arrived, marked or not. Whether that has reduced the window; none where a mark is an echo, and
    /// answered as such.
    #[inline(always)]
    pub fn on_delivery(&mut self, window: &mut Window, delivery: Delivery) -> Option<bool> {
        match self {
            Control::Dctcp(e) => Some(e.on_delivery(window, delivery, Duration::ZERO)),
            Control::Prague(p) => Some(p.on_delivery(window, delivery)),
            Control::Reno | Control::Cubic(_) | Control::Ledbat(_) => None,
        }
    }

    /// Lowers the threshold, and the window with it; a timeout leaves it to the sender.
    pub fn reduce(&mut self, window: &mut Window, cause: Cause) {
        match self {
            // What is not a mark is answered as by Reno (RFC 8257 section 3.5).
            Control::Reno | Control::Dctcp(_) | Control::Prague(_) => reno::reduce(window, cause),
            Control::Cubic(c) => c.reduce(window, cause),
            Control::Ledbat(l) => l.reduce(window, cause),
        }
    }

    /// The timer runs out, and the window was reduced for the same data before.
    pub fn on_timeout_again(&mut self) {
        if let Control::Cubic(c) = self {
            c.on_timeout_again();
        }
    }

    /// The window is left one packet, and slow start follows.
    pub fn on_slow_start(&mut self) {
        if let Control::Cubic(c) = self {
            c.end_epoch();
        }
    }

    /// An acknowledgment of a window that was not used, with `flight` outstanding before.
    pub fn pause(&mut self, window: &mut Window, flight: f64, now: Time) {
        match self {
            Control::Cubic(c) => c.pause(now),
            Control::Ledbat(l) => l.pause(window, flight),
            _ => {}
        }
    }

    /// Nothing was lost where `before` was reduced (RFC 9438 section 4.9.2); what others learn stays.
    pub fn restore(&mut self, before: Control) {
        if let Control::Cubic(_) = self {
            *self = before;
        }
    }

    /// Slow start begins again after an idle time.
    pub fn on_idle(&mut self) {
        if let Control::Cubic(c) = self {
            c.on_idle();
        }
    }
}
