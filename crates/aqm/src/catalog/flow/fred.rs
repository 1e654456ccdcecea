//! FRED: flow random early drop (Lin and Morris 1997).
//!
//! FRED is RED that counts the packets of each flow in the queue. A flow may always hold `min_q`
//! packets, never more than `max_q`, and between the two it takes part in RED's lottery only while it
//! holds at least its share. A flow that tries to exceed `max_q` gets a strike; with more than one
//! strike it may hold no more than the mean flow. So fragile flows are spared and unresponsive flows
//! are kept in check. A flow's state is forgotten with its last packet.
//!
//! Experimental: not checked against the paper. A textbook's list of its parameters confirms
//! `min_th = min(buffer/4, RTT)`, `max_th = 2 min_th`, `max_p` 0.02, `min_q` 2 or 4 and the weight
//! 0.002; an implementation for Linux confirms `avgcq = max(avg/Nactive, 1)`, `max_q = min_th`, and
//! that each flow may hold two packets while the average is above `max_th`. Not verified: the order of
//! the tests, and the sampling of the average at arrivals that are kept and at departures. Chosen here:
//! `rtt`, by which `min_th` is computed; packets that do not fit, and those whose flow has no room in
//! the table, are treated as if they had not arrived; a random signal marks ECN-capable packets, while
//! packets beyond a flow's bounds are dropped.

use quell_units::{Duration, QueueSize, Time};

use crate::params::{AutoSize, ParamError, positive, positive_duration};
use crate::part::{
    Average, Curve, FlowCount, FlowCounts, Gauge, Spacer, Spacing, Thresholds, Weight, thresholds,
};
use crate::{Aqm, Cause, Ctx, Departures, Link, PacketMeta, Probe, Verdict, params};

params! {
    /// FRED's parameters.
    pub struct FredParams {
        /// Average queue below which nothing is signaled at random; auto: min(a quarter of the buffer,
        /// rtt C).
        min_th: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Lin and Morris 1997";
        /// Average queue above which flows are held to two packets; auto: 2 min_th.
        max_th: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Lin and Morris 1997";
        /// The round-trip time that automatic thresholds allow for.
        rtt: Duration = Duration::from_millis(100), unit "s", source "chosen";
        /// Probability at max_th.
        max_p: f64 = 0.02, unit "1", source "Lin and Morris 1997; Floyd and Jacobson 1993";
        /// Packets that a flow may hold without being signaled at random.
        min_q: u32 = 4, unit "packets", source "Lin and Morris 1997: 2 for small buffers, 4 for large ones";
        /// Weight of a new sample in the average; or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }.
        weight: Weight = Weight::Value(0.002), unit "1", source "Floyd and Jacobson 1993";
        /// Lets each flow hold two packets above max_th, instead of dropping everything.
        many_flows: bool = true, unit "true or false", source "Lin and Morris 1997, support for many flows";
    }
}

impl FredParams {
    /// FRED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: those of RED, a `min_th` of zero.
    pub fn build(&self, link: &Link) -> Result<Fred, ParamError> {
        link.check()?;
        positive_duration("rtt", self.rtt, "Lin and Morris 1997")?;
        let min_th = self.min_th.or_else(|| {
            let packets =
                automatic_min_th(link.buffer.in_packets(link.mean_packet), link.capacity(), self.rtt);
            link.queue_of(packets)
        });
        let max_th = self.max_th.or_else(|| min_th.with_value(2.0 * min_th.value()));
        positive("min_th", min_th.value(), "Lin and Morris 1997")?;
        let (low, high) = thresholds(min_th, max_th, Thresholds::Rise, link)?;
        require!(self.max_p > 0.0 && self.max_p <= 1.0, self.max_p, "must lie in (0, 1]")?;
        // A queue of packets holds at most so many flows; one of bytes as many as there are smallest
        // IP packets in it.
        let flows = match link.buffer {
            QueueSize::Packets(n) => n,
            QueueSize::Bytes(n) => n / 20.0,
        };
        Ok(Fred {
            bounds: Bounds {
                max_th: high,
                min_q: f64::from(self.min_q),
                max_q: low,
                many_flows: self.many_flows,
            },
            curve: Curve::new(low, high, self.max_p, false),
            avg: Average::new(self.weight.resolve(link)?, Gauge::of(min_th, link), link),
            spacer: Spacer::new(Spacing::Uniform),
            flows: FlowCounts::with_room(flows + 1.0),
            p_b: 0.0,
        })
    }
}

