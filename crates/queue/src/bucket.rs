//! Token buckets without rounding.

use quell_units::{BitRate, Bytes, Duration, LinkLayer, Time};

/// A token bucket: it fills at a rate up to a burst, and packets take out what they occupy on the wire.
///
/// Its content is counted in bits times nanoseconds per second, of which a rate of 1 bit/s adds one each nanosecond. So
/// the content, and the nanosecond at which it suffices, are exact, however many packets pass. Linux counts the time
/// that the content takes at the rate and cuts each packet's time to whole nanoseconds, so its buckets are faster by up
/// to a nanosecond per packet. A full bucket is not filled further. So one that holds just a packet loses what comes
/// between the exact time and the whole nanosecond at which the packet leaves.
///
/// In any window of t seconds, packets of at most `burst + rate t` leave if each waits until
/// [`Bucket::earliest`]. A class of a tree lets them go while the content is not negative
/// ([`Bucket::solvent_at`]). Then the bound is larger by one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    layer: LinkLayer,
    burst: Bytes,
    content: i128,
    since: Time,
}

/// The longest time for which a bucket is in debt: what a packet costs beyond that is forgiven, as in Linux.
///
/// A class goes into debt without end if its children's guarantees exceed its own.
const LONGEST_DEBT: Duration = Duration::from_secs(60);

/// Bits times nanoseconds per second in a byte.
const BYTE: i128 = 8_000_000_000;

impl Bucket {
    /// A full bucket. `layer` has the rate at which it fills, and says what a packet takes.
    pub fn new(layer: LinkLayer, burst: Bytes) -> Self {
        Bucket { layer, burst, content: capacity(burst), since: Time::ZERO }
    }

    /// The rate at which it fills.
    #[inline]
    pub fn rate(&self) -> BitRate {
        self.layer.rate
    }

    /// The most that it holds.
    #[inline]
    pub fn burst(&self) -> Bytes {
        self.burst
    }

    /// Says whether the burst holds what a packet of this size takes on the wire.
    #[inline]
    pub fn holds(&self, size: Bytes) -> bool {
        self.layer.on_wire(size) <= self.burst
    }

    /// The content in bytes; less than zero in debt. Fractions are cut off toward less.
    pub fn bytes(&self, now: Time) -> i64 {
        let bytes = self.content(now).div_euclid(BYTE);
        i64::try_from(bytes).unwrap_or(if bytes < 0 { i64::MIN } else { i64::MAX })
    }

    /// The time from which a packet of this size may leave: `now` or later. One that the burst does not
    /// [hold](Bucket::holds) may leave when the bucket is full. [`Time::MAX`] means never, at a rate of zero.
    #[inline]
    pub fn earliest(&self, now: Time, size: Bytes) -> Time {
        self.time_of(now, cost(&self.layer, size).min(capacity(self.burst)))
    }

    /// The time from which the content is not negative: `now` or later. [`Time::MAX`] means never, at a rate of zero.
    #[inline]
    pub fn solvent_at(&self, now: Time) -> Time {
        self.time_of(now, 0)
    }

    /// Says whether the content is not negative.
    #[inline]
    pub fn solvent(&self, now: Time) -> bool {
        self.content(now) >= 0
    }

    /// A packet of this size leaves at `now`, whether or not the content suffices.
    #[inline]
    pub fn take(&mut self, now: Time, size: Bytes) {
        let floor = -(i128::from(self.layer.rate.bps()) * i128::from(LONGEST_DEBT.nanos()));
        self.content = (self.content(now) - cost(&self.layer, size)).max(floor);
        self.since = self.since.max(now);
    }

    /// The content at `now`.
    #[inline]
    fn content(&self, now: Time) -> i128 {
        let elapsed = now.since(self.since).nanos();
        // Below 2^127: a rate and a time are below 2^64, and one of them below 2^63 in every run.
        let came = u128::from(self.layer.rate.bps()) * u128::from(elapsed);
        let came = i128::try_from(came).unwrap_or(i128::MAX / 2);
        (self.content + came).min(capacity(self.burst))
    }

    /// The time from which the content is at least `wanted`.
    #[inline]
    fn time_of(&self, now: Time, wanted: i128) -> Time {
        let lacks = wanted - self.content(now);
        if lacks <= 0 { now } else { self.later(now, lacks) }
    }

    #[cold]
    fn later(&self, now: Time, lacks: i128) -> Time {
        let Some(wait) =
            lacks.unsigned_abs().checked_add(u128::from(self.layer.rate.bps()).saturating_sub(1))
        else {
            return Time::MAX;
        };
        match wait.checked_div(u128::from(self.layer.rate.bps())) {
            Some(wait) => now + Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX)),
            None => Time::MAX,
        }
    }
}

