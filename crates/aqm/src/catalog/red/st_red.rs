//! ST-RED: statistical tuning of RED (Chen 2010, chapter 5, Fig. 5.3).
//!
//! [Adaptive RED](crate::ared) that also watches how much the queue varies around `q_ref`, halfway
//! between its thresholds. Oscillations that are large compared with `q_ref` mean that the
//! bandwidth-delay product has grown: thresholds and interval grow with it, and the weight shrinks.
//! Oscillations that are small mean the opposite. Two geometric averages of the squared distance show
//! this: a fast one (sigma) measures, and a slow one (g), over a narrower range, detects.
//!
//! What Chen 2010 leaves open, and what this file does:
//! - `h_s` is printed as 0.03/sqrt 3 (ch. 5) and 0.04/sqrt 3 (ch. 6). With `q_ref` = 40 that is a
//!   deviation of 0.7 packets, which no run reaches, so that the thresholds would never fall again, as
//!   Fig. 5.4 shows that they do. The default is ten times that; see the page.
//! - "Unlike ARED, we do not restrict `max_p`": as a probability it is at most 1, and `max_p_bottom` is
//!   low enough to have no effect and high enough to return from in seconds.
//! - Bounds of `q_ref`: a queue that equals `q_ref` gives k = 0, from which there is no return. k is
//!   clipped so that `q_ref` stays within `q_ref_bottom` and `q_ref_top`. Chen 2010 has no bounds; in
//!   its experiments `q_ref` stays between 40 and 130 packets.
//! - The current period ends as planned; a new interval takes effect with the next one.
//! - Figure 5.1 tests `q < l_range` and `q < d_range` where Fig. 5.3 has both ends of the ranges; this
//!   file follows the latter.
//! - Table 5-1 to 5-5 use thresholds, interval and weight that change together by k; `sigma^2` is not
//!   reset, `g^2` is.

use alloc::vec::Vec;

use quell_units::{Duration, QueueSize};

use super::red::{Signals, red_params};
use crate::ared::{Ared, AredParams};
use crate::params::{AutoSize, ParamError, Remark, in_range, positive_to};
use crate::part::Weight;
use crate::part::detector::{Detector, upper_coefficient};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict};

/// 0.3 / sqrt 3: ten times the printed value.
const H_S: f64 = 0.173_205_080_756_887_73;

red_params! {
    /// ST-RED's parameters.
    pub struct StRedParams {
        /// Average queue below which nothing is signaled, at the start; its unit determines whether the queue is
        /// measured in packets or bytes.
        min_th: QueueSize = QueueSize::Packets(20.0), unit "packets or bytes", source "Chen 2010, section 5.5, for 10 Mbit/s, 100 ms and 100 flows";
        /// Average queue at which the probability reaches max_p, at the start.
        max_th: QueueSize = QueueSize::Packets(60.0), unit "packets or bytes", source "Chen 2010, section 5.5";
        /// Weight of a new sample in the average, at the start; or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }.
        weight: Weight = Weight::Value(5e-5), unit "1", source "Chen 2010, section 5.5";
        /// Probability at max_th at the start.
        max_p: f64 = 0.1, unit "1", source "Floyd 1997; Chen 2010, section 2.3.2";
        /// Lets the probability rise from max_p at max_th to 1 at twice max_th; without it, the probability
        /// is 1 from max_th on.
        gentle: bool = true, unit "true or false", source "as ARED; false is Chen 2010, section 5.2";
        /// Largest max_p.
        max_p_top: f64 = 1.0, unit "1", source "Chen 2010, section 5.3: not restricted";
        /// Smallest max_p.
        max_p_bottom: f64 = 1e-6, unit "1", source "this implementation; Chen 2010, section 5.3: not restricted";
        /// Time between two changes of max_p, at the start.
        interval: Duration = Duration::from_millis(500), unit "s", source "Chen 2010, section 5.5";
        /// Largest step up of max_p; the step is min(alpha, max_p / 4).
        alpha: f64 = 0.01, unit "1", source "Chen 2010, Fig. 5.3";
        /// Factor of a step down of max_p.
        beta: f64 = 0.9, unit "1", source "Chen 2010, Fig. 5.3";
        /// Forgetting factor of the variance, in weights.
        phi1: f64 = 1.0, unit "1", source "Chen 2010, Fig. 5.3, section 5.4.1";
        /// Forgetting factor of the detection function, in weights; below phi1.
        phi2: f64 = 0.25, unit "1", source "Chen 2010, Fig. 5.3, section 5.4.1";
        /// Half width of the range of the detection function, in q_ref; the upper threshold h_l is gamma / sqrt 3.
        gamma: f64 = 0.7, unit "1", source "Chen 2010, Fig. 5.3, section 5.4.2";
        /// Lower threshold of the deviation, in q_ref, below h_l.
        h_s: f64 = H_S, unit "1", source "0.3 / sqrt 3: ten times what Chen 2010, section 5.5 prints, which no run reaches";
        /// Smallest q_ref; auto: 10 packets, or q_ref at the start if that is less.
        q_ref_bottom: AutoSize = AutoSize::Auto, unit "packets or bytes", source "min_th of 5 packets (Chen 2010, section 3.2.3); no bound is given";
        /// Largest q_ref; auto: half the buffer, or q_ref at the start if that is more.
        q_ref_top: AutoSize = AutoSize::Auto, unit "packets or bytes", source "2 q_ref is the largest steady queue (Chen 2010, section 5.3.1); no bound is given";
    }
}

