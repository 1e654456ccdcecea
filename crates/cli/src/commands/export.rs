//! `quell export`: results in the formats of other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use quell_lab::{
    Column, Columns, FlowRow, LinkSeries, PointInfo, Replication, Results, TraceTable, jain_index, read_trace,
};
use quell_view::report::quoted;
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
    let (mut files, mut notes) = (BTreeMap::new(), BTreeSet::new());
    // In lower case, since some systems take "CoDel" and "codel" for one file.
    let mut labels = BTreeMap::new();
    let wanted = |r: &&Replication| args.aqm.is_empty() || args.aqm.contains(&r.algorithm);
    for replication in results.replications.iter().filter(wanted) {
        let name = file_name(&results, replication);
        if let Some(file) = data_file(&results, replication, &traced, &name, &mut notes) {
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
    let stale = stale(&args.out, &files);
    let mut packed = BTreeMap::new();
    for (path, file) in &files {
        let mut bytes = Vec::new();
        file.write(&mut bytes)
            .map_err(|e| Failure::cannot(format!("write {}", quell_files::name(path)), e))?;
        packed.insert(path.clone(), bytes);
    }
    folder::write_all(&packed, &args.out)?;
    let out = quell_files::name(&args.out);
    let first = files.keys().next().map(quell_files::name).unwrap_or_default();
    let n = quell_units::text::plural(files.len(), "file");
    terminal::print(&format!("{out}: {n}\n\nflent -i {} -p totals -o totals.png\n", quoted(&first)))?;
    if let Some(one) = stale.first() {
        let n = quell_units::text::plural(stale.len(), "data file");
        notes.insert(format!("{out} also has {n} that this export did not write, such as {one}"));
    }
    notes.iter().for_each(|note| terminal::note(note));
    Ok(())
}

/// The names of data files in a folder that are not those to be written, sorted.
fn stale(out: &Path, files: &BTreeMap<PathBuf, DataFile>) -> Vec<String> {
    let found =
        std::fs::read_dir(out).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.file_name()));
    let other = found.filter(|name| !files.contains_key(&out.join(name)));
    let mut names: Vec<String> = other.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| name.ends_with(".flent.gz"));
    names.sort();
    names
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
    /// The congestion control of all that it stands for, if they have one in common.
    congestion: Option<String>,
}

/// The delivered bytes of flows over time, by point, algorithm, seed and flow.
type Traced = BTreeMap<(usize, String, u64, u32), Vec<(f64, f64)>>;

/// A group of flows in a scenario.
struct Group {
    class: String,
    is_up: bool,
    kind: String,
    congestion: Option<String>,
}

impl Group {
    fn is_tcp(&self) -> bool {
        self.kind != "udp" && self.kind != "trace"
    }
}

