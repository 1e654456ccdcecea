//! A shaped line, as a user configures it and as a log keeps it.

use quell_aqm::catalog::{AnyAqm, AnyDiscipline, AqmConfig};
use quell_aqm::params::{About, ParamValue, Remark};
use quell_aqm::part::AckFilter;
use quell_aqm::{Link, ParamError, Seed};
use quell_queue::{Limit, Line, Qdisc, Queue, Refused, Tree, Waiting};
use quell_units::{BitRate, Bytes, QueueSize};
use serde::{Deserialize, Serialize};

use crate::Packet;
use crate::behind::{Behind, BehindConfig};
use crate::classes::{ClassConfig, ClassesConfig, Finder, ShaperConfig};

/// A queue with its algorithm before a link of a given rate: the same `Line` that the simulator runs.
pub type Shaped = Line<Waits>;

/// What waits before a link: one queue or the leaves of a tree, behind a shaper or not.
pub type Waits = Waiting<One, Finder>;

type One = Queue<Packet, AnyAqm, AnyDiscipline>;

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
    /// The token bucket between what waits and the link, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<ShaperConfig>,
    /// The classes that share it, if there are any: each leaf has a queue of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<ClassesConfig>,
    /// The wire behind it, if it does more than to delay packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<BehindConfig>,
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

/// The most leaves of classes, as in a scenario.
const MOST_LEAVES: usize = u8::MAX as usize;

/// The most classes, likewise.
const MOST_CLASSES: usize = 1000;

/// What an algorithm is asked for that a gateway does not do: it neither rewrites a DSCP nor reads what a packet
/// acknowledges.
fn without_effect(aqm: &AqmConfig) -> Vec<Remark> {
    let AqmConfig::Cake(cake) = aqm else { return Vec::new() };
    let remark =
        |field, value: String, says: &str| Remark { field, value, says: says.into(), about: About::Void };
    let filter = || {
        let says = "has no effect on real packets: a gateway does not read what they acknowledge";
        remark("ack_filter", cake.ack_filter.show(), says)
    };
    let wash = || remark("wash", cake.wash.show(), "has no effect on real packets: they keep their DSCP");
    let filters = cake.ack_filter != AckFilter::Off;
    filters.then(filter).into_iter().chain(cake.wash.then(wash)).collect()
}

impl LineConfig {
    /// The link as the algorithm knows it.
    pub fn link(&self) -> Link {
        Link { rate: self.capacity(), buffer: self.buffer, mean_packet: self.mean_packet }
    }

    /// The rate at which it can send for long: its own, or that of its shaper or of its classes, if this is lower.
    pub fn capacity(&self) -> BitRate {
        let shaper = self.shaper.as_ref().map(|shaper| shaper.rate);
        let classes = self.classes.as_ref().and_then(|classes| classes.plan().most());
        [shaper, classes].into_iter().flatten().fold(self.rate, BitRate::min)
    }

    /// Sets the rate at which it sends for long: that of its shaper, if it has one.
    pub(crate) fn set_rate(&mut self, rate: BitRate) {
        match &mut self.shaper {
            Some(shaper) => shaper.rate = rate,
            None => self.rate = rate,
        }
    }

    /// The links as the algorithms of its leaves know them, and these; those of the line where there are no classes.
    fn queues(&self) -> Vec<(Option<&str>, Link, &AqmConfig)> {
        let link = self.link();
        let Some(classes) = &self.classes else { return vec![(None, link, &self.aqm)] };
        let leaves = classes.leaves().map(|class| {
            let ClassConfig { name, limits, buffer, aqm, .. } = class;
            let rate = limits.map_or(link.rate, |limits| limits.ceil.min(link.rate));
            let known = Link { rate, buffer: buffer.unwrap_or(self.buffer), ..link };
            (Some(name.as_str()), known, aqm.as_ref().unwrap_or(&self.aqm))
        });
        leaves.collect()
    }

    /// Says whether all that it has could be written into a log of version 3.
    pub(crate) fn is_plain(&self) -> bool {
        self.behind.is_none() && self.shaper.is_none() && self.classes.is_none()
    }

    /// What may surprise about the algorithm on this link.
    pub fn remarks(&self) -> Vec<Remark> {
        let all = |(_, link, aqm): &(_, Link, &AqmConfig)| [aqm.remarks(link), without_effect(aqm)].concat();
        self.queues().iter().flat_map(all).collect()
    }

