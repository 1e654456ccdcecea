//! The measurement: packet by packet, interval by interval.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Read;

use hdrhistogram::Histogram;

use crate::clock::{Clock, histogram};
use crate::error::{CaptureError, require};
use crate::file::Reader;
use crate::flows::Connections;
use crate::options::Options;
use crate::packet::{self, End, NotIp, Other};
use crate::rate::{Busiest, Dispersion};
use crate::report::{
    Capacity, Direction, FlowCount, Interval, NotIpKind, Report, RoundTrips, Summary, Traffic,
};

/// Measures a capture; `each` is told of every interval as it ends.
///
/// # Errors
/// Where the input is not a capture or cannot be read, and where an option is zero. A capture that is cut
/// or damaged is measured up to there ([`Report::damage`]).
pub fn measure(
    input: impl Read,
    options: &Options,
    mut each: impl FnMut(&Interval),
) -> Result<Report, CaptureError> {
    require(!options.interval.is_zero(), "interval", options.interval, "must be longer than 0 s")?;
    require(!options.window.is_zero(), "window", options.window, "must be longer than 0 s")?;
    let mut reader = Reader::new(quell_files::unpacked(input)?)?;
    let mut meter = Meter::new(options);
    while let Some((record, data)) = reader.next()? {
        meter.packets += 1;
        meter.bytes += u64::from(record.length);
        let Some(time) = record.time else {
            meter.untimed += 1;
            continue;
        };
        let parsed = packet::parse(record.link, data, record.length);
        meter.see(time, record.length, record.tick, &parsed, &mut each);
    }
    Ok(meter.finish(&reader, &mut each))
}

/// More flows than memory would hold.
const MOST_FLOWS: u64 = u32::MAX as u64;
/// No handshake takes longer than an hour.
const LONGEST_TRIP: u64 = 3600 * 1_000_000_000;

/// One direction, as it is measured.
struct Lane {
    packets: u64,
    bytes: u64,
    largest: u32,
    marks: [u64; 4],
    segments: u64,
    repeated: u64,
    busiest: Busiest,
    dispersion: Dispersion,
    clock: Clock,
    /// The senders' part of the handshakes' round-trip times, and all; in nanoseconds.
    sides: (u64, u64),
    now: Traffic,
    /// Counts of the intervals after the first window: flows, flows with data, active ones.
    counts: [Histogram<u64>; 3],
}

impl Lane {
    fn new() -> Self {
        Lane {
            packets: 0,
            bytes: 0,
            largest: 0,
            marks: [0; 4],
            segments: 0,
            repeated: 0,
            busiest: Busiest::default(),
            dispersion: Dispersion::new(),
            clock: Clock::new(),
            sides: (0, 0),
            now: Traffic::default(),
            counts: [(); 3].map(|()| histogram(MOST_FLOWS)),
        }
    }

    fn see(&mut self, clock: u64, length: u32, tick: u64) {
        self.packets += 1;
        self.bytes += u64::from(length);
        self.now.packets += 1;
        self.now.bytes += u64::from(length);
        self.largest = self.largest.max(length);
        self.busiest.see(clock, length);
        self.dispersion.see(clock, length, self.largest / 2, tick);
    }

    fn summary(&self, direction: Direction, start: u64, duration_s: f64) -> Summary {
        let over = |n: u64, d: u64| (d > 0).then(|| n as f64 / d as f64);
        let [_, ect1, ect0, ce] = self.marks;
        let median = |i: usize| self.counts[i].value_at_quantile(0.5);
        let full_packet = f64::from(self.largest);
        let pairs = self.dispersion.mode(full_packet);
        let finer = pairs.is_some_and(|pairs| self.dispersion.is_finer(&pairs, full_packet));
        let busiest = self.busiest.best.map(|(rate, at)| (rate, at.saturating_sub(start) as f64 / 1e9));
        Summary {
            direction,
            packets: self.packets,
            bytes: self.bytes,
            rate_bps: (duration_s > 0.0).then(|| self.bytes as f64 * 8.0 / duration_s),
            mean_packet_bytes: over(self.bytes, self.packets),
            flows: FlowCount { flows: median(0), data_flows: median(1), active: median(2) },
            capacity: Capacity::of(
                busiest,
                pairs,
                finer,
                self.clock.told(),
                over(self.sides.0, self.sides.1),
            ),
            ect_share: over(ect0 + ect1 + ce, self.packets),
            ce_share: over(ce, self.packets),
            retransmitted_share: over(self.repeated, self.segments),
        }
    }
}

