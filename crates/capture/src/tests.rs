//! Captures made here, by other crates than the one that reads them, with known R, N and C.

use std::borrow::Cow;
use std::time::Duration as Wall;

use etherparse::{EtherType, Ethernet2Header, PacketBuilder, PacketBuilderStep, TcpHeader};
use pcap_file::pcap::{PcapHeader, RawPcapPacket};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{InterfaceStatisticsBlock, InterfaceStatisticsOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness, TsResolution};
use proptest::prelude::*;
use quell_aqm::part::FlowTable;
use quell_aqm::{FlowId, PacketMeta};
use quell_units::{Bytes, Time};

use super::flows::Connections;
use super::packet::Other;
use super::*;

mod bulk;
mod network;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// The time of day at which the captures begin.
const START: u64 = 1_700_000_000 * SECOND;

/// A packet before it is written: IP and up, with its time.
#[derive(Clone)]
struct Sent {
    at: u64,
    header: TcpHeader,
    /// Ends of hosts: the last bytes of their addresses.
    from: u8,
    to: u8,
    payload: usize,
    ecn: u8,
}

fn tcp(at: u64, (from, from_port): (u8, u16), (to, to_port): (u8, u16), seq: u32, payload: usize) -> Sent {
    Sent { at, header: TcpHeader::new(from_port, to_port, seq, 65_000), from, to, payload, ecn: 0 }
}

impl Sent {
    fn syn(mut self) -> Self {
        self.header.syn = true;
        self
    }

    fn ack(mut self, ack: u32) -> Self {
        (self.header.ack, self.header.acknowledgment_number) = (true, ack);
        self
    }

    fn rst(mut self) -> Self {
        self.header.rst = true;
        self
    }
}

/// What the packets travel in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Ethernet,
    Vlan,
    TwoVlans,
    Pppoe,
    /// With the protocol field compressed, within two VLANs.
    PppoeInVlans,
    Mpls,
    /// Three labels within a VLAN.
    MplsInVlan,
    /// MPLS within PPPoE.
    MplsInPppoe,
    Ppp,
    PppEther,
    Cooked,
    Cooked2,
    Raw,
    Null,
}

impl Link {
    fn number(self) -> u32 {
        match self {
            Link::Ethernet | Link::Vlan | Link::TwoVlans => 1,
            Link::Pppoe | Link::PppoeInVlans | Link::Mpls | Link::MplsInVlan | Link::MplsInPppoe => 1,
            Link::Ppp => 9,
            Link::PppEther => 51,
            Link::Cooked => 113,
            Link::Cooked2 => 276,
            Link::Raw => 101,
            Link::Null => 0,
        }
    }

    fn frame(self, v6: bool, sent: &Sent) -> Vec<u8> {
        let mut ip = Vec::new();
        let payload = vec![0x55; sent.payload];
        let v6_of = |host| [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host];
        let network = |step: PacketBuilderStep<Ethernet2Header>| match v6 {
            true => step.ipv6(v6_of(sent.from), v6_of(sent.to), 60),
            false => step.ipv4([10, 0, 0, sent.from], [10, 0, 0, sent.to], 60),
        };
        let ethernet = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        network(ethernet).tcp_header(sent.header.clone()).write(&mut ip, &payload).unwrap();
        let mut ip = ip.split_off(14);
        if v6 {
            ip[1] |= sent.ecn << 4;
        } else {
            ip[1] |= sent.ecn;
        }
        let kind = if v6 { EtherType::IPV6 } else { EtherType::IPV4 }.0.to_be_bytes();
        let protocol = if v6 { [0, 0x57] } else { [0, 0x21] };
        let label = |last: bool| [0, 1, 0x30 | u8::from(last), 64];
        let session = |ppp: &[u8]| {
            let length = (ppp.len() + ip.len()) as u16;
            [&[0x88, 0x64, 0x11, 0, 0, 7][..], &length.to_be_bytes(), ppp].concat()
        };
        let vlans = [0x88, 0xa8, 0, 7, 0x81, 0, 0, 9];
        let mut frame = vec![0; 12];
        match self {
            Link::Ethernet => frame.extend(kind),
            Link::Vlan => frame.extend([&[0x81, 0, 0, 7][..], &kind].concat()),
            Link::TwoVlans => frame.extend([&vlans[..], &kind].concat()),
            Link::Pppoe => frame.extend(session(&protocol)),
            Link::PppoeInVlans => frame.extend([&vlans[..], &session(&protocol[1..])].concat()),
            Link::Mpls => frame.extend([&[0x88, 0x47][..], &label(true)].concat()),
            Link::MplsInVlan => {
                let labels = [label(false), label(false), label(true)].concat();
                frame.extend([&[0x81, 0, 0, 7, 0x88, 0x48][..], &labels].concat());
            }
            Link::MplsInPppoe => frame.extend(session(&[&[2, 0x81][..], &label(true)].concat())),
            Link::Ppp => frame = [&[0xFF, 3][..], &protocol].concat(),
            Link::PppEther => frame = session(&protocol).split_off(2),
            Link::Cooked => frame.extend([&[0; 2][..], &kind].concat()),
            Link::Cooked2 => frame = [&kind[..], &[0; 18]].concat(),
            Link::Raw => frame.clear(),
            Link::Null => frame = vec![0, 0, 0, if v6 { 28 } else { 2 }],
        }
        frame.extend(ip);
        frame
    }
}

/// Frames with their times.
type Frames = Vec<(u64, Vec<u8>)>;

fn frames(link: Link, v6: bool, packets: &[Sent]) -> Frames {
    packets.iter().map(|p| (p.at, link.frame(v6, p))).collect()
}

/// A pcap file that keeps `snap` bytes of each frame.
fn pcap(link: u32, endianness: Endianness, nanos: bool, snap: usize, frames: &Frames) -> Vec<u8> {
    let mut file = Vec::new();
    let ts_resolution = if nanos { TsResolution::NanoSecond } else { TsResolution::MicroSecond };
    let datalink = DataLink::from(link);
    let header =
        PcapHeader { endianness, ts_resolution, datalink, snaplen: snap as u32, ..Default::default() };
    header.write_to(&mut file).unwrap();
    for (at, frame) in frames {
        let kept = frame.len().min(snap);
        let packet = RawPcapPacket {
            ts_sec: (at / SECOND) as u32,
            ts_frac: (at % SECOND) as u32 / if nanos { 1 } else { 1000 },
            incl_len: kept as u32,
            orig_len: frame.len() as u32,
            data: Cow::Borrowed(&frame[..kept]),
        };
        match endianness {
            Endianness::Big => packet.write_to::<_, byteorder_slice::BigEndian>(&mut file).unwrap(),
            Endianness::Little => packet.write_to::<_, byteorder_slice::LittleEndian>(&mut file).unwrap(),
        };
    }
    file
}

fn simple(packets: &[Sent]) -> Vec<u8> {
    pcap(1, Endianness::Little, true, 65_535, &frames(Link::Ethernet, false, packets))
}

