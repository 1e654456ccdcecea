//! A test of responsiveness under working conditions (draft-ietf-ippm-responsiveness-08): connections with data without
//! end, and a client that probes the network meanwhile.
//!
//! The client is at the receiver's end in a download and at the sender's end in an upload, the server at the other one.
//! The ends are ahead of the clock by different times, so each touches only what is its own and learns of the other from
//! packets. There is one exception, [`Load::riding`]: the sender's end writes there which packet of data carries a
//! probe, and the receiver's end reads it when it has that packet, which was sent after that.
//!
//! Nobody retransmits a probe's packet but the client, by a timer: one that is lost costs a timeout, as a lost SYN does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use quell_aqm::{Ecn, Rng};
use quell_tcp::RttEstimator;
use quell_units::{Duration, Time};

use super::host::{Direction, Host};
use super::tcp::{Application, Group, TcpFlow};
use crate::network::{FlowSpec, Responsiveness};
use crate::outcome::{ForeignProbe, LoadedProbe, Probes};
use crate::packet::{Kind, Pkt};
use crate::responsiveness::{Rpm, is_stable};

pub(crate) struct Test {
    /// The number of its first connection.
    id: u32,
    dscp: u8,
    load: Vec<Load>,
    client: Client,
}

/// A connection that makes load.
struct Load {
    tcp: TcpFlow,
    /// Sender's end: it has begun.
    begun: bool,
    /// The probes that packets of data carry: their numbers, and those of the packets, rising.
    riding: VecDeque<(u8, u32)>,
    /// Server of a download: the numbers of the last requests, which are sent again when their reply takes long.
    heard: VecDeque<u8>,
    /// Client: the number of its next probe.
    next: u8,
    /// Client: the number of probes that are not complete.
    waiting: u32,
}

struct Client {
    spec: Responsiveness,
    stop: Time,
    rng: Rng,
    /// The end of the interval.
    tick: Time,
    /// The connections of the load that were begun.
    begun: u32,
    /// Packets of data that were delivered by the end of the last interval, and in each.
    delivered: u64,
    goodputs: Vec<u64>,
    /// The moving averages of goodput, in packets; of responsiveness, once goodput is stable.
    averages: Vec<f64>,
    rpms: Vec<f64>,
    /// The time of the next probe, from each to the next one, and whether it is one on the load's connections.
    launch: Time,
    gap: Duration,
    loaded_next: bool,
    /// The number of the next probe on a connection of its own.
    number: u32,
    /// What waits for an answer, and when it is asked for again.
    waiting: BTreeMap<Asked, Waiting>,
    dues: BTreeSet<(Time, Asked)>,
    probes: Probes,
}

/// What the client waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    /// The first packet of a connection of the load (download).
    Data(u32),
    /// The next answer to a probe on a connection of its own.
    Foreign(u32),
    /// The reply to a probe on a connection of the load: the connection, and the probe's number there.
    Loaded(u32, u8),
}

struct Waiting {
    /// The time at which it was asked for first.
    start: Time,
    due: Time,
    timer: RttEstimator,
    /// It was asked for again.
    again: bool,
    /// Of a probe on a connection of its own.
    foreign: Foreign,
}

/// The state of a probe on a connection of its own.
#[derive(Clone, Copy, Default)]
struct Foreign {
    step: u8,
    /// The packets of the answer that have come, one bit each.
    got: u64,
    begun: Time,
    /// The parts that are complete.
    took: [Duration; 2],
}

/// The parts of a probe on a connection of its own.
const TCP: u8 = 0;
const TLS: u8 = 1;
const HTTP: u8 = 2;

/// Sizes on the wire in bytes: a ClientHello; the server's answer to it, certificate included; a request, and the reply
/// to it. With the handshake of TCP they come near to the 5000 that the draft estimates for a probe on a connection of
/// its own, and to less than the 1000 of one on a connection of the load.
const HELLO: u16 = 600;
const CERTIFICATE: u16 = 3600;
const REQUEST: u16 = 300;
const REPLY: u16 = 300;

