//! The input of a run: links, flows and what is measured, every random quantity already drawn.
//!
//! A [`Network`] is the engine's input. Both engines read the same one, and building it is where
//! chance enters the scenario (round-trip times, start times): a run is a function of it.

use std::sync::Arc;

use quell_aqm::Discipline as _;
use quell_aqm::catalog::AnyAlgorithm;
use quell_aqm::{Ecn, FlowId, Hosts, Rng, Seed, Transport};
use quell_queue::Channel;
pub use quell_queue::{Changes, Classifier, Deviation, GilbertElliott, Impairments, Jitter, Loss, Schedule};
pub use quell_queue::{Class, Plan, Policy, Shaper};
use quell_tcp::TcpParams;
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

/// The smallest packet by which something is asked for over TCP: a header.
pub const ACK_BYTES: Bytes = Bytes::new(40);

/// A network, its traffic and what is measured.
pub struct Network {
    /// The links, each one direction; [`LinkId`] is the index.
    pub links: Vec<LinkSpec>,
    /// The flows; their index is the packets' flow id.
    pub flows: Vec<FlowSpec>,
    /// Names of the traffic classes that [`FlowSpec::class`] refers to.
    pub classes: Vec<String>,
    /// The measured window and its segments.
    pub measure: Measure,
    /// Seeds the streams that are consumed during the run (algorithms, losses, transfer sizes).
    pub seed: Seed,
}

/// The index of a link in [`Network::links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// One direction of a link: a queue, a transmitter and a wire.
pub struct LinkSpec {
    /// Its name in results and errors; may be empty for links that are not observed.
    pub name: String,
    /// Its rate; a packet keeps the rate at which its transmission began. While it is zero no transmission
    /// begins: packets wait, and the algorithm keeps the rate that it knew. For a cell it is the highest of its users'
    /// rates ([`highest`]), to which utilization is relative.
    pub rate: Schedule<BitRate>,
    /// Its propagation delay; a packet keeps the delay at the start of its transmission.
    pub delay: Schedule<Duration>,
    /// Its queue, or `None` for an unlimited FIFO.
    pub queue: Option<Box<QueueSpec>>,
    /// The classes that share it, each with a queue of its own, in place of `queue`.
    pub tree: Option<Box<TreeSpec>>,
    /// The token bucket between what waits and the transmitter.
    pub shaper: Option<Box<Shaper>>,
    /// The users that it serves in intervals, each with a queue of its own, in place of `queue`.
    pub cell: Option<Box<CellSpec>>,
    /// The channel of IEEE 802.11 that it is, in place of `queue`. Then it is one link for both directions, which flows have
    /// on both of their ways. Its rate limits nothing: algorithms know it where their stations are not slower, and
    /// utilization is relative to it.
    pub wifi: Option<Box<WifiSpec>>,
    /// What else its wire does to packets.
    pub impairments: Impairments,
    /// Its queue is measured.
    pub observe: bool,
}

impl Network {
    /// The reason why its packets cannot be traced, if they cannot. A trace gives each packet a name in the place of what
    /// an acknowledgment says, of which a filter would know nothing.
    pub fn untraceable(&self) -> Option<String> {
        let filter = self.links.iter().find(|link| link.filters())?;
        Some(format!(
            "{}: its queue filters acknowledgments, so packets cannot be traced on any link: trace senders alone, or \
             leave ack_filter out",
            filter.name
        ))
    }
}

impl LinkSpec {
    /// The rate at which it can send for long: its own, or that of its shaper or of its classes, if this is lower.
    /// Algorithms are built for it, and utilization is relative to it.
    pub fn capacity(&self) -> Schedule<BitRate> {
        capacity(&self.rate, self.shaper.as_deref(), self.tree.as_ref().map(|tree| &tree.plan))
    }

    /// The rate of its transmitter. A cell or a channel has carried packets when they come to it, so that it takes the least
    /// time.
    pub(crate) fn transmitter(&self) -> Schedule<BitRate> {
        match self.cell.is_some() || self.wifi.is_some() {
            true => Schedule::constant(BitRate::from_bps(u64::MAX)),
            false => self.rate.clone(),
        }
    }

    /// Says whether packets may wait for it by rules of its own.
    pub(crate) fn has_queue(&self) -> bool {
        self.queue.is_some() || self.is_served_by_dispatch()
    }

