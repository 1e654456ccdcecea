//! `quell reproduce`.

#[cfg(target_os = "linux")]
mod live;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use quell_files::Limit;
use quell_lab::Series;
use quell_papers::{
    Document, Drawn, Experiment, ExperimentResults, Extent, Holds, JudgedExperiment, Page, Papers, Plan, Ran,
    Record, Score, Verdict, WRITTEN, by_algorithm, draw, front_pictures, html, judge, markdown, scoreboard,
    scores,
};
use quell_units::text::plural;
use serde::Serialize;
use serde_json::json;

use crate::args::{Format, FormatArgs, WatchArgs, whole};
use crate::failure::Failure;
use crate::simulate::Watch;
use crate::table::{self, Column, Tint};
use crate::{folder, json, terminal};

/// Arguments of `reproduce`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell reproduce --list
  quell reproduce hred-t2
  quell reproduce vrc/2 --out results/papers
  quell reproduce --quick
  quell reproduce hred-13 --live    # with real packets, in real time

A printed number agrees, is inside the prediction interval of what was printed, is withheld because nothing else \
supports the reading, is explained by another reading of the document, is in its band only with a fitted reading, is \
refuted, or is open. A claim holds, fails or is undecided. With fewer than five seeds no number can be inside, and \
with one seed no claim about runs can be decided; computed claims need no seeds. So --quick shows that everything \
runs, and roughly what the numbers are. The first line says how long the run takes, which is seconds if the cache has \
it. docs/papers has the latest verdicts, and docs/papers/format.md describes the files.")]
pub struct Args {
    /// Documents (vrc), experiments (vrc-b2) or tables (vrc/2), as --list names them; default: all.
    #[arg(value_name = "WHAT")]
    what: Vec<String>,
    /// List what can be run, without running it.
    #[arg(long)]
    list: bool,
    /// Folder of documents, in the format of docs/papers/format.md.
    #[arg(long, value_name = "DIR", default_value = "papers")]
    papers: PathBuf,
    /// The most seeds; default: as many as each experiment says, mostly 10.
    #[arg(long, value_name = "N", value_parser = whole(1..=100_000_u32))]
    seeds: Option<u32>,
    /// Run one seed, and only the readings that are judged; numbers that other readings explain stay open.
    #[arg(long, conflicts_with = "seeds")]
    quick: bool,
    /// Write an HTML page for each document to this folder; a page of only some experiments is named after them.
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write Markdown pages of whole documents, their pictures, and README.md with the recorded score to this folder.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["quick", "seeds"])]
    docs: Option<PathBuf>,
    /// Fail if a verdict differs from the one recorded in verdicts.csv, in the folder of documents.
    #[arg(long, conflicts_with_all = ["quick", "seeds"])]
    check: bool,
    /// Record the verdicts.
    #[arg(long, conflicts_with_all = ["check", "quick", "seeds"])]
    record: bool,
    /// Run the live side of experiments that have one, with real packets as `quell wire` does, and record its results;
    /// nothing is simulated.
    #[cfg(target_os = "linux")]
    #[arg(long, conflicts_with_all = ["list", "seeds", "quick", "out", "docs", "check", "record"])]
    live: bool,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// The file of verdicts on record, in the folder of the documents.
const RECORD: &str = "verdicts.csv";

