//! What a flow asks of its host, and what each of its ends counts.

use std::ops::AddAssign;
use std::sync::Arc;

use quell_units::{Duration, Time, index};

use crate::network::{App, FlowSpec, Network, Traffic};
use crate::outcome::{FlowSegment, Transfer};
use crate::packet::{Pkt, SackTable};

/// The host of a flow, which runs it.
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
    pub fn finish(self, bounds: &[Time]) -> Vec<T> {
        self.all(bounds).split_off(1)
    }

    /// All of them.
    fn all(mut self, bounds: &[Time]) -> Vec<T> {
        while self.done.len() < bounds.len() {
            self.roll(bounds);
        }
        self.done
    }
}

/// Counts the bytes that a receiver got, segment by segment or by shorter steps.
pub(crate) struct Received {
    meter: Meter<u64>,
    steps: Option<Arc<Steps>>,
}

/// The steps of the time series, and where they and the segments end.
pub(crate) struct Steps {
    step: Duration,
    /// The end of the run comes last.
    edges: Vec<Time>,
}

impl Steps {
    /// The most counts that are kept of all flows together: ten thousand flows over the usual 500 steps.
    const MOST: u64 = 5_000_000;

    /// Those of a network, by which what each of its flows gets that always has data to send is counted. None if there
    /// are fewer than two, which share nothing, or more than memory is for.
    pub fn of(network: &Network, bounds: &[Time]) -> Option<Arc<Self>> {
        let (step, end) = (network.measure.step?, network.measure.end);
        let bulk = |flow: &&FlowSpec| matches!(flow.traffic, Traffic::Tcp { app: App::Bulk, .. });
        let flows = network.flows.iter().filter(bulk).count() as u64;
        let count = end.nanos() / step.nanos().max(1);
        if flows < 2 || flows.saturating_mul(count) > Self::MOST {
            return None;
        }
        let mut edges: Vec<Time> = (1..=count).map(|i| Time::from_nanos(i * step.nanos())).collect();
        edges.extend(bounds);
        edges.sort_unstable();
        edges.dedup();
        Some(Arc::new(Steps { step, edges }))
    }
}

impl Received {
    /// Counts by steps, or else by the segments that `bounds` says.
    pub fn new(bounds: &[Time], steps: Option<&Arc<Steps>>) -> Self {
        let meter = Meter::new(steps.map_or(bounds, |steps| &steps.edges));
        Received { meter, steps: steps.cloned() }
    }

    /// The count of the time that `t` lies in; `t` never decreases.
    #[inline]
    pub fn at(&mut self, t: Time, host: &impl Host) -> &mut u64 {
        while t >= self.meter.until {
            self.roll(host.bounds());
        }
        &mut self.meter.now
    }

    #[cold]
    fn roll(&mut self, bounds: &[Time]) {
        self.meter.roll(self.steps.as_ref().map_or(bounds, |steps| &steps.edges));
    }

    /// The bytes of the measured segments, and those of the steps from time zero on, if they were counted.
    pub fn finish(self, bounds: &[Time]) -> (Vec<u64>, Vec<u64>) {
        let Some(steps) = self.steps else { return (self.meter.finish(bounds), Vec::new()) };
        let mut segments = vec![0; bounds.len() - 1];
        let count = bounds.last().map_or(0, |end| end.nanos() / steps.step.nanos());
        let mut series = vec![0; index(count)];
        let mut from = Time::ZERO;
        for (bytes, to) in self.meter.all(&steps.edges).into_iter().zip(&steps.edges) {
            let segment = bounds.partition_point(|bound| *bound <= from).checked_sub(1);
            if let Some(sum) = segment.and_then(|i| segments.get_mut(i)) {
                *sum += bytes;
            }
            if let Some(sum) = series.get_mut(index(from.nanos() / steps.step.nanos())) {
                *sum += bytes;
            }
            from = *to;
        }
        (segments, series)
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
