//! Auto-Tuning RED (Sirisena et al. 2002, as Chen 2010, section 3.3 and Fig. 3.2 give it).
//!
//! RED whose `max_p` is multiplied, every four round-trip times, by a factor in proportion to the
//! average's distance from `q_ref`, halfway between the thresholds: the next `max_p` would give the
//! present probability at `q_ref`. Thresholds and weight follow from the round-trip time and the link.
//!
//! What the papers leave open, and what this file does:
//! - Automatic thresholds: `max_th - min_th = 0.21 R C` with `max_th = 3 min_th` gives `min_th =
//!   0.105 R C`. The printed `min_th >= 0.13 R C` is a looser choice. Below 5 packets nothing can be
//!   controlled, so that is the minimum, as in Adaptive RED.
//! - Figure 3.2 gives neither the round-trip time nor how to know it: `rtt` is a parameter.
//! - One step multiplies `max_p` by 1 + 2 epsilon zeta (avg - q_ref)/(max_th - min_th); where the
//!   product epsilon zeta is so large that this would be negative, `max_p` goes to its lower bound.
//! - Updates fall on multiples of the interval, and the average ages over an idle period before it is
//!   used.

use alloc::vec::Vec;

use quell_units::{Duration, QueueSize};

use super::red::{Signals, check_max_p, red_params};
use crate::params::{AutoSize, ParamError, Remark, positive, positive_duration};
use crate::part::{Memory, Ticker, Weight};
use crate::red::{Red, RedParams};
use crate::{Aqm, Ctx, Link, Probe};

red_params! {
    /// Auto-Tuning RED's parameters.
    pub struct AutoTuningRedParams {
        /// The round-trip time R that the automatic values are for, including queueing.
        rtt: Duration = Duration::from_millis(100), unit "s", source "Floyd et al. 2001, the usual value; Chen 2010, section 3.2.3";
        /// Average queue below which nothing is signaled; auto: max(5 packets, 0.105 R C), measured in the
        /// unit of the buffer.
        min_th: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Chen 2010, section 3.3.2";
        /// Average queue at which the probability reaches max_p; auto: 3 min_th.
        max_th: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Chen 2010, section 3.3.2";
        /// Probability at max_th at the start.
        max_p: f64 = 0.1, unit "1", source "Floyd 1997; Chen 2010, section 2.3.2";
        /// Largest max_p.
        max_p_top: f64 = 0.5, unit "1", source "Chen 2010, Fig. 3.2";
        /// Smallest max_p.
        max_p_bottom: f64 = 0.01, unit "1", source "Chen 2010, Fig. 3.2";
        /// Time between two changes of max_p; left out: 4 rtt.
        interval: Option<Duration> = None, unit "s", source "Chen 2010, Fig. 3.2";
        /// Acceleration factor.
        epsilon: f64 = 1.5, unit "1", source "Chen 2010, Fig. 3.2";
        /// Length of a period as a fraction of the theoretical settling time.
        zeta: f64 = 0.1, unit "1", source "Chen 2010, Fig. 3.2";
        /// Weight of a new sample in the average, or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }; left out: a time constant of 10 rtt.
        weight: Option<Weight> = None, unit "1", source "Chen 2010, section 3.3.2, n = 10";
    }
}

impl AutoTuningRedParams {
    /// The thresholds on a link, given or automatic.
    pub fn thresholds(&self, link: &Link) -> (QueueSize, QueueSize) {
        let packets = automatic_min_th(self.rtt.as_secs_f64(), link.capacity());
        let min_th = self.min_th.or_else(|| link.queue_of(packets));
        let max_th = self.max_th.or_else(|| min_th.with_value(3.0 * min_th.value()));
        (min_th, max_th)
    }

    /// RED with the initial parameters of Auto-Tuning RED.
    pub fn red(&self, link: &Link) -> RedParams {
        let (min_th, max_th) = self.thresholds(link);
        let ten_rtt = Memory { time_constant: Duration::from_secs_f64(10.0 * self.rtt.as_secs_f64()) };
        RedParams {
            min_th,
            max_th,
            max_p: self.max_p,
            weight: self.weight.unwrap_or(Weight::Memory(ten_rtt)),
            gentle: true,
            ..Signals::from(self).into()
        }
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        self.red(link).remarks_up_to(link, ("max_p_top", self.max_p_top))
    }