/// Lin and Morris 1997: a quarter of the buffer, or a round-trip time's packets if they are fewer.
pub fn automatic_min_th(buffer: f64, capacity: f64, rtt: Duration) -> f64 {
    (buffer / 4.0).min(rtt.as_secs_f64() * capacity)
}

/// FRED's state.
#[derive(Clone, Debug)]
pub struct Fred {
    bounds: Bounds,
    curve: Curve,
    avg: Average,
    spacer: Spacer,
    flows: FlowCounts,
    /// The probability of the last arrival that took part, before spacing.
    p_b: f64,
}

/// Packets that a flow may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Average queue above which flows are held to two packets, or to none.
    pub max_th: f64,
    /// Packets that a flow may hold without risk.
    pub min_q: f64,
    /// Packets that no flow exceeds.
    pub max_q: f64,
    /// Lets a flow hold two packets while the average is above `max_th`.
    pub many_flows: bool,
}

impl Bounds {
    /// Lin and Morris 1997: whether a flow with `held` packets and `strikes` exceeds its bounds; `mean`
    /// is the mean flow's queue, avgcq.
    #[inline]
    pub fn exceeded(&self, held: f64, strikes: u32, avg: f64, mean: f64) -> bool {
        let above = avg >= self.max_th;
        let max_q = if above && self.many_flows { self.max_q.min(2.0) } else { self.max_q };
        held >= max_q || (above && held > 2.0 * mean) || (held >= mean && strikes > 1)
    }

    /// Lin and Morris 1997: whether a flow within its bounds holds enough to be signaled.
    #[inline]
    pub fn robust(&self, held: f64, mean: f64) -> bool {
        held >= self.min_q.max(mean)
    }
}

/// Lin and Morris 1997: the mean flow's queue, `max(avg/Nactive, 1)`.
#[inline]
pub fn mean_flow_queue(avg: f64, active: u32) -> f64 {
    (avg / f64::from(active.max(1))).max(1.0)
}

impl Fred {
    #[inline]
    fn decide(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let FlowCount { packets, strikes, .. } = self.flows.get(pkt.flow);
        let (held, avg) = (f64::from(packets), self.avg.get());
        let mean = mean_flow_queue(avg, self.flows.active());
        if self.bounds.exceeded(held, strikes, avg, mean) {
            self.flows.strike(pkt.flow);
            return Verdict::Drop(Cause::Forced);
        }
        if avg >= self.bounds.max_th {
            self.spacer.restart();
            return if self.bounds.many_flows { Verdict::Pass } else { Verdict::Drop(Cause::Forced) };
        }
        self.p_b = self.curve.probability(avg);
        if self.p_b <= 0.0 {
            self.spacer.restart();
            return Verdict::Pass;
        }
        // Every arrival counts, whether or not its flow takes part.
        let p_a = self.spacer.next(self.p_b, 1.0);
        if !self.bounds.robust(held, mean) || !cx.rng.chance(p_a) {
            return Verdict::Pass;
        }
        self.spacer.restart();
        Verdict::Signal(Cause::Early)
    }
}

