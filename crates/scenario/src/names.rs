//! Names that do not exist: what may have been meant.

use quell_tcp::catalog;

/// Names that people know, of things that do the same job as something here, or that a later version may have:
/// how they are written elsewhere, and what comes closest in purpose, the best first.
const WELL_KNOWN: &[(&[&str], &[&str])] = &[
    (&["codel", "cobalt"], &["codel", "pie", "pi"]),
    (&["pie", "pi2", "dualpi2", "dualq"], &["pie", "pi"]),
    (&["fq_codel", "fq_cobalt"], &["fq-codel", "codel", "fred"]),
    (&["cake", "cake_mq"], &["cake", "fq-codel", "codel", "fred"]),
    (&["fq_pie"], &["fq-pie", "fq-codel", "pie", "fred"]),
    (&["sfq", "drr", "wfq"], &["sfq", "fq-codel", "fred"]),
    (&["fq", "hhf"], &["fq-codel", "fred"]),
    (&["sfb"], &["blue"]),
    (&["gred", "rio"], &["wred"]),
    (&["choke"], &["sred"]),
    (
        &["cubic", "bic", "htcp", "highspeed", "illinois", "compound", "ctcp", "westwood", "veno"],
        &["cubic", "sack"],
    ),
    (&["dctcp", "scalable"], &["dctcp", "sack"]),
    (&["prague", "l4s"], &["prague", "sack"]),
    (&["ledbat", "vegas"], &["ledbat", "sack"]),
    (&["bbr", "bbr1", "bbr2", "bbr3"], &["bbr3", "sack"]),
    (&["yeah", "hybla"], &["cubic", "sack"]),
];

/// What governs senders and no queue, as a user may write it, beside what the catalog of senders has.
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
];

/// Other names of what senders are made of: a key, names that its values have elsewhere, and the value.
const SENDERS: &[(&str, &[&str], &str)] = &[
    ("congestion", &["bbr", "bbrv3"], "bbr3"),
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
    ("feedback", &["quic"], "exact"),
    ("feedback", &["accurate-ecn", "rfc9768"], "accecn"),
];

/// What a message says of a value of a key by which senders are chosen, if it says more than of any other name: the
/// rule, if it is a value of another key, and the value that was meant. `names` are those that the key has.
pub(crate) fn of_sender(wrong: &str, names: &[&str]) -> Option<(Option<String>, Option<String>)> {
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
    let (other, name) = keys.into_iter().find_map(|other| Some((other, found(other)?)))?;
    Some((Some(format!("is a value of {other}, not of {key}: write {other} = \"{name}\"")), None))
}

/// Other names of what is here, and what it was called.
const SYNONYMS: &[(&[&str], &str)] = &[
    (&["fifo", "pfifo", "bfifo", "pfifo_fast", "tail-drop", "none"], "drop-tail"),
    (&["variant"], "recovery"),
    (&["tupdate", "t_update"], "update_interval"),
    (&["dq_rate_estimator"], "delay_from"),
    (&["step_thresh"], "delay"),
];

/// What `tc` says of a queue, but a link's table says here.
const OF_THE_LINK: &[(&str, &str)] = &[
    (
        "limit",
        "a property of the link, not of the algorithm: write buffer = \"1000 packets\" in the link's table",
    ),
    ("ecn", "a property of the link, not of the algorithm: write ecn = true in the link's table"),
    ("noecn", "a property of the link, not of the algorithm: write ecn = false in the link's table"),
];

/// Units of `tc`, and ours.
const UNITS: &[(&str, &str)] = &[
    ("us", "us"),
    ("ms", "ms"),
    ("s", "s"),
    ("kbit", "kbit/s"),
    ("mbit", "Mbit/s"),
    ("gbit", "Gbit/s"),
    ("b", "B"),
    ("kb", "KiB"),
];

/// What a line of `tc` means here, if it is one: an algorithm's name, then its parameters.
fn of_tc(line: &str, names: &[&str]) -> Option<String> {
    let (first, rest) = line.trim().split_once(char::is_whitespace)?;
    let same = names.iter().find(|name| plain(name) == plain(first)).map(|name| name.to_string());
    let name = same.or_else(|| nearest(first, names.iter().copied()))?;
    let (mut keys, mut of_the_link, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let mut words = rest.split_whitespace().take(24).peekable();
    while let Some(word) = words.next() {
        let key = SYNONYMS.iter().find(|(tc, _)| tc.contains(&word)).map_or(word, |(_, name)| name);
        let value = words.next_if(|next| next.starts_with(|c: char| c.is_ascii_digit()));
        let (number, unit) = match value {
            Some(text) => {
                text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()))
            }
            None => ("", ""),
        };
        let ours = UNITS.iter().find(|(tc, _)| unit.eq_ignore_ascii_case(tc)).map(|(_, ours)| *ours);
        match (key, value, ours) {
            ("limit", Some(_), _) => of_the_link.push(format!("buffer = \"{number} packets\"")),
            ("ecn", None, _) => of_the_link.push("ecn = true".into()),
            ("noecn", None, _) => of_the_link.push("ecn = false".into()),
            ("quantum" | "mtu" | "burst", Some(_), None) => keys.push(format!("{key} = \"{number} B\"")),
            (_, Some(_), Some(unit)) => keys.push(format!("{key} = \"{number} {unit}\"")),
            (_, Some(_), None) if unit.is_empty() => keys.push(format!("{key} = {number}")),
            _ => others.push(word),
        }
    }
    let mut text = format!("a line of tc's; write algorithm = \"{name}\"");
    for key in keys {
        text.push_str(&format!(", {key}"));
    }
    if !of_the_link.is_empty() {
        text.push_str(&format!(", and in the link's table {}", of_the_link.join(", ")));
    }
    if !others.is_empty() {
        let others = quell_units::text::cut(&others.join(" ")).to_string();
        text.push_str(&format!("; for \"{others}\" see `quell aqm describe {name}`"));
    }
    Some(text)
}

