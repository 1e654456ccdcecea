//! The commands and their arguments.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::styling::{AnsiColor, Styles};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use quell_capture::Subnet;
use quell_lab::{Aim, Axis, Quantity};
use quell_scenario::{suggest, unknown};
use quell_theory::Congestion;
use quell_units::text::cut;
use quell_units::{BitRate, Bytes, Duration, QueueSize};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Cyan.on_default().bold())
    .usage(AnsiColor::Cyan.on_default().bold())
    .literal(AnsiColor::Green.on_default());

/// An active-queue-management laboratory: from a scenario to a comparison you can believe.
#[derive(Debug, Parser)]
#[command(name = "quell", version, styles = STYLES, arg_required_else_help = true, after_help = "\
Examples:
  quell run scenarios/main.toml
  quell compare scenarios/main.toml --baseline red
  quell plot results/main --diagram delay-cdf
  quell analyze scenarios/main.toml --check
  quell design --rate 10Mbit/s --rtt 100ms --flows 100 --aqm pi
  quell aqm describe pi
  quell tcp describe cubic
  quell scenario check my.toml
  quell measure trace.pcap
  quell conformance run -- ./my-aqm

Exit codes: 0 success, 1 failure, 2 invalid scenario or argument, 130 interrupted (143 terminated).")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario: every algorithm with every seed.
    Run(RunArgs),
    /// Compare algorithms with a baseline, paired over common seeds.
    Compare(CompareArgs),
    /// Where on an axis of a scenario a metric crosses a value.
    Search(SearchArgs),
    /// Print the tables of a results folder again.
    Show(ShowArgs),
    /// Make the HTML report of a results folder again.
    Report(ReportArgs),
    /// Draw a figure of a results folder: in the terminal, as SVG, as CSV.
    Plot(PlotArgs),
    /// Run the experiments of published documents and judge their printed numbers and claims.
    Reproduce(ReproduceArgs),
    /// Put algorithms through the scenarios of RFC 7928, beside drop-tail and a baseline.
    Characterize(CharacterizeArgs),
    /// The replications that were kept: show, check, prune and export them.
    Cache(CacheArgs),
    /// The replications of a study as tasks, for a scheduler to spread over processes and machines.
    Tasks(TasksArgs),
    /// Make replications of a study and put them into the cache, where `quell run` finds them.
    Worker(WorkerArgs),
    /// What control theory says about a scenario: its equilibrium, whether that is stable, and by what
    /// margin.
    Analyze(AnalyzeArgs),
    /// Parameters for a link by the published rule, with the assumptions of that rule.
    Design(DesignArgs),
    /// Where an algorithm is stable, over two of its parameters or of the network's quantities.
    Map(MapArgs),
    /// A bottleneck on this machine for real packets: a command behind it, or a scenario's traffic across it.
    #[cfg(target_os = "linux")]
    #[command(after_help = WIRE_HELP)]
    Wire(WireArgs),
    /// The algorithms on a router's packets, and the logs of that: run, check, replay.
    #[cfg(target_os = "linux")]
    #[command(subcommand)]
    Gateway(quell_gateway::commands::Command),
    /// Estimate R, N and C (round-trip time, flows, capacity) from a packet capture.
    Measure(MeasureArgs),
    /// The algorithms: list them, describe one.
    #[command(subcommand)]
    Aqm(AqmCommand),
    /// The senders, by their parts (congestion control, loss recovery, slow start and others): list them, describe
    /// one.
    #[command(subcommand)]
    Tcp(TcpCommand),
    /// Scenario files: check, show resolved, list the dialects, print their JSON Schema.
    #[command(subcommand)]
    Scenario(ScenarioCommand),
    /// Implementations in any language, held against what the algorithms decide, event by event.
    #[command(subcommand)]
    Conformance(ConformanceCommand),
}

/// What `conformance` does.
#[derive(Debug, Subcommand)]
pub enum ConformanceCommand {
    /// List the vectors: what they configure, and what they decide.
    List(FormatArgs),
    /// Print vectors, as lines of JSON.
    Show {
        /// Vectors ("codel/drops") or algorithms ("codel").
        #[arg(value_name = "VECTOR", required = true)]
        vectors: Vec<String>,
    },
    /// Write vectors into a folder, a file for each algorithm.
    Write {
        /// The folder.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Vectors or algorithms; left out: all.
        #[arg(value_name = "VECTOR")]
        vectors: Vec<String>,
    },
    /// Speak vectors to an implementation over its standard input and output, and say where it first differs.
    Run(ConformanceRunArgs),
    /// Run implementations that are wrong as others were: the vectors must find each.
    Museum(MuseumArgs),
    /// The reference as an implementation: answers one vector on its standard input.
    Answer,
    /// Print the JSON Schema of vectors.
    Schema,
}

/// Arguments of `conformance run`.
#[derive(Debug, Args)]
#[command(after_help = "\
One process is started for each vector. How it is spoken to is described in docs/conformance.md; adaptors in C, Go and
Python are in conformance/adaptors.

Examples:
  quell conformance run -- ./my-aqm
  quell conformance run --vector codel --vector pie/marks -- python3 my_aqm.py
  quell conformance run --file mine.jsonl --timeout 2s -- ./my-aqm

Exit codes: 0 every vector that it takes passes, 1 one differs, 2 a broken vector or argument.")]
pub struct ConformanceRunArgs {
    /// A vector ("codel/drops") or an algorithm ("codel"); left out: all.
    #[arg(long = "vector", value_name = "VECTOR")]
    pub vectors: Vec<String>,
    /// A file of vectors, instead of those of the catalog.
    #[arg(long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How long an answer may take.
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub timeout: std::time::Duration,
    #[command(flatten)]
    pub format: FormatArgs,
    /// The implementation and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Arguments of `conformance museum`.
#[derive(Debug, Args)]
pub struct MuseumArgs {
    /// Exhibits; left out: all.
    #[arg(value_name = "EXHIBIT")]
    pub exhibits: Vec<String>,
    /// The Python that runs them (3.8 or later).
    #[arg(long, default_value = "python3", value_name = "PROGRAM")]
    pub python: String,
    #[command(flatten)]
    pub format: FormatArgs,
}

#[cfg(target_os = "linux")]
const WIRE_HELP: &str = "\
Two hosts in network namespaces, with the algorithm between them; no root is \
needed where the kernel allows user namespaces. COMMAND runs on the near host; \
$QUELL_FAR is the address of the far one.

