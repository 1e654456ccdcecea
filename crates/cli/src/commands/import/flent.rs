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
use quell_view::report::quoted;
use toml::{Table, Value};

use crate::failure::{Failure, unknown_name};
use crate::flent::{DataFile, MEGABITS, Raw, Role, kind};
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
/// The shortest time between two pings in a scenario, below which they would load the link.
const LEAST_STEP_S: f64 = 0.01;

/// The shape of a test: repetitions of one have the same.
#[derive(Clone, Debug, PartialEq)]
struct Shape {
    name: String,
    length_s: f64,
    downloads: usize,
    uploads: usize,
    /// The DSCPs of the connections of each direction, sorted.
    dscps: [Vec<u8>; 2],
    pings: bool,
}

/// One file, reduced.
struct Measured {
    algorithm: String,
    /// What the results call the algorithm: its name, unless the file comes from a simulation that called it otherwise.
    label: String,
    shape: Shape,
    /// The time from one ping to the next, in seconds.
    step_s: f64,
    /// The goodputs of the connections of each direction: what arrived within the window over its length, in bits per
    /// second.
    goodputs: [Vec<f64>; 2],
    /// The sums of each direction over time, in bits per second.
    sums: [Vec<f64>; 2],
    times_s: Vec<f64>,
    /// The pings within the window: their times and round-trip times, in seconds.
    pings: Vec<(f64, f64)>,
    least_ping_s: f64,
    left_out: Vec<String>,
    /// What a reader must know about the measurement.
    notes: Vec<String>,
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
    refuse_the_same(args, &measured)?;
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
    let _ =
        write!(said, "results   {dir}\nscenario  {file}\n\nquell run {} --out simulated\n", quoted(&file));
    let _ = writeln!(said, "quell compare {} simulated{}", quoted(&dir), metrics(first));
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
    let algorithm = match (&args.aqm, file.text("QUELL_ALGORITHM")) {
        (Some(name), _) => name.clone(),
        (None, Some(name)) => name.to_string(),
        (None, None) => catalog_name(file.titled("qdisc").ok_or_else(|| {
            wrong(
                "metadata.TITLE has no \"qdisc:NAME\": name the algorithm with --aqm (`quell aqm list`)"
                    .into(),
            )
        })?),
    };
    let label = file.text("QUELL_LABEL").filter(|_| args.aqm.is_none()).unwrap_or(&algorithm).to_string();
    if quell_aqm::catalog::find(&algorithm).is_none() {
        let known = quell_aqm::catalog::CATALOG.iter().map(|entry| entry.name);
        let unknown = unknown_name("algorithm", &algorithm, known);
        let why = unknown.message();
        let from = match (&args.aqm, file.text("QUELL_ALGORITHM")) {
            (Some(_), _) => "--aqm",
            (None, Some(_)) => "metadata.QUELL_ALGORITHM",
            (None, None) => "the word after \"qdisc:\" in its title",
        };
        return Err(wrong(format!("{why} ({from}); name the one that was measured with --aqm")));
    }
    if label.chars().any(char::is_control) {
        return Err(wrong(format!(
            "metadata.QUELL_LABEL = \"{}\": must be a single line without control characters; name the algorithm with --aqm",
            cut(&label)
        )));
    }
    let directions = LINKS.map(|(_, _, role)| file.series(role).collect::<Vec<_>>());
    for (name, _) in directions.iter().flatten() {
        if let Some(unit) = file.unit(name).filter(|unit| *unit != MEGABITS) {
            let (name, unit) = (cut(name), cut(unit));
            return Err(wrong(format!("SERIES_META.\"{name}\".UNITS = \"{unit}\": must be {MEGABITS}")));
        }
    }
    let pings = pings(&file).map_err(wrong)?;
    if directions.iter().all(Vec::is_empty) && pings.is_empty() {
        let names: Vec<String> = file.results.keys().take(8).map(|name| cut(name)).collect();
        return Err(wrong(format!(
            "has no series of a TCP download, a TCP upload or a ping with values; it has: {}",
            if names.is_empty() { "none".into() } else { names.join(", ") }
        )));
    }
    // Connections begin some seconds after the pings.
    let any = |i: &usize| directions.iter().flatten().any(|(_, values)| values[*i].is_some());
    let sampled = (0..file.x_values.len()).find(any).map_or(file.x_values[0], |i| file.x_values[i]);
    let begin = begin(&file, directions.iter().flatten().map(|(name, _)| *name), sampled);
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
    let within = Window { zero_s: file.zero_s(), from: begin + warm, to: begin + length, steps: &window };
    let shares = directions.each_ref().map(|all| {
        all.iter().map(|(name, values)| within.share(&file, name, values)).collect::<Vec<Share>>()
    });
    let goodputs = shares.each_ref().map(|all| all.iter().map(|s| s.mbits * 1e6).collect::<Vec<f64>>());
    refuse_more_than_the_link(args, &goodputs).map_err(wrong)?;
    let sums = directions.each_ref().map(|all| {
        let sum = |i: &usize| {
            let found: Vec<f64> = all.iter().filter_map(|(_, values)| values[*i]).collect();
            if found.is_empty() { f64::NAN } else { found.iter().sum::<f64>() * 1e6 }
        };
        times.iter().map(sum).collect::<Vec<f64>>()
    });
    let others = file.series(Role::Other).filter(|(name, _)| !name.contains("::tcp_"));
    let left_out = others.map(|(name, _)| name.to_string()).collect();
    let least_ping_s = pings.iter().map(|(_, rtt)| *rtt).fold(f64::INFINITY, f64::min);
    let all = pings.len();
    let pings: Vec<(f64, f64)> = pings
        .into_iter()
        .filter(|(t, _)| (within.from..=within.to).contains(t))
        .map(|(t, rtt)| (t - begin, rtt))
        .collect();
    let mut notes = notes(args, &file, &shares, least_ping_s);
    if all > 0 && pings.is_empty() {
        notes.push(format!(
            "none of its {} is from {} to {} s: the times in raw_values and metadata.T0 disagree, or they ended early; \
             there is no ping in the scenario",
            plural(all, "ping"),
            within.from,
            within.to
        ));
    }
    if label != algorithm {
        notes.push(format!(
            "\"{}\" has the default parameters of {algorithm} in the scenario, because the file does not say which it had",
            cut(&label)
        ));
    }
    let shape = Shape {
        name: file.name().map_err(wrong)?.to_string(),
        length_s: length,
        downloads: goodputs[0].len(),
        uploads: goodputs[1].len(),
        dscps: [0, 1].map(|i| {
            let of = |name: &str| file.dscp(name, LINKS[i].2).unwrap_or_else(|| dscp(name));
            let mut dscps: Vec<u8> = directions[i].iter().map(|(name, _)| of(name)).collect();
            dscps.sort_unstable();
            dscps
        }),
        pings: !pings.is_empty(),
    };
    let mut crc = Crc::new();
    crc.update(&serde_json::to_vec(&file).map_err(|e| Failure::cannot("hash the file", e))?);
    Ok(Measured {
        algorithm,
        label,
        pings,
        shape,
        step_s: file.step_s(),
        goodputs,
        sums,
        times_s: times.iter().map(|i| file.x_values[*i] - begin).collect(),
        least_ping_s,
        left_out,
        notes,
        digest: u64::from(crc.sum()) << 32 | u64::from(crc.amount()),
    })
}

