//! DSRED: double slope random early detection (Zheng and Atiquzzaman 2000).
//!
//! RED whose probability rises in two straight pieces that meet halfway between the thresholds: a flat
//! one and a steep one, so that light congestion is answered gently and heavy congestion is answered
//! before the buffer is full.
//!
//! Experimental: not checked against the paper. Not verified: the average (RED's, weight 0.002), the
//! two slopes `alpha = 2 (1 - gamma)/(k_h - k_l)` and `beta = 2 gamma/(k_h - k_l)`, the middle
//! `k_m = (k_l + k_h)/2` and `gamma` 0.96. Chosen here: default thresholds that span the range of RED's
//! gentle curve, independent decisions unless `spacing` says otherwise, and RED's aging over idle
//! periods.

use quell_units::{QueueSize, Time};

use crate::params::ParamError;
use crate::part::{Average, Gauge, Spacer, Spacing, Thresholds, Weight, thresholds};
use crate::{Aqm, Cause, Ctx, Link, PacketMeta, Probe, Verdict, params};

params! {
    /// DSRED's parameters.
    pub struct DsredParams {
        /// K_l: average queue below which nothing is signaled; its unit determines whether the queue is measured in
        /// packets or bytes.
        k_l: QueueSize = QueueSize::Packets(5.0), unit "packets or bytes", source "chosen: RED's min_th";
        /// K_h: average queue at or above which everything is dropped.
        k_h: QueueSize = QueueSize::Packets(30.0), unit "packets or bytes", source "chosen: twice RED's max_th, where its gentle curve ends";
        /// The probability halfway between the two is 1 - gamma.
        gamma: f64 = 0.96, unit "1", source "Zheng and Atiquzzaman 2000, not verified";
        /// Weight of a new sample in the average; or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }.
        weight: Weight = Weight::Value(0.002), unit "1", source "Floyd and Jacobson 1993";
        /// Spacing of signals: "uniform", "uniform-pseudocode", "wait", "one-draw" (Linux) or "geometric".
        spacing: Spacing = Spacing::Geometric, unit "name", source "chosen: the probability as computed";
    }
}

impl DsredParams {
    /// DSRED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: thresholds that do not rise or differ in unit, `gamma`
    /// outside [0, 1], a weight outside (0, 1].
    pub fn build(&self, link: &Link) -> Result<Dsred, ParamError> {
        link.check()?;
        require!((0.0..=1.0).contains(&self.gamma), self.gamma, "must lie in [0, 1]")?;
        let (k_l, k_h) = thresholds(self.k_l, self.k_h, Thresholds::Rise, link).map_err(|e| ParamError {
            field: if e.field == "min_th" { "k_l" } else { "k_h" },
            rule: e.rule.replace("min_th", "k_l"),
            ..e
        })?;
        Ok(Dsred {
            avg: Average::new(self.weight.resolve(link)?, Gauge::of(self.k_l, link), link),
            slopes: Slopes { k_l, k_h, gamma: self.gamma },
            spacer: Spacer::new(self.spacing),
            p_d: 0.0,
        })
    }
}

/// DSRED's state.
#[derive(Clone, Debug)]
pub struct Dsred {
    avg: Average,
    slopes: Slopes,
    spacer: Spacer,
    /// The probability of the last arrival, before spacing.
    p_d: f64,
}

impl Aqm for Dsred {
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.avg.arrive(cx, pkt, |avg, cx| {
            self.p_d = self.slopes.probability(avg);
            if self.p_d <= 0.0 {
                self.spacer.rest();
                return Verdict::Pass;
            }
            if self.p_d >= 1.0 {
                self.spacer.rest();
                return Verdict::Drop(Cause::Forced);
            }
            if !cx.rng.chance(self.spacer.next(self.p_d, 1.0)) {
                return Verdict::Pass;
            }
            self.spacer.restart();
            Verdict::Signal(Cause::Early)
        })
    }

    fn on_overflow(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) {
        self.spacer.overflow();
    }

    fn on_idle(&mut self, since: Time) {
        self.avg.idle(since);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("avg", "packets", self.avg.get());
        out.value("p", "1", self.p_d);
    }
}

/// The curve, in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slopes {
    /// Its lower end.
    pub k_l: f64,
    /// Its upper end.
    pub k_h: f64,
    /// One minus the probability halfway.
    pub gamma: f64,
}

impl Slopes {
    /// The probability at an average queue (Zheng and Atiquzzaman 2000).
    #[inline]
    pub fn probability(&self, avg: f64) -> f64 {
        let (half, k_m) = ((self.k_h - self.k_l) / 2.0, (self.k_l + self.k_h) / 2.0);
        if avg < self.k_l {
            0.0
        } else if avg < k_m {
            (1.0 - self.gamma) * (avg - self.k_l) / half
        } else if avg < self.k_h {
            (1.0 - self.gamma + self.gamma * (avg - k_m) / half).min(1.0)
        } else {
            1.0
        }
    }
}

equations! {
    Slopes::probability(k_l, k_h, gamma, avg) -> p = Slopes { k_l, k_h, gamma }.probability(avg);
}
