//! Flows that a queue sees, and the duration of their handshakes.

use alloc::vec;
use alloc::vec::Vec;

use quell_units::{Duration, Time};

use crate::params::{ParamError, require};
use crate::{FlowId, PacketMeta};

/// No entry: the end of a list.
const NONE: u32 = u32::MAX;

/// The connections seen in the last `interval`, and the round-trip times that their handshakes show
/// (Chen 2010, section 4.4).
///
/// - A connection is a 5-tuple. A flow identifier stands for one; where a host uses it again, as the
///   simulator's web flows do for one transfer after the other, a SYN that comes after other packets
///   begins a new connection. The old one counts until it has been silent for `interval`.
/// - A connection counts from its first packet until `interval` after its last one. Packets count
///   when they arrive, whatever becomes of them.
/// - The round-trip time is the time from a SYN to the next packet of its flow that is none: the
///   acknowledgment that completes the handshake, or the first data where hosts send none before. A
///   repeated SYN gives no sample, because it is unknown which one was answered (Karn). The estimate is the
///   mean of the samples of the last `interval`; where there are none, the last estimate is kept.
///
/// Room for `capacity` connections is taken when the table is made, and none after. In a full table
/// a new connection takes the place of the one that has been silent longest, so the count is then
/// `capacity`, a lower bound, and [`FlowTable::is_full`] says so. Likewise the oldest sample gives
/// way to a new one.
///
/// A packet costs one look-up in a hash table and a move in a list; expiry costs as much per
/// connection, once.
#[derive(Debug)]
pub struct FlowTable {
    interval: Duration,
    /// The first entry of each chain; the length is a power of two.
    chains: Vec<u32>,
    entries: Vec<Entry>,
    /// Entries without a connection, chained by `next`.
    free: u32,
    /// The connection seen last, and the one that has been silent longest.
    newest: u32,
    oldest: u32,
    live: u32,
    capacity: u32,
    samples: Samples,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    last_seen: Time,
    /// Arrival of the SYN, until it is answered; `None` if it came twice, or not here.
    syn_at: Option<Time>,
    /// Duration of its handshake, if that was seen.
    rtt: Option<Duration>,
    flow: FlowId,
    /// Neighbors in the order of `last_seen`: the next newer and the next older.
    newer: u32,
    older: u32,
    /// The next entry of the chain, or of the free list.
    next: u32,
    /// A packet that is not a SYN has arrived.
    open: bool,
    /// A later connection uses the identifier: no longer in a chain.
    superseded: bool,
}

impl FlowTable {
    /// The largest capacity: an entry takes 64 bytes, a chain 4 and a sample 16.
    pub const LARGEST: u32 = 1 << 24;

    /// An empty table.
    ///
    /// # Errors
    /// Names `field` if the capacity is zero or beyond [`FlowTable::LARGEST`], `interval_field` if
    /// the interval is zero.
    pub fn new(
        field: &'static str,
        capacity: u32,
        interval_field: &'static str,
        interval: Duration,
    ) -> Result<Self, ParamError> {
        require((1..=Self::LARGEST).contains(&capacity), field, capacity, "must lie in [1, 16777216]")?;
        require(!interval.is_zero(), interval_field, interval, "must be longer than 0 s")?;
        Ok(FlowTable {
            interval,
            chains: vec![NONE; capacity.next_power_of_two() as usize],
            entries: Vec::with_capacity(capacity as usize),
            free: NONE,
            newest: NONE,
            oldest: NONE,
            live: 0,
            capacity,
            samples: Samples::new(capacity),
        })
    }

    /// Time for which a flow counts after its last packet.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Connections seen in the last interval.
    pub fn count(&mut self, now: Time) -> u32 {
        self.expire(now);
        self.live
    }

    /// Connections as of the last packet or count.
    pub fn last_count(&self) -> u32 {
        self.live
    }

    /// Tells whether every place is taken, so that the count is a lower bound.
    pub fn is_full(&self) -> bool {
        self.live == self.capacity
    }

    /// The mean handshake of the last interval, or the last one; none before the first.
    pub fn rtt(&mut self, now: Time) -> Option<Duration> {
        self.samples.expire(now, self.interval);
        self.samples.mean()
    }

    /// The mean handshake as of the last packet or question.
    pub fn last_rtt(&self) -> Option<Duration> {
        self.samples.mean()
    }