/// The time at which the first connection began: the beginning of what its first report covers, which is before its first
/// sample.
fn begin<'a>(file: &DataFile, connections: impl Iterator<Item = &'a str>, sampled: f64) -> f64 {
    // A damaged time is farther away.
    const MOST_S: f64 = 30.0;
    let zero = file.zero_s().unwrap_or(0.0);
    let reports = connections.filter_map(|name| file.raw_values.get(name)).flatten();
    let begun = reports.filter_map(Raw::interval).map(|(from, ..)| from - zero);
    begun.filter(|from| (sampled - MOST_S..sampled).contains(from)).fold(sampled, f64::min)
}

/// The part of a test that is evaluated, in seconds of its x_values.
struct Window<'a> {
    /// The beginning of the x_values in seconds since 1970.
    zero_s: Option<f64>,
    from: f64,
    to: f64,
    /// The indices of the x_values within it.
    steps: &'a [usize],
}

/// What a connection did in the window.
struct Share {
    /// What arrived, over the length of the window.
    mbits: f64,
    /// The part of the window for which it says something, from 0 to 1.
    covered: f64,
}

impl Window<'_> {
    /// What a connection did: by the reports of its program, each of which is a mean over an interval, or without them by
    /// the samples that Flent interpolated.
    fn share(&self, file: &DataFile, name: &str, values: &[Option<f64>]) -> Share {
        let zero = self.zero_s.unwrap_or(0.0);
        let reports = file.raw_values.get(name).into_iter().flatten().filter_map(Raw::interval);
        let reports: Vec<(f64, f64, f64)> = reports.map(|(a, b, mean)| (a - zero, b - zero, mean)).collect();
        let length = self.to - self.from;
        if !reports.is_empty() {
            let (mut megabits, mut time) = (0.0, 0.0);
            for (a, b, mean) in reports {
                let common = (b.min(self.to) - a.max(self.from)).max(0.0);
                megabits += mean * common;
                time += common;
            }
            return Share { mbits: megabits / length, covered: time / length };
        }
        // Samples are missing between two reports that are far apart, and before and after the connection.
        let found: Vec<f64> = self.steps.iter().filter_map(|i| values[*i]).collect();
        let (Some(first), Some(last)) =
            (values.iter().position(Option::is_some), values.iter().rposition(Option::is_some))
        else {
            return Share { mbits: 0.0, covered: 0.0 };
        };
        if found.is_empty() {
            return Share { mbits: 0.0, covered: 0.0 };
        }
        let active = self.steps.iter().filter(|i| (first..=last).contains(*i)).count();
        let covered = active as f64 / self.steps.len() as f64;
        Share { mbits: found.iter().sum::<f64>() / found.len() as f64 * covered, covered }
    }
}