/// The data file of a replication; `None` without TCP traffic over time. Adds what a reader must know to the notes.
fn data_file(
    results: &Results,
    r: &Replication,
    traced: &Traced,
    name: &str,
    notes: &mut BTreeSet<String>,
) -> Option<DataFile> {
    let point = results.run.points.get(r.point)?;
    let scenario: toml::Table = point.scenario.parse().unwrap_or_default();
    let groups = groups(&scenario);
    let first = r.series.first()?;
    let times = first.time_s.clone();
    let (&begin, &end) = (times.first()?, times.last()?);
    let all: Vec<Series> = series(r, &groups, traced, &times, notes);
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
        let mut facts = json!({ "UNITS": unit, "QUELL_NAME": of });
        if let Some(mean) = mean(&values) {
            facts["MEAN_VALUE"] = mean.into();
        }
        about.insert(name.clone(), facts);
        named.push((name, values));
    };
    let mut controls = Vec::new();
    for (way, list) in [("download", &down), ("upload", &up)] {
        for (i, s) in list.iter().enumerate() {
            let name = format!("TCP {way}{marking}::{}", i + 1);
            controls.extend(s.congestion.as_ref().map(|control| (name.clone(), control.clone())));
            add(name, s.mbits.clone(), MEGABITS, &s.of);
        }
        if !list.is_empty() {
            add(format!("TCP {way} sum"), sum(list, times.len()), MEGABITS, "the sum");
            let mean = each(list, times.len(), |all| Some(all.iter().sum::<f64>() / all.len() as f64));
            add(format!("TCP {way} avg"), mean, MEGABITS, "the mean");
            // Flent's test of both directions has no such series.
            if test != BOTH {
                add(
                    format!("TCP {way} fairness"),
                    each(list, times.len(), jain_index),
                    "Idx",
                    "Jain's index",
                );
            }
        }
    }
    if test == BOTH {
        let totals = sum(&all.iter().collect::<Vec<_>>(), times.len());
        add("TCP totals".into(), totals, MEGABITS, "the sum");
    }
    if let Some(ping) = ping(r, times.len()) {
        let of = "propagation and queueing delay";
        add("Ping (ms) ICMP".into(), ping.clone(), "ms", of);
        if test == BOTH {
            add("Ping (ms) UDP BE".into(), ping.clone(), "ms", of);
        }
        add("Ping (ms) avg".into(), ping, "ms", of);
    }
    for (name, control) in controls {
        about[&name]["CONG_CONTROL"] = control.into();
    }
    let started = humantime::parse_rfc3339(&results.run.started).unwrap_or(std::time::UNIX_EPOCH);
    let since = started.duration_since(std::time::UNIX_EPOCH).map_or(0.0, |t| t.as_secs_f64());
    let time = humantime::format_rfc3339_micros(started).to_string();
    let step = times.get(1).map_or(begin, |second| second - begin);
    let algorithm = algorithm(&scenario, &r.algorithm);
    let note = [results.run.title.as_str(), &format!("simulated by {}", results.run.made_by())];
    let note: Vec<&str> = note.into_iter().filter(|part| !part.is_empty()).collect();
    let streams =
        json!({ "download_streams": down.len().to_string(), "upload_streams": up.len().to_string() });
    let metadata = json!({
        "NAME": test,
        "TITLE": title(point, r, &algorithm),
        "NOTE": note.join(": "),
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
        "QUELL_ALGORITHM": algorithm,
        "QUELL_LABEL": r.algorithm,
    });
    let raw = |name: &str, values: &[Option<f64>]| {
        let begins = std::iter::once(&0.0).chain(&times);
        let samples = times.iter().zip(begins).zip(values);
        let is_rate = name.starts_with("TCP ");
        let one = |((t, from), val): ((&f64, &f64), &Option<f64>)| {
            Some(Raw { t: Some(since + t), val: Some((*val)?), dur: is_rate.then_some(t - from) })
        };
        samples.filter_map(one).collect()
    };
    let computed = [" sum", " avg", " totals", " fairness"];
    let measured = named.iter().filter(|(name, _)| !computed.iter().any(|end| name.ends_with(end)));
    let raw_values = measured.map(|(name, values)| (name.clone(), raw(name, values))).collect();
    let Value::Object(metadata) = metadata else { return None };
    Some(DataFile {
        version: VERSION,
        x_values: times,
        results: named.into_iter().collect(),
        raw_values,
        metadata,
    })
}

/// A title in the words of Flent's batches, which no value may break in two.
fn title(point: &PointInfo, r: &Replication, algorithm: &str) -> String {
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join("_");
    let mut words = vec![format!("qdisc:{algorithm}")];
    if r.algorithm != algorithm {
        words.push(format!("label:{}", joined(&r.algorithm)));
    }
    words.push(format!("rep:{}", r.seed));
    words.extend(point.settings.iter().map(|s| format!("{}:{}", s.field, s.value.replace(' ', ""))));
    words.join(" ")
}

/// The name in the catalog of the algorithm of this label.
fn algorithm(scenario: &toml::Table, label: &str) -> String {
    let list = scenario.get("aqm").and_then(toml::Value::as_array).into_iter().flatten();
    let text = |aqm: &toml::Value, key: &str| aqm.get(key).and_then(toml::Value::as_str).map(str::to_string);
    let found = list
        .filter(|aqm| text(aqm, "label").as_deref() == Some(label))
        .find_map(|aqm| text(aqm, "algorithm"));
    found.unwrap_or_else(|| label.to_string())
}

/// A file's name: its replication.
fn file_name(results: &Results, r: &Replication) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.+".contains(c) { c } else { '_' };
    let mut algorithm: String = r.algorithm.chars().map(plain).collect();
    // A pattern such as * does not match hidden files.
    if algorithm.starts_with('.') {
        algorithm.insert(0, '_');
    }
    let point = if results.run.points.len() > 1 { format!("point{}-", r.point + 1) } else { String::new() };
    format!("{point}{algorithm}-seed{}.flent.gz", r.seed)
}