    /// Auto-Tuning RED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: those of RED, bounds of `max_p` that do not contain it, a
    /// step that does not move it.
    pub fn build(&self, link: &Link) -> Result<AutoTuningRed, ParamError> {
        link.check()?;
        positive_duration("rtt", self.rtt, "Chen 2010, section 3.3.2")?;
        require!(self.rtt <= Duration::from_secs(600), self.rtt, "must be at most 10 min")?;
        check_max_p(self.max_p, self.max_p_bottom, self.max_p_top)?;
        positive("epsilon", self.epsilon, "Chen 2010, Fig. 3.2")?;
        positive("zeta", self.zeta, "Chen 2010, Fig. 3.2")?;
        let red = self.red(link).build_rising(link)?;
        let interval = self.interval.unwrap_or(Duration::from_secs_f64(4.0 * self.rtt.as_secs_f64()));
        let field = if self.interval.is_some() { "interval" } else { "rtt" };
        Ok(AutoTuningRed {
            red,
            ticker: Ticker::new(field, interval)?,
            tuning: Tuning {
                epsilon: self.epsilon,
                zeta: self.zeta,
                bottom: self.max_p_bottom,
                top: self.max_p_top,
            },
        })
    }
}

/// Auto-Tuning RED's state.
#[derive(Clone, Debug)]
pub struct AutoTuningRed {
    red: Red,
    ticker: Ticker,
    tuning: Tuning,
}

impl Aqm for AutoTuningRed {
    delegate!(ticker: next_update);
    delegate!(red: on_enqueue, on_overflow, on_idle);

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        let avg = self.red.average_now(cx);
        let max_p = self.tuning.next(self.red.curve().max_p(), avg, self.red.curve().thresholds());
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
pub struct Tuning {
    /// Acceleration factor.
    pub epsilon: f64,
    /// Fraction of the settling time.
    pub zeta: f64,
    /// Smallest `max_p`.
    pub bottom: f64,
    /// Largest `max_p`.
    pub top: f64,
}

impl Tuning {
    /// Chen 2010, eq. 3.5 within the bounds of Fig. 3.2: the next `max_p`.
    pub fn next(&self, max_p: f64, avg: f64, (min_th, max_th): (f64, f64)) -> f64 {
        let step = self.epsilon * self.zeta * increment(max_p, avg, min_th, max_th);
        (max_p + step).clamp(self.bottom, self.top)
    }
}

/// Chen 2010, eq. 3.4: what would bring the present probability to `q_ref`.
pub fn increment(max_p: f64, avg: f64, min_th: f64, max_th: f64) -> f64 {
    let q_ref = (min_th + max_th) / 2.0;
    2.0 * (avg - q_ref) / (max_th - min_th) * max_p
}

/// Chen 2010, section 3.3.2: `max_th - min_th = 0.21 R C` with `max_th = 3 min_th`, and at least 5 packets.
pub fn automatic_min_th(rtt: f64, capacity: f64) -> f64 {
    (0.105 * rtt * capacity).max(5.0)
}

equations! {
    increment(max_p, avg, min_th, max_th) -> increment = increment(max_p, avg, min_th, max_th);
    Tuning::next(epsilon, zeta, bottom, top, max_p, avg, min_th, max_th) -> max_p =
        Tuning { epsilon, zeta, bottom, top }.next(max_p, avg, (min_th, max_th));
    automatic_min_th(rtt, capacity) -> min_th = automatic_min_th(rtt, capacity);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Far above the thresholds `max_p` crosses its whole range within seconds of the usual 0.4 s, and
    /// an empty queue brings it back.
    #[test]
    fn max_p_recovers_from_the_worst_values() {
        let tuning = Tuning { epsilon: 1.5, zeta: 0.1, bottom: 0.01, top: 0.5 };
        let periods = |start: f64, avg: f64, end: f64| {
            let mut max_p = start;
            (0..1000)
                .take_while(|_| {
                    max_p = tuning.next(max_p, avg, (20.0, 60.0));
                    max_p != end
                })
                .count()
        };
        assert!(periods(0.01, 100.0, 0.5) < 12);
        assert!(periods(0.5, 0.0, 0.01) < 12);
        // At the upper threshold, half as fast and as slow as it gets while the curve is left.
        assert!(periods(0.01, 60.0, 0.5) < 30);
    }
}