    /// Tells whether the buffer is as long as the algorithm's targets.
    pub fn holds_targets(&self) -> bool {
        self.remarks().iter().all(|remark| remark.about != About::Buffer)
    }

    /// The most packets that the buffer can hold, if none is smaller than `least`.
    pub fn most_packets(&self, least: Bytes) -> usize {
        let most = |(_, link, _): &(_, Link, _)| link.buffer.in_packets(least).ceil() as usize;
        self.queues().iter().map(most).fold(0, usize::saturating_add)
    }

    /// The wire behind it before its first packet.
    pub(crate) fn wire(&self) -> Option<Behind> {
        self.behind.as_ref().map(|config| Behind::new(config, self.seed))
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
        let refused = |of: &str, refused: Refused| {
            let Refused { class, field, value, rule, fix } = refused;
            let class = if class.is_empty() { class } else { format!(".{class}") };
            wrong(&format!("{of}{class}.{field}"), format!("{value}: {rule}; {fix}"))
        };
        if let Some(behind) = &self.behind {
            behind.check().map_err(|(field, rule)| wrong(&format!("behind.{field}"), rule))?;
        }
        let all = self.classes.as_ref().map_or(0, |classes| classes.classes.len());
        if all > MOST_CLASSES {
            return Err(wrong("classes", format!("{all} are more than {MOST_CLASSES}; leave some out")));
        }
        let largest = self.classes.as_ref().map_or(self.mean_packet, |classes| classes.largest);
        let shaper = self.shaper.as_ref().map(|shaper| shaper.shaper(largest)).transpose();
        let shaper = shaper.map_err(|e| refused("shaper", e))?;
        let seed = Seed(self.seed);
        let queues = self.queues();
        if queues.len() > MOST_LEAVES {
            let rule = format!("{} leaves are more than {MOST_LEAVES}; leave some out", queues.len());
            return Err(wrong("classes", rule));
        }
        let count = queues.len();
        let mut built = Vec::with_capacity(count);
        for (leaf, (class, link, aqm)) in (0..).zip(queues) {
            let of = |field: &str| match class {
                Some(class) => format!("classes.{class}.{field}"),
                None => field.to_string(),
            };
            let most = link.buffer.in_packets(self.mean_packet);
            if !(1.0..=f64::from(MAX_PACKETS)).contains(&most) {
                let rule = format!(
                    "{} must hold one to {MAX_PACKETS} packets of {} (mean_packet)",
                    link.buffer, self.mean_packet
                );
                return Err(wrong(&of("buffer"), rule));
            }
            let algorithm = aqm.build(&link).map_err(|ParamError { field, value, rule, .. }| {
                wrong(&of(&format!("aqm.{field}")), format!("{value}: {rule}"))
            })?;
            let rng = match class {
                Some(_) => seed.indexed_stream("link.leaf.aqm", leaf),
                None => seed.indexed_stream("link.aqm", 0),
            };
            let mut queue = Queue::new(algorithm, rng, Limit::of(link.buffer), self.ecn, Some(link.rate));
            // No packet is smaller than its header, so the queue never allocates; of a buffer of more packets than one
            // may have, the rest is taken when it is needed.
            let room = link.buffer.in_packets(Bytes::new(20)).ceil() as usize;
            queue.reserve(room.min(MAX_PACKETS as usize / count));
            built.push(queue);
        }
        let waits = match &self.classes {
            None => Waiting::one(built.swap_remove(0), shaper.as_ref()),
            Some(classes) => {
                let plan = classes.plan();
                let finder = classes.finder(&plan).map_err(|e| refused("classes", e))?;
                let mut built = built.into_iter();
                let tree = Tree::new(&plan, finder, Some(self.capacity()), |_, _| {
                    built.next().expect("`ClassesConfig::leaves` are the leaves of its plan")
                });
                Waiting::tree(tree.map_err(|e| refused("classes", e))?, shaper.as_ref())
            }
        };
        Ok(Line::new(waits, self.rate))
    }

    /// The queue alone, for [`Line::reconfigure`].
    ///
    /// # Errors
    /// As [`LineConfig::build`].
    pub fn queue(&self) -> Result<Waits, ConfigError> {
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
