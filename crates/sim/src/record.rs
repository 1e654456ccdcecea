//! Measures one link: counters and delays per class and segment, exact time averages of the queue,
//! the time series, and the digest.

use std::sync::Arc;

use hdrhistogram::Histogram;
use quell_aqm::{Algorithm, Cause, Discipline, Probe};
use quell_queue::{Admission, Packet, ToCome};
use quell_units::{BitRate, Duration, Time, index};

use crate::control::Watcher;
use crate::network::{App, FlowSpec, LinkId, LinkSpec, Measure, Network, Schedule, Traffic};
use crate::observe::{Departure, EarlyEnd, Observer};
use crate::outcome::{ClassStats, Counts, Internal, LinkOutcome, LossEvent, Segment, Series, TimedSegment};
use crate::packet::Pkt;

/// The longest delay that a run can measure, in nanoseconds: its own length. Not less than what a
/// histogram can be made for.
fn longest_delay_ns(measure: &Measure) -> u64 {
    measure.end.nanos().max(2)
}

/// A histogram of times: exact below 2^`BITS` ns, half as many buckets for every doubling above.
#[derive(Clone, Default)]
struct Buckets<const BITS: u32> {
    counts: Vec<u32>,
}

/// Queueing delays, in the buckets of a [`Histogram`] of three digits.
type Delays = Buckets<11>;

/// Round-trip times: 64 buckets for every doubling, whose middle is at most 0.8% away.
type RoundTripTimes = Buckets<7>;

impl<const BITS: u32> Buckets<BITS> {
    fn new(longest_ns: u64) -> Self {
        Buckets { counts: vec![0; Self::bucket(longest_ns) + 1] }
    }

    #[inline]
    fn bucket(ns: u64) -> usize {
        let halvings = 64 - BITS - (ns | ((1 << BITS) - 1)).leading_zeros();
        ((halvings as usize) << (BITS - 1)) + index(ns >> halvings)
    }

    #[inline]
    fn record(&mut self, ns: u64) {
        self.counts[Self::bucket(ns)] += 1;
    }

    /// Records a time as [`Buckets::record`], unless it is longer than the longest.
    #[inline]
    fn record_if_short(&mut self, ns: u64) {
        if let Some(count) = self.counts.get_mut(Self::bucket(ns)) {
            *count += 1;
        }
    }

    /// The middle of a bucket.
    fn middle(bucket: usize) -> u64 {
        let halvings = (bucket >> (BITS - 1)).saturating_sub(1);
        let least = ((bucket - (halvings << (BITS - 1))) as u64) << halvings;
        least + (1 << halvings >> 1)
    }

    /// Moves what was recorded since the last call to a histogram.
    fn move_to(&mut self, histogram: &mut Histogram<u32>) {
        for (bucket, count) in self.counts.iter_mut().enumerate().filter(|(_, n)| **n > 0) {
            let ns = Self::middle(bucket);
            histogram.saturating_record_n(ns, std::mem::take(count));
        }
    }

    /// Forgets what was recorded.
    fn clear(&mut self) {
        self.counts.fill(0);
    }
}

/// The one-way delays of a flow's packets, in 256 buckets for every doubling; there are as many as it takes.
#[derive(Clone, Default)]
pub(crate) struct PacketDelays {
    packets: u64,
    sum_ns: u64,
    least_ns: u64,
    buckets: Buckets<9>,
}

impl PacketDelays {
    /// A packet has arrived.
    pub fn record(&mut self, delay: Duration) {
        let ns = delay.nanos();
        self.least_ns = if self.packets == 0 { ns } else { self.least_ns.min(ns) };
        self.packets += 1;
        self.sum_ns += ns;
        let bucket = Buckets::<9>::bucket(ns);
        if bucket >= self.buckets.counts.len() {
            self.buckets.counts.resize(bucket + 1, 0);
        }
        self.buckets.counts[bucket] += 1;
    }

    pub fn finish(self) -> TimedSegment {
        let counts = self.buckets.counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        TimedSegment {
            packets: self.packets,
            sum_ns: self.sum_ns,
            least_ns: self.least_ns,
            delays: counts.map(|(bucket, count)| (Buckets::<9>::middle(bucket), count)).collect(),
            ..TimedSegment::default()
        }
    }
}

impl Counts {
    /// A packet arrives that finds so many waiting.
    #[inline]
    fn arrive(&mut self, bytes: u16, waiting: u64) {
        self.arrived += 1;
        self.arrived_bytes += u64::from(bytes);
        self.queue_seen_packets += waiting;
    }

