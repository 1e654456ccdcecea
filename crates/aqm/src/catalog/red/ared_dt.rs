//! Adaptive RED with dynamic thresholds (RED+Tail, section V).
//!
//! [Adaptive RED](crate::ared) whose thresholds rise together while the mean drop probability is above
//! a desired range and fall while it is below, so that a heavy load costs delay instead of loss. The
//! distance D between the thresholds, and so the slope of the curve, does not change.
//!
//! What the paper leaves open, and what this file does:
//! - When the thresholds move: every `interval`, after `max_p`.
//! - The probability that is averaged is that of RED's curve, before spacing, as Fig. 11 seems to show;
//!   with uniform spacing nearly twice as many arrivals are signaled, with `wait` two thirds. The
//!   weight of the average is a parameter.
//! - An idle period ages the mean as it ages RED's average: as if small packets had met an empty queue.
//! - Bounds: `min_th` falls no lower than `min_th_bottom` and rises no higher than `min_th_top`. The
//!   paper has none, and a threshold that changes only by factors would take as long to return from a
//!   night without traffic as it took to fall.

use alloc::vec::Vec;

use quell_units::Duration;

use super::red::{Signals, red_params};
use crate::ared::{Ared, AredParams};
use crate::params::{AutoSize, ParamError, Remark};
use crate::part::{Ewma, Weight, WeightRule};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict};

red_params! {
    /// Parameters of Adaptive RED with dynamic thresholds.
    pub struct AredDtParams {
        /// Mean queueing delay that automatic thresholds aim for.
        target_delay: Duration = Duration::from_millis(5), unit "s", source "Floyd et al. 2001; ns-2";
        /// Average queue below which nothing is signaled, at the start; auto: max(5 packets, target_delay C /
        /// 2), measured in the unit of the buffer.
        min_th: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Chen 2010, section 3.2.3";
        /// Average queue at which the probability reaches max_p, at the start; auto: 3 min_th.
        max_th: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Chen 2010, section 3.2.3";
        /// Smallest min_th; auto: 5 packets, or min_th at the start if that is less.
        min_th_bottom: AutoSize = AutoSize::Auto, unit "packets or bytes", source "the floor of Chen 2010, section 3.2.3; the paper gives none";
        /// Largest min_th; auto: what leaves room for max_th in the buffer, or min_th at the start if that is more.
        min_th_top: AutoSize = AutoSize::Auto, unit "packets or bytes", source "this implementation; the paper gives none";
        /// Relative change of min_th.
        gamma: f64 = 0.05, unit "1", source "RED+Tail, section V";
        /// Mean drop probability below which the thresholds fall.
        p_l: f64 = 0.01, unit "1", source "RED+Tail, section V, Fig. 11";
        /// Mean drop probability above which the thresholds rise.
        p_u: f64 = 0.02, unit "1", source "RED+Tail, section V, Fig. 11";
        /// Weight of an arrival in the mean drop probability, in the forms of weight.
        p_weight: Weight = Weight::Rule(WeightRule::LinkRate), unit "1", source "that of the average queue; the paper gives none";
        /// Probability at max_th at the start.
        max_p: f64 = 0.1, unit "1", source "Floyd 1997; Chen 2010, section 2.3.2";
        /// Largest max_p.
        max_p_top: f64 = 0.5, unit "1", source "Chen 2010, section 3.2.2";
        /// Smallest max_p.
        max_p_bottom: f64 = 0.01, unit "1", source "Chen 2010, section 3.2.2";
        /// Time between two changes of max_p and of the thresholds.
        interval: Duration = Duration::from_millis(500), unit "s", source "Floyd et al. 2001, figure 1";
        /// Largest step of max_p up; the step is min(alpha, max_p / 4).
        alpha: f64 = 0.01, unit "1", source "RED+Tail, Table II";
        /// Factor of a step of max_p down.
        beta: f64 = 0.9, unit "1", source "RED+Tail, Table II";
        /// Weight of a new sample in the average; or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }.
        weight: Weight = Weight::Rule(WeightRule::LinkRate), unit "1", source "Chen 2010, section 3.2.3";
    }
}

impl AredDtParams {
    fn ared(&self) -> AredParams {
        AredParams {
            target_delay: self.target_delay,
            min_th: self.min_th,
            max_th: self.max_th,
            max_p: self.max_p,
            max_p_top: self.max_p_top,
            max_p_bottom: self.max_p_bottom,
            interval: self.interval,
            alpha: self.alpha,
            beta: self.beta,
            weight: self.weight,
            ..Signals::from(self).into()
        }
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        self.ared().remarks(link)
    }

