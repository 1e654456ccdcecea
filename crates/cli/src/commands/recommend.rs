//! `quell recommend`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use quell_lab::{Results, Series};
use quell_recommend::{
    Answer, Candidate, Column, Found, Goal, Judged, Load, Plan, Reach, Report, Request, Row, Span, Text, Way,
    further, judge, plan, reach,
};
use quell_router::{Can, technology};
use quell_scenario::Study;
use quell_units::{BitRate, Duration};
use serde::Serialize;

use crate::args::{CacheDir, CacheUse, Format, FormatArgs, link_rate, whole};
use crate::failure::Failure;
use crate::folder::{self, Place};
use crate::given;
use crate::simulate::Watch;
use crate::table::{self, Tint};
use crate::{json, keep, terminal};

/// Arguments of `recommend`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell recommend --down 95Mbit/s --up 18Mbit/s --rtt 10ms..80ms --link docsis
  quell recommend --down 50Mbit/s --up 10Mbit/s --rtt 15ms..60ms --link vdsl-pppoe --can openwrt --hosts 4
  quell recommend --down 5Mbit/s..60Mbit/s --up 2Mbit/s..20Mbit/s --rtt 30ms..90ms --link lte
  quell recommend --down 10Gbit/s --up 10Gbit/s --rtt 100us --link port
  quell recommend --down 95Mbit/s --up 18Mbit/s --rtt 20ms --link docsis --goal \"call P99 < 5 ms and goodput > 80%\" --save my

Goals: call P99 < 20 ms, page P95 < 2 s, goodput > 90%, video stalls < 1%, and several with \"and\". The candidates and \
what one has today run under the same load with the same seeds (docs/how-to/recommend.md). Nothing is changed on this \
host: the command prints what to type.")]
pub struct Args {
    /// Rate down, as the link counts it; 5Mbit/s..60Mbit/s if it varies.
    #[arg(long, value_name = "RATE")]
    down: Option<Span<BitRate>>,
    /// Rate up.
    #[arg(long, value_name = "RATE")]
    up: Option<Span<BitRate>>,
    /// Round-trip times without queueing. Default: those of the capture, or 10ms..80ms.
    #[arg(long, value_name = "TIME")]
    rtt: Option<Span<Duration>>,
    /// What kind of link it is: docsis, vdsl-pppoe, adsl, gpon, ethernet, lte, 5g, satellite, starlink, port and others.
    #[arg(long, value_name = "NAME")]
    link: String,
    /// How many hosts share it, each with the load.
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(1..=250_u16))]
    hosts: u16,
    /// What a host sends and receives: a load of `quell new`, a file with [[flows]], or home: a household with BBR beside
    /// CUBIC. Default: home, and rrul for a port.
    #[arg(long, value_name = "NAME|FILE")]
    load: Option<String>,
    /// What is asked of the link. Default: "call P99 < 20 ms"; 50 ms if round trips are above 300 ms; "call P99 < 100 ms and
    /// goodput > 50%" if the rate varies, and "call P99 < 500 us and goodput > 80%" for a port.
    /// A goal without goodput also asks for half of today's.
    #[arg(long, value_name = "GOAL")]
    goal: Option<Goal>,
    /// What the router has: openwrt, linux (6.12, Debian's; linux-6.17 has dualpi2), gateway, junos, ios-xe and others, or
    /// algorithms such as cake,fq_codel.
    #[arg(long, value_name = "ROUTER|NAMES", default_value = "linux")]
    can: String,
    /// The router's device that leads to the link. Default: eth0, wan, ether1 or what the router mostly has; with PPPoE, the
    /// device of PPP.
    #[arg(long, value_name = "DEVICE")]
    dev: Option<String>,
    /// The most that the router's processor shapes, both directions together.
    #[arg(long, value_name = "RATE", value_parser = link_rate)]
    cpu_limit: Option<BitRate>,
    /// Take rates and round-trip times that are not given from a packet capture, as `quell measure` reads it, and hold those
    /// that are given against it.
    #[arg(long, value_name = "FILE", conflicts_with = "trace")]
    capture: Option<PathBuf>,
    /// How the rate down moves: a file as a link's changes take it, CSV or mahimahi's (docs/links.md). The first minute counts.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Keep the scenarios, their results and the answer in this folder.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Replace what is in that folder.
    #[arg(long, requires = "save")]
    overwrite: bool,
    /// Number of threads; default: one per core. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = whole(1..=4096_u16))]
    threads: Option<u16>,
    /// Do not show progress.
    #[arg(long, short)]
    quiet: bool,
    /// Also send real packets through the winner's queue on this machine, as `quell wire` does, and print what was found
    /// beside the simulation of the same.
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    cache: CacheDir,
    /// Do not read from or write to the cache.
    #[arg(long, conflicts_with_all = ["cache", "fresh"])]
    no_cache: bool,
    /// Run every replication again, even if it is in the cache.
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// All that was found.
#[derive(Serialize)]
struct Output<'a> {
    #[serde(flatten)]
    report: Report<'a>,
    verified: Vec<Verified>,
    saved: Option<String>,
}

