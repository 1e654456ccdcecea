//! `quell gateway replay`: the decisions of a log once more, and those of other algorithms.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use quell_aqm::catalog::AqmConfig;
use quell_files::Unpacked;
use quell_units::Time;
use quell_units::text::{cut, seconds};
use serde::Serialize;

use super::algorithm::named_algorithm;
use super::failure::Failure;
use super::text::{self, Format, json, percent, print, table_within};
use crate::config::{ConfigError, LineConfig};
use crate::packet::Packet;
use crate::record::{ARRIVAL_COLUMNS, Entry, Event, LogError, LogReader, write_arrival};
use crate::replay::{Replay, Replayed, Replaying};

/// Decides again about every packet of a log, with the same code, configuration and seed. Each verdict, departure and
/// drop must be the same; the exit code is 1 if any differs.
#[derive(Clone, Debug, clap::Args)]
pub struct ReplayArgs {
    /// A log that `quell gateway run --log` or `quell wire --log` wrote; "-" reads standard input.
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
    /// Also show what this algorithm would have done with the same arrivals; may be given several times. Parameters
    /// that you leave out have their defaults. The loop is open: with its decisions, the senders would have sent other
    /// packets.
    #[arg(long, value_name = "aqm=NAME[,KEY=VALUE...]", value_parser = With::parse)]
    pub with: Vec<With>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Write the arrivals of a line to this file, for traffic of kind "trace" in a scenario.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// The line whose arrivals to write; needed if the log has more than one.
    #[arg(long, value_name = "NAME", requires = "csv")]
    pub line: Option<String>,
}

/// Another algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// The words that asked for it, without "aqm=".
    pub label: String,
    /// The algorithm and its parameters.
    pub aqm: AqmConfig,
}

impl With {
    /// Reads `aqm=NAME[,KEY=VALUE...]`.
    ///
    /// # Errors
    /// Names what is wrong and what would be right.
    pub fn parse(text: &str) -> Result<With, String> {
        let label = text.strip_prefix("aqm=").unwrap_or(text);
        let mut words = label.split(',');
        let name = words.next().unwrap_or_default();
        let mut set: Vec<(String, String)> = Vec::new();
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                return Err(format!("\"{}\" must be KEY=VALUE, such as target=15ms", cut(word)));
            };
            if set.iter().any(|(other, _)| other == key) {
                return Err(format!("{} is given twice", cut(key)));
            }
            set.push((key.to_string(), value.to_string()));
        }
        let aqm = named_algorithm("aqm", name, &set).map_err(|e| e.to_string())?;
        Ok(With { label: label.replace(',', " "), aqm })
    }
}

/// The findings of a replay.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The version of this shape.
    pub schema: u32,
    /// The log.
    pub log: Log,
    /// One for each line.
    pub lines: Vec<LineFindings>,
    /// The figures of the logged algorithms and of others for the same arrivals; empty unless they were asked for.
    pub open_loop: Vec<AlgorithmFigures>,
    /// The arrivals that were written.
    pub csv: Option<Csv>,
}

/// A log.
#[derive(Debug, Serialize)]
pub struct Log {
    /// Its file.
    pub file: String,
    /// The version of Quell that wrote it.
    pub version: String,
    /// Records in it.
    pub records: u64,
    /// It was closed; otherwise it was cut, and all that is there is compared.
    pub closed: bool,
    /// The time of its last event.
    pub end_s: f64,
}

/// The findings of a replay at a line.
#[derive(Debug, Serialize)]
pub struct LineFindings {
    /// Its name.
    pub line: String,
    /// Its algorithm, at the end.
    pub algorithm: String,
    /// Packets that came.
    pub arrivals: u64,
    /// The number of times that the line was configured again.
    pub reloads: u64,
    /// Decisions that were compared: verdicts, departures and drops of what had been stored.
    pub compared: u64,
    /// The number of those that differ.
    pub differ: u64,
    /// The first that differs, in words.
    pub first: Option<String>,
}

