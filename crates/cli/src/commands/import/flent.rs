//! `quell import flent`: what Flent measured, as results beside simulated ones.

use std::fmt::Write as _;
use std::path::PathBuf;

use flate2::Crc;
use quell_lab::{
    LinkSeries, Metric, MetricRow, PointInfo, Replication, Results, RunInfo, TransferRow, Values, jain_index,
    quantile,
};
use quell_scenario::{Plugins, Study};
use quell_units::text::{cut, duration, plural, three_digits};
use quell_units::{BitRate, Duration};
use toml::{Table, Value};

use crate::failure::{Failure, unknown_name};
use crate::flent::{DataFile, MEGABITS, Role};
use crate::folder::{self, Place};
use crate::keep::keep;
use crate::terminal;

/// Arguments of `import flent`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell import flent rrul_be-*.flent.gz --rate 10Mbit/s --out measured
  quell import flent a.flent.gz b.flent.gz --aqm fq-codel --rate 50Mbit/s --up 10Mbit/s --rtt 20ms --out measured
  quell run measured.toml --out simulated
  quell compare measured simulated --metric \"goodput_bps[down]\" --metric \"flow_completion_time_p95_s[ping]\"

Writes a results folder with what was measured, and a scenario with the same numbers of downloads, uploads and pings, \
for `quell run`. Each file becomes a replication; its algorithm is the word after \"qdisc:\" in its title, unless --aqm \
names another. docs/how-to/flent.md lists the series that are read and what they become.")]
pub struct Args {
    /// Data files of one test (.flent.gz), or of its repetitions.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Capacity of the measured link toward the host that ran Flent, because Flent does not record it.
    #[arg(long, value_name = "RATE")]
    rate: BitRate,
    /// Capacity in the other direction; default: the same.
    #[arg(long, value_name = "RATE")]
    up: Option<BitRate>,
    /// Round-trip time without queues; default: the shortest ping in all files.
    #[arg(long, value_name = "TIME")]
    rtt: Option<Duration>,
    /// Buffer of each direction in the scenario.
    #[arg(long, value_name = "SIZE", default_value = "1000 packets")]
    buffer: String,
    /// Algorithm that was measured (`quell aqm list`); default: the word after "qdisc:" in each title.
    #[arg(long, value_name = "NAME")]
    aqm: Option<String>,
    /// Time after the start of the connections to leave out; default: a quarter of the test, at most 10 s.
    #[arg(long, value_name = "TIME")]
    warmup: Option<Duration>,
    /// Folder for the results; default: results/ and the name of the first file.
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// File for the scenario; default: the name of the folder with .toml.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Replace existing results and an existing scenario.
    #[arg(long)]
    overwrite: bool,
}

/// The links of the scenario.
const LINKS: [(&str, &str, Role); 2] =
    [("bottleneck", "down", Role::Download), ("reverse", "up", Role::Upload)];
/// The class of pings.
const PING: &str = "ping";

/// The shape of a test: repetitions of one have the same.
#[derive(Clone, Debug, PartialEq)]
struct Shape {
    name: String,
    length_s: f64,
    downloads: usize,
    uploads: usize,
    pings: bool,
}

/// One file, reduced.
struct Measured {
    algorithm: String,
    shape: Shape,
    /// The goodputs of the connections of each direction within the window, in bits per second.
    goodputs: [Vec<f64>; 2],
    /// The sums of each direction over time, in bits per second.
    sums: [Vec<f64>; 2],
    times_s: Vec<f64>,
    /// The pings within the window: their times and round-trip times, in seconds.
    pings: Vec<(f64, f64)>,
    least_ping_s: f64,
    left_out: Vec<String>,
    digest: u64,
}

