//! Captures in pcapng (draft-ietf-opsawg-pcapng).
//!
//! Each link is two interfaces: `NAME enqueue` has the packets that come to its queue, `NAME dequeue` those whose
//! transmission begins. A packet that is dropped is on the first one alone, and a comment says by whom, why and when;
//! a packet that is marked has a comment where it is. `epb_packetid` is the same wherever a packet was seen.
//!
//! Times count from time zero of the run, as if that were the beginning of 1970.

use std::collections::HashMap;
use std::io::{self, Write};

use quell_aqm::Ecn;
use quell_sim::outcome::DropPoint;
use quell_sim::trace::{PacketEvent, PacketWhat, Trace};
use quell_units::{Duration, Time};

use crate::about::About;
use crate::flows::Flows;
use crate::headers::{Frame, Style};
use crate::numbers::Numbers;
use crate::{order, reasons};

/// Writes the packets of all traced links.
///
/// # Errors
/// If `out` does.
pub fn write(mut out: impl Write, trace: &Trace, about: &About) -> io::Result<()> {
    let flows = Flows::of(trace, about.version);
    let style = Style { version: about.version, ethernet: flows.ethernet, whole: about.whole };
    let mut numbers = Numbers::new(&flows, about.version);
    let numbered: Vec<_> = trace.packets.iter().map(|packet| numbers.of(packet)).collect();
    section(&mut out, about)?;
    for (link, traced) in trace.links.iter().enumerate() {
        let algorithm = about.algorithm(link);
        for side in ["enqueue", "dequeue"] {
            let what = if side == "enqueue" {
                "packets that come to the queue"
            } else {
                "packets whose transmission begins"
            };
            let said = format!("{what}; {algorithm}");
            interface(&mut out, &format!("{} {side}", traced.name), &said, flows.ethernet)?;
        }
    }
    let comments: Vec<_> = trace
        .links
        .iter()
        .enumerate()
        .map(|(link, traced)| comments(about.algorithm(link), &traced.events))
        .collect();
    for (link, event) in order::merged(&trace.links) {
        let index = event.packet as usize;
        let said = comments[link].get(&event.packet);
        let marked = said.and_then(|said| said.marked);
        let (side, ecn, comment) = match event.what {
            // As it came: a mark is seen behind the queue.
            PacketWhat::Enqueued => {
                (0, marked.unwrap_or(event.ecn.0), said.map(|said| said.enqueued.clone()))
            }
            PacketWhat::Dropped { place: DropPoint::Arrival, .. } => {
                (0, event.ecn.0, said.map(|said| said.enqueued.clone()))
            }
            PacketWhat::Dequeued { lost } => {
                let ecn = if marked.is_some() { Ecn::Ce } else { event.ecn.1 };
                let marked = said.map_or(String::new(), |said| said.dequeued.clone());
                let lost = if lost { "lost on the wire behind this link" } else { "" };
                let both = if marked.is_empty() || lost.is_empty() { "" } else { "; " };
                (1, ecn, Some(marked + both + lost))
            }
            PacketWhat::Marked { .. } | PacketWhat::Dropped { .. } => continue,
        };
        let (Some(packet), Some(numbered)) = (trace.packets.get(index), numbered.get(index)) else {
            continue;
        };
        let asks = flows.of.get(&packet.flow).is_some_and(|flow| flow.asks);
        let frame = style.frame(index, packet, numbered, asks, ecn);
        let comment = comment.filter(|comment| !comment.is_empty());
        let interface = 2 * link as u32 + side;
        self::packet(&mut out, interface, event.time, &frame, event.packet, comment.as_deref())?;
    }
    out.flush()
}

/// The things said of a packet at a link.
#[derive(Default)]
struct Said {
    enqueued: String,
    dequeued: String,
    /// Its ECN field before it was marked.
    marked: Option<Ecn>,
}

