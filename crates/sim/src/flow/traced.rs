//! The log of a flow that is traced: the state of its senders, and each packet that its ends send.
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
use super::tcp::Group;
use crate::outcome::Transfer;
use crate::packet::{Entry, Pkt, SackId, SackTable};
use crate::trace::log::FlowLog;
use crate::trace::{BLOCKS, FoundBy, PacketKind, SenderEvent, SenderWhat, TraceRequest, TracedPacket};

/// The log of a flow, or of all connections of a client.
pub(super) struct Log {
    /// The number of the first of them.
    pub first: u32,
    pub connections: Vec<Seen>,
    /// Packets are recorded, of which way each.
    pub packets: [Vec<(SackId, TracedPacket)>; 2],
    pub records: bool,
    /// The places of the packets that are on their way, by their names.
    pub names: HashMap<SackId, (usize, usize)>,
    /// The packet under way answers a SYN.
    pub answers_syn: bool,
    /// What happens is recorded one by one.
    pub events: bool,
    pub found_by: FoundBy,
}

/// A connection as it was seen.
#[derive(Default)]
pub(super) struct Seen {
    /// Its sender is recorded.
    pub senders: bool,
    pub log: FlowLog,
    // At the sender's end.
    pub epoch: u8,
    /// One past the highest number sent; 0 before the SYN.
    pub highest: u32,
    pub sent: u64,
    pub again: u64,
    /// Packets that connections before the present one have delivered, and those of this one.
    pub delivered: (u64, u32),
    pub rtt: Option<Duration>,
    pub echo: Option<Time>,
    /// The time of the next sample, where they are equally spaced.
    pub next: Time,
    /// The events of which it is known who found the losses among them.
    pub judged: usize,
    // At the receiver's end.
    pub acknowledged: u32,
    pub recent: Option<Time>,
}

impl Log {
    /// An empty log of so many connections from a number on, of which the first `tcp` are TCP's; of a group, if any are.
    pub fn new(
        (first, connections, tcp): (u32, u32, u32),
        request: &TraceRequest,
        (cfg, records): (Option<&Arc<Group>>, bool),
    ) -> Self {
        let numbers = || first..first + connections;
        let seen = |number| {
            let cfg = cfg.filter(|_| number - first < tcp);
            Seen {
                senders: cfg.is_some() && request.senders.has(&number),
                log: FlowLog { flow: number, packets: request.packets.has(&number), ..FlowLog::new(cfg) },
                ..Seen::default()
            }
        };
        Log {
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
        }
    }

    /// Lets free entries rest, if packets get names.
    pub fn rest(&self, host: &mut dyn Host) {
        if self.records {
            host.sacks().rest();
        }
    }

    /// A packet arrives at its end; when it was sent, if that is recorded.
    pub fn arrives(&mut self, pkt: Pkt) -> Option<Time> {
        let (way, place) = self.names.remove(&pkt.sack()?)?;
        Some(self.packets[way][place].1.sent)
    }
}

impl Seen {
    pub fn all_delivered(&self) -> u64 {
        self.delivered.0 + u64::from(self.delivered.1)
    }

    /// A packet of data arrives, sent at a time: RFC 7323 section 4.3.
    pub fn on_data(&mut self, pkt: Pkt, sent: Option<Time>) {
        if self.log.tcp && (pkt.is_syn() || pkt.seq() <= self.acknowledged) {
            self.recent = sent.or(self.recent);
        }
    }

    /// A packet leaves the sender's end; true if it was sent before.
    pub fn leaves(&mut self, pkt: Pkt) -> bool {
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
pub(super) struct Recording<'a> {
    pub host: &'a mut dyn Host,
    pub log: &'a mut Log,
}

impl Host for Recording<'_> {
    fn send(&mut self, now: Time, mut pkt: Pkt, direction: Direction) {
        let Log { first, connections, answers_syn, events, found_by, records, .. } = &mut *self.log;
        let seen = &mut connections[(pkt.flow() - *first) as usize];
        let (mut again, mut echo) = (false, seen.recent);
        let kind = match direction {
            _ if !seen.log.tcp => {
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
            let packet = traced(now, pkt, (kind, direction), (again, echo), self.host.sacks());
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
    (kind, direction): (PacketKind, Direction),
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
    // What a datagram has in the places of a number and a connection is its sender's own affair.
    let datagram = kind == PacketKind::Datagram;
    if datagram {
        marks = None;
    }
    TracedPacket {
        sent,
        flow: pkt.flow(),
        queue_flow,
        class: 0,
        connection: if datagram { 0 } else { pkt.epoch() },
        kind,
        forward: matches!(direction, Direction::Forward),
        transport: Packet::transport(&pkt),
        syn: Packet::is_syn(&pkt),
        number: if datagram { 0 } else { pkt.seq() },
        bytes: pkt.bytes(),
        ecn: Packet::ecn(&pkt),
        dscp: pkt.dscp(),
        again,
        cwr: kind == PacketKind::Data && pkt.is_cwr(),
        ece: !datagram && pkt.is_ack() && pkt.is_ece(),
        marks,
        blocks,
        block_count: count,
        echo,
    }
}
