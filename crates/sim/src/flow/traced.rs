//! A flow that is traced: the state of its senders, and each packet that its ends send.
//!
//! Each end has a clock of its own, and each has its own log: what both engines do at one end is the same, and in the
//! same order.

use std::collections::HashMap;
use std::sync::Arc;

use quell_aqm::FlowId;
use quell_queue::Packet;
use quell_tcp::Recovery;
use quell_units::{Duration, Time};

use super::host::{Direction, Host};
use super::{Flow, Group};
use crate::outcome::Transfer;
use crate::packet::{Entry, Pkt, SackId, SackTable};
use crate::trace::log::{FlowLog, Tracer};
use crate::trace::{
    BLOCKS, FoundBy, PacketKind, Phase, SenderEvent, SenderSample, SenderWhat, TraceRequest, TracedPacket,
};

/// The flow and its log.
pub(crate) struct Traced {
    flow: Flow,
    log: Log,
    /// The time between samples; `None` for one after each change.
    step: Option<Duration>,
    end: Time,
    tracer: Arc<Tracer>,
}

/// The log of a flow, or of all connections of a client.
struct Log {
    /// The number of the first of them.
    first: u32,
    connections: Vec<Seen>,
    /// Packets are recorded, of which way each.
    packets: [Vec<(SackId, TracedPacket)>; 2],
    records: bool,
    /// The places of the packets that are on their way, by their names.
    names: HashMap<SackId, (usize, usize)>,
    /// The packet under way answers a SYN.
    answers_syn: bool,
    /// What happens is recorded one by one.
    events: bool,
    found_by: FoundBy,
}

/// A connection as it was seen.
#[derive(Default)]
struct Seen {
    /// Its sender is recorded.
    senders: bool,
    log: FlowLog,
    // At the sender's end.
    epoch: u8,
    /// One past the highest number sent; 0 before the SYN.
    highest: u32,
    sent: u64,
    again: u64,
    /// Packets that connections before the present one have delivered, and those of this one.
    delivered: (u64, u32),
    rtt: Option<Duration>,
    echo: Option<Time>,
    /// The time of the next sample, where they are equally spaced.
    next: Time,
    /// The events of which it is known who found the losses among them.
    judged: usize,
    // At the receiver's end.
    acknowledged: u32,
    recent: Option<Time>,
}

impl Traced {
    /// The trace of `flow`, whose first connection has the number `first`, if anything of it is asked for.
    pub fn new(
        flow: Flow,
        (first, connections): (u32, u32),
        request: &TraceRequest,
        cfg: Option<&Arc<Group>>,
        end: Time,
        tracer: &Arc<Tracer>,
    ) -> Flow {
        let numbers = || first..first + connections;
        let senders = cfg.is_some() && numbers().any(|n| request.senders.has(&n));
        let records = !request.links.is_none() && numbers().any(|n| request.packets.has(&n));
        if !senders && !records {
            return flow;
        }
        let seen = |number| Seen {
            senders: cfg.is_some() && request.senders.has(&number),
            log: FlowLog { flow: number, packets: request.packets.has(&number), ..FlowLog::new(cfg) },
            ..Seen::default()
        };
        let log = Log {
            first,
            connections: numbers().map(seen).collect(),
            packets: Default::default(),
            records,
            names: HashMap::new(),
            answers_syn: false,
            events: request.events,
            found_by: match cfg.map(|cfg| cfg.tcp.recovery()) {
                Some(Recovery::Sack | Recovery::Prr) => FoundBy::Sack,
                Some(Recovery::Rack) => FoundBy::Rack,
                _ => FoundBy::DuplicateAcks,
            },
        };
        Flow::Traced(Box::new(Traced { flow, log, step: request.step, end, tracer: Arc::clone(tracer) }))
    }

    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    pub fn due(&self) -> Time {
        self.flow.due()
    }

    pub fn advance(&mut self, now: Time, host: &mut dyn Host) {
        self.log.rest(host);
        self.advance_sender(now, host);
        self.flow.advance(now, &mut Recording { host, log: &mut self.log });
    }

    /// See [`Flow::on_packet`].
    pub fn on_packet(&mut self, now: Time, mut pkt: Pkt, host: &mut dyn Host) -> Time {
        self.log.rest(host);
        let sent = self.log.arrives(pkt);
        host.sacks().unname(&mut pkt);
        let number = (pkt.flow() - self.log.first) as usize;
        if !pkt.is_ack() {
            // A timer that runs out now, or did before, knows nothing of the packet.
            self.flow.advance_receiver(now, &mut Recording { host, log: &mut self.log });
            self.log.connections[number].on_data(pkt, sent);
            self.log.answers_syn = pkt.is_syn();
            let due = self.flow.on_packet(now, pkt, &mut Recording { host, log: &mut self.log });
            self.log.answers_syn = false;
            return due;
        }
        self.advance_sender(now, host);
        self.before(now);
        let seen = &mut self.log.connections[number];
        seen.echo = sent.or(seen.echo);
        // What it sends comes after it.
        let place = seen.log.events.len();
        let of_this = pkt.seq() != 0 && pkt.epoch() == seen.epoch;
        let delivered = self.flow.delivered(number);
        let (ack, ece) = (pkt.seq(), pkt.is_ece());
        let due = self.flow.on_packet(now, pkt, &mut Recording { host, log: &mut self.log });
        let seen = &mut self.log.connections[number];
        if self.log.events && of_this && seen.senders {
            let newly = match pkt.epoch() == seen.epoch {
                true => self.flow.delivered(number).saturating_sub(delivered),
                false => ack.saturating_sub(1).saturating_sub(delivered),
            };
            let what = SenderWhat::Acked { ack, newly, ece };
            seen.log.events.insert(place, SenderEvent { time: now, connection: pkt.epoch(), what });
        }
        self.after(now);
        due
    }

