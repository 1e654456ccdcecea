//! HRED: hybrid RED (Joo et al. 2006, section III).
//!
//! The probability is a straight line in the queue's length over its whole range, from `min_p` at
//! `min_th`; the line's slope is a share of `min_p` that makes the loop's gain the same at any load.
//! Beyond the thresholds every arrival moves `min_p`, and with it the line. There is no average.
//!
//! What the paper leaves open, and what this file does:
//! - `min_p` at 0 would stay there, since its steps are proportional to p: it has a floor. It also has
//!   a ceiling, at which `max_p` is 1; without one it would wind up.
//! - Fig. 1 uses p before it is adjusted; the arrival is signaled with that p as well.
//! - The paper does not say where to start: `min_p`.
//! - The line may fall below 0 at short queues if kappa is less than `min_th / max_th`; p is then 0.
//! - The additional increment at an overflow (III.D) has no size there, and is off by default.

use alloc::vec::Vec;

use quell_units::{Duration, QueueSize};

use crate::params::{AutoSize, ParamError, Remark, in_range, positive_duration};
use crate::part::{Gauge, SignalMode, Sizer, Thresholds, thresholds};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict, params};

params! {
    /// HRED's parameters.
    pub struct HredParams {
        /// Queue below which min_p falls; its unit determines whether the queue is measured in packets or bytes; auto:
        /// a quarter of the buffer.
        min_th: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Joo et al. 2006, Table 1";
        /// Queue above which min_p rises; auto: half the buffer.
        max_th: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Joo et al. 2006, Table 1";
        /// Flattens the line, whose slope is min_p / (kappa max_th). A larger kappa is more stable and holds the queue
        /// less tightly.
        kappa: f64 = 2.0, unit "1", source "Joo et al. 2006, Table 1";
        /// T_alpha: time in which p follows a rise of the load; not less than the round-trip time.
        t_alpha: Duration = Duration::from_millis(400), unit "s", source "Joo et al. 2006, Table 1";
        /// T_beta: time in which p follows a fall of the load.
        t_beta: Duration = Duration::from_millis(200), unit "s", source "Joo et al. 2006, Table 1";
        /// Probability at min_th at the start.
        min_p: f64 = 0.01, unit "1", source "not in Joo et al. 2006";
        /// Smallest min_p; above 2 over the square of the largest window that a flow needs, it wastes capacity.
        min_p_floor: f64 = 1e-5, unit "1", source "not in Joo et al. 2006: 0 would be absorbing";
        /// Added to min_p when a packet finds the buffer full; left out: nothing.
        overflow_step: Option<f64> = None, unit "1", source "Joo et al. 2006, section III.D, as BLUE's d1";
        /// Effect of a packet's size on its probability: none ("per-packet") or proportional ("by-size").
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
    }
}

impl HredParams {
    /// The thresholds on a link, given or automatic.
    pub fn thresholds(&self, link: &Link) -> (QueueSize, QueueSize) {
        let share = |x: f64| link.buffer.with_value(x * link.buffer.value());
        (self.min_th.or_else(|| share(0.25)), self.max_th.or_else(|| share(0.5)))
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Remark::on_queue("max_th", self.thresholds(link).1, link).into_iter().collect()
    }

    /// HRED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: thresholds that do not rise or differ in unit, a
    /// kappa or a time that is not positive, a probability outside its bounds.
    pub fn build(&self, link: &Link) -> Result<Hred, ParamError> {
        link.check()?;
        let (low, high) = self.thresholds(link);
        let (min_th, max_th) = thresholds(low, high, Thresholds::Rise, link)?;
        in_range("kappa", self.kappa, 1e-3, 1e6, "Joo et al. 2006, eq. 10")?;
        positive_duration("t_alpha", self.t_alpha, "Joo et al. 2006, eq. 14")?;
        positive_duration("t_beta", self.t_beta, "Joo et al. 2006, eq. 15")?;
        let line = Line { min_th, max_th, slope: 1.0 / (self.kappa * max_th) };
        let top = line.largest_min_p();
        require!(
            self.min_p_floor > 0.0 && self.min_p_floor <= top,
            self.min_p_floor,
            "must lie in (0, {top}], where max_p is 1 [Joo et al. 2006, eq. 10]"
        )?;
        in_range("min_p", self.min_p, self.min_p_floor, top, "min_p_floor, and max_p = 1")?;
        if let Some(step) = self.overflow_step {
            in_range("overflow_step", step, 0.0, 1.0, "Joo et al. 2006, section III.D")?;
        }
        Ok(Hred {
            line,
            min_p: self.min_p,
            p: 0.0,
            k_alpha: adjustment_gain(link.capacity(), self.t_alpha),
            k_beta: adjustment_gain(link.capacity(), self.t_beta),
            floor: self.min_p_floor,
            top,
            overflow_step: self.overflow_step.unwrap_or(0.0),
            gauge: Gauge::of(low, link),
            sizer: Sizer::new(self.signal, link),
        })
    }
}

