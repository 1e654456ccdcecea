//! The configuration of a queue: TOML or JSON.

use std::fmt;

use quell_aqm::catalog::{AnyAlgorithm, AnyAqm, AnyDiscipline, AqmConfig, CATALOG, Visitor};
use quell_aqm::{Aqm, Discipline, Link, ParamError, Rng, Seed};
use quell_names::{suggest, unknown};
use quell_queue::{Fifo, Limit, Parallel, Qdisc, Queue};
use quell_units::text::cut;
use quell_units::{BitRate, Bytes, QueueSize, Time};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::face::Face;
use crate::types::Handle;

/// The queue behind the interface, as programs in Rust have it: the same that the gateway runs.
pub type Managed = Queue<Handle, AnyAqm, AnyDiscipline>;

/// A queue as its owner configures it.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The link's rate.
    pub rate: BitRate,
    /// The size of the buffer.
    pub buffer: QueueSize,
    /// The mean packet size, from which automatic parameters are computed.
    pub mean_packet: Bytes,
    /// The smallest packet that ever comes: with it, a buffer in bytes says for how many packets memory is
    /// taken.
    pub smallest_packet: Bytes,
    /// Signals mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Seeds the algorithm's random stream.
    pub seed: u64,
    /// The algorithm and its parameters, as in a scenario.
    pub aqm: AqmConfig,
}

/// A configuration as it is written: a table, whose values are read one by one so that errors name them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    rate: Option<Value>,
    buffer: Option<Value>,
    mean_packet: Option<Value>,
    smallest_packet: Option<Value>,
    ecn: Option<Value>,
    seed: Option<Value>,
    aqm: Option<Value>,
}

/// The defaults of what may be left out.
const MEAN_PACKET: Bytes = Bytes::new(1000);
/// An IPv4 header.
const SMALLEST_PACKET: Bytes = Bytes::new(20);
const SEED: u64 = 1;

/// Rates beyond which a packet takes less than a nanosecond, or more than a day: those of the gateway.
const RATES: std::ops::RangeInclusive<u64> = 1_000..=400_000_000_000;

/// The most packets for which memory is taken.
const MOST: f64 = (1 << 24) as f64;

/// The reason why a queue cannot be created: the field and the rule.
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
    /// Names the field that breaks a rule, its value and the rule; in a text that is neither JSON nor TOML, the line.
    pub fn read(text: &str) -> Result<Self, ConfigError> {
        let written: Written = match text.trim_start().starts_with('{') {
            true => serde_json::from_str(text).map_err(|e| e.to_string()),
            false => toml::from_str(text).map_err(|e| e.to_string().trim_end().to_string()),
        }
        .map_err(|why| ConfigError(unknown_key("", &why).unwrap_or(why)))?;
        let size = "a size with its unit, such as \"1000 B\"";
        Ok(Config {
            rate: needed("rate", written.rate, "a rate with its unit, such as \"10 Mbit/s\"")?,
            buffer: needed("buffer", written.buffer, "a size, such as \"100 packets\" or \"150 kB\"")?,
            mean_packet: given("mean_packet", written.mean_packet, size)?.unwrap_or(MEAN_PACKET),
            smallest_packet: given("smallest_packet", written.smallest_packet, size)?
                .unwrap_or(SMALLEST_PACKET),
            ecn: given("ecn", written.ecn, "true or false")?.unwrap_or(false),
            seed: given("seed", written.seed, "a whole number of at least 0")?.unwrap_or(SEED),
            aqm: algorithm(written.aqm)?,
        })
    }

    /// The most packets that can wait.
    pub fn most_packets(&self) -> usize {
        match self.buffer {
            QueueSize::Packets(n) => n as usize,
            QueueSize::Bytes(n) => (n / self.smallest_packet.get() as f64) as usize,
        }
    }

    /// The queue, empty, whose life begins at `now`, with memory for all that it may hold. It has the random stream
    /// that the simulator gives to the first link.
    ///
    /// # Errors
    /// Names the field that breaks a rule.
    pub fn build(&self, now: Time) -> Result<Managed, ConfigError> {
        let (limit, ecn, rate) = self.arguments();
        let mut queue = Queue::new(self.algorithm()?, self.stream(), limit, ecn, rate);
        queue.reserve(self.most_packets());
        begin(&mut queue, now);
        Ok(queue)
    }

    /// The same, compiled for its algorithm.
    pub(crate) fn compiled(&self, now: Time) -> Result<Box<dyn Face>, ConfigError> {
        Ok(self.algorithm()?.visit(Compiled { config: self, now }))
    }

    /// The arguments of a queue that follow from the link.
    fn arguments(&self) -> (Limit, bool, Option<BitRate>) {
        (Limit::of(self.buffer), self.ecn, Some(self.rate))
    }

    fn stream(&self) -> Rng {
        Seed(self.seed).indexed_stream("link.aqm", 0)
    }

    fn algorithm(&self) -> Result<AnyAlgorithm, ConfigError> {
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
        self.aqm.build(&link).map_err(|ParamError { field, value, rule, .. }| {
            ConfigError(format!("aqm.{field} = {value}: {rule}"))
        })
    }
}