/// A pcapng file whose times are in ticks of `resolution`.
fn pcapng(link: u32, endianness: Endianness, resolution: Option<u8>, frames: &Frames) -> Vec<u8> {
    let mut writer = PcapNgWriter::with_endianness(Vec::new(), endianness).unwrap();
    let options = resolution.map(InterfaceDescriptionOption::IfTsResol).into_iter().collect();
    let interface = InterfaceDescriptionBlock { linktype: DataLink::from(link), snaplen: 65_535, options };
    writer.write_block(&interface.into_block()).unwrap();
    for (at, frame) in frames {
        let ticks = match resolution {
            None => at / 1000,
            Some(r) if r & 0x80 != 0 => ((u128::from(*at) << (r & 0x7f)) / 1_000_000_000) as u64,
            Some(r) => (u128::from(*at) * 10_u128.pow(r.into()) / 1_000_000_000) as u64,
        };
        let packet = EnhancedPacketBlock {
            interface_id: 0,
            // That crate takes every tick for a nanosecond.
            timestamp: Wall::from_nanos(ticks),
            original_len: frame.len() as u32,
            data: Cow::Borrowed(frame),
            options: vec![],
        };
        writer.write_block(&packet.into_block()).unwrap();
    }
    writer.into_inner()
}

/// Sizes of whole frames, as the captures here are made for.
fn framed() -> Options {
    Options { layer: Layer::Capture, ..Options::default() }
}

fn report(file: &[u8]) -> Report {
    intervals(file, &framed()).0
}

fn intervals(file: &[u8], options: &Options) -> (Report, Vec<Interval>) {
    let mut all = Vec::new();
    let report = measure(file, options, |i| all.push(*i)).unwrap();
    (report, all)
}

const SERVER: (u8, u16) = (200, 443);

/// The three packets of a handshake that begins at `at`, captured `before` of its `rtt` before the
/// server answers.
fn handshake(at: u64, client: (u8, u16), rtt: u64, before: u64) -> [Sent; 3] {
    [
        tcp(at, client, SERVER, 1000, 0).syn(),
        tcp(at + before, SERVER, client, 9000, 0).syn().ack(1001),
        tcp(at + rtt, client, SERVER, 1001, 0).ack(9001),
    ]
}

/// A link of 10 Mbit/s: in the first second twenty clients, with round trips of 51 to 70 ms, open a
/// connection each, and then the server sends to them in turn for ten seconds without pause, each
/// frame of 1514 bytes; every second one is acknowledged.
fn busy_link() -> Vec<Sent> {
    let mut packets = Vec::new();
    let client = |i: u64| (1 + i as u8, 40_000 + i as u16);
    for i in 0..20 {
        packets.extend(handshake(START + i * 40 * MS, client(i), (51 + i) * MS, 20 * MS));
    }
    let frame = 1514 * 800;
    for k in 0..10 * SECOND / frame {
        let at = START + SECOND + k * frame;
        let seq = 9001 + (k / 20) as u32 * 1460;
        packets.push(tcp(at, SERVER, client(k % 20), seq, 1460).ack(1001));
        if k / 20 % 2 == 1 {
            packets.push(tcp(at + MS, client(k % 20), SERVER, 1001, 0).ack(seq + 1460));
        }
    }
    packets.sort_by_key(|p| p.at);
    packets
}

#[test]
fn r_n_and_c_of_a_known_link() {
    let packets = busy_link();
    let (report, intervals) = intervals(&simple(&packets), &framed());
    assert_eq!((report.format, report.packets), (Format::Pcap, packets.len() as u64));
    assert_eq!((report.new_connections, report.repeated_handshakes), (20, 0));
    assert_eq!(report.start_s, START as f64 / 1e9);

    let trips = report.round_trips.unwrap();
    assert_eq!(trips.handshakes, 20);
    assert!((trips.mean_s - 0.0605).abs() < 1e-9, "{trips:?}");
    for (found, expected) in trips.quantiles_s.iter().zip([0.051, 0.055, 0.060, 0.065, 0.069]) {
        assert!((found / expected - 1.0).abs() < 1e-3, "{trips:?}");
    }

    let [up, down] = &report.directions;
    assert_eq!((up.direction, down.direction), (Direction::Up, Direction::Down));
    assert_eq!(down.flows, FlowCount { flows: 20, data_flows: 20, active: 20 });
    assert_eq!(up.flows, FlowCount { flows: 20, data_flows: 0, active: 0 });
    assert_eq!(report.busier(), down);

    let c = down.capacity;
    assert_eq!(c.verdict, CapacityVerdict::Full);
    assert!((c.capacity_bps.unwrap() / 1e7 - 1.0).abs() < 1e-9, "{c:?}");
    let pairs = c.pairs.unwrap();
    assert!(pairs.told && pairs.share > 0.99 && (pairs.rate_bps / 1e7 - 1.0).abs() < 0.01, "{pairs:?}");
    assert!(up.capacity.busiest_bps.unwrap() < 2e5);

    // 20 SYN/ACKs of 54 bytes, and frames of 1514.
    let data = 10 * SECOND / (1514 * 800);
    assert_eq!((down.packets, down.bytes), (20 + data, 20 * 54 + data * 1514));
    assert!((down.rate_bps.unwrap() - down.bytes as f64 * 8.0 / report.duration_s).abs() < 1.0);

    assert_eq!(intervals.len(), 11);
    assert_eq!((intervals[0].new_connections, intervals[0].handshakes), (20, 20));
    assert_eq!(intervals[0].down.flows, FlowCount { flows: 20, data_flows: 0, active: 0 });
    assert!((intervals[0].rtt_mean_s.unwrap() - 0.0605).abs() < 1e-9);
    assert_eq!(intervals[5].rtt_mean_s, None);
    assert!((intervals[5].down.bytes as f64 * 8.0 / 1e7 - 1.0).abs() < 1514.0 * 8.0 / 1e7);
    assert_eq!(intervals.iter().map(|i| i.down.packets + i.up.packets).sum::<u64>(), report.packets);
}

/// A packet that comes late, and just before its successor, begins a stretch that is busier than the link.
#[test]
fn a_late_packet_does_not_make_the_link_faster() {
    let mut packets = busy_link();
    let late = packets.len() / 2;
    let late = late + packets[late..].iter().position(|p| p.from == SERVER.0).unwrap();
    packets[late].at += MS / 2;
    packets.sort_by_key(|p| p.at);
    let c = report(&simple(&packets)).directions[1].capacity;
    assert_eq!(c.verdict, CapacityVerdict::Full);
    assert!(c.busiest_bps.unwrap() > 1.004e7, "{c:?}");
    assert!((c.capacity_bps.unwrap() / 1e7 - 1.0).abs() < 1e-6, "{c:?}");
    // A clock of microseconds is too coarse for the gaps of a fast link: 12.112 us are 12 or 13.
    let mut fast: Vec<Sent> =
        (0..20_000).map(|k| tcp(START + k * 12_112, SERVER, (1, 40_000), 9001, 1460)).collect();
    fast.iter_mut().zip(0..).for_each(|(p, k)| p.header.sequence_number += k * 1460);
    let file = pcap(1, Endianness::Little, false, 65_535, &frames(Link::Ethernet, false, &fast));
    let c = *report(&file).directions.map(|d| d.capacity).iter().find(|c| c.busiest_bps.is_some()).unwrap();
    assert_eq!(c.verdict, CapacityVerdict::Full);
    assert!(c.pairs.unwrap().rate_bps > 1.009e9, "{c:?}");
    assert!((c.capacity_bps.unwrap() / 1e9 - 1.0).abs() < 1e-4, "{c:?}");
}

