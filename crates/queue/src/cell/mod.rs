//! A cell: one transmitter that serves users in intervals, each over a channel of its own.

mod scheduler;

use alloc::boxed::Box;
use alloc::vec::Vec;

use quell_aqm::{Probe, QueueView};
use quell_units::{BitRate, Bytes, Duration, Packets, Time};

pub use scheduler::Policy;

use self::scheduler::Scheduler;
use crate::counters::Tally;
use crate::tree::{Alarms, Classify};
use crate::{Admission, Counters, Dequeued, Dropped, Packet, Qdisc};

/// A transmitter that gives its intervals to its users, with a queue for each user, of any algorithm.
///
/// At the start of an interval the scheduler picks a user for whom something waits ([`Policy`]). The packets of this
/// user then leave as fast as its channel takes them, evenly over the interval. What the end of the interval leaves of a
/// packet goes on when the user is picked next. If its queue has no more before the end, the rest of the interval goes to
/// the next pick, as the blocks of a subframe do in LTE. If nobody has anything to send until the end, the rest is lost.
/// A packet that comes while nothing waits is sent from the next interval on.
///
/// A packet leaves the cell when the last of it has been sent. So the host's transmitter has nothing left to do: its link
/// is to be as fast as can be. The algorithm decides when the first of it is sent. From then on, the packet counts as
/// waiting in [`Qdisc::view`] and [`Qdisc::counters`], but not in those of its user.
///
/// Lanes are the users. Algorithms know the rates that they were built for, and hear of no change.
#[derive(Clone, Debug)]
pub struct Cell<Q: Qdisc, C, R> {
    classify: C,
    channels: R,
    interval: u64,
    scheduler: Scheduler,
    users: Vec<User<Q, Q::Packet>>,
    /// The capacity of each user in the whole interval of this number, of which it was asked last.
    whole: Vec<(u64, u128)>,
    /// The capacity of each user in what is left of the interval at hand; 0 if nothing waits for it.
    capacity: Vec<u128>,
    grant: Option<Grant>,
    /// The number of the interval that has begun and that nobody has, and the time from which on it is free.
    open: Option<(u64, Time)>,
    /// The number of the next interval.
    next: u64,
    /// The packets that wait in all, with those of which a part has been sent.
    waiting: Tally,
    updates: Alarms,
    arrival_lane: usize,
    /// The users' queues have been told that nothing was in transmission at the start.
    told: bool,
    began: Time,
    /// The counts of the queue that it took over from.
    before: Counters,
}

/// The channels between a cell and its users.
pub trait Channels {
    /// The capacity of a user's channel from one time to another, in parts of 1e-9 bit: bit/s times ns. No time of one
    /// user comes before one that was asked for earlier.
    fn capacity(&mut self, user: usize, from: Time, to: Time) -> u128;
}

/// Channels whose rates never change.
impl Channels for Vec<BitRate> {
    fn capacity(&mut self, user: usize, from: Time, to: Time) -> u128 {
        u128::from(self[user].bps()) * u128::from((to - from).nanos())
    }
}

#[derive(Clone, Debug)]
struct User<Q, P> {
    queue: Q,
    name: Box<str>,
    /// The packets that wait for it, with the one of which a part has been sent.
    waiting: Tally,
    sending: Option<Sending<P>>,
    /// Its queue waits for a time of its own.
    naps_until: Time,
}

/// A packet that has left its user's queue, and not the cell.
#[derive(Clone, Debug)]
struct Sending<P> {
    packet: P,
    arrived: Time,
    /// The part that is still to be sent, in the unit of [`Channels::capacity`].
    left: u128,
}

/// An interval that a user has, or what others have left of it.
#[derive(Clone, Copy, Debug)]
struct Grant {
    user: usize,
    number: u64,
    start: Time,
    end: Time,
    capacity: u128,
    /// The part that packets took that have left.
    used: u128,
}

impl Grant {
    /// The time at which so much of it has been sent: evenly over its length.
    fn at(&self, sent: u128) -> Time {
        let length = self.end - self.start;
        let after = (sent * u128::from(length.nanos())).div_ceil(self.capacity);
        self.start + u64::try_from(after).map_or(length, Duration::from_nanos)
    }
}

/// The parts of a byte in the unit of [`Channels::capacity`].
const BYTE: u128 = 8_000_000_000;

