//! Names that do not exist: what may have been meant.
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod likeness;

pub use likeness::nearest;
use likeness::{WELL_KNOWN, plain};
use quell_tcp::catalog;

/// Algorithms that govern senders and no queue, as a user may write them, beside what the catalog of senders has.
const CONGESTION_CONTROLS: &[&str] = &[
    "bic",
    "htcp",
    "highspeed",
    "illinois",
    "compound",
    "ctcp",
    "westwood",
    "veno",
    "bbr",
    "bbr2",
    "vegas",
    "yeah",
    "hybla",
    "scalable",
    "copa",
    "pcc",
    "scream",
];

/// Other names of what senders are made of: a key, names that its values have elsewhere, and the value.
const SENDERS: &[(&str, &[&str], &str)] = &[
    ("congestion", &["bbrv3"], "bbr3"),
    ("congestion", &["bbrv1"], "bbr1"),
    ("congestion", &["tcp-prague"], "prague"),
    ("recovery", &["rack-tlp", "tlp", "rfc8985"], "rack"),
    ("recovery", &["sack-prr", "rfc6937", "rfc9937"], "prr"),
    ("recovery", &["rfc6675"], "sack"),
    ("slow_start", &["hystartpp", "rfc9406"], "hystart++"),
    ("slow_start", &["rfc5681"], "standard"),
    ("growth", &["abc", "bytes"], "packets"),
    ("growth", &["acks"], "acknowledgments"),
    ("feedback", &["rfc3168"], "classic"),
    ("feedback", &["accurate-ecn", "rfc9768"], "accecn"),
];

/// BBR without its version is mostly the first.
const BBR: &str = "two versions are here: \"bbr1\", which is mostly meant by this name alone, and \"bbr3\"";

/// Names of dialects, without signs; any other that begins with "ns2" is of the last release of ns-2.
const DIALECTS: &[(&str, &str)] = &[
    ("quell", "quell"),
    ("linux", "linux"),
    ("quic", "quic"),
    ("ns21b", "ns-2.1b"),
    ("ns227", "ns-2.27"),
    ("ns344", "ns-3.44"),
    ("ns3", "ns-3.44"),
];

/// Returns the message about the name of a dialect that stands where one part of a sender is chosen.
pub fn of_dialect(wrong: &str) -> Option<String> {
    let wrong = plain(wrong);
    let exact = DIALECTS.iter().find(|(name, _)| *name == wrong).map(|(_, name)| *name);
    let name = exact.or_else(|| wrong.starts_with("ns2").then_some("ns-2.35"))?;
    Some(format!(
        "a dialect, which gives every key of a sender its default: write dialect = \"{name}\" at the top of the \
         file; `quell scenario dialects {name}` lists its values"
    ))
}

/// Returns the message about a value of a key by which senders are chosen, if it says more than of any other name: the
/// rule, if it is a value of another key, and the value that was meant. `names` are those that the key has.
pub fn of_sender(wrong: &str, names: &[&str]) -> Option<(Option<String>, Option<String>)> {
    let has = |key: &str| catalog::of_key(key).all(|e| names.contains(&e.name));
    let keys = ["congestion", "recovery", "slow_start", "growth", "feedback"];
    let key = keys.into_iter().find(|key| has(key))?;
    let exact = |key: &str| catalog::of_key(key).find(|e| e.name == wrong).map(|e| e.name);
    let exact = keys.into_iter().find_map(|key| Some((key, exact(key)?)));
    let wrong = plain(wrong);
    let own = |key: &str| match exact {
        Some((own, name)) if own == key => Some(name),
        _ => catalog::of_key(key).find(|e| plain(e.name) == wrong).map(|e| e.name),
    };
    let others = |key: &str| {
        let alias =
            SENDERS.iter().find(|(k, others, _)| *k == key && others.iter().any(|o| plain(o) == wrong));
        alias.map(|(_, _, name)| *name)
    };
    let found = |key: &str| own(key).or_else(|| others(key));
    if let Some(name) = found(key) {
        return Some((None, Some(name.to_string())));
    }
    if let Some(rule) = of_dialect(&wrong) {
        return Some((Some(format!("is {rule}")), None));
    }
    if wrong == "bbr" {
        let place = if key == "congestion" { "" } else { "is a value of congestion: " };
        return Some((Some(format!("{place}{BBR}")), None));
    }
    let (other, name) = keys.into_iter().find_map(|other| Some((other, found(other)?)))?;
    Some((Some(format!("is a value of {other}, not of {key}: write {other} = \"{name}\"")), None))
}

