//! The cost of a packet in a line, with every algorithm of the catalog.

use std::hint::black_box;

use cpu_time::ThreadTime;
use quell_aqm::catalog::CATALOG;
use quell_aqm::{Ecn, FlowId, Hosts, Transport};
use quell_gateway::header::Header;
use quell_gateway::{Packet, Shaped};
use quell_queue::{Admission, Dropped, Host, Sent};
use quell_units::{BitRate, Duration, Time};

use super::subject::{PACKET, line};
use crate::Outcome;
use crate::table::{Section, figure, load};

const RATE: BitRate = BitRate::from_bps(100_000_000);
const BUFFER: u32 = 400;
/// Arrivals of one pass.
const ARRIVALS: u32 = 1 << 14;
/// The number of times that this is done, in turn with the others; the fastest counts.
const PASSES: usize = 60;
/// Flows, which send by turns.
const FLOWS: u32 = 30;
/// The part of a packet by which the queue grows with each arrival.
const GROWTH: f64 = 0.05;
/// The packets that are spared after a signal: 2 % of arrivals signaled hold the queue where it is.
const ANSWER: f64 = 2.5;

/// A line, and senders that answer its signals.
struct Busy {
    line: Shaped,
    now: Time,
    heard: Heard,
    arrived: u32,
    signals: u64,
}

/// Counts what leaves, and hears signals at departures.
#[derive(Default)]
struct Heard {
    sent: u64,
    signals: u64,
}

impl Host<Packet> for Heard {
    #[inline]
    fn sent(&mut self, sent: Sent<Packet>) {
        self.sent += 1;
        self.signals += u64::from(black_box(sent.packet).marked);
    }
    #[inline]
    fn dropped(&mut self, _: Time, dropped: Dropped<Packet>) {
        self.signals += u64::from(black_box(dropped.packet.bytes) > 0);
    }
}

impl Busy {
    fn pass(&mut self) {
        let packet = RATE.transmission_time(quell_units::Bytes::new(PACKET as u64)).as_secs_f64();
        let gap = Duration::from_secs_f64(packet * (1.0 - GROWTH));
        let answer = Duration::from_secs_f64(packet * ANSWER);
        for _ in 0..ARRIVALS {
            self.now += gap;
            let flow = self.arrived % FLOWS;
            let header = Header {
                flow: FlowId(flow),
                ecn: Ecn::Ect0,
                transport: Transport::Tcp,
                syn: false,
                dscp: 0,
                hosts: Hosts { source: flow as u16 + 1, destination: 1 },
            };
            self.arrived = self.arrived.wrapping_add(1);
            let before = self.heard.signals;
            let _: Admission =
                self.line.arrive(self.now, Packet::new(self.arrived, PACKET as u32, header), &mut self.heard);
            let signals = self.heard.signals - before;
            self.signals += signals;
            if signals > 0 {
                self.now += answer;
            }
        }
    }
}

pub fn every() -> Outcome<Section> {
    let mut lines = Vec::new();
    for entry in CATALOG {
        let config = line((entry.default)(), RATE, BUFFER);
        let line = config.build().map_err(|e| format!("{}: {e}", entry.name))?;
        let busy = Busy { line, now: Time::ZERO, heard: Heard::default(), arrived: 0, signals: 0 };
        lines.push((entry.name, busy, f64::INFINITY));
    }
    for _ in 0..PASSES {
        for (_, busy, fastest) in &mut lines {
            let clock = ThreadTime::now();
            busy.pass();
            *fastest = fastest.min(clock.elapsed().as_nanos() as f64 / f64::from(ARRIVALS));
        }
    }
    let mut section = Section::new("gateway-line", &["algorithm", "ns/packet", "signaled, %"]);
    for (name, busy, fastest) in &lines {
        let signaled = 100.0 * busy.signals as f64 / (PASSES as f64 * f64::from(ARRIVALS));
        section.row(vec![(*name).to_string(), figure(*fastest), figure(signaled)]);
    }
    section.remark(format!(
        "CPU time of a packet in the gateway's `Line`, from arrival to departure: decision, queue, updates, and link, \
         with the gateway's own packets. The line has {RATE}, {BUFFER} packets of buffer, defaults, and ECN. Packets \
         of {PACKET} bytes come a little faster than they leave, and pause for {ANSWER} packets at each signal. Each \
         pass has {ARRIVALS} packets; values are the fastest of {PASSES} passes in turn, at {}.",
        load()
    ));
    Ok(section)
}