    /// Duration of the handshake of a flow's connection, if the table holds both.
    pub fn rtt_of(&self, flow: FlowId) -> Option<Duration> {
        match self.find(flow) {
            NONE => None,
            i => self.entry(i).rtt,
        }
    }

    /// Takes a packet in, and returns the round-trip time if the packet completes a handshake.
    #[inline]
    pub fn see(&mut self, now: Time, pkt: &PacketMeta) -> Option<Duration> {
        self.expire(now);
        let (i, known) = match self.find(pkt.flow) {
            NONE => (self.begin(now, pkt), false),
            i if pkt.syn && self.entry(i).open => {
                self.unchain(i);
                self.entry_mut(i).superseded = true;
                (self.begin(now, pkt), false)
            }
            i => {
                self.touch(i, now);
                (i, true)
            }
        };
        let entry = self.entry_mut(i);
        if pkt.syn {
            entry.syn_at = (!known).then_some(now);
            return None;
        }
        entry.open = true;
        let rtt = now.since(entry.syn_at.take()?);
        entry.rtt = Some(rtt);
        self.samples.expire(now, self.interval);
        self.samples.push(now, rtt);
        Some(rtt)
    }

    #[inline]
    fn entry(&self, i: u32) -> &Entry {
        &self.entries[i as usize]
    }

    #[inline]
    fn entry_mut(&mut self, i: u32) -> &mut Entry {
        &mut self.entries[i as usize]
    }

    /// The chain of a flow: multiplicative hashing (Knuth, vol. 3, 6.4), the upper bits.
    #[inline]
    fn chain(&self, flow: FlowId) -> usize {
        let hash = u64::from(flow.0.wrapping_mul(0x9E37_79B1));
        ((hash * self.chains.len() as u64) >> 32) as usize
    }

    #[inline]
    fn find(&self, flow: FlowId) -> u32 {
        let mut i = self.chains[self.chain(flow)];
        while i != NONE && self.entry(i).flow != flow {
            i = self.entry(i).next;
        }
        i
    }

    /// A new connection.
    fn begin(&mut self, now: Time, pkt: &PacketMeta) -> u32 {
        if self.is_full() {
            self.remove_oldest();
        }
        let chain = self.chain(pkt.flow);
        let entry = Entry {
            last_seen: now,
            syn_at: None,
            rtt: None,
            flow: pkt.flow,
            newer: NONE,
            older: NONE,
            next: self.chains[chain],
            open: false,
            superseded: false,
        };
        let i = match self.free {
            // The table is not full and nothing is free: the room has not been used up yet.
            NONE => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
            i => {
                self.free = self.entry(i).next;
                *self.entry_mut(i) = entry;
                i
            }
        };
        self.chains[chain] = i;
        self.live += 1;
        self.link_newest(i);
        i
    }

    /// Puts an entry that is in no list at the new end.
    #[inline]
    fn link_newest(&mut self, i: u32) {
        let before = self.newest;
        let entry = self.entry_mut(i);
        (entry.newer, entry.older) = (NONE, before);
        match before {
            NONE => self.oldest = i,
            before => self.entry_mut(before).newer = i,
        }
        self.newest = i;
    }

    #[inline]
    fn unlink(&mut self, i: u32) {
        let Entry { newer, older, .. } = *self.entry(i);
        match newer {
            NONE => self.newest = older,
            newer => self.entry_mut(newer).older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.entry_mut(older).newer = newer,
        }
    }

    #[inline]
    fn touch(&mut self, i: u32, now: Time) {
        self.entry_mut(i).last_seen = now;
        if self.newest != i {
            self.unlink(i);
            self.link_newest(i);
        }
    }

    fn unchain(&mut self, i: u32) {
        let Entry { flow, next, .. } = *self.entry(i);
        let chain = self.chain(flow);
        if self.chains[chain] == i {
            self.chains[chain] = next;
            return;
        }
        let mut before = self.chains[chain];
        while self.entry(before).next != i {
            before = self.entry(before).next;
        }
        self.entry_mut(before).next = next;
    }

    fn remove_oldest(&mut self) {
        let i = self.oldest;
        self.unlink(i);
        if !self.entry(i).superseded {
            self.unchain(i);
        }
        self.entry_mut(i).next = self.free;
        self.free = i;
        self.live -= 1;
    }

