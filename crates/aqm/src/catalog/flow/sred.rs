//! SRED: stabilized random early drop (Ott et al. 1999).
//!
//! SRED estimates how many flows are active without per-flow state: each arrival is compared with a
//! packet drawn from a list of recent ones (zombies). If both belong to one flow, that is a hit; the
//! share of hits P(t) is the sum of the squares of the flows' shares of the traffic, so 1/P(t) is the
//! number of flows of equal rate. The probability grows with the square of that number, because the
//! loss rate at which N flows share a link does, and grows with the fill level of the buffer only in
//! steps.
//!
//! What the paper leaves open, and what this file does:
//! - Nothing is compared until the list is full, and P(0) = 0, so the initial load factor is the
//!   largest.
//! - The paper gives the weight of a hit as p/M (eq. 3.3) and simulates with 1/M; if `alpha` is left
//!   out, eq. 3.3 gives it.
//! - The zombies' counts and times of arrival, which the paper keeps to find misbehaving flows, do not
//!   affect the probability and are not kept.

use alloc::vec::Vec;

use quell_units::QueueSize;

use crate::params::{ParamError, in_range, positive};
use crate::{Aqm, Ctx, FlowId, Link, PacketMeta, Probe, QueueView, Verdict, params};

choice! {
    /// One of the paper's two laws.
    pub enum SredLaw {
        /// The probability depends on the fill level and the load.
        Simple = "simple",
        /// A hit multiplies it by 1 + 1/P(t): flows that send more are signaled more.
        Full = "full",
    }
}

params! {
    /// SRED's parameters.
    pub struct SredParams {
        /// M: length of the zombie list.
        zombies: u32 = 1000, unit "1", source "Ott et al. 1999, section II";
        /// Probability that an arrival without a hit replaces the zombie it was compared with.
        overwrite: f64 = 0.25, unit "1", source "Ott et al. 1999, section II";
        /// Weight of an arrival in the hit rate P(t); left out: overwrite / zombies.
        alpha: Option<f64> = None, unit "1", source "Ott et al. 1999, eq. 3.3; its simulations use 1 / zombies";
        /// Probability when the buffer is at least a third full; from a sixth on, a quarter of it.
        p_max: f64 = 0.15, unit "1", source "Ott et al. 1999, eq. 4.3";
        /// Number of flows beyond which more load does not raise the probability.
        flows: u32 = 256, unit "1", source "Ott et al. 1999, eq. 4.4";
        /// "full" or "simple": whether a hit raises the probability.
        law: SredLaw = SredLaw::Full, unit "name", source "Ott et al. 1999, section V";
    }
}

impl SredParams {
    /// SRED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: an empty list or one of more than a million, a probability
    /// outside (0, 1], no flows.
    pub fn build(&self, link: &Link) -> Result<Sred, ParamError> {
        link.check()?;
        require!((1..=1 << 20).contains(&self.zombies), self.zombies, "must lie in [1, 1048576]")?;
        positive("overwrite", self.overwrite, "Ott et al. 1999, section II")?;
        in_range("overwrite", self.overwrite, 0.0, 1.0, "a probability")?;
        let alpha = self.alpha.unwrap_or(self.overwrite / f64::from(self.zombies));
        require!(alpha > 0.0 && alpha <= 1.0, alpha, "must lie in (0, 1]")?;
        require!(self.p_max > 0.0 && self.p_max <= 1.0, self.p_max, "must lie in (0, 1]")?;
        require!(self.flows > 0, self.flows, "must be at least 1")?;
        Ok(Sred {
            zombies: Zombies { list: Vec::with_capacity(self.zombies as usize), room: self.zombies },
            overwrite: self.overwrite,
            alpha,
            p_max: self.p_max,
            flows: f64::from(self.flows),
            law: self.law,
            buffer: link.buffer,
            hit_rate: 0.0,
            p_zap: 0.0,
        })
    }
}

/// SRED's state.
#[derive(Clone, Debug)]
pub struct Sred {
    zombies: Zombies,
    overwrite: f64,
    alpha: f64,
    p_max: f64,
    flows: f64,
    law: SredLaw,
    buffer: QueueSize,
    /// P(t).
    hit_rate: f64,
    /// The probability of the last arrival.
    p_zap: f64,
}

/// The flows of some recent packets.
#[derive(Debug)]
struct Zombies {
    list: Vec<FlowId>,
    room: u32,
}

impl Clone for Zombies {
    /// Keeps capacity for the whole list, which a cloned `Vec` would not have.
    fn clone(&self) -> Self {
        let mut list = Vec::with_capacity(self.room as usize);
        list.extend_from_slice(&self.list);
        Zombies { list, room: self.room }
    }
}

