//! The two ends of a flow: TCP with its application, or a UDP source with its sink.
//!
//! A flow knows nothing of links or events. Its host calls each of its ends in the order of that
//! end's own time, which may run ahead of the simulation's: [`Flow::on_packet`] first does what was
//! due there before.

use std::ops::Range;
use std::sync::Arc;

use quell_aqm::{Ecn, Rng, Seed};
use quell_units::{Bytes, Duration, Time};

use crate::network::{ACK_BYTES, App, Connection, Distribution, FlowSpec, Trace, Traffic};
use crate::outcome::{FlowOutcome, FlowSegment, Transfer};
use crate::packet::{Entry, Kind, Pkt, SackTable};
use crate::source::{Clock, Transfers};
use quell_tcp::{Arrival, Config, Outgoing, Receiver, Report, Sender};

mod dialog;
mod pages;
mod timed;
mod video;
mod watched;

use dialog::{Client, Dialog};
use pages::Browser;
use timed::Timed;
use video::Player;
use watched::Watched;

/// The host of a flow: whoever runs it.
pub(crate) trait Host {
    /// Puts a packet on its way, to the receiver or from it, at `now`, which never decreases for one
    /// flow and direction.
    fn send(&mut self, now: Time, pkt: Pkt, direction: Direction);
    /// The table of what the packets on their way carry beside themselves.
    fn sacks(&mut self) -> &mut SackTable;
    /// A transfer is complete.
    fn finished(&mut self, transfer: Transfer);
    /// The sender of a flow measured a round-trip time in a segment; the warm-up is number 0.
    fn measured(&mut self, flow: u32, segment: usize, rtt: Duration);
    /// The boundaries of the measured segments: the end of the warm-up first, the end of the run last.
    fn bounds(&self) -> &[Time];
}

/// The direction of a packet.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    /// Towards the receiver.
    Forward,
    /// Towards the sender.
    Back,
}

/// Counts what one end does, segment by segment.
#[derive(Clone, Debug)]
struct Meter<T> {
    now: T,
    /// The time at which the current segment ends.
    until: Time,
    /// The segments before it; the first is the warm-up.
    done: Vec<T>,
}

impl<T: Default> Meter<T> {
    fn new(bounds: &[Time]) -> Self {
        Meter { now: T::default(), until: bounds[0], done: Vec::with_capacity(bounds.len()) }
    }

    /// The counters of the segment that `t` lies in; `t` never decreases.
    #[inline]
    fn at(&mut self, t: Time, host: &impl Host) -> &mut T {
        while t >= self.until {
            self.roll(host.bounds());
        }
        &mut self.now
    }

    #[cold]
    fn roll(&mut self, bounds: &[Time]) {
        self.done.push(std::mem::take(&mut self.now));
        self.until = bounds.get(self.done.len()).copied().unwrap_or(Time::MAX);
    }

    /// The measured segments, without the warm-up.
    fn finish(mut self, bounds: &[Time]) -> Vec<T> {
        while self.done.len() < bounds.len() {
            self.roll(bounds);
        }
        self.done.split_off(1)
    }
}

impl Meter<FlowSegment> {
    /// The sender of a flow measured a round-trip time.
    #[inline(never)]
    fn round_trip(&mut self, now: Time, rtt: Duration, flow: u32, host: &mut impl Host) {
        let counts = self.at(now, host);
        counts.rtt_samples += 1;
        counts.rtt_sum_ns += rtt.nanos();
        host.measured(flow, self.done.len(), rtt);
    }
}

/// What the TCP flows of a group share: their parameters, and their packets with flow, connection and number
/// to be filled in.
pub(crate) struct Group {
    pub tcp: Config,
    /// What a data packet brings.
    payload: u64,
    /// See [`Config::acknowledges_by_number`] and [`Config::counts_marks`].
    by_number: bool,
    counts: bool,
    /// Data for the first time, and data again.
    data: Pkt,
    again: Pkt,
    synchronize: Pkt,
    ack: Pkt,
}

