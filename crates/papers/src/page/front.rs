//! The index of the pages: what was reproduced, what was not, and what cannot be.

use std::collections::BTreeMap;

use quell_lab::distinct;
use quell_view::picture::{Kind, Outcome, Sheet, Tally, tally};

use super::strip::Strip;
use super::words::{RULES, WRITTEN, table_name};
use crate::cells::Cell;
use crate::experiment::Papers;
use crate::judge::{Holds, Verdict};
use crate::record::{MIDDLE, Record};
use crate::score::{LEAST_NUMBERS, LEAST_SHARE, Reproduced, Score, scores_on_record};

/// The scores on record: a document's key, its table (empty for claims), and the counts.
type Rows = Vec<(String, String, Score)>;

/// What comes out of each algorithm.
type Algorithms = BTreeMap<String, Reproduced>;

/// The score of all documents and of the algorithms by the verdicts on record, in Markdown.
pub fn scoreboard(papers: &Papers, record: &Record, algorithms: &Algorithms) -> String {
    let rows = scores_on_record(papers, record);
    let sum = |of: &dyn Fn(&(String, String, Score)) -> bool| {
        rows.iter().filter(|row| of(row)).fold(Score::default(), |all, (.., score)| all.and(score))
    };
    let all = sum(&|_| true);
    let mut documents = String::new();
    for document in &papers.documents {
        let score = sum(&|(key, ..)| *key == document.key);
        documents.push_str(&line(&format!("[{}]({}.md)", document.about.reference, document.key), &score));
    }
    documents.push_str(&line("**all**", &all));
    let mut tables = String::new();
    for document in &papers.documents {
        let own = rows.iter().filter(|(key, table, _)| *key == document.key && !table.is_empty());
        for (key, table, score) in own {
            tables.push_str(&line(&format!("[{}]({key}.md)", table_name(document, table)), score));
        }
    }
    let (what, labels) = match papers.are_own() {
        true => (
            "Every printed number of the documents is in [papers/cells.csv](../../papers/cells.csv), once; every \
             experiment is a file in [papers](../../papers). `quell reproduce` runs them all and judges the results; \
             `quell reproduce vrc`, `vrc-b2` or `vrc/2` runs a document, an experiment or a table."
                .to_string(),
            format!(
                "An algorithm is labeled `reproduced` ([the algorithms](../algorithms/README.md)) if at least \
                 {LEAST_NUMBERS} of its printed numbers need a simulation, and {}% of those agree or are inside: the \
                 column \"beyond a guess\".{} Numbers for a link that loses packets by itself do not count for \
                 any.\n\n",
                100.0 * LEAST_SHARE,
                nearest(algorithms)
            ),
        ),
        false => (
            format!(
                "Every printed number of the documents is in `cells.csv`, once; every experiment is a file beside it. \
                 `{}` runs them all and judges the results; with the name of a document, an experiment or a table it \
                 runs that.",
                papers.command("")
            ),
            String::new(),
        ),
    };
    let heading = heading();
    let of_algorithms = algorithms.iter().map(|of| by_algorithm(papers, of)).collect::<String>();
    format!(
        "# The documents, number by number\n\n{WRITTEN} --docs from verdicts.csv -->\n\n{what}\n\n{}\n\
         ![The numbers of each table, by what became of them](images/numbers.svg)\n\n\
         ![The claims of each document, by what became of them](images/claims.svg)\n\n\
         ## By document\n\n{heading}{documents}\n## By table\n\n{heading}{tables}\n## By algorithm\n\n{labels}\
         {ALGORITHMS}{of_algorithms}\n## What the words mean\n\n{RULES}{GUESSED}{}",
        summary(papers, record, &all, algorithms),
        off_middle(papers, record)
    )
}

/// The heads of the score's columns, after the name.
pub(super) const COLUMNS: [&str; 13] = [
    "numbers",
    "agree or inside",
    "beyond a guess",
    "withheld",
    "explained otherwise",
    "only by a fit",
    "refuted",
    "open",
    "claims",
    "hold",
    "fail",
    "refuted",
    "undecided",
];

