//! Pages for people: a document's results in Markdown and in HTML, and the score of all.

use std::collections::BTreeMap;
use std::path::Path;

use askama::Template;
use quell_lab::distinct;

use crate::experiment::{Document, Experiment, Papers, Reading, ScenarioRun};
use crate::figures::{Beside, Drawn};
use crate::judge::{Holds, JudgedCell, JudgedClaim, JudgedExperiment, JudgedTable, Verdict, figure, text};
use crate::live::LiveRecord;
use crate::plan::lexical;
use crate::record::Record;
use crate::score::{LEAST_NUMBERS, LEAST_SHARE, Reproduced, Score, scores, scores_on_record};

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

/// A row of the score.
struct Scored {
    name: String,
    score: Score,
}

impl Scored {
    fn cells(&self) -> Vec<String> {
        let s = &self.score;
        if s.of_cells() == 0 {
            return vec![String::new(); 1 + Verdict::ALL.len()];
        }
        let each = Verdict::ALL.map(|v| s.cell(v).to_string());
        std::iter::once(s.of_cells().to_string()).chain(each).collect()
    }

    fn claims(&self) -> Vec<String> {
        let s = &self.score;
        if s.of_claims() == 0 {
            return vec![String::new(); 1 + Holds::ALL.len()];
        }
        let each = Holds::ALL.map(|h| s.claim(h).to_string());
        std::iter::once(s.of_claims().to_string()).chain(each).collect()
    }

