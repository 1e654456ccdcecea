//! `quell characterize`.

use std::path::PathBuf;

use quell_aqm::catalog::CATALOG;
use quell_characterize::{
    Candidate, Cell, DROP_TAIL, Facts, Findings, Heading, Plan, PointFound, Request, Section, SectionFound,
    Tally, Verdict, Wish, html, markdown, select, tradeoff,
};
use quell_lab::{CHARACTERIZATION, Results, Series};
use quell_scenario::ScenarioError;
use quell_units::{BitRate, Duration};
use serde_json::json;

use crate::args::{Format, FormatArgs, WatchArgs, link_rate, round_trip, whole};
use crate::failure::Failure;
use crate::folder::{self, Place};
use crate::keep::{interrupted, keep};
use crate::simulate::Watch;
use crate::table::{self, Column, Tint};
use crate::{json, selection, terminal};

/// The link of `characterize` unless another is given.
const DEFAULT_RATE: &str = "10Mbit/s";
/// Its round-trip time.
const DEFAULT_RTT: &str = "100ms";

/// Arguments of `characterize`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell characterize codel pie
  quell characterize codel,target=10ms codel --rate 50Mbit/s --rtt 20ms --baseline pie
  quell characterize pi --only 5.1,8.2 --format json
  quell characterize all --seeds 3 --out results/all

RFC 7928 tests an algorithm with different kinds of flows, loads, round-trip times and capacities, always against \
drop-tail. A result counts as better or worse than drop-tail's if the 95% interval of the difference, paired by seed, \
excludes zero and the difference is more than 2%. Finished replications are kept, so the same command resumes after an \
interruption.")]
pub struct Args {
    /// Algorithms, each with any parameters that differ from its defaults (`codel,target=10ms`), or `all`.
    #[arg(value_name = "AQM", required_unless_present = "list")]
    algorithms: Vec<String>,
    /// Another algorithm to compare with besides drop-tail, in the same form.
    #[arg(long, value_name = "AQM", default_value = "red")]
    baseline: String,
    /// The link's rate.
    #[arg(long, value_name = "RATE", default_value = DEFAULT_RATE, value_parser = link_rate)]
    rate: BitRate,
    /// The round-trip time without queueing, where the scenario does not vary it.
    #[arg(long, value_name = "TIME", default_value = DEFAULT_RTT, value_parser = round_trip)]
    rtt: Duration,
    /// The number of seeds.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole(1..=100_000_u32))]
    seeds: u32,
    /// Only these sections of the RFC and their subsections (`5.3,8.2`).
    #[arg(long, value_name = "SECTIONS", value_delimiter = ',')]
    only: Vec<String>,
    /// List the scenarios without running them.
    #[arg(long)]
    list: bool,
    /// Folder for the page (characterization.html) and the results; default: a folder under results.
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the folder if it holds results.
    #[arg(long)]
    overwrite: bool,
    /// Also write the tables to this file, in Markdown.
    #[arg(long, value_name = "FILE")]
    docs: Option<PathBuf>,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// Runs the scenarios of RFC 7928 and reports what the algorithms do in them.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    let sections = select(&args.only).map_err(|why| bad_input!("--only: {why}"))?;
    let candidates = candidates(&args.algorithms)?;
    let baseline = Candidate::parse(&args.baseline).map_err(|why| bad_input!("--baseline: {why}"))?;
    let request = Request {
        candidates,
        baseline: Some(baseline).filter(|b| b.label != DROP_TAIL),
        rate: args.rate,
        rtt: args.rtt,
        seeds: args.seeds,
        sections,
    };
    let plan = Plan::of(request.clone()).map_err(|error| blamed(&request, &error))?;
    if args.list {
        return list(&plan.request.sections, args.format.format);
    }
    for hole in &plan.study.holes {
        terminal::note(&format!("{} was left out: {}", hole.title(), hole.reason));
    }
    for part in &plan.parts {
        for (algorithm, why) in &part.left_out {
            terminal::note(&format!("section {}: {algorithm} was left out: {why}", part.section.section));
        }
    }
    if let Some(file) = &args.docs {
        folder::check_writable(file)?;
    }
    let place = Place::choose(args.out.as_deref(), "characterization", args.overwrite)?;
    let watch = Watch::of(&args.watch).with_series(Series::None);
    let results = watch.run(&plan.study, (0, 1), line);
    watch.finish();
    let mut results = results?;
    // That of the joined scenarios would be all of theirs.
    results.run.title = title(&plan);
    if results.replications.is_empty() {
        return Err(Failure::Interrupted("no replication finished; nothing was written".to_string()));
    }
    let findings = Findings::of(&plan, &results);
    let facts = Facts::of(&plan).map_err(Failure::BadInput)?;
    match args.format.format {
        Format::Json => json::print(&output(&plan, &results, &findings, &facts))?,
        Format::Table => terminal::print(&said(&plan, &results, &findings))?,
    }
    if let (Some(file), false) = (&args.docs, results.run.partial) {
        folder::write_whole(&markdown(&plan, &results, &findings, &facts), file)?;
    }
    let kept = keep(Some(place), &results, false, false);
    if let Some(folder) = &kept.folder {
        let page = folder.join(CHARACTERIZATION);
        folder::write_whole(&html(&plan, &results, &findings, &facts), &page)?;
        if args.format.format == Format::Table {
            terminal::print(&format!(
                "page     {}\nresults  {}\n",
                quell_files::name(&page),
                quell_files::name(folder)
            ))?;
        }
    }
    if let Some(failure) = kept.failure {
        return Err(failure);
    }
    interrupted(&results, kept.folder.as_deref(), false)
}

