//! The report: one HTML file that opens offline.
//!
//! `assets/report.html` is the page, a template that escapes what it is given; `assets/report.js` draws
//! the charts with uPlot from data that the page carries as JSON. Everything that needs no script
//! (tables, scenario, how to repeat the run) is in the HTML itself.

mod charts;
mod tables;
mod thin;

use askama::Template;

use quell_metrics::{PointInfo, Replication, Results, RunInfo, View};
use quell_units::text::{seconds, visible, visible_json};

pub use tables::best;

use charts::Charts;
use tables::Table;

/// Points beyond this have no tables on the page, only their place in the charts over parameters.
const MOST_POINTS: usize = 100;
/// Points beyond this that are not valid are only counted.
const MOST_HOLES: usize = 200;
/// More of them than this are folded.
const OPEN_HOLES: usize = 3;
/// Points beyond this have only the main table.
const DETAILED_POINTS: usize = 20;

/// The report on `results` as a self-contained HTML page.
pub fn html(results: &Results) -> String {
    html_with(results, &[])
}

/// The same with pictures of its senders over time: SVG, as [`crate::picture::chart`] makes it.
pub fn html_with(results: &Results, senders: &[String]) -> String {
    let charts = Charts::of(results);
    let run = &results.run;
    let first = run.points.first();
    let page = Page {
        title: if run.title.is_empty() { &run.scenario_file } else { &run.title },
        description: first.and_then(|p| text_of(p, "description")).unwrap_or_default(),
        partial: run
            .partial
            .then(|| Partial { finished: results.replications.len(), asked: results.asked() }),
        facts: facts(results),
        points: run
            .points
            .iter()
            .enumerate()
            .take(MOST_POINTS)
            .map(|(i, p)| section(results, i, p))
            .collect(),
        notices: left_out(results, &charts).into_iter().chain(rules(run)).chain(results.notes()).collect(),
        holes: holes(run),
        command: command(run),
        senders,
        run,
        replications: results.replications.iter().map(replication).collect(),
        data: json(&charts),
        swept: run.points.len() > 1,
        uplot_css: include_str!("../../assets/uplot/uPlot.min.css"),
        uplot_js: include_str!("../../assets/uplot/uPlot.iife.min.js"),
        uplot_license: include_str!("../../assets/uplot/LICENSE"),
        css: include_str!("../../assets/report.css"),
        js: include_str!("../../assets/report.js"),
    };
    let page = page.render();
    let page = page.expect("writing to a string cannot fail, and the template calls nothing else that can");
    // Titles and labels are others', and a terminal that shows the file obeys them.
    visible(&page).into_owned()
}

/// The main table of every point as a piece of HTML, for a notebook: means ± half the width of the 95% interval.
pub fn summary(results: &Results) -> String {
    let run = &results.run;
    let of_point = |(i, p): (usize, &PointInfo)| (p.title(), tables::main(results, &View::of_point(i), p));
    let points: Vec<_> = run.points.iter().enumerate().take(MOST_IN_SUMMARY).map(of_point).collect();
    let summary = Summary {
        title: if run.title.is_empty() { &run.scenario_file } else { &run.title },
        more: run.points.len() - points.len(),
        finished: results.replications.len(),
        partial: run.partial,
        points,
    };
    let summary = summary.render();
    let text =
        summary.expect("writing to a string cannot fail, and the template calls nothing else that can");
    visible(&text).into_owned()
}

/// Points beyond this are only counted.
const MOST_IN_SUMMARY: usize = 12;

#[derive(Template)]
#[template(path = "summary.html")]
struct Summary<'a> {
    title: &'a str,
    points: Vec<(String, Table)>,
    more: usize,
    finished: usize,
    partial: bool,
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    title: &'a str,
    description: String,
    partial: Option<Partial>,
    facts: Vec<(&'static str, String)>,
    points: Vec<Section>,
    /// The notes: what is not shown, and what to know about what is.
    notices: Vec<String>,
    holes: Option<Holes>,
    command: String,
    /// Pictures as SVG.
    senders: &'a [String],
    run: &'a RunInfo,
    replications: Vec<Row>,
    /// Escaped for a script element by [`json`].
    data: String,
    swept: bool,
    uplot_css: &'static str,
    uplot_js: &'static str,
    uplot_license: &'static str,
    css: &'static str,
    js: &'static str,
}

