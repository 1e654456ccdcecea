//! The measurement: packet by packet, interval by interval.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use hdrhistogram::Histogram;

use crate::clock::Clock;
use crate::echoes::Echo;
use crate::error::{CaptureError, require};
use crate::file::Reader;
use crate::flows::Connections;
use crate::options::Options;
use crate::packet::{self, End, NotIp, Other};
use crate::rate::{Busiest, Dispersion, Load, class, histogram, is_busy};
use crate::report::{
    Capacity, Direction, Echoes, FlowCount, Interval, NotIpKind, Report, RoundTrips, Summary, Traffic,
    TripMethod,
};
use crate::segments::{Carried, Segments};

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
        let parsed = packet::parse(record.link, data, record.length);
        if !meter.is_meant(record.interface, reader.interfaces()) {
            meter.elsewhere += 1;
            continue;
        }
        let Some(time) = record.time else {
            meter.untimed += 1;
            continue;
        };
        meter.see(time, record.length, record.tick, &parsed, &mut each);
    }
    let wanted = |name: &&String| !reader.interfaces().contains(name);
    if let Some(missing) = options.interfaces.iter().find(wanted) {
        return Err(CaptureError::NoInterface {
            wanted: missing.clone(),
            there: reader.interfaces().to_vec(),
        });
    }
    Ok(meter.finish(&reader, &mut each))
}

/// More flows than memory would hold.
const MOST_FLOWS: u64 = u32::MAX as u64;
/// Round trips from which their quantiles may be read.
const FEWEST_TRIPS: u64 = 20;
/// No handshake takes longer than an hour.
const LONGEST_TRIP: u64 = 3600 * 1_000_000_000;

/// One direction, as it is measured.
struct Lane {
    packets: u64,
    bytes: u64,
    /// What the path carries: all, and with data.
    carried: Carried,
    data: Carried,
    joined: u64,
    /// Bytes of the latest frame beside its IP packet.
    link: u32,
    marks: [u64; 4],
    echoes: Echoes,
    segments: u64,
    repeated: u64,
    busiest: Busiest,
    dispersion: Dispersion,
    clock: Clock,
    /// Round trips by time stamps, by the spin bit and by acknowledgments.
    loads: [Load; 3],
    /// The senders' part of the handshakes' round-trip times, and all; in nanoseconds.
    sides: (u64, u64),
    now: Traffic,
    /// Bytes of this interval at the layer.
    layer_now: u64,
    /// Counts of the intervals after the first window: flows, flows with data.
    counts: [Histogram<u64>; 2],
    /// The number of intervals by the class of their rate and the flows that were active in them.
    active: BTreeMap<(i64, u64), u64>,
}

impl Lane {
    fn new() -> Self {
        Lane {
            packets: 0,
            bytes: 0,
            carried: Carried::default(),
            data: Carried::default(),
            joined: 0,
            link: 0,
            marks: [0; 4],
            echoes: Echoes::default(),
            segments: 0,
            repeated: 0,
            busiest: Busiest::default(),
            dispersion: Dispersion::new(),
            clock: Clock::new(),
            loads: [(); 3].map(|()| Load::new()),
            sides: (0, 0),
            now: Traffic::default(),
            layer_now: 0,
            counts: [(); 2].map(|()| histogram(MOST_FLOWS)),
            active: BTreeMap::new(),
        }
    }

    fn see(&mut self, clock: u64, length: u32, tick: u64, carried: &Carried, has_data: bool) {
        self.packets += 1;
        self.bytes += u64::from(length);
        self.now.packets += 1;
        self.now.bytes += u64::from(length);
        self.layer_now += carried.layer;
        self.joined += u64::from(carried.packets > 1);
        self.carried.add(carried);
        if has_data {
            self.data.add(carried);
        }
        let bytes = u32::try_from(carried.layer).unwrap_or(u32::MAX);
        self.busiest.see(clock, bytes);
        self.dispersion.see(clock, bytes, self.carried.largest / 2, tick);
        self.loads.iter_mut().for_each(|load| load.see(clock, carried.layer, carried.packets));
    }

