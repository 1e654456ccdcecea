//! Congestion controls that follow a model of the path: they set the window and the rate from samples of what is
//! delivered.

use alloc::boxed::Box;

use quell_units::{Duration, Time};

use super::bbr1::Bbr1;
use super::bbr3::Bbr3;
use super::{CongestionControl, Window};
use crate::params::Config;
use crate::rate::{Sample, Snapshot};

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
        each!(self, m => m.on_ack(window, sample))
    }

    /// A packet is lost; `totals` are the packets delivered and lost so far.
    pub fn on_lost(&mut self, window: &Window, now: Time, packet: (u32, Snapshot), totals: (u64, u64)) {
        match self {
            Model::Bbr1(_) => {}
            Model::Bbr3(m) => m.on_lost(window, now, packet, totals),
        }
    }

    pub fn on_timeout(&mut self, window: &Window) {
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
        if let Model::Bbr1(m) = self {
            m.after_timeout(now, totals);
        }
        f64::from(flying) + 1.0
    }

    /// Nothing was lost in the last recovery; `total` packets have been delivered.
    pub fn on_spurious(&mut self, window: &mut Window, total: u64) {
        match self {
            Model::Bbr1(m) => m.on_spurious(window),
            Model::Bbr3(m) => m.on_spurious(window, total),
        }
    }

    pub fn on_first_rtt(&mut self, rtt: Duration, now: Time) {
        each!(self, m => m.on_first_rtt(rtt, now))
    }

    /// The application has something to send after nothing was in flight, and `total` packets have been delivered.
    pub fn on_restart(&mut self, window: &mut Window, now: Time, total: u64) {
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
