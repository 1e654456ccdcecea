//! A link that is served by events: each transmission begins when the one before has ended. The
//! reference engine's only kind, and the fast engine's for queues whose departures are decided.

use std::sync::Arc;

use quell_aqm::{Acknowledgment, Ecn, FlowId, Hosts, Transport};
use quell_queue::{Admission, DropPoint, Dropped, Host, Line, Packet, Qdisc, Sent, ToCome};
use quell_units::{BitRate, Bytes, Time};

use super::inbox::Entry;
use super::moving::{Gone, Moving};
use crate::network::{Network, Schedule};
use crate::observe::{Departure, EarlyEnd, Observer};
use crate::outcome::LinkOutcome;
use crate::packet::Pkt;
use crate::wire::{Flight, Wire};

/// A packet with its class, what its engine calls the hop by which it came, whether this queue marked it, and what
/// the queue's observer knows it by.
#[derive(Clone, Copy)]
pub(super) struct Queued<T> {
    pkt: Pkt,
    hop: u32,
    class: u16,
    hosts: Hosts,
    marked: bool,
    /// The lane of the discipline, if it has a name; else the largest number.
    lane: u8,
    ticket: T,
}

impl<T> Queued<T> {
    /// The number of its flow in the network.
    #[inline]
    pub fn number_of_flow(&self) -> u32 {
        self.pkt.flow()
    }

    /// Says whether it goes back to its flow's sender.
    #[inline]
    pub fn is_ack(&self) -> bool {
        self.pkt.is_ack()
    }
}

impl<T> Packet for Queued<T> {
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
    #[inline]
    fn set_lane(&mut self, lane: usize) {
        self.lane = lane_number(lane);
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
    fn acknowledgment(&self) -> Option<Acknowledgment> {
        self.pkt.acknowledgment()
    }
    fn wash(&mut self) {
        Packet::wash(&mut self.pkt);
    }
    fn hosts(&self) -> Hosts {
        self.hosts
    }
    fn transport(&self) -> Transport {
        self.pkt.transport()
    }
}

/// A lane's number in records; lanes beyond have no name.
#[inline]
fn lane_number(lane: usize) -> u8 {
    u8::try_from(lane).unwrap_or(u8::MAX)
}

/// A packet that has left a link's queue.
pub(super) enum Left {
    /// It came by this hop, and its transmission began.
    Sent(u32, Pkt, Flight),
    /// It was dropped.
    Dropped(Pkt),
}

/// The receiver of what leaves a link's queue.
pub(super) trait Way {
    fn take(&mut self, left: Left);
}

impl Way for Vec<Left> {
    fn take(&mut self, left: Left) {
        self.push(left);
    }
}

/// A [`Line`], the wire behind it and what measures it.
pub(super) struct ServedLink<Q, O> {
    line: Line<Q>,
    wire: Wire,
    /// Changes of the rate that are still to come.
    rates: ToCome<BitRate>,
    observer: O,
    hosts: HostsOfFlows,
}

/// The hosts between which each flow travels; empty if nobody knows of any.
pub(super) type HostsOfFlows = Arc<[Hosts]>;

/// Those of a network.
pub(super) fn hosts_of_flows(network: &Network) -> HostsOfFlows {
    let hosts = || network.flows.iter().map(|flow| flow.hosts);
    if hosts().any(|hosts| hosts != Hosts::default()) { hosts().collect() } else { Arc::new([]) }
}

/// The hosts between which a packet travels.
fn hosts_of(pkt: Pkt, flows: &[Hosts]) -> Hosts {
    let hosts = flows.get(pkt.flow() as usize).copied().unwrap_or_default();
    match pkt.is_ack() {
        true => Hosts { source: hosts.destination, destination: hosts.source },
        false => hosts,
    }
}

/// Takes what leaves the line over the wire and to the engine.
struct Beyond<'a, O, W> {
    wire: &'a mut Wire,
    observer: &'a mut O,
    way: &'a mut W,
}

impl<O: Observer, W: Way> Host<Queued<O::Ticket>> for Beyond<'_, O, W> {
    #[inline(always)]
    fn sent(&mut self, Sent { packet, arrived, start, .. }: Sent<Queued<O::Ticket>>) {
        let Queued { pkt, hop, class, marked, lane, ticket, .. } = packet;
        let flight = self.wire.transmit(start, pkt.bytes());
        let departure = Departure { arrived, class, lane, bytes: pkt.bytes(), marked, lost: flight.lost };
        self.observer.departed(start, ticket, departure);
        self.way.take(Left::Sent(hop, pkt, flight));
    }

    fn dropped(&mut self, now: Time, Dropped { packet, cause, place }: Dropped<Queued<O::Ticket>>) {
        let Queued { pkt, class, lane, ticket, .. } = packet;
        if let DropPoint::Head | DropPoint::Waiting = place {
            let packet = EarlyEnd { class, lane, pkt, cause, place };
            self.observer.dropped_from_queue(now, ticket, packet);
        }
        self.way.take(Left::Dropped(pkt));
    }
}

impl<Q: Qdisc<Packet = Queued<O::Ticket>>, O: Observer> ServedLink<Q, O> {
    pub fn new(queue: Q, rate: &Schedule<BitRate>, wire: Wire, observer: O, hosts: HostsOfFlows) -> Self {
        ServedLink { line: Line::new(queue, rate.initial), wire, rates: rate.to_come(), observer, hosts }
    }

