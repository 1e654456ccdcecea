//! A queue and the link that serves it, without I/O.

use quell_units::{BitRate, Bytes, Duration, Time};

use crate::{Admission, Counters, Dequeued, Dropped, Packet, Qdisc};

/// A queue and the transmitter of the link behind it: takes packets in, says when each leaves.
///
/// It owns everything that a host could get wrong between the two: when the transmitter is free, when
/// the queue is idle, when updates run, and the order within one instant, which is updates, then
/// departures, then arrivals. Departures have times of their own, so a host that wakes late has the
/// same ones as a host that wakes on time. What leaves and what is dropped goes to its [`Host`].
///
/// A host calls [`Line::arrive`] and [`Line::run`] in order of time, and [`Line::run`] no later than
/// [`Line::next`] says. Then no call runs more than [`CATCH_UP`]'s worth of updates, however long the
/// line was idle.
#[derive(Clone, Debug)]
pub struct Line<Q> {
    queue: Q,
    transmitter: Transmitter,
    /// The time that a packet as large as the last one takes: the next usually is.
    last: (Bytes, (Duration, u32)),
    carry: Carry,
    busy_until: Time,
    /// The queue has been told that nothing has been in transmission since `busy_until`.
    idle_told: bool,
    /// The time at which the next packet leaves, if one waits: when the transmission ends, or what the discipline
    /// said; never while the rate is zero.
    serves_from: Time,
}

/// What the link of a [`Line`] is doing, whatever its queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// The time at which the transmission under way ends, or the last one ended.
    pub busy_until: Time,
    /// What the last transmission took beyond its time.
    pub carry: Carry,
    /// The rate is zero.
    pub stopped: bool,
}

/// The owner of the packets that leave a [`Line`].
pub trait Host<P> {
    /// The arrival at hand, for this lane, was decided about; if it was kept and the link is free, it is sent next.
    #[inline]
    fn arrived(&mut self, now: Time, lane: usize, admission: Admission) {
        let _ = (now, lane, admission);
    }
    /// A packet's transmission begins.
    fn sent(&mut self, sent: Sent<P>);
    /// A packet is dropped.
    fn dropped(&mut self, now: Time, dropped: Dropped<P>);
}

/// A packet that leaves its queue for the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent<P> {
    /// The packet, marked if it is to be.
    pub packet: P,
    /// The time at which it came to the queue.
    pub arrived: Time,
    /// The times at which its transmission begins and ends.
    pub start: Time,
    /// See `start`.
    pub end: Time,
}

/// The longest time for which a host that obeys [`Line::next`] puts updates off. They run at their own
/// times all the same; this bounds what it costs to make up for them.
pub const CATCH_UP: Duration = Duration::from_secs(1);

impl<Q: Qdisc> Line<Q> {
    /// An idle line at `rate`, which the queue has been told.
    pub fn new(queue: Q, rate: BitRate) -> Self {
        let transmitter = Transmitter::new(rate);
        Line {
            queue,
            transmitter,
            last: (Bytes::new(0), transmitter.time(Bytes::new(0))),
            carry: Carry::START,
            busy_until: Time::ZERO,
            idle_told: false,
            serves_from: Time::ZERO,
        }
    }

    /// The queue, and what the link is doing.
    pub fn into_parts(self) -> (Q, LinkState) {
        let link = LinkState { busy_until: self.busy_until, carry: self.carry, stopped: self.stopped() };
        (self.queue, link)
    }

    /// A line whose link goes on as `link` was at `now`, when all that was due had been done; `queue` is new, knows the
    /// rate and may hold what waits.
    pub fn resume(queue: Q, rate: BitRate, link: LinkState, now: Time) -> Self {
        let LinkState { busy_until, carry, stopped } = link;
        let serves_from = if stopped { Time::MAX } else { busy_until.max(now) };
        Line { carry, busy_until, serves_from, ..Line::new(queue, rate) }
    }

    /// Says whether the link's rate is zero.
    pub fn stopped(&self) -> bool {
        self.serves_from == Time::MAX
    }

    /// The queue.
    pub fn queue(&self) -> &Q {
        &self.queue
    }

