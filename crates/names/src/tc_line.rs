//! Lines of Linux's `tc`, in the words of scenarios.
//!
//! What a line leaves out is tc's default or the kernel's (iproute2 7.3, Linux 7.2), where that differs from the default
//! here. Which values tc gives the kernel was seen in the messages that it sends.

use quell_aqm::catalog;
use quell_aqm::params::ParamDoc;
use quell_aqm::tc::{self, Answer};
use quell_units::text::cut;

use crate::likeness::{nearest, plain};

/// Words that are read of a line; the others are counted.
const MOST_WORDS: usize = 256;

/// Defaults of tc or the kernel where a line says nothing: the algorithm, the key, and its value.
#[rustfmt::skip]
const DEFAULTS: &[(&str, &[(&str, &str)])] = &[
    ("red", &[("max_p", "0.02"), ("gentle", "false"), ("min_backlog", "0"), ("spacing", "\"one-draw\"")]),
    ("choke", &[("max_p", "0.02"), ("min_backlog", "0"), ("spacing", "\"one-draw\"")]),
    (DUALPI2, &[
        ("update_interval", "\"16 ms\""), ("alpha", "0.16015625"), ("beta", "3.19921875"), ("min_th", "\"1 ms\""),
        ("range", "\"0 s\""), ("th_len", "0"), ("th_len_at", "\"enqueue\""), ("c_weight", "0.1"),
        ("signals", "\"random\""), ("min_backlog", "\"4542 B\""), ("limit", "\"3600 s\""),
    ]),
];

const DUALPI2: &str = "dualpi2";

/// Algorithms that mark unless they are told not to.
const MARKING: &[&str] = &["fq-codel", "cake", DUALPI2];

/// Ratio of the longest round-trip time to the typical one, if tc is told one of them.
const TYPICAL_TO_MAX: f64 = 6.0;

/// Translates a line of `tc`, if it is one: an algorithm's name, then its parameters; what `tc qdisc` begins with, and
/// what `tc qdisc show` prints, is passed over.
pub(crate) fn translate(line: &str, names: &[&str]) -> Option<String> {
    let mut words = line.split_whitespace();
    let read: Vec<&str> = words.by_ref().take(MOST_WORDS).collect();
    let unread = words.count();
    let (first, rest) = split(&read)?;
    let same = names.iter().find(|name| plain(name) == plain(first)).map(|name| name.to_string());
    let name = same.or_else(|| nearest(first, names.iter().copied()))?;
    let mut line = Line::new(&name, first, rest);
    line.read();
    line.complete();
    Some(line.say(unread))
}

/// The name of the algorithm and the words after it.
fn split<'a, 'w>(words: &'w [&'a str]) -> Option<(&'a str, &'w [&'a str])> {
    let is_command = matches!(words.first(), Some(&("tc" | "qdisc")));
    let mut rest = words;
    while let (true, [first, more @ ..]) = (is_command, rest) {
        rest = match *first {
            "tc" | "qdisc" | "add" | "replace" | "change" | "link" | "show" => more,
            _ if place(rest) > 0 => &rest[place(rest)..],
            _ => break,
        };
    }
    let [name, rest @ ..] = rest else { return None };
    let mut rest = rest;
    while place(rest) > 0 {
        rest = &rest[place(rest)..];
    }
    // A name alone is none of a line.
    (is_command || !rest.is_empty()).then_some((*name, rest))
}

/// The number of words that say where a queue is: a device, a place in the tree, a handle.
fn place(words: &[&str]) -> usize {
    match words {
        ["dev" | "parent" | "handle" | "refcnt", _, ..] => 2,
        ["root", ..] => 1,
        [handle, ..]
            if handle.strip_suffix(':').is_some_and(|h| h.chars().all(|c| c.is_ascii_hexdigit())) =>
        {
            1
        }
        _ => 0,
    }
}

/// A key with its value, and the word that it comes from.
struct Key<'a> {
    word: &'a str,
    key: String,
    value: String,
}

