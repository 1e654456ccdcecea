//! The times that transfers take alone: the same connection makes the same transfers over the same links, with the same
//! pauses between them, and nothing else is there. No queue drops, marks or ends, and no wire loses. Shapers hold packets
//! back as ever; classes do not, and a cell is a link with the rate of the user.
//!
//! It is a run and not a formula: it has the sender's own slow start, pacing and acknowledgments, whatever the sender is,
//! so that a transfer that meets nothing takes exactly as long. Connections with a history have it here too.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use quell_aqm::Seed;
use quell_queue::{Bucket, Shaper};
use quell_units::{BitRate, Bytes, Duration, LinkLayer, Time};

use super::dialog::Exchange;
use super::host::{Direction, Host};
use super::tcp::{Group, Wanted};
use crate::network::{App, Connection, FlowSpec, Impairments, LinkId, LinkSpec, Network, Schedule, Traffic};
use crate::outcome::Transfer;
use crate::packet::{Pkt, SackTable};
use crate::wire::Wire;

/// Those who make transfers, and the links that they take.
pub(crate) struct Alone {
    links: Vec<LinkSpec>,
    /// With the numbers of their flows, which rise.
    makers: Vec<(u32, Maker)>,
    /// What takes longer than this is given up: a link that is dead for ever.
    end: Time,
}

/// One that makes transfers.
struct Maker {
    cfg: Arc<Group>,
    ways: [Vec<LinkId>; 2],
    /// The rates of its channels where it is the user of a cell.
    channels: Vec<(LinkId, Schedule<BitRate>)>,
    dscp: u8,
    connection: Connection,
    asked: bool,
}

impl Alone {
    /// A network's; none makes transfers yet.
    pub fn new(network: &Network) -> Self {
        let end = network.measure.end;
        Alone { links: Vec::new(), makers: Vec::new(), end: end + (end - Time::ZERO) }
    }

    /// Flow `number` of the network makes transfers, if it does; numbers rise.
    pub fn add(&mut self, network: &Network, number: u32, cfg: &Arc<Group>) {
        let flow = &network.flows[number as usize];
        let Some(connection) = connection(network, flow) else { return };
        if self.links.is_empty() {
            self.links = network.links.iter().map(without_queue).collect();
        }
        let channel = |id: &LinkId| {
            let cell = network.links.get(id.0 as usize)?.cell.as_ref()?;
            let user = cell.users.get(cell.classifier.of(number, flow.dscp))?;
            Some((*id, user.rate.clone()))
        };
        let maker = Maker {
            cfg: Arc::clone(cfg),
            ways: [flow.forward.clone(), flow.reverse.clone()],
            channels: flow.forward.iter().chain(&flow.reverse).filter_map(channel).collect(),
            dscp: flow.dscp,
            connection,
            asked: matches!(&flow.traffic, Traffic::Tcp { app, .. } if app.asks()),
        };
        self.makers.push((number, maker));
    }

    /// Sets the time alone of those transfers that began at `from` or later. There must be all of each flow.
    pub fn put(&self, transfers: &mut [Transfer], from: Time) {
        transfers.sort_by_key(|t| (t.flow, t.start));
        for of_flow in transfers.chunk_by_mut(|a, b| a.flow == b.flow) {
            let Ok(at) = self.makers.binary_search_by_key(&of_flow[0].flow, |m| m.0) else { continue };
            let maker = &self.makers[at].1;
            match maker.connection {
                Connection::Fresh => self.fresh(maker, of_flow, from),
                Connection::Persistent if of_flow.iter().any(|t| t.start >= from) => {
                    self.persistent(maker, of_flow);
                }
                Connection::Persistent => {}
            }
        }
    }

    /// Each transfer opens a connection.
    fn fresh(&self, maker: &Maker, transfers: &mut [Transfer], from: Time) {
        let mut path = Path::new(self, maker);
        let mut known = HashMap::new();
        for t in transfers.iter_mut().filter(|t| t.start >= from) {
            let key = (t.packets, t.request);
            if let Some(found) = known.get(&key).filter(|_| path.constant) {
                t.alone = *found;
                continue;
            }
            let mut line = maker.open();
            path.clear();
            t.alone = line.make(maker, t, t.start, &mut path).map(|end| end - t.start);
            known.insert(key, t.alone);
        }
    }

