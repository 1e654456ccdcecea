//! Traces of a run in each format, read back by the programs and libraries of others.

use std::collections::HashMap;
use std::io::Cursor;
use std::process::Command;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use quell_aqm::Ecn;
use quell_scenario::{Document, Plugins};
use quell_sim::trace::{Chosen, PacketKind, PacketWhat, Trace, TraceRequest};
use quell_sim::{Control, Engine, run};
use quell_traces::{About, Version, pcapng, perfetto, qlog};

const CALL: &str = "[[flows]]\nname = \"call\"\nkind = \"udp\"\npacket = \"200 B\"\nrate = \"300 kbit/s\"\n";

/// A run with losses, marks, selective acknowledgments and handshakes.
fn trace(algorithm: &str, more: &str) -> Trace {
    of_text("", algorithm, more, CALL)
}

/// The same with something at the beginning of the scenario and at its end.
fn of_text(begin: &str, algorithm: &str, more: &str, end: &str) -> Trace {
    let text = format!(
        "schema = 1\n{begin}duration = \"6 s\"\naqm = [{{ algorithm = \"{algorithm}\" }}]\n[dumbbell]\nrate = \"8 Mbit/s\"\n\
         delay = \"10 ms\"\nbuffer = \"30 packets\"\necn = true\n\
         [[flows]]\nname = \"ftp\"\nkind = \"bulk\"\ncount = 3\nrtt = \"40 ms\"\n\
         tcp = {{ {more} }}\n{end}"
    );
    let document = Document::parse(&text, "x.toml").expect("it is TOML");
    let study = document.study(&Plugins::new()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut network = study.points[0].plan(0, 1, &Plugins::new()).expect("it can run").network;
    network.links.iter_mut().for_each(|link| link.observe = true);
    let request = TraceRequest {
        senders: Chosen::All,
        step: None,
        events: true,
        links: Chosen::All,
        packets: Chosen::All,
    };
    let control = Control { trace: Some(request), ..Control::default() };
    *run(network, Engine::Fast, &control).expect("it runs").trace.expect("it was asked for")
}

fn about(whole: bool, version: Version) -> About {
    About { title: "a run".to_string(), program: "Quell".to_string(), whole, version, ..About::default() }
}

fn capture(trace: &Trace, about: &About) -> Vec<u8> {
    let mut bytes = Vec::new();
    pcapng::write(&mut bytes, trace, about).expect("memory takes it");
    bytes
}

const LOSSY: &str = "congestion = \"cubic\", recovery = \"sack\", syn = true, sack_sizes = true";
/// The same with marks, which are not of packets that were sent again.
const MARKED: &str = "congestion = \"cubic\", recovery = \"sack\", syn = true, ecn = true";

#[test]
fn each_packet_is_a_frame_with_its_size_its_ecn_field_and_its_fate() {
    for version in [Version::V4, Version::V6] {
        let trace = trace("red", MARKED);
        let bytes = capture(&trace, &about(true, version));
        let mut reader = PcapNgReader::new(Cursor::new(&bytes)).expect("it is pcapng");
        let mut frames = HashMap::<(u32, u64), (u64, u32, u8, String)>::new();
        let mut last = 0;
        while let Some(block) = reader.next_block() {
            let Block::EnhancedPacket(packet) = block.expect("it is sound").into_owned() else { continue };
            let time = packet.timestamp.as_nanos() as u64;
            assert!(time >= last, "frames are in order of time");
            last = time;
            let sliced = SlicedPacket::from_ip(&packet.data).expect("it is an IP packet");
            let ecn = match sliced.net {
                Some(NetSlice::Ipv4(ip)) => {
                    let header = ip.header().to_header();
                    assert_eq!(header.header_checksum, header.calc_header_checksum());
                    header.ecn.value()
                }
                Some(NetSlice::Ipv6(ip)) => ip.header().traffic_class() & 3,
                _ => panic!("it is IP"),
            };
            let (mut id, mut comment) = (0, String::new());
            for option in &packet.options {
                match option {
                    // The library knows none by this code.
                    EnhancedPacketOption::Unknown(option) if option.code == 5 => {
                        id = u64::from_le_bytes(option.value[..].try_into().expect("it has eight bytes"));
                    }
                    EnhancedPacketOption::Comment(said) => comment = said.to_string(),
                    _ => {}
                }
            }
            let before = frames.insert((packet.interface_id, id), (time, packet.original_len, ecn, comment));
            assert!(before.is_none(), "a packet is once at an interface");
        }
        let code = |ecn: Ecn| match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        let (mut marks, mut drops, mut left) = (0, 0, frames.len());
        for (link, traced) in trace.links.iter().enumerate() {
            for event in &traced.events {
                let of = |side: u32| frames.get(&(2 * link as u32 + side, event.packet.into()));
                let packet = &trace.packets[event.packet as usize];
                match event.what {
                    PacketWhat::Enqueued => {
                        let (time, length, ecn, _) = of(0).expect("it came");
                        left -= 1;
                        assert_eq!((*time, *ecn), (event.time.nanos(), code(packet.ecn)));
                        // What has no room for its options is longer than in the scenario, and nothing else is.
                        let opens = matches!(packet.kind, PacketKind::Syn | PacketKind::SynAck);
                        let longer = opens || packet.block_count > 0;
                        assert!(
                            *length == u32::from(packet.bytes) || longer || version == Version::V6,
                            "{packet:?}"
                        );
                    }
                    PacketWhat::Dequeued { .. } => {
                        let (time, _, ecn, _) = of(1).expect("it left");
                        left -= 1;
                        assert_eq!((*time, *ecn), (event.time.nanos(), code(event.ecn.1)), "{event:?}");
                    }
                    PacketWhat::Marked { .. } => {
                        marks += 1;
                        let said = [of(0), of(1)].into_iter().flatten().any(|f| f.3.contains("marked CE by"));
                        assert!(said, "{event:?}");
                    }
                    PacketWhat::Dropped { .. } => {
                        drops += 1;
                        let frame = of(0).expect("it came");
                        assert!(frame.3.contains("dropped"), "{event:?}");
                        left -= usize::from(event.waited.is_zero());
                        assert!(of(1).is_none());
                    }
                }
            }
        }
        assert!(marks > 10 && drops > 0, "{marks} marks, {drops} drops");
        assert_eq!(left, 0, "no frame without an event");
    }
}

/// The frames of a capture: the interface, the length on the wire, and what was kept.
fn frames(bytes: &[u8]) -> Vec<(u32, u32, Vec<u8>)> {
    let mut reader = PcapNgReader::new(Cursor::new(bytes)).expect("it is pcapng");
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("it is sound").into_owned() {
            frames.push((packet.interface_id, packet.original_len, packet.data.to_vec()));
        }
    }
    frames
}

