//! Packets on their way between stops.

use quell_units::Time;

use crate::packet::Pkt;

/// A packet that has left a stop, or its sender, and what it takes next.
#[derive(Clone, Copy)]
pub(super) struct Moving {
    pub at: Time,
    pub pkt: Pkt,
    pub hop: u32,
}

/// Packets that go no further, and those that are more from here on.
pub(super) struct Gone {
    /// Those that a queue dropped.
    pub dropped: Vec<Pkt>,
    /// Those that a wire loses, and when their transmission begins.
    pub lost: Vec<(Time, Pkt)>,
    /// Those on their way beyond the end of the run.
    pub late: Vec<Pkt>,
    /// Packets that also move on, and of which a wire makes copies: when their transmission begins, and their places
    /// among those that move, in order. Packets can be alike in all that they say, so that nothing else tells them apart.
    pub copied: Vec<(Time, usize)>,
}

impl Gone {
    /// An empty list, with room for `n` of each kind.
    pub fn with_capacity(n: usize) -> Self {
        let (dropped, lost, late) = (Vec::with_capacity(n), Vec::with_capacity(n), Vec::with_capacity(n));
        Gone { dropped, lost, late, copied: Vec::new() }
    }

    /// Says whether all packets go on.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.dropped.len() + self.lost.len() + self.late.len() == 0
    }
}
