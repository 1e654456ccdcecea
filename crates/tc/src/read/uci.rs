//! The file of sqm-scripts, in OpenWrt's UCI: /etc/config/sqm, what `uci show sqm` prints, or lines of `uci set`.

use quell_units::BitRate;

use super::dump::{Dump, Head, class, queue};
use crate::Kernel;
use crate::grammar::{self, Grammar};
use crate::values::{Kind, Value};

/// A section `queue`.
#[derive(Default)]
struct Section<'a> {
    line: usize,
    options: Vec<(usize, String, &'a str)>,
}

impl<'a> Section<'a> {
    fn at(&self, name: &str) -> Option<(usize, &'a str)> {
        self.options.iter().rfind(|(_, key, _)| key == name).map(|(line, _, value)| (*line, *value))
    }

    /// The value of an option that is not empty.
    fn get(&self, name: &str) -> Option<&'a str> {
        self.at(name).map(|(_, value)| value).filter(|value| !value.is_empty())
    }
}

/// Options that are read, or that say nothing of a queue.
#[rustfmt::skip]
const KNOWN: &[&str] = &[
    "enabled", "interface", "download", "upload", "qdisc", "script", "linklayer", "overhead", "tcMPU", "tcMTU",
    "tcTSIZE", "iqdisc_opts", "eqdisc_opts", "ingress_ecn", "egress_ecn", "itarget", "etarget", "ilimit", "elimit",
    "debug_logging", "verbosity", "squash_dscp", "squash_ingress",
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
        // uci set sqm.@queue[0].download='95000', and without the first words what uci show prints.
        let set = line.strip_prefix("uci ").map_or(line, str::trim_start);
        let set = set.strip_prefix("set ").map_or(set, str::trim_start);
        if let Some(rest) = set.strip_prefix("sqm.") {
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
            // What begins a section, and what makes it valid.
            ("uci", Some("add" | "commit")) | ("/etc/init.d/sqm" | "service", _) => {}
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
    for (line, key, _) in &section.options {
        if !KNOWN.contains(&key.as_str()) {
            dump.problem(*line, key, "an option of sqm-scripts that is not read, and left out", false);
        }
    }
    if section.get("enabled") == Some("0") {
        dump.problem(section.line, "enabled", "the section is off; it is read all the same", false);
    }
    let device = section.get("interface").unwrap_or("eth0");
    let qdisc = qdisc(section);
    let is_cake = qdisc.starts_with("cake");
    let ifb: String = format!("ifb4{device}").chars().take(15).collect();
    for (name, key, options, device) in
        [("egress", "upload", "eqdisc_opts", device), ("ingress", "download", "iqdisc_opts", ifb.as_str())]
    {
        let (line, text) = section.at(key).unwrap_or((section.line, "0"));
        let Ok(kbit) = text.parse::<u64>() else {
            let says = format!("\"{}\" is no number of kbit/s", quell_units::text::cut(text));
            dump.problem(line, key, says, true);
            continue;
        };
        if kbit == 0 {
            dump.problem(line, key, format!("0 kbit/s: sqm shapes no {name}"), false);
            continue;
        }
        // Behind quotation marks the options of the qdisc are words.
        let options = section.get(options).unwrap_or_default().split_whitespace().collect();
        let kbit = kbit.min(1_000_000_000);
        let way = Way { section, line, qdisc, device, is_ingress: name == "ingress", kbit, options };
        if is_cake { cake(dump, &way, kernel) } else { tree(dump, &way, kernel) }
    }
}

/// The qdisc of a section: two scripts have CAKE, whatever the file says, and one has none (its .qos file).
fn qdisc<'a>(section: &Section<'a>) -> &'a str {
    let named = section.get("qdisc");
    let is_cake = |qdisc: &&str| qdisc.starts_with("cake");
    match section.get("script") {
        Some("piece_of_cake.qos" | "layer_cake.qos") => named.filter(is_cake).unwrap_or("cake"),
        Some("simplest_tbf.qos") => named.filter(|qdisc| !is_cake(qdisc)).unwrap_or("fq_codel"),
        Some(_) => named.unwrap_or("fq_codel"),
        // sqm-scripts do not start without a script; LuCI's first is piece_of_cake.qos.
        None => named.unwrap_or("cake"),
    }
}

/// A direction of a section.
struct Way<'a> {
    section: &'a Section<'a>,
    /// The line of its rate.
    line: usize,
    qdisc: &'a str,
    device: &'a str,
    is_ingress: bool,
    /// Its rate in kbit/s.
    kbit: u64,
    /// Words of its qdisc.
    options: Vec<&'a str>,
}