/// HRED's state.
#[derive(Clone, Debug)]
pub struct Hred {
    pub(super) line: Line,
    pub(super) min_p: f64,
    /// The probability of the last arrival.
    p: f64,
    pub(super) k_alpha: f64,
    pub(super) k_beta: f64,
    pub(super) floor: f64,
    /// The largest `min_p`.
    pub(super) top: f64,
    pub(super) overflow_step: f64,
    gauge: Gauge,
    sizer: Sizer,
}

impl Aqm for Hred {
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let q = self.gauge.read(&cx.queue);
        self.p = self.line.probability(q, self.min_p);
        self.min_p =
            self.line.adjusted(self.min_p, self.p, q, self.k_alpha, self.k_beta).clamp(self.floor, self.top);
        Verdict::early_if(cx.rng.chance(self.p * self.sizer.factor(pkt.bytes)))
    }

    fn on_overflow(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) {
        self.min_p = (self.min_p + self.overflow_step).min(self.top);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p);
        out.value("min_p", "1", self.min_p);
        out.value("max_p", "1", self.line.max_p(self.min_p).min(1.0));
    }
}

/// The line from queue to probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Queue at which p is `min_p`, in packets.
    pub min_th: f64,
    /// Queue at which p is `max_p`, in packets.
    pub max_th: f64,
    /// `1 / (kappa max_th)`: the slope as a share of `min_p`.
    pub slope: f64,
}

impl Line {
    /// Joo et al. 2006, eq. 10: `max_p = min_p + (min_p / kappa) (max_th - min_th) / max_th`.
    pub fn max_p(&self, min_p: f64) -> f64 {
        min_p * (1.0 + self.slope * (self.max_th - self.min_th))
    }

    /// Joo et al. 2006, eq. 8 with eq. 10 in it.
    #[inline]
    pub fn probability(&self, q: f64, min_p: f64) -> f64 {
        (min_p * (1.0 + self.slope * (q - self.min_th))).clamp(0.0, 1.0)
    }

    /// Joo et al. 2006, Fig. 1: the next `min_p`, without its bounds.
    #[inline]
    pub fn adjusted(&self, min_p: f64, p: f64, q: f64, k_alpha: f64, k_beta: f64) -> f64 {
        if q > self.max_th {
            min_p + k_alpha * p * (q - self.max_th)
        } else if q < self.min_th {
            min_p - k_beta * p * (self.min_th - q)
        } else {
            min_p
        }
    }

    /// The `min_p` at which `max_p` is 1.
    pub fn largest_min_p(&self) -> f64 {
        1.0 / (1.0 + self.slope * (self.max_th - self.min_th))
    }
}

/// Joo et al. 2006, eq. 14, 15 for small changes: `K = 2S/(C T)^2`, here with S = 1 packet, C in packets per
/// second, and q in packets.
pub fn adjustment_gain(capacity: f64, time: Duration) -> f64 {
    let packets = capacity * time.as_secs_f64();
    2.0 / (packets * packets)
}

/// Joo et al. 2006, eq. 9: the gain of the loop at the queue `q`, with `C RTT` in the unit of the queue. It
/// is stable if this is below 1.
pub fn loop_gain(line: &Line, q: f64, bandwidth_delay: f64) -> f64 {
    let relative_slope = line.slope / (1.0 + line.slope * (q - line.min_th));
    (q + bandwidth_delay) / 2.0 * relative_slope
}

