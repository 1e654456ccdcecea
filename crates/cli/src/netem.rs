//! Lines of Linux's netem as the keys of a link.

use std::fmt::Write as _;

use quell_units::text::cut;
use quell_units::{BitRate, Duration};

use crate::failure::{Failure, unknown_name};

/// The options, in the order in which tc looks for those that begin with a word.
const OPTIONS: [&str; 17] = [
    "limit",
    "latency",
    "delay",
    "loss",
    "drop",
    "seed",
    "ecn",
    "reorder",
    "corrupt",
    "gap",
    "duplicate",
    "distribution",
    "rate",
    "packetoverhead",
    "cellsize",
    "celloverhead",
    "slot",
];

const DISTRIBUTIONS: [&str; 4] = ["uniform", "normal", "pareto", "paretonormal"];

/// The options of a line, as a link has them.
#[derive(Debug, Default)]
pub struct Netem {
    rate: Option<BitRate>,
    delay: Option<Duration>,
    jitter: Option<Duration>,
    distribution: Option<&'static str>,
    loss: Loss,
    corrupt: f64,
    duplicate: f64,
    reorder: bool,
    gap: bool,
    /// It is a line of `tc qdisc show`.
    shown: bool,
    /// What a link cannot do, and is left out.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Loss {
    #[default]
    None,
    Random(f64),
    Chain {
        p: f64,
        r: f64,
        good_loss: f64,
        bad_loss: f64,
    },
}

/// The words of a line that are still to be read.
struct Words<'a>(std::iter::Peekable<std::vec::IntoIter<&'a str>>);

impl<'a> Words<'a> {
    /// The next word if it is a number, with or without a unit.
    fn number(&mut self) -> Option<&'a str> {
        self.0.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    }

    /// The number that an option must have.
    fn value(&mut self, option: &str) -> Result<&'a str, Failure> {
        self.number().ok_or_else(|| bad_input!("{option}: needs a number after it"))
    }

    fn share(&mut self, option: &str) -> Result<f64, Failure> {
        share(option, self.value(option)?)
    }

    fn share_if_any(&mut self, option: &str) -> Result<Option<f64>, Failure> {
        self.number().map(|text| share(option, text)).transpose()
    }

    /// Passes over the name of a parameter of losses, which tc qdisc show prints in this order.
    fn skip_name(&mut self, names: &[&str], place: usize) -> Result<(), Failure> {
        let known = ["p", "r", "1-h", "1-k", "p13", "p31", "p32", "p23", "p14"];
        let Some(name) = self.0.next_if(|word| known.contains(word)) else { return Ok(()) };
        if names.get(place) == Some(&name) {
            return Ok(());
        }
        Err(bad_input!("loss: {name} is at the wrong place; tc's order is {}", names.join(", ")))
    }
}

impl Netem {
    /// Reads options, or a whole line of tc.
    ///
    /// # Errors
    /// Names the option that is wrong, or that is none.
    pub fn read(line: &str) -> Result<Netem, Failure> {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        if line.trim_start().starts_with(['[', '{']) {
            return Err(bad_input!("the line is JSON; leave -j out of tc -j qdisc show"));
        }
        let mut netem = Netem::default();
        if let Some(place) = words.iter().position(|word| *word == "netem") {
            if let Some(verb) = words[..place].iter().find(|word| ["del", "delete"].contains(word)) {
                return Err(bad_input!("tc qdisc {verb} removes a queue; give the line that adds it"));
            }
            let before = &words[..place];
            let is_shell = |word: &&&str| word.contains(['&', ';', '|']);
            let second = before.iter().filter(|word| **word == "qdisc").nth(1);
            if let Some(word) = before.iter().find(is_shell).or(second) {
                return Err(bad_input!("{}: give one line of netem, and nothing before it", cut(word)));
            }
            // A line of tc qdisc show begins so.
            netem.shown = words[0] == "qdisc";
            words.drain(..=place);
        } else if let Some(&word @ ("tc" | "sudo" | "qdisc")) = words.first() {
            return Err(bad_input!("a line that begins with {word} must contain netem and its options"));
        } else if words.is_empty() {
            return Err(bad_input!("the line is empty; give options of netem, as in 'delay 50ms loss 1%'"));
        }
        if let Some(word) = words.iter().find(|word| is_of_another(word)) {
            return Err(bad_input!("{}: give one line of netem, and nothing after its options", cut(word)));
        }
        // tc qdisc show prints the place of the queue here.
        while let [first, ..] = words[..] {
            let more = match first {
                "root" => 1,
                "dev" | "parent" | "handle" | "refcnt" => 2,
                handle if handle.ends_with(':') => 1,
                _ => break,
            };
            words.drain(..more.min(words.len()));
        }
        let mut words = Words(words.into_iter().peekable());
        while let Some(word) = words.0.next() {
            netem.option(word, &mut words)?;
        }
        netem.complete()?;
        Ok(netem)
    }

