//! What the fuzz targets run. The tests of `crates/scenario` run the same functions on a few inputs.

use quell_aqm::catalog::CATALOG;
use quell_aqm::{Ecn, FlowId, Link, Seed};
use quell_queue::{Admission, Fifo, Limit, Packet, Qdisc};
use quell_scenario::{Document, Plugins};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

/// Reads any bytes as a scenario: it loads, or the error names a line and a rule.
pub fn scenario(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let document = match Document::parse(text, "fuzz.toml") {
        Ok(document) => document,
        Err(e) => return assert!(e.line.is_some() && !e.rule.is_empty(), "{e}"),
    };
    match document.study(&Plugins::new()) {
        Ok(study) => assert!(!study.points.is_empty()),
        Err(e) => assert!(e.line.is_some() && !e.rule.is_empty(), "{e}"),
    }
}

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

/// Drives a queue of each algorithm through the events that `data` spells, and checks that no packet
/// appears or vanishes and that the limit holds.
pub fn queue_events(data: &[u8]) {
    for entry in CATALOG {
        let buffer = QueueSize::Packets(20.0);
        let link = Link { rate: BitRate::from_bps(1_000_000), buffer, mean_packet: Bytes::new(1000) };
        let Ok(aqm) = (entry.default)().build(&link) else { continue };
        let rng = Seed(1).stream("fuzz.aqm");
        let mut queue = Fifo::new(aqm, rng, Limit::of(buffer), true, Some(link.rate));
        let mut now = Time::ZERO;
        let (mut arrived, mut kept, mut left, mut dropped_late) = (0u64, 0u64, 0u64, 0u64);
        for event in data.chunks_exact(3) {
            now += Duration::from_micros(u64::from(event[1]) * u64::from(event[1]));
            match event[0] % 4 {
                0 | 1 => {
                    let ecn = if event[0] & 4 == 0 { Ecn::NotEct } else { Ecn::Ect0 };
                    let (flow, syn) = (event[2], event[0] & 24 == 24);
                    let segment = Segment { bytes: 40 + 6 * u16::from(event[2]), ecn, flow, syn };
                    arrived += 1;
                    match queue.enqueue(now, segment) {
                        Admission::Dropped(_) => {}
                        Admission::Queued | Admission::Marked => kept += 1,
                    }
                }
                2 => match queue.dequeue(now, &mut |_, _| dropped_late += 1) {
                    Some((_, since)) => {
                        assert!(since <= now);
                        left += 1;
                    }
                    None => queue.idle(now),
                },
                _ => queue.advance(now),
            }
            let waiting = u64::from(queue.view().packets.get());
            let counters = *queue.counters();
            assert!(waiting <= 20, "{}: {waiting} wait in a buffer of 20", entry.name);
            assert_eq!(kept, left + dropped_late + waiting, "{}: packets are conserved", entry.name);
            assert_eq!(counters.arrived, arrived, "{}", entry.name);
            assert_eq!(counters.arrived, counters.enqueued + counters.dropped_at_enqueue, "{}", entry.name);
            assert_eq!(counters.departed, left, "{}", entry.name);
        }
    }
}
