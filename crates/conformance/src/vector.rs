//! The form of vectors: a header and events, one JSON object per line.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use quell_units::{BitRate, Duration, QueueSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The version of the form; a header says which it has.
pub const FORM: u32 = 1;

/// The first line of a vector: what is to be built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of this form: 1.
    pub conformance: u32,
    /// The vector's name: the algorithm, a slash, and what happens.
    pub vector: String,
    /// The algorithm, as `quell aqm list` has it.
    pub algorithm: String,
    /// The publication.
    pub source: String,
    /// Every parameter as a number, a truth value, a name or a table: times in seconds, rates in bit/s, sizes
    /// as {"packets": x} or {"bytes": x}, null where it is left out.
    pub parameters: BTreeMap<String, Value>,
    /// The same as a scenario has it, with units.
    pub config: Value,
    /// The link that the queue is for.
    pub link: Link,
    /// Signals mark ECN-capable packets. If not, every packet counts as Not-ECT.
    pub ecn: bool,
    /// The seed of Quell's own generator. An implementation with another one does not need it: events carry
    /// the draws.
    pub seed: u64,
    /// Events that follow.
    pub events: u32,
    /// The internal signals that answers may carry, with their units.
    pub signals: BTreeMap<String, String>,
    /// The errors that they may have; left out: those of another order of operations in floating point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Tolerance>,
}

/// The errors that internal signals may have, and why. Decisions have none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// Relative to the value.
    #[schemars(range(min = 0.0, max = 0.01))]
    pub relative: f64,
    /// And so much more, in the signal's unit, by the signal's name; of others 1e-9.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absolute: BTreeMap<String, f64>,
    /// The arithmetic that makes them.
    pub reason: String,
}

impl Tolerance {
    /// Other orders of operations round differently.
    pub const OF_ROUNDING: f64 = 1e-6;
    /// The same of values near 0.
    pub const OF_ROUNDING_NEAR_ZERO: f64 = 1e-9;
    /// The largest relative error that is still one of arithmetic.
    const MOST: f64 = 0.01;

    fn check(&self, signals: &BTreeMap<String, String>) -> Result<(), String> {
        let Tolerance { relative, absolute, reason } = self;
        if !(0.0..=Self::MOST).contains(relative) {
            return Err(format!("tolerance.relative = {relative}: must lie in [0, {}]", Self::MOST));
        }
        if let Some((name, x)) = absolute.iter().find(|(_, x)| !(x.is_finite() && **x >= 0.0)) {
            return Err(format!("tolerance.absolute.{name} = {x}: must be 0 or more"));
        }
        if let Some(name) = absolute.keys().find(|name| !signals.contains_key(*name)) {
            return Err(format!("tolerance.absolute.{name}: must be a signal that the header lists"));
        }
        match reason.trim().is_empty() {
            true => Err("tolerance.reason: is empty: say which arithmetic makes these errors".into()),
            false => Ok(()),
        }
    }
}

/// The link, constant over a vector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its rate in bit/s.
    #[schemars(range(min = 1))]
    pub rate_bps: u64,
    /// The buffer, without the packet in transmission.
    pub buffer: Size,
    /// The mean packet size in bytes, from which automatic parameters are computed.
    #[schemars(range(min = 1))]
    pub mean_packet_bytes: u64,
}

/// A size of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Size {
    /// A number of packets, whatever their size.
    Packets(f64),
    /// A number of bytes.
    Bytes(f64),
}

impl From<QueueSize> for Size {
    fn from(size: QueueSize) -> Size {
        match size {
            QueueSize::Packets(n) => Size::Packets(n),
            QueueSize::Bytes(n) => Size::Bytes(n),
        }
    }
}

/// Every other line: what happens, and in files what the reference answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Its number, from 1.
    pub event: u32,
    /// Its time in nanoseconds; never less than that of the event before.
    pub t: u64,
    /// The kind of event.
    #[serde(rename = "do")]
    pub what: What,
    /// The packet that arrives; only with "enqueue".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<Packet>,
    /// The number of the queue that the reference has for it, where it has several; only with "enqueue". Whoever has
    /// another hash takes this in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// The numbers that the reference drew, uniform on [0, 1), in the order in which it drew them. A decision
    /// of probability p is "signal if u < p", and draws nothing if p is 0 or less.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub draws: Vec<f64>,
    /// The answer of the reference. The runner keeps it to itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Answer>,
}