    fn option(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), Failure> {
        let Some(option) = OPTIONS.into_iter().find(|option| option.starts_with(word)) else {
            return Err(unknown_name("option of netem", word, OPTIONS));
        };
        match option {
            "delay" | "latency" => {
                self.delay = Some(time(option, words.value(option)?)?);
                self.jitter = words.number().map(|text| time(option, text)).transpose()?;
                if words.share_if_any(option)?.is_some_and(|correlation| correlation > 0.0) {
                    self.note("delay: the correlation is left out, because Linux loses it");
                }
            }
            "distribution" => {
                let name = words.0.next().unwrap_or_default();
                let known = DISTRIBUTIONS.into_iter().find(|known| *known == name);
                self.distribution =
                    Some(known.ok_or_else(|| unknown_name("distribution", name, DISTRIBUTIONS))?);
            }
            "loss" | "drop" => self.loss(words)?,
            "duplicate" => {
                self.duplicate = words.share(option)?;
                self.correlation(option, words)?;
            }
            "corrupt" => {
                self.corrupt = words.share(option)?;
                self.correlation(option, words)?;
                self.note("corrupt: counts as loss, because receivers drop packets that are corrupted");
            }
            "rate" => {
                self.rate = Some(rate(words.value(option)?)?);
                let mut more = 0;
                while words.0.next_if(is_signed).is_some() {
                    more += 1;
                }
                if more > 0 {
                    self.note(OVERHEAD);
                }
            }
            "packetoverhead" | "cellsize" | "celloverhead" => {
                let value = words.0.next_if(is_signed);
                value.ok_or_else(|| bad_input!("{option}: needs a number after it"))?;
                self.note(OVERHEAD);
            }
            "limit" => {
                words.value(option)?;
                self.note(
                    "limit: left out, because it also counts the packets that netem delays; buffer is the queue in front of \
                     the wire",
                );
            }
            "reorder" => {
                self.reorder = words.share(option)? > 0.0;
                self.correlation(option, words)?;
                self.note("reorder: left out; here only jitter lets packets overtake each other");
            }
            "gap" => {
                words.value(option)?;
                self.gap = true;
            }
            "seed" => {
                words.value(option)?;
                self.note("seed: left out; the seeds of a scenario are its own");
            }
            "ecn" => self.note("ecn: left out; the wire loses packets that netem would mark"),
            "slot" => {
                if words.0.next_if(|word| *word == "distribution").is_some() {
                    words.0.next();
                }
                words.value(option)?;
                words.number();
                while words.0.next_if(|word| ["packets", "bytes"].contains(word)).is_some() {
                    words.value(option)?;
                }
                self.note("slot: left out; the nearest to it is a rate that changes");
            }
            other => return Err(bad_input!("{other}: is not read")),
        }
        Ok(())
    }

    fn loss(&mut self, words: &mut Words<'_>) -> Result<(), Failure> {
        let model = words.0.next_if(|word| ["random", "state", "gemodel"].contains(word)).unwrap_or("random");
        let names: &[&str] = match model {
            "gemodel" => &["p", "r", "1-h", "1-k"],
            "state" => &["p13", "p31", "p32", "p23", "p14"],
            _ => &[],
        };
        words.skip_name(names, 0)?;
        let p = words.share("loss")?;
        if model == "random" {
            self.loss = Loss::Random(p);
            return self.correlation("loss", words);
        }
        let mut more = Vec::new();
        words.skip_name(names, 1)?;
        while more.len() + 1 < names.len()
            && let Some(x) = words.share_if_any("loss")?
        {
            more.push(x);
            words.skip_name(names, more.len() + 1)?;
        }
        // The 4-state chain without its states 2 and 4 is the one of two states.
        if model == "state" && [(1, 0.0), (3, 0.0)].iter().any(|(i, x)| more.get(*i).is_some_and(|y| y != x))
        {
            self.note("loss state: p32, p23 and p14 are left out; a chain here has two states");
        }
        let (r, rest) = more.split_first().map_or((None, &[][..]), |(r, rest)| (Some(*r), rest));
        let rest = if model == "state" { &[][..] } else { rest };
        let (bad_loss, good_loss) = (rest.first().copied(), rest.get(1).copied());
        self.loss = match r {
            // tc makes r of it, 1 - p, so that packets are lost independently.
            None => Loss::Random(p),
            Some(r) => {
                let (good_loss, bad_loss) = (good_loss.unwrap_or(0.0), bad_loss.unwrap_or(1.0));
                Loss::Chain { p, r, good_loss, bad_loss }
            }
        };
        Ok(())
    }

