//! ST-PI: statistical tuning of a PI controller (Chen 2010, chapter 6, Fig. 6.1).
//!
//! A PI controller whose target follows the size of the queue's oscillations: two averages of
//! `(q - q_ref)^2`, a fast one (s) that measures and a slow one (g) that detects. If both say that
//! the deviation is above `h_l q_ref` or below `h_s q_ref`, then `q_ref` is multiplied by the ratio k and
//! the gains are divided by k^2, as the gain of TCP, `(RC)^2/2N`, requires when RC has changed by k.
//!
//! What Chen 2010 leaves open, and what this file does:
//! - It bounds neither `q_ref` nor k. A constant queue would drive both to 0, a violent one
//!   `q_ref` beyond the buffer, where no packet is ever signaled again. Here `q_ref` stays in
//!   [`q_ref_min`, `q_ref_max`], and the gains follow it: `a q_ref^2` is constant.
//! - phi1 is "the system time constant" in Fig. 6.1; the text is right that its inverse is. Here the
//!   parameter is that time.
//! - `h_s` is "fixed in terms of the initial parameters", by no rule.

use quell_units::{Duration, QueueSize};

use crate::params::{AutoSize, ParamError, positive_duration, positive_to};
use crate::part::SignalMode;
use crate::part::detector::{Detector, upper_coefficient};
use crate::pi::{Gains, Pi, PiParams};
use crate::{Aqm, Ctx, Link, Probe, params};

const SQRT_3: f64 = 1.732_050_807_568_877_2;

params! {
    /// ST-PI's parameters.
    pub struct StPiParams {
        /// Gain of the current queue, at the start.
        a: f64 = 7.288e-5, unit "1/packet", source "Chen 2010, section 6.4";
        /// Gain of the queue one sample ago, at the start.
        b: f64 = 7.264e-5, unit "1/packet", source "Chen 2010, section 6.4";
        /// Queue to hold at the start; its unit determines whether the queue is measured in packets or bytes; auto: 50
        /// packets, or half of the buffer if it holds fewer.
        q_ref: AutoSize = AutoSize::Auto, unit "packets or bytes", source "as PI's (ns-2); Chen 2010, section 6.4 has 150 packets, with a buffer of 1000; half the buffer is chosen";
        /// Updates per second.
        sampling_rate: f64 = 170.0, unit "Hz", source "Chen 2010, section 6.4";
        /// Probability at the start, where the integral begins.
        initial_p: f64 = 0.0, unit "1", source "as PI's";
        /// 1/phi1: time constant of the measured deviation; at least the time in which the queue settles.
        time_constant: Duration = Duration::from_secs(7), unit "s", source "Chen 2010, section 6.4";
        /// phi2/phi1: rate of the detecting average against the measuring one.
        detection: f64 = 0.25, unit "1", source "Chen 2010, Fig. 6.1";
        /// Half-width of the band around q_ref that detection considers, as a share of q_ref; h_l is gamma / sqrt 3.
        gamma: f64 = 0.7, unit "1", source "Chen 2010, Fig. 6.1";
        /// Deviation, as a share of q_ref, below which the target falls.
        h_s: f64 = 0.45 / SQRT_3, unit "1", source "Chen 2010, section 6.4: 0.45 / sqrt 3";
        /// Smallest q_ref; auto: 5 packets, or q_ref if that is less.
        q_ref_min: AutoSize = AutoSize::Auto, unit "packets or bytes", source "not in Chen 2010; as the least threshold of ARED (Chen 2010, section 3.2.3)";
        /// Largest q_ref; auto: half the buffer, or q_ref if that is more.
        q_ref_max: AutoSize = AutoSize::Auto, unit "packets or bytes", source "not in Chen 2010; the deviation is measured up to 2 q_ref";
        /// Effect of a packet's size on its probability: none ("per-packet") or proportional ("by-size").
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
    }
}

impl StPiParams {
    /// The queue to hold at the start on a link.
    pub fn target(&self, link: &Link) -> QueueSize {
        self.q_ref.or_target(QueueSize::Packets(50.0), link)
    }

    /// PI with the initial parameters of ST-PI.
    pub fn pi(&self) -> PiParams {
        PiParams {
            a: self.a,
            b: self.b,
            design: None,
            q_ref: self.q_ref,
            sampling_rate: self.sampling_rate,
            initial_p: self.initial_p,
            signal: self.signal,
        }
    }

    /// ST-PI for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: those of PI, bounds that do not contain `q_ref`, a band or
    /// a deviation that cannot be met, an average faster than its samples.
    pub fn build(&self, link: &Link) -> Result<StPi, ParamError> {
        let pi = self.pi().build(link)?;
        positive_duration("time_constant", self.time_constant, "Chen 2010, eq. 6.11")?;
        let phi1_t = 1.0 / (self.time_constant.as_secs_f64() * self.sampling_rate);
        require!(
            phi1_t <= 1.0,
            self.time_constant,
            "must not be shorter than the time between two samples [Chen 2010, eq. 6.11]"
        )?;
        require!(
            self.detection > 0.0 && self.detection <= 1.0,
            self.detection,
            "must lie in (0, 1]: detection is the slower average [Chen 2010, section 6.3.2]"
        )?;
        positive_to("gamma", self.gamma, 1.0, "Chen 2010, Fig. 6.1")?;
        let h_l = upper_coefficient(self.gamma);
        require!(
            self.h_s > 0.0 && self.h_s < h_l,
            self.h_s,
            "must lie in (0, gamma / sqrt 3 = {h_l}) [Chen 2010, Fig. 6.1]"
        )?;
        let q_ref = pi.gains().q_ref;
        let target = self.target(link);
        let buffer = link.buffer.in_packets(link.mean_packet);
        let lowest = self.q_ref_min.in_packets(link, q_ref.min(5.0));
        let highest = self.q_ref_max.in_packets(link, q_ref.max(buffer / 2.0));
        require!(
            lowest > 0.0 && lowest <= q_ref,
            self.q_ref_min,
            "must be positive and at most q_ref ({target})"
        )?;
        require!(
            self.a * (q_ref / lowest) * (q_ref / lowest) <= 1.0,
            self.q_ref_min,
            "must be larger, or reduce `a`: it grows to `a (q_ref / q_ref_min)^2`, which must not exceed 1; q_ref is {target} and `a` is {}",
            self.a
        )?;
        require!(
            highest >= q_ref && highest < buffer,
            self.q_ref_max,
            "must be at least q_ref ({target}) and less than the buffer ({})",
            link.buffer
        )?;
        Ok(StPi {
            start: *pi.gains(),
            detector: Detector::new(self.gamma, self.h_s, phi1_t, self.detection * phi1_t, q_ref),
            bounds: (lowest, highest),
            pi,
        })
    }
}

