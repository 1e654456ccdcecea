//! What a sender knows of selectively acknowledged packets (RFC 6675).

use alloc::vec::Vec;

/// A run of received packets [from, to) that an acknowledgment reports.
pub type Block = (u32, u32);

/// Up to three blocks, the most recent first (RFC 2018 section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [Block; 3],
    len: u8,
}

impl SackBlocks {
    /// Adds a block; a fourth has no room (RFC 2018 section 3, with timestamps) and is left out.
    pub fn push(&mut self, block: Block) {
        if let Some(place) = self.blocks.get_mut(self.len as usize) {
            *place = block;
            self.len += 1;
        }
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[Block] {
        &self.blocks[..self.len as usize]
    }
}

/// The scoreboard of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// Runs the receiver has, above the cumulative acknowledgment: rising, apart from each other.
    sacked: Vec<Block>,
    /// HighRxt: one past the highest packet retransmitted in this recovery.
    pub high_rxt: u32,
    /// One rescue retransmission per recovery (rule 4 of NextSeg).
    pub rescued: bool,
}

impl Scoreboard {
    /// Whether no packet above the cumulative acknowledgment is known to have arrived.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.sacked.clear();
        self.high_rxt = 0;
        self.rescued = false;
    }

    /// Update(): takes the blocks of an acknowledgment of `una` in. True if any reported news.
    pub fn update(&mut self, una: u32, blocks: &[Block]) -> bool {
        let mut news = false;
        for &(from, to) in blocks {
            if to > una && from < to {
                news |= self.insert(from.max(una), to);
            }
        }
        // What lies below the cumulative acknowledgment is known otherwise.
        let gone = self.sacked.partition_point(|&(_, to)| to <= una);
        self.sacked.drain(..gone);
        if let Some(first) = self.sacked.first_mut() {
            first.0 = first.0.max(una);
        }
        news
    }

    fn insert(&mut self, from: u32, to: u32) -> bool {
        let first = self.sacked.partition_point(|b| b.1 < from);
        let after = self.sacked.partition_point(|b| b.0 <= to);
        if first == after {
            self.sacked.insert(first, (from, to));
            return true;
        }
        let merged = (from.min(self.sacked[first].0), to.max(self.sacked[after - 1].1));
        if after - first == 1 && self.sacked[first] == merged {
            return false;
        }
        self.sacked[first] = merged;
        self.sacked.drain(first + 1..after);
        true
    }

    fn is_sacked(&self, seq: u32) -> bool {
        let i = self.sacked.partition_point(|&(_, to)| to <= seq);
        self.sacked.get(i).is_some_and(|&(from, _)| from <= seq)
    }

    /// Sacked packets below `seq`.
    fn sacked_below(&self, seq: u32) -> u32 {
        self.sacked.iter().take_while(|b| b.0 < seq).map(|&(from, to)| to.min(seq) - from).sum()
    }

    /// Packets below this one that are not sacked count as lost: `dup_threshold` packets above
    /// them have arrived (IsLost of RFC 6675 section 4, whose two conditions are one when packets
    /// are the unit).
    fn lost_below(&self, dup_threshold: u32) -> u32 {
        let mut need = dup_threshold;
        for &(from, to) in self.sacked.iter().rev() {
            if to - from >= need {
                return to - need;
            }
            need -= to - from;
        }
        0
    }

    /// IsLost() of the first unacknowledged packet.
    pub fn is_lost(&self, seq: u32, dup_threshold: u32) -> bool {
        seq < self.lost_below(dup_threshold) && !self.is_sacked(seq)
    }

    /// SetPipe(): packets thought to be on their way, of those from `una` to below `max`.
    pub fn pipe(&self, una: u32, max: u32, dup_threshold: u32) -> u32 {
        let unsacked = |from: u32, to: u32| {
            (to.max(from) - from) - (self.sacked_below(to.max(from)) - self.sacked_below(from))
        };
        // Not lost: below, a packet counts once; retransmitted: it counts (again).
        let lost = self.lost_below(dup_threshold).clamp(una, max);
        unsacked(lost, max) + unsacked(una, self.high_rxt.clamp(una, max))
    }

    /// Rules 1 and 3 of NextSeg(): the first packet above HighRxt that is not sacked but followed by
    /// one that is; only lost ones if `lost_only`.
    pub fn next_hole(&self, una: u32, dup_threshold: u32, lost_only: bool) -> Option<u32> {
        let mut seq = self.high_rxt.max(una);
        for &(from, to) in &self.sacked {
            if seq < from {
                break;
            }
            seq = seq.max(to);
        }
        let highest = self.sacked.last()?.1;
        let bound = if lost_only { self.lost_below(dup_threshold) } else { highest };
        (seq < bound).then_some(seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(blocks: &[Block]) -> Scoreboard {
        let mut s = Scoreboard::default();
        s.update(1, blocks);
        s
    }

    #[test]
    fn blocks_merge_and_are_cut_by_the_cumulative_acknowledgment() {
        let mut s = board(&[(5, 6), (9, 12), (3, 4)]);
        assert_eq!(s.sacked, [(3, 4), (5, 6), (9, 12)]);
        assert!(s.update(1, &[(4, 5)]));
        assert_eq!(s.sacked, [(3, 6), (9, 12)]);
        assert!(!s.update(1, &[(3, 6)]));
        assert!(s.update(1, &[(5, 10)]));
        assert_eq!(s.sacked, [(3, 12)]);
        s.update(7, &[]);
        assert_eq!(s.sacked, [(7, 12)]);
        s.update(12, &[]);
        assert!(s.sacked.is_empty());
    }

    #[test]
    fn a_packet_is_lost_when_three_above_it_have_arrived() {
        let s = board(&[(3, 4), (6, 8)]);
        assert!(s.is_lost(1, 3) && s.is_lost(2, 3));
        assert!(!s.is_lost(3, 3), "it has arrived");
        assert!(!s.is_lost(4, 3) && !s.is_lost(5, 3));
        assert!(board(&[(6, 9)]).is_lost(5, 3));
    }

    /// SetPipe by its definition, packet by packet.
    fn pipe_by_definition(s: &Scoreboard, una: u32, max: u32) -> u32 {
        (una..max)
            .filter(|&q| !s.is_sacked(q))
            .map(|q| !s.is_lost(q, 3) as u32 + (q < s.high_rxt) as u32)
            .sum()
    }

    #[test]
    fn pipe_counts_what_is_neither_sacked_nor_lost_and_what_was_sent_again() {
        for blocks in [&[(3, 4), (6, 8)][..], &[(2, 9)], &[(5, 6), (9, 12), (14, 15)], &[]] {
            for high_rxt in [0, 1, 2, 5, 10, 20] {
                let mut s = board(blocks);
                s.high_rxt = high_rxt;
                assert_eq!(s.pipe(1, 20, 3), pipe_by_definition(&s, 1, 20), "{blocks:?} {high_rxt}");
            }
        }
    }

    #[test]
    fn next_segments_are_holes_in_order() {
        let mut s = board(&[(3, 4), (6, 8)]);
        assert_eq!(s.next_hole(1, 3, true), Some(1));
        s.high_rxt = 2;
        assert_eq!(s.next_hole(1, 3, true), Some(2));
        s.high_rxt = 3;
        assert_eq!(s.next_hole(1, 3, true), None);
        assert_eq!(s.next_hole(1, 3, false), Some(4));
        s.high_rxt = 6;
        assert_eq!(s.next_hole(1, 3, false), None);
    }
}