/// "a, b or c".
fn either(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// Returns the message about a line of tc in the place of an algorithm's name.
#[cfg(feature = "lines")]
fn of_line(wrong: &str) -> Option<String> {
    quell_tc::translation(wrong)
}

/// Returns the message about a line of tc in the place of an algorithm's name, which something else reads.
#[cfg(not(feature = "lines"))]
fn of_line(wrong: &str) -> Option<String> {
    let says = "a line of tc's: `quell aqm tc --read` writes it in the words of scenarios";
    quell_tc::is_line(wrong).then(|| says.to_string())
}

/// Returns the message about a name of some kind ("algorithm") that is not among `names`, without the list of
/// them, and the one that was meant, if there is one.
pub fn unknown(kind: &str, wrong: &str, names: &[&str]) -> (String, Option<String>) {
    if kind.starts_with("algorithm")
        && !names.iter().any(|name| plain(name) == plain(wrong))
        && let Some(rule) = of_line(wrong)
    {
        return (rule, None);
    }
    let same = |others: &[&str]| others.iter().any(|o| plain(o) == plain(wrong));
    let of = |key| catalog::of_key(key).map(|e| e.name).collect::<Vec<_>>();
    let (controls, recoveries) = (of("congestion"), of("recovery"));
    let sender = same(CONGESTION_CONTROLS) || same(&controls) || same(&recoveries);
    if kind.starts_with("algorithm") && sender && !same(names) {
        let rule = format!(
            "a congestion control of senders, not an algorithm for queues; a group of flows has one as \
             tcp.congestion (flows[0].tcp.congestion: {}), and a loss recovery (flows[0].tcp.recovery: {})",
            either(&controls),
            either(&recoveries)
        );
        return (rule, None);
    }
    if kind == "key"
        && let Some(rule) = misplaced(wrong, names).or_else(|| of_netem(wrong, names))
    {
        return (rule, None);
    }
    if kind == "part of a sender" {
        let said = of_dialect(wrong).or_else(|| (plain(wrong) == "bbr").then(|| BBR.to_string()));
        if let Some(rule) = said {
            return (rule, None);
        }
    }
    if kind == "key"
        && quell_tc::is_algorithm(names)
        && let Some(answer) = quell_tc::answer(wrong, names)
    {
        return (answer.to_string(), None);
    }
    let meant = nearest(wrong, names.iter().copied());
    let known = WELL_KNOWN.iter().find(|(others, _)| others.iter().any(|o| plain(o) == plain(wrong)));
    let rule = match (known, &meant) {
        (Some((_, closest)), None) => match closest.iter().find(|name| names.contains(name)) {
            Some(name) => format!("not in this version; the closest in purpose is \"{name}\""),
            None => "not in this version".to_string(),
        },
        _ => format!("unknown {kind}"),
    };
    (rule, meant)
}

/// Returns the message about a key of a scenario that stands in another table than its own, whose keys are `names`.
fn misplaced(wrong: &str, names: &[&str]) -> Option<String> {
    let of_flows = ["tcp", "congestion"].iter().any(|key| names.contains(key));
    (wrong == "dialect" && of_flows)
        .then(|| "is a key of the file: write it at the top, above every table".to_string())
}

/// Words that are not keys of a table, and what to write instead.
type Instead = &'static [(&'static [&'static str], &'static str)];

