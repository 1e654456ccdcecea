//! The report of a capture, and what the estimates of a capacity come to together.

use serde::Serialize;

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The format of libpcap, with micro- or nanoseconds.
    Pcap,
    /// Its successor.
    Pcapng,
}

/// The way that a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The way from the side that opens connections, or from inside.
    Up,
    /// The way to it.
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
    /// TCP flows among them that sent data.
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
    /// The number.
    pub handshakes: u64,
    /// The mean.
    pub mean_s: f64,
    /// The smallest.
    pub min_s: f64,
    /// The quantiles 5, 25, 50, 75 and 95%, to 0.1%.
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
    /// The share of them within 2.5% of the rate.
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
    /// Tells whether the stretches agree: half of them within 5% of the median on either side. They do not
    /// where the link beyond changes, or carries traffic that is not in the capture, or where losses are
    /// repaired: an acknowledgment that fills a gap stands for all that came behind it.
    pub fn agrees(&self) -> bool {
        self.quartiles_bps.iter().all(|rate| (rate / self.rate_bps - 1.0).abs() <= 0.05)
    }

    /// Tells whether packets waited beyond often enough to say that the slowest link is there: in ten
    /// stretches, or in three if these are half of all.
    fn is_beyond(&self) -> bool {
        self.waiting >= 10 || (self.waiting >= 3 && 2 * self.waiting >= self.stretches)
    }
}

/// The capacity of a link, as a capture tells it.
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
    /// The time of that, in seconds after the first packet.
    pub busiest_at_s: Option<f64>,
    /// The mode of the packet pairs of at least half the largest packet.
    pub pairs: Option<Pairs>,
    /// The clock of acknowledgments; none if packets never waited beyond the capture.
    pub acknowledged: Option<Acknowledged>,
    /// The share of the handshakes' round-trip time that lies on the senders' side of the capture.
    pub senders_share: Option<f64>,
    /// The verdict.
    pub verdict: CapacityVerdict,
    /// The capacity, in bit/s, unless it cannot be told.
    pub capacity_bps: Option<f64>,
}

/// The agreement of the estimates.
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

/// The share of the round-trip time before a capture below which it is the senders' own.
const SENDERS: f64 = 0.1;

impl Capacity {
    /// `finer` says that the pairs are finer than the busiest stretch.
    pub(crate) fn of(
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

/// The traffic of one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The direction.
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

/// Damage from which on a file could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The place in the file.
    pub at_byte: u64,
    /// The bytes from there to the end.
    pub unread_bytes: u64,
    /// The fault.
    pub why: &'static str,
}

/// Packets that carry something other than IP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotIpKind {
    /// Their kind, such as "ARP" or "MPLS pseudowire".
    pub what: String,
    /// The number.
    pub packets: u64,
}

/// The report of a capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The file's format.
    pub format: Format,
    /// The time of the first packet, in seconds since 1970.
    pub start_s: f64,
    /// The time from the earliest to the latest packet, in seconds.
    pub duration_s: f64,
    /// Packets in the file, IP or not.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets in which no IP header was found.
    pub not_ip: u64,
    /// The kinds that they carried, the most frequent first.
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
    /// The damage from which on the file could not be read.
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
    /// The traffic of each direction.
    pub directions: [Summary; 2],
}

impl Report {
    /// The direction that carried more.
    pub fn busier(&self) -> &Summary {
        let [up, down] = &self.directions;
        if up.bytes > down.bytes { up } else { down }
    }
}
