//! A shaper around any queue: tbf(8).

use alloc::format;
use alloc::vec::Vec;

use quell_aqm::{Cause, Probe, QueueView};
use quell_units::{BitRate, Bytes, LinkLayer, Packets, Time};

use crate::bucket::Bucket;
use crate::counters::{Events, Tally};
use crate::{Admission, Counters, Dequeued, DropPoint, Dropped, Limit, Packet, Qdisc, Refused};

/// What a [`Shaped`] queue is limited to. Names are those of tbf(8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// The rate, and what a packet takes of it: overhead, smallest packet and cells.
    pub rate: LinkLayer,
    /// The most that leaves at once, in bytes on the wire.
    pub burst: Bytes,
    /// The limit of the burst, if there is one.
    pub peak: Option<Peak>,
    /// The most that may wait, with the packet that waits for tokens; `None` leaves that to the queue inside. tbf(8)
    /// always has one. Packets beyond it are dropped without asking the queue inside.
    pub limit: Option<Limit>,
}

/// The rate at which a burst leaves. Without one, a burst leaves as fast as the link sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// The rate, of the same link layer as the shaper's.
    pub rate: BitRate,
    /// The most that leaves at once at this rate, in bytes on the wire: tbf's `mtu`.
    pub mtu: Bytes,
}

impl Shaper {
    /// A shaper of IP packets without a peak rate and without a limit of its own.
    pub fn plain(rate: BitRate, burst: Bytes) -> Self {
        Shaper { rate: LinkLayer::plain(rate), burst, peak: None, limit: None }
    }

    /// Refuses a shaper that cannot send packets of up to `largest`.
    ///
    /// # Errors
    /// Names the field, its value, the rule, and the fix.
    pub fn check(&self, largest: Bytes) -> Result<(), Refused> {
        let refused = |field, value: &dyn core::fmt::Display, rule: &str, fix: &str| {
            Err(Refused::new("", field, value, rule, fix))
        };
        let rate = self.rate.rate;
        if rate.bps() == 0 {
            return refused("rate", &rate, "must be positive", "set the rate that may leave");
        }
        let wire = self.rate.on_wire(largest);
        let rule = format!("must hold the largest packet, which takes {wire} on the wire");
        let fix = format!("set at least {wire}");
        if self.burst < wire {
            return refused("burst", &self.burst, &rule, &fix);
        }
        if let Some(Peak { rate: peak, mtu }) = self.peak {
            if peak <= rate {
                let fix = "set a higher peak rate, or none";
                return refused("peak", &peak, &format!("must be above the rate of {rate}"), fix);
            }
            if mtu < wire {
                return refused("mtu", &mtu, &rule, &fix);
            }
        }
        match self.limit {
            Some(Limit::Packets(0)) => refused("limit", &"0 packets", "must hold a packet", "set at least 1"),
            Some(Limit::Bytes(n)) if n < largest.get() => {
                let rule = format!("must hold the largest packet of {largest}");
                refused("limit", &Bytes::new(n), &rule, "set a larger limit, or none")
            }
            _ => Ok(()),
        }
    }
}

/// A queue that sends at a rate, with bursts: a token bucket in front of any other queue.
///
/// As in Linux, it takes the next packet from the queue inside as soon as the link is free, and holds it until its
/// tokens are there. So the algorithm inside decides then, and the packet's wait for tokens is part of no delay that
/// the algorithm measures. The packet still counts as waiting in [`Qdisc::view`] and [`Qdisc::counters`].
///
/// Differences from Linux's tbf:
/// - The queue inside no longer counts the packet that is held, in the same way that no queue counts the packet in
///   transmission. Linux counts it in the backlog and in the limit of the inner queue. [`Shaper::limit`] counts it.
/// - A packet is too large if its bytes on the wire exceed the burst or the peak's `mtu`. Linux compares its bytes
///   without overhead, and waits forever for a packet that fits only without it.
/// - Too large packets are [`Cause::Forced`] drops at arrival; Linux divides those of GSO first.
/// - Tokens are exact ([`Bucket`]).
/// - When the queue inside waits for a time of its own, so does this one. Linux has no clock for both.
///
/// Lanes are those of the queue inside. Their views and counts leave out the packet that is held.
#[derive(Clone, Debug)]
pub struct Shaped<Q: Qdisc> {
    inner: Q,
    rate: Bucket,
    peak: Option<Bucket>,
    limit: Option<Limit>,
    /// Waits for tokens, since the time at which it came.
    held: Option<(Q::Packet, Time)>,
    /// What waits, with the packet that is held.
    waiting: Tally,
    /// Arrivals of which the queue inside never heard.
    unheard: Events,
    overlimits: u64,
}

impl<Q: Qdisc> Shaped<Q> {
    /// An empty queue `inner` behind full buckets. The shaper has been [checked](Shaper::check).
    pub fn new(inner: Q, shaper: &Shaper) -> Self {
        let peak =
            shaper.peak.map(|peak| Bucket::new(LinkLayer { rate: peak.rate, ..shaper.rate }, peak.mtu));
        Shaped {
            inner,
            rate: Bucket::new(shaper.rate, shaper.burst),
            peak,
            limit: shaper.limit,
            held: None,
            waiting: Tally::default(),
            unheard: Events::default(),
            overlimits: 0,
        }
    }

    /// The queue inside.
    pub fn inner(&self) -> &Q {
        &self.inner
    }