/// Joo et al. 2006, eq. 11: the queue above which the loop is stable.
pub fn least_stable_queue(min_th: f64, max_th: f64, kappa: f64, bandwidth_delay: f64) -> f64 {
    bandwidth_delay + 2.0 * min_th - 2.0 * kappa * max_th
}

/// Joo et al. 2006, section III.B: the least buffer with which every queue from `min_th` on is stable, for
/// thresholds that are shares of the buffer; with a quarter and a half it is `4/(4 kappa - 1) C RTT`.
/// `None` if no buffer suffices.
pub fn least_stable_buffer(min_share: f64, max_share: f64, kappa: f64, bandwidth_delay: f64) -> Option<f64> {
    let room = kappa * max_share - min_share / 2.0;
    (room > 0.0).then(|| bandwidth_delay / (2.0 * room))
}

/// Joo et al. 2006, eq. 16: the share of the flows that may come or go at once without a full or an empty
/// buffer.
pub fn tolerance(min_th: f64, max_th: f64, buffer: f64, bandwidth_delay: f64) -> f64 {
    ((buffer - max_th) / (max_th + bandwidth_delay)).min(min_th / (min_th + bandwidth_delay))
}

equations! {
    adjustment_gain(capacity, time: Duration) -> k = adjustment_gain(capacity, time);
    least_stable_queue(min_th, max_th, kappa, bandwidth_delay) -> q =
        least_stable_queue(min_th, max_th, kappa, bandwidth_delay);
    least_stable_buffer(min_share, max_share, kappa, bandwidth_delay) -> buffer =
        least_stable_buffer(min_share, max_share, kappa, bandwidth_delay).unwrap();
    tolerance(min_th, max_th, buffer, bandwidth_delay) -> share =
        tolerance(min_th, max_th, buffer, bandwidth_delay);
    Line::probability(min_th, max_th, slope, q, min_p) -> p = Line { min_th, max_th, slope }.probability(q, min_p);
    Line::max_p(min_th, max_th, slope, min_p) -> p = Line { min_th, max_th, slope }.max_p(min_p);
    Line::largest_min_p(min_th, max_th, slope) -> p = Line { min_th, max_th, slope }.largest_min_p();
    Line::adjusted(min_th, max_th, slope, min_p, p, q, k_alpha, k_beta) -> p =
        Line { min_th, max_th, slope }.adjusted(min_p, p, q, k_alpha, k_beta);
    loop_gain(min_th, max_th, slope, q, bandwidth_delay) -> gain =
        loop_gain(&Line { min_th, max_th, slope }, q, bandwidth_delay);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ecn, FlowId, QueueView, Seed};
    use quell_units::{BitRate, Bytes, Packets, Time};

    /// 50 flows over 100 ms on 2500 packets/s, as Joo et al. 2006, eq. 1 has them: a round-trip time after p,
    /// the queue is `N K / sqrt p - C RTT`. The queue of the last minute, from some `min_p`.
    fn queue_from(min_p: f64) -> f64 {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(500.0),
            mean_packet: Bytes::new(500),
        };
        let mut aqm = HredParams { min_p, ..Default::default() }.build(&link).unwrap();
        let (mut rng, mut q, mut sum) = (Seed(1).stream("unused"), 0.0f64, 0.0);
        for round in 0..1800u64 {
            let queue = QueueView {
                packets: Packets::new(q as u32),
                bytes: Bytes::new(q as u64 * 500),
                head_since: None,
                link_rate: None,
            };
            let now = Time::from_nanos(round * 100_000_000);
            let pkt = PacketMeta {
                bytes: Bytes::new(500),
                enqueued_at: now,
                flow: FlowId(0),
                ecn: Ecn::Ect0,
                ..Default::default()
            };
            for _ in 0..250 {
                let _ = aqm.on_enqueue(&mut Ctx::new(now, queue, &mut rng), &pkt);
            }
            q = (50.0 * libm::sqrt(1.5 / aqm.p) - 250.0).clamp(0.0, 500.0);
            sum += if round >= 1200 { q } else { 0.0 };
        }
        sum / 600.0
    }

    #[test]
    fn the_queue_comes_between_the_thresholds_from_any_start() {
        for min_p in [1e-5, 0.01, 0.8] {
            let q = queue_from(min_p);
            assert!((120.0..255.0).contains(&q), "from {min_p}: {q}");
        }
    }
}
