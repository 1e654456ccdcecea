//! A link that a router shapes.

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_units::{BitRate, Bytes, LinkLayer, QueueSize};

/// A link between a router and the network, shaped in both directions or in one.
#[derive(Clone, Debug)]
pub struct Shaped {
    /// The router's device that leads to the link.
    pub wan: String,
    /// The device that leads to the hosts, if it is known. Some routers shape what comes in where it leaves there.
    pub lan: Option<String>,
    /// The incoming direction.
    pub down: Side,
    /// The outgoing direction.
    pub up: Side,
    /// The directions that are shaped; nothing is written for another one, whose queue stays the modem's.
    pub which: Which,
}

/// Directions of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// Both.
    #[default]
    Both,
    /// The incoming one alone.
    Down,
    /// The outgoing one alone.
    Up,
}

/// One direction.
#[derive(Clone, Debug)]
pub struct Side {
    /// The rate to shape to, at the link's layer and after the margin, and what a packet takes of it.
    pub link: LinkLayer,
    /// The algorithm of the queue. A rate and an overhead of its own, which CAKE has, give way to those of `link`.
    pub aqm: AqmConfig,
    /// Marks packets of ECN-capable flows instead of dropping them.
    pub ecn: bool,
    /// The most that may wait.
    pub buffer: QueueSize,
    /// The rates between which a varying link moves, if it varies: cake-autorate keeps the shaper between them.
    pub range: Option<Range>,
}

/// Rates of a link that varies, at its layer and after the margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub least: BitRate,
    /// The most.
    pub most: BitRate,
}

/// The packet by which packets are converted to bytes and times and back: a full one, as fills a queue.
pub(crate) const FULL: Bytes = Bytes::new(1500);

impl Side {
    /// The buffer in packets, at least one.
    pub(crate) fn packets(&self) -> f64 {
        libm::round(self.buffer.in_packets(FULL)).max(1.0)
    }

    /// The link as an algorithm knows it.
    pub(crate) fn as_link(&self) -> Link {
        Link { rate: self.link.of_packets(FULL), buffer: self.buffer, mean_packet: FULL }
    }

    /// The time that so many bytes of IP packets wait at the rate.
    pub(crate) fn time_of(&self, bytes: f64) -> f64 {
        8.0 * bytes / self.link.of_packets(FULL).bps() as f64
    }

    /// The bytes of IP packets that leave in a time.
    pub(crate) fn bytes_of(&self, seconds: f64) -> f64 {
        seconds * self.link.of_packets(FULL).bytes_per_sec()
    }
}

impl Shaped {
    /// The directions with their names.
    pub(crate) fn sides(&self) -> [(&'static str, &Side); 2] {
        [("down", &self.down), ("up", &self.up)]
    }
}
