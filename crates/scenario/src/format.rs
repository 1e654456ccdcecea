//! The scenario format: what a file may say. [`Study`](crate::Study) reads files and checks them.

use quell_aqm::catalog::{self, CATALOG};
use quell_names::nearest;
use quell_sim::network::{Connection, Gaps};
use quell_tcp::TcpParams;
use quell_units::text::cut;
use quell_units::{BitRate, Bytes, Duration, QueueSize};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::described::{self, Text};
use crate::dialect::Dialect;
use crate::tree::{Fault, Node, Path, steps};
use crate::values::{
    Access, Count, Delay, Dist, Line, Rtt, Seeds, Segments, Si, When, line, lines, some_line, title,
};

/// A scenario: a network, its traffic, the algorithms to run on it, and what to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, schemars(title = "Quell scenario"))]
pub struct Scenario {
    /// The version of this format: 1.
    pub schema: u32,
    /// A title for tables and reports, of at most 200 characters.
    #[serde(default, skip_serializing_if = "String::is_empty", deserialize_with = "title")]
    pub title: String,
    /// What the scenario shows, and where it comes from.
    #[serde(default, skip_serializing_if = "String::is_empty", deserialize_with = "lines")]
    pub description: String,
    /// Which defaults apply to keys that the file leaves out: "quell" (the default), those of the ns-2 release that a
    /// paper used ("ns-2.1b", "ns-2.27" or "ns-2.35"), or those of hosts ("linux" or "quic").
    pub dialect: Option<Dialect>,
    /// The simulated time, including the warm-up.
    #[cfg_attr(test, schemars(with = "Text<Duration>"))]
    pub duration: Duration,
    /// Metrics count from this time on; default 0 s.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Text<Duration>"))]
    pub warmup: Duration,
    /// Divides the measured window into segments with their own metrics.
    pub segments: Option<Segments>,
    /// The window in which the queue counts as steady, such as ["30 s", "50 s"]. Response times compare the queue with
    /// its mean and deviation there; without it, each segment is compared with its own second half.
    #[cfg_attr(test, schemars(with = "Option<[Text<Duration>; 2]>"))]
    pub steady_state: Option<[Duration; 2]>,
    /// The step of the time series; default 1/500 of the duration.
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub series_step: Option<Duration>,
    /// The seeds of the replications, as a number of seeds or a list; default 1.
    #[serde(default = "one_seed")]
    pub seeds: Seeds,
    /// The packet size that algorithms use to convert between packets and bytes; default the size on the wire of the
    /// first flow group's packets (for a trace, their mean).
    #[cfg_attr(test, schemars(with = "Option<Text<Bytes>>"))]
    pub mean_packet: Option<Bytes>,
    /// A single bottleneck.
    pub dumbbell: Option<Dumbbell>,
    /// Several bottlenecks in a row.
    pub parking_lot: Option<ParkingLot>,
    /// Any network.
    pub graph: Option<Graph>,
    /// The algorithms to compare; "all" means every algorithm in the catalog with its defaults.
    #[serde(default, deserialize_with = "algorithms")]
    #[cfg_attr(test, schemars(schema_with = "described::algorithms"))]
    pub aqm: Vec<AqmChoice>,
    /// The traffic.
    #[serde(default)]
    pub flows: Vec<FlowGroup>,
}

fn one_seed() -> Seeds {
    Seeds::Count(1)
}

/// Reads a table that may be absent, but not "none".
fn some_tcp<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<TcpParams>, D::Error> {
    TcpParams::deserialize(deserializer).map(Some)
}

/// The keys that all links between routers have, wherever they are written.
pub(crate) struct LinkFields<'a> {
    pub(crate) rate: BitRate,
    pub(crate) delay: Delay,
    pub(crate) buffer: Option<QueueSize>,
    pub(crate) ecn: bool,
    pub(crate) loss: f64,
    pub(crate) reverse: &'a Reverse,
    pub(crate) changes: &'a Changes,
}

