//! The transfers of a capture as their sender sees them: round trips, what was sent again, marks, what was delivered.

use std::collections::{HashMap, VecDeque};
use std::io::Read;

use crate::echoes::{Echo, Marks};
use crate::error::CaptureError;
use crate::file::Reader;
use crate::packet::{self, End, Packet, Segment};

/// A round trip of data that was sent once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// The time at which the data passed, in nanoseconds since the first packet.
    pub sent: u64,
    /// The time from then until an acknowledgment covered it, in nanoseconds.
    pub trip: u64,
    /// The payload of the frame, in bytes: a small one takes less time on a link.
    pub bytes: u64,
}

/// Data that were sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// The time at which they were sent for the first time, in nanoseconds since the first packet.
    pub first: u64,
    /// The time at which they were sent again.
    pub at: u64,
    /// The packets that they are on the path.
    pub packets: u64,
}

/// A TCP transfer: the data of the end of a connection that sent more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transfer {
    /// The addresses of the sender and of the receiver; those of one path are the same.
    pub path: ([u8; 16], [u8; 16]),
    /// The first and the last data, in nanoseconds since the first packet of the capture.
    pub span: (u64, u64),
    /// The handshake, if it was captured and no SYN was repeated: when it began, and the whole of it.
    pub handshake: Option<(u64, u64)>,
    /// The part of the handshake between the capture and the receiver.
    pub beyond: Option<u64>,
    /// Round trips, in the order of acknowledgments.
    pub trips: Vec<Trip>,
    /// What was sent again, in the order of time.
    pub again: Vec<Again>,
    /// The times and the bytes of payload that acknowledgments showed as delivered, cumulatively or selectively.
    pub delivered: Vec<(u64, u64)>,
    /// The times of acknowledgments that reported marks after one that did not.
    pub marks: Vec<u64>,
    /// The times of acknowledgments, and whether each reported marks.
    pub acknowledgments: Vec<(u64, bool)>,
    /// Packets of data on the path, those with an ECN-capable field, and their payload in bytes; of the whole capture.
    pub packets: (u64, u64, u64),
    /// Frames of data, and those of them that are several packets on the path: the host leaves segmentation to its
    /// card (TSO, GSO).
    pub frames: (u64, u64),
    /// The largest payload of a packet on the path, in bytes.
    pub payload: u32,
    /// The size of the IP headers and of TCP's, in bytes.
    pub headers: u32,
}

/// The transfers of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transfers {
    /// Those with data, in the order of their first packets.
    pub transfers: Vec<Transfer>,
    /// The time from the first packet to the last one, in nanoseconds.
    pub duration: u64,
    /// Packets in the file, and TCP segments among them.
    pub packets: (u64, u64),
    /// The file ended within a packet or is damaged.
    pub cut: bool,
}

impl Transfer {
    /// What passed from one time until before another, in nanoseconds since the first packet; its times count from the
    /// first of them. Totals of packets and frames stay those of the whole capture. `None` if it has no data there.
    pub fn between(&self, from: u64, until: u64) -> Option<Transfer> {
        let is_in = |at: u64| (from..until).contains(&at);
        if self.span.0 >= until || self.span.1 < from {
            return None;
        }
        let at = |at: u64| at - from;
        let trip = |trip: &Trip| Trip { sent: at(trip.sent), ..*trip };
        let again = |again: &Again| Again {
            // What was lost before may be sent again within.
            first: again.first.saturating_sub(from),
            at: at(again.at),
            ..*again
        };
        Some(Transfer {
            span: (at(self.span.0.max(from)), at(self.span.1.min(until))),
            handshake: self.handshake.filter(|(began, _)| is_in(*began)).map(|(began, all)| (at(began), all)),
            trips: self.trips.iter().filter(|trip| is_in(trip.sent)).map(trip).collect(),
            again: self.again.iter().filter(|again| is_in(again.at)).map(again).collect(),
            delivered: self.delivered.iter().filter(|(t, _)| is_in(*t)).map(|(t, b)| (at(*t), *b)).collect(),
            marks: self.marks.iter().filter(|t| is_in(**t)).map(|t| at(*t)).collect(),
            acknowledgments: self
                .acknowledgments
                .iter()
                .filter(|(t, _)| is_in(*t))
                .map(|(t, m)| (at(*t), *m))
                .collect(),
            path: self.path,
            beyond: self.beyond.filter(|_| self.handshake.is_some_and(|(began, _)| is_in(began))),
            packets: self.packets,
            frames: self.frames,
            payload: self.payload,
            headers: self.headers,
        })
    }
}