/// Runs the documents' experiments and judges what comes out.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    let papers = usable(args)?;
    let chosen = chosen(&papers, &args.what)?;
    if args.list {
        return match args.format.format {
            Format::Json => json::print(&listed(&papers, &chosen)),
            Format::Table => terminal::print(&list(&papers, &chosen)),
        };
    }
    #[cfg(target_os = "linux")]
    if args.live {
        return live::run(&papers, &chosen, &args.what, args.watch.quiet, args.format.format, line);
    }
    let extent = Extent { seeds: if args.quick { Some(1) } else { args.seeds }, judged: args.quick };
    let plan = Plan::of(&papers, chosen.iter().copied(), extent).map_err(|e| bad(&e))?;
    // What cannot be written is found before the work.
    if let Some(docs) = &args.docs {
        check_pages(&papers, &chosen, docs)?;
    }
    let images = args.docs.as_ref().map(|docs| docs.join("images"));
    let options = [("docs", &args.docs), ("out", &args.out)];
    for (option, folder) in options.into_iter().filter_map(|(name, of)| Some((name, of.as_ref()?))) {
        if folder.exists() && !folder.is_dir() {
            return Err(bad_input!(
                "--{option} {}: is not a folder; name a folder for the pages",
                quell_files::name(folder)
            ));
        }
    }
    for folder in args.docs.iter().chain(&images).chain(&args.out) {
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::cannot(format!("make {}", quell_files::name(folder)), e))?;
        folder::check_writable(&folder.join("README.md"))?;
    }
    let file = papers.folder.join(RECORD);
    if args.record {
        folder::check_writable(&file)?;
    }
    let on_record = Record::read(&file).map_err(|e| bad(&e))?;
    let found = simulate(&papers, &chosen, &plan, args, line)?;
    let judged: Vec<JudgedExperiment<'_>> = found.iter().map(|(judged, _)| judged.clone()).collect();
    let now = Record::of(&judged);
    let mut said = match args.format.format {
        Format::Json => {
            json::print(&output(&papers, &judged))?;
            String::new()
        }
        Format::Table => summary(&papers, &judged) + &outside(&judged),
    };
    for document in papers.documents.iter().filter(|_| args.docs.is_some() || args.out.is_some()) {
        let of_document = found.iter().filter(|(j, _)| papers.document_of(j.experiment).key == document.key);
        let experiments: Vec<_> = of_document.cloned().collect();
        if experiments.is_empty() {
            continue;
        }
        let page = Page { papers: &papers, document, experiments };
        if let Some(out) = &args.out {
            let file = out.join(format!("{}.html", page.file_stem(&args.what)));
            folder::write_whole(&html(&page), &file)?;
            said.push_str(&format!("page     {}\n", quell_files::name(&file)));
        }
        if let (Some(docs), Some(images)) = (&args.docs, &images) {
            folder::write_whole(&markdown(&page, "images"), &docs.join(format!("{}.md", document.key)))?;
            for drawn in page.experiments.iter().flat_map(|(_, drawn)| drawn) {
                if let Ok(picture) = &drawn.picture {
                    folder::write_whole(&picture.svg, &images.join(format!("{}.svg", drawn.name)))?;
                }
            }
            for strip in page.strips() {
                folder::write_whole(&strip.svg, &images.join(format!("{}.svg", strip.name)))?;
            }
        }
    }
    let recorded = on_record.clone().without_stale(&chosen, &now).with(now.clone());
    if args.record {
        folder::write_whole(&recorded.text(), &file)?;
        said.push_str(&format!("record   {}\n", quell_files::name(&file)));
    }
    // The index is of what is on record, of all documents.
    if let Some(docs) = &args.docs {
        // What was run is all of them, as a rule.
        let others = match args.what.is_empty() {
            true => None,
            false => Some(Plan::of(&papers, papers.experiments(), extent).map_err(|e| bad(&e))?),
        };
        let on_record = if args.record { &recorded } else { &on_record };
        let algorithms = by_algorithm(&papers, others.as_ref().unwrap_or(&plan), on_record);
        folder::write_whole(&scoreboard(&papers, on_record, &algorithms), &docs.join("README.md"))?;
        for picture in front_pictures(&papers, on_record) {
            folder::write_whole(&picture.svg, &docs.join("images").join(format!("{}.svg", picture.name)))?;
        }
    }
    if args.format.format == Format::Table {
        terminal::print(&said)?;
    }
    let changes = on_record.changes(&chosen, &now);
    match changes.len() {
        n if args.check && n > 0 => {
            for change in &changes {
                terminal::say(change);
            }
            let verdicts = if n == 1 { "verdict differs" } else { "verdicts differ" };
            Err(Failure::Failed(format!("{n} {verdicts} from {}", quell_files::name(&file))))
        }
        _ => Ok(()),
    }
}