/// The holes of a sweep: what was not run.
struct Holes {
    count: usize,
    points: usize,
    lines: Vec<String>,
    open: bool,
}

struct Partial {
    finished: usize,
    asked: usize,
}

/// A point of the study.
struct Section {
    index: usize,
    title: String,
    links: Vec<LinkSection>,
    scenario: String,
}

struct LinkSection {
    index: usize,
    name: String,
    main: Table,
    more: Vec<Table>,
}

/// A replication, for those who repeat it.
struct Row {
    point: usize,
    algorithm: String,
    seed: u64,
    digest: String,
    events: u64,
    elapsed_s: String,
}

fn section(results: &Results, index: usize, point: &PointInfo) -> Section {
    let link = |(i, name): (usize, &String)| {
        let view = View { link: Some(name.clone()), ..View::of_point(index) };
        let detailed = index < DETAILED_POINTS;
        let more = || {
            [
                tables::classes(results, &view, point),
                tables::sizes(results, &view, point),
                tables::segments(results, &view, point),
                tables::differences(results, &view, point),
                Some(tables::everything(results, &view, point)),
                tables::internals(results, &view, point),
            ]
        };
        LinkSection {
            index: i,
            name: name.clone(),
            main: tables::main(results, &view, point),
            more: if detailed { more().into_iter().flatten().collect() } else { Vec::new() },
        }
    };
    Section {
        index,
        title: point.title(),
        links: point.links.iter().enumerate().map(link).collect(),
        scenario: point.scenario.clone(),
    }
}

fn replication(r: &Replication) -> Row {
    Row {
        point: r.point,
        algorithm: r.algorithm.clone(),
        seed: r.seed,
        digest: format!("{:016x}", r.digest),
        events: r.events,
        elapsed_s: format!("{:.2}", r.elapsed_s),
    }
}

/// The facts of the run, for the head of the page.
fn facts(results: &Results) -> Vec<(&'static str, String)> {
    let run = &results.run;
    let mut facts = Vec::new();
    if let Some(point) = run.points.first() {
        facts.push(("Algorithms", point.algorithms.join(", ")));
        let seeds: Vec<String> = point.seeds.iter().map(u64::to_string).collect();
        let seeds = if seeds.len() > 12 { runs_of(&point.seeds) } else { seeds.join(", ") };
        facts.push(("Seeds", if run.sequential.is_empty() { seeds } else { seeds_decided(run) }));
        if let (Some(duration), Some((from, _)), Some((_, to))) =
            (text_of(point, "duration"), point.segments.first(), point.segments.last())
        {
            let what = if run.live { "Run with real packets" } else { "Simulated" };
            facts.push((what, duration));
            let warmup = text_of(point, "warmup").unwrap_or_else(|| "0 s".to_string());
            facts.push((
                "Measured",
                format!("{}\u{2013}{} s (after a warm-up of {warmup})", seconds(*from), seconds(*to)),
            ));
        }
        facts.push(("Links", point.links.join(", ")));
    }
    if run.points.len() > 1 {
        facts.push(("Points", run.points.len().to_string()));
    }
    facts.push(("Replications", results.replications.len().to_string()));
    facts.push(("Run", format!("{}, took {:.1} s", to_the_second(&run.started), run.elapsed_s)));
    facts.push(("Version", run.made_by()));
    facts.push(("Digest", run.digest.clone()));
    facts
}

/// The number of seeds that the run took, where it decided that itself.
fn seeds_decided(run: &RunInfo) -> String {
    let counts = || run.sequential.iter().flat_map(|s| &s.stops).map(|stop| stop.seeds);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    if least == most { format!("{most} each") } else { format!("{least} to {most} each") }
}