/// Words of netem's that are not keys of a link.
const OF_LINKS: Instead = &[
    (
        &["gemodel", "loss_gemodel", "gilbert_elliott", "gilbert", "loss_model", "loss_state", "state"],
        "write loss = { gilbert_elliott = { p = 0.01, r = 0.2 } }",
    ),
    (&["loss_burst", "burst", "loss_correlation"], "write loss = { mean = 0.01, burst = 5 }"),
    (
        &[
            "delay_jitter",
            "delay_variation",
            "pdv",
            "ipdv",
            "distribution",
            "delay_distribution",
            "correlation",
        ],
        "write jitter = { size = \"5 ms\", distribution = \"normal\" }",
    ),
    (&["reorder", "reordering", "reorder_gap", "gap"], "write jitter = { size = \"5 ms\", reorder = true }"),
    (&["duplication", "dup"], "write duplicate = 0.01"),
    (&["corrupt", "corruption"], "a corrupted packet is lost to its receiver: add its probability to loss"),
    (
        &["limit"],
        "write buffer = \"1000 packets\" for the queue in front of the wire; netem's limit also counts the packets that \
         it delays",
    ),
    (&["slot", "slots"], "slots are not modeled: leave it out, or let the rate change with changes"),
    (
        &["users", "ue", "ues", "lte", "cellular", "base_station", "tti"],
        "write cell = { users = [{ name = \"phone\", repeat = 4 }] }",
    ),
    (
        &["handover", "handoff", "handoffs", "reconfigurations", "satellite"],
        "write handovers = { every = \"15 s\", delay = { uniform = [\"0 ms\", \"15 ms\"] } }",
    ),
    (&["netem"], "quell import netem writes the keys for its options"),
    (&["tbf", "bucket", "token_bucket"], "write shaper = { rate = \"20 Mbit/s\", burst = \"15 kB\" }"),
    (
        &["htb", "drr", "prio", "hfsc", "class", "scheduler"],
        "write classes = [{ name = \"voice\", match = { dscp = 46 } }, { name = \"rest\", priority = 1 }]",
    ),
];

/// Words of tc-tbf(8) that are not keys of a shaper.
const OF_SHAPER: Instead = &[
    (&["buffer", "maxburst"], "write burst = \"15 kB\""),
    (&["minburst"], "write mtu = \"1500 B\""),
    (&["latency"], "write limit: what the rate sends in that time, and the burst"),
    (&["overhead", "mpu", "linklayer"], "packets count as the simulated sizes; raise those instead"),
];

/// Words for cells that are not keys of one.
const OF_CELL: Instead = &[
    (&["tti", "slot", "subframe", "ttl"], "write interval = \"1 ms\""),
    (&["pf", "policy", "algorithm", "rr"], "write scheduler = \"proportional-fair\""),
    (&["tc", "t_c", "time_constant", "average"], "write window = \"1 s\""),
    (&["ues", "ue", "phones", "clients"], "write users = [{ name = \"phone\", repeat = 4 }]"),
];

/// Words for users of a cell that are not keys of one.
const OF_USERS: Instead = &[
    (&["trace", "capacity", "file"], "write changes = \"traces/phone.csv\""),
    (&["group", "dscp", "host", "filter"], "write match = { group = \"voice\" }"),
    (&["offset", "phase"], "write shift = \"3 s\""),
    (&["weight", "priority"], "users of a cell have none: use classes"),
];

/// Words of tc-htb(8) that are not keys of a class.
const OF_CLASSES: Instead = &[
    (&["prio"], "write priority = 0"),
    (&["default"], "leave match out of the class that takes what no other does"),
    (&["r2q"], "write quantum = \"1500 B\" at the leaves"),
    (&["leaf", "queue", "algorithm"], "write aqm = { algorithm = \"codel\" }"),
    (&["group", "dscp", "host", "filter"], "write match = { group = \"voice\" }"),
    (&["mark", "fwmark"], "nothing sets marks of a firewall here: match a group, a DSCP or a host"),
    (&["limit"], "write buffer = \"100 packets\""),
    (&["weight"], "write quantum: twice as much of it is twice the weight"),
];

/// Words that are not keys of the table of a link's losses.
const OF_LOSS: Instead = &[
    (
        &["gemodel", "gilbert", "p", "r", "h", "k", "1-h", "1-k", "good_loss", "bad_loss", "state"],
        "write loss = { gilbert_elliott = { p = 0.01, r = 0.2 } }",
    ),
    (&["correlation"], "losses come in bursts instead: write loss = { mean = 0.01, burst = 5 }"),
    (&["random", "probability", "rate"], "write loss = 0.01"),
];