/// The number of the request by which a connection of the load begins; probes have those below.
const BEGIN: u8 = u8::MAX;
/// Numbers of probes on a connection, which are used by turns; how many may be without a reply, and how many the server
/// remembers, so that none is taken for another one.
const NUMBERS: u8 = 250;
const MOST_WAITING: u32 = 100;
const REMEMBERED: usize = 128;

/// The step of a packet of a probe on a connection of its own, and its number within an answer, in the bits that other
/// packets have their connection in.
const STEP: u8 = 0b11;
const INDEX: u32 = 2;

impl Test {
    /// The test of a flow; its connections have the numbers from `id` on.
    pub fn new(
        id: u32,
        cfg: &Group,
        test: &Responsiveness,
        spec: &FlowSpec,
        rng: Rng,
        bounds: &[Time],
    ) -> Self {
        let stop = spec.stop.unwrap_or(Time::MAX);
        let load = |i| Load {
            tcp: TcpFlow::new(id + i, cfg, Application::Bulk, Time::MAX, stop, bounds),
            begun: false,
            riding: VecDeque::new(),
            heard: VecDeque::new(),
            next: 0,
            waiting: 0,
        };
        let client = Client {
            stop,
            rng,
            tick: if spec.start < stop { spec.start } else { Time::MAX },
            begun: 0,
            delivered: 0,
            goodputs: Vec::new(),
            averages: Vec::new(),
            rpms: Vec::new(),
            launch: Time::MAX,
            gap: Duration::ZERO,
            loaded_next: false,
            number: 0,
            waiting: BTreeMap::new(),
            dues: BTreeSet::new(),
            probes: Probes::default(),
            spec: test.clone(),
        };
        Test { id, dscp: spec.dscp, load: (0..test.most).map(load).collect(), client }
    }

    /// The number of connections that make load; those of the probes' own come after them.
    pub fn load(&self) -> u32 {
        self.client.spec.most
    }

    /// A connection of the load that has begun; `None` for those of probes, which have no sender of TCP.
    pub fn tcp(&self, number: usize) -> Option<&TcpFlow> {
        self.load.get(number).filter(|load| load.begun).map(|load| &load.tcp)
    }

    pub fn due(&self) -> Time {
        self.sender_due().min(self.receiver_due())
    }

    /// The time at which something is due at the sender's end.
    pub fn sender_due(&self) -> Time {
        let load = self.load.iter().map(Load::sender_due).min().unwrap_or(Time::MAX);
        if self.client.spec.upload { load.min(self.client.due()) } else { load }
    }

    fn receiver_due(&self) -> Time {
        let load = self.load.iter().map(|load| load.tcp.receiver.deadline()).min().unwrap_or(Time::MAX);
        if self.client.spec.upload { load } else { load.min(self.client.due()) }
    }

    #[inline(never)]
    pub fn advance(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        self.advance_sender(cfg, now, host);
        self.advance_receiver(cfg, now, host);
    }

    /// Does what is due at the sender's end, each at its time; at one instant the connections come first.
    pub fn advance_sender(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        loop {
            let due = self.sender_due();
            if due > now || due == Time::MAX {
                return;
            }
            match self.load.iter_mut().find(|load| load.sender_due() == due) {
                Some(load) => load.tcp.advance_sender(cfg, due, host),
                None => self.run_client(cfg, due, host),
            }
        }
    }

    /// Does what is due at the receiver's end.
    pub fn advance_receiver(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        loop {
            let due = self.receiver_due();
            if due > now || due == Time::MAX {
                return;
            }
            match self.load.iter_mut().find(|load| load.tcp.receiver.deadline() == due) {
                Some(load) => load.tcp.advance_receiver(cfg, due, host),
                None => self.run_client(cfg, due, host),
            }
        }
    }

