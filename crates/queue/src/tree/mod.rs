//! Queues as leaves of a tree of classes: strict priority, DRR and HTB.

pub(crate) mod alarms;
mod plan;
mod ring;
mod scheduler;

use alloc::boxed::Box;
use alloc::vec::Vec;

use quell_aqm::{Probe, QueueView};
use quell_units::{BitRate, Bytes, Packets, Time};

pub use plan::{Class, Classifier, Classify, Limits, Match, Plan, Table, usual_quantum};

pub(crate) use self::alarms::Alarms;
use self::scheduler::Scheduler;
use crate::counters::Tally;
use crate::{Admission, Counters, Dequeued, Dropped, Packet, Qdisc, Refused};

/// Queues that share a link as the leaves of a tree of classes, each with any algorithm or discipline, shaped or not, or
/// a tree again.
///
/// Every class gets its rate if something waits in it. What the rates leave is lent by parents to children up to their
/// ceilings: to the lowest priority first, and among equals in turns of their quanta. [`Plan`] says how strict priority
/// and DRR follow from that.
///
/// The rules, and the order of turns, are those of Linux's htb without hysteresis; `conformance/linux` compares the two.
/// Differences:
/// - Tokens are exact ([`Bucket`](crate::Bucket)); Linux cuts times to nanoseconds, and tc cuts bursts to 64 ns.
/// - A leaf whose queue waits for a time of its own takes no turn until then; Linux warns, and goes on to the next.
/// - A leaf that its algorithm has emptied takes no turn.
/// - Classes that the tree cannot serve as asked are refused ([`Plan`]); tc corrects some and takes others.
/// - There may be classes without rates, and rates of zero.
///
/// Turns are paid for afterward, as in RFC 8290: a leaf sends while its deficit is not negative, because a packet's size
/// is known only once its algorithm has let it pass. Shreedhar and Varghese (1996) send while the packet at the head fits
/// what is left of the turn. The bound is the same: while two leaves with packets share turns, what they have sent
/// for each byte of their quanta differs by less than a turn and the largest packet.
///
/// Its lanes are the leaves, in the order of [`Plan::leaves`]. Those of a leaf's own discipline are not told apart.
/// A packet's cost does not depend on the number of classes: it is a few steps for each level above its leaf, and some
/// for each power of 64 in the number of siblings. Counts and views of the whole tree look at each leaf.
#[derive(Clone, Debug)]
pub struct Tree<Q: Qdisc, C> {
    classify: C,
    scheduler: Scheduler,
    leaves: Vec<Leaf<Q>>,
    /// What waits in all.
    waiting: Tally,
    /// When the leaves' updates are due, and when those that wait for a time of their own may be asked again.
    updates: Alarms,
    naps: Alarms,
    arrival_lane: usize,
    rate: Option<BitRate>,
    leaving: Leaving,
    /// The time at which its life began.
    began: Time,
    /// The counts of the queue that it took over from.
    before: Counters,
}

#[derive(Clone, Debug)]
struct Leaf<Q> {
    queue: Q,
    name: Box<str>,
    /// The most that it may get.
    ceil: Option<BitRate>,
    waiting: Tally,
}

/// The leaf whose packet has been in transmission since the link was last known to be idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    /// None has ever been, and no leaf's idleness has been told.
    Never,
    Nothing,
    Leaf(usize),
}

impl<Q: Qdisc, C: Classify<Q::Packet>> Tree<Q, C> {
    /// A tree with an empty queue in each leaf, which `queue` makes: it is given the class, and the rate that the
    /// queue is to know, if one is known: the lower of `rate`, the link's, and the class's ceiling.
    ///
    /// # Errors
    /// Of a plan that is not a tree: the class, the field, its value, the rule, and the fix.
    pub fn new(
        plan: &Plan,
        classify: C,
        rate: Option<BitRate>,
        mut queue: impl FnMut(&Class, Option<BitRate>) -> Q,
    ) -> Result<Self, Refused> {
        let checked = plan.check()?;
        let leaves: Vec<Leaf<Q>> = (checked.leaves.iter())
            .map(|number| {
                let class = &plan.classes[*number];
                let ceil = class.limits.map(|limits| limits.ceil);
                let queue = queue(class, [rate, ceil].into_iter().flatten().min());
                Leaf { queue, name: class.name.as_str().into(), ceil, waiting: Tally::default() }
            })
            .collect();
        let mut tree = Tree {
            classify,
            scheduler: Scheduler::new(plan, &checked),
            waiting: Tally::default(),
            updates: Alarms::new(leaves.len()),
            naps: Alarms::new(leaves.len()),
            leaves,
            arrival_lane: 0,
            rate,
            leaving: Leaving::Never,
            began: Time::ZERO,
            before: Counters::default(),
        };
        (0..tree.leaves.len()).for_each(|leaf| tree.set_alarm(leaf));
        Ok(tree)
    }

