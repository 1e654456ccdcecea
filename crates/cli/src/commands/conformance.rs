//! `quell conformance`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use quell_aqm::catalog::{AqmConfig, CATALOG, find};
use quell_conformance::museum::{self, EXHIBITS, Exhibit};
use quell_conformance::vector::Answer;
use quell_conformance::{Difference, Outcome, RunError, Runner, Vector, Warning, generate};
use quell_files::Limit;
use quell_units::text::{cut, named};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::json;

use crate::args::{Format, FormatArgs, assignment};
use crate::failure::{Failure, unknown_name};
use crate::terminal::Meter;
use crate::{interrupt, json, table, terminal};

/// Arguments of `conformance`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

/// The commands of `quell conformance`.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the vectors: what they configure, and how many decisions they contain.
    List(FormatArgs),
    /// Print vectors as lines of JSON.
    Show {
        /// Vectors ("codel/drops") or algorithms ("codel").
        #[arg(value_name = "VECTOR", required = true)]
        vectors: Vec<String>,
    },
    /// Write vectors to a folder, one file per algorithm, or a vector of your own configuration to a file.
    Write(WriteArgs),
    /// Run vectors through an implementation over its standard input and output, and show where it first differs.
    Run(RunArgs),
    /// Run implementations with bugs that others have had, and check that the vectors find each.
    Museum(MuseumArgs),
    /// Act as the reference implementation: answer one vector on standard input.
    Answer,
    /// Print the JSON Schema of vectors.
    Schema,
}

/// Arguments of `conformance write`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell conformance write vectors
  quell conformance write vectors codel pie/marks
  quell conformance write --aqm codel --set arithmetic=linux --set target=\"10 ms\" --course marks mine.jsonl
  quell conformance run --file mine.jsonl -- ./my-aqm")]
struct WriteArgs {
    /// The folder to write, or the file with --aqm.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Vectors or algorithms; default: all.
    #[arg(value_name = "VECTOR", conflicts_with = "aqm")]
    vectors: Vec<String>,
    /// The algorithm of a vector of your own.
    #[arg(long, value_name = "NAME")]
    aqm: Option<String>,
    /// One of its parameters; the others have their defaults.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment, requires = "aqm")]
    set: Vec<(String, String)>,
    /// What happens in the vector: drops, marks, bytes, sizes, slow, hosts, acks, ticks, marked-ticks, classic, scalable,
    /// in-turn or bursts.
    #[arg(long, value_name = "NAME", default_value = "drops", requires = "aqm")]
    course: String,
    /// Seed of the random generator that the algorithm draws from.
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "aqm")]
    seed: u64,
}

/// Arguments of `conformance run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Quell starts one process for each vector. docs/conformance.md describes the protocol, and conformance/adaptors has
adaptors in C, Go and Python.

Examples:
  quell conformance run -- ./my-aqm
  quell conformance run --vector codel --vector pie/marks -- python3 my_aqm.py
  quell conformance run --file mine.jsonl --timeout 2s -- ./my-aqm

If every decision matches but a number of draws, a cause or an internal signal differs, Quell prints a warning.

Exit codes: 0 every vector that the implementation accepts passes, 1 one differs, 2 a vector or argument is invalid.")]
struct RunArgs {
    /// A vector ("codel/drops") or an algorithm ("codel"); default: all.
    #[arg(long = "vector", value_name = "VECTOR")]
    vectors: Vec<String>,
    /// A file of vectors to use instead of the catalog's.
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How long an answer may take.
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = timeout)]
    timeout: std::time::Duration,
    /// Fail a vector on warnings, too.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    format: FormatArgs,
    /// The implementation and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The shortest time in which a process can answer: what is shorter would blame it for nothing.
const SHORTEST: std::time::Duration = std::time::Duration::from_millis(10);

fn timeout(text: &str) -> Result<std::time::Duration, String> {
    let time = humantime::parse_duration(text).map_err(|e| e.to_string())?;
    if time >= SHORTEST { Ok(time) } else { Err("must be at least 10 ms".to_string()) }
}

/// Arguments of `conformance museum`.
#[derive(Debug, clap::Args)]
struct MuseumArgs {
    /// Exhibits; default: all.
    #[arg(value_name = "EXHIBIT")]
    exhibits: Vec<String>,
    /// Python interpreter that runs them (3.8 or later).
    #[arg(long, default_value = "python3", value_name = "PROGRAM")]
    python: String,
    #[command(flatten)]
    format: FormatArgs,
}

