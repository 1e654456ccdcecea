//! The cost of one decision: every algorithm of the catalog on a queue that answers it.

use std::hint::black_box;
use std::time::Instant;

use quell_aqm::catalog::{AnyAlgorithm, CATALOG};
use quell_aqm::{
    Algorithm, Aqm, Ctx, Departures, Discipline, Ecn, FlowId, Lanes, LanesCtx, Link, PacketMeta, QueueView,
    Rng, Seed, Verdict,
};
use quell_units::{BitRate, Bytes, Duration, Packets, QueueSize, Time};

use crate::Outcome;
use crate::table::{Section, figure};

const PACKET: Bytes = Bytes::new(500);
/// Arrivals of the trace, which is gone through again and again.
const ARRIVALS: usize = 1 << 14;
/// The passes through the trace; the fastest time counts.
const PASSES: usize = 100;
/// Flows, which send by turns.
const FLOWS: u32 = 100;
/// Packets that the queue may hold.
const BUFFER: f64 = 120.0;
/// The packets by which the queue grows with each arrival.
const GROWTH: f64 = 0.05;
/// The share of arrivals to signal that holds the queue where it is.
const SIGNALED: f64 = 0.02;

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
    algorithm: AnyAlgorithm,
    lanes: Vec<QueueView>,
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
            let signaled = self.arrive(arrival.flow);
            self.signals += u64::from(signaled);
            let answer = if signaled { GROWTH - GROWTH / SIGNALED } else { GROWTH };
            self.queue = (self.queue + answer + arrival.noise).clamp(0.0, BUFFER);
        }
    }

    #[inline]
    fn arrive(&mut self, flow: u32) -> bool {
        let (now, rng) = (self.now, &mut self.rng);
        let packets = self.queue as u32;
        let queue = QueueView {
            packets: Packets::new(packets),
            bytes: Bytes::new(u64::from(packets) * PACKET.get()),
            head_since: None,
            link_rate: Some(self.rate),
        };
        let pkt = PacketMeta {
            bytes: PACKET,
            enqueued_at: now,
            flow: FlowId(flow),
            ecn: Ecn::NotEct,
            ..Default::default()
        };
        let full = self.queue >= BUFFER;
        match &mut self.algorithm {
            Algorithm::Aqm(aqm) => {
                while let Some(due) = aqm.next_update().filter(|due| *due <= now) {
                    aqm.on_update(&mut Ctx::new(due, queue, rng));
                }
                let mut verdict = aqm.on_enqueue(&mut Ctx::new(now, queue, rng), &pkt);
                if verdict == Verdict::Pass && aqm.departures() != Departures::Ignored {
                    verdict = aqm.on_dequeue(&mut Ctx::new(now, queue, rng), &pkt);
                }
                if verdict == Verdict::Pass && full {
                    aqm.on_overflow(&mut Ctx::new(now, queue, rng), &pkt);
                    return true;
                }
                black_box(verdict) != Verdict::Pass
            }
            Algorithm::Discipline(d) => {
                // As many packets wait in each lane.
                self.lanes.fill(queue);
                let lanes = Lanes { each: &self.lanes, packets: queue.packets, bytes: queue.bytes };
                while let Some(due) = d.next_update().filter(|due| *due <= now) {
                    d.on_update(&mut LanesCtx { now: due, lanes, rng });
                }
                let mut cx = LanesCtx { now, lanes, rng };
                let lane = d.classify(now, &pkt);
                let mut verdict = d.on_enqueue(&mut cx, lane, &pkt);
                if verdict == Verdict::Pass && packets > 0 {
                    let _ = black_box(d.next(&mut cx));
                    verdict = d.on_dequeue(&mut cx, lane, &pkt);
                }
                if verdict == Verdict::Pass && full {
                    d.on_overflow(&mut cx, lane, &pkt);
                    return true;
                }
                black_box(verdict) != Verdict::Pass
            }
        }
    }
}

pub fn every() -> Outcome<Section> {
    let link =
        Link { rate: BitRate::from_bps(10_000_000), buffer: QueueSize::Packets(BUFFER), mean_packet: PACKET };
    let trace = trace(&link);
    let mut section = Section::new("decisions", &["algorithm", "ns/arrival", "signaled, %"]);
    for entry in CATALOG {
        let config = (entry.default)();
        let algorithm = config.build(&link).map_err(|e| format!("{}: {e}", entry.name))?;
        let lanes = match &algorithm {
            Algorithm::Aqm(_) => 0,
            Algorithm::Discipline(d) => d.lanes(),
        };
        let empty =
            QueueView { packets: Packets::new(0), bytes: Bytes::new(0), head_since: None, link_rate: None };
        let mut host = Loop {
            algorithm,
            lanes: vec![empty; lanes],
            rng: Seed(1).stream("aqm"),
            rate: link.rate,
            now: Time::ZERO,
            queue: 0.0,
            signals: 0,
        };
        let mut fastest = f64::INFINITY;
        for _ in 0..PASSES {
            let clock = Instant::now();
            host.pass(black_box(&trace));
            fastest = fastest.min(clock.elapsed().as_nanos() as f64 / ARRIVALS as f64);
        }
        let signaled = 100.0 * host.signals as f64 / (ARRIVALS * PASSES) as f64;
        section.row(vec![entry.name.to_string(), figure(fastest), figure(signaled)]);
    }
    section.remark(format!(
        "Time per arrival at a queue that responds to the algorithm. The queue wanders, grows by {GROWTH} packets per \
         arrival, and falls by {} at each signal, so that every algorithm works where it is meant to. The time \
         includes the algorithm's own updates, through the dispatch that the simulator uses. Settings are the defaults \
         on a link of 10 Mbit/s with {BUFFER} packets of buffer. Each pass has {ARRIVALS} arrivals; the value is the \
         fastest of {PASSES} passes. Drop-tail decides nothing: its time is that of the loop.",
        GROWTH / SIGNALED
    ));
    Ok(section)
}
