//! The bytes of a packet's headers.

use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv6Header, TcpHeader,
    TcpOptionElement as Option_, UdpHeader,
};
use quell_aqm::Ecn;
use quell_sim::trace::TracedPacket;

use crate::about::Version;
use crate::flows::ETHERNET;
use crate::numbers::{Numbered, Segment};

/// The port at which receivers of data listen, or its senders where the receivers ask: no dissector claims it.
const SERVICE: u16 = 5001;
/// The ports for connections of one's own (RFC 6335 section 6).
const EPHEMERAL: u64 = 49152;
const WINDOW_SCALE: u8 = 14;
const HOPS: u8 = 64;

/// A packet in bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Frame {
    /// Its headers, and its data if that is written.
    pub kept: Vec<u8>,
    /// Its length on the wire.
    pub length: u32,
}

/// The way of writing headers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub version: Version,
    pub ethernet: bool,
    /// The data is written.
    pub whole: bool,
}

/// Zeros: the data that packets bring.
static DATA: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

impl Style {
    /// The packet with this index and this ECN field; `asks`: its receiver asks.
    pub fn frame(
        self,
        index: usize,
        packet: &TracedPacket,
        numbered: &Numbered,
        asks: bool,
        ecn: Ecn,
    ) -> Frame {
        let mut frame = Frame::default();
        let link = if self.ethernet { ETHERNET } else { 0 };
        let ip = if self.version == Version::V4 { 20 } else { 40 };
        let [from, to] = Host::ends(packet, numbered);
        let (own, service) = ((EPHEMERAL + numbered.connection % (65536 - EPHEMERAL)) as u16, SERVICE);
        let ports = if numbered.forward != asks { (own, service) } else { (service, own) };
        let ports =
            if packet.queue_flow == packet.flow { ports } else { (packet.queue_flow as u16, service) };
        let (transport, payload, protocol) = match &numbered.segment {
            Some(segment) => {
                let (header, payload) = (tcp(segment, ports), segment.payload.min(u16::MAX - ip - 60));
                (Transport::Tcp(header), payload, IpNumber::TCP)
            }
            None => {
                let payload = packet.bytes.saturating_sub(link + ip + 8);
                let header = UdpHeader {
                    source_port: ports.0,
                    destination_port: ports.1,
                    length: 8 + payload,
                    checksum: 0,
                };
                (Transport::Udp(header), payload, IpNumber::UDP)
            }
        };
        let data = &DATA[..usize::from(payload)];
        let length = transport.length() + payload;
        if self.ethernet {
            let ether_type = if self.version == Version::V4 { EtherType::IPV4 } else { EtherType::IPV6 };
            let header = Ethernet2Header { source: from.mac(), destination: to.mac(), ether_type };
            frame.kept.extend(header.to_bytes());
        }
        let (dscp, ecn) = (packet.dscp & 63, field(ecn));
        match self.version {
            Version::V4 => {
                let mut header = Ipv4Header {
                    dscp: IpDscp::try_new(dscp).unwrap_or_default(),
                    ecn: IpEcn::try_new(ecn).unwrap_or_default(),
                    total_len: 20 + length,
                    identification: index as u16,
                    time_to_live: HOPS,
                    protocol,
                    source: from.v4(),
                    destination: to.v4(),
                    ..Ipv4Header::default()
                };
                header.header_checksum = header.calc_header_checksum();
                frame.kept.extend(header.to_bytes());
                match transport {
                    Transport::Tcp(mut tcp) => {
                        tcp.checksum = tcp.calc_checksum_ipv4(&header, data).unwrap_or_default();
                        frame.kept.extend(tcp.to_bytes());
                    }
                    Transport::Udp(mut udp) => {
                        udp.checksum = udp.calc_checksum_ipv4(&header, data).unwrap_or_default();
                        frame.kept.extend(udp.to_bytes());
                    }
                }
            }
            Version::V6 => {
                let header = Ipv6Header {
                    traffic_class: dscp << 2 | ecn,
                    payload_length: length,
                    next_header: protocol,
                    hop_limit: HOPS,
                    source: from.v6(),
                    destination: to.v6(),
                    ..Ipv6Header::default()
                };
                frame.kept.extend(header.to_bytes());
                match transport {
                    Transport::Tcp(mut tcp) => {
                        tcp.checksum = tcp.calc_checksum_ipv6(&header, data).unwrap_or_default();
                        frame.kept.extend(tcp.to_bytes());
                    }
                    Transport::Udp(mut udp) => {
                        udp.checksum = udp.calc_checksum_ipv6(&header, data).unwrap_or_default();
                        frame.kept.extend(udp.to_bytes());
                    }
                }
            }
        }
        // What the scenario's size has beyond the IP packet belongs to the link.
        frame.length = u32::from(packet.bytes).max(frame.kept.len() as u32 + u32::from(payload));
        if self.whole {
            frame.kept.resize(frame.length as usize, 0);
        }
        frame
    }
}