struct Meter<'a> {
    options: &'a Options,
    connections: Connections,
    lanes: [Lane; 2],
    packets: u64,
    bytes: u64,
    not_ip: BTreeMap<NotIp, u64>,
    unknown_link: Option<(u64, u16)>,
    untimed: u64,
    late: u64,
    /// The times of the first packet, the earliest and the latest one.
    times: Option<(u64, u64, u64)>,
    /// The beginning of this interval.
    start: u64,
    intervals: u64,
    window_filled: bool,
    /// Connections and repeated handshakes before this interval, and the round trips in it.
    opened_before: u64,
    trips: (u64, u128),
    round_trips: Histogram<u64>,
    trips_total: u128,
}

impl<'a> Meter<'a> {
    fn new(options: &'a Options) -> Self {
        Meter {
            options,
            connections: Connections::new(options.window.nanos()),
            lanes: [Lane::new(), Lane::new()],
            packets: 0,
            bytes: 0,
            not_ip: BTreeMap::new(),
            unknown_link: None,
            untimed: 0,
            late: 0,
            times: None,
            start: 0,
            intervals: 0,
            window_filled: false,
            opened_before: 0,
            trips: (0, 0),
            round_trips: histogram(LONGEST_TRIP),
            trips_total: 0,
        }
    }

    fn see(
        &mut self,
        time: u64,
        length: u32,
        tick: u64,
        parsed: &Result<packet::Packet, Other>,
        each: &mut impl FnMut(&Interval),
    ) {
        let (first, _, clock) = match &mut self.times {
            Some((first, earliest, latest)) => {
                self.late += u64::from(time < *latest);
                *earliest = time.min(*earliest);
                *latest = time.max(*latest);
                (*first, *earliest, *latest)
            }
            none => {
                self.start = time;
                *none.insert((time, time, time))
            }
        };
        let interval = self.options.interval.nanos();
        let passed = clock - self.start;
        if passed >= interval {
            self.end_interval(interval, first, each);
            // Intervals without packets are passed over.
            self.start += passed / interval * interval;
        }
        let packet = match parsed {
            Ok(packet) => packet,
            Err(Other::NotIp(what)) => {
                *self.not_ip.entry(*what).or_default() += 1;
                return;
            }
            Err(Other::UnknownLink(link)) => {
                self.unknown_link.get_or_insert((0, *link)).0 += 1;
                return;
            }
        };
        let inside = &self.options.inside;
        let is_inside = |end: &End| inside.iter().any(|network| network.contains(&end.0));
        let side = |low: &End, high: &End| match (is_inside(low), is_inside(high)) {
            (true, false) => Some(Direction::Up),
            (false, true) => Some(Direction::Down),
            _ => None,
        };
        let seen = self.connections.see(time, clock, length, packet, side);
        let lane = &mut self.lanes[seen.direction as usize];
        lane.see(clock, length, tick);
        lane.marks[usize::from(packet.ecn & 3)] += 1;
        if packet.tcp.is_some_and(|tcp| tcp.payload > 0) {
            lane.segments += 1;
            lane.repeated += u64::from(seen.repeats);
        } else {
            lane.clock.beside(length);
        }
        if let Some(told) = seen.delivered {
            self.lanes[1 - seen.direction as usize].clock.see(clock, &told);
        }
        if let Some(trip) = seen.round_trip {
            if let Some(opener) = trip.opener {
                // A connection is opened by a packet of the direction that completes its handshake.
                for (lane, before) in [
                    (seen.direction as usize, opener),
                    (1 - seen.direction as usize, trip.whole.saturating_sub(opener)),
                ] {
                    let (sum, all) = &mut self.lanes[lane].sides;
                    (*sum, *all) = (sum.saturating_add(before), all.saturating_add(trip.whole));
                }
            }
            let trip = trip.whole;
            self.trips.0 += 1;
            self.trips.1 += u128::from(trip);
            self.trips_total += u128::from(trip);
            self.round_trips.saturating_record(trip);
        }
    }

