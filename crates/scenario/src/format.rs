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
    Access, Any, CellScheduler, Count, Delay, Dist, Handovers, Jitter, Line, Loss, Rtt, Seeds, Segments,
    Shaper, Si, When, line, lines, some_line, title,
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
    pub(crate) loss: Loss,
    pub(crate) jitter: Option<Jitter>,
    pub(crate) duplicate: Option<f64>,
    pub(crate) handovers: Option<Handovers>,
    pub(crate) shaper: Option<Shaper>,
    pub(crate) classes: &'a [TrafficClass],
    pub(crate) cell: Option<&'a Cell>,
    pub(crate) wifi: Option<&'a Wifi>,
    pub(crate) reverse: &'a Reverse,
    pub(crate) changes: &'a Changes,
}

impl LinkFields<'_> {
    /// The rate that is its own, its shaper's or its classes', whichever is the lowest.
    pub(crate) fn shaped(&self, rate: BitRate) -> BitRate {
        let shaper = self.shaper.map(|shaper| shaper.rate);
        [shaper, self.classed()].into_iter().flatten().fold(rate, BitRate::min)
    }

    /// The most that the classes get together, if all without a parent have a rate.
    fn classed(&self) -> Option<BitRate> {
        let tops = || self.classes.iter().filter(|class| class.parent.is_none());
        let most = |class: &TrafficClass| {
            let ceil = class.ceil.or(class.rate)?.bps();
            Some(ceil.saturating_mul(u64::from(class.repeat.unwrap_or(1))))
        };
        let sum = tops().map(most).try_fold(0_u64, |sum, most| Some(sum.saturating_add(most?)))?;
        tops().next().map(|_| BitRate::from_bps(sum))
    }

    /// Says whether something keeps it below its rate.
    pub(crate) fn is_shaped(&self) -> bool {
        self.shaper.is_some() || self.classed().is_some()
    }

    /// The rate, or the highest of those that users of its cell have of their own, if that is higher.
    pub(crate) fn fastest(&self, rate: BitRate) -> BitRate {
        let users = self.cell.iter().flat_map(|cell| &cell.users);
        users.filter_map(|user| user.rate).fold(rate, BitRate::max)
    }
}

/// Two routers, `r1` and `r2`, and the link between them. Sources sit behind their own access links; receivers sit on
/// the far router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, schemars(transform = described::rate_unless_wifi))]
pub struct Dumbbell {
    /// The bottleneck's rate. Leave it out with `wifi`.
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
    /// The losses of the wire: the probability of each, or a table for bursts of losses; default 0.
    #[serde(default)]
    pub loss: Loss,
    /// The variation of the delay from packet to packet, if there is any.
    pub jitter: Option<Jitter>,
    /// The probability that a packet arrives twice, if any does.
    pub duplicate: Option<f64>,
    /// Handovers from path to path, if there are any: steps of the delay, and outages.
    pub handovers: Option<Handovers>,
    /// A token bucket between the queue and the transmitter, if there is one; not in the reverse direction.
    pub shaper: Option<Shaper>,
    /// Classes of traffic, each leaf with a queue of its own, if there are any; not in the reverse direction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<TrafficClass>,
    /// Users who share transmission intervals, each with a channel and a queue of its own, if there are any; not in the
    /// reverse direction.
    pub cell: Option<Cell>,
    /// A channel of Wi-Fi that takes the place of both directions, if the link is one. `rate` is that of the fastest station
    /// then: utilization is relative to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Wifi>,
    /// The access links' rate unless a group sets its own; default 100 Mbit/s, or ten times the fastest link between
    /// the routers if that is more (so that access links are not bottlenecks), but at most the rate that sends the
    /// smallest packet in 1 ns.
    pub access_rate: Option<Access>,
    /// The reverse direction; by default, drop-tail with the same buffer, rate, delay, loss and jitter.
    #[serde(default, skip_serializing_if = "Reverse::is_default")]
    pub reverse: Reverse,
    /// Changes of rate, delay and loss: a list, or a table with a list or a file.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
}