    fn echo(&mut self, echo: Echo) {
        let echoes = &mut self.echoes;
        match echo {
            Echo::Classic(ece) => {
                echoes.acknowledgments += 1;
                echoes.ece += u64::from(ece);
            }
            Echo::Accurate(marks) => {
                echoes.accurate_acknowledgments += 1;
                echoes.accurate_marks += u64::from(marks);
            }
        }
    }

    /// Ends an interval of so many seconds with so many active flows.
    fn count_active(&mut self, length_s: f64, active: u64) {
        let rate = if length_s > 0.0 { self.layer_now as f64 * 8.0 / length_s } else { 0.0 };
        *self.active.entry((class(rate), active)).or_default() += 1;
    }

    /// The median of the active flows over the busy time.
    fn active(&self) -> u64 {
        let Some(&(highest, _)) = self.active.keys().next_back() else { return 0 };
        let mut busy: Vec<(u64, u64)> = self
            .active
            .iter()
            .filter(|((class, _), _)| is_busy(*class, highest))
            .map(|(&(_, active), &intervals)| (active, intervals))
            .collect();
        busy.sort_unstable();
        let all: u64 = busy.iter().map(|(_, intervals)| intervals).sum();
        let mut so_far = 0;
        let median = busy.iter().find(|(_, intervals)| {
            so_far += intervals;
            2 * so_far >= all
        });
        median.map_or(0, |(active, _)| *active)
    }

    fn summary(&self, direction: Direction, start: u64, duration_s: f64) -> Summary {
        let over = |n: u64, d: u64| (d > 0).then(|| n as f64 / d as f64);
        let [_, ect1, ect0, ce] = self.marks;
        let median = |i: usize| self.counts[i].value_at_quantile(0.5);
        let full_packet = f64::from(self.carried.largest);
        let busiest_bps = self.busiest.best.map_or(0.0, |(rate, _)| rate);
        let pairs = self.dispersion.mode_near(full_packet, busiest_bps);
        let finer = pairs.is_some_and(|pairs| self.dispersion.is_finer(&pairs, full_packet));
        let busiest = self.busiest.best.map(|(rate, at)| (rate, at.saturating_sub(start) as f64 / 1e9));
        let senders_share = over(self.sides.0, self.sides.1);
        // The best evidence first; acknowledgments tell the whole way only next to the senders.
        let next_to_senders = senders_share.is_none_or(|share| share < Capacity::SENDERS);
        let methods = [TripMethod::Timestamps, TripMethod::SpinBit, TripMethod::Acknowledgments];
        let trips = methods.into_iter().zip(&self.loads).filter_map(|(method, load)| {
            let is_whole = method != TripMethod::Acknowledgments || next_to_senders;
            load.loaded().filter(|_| is_whole).map(|trips| (method, trips))
        });
        let trips: Vec<_> = trips.collect();
        // A few round trips of a better kind say less than many of another; of equals, the first is the better one.
        let many = trips.iter().find(|(_, trips)| trips.samples >= FEWEST_TRIPS);
        let best = many.or_else(|| trips.iter().rev().max_by_key(|(_, trips)| trips.samples));
        let (round_trip_method, loaded_round_trips) = best.copied().unzip();
        let waiting = self.loads[0].told();
        let capacity = Capacity::of(busiest, pairs, finer, self.clock.told(), waiting, senders_share);
        let all = self.carried;
        // A full link is full of packets with data.
        let sizes = if self.data.packets > 0 { self.data } else { all };
        let at = |bytes: u64| Some(capacity.capacity_bps? * bytes as f64 / sizes.layer as f64);
        Summary {
            direction,
            packets: self.packets,
            bytes: self.bytes,
            path_packets: all.packets,
            data_packets: self.data.packets,
            joined_frames: self.joined,
            rate_bps: (duration_s > 0.0).then(|| all.layer as f64 * 8.0 / duration_s),
            mean_packet_bytes: over(all.layer, all.packets),
            mean_data_packet_bytes: over(self.data.layer, self.data.packets),
            flows: FlowCount { flows: median(0), data_flows: median(1), active: self.active() },
            capacity,
            capacity_ip_bps: at(sizes.ip),
            capacity_capture_bps: at(sizes.frame),
            loaded_round_trips,
            round_trip_method,
            ect_share: over(ect0 + ect1 + ce, self.packets),
            ect0_share: over(ect0, self.packets),
            ect1_share: over(ect1, self.packets),
            ce_packets: ce,
            ce_share: over(ce, self.packets),
            echoes: self.echoes,
            retransmitted_share: over(self.repeated, self.segments),
        }
    }
}

