//! `quell aqm tc`: lines of Linux's tc, out and in.

mod against;
mod choice;
mod read;
mod scenario;

use std::path::PathBuf;

use choice::{Format, To, without_line};

use quell_aqm::catalog::{self, AqmConfig, CATALOG};
use quell_scenario::{Document, Plugins};
use quell_tc::{Kernel, Link, Place, Shaper, Written, defaults};
use quell_units::{BitRate, Bytes, Duration, LinkLayer, QueueSize, Time};
use serde_json::json;

use crate::args::assignment;
use crate::failure::{Failure, unknown_name};
use crate::{json, table, terminal};

/// The arguments that say what to write, and nothing of what is read.
const OF_WRITING: [&str; 8] = ["name", "set", "at", "rate", "layer", "buffer", "ecn", "defaults"];

/// Arguments of `aqm tc`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell aqm tc fq-codel --set target=5ms --dev eth0
  quell aqm tc pie --at htb --rate 18Mbit/s --layer docsis
  quell aqm tc dualpi2 --kernel 7.2
  quell aqm tc cake --defaults
  quell aqm tc scenarios/main.toml
  quell aqm tc vdsl/fq-codel.toml --link router-home --at ifb
  quell aqm tc --read 'qdisc codel 8001: root refcnt 2 limit 1000p target 5ms interval 100ms ecn'
  tc -s qdisc show | quell aqm tc --read - --to gateway
  quell aqm tc --read /etc/config/sqm
  quell aqm tc --read before.txt --read after.txt --over 60s --against results/home

Notes say what a line cannot say, and what the kernel then does. docs/how-to/tc.md has more.")]
pub struct Args {
    /// The algorithm's name, or a scenario file: the lines of a link of it.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Read a line of tc, or a file of what tc qdisc show prints, of sqm-scripts or of systemd-networkd; - is standard
    /// input. Prints the keys of a scenario.
    #[arg(long, value_name = "LINE", conflicts_with_all = OF_WRITING)]
    read: Vec<String>,
    /// Hold the counters of what tc -s qdisc show prints against these results. Two --read, from before and after a
    /// test, give what was counted in between.
    #[arg(long, value_name = "RESULTS", requires = "read", conflicts_with = "to")]
    against: Option<PathBuf>,
    /// The time that the counters took, for rates.
    #[arg(long, value_name = "TIME", requires = "against")]
    over: Option<Duration>,
    /// The link: of results, by default the first; of a scenario, by default its only one.
    #[arg(long, value_name = "NAME")]
    link: Option<String>,
    /// What to make of it.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t, requires = "read")]
    to: To,
    /// Set a parameter of the algorithm.
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// The device: of what is written eth0 by default, and of what is read all.
    #[arg(long, value_name = "DEVICE")]
    dev: Option<String>,
    /// Where: the root of the device, an ifb device for what comes in, or a leaf of an htb that shapes to --rate.
    #[arg(long, value_enum, value_name = "PLACE", default_value_t)]
    at: At,
    /// The link's rate.
    #[arg(long, value_name = "RATE")]
    rate: Option<BitRate>,
    /// What a packet takes of the rate under htb or on an ifb device, by a word of tc-cake(8), such as docsis or
    /// pppoe-llcsnap.
    #[arg(long, value_name = "WORD")]
    layer: Option<String>,
    /// What may wait; default the kernel's.
    #[arg(long, value_name = "SIZE")]
    buffer: Option<QueueSize>,
    /// Whether packets are marked; default the kernel's.
    #[arg(long, value_name = "BOOL")]
    ecn: Option<bool>,
    /// The mean size of packets.
    #[arg(long, value_name = "SIZE", default_value = "1500 B")]
    packet: Bytes,
    /// The version of Linux, as uname -r prints it.
    #[arg(long, value_name = "VERSION", default_value_t)]
    kernel: Kernel,
    /// Print what the qdisc has where a line says nothing, version by version.
    #[arg(long)]
    defaults: bool,
    /// Output format; text is TOML where it is of a scenario or a gateway.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,
}

/// Where a qdisc goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum At {
    /// The root of the device.
    #[default]
    Root,
    /// An ifb device, for what comes in.
    Ifb,
    /// A leaf of an htb that shapes.
    Htb,
}