    /// See [`Flow::on_packet`](super::Flow::on_packet).
    #[inline(never)]
    pub fn on_packet(&mut self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) -> Time {
        if pkt.is_ack() {
            self.advance_sender(cfg, now, host);
        } else {
            self.advance_receiver(cfg, now, host);
        }
        let (connection, upload) = (pkt.flow() - self.id, self.client.spec.upload);
        let at_client = pkt.is_ack() == upload;
        if connection >= self.client.spec.most {
            if at_client {
                self.on_answer(cfg, now, pkt, host);
            } else {
                self.answer(cfg, now, pkt, host);
            }
        } else if !pkt.is_ack() {
            self.on_data(cfg, now, (connection, pkt), host);
        } else if pkt.seq() != 0 {
            self.load[connection as usize].tcp.on_packet(cfg, now, pkt, host);
        } else if at_client {
            self.client.on_reply(&mut self.load, now, (connection, pkt.epoch()));
        } else {
            self.load[connection as usize].on_request(cfg, now, (pkt.epoch(), self.client.spec.unsent), host);
        }
        self.due()
    }

    /// Data of the load reaches the receiver, and perhaps a probe with it.
    fn on_data(&mut self, cfg: &Group, now: Time, (connection, pkt): (u32, Pkt), host: &mut impl Host) {
        let load = &mut self.load[connection as usize];
        load.tcp.on_packet(cfg, now, pkt, host);
        if !self.client.spec.upload {
            self.client.forget(Asked::Data(connection));
        }
        while let Some((number, _)) = self.load[connection as usize].arrived() {
            if self.client.spec.upload {
                let reply = self.packet(cfg, (self.id + connection, number, 0), REPLY, Direction::Back);
                host.send(now, reply, Direction::Back);
            } else {
                self.client.on_reply(&mut self.load, now, (connection, number));
            }
        }
    }

    /// The server answers a packet of a probe on a connection of its own.
    fn answer(&self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) {
        let (way, wire) = (self.to_client(), cfg.tcp.wire_bytes().get() as u16);
        let step = pkt.epoch() & STEP;
        for (i, bytes) in answer(step, cfg.tcp.syn_bytes(), wire).enumerate() {
            let name = (pkt.flow(), step | (i as u8) << INDEX, pkt.seq());
            host.send(now, self.packet(cfg, name, bytes, way), way);
        }
    }

    /// A packet of an answer reaches the client.
    fn on_answer(&mut self, cfg: &Group, now: Time, pkt: Pkt, host: &mut impl Host) {
        let (number, step, index) = (pkt.seq(), pkt.epoch() & STEP, pkt.epoch() >> INDEX);
        let wire = cfg.tcp.wire_bytes().get() as u16;
        let count = answer(step, cfg.tcp.syn_bytes(), wire).count();
        if self.client.on_foreign(cfg, now, (number, step, index), count) {
            self.ask(cfg, now, Asked::Foreign(number), host);
        }
    }

    /// Does the first thing that is due at the client.
    fn run_client(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        if self.client.tick == now {
            self.on_tick(cfg, now, host);
        } else if self.client.launch == now {
            self.launch(cfg, now, host);
        } else if let Some((_, asked)) = self.client.dues.first().copied() {
            let (dues, waiting) = (&mut self.client.dues, &mut self.client.waiting);
            dues.pop_first();
            let Some(waiting) = waiting.get_mut(&asked) else { return };
            waiting.timer.back_off(&cfg.tcp);
            waiting.again = true;
            waiting.due = now + waiting.timer.rto();
            dues.insert((waiting.due, asked));
            self.ask(cfg, now, asked, host);
        }
    }

