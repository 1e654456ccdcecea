//! `quell import`: traffic and links for scenarios, and results, of what was captured or measured elsewhere.

mod flent;
mod netem;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use quell_capture::{
    ArrivalOptions, Arrivals, ArrivalsError, CaptureError, Direction, Size, Subnet, arrivals,
};
use quell_units::BitRate;

use crate::captured::{Watched, open};
use crate::failure::Failure;
use crate::terminal::{self, Meter};
use crate::{folder, interrupt};

/// Arguments of `import`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    source: Source,
}

/// The sources.
#[derive(Debug, clap::Subcommand)]
enum Source {
    /// Import the arrivals of a packet capture, for `kind = "trace"`.
    Pcap(Pcap),
    /// Import measurements by Flent as results, to compare with simulated ones.
    Flent(flent::Args),
    /// Print the keys of a link for a line of Linux's netem.
    Netem(netem::Args),
}

/// Arguments of `import pcap`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell import pcap trace.pcap --direction down
  quell import pcap trace.pcapng --src 192.0.2.0/24 --out video.csv
  quell import pcap results/main/traces/codel-seed1.pcapng --interface \"bottleneck enqueue\" --keep-time

Writes the packets of one direction, with their times, sizes, flows and ECN fields, to the CSV file that kind = \
\"trace\" reads (docs/links.md), and prints the group of flows to paste into a scenario. Packets arrive at their \
recorded times no matter what the simulated link does, because nothing reacts to it. \"Up\" is what the side that \
opens connections sends, and \"down\" is what comes back, as in `quell measure`.")]
struct Pcap {
    /// The capture, as written by tcpdump or Wireshark; - for standard input.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// File to write the arrivals to.
    #[arg(long, short, value_name = "FILE", default_value = "arrivals.csv")]
    out: PathBuf,
    /// Replace an existing file.
    #[arg(long)]
    overwrite: bool,
    /// Direction to import; use "both" for a capture of one direction of one link that connections cross either way.
    #[arg(long, value_name = "WAY")]
    direction: Option<Way>,
    /// Networks on one side of the link, where "up" starts; default: the side that opens connections.
    #[arg(long, value_name = "NET", value_delimiter = ',')]
    inside: Vec<Subnet>,
    /// Only packets that come from these networks.
    #[arg(long, value_name = "NET", value_delimiter = ',')]
    src: Vec<Subnet>,
    /// The interface, by its name in a pcapng file or by its number.
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Link header bytes to add to each IP packet, or "frame" for the captured length.
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = size)]
    link_layer: Size,
    /// Keep the capture's times instead of counting from the first packet. In a capture of a simulated link, they are
    /// the times of its run.
    #[arg(long)]
    keep_time: bool,
    /// Import what comes before the damage, or before the end of an incomplete capture.
    #[arg(long)]
    partial: bool,
    /// Do not show progress.
    #[arg(long, short)]
    quiet: bool,
}

/// The directions to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Way {
    Up,
    Down,
    Both,
}

fn size(text: &str) -> Result<Size, String> {
    match text {
        "frame" => Ok(Size::Frame),
        _ => match text.parse::<u16>() {
            Ok(bytes) if bytes <= 1000 => Ok(Size::Ip(bytes)),
            _ => Err("must be a whole number of bytes from 0 to 1000, such as 14 for Ethernet, or \"frame\""
                .into()),
        },
    }
}

/// Makes traffic from a capture, results from a measurement, or keys from a line of netem.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    match &args.source {
        Source::Pcap(args) => pcap(args),
        Source::Flent(args) => flent::run(args, line),
        Source::Netem(args) => netem::run(args),
    }
}