/// A link carries at most its rate: what is above means another link.
fn refuse_more_than_the_link(args: &Args, goodputs: &[Vec<f64>; 2]) -> Result<(), String> {
    // A rate is often given without the bytes that a shaper does not count.
    const MOST: f64 = 1.02;
    let up = args.up.unwrap_or(args.rate);
    let asked = if args.up.is_some() { "--up" } else { "--rate" };
    for (what, option, rate, all) in
        [("downloads", "--rate", args.rate, &goodputs[0]), ("uploads", asked, up, &goodputs[1])]
    {
        let got = all.iter().sum::<f64>();
        if got > MOST * rate.bps() as f64 {
            return Err(format!(
                "its {what} got {} Mbit/s together, and {option} is {rate}: must be at least that; give the capacity of the \
                 link that was measured with {}",
                three_digits(got / 1e6),
                if what == "uploads" { "--up" } else { "--rate" }
            ));
        }
    }
    Ok(())
}

/// The same file twice is not a repetition.
fn refuse_the_same(args: &Args, measured: &[Measured]) -> Result<(), Failure> {
    for (i, one) in measured.iter().enumerate() {
        if let Some(j) = measured[..i].iter().position(|other| other.digest == one.digest) {
            return Err(bad_input!(
                "{} and {} are the same measurement: must be repetitions; name it once",
                quell_files::name(&args.files[j]),
                quell_files::name(&args.files[i])
            ));
        }
    }
    Ok(())
}

