//! `quell measure`: R, N and C from a packet capture.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use quell_capture::{
    self as capture, Capacity, CapacityVerdict, CaptureError, Direction, Interval, Options, Report,
    RoundTrips, Subnet, Summary, Traffic,
};
use quell_units::BitRate;
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::captured::{Watched, open};
use crate::failure::Failure;
use crate::interrupt;
use crate::table::{self, Column, Tint};
use crate::terminal::{self, Meter};

/// Arguments of `measure`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell measure trace.pcap
  quell measure trace.pcapng --inside 192.0.2.0/24,2001:db8::/32
  tcpdump -w - -s 96 -G 60 -W 1 tcp | quell measure -
  quell measure trace.pcap --format json | jq .round_trips

Reads pcap and pcapng files, plain or compressed with gzip or zstd. 96 bytes of each packet are enough (128 with MPLS \
or PPPoE). \"Up\" is what the side that opens connections sends, and \"down\" is what comes back; with --inside, \
\"up\" is what leaves these networks.

Capture after the bottleneck, on the receivers' side. There the link has spaced the packets, so their spacing shows \
its capacity. Before the bottleneck, on the senders' side, the spacing shows only the senders' own timing. The \
capacity then comes from acknowledgments while packets wait at the bottleneck, if it can be determined at all. Start \
the capture before the connections start, because R is the time that handshakes take.")]
pub struct Args {
    /// The capture, as written by tcpdump or Wireshark; - for standard input.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Length of the intervals over which active flows are counted.
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    interval: quell_units::Duration,
    /// How long a flow counts as active after its last packet.
    #[arg(long, value_name = "TIME", default_value = "60 s")]
    window: quell_units::Duration,
    /// Networks on one side of the link; default: the side that opens connections.
    #[arg(long, value_name = "NET", value_delimiter = ',')]
    inside: Vec<Subnet>,
    /// Also print the results of every interval.
    #[arg(long)]
    intervals: bool,
    /// Do not show progress.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// The JSON of `measure`.
#[derive(Serialize)]
struct Output<'a> {
    trace: String,
    interval_s: f64,
    window_s: f64,
    #[serde(flatten)]
    report: &'a Report,
    /// The command to run next; null if C, R or N is missing.
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<&'a [Interval]>,
}

/// Measures a capture.
pub fn run(args: &Args, _: Vec<String>) -> Result<(), Failure> {
    let (name, said) = (args.trace.display().to_string(), quell_files::name(&args.trace));
    let (input, size) = open(&args.trace)?;
    let stop = interrupt::listen();
    let meter = Meter::new(args.quiet);
    let watched = Watched::new(input, size, &meter, stop);
    let options = Options { interval: args.interval, window: args.window, inside: args.inside.clone() };
    let mut intervals = Vec::new();
    let keep = |interval: &Interval| {
        if args.intervals {
            intervals.push(*interval);
        }
    };
    let report = capture::measure(watched, &options, keep);
    meter.finish();
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted("the capture was not read completely; nothing was printed".into()));
    }
    let report = report.map_err(|e| match e {
        CaptureError::Io(e) if e.kind() == io::ErrorKind::InvalidData => bad_input!("{said}: {e}"),
        CaptureError::Io(_) => Failure::Failed(format!("{said}: {e}")),
        CaptureError::Option(e) => bad_input!("--{e}"),
        e => bad_input!("{said}: {e}"),
    })?;
    if args.format.format == Format::Json {
        return crate::json::print(&Output {
            trace: name,
            interval_s: options.interval.as_secs_f64(),
            window_s: options.window.as_secs_f64(),
            report: &report,
            next: next(report.busier(), &report),
            intervals: args.intervals.then_some(&intervals),
        });
    }
    terminal::print(&text(&said, &report, &options, &intervals))?;
    remarks(&said, &report).iter().for_each(|remark| terminal::note(remark));
    Ok(())
}

