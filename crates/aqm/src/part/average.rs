//! RED's average of a queue, idle times included.

use quell_units::Time;

use super::{Ewma, Gauge};
use crate::{Ctx, Link, PacketMeta, Verdict};

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

    /// The weight of a new sample.
    #[inline]
    pub fn weight(&self) -> f64 {
        self.ewma.weight()
    }

    /// Changes the weight of a new sample, in (0, 1].
    pub fn set_weight(&mut self, weight: f64) {
        self.ewma.set_weight(weight);
    }

    /// The queue as it is averaged, in packets.
    #[inline]
    pub fn measure(&self, cx: &Ctx<'_>) -> f64 {
        self.gauge.read(&cx.queue)
    }

    /// The link has been idle since.
    #[inline]
    pub fn idle(&mut self, since: Time) {
        self.idle_since = Some(since);
    }

    /// Start of the idle period, as far as the average has been aged.
    #[inline]
    pub fn idle_since(&self) -> Option<Time> {
        self.idle_since
    }

    /// Number of small packets that could have passed since then (m of Floyd and Jacobson 1993, section 4).
    pub fn missed(&self, since: Time, cx: &Ctx<'_>) -> f64 {
        let rate = cx.queue.link_rate.unwrap_or(self.link.rate);
        cx.now.since(since).as_secs_f64() * rate.packets_per_sec(self.link.mean_packet)
    }

    /// Ends an idle time, if there is one, and says whether there was.
    #[inline]
    pub fn wake(&mut self, cx: &Ctx<'_>) -> bool {
        let Some(since) = self.idle_since.take() else { return false };
        self.ewma.age(self.missed(since, cx));
        true
    }

    /// The average at `cx.now`, aged if the link is idle.
    pub fn now(&mut self, cx: &Ctx<'_>) -> f64 {
        if self.wake(cx) {
            self.idle_since = Some(cx.now);
        }
        self.get()
    }

    /// Takes a sample of the queue.
    #[inline]
    pub fn sample(&mut self, cx: &Ctx<'_>) -> f64 {
        self.ewma.sample(self.measure(cx));
        self.get()
    }

    /// Takes a sample of the queue with the weight that `weight` gives for the average and the queue.
    #[inline(always)]
    pub fn sample_as(&mut self, cx: &Ctx<'_>, weight: impl FnOnce(f64, f64) -> f64) {
        let q = self.measure(cx);
        let w = weight(self.get(), q);
        self.ewma.sample_as(q, w);
    }

    /// Takes note of a decision about an arrival: a packet that is not stored leaves an idle link idle, which
    /// the host does not report again.
    #[inline(always)]
    pub fn decided(&mut self, was_idle: bool, verdict: Verdict, pkt: &PacketMeta, now: Time) {
        if was_idle && verdict.drops(pkt) {
            self.idle_since = Some(now);
        }
    }

    /// An arrival: samples the queue and lets `decide` judge by the average.
    #[inline(always)]
    pub fn arrive<'r>(
        &mut self,
        cx: &mut Ctx<'r>,
        pkt: &PacketMeta,
        decide: impl FnOnce(f64, &mut Ctx<'r>) -> Verdict,
    ) -> Verdict {
        let was_idle = self.wake(cx);
        let avg = self.sample(cx);
        let verdict = decide(avg, cx);
        self.decided(was_idle, verdict, pkt, cx.now);
        verdict
    }
}
