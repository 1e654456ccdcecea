//! The scoreboard of selectively acknowledged packets (RFC 6675).
//!
//! RFC 6675 asks for the pipe at every packet. Here it is kept: each count changes by what an acknowledgment
//! brings, so that an acknowledgment costs the same in a window of ten packets and of a hundred thousand.

use crate::bits::Bits;

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

    /// The first `len` of these.
    pub(crate) fn of(blocks: [Block; 3], len: u8) -> Self {
        SackBlocks { blocks, len }
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[Block] {
        &self.blocks[..self.len as usize]
    }
}

/// The news of an acknowledgment's blocks, beside those of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    Nothing,
    /// This packet.
    One(u32),
    /// Any number of packets.
    Several,
}

/// The scoreboard of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// The packets from `una` on that the receiver has.
    sacked: Bits,
    /// The first packet not acknowledged.
    una: u32,
    /// The number of sacked packets, and one past the highest of them.
    count: u32,
    end: u32,
    /// The sacked packet above which `dup_threshold - 1` are sacked; 0 while there is none. Packets below
    /// that are not sacked count as lost (IsLost of RFC 6675 section 4, whose two conditions are one when
    /// packets are the unit).
    lost_below: u32,
    /// HighRxt: one past the highest packet retransmitted in this recovery.
    high_rxt: u32,
    /// The number of sacked packets from `una` to below `high_rxt`.
    sacked_below_rxt: u32,
    /// All from `high_rxt` to here are sacked.
    hole: u32,
    /// True if the last update found packets lost that were not known to be.
    found_lost: bool,
    /// The blocks reported last.
    seen: [Block; 3],
    /// One rescue retransmission per recovery (rule 4 of NextSeg).
    pub rescued: bool,
}

impl Scoreboard {
    /// The number of packets above the cumulative acknowledgment that are known to have arrived.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns whether the last acknowledgment showed packets lost that were not known to be.
    pub fn found_lost(&self) -> bool {
        self.found_lost
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        let mut sacked = core::mem::take(&mut self.sacked);
        sacked.clear();
        *self = Scoreboard { sacked, ..Default::default() };
    }

    /// The news of the blocks of an acknowledgment of `una`. Most often one of them has grown
    /// by a packet, or none has.
    #[inline]
    fn look(&self, una: u32, blocks: &[Block]) -> News {
        let key = |(from, to): Block| u64::from(from) << 32 | u64::from(to);
        let [a, b, c] = self.seen.map(key);
        let seen = |k| (k == a) | (k == b) | (k == c);
        let mut news = News::Nothing;
        for &(from, to) in blocks {
            let block = key((from, to));
            if seen(block) {
                continue;
            }
            if news != News::Nothing || from < una || to <= from {
                return News::Several;
            }
            let last = to - 1;
            news = match seen(block - 1) && !self.sacked.contains(last) {
                true => News::One(last),
                // A gap of one has been filled, or it is the first of its block.
                false if to - from == self.sacked.count(from, to) + 1 => {
                    News::One(self.sacked.next_absent(from))
                }
                false => return News::Several,
            };
        }
        news
    }

    /// Update(): takes the blocks of an acknowledgment of `una` in. True if any reported news.
    pub fn update(&mut self, una: u32, blocks: &[Block], dup_threshold: u32) -> bool {
        let news = self.look(una, blocks);
        self.acknowledge(una);
        let (before, mut above) = (self.count, 0);
        match news {
            News::Nothing => {}
            News::One(seq) => {
                self.count += 1;
                self.sacked_below_rxt += u32::from(seq < self.high_rxt);
                self.end = self.end.max(seq + 1);
                self.sacked.insert_one(seq);
                above = u32::from(seq > self.lost_below);
            }
            News::Several => {
                for &(from, to) in blocks {
                    if self.seen.contains(&(from, to)) {
                        continue;
                    }
                    // A block may be long and grow by a packet: without what was reported before.
                    let seen = self.seen.iter().find(|s| s.0 < to && from < s.1);
                    let &(seen_from, seen_to) = seen.unwrap_or(&(to, to));
                    above += self.insert(from, to.min(seen_from));
                    above += self.insert(from.max(seen_to), to);
                }
            }
        }
        for (seen, block) in self.seen.iter_mut().zip(blocks) {
            *seen = *block;
        }
        self.move_lost(above, dup_threshold);
        self.count > before
    }