    /// Says whether it has more than one queue of an algorithm.
    pub(crate) fn is_served_by_dispatch(&self) -> bool {
        self.tree.is_some() || self.shaper.is_some() || self.cell.is_some() || self.wifi.is_some()
    }

    /// Says whether a queue of it drops acknowledgments that later ones make superfluous.
    pub(crate) fn filters(&self) -> bool {
        let own = self.queue.iter().map(|queue| &**queue);
        let leaves = self.tree.iter().flat_map(|tree| &tree.leaves);
        let users = self.cell.iter().flat_map(|cell| cell.users.iter().map(|user| &user.queue));
        let stations = self.wifi.iter().flat_map(|wifi| &wifi.queues);
        own.chain(leaves).chain(users).chain(stations).any(|queue| match &queue.algorithm {
            AnyAlgorithm::Discipline(discipline) => discipline.filters(),
            AnyAlgorithm::Aqm(_) => false,
        })
    }

    /// The reason why nothing can be served so, if nothing can.
    pub(crate) fn unservable(&self) -> Option<String> {
        let too_many = || {
            let both = self.queue.is_some() && self.tree.is_some();
            both.then(|| "it has both a queue and a tree of queues".to_string())
        };
        let shaper =
            || self.shaper.as_ref()?.check(Bytes::new(1)).err().map(|refused| format!("shaper: {refused}"));
        let cell = || {
            let cell = self.cell.as_ref()?;
            let other = self.queue.is_some() || self.tree.is_some() || self.shaper.is_some();
            let other = other.then(|| "it has a cell beside a queue, a tree or a shaper".to_string());
            other.or_else(|| cell.fault())
        };
        let wifi = || {
            let wifi = self.wifi.as_ref()?;
            if self.queue.is_some()
                || self.tree.is_some()
                || self.shaper.is_some()
                || self.cell.is_some()
                || !self.rate.is_constant()
            {
                return Some(
                    "a channel of IEEE 802.11 has queues of its own, no shaper and no cell, and a rate that never changes"
                        .to_string(),
                );
            }
            wifi.fault()
        };
        too_many().or_else(shaper).or_else(|| self.tree.as_ref()?.fault()).or_else(cell).or_else(wifi)
    }

    /// The shortest time from the end of a packet's transmission to its arrival.
    pub(crate) fn least_delay(&self) -> Duration {
        let early = self.impairments.jitter.as_ref().map_or(Duration::ZERO, Jitter::most_early);
        self.delay.values().min().unwrap_or_default() - early
    }

    /// Says whether packets go on from its wire in another order than that in which they set out, or more of them.
    pub(crate) fn shuffles(&self) -> bool {
        if self.impairments.duplicate > 0.0 {
            return true;
        }
        match &self.impairments.jitter {
            Some(jitter) if !jitter.size.is_zero() => jitter.reorder,
            _ => self.delay.ever(|before, delay| delay < before),
        }
    }
}

/// The rate at which a link of this rate can send for long behind a shaper and classes: see [`LinkSpec::capacity`].
pub fn capacity(
    rate: &Schedule<BitRate>,
    shaper: Option<&Shaper>,
    classes: Option<&Plan>,
) -> Schedule<BitRate> {
    let shaper = shaper.map(|shaper| shaper.rate.rate);
    match [shaper, classes.and_then(Plan::most)].into_iter().flatten().min() {
        Some(most) => rate.map(|rate| rate.min(most)),
        None => rate.clone(),
    }
}

