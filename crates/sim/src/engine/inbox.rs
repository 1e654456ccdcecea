//! The packets on their way to a stop, by time.
//!
//! A calendar: the near future is cut into days that hold their packets unsorted until they come.
//! How long a day is follows the traffic, so that a few packets share each; the order in which
//! packets come out does not depend on it.

use std::collections::BTreeMap;

use quell_units::{Time, index};

use crate::packet::Pkt;

/// The time at which a packet reaches its stop, and by which hop: `time << bits | hop`, so that the order of keys
/// is that of events. Packets with equal keys keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u64);

impl Key {
    #[inline]
    pub fn new(time: Time, hop: usize, bits: u32) -> Self {
        Key(time.nanos() << bits | hop as u64)
    }

    #[inline]
    pub fn time(self, bits: u32) -> Time {
        Time::from_nanos(self.0 >> bits)
    }

    #[inline]
    pub fn hop(self, bits: u32) -> usize {
        index(self.0 & ((1 << bits) - 1))
    }
}

pub(super) type Entry = (Key, Pkt);

/// Initial number of days, and at most.
const FEWEST_DAYS: usize = 256;
const MOST_DAYS: usize = 1 << 16;

/// Days with packets after which it is asked whether the calendar suits the traffic, how many packets
/// should share a day on average, and how far off that may be.
const REVIEW: u32 = 64;
const PER_DAY: f64 = 16.0;
const TOO_FAR: f64 = 4.0;
const DAYS_IN_USE: f64 = 256.0;
const MOST_PER_DAY: f64 = 1000.0;

/// Packets that are taken together at most: their records stay in the nearest cache.
const MOST_AT_ONCE: usize = 64;

/// So many packets of a day are sorted one by one; and so many where [few come early](few_come_early).
const FEW: usize = 32;
const MORE: usize = 64;

/// Room for the packets of a day, more than it usually needs, so that none is asked for again.
const ROOM: usize = 128;

/// The packets on their way to one stop.
pub(super) struct Inbox {
    /// Those of today and before, sorted, from `next` on.
    today: Vec<Entry>,
    next: usize,
    /// The bits of a key that hold the hop.
    bits: u32,
    /// A key's day is `key >> shift`.
    shift: u32,
    /// Today's number.
    day: u64,
    /// The days after today, each at its number modulo the length, a power of two.
    days: Vec<Vec<Entry>>,
    /// The number of packets in `days`.
    waiting: usize,
    /// The packets beyond the days shown, by day.
    later: BTreeMap<u64, Vec<Entry>>,
    /// Room of days past.
    spare: Vec<Vec<Entry>>,
    /// Room to sort a day.
    words: Vec<u64>,
    /// Room for all packets, when the calendar is rebuilt.
    scratch: Vec<Entry>,
    /// Since the last review: days with packets, their packets, and packets that came for days not
    /// shown.
    reviewed: [u32; 3],
    /// The day of the last review.
    reviewed_at: u64,
}

impl Inbox {
    /// An empty one, for keys with `bits` bits of hop.
    pub fn new(bits: u32) -> Self {
        Inbox {
            today: Vec::with_capacity(ROOM),
            next: 0,
            bits,
            shift: bits + 22, // four milliseconds
            day: 0,
            days: vec![Vec::new(); FEWEST_DAYS],
            waiting: 0,
            later: BTreeMap::new(),
            spare: Vec::with_capacity(FEWEST_DAYS),
            words: Vec::with_capacity(ROOM),
            scratch: Vec::new(),
            reviewed: [0; 3],
            reviewed_at: 0,
        }
    }

    /// The number of packets on their way.
    pub fn len(&self) -> usize {
        self.today.len() - self.next + self.waiting + self.later.values().map(Vec::len).sum::<usize>()
    }

    /// Adds a packet.
    #[inline(always)]
    pub fn push(&mut self, key: Key, pkt: Pkt) {
        let day = key.0 >> self.shift;
        let last = self.days.len() as u64 - 1;
        // Of the days shown; today is not among them.
        if day.wrapping_sub(self.day).wrapping_sub(1) < last {
            self.waiting += 1;
            let entries = &mut self.days[index(day & last)];
            if entries.len() == entries.capacity() {
                make_room(entries, &mut self.spare);
            }
            entries.push((key, pkt));
        } else {
            self.push_special(day, key, pkt);
        }
    }

    #[inline(never)]
    fn push_special(&mut self, day: u64, key: Key, pkt: Pkt) {
        if day <= self.day {
            let at = self.next + self.today[self.next..].partition_point(|(other, _)| *other <= key);
            self.today.insert(at, (key, pkt));
        } else {
            self.reviewed[2] += 1;
            self.later.entry(day).or_default().push((key, pkt));
        }
    }

