//! The IP header of a packet: what an algorithm may know of it, and the mark that it may leave there.

use core::hash::Hasher;

use quell_aqm::{Ecn, FlowId, Hosts, Transport};
use siphasher::sip::SipHasher13;

/// The contents of a packet's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// A keyed hash of addresses, protocol and ports.
    pub flow: FlowId,
    /// The ECN field as it arrived (RFC 3168 section 5).
    pub ecn: Ecn,
    /// The protocol that it carries.
    pub transport: Transport,
    /// It opens a TCP connection: SYN without ACK.
    pub syn: bool,
    /// The DSCP, 0 to 63 (RFC 2474 section 3).
    pub dscp: u8,
    /// Keyed hashes of its two addresses.
    pub hosts: Hosts,
}

/// A secret that makes flow hashes unpredictable to hosts that would aim collisions.
#[derive(Clone, Copy)]
pub struct FlowKey([u8; 16]);

impl FlowKey {
    /// A key of the system's generator.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn random() -> std::io::Result<Self> {
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(|e| std::io::Error::other(e.to_string()))?;
        Ok(FlowKey(key))
    }

    /// A key that everyone knows, for tests.
    pub const fn known() -> Self {
        FlowKey([7; 16])
    }

    #[inline]
    fn hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_key(&self.0)
    }

    /// The number of a host, by its address: the same whether it sends or receives, and not 0, which nobody has.
    #[inline]
    fn host(&self, address: &[u8]) -> u16 {
        let mut hash = self.hasher();
        hash.write(address);
        (hash.finish() as u16).max(1)
    }

    #[inline]
    fn hosts(&self, source: &[u8], destination: &[u8]) -> Hosts {
        Hosts { source: self.host(source), destination: self.host(destination) }
    }
}

/// The EtherType of IPv4 and IPv6, and of the tags of VLANs (IEEE 802.1Q and 802.1ad).
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// Returns the offset of the IP header in an Ethernet frame, behind up to two VLAN tags; `None` for frames that carry
/// something else: ARP and the like, which no algorithm may touch.
#[inline]
pub fn ip_offset(frame: &[u8]) -> Option<usize> {
    let ether_type = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let mut at = 12;
    for _ in 0..2 {
        if !TAGS.contains(&ether_type(at)?) {
            break;
        }
        at += 4;
    }
    matches!(ether_type(at)?, IPV4 | IPV6).then_some(at + 2)
}

/// Protocol numbers (IANA).
mod protocol {
    pub const HOP_BY_HOP: u8 = 0;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const ROUTING: u8 = 43;
    pub const FRAGMENT: u8 = 44;
    pub const ICMPV6: u8 = 58;
    pub const DESTINATION: u8 = 60;
}

impl Header {
    /// Reads an IP packet, of which `bytes` may hold only the first part.
    ///
    /// `None` if it is neither an IPv4 nor an IPv6 header, or neighbor discovery (RFC 4861), without which a link
    /// does not work: what is not understood is passed on, never judged. The ports of fragments are not read, so all
    /// fragments of a packet are of one flow.
    #[inline]
    pub fn parse(bytes: &[u8], key: &FlowKey) -> Option<Header> {
        match bytes.first()? >> 4 {
            4 => ipv4(bytes, key),
            6 => ipv6(bytes, key),
            _ => None,
        }
    }
}

#[inline]
fn ipv4(bytes: &[u8], key: &FlowKey) -> Option<Header> {
    let fixed: &[u8; 20] = bytes.first_chunk()?;
    let length = usize::from(fixed[0] & 15) * 4;
    if length < 20 {
        return None;
    }
    // More fragments, or an offset (RFC 791 section 3.1).
    let whole = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff == 0;
    let mut hash = key.hasher();
    hash.write(&fixed[12..20]);
    let payload = if whole { bytes.get(length..) } else { None };
    let hosts = key.hosts(&fixed[12..16], &fixed[16..20]);
    Some(Header { hosts, ..transport(fixed[1], fixed[9], payload, hash) })
}