/// Words that are not keys of the table of a chain of losses.
const OF_CHAIN: Instead =
    &[(&["1-h", "h"], "write bad_loss, which is 1 - h"), (&["1-k", "k"], "write good_loss, which is 1 - k")];

/// Words that are not keys of a change of a link.
const OF_CHANGES: Instead = &[
    (
        &["jitter", "duplicate"],
        "it does not change during a run: write it beside changes, in the table of the link",
    ),
    (&["buffer", "ecn", "aqm"], "it does not change during a run"),
];

/// Words of ethtool's and of a kernel's that are not keys of senders.
const OF_TCP: Instead = &[
    (
        &["rx_usecs", "gro_flush_timeout", "lro", "coalesce", "interrupt_coalescing", "gro_time"],
        "write gro = \"0.1 ms\", which is how long packets are gathered",
    ),
    (
        &["generic_receive_offload", "rx_gro"],
        "write gro = \"0.1 ms\", or leave it out where nothing is gathered",
    ),
];

/// Returns the message about a word of tc's, or a key of another table, in a table of a link, whose keys are `names`.
fn of_netem(wrong: &str, names: &[&str]) -> Option<String> {
    let tables: [(&[&str], &str, Instead); 9] = [
        (&["loss", "jitter", "duplicate"], "links", OF_LINKS),
        (&["gilbert_elliott", "mean", "burst"], "losses", OF_LOSS),
        (&["good_loss", "bad_loss"], "a chain", OF_CHAIN),
        (&["at", "rate", "delay", "loss"], "changes", OF_CHANGES),
        (&["burst", "peak_rate", "mtu"], "a shaper", OF_SHAPER),
        (&["cburst", "quantum", "priority"], "classes", OF_CLASSES),
        (&["gro", "delayed_ack"], "senders", OF_TCP),
        (&["scheduler", "interval", "users"], "a cell", OF_CELL),
        (&["changes", "shift", "repeat"], "users of a cell", OF_USERS),
    ];
    let (_, table, words) =
        tables.into_iter().find(|(keys, ..)| keys.iter().all(|key| names.contains(key)))?;
    let (_, rule) = words.iter().find(|(words, _)| words.iter().any(|word| plain(word) == plain(wrong)))?;
    Some(format!("not a key of {table}: {rule}"))
}

