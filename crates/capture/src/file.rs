//! Captured packets out of a file, one by one: pcap and pcapng.
//!
//! Both formats are fixed headers around bytes, and are read here because a capture that is cut or
//! damaged is to be measured up to the damage, with its place.

use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::Range;

use super::error::CaptureError;
use super::report::{Damage, Format};

/// A captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Nanoseconds since 1970; none in blocks that carry no time.
    pub time: Option<u64>,
    /// Its length on the wire, with the link's header.
    pub length: u32,
    /// The header that begins its bytes (a LINKTYPE of the tcpdump registry).
    pub link: u16,
    /// The resolution of its time, in nanoseconds.
    pub tick: u64,
    /// The interface that it was captured on: an index into [`Reader::interfaces`].
    pub interface: u32,
}

/// The next item in the buffer.
enum Step {
    /// A packet, whose bytes lie in this range, and how far it goes.
    Packet(Record, Range<usize>, usize),
    /// Something else, up to here.
    Other(usize),
    /// A packet of a kind that cannot be understood, up to here.
    Unreadable(usize),
    /// More bytes are needed to say.
    More,
    /// No packet can begin like this.
    Bad(&'static str),
}

/// The interface of a pcapng file that a packet was captured on.
#[derive(Clone, Copy)]
struct Interface {
    link: u16,
    /// `if_tsresol`: a power of ten, or of two with the upper bit set.
    resolution: u8,
    /// `if_tsoffset`, in seconds.
    offset: i64,
    /// Packets dropped since the beginning, by its latest statistics.
    dropped: u64,
    /// Its place among the names.
    name: u32,
}

/// The names of the interfaces of all sections: where two have the same, that is one interface.
#[derive(Default)]
struct Names {
    all: Vec<String>,
    places: HashMap<String, u32>,
}

impl Names {
    /// The place of the interface with this number and, if it has one, name.
    fn place(&mut self, number: usize, name: Option<&[u8]>) -> u32 {
        let name = match name.map(String::from_utf8_lossy) {
            Some(name) if !name.trim().is_empty() => name.trim().chars().take(LONGEST_NAME).collect(),
            _ => number.to_string(),
        };
        let next = self.all.len() as u32;
        *self.places.entry(name).or_insert_with_key(|name| {
            self.all.push(name.clone());
            next
        })
    }
}

impl Interface {
    fn nanos(self, ticks: u64) -> u64 {
        let scaled = u128::from(ticks) * 1_000_000_000;
        let nanos = match self.resolution {
            r if r & 0x80 != 0 => scaled >> (r & 0x7f),
            r => scaled / 10_u128.saturating_pow(u32::from(r)),
        };
        let offset = i128::from(self.offset) * 1_000_000_000;
        let nanos = i128::try_from(nanos).unwrap_or(i128::MAX).saturating_add(offset);
        u64::try_from(nanos.max(0)).unwrap_or(u64::MAX)
    }

    fn tick(self) -> u64 {
        Interface { offset: 0, ..self }.nanos(1).max(1)
    }
}

/// The order of bytes in numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let b = [bytes[at], bytes[at + 1]];
        if self == Order::Big { u16::from_be_bytes(b) } else { u16::from_le_bytes(b) }
    }

    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let b = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self == Order::Big { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) }
    }
}

enum Kind {
    Pcap {
        order: Order,
        nanos: u64,
        link: u16,
    },
    /// Packets dropped, with those of earlier sections.
    Pcapng {
        order: Order,
        interfaces: Vec<Interface>,
        names: Names,
        dropped: u64,
    },
}

/// Reads a capture; its memory is a buffer.
pub(super) struct Reader<R> {
    input: R,
    buffer: Vec<u8>,
    /// The part of the buffer that has not been used yet.
    rest: Range<usize>,
    /// The place in the file where that begins.
    at: u64,
    ended: bool,
    kind: Kind,
    /// Blocks that could not be understood.
    pub unreadable: u64,
    /// The damage that ended the reading before the end of the file.
    pub damage: Option<Damage>,
}