    /// The key of the next packet.
    pub fn first(&self) -> Option<Key> {
        let least = |entries: &Vec<Entry>| entries.iter().map(|(key, _)| *key).min();
        if let Some((key, _)) = self.today.get(self.next) {
            Some(*key)
        } else if self.waiting > 0 {
            let days = 1..self.days.len() as u64;
            days.map(|ahead| self.at(self.day + ahead)).find_map(|at| least(&self.days[at]))
        } else {
            self.later.values().next().and_then(least)
        }
    }

    /// The place of a day among those shown.
    #[inline]
    fn at(&self, day: u64) -> usize {
        index(day & (self.days.len() as u64 - 1))
    }

    /// The number of packets that can be taken together: those of today with keys below `limit`, less than
    /// `round` nanoseconds after the first. None may come below `limit` from now on, but for what
    /// the packets taken cause.
    #[inline]
    pub fn ready(&mut self, limit: Key, round: u64) -> usize {
        if self.next == self.today.len() {
            self.turn_the_page(limit);
        }
        let entries = &self.today[self.next..];
        let Some((first, _)) = entries.first() else { return 0 };
        let last = ((first.0 >> self.bits) + round).min(u64::MAX >> self.bits);
        let limit = limit.min(Key(last << self.bits));
        let entries = &entries[..entries.len().min(MOST_AT_ONCE)];
        match entries.last() {
            Some((last, _)) if *last < limit => entries.len(),
            _ => entries.partition_point(|(key, _)| *key < limit),
        }
    }

    /// The next `n` packets, which are [`ready`](Inbox::ready).
    #[inline]
    pub fn next(&self, n: usize) -> &[Entry] {
        &self.today[self.next..self.next + n]
    }

    /// The least key of what may come after the next `n` packets: nothing else that is known lies before.
    #[inline]
    pub fn complete_until(&self, n: usize) -> Key {
        self.today.get(self.next + n).map_or(Key((self.day + 1) << self.shift), |(key, _)| *key)
    }

    /// They have been taken.
    #[inline]
    pub fn skip(&mut self, n: usize) {
        self.next += n;
    }

    /// Today is over: the next day that has packets becomes today, if it begins below `limit`. A
    /// later one may still get packets for the days before it.
    #[inline(never)]
    fn turn_the_page(&mut self, limit: Key) {
        self.today.clear();
        self.next = 0;
        let last = limit.0 >> self.shift;
        if self.waiting == 0 {
            let next = self.later.keys().next().map_or(last, |day| last.min(*day));
            self.go_to(self.day.max(next.saturating_sub(1)));
        }
        loop {
            let tomorrow = self.day + 1;
            if tomorrow > last || tomorrow == last && self.days[self.at(last)].is_empty() {
                return;
            }
            self.go_to(tomorrow);
            if !self.days[self.at(tomorrow)].is_empty() {
                break;
            }
        }
        let at = self.at(self.day);
        let mut entries = std::mem::take(&mut self.days[at]);
        self.waiting -= entries.len();
        if entries.is_sorted_by_key(|(key, _)| *key) {
            // Usual where packets of equal delays come.
            std::mem::swap(&mut self.today, &mut entries);
        } else if entries.len() <= FEW || entries.len() <= MORE && few_come_early(&entries) {
            insert_in_order(&mut entries);
            std::mem::swap(&mut self.today, &mut entries);
        } else {
            self.sort_into_today(&entries);
            entries.clear();
        }
        self.spare.push(entries);
        self.reviewed[0] += 1;
        self.reviewed[1] += self.today.len() as u32;
        if self.reviewed[0] >= REVIEW || self.reviewed[1] > REVIEW * ROOM as u32 {
            self.review();
        }
    }

    /// Fills today with its entries, sorted.
    fn sort_into_today(&mut self, entries: &[Entry]) {
        const INDEX: u32 = 12;
        if entries.len() > 1 << INDEX || self.shift + INDEX > 64 {
            self.today.extend(entries);
            self.today.sort_by_key(|(key, _)| *key);
            return;
        }
        // One word for each, the time of day and its index: far quicker to sort, and equal keys
        // keep their order.
        let begin = self.day << self.shift;
        let word = |(index, (key, _)): (usize, &Entry)| (key.0 - begin) << INDEX | index as u64;
        self.words.clear();
        self.words.extend(entries.iter().enumerate().map(word));
        self.words.sort_unstable();
        self.today.extend(self.words.iter().map(|word| entries[index(*word % (1 << INDEX))]));
    }

    /// Another day is today, and later ones come into view.
    #[inline]
    fn go_to(&mut self, day: u64) {
        self.day = day;
        while let Some(first) = self.later.first_entry()
            && *first.key() - day < self.days.len() as u64
        {
            let (day, entries) = first.remove_entry();
            self.waiting += entries.len();
            let at = self.at(day);
            self.days[at] = entries;
        }
    }

