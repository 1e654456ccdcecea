//! PD-RED: RED whose `max_p` is set by a proportional-derivative rule (Sun et al. 2003).
//!
//! As in Adaptive RED, `max_p` follows the load, but by a control law instead of steps: at every
//! interval it moves by a share of the average's distance from its target, and by a share of how far
//! the average has moved since the last interval.
//!
//! Experimental: not checked against the paper. Not verified: the law in [`Gains::next_max_p`], errors as
//! shares of the buffer, gains 0.001 and 0.05, an interval of 10 ms, `max_p` kept in [0, 1]. Chosen
//! here: the target halfway between the thresholds if none is given (Adaptive RED's), RED's thresholds
//! and gentle curve, updates on multiples of the interval, an average that ages while the link is idle.

use alloc::vec::Vec;

use quell_units::{Duration, QueueSize};

use crate::params::{AutoSize, ParamError, Remark, positive, positive_queue};
use crate::part::{Forced, SignalMode, Spacing, Ticker, Weight};
use crate::red::{Red, RedParams};
use crate::{Aqm, Ctx, Link, Probe, params};

params! {
    /// PD-RED's parameters.
    pub struct PdRedParams {
        /// Average queue below which nothing is signaled; its unit determines whether the queue is measured in packets
        /// or bytes.
        min_th: QueueSize = QueueSize::Packets(5.0), unit "packets or bytes", source "as RED";
        /// Average queue at which the probability reaches max_p.
        max_th: QueueSize = QueueSize::Packets(15.0), unit "packets or bytes", source "as RED";
        /// Average queue to hold; auto: halfway between the thresholds.
        q_ref: AutoSize = AutoSize::Auto, unit "packets or bytes", source "chosen: as Adaptive RED";
        /// Probability at max_th at the start.
        max_p: f64 = 0.1, unit "1", source "as RED";
        /// Proportional gain, of the error as a share of the buffer.
        k_p: f64 = 0.001, unit "1", source "Sun et al. 2003, not verified";
        /// Derivative gain, of the change of that error in one interval.
        k_d: f64 = 0.05, unit "1", source "Sun et al. 2003, not verified";
        /// Time between two changes of max_p.
        interval: Duration = Duration::from_millis(10), unit "s", source "Sun et al. 2003, not verified";
        /// Weight of a new sample in the average; or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }.
        weight: Weight = Weight::Value(0.002), unit "1", source "Floyd and Jacobson 1993";
        /// Lets the probability rise from max_p at max_th to 1 at twice max_th; without it, the probability
        /// is 1 from max_th on. Where it is 1, every arrival is dropped, ECN-capable or not.
        gentle: bool = true, unit "true or false", source "as RED";
        /// Spacing of signals: "uniform", "uniform-pseudocode", "wait", "one-draw" (Linux) or "geometric".
        spacing: Spacing = Spacing::Uniform, unit "name", source "Floyd and Jacobson 1993, section 7";
        /// Effect of a packet's size on its probability: none ("per-packet") or proportional ("by-size").
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
        /// How many packets must wait before an arrival is signaled at all, however high the average.
        min_backlog: u32 = 2, unit "packets", source "as RED";
    }
}

impl PdRedParams {
    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        let target = Remark::on_queue("q_ref", self.target(), link);
        target.into_iter().chain(Remark::on_backlog(self.min_backlog, link)).collect()
    }

    /// The queue to hold.
    fn target(&self) -> QueueSize {
        let middle = || self.min_th.with_value((self.min_th.value() + self.max_th.value()) / 2.0);
        self.q_ref.or_else(middle)
    }

    /// PD-RED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: those of RED, a target that the buffer cannot hold, gains
    /// that are not positive.
    pub fn build(&self, link: &Link) -> Result<PdRed, ParamError> {
        let red = RedParams {
            min_th: self.min_th,
            max_th: self.max_th,
            max_p: self.max_p,
            weight: self.weight,
            gentle: self.gentle,
            spacing: self.spacing,
            signal: self.signal,
            mark_limit: None,
            forced: Forced::Drop,
            min_backlog: self.min_backlog,
            ..Default::default()
        }
        .build_rising(link)?;
        positive("k_p", self.k_p, "Sun et al. 2003")?;
        require!(self.k_d >= 0.0 && self.k_d.is_finite(), self.k_d, "must not be negative")?;
        let q_ref = self.target();
        require!(q_ref.same_unit(self.min_th), q_ref, "must have the unit of min_th ({})", self.min_th)?;
        Ok(PdRed {
            red,
            ticker: Ticker::new("interval", self.interval)?,
            gains: Gains { k_p: self.k_p, k_d: self.k_d },
            q_ref: positive_queue("q_ref", q_ref, link)?,
            buffer: link.buffer.in_packets(link.mean_packet),
            error: None,
        })
    }
}

