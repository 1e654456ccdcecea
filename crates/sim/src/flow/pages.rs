//! A client that loads pages: the objects of one over several connections at once, then thinks.
//!
//! All its connections are one flow to whoever runs it. They take the same links, so their packets reach the client,
//! and the server, in the order of time, and what they share is found there as it is at that time. To queues each is
//! a flow of its own, whose number follows the one before. Both ends keep the order of flows: what is due earlier
//! comes first, and at one instant the connection with the lower number.

use quell_aqm::Rng;
use quell_units::{Duration, Time};

use super::dialog::Exchange;
use super::host::Host;
use super::tcp::{Group, TcpFlow};
use crate::network::Pages;
use crate::outcome::Transfer;
use crate::packet::Pkt;
use crate::source::{time_to_think, whole_bytes, whole_packets};

pub(crate) struct Browser {
    /// The number of its first connection.
    id: u32,
    pub(super) connections: Vec<Exchange>,
    reader: Reader,
}

/// The state that the connections share: the page under way.
struct Reader {
    pages: Pages,
    stop: Time,
    rng: Rng,
    /// Pages that are still to begin; `None` for no end.
    left: Option<u32>,
    /// Objects that nobody has asked for yet, and those that are not complete.
    unasked: u32,
    missing: u32,
    /// The page in packets, and when it began.
    packets: u32,
    begun: Time,
    /// The pages that are complete.
    loaded: Vec<Transfer>,
}

/// The next step of a connection after an object.
enum Then {
    /// It asks for another one at that time.
    Ask(Time),
    /// It waits for the others.
    Wait,
    /// The page is complete, and all ask for the next one at that time.
    AllAsk(Time),
}

impl Reader {
    /// The next object in packets, and the request for it in bytes; none if none is left.
    fn wish(&mut self, now: Time) -> Option<(u32, u16)> {
        if self.missing == 0 {
            self.left = self.left.map(|n| n - 1);
            self.unasked = whole_packets(&self.pages.objects, &mut self.rng);
            (self.missing, self.packets, self.begun) = (self.unasked, 0, now);
        }
        self.unasked = self.unasked.checked_sub(1)?;
        let packets = whole_packets(&self.pages.size, &mut self.rng);
        self.packets = self.packets.saturating_add(packets);
        Some((packets, whole_bytes(&self.pages.request, &mut self.rng)))
    }

    /// An object is complete.
    fn next(&mut self, flow: u32, now: Time) -> Then {
        self.missing -= 1;
        if self.unasked > 0 {
            // Time must pass, as between transfers.
            return Then::Ask(now + Duration::from_nanos(1));
        }
        if self.missing > 0 {
            return Then::Wait;
        }
        self.loaded.push(Transfer { flow, start: self.begun, end: now, packets: self.packets });
        if self.left == Some(0) {
            return Then::Wait;
        }
        let due = now + time_to_think(&self.pages.think, &mut self.rng);
        if due < self.stop { Then::AllAsk(due) } else { Then::Wait }
    }
}

impl Browser {
    /// A client whose connections have the numbers from `id` on, and whose first page begins at `start`.
    pub fn new(
        id: u32,
        cfg: &Group,
        pages: &Pages,
        (dscp, rng): (u8, Rng),
        (start, stop): (Time, Time),
        bounds: &[Time],
    ) -> Self {
        let due = if start < stop { start } else { Time::MAX };
        let connection = |i| Exchange::new(id + i, cfg, pages.connection, dscp, due, bounds);
        Browser {
            id,
            connections: (0..pages.connections).map(connection).collect(),
            reader: Reader {
                pages: pages.clone(),
                stop,
                rng,
                left: pages.count,
                unasked: 0,
                missing: 0,
                packets: 0,
                begun: start,
                loaded: Vec::new(),
            },
        }
    }

    pub fn due(&self) -> Time {
        self.connections.iter().map(Exchange::due).min().unwrap_or(Time::MAX)
    }

    #[inline(never)]
    pub fn advance(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        self.advance_server(cfg, now, host);
        self.advance_client(cfg, now, host);
    }

    /// Runs the timers at the senders' end, each at its time.
    fn advance_server(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        while let Some((due, i)) = first(&self.connections, Exchange::server_due, now) {
            self.connections[i].advance_server(cfg, due, host);
        }
    }

    /// Runs the timers at the receivers' end, each at its time.
    fn advance_client(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        while let Some((due, i)) = first(&self.connections, Exchange::client_due, now) {
            let connection = &mut self.connections[i];
            if !connection.asks_first(due) {
                connection.on_timer(cfg, due, host);
            } else if let Some(wish) = self.reader.wish(due) {
                connection.ask(cfg, due, wish, host);
            } else {
                connection.ask_at(Time::MAX);
            }
        }
    }

    /// See [`Flow::on_packet`](super::Flow::on_packet).
    #[inline(never)]
    pub fn on_packet(&mut self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) -> Time {
        let number = (pkt.flow() - self.id) as usize;
        if pkt.is_ack() {
            self.advance_server(cfg, now, host);
            self.connections[number].on_packet_of_server(cfg, now, pkt, host);
        } else {
            self.advance_client(cfg, now, host);
            if self.connections[number].on_packet_of_client(cfg, now, pkt, host) {
                match self.reader.next(self.id, now) {
                    Then::Ask(due) => self.connections[number].ask_at(due),
                    Then::Wait => {}
                    Then::AllAsk(due) => self.connections.iter_mut().for_each(|c| c.ask_at(due)),
                }
            }
        }
        self.due()
    }

    /// The connection that a packet is of, and which one that is.
    pub fn tcp(&self, pkt: Pkt) -> (usize, &TcpFlow) {
        let number = (pkt.flow() - self.id) as usize;
        (number, &self.connections[number].tcp)
    }

    /// The connections, and the pages that were loaded.
    pub fn finish(self) -> (impl Iterator<Item = TcpFlow>, Vec<Transfer>) {
        (self.connections.into_iter().map(|exchange| exchange.tcp), self.reader.loaded)
    }
}

/// The connection with the first thing to do at or before `now`, and when it is due.
fn first(all: &[Exchange], due: impl Fn(&Exchange) -> Time, now: Time) -> Option<(Time, usize)> {
    let first = all.iter().enumerate().map(|(i, exchange)| (due(exchange), i)).min()?;
    (first.0 <= now && first.0 != Time::MAX).then_some(first)
}
