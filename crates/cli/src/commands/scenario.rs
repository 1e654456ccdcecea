//! `quell scenario`: scenario files, read and not run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use quell_scenario::dialect::{self, Dialect, KeyDefaults};
use quell_scenario::format::{Kind, Scenario};
use quell_scenario::{Document, Hole, Point, ScenarioError, Setting, Study};
use serde::Serialize;
use serde_json::json;

use crate::args::{Changes, Format, FormatArgs, whole};
use crate::failure::{Failure, unknown_name};
use crate::notes::{self, MOST_HOLES};
use crate::{json, simulate, table, terminal};

/// About scenario files.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Check files and summarize what each describes, without running anything.
    Check {
        /// The scenario files; - for standard input.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        changes: Changes,
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Print a scenario with every default filled in, as a scenario file.
    ///
    /// For a sweep, this prints one point, the first unless you give --point; a comment lists the others.
    Show {
        /// The scenario file.
        file: PathBuf,
        /// Number of the sweep's point; default: 1.
        #[arg(long, value_name = "N", value_parser = whole(1..=u32::MAX))]
        point: Option<u32>,
        #[command(flatten)]
        changes: Changes,
    },
    /// List the dialects, i.e., the defaults of releases of ns-2, Linux and QUIC. --format json and docs/dialects.md
    /// name their sources.
    Dialects {
        /// Dialects, such as linux; default: all.
        names: Vec<String>,
        #[command(flatten)]
        format: FormatArgs,
    },
    /// Print the JSON Schema of scenario files.
    Schema,
}

/// Checks and shows scenario files without running them.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Check { files, changes, format } => check(files, changes, format.format),
        Command::Show { file, point, changes } => show(file, changes, *point),
        Command::Dialects { names, format } => dialects(names, format.format),
        Command::Schema => json::print_whole(&Scenario::json_schema()),
    }
}

/// The summary of a scenario file.
#[derive(Debug, Serialize)]
struct Summary {
    title: String,
    points: usize,
    /// The points of a sweep that are not valid.
    holes: Vec<Hole>,
    algorithms: Vec<String>,
    seeds: usize,
    runs: usize,
    simulated_s: f64,
    flow_groups: Vec<Group>,
    network: String,
    /// Packets that all runs together handle: what the measured links carry if they are always busy, or
    /// what UDP offers if that is more.
    estimated_packets: f64,
}

#[derive(Debug, Serialize)]
struct Group {
    name: String,
    kind: Kind,
    /// The number of flows; null if they arrive as they come.
    flows: Option<u32>,
}

#[derive(Serialize)]
struct File {
    file: String,
    ok: bool,
    summary: Option<Summary>,
    error: Option<ScenarioError>,
}

/// The study of a file with changes.
#[allow(clippy::result_large_err)] // It is the answer for that file.
fn read(file: &Path, changes: &Changes) -> Result<Study, ScenarioError> {
    let document = simulate::document(file)?;
    not_an_experiment(file, &document)?;
    Ok(simulate::changed_of(document, changes, None, simulate::Chosen::default())?.0)
}

/// Says what a file is that describes an experiment of a document rather than a scenario.
#[allow(clippy::result_large_err)] // As above.
fn not_an_experiment(file: &Path, document: &Document) -> Result<(), ScenarioError> {
    let (is_half, is_load) = (document.has("preset"), document.has("flows"));
    let has = |names: [&str; 2]| names.iter().all(|name| document.has(name));
    let name = |path: Option<&Path>| {
        path.and_then(Path::file_stem).unwrap_or_default().to_string_lossy().into_owned()
    };
    let (row, document) = (name(Some(file)), name(file.parent()));
    let rule = if has(["section", "describes"]) {
        format!(
            "is an experiment of a document, not a scenario; run it with `quell reproduce {document}-{row}`, or see \
             its [[run]] tables for its scenarios"
        )
    } else if is_half {
        let flag = if is_load { format!("{row} --link LINK") } else { format!("LOAD --link {row}") };
        format!("is one half of a scenario; write a whole one with `quell new {flag}`")
    } else if has(["title", "reference"]) {
        format!("describes a document, not a scenario; run its experiments with `quell reproduce {document}`")
    } else {
        return Ok(());
    };
    Err(ScenarioError::of_file(file.display().to_string(), rule))
}

