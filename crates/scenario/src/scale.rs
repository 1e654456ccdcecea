//! Scenarios at another size: rate, flows, buffers and thresholds in packets together.
//!
//! With N times the flows on N times the rate each flow has its share as before. What is counted over all flows grows
//! with N (extensive), what belongs to one flow, one packet or one moment does not (intensive). In a fluid model the loop
//! around the queue is the same then: with thresholds N times as large and gains per packet an N-th, the equations for
//! the queue over N, the window and the probability do not contain N. Packets are not a fluid; docs/scaling.md has runs
//! of where that shows.

use quell_aqm::catalog;
use quell_units::text::cut;
use quell_units::{BitRate, Bytes, Duration, QueueSize};
use toml::Value;

use crate::error::ScenarioError;
use crate::format::{
    AqmChoice, BackAqm, Cell, Changes, FlowGroup, Kind, Match, Reverse, Scenario, TrafficClass,
};
use crate::plan;
use crate::study::Point;
use crate::values::{Any, OneOr, RttSpread, Shaper, WhenSpread};
use crate::write;

/// A scenario at another size.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaled {
    /// The scenario file, with every default filled in.
    pub text: String,
    /// Everything that was scaled, in the order of the file.
    pub changes: Vec<Change>,
}

/// A value that was scaled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The field, such as `aqm.red.max_th`.
    pub field: String,
    /// Its value before.
    pub from: String,
    /// Its value now.
    pub to: String,
    /// The reason.
    pub why: &'static str,
}

/// The treatment of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// It stays: the reason.
    Keep,
    /// It is multiplied.
    Times(&'static str),
    /// It is divided.
    Over(&'static str),
    /// It is the weight of one of N times as many samples a second, whose time constant stays.
    Weight,
    /// It is such a weight as a power of one half.
    Halvings,
    /// It is a table, or a list of tables, of which some entries are multiplied.
    Within(&'static [&'static str]),
    /// It is an algorithm with parameters of its own.
    Algorithm,
    /// Nobody has said how it scales.
    Unknown,
}

impl Point {
    /// The scenario at `by` times its size: `by` times the flows on `by` times the rate, with `by` times the buffers and
    /// thresholds.
    ///
    /// # Errors
    /// If it has something that does not scale, such as a file of arrivals, a number that would not be whole, or a
    /// parameter of which nobody has said how it scales.
    pub fn scaled(&self, by: f64) -> Result<Scaled, ScenarioError> {
        let refuse = |field: &str, value: String, rule: String| ScenarioError {
            field: field.to_string(),
            value: (!value.is_empty()).then_some(value),
            ..self.refuse(rule)
        };
        if !(by.is_finite() && by > 0.0) {
            return Err(self.refuse("the factor must be a number above 0"));
        }
        let resolved = Scenario::parse(&self.to_toml());
        let mut scenario = resolved.ok_or_else(|| self.refuse("cannot be written as a file"))?;
        let largest = plan::largest_packet(self.loaded());
        let mut scale = Scale { by, largest, changes: Vec::new() };
        scale
            .scenario(&mut scenario)
            .map_err(|Refusal { field, value, rule }| refuse(&field, value, rule))?;
        let text = write::write(&scenario).map_err(|e| self.refuse(format!("cannot be written: {e}")))?;
        Ok(Scaled { text, changes: scale.changes })
    }
}

/// A value that does not scale.
struct Refusal {
    field: String,
    value: String,
    rule: String,
}

fn refusal<T>(field: &str, value: impl ToString, rule: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { field: field.to_string(), value: value.to_string(), rule: rule.into() })
}

const SHARED: &str = "shared by all flows";
const PER_PACKET: &str = "a gain per packet of a growing queue";
const SAMPLES: &str = "the same time constant with more samples per second";
const SPREAD: &str = "as many flows in the same time or range";

/// What sits between the queue of a link in one direction and its transmitter.
struct Service<'a> {
    shaper: &'a mut Option<Shaper>,
    classes: &'a mut [TrafficClass],
    cell: &'a mut Option<Cell>,
}

struct Scale {
    by: f64,
    /// No burst and no turn is smaller.
    largest: Bytes,
    changes: Vec<Change>,
}