  quell wire --rate 10Mbit/s --rtt 50ms --aqm codel -- ping -c 3 10.65.0.1
  quell wire --rate 20Mbit/s --rtt 40ms --aqm red --ecn --far 'iperf3 -s' -- sh -c 'iperf3 -c $QUELL_FAR'
  quell wire scenarios/dumbbell.toml --out live";

/// A wire.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug, Args)]
pub struct WireArgs {
    /// Scenario file: its algorithms and its traffic, live; results as `quell run` keeps them.
    #[arg(value_name = "SCENARIO")]
    pub scenario: Option<PathBuf>,
    /// Rate of the link, both ways.
    #[arg(long, value_name = "RATE", conflicts_with = "scenario")]
    pub rate: Option<BitRate>,
    /// Round-trip time without queueing; default: none is added.
    #[arg(long, value_name = "TIME", conflicts_with = "scenario")]
    pub rtt: Option<Duration>,
    /// Buffer of each direction; default: a bandwidth-delay product, at least 20 packets.
    #[arg(long, value_name = "SIZE", conflicts_with = "scenario")]
    pub buffer: Option<QueueSize>,
    /// Algorithm of both directions.
    #[arg(long, value_name = "NAME", default_value = "drop-tail", conflicts_with = "scenario")]
    pub aqm: String,
    /// Set a parameter of the algorithm, such as `max_p=0.1`, or a field of the scenario.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
    /// Mark ECN-capable packets instead of dropping them; the hosts ask for ECN.
    #[arg(long, conflicts_with = "scenario")]
    pub ecn: bool,
    /// The largest IP packet in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, conflicts_with = "scenario", value_parser = whole(1..=u16::MAX))]
    pub mtu: u16,
    /// The hosts' congestion control, of those that the kernel has.
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    pub congestion: Option<String>,
    /// Seed of the algorithm's chance; default: drawn, and kept in the log. Of a scenario: its seeds.
    #[arg(long, value_name = "SEED", value_parser = whole(0..=u64::MAX))]
    pub seed: Option<u64>,
    /// Run a scenario's algorithms with seeds 1 to N; default: its seeds.
    #[arg(long, value_name = "N", requires = "scenario", conflicts_with = "seed", value_parser = whole(1..=u32::MAX))]
    pub seeds: Option<u32>,
    /// Keep arrivals and decisions in FILE, for `quell gateway replay`.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Keep a scenario's results in DIR; default: a new folder in results/.
    #[arg(long, value_name = "DIR", requires = "scenario")]
    pub out: Option<PathBuf>,
    /// Replace what is in DIR.
    #[arg(long, requires = "out")]
    pub overwrite: bool,
    /// What is shown of a scenario's results.
    #[command(flatten)]
    pub view: ViewArgs,
    /// Run COMMAND on the far host meanwhile, with `sh -c`.
    #[arg(long, value_name = "COMMAND", conflicts_with = "scenario")]
    pub far: Option<String>,
    /// Use packet sockets and veth devices even where TUN is allowed.
    #[arg(long)]
    pub packet_sockets: bool,
    /// What runs on the near host; default: a shell.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "scenario")]
    pub command: Vec<String>,
}

/// How a table is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table to read.
    #[default]
    Table,
    /// JSON, in the shape that the documentation describes.
    Json,
}

/// Which engine simulates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineChoice {
    /// The fast one.
    #[default]
    Fast,
    /// The plain one, against which the fast one is tested; same sample path, slower.
    Reference,
}

/// Of which replications the time series are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SeriesChoice {
    /// Those that the report can draw.
    #[default]
    Drawn,
    /// All: they take more room than everything else.
    All,
    /// None.
    None,
}

/// How to print.
#[derive(Clone, Debug, Args)]
pub struct FormatArgs {
    /// How to print the result.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// Changes to a scenario.
#[derive(Clone, Debug, Args)]
pub struct Changes {
    /// Set a field of the scenario, such as `dumbbell.rate="20 Mbit/s"`, `flows.ftp.count=50` or
    /// `aqm.red.max_th="0.5 * dumbbell.buffer"`.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
    /// Vary a field over a list (`flows.ftp.count=10,20,50`) or a range (`aqm.red.max_p=0.02..0.2:log:5`,
    /// also `:lin:N` and `:step:S`); several options: every combination. "A=1,2; B=3,4" links fields.
    #[arg(long = "sweep", value_name = "KEY=VALUES")]
    pub sweep: Vec<String>,
}

/// Changes to a scenario, and how it is run.
#[derive(Clone, Debug, Args)]
pub struct SimulationArgs {
    /// The seeds: how many ("10": seeds 1 to 10), a range ("11-20"), a list ("1,5,9"), or "auto": as many for
    /// each algorithm and point as --precision or a comparison needs.
    #[arg(long, value_name = "N|LIST|auto", value_parser = seeds, conflicts_with = "seed")]
    pub seeds: Option<Seeds>,
    /// With --seeds auto, half the width of the 95 % interval that is narrow enough: a share of the mean (1%) or
    /// a value with the metric's unit (0.5, "2 ms"). In a comparison: below which a difference does not matter.
    #[arg(long, value_name = "METRIC=WIDTH", value_delimiter = ',', value_parser = aim)]
    pub precision: Vec<Aim>,
    /// With --seeds auto, no more seeds than this for an algorithm; default: 50.
    #[arg(long, value_name = "N", value_parser = whole(2..=100_000_u32))]
    pub max_seeds: Option<u32>,
    /// One seed, to repeat a single replication.
    #[arg(long, value_name = "SEED", value_parser = whole(0..=u64::MAX))]
    pub seed: Option<u64>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub changes: Changes,
    /// Number of threads; default: one per core. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = whole(1..=4096_u16))]
    pub threads: Option<u16>,
    /// The engine to simulate with.
    #[arg(long, value_enum, default_value_t, value_name = "ENGINE")]
    pub engine: EngineChoice,
    /// Do not show progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Keep the time series of which replications: those that the report can draw (the first seeds, at most
    /// ten of each algorithm and about a hundred in all), all, or none.
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    pub series: SeriesChoice,
    /// Where finished replications are kept and found again.
    #[command(flatten)]
    pub cache: CacheUse,
}

/// How work on many replications is done.
#[derive(Clone, Debug, Args)]
pub struct WatchArgs {
    /// Number of threads; default: one per core. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = whole(1..=4096_u16))]
    pub threads: Option<u16>,
    /// Do not show progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Where finished replications are kept and found again.
    #[command(flatten)]
    pub cache: CacheUse,
}

/// Which cache.
#[derive(Clone, Debug, Args)]
pub struct CacheDir {
    /// Folder of the cache; default: what QUELL_CACHE names, or quell in the user's folder for caches.
    #[arg(long, value_name = "DIR", global = true)]
    pub cache: Option<PathBuf>,
}

/// How a run uses the cache.
#[derive(Clone, Debug, Args)]
pub struct CacheUse {
    /// Which one.
    #[command(flatten)]
    pub dir: CacheDir,
    /// Neither look for replications in a cache nor keep them there.
    #[arg(long, conflicts_with_all = ["cache", "fresh", "verify"])]
    pub no_cache: bool,
    /// Run every replication again, whatever the cache has.
    #[arg(long)]
    pub fresh: bool,
    /// Run this share of the replications that the cache has again, such as "1%", and fail if one differs.
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "fresh")]
    pub verify: Option<f64>,
}

