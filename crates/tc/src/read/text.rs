//! Lines and what `tc show` prints for people.

use super::dump::{Counters, Dump, Head, OF_STAB, class, queue, stab, structure};
use crate::{Kernel, grammar};

/// A line with what belongs to it, in words.
#[derive(Default)]
struct Record<'a> {
    line: usize,
    words: Vec<&'a str>,
    /// The lines of counters below it.
    counts: Vec<&'a str>,
}

/// Reads a text.
pub(super) fn read(dump: &mut Dump, text: &str, kernel: Kernel) {
    let mut record: Option<Record<'_>> = None;
    let mut continued = false;
    // Lines may end as in Windows, or in old Macintoshes.
    let lines = text
        .split('\n')
        .enumerate()
        .flat_map(|(n, line)| line.trim_end_matches('\r').split('\r').map(move |line| (n + 1, line)));
    for (number, line) in lines {
        let body = line.trim_matches('\0');
        let indented = body.starts_with([' ', '\t']);
        let trimmed = body.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continued = false;
            continue;
        }
        let is_shown =
            trimmed.starts_with("qdisc ") || trimmed.starts_with("class ") || trimmed.starts_with("tc ");
        let counted = record.as_ref().is_some_and(|r| !r.counts.is_empty());
        // Some counters of dualpi2's begin at the margin.
        let more = record.is_some() && (continued || !is_shown && (indented || counted && !is_line(trimmed)));
        let ends = trimmed.strip_suffix('\\');
        let counts =
            counted || ["Sent ", "prob_mark ", "forced_mark "].iter().any(|begin| trimmed.starts_with(begin));
        let carried = std::mem::replace(&mut continued, ends.is_some());
        let trimmed = ends.unwrap_or(trimmed);
        match &mut record {
            Some(record) if more && counts => record.counts.push(trimmed),
            Some(record) if more => {
                // tc -d shows the table of sizes in a line of its own, without its name.
                if !carried && trimmed.starts_with("linklayer ") {
                    record.words.push("stab");
                }
                record.words.extend(trimmed.split_whitespace());
            }
            _ => {
                finish(dump, record.take(), kernel);
                record = Some(Record {
                    line: number,
                    words: trimmed.split_whitespace().collect(),
                    counts: Vec::new(),
                });
            }
        }
    }
    finish(dump, record, kernel);
}

/// Says whether a line begins as one that people type.
fn is_line(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    ["sudo", "filter", "ip", "modprobe"].contains(&first)
        || grammar::find(first).is_some()
        || structure(first).is_some()
}

/// Adds what a record says. One of a shell may have several commands.
fn finish(dump: &mut Dump, record: Option<Record<'_>>, kernel: Kernel) {
    let Some(record) = record else { return };
    let is_separator = |word: &str| matches!(word, "&&" | ";" | "||" | "|");
    // What a shell is told of a command's output is none of its words.
    let is_redirection =
        |word: &&&str| word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&').starts_with('>');
    // A semicolon may stand at the end of a word.
    let words: Vec<&str> = record
        .words
        .iter()
        .filter(|word| !is_redirection(word))
        .flat_map(|word| match word.strip_suffix(';') {
            Some(rest) if !rest.is_empty() => vec![rest, ";"],
            _ => vec![*word],
        })
        .collect();
    let parts: Vec<&[&str]> =
        words.split(|word| is_separator(word)).filter(|part| !part.is_empty()).collect();
    let counts = counters(&record.counts);
    for (i, part) in parts.iter().enumerate() {
        let counts = counts.clone().filter(|_| i + 1 == parts.len());
        command(dump, record.line, part, counts, kernel);
    }
}

