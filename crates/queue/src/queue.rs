//! The queue that an algorithm needs.

use quell_aqm::{Aqm, Cause, QueueView, Rng};
use quell_units::{BitRate, Time};

use crate::gate::{Admission, Limit};
use crate::{Counters, Fifo, Packet, Parallel, Qdisc};

/// A [`Fifo`], or [`Parallel`] FIFOs for an algorithm that has lanes.
#[derive(Clone, Debug)]
pub enum Queue<P, A> {
    /// One FIFO.
    Fifo(Fifo<P, A>),
    /// Several in one buffer.
    Parallel(Parallel<P, A>),
}

macro_rules! either {
    ($self:expr, $q:ident => $body:expr) => {
        match $self {
            Queue::Fifo($q) => $body,
            Queue::Parallel($q) => $body,
        }
    };
}

impl<P: Packet, A: Aqm> Queue<P, A> {
    /// An empty queue of at most `limit` whose signals mark ECN-capable packets if `marks`.
    pub fn new(mut aqm: A, rng: Rng, limit: Limit, marks: bool, rate: Option<BitRate>) -> Self {
        match aqm.lanes() {
            None => Queue::Fifo(Fifo::new(aqm, rng, limit, marks, rate)),
            Some(_) => Queue::Parallel(Parallel::new(aqm, rng, limit, marks, rate)),
        }
    }

    /// The algorithm.
    pub fn aqm(&self) -> &A {
        either!(self, q => q.aqm())
    }

    /// Tells the algorithm's view of the link's rate from now on.
    pub fn set_rate(&mut self, rate: BitRate) {
        either!(self, q => q.set_rate(rate))
    }
}

impl<P: Packet, A: Aqm> Qdisc<P> for Queue<P, A> {
    fn enqueue(&mut self, now: Time, packet: P) -> Admission {
        either!(self, q => q.enqueue(now, packet))
    }
    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(P, Cause)) -> Option<(P, Time)> {
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
    fn counters(&self) -> &Counters {
        either!(self, q => q.counters())
    }
    fn view(&self) -> QueueView {
        either!(self, q => q.view())
    }
}