impl<Q: Qdisc, C: Classify<Q::Packet>, R: Channels> Cell<Q, C, R> {
    /// A cell with users of these names and empty queues. The interval is longer than zero, and there is a user.
    pub fn new(
        policy: Policy,
        interval: Duration,
        users: impl IntoIterator<Item = (Box<str>, Q)>,
        classify: C,
        channels: R,
    ) -> Self {
        let user = |(name, queue)| User {
            queue,
            name,
            waiting: Tally::default(),
            sending: None,
            naps_until: Time::ZERO,
        };
        let users: Vec<User<Q, Q::Packet>> = users.into_iter().map(user).collect();
        let mut cell = Cell {
            classify,
            channels,
            interval: interval.nanos().max(1),
            scheduler: Scheduler::new(policy, interval, users.len()),
            whole: alloc::vec![(u64::MAX, 0); users.len()],
            capacity: alloc::vec![0; users.len()],
            grant: None,
            open: None,
            next: 0,
            waiting: Tally::default(),
            updates: Alarms::new(users.len()),
            users,
            arrival_lane: 0,
            told: false,
            began: Time::ZERO,
            before: Counters::default(),
        };
        (0..cell.users.len()).for_each(|user| cell.set_alarm(user));
        cell
    }

    /// The queue of a user.
    pub fn user(&self, user: usize) -> &Q {
        &self.users[user].queue
    }

    /// A user's next update may be another now.
    #[inline]
    fn set_alarm(&mut self, user: usize) {
        self.updates.set(user as u32, self.users[user].queue.next_update());
    }

    /// The start of interval `number`.
    fn start_of(&self, number: u64) -> Time {
        Time::from_nanos(number.saturating_mul(self.interval))
    }

    /// The first interval that does not begin before `now`.
    fn first_from(&self, now: Time) -> u64 {
        now.nanos().div_ceil(self.interval)
    }

    /// Gives what is left from `from` on of an interval to a user whose queue has a packet to send at `now`. Says whether
    /// there is one.
    fn give(
        &mut self,
        (number, from): (u64, Time),
        now: Time,
        dropped: &mut dyn FnMut(Dropped<Q::Packet>),
    ) -> bool {
        let (start, end) = (self.start_of(number), self.start_of(number + 1));
        let left = u128::from((end - from).nanos());
        for user in 0..self.users.len() {
            let User { waiting, naps_until, .. } = &self.users[user];
            let waits = waiting.packets > 0 && *naps_until <= now;
            self.capacity[user] = if waits { self.in_whole(user, number) } else { 0 };
            if from > start {
                // Evenly over the interval.
                self.capacity[user] = self.capacity[user] * left / u128::from(self.interval);
            }
        }
        while let Some(user) = self.scheduler.pick(number, &self.capacity) {
            if self.load(user, now, dropped) {
                let capacity = self.capacity[user];
                self.grant = Some(Grant { user, number, start: from, end, capacity, used: 0 });
                return true;
            }
            self.capacity[user] = 0;
        }
        false
    }

    /// The capacity of a user in the whole interval `number`.
    fn in_whole(&mut self, user: usize, number: u64) -> u128 {
        if self.whole[user].0 != number {
            let (start, end) = (self.start_of(number), self.start_of(number + 1));
            self.whole[user] = (number, self.channels.capacity(user, start, end));
        }
        self.whole[user].1
    }

    /// The first time at which a queue for which something waits has a packet again.
    fn next_nap(&self) -> Time {
        let waiting = self.users.iter().filter(|user| user.waiting.packets > 0);
        waiting.map(|user| user.naps_until).min().unwrap_or(Time::MAX)
    }

    /// Has a packet of a user in sending, if its queue gives one.
    fn load(&mut self, user: usize, now: Time, dropped: &mut dyn FnMut(Dropped<Q::Packet>)) -> bool {
        let User { queue, waiting: own, sending, naps_until, .. } = &mut self.users[user];
        if sending.is_some() {
            return true;
        }
        let all = &mut self.waiting;
        let taken = queue.dequeue(now, &mut |gone| dropped(Self::gone((all, own), user, gone)));
        match taken {
            Dequeued::Packet(mut packet, arrived) => {
                packet.set_lane(user);
                let left = u128::from(packet.bytes().get()) * BYTE;
                *sending = Some(Sending { packet, arrived, left });
            }
            Dequeued::NotBefore(time) => *naps_until = time,
            // All that waited was dropped at the head.
            Dequeued::Nothing => queue.idle(now),
        }
        self.set_alarm(user);
        self.users[user].sending.is_some()
    }

