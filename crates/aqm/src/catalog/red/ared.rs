//! Adaptive RED (Floyd et al. 2001; Chen 2010, section 3.2, Fig. 3.1).
//!
//! RED whose `max_p` follows the load: every `interval` it rises by a step if the average is above
//! the middle fifth between the thresholds, and falls by a factor if it is below. The thresholds may
//! follow from a target delay.
//!
//! What the papers leave open, and what this file does:
//! - The step up is at most `max_p / 4` (the "0.1" in the prose of Chen 2010, section 3.2.2 is a slip for
//!   0.01, which Fig. 5.3 prints).
//! - Figure 3.1 tests `max_p` before it changes it, so the last step can exceed each bound; the prose
//!   restricts `max_p` to [0.01, 0.5], and so does this file.
//! - Updates fall on multiples of `interval`. ns-2 looks at the clock only when a packet arrives, so
//!   its periods are longer by up to one gap, and it does not adapt while the link is idle; here the
//!   average ages and `max_p` falls.
//! - Both slopes of the curve follow `max_p`. In ns-2 the gentle slope keeps its initial value, so the
//!   probability jumps down at `max_th` once `max_p` has grown, and a heavy load holds the average
//!   above `max_th`. That is a defect and is not reproduced here.

use alloc::vec::Vec;

use quell_units::{Duration, QueueSize};

use super::red::{Signals, check_max_p, red_params};
use crate::params::{AutoSize, ParamError, Remark, positive, positive_duration};
use crate::part::{Ticker, Weight, WeightRule};
use crate::red::{Red, RedParams};
use crate::{Aqm, Ctx, Link, Probe};

red_params! {
    /// Adaptive RED's parameters.
    pub struct AredParams {
        /// Mean queueing delay that automatic thresholds aim for.
        target_delay: Duration = Duration::from_millis(5), unit "s", source "Floyd et al. 2001; ns-2";
        /// Average queue below which nothing is signaled; auto: max(5 packets, target_delay C / 2), measured
        /// in the unit of the buffer.
        min_th: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Chen 2010, section 3.2.3";
        /// Average queue at which the probability reaches max_p; auto: 3 min_th.
        max_th: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Chen 2010, section 3.2.3";
        /// Probability at max_th at the start.
        max_p: f64 = 0.1, unit "1", source "Floyd 1997; Chen 2010, section 2.3.2";
        /// Lets the probability rise from max_p at max_th to 1 at twice max_th; without it, the probability
        /// is 1 from max_th on.
        gentle: bool = true, unit "true or false", source "Floyd et al. 2001; false is Chen 2010, section 5.2";
        /// Largest max_p.
        max_p_top: f64 = 0.5, unit "1", source "Chen 2010, section 3.2.2";
        /// Smallest max_p.
        max_p_bottom: f64 = 0.01, unit "1", source "Chen 2010, section 3.2.2";
        /// Time between two changes of max_p.
        interval: Duration = Duration::from_millis(500), unit "s", source "Floyd et al. 2001, figure 1; Chen 2010, Fig. 3.1";
        /// Largest step up; the step is min(alpha, max_p / 4).
        alpha: f64 = 0.01, unit "1", source "Floyd et al. 2001, figure 1; Chen 2010, Fig. 5.3";
        /// Factor of a step down.
        beta: f64 = 0.9, unit "1", source "Floyd et al. 2001, figure 1; Chen 2010, section 3.2.2";
        /// Weight of a new sample in the average; or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }.
        weight: Weight = Weight::Rule(WeightRule::LinkRate), unit "1", source "Chen 2010, section 3.2.3";
    }
}

impl AredParams {
    /// The thresholds on a link, given or automatic.
    pub fn thresholds(&self, link: &Link) -> (QueueSize, QueueSize) {
        let min_th = self.min_th.or_else(|| link.queue_of(automatic_min_th(self.target_delay, link)));
        let max_th = self.max_th.or_else(|| min_th.with_value(3.0 * min_th.value()));
        (min_th, max_th)
    }

    /// RED with the initial parameters of Adaptive RED.
    pub fn red(&self, link: &Link) -> RedParams {
        let (min_th, max_th) = self.thresholds(link);
        RedParams {
            min_th,
            max_th,
            max_p: self.max_p,
            weight: self.weight,
            gentle: self.gentle,
            ..Signals::from(self).into()
        }
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        let given = self.min_th != AutoSize::Auto;
        // A short target gives way to the floor of 5 packets.
        let long = !given && self.target_delay.as_secs_f64() * link.capacity() > 10.0;
        let target = long.then(|| Remark::on_delay("target_delay", self.target_delay, link)).flatten();
        let others = self.red(link).remarks_up_to(link, ("max_p_top", self.max_p_top));
        target.into_iter().chain(others.into_iter().filter(|r| given || r.field != "min_th")).collect()
    }

