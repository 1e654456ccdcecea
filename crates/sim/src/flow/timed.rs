//! A flow whose packets of data are timed from end to end: they carry the time of their sending beside themselves.

use super::*;
use crate::outcome::TimedSegment;
use crate::record::PacketDelays;

pub(crate) struct Timed {
    flow: Flow,
    /// The flow does not say by itself when its packets were sent.
    stamps: bool,
    /// The beginning of the transfer whose data came last, by connection.
    last: Vec<Time>,
    counts: Meter<Counts>,
}

#[derive(Clone, Default)]
struct Counts {
    delays: PacketDelays,
    begun: u64,
    start_up_ns: u64,
}

/// Whoever runs the flow, and packets that leave it get their time.
struct Stamping<'a> {
    host: &'a mut dyn Host,
    stamps: bool,
}

impl Host for Stamping<'_> {
    fn send(&mut self, now: Time, mut pkt: Pkt, direction: Direction) {
        if self.stamps && matches!(direction, Direction::Forward) && !pkt.is_syn() {
            pkt.set_sack(self.host.sacks().put(Entry::Sent(now)));
        }
        self.host.send(now, pkt, direction);
    }
    fn sacks(&mut self) -> &mut SackTable {
        self.host.sacks()
    }
    fn finished(&mut self, transfer: Transfer) {
        self.host.finished(transfer);
    }
    fn measured(&mut self, flow: u32, segment: usize, rtt: Duration) {
        self.host.measured(flow, segment, rtt);
    }
    fn bounds(&self) -> &[Time] {
        self.host.bounds()
    }
}

impl Timed {
    pub fn new(flow: Flow, bounds: &[Time]) -> Self {
        let stamps = match &flow {
            Flow::Tcp(cfg, _) | Flow::Dialog(cfg, _) | Flow::Pages(cfg, _) | Flow::Watched(cfg, _) => {
                !cfg.tcp.measures_delay()
            }
            _ => true,
        };
        let connections = if let Flow::Pages(_, browser) = &flow { browser.connections.len() } else { 1 };
        Timed { flow, stamps, last: vec![Time::MAX; connections], counts: Meter::new(bounds) }
    }

    pub fn due(&self) -> Time {
        self.flow.due()
    }

    pub fn advance(&mut self, now: Time, host: &mut dyn Host) {
        self.flow.advance(now, &mut Stamping { host, stamps: self.stamps });
    }

    /// See [`Flow::on_packet`].
    pub fn on_packet(&mut self, now: Time, mut pkt: Pkt, host: &mut dyn Host) -> Time {
        let stamps = self.stamps;
        let mut host = Stamping { host, stamps };
        if !pkt.is_ack() {
            if let Some(Entry::Sent(sent)) = host.sacks().look(pkt).copied() {
                self.counts.at(now, &host).delays.record(now - sent);
                if stamps {
                    host.sacks().take(pkt);
                    pkt.clear_sack();
                }
            }
            if let Some((connection, begun)) = self.flow.transfer_of(pkt)
                && std::mem::replace(&mut self.last[connection], begun) != begun
            {
                let counts = self.counts.at(now, &host);
                counts.begun += 1;
                counts.start_up_ns += (now - begun).nanos();
            }
        }
        self.flow.on_packet(now, pkt, &mut host)
    }

    /// Adds what was measured, as [`Flow::finish`].
    pub fn finish(self, class: u16, bounds: &[Time], outcomes: &mut Vec<FlowOutcome>) {
        let first = outcomes.len();
        self.flow.finish(class, bounds, outcomes);
        let segments = self.counts.finish(bounds).into_iter().map(|counts| TimedSegment {
            begun: counts.begun,
            start_up_ns: counts.start_up_ns,
            ..counts.delays.finish()
        });
        outcomes[first].timed = segments.collect();
    }
}
