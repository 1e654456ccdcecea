//! The two ends of a TCP flow, and the application at its sender.

use std::ops::Range;

use quell_aqm::{Ecn, Rng};
use quell_tcp::{Arrival, Config, Outgoing, Receiver, Report, Sender};
use quell_units::Time;

use super::host::{Direction, Host, Meter, Received};
use crate::network::{App, Connection};
use crate::outcome::{FlowSegment, Transfer};
use crate::packet::{Entry, Kind, Pkt};
use crate::source::{Clock, Transfers};

/// What the TCP flows of a group share: their parameters, and their packets with flow, connection and number
/// to be filled in.
pub(crate) struct Group {
    pub tcp: Config,
    /// What a data packet brings.
    pub payload: u64,
    /// See [`Config::acknowledges_by_number`] and [`Config::counts_marks`].
    by_number: bool,
    counts: bool,
    /// See [`Config::asks_host`].
    asks_host: bool,
    /// Data for the first time, and data again.
    data: Pkt,
    again: Pkt,
    synchronize: Pkt,
    pub ack: Pkt,
}

impl Group {
    /// All packets have the DSCP, acknowledgments too.
    pub fn new(tcp: Config, dscp: u8) -> Self {
        let packet = |kind, bytes: u16, ecn| {
            let mut pkt = Pkt::new(kind, 0, 0, 0, bytes);
            pkt.set_ecn(ecn);
            pkt.set_dscp(dscp);
            pkt
        };
        let mut again = packet(Kind::Data, tcp.wire_bytes().get() as u16, tcp.ecn(true));
        if tcp.tells_again() {
            again.set_again();
        }
        Group {
            data: packet(Kind::Data, tcp.wire_bytes().get() as u16, tcp.ecn(false)),
            again,
            synchronize: packet(Kind::Syn, tcp.syn_bytes(), Ecn::NotEct),
            ack: packet(Kind::Ack, tcp.ack_bytes(0), Ecn::NotEct),
            payload: tcp.payload().get(),
            by_number: tcp.acknowledges_by_number(),
            counts: tcp.counts_marks(),
            asks_host: tcp.asks_host(),
            tcp,
        }
    }
}

pub(crate) struct TcpFlow {
    pub id: u32,
    /// The number of the flow's open connection.
    pub epoch: u8,
    pub sender: Sender,
    pub receiver: Receiver,
    pub app: Application,
    /// The time at which the application acts next: begins, stops, or has thought enough.
    pub app_due: Time,
    /// The receiver waits for this number when it has all of the transfer under way; 0, which it never waits for, if
    /// there is none that it has not all of.
    whole: u32,
    stop: Time,
    pub sent: Meter<FlowSegment>,
    /// Bytes.
    pub received: Received,
}

pub(crate) enum Application {
    Bulk,
    Paced(Box<Paced>),
    Transfers(Box<(Transfers, Server)>),
    /// Transfers that the other end asks for.
    Replies(Box<Server>),
}

/// A source that hands over data by its own clock.
pub(crate) struct Paced {
    clock: Clock,
    /// The time since which all of it is acknowledged.
    idle_since: Option<Time>,
}

/// A sender of one transfer after the other.
pub(crate) struct Server {
    connection: Connection,
    /// The transfer under way.
    current: Option<Current>,
    /// The time at which the last one was acknowledged.
    last: Option<Time>,
}

/// A transfer as it is wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub packets: u32,
    /// The request for it in bytes; 0 if nobody asks.
    pub request: u16,
    /// The time from which its own counts.
    pub start: Time,
}

/// A transfer under way.
#[derive(Clone, Copy)]
struct Current {
    wanted: Wanted,
    /// The time at which the receiver had all of it, once it has. The receiver's end writes this, and the sender's reads
    /// it when an acknowledgment of all has come.
    end: Option<Time>,
}

impl Application {
    pub fn new(app: &App, rng: Rng) -> Self {
        match *app {
            App::Bulk => Application::Bulk,
            App::Paced(ref pace) => {
                Application::Paced(Box::new(Paced { clock: Clock::new(pace, rng), idle_since: None }))
            }
            App::Transfers { size, think, count, connection, .. } => {
                let law = Transfers::new((size, think), None, count, rng);
                Application::Transfers(Box::new((law, Server::new(connection))))
            }
            App::Video(_) | App::Pages(_) | App::Responsiveness(_) | App::Connection { .. } => {
                unreachable!("their clients ask")
            }
        }
    }
}

