//! Names that do not exist: what may have been meant.

use quell_aqm::tc::{self, Answer};
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
    (&["copa", "scream"], &["ledbat", "sack"]),
    (&["pcc"], &["bbr3", "sack"]),
    (&["yeah", "hybla"], &["cubic", "sack"]),
];

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
const DIALECTS: &[(&str, &str)] =
    &[("quell", "quell"), ("linux", "linux"), ("quic", "quic"), ("ns21b", "ns-2.1b"), ("ns227", "ns-2.27")];

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

/// Other names of what is here, and what it was called.
const SYNONYMS: &[(&[&str], &str)] = &[
    (&["fifo", "pfifo", "bfifo", "pfifo_fast", "tail-drop", "none"], "drop-tail"),
    (&["variant"], "recovery"),
];

/// The meaning of a number that `tc` gives, and so its unit here.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Time,
    Size,
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
        let digits = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
        let (number, unit) = value.split_at(digits);
        let unit = unit.to_ascii_lowercase();
        let unit = match (self, unit.as_str()) {
            (Kind::Time, "") => bare,
            (Kind::Time, "us" | "usec" | "usecs") => "us",
            (Kind::Time, "ms" | "msec" | "msecs") => "ms",
            (Kind::Time, "s" | "sec" | "secs") => "s",
            (Kind::Size, "" | "b") => "B",
            (Kind::Size, "k" | "kb") => "KiB",
            (Kind::Size, "m" | "mb") => "MiB",
            (Kind::Rate, "" | "bit") => "bit/s",
            (Kind::Rate, "kbit") => "kbit/s",
            (Kind::Rate, "mbit") => "Mbit/s",
            (Kind::Rate, "gbit") => "Gbit/s",
            (Kind::Number, "") => return Some(number.into()),
            _ => return None,
        };
        Some(format!("\"{number} {unit}\""))
    }
}

/// Translates a line of `tc`, if it is one: an algorithm's name, then its parameters.
fn of_tc(line: &str, names: &[&str]) -> Option<String> {
    let (first, rest) = line.trim().split_once(char::is_whitespace)?;
    let same = names.iter().find(|name| plain(name) == plain(first)).map(|name| name.to_string());
    let name = same.or_else(|| nearest(first, names.iter().copied()))?;
    let parameters = quell_aqm::catalog::find(&name).map_or(Vec::new(), |entry| (entry.params)());
    let own: Vec<&str> = parameters.iter().map(|p| p.name).collect();
    let (mut keys, mut of_the_link, mut remarks, mut others) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut words = rest.split_whitespace().take(24).peekable();
    while let Some(word) = words.next() {
        let value = words.next_if(|next| next.starts_with(|c: char| c.is_ascii_digit()));
        let parameter = parameters.iter().find(|p| p.name == word);
        // tc's limit is of all that waits; of RED, and of a FIFO in bytes, it is in bytes.
        if let (true, Some(value)) = (word == "limit", value) {
            let in_bytes = name == "red" || plain(first) == "bfifo";
            let size = if in_bytes { Kind::Size.ours(value, "") } else { Kind::Number.ours(value, "") };
            match size {
                Some(size) if in_bytes => of_the_link.push(format!("buffer = {size}")),
                Some(size) => of_the_link.push(format!("buffer = \"{size} packets\"")),
                None => others.push(word),
            }
            continue;
        }
        let written = match (parameter, value) {
            (Some(parameter), Some(value)) => {
                let kind = Kind::of_unit(parameter.unit);
                let sixteenths =
                    matches!(word, "alpha" | "beta") && ["pie", "fq-pie"].contains(&name.as_str());
                let bare = if word == "perturb" { "s" } else { "us" };
                match value.parse::<f64>() {
                    Ok(n) if sixteenths => Some(format!("{word} = {}", n / 16.0)),
                    _ => kind.ours(value, bare).map(|value| format!("{word} = {value}")),
                }
            }
            _ => match (tc::answer(word, &own), value) {
                (Some(Answer::Write(text)), Some(value)) => in_place(word, text, value),
                (Some(Answer::Write(text)), None) => Some(text.to_string()),
                (Some(Answer::Link(text)), None) => {
                    of_the_link.push(text.to_string());
                    continue;
                }
                (Some(Answer::Link(text)), Some(value)) => match in_place(word, text, value) {
                    Some(text) => {
                        of_the_link.push(text);
                        continue;
                    }
                    None => None,
                },
                (Some(Answer::Says(reason)), _) => {
                    remarks.push(format!("{word}: {reason}"));
                    continue;
                }
                (None, _) => None,
            },
        };
        match written {
            Some(text) => keys.push(text),
            None => others.push(word),
        }
    }
    let is_buffer = |text: &&String| text.starts_with("buffer = ");
    if of_the_link.iter().filter(is_buffer).count() > 1 {
        let last = of_the_link.iter().rposition(|text| is_buffer(&text)).expect("there are two");
        let left_out = of_the_link.remove(last);
        remarks.push(format!("a buffer has one size here, in packets or in bytes: {left_out} is left out"));
    }
    let mut text = format!("a line of tc's; write algorithm = \"{name}\"");
    for key in keys {
        text.push_str(&format!(", {key}"));
    }
    if !of_the_link.is_empty() {
        text.push_str(&format!(", and in the link's table {}", of_the_link.join(", ")));
    }
    for remark in remarks {
        text.push_str(&format!("; {remark}"));
    }
    if !others.is_empty() {
        let others = quell_units::text::cut(&others.join(" ")).to_string();
        text.push_str(&format!("; for \"{others}\" see `quell aqm describe {name}`"));
    }
    Some(text)
}