/// Adds what a command or a shown line says.
fn command(dump: &mut Dump, line: usize, words: &[&str], counts: Option<Counters>, kernel: Kernel) {
    let mut words = words;
    while let [first, rest @ ..] = words {
        let is_before = matches!(*first, "sudo" | "tc" | "/sbin/tc" | "/usr/sbin/tc" | "exec") || {
            // tc's own options: -s, -d, -n NAME.
            first.starts_with('-') && first.len() <= 8
        };
        if !is_before {
            break;
        }
        words = match (*first, rest) {
            ("-n" | "-netns", [_, rest @ ..]) => rest,
            _ => rest,
        };
    }
    let (object, rest) = match words {
        [object @ ("qdisc" | "class" | "filter"), rest @ ..] => (*object, rest),
        // A kind alone, with its options.
        [kind, ..] if grammar::find(kind).is_some() || structure(kind).is_some() => ("qdisc", words),
        [first, ..] if is_kind(first) => ("qdisc", words),
        // What makes devices, or nothing.
        ["modprobe" | "true" | ":", ..] | ["ip", "link", "add" | "set" | "del" | "delete", ..] => return,
        [first, ..] => return dump.problem(line, first, "not a line of tc's; left out", false),
        [] => return,
    };
    match object {
        "filter" => dump.problem(
            line,
            "filter",
            "filters are not read: write match in the class that it leads to",
            false,
        ),
        "class" => of_class(dump, line, rest, counts),
        _ => of_queue(dump, (line, words.len() > rest.len()), rest, counts, kernel),
    }
}

/// Says whether a word may be the name of a qdisc that is not known.
fn is_kind(word: &str) -> bool {
    word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Takes a verb of tc's off.
fn verb<'a, 'w>(words: &'w [&'a str]) -> (Option<&'a str>, &'w [&'a str]) {
    match words {
        [
            verb @ ("add" | "replace" | "change" | "link" | "show" | "ls" | "list" | "del" | "delete"),
            rest @ ..,
        ] => (Some(verb), rest),
        _ => (None, words),
    }
}

/// Takes off what says where something is.
fn place<'a, 'w>(head: &mut Head<'a>, mut words: &'w [&'a str]) -> &'w [&'a str] {
    loop {
        words = match words {
            ["dev", device, rest @ ..] => {
                head.device = Some(device);
                rest
            }
            ["parent", parent, rest @ ..] => {
                head.parent = Some(parent);
                rest
            }
            ["handle" | "classid", handle, rest @ ..] => {
                head.handle = Some(handle);
                rest
            }
            ["root", rest @ ..] => rest,
            ["refcnt" | "ingress_block" | "egress_block" | "estimator", _, rest @ ..] => rest,
            ["offloaded" | "deleted", rest @ ..] => rest,
            [handle, rest @ ..] if is_handle(handle) => {
                head.handle = Some(handle);
                rest
            }
            _ => return words,
        };
    }
}

/// Says whether a word is a handle, such as `8001:` or `1:10`.
fn is_handle(word: &str) -> bool {
    let hex = |text: &str| text.len() <= 8 && text.chars().all(|c| c.is_ascii_hexdigit());
    word.split_once(':').is_some_and(|(major, minor)| hex(major) && hex(minor))
}

/// Adds a queue. `named` says that the word qdisc stands before the others.
fn of_queue(
    dump: &mut Dump,
    (line, named): (usize, bool),
    words: &[&str],
    counts: Option<Counters>,
    kernel: Kernel,
) {
    let (verb, words) = verb(words);
    let mut head = Head { line, ..Head::default() };
    let (table, words) = without_stab(words);
    let words = place(&mut head, &words);
    if !table.is_empty() {
        head.stab = stab(dump, line, table.into_iter(), head.device);
    }
    if matches!(verb, Some("del" | "delete")) {
        return dump.remove(&head, words.first().copied());
    }
    if matches!(verb, Some("show" | "ls" | "list")) {
        let says = "only asks for queues; give the line that adds one, or what show prints";
        return dump.problem(line, verb.unwrap_or_default(), says, false);
    }
    let [kind, words @ ..] = words else {
        return dump.problem(line, "qdisc", "the line ends before the name of a qdisc: was it cut?", true);
    };
    head.kind = kind;
    if *kind == "ingress" || *kind == "clsact" {
        return queue(dump, &head, &[], counts, kernel);
    }
    let words = place(&mut head, words);
    head.shown = named && verb.is_none() && head.handle.is_some();
    let words = if *kind == "sfb" { of_sfb(words) } else { words.to_vec() };
    queue(dump, &head, &words, counts, kernel);
}

/// The words of a table of sizes, each with its value, and the others.
fn without_stab<'a>(words: &[&'a str]) -> (Vec<(&'a str, &'a str)>, Vec<&'a str>) {
    let Some(at) = words.iter().position(|word| *word == "stab") else { return (Vec::new(), words.to_vec()) };
    let (before, behind) = (&words[..at], &words[at + 1..]);
    let is_own = |pair: &&[&str]| pair.len() == 2 && OF_STAB.contains(&pair[0]);
    let own: Vec<(&str, &str)> = behind.chunks(2).take_while(is_own).map(|pair| (pair[0], pair[1])).collect();
    let rest = [before, &behind[2 * own.len()..]].concat();
    (own, rest)
}

/// What older versions of tc print of sfb: `penalty rate 10 burst 20 (600000ms 60000ms)`.
fn of_sfb<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut out = Vec::new();
    let mut penalty = false;
    let mut times = ["rehash", "db"].into_iter();
    for word in words {
        match *word {
            "penalty" => penalty = true,
            "rate" if penalty => out.push("penalty_rate"),
            "burst" if penalty => out.push("penalty_burst"),
            time if time.ends_with("ms") || time.ends_with("ms)") => {
                let time = time.trim_matches(['(', ')']);
                let named = out.last().is_some_and(|last| ["rehash", "db"].contains(last));
                if !named {
                    out.extend(times.next());
                }
                out.push(time);
            }
            word => out.push(word),
        }
    }
    out
}