    /// Reads a correlation, which links do not have.
    fn correlation(&mut self, option: &str, words: &mut Words<'_>) -> Result<(), Failure> {
        if words.share_if_any(option)?.is_some_and(|correlation| correlation > 0.0) {
            let instead =
                if option == "loss" { "; for bursts, write loss = { mean = 0.01, burst = 5 }" } else { "" };
            self.note(&format!("{option}: the correlation is left out{instead}"));
        }
        Ok(())
    }

    /// Refuses what no link can be, and puts together what belongs together.
    fn complete(&mut self) -> Result<(), Failure> {
        let delay = self.delay.unwrap_or_default();
        if self.reorder && delay.is_zero() {
            return Err(bad_input!(
                "reorder: needs a delay, as in delay 10ms reorder 25%; tc refuses it without one, too"
            ));
        }
        if self.gap && !self.reorder {
            return Err(bad_input!(
                "gap: needs reorder, as in delay 10ms reorder 25% gap 5; tc refuses it without, too"
            ));
        }
        self.jitter = self.jitter.filter(|jitter| !jitter.is_zero());
        match self.jitter {
            Some(jitter) if jitter > delay => {
                return Err(bad_input!(
                    "delay: the jitter ({jitter}) must be at most the delay ({delay}), because no packet arrives before it \
                     is sent; lower it, or raise the delay"
                ));
            }
            None if self.distribution.is_some() => {
                return Err(bad_input!(
                    "distribution: needs jitter, as in delay 50ms 10ms distribution normal; add jitter, or leave it out"
                ));
            }
            Some(_) if self.reorders() => self.note(
                "jitter: packets overtake each other, as in netem; reno, newreno and sack take that for losses, but \
                 recovery = \"rack\" (part of dialect = \"linux\") does not",
            ),
            Some(_) => self.note("jitter: packets stay in order, as in netem with a rate"),
            None => {}
        }
        if self.shown && self.jitter.is_some() && self.distribution.is_none() {
            self.note(
                "distribution: tc qdisc show does not print it; if the line that made the queue has one, add distribution and \
                 its name",
            );
        }
        let both = |loss: f64| rounded(1.0 - (1.0 - loss) * (1.0 - self.corrupt));
        self.loss = match self.loss {
            Loss::None if self.corrupt > 0.0 => Loss::Random(self.corrupt),
            Loss::None => Loss::None,
            Loss::Random(p) => Loss::Random(both(p)),
            Loss::Chain { r: 0.0, .. } => {
                return Err(bad_input!(
                    "loss: r = 0% never leaves the bad state; give a higher one, as in loss gemodel 1% 20%"
                ));
            }
            Loss::Chain { p, r, good_loss, bad_loss } => {
                Loss::Chain { p, r, good_loss: both(good_loss), bad_loss: both(bad_loss) }
            }
        };
        let certain = match self.loss {
            Loss::Random(p) | Loss::Chain { good_loss: p, .. } if p >= 1.0 => Some("loss"),
            _ if self.duplicate >= 1.0 => Some("duplicate"),
            _ => None,
        };
        if let Some(option) = certain {
            return Err(bad_input!("{option}: must be below 100%, which is no link"));
        }
        Ok(())
    }

    /// Says whether packets overtake each other: with a rate, each waits for the one before it.
    fn reorders(&self) -> bool {
        self.jitter.is_some() && self.rate.is_none()
    }

    fn note(&mut self, text: &str) {
        if self.notes.iter().all(|note| note != text) {
            self.notes.push(text.into());
        }
    }