/// Writes the lines of an algorithm, or reads some.
pub fn run(args: &Args) -> Result<(), Failure> {
    let device = args.dev.as_deref();
    if let Some(results) = &args.against {
        let against = against::Against { results, link: args.link.as_deref(), over: args.over };
        return against::run(&args.read, device, &against, args.kernel, args.format);
    }
    match args.read.as_slice() {
        [] => {}
        [_] if args.link.is_some() => {
            return Err(bad_input!(
                "--link: is for a scenario and for --against; --dev chooses a device of what is read"
            ));
        }
        [line] => return read::run(line, device, args.to, args.kernel, args.format),
        _ => {
            return Err(bad_input!(
                "--read: several are for --against; give one, or a file with all of the lines"
            ));
        }
    }
    let Some(given) = args.name.as_deref() else {
        return Err(bad_input!(
            "give an algorithm's name or a scenario file, whose lines are printed, or --read with lines to read"
        ));
    };
    // tc's name is one, too.
    let ours = quell_tc::QDISCS.iter().find(|(_, qdisc)| *qdisc == given).map_or(given, |(name, _)| name);
    if catalog::find(ours).is_none() && (given.ends_with(".toml") || given.contains('/') || given == "-") {
        of_algorithms_only(args)?;
        let device = written_device(args)?;
        let ifb = (args.at == At::Ifb).then(|| ifb(device));
        let target = scenario::Target { link: args.link.as_deref(), device, ifb: ifb.as_deref() };
        return scenario::run(given, &target, args.kernel, args.format);
    }
    if args.link.is_some() {
        return Err(bad_input!("--link: is for a scenario and for --against; {given} is an algorithm"));
    }
    if catalog::find(ours).is_none() {
        return Err(unknown_name("algorithm", given, CATALOG.iter().map(|entry| entry.name)));
    }
    if args.defaults {
        return defaults(ours, args.format);
    }
    let written = write(args, ours)?;
    match args.format {
        Format::Json => json::print(&output(ours, args.kernel, &written)),
        Format::Text => {
            terminal::print(&(written.lines.join("\n") + "\n"))?;
            written.notes.iter().for_each(|note| terminal::note(note));
            Ok(())
        }
    }
}

/// Lines, for JSON.
fn output(algorithm: &str, kernel: Kernel, written: &Written) -> serde_json::Value {
    json!({
        "algorithm": algorithm,
        "kernel": kernel.to_string(),
        "lines": written.lines,
        "notes": written.notes,
    })
}

fn write(args: &Args, name: &str) -> Result<Written, Failure> {
    let qdisc = quell_tc::QDISCS.iter().find(|(ours, _)| *ours == name).map(|(_, qdisc)| *qdisc);
    let usual = qdisc.and_then(|qdisc| quell_tc::usual(qdisc, args.kernel));
    let buffer =
        args.buffer.or(usual.as_ref().map(|usual| usual.buffer)).unwrap_or(QueueSize::Packets(1000.0));
    let ecn = args.ecn.or(usual.as_ref().map(|usual| usual.ecn)).unwrap_or(false);
    // The scenario's own parser reads the parameters, and the checks of a link are its own.
    let rate = args.rate.unwrap_or(BitRate::from_bps(1_000_000_000));
    let text = format!(
        "schema = 1\nduration = \"1 s\"\nflows = [{{ name = \"any\" }}]\naqm = [{{ algorithm = \"{name}\" }}]\n\
         dumbbell = {{ rate = \"{rate}\", delay = \"1 ms\", buffer = \"{buffer}\" }}\n"
    );
    let mut document = Document::parse(&text, "--set")?;
    // What nobody sets is the kernel's own, as where a scenario is read from lines.
    let kernels = catalog::find(name).map(|entry| quell_tc::as_in(args.kernel, (entry.default)()));
    for (key, value) in kernels.iter().flat_map(quell_tc::keys).filter(|(key, _)| *key != "algorithm") {
        document.set_text(&format!("aqm.{name}.{key}"), value.trim_matches('"')).map_err(without_line)?;
    }
    for (key, value) in &args.set {
        document.set_text(&format!("aqm.{name}.{key}"), value).map_err(without_line)?;
    }
    let study = document.study(&Plugins::new()).map_err(without_line)?;
    let at = study.points[0].link_at("bottleneck", Time::ZERO, &Plugins::new()).map_err(without_line)?;
    let Some((_, config)) = at.algorithms.into_iter().next() else {
        return Err(bad_input!("{name}: is not of the catalog"));
    };
    let link = Link { rate: args.rate, buffer, ecn, mean_packet: args.packet };
    let needs_rate = matches!(&config, AqmConfig::Cake(cake) if cake.bandwidth.is_none());
    quell_tc::write(&config, &link, &place(args, needs_rate)?, args.kernel).map_err(|e| bad_input!("{e}"))
}

/// Refuses, beside a scenario, what it says itself.
fn of_algorithms_only(args: &Args) -> Result<(), Failure> {
    let given = [
        ("--set", !args.set.is_empty()),
        ("--rate", args.rate.is_some()),
        ("--layer", args.layer.is_some()),
        ("--buffer", args.buffer.is_some()),
        ("--ecn", args.ecn.is_some()),
        ("--defaults", args.defaults),
        ("--at htb", args.at == At::Htb),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(bad_input!(
            "{name}: is for an algorithm's name; a scenario says it itself: leave it out, or change the file"
        )),
        None => Ok(()),
    }
}

