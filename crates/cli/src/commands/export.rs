//! `quell export`: results in the formats of other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use quell_lab::{Column, Columns, LinkSeries, Replication, Results, TraceTable, read_trace};
use serde_json::{Map, Value, json};

use crate::failure::{Failure, unknown_name};
use crate::flent::{DataFile, MEGABITS, Raw, VERSION};
use crate::{folder, terminal};

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    target: Target,
}

/// The formats.
#[derive(Debug, clap::Subcommand)]
enum Target {
    /// Write data files that Flent plots, one for each replication.
    Flent(Flent),
}

/// Arguments of `export flent`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell run my.toml --out results/seen --trace flows
  quell export flent results/seen --out for-flent
  flent -i for-flent/*.flent.gz -p totals -o totals.png

Each file has the rate of each class of TCP traffic over time, and the round-trip time that a ping would have had: \
propagation and the mean queueing delay of each step. If a replication has a trace of its flows (--trace flows), the \
file has the goodput of each bulk flow instead. docs/how-to/flent.md has the details.")]
struct Flent {
    /// The results folder.
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// Folder to write the files to.
    #[arg(long, short, value_name = "DIR", default_value = "flent")]
    out: PathBuf,
    /// Replace existing files.
    #[arg(long)]
    overwrite: bool,
    /// Algorithms to export, by label, separated by commas; default: all.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    aqm: Vec<String>,
}

/// Writes results for another program.
pub fn run(args: &Args, _: Vec<String>) -> Result<(), Failure> {
    match &args.target {
        Target::Flent(args) => flent(args),
    }
}

fn flent(args: &Flent) -> Result<(), Failure> {
    let results = folder::read(&args.results)?;
    let all = quell_lab::distinct((0..results.run.points.len()).flat_map(|p| results.algorithms(p)));
    if let Some(wrong) = args.aqm.iter().find(|name| !all.contains(name)) {
        return Err(unknown_name("--aqm", wrong, all.iter().map(|name| name.as_str())));
    }
    let traced = traced(&args.results, &results)?;
    let mut files = BTreeMap::new();
    // In lower case, since some systems take "CoDel" and "codel" for one file.
    let mut labels = BTreeMap::new();
    let wanted = |r: &&Replication| args.aqm.is_empty() || args.aqm.contains(&r.algorithm);
    for replication in results.replications.iter().filter(wanted) {
        let name = file_name(&results, replication);
        if let Some(file) = data_file(&results, replication, &traced, &name) {
            if let Some(other) = labels.insert(name.to_lowercase(), &replication.algorithm) {
                return Err(bad_input!(
                    "the algorithms \"{other}\" and \"{}\" would both be written to {}: export each with --aqm into a \
                     folder of its own",
                    replication.algorithm,
                    quell_files::name(args.out.join(name))
                ));
            }
            files.insert(args.out.join(name), file);
        }
    }
    if files.is_empty() {
        return Err(bad_input!(
            "{}: has no TCP traffic over time: it must have a group of flows whose kind is not \"udp\" or \"trace\", and \
             series (`quell run --series`)",
            quell_files::name(&args.results)
        ));
    }
    if let Some(file) = files.keys().find(|file| file.exists() && !args.overwrite) {
        let file = quell_files::name(file);
        return Err(bad_input!(
            "{file} already exists; use --overwrite to replace it, or --out to name another folder"
        ));
    }
    let out = quell_files::name(&args.out);
    std::fs::create_dir_all(&args.out).map_err(|e| Failure::cannot(format!("make the folder {out}"), e))?;
    for (path, file) in &files {
        let mut bytes = Vec::new();
        file.write(&mut bytes)
            .map_err(|e| Failure::cannot(format!("write {}", quell_files::name(path)), e))?;
        folder::write_bytes(&bytes, path)?;
    }
    let first = files.keys().next().map(quell_files::name).unwrap_or_default();
    let n = quell_units::text::plural(files.len(), "file");
    terminal::print(&format!("{out}: {n}\n\nflent -i {first} -p totals -o totals.png\n"))
}

/// Flent's tests with the series that results have: of both directions, of downloads, of uploads.
const BOTH: &str = "rrul_be_nflows";
const DOWN: &str = "tcp_ndown";
const UP: &str = "tcp_nup";

/// A series of TCP traffic.
struct Series {
    /// Its class, or its flow.
    of: String,
    is_up: bool,
    mbits: Vec<Option<f64>>,
}

/// The delivered bytes of flows over time, by point, algorithm, seed and flow.
type Traced = BTreeMap<(usize, String, u64, u32), Vec<(f64, f64)>>;

/// A group of flows in a scenario.
struct Group {
    class: String,
    is_up: bool,
    kind: String,
}

/// The data file of a replication; `None` without TCP traffic over time.
fn data_file(results: &Results, r: &Replication, traced: &Traced, name: &str) -> Option<DataFile> {
    let point = results.run.points.get(r.point)?;
    let groups = groups(&point.scenario);
    let first = r.series.first()?;
    let times = first.time_s.clone();
    let (&begin, &end) = (times.first()?, times.last()?);
    let all: Vec<Series> = series(r, &groups, traced, &times);
    if all.is_empty() {
        return None;
    }
    let [down, up] = [false, true].map(|is_up| all.iter().filter(|s| s.is_up == is_up).collect::<Vec<_>>());
    let test = match (down.is_empty(), up.is_empty()) {
        (false, false) => BOTH,
        (_, true) => DOWN,
        (true, _) => UP,
    };
    let marking = if test == BOTH { " BE" } else { "" };
    let (mut named, mut about) = (Vec::new(), Map::new());
    let mut add = |name: String, values: Vec<Option<f64>>, unit: &str, of: &str| {
        about.insert(name.clone(), json!({ "UNITS": unit, "QUELL_NAME": of }));
        named.push((name, values));
    };
    for (way, list) in [("download", &down), ("upload", &up)] {
        for (i, s) in list.iter().enumerate() {
            add(format!("TCP {way}{marking}::{}", i + 1), s.mbits.clone(), MEGABITS, &s.of);
        }
        if !list.is_empty() {
            let sum = sum(list, times.len());
            let mean = sum.iter().map(|x| x.map(|x| x / list.len() as f64)).collect();
            add(format!("TCP {way} sum"), sum, MEGABITS, "the sum");
            add(format!("TCP {way} avg"), mean, MEGABITS, "the mean");
        }
    }
    if test == BOTH {
        let totals = sum(&all.iter().collect::<Vec<_>>(), times.len());
        add("TCP totals".into(), totals, MEGABITS, "the sum");
    }
    if let Some(ping) = ping(r, times.len()) {
        add("Ping (ms) ICMP".into(), ping.clone(), "ms", "propagation and queueing delay");
        add("Ping (ms) avg".into(), ping, "ms", "propagation and queueing delay");
    }
    let started = humantime::parse_rfc3339(&results.run.started).unwrap_or(std::time::UNIX_EPOCH);
    let since = started.duration_since(std::time::UNIX_EPOCH).map_or(0.0, |t| t.as_secs_f64());
    let time = humantime::format_rfc3339_micros(started).to_string();
    let step = times.get(1).map_or(begin, |second| second - begin);
    let mut title = vec![format!("qdisc:{} rep:{}", r.algorithm, r.seed)];
    title.extend(point.settings.iter().map(|s| format!("{}:{}", s.field, s.value.replace(' ', ""))));
    let streams =
        json!({ "download_streams": down.len().to_string(), "upload_streams": up.len().to_string() });
    let metadata = json!({
        "NAME": test,
        "TITLE": title.join(" "),
        "NOTE": format!("{}: simulated by {}", results.run.title, results.run.made_by()),
        "DATA_FILENAME": name,
        "TIME": time,
        "T0": time,
        "LENGTH": end,
        "TOTAL_LENGTH": end,
        "STEP_SIZE": step,
        "HOST": "simulated",
        "HOSTS": ["simulated"],
        "LOCAL_HOST": "simulated",
        "IP_VERSION": 4,
        "TEST_PARAMETERS": streams,
        "BATCH_NAME": null,
        "FLENT_VERSION": format!("quell {}", results.run.version),
        "SERIES_META": about,
        "QUELL_DIGEST": format!("{:016x}", r.digest),
    });
    let raw = |values: &[Option<f64>]| {
        let samples = times.iter().zip(values);
        samples
            .filter_map(|(t, val)| Some(Raw { t: Some(since + t), val: Some((*val)?), dur: None }))
            .collect()
    };
    let computed = [" sum", " avg", " totals"];
    let measured = named.iter().filter(|(name, _)| !computed.iter().any(|end| name.ends_with(end)));
    let raw_values = measured.map(|(name, values)| (name.clone(), raw(values))).collect();
    let Value::Object(metadata) = metadata else { return None };
    Some(DataFile {
        version: VERSION,
        x_values: times,
        results: named.into_iter().collect(),
        raw_values,
        metadata,
    })
}

/// A file's name: its replication.
fn file_name(results: &Results, r: &Replication) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.+".contains(c) { c } else { '_' };
    let algorithm: String = r.algorithm.chars().map(plain).collect();
    let point = if results.run.points.len() > 1 { format!("point{}-", r.point + 1) } else { String::new() };
    format!("{point}{algorithm}-seed{}.flent.gz", r.seed)
}

/// The groups of a scenario by name.
fn groups(scenario: &str) -> BTreeMap<String, Group> {
    let table: toml::Table = scenario.parse().unwrap_or_default();
    let list = table.get("flows").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let group = |group: &toml::Value| {
        let text = |key: &str| group.get(key).and_then(toml::Value::as_str).map(str::to_string);
        let name = text("name")?;
        let class = text("class").unwrap_or_else(|| name.clone());
        let is_up = text("direction").as_deref() == Some("reverse");
        Some((name, Group { class, is_up, kind: text("kind").unwrap_or_else(|| "bulk".into()) }))
    };
    list.iter().filter_map(group).collect()
}

/// The series of TCP traffic: flows where they were traced, classes otherwise.
fn series(r: &Replication, groups: &BTreeMap<String, Group>, traced: &Traced, times: &[f64]) -> Vec<Series> {
    let is_tcp = |g: &&Group| g.kind != "udp" && g.kind != "trace";
    let classes: BTreeSet<&str> = groups.values().filter(is_tcp).map(|g| g.class.as_str()).collect();
    let mut all = Vec::new();
    for class in classes {
        let members: Vec<_> = groups.iter().filter(|(_, g)| g.class == class).collect();
        let is_up = members.iter().all(|(_, g)| g.is_up);
        let flows: Vec<_> = r.flows.iter().filter(|f| *f.class == *class).collect();
        let key = |flow: u32| (r.point, r.algorithm.clone(), r.seed, flow);
        let samples: Vec<_> = flows.iter().filter_map(|f| Some((f, traced.get(&key(f.flow))?))).collect();
        if members.iter().all(|(_, g)| g.kind == "bulk") && !flows.is_empty() && samples.len() == flows.len()
        {
            for (flow, delivered) in samples {
                let is_up = groups.get(&*flow.group).is_some_and(|g| g.is_up);
                let of = format!("{} {}", flow.group, flow.flow);
                all.push(Series { of, is_up, mbits: goodput(delivered, times) });
            }
            continue;
        }
        let at = |s: &&LinkSeries| s.throughput_bps.iter().any(|(name, _)| name == class);
        let Some(link) = r.series.iter().find(at) else { continue };
        let found = link.throughput_bps.iter().find(|(name, _)| name == class);
        let mbits = found.map(|(_, bps)| bps.iter().map(|x| finite(x / 1e6)).collect());
        all.extend(mbits.map(|mbits| Series { of: class.to_string(), is_up, mbits }));
    }
    all
}

fn finite(x: f64) -> Option<f64> {
    Some(x).filter(|x| x.is_finite())
}

/// The goodput of each step, which ends at its time, in Mbit/s.
fn goodput(delivered: &[(f64, f64)], times: &[f64]) -> Vec<Option<f64>> {
    // The samples of a trace are not those of the series: between two of them, bytes come evenly.
    let until = |t: f64| match delivered.partition_point(|(at, _)| *at <= t) {
        0 => delivered.first().map_or(0.0, |(at, bytes)| bytes * t / at),
        n if n == delivered.len() => delivered[n - 1].1,
        n => {
            let ((before, least), (after, most)) = (delivered[n - 1], delivered[n]);
            least + (most - least) * (t - before) / (after - before)
        }
    };
    let step = |i: usize| {
        let from = if i == 0 { 0.0 } else { times[i - 1] };
        let length = times[i] - from;
        (length > 0.0).then(|| ((until(times[i]) - until(from)) * 8.0 / length / 1e6).max(0.0))
    };
    (0..times.len()).map(step).collect()
}

fn sum(list: &[&Series], times: usize) -> Vec<Option<f64>> {
    let at = |i: usize| {
        let found: Vec<f64> = list.iter().filter_map(|s| *s.mbits.get(i)?).collect();
        (!found.is_empty()).then(|| found.iter().sum())
    };
    (0..times).map(at).collect()
}

/// The round-trip time of a small packet in milliseconds: the shortest propagation of all flows, and the mean queueing delay
/// of each step at the first link and in the way back.
fn ping(r: &Replication, times: usize) -> Option<Vec<Option<f64>>> {
    let base = r.flows.iter().map(|f| f.base_rtt_s).filter(|x| x.is_finite() && *x > 0.0).reduce(f64::min)?;
    let ways = r.series.iter().enumerate().filter(|(i, s)| *i == 0 || s.link == "reverse").map(|(_, s)| s);
    let ways: Vec<&LinkSeries> = ways.collect();
    let at = |i: usize| {
        let delays: Option<Vec<f64>> =
            ways.iter().map(|s| s.queue_delay_mean_s.get(i).copied().and_then(finite)).collect();
        Some((base + delays?.iter().sum::<f64>()) * 1000.0)
    };
    Some((0..times).map(at).collect())
}

/// The trace of flows, if the results have one.
fn traced(path: &Path, results: &Results) -> Result<Traced, Failure> {
    let mut all = Traced::new();
    let file = TraceTable::Flows.file();
    if !results.run.files.iter().any(|found| found.name == file) {
        return Ok(all);
    }
    let columns =
        read_trace(&folder::of(path), TraceTable::Flows).map_err(|e| Failure::cannot("read a trace", e))?;
    let rows = Rows::of(&columns)
        .ok_or_else(|| Failure::Failed(format!("{file}: lacks a column: it is damaged")))?;
    for i in 0..columns.rows() {
        let (Some(point), Some(flow)) = (rows.point[i], rows.flow[i]) else { continue };
        let bytes = rows.delivered[i] as f64 * rows.cwnd_bytes[i] / rows.cwnd_packets[i];
        if bytes.is_finite() {
            let key = (point as usize, rows.algorithm[i].to_string(), rows.seed[i], flow);
            all.entry(key).or_default().push((rows.time_s[i], bytes));
        }
    }
    Ok(all)
}

/// The columns of a trace that are needed.
struct Rows<'a> {
    point: &'a [Option<u32>],
    algorithm: Vec<&'a str>,
    seed: &'a [u64],
    flow: &'a [Option<u32>],
    time_s: &'a [f64],
    cwnd_packets: &'a [f64],
    cwnd_bytes: &'a [f64],
    delivered: &'a [u64],
}

impl<'a> Rows<'a> {
    fn of(columns: &'a Columns) -> Option<Rows<'a>> {
        let u32s = |name: &str| match columns.get(name)? {
            Column::U32(v) => Some(v.as_slice()),
            _ => None,
        };
        let u64s = |name: &str| match columns.get(name)? {
            Column::U64(v) => Some(v.as_slice()),
            _ => None,
        };
        let f64s = |name: &str| match columns.get(name)? {
            Column::F64(v) => Some(v.as_slice()),
            _ => None,
        };
        let Column::Text(algorithm) = columns.get("algorithm")? else { return None };
        Some(Rows {
            point: u32s("point")?,
            algorithm: algorithm.iter().collect(),
            seed: u64s("seed")?,
            flow: u32s("flow")?,
            time_s: f64s("time_s")?,
            cwnd_packets: f64s("cwnd_packets")?,
            cwnd_bytes: f64s("cwnd_bytes")?,
            delivered: u64s("delivered_packets")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trace whose samples are farther apart than the steps of a series, and not at them.
    #[test]
    fn a_constant_rate_is_constant_whatever_the_steps() {
        let trace: Vec<_> = (1..=40).map(|i| (0.05 * f64::from(i), 5e4 * f64::from(i))).collect();
        let times: Vec<_> = (1..=50).map(|i| 0.04 * f64::from(i)).collect();
        for rate in goodput(&trace, &times) {
            assert!((rate.unwrap() - 8.0).abs() < 1e-9, "{rate:?}");
        }
    }
}