#[inline]
fn capacity(burst: Bytes) -> i128 {
    i128::from(burst.get()) * BYTE
}

#[inline]
fn cost(layer: &LinkLayer, size: Bytes) -> i128 {
    i128::from(layer.on_wire(size).get()) * BYTE
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;
    use quell_units::Framing;

    use super::*;

    fn bucket(bps: u64, burst: u64) -> Bucket {
        Bucket::new(LinkLayer::plain(BitRate::from_bps(bps)), Bytes::new(burst))
    }

    /// By hand: 1000 bytes at 3 bit/s take 8000/3 s, and the next nanosecond is the first at which they are there.
    #[test]
    fn the_first_nanosecond_is_exact() {
        let mut b = bucket(3, 1000);
        assert_eq!(b.earliest(Time::ZERO, Bytes::new(1000)), Time::ZERO);
        b.take(Time::ZERO, Bytes::new(1000));
        let at = b.earliest(Time::ZERO, Bytes::new(1000));
        assert_eq!(at, Time::from_nanos(2_666_666_666_667));
        assert_eq!(b.bytes(Time::from_nanos(at.nanos() - 1)), 999);
        assert_eq!(b.bytes(at), 1000);
        assert_eq!(b.earliest(at, Bytes::new(1001)), at, "the bucket is full");
    }

    /// Linux cuts 1500 bytes at 7 Mbit/s, 1714285.7 ns, to 1714285 ns: after 7 packets it is 5 ns early.
    #[test]
    fn nothing_drifts() {
        let mut b = bucket(7_000_000, 1501);
        b.take(Time::ZERO, Bytes::new(1));
        let mut now = Time::ZERO;
        for _ in 0..700_001 {
            now = b.earliest(now, Bytes::new(1500));
            b.take(now, Bytes::new(1500));
        }
        // 700,000 times 12000 bits at 7 Mbit/s are 1200 s.
        assert_eq!(now, Time::from_nanos(1_200_000_000_000));
    }

    #[test]
    fn a_packet_takes_what_it_takes_on_the_wire() {
        let layer = LinkLayer {
            overhead: Bytes::new(8),
            framing: Framing::Atm,
            ..LinkLayer::plain(BitRate::from_bps(8_000_000_000))
        };
        let mut b = Bucket::new(layer, Bytes::new(106));
        assert!(b.holds(Bytes::new(88)) && !b.holds(Bytes::new(89)));
        b.take(Time::ZERO, Bytes::new(41));
        assert_eq!(b.earliest(Time::ZERO, Bytes::new(40)), Time::from_nanos(53));
    }

    #[test]
    fn debts_end_and_a_rate_of_zero_never_pays() {
        let mut b = bucket(8, 10);
        b.take(Time::ZERO, Bytes::new(1_000_000));
        assert_eq!(b.solvent_at(Time::ZERO), Time::from_nanos(60_000_000_000));
        let mut b = bucket(0, 10);
        b.take(Time::ZERO, Bytes::new(10));
        assert_eq!(b.earliest(Time::ZERO, Bytes::new(1)), Time::MAX);
        assert!(b.solvent(Time::ZERO));
    }

    /// The largest of everything neither overflows nor comes out wrong.
    #[test]
    fn extremes_are_counted() {
        let mut b = bucket(u64::MAX, u64::MAX);
        b.take(Time::ZERO, Bytes::new(u64::MAX));
        assert_eq!(b.bytes(Time::ZERO), 0);
        assert_eq!(b.bytes(Time::MAX), i64::MAX);
        assert_eq!(b.earliest(Time::ZERO, Bytes::new(u64::MAX)), Time::from_nanos(8_000_000_000));
    }

    proptest! {
        /// In no window more than `burst + rate t` leaves, and a source that always has something gets all of it.
        #[test]
        fn every_window_is_bounded(
            bps in 1_000u64..10_000_000_000,
            burst in 1500u64..20_000,
            steps in prop::collection::vec((1u64..1500, 0u64..200_000), 1..120),
        ) {
            let mut b = bucket(bps, burst);
            let (mut now, mut left) = (Time::ZERO, Vec::new());
            for (size, pause) in steps {
                now = b.earliest(now + Duration::from_nanos(pause), Bytes::new(size));
                b.take(now, Bytes::new(size));
                left.push((now, size));
            }
            for first in 0..left.len() {
                let mut bytes = 0u128;
                for (at, size) in &left[first..] {
                    bytes += u128::from(*size);
                    let t = u128::from(at.since(left[first].0).nanos());
                    prop_assert!(bytes * 8_000_000_000 <= u128::from(burst) * 8_000_000_000 + t * u128::from(bps));
                }
            }
        }
    }
}
