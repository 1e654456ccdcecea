//! Samples of the delivery rate (draft-ietf-ccwg-bbr section 4.1): what was delivered between the sending of a
//! packet and its acknowledgment, over the longer of the times that this took at either end.

use alloc::collections::VecDeque;

use quell_units::{Duration, Time};

use crate::congestion::contract::AckFacts;
use crate::float::{count, larger, seconds};
use crate::ring::Ring;

/// The state of the connection when a packet was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Snapshot {
    pub sent: Time,
    /// P.first_send_time and P.delivered_time.
    first_sent: Time,
    delivered_time: Time,
    /// P.delivered and P.lost: how many had been delivered and lost.
    pub delivered: u64,
    pub lost: u64,
    /// P.tx_in_flight: packets in flight, with this one.
    pub flight: u32,
    /// P.is_app_limited.
    pub app_limited: bool,
}

/// The sample of an acknowledgment (RS).
#[derive(Clone, Copy)]
pub(crate) struct Sample<'a> {
    pub ack: &'a AckFacts<'a>,
    /// RS.delivery_rate in packets per second; `None` if it cannot be told.
    pub rate: Option<f64>,
    /// RS.delivered: packets delivered since the newest of those acknowledged was sent.
    pub delivered: u64,
    /// The state when that one was sent.
    pub newest: Option<Snapshot>,
    /// RS.newly_acked and RS.newly_lost.
    pub acked: u32,
    pub lost: u32,
    /// C.delivered and C.lost.
    pub total: u64,
    pub total_lost: u64,
}

/// The state of a connection and of its packets in flight.
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    packets: Ring<Snapshot>,
    /// C.delivered, C.delivered_time and C.first_send_time.
    pub delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    pub lost: u64,
    /// C.app_limited: samples are the application's until so many are delivered; 0 for none.
    app_limited: u64,
    /// The packet that was sent last of those that this acknowledgment delivers; 0 for none.
    newest: u32,
    acked: u32,
    /// Lost since the last acknowledgment.
    newly_lost: u32,
}

impl Rate {
    pub fn new() -> Self {
        Rate {
            packets: Ring::new(),
            delivered: 0,
            delivered_time: Time::ZERO,
            first_sent: Time::ZERO,
            lost: 0,
            app_limited: 0,
            newest: 0,
            acked: 0,
            newly_lost: 0,
        }
    }

    /// A packet is sent while `flight` others are in flight.
    #[inline]
    pub fn sent(&mut self, seq: u32, now: Time, flight: u32) {
        let snapshot = self.snapshot_now(now, flight);
        if seq < self.packets.end() && !self.packets.is_empty() {
            self.packets[seq] = snapshot;
        } else {
            self.packets.push(seq, snapshot);
        }
    }

    /// The state when a packet is sent while `flight` others are in flight.
    #[inline(always)]
    fn snapshot_now(&mut self, now: Time, flight: u32) -> Snapshot {
        if flight == 0 {
            self.first_sent = now;
            self.delivered_time = now;
        }
        Snapshot {
            sent: now,
            first_sent: self.first_sent,
            delivered_time: self.delivered_time,
            delivered: self.delivered,
            lost: self.lost,
            flight: flight + 1,
            app_limited: self.app_limited > 0,
        }
    }

