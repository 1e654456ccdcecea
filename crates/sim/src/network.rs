//! What is simulated: links, flows and what is measured, every random quantity already drawn.
//!
//! A [`Network`] is the engine's input. Both engines read the same one, and building it is where
//! chance enters the scenario (round-trip times, start times): a run is a function of it.

use quell_aqm::Seed;
use quell_aqm::catalog::AnyAlgorithm;
use quell_units::{BitRate, Duration, QueueSize, Time};

use crate::tcp::TcpParams;

pub use crate::packet::ACK_BYTES;

/// A network, its traffic and what is measured.
pub struct Network {
    /// The links, each one direction; [`LinkId`] is the index.
    pub links: Vec<LinkSpec>,
    /// The flows; their index is the packets' flow id.
    pub flows: Vec<FlowSpec>,
    /// Names of the traffic classes that [`FlowSpec::class`] refers to.
    pub classes: Vec<String>,
    /// What is measured, and until when.
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
    /// Its rate; a packet keeps the rate at which its transmission began.
    pub rate: Schedule<BitRate>,
    /// Its propagation delay; a packet keeps the delay at the start of its transmission.
    pub delay: Schedule<Duration>,
    /// Its queue, or `None` for an unlimited FIFO.
    pub queue: Option<Box<QueueSpec>>,
    /// The probability that the wire loses a packet, independently of all others.
    pub loss: f64,
    /// Whether its queue is measured.
    pub observe: bool,
}

/// A queue with a limit and an algorithm.
pub struct QueueSpec {
    /// How much may wait, without the packet in transmission.
    pub buffer: QueueSize,
    /// The algorithm, built for this link.
    pub algorithm: AnyAlgorithm,
    /// Whether signals mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

/// A value that may change at given times.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule<T> {
    /// The value at the start.
    pub initial: T,
    /// Changes in rising order of time; each holds from its time on.
    pub changes: Vec<(Time, T)>,
}

impl<T: Copy> Schedule<T> {
    /// A value that never changes.
    pub fn constant(x: T) -> Self {
        Schedule { initial: x, changes: Vec::new() }
    }

    /// The value at `t`.
    pub fn at(&self, t: Time) -> T {
        match self.changes.partition_point(|(from, _)| *from <= t) {
            0 => self.initial,
            n => self.changes[n - 1].1,
        }
    }

    /// When it changes for the first time after `t`; [`Time::MAX`] if never.
    pub fn next_change(&self, t: Time) -> Time {
        self.changes.get(self.changes.partition_point(|(from, _)| *from <= t)).map_or(Time::MAX, |c| c.0)
    }
}

/// One flow: a source, its receiver and the way there and back.
pub struct FlowSpec {
    /// The traffic class its packets are counted in: an index into [`Network::classes`].
    pub class: u16,
    /// The links from source to receiver, in order.
    pub forward: Vec<LinkId>,
    /// The links its acknowledgments take; empty for UDP.
    pub reverse: Vec<LinkId>,
    /// The class its acknowledgments are counted in.
    pub ack_class: u16,
    /// What it sends.
    pub traffic: Traffic,
    /// The precedence of its packets and its acknowledgments, 0 to 7 (higher bits are ignored).
    pub precedence: u8,
    /// When it begins.
    pub start: Time,
    /// When it stops sending new data, if it does.
    pub stop: Option<Time>,
}

/// What a flow sends.
pub enum Traffic {
    /// TCP, driven by an application.
    Tcp {
        /// The transport's parameters.
        tcp: TcpParams,
        /// What is sent through it.
        app: App,
    },
    /// UDP: sends by its own clock and hears nothing back.
    Udp(UdpSpec),
}

/// What an application sends through TCP.
#[derive(Clone, Debug, PartialEq)]
pub enum App {
    /// Data without end, until the flow stops (or after 2^32 packets, an hour at 10 Gbit/s).
    Bulk,
    /// Transfers, each followed by a time to think.
    Transfers {
        /// The size of a transfer in packets; rounded up, at least one.
        size: Distribution,
        /// Seconds between the last acknowledgment of a transfer and the next transfer.
        think: Distribution,
        /// How many transfers, or without end.
        count: Option<u32>,
        /// Whether a transfer opens a connection of its own or continues the last one.
        connection: Connection,
    },
}

/// How transfers use connections.
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
    /// The mean rate while on.
    pub rate: Schedule<BitRate>,
    /// Gaps between packets while on.
    pub gaps: Gaps,
    /// Lengths of the on and off periods in seconds; always on if `None`.
    pub on_off: Option<(Distribution, Distribution)>,
    /// Whether its packets claim to be ECN-capable (and nobody responds).
    pub ecn: bool,
}

/// Gaps between the packets of a UDP source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Each packet follows the one before by its own size over the rate: a constant bit rate.
    Constant,
    /// Exponential with mean (mean packet size / rate): Poisson arrivals.
    Exponential,
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

/// What is measured, and when.
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
