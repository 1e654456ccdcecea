//! Sources that nothing answers: UDP, and the packets of a trace.

use quell_aqm::{Ecn, Rng};
use quell_units::Time;

use super::host::{Direction, Host, Meter};
use crate::network::{Distribution, FlowSpec, Trace, UdpSpec};
use crate::outcome::FlowSegment;
use crate::packet::{Kind, Pkt};
use crate::source::Clock;

pub(crate) struct OpenFlow {
    source: Source,
    /// The time at which the next packet goes, or the source looks again.
    pub due: Time,
    stop: Time,
    pub sent: Meter<FlowSegment>,
    /// Bytes.
    pub received: Meter<u64>,
}

enum Source {
    Udp {
        /// The last packet, from which the next one is made.
        last: Pkt,
        bytes: Distribution,
        clock: Clock,
    },
    Trace {
        id: u32,
        trace: Trace,
        /// The number of the next packet.
        next: usize,
        start: Time,
    },
}

impl OpenFlow {
    pub fn udp(id: u32, udp: &UdpSpec, spec: &FlowSpec, rng: Rng, bounds: &[Time]) -> Self {
        // The number after this one is 0.
        let mut last = Pkt::new(Kind::Datagram, id, 0, u32::MAX, 0);
        last.set_ecn(if udp.ecn { Ecn::Ect0 } else { Ecn::NotEct });
        last.set_dscp(spec.dscp);
        let clock = Clock::new(&udp.pace, rng);
        OpenFlow::new(Source::Udp { last, bytes: udp.packet, clock }, spec.start, spec, bounds)
    }

    pub fn trace(id: u32, trace: &Trace, spec: &FlowSpec, bounds: &[Time]) -> Self {
        let due = arrival(trace, 0, spec.start, spec.stop.unwrap_or(Time::MAX));
        let source = Source::Trace { id, trace: trace.clone(), next: 0, start: spec.start };
        OpenFlow::new(source, due, spec, bounds)
    }

    fn new(source: Source, due: Time, spec: &FlowSpec, bounds: &[Time]) -> Self {
        let stop = spec.stop.unwrap_or(Time::MAX);
        OpenFlow { source, due, stop, sent: Meter::new(bounds), received: Meter::new(bounds) }
    }

    pub fn advance(&mut self, now: Time, host: &mut impl Host) {
        while self.due <= now && self.due != Time::MAX {
            let at = self.due;
            self.due = if at >= self.stop { Time::MAX } else { self.step(at, host) };
        }
    }

    /// Sends what is due at `at` and says when the next packet is.
    fn step(&mut self, at: Time, host: &mut impl Host) -> Time {
        let (pkt, next) = match &mut self.source {
            Source::Udp { last, bytes, clock } => {
                let rate = match clock.rate(at) {
                    Ok(rate) => rate,
                    Err(later) => return later,
                };
                let size = clock.bytes(bytes);
                *last = last.with(last.flow(), 0, last.seq().wrapping_add(1)).sized(size);
                (*last, clock.after(at, rate, (f64::from(size), bytes.mean())))
            }
            Source::Trace { id, trace, next, start } => {
                let pkt = Pkt::recorded(*id, &trace.arrivals()[*next]);
                *next += 1;
                (pkt, arrival(trace, *next, *start, self.stop))
            }
        };
        self.sent.at(at, host).sent_packets += 1;
        host.send(at, pkt, Direction::Forward);
        next
    }
}

/// The time at which packet `number` of a trace goes; never if none does before `stop`.
fn arrival(trace: &Trace, number: usize, start: Time, stop: Time) -> Time {
    let arrival = trace.arrivals().get(number);
    let at = arrival.map_or(Time::MAX, |arrival| start + (arrival.time - Time::ZERO));
    if at >= stop { Time::MAX } else { at }
}