    /// Does what is due at the sender's end, one time after the other.
    fn advance_sender(&mut self, now: Time, host: &mut dyn Host) {
        loop {
            let due = self.flow.sender_due();
            if due > now || due == Time::MAX {
                return;
            }
            self.before(due);
            self.flow.advance_sender(due, &mut Recording { host, log: &mut self.log });
            self.after(due);
        }
    }

    /// Takes the samples before `t`, until which nothing has changed at the sender.
    fn before(&mut self, t: Time) {
        let Some(step) = self.step else { return };
        for i in 0..self.log.connections.len() {
            while self.log.connections[i].next < t && self.log.connections[i].next <= self.end {
                let time = self.log.connections[i].next;
                self.sample(i, time);
                self.log.connections[i].next += step;
            }
        }
    }

    /// Something has happened at the sender at `now`.
    fn after(&mut self, now: Time) {
        if self.log.events {
            self.judge();
        }
        if self.step.is_some() {
            return;
        }
        for i in 0..self.log.connections.len() {
            self.sample(i, now);
        }
    }

    /// Losses that are repaired while the sender recovers from a timeout were found by the timer.
    fn judge(&mut self) {
        for (i, seen) in self.log.connections.iter_mut().enumerate() {
            let fresh = seen.judged.min(seen.log.events.len());
            seen.judged = seen.log.events.len();
            if fresh == seen.judged {
                continue;
            }
            let Some((cfg, tcp)) = self.flow.tcp(i) else { return };
            if tcp.sender.state(&cfg.tcp).phase == Phase::Loss {
                for event in &mut seen.log.events[fresh..] {
                    if let SenderWhat::Lost { by, .. } = &mut event.what {
                        *by = FoundBy::Timeout;
                    }
                }
            }
        }
    }

    /// Records the state of a connection, where it is not the one recorded last or samples are equally spaced.
    fn sample(&mut self, i: usize, time: Time) {
        let Some((cfg, tcp)) = self.flow.tcp(i) else { return };
        let seen = &mut self.log.connections[i];
        if !seen.senders {
            return;
        }
        let state = tcp.sender.state(&cfg.tcp);
        let counts = tcp.sent.total();
        let base = if tcp.epoch == seen.epoch { seen.delivered.0 } else { seen.all_delivered() };
        let sample = SenderSample {
            time,
            cwnd: state.cwnd,
            ssthresh: state.ssthresh,
            srtt: state.srtt,
            rtt: seen.rtt,
            rto: state.rto,
            pacing: state.pacing,
            in_flight: state.in_flight,
            delivery: state.delivery,
            phase: state.phase,
            sent: seen.sent,
            retransmitted: seen.again,
            delivered: base + u64::from(state.delivered),
            timeouts: counts.timeouts,
            fast_retransmits: counts.fast_retransmits,
            ecn_responses: counts.ecn_responses,
        };
        if tcp.epoch == seen.epoch {
            seen.delivered.1 = state.delivered;
        }
        match seen.log.samples.last_mut() {
            Some(last) if self.step.is_none() && SenderSample { time, ..*last } == sample => {}
            Some(last) if last.time == time => *last = sample,
            _ => seen.log.samples.push(sample),
        }
    }

    /// The flow, whose log goes to the tracer.
    pub fn finish(mut self) -> Flow {
        self.before(Time::MAX);
        let Traced { flow, log, tracer, .. } = self;
        let packets = log.packets.map(|way| way.into_iter().collect());
        tracer.keep_flows(log.connections.into_iter().map(|seen| seen.log).collect(), packets);
        flow
    }
}

impl Log {
    /// Lets free entries rest, if packets get names.
    fn rest(&self, host: &mut dyn Host) {
        if self.records {
            host.sacks().rest();
        }
    }

    /// A packet arrives at its end; when it was sent, if that is recorded.
    fn arrives(&mut self, pkt: Pkt) -> Option<Time> {
        let (way, place) = self.names.remove(&pkt.sack()?)?;
        Some(self.packets[way][place].1.sent)
    }
}

impl Seen {
    fn all_delivered(&self) -> u64 {
        self.delivered.0 + u64::from(self.delivered.1)
    }

