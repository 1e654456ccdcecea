//! The findings as a page of HTML and as Markdown.

use askama::Template;
use quell_metrics::Results;
use quell_units::text::three_digits;
use quell_view::figures::Figure as Rounded;

use crate::ellipse::{Ellipse, picture, tradeoff};
use crate::facts::{Facts, network};
use crate::findings::{Cell, Findings, PointFound, SectionFound, Tally, Verdict};
use crate::heading::Heading;
use crate::plan::Plan;
use crate::suite::{Figure, Section, Wish};

/// A column of a section's table.
struct Column {
    title: String,
    unit: String,
    /// The better direction, in words.
    wish: &'static str,
}

/// A cell as text.
struct Shown {
    mean: String,
    half_width: Option<String>,
    /// The class of the cell in HTML.
    class: &'static str,
    /// The sign of the verdict beside drop-tail.
    sign: &'static str,
    /// The verdicts beside drop-tail and the baseline, in words.
    title: String,
}

struct Line {
    algorithm: String,
    cells: Vec<Option<Shown>>,
}

struct PointTable {
    setting: String,
    columns: Vec<Column>,
    lines: Vec<Line>,
}

struct Block<'a> {
    name: &'static str,
    section: &'static str,
    title: &'static str,
    weight: &'static str,
    says: &'static str,
    points: Vec<PointTable>,
    left_out: &'a [(String, String)],
    picture: Option<String>,
    /// True if the picture has only some of the algorithms.
    some: bool,
    scenario: String,
}

/// The sign of a verdict: it does not depend on color.
fn sign(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Better) => "▲",
        Some(Verdict::Worse) => "▼",
        Some(Verdict::Same) => "=",
        None => "",
    }
}

/// The better direction, in words.
fn wish(figure: &Figure) -> &'static str {
    match figure.wish {
        Wish::More => "more is better",
        Wish::Less => "less is better",
        Wish::NearOne => "nearer to 1 is better",
        Wish::Neither => "not judged",
    }
}

fn shown(cell: &Cell, heading: &Heading, baseline: &str) -> Shown {
    let Rounded { mean, half_width, .. } = heading.figure(cell);
    let word = |verdict: Option<Verdict>| match verdict {
        Some(Verdict::Better) => "better than",
        Some(Verdict::Worse) => "worse than",
        Some(Verdict::Same) => "no difference found from",
        None => "",
    };
    let mut said: Vec<String> = Vec::new();
    for (verdict, other) in [(cell.against_drop_tail, "drop-tail"), (cell.against_baseline, baseline)] {
        if verdict.is_some() && !said.iter().any(|s| s.ends_with(other)) {
            said.push(format!("{} {other}", word(verdict)));
        }
    }
    Shown {
        mean,
        half_width,
        class: match cell.against_drop_tail {
            Some(Verdict::Better) => "better",
            Some(Verdict::Worse) => "worse",
            _ => "",
        },
        sign: sign(cell.against_drop_tail),
        title: said.join("; "),
    }
}

fn table(plan: &Plan, results: &Results, section: &Section, point: &PointFound) -> PointTable {
    let headings = Heading::all(results, section, point);
    let line = |row: &crate::findings::FigureRow| Line {
        algorithm: row.algorithm.clone(),
        cells: row
            .cells
            .iter()
            .zip(&headings)
            .map(|(cell, heading)| Some(shown(cell.as_ref()?, heading, plan.baseline())))
            .collect(),
    };
    let column = |(heading, figure): (&Heading, &Figure)| Column {
        title: heading.title.clone(),
        unit: heading.unit.clone(),
        wish: wish(figure),
    };
    let columns = headings.iter().zip(&section.figures).map(column).collect();
    PointTable { setting: point.setting.clone(), columns, lines: point.rows.iter().map(line).collect() }
}

/// The most algorithms that a reader can tell apart in a picture.
const MOST_DRAWN: usize = 12;

/// The algorithms drawn first: those that routers have, and those that others are compared with.
const KNOWN: [&str; MOST_DRAWN] = [
    "drop-tail",
    "red",
    "ared",
    "pi",
    "codel",
    "cobalt",
    "pie",
    "pi2",
    "dualpi2",
    "fq-codel",
    "fq-pie",
    "cake",
];

/// Ellipses are drawn where several long flows share the link.
fn ellipses(found: &SectionFound, results: &Results, plan: &Plan) -> Vec<Ellipse> {
    // Drop-tail stands first.
    let rank = |a: &String| KNOWN.iter().position(|known| known == a).unwrap_or(KNOWN.len());
    let mut few = plan.algorithms.clone();
    if few.len() > MOST_DRAWN {
        few.sort_by_key(rank);
        few.truncate(MOST_DRAWN);
    }
    if found.section.figures.iter().any(|f| f.of.to_string().starts_with("goodput_bps")) {
        tradeoff(found, results, &few)
    } else {
        Vec::new()
    }
}

