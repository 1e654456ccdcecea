//! Effect of a packet's size on its probability of being signaled, of a signal on a packet that cannot be
//! marked, and of the probability 1 on one that can.

use quell_units::{Bytes, QueueSize};

use crate::{Cause, Link, PacketMeta, Verdict};

choice! {
    /// Effect of a packet's size on its probability of being signaled (Chen 2010, section 2.3.5).
    pub enum SignalMode {
        /// Every packet alike (RFC 7567 section 4.4).
        PerPacket = "per-packet",
        /// Proportional to its size: `p *= size / mean_packet` (Chen 2010, eq. 2.5).
        BySize = "by-size",
    }
}

choice! {
    /// Effect of an early signal on a packet that is not ECN-capable, which includes every packet in a queue
    /// that does not mark.
    pub enum Unmarkable {
        /// The packet is dropped (RFC 3168 section 5).
        Drop = "drop",
        /// It passes: only a full buffer drops it.
        Pass = "pass",
    }
}

impl Unmarkable {
    /// Tells whether a packet passes, whatever is signaled.
    #[inline]
    pub fn passes(self, pkt: &PacketMeta) -> bool {
        self == Unmarkable::Pass && !pkt.ecn.is_capable()
    }
}

choice! {
    /// Fate of an ECN-capable arrival where the probability of a signal is 1.
    pub enum Forced {
        /// It is dropped, as any other (RFC 3168 section 7).
        Drop = "drop",
        /// It is marked, as Linux does without `harddrop`; what is not ECN-capable is dropped.
        Mark = "mark",
    }
}

impl Forced {
    /// The verdict on an arrival. Where marks end below the probability 1 (`mark_limit`), it is a drop: 1 is
    /// beyond that limit too.
    #[inline]
    pub fn verdict(self, marks_to_the_end: bool) -> Verdict {
        match self {
            Forced::Mark if marks_to_the_end => Verdict::Signal(Cause::Forced),
            _ => Verdict::Drop(Cause::Forced),
        }
    }
}

/// A packet's size as far as signals care: 1, or its size in mean packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizer {
    /// Every packet counts as one.
    PerPacket,
    /// Bytes, times packets per byte.
    BySize(f64),
}

impl Sizer {
    /// The sizer of a mode on a link.
    pub fn new(mode: SignalMode, link: &Link) -> Self {
        match mode {
            SignalMode::PerPacket => Sizer::PerPacket,
            SignalMode::BySize => Sizer::BySize(1.0 / link.mean_packet.get() as f64),
        }
    }

    /// Counter of arrivals beside a queue that is measured in the unit of `threshold`.
    pub fn in_unit_of(threshold: QueueSize, link: &Link) -> Self {
        let mode = match threshold {
            QueueSize::Packets(_) => SignalMode::PerPacket,
            QueueSize::Bytes(_) => SignalMode::BySize,
        };
        Sizer::new(mode, link)
    }

    /// The factor by which a packet's probability is multiplied.
    #[inline]
    pub fn factor(self, bytes: Bytes) -> f64 {
        match self {
            Sizer::PerPacket => 1.0,
            Sizer::BySize(per_byte) => bytes.get() as f64 * per_byte,
        }
    }
}