/// The rule by which the run chose the seeds, where it did.
fn rules(run: &RunInfo) -> Vec<String> {
    let mut rules: Vec<String> =
        run.sequential.iter().map(|s| format!("Number of seeds: {}.", s.rule())).collect();
    rules.dedup();
    rules
}

/// A time in RFC 3339 without fractions of a second.
fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, fraction)) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{whole}{zone}")
        }
        None => time.to_string(),
    }
}

/// A list of seeds in few words.
fn runs_of(seeds: &[u64]) -> String {
    let consecutive = seeds.windows(2).all(|w| w[1] == w[0].wrapping_add(1));
    match (seeds.first(), seeds.last()) {
        (Some(first), Some(last)) if consecutive => format!("{first} to {last} ({})", seeds.len()),
        (Some(first), Some(last)) => format!("{first}, \u{2026}, {last} ({})", seeds.len()),
        _ => "none".to_string(),
    }
}

/// A text of the resolved scenario.
fn text_of(point: &PointInfo, key: &str) -> Option<String> {
    let scenario: toml::Table = toml::from_str(&point.scenario).ok()?;
    scenario.get(key)?.as_str().map(str::to_string)
}

fn holes(run: &RunInfo) -> Option<Holes> {
    let count = run.holes.len();
    let (points, lines) = (run.points.len() + count, run.hole_lines(MOST_HOLES));
    (count > 0).then_some(Holes { count, points, lines, open: count <= OPEN_HOLES })
}

/// The remark on what the page does not show for lack of room.
fn left_out(results: &Results, charts: &Charts<'_>) -> Vec<String> {
    let points = results.run.points.len();
    let mut notes = Vec::new();
    if charts.points_over_time() < points {
        notes.push(format!(
            "Curves over time are shown for the first {} of {points} points.",
            charts.points_over_time()
        ));
    }
    if charts.leaves_out_seeds(results) {
        notes.push(
            "Curves over time are shown for the first seeds and for the mean over the seeds whose series were kept.".to_string(),
        );
    }
    if points > DETAILED_POINTS {
        notes.push(format!(
            "Tables are shown for the first {} points, in detail for the first {DETAILED_POINTS}.",
            points.min(MOST_POINTS)
        ));
    }
    if !notes.is_empty() {
        notes.push("The Parquet files next to run.json hold the metrics of every replication and the time series that \
            were kept.".to_string());
    }
    notes
}

/// The command as one would type it.
fn command(run: &RunInfo) -> String {
    if run.command.is_empty() {
        return format!("quell run {}", quoted(&run.scenario_file));
    }
    run.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word for a POSIX shell, in quotes if it needs them.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A value as JSON that is safe within a script element: nothing in it ends one or begins a comment.
fn json(charts: &Charts<'_>) -> String {
    let text = serde_json::to_string(charts).expect("plain structs with string keys are always JSON");
    visible_json(&text).replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("scenarios/main.toml"), "scenarios/main.toml");
        assert_eq!(quoted("dumbbell.rate=\"20 Mbit/s\""), "'dumbbell.rate=\"20 Mbit/s\"'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn times_without_fractions() {
        assert_eq!(to_the_second("2010-03-01T10:13:15.663686476Z"), "2010-03-01T10:13:15Z");
        assert_eq!(to_the_second("2010-03-01T10:13:15Z"), "2010-03-01T10:13:15Z");
    }

    #[test]
    fn many_seeds_in_few_words() {
        assert_eq!(runs_of(&[3, 4, 5]), "3 to 5 (3)");
        assert_eq!(runs_of(&[3, 9, 5]), "3, …, 5 (3)");
    }

    #[test]
    fn scripts_cannot_end_their_element_early() {
        for script in
            [include_str!("../../assets/report.js"), include_str!("../../assets/uplot/uPlot.iife.min.js")]
        {
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
        for style in
            [include_str!("../../assets/report.css"), include_str!("../../assets/uplot/uPlot.min.css")]
        {
            assert!(!style.contains("</style"));
        }
    }
}
