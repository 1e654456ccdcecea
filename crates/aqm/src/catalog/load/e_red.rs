//! E-RED: exponential RED (Liu et al. 2005).
//!
//! A virtual queue receives what the real one receives and is served at a rate slightly below the
//! link's. The probability is an exponential function of its length, so its logarithm is the integral
//! of the traffic in excess of that rate: the controller for which a network of TCP flows has been
//! shown to be stable. The real queue stays short.
//!
//! Experimental: not checked against the paper beyond its abstract. Not verified: the virtual queue,
//! its lower rate and the exponential.
//! Chosen here: the exponential runs from `p_min` at an empty virtual queue to 1 at `vq_max`, and an
//! empty virtual queue signals nothing; packets that are dropped do not enter it (the paper marks,
//! and marked packets enter); its rate follows the link's if the host knows it; 0.98 of the rate (the
//! paper says slightly smaller), `p_min` and `vq_max`.

use quell_units::{BitRate, QueueSize, Time};

use crate::avq::VirtualQueue;
use crate::params::{AutoSize, ParamError};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict, params};

params! {
    /// E-RED's parameters.
    pub struct ERedParams {
        /// The virtual queue's rate as a share of the link's.
        gamma: f64 = 0.98, unit "1", source "chosen: slightly smaller than the link's; as AVQ";
        /// Probability at an (almost) empty virtual queue.
        p_min: f64 = 0.001, unit "1", source "chosen";
        /// Length of the virtual queue at which the probability is 1; its unit determines how the virtual queue is
        /// measured; auto: the buffer.
        vq_max: AutoSize = AutoSize::Auto, unit "packets or bytes", source "chosen";
    }
}

impl ERedParams {
    /// E-RED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a share or a probability outside (0, 1], a virtual queue
    /// that holds nothing.
    pub fn build(&self, link: &Link) -> Result<ERed, ParamError> {
        link.check()?;
        require!(self.gamma > 0.0 && self.gamma <= 1.0, self.gamma, "must lie in (0, 1]")?;
        require!(self.p_min > 0.0 && self.p_min < 1.0, self.p_min, "must lie in (0, 1)")?;
        let vq_max = self.vq_max.or_else(|| link.buffer);
        require!(
            vq_max.value() > 0.0 && vq_max.value().is_finite(),
            vq_max,
            "must be positive: the probability is 1 there"
        )?;
        let mean_packet = link.mean_packet.get() as f64;
        let (per_byte, per_packet, to_packets) = match vq_max {
            QueueSize::Packets(_) => (0.0, 1.0, 1.0),
            QueueSize::Bytes(_) => (1.0, 0.0, 1.0 / mean_packet),
        };
        Ok(ERed {
            queue: VirtualQueue { length: 0.0, capacity: 0.0, buffer: vq_max.value() },
            curve: Exponential { ln_p_min: libm::log(self.p_min), end: vq_max.value() },
            per_bit: self.gamma / (8.0 * mean_packet * to_packets),
            link_rate: link.rate,
            per_byte,
            per_packet,
            to_packets,
            last_arrival: None,
            p: 0.0,
        })
    }
}

/// E-RED's state.
#[derive(Clone, Debug)]
pub struct ERed {
    queue: VirtualQueue,
    curve: Exponential,
    /// The virtual rate in the virtual queue's unit per second, for each bit per second of the link.
    per_bit: f64,
    /// The link's initial rate, for hosts that do not know the current one.
    link_rate: BitRate,
    /// A packet's size in the virtual queue is `bytes * per_byte + per_packet`.
    per_byte: f64,
    per_packet: f64,
    /// The virtual queue's unit in mean packets.
    to_packets: f64,
    last_arrival: Option<Time>,
    /// The probability of the last arrival.
    p: f64,
}

impl Aqm for ERed {
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let dt = self.last_arrival.replace(cx.now).map_or(0.0, |t| cx.now.since(t).as_secs_f64());
        self.queue.capacity = cx.queue.link_rate.unwrap_or(self.link_rate).bps() as f64 * self.per_bit;
        self.queue.offer(0.0, dt);
        self.p = self.curve.probability(self.queue.length);
        let verdict = Verdict::early_if(cx.rng.chance(self.p));
        if !verdict.drops(pkt) {
            // At its end the curve is 1 anyway: what does not fit is not needed.
            self.queue.offer(pkt.bytes.get() as f64 * self.per_byte + self.per_packet, 0.0);
        }
        verdict
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("virtual_queue", "packets", self.queue.length * self.to_packets);
        out.value("p", "1", self.p);
    }
}

/// The probability as a function of the virtual queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    /// The logarithm of the probability at its beginning.
    pub ln_p_min: f64,
    /// Queue at which it reaches 1.
    pub end: f64,
}

impl Exponential {
    /// `p_min^(1 - b/end)`: exponential in the virtual queue (Liu et al. 2005); 0 at an
    /// empty one.
    #[inline]
    pub fn probability(&self, b: f64) -> f64 {
        if b <= 0.0 { 0.0 } else { libm::exp(self.ln_p_min * (1.0 - b / self.end).max(0.0)) }
    }
}

equations! {
    Exponential::probability(p_min, end, b) -> p =
        Exponential { ln_p_min: libm::log(p_min), end }.probability(b);
}
