//! Queues and classes of a text, with their counters.

use quell_units::text::cut;
use quell_units::{BitRate, Bytes, Framing, Layer, LinkLayer};

use crate::qdisc::{Meaning, mean};
use crate::settings::{Settings, Wrong};
use crate::values::Value;
use crate::{Kernel, grammar};

/// The most problems that are kept; the others are counted.
const MOST_PROBLEMS: usize = 40;

/// The most queues, and the most classes, of a text.
const MOST: usize = 4096;

/// A place of a text that could not be read, or not wholly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from 1; of JSON, whose lines say little, the item.
    pub line: usize,
    /// The line is an item of JSON.
    pub is_item: bool,
    /// The word.
    pub word: String,
    /// The problem, and how to mend it.
    pub says: String,
    /// Nothing is made of the line because of it.
    pub fatal: bool,
}

impl core::fmt::Display for Problem {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let unit = place(self.is_item);
        match self.word.as_str() {
            "" => write!(f, "{unit} {}: {}", self.line, self.says),
            word => write!(f, "{unit} {}: {word}: {}", self.line, self.says),
        }
    }
}

/// The unit of a text's numbers.
fn place(is_item: bool) -> &'static str {
    if is_item { "item" } else { "line" }
}

/// The counters of a queue or a class that `tc -s` prints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Bytes that left.
    pub bytes: u64,
    /// Packets that left.
    pub packets: u64,
    /// Packets that were dropped.
    pub dropped: u64,
    /// Times when a shaper held a packet back, or an algorithm signaled.
    pub overlimits: u64,
    /// Packets that the device gave back.
    pub requeues: u64,
    /// Bytes that wait.
    pub backlog_bytes: u64,
    /// Packets that wait.
    pub backlog_packets: u64,
    /// Packets that were marked, where the qdisc counts them.
    pub marked: Option<u64>,
    /// The basic ones that the text lacks, by the names that tc's JSON has for them; they are 0 here.
    pub lacking: Vec<&'static str>,
    /// The others, by the names that tc has for them.
    pub others: Vec<(String, String)>,
    /// CAKE's tins: each name, and its counters by tc's names.
    pub tins: Vec<(String, Vec<(String, String)>)>,
}

/// A qdisc of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Its line, counted from 1.
    pub line: usize,
    /// Its kind, as tc has it.
    pub kind: String,
    /// Its device, if the line has one.
    pub device: Option<String>,
    /// Its handle, such as `8001:`.
    pub handle: Option<String>,
    /// The class that it is in, such as `1:10`; none at the root.
    pub parent: Option<String>,
    /// Its meaning in a scenario; none of a kind that is not an algorithm.
    pub meaning: Option<Meaning>,
    /// The words of a netem, which is a link: `netem delay 20ms`, or `qdisc netem ...` where tc printed it.
    pub netem: Option<String>,
    /// The token bucket that it is.
    pub bucket: Option<Bucket>,
    /// Its table of sizes, which adds to packets: tc-stab(8).
    pub stab: Option<Added>,
    /// The class, such as `10`, that takes what no filter of an htb sends elsewhere.
    pub default_class: Option<String>,
    /// Its counters, if tc printed them.
    pub counters: Option<Counters>,
}

/// A token bucket filter: tc-tbf(8).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// The rate in the long run.
    pub rate: BitRate,
    /// The most that leaves at once.
    pub burst: Bytes,
    /// The rate at which a burst leaves.
    pub peak_rate: Option<BitRate>,
    /// The most that leaves at once at that rate.
    pub mtu: Option<Bytes>,
    /// The most that may wait.
    pub limit: Option<Bytes>,
    /// What the link adds to packets.
    pub added: Added,
}

/// What a link adds to IP packets, and what its rate counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// Bytes of headers, those of Ethernet too; none if tc is told of none.
    pub overhead: Bytes,
    /// The smallest packet with its headers.
    pub mpu: Bytes,
    /// Framing of what that makes.
    pub framing: Framing,
}

