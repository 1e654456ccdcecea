//! The contract between a queue and its observer.

use quell_aqm::{Cause, Probe};
use quell_queue::{Admission, DropPoint};
use quell_units::Time;

use crate::outcome::LinkOutcome;
use crate::packet::Pkt;

/// A packet that leaves its queue.
#[derive(Clone, Copy)]
pub(crate) struct Departure {
    /// The time at which it came.
    pub arrived: Time,
    pub class: u16,
    pub bytes: u16,
    /// The lane of the discipline; 0 where there is one queue.
    pub lane: u8,
    /// This queue marked it.
    pub marked: bool,
    /// The wire will lose it.
    pub lost: bool,
}

/// A packet that waited and is dropped.
#[derive(Clone, Copy)]
pub(crate) struct EarlyEnd {
    pub class: u16,
    pub pkt: Pkt,
    pub lane: u8,
    pub cause: Cause,
    pub place: DropPoint,
}

/// The observer of a queue. Its host calls it in order of time, and calls [`Observer::mark`] before anything that
/// happens at or after [`Observer::next_mark`]. `()` observes nothing.
pub(crate) trait Observer {
    /// The name by which it knows a packet.
    type Ticket: Copy + Default + Send;
    /// The ticket of the next packet to arrive.
    fn ticket(&self) -> Self::Ticket;
    /// The next boundary of a segment or step, or the next change of the link's rate.
    fn next_mark(&self) -> Time;
    /// Ends the segment or step that ends at [`Observer::next_mark`], or takes in the new rate; `observe` shows
    /// internals, and the transmission under way lasts until `busy_until` (or is over).
    fn mark(&mut self, observe: &dyn Fn(&mut dyn Probe), busy_until: Time);
    /// A packet arrived, and this became of it. It is not in the queue that it finds: one that is kept
    /// [waits](Observer::waits) or [goes on](Observer::passed) afterwards.
    fn arrived(&mut self, now: Time, class: u16, lane: u8, pkt: Pkt, admission: Admission);
    /// A packet that arrived now waits.
    fn waits(&mut self, now: Time, bytes: u16);
    /// A packet waits no longer.
    fn leaves(&mut self, now: Time, bytes: u16);
    /// A packet that waited was dropped.
    fn dropped_from_queue(&mut self, now: Time, ticket: Self::Ticket, packet: EarlyEnd);
    /// The transmission of a packet that waited began at `now`.
    #[inline(always)]
    fn departed(&mut self, now: Time, ticket: Self::Ticket, packet: Departure) {
        self.leaves(now, packet.bytes);
        self.passed(now, ticket, packet);
    }
    /// The transmission of a packet that waits no longer, or did not wait, began at `now`.
    fn passed(&mut self, now: Time, ticket: Self::Ticket, packet: Departure);
    /// The measurements and their digest; every mark up to the end has been made. `None`: nothing was measured.
    fn finish(self) -> Option<(LinkOutcome, u64)>;
}

impl Observer for () {
    type Ticket = ();
    fn ticket(&self) {}
    #[inline]
    fn next_mark(&self) -> Time {
        Time::MAX
    }
    fn mark(&mut self, _: &dyn Fn(&mut dyn Probe), _: Time) {}
    fn arrived(&mut self, _: Time, _: u16, _: u8, _: Pkt, _: Admission) {}
    fn waits(&mut self, _: Time, _: u16) {}
    fn leaves(&mut self, _: Time, _: u16) {}
    fn dropped_from_queue(&mut self, _: Time, (): (), _: EarlyEnd) {}
    fn passed(&mut self, _: Time, (): (), _: Departure) {}
    fn finish(self) -> Option<(LinkOutcome, u64)> {
        None
    }
}
