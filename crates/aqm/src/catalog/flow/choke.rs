//! CHOKe: choose and keep, choose and kill (Pan et al. 2000).
//!
//! Beyond RED's lower threshold each arrival is compared with a packet drawn at random from the queue: if
//! both belong to one flow, both are dropped; if not, the arrival is RED's. A flow that sends more than its
//! share has more packets in the queue and more arrivals, so it is met by the square of its share. Nothing is
//! remembered of flows but the packets that wait.
//!
//! What the paper leaves open, and what this file does:
//! - The algorithm keeps the flows of the packets that wait, from the head to the tail, because it sees no
//!   packets. One that was drawn and matched is dropped when it comes to the head. Until then it counts for
//!   the buffer's limit, and for nothing else: not for the average, not for further draws; and it takes no time
//!   on the link, so what waits behind it leaves when it would have left.
//! - A drawn packet is not drawn again. Several `candidates` are drawn independently, as the paper suggests
//!   for many unresponsive flows; each that matches is dropped, and the arrival is, if one does.
//! - Matched packets are dropped even if they could be marked. A signal of RED marks.
//! - Beyond the upper threshold every arrival is dropped, as in the paper; `gentle` and `forced` are RED's. Linux marks
//!   there what is ECN-capable and does not match.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use quell_units::{Bytes, Packets, QueueSize, Time};

use crate::params::{About, ParamError, Remark};
use crate::part::{Forced, Spacing, Weight};
use crate::red::{Idle, Red, RedParams};
use crate::{Aqm, Cause, Ctx, Departures, FlowId, Link, PacketMeta, Probe, QueueView, Verdict, params};

params! {
    /// CHOKe's parameters.
    pub struct ChokeParams {
        /// Average queue at or above which arrivals are compared; its unit determines how the queue is measured.
        min_th: QueueSize = QueueSize::Packets(5.0), unit "packets or bytes", source "RED's; 100 packets of 1000 in Pan et al. 2000 (not verified)";
        /// Average queue at or above which every arrival is dropped.
        max_th: QueueSize = QueueSize::Packets(15.0), unit "packets or bytes", source "RED's; twice min_th in Pan et al. 2000 (not verified)";
        /// Probability at max_th.
        max_p: f64 = 0.1, unit "1", source "Floyd 1997";
        /// Weight of a new sample in the average; or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }.
        weight: Weight = Weight::Value(0.002), unit "1", source "Pan et al. 2000: RED's";
        /// Lets the probability rise from max_p at max_th to 1 at twice max_th.
        gentle: bool = false, unit "true or false", source "Pan et al. 2000: dropped from max_th on";
        /// What happens to an ECN-capable arrival when the probability is 1: "drop", or "mark" (Linux).
        forced: Forced = Forced::Drop, unit "name", source "Pan et al. 2000: dropped; RFC 3168 section 7";
        /// Spacing of RED's signals: "uniform", "uniform-pseudocode", "wait", "one-draw" (Linux) or "geometric".
        spacing: Spacing = Spacing::Uniform, unit "name", source "Floyd and Jacobson 1993, section 7";
        /// Packets that must wait before RED signals an arrival, however high the average. Linux: 0.
        min_backlog: u32 = 2, unit "packets", source "RED's";
        /// What the average does during idle times: it "ages", or "keeps" its value (Linux below a shaper).
        idle: Idle = Idle::Ages, unit "name", source "Pan et al. 2000: RED's";
        /// How many packets an arrival is compared with.
        candidates: u32 = 1, unit "packets", source "Pan et al. 2000: one";
    }
}