impl Aqm for Fred {
    fn on_inherit(&mut self, pkt: &PacketMeta) {
        self.flows.add(pkt.flow);
    }

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let was_idle = self.avg.wake(cx);
        let verdict = self.decide(cx, pkt);
        if !verdict.drops(pkt) {
            self.avg.sample(cx);
            self.flows.add(pkt.flow);
        } else if was_idle {
            self.avg.idle(cx.now);
        }
        verdict
    }

    /// It was counted as stored, and is not.
    fn on_overflow(&mut self, _: &mut Ctx<'_>, pkt: &PacketMeta) {
        self.flows.remove(pkt.flow);
        self.spacer.restart();
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.avg.sample(cx);
        self.flows.remove(pkt.flow);
        Verdict::Pass
    }

    fn departures(&self) -> Departures {
        Departures::Watched
    }

    fn on_idle(&mut self, since: Time) {
        self.avg.idle(since);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("avg", "packets", self.avg.get());
        out.value("p", "1", self.p_b);
        out.value("active_flows", "1", f64::from(self.flows.active()));
        out.value("mean_flow_queue", "packets", mean_flow_queue(self.avg.get(), self.flows.active()));
    }
}

equations! {
    automatic_min_th(buffer, capacity, rtt: Duration) -> min_th = automatic_min_th(buffer, capacity, rtt);
    mean_flow_queue(avg, active: u32) -> mean = mean_flow_queue(avg, active);
    Bounds(max_th, min_q, max_q, many_flows: bool, held, strikes: u32, avg, mean) -> exceeded, robust = {
        let bounds = Bounds { max_th, min_q, max_q, many_flows };
        (bounds.exceeded(held, strikes, avg, mean), bounds.robust(held, mean))
    };
}

#[cfg(test)]
mod tests {
    use quell_units::{BitRate, Bytes, Packets};

    use super::*;
    use crate::{Ecn, FlowId, QueueView, Seed};

    /// Ten flows of one packet per ten transmissions each, and one that sends as much as the link
    /// carries: it gets what is left, and not more.
    #[test]
    fn a_flow_that_does_not_respond_is_kept_in_check() {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(100.0),
            mean_packet: Bytes::new(500),
        };
        let mut fred = FredParams::default().build(&link).unwrap();
        let mut rng = Seed(1).stream("fred");
        let mut queue: alloc::collections::VecDeque<u32> = alloc::collections::VecDeque::new();
        let (mut kept, mut came) = ([0u32; 11], [0u32; 11]);
        let view = |n: usize| QueueView {
            packets: Packets::new(n as u32),
            bytes: Bytes::new(500 * n as u64),
            head_since: None,
            link_rate: None,
        };
        for step in 0..40_000u32 {
            let now = Time::from_nanos(u64::from(step) * 400_000);
            let meta = |flow| PacketMeta {
                bytes: Bytes::new(500),
                enqueued_at: now,
                flow: FlowId(flow),
                ecn: Ecn::NotEct,
                ..Default::default()
            };
            for flow in [step % 10, 10] {
                came[flow as usize] += 1;
                let n = queue.len();
                let verdict = fred.on_enqueue(&mut Ctx::new(now, view(n), &mut rng), &meta(flow));
                if verdict == Verdict::Pass {
                    assert!(n < 100, "flows in check never fill the buffer");
                    kept[flow as usize] += 1;
                    queue.push_back(flow);
                }
            }
            if let Some(flow) = queue.pop_front() {
                let n = queue.len();
                let mut cx = Ctx::new(now, view(n), &mut rng);
                assert_eq!(fred.on_dequeue(&mut cx, &meta(flow)), Verdict::Pass);
            }
            let held = queue.iter().filter(|f| **f == 10).count() as u32;
            assert_eq!(fred.flows.get(FlowId(10)).packets, held);
        }
        let share = |f: usize| f64::from(kept[f]) / f64::from(came[f]);
        assert!((0..10).all(|f| share(f) > 0.9), "{kept:?} of {came:?}");
        assert!(share(10) < 0.2, "{kept:?} of {came:?}");
    }
}