    fn drop(&mut self, bytes: u16, ecn: bool, cause: Cause) {
        self.dropped_bytes += u64::from(bytes);
        self.dropped_ecn += u64::from(ecn);
        match cause {
            Cause::Early => self.dropped_early += 1,
            Cause::Forced => self.dropped_forced += 1,
            Cause::Overflow => self.dropped_overflow += 1,
        }
    }

    /// A packet leaves after this delay.
    #[inline]
    fn depart(&mut self, packet: &Departure, delay_ns: u64) {
        self.departed += 1;
        self.departed_bytes += u64::from(packet.bytes);
        self.delay_sum_ns += delay_ns;
        if packet.marked | packet.lost {
            self.marked += u64::from(packet.marked);
            self.lost += u64::from(packet.lost);
        }
    }
}

fn empty_stats(longest_ns: u64) -> ClassStats {
    ClassStats {
        counts: Counts::default(),
        drops: None,
        delay_ns: histogram(longest_ns, 3),
        rtt_ns: histogram(2, 0), // until the run is over
        airtime: Duration::ZERO,
    }
}

fn histogram(longest_ns: u64, digits: u8) -> Histogram<u32> {
    Histogram::new_with_bounds(1, longest_ns, digits)
        .expect("1 <= 2 * 1 <= the longest time; at most 5 digits")
}

/// The round-trip times that senders measured, by segment. They come in the order of each sender's clock, so all
/// segments are open at a time.
pub(crate) struct RoundTrips {
    /// Segments, and the time before and after them.
    spans: usize,
    /// The ways of flows: their class, and the observed links that their data crosses.
    ways: Vec<(u16, Vec<LinkId>)>,
    /// Per flow: the first cell of its way.
    flows: Vec<u32>,
    /// Round-trip times by way and segment: before the warm-up's end, the measured ones, and after the end.
    cells: Vec<RoundTripTimes>,
    longest_ns: u64,
}

impl RoundTrips {
    pub fn new(network: &Network) -> Self {
        let spans = bounds(&network.measure).len() + 1;
        let mut ways: Vec<(u16, Vec<LinkId>)> = Vec::new();
        let first_cell = |f: &FlowSpec| {
            let observed = f.forward.iter().copied().filter(|l| network.links[l.0 as usize].observe);
            let way = (f.class, observed.collect());
            // Flows of one group follow each other: look at the latest first.
            let at = ways.iter().rposition(|w| *w == way).unwrap_or_else(|| {
                ways.push(way);
                ways.len() - 1
            });
            (at * spans) as u32
        };
        let flows = network.flows.iter().map(first_cell).collect();
        let longest_ns = longest_delay_ns(&network.measure);
        let cells = vec![RoundTripTimes::new(longest_ns); ways.len() * spans];
        RoundTrips { spans, ways, flows, cells, longest_ns }
    }

    /// A sender measured `rtt` in a segment; the warm-up is number 0.
    #[inline]
    pub fn measured(&mut self, flow: u32, segment: usize, rtt: Duration) {
        self.cells[self.flows[flow as usize] as usize + segment].record_if_short(rtt.nanos());
    }

    /// Puts them where they belong.
    pub fn put_into<'a>(self, links: impl Iterator<Item = &'a mut LinkOutcome>) {
        for link in links {
            for ((class, crossed), cells) in self.ways.iter().zip(self.cells.chunks(self.spans)) {
                if !crossed.contains(&link.link) {
                    continue;
                }
                for (segment, cell) in link.segments.iter_mut().zip(&cells[1..]) {
                    let all = &mut segment.classes[usize::from(*class)].rtt_ns;
                    if all.high() < self.longest_ns {
                        *all = histogram(self.longest_ns, 2);
                    }
                    cell.clone().move_to(all);
                }
            }
        }
    }
}

/// One class at this link.
struct Class {
    /// The counts since the start of the run.
    counts: Counts,
    /// The counts at the last boundary of a segment, and at the last step.
    at_segment: Counts,
    at_step: Counts,
    /// The delays of this segment.
    delays: Delays,
    drops: Option<(Time, Time)>,
}

/// Integrals of the queue and of its square since the start, of packets and of bytes, times
/// nanoseconds; exact.
#[derive(Clone, Copy, Default)]
struct Integrals {
    packets: u128,
    bytes: u128,
    packets2: u128,
    bytes2: u128,
}

