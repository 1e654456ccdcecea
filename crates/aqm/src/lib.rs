//! The algorithms: pure decisions about one queue.
//!
//! An [`Aqm`] is told what happens at a FIFO (arrivals, departures, idleness, its own scheduled
//! updates) and answers whether to signal congestion. It sees sizes and times, never packets; it
//! owns no clock and no generator, so whatever hosts it, a simulator or a real link, runs the same code.
//!
//! An algorithm is a file: `XParams` (what a user sets) → [`build`](catalog::AqmConfig::build) → `X`
//! (what it remembers) → [`Aqm`]. Counters belong to the host. It lies in the folder of its family in
//! `catalog/`; one line in [`catalog`] makes it a module here and known to every host, the command
//! line, Python, the conformance laws and the documentation.
#![no_std]
#![deny(missing_docs)]

extern crate alloc;

/// Its examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[macro_use]
mod delegate;
#[macro_use]
mod equations;

pub mod catalog;
pub mod lanes;
pub mod params;
pub mod part;
mod rng;

use alloc::boxed::Box;

pub use catalog::algorithms::*;
pub use lanes::{Lanes, Transport};
pub use params::ParamError;
use params::require;
use quell_units::{BitRate, Bytes, Packets, QueueSize, Time};
pub use rng::{Rng, Seed};

/// Decides, for one FIFO, when to signal congestion.
///
/// The host promises:
/// - calls come in time order; `cx.now` never decreases;
/// - every arrival comes to [`Aqm::on_enqueue`], whether or not the buffer has room for it; if it is
///   then neither dropped by the verdict nor fits, [`Aqm::on_overflow`] follows;
/// - every update due at or before `cx.now` has run, each at its own time, before any other call
///   at `cx.now`, however late the host woke;
/// - [`Aqm::on_idle`] comes once per idle period, before the next call of any other method that is
///   later than its beginning; an arrival that is not stored does not end the period.
#[allow(unused_variables)]
pub trait Aqm {
    /// A packet arrives; `cx.queue` does not contain it.
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        Verdict::Pass
    }

    /// A packet leaves the head; `cx.queue` no longer contains it. After a drop the host asks again
    /// for the next one. Called only if [`Aqm::decides_at_dequeue`].
    #[inline]
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        Verdict::Pass
    }

    /// True if [`Aqm::on_dequeue`] decides anything. Constant over an algorithm's life: hosts that
    /// can compute departures ahead do so only when this is false.
    #[inline]
    fn decides_at_dequeue(&self) -> bool {
        false
    }

    /// The arrival that [`Aqm::on_enqueue`] has just let pass found the buffer full; the host drops
    /// it.
    #[inline]
    fn on_overflow(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) {}

    /// The queue is empty and the link has had nothing to send since `since`.
    #[inline]
    fn on_idle(&mut self, since: Time) {}

    /// When the next periodic update is due, if the algorithm has one. Read again after every call.
    #[inline]
    fn next_update(&self) -> Option<Time> {
        None
    }

    /// Runs one update. `cx.now` is the time it was due, not the time of the call.
    #[inline]
    fn on_update(&mut self, cx: &mut Ctx<'_>) {}

    /// Reports internal signals (average queue, probability, price, ...) with their units.
    fn observe(&self, out: &mut dyn Probe) {}

    /// The several queues in one buffer that the algorithm is for, if it is. Constant over its life,
    /// and such an algorithm decides at the head ([`Aqm::decides_at_dequeue`]).
    fn lanes(&mut self) -> Option<&mut dyn Lanes> {
        None
    }
}