/// A queue with a limit and an algorithm.
pub struct QueueSpec {
    /// The most that may wait, without the packet in transmission.
    pub buffer: QueueSize,
    /// The algorithm, built for this link.
    pub algorithm: AnyAlgorithm,
    /// Signals mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

/// Queues that are the leaves of a tree of classes.
pub struct TreeSpec {
    /// The classes.
    pub plan: Plan,
    /// The queue of each leaf, in the order of [`Plan::leaves`].
    pub leaves: Vec<QueueSpec>,
    /// The leaf in which each packet waits.
    pub classifier: Classifier,
}

/// The most leaves of a tree: records tell that many apart.
pub const MOST_LEAVES: usize = u8::MAX as usize;

impl TreeSpec {
    /// The reason why nothing can be served so, if nothing can.
    fn fault(&self) -> Option<String> {
        let leaves = match self.plan.leaves() {
            Ok(leaves) => leaves.len(),
            Err(refused) => return Some(refused.to_string()),
        };
        if leaves > MOST_LEAVES {
            return Some(format!("its tree has {leaves} leaves, and at most {MOST_LEAVES} are allowed"));
        }
        if leaves != self.leaves.len() {
            return Some(format!("its tree has {leaves} leaves, and {} queues for them", self.leaves.len()));
        }
        self.classifier.fault(leaves)
    }
}

/// Users whom a cell serves in intervals, and their queues.
pub struct CellSpec {
    /// The rule that gives each interval to a user.
    pub policy: Policy,
    /// The length of an interval.
    pub interval: Duration,
    /// The users.
    pub users: Vec<UserSpec>,
    /// The user for whom each packet is.
    pub classifier: Classifier,
}

/// A user of a cell.
pub struct UserSpec {
    /// Its name in results.
    pub name: String,
    /// The rate of its channel. What it can receive in an interval is the integral.
    pub rate: Schedule<BitRate>,
    /// Its queue.
    pub queue: QueueSpec,
    /// The rate that its algorithm is told, once.
    pub known: BitRate,
}

/// Queues that share a channel of IEEE 802.11.
pub struct WifiSpec {
    /// The channel.
    pub channel: Channel,
    /// The queue of each lane, in the order of [`Channel::lanes`].
    pub queues: Vec<QueueSpec>,
    /// The station of each flow. Those beyond the end belong to the first, and receive data.
    pub of_flow: Arc<[AtStation]>,
}

/// The end of a flow that is at a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtStation {
    /// The station's number.
    pub station: u8,
    /// It sends data; otherwise it receives data, and sends acknowledgments.
    pub sends: bool,
}

impl WifiSpec {
    /// The reason why nothing can be served so, if nothing can.
    fn fault(&self) -> Option<String> {
        if let Err(refused) = self.channel.check() {
            return Some(format!("its channel: {refused}"));
        }
        let (lanes, queues) = (self.channel.lanes().len(), self.queues.len());
        if lanes != queues {
            return Some(format!("its channel has {lanes} lanes, and {queues} queues for them"));
        }
        let stations = self.channel.stations.len();
        let beyond = self.of_flow.iter().find(|at| usize::from(at.station) >= stations);
        beyond.map(|at| format!("a flow is at station {} of {stations}", at.station))
    }
}

impl CellSpec {
    /// The reason why nothing can be served so, if nothing can.
    fn fault(&self) -> Option<String> {
        let users = self.users.len();
        if users == 0 || users > MOST_LEAVES {
            return Some(format!("its cell has {users} users, and 1 to {MOST_LEAVES} are allowed"));
        }
        if self.interval.is_zero() {
            return Some("the interval of its cell must be longer than 0 s".to_string());
        }
        let rates = self.users.iter().find_map(|user| user.rate.fault());
        rates.map(str::to_string).or_else(|| self.classifier.fault(users))
    }
}

/// The highest of rates at each time until `end`.
pub fn highest<'a>(
    rates: impl Iterator<Item = &'a Schedule<BitRate>> + Clone,
    end: Time,
) -> Schedule<BitRate> {
    let mut all = rates.clone();
    if let (Some(first), None) = (all.next(), all.next()) {
        return first.clone();
    }
    let most = |t: Time| rates.clone().map(|rate| rate.at(t)).max().unwrap_or_default();
    let mut times: Vec<Time> = rates
        .clone()
        .flat_map(|rate| {
            let mut to_come = rate.to_come();
            std::iter::from_fn(move || {
                let due = to_come.due();
                (due < end).then(|| to_come.pop())?.map(|_| due)
            })
        })
        .collect();
    times.sort_unstable();
    times.dedup();
    let mut before = rates.clone().map(|rate| rate.initial).max().unwrap_or_default();
    let initial = before;
    let mut list = Vec::new();
    for t in times {
        let now = most(t);
        if now != before {
            list.push((t, now));
            before = now;
        }
    }
    Schedule::changing(initial, list)
}