/// The most bytes of a captured packet, as libpcap has it; what claims more is not a packet.
const LARGEST_PACKET: u32 = 262_144;
/// The largest block of a pcapng file that is read, as Wireshark has it.
const LARGEST_BLOCK: u32 = 16 << 20;
/// The most interfaces of a section: each takes memory. The older packet blocks cannot name more.
const MOST_INTERFACES: usize = 1 << 16;
/// The most characters of an interface's name that are kept.
const LONGEST_NAME: usize = 64;
const BUFFER: usize = 1 << 18;
const PCAP_HEADER: usize = 24;
const SECTION_HEADER: u32 = 0x0A0D_0D0A;

impl<R: Read> Reader<R> {
    /// Opens a capture.
    pub fn new(input: R) -> Result<Self, CaptureError> {
        let mut reader = Reader {
            input,
            buffer: vec![0; BUFFER],
            rest: 0..0,
            at: 0,
            ended: false,
            kind: Kind::Pcapng {
                order: Order::Little,
                interfaces: Vec::new(),
                names: Names::default(),
                dropped: 0,
            },
            unreadable: 0,
            damage: None,
        };
        while reader.rest.len() < PCAP_HEADER && !reader.ended {
            reader.fill()?;
        }
        let head = &reader.buffer[reader.rest.clone()];
        let pcap = |order, nanos| Some((order, nanos));
        let found = match head.get(..4) {
            Some([0xA1, 0xB2, 0xC3, 0xD4]) => pcap(Order::Big, 1000),
            Some([0xA1, 0xB2, 0x3C, 0x4D]) => pcap(Order::Big, 1),
            Some([0xD4, 0xC3, 0xB2, 0xA1]) => pcap(Order::Little, 1000),
            Some([0x4D, 0x3C, 0xB2, 0xA1]) => pcap(Order::Little, 1),
            // The first block says the order of its bytes itself.
            Some([0x0A, 0x0D, 0x0D, 0x0A]) => None,
            _ => return Err(CaptureError::NotACapture { why: what_else(head) }),
        };
        if let Some((order, nanos)) = found {
            if head.len() < PCAP_HEADER {
                let why =
                    format!("it is a pcap file that ends within its header, after {} bytes", head.len());
                return Err(CaptureError::NotACapture { why });
            }
            // The upper half of the field holds the length of the frames' check sequence.
            reader.kind = Kind::Pcap { order, nanos, link: order.u32(head, 20) as u16 };
            reader.consume(PCAP_HEADER);
        } else if section_order(head).is_none() {
            let why =
                "it begins like a pcapng file, but its first block does not give its byte order".to_string();
            return Err(CaptureError::NotACapture { why });
        }
        Ok(reader)
    }

    /// The file's format.
    pub fn format(&self) -> Format {
        match self.kind {
            Kind::Pcap { .. } => Format::Pcap,
            Kind::Pcapng { .. } => Format::Pcapng,
        }
    }

    /// Packets that the capturing host says it dropped; none if the format cannot say.
    pub fn dropped(&self) -> Option<u64> {
        match self.kind {
            Kind::Pcap { .. } => None,
            Kind::Pcapng { dropped, ref interfaces, .. } => {
                Some(dropped.saturating_add(dropped_on(interfaces)))
            }
        }
    }

    /// The names of the interfaces so far: of those without one, their number in their section. None in a pcap file.
    pub fn interfaces(&self) -> &[String] {
        match &self.kind {
            Kind::Pcap { .. } => &[],
            Kind::Pcapng { names, .. } => &names.all,
        }
    }