    /// A packet of data arrives, sent at a time: RFC 7323 section 4.3.
    fn on_data(&mut self, pkt: Pkt, sent: Option<Time>) {
        if pkt.is_syn() || pkt.seq() <= self.acknowledged {
            self.recent = sent.or(self.recent);
        }
    }

    /// A packet leaves the sender's end; true if it was sent before.
    fn leaves(&mut self, pkt: Pkt) -> bool {
        if pkt.epoch() != self.epoch {
            self.delivered = (self.all_delivered(), 0);
            (self.epoch, self.highest) = (pkt.epoch(), 0);
        }
        let again = pkt.seq() < self.highest;
        self.highest = self.highest.max(pkt.seq() + 1);
        if !pkt.is_syn() {
            self.sent += 1;
            self.again += u64::from(again);
        }
        again
    }
}

/// Whoever runs the flow, and a log of what leaves.
struct Recording<'a> {
    host: &'a mut dyn Host,
    log: &'a mut Log,
}

impl Host for Recording<'_> {
    fn send(&mut self, now: Time, mut pkt: Pkt, direction: Direction) {
        let Log { first, connections, answers_syn, events, found_by, records, .. } = &mut *self.log;
        let seen = &mut connections[(pkt.flow() - *first) as usize];
        let (mut again, mut echo) = (false, seen.recent);
        let kind = match direction {
            Direction::Forward if !seen.log.tcp => {
                echo = None;
                PacketKind::Datagram
            }
            Direction::Forward => {
                again = seen.leaves(pkt);
                echo = seen.echo;
                if pkt.is_syn() { PacketKind::Syn } else { PacketKind::Data }
            }
            Direction::Back if pkt.seq() == 0 => PacketKind::Request,
            Direction::Back => {
                seen.acknowledged = pkt.seq();
                if *answers_syn { PacketKind::SynAck } else { PacketKind::Ack }
            }
        };
        if *events && seen.senders && matches!(direction, Direction::Forward) {
            let connection = pkt.epoch();
            if again {
                let what = SenderWhat::Lost { seq: pkt.seq(), by: *found_by };
                seen.log.events.push(SenderEvent { time: now, connection, what });
            }
            let what = SenderWhat::Sent { seq: pkt.seq(), bytes: pkt.bytes(), again };
            seen.log.events.push(SenderEvent { time: now, connection, what });
        }
        if *records && seen.log.packets {
            let packet = traced(now, pkt, kind, (again, echo), self.host.sacks());
            self.log.rest(self.host);
            let name = self.host.sacks().name(&mut pkt);
            let way = direction as usize;
            self.log.names.insert(name, (way, self.log.packets[way].len()));
            self.log.packets[way].push((name, packet));
        }
        self.host.send(now, pkt, direction);
    }
    fn leaves(&self, pkt: Pkt) -> Time {
        self.host.leaves(pkt)
    }
    fn sacks(&mut self) -> &mut SackTable {
        self.log.rest(self.host);
        self.host.sacks()
    }
    fn finished(&mut self, transfer: Transfer) {
        self.host.finished(transfer);
    }
    fn measured(&mut self, flow: u32, segment: usize, rtt: Duration) {
        self.log.connections[(flow - self.log.first) as usize].rtt = Some(rtt);
        self.host.measured(flow, segment, rtt);
    }
    fn bounds(&self) -> &[Time] {
        self.host.bounds()
    }
}

/// A packet as it is sent; its class is filled in later.
fn traced(
    sent: Time,
    pkt: Pkt,
    kind: PacketKind,
    (again, echo): (bool, Option<Time>),
    sacks: &SackTable,
) -> TracedPacket {
    let FlowId(queue_flow) = Packet::flow(&pkt);
    let (mut blocks, mut count, mut marks) = ([(0, 0); BLOCKS], 0, pkt.marks().filter(|_| pkt.is_ack()));
    if let Some(Entry::Report(report)) = sacks.look(pkt) {
        let duplicate = report.duplicate.map(|seq| (seq, seq + 1));
        let all = duplicate.iter().chain(report.blocks.as_slice());
        for (place, block) in blocks.iter_mut().zip(all) {
            *place = *block;
            count += 1;
        }
        marks = report.marks;
    }
    let recorded = kind == PacketKind::Datagram;
    TracedPacket {
        sent,
        flow: pkt.flow(),
        queue_flow,
        class: 0,
        connection: if recorded { 0 } else { pkt.epoch() },
        kind,
        transport: Packet::transport(&pkt),
        syn: Packet::is_syn(&pkt),
        number: if recorded { 0 } else { pkt.seq() },
        bytes: pkt.bytes(),
        ecn: Packet::ecn(&pkt),
        dscp: pkt.dscp(),
        again,
        cwr: kind == PacketKind::Data && pkt.is_cwr(),
        ece: pkt.is_ack() && pkt.is_ece(),
        marks,
        blocks,
        block_count: count,
        echo,
    }
}