#[inline]
fn ipv6(bytes: &[u8], key: &FlowKey) -> Option<Header> {
    let fixed: &[u8; 40] = bytes.first_chunk()?;
    let class = fixed[0] << 4 | fixed[1] >> 4;
    let mut hash = key.hasher();
    hash.write(&fixed[8..40]);
    let (mut next, mut at) = (fixed[6], 40);
    let mut whole = true;
    // Extension headers (RFC 8200 section 4), as many as a sane packet has.
    for _ in 0..8 {
        let Some(head) = bytes.get(at..at + 8) else { break };
        match next {
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION => {
                (next, at) = (head[0], at + 8 + usize::from(head[1]) * 8);
            }
            protocol::FRAGMENT => {
                // An atomic fragment (RFC 6946) is a whole packet.
                whole = u16::from_be_bytes([head[2], head[3]]) & 0xfff9 == 0;
                if !whole {
                    // What follows the first one's header follows no other's, and only that of the first fragment names
                    // the protocol for sure (RFC 8200 section 4.5).
                    next = protocol::FRAGMENT;
                    break;
                }
                (next, at) = (head[0], at + 8);
            }
            _ => break,
        }
    }
    // Router and neighbor solicitations, advertisements and redirects (RFC 4861 section 4).
    if next == protocol::ICMPV6 && whole && bytes.get(at).is_some_and(|kind| (133..=137).contains(kind)) {
        return None;
    }
    let payload = if whole { bytes.get(at..) } else { None };
    let hosts = key.hosts(&fixed[8..24], &fixed[24..40]);
    Some(Header { hosts, ..transport(class, next, payload, hash) })
}

/// The rest but the hosts, from the traffic class, the protocol and what follows the IP header.
#[inline]
fn transport(class: u8, protocol: u8, payload: Option<&[u8]>, mut hash: SipHasher13) -> Header {
    hash.write_u8(protocol);
    let transport = match protocol {
        protocol::TCP => Transport::Tcp,
        protocol::UDP => Transport::Udp,
        _ => Transport::Other,
    };
    let mut syn = false;
    if transport != Transport::Other
        && let Some(payload) = payload
        && let Some(ports) = payload.get(..4)
    {
        hash.write(ports);
        // Of the control bits SYN and ACK (RFC 9293 section 3.1).
        syn = transport == Transport::Tcp && payload.get(13).is_some_and(|bits| bits & 0x12 == 0x02);
    }
    let (flow, hosts) = (FlowId(hash.finish() as u32), Hosts::default());
    Header { flow, ecn: ecn(class), transport, syn, dscp: class >> 2, hosts }
}