/// One flow: a source, its receiver and the way there and back.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// The traffic class its packets are counted in: an index into [`Network::classes`].
    pub class: u16,
    /// The links from source to receiver, in order.
    pub forward: Vec<LinkId>,
    /// The links its acknowledgments take; empty for UDP.
    pub reverse: Vec<LinkId>,
    /// The class its acknowledgments are counted in.
    pub ack_class: u16,
    /// The traffic that it sends.
    pub traffic: Traffic,
    /// The DSCP of its packets and its acknowledgments, 0 to 63 (higher bits are ignored).
    pub dscp: u8,
    /// The hosts between which it travels; its acknowledgments go the other way.
    pub hosts: Hosts,
    /// The time at which it begins.
    pub start: Time,
    /// The time at which it stops sending new data, if it does.
    pub stop: Option<Time>,
    /// Its packets are timed from end to end: [`FlowOutcome::timed`](crate::outcome::FlowOutcome::timed).
    pub timed: bool,
}

/// The traffic of a flow.
// Nearly all flows are of the large kind.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// TCP, driven by an application.
    Tcp {
        /// The transport's parameters.
        tcp: TcpParams,
        /// The application that sends through it.
        app: App,
    },
    /// UDP: sends by its own clock and hears nothing back.
    Udp(UdpSpec),
    /// Packets whose arrivals were recorded: each comes to the first link at its time, counted from the flow's start.
    /// Nobody hears of marks and drops. Their own DSCP holds, not the flow's.
    Trace(Trace),
}

/// Arrivals of packets at a link, as they were recorded. Copies share them.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace(Arc<[TraceArrival]>);

impl Trace {
    /// A trace of arrivals in order of time; packets with equal times arrive in their order here.
    ///
    /// # Errors
    /// The number of the first arrival that is earlier than the one before it, or whose packet has no bytes or a
    /// DSCP above 63; and the rule.
    pub fn new(arrivals: impl Into<Arc<[TraceArrival]>>) -> Result<Self, (usize, &'static str)> {
        let arrivals = arrivals.into();
        let mut before = Time::ZERO;
        for (i, arrival) in arrivals.iter().enumerate() {
            if let Some(fault) = arrival.fault(std::mem::replace(&mut before, arrival.time)) {
                return Err((i, fault));
            }
        }
        Ok(Trace(arrivals))
    }

    /// The arrivals, in order.
    pub fn arrivals(&self) -> &[TraceArrival] {
        &self.0
    }
}

/// A recorded arrival of a packet; queues see the packet as it is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceArrival {
    /// The time.
    pub time: Time,
    /// The packet's size on the wire, at least 1.
    pub bytes: u16,
    /// Its flow as algorithms see it. Those of other traffic are the numbers of its flows in the network.
    pub flow: FlowId,
    /// Its ECN field when it arrived.
    pub ecn: Ecn,
    /// The protocol that it belongs to.
    pub transport: Transport,
    /// It opens a TCP connection.
    pub syn: bool,
    /// Its DSCP, 0 to 63.
    pub dscp: u8,
}

impl TraceArrival {
    /// The rule that it breaks, if it does, where the arrival before it was at `before`.
    fn fault(&self, before: Time) -> Option<&'static str> {
        if self.time < before {
            return Some("is earlier than the arrival before it");
        }
        if self.bytes == 0 {
            return Some("must have at least one byte");
        }
        (self.dscp > 63).then_some("its DSCP must be at most 63 (RFC 2474 section 3)")
    }
}

