//! Fuzzy RED (Trinh and Molnár, section 5; after Keshav 1991).
//!
//! RED whose weight is chosen at each arrival from how far the queue is from the average, the scaled
//! error `|q - avg| / avg`, by three fuzzy rules. The rest is RED.
//!
//! The printed rules are: error high, weight low; error medium, weight medium; error low, weight high.
//! For an average in which the weight is that of the new sample (Trinh and Molnár, eq. 2) that is the
//! opposite of what the text gives as the reason, to "track changes in the system" when the error is large:
//! the weight of Keshav's average is that of the past. `rule` offers both readings.
//!
//! What the paper leaves open, and what this file does:
//! - The shapes in Fig. 4 are not given in numbers, only the ranges. Here the sets divide the range of
//!   the error into thirds: low falls from 1 to 0 over the first, medium rises over the first, is 1
//!   over the second and falls over the third, and high rises over the third. The degrees add up to
//!   one.
//! - The weight is the mean of the values low, medium (halfway) and high, weighted by the degrees of
//!   the rules (height defuzzification).
//! - An average of zero makes the scaled error infinite, hence high; for an empty queue it is 0.
//! - No smoothed proportional error, as in the paper.
//! - Idle: every packet that could have passed would have met an empty queue, an error of exactly 1,
//!   and the average ages with the weight for it.

use alloc::vec::Vec;

use quell_units::QueueSize;

use super::red::{Signals, red_params};
use crate::params::{ParamError, Remark, positive_to};
use crate::part::Weight;
use crate::red::{Red, RedParams};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict};

choice! {
    /// Direction of the rules.
    pub enum FuzzyRule {
        /// A large error lowers the weight of the new sample (Trinh and Molnár, section 5.1, as
        /// printed).
        Printed = "printed",
        /// A large error raises it (Trinh and Molnár, section 5.1, the reasoning; Keshav 1991).
        Keshav = "keshav",
    }
}

red_params! {
    /// Fuzzy RED's parameters.
    pub struct FuzzyRedParams {
        /// Average queue below which nothing is signaled; its unit determines whether the queue is measured in packets
        /// or bytes.
        min_th: QueueSize = QueueSize::Packets(10.0), unit "packets or bytes", source "Trinh and Molnár, section 4.1";
        /// Average queue at which the probability reaches max_p.
        max_th: QueueSize = QueueSize::Packets(30.0), unit "packets or bytes", source "Trinh and Molnár, section 4.1";
        /// Probability at max_th.
        max_p: f64 = 0.1, unit "1", source "Trinh and Molnár, section 4.1";
        /// Direction of the rules: "printed" or "keshav".
        rule: FuzzyRule = FuzzyRule::Printed, unit "name", source "Trinh and Molnár, section 5.1";
        /// Scaled error up to which the error is low.
        error_low: f64 = 0.06, unit "1", source "Trinh and Molnár, section 5.1.1";
        /// Scaled error at or above which the error is high.
        error_high: f64 = 0.2, unit "1", source "Trinh and Molnár, section 5.1.1";
        /// The low weight.
        weight_low: f64 = 0.002, unit "1", source "Trinh and Molnár, section 5.1.1";
        /// The high weight.
        weight_high: f64 = 0.05, unit "1", source "Trinh and Molnár, section 5.1.1";
        /// Lets the probability rise from max_p at max_th to 1 at twice max_th; without it, the probability
        /// is 1 from max_th on.
        gentle: bool = true, unit "true or false", source "Floyd 2000; Chen 2010, eq. 2.4";
    }
}

impl FuzzyRedParams {
    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Signals::from(self).remarks(link).collect()
    }

    /// Fuzzy RED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: those of RED, ranges that do not rise.
    pub fn build(&self, link: &Link) -> Result<FuzzyRed, ParamError> {
        link.check()?;
        require!(
            self.error_low >= 0.0,
            self.error_low,
            "must not be negative [Trinh and Molnár, section 5.1.1]"
        )?;
        require!(
            self.error_high - self.error_low > 1e-9 && self.error_high.is_finite(),
            self.error_high,
            "must exceed error_low ({}) [Trinh and Molnár, section 5.1.1]",
            self.error_low
        )?;
        positive_to("weight_low", self.weight_low, 1.0, "Trinh and Molnár, section 5.1.1")?;
        require!(
            self.weight_high >= self.weight_low && self.weight_high <= 1.0,
            self.weight_high,
            "must lie in [weight_low, 1], with weight_low = {} [Trinh and Molnár, section 5.1.1]",
            self.weight_low
        )?;
        let rules = FuzzyRules {
            rule: self.rule,
            error: (self.error_low, self.error_high),
            weight: (self.weight_low, self.weight_high),
        };
        let red = RedParams {
            min_th: self.min_th,
            max_th: self.max_th,
            max_p: self.max_p,
            // That of idle times; arrivals have their own.
            weight: Weight::Value(rules.weight(1.0)),
            gentle: self.gentle,
            ..Signals::from(self).into()
        }
        .build_rising(link)?;
        Ok(FuzzyRed { red, rules, weight: rules.weight(0.0), error: 0.0 })
    }
}