/// A line on its way into the words of scenarios.
struct Line<'a> {
    name: &'a str,
    /// The algorithm as the line has it.
    written: &'a str,
    parameters: Vec<ParamDoc>,
    words: Vec<(&'a str, Option<&'a str>)>,
    keys: Vec<Key<'a>>,
    of_the_link: Vec<Key<'a>>,
    remarks: Vec<String>,
    others: Vec<&'a str>,
}

impl<'a> Line<'a> {
    fn new(name: &'a str, written: &'a str, rest: &[&'a str]) -> Self {
        let parameters = catalog::find(name).map_or(Vec::new(), |entry| (entry.params)());
        let mut words = Vec::new();
        let mut rest = rest.iter().copied().peekable();
        while let Some(word) = rest.next() {
            let value = rest.next_if(|next| next.starts_with(|c: char| c.is_ascii_digit() || c == '.'));
            words.push((word, value));
        }
        let (keys, of_the_link) = (Vec::new(), Vec::new());
        Line { name, written, parameters, words, keys, of_the_link, remarks: Vec::new(), others: Vec::new() }
    }

    /// Translates word by word. Of a word that comes again the last one counts, as it does for tc.
    fn read(&mut self) {
        let words = std::mem::take(&mut self.words);
        for (i, &(word, value)) in words.iter().enumerate() {
            let count = words.iter().filter(|(other, _)| *other == word).count();
            if words[i + 1..].iter().any(|(other, _)| *other == word) {
                continue;
            }
            if count > 1 {
                self.remarks.push(format!("{} comes {count} times, and the last one counts", cut(word)));
            }
            self.word(word, value);
        }
        self.words = words;
        self.words.reverse();
    }

    /// The value of a word, as it counts.
    fn value(&self, word: &str) -> Option<&'a str> {
        self.words.iter().find(|(other, _)| *other == word)?.1
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|(other, _)| *other == word)
    }

    fn word(&mut self, word: &'a str, value: Option<&'a str>) {
        let own: Vec<&str> = self.parameters.iter().map(|p| p.name).collect();
        let parameter = self.parameters.iter().find(|p| p.name == word);
        match (word, value) {
            // tc's limit is of all that waits; of RED, and of a FIFO in bytes, it is in bytes.
            ("limit", Some(value)) => {
                let in_bytes = self.name == "red" || plain(self.written) == "bfifo";
                let kind = if in_bytes { Kind::Size } else { Kind::Packets };
                match kind.ours(value, "") {
                    Some(size) => self.set_link(word, "buffer", size),
                    None => self.others.push(word),
                }
            }
            ("max_rtt" | "typical_rtt", Some(_)) if self.name == DUALPI2 => {}
            // tc's divisor is the number of queues; its flows are those that may be active.
            ("flows", Some(_)) if self.name == "sfq" => self.answered(word, "active = 128", value, false),
            ("avpkt" | "burst" | "bandwidth", Some(_)) if self.has_average() => {}
            _ => match (parameter, value) {
                (Some(parameter), Some(value)) => {
                    let kind = Kind::of_unit(parameter.unit);
                    let sixteenths =
                        matches!(word, "alpha" | "beta") && ["pie", "fq-pie"].contains(&self.name);
                    let bare = if word == "perturb" { "s" } else { "us" };
                    let ours = match value.parse::<f64>() {
                        Ok(n) if sixteenths => Some((n / 16.0).to_string()),
                        _ => kind.ours(value, bare),
                    };
                    match ours {
                        Some(value) => self.set(word, word, value),
                        None => self.others.push(word),
                    }
                }
                _ => match tc::answer(word, &own) {
                    Some(Answer::Write(text)) => self.answered(word, text, value, false),
                    Some(Answer::Link(text)) => self.answered(word, text, value, true),
                    Some(Answer::Says(reason)) => self.remarks.push(format!("{word}: {reason}")),
                    None => self.others.push(word),
                },
            },
        }
    }

    /// The answer to a word of `tc`, with the value that it had in the place of the example's.
    fn answered(&mut self, word: &'a str, answer: &str, value: Option<&str>, of_the_link: bool) {
        // Shares are given in percent.
        let percent = matches!(word, "classic_protection" | "ecn_prob");
        let bare = if matches!(word, "rehash" | "db") { "ms" } else { "us" };
        for (i, part) in answer.split(", ").enumerate() {
            let Some((key, example)) = part.split_once(" = ") else { continue };
            let ours = match value.filter(|_| i == 0) {
                None => Some(example.to_string()),
                Some(value) => match value.trim_end_matches('%').parse::<f64>() {
                    Ok(x) if percent => Some((x / 100.0).to_string()),
                    _ => Kind::of_example(example).ours(value, bare),
                },
            };
            match ours {
                None => return self.others.push(word),
                Some(ours) if of_the_link => self.set_link(word, key, ours),
                Some(ours) => self.set(word, key, ours),
            }
        }
    }

    fn set(&mut self, word: &'a str, key: &str, value: String) {
        self.keys.retain(|old| old.key != key);
        self.keys.push(Key { word, key: key.to_string(), value });
    }

    fn set_link(&mut self, word: &'a str, key: &str, value: String) {
        let other = self.of_the_link.iter().find(|old| old.key == key && key == "buffer" && old.word != word);
        if other.is_some() {
            self.remarks.push(format!(
                "a buffer has one size here, in packets or in bytes: buffer = {value} is left out"
            ));
            return;
        }
        self.of_the_link.retain(|old| old.key != key);
        self.of_the_link.push(Key { word, key: key.to_string(), value });
    }

    /// True if tc computes the weight of an average from other words.
    fn has_average(&self) -> bool {
        ["red", "choke"].contains(&self.name)
    }

    /// What tc computes from several words, and what it and the kernel have where the line says nothing.
    fn complete(&mut self) {
        if self.has_average() {
            self.average();
        }
        if self.name == DUALPI2 {
            self.round_trips();
        }
        if self.has_average() && self.has("ecn") {
            let forced = if self.has("harddrop") { "drop" } else { "mark" };
            self.set("ecn", "forced", format!("\"{forced}\""));
        }
        let mut unsaid = Vec::new();
        let gains = self.has("max_rtt") || self.has("typical_rtt");
        let defaults = DEFAULTS.iter().find(|(name, _)| *name == self.name).map_or(&[][..], |(_, all)| all);
        for (key, value) in defaults {
            let of_gains = matches!(*key, "update_interval" | "alpha" | "beta");
            if self.keys.iter().all(|k| k.key != *key) && !(gains && of_gains) {
                self.set("", key, value.to_string());
                unsaid.push(*key);
            }
        }
        if MARKING.contains(&self.name) && self.of_the_link.iter().all(|k| k.key != "ecn") {
            self.set_link("", "ecn", "true".to_string());
            unsaid.push("ecn");
        }
        if !unsaid.is_empty() {
            self.remarks.push(format!(
                "of these the line does not say {}: so tc and the kernel have it",
                unsaid.join(", ")
            ));
        }
    }

    /// The thresholds and the weight of the average: the largest 2^-n that lets a burst pass.
    fn average(&mut self) {
        let in_bytes = self.name == "red";
        let number = |word: &str| {
            let value = self.value(word)?;
            if in_bytes && word != "burst" { bytes(value) } else { value.trim_end_matches('p').parse().ok() }
        };
        let avpkt = if in_bytes { number("avpkt").unwrap_or(1000.0) } else { 1.0 };
        let (min, max, limit) = (number("min"), number("max"), number("limit"));
        let max_th = max.or(min.map(|min| 3.0 * min)).or(limit.map(|limit| (limit / 4.0).floor()));
        let Some(max_th) = max_th else { return };
        let min_th = min.unwrap_or((max_th / 3.0).floor());
        let burst = number("burst").unwrap_or(((2.0 * min_th + max_th) / (3.0 * avpkt)).floor());
        let unit = if in_bytes { "B" } else { "packets" };
        for (word, key, given, value) in [("min", "min_th", min, min_th), ("max", "max_th", max, max_th)] {
            if given.is_none() {
                self.set(word, key, format!("\"{value} {unit}\""));
                self.remarks.push(format!("{word} is not in the line: {value} {unit} is what tc computes"));
            }
        }
        match weight(min_th / avpkt, burst) {
            Some(weight) => {
                self.set("burst", "weight", weight.to_string());
                self.remarks.push(format!(
                    "weight: tc's from a burst of {burst} packets, a min of {} of them",
                    quell_units::text::three_digits(min_th / avpkt)
                ));
            }
            None => self.remarks.push(format!(
                "burst: {burst} is less than min / avpkt, which tc refuses: give at least {}",
                (min_th / avpkt).ceil() + 1.0
            )),
        }
    }

    /// The target and the longest round-trip time, from which the gains follow here as for tc.
    fn round_trips(&mut self) {
        let us = |line: &Self, word: &str| line.value(word).and_then(microseconds);
        let (max, typical) = (us(self, "max_rtt"), us(self, "typical_rtt"));
        for (word, read) in [("max_rtt", max), ("typical_rtt", typical)] {
            if self.has(word) && read.is_none() {
                self.others.push(word);
            }
        }
        let Some(target) = typical.or(max.map(|max| (max / TYPICAL_TO_MAX).floor().max(1.0))) else { return };
        let max = max.unwrap_or(target * TYPICAL_TO_MAX);
        let void: Vec<&str> =
            ["target", "tupdate", "alpha", "beta"].into_iter().filter(|word| self.has(word)).collect();
        if !void.is_empty() {
            self.remarks
                .push(format!("{}: tc ignores it if max_rtt or typical_rtt is given", void.join(", ")));
            self.keys.retain(|key| !void.contains(&key.word));
        }
        self.set("typical_rtt", "target", format!("\"{}\"", time(target)));
        self.set("max_rtt", "rtt_max", format!("\"{}\"", time(max)));
    }

    fn say(self, unread: usize) -> String {
        let mut text = format!("a line of tc's; write algorithm = \"{}\"", self.name);
        for Key { key, value, .. } in &self.keys {
            text.push_str(&format!(", {key} = {value}"));
        }
        if !self.of_the_link.is_empty() {
            let keys = self.of_the_link.iter().map(|Key { key, value, .. }| format!("{key} = {value}"));
            text.push_str(&format!(", and in the link's table {}", keys.collect::<Vec<_>>().join(", ")));
        }
        for remark in self.remarks {
            text.push_str(&format!("; {remark}"));
        }
        if !self.others.is_empty() {
            let name = self.name;
            let others: Vec<String> = self.others.iter().map(|word| cut(word).to_string()).collect();
            text.push_str(&format!("; for \"{}\" see `quell aqm describe {name}`", others.join(" ")));
        }
        if unread > 0 {
            text.push_str(&format!("; {unread} more words were not read"));
        }
        text
    }
}