/// Pages are of whole documents, and no other file makes way for their index.
fn check_pages(papers: &Papers, chosen: &[&Experiment], docs: &Path) -> Result<(), Failure> {
    for document in &papers.documents {
        let all = papers.experiments().filter(|e| papers.document_of(e).key == document.key).count();
        let some = chosen.iter().filter(|e| papers.document_of(e).key == document.key).count();
        if some > 0 && some < all {
            return Err(bad_input!(
                "--docs {}: would leave {} of {all} experiments out of {key}.md; run all of \"{key}\", or write the \
                 page elsewhere with --out",
                quell_files::name(docs),
                all - some,
                key = document.key
            ));
        }
    }
    let index = docs.join("README.md");
    match quell_files::read_text(&index, Limit::of_text("a page")) {
        Ok(text) if !text.contains(WRITTEN) => Err(bad_input!(
            "--docs {}: its README.md was not written by quell reproduce; choose another folder",
            quell_files::name(docs)
        )),
        _ => Ok(()),
    }
}

/// An experiment with its verdicts, and its figures, if they are asked for.
type Seen<'a> = (JudgedExperiment<'a>, Vec<Drawn<'a>>);

/// Runs what is planned, or goes on with it. Each experiment is judged and drawn as soon as it is finished, and what was
/// found of it is let go: all of it together would take gigabytes.
fn simulate<'a>(
    papers: &'a Papers,
    chosen: &[&'a Experiment],
    plan: &Plan,
    args: &Args,
    line: Vec<String>,
) -> Result<Vec<Seen<'a>>, Failure> {
    let see = |e: &'a Experiment, found: &ExperimentResults| {
        let drawn = if args.docs.is_some() || args.out.is_some() { draw(e, found) } else { Vec::new() };
        (judge(papers, e, found), drawn)
    };
    let seen: Vec<OnceLock<Seen<'a>>> = chosen.iter().map(|_| OnceLock::new()).collect();
    let take = |id: &str, found: ExperimentResults| {
        if let Some(at) = chosen.iter().position(|e| e.id == id) {
            // Each comes once.
            let _ = seen[at].set(see(chosen[at], &found));
        }
    };
    if !plan.study.points.is_empty() {
        if !args.watch.quiet {
            terminal::say(&ahead(plan, args.watch.threads.map(usize::from), args.watch.cache.no_cache));
        }
        let watch = Watch::of(&args.watch).with_series(Series::Drawn);
        let ran = watch.attend((0, 1), line, |options| plan.run(options, &take));
        watch.finish();
        let Ran { done, all } = ran?;
        if done < all {
            let why = format!(
                "{done} of {all} replications are finished and kept; run the same command to continue"
            );
            return Err(Failure::Interrupted(why));
        }
    }
    // Experiments that only compute have nothing to simulate.
    let rest = |(seen, e): (OnceLock<Seen<'a>>, &&'a Experiment)| {
        seen.into_inner().unwrap_or_else(|| see(e, &ExperimentResults::default()))
    };
    Ok(seen.into_iter().zip(chosen).map(rest).collect())
}

