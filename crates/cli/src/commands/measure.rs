//! `quell measure`: R, N and C from a packet capture.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use quell_capture::{
    self as capture, Capacity, CapacityVerdict, CaptureError, Direction, Interval, Layer, Options, Report,
    RoundTrips, Subnet, Summary, Traffic, TripMethod,
};
use quell_recommend::{Goal, Load, Plan, Request, Span};
use quell_router::Can;
use quell_router::technology::{self, Technology};
use quell_units::{BitRate, Bytes, Duration};
use serde::Serialize;

use crate::args::{Format, FormatArgs};
use crate::captured::{Watched, open};
use crate::evidence::{self, Iperf3, Irtt, Transfer};
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
  quell measure trace.pcap --layer docsis --iperf3 iperf3.json --irtt irtt.json
  quell measure traces/codel-seed1.pcapng --interface \"bottleneck dequeue,reverse dequeue\"
  quell measure trace.pcap --format json | jq .round_trips

Reads pcap and pcapng files, plain or compressed with gzip or zstd. 96 bytes of each packet are enough (128 with MPLS \
or PPPoE). \"Up\" is what the side that opens connections sends, and \"down\" is what comes back; with --inside, \
\"up\" is what leaves these networks.

Rates and packets are those of IP: the headers that a link adds differ from link to link. --layer counts them in. The \
rates of quell wire and quell gateway are of IP, too.

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
    interval: Duration,
    /// How long a flow counts as active after its last packet.
    #[arg(long, value_name = "TIME", default_value = "60 s")]
    window: Duration,
    /// Networks on one side of the link; default: the side that opens connections.
    #[arg(long, value_name = "NET", value_delimiter = ',')]
    inside: Vec<Subnet>,
    /// The layer of rates and packets: ip, capture (the frames as captured), ptm, or a word of tc-cake(8) such as ethernet,
    /// docsis or pppoe-ptm.
    #[arg(long, value_name = "LAYER", default_value = "ip")]
    layer: Layer,
    /// The interfaces to measure, by their names in a pcapng file; default: all.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    interface: Vec<String>,
    /// What iperf3 measured on the link, as written with --json.
    #[arg(long, value_name = "FILE")]
    iperf3: Option<PathBuf>,
    /// What irtt measured on the link, as written with -o.
    #[arg(long, value_name = "FILE")]
    irtt: Option<PathBuf>,
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
    /// What iperf3 measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    iperf3: Option<&'a Iperf3>,
    /// What irtt measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    irtt: Option<&'a Irtt>,
    /// What contradicts the capture.
    contradictions: &'a [String],
    /// The command to run next; null if R or the rates of both directions are missing.
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<&'a [Interval]>,
}

/// Measures a capture.
pub fn run(args: &Args, _: Vec<String>) -> Result<(), Failure> {
    let (name, said) = (args.trace.display().to_string(), quell_files::name(&args.trace));
    let iperf3 = args.iperf3.as_deref().map(evidence::iperf3).transpose()?;
    let irtt = args.irtt.as_deref().map(evidence::irtt).transpose()?;
    let (input, size) = open(&args.trace)?;
    let stop = interrupt::listen();
    let meter = Meter::new(args.quiet);
    let watched = Watched::new(input, size, &meter, stop);
    let options = Options {
        interval: args.interval,
        window: args.window,
        inside: args.inside.clone(),
        interfaces: args.interface.clone(),
        layer: args.layer,
    };
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
    let beside = Beside { iperf3, irtt };
    let contradictions = beside.contradictions(&report);
    let next = next(args, &report);
    if args.format.format == Format::Json {
        return crate::json::print(&Output {
            trace: name,
            interval_s: options.interval.as_secs_f64(),
            window_s: options.window.as_secs_f64(),
            report: &report,
            iperf3: beside.iperf3.as_ref(),
            irtt: beside.irtt.as_ref(),
            contradictions: &contradictions,
            next: next.and_then(|next| next.command),
            intervals: args.intervals.then_some(&intervals),
        });
    }
    let identify = identify(args, &report);
    // It changes what all of the figures below mean.
    if report.interfaces.len() > 1 {
        terminal::note(&format!(
            "the capture has packets of several interfaces: one that passed two of them counts twice in all rates, and as \
             sent again; choose with --interface: {}",
            report.interfaces.join(", ")
        ));
    }
    terminal::print(&text(&said, &report, &options, &beside, next, identify, &intervals))?;
    remarks(&said, &report).iter().chain(&contradictions).for_each(|remark| terminal::note(remark));
    Ok(())
}

