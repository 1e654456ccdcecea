//! Adaptive RED in integers: [`ared`](crate::ared) around [`red_fixed`](crate::red_fixed), whose updates
//! hold no floating point either.

use quell_units::Time;
use serde::{Deserialize, Serialize};

use crate::ared::{AredParams, target_band};
use crate::params::{ParamDoc, ParamError};
use crate::part::Ticker;
use crate::part::fixed::{self, Scale};
use crate::red_fixed::{RedFixed, RedFixedParams};
use crate::{Aqm, Ctx, Link, Probe};

/// Adaptive RED's parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AredFixedParams(pub AredParams);

impl AredFixedParams {
    /// What a user may read about each parameter.
    pub fn docs() -> alloc::vec::Vec<ParamDoc> {
        AredParams::docs()
    }

    /// Adaptive RED in integers for a link.
    ///
    /// # Errors
    /// Those of adaptive RED.
    pub fn build(&self, link: &Link) -> Result<AredFixed, ParamError> {
        let ared = self.0.build(link)?;
        let step = ared.step();
        let (min_th, max_th) = ared.thresholds();
        let (low, high) = target_band(min_th, max_th);
        Ok(AredFixed {
            red: RedFixedParams(self.0.red(link)).build(link)?,
            ticker: Ticker::new("interval", self.0.interval)?,
            low: fixed::from_f64(low),
            high: fixed::from_f64(high),
            // A step that is rounded to nothing would never move max_p.
            alpha: fixed::from_f64(step.alpha).max(1),
            beta: Scale::new(step.beta),
            bottom: fixed::from_f64(step.bottom).max(1),
            top: fixed::from_f64(step.top).max(1),
        })
    }
}

/// Adaptive RED's state in integers.
#[derive(Clone, Debug)]
pub struct AredFixed {
    red: RedFixed,
    ticker: Ticker,
    /// The averages between which `max_p` stays.
    low: u64,
    high: u64,
    alpha: u64,
    beta: Scale,
    bottom: u64,
    top: u64,
}

impl AredFixed {
    /// thesis Fig. 3.1: the next `max_p`.
    fn adapted(&self, max_p: u64, avg: u64) -> u64 {
        if avg > self.high {
            max_p.saturating_add(self.alpha.min(max_p / 4)).min(self.top)
        } else if avg < self.low {
            self.beta.times(max_p).max(self.bottom)
        } else {
            max_p
        }
    }
}

impl Aqm for AredFixed {
    fn on_start(&mut self, now: Time) {
        self.ticker.start(now);
    }

    delegate!(red: on_enqueue, on_overflow, on_idle);

    #[inline]
    fn next_update(&self) -> Option<Time> {
        Some(self.ticker.due())
    }

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        let avg = self.red.average_now(cx);
        self.red.curve.max_p = self.adapted(self.red.curve.max_p, avg);
        self.ticker.advance();
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.red.observe(out);
        out.value("max_p", "1", fixed::to_f64(self.red.curve.max_p));
    }
}
