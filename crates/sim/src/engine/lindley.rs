//! A FIFO whose departures are computed at the arrivals (Lindley's recursion), so that it needs no
//! events: for algorithms that decide on arrival.

use quell_aqm::catalog::AnyAqm;
use quell_aqm::{FlowId, PacketMeta, QueueView};
use quell_queue::{Admission, Gate, Packet as _};
use quell_units::{BitRate, Bytes, Packets, Time};

use super::ring::Ring;
use crate::packet::Pkt;
use crate::record::{Departure, Recorder};
use crate::wire::{Flight, Wire};

/// A packet whose transmission has not begun yet, as far as the queue has been followed.
#[derive(Clone, Copy)]
struct Waiting {
    starts: Time,
    packet: Departure,
}

/// The queue before a [`Wire`].
pub(super) struct LindleyQueue {
    waiting: Ring<Waiting>,
    bytes: u64,
    gate: Gate<AnyAqm>,
    rate: BitRate,
    recorder: Option<Recorder>,
    /// The algorithm has been told of the idleness that holds since the wire's last transmission.
    idle_told: bool,
}

impl LindleyQueue {
    pub fn new(gate: Gate<AnyAqm>, rate: BitRate, recorder: Option<Recorder>) -> Self {
        LindleyQueue { waiting: Ring::with_capacity(64), bytes: 0, gate, rate, recorder, idle_told: false }
    }

    #[inline]
    fn view(&self, wire: &Wire, now: Time) -> QueueView {
        QueueView {
            packets: Packets::new(self.waiting.len()),
            bytes: Bytes::new(self.bytes),
            head_since: self.waiting.front().map(|w| w.packet.arrived),
            link_rate: Some(wire.scheduled_rate(now).unwrap_or(self.rate)),
        }
    }

    /// A packet arrives: what becomes of it, and its flight unless it is dropped.
    #[inline]
    pub fn arrive(
        &mut self,
        now: Time,
        class: u16,
        pkt: &Pkt,
        wire: &mut Wire,
    ) -> (Admission, Option<(Time, Flight)>) {
        self.advance(now, wire);
        let meta =
            PacketMeta { bytes: pkt.bytes(), enqueued_at: now, flow: FlowId(pkt.flow), ecn: pkt.ecn() };
        let admission = self.gate.arrive(now, self.view(wire, now), &meta);
        if let Some(recorder) = &mut self.recorder {
            recorder.arrived(now, class, pkt, admission);
        }
        if let Admission::Dropped(_) = admission {
            return (admission, None);
        }
        let starts = wire.start(now);
        let flight = wire.transmit(starts, pkt.bytes);
        self.idle_told = false;
        let marked = admission == Admission::Marked;
        let packet = Departure { arrived: now, class, bytes: pkt.bytes, marked, lost: flight.lost };
        self.bytes += pkt.bytes as u64;
        self.waiting.push_back(Waiting { starts, packet });
        if starts == now {
            self.depart_first();
        }
        (admission, Some((starts, flight)))
    }

    /// The head's transmission begins.
    #[inline]
    fn depart_first(&mut self) {
        if let Some(w) = self.waiting.pop_front() {
            self.bytes -= w.packet.bytes as u64;
            if let Some(recorder) = &mut self.recorder {
                recorder.departed(w.starts, w.packet);
            }
        }
    }

    /// Follows the queue up to `now`: boundaries of measurement before updates before departures at
    /// the same time, each at its own time.
    #[inline]
    pub fn advance(&mut self, now: Time, wire: &Wire) {
        while self.next_special() <= now {
            self.special(wire);
        }
        while self.waiting.front().is_some_and(|w| w.starts <= now) {
            self.depart_first();
        }
        if !self.idle_told && wire.busy_until <= now && self.waiting.is_empty() {
            self.idle_told = true;
            self.gate.idle(wire.busy_until);
        }
    }

    /// The next update or boundary of measurement.
    #[inline]
    fn next_special(&self) -> Time {
        let update = self.gate.next_update().unwrap_or(Time::MAX);
        self.recorder.as_ref().map_or(update, |r| update.min(r.next_mark()))
    }

    #[cold]
    fn special(&mut self, wire: &Wire) {
        let at = self.next_special();
        while self.waiting.front().is_some_and(|w| w.starts < at) {
            self.depart_first();
        }
        if !self.idle_told && wire.busy_until < at && self.waiting.is_empty() {
            self.idle_told = true;
            self.gate.idle(wire.busy_until);
        }
        match &mut self.recorder {
            Some(recorder) if recorder.next_mark() == at => {
                // The transmission under way ends when the next begins, if one waits.
                let busy_until = self.waiting.front().map_or(wire.busy_until, |w| w.starts);
                recorder.mark(self.gate.aqm(), busy_until);
            }
            _ => {
                let view = self.view(wire, at);
                self.gate.update(at, view);
            }
        }
    }

    /// Follows the queue to the end of the run, which departures at the end itself do not belong
    /// to, and gives the recorder up.
    pub fn finish(mut self, end: Time, wire: &Wire) -> Option<Recorder> {
        while self.next_special() <= end {
            self.special(wire);
        }
        self.recorder
    }
}
