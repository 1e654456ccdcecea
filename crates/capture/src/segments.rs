//! Packets in frames: hosts hand large segments to their cards, or get them joined (TSO, GSO, GRO, LRO).

use std::collections::HashMap;

use super::options::Layer;
use super::packet::Packet;

/// The payloads of TCP segments of connections whose handshake was not captured.
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// How often each came, and all of them that are larger than those of the usual packet.
    counts: HashMap<u32, u64>,
    large: u64,
    /// The commonest of those that a usual packet can have, and its number.
    commonest: (u32, u64),
    /// The largest segment of the frames that were cut, over all.
    pub cut: Option<u32>,
}

/// The payload of a packet of 1500 bytes without and with time stamps.
const USUAL: u32 = 1460;
const STAMPED: u32 = 1448;
/// Smaller segments are the ends of what was sent.
const LEAST: u32 = 500;
/// The largest payload of a packet on any usual path: jumbo frames.
const JUMBO: u32 = 9216;
/// Of so many large segments one of a usual size must have come, if the path's packets are that small.
const ONE_IN: u64 = 100;

/// What a frame is on the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Carried {
    pub packets: u64,
    /// Bytes of IP packets, of frames, and at the layer.
    pub ip: u64,
    pub frame: u64,
    pub layer: u64,
    /// The largest packet at the layer.
    pub largest: u32,
}

impl Carried {
    /// Counts what another frame carries.
    pub fn add(&mut self, other: &Carried) {
        self.packets += other.packets;
        self.ip += other.ip;
        self.frame += other.frame;
        self.layer += other.layer;
        self.largest = self.largest.max(other.largest);
    }
}

impl Segments {
    /// The packets of a frame of `length` bytes; `limit` is the largest payload that its ends agreed on.
    pub fn carried(&mut self, packet: &Packet, length: u32, limit: Option<u32>, layer: Layer) -> Carried {
        let payload = packet.tcp.map_or(0, |tcp| tcp.payload);
        let limit = limit.or_else(|| self.guessed(payload)).unwrap_or(payload).max(1);
        let packets = payload.div_ceil(limit).max(1);
        let headers = packet.length.saturating_sub(payload);
        // What is behind the frame's own header is cut, and each part gets all headers.
        let link = length.saturating_sub(packet.length);
        let last = payload - (packets - 1) * limit.min(payload);
        if packets > 1 {
            self.cut = self.cut.max(Some(limit));
        }
        let size = |payload: u32| {
            let ip = headers.saturating_add(payload);
            let frame = ip.saturating_add(link);
            [ip, frame, layer.size(ip, frame)]
        };
        let (full, last) = (size(limit.min(payload)), size(last));
        let sum = |i: usize| u64::from(full[i]) * u64::from(packets - 1) + u64::from(last[i]);
        let largest = full[2].max(last[2]);
        Carried { packets: packets.into(), ip: sum(0), frame: sum(1), layer: sum(2), largest }
    }

    /// The segments that a payload without a known limit consists of.
    fn guessed(&mut self, payload: u32) -> Option<u32> {
        if payload < LEAST {
            return None;
        }
        if payload <= USUAL {
            let count = self.counts.entry(payload).or_default();
            *count += 1;
            if *count >= self.commonest.1 {
                self.commonest = (payload, *count);
            }
            return None;
        }
        self.large += 1;
        let (size, count) = self.commonest;
        match count * ONE_IN >= self.large && count > 0 {
            true => Some(size),
            false => (payload > JUMBO).then_some(STAMPED),
        }
    }
}
