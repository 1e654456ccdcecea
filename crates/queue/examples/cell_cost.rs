//! What a packet costs in cells of 1 to 100 users.
//!
//! ```sh
//! cargo run --release -p quell-queue --example cell_cost
//! ```
//!
//! Each user has a FIFO in which three packets wait, and a channel of 100 Mbit/s: 8.3 packets of 1500 bytes fit into an
//! interval of 1 ms. A packet leaves and the next one arrives for the same user. A number is the median of several
//! rounds, in nanoseconds for each packet.

use std::time::Instant;

use quell_aqm::drop_tail::DropTail;
use quell_aqm::{Ecn, FlowId, Seed};
use quell_queue::{Cell, Dequeued, Fifo, Limit, Packet, Policy, Qdisc};
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

fn cost(policy: Policy, interval: Duration, users: u32) -> f64 {
    let fifo = || Fifo::new(DropTail, Seed(1).stream("fifo"), Limit::Packets(10), false, None);
    let queues = (0..users).map(|user| (user.to_string().into(), fifo()));
    let channels = vec![BitRate::from_bps(100_000_000); users as usize];
    let mut cell = Cell::new(policy, interval, queues, |packet: &Pkt| packet.0 as usize, channels);
    let mut now = Time::from_nanos(1);
    for packet in (0..3 * users).map(|n| Pkt(n % users)) {
        let _ = cell.enqueue(now, packet, &mut |_| {});
    }
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..PACKETS {
            let packet = loop {
                match cell.dequeue(now, &mut |_| {}) {
                    Dequeued::Packet(packet, _) => break packet,
                    Dequeued::NotBefore(time) => now = time,
                    Dequeued::Nothing => unreachable!("three packets wait for each user"),
                }
            };
            let _ = cell.enqueue(now, packet, &mut |_| {});
        }
        rounds.push(start.elapsed().as_nanos() as f64 / f64::from(PACKETS));
    }
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn main() {
    println!("| users | proportional fair | round robin | max rate | proportional fair, 100 us |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    let (ms, short) = (Duration::from_millis(1), Duration::from_micros(100));
    let fair = Policy::ProportionalFair { window: Duration::from_secs(1) };
    for users in [1, 10, 100] {
        let costs = [(fair, ms), (Policy::RoundRobin, ms), (Policy::MaxRate, ms), (fair, short)];
        let [a, b, c, d] = costs.map(|(policy, interval)| cost(policy, interval, users));
        println!("| {users} | {a:.0} | {b:.0} | {c:.0} | {d:.0} |");
    }
}
