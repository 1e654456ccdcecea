//! What networks do to captures: cards that join packets, tunnels and radio, echoes of marks, relays.

use super::*;

fn ip(sent: &Sent) -> Vec<u8> {
    Link::Raw.frame(false, sent)
}

fn at(layer: &str) -> Options {
    Options { layer: layer.parse().unwrap(), ..Options::default() }
}

fn measured(link: u32, frames: &Frames, options: &Options) -> Report {
    intervals(&pcap(link, Endianness::Little, true, 65_535, frames), options).0
}

/// The file of [`busy_link`] with up to `most` data packets in a row of one client joined, as a host with GRO has it:
/// they come when the last of them does.
fn joined(packets: &[Sent], most: usize) -> Vec<Sent> {
    let mut joined: Vec<Sent> = Vec::new();
    for packet in packets {
        let follows = |last: &&mut Sent| {
            let next = last.header.sequence_number + last.payload as u32;
            packet.payload > 0
                && last.payload > 0
                && last.payload < most * 1460
                && (last.to, next) == (packet.to, packet.header.sequence_number)
        };
        match joined.iter_mut().rev().find(|p| p.payload > 0 && p.to == packet.to).filter(follows) {
            Some(last) => (last.payload, last.at) = (last.payload + packet.payload, packet.at),
            None => joined.push(packet.clone()),
        }
    }
    joined.sort_by_key(|p| p.at);
    joined
}

/// One client of a link of 10 Mbit/s in frames of 1514 bytes; both ends accept `mss`.
fn one_client(mss: bool) -> Vec<Sent> {
    let client = (1, 40_000);
    let mut packets = handshake(START, client, 50 * MS, 20 * MS).to_vec();
    if mss {
        packets[0].header.set_options_raw(&[2, 4, 0x05, 0xB4]).unwrap();
        // The server itself takes jumbo frames.
        packets[1].header.set_options_raw(&[2, 4, 0x23, 0x00]).unwrap();
    }
    for k in 0..4000 {
        let seq = 9001 + k as u32 * 1460;
        packets.push(tcp(START + SECOND + k * 1514 * 800, SERVER, client, seq, 1460).ack(1001));
    }
    packets
}

#[test]
fn joined_frames_count_as_the_packets_of_the_path() {
    for (mss, most) in [(true, 1), (true, 5), (true, 44), (false, 5)] {
        let mut packets = one_client(mss);
        let apart = report(&simple(&packets));
        assert_eq!((apart.segment_bytes, apart.directions[1].joined_frames), (None, 0));
        // Without the handshake's word the commonest usual segment tells, once it has come.
        let kept = if mss { 3 } else { 100 };
        let tail = joined(&packets.split_off(kept), most);
        packets.extend(tail);
        let found = report(&simple(&packets));
        let (down, before) = (&found.directions[1], &apart.directions[1]);
        if most > 1 {
            assert!(down.packets < before.packets / (most as u64) + 200, "{down:?}");
            assert_eq!(found.segment_bytes, Some(1460));
        }
        assert_eq!((down.path_packets, down.data_packets), (before.packets, 4000));
        assert_eq!(down.mean_data_packet_bytes, Some(1514.0));
        let c = down.capacity.capacity_bps.unwrap();
        assert!((c / 1e7 - 1.0).abs() < 1e-3, "{most}: {:?}", down.capacity);
    }
}