/// What a reader must know about a measurement before comparing it with a simulation.
fn notes(args: &Args, file: &DataFile, shares: &[Vec<Share>; 2], least_ping_s: f64) -> Vec<String> {
    let mut notes = Vec::new();
    for (all, one) in shares.iter().zip(["download", "upload"]) {
        let silent = all.iter().filter(|share| share.covered == 0.0).count();
        let n = plural(all.len(), one);
        if silent > 0 {
            notes.push(format!("{silent} of {n} report nothing after the warm-up, and count as 0"));
        }
        // A report may be missing at the end.
        const WHOLE: f64 = 0.95;
        let part = all.iter().filter(|share| share.covered > 0.0 && share.covered < WHOLE).count();
        if part > 0 {
            let mean = all.iter().map(|share| share.covered).sum::<f64>() / all.len() as f64;
            notes.push(format!(
                "{part} of {n} reported for a part of the time after the warm-up only ({:.0}% of it in the mean over \
                 all): the rest counts as 0. They did not send then, or got so little that Flent left out the report; in \
                 the scenario they send all the time",
                mean * 100.0
            ));
        }
    }
    if let Some(failed) =
        file.metadata.get("FAILED_RUNNERS").and_then(serde_json::Value::as_u64).filter(|n| *n > 0)
    {
        notes.push(format!("{} of the test failed (FAILED_RUNNERS)", plural(failed as usize, "program")));
    }
    let of_tcp = || file.series(Role::Download).chain(file.series(Role::Upload)).map(|(name, _)| name);
    let said = of_tcp().filter_map(|name| file.about(name, "CONG_CONTROL")).chain(file.titled("cc"));
    let controls = quell_lab::distinct(said.map(word).filter(|name| name != "cubic" && !name.is_empty()));
    if !controls.is_empty() {
        notes.push(format!(
            "its congestion control is {}, and in the scenario it is CUBIC: change congestion under [flows.tcp]",
            controls.join(", ")
        ));
    }
    if file.titled("ecn").is_some_and(|ecn| !["noecn", "off", "no", "0"].contains(&ecn)) {
        notes.push(
            "its title says ECN, which the scenario does not use: write ecn = true under [flows.tcp]".into(),
        );
    }
    let given = [args.rate, args.up.unwrap_or(args.rate)];
    let titled = file.titled("rate").or_else(|| file.titled("bandwidth")).and_then(rates);
    let alike = |a: BitRate, b: BitRate| (a.bps() as f64 / b.bps() as f64 - 1.0).abs() < 0.01;
    // Batches write either direction first.
    let agrees = |[a, b]: [BitRate; 2]| {
        (alike(a, given[0]) && alike(b, given[1])) || (alike(a, given[1]) && alike(b, given[0]))
    };
    if let Some([a, b]) = titled.filter(|titled| !agrees(*titled)) {
        notes.push(format!("its title says {a} and {b}, and the options {} and {}", given[0], given[1]));
    }
    let rtt = args.rtt.map_or(least_ping_s, Duration::as_secs_f64);
    let titled = file.titled("rtt").and_then(|rtt| rtt.parse::<Duration>().ok()).map(Duration::as_secs_f64);
    if let Some(titled) = titled.filter(|titled| rtt.is_finite() && !(0.8..=1.25).contains(&(titled / rtt))) {
        notes.push(format!(
            "its title says a round-trip time of {}, and the scenario has {}",
            duration(titled),
            duration(rtt)
        ));
    }
    notes
}