    fn line(&self) -> String {
        let columns = [self.cells(), self.claims()].concat();
        format!("| {} | {} |\n", self.name, columns.join(" | "))
    }
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

const HEADING: &str = "| | numbers | agree | inside | explained | refuted | open | missing | claims | hold | fail | undecided | \
                       untested |\n| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n";

const RULES: &str = "\
A printed number **agrees** if the mean of the runs lies in the band around it (`bands.toml`), or, where a range is \
printed, in the range or in the band around its middle. It is **inside** if it lies in the 95 % prediction interval of what was printed (one run, a mean of some runs, or their range). It is \
**explained** if it lies outside of both and comes out under another reading of the document, or if the reading that is \
judged was chosen by it; **refuted** if ns-2 itself, or a claim of the document, shows a mechanism by which it cannot \
come out; and **open** otherwise. A claim **holds** or **fails** if the 95 % interval, paired by seed where two are \
compared, lies on one side, and is **undecided** otherwise; it is **refuted** if ns-2's own figures fail it as well.\n";

/// The introduction of the index of the pages.
pub const WRITTEN: &str = "<!-- Written by quell reproduce";

/// The score of all documents and of the algorithms by the verdicts on record, in Markdown.
pub fn scoreboard(papers: &Papers, record: &Record, algorithms: &BTreeMap<String, Reproduced>) -> String {
    let rows = scores_on_record(papers, record);
    let mut all = Score::default();
    let mut lines = String::new();
    for document in &papers.documents {
        for (key, table, score) in rows.iter().filter(|(key, ..)| *key == document.key) {
            let name = format!("[{}]({key}.md)", table_name(document, table));
            lines.push_str(&Scored { name, score: score.clone() }.line());
            all = all.and(score);
        }
    }
    let total = Scored { name: "**all**".to_string(), score: all }.line();
    let what = match papers.are_own() {
        true => "Every printed number of the documents is in [papers/cells.csv](../../papers/cells.csv), once; every \
                 experiment is a file in [papers](../../papers). `quell reproduce` runs them all and judges what comes \
                 out; `quell reproduce vrc`, `vrc-b2` or `vrc/2` runs a document, an experiment or a table."
            .to_string(),
        false => format!(
            "Every printed number of the documents is in `cells.csv`, once; every experiment is a file beside it. `{}` \
             runs them all and judges what comes out; with the name of a document, an experiment or a table it runs \
             that.",
            papers.command("")
        ),
    };
    let of_algorithms = algorithms.iter().map(|of| by_algorithm(papers, of)).collect::<String>();
    let heading = match papers.are_own() {
        true => format!(
            "An algorithm is labeled `reproduced` ([the algorithms](../algorithms/README.md)) if at least \
             {LEAST_NUMBERS} printed numbers are of it, and {} % of them agree or are inside.\n\n\
             | algorithm | numbers | agree or inside | reproduced |\n| --- | --: | --: | --- |\n",
            100.0 * LEAST_SHARE
        ),
        false => "| algorithm | numbers | agree or inside |\n| --- | --: | --: |\n".to_string(),
    };
    format!(
        "# The documents, number by number\n\n{WRITTEN} --docs from verdicts.csv -->\n\n{what}\n\n{RULES}\n\
         {HEADING}{lines}{total}\n## By algorithm\n\n{heading}{of_algorithms}"
    )
}

/// A row of the algorithms; the label is of the printed numbers of Quell's own documents.
fn by_algorithm(papers: &Papers, (name, of): (&String, &Reproduced)) -> String {
    if !papers.are_own() {
        return format!("| {name} | {} | {} |\n", of.numbers, of.come_out);
    }
    let page = name.replace(['-', '+'], "_");
    let yes = if of.holds() { "yes" } else { "" };
    format!("| [{name}](../algorithms/{page}.md) | {} | {} | {yes} |\n", of.numbers, of.come_out)
}

impl<'a> Page<'a> {
    fn score(&self) -> Vec<Scored> {
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
            .map(|(_, table, score)| Scored { name: table_name(self.document, &table), score })
            .collect()
    }
}

/// Text in a table of Markdown.
fn in_table(text: &str) -> String {
    text.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
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
    if let Some(dialect) = &about.dialect {
        let said = if page.papers.are_own() { " ([docs/dialects.md](../dialects.md))" } else { "" };
        out.push_str(&format!("Dialect: `{dialect}`{said}. {}\n\n", about.dialect_because));
    }
    if !about.notes.is_empty() {
        out.push_str(&format!("{}\n\n", about.notes.trim()));
    }
    out.push_str(&format!("{RULES}\n{HEADING}"));
    page.score().iter().for_each(|row| out.push_str(&row.line()));
    for (judged, drawn) in &page.experiments {
        let e = judged.experiment;
        out.push_str(&format!("\n## {}: {}\n\n", e.section, e.title));
        out.push_str(&format!(
            "`{}` ({})\n\n{}\n",
            page.papers.command(&e.id),
            scenarios(judged),
            e.describes.trim()
        ));
        if e.readings.iter().any(|r| !r.because.is_empty()) {
            out.push_str(
                "\nWhat the document leaves open:\n\n| reading | what is chosen | basis | because | numbers under it |\n\
                 | --- | --- | --- | --- | --- |\n",
            );
            for reading in &e.readings {
                out.push_str(&format!(
                    "| {} | {} | {} | {} | {} |\n",
                    reading.name,
                    in_table(&reading.says),
                    reading.basis.name(),
                    in_table(&reading.because),
                    under(judged, reading)
                ));
            }
        }
        for table in &judged.tables {
            out.push_str(&format!("\n{}\n\n", caption(table)));
            out.push_str("| case | algorithm | metric | printed | Quell | ns-2 | verdict |\n");
            out.push_str("| --- | --- | --- | --: | --: | --: | --- |\n");
            for cell in &table.cells {
                let c = cell.cell;
                out.push_str(&format!(
                    "| {} | {} | {} ({}) | {} | {} | {} | {} |\n",
                    in_table(&c.case),
                    cell.label,
                    c.metric.replace('_', " "),
                    c.unit,
                    c.printed(),
                    found(cell),
                    ns2(cell),
                    cell.verdict.name()
                ));
            }
            for (why, cells) in reasons(table).into_iter().chain(settings(table)) {
                out.push_str(&format!("\n- {cells}: {}", in_table(why)));
            }
            out.push('\n');
        }
        if !judged.claims.is_empty() {
            out.push_str(
                "\n| shown in | claim | test | found | verdict |\n| --- | --- | --- | --- | --- |\n",
            );
            for claim in &judged.claims {
                out.push_str(&format!(
                    "| {} | {} | `{}` | {} | {} |\n",
                    place(claim),
                    in_table(&claim.claim.says),
                    in_table(&claim.claim.test.text),
                    in_table(&claim.found),
                    in_table(&verdict_of(claim))
                ));
            }
        }
        for figure in drawn {
            match &figure.picture {
                Ok(picture) => {
                    out.push_str(&format!(
                        "\n![Figure {}: {}]({images}/{}.svg)\n",
                        figure.number, figure.title, figure.name
                    ));
                    out.push_str(&live(judged.experiment, figure.number, &picture.beside));
                }
                Err(why) => out.push_str(&format!("\nFigure {} is not drawn: {why}\n", figure.number)),
            }
        }
    }
    out
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

/// The reasons of a table's numbers that are outside, each with the numbers that it is for.
fn reasons<'a>(table: &'a JudgedTable<'_>) -> Vec<(&'a str, String)> {
    let mut all: Vec<(&str, Vec<String>)> = Vec::new();
    for cell in table.cells.iter().filter(|c| !c.why.is_empty()) {
        let name = format!("{} {}", cell.label, cell.cell.metric.replace('_', " "));
        match all.iter_mut().find(|(why, _)| *why == cell.why) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => all.push((&cell.why, vec![name])),
        }
    }
    all.into_iter().map(|(why, names)| (why, names.join(", "))).collect()
}

