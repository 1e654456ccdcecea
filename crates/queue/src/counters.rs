//! Counts of a queue, as RFC 9332 section 2.5.2.2 asks to report them. The delay that it asks
//! for as well is for the host to measure, which knows when packets leave. The lanes of a discipline share one
//! set of counts, and those with a name have one each beside it.

use core::ops::{AddAssign, Sub};

use quell_aqm::{Cause, Ecn};
use quell_units::Bytes;

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
    pub(crate) fn count(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size.get();
    }

    /// Takes back a [`Tally::count`].
    #[inline]
    pub(crate) fn uncount(&mut self, size: Bytes) {
        self.packets -= 1;
        self.bytes -= size.get();
    }
}

impl Sub for Tally {
    type Output = Tally;

    fn sub(self, other: Tally) -> Tally {
        Tally { packets: self.packets - other.packets, bytes: self.bytes - other.bytes }
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
    /// The buffer had no room.
    pub overflow: Tally,
    /// The ECN-capable packets among all these.
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
    pub(crate) fn count(&mut self, cause: Cause, size: Bytes, ecn: Ecn) {
        match cause {
            Cause::Early => self.early.count(size),
            Cause::Forced => self.forced.count(size),
            Cause::Overflow => self.overflow.count(size),
        }
        if ecn.is_capable() {
            self.ecn_capable.count(size);
        }
    }
}

impl AddAssign for Drops {
    fn add_assign(&mut self, other: Drops) {
        self.early += other.early;
        self.forced += other.forced;
        self.overflow += other.overflow;
        self.ecn_capable += other.ecn_capable;
    }
}

/// The counts of a queue.
///
/// `arrived = enqueued + refused` and `enqueued = departed + dropped + (packets in the queue)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that came, and were presented to the algorithm.
    pub arrived: Tally,
    /// The ones among them that had been marked before (CE).
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
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.arrived += other.arrived;
        self.arrived_ce += other.arrived_ce;
        self.enqueued += other.enqueued;
        self.refused += other.refused;
        self.dropped += other.dropped;
        self.marked += other.marked;
        self.departed += other.departed;
    }
}

/// Counts that are kept as things happen. The rest of [`Counters`] follows from them and from what waits: most packets
/// arrive, are stored and leave, and are counted once. Takes what it counts by value, so that what else is known of a
/// packet need not be in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Events {
    arrived: Tally,
    arrived_ce: Tally,
    refused: Drops,
    dropped: Drops,
    marked: Tally,
    /// Packets that wait or waited without an arrival that is counted here.
    inherited: Tally,
}

impl Events {
    /// Goes on from `counters`, where so much waits.
    pub fn after(counters: &Counters, waiting: Tally) -> Self {
        let &Counters { arrived, arrived_ce, enqueued, refused, dropped, marked, departed } = counters;
        let mut all = departed;
        all += dropped.total();
        all += waiting;
        Events { arrived, arrived_ce, refused, dropped, marked, inherited: all - enqueued }
    }

    /// All counts, where so much waits.
    pub fn counters(&self, waiting: Tally) -> Counters {
        let &Events { arrived, arrived_ce, refused, dropped, marked, inherited } = self;
        let enqueued = arrived - refused.total();
        let mut departed = enqueued;
        departed += inherited;
        let departed = departed - dropped.total() - waiting;
        Counters { arrived, arrived_ce, enqueued, refused, dropped, marked, departed }
    }

    /// A packet arrives.
    #[inline(always)]
    pub fn arrives(&mut self, size: Bytes, ecn: Ecn) {
        self.arrived.count(size);
        if ecn == Ecn::Ce {
            self.arrived_ce.count(size);
        }
    }

    /// An arrival is dropped.
    pub fn refused(&mut self, size: Bytes, ecn: Ecn, cause: Cause) {
        self.refused.count(cause, size, ecn);
    }

    /// A packet that waited is dropped: by the algorithm at the head, or to make room.
    pub fn dropped(&mut self, size: Bytes, ecn: Ecn, cause: Cause) {
        self.dropped.count(cause, size, ecn);
    }

    /// A packet is marked.
    #[inline]
    pub fn marked(&mut self, size: Bytes) {
        self.marked.count(size);
    }

    /// A packet waits whose arrival was not counted here.
    pub fn inherited(&mut self, size: Bytes) {
        self.inherited.count(size);
    }
}
