//! The arrivals of a capture: the packets of one direction at one interface, as a link would have got them.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::net::Ipv6Addr;

use quell_units::Duration;

use crate::error::{ArrivalsError, CaptureError, Found};
use crate::file::{Reader, Record};
use crate::flows::Connections;
use crate::options::Subnet;
use crate::packet::{self, End, Other, Segment};
use crate::report::{Damage, Direction};

/// The packets that are taken of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrivalOptions {
    /// The name of the interface; none: the capture has packets of one alone.
    pub interface: Option<String>,
    /// Those of these directions; none: the capture has packets of one alone, or `sources` choose.
    pub directions: Option<Vec<Direction>>,
    /// The addresses on one side of the link, which say what is up; none: the side that opens connections.
    pub inside: Vec<Subnet>,
    /// Those that come from these addresses; none: from any.
    pub sources: Vec<Subnet>,
    /// The sizes of the packets.
    pub size: Size,
    /// The times are those of the capture, and not counted from the first packet.
    pub keep_time: bool,
    /// The part of a capture that is cut or damaged up to there is taken.
    pub partial: bool,
    /// The most packets.
    pub most: usize,
}

/// The size of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// That of the IP packet and so many bytes of a link's header.
    Ip(u16),
    /// That of the captured frame.
    Frame,
}

impl Default for Size {
    fn default() -> Self {
        Size::Ip(0)
    }
}

/// A packet that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its time.
    pub time: Duration,
    /// Its size in bytes, which is not 0.
    pub bytes: u16,
    /// Its flow: 5-tuples are counted from 0 in the order in which they come.
    pub flow: u32,
    /// The two bits of explicit congestion notification.
    pub ecn: u8,
    /// Its protocol: 6 is TCP, 17 UDP.
    pub protocol: u8,
    /// It opens a TCP connection.
    pub syn: bool,
    /// The differentiated-services codepoint.
    pub dscp: u8,
}

/// The arrivals of a capture, and what was not one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrivals {
    /// The arrivals by time; those of one time in the order of the capture.
    pub packets: Vec<Arrival>,
    /// The number of flows.
    pub flows: u32,
    /// Packets of the capture that others are: of the other direction, of another interface, from other addresses.
    pub others: u64,
    /// Packets without an IP header, a time, or on a link of an unknown kind.
    pub unreadable: u64,
    /// Packets that the file has earlier than one with an earlier time, which were put in order.
    pub late: u64,
    /// Packets larger than Ethernet's, 1518 bytes: a host's own capture has them before its card makes several of them.
    pub large: u64,
    /// The damage, if a part was to be taken.
    pub damage: Option<Damage>,
}

/// Reads the arrivals of a capture.
///
/// # Errors
/// If the input is not a capture or cannot be read; if it is cut or damaged and not `partial`; if packets of several
/// interfaces or directions could be meant, or none; if one is too large for a scenario, or there are too many.
pub fn arrivals(input: impl Read, options: &ArrivalOptions) -> Result<Arrivals, ArrivalsError> {
    let mut reader = Reader::new(quell_files::unpacked(input).map_err(CaptureError::from)?)?;
    let mut collector = Collector::new(options);
    while let Some((record, data)) = reader.next().map_err(CaptureError::from)? {
        let parsed = packet::parse(record.link, data, record.length);
        collector.see(&record, &parsed, reader.interfaces())?;
    }
    if let Some(damage) = reader.damage.filter(|_| !options.partial) {
        return Err(ArrivalsError::Damaged(damage));
    }
    collector.finish(reader.interfaces(), reader.damage)
}

/// The largest frame of Ethernet without jumbo frames, with a VLAN tag.
const ETHERNET: u32 = 1518;

struct Collector<'a> {
    options: &'a ArrivalOptions,
    connections: Connections,
    /// The packets that are meant.
    found: Vec<Arrival>,
    /// Their numbers by interface and direction, with an address that they come from.
    counts: BTreeMap<(u32, Direction), (u64, [u8; 16])>,
    flows: HashMap<(End, End, u8), u32>,
    sums: Arrivals,
    latest: u64,
}

impl<'a> Collector<'a> {
    fn new(options: &'a ArrivalOptions) -> Self {
        Collector {
            options,
            // A connection keeps its direction, however long it is silent.
            connections: Connections::new(u64::MAX),
            found: Vec::new(),
            counts: BTreeMap::new(),
            flows: HashMap::new(),
            sums: Arrivals::default(),
            latest: 0,
        }
    }

