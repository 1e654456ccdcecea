//! R, N and C from a packet capture.
//!
//! The quantities that AP-RED follows online (Chen 2010, section 4.4), and that every design here asks for,
//! from a file that `tcpdump` or Wireshark wrote (pcap or pcapng; Ethernet, Linux cooked, PPP, BSD loopback,
//! raw IP; beneath VLAN tags, PPPoE sessions and MPLS labels). It is read once; memory is bounded by the
//! flows and packets of a window, not by the file.
//!
//! **N.** A flow is a 5-tuple: addresses, ports, protocol. It counts from its first packet until
//! `window` after its last one (Chen 2010, section 4.4, after the IPMON measurements: 60 s). Flows that have
//! ended count until then, so a link with short transfers shows more flows than share it at a time. Fluid
//! models mean those that do: TCP flows that sent data in an interval are counted beside
//! ([`FlowCount::active`]).
//!
//! **R.** The time from a connection's SYN to the acknowledgment that completes its handshake (Chen 2010,
//! section 4.4). Wherever on the path the capture was made, the SYN goes on from there to the server, the
//! answer comes back through to the client, and the acknowledgment returns: one whole round trip. A handshake
//! with a repeated SYN gives none, because it is unknown which one was answered (Karn). It includes the
//! queueing that the three packets met, and what the hosts took.
//!
//! **C.** The paper takes it as known. Here are three estimates, each with what it assumes
//! ([`Capacity`]). Where the capture was made decides which holds: behind the slowest link the spacing of
//! packets shows it, before that link only what comes back does.
//!
//! Two directions are kept apart, for a link carries both: *up* is what the side sends that opens
//! connections, *down* what comes back to it. The opener is whoever sent the SYN; where that was not
//! captured, the end with the higher port, or else who spoke first. On an access link that is the
//! link's own direction. Where both sides of a link open connections it is not, and
//! [`Options::inside`] says who is on one side: up is then what leaves it.
//!
//! Lengths are those of whole frames, as `capinfos` counts them.
#![deny(missing_docs)]

mod clock;
mod error;
mod file;
mod flows;
mod packet;
mod rate;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::net::IpAddr;

use hdrhistogram::Histogram;
use quell_units::Duration;
use serde::Serialize;

use clock::Clock;
use error::require;
use file::Reader;
use flows::Connections;
use packet::{End, NotIp, Other};
use rate::{Busiest, Dispersion};

pub use error::OptionError;

/// How to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The length of an interval; a second.
    pub interval: Duration,
    /// How long a flow counts after its last packet; 60 s (Chen 2010, section 4.4).
    pub window: Duration,
    /// The addresses on one side of the link; none: the side that opens connections.
    pub inside: Vec<Subnet>,
}

impl Default for Options {
    fn default() -> Self {
        Options { interval: Duration::from_secs(1), window: Duration::from_secs(60), inside: Vec::new() }
    }
}

/// Addresses with a common beginning, such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// IPv4 mapped into IPv6.
    address: u128,
    bits: u32,
}

impl Subnet {
    fn contains(&self, address: &[u8; 16]) -> bool {
        let differ = self.address ^ u128::from_be_bytes(*address);
        differ.leading_zeros() >= self.bits
    }
}

impl std::str::FromStr for Subnet {
    type Err = OptionError;
    fn from_str(text: &str) -> Result<Self, OptionError> {
        let wrong = || OptionError {
            option: "network",
            value: text.to_string(),
            rule: "must be an address, or one with its length such as 10.0.0.0/8",
        };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let (address, all, before) = match address {
            IpAddr::V4(v4) => (v4.to_ipv6_mapped(), 32, 96),
            IpAddr::V6(v6) => (v6, 128, 0),
        };
        let bits = bits.unwrap_or(all);
        if bits > all {
            return Err(wrong());
        }
        Ok(Subnet { address: u128::from_be_bytes(address.octets()), bits: before + bits })
    }
}