/// Lists, prints and writes vectors, and tests implementations against them.
pub fn run(args: &Args, _: Vec<String>) -> Result<(), Failure> {
    match &args.command {
        Command::List(args) => list(args.format),
        Command::Show { vectors } => show(vectors),
        Command::Write(args) => match &args.aqm {
            None => write(&args.path, &args.vectors),
            Some(aqm) => write_own(aqm, args),
        },
        Command::Run(args) => hold(args),
        Command::Museum(args) => museum(args),
        Command::Answer => answer(),
        Command::Schema => json::print_whole(&quell_conformance::vector::schema()),
    }
}

/// A vector in the list, for JSON.
#[derive(Serialize)]
struct ListedVector {
    vector: String,
    algorithm: String,
    events: u32,
    signals: usize,
    overflows: usize,
    draws: usize,
}

impl ListedVector {
    fn of(vector: &Vector) -> Self {
        let (all, overflows) = vector.signals();
        ListedVector {
            vector: vector.header.vector.clone(),
            algorithm: vector.header.algorithm.clone(),
            events: vector.header.events,
            signals: all - overflows,
            overflows,
            draws: vector.events.iter().map(|e| e.draws.len()).sum(),
        }
    }
}

/// Lists the vectors.
fn list(format: Format) -> Result<(), Failure> {
    let rows: Vec<ListedVector> = generate::all().map(|v| ListedVector::of(&v)).collect();
    if format == Format::Json {
        return json::print(&json!({ "vectors": rows }));
    }
    let text: Vec<Vec<String>> = rows
        .iter()
        .map(|r| {
            let numbers = [r.events as usize, r.signals, r.overflows, r.draws].map(|n| n.to_string());
            [vec![r.vector.clone()], numbers.to_vec()].concat()
        })
        .collect();
    terminal::print(&table::text(&["vector", "events", "marks and drops", "overflows", "draws"], &text))
}

/// The vectors of the catalog that are asked for, or all.
fn chosen(names: &[String]) -> Result<Vec<Vector>, Failure> {
    if names.is_empty() {
        return Ok(generate::all().collect());
    }
    let mut all = Vec::new();
    for name in names {
        let algorithm = name.split('/').next().unwrap_or(name);
        let entry = CATALOG
            .iter()
            .find(|e| e.name == algorithm)
            .ok_or_else(|| unknown_name("algorithm", algorithm, CATALOG.iter().map(|e| e.name)))?;
        let own = generate::of(entry);
        if name == algorithm {
            all.extend(own);
        } else if let Some(vector) = own.iter().find(|v| v.header.vector == *name) {
            all.push(vector.clone());
        } else {
            return Err(unknown_name("vector", name, own.iter().map(|v| v.header.vector.as_str())));
        }
    }
    Ok(all)
}

/// Prints vectors.
fn show(names: &[String]) -> Result<(), Failure> {
    terminal::print_data(&chosen(names)?.iter().map(Vector::text).collect::<String>())
}

/// Writes vectors, a file for each algorithm.
fn write(dir: &Path, names: &[String]) -> Result<(), Failure> {
    let vectors = chosen(names)?;
    std::fs::create_dir_all(dir)
        .map_err(|e| Failure::cannot(format!("create {}", quell_files::name(dir)), e))?;
    for of_one in vectors.chunk_by(|a, b| a.header.algorithm == b.header.algorithm) {
        let path = dir.join(format!("{}.jsonl", of_one[0].header.algorithm));
        let text: String = of_one.iter().map(Vector::text).collect();
        crate::folder::replace(&text, &path)?;
    }
    terminal::print(&format!("{} vectors in {}\n", vectors.len(), quell_files::name(dir)))
}

