//! Hosts of real packets, told apart by their addresses: CAKE's isolation in a gateway.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use quell_aqm::cake::{CakeParams, Isolation};
use quell_aqm::catalog::AqmConfig;
use quell_gateway::header::{FlowKey, Header};
use quell_gateway::{Delays, LineConfig, Pace, Packet, Ports, Relay};
use quell_units::{BitRate, Bytes, Duration, Time};

/// Eight flows of one host and one of another, each of which sends as much as the link does.
struct Crowd {
    /// An IP packet of each flow.
    packets: Vec<Vec<u8>>,
    key: FlowKey,
    due: bool,
    /// Bytes that were sent, of each flow.
    sent: Vec<u64>,
}

const CROWD: usize = 8;
const SIZE: usize = 1000;

/// The packet of a flow: which of its ends is shared by the crowd, and the version of IP.
fn packet(flow: usize, shared_source: bool, v6: bool) -> Vec<u8> {
    let address = |last: usize| match v6 {
        true => IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last as u16)),
        false => IpAddr::V4(Ipv4Addr::new(10, 0, 0, last as u8)),
    };
    let host = if flow < CROWD { 1 } else { 2 };
    let (near, far) = (address(host), address(100 + flow));
    let (source, destination) = if shared_source { (near, far) } else { (far, near) };
    let header = match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            etherparse::PacketBuilder::ipv4(source.octets(), destination.octets(), 64)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            etherparse::PacketBuilder::ipv6(source.octets(), destination.octets(), 64)
        }
        _ => unreachable!("both are of one version"),
    };
    let mut bytes = Vec::new();
    let payload = vec![0; SIZE - 8 - if v6 { 40 } else { 20 }];
    header.udp(1000 + flow as u16, 443).write(&mut bytes, &payload).unwrap();
    assert_eq!(bytes.len(), SIZE);
    bytes
}

impl Ports for Crowd {
    fn receive(&mut self, _: usize, arrivals: &mut Vec<(u8, Packet)>) -> io::Result<()> {
        if std::mem::take(&mut self.due) {
            for (flow, bytes) in self.packets.iter().enumerate() {
                let header = Header::parse(bytes, &self.key).unwrap();
                arrivals.push((0, Packet::new(flow as u32, SIZE as u32, header)));
            }
        }
        Ok(())
    }
    fn forward(&mut self, _: u8, packet: &Packet) {
        self.sent[packet.handle as usize] += u64::from(packet.bytes);
    }
    fn discard(&mut self, _: u8, _: &Packet) {}
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The share of the link that the lone flow gets.
fn lone(isolation: Isolation, shared_source: bool, v6: bool) -> f64 {
    let line = LineConfig {
        name: "up".into(),
        rate: BitRate::from_bps(8_000_000),
        buffer: "500 packets".parse().unwrap(),
        mean_packet: Bytes::new(SIZE as u64),
        ecn: true,
        seed: 3,
        aqm: AqmConfig::Cake(CakeParams { isolation, ..Default::default() }),
        shaper: None,
        classes: None,
        behind: None,
    };
    let packets: Vec<_> = (0..=CROWD).map(|flow| packet(flow, shared_source, v6)).collect();
    let ports = Crowd { sent: vec![0; packets.len()], packets, key: FlowKey::known(), due: false };
    let paths = vec![(Some(line), Delays::all(Duration::ZERO))];
    let mut relay = Relay::new(ports, paths, Pace::default(), None).unwrap();
    for ms in 0..4000u64 {
        relay.ports.due = true;
        relay.turn(|| Time::from_nanos(ms * 1_000_000)).unwrap();
    }
    let sent = &relay.ports.sent;
    let all: u64 = sent.iter().sum();
    assert!((3_800_000..=4_000_000).contains(&all), "{all}");
    sent[CROWD] as f64 / all as f64
}

#[test]
fn cake_shares_among_the_hosts_of_real_packets() {
    use Isolation::{DualDestination, DualSource, Flows, Triple};
    for v6 in [false, true] {
        for (isolation, shared_source, share) in [
            // Whichever end is shared, the lone flow's host gets as much as the host with eight.
            (Triple, true, 0.5),
            (Triple, false, 0.5),
            (DualSource, true, 0.5),
            (DualDestination, false, 0.5),
            // By the end that is not shared, or by flows alone, it is one of nine.
            (DualSource, false, 1.0 / 9.0),
            (DualDestination, true, 1.0 / 9.0),
            (Flows, true, 1.0 / 9.0),
            (Flows, false, 1.0 / 9.0),
        ] {
            let got = lone(isolation, shared_source, v6);
            println!("{isolation:?}, shared source {shared_source}, IPv6 {v6}: {got:.3}");
            assert!((got - share).abs() < 0.02, "{isolation:?} {shared_source} {v6}: {got}");
        }
    }
}