/// The packets that wait, and their integrals by parts: up to T, the integral of x is x(T) T less the sum of each
/// change of x times when it happened. A change costs fewer instructions than what has been so since the
/// last one. Sums wrap, and an integral that fits in 128 bits comes out right all the same; the change of
/// a square fits in 64 bits for a queue of up to 4 GB.
///
/// While all packets are as large, what is summed for packets is enough.
#[derive(Clone, Copy, Default)]
struct Backlog {
    packets: u64,
    bytes: u64,
    /// While this is not zero, `bytes` is so many times `packets`, and the sums of bytes wait to be taken in.
    each: u64,
    /// Less the sums of changes times when they happened: since `each` has held, and before.
    even: Even,
    sums: Integrals,
}

/// The sums of packets alone.
#[derive(Clone, Copy, Default)]
struct Even {
    packets: u128,
    packets2: u128,
}

/// `x` times `t`, in nanoseconds.
#[inline]
fn times(x: u64, t: Time) -> u128 {
    x as u128 * t.nanos() as u128
}

impl Backlog {
    /// A packet of `bytes` waits from `now` on.
    #[inline]
    fn join(&mut self, now: Time, bytes: u64) {
        if bytes != self.each {
            return self.join_any(now, bytes);
        }
        self.even.packets = self.even.packets.wrapping_sub(now.nanos() as u128);
        self.even.packets2 = self.even.packets2.wrapping_sub(times(2 * self.packets + 1, now));
        self.packets += 1;
        self.bytes += bytes;
    }

    /// A packet of `bytes` waits no longer.
    #[inline]
    fn leave(&mut self, now: Time, bytes: u64) {
        if bytes != self.each {
            return self.leave_any(now, bytes);
        }
        self.packets -= 1;
        self.bytes -= bytes;
        self.even.packets = self.even.packets.wrapping_add(now.nanos() as u128);
        self.even.packets2 = self.even.packets2.wrapping_add(times(2 * self.packets + 1, now));
    }

    /// [`Backlog::join`] where not all packets are as large.
    #[inline(never)]
    fn join_any(&mut self, now: Time, bytes: u64) {
        if self.each != 0 {
            self.take_in();
        }
        if self.packets == 0 {
            self.each = bytes;
            return self.join(now, bytes);
        }
        let sums = &mut self.sums;
        sums.packets = sums.packets.wrapping_sub(now.nanos() as u128);
        sums.bytes = sums.bytes.wrapping_sub(times(bytes, now));
        sums.packets2 = sums.packets2.wrapping_sub(times(2 * self.packets + 1, now));
        sums.bytes2 = sums.bytes2.wrapping_sub(times((2 * self.bytes + bytes) * bytes, now));
        self.packets += 1;
        self.bytes += bytes;
    }

    /// [`Backlog::leave`] likewise.
    #[inline(never)]
    fn leave_any(&mut self, now: Time, bytes: u64) {
        if self.each != 0 {
            self.take_in();
        }
        self.packets -= 1;
        self.bytes -= bytes;
        let sums = &mut self.sums;
        sums.packets = sums.packets.wrapping_add(now.nanos() as u128);
        sums.bytes = sums.bytes.wrapping_add(times(bytes, now));
        sums.packets2 = sums.packets2.wrapping_add(times(2 * self.packets + 1, now));
        sums.bytes2 = sums.bytes2.wrapping_add(times((2 * self.bytes + bytes) * bytes, now));
        // Now and then it is asked whether all are as large again: where sizes are mixed, they seldom are for long.
        if self.packets % 8 == 1 && self.packets * bytes == self.bytes {
            self.each = bytes;
        }
    }

    /// Adds what has been summed for packets alone to the sums of all; their sizes may differ from now on.
    fn take_in(&mut self) {
        self.sums = self.all_sums();
        (self.each, self.even) = (0, Even::default());
    }

    fn all_sums(&self) -> Integrals {
        let Even { packets, packets2 } = self.even;
        let each = self.each as u128;
        Integrals {
            packets: self.sums.packets.wrapping_add(packets),
            bytes: self.sums.bytes.wrapping_add(packets.wrapping_mul(each)),
            packets2: self.sums.packets2.wrapping_add(packets2),
            bytes2: self.sums.bytes2.wrapping_add(packets2.wrapping_mul(each * each)),
        }
    }

    /// The integrals from the start up to `t`, at or after every change.
    fn integrals(&self, t: Time) -> Integrals {
        let sums = self.all_sums();
        Integrals {
            packets: times(self.packets, t).wrapping_add(sums.packets),
            bytes: times(self.bytes, t).wrapping_add(sums.bytes),
            packets2: times(self.packets * self.packets, t).wrapping_add(sums.packets2),
            bytes2: times(self.bytes * self.bytes, t).wrapping_add(sums.bytes2),
        }
    }
}