    /// Adaptive RED with dynamic thresholds for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: those of Adaptive RED, an empty range of probabilities,
    /// bounds of `min_th` that do not contain it.
    pub fn build(&self, link: &Link) -> Result<AredDt, ParamError> {
        let ared = self.ared().build(link)?;
        require!(
            self.gamma > 0.0 && self.gamma < 1.0,
            self.gamma,
            "must lie in (0, 1) [RED+Tail, section V]"
        )?;
        require!(self.p_u > 0.0 && self.p_u <= 1.0, self.p_u, "must lie in (0, 1]")?;
        require!(
            self.p_l >= 0.0 && self.p_l < self.p_u,
            self.p_l,
            "must lie in [0, p_u), with p_u = {} [RED+Tail, section V]",
            self.p_u
        )?;
        let mean_p =
            Ewma::new(self.p_weight.resolve(link).map_err(|e| ParamError { field: "p_weight", ..e })?);
        let (start, max_th) = ared.red().curve().thresholds();
        let room = link.buffer.in_packets(link.mean_packet) - (max_th - start);
        let bottom = self.min_th_bottom.in_packets(link, start.min(5.0));
        let top = self.min_th_top.in_packets(link, start.max(room));
        require!(
            bottom > 0.0 && bottom <= start,
            self.min_th_bottom,
            "must be positive and at most min_th ({start} packets): a factor cannot move it away from 0"
        )?;
        require!(
            top >= start && top.is_finite(),
            self.min_th_top,
            "must be at least min_th ({start} packets)"
        )?;
        let range = Range { gamma: self.gamma, p_l: self.p_l, p_u: self.p_u, bottom, top };
        Ok(AredDt { ared, mean_p, range })
    }
}

/// The state of Adaptive RED with dynamic thresholds.
#[derive(Clone, Debug)]
pub struct AredDt {
    ared: Ared,
    /// The mean drop probability.
    mean_p: Ewma,
    range: Range,
}

impl AredDt {
    /// Ages the mean as RED ages its average; runs before RED does so.
    #[inline]
    fn age(&mut self, cx: &Ctx<'_>) {
        let red = self.ared.red();
        if let Some(since) = red.idle_since() {
            self.mean_p.age(red.missed(since, cx));
        }
    }
}

impl Aqm for AredDt {
    delegate!(ared: on_overflow, on_idle, next_update);

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.age(cx);
        let verdict = self.ared.on_enqueue(cx, pkt);
        self.mean_p.sample(self.ared.red().probability());
        verdict
    }

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        self.age(cx);
        self.ared.on_update(cx);
        let curve = self.ared.red_mut().curve_mut();
        let (min_th, max_th) = curve.thresholds();
        let next = self.range.next_min_th(min_th, self.mean_p.avg);
        if next != min_th {
            curve.set_thresholds(next, next + (max_th - min_th));
        }
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.ared.observe(out);
        out.value("mean_p", "1", self.mean_p.avg);
        // Its mean over time is the share of the time that the probability is where it is wanted.
        out.value("in_region", "1", f64::from(self.range.holds(self.mean_p.avg)));
        let (min_th, max_th) = self.ared.red().curve().thresholds();
        out.value("min_th", "packets", min_th);
        out.value("max_th", "packets", max_th);
    }
}

/// The desired range of the mean drop probability, and how `min_th` follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Relative change.
    pub gamma: f64,
    /// P_L.
    pub p_l: f64,
    /// P_U.
    pub p_u: f64,
    /// Smallest `min_th` in packets.
    pub bottom: f64,
    /// Largest `min_th` in packets.
    pub top: f64,
}

impl Range {
    /// Says whether a mean drop probability is desired, so that the thresholds stay.
    pub fn holds(&self, mean_p: f64) -> bool {
        (self.p_l..=self.p_u).contains(&mean_p)
    }

    /// RED+Tail, section V: the next `min_th`; `max_th` keeps its distance.
    pub fn next_min_th(&self, min_th: f64, mean_p: f64) -> f64 {
        if mean_p > self.p_u {
            (min_th * (1.0 + self.gamma)).min(self.top)
        } else if mean_p < self.p_l {
            (min_th * (1.0 - self.gamma)).max(self.bottom)
        } else {
            min_th
        }
    }
}

equations! {
    Range::next_min_th(gamma, p_l, p_u, bottom, top, min_th, mean_p) -> min_th =
        Range { gamma, p_l, p_u, bottom, top }.next_min_th(min_th, mean_p);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From either bound the thresholds cross the whole range in less than a minute of updates.
    #[test]
    fn the_thresholds_recover_from_the_worst_values() {
        let range = Range { gamma: 0.05, p_l: 0.01, p_u: 0.02, bottom: 5.0, top: 400.0 };
        let updates = |mut min_th: f64, mean_p: f64, end: f64| {
            (0..1000)
                .take_while(|_| {
                    min_th = range.next_min_th(min_th, mean_p);
                    min_th != end
                })
                .count()
        };
        assert!(updates(5.0, 0.5, 400.0) < 120);
        assert!(updates(400.0, 0.0, 5.0) < 120);
    }
}