/// The largest 2^-n with which a burst of packets raises an average from nothing to no more than `min` packets:
/// `burst + 1 - min <= (1 - (1 - w)^burst) / w`. None if `min` exceeds the burst.
fn weight(min: f64, burst: f64) -> Option<f64> {
    let over = burst + 1.0 - min;
    let reaches = |w: &f64| over <= (1.0 - libm::pow(1.0 - w, burst)) / w;
    (over >= 1.0).then(|| (1..32).map(|n| libm::ldexp(1.0, -n)).find(reaches)).flatten()
}

/// A time in microseconds, in the largest unit that needs no fraction.
fn time(us: f64) -> String {
    match us {
        _ if us % 1e6 == 0.0 => format!("{} s", us / 1e6),
        _ if us % 1e3 == 0.0 => format!("{} ms", us / 1e3),
        _ => format!("{us} us"),
    }
}

/// A time of tc's in microseconds.
fn microseconds(value: &str) -> Option<f64> {
    let (number, unit) = number_and_unit(value);
    let factor = match unit.as_str() {
        "" | "us" | "usec" | "usecs" => 1.0,
        "ms" | "msec" | "msecs" => 1e3,
        "s" | "sec" | "secs" => 1e6,
        _ => return None,
    };
    Some((number.parse::<f64>().ok()? * factor).round())
}