    /// The queue, without its link.
    pub fn into_queue(self) -> Q {
        self.queue
    }

    /// The time at which the transmission under way ends, or the last one ended.
    #[inline]
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// The time at which the next packet leaves, if one waits and the link is not [stopped](Line::stopped).
    #[inline]
    pub fn next_departure(&self) -> Option<Time> {
        (!self.stopped() && !self.queue.is_empty()).then_some(self.serves_from)
    }

    /// The latest time at which the host is to call [`Line::run`]; `None`: nothing is left to do.
    pub fn next(&self) -> Option<Time> {
        let update = self.queue.next_update().map(|due| due + CATCH_UP);
        [self.next_departure(), update].into_iter().flatten().min()
    }

    /// The counts of the queue so far.
    pub fn counters(&self) -> Counters {
        self.queue.counters()
    }

    /// Does everything that is due at or before `now`, each at its own time.
    // Not in the code of its callers: where it matters, a packet arrives.
    #[inline(never)]
    pub fn run(&mut self, now: Time, host: &mut impl Host<Q::Packet>) {
        self.advance(now, host);
    }

    #[inline(always)]
    fn advance(&mut self, now: Time, host: &mut impl Host<Q::Packet>) {
        while self.serves_from <= now && !self.queue.is_empty() {
            self.serve(self.serves_from, host);
        }
        self.update(now);
        if self.busy_until <= now {
            self.idle();
        }
    }

    /// A packet arrives.
    #[inline]
    pub fn arrive(&mut self, now: Time, packet: Q::Packet, host: &mut impl Host<Q::Packet>) -> Admission {
        let admission = self.admit(now, packet, host);
        host.arrived(now, self.queue.arrival_lane(), admission);
        self.start(now, admission, host);
        admission
    }

    /// The first half of [`Line::arrive`], without [`Host::arrived`]; [`Line::start`] has to follow.
    #[inline(always)]
    pub fn admit(&mut self, now: Time, packet: Q::Packet, host: &mut impl Host<Q::Packet>) -> Admission {
        self.advance(now, host);
        self.queue.enqueue(now, packet, &mut |dropped| host.dropped(now, dropped))
    }

    /// The second half of [`Line::arrive`]: what has come is sent if the link is free.
    #[inline(always)]
    pub fn start(&mut self, now: Time, admission: Admission, host: &mut impl Host<Q::Packet>) {
        if self.busy_until <= now && !self.stopped() && !matches!(admission, Admission::Dropped(_)) {
            // What has come may be sent sooner than what waited before it.
            self.serves_from = now;
            self.run(now, host);
        }
    }

    /// The link's rate is `rate` from `now` on; the packet in transmission keeps its own. At a rate of zero
    /// nothing is sent until the rate is another, and the queue keeps the rate that it knows.
    pub fn set_rate(&mut self, now: Time, rate: BitRate, host: &mut impl Host<Q::Packet>) {
        self.run_before(now, host);
        let from = if self.stopped() { now } else { self.serves_from.min(now) };
        if rate.bps() == 0 {
            self.serves_from = Time::MAX;
            return;
        }
        self.transmitter.set_rate(rate);
        self.last.1 = self.transmitter.time(self.last.0);
        self.queue.set_rate(rate);
        // What was paced by the old rate may be sent sooner, but not in the past.
        self.serves_from = self.busy_until.max(from);
    }

    /// Replaces the queue: from `now` on `queue`, which is new and knows the link's rate, holds what waits and decides.
    /// Packets that wait stay, even if they are more than it admits; counters go on.
    pub fn reconfigure(&mut self, now: Time, queue: Q, host: &mut impl Host<Q::Packet>) {
        self.run_before(now, host);
        let (waiting, counters) = core::mem::replace(&mut self.queue, queue).into_parts();
        self.queue.take_over(now, waiting, counters);
        if !self.stopped() {
            self.serves_from = self.busy_until.max(now);
        }
        self.idle_told = false;
    }