impl Scale {
    fn scenario(&mut self, s: &mut Scenario) -> Result<(), Refusal> {
        if let Some((at, _)) = s.links().find(|(_, link)| link.wifi.is_some()) {
            let rule = "has no larger one that is like it: slots and headers take their time at any rate";
            return refusal(&at.then("wifi").to_string(), "a channel", rule);
        }
        let flows = s.flows.clone();
        if let Some(d) = &mut s.dumbbell {
            let service = Service { shaper: &mut d.shaper, classes: &mut d.classes, cell: &mut d.cell };
            self.service("dumbbell", service, &flows)?;
            self.link("dumbbell", &mut d.rate, Some(&mut d.buffer), &mut d.changes, &mut d.reverse)?;
            let back = &mut d.reverse;
            let service =
                Service { shaper: &mut back.shaper, classes: &mut back.classes, cell: &mut back.cell };
            self.service("dumbbell.reverse", service, &flows)?;
        }
        if let Some(p) = &mut s.parking_lot {
            let service = Service { shaper: &mut p.shaper, classes: &mut p.classes, cell: &mut p.cell };
            self.service("parking_lot", service, &flows)?;
            self.link("parking_lot", &mut p.rate, Some(&mut p.buffer), &mut p.changes, &mut p.reverse)?;
            let back = &mut p.reverse;
            let service =
                Service { shaper: &mut back.shaper, classes: &mut back.classes, cell: &mut back.cell };
            self.service("parking_lot.reverse", service, &flows)?;
        }
        for (i, l) in s.graph.iter_mut().flat_map(|g| &mut g.links).enumerate() {
            let at = format!("graph.links[{i}]");
            let service = Service { shaper: &mut l.shaper, classes: &mut l.classes, cell: &mut l.cell };
            self.service(&at, service, &flows)?;
            self.link(&at, &mut l.rate, l.buffer.as_mut(), &mut l.changes, &mut l.reverse)?;
            let back = &mut l.reverse;
            let service =
                Service { shaper: &mut back.shaper, classes: &mut back.classes, cell: &mut back.cell };
            self.service(&format!("{at}.reverse"), service, &flows)?;
            if let Some(aqm) = &mut l.aqm {
                self.algorithm(&format!("{at}.aqm"), aqm)?;
            }
        }
        for aqm in &mut s.aqm {
            let at = format!("aqm.{}", aqm.label());
            self.algorithm(&at, aqm)?;
        }
        for group in &mut s.flows {
            self.group(group)?;
        }
        Ok(())
    }

    fn link(
        &mut self,
        at: &str,
        rate: &mut BitRate,
        buffer: Option<&mut QueueSize>,
        changes: &mut Changes,
        back: &mut Reverse,
    ) -> Result<(), Refusal> {
        self.rate(&format!("{at}.rate"), rate)?;
        if let Some(buffer) = buffer {
            self.size(&format!("{at}.buffer"), buffer);
        }
        self.course(&format!("{at}.changes"), changes)?;
        let at = format!("{at}.reverse");
        if let Some(rate) = &mut back.rate {
            self.rate(&format!("{at}.rate"), rate)?;
        }
        if let Some(buffer) = &mut back.buffer {
            self.size(&format!("{at}.buffer"), buffer);
        }
        if let Some(changes) = &mut back.changes {
            self.course(&format!("{at}.changes"), changes)?;
        }
        match &mut back.aqm {
            Some(BackAqm::Own(aqm)) => self.algorithm(&format!("{at}.aqm"), aqm),
            _ => Ok(()),
        }
    }