fn text(name: &str, report: &Report, options: &Options, intervals: &[Interval]) -> String {
    let format = match report.format {
        capture::Format::Pcap => "pcap",
        capture::Format::Pcapng => "pcapng",
    };
    let [duration, bytes] = [time(report.duration_s), scaled(report.bytes as f64, &BYTES)];
    let mut text = format!("{name}\n{format}: {} packets, {bytes}, {duration}\n\n", report.packets);
    if report.directions.iter().all(|d| d.packets == 0) {
        return text + "No IP packets to measure.\n";
    }
    text += &directions(report);
    text += "\n";
    let main = report.busier();
    let way = word(main.direction);
    let header = ["", way, "how, and what it assumes"];
    let rows = [capacity(&main.capacity), flows(main, report, options), round_trip(report)];
    text += &table::text(&header, &rows);
    if !intervals.is_empty() {
        text += "\n";
        text += &every_interval(intervals);
    }
    text += "\n";
    text += "next  ";
    text += &next(main, report).unwrap_or_else(|| {
        let needed = [
            (main.capacity.capacity_bps.is_none(), "C, from a capture after the bottleneck"),
            (
                report.round_trips.is_none_or(|t| t.median_s() == 0.0),
                "R, from a capture that begins before its connections",
            ),
            (main.flows.active == 0, "N, from a capture of TCP flows that send data"),
        ];
        let needed: Vec<&str> =
            needed.iter().filter(|(missing, _)| *missing).map(|(_, what)| *what).collect();
        format!("quell design needs {}", needed.join(";\n      "))
    });
    text += "\n";
    if let Some(low) = report.round_trips.as_ref().and_then(shortest_of_varied) {
        text += &format!(
            "      If the queue caused the longer round trips, not longer paths: --rtt with {}\n      plus the delay \
             that you want the queue to have.\n",
            time(low)
        );
    }
    text
}

/// The round trip that 5% of the handshakes were faster than, in seconds, if half of all took more than twice as long:
/// the others may have waited in the queue that is to become shorter.
fn shortest_of_varied(trips: &RoundTrips) -> Option<f64> {
    let [low, ..] = trips.quantiles_s;
    (low > 0.0 && trips.median_s() > 2.0 * low).then_some(low)
}

fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "up",
        Direction::Down => "down",
    }
}

/// The traffic of each direction.
fn directions(report: &Report) -> String {
    let plain = |text: String| (text, Tint::Plain);
    let names = Column::names("", report.directions.iter().map(|d| word(d.direction)));
    let column = |title: &str, unit: &str, cell: &dyn Fn(&Summary) -> Option<String>| {
        let cells = report.directions.iter().map(|d| plain(cell(d).unwrap_or_else(|| "–".into())));
        Column::new(title, unit, cells)
    };
    let share = |x: Option<f64>| x.map(|x| digits(100.0 * x, 3));
    let columns = [
        column("packets", "", &|d| Some(d.packets.to_string())),
        column("mean rate", "Mbit/s", &|d| d.rate_bps.map(|r| digits(r / 1e6, 3))),
        column("busiest 100 ms", "Mbit/s", &|d| d.capacity.busiest_bps.map(|r| digits(r / 1e6, 3))),
        column("mean packet", "bytes", &|d| d.mean_packet_bytes.map(|b| digits(b, 4))),
        column("active flows", "", &|d| Some(d.flows.active.to_string())),
        column("5-tuples in window", "", &|d| Some(d.flows.flows.to_string())),
        column("sent again", "%", &|d| share(d.retransmitted_share)),
        column("ECN", "%", &|d| share(d.ect_share)),
        column("marked", "%", &|d| share(d.ce_share)),
    ];
    table::figures(&names, &columns)
}

fn capacity(c: &Capacity) -> Vec<String> {
    let busiest = c.busiest_bps.map(|r| scaled(r, &RATES)).unwrap_or_default();
    let at = time(c.busiest_at_s.unwrap_or(0.0));
    let agree = c.pairs.map_or(0.0, |p| 100.0 * p.share);
    let of = c.pairs.map_or(0, |p| p.pairs);
    let pairs = c.pairs.map(|p| scaled(p.rate_bps, &RATES)).unwrap_or_default();
    let (value, how) = match c.verdict {
        CapacityVerdict::Full => (
            c.capacity_bps.map(|r| scaled(r, &RATES)).unwrap_or_default(),
            format!(
                "The link was full: the busiest 100 ms (at {at}) carried {busiest}, which is within 10% of the rate \
                 that packet pairs show ({pairs}; {agree:.0}% of them agree). Assumes a capture at or after the \
                 bottleneck, and that the link spaced the packets; a sender that paces evenly looks the same."
            ),
        ),
        CapacityVerdict::NeverFull => (
            pairs,
            format!(
                "Packet pairs: {agree:.0}% of {of} agree. No interval of 100 ms was full{}. Assumes that pairs left \
                 the slowest link before the capture back to back and were timestamped individually.",
                if busiest.is_empty() { String::new() } else { format!("; the busiest carried {busiest}") }
            ),
        ),
        CapacityVerdict::Beyond => beyond(c),
        CapacityVerdict::AtLeast => (
            format!("at least {busiest}"),
            format!(
                "The capacity cannot be determined: {}. This is the busiest 100 ms (at {at}). Assumes a capture at or \
                 after the bottleneck.",
                match c.pairs {
                    Some(p) if p.told => format!("packet pairs show {pairs}, which is less than was carried"),
                    Some(p) if p.pairs < 10 => format!("there are only {of} packet pairs"),
                    Some(p) if p.share >= 0.5 =>
                        "packets came closer together than the capture's clock resolves".into(),
                    Some(p) if p.share >= 0.1 => format!(
                        "only {agree:.0}% of {of} packet pairs agree on a rate ({pairs}); when fewer than half agree, \
                         the capacity is often different (Dovrolis et al. 2001)"
                    ),
                    _ => format!("packet pairs do not agree on a rate (at most {agree:.0}% do)"),
                }
            ),
        ),
        CapacityVerdict::Unknown => ("–".into(), "Too little was captured.".into()),
    };
    vec!["C".into(), value, how]
}