impl ChokeParams {
    /// The parameters that have no effect where no packet is marked.
    pub fn of_marks(&self) -> &'static [&'static str] {
        &["forced"]
    }

    /// RED with its parameters.
    fn red(&self) -> RedParams {
        RedParams {
            min_th: self.min_th,
            max_th: self.max_th,
            max_p: self.max_p,
            weight: self.weight,
            gentle: self.gentle,
            forced: self.forced,
            spacing: self.spacing,
            min_backlog: self.min_backlog,
            idle: self.idle,
            ..Default::default()
        }
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        // The least backlog is none of its parameters.
        self.red()
            .remarks(link)
            .into_iter()
            .filter(|remark| remark.about != About::Buffer || remark.field == "min_th")
            .collect()
    }

    /// CHOKe for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: one of RED's, or no candidates or more than 64.
    pub fn build(&self, link: &Link) -> Result<Choke, ParamError> {
        let red = self.red().build(link)?;
        require!((1..=64).contains(&self.candidates), self.candidates, "must lie in [1, 64]")?;
        let min_th = red.curve().thresholds().0;
        let room = link.buffer.in_packets(link.mean_packet).min(MOST) as usize + 1;
        Ok(Choke {
            red,
            min_th,
            candidates: self.candidates,
            waiting: Waiting { flows: VecDeque::with_capacity(room), room },
            doomed: (0, 0),
        })
    }
}

/// The places that are taken at once for what waits; more are taken when they are needed.
const MOST: f64 = 1e6;

/// CHOKe's state.
#[derive(Clone, Debug)]
pub struct Choke {
    red: Red,
    /// Threshold in packets.
    min_th: f64,
    candidates: u32,
    waiting: Waiting,
    /// Packets and bytes that wait and will be dropped.
    doomed: (u32, u64),
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Place {
    flow: FlowId,
    bytes: u32,
    /// It was drawn and belonged to the arrival's flow.
    doomed: bool,
}

/// Waiting packets, from the head to the tail.
#[derive(Debug)]
struct Waiting {
    flows: VecDeque<Place>,
    room: usize,
}

impl Clone for Waiting {
    /// Keeps room for the whole buffer, which a cloned `VecDeque` would not have.
    fn clone(&self) -> Self {
        let mut flows = VecDeque::with_capacity(self.room);
        flows.extend(self.flows.iter().copied());
        Waiting { flows, room: self.room }
    }
}

impl Choke {
    fn push(&mut self, pkt: &PacketMeta) {
        let bytes = u32::try_from(pkt.bytes.get()).unwrap_or(u32::MAX);
        self.waiting.flows.push_back(Place { flow: pkt.flow, bytes, doomed: false });
    }

    /// The queue without what will be dropped.
    #[inline]
    fn alive(&self, queue: &QueueView) -> QueueView {
        QueueView {
            packets: Packets::new(queue.packets.get().saturating_sub(self.doomed.0)),
            bytes: Bytes::new(queue.bytes.get().saturating_sub(self.doomed.1)),
            ..*queue
        }
    }

    /// Draws one of the packets that wait and will not be dropped, each with the same probability.
    fn draw(&self, cx: &mut Ctx<'_>) -> Option<usize> {
        let flows = &self.waiting.flows;
        if flows.len() <= self.doomed.0 as usize {
            return None;
        }
        loop {
            let i = (cx.rng.uniform() * flows.len() as f64) as usize;
            if !flows[i].doomed {
                return Some(i);
            }
        }
    }

    /// Compares an arrival with packets that wait, and dooms those of its flow; true if there is one.
    fn matches(&mut self, cx: &mut Ctx<'_>, flow: FlowId) -> bool {
        let mut matched = false;
        for _ in 0..self.candidates {
            let Some(i) = self.draw(cx) else { break };
            let place = &mut self.waiting.flows[i];
            if place.flow == flow {
                place.doomed = true;
                self.doomed.0 += 1;
                self.doomed.1 += u64::from(place.bytes);
                matched = true;
            }
        }
        matched
    }
}

impl Aqm for Choke {
    fn on_inherit(&mut self, pkt: &PacketMeta) {
        self.push(pkt);
    }

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let queue = self.alive(&cx.queue);
        let mut cx = Ctx { now: cx.now, queue, link_backlog: cx.link_backlog, rng: &mut *cx.rng };
        let was_idle = self.red.sample(&cx);
        if self.red.average() > self.min_th && self.matches(&mut cx, pkt.flow) {
            return Verdict::Drop(Cause::Early);
        }
        let verdict = self.red.decide(&mut cx, pkt, was_idle);
        if !verdict.drops(pkt) {
            self.push(pkt);
        }
        verdict
    }

