//! What a flow asks of whoever runs it, and what each of its ends counts.

use std::ops::AddAssign;

use quell_units::{Duration, Time};

use crate::outcome::{FlowSegment, Transfer};
use crate::packet::{Pkt, SackTable};

/// The host of a flow: whoever runs it.
pub(crate) trait Host {
    /// Puts a packet on its way, to the receiver or from it, at `now`, which never decreases for one
    /// flow and direction.
    fn send(&mut self, now: Time, pkt: Pkt, direction: Direction);
    /// The time at which the access link of a packet's flow, if it has one, has sent all that was put on its way towards
    /// the receiver. Only for those who [ask](quell_tcp::Config::asks_host).
    fn leaves(&self, pkt: Pkt) -> Time;
    /// The table of what the packets on their way carry beside themselves.
    fn sacks(&mut self) -> &mut SackTable;
    /// All of a transfer is acknowledged.
    fn finished(&mut self, transfer: Transfer);
    /// The sender of a flow measured a round-trip time in a segment; the warm-up is number 0.
    fn measured(&mut self, flow: u32, segment: usize, rtt: Duration);
    /// The boundaries of the measured segments: the end of the warm-up first, the end of the run last.
    fn bounds(&self) -> &[Time];
}

/// The direction of a packet.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    /// Towards the receiver.
    Forward,
    /// Towards the sender.
    Back,
}

/// Counts what one end does, segment by segment.
#[derive(Clone, Debug)]
pub(crate) struct Meter<T> {
    pub now: T,
    /// The time at which the current segment ends.
    pub until: Time,
    /// The segments before it; the first is the warm-up.
    done: Vec<T>,
}

impl<T: Default> Meter<T> {
    pub fn new(bounds: &[Time]) -> Self {
        Meter { now: T::default(), until: bounds[0], done: Vec::with_capacity(bounds.len()) }
    }

    /// The counters of the segment that `t` lies in; `t` never decreases.
    #[inline]
    pub fn at(&mut self, t: Time, host: &impl Host) -> &mut T {
        while t >= self.until {
            self.roll(host.bounds());
        }
        &mut self.now
    }

    #[cold]
    pub fn roll(&mut self, bounds: &[Time]) {
        self.done.push(std::mem::take(&mut self.now));
        self.until = bounds.get(self.done.len()).copied().unwrap_or(Time::MAX);
    }

    /// The counts of all segments so far, with the warm-up.
    pub fn total(&self) -> T
    where
        T: Clone + AddAssign,
    {
        self.done.iter().fold(self.now.clone(), |mut sum, one| {
            sum += one.clone();
            sum
        })
    }

    /// The measured segments, without the warm-up.
    pub fn finish(mut self, bounds: &[Time]) -> Vec<T> {
        while self.done.len() < bounds.len() {
            self.roll(bounds);
        }
        self.done.split_off(1)
    }
}

impl Meter<FlowSegment> {
    /// The sender of a flow measured a round-trip time.
    #[inline(never)]
    pub fn round_trip(&mut self, now: Time, rtt: Duration, flow: u32, host: &mut impl Host) {
        let counts = self.at(now, host);
        counts.rtt_samples += 1;
        counts.rtt_sum_ns += rtt.nanos();
        host.measured(flow, self.done.len(), rtt);
    }
}