fn pcap(args: &Pcap) -> Result<(), Failure> {
    let said = quell_files::name(&args.trace).to_string();
    if args.out.exists() && !args.overwrite {
        let out = quell_files::name(&args.out);
        return Err(bad_input!(
            "{out} already exists; use --overwrite to replace it, or --out to name another file"
        ));
    }
    let (input, size) = open(&args.trace)?;
    let stop = interrupt::listen();
    let meter = Meter::new(args.quiet);
    let options = ArrivalOptions {
        interface: args.interface.clone(),
        directions: args.direction.map(|way| match way {
            Way::Up => vec![Direction::Up],
            Way::Down => vec![Direction::Down],
            Way::Both => Direction::BOTH.to_vec(),
        }),
        inside: args.inside.clone(),
        sources: args.src.clone(),
        size: args.link_layer,
        keep_time: args.keep_time,
        partial: args.partial,
        most: quell_scenario::ARRIVALS,
    };
    let found = arrivals(Watched::new(input, size, &meter, stop), &options);
    meter.finish();
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted("the capture was not read completely; nothing was written".into()));
    }
    let found = found.map_err(|e| match e {
        ArrivalsError::Capture(CaptureError::Io(e)) if e.kind() != io::ErrorKind::InvalidData => {
            Failure::Failed(format!("{said}: {e}"))
        }
        e => bad_input!("{said}: {e}"),
    })?;
    folder::replace_by(&args.out, |out| csv(out, &said, &found))?;
    terminal::print(&text(&args.out, &said, &found))?;
    remarks(&said, &found).iter().for_each(|remark| terminal::note(remark));
    Ok(())
}

/// The arrivals in the form that scenarios read.
fn csv(out: &mut dyn Write, name: &str, found: &Arrivals) -> io::Result<()> {
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    writeln!(out, "# Arrivals of {name}, by quell import pcap.")?;
    writeln!(out, "time_s,bytes,flow,ecn,transport,syn,dscp")?;
    for packet in &found.packets {
        let time = packet.time.nanos();
        let (seconds, rest) = (time / 1_000_000_000, time % 1_000_000_000);
        let ecn = ["not-ect", "ect1", "ect0", "ce"][usize::from(packet.ecn & 3)];
        let transport = match packet.protocol {
            6 => "tcp",
            17 => "udp",
            _ => "other",
        };
        let (bytes, flow, syn, dscp) = (packet.bytes, packet.flow, u8::from(packet.syn), packet.dscp);
        writeln!(out, "{seconds}.{rest:09},{bytes},{flow},{ecn},{transport},{syn},{dscp}")?;
    }
    Ok(())
}

/// What was written, and how a scenario names it.
fn text(out: &Path, name: &str, found: &Arrivals) -> String {
    let last = found.packets.last().map_or(0.0, |packet| packet.time.as_secs_f64());
    let first = found.packets.first().map_or(0.0, |packet| packet.time.as_secs_f64());
    let bytes: u64 = found.packets.iter().map(|packet| u64::from(packet.bytes)).sum();
    let plural = |n: u64, what: &str| quell_units::text::plural(n as usize, what);
    let mut text = format!(
        "{name}: {} of {} in {}",
        plural(found.packets.len() as u64, "packet"),
        plural(found.flows.into(), "flow"),
        format_args!("{:.3} s", last - first)
    );
    if last > first {
        let rate = BitRate::from_bps((bytes as f64 * 8.0 / (last - first)).round() as u64);
        let _ = write!(text, ", {rate} on average");
    }
    let marked = found.packets.iter().filter(|packet| packet.ecn == 3).count() as u64;
    if marked > 0 {
        let _ = write!(text, "; {} came marked (CE)", plural(marked, "packet"));
    }
    // A file's name as TOML writes it; a relative one is looked for beside the scenario.
    let file = toml::Value::String(out.display().to_string());
    let _ = write!(
        text,
        "\narrivals  {}\n\nFor a scenario in the same folder that lasts at least {:.3} s:\n\n[[flows]]\nname = \
         \"capture\"\nkind = \"trace\"\nfile = {file}\n",
        quell_files::name(out),
        last
    );
    text
}

fn remarks(name: &str, found: &Arrivals) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(damage) = found.damage {
        remarks.push(format!(
            "{name}: {} at byte {}; the last {} bytes were not read",
            damage.why, damage.at_byte, damage.unread_bytes
        ));
    }
    if found.others > 0 {
        remarks.push(format!("{} other packets of the capture were left out", found.others));
    }
    if found.unreadable > 0 {
        remarks.push(format!("{} packets without an IP header or a time were left out", found.unreadable));
    }
    if found.late > 0 {
        remarks.push(format!(
            "{} packets have times earlier than the packet before them and were sorted",
            found.late
        ));
    }
    if found.large > 0 {
        remarks.push(format!(
            "{} packets are larger than an Ethernet frame (1518 bytes): the host captured them before its network card \
             split them, so bursts are larger than on the wire",
            found.large
        ));
    }
    remarks
}