/// Finds an answer for a link, and prints it with what to type.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    let can = Can::parse(&args.can)
        .map_err(|why| bad_input!("--can {}: {why}", quell_units::text::cut(&args.can)))?;
    let request = request(args, can)?;
    let mut plan = plan(&request).map_err(Failure::BadInput)?;
    #[cfg(target_os = "linux")]
    if args.verify && crate::live::outside()? {
        return Ok(());
    }
    let mut places = Vec::new();
    if let Some(dir) = &args.save {
        if dir.exists() && !dir.is_dir() {
            return Err(bad_input!(
                "--save {}: it is a file; name a folder, which is made if there is none",
                quell_files::name(dir)
            ));
        }
        let used = ["results", "margins", "reach"].map(|name| dir.join(name)).into_iter();
        let mut used = used.chain(files(dir, &plan.rows).into_keys());
        if !args.overwrite
            && let Some(found) = used.find(|path| path.symlink_metadata().is_ok())
        {
            return Err(bad_input!(
                "--save {}: {} exists; use --overwrite, or --save to another folder",
                quell_files::name(dir),
                quell_files::name(&found)
            ));
        }
        // The first that is chosen makes the folder, and takes it away if nothing was written; so it goes last.
        for name in ["reach", "margins", "results"] {
            places.insert(0, Place::choose(Some(&dir.join(name)), name, args.overwrite)?);
        }
    }
    let cache =
        CacheUse { dir: args.cache.clone(), no_cache: args.no_cache, fresh: args.fresh, verify: None };
    let watch =
        Watch::new(args.quiet).with_threads(args.threads).with_cache(&cache).with_series(Series::None);
    let [first, second, third] = plan.rounds();
    let all = first + second + third;
    let found = simulated(&watch, &plan.rows, (0, all), &line)?;
    let mut answer = judge(&request, &plan, &found.points());
    let lower = further(&request, &plan, &answer).map_err(Failure::BadInput)?;
    let mut tried = Ran::default();
    if !lower.is_empty() {
        tried = simulated(&watch, &lower, (first, all), &line)?;
        plan.rows.extend(lower);
        answer = judge(&request, &plan, &[found.points(), tried.points()].concat());
    }
    if found.results.is_none() {
        return Err(Failure::Failed(answer.verdict));
    }
    let best =
        plan.rows.iter().find(|row| answer.rows.first().is_some_and(|best| best.name == row.candidate.name));
    let best = best.ok_or_else(|| Failure::Failed("nothing was found".to_string()))?;
    let beyond = reach(&request, &plan, &best.candidate).map_err(Failure::BadInput)?;
    let rows: Vec<Row> = beyond.iter().map(|reach| reach.row.clone()).collect();
    let carried = simulated(&watch, &rows, (first + second, all), &line)?;
    watch.finish();
    let ran = || [&found, &tried, &carried].into_iter().filter_map(|ran| ran.results.as_ref());
    let (all, reused) =
        ran().fold((0, 0), |(n, m), results| (n + results.replications.len(), m + results.run.reused));
    if reused > 0 && !args.quiet {
        terminal::note(&format!(
            "{reused} of {all} replications are from the cache; --fresh runs them again"
        ));
    }
    let (beyond, carries) = Reach::judge(&request, &plan, beyond, &carried.points());
    let verified = if args.verify {
        verified(&request, &plan, &best.candidate, &watch, args.quiet, &line)?
    } else {
        Vec::new()
    };
    let report = Report::of((&request, &plan), &answer, &best.candidate, (&beyond, &carries));
    let output =
        Output { report, verified, saved: args.save.as_ref().map(|dir| quell_files::name(dir).to_string()) };
    if let Some(dir) = &args.save {
        let mut kept = files(dir, &plan.rows);
        kept.extend(files(dir, &rows));
        let text =
            serde_json::to_string_pretty(&output).map_err(|e| Failure::cannot("write the answer", e))?;
        kept.insert(dir.join("answer.json"), format!("{text}\n").into_bytes());
        folder::write_all(&kept, dir)?;
        for (place, ran) in places.into_iter().zip([&found, &tried, &carried]) {
            ran.results.as_ref().map_or(Ok(()), |results| place.save(results).map(drop))?;
        }
    }
    match args.format.format {
        Format::Json => json::print_whole(&output),
        Format::Table => {
            let advice = &output.report.router;
            let mut text = head(&request, &plan, &best.candidate);
            text.push_str(&terminal::prose(&format!("{}.\n", answer.verdict)));
            text.push_str(&parts(&advice.parts));
            text.push_str("\nWhat was found:\n\n");
            text.push_str(&rows_table(&plan.columns, &answer.rows));
            text.push_str(&format!("\n{}", terminal::prose(&sentences(&answer))));
            text.push_str(&format!("\nHow far it carries ({}):\n\n", best.candidate.name));
            text.push_str(&reach_table(&plan.columns, &beyond));
            text.push_str(&format!("\n{}", terminal::prose(&format!("{carries}.\n"))));
            text.push_str(&more(&best.candidate.reasons, &advice.notes));
            text.push_str(&verified_table(&output.verified));
            if let Some(dir) = &args.save {
                text.push_str(&format!("saved  {}\n", quell_files::name(dir)));
            }
            plan.notes.iter().for_each(|note| terminal::note(note));
            terminal::print(&text)
        }
    }
}