/// Arguments of `cache`.
#[derive(Debug, Args)]
#[command(after_help = "\
Every replication that `quell run` and `quell compare` finish is kept, whole, under a key made of all that it \
depends on; a run that needs it again takes it from there. So a run that was killed goes on where it stopped, and \
a sweep that is extended computes what is new.

Examples:
  quell cache
  quell cache check
  quell cache prune --unused 30d
  quell cache prune --to 5GB
  duckdb -c \"$(quell cache sql) SELECT title, algorithm, avg(utilization) FROM quell GROUP BY ALL\"")]
pub struct CacheArgs {
    /// Which cache.
    #[command(flatten)]
    pub dir: CacheDir,
    /// What to do; default: show.
    #[command(subcommand)]
    pub command: Option<CacheCommand>,
}

/// What to do with the cache.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Say where it is, and what it holds by scenario.
    Show(FormatArgs),
    /// Read every entry, and name those that are damaged.
    Check,
    /// Remove entries: those of earlier versions, those that no run has used for a time, or the least recently
    /// used ones.
    Prune {
        /// Entries that no run has used for this long, such as "30d" or "12h".
        #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
        unused: Option<std::time::Duration>,
        /// The least recently used ones, until the others take no more than this, such as "5GB".
        #[arg(long, value_name = "SIZE", value_parser = size)]
        to: Option<Bytes>,
        /// Say what would be removed, and remove nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Copy every entry to another cache, for another machine.
    Export {
        /// The other cache's folder.
        #[arg(value_name = "DIR")]
        to: PathBuf,
    },
    /// Print the statement that makes all entries one view, `quell`, in DuckDB.
    Sql,
}

/// Arguments of `tasks`.
#[derive(Debug, Args)]
#[command(after_help = "\
A line is key, cost (packets that the links can carry), seed, algorithm and the settings of its point, separated \
by tabs; the longest are first.

Examples:
  quell tasks my.toml --missing
  quell tasks my.toml --missing | parallel --pipe -N 20 quell worker my.toml --quiet --keys -

docs/scale.md has recipes for GNU parallel, Slurm, Kubernetes, Dask and Ray.")]
pub struct TasksArgs {
    /// The scenario file.
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// Only those that the cache does not have.
    #[arg(long)]
    pub missing: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub simulation: SimulationArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Arguments of `worker`.
#[derive(Debug, Args)]
#[command(after_help = "\
For each replication a line says its key, and \"made\", \"found\" (it was in the cache) or \"failed\" with the \
reason. A worker keeps nothing but the cache: it may be killed at any time, and what it was doing be given to \
another.

Examples:
  quell worker my.toml --part 3/16 --cache /shared/quell
  quell tasks my.toml --missing | head -100 | quell worker my.toml --keys -
  quell worker my.toml --seeds 1000 --part $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT

docs/scale.md has recipes for GNU parallel, Slurm, Kubernetes, Dask and Ray.")]
pub struct WorkerArgs {
    /// The scenario file.
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// A file of keys, one a line, as `quell tasks` prints them; - for standard input. Default: all of the study.
    #[arg(long, value_name = "FILE", conflicts_with = "part")]
    pub keys: Option<PathBuf>,
    /// One of several parts that take about as long as each other, such as 3/16.
    #[arg(long, value_name = "I/N", value_parser = part)]
    pub part: Option<Part>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub simulation: SimulationArgs,
}

/// One of several equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which: from 1 on.
    pub number: usize,
    /// Of how many.
    pub of: usize,
}

fn part(text: &str) -> Result<Part, String> {
    let found = text.split_once('/').and_then(|(number, of)| {
        let part = Part { number: number.trim().parse().ok()?, of: of.trim().parse().ok()? };
        (1..=part.of).contains(&part.number).then_some(part)
    });
    found.ok_or_else(|| format!("{}: must be a part and the number of parts, such as 3/16", cut(text)))
}

/// What a table of results shows.
#[derive(Clone, Debug, Default, Args)]
pub struct ViewArgs {
    /// Metrics to show, by name or title (`quell show --help` lists them), or "all"; NAME[CLASS] for those of a
    /// class, internal:SIGNAL for the average of an algorithm's internal signal, A/B for the ratio of two.
    #[arg(long = "metric", value_name = "NAME", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// The link to show; default: the first bottleneck.
    #[arg(long, value_name = "NAME")]
    pub link: Option<String>,
    /// Also print a table for each traffic class.
    #[arg(long)]
    pub classes: bool,
    /// Also print a table for each segment of the measured window.
    #[arg(long)]
    pub segments: bool,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quell run scenarios/main.toml
  quell run my.toml --seeds 20 --out results/long --set duration=\"300 s\"
  quell run my.toml --seed 17 --threads 1
  quell run my.toml --sweep flows.ftp.count=10,20,50 --sweep aqm.red.max_p=0.02..0.2:log:5
  quell run my.toml --sweep \"dumbbell.delay=5..50 ms:lin:4; flows.ftp.count=40,30,20,10\"
  quell run my.toml --set \"aqm.red.max_th=3 * aqm.red.min_th\"    # docs/sweeps.md
  quell run my.toml --format json | jq '.points[0].rows[] | [.algorithm, .metrics.utilization.mean]'