    /// An interval ends: the client sees whether goodput, and then responsiveness, is stable, and else adds connections.
    fn on_tick(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        let upload = self.client.spec.upload;
        let delivered = self.load.iter().map(|load| load.delivered(upload)).sum();
        let more = self.client.end_interval(cfg, now, delivered);
        for connection in self.client.begun..self.client.begun + more {
            if upload {
                self.load[connection as usize].begin(cfg, now, host);
            } else {
                self.client.wait(cfg, now, Asked::Data(connection));
                self.ask(cfg, now, Asked::Data(connection), host);
            }
        }
        self.client.begun += more;
    }

    /// The client sends a probe: by turns one of each kind, on a connection of the load that is drawn.
    fn launch(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        let client = &mut self.client;
        let next = now + client.gap;
        client.launch = if next < client.stop { next } else { Time::MAX };
        let loaded = client.spec.most > 0 && client.loaded_next;
        client.loaded_next = !client.loaded_next;
        let asked = if loaded {
            let upload = client.spec.upload;
            let active: Vec<usize> =
                (0..self.load.len()).filter(|i| self.load[*i].delivered(upload) > 0).collect();
            let drawn = (client.rng.uniform() * active.len() as f64) as usize;
            let Some(connection) = active.get(drawn) else { return };
            let load = &mut self.load[*connection];
            if load.waiting == MOST_WAITING {
                return;
            }
            load.waiting += 1;
            let number = load.next;
            load.next = (number + 1) % NUMBERS;
            Asked::Loaded(*connection as u32, number)
        } else {
            let number = client.number;
            client.number = number.wrapping_add(1);
            Asked::Foreign(number)
        };
        client.wait(cfg, now, asked);
        self.ask(cfg, now, asked, host);
    }

    /// The client asks for something, the first time or again.
    fn ask(&mut self, cfg: &Group, now: Time, asked: Asked, host: &mut impl Host) {
        let way = self.to_server();
        let most = self.client.spec.most;
        let pkt = match asked {
            Asked::Data(connection) => self.packet(cfg, (self.id + connection, BEGIN, 0), REQUEST, way),
            Asked::Loaded(connection, number) if self.client.spec.upload => {
                let unsent = self.client.spec.unsent;
                return self.load[connection as usize].carry(number, unsent);
            }
            Asked::Loaded(connection, number) => {
                self.packet(cfg, (self.id + connection, number, 0), REQUEST, way)
            }
            Asked::Foreign(number) => {
                let Some(waiting) = self.client.waiting.get(&asked) else { return };
                let step = waiting.foreign.step;
                let flow = self.id + most + number % Responsiveness::FOREIGN;
                let bytes = [cfg.tcp.syn_bytes(), HELLO, REQUEST][usize::from(step)];
                self.packet(cfg, (flow, step, number), bytes, way)
            }
        };
        host.send(now, pkt, way);
    }

    fn to_server(&self) -> Direction {
        if self.client.spec.upload { Direction::Forward } else { Direction::Back }
    }

    fn to_client(&self) -> Direction {
        if self.client.spec.upload { Direction::Back } else { Direction::Forward }
    }

    /// A packet of the flow, the connection and the number given; those of probes on connections of their own say in
    /// the connection's bits what they are, and the first of them opens one.
    fn packet(&self, cfg: &Group, (flow, epoch, seq): (u32, u8, u32), bytes: u16, way: Direction) -> Pkt {
        let foreign = flow - self.id >= self.client.spec.most;
        let opens = foreign && epoch & STEP == TCP;
        let kind = match way {
            Direction::Back => Kind::Ack,
            Direction::Forward if opens => Kind::Syn,
            Direction::Forward => Kind::Data,
        };
        let mut pkt = Pkt::new(kind, flow, epoch, seq, bytes);
        pkt.set_dscp(self.dscp);
        pkt.set_ecn(if opens { Ecn::NotEct } else { cfg.tcp.ecn(false) });
        pkt
    }

    /// The connections of the load, and what the client measured.
    pub fn finish(self) -> (impl Iterator<Item = TcpFlow>, Probes) {
        (self.load.into_iter().map(|load| load.tcp), self.client.probes)
    }
}