/// Why a capture cannot be measured.
#[derive(Debug)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file is none.
    NotACapture {
        /// What it is instead.
        why: String,
    },
    /// It cannot be read.
    Io(io::Error),
    /// An option breaks a rule.
    Option(OptionError),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::NotACapture { why } => write!(f, "not a packet capture: {why}"),
            CaptureError::Io(e) => write!(f, "cannot read the capture: {e}"),
            CaptureError::Option(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for CaptureError {}

impl From<io::Error> for CaptureError {
    fn from(e: io::Error) -> Self {
        CaptureError::Io(e)
    }
}

impl From<OptionError> for CaptureError {
    fn from(e: OptionError) -> Self {
        CaptureError::Option(e)
    }
}

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The format of libpcap, with micro- or nanoseconds.
    Pcap,
    /// Its successor.
    Pcapng,
}

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the side that opens connections, or from inside.
    Up,
    /// To it.
    Down,
}

impl Direction {
    /// Both, in the order in which figures come.
    pub const BOTH: [Direction; 2] = [Direction::Up, Direction::Down];
}

/// Flows in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FlowCount {
    /// 5-tuples seen within the window.
    pub flows: u64,
    /// Of these the TCP flows that sent data.
    pub data_flows: u64,
    /// TCP flows that sent data in the interval.
    pub active: u64,
}

/// One direction in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Bytes of whole frames.
    pub bytes: u64,
    /// Flows at the end of the interval.
    #[serde(flatten)]
    pub flows: FlowCount,
}

/// One interval. Those without packets are left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Its beginning, in seconds after the first packet.
    pub start_s: f64,
    /// Its length; the last one ends with the capture.
    pub length_s: f64,
    /// Up.
    pub up: Traffic,
    /// Down.
    pub down: Traffic,
    /// Connections that began.
    pub new_connections: u64,
    /// Handshakes that were completed.
    pub handshakes: u64,
    /// Their mean round-trip time.
    pub rtt_mean_s: Option<f64>,
}

/// Round-trip times of handshakes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RoundTrips {
    /// How many.
    pub handshakes: u64,
    /// The mean.
    pub mean_s: f64,
    /// The smallest.
    pub min_s: f64,
    /// The quantiles 5, 25, 50, 75 and 95 %, to 0.1 %.
    pub quantiles_s: [f64; 5],
}

impl RoundTrips {
    /// The median.
    pub fn median_s(&self) -> f64 {
        self.quantiles_s[2]
    }
}

/// A mode of packet-pair dispersion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pairs {
    /// The rate, in bit/s.
    pub rate_bps: f64,
    /// The pairs in all.
    pub pairs: u64,
    /// The share of them within 2.5 % of the rate.
    pub share: f64,
    /// At least half of the pairs agree, of ten or more, and their gaps are at least ten ticks of the
    /// capture's clock.
    ///
    /// On a loaded path the rates of pairs have several modes, from packets that came between the two and
    /// from links behind the slowest, and the most frequent one often is not the capacity (Dovrolis,
    /// Ramanathan and Moore, What do packet dispersion techniques measure?, INFOCOM 2001). One that half of
    /// the pairs agree on has no rival as frequent.
    pub told: bool,
}

/// The clock of acknowledgments, while packets waited beyond the place of the capture.
///
/// It is read over stretches of 100 ms or more and a hundred packets or more. Packets waited throughout a
/// stretch if every acknowledgment in it came later after its data than the earliest one of its flow
/// ever did, by the time of three packets at least, and 1 ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Acknowledged {
    /// The median of the rates at which data were acknowledged, with the headers of whole frames, in
    /// bit/s.
    pub rate_bps: f64,
    /// The quartiles of these rates.
    pub quartiles_bps: [f64; 2],
    /// The stretches in which packets waited.
    pub waiting: u64,
    /// All stretches in which data were acknowledged without pause.
    pub stretches: u64,
}

