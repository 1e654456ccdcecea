//! The fuzz target of queues, which the tests of `crates/queue` run on a few inputs.

use quell_aqm::catalog::CATALOG;
use quell_aqm::{Ecn, FlowId, Link, Seed};
use quell_queue::{Dropped, Host, Limit, Line, Packet, Qdisc, Queue, Sent};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

/// A packet of the fuzzer.
#[derive(Clone, Copy)]
struct Segment {
    bytes: u16,
    ecn: Ecn,
    flow: u8,
    syn: bool,
}

impl Packet for Segment {
    fn bytes(&self) -> Bytes {
        Bytes::new(u64::from(self.bytes))
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        assert!(self.ecn.is_capable(), "only ECN-capable packets are marked");
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> FlowId {
        FlowId(self.flow.into())
    }
    fn is_syn(&self) -> bool {
        self.syn
    }
}

/// Counts what leaves a line.
#[derive(Default)]
struct Away {
    sent: u64,
    dropped: u64,
}

impl Host<Segment> for Away {
    fn sent(&mut self, sent: Sent<Segment>) {
        assert!(sent.arrived <= sent.start && sent.start < sent.end);
        self.sent += 1;
    }
    fn dropped(&mut self, _: Time, _: Dropped<Segment>) {
        self.dropped += 1;
    }
}

/// Drives a line of each algorithm through the events that `data` spells, and checks that no packet
/// appears or vanishes and that the limit holds.
pub fn queue_events(data: &[u8]) {
    for entry in CATALOG {
        let buffer = QueueSize::Packets(20.0);
        let link = Link { rate: BitRate::from_bps(1_000_000), buffer, mean_packet: Bytes::new(1000) };
        let queue = || {
            let algorithm = (entry.default)().build(&link).ok()?;
            Some(Queue::new(algorithm, Seed(1).stream("fuzz.aqm"), Limit::of(buffer), true, Some(link.rate)))
        };
        let Some(first) = queue() else { continue };
        let (mut line, mut away) = (Line::new(first, link.rate), Away::default());
        let mut now = Time::ZERO;
        let mut arrived = 0u64;
        for event in data.chunks_exact(3) {
            now += Duration::from_micros(u64::from(event[1]) * u64::from(event[1]));
            match event[0] % 16 {
                0..12 => {
                    let ecn = if event[0] & 16 == 0 { Ecn::NotEct } else { Ecn::Ect0 };
                    let (flow, syn) = (event[2], event[0] & 96 == 96);
                    let segment = Segment { bytes: 40 + 6 * u16::from(event[2]), ecn, flow, syn };
                    arrived += 1;
                    let _ = line.arrive(now, segment, &mut away);
                }
                12 => line.set_rate(now, BitRate::from_bps(1 + 10_000 * u64::from(event[2])), &mut away),
                13 => {
                    if let Some(queue) = queue() {
                        line.reconfigure(now, queue, &mut away);
                    }
                }
                _ => line.run(now, &mut away),
            }
            let waiting = u64::from(line.queue().view().packets.get());
            let n = line.counters();
            assert!(waiting <= 20, "{}: {waiting} wait in a buffer of 20", entry.name);
            assert_eq!(arrived, away.sent + away.dropped + waiting, "{}: packets are conserved", entry.name);
            assert_eq!(n.arrived.packets, arrived, "{}", entry.name);
            assert_eq!(n.arrived.packets, n.enqueued.packets + n.refused.total().packets, "{}", entry.name);
            assert_eq!(n.departed.packets, away.sent, "{}", entry.name);
        }
    }
}