/// A size of tc's in bytes: its k is 1024.
fn bytes(value: &str) -> Option<f64> {
    let (number, unit) = number_and_unit(value);
    let factor = match unit.as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1024.0 * 1024.0,
        "g" | "gb" => 1024.0 * 1024.0 * 1024.0,
        "kbit" => 1024.0 / 8.0,
        "mbit" => 1024.0 * 1024.0 / 8.0,
        "gbit" => 1024.0 * 1024.0 * 1024.0 / 8.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

/// A number and what stands behind it, in small letters.
fn number_and_unit(value: &str) -> (&str, String) {
    let digits = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    (number, unit.to_ascii_lowercase())
}

/// The meaning of a number that `tc` gives, and so its unit here.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Time,
    Size,
    Packets,
    Rate,
    Number,
}

impl Kind {
    /// The meaning of a value that stands as an example: `"16 ms"`, `0.1`.
    fn of_example(value: &str) -> Kind {
        let unit = value.trim_matches('"').rsplit(' ').next().unwrap_or("");
        match unit {
            _ if !value.starts_with('"') => Kind::Number,
            "s" | "ms" | "us" => Kind::Time,
            "packets" => Kind::Packets,
            unit if unit.ends_with("bit/s") => Kind::Rate,
            _ => Kind::Size,
        }
    }