/// Makes results and a scenario of data files.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    let measured = args.files.iter().map(|path| read(args, path)).collect::<Result<Vec<_>, Failure>>()?;
    let first = &measured[0];
    for (path, other) in args.files.iter().zip(&measured) {
        if other.shape != first.shape {
            return Err(bad_input!(
                "{}: is {}, and {} is {}: files must be repetitions of one test; import others into another folder",
                quell_files::name(path),
                other.shape.text(),
                quell_files::name(&args.files[0]),
                first.shape.text()
            ));
        }
    }
    let runs = numbered(&measured);
    let text = scenario(args, &measured, runs.iter().map(|(_, seed)| *seed).max().unwrap_or(1))?;
    let place = Place::choose(args.out.as_deref(), &folder::name(&args.files[..1]), args.overwrite)?;
    let file = args.scenario.clone().unwrap_or_else(|| {
        let mut name = place.dir().as_os_str().to_os_string();
        name.push(".toml");
        name.into()
    });
    if file.exists() && !args.overwrite {
        let name = quell_files::name(&file);
        return Err(bad_input!(
            "{name} already exists; use --overwrite to replace it, or --scenario to name another file"
        ));
    }
    folder::check_writable(&file)?;
    let study = Study::parse(&text, &quell_files::name(&file), &Plugins::new())?;
    let results = results(args, &study, &text, &runs, line);
    folder::write_whole(&text, &file)?;
    let dir = place.dir().to_path_buf();
    let kept = keep(Some(place), &results, false, true);
    if let Some(failure) = kept.failure {
        return Err(failure);
    }
    let mut said = summary(&runs);
    let (dir, file) = (quell_files::name(&dir), quell_files::name(&file));
    let _ = write!(said, "results   {dir}\nscenario  {file}\n\nquell run {file} --out simulated\n");
    let _ = writeln!(said, "quell compare {dir} simulated{}", metrics(first));
    terminal::print(&said)?;
    results.run.notes.iter().for_each(|note| terminal::note(note));
    Ok(())
}

impl Shape {
    fn text(&self) -> String {
        format!(
            "{} of {} s with {} and {}, {} pings",
            cut(&self.name),
            self.length_s,
            plural(self.downloads, "download"),
            plural(self.uploads, "upload"),
            if self.pings { "with" } else { "without" }
        )
    }
}

