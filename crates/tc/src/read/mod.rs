//! What tc prints and what people type: queues and classes, with their counters.

use quell_units::text::cut;
use quell_units::{BitRate, Bytes};

use crate::qdisc::{Meaning, mean};
use crate::settings::{Settings, Wrong};
use crate::{Kernel, grammar};

mod json;
mod networkd;
mod text;
mod uci;

/// The most problems that are kept; the others are counted.
const MOST_PROBLEMS: usize = 40;

/// The most queues, and the most classes, of a text.
const MOST: usize = 4096;

/// A place of a text that could not be read, or not wholly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, counted from 1.
    pub line: usize,
    /// The word.
    pub word: String,
    /// What is wrong, and what to do.
    pub says: String,
    /// Nothing is made of the line because of it.
    pub fatal: bool,
}

impl core::fmt::Display for Problem {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.word, self.says)
    }
}

/// What `tc -s` counts of a queue or a class.
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
    /// What it is in a scenario; none of a kind that is no algorithm.
    pub meaning: Option<Meaning>,
    /// The rate of an htb above it with one class, where the file has no line of that.
    pub shaped: Option<BitRate>,
    /// The token bucket that it is.
    pub bucket: Option<Bucket>,
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
    /// What it saves up at its rate.
    pub burst: Option<Bytes>,
    /// What it saves up at its ceiling.
    pub cburst: Option<Bytes>,
    /// Bytes of a turn.
    pub quantum: Option<Bytes>,
    /// Lower goes first.
    pub priority: u8,
    /// Its counters, if tc printed them.
    pub counters: Option<Counters>,
}

/// What a text has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dump {
    /// Its qdiscs, in its order.
    pub queues: Vec<Queue>,
    /// Its classes, in its order.
    pub classes: Vec<Class>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// Further problems, which are only counted.
    pub more_problems: usize,
}

impl Dump {
    fn problem(&mut self, line: usize, word: &str, says: impl Into<String>, fatal: bool) {
        if self.problems.len() >= MOST_PROBLEMS {
            self.more_problems += 1;
            return;
        }
        self.problems.push(Problem { line, word: cut(word), says: says.into(), fatal });
    }

    fn wrong(&mut self, line: usize, wrong: Vec<Wrong>) -> bool {
        let fatal = wrong.iter().any(|wrong| wrong.fatal);
        for Wrong { word, says, fatal } in wrong {
            self.problem(line, &word, says, fatal);
        }
        fatal
    }
}

/// Reads lines of tc, what `tc qdisc show` and `tc class show` print (with `-s`, `-d`, `-j`), the file of sqm-scripts
/// (UCI) or a `.network` file of systemd-networkd. What a line leaves out is the kernel's.
pub fn read(text: &str, kernel: Kernel) -> Dump {
    let mut dump = Dump::default();
    let begin = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let first = |is: fn(&str) -> bool| {
        text.lines()
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with(['#', ';']))
            .is_some_and(is)
    };
    if let Some(at) = text.find(|c: char| c == '\0' || c == '\u{fffd}') {
        let line = text[..at].matches('\n').count() + 1;
        dump.problem(
            line,
            &text[at..].chars().take(1).collect::<String>(),
            "no character of a text; left out",
            false,
        );
    }
    if first(|line| {
        line.starts_with('[')
            && !line.starts_with("[{")
            && line.len() > 1
            && line.ends_with(']')
            && line[1..].starts_with(|c: char| c.is_ascii_alphabetic())
    }) {
        networkd::read(&mut dump, text, kernel);
    } else if begin.starts_with(['[', '{']) {
        json::read(&mut dump, text, kernel);
    } else if first(|line| {
        line.starts_with("config ") || line.starts_with("package ") || line.starts_with("sqm.")
    }) {
        uci::read(&mut dump, text, kernel);
    } else {
        text::read(&mut dump, text, kernel);
    }
    if dump.queues.is_empty() && dump.classes.is_empty() && dump.problems.is_empty() {
        let says = "no line of tc's is in it; give a line, or what tc qdisc show prints";
        dump.problem(1, "", says, true);
    }
    dump
}

/// What a record says of a queue before its options.
#[derive(Default)]
struct Head<'a> {
    line: usize,
    kind: &'a str,
    device: Option<&'a str>,
    handle: Option<&'a str>,
    parent: Option<&'a str>,
}

