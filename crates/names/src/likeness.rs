//! The name that was meant.

/// Names that people know, of things that do the same job as something here, or that a later version may have:
/// how they are written elsewhere, and what comes closest in purpose, the best first.
pub(crate) const WELL_KNOWN: &[(&[&str], &[&str])] = &[
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

/// Other names of what is here, and what it was called.
pub(crate) const SYNONYMS: &[(&[&str], &str)] = &[
    (&["fifo", "pfifo", "bfifo", "pfifo_fast", "tail-drop", "none"], "drop-tail"),
    (&["variant"], "recovery"),
];

/// Returns a name without its case and the signs between its words.
pub(crate) fn plain(name: &str) -> String {
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