    /// What serves the packets of a link in the direction that is written at `at`.
    fn service(&mut self, at: &str, of: Service<'_>, flows: &[FlowGroup]) -> Result<(), Refusal> {
        if let Some(shaper) = of.shaper {
            let at = format!("{at}.shaper");
            self.rate(&format!("{at}.rate"), &mut shaper.rate)?;
            self.burst(&format!("{at}.burst"), &mut shaper.burst);
            if let Some(rate) = &mut shaper.peak_rate {
                self.rate(&format!("{at}.peak_rate"), rate)?;
            }
            if let Some(mtu) = &mut shaper.mtu {
                self.burst(&format!("{at}.mtu"), mtu);
            }
            if let Some(limit) = &mut shaper.limit {
                self.size(&format!("{at}.limit"), limit);
            }
        }
        let at_classes = format!("{at}.classes");
        // The groups of which a class takes all packets.
        let taken: Vec<String> =
            of.classes.iter().flat_map(|class| whole_groups(class.traffic.as_ref())).collect();
        let parents: Vec<String> = of.classes.iter().filter_map(|class| class.parent.clone()).collect();
        let repeats = plan::copies_of(of.classes);
        let quanta =
            of.classes.iter().filter(|class| !parents.contains(&class.name)).map(|class| self.quantum(class));
        // Turns keep their ratios, and the shortest is at least a packet.
        let shortest = quanta.min().unwrap_or(self.largest).get().max(1) as f64;
        let longer = self.by.max((self.largest.get() as f64 / shortest).min(1.0));
        for (i, class) in of.classes.iter_mut().enumerate() {
            let at = format!("{at_classes}[{i}]");
            let is_leaf = !parents.contains(&class.name);
            if is_leaf {
                self.hosts(&at, repeats[i], class.traffic.as_ref(), &taken, flows)?;
                self.turn(&format!("{at}.quantum"), class, longer);
            }
            for (rate, key) in [(&mut class.rate, "rate"), (&mut class.ceil, "ceil")] {
                // What borrows all that it sends has a rate of 0.
                if let Some(rate) = rate {
                    self.rate(&format!("{at}.{key}"), rate)?;
                }
            }
            for (burst, key) in [(&mut class.burst, "burst"), (&mut class.cburst, "cburst")] {
                if let Some(burst) = burst {
                    self.burst(&format!("{at}.{key}"), burst);
                }
            }
            if let Some(buffer) = &mut class.buffer {
                self.size(&format!("{at}.buffer"), buffer);
            }
            if let Some(aqm) = &mut class.aqm {
                self.algorithm(&format!("{at}.aqm"), aqm)?;
            }
        }
        let Some(cell) = of.cell else { return Ok(()) };
        let taken: Vec<String> =
            cell.users.iter().flat_map(|user| whole_groups(user.traffic.as_ref())).collect();
        for (i, user) in cell.users.iter_mut().enumerate() {
            let at = format!("{at}.cell.users[{i}]");
            self.hosts(&at, user.repeat.unwrap_or(1), user.traffic.as_ref(), &taken, flows)?;
            if let Some(rate) = &mut user.rate {
                self.rate(&format!("{at}.rate"), rate)?;
            }
            if let Some(changes) = &mut user.changes {
                self.course(&format!("{at}.changes"), changes)?;
            }
            if let Some(buffer) = &mut user.buffer {
                self.size(&format!("{at}.buffer"), buffer);
            }
            if let Some(aqm) = &mut user.aqm {
                self.algorithm(&format!("{at}.aqm"), aqm)?;
            }
        }
        Ok(())
    }

    /// Refuses hosts that would not come to the same of `copies` alike: there are `by` times as many hosts, and still
    /// as many classes.
    fn hosts(
        &self,
        at: &str,
        copies: u32,
        traffic: Option<&Match>,
        taken: &[String],
        flows: &[FlowGroup],
    ) -> Result<(), Refusal> {
        if self.by == 1.0 {
            return Ok(());
        }
        if let Some(Any(hosts)) = traffic.and_then(|traffic| traffic.host.as_ref()) {
            let hosts: Vec<String> = hosts.iter().map(u32::to_string).collect();
            let rule = "names hosts, of which there would be another number; match groups instead";
            return refusal(&format!("{at}.match.host"), hosts.join(", "), rule);
        }
        let comes = |group: &&FlowGroup| match traffic.and_then(|traffic| traffic.group.as_ref()) {
            Some(Any(groups)) => groups.contains(&group.name),
            None => !taken.contains(&group.name),
        };
        for group in flows.iter().filter(comes) {
            let hosts = group.hosts.map(u32::from).or(group.count).unwrap_or(1);
            if copies > 1 && hosts % copies != 0 {
                let rule = format!(
                    "has {hosts} hosts in {copies} alike (`{at}`), which does not divide evenly, so that another number \
                     would come to each in other shares; give it a multiple of {copies}"
                );
                return refusal(&format!("flows.{}", group.name), "", rule);
            }
        }
        Ok(())
    }

    /// The bytes of a leaf's turn.
    fn quantum(&self, class: &TrafficClass) -> Bytes {
        let usual = || quell_queue::usual_quantum(class.rate.unwrap_or(BitRate::from_bps(0)), self.largest);
        class.quantum.unwrap_or_else(usual)
    }

    /// Scales the turn of a leaf. Its default follows the rate, but only between bounds.
    fn turn(&mut self, field: &str, class: &mut TrafficClass, by: f64) {
        let before = self.quantum(class);
        let scaled = Bytes::new((before.get() as f64 * by).round() as u64);
        let mut later = class.clone();
        later.rate = class.rate.map(|rate| times(rate, self.by));
        if class.quantum.is_none() && self.quantum(&later) == scaled {
            return;
        }
        self.note(
            field.to_string(),
            before,
            scaled,
            "turns as long, in the same ratios; none is less than a packet",
        );
        class.quantum = Some(scaled);
    }

    fn scaled_burst(&self, burst: Bytes) -> Bytes {
        let scaled = Bytes::new((burst.get() as f64 * self.by).round() as u64);
        // A packet does not shrink.
        scaled.max(self.largest.min(burst))
    }