/// What there is to run, before it is run.
fn ahead(plan: &Plan, threads: Option<usize>, all: bool) -> String {
    let threads = threads.or(std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    let cost = plan.cost();
    let shared = match cost.shared {
        0 => String::new(),
        n => format!(" ({n} more are the same as one of these)"),
    };
    let cached = if all { "" } else { ", or less if the cache has some of them" };
    format!(
        "{}{shared}: about {} of {}{cached}",
        plural(cost.replications, "replication"),
        in_words(cost.seconds(threads)),
        plural(threads, "thread")
    )
}

/// A time that is known roughly.
fn in_words(seconds: f64) -> String {
    match seconds / 60.0 {
        minutes if minutes < 1.0 => "a minute".to_string(),
        minutes => plural(minutes.ceil() as usize, "minute"),
    }
}

fn bad(error: &quell_papers::PaperError) -> Failure {
    Failure::BadInput(error.to_string())
}

/// The documents, without those that cannot be used if others are asked for by name.
fn usable(args: &Args) -> Result<Papers, Failure> {
    let (papers, broken) = Papers::read_usable(&args.papers).map_err(|e| unread(&args.papers, &e))?;
    for (key, error) in &broken {
        let named = |what: &String| what.trim().to_lowercase().split(['-', '/']).next() == Some(key);
        // The index of the pages is of all documents.
        if args.what.is_empty() || args.what.iter().any(named) || args.docs.is_some() {
            return Err(bad(error));
        }
        terminal::note(&format!("{error}; \"{key}\" cannot be run"));
    }
    Ok(papers)
}

/// A folder of documents that is not one may be the wrong folder.
fn unread(folder: &Path, error: &quell_papers::PaperError) -> Failure {
    match folder.is_dir() {
        true => bad(error),
        false => bad_input!(
            "{}: the folder does not exist; run this in Quell's source tree, or name the folder of documents with \
             --papers",
            quell_files::name(folder)
        ),
    }
}

/// The experiments that the command line names, each once; all without a name.
fn chosen<'a>(papers: &'a Papers, what: &[String]) -> Result<Vec<&'a Experiment>, Failure> {
    let mut named: Vec<&str> = Vec::new();
    for name in what {
        named.extend(papers.select(name).map_err(Failure::BadInput)?.iter().map(|e| e.id.as_str()));
    }
    let is = |e: &&Experiment| what.is_empty() || named.contains(&e.id.as_str());
    Ok(papers.experiments().filter(is).collect())
}

/// The list of experiments, for JSON.
#[derive(Serialize)]
struct Listed<'a> {
    documents: Vec<Titled<'a>>,
    experiments: Vec<ListedExperiment<'a>>,
}

/// A document and its title.
#[derive(Serialize)]
struct Titled<'a> {
    document: &'a str,
    title: &'a str,
    reference: &'a str,
}

/// An experiment and how much it answers.
#[derive(Serialize)]
struct ListedExperiment<'a> {
    experiment: &'a str,
    section: &'a str,
    title: &'a str,
    tables: Vec<&'a str>,
    numbers: usize,
    claims: usize,
    figures: usize,
}

fn listed<'a>(papers: &'a Papers, chosen: &[&'a Experiment]) -> Listed<'a> {
    let row = |e: &&'a Experiment| {
        let computed =
            e.computed.iter().filter_map(|of| papers.cells.iter().find(|c| of.cell.as_ref() == Some(&c.id)));
        let cells: Vec<_> = e.cells.iter().flat_map(|of| papers.cells_of(of)).chain(computed).collect();
        let tables = quell_lab::distinct(cells.iter().map(|cell| cell.table.as_str()));
        ListedExperiment {
            experiment: &e.id,
            section: &e.section,
            title: &e.title,
            tables,
            numbers: cells.len(),
            claims: e.claims.iter().filter(|c| !c.ours).count(),
            figures: e.figures.len() + e.computed.iter().filter(|of| of.figure.is_some()).count(),
        }
    };
    let has_some = |d: &&'a Document| chosen.iter().any(|e| papers.document_of(e).key == d.key);
    let titled =
        |d: &'a Document| Titled { document: &d.key, title: &d.about.title, reference: &d.about.reference };
    Listed {
        documents: papers.documents.iter().filter(has_some).map(titled).collect(),
        experiments: chosen.iter().map(row).collect(),
    }
}

/// The list of experiments.
fn list(papers: &Papers, chosen: &[&Experiment]) -> String {
    let Listed { documents, experiments: rows, .. } = listed(papers, chosen);
    let title = |d: &Titled<'_>| format!("{}: {} ({})\n", d.document, d.title, d.reference);
    let titles = documents.iter().map(title).collect::<String>();
    let names = Column::names("experiment", rows.iter().map(|row| row.experiment));
    let column = |title: &str, of: &dyn Fn(&ListedExperiment<'_>) -> String| {
        Column::new(title, "", rows.iter().map(|row| (of(row), Tint::Plain)))
    };
    let count = |n: usize| if n == 0 { String::new() } else { n.to_string() };
    let columns = [
        column("section", &|row| row.section.to_string()),
        column("table", &|row| row.tables.join(", ")),
        column("numbers", &|row| count(row.numbers)),
        column("claims", &|row| count(row.claims)),
        column("figures", &|row| count(row.figures)),
    ];
    format!("{titles}\n{}\n", table::figures(&names, &columns))
}