/// Sizes of the dialect `linux` are those of Ethernet frames, also those of UDP beside its TCP.
#[test]
fn frames_of_ethernet_carry_ip_packets_of_their_length() {
    let voice = CALL.replace("200 B", "214 B");
    let trace = of_text("dialect = \"linux\"\n", "codel", "congestion = \"cubic\"", &voice);
    let bytes = capture(&trace, &about(true, Version::V4));
    let (mut calls, mut data, mut opened) = (0, 0, 0);
    for (_, length, kept) in frames(&bytes) {
        let sliced = SlicedPacket::from_ethernet(&kept).expect("it is an Ethernet frame");
        let Some(NetSlice::Ipv4(ip)) = sliced.net else { panic!("it is IPv4") };
        let total = ip.header().total_len();
        match sliced.transport {
            Some(TransportSlice::Udp(udp)) => {
                assert_eq!((length, total, udp.length()), (214, 200, 180));
                calls += 1;
            }
            Some(TransportSlice::Tcp(tcp)) => {
                if length == 1514 {
                    assert_eq!((total, tcp.payload().len()), (1500, 1448));
                    data += 1;
                }
                let mut options = tcp.options_iterator().flatten();
                let mss = options.find_map(|option| match option {
                    etherparse::TcpOptionElement::MaximumSegmentSize(mss) => Some(mss),
                    _ => None,
                });
                // RFC 9293 section 3.7.1: time stamps are not subtracted.
                if tcp.syn() {
                    assert_eq!(mss, Some(1460));
                    opened += 1;
                }
            }
            _ => panic!("it is UDP or TCP"),
        }
    }
    assert!(calls > 500 && data > 500 && opened > 0, "{calls} datagrams, {data} of data, {opened} SYN");

    // What is read of it by its headers alone are the sizes of IP packets.
    let cut = capture(&trace, &about(false, Version::V4));
    let options = quell_capture::ArrivalOptions {
        interface: Some("bottleneck enqueue".to_string()),
        directions: Some(quell_capture::Direction::BOTH.to_vec()),
        most: 1 << 20,
        ..Default::default()
    };
    let arrivals = quell_capture::arrivals(&cut[..], &options).expect("it is a capture");
    let of = |protocol, bytes| {
        arrivals.packets.iter().filter(|p| p.protocol == protocol && p.bytes == bytes).count()
    };
    assert!(of(17, 200) > 250 && of(6, 1500) > 250);
    assert!(arrivals.packets.iter().all(|p| p.protocol != 17 || p.bytes == 200));
    assert!(arrivals.packets.iter().all(|p| p.bytes <= 1500));
}