    fn see(
        &mut self,
        record: &Record,
        parsed: &Result<packet::Packet, Other>,
        names: &[String],
    ) -> Result<(), ArrivalsError> {
        let (Some(time), Ok(packet)) = (record.time, parsed) else {
            self.sums.unreadable += 1;
            return Ok(());
        };
        let inside = |end: &End| self.options.inside.iter().any(|network| network.contains(&end.0));
        let side = |low: &End, high: &End| match (inside(low), inside(high)) {
            (true, false) => Some(Direction::Up),
            (false, true) => Some(Direction::Down),
            _ => None,
        };
        self.latest = self.latest.max(time);
        // All packets tell of their connections, also those that are not meant.
        let direction = self.connections.see(time, self.latest, record.length, packet, side).direction;
        let options = self.options;
        let name = names.get(record.interface as usize);
        let is_meant = options.interface.as_ref().is_none_or(|wanted| Some(wanted) == name)
            && options.directions.as_ref().is_none_or(|wanted| wanted.contains(&direction))
            && (options.sources.is_empty()
                || options.sources.iter().any(|network| network.contains(&packet.from.0)));
        if !is_meant {
            self.sums.others += 1;
            return Ok(());
        }
        self.counts.entry((record.interface, direction)).or_insert((0, packet.from.0)).0 += 1;
        if self.found.len() == options.most {
            self.one_place(names)?;
            return Err(ArrivalsError::TooMany { most: options.most });
        }
        let size = match options.size {
            Size::Ip(more) => packet.length.saturating_add(more.into()),
            Size::Frame => record.length,
        };
        let bytes = u16::try_from(size).map_err(|_| ArrivalsError::TooLarge { bytes: size })?;
        let next = self.flows.len() as u32;
        let flow = *self.flows.entry((packet.from, packet.to, packet.protocol)).or_insert(next);
        self.found.push(Arrival {
            time: Duration::from_nanos(time),
            bytes: bytes.max(1),
            flow,
            ecn: packet.ecn & 3,
            protocol: packet.protocol,
            syn: packet.tcp.is_some_and(|tcp| tcp.has(Segment::SYN)),
            dscp: packet.dscp & 63,
        });
        Ok(())
    }

    /// Refuses packets that no one link carries.
    fn one_place(&self, names: &[String]) -> Result<(), ArrivalsError> {
        let found: Vec<Found> = self
            .counts
            .iter()
            .map(|(&(interface, direction), &(packets, from))| Found {
                interface: names.get(interface as usize).cloned(),
                direction,
                packets,
                from: Ipv6Addr::from(from).to_canonical(),
            })
            .collect();
        let several =
            |differ: fn(&Found, &Found) -> bool| found.windows(2).any(|two| differ(&two[0], &two[1]));
        if several(|a, b| a.interface != b.interface) {
            return Err(ArrivalsError::Interfaces { found });
        }
        let may_mix = self.options.directions.is_some() || !self.options.sources.is_empty();
        if !may_mix && several(|a, b| a.direction != b.direction) {
            return Err(ArrivalsError::Directions { found });
        }
        Ok(())
    }

    fn finish(mut self, names: &[String], damage: Option<Damage>) -> Result<Arrivals, ArrivalsError> {
        if let Some(wanted) = self.options.interface.as_ref().filter(|wanted| !names.contains(wanted)) {
            return Err(ArrivalsError::NoInterface { wanted: wanted.clone(), there: names.to_vec() });
        }
        self.one_place(names)?;
        let (mut packets, sums) = (self.found, &mut self.sums);
        sums.large = packets.iter().filter(|packet| u32::from(packet.bytes) > ETHERNET).count() as u64;
        sums.late = packets.windows(2).filter(|two| two[1].time < two[0].time).count() as u64;
        packets.sort_by_key(|packet| packet.time);
        let Some(first) = packets.first().map(|packet| packet.time) else {
            return Err(ArrivalsError::None { others: sums.others, unreadable: sums.unreadable });
        };
        let zero = if self.options.keep_time { Duration::ZERO } else { first };
        for packet in &mut packets {
            packet.time -= zero;
        }
        Ok(Arrivals { packets, flows: self.flows.len() as u32, damage, ..self.sums })
    }
}
