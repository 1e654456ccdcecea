//! Pages for people: a document's results in Markdown and in HTML, and the score of all.

mod front;
mod notes;
mod strip;
mod web;

use std::path::Path;

use quell_lab::distinct;
use quell_view::picture::Outcome;

use crate::experiment::{Document, Experiment, Papers, Reading, ScenarioRun};
use crate::figures::{Beside, Drawn, named};
use crate::judge::{Holds, JudgedCell, JudgedClaim, JudgedExperiment, JudgedTable, Verdict, figure, text};
use crate::live::LiveRecord;
use crate::plan::lexical;
use front::{GUESSED, heading, line};
pub use front::{front_pictures, scoreboard};
pub use strip::Strip;
pub use web::html;

use crate::score::{Score, scores};

/// The parts of a page.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    /// All documents.
    pub papers: &'a Papers,
    /// The page's document.
    pub document: &'a Document,
    /// Its experiments that were judged, with their figures.
    pub experiments: Vec<(JudgedExperiment<'a>, Vec<Drawn<'a>>)>,
}

/// A table of a document as it is cited.
fn table_name(document: &Document, table: &str) -> String {
    let reference = &document.about.reference;
    match (table, table.strip_prefix("sec. ")) {
        ("", _) => format!("{reference}, claims"),
        (_, Some(section)) => format!("{reference}, section {section}"),
        (table, None) => format!("{reference}, Table {table}"),
    }
}

const RULES: &str = "\
A printed number **agrees** if the mean of the runs lies in the band around it (`bands.toml`), or, where a range is \
printed, in the range or in the band around its middle. It is **inside** if it lies in the 95 % prediction interval of what was printed (one run, a mean of some runs, or their range). It is \
**explained** if it lies outside of both and comes out under another reading of the document, or if the reading that is \
judged was chosen by it; **refuted** if ns-2 itself, or a claim of the document, shows a mechanism by which it cannot \
come out; and **open** otherwise. A claim **holds** or **fails** if the 95 % interval, paired by seed where two are \
compared, lies on one side, and is **undecided** otherwise; it is **refuted** if ns-2's own figures fail it as well.\n";

/// The introduction of the index of the pages.
pub const WRITTEN: &str = "<!-- Written by quell reproduce";

impl<'a> Page<'a> {
    fn score(&self) -> Vec<(String, Score)> {
        let judged: Vec<JudgedExperiment<'_>> = self.experiments.iter().map(|(j, _)| j.clone()).collect();
        let rows = scores(self.papers, &[self.document.key.as_str()], &judged);
        let judged = |table: &str| {
            let tables = self.experiments.iter().flat_map(|(j, _)| &j.tables);
            tables.flat_map(|t| &t.cells).any(|c| c.cell.table == table)
        };
        rows.into_iter()
            .filter(|(_, table, score)| {
                (table.is_empty() || judged(table)) && score.of_cells() + score.of_claims() > 0
            })
            .map(|(_, table, score)| (table_name(self.document, &table), score))
            .collect()
    }
}