impl Group {
    /// All packets have the DSCP, acknowledgments too.
    pub fn new(tcp: Config, dscp: u8) -> Self {
        let packet = |kind, bytes: Bytes, ecn| {
            let mut pkt = Pkt::new(kind, 0, 0, 0, bytes.get() as u16);
            pkt.set_ecn(ecn);
            pkt.set_dscp(dscp);
            pkt
        };
        Group {
            data: packet(Kind::Data, tcp.wire_bytes(), tcp.ecn(false)),
            again: packet(Kind::Data, tcp.wire_bytes(), tcp.ecn(true)),
            synchronize: packet(Kind::Syn, ACK_BYTES, Ecn::NotEct),
            ack: packet(Kind::Ack, ACK_BYTES, Ecn::NotEct),
            payload: tcp.payload().get(),
            by_number: tcp.acknowledges_by_number(),
            counts: tcp.counts_marks(),
            tcp,
        }
    }
}

/// What [`Flow::on_packet`] says of a packet that the flow does not take: the one that [`Flow::first_connection`] names
/// does.
pub(crate) const ELSEWHERE: Time = Time::ZERO;

/// A flow.
// Nearly all are TCP, and a box would be a cache line more for each of their packets.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Flow {
    Tcp(Arc<Group>, TcpFlow),
    /// TCP whose transfers are asked for.
    Dialog(Arc<Group>, Box<Dialog>),
    /// TCP whose transfers are asked for over several connections.
    Pages(Arc<Group>, Box<Browser>),
    /// A connection of the flow so many numbers before, which has all of it.
    Connection(u32),
    /// Any of the others, whose packets are timed.
    Timed(Box<Timed>),
    /// TCP whose window is recorded.
    Watched(Arc<Group>, Box<Watched>),
    Udp(Box<UdpFlow>),
    Trace(Box<TraceFlow>),
}

impl Flow {
    /// A flow that has not begun; a TCP flow has a configuration.
    pub fn new(id: u32, spec: &FlowSpec, cfg: Option<&Arc<Group>>, seed: Seed, bounds: &[Time]) -> Self {
        let rng = seed.indexed_stream("flow.traffic", id as u64);
        let stop = spec.stop.unwrap_or(Time::MAX);
        match (&spec.traffic, cfg) {
            (
                &Traffic::Tcp {
                    app: App::Transfers { size, think, count, connection, request: Some(request) },
                    ..
                },
                Some(cfg),
            ) => {
                let law = Transfers::new((size, think), Some(request), count, rng);
                let client = (connection, Client::User(law, stop));
                let dialog = Dialog::new(id, cfg, client, spec.dscp, (spec.start, stop), bounds);
                Flow::Dialog(Arc::clone(cfg), Box::new(dialog))
            }
            (Traffic::Tcp { app: App::Video(video), .. }, Some(cfg)) => {
                let player = Player::new(video, stop, rng, bounds);
                let client = (Connection::Persistent, Client::Player(Box::new(player)));
                let dialog = Dialog::new(id, cfg, client, spec.dscp, (spec.start, stop), bounds);
                Flow::Dialog(Arc::clone(cfg), Box::new(dialog))
            }
            (Traffic::Tcp { app: App::Pages(pages), .. }, Some(cfg)) => {
                let browser = Browser::new(id, cfg, pages, (spec.dscp, rng), (spec.start, stop), bounds);
                Flow::Pages(Arc::clone(cfg), Box::new(browser))
            }
            (&Traffic::Tcp { app: App::Connection { of }, .. }, _) => Flow::Connection(id - of),
            (Traffic::Tcp { app, .. }, Some(cfg)) => {
                let app = Application::new(app, rng);
                Flow::Tcp(Arc::clone(cfg), TcpFlow::new(id, cfg, app, spec.start, stop, bounds))
            }
            (Traffic::Udp(udp), _) => Flow::Udp(Box::new(UdpFlow {
                id,
                packet: udp.packet,
                ecn: if udp.ecn { Ecn::Ect0 } else { Ecn::NotEct },
                dscp: spec.dscp,
                clock: Clock::new(&udp.pace, rng),
                due: spec.start,
                stop,
                seq: 0,
                sent: Meter::new(bounds),
                received: Meter::new(bounds),
            })),
            (Traffic::Trace(trace), _) => {
                let mut flow = TraceFlow {
                    id,
                    trace: trace.clone(),
                    next: 0,
                    start: spec.start,
                    due: Time::MAX,
                    stop,
                    sent: Meter::new(bounds),
                    received: Meter::new(bounds),
                };
                flow.look();
                Flow::Trace(Box::new(flow))
            }
            (Traffic::Tcp { .. }, None) => unreachable!("every TCP flow has a configuration"),
        }
    }