  quell run my.toml --seeds 100    # computes what the cache does not have
  quell run my.toml --finished     # a look at what was finished, before the rest is
  quell run my.toml --seeds auto --precision utilization=1%,queue_packets=5%
  quell run before.toml after.toml --metric goodput_bps,queue_packets

With --seeds auto each algorithm gets, at each point, the seeds 1, 2, 3, ... until its intervals are narrow \
enough (Chow and Robbins 1965, at least 10 seeds): docs/seeds.md has the measured coverage. Several scenarios \
become one result, with the file's name before the settings of each point. \
Without --out, results go to results/NAME (NAME+1 with a second scenario), or to results/NAME-2, NAME-3, ... \
if that exists. \
Finished replications are kept in a cache at once (see `quell cache --help`), so a run that was killed goes on \
where it stopped. \
Ctrl-C stops, keeps the finished replications and prints their figures; --finished makes results of them, and the same command goes on from there. A second Ctrl-C quits at once.")]
pub struct RunArgs {
    /// The scenario files; - for standard input.
    #[arg(value_name = "SCENARIO", required = true)]
    pub scenarios: Vec<PathBuf>,
    /// Folder for the results; default: results/NAME.
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace existing results.
    #[arg(long)]
    pub overwrite: bool,
    /// Do not write the HTML report.
    #[arg(long)]
    pub no_report: bool,
    /// Run nothing: take what the cache has, and mark the results partial unless that is all.
    #[arg(long, conflicts_with_all = ["no_cache", "fresh", "verify"])]
    pub finished: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub simulation: SimulationArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub view: ViewArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Arguments of `compare`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  quell compare scenarios/main.toml --baseline drop-tail --seeds 10
  quell compare scenarios/main.toml --baseline red --aqm pi,rem --metric queue_delay_p99_s
  quell compare scenarios/main.toml --baseline red --seeds auto --metric goodput_bps
  quell compare results/main --baseline red
  quell compare results/dumbbell-live results/dumbbell
  quell compare scenarios/main.toml --baseline red --sweep dumbbell.delay=\"5 ms..50 ms:log:4\"

With --seeds auto, each algorithm gets seeds until its difference from the baseline in every metric of --metric \
and --precision (without either: those shown) is decided: its interval excludes 0, or is within the width of \
--precision. However often one looks, each of these decisions is false with a probability of at most 5 % for \
normal differences (repeated confidence intervals, Jennison and Turnbull 1984; docs/seeds.md). \
With the same seed all algorithms face the same traffic, so differences are taken seed by seed; a star \
marks those whose 95 % interval excludes 0.")]
pub struct CompareArgs {
    /// A scenario file, which is run, or a results folder.
    #[arg(value_name = "SCENARIO|RESULTS")]
    pub source: PathBuf,
    /// A second results folder, of the same scenario: each algorithm in the first is compared with itself in this
    /// one, such as live with simulated.
    #[arg(value_name = "RESULTS", conflicts_with = "baseline")]
    pub other: Option<PathBuf>,
    /// The algorithm that the others are compared with, by its label.
    #[arg(
        long,
        short,
        value_name = "NAME",
        required_unless_present = "other",
        default_value = "",
        hide_default_value = true
    )]
    pub baseline: String,
    /// The algorithms to compare; default: all in the scenario. Catalog algorithms that the scenario
    /// lacks are added with their default parameters.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub aqm: Vec<String>,
    /// Also keep the results of the run in this folder.
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace existing results.
    #[arg(long, requires = "out")]
    pub overwrite: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub simulation: SimulationArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub view: ViewArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Arguments of `search`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quell search my.toml --over aqm.red.max_p=0.01..0.5:log --metric loss_rate --crosses 2%
  quell search my.toml --over \"dumbbell.rate=5 Mbit/s..50 Mbit/s\" --metric queue_delay_mean_s --crosses \"20 ms\" --aqm pi
  quell search my.toml --over flows.ftp.count=10..500 --metric utilization --crosses 95% --aqm red --tolerance 2

Bisection. On which side of the value the metric is at a probe is decided by an interval over the seeds 1, 2, 3, ..., \
with more seeds where it is undecided; where it remains so, the search goes on at both sides. All probes together \
err with a probability of at most 5 %, for normal samples and a metric that crosses the value once (docs/seeds.md). \
Where a field takes whole numbers only, only those are probed.")]
pub struct SearchArgs {
    /// The scenario file; one point, no sweep.
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// The field that varies and its ends: FIELD=FROM..TO, with :log at the end for equal factors.
    #[arg(long, value_name = "AXIS")]
    pub over: Axis,
    /// The metric, by name (`quell show --help` lists them); NAME[CLASS], internal:SIGNAL and A/B as for `quell run`.
    #[arg(long, value_name = "NAME", value_parser = metric)]
    pub metric: Quantity,
    /// The value that it crosses, in its unit or with one: 0.02, 2%, "20 ms".
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub crosses: String,
    /// The algorithm, by its label; default: the one that the field names, or the scenario's only one.
    #[arg(long, value_name = "NAME")]
    pub aqm: Option<String>,
    /// The link; default: the first bottleneck.
    #[arg(long, value_name = "NAME")]
    pub link: Option<String>,
    /// The traffic: all, data (all but acknowledgments) or a class.
    #[arg(long, value_name = "CLASS", default_value = "all")]
    pub scope: String,
    /// How narrow the interval for the crossing is to be: a share of the crossing (5%), but on an axis of equal
    /// steps at least a thousandth of it; or a value in the axis's unit.
    #[arg(long, value_name = "WIDTH", default_value = "5%")]
    pub tolerance: String,
    /// No more seeds than this for a probe; default: 50.
    #[arg(long, value_name = "N", value_parser = whole(2..=100_000_u32))]
    pub max_seeds: Option<u32>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub changes: Changes,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub watch: WatchArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
#[command(after_help = metrics_help())]
pub struct ShowArgs {
    /// The results folders; several are shown as one.
    #[arg(value_name = "RESULTS", required = true)]
    pub results: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub view: ViewArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Arguments of `reproduce`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quell reproduce --list
  quell reproduce hred-t2
  quell reproduce vrc/2 --out results/papers
  quell reproduce --quick
  quell reproduce hred-13 --live    # with real packets, in real time

A printed number agrees, is inside the prediction interval of what was printed, is explained by another reading of the \
document, is refuted, or is open; a claim holds, fails or is undecided. From fewer than five seeds no number is inside, \
and from one no claim is decided: --quick shows that all runs, and the numbers roughly. All of it takes about an hour \
on two cores, and seconds where the cache has it. docs/papers has the latest verdicts, and docs/papers/format.md the \
form of the files.")]
pub struct ReproduceArgs {
    /// A document (vrc), an experiment (vrc-b2) or a table (vrc/2), as --list names them; default: all.
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,
    /// Say what there is to run, and run nothing.
    #[arg(long)]
    pub list: bool,
    /// The folder of documents, in the form of docs/papers/format.md.
    #[arg(long, value_name = "DIR", default_value = "papers")]
    pub papers: PathBuf,
    /// At most so many seeds; default: as many as each experiment says, mostly 10.
    #[arg(long, value_name = "N", value_parser = whole(1..=100_000_u32))]
    pub seeds: Option<u32>,
    /// One seed, and only the readings that are judged: numbers that other readings explain are open.
    #[arg(long, conflicts_with = "seeds")]
    pub quick: bool,
    /// Write a page in HTML for each document into this folder.
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write pages in Markdown of whole documents, their pictures, and README.md with the score on record into
    /// this folder.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["quick", "seeds"])]
    pub docs: Option<PathBuf>,
    /// Fail if a verdict differs from the one on record, in verdicts.csv in the folder of documents.
    #[arg(long, conflicts_with_all = ["quick", "seeds"])]
    pub check: bool,
    /// Put the verdicts on record.
    #[arg(long, conflicts_with_all = ["check", "quick", "seeds"])]
    pub record: bool,
    /// Run the live side of experiments that have one, with real packets as `quell wire` does, and put its figures on
    /// record; nothing is simulated.
    #[cfg(target_os = "linux")]
    #[arg(long, conflicts_with_all = ["list", "seeds", "quick", "out", "docs", "check", "record"])]
    pub live: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub watch: WatchArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// The link of `characterize` unless another is given.
pub const DEFAULT_RATE: &str = "10Mbit/s";
/// Its round-trip time.
pub const DEFAULT_RTT: &str = "100ms";

/// Arguments of `characterize`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quell characterize codel pie
  quell characterize codel,target=10ms codel --rate 50Mbit/s --rtt 20ms --baseline pie
  quell characterize pi --only 5.1,8.2 --format json
  quell characterize all --seeds 3 --out results/all

RFC 7928 asks what an algorithm does to flows of other kinds, loads, round-trip times and capacities, always beside \
drop-tail. A figure is better or worse than drop-tail's if the 95 % interval of the difference, paired by seed, excludes \
zero and the difference is more than 2 %. What is finished is kept: the same command goes on after an interruption.")]
pub struct CharacterizeArgs {
    /// Algorithms, each with the parameters that differ from its defaults (`codel,target=10ms`); or `all`.
    #[arg(value_name = "AQM", required_unless_present = "list")]
    pub algorithms: Vec<String>,
    /// What they are compared with beside drop-tail, in the same form.
    #[arg(long, value_name = "AQM", default_value = "red")]
    pub baseline: String,
    /// The link's rate.
    #[arg(long, value_name = "RATE", default_value = DEFAULT_RATE)]
    pub rate: BitRate,
    /// The round-trip time without queueing, where the scenario does not vary it.
    #[arg(long, value_name = "TIME", default_value = DEFAULT_RTT)]
    pub rtt: Duration,
    /// How many seeds.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole(1..=100_000_u32))]
    pub seeds: u32,
    /// Only these sections of the RFC, with what is below them (`5.3,8.2`).
    #[arg(long, value_name = "SECTIONS", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Say which scenarios there are, and run nothing.
    #[arg(long)]
    pub list: bool,
    /// Where the page (characterization.html) and the results go; default: a folder under results.
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the folder, if it holds results.
    #[arg(long)]
    pub overwrite: bool,
    /// Write the tables in Markdown into this file.
    #[arg(long, value_name = "FILE")]
    pub docs: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub watch: WatchArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The results folders; several make one report.
    #[arg(value_name = "RESULTS", required = true)]
    pub results: Vec<PathBuf>,
    /// The file to write; default: report.html in the folder, if it is one.
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `plot`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quell plot results/main
  quell plot results/main --diagram queue-cdf --aqm red,pi --svg queue.svg
  quell plot results/main --diagram throughput --class web --panels --csv web.csv
  quell plot results/sweep --metric queue_delay_p99_s
  quell plot results/sweep --metric loss_rate --over dumbbell.rate --by flows.ftp.count
  quell plot results/sweep --metric \"goodput_bps[short]/goodput_bps[all]\"

Over time, one replication is shown; distributions are of all seeds, and metrics are means with 95 % intervals. \
The axis is logarithmic where the swept values follow each other in equal ratios. Without --svg and --csv the \
figure is drawn in the terminal. `quell show --help` lists the metrics.")]
pub struct PlotArgs {
    /// A results folder.
    #[arg(value_name = "RESULTS")]
    pub results: PathBuf,
    /// What to draw; default: metric for a sweep, else queue.
    #[arg(long, value_name = "DIAGRAM", value_parser = diagram())]
    pub diagram: Option<quell_view::chart::Diagram>,
    /// The metric, by its name; NAME[CLASS], internal:SIGNAL and A/B as for `quell run`; default: utilization.
    #[arg(long, value_name = "NAME", value_parser = metric)]
    pub metric: Option<Quantity>,
    /// The swept field along the axis of a metric; default: the first that varies, numbers before names.
    #[arg(long, value_name = "FIELD")]
    pub over: Option<String>,
    /// The swept field with a panel for each of its values; default: the next that varies.
    #[arg(long, value_name = "FIELD")]
    pub by: Option<String>,
    /// The algorithms, by their labels; default: all.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub aqm: Vec<String>,
    /// The link; default: the first bottleneck.
    #[arg(long, value_name = "NAME")]
    pub link: Option<String>,
    /// The traffic class, or "data" (all but acknowledgments), of a metric, of delays or of throughput; default: all
    /// traffic.
    #[arg(long, value_name = "NAME")]
    pub class: Option<String>,
    /// The number of the sweep's point; default: 1. Of a metric over one or two fields, the point whose other
    /// fields are kept.
    #[arg(long, value_name = "N", value_parser = whole(1..=u32::MAX))]
    pub point: Option<u32>,
    /// The replication that is shown over time, by its seed; default: the first.
    #[arg(long, value_name = "SEED", value_parser = whole(0..=u64::MAX))]
    pub seed: Option<u64>,
    /// A panel for each algorithm instead of one with all.
    #[arg(long)]
    pub panels: bool,
    /// Draw into this SVG file; - for standard output.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the figure's numbers into this CSV file; - for standard output.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}

/// A figure of results, by its name.
fn diagram() -> impl TypedValueParser<Value = quell_view::chart::Diagram> {
    use quell_view::chart::Diagram;
    let named = |d: &Diagram| PossibleValue::new(d.name()).help(d.doc());
    PossibleValuesParser::new(Diagram::ALL.iter().map(named))
        .map(|name| Diagram::find(&name).expect("only names of diagrams are possible"))
}

/// Arguments of `measure`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quell measure trace.pcap
  quell measure trace.pcapng --inside 192.0.2.0/24,2001:db8::/32
  tcpdump -w - -s 96 -G 60 -W 1 tcp | quell measure -
  quell measure trace.pcap --format json | jq .round_trips

Reads pcap and pcapng; 96 bytes of each packet are enough (128 beneath MPLS or PPPoE). \"Up\" is what the \
side that opens connections sends, \"down\" what comes back; with --inside, \"up\" is what leaves these \
networks.

Capture behind the bottleneck, on the side of the receivers: there the link has spaced the packets, and \
their spacing shows its capacity. Before it, on the side of the senders, the spacing shows only the senders' \
own timing. The capacity is then what acknowledgments show while packets wait at the bottleneck, or is not \
told. Begin before the connections do: R is the time that handshakes take.")]
pub struct MeasureArgs {
    /// The capture, as written by tcpdump or Wireshark; - for standard input.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// The length of an interval, over which active flows are counted.
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    pub interval: Duration,
    /// How long a flow counts as active after its last packet.
    #[arg(long, value_name = "TIME", default_value = "60 s")]
    pub window: Duration,
    /// The networks on one side of the link; default: the side that opens connections.
    #[arg(long, value_name = "NET", value_delimiter = ',')]
    pub inside: Vec<Subnet>,
    /// Also print the figures of every interval.
    #[arg(long)]
    pub intervals: bool,
    /// Do not show progress.
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// About algorithms.
#[derive(Debug, Subcommand)]
pub enum AqmCommand {
    /// List every algorithm.
    List(FormatArgs),
    /// Describe one: its parameters, their units and defaults, and where each comes from.
    Describe {
        /// The algorithm's name.
        name: String,
        #[command(flatten)]
        #[allow(missing_docs)]
        format: FormatArgs,
    },
}

/// About senders.
#[derive(Debug, Subcommand)]
pub enum TcpCommand {
    /// List every value of the keys by which senders are chosen.
    List(FormatArgs),
    /// Describe one: what it needs and refuses, the keys that it reads with their ranges, and what was chosen where
    /// its source leaves something open.
    Describe {
        /// The value, such as cubic; with its key where another one has that name: recovery.reno.
        name: String,
        #[command(flatten)]
        #[allow(missing_docs)]
        format: FormatArgs,
    },
}

/// About scenario files.
#[derive(Debug, Subcommand)]
pub enum ScenarioCommand {
    /// Check files and say what each describes, without running anything.
    Check {
        /// The scenario files; - for standard input.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        #[allow(missing_docs)]
        format: FormatArgs,
    },
    /// Print a scenario with every default filled in, as a scenario file.
    ///
    /// Of a sweep that is one of its points, the first unless --point says otherwise; a comment lists the
    /// others.
    Show {
        /// The scenario file.
        file: PathBuf,
        /// The number of the sweep's point; default: 1.
        #[arg(long, value_name = "N", value_parser = whole(1..=u32::MAX))]
        point: Option<u32>,
        #[command(flatten)]
        #[allow(missing_docs)]
        changes: Changes,
    },
    /// List the dialects: the defaults of the releases of ns-2, of Linux and of QUIC; their sources are in --format json and
    /// docs/dialects.md.
    Dialects {
        /// Dialects, such as linux; left out: all.
        names: Vec<String>,
        #[command(flatten)]
        #[allow(missing_docs)]
        format: FormatArgs,
    },
    /// Print the JSON Schema of scenario files.
    Schema,
}

/// A network: that of a scenario, or one link and one kind of flow in a few words.
#[derive(Clone, Debug, Args)]
pub struct NetworkArgs {
    /// The scenario file; or --rate, --rtt, --flows and --aqm instead.
    #[arg(value_name = "SCENARIO")]
    pub scenario: Option<PathBuf>,
    /// The link's rate, such as 10Mbit/s.
    #[arg(long, value_name = "RATE", conflicts_with = "scenario")]
    pub rate: Option<BitRate>,
    /// The round-trip time without queueing, such as 100ms.
    #[arg(long, value_name = "TIME", conflicts_with = "scenario")]
    pub rtt: Option<Duration>,
    /// How many long-lived flows.
    #[arg(long, value_name = "N", conflicts_with = "scenario", value_parser = whole(1..=200_000_u32))]
    pub flows: Option<u32>,
    /// The link's buffer; default: twice the bandwidth-delay product, at least 100 packets.
    #[arg(long, value_name = "SIZE", conflicts_with = "scenario")]
    pub buffer: Option<QueueSize>,
    /// Size of a packet on the wire; default: 1000 B.
    #[arg(long, value_name = "SIZE", conflicts_with = "scenario", value_parser = packet)]
    pub packet: Option<Bytes>,
    /// The flows' congestion control: reno (default), cubic, dctcp or prague; in place of what a scenario's flows have,
    /// with what it needs.
    #[arg(long, value_name = "NAME", value_parser = congestion)]
    pub congestion: Option<Congestion>,
    /// Scalable flows beside those, such as prague=10 or dctcp=10; they are marked, also with --drops.
    #[arg(long, value_name = "NAME=N", conflicts_with = "scenario", value_parser = beside)]
    pub beside: Option<(u32, Congestion)>,
    /// Drop packets instead of marking them (ECN).
    #[arg(long, conflicts_with = "scenario")]
    pub drops: bool,
    /// Algorithms: labels of the scenario (default: all), or catalog names without a scenario.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub aqm: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub changes: Changes,
}

/// How much of the flows' delay the linear model keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PlantChoice {
    /// All of it.
    #[default]
    Exact,
    /// Only that of the signal (Hollot et al. 2001a).
    Simplified,
}

/// Arguments of `analyze`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quell analyze scenarios/main.toml --aqm pi,red
  quell analyze scenarios/theory.toml --check
  quell analyze --rate 10Mbit/s --rtt 100ms --flows 100 --aqm pi --svg pi.svg
  quell analyze --rate 100Mbit/s --rtt 20ms --flows 10 --congestion dctcp --aqm pi
  quell analyze --rate 40Mbit/s --rtt 20ms --flows 10 --beside prague=10 --drops --aqm dualpi2,pi2
  quell analyze scenarios/main.toml --at \"60 s\" --format json | jq '.points[0].algorithms[].margins'

The model is TCP (Reno, CUBIC, DCTCP or Prague) in congestion avoidance with a fluid queue, linearized at its equilibrium, with the exact \
delay. It includes long-lived flows only. For a sweep the table gives figures only; the reasons are in the \
JSON. Ctrl-C ends a check after the current simulations and prints what was checked.")]
pub struct AnalyzeArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub network: NetworkArgs,
    /// The link; default: the first bottleneck.
    #[arg(long, value_name = "NAME")]
    pub link: Option<String>,
    /// The time at which flows, rates and delays are read; default: the end of the warm-up, or, if no
    /// long-lived flow sends then, the first time at which the most flows do.
    #[arg(long, value_name = "TIME")]
    pub at: Option<Duration>,
    /// How much of the flows' delay the model keeps.
    #[arg(long, value_enum, default_value_t, value_name = "PLANT")]
    pub plant: PlantChoice,
    /// Also simulate, and report whether the queue settles or oscillates as predicted.
    #[arg(long)]
    pub check: bool,
    /// Do not show progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Also draw a diagram into this SVG file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// What to draw; default: bode, or verdicts when many points are checked.
    #[arg(long, value_enum, value_name = "DIAGRAM", requires = "svg")]
    pub diagram: Option<Diagram>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Arguments of `design`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quell design --rate 10Mbit/s --rtt 100ms --flows 100 --aqm pi
  quell design --rate 10Mbit/s --rtt 100ms --flows 100 --aqm pi,vrc,red --check
  quell design --rate 100Mbit/s --rtt 40ms --flows 20 --congestion cubic --aqm pi --check
  quell design --rate 40Mbit/s --rtt 60ms --flows 10 --beside prague=10 --aqm dualpi2 --check
  quell design --rate 1Gbit/s --rtt 40ms --flows 500 --aqm pi --queue \"500 packets\" --save pi.toml

Give the worst case: the fewest flows and the longest round-trip time that the link will see.")]
pub struct DesignArgs {
    /// The link's rate, such as 10Mbit/s.
    #[arg(long, value_name = "RATE")]
    pub rate: BitRate,
    /// The longest round-trip time, with the queue at its target.
    #[arg(long, value_name = "TIME")]
    pub rtt: Duration,
    /// The fewest long-lived flows.
    #[arg(long, value_name = "N", value_parser = whole(1..=200_000_u32))]
    pub flows: u32,
    /// The algorithms, by their names in the catalog.
    #[arg(long, value_name = "NAME", value_delimiter = ',', required = true)]
    pub aqm: Vec<String>,
    /// The link's buffer; default: the bandwidth-delay product.
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<QueueSize>,
    /// The target queue; default: a quarter of the buffer; pi2 and dualpi2 have their own target where half of the buffer
    /// holds it.
    #[arg(long, value_name = "SIZE")]
    pub queue: Option<QueueSize>,
    /// Size of a packet on the wire.
    #[arg(long, value_name = "SIZE", default_value = "1000 B", value_parser = packet)]
    pub packet: Bytes,
    /// The flows' congestion control: reno (default), or with pi also cubic, dctcp or prague, with pi2 and dualpi2 also
    /// cubic.
    #[arg(long, value_name = "NAME", value_parser = congestion)]
    pub congestion: Option<Congestion>,
    /// Scalable flows beside those, such as prague=10 or dctcp=10; they are marked, also with --drops.
    #[arg(long, value_name = "NAME=N", value_parser = beside)]
    pub beside: Option<(u32, Congestion)>,
    /// Drop packets instead of marking them (ECN).
    #[arg(long)]
    pub drops: bool,
    /// Also simulate, and report whether the packets confirm the design.
    #[arg(long)]
    pub check: bool,
    /// Do not show progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Also write a scenario with the designed parameters into this file.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Replace that scenario if it exists.
    #[arg(long, requires = "save")]
    pub overwrite: bool,
    /// Also draw the loops' Bode diagram into this SVG file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// Arguments of `map`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  quell map --rate 10Mbit/s --rtt 100ms --flows 100 --aqm pi --x flows=10..500:log --y rtt=10ms..500ms
  quell map scenarios/main.toml --aqm red --x max_p=0.01..0.5:log --y \"max_th=20 kB..200 kB\"
  quell map --rate 10Mbit/s --rtt 60ms --flows 100 --aqm pid --x k_p=0.0005..0.2:log --y k_i=0.0005..1:log --svg pid.svg

An axis is flows, rate or rtt (round-trip time without queueing), or a parameter of the algorithm; the \
algorithm is rebuilt at each point, so automatic parameters follow the link.")]
pub struct MapArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub network: NetworkArgs,
    /// The link; default: the first bottleneck.
    #[arg(long, value_name = "NAME")]
    pub link: Option<String>,
    /// What varies from left to right: NAME=FROM..TO, with :log at the end for equal factors.
    #[arg(long, value_name = "AXIS")]
    pub x: Axis,
    /// What varies from bottom to top.
    #[arg(long, value_name = "AXIS")]
    pub y: Axis,
    /// What to show; where it has no value, the map says why.
    #[arg(long, value_enum, default_value_t, value_name = "QUANTITY")]
    pub show: Shown,
    /// Number of points along each axis; default: what the terminal shows, 100 in a picture or as JSON.
    #[arg(long, value_name = "N", value_parser = whole(2..=2000_u16))]
    pub points: Option<u16>,
    /// How much of the flows' delay the model keeps.
    #[arg(long, value_enum, default_value_t, value_name = "PLANT")]
    pub plant: PlantChoice,
    /// Do not show progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Also draw the map into this SVG file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub format: FormatArgs,
}

/// What a map shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Shown {
    /// Real part of the slowest mode's root, per second: negative is stable.
    #[default]
    Growth,
    /// The factor by which the gain may rise.
    GainMargin,
    /// In degrees.
    PhaseMargin,
    /// In seconds.
    DelayMargin,
    /// Time in which the slowest mode decays to 2 %, in seconds.
    Settling,
    /// The queue at equilibrium, in packets.
    Queue,
    /// The probability of a signal at equilibrium.
    Probability,
    /// Swing of the fluid model's queue after 300 round trips, relative to its mean (time domain).
    Swing,
}

/// A picture of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Diagram {
    /// Gain and phase over frequency.
    Bode,
    /// The loop in the complex plane.
    Nyquist,
    /// The theory's verdicts against the packets'.
    Verdicts,
    /// The queue over time, of the fluid model and of the packets.
    Series,
}

/// A whole number in a range.
fn whole<N>(range: RangeInclusive<N>) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync
where
    N: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text: &str| {
        let number = text.trim().parse().ok().filter(|n| range.contains(n));
        number.ok_or_else(|| format!("must be a whole number from {} to {}", range.start(), range.end()))
    }
}

/// A congestion control of which there is a fluid model.
fn congestion(text: &str) -> Result<Congestion, String> {
    let all: Vec<&str> = quell_tcp::catalog::of_key("congestion").map(|e| e.name).collect();
    let meant = if all.contains(&text) { None } else { unknown("congestion control", text, &all).1 };
    Congestion::named(text).map_err(|e| match meant {
        Some(name) => suggest(&e.to_string(), Some(&name), None),
        None => e.to_string(),
    })
}

/// Scalable flows, as a name and how many.
fn beside(text: &str) -> Result<(u32, Congestion), String> {
    let (name, count) = text.split_once('=').ok_or("must be a name and how many, such as prague=10")?;
    let law = congestion(name)?;
    if !matches!(law, Congestion::Scalable(_)) {
        return Err(format!("{name} is not scalable: dctcp and prague are"));
    }
    match count.parse() {
        Ok(flows @ 1..=200_000) => Ok((flows, law)),
        _ => Err(format!("{count} flows: must be a number from 1 to 200000")),
    }
}

/// A size that a packet can have.
fn packet(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|e| format!("{e}"))?;
    // The length field of IPv4.
    match size.get() {
        1..=65_535 => Ok(size),
        _ => Err("must lie between 1 B and 65535 B".to_string()),
    }
}

/// Seeds as given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// The seeds 1 to this.
    Count(u32),
    /// These seeds.
    List(Vec<u64>),
    /// The seeds 1 to as many as are needed.
    Auto,
}

/// More seeds than anyone runs; a longer range is almost certainly a typo.
const MAX_SEEDS: u64 = 100_000;

fn seeds(text: &str) -> Result<Seeds, String> {
    if text.trim() == "auto" {
        return Ok(Seeds::Auto);
    }
    let number = |s: &str| {
        s.trim().parse::<u64>().map_err(|_| {
            format!("\"{}\" is not a seed: it must be a whole number of at least 0", cut(s.trim()))
        })
    };
    if !text.contains(',') && !text.contains('-') {
        return match text.trim().parse::<u32>() {
            Ok(n) if n >= 1 && u64::from(n) <= MAX_SEEDS => Ok(Seeds::Count(n)),
            _ => Err(format!(
                "must be a number of seeds (1 to {MAX_SEEDS}), a range or a list, or auto; \"{}\" is none of them",
                cut(text.trim())
            )),
        };
    }
    let mut list = Vec::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        match part.split_once('-') {
            None => list.push(number(part)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first || last - first >= MAX_SEEDS {
                    return Err(format!("\"{}\" is not a range of 1 to {MAX_SEEDS} seeds", cut(part)));
                }
                list.extend(first..=last);
            }
        }
    }
    if list.is_empty() {
        Err(format!("\"{}\" names no seed: must name at least one", cut(text.trim())))
    } else {
        Ok(Seeds::List(list))
    }
}

