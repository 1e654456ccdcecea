//! A FIFO with an algorithm.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use quell_aqm::{Aqm, Probe, QueueView, Rng};
use quell_units::{BitRate, Bytes, Packets, Time};

use crate::counters::{Events, Tally};
use crate::gate::{Admission, Gate, Limit};
use crate::qdisc::meta;
use crate::{Counters, Dequeued, DropPoint, Dropped, Packet, Qdisc};

/// First in, first out, behind a [`Gate`].
#[derive(Clone, Debug)]
pub struct Fifo<P, A> {
    waiting: VecDeque<(Time, P)>,
    bytes: u64,
    gate: Gate<A>,
    events: Events,
    /// The link's rate, where the host knows it.
    rate: Option<BitRate>,
    /// The algorithm has been told of the idle period that holds.
    idle_told: bool,
    /// The time at which a drop at the head emptied the queue, or at which it began.
    emptied: Time,
}

impl<P: Packet, A: Aqm> Fifo<P, A> {
    /// An empty queue of at most `limit` whose signals mark ECN-capable packets if `marks`; `rate` is
    /// the link's, where the host knows it.
    pub fn new(aqm: A, rng: Rng, limit: Limit, marks: bool, rate: Option<BitRate>) -> Self {
        Fifo {
            waiting: VecDeque::new(),
            bytes: 0,
            gate: Gate::new(aqm, rng, limit, marks),
            events: Events::default(),
            rate,
            idle_told: false,
            emptied: Time::ZERO,
        }
    }

    /// The algorithm.
    pub fn aqm(&self) -> &A {
        self.gate.aqm()
    }

    /// Allocates for `packets` packets, so that a queue of no more never allocates.
    pub fn reserve(&mut self, packets: usize) {
        self.waiting.reserve(packets);
    }

    fn waiting(&self) -> Tally {
        Tally { packets: self.waiting.len() as u64, bytes: self.bytes }
    }

    #[inline]
    fn store(&mut self, arrived: Time, packet: P) {
        self.bytes += packet.bytes().get();
        self.waiting.push_back((arrived, packet));
        self.idle_told = false;
    }
}

impl<P: Packet, A: Aqm> Qdisc for Fifo<P, A> {
    type Packet = P;

    #[inline(always)]
    fn enqueue(&mut self, now: Time, mut packet: P, dropped: &mut dyn FnMut(Dropped<P>)) -> Admission {
        self.advance(now);
        let meta = meta(&packet, now);
        let admission = self.gate.arrive(now, self.view(), &meta);
        self.events.arrives(meta.bytes, meta.ecn);
        match admission {
            Admission::Dropped(cause) => {
                self.events.refused(meta.bytes, meta.ecn, cause);
                dropped(Dropped { packet, cause, place: DropPoint::Arrival });
                return admission;
            }
            Admission::Marked => {
                self.events.marked(meta.bytes);
                packet.set_ce();
            }
            Admission::Queued => {}
        }
        self.store(now, packet);
        admission
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(Dropped<P>)) -> Dequeued<P> {
        self.advance(now);
        while let Some((arrived, mut packet)) = self.waiting.pop_front() {
            self.bytes -= packet.bytes().get();
            let meta = meta(&packet, arrived);
            let admission = self.gate.depart(now, self.view(), &meta);
            match admission {
                Admission::Dropped(cause) => {
                    self.events.dropped(meta.bytes, meta.ecn, cause);
                    self.emptied = now;
                    dropped(Dropped { packet, cause, place: DropPoint::Head });
                    continue;
                }
                Admission::Marked => {
                    self.events.marked(meta.bytes);
                    packet.set_ce();
                }
                Admission::Queued => {}
            }
            return Dequeued::Packet(packet, arrived);
        }
        Dequeued::Nothing
    }

    #[inline]
    fn idle(&mut self, since: Time) {
        if !self.idle_told && self.waiting.is_empty() {
            self.idle_told = true;
            self.gate.idle(since.max(self.emptied));
        }
    }

    #[inline]
    fn advance(&mut self, now: Time) {
        // Between two operations the queue does not change, so an update that runs late sees what
        // it would have seen on time.
        while let Some(due) = self.gate.next_update().filter(|due| *due <= now) {
            self.gate.update(due, self.view());
        }
    }

    #[inline]
    fn next_update(&self) -> Option<Time> {
        self.gate.next_update()
    }

    fn counters(&self) -> Counters {
        self.events.counters(self.waiting())
    }

    #[inline]
    fn view(&self) -> QueueView {
        QueueView {
            packets: Packets::new(self.waiting.len() as u32),
            bytes: Bytes::new(self.bytes),
            head_since: self.waiting.front().map(|(t, _)| *t),
            link_rate: self.rate,
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.gate.aqm().observe(out);
    }

    fn set_rate(&mut self, rate: BitRate) {
        self.rate = Some(rate);
    }

    fn into_parts(self) -> (Vec<(Time, P)>, Counters) {
        let counters = self.counters();
        (self.waiting.into(), counters)
    }

    fn take_over(&mut self, now: Time, waiting: Vec<(Time, P)>, counters: Counters) {
        self.gate.start(now);
        self.emptied = now;
        for (arrived, packet) in waiting {
            self.gate.inherit(&meta(&packet, arrived));
            self.store(arrived, packet);
        }
        self.events = Events::after(&counters, self.waiting());
    }
}