#[test]
fn every_format_and_link_says_the_same() {
    let packets = busy_link();
    let expected = report(&simple(&packets));
    let check = |name: &str, link: Link, file: &[u8]| {
        let found = report(file);
        let [up, down] = &found.directions;
        assert_eq!(found.packets, expected.packets, "{name}");
        assert_eq!(found.not_ip, 0, "{name}");
        let trips = found.round_trips.unwrap();
        assert_eq!(trips.handshakes, 20, "{name}");
        assert!((trips.mean_s - 0.0605).abs() < 2e-6, "{name}: {trips:?}");
        assert_eq!(
            (down.flows, up.flows),
            (expected.directions[1].flows, expected.directions[0].flows),
            "{name}"
        );
        // A second of 1 460 bytes of data and 20 + 20 or 40 + 20 of headers.
        let scale = down.mean_packet_bytes.unwrap() / expected.directions[1].mean_packet_bytes.unwrap();
        let c = down.capacity.capacity_bps.unwrap();
        assert!((c / 1e7 / scale - 1.0).abs() < 2e-3, "{name} {link:?}: {c} {scale}");
    };
    for link in [
        Link::Ethernet,
        Link::Vlan,
        Link::TwoVlans,
        Link::Pppoe,
        Link::PppoeInVlans,
        Link::Mpls,
        Link::MplsInVlan,
        Link::MplsInPppoe,
        Link::Ppp,
        Link::PppEther,
        Link::Cooked,
        Link::Cooked2,
        Link::Raw,
        Link::Null,
    ] {
        for v6 in [false, true] {
            let frames = frames(link, v6, &packets);
            for order in [Endianness::Little, Endianness::Big] {
                let name = format!("{link:?} {v6} {order:?}");
                check(&name, link, &pcap(link.number(), order, false, 65_535, &frames));
                check(&name, link, &pcap(link.number(), order, true, 65_535, &frames));
                // 80 bytes keep the headers.
                check(&name, link, &pcap(link.number(), order, true, 96, &frames));
                // The default, nanoseconds, milliseconds over ten and a power of two.
                for resolution in [None, Some(9), Some(7), Some(0x80 | 24)] {
                    check(&name, link, &pcapng(link.number(), order, resolution, &frames));
                }
            }
        }
    }
}

#[test]
fn a_cut_tcp_header_is_enough() {
    // Options as in every SYN, and a capture that keeps 68 bytes: 14 + 20 + 34 of 40.
    let mut packets = busy_link();
    for p in &mut packets {
        p.header.set_options_raw(&[1; 20]).unwrap();
    }
    let frames = frames(Link::Ethernet, false, &packets);
    let whole = report(&pcap(1, Endianness::Little, true, 65_535, &frames));
    assert_eq!(whole, report(&pcap(1, Endianness::Little, true, 68, &frames)));
    assert_eq!(whole.round_trips.unwrap().handshakes, 20);
}

#[test]
fn a_file_that_is_cut_is_measured_up_to_there() {
    let packets = &busy_link()[..200];
    for file in
        [simple(packets), pcapng(1, Endianness::Big, Some(9), &frames(Link::Ethernet, false, packets))]
    {
        let whole = report(&file);
        assert_eq!(whole.damage, None);
        let last = if file[0] == 0x0A { 20 + 12 + 1514 + 2 } else { 16 + 1514 };
        for cut in [1, 7, 1000, last - 1] {
            let found = report(&file[..file.len() - cut]);
            assert_eq!(found.packets, 199, "{cut}");
            let damage = found.damage.unwrap();
            assert_eq!(damage.why, "the file ends within a packet");
            assert_eq!(damage.unread_bytes, (last - cut) as u64, "{cut}");
            assert_eq!(damage.at_byte + damage.unread_bytes, (file.len() - cut) as u64);
        }
        assert_eq!(report(&file[..file.len() - last]).damage, None);
    }
}

#[test]
fn damage_within_a_file_ends_the_reading_there() {
    let packets = &busy_link()[..200];
    let mut file = simple(packets);
    let at = simple(&packets[..150]).len();
    let tail = file.len() - at;
    file[at + 8..at + 12].copy_from_slice(&[0xFF; 4]);
    let found = report(&file);
    assert_eq!(found.packets, 200 - 50);
    let damage = found.damage.unwrap();
    assert_eq!((damage.at_byte, damage.unread_bytes), (at as u64, tail as u64));
    assert!(damage.why.contains("length"), "{damage:?}");

    // A block that is whole but wrong is passed over: a packet of an interface that is not there.
    let frames = frames(Link::Ethernet, false, packets);
    let mut file = pcapng(1, Endianness::Little, None, &frames);
    let at = file.len() - (12 + 20 + 1516);
    file[at + 8] = 3;
    let found = report(&file);
    assert_eq!((found.packets, found.unreadable, found.damage), (199, 1, None));
    // Its length is not.
    file[at + 4] ^= 1;
    let found = report(&file);
    assert_eq!((found.packets, found.damage.unwrap().at_byte), (199, at as u64));
}

#[test]
fn a_section_has_no_more_interfaces_than_blocks_can_name() {
    let head = pcapng(1, Endianness::Little, None, &Vec::new());
    let mut interface = Vec::new();
    [1, 20, 1, 65_535, 20].iter().for_each(|word: &u32| interface.extend(word.to_le_bytes()));
    // The first is in the head.
    let most = [&head[..], &interface.repeat(65_535)].concat();
    assert_eq!(report(&most).damage, None);
    // As many again in another section.
    assert_eq!(report(&most.repeat(2)).damage, None);
    let found = report(&[&most[..], &interface, &interface].concat()).damage.unwrap();
    assert_eq!((found.at_byte, found.unread_bytes), (most.len() as u64, 40));
    assert!(found.why.contains("more than 65536 interfaces"), "{found:?}");
}

