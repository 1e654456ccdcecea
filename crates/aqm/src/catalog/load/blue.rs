//! BLUE (Feng et al. 1999b; Chen 2010, section 3.6, Fig. 3.3).
//!
//! One probability, raised by `d1` when a packet is lost to a full buffer (or arrives to find more
//! than `threshold` waiting) and lowered by `d2` when the link falls idle, at most once per
//! `freeze_time`.
//!
//! What the papers leave open, and what this file does:
//! - An idle period is one event, at its beginning, however long it lasts.
//! - Chen 2010 would draw `freeze_time` at random to keep queues from moving in step; with one queue
//!   that is not needed, and it is fixed.
//! - The first event is not frozen.

use alloc::vec::Vec;

use quell_units::{Duration, QueueSize, Time};

use crate::params::{ParamError, Remark, positive_queue, positive_to};
use crate::part::{Gauge, SignalMode, Sizer};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict, params};

params! {
    /// BLUE's parameters.
    pub struct BlueParams {
        /// Step up on a loss.
        d1: f64 = 0.0002, unit "1", source "Joo et al. 2006, Table 1";
        /// Step down on an idle link; well below d1.
        d2: f64 = 0.00002, unit "1", source "Joo et al. 2006, Table 1";
        /// Least time between two steps; of the order of a round-trip time.
        freeze_time: Duration = Duration::from_millis(10), unit "s", source "Joo et al. 2006, Table 1";
        /// Queue above which an arrival counts as a loss; left out: only a full buffer does.
        threshold: Option<QueueSize> = None, unit "packets or bytes", source "Feng et al. 1999b; Chen 2010, Fig. 3.3";
        /// Effect of a packet's size on its probability: none ("per-packet") or proportional ("by-size").
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
    }
}

impl BlueParams {
    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        self.threshold.and_then(|t| Remark::on_queue("threshold", t, link)).into_iter().collect()
    }

    /// BLUE for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a step outside (0, 1], a threshold that the buffer
    /// cannot hold.
    pub fn build(&self, link: &Link) -> Result<Blue, ParamError> {
        link.check()?;
        for (field, step) in [("d1", self.d1), ("d2", self.d2)] {
            positive_to(field, step, 1.0, "Chen 2010, Fig. 3.3")?;
        }
        let threshold = match self.threshold {
            None => None,
            Some(t) => Some((Gauge::of(t, link), positive_queue("threshold", t, link)?)),
        };
        Ok(Blue {
            p: 0.0,
            d1: self.d1,
            d2: self.d2,
            freeze_time: self.freeze_time,
            last_update: None,
            threshold,
            sizer: Sizer::new(self.signal, link),
        })
    }
}

/// BLUE's state.
#[derive(Clone, Debug)]
pub struct Blue {
    p: f64,
    pub(crate) d1: f64,
    pub(crate) d2: f64,
    pub(crate) freeze_time: Duration,
    last_update: Option<Time>,
    /// Gauge of the queue, and the length in packets above which it counts as full.
    pub(crate) threshold: Option<(Gauge, f64)>,
    sizer: Sizer,
}

impl Blue {
    /// Its probability.
    pub fn probability(&self) -> f64 {
        self.p
    }

    /// Chen 2010, Fig. 3.3: moves the probability unless it moved less than `freeze_time` ago.
    fn step(&mut self, now: Time, by: f64) {
        if self.last_update.is_none_or(|last| now.since(last) > self.freeze_time) {
            self.p = (self.p + by).clamp(0.0, 1.0);
            self.last_update = Some(now);
        }
    }
}

impl Aqm for Blue {
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        if let Some((gauge, threshold)) = self.threshold
            && gauge.read(&cx.queue) > threshold
        {
            self.step(cx.now, self.d1);
        }
        Verdict::early_if(cx.rng.chance(self.p * self.sizer.factor(pkt.bytes)))
    }

    fn on_overflow(&mut self, cx: &mut Ctx<'_>, _: &PacketMeta) {
        self.step(cx.now, self.d1);
    }

    fn on_idle(&mut self, since: Time) {
        self.step(since, -self.d2);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p);
    }
}