/// Routers `r0` to `rk` in a row and k equal links between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, schemars(transform = described::rate_unless_wifi))]
pub struct ParkingLot {
    /// How many links there are in a row.
    pub bottlenecks: u32,
    /// The rate of each link. Leave it out with `wifi`.
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
    /// The losses of a wire: the probability of each, or a table for bursts of losses; default 0.
    #[serde(default)]
    pub loss: Loss,
    /// The variation of the delay from packet to packet, if there is any.
    pub jitter: Option<Jitter>,
    /// The probability that a packet arrives twice, if any does.
    pub duplicate: Option<f64>,
    /// Handovers from path to path, if there are any: steps of the delay, and outages.
    pub handovers: Option<Handovers>,
    /// A token bucket between the queue and the transmitter, if there is one; not in the reverse direction.
    pub shaper: Option<Shaper>,
    /// Classes of traffic, each leaf with a queue of its own, if there are any; not in the reverse direction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<TrafficClass>,
    /// Users who share transmission intervals, each with a channel and a queue of its own, if there are any; not in the
    /// reverse direction.
    pub cell: Option<Cell>,
    /// A channel of Wi-Fi that takes the place of both directions, if the link is one. `rate` is that of the fastest station
    /// then: utilization is relative to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Wifi>,
    /// The access links' rate unless a group sets its own; default 100 Mbit/s, or ten times the fastest link between
    /// the routers if that is more (so that access links are not bottlenecks), but at most the rate that sends the
    /// smallest packet in 1 ns.
    pub access_rate: Option<Access>,
    /// The reverse direction; by default, drop-tail with the same buffer, rate, delay, loss and jitter.
    #[serde(default, skip_serializing_if = "Reverse::is_default")]
    pub reverse: Reverse,
    /// Changes of every link's rate, delay and loss: a list, or a table with a list or a file.
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
#[cfg_attr(test, schemars(transform = described::rate_unless_wifi))]
pub struct GraphLink {
    /// The node it leads from.
    #[serde(deserialize_with = "line")]
    pub from: String,
    /// The node it leads to.
    #[serde(deserialize_with = "line")]
    pub to: String,
    /// Its rate. Leave it out with `wifi`.
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
    /// The losses of the wire: the probability of each, or a table for bursts of losses; default 0.
    #[serde(default)]
    pub loss: Loss,
    /// The variation of the delay from packet to packet, if there is any.
    pub jitter: Option<Jitter>,
    /// The probability that a packet arrives twice, if any does.
    pub duplicate: Option<f64>,
    /// Handovers from path to path, if there are any: steps of the delay, and outages.
    pub handovers: Option<Handovers>,
    /// A token bucket between the queue and the transmitter, if there is one; not in the reverse direction.
    pub shaper: Option<Shaper>,
    /// Classes of traffic, each leaf with a queue of its own, if there are any; not in the reverse direction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<TrafficClass>,
    /// Users who share transmission intervals, each with a channel and a queue of its own, if there are any; not in the
    /// reverse direction.
    pub cell: Option<Cell>,
    /// A channel of Wi-Fi that takes the place of both directions, if the link is one. `rate` is that of the fastest station
    /// then: utilization is relative to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Wifi>,
    /// The reverse direction; by default, drop-tail with the same buffer, rate, delay, loss and jitter.
    #[serde(default, skip_serializing_if = "Reverse::is_default")]
    pub reverse: Reverse,
    /// Changes of rate, delay and loss: a list, or a table with a list or a file.
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
                    jitter: self.jitter,
                    duplicate: self.duplicate,
                    handovers: self.handovers,
                    shaper: self.shaper,
                    classes: &self.classes,
                    cell: self.cell.as_ref(),
                    wifi: self.wifi.as_ref(),
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
    /// Its losses; default as forward. With its own, forward changes of loss do not apply to it.
    pub loss: Option<Loss>,
    /// Its jitter, if it is not that of the forward direction.
    pub jitter: Option<Jitter>,
    /// The probability that a packet arrives twice, if it is not that of the forward direction.
    pub duplicate: Option<f64>,
    /// Its handovers, if they are not those of the forward direction. Both directions draw the same random numbers.
    pub handovers: Option<Handovers>,
    /// Its shaper, if it has one.
    pub shaper: Option<Shaper>,
    /// Its classes of traffic, if it has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<TrafficClass>,
    /// Its cell, if it is one.
    pub cell: Option<Cell>,
    /// Its changes; default the forward ones. With its own changes, even none ([]), the forward ones do not apply to
    /// it.
    pub changes: Option<Changes>,
}

/// A class of traffic at a link. Classes without children are leaves, and packets wait there; the others lend rate to
/// their children. Rates, bursts and quanta are those of tc-htb(8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrafficClass {
    /// Its name: letters, digits, `-` and `_`. Leaves have metrics under it, in the scope `lane:NAME`.
    #[serde(deserialize_with = "line")]
    pub name: String,
    /// The class that it borrows from; default none.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_line")]
    pub parent: Option<String>,
    /// How many such classes there are, NAME-1 to NAME-N; default 1. Class i is for the i-th host of each group.
    /// Classes below it are repeated with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 1, max = 255)))]
    pub repeat: Option<u32>,
    /// The rate that it gets whatever other classes send. Default: no limit, or 0 bit/s below a class with a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<BitRate>>"))]
    pub rate: Option<BitRate>,
    /// The rate that it may get by borrowing; default `rate`, or that of its parent if it has no rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<BitRate>>"))]
    pub ceil: Option<BitRate>,
    /// The most that leaves at once at `rate`; default 1600 B, or the largest packet if that is larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Bytes>>"))]
    pub burst: Option<Bytes>,
    /// The most that leaves at once at `ceil`; default as `burst`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Bytes>>"))]
    pub cburst: Option<Bytes>,
    /// The bytes that a leaf sends in its turn, its weight among equals; default what `rate` sends in 0.1 s, at least a
    /// packet and at most 200 kB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Bytes>>"))]
    pub quantum: Option<Bytes>,
    /// A leaf's: lower numbers go first, and borrow first; 0 (the default) to 63.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(max = 63)))]
    pub priority: Option<u8>,
    /// The packets that wait in this leaf. Default: those that no other leaf takes.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Match>,
    /// The leaf's algorithm, if it is not that of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aqm: Option<AqmChoice>,
    /// How much may wait in this leaf; default the link's buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<QueueSize>>"))]
    pub buffer: Option<QueueSize>,
}

