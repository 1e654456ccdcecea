//! SFQ: stochastic fairness queueing (McKenney 1990).
//!
//! A hash gives each flow one of many queues, which are served in turn. A full buffer costs the longest queue its last
//! packet, so a flow that sends more than its share loses the excess.
//!
//! What the paper leaves open, and what this file does:
//! - The paper serves a packet per turn. `quantum` bytes per turn are fair to flows of small packets as well, as
//!   in Linux and in deficit round robin (Shreedhar and Varghese 1996).
//! - A queue that runs empty loses its place, and comes back at the end with a whole quantum.
//! - The longest queue is the one with the most bytes, the arrival counted, or with the most packets, as in Linux:
//!   `longest`.
//! - The paper perturbs the hash from time to time, and so do `perturb` and the run's seed. Packets that wait
//!   then may be overtaken by those that follow.
//! - `depth` is Linux's: a queue of so many packets takes no more. So is `active`: no more queues have packets.

use quell_units::{Bytes, Duration};

use super::fq_codel::{check_quantum, check_queues};
use crate::drop_tail::DropTail;
use crate::params::{Marks, ParamError, require};
use crate::part::{Arrangement, Emptied, Full, Longest, OfFlow, PerFlow, Service};
use crate::{Link, params};

params! {
    /// SFQ's parameters.
    pub struct SfqParams {
        /// Queues into which flows are hashed.
        flows: u32 = 1024, unit "queues", source "tc-sfq(8): divisor";
        /// Bytes that a queue may send per turn: about the largest packet.
        quantum: Bytes = Bytes::new(1514), unit "bytes", source "tc-sfq(8): the interface's MTU";
        /// Most packets that may wait in one queue.
        depth: u32 = 127, unit "packets", source "tc-sfq(8)";
        /// How many queues may have packets at a time; an arrival for one more is dropped; left out: all. Linux: 128.
        active: Option<u32> = None, unit "queues", source "McKenney 1990";
        /// Queue that loses a packet when the buffer is full: the one with the most "bytes" or the most "packets";
        /// among equals, the one that changed last (Linux).
        longest: Longest = Longest::Bytes, unit "name", source "fair to flows of small packets; McKenney 1990 has packets of one size";
        /// Time after which flows are rehashed with another key; left out: never.
        perturb: Option<Duration> = None, unit "s", source "McKenney 1990; tc-sfq(8)";
        /// Key of the hash; left out: drawn from the run's seed.
        hash_key: Option<u64> = None, unit "1", source "RFC 8290 section 4.1";
    }
}

impl SfqParams {
    /// It has no signals.
    pub fn marks(&self) -> Marks {
        Marks::Nothing
    }

    /// SFQ for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: no queues, no room in them, a quantum below a packet, a perturbation
    /// without end.
    pub fn build(&self, link: &Link) -> Result<Sfq, ParamError> {
        link.check()?;
        Ok(PerFlow::new(self.arrangement(link)?, DropTail, None))
    }

    /// Its queues, for those that have an algorithm in each.
    pub(super) fn arrangement(&self, link: &Link) -> Result<Arrangement, ParamError> {
        check_queues("flows", self.flows)?;
        check_quantum(self.quantum, link)?;
        require!(self.depth > 0, self.depth, "must be at least 1 [tc-sfq(8)]")?;
        require(self.active != Some(0), "active", 0, "must be at least 1; leave it out for all")?;
        if let Some(perturb) = self.perturb {
            require!(
                perturb >= Duration::from_millis(1),
                perturb,
                "must be at least 1 ms; leave it out for never [McKenney 1990]"
            )?;
        }
        Ok(Arrangement {
            flows: self.flows,
            quantum: self.quantum,
            limit: u32::MAX,
            memory_limit: Bytes::new(u64::MAX),
            depth: self.depth,
            active: self.active.unwrap_or(u32::MAX),
            service: Service::Turns,
            emptied: Emptied::ToOld,
            full: Full::Longest(self.longest),
            hash_key: self.hash_key,
            perturb: self.perturb,
        })
    }
}

/// SFQ's state.
pub type Sfq = PerFlow<DropTail>;