impl Added {
    /// Of the words `overhead`, `mpu` and `linklayer`. tc counts them beside the header that a device's packets have.
    pub(super) fn of(overhead: i64, mpu: u64, framing: Framing, device: Option<&str>) -> Self {
        let bare = (overhead, mpu, framing) == (0, 0, Framing::None);
        let header = if bare { 0 } else { header(device).get() };
        let overhead = i64::try_from(header).unwrap_or(0).saturating_add(overhead).max(0);
        Added { overhead: Bytes::new(u64::try_from(overhead).unwrap_or(0)), mpu: Bytes::new(mpu), framing }
    }

    /// A link of this rate that adds it.
    pub fn layer(self, rate: BitRate) -> LinkLayer {
        let Added { overhead, mpu, framing } = self;
        LinkLayer { overhead, smallest: mpu, framing, ..LinkLayer::plain(rate) }
    }

    /// What a link adds to an IP packet, whichever the layer at which sizes of packets are given.
    pub fn by(layer: &LinkLayer) -> Self {
        Added { overhead: layer.overhead, mpu: layer.smallest, framing: layer.framing }
    }
}

/// The bytes before an IP packet that Linux counts as part of a packet of this device: Ethernet's, unless its name says
/// that it has none.
pub fn header(device: Option<&str>) -> Bytes {
    let without = ["ppp", "tun", "wg", "wwan", "sit", "gre"];
    let name = device.map_or("", |name| name.strip_prefix("ifb4").unwrap_or(name));
    match without.iter().any(|begin| name.starts_with(begin)) {
        true => Bytes::new(0),
        false => Layer::Ethernet.header(),
    }
}

/// The framing of the word behind `linklayer`.
pub(super) fn framing(word: &str) -> Framing {
    match word {
        "atm" | "adsl" => Framing::Atm,
        "ptm" | "vdsl" => Framing::Ptm,
        _ => Framing::None,
    }
}

/// Words of a table of sizes: tc-stab(8).
pub(super) const OF_STAB: [&str; 5] = ["mtu", "tsize", "mpu", "overhead", "linklayer"];

/// What a table of sizes adds to packets, by its words and values; none if a value is none.
pub(super) fn stab<'a>(
    dump: &mut Dump,
    line: usize,
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
    device: Option<&str>,
) -> Option<Added> {
    use crate::values::size;
    let (mut overhead, mut mpu, mut layer, mut mtu, mut slots) = (0, 0, Framing::None, 0, 0);
    for (word, value) in pairs {
        let read = match word {
            "overhead" => value.parse().ok().map(|bytes: i32| overhead = i64::from(bytes)),
            "mpu" => size(value).map(|bytes| mpu = bytes),
            "mtu" => size(value).map(|bytes| mtu = bytes),
            "tsize" => value.parse().ok().map(|number: u32| slots = u64::from(number)),
            "linklayer" if !["ethernet", "atm", "adsl"].contains(&value) => None,
            _ => {
                layer = framing(value);
                Some(())
            }
        };
        if read.is_none() {
            let says = format!("{word}: \"{}\" is no value of it", cut(value));
            dump.problem(line, "stab", says, true);
            return None;
        }
    }
    // tc computes a table of so many slots (tc_calc_size_table), but none for Ethernet without a smallest packet.
    let (mtu, slots) = (if mtu == 0 { 2047 } else { mtu }, if slots == 0 { 512 } else { slots });
    let mut step = 1;
    while mtu / step >= slots && step < mtu {
        step *= 2;
    }
    let fine = if layer == Framing::Atm { 16 } else { 1 };
    if (layer != Framing::None || mpu > 0) && step > fine {
        let says = format!("Linux rounds sizes up to steps of {step} B by it, and here they are exact");
        dump.problem(line, "stab", says, false);
    }
    let added = Added::of(overhead, mpu, layer, device);
    (added != Added::default()).then_some(added)
}