struct Meter<'a> {
    options: &'a Options,
    connections: Connections,
    segments: Segments,
    lanes: [Lane; 2],
    elsewhere: u64,
    /// The interfaces whose packets were measured.
    interfaces: BTreeSet<u32>,
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
            segments: Segments::default(),
            lanes: [Lane::new(), Lane::new()],
            elsewhere: 0,
            interfaces: BTreeSet::new(),
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

    /// Tells whether packets of an interface are measured.
    fn is_meant(&mut self, interface: u32, names: &[String]) -> bool {
        let wanted = &self.options.interfaces;
        let name = names.get(interface as usize);
        let is_meant = wanted.is_empty() || name.is_some_and(|name| wanted.contains(name));
        if is_meant {
            self.interfaces.insert(interface);
        }
        is_meant
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
        let layer = self.options.layer;
        let carried = self.segments.carried(packet, length, seen.limit, layer);
        let bytes = u32::try_from(carried.layer).unwrap_or(u32::MAX);
        let [own, other] = self.lanes_of(seen.direction);
        let has_data = packet.tcp.is_none_or(|tcp| tcp.payload > 0);
        own.see(clock, length, tick, &carried, has_data);
        own.marks[usize::from(packet.ecn & 3)] += 1;
        if packet.tcp.is_some_and(|tcp| tcp.payload > 0) {
            // A lost packet that comes again fills a gap alone, others come by the dozen in one frame of a host.
            own.segments += carried.packets;
            own.repeated += if seen.repeats { carried.packets } else { 0 };
        } else {
            own.clock.beside(bytes);
        }
        if let Some((trip, excess)) = seen.trip {
            own.loads[0].trip(trip, Some(excess));
        }
        seen.spun.iter().for_each(|trip| own.loads[1].trip(*trip, None));
        own.link = length.saturating_sub(packet.length);
        if let Some(told) = seen.delivered {
            other.clock.see(clock, &told.at(layer, other.link));
            if let Some(delay) = told.delay {
                other.loads[2].trip(delay, None);
            }
        }
        if let Some(echo) = seen.echo {
            other.echo(echo);
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

    /// The lane of a direction, and the other one.
    fn lanes_of(&mut self, direction: Direction) -> [&mut Lane; 2] {
        let [up, down] = &mut self.lanes;
        if direction == Direction::Up { [up, down] } else { [down, up] }
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
                lane.counts.iter_mut().for_each(Histogram::reset);
            }
            lane.counts[0].saturating_record(alive.flows);
            lane.counts[1].saturating_record(alive.data);
            // In a part of an interval fewer flows are active.
            if length == self.options.interval.nanos() || lane.active.is_empty() {
                lane.count_active(length as f64 / 1e9, active);
            }
            lane.layer_now = 0;
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
            elsewhere: self.elsewhere,
            interfaces: {
                let name = |&i: &u32| reader.interfaces().get(i as usize).cloned();
                let several = self.interfaces.len() > 1 && self.options.interfaces.is_empty();
                self.interfaces.iter().filter_map(name).filter(|_| several).collect()
            },
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
            layer: self.options.layer.word(),
            segment_bytes: self.segments.cut,
            quic_connections: self.connections.quic.0,
            quic_spinning: self.connections.quic.1,
            directions: Direction::BOTH.map(summary),
        }
    }
}