/// The request of a command line.
fn request(args: &Args, can: Can) -> Result<Request, Failure> {
    let technology = technology::named(&args.link)
        .map_err(|why| bad_input!("--link {}: {why}", quell_units::text::cut(&args.link)))?;
    let load = match &args.load {
        None => Load::usual(technology),
        Some(name) => match quell_presets::find_load(name).is_ok() || name.eq_ignore_ascii_case("home") {
            true => Load::named(name),
            false => {
                let path = PathBuf::from(name);
                let is_file = path.extension().is_some() || path.components().count() > 1;
                if !path.exists() && is_file {
                    return Err(bad_input!(
                        "--load {}: there is no such file; name a file with [[flows]], or a load of `quell new`",
                        quell_units::text::cut(name)
                    ));
                }
                if !path.exists() {
                    Load::named(name)
                } else {
                    let limit = quell_files::Limit::of_text("a load");
                    let text =
                        quell_files::read_text(&path, limit).map_err(|e| bad_input!("--load {name}: {e}"))?;
                    Load::read(&text, &folder::name(&[path]))
                }
            }
        },
    };
    let link = given::link(
        args.down,
        args.up,
        args.rtt,
        technology,
        (args.capture.as_deref(), args.trace.as_deref()),
        args.quiet,
    )?;
    let varies = link.down.moves() || link.up.moves() || link.trace.is_some();
    let usual = || Goal::usual(technology, varies, link.rtt.most);
    let goal = args.goal.clone().unwrap_or_else(usual);
    Ok(Request {
        technology,
        down: link.down,
        up: link.up,
        rtt: link.rtt,
        hosts: args.hosts,
        load: load.map_err(|why| bad_input!("--load: {why}; or name a file with [[flows]]"))?,
        goal,
        can,
        device: args.dev.clone(),
        cpu_limit: args.cpu_limit,
        trace: link.trace,
    })
}

