//! `quell gateway replay`.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use quell_units::text::{duration, three_digits};
use serde::Serialize;

use super::{Failure, named_algorithm, print, table};
use crate::{LineConfig, LogReader, Replay, Replayed, replay as replay_log};

/// A log, and what is asked of it.
#[derive(Clone, Debug, Args)]
pub struct ReplayArgs {
    /// A log of `quell gateway run --log` or `quell wire --log`.
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// What another algorithm would have done with the same arrivals: NAME, or NAME,key=value,... The senders would
    /// have answered it differently, so it is no prediction (open loop). May be given several times.
    #[arg(long, value_name = "AQM")]
    with: Vec<String>,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table to read.
    #[default]
    Table,
    /// JSON.
    Json,
}

/// One line of one replay.
#[derive(Serialize)]
struct Row {
    line: String,
    algorithm: String,
    /// Whether it is the logged one.
    logged: bool,
    arrivals: u64,
    compared: u64,
    differ: u64,
    first_difference: Option<String>,
    utilization: f64,
    delay_mean_s: Option<f64>,
    delay_p99_s: Option<f64>,
    loss_rate: f64,
    mark_rate: f64,
}

fn row(line: &Replayed, logged: bool) -> Row {
    let arrived = line.counters.arrived.packets.max(1) as f64;
    let dropped = line.counters.refused.total().packets + line.counters.dropped.total().packets;
    let seconds = line.span.1.since(line.span.0).as_secs_f64();
    let h = &line.meter.delay;
    Row {
        line: line.config.name.clone(),
        algorithm: line.config.aqm.name().to_string(),
        logged,
        arrivals: line.arrivals,
        compared: line.compared,
        differ: line.differ,
        first_difference: line.first.as_ref().map(ToString::to_string),
        utilization: line.meter.sent.bytes as f64 / (line.config.rate.bytes_per_sec() * seconds).max(1e-9),
        delay_mean_s: line.meter.mean_delay_s(),
        delay_p99_s: (!h.is_empty()).then(|| h.value_at_quantile(0.99) as f64 / 1e9),
        loss_rate: dropped as f64 / arrived,
        mark_rate: line.counters.marked.packets as f64 / arrived,
    }
}

/// Replays a log; a difference is a failure.
pub(super) fn replay(args: &ReplayArgs) -> Result<(), Failure> {
    let name = args.log.display();
    let open = || -> Result<_, Failure> {
        let file =
            File::open(&args.log).map_err(|e| Failure::BadInput(format!("{name}: cannot be read: {e}")))?;
        LogReader::new(BufReader::with_capacity(1 << 20, file))
            .map_err(|e| Failure::BadInput(format!("{name}: {e}")))
    };
    let failed = |e: crate::ReplayError| Failure::BadInput(format!("{name}: {e}"));
    // What is wrong with an option is said before a long log is read.
    let mut others = Vec::new();
    for with in &args.with {
        let mut words = with.split(',');
        let aqm = words.next().unwrap_or("").trim();
        let mut set = Vec::new();
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                return Err(Failure::BadInput(format!("--with: \"{word}\" must have the form key=value")));
            };
            set.push((key.trim().to_string(), value.trim().to_string()));
        }
        let config = named_algorithm("--with", aqm.strip_prefix("aqm=").unwrap_or(aqm), &set)?;
        others.push(config);
    }
    let mut log = open()?;
    let Replay { lines, closed } = replay_log(&mut log, None).map_err(failed)?;
    let differ: u64 = lines.iter().map(|l| l.differ).sum();
    let mut rows: Vec<Row> = lines.iter().map(|line| row(line, true)).collect();
    for aqm in others {
        let with = |line: &LineConfig| LineConfig { aqm: aqm.clone(), ..line.clone() };
        let found = replay_log(&mut open()?, Some(&with)).map_err(failed)?;
        rows.extend(found.lines.iter().map(|line| row(line, false)));
    }
    match args.format {
        Format::Json => {
            let value = serde_json::json!({ "schema": 1, "closed": closed, "lines": rows });
            print(&format!("{value:#}\n"))?;
        }
        Format::Table => print(&text(&rows, closed, !args.with.is_empty()))?,
    }
    if differ > 0 {
        let first = lines.iter().find_map(|l| l.first.as_ref()).map(ToString::to_string).unwrap_or_default();
        return Err(Failure::Failed(format!("{differ} decisions differ; the first: {first}")));
    }
    Ok(())
}

fn text(rows: &[Row], closed: bool, others: bool) -> String {
    let percent = |x: f64| format!("{} %", three_digits(x * 100.0));
    let time = |x: Option<f64>| x.map_or("-".into(), duration);
    let head =
        ["line", "algorithm", "arrivals", "differ", "utilization", "delay", "P99", "dropped", "marked"];
    let mut cells = vec![head.map(String::from).to_vec()];
    for r in rows {
        cells.push(vec![
            r.line.clone(),
            r.algorithm.clone(),
            r.arrivals.to_string(),
            if r.logged { format!("{} of {}", r.differ, r.compared) } else { "(open loop)".into() },
            percent(r.utilization),
            time(r.delay_mean_s),
            time(r.delay_p99_s),
            percent(r.loss_rate),
            percent(r.mark_rate),
        ]);
    }
    let mut text = table(&cells);
    if others {
        text.push_str(
            "open loop: the same arrivals, whatever the algorithm; senders would have answered it\n",
        );
    }
    if !closed {
        text.push_str("the log was not closed: decisions were compared up to its last whole record\n");
    }
    text
}