    /// Forgets what lies below the cumulative acknowledgment, which is known otherwise.
    pub fn acknowledge(&mut self, una: u32) {
        if una <= self.una {
            return;
        }
        if self.count > 0 {
            self.count -= self.sacked.count(self.una, una);
            self.sacked_below_rxt -= self.sacked.count(self.una, una.min(self.high_rxt));
        }
        self.una = una;
        self.sacked.forget_below(una);
        if self.lost_below < una {
            self.lost_below = 0;
        }
    }

    /// Adds a run; returns how many of it are new and above `lost_below`.
    fn insert(&mut self, from: u32, to: u32) -> u32 {
        let from = from.max(self.una);
        if from >= to {
            return 0;
        }
        let absent = |from: u32, to: u32| to.saturating_sub(from) - self.sacked.count(from, to);
        let above = absent(from.max(self.lost_below + 1), to);
        self.count += absent(from, to);
        self.sacked_below_rxt += absent(from, to.min(self.high_rxt));
        self.end = self.end.max(to);
        self.sacked.insert(from, to);
        above
    }

    /// Finds `lost_below` after so many above it are new.
    fn move_lost(&mut self, above: u32, dup_threshold: u32) {
        let before = self.lost_below.max(self.una);
        if self.lost_below == 0 {
            if self.count >= dup_threshold {
                self.lost_below = self.sacked.select_down(dup_threshold);
            }
        } else if above > 0 {
            self.lost_below = self.sacked.select(self.lost_below + 1, above);
        }
        let passed = self.lost_below.saturating_sub(before);
        self.found_lost = match passed {
            0 => false,
            1 => !self.sacked.contains(before),
            _ => passed > self.sacked.count(before, before + passed),
        };
    }

    /// Notes that all lost packets below `high_rxt` have been sent again.
    pub fn set_high_rxt(&mut self, high_rxt: u32) {
        if high_rxt >= self.high_rxt.max(self.una) {
            self.sacked_below_rxt += self.sacked.count(self.high_rxt.max(self.una), high_rxt);
        } else {
            self.sacked_below_rxt = self.sacked.count(self.una, high_rxt);
        }
        self.high_rxt = high_rxt;
        self.hole = high_rxt;
    }

    /// HighRxt: one past the highest packet retransmitted in this recovery.
    pub fn high_rxt(&self) -> u32 {
        self.high_rxt
    }

    /// IsLost() of the first unacknowledged packet.
    pub fn is_lost(&self, seq: u32) -> bool {
        seq < self.lost_below && !self.sacked.contains(seq)
    }

    /// SetPipe(): packets thought to be on their way, of those from `una` to below `max`.
    #[inline]
    pub fn pipe(&self, max: u32, dup_threshold: u32) -> u32 {
        // Not lost: below, a packet counts once; retransmitted: it counts (again).
        let (lost, sacked) = match self.lost_below {
            0 => (self.una, self.count),
            lost => (lost, dup_threshold),
        };
        let retransmitted = self.high_rxt.clamp(self.una, max) - self.una;
        max - lost - sacked + retransmitted - self.sacked_below_rxt
    }

    /// Rule 4 of NextSeg(): the highest packet below `max` that is not sacked.
    pub fn highest_hole(&self, max: u32) -> u32 {
        self.sacked.last_absent(max)
    }