/// Checks files; all are examined, even if the first one is invalid.
fn check(files: &[PathBuf], changes: &Changes, format: Format) -> Result<(), Failure> {
    let look = |file: &PathBuf| {
        let (summary, error) = match read(file, changes) {
            Ok(study) => {
                notes::say(&study, MOST_HOLES);
                (Some(summary(&study)), None)
            }
            Err(error) => (None, Some(error)),
        };
        File { file: file.display().to_string(), ok: error.is_none(), summary, error }
    };
    let files: Vec<File> = files.iter().map(look).collect();
    if format == Format::Table {
        let line = |f: &File| {
            f.summary.as_ref().map(|s| format!("{}: ok: {}\n", quell_files::name(&f.file), s.line()))
        };
        terminal::print(&files.iter().filter_map(line).collect::<String>())?;
    }
    let errors: Vec<String> =
        files.iter().filter_map(|f| f.error.as_ref()).map(ToString::to_string).collect();
    if format == Format::Json {
        json::print(&json!({ "files": files }))?;
    }
    match errors.split_last() {
        None => Ok(()),
        Some((last, others)) => {
            others.iter().for_each(|e| terminal::complain("error", e));
            Err(Failure::BadInput(last.clone()))
        }
    }
}

/// Prints a point, by its number, with its defaults filled in. Comments say which one of a sweep it is, and
/// what the others are: all of it is one file.
fn show(file: &Path, changes: &Changes, number: Option<u32>) -> Result<(), Failure> {
    let study = simulate::changed(file, changes, None, simulate::Chosen::default())?.0;
    let total = study.points.len();
    let shown = number.unwrap_or(1) as usize;
    let Some(point) = study.points.get(shown - 1) else {
        let points = plural(total, "point");
        return Err(bad_input!(
            "--point {shown}: must be at most {total}, because the scenario has {points}"
        ));
    };
    let mut text = String::new();
    if total > 1 {
        let line = |i: usize| format!("{} of {total}: {}", i + 1, title(&study.points[i].settings));
        text.push_str(&format!("# Point {}\n", line(shown - 1)));
        if number.is_none() {
            text.push_str("# The other points; show them with --point:\n");
            (1..total).for_each(|i| text.push_str(&format!("#   {}\n", line(i))));
        }
    }
    for line in Hole::lines(&study.holes, MOST_HOLES).iter().filter(|_| number.is_none()) {
        text.push_str(&format!("# Not valid: {}\n", one_line(line)));
    }
    text.push_str(&point.to_toml());
    terminal::print_data(&text)
}