    /// The next packet and the bytes that were kept of it; none at the end, or at the damage.
    pub fn next(&mut self) -> io::Result<Option<(Record, &[u8])>> {
        loop {
            let bytes = &self.buffer[self.rest.clone()];
            if bytes.is_empty() && self.ended {
                return Ok(None);
            }
            let step = match &mut self.kind {
                Kind::Pcap { order, nanos, link } => pcap_packet(bytes, *order, *nanos, *link),
                Kind::Pcapng { order, interfaces, names, dropped } => {
                    block(bytes, order, interfaces, names, dropped)
                }
            };
            match step {
                Step::Packet(record, data, length) => {
                    let start = self.rest.start;
                    self.consume(length);
                    return Ok(Some((record, &self.buffer[start + data.start..start + data.end])));
                }
                Step::Other(length) => self.consume(length),
                Step::Unreadable(length) => {
                    self.unreadable += 1;
                    self.consume(length);
                }
                Step::More if !self.ended => self.fill()?,
                Step::More => return self.stop("the file ends within a packet"),
                Step::Bad(why) => return self.stop(why),
            }
        }
    }

    /// Gives up, and counts what is left.
    fn stop(&mut self, why: &'static str) -> io::Result<Option<(Record, &[u8])>> {
        let beyond = if self.ended { 0 } else { io::copy(&mut self.input, &mut io::sink())? };
        let unread_bytes = self.rest.len() as u64 + beyond;
        self.damage = Some(Damage { at_byte: self.at, unread_bytes, why });
        self.rest = 0..0;
        self.ended = true;
        Ok(None)
    }

    fn consume(&mut self, length: usize) {
        self.rest.start += length;
        self.at += length as u64;
    }