/// Reads and reduces one file.
fn read(args: &Args, path: &std::path::Path) -> Result<Measured, Failure> {
    let file = DataFile::read(path)?;
    let said = quell_files::name(path);
    let wrong = |why: String| bad_input!("{said}: {why}");
    let algorithm = match &args.aqm {
        Some(name) => name.clone(),
        None => catalog_name(file.titled("qdisc").ok_or_else(|| {
            wrong(
                "metadata.TITLE has no \"qdisc:NAME\": name the algorithm with --aqm (`quell aqm list`)"
                    .into(),
            )
        })?),
    };
    if quell_aqm::catalog::find(&algorithm).is_none() {
        let known = quell_aqm::catalog::CATALOG.iter().map(|entry| entry.name);
        let unknown = unknown_name("algorithm", &algorithm, known);
        let why = unknown.message();
        let from = if args.aqm.is_some() { "--aqm" } else { "the word after \"qdisc:\" in its title" };
        return Err(wrong(format!("{why} ({from}); name the one that was measured with --aqm")));
    }
    let directions = LINKS.map(|(_, _, role)| file.series(role).collect::<Vec<_>>());
    for (name, _) in directions.iter().flatten() {
        if let Some(unit) = file.unit(name).filter(|unit| *unit != MEGABITS) {
            let (name, unit) = (cut(name), cut(unit));
            return Err(wrong(format!("SERIES_META.\"{name}\".UNITS = \"{unit}\": must be {MEGABITS}")));
        }
    }
    let pings = pings(&file);
    if directions.iter().all(Vec::is_empty) && pings.is_empty() {
        let names: Vec<String> = file.results.keys().take(8).map(|name| cut(name)).collect();
        return Err(wrong(format!(
            "has no series of a TCP download, a TCP upload or a ping with values; it has: {}",
            if names.is_empty() { "none".into() } else { names.join(", ") }
        )));
    }
    // Connections begin some seconds after the pings.
    let any = |i: &usize| directions.iter().flatten().any(|(_, values)| values[*i].is_some());
    let begin = (0..file.x_values.len()).find(any).map_or(file.x_values[0], |i| file.x_values[i]);
    let length = file.length_s().map_err(wrong)?;
    let warm = warmup_s(args, length);
    if warm >= length {
        return Err(bad_input!(
            "--warmup {}: must be shorter than the test, which is {length} s ({said})",
            duration(warm)
        ));
    }
    let times: Vec<usize> =
        (0..file.x_values.len()).filter(|i| (begin..=begin + length).contains(&file.x_values[*i])).collect();
    let window: Vec<usize> = times.iter().copied().filter(|i| file.x_values[*i] >= begin + warm).collect();
    let goodputs = directions.each_ref().map(|all| {
        let mean = |values: &[Option<f64>]| {
            let found: Vec<f64> = window.iter().filter_map(|i| values[*i]).collect();
            if found.is_empty() { 0.0 } else { found.iter().sum::<f64>() / found.len() as f64 * 1e6 }
        };
        all.iter().map(|(_, values)| mean(values)).collect::<Vec<f64>>()
    });
    let sums = directions.each_ref().map(|all| {
        let sum = |i: &usize| {
            let found: Vec<f64> = all.iter().filter_map(|(_, values)| values[*i]).collect();
            if found.is_empty() { f64::NAN } else { found.iter().sum::<f64>() * 1e6 }
        };
        times.iter().map(sum).collect::<Vec<f64>>()
    });
    let others = file.series(Role::Other).filter(|(name, _)| !name.contains("::tcp_"));
    let left_out = others.map(|(name, _)| cut(name)).collect();
    let least_ping_s = pings.iter().map(|(_, rtt)| *rtt).fold(f64::INFINITY, f64::min);
    let shape = Shape {
        name: file.name().map_err(wrong)?.to_string(),
        length_s: length,
        downloads: goodputs[0].len(),
        uploads: goodputs[1].len(),
        pings: !pings.is_empty(),
    };
    let within = begin + warm..=begin + length;
    let shifted = pings.into_iter().filter(|(t, _)| within.contains(t)).map(|(t, rtt)| (t - begin, rtt));
    let mut crc = Crc::new();
    crc.update(&serde_json::to_vec(&file).map_err(|e| Failure::cannot("hash the file", e))?);
    Ok(Measured {
        algorithm,
        pings: shifted.collect(),
        shape,
        goodputs,
        sums,
        times_s: times.iter().map(|i| file.x_values[*i] - begin).collect(),
        least_ping_s,
        left_out,
        digest: u64::from(crc.sum()) << 32 | u64::from(crc.amount()),
    })
}

/// The time from the start of the connections that is left out.
fn warmup_s(args: &Args, length_s: f64) -> f64 {
    args.warmup.map_or((length_s / 4.0).min(10.0), Duration::as_secs_f64)
}

/// The name in the catalog of a qdisc.
fn catalog_name(qdisc: &str) -> String {
    match qdisc {
        "pfifo" | "bfifo" | "pfifo_fast" => "drop-tail".into(),
        other => other.replace('_', "-"),
    }
}