/// An event at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// A packet arrives.
    Enqueue,
    /// The link is free: the next packet is taken to be sent.
    Dequeue,
    /// A periodic update of the algorithm is due.
    Update,
    /// Nothing has been in transmission since this time. Where nothing waits, a dequeue that finds nothing is
    /// the same.
    Idle,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Packet {
    /// The number that answers call it by; each packet has its own.
    pub id: u32,
    /// Its size in bytes.
    #[schemars(range(min = 1))]
    pub bytes: u64,
    /// Its flow.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flow: u32,
    /// Its ECN field; left out: Not-ECT.
    #[serde(default, skip_serializing_if = "Ecn::is_not_ect")]
    pub ecn: Ecn,
    /// The protocol of its IP header; left out: 6, TCP.
    #[serde(default = "tcp", skip_serializing_if = "is_tcp")]
    pub protocol: u8,
    /// Its DSCP; left out: 0.
    #[serde(default, skip_serializing_if = "is_zero_byte")]
    #[schemars(range(max = 63))]
    pub dscp: u8,
    /// It is a TCP SYN; left out: it is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub syn: bool,
    /// The hosts between which it travels; left out: nobody knows.
    #[serde(default, skip_serializing_if = "Hosts::are_unknown")]
    pub hosts: Hosts,
    /// What it acknowledges, if it is a segment of TCP that does; left out: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack: Option<Ack>,
}

/// What a segment of TCP acknowledges, and how. Numbers wrap at 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// The number below which everything has come.
    pub number: u32,
    /// Its bytes of data; left out: none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub data: u32,
    /// The flags of its header besides ACK: 64 is ECE, 128 is CWR; left out: none.
    #[serde(default, skip_serializing_if = "is_zero_byte")]
    pub flags: u8,
    /// Its timestamp and the one that it echoes; left out: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamps: Option<[u32; 2]>,
    /// The begin and the end of each block of its SACK option, of which empty ones are none; left out: there are none.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub blocks: [[u32; 2]; 3],
}

impl Ack {
    /// Its flags of ECN.
    pub const ECN: u8 = 0xc0;
}

fn is_empty(blocks: &[[u32; 2]; 3]) -> bool {
    *blocks == [[0; 2]; 3]
}

/// Hosts: numbers that tell them apart, 0 of one that nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// The host that it comes from.
    pub source: u16,
    /// The host that it goes to.
    pub destination: u16,
}

impl Hosts {
    fn are_unknown(&self) -> bool {
        *self == Hosts::default()
    }
}

fn is_zero(x: &u32) -> bool {
    *x == 0
}

fn is_zero_byte(x: &u8) -> bool {
    *x == 0
}

fn tcp() -> u8 {
    6
}

fn is_tcp(x: &u8) -> bool {
    *x == 6
}

/// An ECN field (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, codepoint 10.
    Ect0,
    /// ECN-capable, codepoint 01.
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    fn is_not_ect(&self) -> bool {
        *self == Ecn::NotEct
    }
}

/// The fate of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It waits.
    Queued,
    /// It waits, and its ECN field has become CE. One that was CE before is queued.
    Marked,
    /// It is gone.
    Dropped,
}

/// The cause of a drop at the arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// A decision by chance or by a schedule, before the queue is full.
    Early,
    /// A hard limit of the algorithm.
    Forced,
    /// A full buffer.
    Overflow,
}

/// An answer to an event: the reference's in a file, an implementation's on its standard output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// With "enqueue": what became of the arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// With "enqueue", if it was dropped: why. An implementation may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// With "dequeue": the packet that leaves; left out: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u32>,
    /// With "dequeue": the packet that leaves was marked now, at the head.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marked: bool,
    /// With "dequeue", if packets wait and none may leave: before which time in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<u64>,
    /// Packets that had waited and were dropped, in the order in which they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<u32>,
    /// How many of the event's draws were used; left out: none. Files leave it out: all were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u32>,
    /// Internal signals after the event. An implementation may leave out any, or all.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub signals: BTreeMap<String, f64>,
}

/// The first answer of an implementation, to the header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Greeting {
    /// It implements the algorithm and is ready.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ready: bool,
    /// The reason for which it does not take this vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
}

/// A vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// The header: what is built.
    pub header: Header,
    /// The events, with the answers of the reference.
    pub events: Vec<Event>,
}

/// A line that is not one of a vector, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The line, from 1.
    pub line: usize,
    /// The rule that it breaks.
    pub why: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for Broken {}