    /// Returns whether [`Rate::sent_next`] has room.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.packets.has_room()
    }

    /// [`Rate::sent`] for the next new packet, where there is room.
    #[inline(always)]
    pub fn sent_next(&mut self, now: Time, flight: u32) {
        let snapshot = self.snapshot_now(now, flight);
        self.packets.push_within(snapshot);
    }

    /// [`Rate::deliver_in_order`] as it would be, where no application limits the rate: the rate that [`Rate::sample`]
    /// would have and over which time, how many packets it is of, and what was known when the last of them was sent.
    #[inline(always)]
    pub fn foresee(&self, n: u32, ack: u32, now: Time) -> Option<(f64, Duration, u64, &Snapshot)> {
        let newest = &self.packets[ack - 1];
        if self.app_limited > 0 || newest.app_limited {
            return None;
        }
        let delivered = self.delivered + u64::from(n) - newest.delivered;
        let interval = (newest.sent - newest.first_sent).max(now - newest.delivered_time);
        Some((count(delivered) / seconds(interval), interval, delivered, newest))
    }

    /// The state when this packet was sent.
    pub fn snapshot(&self, seq: u32) -> Snapshot {
        self.packets[seq]
    }

    /// A packet is acknowledged for the first time.
    pub fn deliver(&mut self, seq: u32, now: Time) {
        let sent = self.packets[seq].sent;
        self.delivered += 1;
        self.delivered_time = now;
        self.acked += 1;
        if self.newest == 0 || (sent, seq) > (self.packets[self.newest].sent, self.newest) {
            self.newest = seq;
            self.first_sent = sent;
        }
    }

    /// [`Rate::deliver`] for the `n` packets below `ack`, which were sent in their order and are all that this
    /// acknowledgment delivers; what was known when the last of them was sent.
    #[inline(always)]
    pub fn deliver_in_order(&mut self, n: u32, ack: u32, now: Time) -> Snapshot {
        debug_assert!(self.newest == 0 && self.acked == 0);
        // Field by field: as a whole it would be copied to memory first.
        let Snapshot { sent, first_sent, delivered_time, delivered, lost, flight, app_limited } =
            self.packets[ack - 1];
        self.pass(n, ack, now, sent);
        Snapshot { sent, first_sent, delivered_time, delivered, lost, flight, app_limited }
    }

    /// [`Rate::deliver_in_order`] without an answer; the last of the packets was sent at `sent`.
    #[inline(always)]
    pub fn pass(&mut self, n: u32, ack: u32, now: Time, sent: Time) {
        self.first_sent = sent;
        self.delivered += u64::from(n);
        self.delivered_time = now;
        self.packets.forget_first(ack);
    }

    pub fn lose(&mut self) {
        self.lost += 1;
        self.newly_lost += 1;
    }

    /// Leaves out of samples what has been lost since the last acknowledgment.
    pub fn forget_lost(&mut self) {
        self.newly_lost = 0;
    }

    /// The application has nothing to send, or the sender holds itself back, with so many in flight.
    pub fn limit(&mut self, flight: u32) {
        self.app_limited = (self.delivered + flight as u64).max(1);
    }

    /// Returns whether that is so.
    pub fn is_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// Takes what is known of the packets that the acknowledgment of all below `una` has delivered: the state
    /// when the last one was sent, and how many they are.
    pub fn take_newest(&mut self, una: u32) -> (Option<Snapshot>, u32) {
        let newest = core::mem::take(&mut self.newest);
        let newest = (newest != 0).then(|| self.packets[newest]);
        self.packets.forget_below(una);
        (newest, core::mem::take(&mut self.acked))
    }

    /// The sample of an acknowledgment that has delivered so many packets, of which the newest was sent so.
    #[inline(always)]
    pub fn sample<'a>(
        &mut self,
        ack: &'a AckFacts<'a>,
        (newest, acked): (Option<Snapshot>, u32),
        min_rtt: Duration,
    ) -> Sample<'a> {
        // Zero stands for no limit.
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let delivered = newest.map_or(0, |p| self.delivered - p.delivered);
        let rate = newest.and_then(|p| {
            let interval = (p.sent - p.first_sent).max(self.delivered_time - p.delivered_time);
            // A shorter one is the compression of acknowledgments.
            (interval >= min_rtt && !interval.is_zero()).then(|| count(delivered) / seconds(interval))
        });
        Sample {
            ack,
            rate,
            delivered,
            newest,
            acked,
            lost: core::mem::take(&mut self.newly_lost),
            total: self.delivered,
            total_lost: self.lost,
        }
    }
}

/// The largest value of the last so many steps of a count, exactly: values that a later one exceeds are gone.
#[derive(Clone, Debug)]
pub(crate) struct MaxFilter {
    /// The values of steps before that of `peak` that no later one exceeds.
    older: VecDeque<(u64, f64)>,
    /// The largest of the latest step, and the latest value, which alone stays when all are old.
    peak: (u64, f64),
    last: f64,
    length: u64,
    max: f64,
}

impl MaxFilter {
    pub fn new() -> Self {
        let none = f64::NEG_INFINITY;
        MaxFilter { older: VecDeque::new(), peak: (0, none), last: none, length: 0, max: 0.0 }
    }

    /// Takes in a value of step `at`; those of steps before `at - length + 1` go.
    #[inline]
    pub fn update(&mut self, at: u64, value: f64, length: u64) {
        if at == self.peak.0 && length == self.length && value <= self.peak.1 {
            self.last = value;
        } else {
            self.add(at, value, length);
        }
    }

    #[inline(never)]
    fn add(&mut self, at: u64, value: f64, length: u64) {
        if value < self.peak.1 {
            self.older.push_back(self.peak);
        } else {
            while self.older.back().is_some_and(|&(_, v)| v <= value) {
                self.older.pop_back();
            }
        }
        (self.peak, self.last, self.length) = ((at, value), value, length);
        self.expire(at, length);
        self.max = self.older.front().map_or(self.peak.1, |&(_, v)| v);
    }

    /// Forgets old values, if others are left.
    pub fn expire(&mut self, at: u64, length: u64) {
        while self.older.front().is_some_and(|&(step, _)| step + length <= at) {
            self.older.pop_front();
            self.max = self.older.front().map_or(self.peak.1, |&(_, v)| v);
        }
        if self.older.is_empty() && self.last < self.peak.1 && self.peak.0 + length <= at {
            self.peak.1 = self.last;
            self.max = self.last;
        }
    }

    /// The value below which further ones of step `at` leave the largest as it is.
    pub fn steady(&self, at: u64, length: u64) -> f64 {
        match self.older.back() {
            _ if at != self.peak.0 || length != self.length => f64::NEG_INFINITY,
            Some(older) => older.1,
            None => self.peak.1,
        }
    }