    /// The queue of a leaf.
    pub fn leaf(&self, leaf: usize) -> &Q {
        &self.leaves[leaf].queue
    }

    /// A leaf's next update may be another now.
    #[inline]
    fn set_alarm(&mut self, leaf: usize) {
        self.updates.set(leaf as u32, self.leaves[leaf].queue.next_update());
    }

    /// Leaves that have waited for a time of their own may be asked again.
    #[inline]
    fn wake(&mut self, now: Time) {
        while let Some(leaf) = self.naps.pop(now) {
            self.scheduler.activate(leaf as usize);
        }
    }

    /// What a leaf drops leaves with its lane, and is not among what waits anymore.
    #[inline]
    fn gone<P: Packet>(
        (all, own): (&mut Tally, &mut Tally),
        lane: usize,
        mut gone: Dropped<P>,
    ) -> Dropped<P> {
        gone.packet.set_lane(lane);
        gone.out_of(all).out_of(own)
    }

    /// Takes a packet out of a leaf.
    #[inline]
    fn take(
        &mut self,
        now: Time,
        lane: usize,
        dropped: &mut dyn FnMut(Dropped<Q::Packet>),
    ) -> Dequeued<Q::Packet> {
        let Leaf { queue, waiting: own, .. } = &mut self.leaves[lane];
        let all = &mut self.waiting;
        let mut taken = queue.dequeue(now, &mut |gone| dropped(Self::gone((all, own), lane, gone)));
        if let Dequeued::Packet(packet, _) = &mut taken {
            packet.set_lane(lane);
            own.uncount(packet.bytes());
            all.uncount(packet.bytes());
        }
        self.set_alarm(lane);
        taken
    }
}

impl<Q: Qdisc, C: Classify<Q::Packet>> Qdisc for Tree<Q, C> {
    type Packet = Q::Packet;

