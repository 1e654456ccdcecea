//! The observer of links whose packets are followed one by one, and of those that are not compiled for their algorithm.

use quell_aqm::Probe;
use quell_queue::{Admission, Packet};
use quell_units::Time;

use crate::observe::{Departure, EarlyEnd, Observer};
use crate::outcome::{Fate, Left, LinkOutcome};
use crate::packet::Pkt;
use crate::record::{InLanes, Recorder};

/// Follows the packets at a link, beside its recorder. Numbers count the packets that arrived, from 0.
pub(crate) trait Tap: Send {
    /// A packet arrived, and this became of it.
    fn arrived(&mut self, now: Time, pkt: Pkt, admission: Admission);
    /// A packet that waited was dropped.
    fn dropped(&mut self, now: Time, number: u32, packet: EarlyEnd);
    /// The transmission of a packet began.
    fn sent(&mut self, now: Time, number: u32, packet: Departure);
    /// Adds what was seen to the link's outcome.
    fn finish(self: Box<Self>, outcome: &mut LinkOutcome);
}

/// The fate of each packet: [`LinkOutcome::log`].
impl Tap for Vec<Fate> {
    fn arrived(&mut self, now: Time, pkt: Pkt, admission: Admission) {
        let (source, flow, bytes) = (pkt.flow(), Packet::flow(&pkt), pkt.bytes());
        self.push(Fate { arrived: now, source, flow, bytes, admission, left: None });
    }

    fn dropped(&mut self, now: Time, number: u32, EarlyEnd { cause, place, .. }: EarlyEnd) {
        self[number as usize].left = Some(Left::Dropped { time: now, cause, place });
    }

    fn sent(&mut self, now: Time, number: u32, packet: Departure) {
        let fate = &mut self[number as usize];
        let marked = packet.marked && fate.admission != Admission::Marked;
        fate.left = Some(Left::Sent { start: now, marked });
    }

    fn finish(self: Box<Self>, outcome: &mut LinkOutcome) {
        outcome.log = *self;
    }
}

/// A link's recorder, if it is observed, and its taps.
pub(crate) struct Tapped {
    recorder: Option<InLanes>,
    taps: Vec<Box<dyn Tap>>,
    /// Packets that arrived.
    number: u32,
}

impl Tapped {
    pub fn new(recorder: Option<Recorder>, taps: Vec<Box<dyn Tap>>) -> Self {
        Tapped { recorder: recorder.map(InLanes), taps, number: 0 }
    }
}

impl Observer for Tapped {
    type Ticket = u32;

    #[inline]
    fn ticket(&self) -> u32 {
        self.number
    }

    #[inline]
    fn next_mark(&self) -> Time {
        self.recorder.as_ref().map_or(Time::MAX, Observer::next_mark)
    }

    fn mark(&mut self, observe: &dyn Fn(&mut dyn Probe), busy_until: Time) {
        self.recorder.iter_mut().for_each(|recorder| recorder.mark(observe, busy_until));
    }

    #[inline]
    fn arrived(&mut self, now: Time, class: u16, lane: u8, pkt: Pkt, admission: Admission) {
        self.recorder.iter_mut().for_each(|recorder| recorder.arrived(now, class, lane, pkt, admission));
        self.taps.iter_mut().for_each(|tap| tap.arrived(now, pkt, admission));
        self.number = self.number.wrapping_add(1);
    }

    #[inline]
    fn waits(&mut self, now: Time, bytes: u16) {
        self.recorder.iter_mut().for_each(|recorder| recorder.waits(now, bytes));
    }

    fn dropped_from_queue(&mut self, now: Time, number: u32, packet: EarlyEnd) {
        self.recorder.iter_mut().for_each(|recorder| recorder.dropped_from_queue(now, (), packet));
        self.taps.iter_mut().for_each(|tap| tap.dropped(now, number, packet));
    }

    #[inline]
    fn leaves(&mut self, now: Time, bytes: u16) {
        self.recorder.iter_mut().for_each(|recorder| recorder.leaves(now, bytes));
    }

    #[inline]
    fn passed(&mut self, now: Time, number: u32, packet: Departure) {
        self.recorder.iter_mut().for_each(|recorder| recorder.passed(now, (), packet));
        self.taps.iter_mut().for_each(|tap| tap.sent(now, number, packet));
    }

    fn finish(self) -> Option<(LinkOutcome, u64)> {
        let (mut outcome, digest) = self.recorder?.finish()?;
        self.taps.into_iter().for_each(|tap| tap.finish(&mut outcome));
        Some((outcome, digest))
    }
}