impl<A: Aqm + ?Sized> Aqm for Box<A> {
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        (**self).on_enqueue(cx, pkt)
    }
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        (**self).on_dequeue(cx, pkt)
    }
    fn decides_at_dequeue(&self) -> bool {
        (**self).decides_at_dequeue()
    }
    fn on_overflow(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) {
        (**self).on_overflow(cx, pkt)
    }
    fn on_idle(&mut self, since: Time) {
        (**self).on_idle(since)
    }
    fn next_update(&self) -> Option<Time> {
        (**self).next_update()
    }
    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        (**self).on_update(cx)
    }
    fn observe(&self, out: &mut dyn Probe) {
        (**self).observe(out)
    }
    fn lanes(&mut self) -> Option<&mut dyn Lanes> {
        (**self).lanes()
    }
}

/// All that an algorithm may know when it decides.
pub struct Ctx<'a> {
    /// The time of the event.
    pub now: Time,
    /// The queue at that time.
    pub queue: QueueView,
    /// The generator of this queue's algorithm, and of nothing else.
    pub rng: &'a mut Rng,
}

/// A queue as an algorithm sees it: what waits, without the packet in transmission and without the
/// packet in question.
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// Packets waiting.
    pub packets: Packets,
    /// Bytes waiting.
    pub bytes: Bytes,
    /// When the packet at the head arrived.
    pub head_since: Option<Time>,
    /// The link's rate now, where the host knows it.
    pub link_rate: Option<BitRate>,
}

/// A packet as an algorithm sees it.
#[derive(Clone, Copy, Debug)]
pub struct PacketMeta {
    /// Its size on the wire.
    pub bytes: Bytes,
    /// When it arrived at this queue.
    pub enqueued_at: Time,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Its ECN field, or [`Ecn::NotEct`] in a queue that does not mark: a signal marks the packet if
    /// this is ECN-capable, and drops it otherwise.
    pub ecn: Ecn,
    /// It opens a TCP connection: a SYN. False where the host does not look.
    pub syn: bool,
    /// Its precedence, 0 to 7: the class selector of its DS field (RFC 2474 section 4.2.2).
    pub precedence: u8,
}

/// Identifies a flow (a 5-tuple, or the simulator's index).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// The sender does not understand ECN.
    #[default]
    NotEct,
    /// ECN-capable, codepoint 10.
    Ect0,
    /// ECN-capable, codepoint 01 (L4S, RFC 9331).
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// True if a signal may be a mark.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// Why a packet was signalled or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// By chance, to slow the senders down before the queue is full.
    Early,
    /// Because a hard limit of the algorithm was passed.
    Forced,
    /// Because the buffer was full.
    Overflow,
}

/// An algorithm's answer.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Keep it.
    Pass,
    /// Signal congestion: the host marks the packet if it is ECN-capable (RFC 3168) and its queue
    /// is set to mark, and drops it otherwise.
    Signal(Cause),
    /// Drop it, whatever its ECN field says.
    Drop(Cause),
}

impl Verdict {
    /// An early signal, or none.
    #[inline]
    pub fn early_if(signal: bool) -> Self {
        if signal { Verdict::Signal(Cause::Early) } else { Verdict::Pass }
    }
}

/// Where an algorithm reports its internal signals.
pub trait Probe {
    /// One signal: its name in the paper, its unit ("packets", "1", "bit/s"), its value now.
    fn value(&mut self, name: &'static str, unit: &'static str, x: f64);
}

/// What the host knows of the link when an algorithm is built; the "initial conditions" that
/// automatic parameters are computed from (RFC 7567 section 4.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Its rate at the start.
    pub rate: BitRate,
    /// Its buffer.
    pub buffer: QueueSize,
    /// The mean packet size: converts packets to bytes and back, and gives C in packets/s.
    pub mean_packet: Bytes,
}

impl Link {
    /// Refuses a link from which nothing can be computed.
    ///
    /// # Errors
    /// Names the field that is zero.
    pub fn check(&self) -> Result<(), ParamError> {
        require(self.rate.bps() > 0, "rate", self.rate, "must be positive")?;
        require(self.mean_packet.get() > 0, "mean_packet", self.mean_packet, "must be positive")
    }

    /// C of the papers: packets of mean size per second.
    pub fn capacity(&self) -> f64 {
        self.rate.packets_per_sec(self.mean_packet)
    }
}
