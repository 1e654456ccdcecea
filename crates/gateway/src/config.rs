//! A shaped line, as a user configures it and as a log keeps it.

use quell_aqm::catalog::{AnyAqm, AnyDiscipline, AqmConfig};
use quell_aqm::params::{About, Remark};
use quell_aqm::{Link, ParamError, Seed};
use quell_queue::{Limit, Line, Qdisc, Queue};
use quell_units::{BitRate, Bytes, QueueSize};
use serde::{Deserialize, Serialize};

use crate::Packet;

/// A queue with its algorithm before a link of a given rate: the same `Line` that the simulator runs.
pub type Shaped = Line<Queue<Packet, AnyAqm, AnyDiscipline>>;

/// One direction of a gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineConfig {
    /// The name in logs and metrics: "up", "down".
    pub name: String,
    /// The rate that packets leave at, headers of the network layer and above included.
    pub rate: BitRate,
    /// The size of the buffer.
    pub buffer: QueueSize,
    /// The mean packet size, from which automatic parameters are computed.
    pub mean_packet: Bytes,
    /// Signals mark packets of ECN-capable flows instead of dropping them.
    pub ecn: bool,
    /// Seeds the algorithm's random stream.
    pub seed: u64,
    /// The algorithm and its parameters.
    pub aqm: AqmConfig,
}

/// The reason why a line cannot be built: the field, its value and the rule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct ConfigError {
    /// The field, with the line's name before it.
    pub field: String,
    /// The rule that it breaks, with a value that would be right.
    pub rule: String,
}

/// Rates beyond which one packet takes less than a nanosecond, or more than a day.
const RATES: [u64; 2] = [1_000, 400_000_000_000];

/// The most packets that a buffer may hold: what a gateway allocates when it starts.
pub const MAX_PACKETS: u32 = 1 << 20;

impl LineConfig {
    /// The link as the algorithm knows it.
    pub fn link(&self) -> Link {
        Link { rate: self.rate, buffer: self.buffer, mean_packet: self.mean_packet }
    }

    /// What may surprise about the algorithm on this link.
    pub fn remarks(&self) -> Vec<Remark> {
        self.aqm.remarks(&self.link())
    }

    /// Tells whether the buffer is as long as the algorithm's targets.
    pub fn holds_targets(&self) -> bool {
        self.remarks().iter().all(|remark| remark.about != About::Buffer)
    }

    /// The most packets that the buffer can hold, if none is smaller than `least`.
    pub fn most_packets(&self, least: Bytes) -> usize {
        self.buffer.in_packets(least).ceil() as usize
    }

    /// The line, idle and with its own random stream: the one that the simulator gives to the first link.
    ///
    /// # Errors
    /// Names the field that breaks a rule.
    pub fn build(&self) -> Result<Shaped, ConfigError> {
        let wrong = |field: &str, rule: String| ConfigError { field: format!("{}.{field}", self.name), rule };
        if !(RATES[0]..=RATES[1]).contains(&self.rate.bps()) {
            return Err(wrong("rate", format!("{} must be 1 kbit/s to 400 Gbit/s", self.rate)));
        }
        if !(20..=65_535).contains(&self.mean_packet.get()) {
            return Err(wrong("mean_packet", format!("{} must be 20 B to 65535 B", self.mean_packet)));
        }
        let most = self.buffer.in_packets(self.mean_packet);
        if !(1.0..=f64::from(MAX_PACKETS)).contains(&most) {
            let rule = format!(
                "{} must hold one to {MAX_PACKETS} packets of {} (mean_packet)",
                self.buffer, self.mean_packet
            );
            return Err(wrong("buffer", rule));
        }
        let algorithm =
            self.aqm.build(&self.link()).map_err(|ParamError { field, value, rule, .. }| {
                wrong(&format!("aqm.{field}"), format!("{value}: {rule}"))
            })?;
        let rng = Seed(self.seed).indexed_stream("link.aqm", 0);
        let mut queue = Queue::new(algorithm, rng, Limit::of(self.buffer), self.ecn, Some(self.rate));
        // No packet is smaller than its header, so the queue never allocates; of a buffer of more packets than one may
        // have, the rest is taken when it is needed.
        queue.reserve(self.most_packets(Bytes::new(20)).min(MAX_PACKETS as usize));
        Ok(Line::new(queue, self.rate))
    }

    /// The queue alone, for [`Line::reconfigure`].
    ///
    /// # Errors
    /// As [`LineConfig::build`].
    pub fn queue(&self) -> Result<Queue<Packet, AnyAqm, AnyDiscipline>, ConfigError> {
        self.build().map(Line::into_queue)
    }
}

/// The internal signals of a line's algorithm: name, unit, value.
pub fn observe(line: &Shaped) -> Vec<(&'static str, &'static str, f64)> {
    struct Signals(Vec<(&'static str, &'static str, f64)>);
    impl quell_aqm::Probe for Signals {
        fn value(&mut self, name: &'static str, unit: &'static str, x: f64) {
            self.0.push((name, unit, x));
        }
    }
    let mut signals = Signals(Vec::new());
    line.queue().observe(&mut signals);
    signals.0
}