    fn enqueue(
        &mut self,
        now: Time,
        mut packet: Q::Packet,
        dropped: &mut dyn FnMut(Dropped<Q::Packet>),
    ) -> Admission {
        self.advance(now);
        let lane = self.classify.leaf(&packet);
        assert!(lane < self.leaves.len(), "there is no leaf {lane}: a packet waits in one of the leaves");
        self.arrival_lane = lane;
        packet.set_lane(lane);
        let size = packet.bytes();
        let Leaf { queue, waiting: own, .. } = &mut self.leaves[lane];
        let all = &mut self.waiting;
        let admission = queue.enqueue(now, packet, &mut |gone| dropped(Self::gone((all, own), lane, gone)));
        if !matches!(admission, Admission::Dropped(_)) {
            own.count(size);
            all.count(size);
            if !self.scheduler.is_active(lane) {
                self.naps.set(lane as u32, None);
                self.scheduler.activate(lane);
            }
        }
        self.set_alarm(lane);
        admission
    }

    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(Dropped<Q::Packet>)) -> Dequeued<Q::Packet> {
        self.advance(now);
        // The transmission before has ended.
        self.idle(now);
        self.wake(now);
        let mut until = Time::MAX;
        for nth in 0..self.scheduler.levels() {
            if self.waiting.packets == 0 {
                return Dequeued::Nothing;
            }
            until = until.min(self.scheduler.follow(nth, now));
            while let Some(turn @ (leaf, _)) = self.scheduler.turn(nth) {
                match self.take(now, leaf, dropped) {
                    Dequeued::Packet(packet, arrived) => {
                        let empty = self.leaves[leaf].waiting.packets == 0;
                        self.scheduler.sent(nth, turn, now, packet.bytes(), empty);
                        self.leaving = Leaving::Leaf(leaf);
                        return Dequeued::Packet(packet, arrived);
                    }
                    Dequeued::NotBefore(time) => {
                        self.scheduler.deactivate(leaf);
                        self.naps.set(leaf as u32, Some(time));
                    }
                    // All that waited was dropped at the head.
                    Dequeued::Nothing => {
                        self.scheduler.deactivate(leaf);
                        self.leaves[leaf].queue.idle(now);
                    }
                }
            }
        }
        match self.naps.first() {
            _ if self.waiting.packets == 0 => Dequeued::Nothing,
            nap => Dequeued::NotBefore(nap.map_or(until, |(time, _)| until.min(time))),
        }
    }

    fn idle(&mut self, since: Time) {
        match core::mem::replace(&mut self.leaving, Leaving::Nothing) {
            Leaving::Never => {
                let since = since.max(self.began);
                self.leaves.iter_mut().for_each(|leaf| leaf.queue.idle(since));
            }
            Leaving::Nothing => {}
            Leaving::Leaf(leaf) => self.leaves[leaf].queue.idle(since),
        }
    }

    /// Each leaf's updates are in order; those of different leaves do not see each other.
    #[inline]
    fn advance(&mut self, now: Time) {
        while let Some((_, leaf)) = self.updates.first().filter(|(due, _)| *due <= now) {
            self.leaves[leaf as usize].queue.advance(now);
            self.set_alarm(leaf as usize);
        }
    }

    #[inline]
    fn next_update(&self) -> Option<Time> {
        self.updates.first().map(|(due, _)| due)
    }

    fn counters(&self) -> Counters {
        self.leaves.iter().fold(self.before, |mut all, leaf| {
            all += leaf.queue.counters();
            all
        })
    }

    #[inline]
    fn arrival_lane(&self) -> usize {
        self.arrival_lane
    }

    fn lane_count(&self) -> usize {
        self.leaves.len()
    }

    fn lane_name(&self, lane: usize) -> Option<&str> {
        self.leaves.get(lane).map(|leaf| &*leaf.name)
    }

    fn lane_view(&self, lane: usize) -> Option<QueueView> {
        self.leaves.get(lane).map(|leaf| leaf.queue.view())
    }

    fn lane_counters(&self, lane: usize) -> Option<Counters> {
        self.leaves.get(lane).map(|leaf| leaf.queue.counters())
    }

    /// All leaves together; the oldest head is looked for in each.
    fn view(&self) -> QueueView {
        QueueView {
            packets: Packets::new(self.waiting.packets as u32),
            bytes: Bytes::new(self.waiting.bytes),
            head_since: self.leaves.iter().filter_map(|leaf| leaf.queue.view().head_since).min(),
            link_rate: self.rate,
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.waiting.packets == 0
    }

    /// Nothing: signals of the leaves have the same names. [`Tree::leaf`] shows each.
    fn observe(&self, _: &mut dyn Probe) {}

    /// Each leaf sees its ceiling, if the link is not slower.
    fn set_rate(&mut self, rate: BitRate) {
        self.rate = Some(rate);
        for leaf in &mut self.leaves {
            leaf.queue.set_rate(leaf.ceil.map_or(rate, |ceil| ceil.min(rate)));
        }
    }

    fn into_parts(self) -> (Vec<(Time, Q::Packet)>, Counters) {
        let counters = self.counters();
        let mut waiting = Vec::with_capacity(quell_units::index(self.waiting.packets));
        for leaf in self.leaves {
            waiting.extend(leaf.queue.into_parts().0);
        }
        // Stable: each leaf keeps its order.
        waiting.sort_by_key(|(arrived, _)| *arrived);
        (waiting, counters)
    }

    /// Packets wait in the leaves to which the new classes lead them. The counts of the leaves begin again, and buckets
    /// are full.
    fn take_over(&mut self, now: Time, waiting: Vec<(Time, Q::Packet)>, counters: Counters) {
        self.began = now;
        self.before = counters;
        let mut shares: Vec<Vec<(Time, Q::Packet)>> = self.leaves.iter().map(|_| Vec::new()).collect();
        for (arrived, mut packet) in waiting {
            let lane = self.classify.leaf(&packet);
            packet.set_lane(lane);
            self.waiting.count(packet.bytes());
            self.leaves[lane].waiting.count(packet.bytes());
            shares[lane].push((arrived, packet));
        }
        for (lane, share) in shares.into_iter().enumerate() {
            if !share.is_empty() {
                self.scheduler.activate(lane);
            }
            self.leaves[lane].queue.take_over(now, share, Counters::default());
            self.set_alarm(lane);
        }
    }
}