/// The figures of an algorithm for a line's arrivals.
#[derive(Debug, Serialize)]
pub struct AlgorithmFigures {
    /// The line.
    pub line: String,
    /// The algorithm.
    pub algorithm: String,
    /// It is the one that decided.
    pub logged: bool,
    /// The share of arrivals that is dropped.
    pub loss: Option<f64>,
    /// The share of arrivals that is marked.
    pub marks: Option<f64>,
    /// The mean delay of what is sent.
    pub delay_mean_s: Option<f64>,
    /// Its 99th percentile.
    pub delay_p99_s: Option<f64>,
    /// The share of the line's rate that is used, from the first arrival on.
    pub utilization: Option<f64>,
}

/// Arrivals in a file.
#[derive(Debug, Serialize)]
pub struct Csv {
    /// The file.
    pub file: String,
    /// The line that they came to.
    pub line: String,
    /// The number.
    pub arrivals: u64,
    /// Reloads meanwhile: a file of arrivals has none.
    pub reloads: u64,
}

impl Outcome {
    /// Succeeds if every decision came out as it was.
    ///
    /// # Errors
    /// If one did not: exit code 1.
    pub fn verdict(&self) -> Result<(), Failure> {
        let sum = |count: fn(&LineFindings) -> u64| self.lines.iter().map(count).sum::<u64>();
        match sum(|l| l.differ) {
            0 => Ok(()),
            n => {
                Err(Failure::Failed(format!("{n} of {} decisions differ from the log", sum(|l| l.compared))))
            }
        }
    }
}

/// Replays and prints.
///
/// # Errors
/// If the log cannot be read, or what is asked for is not possible.
pub fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let outcome = outcome(args)?;
    match args.format {
        Format::Table => print(&match text::terminal_width() {
            Some(width) => format!("{outcome:width$}"),
            None => outcome.to_string(),
        })?,
        Format::Json => print(&json(&outcome)?)?,
    }
    outcome.verdict()
}

/// Replays.
///
/// # Errors
/// See [`run`].
pub fn outcome(args: &ReplayArgs) -> Result<Outcome, Failure> {
    let log = open(args)?;
    let chosen = match &args.csv {
        Some(file) => Some((file.as_path(), choose(args, &log)?)),
        None => None,
    };
    let version = log.header().version.clone();
    let changes: Vec<_> = args
        .with
        .iter()
        .map(|with| |config: &LineConfig| LineConfig { aqm: with.aqm.clone(), ..config.clone() })
        .collect();
    // All in one reading: a pipe can be read only once.
    let mut replays = Replays {
        found: Replaying::new(&log.header().lines, None).map_err(|e| damaged(args, e))?,
        with: Vec::new(),
    };
    for (with, change) in args.with.iter().zip(&changes) {
        let replaying = Replaying::new(&log.header().lines, Some(change)).map_err(|e| unfit(with, &e))?;
        replays.with.push((with, replaying));
    }
    let Scan { seen, records, end, closed } = scan(args, log, chosen, &mut replays)?;
    let found = replays.found.end(closed);
    let with: Vec<Replay> = replays.with.into_iter().map(|(_, replaying)| replaying.end(closed)).collect();
    let mut open_loop = Vec::new();
    for (i, (line, seen)) in found.lines.iter().zip(&seen).enumerate() {
        if !with.is_empty() {
            open_loop.push(AlgorithmFigures::of(line, line.config.aqm.name().to_string(), true, seen, end));
        }
        for (replayed, with) in with.iter().zip(&args.with) {
            open_loop.push(AlgorithmFigures::of(&replayed.lines[i], with.label.clone(), false, seen, end));
        }
    }
    let csv = chosen.map(|(file, line)| Csv {
        file: file.display().to_string(),
        line: found.lines[line].config.name.clone(),
        arrivals: found.lines[line].arrivals,
        reloads: seen[line].reloads(),
    });
    let line = |(r, seen): (&Replayed, &LoggedLine)| LineFindings {
        line: r.config.name.clone(),
        algorithm: r.config.aqm.name().to_string(),
        arrivals: r.arrivals,
        reloads: seen.reloads(),
        compared: r.compared,
        differ: r.differ,
        first: r.first.as_ref().map(|d| in_words(d.number, &d.logged, &d.replayed)),
    };
    Ok(Outcome {
        schema: 1,
        log: Log {
            file: args.log.display().to_string(),
            version,
            records,
            closed: found.closed,
            end_s: end.as_secs_f64(),
        },
        lines: found.lines.iter().zip(&seen).map(line).collect(),
        open_loop,
        csv,
    })
}

