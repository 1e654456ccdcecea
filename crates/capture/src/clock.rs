//! The clock of acknowledgments: how fast the path beyond the capture delivers.
//!
//! Packets that have yet to pass the slowest link are spaced by their senders, and their spacing does not
//! show that link. What comes back does: acknowledgments leave the receiver as data reach it (Jacobson
//! 1988), so over a stretch in which the slowest link never ran out of packets they acknowledge what it
//! can carry. That it had packets waiting shows in the delay from the data to their acknowledgment: its
//! least value over a stretch is above its least value ever (the standing queue of RFC 8289 section 3.1).

use std::collections::VecDeque;

use hdrhistogram::Histogram;

use super::options::Layer;
use super::packet::Segment;
use super::rate::{HIGHEST_RATE, LEAST_WAIT, STRETCH, WAITING, histogram};
use super::report::Acknowledged;

/// The most segments under way that are timed for a flow.
const MOST: usize = 1 << 16;
/// The most ranges behind a hole that are kept for a flow.
const MOST_RANGES: usize = 256;

/// The data of one end, as far as the other one acknowledges them.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Up to here all bytes are acknowledged; none before the first acknowledgment.
    acked: Option<u32>,
    /// Ranges that are acknowledged beyond, disjoint (RFC 2018).
    selected: Vec<(u32, u32)>,
    /// The ends of segments that were sent once, and when they passed.
    timed: VecDeque<(u32, u64)>,
    /// The shortest delay from a segment to its acknowledgment, in nanoseconds.
    least: Option<u64>,
    /// The largest payload of a packet on the path, as the other end wants it (RFC 9293 section 3.7.1).
    limit: Option<u32>,
    /// The largest payload that was captured, the bytes of headers before it, and of options in these.
    largest: (u32, u32, u32),
}

/// An acknowledgment's account of the data beyond the capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Delivered {
    /// Bytes that it is the first to acknowledge, with the headers of their packets.
    pub bytes: f64,
    /// A full packet with its headers.
    pub packet: f64,
    /// The excess of the delay from the data to this acknowledgment over the shortest one.
    pub waited: Option<u64>,
    /// That delay.
    pub delay: Option<u64>,
}

impl Delivered {
    /// The same at a layer, where frames have so many bytes beside their IP packets.
    pub fn at(self, layer: Layer, link: u32) -> Self {
        // Whole bytes.
        let frame = self.packet as u32;
        let packet = f64::from(layer.size(frame.saturating_sub(link), frame));
        Delivered { bytes: self.bytes * packet / self.packet, packet, ..self }
    }
}

impl Stream {
    /// Takes in the largest segment that both ends accept.
    pub fn limit(&mut self, mss: u16) {
        self.limit = Some(mss.into());
    }

    /// Takes in a segment of this flow, in a frame of `length` bytes.
    pub fn sent(&mut self, time: u64, length: u32, tcp: &Segment, repeats: bool) {
        if tcp.payload > self.largest.0 {
            self.largest = (tcp.payload, length.saturating_sub(tcp.payload), tcp.options);
        }
        // An acknowledgment after a retransmission may be for either, and jumps over the hole (Karn).
        if repeats || self.timed.len() == MOST {
            self.timed.clear();
        } else if tcp.payload > 0 && self.acked.is_some() {
            self.timed.push_back((tcp.seq.wrapping_add(tcp.payload), time));
        }
    }

    /// Takes in an acknowledgment of this flow.
    pub fn acknowledged(&mut self, time: u64, tcp: &Segment) -> Option<Delivered> {
        let Some(before) = self.acked else {
            self.acked = Some(tcp.ack);
            return None;
        };
        let advance = tcp.ack.wrapping_sub(before);
        if (advance as i32) < 0 {
            return None;
        }
        let known = self.selected_bytes();
        let mut sent_at = None;
        if advance > 0 {
            self.acked = Some(tcp.ack);
            let beyond = |to: u32| (to.wrapping_sub(tcp.ack) as i32) > 0;
            self.selected.retain_mut(|range| {
                if !beyond(range.0) {
                    range.0 = tcp.ack;
                }
                beyond(range.1)
            });
            while let Some(&(_, at)) = self.timed.front().filter(|(end, _)| !beyond(*end)) {
                sent_at = Some(at);
                self.timed.pop_front();
            }
        }
        tcp.selected.iter().for_each(|range| self.select(tcp.ack, *range));
        let bytes = (u64::from(advance) + self.selected_bytes()).saturating_sub(known);
        if bytes == 0 {
            return None;
        }
        let delay = sent_at.and_then(|at| time.checked_sub(at));
        let waited = delay.map(|delay| {
            let least = self.least.map_or(delay, |least| least.min(delay));
            self.least = Some(least);
            delay - least
        });
        // What a card cuts into packets is captured whole.
        let (largest, headers, options) = self.largest;
        let payload = self.limit.map_or(largest, |limit| largest.min(limit.saturating_sub(options))).max(1);
        let packet = f64::from(payload + headers);
        Some(Delivered { bytes: bytes as f64 * packet / f64::from(payload), packet, waited, delay })
    }