impl Vector {
    /// The vector as lines of text.
    pub fn text(&self) -> String {
        let line = |x: serde_json::Result<String>| x.expect("vectors are JSON") + "\n";
        let mut text = line(serde_json::to_string(&self.header));
        self.events.iter().for_each(|e| text.push_str(&line(serde_json::to_string(e))));
        text
    }

    /// Reads the vectors of a file. A byte order mark at its beginning is passed over (RFC 8259 section 8.1), and lines
    /// may end as on Windows.
    ///
    /// # Errors
    /// The first line that breaks the form: its field, and the rule.
    pub fn read_all(text: &str) -> Result<Vec<Vector>, Broken> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut all: Vec<Vector> = Vec::new();
        let mut names = HashSet::new();
        let mut packets = Packets::default();
        let mut last = 0;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let broken = |why: String| Broken { line: number + 1, why };
            let value: Value = serde_json::from_str(line).map_err(|e| broken(not_json(&e)))?;
            let Value::Object(fields) = &value else {
                return Err(broken("must be a JSON object: a header or an event".into()));
            };
            if EVENT_KEYS.iter().any(|key| fields.contains_key(*key)) {
                let event: Event = read(line).map_err(broken)?;
                let vector = all.last_mut().ok_or_else(|| {
                    broken(format!("an event before any header: the first line is a header, {HEADER}"))
                })?;
                vector.accept(event, &mut packets).map_err(broken)?;
            } else if fields.contains_key("conformance") {
                if let Some(vector) = all.last() {
                    vector.complete("a header comes").map_err(broken)?;
                }
                let header: Header = read(line).map_err(broken)?;
                header.check().map_err(broken)?;
                if !names.insert(header.vector.clone()) {
                    return Err(broken(format!("vector = {:?}: is in this file already", header.vector)));
                }
                packets = Packets::default();
                all.push(Vector { header, events: Vec::new() });
            } else {
                return Err(broken(format!(
                    "is neither a header, {HEADER}, nor an event, {{\"event\":1,\"t\":0,\"do\":...}}"
                )));
            }
            last = number;
        }
        let broken = |why: String| Broken { line: last + 1, why };
        match all.last() {
            None => Err(broken(format!("no vector: the first line is a header, {HEADER}"))),
            Some(vector) => vector.complete("the file ends").map_err(broken).map(|()| all),
        }
    }

    /// Refuses a header or an end where an event is due.
    fn complete(&self, what: &str) -> Result<(), String> {
        let (seen, said) = (self.events.len(), self.header.events);
        match seen == said as usize {
            true => Ok(()),
            false => Err(format!(
                "{what} where event {} of vector {} is due: its header says events = {said}",
                seen + 1,
                self.header.vector
            )),
        }
    }

    fn accept(&mut self, event: Event, packets: &mut Packets) -> Result<(), String> {
        let number = self.events.len() as u32 + 1;
        if number > self.header.events {
            return Err(format!(
                "event = {}: the header of vector {} says events = {}",
                event.event, self.header.vector, self.header.events
            ));
        }
        if event.event != number {
            return Err(format!("event = {}: event {number} is due, they are counted from 1", event.event));
        }
        if let Some(before) = self.events.last().filter(|before| before.t > event.t) {
            return Err(format!(
                "t = {}: must not be less than that of event {}, {}: time does not go back",
                event.t, before.event, before.t
            ));
        }
        if event.packet.is_some() != (event.what == What::Enqueue) {
            return Err("packet: belongs to \"enqueue\", and to nothing else".into());
        }
        if event.queue.is_some() && event.what != What::Enqueue {
            return Err("queue: belongs to \"enqueue\", and to nothing else".into());
        }
        if let Some(packet) = &event.packet {
            packet.check()?;
        }
        if let Some(u) = event.draws.iter().find(|u| !(0.0..1.0).contains(*u)) {
            return Err(format!("draws: {u} must lie in [0, 1)"));
        }
        let Some(expect) = &event.expect else {
            return Err("expect: is missing: a file says what the reference answered".into());
        };
        if expect.verdict.is_some() != (event.what == What::Enqueue) {
            return Err("expect.verdict: belongs to \"enqueue\", and to nothing else".into());
        }
        if event.what != What::Dequeue {
            if let Some(id) = expect.sent {
                return Err(format!("expect.sent = {id}: belongs to \"dequeue\", and to nothing else"));
            }
            if expect.marked {
                return Err("expect.marked: belongs to \"dequeue\", and to nothing else".into());
            }
        }
        if let Some(name) = expect.signals.keys().find(|name| !self.header.signals.contains_key(*name)) {
            let known: Vec<&str> = self.header.signals.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Err(format!("expect.signals.{name}: must be one that the header lists: {known}"));
        }
        packets.follow(event.packet.as_ref(), expect)?;
        self.events.push(event);
        Ok(())
    }

    /// Decisions other than to let pass: marks and drops, and of those the drops for want of room.
    pub fn signals(&self) -> (usize, usize) {
        let answers = || self.events.iter().filter_map(|e| e.expect.as_ref());
        let overflows = answers().filter(|a| a.cause == Some(Cause::Overflow)).count();
        let all = answers()
            .map(|a| {
                let arrival = matches!(a.verdict, Some(Verdict::Marked | Verdict::Dropped));
                usize::from(arrival) + usize::from(a.marked) + a.dropped.len()
            })
            .sum();
        (all, overflows)
    }
}

