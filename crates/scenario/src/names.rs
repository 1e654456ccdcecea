//! Names that do not exist: what may have been meant.

/// Names that people know, of things that do the same job as something here, or that a later version may have:
/// how they are written elsewhere, and what comes closest in purpose, the best first.
const WELL_KNOWN: &[(&[&str], &[&str])] = &[
    (&["codel", "cobalt"], &["codel", "pie", "pi"]),
    (&["pie", "pi2", "dualpi2", "dualq"], &["pie", "pi"]),
    (&["fq_codel", "fq_cobalt", "cake"], &["fq-codel", "codel", "fred"]),
    (&["fq_pie"], &["fq-codel", "pie", "fred"]),
    (&["sfq", "fq", "drr", "wfq", "hhf"], &["fq-codel", "fred"]),
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

/// What governs senders and no queue, as a user may write it; some of it is here, as TCP's.
const CONGESTION_CONTROLS: &[&str] = &[
    "tahoe",
    "reno",
    "newreno",
    "sack",
    "cubic",
    "bic",
    "htcp",
    "highspeed",
    "illinois",
    "compound",
    "ctcp",
    "westwood",
    "veno",
    "bbr",
    "bbr1",
    "bbr2",
    "bbr3",
    "vegas",
    "dctcp",
    "prague",
    "ledbat",
    "yeah",
    "hybla",
    "scalable",
];

/// Other names of what is here, and what it was called.
const SYNONYMS: &[(&[&str], &str)] = &[
    (&["fifo", "pfifo", "bfifo", "pfifo_fast", "tail-drop", "none"], "drop-tail"),
    (&["variant"], "recovery"),
];

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

fn is_well_known(plain_name: &str) -> bool {
    WELL_KNOWN.iter().any(|(others, _)| others.iter().any(|o| plain(o) == plain_name))
}

/// What a message says of a name of some kind ("algorithm") that is not among `names`, without the list of
/// them, and the one that was meant, if there is one.
pub fn unknown(kind: &str, wrong: &str, names: &[&str]) -> (String, Option<String>) {
    let same = |others: &[&str]| others.iter().any(|o| plain(o) == plain(wrong));
    if kind.starts_with("algorithm") && same(CONGESTION_CONTROLS) && !same(names) {
        let rule = "a congestion control of senders, not an algorithm for queues; a group of flows has one as \
                    tcp.congestion (flows[0].tcp.congestion: reno, cubic, dctcp, prague, ledbat, bbr1 or bbr3), and a loss \
                    recovery (flows[0].tcp.recovery: tahoe, reno, newreno, sack, prr or rack)";
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
        assert!(SYNONYMS.iter().all(|(_, name)| all().chain(["recovery"]).any(|n| n == *name)));
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