/// Fuzzy RED's state.
#[derive(Clone, Debug)]
pub struct FuzzyRed {
    red: Red,
    rules: FuzzyRules,
    /// The weight of the last arrival.
    weight: f64,
    /// The scaled error of the last arrival, at most 1: nothing changes beyond.
    error: f64,
}

impl Aqm for FuzzyRed {
    delegate!(red: on_overflow, on_idle);

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let FuzzyRed { red, rules, weight, error } = self;
        let was_idle = red.sample_as(cx, |avg, q| {
            *error = scaled_error(q, avg);
            *weight = rules.weight(*error);
            *weight
        });
        red.decide(cx, pkt, was_idle)
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.red.observe(out);
        out.value("error", "1", self.error.min(1.0));
        out.value("w", "1", self.weight);
    }
}

/// The three rules with their ranges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FuzzyRules {
    /// Direction of the rules.
    pub rule: FuzzyRule,
    /// The errors up to which one is low and from which on it is high.
    pub error: (f64, f64),
    /// The low and the high weight.
    pub weight: (f64, f64),
}

impl FuzzyRules {
    /// Trinh and Molnár, section 5.1: the weight for a scaled error.
    #[inline]
    pub fn weight(&self, error: f64) -> f64 {
        let [low, medium, high] = memberships(error, self.error);
        let (w_low, w_high) = self.weight;
        let w_medium = (w_low + w_high) / 2.0;
        match self.rule {
            FuzzyRule::Printed => high * w_low + medium * w_medium + low * w_high,
            FuzzyRule::Keshav => low * w_low + medium * w_medium + high * w_high,
        }
    }
}

/// The degrees to which an error is low, medium and high (Trinh and Molnár, section 5.1.1, trapezoids
/// over the thirds of the range).
#[inline]
pub fn memberships(error: f64, (low, high): (f64, f64)) -> [f64; 3] {
    let thirds = 3.0 * (error - low) / (high - low);
    let is_low = (1.0 - thirds).clamp(0.0, 1.0);
    let is_high = (thirds - 2.0).clamp(0.0, 1.0);
    [is_low, 1.0 - is_low - is_high, is_high]
}

/// Trinh and Molnár, section 5.1: `|q - avg| / avg`; infinite beside an average of zero, unless the queue is
/// empty too.
#[inline]
pub fn scaled_error(q: f64, avg: f64) -> f64 {
    if q == avg { 0.0 } else { libm::fabs(q - avg) / avg }
}

equations! {
    memberships(error, error_low, error_high) -> low, medium, high = {
        let [low, medium, high] = memberships(error, (error_low, error_high));
        (low, medium, high)
    };
    FuzzyRules::weight(rule: FuzzyRule, error_low, error_high, weight_low, weight_high, error) -> w = {
        let (range, weight) = ((error_low, error_high), (weight_low, weight_high));
        FuzzyRules { rule, error: range, weight }.weight(error)
    };
    scaled_error(q, avg) -> error = scaled_error(q, avg);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(rule: FuzzyRule) -> FuzzyRules {
        FuzzyRules { rule, error: (0.06, 0.2), weight: (0.002, 0.05) }
    }

    /// A wrong average reaches a steady queue whatever it was, by either rule.
    #[test]
    fn the_average_recovers_from_the_worst_values() {
        for rule in [FuzzyRule::Printed, FuzzyRule::Keshav] {
            for start in [0.0, 500.0] {
                let mut avg = start;
                for _ in 0..4000 {
                    avg += rules(rule).weight(scaled_error(20.0, avg)) * (20.0 - avg);
                }
                assert!((avg - 20.0).abs() < 2.0, "{rule:?} from {start}: {avg}");
            }
        }
    }
}