/// A cell: one transmitter that gives each transmission interval to one of its users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The rule that gives each interval to a user; default "proportional-fair".
    #[serde(default)]
    pub scheduler: CellScheduler,
    /// The length of an interval; default 1 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub interval: Option<Duration>,
    /// The memory of proportional fairness: the mean age in its average of what a user got; default 1 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub window: Option<Duration>,
    /// The users.
    pub users: Vec<CellUser>,
}

/// A user of a cell, with a channel and a queue of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CellUser {
    /// Its name: letters, digits, `-` and `_`. It has metrics under it, in the scope `lane:NAME`.
    #[serde(deserialize_with = "line")]
    pub name: String,
    /// How many such users there are, NAME-1 to NAME-N; default 1. User i is the i-th host of each group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 1, max = 255)))]
    pub repeat: Option<u32>,
    /// The rate of its channel; default the link's. With its own rate, the link's changes do not apply to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<BitRate>>"))]
    pub rate: Option<BitRate>,
    /// Changes of its rate, in the forms that a link's changes have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// Of users who are repeated: the time by which each is further in the changes than the one before. Default: their
    /// rates are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub shift: Option<Duration>,
    /// The packets that are for it. Default: those that are for no other user.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Match>,
    /// Its algorithm, if it is not that of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aqm: Option<AqmChoice>,
    /// How much may wait for it; default the link's buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<QueueSize>>"))]
    pub buffer: Option<QueueSize>,
}

/// Facts of packets. Those that agree with all keys that are given match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// The groups of flows that packets belong to, data and acknowledgments alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Any<String>>,
    /// Their DSCPs, 0 to 63.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Any<u8>>,
    /// The numbers of their hosts within each group, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Any<u32>>,
}

/// A channel of IEEE 802.11 that an access point, on the link's first router, shares with its stations, at the link's other
/// end. Data and acknowledgments of both directions contend for it. Keys without a value here have that of the standard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Wifi {
    /// The standard whose times and frames are the defaults: "802.11n" (the default), "802.11ac" or "802.11a".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard: Option<WifiStandard>,
    /// The queues of the access point: "airtime" (the default), one for each station, which share airtime equally;
    /// "turns", one for each station, which take turns of a frame each; or "one" for all stations, above a driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<WifiQueues>,
    /// The stations.
    pub stations: Vec<WifiStation>,
    /// The queues of the stations themselves; by default, drop-tail with the link's buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<WifiUplink>,
    /// The airtime that each station is given in a round, with queues = "airtime"; default 300 us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub quantum: Option<Duration>,
    /// The most packets that the driver takes from the queue, with queues = "one"; default 128.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<u32>,
    /// The length of a slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub slot: Option<Duration>,
    /// The gap between a frame and its acknowledgment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub sifs: Option<Duration>,
    /// The time for which the channel is idle before slots are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub difs: Option<Duration>,
    /// The most slots that a first attempt waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_min: Option<u32>,
    /// The most slots that any attempt waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_max: Option<u32>,
    /// How often a packet is sent again before it is given up, at most 255; default 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The preamble of a frame with data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub preamble: Option<Duration>,
    /// The bytes of the MAC header and the checksum, for each packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Bytes>>"))]
    pub header: Option<Bytes>,
    /// The preamble of an acknowledgment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub ack_preamble: Option<Duration>,
    /// The bytes of an acknowledgment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Bytes>>"))]
    pub ack: Option<Bytes>,
    /// The rate of acknowledgments; default 24 Mbit/s with "802.11a", and the station's rate with the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<BitRate>>"))]
    pub ack_rate: Option<BitRate>,
    /// The most packets in an aggregate, which are also the window of block acknowledgments; none with "802.11a".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate_packets: Option<u32>,
    /// The most bytes in an aggregate, with headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Bytes>>"))]
    pub aggregate_bytes: Option<Bytes>,
    /// The longest time that an aggregate takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub aggregate_time: Option<Duration>,
}

