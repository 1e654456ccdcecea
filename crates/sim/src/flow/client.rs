//! A client that asks for what it is sent: a user who makes transfers, the player of a video, or a reader who loads the
//! objects of a page over several connections at once, then thinks.
//!
//! All its connections are one flow to its host. They take the same links, so their packets reach the client, and the
//! server, in the order of time, and what they share is found there as it is at that time. To queues each is a flow of
//! its own, whose number follows the one before. Both ends keep the order of flows: what is due earlier comes first,
//! and at one instant the connection with the lower number.

use quell_aqm::Rng;
use quell_units::{Duration, Time};

use super::dialog::Exchange;
use super::host::Host;
use super::tcp::{Group, TcpFlow};
use super::video::Player;
use crate::network::{App, Connection, FlowSpec, Pages};
use crate::outcome::{Page, VideoSegment};
use crate::packet::Pkt;
use crate::source::{Transfers, time_to_think, whole_bytes, whole_packets};

pub(crate) struct Client {
    /// The number of its first connection.
    id: u32,
    pub(super) connections: Vec<Exchange>,
    wishes: Wishes,
}

/// Whoever says what is asked for, and when.
enum Wishes {
    /// A user who makes transfers until a time.
    User(Transfers, Time),
    Player(Box<Player>),
    Reader(Box<Reader>),
}

/// The reader of pages, and the page under way, which the connections share.
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
    loaded: Vec<Page>,
}

/// The next step of a connection after a reply.
enum Then {
    /// It asks for another one at that time; [`Time::MAX`] for never.
    Ask(Time),
    /// It waits for the others.
    Wait,
    /// The page is complete, and all ask for the next one at that time.
    AllAsk(Time),
}

impl Wishes {
    /// The next reply in packets, and the request for it in bytes; none if none is left.
    fn wish(&mut self, cfg: &Group, now: Time) -> Option<(u32, u16)> {
        match self {
            Wishes::User(law, _) => law.next(),
            Wishes::Player(player) => Some(player.wish(cfg, now)),
            Wishes::Reader(reader) => reader.wish(now),
        }
    }

    /// A reply of so many packets is complete.
    fn next(&mut self, cfg: &Group, now: Time, packets: u32, bounds: &[Time]) -> Then {
        match self {
            Wishes::User(law, stop) => {
                let due = law.think().map(|think| now + think);
                Then::Ask(due.filter(|due| *due < *stop).unwrap_or(Time::MAX))
            }
            Wishes::Player(player) => Then::Ask(player.next(cfg, now, packets, bounds)),
            Wishes::Reader(reader) => reader.next(now),
        }
    }
}

impl Reader {
    fn new(pages: &Pages, (start, stop): (Time, Time), rng: Rng) -> Self {
        Reader {
            pages: pages.clone(),
            stop,
            rng,
            left: pages.count,
            unasked: 0,
            missing: 0,
            packets: 0,
            begun: start,
            loaded: Vec::new(),
        }
    }

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
    fn next(&mut self, now: Time) -> Then {
        self.missing -= 1;
        if self.unasked > 0 {
            // Time must pass, as between transfers.
            return Then::Ask(now + Duration::from_nanos(1));
        }
        if self.missing > 0 {
            return Then::Wait;
        }
        self.loaded.push(Page { start: self.begun, end: now, packets: self.packets });
        if self.left == Some(0) {
            return Then::Wait;
        }
        let due = now + time_to_think(&self.pages.think, &mut self.rng);
        if due < self.stop { Then::AllAsk(due) } else { Then::Wait }
    }
}

impl Client {
    /// The client of a flow whose application [asks](App::asks); its connections have the numbers from `id` on.
    pub fn new(id: u32, cfg: &Group, spec: &FlowSpec, app: &App, rng: Rng, bounds: &[Time]) -> Self {
        let stop = spec.stop.unwrap_or(Time::MAX);
        let (count, connection, wishes) = match app {
            &App::Transfers { size, think, count, connection, request } => {
                let law = Transfers::new((size, think), request, count, rng);
                (1, connection, Wishes::User(law, stop))
            }
            App::Video(video) => {
                let player = Player::new(video, stop, rng, bounds);
                (1, Connection::Persistent, Wishes::Player(Box::new(player)))
            }
            App::Pages(pages) => {
                let reader = Reader::new(pages, (spec.start, stop), rng);
                (pages.connections, pages.connection, Wishes::Reader(Box::new(reader)))
            }
            App::Bulk | App::Paced(_) | App::Responsiveness(_) | App::Connection { .. } => {
                unreachable!("nobody asks for their data")
            }
        };
        let due = if spec.start < stop { spec.start } else { Time::MAX };
        let exchange = |i| Exchange::new(id + i, cfg, connection, spec.dscp, due, bounds);
        Client { id, connections: (0..count).map(exchange).collect(), wishes }
    }

    pub fn due(&self) -> Time {
        self.connections.iter().map(Exchange::due).min().unwrap_or(Time::MAX)
    }

    #[inline(never)]
    pub fn advance(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        self.advance_server(cfg, now, host);
        self.advance_client(cfg, now, host);
    }

    /// The time at which a timer at the senders' end is due.
    pub fn server_due(&self) -> Time {
        self.connections.iter().map(Exchange::server_due).min().unwrap_or(Time::MAX)
    }

    /// Runs the timers at the senders' end, each at its time.
    pub fn advance_server(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        while let Some((due, i)) = first(&self.connections, Exchange::server_due, now) {
            self.connections[i].advance_server(cfg, due, host);
        }
    }

    /// Runs the timers at the receivers' end, each at its time.
    pub fn advance_client(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        while let Some((due, i)) = first(&self.connections, Exchange::client_due, now) {
            let connection = &mut self.connections[i];
            if !connection.asks_first(due) {
                connection.on_timer(cfg, due, host);
            } else if let Some(wish) = self.wishes.wish(cfg, due) {
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
            if let Some(packets) = self.connections[number].on_packet_of_client(cfg, now, pkt, host) {
                match self.wishes.next(cfg, now, packets, host.bounds()) {
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

    /// The connections, the pages that were loaded, and what a video measured.
    pub fn finish(self, bounds: &[Time]) -> (impl Iterator<Item = TcpFlow>, Vec<Page>, Vec<VideoSegment>) {
        let (pages, video) = match self.wishes {
            Wishes::User(..) => (Vec::new(), Vec::new()),
            Wishes::Player(player) => (Vec::new(), player.finish(bounds)),
            Wishes::Reader(reader) => (reader.loaded, Vec::new()),
        };
        (self.connections.into_iter().map(|exchange| exchange.tcp), pages, video)
    }
}

/// The connection with the first thing to do at or before `now`, and when it is due.
fn first(all: &[Exchange], due: impl Fn(&Exchange) -> Time, now: Time) -> Option<(Time, usize)> {
    let first = all.iter().enumerate().map(|(i, exchange)| (due(exchange), i)).min()?;
    (first.0 <= now && first.0 != Time::MAX).then_some(first)
}
