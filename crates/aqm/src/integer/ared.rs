//! Adaptive RED in integers, around [`RedFixed`].

use quell_units::Duration;

use super::{RedConstants, RedFixed};
use crate::part::Ticker;
use crate::part::fixed::{self, Scale};
use crate::{Aqm, Ctx, Probe};

/// Constants of adaptive RED in integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AredConstants {
    /// RED's.
    pub red: RedConstants,
    /// Time between two updates, in nanoseconds.
    pub interval: u64,
    /// The least average, in Q32 packets, at which `max_p` stays.
    pub low: u64,
    /// The largest average, in Q32 packets, at which `max_p` stays.
    pub high: u64,
    /// The most that `max_p` rises by, in Q32.
    pub alpha: u64,
    /// The factor by which `max_p` falls.
    pub beta: Scale,
    /// The least `max_p`, in Q32.
    pub bottom: u64,
    /// The largest `max_p`, in Q32.
    pub top: u64,
}

/// Adaptive RED's state in integers.
#[derive(Clone, Debug)]
pub struct AredFixed {
    constants: AredConstants,
    red: RedFixed,
    ticker: Ticker,
}

impl AredFixed {
    /// An empty queue at time zero.
    pub const fn new(constants: AredConstants) -> Self {
        AredFixed {
            constants,
            red: RedFixed::new(constants.red),
            ticker: Ticker::every(Duration::from_nanos(constants.interval)),
        }
    }

    /// Chen 2010, Fig. 3.1: the next `max_p`.
    fn adapted(&self, max_p: u64, avg: u64) -> u64 {
        if avg > self.constants.high {
            max_p.saturating_add(self.constants.alpha.min(max_p / 4)).min(self.constants.top)
        } else if avg < self.constants.low {
            self.constants.beta.times(max_p).max(self.constants.bottom)
        } else {
            max_p
        }
    }
}

impl Aqm for AredFixed {
    delegate!(ticker: next_update);
    delegate!(red: on_enqueue, on_overflow, on_idle);

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        let avg = self.red.average_now(cx);
        self.red.constants.curve.max_p = self.adapted(self.red.constants.curve.max_p, avg);
        self.ticker.advance();
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.red.observe(out);
        out.value("max_p", "1", fixed::to_f64(self.red.constants.curve.max_p));
    }
}