    /// Rules 1 and 3 of NextSeg(): the first packet above HighRxt that is not sacked but followed by
    /// one that is; only lost ones if `lost_only`.
    pub fn next_hole(&mut self, lost_only: bool) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        self.hole = self.sacked.next_absent(self.hole.max(self.high_rxt).max(self.una));
        let bound = if lost_only { self.lost_below } else { self.end };
        (self.hole < bound).then_some(self.hole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    fn board(blocks: &[Block]) -> Scoreboard {
        let mut s = Scoreboard::default();
        for b in blocks {
            s.update(1, &[*b], 3);
        }
        s
    }

    #[test]
    fn a_packet_is_lost_when_three_above_it_have_arrived() {
        let s = board(&[(3, 4), (6, 8)]);
        assert!(s.is_lost(1) && s.is_lost(2));
        assert!(!s.is_lost(3), "it has arrived");
        assert!(!s.is_lost(4) && !s.is_lost(5));
        assert!(board(&[(6, 9)]).is_lost(5));
    }

    #[test]
    fn next_segments_are_holes_in_order() {
        let mut s = board(&[(3, 4), (6, 8)]);
        assert_eq!(s.next_hole(true), Some(1));
        s.set_high_rxt(2);
        assert_eq!(s.next_hole(true), Some(2));
        s.set_high_rxt(3);
        assert_eq!(s.next_hole(true), None);
        assert_eq!(s.next_hole(false), Some(4));
        s.set_high_rxt(6);
        assert_eq!(s.next_hole(false), None);
    }

    /// The functions of RFC 6675 section 4 by their definitions, packet by packet.
    struct Twin {
        sacked: BTreeSet<u32>,
        una: u32,
        high_rxt: u32,
    }

    impl Twin {
        fn update(&mut self, una: u32, blocks: &[Block]) -> bool {
            self.una = self.una.max(una);
            let before = self.sacked.len();
            self.sacked.extend(blocks.iter().flat_map(|&(from, to)| from.max(una)..to));
            let news = self.sacked.len() > before;
            self.sacked = self.sacked.split_off(&self.una);
            news
        }

        fn is_lost(&self, seq: u32) -> bool {
            !self.sacked.contains(&seq) && self.sacked.range(seq..).count() >= 3
        }

        fn pipe(&self, max: u32) -> u32 {
            let unsacked = (self.una..max).filter(|q| !self.sacked.contains(q));
            unsacked.map(|q| !self.is_lost(q) as u32 + (q < self.high_rxt) as u32).sum()
        }

        fn next_hole(&self, lost_only: bool) -> Option<u32> {
            let end = *self.sacked.last()?;
            (self.high_rxt.max(self.una)..end)
                .find(|q| !self.sacked.contains(q))
                .filter(|&q| !lost_only || self.is_lost(q))
        }
    }

    proptest! {
        #[test]
        fn it_is_what_rfc_6675_defines(
            acks in proptest::collection::vec(
                (0u32..4, proptest::collection::vec((0u32..250, 1u32..70), 0..4), 0u32..4, 0u32..4), 1..60),
        ) {
            let mut s = Scoreboard::default();
            let mut twin = Twin { sacked: BTreeSet::new(), una: 1, high_rxt: 0 };
            let mut last: [Block; 3] = [(0, 0); 3];
            for (advance, drawn, grow, act) in acks {
                let una = twin.una + if act == 0 { advance * 40 } else { advance / 3 };
                // Some blocks of the last acknowledgment, longer by some packets.
                let mut blocks: alloc::vec::Vec<Block> =
                    drawn.iter().map(|&(from, length)| (una + from, una + from + length)).collect();
                if grow > 0 && last[0].1 > una {
                    blocks.insert(0, (last[0].0, last[0].1 + grow));
                }
                blocks.truncate(3);
                for (l, b) in last.iter_mut().zip(&blocks) {
                    *l = *b;
                }
                prop_assert_eq!(s.update(una, &blocks, 3), twin.update(una, &blocks));
                let max = twin.sacked.last().map_or(una, |&s| s + 1) + 5;
                prop_assert_eq!(s.count() as usize, twin.sacked.len());
                prop_assert_eq!(s.pipe(max, 3), twin.pipe(max));
                prop_assert_eq!(s.is_lost(una), twin.is_lost(una));
                for lost_only in [true, false] {
                    prop_assert_eq!(s.next_hole(lost_only), twin.next_hole(lost_only));
                }
                let next = match act {
                    1 => twin.next_hole(true).map(|q| q + 1),
                    2 => Some(una + 1),
                    _ => None,
                };
                if let Some(high_rxt) = next {
                    s.set_high_rxt(high_rxt);
                    twin.high_rxt = high_rxt;
                    prop_assert_eq!(s.pipe(max, 3), twin.pipe(max));
                }
                if act == 3 && advance == 3 {
                    s.clear();
                    s.update(una, &[], 3);
                    (twin.sacked, twin.high_rxt, last) = (BTreeSet::new(), 0, [(0, 0); 3]);
                }
            }
        }
    }
}