/// Reads the TCP transfers of a capture. Of a pcapng file only the interfaces that are named count; none: all.
///
/// A round trip is that of the newest data that an acknowledgment covers, by its number or by a selected range (RFC
/// 2018). Data that were sent again give none, because it is unknown which packet was answered (Karn). Where a sender
/// hands large segments to its card (TSO), the whole segment counts as covered with its last byte.
///
/// # Errors
/// Where the input is not a capture or cannot be read, or lacks an interface that was named.
pub fn transfers(input: impl Read, interfaces: &[String]) -> Result<Transfers, CaptureError> {
    let mut reader = Reader::new(quell_files::unpacked(input)?)?;
    let mut found = Transfers::default();
    let mut connections: HashMap<(End, End), Connection> = HashMap::new();
    let mut first = None;
    while let Some((record, data)) = reader.next()? {
        found.packets.0 += 1;
        let parsed = packet::parse(record.link, data, record.length);
        let name = reader.interfaces().get(record.interface as usize);
        if !interfaces.is_empty() && !name.is_some_and(|name| interfaces.contains(name)) {
            continue;
        }
        let (Some(time), Ok(packet)) = (record.time, parsed) else { continue };
        let now = time.saturating_sub(*first.get_or_insert(time));
        found.duration = found.duration.max(now);
        let Some(tcp) = packet.tcp else { continue };
        found.packets.1 += 1;
        let end = usize::from(packet.from > packet.to);
        let key = if end == 0 { (packet.from, packet.to) } else { (packet.to, packet.from) };
        let connection = connections.entry(key).or_insert_with(|| Connection::new(now));
        connection.see(end, now, &packet, &tcp);
    }
    if let Some(missing) = interfaces.iter().find(|name| !reader.interfaces().contains(name)) {
        return Err(CaptureError::NoInterface {
            wanted: missing.clone(),
            there: reader.interfaces().to_vec(),
        });
    }
    found.cut = reader.damage.is_some();
    let mut all: Vec<_> =
        connections.into_iter().map(|(key, connection)| (connection.begun, key, connection)).collect();
    all.sort_by_key(|(begun, key, _)| (*begun, *key));
    found.transfers = all.into_iter().filter_map(|(_, key, connection)| connection.transfer(key)).collect();
    Ok(found)
}

/// A connection of which both ends may send.
#[derive(Debug)]
struct Connection {
    begun: u64,
    /// The largest payload that both ends accept.
    limit: Option<u32>,
    syn: Option<(u64, usize)>,
    /// The time of the answer to the SYN.
    answered: Option<u64>,
    repeated: bool,
    /// The time from the SYN to its answer, and from there to its acknowledgment, with the end that sent the SYN.
    parts: Option<(u64, u64, usize)>,
    marks: Marks,
    ends: [Sender; 2],
}

/// Data of one end under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    start: u64,
    end: u64,
    sent: u64,
    again: bool,
    selected: bool,
}

/// One end as a sender.
#[derive(Debug, Default)]
struct Sender {
    /// The number from which its bytes are counted.
    origin: Option<u32>,
    /// The byte behind the last one that was sent.
    next: u64,
    under_way: VecDeque<UnderWay>,
    marked: bool,
    found: Transfer,
}

impl Connection {
    fn new(begun: u64) -> Self {
        Connection {
            begun,
            limit: None,
            syn: None,
            answered: None,
            repeated: false,
            parts: None,
            marks: Marks::default(),
            ends: Default::default(),
        }
    }

    fn see(&mut self, end: usize, now: u64, packet: &Packet, tcp: &Segment) {
        if let Some(mss) = tcp.mss.filter(|mss| tcp.has(Segment::SYN) && *mss > 0) {
            self.limit = Some(self.limit.map_or(mss.into(), |limit| limit.min(mss.into())));
        }
        let acknowledges = tcp.has(Segment::ACK) && !tcp.has(Segment::RST);
        match (tcp.has(Segment::SYN), tcp.has(Segment::ACK)) {
            (true, false) => {
                self.repeated |= self.syn.is_some();
                self.syn.get_or_insert((now, end));
                self.marks.opens(end, tcp);
            }
            (true, true) => {
                self.repeated |= self.answered.is_some();
                self.answered.get_or_insert(now);
            }
            (false, true) => {
                if let (Some((at, opener)), Some(answered), None) = (self.syn, self.answered, self.parts)
                    && opener == end
                {
                    self.parts = Some((answered.saturating_sub(at), now.saturating_sub(answered), opener));
                }
            }
            (false, false) => {}
        }
        if tcp.payload > 0 && !tcp.has(Segment::SYN) {
            let limit = self.limit.map(|limit| limit.saturating_sub(tcp.options).max(1));
            self.ends[end].send(now, packet, tcp, limit);
        }
        let echo = acknowledges.then(|| self.marks.see(end, tcp)).flatten();
        if acknowledges && !tcp.has(Segment::SYN) {
            self.ends[1 - end].acknowledged(now, tcp, echo);
        }
    }

