//! A FIFO with an algorithm.

use alloc::collections::VecDeque;

use quell_aqm::{Aqm, Cause, PacketMeta, QueueView, Rng};
use quell_units::{BitRate, Bytes, Packets, Time};

use crate::Packet;
use crate::gate::{Admission, Gate, Limit};

/// A queueing discipline: what a host puts packets into and takes them out of.
pub trait Qdisc<P: Packet> {
    /// Offers a packet; says whether it was kept.
    fn enqueue(&mut self, now: Time, packet: P) -> Admission;
    /// Takes the next packet to send and the time at which it arrived. Packets the algorithm drops
    /// at the head are handed to `dropped` first.
    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(P, Cause)) -> Option<(P, Time)>;
    /// The link has nothing to send since `since`: the last transmission ended and nothing waits.
    fn idle(&mut self, since: Time);
    /// Runs every update due at or before `now`; a host that shows or samples the queue calls it.
    fn advance(&mut self, now: Time);
    /// When the next update is due.
    fn next_update(&self) -> Option<Time>;
    /// What happened so far.
    fn counters(&self) -> &Counters;
    /// The queue now.
    fn view(&self) -> QueueView;
}

/// What happened at a queue.
///
/// `arrived = enqueued + dropped_at_enqueue` and
/// `enqueued = departed + dropped_at_dequeue + (packets in the queue)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that came.
    pub arrived: u64,
    /// Packets that were stored.
    pub enqueued: u64,
    /// Packets dropped on arrival: early, forced or because the buffer was full.
    pub dropped_at_enqueue: u64,
    /// Of those, the ones the buffer had no room for.
    pub overflowed: u64,
    /// Packets dropped when they came to the head.
    pub dropped_at_dequeue: u64,
    /// Packets marked, on arrival or at the head.
    pub marked: u64,
    /// Packets that left.
    pub departed: u64,
}

impl Counters {
    /// Counts an arrival; says whether the packet is to be stored.
    pub(crate) fn arrival(&mut self, admission: Admission) -> bool {
        self.arrived += 1;
        if let Admission::Dropped(cause) = admission {
            self.dropped_at_enqueue += 1;
            self.overflowed += (cause == Cause::Overflow) as u64;
            return false;
        }
        self.marked += (admission == Admission::Marked) as u64;
        self.enqueued += 1;
        true
    }

    /// Counts a packet that leaves the head.
    pub(crate) fn head(&mut self, admission: Admission) {
        match admission {
            Admission::Dropped(_) => self.dropped_at_dequeue += 1,
            Admission::Marked => (self.departed, self.marked) = (self.departed + 1, self.marked + 1),
            Admission::Queued => self.departed += 1,
        }
    }
}

/// First in, first out, behind a [`Gate`].
#[derive(Clone, Debug)]
pub struct Fifo<P, A> {
    waiting: VecDeque<(Time, P)>,
    bytes: u64,
    gate: Gate<A>,
    counters: Counters,
    /// The link's rate, where the host knows it.
    rate: Option<BitRate>,
}

impl<P: Packet, A: Aqm> Fifo<P, A> {
    /// An empty queue.
    pub fn new(aqm: A, rng: Rng, limit: Limit, marks: bool, rate: Option<BitRate>) -> Self {
        let gate = Gate::new(aqm, rng, limit, marks);
        Fifo { waiting: VecDeque::new(), bytes: 0, gate, counters: Counters::default(), rate }
    }

    /// The algorithm.
    pub fn aqm(&self) -> &A {
        self.gate.aqm()
    }

    /// Tells the algorithm's view of the link's rate from now on.
    pub fn set_rate(&mut self, rate: BitRate) {
        self.rate = Some(rate);
    }
}

pub(crate) fn meta<P: Packet>(packet: &P, enqueued_at: Time) -> PacketMeta {
    PacketMeta {
        bytes: packet.bytes(),
        enqueued_at,
        flow: packet.flow(),
        ecn: packet.ecn(),
        syn: packet.is_syn(),
        precedence: packet.precedence(),
    }
}

impl<P: Packet, A: Aqm> Qdisc<P> for Fifo<P, A> {
    fn enqueue(&mut self, now: Time, mut packet: P) -> Admission {
        self.advance(now);
        let admission = self.gate.arrive(now, self.view(), &meta(&packet, now));
        if !self.counters.arrival(admission) {
            return admission;
        }
        if admission == Admission::Marked {
            packet.set_ce();
        }
        self.bytes += packet.bytes().get();
        self.waiting.push_back((now, packet));
        admission
    }

    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(P, Cause)) -> Option<(P, Time)> {
        self.advance(now);
        while let Some((enqueued_at, mut packet)) = self.waiting.pop_front() {
            self.bytes -= packet.bytes().get();
            let admission = self.gate.depart(now, self.view(), &meta(&packet, enqueued_at));
            self.counters.head(admission);
            match admission {
                Admission::Dropped(cause) => {
                    dropped(packet, cause);
                    continue;
                }
                Admission::Marked => packet.set_ce(),
                Admission::Queued => {}
            }
            return Some((packet, enqueued_at));
        }
        None
    }

    fn idle(&mut self, since: Time) {
        self.gate.idle(since);
    }

    fn advance(&mut self, now: Time) {
        // Between two operations the queue does not change, so an update that runs late sees what
        // it would have seen on time.
        while let Some(due) = self.gate.next_update().filter(|due| *due <= now) {
            self.gate.update(due, self.view());
        }
    }

    fn next_update(&self) -> Option<Time> {
        self.gate.next_update()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn view(&self) -> QueueView {
        QueueView {
            packets: Packets::new(self.waiting.len() as u32),
            bytes: Bytes::new(self.bytes),
            head_since: self.waiting.front().map(|(t, _)| *t),
            link_rate: self.rate,
        }
    }
}
