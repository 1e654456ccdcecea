//! A connection over which a client at the receiver's end asks, and the server at the sender's replies.
//!
//! The ends are ahead of the clock by different times, so each touches only what is its own, and learns
//! of the other from packets: the server when a request arrives, the client when the reply does. A
//! request is a packet on the way of acknowledgments with the number 0, which no acknowledgment has; it
//! carries its own number where those carry their connection.

use quell_units::Time;

use super::host::{Direction, Host};
use super::tcp::{Application, Group, Server, TcpFlow, Wanted};
use crate::network::Connection;
use crate::packet::{Kind, Pkt};
use quell_tcp::RttEstimator;

/// The connection.
pub(super) struct Exchange {
    pub tcp: TcpFlow,
    /// The requests that the server has answered: the number of the next one.
    answered: u8,
    asker: Asker,
}

/// The client's side of a connection.
struct Asker {
    connection: Connection,
    /// The event that it waits for.
    phase: Phase,
    /// The time at which it asks, or asks again.
    due: Time,
    /// The timer of a request that is not answered.
    timer: RttEstimator,
    /// The request sent last.
    request: Pkt,
    /// The reply to it: what the server finds in the request.
    asked: Wanted,
    /// The number of the reply's first packet.
    first: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It waits for its own next request.
    Thinking,
    /// It waits for the first packet of the reply.
    Asking,
    /// It waits for the rest of the reply.
    Reading,
}

impl Exchange {
    /// One whose first request is due at `due`.
    pub fn new(id: u32, cfg: &Group, connection: Connection, dscp: u8, due: Time, bounds: &[Time]) -> Self {
        let app = Application::Replies(Box::new(Server::new(connection)));
        let mut request = Pkt::new(Kind::Ack, id, u8::MAX, 0, 0);
        request.set_dscp(dscp);
        Exchange {
            tcp: TcpFlow::new(id, cfg, app, Time::MAX, Time::MAX, bounds),
            answered: 0,
            asker: Asker {
                connection,
                phase: Phase::Thinking,
                due,
                timer: RttEstimator::new(&cfg.tcp),
                request,
                asked: Wanted { packets: 0, request: 0, start: due },
                first: 1,
            },
        }
    }

    pub fn due(&self) -> Time {
        self.tcp.due().min(self.asker.due)
    }

    /// The time at which a timer at the receiver's end is due.
    pub fn client_due(&self) -> Time {
        self.tcp.receiver.deadline().min(self.asker.due)
    }

    /// The time at which a timer at the sender's end is due.
    pub fn server_due(&self) -> Time {
        self.tcp.app_due.min(self.tcp.sender.deadline())
    }

    /// Runs the timers at the sender's end.
    pub fn advance_server(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        self.tcp.advance_sender(cfg, now, host);
    }

    /// Says whether what is due at `due` at the receiver's end is a request for another reply.
    pub fn asks_first(&self, due: Time) -> bool {
        due != self.tcp.receiver.deadline() && self.asker.phase == Phase::Thinking
    }

    /// Asks for a reply of so many packets, by a request of so many bytes.
    pub fn ask(&mut self, cfg: &Group, now: Time, (packets, bytes): (u32, u16), host: &mut impl Host) {
        let asker = &mut self.asker;
        asker.asked = Wanted { packets, request: bytes, start: now };
        let number = asker.request.epoch().wrapping_add(1);
        asker.request = asker.request.with(asker.request.flow(), number, 0).sized(bytes);
        asker.timer = RttEstimator::new(&cfg.tcp);
        asker.phase = Phase::Asking;
        asker.due = now + asker.timer.rto();
        host.send(now, asker.request, Direction::Back);
    }

    /// Says when it asks for the next reply; [`Time::MAX`] for never.
    pub fn ask_at(&mut self, due: Time) {
        self.asker.due = due;
    }

    /// Does what is due at the receiver's end and is not a request for another reply: an acknowledgment, or the last
    /// request again.
    pub fn on_timer(&mut self, cfg: &Group, due: Time, host: &mut impl Host) {
        if due == self.tcp.receiver.deadline() {
            return self.tcp.advance_receiver(cfg, due, host);
        }
        let asker = &mut self.asker;
        asker.timer.back_off(&cfg.tcp);
        asker.due = due + asker.timer.rto();
        host.send(due, asker.request, Direction::Back);
    }

    /// An acknowledgment or a request reaches the server, whose timers have run.
    pub fn on_packet_of_server(&mut self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) {
        if pkt.seq() != 0 {
            self.tcp.on_packet(cfg, now, pkt, host);
        } else if pkt.epoch() == self.answered {
            // Others were answered before: they were sent twice.
            self.on_request(cfg, now, host);
        }
    }

    /// The next request reaches the server.
    fn on_request(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        self.answered = self.answered.wrapping_add(1);
        let tcp = &mut self.tcp;
        if !tcp.sender.is_done() {
            // Who asks on has all of the last reply: the request stands for acknowledgments that were lost.
            let all = cfg.ack.with(tcp.id, tcp.epoch, tcp.sender.end_of_data());
            tcp.on_packet(cfg, now, all, host);
        }
        tcp.reply(cfg, now, self.asker.asked, host);
    }

    /// A packet reaches the client, whose timers have run; the size of the reply in packets if it is complete now.
    pub fn on_packet_of_client(
        &mut self,
        cfg: &Group,
        now: Time,
        pkt: Pkt,
        host: &mut impl Host,
    ) -> Option<u32> {
        self.tcp.on_packet(cfg, now, pkt, host);
        self.asker.on_reply(pkt, self.tcp.receiver.next()).then_some(self.asker.asked.packets)
    }
}

impl Asker {
    /// A packet has reached the receiver, which now waits for number `next`; whether the reply is complete now.
    fn on_reply(&mut self, pkt: Pkt, next: u32) -> bool {
        let answers = match self.connection {
            // A connection is a reply.
            Connection::Fresh => pkt.epoch() == self.request.epoch(),
            // A SYN answers the first request.
            Connection::Persistent => self.first == 1 || pkt.seq() >= self.first,
        };
        if self.phase == Phase::Thinking || !answers {
            return false;
        }
        (self.phase, self.due) = (Phase::Reading, Time::MAX);
        let end = self.first.saturating_add(self.asked.packets);
        if next < end {
            return false;
        }
        if self.connection == Connection::Persistent {
            self.first = end;
        }
        self.phase = Phase::Thinking;
        true
    }
}