/// Writes a vector of a configuration of the user's.
fn write_own(aqm: &str, args: &WriteArgs) -> Result<(), Failure> {
    let names = || CATALOG.iter().map(|e| e.name);
    find(aqm).ok_or_else(|| unknown_name("algorithm", aqm, names()))?;
    if !generate::courses().any(|course| course == args.course) {
        return Err(unknown_name("course", &args.course, generate::courses()));
    }
    let mut table = toml::Table::from_iter([("algorithm".to_string(), aqm.into())]);
    for (key, value) in &args.set {
        if table.insert(key.clone(), setting(value)).is_some() {
            return Err(bad_input!("--set {}: is set twice", cut(key)));
        }
    }
    let config: AqmConfig = toml::Value::Table(table)
        .try_into()
        .map_err(|e: toml::de::Error| bad_input!("--set of {aqm}: {}", named(e.message().trim())))?;
    let settings = args.set.iter().map(|(key, value)| format!(",{key}={value}"));
    let name = format!("{}{}", args.course, settings.collect::<String>());
    let vector = generate::own(&config, &name, &args.course, args.seed)
        .map_err(|why| bad_input!("{aqm} in course {}: {}", args.course, named(&why.to_string())))?;
    crate::folder::replace(&vector.text(), &args.path)?;
    let (all, overflows) = vector.signals();
    terminal::print(&format!(
        "{}: {} events, {} marks and drops, {overflows} overflows in {}\n",
        named(&vector.header.vector),
        vector.header.events,
        all - overflows,
        quell_files::name(&args.path)
    ))
}

/// A value as a scenario has it, or text without its quotation marks.
fn setting(text: &str) -> toml::Value {
    let read = toml::from_str::<toml::Table>(&format!("x = {text}")).ok().filter(|table| table.len() == 1);
    read.and_then(|mut table| table.remove("x")).unwrap_or_else(|| text.into())
}

/// Several times as much as all vectors of the catalog.
const VECTORS: Limit = Limit::of_data("a file of vectors");

/// Reads vectors from files.
fn read(files: &[impl AsRef<Path>]) -> Result<Vec<Vector>, Failure> {
    let mut all = Vec::new();
    for file in files {
        let path = quell_files::name(file.as_ref());
        let bytes =
            quell_files::read(file.as_ref(), VECTORS).map_err(|e| bad_input!("cannot read {path}: {e}"))?;
        let text = String::from_utf8(bytes).map_err(|e| {
            let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
            bad_input!("{path}: line {line}: is not UTF-8, as JSON must be (RFC 8259 section 8.1)")
        })?;
        all.extend(Vector::read_all(&text).map_err(|e| bad_input!("{path}: {e}"))?);
    }
    Ok(all)
}

/// A vector that was run, for JSON.
#[derive(Serialize)]
struct Ran {
    vector: String,
    outcome: &'static str,
    /// The reason why it was skipped, or the place where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The event at which it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<u32>,
    /// What the reference answered there, what came, and the rule.
    #[serde(flatten)]
    answers: Option<Answers>,
    events: usize,
    /// Internal signals that it reported, and that agree.
    signals: usize,
    /// Differences beside the decisions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warned>,
}

/// Two answers that differ, for JSON.
#[derive(Serialize)]
struct Answers {
    /// What differs: "decision", "cause", "draws", or an internal signal's name.
    part: String,
    expected: Answer,
    came: Answer,
    decided_by: String,
}

/// A warning, for JSON.
#[derive(Serialize)]
struct Warned {
    /// The first event at which it differs.
    event: u32,
    /// How many do.
    events: usize,
    #[serde(flatten)]
    answers: Answers,
    text: String,
}

impl From<Warning> for Warned {
    fn from(Warning { first, events }: Warning) -> Self {
        let (event, text) = (first.event, first.text.clone());
        Warned { event, events, answers: first.into(), text }
    }
}

impl From<Difference> for Answers {
    fn from(Difference { part, expected, came, decided_by, .. }: Difference) -> Self {
        Answers { part: part.to_string(), expected, came, decided_by }
    }
}

impl Ran {
    fn of(vector: &Vector, outcome: Outcome) -> Self {
        let (mut warnings, mut answers) = (Vec::new(), None);
        let (outcome, text, event, signals) = match outcome {
            Outcome::Passed { signals, warnings: those, .. } => {
                warnings.extend(those.into_iter().map(Warned::from));
                ("passed", None, None, signals)
            }
            Outcome::Skipped(why) => ("skipped", Some(why), None, 0),
            Outcome::Differs(difference) => {
                let (text, event) = (difference.text.clone(), difference.event);
                answers = Some(Answers::from(*difference));
                ("differs", Some(text), Some(event), 0)
            }
            Outcome::Broke(why) | Outcome::Silent(why) => ("broke", Some(why), None, 0),
        };
        Ran {
            vector: vector.header.vector.clone(),
            outcome,
            text,
            event,
            answers,
            events: vector.events.len(),
            signals,
            warnings,
        }
    }

