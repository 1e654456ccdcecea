//! What a queue is created from: TOML or JSON.

use std::fmt;

use quell_aqm::catalog::{AnyAqm, AnyDiscipline, AqmConfig};
use quell_aqm::{Link, ParamError, Seed};
use quell_queue::{Limit, Qdisc, Queue};
use quell_units::{BitRate, Bytes, QueueSize, Time};
use serde::Deserialize;

use crate::Handle;

/// The queue behind the interface: the same that the simulator and the gateway run.
pub type Managed = Queue<Handle, AnyAqm, AnyDiscipline>;

/// A queue as its owner configures it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The link's rate.
    pub rate: BitRate,
    /// How much may wait.
    pub buffer: QueueSize,
    /// The mean packet size, from which automatic parameters are computed.
    #[serde(default = "mean_packet")]
    pub mean_packet: Bytes,
    /// The smallest packet that ever comes: with it, a buffer in bytes says for how many packets memory is
    /// taken.
    #[serde(default = "smallest_packet")]
    pub smallest_packet: Bytes,
    /// Whether signals mark ECN-capable packets instead of dropping them.
    #[serde(default)]
    pub ecn: bool,
    /// Seeds the algorithm's random stream.
    #[serde(default = "seed")]
    pub seed: u64,
    /// The algorithm and its parameters, as in a scenario.
    pub aqm: AqmConfig,
}

fn mean_packet() -> Bytes {
    Bytes::new(1000)
}

/// An IPv4 header.
fn smallest_packet() -> Bytes {
    Bytes::new(20)
}

fn seed() -> u64 {
    1
}

/// Rates beyond which a packet takes less than a nanosecond, or more than a day: those of the gateway.
const RATES: std::ops::RangeInclusive<u64> = 1_000..=400_000_000_000;

/// The most packets for which memory is taken.
const MOST: f64 = (1 << 24) as f64;

/// Why a queue cannot be created: the field and the rule.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Reads a configuration: JSON if it begins with a brace, TOML otherwise.
    ///
    /// # Errors
    /// Says where the text breaks which rule.
    pub fn read(text: &str) -> Result<Self, ConfigError> {
        if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|e| ConfigError(e.to_string()))
        } else {
            toml::from_str(text).map_err(|e| ConfigError(e.to_string().trim_end().to_string()))
        }
    }

    /// The most packets that can wait.
    pub fn most_packets(&self) -> usize {
        match self.buffer {
            QueueSize::Packets(n) => n as usize,
            QueueSize::Bytes(n) => (n / self.smallest_packet.get() as f64) as usize,
        }
    }

    /// The queue, empty, whose life begins at `now`, with memory for all that it may hold. Its random stream
    /// is that which the simulator gives to the first link.
    ///
    /// # Errors
    /// Names the field that breaks a rule.
    pub fn build(&self, now: Time) -> Result<Managed, ConfigError> {
        let rule = |ok: bool, field: &str, value: &dyn fmt::Display, rule: &str| match ok {
            true => Ok(()),
            false => Err(ConfigError(format!("{field} = {value}: {rule}"))),
        };
        rule(RATES.contains(&self.rate.bps()), "rate", &self.rate, "must be 1 kbit/s to 400 Gbit/s")?;
        rule(
            (1..=65_535).contains(&self.smallest_packet.get()),
            "smallest_packet",
            &self.smallest_packet,
            "must be 1 B to 65535 B",
        )?;
        rule(
            (self.smallest_packet.get()..=65_535).contains(&self.mean_packet.get()),
            "mean_packet",
            &self.mean_packet,
            "must be smallest_packet to 65535 B",
        )?;
        let most = match self.buffer {
            QueueSize::Packets(n) => n,
            QueueSize::Bytes(n) => n / self.smallest_packet.get() as f64,
        };
        rule(
            (1.0..=MOST).contains(&most),
            "buffer",
            &self.buffer,
            "must hold 1 to 16777216 packets of smallest_packet",
        )?;
        let link = Link { rate: self.rate, buffer: self.buffer, mean_packet: self.mean_packet };
        let algorithm = self.aqm.build(&link).map_err(|ParamError { field, value, rule, .. }| {
            ConfigError(format!("aqm.{field} = {value}: {rule}"))
        })?;
        let rng = Seed(self.seed).indexed_stream("link.aqm", 0);
        let mut queue = Queue::new(algorithm, rng, Limit::of(self.buffer), self.ecn, Some(self.rate));
        queue.reserve(self.most_packets());
        if now > Time::ZERO {
            queue.take_over(now, Vec::new(), Default::default());
        }
        queue.idle(now);
        Ok(queue)
    }
}