    fn selected_bytes(&self) -> u64 {
        self.selected.iter().map(|(from, to)| u64::from(to.wrapping_sub(*from))).sum()
    }

    /// Takes in a range behind the acknowledgment; one before it reports a segment that came twice (RFC 2883).
    fn select(&mut self, ack: u32, (mut from, mut to): (u32, u32)) {
        let place = |at: u32| at.wrapping_sub(ack) as i32;
        if place(from) < 0 || place(to) <= place(from) || self.selected.len() >= MOST_RANGES {
            return;
        }
        self.selected.retain(|range| {
            let touches = place(range.0) <= place(to) && place(from) <= place(range.1);
            if touches {
                from = if place(range.0) < place(from) { range.0 } else { from };
                to = if place(range.1) > place(to) { range.1 } else { to };
            }
            !touches
        });
        self.selected.push((from, to));
    }
}

/// The packets of a stretch at least, so that one acknowledgment for several does not tell.
const PACKETS: f64 = 100.0;

/// The rates at which a direction's data are acknowledged, stretch by stretch.
#[derive(Debug)]
pub(super) struct Clock {
    /// The beginning of this stretch and the time of its latest acknowledgment.
    stretch: Option<(u64, u64)>,
    /// Bytes that came after the first acknowledgment of the stretch.
    bytes: f64,
    packets: f64,
    /// The least that an acknowledgment of it was late.
    waited: Option<u64>,
    stretches: u64,
    /// The rates of the stretches in which packets waited throughout, in bit/s.
    rates: Histogram<u64>,
}

impl Clock {
    pub fn new() -> Self {
        Clock {
            stretch: None,
            bytes: 0.0,
            packets: 0.0,
            waited: None,
            stretches: 0,
            rates: histogram(HIGHEST_RATE),
        }
    }

    /// Takes in a packet that nobody acknowledges, and that passes the same links.
    pub fn beside(&mut self, length: u32) {
        self.bytes += f64::from(length);
    }

    /// Takes in what an acknowledgment tells.
    pub fn see(&mut self, now: u64, told: &Delivered) {
        let begun = match &mut self.stretch {
            // A pause is not a stretch.
            Some((begun, latest)) if now.saturating_sub(*latest) <= STRETCH => {
                *latest = now;
                *begun
            }
            _ => return self.begin(now, told.waited),
        };
        self.bytes += told.bytes;
        self.packets += told.bytes / told.packet;
        self.waited = self.waited.into_iter().chain(told.waited).min();
        let passed = now.saturating_sub(begun);
        if passed < STRETCH || self.packets < PACKETS {
            return;
        }
        self.stretches += 1;
        let wait = (WAITING * passed as f64 / self.packets).max(LEAST_WAIT);
        if self.waited.is_some_and(|waited| waited as f64 >= wait) {
            // A cast saturates.
            self.rates.saturating_record((self.bytes * 8e9 / passed as f64) as u64);
        }
        self.begin(now, told.waited);
    }

    fn begin(&mut self, now: u64, waited: Option<u64>) {
        self.stretch = Some((now, now));
        (self.bytes, self.packets, self.waited) = (0.0, 0.0, waited);
    }

    /// The verdict of the stretches together.
    pub fn told(&self) -> Option<Acknowledged> {
        let at = |quantile: f64| self.rates.value_at_quantile(quantile) as f64;
        let waiting = self.rates.len();
        (waiting > 0).then(|| Acknowledged {
            rate_bps: at(0.5),
            quartiles_bps: [at(0.25), at(0.75)],
            waiting,
            stretches: self.stretches,
        })
    }
}