/// The log's name in messages.
fn name(args: &ReplayArgs) -> String {
    if is_stdin(args) { "standard input".into() } else { quell_files::name(&args.log) }
}

fn is_stdin(args: &ReplayArgs) -> bool {
    args.log.as_os_str() == "-"
}

fn damaged(args: &ReplayArgs, e: impl core::fmt::Display) -> Failure {
    Failure::BadInput(format!("{}: {e}", name(args)))
}

fn unfit(with: &With, e: &ConfigError) -> Failure {
    Failure::BadInput(format!("--with aqm={}: {e}", with.label.replace(' ', ",")))
}

type Input = LogReader<BufReader<Unpacked<Box<dyn Read>>>>;

fn open(args: &ReplayArgs) -> Result<Input, Failure> {
    let input: io::Result<Box<dyn Read>> = match is_stdin(args) {
        true => Ok(Box::new(io::stdin().lock())),
        false => quell_files::open(&args.log).map(|file| Box::new(file) as _),
    };
    let input = input.and_then(quell_files::unpacked).map_err(|e| damaged(args, LogError::Io(e)))?;
    LogReader::new(BufReader::with_capacity(1 << 16, input)).map_err(|e| damaged(args, e))
}

/// The replay of a log, and those with other algorithms on every line.
struct Replays<'a> {
    found: Replaying<'a>,
    with: Vec<(&'a With, Replaying<'a>)>,
}

impl Replays<'_> {
    fn entry(&mut self, args: &ReplayArgs, entry: &Entry) -> Result<(), Failure> {
        self.found.entry(entry).map_err(|e| damaged(args, e))?;
        self.with
            .iter_mut()
            .try_for_each(|(with, replaying)| replaying.entry(entry).map_err(|e| unfit(with, &e)))
    }
}

/// The line whose arrivals are to be written.
fn choose(args: &ReplayArgs, log: &Input) -> Result<usize, Failure> {
    let names: Vec<&str> = log.header().lines.iter().map(|l| l.name.as_str()).collect();
    let known = || names.join(", ");
    match &args.line {
        Some(name) => names.iter().position(|n| n == name).ok_or_else(|| {
            Failure::BadInput(format!("--line: the log has no line \"{}\"; it has: {}", cut(name), known()))
        }),
        None if names.len() == 1 => Ok(0),
        None if names.is_empty() => Err(damaged(args, "has no line whose arrivals could be written")),
        None => Err(Failure::BadInput(format!(
            "--csv writes the arrivals of one line: add --line NAME; the log has: {}",
            known()
        ))),
    }
}

/// A log's account of a line.
#[derive(Debug, Default)]
struct LoggedLine {
    first: Option<Time>,
    /// The rates in bit/s and since when.
    rates: Vec<(Time, f64)>,
    /// Its configuration, as far as the log has been read.
    config: Option<LineConfig>,
}

impl LoggedLine {
    fn reloads(&self) -> u64 {
        self.rates.len() as u64 - 1
    }