    #[inline]
    fn expire(&mut self, now: Time) {
        while self.oldest != NONE && now.since(self.entry(self.oldest).last_seen) > self.interval {
            self.remove_oldest();
        }
    }
}

impl Clone for FlowTable {
    /// A copy with the same room, which a derived one would not have.
    fn clone(&self) -> Self {
        let mut entries = Vec::with_capacity(self.capacity as usize);
        entries.extend_from_slice(&self.entries);
        FlowTable { chains: self.chains.clone(), entries, samples: self.samples.clone(), ..*self }
    }
}

/// The samples of the last interval, in a ring, with their sum.
#[derive(Debug)]
struct Samples {
    ring: Vec<(Time, Duration)>,
    capacity: usize,
    first: usize,
    len: usize,
    /// Sum of the samples in the ring, in nanoseconds.
    sum: u128,
    last: Option<Duration>,
}

impl Samples {
    fn new(capacity: u32) -> Self {
        let capacity = capacity as usize;
        Samples { ring: Vec::with_capacity(capacity), capacity, first: 0, len: 0, sum: 0, last: None }
    }

    fn push(&mut self, now: Time, rtt: Duration) {
        if self.len == self.capacity {
            self.pop();
        }
        let at = (self.first + self.len) % self.capacity;
        match self.ring.get_mut(at) {
            Some(place) => *place = (now, rtt),
            None => self.ring.push((now, rtt)),
        }
        self.len += 1;
        self.sum += u128::from(rtt.nanos());
        self.last = Some(rtt);
    }

    fn pop(&mut self) {
        self.sum -= u128::from(self.ring[self.first].1.nanos());
        self.first = (self.first + 1) % self.capacity;
        self.len -= 1;
    }

    #[inline]
    fn expire(&mut self, now: Time, interval: Duration) {
        while self.len > 0 && now.since(self.ring[self.first].0) > interval {
            self.pop();
        }
    }

    fn mean(&self) -> Option<Duration> {
        match self.len {
            0 => self.last,
            // A mean of durations is one.
            n => Some(Duration::from_nanos((self.sum / n as u128) as u64)),
        }
    }
}