    /// Does everything that is due before `now`, and not what is due at `now`.
    #[inline]
    pub fn run_before(&mut self, now: Time, host: &mut impl Host<Q::Packet>) {
        if let Some(before) = now.nanos().checked_sub(1) {
            self.run(Time::from_nanos(before), host);
        }
    }

    /// The link is free and something waits: the next packet's transmission begins at `now`.
    #[inline(always)]
    fn serve(&mut self, now: Time, host: &mut impl Host<Q::Packet>) {
        self.update(now);
        self.idle();
        match self.queue.dequeue(now, &mut |dropped| host.dropped(now, dropped)) {
            Dequeued::Packet(packet, arrived) => {
                let bytes = packet.bytes();
                if bytes != self.last.0 {
                    self.last = (bytes, self.transmitter.time(bytes));
                }
                let end = self.carry.end(now, self.last.1);
                (self.busy_until, self.serves_from) = (end, end);
                self.idle_told = false;
                host.sent(Sent { packet, arrived, start: now, end });
            }
            Dequeued::NotBefore(time) => self.serves_from = time,
            // All that waited was dropped at the head.
            Dequeued::Nothing => {
                self.serves_from = self.busy_until;
                self.idle_told = false;
            }
        }
    }

    /// Runs the updates that are due at or before `now`.
    #[inline(always)]
    fn update(&mut self, now: Time) {
        while let Some(due) = self.queue.next_update().filter(|due| *due <= now) {
            if self.busy_until < due {
                self.idle();
            }
            self.queue.advance(due);
        }
    }

    /// Tells the queue that nothing has been in transmission since `busy_until`.
    #[inline]
    fn idle(&mut self) {
        if !self.idle_told {
            self.idle_told = true;
            self.queue.idle(self.busy_until);
        }
    }
}

/// The times that packets take at a link's rate; by default the link is infinitely fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transmitter {
    /// Nanoseconds per byte, times 2^32; the largest value for a bit per second, the only rate at which
    /// it would not fit.
    ns_per_byte: u64,
}

impl Transmitter {
    /// Beyond the end of every run, and sums of a few do not overflow.
    pub const LONGEST: Duration = Duration::from_nanos(1 << 60);

    /// A transmitter at `rate`.
    pub fn new(rate: BitRate) -> Self {
        // To the nearest 2^-32 ns.
        let ns = (8_000_000_000u128 << 32) + rate.bps() as u128 / 2;
        Transmitter { ns_per_byte: (ns / rate.bps().max(1) as u128).min(u64::MAX as u128) as u64 }
    }

    /// Packets are sent at `rate` from now on.
    pub fn set_rate(&mut self, rate: BitRate) {
        *self = Transmitter::new(rate);
    }

    /// The time that a packet of this size takes: whole nanoseconds, at least one, so that every hop takes
    /// time, and the rest in parts of 2^-32 ns.
    #[inline]
    pub fn time(&self, size: Bytes) -> (Duration, u32) {
        let ns_per_byte = match self.ns_per_byte {
            u64::MAX => 8_000_000_000 << 32,
            ns => ns as u128,
        };
        let time = size.get() as u128 * ns_per_byte;
        match u64::try_from(time >> 32).unwrap_or(u64::MAX) {
            0 => (Duration::from_nanos(1), 0),
            ns => (Duration::from_nanos(ns).min(Self::LONGEST), time as u32),
        }
    }
}

/// The part of a nanosecond by which a link's last transmission really ended after its time: the next
/// one is that much longer, so that the rate is exact over many packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carry(u32);

impl Carry {
    /// The carry of a link that has not sent yet: half, so that its first time is rounded to the nearest.
    pub const START: Carry = Carry(1 << 31);

    /// The carry that [`Carry::bits`] gave.
    pub const fn from_bits(bits: u32) -> Carry {
        Carry(bits)
    }

    /// It as a number.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The time at which a transmission from `start` of this length and rest ends.
    #[inline]
    pub fn end(&mut self, start: Time, (length, rest): (Duration, u32)) -> Time {
        let (carry, more) = self.0.overflowing_add(rest);
        self.0 = carry;
        Time::from_nanos(start.nanos() + length.nanos() + u64::from(more))
    }
}
