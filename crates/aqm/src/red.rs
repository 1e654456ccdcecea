//! RED: random early detection (Floyd and Jacobson 1993; thesis 2.2-2.3).
//!
//! Keeps an average of the queue and signals arrivals with a probability that rises with it:
//! nothing below `min_th`, up to `max_p` at `max_th`, then (gentle) up to 1 at `2 max_th`.
//!
//! Deviations from ns-2: an early signal does not require that two packets wait, and the first
//! arrival above `min_th` is not exempt; neither is in the paper.

use alloc::format;

use quell_units::QueueSize;
use serde::{Deserialize, Serialize};

use crate::params::{ParamError, ParamValue, require};
use crate::part::{Ewma, Gauge, Spacer, Spacing, link_rate_weight};
use crate::{Aqm, Cause, Ctx, Link, PacketMeta, Probe, Verdict, choice, params};

choice! {
    /// What a packet's size does to its probability of being signalled (thesis 2.3).
    pub enum SignalMode {
        /// Every packet alike (RFC 7567 section 4.4).
        PerPacket = "per-packet",
        /// In proportion to its size: `p *= size / mean_packet` (thesis eq. 2.5).
        BySize = "by-size",
    }
}

/// The weight of the average: a number, or computed from the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Weight {
    /// This value.
    Value(f64),
    /// By a rule.
    Rule(WeightRule),
}

choice! {
    /// Rules for the weight of the average.
    pub enum WeightRule {
        /// A time constant of one second: `1 - exp(-1/C)` (Floyd 2001; thesis 3.2.3).
        LinkRate = "link-rate",
        /// A time constant of a tenth of a second: `1 - exp(-10/C)` (ns-2's `q_weight_ -2`).
        LinkRateFast = "link-rate-fast",
    }
}

impl ParamValue for Weight {
    fn show(&self) -> alloc::string::String {
        match self {
            Weight::Value(w) => w.show(),
            Weight::Rule(r) => r.show(),
        }
    }
}

impl Weight {
    /// The number, for a link.
    pub fn resolve(self, link: &Link) -> Result<f64, ParamError> {
        let w = match self {
            Weight::Value(w) => w,
            Weight::Rule(WeightRule::LinkRate) => link_rate_weight(link.capacity(), 1.0),
            Weight::Rule(WeightRule::LinkRateFast) => link_rate_weight(link.capacity(), 0.1),
        };
        require(w > 0.0 && w <= 1.0, "weight", w, "must lie in (0, 1] [Floyd and Jacobson 1993, section 6]")?;
        Ok(w)
    }
}

params! {
    /// RED's parameters.
    pub struct RedParams {
        /// Average queue below which nothing is signalled; its unit decides whether the queue is measured in packets or in bytes.
        min_th: QueueSize = QueueSize::Packets(5.0), unit "packets or bytes", source "Floyd 1997, recommended setting; thesis 2.3.1";
        /// Average queue at which the probability reaches max_p.
        max_th: QueueSize = QueueSize::Packets(15.0), unit "packets or bytes", source "3 min_th: Floyd 1997; thesis 2.3.1";
        /// Probability at max_th.
        max_p: f64 = 0.1, unit "1", source "Floyd 1997; thesis 2.3.2";
        /// Weight of a new sample in the average, or the rule "link-rate" or "link-rate-fast".
        weight: Weight = Weight::Value(0.002), unit "1", source "Floyd and Jacobson 1993; thesis 2.3.4";
        /// Above max_th, rise from max_p to 1 at twice max_th instead of signalling everything.
        gentle: bool = true, unit "true or false", source "Floyd 2000; thesis 2.3.3";
        /// How signals are spread: "uniform", "wait" or "geometric".
        spacing: Spacing = Spacing::Uniform, unit "name", source "Floyd and Jacobson 1993, section 7";
        /// Whether a packet's size matters: "per-packet" or "by-size".
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
    }
}