impl Sred {
    /// Compares an arrival with a zombie; true if it hits.
    #[inline]
    fn compare(&mut self, cx: &mut Ctx<'_>, flow: FlowId) -> bool {
        let Zombies { list, room } = &mut self.zombies;
        if list.len() < *room as usize {
            list.push(flow);
            return false;
        }
        let drawn = (cx.rng.uniform() * f64::from(*room)) as usize;
        let hit = list[drawn] == flow;
        if !hit && cx.rng.chance(self.overwrite) {
            list[drawn] = flow;
        }
        self.hit_rate += self.alpha * (f64::from(u8::from(hit)) - self.hit_rate);
        hit
    }

    /// Share of the buffer that is full, 0 to 1.
    #[inline]
    fn filling(&self, queue: &QueueView) -> f64 {
        match self.buffer {
            QueueSize::Packets(n) => f64::from(queue.packets.get()) / n,
            QueueSize::Bytes(n) => queue.bytes.get() as f64 / n,
        }
    }
}

impl Aqm for Sred {
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let hit = self.compare(cx, pkt.flow);
        let p = p_sred(self.filling(&cx.queue), self.p_max) * load_factor(self.hit_rate, self.flows);
        self.p_zap = match self.law {
            SredLaw::Full => (p * hit_factor(hit, self.hit_rate)).min(1.0),
            SredLaw::Simple => p,
        };
        Verdict::early_if(cx.rng.chance(self.p_zap))
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("hit_rate", "1", self.hit_rate);
        out.value("p", "1", self.p_zap);
    }
}

/// Ott et al. 1999, eq. 4.3: the probability from the fill level alone.
#[inline]
pub fn p_sred(filling: f64, p_max: f64) -> f64 {
    if filling >= 1.0 / 3.0 {
        p_max
    } else if filling >= 1.0 / 6.0 {
        p_max / 4.0
    } else {
        0.0
    }
}

/// Ott et al. 1999, eq. 4.4: `min(1, 1/(256 P)^2)`, the square of the estimated number of flows
/// over `flows`.
#[inline]
pub fn load_factor(hit_rate: f64, flows: f64) -> f64 {
    let x = 1.0 / (flows * hit_rate);
    (x * x).min(1.0)
}

/// Ott et al. 1999, eq. 5.1, the full law: `1 + Hit(t)/P(t)`.
#[inline]
pub fn hit_factor(hit: bool, hit_rate: f64) -> f64 {
    if hit { 1.0 + 1.0 / hit_rate } else { 1.0 }
}

equations! {
    p_sred(filling, p_max) -> p = p_sred(filling, p_max);
    load_factor(hit_rate, flows) -> factor = load_factor(hit_rate, flows);
    hit_factor(hit: bool, hit_rate) -> factor = hit_factor(hit, hit_rate);
}

#[cfg(test)]
mod tests {
    use quell_units::{BitRate, Bytes, Packets, Time};

    use super::*;
    use crate::{Ecn, Seed};

    fn after(arrivals: u32, mut flow: impl FnMut(u32, f64) -> u32) -> Sred {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(500.0),
            mean_packet: Bytes::new(500),
        };
        let mut sred = SredParams::default().build(&link).unwrap();
        let mut rng = Seed(1).stream("sred");
        let mut traffic = Seed(1).stream("traffic");
        for i in 0..arrivals {
            let queue = QueueView {
                packets: Packets::new(0),
                bytes: Bytes::new(0),
                head_since: None,
                link_rate: None,
            };
            let now = Time::from_nanos(u64::from(i));
            let flow = FlowId(flow(i, traffic.uniform()));
            let pkt = PacketMeta {
                bytes: Bytes::new(500),
                enqueued_at: now,
                flow,
                ecn: Ecn::Ect0,
                ..Default::default()
            };
            let _ = sred.on_enqueue(&mut Ctx::new(now, queue, &mut rng), &pkt);
        }
        sred
    }

    #[test]
    fn hits_count_the_flows() {
        for flows in [1.0, 10.0, 100.0] {
            let estimate = 1.0 / after(200_000, |_, u| (u * flows) as u32).hit_rate;
            assert!((estimate / flows - 1.0).abs() < 0.25, "{estimate} of {flows}");
        }
    }

    #[test]
    fn the_estimate_recovers_after_the_load_has_changed() {
        // From one flow to fifty: the list forgets in some thousand packets.
        let sred = after(100_000, |i, u| if i < 50_000 { 0 } else { (u * 50.0) as u32 });
        assert!((1.0 / sred.hit_rate / 50.0 - 1.0).abs() < 0.25, "{}", 1.0 / sred.hit_rate);
    }

    #[test]
    fn a_copy_has_room_for_the_whole_list() {
        let sred = after(10, |i, _| i);
        assert!(sred.clone().zombies.list.capacity() >= 1000);
    }
}