    /// The bits that the line could have sent from the first arrival until `end`.
    fn capacity_bits(&self, end: Time) -> f64 {
        let Some(first) = self.first else { return 0.0 };
        let ends = self.rates.iter().skip(1).map(|(at, _)| *at).chain([end]);
        let parts = self.rates.iter().zip(ends).map(|((from, bps), to)| {
            bps * (to.max(first).as_secs_f64() - (*from).max(first).as_secs_f64()).max(0.0)
        });
        parts.sum()
    }
}

struct Scan {
    seen: Vec<LoggedLine>,
    records: u64,
    end: Time,
    closed: bool,
}

/// Reads a log through and replays it; the arrivals of one line go to a file, which is not left there if they end in damage.
fn scan(
    args: &ReplayArgs,
    log: Input,
    csv: Option<(&Path, usize)>,
    replays: &mut Replays<'_>,
) -> Result<Scan, Failure> {
    let Some((path, line)) = csv else { return read(args, log, replays, |_, _, _| Ok(())) };
    if path == Path::new("-") {
        let why = "--csv: - is standard output, where replay prints its result; name a file";
        return Err(Failure::BadInput(why.into()));
    }
    let same = |a: &Path, b: &Path| a.canonicalize().ok().is_some_and(|a| Some(a) == b.canonicalize().ok());
    if same(path, &args.log) {
        return Err(Failure::BadInput(format!("--csv: {} is the log itself", quell_files::name(path))));
    }
    let cannot = |e: io::Error| Failure::Failed(format!("cannot write {}: {e}", quell_files::name(path)));
    let mut to = BufWriter::new(File::create(path).map_err(cannot)?);
    let written = to
        .write_all(format!("{ARRIVAL_COLUMNS}\n").as_bytes())
        .map_err(cannot)
        .and_then(|()| {
            read(args, log, replays, |at, time, packet| match at == line {
                true => write_arrival(&mut to, time, packet).map_err(cannot),
                false => Ok(()),
            })
        })
        .and_then(|scan| to.flush().map(|()| scan).map_err(cannot));
    // Only what was made here: not a device.
    if written.is_err() && path.symlink_metadata().is_ok_and(|m| m.is_file()) {
        let _ = std::fs::remove_file(path);
    }
    written
}

/// Reads a log through, replays it, and hands each arrival on.
fn read(
    args: &ReplayArgs,
    mut log: Input,
    replays: &mut Replays<'_>,
    mut arrived: impl FnMut(usize, Time, &Packet) -> Result<(), Failure>,
) -> Result<Scan, Failure> {
    let capacity = |config: &LineConfig| config.capacity().bps() as f64;
    let start = |l: &LineConfig| LoggedLine {
        first: None,
        rates: vec![(Time::ZERO, capacity(l))],
        config: Some(l.clone()),
    };
    let mut seen: Vec<LoggedLine> = log.header().lines.iter().map(start).collect();
    let mut end = Time::ZERO;
    while let Some(entry) = log.next_entry().map_err(|e| damaged(args, e))? {
        replays.entry(args, &entry)?;
        end = end.max(entry.time);
        let line = usize::from(entry.line);
        match &entry.event {
            Event::Arrived { packet, .. } => {
                seen[line].first.get_or_insert(entry.time);
                arrived(line, entry.time, packet)?;
            }
            Event::Reconfigured(config) => {
                seen[line].rates.push((entry.time, capacity(config)));
                seen[line].config = Some(LineConfig::clone(config));
            }
            Event::Rate(rate) => {
                let now = seen[line].config.clone().map(|config| LineConfig { rate: *rate, ..config });
                let bps = now.as_ref().map_or(rate.bps() as f64, capacity);
                seen[line].rates.push((entry.time, bps));
            }
            _ => {}
        }
    }
    Ok(Scan { seen, records: log.records(), end, closed: log.closed() })
}