    /// Its text without the vector's name, which stands beside it.
    fn reason(&self) -> &str {
        let text = self.text.as_deref().unwrap_or_default();
        text.strip_prefix(self.vector.as_str()).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(text)
    }

    fn row(&self) -> Vec<String> {
        let mut note = match (self.outcome, self.event) {
            ("passed", _) if self.signals == 0 => format!("{} events, decisions only", self.events),
            ("passed", _) => format!("{} events, {} internal signals", self.events, self.signals),
            ("differs", Some(event)) => format!("at event {event} of {}", self.events),
            // It is below, whole.
            ("broke", _) => {
                self.reason().split(": ").next().map(|place| format!("at {place}")).unwrap_or_default()
            }
            _ => self.reason().to_string(),
        };
        if !self.warnings.is_empty() {
            let parts: Vec<String> =
                self.warnings.iter().map(|w| format!("{} at {} events", w.answers.part, w.events)).collect();
            note.push_str(&format!("; warnings: {}", parts.join(", ")));
        }
        vec![self.vector.clone(), self.outcome.to_string(), note]
    }
}

fn failed(error: RunError) -> Failure {
    match error {
        RunError::Start(why) => Failure::BadInput(why),
        RunError::Interrupted => Failure::Interrupted("the implementation was ended".into()),
    }
}

/// An implementation that has hung so often, one time after the other, hangs always.
const PATIENCE: usize = 3;

/// Runs an implementation.
fn hold(args: &RunArgs) -> Result<(), Failure> {
    if !args.files.is_empty() && !args.vectors.is_empty() {
        return Err(bad_input!(
            "--file: give either files or names of vectors in the catalog (--vector), not both"
        ));
    }
    let vectors = if args.files.is_empty() { chosen(&args.vectors)? } else { read(&args.files)? };
    let stop = interrupt::listen();
    let runner =
        Runner { command: args.command.clone(), dir: None, timeout: args.timeout, strict: args.strict };
    let (mut all, mut ended, mut silent) = (Vec::new(), None, 0);
    let progress = Progress::new(vectors.len());
    for vector in &vectors {
        if silent == PATIENCE {
            break;
        }
        progress.at(all.len(), &vector.header.vector);
        match quell_conformance::run(&runner, vector, stop) {
            Ok(outcome) => {
                silent = if matches!(outcome, Outcome::Silent(_)) { silent + 1 } else { 0 };
                all.push(Ran::of(vector, outcome));
            }
            // What was found before counts.
            Err(RunError::Interrupted) if !all.is_empty() => {
                ended = Some(format!("{} of {} vectors were run", all.len(), vectors.len()));
                break;
            }
            Err(e) => return Err(failed(e)),
        }
    }
    drop(progress);
    let count = |outcome: &str| all.iter().filter(|r| r.outcome == outcome).count();
    let (passed, skipped) = (count("passed"), count("skipped"));
    if args.format.format == Format::Json {
        json::print(
            &json!({ "command": args.command, "vectors": all, "not_run": vectors.len() - all.len() }),
        )?;
    } else {
        let rows: Vec<_> = all.iter().map(Ran::row).collect();
        let mut text = table::text(&["vector", "outcome", ""], &rows);
        let wrong = all.iter().filter(|r| matches!(r.outcome, "differs" | "broke"));
        wrong
            .filter_map(|r| r.text.as_ref())
            .for_each(|why| text.push_str(&format!("\n{}", terminal::prose(&format!("{why}\n")))));
        let warnings = all.iter().flat_map(|r| &r.warnings);
        warnings.for_each(|w| {
            text.push_str(&format!("\n{}", terminal::prose(&format!("warning: {}\n", w.text))))
        });
        terminal::print(&text)?;
    }
    let of = all.len();
    let found = match (count("differs"), count("broke")) {
        (0, 0) if passed == 0 => Some("no vector was accepted: all were skipped".to_string()),
        (0, 0) => None,
        (differ, 0) => Some(format!("{differ} of {of} vectors differ; {passed} passed, {skipped} skipped")),
        (differ, broke) => Some(format!(
            "the implementation broke on {broke} of {of} vectors; {differ} differ, {passed} passed, {skipped} skipped"
        )),
    };
    let found = match vectors.len() - all.len() {
        // An interruption says so itself.
        left @ 1.. if ended.is_none() => found.map(|found| {
            format!(
                "{found}; it hung {PATIENCE} times in a row, so {left} more were not run; give it more time with \
                 --timeout, or choose vectors with --vector"
            )
        }),
        _ => found,
    };
    match (ended, found) {
        (None, None) => Ok(()),
        (None, Some(found)) => Err(Failure::Failed(found)),
        (Some(ended), None) => Err(Failure::Interrupted(ended)),
        (Some(ended), Some(found)) => Err(Failure::Interrupted(format!("{ended}: {found}"))),
    }
}

