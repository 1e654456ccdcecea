//! What the parts of a run record for a trace, and how that becomes one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use quell_aqm::Ecn;
use quell_queue::{Admission, DropPoint, Packet};
use quell_units::{Duration, Time};

use super::{
    Chosen, LinkTrace, PacketEvent, PacketWhat, SenderEvent, SenderSample, Trace, TracedFlow, TracedPacket,
};
use crate::flow::Group;
use crate::network::LinkId;
use crate::observe::{Departure, EarlyEnd};
use crate::outcome::LinkOutcome;
use crate::packet::{Pkt, SackId};
use crate::tap::Tap;

/// The place where flows and links put their logs when they are done.
#[derive(Default)]
pub(crate) struct Tracer {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    flows: Vec<FlowLog>,
    packets: Vec<Named>,
    links: Vec<LinkLog>,
}

/// A packet and the name that it had on its way.
type Named = (SackId, TracedPacket);

/// A flow's log.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowLog {
    pub flow: u32,
    /// Its packets are recorded.
    pub packets: bool,
    pub tcp: bool,
    pub payload: u32,
    pub wire: u32,
    pub ecn: bool,
    pub counts_marks: bool,
    pub sack: bool,
    pub samples: Vec<SenderSample>,
    pub events: Vec<SenderEvent>,
}

impl FlowLog {
    /// That of a flow of the group; of one that is not TCP without.
    pub fn new(cfg: Option<&Arc<Group>>) -> Self {
        let Some(cfg) = cfg else { return FlowLog::default() };
        use quell_tcp::Recovery::{Prr, Rack, Sack};
        FlowLog {
            tcp: true,
            payload: cfg.payload as u32,
            wire: cfg.tcp.wire_bytes().get() as u32,
            ecn: cfg.tcp.ecn(false).is_capable(),
            counts_marks: cfg.tcp.counts_marks(),
            sack: matches!(cfg.tcp.recovery(), Sack | Prr | Rack),
            ..FlowLog::default()
        }
    }
}

impl Tracer {
    /// Keeps the logs of the connections of a flow, and what its sender's end and its receiver's sent.
    pub fn keep_flows(&self, flows: Vec<FlowLog>, packets: [Vec<Named>; 2]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.flows.extend(flows);
        kept.packets.extend(packets.into_iter().flatten());
    }

    /// The trace, once all links and flows are done. `classes` are those of each flow's data and acknowledgments.
    pub fn finish(&self, classes: &[[u16; 2]]) -> Trace {
        let Kept { flows, mut packets, mut links } =
            std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        for (_, packet) in &mut packets {
            packet.class = classes[packet.flow as usize][usize::from(!packet.forward)];
        }
        // Packets of one end at one time stay as they were sent.
        packets.sort_by_key(|(_, p)| (p.sent, p.flow, !p.forward));
        links.sort_by_key(|log| log.link);
        let numbers = number(&packets, &links);
        let mut places = vec![u32::MAX; packets.len()];
        let used = {
            let mut used = vec![false; packets.len()];
            numbers.iter().flatten().for_each(|place| used[*place as usize] = true);
            used
        };
        let mut kept = Vec::new();
        for ((place, used), (_, packet)) in places.iter_mut().zip(used).zip(packets) {
            if used {
                *place = kept.len() as u32;
                kept.push(packet);
            }
        }
        let links = links.into_iter().zip(numbers).map(|(log, numbers)| log.finish(&numbers, &places));
        Trace {
            links: links.collect(),
            packets: kept,
            flows: flows.into_iter().map(|log| log.finish(classes)).collect(),
        }
    }
}

/// The place of each link's packets among all: the one of that name that was sent last before it came to the link.
fn number(packets: &[Named], links: &[LinkLog]) -> Vec<Vec<u32>> {
    let mut named: HashMap<(u32, bool, SackId), Vec<u32>> = HashMap::new();
    for (place, (name, packet)) in (0..).zip(packets) {
        named.entry((packet.flow, packet.forward, *name)).or_default().push(place);
    }
    let find = |seen: &SeenPacket| {
        let places = &named[&(seen.flow, seen.forward, seen.name)];
        let before = places.partition_point(|place| packets[*place as usize].1.sent <= seen.arrived);
        places[before - 1]
    };
    links.iter().map(|log| log.packets.iter().map(find).collect()).collect()
}

impl FlowLog {
    fn finish(self, classes: &[[u16; 2]]) -> TracedFlow {
        let FlowLog { flow, tcp, payload, wire, ecn, counts_marks, sack, samples, events, .. } = self;
        let class = classes[flow as usize][0];
        TracedFlow { flow, class, tcp, payload, wire, ecn, counts_marks, sack, samples, events }
    }
}

/// The log of a link.
struct LinkLog {
    link: LinkId,
    name: String,
    /// The packets that came, in their order.
    packets: Vec<SeenPacket>,
    /// Events; the packets are places in `packets`.
    events: Vec<PacketEvent>,
}