/// Two routers, `r1` and `r2`, and the link between them. Sources sit behind their own access links; receivers sit on
/// the far router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// The bottleneck's rate.
    #[cfg_attr(test, schemars(with = "Text<BitRate>"))]
    pub rate: BitRate,
    /// The bottleneck's one-way propagation delay.
    /// Or { uniform = ["5 ms", "15 ms"] }: drawn in each replication, for both directions alike.
    pub delay: Delay,
    /// How much may wait, not counting the packet in transmission.
    #[cfg_attr(test, schemars(with = "Text<QueueSize>"))]
    pub buffer: QueueSize,
    /// Whether the algorithm marks ECN-capable packets instead of dropping them; default false.
    #[serde(default)]
    pub ecn: bool,
    /// The probability that the wire loses a packet; default 0.
    #[serde(default)]
    pub loss: f64,
    /// The access links' rate unless a group sets its own; default 100 Mbit/s, or ten times the fastest link between
    /// the routers if that is more (so that access links are not bottlenecks), but at most the rate that sends the
    /// smallest packet in 1 ns.
    pub access_rate: Option<Access>,
    /// The reverse direction; by default, drop-tail with the same buffer, rate, delay and loss.
    #[serde(default, skip_serializing_if = "Reverse::is_default")]
    pub reverse: Reverse,
    /// Changes of rate and delay: a list, or a table with a list or a file.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
}

/// Routers `r0` to `rk` in a row and k equal links between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ParkingLot {
    /// How many links there are in a row.
    pub bottlenecks: u32,
    /// The rate of each link.
    #[cfg_attr(test, schemars(with = "Text<BitRate>"))]
    pub rate: BitRate,
    /// The one-way propagation delay of each link.
    /// Or { uniform = ["5 ms", "15 ms"] }: drawn in each replication, for both directions alike.
    pub delay: Delay,
    /// How much may wait at each link, not counting the packet in transmission.
    #[cfg_attr(test, schemars(with = "Text<QueueSize>"))]
    pub buffer: QueueSize,
    /// Whether the algorithm marks ECN-capable packets instead of dropping them; default false.
    #[serde(default)]
    pub ecn: bool,
    /// The probability that a wire loses a packet; default 0.
    #[serde(default)]
    pub loss: f64,
    /// The access links' rate unless a group sets its own; default 100 Mbit/s, or ten times the fastest link between
    /// the routers if that is more (so that access links are not bottlenecks), but at most the rate that sends the
    /// smallest packet in 1 ns.
    pub access_rate: Option<Access>,
    /// The reverse direction; by default, drop-tail with the same buffer, rate, delay and loss.
    #[serde(default, skip_serializing_if = "Reverse::is_default")]
    pub reverse: Reverse,
    /// Changes of every link's rate and delay: a list, or a table with a list or a file.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
}

/// Named nodes and links between them; packets take the path with the least propagation delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// The access links' rate unless a group sets its own; default 100 Mbit/s, or ten times the fastest link between
    /// the routers if that is more (so that access links are not bottlenecks), but at most the rate that sends the
    /// smallest packet in 1 ns.
    pub access_rate: Option<Access>,
    /// The links; the nodes are those that they name.
    pub links: Vec<GraphLink>,
}