impl Acknowledged {
    /// Whether the stretches agree: half of them within 5 % of the median on either side. They do not
    /// where the link beyond changes, or carries traffic that is not in the capture, or where losses are
    /// repaired: an acknowledgment that fills a gap stands for all that came behind it.
    pub fn agrees(&self) -> bool {
        self.quartiles_bps.iter().all(|rate| (rate / self.rate_bps - 1.0).abs() <= 0.05)
    }

    /// Whether packets waited beyond often enough to say that the slowest link is there: in ten
    /// stretches, or in three if these are half of all.
    fn is_beyond(&self) -> bool {
        self.waiting >= 10 || (self.waiting >= 3 && 2 * self.waiting >= self.stretches)
    }
}

/// What a capture says of the capacity of a link.
///
/// The busiest stretch (the highest rate over 100 ms) is a lower bound of the capacity, and the
/// capacity itself if packets waited throughout. Packet pairs (the second packet's size over the gap
/// between two) show the slowest link before the place of the capture, where packets left back to
/// back, if time was stamped as finely as that and no card handed packets over in batches. Where both
/// agree within a tenth, the link was full and is the slowest; or else one sender paced its packets
/// evenly all along, which no capture can tell from a full link. Of the two the finer is the capacity: a
/// packet that was late at an edge of the busiest stretch makes that one too fast, by one packet in all those
/// of the stretch; pairs are as coarse as a tick of the clock in the gap between two packets.
///
/// All that holds behind the slowest link. A capture before it, on the senders' side, shows it by the
/// clock of acknowledgments ([`Acknowledged`]), or cannot tell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Capacity {
    /// The highest rate over 100 ms, in bit/s; none in captures shorter than that.
    pub busiest_bps: Option<f64>,
    /// When that was, in seconds after the first packet.
    pub busiest_at_s: Option<f64>,
    /// The mode of the packet pairs of at least half the largest packet.
    pub pairs: Option<Pairs>,
    /// The clock of acknowledgments; none if packets never waited beyond the capture.
    pub acknowledged: Option<Acknowledged>,
    /// The share of the handshakes' round-trip time that lies on the senders' side of the capture.
    pub senders_share: Option<f64>,
    /// What follows.
    pub verdict: CapacityVerdict,
    /// The capacity, in bit/s, unless it cannot be told.
    pub capacity_bps: Option<f64>,
}

/// How the estimates go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityVerdict {
    /// The busiest stretch and the pairs agree: the link was full for 100 ms at least, unless a sender
    /// paced its packets. The capacity is that of the finer of the two.
    Full,
    /// The pairs say more: never full for that long. The capacity is the pairs', of the slowest link
    /// before the capture.
    NeverFull,
    /// The slowest link lies beyond the capture. The capacity is what was acknowledged while packets
    /// waited there, if that agrees.
    Beyond,
    /// Fewer than half of the pairs agree, or they agree on less than was carried: it cannot be told, but
    /// is at least the busiest stretch's.
    AtLeast,
    /// Too little was captured.
    Unknown,
}

/// With less of the round-trip time before it, a capture is the senders' own.
const SENDERS: f64 = 0.1;

impl Capacity {
    /// `finer` says that the pairs are finer than the busiest stretch.
    fn of(
        busiest: Option<(f64, f64)>,
        pairs: Option<Pairs>,
        finer: bool,
        acknowledged: Option<Acknowledged>,
        senders_share: Option<f64>,
    ) -> Self {
        let told = pairs.filter(|p| p.told).map(|p| p.rate_bps);
        let beyond = acknowledged.filter(Acknowledged::is_beyond);
        let (verdict, capacity_bps) = match (busiest, told) {
            (Some((busiest, _)), Some(pairs))
                if (busiest / pairs - 1.0).abs() <= 0.1
                    && beyond.is_none_or(|a| !a.agrees() || a.rate_bps >= 0.9 * busiest) =>
            {
                (CapacityVerdict::Full, Some(if finer { pairs } else { busiest }))
            }
            (None, None) => (CapacityVerdict::Unknown, None),
            _ if beyond.is_some() || senders_share.is_some_and(|share| share < SENDERS) => {
                (CapacityVerdict::Beyond, beyond.filter(Acknowledged::agrees).map(|a| a.rate_bps))
            }
            (Some((busiest, _)), Some(pairs)) if busiest > pairs => (CapacityVerdict::AtLeast, None),
            (_, Some(pairs)) => (CapacityVerdict::NeverFull, Some(pairs)),
            (Some(_), None) => (CapacityVerdict::AtLeast, None),
        };
        let (busiest_bps, busiest_at_s) = busiest.unzip();
        Capacity { busiest_bps, busiest_at_s, pairs, acknowledged, senders_share, verdict, capacity_bps }
    }
}