impl Load {
    fn sender_due(&self) -> Time {
        self.tcp.app_due.min(self.tcp.sender.deadline())
    }

    /// The sender begins.
    fn begin(&mut self, cfg: &Group, now: Time, host: &mut impl Host) {
        self.begun = true;
        self.tcp.app_due = now;
        self.tcp.advance_sender(cfg, now, host);
    }

    /// The packets of data that the client knows to be delivered, in order.
    fn delivered(&self, upload: bool) -> u64 {
        let next = if upload { self.tcp.sender.first_unacknowledged() } else { self.tcp.receiver.next() };
        u64::from(next.saturating_sub(1))
    }

    /// A request of the client reaches the server of a download.
    fn on_request(&mut self, cfg: &Group, now: Time, (number, unsent): (u8, u32), host: &mut impl Host) {
        if number == BEGIN {
            if !self.begun {
                self.begin(cfg, now, host);
            }
        } else if !self.heard.contains(&number) {
            if self.heard.len() == REMEMBERED {
                self.heard.pop_front();
            }
            self.heard.push_back(number);
            self.carry(number, unsent);
        }
    }

    /// The sender hands a probe's bytes to TCP, behind what waits in the socket.
    fn carry(&mut self, number: u8, unsent: u32) {
        let seq = self.tcp.sender.end_of_sent().saturating_add(unsent);
        self.riding.push_back((number, seq));
    }

    /// The next probe whose bytes the receiver has, if there is one.
    fn arrived(&mut self) -> Option<(u8, u32)> {
        let (_, seq) = self.riding.front()?;
        if *seq < self.tcp.receiver.next() { self.riding.pop_front() } else { None }
    }
}

impl Client {
    fn due(&self) -> Time {
        let asked = self.dues.first().map_or(Time::MAX, |due| due.0);
        self.tick.min(self.launch).min(asked)
    }

    /// Waits for an answer from now on.
    fn wait(&mut self, cfg: &Group, now: Time, asked: Asked) {
        let timer = RttEstimator::new(&cfg.tcp);
        let due = now + timer.rto();
        let foreign = Foreign { begun: now, ..Foreign::default() };
        self.waiting.insert(asked, Waiting { start: now, due, timer, again: false, foreign });
        self.dues.insert((due, asked));
    }

    /// Waits no longer, if it did.
    fn forget(&mut self, asked: Asked) -> Option<Waiting> {
        let waiting = self.waiting.remove(&asked)?;
        self.dues.remove(&(waiting.due, asked));
        Some(waiting)
    }

    /// The reply to a probe on a connection of the load is there.
    fn on_reply(&mut self, load: &mut [Load], now: Time, (connection, number): (u32, u8)) {
        if let Some(waiting) = self.forget(Asked::Loaded(connection, number)) {
            load[connection as usize].waiting -= 1;
            self.probes.loaded.push(LoadedProbe { start: waiting.start, end: now });
        }
    }

    /// A packet of an answer, of `count`, is there; whether the next step is to be asked for.
    fn on_foreign(
        &mut self,
        cfg: &Group,
        now: Time,
        (number, step, index): (u32, u8, u8),
        count: usize,
    ) -> bool {
        let asked = Asked::Foreign(number);
        let Some(waiting) = self.waiting.get_mut(&asked) else { return false };
        let foreign = &mut waiting.foreign;
        if foreign.step != step {
            return false;
        }
        foreign.got |= 1 << index;
        if foreign.got.count_ones() < count as u32 {
            return false;
        }
        let took = now - foreign.begun;
        if step == HTTP {
            let (start, [tcp, tls]) = (waiting.start, foreign.took);
            self.forget(asked);
            self.probes.foreign.push(ForeignProbe { start, end: now, tcp, tls, http: took });
            return false;
        }
        foreign.took[usize::from(step)] = took;
        if !waiting.again {
            waiting.timer.sample(&cfg.tcp, foreign.begun, now);
        }
        *foreign = Foreign { step: step + 1, got: 0, begun: now, ..*foreign };
        self.dues.remove(&(waiting.due, asked));
        (waiting.again, waiting.due) = (false, now + waiting.timer.rto());
        self.dues.insert((waiting.due, asked));
        true
    }