/// The ECN field of a traffic class (RFC 3168 section 5).
#[inline]
pub fn ecn(class: u8) -> Ecn {
    match class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// Sets CE in an IP header that [`Header::parse`] has understood; IPv4's checksum follows by RFC 1624
/// equation 3.
#[inline]
pub fn set_ce(bytes: &mut [u8]) {
    match bytes.first().map(|b| b >> 4) {
        Some(4) if bytes.len() >= 20 => {
            let old = u16::from_be_bytes([bytes[0], bytes[1]]);
            bytes[1] |= 3;
            let new = u16::from_be_bytes([bytes[0], bytes[1]]);
            let checksum = u16::from_be_bytes([bytes[10], bytes[11]]);
            let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = (sum & 0xffff) + (sum >> 16);
            bytes[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        }
        Some(6) if bytes.len() >= 2 => bytes[1] |= 0x30,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use etherparse::{PacketBuilder, SlicedPacket};
    use proptest::prelude::*;

    use super::*;

    /// A packet of etherparse's making.
    fn packet(v6: bool, class: u8, tcp: bool, ports: (u16, u16), flags: u8, payload: &[u8]) -> Vec<u8> {
        let builder = if v6 {
            let mut header =
                etherparse::Ipv6Header { source: [1; 16], destination: [2; 16], ..Default::default() };
            header.traffic_class = class;
            PacketBuilder::ip(etherparse::IpHeaders::Ipv6(header, Default::default()))
        } else {
            let mut header = etherparse::Ipv4Header {
                source: [10, 0, 0, 1],
                destination: [10, 0, 0, 2],
                ..Default::default()
            };
            header.dscp = etherparse::IpDscp::try_new(class >> 2).unwrap();
            header.ecn = etherparse::IpEcn::try_new(class & 3).unwrap();
            PacketBuilder::ip(etherparse::IpHeaders::Ipv4(header, Default::default()))
        };
        let mut out = Vec::new();
        if tcp {
            let mut builder = builder.tcp(ports.0, ports.1, 1, 1000);
            if flags & 2 != 0 {
                builder = builder.syn();
            }
            if flags & 16 != 0 {
                builder = builder.ack(5);
            }
            builder.write(&mut out, payload).unwrap();
        } else {
            builder.udp(ports.0, ports.1).write(&mut out, payload).unwrap();
        }
        out
    }

    fn checksum_holds(packet: &[u8]) -> bool {
        let (header, _) = etherparse::Ipv4Header::from_slice(packet).unwrap();
        header.calc_header_checksum() == header.header_checksum
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn headers_are_read_as_another_reader_does(
            v6: bool, class: u8, tcp: bool, ports: (u16, u16), flags: u8,
            payload in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let key = FlowKey::known();
            let mut bytes = packet(v6, class, tcp, ports, flags, &payload);
            let header = Header::parse(&bytes, &key).unwrap();
            prop_assert_eq!(header.dscp, class >> 2);
            prop_assert_eq!(header.ecn, ecn(class));
            prop_assert_eq!(header.transport, if tcp { Transport::Tcp } else { Transport::Udp });
            prop_assert_eq!(header.syn, tcp && flags & 2 != 0 && flags & 16 == 0);
            // Another port is another flow; another payload is not.
            let other = packet(v6, class, tcp, (ports.0 ^ 1, ports.1), flags, &payload);
            prop_assert_ne!(Header::parse(&other, &key).unwrap().flow, header.flow);
            let other = packet(v6, !class, tcp, ports, 16, b"x");
            prop_assert_eq!(Header::parse(&other, &key).unwrap().flow, header.flow);
            // A mark is CE, and nothing else changes.
            set_ce(&mut bytes);
            let marked = Header::parse(&bytes, &key).unwrap();
            prop_assert_eq!(marked, Header { ecn: Ecn::Ce, ..header });
            prop_assert!(v6 || checksum_holds(&bytes));
            prop_assert!(SlicedPacket::from_ip(&bytes).is_ok());
            // In an Ethernet frame with tags.
            for tags in 0..3 {
                let mut frame = vec![0; 12];
                frame.extend((0..tags).flat_map(|_| [0x81, 0x00, 0, 1]));
                frame.extend(if v6 { [0x86, 0xdd] } else { [8, 0] });
                frame.extend(&bytes);
                prop_assert_eq!(ip_offset(&frame), Some(14 + 4 * tags));
            }
        }

        /// Nothing panics, and a mark stays within the traffic class and the checksum.
        #[test]
        fn nonsense_is_passed_on(bytes in prop::collection::vec(any::<u8>(), 0..80), version in 0u8..16) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = version << 4 | *first & 15;
            }
            let before = bytes.clone();
            let header = Header::parse(&bytes, &FlowKey::known());
            prop_assert!(header.is_none() || version == 4 || version == 6);
            let _ = ip_offset(&bytes);
            set_ce(&mut bytes);
            for (i, (a, b)) in before.iter().zip(&bytes).enumerate() {
                prop_assert!(a == b || i == 1 || (version == 4 && (10..12).contains(&i)));
            }
        }
    }

    #[test]
    fn hosts_are_told_apart_by_their_addresses_and_by_the_key() {
        let key = FlowKey::known();
        for v6 in [false, true] {
            let forth = packet(v6, 0, true, (1, 2), 0, b"");
            let mut back = forth.clone();
            let (at, length) = if v6 { (8, 16) } else { (12, 4) };
            for i in 0..length {
                back.swap(at + i, at + length + i);
            }
            let hosts = |bytes: &[u8], key: &FlowKey| Header::parse(bytes, key).unwrap().hosts;
            let (forth, back) = (hosts(&forth, &key), hosts(&back, &key));
            assert_eq!((forth.source, forth.destination), (back.destination, back.source));
            assert!(forth.source != forth.destination && forth.source > 0 && forth.destination > 0);
            // Other ports are other flows of the same hosts; another key is other numbers.
            let other = packet(v6, 0, false, (3, 4), 0, b"x");
            assert_eq!(hosts(&other, &key), forth);
            assert_ne!(hosts(&other, &FlowKey([8; 16])), forth);
        }
    }

    #[test]
    fn fragments_are_one_flow_and_neighbor_discovery_passes() {
        let key = FlowKey::known();
        let mut first = packet(false, 2, false, (1, 2), 0, b"data");
        first[6] = 0x20;
        let mut second = first.clone();
        (second[6], second[7]) = (0, 3);
        let parse = |bytes: &[u8]| Header::parse(bytes, &key).unwrap();
        assert_eq!(parse(&first).flow, parse(&second).flow);
        assert_eq!(parse(&first).transport, Transport::Udp);
        // Of IPv6, with an extension header that only the first fragment has, and another value of "next header" behind.
        let fragment = |next: u8, offset: u16, payload: &[u8]| {
            let mut bytes = vec![0x60, 0, 0, 0, 0, 40, 44, 64];
            bytes.extend([1; 32]);
            bytes.extend([next, 0, (offset >> 8) as u8, offset as u8, 0, 0, 0, 9]);
            bytes.extend(payload);
            bytes
        };
        let options = [17, 0, 1, 4, 0, 0, 0, 0, 0, 1, 0, 2, 0, 40, 0, 0];
        let flow = parse(&fragment(60, 1, &options)).flow;
        for (next, offset) in [(60, 16), (17, 17), (44, 9)] {
            assert_eq!(parse(&fragment(next, offset, &[60; 32])).flow, flow);
        }
        assert_eq!(parse(&fragment(17, 0, &options[8..])).transport, Transport::Udp);
        let mut solicitation = vec![0x60, 0, 0, 0, 0, 8, 58, 255];
        solicitation.extend([0; 32]);
        solicitation.extend([135, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Header::parse(&solicitation, &key), None);
        solicitation[40] = 128;
        assert_eq!(parse(&solicitation).transport, Transport::Other);
    }

    /// Two million malformed packets, and a hundred million with `QUELL_LONG=1`.
    #[test]
    fn malformed_packets_do_no_harm() {
        let count = if std::env::var_os("QUELL_LONG").is_some() { 100_000_000 } else { 2_000_000 };
        let mut rng = quell_aqm::Seed(5).stream("malformed");
        let key = FlowKey::known();
        let valid = [packet(true, 1, true, (3, 4), 2, b"x"), packet(false, 1, true, (3, 4), 2, b"x")];
        let mut understood = 0u64;
        for i in 0..count {
            let mut bytes = valid[i % 2].clone();
            for _ in 0..rng.next_u64() % 5 {
                let at = rng.next_u64() as usize % bytes.len();
                bytes[at] = rng.next_u64() as u8;
            }
            bytes.truncate(rng.next_u64() as usize % (bytes.len() + 1));
            if Header::parse(&bytes, &key).is_some() {
                understood += 1;
                set_ce(&mut bytes);
                assert_eq!(Header::parse(&bytes, &key).unwrap().ecn, Ecn::Ce);
            }
        }
        assert!(understood > 0);
    }
}