fn block<'a>(plan: &'a Plan, results: &Results, found: &SectionFound) -> Block<'a> {
    let section = found.section;
    let title = format!("Section {}: delay and goodput of the flows", section.section);
    let info = results.run.points.get(found.first);
    Block {
        name: section.name,
        section: &section.section,
        title: &section.title,
        weight: section.weight.word(),
        says: &section.says,
        points: found.points.iter().map(|point| table(plan, results, section, point)).collect(),
        left_out: left_out(plan, section),
        some: plan.algorithms.len() > MOST_DRAWN,
        picture: picture(&title, &ellipses(found, results, plan)),
        scenario: info.map(|info| info.scenario.clone()).unwrap_or_default(),
    }
}

/// The algorithms that refuse a section's link.
fn left_out<'a>(plan: &'a Plan, section: &Section) -> &'a [(String, String)] {
    plan.parts.iter().find(|part| part.section.name == section.name).map_or(&[], |part| &part.left_out)
}

/// A row of the matrix: an algorithm in all sections.
struct MatrixRow {
    algorithm: String,
    cells: Vec<Tally>,
    all: Tally,
}

fn matrix(plan: &Plan, findings: &Findings) -> Vec<MatrixRow> {
    let by_number = findings.by_number();
    let row = |algorithm: &String| MatrixRow {
        algorithm: algorithm.clone(),
        cells: by_number
            .iter()
            .map(|(_, all)| all.iter().map(|found| found.tally(algorithm)).sum())
            .collect(),
        all: findings.tally(algorithm),
    };
    // Drop-tail is what they are compared with.
    plan.algorithms.iter().skip(1).map(row).collect()
}

struct StabilityRow {
    algorithm: String,
    load: &'static str,
    verdict: &'static str,
    gain: String,
    phase: String,
    delay: String,
    why: String,
}

fn stability(facts: &[Facts]) -> Vec<StabilityRow> {
    let number = |x: Option<f64>| x.map_or("–".to_string(), three_digits);
    let rows = facts.iter().flat_map(|f| f.stability.iter().map(move |at| (f, at)));
    rows.map(|(facts, at)| {
        let margins = at.assessment.margins.as_ref();
        StabilityRow {
            algorithm: facts.algorithm.clone(),
            load: at.load,
            verdict: at.assessment.verdict.word(),
            gain: number(margins.and_then(|m| m.gain)),
            phase: number(margins.and_then(|m| m.phase_deg)),
            delay: number(margins.and_then(|m| m.delay_s).map(|s| 1e3 * s)),
            why: at.assessment.reasons.join(" "),
        }
    })
    .collect()
}

#[derive(Template)]
#[template(path = "characterization.html")]
struct Page<'a> {
    title: String,
    network: String,
    seeds: u32,
    baseline: &'a str,
    command: String,
    digest: &'a str,
    version: &'a str,
    partial: bool,
    /// The first scenario of each section of the RFC.
    sections: Vec<&'static Section>,
    matrix: Vec<MatrixRow>,
    blocks: Vec<Block<'a>>,
    stability: Vec<StabilityRow>,
    facts: &'a [Facts],
    tuned: Vec<(String, String)>,
    css: &'static str,
}

/// The knobs that are not at their defaults, for each algorithm that has any (RFC 7928 section 13).
fn tuned(facts: &[Facts]) -> Vec<(String, String)> {
    let knobs = |f: &Facts| {
        let tuned = f.knobs.iter().filter(|knob| knob.tuned);
        tuned
            .map(|k| format!("{} = {} (default {})", k.name, k.value, k.default))
            .collect::<Vec<_>>()
            .join(", ")
    };
    facts.iter().map(|f| (f.algorithm.clone(), knobs(f))).filter(|(_, said)| !said.is_empty()).collect()
}

/// One page with everything, which needs no other file.
pub fn html(plan: &Plan, results: &Results, findings: &Findings, facts: &[Facts]) -> String {
    let named = plan.request.candidates.iter().map(|c| c.label.as_str()).collect::<Vec<_>>();
    let page = Page {
        title: match named.len() {
            0..=4 => format!("Characterization of {}", named.join(", ")),
            n => format!("Characterization of {n} algorithms"),
        },
        network: network(plan.request.rate, plan.request.rtt),
        seeds: plan.request.seeds,
        baseline: plan.baseline(),
        command: results.run.command.join(" "),
        digest: &results.run.digest,
        version: &results.run.version,
        partial: results.run.partial,
        sections: findings.by_number().iter().map(|(_, all)| all[0].section).collect(),
        matrix: matrix(plan, findings),
        blocks: findings.sections.iter().map(|found| block(plan, results, found)).collect(),
        stability: stability(facts),
        facts,
        tuned: tuned(facts),
        css: include_str!("../assets/characterization.css"),
    };
    page.render().expect("writing to a string cannot fail, and the template calls nothing else that can")
}

/// The comment at the head of a generated page.
const WRITTEN: &str = "<!-- Written by make characterize. -->";