#[test]
fn numbers_are_bytes_of_one_stream() {
    let trace = trace("drop-tail", LOSSY);
    let bytes = capture(&trace, &about(true, Version::V4));
    let mut reader = PcapNgReader::new(Cursor::new(&bytes)).expect("it is pcapng");
    let mut ends = HashMap::<([u8; 4], u16), u32>::new();
    let (mut holes, mut selected) = (0, 0);
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.expect("it is sound").into_owned() else { continue };
        let sliced = SlicedPacket::from_ip(&packet.data).expect("it is an IP packet");
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (sliced.net, sliced.transport)
        else {
            continue;
        };
        let header = tcp.to_header();
        let ip_header = ip.header().to_header();
        let payload = &ip.payload().payload[header.header_len()..];
        assert_eq!(header.checksum, header.calc_checksum_ipv4(&ip_header, payload).expect("it fits"));
        // An acknowledgment is of what was sent, and ends with a packet.
        if packet.interface_id == 0 && !payload.is_empty() {
            let end = ends.entry((ip_header.source, header.source_port)).or_insert(1);
            let next = header.sequence_number + payload.len() as u32;
            assert_eq!((header.sequence_number - 1) % payload.len() as u32, 0);
            assert!(header.sequence_number <= *end, "no gap at the sender");
            holes += usize::from(header.sequence_number < *end);
            *end = next.max(*end);
        }
        if payload.is_empty() && header.ack && !header.syn {
            let end = ends.get(&(ip_header.destination, header.destination_port)).copied().unwrap_or(1);
            assert!(header.acknowledgment_number <= end);
            for element in header.options_iterator().flatten() {
                if let etherparse::TcpOptionElement::SelectiveAcknowledgement(first, _) = element {
                    selected += 1;
                    assert!(first.0 < first.1 && first.1 <= end);
                }
            }
        }
    }
    assert!(holes > 0 && selected > 0, "{holes} packets sent again, {selected} selective acknowledgments");
}

/// Wireshark's own analysis of one interface for each direction, where its program is installed.
#[test]
fn tshark_counts_what_the_simulator_counts() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("tshark is not here: what it counts is not compared");
        return;
    }
    let folder = std::env::temp_dir().join(format!("quell-tshark-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is room");
    let trace = trace("red", MARKED);
    let all = folder.join("all.pcapng");
    std::fs::write(&all, capture(&trace, &about(true, Version::V4))).expect("there is room");
    let ran = |arguments: &[&str]| {
        let checks = [
            "-o",
            "tcp.check_checksum:TRUE",
            "-o",
            "ip.check_checksum:TRUE",
            "-o",
            "udp.check_checksum:TRUE",
        ];
        let output = Command::new("tshark").args(checks).args(arguments).output().expect("it is there");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("it prints text")
    };
    let count = |file: &std::path::Path, filter: &str| {
        ran(&["-r", file.to_str().expect("it is text"), "-Y", filter]).lines().count()
    };
    // The same packet is at several interfaces; its analysis wants it once.
    let once = folder.join("once.pcapng");
    let reverse = trace.links.iter().position(|link| {
        link.events.iter().any(|event| trace.packets[event.packet as usize].kind == PacketKind::Ack)
    });
    let reverse = reverse.expect("acknowledgments cross a link");
    let chosen = format!("frame.interface_id == 0 || frame.interface_id == {}", 2 * reverse + 1);
    let (from, to) = (all.to_str().expect("it is text"), once.to_str().expect("it is text"));
    ran(&["-r", from, "-Y", &chosen, "-w", to]);
    assert_eq!(count(&all, "_ws.malformed"), 0);
    let bad =
        "ip.checksum.status == \"Bad\" || tcp.checksum.status == \"Bad\" || udp.checksum.status == \"Bad\"";
    assert_eq!(count(&all, bad), 0);
    let good = count(&all, "tcp.checksum.status == \"Good\" || udp.checksum.status == \"Good\"");
    assert_eq!(good, count(&all, "frame"), "each checksum was looked at");

    let at = |link: usize| {
        trace.links[link].events.iter().map(|event| (event, &trace.packets[event.packet as usize]))
    };
    let came = |what: PacketWhat| matches!(what, PacketWhat::Enqueued | PacketWhat::Dropped { .. });
    let again =
        at(0).filter(|(event, packet)| came(event.what) && packet.kind == PacketKind::Data && packet.again);
    let again = again.filter(|(event, _)| event.waited.is_zero()).count();
    let sent_again = "tcp.analysis.retransmission || tcp.analysis.out_of_order";
    assert_eq!(count(&once, sent_again), again, "packets sent again");

    let mut newest = HashMap::<u32, u32>::new();
    let mut duplicates = 0;
    for (event, packet) in at(reverse).filter(|(_, packet)| packet.kind == PacketKind::Ack) {
        if matches!(event.what, PacketWhat::Dequeued { .. }) {
            let before = newest.insert(packet.flow, packet.number);
            duplicates += usize::from(before == Some(packet.number));
        }
    }
    assert_eq!(count(&once, "tcp.analysis.duplicate_ack"), duplicates, "duplicate acknowledgments");
    let marked = at(0)
        .filter(|(event, _)| matches!(event.what, PacketWhat::Dequeued { .. }) && event.ecn.1 == Ecn::Ce);
    let marked = marked.count();
    assert_eq!(count(&all, "frame.interface_id == 1 && ip.dsfield.ecn == 3"), marked, "marks");
    let echoed =
        at(reverse).filter(|(event, packet)| matches!(event.what, PacketWhat::Dequeued { .. }) && packet.ece);
    let filter =
        format!("frame.interface_id == {} && tcp.flags.ece == 1 && tcp.flags.syn == 0", 2 * reverse + 1);
    let echoed = echoed.count();
    assert_eq!(count(&all, &filter), echoed, "echoes");
    println!("{again} sent again, {duplicates} duplicates, {marked} marks, {echoed} echoes");
    assert!(again > 0 && duplicates > 0 && marked > 10 && echoed > 10);
    std::fs::remove_dir_all(&folder).expect("it was made here");
}

