//! The headers of a captured packet.

use std::fmt;

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
    /// The differentiated-services codepoint.
    pub dscp: u8,
    /// The IP packet's length on the wire, with its header.
    pub length: u32,
    pub tcp: Option<Segment>,
    pub quic: Option<Quic>,
}

/// A UDP datagram that looks like QUIC (RFC 9000 section 17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quic {
    /// A long header of version 1 or 2 (RFC 9369): it opens a connection.
    Long,
    /// A short header, with its spin bit (section 17.4).
    Short { spin: bool },
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub seq: u32,
    pub ack: u32,
    /// Bytes of payload on the wire, whatever was kept of them.
    pub payload: u32,
    /// The flags, with AE (RFC 9768) above the byte of the others.
    pub flags: u16,
    /// Bytes of options, as the header says.
    pub options: u32,
    /// The largest payload that its sender accepts (RFC 9293 section 3.7.1).
    pub mss: Option<u16>,
    /// Ranges that it acknowledges beyond a hole (RFC 2018); unused places are empty ranges.
    pub selected: [(u32, u32); 4],
    /// Its time stamp and the one that it returns (RFC 7323 section 3.2).
    pub stamps: Option<(u32, u32)>,
}

impl Segment {
    pub const FIN: u16 = 1;
    pub const SYN: u16 = 2;
    pub const RST: u16 = 4;
    pub const ACK: u16 = 16;
    pub const ECE: u16 = 64;

    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// The three flags AE, CWR and ECE as a number (RFC 9768 section 3.1).
    pub fn ace(&self) -> u8 {
        (self.flags >> 6 & 7) as u8
    }
}

/// The reason why a packet is not measured beyond its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    /// No IP header was found in it.
    NotIp(NotIp),
    /// Its link is of a kind that is not read.
    UnknownLink(u16),
}

/// The contents of a packet that is not IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NotIp {
    /// Too little of it was kept, or a header is damaged.
    Cut,
    /// Another EtherType, or a length (below 0x600).
    EtherType(u16),
    /// Another PPP protocol.
    Ppp(u16),
    /// A frame of 802.11 that manages or controls, or has no content.
    Wireless,
    /// A frame of 802.11 that is encrypted.
    Encrypted,
    /// Several frames in one of 802.11 (A-MSDU).
    Aggregate,
    /// An MPLS label stack over something whose first four bits are these.
    Mpls(u8),
}

impl fmt::Display for NotIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            NotIp::Cut => return write!(f, "cut or damaged headers"),
            NotIp::EtherType(0..0x600) => return write!(f, "IEEE 802.3 with LLC"),
            NotIp::EtherType(kind) => {
                let name = match kind {
                    0x0806 => "ARP",
                    0x8863 => "PPPoE discovery",
                    0x88CC => "LLDP",
                    0x88E5 => "MACsec",
                    _ => return write!(f, "EtherType 0x{kind:04x}"),
                };
                return write!(f, "{name}");
            }
            // RFC 4385: 0 is the control word of a pseudowire, 1 its associated channel.
            NotIp::Mpls(0) => "MPLS pseudowire",
            NotIp::Mpls(1) => "MPLS associated channel",
            NotIp::Mpls(_) => "MPLS over something other than IP",
            NotIp::Wireless => "802.11 without data",
            NotIp::Encrypted => "encrypted 802.11",
            NotIp::Aggregate => "A-MSDU of 802.11",
            NotIp::Ppp(0xC021) => "PPP link control",
            NotIp::Ppp(0x00FD) => "compressed or encrypted PPP",
            NotIp::Ppp(0x002D | 0x002F) => "PPP with compressed TCP headers",
            NotIp::Ppp(protocol) => return write!(f, "PPP protocol 0x{protocol:04x}"),
        };
        write!(f, "{name}")
    }
}

