//! What happened at a queue: the counts that RFC 9332 section 2.5.2.2 asks to report. The delay that it asks
//! for as well is for the host to measure, which knows when packets leave. The lanes of a discipline share one
//! set of counts, and those with a name have one each beside it.

use core::ops::AddAssign;

use quell_aqm::{Cause, Ecn, PacketMeta};

use crate::Admission;

/// A number of packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Tally {
    #[inline]
    fn count(&mut self, pkt: &PacketMeta) {
        self.packets += 1;
        self.bytes += pkt.bytes.get();
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// Packets that were dropped at one place, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Early signals on packets that are not ECN-capable, and early drops.
    pub early: Tally,
    /// Because a hard limit of the algorithm was passed.
    pub forced: Tally,
    /// For want of room.
    pub overflow: Tally,
    /// Of all these, the packets that were ECN-capable.
    pub ecn_capable: Tally,
}

impl Drops {
    /// All of them.
    pub fn total(&self) -> Tally {
        let mut all = self.early;
        all += self.forced;
        all += self.overflow;
        all
    }

    #[inline]
    fn count(&mut self, cause: Cause, pkt: &PacketMeta) {
        match cause {
            Cause::Early => self.early.count(pkt),
            Cause::Forced => self.forced.count(pkt),
            Cause::Overflow => self.overflow.count(pkt),
        }
        if pkt.ecn.is_capable() {
            self.ecn_capable.count(pkt);
        }
    }
}

/// What happened at a queue.
///
/// `arrived = enqueued + refused` and `enqueued = departed + dropped + (packets in the queue)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that came, and were presented to the algorithm.
    pub arrived: Tally,
    /// Of those, the ones that had been marked before (CE).
    pub arrived_ce: Tally,
    /// Packets that were stored.
    pub enqueued: Tally,
    /// Packets dropped on arrival.
    pub refused: Drops,
    /// Packets dropped after they were stored: by the algorithm at the head, or to make room.
    pub dropped: Drops,
    /// Packets that this queue marked, on arrival or at the head.
    pub marked: Tally,
    /// Packets that left for the link.
    pub departed: Tally,
}

impl Counters {
    /// Packets that the algorithm dropped or marked; not those that the buffer had no room for.
    pub fn signaled(&self) -> u64 {
        let by_algorithm = |drops: &Drops| drops.early.packets + drops.forced.packets;
        by_algorithm(&self.refused) + by_algorithm(&self.dropped) + self.marked.packets
    }

    /// Counts an arrival; says whether the packet is to be stored.
    #[inline]
    pub(crate) fn arrival(&mut self, pkt: &PacketMeta, admission: Admission) -> bool {
        self.arrived.count(pkt);
        if pkt.ecn == Ecn::Ce {
            self.arrived_ce.count(pkt);
        }
        match admission {
            Admission::Dropped(cause) => {
                self.refused.count(cause, pkt);
                return false;
            }
            Admission::Marked => self.marked.count(pkt),
            Admission::Queued => {}
        }
        self.enqueued.count(pkt);
        true
    }

    /// Counts a packet that leaves the head.
    #[inline]
    pub(crate) fn head(&mut self, pkt: &PacketMeta, admission: Admission) {
        match admission {
            Admission::Dropped(cause) => return self.dropped.count(cause, pkt),
            Admission::Marked => self.marked.count(pkt),
            Admission::Queued => {}
        }
        self.departed.count(pkt);
    }

    /// Counts a packet that waited and is dropped to make room.
    #[inline]
    pub(crate) fn evicted(&mut self, pkt: &PacketMeta) {
        self.dropped.count(Cause::Overflow, pkt);
    }
}