/// ST-PI's state.
#[derive(Clone, Debug)]
pub struct StPi {
    pi: Pi,
    detector: Detector,
    /// The gains and the target that were set.
    start: Gains,
    /// The least and the largest target, in packets.
    bounds: (f64, f64),
}

impl Aqm for StPi {
    delegate!(pi: on_enqueue, next_update);

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        self.pi.on_update(cx);
        if let Some(k) = self.detector.sample(self.pi.sampled_queue(), 1.0) {
            let q_ref = (k * self.detector.q_ref).clamp(self.bounds.0, self.bounds.1);
            *self.pi.gains_mut() = retuned(&self.start, q_ref);
            self.detector.restart(q_ref);
        }
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.pi.observe(out);
        let gains = self.pi.gains();
        out.value("q_ref", "packets", gains.q_ref);
        out.value("a", "1/packet", gains.a);
        out.value("b", "1/packet", gains.b);
        out.value("s", "packets", libm::sqrt(self.detector.s2));
        out.value("g", "packets", libm::sqrt(self.detector.g2));
    }
}

/// Chen 2010, eq. 6.6: the gains for another target, `K_P / k^2` with `k = q_ref / q_ref0`. Dividing step by
/// step gives the same, without accumulating rounding errors.
pub fn retuned(start: &Gains, q_ref: f64) -> Gains {
    let k = q_ref / start.q_ref;
    Gains { a: start.a / (k * k), b: start.b / (k * k), q_ref }
}

equations! {
    retuned(a, b, q_ref0, q_ref) -> a, b, q_ref = {
        let gains = retuned(&Gains { a, b, q_ref: q_ref0 }, q_ref);
        (gains.a, gains.b, gains.q_ref)
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{QueueView, Seed};
    use quell_units::{BitRate, Bytes, Packets};

    fn link() -> Link {
        Link {
            rate: BitRate::from_bps(15_000_000),
            buffer: QueueSize::Packets(1000.0),
            mean_packet: Bytes::new(500),
        }
    }

    /// Feeds a queue that swings around the target by `amplitude` packets, once in e s, and is measured in
    /// bytes; the target at the end.
    fn swing(aqm: &mut StPi, amplitude: f64, seconds: f64) -> f64 {
        let until = aqm.next_update().unwrap() + Duration::from_secs_f64(seconds);
        let mut rng = Seed(1).stream("unused");
        while aqm.next_update().unwrap() < until {
            let now = aqm.next_update().unwrap();
            let phase = now.as_secs_f64() / core::f64::consts::E * core::f64::consts::TAU;
            let q = (aqm.pi.gains().q_ref + amplitude * libm::sin(phase)).clamp(0.0, 1000.0);
            let queue = QueueView {
                packets: Packets::new(q as u32),
                bytes: Bytes::new((q * 500.0) as u64),
                head_since: None,
                link_rate: None,
            };
            aqm.on_update(&mut Ctx::new(now, queue, &mut rng));
        }
        aqm.pi.gains().q_ref
    }

    #[test]
    fn the_target_recovers_from_the_worst_of_starts() {
        for start in [75.0, 150.0, 490.0] {
            for amplitude in [30.0, 100.0, 250.0] {
                let q_ref = AutoSize::Size(QueueSize::Bytes(500.0 * start));
                let mut aqm =
                    StPiParams { q_ref, a: 1e-5, b: 9.9e-6, ..Default::default() }.build(&link()).unwrap();
                let reached = swing(&mut aqm, amplitude, 3000.0);
                // The deviation of a sine is neither small nor large there.
                let share = amplitude / core::f64::consts::SQRT_2 / reached;
                let (small, large) = (0.45 / SQRT_3, 0.7 / SQRT_3);
                assert!(
                    (0.97 * small..1.03 * large).contains(&share),
                    "from {start}, swing {amplitude}: {reached}"
                );
            }
        }
    }

    #[test]
    fn gains_follow_the_target() {
        let q_ref = AutoSize::Size(QueueSize::Bytes(75_000.0));
        let mut aqm = StPiParams { q_ref, ..Default::default() }.build(&link()).unwrap();
        let q_ref = swing(&mut aqm, 250.0, 1000.0);
        let k = q_ref / 150.0;
        assert!(k > 1.5);
        assert!((aqm.pi.gains().a * k * k - 7.288e-5).abs() < 1e-15);
        assert!((aqm.pi.gains().b * k * k - 7.264e-5).abs() < 1e-15);
    }

    #[test]
    fn a_queue_that_stands_still_leaves_the_least_target() {
        let mut aqm = StPiParams::default().build(&link()).unwrap();
        assert_eq!(swing(&mut aqm, 0.0, 600.0), 5.0);
    }
}