    /// Takes a packet that a user's queue drops out of what waits, and gives it its lane.
    fn gone<P: Packet>(
        (all, own): (&mut Tally, &mut Tally),
        lane: usize,
        mut gone: Dropped<P>,
    ) -> Dropped<P> {
        gone.packet.set_lane(lane);
        gone.out_of(all).out_of(own)
    }

    /// The next packet of the interval that somebody has, or when there is more to say; none if nobody has it anymore.
    fn serve(
        &mut self,
        now: Time,
        dropped: &mut dyn FnMut(Dropped<Q::Packet>),
    ) -> Option<Dequeued<Q::Packet>> {
        let grant = self.grant?;
        let user = grant.user;
        let loaded = self.load(user, now, dropped);
        let Some(sending) = self.users[user].sending.as_mut().filter(|_| loaded) else {
            return self.release(grant.used, grant.at(grant.used));
        };
        let needed = grant.used + sending.left;
        if needed > grant.capacity {
            if grant.end > now {
                return Some(Dequeued::NotBefore(grant.end));
            }
            sending.left -= grant.capacity - grant.used;
            return self.release(grant.capacity, grant.end);
        }
        let done = grant.at(needed);
        if done > now {
            return Some(Dequeued::NotBefore(done));
        }
        self.grant = Some(Grant { used: needed, ..grant });
        let User { queue, waiting: own, sending, .. } = &mut self.users[user];
        let Sending { packet, arrived, .. } = sending.take()?;
        own.uncount(packet.bytes());
        self.waiting.uncount(packet.bytes());
        let empty = own.packets == 0;
        queue.idle(now);
        if empty {
            self.release(needed, done);
        }
        Some(Dequeued::Packet(packet, arrived))
    }

    /// The interval is over for the user that has it, which got this much; what is left from `free` on is open to all.
    fn release(&mut self, used: u128, free: Time) -> Option<Dequeued<Q::Packet>> {
        if let Some(Grant { user, number, .. }) = self.grant.take() {
            self.scheduler.served(user, used);
            self.open = Some((number, free));
        }
        None
    }

    fn sending(&self, user: usize) -> Tally {
        let sending = self.users[user].sending.as_ref();
        sending.map_or(Tally::default(), |s| Tally { packets: 1, bytes: s.packet.bytes().get() })
    }
}

impl<Q: Qdisc, C: Classify<Q::Packet>, R: Channels> Qdisc for Cell<Q, C, R> {
    type Packet = Q::Packet;

