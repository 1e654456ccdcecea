//! `quell identify`: which queue a path has, from a capture.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use quell_capture::{CaptureError, transfers};
use quell_identify::{Answer, Discipline, Found, Interval, NAMES, Observed, Question, identify};
use quell_tcp::catalog::SENDERS;
use quell_units::{BitRate, Duration};
use serde::Serialize;

use crate::args::{Format, FormatArgs, link_rate, round_trip, whole};
use crate::captured::{Watched, open};
use crate::failure::{Failure, unknown_name};
use crate::interrupt;
use crate::table;
use crate::terminal::{self, Meter};

/// Arguments of `identify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell identify trace.pcap
  quell identify trace.pcap --tcp bbr3 --seeds 12
  quell identify trace.pcap --among drop-tail,pie --rate 50Mbit/s
  ethtool -K eth0 tso off gso off gro off
  tcpdump -i eth0 -s 96 -w trace.pcap tcp port 5201

Capture at the sender of bulk TCP transfers, both directions, while they fill the bottleneck: 30 s or more, from before \
they start. Several flows that start one after the other tell more than one: they show whether flows have queues of \
their own. The same transfers are simulated through each candidate, and the statistics of the two are compared \
(docs/how-to/identify.md). The senders' congestion control is assumed: --tcp says which it is.")]
pub struct Args {
    /// The capture, as written by tcpdump or Wireshark; - for standard input.
    #[arg(value_name = "CAPTURE")]
    capture: PathBuf,
    /// The disciplines to try: drop-tail, ared, codel, fq-codel, pie, cake. Default: all.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    among: Vec<String>,
    /// The senders' congestion control, by its name in `quell tcp`: cubic, reno, bbr1, bbr3 and others.
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    tcp: String,
    /// The rate of the link in Ethernet's packets. Default: measured while packets wait.
    #[arg(long, value_name = "RATE", value_parser = link_rate)]
    rate: Option<BitRate>,
    /// The round trip without a queue. Default: the shortest in the capture.
    #[arg(long, value_name = "TIME", value_parser = round_trip)]
    rtt: Option<Duration>,
    /// Simulations of each value that is tried.
    #[arg(long, value_name = "N", default_value = "8", value_parser = whole(3..=1000_u32))]
    seeds: u32,
    /// The part of the capture that counts, from its beginning.
    #[arg(long, value_name = "TIME", default_value = "60 s")]
    first: Duration,
    /// The interfaces that count, by their names in a pcapng file; default: all.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    interface: Vec<String>,
    /// Number of threads; default: one per core. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = whole(1..=4096_u16))]
    threads: Option<u16>,
    /// Do not show progress.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// Switches off what makes frames larger than packets, at the host that captures.
const OFFLOAD: &str = "ethtool -K DEV tso off gso off gro off";

/// The JSON of `identify`.
#[derive(Serialize)]
struct Output<'a> {
    capture: &'a str,
    seconds: f64,
    flows: &'a [quell_identify::Flow],
    left_out: usize,
    /// Frames of data, and those of them that segmentation offload makes larger than a packet.
    frames: u64,
    frames_joined: u64,
    tcp: &'a str,
    rate_bps: f64,
    rate_within_bps: [f64; 2],
    rate_is_measured_full: bool,
    statistics: Vec<(&'static str, f64)>,
    /// The names of the disciplines that explain the capture and that it does not tell apart; empty: none does.
    likely: Vec<Discipline>,
    #[serde(flatten)]
    answer: &'a Answer,
}

/// Identifies the queue of a capture.
pub fn run(args: &Args, _: Vec<String>) -> Result<(), Failure> {
    let said = quell_files::name(&args.capture);
    let disciplines = disciplines(&args.among)?;
    let controls = || SENDERS.iter().filter(|entry| entry.key == "congestion").map(|entry| entry.name);
    if !controls().any(|name| name == args.tcp) {
        return Err(unknown_name("congestion control", &args.tcp, controls()));
    }
    let (input, size) = open(&args.capture)?;
    let stop = interrupt::listen();
    let meter = Meter::new(args.quiet);
    let found = transfers(Watched::new(input, size, &meter, stop), &args.interface);
    meter.finish();
    let stopped = || Failure::Interrupted("nothing was printed".into());
    if stop.load(Ordering::Relaxed) {
        return Err(stopped());
    }
    let found = found.map_err(|e| match e {
        CaptureError::Io(e) if e.kind() != io::ErrorKind::InvalidData => {
            Failure::Failed(format!("{said}: {e}"))
        }
        e => bad_input!("{said}: {e}"),
    })?;
    if found.cut {
        terminal::note(&format!(
            "{said}: the file is damaged or ends within a packet; what is before counts"
        ));
    }
    let observed = Observed::of(&found, args.first.as_secs_f64(), args.rate, args.rtt)
        .map_err(|why| bad_input!("{said}: {why}"))?;
    let question = Question { disciplines, seeds: args.seeds, tcp: args.tcp.clone() };
    let meter = Meter::new(args.quiet);
    let begun = Instant::now();
    let show = |progress: quell_identify::Progress| {
        meter.advance_since(begun, progress.done as f64 / progress.total as f64);
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads.unwrap_or(0).into())
        .build()
        .map_err(|e| Failure::cannot("start threads", e))?;
    let answer = pool.install(|| identify(&observed, &question, &show, stop));
    meter.finish();
    let answer = answer.map_err(|e| Failure::Failed(e.to_string()))?.ok_or_else(stopped)?;
    match args.format.format {
        Format::Json => crate::json::print(&Output {
            capture: &said,
            seconds: observed.seconds,
            flows: &observed.flows,
            left_out: observed.left_out,
            frames: observed.frames.0,
            frames_joined: observed.frames.1,
            tcp: &args.tcp,
            rate_bps: observed.rate_bps.0,
            rate_within_bps: observed.rate_bps.1,
            rate_is_measured_full: observed.rate_is_known,
            statistics: NAMES.into_iter().zip(observed.statistics.0).collect(),
            likely: answer.likely().iter().map(|found| found.discipline).collect(),
            answer: &answer,
        }),
        Format::Table => {
            let (frames, joined) = observed.frames;
            if joined > 0 {
                terminal::note(&format!(
                    "{joined} of {frames} frames of data are larger than the path's packets: segmentation offload is on at the \
                     capturing host. Simulated senders send packets one by one. Switch it off and capture again: {OFFLOAD}"
                ));
            }
            if !observed.rate_is_known {
                terminal::note(
                    "packets never waited long enough to measure the link's rate: the highest rate over a second is taken; \
                     --rate says another",
                );
            }
            terminal::print(&text(&said, args, &observed, &answer))
        }
    }
}

/// The disciplines that are asked for.
fn disciplines(names: &[String]) -> Result<Vec<Discipline>, Failure> {
    if names.is_empty() {
        return Ok(Discipline::ALL.to_vec());
    }
    let known = || Discipline::ALL.into_iter().map(Discipline::name);
    let find = |name: &String| {
        let found = Discipline::ALL.into_iter().find(|discipline| discipline.name() == name);
        found.ok_or_else(|| unknown_name("discipline", name, known()))
    };
    let mut all: Vec<Discipline> = names.iter().map(find).collect::<Result<_, _>>()?;
    all.sort();
    all.dedup();
    Ok(all)
}

fn text(name: &str, args: &Args, observed: &Observed, answer: &Answer) -> String {
    let base = observed.flows.iter().map(|flow| flow.base_s).fold(f64::INFINITY, f64::min);
    let (rate, [low, high]) = observed.rate_bps;
    let ecn = observed.flows.iter().filter(|flow| flow.ecn).count();
    let flows = match observed.flows.len() {
        1 => "1 bulk flow".to_string(),
        n => format!("{n} bulk flows"),
    };
    let mut text = format!(
        "{name}\n{flows} ({ecn} with ECN), {:.1} s, shortest round trip {}, rate {} ({} to {})\n\n",
        observed.seconds,
        time(base),
        megabits(rate),
        megabits(low),
        megabits(high)
    );
    let header = ["queue", "probability", "parameter", "fit", "farthest off"];
    let rows: Vec<Vec<String>> = answer.found.iter().map(|found| row(found, rate, observed)).collect();
    text += &table::text(&header, &rows);
    text += "\n";
    text += &verdict(answer, observed);
    text += &format!(
        "\nAssumed: senders with {} and selective acknowledgments;\none bottleneck of constant rate, with no other \
         traffic.\n{} simulations.\n",
        args.tcp, answer.runs
    );
    text
}

fn row(found: &Found, rate: f64, observed: &Observed) -> Vec<String> {
    let Interval { value, within: [low, high], is_open } = found.parameter;
    let mut parameter =
        format!("{} {} ({} to {})", found.discipline.parameter(), time(value), time(low), time(high));
    if found.discipline == Discipline::DropTail {
        let packets = value * rate / 8.0 / f64::from(observed.payload + 66);
        parameter += &format!(", {packets:.0} packets");
    }
    if is_open {
        parameter += ", at the end of what is tried";
    }
    let off: Vec<String> = found.farthest.iter().map(|(name, off)| format!("{name} {off:+.1}")).collect();
    vec![
        found.discipline.name().to_string(),
        share(found.probability),
        parameter,
        share(found.fit),
        off.join(", "),
    ]
}

/// What the table says in words.
fn verdict(answer: &Answer, observed: &Observed) -> String {
    let likely = answer.likely();
    let names: Vec<&str> = likely.iter().map(|found| found.discipline.name()).collect();
    match names.as_slice() {
        [] => {
            let nearest = answer.found.first().map_or("", |found| found.discipline.name());
            let offload = match observed.frames {
                (_, 0) => String::new(),
                _ => format!(
                    "Segmentation offload is on at the capturing host, which alone may be the reason: {OFFLOAD}\n"
                ),
            };
            format!(
                "None of these: even the nearest, {nearest}, would hardly ever give such a capture. The path may have a policer, \
                 losses elsewhere, a rate that changes, other traffic, or senders other than assumed.\n{offload}"
            )
        }
        [one] => format!("The queue is {one}, among those that were tried.\n"),
        [all @ .., last] => format!(
            "The capture does not tell {} and {last} apart. Several flows that start one after the other would tell more.\n",
            all.join(", ")
        ),
    }
}

fn share(p: f64) -> String {
    match p {
        // Rounding would claim what nothing can know.
        p if p >= 0.995 => "> 99%".to_string(),
        p if p >= 0.0995 => format!("{:.0}%", 100.0 * p),
        p if p >= 0.001 => format!("{:.1}%", 100.0 * p),
        _ => "< 0.1%".to_string(),
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 0.0995 => format!("{:.0} ms", 1e3 * s),
        s if s >= 0.00995 => format!("{:.1} ms", 1e3 * s),
        s => format!("{:.2} ms", 1e3 * s),
    }
}

fn megabits(rate: f64) -> String {
    let digits = if rate >= 1e8 { 1 } else { 2 };
    format!("{:.digits$} Mbit/s", rate / 1e6)
}
