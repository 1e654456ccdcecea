//! What one decision costs: every algorithm of the catalog on a queue that answers it.

use std::hint::black_box;
use std::time::Instant;

use quell_aqm::catalog::{AnyAqm, CATALOG};
use quell_aqm::{Aqm, Ctx, Ecn, FlowId, Link, PacketMeta, QueueView, Rng, Seed, Transport, Verdict};
use quell_units::{BitRate, Bytes, Duration, Packets, QueueSize, Time};

use crate::Outcome;
use crate::table::{Section, figure};

const PACKET: Bytes = Bytes::new(500);
/// Arrivals of the trace, which is gone through again and again.
const ARRIVALS: usize = 1 << 14;
/// How often the trace is gone through; the fastest time counts.
const PASSES: usize = 100;
/// Flows, which send by turns.
const FLOWS: u32 = 100;
/// Packets that the queue may hold.
const BUFFER: f64 = 120.0;
/// By how much the queue grows with each arrival, in packets.
const GROWTH: f64 = 0.05;
/// The share of arrivals to signal that holds the queue where it is.
const SIGNALLED: f64 = 0.02;

/// An arrival: the time since the last one, and by how much the queue moves by chance.
struct Arrival {
    gap: Duration,
    noise: f64,
    flow: u32,
}

fn trace(link: &Link) -> Vec<Arrival> {
    let mut rng = Seed(1).stream("trace");
    let mean_gap = 1.0 / link.capacity();
    let arrival = |i| Arrival {
        gap: Duration::from_secs_f64(rng.exponential(mean_gap)),
        noise: rng.uniform_in(-1.0, 1.0),
        flow: i % FLOWS,
    };
    (0..ARRIVALS as u32).map(arrival).collect()
}

/// An algorithm and the queue that answers it.
struct Loop {
    aqm: AnyAqm,
    rng: Rng,
    rate: BitRate,
    now: Time,
    queue: f64,
    signals: u64,
}

impl Loop {
    /// Goes through the trace once.
    fn pass(&mut self, trace: &[Arrival]) {
        for arrival in trace {
            self.now += arrival.gap;
            let signalled = self.arrive(arrival.flow);
            self.signals += u64::from(signalled);
            let answer = if signalled { GROWTH - GROWTH / SIGNALLED } else { GROWTH };
            self.queue = (self.queue + answer + arrival.noise).clamp(0.0, BUFFER);
        }
    }

    #[inline]
    fn arrive(&mut self, flow: u32) -> bool {
        let (aqm, now, rng) = (&mut self.aqm, self.now, &mut self.rng);
        let packets = self.queue as u32;
        let queue = QueueView {
            packets: Packets::new(packets),
            bytes: Bytes::new(u64::from(packets) * PACKET.get()),
            head_since: None,
            link_rate: Some(self.rate),
        };
        while let Some(due) = aqm.next_update().filter(|due| *due <= now) {
            aqm.on_update(&mut Ctx { now: due, queue, rng });
        }
        let pkt = PacketMeta {
            bytes: PACKET,
            enqueued_at: now,
            flow: FlowId(flow),
            ecn: Ecn::NotEct,
            ..Default::default()
        };
        if let Some(lanes) = aqm.lanes() {
            black_box(lanes.join(now, &pkt, Transport::Tcp));
        }
        let mut verdict = aqm.on_enqueue(&mut Ctx { now, queue, rng }, &pkt);
        if aqm.decides_at_dequeue() && verdict == Verdict::Pass {
            if let Some(lanes) = aqm.lanes() {
                // Packets wait everywhere: in two lanes, which is all that the catalog knows.
                let waiting = QueueView { packets: Packets::new(packets + 1), ..queue };
                black_box(lanes.next(now, &[waiting; 2]));
            }
            verdict = aqm.on_dequeue(&mut Ctx { now, queue, rng }, &pkt);
        }
        if self.queue >= BUFFER && verdict == Verdict::Pass {
            aqm.on_overflow(&mut Ctx { now, queue, rng }, &pkt);
            return true;
        }
        black_box(verdict) != Verdict::Pass
    }
}

pub fn every() -> Outcome<Section> {
    let link =
        Link { rate: BitRate::from_bps(10_000_000), buffer: QueueSize::Packets(BUFFER), mean_packet: PACKET };
    let trace = trace(&link);
    let mut section = Section::new("decisions", &["algorithm", "ns/arrival", "signalled, %"]);
    for entry in CATALOG {
        let config = (entry.default)();
        let aqm = config.build(&link).map_err(|e| format!("{}: {e}", entry.name))?;
        let rng = Seed(1).stream("aqm");
        let mut host = Loop { aqm, rng, rate: link.rate, now: Time::ZERO, queue: 0.0, signals: 0 };
        let mut fastest = f64::INFINITY;
        for _ in 0..PASSES {
            let clock = Instant::now();
            host.pass(black_box(&trace));
            fastest = fastest.min(clock.elapsed().as_nanos() as f64 / ARRIVALS as f64);
        }
        let signalled = 100.0 * host.signals as f64 / (ARRIVALS * PASSES) as f64;
        section.row(vec![entry.name.to_string(), figure(fastest), figure(signalled)]);
    }
    section.remark(format!(
        "Time per arrival at a queue that answers the algorithm: it wanders, grows by {GROWTH} packets per arrival \
         and falls by {} at each signal, so that every algorithm works where it is made to. With the algorithm's \
         own updates, through the dispatch that the simulator uses; defaults on a link of 10 Mbit/s with \
         {BUFFER} packets of buffer; {ARRIVALS} arrivals, the fastest of {PASSES} passes. Drop-tail decides \
         nothing: its time is that of the loop.",
        GROWTH / SIGNALLED
    ));
    Ok(section)
}
