//! PI: the proportional-integral controller (Hollot et al. 2001b; Chen 2010, section 3.4; Park et al. 2004,
//! eq. 24-25).
//!
//! At a fixed rate the probability moves with the queue's distance from `q_ref` and with the change
//! of that distance; every arrival is signaled with that probability, independently. The gains may be
//! given, or designed for a number of flows and a round-trip time on this link.
//!
//! What the papers leave open, and what this file does:
//! - The probability is kept in [0, 1] (Park et al. 2004, eq. 24 bounds it only from below).
//! - Signals are independent: no spacing, unlike RED.
//! - Signals stay marks at any probability.

use alloc::vec::Vec;

use quell_units::{Duration, QueueSize};
use serde::{Deserialize, Serialize};

use crate::params::{
    AutoSize, ParamError, ParamValue, Remark, in_range, positive_queue, positive_to, require,
};
use crate::part::{Gauge, SignalMode, Sizer, Ticker};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict, params};

/// The default gains, so that a design beside other gains can be refused.
const A: f64 = 1.822e-5;
const B: f64 = 1.816e-5;

params! {
    /// PI's parameters.
    pub struct PiParams {
        /// Gain of the current queue.
        a: f64 = A, unit "1/packet", source "Hollot et al. 2001b, section IV; ns-2";
        /// Gain of the queue one sample ago.
        b: f64 = B, unit "1/packet", source "Hollot et al. 2001b, section IV; ns-2";
        /// Computes a and b instead, from { flows = 60, rtt = "246 ms" }; lambda places the crossover at lambda / rtt
        /// rather than at the controller's zero.
        design: Option<PiDesign> = None, unit "table", source "Chen 2010, section 3.4.2";
        /// Queue to hold; its unit determines whether the queue is measured in packets or bytes; auto: 50 packets, or
        /// half of the buffer if it holds fewer.
        q_ref: AutoSize = AutoSize::Auto, unit "packets or bytes", source "ns-2; half the buffer is chosen";
        /// Updates per second.
        sampling_rate: f64 = 170.0, unit "Hz", source "ns-2; Chen 2010, section 6.4";
        /// Probability at the start, where the integral begins.
        initial_p: f64 = 0.0, unit "1", source "ns-2; Joo et al. 2006, section IV says that it can be set";
        /// Effect of a packet's size on its probability: none ("per-packet") or proportional ("by-size").
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
    }
}

/// The network that a PI controller is designed for; the capacity is the link's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PiDesign {
    /// N: the smallest number of long-lived flows.
    pub flows: f64,
    /// R: the largest round-trip time, queueing included.
    pub rtt: Duration,
    /// Crossover frequency times R, in (0, 0.85]; without it, the crossover lies at the zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
}

impl ParamValue for PiDesign {
    fn show(&self) -> alloc::string::String {
        match self.lambda {
            None => alloc::format!("{{ flows = {}, rtt = \"{}\" }}", self.flows, self.rtt),
            Some(l) => alloc::format!("{{ flows = {}, rtt = \"{}\", lambda = {l} }}", self.flows, self.rtt),
        }
    }
}

impl PiParams {
    /// The queue to hold on a link.
    pub fn target(&self, link: &Link) -> QueueSize {
        self.q_ref.or_target(QueueSize::Packets(50.0), link)
    }

    /// The gains (a, b) on a link, given or designed.
    ///
    /// # Errors
    /// Names the gain or the design that breaks a rule.
    pub fn gains(&self, link: &Link) -> Result<(f64, f64), ParamError> {
        require!(
            (1e-3..=1e6).contains(&self.sampling_rate),
            self.sampling_rate,
            "must lie in [0.001, 1000000]"
        )?;
        let (a, b) = match self.design {
            None => (self.a, self.b),
            Some(design) => {
                require(
                    self.a == A && self.b == B,
                    "design",
                    design.show(),
                    "computes a and b: give either the design or the gains",
                )?;
                design.gains(link.capacity(), 1.0 / self.sampling_rate)?
            }
        };
        // Beyond 1 a single packet moves the probability over its whole range.
        positive_to("a", a, 1.0, "Chen 2010, eq. 3.7")?;
        require!(
            b > 0.0 && b < a,
            b,
            "must lie in (0, a) with a = {a}: a - b is the integral gain [Chen 2010, section 3.4.2]"
        )?;
        Ok((a, b))
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Remark::on_queue("q_ref", self.target(link), link).into_iter().collect()
    }

    /// PI for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: gains that do not integrate, a target that the buffer
    /// cannot hold, a rate of updates outside [0.001, 10^6] Hz, a design without phase margin, a
    /// probability outside [0, 1].
    pub fn build(&self, link: &Link) -> Result<Pi, ParamError> {
        link.check()?;
        let (a, b) = self.gains(link)?;
        let q_ref = positive_queue("q_ref", self.target(link), link)?;
        in_range("initial_p", self.initial_p, 0.0, 1.0, "a probability")?;
        let interval = Duration::from_secs_f64(1.0 / self.sampling_rate);
        Ok(Pi {
            p: self.initial_p,
            q_old: 0.0,
            gains: Gains { a, b, q_ref },
            gauge: Gauge::of(self.target(link), link),
            sizer: Sizer::new(self.signal, link),
            ticker: Ticker::new("sampling_rate", interval)?,
        })
    }
}

