//! Measures one link: counters and delays per class and segment, exact time averages of the queue,
//! the time series, and the digest.

use hdrhistogram::Histogram;
use quell_aqm::{Aqm, Cause, Probe};
use quell_queue::Admission;
use quell_units::{BitRate, Duration, Time};

use crate::network::{LinkId, LinkSpec, Measure, Schedule};
use crate::outcome::{ClassStats, Internal, LinkOutcome, Segment, Series};
use crate::packet::Pkt;

/// Delays up to a thousand seconds, to three digits.
const LONGEST_DELAY_US: u64 = 1_000_000_000;

fn empty_stats() -> ClassStats {
    ClassStats {
        arrived: 0,
        arrived_bytes: 0,
        dropped_early: 0,
        dropped_forced: 0,
        dropped_overflow: 0,
        dropped_bytes: 0,
        marked: 0,
        lost: 0,
        departed: 0,
        departed_bytes: 0,
        delay_sum_ns: 0,
        delay_us: Histogram::new_with_bounds(1, LONGEST_DELAY_US, 3)
            .expect("1 <= 2 * 1 <= the longest delay"),
    }
}

/// Integrals of the queue over time since the start: exact, in units of nanoseconds.
#[derive(Clone, Copy, Default)]
struct Integrals {
    packets: u128,
    packets2: u128,
    bytes: u128,
    bytes2: u128,
}

/// A packet that leaves its queue.
#[derive(Clone, Copy)]
pub(crate) struct Departure {
    /// When it came.
    pub arrived: Time,
    pub class: u16,
    pub bytes: u16,
    /// This queue marked it.
    pub marked: bool,
    /// The wire will lose it.
    pub lost: bool,
}

/// What the series counts within a step.
#[derive(Clone, Default)]
struct Step {
    class_bits: Vec<u64>,
    delay_sum_ns: u64,
    departed: u64,
    dropped: u64,
    marked: u64,
    packets_before: u128,
}

/// The recorder of one link. Its host calls it in order of time and calls [`Recorder::mark`] before
/// anything that happens at or after [`Recorder::next_mark`].
pub(crate) struct Recorder {
    link: LinkId,
    name: String,
    rate: Schedule<BitRate>,
    /// What waits now, and since when it has been so.
    packets: u32,
    bytes: u64,
    since: Time,
    sums: Integrals,
    /// The end of the warm-up, the boundaries, the end.
    bounds: Vec<Time>,
    /// How many of them have passed.
    passed: usize,
    sums_before: Integrals,
    now: Vec<ClassStats>,
    segments: Vec<Segment>,
    /// The packet whose transmission began last: when, and its bits.
    last_start: Time,
    last_bits: u64,
    /// Bits whose transmission began since the last boundary, and what of them and of the packet
    /// before them belongs elsewhere.
    begun_bits: u64,
    carried_bits: f64,
    step: Option<Duration>,
    step_end: Time,
    in_step: Step,
    series: Series,
    next_mark: Time,
    digest: u64,
}

impl Recorder {
    pub fn new(id: LinkId, spec: &LinkSpec, classes: usize, measure: &Measure) -> Self {
        let bounds = bounds(measure);
        let step_end = measure.step.map_or(Time::MAX, |s| Time::ZERO + s);
        let samples = measure.step.map_or(0, |s| (measure.end.nanos() / s.nanos().max(1)) as usize + 1);
        let series = Series {
            time_s: Vec::with_capacity(samples),
            queue_packets: Vec::with_capacity(samples),
            queue_bytes: Vec::with_capacity(samples),
            queue_mean_packets: Vec::with_capacity(samples),
            delay_mean_s: Vec::with_capacity(samples),
            throughput_bps: vec![Vec::with_capacity(samples); classes],
            dropped: Vec::with_capacity(samples),
            marked: Vec::with_capacity(samples),
            internals: Vec::new(),
        };
        Recorder {
            link: id,
            name: spec.name.clone(),
            rate: spec.rate.clone(),
            packets: 0,
            bytes: 0,
            since: Time::ZERO,
            sums: Integrals::default(),
            next_mark: bounds[0].min(step_end),
            bounds,
            passed: 0,
            sums_before: Integrals::default(),
            now: (0..classes).map(|_| empty_stats()).collect(),
            segments: Vec::with_capacity(measure.boundaries.len() + 1),
            last_start: Time::ZERO,
            last_bits: 0,
            begun_bits: 0,
            carried_bits: 0.0,
            step: measure.step,
            step_end,
            in_step: Step { class_bits: vec![0; classes], ..Step::default() },
            series,
            digest: 0,
        }
    }