    fn enqueue(
        &mut self,
        now: Time,
        mut packet: Q::Packet,
        dropped: &mut dyn FnMut(Dropped<Q::Packet>),
    ) -> Admission {
        self.advance(now);
        let lane = self.classify.leaf(&packet);
        assert!(lane < self.users.len(), "there is no user {lane}: a packet waits for one of the users");
        self.arrival_lane = lane;
        packet.set_lane(lane);
        if self.waiting.packets == 0 {
            // Intervals in which nothing waited have passed, and so has what was left of this one.
            self.open = None;
            self.next = self.next.max(self.first_from(now));
        }
        let size = packet.bytes();
        let User { queue, waiting: own, .. } = &mut self.users[lane];
        let all = &mut self.waiting;
        let admission = queue.enqueue(now, packet, &mut |gone| dropped(Self::gone((all, own), lane, gone)));
        if !matches!(admission, Admission::Dropped(_)) {
            own.count(size);
            all.count(size);
            self.users[lane].naps_until = Time::ZERO;
        }
        self.set_alarm(lane);
        admission
    }

    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(Dropped<Q::Packet>)) -> Dequeued<Q::Packet> {
        self.advance(now);
        self.idle(now);
        loop {
            if let Some(said) = self.serve(now, dropped) {
                return said;
            }
            if self.waiting.packets == 0 {
                return Dequeued::Nothing;
            }
            if let Some((number, free)) = self.open {
                let end = self.start_of(number + 1);
                if free < end && now < end {
                    if self.give((number, free.min(now)), now, dropped) {
                        continue;
                    }
                    // Some queue may have a packet before the end.
                    let nap = self.next_nap();
                    if nap > now && nap < end {
                        self.open = Some((number, nap));
                        return Dequeued::NotBefore(nap);
                    }
                }
                self.open = None;
            }
            let due = self.start_of(self.next);
            if due > now {
                return Dequeued::NotBefore(due);
            }
            self.open = Some((self.next, due));
            self.next += 1;
        }
    }

    fn idle(&mut self, since: Time) {
        if !core::mem::replace(&mut self.told, true) {
            let since = since.max(self.began);
            self.users.iter_mut().for_each(|user| user.queue.idle(since));
        }
    }

    /// Each user's updates are in order; those of different users do not see each other.
    #[inline]
    fn advance(&mut self, now: Time) {
        while let Some((_, user)) = self.updates.first().filter(|(due, _)| *due <= now) {
            self.users[user as usize].queue.advance(now);
            self.set_alarm(user as usize);
        }
    }

    #[inline]
    fn next_update(&self) -> Option<Time> {
        self.updates.first().map(|(due, _)| due)
    }

    fn counters(&self) -> Counters {
        (0..self.users.len()).filter_map(|user| self.lane_counters(user)).fold(self.before, |mut all, of| {
            all += of;
            all
        })
    }

    #[inline]
    fn arrival_lane(&self) -> usize {
        self.arrival_lane
    }

    fn lane_count(&self) -> usize {
        self.users.len()
    }

    fn lane_name(&self, lane: usize) -> Option<&str> {
        self.users.get(lane).map(|user| &*user.name)
    }

    fn lane_view(&self, lane: usize) -> Option<QueueView> {
        self.users.get(lane).map(|user| user.queue.view())
    }

    /// A packet of which a part has been sent has not departed.
    fn lane_counters(&self, lane: usize) -> Option<Counters> {
        let mut counters = self.users.get(lane)?.queue.counters();
        counters.departed = counters.departed - self.sending(lane);
        Some(counters)
    }

    /// All users together; the oldest head is looked for in each.
    fn view(&self) -> QueueView {
        let head = |user: &User<Q, Q::Packet>| {
            let sending = user.sending.as_ref().map(|sending| sending.arrived);
            [user.queue.view().head_since, sending].into_iter().flatten().min()
        };
        QueueView {
            packets: Packets::new(u32::try_from(self.waiting.packets).unwrap_or(u32::MAX)),
            bytes: Bytes::new(self.waiting.bytes),
            head_since: self.users.iter().filter_map(head).min(),
            link_rate: None,
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.waiting.packets == 0
    }

    /// Nothing: signals of the users' algorithms have the same names. [`Cell::user`] shows each.
    fn observe(&self, _: &mut dyn Probe) {}

    /// Nothing: rates are those of the channels.
    fn set_rate(&mut self, _: BitRate) {}

    /// Packets of which a part has been sent come with the others, whole.
    fn into_parts(self) -> (Vec<(Time, Q::Packet)>, Counters) {
        let counters = self.counters();
        let mut waiting = Vec::with_capacity(quell_units::index(self.waiting.packets));
        for user in self.users {
            waiting.extend(user.sending.map(|sending| (sending.arrived, sending.packet)));
            waiting.extend(user.queue.into_parts().0);
        }
        // Stable: each user keeps its order.
        waiting.sort_by_key(|(arrived, _)| *arrived);
        (waiting, counters)
    }

    /// Packets wait for the users to whom the new classification leads them. The counts of the users begin again.
    fn take_over(&mut self, now: Time, waiting: Vec<(Time, Q::Packet)>, counters: Counters) {
        self.began = now;
        self.before = counters;
        self.next = self.first_from(now);
        let mut shares: Vec<Vec<(Time, Q::Packet)>> = self.users.iter().map(|_| Vec::new()).collect();
        for (arrived, mut packet) in waiting {
            let lane = self.classify.leaf(&packet);
            packet.set_lane(lane);
            self.waiting.count(packet.bytes());
            self.users[lane].waiting.count(packet.bytes());
            shares[lane].push((arrived, packet));
        }
        for (lane, share) in shares.into_iter().enumerate() {
            self.users[lane].queue.take_over(now, share, Counters::default());
            self.set_alarm(lane);
        }
    }
}
