//! A document's page in HTML: the parts of the Markdown, with pictures and styles within it.

use askama::Template;
use quell_lab::distinct;

use super::front::{COLUMNS, GUESSED, columns};
use super::words::{Page, RULES, because, caption, found, ns2, place, scenarios, under, word};
use super::{notes, strip};
use crate::experiment::Reading;
use crate::figures::{Drawn, named};
use crate::judge::{JudgedClaim, JudgedExperiment, JudgedTable};

/// A document's page in HTML, whole: pictures and styles are within it.
pub fn html(page: &Page<'_>) -> String {
    let template = DocumentPage {
        title: &page.document.about.title,
        reference: &page.document.about.reference,
        command: page.command(),
        part: page.part(),
        dialect: page.document.about.dialect.as_deref().unwrap_or_default(),
        dialect_because: &page.document.about.dialect_because,
        notes: rendered(&page.document.about.notes),
        rules: rendered(&format!("{RULES}{GUESSED}\n{}", page.elsewhere())),
        heads: &COLUMNS,
        scores: page.score().iter().map(|(name, score)| (name.clone(), columns(score))).collect(),
        experiments: page.experiments.iter().map(|(judged, drawn)| section(page, judged, drawn)).collect(),
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
    /// What it has, if it is not the whole document.
    part: String,
    dialect: &'a str,
    dialect_because: &'a str,
    notes: String,
    /// HTML.
    rules: String,
    heads: &'static [&'static str],
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
    readings: Vec<ShownReading>,
    notes: Vec<notes::Note>,
    tables: Vec<Block>,
    claims: Vec<ShownClaim>,
    /// The figures by name: SVG, or why there is none.
    figures: Vec<(String, Result<String, String>)>,
}

struct ShownReading {
    name: String,
    says: String,
    basis: &'static str,
    because: String,
    under: String,
}

struct ShownClaim {
    name: String,
    place: String,
    says: String,
    because: String,
    test: String,
    found: String,
    verdict: &'static str,
}

struct Block {
    caption: String,
    /// SVG.
    picture: String,
    name: String,
    /// The values of each metric: printed, found, and ns-2's where there is one.
    columns: usize,
    metrics: Vec<String>,
    rows: Vec<(String, String, Vec<Option<Shown>>)>,
}

struct Shown {
    printed: String,
    band: String,
    found: String,
    ns2: String,
    /// The class of its color.
    verdict: &'static str,
    name: &'static str,
    word: String,
}

fn section(page: &Page<'_>, judged: &JudgedExperiment<'_>, drawn: &[Drawn<'_>]) -> Section {
    let e = judged.experiment;
    let open = e.readings.iter().any(|r| !r.because.is_empty());
    let reading = |r: &Reading| ShownReading {
        name: r.name.clone(),
        says: r.says.clone(),
        basis: r.basis.name(),
        because: r.because.clone(),
        under: under(judged, r),
    };
    let claim = |c: &JudgedClaim<'_>| ShownClaim {
        name: c.claim.name.clone(),
        place: place(c),
        says: c.claim.says.clone(),
        because: because(c).replacen("*Why:*", " Why:", 1),
        test: c.claim.test.text.clone(),
        found: c.found.clone(),
        verdict: c.holds.name(),
    };
    let tables = judged.tables.iter().filter(|t| !t.cells.is_empty());
    Section {
        id: e.id.clone(),
        command: page.papers.command(&e.id),
        heading: format!("{}: {}", e.section, e.title),
        scenarios: scenarios(judged).replace('`', ""),
        describes: rendered(&e.describes),
        readings: if open { e.readings.iter().map(reading).collect() } else { Vec::new() },
        notes: notes::all(judged),
        tables: tables.map(|t| block(page, judged, t)).collect(),
        claims: judged.claims.iter().map(claim).collect(),
        figures: drawn
            .iter()
            .map(|d| {
                let picture = d.picture.as_ref().map(|picture| picture.svg.clone());
                (d.name.clone(), picture.map_err(|why| format!("{} is not drawn: {why}", named(d.number))))
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

fn block(page: &Page<'_>, judged: &JudgedExperiment<'_>, table: &JudgedTable<'_>) -> Block {
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
            band: strip::band(cell),
            found: found(cell),
            ns2: ns2(cell),
            verdict: cell.verdict.name(),
            name: if cell.withheld { "withheld" } else { cell.verdict.name() },
            word: word(cell),
        });
    }
    let picture = page.strip(judged, table);
    Block {
        caption: caption(table),
        picture: picture.svg,
        name: picture.name,
        columns: if table.cells.iter().any(|c| c.ns2.is_some()) { 3 } else { 2 },
        metrics: metrics.into_iter().map(|(m, u)| format!("{} ({u})", m.replace('_', " "))).collect(),
        rows,
    }
}
