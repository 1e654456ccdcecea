//! A link that is served by events: each transmission begins when the one before has ended. The
//! reference engine's only kind, and the fast engine's for queues whose departures are decided.

use quell_aqm::catalog::{AnyAqm, AnyDiscipline};
use quell_aqm::{Ecn, FlowId, Transport};
use quell_queue::{Admission, Dropped, Host, Line, Packet, Place, Qdisc, Queue, Sent};
use quell_units::{BitRate, Bytes, Time};

use crate::network::{Schedule, ToCome};
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
    fn dscp(&self) -> u8 {
        Packet::dscp(&self.pkt)
    }
    fn transport(&self) -> Transport {
        self.pkt.transport()
    }
}

/// A packet that has left a link's queue.
pub(super) enum Left {
    /// Its transmission began at this time.
    Sent(Time, Pkt, Flight),
    /// It was dropped.
    Dropped(Pkt),
}

/// A [`Line`], the wire behind it and whoever measures it.
pub(super) struct ServedLink {
    line: Line<Queue<Queued, AnyAqm, AnyDiscipline>>,
    wire: Wire,
    /// Changes of the rate that are still to come.
    rates: ToCome<BitRate>,
    recorder: Option<Recorder>,
}

/// Takes what leaves the line over the wire and to the engine.
struct Beyond<'a, F> {
    wire: &'a mut Wire,
    recorder: &'a mut Option<Recorder>,
    /// The arrival at hand.
    arriving: Option<(u16, Pkt)>,
    left: F,
}

impl<F: FnMut(Left)> Host<Queued> for Beyond<'_, F> {
    fn arrived(&mut self, now: Time, admission: Admission) {
        if let (Some(recorder), Some((class, pkt))) = (&mut self.recorder, self.arriving) {
            recorder.arrived(now, class, pkt, admission);
            if !matches!(admission, Admission::Dropped(_)) {
                recorder.waits(now, pkt.bytes());
            }
        }
    }

    fn sent(&mut self, Sent { packet, arrived, start, .. }: Sent<Queued>) {
        let Queued { pkt, class, marked } = packet;
        let flight = self.wire.transmit(start, pkt.bytes());
        if let Some(recorder) = &mut self.recorder {
            let departure = Departure { arrived, class, bytes: pkt.bytes(), marked, lost: flight.lost };
            recorder.departed(start, departure);
        }
        (self.left)(Left::Sent(start, pkt, flight));
    }

    fn dropped(&mut self, now: Time, Dropped { packet, cause, place }: Dropped<Queued>) {
        let Queued { pkt, class, .. } = packet;
        if let (Some(recorder), Place::Head | Place::Waiting) = (&mut self.recorder, place) {
            recorder.dropped_from_queue(now, class, pkt.bytes(), cause);
        }
        (self.left)(Left::Dropped(pkt));
    }
}

impl ServedLink {
    pub fn new(
        queue: Queue<Queued, AnyAqm, AnyDiscipline>,
        rate: &Schedule<BitRate>,
        wire: Wire,
        recorder: Option<Recorder>,
    ) -> Self {
        ServedLink { line: Line::new(queue, rate.initial), wire, rates: rate.to_come(), recorder }
    }

    /// When the next packet leaves, if one waits; while the rate is zero, when that changes.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        match self.line.next_departure() {
            None if self.line.stopped() && !self.line.queue().is_empty() => Some(self.rates.due()),
            next => next,
        }
    }

    /// A packet arrives.
    pub fn arrive(&mut self, now: Time, class: u16, pkt: Pkt, mut left: impl FnMut(Left)) {
        self.follow(now, &mut left);
        let ServedLink { line, wire, recorder, .. } = self;
        let mut beyond = Beyond { wire, recorder, arriving: Some((class, pkt)), left };
        let _ = line.arrive(now, Queued { pkt, class, marked: false }, &mut beyond);
    }

    /// Does what is due at or before `now`.
    pub fn run(&mut self, now: Time, mut left: impl FnMut(Left)) {
        self.follow(now, &mut left);
        let ServedLink { line, wire, recorder, .. } = self;
        line.run(now, &mut Beyond { wire, recorder, arriving: None, left });
    }

    /// Changes of the rate, and boundaries of measurement, at or before `now`: each at its own time,
    /// before everything else that happens then.
    #[inline]
    fn follow(&mut self, now: Time, left: &mut impl FnMut(Left)) {
        loop {
            let change = self.rates.due();
            let mark = self.recorder.as_ref().map_or(Time::MAX, |r| r.next_mark());
            let at = change.min(mark);
            if at > now {
                return;
            }
            let ServedLink { line, wire, rates, recorder } = &mut *self;
            let mut beyond = Beyond { wire, recorder, arriving: None, left: &mut *left };
            if change == at {
                if let Some(rate) = rates.pop() {
                    line.set_rate(at, rate, &mut beyond);
                }
                continue;
            }
            line.run_before(at, &mut beyond);
            if let Some(recorder) = recorder {
                recorder.mark(|out| line.queue().observe(out), line.busy_until());
            }
        }
    }

    /// Follows the queue to the end of the run, which nothing that happens at the end itself belongs
    /// to, and gives up the recorder and how many packets wait.
    pub fn finish(mut self, end: Time, mut left: impl FnMut(Left)) -> (Option<Recorder>, u64) {
        self.follow(end, &mut left);
        let waiting = self.line.queue().view().packets.get();
        (self.recorder, u64::from(waiting))
    }
}