/// Blames an error on the option without which there is none.
fn blamed(request: &Request, error: &ScenarioError) -> Failure {
    let Request { rate, rtt, .. } = request;
    let usual_rtt = Request { rtt: DEFAULT_RTT.parse().expect("a time"), ..request.clone() };
    let usual_rate = Request { rate: DEFAULT_RATE.parse().expect("a rate"), ..request.clone() };
    let options = [("--rtt", rtt.to_string(), usual_rtt), ("--rate", rate.to_string(), usual_rate)];
    match options.into_iter().find(|(_, _, usual)| Plan::of(usual.clone()).is_ok()) {
        Some((option, value, _)) => bad_input!(
            "{option} {value}: does not suit {}: {}; choose another value, or pick sections with --only",
            error.file,
            error.reason()
        ),
        None => Failure::BadInput(error.to_string()),
    }
}

fn title(plan: &Plan) -> String {
    let request = &plan.request;
    let names: Vec<&str> = request.candidates.iter().map(|c| c.label.as_str()).collect();
    let who = match names.len() {
        0..=4 => names.join(", "),
        n => format!("{n} algorithms"),
    };
    let beside = match plan.baseline() {
        DROP_TAIL => String::new(),
        other => format!(" and {other}"),
    };
    format!("RFC 7928: {who} beside drop-tail{beside}; {}, {}", request.rate, request.rtt)
}

/// The algorithms that the command line names.
fn candidates(names: &[String]) -> Result<Vec<Candidate>, Failure> {
    let mut candidates: Vec<Candidate> = Vec::new();
    for name in names {
        let these: Vec<&str> = match name.as_str() {
            "all" => CATALOG.iter().map(|entry| entry.name).collect(),
            name => vec![name],
        };
        for text in these {
            let candidate = Candidate::parse(text).map_err(Failure::BadInput)?;
            if candidates.iter().any(|other| other.label == candidate.label) {
                return Err(bad_input!("{} is named twice: name it once", candidate.label));
            }
            candidates.push(candidate);
        }
    }
    Ok(candidates)
}

fn list(sections: &[&'static Section], format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        let scenario = |s: &&'static Section| {
            let Section { section, name, weight, title, says, .. } = s;
            json!({ "section": section, "name": name, "weight": weight, "title": title, "says": says })
        };
        let scenarios: Vec<_> = sections.iter().map(scenario).collect();
        return json::print(&json!({ "scenarios": scenarios }));
    }
    let rows = sections
        .iter()
        .map(|s| [s.section.as_str(), s.weight.word(), &s.title, &s.says].map(str::to_string).to_vec());
    let head = ["section", "", "scenario", "what is run"];
    terminal::print(&(table::text(&head, &rows.collect::<Vec<_>>()) + "\n"))
}

