//! The two ends of a flow: TCP with its application, or a UDP source with its sink.
//!
//! A flow knows nothing of links or events. Its host calls each of its ends in the order of that
//! end's own time, which may run ahead of the simulation's: [`Flow::on_packet`] first does what was
//! due there before.

use std::sync::Arc;

use quell_aqm::Seed;
use quell_units::{Duration, Time};

use crate::network::{App, FlowSpec, Responsiveness, Traffic};
use crate::outcome::{FlowOutcome, FlowSegment, TimedSegment, Transfer};
use crate::packet::{Entry, Pkt, SackTable};
use crate::record::PacketDelays;
use crate::trace::log::Tracer;
use crate::trace::{FoundBy, Phase, SenderEvent, SenderSample, SenderWhat, TraceRequest};

mod alone;
mod client;
mod dialog;
mod host;
mod open;
mod responsiveness;
mod tcp;
mod traced;
mod video;
mod watched;

pub(crate) use alone::Alone;
use client::Client;
pub(crate) use host::{Direction, Host, Steps};
use host::{Meter, Received};
use open::OpenFlow;
use responsiveness::Test;
pub(crate) use tcp::Group;
use tcp::{Application, TcpFlow};
use traced::{Log, Recording};
use watched::Watched;

/// What [`Flow::on_packet`] says of a packet that the flow does not take: the one that [`Flow::first_connection`] names
/// does.
pub(crate) const ELSEWHERE: Time = Time::ZERO;

/// A flow.
// Nearly all are TCP, and a box would be a cache line more for each of their packets.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Flow {
    Tcp(Arc<Group>, TcpFlow),
    /// TCP whose data is asked for, over one connection or several.
    Asked(Arc<Group>, Box<Client>),
    /// A test of responsiveness, with all its connections.
    Test(Arc<Group>, Box<Test>),
    /// A connection of the flow so many numbers before, which has all of it.
    Connection(u32),
    /// Any of the others, whose packets are timed.
    Timed(Box<Timed>),
    /// TCP whose window is recorded.
    Watched(Arc<Group>, Box<Watched>),
    /// Any of the others, of which a trace is kept.
    Traced(Box<Traced>),
    /// UDP, or the packets of a trace.
    Open(Box<OpenFlow>),
}

impl Flow {
    /// A flow that has not begun; a TCP flow has a configuration.
    pub fn new(
        id: u32,
        spec: &FlowSpec,
        cfg: Option<&Arc<Group>>,
        seed: Seed,
        (bounds, steps): (&[Time], Option<&Arc<Steps>>),
    ) -> Self {
        let rng = seed.indexed_stream("flow.traffic", id as u64);
        let stop = spec.stop.unwrap_or(Time::MAX);
        match (&spec.traffic, cfg) {
            (&Traffic::Tcp { app: App::Connection { of }, .. }, _) => Flow::Connection(id - of),
            (Traffic::Tcp { app: App::Responsiveness(test), .. }, Some(cfg)) => {
                Flow::Test(Arc::clone(cfg), Box::new(Test::new(id, cfg, test, spec, rng, bounds)))
            }
            (Traffic::Tcp { app, .. }, Some(cfg)) if app.asks() => {
                let client = Client::new(id, cfg, spec, app, rng, bounds);
                Flow::Asked(Arc::clone(cfg), Box::new(client))
            }
            (Traffic::Tcp { app, .. }, Some(cfg)) => {
                let steps = steps.filter(|_| *app == App::Bulk);
                let app = Application::new(app, rng);
                let mut flow = TcpFlow::new(id, cfg, app, spec.start, stop, bounds);
                flow.received = Received::new(bounds, steps);
                Flow::Tcp(Arc::clone(cfg), flow)
            }
            (Traffic::Udp(udp), _) => Flow::Open(Box::new(OpenFlow::udp(id, udp, spec, rng, bounds))),
            (Traffic::Trace(trace), _) => Flow::Open(Box::new(OpenFlow::trace(id, trace, spec, bounds))),
            (Traffic::Tcp { .. }, None) => unreachable!("every TCP flow has a configuration"),
        }
    }

