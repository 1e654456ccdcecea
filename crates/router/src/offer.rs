//! An algorithm as a router offers it: its name there, and what can be said of its parameters.

use quell_aqm::catalog::AqmConfig;
use quell_units::{Bytes, Duration, QueueSize};
use serde_json::{Map, Value};

use crate::shaped::{FULL, Side};

/// An algorithm that a router has.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The name in the catalog.
    pub algorithm: &'static str,
    /// The name there.
    pub native: &'static str,
    /// The version that has it.
    pub since: &'static str,
    /// The same algorithm, or one that comes near.
    pub fit: Fit,
    /// Parameters that can be said.
    pub words: Words,
    /// Another limit of it.
    pub note: Option<&'static str>,
}

/// Distance between an offer and the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It is the same algorithm.
    Same,
    /// It is another one whose curve comes near.
    Nearest,
}

/// Parameters of an algorithm that can be said.
#[derive(Clone, Copy, Debug)]
pub enum Words {
    /// Everything, as in scenarios.
    All,
    /// These.
    These(&'static [Knob]),
    /// A curve of drop probabilities over the queue.
    Curve,
}

/// A parameter that a router can say.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// The parameter's name in the catalog; `ecn`, `limit` and `memory_limit` also come from the link.
    pub ours: &'static str,
    /// The name there.
    pub theirs: &'static str,
    /// The form of its values.
    pub unit: Unit,
    /// The least value, in the unit that is written; times in seconds.
    pub least: f64,
    /// The most.
    pub most: f64,
}

/// Form of a parameter's values.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    /// Times with a unit, in whole microseconds: `5ms`, `500us`.
    Time,
    /// Times in whole milliseconds, without a unit.
    Milliseconds,
    /// Times in whole seconds, without a unit.
    Seconds,
    /// Whole bytes, packets or numbers.
    Whole,
    /// Numbers, of which so many parts make one.
    Parts(f64),
    /// Numbers of so many parts, as the number of parts.
    Counted(f64),
    /// A word for true, and one for false.
    Flag(&'static str, &'static str),
    /// Words of the catalog, and those there.
    Names(&'static [(&'static str, &'static str)]),
}

/// A parameter as it is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub knob: &'static str,
    pub ours: &'static str,
    pub text: String,
}

/// Parameters that a simulation needs and a router has no choice about.
const OF_SIMULATIONS: &[&str] = &["hash_key", "statistics", "queues", "sync_time", "mtu"];

/// Parameters that make a curve of drop probabilities.
const OF_CURVES: &[&str] = &["min_th", "max_th", "max_p", "gentle", "weight", "lowest", "classes"];

/// Parameters of CAKE that are those of the link.
pub(crate) const OF_THE_LINK: &[&str] = &["bandwidth", "overhead", "mpu", "framing", "layer"];

/// Values that say: as Linux does it.
const AS_LINUX: &[(&str, &str)] =
    &[("rules", "linux"), ("scheme", "linux"), ("arithmetic", "linux"), ("on_empty", "keeps")];

impl Offer {
    /// The parameters of a side, as this router writes them, and notes on those that it cannot write. `linux` says that
    /// the queue is Linux's.
    pub(crate) fn settings(&self, side: &Side, linux: bool) -> (Vec<Setting>, Vec<String>) {
        let knobs = match self.words {
            Words::These(knobs) => knobs,
            Words::All => return (Vec::new(), Vec::new()),
            Words::Curve => {
                let unsaid = side.aqm.changed().into_iter().filter(|(name, _)| !OF_CURVES.contains(name));
                let note = |(name, value)| format!("{name} = {value} has no word in {}", self.native);
                let own = unsaid.filter(|_| self.fit == Fit::Same).map(note);
                return (Vec::new(), own.chain(self.note.map(str::to_string)).collect());
            }
        };
        let values = values(side, knobs);
        let (mut settings, mut notes) = (Vec::new(), Vec::new());
        for knob in knobs {
            let Some(value) = values.get(knob.ours).filter(|value| !value.is_null()) else { continue };
            match knob.write(value) {
                Ok((text, note)) => {
                    settings.push(Setting { knob: knob.theirs, ours: knob.ours, text });
                    notes.extend(note);
                }
                Err(note) => notes.push(note),
            }
        }
        let said = |name: &str| knobs.iter().any(|knob| knob.ours == name);
        for (name, value) in side.aqm.changed() {
            let is_linux = linux && AS_LINUX.iter().any(|(field, word)| *field == name && *word == value);
            if !said(name) && !OF_SIMULATIONS.contains(&name) && !OF_THE_LINK.contains(&name) && !is_linux {
                notes.push(format!("{name} = {value} has no word in {}, which keeps its own", self.native));
            }
        }
        if side.ecn && !said("ecn") && self.algorithm != "cake" {
            notes.push(format!("ecn = true has no word in {}: see whether it marks", self.native));
        }
        if !side.ecn && self.algorithm == "cake" {
            notes.push("ecn = false has no word in cake, which marks".into());
        }
        if !said("limit") && !said("memory_limit") && self.algorithm != "cake" {
            notes.push(format!("the buffer of {} has no word in {}", side.buffer, self.native));
        }
        notes.extend(self.note.map(str::to_string));
        (settings, notes)
    }
}