impl AlgorithmFigures {
    fn of(replayed: &Replayed, algorithm: String, logged: bool, seen: &LoggedLine, end: Time) -> Self {
        let (meter, c) = (&replayed.meter, &replayed.counters);
        let share = |n: u64| (c.arrived.packets > 0).then(|| n as f64 / c.arrived.packets as f64);
        let capacity = seen.capacity_bits(end);
        AlgorithmFigures {
            line: replayed.config.name.clone(),
            algorithm,
            logged,
            loss: share(c.refused.total().packets + c.dropped.total().packets),
            marks: share(c.marked.packets),
            delay_mean_s: meter.mean_delay_s(),
            delay_p99_s: meter.delay_p99_s(),
            // The last packet's transmission may end after the log.
            utilization: (capacity > 0.0).then(|| (meter.sent.bytes as f64 * 8.0 / capacity).min(1.0)),
        }
    }
}

/// A difference as a sentence. The replay tells decisions by their names in the code.
fn in_words(number: u32, logged: &str, replayed: &str) -> String {
    match (decision(logged), decision(replayed)) {
        (Some(logged), Some(replayed)) => {
            format!("packet {number} was {logged} in the log, and {replayed} in the replay")
        }
        // It has no counterpart.
        _ => format!("what became of packet {number} is {}", logged.trim_matches('"')),
    }
}

/// A decision in words: `Sent(7, Time(1500000), true)` is "sent at 0.0015 s with a mark".
fn decision(name: &str) -> Option<String> {
    let (what, arguments) = name.trim_end_matches(')').split_once('(').unwrap_or((name, ""));
    let arguments: Vec<&str> = arguments.split(", ").collect();
    let at = |time: &str| {
        let ns: u64 = time.trim_start_matches("Time(").trim_end_matches(')').parse().ok()?;
        Some(format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000))
    };
    Some(match (what, &arguments[..]) {
        ("Queued", _) => "stored".into(),
        ("Marked", _) => "marked and stored".into(),
        ("Dropped", [cause]) => format!("dropped on arrival ({})", cause.to_lowercase()),
        ("Sent", [_, time, marked]) => {
            let mark = if *marked == "true" { "with" } else { "without" };
            format!("sent at {} {mark} a mark", at(time)?)
        }
        ("Dropped", [_, time, cause, place]) => {
            let place = if *place == "Head" { "at the head" } else { "to make room" };
            format!("dropped {place} at {} ({})", at(time)?, cause.to_lowercase())
        }
        _ => return None,
    })
}