    /// The time at which [`Flow::advance`] must be called next; [`Time::MAX`] for never.
    #[inline]
    pub fn due(&self) -> Time {
        match self {
            Flow::Tcp(_, f) => f.due(),
            Flow::Asked(_, f) => f.due(),
            Flow::Test(_, f) => f.due(),
            Flow::Connection(_) => Time::MAX,
            Flow::Timed(f) => f.due(),
            Flow::Watched(_, f) => f.due(),
            Flow::Traced(f) => f.due(),
            Flow::Open(f) => f.due,
        }
    }

    /// Does everything due at or before `now`.
    pub fn advance(&mut self, now: Time, host: &mut impl Host) {
        match self {
            Flow::Tcp(cfg, f) => f.advance(cfg, now, host),
            Flow::Asked(cfg, f) => f.advance(cfg, now, host),
            Flow::Test(cfg, f) => f.advance(cfg, now, host),
            Flow::Connection(_) => {}
            Flow::Timed(f) => f.advance(now, host),
            Flow::Watched(cfg, f) => f.advance(cfg, now, host),
            Flow::Traced(f) => f.advance(now, host),
            Flow::Open(f) => f.advance(now, host),
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
    fn on_packet_of_few(&mut self, now: Time, mut pkt: Pkt, host: &mut impl Host) -> Time {
        match self {
            Flow::Tcp(cfg, f) => f.on_packet(cfg, now, pkt, host),
            Flow::Asked(cfg, f) => f.on_packet(cfg, now, pkt, host),
            Flow::Test(cfg, f) => f.on_packet(cfg, now, pkt, host),
            Flow::Connection(_) => ELSEWHERE,
            Flow::Timed(f) => f.on_packet(now, pkt, host),
            Flow::Watched(cfg, f) => f.on_packet(cfg, now, pkt, host),
            Flow::Traced(f) => f.on_packet(now, pkt, host),
            Flow::Open(f) => {
                if pkt.sack().is_some() {
                    host.sacks().receive(&mut pkt);
                }
                // A receiver takes each packet once, however often wires copied it.
                *f.received.at(now, host) += if pkt.is_repeated() { 0 } else { u64::from(pkt.bytes()) };
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
            Flow::Asked(_, f) => f.tcp(pkt),
            Flow::Watched(_, f) => (0, &f.tcp),
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

    /// Its connection of a number, if it is TCP and has one.
    fn tcp(&self, number: usize) -> Option<(&Group, &TcpFlow)> {
        match self {
            Flow::Tcp(cfg, f) => (number == 0).then_some((cfg, f)),
            Flow::Watched(cfg, f) => (number == 0).then_some((cfg, &f.tcp)),
            Flow::Asked(cfg, f) => f.connections.get(number).map(|c| (&**cfg, &c.tcp)),
            Flow::Test(cfg, f) => f.tcp(number).map(|tcp| (&**cfg, tcp)),
            Flow::Timed(f) => f.flow.tcp(number),
            Flow::Traced(f) => f.flow().tcp(number),
            Flow::Connection(_) | Flow::Open(_) => None,
        }
    }

    /// The number of its connections, from its own on, that are TCP's: the probes of a test of responsiveness on
    /// connections of their own have packets without numbers.
    fn tcp_connections(&self) -> u32 {
        match self {
            Flow::Test(_, f) => f.load(),
            Flow::Timed(f) => f.flow.tcp_connections(),
            Flow::Open(_) => 0,
            _ => u32::MAX,
        }
    }

    /// The packets of a connection that its sender knows to have arrived, of the connection open now.
    fn delivered(&self, number: usize) -> u32 {
        self.tcp(number).map_or(0, |(cfg, tcp)| tcp.sender.state(&cfg.tcp).delivered)
    }

    /// The time at which something is due at the sender's end; [`Time::MAX`] for never, and if it is not TCP.
    fn sender_due(&self) -> Time {
        match self {
            Flow::Tcp(_, f) => f.sender_due(),
            Flow::Watched(_, f) => f.tcp.sender_due(),
            Flow::Asked(_, f) => f.server_due(),
            Flow::Test(_, f) => f.sender_due(),
            Flow::Timed(f) => f.flow.sender_due(),
            Flow::Traced(f) => f.flow().sender_due(),
            Flow::Connection(_) | Flow::Open(_) => Time::MAX,
        }
    }

    /// Does everything due at the sender's end at or before `now`.
    fn advance_sender(&mut self, now: Time, host: &mut impl Host) {
        match self {
            Flow::Tcp(cfg, f) => f.advance_sender(cfg, now, host),
            Flow::Watched(cfg, f) => f.advance_sender(cfg, now, host),
            Flow::Asked(cfg, f) => f.advance_server(cfg, now, host),
            Flow::Test(cfg, f) => f.advance_sender(cfg, now, host),
            Flow::Timed(f) => f.advance_sender(now, host),
            Flow::Traced(_) | Flow::Connection(_) | Flow::Open(_) => {}
        }
    }

    /// Does everything due at the receiver's end at or before `now`.
    fn advance_receiver(&mut self, now: Time, host: &mut impl Host) {
        match self {
            Flow::Tcp(cfg, f) => f.advance_receiver(cfg, now, host),
            Flow::Watched(cfg, f) => f.tcp.advance_receiver(cfg, now, host),
            Flow::Asked(cfg, f) => f.advance_client(cfg, now, host),
            Flow::Test(cfg, f) => f.advance_receiver(cfg, now, host),
            Flow::Timed(f) => f.advance_receiver(now, host),
            Flow::Traced(_) | Flow::Connection(_) | Flow::Open(_) => {}
        }
    }

    /// Returns whether its sender asks when its host has sent its packets.
    pub fn asks_host(&self) -> bool {
        match self {
            Flow::Tcp(cfg, _) | Flow::Asked(cfg, _) | Flow::Test(cfg, _) | Flow::Watched(cfg, _) => {
                cfg.tcp.asks_host()
            }
            Flow::Timed(f) => f.flow.asks_host(),
            Flow::Traced(f) => f.flow().asks_host(),
            Flow::Connection(_) | Flow::Open(_) => false,
        }
    }

    /// The number of flows by which the one that it is a connection of comes before it; 0 if it is none.
    pub fn first_connection(&self) -> u32 {
        match self {
            Flow::Connection(before) => *before,
            _ => 0,
        }
    }

    /// The transfers that its receivers have all of, and its senders do not know it: one for each connection at most.
    pub fn unacknowledged(&self) -> Vec<Transfer> {
        match self {
            Flow::Tcp(cfg, f) => f.unacknowledged(cfg).into_iter().collect(),
            Flow::Asked(cfg, f) => f.connections.iter().filter_map(|c| c.tcp.unacknowledged(cfg)).collect(),
            Flow::Timed(f) => f.flow.unacknowledged(),
            Flow::Traced(f) => f.flow().unacknowledged(),
            Flow::Watched(cfg, f) => f.tcp.unacknowledged(cfg).into_iter().collect(),
            Flow::Test(..) | Flow::Connection(_) | Flow::Open(_) => Vec::new(),
        }
    }

    /// Adds what was measured at its ends to `outcomes`, which has that of each flow before it; of all connections of
    /// pages with the first.
    pub fn finish(self, class: u16, bounds: &[Time], outcomes: &mut Vec<FlowOutcome>) {
        let put = |sent: Meter<FlowSegment>, (received, step_bytes): (Vec<u64>, Vec<u64>)| {
            let mut segments = sent.finish(bounds);
            for (s, r) in segments.iter_mut().zip(received) {
                s.delivered_bytes = r;
            }
            FlowOutcome { class, segments, step_bytes, ..FlowOutcome::default() }
        };
        let ends = |sent, received: Received| put(sent, received.finish(bounds));
        outcomes.push(match self {
            Flow::Tcp(_, f) => ends(f.sent, f.received),
            Flow::Asked(_, f) => {
                let first = outcomes.len();
                let (connections, pages, video) = f.finish(bounds);
                outcomes.extend(connections.map(|tcp| ends(tcp.sent, tcp.received)));
                (outcomes[first].pages, outcomes[first].video) = (pages, video);
                return;
            }
            Flow::Test(_, f) => {
                let first = outcomes.len();
                let (load, probes) = f.finish();
                outcomes.extend(load.map(|tcp| ends(tcp.sent, tcp.received)));
                let none = || vec![FlowSegment::default(); bounds.len() - 1];
                let foreign = || FlowOutcome { class, segments: none(), ..FlowOutcome::default() };
                outcomes.extend(std::iter::repeat_with(foreign).take(Responsiveness::FOREIGN as usize));
                outcomes[first].responsiveness = Some(Box::new(probes));
                return;
            }
            Flow::Connection(_) => return,
            Flow::Timed(f) => return f.finish(class, bounds, outcomes),
            Flow::Traced(f) => return f.finish().finish(class, bounds, outcomes),
            Flow::Watched(cfg, mut f) => {
                f.finish(&cfg);
                FlowOutcome { windows: f.windows, ..ends(f.tcp.sent, f.tcp.received) }
            }
            Flow::Open(f) => put(f.sent, (f.received.finish(bounds), Vec::new())),
        });
    }
}

/// A flow whose packets of data are timed from end to end: they carry the time of their sending beside themselves.
pub(crate) struct Timed {
    flow: Flow,
    /// The flow does not say by itself when its packets were sent.
    stamps: bool,
    /// The beginning of the transfer whose data came last, by connection.
    last: Vec<Time>,
    counts: Meter<Counts>,
}

#[derive(Clone, Default)]
struct Counts {
    delays: PacketDelays,
    begun: u64,
    start_up_ns: u64,
}

/// Whoever runs the flow, and packets that leave it get their time.
struct Stamping<'a> {
    host: &'a mut dyn Host,
    stamps: bool,
}

impl Host for Stamping<'_> {
    fn send(&mut self, now: Time, mut pkt: Pkt, direction: Direction) {
        if self.stamps && matches!(direction, Direction::Forward) && !pkt.is_syn() {
            pkt.set_sack(self.host.sacks().put(Entry::Sent(now, pkt.is_again())));
        }
        self.host.send(now, pkt, direction);
    }
    fn leaves(&self, pkt: Pkt) -> Time {
        self.host.leaves(pkt)
    }
    fn sacks(&mut self) -> &mut SackTable {
        self.host.sacks()
    }
    fn finished(&mut self, transfer: Transfer) {
        self.host.finished(transfer);
    }
    fn measured(&mut self, flow: u32, segment: usize, rtt: Duration) {
        self.host.measured(flow, segment, rtt);
    }
    fn bounds(&self) -> &[Time] {
        self.host.bounds()
    }
}

impl Timed {
    pub fn new(flow: Flow, bounds: &[Time]) -> Self {
        let stamps = match &flow {
            Flow::Tcp(cfg, _) | Flow::Asked(cfg, _) | Flow::Test(cfg, _) | Flow::Watched(cfg, _) => {
                !cfg.tcp.measures_delay()
            }
            _ => true,
        };
        let connections = if let Flow::Asked(_, client) = &flow { client.connections.len() } else { 1 };
        Timed { flow, stamps, last: vec![Time::MAX; connections], counts: Meter::new(bounds) }
    }

    pub fn due(&self) -> Time {
        self.flow.due()
    }

    pub fn advance(&mut self, now: Time, host: &mut dyn Host) {
        self.flow.advance(now, &mut Stamping { host, stamps: self.stamps });
    }

    fn advance_receiver(&mut self, now: Time, host: &mut dyn Host) {
        self.flow.advance_receiver(now, &mut Stamping { host, stamps: self.stamps });
    }

    fn advance_sender(&mut self, now: Time, host: &mut dyn Host) {
        self.flow.advance_sender(now, &mut Stamping { host, stamps: self.stamps });
    }

    /// See [`Flow::on_packet`].
    pub fn on_packet(&mut self, now: Time, mut pkt: Pkt, host: &mut dyn Host) -> Time {
        let stamps = self.stamps;
        let mut host = Stamping { host, stamps };
        if !pkt.is_ack() {
            if let Some(Entry::Sent(sent, again)) = host.sacks().look(pkt).copied() {
                self.counts.at(now, &host).delays.record(now - sent);
                if stamps {
                    host.sacks().receive(&mut pkt);
                    pkt.clear_sack();
                    if again {
                        pkt.set_again();
                    }
                }
            }
            if let Some((connection, begun)) = self.flow.transfer_of(pkt)
                && std::mem::replace(&mut self.last[connection], begun) != begun
            {
                let counts = self.counts.at(now, &host);
                counts.begun += 1;
                counts.start_up_ns += (now - begun).nanos();
            }
        }
        self.flow.on_packet(now, pkt, &mut host)
    }

    /// Adds what was measured, as [`Flow::finish`].
    pub fn finish(self, class: u16, bounds: &[Time], outcomes: &mut Vec<FlowOutcome>) {
        let first = outcomes.len();
        self.flow.finish(class, bounds, outcomes);
        let segments = self.counts.finish(bounds).into_iter().map(|counts| TimedSegment {
            begun: counts.begun,
            start_up_ns: counts.start_up_ns,
            ..counts.delays.finish()
        });
        outcomes[first].timed = segments.collect();
    }
}

/// A flow that is traced, and its log.
pub(crate) struct Traced {
    flow: Flow,
    log: Log,
    /// The time between samples; `None` for one after each change.
    step: Option<Duration>,
    end: Time,
    tracer: Arc<Tracer>,
}

impl Traced {
    /// The trace of `flow`, whose first connection has the number `first`, if anything of it is asked for.
    pub fn around(
        flow: Flow,
        (first, connections): (u32, u32),
        request: &TraceRequest,
        cfg: Option<&Arc<Group>>,
        end: Time,
        tracer: &Arc<Tracer>,
    ) -> Flow {
        let numbers = || first..first + connections;
        let senders = cfg.is_some() && numbers().any(|n| request.senders.has(&n));
        let records = !request.links.is_none() && numbers().any(|n| request.packets.has(&n));
        if !senders && !records {
            return flow;
        }
        let log = Log::new((first, connections, flow.tcp_connections()), request, (cfg, records));
        Flow::Traced(Box::new(Traced { flow, log, step: request.step, end, tracer: Arc::clone(tracer) }))
    }

    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    pub fn due(&self) -> Time {
        self.flow.due()
    }

    pub fn advance(&mut self, now: Time, host: &mut dyn Host) {
        self.log.rest(host);
        self.advance_sender(now, host);
        self.flow.advance(now, &mut Recording { host, log: &mut self.log });
    }

    /// See [`Flow::on_packet`].
    pub fn on_packet(&mut self, now: Time, mut pkt: Pkt, host: &mut dyn Host) -> Time {
        self.log.rest(host);
        let sent = self.log.arrives(pkt);
        host.sacks().unname(&mut pkt);
        let number = (pkt.flow() - self.log.first) as usize;
        if !pkt.is_ack() {
            // A timer that runs out now, or did before, knows nothing of the packet.
            self.flow.advance_receiver(now, &mut Recording { host, log: &mut self.log });
            self.log.connections[number].on_data(pkt, sent);
            self.log.answers_syn = pkt.is_syn() && self.log.connections[number].log.tcp;
            let due = self.flow.on_packet(now, pkt, &mut Recording { host, log: &mut self.log });
            self.log.answers_syn = false;
            return due;
        }
        self.advance_sender(now, host);
        self.before(now);
        let seen = &mut self.log.connections[number];
        seen.echo = sent.or(seen.echo);
        // What it sends comes after it.
        let place = seen.log.events.len();
        let of_this = seen.log.tcp && pkt.seq() != 0 && pkt.epoch() == seen.epoch;
        let delivered = self.flow.delivered(number);
        let (ack, ece) = (pkt.seq(), pkt.is_ece());
        let due = self.flow.on_packet(now, pkt, &mut Recording { host, log: &mut self.log });
        let seen = &mut self.log.connections[number];
        if self.log.events && of_this && seen.senders {
            let newly = match pkt.epoch() == seen.epoch {
                true => self.flow.delivered(number).saturating_sub(delivered),
                false => ack.saturating_sub(1).saturating_sub(delivered),
            };
            let what = SenderWhat::Acked { ack, newly, ece };
            seen.log.events.insert(place, SenderEvent { time: now, connection: pkt.epoch(), what });
        }
        self.after(now);
        due
    }

    /// Does what is due at the sender's end, one time after the other.
    fn advance_sender(&mut self, now: Time, host: &mut dyn Host) {
        loop {
            let due = self.flow.sender_due();
            if due > now || due == Time::MAX {
                return;
            }
            self.before(due);
            self.flow.advance_sender(due, &mut Recording { host, log: &mut self.log });
            self.after(due);
        }
    }

    /// Takes the samples before `t`, until which nothing has changed at the sender.
    fn before(&mut self, t: Time) {
        let Some(step) = self.step else { return };
        for i in 0..self.log.connections.len() {
            while self.log.connections[i].next < t && self.log.connections[i].next <= self.end {
                let time = self.log.connections[i].next;
                self.sample(i, time);
                self.log.connections[i].next += step;
            }
        }
    }

    /// Something has happened at the sender at `now`.
    fn after(&mut self, now: Time) {
        if self.log.events {
            self.judge();
        }
        if self.step.is_some() {
            return;
        }
        for i in 0..self.log.connections.len() {
            self.sample(i, now);
        }
    }

    /// Losses that are repaired while the sender recovers from a timeout were found by the timer.
    fn judge(&mut self) {
        for (i, seen) in self.log.connections.iter_mut().enumerate() {
            let fresh = seen.judged.min(seen.log.events.len());
            seen.judged = seen.log.events.len();
            if fresh == seen.judged {
                continue;
            }
            let Some((cfg, tcp)) = self.flow.tcp(i) else { return };
            if tcp.sender.state(&cfg.tcp).phase == Phase::Loss {
                for event in &mut seen.log.events[fresh..] {
                    if let SenderWhat::Lost { by, .. } = &mut event.what {
                        *by = FoundBy::Timeout;
                    }
                }
            }
        }
    }

    /// Records the state of a connection, where it is not the one recorded last or samples are equally spaced.
    fn sample(&mut self, i: usize, time: Time) {
        let Some((cfg, tcp)) = self.flow.tcp(i) else { return };
        let seen = &mut self.log.connections[i];
        if !seen.senders {
            return;
        }
        let state = tcp.sender.state(&cfg.tcp);
        let counts = tcp.sent.total();
        let base = if tcp.epoch == seen.epoch { seen.delivered.0 } else { seen.all_delivered() };
        let sample = SenderSample {
            time,
            cwnd: state.cwnd,
            ssthresh: state.ssthresh,
            srtt: state.srtt,
            rtt: seen.rtt,
            rto: state.rto,
            pacing: state.pacing,
            in_flight: state.in_flight,
            delivery: state.delivery,
            phase: state.phase,
            sent: seen.sent,
            retransmitted: seen.again,
            delivered: base + u64::from(state.delivered),
            timeouts: counts.timeouts,
            fast_retransmits: counts.fast_retransmits,
            ecn_responses: counts.ecn_responses,
        };
        if tcp.epoch == seen.epoch {
            seen.delivered.1 = state.delivered;
        }
        match seen.log.samples.last_mut() {
            Some(last) if self.step.is_none() && SenderSample { time, ..*last } == sample => {}
            Some(last) if last.time == time => *last = sample,
            _ => seen.log.samples.push(sample),
        }
    }

    /// The flow, whose log goes to the tracer.
    pub fn finish(mut self) -> Flow {
        self.before(Time::MAX);
        let Traced { flow, log, tracer, .. } = self;
        let packets = log.packets.map(|way| way.into_iter().collect());
        tracer.keep_flows(log.connections.into_iter().map(|seen| seen.log).collect(), packets);
        flow
    }
}