/// The head of a table of scores.
pub(super) fn heading() -> String {
    format!("| | {} |\n| --- |{}\n", COLUMNS.join(" | "), " --: |".repeat(COLUMNS.len()))
}

/// The columns of a score.
pub(super) fn columns(s: &Score) -> Vec<String> {
    let numbers = match s.of_cells() {
        0 => vec![String::new(); 8],
        n => vec![
            n.to_string(),
            s.come_out().to_string(),
            format!("{} of {}", s.beyond_come_out(), s.beyond()),
            s.withheld.to_string(),
            s.explained_otherwise().to_string(),
            s.cell(Verdict::Fitted).to_string(),
            s.cell(Verdict::Refuted).to_string(),
            (s.cell(Verdict::Open) + s.cell(Verdict::Missing)).to_string(),
        ],
    };
    let claims = match s.of_claims() {
        0 => vec![String::new(); 5],
        n => vec![
            n.to_string(),
            s.claim(Holds::Holds).to_string(),
            s.claim(Holds::Fails).to_string(),
            s.claim(Holds::Refuted).to_string(),
            (s.claim(Holds::Undecided) + s.claim(Holds::Missing)).to_string(),
        ],
    };
    [numbers, claims].concat()
}

/// A row of a table of scores.
pub(super) fn line(name: &str, s: &Score) -> String {
    format!("| {name} | {} |\n", columns(s).join(" | "))
}

const ALGORITHMS: &str = "| algorithm | numbers | agree or inside | beyond a guess | withheld | reproduced |\n\
                          | --- | --: | --: | --: | --: | --- |\n";

pub(super) const GUESSED: &str = "\
- A number is **free** if a guess without a simulation gives it (`null.toml`), e.g., that the link is full, that the \
queue is at its target, that a source sends at its rate, or that a file alone needs a certain number of round trips. \
Such numbers prove little.\n- \"Beyond a guess\" counts the other, simulated ones: how many agree or are inside, out \
of how many.\n";

/// What came out, in words.
fn summary(papers: &Papers, record: &Record, all: &Score, algorithms: &Algorithms) -> String {
    [reproduced(papers, all, algorithms), not_reproduced(papers, record, all), not_decided(all)].join("\n")
}

/// The numbers and claims that come out.
fn reproduced(papers: &Papers, all: &Score, algorithms: &Algorithms) -> String {
    let labeled: Vec<&str> =
        algorithms.iter().filter(|(_, of)| of.holds()).map(|(name, _)| name.as_str()).collect();
    let labels = match (papers.are_own(), &labeled[..]) {
        (false, _) => String::new(),
        (true, []) => format!(" No algorithm is labeled reproduced.{}", nearest(algorithms)),
        (true, some) => format!(" Labeled reproduced: {}.{}", some.join(", "), narrow(algorithms)),
    };
    let missing = match all.cell(Verdict::Missing) {
        0 => String::new(),
        n => format!("; {n} were not run"),
    };
    let computed = match all.computed {
        0 => String::new(),
        n => format!(" {n} are computed by formulas of the documents, and {} agree.", all.computed_come_out),
    };
    format!(
        "**What was reproduced.** Of {} printed numbers {} agree or are inside, {} are withheld, {} are explained by a \
         reading other than the judged one, {} are in their band only by a fit, {} are refuted, and {} are \
         open{missing}. Withheld numbers would agree or be inside, but they chose a reading that the document leaves \
         open, or they lie outside under a rival reading that nothing contradicts. {} numbers are free, i.e., a guess without a \
         simulation gives them.{computed} Of the other {}, {} agree or are inside ({}). Of {} claims that the runs \
         decide, {} hold ({}).{labels}\n",
        all.of_cells(),
        all.come_out(),
        all.withheld,
        all.explained_otherwise(),
        all.cell(Verdict::Fitted),
        all.cell(Verdict::Refuted),
        all.cell(Verdict::Open),
        all.free,
        all.beyond(),
        all.beyond_come_out(),
        percent(all.beyond_come_out(), all.beyond()),
        all.decided(),
        all.claim(Holds::Holds),
        percent(all.claim(Holds::Holds), all.decided()),
    )
}