/// The bits that a link can send. A packet keeps the rate at which its transmission began, so a change
/// of the rate holds from the end of the transmission that it falls into.
struct Capacity {
    bps: f64,
    /// The time since which these have been added up, and how many there are.
    since: Time,
    bits: f64,
    /// The rate that is to hold, and from when.
    next: Option<(Time, f64)>,
    to_come: ToCome<BitRate>,
}

impl Capacity {
    fn new(rate: &Schedule<BitRate>) -> Self {
        let bps = rate.initial.bps() as f64;
        Capacity { bps, since: Time::ZERO, bits: 0.0, next: None, to_come: rate.to_come() }
    }

    /// The time of the next change of the rate.
    fn next_change(&self) -> Time {
        self.to_come.due()
    }

    fn add_to(&mut self, t: Time) {
        self.bits += self.bps * (t - self.since).as_secs_f64();
        self.since = t;
    }

    /// Takes in what changes at `t`, where a transmission under way lasts until `busy_until`.
    fn change(&mut self, t: Time, busy_until: Time) {
        if self.next_change() == t
            && let Some(rate) = self.to_come.pop()
        {
            self.run(t);
            self.next = Some((busy_until.max(t), rate.bps() as f64));
        }
    }

    fn run(&mut self, t: Time) {
        if let Some((from, rate)) = self.next.take_if(|n| n.0 <= t) {
            self.add_to(from);
            self.bps = rate;
        }
        self.add_to(t);
    }

    /// The bits of the time up to `t` since the last call.
    fn take(&mut self, t: Time) -> f64 {
        self.run(t);
        std::mem::take(&mut self.bits)
    }
}

/// The recorder of one link.
pub(crate) struct Recorder {
    link: LinkId,
    name: String,
    capacity: Capacity,
    waiting: Backlog,
    /// The packet whose transmission began last: when, and its size.
    last_start: Time,
    last_bytes: u16,
    next_mark: Time,
    digest: u64,
    classes: Vec<Class>,
    /// The lanes that have a name: those of the discipline, the leaves of the tree, or the users of the cell.
    lane_names: Vec<String>,
    lanes: Vec<Class>,
    /// The airtime of each lane of a channel so far, and at the last boundary of a segment; none of other links.
    airtimes: Vec<[Duration; 2]>,
    /// The end of the warm-up, the boundaries, the end.
    bounds: Vec<Time>,
    /// The number of them that have passed.
    passed: usize,
    /// The integrals at the last boundary, and at the last step.
    sums_at_segment: Integrals,
    sums_at_step: Integrals,
    segments: Vec<Segment>,
    /// The statistics of the segments to come, of classes and of lanes, made beforehand so that the run takes
    /// no memory.
    blank: Vec<[Vec<ClassStats>; 2]>,
    /// Bits of the packet sent at the last boundary that were still to be sent.
    carried_bits: f64,
    step: Option<Duration>,
    step_end: Time,
    series: Series,
    losses: Losses,
    watcher: Option<Arc<dyn Watcher>>,
}

/// The events of loss at a link, see [`LossEvent`].
pub(crate) struct Losses {
    classes: usize,
    /// The longest round trip without queueing.
    round: Duration,
    /// The number of the event in which each flow lost last, counted from 1; [`Losses::NO`] if it does not count.
    last: Vec<u32>,
    /// The time at which the event under way is over.
    until: Time,
    /// The beginning of each event, and how many flows of each class lost.
    times: Vec<Time>,
    losers: Vec<u32>,
}

impl Losses {
    const NO: u32 = u32::MAX;

    pub fn new(link: LinkId, network: &Network) -> Self {
        let counts = |flow: &FlowSpec| {
            matches!(flow.traffic, Traffic::Tcp { app: App::Bulk, .. }) && flow.forward.contains(&link)
        };
        let delay = |l: &LinkId| network.links[l.0 as usize].delay.initial;
        let way = |flow: &FlowSpec| {
            flow.forward.iter().chain(&flow.reverse).map(delay).fold(Duration::ZERO, |sum, d| sum + d)
        };
        let round = network.flows.iter().filter(|f| counts(f)).map(way).max();
        let last = |flow| if counts(flow) { 0 } else { Losses::NO };
        let classes = network.classes.len();
        // Made beforehand so that the run takes no memory, within reason.
        let events =
            round.map_or(0, |r| index((network.measure.end.nanos() / r.nanos().max(1)).min(1 << 14)) + 1);
        Losses {
            classes,
            round: round.unwrap_or_default(),
            last: if round.is_some() { network.flows.iter().map(last).collect() } else { Vec::new() },
            until: Time::ZERO,
            times: Vec::with_capacity(events),
            losers: Vec::with_capacity(events * classes),
        }
    }