/// The data that an application sends through TCP.
#[derive(Clone, Debug, PartialEq)]
pub enum App {
    /// Data without end, until the flow stops (or after 2^32 packets, an hour at 10 Gbit/s).
    Bulk,
    /// Data that a source hands over by its own clock, a packet (without its header) at a time. TCP sends it when its
    /// window allows; what is not sent yet waits. After an idle time longer than the retransmission timeout TCP
    /// slow starts again (RFC 5681 section 4.1).
    Paced(Pace),
    /// Transfers, each followed by a time to think.
    Transfers {
        /// The size of a transfer in packets; rounded up, at least one.
        size: Distribution,
        /// Seconds between the last acknowledgment of a transfer, or its last packet at a receiver who asks, and the
        /// next transfer.
        think: Distribution,
        /// The number of transfers, or without end.
        count: Option<u32>,
        /// The connection of a transfer: its own, or the last one continued.
        connection: Connection,
        /// The size on the wire in bytes (rounded, 40 to 65535) of the packet by which the receiver asks for
        /// each transfer; none if the sender begins transfers by itself. Thinking is then the receiver's: from
        /// the last packet of a transfer to the next request. A transfer begins when its request is sent, and
        /// the request is sent again until the transfer's first packet arrives, by the timer of a connection
        /// that has measured nothing.
        request: Option<Distribution>,
    },
    /// A video, whose chunks the receiver asks for.
    Video(Video),
    /// Pages, whose objects the receiver asks for over several connections. The flow is the first of them, and the
    /// flows that follow it are the others, each an [`App::Connection`].
    Pages(Pages),
    /// A test of responsiveness under working conditions. The flow and those that follow it, each an
    /// [`App::Connection`], are the connections that make the load, then those for probes
    /// ([`Responsiveness::flows`]).
    Responsiveness(Responsiveness),
    /// One more connection for the pages, or the test, of an earlier flow. All that is said of a flow but this, the ways included,
    /// is as that one has it.
    Connection {
        /// The number of the flow with the pages or the test.
        of: u32,
    },
}

impl App {
    /// Says whether the receiver asks for what is sent.
    pub(crate) fn asks(&self) -> bool {
        match self {
            App::Bulk | App::Paced(_) => false,
            App::Transfers { request, .. } => request.is_some(),
            App::Video(_) | App::Pages(_) | App::Responsiveness(_) | App::Connection { .. } => true,
        }
    }

    /// The number of flows that it is: itself, and those that follow it as its further connections.
    pub fn flows(&self) -> u32 {
        match self {
            App::Pages(pages) => pages.connections,
            App::Responsiveness(test) => test.flows(),
            _ => 1,
        }
    }
}

/// An adaptive video over one persistent connection (HTTP). The player asks for one chunk after the other. It chooses
/// the rate of each by the throughput of the last ones: their harmonic mean, which one fast chunk does not raise much
/// (Jiang et al. 2012), times a factor, as players do (dash.js). A chunk is asked for as soon as the
/// playback buffer has room for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    /// The time that a chunk plays.
    pub chunk: Duration,
    /// The rates in which there are chunks, rising.
    pub rates: Vec<BitRate>,
    /// The length of the video that the playback buffer holds; at least `start_up` and a chunk.
    pub buffer: Duration,
    /// The length of the video that must be there before playback begins, and goes on after a stall.
    pub start_up: Duration,
    /// The number of chunks, or without end.
    pub chunks: Option<u32>,
    /// Over how many of the last chunks throughput is averaged; at least 1.
    pub averaged: u32,
    /// The share of that throughput that the next rate may take.
    pub safety: f64,
    /// The size of a request as in [`App::Transfers`].
    pub request: Distribution,
}

impl Video {
    /// The reason why it cannot be played, if it cannot.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        if self.rates.is_empty() || !self.rates.windows(2).all(|w| w[0] < w[1]) || self.rates[0].bps() == 0 {
            return Some("a video needs rates above 0 bit/s, rising");
        }
        if self.chunk.is_zero() || self.buffer < self.start_up + self.chunk {
            return Some("the playback buffer must hold what playback begins with, and a chunk");
        }
        if self.averaged == 0 || !(self.safety > 0.0 && self.safety.is_finite()) {
            return Some("throughput must be averaged over a chunk at least, and its share be above 0");
        }
        (self.chunks == Some(0)).then_some("a video has a chunk at least")
    }
}

/// Web pages. All objects of a page are known when it begins; each connection asks for the next one as soon as it has
/// received one. A page is complete when its last object is, and the next one begins after a time to think
/// (RFC 7928 section 7.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// The number of connections; at least 1.
    pub connections: u32,
    /// The number of objects of a page; rounded up, at least one.
    pub objects: Distribution,
    /// The size of an object in packets; rounded up, at least one.
    pub size: Distribution,
    /// Seconds between the last packet of a page and the first request of the next one.
    pub think: Distribution,
    /// The number of pages, or without end.
    pub count: Option<u32>,
    /// The connection of an object: its own, or the last one continued.
    pub connection: Connection,
    /// The size of a request as in [`App::Transfers`].
    pub request: Distribution,
}

