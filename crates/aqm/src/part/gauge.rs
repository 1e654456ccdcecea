//! The reading of a queue in the unit of a threshold.

use quell_units::QueueSize;

use crate::{Link, QueueView};

/// Reads a queue in packets: as counted, or as bytes divided by the mean packet size.
///
/// Which of the two follows from the unit of the thresholds a user writes: thresholds in bytes
/// measure the queue in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gauge {
    /// Packets as counted.
    Packets,
    /// Bytes, times packets per byte.
    Bytes(f64),
}

impl Gauge {
    /// The gauge for thresholds written in the unit of `threshold`.
    pub fn of(threshold: QueueSize, link: &Link) -> Self {
        match threshold {
            QueueSize::Packets(_) => Gauge::Packets,
            QueueSize::Bytes(_) => Gauge::Bytes(1.0 / link.mean_packet.get() as f64),
        }
    }

    /// The queue length in packets.
    #[inline]
    pub fn read(self, queue: &QueueView) -> f64 {
        match self {
            Gauge::Packets => queue.packets.get() as f64,
            Gauge::Bytes(per_byte) => queue.bytes.get() as f64 * per_byte,
        }
    }
}