    /// A packet is dropped; what waits takes `wait_s` to send.
    fn lost(&mut self, now: Time, class: u16, pkt: Pkt, wait_s: f64) {
        let Some(last) = self.last.get_mut(pkt.flow() as usize) else { return };
        if *last == Losses::NO || pkt.is_ack() {
            return;
        }
        if now >= self.until {
            let wait = if wait_s.is_finite() { Duration::from_secs_f64(wait_s) } else { Duration::ZERO };
            self.until = now + self.round + wait;
            self.times.push(now);
            self.losers.resize(self.times.len() * self.classes, 0);
        }
        let event = self.times.len() as u32;
        if std::mem::replace(last, event) != event {
            self.losers[(event as usize - 1) * self.classes + class as usize] += 1;
        }
    }

    fn finish(self) -> Vec<LossEvent> {
        let losers = self.losers.chunks(self.classes.max(1)).map(<[u32]>::to_vec);
        self.times.into_iter().zip(losers).map(|(time, losers)| LossEvent { time, losers }).collect()
    }
}

impl Recorder {
    pub fn new(
        id: LinkId,
        spec: &LinkSpec,
        losses: Losses,
        measure: &Measure,
        watcher: Option<Arc<dyn Watcher>>,
    ) -> Self {
        let classes = losses.classes;
        let bounds = bounds(measure);
        let step_end = measure.step.map_or(Time::MAX, |s| Time::ZERO + s);
        let samples = measure.step.map_or(0, |s| index(measure.end.nanos() / s.nanos().max(1)) + 1);
        let series = Series {
            time_s: Vec::with_capacity(samples),
            queue_packets: Vec::with_capacity(samples),
            queue_bytes: Vec::with_capacity(samples),
            queue_mean_packets: Vec::with_capacity(samples),
            delay_mean_s: Vec::with_capacity(samples),
            throughput_bps: (0..classes).map(|_| Vec::with_capacity(samples)).collect(),
            dropped: Vec::with_capacity(samples),
            marked: Vec::with_capacity(samples),
            internals: Vec::new(),
        };
        let segments = bounds.len() - 1;
        let longest = longest_delay_ns(measure);
        let capacity = Capacity::new(&spec.capacity());
        let class = || Class {
            counts: Counts::default(),
            at_segment: Counts::default(),
            at_step: Counts::default(),
            delays: Delays::new(longest),
            drops: None,
        };
        let blank = |n: usize| (0..n).map(|_| empty_stats(longest)).collect();
        let lane_names = lane_names(spec);
        Recorder {
            link: id,
            name: spec.name.clone(),
            next_mark: bounds[0].min(step_end).min(capacity.next_change()),
            capacity,
            waiting: Backlog::default(),
            last_start: Time::ZERO,
            last_bytes: 0,
            digest: 0,
            classes: (0..classes).map(|_| class()).collect(),
            lanes: lane_names.iter().map(|_| class()).collect(),
            airtimes: lane_names
                .iter()
                .filter(|_| spec.wifi.is_some())
                .map(|_| [Duration::ZERO; 2])
                .collect(),
            bounds,
            passed: 0,
            sums_at_segment: Integrals::default(),
            sums_at_step: Integrals::default(),
            segments: Vec::with_capacity(segments),
            blank: (0..segments).map(|_| [blank(classes), blank(lane_names.len())]).collect(),
            lane_names,
            carried_bits: 0.0,
            step: measure.step,
            step_end,
            series,
            losses,
            watcher,
        }
    }

    fn end_step(&mut self, t: Time, observe: &dyn Fn(&mut dyn Probe)) {
        let Some(step) = self.step else { return };
        let out = &mut self.series;
        let sums = self.waiting.integrals(t);
        let area = (sums.packets - self.sums_at_step.packets) as f64;
        self.sums_at_step = sums;
        let (mut departed, mut delay_ns, mut dropped, mut marked) = (0, 0, 0, 0);
        for (class, rates) in self.classes.iter_mut().zip(&mut out.throughput_bps) {
            let new = class.counts - std::mem::replace(&mut class.at_step, class.counts);
            rates.push(new.departed_bytes as f64 * 8.0 / step.as_secs_f64());
            departed += new.departed;
            delay_ns += new.delay_sum_ns;
            dropped += new.dropped();
            marked += new.marked;
        }
        out.time_s.push(t.as_secs_f64());
        out.queue_packets.push(self.waiting.packets as f64);
        out.queue_bytes.push(self.waiting.bytes as f64);
        out.queue_mean_packets.push(area / step.nanos() as f64);
        out.delay_mean_s.push(delay_ns as f64 * 1e-9 / departed as f64);
        out.dropped.push(dropped);
        out.marked.push(marked);
        let (samples, all) = (out.time_s.len(), out.time_s.capacity());
        observe(&mut Internals { out: &mut out.internals, samples, all, at: 0 });
        for internal in &mut out.internals {
            internal.values.resize(samples, f64::NAN);
        }
        self.step_end = t + step;
        if let Some(watcher) = &self.watcher {
            watcher.sampled(self.link, &self.series);
        }
    }

