//! The report of a capture, and what the estimates of a capacity come to together.

use serde::Serialize;

/// The share by which the busiest stretch of a full link and its pairs differ at most.
pub(super) const NEAR: f64 = 0.1;

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
    /// Flows of TCP that sent data in the interval, and of QUIC that sent packets as long as data.
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

/// Round trips of a direction's data while it was busy: in the stretches of 100 ms in which it carried at least half of
/// what it carried in its busiest time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoadedTrips {
    /// Their number.
    pub samples: u64,
    /// The shortest of all, busy or not.
    pub least_s: f64,
    /// The quantiles 50, 95 and 99%, to 1%.
    pub quantiles_s: [f64; 3],
}

/// The evidence of round trips under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TripMethod {
    /// Time stamps of TCP, returned and returned again (RFC 7323): whole round trips from any place.
    Timestamps,
    /// The spin bit of QUIC (RFC 9000 section 17.4): whole round trips from any place.
    SpinBit,
    /// The delay from data to their acknowledgment, in a capture next to the senders.
    Acknowledgments,
}

/// The marks of a direction that its receivers sent back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Echoes {
    /// Acknowledgments of connections with feedback as in RFC 3168 (or without any), and those of them with ECE.
    pub acknowledgments: u64,
    /// Those with ECE: all from a mark until the sender answers it.
    pub ece: u64,
    /// Acknowledgments of connections with accurate feedback (RFC 9768).
    pub accurate_acknowledgments: u64,
    /// The marked packets that their ACE fields count.
    pub accurate_marks: u64,
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

    /// Tells whether many stretches agree as far as a loaded host or relay lets them: at least 20 (two seconds), half of
    /// them within 10% of the median. Acknowledgments that wait in the other direction's queue come unevenly.
    fn agrees_roughly(&self) -> bool {
        let near = |rate: &f64| (rate / self.rate_bps - 1.0).abs() <= 0.1;
        self.waiting >= 20 && self.quartiles_bps.iter().all(near)
    }

    /// Tells whether packets waited beyond often enough to say that the slowest link is there: in ten
    /// stretches, or in three if these are half of all.
    fn is_beyond(&self) -> bool {
        self.waiting >= 10 || (self.waiting >= 3 && 2 * self.waiting >= self.stretches)
    }
}

/// The rate of a direction while its packets waited before the capture: while each round trip that ended within a stretch
/// of 100 ms, and by its time stamp the way of its data to the capture, were longer than the shortest ones of the flow, by
/// three packets and 1 ms at least.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Waiting {
    /// The median of the rates, in bit/s.
    pub rate_bps: f64,
    /// The quartiles of these rates.
    pub quartiles_bps: [f64; 2],
    /// The rate that 5% of them exceed.
    pub highest_bps: f64,
    /// The stretches in which packets waited.
    pub waiting: u64,
    /// All stretches.
    pub stretches: u64,
}

impl Waiting {
    /// Tells whether the link was full then: over two seconds at least the rates have a ceiling. Half of them lie
    /// within 10% of the median, and few above that.
    pub fn agrees(&self) -> bool {
        let near = |rate: f64| (rate / self.rate_bps - 1.0).abs() <= 0.1;
        self.waiting >= 20 && self.quartiles_bps.iter().all(|rate| near(*rate)) && near(self.highest_bps)
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
///
/// Where neither tells (a relay or a card hands packets over in batches, or acknowledgments wait in the other direction's
/// queue), a rate that stays the same while packets wait does ([`Waiting`]).
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
    /// The rate while round trips showed that packets waited.
    pub waiting: Option<Waiting>,
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
    /// waited there, if that agrees: to 5%, or over two seconds and more to 10%.
    Beyond,
    /// Neither pairs nor acknowledgments agree, or pairs agree on a rate far above (batches), but the rate had a ceiling
    /// while packets waited. The capacity is the median then; the quartiles say how sure that is.
    Ceiling,
    /// Fewer than half of the pairs agree, or they agree on less than was carried: it cannot be told, but
    /// is at least the busiest stretch's.
    AtLeast,
    /// Too little was captured.
    Unknown,
}

impl Capacity {
    /// The share of the round-trip time before a capture below which it is the senders' own.
    pub(crate) const SENDERS: f64 = 0.1;