/// A message, the name that was meant, and then the list of all, which may be long.
pub fn suggest(rule: &str, nearest: Option<&str>, known: Option<&str>) -> String {
    let mut text = rule.to_string();
    if let Some(name) = nearest {
        text.push_str(&format!("; did you mean \"{name}\"?"));
    }
    match (known, nearest) {
        (Some(known), None) => text.push_str(&format!("; {known}")),
        (Some(known), Some(_)) => {
            let mut letters = known.chars();
            let first = letters.next().map(|c| c.to_ascii_uppercase());
            text.push_str(&format!(" {}{}", first.map(String::from).unwrap_or_default(), letters.as_str()));
        }
        (None, _) => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use super::likeness::SYNONYMS;
    use super::*;

    const ALGORITHMS: &[&str] = &[
        "drop-tail",
        "red",
        "ared",
        "red-fixed",
        "pi",
        "pi-fixed",
        "blue",
        "fred",
        "sred",
        "red+tail",
        "wred",
    ];

    #[test]
    fn the_words_of_tc_are_answered_with_those_that_are_meant() {
        let parameters = |name: &str| -> Vec<&'static str> {
            (quell_aqm::catalog::find(name).unwrap().params)().iter().map(|p| p.name).collect()
        };
        let rule = |name, wrong| unknown("key", wrong, &parameters(name)).0;
        for (name, wrong, want) in [
            ("pie", "tupdate", "a word of tc's: write update_interval = \"16 ms\""),
            ("pie", "dq_rate_estimator", "a word of tc's: write delay_from = \"dequeue-rate\""),
            ("dualpi2", "coupling_factor", "a word of tc's: write k = 2"),
            ("dualpi2", "max_rtt", "a word of tc's: write rtt_max = \"90 ms\", target = \"15 ms\""),
            ("choke", "min", "a word of tc's: write min_th = \"30 packets\""),
            ("red", "min", "a word of tc's: write min_th = \"30 kB\""),
            ("red", "harddrop", "a word of tc's: write forced = \"drop\""),
            ("dualpi2", "step_thresh", "a word of tc's: write min_th = \"1 ms\", range = \"0 s\""),
            ("sfq", "divisor", "a word of tc's: write flows = 1024"),
            ("cake", "besteffort", "a word of tc's: write diffserv = \"besteffort\""),
            (
                "choke",
                "ecn",
                "a property of the link, not of the algorithm: write ecn = true in the link's table",
            ),
        ] {
            assert_eq!(rule(name, wrong), want, "{name}: {wrong}");
            assert_eq!(unknown("key", wrong, &parameters(name)).1, None);
        }
        // A slip is a slip, and a table that is not an algorithm's has keys of its own.
        assert_eq!(unknown("key", "targt", &parameters("pie")).1.as_deref(), Some("target"));
        assert!(!unknown("key", "limit", &["count", "rtt"]).0.contains("buffer"));
    }

    #[test]
    fn the_words_of_netem_are_answered_with_the_keys_of_links() {
        let link = &["rate", "delay", "buffer", "loss", "jitter", "duplicate", "changes"];
        for (wrong, want) in [
            ("gemodel", "write loss = { gilbert_elliott = { p = 0.01, r = 0.2 } }"),
            ("delay_jitter", "write jitter = { size = "),
            ("reorder", "reorder = true }"),
            ("corrupt", "add its probability to loss"),
            ("limit", "write buffer = "),
            ("slot", "let the rate change"),
            ("loss_state", "gilbert_elliott"),
            ("tbf", "write shaper = { rate = "),
            ("htb", "write classes = [{ name = "),
        ] {
            let (rule, nearest) = unknown("key", wrong, link);
            assert!(rule.starts_with("not a key of links: ") && rule.contains(want), "{wrong}: {rule}");
            assert_eq!(nearest, None);
            assert_eq!(unknown("key", wrong, &["count", "rtt"]).0, "unknown key");
        }
        let loss = &["gilbert_elliott", "mean", "burst"];
        let chain = &["p", "r", "good_loss", "bad_loss"];
        let change = &["at", "rate", "delay", "loss"];
        let shaper = &["rate", "burst", "peak_rate", "mtu", "limit"];
        let class = &["name", "parent", "rate", "cburst", "quantum", "priority", "match"];
        let tcp = &["congestion", "delayed_ack", "gro"];
        for (wrong, names, want) in [
            ("rx-usecs", &tcp[..], "not a key of senders: write gro = "),
            ("gemodel", &loss[..], "not a key of losses: write loss = { gilbert_elliott"),
            ("p", loss, "not a key of losses: write loss = { gilbert_elliott"),
            ("correlation", loss, "not a key of losses: losses come in bursts"),
            ("h", chain, "not a key of a chain: write bad_loss, which is 1 - h"),
            ("1-k", chain, "not a key of a chain: write good_loss, which is 1 - k"),
            ("jitter", change, "not a key of changes: it does not change during a run"),
            ("latency", shaper, "not a key of a shaper: write limit: what the rate sends in that time"),
            ("prio", class, "not a key of classes: write priority = 0"),
            ("mark", class, "not a key of classes: nothing sets marks of a firewall here"),
        ] {
            let (rule, _) = unknown("key", wrong, names);
            assert!(rule.starts_with(want), "{wrong}: {rule}");
        }
    }

    #[test]
    fn only_a_close_name_is_suggested() {
        let nearest = |wrong| nearest(wrong, ALGORITHMS.iter().copied());
        for (wrong, meant) in [
            ("drop_tail", "drop-tail"),
            ("DropTail", "drop-tail"),
            ("RED", "red"),
            ("red_fixed", "red-fixed"),
            ("REDTail", "red+tail"),
            ("redd", "red"),
            ("erd", "red"),
            ("drop-tial", "drop-tail"),
            ("fifo", "drop-tail"),
            ("pfifo", "drop-tail"),
            ("bfifo", "drop-tail"),
            ("tail-drop", "drop-tail"),
        ] {
            assert_eq!(nearest(wrong).as_deref(), Some(meant), "{wrong}");
        }
        for wrong in ["pie", "codel", "fq_codel", "cake", "p", "x", "", "something", &"red".repeat(70_000)] {
            assert_eq!(nearest(wrong), None);
        }
    }

    #[test]
    fn what_other_programs_have_is_said_not_to_be_in_this_version() {
        let rule = |wrong| unknown("algorithm", wrong, ALGORITHMS).0;
        for (wrong, closest) in [
            ("pie", "pi"),
            ("codel", "pi"),
            ("FQ-CoDel", "fred"),
            ("cake", "fred"),
            ("sfb", "blue"),
            ("GRED", "wred"),
        ] {
            let text = format!("not in this version; the closest in purpose is \"{closest}\"");
            assert_eq!(rule(wrong), text, "{wrong}");
        }
        assert_eq!(rule("redd"), "unknown algorithm");
        // What is there is the closest to itself.
        assert_eq!(
            unknown("algorithm", "PIE", &["pi", "pie"]),
            ("unknown algorithm".into(), Some("pie".into()))
        );
        assert_eq!(unknown("algorithm", "fq_codel", &["codel", "pie"]).0, unknown("x", "cake", &["codel"]).0);
    }

    #[test]
    fn a_congestion_control_is_said_to_be_none_for_queues() {
        for wrong in ["cubic", "BBR", "reno", "New-Reno", "sack"] {
            let (rule, meant) = unknown("algorithm", wrong, ALGORITHMS);
            assert!(rule.starts_with("a congestion control of senders"), "{wrong}: {rule}");
            assert_eq!(meant, None);
        }
        // As a loss recovery it is looked up among those.
        let recoveries = ["tahoe", "reno", "newreno", "sack"];
        assert_eq!(
            unknown("name", "bbr", &recoveries).0,
            "not in this version; the closest in purpose is \"sack\""
        );
        assert_eq!(unknown("name", "new-reno", &recoveries).1.as_deref(), Some("newreno"));
        // An algorithm, of a plug-in say, that has such a name is meant.
        assert_eq!(unknown("algorithm", "CUBIC", &["cubic"]).1.as_deref(), Some("cubic"));
    }

    #[test]
    fn every_closest_name_is_one_of_something_here() {
        let recoveries = ["tahoe", "reno", "newreno", "sack"];
        let all = || quell_aqm::catalog::CATALOG.iter().map(|e| e.name).chain(recoveries);
        for (others, closest) in WELL_KNOWN {
            assert!(all().any(|name| closest.contains(&name)), "{others:?}");
        }
        let keys = ["recovery"];
        assert!(SYNONYMS.iter().all(|(_, name)| all().chain(keys).any(|n| n == *name)));
    }

    #[test]
    #[cfg(feature = "lines")]
    fn a_line_of_tc_is_said_in_our_words() {
        let names = ["codel", "fq-codel", "pie", "drop-tail"];
        let rule = |line| unknown("algorithm", line, &names).0;
        let so = "what the line does not say is as tc and Linux 7.2 have it";
        assert_eq!(
            rule("fq_codel target 6ms quantum 300 flows 64 limit 1000 noecn"),
            format!(
                "a line of tc's; write algorithm = \"fq-codel\", flows = 64, quantum = \"300 B\", target = \"6 ms\", rules = \
                 \"linux\", arithmetic = \"linux\", and in the link's table buffer = \"1000 packets\"; {so}"
            )
        );
        // A name of two words, and what is neither.
        assert_eq!(unknown("algorithm", "FQ CoDel", &names).1.as_deref(), Some("fq-codel"));
        assert_eq!(rule("some thing"), "unknown algorithm");
    }

    #[test]
    fn the_list_comes_last() {
        assert_eq!(
            suggest("unknown key", Some("rtt"), Some("known keys: a, b")),
            "unknown key; did you mean \"rtt\"? Known keys: a, b"
        );
        assert_eq!(suggest("unknown key", None, Some("known keys: a")), "unknown key; known keys: a");
    }
}