/// How a name reads whatever the case and the signs between its words.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The name that `wrong` was meant to be: the same but for case and the signs between words, another name for
/// the same thing, or one that a slip or two make of it. Short names need more likeness: one letter in three.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let wrong = plain(wrong);
    let names: Vec<&str> = names.into_iter().collect();
    let synonym = SYNONYMS
        .iter()
        .find(|(others, name)| others.iter().any(|o| plain(o) == wrong) && names.contains(name))
        .map(|(_, name)| *name);
    let alike = || {
        names
            .iter()
            // What is longer than any name is not compared with them: it may be very long.
            .filter(|name| wrong.len() <= 2 * name.len())
            .map(|name| (strsim::damerau_levenshtein(&wrong, &plain(name)), *name))
            .filter(|(distance, name)| 3 * distance <= plain(name).len().min(wrong.len()))
            .min()
            .map(|(_, name)| name)
    };
    if wrong.is_empty() || is_well_known(&wrong) && !names.iter().any(|n| plain(n) == wrong) {
        return None;
    }
    synonym.or_else(alike).map(str::to_string)
}

/// "a, b or c".
fn either(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

fn is_well_known(plain_name: &str) -> bool {
    WELL_KNOWN.iter().any(|(others, _)| others.iter().any(|o| plain(o) == plain_name))
}

/// What a message says of a name of some kind ("algorithm") that is not among `names`, without the list of
/// them, and the one that was meant, if there is one.
pub fn unknown(kind: &str, wrong: &str, names: &[&str]) -> (String, Option<String>) {
    if kind.starts_with("algorithm")
        && !names.iter().any(|name| plain(name) == plain(wrong))
        && let Some(rule) = of_tc(wrong, names)
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
    let of_an_algorithm = kind == "key" && ["target", "min_th"].iter().any(|key| names.contains(key));
    if of_an_algorithm && let Some((_, rule)) = OF_THE_LINK.iter().find(|(other, _)| *other == plain(wrong)) {
        return (rule.to_string(), None);
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
        let pie = ["target", "update_interval", "delay_from", "alpha"];
        assert_eq!(unknown("key", "tupdate", &pie).1, Some("update_interval".into()));
        assert_eq!(unknown("key", "dq_rate_estimator", &pie).1, Some("delay_from".into()));
        for (wrong, want) in [("limit", "buffer = "), ("ecn", "ecn = true"), ("noecn", "ecn = false")] {
            let (rule, nearest) = unknown("key", wrong, &pie);
            assert!(rule.contains(want) && nearest.is_none(), "{wrong}: {rule}");
        }
        assert!(!unknown("key", "limit", &["count", "rtt"]).0.contains("buffer"));
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
        let keys = ["recovery", "update_interval", "delay_from", "delay"];
        assert!(SYNONYMS.iter().all(|(_, name)| all().chain(keys).any(|n| n == *name)));
    }

    #[test]
    fn a_line_of_tc_is_said_in_our_words() {
        let names = ["codel", "fq-codel", "pie", "drop-tail"];
        let rule = |line| unknown("algorithm", line, &names).0;
        assert_eq!(
            rule("fq_codel target 5ms quantum 300 flows 64 limit 1000 noecn"),
            "a line of tc's; write algorithm = \"fq-codel\", target = \"5 ms\", quantum = \"300 B\", flows = 64, and in \
             the link's table buffer = \"1000 packets\", ecn = false"
        );
        assert_eq!(
            rule("pie tupdate 16ms bytemode"),
            "a line of tc's; write algorithm = \"pie\", update_interval = \"16 ms\"; for \"bytemode\" see `quell aqm \
             describe pie`"
        );
        assert_eq!(
            rule("pfifo limit 50"),
            "a line of tc's; write algorithm = \"drop-tail\", and in the link's table buffer = \"50 packets\""
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