/// A class of an htb: tc-htb(8).
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its line, counted from 1.
    pub line: usize,
    /// Its device, if the line has one.
    pub device: Option<String>,
    /// Its name, such as `1:10`.
    pub id: String,
    /// The class or the qdisc that it is in; none at the root.
    pub parent: Option<String>,
    /// Its rate.
    pub rate: BitRate,
    /// Its ceiling.
    pub ceil: Option<BitRate>,
    /// The bytes that it saves up at its rate.
    pub burst: Option<Bytes>,
    /// The bytes that it saves up at its ceiling.
    pub cburst: Option<Bytes>,
    /// Bytes of a turn.
    pub quantum: Option<Bytes>,
    /// Lower goes first.
    pub priority: u8,
    /// What the link adds to packets.
    pub added: Added,
    /// The DSCPs of its packets, if the text says them.
    pub dscps: Vec<u8>,
    /// Its counters, if tc printed them.
    pub counters: Option<Counters>,
}

/// The contents of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dump {
    /// Its qdiscs, in its order.
    pub queues: Vec<Queue>,
    /// Its classes, in its order.
    pub classes: Vec<Class>,
    /// The places that could not be read.
    pub problems: Vec<Problem>,
    /// Further problems, which are only counted.
    pub more_problems: usize,
    /// The text is JSON, and its lines are numbers of items.
    pub is_of_items: bool,
}

impl Dump {
    /// The unit of its numbers: `line`, or `item` of JSON.
    pub fn place(&self) -> &'static str {
        place(self.is_of_items)
    }

    pub(super) fn problem(&mut self, line: usize, word: &str, says: impl Into<String>, fatal: bool) {
        if self.problems.len() >= MOST_PROBLEMS {
            self.more_problems += 1;
            return;
        }
        self.problems.push(Problem {
            line,
            is_item: self.is_of_items,
            word: cut(word),
            says: says.into(),
            fatal,
        });
    }

    /// Takes off the queues of a device that a line deletes: one of a kind that has a place of its own, those in a
    /// class, or all at the root with their classes.
    pub(super) fn remove(&mut self, head: &Head<'_>, kind: Option<&str>) {
        let is_apart = |kind: &str| matches!(kind, "ingress" | "clsact");
        let is_there = |device: &Option<String>| device.as_deref() == head.device;
        match (kind.filter(|kind| is_apart(kind)), head.parent) {
            (Some(kind), _) => self.queues.retain(|queue| !is_there(&queue.device) || queue.kind != kind),
            (None, Some(class)) => {
                self.queues.retain(|queue| !is_there(&queue.device) || queue.parent.as_deref() != Some(class))
            }
            (None, None) => {
                self.queues.retain(|queue| !is_there(&queue.device) || is_apart(&queue.kind));
                self.classes.retain(|class| !is_there(&class.device));
            }
        }
    }

    /// Says once that there are too many, and counts the others.
    fn too_many(&mut self, line: usize, word: &str) {
        let says =
            format!("more than {MOST} queues or classes, which are left out: give fewer devices at a time");
        match self.problems.iter().any(|problem| problem.says == says) {
            true => self.more_problems += 1,
            false => self.problem(line, word, says, false),
        }
    }

    fn wrong(&mut self, line: usize, wrong: Vec<Wrong>) -> bool {
        let fatal = wrong.iter().any(|wrong| wrong.fatal);
        for Wrong { word, says, fatal } in wrong {
            self.problem(line, &word, says, fatal);
        }
        fatal
    }
}

/// The part of a record before its options.
#[derive(Default)]
pub(super) struct Head<'a> {
    pub(super) line: usize,
    pub(super) kind: &'a str,
    pub(super) device: Option<&'a str>,
    pub(super) handle: Option<&'a str>,
    pub(super) parent: Option<&'a str>,
    pub(super) stab: Option<Added>,
    /// tc printed it, and nobody typed it: what it does not say is not the default, but off.
    pub(super) shown: bool,
}