    fn end_segment(&mut self, t: Time, busy_until: Time) {
        // The part of the last packet that is sent after the boundary.
        let after = match busy_until.since(t).nanos() {
            0 => 0.0,
            rest => {
                let whole = (busy_until - self.last_start).nanos();
                self.last_bytes as f64 * 8.0 * rest as f64 / whole as f64
            }
        };
        let begun = |c: &Class| c.counts.departed_bytes - c.at_segment.departed_bytes;
        let begun_bytes: u64 = self.classes.iter().map(begun).sum();
        let sent_bits = (begun_bytes * 8) as f64 + self.carried_bits - after;
        self.carried_bits = after;
        let capacity_bits = self.capacity.take(t);
        let sums = self.waiting.integrals(t);
        if self.passed == 0 {
            // The warm-up's.
            self.classes.iter_mut().chain(&mut self.lanes).for_each(|c| c.delays.clear());
        } else {
            let [mut classes, mut lanes] = self.blank.pop().expect("one for each segment");
            let measured = self.classes.iter_mut().zip(&mut classes);
            for (class, stats) in measured.chain(self.lanes.iter_mut().zip(&mut lanes)) {
                stats.counts = class.counts - class.at_segment;
                class.delays.move_to(&mut stats.delay_ns);
                stats.drops = class.drops;
            }
            for (stats, [so_far, before]) in lanes.iter_mut().zip(&self.airtimes) {
                stats.airtime = *so_far - *before;
            }
            let (now, then) = (sums, self.sums_at_segment);
            let from = self.bounds[self.passed - 1];
            self.segments.push(Segment {
                from,
                to: t,
                capacity_bits,
                sent_bits,
                queue_packet_seconds: (now.packets - then.packets) as f64 * 1e-9,
                queue_packet2_seconds: (now.packets2 - then.packets2) as f64 * 1e-9,
                queue_byte_seconds: (now.bytes - then.bytes) as f64 * 1e-9,
                queue_byte2_seconds: (now.bytes2 - then.bytes2) as f64 * 1e-9,
                classes,
                lanes,
            });
        }
        let recorded = self.classes.iter_mut().chain(&mut self.lanes);
        recorded.for_each(|c| (c.at_segment, c.drops) = (c.counts, None));
        self.airtimes.iter_mut().for_each(|airtime| airtime[1] = airtime[0]);
        self.sums_at_segment = sums;
        self.passed += 1;
    }

    #[cold]
    fn count_drop(&mut self, now: Time, class: u16, pkt: Pkt, cause: Cause) {
        let wait_s = self.waiting.bytes as f64 * 8.0 / self.capacity.bps;
        self.losses.lost(now, class, pkt, wait_s);
        let class = &mut self.classes[class as usize];
        class.drops = Some((class.drops.map_or(now, |(first, _)| first), now));
        class.counts.drop(pkt.bytes(), pkt.ecn().is_capable(), cause);
    }
}

impl Observer for Recorder {
    type Ticket = ();

    fn ticket(&self) {}

    #[inline]
    fn next_mark(&self) -> Time {
        self.next_mark
    }

    #[cold]
    fn mark(&mut self, observe: &dyn Fn(&mut dyn Probe), busy_until: Time) {
        let t = self.next_mark;
        self.capacity.change(t, busy_until);
        if t == self.step_end {
            self.end_step(t, observe);
        }
        if self.bounds.get(self.passed) == Some(&t) {
            if !self.airtimes.is_empty() {
                observe(&mut Airtimes(&mut self.airtimes));
            }
            self.end_segment(t, busy_until);
        }
        let bound = self.bounds.get(self.passed).copied().unwrap_or(Time::MAX);
        self.next_mark = self.step_end.min(bound).min(self.capacity.next_change());
    }