/// A link of a graph, in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// The node it leads from.
    #[serde(deserialize_with = "line")]
    pub from: String,
    /// The node it leads to.
    #[serde(deserialize_with = "line")]
    pub to: String,
    /// Its rate.
    #[cfg_attr(test, schemars(with = "Text<BitRate>"))]
    pub rate: BitRate,
    /// Its one-way propagation delay.
    /// Or { uniform = ["5 ms", "15 ms"] }: drawn in each replication, for both directions alike.
    pub delay: Delay,
    /// How much may wait; without a buffer, the queue is unlimited, has no algorithm and is not measured.
    #[cfg_attr(test, schemars(with = "Option<Text<QueueSize>>"))]
    pub buffer: Option<QueueSize>,
    /// Its own algorithm, if it should not run the compared ones.
    pub aqm: Option<AqmChoice>,
    /// Whether the algorithm marks ECN-capable packets instead of dropping them; default false.
    #[serde(default)]
    pub ecn: bool,
    /// The probability that the wire loses a packet; default 0.
    #[serde(default)]
    pub loss: f64,
    /// The reverse direction; by default, drop-tail with the same buffer, rate, delay and loss.
    #[serde(default, skip_serializing_if = "Reverse::is_default")]
    pub reverse: Reverse,
    /// Changes of rate and delay: a list, or a table with a list or a file.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
}

/// Gives tables that describe links what all of them have in common.
macro_rules! links {
    ($($table:ty),*) => {$(
        impl $table {
            pub(crate) fn link(&self) -> LinkFields<'_> {
                LinkFields {
                    rate: self.rate,
                    delay: self.delay,
                    buffer: self.buffer.into(),
                    ecn: self.ecn,
                    loss: self.loss,
                    reverse: &self.reverse,
                    changes: &self.changes,
                }
            }
        }
    )*};
}
links!(Dumbbell, ParkingLot, GraphLink);

/// Settings of a link's reverse direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reverse {
    /// Its algorithm, or "same" for the forward direction's; default drop-tail.
    pub aqm: Option<BackAqm>,
    /// Its buffer; default the forward one.
    #[cfg_attr(test, schemars(with = "Option<Text<QueueSize>>"))]
    pub buffer: Option<QueueSize>,
    /// Its rate; default the forward one. With its own rate, forward changes of rate do not apply to it.
    #[cfg_attr(test, schemars(with = "Option<Text<BitRate>>"))]
    pub rate: Option<BitRate>,
    /// Its one-way propagation delay; default the forward one. With its own delay, forward changes of delay do not
    /// apply to it.
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub delay: Option<Duration>,
    /// Whether it marks; default as forward.
    pub ecn: Option<bool>,
    /// Its loss; default as forward.
    pub loss: Option<f64>,
    /// Its changes; default the forward ones. With its own changes, even none ([]), the forward ones do not apply to
    /// it.
    pub changes: Option<Changes>,
}

/// The algorithm of the reverse direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum BackAqm {
    /// The one that the forward direction has.
    Same,
    /// One of its own.
    Own(AqmChoice),
}

const SAME: &str = "same";

impl Serialize for BackAqm {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            BackAqm::Same => serializer.serialize_str(SAME),
            BackAqm::Own(choice) => choice.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for BackAqm {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> serde::de::Visitor<'de> for Read {
            type Value = BackAqm;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table with the key \"algorithm\" and the algorithm's parameters, or \"same\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<BackAqm, E> {
                match text {
                    SAME => Ok(BackAqm::Same),
                    name if catalog::find(name).is_some() => {
                        Err(E::custom(format!("must be a table: write {{ algorithm = \"{name}\" }}")))
                    }
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<BackAqm, A::Error> {
                AqmChoice::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(BackAqm::Own)
            }
        }
        deserializer.deserialize_any(Read)
    }
}

impl Reverse {
    fn is_default(&self) -> bool {
        *self == Reverse::default()
    }
}

/// How a link changes, in both directions unless the reverse one has its own changes: a list of changes, a table with a
/// list or a file, or the name of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
#[cfg_attr(test, schemars(transform = described::or_name))]
pub enum Changes {
    /// Changes at given times.
    List(Vec<Change>),
    /// A list or a file, once or over and over.
    Course(Box<Course>),
}

impl Default for Changes {
    fn default() -> Self {
        Changes::List(Vec::new())
    }
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Changes::List(list) if list.is_empty())
    }
}