/// Adds a queue with its options.
pub(super) fn queue(
    dump: &mut Dump,
    head: &Head<'_>,
    words: &[&str],
    counters: Option<Counters>,
    kernel: Kernel,
) {
    if dump.queues.len() >= MOST {
        return dump.too_many(head.line, head.kind);
    }
    let mut queue = Queue {
        line: head.line,
        kind: head.kind.to_string(),
        device: head.device.map(str::to_string),
        handle: head.handle.map(str::to_string),
        parent: head.parent.map(str::to_string),
        meaning: None,
        netem: None,
        bucket: None,
        stab: head.stab,
        default_class: None,
        counters,
    };
    // What cake_mq has of its own is the number of the device's queues.
    let (name, words) = match head.kind {
        "cake_mq" => ("cake", words),
        // It has bands by priority, which nobody sets here.
        "pfifo_fast" => ("pfifo", &[][..]),
        kind => (kind, words),
    };
    match grammar::find(name) {
        Some(grammar) => {
            let mut given = Settings::of(grammar);
            let wrong = given.read(words, head.shown);
            if dump.wrong(head.line, wrong) {
                return;
            }
            if grammar.name == "tbf" {
                match bucket(&given, head.device) {
                    Ok(bucket) => queue.bucket = Some(bucket),
                    Err(says) => return dump.problem(head.line, "tbf", says, true),
                }
            } else {
                match mean(&given, head.shown, kernel) {
                    Ok(mut meaning) => {
                        if name != head.kind {
                            let note = match name {
                                "cake" => {
                                    "cake_mq: one CAKE for each queue of the device; queues = N says how many"
                                }
                                _ => {
                                    "pfifo_fast: three queues by the priority of packets; read as one of 1000 packets"
                                }
                            };
                            meaning.notes.push(note.into());
                        }
                        queue.meaning = Some(meaning);
                    }
                    Err(says) => return dump.problem(head.line, head.kind, says, true),
                }
            }
        }
        None => match structure(head.kind) {
            Some(_) if head.kind == "netem" => {
                let shown = if head.shown { "qdisc " } else { "" };
                queue.netem = Some(format!("{shown}netem {}", words.join(" ")));
            }
            Some("") => {
                if let Some(word) = words.iter().find(|word| ["rate", "ceil", "burst"].contains(word)) {
                    let says = "a word of a class of htb, and not of htb itself: give it by tc class add";
                    return dump.problem(head.line, word, says, true);
                }
                let default =
                    words.iter().position(|word| *word == "default").and_then(|at| words.get(at + 1));
                queue.default_class = default.map(|class| class.trim_start_matches("0x").to_string());
            }
            Some(says) => dump.problem(head.line, head.kind, says, false),
            None => {
                let names = grammar::GRAMMARS.iter().map(|grammar| grammar.name);
                let says = match grammar::nearest(head.kind, names) {
                    Some(near) => format!("no qdisc that is known here; did you mean {near}?"),
                    None => "no qdisc that is known here: give its line without it".to_string(),
                };
                return dump.problem(head.line, head.kind, says, !head.shown);
            }
        },
    }
    dump.queues.push(queue);
}

/// Kinds that are not algorithms, and what to say of them; nothing of those that are read.
#[rustfmt::skip]
pub(crate) fn structure(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "htb" | "netem" => "",
        "noqueue" => "the device has no queue",
        "ingress" | "clsact" => "keeps no packets; filters below it may redirect to an ifb device, which has a queue",
        "mq" | "mqprio" | "multiq" => "a queue of the device for each processor; the first below it stands for all",
        "prio" => "bands by priority are not read: write classes with priority = 0, 1 and 2, and match dscp",
        "drr" | "ets" | "qfq" | "hfsc" | "cbq" => "its classes are not read: write classes with quantum or priority",
        "fq" => "paces senders on this host, which is no queue of a link: leave it out, or take fq_codel",
        "gred" => "several RED queues: write algorithm = \"wred\"",
        "etf" | "taprio" | "cbs" | "plug" | "skbprio" | "hhf" | "teql0" | "blackhole" => "no algorithm here",
        _ => return None,
    })
}