/// What is to be known of a metric: `utilization=1%`.
fn aim(text: &str) -> Result<Aim, String> {
    let wrong = || format!("\"{}\" must have the form METRIC=WIDTH, such as utilization=1%", cut(text));
    let (name, width) = text.rsplit_once('=').ok_or_else(wrong)?;
    let metric = metric(name)?;
    let width = metric.read_width(width)?;
    Ok(Aim { metric, width: Some(width) })
}

/// A figure by its name.
fn metric(name: &str) -> Result<Quantity, String> {
    name.parse().map_err(|why| format!("metric \"{}\": {why}", cut(name.trim())))
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_string(), value.trim().to_string()))
        }
        _ => Err("must have the form KEY=VALUE, such as dumbbell.rate=\"20 Mbit/s\"".to_string()),
    }
}

/// Every metric with its unit, for `--help`.
fn metrics_help() -> String {
    let width = quell_lab::Metric::ALL.iter().map(|m| m.name().len()).max().unwrap_or(0);
    let lines = quell_lab::Metric::ALL.iter().map(|m| {
        let unit = if m.unit() == "1" { String::new() } else { format!(" [{}]", m.unit()) };
        format!("  {:width$}  {}{unit}\n", m.name(), m.title())
    });
    format!("Metrics:\n{}", lines.collect::<String>())
}