/// Tables that do not fit into the width that is asked for, as `{:80}`, become blocks.
impl core::fmt::Display for Outcome {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let head = ["line", "algorithm", "arrivals", "decisions", "differ"].map(String::from).to_vec();
        let row = |l: &LineFindings| {
            let counts = [l.arrivals, l.compared, l.differ].map(|n| n.to_string());
            [vec![text::plain(&l.line), l.algorithm.clone()], counts.to_vec()].concat()
        };
        let rows: Vec<_> = [head].into_iter().chain(self.lines.iter().map(row)).collect();
        table_within(f.width(), &rows, 2).iter().try_for_each(|line| writeln!(f, "{line}"))?;
        writeln!(f)?;
        let differ: u64 = self.lines.iter().map(|l| l.differ).sum();
        match differ {
            0 if self.lines.iter().all(|l| l.compared == 0) => {
                writeln!(f, "The log holds no decisions, so there was nothing to compare.")?;
            }
            0 => writeln!(f, "Every decision is the same.")?,
            _ => {
                for line in &self.lines {
                    let Some(first) = &line.first else { continue };
                    writeln!(f, "First difference at {}: {first}.", text::plain(&line.line))?;
                }
                let here = env!("CARGO_PKG_VERSION");
                if self.log.version != here {
                    let version = text::plain(&self.log.version);
                    writeln!(
                        f,
                        "Version {version} wrote the log, but this is {here}, so algorithms may differ."
                    )?;
                }
            }
        }
        if !self.log.closed {
            let (records, end) = (self.log.records, seconds(self.log.end_s));
            writeln!(
                f,
                "The log was cut off: it holds {records} records up to {end} s, which were compared."
            )?;
        }
        if !self.open_loop.is_empty() {
            writeln!(
                f,
                "\nOpen loop with the same arrivals for all (senders would have responded differently to other \
                 decisions):\n"
            )?;
            let head = ["line", "algorithm", "loss", "marks", "mean delay", "P99 delay", "utilization"];
            let row = |r: &AlgorithmFigures| {
                let logged = if r.logged { " (logged)" } else { "" };
                vec![
                    text::plain(&r.line),
                    format!("{}{logged}", r.algorithm),
                    percent(r.loss),
                    percent(r.marks),
                    text::seconds(r.delay_mean_s),
                    text::seconds(r.delay_p99_s),
                    percent(r.utilization),
                ]
            };
            let head = head.map(String::from).to_vec();
            let rows: Vec<_> = [head].into_iter().chain(self.open_loop.iter().map(row)).collect();
            table_within(f.width(), &rows, 2).iter().try_for_each(|line| writeln!(f, "{line}"))?;
        }
        if let Some(csv) = &self.csv {
            let line = text::plain(&csv.line);
            writeln!(f, "\n{} has the {} arrivals of {line}.", quell_files::name(&csv.file), csv.arrivals)?;
            if csv.reloads > 0 {
                let n = csv.reloads;
                writeln!(
                    f,
                    "It does not include the {n} reloads of the line, because a scenario has one \
                    configuration."
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_told_in_words() {
        let said = |a, b| in_words(7, a, b);
        assert_eq!(
            said("Dropped(Early)", "Queued"),
            "packet 7 was dropped on arrival (early) in the log, and stored in the replay"
        );
        assert_eq!(
            said("Sent(7, Time(1500000000), true)", "Dropped(7, Time(1500000001), Forced, Head)"),
            "packet 7 was sent at 1.500000000 s with a mark in the log, and dropped at the head at 1.500000001 s \
             (forced) in the replay"
        );
        assert_eq!(said("\"only in the log\"", "\"in both\""), "what became of packet 7 is only in the log");
    }

    #[test]
    fn other_algorithms_are_asked_for_by_name() {
        let with = With::parse("aqm=pie,target=5ms").unwrap();
        assert_eq!((with.label.as_str(), with.aqm.name()), ("pie target=5ms", "pie"));
        assert_ne!(with.aqm, With::parse("aqm=pie").unwrap().aqm);
        let error = |text| With::parse(text).unwrap_err();
        assert_eq!(With::parse("pie,target=5ms").unwrap(), with);
        assert!(error("aqm=pies").contains("\"pies\"") && error("aqm=pies").contains("Known: drop-tail, "));
        assert_eq!(error("aqm=pie,target"), "\"target\" must be KEY=VALUE, such as target=15ms");
        assert_eq!(error("aqm=pie,target=1ms,target=2ms"), "target is given twice");
        assert!(error("aqm=pie,tarjet=1ms").contains("unknown field `tarjet`"));
    }

    #[test]
    fn capacity_follows_the_rate() {
        let at = |s: u64| Time::from_nanos(s * 1_000_000_000);
        let rates = vec![(at(0), 10.0), (at(4), 20.0)];
        assert_eq!(
            LoggedLine { first: Some(at(2)), rates: rates.clone(), ..Default::default() }
                .capacity_bits(at(5)),
            40.0
        );
        assert_eq!(
            LoggedLine { first: Some(at(5)), rates: rates.clone(), ..Default::default() }
                .capacity_bits(at(7)),
            40.0
        );
        assert_eq!(LoggedLine { first: None, rates, ..Default::default() }.capacity_bits(at(7)), 0.0);
    }
}