    #[cold]
    fn review(&mut self) {
        let [_, packets, beyond] = std::mem::take(&mut self.reviewed);
        let days = self.day - std::mem::replace(&mut self.reviewed_at, self.day);
        // Few enough days in use that the ends of all are in the cache.
        let per_day = (self.waiting as f64 / DAYS_IN_USE).clamp(PER_DAY, MOST_PER_DAY);
        let off = packets as f64 / days as f64 / per_day;
        let shown = self.days.len();
        if !(1.0 / TOO_FAR..=TOO_FAR).contains(&off) {
            let shift = self.shift as f64 - libm::log2(off);
            self.rule(shift.clamp(0.0, 60.0) as u32, shown);
        } else if beyond > 0 && shown < MOST_DAYS {
            self.rule(self.shift, 2 * shown);
        }
    }

    /// Days of another length or number from now on.
    fn rule(&mut self, shift: u32, shown: usize) {
        let mut all = std::mem::take(&mut self.scratch);
        all.extend(self.today.drain(self.next..));
        for i in 1..self.days.len() {
            let at = self.at(self.day + i as u64);
            all.append(&mut self.days[at]);
        }
        all.extend(std::mem::take(&mut self.later).into_values().flatten());
        (self.shift, self.waiting, self.next) = (shift, 0, 0);
        self.today.clear();
        self.days.resize(shown, Vec::new());
        self.day = all.first().map_or(self.day, |(key, _)| key.0 >> shift);
        all.drain(..).for_each(|(key, pkt)| self.push(key, pkt));
        self.scratch = all;
        self.reviewed = [0; 3];
        self.reviewed_at = self.day;
    }
}

/// Says whether at most every eighth entry belongs before the one that it follows.
fn few_come_early(entries: &[Entry]) -> bool {
    8 * entries.windows(2).filter(|pair| pair[0].0 > pair[1].0).count() <= entries.len()
}

/// Sorts a few entries, of which most are in order; equal keys keep theirs.
fn insert_in_order(entries: &mut [Entry]) {
    for i in 1..entries.len() {
        let entry = entries[i];
        let mut at = i;
        while at > 0 && entries[at - 1].0 > entry.0 {
            entries[at] = entries[at - 1];
            at -= 1;
        }
        entries[at] = entry;
    }
}

/// A day that is full gets more room, one without any the room of a day past.
#[cold]
fn make_room(entries: &mut Vec<Entry>, spare: &mut Vec<Vec<Entry>>) {
    if entries.capacity() == 0 {
        *entries = spare.pop().unwrap_or_else(|| Vec::with_capacity(ROOM));
    }
    entries.reserve(1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Kind;
    use proptest::prelude::*;

    const BITS: u32 = 4;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

        /// Packets come out by time, then hop, then as they came, whatever the calendar does.
        #[test]
        fn an_inbox_is_a_sorted_list(
            scale in 1u64..40,
            ops in prop::collection::vec((0u64..1000, 0usize..4, 0u8..20), 0..4000),
        ) {
            let mut inbox = Inbox::new(BITS);
            let mut list: Vec<Entry> = Vec::new();
            let mut now = Time::ZERO;
            for (number, (ahead, hop, op)) in ops.into_iter().enumerate() {
                // In bursts, so that it fills and empties.
                if op < 10 + (number / 700 % 2) as u8 * 5 {
                    let far = if op == 0 { 1000 } else { 1 };
                    let time = now + quell_units::Duration::from_nanos((ahead << scale >> 10) * far);
                    let key = Key::new(time, hop, BITS);
                    let pkt = Pkt::new(Kind::Data, 0, 0, number as u32, 40);
                    inbox.push(key, pkt);
                    let at = list.partition_point(|(other, _)| *other <= key);
                    list.insert(at, (key, pkt));
                } else if let Some(first) = list.first().copied() {
                    prop_assert_eq!(inbox.first(), Some(first.0));
                    if hop == 3 {
                        // Nothing comes before this from now on.
                        let ahead = (first.0.time(BITS) - now).nanos();
                        now += quell_units::Duration::from_nanos(ahead - ahead / 3);
                        prop_assert_eq!(inbox.ready(Key::new(now, 0, BITS), 1), 0);
                        continue;
                    }
                    prop_assert!(inbox.ready(Key(first.0.0 + 1), 1) > 0);
                    prop_assert!(inbox.next(1)[0] == first);
                    inbox.skip(1);
                    prop_assert_eq!(first.0.hop(BITS) as u64, first.0.0 & 15);
                    now = first.0.time(BITS);
                    list.remove(0);
                } else {
                    prop_assert!(inbox.first().is_none());
                }
                prop_assert_eq!(inbox.len(), list.len());
            }
        }
    }
}