impl Way<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.section.get(name)
    }

    /// Says whether an option that squashes the DSCPs of what comes in is on, which it is by default.
    fn squashes(&self, option: &str) -> bool {
        self.is_ingress && self.get(option) != Some("0")
    }
}

/// A CAKE, which shapes itself.
fn cake(dump: &mut Dump, way: &Way<'_>, kernel: Kernel) {
    let mut words = vec!["bandwidth".to_string(), kbits(way.kbit)];
    let script = way.get("script");
    words.push(match script {
        Some("layer_cake.qos" | "simple.qos") if !way.squashes("squash_ingress") => "diffserv3".into(),
        _ => "besteffort".into(),
    });
    // The two scripts of a general shaper do not clear DSCPs.
    if way.squashes("squash_dscp") && !matches!(script, Some("simple.qos" | "simplest.qos")) {
        words.push("wash".into());
    }
    layer(way, &mut words);
    // What the file says replaces what sqm writes itself, and nobody has written it twice.
    let own: Vec<&str> = words.iter().map(String::as_str).collect();
    let words = replaced(way.qdisc, &own, &way.options);
    let head = Head {
        line: way.line,
        kind: way.qdisc,
        device: Some(way.device),
        handle: Some("1:"),
        ..Head::default()
    };
    queue(dump, &head, &words, None, kernel);
}