/// Adds a queue with its options.
fn queue(dump: &mut Dump, head: &Head<'_>, words: &[&str], counters: Option<Counters>, kernel: Kernel) {
    if dump.queues.len() >= MOST {
        return dump.problem(
            head.line,
            head.kind,
            format!("more than {MOST} queues: give fewer devices at a time"),
            false,
        );
    }
    let mut queue = Queue {
        line: head.line,
        kind: head.kind.to_string(),
        device: head.device.map(str::to_string),
        handle: head.handle.map(str::to_string),
        parent: head.parent.map(str::to_string),
        meaning: None,
        shaped: None,
        bucket: None,
        default_class: None,
        counters,
    };
    // What cake_mq has of its own is the number of the device's queues.
    let name = if head.kind == "cake_mq" { "cake" } else { head.kind };
    match grammar::find(name) {
        Some(grammar) => {
            let mut given = Settings::of(grammar);
            let wrong = given.read(words);
            if dump.wrong(head.line, wrong) {
                return;
            }
            if grammar.name == "tbf" {
                match bucket(&given) {
                    Ok(bucket) => queue.bucket = Some(bucket),
                    Err(says) => return dump.problem(head.line, "tbf", says, true),
                }
            } else {
                match mean(&given, kernel) {
                    Ok(mut meaning) => {
                        if name != head.kind {
                            let note =
                                "cake_mq: one CAKE for each queue of the device; queues = N says how many";
                            meaning.notes.push(note.into());
                        }
                        queue.meaning = Some(meaning);
                    }
                    Err(says) => return dump.problem(head.line, head.kind, says, true),
                }
            }
        }
        None => match structure(head.kind) {
            Some("") => {
                let default =
                    words.iter().position(|word| *word == "default").and_then(|at| words.get(at + 1));
                queue.default_class = default.map(|class| class.trim_start_matches("0x").to_string());
            }
            Some(says) => dump.problem(head.line, head.kind, says, false),
            None => {
                let (says, fatal) = ("no qdisc that is known here: give its line without it", true);
                return dump.problem(head.line, head.kind, says, fatal);
            }
        },
    }
    dump.queues.push(queue);
}

/// Kinds that are no algorithm, and what to say of them; nothing of those that are read.
#[rustfmt::skip]
fn structure(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "htb" => "",
        "noqueue" => "the device has no queue",
        "ingress" | "clsact" => "keeps no packets; filters below it may redirect to an ifb device, which has a queue",
        "mq" | "mqprio" | "multiq" => "a queue of the device for each processor; the first below it stands for all",
        "prio" | "pfifo_fast" => "three bands by priority, which is none of a packet here: read as pfifo; classes with priority = \
            0, 1 and 2 are the same for DSCPs",
        "drr" | "ets" | "qfq" | "hfsc" | "cbq" => "its classes are not read: write classes with quantum or priority",
        "netem" => "a link, not a queue: quell import netem reads it",
        "fq" => "paces senders on this host, which is no queue of a link: leave it out, or take fq_codel",
        "gred" => "several RED queues: write algorithm = \"wred\"",
        "etf" | "taprio" | "cbs" | "plug" | "skbprio" | "hhf" | "teql0" | "blackhole" => "no algorithm here",
        _ => return None,
    })
}

/// The token bucket of words.
fn bucket(given: &Settings) -> Result<Bucket, String> {
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
    })
}

/// Adds a class of an htb with its options.
fn class(dump: &mut Dump, head: &Head<'_>, words: &[&str], counters: Option<Counters>) {
    use crate::values::{rate, size};
    if dump.classes.len() >= MOST {
        return dump.problem(
            head.line,
            "class",
            format!("more than {MOST} classes: give fewer devices at a time"),
            false,
        );
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
        counters,
    };
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let known =
            ["rate", "ceil", "burst", "buffer", "cburst", "cbuffer", "quantum", "prio"].contains(&word);
        let passed = ["leaf", "overhead", "mpu", "mtu", "linklayer", "level", "bands"].contains(&word);
        if !known && !passed {
            dump.problem(head.line, word, "no word of htb's classes that is known here, and left out", false);
            continue;
        }
        let Some(value) = words.next() else {
            return dump.problem(head.line, word, "needs a value behind it, and the line ends there", true);
        };
        // tc -d prints the cell, as in burst 1600b/1.
        let value = value.split('/').next().unwrap_or(value);
        let read = match word {
            "rate" => rate(value).map(|rate| class.rate = rate),
            "ceil" => rate(value).map(|rate| class.ceil = Some(rate)),
            "burst" | "buffer" => size(value).map(|bytes| class.burst = Some(Bytes::new(bytes))),
            "cburst" | "cbuffer" => size(value).map(|bytes| class.cburst = Some(Bytes::new(bytes))),
            "quantum" => size(value).map(|bytes| class.quantum = Some(Bytes::new(bytes))),
            "prio" => value.parse().ok().map(|priority| class.priority = priority),
            "leaf" | "level" => Some(()),
            _ => {
                dump.problem(
                    head.line,
                    word,
                    format!("{} is left out: add it to the size of packets", cut(value)),
                    false,
                );
                Some(())
            }
        };
        if read.is_none() {
            return dump.problem(head.line, word, format!("\"{}\" is no value of it", cut(value)), true);
        }
    }
    if class.rate.bps() == 0 {
        return dump.problem(head.line, "htb", "a class needs a rate, such as rate 18mbit", true);
    }
    dump.classes.push(class);
}