/// A figure of real packets beside that of the simulation.
#[derive(Serialize)]
struct Verified {
    title: String,
    simulated: Option<String>,
    measured: Option<String>,
}

/// Real packets through the winner's queue, and the same simulated.
#[cfg(target_os = "linux")]
fn verified(
    request: &Request,
    plan: &Plan,
    candidate: &Candidate,
    watch: &Watch,
    quiet: bool,
    line: &[String],
) -> Result<Vec<Verified>, Failure> {
    let wire = quell_recommend::wire(request, plan, candidate).map_err(Failure::BadInput)?;
    let simulated = watch.run(&wire.row.study, (0, 1), line.to_vec())?;
    watch.finish();
    let live = quell_live::Live::of(wire.row.study.clone())?;
    let measured = crate::live::measure(&live, None, false, quiet, line.to_vec())?;
    let value = |results: &Results, column: &Column| {
        let view = quell_lab::View { link: Some(column.link.to_string()), ..quell_lab::View::of_point(0) };
        let quantity: quell_lab::Quantity = column.metric.parse().ok()?;
        let algorithm = results.algorithms(0).first()?;
        results.estimate(&view, algorithm, quantity).map(|estimate| column.words(estimate.mean))
    };
    let of = |column: &Column| Verified {
        title: column.title.clone(),
        simulated: value(&simulated, column),
        measured: value(&measured.results, column),
    };
    // A wire measures one direction.
    Ok(wire.columns.iter().map(of).filter(|row| row.measured.is_some()).collect())
}

#[cfg(not(target_os = "linux"))]
fn verified(
    _: &Request,
    _: &Plan,
    _: &Candidate,
    _: &Watch,
    _: bool,
    _: &[String],
) -> Result<Vec<Verified>, Failure> {
    Err(bad_input!("--verify needs Linux; leave it out"))
}

fn verified_table(all: &[Verified]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let or = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_string());
    let rows: Vec<Vec<String>> =
        all.iter().map(|row| vec![row.title.clone(), or(&row.simulated), or(&row.measured)]).collect();
    format!(
        "\nReal packets through the router's queue as one bottleneck, 20 s, one run; of calls, the wait in that queue:\n\n{}",
        table::text(&["", "simulated", "measured"], &rows)
    )
}

/// Findings of rows.
#[derive(Default)]
struct Ran {
    /// The results of those that succeeded, each of which is a point.
    results: Option<Results>,
    /// Of each row, the error that ended its simulation, if one did.
    failures: Vec<Option<String>>,
}

impl Ran {
    /// The finding of each row.
    fn points(&self) -> Vec<Found<'_>> {
        let mut point = 0;
        let mut of = |failure: &Option<String>| match (&self.results, failure) {
            (Some(results), None) => {
                point += 1;
                Ok((results, point - 1))
            }
            (_, failure) => Err(failure.clone().unwrap_or_default()),
        };
        self.failures.iter().map(&mut of).collect()
    }
}

/// Runs rows as the points of one study, whose replications come after others of all. If a row fails, the others still count.
fn simulated(watch: &Watch, rows: &[Row], after: (usize, usize), line: &[String]) -> Result<Ran, Failure> {
    let joined = |rows: &[&Row]| {
        let parts = rows.iter().map(|row| (row.candidate.name.clone(), row.study.clone()));
        let results = watch.run_after(&Study::join(parts.collect()), after, line.to_vec())?;
        keep::interrupted(&results, None, false)?;
        Ok(results)
    };
    let all: Vec<&Row> = rows.iter().collect();
    match joined(&all) {
        Ok(results) => return Ok(Ran { results: Some(results), failures: vec![None; rows.len()] }),
        Err(stop @ Failure::Interrupted(_)) => return Err(stop),
        Err(_) => {}
    }
    // One of them fails. Each by itself says which.
    let mut failures = Vec::new();
    for row in rows {
        failures.push(match joined(&[row]) {
            Ok(_) => None,
            Err(stop @ Failure::Interrupted(_)) => return Err(stop),
            Err(why) => Some(why.message().to_string()),
        });
    }
    let fine: Vec<&Row> =
        rows.iter().zip(&failures).filter(|(_, failure)| failure.is_none()).map(|(row, _)| row).collect();
    let results = if fine.is_empty() { None } else { Some(joined(&fine)?) };
    Ok(Ran { results, failures })
}

