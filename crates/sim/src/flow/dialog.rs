//! A flow whose transfers are asked for: a client at the receiver's end, the server at the sender's.
//!
//! The ends are ahead of the clock by different times, so each touches only what is its own, and learns
//! of the other from packets: the server when a request arrives, the client when the reply does. A
//! request is a packet on the way of acknowledgments with the number 0, which no acknowledgment has; it
//! carries its own number where those carry their connection.

use quell_aqm::Rng;
use quell_units::Time;

use super::{Application, Direction, Group, Host, Server, TcpFlow, time_to_think, whole_packets};
use crate::network::{Connection, Distribution};
use crate::packet::{ACK_BYTES, Kind, Pkt};
use quell_tcp::RttEstimator;

/// The flow.
pub(crate) struct Dialog {
    pub tcp: TcpFlow,
    /// How many requests the server has answered: the number of the next one.
    answered: u8,
    client: Client,
}

/// What a client does with its transfers.
pub(crate) struct Habits {
    pub size: Distribution,
    pub think: Distribution,
    /// The size of a request in bytes.
    pub request: Distribution,
    /// How many transfers; `None` for no end.
    pub count: Option<u32>,
    pub connection: Connection,
}

struct Client {
    habits: Habits,
    rng: Rng,
    stop: Time,
    /// What it waits for.
    phase: Phase,
    /// When it asks, or asks again.
    due: Time,
    /// The timer of a request that is not answered.
    timer: RttEstimator,
    /// The request sent last.
    request: Pkt,
    /// The reply to it in packets, and when it was asked for: what the server finds in the request.
    asked: (u32, Time),
    /// The number of the reply's first packet.
    first: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// For its own next request.
    Thinking,
    /// For the first packet of the reply.
    Asking,
    /// For the rest of the reply.
    Reading,
}

impl Dialog {
    pub fn new(
        id: u32,
        cfg: &Group,
        habits: Habits,
        dscp: u8,
        rng: Rng,
        (start, stop): (Time, Time),
        bounds: &[Time],
    ) -> Self {
        let app = Application::Replies(Box::new(Server::new(habits.connection)));
        let mut request = Pkt::new(Kind::Ack, id, u8::MAX, 0, 0);
        request.set_dscp(dscp);
        Dialog {
            tcp: TcpFlow::new(id, cfg, app, Time::MAX, Time::MAX, bounds),
            answered: 0,
            client: Client {
                habits,
                rng,
                stop,
                phase: Phase::Thinking,
                due: if start < stop { start } else { Time::MAX },
                timer: RttEstimator::new(&cfg.tcp),
                request,
                asked: (0, start),
                first: 1,
            },
        }
    }

    pub fn due(&self) -> Time {
        self.tcp.due().min(self.client.due)
    }

    #[inline(never)]
    pub fn advance(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        self.tcp.advance_sender(cfg, now, host);
        self.advance_client(cfg, now, host);
    }

    /// Runs the timers at the receiver's end, each at its time.
    fn advance_client(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        loop {
            let ack = self.tcp.receiver.deadline();
            let due = ack.min(self.client.due);
            if due > now || due == Time::MAX {
                return;
            }
            if due == ack {
                self.tcp.advance_receiver(cfg, due, host);
            } else {
                host.send(due, self.client.ask(cfg, due), Direction::Back);
            }
        }
    }

    /// See [`Flow::on_packet`](super::Flow::on_packet).
    #[inline(never)]
    pub fn on_packet(&mut self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) -> Time {
        if pkt.is_ack() && pkt.seq() == 0 {
            self.tcp.advance_sender(cfg, now, host);
            self.on_request(cfg, now, pkt, host);
            return self.due();
        }
        if !pkt.is_ack() {
            self.advance_client(cfg, now, host);
        }
        self.tcp.on_packet(cfg, now, pkt, host);
        if !pkt.is_ack() {
            self.client.on_reply(now, pkt, self.tcp.receiver.next());
        }
        self.due()
    }

    /// A request reaches the server.
    fn on_request(&mut self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) {
        if pkt.epoch() != self.answered {
            return; // Answered before: it was sent twice.
        }
        self.answered = self.answered.wrapping_add(1);
        let tcp = &mut self.tcp;
        if !tcp.sender.is_done() {
            // Who asks on has all of the last reply: the request stands for acknowledgments that were lost.
            let all = cfg.ack.with(tcp.id, tcp.epoch, tcp.sender.end_of_data());
            tcp.on_packet(cfg, now, all, host);
        }
        if let Application::Replies(server) = &mut tcp.app {
            server.begin(cfg, now, self.client.asked, &mut tcp.epoch, &mut tcp.sender);
        }
        tcp.pump(cfg, now, host);
    }
}

impl Client {
    /// Asks, for the first time or again; the request to send.
    fn ask(&mut self, cfg: &Group, now: Time) -> Pkt {
        if self.phase == Phase::Thinking {
            let habits = &mut self.habits;
            habits.count = habits.count.map(|n| n - 1);
            self.asked = (whole_packets(&habits.size, &mut self.rng), now);
            let bytes = habits.request.draw(&mut self.rng) + 0.5;
            let bytes = bytes.clamp(ACK_BYTES.get() as f64, u16::MAX as f64) as u16;
            let number = self.request.epoch().wrapping_add(1);
            self.request = self.request.with(self.request.flow(), number, 0).sized(bytes);
            self.timer = RttEstimator::new(&cfg.tcp);
            self.phase = Phase::Asking;
        } else {
            self.timer.back_off(&cfg.tcp);
        }
        self.due = now + self.timer.rto();
        self.request
    }

    /// A packet has reached the receiver, which now waits for number `next`.
    fn on_reply(&mut self, now: Time, pkt: Pkt, next: u32) {
        let answers = match self.habits.connection {
            // A connection is a reply.
            Connection::Fresh => pkt.epoch() == self.request.epoch(),
            // A SYN answers the first request.
            Connection::Persistent => self.first == 1 || pkt.seq() >= self.first,
        };
        if self.phase == Phase::Thinking || !answers {
            return;
        }
        (self.phase, self.due) = (Phase::Reading, Time::MAX);
        let end = self.first.saturating_add(self.asked.0);
        if next < end {
            return;
        }
        if self.habits.connection == Connection::Persistent {
            self.first = end;
        }
        self.phase = Phase::Thinking;
        if self.habits.count != Some(0) {
            let due = now + time_to_think(&self.habits.think, &mut self.rng);
            self.due = if due < self.stop { due } else { Time::MAX };
        }
    }
}