/// A share, "1%" or 0.01.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().ok().map(|x| x * unit);
    share
        .filter(|x| (0.0..=1.0).contains(x))
        .ok_or_else(|| "must be a share of 0 to 100 %, such as 1%".to_string())
}

/// A size in bytes.
fn size(text: &str) -> Result<Bytes, String> {
    text.parse().map_err(|_| "must be a size with its unit (B, kB, MB, GB), such as 5GB".to_string())
}

#[cfg(test)]
mod tests {
    use quell_lab::{Metric, Width};

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn seeds_are_a_number_a_range_or_a_list() {
        assert_eq!(seeds("5"), Ok(Seeds::Count(5)));
        assert_eq!(seeds("7,"), Ok(Seeds::List(vec![7])));
        assert_eq!(seeds("3, 1-2,9"), Ok(Seeds::List(vec![3, 1, 2, 9])));
        assert_eq!(seeds("auto"), Ok(Seeds::Auto));
        assert_eq!(seeds("4-4"), Ok(Seeds::List(vec![4])));
        for wrong in ["", "0", "x", "-1", "1,x", "5-3", ",", "0-100000", "1.5"] {
            let error = seeds(wrong).unwrap_err();
            // The part that is wrong, as the user wrote it.
            assert!(error.split('"').nth(1).is_some_and(|named| wrong.contains(named)), "{wrong}: {error}");
        }
        assert!(seeds("many").unwrap_err().ends_with("\"many\" is none of them"));
    }

