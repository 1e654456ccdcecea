//! The queue of a link, whatever the link has: one queue or a tree of them, with a shaper or without.

use alloc::boxed::Box;
use alloc::vec::Vec;

use quell_aqm::{Probe, QueueView};
use quell_units::{BitRate, Time};

use crate::{Admission, Classify, Counters, Dequeued, Dropped, Qdisc, Shaped, Shaper, Tree};

/// A queue whose kind is found by dispatch. `Q` is a queue or a leaf, and `C` leads packets to leaves.
pub enum Waiting<Q: Qdisc, C: Classify<Q::Packet>> {
    /// One queue.
    One(Box<Q>),
    /// The leaves of a tree.
    Tree(Box<Tree<Q, C>>),
    /// One queue behind a shaper.
    Shaped(Box<Shaped<Q>>),
    /// The leaves of a tree behind a shaper.
    ShapedTree(Box<Shaped<Tree<Q, C>>>),
}

impl<Q: Qdisc, C: Classify<Q::Packet>> Waiting<Q, C> {
    /// One queue, behind a shaper if there is one.
    pub fn one(queue: Q, shaper: Option<&Shaper>) -> Self {
        match shaper {
            Some(shaper) => Waiting::Shaped(Box::new(Shaped::new(queue, shaper))),
            None => Waiting::One(Box::new(queue)),
        }
    }

    /// A tree, behind a shaper if there is one.
    pub fn tree(tree: Tree<Q, C>, shaper: Option<&Shaper>) -> Self {
        match shaper {
            Some(shaper) => Waiting::ShapedTree(Box::new(Shaped::new(tree, shaper))),
            None => Waiting::Tree(Box::new(tree)),
        }
    }
}

macro_rules! each {
    ($self:expr, $q:ident => $body:expr) => {
        match $self {
            Waiting::One($q) => $body,
            Waiting::Tree($q) => $body,
            Waiting::Shaped($q) => $body,
            Waiting::ShapedTree($q) => $body,
        }
    };
}

impl<Q: Qdisc, C: Classify<Q::Packet>> Qdisc for Waiting<Q, C> {
    type Packet = Q::Packet;

    fn enqueue(
        &mut self,
        now: Time,
        packet: Q::Packet,
        dropped: &mut dyn FnMut(Dropped<Q::Packet>),
    ) -> Admission {
        each!(self, q => q.enqueue(now, packet, dropped))
    }
    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(Dropped<Q::Packet>)) -> Dequeued<Q::Packet> {
        each!(self, q => q.dequeue(now, dropped))
    }
    fn idle(&mut self, since: Time) {
        each!(self, q => q.idle(since))
    }
    fn advance(&mut self, now: Time) {
        each!(self, q => q.advance(now))
    }
    fn next_update(&self) -> Option<Time> {
        each!(self, q => q.next_update())
    }
    fn counters(&self) -> Counters {
        each!(self, q => q.counters())
    }
    fn arrival_lane(&self) -> usize {
        each!(self, q => q.arrival_lane())
    }
    fn lane_names(&self) -> &'static [&'static str] {
        each!(self, q => q.lane_names())
    }
    fn lane_count(&self) -> usize {
        each!(self, q => q.lane_count())
    }
    fn lane_name(&self, lane: usize) -> Option<&str> {
        each!(self, q => q.lane_name(lane))
    }
    fn lane_view(&self, lane: usize) -> Option<QueueView> {
        each!(self, q => q.lane_view(lane))
    }
    fn lane_counters(&self, lane: usize) -> Option<Counters> {
        each!(self, q => q.lane_counters(lane))
    }
    fn view(&self) -> QueueView {
        each!(self, q => q.view())
    }
    fn is_empty(&self) -> bool {
        each!(self, q => q.is_empty())
    }
    fn observe(&self, out: &mut dyn Probe) {
        each!(self, q => q.observe(out))
    }
    fn set_rate(&mut self, rate: BitRate) {
        each!(self, q => q.set_rate(rate))
    }
    fn into_parts(self) -> (Vec<(Time, Q::Packet)>, Counters) {
        match self {
            Waiting::One(q) => q.into_parts(),
            Waiting::Tree(q) => q.into_parts(),
            Waiting::Shaped(q) => q.into_parts(),
            Waiting::ShapedTree(q) => q.into_parts(),
        }
    }
    fn take_over(&mut self, now: Time, waiting: Vec<(Time, Q::Packet)>, counters: Counters) {
        each!(self, q => q.take_over(now, waiting, counters))
    }
}