    /// Adaptive RED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: those of RED, bounds of `max_p` that do not contain it, a
    /// step that does not move it.
    pub fn build(&self, link: &Link) -> Result<Ared, ParamError> {
        link.check()?;
        positive_duration("target_delay", self.target_delay, "Floyd et al. 2001")?;
        check_max_p(self.max_p, self.max_p_bottom, self.max_p_top)?;
        positive("alpha", self.alpha, "Floyd et al. 2001, figure 1")?;
        require!(self.beta > 0.0 && self.beta < 1.0, self.beta, "must lie in (0, 1)")?;
        let red = self.red(link).build_rising(link)?;
        Ok(Ared {
            red,
            ticker: Ticker::new("interval", self.interval)?,
            step: Step { alpha: self.alpha, beta: self.beta, bottom: self.max_p_bottom, top: self.max_p_top },
        })
    }
}

/// Adaptive RED's state.
#[derive(Clone, Debug)]
pub struct Ared {
    red: Red,
    ticker: Ticker,
    step: Step,
}

impl Ared {
    /// RED inside, for algorithms that move more than `max_p`.
    pub(super) fn red(&self) -> &Red {
        &self.red
    }

    /// RED inside, for algorithms that move more than `max_p`.
    pub(super) fn red_mut(&mut self) -> &mut Red {
        &mut self.red
    }

    /// The length of a period, for algorithms that change it.
    pub(super) fn ticker_mut(&mut self) -> &mut Ticker {
        &mut self.ticker
    }

    /// The motion of `max_p`, for the same algorithm in other arithmetic.
    pub(super) fn step(&self) -> Step {
        self.step
    }

    /// The thresholds in packets.
    pub(super) fn thresholds(&self) -> (f64, f64) {
        self.red.curve().thresholds()
    }
}

impl Aqm for Ared {
    delegate!(ticker: next_update);
    delegate!(red: on_enqueue, on_overflow, on_idle);

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        let avg = self.red.average_now(cx);
        let (min_th, max_th) = self.red.curve().thresholds();
        let max_p = self.step.adapt(self.red.curve().max_p(), avg, target_band(min_th, max_th));
        self.red.curve_mut().set_max_p(max_p);
        self.ticker.advance();
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.red.observe(out);
        out.value("max_p", "1", self.red.curve().max_p());
    }
}

/// The motion of `max_p`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Largest step up.
    pub alpha: f64,
    /// Factor down.
    pub beta: f64,
    /// Smallest `max_p`.
    pub bottom: f64,
    /// Largest `max_p`.
    pub top: f64,
}

impl Step {
    /// Chen 2010, Fig. 3.1: the next `max_p`.
    pub fn adapt(&self, max_p: f64, avg: f64, (low, high): (f64, f64)) -> f64 {
        if avg > high {
            (max_p + self.alpha.min(max_p / 4.0)).min(self.top)
        } else if avg < low {
            (max_p * self.beta).max(self.bottom)
        } else {
            max_p
        }
    }
}

/// Chen 2010, Fig. 3.1: the averages at which `max_p` stays, `min_th + [0.4, 0.6] (max_th - min_th)`.
pub fn target_band(min_th: f64, max_th: f64) -> (f64, f64) {
    let gap = max_th - min_th;
    (min_th + 0.4 * gap, min_th + 0.6 * gap)
}

/// Chen 2010, section 3.2.3: `max(5, d_ref C / 2)` packets.
pub fn automatic_min_th(target_delay: Duration, link: &Link) -> f64 {
    (target_delay.as_secs_f64() * link.capacity() / 2.0).max(5.0)
}

equations! {
    automatic_min_th(target_delay: Duration, rate: quell_units::BitRate, mean_packet: quell_units::Bytes) -> min_th =
        automatic_min_th(target_delay, &Link { rate, buffer: QueueSize::Packets(500.0), mean_packet });
    target_band(min_th, max_th) -> low, high = target_band(min_th, max_th);
    Step::adapt(alpha, beta, bottom, top, max_p, avg, low, high) -> max_p =
        Step { alpha, beta, bottom, top }.adapt(max_p, avg, (low, high));
}