/// The parameters by name, with what the side adds: `ecn`, and the smaller of the limits and the buffer.
fn values(side: &Side, knobs: &[Knob]) -> Map<String, Value> {
    let Ok(Value::Object(mut values)) = serde_json::to_value(&side.aqm) else { return Map::new() };
    values.insert("ecn".into(), side.ecn.into());
    for threshold in ["min_th", "max_th"] {
        let packets =
            values.get(threshold).and_then(Value::as_str).and_then(|text| text.parse::<QueueSize>().ok());
        if let Some(packets) = packets {
            values.insert(threshold.into(), packets.in_packets(FULL).into());
        }
    }
    let has = |name: &str| knobs.iter().any(|knob| knob.ours == name);
    let in_bytes = match side.buffer {
        QueueSize::Bytes(bytes) if has("memory_limit") => Some(bytes),
        _ if !has("limit") => Some(side.buffer.in_bytes(FULL)),
        _ => None,
    };
    match in_bytes {
        // CAKE's own follows from its rate and interval, in bytes of kernel memory.
        Some(_) if matches!(side.aqm, AqmConfig::Cake(_)) => {}
        Some(bytes) => {
            let own = values
                .get("memory_limit")
                .and_then(Value::as_str)
                .and_then(|text| text.parse::<Bytes>().ok());
            let least = own.map_or(bytes, |own| bytes.min(own.get() as f64));
            values.insert("memory_limit".into(), libm::round(least).into());
        }
        None => {
            let own = values.get("limit").and_then(Value::as_f64).unwrap_or(f64::INFINITY);
            values.insert("limit".into(), own.min(side.packets()).into());
        }
    }
    values
}

impl Knob {
    /// A value as it is written there, and how that differs.
    ///
    /// # Errors
    /// Says that there is no word for it.
    fn write(&self, value: &Value) -> Result<(String, Option<String>), String> {
        match (self.unit, value) {
            (Unit::Flag(yes, no), Value::Bool(on)) => Ok(((if *on { yes } else { no }).into(), None)),
            (Unit::Names(names), Value::String(word)) => match names.iter().find(|(ours, _)| ours == word) {
                Some((_, theirs)) => Ok(((*theirs).into(), None)),
                None => Err(format!("{} = {word} has no word there", self.ours)),
            },
            _ => {
                let Some(exact) = number(value) else {
                    return Err(format!("{} = {value} has no word there", self.ours));
                };
                let grid = self.unit.grid();
                let said = (libm::round(exact / grid) * grid).clamp(self.least, self.most);
                let text = self.unit.show(said);
                // The last digits of a quotient do not count.
                let differs = (said - exact).abs() > 1e-9 * exact.abs().max(grid);
                let note = differs.then(|| {
                    let shown = value.as_str().map_or_else(|| exact.to_string(), str::to_string);
                    let why = if (self.least..=self.most).contains(&exact) {
                        "the nearest there"
                    } else {
                        "the limit there"
                    };
                    format!("{} = {shown} becomes {} {text}, {why}", self.ours, self.theirs)
                });
                Ok((text, note))
            }
        }
    }
}

impl Unit {
    /// The smallest step.
    fn grid(self) -> f64 {
        match self {
            Unit::Time => 1e-6,
            Unit::Milliseconds => 1e-3,
            Unit::Parts(parts) | Unit::Counted(parts) => 1.0 / parts,
            _ => 1.0,
        }
    }

    /// A value on the grid, as it is written.
    fn show(self, value: f64) -> String {
        match self {
            Unit::Time => time(value),
            Unit::Milliseconds => libm::round(value * 1e3).to_string(),
            Unit::Counted(parts) => libm::round(value * parts).to_string(),
            Unit::Parts(_) => {
                let digits = format!("{value:.9}");
                digits.trim_end_matches('0').trim_end_matches('.').to_string()
            }
            _ => libm::round(value).to_string(),
        }
    }
}

/// Seconds in whole milliseconds or microseconds, as tc, networkd, ipfw and RouterOS read them.
pub(crate) fn time(seconds: f64) -> String {
    let micros = libm::round(seconds * 1e6);
    if micros % 1000.0 == 0.0 { format!("{}ms", micros / 1000.0) } else { format!("{micros}us") }
}

/// The number in a value of a parameter: seconds, bytes, packets, or itself.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(n) => n.as_f64(),
        Value::String(text) => {
            let seconds = text.parse::<Duration>().ok().map(Duration::as_secs_f64);
            seconds.or_else(|| text.parse::<QueueSize>().ok().map(QueueSize::value))
        }
        _ => None,
    }
}