/// Packets of a vector as its events go by.
#[derive(Default)]
struct Packets {
    arrived: HashSet<u32>,
    waiting: HashSet<u32>,
}

impl Packets {
    /// Refuses a packet that is not new, and the departure of one that does not wait.
    fn follow(&mut self, arrival: Option<&Packet>, expect: &Answer) -> Result<(), String> {
        if let Some(Packet { id, .. }) = arrival.filter(|packet| !self.arrived.insert(packet.id)) {
            return Err(format!("packet.id = {id}: another packet had it; each has its own"));
        }
        let dropped = expect.dropped.iter().map(|id| ("dropped", *id));
        for (field, id) in dropped.chain(expect.sent.map(|id| ("sent", id))) {
            if !self.waiting.remove(&id) {
                let why = if self.arrived.contains(&id) { "does not wait" } else { "has not arrived" };
                return Err(format!("expect.{field} = {id}: must be a packet that waits; this one {why}"));
            }
        }
        if expect.verdict != Some(Verdict::Dropped) {
            self.waiting.extend(arrival.map(|packet| packet.id));
        }
        Ok(())
    }
}

impl Header {
    fn check(&self) -> Result<(), String> {
        if self.conformance != FORM {
            return Err(format!("conformance = {}: this version reads form {FORM}", self.conformance));
        }
        if !self.vector.starts_with(&format!("{}/", self.algorithm)) {
            return Err(format!(
                "vector = {:?}: must begin with its algorithm, \"{}/\"",
                self.vector, self.algorithm
            ));
        }
        let Link { rate_bps, buffer, mean_packet_bytes } = self.link;
        let least = |field: &str, x: u64| match x {
            0 => Err(format!("{field} = 0: must be at least 1")),
            _ => Ok(()),
        };
        least("link.rate_bps", rate_bps)?;
        least("link.mean_packet_bytes", mean_packet_bytes)?;
        let (unit, size) = match buffer {
            Size::Packets(n) => ("packets", n),
            Size::Bytes(n) => ("bytes", n),
        };
        match size.is_finite() && size >= 1.0 {
            true => Ok(()),
            false => Err(format!("link.buffer.{unit} = {size}: must be at least 1")),
        }?;
        self.tolerance.as_ref().map_or(Ok(()), |tolerance| tolerance.check(&self.signals))?;
        self.check_parameters()
    }

    /// The largest error of a signal whose value is `want`.
    pub(crate) fn error_of(&self, signal: &str, want: f64) -> f64 {
        let tolerance = self.tolerance.as_ref();
        let relative = tolerance.map_or(Tolerance::OF_ROUNDING, |t| t.relative);
        let absolute = tolerance.and_then(|t| t.absolute.get(signal).copied());
        relative * want.abs() + absolute.unwrap_or(Tolerance::OF_ROUNDING_NEAR_ZERO)
    }

