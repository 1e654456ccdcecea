//! Adaptive RED of Feng et al. 1999a ("self-configuring RED"; Trinh and Molnár, sections 4.1, 6).
//!
//! RED whose `max_p` changes when the average crosses a threshold: it is divided by `alpha` when the
//! average falls below `min_th`, because RED is then too aggressive, and multiplied by `beta` when it
//! rises above `max_th`, because RED is then too mild. A status (below, between, above) makes it change
//! once per crossing.
//!
//! What the papers leave open, and what this file does:
//! - The initial status is "below", as for an empty queue: `max_p` first changes when the average first
//!   exceeds `max_th`.
//! - An average that equals a threshold is neither below, nor above, nor between: the status does not
//!   change.
//! - The paper does not bound `max_p`. As a probability it is at most 1, and `max_p_bottom` keeps it
//!   from falling to where it would take minutes to return from; while the average jumps back and forth
//!   between below and above with no sample between, it falls by a third each time, without limit.
//! - `max_p` changes only at arrivals, since the average does. The average ages over an idle period at
//!   the next arrival.
//! - The slopes of the curve follow `max_p`.

use alloc::vec::Vec;

use quell_units::QueueSize;

use super::red::{Signals, check_max_p, red_params};
use crate::params::{ParamError, Remark, require};
use crate::part::Weight;
use crate::red::{Red, RedParams};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict};

red_params! {
    /// Parameters of Feng's Adaptive RED.
    pub struct FengAredParams {
        /// Average queue below which nothing is signaled; its unit determines whether the queue is measured in packets
        /// or bytes.
        min_th: QueueSize = QueueSize::Packets(5.0), unit "packets or bytes", source "Floyd 1997, recommended setting; Chen 2010, section 2.3.1";
        /// Average queue at which the probability reaches max_p.
        max_th: QueueSize = QueueSize::Packets(15.0), unit "packets or bytes", source "3 min_th: Floyd 1997; Chen 2010, section 2.3.1";
        /// Probability at max_th at the start.
        max_p: f64 = 0.1, unit "1", source "Floyd 1997; Chen 2010, section 2.3.2";
        /// Divisor of max_p when the average falls below min_th.
        alpha: f64 = 3.0, unit "1", source "Feng et al. 1999a; Trinh and Molnár, section 4.1";
        /// Factor of max_p when the average rises above max_th.
        beta: f64 = 2.0, unit "1", source "Feng et al. 1999a; Trinh and Molnár, section 4.1";
        /// Largest max_p.
        max_p_top: f64 = 1.0, unit "1", source "a probability; the paper gives no bound";
        /// Smallest max_p.
        max_p_bottom: f64 = 1e-4, unit "1", source "this implementation; the paper gives no bound";
        /// Weight of a new sample in the average; or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }.
        weight: Weight = Weight::Value(0.002), unit "1", source "Floyd and Jacobson 1993; Chen 2010, section 2.3.4";
        /// Lets the probability rise from max_p at max_th to 1 at twice max_th; without it, the probability
        /// is 1 from max_th on.
        gentle: bool = false, unit "true or false", source "Feng et al. 1999a, which comes before the gentle mode";
    }
}

impl FengAredParams {
    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Signals::from(self).remarks(link).collect()
    }

    /// Feng's Adaptive RED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: those of RED, bounds of `max_p` that do not contain it,
    /// factors that do not exceed 1.
    pub fn build(&self, link: &Link) -> Result<FengAred, ParamError> {
        link.check()?;
        check_max_p(self.max_p, self.max_p_bottom, self.max_p_top)?;
        for (field, x) in [("alpha", self.alpha), ("beta", self.beta)] {
            require(x > 1.0 && x.is_finite(), field, x, "must exceed 1 [Feng et al. 1999a]")?;
        }
        let red = RedParams {
            min_th: self.min_th,
            max_th: self.max_th,
            max_p: self.max_p,
            weight: self.weight,
            gentle: self.gentle,
            ..Signals::from(self).into()
        }
        .build_rising(link)?;
        let (min_th, max_th) = red.curve().thresholds();
        Ok(FengAred {
            red,
            status: Status::Below,
            rule: Rule {
                min_th,
                max_th,
                alpha: self.alpha,
                beta: self.beta,
                bottom: self.max_p_bottom,
                top: self.max_p_top,
            },
        })
    }
}

/// Position of the average when it last crossed a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Status {
    /// The range below `min_th`.
    Below,
    /// The range between the thresholds.
    Between,
    /// The range above `max_th`.
    Above,
}

/// The rule by which `max_p` changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The lower threshold in packets.
    pub min_th: f64,
    /// The upper threshold in packets.
    pub max_th: f64,
    /// The divisor.
    pub alpha: f64,
    /// The factor.
    pub beta: f64,
    /// Smallest `max_p`.
    pub bottom: f64,
    /// Largest `max_p`.
    pub top: f64,
}

impl Rule {
    /// Feng et al. 1999a (Trinh and Molnár, section 4.1): the next status and `max_p`.
    #[inline]
    pub fn adapt(&self, status: Status, max_p: f64, avg: f64) -> (Status, f64) {
        if avg < self.min_th {
            let fell = status != Status::Below;
            (Status::Below, if fell { (max_p / self.alpha).max(self.bottom) } else { max_p })
        } else if avg > self.max_th {
            let rose = status != Status::Above;
            (Status::Above, if rose { (max_p * self.beta).min(self.top) } else { max_p })
        } else if avg > self.min_th && avg < self.max_th {
            (Status::Between, max_p)
        } else {
            (status, max_p)
        }
    }
}

/// The state of Feng's Adaptive RED.
#[derive(Clone, Debug)]
pub struct FengAred {
    red: Red,
    status: Status,
    rule: Rule,
}

impl Aqm for FengAred {
    delegate!(red: on_overflow, on_idle);

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let was_idle = self.red.sample(cx);
        let max_p = self.red.curve().max_p();
        let (status, next) = self.rule.adapt(self.status, max_p, self.red.average());
        self.status = status;
        if next != max_p {
            self.red.curve_mut().set_max_p(next);
        }
        self.red.decide(cx, pkt, was_idle)
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.red.observe(out);
        out.value("max_p", "1", self.red.curve().max_p());
    }
}

equations! {
    Rule::adapt(min_th, max_th, alpha, beta, bottom, top, status: Status, max_p, avg) -> status, max_p = {
        let (status, max_p) = Rule { min_th, max_th, alpha, beta, bottom, top }.adapt(status, max_p, avg);
        // -1, 0 and 1 for below, between and above.
        (status as i8 - 1, max_p)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From either end `max_p` returns within a dozen crossings of the same threshold.
    #[test]
    fn max_p_recovers_from_the_worst_values() {
        let rule = Rule { min_th: 10.0, max_th: 30.0, alpha: 3.0, beta: 2.0, bottom: 1e-4, top: 1.0 };
        for (start, far, near) in [(1e-4, 40.0, 20.0), (1.0, 5.0, 20.0)] {
            let (mut status, mut max_p) = (Status::Between, start);
            let crossings = (0..)
                .take_while(|_| {
                    for avg in [far, near] {
                        (status, max_p) = rule.adapt(status, max_p, avg);
                    }
                    if start < 0.1 { max_p < 0.1 } else { max_p > 0.01 }
                })
                .count();
            assert!(crossings < 12, "{crossings} from {start}");
        }
    }
}
