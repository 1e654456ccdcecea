//! The contract between a queue and its host.

use alloc::vec::Vec;

use quell_aqm::{Cause, PacketMeta, Probe, QueueView};
use quell_units::{BitRate, Time};

use crate::counters::Tally;
use crate::{Admission, Counters, Packet};

/// A queueing discipline: what a host puts packets into and takes them out of.
///
/// [`Line`](crate::Line) is the host that keeps the order of calls; a host of its own calls
/// [`Qdisc::idle`] before anything that is later than the end of a transmission.
pub trait Qdisc {
    /// The packets that it holds.
    type Packet: Packet;

    /// Offers a packet; says whether it was kept. What is dropped, the arrival or packets that make
    /// room for it, is handed to `dropped`.
    fn enqueue(
        &mut self,
        now: Time,
        packet: Self::Packet,
        dropped: &mut dyn FnMut(Dropped<Self::Packet>),
    ) -> Admission;
    /// The link is free: takes the next packet to send. Packets that the algorithm drops at the head
    /// are handed to `dropped` first.
    fn dequeue(
        &mut self,
        now: Time,
        dropped: &mut dyn FnMut(Dropped<Self::Packet>),
    ) -> Dequeued<Self::Packet>;
    /// Tells the queue that nothing is in transmission since `since`. May be called more than once.
    fn idle(&mut self, since: Time);
    /// Runs every update due at or before `now`; a host that shows or samples the queue calls it.
    fn advance(&mut self, now: Time);
    /// The time at which the next update is due.
    fn next_update(&self) -> Option<Time>;
    /// The counts so far.
    fn counters(&self) -> Counters;
    /// The lane of the last arrival; 0 where there is one queue.
    #[inline]
    fn arrival_lane(&self) -> usize {
        0
    }
    /// The names of the discipline's lanes; none where there is one queue, or lanes have no names.
    fn lane_names(&self) -> &'static [&'static str] {
        &[]
    }
    /// How many lanes have names: those that records tell apart.
    fn lane_count(&self) -> usize {
        self.lane_names().len()
    }
    /// The name of a lane, also of one whose name is known only when the program runs. Then
    /// [`Qdisc::lane_names`] has none.
    fn lane_name(&self, lane: usize) -> Option<&str> {
        self.lane_names().get(lane).copied()
    }
    /// The packets that wait in a lane; `None` where there is one queue.
    fn lane_view(&self, lane: usize) -> Option<QueueView> {
        let _ = lane;
        None
    }
    /// The counts of a lane that the discipline gives a name; `None` of others, and where there is one queue.
    /// After a change of the discipline the counts begin again.
    fn lane_counters(&self, lane: usize) -> Option<Counters> {
        let _ = lane;
        None
    }
    /// The queue now: of several lanes, all together.
    fn view(&self) -> QueueView;
    /// Says whether nothing waits.
    fn is_empty(&self) -> bool {
        self.view().packets.get() == 0
    }
    /// Reports the internal signals of the algorithm, with their units.
    fn observe(&self, out: &mut dyn Probe);
    /// Sets the link rate that the algorithm sees from now on.
    fn set_rate(&mut self, rate: BitRate);
    /// Gives up what waits, in the order in which it arrived, and the counters.
    fn into_parts(self) -> (Vec<(Time, Self::Packet)>, Counters)
    where
        Self: Sized;
    /// Takes over from another queue what [`Qdisc::into_parts`] gave, without asking the algorithm,
    /// which begins its life at `now`. The queue is new: it has not been used.
    fn take_over(&mut self, now: Time, waiting: Vec<(Time, Self::Packet)>, counters: Counters);
}

/// The result of [`Qdisc::dequeue`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dequeued<P> {
    /// The next packet to send, and when it arrived.
    Packet(P, Time),
    /// Nothing may be sent before this time, unless another packet arrives; then ask again.
    NotBefore(Time),
    /// Nothing waits.
    Nothing,
}

impl<P> Dequeued<P> {
    /// The packet and when it arrived, if there is one.
    pub fn packet(self) -> Option<(P, Time)> {
        match self {
            Dequeued::Packet(packet, arrived) => Some((packet, arrived)),
            Dequeued::NotBefore(_) | Dequeued::Nothing => None,
        }
    }
}

/// A packet that a queue drops, back in its host's hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The packet.
    pub packet: P,
    /// The cause.
    pub cause: Cause,
    /// The place.
    pub place: DropPoint,
}

impl<P: Packet> Dropped<P> {
    /// Takes the packet out of what waits in its queue, if it waited.
    #[inline]
    pub(crate) fn out_of(self, waiting: &mut Tally) -> Self {
        if self.place != DropPoint::Arrival {
            waiting.uncount(self.packet.bytes());
        }
        self
    }
}

/// The place in a queue at which a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropPoint {
    /// It has just arrived and was not stored.
    Arrival,
    /// It came to the head, and the algorithm dropped it.
    Head,
    /// It waited, and makes room for an arrival, or an arrival makes it superfluous ([`Cause::Forced`]).
    Waiting,
}

/// The facts of a packet that an algorithm may know.
#[inline]
pub(crate) fn meta<P: Packet>(packet: &P, enqueued_at: Time) -> PacketMeta {
    PacketMeta {
        bytes: packet.bytes(),
        enqueued_at,
        flow: packet.flow(),
        ecn: packet.ecn(),
        transport: packet.transport(),
        syn: packet.is_syn(),
        dscp: packet.dscp(),
        hosts: packet.hosts(),
    }
}
