//! GREEN: generalized random early evasion network (Feng et al. 2002).
//!
//! GREEN signals each flow with the probability at which TCP's steady-state throughput is its fair
//! share of the link: with throughput `MSS c / (R sqrt p)`, the share L/N requires
//! `p = (N MSS c / (L R))^2`. Flows with short round-trip times are signaled more often than those with long ones. The
//! queue is ignored. N and R are measured from the packets that pass.
//!
//! Experimental: written from the equation. What is not known about the paper, and what this file does:
//! - How long a flow counts as active: `flow_interval`.
//! - How round-trip times are known: from the handshake of each flow; for a flow whose handshake was not
//!   seen, the mean of the handshakes of the last `flow_interval`, and before the first one `rtt`.
//! - MSS is the size of the packet in question, headers included. Acknowledgments are then almost never
//!   signaled.
//! - c depends on how packets are acknowledged and lost; the default is for one acknowledgment per
//!   packet and evenly spaced losses (Mathis et al. 1997).
//! - L is the link's current rate, if the host knows it.
//! - Signals gain nothing on an idle link: none is sent while fewer than `min_backlog` packets wait.

use alloc::vec::Vec;

use quell_units::{BitRate, Duration};

use crate::params::{ParamError, Remark, positive, positive_duration};
use crate::part::FlowTable;
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict, params};

params! {
    /// GREEN's parameters.
    pub struct GreenParams {
        /// c: TCP's throughput is MSS c / (R sqrt p).
        c: f64 = 1.22, unit "1", source "sqrt(3/2): Mathis et al. 1997";
        /// Round-trip time of flows until one has been measured.
        rtt: Duration = Duration::from_millis(100), unit "s", source "Floyd et al. 2001, the usual value";
        /// Time without packets after which a flow is no longer active.
        flow_interval: Duration = Duration::from_secs(10), unit "s", source "this implementation";
        /// Largest number of connections that can be told apart within flow_interval; the count stops
        /// there.
        max_flows: u32 = 16_384, unit "1", source "this implementation";
        /// How many packets must wait before an arrival is signaled at all; 0 follows the paper literally.
        min_backlog: u32 = 2, unit "packets", source "this implementation, as in RED";
    }
}

impl GreenParams {
    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Remark::on_backlog(self.min_backlog, link).into_iter().collect()
    }

    /// GREEN for a link.
    ///
    /// # Errors
    /// Names the field that is not positive, a table without room, an impossible backlog.
    pub fn build(&self, link: &Link) -> Result<Green, ParamError> {
        link.check()?;
        positive("c", self.c, "Mathis et al. 1997")?;
        positive_duration("rtt", self.rtt, "GREEN")?;
        Ok(Green {
            table: FlowTable::new("max_flows", self.max_flows, "flow_interval", self.flow_interval)?,
            c: self.c,
            rtt: self.rtt,
            min_backlog: self.min_backlog,
            rate: link.rate,
            p: 0.0,
        })
    }
}

/// GREEN's state.
#[derive(Clone, Debug)]
pub struct Green {
    table: FlowTable,
    c: f64,
    /// Round-trip time assumed of flows before any is known.
    rtt: Duration,
    min_backlog: u32,
    /// The link's initial rate, for hosts that do not give the current one.
    rate: BitRate,
    /// The probability of the last arrival.
    p: f64,
}

impl Aqm for Green {
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.table.see(cx.now, pkt);
        let rtt = self.table.rtt_of(pkt.flow).or_else(|| self.table.last_rtt()).unwrap_or(self.rtt);
        let rate = cx.queue.link_rate.unwrap_or(self.rate).bps() as f64 / 8.0;
        let flows = f64::from(self.table.last_count());
        self.p = fair_probability(flows, pkt.bytes.get() as f64, self.c, rate, rtt.as_secs_f64());
        Verdict::early_if(cx.queue.packets.get() >= self.min_backlog && cx.rng.chance(self.p))
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p);
        out.value("flows", "1", f64::from(self.table.last_count()));
        let rtt: Option<Duration> = self.table.last_rtt();
        out.value("rtt", "s", rtt.unwrap_or(self.rtt).as_secs_f64());
    }
}

/// Feng et al. 2002: `p = (N MSS c / (L R))^2`, at most 1; sizes in bytes, the rate
/// in bytes/s.
#[inline]
pub fn fair_probability(flows: f64, mss: f64, c: f64, rate: f64, rtt: f64) -> f64 {
    let x = flows * mss * c / (rate * rtt);
    // On a stopped link, or without delay, everything would be signaled.
    if x < 1.0 { x * x } else { 1.0 }
}

equations! {
    fair_probability(flows, mss, c, rate, rtt) -> p = fair_probability(flows, mss, c, rate, rtt);
}

#[cfg(test)]
mod tests {
    use quell_units::{Bytes, Packets, QueueSize, Time};

    use super::*;
    use crate::{Ecn, FlowId, QueueView, Seed};

    /// Flows that have left do not count any more, however many they were.
    #[test]
    fn the_probability_recovers_from_a_crowd() {
        let rate = BitRate::from_bps(10_000_000);
        let link = Link { rate, buffer: QueueSize::Packets(500.0), mean_packet: Bytes::new(500) };
        let mut green = GreenParams::default().build(&link).unwrap();
        let mut rng = Seed(1).stream("test");
        let bytes = Bytes::new(500);
        let queue = QueueView { packets: Packets::new(1), bytes, head_since: None, link_rate: Some(rate) };
        let mut p = |ms: u64, flow: u32| {
            let now = Time::ZERO + Duration::from_millis(ms);
            let pkt = PacketMeta {
                bytes,
                enqueued_at: now,
                flow: FlowId(flow),
                ecn: Ecn::NotEct,
                ..Default::default()
            };
            let _ = green.on_enqueue(&mut Ctx::new(now, queue, &mut rng), &pkt);
            green.p
        };
        for flow in 0..1000 {
            p(0, flow);
        }
        assert_eq!(p(1, 7), 1.0);
        let one = fair_probability(1.0, 500.0, 1.22, 1.25e6, 0.1);
        assert_eq!(p(10_002, 2000), one, "the crowd is ten seconds old");
    }
}