    /// [`MaxFilter::update`] below [`MaxFilter::steady`].
    #[inline(always)]
    pub fn update_steadily(&mut self, value: f64) {
        self.last = value;
        self.peak.1 = larger(self.peak.1, value);
    }

    /// The largest; zero before the first.
    #[inline]
    pub fn max(&self) -> f64 {
        self.max
    }
}

/// A number from 0 to below 1 without a generator: what the clock shows, mixed. Flows that act at different
/// times draw different ones.
pub(crate) fn chance(now: Time) -> f64 {
    let mut x = now.nanos().wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::contract::Repairing;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn ms(x: u64) -> Time {
        Time::ZERO + Duration::from_millis(x)
    }

    const FACTS: AckFacts<'_> = AckFacts {
        now: Time::ZERO,
        una: 1,
        prior_flight: 0,
        flight: 0,
        rtt: None,
        window_limited: false,
        repairing: Repairing::Nothing,
        pacer: None,
    };

    fn sample(r: &mut Rate, min_rtt: Duration) -> Sample<'static> {
        let newest = r.take_newest(1);
        r.sample(&FACTS, newest, min_rtt)
    }

    #[test]
    fn the_rate_is_that_of_the_slower_end() {
        let mut r = Rate::new();
        // 1 and 10 packets go at once and are acknowledged one every 10 ms from 100 ms on.
        (1..=11).for_each(|seq| r.sent(seq, ms(0), seq - 1));
        for seq in 1..=11u32 {
            r.deliver(seq, ms(90 + 10 * seq as u64));
            let s = sample(&mut r, Duration::from_millis(100));
            assert_eq!(s.delivered, seq as u64);
            assert!((s.rate.unwrap() - seq as f64 / (0.09 + 0.01 * seq as f64)).abs() < 1e-9);
        }
        // A packet each 10 ms for acknowledgments that come all at once: 10 ms are the sender's.
        let mut r = Rate::new();
        (1..=11).for_each(|seq| r.sent(seq, ms(10 * seq as u64), seq - 1));
        r.deliver(1, ms(110));
        sample(&mut r, Duration::ZERO);
        r.sent(12, ms(120), 10);
        (2..=12).for_each(|seq| r.deliver(seq, ms(220)));
        let s = sample(&mut r, Duration::ZERO);
        assert_eq!((s.delivered, s.acked), (11, 11));
        assert!((s.rate.unwrap() - 100.0).abs() < 1e-9, "{:?}", s.rate);
    }

    #[test]
    fn samples_shorter_than_a_round_trip_say_nothing() {
        let mut r = Rate::new();
        r.sent(1, ms(0), 0);
        r.deliver(1, ms(5));
        assert_eq!(sample(&mut r, Duration::from_millis(10)).rate, None);
    }

    #[test]
    fn packets_sent_while_the_application_had_nothing_say_so() {
        let mut r = Rate::new();
        r.sent(1, ms(0), 0);
        r.limit(1);
        r.sent(2, ms(1), 1);
        r.deliver(1, ms(100));
        assert!(!sample(&mut r, Duration::ZERO).newest.unwrap().app_limited);
        r.deliver(2, ms(101));
        assert!(sample(&mut r, Duration::ZERO).newest.unwrap().app_limited);
        r.sent(3, ms(102), 0);
        assert!(!r.snapshot(3).app_limited, "both are delivered");
    }

    #[test]
    fn a_filter_has_the_largest_value_of_its_last_steps() {
        let mut f = MaxFilter::new();
        for (at, value, max) in
            [(0, 5.0, 5.0), (1, 3.0, 5.0), (2, 4.0, 5.0), (3, 1.0, 4.0), (4, 1.0, 4.0), (5, 2.0, 2.0)]
        {
            f.update(at, value, 3);
            assert_eq!(f.max(), max, "{at}");
        }
        f.expire(100, 3);
        assert_eq!(f.max(), 2.0, "the last one stays");
    }

    proptest! {
        /// As a list of all values, of which the old ones go, but not the last.
        #[test]
        fn a_filter_is_a_list_of_values(
            steps in proptest::collection::vec((0u64..3, 0u32..6, 1u64..4, any::<bool>()), 1..60),
        ) {
            let (mut filter, mut list, mut at) = (MaxFilter::new(), Vec::new(), 0);
            for (later, value, length, only_expire) in steps {
                at += later;
                if only_expire {
                    filter.expire(at, length);
                } else {
                    filter.update(at, f64::from(value), length);
                    list.push((at, f64::from(value)));
                }
                let last = list.last().copied();
                list.retain(|(step, _)| step + length > at);
                if list.is_empty() {
                    list.extend(last);
                }
                prop_assert_eq!(filter.max(), list.iter().map(|v| v.1).fold(0.0, f64::max));
            }
        }
    }

    #[test]
    fn chance_is_even() {
        let n = 10_000;
        let mean = (0..n).map(|i| chance(Time::from_nanos(i * 1000))).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }
}
