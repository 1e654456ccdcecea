//! The contract between a sender and its congestion control: the events that move the window.

use quell_units::{Duration, Time};

pub(crate) use super::window::Window;
use crate::pacing::Pacer;
use crate::params::Config;
use crate::rtt::RttEstimator;

/// The reason for a reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A loss that acknowledgments found.
    Loss,
    /// A mark, echoed.
    Echo,
    /// The timer.
    Timeout,
}

/// The repair under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repairing {
    Nothing,
    /// Losses that acknowledgments found.
    Losses,
    /// Losses that the timer found.
    Timeout,
}

/// Packets that are acknowledged in congestion avoidance.
pub(crate) struct Acked<'a> {
    pub now: Time,
    pub packets: f64,
    /// Packets outstanding before the acknowledgment.
    pub flight: f64,
    /// The round-trip time that the timer knows.
    pub timer: &'a RttEstimator,
    pub cfg: &'a Config,
    /// The smoothed round-trip time, where every acknowledgment measures one.
    pub srtt: Duration,
}

/// The counts of an acknowledgment, where the receiver counts marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub now: Time,
    /// The cumulative acknowledgment, and one past the highest packet sent.
    pub ack: u32,
    pub next: u32,
    /// Packets that are known for the first time to have arrived, and to have come marked.
    pub delivered: u32,
    pub marked: u32,
    /// No loss is being repaired.
    pub may_reduce: bool,
}

/// The answer to counted marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Marks are answered as an echo is.
    AsEcho,
    /// The marks have been counted.
    Counted,
    /// They have been counted, and the window has been reduced.
    Reduced,
}

/// All that an acknowledgment says, after the packets that it delivers have been told one by one.
pub(crate) struct AckFacts<'a> {
    pub now: Time,
    /// The cumulative acknowledgment.
    pub una: u32,
    /// Packets in flight before the acknowledgment and after it.
    pub prior_flight: u32,
    pub flight: u32,
    /// The round-trip time that it measured.
    pub rtt: Option<Duration>,
    /// The window has kept packets back since the acknowledgment before.
    pub window_limited: bool,
    pub repairing: Repairing,
    pub pacer: Option<&'a Pacer>,
}

impl AckFacts<'_> {
    /// The time for which pacing keeps the next packet back.
    #[inline(always)]
    pub fn ahead(&self) -> Duration {
        self.pacer.map_or(Duration::ZERO, |p| p.ahead(self.now))
    }
}

/// An acknowledgment of the next packets, which were sent once and in order, while nothing is repaired.
pub(crate) struct InOrder<'a> {
    pub now: Time,
    /// The cumulative acknowledgment, and how many packets it acknowledges.
    pub ack: u32,
    pub newly: u32,
    /// The number of those that make the window grow.
    pub packets: f64,
    /// Packets in flight before.
    pub prior_flight: u32,
    /// The time at which the last of them was sent, its round-trip time, and the smoothed one with it, where every
    /// acknowledgment measures one.
    pub sent: Time,
    pub rtt: Duration,
    pub srtt: Duration,
    /// The window has kept packets back since the acknowledgment before.
    pub window_limited: bool,
    /// The round-trip time that the timer knows.
    pub timer: &'a RttEstimator,
    pub cfg: &'a Config,
    pub pacer: Option<&'a Pacer>,
}

/// A congestion control. It hears of what happens on the path, and moves the window; what it does not answer
/// changes nothing.
pub(crate) trait Congestion {
    /// Grows the window, in congestion avoidance.
    fn grow(&mut self, window: &mut Window, acked: &Acked<'_>);

    /// Lowers the threshold, and the window with it; after a timeout the sender sets the window.
    fn reduce(&mut self, window: &mut Window, cause: Cause);

    /// The handshake measured a round-trip time.
    fn on_first_rtt(&mut self, _now: Time, _rtt: Duration) {}

    /// A packet leaves while so many are in flight.
    fn on_sent(&mut self, _window: &mut Window, _now: Time, _seq: u32, _flight: u32) {}

    /// The application has nothing to send, and the window has room.
    fn on_nothing_to_send(&mut self, _flight: u32) {}

    /// A packet is known for the first time to have arrived.
    fn on_delivered(&mut self, _now: Time, _seq: u32) {}

    /// An acknowledgment has been taken in.
    fn on_ack(&mut self, _window: &mut Window, _ack: &AckFacts<'_>) {}

    /// [`Congestion::on_delivered`] and [`Congestion::on_ack`] for the next `newly` packets, which were sent once and
    /// in order, while nothing is repaired.
    fn on_ack_in_order(&mut self, _window: &mut Window, _ack: &AckFacts<'_>, _newly: u32) {}

    /// Takes in an acknowledgment without marks, in congestion avoidance and with a window that is used, if that
    /// moves counts and the window alone: [`Congestion::on_marks`] and [`Congestion::grow`], or
    /// [`Congestion::on_ack_in_order`]. If more, it is false, and nothing changes.
    fn on_usual_ack(&mut self, _window: &mut Window, _ack: &InOrder<'_>) -> bool {
        false
    }

    /// Returns whether [`Congestion::on_next_sent`] has room for what it keeps of a packet.
    fn has_room(&self) -> bool {
        true
    }

    /// [`Congestion::on_sent`] for the next new packet, while others are in flight.
    fn on_next_sent(&mut self, _now: Time, _flight: u32) {}

    /// An acknowledgment counts marks.
    fn on_marks(&mut self, _window: &mut Window, _delivery: &Delivery) -> Answer {
        Answer::AsEcho
    }

    /// A packet was so long on its way.
    fn on_delay(&mut self, _now: Time, _delay: Duration) {}

    /// An acknowledgment comes for a window that was not used, with so many packets outstanding before.
    fn on_unused(&mut self, _window: &mut Window, _flight: f64, _now: Time) {}

    /// A packet is lost.
    fn on_lost(&mut self, _window: &Window, _now: Time, _seq: u32) {}

    /// The timer runs out, and the window was reduced for the same data before.
    fn on_timeout_again(&mut self, _window: &Window) {}

    /// The timer has found what is lost, with so many packets still in flight. Returns the window, if it is not the one
    /// packet of RFC 5681.
    fn after_timeout(&mut self, _now: Time, _flight: u32) -> Option<f64> {
        None
    }

    /// A timer has been taken in.
    fn on_timer(&mut self) {}

    /// Slow start begins again, after a loss.
    fn on_slow_start(&mut self) {}

    /// The connection was idle for longer than the timeout (RFC 5681 section 4.1).
    fn on_idle(&mut self, window: &mut Window, initial_window: f64) {
        window.cwnd = window.cwnd.min(initial_window);
    }

    /// A recovery begins that may turn out not to be needed.
    fn remember(&mut self) {}

    /// The receiver has got a packet twice.
    fn on_duplicate(&mut self) {}

    /// Nothing was lost in the recovery before which the window was `before` (RFC 9438 section 4.9.2).
    fn on_spurious(&mut self, window: &mut Window, before: &Window) {
        window.cwnd = window.cwnd.max(before.cwnd);
    }

    /// The rate that it sets, in packets per second.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// The name of its state, if it has states of its own.
    fn state(&self) -> Option<&'static str> {
        None
    }

    /// The bandwidth of its model of the path, in packets per second.
    fn bandwidth(&self) -> Option<f64> {
        None
    }

    /// Returns whether the window begins with a slow start.
    fn slow_starts(&self) -> bool {
        true
    }

    /// Returns whether packets must say when they were sent.
    fn measures_delay(&self) -> bool {
        false
    }
}