    /// The keys of a link.
    pub fn toml(&self) -> String {
        let mut text = String::new();
        let mut back = Vec::new();
        if let Some(rate) = self.rate {
            let _ = writeln!(text, "rate = \"{rate}\"");
        }
        if let Some(delay) = self.delay {
            let _ = writeln!(text, "delay = \"{delay}\"");
            back.push("delay = \"0 s\"");
        }
        if let Some(jitter) = self.jitter {
            let distribution = self.distribution.filter(|name| *name != "uniform");
            let distribution =
                distribution.map_or(String::new(), |name| format!(", distribution = \"{name}\""));
            let reorder = if self.reorders() { ", reorder = true" } else { "" };
            let _ = writeln!(text, "jitter = {{ size = \"{jitter}\"{distribution}{reorder} }}");
            back.push("jitter = { size = \"0 s\" }");
        }
        match self.loss {
            Loss::Random(p) if p > 0.0 => {
                let _ = writeln!(text, "loss = {p}");
            }
            Loss::Chain { p, r, good_loss, bad_loss } => {
                let good = if good_loss > 0.0 { format!(", good_loss = {good_loss}") } else { String::new() };
                let bad = if bad_loss < 1.0 { format!(", bad_loss = {bad_loss}") } else { String::new() };
                let _ = writeln!(text, "loss = {{ gilbert_elliott = {{ p = {p}, r = {r}{good}{bad} }} }}");
            }
            _ => {}
        }
        if text.contains("loss = ") {
            back.push("loss = 0");
        }
        if self.duplicate > 0.0 {
            let _ = writeln!(text, "duplicate = {}", self.duplicate);
            back.push("duplicate = 0");
        }
        if !back.is_empty() {
            let _ = writeln!(text, "# netem works in one direction.\nreverse = {{ {} }}", back.join(", "));
        }
        text
    }
}

const OVERHEAD: &str = "rate: the overhead of packets and cells is left out; add it to the size of packets";

/// Says whether this word is a number that may be negative.
fn is_signed(word: &&str) -> bool {
    word.strip_prefix('-').unwrap_or(word).parse::<u32>().is_ok()
}

/// Says whether a word belongs to a shell, to another queue or to the counts of `tc -s`, and not to options of netem.
fn is_of_another(word: &str) -> bool {
    let words = ["tc", "sudo", "qdisc", "netem", "Sent", "\\"];
    words.contains(&word) || word.starts_with('#') || word.contains(['|', '&', ';', '>', '<', '$', '`'])
}

/// A share of 1 without the digits that arithmetic leaves behind: tc keeps 32 bits.
fn rounded(x: f64) -> f64 {
    (x * 1e12).round() / 1e12
}

/// A percentage, as tc reads it: 1% is also 1.
fn share(option: &str, text: &str) -> Result<f64, Failure> {
    match text.strip_suffix('%').unwrap_or(text).parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(rounded(percent / 100.0)),
        _ => Err(bad_input!("{option}: \"{}\" must be a percentage from 0 to 100, such as 1%", cut(text))),
    }
}

/// A time, as tc reads it.
fn time(option: &str, text: &str) -> Result<Duration, Failure> {
    let (number, unit) = split(text);
    let nanos = match unit.to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" => 1e9,
        "ms" | "msec" | "msecs" => 1e6,
        "us" | "usec" | "usecs" => 1e3,
        "ns" | "nsec" | "nsecs" => 1.0,
        "" if number.parse() == Ok(0.0) => 1.0,
        "" if number.parse::<f64>().is_ok() => {
            return Err(bad_input!(
                "{option}: \"{}\" needs a unit, such as 50ms, because versions of tc differ: microseconds, then \
                 nanoseconds",
                cut(text)
            ));
        }
        _ => f64::NAN,
    };
    match number.parse::<f64>().map(|n| n * nanos) {
        Ok(nanos) if (0.0..=3.6e12).contains(&nanos) => Ok(Duration::from_nanos(nanos.round() as u64)),
        _ => Err(bad_input!(
            "{option}: \"{}\" must be a time of at most an hour with a unit, such as 50ms",
            cut(text)
        )),
    }
}

/// A rate, as tc reads it.
fn rate(text: &str) -> Result<BitRate, Failure> {
    let rate = quell_tc::rate(text).filter(|rate| rate.bps() > 0);
    rate.ok_or_else(|| bad_input!("rate: \"{}\" must be a rate, such as 10mbit", cut(text)))
}