    #[inline(always)]
    fn arrived(&mut self, now: Time, class: u16, _: u8, pkt: Pkt, admission: Admission) {
        let outcome = match admission {
            Admission::Queued => 0,
            Admission::Marked => 1,
            Admission::Dropped(_) => 2,
        };
        let x = now.nanos() ^ pkt.fingerprint().rotate_left(17) ^ outcome << 62;
        self.digest = (self.digest.rotate_left(23) ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let counts = &mut self.classes[class as usize].counts;
        counts.arrive(pkt.bytes(), self.waiting.packets);
        if let Admission::Dropped(cause) = admission {
            self.count_drop(now, class, pkt, cause);
        }
    }

    #[inline]
    fn waits(&mut self, now: Time, bytes: u16) {
        self.waiting.join(now, bytes as u64);
    }

    #[inline(always)]
    fn leaves(&mut self, now: Time, bytes: u16) {
        self.waiting.leave(now, bytes as u64);
    }

    fn dropped_from_queue(&mut self, now: Time, (): (), packet: EarlyEnd) {
        let EarlyEnd { class, pkt, cause, .. } = packet;
        self.waiting.leave(now, u64::from(pkt.bytes()));
        self.count_drop(now, class, pkt, cause);
    }

    #[inline(always)]
    fn passed(&mut self, now: Time, (): (), packet: Departure) {
        self.last_start = now;
        self.last_bytes = packet.bytes;
        let delay = (now - packet.arrived).nanos();
        let class = &mut self.classes[packet.class as usize];
        class.delays.record(delay);
        class.counts.depart(&packet, delay);
    }

    fn finish(self) -> Option<(LinkOutcome, u64)> {
        let outcome = LinkOutcome {
            link: self.link,
            name: self.name,
            lanes: self.lane_names,
            segments: self.segments,
            series: self.series,
            loss_events: self.losses.finish(),
            log: Vec::new(),
        };
        Some((outcome, self.digest))
    }
}

/// A recorder that also counts by lane. It is a type of its own so that a link with one queue need not ask.
pub(crate) struct InLanes(pub Recorder);

impl Observer for InLanes {
    type Ticket = ();

    fn ticket(&self) {}

    #[inline]
    fn next_mark(&self) -> Time {
        self.0.next_mark
    }

    fn mark(&mut self, observe: &dyn Fn(&mut dyn Probe), busy_until: Time) {
        self.0.mark(observe, busy_until);
    }

    #[inline(always)]
    fn arrived(&mut self, now: Time, class: u16, lane: u8, pkt: Pkt, admission: Admission) {
        if let Some(counts) = self.0.lanes.get_mut(usize::from(lane)).map(|lane| &mut lane.counts) {
            counts.arrive(pkt.bytes(), self.0.waiting.packets);
            if let Admission::Dropped(cause) = admission {
                counts.drop(pkt.bytes(), pkt.ecn().is_capable(), cause);
            }
        }
        self.0.arrived(now, class, lane, pkt, admission);
    }

    #[inline]
    fn waits(&mut self, now: Time, bytes: u16) {
        self.0.waits(now, bytes);
    }

    #[inline(always)]
    fn leaves(&mut self, now: Time, bytes: u16) {
        self.0.leaves(now, bytes);
    }

    fn dropped_from_queue(&mut self, now: Time, (): (), packet: EarlyEnd) {
        if let Some(lane) = self.0.lanes.get_mut(usize::from(packet.lane)) {
            lane.counts.drop(packet.pkt.bytes(), packet.pkt.ecn().is_capable(), packet.cause);
        }
        self.0.dropped_from_queue(now, (), packet);
    }

    #[inline(always)]
    fn passed(&mut self, now: Time, (): (), packet: Departure) {
        if let Some(lane) = self.0.lanes.get_mut(usize::from(packet.lane)) {
            let delay = (now - packet.arrived).nanos();
            lane.delays.record(delay);
            lane.counts.depart(&packet, delay);
        }
        self.0.passed(now, (), packet);
    }

