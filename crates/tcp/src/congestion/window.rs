//! The congestion window.

use crate::float::lesser;
use crate::params::Config;

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

    /// The part of it that is left while so many packets are in flight.
    #[inline(always)]
    pub fn room(&self, cfg: &Config, flying: u32) -> f64 {
        lesser(self.cwnd, cfg.max_window) - f64::from(flying)
    }

    /// Hands a copy to what few acknowledgments do: the others keep the window in registers.
    #[inline(always)]
    pub fn rarely<T>(&mut self, what: impl FnOnce(&mut Window) -> T) -> T {
        let mut copy = *self;
        let out = what(&mut copy);
        *self = copy;
        out
    }

    /// Grows as slow start does, by as much of `acked` packets as lies below `ssthresh`, in whole packets. Returns the
    /// others, which are congestion avoidance's.
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