    /// How often the link was free and the next packet had to wait for tokens: tc's `overlimits`.
    pub fn overlimits(&self) -> u64 {
        self.overlimits
    }

    fn held(&self) -> Tally {
        let size = |(packet, _): &(Q::Packet, Time)| packet.bytes().get();
        self.held.as_ref().map_or(Tally::default(), |held| Tally { packets: 1, bytes: size(held) })
    }

    /// The cause for which an arrival of this size is dropped without asking the queue inside.
    fn refuses(&self, size: Bytes) -> Option<Cause> {
        if !self.rate.holds(size) || self.peak.is_some_and(|peak| !peak.holds(size)) {
            return Some(Cause::Forced);
        }
        let Tally { packets, bytes } = self.waiting;
        let full = |limit: Limit| !limit.has_room(packets as u32, bytes, size.get());
        self.limit.is_some_and(full).then_some(Cause::Overflow)
    }
}

impl<Q: Qdisc> Qdisc for Shaped<Q> {
    type Packet = Q::Packet;

    fn enqueue(
        &mut self,
        now: Time,
        packet: Q::Packet,
        dropped: &mut dyn FnMut(Dropped<Q::Packet>),
    ) -> Admission {
        let size = packet.bytes();
        if let Some(cause) = self.refuses(size) {
            self.inner.advance(now);
            self.unheard.arrives(size, packet.ecn());
            self.unheard.refused(size, packet.ecn(), cause);
            dropped(Dropped { packet, cause, place: DropPoint::Arrival });
            return Admission::Dropped(cause);
        }
        let waiting = &mut self.waiting;
        let admission = self.inner.enqueue(now, packet, &mut |gone| dropped(gone.out_of(waiting)));
        if !matches!(admission, Admission::Dropped(_)) {
            waiting.count(size);
        }
        admission
    }

    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(Dropped<Q::Packet>)) -> Dequeued<Q::Packet> {
        let (packet, arrived) = match self.held.take() {
            Some(held) => held,
            None => {
                let waiting = &mut self.waiting;
                match self.inner.dequeue(now, &mut |gone| dropped(gone.out_of(waiting))) {
                    Dequeued::Packet(packet, arrived) => (packet, arrived),
                    other => return other,
                }
            }
        };
        let size = packet.bytes();
        let at = self.rate.earliest(now, size);
        let at = self.peak.map_or(at, |peak| at.max(peak.earliest(now, size)));
        if at > now {
            self.overlimits += 1;
            self.held = Some((packet, arrived));
            return Dequeued::NotBefore(at);
        }
        self.rate.take(now, size);
        if let Some(peak) = &mut self.peak {
            peak.take(now, size);
        }
        self.waiting.uncount(size);
        Dequeued::Packet(packet, arrived)
    }

    /// The queue inside is not idle while a packet of it waits for tokens.
    fn idle(&mut self, since: Time) {
        if self.held.is_none() {
            self.inner.idle(since);
        }
    }

    fn advance(&mut self, now: Time) {
        self.inner.advance(now);
    }

    fn next_update(&self) -> Option<Time> {
        self.inner.next_update()
    }

    fn counters(&self) -> Counters {
        let mut all = self.inner.counters();
        all.departed = all.departed - self.held();
        all += self.unheard.counters(Tally::default());
        all
    }

    fn arrival_lane(&self) -> usize {
        self.inner.arrival_lane()
    }

    fn lane_names(&self) -> &'static [&'static str] {
        self.inner.lane_names()
    }

    fn lane_count(&self) -> usize {
        self.inner.lane_count()
    }

    fn lane_name(&self, lane: usize) -> Option<&str> {
        self.inner.lane_name(lane)
    }

    fn lane_view(&self, lane: usize) -> Option<QueueView> {
        self.inner.lane_view(lane)
    }

    fn lane_counters(&self, lane: usize) -> Option<Counters> {
        self.inner.lane_counters(lane)
    }

    fn view(&self) -> QueueView {
        let inner = self.inner.view();
        let held = self.held.as_ref().map(|(_, arrived)| *arrived);
        QueueView {
            packets: Packets::new(self.waiting.packets as u32),
            bytes: Bytes::new(self.waiting.bytes),
            head_since: [inner.head_since, held].into_iter().flatten().min(),
            ..inner
        }
    }

    fn is_empty(&self) -> bool {
        self.waiting.packets == 0
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.inner.observe(out);
    }

    /// The queue inside sees no rate above the shaper's.
    fn set_rate(&mut self, rate: BitRate) {
        self.inner.set_rate(rate.min(self.rate.rate()));
    }

    /// The packet that is held comes with the others, and the next queue's algorithm decides about it again.
    fn into_parts(self) -> (Vec<(Time, Q::Packet)>, Counters) {
        let counters = self.counters();
        let (mut waiting, _) = self.inner.into_parts();
        if let Some((packet, arrived)) = self.held {
            let place = waiting.partition_point(|(other, _)| *other < arrived);
            waiting.insert(place, (arrived, packet));
        }
        (waiting, counters)
    }

    /// The buckets of the new queue are full. A packet that they can never send is kept, and leaves when they are full.
    fn take_over(&mut self, now: Time, waiting: Vec<(Time, Q::Packet)>, counters: Counters) {
        waiting.iter().for_each(|(_, packet)| self.waiting.count(packet.bytes()));
        self.inner.take_over(now, waiting, counters);
    }
}