/// Reads the headers of a packet of `length` bytes, of which `data` was kept. Within a tunnel the ends are those of the
/// inner packet, and the length is that of the outer one, which the link carries.
pub(super) fn parse(link: u16, data: &[u8], length: u32) -> Result<Packet, Other> {
    // https://www.tcpdump.org/linktypes.html
    let cut = (length as usize).saturating_sub(data.len());
    let ip = |data: Option<_>| data.and_then(|ip| LaxSlicedPacket::from_ip(ip).ok()).ok_or(NotIp::Cut);
    let sliced = match link {
        1 => behind(data, 12, 14, cut),
        // Linux "cooked": a protocol at the end of 16 bytes, or at the beginning of 20.
        113 => behind(data, 14, 16, cut),
        276 => behind(data, 0, 20, cut),
        // PPP, PPP in HDLC-like framing, and PPPoE without the Ethernet header.
        9 | 50 => ppp(data).and_then(|(kind, data)| beneath(kind, data, cut)),
        51 => beneath(PPPOE_SESSION, data, cut),
        105 => wireless(data, false).and_then(|(kind, data)| beneath(kind, data, cut)),
        127 => radiotap(data).and_then(|(kind, data)| beneath(kind, data, cut)),
        // BSD loopback: a family whose byte order and numbers differ; the version says the same.
        0 | 108 => ip(data.get(4..)),
        12 | 14 | 101 | 228 | 229 => ip(Some(data)),
        _ => return Err(Other::UnknownLink(link)),
    };
    let (mut packet, mut content) = read(&sliced.map_err(Other::NotIp)?, cut).map_err(Other::NotIp)?;
    for _ in 0..MOST_TUNNELS {
        let Some((inner, within)) =
            tunneled(&packet, content, cut).and_then(|sliced| read(&sliced, cut).ok())
        else {
            break;
        };
        // Routers on the way mark the outer header (RFC 6040).
        let ecn = if packet.ecn == 3 { 3 } else { inner.ecn };
        packet = Packet { length: packet.length, ecn, ..inner };
        content = within;
    }
    Ok(packet)
}

/// Tunnels within tunnels that are looked into.
const MOST_TUNNELS: usize = 4;

/// The packet in a tunnel: IP in IP (RFC 2003, RFC 4213), GRE (RFC 2784 and RFC 2890) or VXLAN (RFC 7348).
fn tunneled<'a>(packet: &Packet, content: &'a [u8], cut: usize) -> Option<LaxSlicedPacket<'a>> {
    match packet.protocol {
        4 | 41 => LaxSlicedPacket::from_ip(content).ok(),
        47 => {
            let (flags, kind) = (word(content, 0).ok()?, word(content, 2).ok()?);
            let optional = [0x8000, 0x2000, 0x1000].iter().filter(|&&flag| flags & flag != 0).count();
            let inner = content.get(4 + 4 * optional..).filter(|_| flags & 0x4007 == 0)?;
            // Transparent Ethernet bridging.
            if kind == 0x6558 { behind(inner, 12, 14, cut).ok() } else { beneath(kind, inner, cut).ok() }
        }
        17 if packet.to.1 == 4789 => {
            let inner = content.get(16..).filter(|_| content[8] == 8)?;
            behind(inner, 12, 14, cut).ok()
        }
        _ => None,
    }
}

/// The innermost IP packet, and what follows its header; nothing in a fragment but the first.
fn read<'a>(sliced: &LaxSlicedPacket<'a>, cut: usize) -> Result<(Packet, &'a [u8]), NotIp> {
    let net = sliced.net.as_ref().ok_or(NotIp::Cut)?;
    let (from, to, (ecn, dscp), declared, header) = match net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let declared = usize::from(header.total_len()).saturating_sub(header.slice().len());
            let bits = (header.ecn().value(), header.dcp().value());
            let length = header.slice().len();
            (mapped(header.source()), mapped(header.destination()), bits, declared, length)
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let extensions = ip.extensions().slice().len();
            let declared = usize::from(header.payload_length()).saturating_sub(extensions);
            let bits = (header.ecn().value(), header.dscp().value());
            (header.source(), header.destination(), bits, declared, header.slice().len() + extensions)
        }
        LaxNetSlice::Arp(_) => return Err(NotIp::EtherType(EtherType::ARP.0)),
    };
    let payload = net.ip_payload_ref().ok_or(NotIp::Cut)?;
    let on_wire = match payload.len_source {
        // The frame may be longer than the packet, by padding or a check sequence: what was not kept may be either.
        _ if payload.incomplete => declared,
        // A sender that leaves segmentation to its card writes no length.
        LenSource::Slice => payload.payload.len() + cut,
        _ => payload.payload.len(),
    };
    let bytes = payload.payload;
    let has_ports = matches!(payload.ip_number, IpNumber::TCP | IpNumber::UDP | IpNumber::SCTP);
    let is_fragment = payload.fragmented && !first_fragment(net);
    let port = |at: usize| match bytes.get(at..at + 2) {
        Some(b) if has_ports && !is_fragment => u16::from_be_bytes([b[0], b[1]]),
        _ => 0,
    };
    let tcp = (payload.ip_number == IpNumber::TCP && !is_fragment).then(|| segment(bytes, on_wire)).flatten();
    let quic = (payload.ip_number == IpNumber::UDP && !is_fragment).then(|| quic(bytes)).flatten();
    let packet = Packet {
        from: (from, port(0)),
        to: (to, port(2)),
        protocol: payload.ip_number.0,
        ecn,
        dscp,
        length: u32::try_from(header + on_wire).unwrap_or(u32::MAX),
        tcp,
        quic,
    };
    Ok((packet, if is_fragment { &[] } else { bytes }))
}