/// The capacity of a link that the packets had yet to pass.
fn beyond(c: &Capacity) -> (String, String) {
    const ELSEWHERE: &str = "capture after it, on the receivers' side";
    let Some(a) = c.acknowledged else {
        let share = 100.0 * c.senders_share.unwrap_or(0.0);
        let how = format!(
            "The capacity cannot be determined: the capture is from the senders' side ({}% of the round-trip time lies \
             there), its packets had yet to pass the bottleneck, and none were seen to wait there. To measure it, \
             {ELSEWHERE}.",
            digits(share, 2)
        );
        return ("–".into(), how);
    };
    let [low, high] = a.quartiles_bps.map(|rate| scaled(rate, &RATES));
    let seen = format!("in {} of {} stretches of at least 100 ms", a.waiting, a.stretches);
    match c.capacity_bps {
        Some(rate) => (
            scaled(rate, &RATES),
            format!(
                "The acknowledgment clock: packets waited beyond the capture point {seen}, and this is the median rate \
                 acknowledged then (half of them {low} to {high}). The spacing of the packets themselves shows nothing \
                 at that point. Assumes that the capture holds everything the link carries, and that data waited, not \
                 acknowledgments on their way back."
            ),
        ),
        None => (
            "–".into(),
            format!(
                "The capacity cannot be determined: packets waited beyond the capture point {seen}, but \
                 acknowledgments do not agree on a rate (half of them {low} to {high}). Either losses were repaired, \
                 so that one acknowledgment covers everything behind a gap, or the link's rate changes, or it carries \
                 traffic that is not in the capture. To measure it, {ELSEWHERE}."
            ),
        ),
    }
}

fn flows(main: &Summary, report: &Report, options: &Options) -> Vec<String> {
    let count = main.flows;
    let plural = if count.active == 1 { "" } else { "s" };
    let mut how = format!(
        "TCP flows that sent data within {}: the median over the intervals. The last {} had {} 5-tuples, {} of them \
         with data (Chen 2010, section 4.4), including flows that had ended.",
        options.interval, options.window, count.flows, count.data_flows
    );
    if !report.window_filled {
        how += " The capture is shorter than that.";
    }
    vec!["N".into(), format!("{} flow{plural}", count.active), how]
}

fn round_trip(report: &Report) -> Vec<String> {
    let repeated = match report.repeated_handshakes {
        0 => String::new(),
        n => format!(" {n} with a repeated SYN were left out."),
    };
    let (value, how) = match &report.round_trips {
        None => ("–".into(), format!("No complete handshake was captured.{repeated}")),
        Some(trips) => {
            let [low, .., high] = trips.quantiles_s;
            let how = format!(
                "The median of {} handshakes, from the SYN to the acknowledgment of its answer (5% took less than {}, \
                 5% more than {}).{repeated} Includes the queueing delay at that time.",
                trips.handshakes,
                time(low),
                time(high)
            );
            (time(trips.median_s()), how)
        }
    };
    vec!["R".into(), value, how]
}