impl<'de> Deserialize<'de> for Changes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> serde::de::Visitor<'de> for Read {
            type Value = Changes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of changes, or a table with a list or a file")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, seq: A) -> Result<Changes, A::Error> {
                Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(seq)).map(Changes::List)
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Changes, A::Error> {
                let course = Course::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(Changes::Course(Box::new(course)))
            }

            fn visit_str<E: serde::de::Error>(self, file: &str) -> Result<Changes, E> {
                let file = Some(file.to_string());
                Ok(Changes::Course(Box::new(Course { file, ..Course::default() })))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

/// Changes from a list or a file, which may repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Course {
    /// The changes, unless a file has them.
    pub list: Option<Vec<Change>>,
    /// A file of changes, with a path relative to this file: CSV with the columns `time_s` and `rate_bps`, `delay_s` or
    /// both, or a mahimahi trace, which has one time in milliseconds on each line.
    pub file: Option<String>,
    /// The SHA-256 of the file, in hexadecimal; a file with a different hash is refused.
    pub sha256: Option<String>,
    /// The time over which packets of a mahimahi trace are counted to get a rate, in whole milliseconds; default 100
    /// ms.
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub bin: Option<Duration>,
    /// After this time, the list or the file starts over; all its times must be earlier. A mahimahi trace always starts
    /// over at its end.
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub repeat: Option<Duration>,
}

/// A change of a link. Packets already sent keep their delay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(deny_unknown_fields, transform = described::or_pair))]
pub struct Change {
    /// When.
    #[cfg_attr(test, schemars(with = "Text<Duration>"))]
    pub at: Duration,
    /// The rate from then on; at 0 bit/s, packets wait.
    #[cfg_attr(test, schemars(with = "Option<Text<BitRate>>"))]
    pub rate: Option<BitRate>,
    /// The one-way propagation delay from then on.
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub delay: Option<Duration>,
}

impl<'de> Deserialize<'de> for Change {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            at: Duration,
            rate: Option<BitRate>,
            delay: Option<Duration>,
        }
        struct Read;
        impl<'de> serde::de::Visitor<'de> for Read {
            type Value = Change;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table with \"at\" and \"rate\" or \"delay\", or a list of a time and a rate")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Change, A::Error> {
                let Table { at, rate, delay } =
                    Table::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(Change { at, rate, delay })
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Change, A::Error> {
                let short =
                    || serde::de::Error::custom("must be a list of a time and a rate, or a delay too");
                let Si(at) = seq.next_element()?.ok_or_else(short)?;
                let Si(rate) = seq.next_element()?.ok_or_else(short)?;
                let delay = seq.next_element()?.map(|Si(delay)| delay);
                match seq.next_element::<serde::de::IgnoredAny>()? {
                    None => Ok(Change { at, rate: Some(rate), delay }),
                    Some(_) => Err(short()),
                }
            }
        }
        deserializer.deserialize_any(Read)
    }
}

/// An algorithm and its parameters: the key `algorithm`, an optional `label`, and the parameters
/// beside them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AqmChoice {
    /// Its name in the catalog, or that of a plug-in.
    pub algorithm: String,
    /// Its label in results; default: its name.
    pub label: Option<String>,
    /// Its parameters.
    #[serde(flatten)]
    pub parameters: toml::Table,
}

impl Scenario {
    /// Reads a scenario that was written out, without checks; `None` if the text is not one.
    pub fn parse(text: &str) -> Option<Scenario> {
        Scenario::read(&Node::parse(text).ok()?).ok()
    }

    /// Reads what a tree says. Groups that speak TCP have its parameters, written or not.
    pub(crate) fn read(tree: &Node) -> Result<Scenario, Fault> {
        let mut scenario = tree.read::<Scenario>()?;
        for group in scenario.flows.iter_mut().filter(|group| group.kind.is_tcp()) {
            group.tcp.get_or_insert_default();
        }
        Ok(scenario)
    }