    /// Refuses `parameters` and `config` that do not say the same: an implementation reads one of them.
    fn check_parameters(&self) -> Result<(), String> {
        let config = self.config.as_object().ok_or("config: must be an object: the parameters with units")?;
        if config.get("algorithm").and_then(Value::as_str) != Some(&self.algorithm) {
            let other = config.get("algorithm").unwrap_or(&Value::Null);
            return Err(format!(
                "config.algorithm = {other}: must be {:?}, as the header says",
                self.algorithm
            ));
        }
        let names = self.parameters.keys().chain(config.keys().filter(|name| *name != "algorithm"));
        for name in names {
            let [parameter, with_unit] =
                [self.parameters.get(name), config.get(name)].map(|x| x.unwrap_or(&Value::Null));
            let without_unit = plain(with_unit);
            if !is_same(parameter, &without_unit) {
                return Err(format!(
                    "parameters.{name} = {parameter}: must be what config.{name} = {with_unit} is, {without_unit}"
                ));
            }
        }
        Ok(())
    }
}

/// A value without units.
pub(crate) fn plain(value: &Value) -> Value {
    match value {
        Value::String(text) => quantity(text).unwrap_or_else(|| value.clone()),
        Value::Array(all) => all.iter().map(plain).collect(),
        Value::Object(table) => {
            Value::Object(table.iter().map(|(key, value)| (key.clone(), plain(value))).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn quantity(text: &str) -> Option<Value> {
    if let Ok(time) = text.parse::<Duration>() {
        return Some(json!(time.as_secs_f64()));
    }
    if let Ok(rate) = text.parse::<BitRate>() {
        return Some(json!(rate.bps()));
    }
    text.parse::<QueueSize>().ok().map(|q| json!(Size::from(q)))
}

/// Says whether two values are the same. Numbers may differ by what another program's conversion of units rounds.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => match (x.as_f64(), y.as_f64()) {
            (Some(x), Some(y)) => (x - y).abs() <= 1e-9 * x.abs().max(y.abs()),
            _ => x == y,
        },
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_same(a, b)))
        }
        _ => a == b,
    }
}

impl Packet {
    fn check(&self) -> Result<(), String> {
        match self {
            Packet { bytes: 0, .. } => Err("packet.bytes = 0: must be at least 1".into()),
            Packet { dscp: 64.., .. } => Err(format!("packet.dscp = {}: must lie in [0, 63]", self.dscp)),
            _ => Ok(()),
        }
    }
}

/// The beginning of a header.
const HEADER: &str = "{\"conformance\":1,\"vector\":...}";

/// Fields that events have and headers have not.
const EVENT_KEYS: &[&str] = &["event", "do", "t", "packet", "expect"];

/// A line in its form, or the field that breaks it and the rule. From the text, where a field that is there twice shows.
fn read<T: serde::de::DeserializeOwned>(line: &str) -> Result<T, String> {
    let text = &mut serde_json::Deserializer::from_str(line);
    serde_path_to_error::deserialize(text).map_err(|e| {
        let path = e.path().to_string();
        let why = e.into_inner().to_string();
        let rule = rule(why.rsplit_once(" at line").map_or(why.as_str(), |(why, _)| why));
        if path == "." { rule } else { format!("{path}: {rule}") }
    })
}

/// Serde's message, with the ranges of numbers in the place of names of types.
fn rule(text: &str) -> String {
    let ranges = [("u8", "255"), ("u16", "65535"), ("u32", "4294967295"), ("u64", "18446744073709551615")];
    match text.rsplit_once("expected ") {
        Some((before, kind)) => match ranges.iter().find(|(name, _)| *name == kind) {
            Some((_, most)) => format!("{before}expected a whole number from 0 to {most}"),
            None if kind == "f64" => format!("{before}expected a number"),
            None => text.to_string(),
        },
        None => text.to_string(),
    }
}

/// Says what is wrong with text that is not JSON, without the line that serde gives, which is always the first.
pub(crate) fn not_json(e: &serde_json::Error) -> String {
    let text = e.to_string();
    let what = text.rsplit_once(" at line").map_or(text.as_str(), |(what, _)| what);
    let cut = if e.is_eof() { "is cut off: " } else { "" };
    format!("is not JSON: {cut}{what} at column {}", e.column())
}

/// The JSON Schema of vectors: each line of a file is an object of one of its kinds.
pub fn schema() -> Value {
    /// A line of a file, of the runner, or of an implementation.
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code)]
    enum Line {
        /// The first of a vector.
        Header(Box<Header>),
        /// Every other.
        Event(Event),
        /// The first answer.
        Greeting(Greeting),
        /// Every other answer.
        Answer(Answer),
    }
    let mut schema = serde_json::to_value(schemars::schema_for!(Line)).expect("a schema is JSON");
    schema["title"] = "Lines of Quell's conformance vectors, form 1".into();
    schema
}