    /// The time at which [`Flow::advance`] must be called next; [`Time::MAX`] for never.
    #[inline]
    pub fn due(&self) -> Time {
        match self {
            Flow::Tcp(_, f) => f.due(),
            Flow::Dialog(_, f) => f.due(),
            Flow::Pages(_, f) => f.due(),
            Flow::Connection(_) => Time::MAX,
            Flow::Timed(f) => f.due(),
            Flow::Watched(_, f) => f.due(),
            Flow::Udp(f) => f.due,
            Flow::Trace(f) => f.due,
        }
    }

    /// Does everything due at or before `now`.
    pub fn advance(&mut self, now: Time, host: &mut impl Host) {
        match self {
            Flow::Tcp(cfg, f) => f.advance(cfg, now, host),
            Flow::Dialog(cfg, f) => f.advance(cfg, now, host),
            Flow::Pages(cfg, f) => f.advance(cfg, now, host),
            Flow::Connection(_) => {}
            Flow::Timed(f) => f.advance(now, host),
            Flow::Watched(cfg, f) => f.advance(cfg, now, host),
            Flow::Udp(f) => f.advance(now, host),
            Flow::Trace(f) => f.advance(now, host),
        }
    }

    /// A packet reaches its end: data the receiver, an acknowledgment the sender. Returns [`Flow::due`] if that may be
    /// earlier than before, else any later time; or [`ELSEWHERE`].
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, pkt: Pkt, host: &mut impl Host) -> Time {
        match self {
            Flow::Tcp(cfg, f) => f.on_packet(cfg, now, pkt, host),
            other => other.on_packet_of_few(now, pkt, host),
        }
    }

    /// [`Flow::on_packet`] of what few flows are.
    #[inline(never)]
    fn on_packet_of_few(&mut self, now: Time, pkt: Pkt, host: &mut impl Host) -> Time {
        match self {
            Flow::Tcp(cfg, f) => f.on_packet(cfg, now, pkt, host),
            Flow::Dialog(cfg, f) => f.on_packet(cfg, now, pkt, host),
            Flow::Pages(cfg, f) => f.on_packet(cfg, now, pkt, host),
            Flow::Connection(_) => ELSEWHERE,
            Flow::Timed(f) => f.on_packet(now, pkt, host),
            Flow::Watched(cfg, f) => f.on_packet(cfg, now, pkt, host),
            Flow::Udp(f) => {
                *f.received.at(now, host) += pkt.bytes() as u64;
                Time::MAX
            }
            Flow::Trace(f) => {
                *f.received.at(now, host) += pkt.bytes() as u64;
                Time::MAX
            }
        }
    }

    /// Times its packets; it has not begun.
    pub fn timed(self, bounds: &[Time]) -> Self {
        match self {
            Flow::Connection(_) => self, // The first one times those of all.
            flow => Flow::Timed(Box::new(Timed::new(flow, bounds))),
        }
    }

    /// The beginning of the transfer that a packet of data brings a part of, and which of its connections brings it;
    /// `None` if it makes none, or the packet is not of the one under way.
    fn transfer_of(&self, pkt: Pkt) -> Option<(usize, Time)> {
        let (connection, tcp) = match self {
            Flow::Tcp(_, f) => (0, f),
            Flow::Dialog(_, f) => (0, &f.exchange.tcp),
            Flow::Watched(_, f) => (0, &f.tcp),
            Flow::Pages(_, f) => f.tcp(pkt),
            _ => return None,
        };
        Some((connection, tcp.transfer_of(pkt)?))
    }

    /// Records its window at every step until `end`, if it is TCP without requests; it has not begun.
    pub fn watched(self, step: Duration, end: Time) -> Self {
        match self {
            Flow::Tcp(cfg, f) => Flow::Watched(cfg, Box::new(Watched::new(f, step, end))),
            other => other,
        }
    }

    /// The number of flows by which the one that it is a connection of comes before it; 0 if it is none.
    pub fn first_connection(&self) -> u32 {
        match self {
            Flow::Connection(before) => *before,
            _ => 0,
        }
    }

    /// Adds what was measured at its ends to `outcomes`, which has that of each flow before it; of all connections of
    /// pages with the first.
    pub fn finish(self, class: u16, bounds: &[Time], outcomes: &mut Vec<FlowOutcome>) {
        let ends = |sent: Meter<FlowSegment>, received: Meter<u64>| {
            let mut segments = sent.finish(bounds);
            for (s, r) in segments.iter_mut().zip(received.finish(bounds)) {
                s.delivered_bytes = r;
            }
            FlowOutcome { class, segments, ..FlowOutcome::default() }
        };
        outcomes.push(match self {
            Flow::Tcp(_, f) => ends(f.sent, f.received),
            Flow::Dialog(_, f) => {
                let (tcp, video) = f.finish(bounds);
                FlowOutcome { video, ..ends(tcp.sent, tcp.received) }
            }
            Flow::Pages(_, f) => {
                let first = outcomes.len();
                let (connections, pages) = f.finish();
                outcomes.extend(connections.map(|tcp| ends(tcp.sent, tcp.received)));
                outcomes[first].pages = pages;
                return;
            }
            Flow::Connection(_) => return,
            Flow::Timed(f) => return f.finish(class, bounds, outcomes),
            Flow::Watched(cfg, mut f) => {
                f.finish(&cfg);
                FlowOutcome { windows: f.windows, ..ends(f.tcp.sent, f.tcp.received) }
            }
            Flow::Udp(f) => ends(f.sent, f.received),
            Flow::Trace(f) => ends(f.sent, f.received),
        });
    }
}