    #[test]
    fn widths_have_the_unit_of_their_metric() {
        let width = |text| aim(text).map(|aim| (aim.metric, aim.width.unwrap()));
        assert_eq!(width("utilization=1%"), Ok((Metric::Utilization.into(), Width::Relative(0.01))));
        assert_eq!(
            width("queue_delay_mean_s = 2 ms"),
            Ok((Metric::DelayMean.into(), Width::Absolute(0.002)))
        );
        for wrong in ["", "utilization", "utilization=", "utilization=0", "utilization=-1%", "queue=1%"] {
            assert!(aim(wrong).is_err(), "{wrong}");
        }
        assert!(aim("utilisation=1%").unwrap_err().contains("did you mean \"utilization\"?"));
    }

    #[test]
    fn a_number_that_is_none_is_answered_with_the_rule() {
        let flows = whole(1..=200_000_u32);
        assert_eq!(flows("40"), Ok(40));
        for wrong in ["1.5", "0", "-1", "200001", "many", "", "1e3"] {
            assert_eq!(flows(wrong).unwrap_err(), "must be a whole number from 1 to 200000", "{wrong}");
        }
        let said = |words: &[&str]| Cli::try_parse_from(words).unwrap_err().to_string();
        let text = said(&["quell", "analyze", "--flows", "1.5"]);
        assert!(text.contains("'1.5' for '--flows <N>': must be a whole number from 1 to 200000"), "{text}");
        let text = said(&["quell", "run", "a.toml", "--seed", "x"]);
        assert!(text.contains("must be a whole number from 0 to"), "{text}");
    }

    #[test]
    fn assignments_split_at_the_first_sign() {
        assert_eq!(assignment("a.b = c=d"), Ok(("a.b".to_string(), "c=d".to_string())));
        assert!(assignment("a").is_err());
        assert!(assignment("=1").is_err());
    }
}