    fn burst(&mut self, field: &str, burst: &mut Bytes) {
        let scaled = self.scaled_burst(*burst);
        self.note(
            field.to_string(),
            *burst,
            scaled,
            "the same time at its rate, but never less than a packet",
        );
        *burst = scaled;
    }

    fn course(&mut self, at: &str, changes: &mut Changes) -> Result<(), Refusal> {
        let list = match changes {
            Changes::List(list) => list,
            Changes::Course(course) => match (&mut course.list, &course.file) {
                (Some(list), _) => list,
                (None, file) if self.by == 1.0 || file.is_none() => return Ok(()),
                (None, file) => {
                    let rule = "rates in a file are not scaled: write them as a list, or scale the file";
                    return refusal(at, cut(file.as_deref().unwrap_or_default()), rule);
                }
            },
        };
        for (i, change) in list.iter_mut().enumerate() {
            if let Some(rate) = &mut change.rate {
                self.rate(&format!("{at}[{i}].rate"), rate)?;
            }
        }
        Ok(())
    }

    fn group(&mut self, group: &mut crate::format::FlowGroup) -> Result<(), Refusal> {
        let at = format!("flows.{}", group.name);
        if group.kind == Kind::Trace && self.by != 1.0 {
            return refusal(&format!("{at}.kind"), "\"trace\"", "recorded arrivals cannot be scaled");
        }
        if let Some(count) = &mut group.count {
            let scaled = self.whole(&format!("{at}.count"), f64::from(*count))?;
            self.note(format!("{at}.count"), *count, scaled, "each flow has its share as before");
            *count = scaled as u32;
        }
        if let Some(sessions) = &mut group.sessions_per_second {
            let scaled = *sessions * self.by;
            self.note(format!("{at}.sessions_per_second"), *sessions, scaled, SHARED);
            *sessions = scaled;
        }
        if let Some(hosts) = &mut group.hosts {
            let scaled = self.whole(&format!("{at}.hosts"), f64::from(*hosts))?;
            if scaled > f64::from(u16::MAX) {
                return refusal(&format!("{at}.hosts"), *hosts, "there are at most 65535 hosts");
            }
            self.note(format!("{at}.hosts"), *hosts, scaled, "each host has its flows as before");
            *hosts = scaled as u16;
        }
        let rtts = group.rtt.iter_mut().chain(group.rtt_changes.iter_mut().map(|change| &mut change.rtt));
        for rtt in rtts {
            if let OneOr::Spread(RttSpread::Linear(linear)) = rtt {
                self.step(format!("{at}.rtt.linear.step"), &mut linear.step);
            }
        }
        for (key, when) in [("start", &mut group.start), ("stop", &mut group.stop)] {
            if let Some(OneOr::Spread(WhenSpread::Linear(linear))) = when {
                self.step(format!("{at}.{key}.linear.step"), &mut linear.step);
            }
        }
        Ok(())
    }

    fn algorithm(&mut self, at: &str, aqm: &mut AqmChoice) -> Result<(), Refusal> {
        let Some(entry) = catalog::find(&aqm.algorithm) else {
            let rule = "is not in the catalog, so Quell does not know how its parameters scale";
            return refusal(at, format!("\"{}\"", cut(&aqm.algorithm)), rule);
        };
        let units: Vec<(&str, &str)> = (entry.params)().iter().map(|doc| (doc.name, doc.unit)).collect();
        for (key, value) in aqm.parameters.iter_mut() {
            let field = format!("{at}.{key}");
            let unit = units.iter().find(|(name, _)| name == key).map_or("", |(_, unit)| unit);
            self.parameter(&field, rule(entry.name, key, unit), unit, value)?;
        }
        Ok(())
    }