/// The same in Markdown, without pictures: the matrix, a table for each section, and the facts.
pub fn markdown(plan: &Plan, results: &Results, findings: &Findings, facts: &[Facts]) -> String {
    let mut text = format!(
        "# Characterization by RFC 7928\n\n{WRITTEN}\n\nEvery scenario of RFC 7928 sections 4.4 to 10, for {} \
         algorithms compared with drop-tail: {}; {} seeds. The scenarios are in `crates/characterize/suite`. `quell \
         characterize NAME...` does the same for your own link, and writes a page with figures.\n\n",
        plan.algorithms.len() - 1,
        network(plan.request.rate, plan.request.rtt),
        plan.request.seeds,
    );
    text.push_str(
        "A result is better (▲) or worse (▼) than drop-tail's if the 95% interval of the difference, paired by seed, \
         excludes zero and the difference is more than 2%. The first table counts them. No scenario of the RFC has \
         ECT(1) packets, so for algorithms with a queue or a threshold for them, only the Classic part is tested here \
         (docs/l4s.md has the other).\n\n",
    );
    let heads: Vec<&str> = findings.by_number().iter().map(|(number, _)| *number).collect();
    text.push_str(&format!("| algorithm | {} | all |\n", heads.join(" | ")));
    text.push_str(&format!("| --- |{}\n", " --- |".repeat(heads.len() + 1)));
    for row in matrix(plan, findings) {
        let cells: Vec<String> = row.cells.iter().chain([&row.all]).map(counts).collect();
        text.push_str(&format!("| {} | {} |\n", row.algorithm, cells.join(" | ")));
    }
    for found in &findings.sections {
        let section = found.section;
        text.push_str(&format!("\n## {}: {}\n\n{}\n", section.section, section.title, section.says));
        for (algorithm, why) in left_out(plan, section) {
            text.push_str(&format!("\n{algorithm} is left out: {why}.\n"));
        }
        for point in &found.points {
            let table = table(plan, results, section, point);
            if !table.setting.is_empty() {
                text.push_str(&format!("\n`{}`\n", table.setting));
            }
            let head = |c: &Column| match c.unit.as_str() {
                "" => c.title.clone(),
                unit => format!("{}, {unit}", c.title),
            };
            let heads: Vec<String> = table.columns.iter().map(head).collect();
            text.push_str(&format!(
                "\n| algorithm | {} |\n| --- |{}\n",
                heads.join(" | "),
                " --- |".repeat(heads.len())
            ));
            for line in &table.lines {
                let cell = |shown: &Option<Shown>| match shown {
                    None => "–".to_string(),
                    Some(s) => format!(
                        "{}{}{}",
                        s.mean,
                        if s.class.is_empty() { "" } else { " " },
                        match s.class {
                            "" => "",
                            _ => s.sign,
                        }
                    ),
                };
                let cells: Vec<String> = line.cells.iter().map(cell).collect();
                text.push_str(&format!("| {} | {} |\n", line.algorithm, cells.join(" | ")));
            }
        }
    }
    let rows = stability(facts);
    if !rows.is_empty() {
        text.push_str(
            "\n## 8.3: Stability\n\nWhat the linear model says under mild, medium and heavy congestion, with margins \
             of gain (a factor), phase (degrees) and delay (ms). Algorithms that are not listed have no continuous \
             form; `quell analyze` says why.\n\n| algorithm | load | verdict | gain | phase | delay |\n| --- | --- | \
             --- | --- | --- | --- |\n",
        );
        for row in rows.iter().filter(|row| row.verdict != "no model") {
            let StabilityRow { algorithm, load, verdict, gain, phase, delay, .. } = row;
            text.push_str(&format!("| {algorithm} | {load} | {verdict} | {gain} | {phase} | {delay} |\n"));
        }
    }
    text.push_str(
        "\n## 11: Implementation cost\n\n[Performance](performance.md) has the cost of a decision.\n\n| algorithm | \
         decides | queues | state, bytes (without tables) | timer |\n| --- | --- | --- | --- | --- |\n",
    );
    for f in facts {
        let timer = f.cost.update_s.map_or("none".to_string(), |s| format!("{} ms", three_digits(1e3 * s)));
        let Facts { algorithm, cost, .. } = f;
        text.push_str(&format!(
            "| {algorithm} | {} | {} | {} | {timer} |\n",
            cost.decides, cost.lanes, cost.state_bytes
        ));
    }
    text.push_str("\n## 12 and 13: Knobs\n\n");
    match tuned(facts).as_slice() {
        [] => text.push_str(
            "Every parameter has its default; [the pages](algorithms/README.md) list them with their sources.\n",
        ),
        some => some.iter().for_each(|(name, said)| text.push_str(&format!("- {name}: {said}\n"))),
    }
    text
}

/// The numbers of better and worse figures, in little room.
fn counts(tally: &Tally) -> String {
    match (tally.better, tally.worse) {
        (0, 0) => if tally.all() == 0 { "–" } else { "=" }.to_string(),
        (b, 0) => format!("{b}▲"),
        (0, w) => format!("{w}▼"),
        (b, w) => format!("{b}▲ {w}▼"),
    }
}

/// A time over that of drop-tail.
fn ratio(x: &f64) -> String {
    format!("{x:.2}")
}

/// A time in milliseconds. `None`: there is no timer.
fn timer(seconds: &Option<f64>) -> String {
    seconds.map_or("none".to_string(), |s| format!("{} ms", three_digits(1e3 * s)))
}