    fn end_interval(&mut self, length: u64, first: u64, each: &mut impl FnMut(&Interval)) {
        let end = self.start.saturating_add(length);
        self.connections.expire(end);
        let filled = end - first >= self.options.window.nanos();
        if filled && !self.window_filled {
            // What was counted before the first window was over is incomplete.
            self.window_filled = true;
            self.lanes.iter_mut().for_each(|lane| lane.counts.iter_mut().for_each(Histogram::reset));
        }
        for (i, lane) in self.lanes.iter_mut().enumerate() {
            let (alive, active) = (self.connections.alive[i], self.connections.active[i]);
            lane.now.flows = FlowCount { flows: alive.flows, data_flows: alive.data, active };
            if !self.window_filled {
                // The last count of the flows is the most complete one.
                lane.counts[..2].iter_mut().for_each(Histogram::reset);
            }
            lane.counts[0].saturating_record(alive.flows);
            lane.counts[1].saturating_record(alive.data);
            // In a part of an interval fewer flows are active.
            if length == self.options.interval.nanos() || lane.counts[2].is_empty() {
                lane.counts[2].saturating_record(active);
            }
        }
        let new_connections = self.connections.opened - self.opened_before;
        each(&Interval {
            start_s: self.start.saturating_sub(first) as f64 / 1e9,
            length_s: length as f64 / 1e9,
            up: self.lanes[0].now,
            down: self.lanes[1].now,
            new_connections,
            handshakes: self.trips.0,
            rtt_mean_s: (self.trips.0 > 0).then(|| self.trips.1 as f64 / self.trips.0 as f64 / 1e9),
        });
        self.intervals += 1;
        self.opened_before += new_connections;
        self.trips = (0, 0);
        self.lanes.iter_mut().for_each(|lane| lane.now = Traffic::default());
        self.connections.begin_interval();
    }

    fn finish<R: Read>(mut self, reader: &Reader<R>, each: &mut impl FnMut(&Interval)) -> Report {
        let (first, earliest, latest) = self.times.unwrap_or_default();
        if self.times.is_some() {
            self.end_interval(latest - self.start, first, each);
        }
        let duration_s = (latest - earliest) as f64 / 1e9;
        let trips = &self.round_trips;
        let quantile = |q: f64| trips.value_at_quantile(q) as f64 / 1e9;
        let round_trips = (!trips.is_empty()).then(|| RoundTrips {
            handshakes: trips.len(),
            mean_s: self.trips_total as f64 / trips.len() as f64 / 1e9,
            min_s: trips.min() as f64 / 1e9,
            quantiles_s: [0.05, 0.25, 0.5, 0.75, 0.95].map(quantile),
        });
        let summary = |d: Direction| self.lanes[d as usize].summary(d, first, duration_s);
        let mut kinds = BTreeMap::<String, u64>::new();
        for (what, packets) in &self.not_ip {
            *kinds.entry(what.to_string()).or_default() += packets;
        }
        let kinds = kinds.into_iter().map(|(what, packets)| NotIpKind { what, packets });
        let mut not_ip_kinds: Vec<NotIpKind> = kinds.collect();
        not_ip_kinds.sort_by_key(|kind| Reverse(kind.packets));
        Report {
            format: reader.format(),
            start_s: first as f64 / 1e9,
            duration_s,
            packets: self.packets,
            bytes: self.bytes,
            not_ip: self.not_ip.values().sum(),
            not_ip_kinds,
            unknown_link: self.unknown_link,
            untimed: self.untimed,
            late: self.late,
            unreadable: reader.unreadable,
            dropped: reader.dropped(),
            damage: reader.damage,
            new_connections: self.connections.opened,
            repeated_handshakes: self.connections.repeated,
            round_trips,
            interval_count: self.intervals,
            window_filled: self.window_filled,
            directions: Direction::BOTH.map(summary),
        }
    }
}