    /// The next boundary of a segment or step.
    #[inline]
    pub fn next_mark(&self) -> Time {
        self.next_mark
    }

    /// Ends the segment or step that ends at [`Recorder::next_mark`]; `aqm` shows its internals, and
    /// the transmission under way lasts until `busy_until` (or is over).
    #[cold]
    pub fn mark(&mut self, aqm: &impl Aqm, busy_until: Time) {
        let t = self.next_mark;
        self.integrate(t);
        if t == self.step_end {
            self.end_step(t, aqm);
        }
        if self.bounds.get(self.passed) == Some(&t) {
            self.end_segment(t, busy_until);
        }
        self.next_mark = self.step_end.min(self.bounds.get(self.passed).copied().unwrap_or(Time::MAX));
    }

    #[inline]
    fn integrate(&mut self, to: Time) {
        let dt = (to - self.since).nanos() as u128;
        self.since = to;
        if self.packets > 0 {
            // The squares fit into 64 bits below four gigabytes of queue.
            let (p, b) = (self.packets as u64, self.bytes);
            self.sums.packets += p as u128 * dt;
            self.sums.packets2 += (p * p) as u128 * dt;
            self.sums.bytes += b as u128 * dt;
            self.sums.bytes2 += (b * b) as u128 * dt;
        }
    }

    fn end_step(&mut self, t: Time, aqm: &impl Aqm) {
        let Some(step) = self.step else { return };
        let s = &mut self.in_step;
        let out = &mut self.series;
        out.time_s.push(t.as_secs_f64());
        out.queue_packets.push(self.packets as f64);
        out.queue_bytes.push(self.bytes as f64);
        out.queue_mean_packets.push((self.sums.packets - s.packets_before) as f64 / step.nanos() as f64);
        out.delay_mean_s.push(s.delay_sum_ns as f64 * 1e-9 / s.departed as f64);
        for (rates, bits) in out.throughput_bps.iter_mut().zip(&mut s.class_bits) {
            rates.push(std::mem::take(bits) as f64 / step.as_secs_f64());
        }
        out.dropped.push(std::mem::take(&mut s.dropped));
        out.marked.push(std::mem::take(&mut s.marked));
        s.delay_sum_ns = 0;
        s.departed = 0;
        s.packets_before = self.sums.packets;
        let samples = out.time_s.len();
        aqm.observe(&mut Internals { out: &mut out.internals, samples, at: 0 });
        for internal in &mut out.internals {
            internal.values.resize(samples, f64::NAN);
        }
        self.step_end = t + step;
    }

    fn end_segment(&mut self, t: Time, busy_until: Time) {
        // The part of the last packet that is sent after the boundary.
        let after = match busy_until.since(t).nanos() {
            0 => 0.0,
            rest => self.last_bits as f64 * rest as f64 / (busy_until - self.last_start).nanos() as f64,
        };
        let sent_bits = std::mem::take(&mut self.begun_bits) as f64 + self.carried_bits - after;
        self.carried_bits = after;
        let classes = self.now.len();
        let measured = std::mem::replace(&mut self.now, (0..classes).map(|_| empty_stats()).collect());
        if self.passed > 0 {
            let (now, then) = (self.sums, self.sums_before);
            let from = self.bounds[self.passed - 1];
            self.segments.push(Segment {
                from,
                to: t,
                capacity_bits: capacity_bits(&self.rate, from, t),
                sent_bits,
                queue_packet_seconds: (now.packets - then.packets) as f64 * 1e-9,
                queue_packet2_seconds: (now.packets2 - then.packets2) as f64 * 1e-9,
                queue_byte_seconds: (now.bytes - then.bytes) as f64 * 1e-9,
                queue_byte2_seconds: (now.bytes2 - then.bytes2) as f64 * 1e-9,
                classes: measured,
            });
        }
        self.sums_before = self.sums;
        self.passed += 1;
    }