fn every_interval(intervals: &[Interval]) -> String {
    let column = |title: &str, unit: &str, cell: &dyn Fn(&Interval) -> Option<String>| {
        let cells = intervals.iter().map(|i| (cell(i).unwrap_or_else(|| "–".into()), Tint::Plain));
        Column::new(title, unit, cells)
    };
    let rate = |i: &Interval, t: &Traffic| {
        (i.length_s > 0.0).then(|| format!("{:.3}", t.bytes as f64 * 8.0 / i.length_s / 1e6))
    };
    let names = column("from", "s", &|i| Some(format!("{:.3}", i.start_s)));
    let columns = [
        column("up", "Mbit/s", &|i| rate(i, &i.up)),
        column("down", "Mbit/s", &|i| rate(i, &i.down)),
        column("active up", "", &|i| Some(i.up.flows.active.to_string())),
        column("active down", "", &|i| Some(i.down.flows.active.to_string())),
        column("5-tuples up", "", &|i| Some(i.up.flows.flows.to_string())),
        column("5-tuples down", "", &|i| Some(i.down.flows.flows.to_string())),
        column("new", "", &|i| Some(i.new_connections.to_string())),
        column("R", "ms", &|i| i.rtt_mean_s.map(|r| format!("{:.3}", r * 1e3))),
    ];
    table::figures(&names, &columns)
}

/// The size of a packet that `quell design` assumes, in bytes.
const PACKET: u64 = 1000;

/// The command that designs for what was measured; none unless C, R and N were.
fn next(main: &Summary, report: &Report) -> Option<String> {
    let rate = main.capacity.capacity_bps?;
    let rate = BitRate::from_bps(significant(rate).parse::<f64>().ok()? as u64);
    let rtt = report.round_trips?.median_s() * 1e9;
    let rtt = quell_units::Duration::from_nanos(significant(rtt).parse::<f64>().ok()? as u64);
    let flows = main.flows.active;
    if flows == 0 || rate.bps() == 0 || rtt.is_zero() {
        return None;
    }
    // Without blanks nothing needs quotes.
    let plain = |text: String| text.replace(' ', "");
    let (rate, rtt) = (plain(rate.to_string()), plain(rtt.to_string()));
    let packet = main
        .mean_packet_bytes
        .map(|bytes| bytes.round() as u64)
        .filter(|bytes| *bytes > 0 && *bytes != PACKET);
    let packet = packet.map_or_else(String::new, |bytes| format!(" --packet {bytes}B"));
    Some(format!("quell design --rate {rate} --rtt {rtt} --flows {flows}{packet} --aqm pi"))
}

/// Remarks about the file that a reader of the results must know.
fn remarks(name: &str, report: &Report) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(d) = report.damage {
        let bytes = d.unread_bytes;
        remarks.push(format!(
            "{name}: {} at byte {}; the last {bytes} bytes are not measured",
            d.why, d.at_byte
        ));
    }
    if report.unreadable > 0 {
        remarks.push(format!("{name}: {} blocks could not be parsed", report.unreadable));
    }
    if let Some(dropped) = report.dropped.filter(|&n| n > 0) {
        remarks.push(format!("the capturing host dropped {dropped} packets, so all counts are too low"));
    }
    if let Some((packets, link)) = report.unknown_link {
        remarks.push(format!("{packets} packets have an unsupported link type (LINKTYPE {link})"));
    }
    if report.untimed > 0 {
        remarks.push(format!("{} packets have no timestamp and are not measured", report.untimed));
    }
    if report.late > 0 {
        remarks.push(format!(
            "{} packets have timestamps earlier than a preceding packet; they are counted in file order",
            report.late
        ));
    }
    if report.not_ip > 0 {
        let (listed, rest) = report.not_ip_kinds.split_at(report.not_ip_kinds.len().min(4));
        let mut kinds: Vec<String> = listed.iter().map(|k| format!("{} ({})", k.what, k.packets)).collect();
        if !rest.is_empty() {
            kinds.push(format!("others ({})", rest.iter().map(|kind| kind.packets).sum::<u64>()));
        }
        remarks.push(format!(
            "{} of {} packets are not measured because no IP header was found in them: {}",
            report.not_ip,
            report.packets,
            kinds.join(", ")
        ));
    }
    remarks
}

const RATES: [(f64, &str); 4] = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")];
const BYTES: [(f64, &str); 4] = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes")];
const TIMES: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];

/// A number in the largest unit that fits.
fn scaled(x: f64, units: &[(f64, &str); 4]) -> String {
    let (size, unit) = units.iter().find(|(size, _)| x >= *size).unwrap_or(&units[3]);
    format!("{} {unit}", digits(x / size, 3))
}

fn time(seconds: f64) -> String {
    if seconds == 0.0 { "0 s".into() } else { scaled(seconds, &TIMES) }
}

