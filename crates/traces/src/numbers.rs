//! From packets that are counted to segments that count bytes.
//!
//! The simulator counts the packets of a connection, as ns-2 does; TCP's headers count bytes. Each packet of data
//! brings as many, so one follows from the other, and only two things need a memory: connections are counted modulo
//! 256, and requests have sizes of their own.

use std::collections::BTreeMap;

use quell_sim::trace::{PacketKind, TracedPacket};
use quell_units::Time;

use crate::about::Version;
use crate::flows::{Feedback, Flow, Flows, MORE_OF_V6, PLAIN};

/// The flags of a segment; names as in RFC 9293 and, for the first, RFC 9768.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub ae: bool,
    pub cwr: bool,
    pub ece: bool,
    pub ack: bool,
    pub psh: bool,
    pub syn: bool,
}

/// A packet of a flow as its headers say it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Numbered {
    /// It goes from the data's sender to its receiver.
    pub forward: bool,
    /// The number of its connection among those of its flow.
    pub connection: u64,
    /// None: a datagram.
    pub segment: Option<Segment>,
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Segment {
    pub seq: u32,
    pub ack: u32,
    pub flags: Flags,
    /// Bytes of data.
    pub payload: u16,
    /// Ranges of a selective acknowledgment; those that are not used are empty.
    pub selected: [(u32, u32); 4],
    /// The largest segment that a SYN announces.
    pub opens: Option<u16>,
    /// Selective acknowledgments are permitted.
    pub sack: bool,
    /// The time stamp and its echo, in milliseconds.
    pub stamps: Option<(u32, u32)>,
}

/// The numbers of all packets, which are to come in the order in which they were sent.
pub(crate) struct Numbers<'a> {
    flows: &'a Flows,
    version: Version,
    memories: BTreeMap<u32, Memory>,
}

/// The memory of a flow.
#[derive(Debug, Default)]
struct Memory {
    /// The newest connection.
    connection: u64,
    /// The newest request, and where it begins and ends among the bytes of its connection.
    request: Option<(u64, u32, u32)>,
}

/// The ACE field of an end that has seen no marks (RFC 9768 section 3.2.1).
const ACE_OF_NONE: u32 = 5;

impl<'a> Numbers<'a> {
    pub fn new(flows: &'a Flows, version: Version) -> Self {
        Numbers { flows, version, memories: BTreeMap::new() }
    }

    pub fn of(&mut self, packet: &TracedPacket) -> Numbered {
        let flow = self.flows.of.get(&packet.flow).copied().unwrap_or_default();
        if packet.kind == PacketKind::Datagram || !flow.tcp {
            return Numbered { forward: packet.forward, connection: 0, segment: None };
        }
        let memory = self.memories.entry(packet.flow).or_default();
        let stamps = flow.stamps.then(|| (stamp(packet.sent), packet.echo.map_or(0, stamp)));
        let plain = Segment { stamps, ..Segment::default() };
        let at =
            |number: u32| 1u32.wrapping_add(number.wrapping_sub(1).wrapping_mul(u32::from(flow.payload)));
        if packet.kind == PacketKind::Request {
            let options = if flow.stamps { 12 } else { 0 };
            let more = if self.version == Version::V6 { MORE_OF_V6 } else { 0 };
            let size = packet.bytes.saturating_sub(PLAIN + more + options);
            return memory.request(&flow, packet, size, plain);
        }
        let connection = unwrapped(memory.connection, packet.connection);
        memory.enter(connection);
        // The next byte of the other direction.
        let other = memory.request.map_or(0, |(_, _, end)| end).wrapping_add(1);
        let opens = Segment { opens: Some(flow.mss), sack: flow.sack, ..plain };
        // Where the receiver asks, its request came before the SYN, and was one itself.
        let answers = flow.asks;
        let segment = match packet.kind {
            PacketKind::Data => {
                let mut flags = Flags { ack: true, cwr: packet.cwr, ..Flags::default() };
                flags.count(flow.feedback, 0);
                Segment { seq: at(packet.number), ack: other, flags, payload: flow.payload, ..plain }
            }
            PacketKind::Syn if answers => {
                Segment { seq: 0, ack: other, flags: Flags::answer(flow.feedback), ..opens }
            }
            PacketKind::Syn => Segment { flags: Flags::open(flow.feedback), ..opens },
            PacketKind::SynAck if !answers => {
                Segment { seq: 0, ack: 1, flags: Flags::answer(flow.feedback), ..opens }
            }
            _ => {
                let mut flags = Flags { ack: true, ece: packet.ece, ..Flags::default() };
                flags.count(flow.feedback, packet.marks.unwrap_or(0));
                let mut selected = [(0, 0); 4];
                for (range, block) in selected.iter_mut().zip(packet.blocks()) {
                    *range = (at(block.0), at(block.1));
                }
                Segment { seq: other, ack: at(packet.number.max(1)), flags, selected, ..plain }
            }
        };
        Numbered { forward: packet.forward, connection, segment: Some(segment) }
    }
}