#[test]
fn rates_are_those_of_the_layer() {
    let frames = frames(Link::Ethernet, false, &one_client(true));
    // Each data packet has 1500 bytes of IP and took 1514 * 800 ns. By tc-cake(8): 38 bytes beside it on Ethernet's wire,
    // 18 of DOCSIS, and of PTM 22 with each 64 sent as 65.
    for (layer, bytes) in
        [("ip", 1500), ("capture", 1514), ("ethernet", 1538), ("docsis", 1518), ("ptm", 1522 + 24)]
    {
        let down = measured(1, &frames, &at(layer)).directions[1].clone();
        assert_eq!(down.mean_data_packet_bytes, Some(f64::from(bytes)), "{layer}");
        let rate = f64::from(bytes) * 8e9 / (1514.0 * 800.0);
        for (found, expected) in [
            (down.capacity.capacity_bps, rate),
            (down.capacity_ip_bps, 1500.0 / 1514.0 * 1e7),
            (down.capacity_capture_bps, 1e7),
        ] {
            assert!((found.unwrap() / expected - 1.0).abs() < 1e-6, "{layer}: {found:?} {expected}");
        }
    }
    let error = "atm".parse::<Layer>().unwrap_err().to_string();
    assert!(
        error.starts_with("layer = atm: must be ip, capture, ptm") && error.contains("docsis"),
        "{error}"
    );
}

/// The clock of acknowledgments is at the layer, too.
#[test]
fn before_the_bottleneck_the_layer_counts_as_well() {
    let packets = bulk(Place::Sender, 4, 60, 1_250_000, 125_000_000, 10);
    let up = measured(1, &frames(Link::Ethernet, false, &packets), &at("ip")).directions[0].clone();
    assert_eq!(up.capacity.verdict, CapacityVerdict::Beyond);
    assert!((up.capacity.capacity_bps.unwrap() / 1e7 * 1514.0 / 1500.0 - 1.0).abs() < 0.01, "{up:?}");
}