/// The numbers and claims that do not, and why.
fn not_reproduced(papers: &Papers, record: &Record, all: &Score) -> String {
    let (open, fitted) = (all.cell(Verdict::Open), all.cell(Verdict::Fitted));
    // Where most of them are tells a reader what is not understood.
    let is = |cell: &&Cell| {
        let verdict = record.0.get(&cell.id).map(|of| of.verdict.as_str());
        [Verdict::Open, Verdict::Fitted].iter().any(|v| Some(v.name()) == verdict)
    };
    let those: Vec<&Cell> = papers.cells.iter().filter(is).collect();
    let metrics = distinct(those.iter().map(|cell| cell.metric.as_str()));
    let mut metrics: Vec<(usize, &str)> =
        metrics.into_iter().map(|m| (those.iter().filter(|c| c.metric == m).count(), m)).collect();
    metrics.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let metrics: Vec<String> =
        metrics.iter().map(|(count, metric)| format!("{count} {}", metric.replace('_', " "))).collect();
    let by_metric = match &metrics[..] {
        [] => String::new(),
        some => format!(" By metric: {}.", some.join(", ")),
    };
    let off_middle = match all.off_middle {
        0 => String::new(),
        n => format!(" For {n} ranges, only the middle lies outside; they are named below."),
    };
    format!(
        "**What was not.** {} numbers have no explanation. {open} are open: nothing that was tried shows why they lie outside. \
         {fitted} are in their band only by a fit, under a reading that was chosen for that.{by_metric}{off_middle} {} claims fail. The pages list what \
         was tried, and why.\n",
        open + fitted,
        all.claim(Holds::Fails),
    )
}

/// The ranges that the rule on their middle takes away, as a sentence.
fn off_middle(papers: &Papers, record: &Record) -> String {
    let is = |cell: &&Cell| record.0.get(&cell.id).is_some_and(|of| of.note == MIDDLE && !of.comes_out());
    let name = |c: &Cell| {
        format!("{} {} at {} (Table {})", c.algorithm, c.metric.replace('_', " "), c.case, c.table)
    };
    let names: Vec<String> = papers.cells.iter().filter(is).map(name).collect();
    match names.len() {
        0 => String::new(),
        n => format!(
            "\n<details>\n<summary>{n} ranges whose ends are inside, but not their middle\
             </summary>\n\n- {}\n\n</details>\n",
            names.join("\n- ")
        ),
    }
}

/// What a simulator cannot decide.
fn not_decided(all: &Score) -> String {
    let edges = match all.edges {
        0 => String::new(),
        n => {
            format!(
                " {n} of the numbers that agree are on an edge of their band, so other seeds may judge them \
                 differently."
            )
        }
    };
    format!(
        "**What a simulator cannot do.** A setting that a document does not print has to be chosen, and if a printed \
         number chose it, that number cannot count. {} numbers and {} claims are refuted: the documents' own simulator \
         does not give them, or the document contradicts itself. {} of {} claims are undecided: the difference is too \
         small to tell from chance with that many runs, some runs have no value, or the claim chose a \
         reading.{edges}\n",
        all.cell(Verdict::Refuted),
        all.claim(Holds::Refuted),
        all.claim(Holds::Undecided),
        all.of_claims(),
    )
}

/// How near the algorithms come to the label that lack it; empty if none has enough numbers.
fn nearest(algorithms: &Algorithms) -> String {
    let near = algorithms.iter().filter(|(_, of)| of.beyond() >= LEAST_NUMBERS && !of.holds());
    let mut near: Vec<(f64, String)> = near
        .map(|(name, of)| {
            let (of, out) = (of.beyond(), of.beyond_come_out());
            (out as f64 / of as f64, format!("{name} has {out} of {of} ({})", percent(out, of)))
        })
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    match &near[..] {
        [] => String::new(),
        some => {
            let names: Vec<&str> = some.iter().take(NEAREST).map(|(_, name)| name.as_str()).collect();
            format!(" The nearest: {}.", names.join(", "))
        }
    }
}

