//! Runs a shaper or a tree on arrivals that are read, and writes what leaves.
//!
//! `conformance/linux/shapers.py` gives the same lines to Linux's tbf and htb and compares the answers. All numbers are
//! whole: bytes per second, bytes, nanoseconds.
//!
//! ```text
//! link NS_PER_BYTE OVERHEAD SMALLEST ATM
//! shaper RATE BURST PEAK MTU LIMIT                   a peak of 0 is none; the limit is in bytes
//! class PARENT RATE CEIL BURST CBURST PRIORITY QUANTUM LIMIT
//!                                                    instead: the parent's number from 0, or -1; the limit in packets
//! direct LIMIT                                       what has no class goes first: it is of the class behind the last
//! packet TIME CLASS BYTES                            in order of time
//! ```
//!
//! Answers: `sent TIME NUMBER` and `dropped TIME NUMBER`.

use std::fmt::Write;
use std::io::Read;

use quell_aqm::drop_tail::DropTail;
use quell_aqm::{Ecn, FlowId, Seed};
use quell_queue::{
    Class, Dequeued, Dropped, Fifo, Limit, Limits, Packet, Peak, Plan, Qdisc, Shaped, Shaper, Tree,
};
use quell_units::{BitRate, Bytes, Duration, Framing, LinkLayer, Time};

#[derive(Clone, Copy)]
struct Pkt {
    number: usize,
    class: usize,
    bytes: u64,
}

impl Packet for Pkt {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) {}
    fn flow(&self) -> FlowId {
        FlowId(0)
    }
}

type Queue = Fifo<Pkt, DropTail>;

fn fifo(limit: Limit) -> Queue {
    Fifo::new(DropTail, Seed(1).stream("queue"), limit, false, None)
}

/// A link that takes the next packet when it is free, and writes what leaves.
struct Run<Q> {
    queue: Q,
    byte_ns: u64,
    free: Time,
    /// The time at which the queue is to be asked next, if something waits.
    asks: Time,
    out: String,
}

impl<Q: Qdisc<Packet = Pkt>> Run<Q> {
    fn until(&mut self, end: Time) {
        while !self.queue.is_empty() && self.free.max(self.asks) <= end {
            let now = self.free.max(self.asks);
            let out = &mut self.out;
            match self.queue.dequeue(now, &mut |gone| say(out, "dropped", now, &gone)) {
                Dequeued::Packet(packet, _) => {
                    writeln!(self.out, "sent {} {}", now.nanos(), packet.number).expect("it is a string");
                    self.free = now + Duration::from_nanos(packet.bytes * self.byte_ns);
                    self.asks = now;
                }
                Dequeued::NotBefore(time) => self.asks = time,
                Dequeued::Nothing => {}
            }
        }
    }

    fn all(mut self, packets: &[(Time, Pkt)]) -> String {
        for &(now, packet) in packets {
            self.until(now);
            let out = &mut self.out;
            let _ = self.queue.enqueue(now, packet, &mut |gone| say(out, "dropped", now, &gone));
            if self.free <= now {
                self.asks = now;
            }
        }
        self.until(Time::from_nanos(u64::MAX - 1));
        self.out
    }
}

fn say(out: &mut String, word: &str, now: Time, gone: &Dropped<Pkt>) {
    writeln!(out, "{word} {} {}", now.nanos(), gone.packet.number).expect("it is a string");
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut byte_ns = 0;
    let mut layer = LinkLayer::plain(BitRate::from_bps(0));
    let (mut shaper, mut classes, mut limits, mut packets) = (None, Vec::new(), Vec::new(), Vec::new());
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let numbers: Vec<i64> = words.map(str::parse).collect::<Result<_, _>>()?;
        let n = |i: usize| numbers.get(i).map_or(0, |n| *n as u64);
        let rate = |i: usize| BitRate::from_bps(8 * n(i));
        let bytes = |i: usize| Bytes::new(n(i));
        match kind {
            "link" => {
                byte_ns = n(0);
                let framing = if n(3) > 0 { Framing::Atm } else { Framing::None };
                layer = LinkLayer { overhead: bytes(1), smallest: bytes(2), framing, ..layer };
            }
            "shaper" => {
                let peak = (n(2) > 0).then(|| Peak { rate: rate(2), mtu: bytes(3) });
                let limit = Some(Limit::Bytes(n(4)));
                shaper =
                    Some(Shaper { rate: LinkLayer { rate: rate(0), ..layer }, burst: bytes(1), peak, limit });
            }
            "class" => {
                let parent = usize::try_from(numbers[0]).ok().map(|parent| parent.to_string());
                if let Some(above) = parent.as_ref().and_then(|parent| parent.parse::<usize>().ok()) {
                    let above: &mut Class = &mut classes[above];
                    (above.priority, above.quantum) = (None, None);
                }
                classes.push(Class {
                    parent,
                    limits: Some(Limits { rate: rate(1), ceil: rate(2), burst: bytes(3), cburst: bytes(4) }),
                    // 0 is for what has no class.
                    priority: Some(n(5) as u8 + 1),
                    quantum: Some(bytes(6)),
                    ..Class::new(classes.len().to_string())
                });
                limits.push(Limit::Packets(n(7) as u32));
            }
            "direct" => {
                classes.push(Class::new(classes.len().to_string()));
                limits.push(Limit::Packets(n(0) as u32));
            }
            "packet" => {
                let packet = Pkt { number: packets.len(), class: n(1) as usize, bytes: n(2) };
                packets.push((Time::from_nanos(n(0)), packet));
            }
            other => return Err(format!("`{other}` is not a line of a run").into()),
        }
    }
    let (free, asks, out) = (Time::ZERO, Time::ZERO, String::new());
    let out = if let Some(shaper) = shaper {
        let queue = Shaped::new(fifo(Limit::Packets(u32::MAX)), &shaper);
        Run { queue, byte_ns, free, asks, out }.all(&packets)
    } else {
        let plan = Plan { layer, ..Plan::new(classes) };
        let leaves: Vec<usize> = plan.leaves()?.into_iter().map(str::parse).collect::<Result<_, _>>()?;
        let leaf = |packet: &Pkt| leaves.binary_search(&packet.class).unwrap_or(usize::MAX);
        let limit = |class: &Class| limits[class.name.parse::<usize>().unwrap_or(0)];
        let queue = Tree::new(&plan, leaf, None, |class, _| fifo(limit(class)))?;
        Run { queue, byte_ns, free, asks, out }.all(&packets)
    };
    print!("{out}");
    Ok(())
}
