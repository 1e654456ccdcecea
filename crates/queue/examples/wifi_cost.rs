//! The cost of a packet over a channel of Wi-Fi, by the number of stations.
//!
//! ```sh
//! cargo run --release -p quell-queue --example wifi_cost
//! ```
//!
//! Packets wait for every station, and at every station where stations send. A packet leaves and the next one arrives
//! on the same way. A number is the median of several rounds.

use std::time::Instant;

use quell_aqm::drop_tail::DropTail;
use quell_aqm::{Ecn, FlowId, Seed};
use quell_queue::{AccessPoint, Channel, Dequeued, Fifo, Limit, Packet, Qdisc, Station, Wifi};
use quell_units::{BitRate, Bytes, Duration, Time};

#[derive(Clone, Copy)]
struct Pkt(u32);

impl Packet for Pkt {
    fn bytes(&self) -> Bytes {
        Bytes::new(1500)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) {}
    fn flow(&self) -> FlowId {
        FlowId(self.0)
    }
}

const PACKETS: u32 = 200_000;
const ROUNDS: usize = 7;
/// The packets that wait on each way.
const DEPTH: u32 = 64;

/// Nanoseconds per packet, where packets go on so many ways from the first on, and packets in a frame.
fn cost(channel: Channel, ways: u32) -> (f64, f64) {
    let fifo =
        |_: usize, _| Fifo::new(DropTail, Seed(1).stream("fifo"), Limit::Packets(100_000), false, None);
    let by_way = |packet: &Pkt| packet.0 as usize;
    let mut queue = Wifi::new(channel, by_way, Seed(1).stream("wifi"), fifo).expect("it can be shared");
    let mut now = Time::from_nanos(1);
    for packet in (0..DEPTH * ways).map(|n| Pkt(n % ways)) {
        let _ = queue.enqueue(now, packet, &mut |_| {});
    }
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..PACKETS {
            let packet = loop {
                match queue.dequeue(now, &mut |_| {}) {
                    Dequeued::Packet(packet, _) => break packet,
                    Dequeued::NotBefore(time) => now = time,
                    Dequeued::Nothing => unreachable!("packets wait on each way"),
                }
            };
            let _ = queue.enqueue(now, packet, &mut |_| {});
            now += Duration::from_nanos(1);
        }
        rounds.push(start.elapsed().as_nanos() as f64 / f64::from(PACKETS));
    }
    rounds.sort_by(f64::total_cmp);
    (rounds[ROUNDS / 2], queue.usage().packets as f64 / queue.usage().frames as f64)
}

fn main() {
    println!(
        "| stations | to stations, aggregates | both ways, aggregates | both ways, a packet in each frame |"
    );
    println!("| ---: | ---: | ---: | ---: |");
    for count in [1u32, 10, 50, 127] {
        let stations = || {
            let rate = |i: u32| BitRate::from_bps(if i.is_multiple_of(2) { 144_400_000 } else { 7_200_000 });
            let station = |i| Station { name: format!("s{i}"), rate: rate(i), loss: 0.0, packets: None };
            (0..count).map(station).collect::<Vec<_>>()
        };
        let airtime = AccessPoint::Airtime { quantum: Duration::from_micros(300) };
        let costs = [
            cost(Channel::n(airtime, stations()), count),
            cost(Channel::n(airtime, stations()), 2 * count),
            cost(Channel::a(airtime, stations()), 2 * count),
        ];
        let [a, b, c] = costs.map(|(ns, _)| format!("{ns:.0} ns"));
        println!("| {count} | {a} | {b} | {c} |");
        eprintln!("{count}: packets in a frame {:.1?}", costs.map(|(_, packets)| packets));
    }
}