/// The algorithms that would lose the label by a single number, as a sentence.
fn narrow(algorithms: &Algorithms) -> String {
    let by_one = |of: &Reproduced| {
        let less = Reproduced { come_out: of.come_out.saturating_sub(1), ..*of };
        of.holds() && !less.holds()
    };
    let narrow = algorithms.iter().filter(|(_, of)| by_one(of));
    narrow
        .map(|(name, of)| {
            let (of, out) = (of.beyond(), of.beyond_come_out());
            format!(" This depends on one number: {name} has {out} of {of}.")
        })
        .collect()
}

/// So many of them are named.
const NEAREST: usize = 3;

/// A share in words.
fn percent(part: usize, of: usize) -> String {
    if of == 0 { "of none".to_string() } else { format!("{:.0}%", 100.0 * part as f64 / of as f64) }
}

/// A row of the algorithms; the label is of the printed numbers of Quell's own documents.
fn by_algorithm(papers: &Papers, (name, of): (&String, &Reproduced)) -> String {
    let page = name.replace(['-', '+'], "_");
    let shown = if papers.are_own() { format!("[{name}](../algorithms/{page}.md)") } else { name.clone() };
    let beyond = format!("{} of {}", of.beyond_come_out(), of.beyond());
    let yes = if of.holds() && papers.are_own() { "yes" } else { "" };
    format!("| {shown} | {} | {} | {beyond} | {} | {yes} |\n", of.numbers, of.come_out, of.withheld)
}

/// The claims' verdicts as kinds of what is counted, in the order of [`Holds::ALL`].
fn claim_kind(holds: Holds) -> Kind {
    let (outcome, name) = match holds {
        Holds::Holds => (Outcome::Agrees, "hold"),
        Holds::Fails => (Outcome::Open, "fail"),
        Holds::Refuted => (Outcome::Refuted, "refuted"),
        Holds::Undecided => (Outcome::Missing, "undecided"),
        Holds::Missing => (Outcome::Inside, "untested"),
    };
    Kind { name, ..outcome.kind() }
}

/// The pictures of the index, by the verdicts on record: the numbers of each table, and the claims of each document.
pub fn front_pictures(papers: &Papers, record: &Record) -> Vec<Strip> {
    let rows: Rows = scores_on_record(papers, record);
    let document = |key: &str| papers.documents.iter().find(|d| d.key == key);
    let count = |s: &Score, outcome: Outcome| match outcome {
        Outcome::Agrees => s.cell(Verdict::Agrees),
        Outcome::Inside => s.cell(Verdict::Inside),
        Outcome::Withheld => s.withheld,
        Outcome::Explained => s.explained_otherwise(),
        Outcome::Fitted => s.cell(Verdict::Fitted),
        Outcome::Refuted => s.cell(Verdict::Refuted),
        Outcome::Open => s.cell(Verdict::Open),
        Outcome::Missing => s.cell(Verdict::Missing),
    };
    let numbers: Vec<Tally> = rows
        .iter()
        .filter(|(_, table, s)| !table.is_empty() && s.of_cells() > 0)
        .filter_map(|(key, table, s)| {
            let counts = Outcome::ALL.map(|o| count(s, o)).to_vec();
            Some(Tally { label: table_name(document(key)?, table), counts })
        })
        .collect();
    let claims: Vec<Tally> = distinct(rows.iter().map(|(key, ..)| key.as_str()))
        .into_iter()
        .filter_map(|key| {
            let of = rows.iter().find(|(k, table, s)| k == key && table.is_empty() && s.of_claims() > 0)?;
            let counts = Holds::ALL.map(|h| of.2.claim(h)).to_vec();
            Some(Tally { label: document(key)?.about.reference.clone(), counts })
        })
        .collect();
    let picture = |name: &str, title: &str, kinds: &[Kind], rows: &[Tally], unit: &str| Strip {
        name: name.to_string(),
        title: title.to_string(),
        svg: tally(&Sheet::new(title, ""), kinds, rows, unit),
    };
    vec![
        picture("numbers", "The printed numbers", &Outcome::ALL.map(Outcome::kind), &numbers, "numbers"),
        picture("claims", "The claims", &Holds::ALL.map(claim_kind), &claims, "claims"),
    ]
}
