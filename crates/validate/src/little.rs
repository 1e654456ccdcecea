//! Little's law: the mean queue is the rate of departures times the mean time they waited.
//!
//! It is exact but for the edges of the window: packets that wait at an edge waited partly outside.
//! Each edge holds at most a full buffer, and each of its packets waits at most as long as the longest
//! that was measured.

use quell_lab::{Metric, Replication};
use serde::Serialize;

/// The law in one replication, in packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Little {
    /// The mean queue, from the queue's integral over time.
    pub queue: f64,
    /// Rate of departures times mean delay, from each packet's delay.
    pub law: f64,
    /// The largest distance that the edges explain.
    pub edges: f64,
}

impl Little {
    /// Little's law in a replication at its bottleneck; `None`: nothing was sent.
    pub fn of(replication: &Replication, mean_packet: f64) -> Option<Little> {
        let row = replication.metrics.iter().find(|m| m.scope == "all" && m.segment.is_none())?;
        let value = |metric| row.values.get(metric);
        let delays = replication.delays.iter().filter(|d| *d.link == *row.link && &*d.scope == "all");
        let longest = delays.map(|d| d.queue_delay_s).fold(0.0, f64::max);
        // What a link sends within the longest delay is what can have waited at one edge.
        let rate = value(Metric::Throughput)? / value(Metric::Utilization)? / 8.0 / mean_packet;
        let rate = rate.max(value(Metric::PacketRate)?);
        Some(Little {
            queue: value(Metric::QueueMean)?,
            law: value(Metric::PacketRate)? * value(Metric::DelayMean)?,
            edges: rate * longest * longest / (row.to_s - row.from_s),
        })
    }

    /// The part of the difference that the edges do not explain; not positive if the law holds.
    pub fn excess(&self) -> f64 {
        (self.queue - self.law).abs() - self.edges
    }

    pub fn holds(&self) -> bool {
        self.excess() <= 1e-6 * self.queue
    }
}
