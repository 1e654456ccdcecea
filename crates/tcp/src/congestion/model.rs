//! Congestion controls that follow a model of the path: they set the window and the rate from samples of what is
//! delivered.

use alloc::boxed::Box;

use quell_units::{Duration, Time};

use super::bbr1::Bbr1;
use super::bbr3::Bbr3;
use super::{CongestionControl, Window};
use crate::params::Config;
use crate::rate::{Sample, Snapshot};

/// Within these bounds an acknowledgment moves counts alone: bandwidth, round-trip time, state and rate stay, and the
/// window grows to what it may be. A model finds them after an acknowledgment that may have changed more.
#[derive(Clone)]
pub(crate) struct Steady {
    /// The newest packet acknowledged was sent before so many had been delivered: no round trip begins. Zero where
    /// nothing is known of the bounds.
    pub round: u64,
    /// No later.
    pub until: Time,
    /// It has the round-trip time, and the sample the interval, at least.
    pub rtt: Duration,
    pub interval: Duration,
    /// The sample is below this rate.
    pub rate: f64,
    /// What was acknowledged beyond the bandwidth: at most so much in version 1, and less in version 3.
    pub extra: f64,
    /// More are in flight: of version 1 before the acknowledgment and until the next packet leaves, of version 3 after it.
    pub flight: f64,
    /// What the window may be.
    pub cwnd: f64,
}

impl Steady {
    /// Nothing is known.
    pub fn unknown() -> Self {
        Steady {
            round: 0,
            until: Time::ZERO,
            rtt: Duration::ZERO,
            interval: Duration::ZERO,
            rate: 0.0,
            extra: 0.0,
            flight: 0.0,
            cwnd: 0.0,
        }
    }
}

impl core::fmt::Debug for Steady {
    /// They follow from the model: one that has not asked for them is the same.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Steady")
    }
}

/// An acknowledgment within the bounds that do not depend on the model.
pub(crate) struct SteadyAck {
    pub now: Time,
    pub acked: f64,
    /// The sample: the rate, and how many packets it is of.
    pub rate: f64,
    pub delivered: u64,
    /// How many were in flight when the newest one was sent, with it, and before the acknowledgment and after it.
    pub sent_flight: u32,
    pub flights: (u32, u32),
    /// How many had been delivered before, if the window has kept packets back since.
    pub limited_at: Option<u64>,
}

/// What a model does within its bounds.
pub(crate) trait Steadily {
    fn steady(&self) -> &Steady;

    /// As [`Model::on_ack`], for an acknowledgment within the bounds of [`Steadily::steady`], if it is within those of
    /// the model too; else nothing changes. `ahead` is how long pacing keeps the next packet back.
    fn on_steady_ack(
        &mut self,
        window: &mut Window,
        ack: &SteadyAck,
        ahead: impl FnOnce() -> Duration,
    ) -> bool;
}

/// One of them.
#[derive(Clone, Debug)]
pub(crate) enum Model {
    Bbr1(Box<Bbr1>),
    Bbr3(Box<Bbr3>),
}

/// Calls a method that both have.
macro_rules! each {
    ($model:expr, $m:ident => $call:expr) => {
        match $model {
            Model::Bbr1($m) => $call,
            Model::Bbr3($m) => $call,
        }
    };
}

impl Model {
    /// None for what is no model.
    pub fn new(cfg: &Config) -> Option<Self> {
        let (window, payload, wire) = (cfg.initial_window, cfg.payload(), cfg.wire_bytes());
        match cfg.congestion {
            CongestionControl::Bbr1 => Some(Model::Bbr1(Box::new(Bbr1::new(window, payload.get() as f64)))),
            CongestionControl::Bbr3 => Some(Model::Bbr3(Box::new(Bbr3::new(window, wire.get() as f64)))),
            _ => None,
        }
    }

    /// An acknowledgment, with all that it says.
    #[inline(always)]
    pub fn on_ack(&mut self, window: &mut Window, sample: &Sample) {
        each!(self, m => {
            m.steady.round = 0;
            m.on_ack(window, sample)
        })
    }

    /// Finds the bounds after [`Model::on_ack`].
    pub fn settle(&mut self, window: &Window) {
        each!(self, m => m.settle(window))
    }

    fn unsettle(&mut self) {
        each!(self, m => m.steady.round = 0)
    }

    /// A packet is lost; `totals` are the packets delivered and lost so far.
    pub fn on_lost(&mut self, window: &Window, now: Time, packet: (u32, Snapshot), totals: (u64, u64)) {
        self.unsettle();
        if let Model::Bbr3(m) = self {
            m.on_lost(window, now, packet, totals);
        }
    }

    pub fn on_timeout(&mut self, window: &Window) {
        self.unsettle();
        each!(self, m => m.on_timeout(window))
    }

    /// A recovery begins, before it sets the window.
    pub fn on_recovery(&mut self, window: &Window) {
        if let Model::Bbr1(m) = self {
            m.on_recovery(window);
        }
    }

    /// The window after the timer ran out at `now`, with so many packets still in flight; `totals` are the packets
    /// delivered and lost so far.
    pub fn window_after_timeout(&mut self, now: Time, flying: u32, totals: (u64, u64)) -> f64 {
        self.unsettle();
        if let Model::Bbr1(m) = self {
            m.after_timeout(now, totals);
        }
        f64::from(flying) + 1.0
    }

    /// Nothing was lost in the last recovery; `total` packets have been delivered.
    pub fn on_spurious(&mut self, window: &mut Window, total: u64) {
        self.unsettle();
        match self {
            Model::Bbr1(m) => m.on_spurious(window),
            Model::Bbr3(m) => m.on_spurious(window, total),
        }
    }

    pub fn on_first_rtt(&mut self, rtt: Duration, now: Time) {
        self.unsettle();
        each!(self, m => m.on_first_rtt(rtt, now))
    }

    /// The application has something to send after nothing was in flight, and `total` packets have been delivered.
    pub fn on_restart(&mut self, window: &mut Window, now: Time, total: u64) {
        self.unsettle();
        each!(self, m => m.on_restart(window, now, total))
    }

    /// In packets per second.
    #[inline]
    pub fn pacing_rate(&self) -> f64 {
        each!(self, m => m.pacing_rate())
    }

    #[inline]
    pub fn min_rtt(&self) -> Duration {
        each!(self, m => m.min_rtt())
    }

    /// Whether it holds packets back to measure the round-trip time.
    #[inline]
    pub fn holds_back(&self) -> bool {
        each!(self, m => m.holds_back())
    }
}
