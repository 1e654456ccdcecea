//! A document's page in Markdown.

use super::front::{GUESSED, heading, line};
use super::words::{Page, RULES, because, caption, found, ns2, place, place_in_band, scenarios, under, word};
use super::{notes, strip};
use crate::experiment::Experiment;
use crate::figures::{Beside, Drawn, named};
use crate::judge::{Holds, JudgedExperiment};
use crate::live::LiveRecord;
use quell_lab::distinct;

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
    match page.elsewhere() {
        none if none.is_empty() => {}
        said => out.push_str(&format!("\n{said}")),
    }
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
    let ours = match judged.claims.len() - theirs().count() {
        0 => String::new(),
        n => format!("; and {n} of ours"),
    };
    let mut out = match theirs().count() {
        0 => "\nQuell's own claims:\n\n".to_string(),
        n => format!("\nThe document's claims: {counts}, of {n}{ours}.\n\n"),
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
    out + &format!("\nThe live results are on record ({}).\n", record.sentence())
}