/// The header of QUIC in a UDP datagram, if it has the form of one.
fn quic(datagram: &[u8]) -> Option<Quic> {
    let first = *datagram.get(8)?;
    match first & 0xC0 {
        0xC0 => match datagram.get(9..13)? {
            [0, 0, 0, 1] | [0x6B, 0x33, 0x43, 0xCF] => Some(Quic::Long),
            _ => None,
        },
        0x40 => Some(Quic::Short { spin: first & 0x20 != 0 }),
        _ => None,
    }
}

/// The EtherType and the content of a frame of 802.11 behind a radiotap header (radiotap.org).
fn radiotap(data: &[u8]) -> Result<(u16, &[u8]), NotIp> {
    let little = |at: usize| data.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let length = usize::from(word(data, 2)?.swap_bytes());
    // Words that say which fields follow; the upper bit says that there is another.
    let present = little(4).ok_or(NotIp::Cut)?;
    let mut fields = 8;
    let mut more = present;
    while more >> 31 == 1 {
        more = little(fields).ok_or(NotIp::Cut)?;
        fields += 4;
    }
    // A time of 8 bytes at a multiple of 8, then flags.
    let flags_at = if present & 1 == 1 { fields.next_multiple_of(8) + 8 } else { fields };
    let flags = if present & 2 == 2 { *data.get(flags_at).ok_or(NotIp::Cut)? } else { 0 };
    wireless(data.get(length..).ok_or(NotIp::Cut)?, flags & 0x20 != 0)
}

/// The EtherType and the content of a data frame (IEEE 802.11-2020, 9.3.2.1); `padded` says that its header was padded to a
/// multiple of four bytes.
fn wireless(data: &[u8], padded: bool) -> Result<(u16, &[u8]), NotIp> {
    let &[kind, flags, ..] = data else { return Err(NotIp::Cut) };
    // Data, of a kind that has some.
    if kind & 0x0C != 0x08 || kind & 0x40 != 0 {
        return Err(NotIp::Wireless);
    }
    if flags & 0x40 != 0 {
        return Err(NotIp::Encrypted);
    }
    let addresses = if flags & 3 == 3 { 30 } else { 24 };
    let has_qos = kind & 0x80 != 0;
    if has_qos && data.get(addresses).ok_or(NotIp::Cut)? & 0x80 != 0 {
        return Err(NotIp::Aggregate);
    }
    let control = if has_qos { 2 + 4 * usize::from(flags >> 7) } else { 0 };
    let header = addresses + control;
    let header = if padded { header.next_multiple_of(4) } else { header };
    // LLC and SNAP (RFC 1042).
    let llc = data.get(header..).ok_or(NotIp::Cut)?;
    match llc.get(..6).ok_or(NotIp::Cut)? {
        [0xAA, 0xAA, 3, 0, 0, 0] => Ok((word(llc, 6)?, llc.get(8..).ok_or(NotIp::Cut)?)),
        _ => Err(NotIp::EtherType(0)),
    }
}

const PPPOE_SESSION: u16 = 0x8864;

/// Reads what follows a header with an EtherType in it.
fn behind(data: &[u8], kind: usize, header: usize, cut: usize) -> Result<LaxSlicedPacket<'_>, NotIp> {
    beneath(word(data, kind)?, data.get(header..).ok_or(NotIp::Cut)?, cut)
}

/// The IP packet beneath VLAN tags, PPPoE sessions and MPLS labels, of which `cut` bytes were not kept.
fn beneath(mut kind: u16, mut data: &[u8], cut: usize) -> Result<LaxSlicedPacket<'_>, NotIp> {
    loop {
        (kind, data) = match kind {
            PPPOE_SESSION => ppp(pppoe(data)?)?,
            // RFC 3032 section 5; the second is multicast, or a label that the other side assigned (RFC 5332).
            0x8847 | 0x8848 => mpls(data, cut)?,
            _ => {
                let sliced = LaxSlicedPacket::from_ether_type(EtherType(kind), data);
                if sliced.net.is_some() {
                    return Ok(sliced);
                }
                let inner = sliced.ether_payload().ok_or(NotIp::Cut)?;
                if inner.payload.len() == data.len() {
                    let is_ip = matches!(EtherType(kind), EtherType::IPV4 | EtherType::IPV6);
                    return Err(if is_ip { NotIp::Cut } else { NotIp::EtherType(kind) });
                }
                (inner.ether_type.0, inner.payload)
            }
        }
    }
}