/// Says on stderr how far a list has been gone through.
struct Progress {
    meter: Meter,
    since: Instant,
    all: usize,
}

impl Progress {
    fn new(all: usize) -> Self {
        Progress { meter: Meter::new(false), since: Instant::now(), all }
    }

    fn at(&self, done: usize, name: &str) {
        let elapsed = self.since.elapsed();
        let left = match done {
            0 => String::new(),
            n => format!("{} left  ", terminal::span(elapsed.mul_f64((self.all - n) as f64 / n as f64))),
        };
        self.meter.advance(
            done as f64 / self.all as f64,
            elapsed,
            &format!("{done}/{}  {left}{name}", self.all),
        );
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.meter.finish();
    }
}

/// An exhibit that was run, for JSON.
#[derive(Serialize)]
struct Caught {
    exhibit: &'static str,
    algorithm: &'static str,
    bug: &'static str,
    seen: &'static str,
    /// The first vector that it fails, and the event; none if it passes all.
    vector: Option<String>,
    event: Option<u32>,
    text: Option<String>,
}

fn catch(
    runner: &Runner,
    exhibit: &Exhibit,
    vectors: &[Vector],
    stop: &AtomicBool,
) -> Result<Caught, Failure> {
    let mut caught = Caught {
        exhibit: exhibit.name,
        algorithm: exhibit.algorithm,
        bug: exhibit.bug,
        seen: exhibit.seen,
        vector: None,
        event: None,
        text: None,
    };
    for vector in vectors {
        let ran = Ran::of(vector, quell_conformance::run(runner, vector, stop).map_err(failed)?);
        match ran.outcome {
            "differs" => {
                (caught.vector, caught.event, caught.text) = (Some(ran.vector), ran.event, ran.text);
                break;
            }
            // A program that cannot run is not a bug that was found.
            "broke" => {
                return Err(Failure::Failed(format!("{}: {}", exhibit.name, ran.text.unwrap_or_default())));
            }
            _ => {}
        }
    }
    Ok(caught)
}

/// Runs the implementation that exhibits of an algorithm are made from, which must pass; gives the vectors that it did
/// not skip.
fn check_right(runner: &Runner, vectors: &[Vector], stop: &AtomicBool) -> Result<Vec<String>, Failure> {
    let mut passed = Vec::new();
    for vector in vectors {
        let ran = Ran::of(vector, quell_conformance::run(runner, vector, stop).map_err(failed)?);
        match ran.outcome {
            "passed" => passed.push(ran.vector),
            "skipped" => {}
            _ => {
                let text = ran.text.unwrap_or_default();
                return Err(Failure::Failed(format!("adaptor.py is wrong: {text}")));
            }
        }
    }
    Ok(passed)
}

/// The path of the interpreter that runs as `python`, which may be a script that looks for it at each of many starts.
/// If it names none, `python`: the first program that is run then fails with the reason.
fn interpreter(python: &str) -> String {
    let asked = process::Command::new(python)
        .args(["-c", "import sys; print(sys.executable)"])
        .stdin(process::Stdio::null())
        .stderr(process::Stdio::null())
        .output();
    let path = asked.ok().and_then(|asked| String::from_utf8(asked.stdout).ok());
    path.map(|path| path.trim_end().to_string())
        .filter(|path| Path::new(path).is_file())
        .unwrap_or_else(|| python.to_string())
}