impl Server {
    pub fn new(connection: Connection) -> Self {
        Server { connection, current: None, last: None }
    }

    /// Begins a transfer at `now`. Returns the number that the receiver waits for when it has all of it.
    fn begin(&mut self, cfg: &Group, now: Time, wanted: Wanted, epoch: &mut u8, sender: &mut Sender) -> u32 {
        self.current = Some(Current { wanted, end: None });
        match self.connection {
            Connection::Fresh if self.last.is_some() => {
                *epoch = epoch.wrapping_add(1);
                sender.reopen(&cfg.tcp);
            }
            Connection::Persistent if self.last.is_some_and(|last| now - last > sender.rto()) => {
                sender.restart_after_idle(&cfg.tcp);
            }
            _ => {}
        }
        sender.provide(wanted.packets);
        sender.end_of_data()
    }

    /// All of the transfer under way is acknowledged, if there is one: records it.
    fn acknowledged(&mut self, cfg: &Group, flow: u32, now: Time, host: &mut impl Host) -> bool {
        let Some(Current { wanted, end }) = self.current.take() else { return false };
        self.last = Some(now);
        // The receiver has all of what it acknowledges.
        let end = end.unwrap_or(now);
        host.finished(wanted.finished(flow, cfg.payload, (end, Some(now))));
        true
    }

    /// The transfer that the receiver has all of, and the sender does not know it.
    fn unacknowledged(&self, cfg: &Group, flow: u32) -> Option<Transfer> {
        let Current { wanted, end } = self.current?;
        Some(wanted.finished(flow, cfg.payload, (end?, None)))
    }
}

impl Wanted {
    fn finished(self, flow: u32, payload: u64, (end, acknowledged): (Time, Option<Time>)) -> Transfer {
        let Wanted { packets, request, start } = self;
        let bytes = u64::from(packets) * payload;
        Transfer { flow, start, end, acknowledged, packets, bytes, request, alone: None }
    }
}

impl TcpFlow {
    pub fn new(id: u32, cfg: &Group, app: Application, app_due: Time, stop: Time, bounds: &[Time]) -> Self {
        TcpFlow {
            id,
            epoch: 0,
            sender: Sender::new(&cfg.tcp),
            receiver: Receiver::new(),
            app,
            app_due,
            whole: 0,
            stop,
            sent: Meter::new(bounds),
            received: Received::new(bounds, None),
        }
    }

    #[inline]
    pub fn due(&self) -> Time {
        self.app_due.min(self.sender.deadline()).min(self.receiver.deadline())
    }

    /// The time at which something is due at the sender's end.
    pub fn sender_due(&self) -> Time {
        self.app_due.min(self.sender.deadline())
    }

    /// When the transfer began that a packet brings a part of. Asked by the receiver's end about what the sender's
    /// knows: before the first packet of a transfer is there, the sender is not further than that.
    pub fn transfer_of(&self, pkt: Pkt) -> Option<Time> {
        let Wanted { packets, start, .. } = self.server()?.current?.wanted;
        let end = self.sender.end_of_data();
        let part = pkt.epoch() == self.epoch && (end.saturating_sub(packets)..end).contains(&pkt.seq());
        (part && !pkt.is_syn()).then_some(start)
    }

    /// The sender of transfers, if it makes some.
    fn server(&self) -> Option<&Server> {
        match &self.app {
            Application::Transfers(t) => Some(&t.1),
            Application::Replies(server) => Some(server),
            Application::Bulk | Application::Paced(_) => None,
        }
    }

    /// The transfer that its receiver has all of, and its sender does not know it.
    pub fn unacknowledged(&self, cfg: &Group) -> Option<Transfer> {
        self.server()?.unacknowledged(cfg, self.id)
    }

    /// The time at which the receiver had all of the transfer that began at `start`, from then until it is acknowledged.
    pub fn complete_at(&self, start: Time) -> Option<Time> {
        self.server()?.current.filter(|current| current.wanted.start == start)?.end
    }

    /// Begins a transfer that is asked for.
    pub fn reply(&mut self, cfg: &Group, now: Time, wanted: Wanted, host: &mut impl Host) {
        if let Application::Replies(server) = &mut self.app {
            self.whole = server.begin(cfg, now, wanted, &mut self.epoch, &mut self.sender);
        }
        self.pump(cfg, now, host);
    }