    /// The meaning of a parameter, by its unit.
    fn of_unit(unit: &str) -> Kind {
        match unit {
            "s" => Kind::Time,
            "bytes" | "packets or bytes" => Kind::Size,
            "bit/s" => Kind::Rate,
            _ => Kind::Number,
        }
    }

    /// A value of `tc` in our words, if it is one; `bare` is the unit of times that have none.
    fn ours(self, value: &str, bare: &str) -> Option<String> {
        let (number, unit) = number_and_unit(value);
        let of = |x: f64, unit: &str| Some(format!("\"{x} {unit}\""));
        let x: f64 = number.parse().ok()?;
        let unit = match (self, unit.as_str()) {
            (Kind::Time, "") => bare,
            (Kind::Time, "us" | "usec" | "usecs") => "us",
            (Kind::Time, "ms" | "msec" | "msecs") => "ms",
            (Kind::Time, "s" | "sec" | "secs") => "s",
            (Kind::Size, "" | "b") => "B",
            (Kind::Size, "k" | "kb") => "KiB",
            (Kind::Size, "m" | "mb") => "MiB",
            (Kind::Size, _) => return of(bytes(value)?, "B"),
            (Kind::Packets, "" | "p") => "packets",
            (Kind::Rate, "" | "bit") => "bit/s",
            (Kind::Rate, "kbit") => "kbit/s",
            (Kind::Rate, "mbit") => "Mbit/s",
            (Kind::Rate, "gbit") => "Gbit/s",
            (Kind::Rate, "tbit") => "Tbit/s",
            (Kind::Rate, "kibit") => return of(x * 1024.0, "bit/s"),
            (Kind::Rate, "mibit") => return of(x * 1024.0 * 1024.0, "bit/s"),
            (Kind::Rate, "gibit") => return of(x * 1024.0 * 1024.0 * 1024.0, "bit/s"),
            // Bytes, whatever most people mean by them.
            (Kind::Rate, "bps") => return of(x * 8.0, "bit/s"),
            (Kind::Rate, "kbps") => return of(x * 8.0, "kbit/s"),
            (Kind::Rate, "mbps") => return of(x * 8.0, "Mbit/s"),
            (Kind::Rate, "gbps") => return of(x * 8.0, "Gbit/s"),
            (Kind::Number, "") => return Some(number.into()),
            _ => return None,
        };
        Some(format!("\"{number} {unit}\""))
    }
}