/// Runs implementations that are wrong, and the right ones they are made from.
fn museum(args: &MuseumArgs) -> Result<(), Failure> {
    let mut exhibits = Vec::new();
    for name in &args.exhibits {
        exhibits.push(
            EXHIBITS
                .iter()
                .find(|e| e.name == name)
                .ok_or_else(|| unknown_name("exhibit", name, EXHIBITS.iter().map(|e| e.name)))?,
        );
    }
    if exhibits.is_empty() {
        exhibits = EXHIBITS.iter().collect();
    }
    let dir = tempfile::tempdir().map_err(|e| Failure::cannot("make a folder for the programs", e))?;
    museum::write(dir.path()).map_err(|e| Failure::cannot("write the programs", e))?;
    let stop = interrupt::listen();
    let python = interpreter(&args.python);
    let runner = |program: &[&str], strict: bool| Runner {
        command: [python.as_str()].iter().chain(program).map(ToString::to_string).collect(),
        dir: Some(dir.path().to_path_buf()),
        timeout: std::time::Duration::from_secs(120),
        strict,
    };
    let algorithms: BTreeSet<&str> = exhibits.iter().map(|e| e.algorithm).collect();
    let progress = Progress::new(algorithms.len() + exhibits.len());
    let done = AtomicUsize::new(0);
    let next = |name: &str| progress.at(done.fetch_add(1, Ordering::Relaxed), name);
    // What the exhibits are made from is right: otherwise they would be caught for another reason.
    let right = algorithms.par_iter().map(|algorithm| {
        next(algorithm);
        let vectors = chosen(&[algorithm.to_string()])?;
        let passed = check_right(&runner(&[museum::RIGHT], true), &vectors, stop)?;
        Ok((*algorithm, (vectors, passed)))
    });
    let right = right.collect::<Result<BTreeMap<&str, (Vec<Vector>, Vec<String>)>, Failure>>()?;
    let caught = exhibits.par_iter().map(|exhibit| {
        next(exhibit.name);
        let program = runner(&["museum.py", exhibit.name], false);
        catch(&program, exhibit, &right[exhibit.algorithm].0, stop)
    });
    let (mut all, mut ended) = (Vec::new(), None);
    for one in caught.collect::<Vec<_>>() {
        match one {
            Ok(one) => all.push(one),
            Err(interrupted @ Failure::Interrupted(_)) => ended = Some(interrupted),
            Err(failure) => return Err(failure),
        }
    }
    drop(progress);
    if let Some(interrupted) = ended.take() {
        // What was found before counts.
        if all.is_empty() {
            return Err(interrupted);
        }
        ended = Some(Failure::Interrupted(format!("{} of {} exhibits were run", all.len(), exhibits.len())));
    }
    let missed: Vec<&str> = all.iter().filter(|c| c.vector.is_none()).map(|c| c.exhibit).collect();
    if args.format.format == Format::Json {
        let passed: BTreeMap<_, _> =
            right.iter().map(|(algorithm, (_, passed))| (algorithm, passed)).collect();
        json::print(&json!({ "exhibits": all, "adaptor_passes": passed }))?;
    } else if let [one] = all.as_slice() {
        let how = one.text.as_deref().unwrap_or("no vector distinguishes it from the reference");
        terminal::print(&format!("{}: {}\nseen: {}\n\n{how}\n", one.exhibit, one.bug, one.seen))?;
    } else {
        let row = |c: &Caught| {
            let by = match (&c.vector, c.event) {
                (Some(vector), Some(event)) => format!("{vector}, event {event}"),
                _ => "not caught".into(),
            };
            vec![c.exhibit.to_string(), by, c.bug.to_string()]
        };
        let rows: Vec<_> = all.iter().map(row).collect();
        terminal::print(&table::text(&["exhibit", "caught by", "bug"], &rows))?;
    }
    match missed.as_slice() {
        [] => ended.map_or(Ok(()), Err),
        missed => Err(Failure::Failed(format!("not caught: {}", missed.join(", ")))),
    }
}

/// Answers one vector, as the reference does.
fn answer() -> Result<(), Failure> {
    let input = std::io::stdin().lock();
    quell_conformance::answer(input, std::io::stdout().lock()).map_err(|e| match e.kind() {
        std::io::ErrorKind::InvalidData => Failure::BadInput(e.to_string()),
        _ => Failure::cannot("answer", e),
    })
}