/// The words of `own` whose settings `of_file` has not, and those of `of_file`.
fn replaced<'a>(qdisc: &str, own: &[&'a str], of_file: &[&'a str]) -> Vec<&'a str> {
    let Some(grammar) = grammar::find(if qdisc == "cake_mq" { "cake" } else { qdisc }) else {
        return [own, of_file].concat();
    };
    let setting = |word: &&str| grammar.word(word).map(Grammar::setting);
    let given: Vec<&str> = of_file.iter().filter_map(setting).collect();
    let mut words = Vec::new();
    let mut keep = true;
    for word in own {
        // A value goes with its word.
        if let Some(setting) = setting(word) {
            keep = !given.contains(&setting);
        }
        if keep {
            words.push(*word);
        }
    }
    words.extend(of_file);
    words
}

/// A class: its name, the one above, its rate and ceiling in kbit/s, its priority, the quantum of its queue, its DSCPs.
type Tier = (&'static str, &'static str, u64, u64, u8, Option<u64>, &'static [u8]);

/// The least burst of sqm-scripts (`get_burst` in functions.sh): 1500 B and 48 B of overhead, in cells of 48 B that take
/// 53 B each.
const LEAST_BURST: u64 = (1500_u64 + 48).div_ceil(48) * 53;

/// DSCPs of the first tier of simple.qos, EF, CS6, AF42 and what asks for little delay, and of the last one, CS1.
const FIRST: [u8; 4] = [46, 48, 36, 4];
const LAST: [u8; 1] = [8];

/// htb with a queue in each class: three of simple.qos, one of the others.
fn tree(dump: &mut Dump, way: &Way<'_>, kernel: Kernel) {
    // Where the DSCPs of what comes in are squashed there is one tier.
    let tiers = way.get("script") == Some("simple.qos") && !way.squashes("squash_ingress");
    let at = |handle: &'static str, parent: Option<&'static str>, kind: &'static str| Head {
        line: way.line,
        kind,
        device: Some(way.device),
        handle: Some(handle),
        parent,
        ..Head::default()
    };
    queue(dump, &at("1:", None, "htb"), &["default", if tiers { "12" } else { "10" }], None, kernel);
    let mut added: Vec<String> = Vec::new();
    if let Some(layer) = way.get("linklayer").filter(|layer| *layer != "none") {
        added.extend(["linklayer".to_string(), layer.to_string()]);
        for (word, option) in [("overhead", "overhead"), ("mpu", "tcMPU")] {
            added.extend(way.get(option).into_iter().flat_map(|value| [word.to_string(), value.to_string()]));
        }
    }
    let low = if way.is_ingress { 32 } else { 128 };
    let (prio, most) = ((way.kbit / 3).max(low), way.kbit.saturating_sub(16).max(1));
    let quanta = if way.is_ingress { [500, 1500, 300] } else { [300; 3] };
    let share = (way.kbit / 6).max(1);
    let classes: &[Tier] = if tiers {
        &[
            ("1:1", "1:", way.kbit, way.kbit, 0, None, &[]),
            ("1:11", "1:1", low, prio, 1, Some(quanta[0]), &FIRST),
            ("1:12", "1:1", share, most, 2, Some(quanta[1]), &[]),
            ("1:13", "1:1", share, most, 3, Some(quanta[2]), &LAST),
        ]
    } else {
        &[("1:10", "1:", way.kbit, way.kbit, 0, None, &[])]
    };
    for (id, parent, rate, ceil, priority, quantum, dscps) in classes {
        let mut words = vec!["rate".to_string(), kbits(*rate), "ceil".to_string(), kbits(*ceil)];
        words.extend(["prio".to_string(), priority.to_string()]);
        // Both buckets of sqm-scripts hold a millisecond of the direction's rate, and at least a full packet in ATM cells.
        // The first tier has htb's own.
        if *id != "1:11" {
            let burst = (way.kbit / 8).max(LEAST_BURST).to_string();
            words.extend(["burst".to_string(), burst.clone(), "cburst".to_string(), burst]);
        }
        words.extend(added.iter().cloned());
        let before = dump.classes.len();
        class(
            dump,
            &at(id, Some(parent), "htb"),
            &words.iter().map(String::as_str).collect::<Vec<_>>(),
            None,
        );
        if let Some(class) = dump.classes.get_mut(before) {
            class.dscps = dscps.to_vec();
        }
        if tiers && *id == "1:1" {
            continue;
        }
        let own = of_leaf(way, *quantum);
        let words: Vec<&str> = own.iter().map(String::as_str).collect();
        let words = replaced(way.qdisc, &words, &way.options);
        let head = Head { kind: way.qdisc, ..at("", Some(id), "") };
        queue(dump, &Head { handle: None, ..head }, &words, None, kernel);
    }
}

/// The limit of sqm-scripts in packets, where the file has none (`LIMIT` in defaults.sh).
const LIMIT: u64 = 1001;

/// The flows that they give fair queues (`get_flows_count`).
const FLOWS: u64 = 1024;

/// What a packet takes at 1 kbit/s, in microseconds: 33 cells of ATM. CoDel's target is at least that of the rate, and
/// its interval longer by as much (`adapt_target_to_slow_link`, `adapt_interval_to_slow_link`).
const SLOWEST: u64 = 33 * 53 * 8 * 1000;
const TARGET: u64 = 5_000;
const INTERVAL: u64 = 100_000;

/// The words of a queue in a class.
fn of_leaf(way: &Way<'_>, quantum: Option<u64>) -> Vec<String> {
    let (target, limit, ecn) = match way.is_ingress {
        true => ("itarget", "ilimit", "ingress_ecn"),
        false => ("etarget", "elimit", "egress_ecn"),
    };
    let is = |ends: &[&str]| ends.iter().any(|end| way.qdisc.ends_with(end));
    let mut words = Vec::new();
    let mut say = |word: &str, value: String| words.extend([word.to_string(), value]);
    match way.get(limit) {
        Some(own) => say("limit", own.to_string()),
        None if way.qdisc == "bfifo" => say("limit", (LIMIT * 1500).to_string()),
        None if is(&["codel", "pie"]) || ["pfifo_fast", "sfq", "pfifo"].contains(&way.qdisc) => {
            say("limit", LIMIT.to_string());
        }
        None => {}
    }
    if is(&["codel", "pie"]) {
        match way.get(target).map(str::to_ascii_lowercase).as_deref() {
            Some("default") => {}
            // fq_pie gets nothing that tc could read.
            None | Some("auto") if way.qdisc == "fq_pie" => {}
            None | Some("auto") => {
                let target = (SLOWEST / way.kbit).max(TARGET);
                say("target", format!("{target}us"));
                if is(&["codel"]) {
                    say("interval", format!("{}us", INTERVAL - TARGET + target));
                }
            }
            Some(own) => say("target", own.to_string()),
        }
    }
    if is(&["fq_codel"]) || way.qdisc == "sfq" {
        say("flows", FLOWS.to_string());
    }
    if let Some(quantum) = quantum.filter(|_| is(&["fq_codel", "fq_pie", "drr"])) {
        say("quantum", quantum.to_string());
    }
    if is(&["codel", "pie", "red"]) {
        words.push(if way.get(ecn) == Some("NOECN") { "noecn" } else { "ecn" }.into());
    }
    words
}

/// A rate as a word.
fn kbits(kbit: u64) -> String {
    Kind::Rate.text(Value::Rate(BitRate::from_bps(kbit * 1_000)))
}

/// CAKE's words for the link's layer: sqm-scripts have one for ATM, and none for other framing (`get_cake_lla_string`).
fn layer(way: &Way<'_>, words: &mut Vec<String>) {
    let Some(layer) = way.get("linklayer").filter(|layer| *layer != "none") else { return };
    if layer == "atm" {
        words.push("atm".into());
    }
    for (word, option) in [("overhead", "overhead"), ("mpu", "tcMPU")] {
        words.extend([word.to_string(), way.get(option).unwrap_or("0").to_string()]);
    }
}