#[test]
fn drops_are_those_of_the_latest_statistics() {
    let statistics = |drops| InterfaceStatisticsBlock {
        interface_id: 0,
        timestamp: 0,
        options: vec![
            InterfaceStatisticsOption::IsbIfRecv(1000),
            InterfaceStatisticsOption::IsbIfDrop(drops),
        ],
    };
    for order in [Endianness::Little, Endianness::Big] {
        let section = |drops: &[u64]| {
            let mut writer = PcapNgWriter::with_endianness(Vec::new(), order).unwrap();
            let options = vec![InterfaceDescriptionOption::IfName("eth0".into())];
            let interface = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
            writer.write_block(&interface.into_block()).unwrap();
            for &drops in drops {
                writer.write_block(&statistics(drops).into_block()).unwrap();
            }
            writer.into_inner()
        };
        // They count from the beginning; and a second section, as of two files put together.
        assert_eq!(report(&section(&[])).dropped, Some(0));
        assert_eq!(report(&section(&[3, 7])).dropped, Some(7));
        assert_eq!(report(&[section(&[3, 7]), section(&[5])].concat()).dropped, Some(12));
    }
    assert_eq!(report(&simple(&[])).dropped, None);
}

#[test]
fn what_is_no_capture_is_refused_with_what_it_is() {
    let refused = |file: &[u8]| measure(file, &Options::default(), |_| ()).unwrap_err().to_string();
    for (file, part) in [
        (&b""[..], "it is empty"),
        (b"Hello, world; this is a text.", "48 65 6c 6c, neither pcap nor pcapng"),
        (&[0xA1, 0xB2, 0xC3, 0xD4, 0, 2], "within its header, after 6 bytes"),
        (&[0x0A, 0x0D, 0x0D, 0x0A, 0, 0, 0, 28, 1, 1, 1, 1], "first block"),
    ] {
        let message = refused(file);
        assert!(message.starts_with("not a packet capture: ") && message.contains(part), "{message}");
    }
    let zero = Options { interval: quell_units::Duration::ZERO, ..framed() };
    let error = measure(&simple(&[])[..], &zero, |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "interval = 0 s: must be longer than 0 s");
}

#[test]
fn a_capture_without_packets_says_nothing() {
    let (report, intervals) = intervals(&simple(&[]), &Options::default());
    assert!(intervals.is_empty());
    assert_eq!((report.packets, report.duration_s, report.round_trips), (0, 0.0, None));
    assert_eq!(report.directions[0].capacity.verdict, CapacityVerdict::Unknown);
    assert_eq!(report.directions[0].rate_bps, None);
    // Of a link that is not read: 802.11 with an AVS header.
    let frames = frames(Link::Ethernet, false, &busy_link()[..10]);
    let report = self::report(&pcap(163, Endianness::Big, true, 65_535, &frames));
    assert_eq!((report.packets, report.unknown_link), (10, Some((10, 163))));
}

#[test]
fn round_trips_come_from_unambiguous_handshakes_only() {
    let trips = |packets: &[Sent]| {
        let r = report(&simple(packets));
        let n = r.round_trips.map_or(0, |t| t.handshakes);
        (n, r.repeated_handshakes, r.new_connections, r.round_trips.map(|t| (t.mean_s * 1e3).round()))
    };
    let client = (1, 5000);
    let [syn, answer, ack] = handshake(START, client, 80 * MS, 30 * MS);
    let later = |p: &Sent, by: u64| Sent { at: p.at + by, ..p.clone() };
    let three = [syn.clone(), answer.clone(), ack.clone()];
    assert_eq!(trips(&three), (1, 0, 1, Some(80.0)));
    // The SYN was lost behind the capture and sent again.
    let again: Vec<Sent> = [vec![syn.clone()], three.iter().map(|p| later(p, SECOND)).collect()].concat();
    assert_eq!(trips(&again), (0, 1, 1, None));
    // The answer was lost before the client and sent again.
    let again = [syn.clone(), answer.clone(), later(&answer, SECOND), later(&ack, SECOND)];
    assert_eq!(trips(&again), (0, 1, 1, None));
    // The SYN comes once more when all is done.
    let data = tcp(START + 90 * MS, client, SERVER, 1001, 100).ack(9001);
    let stray = [syn.clone(), answer.clone(), ack.clone(), later(&syn, 85 * MS), data.clone()];
    assert_eq!(trips(&stray), (1, 0, 1, Some(80.0)));
    // Refused, and tried again from the same port with another number.
    let refused = tcp(START + 30 * MS, SERVER, client, 0, 0).ack(1001).rst();
    let mut second = handshake(START + SECOND, client, 60 * MS, 30 * MS);
    second[0].header.sequence_number = 7000;
    second[1].header.acknowledgment_number = 7001;
    second[2].header.sequence_number = 7001;
    assert_eq!(trips(&[&[syn.clone(), refused][..], &second].concat()), (1, 0, 2, Some(60.0)));
    // Only one direction of the link was captured.
    assert_eq!(trips(&[syn.clone(), ack.clone()]), (1, 0, 1, Some(80.0)));
    assert_eq!(trips(std::slice::from_ref(&answer)), (0, 0, 1, None));
    // The acknowledgment was lost before the capture, and data follow that the server has asked for.
    assert_eq!(trips(&[syn.clone(), answer.clone(), data]), (1, 0, 1, Some(90.0)));
    // What does not continue the handshake answers nothing.
    let other = tcp(START + 50 * MS, client, SERVER, 77_777, 0).ack(9001);
    assert_eq!(trips(&[syn.clone(), answer.clone(), other]), (0, 0, 1, None));
    let old = tcp(START + 50 * MS, client, SERVER, 1001, 0).ack(8000);
    assert_eq!(trips(&[syn.clone(), answer.clone(), old]), (0, 0, 1, None));
    // Data in the SYN, acknowledged.
    let open = [
        tcp(START, client, SERVER, 1000, 300).syn(),
        tcp(START + 30 * MS, SERVER, client, 9000, 0).syn().ack(1301),
        tcp(START + 80 * MS, client, SERVER, 1301, 0).ack(9001),
    ];
    assert_eq!(trips(&open), (1, 0, 1, Some(80.0)));
    // A clock that was set back.
    let back = Sent { at: START - SECOND, ..ack.clone() };
    assert_eq!(trips(&[syn, answer, back]), (0, 0, 1, None));
}

#[test]
fn times_out_of_order_are_counted_when_they_come() {
    let mut packets = busy_link();
    let expected = report(&simple(&packets));
    // Neighbors change places in the file.
    for i in (100..packets.len() - 2).step_by(10) {
        packets.swap(i, i + 1);
    }
    let found = report(&simple(&packets));
    assert!(found.late > 500, "{}", found.late);
    assert_eq!(found.round_trips, expected.round_trips);
    assert_eq!((found.packets, found.duration_s), (expected.packets, expected.duration_s));
    assert_eq!(found.directions[1].flows, expected.directions[1].flows);
    assert_eq!(found.directions[1].bytes, expected.directions[1].bytes);
    let c = found.directions[1].capacity.capacity_bps.unwrap();
    assert!((c / 1e7 - 1.0).abs() < 0.02, "{c}");
}

