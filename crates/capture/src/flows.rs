//! The connections of a capture: which are alive, and how long their handshakes take.
//!
//! AP-RED's table (`quell_aqm::part::flows`) counts one direction by identifiers that its host gives.
//! A capture has addresses instead, both directions of a connection, numbers by which an
//! acknowledgment is known for one, and wants more said of each flow, so its table is another.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::clock::{Delivered, Stream};
use super::echoes::{Echo, Marks, Spin, Stamps};
use super::packet::{End, Packet, Quic, Segment};
use super::report::Direction;

/// The port of HTTP/3.
const HTTPS: u16 = 443;
/// The IP packet from which a datagram of QUIC counts as data; acknowledgments are shorter.
const QUIC_DATA: u32 = 600;

/// Connections whose flows have been seen within the window.
#[derive(Debug)]
pub(super) struct Connections {
    window: u64,
    places: HashMap<(End, End, u8), usize>,
    slots: Vec<Connection>,
    free: Vec<usize>,
    /// The times at which living flows were seen last, or earlier: the next that may expire.
    expiry: BinaryHeap<Reverse<(u64, usize, usize)>>,
    /// Living flows by direction.
    pub alive: [Alive; 2],
    /// TCP and QUIC flows that sent data since the interval began, by direction.
    pub active: [u64; 2],
    interval: u64,
    /// SYNs that were sent once more, or answered once more, before the handshake was complete.
    pub repeated: u64,
    /// Connections whose beginning was seen.
    pub opened: u64,
    /// Connections of QUIC, and those of them whose spin bit spins.
    pub quic: (u64, u64),
}

/// Flows seen within the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Alive {
    /// All 5-tuples.
    pub flows: u64,
    /// TCP flows that have sent data.
    pub data: u64,
}

#[derive(Debug)]
struct Connection {
    key: (End, End, u8),
    /// The number of the latest SYN and the end that sent it.
    syn: Option<(u32, usize)>,
    /// The direction of what each end sends.
    directions: [Direction; 2],
    flows: [Flow; 2],
    handshake: Handshake,
    /// The largest payload that both ends accept, as far as they said.
    mss: Option<u16>,
    marks: Marks,
    stamps: Stamps,
    /// QUIC, by a long header or its port.
    quic: bool,
    spin: [Spin; 2],
}

/// The data that one end sends.
#[derive(Debug, Default)]
struct Flow {
    last_seen: u64,
    alive: bool,
    /// It has sent data since it became alive.
    data: bool,
    /// The interval in which it sent data last.
    active_in: u64,
    /// The sequence number behind the last byte of the stream that has come.
    next_seq: Option<u32>,
    stream: Stream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handshake {
    /// Nothing is awaited; also after a repeated SYN, for nobody knows which one is answered (Karn).
    Idle,
    /// A SYN at this time, with this number and payload, from this end.
    Opened { at: u64, seq: u32, payload: u32, from: usize },
    /// And the other end's SYN, with this number, at that time.
    Answered { at: u64, seq: u32, payload: u32, from: usize, answer: u32, answered: u64 },
}

/// The duration of a handshake in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trip {
    pub whole: u64,
    /// The part from the answer to its acknowledgment: to the end that opened and back.
    pub opener: Option<u64>,
}

/// The news of a packet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub direction: Direction,
    /// The handshake that it completes took so long.
    pub round_trip: Option<Trip>,
    /// It brings data that end no later in the stream than some before.
    pub repeats: bool,
    /// Its news of the data that went the other way.
    pub delivered: Option<Delivered>,
    /// The largest payload of a packet of this flow, if both ends said what they accept; without this packet's options.
    pub limit: Option<u32>,
    /// The time of a whole round trip that it completes, and how long its data waited on the way here.
    pub trip: Option<(u64, u64)>,
    /// The same by the spin bit of QUIC.
    pub spun: Vec<u64>,
    /// Its news of marks on what went the other way.
    pub echo: Option<Echo>,
}

impl Connections {
    pub fn new(window: u64) -> Self {
        Connections {
            window,
            places: HashMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            expiry: BinaryHeap::new(),
            alive: Default::default(),
            active: [0; 2],
            interval: 1,
            repeated: 0,
            opened: 0,
            quic: (0, 0),
        }
    }