    #[inline]
    fn on_dequeue(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) -> Verdict {
        match self.waiting.flows.pop_front() {
            Some(Place { doomed: true, bytes, .. }) => {
                self.doomed.0 -= 1;
                self.doomed.1 -= u64::from(bytes);
                Verdict::Drop(Cause::Early)
            }
            _ => Verdict::Pass,
        }
    }

    #[inline]
    fn departures(&self) -> Departures {
        Departures::Decided
    }

    /// The arrival is the last that was counted.
    fn on_overflow(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) {
        self.waiting.flows.pop_back();
        self.red.on_overflow(cx, pkt);
    }

    fn on_idle(&mut self, since: Time) {
        self.red.on_idle(since);
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("avg", "packets", self.red.average());
        out.value("p", "1", self.red.probability());
        out.value("doomed", "packets", f64::from(self.doomed.0));
    }
}

/// Pan et al. 2000, section II: the probability that an arrival of a flow with this share of the queue is matched
/// by one of so many candidates.
pub fn match_probability(share: f64, candidates: u32) -> f64 {
    1.0 - libm::pow(1.0 - share, f64::from(candidates))
}

equations! {
    match_probability(share, candidates: u32) -> p = match_probability(share, candidates);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use quell_units::BitRate;

    /// Of 20 packets that wait, `share` of them of flow 0, the share of flow 0's arrivals that are dropped.
    fn matched(share: u32, candidates: u32) -> f64 {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(100.0),
            mean_packet: Bytes::new(1000),
        };
        let params =
            ChokeParams { candidates, weight: Weight::Value(1.0), max_p: 1e-9, ..Default::default() };
        let params = ChokeParams { max_th: QueueSize::Packets(90.0), ..params };
        let mut rng = Seed(1).stream("choke");
        let mut drops = 0;
        for _ in 0..20_000 {
            let mut choke = params.build(&link).unwrap();
            for i in 0..20 {
                choke.on_inherit(&PacketMeta {
                    bytes: Bytes::new(1000),
                    flow: FlowId(u32::from(i >= share)),
                    ..Default::default()
                });
            }
            let queue = QueueView {
                packets: Packets::new(20),
                bytes: Bytes::new(20_000),
                head_since: None,
                link_rate: None,
            };
            let pkt = PacketMeta { bytes: Bytes::new(1000), ..Default::default() };
            let verdict = choke.on_enqueue(&mut Ctx::new(Time::ZERO, queue, &mut rng), &pkt);
            drops += u32::from(verdict != Verdict::Pass);
            // Whom it met goes as well, and no other.
            let doomed = choke.waiting.flows.iter().filter(|p| p.doomed).count() as u32;
            assert_eq!(doomed, choke.doomed.0);
            assert!(verdict == Verdict::Pass && doomed == 0 || (1..=candidates).contains(&doomed));
            assert!(choke.waiting.flows.iter().all(|p| !p.doomed || p.flow == FlowId(0)));
        }
        f64::from(drops) / 20_000.0
    }

    #[test]
    fn an_arrival_is_met_with_the_probability_of_its_flows_share() {
        for share in [1, 5, 15, 20] {
            let want = f64::from(share) / 20.0;
            assert!((matched(share, 1) - want).abs() < 0.01, "{} for {want}", matched(share, 1));
        }
        assert!((matched(5, 1) - match_probability(0.25, 1)).abs() < 0.01);
        // The second is drawn from what the first has left, which matters little.
        assert!((matched(5, 3) - match_probability(0.25, 3)).abs() < 0.02);
    }
}