#[test]
fn flows_count_as_in_the_table_of_ap_red() {
    // Forty clients open one connection after the other and send on them at random times. The uplink
    // alone is what the algorithm's table sees.
    let mut state = 7_u64;
    let mut random = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut connection = [0_u64; 40];
    let (mut sent, mut at) = (Vec::new(), 0);
    while at < 100 * SECOND {
        let i = random(40) as usize;
        if random(4) == 0 || connection[i] == 0 {
            connection[i] += 1;
            sent.push((at, i, connection[i], true));
            sent.push((at + (30 + random(20)) * MS, i, connection[i], false));
        } else {
            // After the handshake.
            sent.push((at + 60 * MS, i, connection[i], false));
        }
        at += random(300 * MS);
    }
    sent.sort();
    let packet = |&(at, i, n, syn): &(u64, usize, u64, bool)| {
        let p = tcp(START + at, (1 + i as u8, 5000 + n as u16), SERVER, 1, 0);
        if syn { p.syn() } else { Sent { header: TcpHeader { sequence_number: 2, ..p.header }, ..p }.ack(1) }
    };
    let window = quell_units::Duration::from_secs(5);
    let packets: Vec<Sent> = sent.iter().map(packet).collect();
    let (report, intervals) = intervals(&simple(&packets), &Options { window, ..framed() });

    let mut table = FlowTable::new("max_flows", 1000, "flow_interval", window).unwrap();
    let mut ends = (1..).map(|n| n * SECOND).peekable();
    let (mut counts, mut trips) = (Vec::new(), Vec::new());
    for &(at, i, n, syn) in &sent {
        while let Some(end) = ends.next_if(|end| *end <= at) {
            counts.push(u64::from(table.count(Time::from_nanos(end))));
        }
        let (bytes, enqueued_at) = (Bytes::new(60), Time::ZERO);
        let flow = FlowId(n as u32 * 40 + i as u32);
        let meta = PacketMeta { bytes, enqueued_at, flow, syn, ..Default::default() };
        trips.extend(table.see(Time::from_nanos(at), &meta));
    }
    let found: Vec<u64> = intervals.iter().map(|i| i.up.flows.flows).collect();
    assert!(counts.len() >= 100 && counts.iter().max() > Some(&20));
    assert_eq!(found[..counts.len()], counts);
    let mean = trips.iter().map(|t| t.as_secs_f64()).sum::<f64>() / trips.len() as f64;
    let round_trips = report.round_trips.unwrap();
    assert_eq!(round_trips.handshakes, trips.len() as u64);
    assert!((round_trips.mean_s - mean).abs() < 1e-9 && trips.len() > 100);
}

#[test]
fn flows_count_until_the_window_after_their_last_packet() {
    let data = |s: u64, port: u16| tcp(START + s * SECOND, SERVER, (1, port), 1, 100);
    let packets =
        [data(0, 5000), data(1, 5001), data(10, 5000), data(62, 5002), data(71, 5003), data(75, 5003)];
    let (report, intervals) = intervals(&simple(&packets), &framed());
    let flows: Vec<_> =
        intervals.iter().map(|i| (i.start_s, i.down.flows.flows, i.down.flows.active)).collect();
    // At the ends of these seconds; 5001 is last counted at 61 s, 5000 at 70 s.
    assert_eq!(flows, [(0.0, 1, 1), (1.0, 2, 1), (10.0, 2, 1), (62.0, 2, 1), (71.0, 2, 1), (75.0, 2, 1)]);
    assert!(report.window_filled);
}

#[test]
fn memory_is_bounded_by_the_window() {
    let mut connections = Connections::new(SECOND);
    for i in 0..200_000_u64 {
        let client = (1 + (i / 50_000) as u8, (i % 50_000) as u16 + 10_000);
        let frame = Link::Raw.frame(false, &tcp(0, client, SERVER, 1, 10));
        let packet = packet::parse(101, &frame, frame.len() as u32).unwrap();
        // A thousand new ones a second.
        connections.see(i * MS, i * MS, frame.len() as u32, &packet, |_, _| None);
        assert!(connections.alive[0].flows <= 1001);
    }
    assert!(connections.held() <= 1002, "{}", connections.held());
}

#[test]
fn an_hour_without_packets_costs_nothing() {
    let day = 86_400 * SECOND;
    let packets: Vec<_> = (0..100).map(|i| tcp(START + i * day, SERVER, (1, 5000), 1, 100)).collect();
    let options = Options { interval: quell_units::Duration::from_nanos(1), ..framed() };
    let (report, intervals) = intervals(&simple(&packets), &options);
    assert_eq!((intervals.len(), report.interval_count), (100, 100));
    assert_eq!(intervals[99].start_s, 99.0 * 86_400.0);
}

#[test]
fn sides_are_who_opens_or_who_is_inside() {
    let mut packets = Vec::new();
    // Host 1 opens to the server; the server's side opens to host 1's port 22.
    packets.extend(handshake(START, (1, 5000), 50 * MS, 10 * MS));
    packets.push(tcp(START + SECOND, SERVER, (1, 22), 1, 0).syn());
    // No SYN was seen: the lower port serves.
    packets.push(tcp(START + SECOND, (1, 80), (201, 6000), 1, 100));
    let found = report(&simple(&packets));
    assert_eq!(found.directions.each_ref().map(|d| d.packets), [3, 2]);
    let inside = vec!["10.0.0.0/25".parse().unwrap()];
    let found = intervals(&simple(&packets), &Options { inside, ..framed() }).0;
    assert_eq!(found.directions.each_ref().map(|d| d.packets), [3, 2], "two from host 1 and one; two to it");
    let inside = vec!["10.0.0.200".parse().unwrap()];
    let found = intervals(&simple(&packets), &Options { inside, ..framed() }).0;
    assert_eq!(
        found.directions.each_ref().map(|d| d.packets),
        [2, 3],
        "the server; and the last by its port"
    );
    for wrong in ["10.0.0.0/33", "10.0.0/8", "::/129", "host", "10.0.0.0/x", ""] {
        assert!(wrong.parse::<Subnet>().is_err(), "{wrong}");
    }
    let six: Subnet = "2001:db8::/32".parse().unwrap();
    assert!(six.contains(&[0x20, 1, 0xd, 0xb8, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]));
    assert!(
        "0.0.0.0/0"
            .parse::<Subnet>()
            .unwrap()
            .contains(&"1.2.3.4".parse::<std::net::Ipv4Addr>().unwrap().to_ipv6_mapped().octets())
    );
}

#[test]
fn marks_and_repetitions_are_shares() {
    for v6 in [false, true] {
        let mut packets = Vec::new();
        for i in 0..100_u64 {
            let mut p = tcp(START + i * MS, SERVER, (1, 5000), 1 + 1000 * i as u32, 1000);
            p.ecn = match i % 10 {
                0 => 3,
                1..6 => 2,
                6 => 1,
                _ => 0,
            };
            packets.push(p);
        }
        // Five come again, one of them in other pieces.
        for i in 0..4_u64 {
            packets.push(tcp(START + (200 + i) * MS, SERVER, (1, 5000), 1 + 1000 * i as u32, 1000));
        }
        packets.push(tcp(START + 210 * MS, SERVER, (1, 5000), 500, 300));
        let file = pcap(1, Endianness::Little, false, 100, &frames(Link::Ethernet, v6, &packets));
        let found = report(&file);
        let down = &found.directions[1];
        assert_eq!((down.ect_share, down.ce_share), (Some(70.0 / 105.0), Some(10.0 / 105.0)));
        assert_eq!(down.retransmitted_share, Some(5.0 / 105.0));
        assert_eq!(found.directions[0].ect_share, None);
    }
}

