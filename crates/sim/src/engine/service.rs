//! A queue that is served by events: it owns its packets, and each transmission begins when the one
//! before has ended. The reference engine's only kind, and the fast engine's for algorithms that
//! decide at the head.

use quell_aqm::catalog::AnyAqm;
use quell_aqm::{Cause, Ecn, FlowId, Transport};
use quell_queue::{Admission, Packet, Qdisc, Queue};
use quell_units::{Bytes, Time};

use crate::packet::Pkt;
use crate::record::{Departure, Recorder};
use crate::wire::{Flight, Wire};

/// A packet with its class and whether this queue marked it.
#[derive(Clone, Copy)]
pub(super) struct Queued {
    pkt: Pkt,
    class: u16,
    marked: bool,
}

impl Packet for Queued {
    fn bytes(&self) -> Bytes {
        Packet::bytes(&self.pkt)
    }
    fn ecn(&self) -> Ecn {
        self.pkt.ecn()
    }
    fn set_ce(&mut self) {
        self.pkt.set_ce();
        self.marked = true;
    }
    fn flow(&self) -> FlowId {
        Packet::flow(&self.pkt)
    }
    fn is_syn(&self) -> bool {
        Packet::is_syn(&self.pkt)
    }
    fn precedence(&self) -> u8 {
        Packet::precedence(&self.pkt)
    }
    fn transport(&self) -> Transport {
        self.pkt.transport()
    }
}

/// The queue before a [`Wire`].
pub(super) struct ServiceQueue {
    queue: Queue<Queued, AnyAqm>,
    recorder: Option<Recorder>,
    /// The algorithm has been told of the idleness that holds since the wire's last transmission.
    idle_told: bool,
}

impl ServiceQueue {
    pub fn new(queue: Queue<Queued, AnyAqm>, recorder: Option<Recorder>) -> Self {
        ServiceQueue { queue, recorder, idle_told: false }
    }

    /// A packet arrives. If it is kept and the wire is free, [`ServiceQueue::serve`] comes next.
    pub fn arrive(&mut self, now: Time, class: u16, pkt: Pkt, wire: &Wire) -> Admission {
        self.advance(now, wire);
        if wire.busy_until <= now {
            self.tell_idle(wire);
        }
        let admission = self.queue.enqueue(now, Queued { pkt, class, marked: false });
        if let Some(recorder) = &mut self.recorder {
            recorder.arrived(now, class, pkt, admission);
            if !matches!(admission, Admission::Dropped(_)) {
                recorder.waits(now, pkt.bytes());
            }
        }
        admission
    }

    /// The wire is free at `now`: the next packet begins, if one waits. Those that the algorithm
    /// drops at the head go to `dropped`.
    pub fn serve(
        &mut self,
        now: Time,
        wire: &mut Wire,
        mut dropped: impl FnMut(Pkt),
    ) -> Option<(Pkt, Flight)> {
        self.advance(now, wire);
        let recorder = &mut self.recorder;
        let mut lose = |q: Queued, cause: Cause| {
            dropped(q.pkt);
            if let Some(recorder) = recorder {
                recorder.dropped_at_head(now, q.class, q.pkt.bytes(), cause);
            }
        };
        let (head, arrived) = self.queue.dequeue(now, &mut lose)?;
        let flight = wire.transmit(now, head.pkt.bytes());
        if let Some(recorder) = &mut self.recorder {
            let Queued { pkt, class, marked } = head;
            recorder
                .departed(now, Departure { arrived, class, bytes: pkt.bytes(), marked, lost: flight.lost });
        }
        self.idle_told = false;
        Some((head.pkt, flight))
    }

    fn tell_idle(&mut self, wire: &Wire) {
        if !self.idle_told && self.queue.view().packets.get() == 0 {
            self.idle_told = true;
            self.queue.idle(wire.busy_until);
        }
    }

    /// Does what is due at or before `now`: boundaries of measurement before updates at the same
    /// time, each at its own time.
    fn advance(&mut self, now: Time, wire: &Wire) {
        loop {
            let update = self.queue.next_update().unwrap_or(Time::MAX);
            let mark = self.recorder.as_ref().map_or(Time::MAX, |r| r.next_mark());
            let at = update.min(mark);
            if at > now {
                break;
            }
            if wire.busy_until < at {
                self.tell_idle(wire);
            }
            if let Some(rate) = wire.scheduled_rate(at) {
                self.queue.set_rate(rate);
            }
            match &mut self.recorder {
                Some(recorder) if mark == at => recorder.mark(self.queue.aqm(), wire.busy_until),
                _ => self.queue.advance(at),
            }
        }
        if let Some(rate) = wire.scheduled_rate(now) {
            self.queue.set_rate(rate);
        }
    }

    /// Packets that wait.
    pub fn len(&self) -> usize {
        self.queue.view().packets.get() as usize
    }

    /// Follows the queue to the end of the run and gives the recorder up.
    pub fn finish(mut self, end: Time, wire: &Wire) -> Option<Recorder> {
        self.advance(end, wire);
        self.recorder
    }
}