impl OfFlow for DropTail {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Discipline, FlowId, Lanes, LanesCtx, PacketMeta, QueueView, Seed, Verdict, Victim};
    use quell_units::{BitRate, Packets, QueueSize, Time};

    fn link(packets: f64) -> Link {
        Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(packets),
            mean_packet: Bytes::new(1000),
        }
    }

    /// A queue of so many packets of so many bytes.
    fn view(packets: u32, bytes: u64) -> QueueView {
        QueueView {
            packets: Packets::new(packets),
            bytes: Bytes::new(u64::from(packets) * bytes),
            head_since: None,
            link_rate: None,
        }
    }

    /// The victim of an arrival of 100 bytes at a queue, where two queues wait with so many packets of so many bytes.
    /// Before, the queues have changed in this order.
    fn victim(longest: Longest, waiting: [(u32, u64); 2], changed: &[usize], arrival: usize) -> Victim {
        let link = link(10.0);
        let mut sfq = SfqParams { flows: 2, longest, ..Default::default() }.build(&link).unwrap();
        let mut rng = Seed(1).stream("sfq");
        let each = waiting.map(|(packets, bytes)| view(packets, bytes));
        let lanes = Lanes {
            each: &each,
            packets: Packets::new(each.iter().map(|queue| queue.packets.get()).sum()),
            bytes: Bytes::new(each.iter().map(|queue| queue.bytes.get()).sum()),
        };
        let pkt = PacketMeta { bytes: Bytes::new(100), flow: FlowId(0), ..Default::default() };
        let mut cx = LanesCtx { now: Time::ZERO, lanes, rng: &mut rng };
        for lane in changed.iter().chain([&arrival]) {
            assert_eq!(sfq.on_enqueue(&mut cx, *lane, &pkt), Verdict::Pass);
        }
        sfq.victim(&mut cx, arrival, &pkt)
    }

    /// Linux's sfq_drop: its queues are in lists by their packets, one that has changed at the head of its list.
    #[test]
    fn the_longest_queue_has_most_bytes_or_in_linux_most_packets() {
        let of = |longest, waiting, changed: &[usize]| victim(longest, waiting, changed, 1);
        assert_eq!(of(Longest::Bytes, [(5, 100), (2, 1000)], &[0]), Victim::Arrival);
        assert_eq!(of(Longest::Packets, [(5, 100), (2, 1000)], &[0]), Victim::Tail(0));
        // The arrival counts, and of equals its queue changed last.
        assert_eq!(of(Longest::Packets, [(3, 1000), (2, 100)], &[0]), Victim::Arrival);
        let at_third = |changed: &[usize]| {
            let link = link(10.0);
            let params = SfqParams { flows: 3, longest: Longest::Packets, ..Default::default() };
            let mut sfq = params.build(&link).unwrap();
            let mut rng = Seed(1).stream("sfq");
            let each = [5, 5, 0].map(|packets| view(packets, 1000));
            let lanes = Lanes { each: &each, packets: Packets::new(10), bytes: Bytes::new(10_000) };
            let pkt = PacketMeta { bytes: Bytes::new(1000), ..Default::default() };
            let mut cx = LanesCtx { now: Time::ZERO, lanes, rng: &mut rng };
            for lane in changed.iter().chain([&2]) {
                let _ = sfq.on_enqueue(&mut cx, *lane, &pkt);
            }
            sfq.victim(&mut cx, 2, &pkt)
        };
        assert_eq!([at_third(&[0, 1]), at_third(&[1, 0])], [Victim::Tail(1), Victim::Tail(0)]);
    }

    /// A third queue has no place until one of two has run empty.
    #[test]
    fn no_more_queues_have_packets_than_may() {
        let link = link(1000.0);
        let mut sfq = SfqParams { flows: 4, active: Some(2), ..Default::default() }.build(&link).unwrap();
        let mut rng = Seed(1).stream("sfq");
        let mut call = |waiting: [u32; 4], lane: usize, leaves: bool| {
            let each = waiting.map(|packets| view(packets, 1000));
            let packets = Packets::new(waiting.iter().sum());
            let lanes = Lanes { each: &each, packets, bytes: Bytes::new(u64::from(packets.get()) * 1000) };
            let mut cx = LanesCtx { now: Time::ZERO, lanes, rng: &mut rng };
            let pkt = PacketMeta { bytes: Bytes::new(1000), ..Default::default() };
            if leaves { sfq.on_dequeue(&mut cx, lane, &pkt) } else { sfq.on_enqueue(&mut cx, lane, &pkt) }
        };
        assert_eq!(call([0, 0, 0, 0], 0, false), Verdict::Pass);
        assert_eq!(call([1, 0, 0, 0], 1, false), Verdict::Pass);
        assert_eq!(call([1, 1, 0, 0], 2, false), Verdict::Drop(Cause::Forced));
        assert_eq!(call([1, 1, 0, 0], 1, false), Verdict::Pass, "it has a place");
        assert_eq!(call([0, 2, 0, 0], 0, true), Verdict::Pass);
        assert_eq!(call([0, 2, 0, 0], 2, false), Verdict::Pass);
    }

    #[test]
    fn a_queue_holds_no_more_than_its_depth() {
        let link = link(1000.0);
        let mut sfq = SfqParams { flows: 1, depth: 3, ..Default::default() }.build(&link).unwrap();
        let mut rng = Seed(1).stream("sfq");
        let verdicts = [2, 3].map(|waiting| {
            let each = [view(waiting, 1000)];
            let lanes = Lanes { each: &each, packets: each[0].packets, bytes: each[0].bytes };
            let mut cx = LanesCtx { now: Time::ZERO, lanes, rng: &mut rng };
            sfq.on_enqueue(&mut cx, 0, &PacketMeta { bytes: Bytes::new(1000), ..Default::default() })
        });
        assert_eq!(verdicts, [Verdict::Pass, Verdict::Drop(Cause::Forced)]);
    }
}