    /// The time at which the next packet leaves, if one waits; while the rate is zero, when that changes.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        match self.line.next_departure() {
            None if self.line.stopped() && !self.line.queue().is_empty() => Some(self.rates.due()),
            next => next,
        }
    }

    /// A packet arrives.
    #[inline]
    pub fn arrive(&mut self, now: Time, (hop, class): (u32, u16), pkt: Pkt, way: &mut impl Way) {
        self.follow(now, way);
        let ServedLink { line, wire, observer, hosts, .. } = self;
        let hosts = if hosts.is_empty() { Hosts::default() } else { hosts_of(pkt, hosts) };
        let packet = Queued { pkt, hop, class, hosts, marked: false, lane: 0, ticket: observer.ticket() };
        let admission = line.admit(now, packet, &mut Beyond { wire, observer, way });
        observer.arrived(now, class, lane_number(line.queue().arrival_lane()), pkt, admission);
        if !matches!(admission, Admission::Dropped(_)) {
            observer.waits(now, pkt.bytes());
        }
        line.start(now, admission, &mut Beyond { wire, observer, way });
    }

    /// Does what is due at or before `now`.
    #[inline]
    pub fn run(&mut self, now: Time, way: &mut impl Way) {
        self.follow(now, way);
        let ServedLink { line, wire, observer, .. } = self;
        line.run(now, &mut Beyond { wire, observer, way });
    }

    /// Does what is due before `now`.
    #[inline]
    pub fn run_before(&mut self, now: Time, way: &mut impl Way) {
        if let Some(before) = now.nanos().checked_sub(1) {
            self.run(Time::from_nanos(before), way);
        }
    }

    /// Changes of the rate, and boundaries of measurement, at or before `now`: each at its own time,
    /// before everything else that happens then.
    #[inline(always)]
    fn follow(&mut self, now: Time, way: &mut impl Way) {
        if self.rates.due().min(self.observer.next_mark()) <= now {
            self.follow_changes(now, way);
        }
    }

    #[cold]
    fn follow_changes(&mut self, now: Time, way: &mut impl Way) {
        loop {
            let change = self.rates.due();
            let mark = self.observer.next_mark();
            let at = change.min(mark);
            if at > now {
                return;
            }
            let ServedLink { line, wire, rates, observer, .. } = &mut *self;
            let mut beyond = Beyond { wire, observer, way: &mut *way };
            if change == at {
                if let Some(rate) = rates.pop() {
                    line.set_rate(at, rate, &mut beyond);
                }
                continue;
            }
            line.run_before(at, &mut beyond);
            observer.mark(&|out| line.queue().observe(out), line.busy_until());
        }
    }

    /// Follows the queue to the end of the run, which nothing that happens at the end itself belongs
    /// to, and gives what was measured, see [`Observer::finish`], and how many packets wait.
    pub fn finish(mut self, end: Time, way: &mut impl Way) -> (Option<(LinkOutcome, u64)>, u64) {
        self.follow(end, way);
        let waiting = self.line.queue().view().packets.get();
        (self.observer.finish(), u64::from(waiting))
    }
}

/// A served link whose queue's type the engine need not know.
pub(super) trait HeadQueue: Send {
    /// See [`ServedLink::next`].
    fn next(&self) -> Option<Time>;
    /// Packets arrive, and what is due before `until` leaves; `bits` of their keys hold hops, whose classes are
    /// `classes`.
    fn serve(
        &mut self,
        entries: &[Entry],
        until: Time,
        bits: u32,
        classes: &[u16],
        moving: &mut Vec<Moving>,
        gone: &mut Gone,
    );
    /// See [`ServedLink::finish`].
    fn finish(self: Box<Self>, end: Time) -> (Option<(LinkOutcome, u64)>, u64);
}

/// The fast engine's.
struct Onward<'a> {
    moving: &'a mut Vec<Moving>,
    gone: &'a mut Gone,
}

impl Way for Onward<'_> {
    #[inline(always)]
    fn take(&mut self, left: Left) {
        match left {
            Left::Dropped(pkt) => self.gone.dropped.push(pkt),
            Left::Sent(hop, pkt, flight) if flight.lost | flight.copied => {
                self.take_impaired(Moving { at: flight.arrives, pkt, hop: hop + 1 }, flight);
            }
            Left::Sent(hop, pkt, flight) => {
                self.moving.push(Moving { at: flight.arrives, pkt, hop: hop + 1 });
            }
        }
    }
}

impl Onward<'_> {
    /// Takes a packet that the wire loses or copies.
    #[cold]
    fn take_impaired(&mut self, moving: Moving, flight: Flight) {
        if flight.lost {
            self.gone.lost.push((flight.start, moving.pkt));
        } else {
            self.gone.copied.push((flight.start, self.moving.len()));
            self.moving.push(moving);
        }
    }
}

impl<Q: Qdisc<Packet = Queued<O::Ticket>> + Send, O: Observer + Send> HeadQueue for ServedLink<Q, O> {
    fn next(&self) -> Option<Time> {
        ServedLink::next(self)
    }

    fn serve(
        &mut self,
        entries: &[Entry],
        until: Time,
        bits: u32,
        classes: &[u16],
        moving: &mut Vec<Moving>,
        gone: &mut Gone,
    ) {
        let way = &mut Onward { moving, gone };
        for &(key, pkt) in entries {
            let (now, hop) = (key.time(bits), key.hop(bits));
            self.arrive(now, (hop as u32, classes[hop]), pkt, way);
        }
        self.run_before(until, way);
    }

    fn finish(self: Box<Self>, end: Time) -> (Option<(LinkOutcome, u64)>, u64) {
        ServedLink::finish(
            *self,
            end,
            &mut Onward { moving: &mut Vec::new(), gone: &mut Gone::with_capacity(0) },
        )
    }
}
