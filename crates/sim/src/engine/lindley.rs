//! A FIFO whose departures are computed at the arrivals (Lindley's recursion), so that it needs no
//! events: for algorithms that decide on arrival.

use std::collections::VecDeque;

use quell_aqm::{Aqm, Departures, Ecn, PacketMeta, QueueView};
use quell_queue::{Admission, Gate, Packet};
use quell_units::{BitRate, Bytes, Packets, Time};

use super::inbox::Entry;
use super::moving::{Gone, Moving};
use super::ring::Ring;
use crate::observe::{Departure, Observer};
use crate::outcome::LinkOutcome;
use crate::packet::Pkt;
use crate::wire::{Flight, Wire};

/// A link with a queue whose packets' fate is known when they arrive.
pub(super) trait ArrivalQueue: Send {
    /// Packets arrive; `classes` are those of the packets on each hop. Those that get to the other
    /// end of the link are added to `moving`.
    fn arrive(&mut self, entries: &[Entry], classes: &[u16], moving: &mut Vec<Moving>, gone: &mut Gone);
    /// Follows the queue to the end of the run, which departures at the end itself do not belong
    /// to, and gives what was measured, see [`Observer::finish`].
    fn finish(self: Box<Self>, end: Time) -> Option<(LinkOutcome, u64)>;
}

/// A packet whose transmission has not begun yet, as far as the queue has been followed.
#[derive(Clone, Copy)]
struct Waiting<T> {
    starts: Time,
    packet: Departure,
    ticket: T,
}

/// A packet that arrived at `at`, as algorithms see it.
#[inline(always)]
fn shown(pkt: Pkt, at: Time) -> PacketMeta {
    PacketMeta {
        bytes: Bytes::new(pkt.bytes() as u64),
        enqueued_at: at,
        flow: Packet::flow(&pkt),
        ecn: pkt.ecn(),
        transport: pkt.transport(),
        syn: Packet::is_syn(&pkt),
        dscp: pkt.dscp(),
        // Who tells hosts apart has a queue for each flow.
        hosts: Default::default(),
    }
}

/// A queue and its wire.
pub(super) struct LindleyQueue<A, O: Observer> {
    /// Bits of a [`Key`](super::inbox::Key) that hold the hop.
    bits: u32,
    wire: Wire,
    waiting: Ring<Waiting<O::Ticket>>,
    /// The time at which the first of them starts; [`Time::MAX`] if none waits.
    next_start: Time,
    /// The packets that wait, for an algorithm that watches departures.
    watched: Ring<Pkt>,
    bytes: u64,
    gate: Gate<A>,
    rate: BitRate,
    observer: O,
    /// The packets that wait for the end of an outage first: when each starts, and when the transmission
    /// before it ended.
    held: VecDeque<(Time, Time)>,
    /// The algorithm has been told of the idleness that holds since the wire's last transmission.
    idle_told: bool,
}

impl<A: Aqm, O: Observer> LindleyQueue<A, O> {
    pub fn new(bits: u32, wire: Wire, gate: Gate<A>, rate: BitRate, observer: O) -> Self {
        let watched = if gate.departures() == Departures::Watched { 64 } else { 1 };
        LindleyQueue {
            bits,
            wire,
            waiting: Ring::with_capacity(64),
            next_start: Time::MAX,
            watched: Ring::with_capacity(watched),
            bytes: 0,
            gate,
            rate,
            observer,
            held: VecDeque::new(),
            idle_told: false,
        }
    }

    #[inline]
    fn watches(&self) -> bool {
        self.gate.departures() == Departures::Watched
    }

    #[inline]
    fn view(&mut self, now: Time) -> QueueView {
        QueueView {
            packets: Packets::new(self.waiting.len()),
            bytes: Bytes::new(self.bytes),
            head_since: self.waiting.front().map(|w| w.packet.arrived),
            link_rate: Some(self.wire.told_rate(now).unwrap_or(self.rate)),
        }
    }

    /// Follows the queue up to `now`: boundaries of measurement before updates before departures at
    /// the same time, each at its own time.
    #[inline]
    fn advance(&mut self, now: Time) {
        if self.watches() {
            self.advance_watched(now);
        } else {
            while self.next_special() <= now {
                self.special();
            }
            while self.next_start <= now {
                self.depart();
            }
        }
        if !self.idle_told && self.wire.busy_until <= now {
            self.idle_told = true;
            self.gate.idle(self.wire.busy_until);
        }
    }

    /// [`LindleyQueue::advance`] for an algorithm that watches departures: each can move the next
    /// update, even to before the next departure.
    #[inline(never)]
    fn advance_watched(&mut self, now: Time) {
        loop {
            let special = self.next_special();
            if self.next_start < special && self.next_start <= now {
                self.depart();
            } else if special <= now {
                self.special();
            } else {
                return;
            }
        }
    }

