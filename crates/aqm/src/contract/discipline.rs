//! The contract of disciplines: several queues in one buffer.

#[cfg(feature = "catalog")]
use alloc::boxed::Box;

use quell_units::{Bytes, Packets, Time};

use super::types::{Acknowledgment, Ctx, PacketMeta, Probe, QueueView, Verdict};
use crate::Rng;

/// Decides for several FIFOs, its lanes, that share a buffer and a link.
///
/// A lane is a number below [`Discipline::lanes`]. Everything that a decision depends on is an
/// argument, so an [`Aqm`](crate::Aqm) manages a lane as it manages a queue of its own: hand it
/// [`LanesCtx::of`] that lane.
///
/// The host promises what it promises an [`Aqm`](crate::Aqm), with these differences:
/// - every arrival is classified, once, right before its [`Discipline::on_enqueue`], or its
///   [`Discipline::on_inherit`];
/// - the buffer is full when all lanes together fill it;
/// - [`Discipline::on_idle`] comes once per idle period of a lane: none of its packets waits or is in
///   transmission, whatever the other lanes do.
#[allow(unused_variables)]
pub trait Discipline {
    /// Number of lanes: at least one, and always the same.
    fn lanes(&self) -> usize;

    /// Names of the lanes in results, from the first on. Lanes without a name are counted only with all
    /// others; constant over its life.
    fn lane_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Draws what must differ from host to host, such as the key of a hash; the host calls it once,
    /// before everything else.
    #[inline]
    fn draw(&mut self, rng: &mut Rng) {}

    /// Begins its life at `now` instead of time zero; comes before everything but [`Discipline::draw`],
    /// if at all.
    #[inline]
    fn on_start(&mut self, now: Time) {}

    /// A packet waits in `lane` that arrived before its life began; see
    /// [`Aqm::on_inherit`](crate::Aqm::on_inherit).
    #[inline]
    fn on_inherit(&mut self, lane: usize, pkt: &PacketMeta) {}

    /// The lane that an arrival is to wait in, if it is kept.
    fn classify(&mut self, now: Time, pkt: &PacketMeta) -> usize;

    /// Tells whether packets that are kept lose their DSCP: hosts that can set it to 0 once a packet is classified.
    #[inline]
    fn washes(&self) -> bool {
        false
    }

    /// A packet arrives for `lane`; `cx.lanes` does not contain it.
    #[inline]
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        Verdict::Pass
    }

    /// Tells whether an arrival can make an acknowledgment that waits superfluous: hosts that know what packets
    /// acknowledge then ask [`Discipline::superfluous`].
    #[inline]
    fn filters(&self) -> bool {
        false
    }

    /// The place, from the head of its lane, of the packet that is dropped because an arrival acknowledges as much, if there
    /// is one. [`Discipline::on_enqueue`] has let the arrival pass. `waiting` are the packets of its lane from the head
    /// on; nothing in the place of one of another flow, or of what does not acknowledge.
    fn superfluous(
        &self,
        arrival: &Acknowledgment,
        waiting: &mut dyn Iterator<Item = Option<Acknowledgment>>,
    ) -> Option<usize> {
        None
    }

    /// The host drops a packet of `lane`, as [`Discipline::superfluous`] said. `cx.lanes` does not contain it.
    fn on_superfluous(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {}

    /// Tells whether packets have to go for an arrival that [`Discipline::on_enqueue`] has let pass, although
    /// the buffer has room for it: a limit of the discipline's own is exceeded, or more is to be freed than
    /// the arrival takes. Hosts ask before they keep the arrival, and again after each packet that went.
    #[inline]
    fn is_crowded(&self, lanes: &Lanes<'_>, pkt: &PacketMeta) -> bool {
        false
    }

    /// The buffer has no room for an arrival at `lane` that [`Discipline::on_enqueue`] has let pass, or
    /// [`Discipline::is_crowded`]. Asked again until there is room, or the arrival is the one to go.
    #[inline]
    fn victim(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Victim {
        Victim::Arrival
    }

    /// The host drops a packet of `lane` for want of room, as [`Discipline::victim`] said: the arrival,
    /// or one that waited. `cx.lanes` does not contain it.
    #[inline]
    fn on_overflow(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {}

    /// The link is free and something waits: the lane whose head it takes, or the time before which
    /// it takes none.
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next;

    /// A packet leaves the head of `lane`; `cx.lanes` no longer contains it. After a drop the host
    /// asks [`Discipline::next`] again.
    #[inline]
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        Verdict::Pass
    }

    /// The lane has been idle since `since`: no packet of `lane` waits or is in transmission.
    #[inline]
    fn on_idle(&mut self, lane: usize, since: Time) {}

    /// Time at which the next periodic update is due, if the discipline has one. Hosts read it again after
    /// every call.
    #[inline]
    fn next_update(&self) -> Option<Time> {
        None
    }

    /// Runs one update. `cx.now` is the time it was due, not the time of the call.
    #[inline]
    fn on_update(&mut self, cx: &mut LanesCtx<'_>) {}

    /// Reports internal signals with their units.
    fn observe(&self, out: &mut dyn Probe) {}
}

/// Whom a full buffer costs a packet.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The arrival itself.
    Arrival,
    /// The packet at the head of this lane, which is not empty.
    Head(usize),
    /// The packet at the tail of this lane, which is not empty.
    Tail(usize),
}

/// The next action of a free link.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It takes the head of this lane, which is not empty.
    Serve(usize),
    /// It takes nothing before this time, which is later than now; then it asks again.
    NotBefore(Time),
}

