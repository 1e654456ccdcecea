//! What the headers of a captured packet say.

use etherparse::{EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket, LenSource};

/// One end of a flow: an address (IPv4 mapped into IPv6) and a port. Where there are none it is 0, as in
/// fragments but the first, which are thus a flow of their hosts.
pub(super) type End = ([u8; 16], u16);

/// A packet with an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub from: End,
    pub to: End,
    pub protocol: u8,
    /// The two bits of explicit congestion notification.
    pub ecn: u8,
    pub tcp: Option<Segment>,
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub seq: u32,
    pub ack: u32,
    /// Bytes of payload on the wire, whatever was kept of them.
    pub payload: u32,
    pub flags: u8,
}

impl Segment {
    pub const FIN: u8 = 1;
    pub const SYN: u8 = 2;
    pub const RST: u8 = 4;
    pub const ACK: u8 = 16;

    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Why a packet is not measured beyond its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    /// It carries something other than IP, or too little of it was kept.
    NotIp,
    /// Its link is of a kind that is not read.
    UnknownLink(u16),
}

/// Reads the headers of a packet of `length` bytes, of which `data` was kept.
pub(super) fn parse(link: u16, data: &[u8], length: u32) -> Result<Packet, Other> {
    // https://www.tcpdump.org/linktypes.html
    let sliced = match link {
        1 => LaxSlicedPacket::from_ethernet(data).ok(),
        // Linux "cooked": a protocol at the end of 16 bytes, or at the beginning of 20.
        113 => behind(data, 14, 16),
        276 => behind(data, 0, 20),
        // BSD loopback: a family whose byte order and numbers differ; the version says the same.
        0 | 108 => data.get(4..).and_then(|ip| LaxSlicedPacket::from_ip(ip).ok()),
        12 | 14 | 101 | 228 | 229 => LaxSlicedPacket::from_ip(data).ok(),
        _ => return Err(Other::UnknownLink(link)),
    };
    let net = sliced.and_then(|packet| packet.net).ok_or(Other::NotIp)?;
    let (from, to, ecn, declared) = match &net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let declared = usize::from(header.total_len()).saturating_sub(header.slice().len());
            (mapped(header.source()), mapped(header.destination()), header.ecn().value(), declared)
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let extensions = ip.extensions().slice().len();
            let declared = usize::from(header.payload_length()).saturating_sub(extensions);
            (header.source(), header.destination(), header.ecn().value(), declared)
        }
        LaxNetSlice::Arp(_) => return Err(Other::NotIp),
    };
    let payload = net.ip_payload_ref().ok_or(Other::NotIp)?;
    let on_wire = match payload.len_source {
        // A sender that leaves segmentation to its card writes no length.
        LenSource::Slice => payload.payload.len() + (length as usize).saturating_sub(data.len()),
        _ if payload.incomplete => declared,
        _ => payload.payload.len(),
    };
    let bytes = payload.payload;
    let has_ports = matches!(payload.ip_number, IpNumber::TCP | IpNumber::UDP | IpNumber::SCTP);
    let is_fragment = payload.fragmented && !first_fragment(&net);
    let port = |at: usize| match bytes.get(at..at + 2) {
        Some(b) if has_ports && !is_fragment => u16::from_be_bytes([b[0], b[1]]),
        _ => 0,
    };
    let tcp = (payload.ip_number == IpNumber::TCP && !is_fragment).then(|| segment(bytes, on_wire)).flatten();
    Ok(Packet { from: (from, port(0)), to: (to, port(2)), protocol: payload.ip_number.0, ecn, tcp })
}

fn behind(data: &[u8], protocol: usize, header: usize) -> Option<LaxSlicedPacket<'_>> {
    let kind = u16::from_be_bytes([*data.get(protocol)?, *data.get(protocol + 1)?]);
    Some(LaxSlicedPacket::from_ether_type(EtherType(kind), data.get(header..)?))
}

fn mapped(ip: [u8; 4]) -> [u8; 16] {
    std::net::Ipv4Addr::from(ip).to_ipv6_mapped().octets()
}

fn first_fragment(net: &LaxNetSlice<'_>) -> bool {
    match net {
        LaxNetSlice::Ipv4(ip) => ip.header().fragments_offset().value() == 0,
        // Seldom enough to be left out.
        _ => false,
    }
}

/// The beginning of a TCP header is enough: captures are often cut within its options.
fn segment(bytes: &[u8], on_wire: usize) -> Option<Segment> {
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    let (seq, ack, offset, flags) = (word(4)?, word(8)?, *bytes.get(12)?, *bytes.get(13)?);
    let payload = on_wire.saturating_sub(usize::from(offset >> 4) * 4);
    Some(Segment { seq, ack, payload: u32::try_from(payload).unwrap_or(u32::MAX), flags })
}
