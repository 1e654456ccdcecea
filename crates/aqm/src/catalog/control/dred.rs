//! DRED: dynamic RED (Aweya et al. 2001), as Park et al. 2004, eq. 23 gives it.
//!
//! An integral controller: at fixed intervals the probability moves in proportion to the queue's
//! filtered distance from `q_ref`, as a share of the buffer.
//!
//! What the paper leaves open, and what this file does:
//! - It gives neither the gain nor the filter nor the interval; the defaults say where they come from.
//! - The original also drops nothing while the queue is shorter than a threshold; Park et al. 2004 do
//!   not mention that, and it is left out.
//! - The filter starts with an empty queue, like PI.

use alloc::vec::Vec;

use quell_units::{Duration, QueueSize};

use crate::params::{AutoSize, ParamError, Remark, positive_queue, positive_to};
use crate::part::{Ewma, Gauge, SignalMode, Sizer, Ticker};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict, params};

params! {
    /// DRED's parameters.
    pub struct DredParams {
        /// Step of p for an error of a whole buffer.
        alpha: f64 = 0.001, unit "1", source "not in Park et al. 2004; holds the queue of its Table 2 with the smallest deviation";
        /// Weight of a new sample in the filtered error.
        filter: f64 = 0.1, unit "1", source "not in Park et al. 2004; a time constant of 10 updates";
        /// Queue to hold; its unit determines whether the queue is measured in packets or bytes; auto: 50 packets, or
        /// half of the buffer if it holds fewer.
        q_ref: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Park et al. 2004, section 5.1; half the buffer is chosen";
        /// T_s: time between two updates.
        update_interval: Duration = Duration::from_millis(10), unit "s", source "Park et al. 2004, section 5.1, for the other schemes";
        /// Effect of a packet's size on its probability: none ("per-packet") or proportional ("by-size").
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
    }
}

impl DredParams {
    /// The queue to hold on a link.
    pub fn target(&self, link: &Link) -> QueueSize {
        self.q_ref.or_target(QueueSize::Packets(50.0), link)
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Remark::on_queue("q_ref", self.target(link), link).into_iter().collect()
    }

    /// DRED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a step or a weight outside (0, 1], a target that the
    /// buffer cannot hold, an interval that is too short or too long.
    pub fn build(&self, link: &Link) -> Result<Dred, ParamError> {
        link.check()?;
        for (field, x) in [("alpha", self.alpha), ("filter", self.filter)] {
            positive_to(field, x, 1.0, "Park et al. 2004, eq. 23")?;
        }
        let q_ref = positive_queue("q_ref", self.target(link), link)?;
        let mut error = Ewma::new(self.filter);
        error.avg = -q_ref;
        Ok(Dred {
            p: 0.0,
            error,
            q_ref,
            per_packet: self.alpha / link.buffer.in_packets(link.mean_packet),
            gauge: Gauge::of(self.target(link), link),
            sizer: Sizer::new(self.signal, link),
            ticker: Ticker::new("update_interval", self.update_interval)?,
        })
    }
}

/// DRED's state.
#[derive(Clone, Debug)]
pub struct Dred {
    p: f64,
    /// The queue's excess over the target, filtered.
    error: Ewma,
    q_ref: f64,
    /// alpha / B.
    per_packet: f64,
    gauge: Gauge,
    sizer: Sizer,
    ticker: Ticker,
}

impl Aqm for Dred {
    delegate!(ticker: next_update);

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        Verdict::early_if(cx.rng.chance(self.p * self.sizer.factor(pkt.bytes)))
    }

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        self.error.sample(self.gauge.read(&cx.queue) - self.q_ref);
        self.p = next_p(self.p, self.per_packet, self.error.avg);
        self.ticker.advance();
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p);
        out.value("filtered_queue", "packets", (self.error.avg + self.q_ref).max(0.0));
    }
}

/// Park et al. 2004, eq. 23: `p = [p + alpha e_f / B]+`, with `per_packet = alpha / B`.
#[inline]
pub fn next_p(p: f64, per_packet: f64, error: f64) -> f64 {
    (p + per_packet * error).clamp(0.0, 1.0)
}

equations! {
    next_p(p, per_packet, error) -> p = next_p(p, per_packet, error);
}
