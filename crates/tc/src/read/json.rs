//! What `tc -j` prints.

use serde_json::{Map, Number, Value};

use super::dump::{Counters, Dump, Head, OF_STAB, class, queue, stab};
use crate::Kernel;
use crate::grammar::{self, Grammar};
use crate::values::Kind;

/// Keys of a queue or a class that say where it is.
const PLACE: &[&str] = &[
    "kind",
    "class",
    "dev",
    "handle",
    "root",
    "parent",
    "refcnt",
    "options",
    "leaf",
    "stab",
    "offloaded",
    "deleted",
];

/// Reads a text.
pub(super) fn read(dump: &mut Dump, text: &str, kernel: Kernel) {
    // What tc prints of queues and then of classes, or of several devices, is one array behind another.
    let mut items = Vec::new();
    let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    for value in values {
        match value {
            Ok(Value::Array(more)) => items.extend(more),
            Ok(item @ Value::Object(_)) => items.push(item),
            Ok(_) => {
                return dump.problem(1, "JSON", "is no list of queues, as tc -j qdisc show prints", true);
            }
            Err(e) => {
                let says = match e.is_eof() {
                    true => "the JSON ends in the middle: it was cut; take the output of tc -j again, whole"
                        .to_string(),
                    false => format!("is no JSON: {e}; take the output of tc -j again"),
                };
                dump.problem(e.line().max(1), "JSON", says, true);
                break;
            }
        }
    }
    dump.is_of_items = true;
    for (n, item) in items.iter().enumerate() {
        // JSON of tc is one line: the number says which item.
        let Value::Object(item) = item else {
            dump.problem(n + 1, "", "is no queue of tc -j", false);
            continue;
        };
        one(dump, n + 1, item, kernel);
    }
}