/// Text in a table of Markdown.
fn in_table(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

/// Text without breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A part of a Markdown page that is folded until somebody opens it.
fn folded(summary: &str, inside: &str) -> String {
    format!("\n<details>\n<summary>{summary}</summary>\n\n{}\n\n</details>\n", inside.trim())
}

/// A document's page in Markdown; its pictures are in `images`, relative to it.
pub fn markdown(page: &Page<'_>, images: &str) -> String {
    let about = &page.document.about;
    let key = &page.document.key;
    let mut out = format!(
        "# {}\n\n<!-- Written by quell reproduce --docs from {key} -->\n\n{}. To run it: `{}`.\n\n",
        about.title,
        about.reference,
        page.papers.command(key)
    );
    out.push_str(&heading());
    page.score().iter().for_each(|(name, score)| out.push_str(&line(name, score)));
    out.push_str(&folded("What the words mean", &format!("{RULES}{GUESSED}")));
    if let Some(dialect) = &about.dialect {
        let said = if page.papers.are_own() { " ([docs/dialects.md](../dialects.md))" } else { "" };
        out.push_str(&format!("\nDialect: `{dialect}`{said}. {}\n", about.dialect_because));
    }
    if !about.notes.is_empty() {
        out.push_str(&format!("\n{}\n", about.notes.trim()));
    }
    for (judged, drawn) in &page.experiments {
        out.push_str(&experiment(page, judged, drawn, images));
    }
    out
}

/// An experiment's part of the page: first what came out, then what was chosen.
fn experiment(page: &Page<'_>, judged: &JudgedExperiment<'_>, drawn: &[Drawn<'_>], images: &str) -> String {
    let e = judged.experiment;
    let mut out = format!(
        "\n## {}: {}\n\n`{}` ({})\n\n{}\n",
        e.section,
        e.title,
        page.papers.command(&e.id),
        scenarios(judged),
        e.describes.trim()
    );
    for table in judged.tables.iter().filter(|t| !t.cells.is_empty()) {
        let strip = page.strip(judged, table);
        out.push_str(&format!("\n{}\n\n![{}]({images}/{}.svg)\n\n", caption(table), strip.title, strip.name));
        out.push_str("| case | algorithm | metric | printed | band | Quell | place | ns-2 | verdict |\n");
        out.push_str("| --- | --- | --- | --: | --: | --: | --: | --: | --- |\n");
        for cell in &table.cells {
            let c = cell.cell;
            out.push_str(&format!(
                "| {} | {} | {} ({}) | {} | {} | {} | {} | {} | {} |\n",
                in_table(&c.case),
                cell.label,
                c.metric.replace('_', " "),
                c.unit,
                c.printed(),
                strip::band(cell),
                found(cell),
                place_in_band(cell),
                ns2(cell),
                word(cell)
            ));
        }
    }
    out.push_str(&chosen(judged));
    out.push_str(&claims(judged));
    for figure in drawn {
        match &figure.picture {
            Ok(picture) => {
                out.push_str(&format!(
                    "\n![{}: {}]({images}/{}.svg)\n",
                    named(figure.number),
                    figure.title,
                    figure.name
                ));
                out.push_str(&live(judged.experiment, figure.number, &picture.beside));
            }
            Err(why) => out.push_str(&format!("\n{} is not drawn: {why}\n", named(figure.number))),
        }
    }
    out
}

/// What was chosen and what was tried, folded and whole.
fn chosen(judged: &JudgedExperiment<'_>) -> String {
    let e = judged.experiment;
    let mut inside = String::new();
    if e.readings.iter().any(|r| !r.because.is_empty()) {
        for reading in &e.readings {
            let under = under(judged, reading);
            let under = if under.is_empty() { under } else { format!("; {under}") };
            let because = one_line(&reading.because);
            let because = if because.is_empty() { because } else { format!(" Because: {because}") };
            inside.push_str(&format!(
                "- **{}** ({}{under}): {}.{}\n",
                reading.name,
                reading.basis.name(),
                one_line(&reading.says).trim_end_matches('.'),
                because
            ));
        }
    }
    let notes = notes::all(judged);
    if !notes.is_empty() {
        inside.push_str("\nOf the numbers:\n\n");
        for (names, sentences) in notes {
            match &sentences[..] {
                [one] => inside.push_str(&format!("- {names}: {}\n", one_line(one))),
                several => {
                    let lines = several.iter().map(|sentence| format!("  - {}\n", one_line(sentence)));
                    inside.push_str(&format!("- {names}:\n{}", lines.collect::<String>()));
                }
            }
        }
    }
    match inside.is_empty() {
        true => inside,
        false => folded("What was chosen, and what was tried", &inside),
    }
}

/// The claims: what becomes of each, and folded below how it was tested.
fn claims(judged: &JudgedExperiment<'_>) -> String {
    if judged.claims.is_empty() {
        return String::new();
    }
    let theirs = || judged.claims.iter().filter(|c| !c.claim.ours);
    let count = |holds: Holds| theirs().filter(|c| c.holds == holds).count();
    let counts = Holds::ALL.into_iter().filter(|h| count(*h) > 0);
    let counts = counts.map(|h| format!("{} {}", count(h), plural(h))).collect::<Vec<_>>().join(", ");
    let mut out = match theirs().count() {
        0 => "\nWhat Quell says of it:\n\n".to_string(),
        n => format!("\nWhat the document says of it: {counts}, of {n}.\n\n"),
    };
    let mut tests = String::new();
    for claim in &judged.claims {
        let place = place(claim);
        let place = if place.is_empty() { place } else { format!(" ({place})") };
        let says = one_line(&claim.claim.says);
        let because = one_line(&because(claim));
        let because = if because.is_empty() { because } else { format!(" {because}") };
        out.push_str(&format!("- **{}**{place}: {says}{because}\n", claim.holds.name()));
        tests.push_str(&format!(
            "- {}: `{}`. Found: {}\n",
            claim.claim.name,
            one_line(&claim.claim.test.text),
            one_line(&claim.found)
        ));
    }
    out + &folded("How each was tested, and what was found", &tests)
}

/// The word for several claims of a verdict.
fn plural(holds: Holds) -> &'static str {
    match holds {
        Holds::Holds => "hold",
        Holds::Fails => "fail",
        other => other.name(),
    }
}

/// Why a claim does not hold, and under which reading it does.
fn because(claim: &JudgedClaim<'_>) -> String {
    let refuted = Some(claim.why.as_str()).filter(|why| !why.is_empty());
    let because = refuted.or(claim.claim.because.as_deref()).filter(|_| claim.holds != Holds::Holds);
    let because = because.map_or(String::new(), |why| format!("*Why:* {}", why.trim()));
    let shown = match (&claim.claim.shown_by, claim.shown) {
        (Some(reading), Some(holds)) if claim.holds != Holds::Holds => {
            format!(" (under \"{reading}\": {})", holds.name())
        }
        _ => String::new(),
    };
    format!("{because}{shown}")
}

/// Live values beside simulated ones: a row for each algorithm.
fn live(e: &Experiment, number: &str, beside: &[Beside]) -> String {
    let of = e.figures.iter().find(|f| f.number == number);
    // Without figures on record there is nothing to say of them.
    let record = LiveRecord::read(e).ok().flatten();
    let (Some(figure), Some(record), false) = (of, record, beside.is_empty()) else { return String::new() };
    let xs = distinct(beside.iter().map(|point| point.x));
    let labels = distinct(beside.iter().map(|point| point.label.as_str()));
    let mut out = format!("\nLive / simulated, by `{}`:\n\n| |", figure.x.as_deref().unwrap_or("x"));
    out.push_str(&xs.iter().map(|x| format!(" {x} |")).collect::<String>());
    out.push_str(&format!("\n| --- |{}\n", " --: |".repeat(xs.len())));
    for label in labels {
        out.push_str(&format!("| {label} |"));
        for x in &xs {
            let point = beside.iter().find(|p| p.label == label && p.x == *x);
            let cell = point.map_or(String::new(), |p| {
                let [live, simulated] = [p.live, p.simulated].map(quell_units::text::three_digits);
                format!("{live} / {simulated}")
            });
            out.push_str(&format!(" {cell} |"));
        }
        out.push('\n');
    }
    out + &format!("\nThe live figures are on record ({}).\n", record.sentence())
}

fn scenarios(judged: &JudgedExperiment<'_>) -> String {
    let e = judged.experiment;
    let path = |run: &ScenarioRun| lexical(&e.file.parent().unwrap_or(Path::new("")).join(&run.scenario));
    let mut names: Vec<String> = e.runs.iter().map(|run| format!("`{}`", path(run).display())).collect();
    names.dedup();
    if names.is_empty() {
        return "computed".to_string();
    }
    // As many as were run; without numbers, as many as are asked for.
    let cells = judged.tables.iter().flat_map(|t| &t.cells).filter_map(|c| c.found.map(|found| found.n));
    let seeds = cells.max().unwrap_or(e.seeds as usize);
    format!("{}, {seeds} {}", names.join(", "), if seeds == 1 { "seed" } else { "seeds" })
}

/// The number of values in their band under a reading.
fn under(judged: &JudgedExperiment<'_>, reading: &Reading) -> String {
    let under = judged.tables.iter().flat_map(|t| &t.under).filter(|(name, _)| *name == reading.name);
    match under.fold([0, 0], |[a, b], (_, [within, outside])| [a + within, b + outside]) {
        [0, 0] => String::new(),
        [within, outside] => format!("{within} of {} in the band", within + outside),
    }
}

fn caption(table: &JudgedTable<'_>) -> String {
    let number = table.cells.first().map_or("", |c| c.cell.table.as_str());
    let page = table.cells.first().map_or("", |c| c.cell.page.as_str());
    let page = if page.is_empty() { String::new() } else { format!(" ({page})") };
    let name = match number.starts_with("sec.") {
        true => format!("Numbers of {number}"),
        false => format!("Table {number}"),
    };
    let reading = match table.reading {
        "" => String::new(),
        reading => format!("; reading \"{reading}\""),
    };
    format!("{name}{page}; a printed number is {}{reading}:", table.printed)
}

fn found(cell: &JudgedCell<'_>) -> String {
    cell.found.as_ref().map_or(String::new(), text)
}

/// The value that ns-2 gives, and how often it was run.
fn ns2(cell: &JudgedCell<'_>) -> String {
    cell.ns2.map_or(String::new(), |n| format!("{} ({})", figure(n.mean), n.runs))
}

fn place(claim: &JudgedClaim<'_>) -> String {
    let c = claim.claim;
    match (&c.figure, &c.table, &c.section) {
        _ if c.ours => "ours".to_string(),
        (Some(figure), ..) => format!("Figure {figure}"),
        (_, Some(table), _) => format!("Table {table}"),
        (.., Some(section)) => format!("section {section}"),
        _ => String::new(),
    }
}

/// The words for what became of a number: the verdict, and what to know of it.
fn word(cell: &JudgedCell<'_>) -> String {
    let what = match strip::outcome(cell) {
        Outcome::Withheld => "explained: in the band, but it chose the reading",
        _ => cell.verdict.name(),
    };
    let edge = (cell.knife_edge && cell.verdict == Verdict::Agrees).then_some("on the edge");
    let free = (cell.free && cell.verdict != Verdict::Missing).then_some("free");
    let more: Vec<&str> = edge.into_iter().chain(free).collect();
    if more.is_empty() { what.to_string() } else { format!("{what} ({})", more.join(", ")) }
}

/// The place of what was found in the band, from -1 to 1.
fn place_in_band(cell: &JudgedCell<'_>) -> String {
    // What rounds to zero has no sign.
    cell.place.map_or(String::new(), |place| format!("{:.1}", place).replace("-0.0", "0.0"))
}