/// The scenarios of rows as files of a folder.
fn files(dir: &std::path::Path, rows: &[Row]) -> BTreeMap<PathBuf, Vec<u8>> {
    let file = |row: &Row| (dir.join(format!("{}.toml", row.candidate.name)), row.text.clone().into_bytes());
    rows.iter().map(file).collect()
}

/// The link and its rates.
fn head(request: &Request, plan: &Plan, best: &Candidate) -> String {
    let mut words = format!(
        "{}: {} down, {} up, round trips of {}\n",
        request.technology.title, plan.down.rate, plan.up.rate, request.rtt
    );
    let hosts =
        if request.hosts == 1 { String::new() } else { format!(" of each of {} hosts", request.hosts) };
    words.push_str(&format!(
        "goal: {}, under the load {}{hosts}; {}\n",
        request.goal,
        request.load.name,
        plan.runs()
    ));
    let of = |way: &Way| best.words(request.technology, way);
    let (down, mut up) = (of(&plan.down), of(&plan.up));
    // The same reason is not said twice.
    if down.contains(request.technology.why) {
        up = up.replace(request.technology.why, "as down");
    }
    words.push_str(&format!("down: {down}\nup: {up}\n"));
    format!("{}\n", terminal::prose(&words))
}

/// A figure with its interval.
fn cell(column: &Column, cell: Option<&quell_recommend::Cell>) -> String {
    let Some(cell) = cell else { return "-".to_string() };
    match column.metric.parse::<quell_lab::Quantity>() {
        Ok(quantity) => cell.with_losses(quell_view::figures::text(&quantity, &cell.estimate)),
        Err(_) => "-".to_string(),
    }
}

fn rows_table(columns: &[Column], rows: &[Judged]) -> String {
    let names = table::Column::names("", rows.iter().map(|row| &row.name));
    let mut all: Vec<table::Column> = Vec::new();
    let meets = rows.iter().map(|row| match row.fate() {
        "yes" => ("yes".into(), Tint::Good),
        "unsure" => ("unsure".into(), Tint::Plain),
        fate => (fate.into(), Tint::Bad),
    });
    all.push(table::Column::new("goal", "", meets));
    for (i, column) in columns.iter().enumerate() {
        let cells = rows.iter().map(|row| (cell(column, row.cells[i].as_ref()), Tint::Plain));
        all.push(table::Column::new(column.title.clone(), "", cells));
    }
    table::figures(&names, &all)
}

fn reach_table(columns: &[Column], all: &[(Reach, Judged)]) -> String {
    let renamed = all.iter().map(|(reach, judged)| {
        let mut judged = judged.clone();
        judged.name.clone_from(&reach.words);
        judged
    });
    rows_table(columns, &renamed.collect::<Vec<_>>())
}

/// Reasons for the place of each row.
fn sentences(answer: &Answer) -> String {
    let mut words = String::new();
    for row in &answer.rows {
        words.push_str(&format!("{}: {}.\n", row.name, row.why));
    }
    words
}

/// Texts, and where each goes.
fn parts(parts: &[Text]) -> String {
    let mut text = String::new();
    for part in parts {
        text.push_str(&format!("\n{}:\n\n", part.place));
        part.text.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
    }
    text
}

/// Reasons for the parameters, and what else is to be known.
fn more(reasons: &[String], notes: &[String]) -> String {
    let mut text = String::new();
    if !reasons.is_empty() {
        let words: String = reasons.iter().map(|why| format!("{why}.\n")).collect();
        text.push_str(&format!("\nParameters:\n\n{}", terminal::prose(&words)));
    }
    if !notes.is_empty() {
        let words: String = notes.iter().map(|note| format!("note: {note}\n")).collect();
        text.push_str(&format!("\n{}", terminal::prose(&words)));
    }
    text
}