#[test]
fn a_link_that_is_never_full_shows_its_pairs() {
    // Bursts of two at 10 Mbit/s, at irregular times.
    let mut packets = Vec::new();
    let mut at = START;
    for i in 0..2000_u64 {
        at += if i % 2 == 1 { 1514 * 800 } else { 10 * MS + (i * 7919 % 97) * 300_000 };
        packets.push(tcp(at, SERVER, (1, 5000), 1 + 1460 * i as u32, 1460));
    }
    let capacity = report(&simple(&packets)).directions[1].capacity;
    assert_eq!(capacity.verdict, CapacityVerdict::NeverFull);
    assert!((capacity.capacity_bps.unwrap() / 1e7 - 1.0).abs() < 0.01, "{capacity:?}");
    assert!(capacity.busiest_bps.unwrap() < 4e6, "{capacity:?}");
    // One pair in seven: its rate is said, and nothing follows from it.
    let mut packets = Vec::new();
    let mut at = START;
    for i in 0..2100_u64 {
        at += if i % 7 == 1 { 1514 * 800 } else { 4 * MS + (i * 7919 % 97) * 300_000 };
        packets.push(tcp(at, SERVER, (1, 5000), 1 + 1460 * i as u32, 1460));
    }
    let capacity = report(&simple(&packets)).directions[1].capacity;
    let pairs = capacity.pairs.unwrap();
    assert!((pairs.rate_bps / 1e7 - 1.0).abs() < 0.01 && (pairs.share - 1.0 / 7.0).abs() < 0.01, "{pairs:?}");
    assert_eq!((capacity.verdict, capacity.capacity_bps), (CapacityVerdict::AtLeast, None));
    // Gaps that do not agree on a rate, of a link that carried 5 Mbit/s for a while.
    let mut packets = Vec::new();
    let (mut at, mut state) = (START, 1_u64);
    for i in 0..2000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        at += (-2.4 * MS as f64 * (((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64).ln()) as u64;
        packets.push(tcp(at, SERVER, (1, 5000), 1 + 1460 * i, 1460));
    }
    let capacity = report(&simple(&packets)).directions[1].capacity;
    assert_eq!((capacity.verdict, capacity.capacity_bps), (CapacityVerdict::AtLeast, None));
}

/// Where a capture of [`bulk`] is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Sender,
    Receiver,
}

/// Bulk transfers through a FIFO of `rate` bytes of Ethernet a second, 20 ms from their sender, who has a
/// link of `access` bytes a second, and 20 ms from the receiver. Windows double with every round trip up to
/// `window` segments; the receiver acknowledges every second segment at once. Nothing is lost.
fn bulk(place: Place, flows: usize, window: u32, rate: u64, access: u64, seconds: u64) -> Vec<Sent> {
    const FRAME: u64 = 1514;
    const WAY: u64 = 20 * MS;
    let server = |i: usize| (1 + i as u8, 5000 + i as u16);
    let mut packets = Vec::new();
    // Who sends next, and how many; the sender's link and the bottleneck are free again at these times.
    let mut events = std::collections::BTreeSet::new();
    let (mut window_now, mut sent, mut arrived) =
        (vec![2_u32; flows], vec![0_u32; flows], vec![0_u32; flows]);
    let (mut link_free, mut free) = (0, 0);
    for i in 0..flows {
        let at = i as u64 * 7 * MS;
        // The senders open the connections, 40 ms from the receiver and back.
        let passes = if place == Place::Sender { 0 } else { 2 * WAY };
        let [mut syn, mut answer, mut ack] = handshake(START + at + passes, server(i), 4 * WAY, 0);
        (syn.at, answer.at, ack.at) = match place {
            Place::Sender => (syn.at, syn.at + 4 * WAY, syn.at + 4 * WAY),
            Place::Receiver => (syn.at, syn.at, syn.at + 4 * WAY),
        };
        packets.extend([syn, answer, ack]);
        events.insert((at + 4 * WAY, i, 2_u32));
    }
    while let Some((at, i, count)) = events.pop_first() {
        if at > seconds * SECOND {
            break;
        }
        for _ in 0..count {
            let seq = 1001 + sent[i] * 1460;
            sent[i] += 1;
            link_free = at.max(link_free) + FRAME * SECOND / access;
            free = (link_free + WAY).max(free) + FRAME * SECOND / rate;
            let passes = if place == Place::Sender { link_free } else { free + WAY };
            packets.push(tcp(START + passes, server(i), SERVER, seq, 1460).ack(9001));
            arrived[i] += 1;
            if arrived[i] % 2 == 0 {
                let back = free + 3 * WAY;
                let passes = if place == Place::Sender { back } else { free + WAY };
                let ack = tcp(START + passes, SERVER, server(i), 9001, 0).ack(seq + 1460);
                packets.push(ack);
                let more = (window - window_now[i]).min(2);
                window_now[i] += more;
                events.insert((back, i, 2 + more));
            }
        }
    }
    packets.sort_by_key(|p| p.at);
    packets
}

#[test]
fn before_the_bottleneck_acknowledgments_show_it() {
    // 10 Mbit/s behind a link of 1 Gbit/s, and behind one of 20 Mbit/s, which the slow start fills.
    for (flows, window, access) in [(1, 100, 125_000_000), (4, 60, 125_000_000), (4, 60, 2_500_000)] {
        let of = |place| {
            let file = simple(&bulk(place, flows, window, 1_250_000, access, 10));
            report(&file).directions[0].capacity
        };
        let (before, behind) = (of(Place::Sender), of(Place::Receiver));
        assert_eq!(behind.verdict, CapacityVerdict::Full, "{behind:?}");
        assert!((behind.capacity_bps.unwrap() / 1e7 - 1.0).abs() < 1e-4, "{behind:?}");
        assert!((behind.senders_share.unwrap() - 1.0).abs() < 1e-9);
        // What the packets themselves say is another link.
        assert!(before.busiest_bps.unwrap() > 1.3e7, "{before:?}");
        assert_eq!((before.verdict, before.senders_share), (CapacityVerdict::Beyond, Some(0.0)));
        let a = before.acknowledged.unwrap();
        assert!(a.agrees() && a.waiting > 60 && a.waiting <= a.stretches, "{a:?}");
        assert!((before.capacity_bps.unwrap() / 1e7 - 1.0).abs() < 0.01, "{before:?}");
    }
}