enum Transport {
    Tcp(TcpHeader),
    Udp(UdpHeader),
}

impl Transport {
    fn length(&self) -> u16 {
        match self {
            Transport::Tcp(header) => header.header_len_u16(),
            Transport::Udp(_) => 8,
        }
    }
}

/// One end of a flow.
#[derive(Clone, Copy)]
struct Host {
    receiver: bool,
    number: u32,
}

impl Host {
    /// The ends from which a packet comes and to which it goes.
    fn ends(packet: &TracedPacket, numbered: &Numbered) -> [Host; 2] {
        let number = packet.flow.wrapping_add(1);
        // A recorded packet's flow has two halves: a port and a receiver.
        let recorded = 1 << 19 | packet.queue_flow >> 16;
        let other = if packet.queue_flow == packet.flow { number } else { recorded };
        let ends = [Host { receiver: false, number }, Host { receiver: true, number: other }];
        if numbered.forward { ends } else { [ends[1], ends[0]] }
    }

    /// Private addresses (RFC 1918): senders of data are 10.0.0.1 and on, receivers 172.16.0.1 and on.
    fn v4(self) -> [u8; 4] {
        let (network, bits) = if self.receiver { (0xac10_0000, 20) } else { (0x0a00_0000, 24) };
        (network | self.number & ((1 << bits) - 1)).to_be_bytes()
    }

    /// Addresses for documentation (RFC 3849).
    fn v6(self) -> [u8; 16] {
        let network = 0x2001_0db8_u128 << 96 | u128::from(self.receiver) << 64;
        (network | u128::from(self.number)).to_be_bytes()
    }

    /// Locally administered addresses.
    fn mac(self) -> [u8; 6] {
        let [a, b, c, d] = self.number.to_be_bytes();
        [2, u8::from(self.receiver), a, b, c, d]
    }
}

fn tcp(segment: &Segment, (from, to): (u16, u16)) -> TcpHeader {
    let flags = segment.flags;
    let mut header = TcpHeader::new(from, to, segment.seq, u16::MAX);
    header.acknowledgment_number = segment.ack;
    (header.ns, header.cwr, header.ece) = (flags.ae, flags.cwr, flags.ece);
    (header.ack, header.psh, header.syn) = (flags.ack, flags.psh, flags.syn);
    let mut options = Vec::new();
    if let Some(largest) = segment.opens {
        options.push(Option_::MaximumSegmentSize(largest));
        if segment.sack {
            options.push(Option_::SelectiveAcknowledgementPermitted);
        }
        options.push(Option_::WindowScale(WINDOW_SCALE));
    }
    if let Some((own, echo)) = segment.stamps {
        if segment.opens.is_none() {
            options.extend([Option_::Noop, Option_::Noop]);
        }
        options.push(Option_::Timestamp(own, echo));
    }
    // With time stamps there is room for three ranges (RFC 2018 section 3).
    let room = if segment.stamps.is_some() { 3 } else { 4 };
    let mut ranges = segment.selected.into_iter().filter(|(from, to)| from != to).take(room);
    if let Some(first) = ranges.next() {
        let more = [ranges.next(), ranges.next(), ranges.next()];
        options.extend([Option_::Noop, Option_::Noop, Option_::SelectiveAcknowledgement(first, more)]);
    }
    // They fit: 40 bytes at most.
    let _ = header.set_options(&options);
    header
}

fn field(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}