    /// The links between routers, and where each is written.
    pub(crate) fn links(&self) -> impl Iterator<Item = (Path, LinkFields<'_>)> {
        let dumbbell = self.dumbbell.iter().map(|d| (steps!["dumbbell"], d.link()));
        let row = self.parking_lot.iter().map(|p| (steps!["parking_lot"], p.link()));
        let graph = self.graph.iter().flat_map(|g| g.links.iter().enumerate());
        dumbbell.chain(row).chain(graph.map(|(i, l)| (steps!["graph", "links", i], l.link())))
    }

    /// The changes of all links, in both directions.
    pub(crate) fn changes_mut(&mut self) -> impl Iterator<Item = &mut Changes> {
        let dumbbell = self.dumbbell.iter_mut().map(|d| (&mut d.changes, &mut d.reverse));
        let row = self.parking_lot.iter_mut().map(|p| (&mut p.changes, &mut p.reverse));
        let graph = self.graph.iter_mut().flat_map(|g| &mut g.links);
        let graph = graph.map(|l| (&mut l.changes, &mut l.reverse));
        let all = dumbbell.chain(row).chain(graph);
        all.flat_map(|(there, back)| [Some(there), back.changes.as_mut()]).flatten()
    }
}

impl FlowGroup {
    /// Returns whether its packets are ECN-capable, as far as the file says so.
    pub(crate) fn is_capable(&self) -> bool {
        self.tcp.as_ref().map_or(self.ecn == Some(true), |tcp| tcp.ecn)
    }

    /// Returns whether its packets may be ECN-capable: what a trace has, its file says.
    pub(crate) fn may_be_marked(&self) -> bool {
        self.is_capable() || self.kind == Kind::Trace
    }
}

impl AqmChoice {
    /// The algorithm called `name` with every default.
    pub fn named(name: &str) -> Self {
        AqmChoice { algorithm: name.to_string(), label: None, parameters: toml::Table::new() }
    }

    /// Its name in results.
    pub fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.algorithm)
    }
}

impl<'de> Deserialize<'de> for AqmChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> serde::de::Visitor<'de> for Read {
            type Value = AqmChoice;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table with the key \"algorithm\" and the algorithm's parameters")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<AqmChoice, A::Error> {
                let mut algorithm = None;
                let mut label = None;
                let mut parameters = toml::Table::new();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "algorithm" => algorithm = Some(map.next_value::<Line>()?.0),
                        "label" => label = Some(map.next_value::<Line>()?.0),
                        _ => {
                            parameters.insert(key, map.next_value()?);
                        }
                    }
                }
                let algorithm = algorithm.ok_or_else(|| misnamed(&parameters))?;
                Ok(AqmChoice { algorithm, label, parameters })
            }
        }
        deserializer.deserialize_map(Read)
    }
}

/// The error for an algorithm without the key `algorithm`: it may have another name, or a misspelled one.
fn misnamed<E: serde::de::Error>(parameters: &toml::Table) -> E {
    const KEYS: &[&str] = &["algorithm", "label"];
    if let Some(key) = parameters.keys().find(|key| nearest(key, ["algorithm"]).is_some()) {
        return E::unknown_field(key, KEYS);
    }
    let name = |value: &toml::Value| value.as_str().and_then(catalog::find).map(|entry| entry.name);
    match parameters.iter().find_map(|(key, value)| Some((key, name(value)?))) {
        Some((key, name)) => E::custom(format!(
            "lacks the key \"algorithm\": write algorithm = \"{name}\" in place of {} = \"{name}\"",
            cut(key)
        )),
        None => E::missing_field("algorithm"),
    }
}

/// A list of algorithms, or `"all"`.
fn algorithms<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<AqmChoice>, D::Error> {
    struct Read;
    impl<'de> serde::de::Visitor<'de> for Read {
        type Value = Vec<AqmChoice>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list of algorithms, or \"all\"")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            if text != "all" {
                return Err(E::invalid_type(serde::de::Unexpected::Str(text), &self));
            }
            Ok(CATALOG.iter().map(|entry| AqmChoice::named(entry.name)).collect())
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(seq))
        }
    }
    deserializer.deserialize_any(Read)
}

