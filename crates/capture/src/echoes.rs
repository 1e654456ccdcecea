//! What comes back: time stamps, marks that receivers saw, and the spin bit of QUIC.

use std::collections::VecDeque;

use super::packet::Segment;

/// The most time stamps under way that are kept for an end.
const MOST: usize = 1 << 13;

/// Round trips by time stamps (RFC 7323): an end returns each stamp, and its own is returned in turn.
///
/// Data that pass at `t0` are acknowledged by a packet at `t1` that returns their stamp, and data at `t2` return the
/// stamp of this. From `t0` to `t2` is one whole round trip, wherever on the path the capture was made (as the
/// program pping does for each half).
#[derive(Debug, Default)]
pub(super) struct Stamps {
    ends: [Sent; 2],
}

/// The stamps of one end.
#[derive(Debug, Default)]
struct Sent {
    /// Stamps that have not been returned yet: the stamp, the first packet with it, and the time of the other end's
    /// packet that this one answered.
    under_way: VecDeque<(u32, u64, Option<u64>)>,
    latest: Option<u32>,
    /// The times of the latest two segments with data, of which one may be this.
    data: Option<u64>,
    /// The shortest round trip, in nanoseconds.
    least: Option<u64>,
    /// The least time from a stamp to the passing of its data, by clocks that differ: only its excess means something.
    least_way: Option<i128>,
}

/// The tick of the usual clock of time stamps, in nanoseconds. Where it is another, what waits on the way here is either
/// never seen or overestimated; the excess of the round trip bounds it then.
const TICK: i128 = 1_000_000;

/// A sender answers soon if that takes at most this part of the round trip.
const SOON: u64 = 20;

impl Stamps {
    /// Takes in a segment: the time of the whole round trip that it completes, and how long its data waited on the way
    /// here, which is at most the excess over the shortest round trip. What waits elsewhere is in the round trip alone.
    pub fn see(&mut self, end: usize, now: u64, tcp: &Segment) -> Option<(u64, u64)> {
        let (value, returned) = tcp.stamps?;
        let [low, high] = &mut self.ends;
        let (own, other) = if end == 0 { (low, high) } else { (high, low) };
        let mut answered = None;
        if tcp.has(Segment::ACK) {
            let is_older = |stamp: u32| (stamp.wrapping_sub(returned) as i32) < 0;
            while other.under_way.front().is_some_and(|&(stamp, ..)| is_older(stamp)) {
                other.under_way.pop_front();
            }
            answered = other.under_way.front().copied().filter(|&(stamp, ..)| stamp == returned);
            if answered.is_some() {
                other.under_way.pop_front();
            }
        }
        let sent_at = answered.map(|(_, at, _)| at);
        if own.latest.is_none_or(|latest| (value.wrapping_sub(latest) as i32) > 0) {
            own.latest = Some(value);
            if own.under_way.len() == MOST {
                own.under_way.clear();
            }
            own.under_way.push_back((value, now, sent_at));
        }
        if tcp.payload == 0 {
            return None;
        }
        // A sender that had nothing to send makes the way back longer: data must have come in between.
        let before = own.data.replace(now);
        let way = i128::from(now) - i128::from(value) * TICK;
        let least_way = own.least_way.map_or(way, |least| least.min(way));
        own.least_way = Some(least_way);
        let waited = u64::try_from(way - least_way).unwrap_or(u64::MAX);
        let (_, acknowledged_at, begun) = answered?;
        let trip = now.checked_sub(begun?)?;
        // Or they follow so soon that it does not matter, as in a capture at the sender.
        let soon = now.saturating_sub(acknowledged_at) <= trip / SOON;
        if !soon && before.is_none_or(|before| before < acknowledged_at) {
            return None;
        }
        let least = own.least.map_or(trip, |least| least.min(trip));
        own.least = Some(least);
        Some((trip, waited.min(trip - least)))
    }
}

/// The news of marks in an acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Echo {
    /// The flag ECE, set or not (RFC 3168 section 6.1.3).
    Classic(bool),
    /// So many marked packets more, by the ACE field (RFC 9768 section 3.2.2).
    Accurate(u8),
}

/// The marks that the ends of a connection say they received.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The SYN asked for accurate feedback: by this end.
    asked: Option<usize>,
    /// And it was granted.
    accurate: bool,
    /// The latest ACE field of each end; none before its first.
    fields: [Option<u8>; 2],
    /// The latest acknowledgment of each end.
    acknowledged: [Option<u32>; 2],
}

/// The first value of the counter that the ACE field shows (RFC 9768 section 3.2.1).
const FIRST: u8 = 5;

impl Marks {
    /// Takes in an acknowledgment without RST of an end.
    pub fn see(&mut self, end: usize, tcp: &Segment) -> Option<Echo> {
        if tcp.has(Segment::SYN) {
            // RFC 9768, table 2: codes that a server with accurate feedback answers with.
            self.accurate = self.asked == Some(1 - end) && matches!(tcp.ace(), 2 | 3 | 4 | 6);
            return None;
        }
        let older = |before: u32| (tcp.ack.wrapping_sub(before) as i32) < 0;
        if self.acknowledged[end].is_some_and(older) {
            return None;
        }
        self.acknowledged[end] = Some(tcp.ack);
        if !self.accurate {
            return Some(Echo::Classic(tcp.has(Segment::ECE)));
        }
        // The acknowledgment that completes a handshake says there how its answer was marked (section 3.2.2.1).
        if self.asked == Some(end) && self.fields[end].is_none() {
            self.fields[end] = Some(FIRST);
            return None;
        }
        let before = self.fields[end].replace(tcp.ace()).unwrap_or(FIRST);
        Some(Echo::Accurate(tcp.ace().wrapping_sub(before) & 7))
    }

    /// Takes in a SYN that asks for a connection.
    pub fn opens(&mut self, end: usize, tcp: &Segment) {
        self.asked = (tcp.ace() == 7).then_some(end);
    }
}

/// The spin bit of one end's packets (RFC 9000 section 17.4): it changes once in a round trip.
#[derive(Debug, Default)]
pub(super) struct Spin {
    latest: Option<bool>,
    changed: Option<u64>,
    packets: u64,
    edges: u64,
    /// Times between changes, until it is known to spin.
    waiting: Vec<u64>,
}

impl Spin {
    /// Packets and changes that must have been seen.
    const PACKETS: u64 = 40;
    const EDGES: u64 = 4;

    /// Tells whether it spins. An end that does not take part sends a constant bit, or random ones, which change with
    /// every second packet (RFC 9000 section 17.4; RFC 9312 section 3.8.1).
    pub fn spins(&self) -> bool {
        self.packets >= Self::PACKETS && self.edges >= Self::EDGES && self.edges * 4 <= self.packets
    }

    /// Takes in a packet: the round trips that are known by it.
    pub fn see(&mut self, now: u64, bit: bool) -> Vec<u64> {
        self.packets += 1;
        if self.latest.replace(bit).is_none_or(|latest| latest == bit) {
            return Vec::new();
        }
        self.edges += 1;
        let trip = self.changed.replace(now).and_then(|changed| now.checked_sub(changed));
        self.waiting.extend(trip);
        if self.spins() {
            return std::mem::take(&mut self.waiting);
        }
        self.waiting.truncate(Self::PACKETS as usize);
        Vec::new()
    }
}