#[test]
fn radio_and_tunnels_say_what_they_carry() {
    let packets = busy_link();
    let plain = measured(101, &frames(Link::Raw, false, &packets), &at("ip"));
    let llc = [0xAA, 0xAA, 3, 0, 0, 0, 8, 0];
    let addresses = [2; 18];
    let data = |kind: u8, flags: u8| [&[kind, flags, 0, 0][..], &addresses, &[0; 2]].concat();
    let tap = [0_u8, 0, 8, 0, 0, 0, 0, 0];
    // A time at a multiple of 8 and flags that say the header is padded; a second word of fields.
    let padded = [&[0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0][..], &[9; 8], &[0x20]].concat();
    let outer = |protocol: u8, more: usize, ip: &[u8]| {
        let total = (20 + more + ip.len()) as u16;
        let mut header = vec![0x45, 0];
        header.extend(total.to_be_bytes());
        header.extend([0, 0, 0, 0, 64, protocol, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
        header
    };
    let ether = [&[2; 12][..], &[8, 0]].concat();
    type Wrap<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;
    let cases: [(&str, u32, u64, Wrap<'_>); 9] = [
        ("802.11", 105, 0, &|ip| [&data(8, 1)[..], &llc, ip].concat()),
        ("radiotap", 127, 0, &|ip| [&tap[..], &data(8, 1), &llc, ip].concat()),
        ("radiotap, QoS", 127, 0, &|ip| [&tap[..], &data(0x88, 2), &[0; 2], &llc, ip].concat()),
        ("radiotap, padded", 127, 0, &|ip| [&padded[..], &data(0x88, 2), &[0; 4], &llc, ip].concat()),
        ("GRE", 101, 24, &|ip| [&outer(47, 4, ip)[..], &[0, 0, 8, 0], ip].concat()),
        ("GRE with a key", 101, 28, &|ip| [&outer(47, 8, ip)[..], &[0x20, 0, 8, 0, 0, 0, 0, 1], ip].concat()),
        ("GRE of Ethernet", 101, 38, &|ip| {
            [&outer(47, 18, ip)[..], &[0, 0, 0x65, 0x58], &ether, ip].concat()
        }),
        ("IP in IP", 101, 20, &|ip| [&outer(4, 0, ip)[..], ip].concat()),
        ("VXLAN", 101, 50, &|ip| {
            let length = (ip.len() + 30) as u16;
            let udp = [&[200, 1, 0x12, 0xB5][..], &length.to_be_bytes(), &[0; 2], &[8, 0, 0, 0, 0, 0, 7, 0]];
            [&outer(17, 30, ip)[..], &udp.concat(), &ether, ip].concat()
        }),
    ];
    for (name, link, more, wrap) in cases {
        let frames: Frames = packets.iter().map(|p| (p.at, wrap(&ip(p)))).collect();
        let found = measured(link, &frames, &at("ip"));
        assert_eq!((found.not_ip, found.round_trips), (0, plain.round_trips), "{name}");
        for (found, plain) in found.directions.iter().zip(&plain.directions) {
            assert_eq!((found.packets, found.flows), (plain.packets, plain.flows), "{name}");
            let mean = plain.mean_packet_bytes.map(|mean| mean + more as f64);
            assert!(found.mean_packet_bytes.zip(mean).is_some_and(|(a, b)| (a - b).abs() < 1e-9), "{name}");
        }
        // Whatever is kept of it.
        let longest = frames.iter().map(|(_, f)| f.len()).max().unwrap();
        for kept in 0..longest.min(150) {
            let _ =
                packet::parse(link as u16, &frames[200].1[..kept.min(frames[200].1.len())], longest as u32);
        }
    }
    // Routers mark the outer header.
    let mut marked = [&outer(47, 4, &ip(&packets[100]))[..], &[0, 0, 8, 0], &ip(&packets[100])].concat();
    marked[1] = 3;
    assert_eq!(packet::parse(101, &marked, marked.len() as u32).unwrap().ecn, 3);
    let beacon = [&tap[..], &[0x80, 0], &[0; 40]].concat();
    let secret = [&tap[..], &data(8, 0x41), &llc, &ip(&packets[0])].concat();
    let several = [&tap[..], &data(0x88, 2), &[0x80, 0], &llc].concat();
    let found = measured(127, &vec![(START, beacon), (START + 1, secret), (START + 2, several)], &at("ip"));
    let kinds: Vec<&str> = found.not_ip_kinds.iter().map(|kind| kind.what.as_str()).collect();
    assert_eq!(kinds, ["802.11 without data", "A-MSDU of 802.11", "encrypted 802.11"]);
}

/// Flags of TCP beside those that the builder knows: AE, CWR and ECE as a number.
fn with_ace(mut frame: Vec<u8>, ace: u8) -> Vec<u8> {
    frame[32] = frame[32] & !1 | ace >> 2;
    frame[33] = frame[33] & 0x3F | ace << 6;
    frame
}

#[test]
fn receivers_say_what_came_marked() {
    // A client acknowledges 40 packets, of which every fourth was marked behind the capture; RFC 9768's counter begins at 5.
    for accurate in [true, false] {
        let client = (1, 40_000);
        let [syn, answer, ack] = handshake(START, client, 50 * MS, 20 * MS).map(|p| (p.at, ip(&p)));
        let (asks, grants, first) = if accurate { (7, 2, 4) } else { (3, 1, 0) };
        let mut frames: Frames = [(syn, asks), (answer, grants), (ack, first)]
            .map(|((at, frame), ace)| (at, with_ace(frame, ace)))
            .to_vec();
        let mut marks = 0_u8;
        for k in 0..40 {
            let seq = 9001 + k as u32 * 1000;
            let mut data = tcp(START + SECOND + k * MS, SERVER, client, seq, 1000).ack(1001);
            data.ecn = if k % 2 == 0 { 1 } else { 2 };
            frames.push((data.at, with_ace(ip(&data), if accurate { 5 } else { 0 })));
            marks += u8::from(k % 4 == 0);
            let ack = tcp(data.at + MS / 2, client, SERVER, 1001, 0).ack(seq + 1000);
            let ace = if accurate { (5 + marks) & 7 } else { u8::from(k % 4 == 0) };
            frames.push((ack.at, with_ace(ip(&ack), ace)));
        }
        let down = measured(101, &frames, &at("ip")).directions[1].clone();
        let counts = |n: u64| if accurate { (0, 0, 40, n) } else { (41, n, 0, 0) };
        let e = down.echoes;
        let found = (e.acknowledgments, e.ece, e.accurate_acknowledgments, e.accurate_marks);
        assert_eq!(found, counts(10), "{accurate}");
        assert_eq!((down.ect0_share, down.ect1_share), (Some(20.0 / 41.0), Some(20.0 / 41.0)));
        assert_eq!((down.ce_packets, down.ce_share), (0, Some(0.0)));
    }
}

/// A datagram of QUIC from or to port 443.
fn quic(at: u64, down: bool, first: u8, payload: usize) -> (u64, Vec<u8>) {
    let builder = match down {
        true => PacketBuilder::ipv4([10, 0, 0, 200], [10, 0, 0, 1], 60).udp(443, 5000),
        false => PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 200], 60).udp(5000, 443),
    };
    let mut frame = Vec::new();
    builder.write(&mut frame, &[&[first][..], &vec![0; payload]].concat()).unwrap();
    (at, frame)
}

#[test]
fn the_spin_bit_tells_round_trips_where_it_spins() {
    // A hundred packets in each round trip of 40 ms; random bits; and a constant one.
    type Bits<'a> = &'a dyn Fn(u64) -> bool;
    let bits: [(Bits<'_>, u64); 3] =
        [(&|k| k / 100 % 2 == 1, 1), (&|k| (k * 7919 + 13) % 1009 % 2 == 1, 0), (&|_| false, 0)];
    for (spin, spinning) in bits {
        let frames: Frames =
            (0..2000).map(|k| quic(START + k * 400_000, true, 0x40 | u8::from(spin(k)) << 5, 1200)).collect();
        let found = measured(101, &frames, &at("ip"));
        assert_eq!((found.quic_connections, found.quic_spinning), (1, spinning));
        let down = &found.directions[1];
        assert_eq!(down.flows.active, 1);
        assert_eq!(down.round_trip_method, (spinning == 1).then_some(TripMethod::SpinBit));
        if let Some(trips) = down.loaded_round_trips {
            assert!(trips.quantiles_s.iter().all(|t| (t / 0.04 - 1.0).abs() < 0.01), "{trips:?}");
        }
    }
}

#[test]
fn flows_count_in_the_busy_time() {
    // Three uploads for six seconds, then three downloads.
    let mut packets = Vec::new();
    for k in 0..12_000_u64 {
        let client = (1 + (k % 3) as u8, 40_000);
        let (at, seq) = (START + k * MS, 1000 + (k / 3) as u32 * 1460);
        packets.push(match k < 6000 {
            true => tcp(at, client, SERVER, seq, 1460).ack(1),
            false => tcp(at, SERVER, client, seq, 1460).ack(1),
        });
    }
    let found = report(&simple(&packets));
    assert_eq!(found.directions.each_ref().map(|d| d.flows.active), [3, 3]);
}

/// A relay in front of the receiver that passes on what has come when it wakes, at uneven times, of two flows on a link of
/// 12 Mbit/s; in the other direction the same number of their acknowledgments. With time stamps.
fn relayed(link_is_full: bool) -> Vec<Sent> {
    const PACKET: u64 = MS; // 1500 bytes of IP at 12 Mbit/s
    const WAY: u64 = 15 * MS;
    let clients = [(1, 40_000), (2, 40_000)];
    let stamped = |mut sent: Sent, value: u64, returned: u64| {
        let [value, returned] = [value / MS, returned / MS].map(|t| ((t % (1 << 31)) as u32).to_be_bytes());
        sent.header.set_options_raw(&[&[1, 1, 8, 10][..], &value, &returned].concat()).unwrap();
        sent
    };
    let mut packets = Vec::new();
    let mut wakes = START;
    for k in 0..8000_u64 {
        let (client, seq) = (clients[(k % 2) as usize], 1 + (k / 2) as u32 * 1448);
        // For half a second the link is free half of the time; then 20 ms are queued.
        let (served, queue) = match k {
            0..250 => (START + 2 * k * PACKET, 0),
            _ if link_is_full => (START + (250 + k) * PACKET, 20 * MS),
            // Bursts that nothing waits for, at rates that differ.
            _ => (START + (250 + k) * PACKET + k * k % 7919 * 40_000, 0),
        };
        while wakes < served {
            wakes += MS * (3 + wakes / 7 % 5);
        }
        let at = wakes + k % 11 * 2000;
        let sent = served - queue - WAY;
        packets.push(stamped(tcp(at, SERVER, client, seq, 1448).ack(1001), sent, sent - WAY));
        let ack = tcp(at + 50_000, client, SERVER, 1001, 0).ack(seq + 1448);
        packets.push(stamped(ack, at + 50_000, sent));
    }
    packets.sort_by_key(|p| p.at);
    packets
}

#[test]
fn a_rate_that_stays_while_packets_wait_is_the_capacity() {
    let full = measured(101, &frames(Link::Raw, false, &relayed(true)), &at("ip"));
    let down = &full.directions[1];
    let c = down.capacity;
    assert!(c.pairs.unwrap().rate_bps > 1e9, "within a batch: {c:?}");
    assert_eq!(c.verdict, CapacityVerdict::Ceiling, "{c:?}");
    assert!((c.capacity_bps.unwrap() / 12e6 - 1.0).abs() < 0.02, "{c:?}");
    // 30 ms of way and 20 of queue, and up to 7 more until the relay wakes.
    assert_eq!(down.round_trip_method, Some(TripMethod::Timestamps));
    let trips = down.loaded_round_trips.unwrap();
    assert!(trips.samples > 100 && (0.028..0.040).contains(&trips.least_s), "{trips:?}");
    let [median, most, tail] = trips.quantiles_s;
    assert!((0.045..0.062).contains(&median) && median <= most && most <= tail, "{trips:?}");
    // What never waits tells nothing.
    let free = measured(101, &frames(Link::Raw, false, &relayed(false)), &at("ip"));
    assert_ne!(free.directions[1].capacity.verdict, CapacityVerdict::Ceiling, "{:?}", free.directions[1]);
}

#[test]
fn gaps_before_a_card_are_those_of_the_packet_before() {
    // A card of 10 Mbit/s stamps packets as their transmission begins: 1500 bytes, then three acknowledgments of 52.
    let mut at_time = START;
    let mut packets = Vec::new();
    for k in 0..4000_u32 {
        packets.push(tcp(at_time, SERVER, (1, 40_000), 1 + k * 1460, 1460).ack(1));
        at_time += 1500 * 800;
        for _ in 0..3 {
            packets.push(tcp(at_time, SERVER, (2, 40_000), 1, 0).ack(1 + k));
            at_time += 40 * 800;
        }
    }
    let found = measured(101, &frames(Link::Raw, false, &packets), &at("ip"));
    let c = found.directions[1].capacity;
    assert_eq!(c.verdict, CapacityVerdict::Full);
    assert!((c.capacity_bps.unwrap() / 1e7 - 1.0).abs() < 1e-3, "{c:?}");
}

#[test]
fn interfaces_are_chosen_by_name() {
    let packets = frames(Link::Raw, false, &busy_link());
    let mut file = pcapng(101, Endianness::Little, Some(9), &packets);
    let options = |name: &str| Options { interfaces: vec![name.into()], ..at("ip") };
    // Interfaces without a name have their number.
    let found = intervals(&file, &options("0")).0;
    assert_eq!((found.elsewhere, found.interfaces.len()), (0, 0));
    let error = measure(&file[..], &options("wan0"), |_| ()).unwrap_err().to_string();
    assert_eq!(error, "has no interface \"wan0\"; it has: 0");
    file = pcap(101, Endianness::Little, true, 65_535, &packets);
    let error = measure(&file[..], &options("wan0"), |_| ()).unwrap_err().to_string();
    assert_eq!(error, "has no interface \"wan0\"; it has: none with a name");
}