    /// The transmission of the first packet begins.
    #[inline(always)]
    fn depart(&mut self) {
        let Some(Waiting { starts, packet, ticket }) = self.waiting.pop_front() else { return };
        self.next_start = self.waiting.front().map_or(Time::MAX, |next| next.starts);
        self.bytes -= packet.bytes as u64;
        self.observer.departed(starts, ticket, packet);
        if self.watches()
            && let Some(pkt) = self.watched.pop_front()
        {
            self.watch(starts, &packet, pkt);
        }
    }

    /// Shows a departure to an algorithm that watches them.
    #[inline]
    fn watch(&mut self, starts: Time, packet: &Departure, pkt: Pkt) {
        let view = self.view(starts);
        let mut meta = shown(pkt, packet.arrived);
        if packet.marked {
            meta.ecn = Ecn::Ce;
        }
        let admission = self.gate.depart(starts, view, &meta);
        debug_assert_eq!(admission, Admission::Queued, "who watches departures lets them pass");
    }

    /// The next update or boundary of measurement.
    #[inline]
    fn next_special(&self) -> Time {
        let update = self.gate.next_update().unwrap_or(Time::MAX);
        update.min(self.observer.next_mark())
    }

    /// The time at which the transmission under way ends, or the last one ended, as far as the queue has been followed.
    fn busy_until(&mut self) -> Time {
        // It ends when the next one begins, if a packet waits, and not for the end of an outage.
        let Some(Waiting { starts, .. }) = self.waiting.front() else { return self.wire.busy_until };
        while self.held.front().is_some_and(|(held, _)| *held < starts) {
            self.held.pop_front();
        }
        self.held.front().filter(|(held, _)| *held == starts).map_or(starts, |(_, ended)| *ended)
    }

    /// Transmits a packet from `free` on, or from when an outage ends.
    #[inline(never)]
    fn transmit_any(&mut self, free: Time, bytes: u16) -> Flight {
        let busy_until = self.wire.busy_until;
        let flight = self.wire.transmit_any(free, bytes);
        if flight.start > free {
            self.held.push_back((flight.start, busy_until));
        }
        flight
    }

    #[cold]
    fn special(&mut self) {
        let at = self.next_special();
        while self.next_start < at {
            self.depart();
        }
        if !self.idle_told && self.wire.busy_until < at {
            self.idle_told = true;
            self.gate.idle(self.wire.busy_until);
        }
        if self.observer.next_mark() == at {
            let busy_until = self.busy_until();
            let aqm = self.gate.aqm();
            self.observer.mark(&|out| aqm.observe(out), busy_until);
        } else {
            let view = self.view(at);
            self.gate.update(at, view);
        }
    }
}

impl<A: Aqm + Send, O: Observer + Send> ArrivalQueue for LindleyQueue<A, O> {
    fn arrive(&mut self, entries: &[Entry], classes: &[u16], moving: &mut Vec<Moving>, gone: &mut Gone) {
        for &(key, mut pkt) in entries {
            let (now, hop) = (key.time(self.bits), key.hop(self.bits));
            let class = classes[hop];
            self.advance(now);
            let meta = shown(pkt, now);
            let view = self.view(now);
            let admission = self.gate.arrive(now, view, &meta);
            let ticket = self.observer.ticket();
            self.observer.arrived(now, class, 0, pkt, admission);
            let marked = match admission {
                Admission::Dropped(_) => {
                    gone.dropped.push(pkt);
                    continue;
                }
                Admission::Marked => true,
                Admission::Queued => false,
            };
            let free = self.wire.start(now);
            let usual = self.wire.transmit_usual(free, pkt.bytes());
            let Flight { start: starts, arrives, lost, .. } = match usual {
                Some(arrives) => Flight { start: free, arrives, lost: false, copied: false },
                None => {
                    let flight = self.transmit_any(free, pkt.bytes());
                    if flight.copied {
                        // It moves on below.
                        gone.copied.push((flight.start, moving.len()));
                    }
                    flight
                }
            };
            let packet = Departure { arrived: now, class, lane: 0, bytes: pkt.bytes(), marked, lost };
            self.idle_told = false;
            if starts > now {
                self.bytes += pkt.bytes() as u64;
                self.next_start = self.next_start.min(starts);
                self.waiting.push_back(Waiting { starts, packet, ticket });
                self.observer.waits(now, pkt.bytes());
                if self.watches() {
                    self.watched.push_back(pkt);
                }
            } else {
                self.observer.passed(now, ticket, packet);
                if self.watches() {
                    self.watch(now, &packet, pkt);
                }
            }
            if lost {
                gone.lost.push((starts, pkt));
                continue;
            }
            if marked {
                pkt.set_ce();
            }
            moving.push(Moving { at: arrives, pkt, hop: hop as u32 + 1 });
        }
    }

    fn finish(mut self: Box<Self>, end: Time) -> Option<(LinkOutcome, u64)> {
        if self.watches() && end > Time::ZERO {
            self.advance_watched(Time::from_nanos(end.nanos() - 1));
        }
        while self.next_special() <= end {
            self.special();
        }
        self.observer.finish()
    }
}