impl Clone for Samples {
    fn clone(&self) -> Self {
        let mut ring = Vec::with_capacity(self.capacity);
        ring.extend_from_slice(&self.ring);
        Samples { ring, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use quell_units::Bytes;

    use super::*;
    use crate::Seed;

    fn table(capacity: u32) -> FlowTable {
        FlowTable::new("max_flows", capacity, "flow_interval", Duration::from_secs(60)).unwrap()
    }

    fn packet(flow: u32, syn: bool) -> PacketMeta {
        let (bytes, enqueued_at) = (Bytes::new(500), Time::ZERO);
        PacketMeta { bytes, enqueued_at, flow: FlowId(flow), syn, ..Default::default() }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_flow_counts_until_it_has_been_silent_for_the_interval() {
        let mut t = table(10);
        t.see(at(0), &packet(1, true));
        t.see(at(1000), &packet(2, false));
        t.see(at(30_000), &packet(1, false));
        assert_eq!(t.count(at(61_000)), 2);
        assert_eq!(t.count(at(61_001)), 1);
        assert_eq!(t.count(at(90_000)), 1);
        assert_eq!(t.count(at(90_001)), 0);
        t.see(at(100_000), &packet(2, false));
        assert_eq!(t.count(at(100_000)), 1);
    }

    #[test]
    fn a_syn_after_other_packets_is_a_new_connection_and_a_repeated_one_is_not() {
        let mut t = table(10);
        t.see(at(0), &packet(1, true));
        t.see(at(3000), &packet(1, true));
        assert_eq!(t.last_count(), 1);
        t.see(at(3100), &packet(1, false));
        t.see(at(5000), &packet(1, true));
        assert_eq!(t.last_count(), 2);
        // The first connection was seen last at 3.1 s.
        assert_eq!(t.count(at(63_100)), 2);
        assert_eq!(t.count(at(63_101)), 1);
    }

    #[test]
    fn round_trip_times_come_from_handshakes_without_repetition() {
        let mut t = table(10);
        assert_eq!(t.see(at(0), &packet(1, true)), None);
        assert_eq!(t.see(at(120), &packet(1, false)), Some(Duration::from_millis(120)));
        assert_eq!(t.see(at(130), &packet(1, false)), None, "only the first packet answers");
        assert_eq!(t.see(at(200), &packet(2, true)), None);
        assert_eq!(t.see(at(3200), &packet(2, true)), None);
        assert_eq!(t.see(at(3300), &packet(2, false)), None, "a repeated SYN");
        assert_eq!(t.see(at(3400), &packet(3, false)), None, "the SYN was never seen");
        assert_eq!(t.rtt_of(FlowId(1)), Some(Duration::from_millis(120)));
        assert_eq!((t.rtt_of(FlowId(2)), t.rtt_of(FlowId(4))), (None, None));
        // A new connection of flow 1.
        assert_eq!(t.see(at(4000), &packet(1, true)), None);
        assert_eq!(t.see(at(4200), &packet(1, false)), Some(Duration::from_millis(200)));
        assert_eq!(t.rtt(at(60_000)), Some(Duration::from_millis(160)));
        assert_eq!(t.rtt(at(60_121)), Some(Duration::from_millis(200)));
        assert_eq!(t.rtt(at(1_000_000)), Some(Duration::from_millis(200)), "the last estimate is kept");
    }

    #[test]
    fn a_full_table_forgets_what_has_been_silent_longest() {
        let mut t = table(3);
        for flow in 1..=3 {
            t.see(at(u64::from(flow)), &packet(flow, false));
        }
        t.see(at(4), &packet(1, false));
        assert!(t.is_full());
        t.see(at(5), &packet(4, false));
        assert_eq!(t.last_count(), 3);
        // Flow 2 is gone: its packet is a new connection, which takes the place of flow 3.
        assert_eq!(t.find(FlowId(2)), NONE);
        t.see(at(6), &packet(2, false));
        assert!(t.find(FlowId(3)) == NONE && t.find(FlowId(1)) != NONE && t.find(FlowId(4)) != NONE);
    }

    #[test]
    fn a_table_for_one_connection_still_times_handshakes() {
        let mut t = table(1);
        for ms in [0, 1000] {
            assert_eq!(t.see(at(ms), &packet(1, true)), None);
            assert_eq!(t.see(at(ms + 50), &packet(1, false)), Some(Duration::from_millis(50)));
            assert_eq!(t.last_count(), 1);
        }
    }

    /// Against a list of connections, the one seen last at its end, that is searched through.
    #[test]
    fn any_sequence_counts_as_a_list_of_all_connections_would() {
        for capacity in [4096, 50] {
            let mut rng = Seed(5).stream("flows");
            let mut t = table(capacity);
            // Flow, last seen, and whether a packet that is not a SYN has come.
            let mut list: Vec<(u32, Time, bool)> = Vec::new();
            let mut now = at(0);
            for _ in 0..20_000 {
                now += Duration::from_millis((rng.uniform() * 200.0) as u64);
                let flow = (rng.uniform() * 300.0) as u32 * 1024;
                let syn = rng.chance(0.3);
                list.retain(|(_, seen, _)| now.since(*seen) <= t.interval);
                let current = list.iter().rposition(|(f, ..)| *f == flow);
                match current {
                    Some(i) if !(syn && list[i].2) => {
                        let (_, _, open) = list.remove(i);
                        list.push((flow, now, open || !syn));
                    }
                    _ => {
                        if list.len() == capacity as usize {
                            list.remove(0);
                        }
                        list.push((flow, now, !syn));
                    }
                }
                t.see(now, &packet(flow, syn));
                assert_eq!(t.last_count() as usize, list.len());
            }
            assert_eq!(t.is_full(), capacity == 50);
            assert!(t.entries.capacity() == capacity as usize && list.len() >= 50);
            assert_eq!(t.clone().entries.capacity(), t.entries.capacity());
            assert_eq!(t.count(now + Duration::from_secs(61)), 0);
            assert!(t.newest == NONE && t.chains.iter().all(|i| *i == NONE));
        }
    }

    #[test]
    fn room_and_interval_are_checked() {
        assert_eq!(FlowTable::new("a", 0, "b", Duration::from_secs(1)).unwrap_err().field, "a");
        assert_eq!(FlowTable::new("a", 1, "b", Duration::ZERO).unwrap_err().field, "b");
    }
}