    fn finish(self) -> Option<(LinkOutcome, u64)> {
        self.0.finish()
    }
}

/// The names of the lanes at a link.
fn lane_names(spec: &LinkSpec) -> Vec<String> {
    if let Some(cell) = &spec.cell {
        return cell.users.iter().map(|user| user.name.clone()).collect();
    }
    if let Some(tree) = &spec.tree {
        // Only a tree that can be served gets here.
        return tree.plan.leaves().unwrap_or_default().into_iter().map(String::from).collect();
    }
    if let Some(wifi) = &spec.wifi {
        return wifi.channel.lanes();
    }
    match spec.queue.as_deref().map(|queue| &queue.algorithm) {
        Some(Algorithm::Discipline(discipline)) => {
            discipline.lane_names().iter().map(|name| name.to_string()).collect()
        }
        _ => Vec::new(),
    }
}

/// The end of the warm-up, the boundaries between segments and the end of the run.
pub(crate) fn bounds(measure: &Measure) -> Vec<Time> {
    let mut bounds = vec![measure.warmup];
    bounds.extend(&measure.boundaries);
    bounds.push(measure.end);
    bounds
}

/// Collects an algorithm's signals into the series.
struct Internals<'a> {
    out: &'a mut Vec<Internal>,
    /// Samples of the series, this one included.
    samples: usize,
    /// Samples of the series when it is complete.
    all: usize,
    /// The place of the next signal if the algorithm reports the same ones as last time.
    at: usize,
}

impl Probe for Internals<'_> {
    fn value(&mut self, name: &'static str, unit: &'static str, x: f64) {
        let expected = self.out.get(self.at).is_some_and(|i| i.name == name);
        let i = if expected { Some(self.at) } else { self.out.iter().position(|i| i.name == name) };
        let i = i.unwrap_or_else(|| {
            self.out.push(Internal { name, unit, values: Vec::with_capacity(self.all) });
            self.out.len() - 1
        });
        self.out[i].values.resize(self.samples - 1, f64::NAN);
        self.out[i].values.push(x);
        self.at = i + 1;
    }
}

/// What receives the airtime of each lane so far.
struct Airtimes<'a>(&'a mut [[Duration; 2]]);

impl Probe for Airtimes<'_> {
    fn value(&mut self, _: &'static str, _: &'static str, _: f64) {}

    fn airtime(&mut self, lane: usize, time: Duration) {
        if let Some([so_far, _]) = self.0.get_mut(lane) {
            *so_far = time;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Kind;
    use quell_aqm::Seed;

    /// Integrals by parts are those of what has been so since the last change, added up; late in a
    /// long run too, where the sums of squared bytes pass 2^64, and whether all packets are as large or not.
    #[test]
    fn integrals_by_parts_are_the_integrals() {
        let mut rng = Seed(1).stream("recorder");
        let mut backlog = Backlog::default();
        let (mut waiting, mut now, mut sums) = (Vec::new(), 0u64, Integrals::default());
        let mut even = 0;
        for i in 0..10_000 {
            let phase = i / 500 % 4;
            let gap = rng.uniform_in(0.0, 2e9) as u64;
            let (n, b) = (waiting.len() as u128, waiting.iter().sum::<u64>() as u128);
            now += gap;
            sums.packets += n * gap as u128;
            sums.bytes += b * gap as u128;
            sums.packets2 += n * n * gap as u128;
            sums.bytes2 += b * b * gap as u128;
            if !waiting.is_empty() && rng.chance(if phase == 1 { 0.6 } else { 0.4 }) {
                backlog.leave(Time::from_nanos(now), waiting.remove(0));
            } else {
                let bytes = match phase {
                    0 => rng.uniform_in(1.0, 65_535.0) as u64,
                    1 | 2 => 500,
                    _ => 500 + 1000 * u64::from(rng.chance(0.1)),
                };
                waiting.push(bytes);
                backlog.join(Time::from_nanos(now), bytes);
            }
            even += u32::from(backlog.each != 0);
            let found = backlog.integrals(Time::from_nanos(now));
            let all = |i: &Integrals| [i.packets, i.bytes, i.packets2, i.bytes2];
            assert_eq!(all(&found), all(&sums));
        }
        assert!(sums.bytes2 > 1 << 64 && waiting.len() > 100, "{} wait", waiting.len());
        assert!((1000..9000).contains(&even), "{even}");
    }
    /// An event lasts for a round trip and the time that what waits takes, and is over then: a loss at its very end
    /// begins the next one.
    #[test]
    fn events_of_loss_follow_each_other_without_a_gap() {
        let mut losses = Losses {
            classes: 1,
            round: Duration::from_millis(100),
            last: vec![0; 3],
            until: Time::ZERO,
            times: Vec::new(),
            losers: Vec::new(),
        };
        let end = 120_000_000;
        for (ns, flow) in [(0, 0), (end - 1, 1), (end - 1, 1), (end, 2), (end, 0)] {
            losses.lost(Time::from_nanos(ns), 0, Pkt::new(Kind::Data, flow, 0, 0, 1000), 0.02);
        }
        let events = [(0, 2), (end, 2)];
        let want = events.map(|(ns, flows)| LossEvent { time: Time::from_nanos(ns), losers: vec![flows] });
        assert_eq!(losses.finish(), want);
    }
}