    fn parameter(&mut self, field: &str, rule: Rule, unit: &str, value: &mut Value) -> Result<(), Refusal> {
        // What follows the link by itself, or is switched off.
        if matches!(value, Value::String(text) if text.parse::<f64>().is_err() && !is_amount(text)) {
            return Ok(());
        }
        let before = value.to_string();
        match rule {
            Rule::Keep => return Ok(()),
            Rule::Unknown if self.by == 1.0 => return Ok(()),
            Rule::Unknown => {
                let rule =
                    format!("Quell does not know how a parameter of this name in the unit \"{unit}\" scales");
                return refusal(field, before, rule);
            }
            Rule::Times(_) => *value = self.multiplied(field, value, self.by)?,
            Rule::Over(_) => *value = self.multiplied(field, value, 1.0 / self.by)?,
            Rule::Weight => {
                if let Some(weight) = number(value) {
                    let keeps = libm::log1p(-weight) / self.by;
                    // Exactly what it was where nothing changes.
                    let scaled = if self.by == 1.0 { weight } else { -libm::expm1(keeps) };
                    *value = Value::Float(scaled);
                }
            }
            Rule::Halvings => {
                let more = libm::log2(self.by);
                if more.fract() != 0.0 {
                    return refusal(field, before, "a power of one half scales only by powers of 2");
                }
                if let Some(power) = number(value) {
                    *value = Value::Integer((power + more) as i64);
                }
            }
            Rule::Within(keys) => {
                let tables: Vec<&mut Value> = match &mut *value {
                    Value::Array(tables) => tables.iter_mut().collect(),
                    table => vec![table],
                };
                for table in tables.into_iter().filter_map(Value::as_table_mut) {
                    for (key, inner) in table.iter_mut().filter(|(key, _)| keys.contains(&key.as_str())) {
                        *inner = self.multiplied(&format!("{field}.{key}"), inner, self.by)?;
                    }
                }
            }
            Rule::Algorithm => {
                let Some(table) = value.as_table_mut() else { return Ok(()) };
                let name = table.get("algorithm").and_then(Value::as_str).unwrap_or_default().to_string();
                let rest = table.iter().filter(|(key, _)| *key != "algorithm");
                let parameters = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
                let mut inner = AqmChoice { algorithm: name, label: None, parameters };
                self.algorithm(field, &mut inner)?;
                table.extend(inner.parameters);
                return Ok(());
            }
        }
        let why = match rule {
            Rule::Times(why) | Rule::Over(why) => why,
            Rule::Weight | Rule::Halvings => SAMPLES,
            _ => SHARED,
        };
        self.note(field.to_string(), before, value.to_string(), why);
        Ok(())
    }

    /// A number or a quantity, `by` times as large.
    fn multiplied(&self, field: &str, value: &Value, by: f64) -> Result<Value, Refusal> {
        Ok(match value {
            Value::Integer(n) if (*n as f64 * by).fract() == 0.0 => Value::Integer((*n as f64 * by) as i64),
            Value::Integer(_) => return refusal(field, value, "would not be a whole number"),
            Value::Float(x) => Value::Float(x * by),
            Value::String(text) => {
                let size =
                    text.parse::<QueueSize>().map(|size| size.with_value(size.value() * by).to_string());
                let rate = || text.parse::<BitRate>().map(|rate| times(rate, by).to_string());
                match size.or_else(|_| rate()) {
                    Ok(text) => Value::String(text),
                    Err(_) => return refusal(field, value, "is neither a size nor a rate"),
                }
            }
            other => other.clone(),
        })
    }

    fn rate(&mut self, field: &str, rate: &mut BitRate) -> Result<(), Refusal> {
        let scaled = times(*rate, self.by);
        if scaled.bps() == 0 && rate.bps() > 0 {
            return refusal(field, *rate, "would be 0");
        }
        self.note(field.to_string(), *rate, scaled, "shared by the flows");
        *rate = scaled;
        Ok(())
    }

    fn size(&mut self, field: &str, size: &mut QueueSize) {
        let scaled = size.with_value(size.value() * self.by);
        self.note(field.to_string(), *size, scaled, "the same time at the link's rate");
        *size = scaled;
    }

    fn step(&mut self, field: String, step: &mut Duration) {
        let scaled = step.mul_f64(1.0 / self.by);
        self.note(field, *step, scaled, SPREAD);
        *step = scaled;
    }

    fn whole(&self, field: &str, n: f64) -> Result<f64, Refusal> {
        let scaled = n * self.by;
        match scaled.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&scaled) {
            true => Ok(scaled),
            false => refusal(field, n, format!("{scaled} is not a whole number of them")),
        }
    }

    fn note(&mut self, field: String, from: impl ToString, to: impl ToString, why: &'static str) {
        let (from, to) = (from.to_string(), to.to_string());
        if from != to {
            self.changes.push(Change { field, from, to, why });
        }
    }
}

/// The groups of which a class takes all packets.
fn whole_groups(traffic: Option<&Match>) -> Vec<String> {
    let all = traffic.filter(|traffic| traffic.dscp.is_none() && traffic.host.is_none());
    all.and_then(|traffic| traffic.group.as_ref()).map(|Any(groups)| groups.clone()).unwrap_or_default()
}

fn times(rate: BitRate, by: f64) -> BitRate {
    BitRate::from_bps((rate.bps() as f64 * by).round() as u64)
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64))
}

/// True for a size or a rate, and not for a word such as "auto".
fn is_amount(text: &str) -> bool {
    text.parse::<QueueSize>().is_ok() || text.parse::<BitRate>().is_ok()
}