/// A test of responsiveness under working conditions (draft-ietf-ippm-responsiveness-08): connections that carry data
/// without end make the load, and a client measures how long probes take, on connections of their own ("foreign") and
/// on those of the load ("self"). Connections are added at each interval until goodput and then responsiveness are
/// stable. The client of the draft ends there. Here load and probes go on until the flow stops, so that any window can
/// be measured.
///
/// Every foreign probe has three parts: the handshake of TCP, that of TLS 1.3 (one round trip), and a request for one
/// byte. A probe on a loaded connection is a request for one byte that shares the connection with the load (HTTP/2).
/// There it comes after all that has been handed to TCP before, so it is carried by one of the connection's packets of
/// data and is there when that one is, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Responsiveness {
    /// The client sends the load and is at the flow's sender; else it receives the load and is at the receiver.
    pub upload: bool,
    /// The number of connections that make the load at the start (the draft's INP).
    pub initial: u32,
    /// The number that is added at each interval (INC).
    pub added: u32,
    /// The most of them (MNP); without any, probes measure the idle path.
    pub most: u32,
    /// The interval (ID); longer than zero.
    pub interval: Duration,
    /// The intervals over which averages move (MAD); at least 1.
    pub averaged: u32,
    /// The standard deviation of the last averages, over the last one, below which they are stable (SDT).
    pub tolerance: f64,
    /// The most probes of each kind per second (MPS).
    pub probes_per_second: f64,
    /// The share of the goodput that probes may take (PTC).
    pub share: f64,
    /// The number of packets that wait in the socket of a loaded connection, handed to TCP and not yet sent, when a
    /// probe comes behind them.
    pub unsent: u32,
}

impl Responsiveness {
    /// The number of flows that probes on connections of their own are, by turns: queues see that many.
    pub const FOREIGN: u32 = 16;
    /// The bytes that the probes of one launch take together, one of each kind, as the draft estimates them.
    pub const PROBE_BYTES: u64 = 6000;

    /// The number of flows: the connections that may make the load, and those for probes.
    pub fn flows(&self) -> u32 {
        self.most + Self::FOREIGN
    }

    /// The reason why it cannot be run, if it cannot.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        if self.interval.is_zero() || self.averaged == 0 {
            return Some("a test needs an interval and must average over at least one");
        }
        if self.initial > self.most || (self.initial == 0) != (self.most == 0) || self.most > 1000 {
            return Some(
                "a test must begin with at least one connection and have at most 1000, or have none",
            );
        }
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let sound = [self.tolerance, self.probes_per_second, self.share].into_iter().all(positive);
        (!sound).then_some("a test needs a tolerance, a rate of probes and their share above 0")
    }
}

/// The use of connections by transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// A fresh connection per transfer (HTTP/1.0).
    Fresh,
    /// One connection for all; after an idle time longer than the retransmission timeout it slow
    /// starts again (RFC 5681 section 4.1).
    Persistent,
}

/// A UDP source.
#[derive(Clone, Debug, PartialEq)]
pub struct UdpSpec {
    /// Packet size in bytes on the wire; rounded, at least 1.
    pub packet: Distribution,
    /// The clock by which it sends them.
    pub pace: Pace,
    /// Its packets claim to be ECN-capable (and nobody responds).
    pub ecn: bool,
}

/// The clock of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// The mean rate while on.
    pub rate: Schedule<BitRate>,
    /// Gaps between packets while on.
    pub gaps: Gaps,
    /// Lengths of the on and off periods in seconds; always on if `None`.
    pub on_off: Option<(Distribution, Distribution)>,
}

/// Gaps between the packets of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Each packet follows the one before by its own size over the rate: a constant bit rate.
    Constant,
    /// Exponential with mean (mean packet size / rate): Poisson arrivals.
    Exponential,
    /// Constant gaps, but each packet is early or late by up to a quarter of its time, which changes nothing for the
    /// next ones.
    Jittered,
}

impl Gaps {
    /// The most by which a packet is early or late, with jitter, of the time that it takes at its rate.
    const JITTER: f64 = 0.25;

