//! What a packet costs in trees of 10, 100 and 1000 classes, beside FQ-CoDel with as many flows.
//!
//! ```sh
//! cargo run --release -p quell-queue --example tree_cost
//! ```
//!
//! Each leaf has a FIFO in which three packets wait. A packet leaves and the next one arrives in the same leaf. A
//! number is the median of several rounds.

use std::time::Instant;

use quell_aqm::catalog::find;
use quell_aqm::drop_tail::DropTail;
use quell_aqm::{Ecn, FlowId, Link, Seed};
use quell_queue::{Class, Dequeued, Fifo, Limit, Packet, Plan, Qdisc, Queue, Tree};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

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
/// The classes share 1 Gbit/s: 12 us for a packet.
const STEP: Duration = Duration::from_micros(12);

/// Nanoseconds per packet, and how many times the queue said that it has to wait.
fn cost(mut queue: impl Qdisc<Packet = Pkt>, leaves: u32) -> (f64, u32) {
    let mut now = Time::from_nanos(1);
    for packet in (0..3 * leaves).map(|n| Pkt(n % leaves)) {
        let _ = queue.enqueue(now, packet, &mut |_| {});
    }
    let (mut rounds, mut waits) = (Vec::new(), 0);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..PACKETS {
            let packet = loop {
                match queue.dequeue(now, &mut |_| {}) {
                    Dequeued::Packet(packet, _) => break packet,
                    Dequeued::NotBefore(time) => (now, waits) = (time, waits + 1),
                    Dequeued::Nothing => unreachable!("three packets wait in each leaf"),
                }
            };
            let _ = queue.enqueue(now, packet, &mut |_| {});
            now += STEP;
        }
        rounds.push(start.elapsed().as_nanos() as f64 / f64::from(PACKETS));
    }
    rounds.sort_by(f64::total_cmp);
    (rounds[ROUNDS / 2], waits)
}

fn tree(plan: &Plan) -> impl Qdisc<Packet = Pkt> {
    let fifo = |_: &Class, _| Fifo::new(DropTail, Seed(1).stream("fifo"), Limit::Packets(10), false, None);
    Tree::new(plan, |packet: &Pkt| packet.0 as usize, None, fifo).expect("it is a tree")
}

fn main() {
    let link = Link {
        rate: BitRate::from_bps(1_000_000_000),
        buffer: QueueSize::Packets(10_000.0),
        mean_packet: Bytes::new(1500),
    };
    let (mtu, gigabit) = (Bytes::new(1500), link.rate);
    println!("| leaves | FQ-CoDel | DRR | priority | htb, two levels | htb, all borrowed |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
    for leaves in [10u32, 100, 1000] {
        let names = || (0..leaves).map(|n| n.to_string());
        let drr = Plan::new(names().map(|name| Class::new(name).in_turns_of(mtu)).collect());
        let by_priority = |n: u32, name| Class::new(name).first_by((n % 64) as u8);
        let priority = Plan::new(names().zip(0..).map(|(name, n)| by_priority(n, name)).collect());
        // Ten groups; each leaf is guaranteed its share, or nothing.
        let htb = |rate: u64| {
            let group = |n: u32| {
                let rate = BitRate::from_bps(gigabit.bps() / 10);
                Class::new(format!("group {n}")).limited(rate, gigabit, mtu).below("link")
            };
            let leaf = |(n, name): (u32, String)| {
                let class = Class::new(name).below(format!("group {}", n % 10)).in_turns_of(mtu);
                class.limited(BitRate::from_bps(rate), gigabit, mtu)
            };
            let top = Class::new("link").limited(gigabit, gigabit, mtu);
            let classes = std::iter::once(top).chain((0..10).map(group));
            Plan::new(classes.chain((0..).zip(names()).map(leaf)).collect())
        };
        let codel = find("fq-codel").expect("it is in the catalog");
        let algorithm = (codel.default)().build(&link).expect("its defaults fit");
        let rng = Seed(1).stream("flows");
        let fq_codel = Queue::new(algorithm, rng, Limit::Packets(10_000), false, Some(gigabit));
        let costs = [
            cost(fq_codel, leaves),
            cost(tree(&drr), leaves),
            cost(tree(&priority), leaves),
            cost(tree(&htb(gigabit.bps() / u64::from(leaves))), leaves),
            cost(tree(&htb(0)), leaves),
        ];
        let [a, b, c, d, e] = costs.map(|(ns, _)| format!("{ns:.0} ns"));
        println!("| {leaves} | {a} | {b} | {c} | {d} | {e} |");
        let waits = costs.map(|(_, waits)| f64::from(waits) / f64::from(PACKETS) / ROUNDS as f64);
        eprintln!("{leaves}: waits per packet {waits:.2?}");
    }
}