/// A number, with an exponent if it has one, and its unit.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_ascii_alphabetic() || c == '%').unwrap_or(text.len());
    let exponent = text[end..].strip_prefix(['e', 'E']).map(|rest| {
        let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        let signs = rest.len() - digits.len();
        (signs, digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()))
    });
    match exponent {
        Some((signs, digits)) if digits > 0 => text.split_at(end + 1 + signs + digits),
        _ => text.split_at(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml(line: &str) -> String {
        match Netem::read(line) {
            Ok(netem) => netem.toml(),
            Err(e) => panic!("{line}: {e:?}"),
        }
    }

    #[test]
    fn each_option_becomes_its_key() {
        for (line, keys) in [
            (
                "delay 50ms",
                "delay = \"50 ms\"\n# netem works in one direction.\nreverse = { delay = \"0 s\" }\n",
            ),
            ("delay 50ms 10ms", "jitter = { size = \"10 ms\", reorder = true }\n"),
            (
                "latency 0.05s 10msec 25%",
                "delay = \"50 ms\"\njitter = { size = \"10 ms\", reorder = true }\n",
            ),
            ("delay 50ms 10ms distribution normal", "distribution = \"normal\", reorder = true }\n"),
            ("delay 50ms 10ms dist uniform", "jitter = { size = \"10 ms\", reorder = true }\n"),
            ("delay 50ms 10ms rate 10mbit", "delay = \"50 ms\"\njitter = { size = \"10 ms\" }\n"),
            ("rate 1.5MBps", "rate = \"12 Mbit/s\"\n"),
            ("rate 10Mibit 20 0 4", "rate = \"10.48576 Mbit/s\"\n"),
            ("loss 1%", "loss = 0.01\n# netem works in one direction.\nreverse = { loss = 0 }\n"),
            ("loss 0.7", "loss = 0.007\n"),
            ("loss random 0.3% 25%", "loss = 0.003\n"),
            ("loss gemodel 1%", "loss = 0.01\n"),
            ("loss state 1%", "loss = 0.01\n"),
            ("loss gemodel 1% 20%", "loss = { gilbert_elliott = { p = 0.01, r = 0.2 } }\n"),
            ("loss state 1% 20%", "loss = { gilbert_elliott = { p = 0.01, r = 0.2 } }\n"),
            ("loss gemodel 1% 20% 70% 0.1%", "p = 0.01, r = 0.2, good_loss = 0.001, bad_loss = 0.7 } }\n"),
            ("corrupt 1%", "loss = 0.01\n"),
            ("loss 10% corrupt 10%", "loss = 0.19\n"),
            ("loss gemodel 1% 20% corrupt 5%", "r = 0.2, good_loss = 0.05 } }\n"),
            (
                "duplicate 1%",
                "duplicate = 0.01\n# netem works in one direction.\nreverse = { duplicate = 0 }\n",
            ),
        ] {
            assert!(toml(line).contains(keys), "{line}:\n{}", toml(line));
        }
    }

    #[test]
    fn whole_lines_and_what_tc_shows_are_read_alike() {
        let options = toml("delay 50ms 10ms loss gemodel 1% 20% 100% 0% duplicate 1%");
        for line in [
            "tc qdisc add dev eth0 root netem delay 50ms 10ms loss gemodel 1% 20% duplicate 1%",
            "sudo tc qdisc change dev eth0 parent 1:1 handle 10: netem delay 50ms 10ms loss gemodel 1 20 dup 1",
            "qdisc netem 8001: root refcnt 2 limit 1000 delay 50ms  10ms loss gemodel p 1% r 20% 1-h 100% 1-k 0% duplicate \
             1% seed 17",
        ] {
            assert_eq!(toml(line), options, "{line}");
        }
        assert_eq!(toml("tc qdisc add dev eth0 root netem"), "");
        assert_eq!(toml("sudo tc qdisc add dev eth0 root netem"), "");
        // tc reads numbers with strtod.
        assert_eq!(toml("delay 1e-3s rate 1e6bit"), toml("delay 1ms rate 1mbit"));
        assert_eq!(
            toml("delay 0 loss 1%"),
            "delay = \"0 s\"\nloss = 0.01\n# netem works in one direction.\nreverse = { delay = \"0 s\", loss = 0 }\n"
        );
    }

    #[test]
    fn what_a_link_cannot_do_is_noted() {
        for (line, part) in [
            ("limit 1000", "limit: left out"),
            ("delay 1ms reorder 25% 50% gap 5", "reorder: left out"),
            ("loss 1% 25%", "loss: the correlation is left out; for bursts"),
            ("duplicate 1% 25%", "duplicate: the correlation is left out"),
            ("delay 5ms 1ms 25%", "delay: the correlation is left out"),
            ("delay 5ms 1ms", "take that for losses"),
            ("delay 5ms 1ms rate 1mbit", "jitter: packets stay in order"),
            ("slot distribution normal 1ms 100us packets 5 loss 1% ecn", "slot: left out"),
            ("loss 1% ecn", "ecn: left out"),
            ("loss state 1% 20% 5% 100% 0.1%", "loss state: p32, p23 and p14 are left out"),
            ("corrupt 1%", "corrupt: counts as loss"),
            ("rate 1mbit -5", "rate: the overhead"),
            ("seed 5 loss 1%", "seed: left out"),
            ("qdisc netem 1: root delay 5ms 1ms", "distribution: tc qdisc show does not print it"),
            ("rate 1mbit packetoverhead 20 cellsize 53 celloverhead -5", "rate: the overhead"),
        ] {
            let notes = Netem::read(line).map(|netem| netem.notes).unwrap_or_default();
            assert!(notes.iter().any(|note| note.contains(part)), "{line}: {notes:?}");
        }
        // What follows a slot is read.
        assert!(toml("slot 800us 1ms bytes 1500 loss 1%").contains("loss = 0.01\n"));
        let once = Netem::read(&"ecn ".repeat(2000)).map(|netem| netem.notes.len()).ok();
        assert_eq!(once, Some(1));
        let silent = Netem::read("rate 1mbit loss 1%").map(|netem| netem.notes.len()).ok();
        assert_eq!(silent, Some(0));
    }

    #[test]
    fn what_is_no_option_or_no_link_is_refused() {
        for (line, part) in [
            (
                "tc qdisc add dev eth0 root tbf rate 1mbit burst 2kb limit 9kb && tc qdisc add dev eth0 parent 1: netem delay 1ms",
                "&&: give one line of netem, and nothing before it",
            ),
            (
                "qdisc tbf 1: root rate 1Mbit burst 2Kb lat 1s\nqdisc netem 10: parent 1:1 delay 10ms",
                "qdisc: give one line of netem, and nothing before it",
            ),
            ("[{\"kind\":\"netem\"}]", "leave -j out"),
            ("deley 50ms", "option of netem \"deley\""),
            ("delay", "delay: needs a number"),
            ("delay fast", "delay: needs a number"),
            ("delay 50", "such as 50ms"),
            ("delay 10ms 50", "such as 50ms"),
            ("delay 5000s", "at most an hour"),
            ("delay 10ms 20ms", "must be at most the delay (10 ms)"),
            ("delay 50ms distribution normal", "distribution: needs jitter"),
            ("delay 50ms 10ms distribution experimental", "distribution \"experimental\""),
            ("delay 50ms 10ms distribution", "distribution \"\""),
            ("loss 101%", "from 0 to 100"),
            ("loss 1%%", "from 0 to 100"),
            ("loss 100%", "must be below 100%"),
            ("duplicate 100%", "must be below 100%"),
            ("loss gemodel 1% 0%", "never leaves the bad state"),
            ("loss bernoulli 1%", "loss: needs a number"),
            ("rate 10mb", "such as 10mbit"),
            ("rate 10%", "such as 10mbit"),
            ("rate 0bit", "such as 10mbit"),
            ("tc qdisc add dev eth0 root fq_codel", "must contain netem"),
            ("loss 1% && ls", "one line of netem"),
            ("loss 1% # home", "one line of netem"),
            (
                "tc qdisc add dev a root netem loss 1%; tc qdisc add dev b root netem loss 2%",
                "one line of netem",
            ),
            ("qdisc netem 1: root limit 1000 loss 1% Sent 0 bytes", "one line of netem"),
            ("tc qdisc del dev eth0 root netem", "removes a queue"),
            ("", "the line is empty"),
            ("delay 50000", "needs a unit"),
            ("delay 10ms gap 5", "gap: needs reorder"),
            ("reorder 25%", "reorder: needs a delay"),
            ("rate 1mbit cellsize", "cellsize: needs a number"),
            ("loss gemodel 1% 20% 1-k 1%", "1-k is at the wrong place"),
            ("loss gemodel 1% 20% 100% 0% 5%", "option of netem \"5%\""),
        ] {
            match Netem::read(line).map(|_| ()) {
                Err(Failure::BadInput(message)) => assert!(message.contains(part), "{line}: {message}"),
                other => panic!("{line}: {other:?}"),
            }
        }
    }
}