/// The settings for ns-2's values of a table, each with the numbers that it is for.
fn settings<'a>(table: &'a JudgedTable<'_>) -> Vec<(&'a str, String)> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for cell in &table.cells {
        let Some(setting) = cell.ns2.map(|n| n.setting.as_str()).filter(|s| !s.is_empty()) else { continue };
        match all.iter_mut().find(|(known, _)| *known == setting) {
            Some((_, names)) if names.contains(&cell.label) => {}
            Some((_, names)) => names.push(cell.label),
            None => all.push((setting, vec![cell.label])),
        }
    }
    all.into_iter().map(|(setting, names)| (setting, format!("ns-2, {}", names.join(", ")))).collect()
}

fn place(claim: &JudgedClaim<'_>) -> String {
    let c = claim.claim;
    match (&c.figure, &c.table, &c.section) {
        _ if c.ours => "(ours)".to_string(),
        (Some(figure), ..) => format!("Figure {figure}"),
        (_, Some(table), _) => format!("Table {table}"),
        (.., Some(section)) => format!("section {section}"),
        _ => String::new(),
    }
}

fn verdict_of(claim: &JudgedClaim<'_>) -> String {
    let refuted = Some(claim.why.as_str()).filter(|why| !why.is_empty());
    let because = refuted.or(claim.claim.because.as_deref()).filter(|_| claim.holds != Holds::Holds);
    let because = because.map_or(String::new(), |why| format!(": {}", why.trim()));
    let shown = match (&claim.claim.shown_by, claim.shown) {
        (Some(reading), Some(holds)) if claim.holds != Holds::Holds => {
            format!(" (under \"{reading}\": {})", holds.name())
        }
        _ => String::new(),
    };
    format!("{}{because}{shown}", claim.holds.name())
}

/// A document's page in HTML, whole: pictures and styles are within it.
pub fn html(page: &Page<'_>) -> String {
    let template = DocumentPage {
        title: &page.document.about.title,
        reference: &page.document.about.reference,
        command: page.papers.command(&page.document.key),
        dialect: page.document.about.dialect.as_deref().unwrap_or_default(),
        dialect_because: &page.document.about.dialect_because,
        notes: rendered(&page.document.about.notes),
        rules: RULES.replace("**", "").replace('`', ""),
        scores: page
            .score()
            .iter()
            .map(|row| (row.name.clone(), [row.cells(), row.claims()].concat()))
            .collect(),
        experiments: page
            .experiments
            .iter()
            .map(|(judged, drawn)| section(page.papers, judged, drawn))
            .collect(),
    };
    // The template writes to a string and calls nothing that fails.
    template.render().unwrap_or_else(|e| format!("<!doctype html><p>cannot render the page: {e}</p>"))
}