    /// New data has come over a connection. If that was the last of the transfer under way, the transfer is complete:
    /// nobody acknowledges all of it before, so its sender is not further than that.
    #[inline(always)]
    fn on_new_data(&mut self, now: Time, epoch: u8) {
        if self.receiver.next() == self.whole {
            self.on_whole(now, epoch);
        }
    }

    #[inline(never)]
    fn on_whole(&mut self, now: Time, epoch: u8) {
        let server = match &mut self.app {
            Application::Transfers(t) => &mut t.1,
            Application::Replies(server) => server,
            Application::Bulk | Application::Paced(_) => return,
        };
        if let (Some(current), true) = (&mut server.current, epoch == self.epoch) {
            current.end = Some(now);
            self.whole = 0;
        }
    }

    pub fn advance(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        self.advance_sender(cfg, now, host);
        self.advance_receiver(cfg, now, host);
    }

    /// The ends are ahead of the clock by different times: what the sender will do until `now` is
    /// known only when the acknowledgments until then are, and the receiver's packets say nothing
    /// about that.
    #[inline]
    pub fn advance_sender(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        if self.app_due.min(self.sender.deadline()) <= now {
            self.catch_up(cfg, now, host);
        }
    }

    #[inline(never)]
    fn catch_up(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        loop {
            let due = self.app_due.min(self.sender.deadline());
            if due > now || due == Time::MAX {
                return;
            }
            if self.app_due == due {
                self.on_application(cfg, due);
            } else if self.sender.takes_timer_in_order(due) {
                let new = self.sender.on_timer_in_order(&cfg.tcp, due);
                self.send_new(cfg, due, new, host);
                continue;
            } else {
                let did = self.sender.on_timer(&cfg.tcp, due);
                if did.timeout || did.fast_retransmit {
                    let sent = self.sent.at(due, host);
                    sent.timeouts += did.timeout as u64;
                    sent.fast_retransmits += did.fast_retransmit as u64;
                }
            }
            self.pump(cfg, due, host);
        }
    }

    #[inline]
    pub fn advance_receiver(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        loop {
            let due = self.receiver.deadline();
            if due > now || due == Time::MAX {
                return;
            }
            if self.receiver.on_timer(&cfg.tcp, due) {
                self.acknowledge(cfg, due, false, host);
            }
        }
    }

    fn on_application(&mut self, cfg: &Group, now: Time) {
        if now >= self.stop {
            self.app_due = Time::MAX;
            if let Application::Bulk | Application::Paced(_) = self.app {
                self.sender.stop();
            }
            return;
        }
        match &mut self.app {
            Application::Bulk => {
                self.sender.provide(u32::MAX);
                self.app_due = self.stop;
            }
            Application::Paced(p) => {
                let next = match p.clock.rate(now) {
                    Err(later) => later,
                    Ok(rate) => {
                        if p.idle_since.take().is_some_and(|since| now - since > self.sender.rto()) {
                            self.sender.restart_after_idle(&cfg.tcp);
                        }
                        self.sender.provide(1);
                        let bytes = cfg.tcp.payload().get() as f64;
                        p.clock.after(now, rate, (bytes, bytes))
                    }
                };
                self.app_due = next.min(self.stop);
            }
            Application::Transfers(t) => {
                let (law, server) = &mut **t;
                if let Some((packets, _)) = law.next() {
                    let wanted = Wanted { packets, request: 0, start: now };
                    self.whole = server.begin(cfg, now, wanted, &mut self.epoch, &mut self.sender);
                }
                self.app_due = Time::MAX;
            }
            Application::Replies(_) => self.app_due = Time::MAX,
        }
    }

    /// All that the application gave is acknowledged, a transfer under way too: record it, think, and go on.
    fn on_all_acknowledged(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        match &mut self.app {
            Application::Bulk => {}
            Application::Paced(p) => {
                p.idle_since.get_or_insert(now);
            }
            Application::Transfers(t) => {
                let (law, server) = &mut **t;
                if server.acknowledged(cfg, self.id, now, host) {
                    self.app_due = law.think().map_or(Time::MAX, |think| (now + think).min(self.stop));
                }
            }
            Application::Replies(server) => {
                server.acknowledged(cfg, self.id, now, host);
            }
        }
    }