    /// An interval ends at `now`, by which so many packets were delivered; the number of connections to add.
    fn end_interval(&mut self, cfg: &Group, now: Time, delivered: u64) -> u32 {
        let spec = &self.spec;
        let next = now + spec.interval;
        self.tick = if next < self.stop { next } else { Time::MAX };
        if self.begun == 0 && spec.initial > 0 {
            return spec.initial; // The test begins.
        }
        let news = delivered - std::mem::replace(&mut self.delivered, delivered);
        self.goodputs.push(news);
        let last = self.goodputs.iter().rev().take(self.spec.averaged as usize).sum::<u64>();
        self.averages.push(last as f64 / f64::from(self.spec.averaged));
        self.look(now);
        let bits = (news * cfg.payload * 8) as f64 / self.spec.interval.as_secs_f64();
        let allowed = self.spec.share * bits / (Responsiveness::PROBE_BYTES * 8) as f64;
        // Without a load nothing is known of the capacity.
        let allowed = if self.spec.most > 0 { allowed } else { f64::INFINITY };
        self.probe_at(now, allowed.min(self.spec.probes_per_second));
        if self.probes.result.is_some() { 0 } else { self.spec.added.min(self.spec.most - self.begun) }
    }

    /// Sees whether goodput is stable; once it is, whether responsiveness is.
    fn look(&mut self, now: Time) {
        let (count, tolerance) = (self.spec.averaged as usize, self.spec.tolerance);
        if self.probes.goodput_stable.is_none() {
            if is_stable(&self.averages, count, tolerance) {
                self.probes.goodput_stable = Some(now);
            }
            return;
        }
        let last = self.spec.interval * u64::from(self.spec.averaged);
        let from = Time::from_nanos(now.nanos().saturating_sub(last.nanos()));
        let Probes { foreign, loaded, .. } = &self.probes;
        let foreign = &foreign[foreign.partition_point(|p| p.end <= from)..];
        let loaded = &loaded[loaded.partition_point(|p| p.end <= from)..];
        let Some(rpm) = Rpm::of(foreign.iter(), loaded.iter()).both() else { return };
        self.rpms.push(rpm);
        if self.probes.result.is_none() && is_stable(&self.rpms, count, tolerance) {
            self.probes.result = Some((now, rpm));
        }
    }

    /// Sends so many probes of each kind per second from now on, evenly.
    fn probe_at(&mut self, now: Time, rate: f64) {
        let kinds = if self.spec.most > 0 { 2.0 } else { 1.0 };
        let gap = 1.0 / (kinds * rate);
        // Whatever is longer than any run is never.
        if gap > 1e6 {
            self.launch = Time::MAX;
            return;
        }
        self.gap = Duration::from_secs_f64(gap).max(Duration::from_nanos(1));
        let soonest = if self.launch == Time::MAX { now } else { now + self.gap };
        let next = self.launch.min(soonest);
        self.launch = if next < self.stop { next } else { Time::MAX };
    }
}

/// The packets of the server's answer to a step of a probe on a connection of its own, by their sizes on the wire; a
/// certificate takes as many as it needs, 60 at most.
fn answer(step: u8, syn: u16, wire: u16) -> impl Iterator<Item = u16> {
    let (mut left, most) = match step {
        TCP => (syn, u16::MAX),
        TLS => (CERTIFICATE, wire.max(CERTIFICATE / 60)),
        _ => (REPLY, u16::MAX),
    };
    std::iter::from_fn(move || {
        let next = left.min(most);
        left -= next;
        (next > 0).then_some(next)
    })
}