/// The matrix of verdicts; with few sections, their tables.
fn said(plan: &Plan, results: &Results, findings: &Findings) -> String {
    /// The most sections whose tables are printed; more are in the page and in JSON.
    const DETAILED: usize = 6;
    let mut text = selection::heading(results);
    if findings.sections.len() <= DETAILED {
        for found in &findings.sections {
            let section = found.section;
            text = format!("{text}\nRFC 7928 section {}: {}\n", section.section, section.title);
            for point in &found.points {
                text.push_str(&point_table(results, section, point));
            }
        }
    }
    let others: Vec<&String> = plan.algorithms.iter().filter(|a| *a != DROP_TAIL).collect();
    let names = Column::names("better/worse than drop-tail", &others);
    let column = |title: &str, of: &dyn Fn(&str) -> Tally| {
        Column::new(title, "", others.iter().map(|a| counts(&of(a))))
    };
    // In a narrow terminal what comes first stays beside the names.
    let mut columns = vec![column("all", &|a| findings.tally(a))];
    for (number, all) in findings.by_number() {
        columns.push(column(number, &|a| all.iter().map(|found| found.tally(a)).sum()));
    }
    text = format!("{text}\n{}\n", table::figures(&names, &columns));
    text.push_str(
        "results better (+) or worse (-) than drop-tail's beyond chance and by more than 2%; – not \
    compared\n",
    );
    if plan.request.seeds == 1 {
        text.push_str("one seed cannot show a difference beyond chance; use --seeds N\n");
    }
    text
}

fn counts(tally: &Tally) -> (String, Tint) {
    match (tally.better, tally.worse) {
        // Nothing has been compared.
        (0, 0) if tally.all() == 0 => ("–".to_string(), Tint::Plain),
        (better, worse) => {
            let tint = match (better, worse) {
                (1.., 0) => Tint::Good,
                (0, 1..) => Tint::Bad,
                _ => Tint::Plain,
            };
            (format!("{better}/{worse}"), tint)
        }
    }
}

/// A point's results, with a sign for what is better (+) or worse (-) than drop-tail.
fn point_table(results: &Results, section: &Section, point: &PointFound) -> String {
    let names = Column::names("algorithm", point.rows.iter().map(|row| &row.algorithm));
    let shown = |heading: &Heading, cell: Option<&Cell>| match cell {
        None => ("-".to_string(), Tint::Plain),
        Some(cell) => {
            let figure = heading.figure(cell);
            let half = figure.half_width.map_or(String::new(), |h| format!(" ± {h}"));
            let (sign, tint) = match cell.against_drop_tail {
                Some(Verdict::Better) => (" +", Tint::Good),
                Some(Verdict::Worse) => (" -", Tint::Bad),
                _ => ("  ", Tint::Plain),
            };
            (format!("{}{half}{sign}", figure.mean), tint)
        }
    };
    let column = |(i, heading): (usize, &Heading)| {
        let wish = if section.figures[i].wish == Wish::NearOne { " (1 is fair)" } else { "" };
        let cells = point.rows.iter().map(|row| shown(heading, row.cells[i].as_ref()));
        Column::new(format!("{}{wish}", heading.title), heading.unit.clone(), cells)
    };
    let headings = Heading::all(results, section, point);
    let columns: Vec<Column> = headings.iter().enumerate().map(column).collect();
    let setting = if point.setting.is_empty() { String::new() } else { format!("{}\n", point.setting) };
    format!("{setting}{}\n", table::figures(&names, &columns))
}

/// The findings, for JSON.
fn output(plan: &Plan, results: &Results, findings: &Findings, facts: &[Facts]) -> serde_json::Value {
    let figure = |f: &quell_characterize::Figure| json!({ "of": f.of.to_string(), "unit": results.unit(&f.of), "better": f.wish, "link": f.link });
    let section = |found: &SectionFound| {
        let section = found.section;
        json!({
            "section": section.section,
            "name": section.name,
            "title": section.title,
            "weight": section.weight,
            "figures": section.figures.iter().map(figure).collect::<Vec<_>>(),
            "points": found.points,
            "ellipses": tradeoff(found, results, &plan.algorithms),
        })
    };
    json!({
        "rate_bps": plan.request.rate.bps(),
        "rtt_s": plan.request.rtt.as_secs_f64(),
        "seeds": plan.request.seeds,
        "baseline": plan.baseline(),
        "algorithms": plan.algorithms,
        "partial": results.run.partial,
        "digest": results.run.digest,
        "sections": findings.sections.iter().map(section).collect::<Vec<_>>(),
        "facts": facts,
    })
}
