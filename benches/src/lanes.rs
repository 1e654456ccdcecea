//! The cost of a packet in a queue of a few lanes, and of many.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use quell_aqm::{Discipline, Ecn, FlowId, LanesCtx, Next, PacketMeta, Seed, Verdict};
use quell_queue::{Dropped, Host, Limit, Line, Packet, Parallel, Sent};
use quell_units::{BitRate, Bytes, Duration, Time};

use crate::Outcome;
use crate::table::{Section, figure};

const LANES: [u32; 2] = [2, 1024];
/// The packets that wait: fewer than there are lanes in the larger number, and more.
const WAITING: [usize; 2] = [100, 10_000];
const PACKET: Bytes = Bytes::new(500);
const RATE: BitRate = BitRate::from_bps(10_000_000);
/// Arrivals of the trace, which is gone through again and again.
const ARRIVALS: usize = 1 << 14;
/// The passes through the trace, in turn with the other queues; the fastest time counts.
const PASSES: usize = 100;

/// One packet of each lane that has some, by turns: what it does itself costs the same for any number
/// of lanes.
struct RoundRobin {
    lanes: u32,
    turns: VecDeque<u32>,
}

impl Discipline for RoundRobin {
    fn lanes(&self) -> usize {
        self.lanes as usize
    }

    fn classify(&mut self, _: Time, pkt: &PacketMeta) -> usize {
        (pkt.flow.0 % self.lanes) as usize
    }

    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, _: &PacketMeta) -> Verdict {
        if cx.lanes.each[lane].packets.get() == 0 {
            self.turns.push_back(lane as u32);
        }
        Verdict::Pass
    }

    fn next(&mut self, _: &mut LanesCtx<'_>) -> Next {
        Next::Serve(*self.turns.front().expect("a link asks only where packets wait") as usize)
    }

    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, _: &PacketMeta) -> Verdict {
        self.turns.pop_front();
        if cx.lanes.each[lane].packets.get() > 0 {
            self.turns.push_back(lane as u32);
        }
        Verdict::Pass
    }
}

struct OfFlow(u32);

impl Packet for OfFlow {
    fn bytes(&self) -> Bytes {
        PACKET
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) {}
    fn flow(&self) -> FlowId {
        FlowId(self.0)
    }
}

/// Counts what leaves.
struct Count(u64);

impl Host<OfFlow> for Count {
    fn sent(&mut self, sent: Sent<OfFlow>) {
        self.0 += u64::from(black_box(sent.packet.0) < u32::MAX);
    }
    fn dropped(&mut self, _: Time, dropped: Dropped<OfFlow>) {
        unreachable!("nothing is dropped: {:?}", dropped.cause);
    }
}

/// A line at which a packet arrives whenever one leaves.
struct Busy {
    line: Line<Parallel<OfFlow, RoundRobin>>,
    now: Time,
    sent: Count,
}

impl Busy {
    fn new(lanes: u32, waiting: usize, flows: &[u32]) -> Self {
        let discipline = RoundRobin { lanes, turns: VecDeque::new() };
        let limit = Limit::Packets(2 * waiting as u32);
        let queue = Parallel::new(discipline, Seed(1).stream("aqm"), limit, false, Some(RATE));
        let mut busy = Busy { line: Line::new(queue, RATE), now: Time::ZERO, sent: Count(0) };
        for flow in flows.iter().cycle().take(waiting) {
            let _ = busy.line.arrive(busy.now, OfFlow(*flow), &mut busy.sent);
        }
        busy
    }

    fn pass(&mut self, flows: &[u32]) {
        let each = Duration::from_nanos(RATE.transmission_time(PACKET).nanos());
        for flow in flows {
            self.now += each;
            let _ = self.line.arrive(self.now, OfFlow(*flow), &mut self.sent);
        }
    }
}

pub fn few_and_many() -> Outcome<Section> {
    let mut rng = Seed(1).stream("flows");
    let flows: Vec<u32> = (0..ARRIVALS).map(|_| rng.uniform_in(0.0, 1e6) as u32).collect();
    let mut section =
        Section::new("lanes", &["packets waiting", "2 lanes, ns/packet", "1024 lanes, ns/packet", "ratio"]);
    for waiting in WAITING {
        let mut lines = LANES.map(|lanes| Busy::new(lanes, waiting, &flows));
        let mut fastest = LANES.map(|_| f64::INFINITY);
        for _ in 0..PASSES {
            for (busy, fastest) in lines.iter_mut().zip(&mut fastest) {
                let clock = Instant::now();
                busy.pass(black_box(&flows));
                *fastest = fastest.min(clock.elapsed().as_nanos() as f64 / ARRIVALS as f64);
            }
        }
        let [few, many] = fastest;
        section.row(vec![waiting.to_string(), figure(few), figure(many), figure(many / few)]);
    }
    section.remark(format!(
        "Time per packet, from its arrival to its departure, in a queue of several lanes under a round robin. The \
         round robin costs the same for any number of lanes. A packet of a random flow arrives whenever one leaves. \
         Each pass has {ARRIVALS} arrivals; the value is the fastest of {PASSES} passes, in turn. Many lanes cost more \
         because they touch more memory."
    ));
    Ok(section)
}
