//! Sources that nothing answers: UDP, and the packets of a trace.

use quell_aqm::{Ecn, Rng};
use quell_units::Time;

use super::host::{Direction, Host, Meter};
use crate::network::{Distribution, FlowSpec, Trace, UdpSpec};
use crate::outcome::FlowSegment;
use crate::packet::{Kind, Pkt};
use crate::source::Clock;

pub(crate) struct UdpFlow {
    id: u32,
    packet: Distribution,
    ecn: Ecn,
    dscp: u8,
    clock: Clock,
    /// The time at which the next packet goes, or the source looks again.
    pub due: Time,
    stop: Time,
    seq: u32,
    pub sent: Meter<FlowSegment>,
    /// Bytes.
    pub received: Meter<u64>,
}

impl UdpFlow {
    pub fn new(id: u32, udp: &UdpSpec, spec: &FlowSpec, rng: Rng, bounds: &[Time]) -> Self {
        UdpFlow {
            id,
            packet: udp.packet,
            ecn: if udp.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            dscp: spec.dscp,
            clock: Clock::new(&udp.pace, rng),
            due: spec.start,
            stop: spec.stop.unwrap_or(Time::MAX),
            seq: 0,
            sent: Meter::new(bounds),
            received: Meter::new(bounds),
        }
    }

    pub fn advance(&mut self, now: Time, host: &mut impl Host) {
        while self.due <= now && self.due != Time::MAX {
            let at = self.due;
            self.due = if at >= self.stop { Time::MAX } else { self.step(at, host) };
        }
    }

    /// Sends what is due at `at` and says when the next packet is.
    fn step(&mut self, at: Time, host: &mut impl Host) -> Time {
        let rate = match self.clock.rate(at) {
            Ok(rate) => rate,
            Err(later) => return later,
        };
        let bytes = self.clock.bytes(&self.packet);
        let mut pkt = Pkt::new(Kind::Datagram, self.id, 0, self.seq, bytes);
        pkt.set_ecn(self.ecn);
        pkt.set_dscp(self.dscp);
        self.seq = self.seq.wrapping_add(1);
        self.sent.at(at, host).sent_packets += 1;
        host.send(at, pkt, Direction::Forward);
        self.clock.after(at, rate, (f64::from(bytes), self.packet.mean()))
    }
}

/// The packets of a trace.
pub(crate) struct TraceFlow {
    id: u32,
    trace: Trace,
    /// The number of the next packet.
    next: usize,
    start: Time,
    /// The time at which the next packet goes.
    pub due: Time,
    stop: Time,
    pub sent: Meter<FlowSegment>,
    /// Bytes.
    pub received: Meter<u64>,
}

impl TraceFlow {
    pub fn new(id: u32, trace: &Trace, spec: &FlowSpec, bounds: &[Time]) -> Self {
        let mut flow = TraceFlow {
            id,
            trace: trace.clone(),
            next: 0,
            start: spec.start,
            due: Time::MAX,
            stop: spec.stop.unwrap_or(Time::MAX),
            sent: Meter::new(bounds),
            received: Meter::new(bounds),
        };
        flow.look();
        flow
    }

    pub fn advance(&mut self, now: Time, host: &mut impl Host) {
        while self.due <= now
            && let Some(arrival) = self.trace.arrivals().get(self.next)
        {
            let pkt = Pkt::recorded(self.id, arrival);
            self.sent.at(self.due, host).sent_packets += 1;
            host.send(self.due, pkt, Direction::Forward);
            self.next += 1;
            self.look();
        }
    }

    /// Finds out when the next packet goes.
    fn look(&mut self) {
        let next = self.trace.arrivals().get(self.next);
        let at = next.map_or(Time::MAX, |arrival| self.start + (arrival.time - Time::ZERO));
        self.due = if at >= self.stop { Time::MAX } else { at };
    }
}