/// The groups of a scenario by name.
fn groups(scenario: &toml::Table) -> BTreeMap<String, Group> {
    let list = scenario.get("flows").and_then(toml::Value::as_array).into_iter().flatten();
    let group = |group: &toml::Value| {
        let text = |key: &str| group.get(key).and_then(toml::Value::as_str).map(str::to_string);
        let name = text("name")?;
        let class = text("class").unwrap_or_else(|| name.clone());
        let is_up = text("direction").as_deref() == Some("reverse");
        let kind = text("kind").unwrap_or_else(|| "bulk".into());
        let congestion = group.get("tcp").and_then(|tcp| tcp.get("congestion")?.as_str()).map(str::to_string);
        Some((name, Group { class, is_up, kind, congestion }))
    };
    list.filter_map(group).collect()
}

/// True for a link of the other direction: that of a dumbbell is called reverse, and others mirror the name of one before,
/// as r1-r0 that of r0-r1.
fn is_back(links: &[LinkSeries], at: usize) -> bool {
    let name = &links[at].link;
    let mirrors = |(i, _): (usize, &str)| {
        let mirrored = format!("{}-{}", &name[i + 1..], &name[..i]);
        links[..at].iter().any(|other| other.link == mirrored)
    };
    name == "reverse" || name.match_indices('-').any(mirrors)
}

/// The series of TCP traffic: flows where they were traced, classes otherwise.
fn series(
    r: &Replication,
    groups: &BTreeMap<String, Group>,
    traced: &Traced,
    times: &[f64],
    notes: &mut BTreeSet<String>,
) -> Vec<Series> {
    let classes: BTreeSet<&str> = groups.values().filter(|g| g.is_tcp()).map(|g| g.class.as_str()).collect();
    let mut all = Vec::new();
    for class in classes {
        let members: Vec<&Group> = groups.values().filter(|g| g.class == class).collect();
        let flows: Vec<&FlowRow> = r.flows.iter().filter(|f| *f.class == *class).collect();
        let key = |flow: u32| (r.point, r.algorithm.clone(), r.seed, flow);
        let samples: Vec<_> = flows.iter().filter_map(|f| Some((*f, traced.get(&key(f.flow))?))).collect();
        if members.iter().all(|g| g.kind == "bulk") && !flows.is_empty() && samples.len() == flows.len() {
            for (flow, delivered) in samples {
                let group = groups.get(&*flow.group);
                let of = format!("{} {}", flow.group, flow.flow);
                let mbits = while_active(goodput(delivered, times), times, &[flow]);
                let congestion = group.and_then(|g| g.congestion.clone());
                all.push(Series { of, is_up: group.is_some_and(|g| g.is_up), mbits, congestion });
            }
            continue;
        }
        if members.iter().any(|g| !g.is_tcp()) {
            notes.insert(format!(
                "the series of the class \"{class}\" includes its traffic of kind udp and trace"
            ));
        }
        all.extend(
            [false, true].into_iter().filter_map(|is_up| of_class(class, is_up, r, groups, times, notes)),
        );
    }
    all
}

/// The rate of a class in one direction, at the first link of that direction that it crosses.
fn of_class(
    class: &str,
    is_up: bool,
    r: &Replication,
    groups: &BTreeMap<String, Group>,
    times: &[f64],
    notes: &mut BTreeSet<String>,
) -> Option<Series> {
    let [this_way, other_way] = [is_up, !is_up]
        .map(|way| groups.values().filter(|g| g.class == class && g.is_up == way).collect::<Vec<_>>());
    if !this_way.iter().any(|g| g.is_tcp()) {
        return None;
    }
    let rate = |s: &LinkSeries| s.throughput_bps.iter().position(|(name, _)| name == class);
    let carries = |i: usize| Some((&r.series[i], rate(&r.series[i])?, is_back(&r.series, i)));
    let crossed: Vec<(&LinkSeries, usize, bool)> = (0..r.series.len()).filter_map(carries).collect();
    let is_of_way = |(_, _, is_back): &&(&LinkSeries, usize, bool)| *is_back == is_up;
    let of_way: Vec<_> = crossed.iter().filter(is_of_way).collect();
    // In a network of one's own, a link may be known for neither direction.
    let links = match of_way.is_empty() && other_way.is_empty() {
        true => crossed.iter().collect(),
        false => of_way,
    };
    let Some((link, at, _)) = links.first() else {
        if !crossed.is_empty() {
            let way = if is_up { "reverse" } else { "forward" };
            notes.insert(format!(
                "the traffic of the class \"{class}\" with direction = \"{way}\" is left out, because no observed link \
                 carries it"
            ));
        }
        return None;
    };
    if links.len() > 1 {
        notes.insert(format!(
            "the class \"{class}\" crosses {} observed links: its series is its rate at {}, the first",
            links.len(),
            link.link
        ));
    }
    let mbits = link.throughput_bps[*at].1.iter().map(|x| finite(x / 1e6)).collect();
    let flows = r
        .flows
        .iter()
        .filter(|f| groups.get(&*f.group).is_some_and(|g| g.class == class && g.is_up == is_up));
    let flows: Vec<&FlowRow> = flows.collect();
    let controls: BTreeSet<_> =
        this_way.iter().filter(|g| g.is_tcp()).map(|g| g.congestion.clone()).collect();
    let congestion = controls.iter().next().cloned().flatten().filter(|_| controls.len() == 1);
    Some(Series { of: class.to_string(), is_up, mbits: while_active(mbits, times, &flows), congestion })
}