    /// The transfer of the end that sent more.
    fn transfer(self, key: (End, End)) -> Option<Transfer> {
        let sender = usize::from(self.ends[1].found.packets.2 > self.ends[0].found.packets.2);
        let [low, high] = self.ends;
        let mut found = if sender == 0 { low.found } else { high.found };
        if found.packets.0 == 0 {
            return None;
        }
        let (low, high) = (key.0.0, key.1.0);
        found.path = if sender == 0 { (low, high) } else { (high, low) };
        if let (Some((at, _)), Some((there, back, opener)), false) = (self.syn, self.parts, self.repeated) {
            found.handshake = Some((at, there + back));
            found.beyond = Some(if opener == sender { there } else { back });
        }
        Some(found)
    }
}

impl Sender {
    fn send(&mut self, now: u64, packet: &Packet, tcp: &Segment, limit: Option<u32>) {
        let found = &mut self.found;
        if found.packets.0 == 0 {
            found.span.0 = now;
        }
        found.span.1 = now;
        let size = limit.map_or(tcp.payload, |limit| limit.min(tcp.payload));
        let packets = u64::from(tcp.payload.div_ceil(size.max(1)));
        found.packets.0 += packets;
        found.frames.0 += 1;
        found.frames.1 += u64::from(tcp.payload > limit.unwrap_or(JUMBO));
        found.packets.1 += if packet.ecn == 0 { 0 } else { packets };
        found.packets.2 += u64::from(tcp.payload);
        found.payload = found.payload.max(size);
        found.headers = packet.length.saturating_sub(tcp.payload);
        let start = self.place(tcp.seq);
        let end = start + u64::from(tcp.payload);
        if end > self.next {
            self.under_way.push_back(UnderWay {
                start: start.max(self.next),
                end,
                sent: now,
                again: start < self.next,
                selected: false,
            });
            self.next = end;
            return;
        }
        let mut first = None;
        let from = self.under_way.partition_point(|data| data.end <= start);
        for data in self.under_way.range_mut(from..).take_while(|data| data.start < end) {
            first = first.or((!data.again).then_some(data.sent));
            data.again = true;
        }
        // What was sent again before has lost the time of its first packet.
        let first = first.unwrap_or(now);
        self.found.again.push(Again { first, at: now, packets });
    }

    fn acknowledged(&mut self, now: u64, tcp: &Segment, echo: Option<Echo>) {
        if self.origin.is_none() {
            return;
        }
        let found = &mut self.found;
        let marked = echo.map(|echo| matches!(echo, Echo::Classic(true) | Echo::Accurate(1..)));
        found.acknowledgments.push((now, marked == Some(true)));
        if let Some(marked) = marked {
            if marked && !self.marked {
                found.marks.push(now);
            }
            self.marked = marked;
        }
        let (mut bytes, mut newest) = (0, None);
        let mut covered = |data: &UnderWay| {
            bytes += data.end - data.start;
            if !data.again {
                newest = newest.max(Some((data.sent, data.end - data.start)));
            }
        };
        let next = self.next;
        let origin = self.origin.unwrap_or_default();
        // A number far behind or ahead of what is under way is not one of its bytes.
        let place = |number: u32| Some(place(origin, next, number)).filter(|at| *at <= next);
        if let Some(ack) = place(tcp.ack) {
            while self.under_way.front().is_some_and(|data| data.end <= ack) {
                if let Some(data) = self.under_way.pop_front().filter(|data| !data.selected) {
                    covered(&data);
                }
            }
        }
        for (start, end) in tcp.selected.into_iter().filter(|(start, end)| start != end) {
            let (Some(start), Some(end)) = (place(start), place(end)) else { continue };
            let from = self.under_way.partition_point(|data| data.start < start);
            for data in self.under_way.range_mut(from..).take_while(|data| data.end <= end) {
                if !data.selected {
                    covered(data);
                    data.selected = true;
                }
            }
        }
        if bytes > 0 {
            self.found.delivered.push((now, bytes));
        }
        if let Some((sent, bytes)) = newest {
            self.found.trips.push(Trip { sent, trip: now.saturating_sub(sent), bytes });
        }
    }

    /// The place of a number among the bytes that were sent.
    fn place(&mut self, number: u32) -> u64 {
        match self.origin {
            Some(origin) => place(origin, self.next, number),
            None => {
                self.origin = Some(number);
                // What comes late may have been before the first.
                self.next = FIRST;
                FIRST
            }
        }
    }
}

/// The longest payload of a packet where no handshake tells it: that of jumbo frames.
const JUMBO: u32 = 9000;

/// The place of the first byte that is seen, so that some before it have places, too.
const FIRST: u64 = 1 << 32;

/// The place of a number that is nearest to the byte that is sent next.
fn place(origin: u32, next: u64, number: u32) -> u64 {
    let base = (next - FIRST) as u32;
    let ahead = number.wrapping_sub(origin).wrapping_sub(base) as i32;
    next.saturating_add_signed(ahead.into())
}