pub(crate) struct TcpFlow {
    id: u32,
    /// The number of the flow's open connection.
    epoch: u8,
    sender: Sender,
    receiver: Receiver,
    app: Application,
    /// The time at which the application acts next: begins, stops, or has thought enough.
    app_due: Time,
    stop: Time,
    sent: Meter<FlowSegment>,
    /// Bytes.
    received: Meter<u64>,
}

enum Application {
    Bulk,
    Paced(Box<Paced>),
    Transfers(Box<(Transfers, Server)>),
    /// Transfers that the other end asks for.
    Replies(Box<Server>),
}

/// A source that hands over data by its own clock.
struct Paced {
    clock: Clock,
    /// The time since which all of it is acknowledged.
    idle_since: Option<Time>,
}

/// A sender of one transfer after the other.
struct Server {
    connection: Connection,
    /// The transfer under way: its size and when it began.
    current: Option<(u32, Time)>,
    /// The time at which the last one was completed.
    last: Option<Time>,
}

impl Application {
    fn new(app: &App, rng: Rng) -> Self {
        match *app {
            App::Bulk => Application::Bulk,
            App::Paced(ref pace) => {
                Application::Paced(Box::new(Paced { clock: Clock::new(pace, rng), idle_since: None }))
            }
            App::Transfers { size, think, count, connection, .. } => {
                let law = Transfers::new((size, think), None, count, rng);
                Application::Transfers(Box::new((law, Server::new(connection))))
            }
            App::Video(_) | App::Pages(_) | App::Connection { .. } => unreachable!("their receivers ask"),
        }
    }
}

impl Server {
    fn new(connection: Connection) -> Self {
        Server { connection, current: None, last: None }
    }

    /// Begins a transfer of so many packets at `now`; `start` is when its time begins to count.
    fn begin(
        &mut self,
        cfg: &Group,
        now: Time,
        (packets, start): (u32, Time),
        epoch: &mut u8,
        sender: &mut Sender,
    ) {
        self.current = Some((packets, start));
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
        sender.provide(packets);
    }