/// A group of flows that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FlowGroup {
    /// Its name: letters, digits, `-` and `_`.
    #[serde(deserialize_with = "line")]
    pub name: String,
    /// The class its packets are counted in; default its name.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_line")]
    pub class: Option<String>,
    /// What its flows send; default "bulk".
    #[serde(default)]
    pub kind: Kind,
    /// How many flows; default 1. (For sessions, see `sessions_per_second`.) "mild", "medium" or "heavy" sets as many
    /// bulk flows as it takes for that level of congestion.
    pub count: Option<u32>,
    /// Which way its data goes; default "forward".
    #[serde(default)]
    pub direction: Direction,
    /// The node its sources are attached to, instead of a direction.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_line")]
    pub from: Option<String>,
    /// The node its receivers are attached to, instead of a direction.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_line")]
    pub to: Option<String>,
    /// Round-trip propagation time; access links add what the routers' links lack. Default: access links without delay.
    pub rtt: Option<Rtt>,
    /// New round-trip times for all flows of the group at given times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rtt_changes: Vec<RttChange>,
    /// The rate of each source's access link, or "none" for sources on the router; default the topology's access rate.
    pub access_rate: Option<Access>,
    /// The rate of each receiver's access link; default "none": receivers sit on the router.
    pub receiver_rate: Option<Access>,
    /// When its flows start; default 0 s. For sessions, when they begin to arrive.
    pub start: Option<When>,
    /// When its flows stop sending new data; default never. For sessions, when they stop arriving.
    pub stop: Option<When>,
    /// TCP's parameters (not for "udp" and "trace").
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_tcp")]
    #[cfg_attr(test, schemars(schema_with = "described::tcp"))]
    pub tcp: Option<TcpParams>,
    /// The size of a transfer ("transfers", "sessions") or of an object ("pages"), rounded up to whole packets.
    pub size: Option<Dist<QueueSize>>,
    /// The time between the last acknowledgment of a transfer and the next transfer ("transfers", "sessions"); default
    /// 0 s. With `request`, the time between a transfer's last packet and the next request. For "pages", the time
    /// between the last packet of a page and the next page.
    pub think: Option<Dist<Duration>>,
    /// How many transfers each flow makes ("transfers", "sessions"), pages it loads ("pages") or chunks it plays
    /// ("video"), as a number or a distribution (rounded up); default 1 for "sessions", otherwise no limit.
    pub transfers: Option<Dist<Count>>,
    /// Whether each transfer opens its own connection ("fresh", the default) or continues the last one ("persistent",
    /// the default for "pages").
    pub connection: Option<ConnectionKind>,
    /// The size on the wire of the packet with which the receiver requests each transfer ("transfers", "sessions"), at
    /// least 40 B. Default: no request, so the sender begins; for "pages" and "video", 500 B. A request travels in the
    /// reverse direction and may be lost there. It is sent again after `tcp.initial_rto`, which doubles each time,
    /// until the transfer arrives. The transfer's time counts from the request.
    pub request: Option<Dist<Bytes>>,
    /// The number of objects on a page ("pages"), as a number or a distribution (rounded up).
    pub objects: Option<Dist<Count>>,
    /// How many connections a client uses to load a page ("pages"); default 6. For "responsiveness", the most
    /// connections that make the load; default 16, and 0 measures the idle path. Queues see each connection as a flow.
    pub connections: Option<u32>,
    /// The rates at which chunks of the video are available ("video"), in increasing order.
    #[cfg_attr(test, schemars(with = "Option<Vec<Text<BitRate>>>"))]
    pub rates: Option<Vec<BitRate>>,
    /// How long a chunk of the video plays ("video"); default 4 s.
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub chunk: Option<Duration>,
    /// How much of the video the player buffers ("video"); default 30 s. It requests the next chunk when there is room.
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub playback_buffer: Option<Duration>,
    /// How much of the video must be buffered before playback begins, or resumes after a stall ("video"); default
    /// `chunk`.
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub start_up: Option<Duration>,
    /// The number of recent chunks over which the player averages throughput ("video"); default 4.
    pub averaged_chunks: Option<u32>,
    /// The share of that throughput that the next chunk's rate may use ("video"); default 0.9.
    pub throughput_share: Option<f64>,
    /// Which way the load goes, as seen from the client that probes ("responsiveness"): with "download" (the default),
    /// the client receives the data; with "upload", it sends the data.
    pub load: Option<Load>,
    /// The number of connections that make the load at the start ("responsiveness"); default 1. If it equals
    /// `connections`, the number is fixed.
    pub initial_connections: Option<u32>,
    /// The number of connections to add at each `interval` until responsiveness is stable ("responsiveness"); default
    /// 1.
    pub added_connections: Option<u32>,
    /// How often the client checks whether goodput and responsiveness are stable, and adds connections
    /// ("responsiveness"); default 1 s.
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub interval: Option<Duration>,
    /// The number of intervals in the moving averages ("responsiveness"); default 4.
    pub averaged_intervals: Option<u32>,
    /// The averages are stable if their deviation over the last average is below this ("responsiveness"); default 0.05.
    pub tolerance: Option<f64>,
    /// The most probes of each kind per second ("responsiveness"); default 100.
    pub probes_per_second: Option<f64>,
    /// The share of the goodput that probes may take ("responsiveness"); default 0.05.
    pub probe_share: Option<f64>,
    /// How much unsent data waits in the socket of a loaded connection, ahead of a probe on it ("responsiveness");
    /// rounded up to whole packets, default 0 packets.
    #[cfg_attr(test, schemars(with = "Option<Text<QueueSize>>"))]
    pub unsent: Option<QueueSize>,
    /// How many sessions arrive per second, as a Poisson process ("sessions").
    pub sessions_per_second: Option<f64>,
    /// The sending rate of each flow while it is on ("udp"), or the rate at which a source hands data to TCP ("bulk";
    /// default: as fast as TCP takes it). Data that TCP cannot send yet waits.
    #[cfg_attr(test, schemars(with = "Option<Text<BitRate>>"))]
    pub rate: Option<BitRate>,
    /// New rates at given times ("udp", "bulk" with a rate).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_changes: Vec<RateChange>,
    /// The size of a packet on the wire ("udp"); default 1000 B.
    pub packet: Option<Dist<Bytes>>,
    /// The gaps between packets ("udp", "bulk" with a rate): "constant" (the default), "exponential" or "jittered".
    pub gaps: Option<GapKind>,
    /// On and off periods ("udp", "bulk" with a rate); default always on.
    pub on_off: Option<OnOff>,
    /// Whether packets claim to be ECN-capable ("udp"; TCP: `tcp.ecn`); default false.
    pub ecn: Option<bool>,
    /// The file of arrivals ("trace"), with a path relative to this file: CSV with the columns `time_s` and `bytes`,
    /// and optionally `flow`, `ecn`, `transport`, `syn` and `dscp`. Packets arrive at the first link of the path at
    /// their times, which count from `start`.
    pub file: Option<String>,
    /// The SHA-256 of the file ("trace"), in hexadecimal; a file with a different hash is refused.
    pub sha256: Option<String>,
    /// Whether to measure the end-to-end one-way delays of its data packets, and how long its transfers take to start
    /// up. It costs time and memory for each packet; without it, these metrics have no values.
    pub measure_delay: Option<bool>,
    /// The precedence of its packets and of their acknowledgments, 0 to 7; default 0. Only algorithms
    /// with classes read it.
    pub precedence: Option<u8>,
    /// The DSCP of its packets and of their acknowledgments, 0 to 63, instead of a precedence, which is the DSCP's
    /// upper three bits.
    pub dscp: Option<u8>,
    /// How many hosts its flows come from, in turn; no other group uses them. Default: one host per flow. Only
    /// algorithms that share among hosts read it.
    pub hosts: Option<u16>,
}