/// The comments on the packets that were dropped or marked at a link: those of a packet that is dropped later stand where
/// it came, for a reader of a capture looks there.
fn comments(algorithm: &str, events: &[PacketEvent]) -> HashMap<u32, Said> {
    let mut comments = HashMap::<u32, Said>::new();
    for event in events {
        match event.what {
            PacketWhat::Enqueued | PacketWhat::Dequeued { .. } => {}
            PacketWhat::Marked { at_head } => {
                let said = comments.entry(event.packet).or_default();
                said.marked = Some(event.ecn.0);
                match at_head {
                    true => said.dequeued = format!("marked CE by {algorithm} at the head of the queue"),
                    false => said.enqueued = format!("marked CE by {algorithm} on arrival"),
                }
            }
            PacketWhat::Dropped { cause, place } => {
                let said = &mut comments.entry(event.packet).or_default().enqueued;
                let also = if said.is_empty() { "" } else { "; " };
                *said += &format!("{also}{}", reasons::drop(algorithm, cause, place));
                if place != DropPoint::Arrival {
                    *said += &format!(
                        ", after {} in the queue, at {}",
                        readable(event.waited),
                        seconds(event.time)
                    );
                }
            }
        }
    }
    comments
}

/// A time of waiting in a unit in which people read it.
fn readable(waited: Duration) -> String {
    match waited.nanos() {
        nanos @ 1_000_000.. => format!("{:.3} ms", nanos as f64 / 1e6),
        nanos => format!("{:.3} us", nanos as f64 / 1e3),
    }
}

fn seconds(time: Time) -> String {
    format!("{}.{:09} s", time.nanos() / 1_000_000_000, time.nanos() % 1_000_000_000)
}

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const MAGIC: u32 = 0x1a2b_3c4d;
const COMMENT: u16 = 1;
/// The kinds of links of the tcpdump registry: Ethernet, and IP with nothing before it.
const ETHERNET: u16 = 1;
const RAW: u16 = 101;

fn section(out: &mut impl Write, about: &About) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend(MAGIC.to_le_bytes());
    // Version 1.0, and a length that is not told.
    body.extend([1, 0, 0, 0]);
    body.extend(u64::MAX.to_le_bytes());
    let mut options = Vec::new();
    option(&mut options, COMMENT, about.title.as_bytes());
    // shb_userappl
    option(&mut options, 4, about.program.as_bytes());
    block(out, SECTION, &body, &options)
}

fn interface(out: &mut impl Write, name: &str, said: &str, ethernet: bool) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend((if ethernet { ETHERNET } else { RAW }).to_le_bytes());
    body.extend([0; 6]);
    let mut options = Vec::new();
    // if_name, if_description, if_tsresol: nanoseconds
    option(&mut options, 2, name.as_bytes());
    option(&mut options, 3, said.as_bytes());
    option(&mut options, 9, &[9]);
    block(out, INTERFACE, &body, &options)
}

fn packet(
    out: &mut impl Write,
    interface: u32,
    time: Time,
    frame: &Frame,
    id: u32,
    comment: Option<&str>,
) -> io::Result<()> {
    let mut body = Vec::with_capacity(96);
    let [low, high] = [time.nanos() as u32, (time.nanos() >> 32) as u32];
    for word in [interface, high, low, frame.kept.len() as u32, frame.length] {
        body.extend(word.to_le_bytes());
    }
    body.extend(&frame.kept);
    body.resize(body.len().next_multiple_of(4), 0);
    let mut options = Vec::with_capacity(24);
    if let Some(comment) = comment {
        option(&mut options, COMMENT, comment.as_bytes());
    }
    // epb_packetid
    option(&mut options, 5, &u64::from(id).to_le_bytes());
    block(out, PACKET, &body, &options)
}

/// Adds an option: a code, a length, a value padded to four bytes. One that is empty or too long is left out or cut.
fn option(options: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(u16::MAX.into())];
    if value.is_empty() {
        return;
    }
    options.extend(code.to_le_bytes());
    options.extend((value.len() as u16).to_le_bytes());
    options.extend(value);
    options.resize(options.len().next_multiple_of(4), 0);
}

/// Writes a block, with the end of its options if it has some.
fn block(out: &mut impl Write, kind: u32, body: &[u8], options: &[u8]) -> io::Result<()> {
    let end: &[u8] = if options.is_empty() { &[] } else { &[0; 4] };
    let length = (12 + body.len() + options.len() + end.len()) as u32;
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length.to_le_bytes())?;
    for part in [body, options, end] {
        out.write_all(part)?;
    }
    out.write_all(&length.to_le_bytes())
}
