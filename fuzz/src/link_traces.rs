//! The fuzz target of the files that scenarios name: courses of a link in Quell's own form and in mahimahi's, and
//! recorded arrivals.

#![allow(clippy::result_large_err)] // Errors end a test.

use std::fmt::Write as _;

use arbitrary::Unstructured;
use quell_aqm::{Ecn, FlowId, Transport};
use quell_scenario::{Document, Files, FoundFile, Plugins, ScenarioError, Study};
use quell_sim::network::{Network, Trace, TraceArrival, Traffic};
use quell_units::{BitRate, Duration, Time};

/// Any bytes are read as each kind of file: the error names the file and a rule, and the line if there is one; what is
/// read does not depend on how lines end. After a zero they spell what a file is made of, which must come back.
pub fn link_traces(data: &[u8]) {
    match data {
        [0, kind, rest @ ..] => {
            let u = &mut Unstructured::new(rest);
            let made = match kind % 3 {
                0 => arrivals(u),
                1 => course(u),
                _ => opportunities(u),
            };
            made.unwrap_or_default();
        }
        data => USES.iter().for_each(|using| any_file(data, using)),
    }
}

/// How a scenario names the file: in the link's table, and in the group's.
const USES: [(&str, &str); 5] = [
    ("changes = { file = \"a.csv\" }", "kind = \"bulk\""),
    ("changes = { file = \"a.csv\", bin = \"3 ms\" }", "kind = \"bulk\""),
    ("changes = { file = \"a.csv\", repeat = \"2 s\" }", "kind = \"bulk\""),
    ("reverse = { changes = { file = \"a.csv\" } }", "kind = \"bulk\""),
    ("", "kind = \"trace\"\nfile = \"a.csv\""),
];

fn study(file: &[u8], (link, group): &(&str, &str)) -> Result<Study, ScenarioError> {
    let text = format!(
        "schema = 1\nduration = \"60 s\"\naqm = [{{ algorithm = \"drop-tail\" }}]\n[dumbbell]\nrate = \"10 Mbit/s\"\n\
         delay = \"10 ms\"\nbuffer = \"100 packets\"\n{link}\n[[flows]]\nname = \"it\"\n{group}\n"
    );
    let bytes = file.to_vec();
    let files = Files::new(move |name| Ok(FoundFile { name: name.to_string(), bytes: bytes.clone() }));
    Document::parse(&text, "x.toml").expect("it is TOML").among(files).study(&Plugins::new())
}

fn network(study: &Study) -> Network {
    study.points[0].plan(0, 1, &Plugins::new()).expect("drop-tail takes any link").network
}

/// What is read of a file; its error without what was read of the rest.
fn found(file: &[u8], using: &(&str, &str)) -> Result<String, ScenarioError> {
    let study = study(file, using).inspect_err(|e| {
        assert!(e.line.is_some() && !e.rule.is_empty(), "{e:?}");
    })?;
    let network = network(&study);
    let links: Vec<_> = network.links.iter().map(|link| (&link.rate, &link.delay)).collect();
    let trace = network.flows.iter().map(|flow| trace(&flow.traffic));
    Ok(format!("{links:?} {:?}", trace.collect::<Vec<_>>()))
}

fn trace(traffic: &Traffic) -> Option<&Trace> {
    match traffic {
        Traffic::Trace(trace) => Some(trace),
        _ => None,
    }
}

fn any_file(data: &[u8], using: &(&str, &str)) {
    let first = found(data, using);
    assert_eq!(first, found(data, using), "the same file");
    if let Ok(text) = std::str::from_utf8(data) {
        let windows = format!("\u{feff}{}", text.replace("\r\n", "\n").replace('\n', "\r\n"));
        let windows = found(windows.as_bytes(), using);
        assert_eq!(first.is_ok(), windows.is_ok(), "{first:?}, {windows:?}");
        if let (Ok(first), Ok(windows)) = (first, windows) {
            assert_eq!(first, windows);
        }
    }
}

/// A file that was made, which must be read.
fn read(text: &str, using: usize) -> Network {
    network(&study(text.as_bytes(), &USES[using]).unwrap_or_else(|e| panic!("{e}\n{text}")))
}

fn seconds(time: Time) -> String {
    format!("{}.{:09}", time.nanos() / 1_000_000_000, time.nanos() % 1_000_000_000)
}

/// A later time.
fn later(u: &mut Unstructured, time: Time, least: u64) -> arbitrary::Result<Time> {
    let [step, scale] = u.arbitrary::<[u8; 2]>()?;
    let step = (u64::from(step) * 10u64.pow(u32::from(scale % 8))).max(least);
    Ok(time + Duration::from_nanos(step))
}

