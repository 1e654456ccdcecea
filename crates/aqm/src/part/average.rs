//! RED's average of a queue, idle times included.

use quell_units::Time;

use super::{Ewma, Gauge};
use crate::{Ctx, Link, PacketMeta, QueueView, Verdict};

/// The average of a queue, sampled at events and aged while the link is idle (Floyd and Jacobson
/// 1993, section 4): after an idle time, as if the small packets that the link could have sent had
/// met an empty queue.
#[derive(Clone, Debug)]
pub struct Average {
    ewma: Ewma,
    gauge: Gauge,
    link: Link,
    idle_since: Option<Time>,
}

impl Average {
    /// Starts at zero; `weight` of a new sample in (0, 1].
    pub fn new(weight: f64, gauge: Gauge, link: &Link) -> Self {
        Average { ewma: Ewma::new(weight), gauge, link: *link, idle_since: None }
    }

    /// The average in packets, as of the last event.
    #[inline]
    pub fn get(&self) -> f64 {
        self.ewma.avg
    }

    /// The link has been idle since.
    #[inline]
    pub fn idle(&mut self, since: Time) {
        self.idle_since = Some(since);
    }

    /// Ends an idle time, if there is one, and says whether there was.
    #[inline]
    pub fn wake(&mut self, cx: &Ctx<'_>) -> bool {
        let Some(since) = self.idle_since.take() else { return false };
        let rate = cx.queue.link_rate.unwrap_or(self.link.rate);
        self.ewma.age(cx.now.since(since).as_secs_f64() * rate.packets_per_sec(self.link.mean_packet));
        true
    }

    /// Takes a sample of the queue.
    #[inline]
    pub fn sample(&mut self, queue: &QueueView) -> f64 {
        self.ewma.sample(self.gauge.read(queue));
        self.ewma.avg
    }

    /// An arrival: samples the queue and lets `decide` judge by the average. A packet that is not
    /// stored leaves an idle link idle, which the host does not say again.
    #[inline(always)]
    pub fn arrive<'r>(
        &mut self,
        cx: &mut Ctx<'r>,
        pkt: &PacketMeta,
        decide: impl FnOnce(f64, &mut Ctx<'r>) -> Verdict,
    ) -> Verdict {
        let was_idle = self.wake(cx);
        let avg = self.sample(&cx.queue);
        let verdict = decide(avg, cx);
        if was_idle && is_drop(verdict, pkt) {
            self.idle_since = Some(cx.now);
        }
        verdict
    }
}

/// Whether a verdict drops a packet, and does not mark it or let it pass.
#[inline]
pub fn is_drop(verdict: Verdict, pkt: &PacketMeta) -> bool {
    match verdict {
        Verdict::Pass => false,
        Verdict::Signal(_) => !pkt.ecn.is_capable(),
        Verdict::Drop(_) => true,
    }
}
