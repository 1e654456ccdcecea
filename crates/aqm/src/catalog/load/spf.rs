//! SPF: simple probabilistic forwarding (Park et al. 2004, section 4, after Stoica et al. 1998).
//!
//! Of arrivals at a rate above the link's, the share that the link can carry passes: `p = 1 - C/r`.
//! It looks at the rate alone. Where signals are drops, what is admitted equals the capacity and the
//! queue may settle anywhere; where they are marks, the queue stays full. It is the law that the
//! rate-controller reading of AVQ ([`avq_rate`](crate::avq_rate)) corrects.
//!
//! What the paper leaves open: the time constant of the rate estimator. Between two arrivals the
//! estimate has no effect, so there is nothing to update.

use quell_units::{BitRate, Bytes, Duration, Time};

use crate::params::{ParamError, positive_duration};
use crate::part::{RateEstimator, SignalMode, Sizer};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict, params};

params! {
    /// SPF's parameters.
    pub struct SpfParams {
        /// K: time constant of the estimate of the arrival rate.
        rate_memory: Duration = Duration::from_millis(100), unit "s", source "not in Park et al. 2004; Stoica et al. 1998 take 100 ms";
        /// Effect of a packet's size on the rate and on its probability: none ("per-packet") or proportional
        /// ("by-size").
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
    }
}

impl SpfParams {
    /// SPF for a link.
    ///
    /// # Errors
    /// Names `rate_memory` if it is zero.
    pub fn build(&self, link: &Link) -> Result<Spf, ParamError> {
        link.check()?;
        positive_duration("rate_memory", self.rate_memory, "Stoica et al. 1998, eq. 5")?;
        Ok(Spf {
            p: 0.0,
            rate: RateEstimator::new(self.rate_memory),
            sizer: Sizer::new(self.signal, link),
            link_rate: link.rate,
            mean_packet: link.mean_packet,
        })
    }
}

/// SPF's state.
#[derive(Clone, Debug)]
pub struct Spf {
    /// The probability of the last arrival.
    p: f64,
    rate: RateEstimator,
    sizer: Sizer,
    /// The link's initial rate, for hosts that do not know the current one.
    link_rate: BitRate,
    mean_packet: Bytes,
}

impl Aqm for Spf {
    fn on_start(&mut self, now: Time) {
        self.rate.start(now);
    }

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let size = self.sizer.factor(pkt.bytes);
        let rate = self.rate.arrive(cx.now, size);
        let capacity = cx.queue.link_rate.unwrap_or(self.link_rate).packets_per_sec(self.mean_packet);
        self.p = forwarding(capacity, rate);
        Verdict::early_if(cx.rng.chance(self.p * size))
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p);
        out.value("rate", "packets/s", self.rate.last());
    }
}

/// Park et al. 2004, eq. 32 with the link's own capacity: `p = [1 - C/r]+`; nothing is signaled at rate 0.
#[inline]
pub fn forwarding(capacity: f64, rate: f64) -> f64 {
    if rate > capacity { 1.0 - capacity / rate } else { 0.0 }
}

equations! {
    forwarding(capacity, rate) -> p = forwarding(capacity, rate);
}
