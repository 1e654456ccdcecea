//! Files of systemd-networkd: systemd.network(5), the sections of queues.

use quell_units::text::cut;

use super::dump::{Class, Dump, Head, class, queue};
use crate::values::{Kind, Value};
use crate::{Kernel, grammar};

/// The sections that are read, and the qdisc of each.
const SECTIONS: &[(&str, &str)] = &[
    ("CAKE", "cake"),
    ("FairQueueingControlledDelay", "fq_codel"),
    ("FairQueueingControlledDelayQueueing", "fq_codel"),
    ("ControlledDelay", "codel"),
    ("PIE", "pie"),
    ("FlowQueuePIE", "fq_pie"),
    ("TokenBucketFilter", "tbf"),
    ("HierarchyTokenBucket", "htb"),
    ("HierarchyTokenBucketClass", "htb"),
    ("StochasticFairBlue", "sfb"),
    ("StochasticFairnessQueueing", "sfq"),
    ("PFIFO", "pfifo"),
    ("BFIFO", "bfifo"),
    ("PFIFOHeadDrop", "pfifo_head_drop"),
    ("PFIFOFast", "pfifo_fast"),
];

/// A key of a section and the word that it is.
enum Is {
    /// A word with the same value.
    Word(&'static str),
    /// A word with a rate in bits, whose K is 1000.
    Rate(&'static str),
    /// A word with a size, whose K is 1024.
    Size(&'static str),
    /// A word for yes and one for no.
    Flag(&'static str, &'static str),
    /// A word of its value, without capitals.
    Choice,
    /// A word of its value: who gets equal shares.
    Flows,
    /// A word with a time, in which a number alone is seconds.
    Time(&'static str),
}

/// The keys of sections.
#[rustfmt::skip]
const KEYS: &[(&str, &[(&str, Is)])] = &[
    ("cake", &[
        ("Bandwidth", Is::Rate("bandwidth")), ("AutoRateIngress", Is::Flag("autorate-ingress", "")),
        ("OverheadBytes", Is::Word("overhead")), ("MPUBytes", Is::Word("mpu")), ("CompensationMode", Is::Choice),
        ("UseRawPacketSize", Is::Flag("raw", "")), ("FlowIsolationMode", Is::Flows), ("NAT", Is::Flag("nat", "nonat")),
        ("PriorityQueueingPreset", Is::Choice), ("FirewallMark", Is::Word("fwmark")),
        ("Wash", Is::Flag("wash", "nowash")),
        ("SplitGSO", Is::Flag("split-gso", "no-split-gso")), ("RTTSec", Is::Time("rtt")), ("AckFilter", Is::Choice),
    ]),
    ("fq_codel", &[
        ("PacketLimit", Is::Word("limit")), ("MemoryLimitBytes", Is::Size("memory_limit")),
        ("Flows", Is::Word("flows")),
        ("TargetSec", Is::Time("target")), ("IntervalSec", Is::Time("interval")), ("QuantumBytes", Is::Size("quantum")),
        ("ECN", Is::Flag("ecn", "noecn")), ("CEThresholdSec", Is::Time("ce_threshold")),
    ]),
    ("codel", &[
        ("PacketLimit", Is::Word("limit")), ("TargetSec", Is::Time("target")), ("IntervalSec", Is::Time("interval")),
        ("ECN", Is::Flag("ecn", "noecn")), ("CEThresholdSec", Is::Time("ce_threshold")),
    ]),
    ("pie", &[("PacketLimit", Is::Word("limit"))]),
    ("fq_pie", &[("PacketLimit", Is::Word("limit"))]),
    ("pfifo", &[("PacketLimit", Is::Word("limit"))]),
    ("pfifo_head_drop", &[("PacketLimit", Is::Word("limit"))]),
    ("bfifo", &[("LimitBytes", Is::Size("limit"))]),
    ("sfb", &[("PacketLimit", Is::Word("limit"))]),
    ("sfq", &[("PerturbPeriodSec", Is::Time("perturb"))]),
    ("tbf", &[
        ("LatencySec", Is::Time("latency")), ("LimitBytes", Is::Size("limit")), ("BurstBytes", Is::Size("burst")),
        ("Rate", Is::Rate("rate")), ("MPUBytes", Is::Size("mpu")), ("PeakRate", Is::Rate("peakrate")),
        ("MTUBytes", Is::Size("mtu")),
    ]),
    ("htb", &[
        ("DefaultClass", Is::Word("default")), ("RateToQuantum", Is::Word("r2q")), ("Priority", Is::Word("prio")),
        ("QuantumBytes", Is::Size("quantum")), ("MTUBytes", Is::Size("mtu")), ("OverheadBytes", Is::Word("overhead")),
        ("Rate", Is::Rate("rate")), ("CeilRate", Is::Rate("ceil")), ("BufferBytes", Is::Size("burst")),
        ("CeilBufferBytes", Is::Size("cburst")),
    ]),
];

/// A section with its lines.
struct Section<'a> {
    line: usize,
    name: &'a str,
    keys: Vec<(usize, &'a str, &'a str)>,
}

/// Reads a text.
pub(super) fn read(dump: &mut Dump, text: &str, kernel: Kernel) {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').unwrap_or(name);
            sections.push(Section { line: n + 1, name, keys: Vec::new() });
        } else if let (Some((key, value)), Some(section)) = (line.split_once('='), sections.last_mut()) {
            section.keys.push((n + 1, key.trim(), value.trim()));
        } else {
            dump.problem(n + 1, line, "no line of systemd-networkd: KEY=VALUE in a section; left out", false);
        }
    }
    let device = sections.iter().find(|section| section.name == "Match");
    let device = device.and_then(|section| section.keys.iter().find(|(_, key, _)| *key == "Name"));
    let device = device.map(|(_, _, name)| *name);
    for section in &sections {
        one(dump, section, device, kernel);
    }
    let mut at_root = dump.queues.iter().filter(|queue| queue.parent.is_none());
    if let (Some(first), Some(second)) = (at_root.next(), at_root.next()) {
        let says = format!(
            "a device has one queue at its root, and line {} has {} there: leave one out, or give it Parent=",
            first.line, first.kind
        );
        let (line, kind) = (second.line, second.kind.clone());
        dump.problem(line, &kind, says, true);
    }
    let is_wrong = dump.problems.iter().any(|problem| problem.fatal);
    if dump.queues.is_empty() && dump.classes.is_empty() && !is_wrong {
        let known: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
        dump.problem(1, "[...]", format!("no section of a queue is in the file: {}", known.join(", ")), true);
    }
}

fn one(dump: &mut Dump, section: &Section<'_>, device: Option<&str>, kernel: Kernel) {
    let Some((name, kind)) = SECTIONS.iter().find(|(name, _)| *name == section.name) else {
        if !["Match", "Network", "Link", "Address", "Route", "DHCPv4", "DHCPv6", "QDisc"]
            .contains(&section.name)
        {
            dump.problem(
                section.line,
                section.name,
                "no section of a queue that is known here, and left out",
                false,
            );
        }
        return;
    };
    let mut head = Head { line: section.line, kind, device, ..Head::default() };
    let mut words: Vec<String> = Vec::new();
    let mut lines: Vec<(String, usize)> = Vec::new();
    let keys = KEYS.iter().find(|(of, _)| of == kind).map_or(&[][..], |(_, keys)| keys);
    for (line, key, value) in &section.keys {
        match (*key, keys.iter().find(|(name, _)| name == key)) {
            ("Parent", _) if PARENTS.contains(value) => head.parent = None,
            ("Parent", _) if !is_class(value) => {
                let near = grammar::nearest(value, PARENTS.iter().copied());
                let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
                let says = format!(
                    "\"{}\" is none of root, ingress, clsact and a class such as 1:10{near}",
                    cut(value)
                );
                return dump.problem(*line, key, says, true);
            }
            ("Parent", _) => head.parent = Some(value),
            ("Handle" | "ClassId", _) => head.handle = Some(value),
            // Of a key that comes again, systemd takes the last one.
            (key, Some(_))
                if section.keys.iter().rfind(|(_, other, _)| *other == key).is_some_and(|l| l.0 != *line) => {
            }
            (_, Some((_, is))) => match is.words(value) {
                Some(read) => {
                    lines.extend(read.iter().map(|word| (word.clone(), *line)));
                    words.extend(read);
                }
                None => {
                    let fix = is.written(value).map_or(String::new(), |fix| format!(": write {fix}"));
                    dump.problem(*line, key, format!("\"{}\" is no value of it{fix}", cut(value)), true);
                }
            },
            _ => dump.problem(*line, key, "no key of this section that is known here, and left out", false),
        }
    }
    let handle = head
        .handle
        .map(|handle| if handle.contains(':') { handle.to_string() } else { format!("{handle}:") });
    head.handle = handle.as_deref();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if *name == "HierarchyTokenBucketClass" {
        let (before, problems) = (dump.classes.len(), dump.problems.len());
        class(dump, &head, &words, None);
        of_keys(dump, problems, &lines);
        // Its classes have the handle of the htb before them.
        if let Some(Class { id, .. }) = dump.classes.get_mut(before)
            && id.ends_with(':')
        {
            *id = format!("1:{}", id.trim_end_matches(':'));
        }
        return;
    }
    let problems = dump.problems.len();
    queue(dump, &head, &words, None, kernel);
    of_keys(dump, problems, &lines);
}

/// Gives problems of words the lines of their keys.
fn of_keys(dump: &mut Dump, from: usize, lines: &[(String, usize)]) {
    for problem in dump.problems.iter_mut().skip(from) {
        let first = problem.word.split_whitespace().next().unwrap_or_default();
        if let Some((_, line)) = lines.iter().find(|(word, _)| word == first) {
            problem.line = *line;
        }
    }
}

/// Parents that are none: what a queue below them is at the device itself.
const PARENTS: [&str; 3] = ["root", "clsact", "ingress"];

/// Says whether a value is the name of a class, such as `1:10`.
fn is_class(value: &str) -> bool {
    let hex = |part: &str| part.len() <= 4 && part.chars().all(|c| c.is_ascii_hexdigit());
    value.split_once(':').is_some_and(|(major, minor)| hex(major) && hex(minor))
}

impl Is {
    /// How systemd writes the rate that a value is for tc, such as 18M for 18Mbit.
    fn written(&self, value: &str) -> Option<String> {
        let Is::Rate(_) = self else { return None };
        let Some(Value::Rate(rate)) = Kind::Rate.value(value) else { return None };
        let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "K"), (1, "")];
        let (of, unit) = units.into_iter().find(|(of, _)| rate.bps() % of == 0)?;
        Some(format!("{}{unit}", rate.bps() / of))
    }

    /// The words of a value, if it is one.
    fn words(&self, value: &str) -> Option<Vec<String>> {
        let yes = ["1", "yes", "y", "true", "t", "on"];
        let no = ["0", "no", "n", "false", "f", "off"];
        let lower = value.to_ascii_lowercase();
        Some(match self {
            Is::Word(word) => vec![word.to_string(), value.to_string()],
            Is::Rate(word) => {
                let number = lower.trim_end_matches(['k', 'm', 'g', 't']);
                let is_number = !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit() || c == b'.');
                if !is_number || lower.len() > number.len() + 1 {
                    return None;
                }
                vec![word.to_string(), format!("{number}{}bit", &lower[number.len()..])]
            }
            Is::Size(word) => vec![word.to_string(), lower],
            Is::Flag(word, _) if yes.contains(&lower.as_str()) => vec![word.to_string()],
            Is::Flag(_, other) if no.contains(&lower.as_str()) => {
                Some(other.to_string()).filter(|word| !word.is_empty()).into_iter().collect()
            }
            Is::Flag(..) => return None,
            Is::Flows => match lower.as_str() {
                "none" => vec!["flowblind".into()],
                "triple" => vec!["triple-isolate".into()],
                "dual-src-host" => vec!["dual-srchost".into()],
                "dual-dst-host" => vec!["dual-dsthost".into()],
                "src-host" => vec!["srchost".into()],
                "dst-host" => vec!["dsthost".into()],
                word @ ("flows" | "hosts") => vec![word.into()],
                _ => return None,
            },
            Is::Choice => match lower.as_str() {
                "none" => vec!["noatm".into()],
                "aggressive" => vec!["ack-filter-aggressive".into()],
                word if yes.contains(&word) => vec!["ack-filter".into()],
                word if no.contains(&word) => vec!["no-ack-filter".into()],
                word => vec![word.into()],
            },
            Is::Time(word) => {
                let bare = lower.chars().all(|c| c.is_ascii_digit() || c == '.');
                vec![word.to_string(), if bare { format!("{lower}s") } else { lower }]
            }
        })
    }
}