/// PI's state.
#[derive(Clone, Debug)]
pub struct Pi {
    p: f64,
    /// The queue at the last update.
    q_old: f64,
    gains: Gains,
    gauge: Gauge,
    sizer: Sizer,
    ticker: Ticker,
}

impl Pi {
    /// The gains and the target, for algorithms that move them.
    pub(super) fn gains(&self) -> &Gains {
        &self.gains
    }

    /// The gains and the target, for algorithms that move them.
    pub(super) fn gains_mut(&mut self) -> &mut Gains {
        &mut self.gains
    }

    /// The queue at the last update, in packets.
    pub(super) fn sampled_queue(&self) -> f64 {
        self.q_old
    }
}

impl Aqm for Pi {
    delegate!(ticker: next_update);

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        Verdict::early_if(cx.rng.chance(self.p * self.sizer.factor(pkt.bytes)))
    }

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        let q = self.gauge.read(&cx.queue);
        self.p = self.gains.next_p(self.p, q, self.q_old);
        self.q_old = q;
        self.ticker.advance();
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p);
    }
}

/// Gains and target of the control law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Gain of the current queue, per packet.
    pub a: f64,
    /// Gain of the queue one sample ago, per packet.
    pub b: f64,
    /// The target in packets.
    pub q_ref: f64,
}

impl Gains {
    /// Chen 2010, eq. 3.7, Park et al. 2004, eq. 24: the next probability.
    #[inline]
    pub fn next_p(&self, p: f64, q: f64, q_old: f64) -> f64 {
        (p + self.a * (q - self.q_ref) - self.b * (q_old - self.q_ref)).clamp(0.0, 1.0)
    }
}

impl PiDesign {
    /// The gains (a, b) for C packets/s sampled every `t_s` seconds.
    ///
    /// # Errors
    /// Names `design` if the flows, the round-trip time or lambda admit no phase margin.
    pub fn gains(&self, capacity: f64, t_s: f64) -> Result<(f64, f64), ParamError> {
        let refuse = |ok: bool, rule: alloc::string::String| require(ok, "design", self.show(), rule);
        let r = self.rtt.as_secs_f64();
        refuse(self.flows > 0.0 && self.flows.is_finite(), "flows must be positive".into())?;
        refuse(r > 0.0, "rtt must be longer than 0 s".into())?;
        let z = design_zero(self.flows, capacity, r);
        let lambda = self.lambda.unwrap_or(z * r);
        refuse(
            lambda > 0.0 && lambda <= 0.85,
            alloc::format!(
                "the crossover times rtt is {lambda}: must lie in (0, 0.85] for a phase margin [Chen 2010, section 3.4.2]; set lambda"
            ),
        )?;
        let k = design_gain(self.flows, capacity, r, z, lambda / r);
        Ok(discretized(k, z, t_s))
    }
}

/// Chen 2010, section 3.4.2: the controller's zero at the corner of TCP's window dynamics, `z = 2N/(R^2 C)`.
pub fn design_zero(flows: f64, capacity: f64, rtt: f64) -> f64 {
    2.0 * flows / (rtt * rtt * capacity)
}

/// Chen 2010, section 3.4.2: `K_PI = w_g z |(j w_g + 1/R) / (C^2/2N)|`, which makes w_g the crossover.
pub fn design_gain(flows: f64, capacity: f64, rtt: f64, z: f64, w_g: f64) -> f64 {
    w_g * z * libm::hypot(w_g, 1.0 / rtt) * 2.0 * flows / (capacity * capacity)
}

/// The bilinear transform of `K (s/z + 1)/s`: `a = K (1/z + T_s/2)`, `b = K (1/z - T_s/2)`.
pub fn discretized(k: f64, z: f64, t_s: f64) -> (f64, f64) {
    (k * (1.0 / z + t_s / 2.0), k * (1.0 / z - t_s / 2.0))
}

/// Park et al. 2004, eq. 25: the continuous controller's K_P and K_I; the printed K_I leaves out `1/T_s`.
pub fn continuous_gains(a: f64, b: f64, t_s: f64) -> (f64, f64) {
    (b, (a - b) / t_s)
}

equations! {
    Gains::next_p(a, b, q_ref, p, q, q_old) -> p = Gains { a, b, q_ref }.next_p(p, q, q_old);
    design_zero(flows, capacity, rtt) -> z = design_zero(flows, capacity, rtt);
    design_gain(flows, capacity, rtt, z, w_g) -> k_pi = design_gain(flows, capacity, rtt, z, w_g);
    discretized(k_pi, z, t_s) -> a, b = discretized(k_pi, z, t_s);
    PiDesign::gains(design: PiDesign, capacity, sampling_rate) -> a, b =
        design.gains(capacity, 1.0 / sampling_rate).unwrap();
    continuous_gains(a, b, t_s) -> k_p, k_i = continuous_gains(a, b, t_s);
}