    /// All are made over one connection, each as long after the one before as it was: after its last packet at a client
    /// who asks, or its last acknowledgment at a sender who begins by itself.
    fn persistent(&self, maker: &Maker, transfers: &mut [Transfer]) {
        let mut path = Path::new(self, maker);
        let mut line = maker.open();
        // The moments from which the pause counts: in the run, and alone.
        let mut before: Option<[Time; 2]> = None;
        for t in transfers {
            let begin = before.map_or(t.start, |[run, alone]| alone + t.start.since(run));
            // Links that change have their state of the time at which the transfer began.
            path.ahead = path.ahead.max(t.start.since(begin));
            line.run(maker, &mut path, |now| now >= begin);
            let Some(end) = line.make(maker, t, begin, &mut path) else { return };
            t.alone = Some(end - begin);
            let run = if maker.asked { Some(t.end) } else { t.acknowledged };
            let alone = if maker.asked { Some(end) } else { line.heard(maker, &mut path) };
            let (Some(run), Some(alone)) = (run, alone) else { return };
            before = Some([run, alone]);
        }
    }
}

/// The connections over which a flow makes transfers, if it makes some.
fn connection(network: &Network, flow: &FlowSpec) -> Option<Connection> {
    let Traffic::Tcp { app, .. } = &flow.traffic else { return None };
    match app {
        App::Bulk | App::Paced(_) | App::Responsiveness(_) => None,
        App::Transfers { connection, .. } => Some(*connection),
        App::Video(_) => Some(Connection::Persistent),
        App::Pages(pages) => Some(pages.connection),
        App::Connection { of } => connection(network, network.flows.get(*of as usize)?),
    }
}

/// A link that neither drops, marks nor loses.
fn without_queue(spec: &LinkSpec) -> LinkSpec {
    LinkSpec {
        name: String::new(),
        rate: spec.rate.clone(),
        delay: spec.delay.clone(),
        queue: None,
        tree: None,
        shaper: spec.shaper.clone(),
        cell: None,
        wifi: None,
        impairments: Impairments::default(),
        observe: false,
    }
}

impl Maker {
    fn open(&self) -> Line {
        Line(Exchange::new(0, &self.cfg, self.connection, self.dscp, Time::MAX, &[Time::MAX]))
    }
}

/// A connection, with nobody who would ask or send by itself.
struct Line(Exchange);

impl Line {
    /// Makes a transfer from `begin` on; when its receiver has all of it, `None` if it never has.
    fn make(&mut self, maker: &Maker, t: &Transfer, begin: Time, path: &mut Path) -> Option<Time> {
        path.heard = None;
        if maker.asked {
            self.0.ask(&maker.cfg, begin, (t.packets, t.request), path);
        } else {
            self.0.tcp.reply(
                &maker.cfg,
                begin,
                Wanted { packets: t.packets, request: 0, start: begin },
                path,
            );
        }
        let mut end = None;
        while end.is_none() && self.step(maker, path, |_| false) {
            end = self.0.tcp.complete_at(begin);
        }
        end
    }

    /// Goes on until the sender has heard that its receiver has all of the last transfer; when that is.
    fn heard(&mut self, maker: &Maker, path: &mut Path) -> Option<Time> {
        while path.heard.is_none() && self.step(maker, path, |_| false) {}
        path.heard
    }

    /// Does all that is due until `stop` says that it is late enough.
    fn run(&mut self, maker: &Maker, path: &mut Path, stop: impl Fn(Time) -> bool) {
        while self.step(maker, path, &stop) {}
    }

    /// Does what is due first; false if nothing is, it comes too late, or `stop` says so of its time.
    fn step(&mut self, maker: &Maker, path: &mut Path, stop: impl Fn(Time) -> bool) -> bool {
        let cfg = &maker.cfg;
        let (client, server) = (self.0.client_due(), self.0.server_due());
        let [data, acks] = [0, 1].map(|way| path.on_way[way].front().map_or(Time::MAX, |(at, _)| *at));
        let now = client.min(server).min(data).min(acks);
        if now >= path.end || stop(now) {
            return false;
        }
        // As with all flows, a timer that runs out runs before the packet that comes then.
        if server == now {
            self.0.advance_server(cfg, now, path);
        } else if client == now {
            self.0.on_timer(cfg, now, path);
        } else if data == now
            && let Some((_, pkt)) = path.on_way[0].pop_front()
        {
            self.0.on_packet_of_client(cfg, now, pkt, path);
        } else if let Some((_, pkt)) = path.on_way[1].pop_front() {
            self.0.on_packet_of_server(cfg, now, pkt, path);
        }
        true
    }
}

