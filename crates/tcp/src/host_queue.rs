//! The queue of a sender's own host: what it has handed over to its device, which has not sent it yet.

use alloc::collections::VecDeque;

use quell_units::Time;

/// Bytes that a piece counts for beside its data. On 64-bit machines Linux keeps so much for its description.
const OF_A_PIECE: u64 = 896;

/// The most that a piece's limit can be: `tcp_limit_output_bytes`.
const MOST: u64 = 4 << 20;

/// The packets of a connection that its host has still to send. A piece is what leaves together, and is there until
/// the last of its packets has left.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostQueue {
    pieces: VecDeque<Piece>,
    /// Packets that were sent and of which it is not known yet when they will have left.
    untold: u32,
    /// The limit for which a piece waits; zero if none does.
    waits: u64,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The time at which it was handed over.
    at: Time,
    packets: u32,
    /// The time at which all of it has left.
    leaves: Time,
}

/// The measures of a piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The payload of a packet, in bytes.
    pub packet: u64,
    /// Packets that leave together.
    pub together: u32,
    /// Bytes of the time that makes a piece, at the pace.
    pub quantum: u64,
}

impl HostQueue {
    /// Returns when a piece of so many packets may leave, if not `now`: while the host has no more than two of its size,
    /// or what makes a piece, if that is more; twice as much where it repairs. [`Time::MAX`] where it is not known yet.
    /// As Linux's TCP small queues.
    pub fn keeps_back(&mut self, now: Time, packets: u32, repairs: bool, sizes: Sizes) -> Option<Time> {
        while self.pieces.front().is_some_and(|piece| piece.leaves <= now) {
            self.pieces.pop_front();
        }
        let piece = OF_A_PIECE + u64::from(packets) * sizes.packet;
        let limit = sizes.quantum.max(2 * piece).min(MOST) << u32::from(repairs);
        let joins = self.pieces.back().filter(|piece| piece.at == now);
        let joins = joins.map_or(0, |piece| sizes.together.saturating_sub(piece.packets)).min(self.untold);
        let more = (self.untold - joins).div_ceil(sizes.together.max(1));
        let untold = u64::from(more) * OF_A_PIECE + u64::from(self.untold) * sizes.packet;
        let held = untold + self.pieces.iter().map(|piece| piece.bytes(sizes.packet)).sum::<u64>();
        // Linux counts one byte more.
        self.waits = if held < limit { 0 } else { limit };
        (self.waits > 0).then(|| self.below(sizes.packet))
    }

    /// A packet is sent.
    #[inline]
    pub fn sent(&mut self) {
        self.untold += 1;
    }

    /// The packet that was sent first of those of which this was not known will have left at `leaves`. Returns when a
    /// piece that waits may leave, once it is known of all.
    pub fn told(&mut self, now: Time, leaves: Time, sizes: Sizes) -> Option<Time> {
        self.untold = self.untold.saturating_sub(1);
        match self.pieces.back_mut() {
            Some(piece) if piece.at == now && piece.packets < sizes.together => {
                piece.packets += 1;
                piece.leaves = leaves;
            }
            _ => self.pieces.push_back(Piece { at: now, packets: 1, leaves }),
        }
        (self.waits > 0 && self.untold == 0).then(|| self.below(sizes.packet))
    }

    /// The time at which the host has less than a piece waits for.
    fn below(&self, packet: u64) -> Time {
        if self.untold > 0 {
            return Time::MAX;
        }
        let mut held = 0;
        for piece in self.pieces.iter().rev() {
            held += piece.bytes(packet);
            if held >= self.waits {
                return piece.leaves;
            }
        }
        Time::ZERO
    }
}

impl Piece {
    fn bytes(&self, packet: u64) -> u64 {
        OF_A_PIECE + u64::from(self.packets) * packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use quell_units::Duration;

    fn ms(x: u64) -> Time {
        Time::ZERO + Duration::from_millis(x)
    }

    const SIZES: Sizes = Sizes { packet: 1448, together: 2, quantum: 2000 };

    /// Hands over a piece of packets of which each takes a millisecond.
    fn hand_over(queue: &mut HostQueue, now: u64, leaves: &mut u64, packets: u32) {
        (0..packets).for_each(|_| queue.sent());
        for _ in 0..packets {
            *leaves = (*leaves).max(now) + 1;
            queue.told(ms(now), ms(*leaves), SIZES);
        }
    }

    /// Linux counts (measured): a second piece may follow the first, the third when the first has left.
    #[test]
    fn a_host_has_two_pieces() {
        let (mut queue, mut leaves) = (HostQueue::default(), 0);
        for now in [0, 0, 2, 4] {
            assert_eq!(queue.keeps_back(ms(now), 2, false, SIZES), None);
            hand_over(&mut queue, now, &mut leaves, 2);
        }
        assert_eq!(queue.keeps_back(ms(4), 2, false, SIZES), Some(ms(6)));
        assert_eq!(queue.keeps_back(ms(5), 2, false, SIZES), Some(ms(6)));
        // A smaller one has a smaller limit, and what repairs twice as much.
        assert_eq!(queue.keeps_back(ms(6), 1, false, SIZES), None);
        assert_eq!(queue.keeps_back(ms(4), 2, true, SIZES), None);
        hand_over(&mut queue, 6, &mut leaves, 1);
        assert_eq!(queue.keeps_back(ms(6), 1, false, SIZES), Some(ms(8)));
    }

    /// A millisecond's bytes are more than two pieces where these are as large as they may be.
    #[test]
    fn a_host_has_what_leaves_in_the_time_of_a_piece() {
        let sizes = Sizes { quantum: 20_000, ..SIZES };
        let (mut queue, mut leaves) = (HostQueue::default(), 0);
        let mut pieces = 0;
        while queue.keeps_back(ms(0), 2, false, sizes).is_none() {
            hand_over(&mut queue, 0, &mut leaves, 2);
            pieces += 1;
        }
        // Of 3792 bytes each.
        assert_eq!(pieces, 6);
    }

    /// The time is found once all that was sent has its own.
    #[test]
    fn what_waits_is_told_when() {
        let mut queue = HostQueue::default();
        (0..4).for_each(|_| queue.sent());
        assert_eq!(queue.keeps_back(ms(0), 2, false, SIZES), Some(Time::MAX));
        let told: Vec<_> = (1..=4).map(|leaves| queue.told(ms(0), ms(leaves), SIZES)).collect();
        assert_eq!(told, [None, None, None, Some(ms(2))]);
    }
}