/// The scores of the tables and claims of which something was judged.
fn scored(papers: &Papers, judged: &[JudgedExperiment<'_>]) -> Vec<(String, String, Score)> {
    let keys: Vec<&str> = papers.documents.iter().map(|d| d.key.as_str()).collect();
    let answered = |document: &str, table: &str| {
        let tables = judged.iter().flat_map(|j| &j.tables).flat_map(|t| &t.cells);
        table.is_empty() || tables.into_iter().any(|c| c.cell.document == document && c.cell.table == table)
    };
    let all = scores(papers, &keys, judged).into_iter();
    all.filter(|(d, t, s)| answered(d, t) && s.of_cells() + s.of_claims() > 0).collect()
}

/// The score, and what is open.
fn summary(papers: &Papers, judged: &[JudgedExperiment<'_>]) -> String {
    let rows: Vec<(String, Score)> = scored(papers, judged)
        .into_iter()
        .map(|(d, t, s)| (if t.is_empty() { format!("{d}, claims") } else { format!("{d}/{t}") }, s))
        .collect();
    let all = rows.iter().fold(Score::default(), |all, (_, s)| all.and(s));
    let rows: Vec<_> = rows.into_iter().chain([("all".to_string(), all.clone())]).collect();
    let count = |n: usize| (if n == 0 { String::new() } else { n.to_string() }, Tint::Plain);
    let column = |title: &str, of: &dyn Fn(&Score) -> usize| {
        Column::new(title, "", rows.iter().map(|(_, s)| count(of(s))))
    };
    let names = Column::names("", rows.iter().map(|(name, _)| name));
    let columns = [
        column("numbers", &Score::of_cells),
        column("agree", &|s| s.cell(Verdict::Agrees)),
        column("inside", &|s| s.cell(Verdict::Inside)),
        column("withheld", &|s| s.withheld),
        column("explained", &Score::explained_otherwise),
        column("fitted", &|s| s.cell(Verdict::Fitted)),
        column("refuted", &|s| s.cell(Verdict::Refuted)),
        column("open", &|s| s.cell(Verdict::Open)),
        column("missing", &|s| s.cell(Verdict::Missing)),
        column("edge", &|s| s.edges),
        column("free", &|s| s.free),
        column("claims", &Score::of_claims),
        column("hold", &|s| s.claim(Holds::Holds)),
        column("fail", &|s| s.claim(Holds::Fails)),
        column("refuted", &|s| s.claim(Holds::Refuted)),
        column("undecided", &|s| s.claim(Holds::Undecided)),
        column("untested", &|s| s.claim(Holds::Missing)),
    ];
    table::figures(&names, &columns) + "\n" + &meaning(&all)
}

/// What the score is of, in words.
fn meaning(all: &Score) -> String {
    let mut said = String::new();
    if all.of_cells() > 0 {
        said.push_str(&format!(
            "{} of {} numbers agree or are inside, and {} are withheld. A model without a simulation gets {} right, \
             and {} are computed; of the {} others, {} agree or are inside.\n",
            all.come_out(),
            all.of_cells(),
            all.withheld,
            all.free,
            all.computed,
            all.beyond(),
            all.beyond_come_out()
        ));
    }
    if all.decided() > 0 {
        said.push_str(&format!("{} of {} decided claims hold.\n", all.claim(Holds::Holds), all.decided()));
    }
    said
}

/// The most lines of each kind that are printed.
const MOST_LINES: usize = 12;

/// The numbers that are open or have no value, and the claims that fail.
fn outside(judged: &[JudgedExperiment<'_>]) -> String {
    let cells = || judged.iter().flat_map(|j| &j.tables).flat_map(|t| &t.cells);
    let of = |verdict: Verdict| -> Vec<String> {
        let those = cells().filter(|c| c.verdict == verdict);
        let line = |c: &quell_papers::JudgedCell<'_>| match c.found {
            Some(found) => {
                format!("{}: printed {}, found {}", c.cell.id, c.cell.printed(), quell_papers::text(&found))
            }
            None => format!("{}: {}", c.cell.id, c.why),
        };
        those.map(line).collect()
    };
    let claims = |holds: Holds| -> Vec<String> {
        let all = judged.iter().flat_map(|j| j.claims.iter().map(move |c| (j, c)));
        let those = all.filter(|(_, c)| c.holds == holds && !c.claim.ours);
        those.map(|(j, c)| format!("{}#{}: {}", j.experiment.id, c.claim.name, c.found)).collect()
    };
    let kinds = [
        ("open", of(Verdict::Open)),
        ("only by a fit", of(Verdict::Fitted)),
        ("missing", of(Verdict::Missing)),
        ("claims that fail", claims(Holds::Fails)),
        ("claims that cannot be tested", claims(Holds::Missing)),
    ];
    let mut said = String::new();
    for (kind, lines) in kinds.iter().filter(|(_, lines)| !lines.is_empty()) {
        let more = lines.len().saturating_sub(MOST_LINES);
        let more =
            if more > 0 { format!("  and {more} more; --out writes them all\n") } else { String::new() };
        let lines = lines.iter().take(MOST_LINES).map(|line| format!("  {line}\n"));
        said.push_str(&format!("{kind}:\n{}{more}", lines.collect::<String>()));
    }
    said
}

/// The verdicts, for JSON.
fn output(papers: &Papers, judged: &[JudgedExperiment<'_>]) -> serde_json::Value {
    let (mut cells, mut claims) = (Vec::new(), Vec::new());
    for j in judged {
        for table in &j.tables {
            cells.extend(table.cells.iter().map(|c| {
                json!({
                    "id": c.cell.id,
                    "experiment": j.experiment.id,
                    "reading": table.reading,
                    "algorithm": c.label,
                    "unit": c.cell.unit,
                    "low": c.cell.low.value,
                    "high": c.cell.high.value,
                    "mean": c.found.map(|e| e.mean),
                    "half_width": c.found.and_then(|e| e.half_width),
                    "seeds": c.found.map_or(0, |e| e.n),
                    "prediction": c.prediction,
                    // The interval in which the mean agrees, and the mean's place in it, from -1 to 1.
                    "band": [c.band.0, c.band.1],
                    "place": c.place,
                    "knife_edge": c.knife_edge,
                    "idle_share": c.idle,
                    "guess": c.guess,
                    "free": c.free,
                    "withheld": c.withheld,
                    "off_middle": c.off_middle,
                    "elsewhere": c.elsewhere,
                    "ns2": c.ns2.map(|n| n.mean),
                    "ns2_runs": c.ns2.map(|n| n.runs),
                    "ns2_reading": c.ns2.and_then(|n| n.reading.as_deref()),
                    "verdict": c.verdict.name(),
                    "why": c.why,
                })
            }));
        }
        claims.extend(j.claims.iter().map(|c| {
            json!({
                "experiment": j.experiment.id,
                "name": c.claim.name,
                "says": c.claim.says,
                "test": c.claim.test.text,
                "found": c.found,
                "verdict": c.holds.name(),
                "because": c.claim.because,
                "why": c.why,
                // Not the document's, and outside of the score.
                "ours": c.claim.ours,
            })
        }));
    }
    let score = scored(papers, judged).into_iter().map(|(document, table, s)| {
        json!({
            "document": document,
            // Claims are of no table.
            "table": table,
            "numbers": s.of_cells(),
            "come_out": s.come_out(),
            "withheld": s.withheld,
            "off_middle": s.off_middle,
            "edges": s.edges,
            "free": s.free,
            "free_come_out": s.free_come_out,
            "computed": s.computed,
            "computed_come_out": s.computed_come_out,
            "fitted": s.cell(Verdict::Fitted),
            "open": s.cell(Verdict::Open),
            "claims": s.of_claims(),
            "decided": s.decided(),
            "hold": s.claim(Holds::Holds),
        })
    });
    let score: Vec<_> = score.collect();
    json!({ "cells": cells, "claims": claims, "score": score })
}