fn text(
    name: &str,
    report: &Report,
    options: &Options,
    beside: &Beside,
    next: Option<Next>,
    identify: Option<String>,
    intervals: &[Interval],
) -> String {
    let format = match report.format {
        capture::Format::Pcap => "pcap",
        capture::Format::Pcapng => "pcapng",
    };
    let [duration, bytes] = [time(report.duration_s), scaled(report.bytes as f64, &BYTES)];
    let mut text = format!("{name}\n{format}: {} packets, {bytes}, {duration}\n", report.packets);
    if report.directions.iter().all(|d| d.packets == 0) {
        return text + "\nNo IP packets to measure.\n";
    }
    text += &format!("{}\n\n", at_layer(options.layer));
    text += &directions(report);
    text += "\n";
    // The busier direction first.
    let main = report.busier();
    let mut ways: Vec<&Summary> = report.directions.iter().filter(|d| d.packets > 0).collect();
    ways.sort_by_key(|d| d.direction != main.direction);
    let header = ["", "", "how, and what it assumes"];
    let mut rows: Vec<Vec<String>> = ways.iter().map(|way| capacity(way, options.layer)).collect();
    rows.extend(ways.iter().filter(|way| way.data_packets > 0).map(|way| flows(way, report, options)));
    rows.push(round_trip(report));
    rows.extend(ways.iter().filter_map(|way| loaded(way, report)));
    rows.extend(quic(report));
    rows.extend(ways.iter().filter_map(|way| echoes(way)));
    rows.extend(beside.rows());
    text += &table::text(&header, &rows);
    if !intervals.is_empty() {
        text += "\n";
        text += &every_interval(intervals);
    }
    text += "\n";
    text += "next  ";
    let next = next.unwrap_or_else(|| {
        let needed = [
            (
                report.directions.iter().all(|d| d.capacity.capacity_bps.is_none()),
                "C, from a capture after the bottleneck while the link is full",
            ),
            (shortest(report).is_none(), "R, from a capture that begins before its connections"),
        ];
        let needed: Vec<&str> =
            needed.iter().filter(|(missing, _)| *missing).map(|(_, what)| *what).collect();
        let words = format!("quell recommend needs {}", needed.join(";\n      "));
        Next { command: None, words: vec![words] }
    });
    let is_varied = next.command.is_some();
    let lines: Vec<String> = next.command.into_iter().chain(next.words).chain(identify).collect();
    text += &lines.join("\n      ");
    text += "\n";
    if let Some(low) = report.round_trips.as_ref().and_then(shortest_of_varied).filter(|_| is_varied) {
        text += &format!(
            "      Handshakes that took longer than {} are taken to have waited in the queue. If some paths are longer: --rtt \
             up to\n      theirs.\n",
            time(low)
        );
    }
    text
}

/// A word about the layer of rates and packets.
fn at_layer(layer: Layer) -> String {
    match layer {
        Layer::Ip => "rates and packets are those of IP (--layer counts a link's headers in)".into(),
        Layer::Capture => "rates and packets are those of the frames in the capture".into(),
        Layer::Link(word, _) => {
            format!("rates and packets are those of {word}, as tc-cake(8) counts its headers")
        }
    }
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
        column("packets", "", &|d| Some(d.path_packets.to_string())),
        column("mean rate", "Mbit/s", &|d| d.rate_bps.map(|r| digits(r / 1e6, 3))),
        column("busiest 100 ms", "Mbit/s", &|d| d.capacity.busiest_bps.map(|r| digits(r / 1e6, 3))),
        column("mean packet", "bytes", &|d| d.mean_packet_bytes.map(|b| digits(b, 4))),
        column("with data", "bytes", &|d| d.mean_data_packet_bytes.map(|b| digits(b, 4))),
        column("active flows", "", &|d| Some(d.flows.active.to_string())),
        column("5-tuples in window", "", &|d| Some(d.flows.flows.to_string())),
        column("sent again", "%", &|d| share(d.retransmitted_share)),
        column("ECT(0)", "%", &|d| share(d.ect0_share)),
        column("ECT(1)", "%", &|d| share(d.ect1_share)),
        column("marked", "%", &|d| share(d.ce_share)),
    ];
    table::figures(&names, &columns)
}

/// Tells whether a direction carried data, and not just acknowledgments with the little that controls a transfer.
fn carries_data(way: &Summary) -> bool {
    way.data_packets * 10 >= way.path_packets.max(1)
}