/// The DSCP that the name of a series of TCP says, as in "TCP upload CS5" and "TCP upload CS1_BK"; 0 for best effort. RFC
/// 2474, 2597, 3246, 8622 have the values; Flent calls CS1 BK.
fn dscp(name: &str) -> u8 {
    let of = |word: &str| {
        let digits = |class: &str| word.strip_prefix(class)?.parse::<u8>().ok();
        match word {
            "BK" => Some(8),
            "EF" => Some(46),
            "LE" => Some(1),
            _ => {
                let selector = digits("CS").filter(|n| *n <= 7).map(|n| 8 * n);
                let assured =
                    digits("AF").filter(|n| (1..=4).contains(&(n / 10)) && (1..=3).contains(&(n % 10)));
                selector.or(assured.map(|n| 8 * (n / 10) + 2 * (n % 10)))
            }
        }
    };
    // Of rrul46compete, which sends by IPv6 what it calls 6BK.
    let of = |word: &str| of(word.strip_prefix('6').unwrap_or(word));
    name.split([' ', ':', '_']).skip(2).find_map(of).unwrap_or(0)
}

/// A word of a file as it may stand in results: without what no name of an algorithm has.
fn word(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).take(24).collect()
}

/// The rates of "10Mbit/1Mbit", or of "10Mbit" in both directions.
fn rates(text: &str) -> Option<[BitRate; 2]> {
    let one = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let unit = text[end..].to_ascii_lowercase();
        let scale = [("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9)];
        let (_, scale) = scale.into_iter().find(|(name, _)| unit.trim_end_matches("ps") == *name)?;
        let bps = text[..end].parse::<f64>().ok()? * scale;
        (bps >= 1.0).then(|| BitRate::from_bps(bps.round() as u64))
    };
    let mut parts = text.split('/');
    let first = one(parts.next()?)?;
    let second = parts.next().map_or(Some(first), one)?;
    Some([first, second])
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
///
/// # Errors
/// If they go to hosts at different distances.
fn pings(file: &DataFile) -> Result<Vec<(f64, f64)>, String> {
    let all: Vec<_> =
        file.series(Role::Ping).filter(|(_, values)| values.iter().any(Option::is_some)).collect();
    let icmp: Vec<_> = all.iter().filter(|(name, _)| name.contains("ICMP")).collect();
    let is_icmp = !icmp.is_empty();
    let taken = if is_icmp { icmp } else { all.iter().collect() };
    let zero = file.zero_s();
    let mut found: Vec<Vec<(f64, f64)>> = Vec::new();
    for (name, values) in taken {
        // Before version 4 the measurements of UDP are transactions per second.
        let is_time = file.version >= 4 || name.contains("ICMP");
        let raw = file.raw_values.get(*name).filter(|_| is_time).into_iter().flatten();
        let raw = raw.filter_map(|raw| Some((raw.t? - zero?, raw.val? / 1000.0)));
        let mut one: Vec<(f64, f64)> = raw.filter(|(_, rtt)| *rtt > 0.0).collect();
        if one.is_empty() {
            let samples = file.x_values.iter().zip(*values);
            let samples = samples.filter_map(|(t, ms)| Some((*t, (*ms)? / 1000.0)));
            one.extend(samples.filter(|(_, rtt)| *rtt > 0.0));
        }
        found.push(one);
    }
    let least = |one: &Vec<(f64, f64)>| one.iter().map(|(_, rtt)| *rtt).reduce(f64::min);
    let (shortest, longest) = found
        .iter()
        .filter_map(least)
        .fold((f64::INFINITY, 0.0), |(a, b), x| (f64::min(a, x), f64::max(b, x)));
    // Noise in a laboratory is some tenths of a millisecond.
    if is_icmp && longest > 2.0 * shortest && longest > shortest + 1e-3 {
        return Err(format!(
            "its pings go to hosts {} to {} away: the scenario has one round-trip time, so a test of RTT fairness cannot be \
             imported; write a scenario with a group of flows for each host, and give each its rtt",
            duration(shortest),
            duration(longest)
        ));
    }
    let mut found = found.concat();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(found)
}

/// The files with seeds that count the repetitions of each algorithm.
fn numbered(measured: &[Measured]) -> Vec<(&Measured, u64)> {
    let called = |m: &Measured| (m.label.clone(), m.algorithm.clone());
    let names = quell_lab::distinct(measured.iter().map(called));
    let of =
        |name: &(String, String)| measured.iter().filter(|m| called(m) == *name).zip(1..).collect::<Vec<_>>();
    names.iter().flat_map(of).collect()
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
    let called = |m: &Measured| {
        let mut keys = vec![("algorithm", text(&m.algorithm))];
        if m.label != m.algorithm {
            keys.push(("label", text(&m.label)));
        }
        table(keys)
    };
    let algorithms = numbered(measured).into_iter().filter(|(_, seed)| *seed == 1).map(|(m, _)| called(m));
    let mut flows = Vec::new();
    for (dscps, (class, direction)) in shape.dscps.iter().zip([("down", "forward"), ("up", "reverse")]) {
        for dscp in quell_lab::distinct(dscps) {
            let count = dscps.iter().filter(|other| *other == dscp).count();
            let mut keys = vec![("count", Value::Integer(count as i64)), ("direction", text(direction))];
            match *dscp {
                0 => keys.push(("name", text(class))),
                dscp => keys.extend([
                    ("name", text(&format!("{class}-dscp-{dscp}"))),
                    ("class", text(class)),
                    ("dscp", Value::Integer(dscp.into())),
                ]),
            }
            flows.push(table(keys));
        }
    }
    if shape.pings {
        flows.push(table(vec![
            ("name", text(PING)),
            ("kind", text("transfers")),
            ("request", text("84 B")),
            ("size", text("56 B")),
            ("think", seconds(measured[0].step_s.max(LEAST_STEP_S))),
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
        ("aqm", Value::Array(algorithms.collect())),
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
        algorithm: m.label.clone(),
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
        let kinds = quell_lab::distinct(left_out.iter().map(|name| kind(name)));
        notes.push(format!("{} series left out: {}", left_out.len(), kinds.join(", ")));
    }
    for note in quell_lab::distinct(runs.iter().flat_map(|(m, _)| &m.notes)) {
        let of: Vec<_> = runs.iter().filter(|(m, _)| m.notes.contains(note)).collect();
        let named: Vec<_> =
            of.iter().take(3).map(|(m, seed)| format!("{} seed {seed}", cut(&m.label))).collect();
        let more = if of.len() > named.len() { ", ..." } else { "" };
        match of.len() == runs.len() {
            true => notes.push(note.clone()),
            false => notes.push(format!("{}{more}: {note}", named.join(", "))),
        }
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
        let _ = write!(text, "{} seed {seed}:", cut(&m.label));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_dscp() {
        let names = [
            ("TCP upload BE", 0),
            ("TCP upload::7", 0),
            ("TCP download BK", 8),
            ("TCP download Cubic CS1", 8),
            ("TCP upload CS0_BE", 0),
            ("TCP upload CS1_BK", 8),
            ("TCP upload 6BE", 0),
            ("TCP upload 6BK", 8),
            ("TCP upload CS5", 40),
            ("TCP upload::AF42", 36),
            ("TCP upload AF99", 0),
            ("TCP download EF", 46),
        ];
        for (name, expected) in names {
            assert_eq!(dscp(name), expected, "{name}");
        }
    }

    #[test]
    fn titles_tell_rates() {
        let mbit = |n: u64| BitRate::from_bps(n * 1_000_000);
        assert_eq!(rates("10Mbit/1Mbit"), Some([mbit(10), mbit(1)]));
        assert_eq!(rates("100mbit"), Some([mbit(100), mbit(100)]));
        assert_eq!(rates("2.5Gbit/512kbit"), Some([mbit(2500), BitRate::from_bps(512_000)]));
        for text in ["", "fast", "10", "10Mbit/", "0Mbit", "10Mbit/x"] {
            assert_eq!(rates(text), None, "{text}");
        }
    }
}