    /// `finer` says that the pairs are finer than the busiest stretch.
    pub(crate) fn of(
        busiest: Option<(f64, f64)>,
        pairs: Option<Pairs>,
        finer: bool,
        acknowledged: Option<Acknowledged>,
        waiting: Option<Waiting>,
        senders_share: Option<f64>,
    ) -> Self {
        let told = pairs.filter(|p| p.told).map(|p| p.rate_bps);
        let beyond = acknowledged.filter(Acknowledged::is_beyond);
        let (verdict, capacity_bps) = match (busiest, told) {
            (Some((busiest, _)), Some(pairs))
                if (busiest / pairs - 1.0).abs() <= NEAR
                    && beyond.is_none_or(|a| !a.agrees() || a.rate_bps >= 0.9 * busiest) =>
            {
                (CapacityVerdict::Full, Some(if finer { pairs } else { busiest }))
            }
            (None, None) => (CapacityVerdict::Unknown, None),
            _ if beyond.is_some() || senders_share.is_some_and(|share| share < Self::SENDERS) => {
                (CapacityVerdict::Beyond, beyond.filter(Acknowledged::agrees).map(|a| a.rate_bps))
            }
            (Some((busiest, _)), Some(pairs)) if busiest > pairs => (CapacityVerdict::AtLeast, None),
            (_, Some(pairs)) => (CapacityVerdict::NeverFull, Some(pairs)),
            (Some(_), None) => (CapacityVerdict::AtLeast, None),
        };
        // Where packets come in batches their pairs agree on another link, and the rate is always below that.
        let is_told = |w: &Waiting| {
            let is_batched = verdict == CapacityVerdict::NeverFull && 2 * w.waiting >= w.stretches;
            w.agrees() && (capacity_bps.is_none() || is_batched)
        };
        let ceiling = waiting.filter(is_told);
        let (verdict, capacity_bps) = match ceiling {
            Some(ceiling) => (CapacityVerdict::Ceiling, Some(ceiling.rate_bps)),
            None => {
                let rough = beyond.filter(|a| verdict == CapacityVerdict::Beyond && a.agrees_roughly());
                (verdict, capacity_bps.or(rough.map(|a| a.rate_bps)))
            }
        };
        let (busiest_bps, busiest_at_s) = busiest.unzip();
        Capacity {
            busiest_bps,
            busiest_at_s,
            pairs,
            acknowledged,
            waiting,
            senders_share,
            verdict,
            capacity_bps,
        }
    }
}

/// The traffic of one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The direction.
    pub direction: Direction,
    /// Frames with IP packets.
    pub packets: u64,
    /// Bytes of whole frames.
    pub bytes: u64,
    /// Packets on the path: frames that a host's card cuts or has joined count as what they are there.
    pub path_packets: u64,
    /// Packets among them with data: TCP segments with payload, and all that is not TCP.
    pub data_packets: u64,
    /// Frames of several packets (TSO, GSO, GRO).
    pub joined_frames: u64,
    /// The mean rate at the layer, in bit/s; none if all packets came at once.
    pub rate_bps: Option<f64>,
    /// The mean packet on the path, in bytes at the layer.
    pub mean_packet_bytes: Option<f64>,
    /// The mean packet with data, in bytes at the layer.
    pub mean_data_packet_bytes: Option<f64>,
    /// Flows: the median over the intervals after the first window; active ones over the busy time, which is the intervals
    /// with at least half of the rate of the busiest one.
    pub flows: FlowCount,
    /// The capacity of the link at the layer.
    pub capacity: Capacity,
    /// The same capacity in IP, for packets as large as those with data, in bit/s.
    pub capacity_ip_bps: Option<f64>,
    /// The same in frames as captured, in bit/s.
    pub capacity_capture_bps: Option<f64>,
    /// Round trips of its data while it was busy.
    pub loaded_round_trips: Option<LoadedTrips>,
    /// What they are taken from.
    pub round_trip_method: Option<TripMethod>,
    /// The share of packets that are ECN-capable, marked or not.
    pub ect_share: Option<f64>,
    /// The share of packets with ECT(0).
    pub ect0_share: Option<f64>,
    /// The share of packets with ECT(1), as senders of L4S set it (RFC 9331).
    pub ect1_share: Option<f64>,
    /// Packets with a congestion mark.
    pub ce_packets: u64,
    /// Their share.
    pub ce_share: Option<f64>,
    /// Marks on this direction's packets that its receivers reported.
    pub echoes: Echoes,
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
    /// Packets of interfaces that were not asked for.
    pub elsewhere: u64,
    /// The interfaces, if there are several and none was chosen: a packet on two of them counts twice.
    pub interfaces: Vec<String>,
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
    /// The layer of rates and packets, by its word.
    pub layer: &'static str,
    /// The largest payload of the segments that cards cut or joined frames consist of; none without such frames.
    pub segment_bytes: Option<u32>,
    /// Connections of QUIC.
    pub quic_connections: u64,
    /// Those of them whose spin bit spins.
    pub quic_spinning: u64,
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