#[test]
fn logs_of_senders_are_read_by_the_qlog_crate() {
    let trace = trace("red", LOSSY);
    let flow = &trace.flows[0];
    let mut bytes = Vec::new();
    qlog::write(&mut bytes, flow, &about(false, Version::V4)).expect("memory takes it");
    let records = bytes.iter().filter(|byte| **byte == 0x1e).count();
    bytes.push(0x1e);
    let reader = ::qlog::reader::QlogSeqReader::new(Box::new(Cursor::new(bytes))).expect("it has a header");
    assert_eq!(reader.qlog.file_schema, "urn:ietf:params:qlog:file:sequential");
    let (mut read, mut known, mut own, mut lost, mut window) = (0, 0, 0, 0, None);
    for event in reader {
        read += 1;
        match event {
            ::qlog::reader::Event::Qlog(event) => {
                known += 1;
                if let ::qlog::events::EventData::QuicMetricsUpdated(metrics) = event.data {
                    window = metrics.congestion_window.or(window);
                }
            }
            ::qlog::reader::Event::Json(event) => {
                own += 1;
                assert!(event.name.starts_with("tcp:"), "{}", event.name);
                lost += usize::from(event.name == "tcp:segment_lost");
            }
        }
    }
    assert_eq!(read + 1, records, "each record is read");
    assert!(known > 100 && own > 100 && lost > 0, "{known} of QUIC's, {own} of TCP's, {lost} losses");
    let last = flow.samples.last().expect("it has sent");
    assert_eq!(window, Some((last.cwnd * f64::from(flow.payload)).round() as u64));
}

/// Writes what other programs are to read: `QUELL_TRACES=folder cargo test -p quell-traces writes_samples`.
#[test]
fn writes_samples() {
    let trace = trace("codel", LOSSY);
    let mut bytes = Vec::new();
    perfetto::write(&mut bytes, &trace, &about(false, Version::V4)).expect("memory takes it");
    // A trace is a sequence of length-delimited packets in field 1.
    let (mut rest, mut packets) = (&bytes[..], 0);
    while let [0x0a, tail @ ..] = rest {
        let (mut length, mut shift, mut tail) = (0usize, 0, tail);
        while let [byte, more @ ..] = tail {
            length |= usize::from(byte & 0x7f) << shift;
            (shift, tail) = (shift + 7, more);
            if byte & 0x80 == 0 {
                break;
            }
        }
        rest = &tail[length..];
        packets += 1;
    }
    let events: usize = trace.links.iter().map(|link| link.events.len()).sum();
    assert!(rest.is_empty() && packets > 3 * events, "{packets} packets of {events} events");
    if let Ok(folder) = std::env::var("QUELL_TRACES") {
        let folder = std::path::Path::new(&folder);
        std::fs::write(folder.join("x.pftrace"), &bytes).expect("there is room");
        std::fs::write(folder.join("x.pcapng"), capture(&trace, &about(false, Version::V4)))
            .expect("there is room");
        let mut log = Vec::new();
        qlog::write(&mut log, &trace.flows[0], &about(false, Version::V4)).expect("memory takes it");
        std::fs::write(folder.join("x.sqlog"), log).expect("there is room");
        println!(
            "{events} events, {} samples, {} events",
            trace.flows[0].samples.len(),
            trace.flows[0].events.len()
        );
    }
}