impl StRedParams {
    /// Adaptive RED with the initial parameters of ST-RED.
    pub fn ared(&self) -> AredParams {
        AredParams {
            min_th: AutoSize::Size(self.min_th),
            max_th: AutoSize::Size(self.max_th),
            max_p: self.max_p,
            gentle: self.gentle,
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

    /// ST-RED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: those of Adaptive RED, thresholds of the deviation that do
    /// not rise, forgetting factors that do not fall, bounds of `q_ref` that do not contain it.
    pub fn build(&self, link: &Link) -> Result<StRed, ParamError> {
        let ared = self.ared().build(link)?;
        in_range("phi1", self.phi1, 1e-6, 1.0, "Chen 2010, section 5.4.1")?;
        require!(
            self.phi2 >= 1e-6 && self.phi2 < self.phi1,
            self.phi2,
            "must lie in [0.000001, phi1), with phi1 = {} [Chen 2010, section 5.4.1]",
            self.phi1
        )?;
        positive_to("gamma", self.gamma, 1.0, "Chen 2010, section 5.4.2")?;
        let h_l = upper_coefficient(self.gamma);
        require!(
            self.h_s > 0.0 && self.h_s < h_l,
            self.h_s,
            "must lie in (0, gamma / sqrt 3), with gamma = {} [Chen 2010, section 5.4.2]",
            self.gamma
        )?;
        let (min_th, max_th) = ared.red().curve().thresholds();
        let q_ref = (min_th + max_th) / 2.0;
        let half_buffer = link.buffer.in_packets(link.mean_packet) / 2.0;
        let bottom = self.q_ref_bottom.in_packets(link, q_ref.min(10.0));
        let top = self.q_ref_top.in_packets(link, q_ref.max(half_buffer));
        require!(
            bottom > 0.0 && bottom <= q_ref,
            self.q_ref_bottom,
            "must be positive and at most (min_th + max_th)/2 = {q_ref} packets"
        )?;
        require!(
            top >= q_ref && top.is_finite(),
            self.q_ref_top,
            "must be at least (min_th + max_th)/2 = {q_ref} packets"
        )?;
        Ok(StRed {
            ared,
            interval: self.interval.as_secs_f64(),
            detector: Detector::new(self.gamma, self.h_s, self.phi1, self.phi2, q_ref),
            bounds: (bottom, top),
            changes: 0,
        })
    }
}

/// ST-RED's state.
#[derive(Clone, Debug)]
pub struct StRed {
    ared: Ared,
    /// Interval in seconds.
    interval: f64,
    detector: Detector,
    /// Smallest and largest `q_ref` in packets.
    bounds: (f64, f64),
    /// Number of times that the parameters have been adjusted.
    changes: u64,
}

impl StRed {
    /// Chen 2010, Fig. 5.3: the parameters by a factor, as far as the bounds allow.
    #[cold]
    fn adjust(&mut self, k: f64) {
        let (bottom, top) = self.bounds;
        let q_ref = self.detector.q_ref;
        let k = k.clamp(bottom / q_ref, top / q_ref);
        let red = self.ared.red_mut();
        let (min_th, max_th) = red.curve().thresholds();
        red.curve_mut().set_thresholds(k * min_th, k * max_th);
        red.set_weight((red.weight() / k).min(1.0));
        self.interval *= k;
        self.ared.ticker_mut().set_interval(Duration::from_secs_f64(self.interval));
        self.detector.restart((k * q_ref).clamp(bottom, top));
        self.changes += 1;
    }
}

impl Aqm for StRed {
    delegate!(ared: on_overflow, on_idle, next_update, on_update);

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let red = self.ared.red();
        if let Some(k) = self.detector.sample(red.measure(cx), red.weight()) {
            self.adjust(k);
        }
        self.ared.on_enqueue(cx, pkt)
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.ared.observe(out);
        out.value("sigma", "packets", libm::sqrt(self.detector.s2));
        out.value("g", "packets", libm::sqrt(self.detector.g2));
        let (min_th, max_th) = self.ared.red().curve().thresholds();
        out.value("min_th", "packets", min_th);
        out.value("max_th", "packets", max_th);
        out.value("q_ref", "packets", self.detector.q_ref);
        out.value("w", "1", self.ared.red().weight());
        out.value("interval", "s", self.interval);
        out.value("changes", "1", self.changes as f64);
    }
}