impl Memory {
    /// A request. The first one of a connection whose answer begins with a SYN opens it and brings its data at once (RFC
    /// 7413): that is what the simulator's request does.
    fn request(&mut self, flow: &Flow, packet: &TracedPacket, size: u16, plain: Segment) -> Numbered {
        let newest = self.request.map_or(0, |(number, ..)| number);
        let number = unwrapped(newest, packet.connection);
        let connection = if flow.fresh { number } else { 0 };
        self.enter(connection);
        let begin = match self.request {
            // It is sent again.
            Some((newest, begin, _)) if newest >= number => begin,
            before => {
                let begin = before.filter(|_| !flow.fresh).map_or(0, |(_, _, end)| end);
                self.request = Some((number, begin, begin.wrapping_add(size.into())));
                begin
            }
        };
        let segment = if begin == 0 && flow.handshake {
            let flags = Flags { psh: true, ..Flags::open(flow.feedback) };
            Segment { flags, payload: size, opens: Some(flow.mss), sack: flow.sack, ..plain }
        } else {
            let mut flags = Flags { ack: true, psh: true, ..Flags::default() };
            flags.count(flow.feedback, 0);
            Segment { seq: begin.wrapping_add(1), ack: 1, flags, payload: size, ..plain }
        };
        Numbered { forward: false, connection, segment: Some(segment) }
    }

    /// Forgets an older connection when a newer one is seen; a request of it was seen before.
    fn enter(&mut self, connection: u64) {
        self.connection = self.connection.max(connection);
    }
}

impl Flags {
    /// Asks for ECN in a SYN (RFC 3168 section 6.1.1, RFC 9768 section 3.1.1).
    fn open(feedback: Feedback) -> Flags {
        let asks = feedback != Feedback::None;
        Flags { syn: true, ae: feedback == Feedback::Counted, cwr: asks, ece: asks, ..Flags::default() }
    }

    /// Agrees to ECN in the answer to a SYN, which came without an ECN-capable codepoint (RFC 9768 table 2).
    fn answer(feedback: Feedback) -> Flags {
        let (cwr, ece) = (feedback == Feedback::Counted, feedback == Feedback::Classic);
        Flags { syn: true, ack: true, cwr, ece, ..Flags::default() }
    }

    /// The last three bits of a count in the ACE field (RFC 9768 section 3.2).
    fn count(&mut self, feedback: Feedback, marks: u32) {
        if feedback == Feedback::Counted {
            let field = ACE_OF_NONE.wrapping_add(marks);
            (self.ae, self.cwr, self.ece) = (field & 4 != 0, field & 2 != 0, field & 1 != 0);
        }
    }
}

/// A time stamp: milliseconds, from 1 at time zero, for an echo of 0 says nothing.
fn stamp(time: Time) -> u32 {
    (time.nanos() / 1_000_000) as u32 + 1
}

/// The number nearest to the newest one that is this modulo 256.
fn unwrapped(newest: u64, number: u8) -> u64 {
    let ahead = i64::from(number.wrapping_sub(newest as u8) as i8);
    newest.checked_add_signed(ahead).unwrap_or(u64::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_on() {
        let of = |pairs: [(u64, u8); 4]| pairs.map(|(newest, number)| unwrapped(newest, number));
        assert_eq!(of([(0, 0), (0, 1), (255, 0), (256, 255)]), [0, 1, 256, 255]);
        assert_eq!(of([(0, 255), (700, 188), (700, 189), (700, 180)]), [255, 700, 701, 692]);
    }

    #[test]
    fn the_ace_field_counts_modulo_eight() {
        let of = |marks| {
            let mut flags = Flags::default();
            flags.count(Feedback::Counted, marks);
            [flags.ae, flags.cwr, flags.ece].map(u8::from)
        };
        let fields = [of(0), of(1), of(2), of(3), of(8)];
        assert_eq!(fields, [[1, 0, 1], [1, 1, 0], [1, 1, 1], [0, 0, 0], [1, 0, 1]]);
    }
}