/// A series that is null before the first of its flows starts, and after the last has ended, as Flent's are: zeros would
/// count toward means.
fn while_active(mut mbits: Vec<Option<f64>>, times: &[f64], flows: &[&FlowRow]) -> Vec<Option<f64>> {
    let start = flows.iter().map(|f| f.start_s).reduce(f64::min).unwrap_or(0.0);
    let stops: Option<Vec<f64>> = flows.iter().map(|f| f.stop_s).collect();
    let stop = stops.and_then(|all| all.into_iter().reduce(f64::max)).unwrap_or(f64::INFINITY);
    let mut from = 0.0;
    for (value, to) in mbits.iter_mut().zip(times) {
        // What was sent before the stop may still be on its way.
        if *to <= start || (from >= stop && value.is_none_or(|x| x <= 0.0)) {
            *value = None;
        }
        from = *to;
    }
    mbits
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
    each(list, times, |all| Some(all.iter().sum()))
}

/// A number of each step, from the series that have a value there.
fn each(list: &[&Series], times: usize, of: impl Fn(&[f64]) -> Option<f64>) -> Vec<Option<f64>> {
    let at = |i: usize| {
        let found: Vec<f64> = list.iter().filter_map(|s| *s.mbits.get(i)?).collect();
        if found.is_empty() { None } else { of(&found) }
    };
    (0..times).map(at).collect()
}

fn mean(values: &[Option<f64>]) -> Option<f64> {
    let found: Vec<f64> = values.iter().flatten().copied().collect();
    (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
}

/// The round-trip time of a small packet in milliseconds: the shortest propagation of all flows, and the queueing delay of
/// each step at the first link and at the first one back.
fn ping(r: &Replication, times: usize) -> Option<Vec<Option<f64>>> {
    let base = r.flows.iter().map(|f| f.base_rtt_s).filter(|x| x.is_finite() && *x > 0.0).reduce(f64::min)?;
    let back = (1..r.series.len()).find(|i| is_back(&r.series, *i));
    let ways = [r.series.first(), back.map(|i| &r.series[i])].into_iter().flatten();
    let ways: Vec<Vec<Option<f64>>> = ways.map(|s| delays(s, times)).collect();
    let at = |i: usize| {
        let all: Option<Vec<f64>> = ways.iter().map(|delays| delays[i]).collect();
        Some((base + all?.iter().sum::<f64>()) * 1000.0)
    };
    Some((0..times).map(at).collect())
}

/// The queueing delay that a packet would have had in each step, in seconds: the mean over those that left. If none did, it
/// is zero before an empty queue, and otherwise what it was before.
fn delays(link: &LinkSeries, times: usize) -> Vec<Option<f64>> {
    let mut last = None;
    let at = |i: usize| {
        let measured = link.queue_delay_mean_s.get(i).copied().and_then(finite);
        let queue = link.queue_packets.get(i).copied().and_then(finite);
        last = measured.or_else(|| queue.and_then(|queue| if queue == 0.0 { Some(0.0) } else { last }));
        last
    };
    (0..times).map(at).collect()
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

    #[test]
    fn a_ping_has_a_delay_in_every_step() {
        let link = LinkSeries {
            queue_delay_mean_s: vec![f64::NAN, 0.02, f64::NAN, f64::NAN, 0.01],
            queue_packets: vec![0.0, 5.0, 4.0, 0.0, 0.0],
            ..LinkSeries::default()
        };
        assert_eq!(delays(&link, 5), [Some(0.0), Some(0.02), Some(0.02), Some(0.0), Some(0.01)]);
        // What Flent measured has no queue, and so no delay.
        let unknown = LinkSeries {
            queue_delay_mean_s: vec![f64::NAN; 2],
            queue_packets: vec![f64::NAN; 2],
            ..LinkSeries::default()
        };
        assert_eq!(delays(&unknown, 2), [None, None]);
    }
}
