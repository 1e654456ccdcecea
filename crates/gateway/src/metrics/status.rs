//! The status, as JSON and for the exporter. A change of shape raises [`SCHEMA`].

use quell_queue::{Counters, Drops, Tally};
use serde::{Deserialize, Serialize};

use super::KernelDrops;
use super::anomaly::{Anomaly, Raised};

/// The version of the shape.
pub const SCHEMA: u32 = 3;

/// A gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The version of this shape.
    pub schema: u32,
    /// The version of Quell.
    pub version: String,
    /// The time that it had run when the worker published this.
    pub up_s: f64,
    /// The age of that.
    pub age_s: f64,
    /// The number of times that the worker was stopped for more than a second.
    pub pauses: u64,
    /// Packets that were sent and are on their way through a delay.
    pub on_the_way: u64,
    /// The kernel's drops around the gateway.
    pub kernel: KernelDrops,
    /// The log.
    pub log: LogState,
    /// One for each path.
    pub lines: Vec<LineStatus>,
    /// The anomalies that hold now.
    pub anomalies: Vec<Anomaly>,
    /// The number of times that each was raised.
    pub raised: Vec<Raised>,
}

/// The state of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum LogState {
    /// None is written.
    None,
    /// It is written.
    Writing,
    /// It ended before its time.
    Ended {
        /// The cause.
        why: String,
    },
}

/// A path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineStatus {
    /// Its line's name, such as "up"; "path-1" without a line.
    pub direction: String,
    /// Its index.
    pub line: usize,
    /// The line's queue; none without a line.
    pub queue: Option<Queue>,
    /// Packets and bytes that were sent.
    pub sent: Count,
    /// Delays from arrival to the start of transmission.
    pub delay: Spread,
    /// Times from when a packet was due to its release.
    pub lateness: Spread,
    /// Recent figures.
    pub recent: Recent,
    /// The queues that it consists of, where they have names.
    pub lanes: Vec<LaneStatus>,
    /// The internal signals of the algorithm.
    pub signals: Vec<Signal>,
    /// The algorithms that judge beside it.
    pub shadows: Vec<ShadowStatus>,
}

impl LineStatus {
    /// The algorithm's name, or "none".
    pub fn algorithm(&self) -> &str {
        self.queue.as_ref().map_or("none", |q| &q.algorithm)
    }
}

/// A queue and what happened there: the counts that RFC 9332 section 2.5.2.2 asks to report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// The algorithm's name.
    pub algorithm: String,
    /// Identifies the configuration.
    pub digest: String,
    /// The rate that it is served at.
    pub rate_bps: u64,
    /// The size of the buffer.
    pub buffer: String,
    /// It marks.
    pub ecn: bool,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
}

impl Queue {
    pub(super) fn of(line: &super::LineSnapshot) -> Self {
        let config = &line.is.config;
        Queue {
            algorithm: config.aqm.name().to_string(),
            digest: line.is.digest.clone(),
            rate_bps: config.capacity().bps(),
            buffer: config.buffer.to_string(),
            ecn: config.ecn,
            counts: Counts::of(&line.counters, line.packets, line.bytes),
        }
    }
}

/// The counts of a queue, or of one of the queues of a discipline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Packets and bytes that wait.
    pub now: Count,
    /// Packets that came, and were presented to the algorithm.
    pub arrived: Count,
    /// Those among them that came marked.
    pub arrived_ce: Count,
    /// Packets that were stored.
    pub enqueued: Count,
    /// Packets that were marked here.
    pub marked: Count,
    /// Packets that left for the link.
    pub departed: Count,
    /// Dropped on arrival.
    pub refused: Causes,
    /// Dropped after they were stored.
    pub dropped: Causes,
}

impl Counts {
    pub(super) fn of(c: &Counters, packets: u64, bytes: u64) -> Self {
        Counts {
            now: Count { packets, bytes },
            arrived: c.arrived.into(),
            arrived_ce: c.arrived_ce.into(),
            enqueued: c.enqueued.into(),
            marked: c.marked.into(),
            departed: c.departed.into(),
            refused: c.refused.into(),
            dropped: c.dropped.into(),
        }
    }

    /// The number of packets that were dropped.
    pub fn lost(&self) -> u64 {
        self.refused.total() + self.dropped.total()
    }

    /// A number of packets as a share of those that came.
    pub fn share(&self, n: u64) -> Option<f64> {
        (self.arrived.packets > 0).then(|| n as f64 / self.arrived.packets as f64)
    }
}

/// One of the queues of a discipline, such as the L queue of DualPI2, since the line's last configuration: what
/// RFC 9332 section 2.5.2.2 asks for, of each queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneStatus {
    /// Its name: "c", "l".
    pub name: String,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Delays from arrival to the start of transmission.
    pub delay: Spread,
    /// The same of the last ten seconds; none if nothing was sent.
    pub recent: Option<Quantiles>,
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl From<Tally> for Count {
    fn from(t: Tally) -> Self {
        Count { packets: t.packets, bytes: t.bytes }
    }
}

/// Drops by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Causes {
    /// Drops by the algorithm, instead of a mark or because it drops.
    pub early: Count,
    /// A hard limit of the algorithm.
    pub forced: Count,
    /// Drops for want of room.
    pub overflow: Count,
    /// ECN-capable packets among all these.
    pub ecn_capable: Count,
}

impl From<Drops> for Causes {
    fn from(d: Drops) -> Self {
        Causes {
            early: d.early.into(),
            forced: d.forced.into(),
            overflow: d.overflow.into(),
            ecn_capable: d.ecn_capable.into(),
        }
    }
}

impl Causes {
    /// Each cause by its name.
    pub fn each(&self) -> [(&'static str, Count); 3] {
        [("early", self.early), ("forced", self.forced), ("overflow", self.overflow)]
    }

    /// The number of packets of all of them.
    pub fn total(&self) -> u64 {
        self.each().iter().map(|(_, count)| count.packets).sum()
    }
}

/// A distribution since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The number.
    pub count: u64,
    /// Their sum in seconds.
    pub sum_s: f64,
    /// The number of those that are at most so many seconds, which is known to 1%.
    pub buckets: Vec<(f64, u64)>,
}

/// Recent figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    /// Arrivals of the last second, in bit/s; `None` without a line.
    pub in_bps: Option<f64>,
    /// Departures of the last second, in bit/s.
    pub out_bps: f64,
    /// The share of arrivals that was dropped in the last second.
    pub dropped: Option<f64>,
    /// The share of arrivals that was marked in the last second.
    pub marked: Option<f64>,
    /// Delays of the last ten seconds; none if nothing was sent.
    pub delay: Option<Quantiles>,
    /// Lateness of the last ten seconds; none if nothing left.
    pub lateness: Option<Quantiles>,
}

/// Quantiles in seconds, to 1%.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// The median.
    pub p50: f64,
    /// Nine of ten are at most this.
    pub p90: f64,
    /// 99 of a hundred are at most this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

/// An internal signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    /// Its name in the algorithm's paper.
    pub name: String,
    /// Its unit; "1" for a pure number.
    pub unit: String,
    /// Its value; none if it is not finite.
    pub value: Option<f64>,
}

/// An algorithm that judges and does not act.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShadowStatus {
    /// Its queue.
    pub queue: Queue,
    /// The delay that there would have been.
    pub delay: Spread,
}