/// What one direction carried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Which.
    pub direction: Direction,
    /// IP packets.
    pub packets: u64,
    /// Bytes of whole frames.
    pub bytes: u64,
    /// The mean rate, in bit/s; none if all packets came at once.
    pub rate_bps: Option<f64>,
    /// The mean packet, in bytes.
    pub mean_packet_bytes: Option<f64>,
    /// The median over the intervals, after the first window.
    pub flows: FlowCount,
    /// The capacity of the link.
    pub capacity: Capacity,
    /// The share of packets that are ECN-capable, marked or not.
    pub ect_share: Option<f64>,
    /// The share of packets with a congestion mark.
    pub ce_share: Option<f64>,
    /// The share of TCP segments with data that end no later in the stream than one before them:
    /// retransmissions, of what was lost before the place of the capture or behind it, and segments
    /// that were overtaken.
    pub retransmitted_share: Option<f64>,
}

/// Where a file could not be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The place in the file.
    pub at_byte: u64,
    /// The bytes from there to the end.
    pub unread_bytes: u64,
    /// What is wrong.
    pub why: &'static str,
}

/// Packets that carry something other than IP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotIpKind {
    /// What, such as "ARP" or "MPLS pseudowire".
    pub what: String,
    /// How many.
    pub packets: u64,
}

/// What a capture says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The file's format.
    pub format: Format,
    /// The time of the first packet, in seconds since 1970.
    pub start_s: f64,
    /// From the earliest to the latest packet, in seconds.
    pub duration_s: f64,
    /// Packets in the file, IP or not.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets in which no IP header was found.
    pub not_ip: u64,
    /// What they carried, the most frequent first.
    pub not_ip_kinds: Vec<NotIpKind>,
    /// Packets of a link that is not read, and its LINKTYPE.
    pub unknown_link: Option<(u64, u16)>,
    /// Packets without a time; they are not measured.
    pub untimed: u64,
    /// Packets that are earlier than one before them; they count when they come.
    pub late: u64,
    /// Blocks of the file that could not be understood.
    pub unreadable: u64,
    /// Packets that the capturing host says it dropped; none if the format cannot say.
    pub dropped: Option<u64>,
    /// Where the file could not be read on.
    pub damage: Option<Damage>,
    /// Connections whose beginning was captured.
    pub new_connections: u64,
    /// Handshakes not timed because a SYN was repeated.
    pub repeated_handshakes: u64,
    /// Round-trip times; none without a complete handshake.
    pub round_trips: Option<RoundTrips>,
    /// Intervals with packets.
    pub interval_count: u64,
    /// The capture is longer than the window, so that the counts of flows are complete.
    pub window_filled: bool,
    /// What each direction carried.
    pub directions: [Summary; 2],
}

impl Report {
    /// The direction that carried more.
    pub fn busier(&self) -> &Summary {
        let [up, down] = &self.directions;
        if up.bytes > down.bytes { up } else { down }
    }
}

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
    let mut reader = Reader::new(input)?;
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

/// Whole numbers to 0.1 %; larger ones count as `largest`.
fn histogram(largest: u64) -> Histogram<u64> {
    Histogram::new_with_max(largest, 3).expect("three digits and constant bounds are supported")
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
    /// Of the handshakes' round-trip times, what lies on the senders' side, and all; in nanoseconds.
    sides: (u64, u64),
    now: Traffic,
    /// Of the intervals after the first window: flows, flows with data, active ones.
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