    /// Records the transfer under way, if there is one.
    fn complete(&mut self, flow: u32, now: Time, host: &mut impl Host) -> bool {
        let Some((packets, start)) = self.current.take() else { return false };
        self.last = Some(now);
        host.finished(Transfer { flow, start, end: now, packets });
        true
    }
}

impl TcpFlow {
    fn new(id: u32, cfg: &Group, app: Application, app_due: Time, stop: Time, bounds: &[Time]) -> Self {
        TcpFlow {
            id,
            epoch: 0,
            sender: Sender::new(&cfg.tcp),
            receiver: Receiver::new(),
            app,
            app_due,
            stop,
            sent: Meter::new(bounds),
            received: Meter::new(bounds),
        }
    }

    #[inline]
    fn due(&self) -> Time {
        self.app_due.min(self.sender.deadline()).min(self.receiver.deadline())
    }

    /// When the transfer began that a packet brings a part of. Asked by the receiver's end about what the sender's
    /// knows: before the first packet of a transfer is there, the sender is not further than that.
    fn transfer_of(&self, pkt: Pkt) -> Option<Time> {
        let server = match &self.app {
            Application::Transfers(t) => &t.1,
            Application::Replies(server) => server,
            Application::Bulk | Application::Paced(_) => return None,
        };
        let (packets, begun) = server.current?;
        let end = self.sender.end_of_data();
        let part = pkt.epoch() == self.epoch && (end.saturating_sub(packets)..end).contains(&pkt.seq());
        (part && !pkt.is_syn()).then_some(begun)
    }

    fn advance(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        self.advance_sender(cfg, now, host);
        self.advance_receiver(cfg, now, host);
    }

    /// The ends are ahead of the clock by different times: what the sender will do until `now` is
    /// known only when the acknowledgments until then are, and the receiver's packets say nothing
    /// about that.
    #[inline]
    fn advance_sender(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
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
    fn advance_receiver(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        let due = self.receiver.deadline();
        if due <= now && due != Time::MAX {
            self.receiver.on_timer();
            self.acknowledge(cfg, due, false, host);
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
                    server.begin(cfg, now, (packets, now), &mut self.epoch, &mut self.sender);
                }
                self.app_due = Time::MAX;
            }
            Application::Replies(_) => self.app_due = Time::MAX,
        }
    }

    /// All that the application gave is acknowledged. A transfer under way is complete: record it, think,
    /// and go on.
    fn on_all_acknowledged(&mut self, now: Time, host: &mut impl Host) {
        match &mut self.app {
            Application::Bulk => {}
            Application::Paced(p) => {
                p.idle_since.get_or_insert(now);
            }
            Application::Transfers(t) => {
                let (law, server) = &mut **t;
                if server.complete(self.id, now, host) {
                    self.app_due = law.think().map_or(Time::MAX, |think| (now + think).min(self.stop));
                }
            }
            Application::Replies(server) => {
                server.complete(self.id, now, host);
            }
        }
    }

    /// See [`Flow::on_packet`].
    #[inline(always)]
    fn on_packet(&mut self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) -> Time {
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
            self.on_all_acknowledged(now, host);
            return self.due();
        }
        self.sender.deadline()
    }

    /// Sends new packets.
    #[inline(always)]
    fn send_new(&mut self, cfg: &Group, now: Time, new: Range<u32>, host: &mut impl Host) {
        self.sent.at(now, host).sent_packets += u64::from(new.end - new.start);
        for seq in new {
            host.send(now, cfg.data.with(self.id, self.epoch, seq), Direction::Forward);
        }
    }

    #[inline(always)]
    fn on_data(&mut self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) {
        let arrival = Arrival {
            epoch: pkt.epoch(),
            syn: pkt.is_syn(),
            seq: pkt.seq(),
            ce: pkt.is_ce(),
            cwr: pkt.is_cwr(),
        };
        let sent = if cfg.tcp.measures_delay() { host.sacks().take(pkt).copied() } else { None };
        let Some(received) = self.receiver.on_packet(&cfg.tcp, now, arrival) else { return };
        if let Some(Entry::Sent(sent)) = sent {
            self.receiver.on_delay(now - sent);
        }
        if received.new {
            *self.received.at(now, host) += cfg.payload;
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
            self.on_all_acknowledged(now, host);
        }
        self.pump(cfg, now, host);
    }

    fn acknowledge(&mut self, cfg: &Group, now: Time, syn: bool, host: &mut impl Host) {
        let owed = self.receiver.acknowledgment(syn);
        let mut ack = cfg.ack.with(self.id, owed.epoch, owed.next);
        ack.set_ece(owed.ece);
        if self.receiver.reports(&cfg.tcp) {
            self.report(cfg, &mut ack, host);
        }
        host.send(now, ack, Direction::Back);
    }

    /// What an acknowledgment carries beside itself.
    #[inline(never)]
    fn report(&mut self, cfg: &Group, ack: &mut Pkt, host: &mut impl Host) {
        let report = self.receiver.report(&cfg.tcp);
        if !report.only_marks().is_some_and(|marks| ack.set_marks(marks)) {
            ack.set_sack(host.sacks().put(Entry::Report(report)));
        }
    }

    /// Sends all that may be sent now.
    fn pump(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        if !self.sender.only_window() {
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
                    pkt.set_sack(host.sacks().put(Entry::Sent(now)));
                }
                pkt
            }
        };
        host.send(now, pkt, Direction::Forward);
    }
}