impl FlowGroup {
    /// The class its packets are counted in.
    pub fn class(&self) -> &str {
        self.class.as_deref().unwrap_or(&self.name)
    }

    /// The size on the wire of its packets of data over TCP.
    pub(crate) fn wire_bytes(&self) -> Bytes {
        self.tcp.as_ref().map_or_else(|| TcpParams::default().wire_bytes(), TcpParams::wire_bytes)
    }
}

/// What the flows of a group send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// TCP with unlimited data (FTP), or with data from a source at a `rate`.
    #[default]
    Bulk,
    /// TCP transfers by a fixed population of clients, with think times in between (HTTP).
    Transfers,
    /// TCP sessions that arrive as a Poisson process and make a few transfers each.
    Sessions,
    /// TCP clients that load pages: the objects of a page over several connections at once.
    Pages,
    /// TCP players of adaptive video.
    Video,
    /// A TCP test of responsiveness under working conditions: connections that make load, and probes.
    Responsiveness,
    /// UDP.
    Udp,
    /// Packets whose arrival times come from a file; nothing reacts to marks and drops.
    Trace,
}

impl Kind {
    /// Its name in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Bulk => "bulk",
            Kind::Transfers => "transfers",
            Kind::Sessions => "sessions",
            Kind::Pages => "pages",
            Kind::Video => "video",
            Kind::Responsiveness => "responsiveness",
            Kind::Udp => "udp",
            Kind::Trace => "trace",
        }
    }

    /// True if its flows are connections of TCP.
    pub fn is_tcp(self) -> bool {
        !matches!(self, Kind::Udp | Kind::Trace)
    }
}