/// One line, whatever the values.
fn title(settings: &[Setting]) -> String {
    one_line(&settings.iter().map(|s| format!("{} = {}", s.field, s.value)).collect::<Vec<_>>().join(", "))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Lists the dialects that are named, or all.
fn dialects(names: &[String], format: Format) -> Result<(), Failure> {
    let every = || [Dialect::Quell].into_iter().chain(Dialect::ALL);
    if let Some(wrong) = names.iter().find(|name| every().all(|d| d.name() != *name)) {
        return Err(unknown_name("dialect", wrong, every().map(Dialect::name)));
    }
    let named = |d: &Dialect| names.is_empty() || names.iter().any(|name| name == d.name());
    let all = || every().filter(named);
    let value = |row: &KeyDefaults, dialect| row.value(dialect).unwrap_or_else(|| row.quell());
    let kept = || dialect::TABLE.iter().filter(|row| all().any(|dialect| row.departs(dialect)));
    if format == Format::Json {
        let key = |row: &KeyDefaults| {
            // By the name of the dialect.
            let defaults: BTreeMap<_, _> = all().map(|d| (d.name(), value(row, d))).collect();
            json!({ "table": row.table(), "key": row.key, "defaults": defaults, "source": row.source })
        };
        let release = |d: Dialect| json!({ "name": d.name(), "release": d.release() });
        return json::print(&json!({
            "dialects": all().map(release).collect::<Vec<_>>(),
            "keys": kept().map(key).collect::<Vec<_>>(),
        }));
    }
    let header: Vec<&str> = ["table", "key"].into_iter().chain(all().map(Dialect::name)).collect();
    let row = |row: &KeyDefaults| {
        let names = [row.table(), row.key].map(str::to_string);
        names.into_iter().chain(all().map(|d| value(row, d))).collect()
    };
    let rows: Vec<Vec<String>> = kept().map(row).collect();
    let releases: String = all().map(|d| format!("{}: {}\n", d.name(), d.release())).collect();
    if table::fits(&header, &rows) {
        return terminal::print(&format!("{}\n{releases}", table::text(&header, &rows)));
    }
    // A line for each value, where there is no room for columns.
    let folded = |row: &Vec<String>| {
        let values = header.iter().zip(row).skip(2).map(|(name, value)| format!("  {name}: {value}\n"));
        format!("{}.{}\n{}", row[0], row[1], values.collect::<String>())
    };
    terminal::print(&format!("{}\n{releases}", rows.iter().map(folded).collect::<String>()))
}

fn summary(study: &Study) -> Summary {
    // Every study has a point; sweeps seldom change what the line says, so the first one stands for all.
    let first = &study.points[0].scenario;
    let runs = |s: &Scenario| s.aqm.len() * s.seeds.list().len();
    let total = |of: &dyn Fn(&Point) -> f64| study.points.iter().map(of).sum::<f64>();
    Summary {
        title: study.title().to_string(),
        points: study.points.len(),
        holes: study.holes.clone(),
        algorithms: first.aqm.iter().map(|a| a.label().to_string()).collect(),
        seeds: first.seeds.list().len(),
        runs: study.points.iter().map(|p| runs(&p.scenario)).sum(),
        simulated_s: round(total(&|p| runs(&p.scenario) as f64 * p.scenario.duration.as_secs_f64())),
        flow_groups: first
            .flows
            .iter()
            .map(|g| Group {
                name: g.name.clone(),
                kind: g.kind,
                flows: (g.kind != Kind::Sessions).then(|| g.count.unwrap_or(1)),
            })
            .collect(),
        network: network(first),
        estimated_packets: total(&|p| runs(&p.scenario) as f64 * p.estimated_packets()),
    }
}

impl Summary {
    fn line(&self) -> String {
        let groups: Vec<String> = self.flow_groups.iter().map(Group::text).collect();
        let points = if self.points == 1 { String::new() } else { format!("{} points × ", self.points) };
        format!(
            "{}; {}; {points}{} × {} = {}, {} s in all, about {} packets",
            self.network,
            groups.join(" + "),
            plural(self.algorithms.len(), "algorithm"),
            plural(self.seeds, "seed"),
            plural(self.runs, "run"),
            self.simulated_s,
            count(self.estimated_packets),
        )
    }
}

impl Group {
    fn text(&self) -> String {
        match (self.flows, self.kind) {
            (None, _) => format!("{} (sessions)", self.name),
            (Some(n), Kind::Udp) => format!("{n} {} (UDP)", self.name),
            (Some(_), Kind::Trace) => format!("{} (trace)", self.name),
            (Some(n), Kind::Pages) => format!("{n} {} (pages)", self.name),
            (Some(n), Kind::Responsiveness) => format!("{n} {} (responsiveness)", self.name),
            (Some(n), Kind::Video) => format!("{n} {} (video)", self.name),
            (Some(n), _) => format!("{n} {}", self.name),
        }
    }
}

fn plural(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn network(s: &Scenario) -> String {
    if let Some(d) = &s.dumbbell {
        format!("dumbbell, {} and {}", d.rate, d.delay)
    } else if let Some(p) = &s.parking_lot {
        format!("parking lot of {}, {} and {}", plural(p.bottlenecks as usize, "link"), p.rate, p.delay)
    } else if let Some(g) = &s.graph {
        format!("graph of {}", plural(g.links.len(), "link"))
    } else {
        "no network".to_string()
    }
}

/// Seconds without the digits that adding them up has left.
fn round(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// A large number as one says it.
fn count(x: f64) -> String {
    match x {
        _ if x >= 1e9 => format!("{:.1} billion", x / 1e9),
        _ if x >= 1e6 => format!("{:.1} million", x / 1e6),
        _ if x >= 1e4 => format!("{:.0} thousand", x / 1e3),
        _ => format!("{x:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_read_naturally() {
        assert_eq!(count(900.4), "900");
        assert_eq!(count(87_500.0), "88 thousand");
        assert_eq!(count(87_500_000.0), "87.5 million");
        assert_eq!(count(3e9), "3.0 billion");
    }
}