pub(crate) struct UdpFlow {
    id: u32,
    packet: Distribution,
    ecn: Ecn,
    dscp: u8,
    clock: Clock,
    /// The time at which the next packet goes, or the source looks again.
    due: Time,
    stop: Time,
    seq: u32,
    sent: Meter<FlowSegment>,
    /// Bytes.
    received: Meter<u64>,
}

impl UdpFlow {
    fn advance(&mut self, now: Time, host: &mut impl Host) {
        while self.due <= now && self.due != Time::MAX {
            let at = self.due;
            self.due = if at >= self.stop { Time::MAX } else { self.step(at, host) };
        }
    }

    /// Sends what is due at `at` and says when the next packet is.
    fn step(&mut self, at: Time, host: &mut impl Host) -> Time {
        let rate = match self.clock.rate(at) {
            Ok(rate) => rate,
            Err(later) => return later,
        };
        let bytes = self.clock.bytes(&self.packet);
        let mut pkt = Pkt::new(Kind::Datagram, self.id, 0, self.seq, bytes);
        pkt.set_ecn(self.ecn);
        pkt.set_dscp(self.dscp);
        self.seq = self.seq.wrapping_add(1);
        self.sent.at(at, host).sent_packets += 1;
        host.send(at, pkt, Direction::Forward);
        self.clock.after(at, rate, (f64::from(bytes), self.packet.mean()))
    }
}

/// The packets of a trace.
pub(crate) struct TraceFlow {
    id: u32,
    trace: Trace,
    /// The number of the next packet.
    next: usize,
    start: Time,
    /// The time at which the next packet goes.
    due: Time,
    stop: Time,
    sent: Meter<FlowSegment>,
    /// Bytes.
    received: Meter<u64>,
}

impl TraceFlow {
    fn advance(&mut self, now: Time, host: &mut impl Host) {
        while self.due <= now
            && let Some(arrival) = self.trace.arrivals().get(self.next)
        {
            let pkt = Pkt::recorded(self.id, arrival);
            self.sent.at(self.due, host).sent_packets += 1;
            host.send(self.due, pkt, Direction::Forward);
            self.next += 1;
            self.look();
        }
    }

    /// Finds out when the next packet goes.
    fn look(&mut self) {
        let next = self.trace.arrivals().get(self.next);
        let at = next.map_or(Time::MAX, |arrival| self.start + (arrival.time - Time::ZERO));
        self.due = if at >= self.stop { Time::MAX } else { at };
    }
}