/// Which way a group's data goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the first router to the last.
    #[default]
    Forward,
    /// From the last router to the first.
    Reverse,
    /// Parking lot: `count` flows over each single bottleneck, forward.
    Cross,
}

/// Which way the load of a test of responsiveness goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// To the client.
    Download,
    /// From the client.
    Upload,
}

/// Mirrors [`Connection`] for files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionKind {
    /// A fresh connection per transfer (HTTP/1.0).
    Fresh,
    /// One connection for all.
    Persistent,
}

impl From<ConnectionKind> for Connection {
    fn from(kind: ConnectionKind) -> Self {
        match kind {
            ConnectionKind::Fresh => Connection::Fresh,
            ConnectionKind::Persistent => Connection::Persistent,
        }
    }
}

/// Mirrors [`Gaps`] for files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GapKind {
    /// A constant bit rate.
    Constant,
    /// Poisson arrivals.
    Exponential,
    /// A constant bit rate, from which each packet deviates by up to a quarter of its gap.
    Jittered,
}

impl From<GapKind> for Gaps {
    fn from(kind: GapKind) -> Self {
        match kind {
            GapKind::Constant => Gaps::Constant,
            GapKind::Exponential => Gaps::Exponential,
            GapKind::Jittered => Gaps::Jittered,
        }
    }
}

/// New round-trip times at a given time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RttChange {
    /// When.
    #[cfg_attr(test, schemars(with = "Text<Duration>"))]
    pub at: Duration,
    /// The round-trip propagation times from then on.
    pub rtt: Rtt,
}

/// A new sending rate at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RateChange {
    /// When.
    #[cfg_attr(test, schemars(with = "Text<Duration>"))]
    pub at: Duration,
    /// The rate from then on.
    #[cfg_attr(test, schemars(with = "Text<BitRate>"))]
    pub rate: BitRate,
}

/// Periods in which a source sends, and in which it is silent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Length of the periods in which it sends.
    pub on: Dist<Duration>,
    /// Length of the periods in which it is silent.
    pub off: Dist<Duration>,
}