/// The capacity of a direction, at the layer and at those beside it.
fn capacity(way: &Summary, layer: Layer) -> Vec<String> {
    let name = format!("C {}", word(way.direction));
    if !carries_data(way) {
        let how = "Nearly all that went this way were acknowledgments, and they do not fill a link. To measure it, capture a \
                   transfer in this direction.";
        return vec![name, "–".into(), how.into()];
    }
    let (value, mut how) = capacity_of(&way.capacity);
    let elsewhere = match layer {
        Layer::Capture => way.capacity_ip_bps.map(|rate| (rate, "of IP")),
        _ => way.capacity_capture_bps.map(|rate| (rate, "in the capture's frames")),
    };
    if let Some((rate, what)) = elsewhere {
        let layer = match layer {
            Layer::Ip => "IP".into(),
            Layer::Capture => "The capture's frames".into(),
            Layer::Link(word, _) => word.to_string(),
        };
        how = format!("{layer}; {} {what}. {how}", scaled(rate, &RATES));
    }
    vec![name, value, how]
}

fn capacity_of(c: &Capacity) -> (String, String) {
    let busiest = c.busiest_bps.map(|r| scaled(r, &RATES)).unwrap_or_default();
    let at = time(c.busiest_at_s.unwrap_or(0.0));
    let agree = c.pairs.map_or(0.0, |p| 100.0 * p.share);
    let of = c.pairs.map_or(0, |p| p.pairs);
    let pairs = c.pairs.map(|p| scaled(p.rate_bps, &RATES)).unwrap_or_default();
    match c.verdict {
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
        CapacityVerdict::Ceiling => ceiling(c),
        CapacityVerdict::AtLeast => (
            format!("at least {busiest}"),
            format!(
                "The capacity cannot be determined: {}. This is the busiest 100 ms (at {at}). Assumes a capture at or \
                 after the bottleneck, and no policer: that lets bursts pass faster than its rate.",
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
    }
}

/// The capacity by the rate that stays while packets wait.
fn ceiling(c: &Capacity) -> (String, String) {
    let Some(w) = c.waiting else { return ("–".into(), String::new()) };
    let [low, high] = w.quartiles_bps.map(|rate| scaled(rate, &RATES));
    let how = format!(
        "By TCP's time stamps, packets waited before the capture point throughout {} of {} stretches of 100 ms, and this is \
         the median rate then (half of them {low} to {high}). The gaps between packets do not show it, as behind a relay or a \
         card that passes them on in batches. Assumes that stamps count milliseconds, as usual.",
        w.waiting, w.stretches
    );
    (scaled(w.rate_bps, &RATES), how)
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

fn flows(way: &Summary, report: &Report, options: &Options) -> Vec<String> {
    let count = way.flows;
    let plural = if count.active == 1 { "" } else { "s" };
    let mut how = format!(
        "TCP and QUIC flows that sent data within {}: the median over the busy intervals, with at least half of the highest \
         rate. The last {} had {} 5-tuples, {} of them with data (Chen 2010, section 4.4), including flows that had \
         ended.",
        options.interval, options.window, count.flows, count.data_flows
    );
    if !report.window_filled {
        how += " The capture is shorter than that.";
    }
    vec![format!("N {}", word(way.direction)), format!("{} flow{plural}", count.active), how]
}

/// Round trips under load.
fn loaded(way: &Summary, report: &Report) -> Option<Vec<String>> {
    if !carries_data(way) {
        return None;
    }
    let name = format!("R {}, loaded", word(way.direction));
    let Some((trips, method)) = way.loaded_round_trips.zip(way.round_trip_method) else {
        let how = "Round trips under load need TCP time stamps in both directions (tcpdump -s 96 keeps them), the spin bit \
                   of QUIC, or a capture next to the senders with both directions.";
        return Some(vec![name, "–".into(), how.into()]);
    };
    let [median, most, tail] = trips.quantiles_s.map(time);
    let how = match method {
        TripMethod::Timestamps => "TCP time stamps, returned and returned again",
        TripMethod::SpinBit => "the spin bit of QUIC (RFC 9000 section 17.4)",
        TripMethod::Acknowledgments => "data to their acknowledgments, next to the senders",
    };
    let how = format!(
        "P50 {median}, P95 {most}, P99 {tail}; {} without a queue (the shortest seen). {} round trips of data in this direction while it was \
         busy: {how}. Includes the queues of both directions.",
        time(shortest(report).unwrap_or(trips.least_s)),
        trips.samples
    );
    Some(vec![name, median, how])
}

/// QUIC whose round trips cannot be told.
fn quic(report: &Report) -> Option<Vec<String>> {
    let (all, spinning) = (report.quic_connections, report.quic_spinning);
    if all == spinning {
        return None;
    }
    let how = "The spin bit of the others is constant or random (RFC 9000 lets an end switch it off), too few packets were \
               seen, or one direction was not captured. Nothing else in QUIC's packets shows a round trip: measure with \
               TCP or irtt beside it.";
    Some(vec!["QUIC".into(), format!("{spinning} of {all} spin"), how.into()])
}

/// The marks of a direction that its receivers sent back.
fn echoes(way: &Summary) -> Option<Vec<String>> {
    let e = way.echoes;
    if way.ce_packets == 0 && e.ece == 0 && e.accurate_marks == 0 {
        return None;
    }
    let mut how = format!("{} packets passed here with CE.", way.ce_packets);
    if e.accurate_acknowledgments > 0 {
        let (marks, all) = (e.accurate_marks, e.accurate_acknowledgments);
        how += &format!(
            " By the ACE field in {all} acknowledgments, {marks} came marked to their receivers (RFC 9768)."
        );
    }
    if e.acknowledgments > 0 {
        let (ece, all) = (e.ece, e.acknowledgments);
        how += &format!(
            " {ece} of {all} acknowledgments have ECE, which stays until the sender answers (RFC 3168)."
        );
    }
    if way.ce_packets == 0 {
        how += " The queue that marks lies behind this place.";
    }
    Some(vec![format!("CE {}", word(way.direction)), way.ce_packets.to_string(), how])
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

/// The shortest round trip that is known, in seconds.
fn shortest(report: &Report) -> Option<f64> {
    let handshakes = report.round_trips.map(|trips| trips.min_s);
    let loaded = report.directions.iter().filter_map(|d| d.loaded_round_trips).map(|trips| trips.least_s);
    loaded.chain(handshakes).filter(|trip| *trip > 0.0).min_by(f64::total_cmp)
}

/// What to run next.
struct Next {
    /// The command; none if it would refuse.
    command: Option<String>,
    /// What it assumes, or why it would refuse.
    words: Vec<String>,
}

/// The command that answers for what was measured; none unless R and a rate are known.
fn next(args: &Args, report: &Report) -> Option<Next> {
    // Without blanks nothing needs quotes.
    let plain = |text: String| text.replace(' ', "");
    let rtt = |seconds: f64| {
        let nanos = significant(seconds * 1e9).parse::<f64>().ok()? as u64;
        (nanos > 0).then(|| plain(Duration::from_nanos(nanos).to_string()))
    };
    let least = shortest(report)?;
    let usual = report
        .round_trips
        .map_or(least, |trips| shortest_of_varied(&trips).unwrap_or_else(|| trips.median_s()).max(least));
    let mut assumed = Vec::new();
    let technology = technology_at(args.layer);
    if !matches!(args.layer, Layer::Link(..)) {
        assumed.push(format!(
            "What kind of link it is, no capture shows: put it in the place of {}. Rates are as that one counts them.",
            technology.name
        ));
    }
    // Where one is unknown the other one stands for it, or what was carried if that is more.
    let [up, down] = &report.directions;
    let rates = [up, down].map(|way| (way.capacity.capacity_bps, way.capacity.busiest_bps.unwrap_or(0.0)));
    let (up_bps, down_bps, unknown) = match rates {
        [(Some(up), _), (Some(down), _)] => (up, down, None),
        [(None, carried), (Some(known), _)] => (known.max(carried), known, Some("up")),
        [(Some(known), _), (None, carried)] => (known, known.max(carried), Some("down")),
        [(None, _), (None, _)] => return None,
    };
    // As the link counts it: by the packets with data of the direction that showed a rate.
    let known = if rates[0].0.is_some() { up } else { down };
    let on_wire = |bps: f64| {
        let (Layer::Ip | Layer::Capture, Some(ip), Some(rate), Some(size)) =
            (args.layer, known.capacity_ip_bps, known.capacity.capacity_bps, known.mean_data_packet_bytes)
        else {
            return bps;
        };
        let packet = size * ip / rate;
        let wire = technology.link(BitRate::from_bps(0)).on_wire(Bytes::new(packet.round() as u64));
        bps * ip / rate * wire.get() as f64 / packet
    };
    let rate = |bps: f64| {
        let rate = significant(on_wire(bps)).parse::<f64>().ok()? as u64;
        (rate > 0).then(|| plain(BitRate::from_bps(rate).to_string()))
    };
    let (up, down) = (rate(up_bps)?, rate(down_bps)?);
    assumed.extend(unknown.map(|way| {
        format!("The capture does not show the rate {way}. That one is a stand-in: put the right one in its place.")
    }));
    // Standard input is read once, and a part of a capture is not the capture.
    let is_whole = args.trace != Path::new("-") && args.inside.is_empty() && args.interface.is_empty();
    let capture = match is_whole {
        true => format!(" --capture {}", quoted(&args.trace.display().to_string())),
        false => String::new(),
    };
    let (rtt, link) = (format!("{}..{}", rtt(least)?, rtt(usual)?), technology.name);
    Some(match planned(technology, &down, &up, &rtt) {
        Ok(_) => {
            let command =
                format!("quell recommend --down {down} --up {up} --rtt {rtt} --link {link}{capture}");
            Next { command: Some(command), words: assumed }
        }
        Err(why) => {
            Next { command: None, words: vec![format!("quell recommend has no answer for this link: {why}")] }
        }
    })
}

/// The command that tells the queue, where a capture from the senders' side shows for long enough that packets waited
/// beyond it.
fn identify(args: &Args, report: &Report) -> Option<String> {
    const LONG_S: f64 = 10.0;
    let capacity = report.busier().capacity;
    let waited = capacity.acknowledged.is_some_and(|seen| seen.waiting > 0);
    let is_before = capacity.verdict == CapacityVerdict::Beyond;
    if !(is_before && waited && report.duration_s >= LONG_S) || args.trace == Path::new("-") {
        return None;
    }
    let interface = match args.interface.as_slice() {
        [] => String::new(),
        names => format!(" --interface {}", quoted(&names.join(","))),
    };
    let file = quoted(&args.trace.display().to_string());
    Some(format!("quell identify {file}{interface} tells in which queue packets waited."))
}

/// What `quell recommend` would try for these words.
fn planned(technology: &'static Technology, down: &str, up: &str, rtt: &str) -> Result<Plan, String> {
    let (down, up, rtt): (Span<BitRate>, Span<BitRate>, Span<Duration>) =
        (down.parse()?, up.parse()?, rtt.parse()?);
    quell_recommend::plan(&Request {
        technology,
        down,
        up,
        rtt,
        hosts: 1,
        load: Load::usual(technology)?,
        goal: Goal::usual(technology, false, rtt.most),
        can: Can::parse("linux")?,
        device: None,
        cpu_limit: None,
        trace: None,
    })
}

/// The kind of link that counts packets as a layer does; else Ethernet, which stands for what is not known.
fn technology_at(layer: Layer) -> &'static Technology {
    let is_same = |technology: &&Technology| match layer {
        Layer::Link(_, link) => technology.link(BitRate::from_bps(0)) == link,
        Layer::Ip | Layer::Capture => false,
    };
    let ethernet = || technology::find("ethernet");
    // Ethernet is one of them, which a test of quell-router reads.
    technology::TECHNOLOGIES.iter().find(is_same).or_else(ethernet).unwrap_or(&technology::TECHNOLOGIES[0])
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%=".contains(c);
    if word.chars().all(is_plain) && !word.starts_with('-') {
        return word.to_string();
    }
    // A name that begins like an option is one in this folder.
    let begin = if word.starts_with('-') { "./" } else { "" };
    format!("'{begin}{}'", word.replace('\'', "'\\''"))
}

/// Measurements beside the capture.
struct Beside {
    iperf3: Option<Iperf3>,
    irtt: Option<Irtt>,
}

/// The factor by which two measurements of a rate may differ.
const NEAR: f64 = 1.1;
/// The same for round trips: their ends may be in different places.
const SAME_PATH: f64 = 1.5;

impl Beside {
    fn transfers(&self) -> impl Iterator<Item = (Direction, Transfer)> {
        let of = |direction| {
            let test = self.iperf3.as_ref()?;
            let transfer = if direction == Direction::Up { test.up } else { test.down };
            transfer.map(|transfer| (direction, transfer))
        };
        Direction::BOTH.into_iter().filter_map(of)
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let mut rows: Vec<Vec<String>> = self
            .transfers()
            .map(|(direction, t)| {
                let mut how = "What TCP or UDP delivered, without headers.".to_string();
                if let Some(again) = t.retransmits {
                    how += &format!(" {again} segments were sent again.");
                }
                if let Some(lost) = t.loss_share {
                    how += &format!(" {}% of the datagrams were lost.", digits(100.0 * lost, 3));
                }
                if let Some([least, mean]) = t.round_trips_s {
                    how += &format!(" Its round trips: mean {}, shortest {}.", time(mean), time(least));
                }
                let name = format!("iperf3 {}", word(direction));
                vec![name, scaled(t.received_bps, &RATES), how]
            })
            .collect();
        if let Some(irtt) = &self.irtt {
            let [median, most, tail] = irtt.quantiles_s.map(time);
            let how = format!(
                "P50 {median}, P95 {most}, P99 {tail}; the shortest {}, of {} packets at {}. Lost: {}% up, {}% down.",
                time(irtt.least_s),
                irtt.packets,
                scaled(irtt.rate_bps, &RATES),
                digits(100.0 * irtt.up_loss_share, 3),
                digits(100.0 * irtt.down_loss_share, 3)
            );
            rows.push(vec!["irtt".into(), median, how]);
        }
        rows
    }

    /// What cannot be true together with the capture.
    fn contradictions(&self, report: &Report) -> Vec<String> {
        let mut said = Vec::new();
        let end = report.start_s + report.duration_s;
        let test = self.iperf3.as_ref();
        let at_once = test.is_some_and(|test| {
            test.start_s.is_none_or(|start| start < end && start + test.duration_s > report.start_s)
        });
        for (direction, transfer) in self.transfers() {
            let d = &report.directions[direction as usize];
            let (way, got) = (word(direction), transfer.received_bps);
            // Payload is less than what the capture counts, and a capture holds all of a test that ran meanwhile.
            let (seen, what) = match (d.capacity.capacity_bps, d.capacity.busiest_bps) {
                (Some(rate), _) => (rate, "C is"),
                (None, Some(rate)) => (rate, "its busiest 100 ms carried"),
                (None, None) => (d.rate_bps.unwrap_or(0.0), "it carried"),
            };
            let [iperf3, captured] = [got, seen].map(|rate| scaled(rate, &RATES));
            if got > NEAR * seen {
                let why = if at_once {
                    "A part of the traffic took another way, or the capture lost packets"
                } else {
                    "They ran at different times: the link's rate changed, or the capture was of less traffic"
                };
                said.push(format!(
                    "iperf3 says {iperf3} received {way}, the capture {captured} ({what} that). {why}."
                ));
            } else if d.capacity.capacity_bps.is_some_and(|c| got * NEAR < c) && NEAR * got < seen {
                said.push(format!(
                    "iperf3 says {iperf3} received {way}, the capture {captured} ({what} that). Other traffic shared the \
                     link, or the test did not fill it."
                ));
            }
        }
        if let (Some(irtt), Some(least)) = (&self.irtt, shortest(report)) {
            let (high, low) = (irtt.least_s.max(least), irtt.least_s.min(least));
            if high > SAME_PATH * low && high - low > 0.002 {
                said.push(format!(
                    "irtt's shortest round trip is {}, the capture's {}. Their servers are in different places, or one of \
                     them never saw an empty queue.",
                    time(irtt.least_s),
                    time(least)
                ));
            }
        }
        said
    }
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
    if let Some(segment) = report.segment_bytes {
        let frames: u64 = report.directions.iter().map(|d| d.joined_frames).sum();
        let packets: u64 = report.directions.iter().map(|d| d.path_packets).sum();
        let all: u64 = report.directions.iter().map(|d| d.packets).sum();
        remarks.push(format!(
            "{frames} of {all} frames are larger than the path's packets (segments of at most {segment} bytes): the host's \
             card cuts or joins them (TSO, GSO, GRO). They count as the packets that they are on the path, {packets} in \
             all. For the gaps between packets, switch that off and capture again: ethtool -K DEVICE tso off gso off gro \
             off"
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
                waiting: None,
                senders_share: None,
                verdict,
                capacity_bps: pairs.map(|p: capture::Pairs| p.rate_bps),
            };
            let (value, how) = capacity_of(&c);
            format!("C {value} {how}")
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
                waiting: None,
                senders_share: Some(0.002),
                verdict: CapacityVerdict::Beyond,
                capacity_bps,
            };
            let (value, how) = capacity_of(&c);
            format!("C {value} {how}")
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