/// The answer to a word of `tc`, with the value that it had in the place of the example's.
fn in_place(word: &str, answer: &str, value: &str) -> Option<String> {
    let (key, rest) = answer.split_once(" = ")?;
    let (example, rest) = rest.split_once(", ").map_or((rest, None), |(example, rest)| (example, Some(rest)));
    // Shares are given in percent.
    let percent = matches!(word, "classic_protection" | "ecn_prob");
    let value = match value.trim_end_matches('%').parse::<f64>() {
        Ok(x) if percent => (x / 100.0).to_string(),
        _ => {
            let bare = if matches!(word, "rehash" | "db") { "ms" } else { "us" };
            Kind::of_example(example).ours(value, bare)?
        }
    };
    Some(format!("{key} = {value}{}", rest.map_or(String::new(), |rest| format!(", {rest}"))))
}

/// Returns a name without its case and the signs between its words.
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

/// Returns the message about a name of some kind ("algorithm") that is not among `names`, without the list of
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
    if kind == "key"
        && let Some(rule) = misplaced(wrong, names)
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
        && tc::is_algorithm(names)
        && let Some(answer) = tc::answer(wrong, names)
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
        let parameters = |name: &str| -> Vec<&'static str> {
            (quell_aqm::catalog::find(name).unwrap().params)().iter().map(|p| p.name).collect()
        };
        let rule = |name, wrong| unknown("key", wrong, &parameters(name)).0;
        for (name, wrong, want) in [
            ("pie", "tupdate", "a word of tc's: write update_interval = \"16 ms\""),
            ("pie", "dq_rate_estimator", "a word of tc's: write delay_from = \"dequeue-rate\""),
            ("dualpi2", "coupling_factor", "a word of tc's: write k = 2"),
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
            "a line of tc's; write algorithm = \"pie\", update_interval = \"16 ms\"; bytemode: a packet's \
             size does not change its probability here, as with nobytemode"
        );
        assert_eq!(
            rule("pfifo limit 50"),
            "a line of tc's; write algorithm = \"drop-tail\", and in the link's table buffer = \"50 packets\""
        );
        let names = ["cake", "dualpi2", "red", "sfb", "sfq", "pie"];
        let rule = |line| unknown("algorithm", line, &names).0;
        for (line, want) in [
            (
                "cake bandwidth 20mbit besteffort dual-srchost nat docsis rtt 30ms",
                "cake\", bandwidth = \"20 Mbit/s\", diffserv = \"besteffort\", isolation = \"dual-srchost\", overhead = \
                 \"18 B\", mpu = \"64 B\", framing = \"noatm\", rtt = \"30 ms\"; nat: addresses are the hosts' own here, as \
                 with nonat: leave it out",
            ),
            (
                "dualpi2 limit 10000 memlimit 1mb step_thresh 2ms coupling_factor 3 classic_protection 20% drop_enqueue foo",
                "dualpi2\", min_th = \"2 ms\", range = \"0 s\", k = 3, c_weight = 0.2, signal_at = \"enqueue\", and in the \
                 link's table buffer = \"10000 packets\"; a buffer has one size here, in packets or in bytes: buffer = \"1 MiB\" is left out; \
                 for \"foo\" see `quell aqm describe dualpi2`",
            ),
            (
                "red limit 400000 min 30000 max 90000 probability 0.02",
                "red\", min_th = \"30000 B\", max_th = \"90000 B\", max_p = 0.02, and in the link's table buffer = \"400000 B\"",
            ),
            (
                "sfb rehash 600000 db 60000 target 20",
                "sfb\", rehash_interval = \"600000 ms\", warmup = \"60000 ms\", bin_size = 20",
            ),
            (
                "sfq perturb 10 quantum 1514 divisor 1024",
                "sfq\", perturb = \"10 s\", quantum = \"1514 B\", flows = 1024",
            ),
            ("pie target 15000 alpha 2 beta 20", "pie\", target = \"15000 us\", alpha = 0.125, beta = 1.25"),
        ] {
            assert_eq!(rule(line), format!("a line of tc's; write algorithm = \"{want}"));
        }
        let names = ["codel", "fq-codel", "pie", "drop-tail"];
        let rule = |line| unknown("algorithm", line, &names).0;
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