/// The pings: times in seconds from the beginning of the test, and round-trip times in seconds. Those of ICMP, or without
/// any those of UDP.
fn pings(file: &DataFile) -> Vec<(f64, f64)> {
    let all: Vec<_> =
        file.series(Role::Ping).filter(|(_, values)| values.iter().any(Option::is_some)).collect();
    let icmp: Vec<_> = all.iter().filter(|(name, _)| name.contains("ICMP")).collect();
    let taken = if icmp.is_empty() { all.iter().collect() } else { icmp };
    let zero = file.raw_values.values().flatten().filter_map(|raw| raw.t).fold(f64::INFINITY, f64::min);
    let mut found = Vec::new();
    for (name, values) in taken {
        // Before version 4 the measurements of UDP are transactions per second.
        let is_time = file.version >= 4 || name.contains("ICMP");
        let raw = file.raw_values.get(*name).filter(|_| is_time).into_iter().flatten();
        let raw = raw.filter_map(|raw| Some((raw.t? - zero, raw.val? / 1000.0)));
        let before = found.len();
        found.extend(raw.filter(|(_, rtt)| *rtt > 0.0));
        if found.len() == before {
            let samples = file.x_values.iter().zip(*values);
            found.extend(
                samples.filter_map(|(t, ms)| Some((*t, (*ms)? / 1000.0))).filter(|(_, rtt)| *rtt > 0.0),
            );
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

/// The files with seeds that count the repetitions of each algorithm.
fn numbered(measured: &[Measured]) -> Vec<(&Measured, u64)> {
    let names = quell_lab::distinct(measured.iter().map(|m| &m.algorithm));
    let of = |name: &String| measured.iter().filter(|m| m.algorithm == *name).zip(1..).collect::<Vec<_>>();
    names.iter().flat_map(|name| of(name)).collect()
}

/// The scenario whose simulation is comparable.
fn scenario(args: &Args, measured: &[Measured], seeds: u64) -> Result<String, Failure> {
    let shape = &measured[0].shape;
    let least = measured.iter().map(|m| m.least_ping_s).fold(f64::INFINITY, f64::min);
    let rtt = match args.rtt {
        Some(rtt) => rtt.as_secs_f64(),
        None if least.is_finite() => least,
        None => {
            return Err(bad_input!("no file has a ping: give the round-trip time without queues with --rtt"));
        }
    };
    let text = |text: &str| Value::String(text.into());
    let seconds = |s: f64| {
        let us = (s * 1e6).round() as u64;
        let (in_unit, unit) = match us {
            us if us.is_multiple_of(1_000_000) => (us / 1_000_000, "s"),
            us if us.is_multiple_of(1_000) => (us / 1_000, "ms"),
            us => (us, "us"),
        };
        Value::String(format!("{in_unit} {unit}"))
    };
    let table = |keys: Vec<(&str, Value)>| {
        Value::Table(keys.into_iter().map(|(key, value)| (key.to_string(), value)).collect::<Table>())
    };
    let length = shape.length_s;
    let warm = warmup_s(args, length);
    let names = quell_lab::distinct(measured.iter().map(|m| &m.algorithm));
    let mut flows = Vec::new();
    let counts = [(shape.downloads, "down", "forward"), (shape.uploads, "up", "reverse")];
    for (count, name, direction) in counts.into_iter().filter(|(count, ..)| *count > 0) {
        flows.push(table(vec![
            ("name", text(name)),
            ("count", Value::Integer(count as i64)),
            ("direction", text(direction)),
        ]));
    }
    if shape.pings {
        flows.push(table(vec![
            ("name", text(PING)),
            ("kind", text("transfers")),
            ("request", text("84 B")),
            ("size", text("56 B")),
            ("think", text("200 ms")),
            ("connection", text("persistent")),
            ("tcp", table(vec![("packet", text("56 B"))])),
        ]));
    }
    let up = args.up.unwrap_or(args.rate);
    let way = |rate: BitRate| vec![("rate", text(&rate.to_string())), ("buffer", text(&args.buffer))];
    let back = table([way(up), vec![("aqm", text("same"))]].concat());
    let there = table([way(args.rate), vec![("delay", seconds(rtt / 2.0)), ("reverse", back)]].concat());
    let whole = table(vec![
        ("schema", Value::Integer(1)),
        ("dialect", text("linux")),
        ("title", text(&format!("{} as Flent measured it", cut(&shape.name)))),
        ("duration", seconds(length)),
        ("warmup", seconds(warm)),
        ("seeds", Value::Array((1..=seeds as i64).map(Value::Integer).collect())),
        ("dumbbell", there),
        ("aqm", Value::Array(names.iter().map(|name| table(vec![("algorithm", text(name))])).collect())),
        ("flows", Value::Array(flows)),
    ]);
    let body = toml::to_string(&whole).map_err(|e| Failure::cannot("write the scenario", e))?;
    Ok(format!(
        "# By quell import flent: the test that was measured, for quell run. The rates{} and the buffers come from the command.\n\
         # Hosts are those of the dialect; if yours differ, say so under [flows.tcp], such as congestion = \"bbr3\".\n{body}",
        if args.rtt.is_some() { ", the round-trip time" } else { "" }
    ))
}

fn results(
    args: &Args,
    study: &Study,
    text: &str,
    runs: &[(&Measured, u64)],
    command: Vec<String>,
) -> Results {
    let points: Vec<PointInfo> = study.points.iter().map(PointInfo::of).collect();
    let links = points[0].links.clone();
    let replication = |(m, seed): &(&Measured, u64)| Replication {
        algorithm: m.algorithm.clone(),
        seed: *seed,
        digest: m.digest,
        metrics: rows(m, &links, args),
        series: series(m, &links),
        transfers: m.pings.iter().map(|(start_s, rtt)| ping(m, *start_s, *rtt)).collect(),
        ..Replication::default()
    };
    let mut notes = vec![
        "measured by Flent: goodput is what its TCP tests reported, and completion[ping] is the round-trip time of a ping; \
         what Flent does not measure, such as drops and the queue, is absent or zero"
            .to_string(),
    ];
    let left_out = quell_lab::distinct(runs.iter().flat_map(|(m, _)| &m.left_out));
    if !left_out.is_empty() {
        let named: Vec<&str> = left_out.iter().take(5).map(|name| name.as_str()).collect();
        let more = if left_out.len() > named.len() { ", ..." } else { "" };
        notes.push(format!("{} series left out: {}{more}", left_out.len(), named.join(", ")));
    }
    let run = RunInfo {
        schema: 1,
        version: env!("CARGO_PKG_VERSION").into(),
        commit: quell_lab::commit().into(),
        title: study.title().into(),
        started: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
        command,
        scenario_file: study.name().into(),
        scenario_text: Some(text.into()),
        live: true,
        points,
        notes,
        partial: false,
        ..RunInfo::default()
    };
    let mut replications: Vec<Replication> = runs.iter().map(replication).collect();
    replications.sort_by_key(|r| run.points[0].algorithms.iter().position(|a| *a == r.algorithm));
    // Of one algorithm there may be more files than of another.
    let partial = run.points[0].algorithms.len() * run.points[0].seeds.len() > replications.len();
    Results::of(RunInfo { partial, ..run }, replications)
}

/// A ping as the transfer that it is in the scenario.
fn ping(m: &Measured, start_s: f64, rtt_s: f64) -> TransferRow {
    TransferRow {
        flow: (m.shape.downloads + m.shape.uploads) as u32,
        class: PING.into(),
        start_s,
        flow_completion_time_s: rtt_s,
        size_packets: 1,
        size_bytes: None,
        slowdown: None,
        flow_acknowledgment_time_s: None,
    }
}

/// The metrics of each link and class.
fn rows(m: &Measured, links: &[String], args: &Args) -> Vec<MetricRow> {
    let length = m.shape.length_s;
    let from_s = warmup_s(args, length);
    let mut rows = Vec::new();
    for ((link, class, _), goodputs) in LINKS.iter().zip(&m.goodputs) {
        if !links.iter().any(|l| l == link) {
            continue;
        }
        let mut flows = Values::default();
        if !goodputs.is_empty() {
            flows.set(Metric::Goodput, goodputs.iter().sum::<f64>());
            flows.set(Metric::Jain, jain_index(goodputs).filter(|_| goodputs.len() > 1));
        }
        let mut probes = Values::default();
        if *link == LINKS[0].0 {
            of_pings(m, &mut probes);
        }
        let mut all = flows.clone();
        probes.iter().for_each(|(metric, value)| all.set(metric, value));
        for (scope, values) in [("all", &all), ("data", &all), (*class, &flows), (PING, &probes)] {
            if values.iter().next().is_some() {
                let (link, scope, values) = (link.to_string(), scope.to_string(), values.clone());
                rows.push(MetricRow { link, segment: None, scope, from_s, to_s: length, values });
            }
        }
    }
    rows
}

fn of_pings(m: &Measured, values: &mut Values) {
    let mut rtts: Vec<f64> = m.pings.iter().map(|(_, rtt)| *rtt).collect();
    rtts.sort_by(f64::total_cmp);
    if rtts.is_empty() {
        return;
    }
    let n = rtts.len() as f64;
    let mean = rtts.iter().sum::<f64>() / n;
    values.set(Metric::FctMean, mean);
    values.set(Metric::FctStd, (rtts.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt());
    for (metric, q) in [(Metric::FctP50, 0.5), (Metric::FctP95, 0.95), (Metric::FctP99, 0.99)] {
        values.set(metric, quantile(&rtts, q));
    }
    values.set(Metric::Transfers, n);
}

/// The goodput of each direction over time, where simulated results have throughput.
fn series(m: &Measured, links: &[String]) -> Vec<LinkSeries> {
    let n = m.times_s.len();
    let of = LINKS.iter().zip(&m.sums).filter(|((link, ..), sum)| {
        links.iter().any(|l| l == link) && sum.iter().any(|value| value.is_finite())
    });
    of.map(|((link, class, _), sum)| LinkSeries {
        link: link.to_string(),
        time_s: m.times_s.clone(),
        queue_packets: vec![f64::NAN; n],
        queue_bytes: vec![f64::NAN; n],
        queue_mean_packets: vec![f64::NAN; n],
        queue_delay_mean_s: vec![f64::NAN; n],
        dropped_packets: vec![0; n],
        marked_packets: vec![0; n],
        throughput_bps: vec![(class.to_string(), sum.clone())],
        ..LinkSeries::default()
    })
    .collect()
}

/// A line for each file.
fn summary(runs: &[(&Measured, u64)]) -> String {
    let mut text = String::new();
    for (m, seed) in runs {
        let _ = write!(text, "{} seed {seed}:", m.algorithm);
        for ((_, class, _), goodputs) in LINKS.iter().zip(&m.goodputs).filter(|(_, all)| !all.is_empty()) {
            let mbit = goodputs.iter().sum::<f64>() / 1e6;
            let _ =
                write!(text, " {class} {} Mbit/s ({})", three_digits(mbit), plural(goodputs.len(), "flow"));
        }
        let mut values = Values::default();
        of_pings(m, &mut values);
        if let (Some(mean), Some(p95)) = (values.get(Metric::FctMean), values.get(Metric::FctP95)) {
            let _ = write!(text, " ping {} (P95 {})", duration(mean), duration(p95));
        }
        text.push('\n');
    }
    text
}

/// The options of a comparison for what was measured.
fn metrics(m: &Measured) -> String {
    let mut text = String::new();
    if m.shape.downloads > 0 {
        text.push_str(" --metric \"goodput_bps[down]\"");
    }
    if m.shape.pings {
        // A lost ping that TCP sends again moves the tail, but not the median.
        text.push_str(
            " --metric \"flow_completion_time_p50_s[ping]\" --metric \"flow_completion_time_p95_s[ping]\"",
        );
    }
    if m.shape.uploads > 0 {
        text.push_str(" --metric goodput_bps --link all");
    }
    text
}
