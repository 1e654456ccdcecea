//! Choice of the acknowledgment that a later one makes superfluous.

use core::cmp::Ordering;

use crate::Acknowledgment;

choice! {
    /// Acknowledgments that are dropped because a later one says as much.
    pub enum AckFilter {
        /// None.
        Off = "off",
        /// One, if another that is superfluous waits behind it.
        On = "on",
        /// One that waits at the tail, too, if its ECN flags are those of the arrival.
        Aggressive = "aggressive",
    }
}

/// Linux, net/sched/sch_cake.c: the place, from the head, of the packet that an arrival makes superfluous.
///
/// `waiting` are the packets of its queue from the head on; nothing in the place of one of another connection, or of
/// what does not acknowledge. The packet is a pure acknowledgment whose number, timestamps and blocks the arrival covers,
/// and more than those. If another one follows with the same ECN flags, or the arrival itself, when `filter` is
/// aggressive, nothing that it says of congestion is lost.
pub fn superfluous(
    filter: AckFilter,
    arrival: &Acknowledgment,
    waiting: &mut dyn Iterator<Item = Option<Acknowledgment>>,
) -> Option<usize> {
    let (mut first, mut packets) = (None, 0);
    for (place, one) in waiting.enumerate() {
        packets = place + 1;
        let Some(one) = one else { continue };
        // Only flags that are the next one's, too, are said again.
        first = first.filter(|(_, flags)| *flags == one.flags);
        if !one.is_covered_by(arrival) {
            continue;
        }
        match first {
            Some((place, _)) => return Some(place),
            None => first = Some((place, one.flags)),
        }
    }
    let (place, flags) = first?;
    let aggressive = filter == AckFilter::Aggressive;
    (aggressive && place + 1 == packets && flags == arrival.flags).then_some(place)
}

impl Acknowledgment {
    /// Tells whether `later` says all that this says, and more.
    fn is_covered_by(&self, later: &Acknowledgment) -> bool {
        let stamps = later.stamps.unwrap_or_default();
        if !self.pure
            || self.connection != later.connection
            || self.stamps.is_some_and(|own| is_after(own[0], stamps[0]) || is_after(own[1], stamps[1]))
            || is_after(self.number, later.number)
        {
            return false;
        }
        match self.blocks_within(later) {
            None => false,
            Some(Ordering::Equal) => self.number != later.number,
            Some(_) => true,
        }
    }

    /// Compares its blocks with those of `later`: nothing if some are not in those, or one reports a duplicate (RFC 2883).
    fn blocks_within(&self, later: &Acknowledgment) -> Option<Ordering> {
        let mut bytes = 0u32;
        for [start, end] in blocks(self) {
            let within = |[a, b]: [u32; 2]| !is_after(a, start) && !is_after(end, b);
            if is_after(self.number, start) || !blocks(later).any(within) {
                return None;
            }
            bytes = bytes.wrapping_add(end.wrapping_sub(start));
        }
        let more = blocks(later).fold(0u32, |sum, [start, end]| sum.wrapping_add(end.wrapping_sub(start)));
        Some(if more > bytes { Ordering::Less } else { Ordering::Equal })
    }
}

/// Blocks that are not empty.
fn blocks(of: &Acknowledgment) -> impl Iterator<Item = [u32; 2]> + '_ {
    of.blocks.iter().copied().filter(|[start, end]| start != end)
}

/// Says whether a number comes after another, where numbers wrap (RFC 9293 section 3.4).
fn is_after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use AckFilter::{Aggressive, On};

    fn ack(number: u32) -> Acknowledgment {
        Acknowledgment { number, pure: true, ..Default::default() }
    }

    fn dropped(filter: AckFilter, waiting: &[Acknowledgment], arrival: Acknowledgment) -> Option<usize> {
        superfluous(filter, &arrival, &mut waiting.iter().copied().map(Some))
    }

    #[test]
    fn an_acknowledgment_goes_if_two_later_ones_say_as_much() {
        assert_eq!(dropped(On, &[ack(1), ack(2)], ack(3)), Some(0));
        // A single one goes where the filter is aggressive, and only next to the arrival.
        assert_eq!(dropped(On, &[ack(1)], ack(3)), None);
        assert_eq!(dropped(Aggressive, &[ack(1)], ack(3)), Some(0));
        let other = Acknowledgment { connection: 1, ..ack(2) };
        assert_eq!(dropped(Aggressive, &[ack(1), other], ack(3)), None);
        // The first that goes is the one nearest to the head.
        assert_eq!(dropped(On, &[other, ack(1), other, ack(2), ack(3)], ack(4)), Some(1));
        assert_eq!(dropped(Aggressive, &[], ack(4)), None);
        // Numbers wrap.
        assert_eq!(dropped(Aggressive, &[ack(u32::MAX)], ack(3)), Some(0));
    }

    #[test]
    fn nothing_that_is_said_is_lost() {
        let with = |change: fn(&mut Acknowledgment)| {
            let mut one = ack(2);
            change(&mut one);
            one
        };
        for (one, why) in [
            (with(|a| a.pure = false), "data, another flag or an unknown option"),
            (with(|a| a.number = 4), "a later number"),
            (with(|a| a.stamps = Some([8, 5])), "a later timestamp"),
            (with(|a| a.stamps = Some([7, 6])), "a later echo"),
            (with(|a| a.blocks[0] = [30, 40]), "a block of its own"),
            (with(|a| a.blocks[0] = [1, 2]), "a duplicate"),
        ] {
            let arrival =
                Acknowledgment { stamps: Some([7, 5]), blocks: [[10, 20], [0; 2], [0; 2], [0; 2]], ..ack(3) };
            assert_eq!(dropped(Aggressive, &[one], arrival), None, "{why}");
        }
        let blocks = |number, blocks: &[[u32; 2]]| {
            let mut one = ack(number);
            one.blocks[..blocks.len()].copy_from_slice(blocks);
            one
        };
        // Duplicates stay, as each says that a packet has come (RFC 5681 section 3.2), unless blocks say so.
        assert_eq!(dropped(Aggressive, &[ack(3)], ack(3)), None);
        assert_eq!(dropped(Aggressive, &[blocks(3, &[[5, 6]])], blocks(3, &[[5, 6]])), None);
        assert_eq!(dropped(Aggressive, &[blocks(3, &[[5, 6]])], blocks(3, &[[8, 9], [5, 6]])), Some(0));
        assert_eq!(dropped(Aggressive, &[blocks(3, &[[5, 6]])], blocks(4, &[[5, 6]])), Some(0));
        assert_eq!(dropped(Aggressive, &[blocks(3, &[[5, 6]])], ack(9)), None);
        // Flags of ECN stay, unless the next one has them, too.
        let echo = |number| Acknowledgment { flags: 1, ..ack(number) };
        assert_eq!(dropped(On, &[ack(1), echo(2)], echo(3)), None);
        assert_eq!(dropped(On, &[ack(1), echo(2), echo(3)], ack(4)), Some(1));
        assert_eq!(dropped(Aggressive, &[ack(1), echo(2)], ack(3)), None);
    }
}