    /// Reads more, in a larger buffer if this one is full.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.rest.clone(), 0);
        self.rest = 0..self.rest.len();
        if self.rest.end == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        let read = loop {
            match self.input.read(&mut self.buffer[self.rest.end..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.ended = read == 0;
        self.rest.end += read;
        Ok(())
    }
}

/// Says why a file is not a capture.
fn what_else(head: &[u8]) -> String {
    match head {
        [] => "it is empty".to_string(),
        _ => {
            let bytes: Vec<String> = head.iter().take(4).map(|b| format!("{b:02x}")).collect();
            format!("it begins with the bytes {}, neither pcap nor pcapng", bytes.join(" "))
        }
    }
}

fn pcap_packet(bytes: &[u8], order: Order, nanos: u64, link: u16) -> Step {
    const HEADER: usize = 16;
    if bytes.len() < HEADER {
        return Step::More;
    }
    let (seconds, fraction) = (order.u32(bytes, 0), order.u32(bytes, 4));
    let (kept, length) = (order.u32(bytes, 8), order.u32(bytes, 12));
    if kept > LARGEST_PACKET {
        return Step::Bad("a packet's length exceeds any possible packet");
    }
    let end = HEADER + kept as usize;
    if bytes.len() < end {
        return Step::More;
    }
    let time = Some(u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * nanos);
    Step::Packet(Record { time, length: length.max(kept), link, tick: nanos, interface: 0 }, HEADER..end, end)
}

/// The order of a section's bytes, if these begin one.
fn section_order(bytes: &[u8]) -> Option<Order> {
    match bytes.get(8..12)? {
        [0x1A, 0x2B, 0x3C, 0x4D] => Some(Order::Big),
        [0x4D, 0x3C, 0x2B, 0x1A] => Some(Order::Little),
        _ => None,
    }
}

fn block(
    bytes: &[u8],
    order: &mut Order,
    interfaces: &mut Vec<Interface>,
    names: &mut Names,
    dropped: &mut u64,
) -> Step {
    if bytes.len() < 12 {
        return Step::More;
    }
    let kind = order.u32(bytes, 0);
    if kind == SECTION_HEADER {
        let Some(found) = section_order(bytes) else {
            return Step::Bad("a section does not declare its byte order");
        };
        *order = found;
        *dropped = dropped.saturating_add(dropped_on(interfaces));
        interfaces.clear();
    }
    let length = order.u32(bytes, 4);
    if length < 12 || !length.is_multiple_of(4) || length > LARGEST_BLOCK {
        return Step::Bad("a block's length is impossible");
    }
    let length = length as usize;
    if bytes.len() < length {
        return Step::More;
    }
    if order.u32(bytes, length - 4) as usize != length {
        return Step::Bad("a block's two lengths differ");
    }
    let body = &bytes[8..length - 4];
    match kind {
        1 => match interface(body, *order, interfaces.len(), names) {
            Some(_) if interfaces.len() == MOST_INTERFACES => {
                return Step::Bad("a section has more than 65536 interfaces");
            }
            Some(interface) => interfaces.push(interface),
            None => return Step::Unreadable(length),
        },
        // Enhanced and (obsolete) packet blocks differ in the interface's field only.
        2 | 6 if body.len() >= 20 => {
            let id = if kind == 6 { order.u32(body, 0) } else { u32::from(order.u16(body, 0)) };
            let ticks = u64::from(order.u32(body, 4)) << 32 | u64::from(order.u32(body, 8));
            let (kept, original) = (order.u32(body, 12), order.u32(body, 16));
            let end = 20 + kept as usize;
            let Some(&on) = interfaces.get(id as usize).filter(|_| end <= body.len()) else {
                return Step::Unreadable(length);
            };
            let time = Some(on.nanos(ticks));
            let record = Record {
                time,
                length: original.max(kept),
                link: on.link,
                tick: on.tick(),
                interface: on.name,
            };
            return Step::Packet(record, 28..8 + end, length);
        }
        // Simple packet blocks have no time.
        3 if body.len() >= 4 => {
            let Some(on) = interfaces.first() else { return Step::Unreadable(length) };
            let original = order.u32(body, 0);
            let end = 4 + (original as usize).min(body.len() - 4);
            let record =
                Record { time: None, length: original, link: on.link, tick: on.tick(), interface: on.name };
            return Step::Packet(record, 12..8 + end, length);
        }
        2 | 3 | 6 => return Step::Unreadable(length),
        5 if body.len() >= 12 => {
            let on = interfaces.get_mut(order.u32(body, 0) as usize);
            // isb_ifdrop
            let drops = options(&body[12..], *order).find(|(code, value)| *code == 5 && value.len() == 8);
            if let (Some(on), Some((_, value))) = (on, drops) {
                on.dropped = wide(value, *order);
            }
        }
        _ => {}
    }
    Step::Other(length)
}

fn interface(body: &[u8], order: Order, number: usize, names: &mut Names) -> Option<Interface> {
    if body.len() < 8 {
        return None;
    }
    let mut found = Interface { link: order.u16(body, 0), resolution: 6, offset: 0, dropped: 0, name: 0 };
    let mut name = None;
    for (code, value) in options(&body[8..], order) {
        match (code, value.len()) {
            (2, _) => name = Some(value),
            (9, 1) => found.resolution = value[0],
            (14, 8) => found.offset = wide(value, order) as i64,
            _ => {}
        }
    }
    found.name = names.place(number, name);
    Some(found)
}

fn dropped_on(interfaces: &[Interface]) -> u64 {
    interfaces.iter().fold(0, |sum, on| sum.saturating_add(on.dropped))
}

/// A number of eight bytes.
fn wide(value: &[u8], order: Order) -> u64 {
    let (first, second) = (u64::from(order.u32(value, 0)), u64::from(order.u32(value, 4)));
    if order == Order::Big { first << 32 | second } else { second << 32 | first }
}

/// Options of a block: a code, a length, a value padded to four bytes.
fn options(mut bytes: &[u8], order: Order) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        if bytes.len() < 4 {
            return None;
        }
        let (code, length) = (order.u16(bytes, 0), usize::from(order.u16(bytes, 2)));
        let value = bytes.get(4..4 + length)?;
        bytes = bytes.get(4 + length.next_multiple_of(4)..).unwrap_or(&[]);
        (code != 0).then_some((code, value))
    })
}
