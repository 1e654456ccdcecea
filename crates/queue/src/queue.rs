//! The queue that an algorithm or a discipline needs.

use alloc::vec::Vec;

use quell_aqm::{Algorithm, Aqm, Discipline, Probe, QueueView, Rng};
use quell_units::{BitRate, Time};

use crate::gate::{Admission, Limit};
use crate::{Counters, Dequeued, Dropped, Fifo, Packet, Parallel, Qdisc};

/// A [`Fifo`] for an algorithm, or [`Parallel`] FIFOs for a discipline.
#[derive(Clone, Debug)]
pub enum Queue<P, A, D> {
    /// One FIFO.
    Fifo(Fifo<P, A>),
    /// Several in one buffer.
    Parallel(Parallel<P, D>),
}

macro_rules! either {
    ($self:expr, $q:ident => $body:expr) => {
        match $self {
            Queue::Fifo($q) => $body,
            Queue::Parallel($q) => $body,
        }
    };
}

impl<P: Packet, A: Aqm, D: Discipline> Queue<P, A, D> {
    /// An empty queue of at most `limit` whose signals mark ECN-capable packets if `marks`; `rate` is
    /// the link's, where the host knows it.
    pub fn new(
        algorithm: Algorithm<A, D>,
        rng: Rng,
        limit: Limit,
        marks: bool,
        rate: Option<BitRate>,
    ) -> Self {
        match algorithm {
            Algorithm::Aqm(aqm) => Queue::Fifo(Fifo::new(aqm, rng, limit, marks, rate)),
            Algorithm::Discipline(d) => Queue::Parallel(Parallel::new(d, rng, limit, marks, rate)),
        }
    }

    /// Allocates for `packets` packets, so that a queue of no more never allocates.
    pub fn reserve(&mut self, packets: usize) {
        either!(self, q => q.reserve(packets))
    }
}

impl<P: Packet, A: Aqm, D: Discipline> Qdisc for Queue<P, A, D> {
    type Packet = P;

    fn enqueue(&mut self, now: Time, packet: P, dropped: &mut dyn FnMut(Dropped<P>)) -> Admission {
        either!(self, q => q.enqueue(now, packet, dropped))
    }
    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(Dropped<P>)) -> Dequeued<P> {
        either!(self, q => q.dequeue(now, dropped))
    }
    fn idle(&mut self, since: Time) {
        either!(self, q => q.idle(since))
    }
    fn advance(&mut self, now: Time) {
        either!(self, q => q.advance(now))
    }
    fn next_update(&self) -> Option<Time> {
        either!(self, q => q.next_update())
    }
    fn counters(&self) -> Counters {
        either!(self, q => q.counters())
    }
    fn arrival_lane(&self) -> usize {
        either!(self, q => q.arrival_lane())
    }
    fn lane_names(&self) -> &'static [&'static str] {
        either!(self, q => q.lane_names())
    }
    fn lane_count(&self) -> usize {
        either!(self, q => q.lane_count())
    }
    fn lane_name(&self, lane: usize) -> Option<&str> {
        either!(self, q => q.lane_name(lane))
    }
    fn lane_view(&self, lane: usize) -> Option<QueueView> {
        either!(self, q => q.lane_view(lane))
    }
    fn lane_counters(&self, lane: usize) -> Option<Counters> {
        either!(self, q => q.lane_counters(lane))
    }
    fn view(&self) -> QueueView {
        either!(self, q => q.view())
    }
    fn is_empty(&self) -> bool {
        either!(self, q => q.is_empty())
    }
    fn observe(&self, out: &mut dyn Probe) {
        either!(self, q => q.observe(out))
    }
    fn set_rate(&mut self, rate: BitRate) {
        either!(self, q => q.set_rate(rate))
    }
    fn into_parts(self) -> (Vec<(Time, P)>, Counters) {
        either!(self, q => q.into_parts())
    }
    fn take_over(&mut self, now: Time, waiting: Vec<(Time, P)>, counters: Counters) {
        either!(self, q => q.take_over(now, waiting, counters))
    }
}
