//! The file of sqm-scripts, in OpenWrt's UCI: /etc/config/sqm, or what `uci show sqm` prints.

use quell_units::BitRate;

use super::dump::{Dump, Head, queue};
use crate::Kernel;
use crate::values::{Kind, Value};

/// A section `queue`.
#[derive(Default)]
struct Section<'a> {
    line: usize,
    options: Vec<(usize, String, &'a str)>,
}

impl<'a> Section<'a> {
    fn get(&self, name: &str) -> Option<(usize, &'a str)> {
        self.options.iter().rfind(|(_, key, _)| key == name).map(|(line, _, value)| (*line, *value))
    }
}

/// Options that are read, or that say nothing of a queue.
#[rustfmt::skip]
const KNOWN: &[&str] = &[
    "enabled", "interface", "download", "upload", "qdisc", "script", "linklayer", "overhead", "tcMPU", "tcMTU",
    "tSIZE", "iqdisc_opts", "eqdisc_opts", "ingress_ecn", "egress_ecn", "itarget", "etarget", "ilimit", "elimit",
    "debug_logging", "verbosity",
    "linklayer_advanced", "linklayer_adaptation_mechanism", "qdisc_advanced", "qdisc_really_really_advanced",
];

/// Reads a text.
pub(super) fn read(dump: &mut Dump, text: &str, kernel: Kernel) {
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    let mut in_queue = false;
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        let number = n + 1;
        if let Some(rest) = line.strip_prefix("sqm.") {
            // sqm.eth0.download='95000'
            let Some((key, value)) = rest.split_once('=') else {
                dump.problem(number, line, "has no value: was it cut?", false);
                continue;
            };
            let (name, option) =
                key.rsplit_once('.').map_or((key, None), |(name, option)| (name, Some(option)));
            let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                sections.push(Section { line: number, ..Section::default() });
                names.len() - 1
            });
            if let Some(option) = option {
                sections[at].options.push((number, option.to_string(), unquoted(value)));
            }
            continue;
        }
        let mut words = line.splitn(3, char::is_whitespace);
        match (words.next().unwrap_or_default(), words.next()) {
            ("" | "package", _) => {}
            (comment, _) if comment.starts_with('#') => {}
            ("config", Some(kind)) => {
                in_queue = unquoted(kind) == "queue";
                if in_queue {
                    sections.push(Section { line: number, ..Section::default() });
                } else {
                    dump.problem(number, kind, "is no section of a queue; left out", false);
                }
            }
            ("option" | "list", Some(key)) => {
                let Some(value) = words.next() else {
                    dump.problem(number, key, "has no value: was it cut?", false);
                    continue;
                };
                if let (true, Some(section)) = (in_queue, sections.last_mut()) {
                    section.options.push((number, unquoted(key).to_string(), unquoted(value)));
                }
            }
            (word, _) => {
                dump.problem(number, word, "no word of UCI's: config, option or list; left out", false)
            }
        }
    }
    for section in &sections {
        one(dump, section, kernel);
    }
    if sections.is_empty() {
        dump.problem(1, "config", "no section queue is in the file", true);
    }
}

/// A value without the signs around it.
fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['\'', '"'])
}

/// The two queues of a section.
fn one(dump: &mut Dump, section: &Section<'_>, kernel: Kernel) {
    let get = |name: &str| section.get(name).map(|(_, value)| value).filter(|value| !value.is_empty());
    for (line, key, _) in &section.options {
        if !KNOWN.contains(&key.as_str()) {
            dump.problem(*line, key, "an option of sqm-scripts that is not read, and left out", false);
        }
    }
    if get("enabled") == Some("0") {
        dump.problem(section.line, "enabled", "the section is off; it is read all the same", false);
    }
    let device = get("interface").unwrap_or("eth0");
    let qdisc = get("qdisc").unwrap_or("cake");
    let is_cake = qdisc == "cake" || qdisc == "cake_mq";
    let ifb: String = format!("ifb4{device}").chars().take(15).collect();
    for (direction, key, options, device, ecn, target, limit) in [
        ("egress", "upload", "eqdisc_opts", device, "egress_ecn", "etarget", "elimit"),
        ("ingress", "download", "iqdisc_opts", ifb.as_str(), "ingress_ecn", "itarget", "ilimit"),
    ] {
        let (line, text) = section.get(key).unwrap_or((section.line, "0"));
        let Ok(kbit) = text.parse::<u64>() else {
            dump.problem(
                line,
                key,
                format!("\"{}\" is no number of kbit/s", quell_units::text::cut(text)),
                true,
            );
            continue;
        };
        if kbit == 0 {
            dump.problem(line, key, format!("0 kbit/s: sqm shapes no {direction}"), false);
            continue;
        }
        let rate = Value::Rate(BitRate::from_bps(kbit.min(1_000_000_000) * 1_000));
        let rate = Kind::Rate.text(rate);
        let mut words: Vec<String> = Vec::new();
        if is_cake {
            words.extend(["bandwidth".to_string(), rate.clone()]);
            words.push(match get("script") {
                Some("layer_cake.qos") => "diffserv3".into(),
                _ => "besteffort".into(),
            });
            if direction == "ingress" {
                words.push("ingress".into());
            }
            layer(&get, &mut words);
        } else {
            for (word, option) in [("target", target), ("limit", limit)] {
                if let Some(value) = get(option).filter(|value| *value != "auto" && *value != "default") {
                    words.extend([word.to_string(), value.to_string()]);
                }
            }
            match get(ecn) {
                Some("ECN") => words.push("ecn".into()),
                Some("NOECN") => words.push("noecn".into()),
                // sqm-scripts turns it off where the queue is the sender's own.
                _ => words.push(if direction == "ingress" { "ecn".into() } else { "noecn".into() }),
            }
            let says = "sqm shapes with htb above it: read as a rate of the link, with one class for all";
            dump.problem(line, key, says, false);
        }
        // Behind quotation marks the options of the qdisc are words.
        words.extend(get(options).unwrap_or_default().split_whitespace().map(str::to_string));
        let before = dump.queues.len();
        let head =
            Head { line, kind: qdisc, device: Some(device), handle: Some("1:"), parent: None, shown: false };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        queue(dump, &head, &words, None, kernel);
        if let (false, Some(queue)) = (is_cake, dump.queues.get_mut(before)) {
            queue.shaped = Kind::Rate.value(&rate).and_then(|value| match value {
                Value::Rate(rate) => Some(rate),
                _ => None,
            });
        }
    }
}

/// CAKE's words for the link's layer.
fn layer<'a>(get: &impl Fn(&str) -> Option<&'a str>, words: &mut Vec<String>) {
    match get("linklayer") {
        Some("atm" | "adsl") => words.push("atm".into()),
        Some("ptm" | "vdsl") => words.push("ptm".into()),
        Some("ethernet") => words.push("noatm".into()),
        _ => return,
    }
    for (word, option) in [("overhead", "overhead"), ("mpu", "tcMPU")] {
        if let Some(value) = get(option) {
            words.extend([word.to_string(), value.to_string()]);
        }
    }
}
