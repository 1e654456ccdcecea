//! The part that every queue shares: updates on time, verdicts into marks and drops.

use quell_aqm::{Aqm, Cause, Ctx, Departures, Ecn, PacketMeta, QueueView, Rng, Verdict};
use quell_units::{QueueSize, Time};

/// The most that may wait in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A number of packets.
    Packets(u32),
    /// A number of bytes.
    Bytes(u64),
}

impl Limit {
    /// A buffer as a limit; fractions are cut off.
    pub fn of(buffer: QueueSize) -> Self {
        match buffer {
            QueueSize::Packets(n) => Limit::Packets(n as u32),
            QueueSize::Bytes(n) => Limit::Bytes(n as u64),
        }
    }

    /// Says whether a packet of `bytes` fits behind what waits.
    #[inline]
    pub fn admits(self, queue: &QueueView, bytes: u64) -> bool {
        self.has_room(queue.packets.get(), queue.bytes.get(), bytes)
    }

    #[inline]
    pub(crate) fn has_room(self, packets: u32, waiting: u64, bytes: u64) -> bool {
        match self {
            Limit::Packets(n) => packets < n,
            Limit::Bytes(n) => waiting + bytes <= n,
        }
    }
}

/// The fate of a packet that arrived.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Admission {
    /// It waits.
    Queued,
    /// It waits, and its ECN field must say congestion experienced.
    Marked,
    /// It is gone.
    Dropped(Cause),
}

/// An algorithm, its random stream and its limit.
#[derive(Clone, Debug)]
pub struct Gate<A> {
    aqm: A,
    rng: Rng,
    limit: Limit,
    /// Signals mark ECN-capable packets.
    marks: bool,
}

impl<A: Aqm> Gate<A> {
    /// A gate for a queue of at most `limit` whose signals mark ECN-capable packets if `marks`.
    pub fn new(aqm: A, rng: Rng, limit: Limit, marks: bool) -> Self {
        Gate { aqm, rng, limit, marks }
    }

    /// The algorithm.
    pub fn aqm(&self) -> &A {
        &self.aqm
    }

    /// The time at which the next update is due.
    #[inline]
    pub fn next_update(&self) -> Option<Time> {
        self.aqm.next_update()
    }

    /// Runs the update that was due at `due`, with the queue as it was then.
    pub fn update(&mut self, due: Time, queue: QueueView) {
        self.aqm.on_update(&mut Ctx::new(due, queue, &mut self.rng));
    }

    /// Tells the algorithm that the link has been idle since `since`.
    #[inline]
    pub fn idle(&mut self, since: Time) {
        self.aqm.on_idle(since);
    }

    /// Tells the algorithm that its life begins at `now`, not at time zero.
    pub fn start(&mut self, now: Time) {
        self.aqm.on_start(now);
    }

    /// Tells the algorithm of a packet that waits since before its life began.
    pub fn inherit(&mut self, pkt: &PacketMeta) {
        self.aqm.on_inherit(&shown(pkt, self.marks));
    }

    /// Decides about an arrival; the caller stores the packet unless it is dropped.
    #[inline(always)]
    pub fn arrive(&mut self, now: Time, queue: QueueView, pkt: &PacketMeta) -> Admission {
        let pkt = &shown(pkt, self.marks);
        let mut cx = Ctx::new(now, queue, &mut self.rng);
        let admission = judge(self.aqm.on_enqueue(&mut cx, pkt), pkt);
        if let Admission::Dropped(_) = admission {
            return admission;
        }
        if !self.limit.admits(&queue, pkt.bytes.get()) {
            let mut cx = Ctx::new(now, queue, &mut self.rng);
            self.aqm.on_overflow(&mut cx, pkt);
            return Admission::Dropped(Cause::Overflow);
        }
        admission
    }

    /// The algorithm's answer to [`Aqm::departures`].
    #[inline]
    pub fn departures(&self) -> Departures {
        self.aqm.departures()
    }

    /// Decides about the packet that has just left the head.
    #[inline(always)]
    pub fn depart(&mut self, now: Time, queue: QueueView, pkt: &PacketMeta) -> Admission {
        if self.aqm.departures() == Departures::Ignored {
            return Admission::Queued;
        }
        let pkt = &shown(pkt, self.marks);
        let mut cx = Ctx::new(now, queue, &mut self.rng);
        judge(self.aqm.on_dequeue(&mut cx, pkt), pkt)
    }
}

/// A packet as an algorithm sees it. In a queue that does not mark no packet is ECN-capable, so that
/// the algorithm knows its signals for drops.
#[inline]
pub(crate) fn shown(pkt: &PacketMeta, marks: bool) -> PacketMeta {
    PacketMeta { ecn: if marks { pkt.ecn } else { Ecn::NotEct }, ..*pkt }
}

/// RFC 3168 section 5: a signal marks a packet that is ECN-capable and drops any other. One that is
/// marked already stays so, which is not a new mark.
#[inline]
pub(crate) fn judge(verdict: Verdict, pkt: &PacketMeta) -> Admission {
    match verdict {
        Verdict::Pass => Admission::Queued,
        Verdict::Signal(cause) | Verdict::Drop(cause) if verdict.drops(pkt) => Admission::Dropped(cause),
        _ if pkt.ecn == Ecn::Ce => Admission::Queued,
        _ => Admission::Marked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_on_a_marked_packet_is_not_a_new_mark() {
        let judge = |verdict, ecn| judge(verdict, &PacketMeta { ecn, ..Default::default() });
        let signal = Verdict::Signal(Cause::Early);
        assert_eq!(judge(signal, Ecn::NotEct), Admission::Dropped(Cause::Early));
        assert_eq!(judge(signal, Ecn::Ect0), Admission::Marked);
        assert_eq!(judge(signal, Ecn::Ect1), Admission::Marked);
        assert_eq!(judge(signal, Ecn::Ce), Admission::Queued);
        assert_eq!(judge(Verdict::Drop(Cause::Forced), Ecn::Ce), Admission::Dropped(Cause::Forced));
        assert_eq!(judge(Verdict::Pass, Ecn::Ce), Admission::Queued);
    }
    /// A buffer holds what it says, to the last packet and byte.
    #[test]
    fn a_buffer_may_be_exactly_full() {
        let admits = |limit: Limit, packets, bytes| limit.has_room(packets, bytes, 1000);
        assert!(admits(Limit::Packets(3), 2, 2000) && !admits(Limit::Packets(3), 3, 3000));
        assert!(admits(Limit::Bytes(3000), 2, 2000) && !admits(Limit::Bytes(3000), 2, 2001));
    }
}