/// The life of an empty queue begins at `now`.
fn begin<Q: Qdisc + ?Sized>(queue: &mut Q, now: Time) {
    if now > Time::ZERO {
        queue.take_over(now, Vec::new(), Default::default());
    }
    queue.idle(now);
}

/// Makes the queue that an algorithm needs.
struct Compiled<'a> {
    config: &'a Config,
    now: Time,
}

impl Visitor for Compiled<'_> {
    type Output = Box<dyn Face>;

    fn visit<A: Aqm + 'static>(self, aqm: A) -> Box<dyn Face> {
        let (limit, ecn, rate) = self.config.arguments();
        let mut queue = Box::new(Fifo::new(aqm, self.config.stream(), limit, ecn, rate));
        queue.reserve(self.config.most_packets());
        begin(&mut *queue, self.now);
        queue
    }

    fn visit_discipline<D: Discipline + 'static>(self, discipline: D) -> Box<dyn Face> {
        let (limit, ecn, rate) = self.config.arguments();
        let mut queue = Box::new(Parallel::new(discipline, self.config.stream(), limit, ecn, rate));
        queue.reserve(self.config.most_packets());
        begin(&mut *queue, self.now);
        queue
    }
}

/// The error of `field`, which has `value`.
fn refused(field: &str, value: &Value, rule: &str) -> ConfigError {
    let value = value.to_string();
    // "x" = "x" is not a time: once is enough.
    let rule = rule.strip_prefix(&format!("{value} is ")).unwrap_or(rule);
    ConfigError(format!("{field} = {}: {rule}", cut(&value)))
}

/// A value that may be left out; it must be `what`.
fn given<T: DeserializeOwned>(
    field: &str,
    value: Option<Value>,
    what: &str,
) -> Result<Option<T>, ConfigError> {
    let Some(value) = value else { return Ok(None) };
    let read = T::deserialize(&value).map(Some);
    read.map_err(|e| refused(field, &value, &in_words(&e.to_string(), what)))
}

fn needed<T: DeserializeOwned>(field: &str, value: Option<Value>, what: &str) -> Result<T, ConfigError> {
    given(field, value, what)?.ok_or_else(|| ConfigError(format!("{field}: is missing: {what}")))
}

/// A message about a value of another type than `what` is.
fn in_words(why: &str, what: &str) -> String {
    match why.starts_with("invalid ") {
        true => format!("must be {what}"),
        false => why.to_string(),
    }
}

/// A better message for serde's "unknown field `x`, expected one of `y`, `z`", if it says that; `table` has the field.
fn unknown_key(table: &str, why: &str) -> Option<String> {
    let (_, names) = why.split_once("unknown field ")?;
    let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
    let [wrong, known @ ..] = &names[..] else { return None };
    let (rule, nearest) = unknown("key", wrong, known);
    let known = (!known.is_empty()).then(|| format!("known keys: {}", known.join(", ")));
    Some(format!("{table}{}: {}", cut(wrong), suggest(&rule, nearest.as_deref(), known.as_deref())))
}

/// The algorithm and its parameters.
fn algorithm(value: Option<Value>) -> Result<AqmConfig, ConfigError> {
    const WHAT: &str = "a table with the name of an algorithm, such as algorithm = \"codel\"";
    let mut table: Map<String, Value> = match value {
        // A name alone, or a line of tc's.
        Some(Value::String(name)) => Map::from_iter([("algorithm".to_string(), Value::String(name))]),
        value => needed("aqm", value, WHAT)?,
    };
    let name: String = needed("aqm.algorithm", table.remove("algorithm"), "a name, such as \"codel\"")?;
    let of = |table: Map<String, Value>| AqmConfig::deserialize_named(&name, Value::Object(table));
    let read = of(table.clone()).ok_or_else(|| {
        let known: Vec<&str> = CATALOG.iter().map(|entry| entry.name).collect();
        let (rule, nearest) = unknown("algorithm", &name, &known);
        let known = format!("known: {}", known.join(", "));
        let why = suggest(&rule, nearest.as_deref(), Some(&known));
        ConfigError(format!("aqm.algorithm = \"{}\": {why}", cut(&name)))
    })?;
    read.map_err(|e| {
        let why = e.to_string();
        if let Some(why) = unknown_key("aqm.", &why) {
            return ConfigError(why);
        }
        // Which parameter it is does not say itself: the first that is wrong without the others.
        let wrong = table.iter().find_map(|(field, value)| {
            let why = of(Map::from_iter([(field.clone(), value.clone())]))?.err()?.to_string();
            let expected = why.rsplit_once("expected ").map_or("of another type", |(_, expected)| expected);
            let what = match expected {
                "a string" => "text, a quantity with its unit, such as \"5 ms\"",
                other => other,
            };
            Some(refused(&format!("aqm.{field}"), value, &in_words(&why, what)))
        });
        wrong.unwrap_or_else(|| ConfigError(format!("aqm: {why}")))
    })
}