impl RedParams {
    /// RED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: thresholds that do not rise or differ in unit, a
    /// probability outside (0, 1], a weight outside (0, 1].
    pub fn build(&self, link: &Link) -> Result<Red, ParamError> {
        let (min_th, max_th) = thresholds(self.min_th, self.max_th, link)?;
        require(self.max_p > 0.0 && self.max_p <= 1.0, "max_p", self.max_p, "must lie in (0, 1]")?;
        Ok(Red {
            curve: Curve { min_th, max_th, max_p: self.max_p, gentle: self.gentle },
            avg: Ewma::new(self.weight.resolve(link)?),
            gauge: Gauge::of(self.min_th, link),
            spacer: Spacer::new(self.spacing),
            per_byte: match self.signal {
                SignalMode::PerPacket => None,
                SignalMode::BySize => Some(1.0 / link.mean_packet.get() as f64),
            },
            packets_per_sec: link.capacity(),
            idle_since: None,
            p_b: 0.0,
        })
    }
}

/// The two thresholds in packets, checked.
pub(crate) fn thresholds(
    min_th: QueueSize,
    max_th: QueueSize,
    link: &Link,
) -> Result<(f64, f64), ParamError> {
    require(min_th.value() >= 0.0 && min_th.value().is_finite(), "min_th", min_th, "must not be negative")?;
    require(
        min_th.same_unit(max_th),
        "max_th",
        max_th,
        format!("must be in the unit of min_th ({min_th}): both in packets or both in bytes"),
    )?;
    require(
        max_th.value() > min_th.value() && max_th.value().is_finite(),
        "max_th",
        max_th,
        format!("must exceed min_th ({min_th}) [Floyd and Jacobson 1993, section 4]"),
    )?;
    Ok((min_th.in_packets(link.mean_packet), max_th.in_packets(link.mean_packet)))
}

/// The probability as a function of the average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Packets.
    pub min_th: f64,
    /// Packets.
    pub max_th: f64,
    /// Probability at `max_th`.
    pub max_p: f64,
    /// Whether it goes on rising above `max_th`.
    pub gentle: bool,
}

impl Curve {
    /// thesis eq. 2.4 (gentle), Floyd and Jacobson 1993 section 4 (not gentle).
    #[inline]
    pub fn probability(&self, avg: f64) -> f64 {
        if avg < self.min_th {
            0.0
        } else if avg < self.max_th {
            self.max_p * (avg - self.min_th) / (self.max_th - self.min_th)
        } else if self.gentle && avg < 2.0 * self.max_th {
            self.max_p + (1.0 - self.max_p) * (avg - self.max_th) / self.max_th
        } else {
            1.0
        }
    }
}

/// RED's state.
#[derive(Clone, Debug)]
pub struct Red {
    pub(crate) curve: Curve,
    pub(crate) avg: Ewma,
    gauge: Gauge,
    spacer: Spacer,
    /// `1 / mean_packet` if a packet's size matters.
    per_byte: Option<f64>,
    packets_per_sec: f64,
    idle_since: Option<quell_units::Time>,
    /// The probability of the last arrival, before spacing.
    p_b: f64,
}

impl Aqm for Red {
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        if let Some(since) = self.idle_since.take() {
            // As if m small packets had arrived at an empty queue (Floyd and Jacobson 1993, section 4).
            self.avg.age((cx.now - since).as_secs_f64() * self.packets_per_sec);
        }
        self.avg.sample(self.gauge.read(&cx.queue));
        self.p_b = self.curve.probability(self.avg.avg);
        if self.p_b <= 0.0 {
            self.spacer.restart();
            return Verdict::Pass;
        }
        if self.p_b >= 1.0 {
            self.spacer.restart();
            return Verdict::Drop(Cause::Forced);
        }
        let size = self.per_byte.map_or(1.0, |per_byte| pkt.bytes.get() as f64 * per_byte);
        let p_a = self.spacer.next(self.p_b, size);
        if cx.rng.chance(p_a * size) {
            self.spacer.restart();
            return Verdict::Signal(Cause::Early);
        }
        Verdict::Pass
    }

    fn on_idle(&mut self, since: quell_units::Time) {
        self.idle_since = Some(since);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("avg", "packets", self.avg.avg);
        out.value("p", "1", self.p_b);
    }
}