/// The PPP frame in a PPPoE session (RFC 2516 section 4): version and type are 1, the code is 0.
fn pppoe(data: &[u8]) -> Result<&[u8], NotIp> {
    match word(data, 0)? {
        0x1100 => data.get(6..).ok_or(NotIp::Cut),
        _ => Err(NotIp::Cut),
    }
}

/// The EtherType and the content of a PPP frame (RFC 1661 section 2).
fn ppp(data: &[u8]) -> Result<(u16, &[u8]), NotIp> {
    // The address and control fields of HDLC (RFC 1662 section 3.1), which PPPoE leaves out.
    let data = data.strip_prefix(&[0xFF, 0x03]).unwrap_or(data);
    // An odd first byte is a compressed protocol field (RFC 1661 section 6.5).
    let (protocol, header) = match data.first() {
        Some(first) if first % 2 == 1 => (u16::from(*first), 1),
        _ => (word(data, 0)?, 2),
    };
    let kind = match protocol {
        0x0021 => EtherType::IPV4.0,
        0x0057 => EtherType::IPV6.0,
        // RFC 3032 section 4.3
        0x0281 => 0x8847,
        0x0283 => 0x8848,
        other => return Err(NotIp::Ppp(other)),
    };
    Ok((kind, data.get(header..).ok_or(NotIp::Cut)?))
}

/// The EtherType and the content beneath a stack of MPLS labels (RFC 3032 section 2.1).
///
/// The labels do not say what they carry. IP begins with its version, and what is not IP is asked to begin
/// with 0 or 1 (RFC 4928 section 3, RFC 4385); but an Ethernet frame in a pseudowire without a control word may
/// begin with 4 or 6 (RFC 8469), so the length in the header must fit, too.
fn mpls(data: &[u8], cut: usize) -> Result<(u16, &[u8]), NotIp> {
    let bottom = data.chunks_exact(4).position(|label| label[2] & 1 == 1).ok_or(NotIp::Cut)?;
    let content = &data[4 * (bottom + 1)..];
    let version = content.first().ok_or(NotIp::Cut)? >> 4;
    let (kind, declared) = match version {
        4 => (EtherType::IPV4, usize::from(word(content, 2)?)),
        6 => (EtherType::IPV6, 40 + usize::from(word(content, 4)?)),
        other => return Err(NotIp::Mpls(other)),
    };
    // The shortest Ethernet frames are padded, and some end with their check sequence.
    let carried = content.len() + cut;
    let fits = declared <= carried && carried - declared <= 50;
    if fits { Ok((kind.0, content)) } else { Err(NotIp::Mpls(version)) }
}

/// Two bytes of a header.
fn word(data: &[u8], at: usize) -> Result<u16, NotIp> {
    data.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]])).ok_or(NotIp::Cut)
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
    let (seq, ack, offset, low) = (word(4)?, word(8)?, *bytes.get(12)?, *bytes.get(13)?);
    let flags = u16::from(offset & 1) << 8 | u16::from(low);
    let header = usize::from(offset >> 4) * 4;
    let payload = u32::try_from(on_wire.saturating_sub(header)).unwrap_or(u32::MAX);
    let options = header.saturating_sub(20) as u32;
    let mut found =
        Segment { seq, ack, payload, flags, options, mss: None, selected: [(0, 0); 4], stamps: None };
    let mut at = 20;
    // The kinds 0 and 1 are one byte each, the end and padding (RFC 9293 section 3.1).
    while let Some(&kind) = bytes.get(at).filter(|&&kind| at < header && kind != 0) {
        if kind == 1 {
            at += 1;
            continue;
        }
        let length = bytes.get(at + 1).map_or(0, |&length| usize::from(length));
        match (kind, length) {
            (_, 0 | 1) => break,
            (2, 4) => found.mss = bytes.get(at + 2..at + 4).map(|b| u16::from_be_bytes([b[0], b[1]])),
            (8, 10) => found.stamps = word(at + 2).zip(word(at + 6)),
            (5, 10..=34) => {
                for (i, range) in found.selected.iter_mut().enumerate().take((length - 2) / 8) {
                    let (from, to) = (word(at + 2 + 8 * i), word(at + 6 + 8 * i));
                    *range = from.zip(to).unwrap_or_default();
                }
            }
            _ => {}
        }
        at += length;
    }
    Some(found)
}