/// The pure numbers that stay, in every algorithm that has them: shares, probabilities and their steps, exponents,
/// and what is relative to another parameter.
#[rustfmt::skip]
const PURE: &[&str] = &[
    "activate_at", "alpha", "beta", "c", "c1_max", "c1_min", "c_weight", "coupling", "curviness", "d1", "d2",
    "decrement", "detection", "dscp", "epsilon", "error_high", "error_low", "filter", "gamma", "h_s", "hash_key",
    "increment", "initial_capacity", "initial_p", "k", "k_d", "k_p", "kappa", "levels", "lowest", "mark_ecnth",
    "mark_limit", "max_p", "max_p_bottom", "max_p_top", "min_p", "min_p_floor", "overwrite", "p_dec", "p_inc", "p_l",
    "p_max", "p_min", "p_u", "periods", "phi", "phi1", "phi2", "tau", "zeta",
];

/// How a parameter of an algorithm scales, by its name and unit.
fn rule(algorithm: &str, name: &str, unit: &str) -> Rule {
    match (algorithm, name) {
        // Of one flow, of one bin, or of a few packets: the number of these grows, and not the size of each.
        ("sfq-red", "min_th" | "max_th" | "weight") | ("fq-blue", "threshold") | ("fred", "min_q") => {
            Rule::Keep
        }
        ("sfq" | "sfq-red", "depth") | ("fq-codel", "drop_batch") | ("red+tail", "young_packets") => {
            Rule::Keep
        }
        ("sfb", "bin_size" | "max") | ("dualpi2", "th_len") | (_, "min_backlog") => Rule::Keep,
        // A measurement each period.
        ("lred", "weight") => Rule::Keep,
        ("sfb", "bins") | ("sred", "flows" | "zombies") => Rule::Times("as many flows for each"),
        ("ap-red", "flows") => Rule::Times("the number of flows"),
        (_, "reference_flows" | "max_flows") => Rule::Times("the number of flows"),
        ("choke", "candidates") => {
            Rule::Times("a flow's share of the queue becomes smaller, and so does each comparison's")
        }
        ("sred", "alpha") => Rule::Over(SAMPLES),
        ("hred" | "hred-fixed", "overflow_step") => Rule::Over("as many steps as packets that overflow"),
        ("curvy-red", "weight") => Rule::Halvings,
        (_, "weight" | "p_weight" | "weight_high" | "weight_low") => Rule::Weight,
        (_, "design") => Rule::Within(&["flows"]),
        (_, "classes") => Rule::Within(&["min_th", "max_th"]),
        (_, "vq2") => Rule::Algorithm,
        // A measurement of the link's rate, which is right however long it takes.
        (_, "dq_threshold") => Rule::Keep,
        // Sizes of packets.
        (_, "mean_packet" | "mtu" | "quantum" | "overhead" | "mpu") => Rule::Keep,
        _ => match unit {
            "packets or bytes" | "packets" | "bytes" | "bit/s" | "packets/s" => Rule::Times(SHARED),
            "queues" | "flows" => Rule::Times("as many flows in each"),
            "1/packet" | "1/(packet s)" | "s/packet" => Rule::Over(PER_PACKET),
            "s" | "1/s" | "Hz" | "name" | "true or false" | "powers of 2" => Rule::Keep,
            "1" if PURE.contains(&name) => Rule::Keep,
            _ => Rule::Unknown,
        },
    }
}

#[cfg(test)]
mod tests {
    use quell_aqm::catalog::CATALOG;

    use super::*;
    use crate::{Plugins, Study};

    fn study(text: &str) -> Study {
        Study::parse(text, "a.toml", &Plugins::new()).unwrap()
    }

    fn text(aqm: &str, flows: &str) -> String {
        format!(
            "schema = 1\nduration = \"10 s\"\ndumbbell = {{ rate = \"40 Mbit/s\", delay = \"10 ms\", buffer = \"400 packets\" }}\n\
             aqm = [{aqm}]\nflows = [{flows}]\n"
        )
    }

    const FLOWS: &str = "{ name = \"ftp\", count = 20, rtt = \"100 ms\" }";

    fn scaled(text: &str, by: f64) -> Result<Scaled, ScenarioError> {
        study(text).points[0].scaled(by)
    }

    #[test]
    fn once_its_size_is_the_scenario_itself() {
        for entry in CATALOG {
            let original = text(&format!("{{ algorithm = \"{}\" }}", entry.name), FLOWS);
            let one = scaled(&original, 1.0).unwrap();
            assert_eq!(one.text, study(&original).points[0].to_toml(), "{}", entry.name);
            assert_eq!(one.changes, [], "{}", entry.name);
        }
    }