/// The links of a flow, there and back, with nothing else on them.
struct Path {
    wires: [Vec<Way>; 2],
    /// The packets that will arrive, in the order of time.
    on_way: [VecDeque<(Time, Pkt)>; 2],
    sacks: SackTable,
    /// The time by which the links are ahead of the connection.
    ahead: Duration,
    /// The time at which the last transfer was acknowledged.
    heard: Option<Time>,
    end: Time,
    /// The links never change.
    constant: bool,
}

impl Path {
    fn new(alone: &Alone, maker: &Maker) -> Self {
        let spec = |id: &LinkId| {
            let mut spec = without_queue(alone.links.get(id.0 as usize)?);
            let own = maker.channels.iter().find(|(link, _)| link == id);
            own.into_iter().for_each(|(_, rate)| spec.rate.clone_from(rate));
            Some(spec)
        };
        let specs = |way: usize| maker.ways[way].iter().filter_map(spec);
        let is_constant = |spec: &LinkSpec| spec.rate.is_constant() && spec.delay.is_constant();
        Path {
            wires: [0, 1].map(|way| specs(way).map(|spec| Way::new(&spec)).collect()),
            on_way: Default::default(),
            sacks: SackTable::default(),
            ahead: Duration::ZERO,
            heard: None,
            end: alone.end,
            constant: specs(0).chain(specs(1)).all(|spec| is_constant(&spec)),
        }
    }

    /// Takes away what is on its way over a connection that is over. Buckets are full again.
    fn clear(&mut self) {
        self.wires.iter_mut().flatten().for_each(|way| way.buckets.clone_from(&way.full));
        self.on_way.iter_mut().for_each(VecDeque::clear);
        self.sacks = SackTable::default();
    }
}

/// A link, and the token buckets before it.
struct Way {
    wire: Wire,
    buckets: Vec<Bucket>,
    full: Vec<Bucket>,
}

impl Way {
    fn new(spec: &LinkSpec) -> Self {
        let full = spec.shaper.as_deref().map(buckets).unwrap_or_default();
        // Nothing is drawn, as nothing is lost.
        Way { wire: Wire::new(spec, Seed(0), 0), buckets: full.clone(), full }
    }

    /// The time at which a packet that comes at `at` is at the other end; none if a bucket can never send it.
    fn passes(&mut self, at: Time, pkt: Pkt) -> Option<Time> {
        let bytes = Bytes::new(u64::from(pkt.bytes()));
        let mut start = self.wire.start(at);
        if !self.buckets.is_empty() {
            if !self.buckets.iter().all(|bucket| bucket.holds(bytes)) {
                return None;
            }
            let tokens = self.buckets.iter().map(|bucket| bucket.earliest(start, bytes)).max();
            start = self.wire.start(tokens.unwrap_or(start));
            self.buckets.iter_mut().for_each(|bucket| bucket.take(start, bytes));
        }
        Some(self.wire.transmit(start, pkt.bytes()).arrives)
    }
}

/// The full buckets of a shaper.
fn buckets(shaper: &Shaper) -> Vec<Bucket> {
    let peak = shaper.peak.map(|peak| (LinkLayer { rate: peak.rate, ..shaper.rate }, peak.mtu));
    std::iter::once((shaper.rate, shaper.burst))
        .chain(peak)
        .map(|(layer, burst)| Bucket::new(layer, burst))
        .collect()
}

impl Host for Path {
    fn send(&mut self, now: Time, pkt: Pkt, direction: Direction) {
        let mut at = now + self.ahead;
        for way in &mut self.wires[direction as usize] {
            match way.passes(at, pkt) {
                Some(arrives) => at = arrives,
                None => return,
            }
        }
        let at = Time::ZERO + at.since(Time::ZERO + self.ahead);
        // A delay that falls lets packets pass others.
        let queue = &mut self.on_way[direction as usize];
        let place = queue.iter().rposition(|(before, _)| *before <= at).map_or(0, |i| i + 1);
        queue.insert(place, (at, pkt));
    }
    fn leaves(&self, _: Pkt) -> Time {
        let free = self.wires[0].first().map_or(Time::ZERO, |way| way.wire.busy_until);
        Time::ZERO + free.since(Time::ZERO + self.ahead)
    }
    fn sacks(&mut self) -> &mut SackTable {
        &mut self.sacks
    }
    fn finished(&mut self, transfer: Transfer) {
        self.heard = transfer.acknowledged;
    }
    fn measured(&mut self, _: u32, _: usize, _: Duration) {}
    fn bounds(&self) -> &[Time] {
        &[Time::MAX]
    }
}