/// A standard of Wi-Fi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum WifiStandard {
    /// OFDM with one packet in each frame.
    #[serde(rename = "802.11a")]
    A,
    /// Aggregates of up to 65,535 bytes.
    #[serde(rename = "802.11n")]
    N,
    /// Aggregates of up to 1,048,575 bytes.
    #[serde(rename = "802.11ac")]
    Ac,
}

/// The queues of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WifiQueues {
    /// One for all stations, above a driver.
    One,
    /// One for each station, in turns of a frame each.
    Turns,
    /// One for each station, with equal airtime.
    Airtime,
}

/// A station of a channel, or several that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WifiStation {
    /// Its name: letters, digits, `-` and `_`. Its queues have metrics in the scopes `lane:NAME` (to it, unless there is
    /// one queue for all, `lane:ap`) and `lane:NAME-up` (from it).
    #[serde(deserialize_with = "line")]
    pub name: String,
    /// The rate of its frames and of those to it.
    #[cfg_attr(test, schemars(with = "Text<BitRate>"))]
    pub rate: BitRate,
    /// How many such stations there are, NAME-1 to NAME-N; default 1. Station i is that of the i-th host of each group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 1, max = 127)))]
    pub repeat: Option<u32>,
    /// The flows that end there, by group and host. Default: those that are at no other station.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Match>,
    /// The probability that a packet of a frame is not understood, either way; default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// The most packets in its aggregates, if the channel's limits are not the only ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate_packets: Option<u32>,
}

/// The queues of stations, which send data and acknowledgments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WifiUplink {
    /// Their algorithm, or "same" for the access point's; default drop-tail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aqm: Option<BackAqm>,
    /// How much may wait at a station; default the link's buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<QueueSize>>"))]
    pub buffer: Option<QueueSize>,
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
    pub(crate) fn is_default(&self) -> bool {
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
    /// A file of changes, with a path relative to this file: CSV with the column `time_s` and one or more
    /// of `rate_bps`, `delay_s` and `loss`, or a mahimahi trace, which has one time in milliseconds on each line.
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
    /// The probability that the wire loses a packet from then on.
    pub loss: Option<f64>,
}

impl<'de> Deserialize<'de> for Change {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            at: Duration,
            rate: Option<BitRate>,
            delay: Option<Duration>,
            loss: Option<f64>,
        }
        struct Read;
        impl<'de> serde::de::Visitor<'de> for Read {
            type Value = Change;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "a table with \"at\" and \"rate\", \"delay\" or \"loss\", or a list of a time and a rate",
                )
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Change, A::Error> {
                let Table { at, rate, delay, loss } =
                    Table::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(Change { at, rate, delay, loss })
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Change, A::Error> {
                let short =
                    || serde::de::Error::custom("must be a list of a time and a rate, or a delay too");
                let Si(at) = seq.next_element()?.ok_or_else(short)?;
                let Si(rate) = seq.next_element()?.ok_or_else(short)?;
                let delay = seq.next_element()?.map(|Si(delay)| delay);
                match seq.next_element::<serde::de::IgnoredAny>()? {
                    None => Ok(Change { at, rate: Some(rate), delay, loss: None }),
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

    /// The changes of all links and of users of their cells, in both directions.
    pub(crate) fn changes_mut(&mut self) -> impl Iterator<Item = &mut Changes> {
        let dumbbell = self.dumbbell.iter_mut().map(|d| (&mut d.changes, &mut d.cell, &mut d.reverse));
        let row = self.parking_lot.iter_mut().map(|p| (&mut p.changes, &mut p.cell, &mut p.reverse));
        let graph = self.graph.iter_mut().flat_map(|g| &mut g.links);
        let graph = graph.map(|l| (&mut l.changes, &mut l.cell, &mut l.reverse));
        let all = dumbbell.chain(row).chain(graph);
        all.flat_map(|(there, cell, back)| {
            let users = [cell.as_mut(), back.cell.as_mut()].into_iter().flatten();
            let users = users.flat_map(|cell| &mut cell.users).filter_map(|user| user.changes.as_mut());
            [Some(there), back.changes.as_mut()].into_iter().flatten().chain(users)
        })
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
    #[cfg_attr(test, schemars(range(max = 63)))]
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