    #[test]
    fn every_algorithm_is_scaled_to_a_scenario_or_refused_with_words() {
        let mut scales = 0;
        for entry in CATALOG {
            match scaled(&text(&format!("{{ algorithm = \"{}\" }}", entry.name), FLOWS), 16.0) {
                Ok(many) => {
                    let point = &study(&many.text).points[0];
                    assert_eq!(point.scenario.flows[0].count, Some(320), "{}", entry.name);
                    assert_eq!(point.scenario.aqm.len(), 1, "{}", entry.name);
                    scales += 1;
                }
                Err(error) => assert!(error.rule.contains("does not know how"), "{error}"),
            }
        }
        assert!(scales >= 51, "{scales} of {}: all that were there when this was written", CATALOG.len());
    }

    #[test]
    fn a_factor_and_its_inverse_give_the_scenario_back() {
        for entry in CATALOG {
            let original = text(&format!("{{ algorithm = \"{}\" }}", entry.name), FLOWS);
            let Ok(four) = scaled(&original, 4.0) else { continue };
            let back = scaled(&four.text, 0.25).unwrap();
            let (was, is) = (Scenario::parse(&study(&original).points[0].to_toml()).unwrap(), back.text);
            let is = Scenario::parse(&is).unwrap();
            assert_eq!((&was.dumbbell, &was.flows), (&is.dumbbell, &is.flows), "{}", entry.name);
            // But for the rounding of weights.
            for (key, value) in &was.aqm[0].parameters {
                let same = match (number(value), number(&is.aqm[0].parameters[key])) {
                    (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * a.abs(),
                    _ => *value == is.aqm[0].parameters[key],
                };
                assert!(same, "{}.{key}: {value} and {}", entry.name, is.aqm[0].parameters[key]);
            }
        }
    }

    #[test]
    fn thresholds_grow_gains_per_packet_shrink_and_times_stay() {
        let red = "{ algorithm = \"red\", weight = 0.002, min_th = \"20 packets\", max_th = \"30 kB\" }";
        // RED refuses two units, so each alone.
        let red = red.replace("30 kB", "60 packets");
        let all = scaled(
            &text(&format!("{red}, {{ algorithm = \"pi\" }}, {{ algorithm = \"codel\" }}"), FLOWS),
            10.0,
        );
        let all = all.unwrap();
        let to = |field: &str| all.changes.iter().find(|c| c.field == field).map(|c| c.to.as_str());
        assert_eq!(to("dumbbell.rate"), Some("400 Mbit/s"));
        assert_eq!(to("dumbbell.buffer"), Some("4000 packets"));
        assert_eq!(to("flows.ftp.count"), Some("200"));
        assert_eq!(to("aqm.red.min_th"), Some("\"200 packets\""));
        assert_eq!(to("aqm.red.max_p"), None);
        assert_eq!(to("aqm.red.min_backlog"), None);
        // 1 - 0.998^(1/10) = 0.00020018..., of which ten samples weigh 0.002.
        let weight: f64 = to("aqm.red.weight").unwrap().parse().unwrap();
        assert!((1.0 - (1.0 - weight).powi(10) - 0.002).abs() < 1e-12, "{weight}");
        let a: f64 = to("aqm.pi.a").unwrap().parse().unwrap();
        assert!((a - 1.822e-6).abs() < 1e-15, "{a}");
        assert_eq!(to("aqm.codel.target"), None);
    }

    #[test]
    fn what_serves_a_link_scales_with_it_in_both_directions() {
        let classes = "[{ name = \"all\", rate = \"18 Mbit/s\", burst = \"20 kB\" }, \
             { name = \"work\", parent = \"all\", rate = \"12 Mbit/s\", ceil = \"18 Mbit/s\", match = { group = \"ftp\" }, \
             buffer = \"30 packets\", quantum = \"3 kB\", aqm = { algorithm = \"red\", min_th = \"20 packets\", max_th = \
             \"60 packets\" } }, { name = \"rest\", parent = \"all\" }]";
        let shaper =
            "{ rate = \"10 Mbit/s\", burst = \"15 kB\", peak_rate = \"30 Mbit/s\", limit = \"90 packets\" }";
        let served = |forward: &str, back: &str| {
            let keys = format!("{forward}, reverse = {{ {back} }} }}");
            text("{ algorithm = \"drop-tail\" }", FLOWS).replace(" }\naqm", &format!(", {keys}\naqm"))
        };
        let ways = [
            ("dumbbell", served(&format!("classes = {classes}"), &format!("shaper = {shaper}"))),
            ("dumbbell.reverse", served(&format!("shaper = {shaper}"), &format!("classes = {classes}"))),
        ];
        for (at, text) in &ways {
            let other = if *at == "dumbbell" { "dumbbell.reverse" } else { "dumbbell" };
            assert_eq!(scaled(text, 1.0).unwrap().changes, []);
            let ten = scaled(text, 10.0).unwrap();
            study(&ten.text);
            let to = |field: String| {
                let change = ten.changes.iter().find(|c| c.field == field);
                change.unwrap_or_else(|| panic!("{field} in {:?}", ten.changes)).to.as_str()
            };
            for (field, value) in [
                ("classes[0].rate", "180 Mbit/s"),
                ("classes[0].ceil", "180 Mbit/s"),
                ("classes[0].burst", "200 kB"),
                ("classes[0].cburst", "200 kB"),
                ("classes[1].rate", "120 Mbit/s"),
                ("classes[1].ceil", "180 Mbit/s"),
                ("classes[1].burst", "16 kB"),
                ("classes[1].buffer", "300 packets"),
                ("classes[1].quantum", "30 kB"),
                ("classes[1].aqm.min_th", "\"200 packets\""),
                ("classes[1].aqm.max_th", "\"600 packets\""),
                ("classes[2].ceil", "180 Mbit/s"),
                // A packet, the default there.
                ("classes[2].quantum", "10 kB"),
            ] {
                assert_eq!(to(format!("{at}.{field}")), value, "{field}");
            }
            for (field, value) in [
                ("rate", "100 Mbit/s"),
                ("burst", "150 kB"),
                ("peak_rate", "300 Mbit/s"),
                ("mtu", "10 kB"),
                ("limit", "900 packets"),
            ] {
                assert_eq!(to(format!("{other}.shaper.{field}")), value, "{field}");
            }
            // No burst becomes smaller than a packet.
            let tenth = scaled(text, 0.1).unwrap();
            study(&tenth.text);
        }
    }

    #[test]
    fn users_of_a_cell_scale_with_it() {
        let cell = "cell = { users = [{ name = \"near\", rate = \"30 Mbit/s\", match = { group = \"ftp\" } }, \
                    { name = \"far\", buffer = \"20 packets\", changes = [{ at = \"1 s\", rate = \"2 Mbit/s\" }] }] }";
        let one =
            text("{ algorithm = \"drop-tail\" }", FLOWS).replace(" }\naqm", &format!(", {cell} }}\naqm"));
        let four = scaled(&one, 4.0).unwrap();
        study(&four.text);
        let to = |field: &str| four.changes.iter().find(|c| c.field == field).map(|c| c.to.as_str());
        assert_eq!(to("dumbbell.cell.users[0].rate"), Some("120 Mbit/s"));
        assert_eq!(to("dumbbell.cell.users[0].buffer"), Some("1600 packets"));
        assert_eq!(to("dumbbell.cell.users[1].buffer"), Some("80 packets"));
        assert_eq!(to("dumbbell.cell.users[1].changes[0].rate"), Some("8 Mbit/s"));
    }

    #[test]
    fn hosts_that_would_come_to_other_classes_are_refused() {
        let with = |home: &str| {
            let classes = format!("classes = [{{ name = \"home\", {home} }}, {{ name = \"rest\" }}]");
            text("{ algorithm = \"drop-tail\" }", FLOWS).replace(" }\naqm", &format!(", {classes} }}\naqm"))
        };
        let named = with("match = { host = 2 }");
        let error = scaled(&named, 2.0).unwrap_err().to_string();
        assert!(error.contains("dumbbell.classes[0].match.host = 2: names hosts"), "{error}");
        let seven = with("match = { group = \"ftp\" }, repeat = 7");
        let error = scaled(&seven, 2.0).unwrap_err().to_string();
        assert!(error.contains("flows.ftp: has 20 hosts in 7 alike"), "{error}");
        assert!(scaled(&seven, 1.0).is_ok());
        assert!(scaled(&with("match = { group = \"ftp\" }, repeat = 5"), 2.0).is_ok());
    }

    #[test]
    fn what_does_not_scale_is_refused_with_field_value_and_rule() {
        let said = |text: &str, by| scaled(text, by).unwrap_err().to_string();
        let one = text("{ algorithm = \"red\" }", FLOWS);
        assert!(said(&one, 0.33).contains("flows.ftp.count = 20: 6.6"), "{}", said(&one, 0.33));
        let curvy = text("{ algorithm = \"curvy-red\" }", FLOWS);
        let rule = said(&curvy, 10.0);
        assert!(
            rule.contains("aqm.curvy-red.weight = 5: a power of one half scales only by powers of 2"),
            "{rule}"
        );
        assert!(said(&one, f64::NAN).contains("must be a number above 0"));
    }
}