fn one(dump: &mut Dump, n: usize, item: &Map<String, Value>, kernel: Kernel) {
    let of = |key: &str| item.get(key).and_then(Value::as_str);
    let empty = Map::new();
    let options = item.get("options").and_then(Value::as_object).unwrap_or(&empty);
    let mut head =
        Head { line: n, device: of("dev"), handle: of("handle"), parent: of("parent"), ..Head::default() };
    head.shown = true;
    if let Some(table) = item.get("stab").and_then(Value::as_object) {
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_string);
        let pairs: Vec<(&str, String)> = table
            .iter()
            .map(|(key, value)| (key.as_str(), text(value)))
            .filter(|(key, _)| OF_STAB.contains(key))
            .collect();
        head.stab = stab(dump, n, pairs.iter().map(|(key, value)| (*key, value.as_str())), head.device);
    }
    let mut counters = counters(item);
    if let Some(counters) = &mut counters {
        let among = options.iter().filter(|(key, _)| is_counter(key));
        counters.others.extend(among.map(|(key, value)| (key.clone(), value.to_string())));
    }
    if let Some(kind) = of("class") {
        if kind != "htb" {
            if grammar::find(kind).is_none() && !matches!(kind, "mq" | "netem" | "fq" | "ingress" | "clsact")
            {
                dump.problem(n, kind, "classes of htb are read, and no others", false);
            }
            return;
        }
        let words = ["prio", "quantum", "rate", "ceil", "burst", "cburst", "overhead"];
        let value = |key: &str| options.get(key).or(item.get(key));
        let mut words: Vec<String> = words
            .iter()
            .filter_map(|key| Some((key, value(key)?.as_f64()?)))
            .flat_map(|(key, x)| {
                // Rates are in bytes per second.
                let x =
                    if ["rate", "ceil"].contains(key) { format!("{}bit", x * 8.0) } else { x.to_string() };
                [key.to_string(), x]
            })
            .collect();
        if let Some(layer) = value("linklayer").and_then(Value::as_str) {
            words.extend(["linklayer".to_string(), layer.to_string()]);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        return class(dump, &head, &words, counters);
    }
    let Some(kind) = of("kind") else {
        return dump.problem(n, "", "has no kind: it is no queue of tc -j", false);
    };
    head.kind = kind;
    let name = if kind == "cake_mq" { "cake" } else { kind };
    let mut words = Vec::new();
    match grammar::find(name) {
        Some(grammar) => {
            let selector = selector(options);
            for (key, value) in options.iter().filter(|(key, _)| !is_counter(key) && *key != MASK) {
                let value = if key == SELECTOR { &selector } else { value };
                option(dump, n, grammar, key, value, &mut words);
            }
        }
        None if kind == "netem" => words = of_netem(options),
        None => {
            if let Some(default) = options.get("default").and_then(Value::as_str) {
                words.extend(["default".to_string(), default.to_string()]);
            }
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    queue(dump, &head, &words, counters, kernel);
}

/// The options of netem as its words, in which shares are percentages.
fn of_netem(options: &Map<String, Value>) -> Vec<String> {
    let mut words = Vec::new();
    for (key, value) in options {
        let number = |name: &str| value.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        let percent = |name: &str| format!("{}%", number(name) * 100.0);
        let correlated =
            |word: &str, name: &str| vec![word.to_string(), percent(name), percent("correlation")];
        words.extend(match key.as_str() {
            "delay" => {
                let time = |name: &str| format!("{}s", number(name));
                vec![key.clone(), time("delay"), time("jitter"), percent("correlation")]
            }
            "loss-random" => correlated("loss", "loss"),
            "loss-state" => {
                let names = ["p13", "p31", "p32", "p23", "p14"];
                ["loss".to_string(), "state".to_string()].into_iter().chain(names.map(percent)).collect()
            }
            "loss-gemodel" => {
                let names = ["p", "r", "1-h", "1-k"];
                ["loss".to_string(), "gemodel".to_string()].into_iter().chain(names.map(percent)).collect()
            }
            "duplicate" | "reorder" | "corrupt" => correlated(key, key),
            "rate" => {
                let more =
                    ["packetoverhead", "cellsize", "celloverhead"].map(|name| number(name).to_string());
                let more = if more.iter().all(|x| x == "0") { Vec::new() } else { more.to_vec() };
                // Bytes per second.
                [key.clone(), format!("{}bit", number("rate") * 8.0)].into_iter().chain(more).collect()
            }
            "slot" => vec![key.clone(), format!("{}s", number("min-delay"))],
            "limit" | "gap" | "seed" => vec![key.clone(), value.to_string()],
            "ecn" if *value == Value::Bool(true) => vec![key.clone()],
            _ => Vec::new(),
        });
    }
    words
}

/// The ECN field that fq_codel's ce_threshold is for, and its mask: a word of tc's has both.
const SELECTOR: &str = "ce_threshold_selector";
const MASK: &str = "ce_threshold_mask";

fn selector(options: &Map<String, Value>) -> Value {
    let number = |key: &str| options.get(key).and_then(Value::as_u64).unwrap_or(0);
    Value::String(format!("{}/{}", number(SELECTOR), number(MASK)))
}

/// Says whether an option is none, but a counter of sfq's RED.
fn is_counter(key: &str) -> bool {
    key.starts_with("prob_") || key.starts_with("forced_")
}

/// A name without signs.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Keys of tc's JSON that are named otherwise than its words.
const KEYS: &[(&str, &str)] = &[
    ("memory-limit", "memlimit"),
    ("step-thresh-us", "step_thresh"),
    ("step-thresh-pkts", "step_thresh"),
    ("coupling", "coupling_factor"),
    ("c-protection", "classic_protection"),
    ("bin_size", "target"),
];

/// Values of tc's JSON that stand for a word.
const WORDS: &[(&str, &str, &str)] = &[
    ("ack-filter", "disabled", "no-ack-filter"),
    ("ack-filter", "enabled", "ack-filter"),
    ("ack-filter", "aggressive", "ack-filter-aggressive"),
    ("drop-overload", "drop", "drop_on_overload"),
    ("drop-overload", "overflow", "overflow"),
    ("drop-early", "drop-enqueue", "drop_enqueue"),
    ("drop-early", "drop-dequeue", "drop_dequeue"),
    ("ecn-mask", "l4s-ect", "l4s_ect"),
    ("ecn-mask", "any-ect", "any_ect"),
];

/// The words of an option.
fn option(
    dump: &mut Dump,
    n: usize,
    grammar: &'static Grammar,
    key: &str,
    value: &Value,
    words: &mut Vec<String>,
) {
    let own = |name: &str| grammar.words.iter().find(|word| plain(word.name) == plain(name));
    let renamed = KEYS.iter().find(|(theirs, ours)| *theirs == key && grammar.word(ours).is_some());
    let word = renamed.and_then(|(_, ours)| grammar.word(ours)).or_else(|| own(key));
    match value {
        Value::String(text) => {
            let listed = WORDS.iter().find(|(k, v, _)| *k == key && v == text).map(|(_, _, word)| *word);
            let named = listed.and_then(|name| grammar.word(name)).or_else(|| own(text));
            match (named, word) {
                (Some(named), _) if !matches!(named.kind, Kind::Time | Kind::Int) => {
                    words.push(named.name.to_string())
                }
                (_, Some(word)) => words.extend([word.name.to_string(), text.clone()]),
                _ => dump.problem(n, key, "no word of this qdisc's that is known here, and left out", false),
            }
        }
        Value::Bool(is) => {
            let yes = own(key).filter(|word| matches!(word.kind, Kind::Of(_)));
            let no = ["no", "no_"].iter().find_map(|no| own(&format!("{no}{key}")));
            match (is, yes, no) {
                (true, Some(word), _) | (false, _, Some(word)) => words.push(word.name.to_string()),
                (false, _, None) => {}
                (true, None, _) if key == "raw" => {}
                (true, None, _) => {
                    dump.problem(n, key, "no word of this qdisc's that is known here, and left out", false)
                }
            }
        }
        // The key alone says it.
        Value::Null => match own(key) {
            Some(word) => words.push(word.name.to_string()),
            None => dump.problem(n, key, "no word of this qdisc's that is known here, and left out", false),
        },
        Value::Number(x) => match word {
            Some(word) => {
                let text = match word.kind {
                    // Rates are in bytes per second.
                    Kind::Rate | Kind::RateIfAny => format!("{}bit", x.as_f64().unwrap_or(0.0) * 8.0),
                    Kind::TimeOrPackets if key.ends_with("pkts") => format!("{x}p"),
                    Kind::Time if grammar.name.ends_with("codel") => format!("{}us", of_codel(x)),
                    // Milliseconds of the words, too, are microseconds here.
                    Kind::Time | Kind::Millis | Kind::TimeOrPackets => format!("{x}us"),
                    _ => x.to_string(),
                };
                words.extend([word.name.to_string(), text]);
            }
            None => dump.problem(n, key, "no word of this qdisc's that is known here, and left out", false),
        },
        Value::Array(_) | Value::Object(_) => {
            dump.problem(n, key, "is a list or a table, and left out", false);
        }
    }
}

/// The microseconds that were given to CoDel, of those that it shows: the kernel keeps steps of 1024 ns, and shows 4999
/// of 5000 (include/net/codel.h). tc's text has three digits, and rounds the same time to 5 ms.
fn of_codel(shown: &Number) -> String {
    let kept = |us: u64| us * 1000 / 1024 * 1024 / 1000;
    match shown.as_u64().filter(|us| *us <= u64::from(u32::MAX)) {
        Some(us) if kept(us) != us && kept(us + 1) == us => (us + 1).to_string(),
        _ => shown.to_string(),
    }
}

/// The counters of an item, if it has some.
fn counters(item: &Map<String, Value>) -> Option<Counters> {
    let number = |key: &str| item.get(key).and_then(Value::as_u64);
    // An item without both has no counters.
    number("bytes").or(number("packets"))?;
    let known = ["bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen", "tins"];
    let mut counters = Counters::default();
    let mut of = |name: &'static str| counters.known(name, number(name));
    let (bytes, packets, dropped) = (of("bytes"), of("packets"), of("drops"));
    let (overlimits, requeues) = (of("overlimits"), of("requeues"));
    let (backlog_bytes, backlog_packets) = (of("backlog"), of("qlen"));
    counters = Counters {
        bytes,
        packets,
        dropped,
        overlimits,
        requeues,
        backlog_bytes,
        backlog_packets,
        ..counters
    };
    for (key, value) in
        item.iter().filter(|(key, _)| !known.contains(&key.as_str()) && !PLACE.contains(&key.as_str()))
    {
        if value.is_number() {
            counters.others.push((key.clone(), value.to_string()));
        }
    }
    let tins = item.get("tins").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (n, tin) in tins.iter().enumerate() {
        let pairs =
            tin.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.to_string()));
        counters.tins.push((format!("Tin {n}"), pairs.collect()));
    }
    counters.count_marks();
    Some(counters)
}