#[test]
fn a_sender_that_fills_nothing_does_not_tell_the_capacity() {
    // Four windows of 6 segments in 80 ms are 3.6 Mbit/s. Behind the bottleneck the pairs show it.
    let of = |place| report(&simple(&bulk(place, 4, 6, 1_250_000, 125_000_000, 10))).directions[0].capacity;
    let (before, behind) = (of(Place::Sender), of(Place::Receiver));
    assert_eq!((before.verdict, before.capacity_bps), (CapacityVerdict::Beyond, None));
    assert!(before.pairs.unwrap().rate_bps > 9e8, "{before:?}");
    assert_eq!(behind.verdict, CapacityVerdict::NeverFull);
    assert!((behind.capacity_bps.unwrap() / 1e7 - 1.0).abs() < 0.01, "{behind:?}");
}

#[test]
fn a_link_that_changes_is_not_told_by_acknowledgments() {
    // Half of the time 10 Mbit/s, half of the time 7: the same flows twice, one capture after the other.
    let mut packets = bulk(Place::Sender, 4, 60, 1_250_000, 125_000_000, 6);
    packets.extend(bulk(Place::Sender, 4, 60, 875_000, 125_000_000, 8).into_iter().map(|mut p| {
        p.at += 10 * SECOND;
        let port = if p.to == SERVER.0 { &mut p.header.source_port } else { &mut p.header.destination_port };
        *port += 100;
        p
    }));
    let capacity = report(&simple(&packets)).directions[0].capacity;
    assert!(!capacity.acknowledged.unwrap().agrees(), "{capacity:?}");
    assert_eq!((capacity.verdict, capacity.capacity_bps), (CapacityVerdict::Beyond, None));
}

#[test]
fn selective_acknowledgments_count_once() {
    let options = |ranges: &[(u32, u32)]| {
        let mut raw = vec![1, 1, 5, 2 + 8 * ranges.len() as u8];
        ranges.iter().for_each(|(from, to)| {
            raw.extend(from.to_be_bytes());
            raw.extend(to.to_be_bytes());
        });
        raw
    };
    let segment = |sent: Sent, options: &[u8], snap: usize| {
        let mut sent = sent;
        sent.header.set_options_raw(options).unwrap();
        let frame = Link::Raw.frame(false, &sent);
        let kept = &frame[..frame.len().min(snap)];
        packet::parse(101, kept, frame.len() as u32).unwrap().tcp.unwrap()
    };
    let data = |seq: u32| segment(tcp(0, (1, 5000), SERVER, seq, 1000), &[], 100);
    let ack = |ack: u32, ranges: &[(u32, u32)]| {
        segment(tcp(0, SERVER, (1, 5000), 1, 0).ack(ack), &options(ranges), 100)
    };
    // Sequence numbers that wrap around within.
    let at = |n: u32| (u32::MAX - 2500).wrapping_add(1000 * n);
    let mut stream = clock::Stream::default();
    assert_eq!(stream.acknowledged(0, &ack(at(0), &[])), None);
    (0..8).for_each(|n| stream.sent(u64::from(n), 1040, &data(at(n)), false));
    let mut told = |time: u64, a: &packet::Segment| stream.acknowledged(time, a);
    let bytes = |told: Option<clock::Delivered>| told.map(|t| (t.bytes / 1.04).round() as u32);
    // Segment 0; then 2, 2 and 3, 5; the hole at 1 is filled, and at last all.
    let first = told(100, &ack(at(1), &[]));
    assert_eq!((bytes(first), first.unwrap().waited), (Some(1000), Some(0)));
    assert_eq!(first.unwrap().packet, 1040.0);
    assert_eq!(bytes(told(102, &ack(at(1), &[(at(2), at(3))]))), Some(1000));
    assert_eq!(bytes(told(103, &ack(at(1), &[(at(2), at(3))]))), None, "nothing new");
    assert_eq!(bytes(told(103, &ack(at(1), &[(at(2), at(4))]))), Some(1000));
    assert_eq!(bytes(told(105, &ack(at(1), &[(at(5), at(6)), (at(2), at(4))]))), Some(1000));
    // A segment that came twice, nonsense, and an acknowledgment that was overtaken.
    assert_eq!(bytes(told(106, &ack(at(1), &[(at(0), at(1)), (at(4), at(3))]))), None);
    assert_eq!(told(107, &ack(at(0), &[])), None);
    let filled = told(130, &ack(at(4), &[(at(5), at(6))]));
    assert_eq!((bytes(filled), filled.unwrap().waited), (Some(1000), Some(27)));
    assert_eq!(bytes(told(140, &ack(at(8), &[]))), Some(3000));
    // What is sent again is not timed, nor what was under way with it.
    (8..10).for_each(|n| stream.sent(200, 1040, &data(at(n)), false));
    stream.sent(300, 1040, &data(at(8)), true);
    let again = stream.acknowledged(400, &ack(at(10), &[])).unwrap();
    assert_eq!((again.bytes / 1.04, again.waited), (2000.0, None));
    // Cards cut 8 000 bytes into packets of 1 000: the other end accepts no more, and each has headers.
    stream.limit(1012);
    let large = segment(tcp(0, (1, 5000), SERVER, at(10), 8000), &[1; 12], 100);
    stream.sent(500, 8052, &large, false);
    let cut = stream.acknowledged(600, &ack(at(18), &[])).unwrap();
    assert_eq!((cut.packet, cut.bytes), (1052.0, 8.0 * 1052.0));

    // The option of a SYN; and options that are cut, that end early or whose length is 0.
    let syn = segment(tcp(0, (1, 5000), SERVER, 1, 0).syn(), &[1, 1, 4, 2, 2, 4, 5, 0xB4], 100);
    assert_eq!((syn.mss, syn.options), (Some(1460), 8));
    let whole = ack(at(1), &[(at(2), at(4)), (at(5), at(6))]);
    assert_eq!(whole.selected[..3], [(at(2), at(4)), (at(5), at(6)), (0, 0)]);
    let sent = tcp(0, SERVER, (1, 5000), 1, 0).ack(at(1));
    let two = options(&[(at(2), at(4)), (at(5), at(6))]);
    assert_eq!(segment(sent.clone(), &two, 20 + 20 + 12).selected[..2], [(at(2), at(4)), (0, 0)]);
    for wrong in [[0, 5, 10, 0], [5, 0, 1, 1], [5, 1, 1, 1], [2, 3, 1, 1], [5, 10, 1, 1], [9, 40, 1, 1]] {
        let found = segment(sent.clone(), &wrong, 100);
        assert_eq!((found.mss, found.selected), (None, [(0, 0); 4]), "{wrong:?}");
    }
}

#[test]
fn fragments_are_one_flow_of_their_hosts_and_cards_may_segment() {
    let frame = |payload: usize| Link::Raw.frame(false, &tcp(START, SERVER, (1, 5000), 1, payload));
    let parse = |f: &[u8], length: usize| packet::parse(101, f, length as u32).unwrap();
    let fragments: Frames = (0..20)
        .map(|i| {
            let mut fragment = frame(1000);
            // More to come; every second one is not the first of its packet.
            (fragment[6], fragment[7]) = (0x20, if i % 2 == 0 { 0 } else { 100 });
            (START + i, fragment)
        })
        .collect();
    assert!(parse(&fragments[0].1, 1040).tcp.is_some() && parse(&fragments[1].1, 1040).tcp.is_none());
    let found = report(&pcap(101, Endianness::Big, true, 65_535, &fragments));
    let flows = found.directions.each_ref().map(|d| d.flows.flows);
    assert_eq!(flows[0] + flows[1], 2);
    // A length of zero in the header: the frame's own counts, whatever was kept of it.
    let mut large = frame(3000);
    large[2..4].fill(0);
    assert_eq!(parse(&large[..100], large.len()).tcp.unwrap().payload, 3000);
    assert_eq!(parse(&large, large.len()).tcp.unwrap().payload, 3000);
}