/// The token bucket of words.
fn bucket(given: &Settings, device: Option<&str>) -> Result<Bucket, String> {
    let rate = given.rate("rate").ok_or("needs a rate, such as rate 18mbit")?;
    let burst = ["burst", "buffer", "maxburst"].into_iter().find_map(|word| given.size(word));
    let burst = burst.ok_or("needs a burst, such as burst 32kb")?;
    let latency = given.time("latency").or(given.time("lat"));
    let of_latency = latency
        .map(|latency| Bytes::new((latency.as_secs_f64() * rate.bytes_per_sec()) as u64 + burst.get()));
    Ok(Bucket {
        rate,
        burst,
        peak_rate: given.rate("peakrate").filter(|rate| rate.bps() > 0),
        mtu: given.size("mtu").or(given.size("minburst")),
        limit: given.size("limit").or(of_latency),
        added: Added::of(
            given.int("overhead").unwrap_or(0),
            given.size("mpu").map_or(0, Bytes::get),
            match given.get("linklayer") {
                Some(Value::Choice(word)) => framing(word),
                _ => Framing::None,
            },
            device,
        ),
    })
}

/// Adds a class of an htb with its options.
pub(super) fn class(dump: &mut Dump, head: &Head<'_>, words: &[&str], counters: Option<Counters>) {
    use crate::values::{rate, size};
    if dump.classes.len() >= MOST {
        return dump.too_many(head.line, "class");
    }
    let mut class = Class {
        line: head.line,
        device: head.device.map(str::to_string),
        id: head.handle.unwrap_or_default().to_string(),
        parent: head.parent.map(str::to_string),
        rate: BitRate::from_bps(0),
        ceil: None,
        burst: None,
        cburst: None,
        quantum: None,
        priority: 0,
        added: Added::default(),
        dscps: Vec::new(),
        counters,
    };
    let (mut overhead, mut mpu, mut layer) = (0, 0, Framing::None);
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let known =
            ["rate", "ceil", "burst", "buffer", "cburst", "cbuffer", "quantum", "prio"].contains(&word);
        let passed = ["leaf", "overhead", "mpu", "mtu", "linklayer", "level", "bands"].contains(&word);
        if !known && !passed {
            if !head.shown {
                let says = "no word of htb's classes, as of iproute2 7.3: tc refuses the line";
                return dump.problem(head.line, word, says, true);
            }
            dump.problem(head.line, word, "no word of htb's classes that is known here, and left out", false);
            continue;
        }
        let Some(value) = words.next() else {
            return dump.problem(head.line, word, "needs a value behind it, and the line ends there", true);
        };
        // tc -d prints the cell, and the smallest packet twice, as in burst 1600b/1mpu 0b.
        let (value, cell) = value.split_once('/').unwrap_or((value, ""));
        let smallest = if cell.ends_with("mpu") { words.next() } else { None };
        mpu = smallest.and_then(size).unwrap_or(mpu);
        let read = match word {
            "rate" => rate(value).map(|rate| class.rate = rate),
            "ceil" => rate(value).map(|rate| class.ceil = Some(rate)),
            "burst" | "buffer" => size(value).map(|bytes| class.burst = Some(Bytes::new(bytes))),
            "cburst" | "cbuffer" => size(value).map(|bytes| class.cburst = Some(Bytes::new(bytes))),
            "quantum" => size(value).map(|bytes| class.quantum = Some(Bytes::new(bytes))),
            "prio" => value.parse().ok().map(|priority| class.priority = priority),
            "overhead" => value.parse().ok().map(|bytes: i32| overhead = i64::from(bytes)),
            "mpu" => size(value).map(|bytes| mpu = bytes),
            "linklayer" => {
                layer = framing(value);
                Some(())
            }
            _ => Some(()),
        };
        if read.is_none() {
            return dump.problem(head.line, word, format!("\"{}\" is no value of it", cut(value)), true);
        }
    }
    if class.rate.bps() == 0 {
        return dump.problem(head.line, "htb", "a class needs a rate, such as rate 18mbit", true);
    }
    class.added = Added::of(overhead, mpu, layer, head.device);
    dump.classes.push(class);
}