#[derive(Template)]
#[template(path = "document.html")]
struct DocumentPage<'a> {
    title: &'a str,
    reference: &'a str,
    command: String,
    dialect: &'a str,
    dialect_because: &'a str,
    notes: String,
    rules: String,
    scores: Vec<(String, Vec<String>)>,
    experiments: Vec<Section>,
}

struct Section {
    id: String,
    command: String,
    heading: String,
    scenarios: String,
    /// HTML.
    describes: String,
    readings: Vec<[String; 5]>,
    tables: Vec<Block>,
    claims: Vec<[String; 6]>,
    /// The figures by name: SVG, or why there is none.
    figures: Vec<(String, Result<String, String>)>,
}

struct Block {
    caption: String,
    /// The values of each metric: printed, found, and ns-2's where there is one.
    columns: usize,
    metrics: Vec<String>,
    rows: Vec<(String, String, Vec<Option<Shown>>)>,
    reasons: Vec<(String, String)>,
}

struct Shown {
    printed: String,
    found: String,
    ns2: String,
    verdict: &'static str,
    why: String,
}

fn section(papers: &Papers, judged: &JudgedExperiment<'_>, drawn: &[Drawn<'_>]) -> Section {
    let e = judged.experiment;
    let open = e.readings.iter().any(|r| !r.because.is_empty());
    let reading = |r: &Reading| {
        [r.name.clone(), r.says.clone(), r.basis.name().to_string(), r.because.clone(), under(judged, r)]
    };
    let claim = |c: &JudgedClaim<'_>| {
        [
            place(c),
            c.claim.says.clone(),
            c.claim.test.text.clone(),
            c.found.clone(),
            c.holds.name().to_string(),
            verdict_of(c),
        ]
    };
    Section {
        id: e.id.clone(),
        command: papers.command(&e.id),
        heading: format!("{}: {}", e.section, e.title),
        scenarios: scenarios(judged).replace('`', ""),
        describes: rendered(&e.describes),
        readings: if open { e.readings.iter().map(reading).collect() } else { Vec::new() },
        tables: judged.tables.iter().map(block).collect(),
        claims: judged.claims.iter().map(claim).collect(),
        figures: drawn
            .iter()
            .map(|d| {
                let picture = d.picture.as_ref().map(|picture| picture.svg.clone());
                (d.name.clone(), picture.map_err(|why| format!("Figure {} is not drawn: {why}", d.number)))
            })
            .collect(),
    }
}

/// Markdown as HTML; HTML within it is text.
fn rendered(markdown: &str) -> String {
    use pulldown_cmark::{Event, Options, Parser, html::push_html};
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES).map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        event => event,
    });
    let mut out = String::new();
    push_html(&mut out, events);
    out
}

fn block(table: &JudgedTable<'_>) -> Block {
    let metrics = distinct(table.cells.iter().map(|of| (of.cell.metric.clone(), of.cell.unit.clone())));
    let mut rows: Vec<(String, String, Vec<Option<Shown>>)> = Vec::new();
    for cell in &table.cells {
        let c = cell.cell;
        let label = cell.label;
        let at = match rows.iter().position(|(case, name, _)| *case == c.case && name == label) {
            Some(at) => at,
            None => {
                rows.push((c.case.clone(), label.to_string(), metrics.iter().map(|_| None).collect()));
                rows.len() - 1
            }
        };
        let column = metrics.iter().position(|(m, u)| *m == c.metric && *u == c.unit).unwrap_or(0);
        rows[at].2[column] = Some(Shown {
            printed: c.printed(),
            found: found(cell),
            ns2: ns2(cell),
            verdict: cell.verdict.name(),
            why: cell.why.clone(),
        });
    }
    Block {
        caption: caption(table),
        columns: if table.cells.iter().any(|c| c.ns2.is_some()) { 3 } else { 2 },
        metrics: metrics.into_iter().map(|(m, u)| format!("{} ({u})", m.replace('_', " "))).collect(),
        rows,
        reasons: reasons(table)
            .into_iter()
            .chain(settings(table))
            .map(|(why, cells)| (cells, why.to_string()))
            .collect(),
    }
}