    /// Places for connections that have been taken.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.slots.len().max(self.places.len()).max(self.expiry.len() / 2)
    }

    /// Begins an interval, for what is active in it.
    pub fn begin_interval(&mut self) {
        self.interval += 1;
        self.active = [0; 2];
    }

    /// Forgets the flows that have been silent for more than the window.
    pub fn expire(&mut self, now: u64) {
        while let Some(&Reverse((seen, slot, end))) = self.expiry.peek() {
            if now.saturating_sub(seen) <= self.window {
                break;
            }
            self.expiry.pop();
            let connection = &mut self.slots[slot];
            let flow = &mut connection.flows[end];
            if now.saturating_sub(flow.last_seen) <= self.window {
                self.expiry.push(Reverse((flow.last_seen, slot, end)));
                continue;
            }
            let alive = &mut self.alive[connection.directions[end] as usize];
            alive.flows -= 1;
            alive.data -= u64::from(flow.data);
            (flow.alive, flow.data) = (false, false);
            if !connection.flows[1 - end].alive {
                self.places.remove(&connection.key);
                self.free.push(slot);
            }
        }
    }

    /// Takes in a packet of `length` bytes that came at `time`, when the capture's clock showed `now`.
    /// `side` says in which direction a packet from the first end to the second goes, if it knows.
    pub fn see(
        &mut self,
        time: u64,
        now: u64,
        length: u32,
        packet: &Packet,
        side: impl Fn(&End, &End) -> Option<Direction>,
    ) -> Seen {
        self.expire(now);
        // Both directions find the same place.
        let end = usize::from(packet.from > packet.to);
        let (low, high) = if end == 0 { (packet.from, packet.to) } else { (packet.to, packet.from) };
        let key = (low, high, packet.protocol);
        let slot = match self.places.get(&key) {
            Some(&slot) => slot,
            None => self.begin(key, packet, end, side),
        };
        let connection = &mut self.slots[slot];
        let direction = connection.directions[end];
        let flow = &mut connection.flows[end];
        flow.last_seen = flow.last_seen.max(now);
        let alive = &mut self.alive[direction as usize];
        if !flow.alive {
            flow.alive = true;
            alive.flows += 1;
            self.expiry.push(Reverse((flow.last_seen, slot, end)));
        }
        let nothing = Seen {
            direction,
            round_trip: None,
            repeats: false,
            delivered: None,
            limit: None,
            trip: None,
            spun: Vec::new(),
            echo: None,
        };
        let Some(tcp) = packet.tcp else {
            let spun = packet.quic.map_or(Vec::new(), |quic| self.quic(slot, end, time, quic, packet.length));
            return Seen { spun, ..nothing };
        };
        if tcp.payload > 0 && !tcp.has(Segment::SYN) {
            if !flow.data {
                flow.data = true;
                alive.data += 1;
            }
            if flow.active_in != self.interval {
                flow.active_in = self.interval;
                self.active[direction as usize] += 1;
            }
        }
        let round_trip = match tcp.has(Segment::SYN) {
            true => {
                self.syn(slot, end, time, &tcp);
                None
            }
            false => self.answer(slot, end, time, &tcp),
        };
        let Connection { flows, mss, marks, stamps, .. } = &mut self.slots[slot];
        if let Some(announced) = tcp.mss.filter(|mss| tcp.has(Segment::SYN) && *mss > 0) {
            let both = mss.map_or(announced, |mss| mss.min(announced));
            *mss = Some(both);
            flows.iter_mut().for_each(|flow| flow.stream.limit(both));
        }
        let repeats = flows[end].repeats(&tcp);
        flows[end].stream.sent(now, length, &tcp, repeats);
        let acknowledges = tcp.has(Segment::ACK) && !tcp.has(Segment::RST);
        let delivered = acknowledges.then(|| flows[1 - end].stream.acknowledged(now, &tcp)).flatten();
        let limit = mss.map(|mss| u32::from(mss).saturating_sub(tcp.options).max(1));
        let trip = stamps.see(end, now, &tcp);
        let echo = acknowledges.then(|| marks.see(end, &tcp)).flatten();
        Seen { round_trip, repeats, delivered, limit, trip, echo, ..nothing }
    }

    /// Takes in a datagram of QUIC: the round trips that its spin bit tells.
    fn quic(&mut self, slot: usize, end: usize, time: u64, quic: Quic, length: u32) -> Vec<u64> {
        let connection = &mut self.slots[slot];
        if !connection.quic {
            connection.quic =
                quic == Quic::Long || connection.key.0.1 == HTTPS || connection.key.1.1 == HTTPS;
            self.quic.0 += u64::from(connection.quic);
        }
        let Quic::Short { spin } = quic else { return Vec::new() };
        if !connection.quic {
            return Vec::new();
        }
        let flow = &mut connection.flows[end];
        if length >= QUIC_DATA && flow.active_in != self.interval {
            flow.active_in = self.interval;
            self.active[connection.directions[end] as usize] += 1;
        }
        let before = connection.spin.iter().any(Spin::spins);
        let spun = connection.spin[end].see(time, spin);
        self.quic.1 += u64::from(!before && connection.spin[end].spins());
        spun
    }

    fn begin(
        &mut self,
        key: (End, End, u8),
        packet: &Packet,
        end: usize,
        side: impl Fn(&End, &End) -> Option<Direction>,
    ) -> usize {
        let opener = match packet.tcp {
            Some(tcp) if tcp.has(Segment::SYN) => {
                if tcp.has(Segment::ACK) {
                    1 - end
                } else {
                    end
                }
            }
            // A server has the lower port; who has the same spoke first.
            _ if packet.from.1 != packet.to.1 => {
                if packet.from.1 > packet.to.1 {
                    end
                } else {
                    1 - end
                }
            }
            _ => end,
        };
        let up = match side(&key.0, &key.1) {
            Some(Direction::Up) => 0,
            Some(Direction::Down) => 1,
            None => opener,
        };
        let mut directions = [Direction::Down; 2];
        directions[up] = Direction::Up;
        let connection = Connection {
            key,
            directions,
            syn: None,
            flows: Default::default(),
            handshake: Handshake::Idle,
            mss: None,
            marks: Marks::default(),
            stamps: Stamps::default(),
            quic: false,
            spin: Default::default(),
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot] = connection;
                slot
            }
            None => {
                self.slots.push(connection);
                self.slots.len() - 1
            }
        };
        self.places.insert(key, slot);
        slot
    }

    fn syn(&mut self, slot: usize, end: usize, time: u64, tcp: &Segment) {
        let connection = &mut self.slots[slot];
        if !tcp.has(Segment::ACK) {
            if connection.syn == Some((tcp.seq, end)) {
                self.repeated += u64::from(connection.handshake != Handshake::Idle);
                connection.handshake = Handshake::Idle;
                return;
            }
            self.opened += 1;
            connection.syn = Some((tcp.seq, end));
            for flow in &mut connection.flows {
                (flow.next_seq, flow.stream) = (None, Stream::default());
            }
            (connection.mss, connection.marks, connection.stamps) =
                (None, Marks::default(), Stamps::default());
            connection.marks.opens(end, tcp);
            connection.handshake =
                Handshake::Opened { at: time, seq: tcp.seq, payload: tcp.payload, from: end };
            return;
        }
        match connection.handshake {
            // Bytes that came with the SYN may be acknowledged or not (TCP Fast Open).
            Handshake::Opened { at, seq, payload, from }
                if from != end && tcp.ack.wrapping_sub(seq.wrapping_add(1)) <= payload =>
            {
                let (answer, answered) = (tcp.seq, time);
                connection.handshake = Handshake::Answered { at, seq, payload, from, answer, answered };
            }
            Handshake::Answered { from, answer, .. } if from != end && answer == tcp.seq => {
                self.repeated += 1;
                connection.handshake = Handshake::Idle;
            }
            // The SYN itself was not captured: a beginning, but nothing to time.
            Handshake::Idle if connection.syn.is_none() => {
                self.opened += 1;
                connection.syn = Some((tcp.ack.wrapping_sub(1), 1 - end));
            }
            _ => {}
        }
    }

    /// The round-trip time, if a segment without SYN completes a handshake.
    fn answer(&mut self, slot: usize, end: usize, time: u64, tcp: &Segment) -> Option<Trip> {
        let connection = &mut self.slots[slot];
        if tcp.has(Segment::RST) {
            connection.handshake = Handshake::Idle;
            return None;
        }
        let (at, seq, payload, from, answer) = match connection.handshake {
            Handshake::Opened { at, seq, payload, from } => (at, seq, payload, from, None),
            Handshake::Answered { at, seq, payload, from, answer, answered } => {
                (at, seq, payload, from, Some((answer, answered)))
            }
            Handshake::Idle => return None,
        };
        if from != end || !tcp.has(Segment::ACK) {
            return None;
        }
        connection.handshake = Handshake::Idle;
        let begins = tcp.seq.wrapping_sub(seq.wrapping_add(1)) <= payload;
        let acknowledges =
            answer.is_none_or(|(answer, _)| (tcp.ack.wrapping_sub(answer.wrapping_add(1)) as i32) >= 0);
        // A clock that went backwards gives no length of time.
        let opener = answer.and_then(|(_, answered)| time.checked_sub(answered));
        let whole = time.checked_sub(at)?;
        (begins && acknowledges).then_some(Trip { whole, opener })
    }
}

impl Flow {
    /// Tells whether a segment brings data, but none behind the last byte that came before.
    fn repeats(&mut self, tcp: &Segment) -> bool {
        let signs = u32::from(tcp.has(Segment::SYN)) + u32::from(tcp.has(Segment::FIN));
        let more = tcp.payload.saturating_add(signs);
        if more == 0 {
            return false;
        }
        let end = tcp.seq.wrapping_add(more);
        match self.next_seq {
            Some(next) if (end.wrapping_sub(next) as i32) <= 0 => tcp.payload > 0,
            _ => {
                self.next_seq = Some(end);
                false
            }
        }
    }
}