/// The ifb device for what comes in at a device: a name has at most 15 letters.
fn ifb(device: &str) -> String {
    format!("ifb4{device}").chars().take(15).collect()
}

/// Where the queue goes. `needs_rate` says that it shapes itself, and has no rate of its own.
fn place(args: &Args, needs_rate: bool) -> Result<Place, Failure> {
    let device = written_device(args)?.to_string();
    if args.layer.is_some() && args.at == At::Root {
        return Err(bad_input!(
            "--layer: is for --at htb and --at ifb; cake has overhead, mpu and framing as parameters"
        ));
    }
    let shaped = |rate: BitRate| match &args.layer {
        None => Ok(Shaper::of_router(LinkLayer::plain(rate))),
        Some(word) => LinkLayer::named(word, rate).map(Shaper::of_router).ok_or_else(|| {
            bad_input!(
                "--layer: \"{}\" is no layer of tc-cake(8), such as docsis",
                quell_units::text::cut(word)
            )
        }),
    };
    Ok(match args.at {
        At::Root => Place::Root { device },
        At::Ifb => {
            if args.rate.is_none() && (args.layer.is_some() || needs_rate) {
                return Err(bad_input!(
                    "--at ifb: needs the rate to shape to, below the link's: give --rate"
                ));
            }
            let ifb = ifb(&device);
            Place::Ifb { device, ifb, shaped: args.rate.map(shaped).transpose()? }
        }
        At::Htb => {
            let rate = args
                .rate
                .ok_or_else(|| bad_input!("--at htb: needs the rate that it shapes to: give --rate"))?;
            Place::Htb { device, shaped: shaped(rate)? }
        }
    })
}

/// The device of what is written. Refuses a name that a device cannot have, or that a shell would not take for one.
fn written_device(args: &Args) -> Result<&str, Failure> {
    let name = args.dev.as_deref().unwrap_or("eth0");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | ':');
    if name.is_empty() || name.len() > 15 || !name.chars().all(plain) || name.starts_with('-') {
        return Err(bad_input!(
            "--dev: \"{}\" is no name of a device: at most 15 letters, digits, -, _ and dots",
            quell_units::text::cut(name)
        ));
    }
    Ok(name)
}

/// Prints what a qdisc has where a line says nothing.
fn defaults(name: &str, format: Format) -> Result<(), Failure> {
    let Some((_, qdisc)) = quell_tc::QDISCS.iter().find(|(algorithm, _)| *algorithm == name) else {
        let known: Vec<&str> = quell_tc::QDISCS.iter().map(|(algorithm, _)| *algorithm).collect();
        return Err(bad_input!("{name}: Linux has no such qdisc; it has {}", known.join(", ")));
    };
    let of = |kernel: Kernel| (kernel, defaults::of_qdisc(qdisc, kernel));
    let sets: Vec<_> = Kernel::KNOWN.into_iter().map(of).collect();
    if format == Format::Json {
        let set = |(kernel, set): &(Kernel, Option<&defaults::Defaults>)| {
            let words = set.map(|set| set.words);
            json!({
                "kernel": kernel.to_string(),
                "words": words,
                "measured": Kernel::MEASURED.contains(kernel),
                "source": set.map(|set| set.source),
            })
        };
        let sets: Vec<_> = sets.iter().map(set).collect();
        return json::print(&json!({ "algorithm": name, "qdisc": qdisc, "defaults": sets }));
    }
    // One row for all versions that have the same.
    let row = |same: &[(Kernel, Option<&defaults::Defaults>)]| {
        let [(first, set), ..] = same else { return Vec::new() };
        let last = same.last().map_or(*first, |(kernel, _)| *kernel);
        let versions = if last == *first { first.to_string() } else { format!("{first} to {last}") };
        let is_among = |kernel: &&Kernel| same.iter().any(|(other, _)| other == *kernel);
        let measured: Vec<String> = Kernel::MEASURED.iter().filter(is_among).map(Kernel::to_string).collect();
        let (words, source) = set.map_or(("not there", ""), |set| (set.words, set.source));
        vec![versions, words.to_string(), measured.join(", "), source.to_string()]
    };
    let words = |set: Option<&defaults::Defaults>| set.map(|set| set.words);
    let rows: Vec<Vec<String>> = sets.chunk_by(|a, b| words(a.1) == words(b.1)).map(row).collect();
    terminal::print(&table::text(&["Linux", &format!("defaults of {qdisc}"), "measured on", "from"], &rows))
}