    /// Draws the seconds from a packet of `bytes` to the next one of a source that sends at a rate packets of
    /// `mean_bytes` on average. `late` is by how many seconds the last packet was late, zero before the first; with
    /// jitter it is changed.
    pub fn draw(self, (bytes, mean_bytes): (f64, f64), rate: BitRate, late: &mut f64, rng: &mut Rng) -> f64 {
        let even = bytes * 8.0 / rate.bps() as f64;
        match self {
            Gaps::Constant => even,
            Gaps::Exponential => rng.exponential(mean_bytes * 8.0 / rate.bps() as f64),
            Gaps::Jittered => {
                let now = even * rng.uniform_in(-Self::JITTER, Self::JITTER);
                even + now - std::mem::replace(late, now)
            }
        }
    }
}

/// A distribution of a non-negative quantity; the unit is its user's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Constant(f64),
    /// Uniform between two values.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto: P(X > x) = (scale / x)^shape for x above `scale`, the smallest value.
    Pareto {
        /// The tail index; the mean is finite above 1.
        shape: f64,
        /// The smallest value.
        scale: f64,
    },
}

impl Distribution {
    /// One value.
    pub fn draw(&self, rng: &mut quell_aqm::Rng) -> f64 {
        match *self {
            Distribution::Constant(x) => x,
            Distribution::Uniform(low, high) => rng.uniform_in(low, high),
            Distribution::Exponential(mean) => rng.exponential(mean),
            Distribution::Pareto { shape, scale } => rng.pareto(shape, scale),
        }
    }

    /// The mean; infinite for a Pareto of shape 1 or less.
    pub fn mean(&self) -> f64 {
        match *self {
            Distribution::Constant(x) => x,
            Distribution::Uniform(low, high) => (low + high) / 2.0,
            Distribution::Exponential(mean) => mean,
            Distribution::Pareto { shape, .. } if shape <= 1.0 => f64::INFINITY,
            Distribution::Pareto { shape, scale } => shape * scale / (shape - 1.0),
        }
    }
}

/// The times of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// Figures count from here on.
    pub warmup: Time,
    /// The end of the run.
    pub end: Time,
    /// Times between `warmup` and `end` at which one segment ends and the next begins, rising.
    pub boundaries: Vec<Time>,
    /// The step of the time series (from time zero), if any is kept.
    pub step: Option<Duration>,
}

impl FlowSpec {
    /// The number of the flow that it is a connection of.
    pub(crate) fn first_connection(&self) -> Option<u32> {
        match self.traffic {
            Traffic::Tcp { app: App::Connection { of }, .. } => Some(of),
            _ => None,
        }
    }
}

impl Measure {
    /// The segments [from, to) of the measured window, in order; at least one.
    pub fn segments(&self) -> Vec<(Time, Time)> {
        let mut from = self.warmup;
        self.boundaries
            .iter()
            .copied()
            .chain([self.end])
            .map(|to| (std::mem::replace(&mut from, to), to))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A jittered packet is early or late by up to a quarter of its time, however many came before it; a constant rate
    /// is even, and Poisson arrivals have gaps of the mean packet's time on average, and as large a deviation.
    #[test]
    fn gaps_are_those_of_their_kind() {
        let (rate, packet, count) = (BitRate::from_bps(1_000_000), (500.0, 1000.0), 20_000);
        let mut rng = Seed(1).stream("gaps");
        for gaps in [Gaps::Constant, Gaps::Jittered, Gaps::Exponential] {
            let (mut at, mut late, mut squares, mut most) = (0.0, 0.0, 0.0, 0.0f64);
            for number in 1..=count {
                let gap = gaps.draw(packet, rate, &mut late, &mut rng);
                at += gap;
                squares += gap * gap;
                most = most.max((at - f64::from(number) * 0.004).abs());
            }
            let mean = at / f64::from(count);
            let deviation = (squares / f64::from(count) - mean * mean).max(0.0).sqrt();
            match gaps {
                Gaps::Constant => assert!(most < 1e-9 && deviation < 1e-6, "{most} {deviation}"),
                // Two of these uniform times make a gap: their deviation is 0.5 / sqrt(6) of it.
                Gaps::Jittered => {
                    assert!((0.00099..0.001_000_1).contains(&most), "{most}");
                    assert!((deviation / 0.004 - 0.2041).abs() < 0.005, "{deviation}");
                }
                Gaps::Exponential => {
                    assert!((mean / 0.008 - 1.0).abs() < 0.03 && (deviation / 0.008 - 1.0).abs() < 0.03);
                }
            }
        }
    }
}