/// A packet as it came to a link.
#[derive(Clone, Copy)]
struct SeenPacket {
    flow: u32,
    forward: bool,
    name: SackId,
    arrived: Time,
    ecn: Ecn,
    bytes: u16,
    /// It is marked by this link.
    marked: bool,
}

impl LinkLog {
    /// The trace, whose packets are `places` of all those that `numbers` name.
    fn finish(self, numbers: &[u32], places: &[u32]) -> LinkTrace {
        let LinkLog { link, name, mut events, .. } = self;
        for event in &mut events {
            event.packet = places[numbers[event.packet as usize] as usize];
        }
        LinkTrace { link, name, events }
    }
}

/// Logs the packets at a link.
pub(crate) struct LinkTap {
    tracer: Arc<Tracer>,
    flows: Chosen<u32>,
    log: LinkLog,
    /// What waits: packets and bytes of all flows.
    queue: (u32, u64),
    /// The packets that wait and are logged, by the link's numbers: their places in the log.
    waiting: HashMap<u32, u32>,
    /// The number of the next packet to arrive.
    number: u32,
}

impl LinkTap {
    pub fn new(link: LinkId, flows: &Chosen<u32>, tracer: &Arc<Tracer>) -> Self {
        LinkTap {
            tracer: Arc::clone(tracer),
            flows: flows.clone(),
            log: LinkLog { link, name: String::new(), packets: Vec::new(), events: Vec::new() },
            queue: (0, 0),
            waiting: HashMap::new(),
            number: 0,
        }
    }

    /// Adds an event of the packet at `place`.
    fn add(&mut self, time: Time, place: u32, what: PacketWhat) {
        let SeenPacket { arrived, ecn, marked, .. } = self.log.packets[place as usize];
        let after = if marked { Ecn::Ce } else { ecn };
        let (queue_packets, queue_bytes) = self.queue;
        let waited = if time > arrived { time - arrived } else { Duration::ZERO };
        let ecn = (ecn, after);
        self.log.events.push(PacketEvent {
            time,
            packet: place,
            what,
            ecn,
            waited,
            queue_packets,
            queue_bytes,
        });
    }

    /// Takes a packet out of the queue; its place in the log, if it has one.
    fn leaves(&mut self, number: u32, bytes: u16) -> Option<u32> {
        self.queue.0 -= 1;
        self.queue.1 -= u64::from(bytes);
        self.waiting.remove(&number)
    }
}

impl Tap for LinkTap {
    fn arrived(&mut self, now: Time, pkt: Pkt, admission: Admission) {
        let number = self.number;
        self.number = self.number.wrapping_add(1);
        if self.flows.has(&pkt.flow())
            && let Some(name) = pkt.sack()
        {
            let place = self.log.packets.len() as u32;
            self.log.packets.push(SeenPacket {
                flow: pkt.flow(),
                forward: !pkt.is_ack(),
                name,
                arrived: now,
                ecn: Packet::ecn(&pkt),
                bytes: pkt.bytes(),
                marked: false,
            });
            match admission {
                Admission::Dropped(cause) => {
                    self.add(now, place, PacketWhat::Dropped { cause, place: DropPoint::Arrival });
                }
                Admission::Queued => self.add(now, place, PacketWhat::Enqueued),
                Admission::Marked => {
                    self.add(now, place, PacketWhat::Enqueued);
                    self.log.packets[place as usize].marked = true;
                    self.add(now, place, PacketWhat::Marked { at_head: false });
                }
            }
            if !matches!(admission, Admission::Dropped(_)) {
                self.waiting.insert(number, place);
            }
        }
        if !matches!(admission, Admission::Dropped(_)) {
            self.queue.0 += 1;
            self.queue.1 += u64::from(pkt.bytes());
        }
    }

    fn dropped(&mut self, now: Time, number: u32, packet: EarlyEnd) {
        if let Some(place) = self.leaves(number, packet.pkt.bytes()) {
            self.add(now, place, PacketWhat::Dropped { cause: packet.cause, place: packet.place });
        }
    }

    fn sent(&mut self, now: Time, number: u32, packet: Departure) {
        let Some(place) = self.leaves(number, packet.bytes) else { return };
        let seen = &mut self.log.packets[place as usize];
        debug_assert_eq!(seen.bytes, packet.bytes);
        if packet.marked && !seen.marked {
            seen.marked = true;
            self.add(now, place, PacketWhat::Marked { at_head: true });
        }
        self.add(now, place, PacketWhat::Dequeued { lost: packet.lost });
    }

    fn finish(self: Box<Self>, outcome: &mut LinkOutcome) {
        let LinkTap { tracer, log, .. } = *self;
        let log = LinkLog { name: outcome.name.clone(), ..log };
        tracer.kept.lock().unwrap_or_else(PoisonError::into_inner).links.push(log);
    }
}