/// A number with so many digits, and none behind the point that say nothing.
fn digits(x: f64, n: i32) -> String {
    // Rounded first, for that may add a digit; text of this form always parses.
    let x: f64 = format!("{x:.*e}", (n - 1) as usize).parse().unwrap_or(x);
    let exponent = if x == 0.0 { n - 1 } else { x.abs().log10().floor() as i32 };
    let decimals = (n - 1 - exponent).clamp(0, 9) as usize;
    format!("{x:.decimals$}")
}

/// Three significant digits of a positive number.
fn significant(x: f64) -> String {
    format!("{x:.2e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(scaled(9.87654e6, &RATES), "9.88 Mbit/s");
        assert_eq!(scaled(123_456.0, &RATES), "123 kbit/s");
        assert_eq!(scaled(1_234_567_890_123.0, &BYTES), "1230 GB");
        assert_eq!(
            (time(0.0441), time(2.5e-5), time(0.0), time(123.4)),
            ("44.1 ms".into(), "25.0 µs".into(), "0 s".into(), "123 s".into())
        );
        assert_eq!((digits(0.0, 3), digits(9.9958, 3)), ("0".into(), "10.0".into()));
        assert_eq!(digits(1514.0, 4), "1514");
    }

    #[test]
    fn every_verdict_has_its_words() {
        let pairs = capture::Pairs { rate_bps: 1e7, pairs: 1000, share: 0.5, told: true };
        let of = |verdict, busiest: Option<f64>, pairs| {
            let at = busiest.map(|_| 3.0);
            let c = Capacity {
                busiest_bps: busiest,
                busiest_at_s: at,
                pairs,
                acknowledged: None,
                senders_share: None,
                verdict,
                capacity_bps: pairs.map(|p: capture::Pairs| p.rate_bps),
            };
            capacity(&c).join(" ")
        };
        let full = of(CapacityVerdict::Full, Some(9.9e6), Some(pairs));
        assert!(
            full.starts_with("C 10.0 Mbit/s The link was full") && full.contains("carried 9.90 Mbit/s"),
            "{full}"
        );
        let free = of(CapacityVerdict::NeverFull, Some(2e6), Some(pairs));
        assert!(
            free.starts_with("C 10.0 Mbit/s Packet pairs") && free.contains("carried 2.00 Mbit/s"),
            "{free}"
        );
        assert!(!of(CapacityVerdict::NeverFull, None, Some(pairs)).contains("carried"));
        let coarse = capture::Pairs { told: false, ..pairs };
        let vague = capture::Pairs { share: 0.02, ..coarse };
        let few = capture::Pairs { share: 0.15, rate_bps: 3e7, ..coarse };
        for (pairs, part) in [
            (Some(pairs), "less than was carried"),
            (Some(few), "only 15% of 1000 packet pairs agree on a rate (30.0 Mbit/s); when fewer"),
            (Some(coarse), "closer together than the capture's clock"),
            (Some(capture::Pairs { pairs: 9, ..coarse }), "there are only 9 packet pairs"),
            (Some(vague), "do not agree on a rate (at most 2% do)"),
            (None, "do not agree on a rate"),
        ] {
            let least = of(CapacityVerdict::AtLeast, Some(2e7), pairs);
            assert!(least.starts_with("C at least 20.0 Mbit/s") && least.contains(part), "{least}");
        }
        assert!(of(CapacityVerdict::Unknown, None, None).contains("Too little"));

        let a = capture::Acknowledged {
            rate_bps: 1e7,
            quartiles_bps: [9.9e6, 1.01e7],
            waiting: 90,
            stretches: 100,
        };
        let of = |acknowledged, capacity_bps| {
            let c = Capacity {
                busiest_bps: Some(2e7),
                busiest_at_s: Some(0.3),
                pairs: Some(pairs),
                acknowledged,
                senders_share: Some(0.002),
                verdict: CapacityVerdict::Beyond,
                capacity_bps,
            };
            capacity(&c).join(" ")
        };
        let clock = of(Some(a), Some(1e7));
        assert!(
            clock.starts_with("C 10.0 Mbit/s The acknowledgment clock") && clock.contains("in 90 of 100"),
            "{clock}"
        );
        let differ = of(Some(a), None);
        assert!(differ.starts_with("C – ") && differ.contains("do not agree on a rate"), "{differ}");
        assert!(
            differ.contains("losses were repaired") && differ.contains("or the link's rate changes"),
            "{differ}"
        );
        let own = of(None, None);
        assert!(own.starts_with("C – ") && own.contains("0.20% of the round-trip time"), "{own}");
    }
}