    /// A packet arrived, and this became of it. One that is kept waits until [`Recorder::departed`].
    #[inline]
    pub fn arrived(&mut self, now: Time, class: u16, pkt: &Pkt, admission: Admission) {
        let bytes = pkt.bytes as u64;
        let outcome = match admission {
            Admission::Queued => 0,
            Admission::Marked => 1,
            Admission::Dropped(_) => 2,
        };
        let x = now.nanos() ^ pkt.fingerprint().rotate_left(17) ^ outcome << 62;
        self.digest = (self.digest.rotate_left(23) ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let stats = &mut self.now[class as usize];
        stats.arrived += 1;
        stats.arrived_bytes += bytes;
        match admission {
            Admission::Dropped(cause) => self.count_drop(class, bytes, cause),
            _ => {
                self.integrate(now);
                self.packets += 1;
                self.bytes += bytes;
            }
        }
    }

    /// A packet that waited was dropped at the head.
    pub fn dropped_at_head(&mut self, now: Time, class: u16, bytes: u16, cause: Cause) {
        self.leave_queue(now, bytes);
        self.count_drop(class, bytes as u64, cause);
    }

    fn count_drop(&mut self, class: u16, bytes: u64, cause: Cause) {
        let stats = &mut self.now[class as usize];
        stats.dropped_bytes += bytes;
        match cause {
            Cause::Early => stats.dropped_early += 1,
            Cause::Forced => stats.dropped_forced += 1,
            Cause::Overflow => stats.dropped_overflow += 1,
        }
        self.in_step.dropped += 1;
    }

    #[inline]
    fn leave_queue(&mut self, now: Time, bytes: u16) {
        self.integrate(now);
        self.packets -= 1;
        self.bytes -= bytes as u64;
    }

    /// The transmission of a packet began at `now`.
    #[inline]
    pub fn departed(&mut self, now: Time, packet: Departure) {
        let Departure { arrived, class, bytes, marked, lost } = packet;
        self.leave_queue(now, bytes);
        self.last_start = now;
        self.last_bits = bytes as u64 * 8;
        self.begun_bits += self.last_bits;
        let delay = (now - arrived).nanos();
        let stats = &mut self.now[class as usize];
        stats.lost += lost as u64;
        stats.departed += 1;
        stats.departed_bytes += bytes as u64;
        stats.marked += marked as u64;
        stats.delay_sum_ns += delay;
        stats.delay_us.saturating_record(delay / 1000);
        let s = &mut self.in_step;
        s.class_bits[class as usize] += self.last_bits;
        s.departed += 1;
        s.delay_sum_ns += delay;
        s.marked += marked as u64;
    }

    /// What was measured, and the digest; every mark up to the end has been made.
    pub fn finish(self) -> (LinkOutcome, u64) {
        let outcome =
            LinkOutcome { link: self.link, name: self.name, segments: self.segments, series: self.series };
        (outcome, self.digest)
    }
}

/// The end of the warm-up, the boundaries between segments and the end of the run.
pub(crate) fn bounds(measure: &Measure) -> Vec<Time> {
    let mut bounds = vec![measure.warmup];
    bounds.extend(&measure.boundaries);
    bounds.push(measure.end);
    bounds
}

/// The integral of a rate over time.
fn capacity_bits(rate: &Schedule<BitRate>, from: Time, to: Time) -> f64 {
    let inner = rate.changes.iter().map(|c| c.0).filter(|t| *t > from && *t < to);
    let mut at = from;
    inner
        .chain([to])
        .map(|next| {
            let bits = rate.at(at).bps() as f64 * (next - at).as_secs_f64();
            at = next;
            bits
        })
        .sum()
}

/// Collects an algorithm's signals into the series.
struct Internals<'a> {
    out: &'a mut Vec<Internal>,
    /// Samples of the series, this one included.
    samples: usize,
    /// Where the next signal stands if the algorithm reports the same ones as last time.
    at: usize,
}

impl Probe for Internals<'_> {
    fn value(&mut self, name: &'static str, unit: &'static str, x: f64) {
        let expected = self.out.get(self.at).is_some_and(|i| i.name == name);
        let i = if expected { Some(self.at) } else { self.out.iter().position(|i| i.name == name) };
        let i = i.unwrap_or_else(|| {
            self.out.push(Internal { name, unit, values: Vec::with_capacity(self.samples) });
            self.out.len() - 1
        });
        self.out[i].values.resize(self.samples - 1, f64::NAN);
        self.out[i].values.push(x);
        self.at = i + 1;
    }
}