    /// See [`Flow::on_packet`].
    #[inline(always)]
    pub fn on_packet(&mut self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) -> Time {
        if pkt.is_plain_ack() {
            if self.takes_in_order(cfg, now, pkt) {
                return self.on_ack_in_order(cfg, now, pkt.seq(), host);
            }
        } else if pkt.is_plain_data()
            && cfg.by_number
            && self.receiver.takes_in_order(&cfg.tcp, now, pkt.epoch(), pkt.seq())
        {
            let (new, next) = self.receiver.on_packet_in_order(&cfg.tcp, now, pkt.seq());
            *self.received.at(now, host) += if new { cfg.payload } else { 0 };
            self.on_new_data(now, pkt.epoch());
            if let Some(next) = next {
                let mut ack = cfg.ack.with(self.id, pkt.epoch(), next);
                if cfg.counts && !self.receiver.marks(&cfg.tcp).is_some_and(|marks| ack.set_marks(marks)) {
                    self.report(cfg, &mut ack, host);
                }
                host.send(now, ack, Direction::Back);
            }
            return self.receiver.deadline();
        }
        self.on_any_packet(cfg, now, pkt, host);
        self.due()
    }

    /// Whether [`TcpFlow::on_ack_in_order`] takes this acknowledgment.
    #[inline(always)]
    fn takes_in_order(&self, cfg: &Group, now: Time, ack: Pkt) -> bool {
        self.sender.takes_in_order(now, ack.seq())
            && self.app_due > now
            && ack.epoch() == self.epoch
            && (!cfg.counts
                || ack.marks().is_some_and(|m| self.sender.hears_no_marks(&cfg.tcp, ack.seq(), m)))
    }

    /// Whether this acknowledgment only says that the one before has come again.
    #[inline(always)]
    fn takes_duplicate(&self, cfg: &Group, now: Time, ack: Pkt) -> bool {
        !cfg.counts
            && ack.epoch() == self.epoch
            && self.app_due > now
            && self.sender.takes_plain_duplicate(now, ack.seq())
    }

    #[inline(never)]
    fn on_any_packet(&mut self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) {
        if pkt.is_plain_ack() && self.takes_duplicate(cfg, now, pkt) {
            if self.sender.on_plain_duplicate(&cfg.tcp, now) {
                self.sent.at(now, host).fast_retransmits += 1;
            }
            return self.pump(cfg, now, host);
        }
        // A timer that runs out now runs before the packet.
        if pkt.is_ack() {
            self.advance_sender(cfg, now, host);
            if pkt.is_plain_ack() && self.takes_in_order(cfg, now, pkt) {
                self.on_ack_in_order(cfg, now, pkt.seq(), host);
            } else {
                self.on_ack(cfg, now, pkt, host);
            }
        } else {
            self.advance_receiver(cfg, now, host);
            self.on_data(cfg, now, pkt, host);
        }
    }

    #[inline(always)]
    fn on_ack_in_order(&mut self, cfg: &Group, now: Time, ack: u32, host: &mut impl Host) -> Time {
        let new = self.sender.on_ack_in_order(&cfg.tcp, now, ack);
        if let Some(rtt) = self.sender.take_rtt() {
            self.sent.round_trip(now, rtt, self.id, host);
        }
        if !new.is_empty() {
            self.send_new(cfg, now, new, host);
        } else if self.sender.is_done() {
            self.on_all_acknowledged(cfg, now, host);
            return self.due();
        }
        self.sender.deadline()
    }

    /// Sends new packets.
    #[inline(always)]
    fn send_new(&mut self, cfg: &Group, now: Time, new: Range<u32>, host: &mut impl Host) {
        self.sent.at(now, host).sent_packets += u64::from(new.end - new.start);
        for seq in new {
            let pkt = cfg.data.with(self.id, self.epoch, seq);
            host.send(now, pkt, Direction::Forward);
            if cfg.asks_host {
                self.sender.on_handed_over(now, host.leaves(pkt));
            }
        }
    }