fn of_class(dump: &mut Dump, line: usize, words: &[&str], counts: Option<Counters>) {
    let (verb, words) = verb(words);
    let mut head = Head { line, ..Head::default() };
    let words = place(&mut head, words);
    let [kind, words @ ..] = words else {
        return dump.problem(
            line,
            verb.unwrap_or("class"),
            "the line ends before the kind of the class: was it cut?",
            true,
        );
    };
    let words = place(&mut head, words);
    if *kind != "htb" {
        // tbf, fq_codel and others show their queues and flows so, and of those there is nothing to read.
        let is_queue =
            grammar::find(kind).is_some() || matches!(*kind, "mq" | "netem" | "fq" | "ingress" | "clsact");
        if verb.is_none() && is_queue {
            return;
        }
        return dump.problem(line, kind, "classes of htb are read, and no others", false);
    }
    if head.handle.is_none() {
        return dump.problem(line, "class", "has no classid, such as 1:10", true);
    }
    head.shown = verb.is_none();
    class(dump, &head, words, counts);
}

/// The names of CAKE's tins by how many there are.
fn tins(n: usize) -> Vec<String> {
    let names: &[&str] = match n {
        1 => &["Tin 0"],
        3 => &["Bulk", "Best Effort", "Voice"],
        4 => &["Bulk", "Best Effort", "Video", "Voice"],
        _ => &[],
    };
    match names {
        [] => (0..n).map(|i| format!("Tin {i}")).collect(),
        names => names.iter().map(|name| name.to_string()).collect(),
    }
}

/// Rows of CAKE's table of tins.
#[rustfmt::skip]
const ROWS: &[&str] = &[
    "thresh", "target", "interval", "pk_delay", "av_delay", "sp_delay", "backlog", "pkts", "bytes", "way_inds",
    "way_miss",
    "way_cols", "drops", "marks", "ack_drop", "sp_flows", "bk_flows", "un_flows", "max_len", "quantum",
];

