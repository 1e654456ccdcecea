//! The contract of algorithms: one queue.

#[cfg(feature = "catalog")]
use alloc::boxed::Box;

use quell_units::Time;

use super::types::{Ctx, PacketMeta, Probe, Verdict};

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
    /// Begins its life at `now` instead of time zero; comes before everything else, if at all.
    #[inline]
    fn on_start(&mut self, now: Time) {}

    /// A packet waits that arrived before its life began: comes after [`Aqm::on_start`] and before
    /// everything else, once for each that waits, from the head to the tail.
    #[inline]
    fn on_inherit(&mut self, pkt: &PacketMeta) {}

    /// A packet arrives; `cx.queue` does not contain it.
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        Verdict::Pass
    }

    /// A packet leaves the head; `cx.queue` no longer contains it. After a drop the host asks again
    /// for the next one. What it is called for, [`Aqm::departures`] says.
    #[inline]
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        Verdict::Pass
    }

    /// The algorithm's use of departures. Constant over its life: a host that can compute departures ahead
    /// does so unless they are decided.
    #[inline]
    fn departures(&self) -> Departures {
        Departures::Ignored
    }

    /// The arrival that [`Aqm::on_enqueue`] has just let pass found the buffer full; the host drops
    /// it.
    #[inline]
    fn on_overflow(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) {}

    /// The queue is empty and the link has had nothing to send since `since`.
    #[inline]
    fn on_idle(&mut self, since: Time) {}

    /// Time at which the next periodic update is due, if the algorithm has one. Hosts read it again after
    /// every call.
    #[inline]
    fn next_update(&self) -> Option<Time> {
        None
    }

    /// Runs one update. `cx.now` is the time it was due, not the time of the call.
    #[inline]
    fn on_update(&mut self, cx: &mut Ctx<'_>) {}

    /// Reports internal signals (average queue, probability, price, ...) with their units.
    fn observe(&self, out: &mut dyn Probe) {}
}

/// An algorithm's use of the packets that leave the head of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Departures {
    /// Nothing: [`Aqm::on_dequeue`] is not called.
    Ignored,
    /// It is told of them and lets them pass: its verdict is [`Verdict::Pass`].
    Watched,
    /// It decides about them.
    Decided,
}

/// All methods of [`Aqm`](crate::Aqm), in an `impl` for what holds an algorithm: `$held!(self.method(...))` calls a
/// method of the one inside.
#[cfg(feature = "catalog")]
macro_rules! forward_aqm {
    ($held:ident) => {
        fn on_start(&mut self, now: quell_units::Time) {
            $held!(self.on_start(now))
        }
        fn on_inherit(&mut self, pkt: &$crate::PacketMeta) {
            $held!(self.on_inherit(pkt))
        }
        fn on_enqueue(&mut self, cx: &mut $crate::Ctx<'_>, pkt: &$crate::PacketMeta) -> $crate::Verdict {
            $held!(self.on_enqueue(cx, pkt))
        }
        fn on_dequeue(&mut self, cx: &mut $crate::Ctx<'_>, pkt: &$crate::PacketMeta) -> $crate::Verdict {
            $held!(self.on_dequeue(cx, pkt))
        }
        fn departures(&self) -> $crate::Departures {
            $held!(self.departures())
        }
        fn on_overflow(&mut self, cx: &mut $crate::Ctx<'_>, pkt: &$crate::PacketMeta) {
            $held!(self.on_overflow(cx, pkt))
        }
        fn on_idle(&mut self, since: quell_units::Time) {
            $held!(self.on_idle(since))
        }
        fn next_update(&self) -> Option<quell_units::Time> {
            $held!(self.next_update())
        }
        fn on_update(&mut self, cx: &mut $crate::Ctx<'_>) {
            $held!(self.on_update(cx))
        }
        fn observe(&self, out: &mut dyn $crate::Probe) {
            $held!(self.observe(out))
        }
    };
}

#[cfg(feature = "catalog")]
impl<A: Aqm + ?Sized> Aqm for Box<A> {
    forward_aqm!(boxed);
}