    #[inline(always)]
    fn on_data(&mut self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) {
        let sent = if cfg.tcp.measures_delay() { host.sacks().take(pkt).copied() } else { None };
        let again = match sent {
            Some(Entry::Sent(_, again)) => again && cfg.tcp.tells_again(),
            _ => pkt.is_again(),
        };
        let arrival = Arrival {
            epoch: pkt.epoch(),
            syn: pkt.is_syn(),
            seq: pkt.seq(),
            ce: pkt.is_ce(),
            cwr: pkt.is_cwr(),
            again,
        };
        let Some(received) = self.receiver.on_packet(&cfg.tcp, now, arrival) else { return };
        if let Some(Entry::Sent(sent, _)) = sent {
            self.receiver.on_delay(now - sent);
        }
        if received.new {
            *self.received.at(now, host) += cfg.payload;
            self.on_new_data(now, pkt.epoch());
        }
        if received.acknowledge {
            self.acknowledge(cfg, now, pkt.is_syn(), host);
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) {
        let entry = host.sacks().take(pkt);
        if pkt.epoch() != self.epoch {
            return;
        }
        let did = match (entry, pkt.marks()) {
            (Some(Entry::Report(report)), _) => {
                self.sender.on_report(&cfg.tcp, now, pkt.seq(), pkt.is_ece(), report)
            }
            (_, marks @ Some(_)) => {
                let report = Report { marks, ..Default::default() };
                self.sender.on_report(&cfg.tcp, now, pkt.seq(), pkt.is_ece(), &report)
            }
            _ => self.sender.on_ack(&cfg.tcp, now, pkt.seq(), pkt.is_ece(), &[]),
        };
        if did.fast_retransmit || did.ecn_response {
            let sent = self.sent.at(now, host);
            sent.fast_retransmits += did.fast_retransmit as u64;
            sent.ecn_responses += did.ecn_response as u64;
        }
        if let Some(rtt) = self.sender.take_rtt() {
            self.sent.round_trip(now, rtt, self.id, host);
        }
        if self.sender.is_done() {
            self.on_all_acknowledged(cfg, now, host);
        }
        self.pump(cfg, now, host);
    }

    fn acknowledge(&mut self, cfg: &Group, now: Time, syn: bool, host: &mut impl Host) {
        let owed = self.receiver.acknowledgment();
        let mut ack = cfg.ack.with(self.id, owed.epoch, owed.next);
        ack.set_ece(owed.ece);
        if syn {
            ack = ack.sized(cfg.tcp.syn_bytes());
        }
        if self.receiver.reports(&cfg.tcp) {
            self.report(cfg, &mut ack, host);
        }
        host.send(now, ack, Direction::Back);
    }

    /// What an acknowledgment carries beside itself.
    #[inline(never)]
    fn report(&mut self, cfg: &Group, ack: &mut Pkt, host: &mut impl Host) {
        let report = self.receiver.report(&cfg.tcp);
        let blocks = report.blocks.as_slice().len() + usize::from(report.duplicate.is_some());
        if blocks > 0 {
            *ack = ack.sized(cfg.tcp.ack_bytes(blocks.min(3)));
        }
        if !report.only_marks().is_some_and(|marks| ack.set_marks(marks)) {
            ack.set_sack(host.sacks().put(Entry::Report(report)));
        }
    }

    /// Sends all that may be sent now.
    pub fn pump(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        if !self.sender.only_window(&cfg.tcp) {
            return self.pump_special(cfg, now, host);
        }
        let end = self.sender.end_of_window(&cfg.tcp);
        while let Some(out) = self.sender.poll_below(&cfg.tcp, now, end) {
            self.send(cfg, now, out, host);
        }
    }

    #[inline(never)]
    fn pump_special(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        while let Some(out) = self.sender.poll(&cfg.tcp, now) {
            self.send(cfg, now, out, host);
        }
    }

    #[inline(never)]
    fn send(&mut self, cfg: &Group, now: Time, out: Outgoing, host: &mut impl Host) {
        let pkt = match out {
            Outgoing::Syn => cfg.synchronize.with(self.id, self.epoch, 0),
            Outgoing::Data { seq, retransmission, cwr } => {
                let sent = self.sent.at(now, host);
                sent.sent_packets += 1;
                sent.retransmitted_packets += retransmission as u64;
                let kind = if retransmission { cfg.again } else { cfg.data };
                let mut pkt = kind.with(self.id, self.epoch, seq);
                pkt.set_cwr(cwr);
                if cfg.tcp.measures_delay() {
                    pkt.set_sack(host.sacks().put(Entry::Sent(now, retransmission)));
                }
                pkt
            }
        };
        host.send(now, pkt, Direction::Forward);
        if cfg.asks_host && !pkt.is_syn() {
            self.sender.on_handed_over(now, host.leaves(pkt));
        }
    }
}