/// The counters of the lines below a record.
fn counters(lines: &[&str]) -> Option<Counters> {
    if lines.is_empty() {
        return None;
    }
    let mut counters = Counters::default();
    // A dump may be cut.
    let has = |word: &str| lines.iter().any(|line| line.contains(word));
    if !has("dropped ") {
        counters.lacking.push("drops");
    }
    if !has("backlog ") {
        counters.lacking.extend(["backlog", "qlen"]);
    }
    let mut table = false;
    for line in lines {
        let words: Vec<&str> =
            line.split([' ', '\t', '(', ')', ',']).filter(|word| !word.is_empty()).collect();
        let number = |word: Option<&&str>| {
            let digits = word?.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            digits.parse::<u64>().ok()
        };
        match words[..] {
            ["Sent", ..] => {
                // A number that its word does not follow may be half of one.
                let whole = |at: usize, word: &str| {
                    words
                        .get(at + 1)
                        .filter(|next| next.starts_with(word))
                        .and_then(|_| number(words.get(at)))
                };
                counters.bytes = counters.known("bytes", whole(1, "bytes"));
                counters.packets = counters.known("packets", whole(3, "pkt"));
                counters.pairs(&words[5.min(words.len())..]);
            }
            ["memory_used", used, "max", most, ..] => {
                counters.pair("memory_used", used);
                counters.pair("max_memory_used", most);
            }
            ["backlog", _, _, ref rest @ ..] if !table => {
                counters.backlog_bytes = words.get(1).and_then(|word| crate::values::size(word)).unwrap_or(0);
                counters.backlog_packets = number(words.get(2)).unwrap_or(0);
                counters.pairs(rest);
            }
            [row, ref values @ ..]
                if ROWS.contains(&row) && !values.is_empty() && (table || row == "thresh") =>
            {
                if !table {
                    counters.tins = tins(values.len()).into_iter().map(|name| (name, Vec::new())).collect();
                }
                table = true;
                for ((_, tin), value) in counters.tins.iter_mut().zip(values) {
                    tin.push((row.to_string(), value.to_string()));
                }
            }
            _ if line.contains(": ") || line.ends_with(':') => {
                if let Some((name, value)) = line.split_once(':') {
                    counters.others.push((name.trim().to_string(), value.trim().to_string()));
                }
            }
            // The head of the table of tins.
            ["Bulk" | "Tin", ..] => {}
            _ => counters.pairs(&words),
        }
    }
    counters.count_marks();
    Some(counters)
}

impl Counters {
    /// A basic counter, or 0 if the text lacks it, which is kept.
    pub(super) fn known(&mut self, name: &'static str, found: Option<u64>) -> u64 {
        if found.is_none() {
            self.lacking.push(name);
        }
        found.unwrap_or(0)
    }

    /// Reads names, each with its value behind it.
    fn pairs(&mut self, words: &[&str]) {
        let mut words = words.iter();
        while let Some(name) = words.next() {
            let Some(value) = words.next() else { return };
            self.pair(name, value);
        }
    }

    /// Adds a counter by tc's name for it.
    pub(super) fn pair(&mut self, name: &str, value: &str) {
        let number = value.parse::<u64>();
        match (name, number) {
            ("dropped" | "drops", Ok(n)) if self.dropped == 0 && self.others.is_empty() => self.dropped = n,
            ("overlimits", Ok(n)) => self.overlimits = n,
            ("requeues", Ok(n)) => self.requeues = n,
            _ => self.others.push((name.to_string(), value.to_string())),
        }
    }

    /// Finds the packets that were marked.
    pub(super) fn count_marks(&mut self) {
        let names = ["ecn_mark", "marked", "ecn_marks", "marks", "ce_mark"];
        let of = |pairs: &[(String, String)]| -> Option<u64> {
            // JSON of dualpi2 has dashes.
            let found = pairs.iter().filter(|(name, _)| names.contains(&name.replace('-', "_").as_str()));
            found.filter_map(|(_, value)| value.parse::<u64>().ok()).reduce(u64::saturating_add)
        };
        let tins = self.tins.iter().filter_map(|(_, pairs)| of(pairs)).reduce(u64::saturating_add);
        self.marked = of(&self.others).or(tins);
    }
}