#[test]
fn what_is_not_ip_is_counted_by_what_it_is() {
    let ip = Link::Raw.frame(false, &tcp(START, SERVER, (1, 5000), 1, 100));
    let ethernet = |kind: [u8; 2], content: &[&[u8]]| [&[2; 12][..], &kind, &content.concat()].concat();
    let bottom = [0, 1, 0x31, 64];
    // A pseudowire without control word, to a MAC address that begins like IPv4 and like IPv6.
    let wire = |first: u8| [&[first, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE][..], &[3; 94]].concat();
    let session = |code: u8, ppp: &[u8]| ethernet([0x88, 0x64], &[&[0x11, code, 0, 7, 0, 44], ppp, &ip]);
    let frames: Vec<(Vec<u8>, &str)> = vec![
        (ethernet([8, 6], &[&[0; 46]]), "ARP"),
        (ethernet([0, 46], &[&[0; 46]]), "IEEE 802.3 with LLC"),
        (ethernet([0x88, 0x63], &[&[0; 46]]), "PPPoE discovery"),
        (ethernet([0x12, 0x34], &[&[0; 46]]), "EtherType 0x1234"),
        (ethernet([0x81, 0], &[&[0, 7, 0x88, 0xCC], &[0; 46]]), "LLDP"),
        (session(0, &[0xC0, 0x21]), "PPP link control"),
        (session(0, &[0x00, 0xFD]), "compressed or encrypted PPP"),
        (session(0, &[0x80, 0x21]), "PPP protocol 0x8021"),
        (session(9, &[0x00, 0x21]), "cut or damaged headers"),
        (ethernet([0x88, 0x64], &[&[0x11, 0, 0, 7]]), "cut or damaged headers"),
        (ethernet([0x88, 0x47], &[&bottom, &[0; 4], &ip]), "MPLS pseudowire"),
        (ethernet([0x88, 0x47], &[&bottom, &[0x10, 0, 0, 0], &ip]), "MPLS associated channel"),
        (ethernet([0x88, 0x47], &[&bottom, &wire(0x45)]), "MPLS over something other than IP"),
        (ethernet([0x88, 0x47], &[&bottom, &wire(0x60)]), "MPLS over something other than IP"),
        // No bottom of the stack, nothing beneath it, and labels that are cut.
        (ethernet([0x88, 0x47], &[&[0, 1, 0x30, 64]]), "cut or damaged headers"),
        (ethernet([0x88, 0x47], &[&bottom]), "cut or damaged headers"),
        (ethernet([0x88, 0x47], &[&bottom[..3]]), "cut or damaged headers"),
        (ethernet([8, 0], &[&ip[..12]]), "cut or damaged headers"),
    ];
    for (frame, what) in &frames {
        match packet::parse(1, frame, frame.len() as u32) {
            Err(Other::NotIp(found)) => assert_eq!(found.to_string(), *what),
            other => panic!("{what}: {other:?}"),
        }
    }
    let frames: Frames = frames.into_iter().map(|(frame, _)| (START, frame)).collect();
    let found = report(&pcap(1, Endianness::Big, true, 65_535, &frames));
    assert_eq!((found.packets, found.not_ip), (18, 18));
    let first = |i: usize| (found.not_ip_kinds[i].what.as_str(), found.not_ip_kinds[i].packets);
    assert_eq!(
        (first(0), first(1)),
        (("cut or damaged headers", 6), ("MPLS over something other than IP", 2))
    );
    assert_eq!(found.not_ip_kinds.iter().map(|kind| kind.packets).sum::<u64>(), 18);
    // Padded to the shortest frame, IP beneath a label is still IP.
    let short = Link::Raw.frame(false, &tcp(START, SERVER, (1, 5000), 1, 0));
    let padded = ethernet([0x88, 0x47], &[&bottom, &short, &[0; 6]]);
    assert_eq!(packet::parse(1, &padded, 64).unwrap().tcp.unwrap().payload, 0);
}

/// Bytes behind a sound beginning reach further into the reader.
fn heads() -> Vec<Vec<u8>> {
    let none = Frames::new();
    let mut heads = vec![Vec::new()];
    for order in [Endianness::Little, Endianness::Big] {
        heads.push(pcapng(1, order, Some(0x8A), &none));
        for link in [Link::Ethernet, Link::Cooked, Link::Cooked2, Link::Raw, Link::Null] {
            heads.push(pcap(link.number(), order, true, 65_535, &none));
        }
    }
    heads
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000), head in 0..11_usize) {
        let mut file = heads()[head].clone();
        file.extend(bytes);
        let _ = measure(&file[..], &Options::default(), |_| ());
    }

    #[test]
    fn no_frame_makes_it_panic(
        frames in proptest::collection::vec((any::<u64>(), proptest::collection::vec(any::<u8>(), 0..200)), 0..10),
        link in proptest::sample::select(vec![0_u16, 1, 9, 12, 50, 51, 101, 105, 108, 113, 127, 228, 276]),
        kind in proptest::sample::select(vec![0x0800_u16, 0x8100, 0x8847, 0x8864]),
        version in proptest::sample::select(vec![0x45_u8, 0x60, 0x4f]),
    ) {
        for (length, mut frame) in frames {
            let _ = packet::parse(link, &frame, length as u32);
            if frame.len() > 14 {
                frame[12..14].copy_from_slice(&kind.to_be_bytes());
                let _ = packet::parse(1, &frame, length as u32);
            }
            let at = match link { 1 => 14, 113 => 16, 276 => 20, 0 | 108 => 4, _ => 0 };
            if frame.len() > at + 10 {
                frame[at] = version;
                frame[at + 9] = 6;
                frame[at + 6] = 6;
                let _ = packet::parse(link, &frame, length as u32);
            }
        }
    }

    #[test]
    fn no_change_of_a_capture_makes_it_panic(
        changes in proptest::collection::vec((0..40_000_usize, any::<u8>()), 1..50),
        next in any::<bool>(),
    ) {
        let frames = frames(Link::Ethernet, next, &busy_link()[..80]);
        let mut file = if next {
            pcapng(1, Endianness::Little, Some(0x9E), &frames)
        } else {
            pcap(1, Endianness::Big, false, 200, &frames)
        };
        for (at, byte) in changes {
            let at = at % file.len();
            file[at] = byte;
        }
        let _ = measure(&file[..], &Options::default(), |_| ());
    }
}