/// All that a discipline may know when it decides.
pub struct LanesCtx<'a> {
    /// The time of the event.
    pub now: Time,
    /// The waiting packets at that time.
    pub lanes: Lanes<'a>,
    /// The generator of this discipline, and of nothing else.
    pub rng: &'a mut Rng,
}

impl LanesCtx<'_> {
    /// Context of the algorithm that manages `lane`.
    #[inline]
    pub fn of(&mut self, lane: usize) -> Ctx<'_> {
        Ctx { now: self.now, queue: self.lanes.each[lane], link_backlog: self.lanes.bytes, rng: self.rng }
    }
}

/// The packets that wait in a buffer with several lanes, without the packet in transmission and without the
/// packet in question.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<'a> {
    /// Every lane.
    pub each: &'a [QueueView],
    /// Packets in all of them.
    pub packets: Packets,
    /// Bytes in all of them.
    pub bytes: Bytes,
}

/// All methods of [`Discipline`](crate::Discipline), as `forward_aqm` has those of an algorithm.
#[cfg(feature = "catalog")]
macro_rules! forward_discipline {
    ($held:ident) => {
        fn draw(&mut self, rng: &mut $crate::Rng) {
            $held!(self.draw(rng))
        }
        fn on_start(&mut self, now: quell_units::Time) {
            $held!(self.on_start(now))
        }
        fn on_inherit(&mut self, lane: usize, pkt: &$crate::PacketMeta) {
            $held!(self.on_inherit(lane, pkt))
        }
        fn lanes(&self) -> usize {
            $held!(self.lanes())
        }
        fn lane_names(&self) -> &'static [&'static str] {
            $held!(self.lane_names())
        }
        fn classify(&mut self, now: quell_units::Time, pkt: &$crate::PacketMeta) -> usize {
            $held!(self.classify(now, pkt))
        }
        fn washes(&self) -> bool {
            $held!(self.washes())
        }
        fn on_enqueue(
            &mut self,
            cx: &mut $crate::LanesCtx<'_>,
            lane: usize,
            pkt: &$crate::PacketMeta,
        ) -> $crate::Verdict {
            $held!(self.on_enqueue(cx, lane, pkt))
        }
        fn filters(&self) -> bool {
            $held!(self.filters())
        }
        fn superfluous(
            &self,
            arrival: &$crate::Acknowledgment,
            waiting: &mut dyn Iterator<Item = Option<$crate::Acknowledgment>>,
        ) -> Option<usize> {
            $held!(self.superfluous(arrival, waiting))
        }
        fn on_superfluous(&mut self, cx: &mut $crate::LanesCtx<'_>, lane: usize, pkt: &$crate::PacketMeta) {
            $held!(self.on_superfluous(cx, lane, pkt))
        }
        fn is_crowded(&self, lanes: &$crate::Lanes<'_>, pkt: &$crate::PacketMeta) -> bool {
            $held!(self.is_crowded(lanes, pkt))
        }
        fn victim(
            &mut self,
            cx: &mut $crate::LanesCtx<'_>,
            lane: usize,
            pkt: &$crate::PacketMeta,
        ) -> $crate::Victim {
            $held!(self.victim(cx, lane, pkt))
        }
        fn on_overflow(&mut self, cx: &mut $crate::LanesCtx<'_>, lane: usize, pkt: &$crate::PacketMeta) {
            $held!(self.on_overflow(cx, lane, pkt))
        }
        fn next(&mut self, cx: &mut $crate::LanesCtx<'_>) -> $crate::Next {
            $held!(self.next(cx))
        }
        fn on_dequeue(
            &mut self,
            cx: &mut $crate::LanesCtx<'_>,
            lane: usize,
            pkt: &$crate::PacketMeta,
        ) -> $crate::Verdict {
            $held!(self.on_dequeue(cx, lane, pkt))
        }
        fn on_idle(&mut self, lane: usize, since: quell_units::Time) {
            $held!(self.on_idle(lane, since))
        }
        fn next_update(&self) -> Option<quell_units::Time> {
            $held!(self.next_update())
        }
        fn on_update(&mut self, cx: &mut $crate::LanesCtx<'_>) {
            $held!(self.on_update(cx))
        }
        fn observe(&self, out: &mut dyn $crate::Probe) {
            $held!(self.observe(out))
        }
    };
}

#[cfg(feature = "catalog")]
impl<D: Discipline + ?Sized> Discipline for Box<D> {
    forward_discipline!(boxed);
}