fn arrivals(u: &mut Unstructured) -> arbitrary::Result<()> {
    /// The columns that may be left out.
    const MORE: [&str; 5] = ["flow", "ecn", "transport", "syn", "dscp"];
    let [there, turned] = u.arbitrary::<[u8; 2]>()?;
    let mut columns = vec!["time_s", "bytes"];
    columns.extend(MORE.iter().enumerate().filter(|(i, _)| there >> i & 1 == 1).map(|(_, name)| name));
    let turn = usize::from(turned) % columns.len();
    columns.rotate_left(turn);
    let has = |name: &str| columns.contains(&name);
    let (mut text, mut all, mut time) = (columns.join(",") + "\n", Vec::new(), Time::ZERO);
    while !u.is_empty() && all.len() < 300 {
        time = later(u, time, 0)?;
        let [kind, dscp, flow, size, more] = u.arbitrary::<[u8; 5]>()?;
        let arrival = TraceArrival {
            time,
            bytes: 1 + u16::from(size) * 256,
            flow: FlowId(if has("flow") { u32::from(flow) << (more % 25) } else { 0 }),
            ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]
                [if has("ecn") { usize::from(kind & 3) } else { 0 }],
            transport: [Transport::Tcp, Transport::Udp, Transport::Other]
                [if has("transport") { usize::from(kind >> 2) % 3 } else { 0 }],
            syn: has("syn") && kind >> 6 & 1 == 1,
            dscp: if has("dscp") { dscp & 63 } else { 0 },
        };
        let cell = |name: &&str| match *name {
            "time_s" => seconds(time),
            "bytes" => arrival.bytes.to_string(),
            "flow" => arrival.flow.0.to_string(),
            "ecn" => ["not-ect", "ect0", "ect1", "ce"][usize::from(kind & 3)].to_string(),
            "transport" => ["tcp", "udp", "other"][usize::from(kind >> 2) % 3].to_string(),
            "syn" => u8::from(arrival.syn).to_string(),
            _ => arrival.dscp.to_string(),
        };
        text += &(columns.iter().map(cell).collect::<Vec<_>>().join(",") + "\n");
        all.push(arrival);
    }
    if !all.is_empty() {
        let network = read(&text, 4);
        let trace = network.flows.iter().find_map(|flow| trace(&flow.traffic));
        assert_eq!(trace.map(Trace::arrivals), Some(&all[..]), "{text}");
    }
    Ok(())
}

fn course(u: &mut Unstructured) -> arbitrary::Result<()> {
    let (mut text, mut all, mut time) = ("delay_s,time_s,rate_bps\n".to_string(), Vec::new(), Time::ZERO);
    while !u.is_empty() && all.len() < 100 {
        time = later(u, time, u64::from(!all.is_empty()))?;
        let [rate, scale, delay] = u.arbitrary::<[u8; 3]>()?;
        let rate = BitRate::from_bps(u64::from(rate) * 10u64.pow(u32::from(scale % 10)));
        let delay = Duration::from_millis(delay.into());
        let _ = writeln!(text, "{},{},{}", delay.as_secs_f64(), seconds(time), rate.bps());
        all.push((time, rate, delay));
    }
    // A link that is stopped for good is refused.
    if all.last().is_some_and(|(_, rate, _)| rate.bps() > 0) {
        let link = &read(&text, 0).links[0];
        for (i, (time, rate, delay)) in all.iter().enumerate() {
            assert_eq!((link.rate.at(*time), link.delay.at(*time)), (*rate, *delay), "at {time:?}\n{text}");
            let next = all.get(i + 1).map_or(Time::MAX, |next| next.0);
            assert!(link.rate.next_change(*time) >= next, "{text}");
        }
    }
    Ok(())
}

/// A mahimahi trace with a bin of 3 ms: each bin has the rate of its opportunities, each of 1500 bytes.
fn opportunities(u: &mut Unstructured) -> arbitrary::Result<()> {
    const BIN: u64 = 3;
    let (mut text, mut all, mut time) = (String::new(), Vec::new(), 0u64);
    while !u.is_empty() && all.len() < 300 {
        time += u64::from(u.arbitrary::<u8>()?) >> 3;
        let _ = writeln!(text, "{time}");
        all.push(time);
    }
    if time == 0 {
        return Ok(());
    }
    let link = &read(&text, 1).links[0];
    for bin in 0..=(time - 1) / BIN {
        let (from, to) = (bin * BIN, (bin * BIN + BIN).min(time));
        let count = all.iter().filter(|t| (**t).max(1) > from && (**t).max(1) <= to).count() as u64;
        let bits = link.rate.at(Time::from_nanos(from * 1_000_000)).bps() * (to - from) / 1000;
        assert!(bits.abs_diff(count * 12_000) <= 1, "bin {bin} of\n{text}");
    }
    Ok(())
}