/// PD-RED's state.
#[derive(Clone, Debug)]
pub struct PdRed {
    red: Red,
    ticker: Ticker,
    gains: Gains,
    /// The target and the buffer in packets.
    q_ref: f64,
    buffer: f64,
    /// The error at the last update.
    error: Option<f64>,
}

impl Aqm for PdRed {
    delegate!(ticker: next_update);
    delegate!(red: on_enqueue, on_overflow, on_idle);

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        let error = (self.red.average_now(cx) - self.q_ref) / self.buffer;
        let before = self.error.replace(error).unwrap_or(error);
        let curve = self.red.curve_mut();
        curve.set_max_p(self.gains.next_max_p(curve.max_p(), error, before));
        self.ticker.advance();
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.red.observe(out);
        out.value("max_p", "1", self.red.curve().max_p());
    }
}

/// The gains of the control law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Gain of the error.
    pub k_p: f64,
    /// Gain of its change.
    pub k_d: f64,
}

impl Gains {
    /// Sun et al. 2003: `max_p += k_p e + k_d (e - e_before)`, kept in [0, 1]; `error` is
    /// `(avg - q_ref)/B`.
    #[inline]
    pub fn next_max_p(&self, max_p: f64, error: f64, before: f64) -> f64 {
        (max_p + self.k_p * error + self.k_d * (error - before)).clamp(0.0, 1.0)
    }
}

equations! {
    Gains::next_max_p(k_p, k_d, max_p, error, before) -> max_p =
        Gains { k_p, k_d }.next_max_p(max_p, error, before);
}

#[cfg(test)]
mod tests {
    use quell_units::{BitRate, Bytes, Packets, Time};

    use super::*;
    use crate::{PacketMeta, QueueView, Seed};

    /// From the worst starts, a queue that is the shorter the larger `max_p` finds its target, and so
    /// the same `max_p`.
    #[test]
    fn max_p_recovers_from_either_end() {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(100.0),
            mean_packet: Bytes::new(500),
        };
        let mut rng = Seed(1).stream("pd");
        let ends = [1e-6, 1.0].map(|max_p| {
            let params = PdRedParams { max_p, weight: Weight::Value(1.0), ..PdRedParams::default() };
            let mut pd = params.build(&link).unwrap();
            // The plant: a queue of 10 at 0.1, shorter by one for each 0.01 more.
            for step in 1..60_000u64 {
                let q = (20.0 - 100.0 * pd.red.curve().max_p()).clamp(0.0, 100.0) as u32;
                let now = Time::from_nanos(step * 10_000_000);
                let pkt = PacketMeta {
                    bytes: Bytes::new(500),
                    enqueued_at: now,
                    flow: crate::FlowId(0),
                    ecn: crate::Ecn::Ect0,
                    ..Default::default()
                };
                pd.on_update(&mut Ctx::new(now, view(q), &mut rng));
                let _ = pd.on_enqueue(&mut Ctx::new(now, view(q), &mut rng), &pkt);
            }
            pd.red.curve().max_p()
        });
        // The target is 10; whole packets make it a band.
        assert!(ends.iter().all(|p| (0.09..0.1001).contains(p)), "{ends:?}");
    }

    fn view(packets: u32) -> QueueView {
        QueueView {
            packets: Packets::new(packets),
            bytes: Bytes::new(500 * u64::from(packets)),
            head_since: None,
            link_rate: None,
        }
    }
}
