//! Recorded arrivals: from a file to the packets that queues see.

#![allow(clippy::result_large_err)] // Errors end a test.

use std::collections::BTreeMap;

use proptest::prelude::*;
use quell_aqm::{Ecn, FlowId, Transport};
use quell_scenario::{Document, Files, FoundFile, Plugins, Point, ScenarioError, Study};
use quell_sim::network::{TraceArrival, Traffic};
use quell_sim::outcome::{Admission, Fate};
use quell_sim::{Control, Engine};
use quell_units::{Duration, Time};

/// A dumbbell of 1 Mbit/s with a buffer of two packets, and one group.
fn scenario(group: &str) -> String {
    format!(
        r#"schema = 1
duration = "10 s"
aqm = [{{ algorithm = "drop-tail" }}]
[dumbbell]
rate = "1 Mbit/s"
delay = "10 ms"
buffer = "2 packets"
ecn = true
[[flows]]
name = "log"
{group}
"#
    )
}

fn files(list: &[(&str, &[u8])]) -> Files {
    let list: BTreeMap<String, Vec<u8>> = list.iter().map(|(n, b)| (n.to_string(), b.to_vec())).collect();
    Files::new(move |name| {
        let bytes = list.get(name).cloned().ok_or_else(|| "cannot be read: no such file".to_string())?;
        Ok(FoundFile { name: format!("found/{name}"), bytes })
    })
}

fn study(group: &str, list: &[(&str, &[u8])]) -> Result<Study, ScenarioError> {
    Document::parse(&scenario(group), "x.toml").unwrap().among(files(list)).study(&Plugins::new())
}

fn point(group: &str, list: &[(&str, &[u8])]) -> Point {
    study(group, list).unwrap_or_else(|e| panic!("{group}: {e}")).points.remove(0)
}

/// A group that replays a file.
const TRACE: &str = "kind = \"trace\"\nfile = \"a.csv\"\n";

fn arrivals(point: &Point) -> Vec<TraceArrival> {
    match &point.plan(0, 1, &Plugins::new()).unwrap().network.flows[0].traffic {
        Traffic::Trace(trace) => trace.arrivals().to_vec(),
        _ => panic!("it is a trace"),
    }
}

/// What becomes of the packets at the first link, by both engines.
fn log(point: &Point) -> Vec<Fate> {
    let [fast, reference] = [Engine::Fast, Engine::Reference].map(|engine| {
        let network = point.plan(0, 1, &Plugins::new()).unwrap().network;
        let control = Control { logged: vec![network.flows[0].forward[0]], ..Control::default() };
        quell_sim::run(network, engine, &control).unwrap()
    });
    assert_eq!((fast.digest, &fast.links[0].log), (reference.digest, &reference.links[0].log));
    fast.links[0].log.clone()
}

#[test]
fn a_file_holds_what_queues_see() {
    let plain = TraceArrival {
        time: Time::ZERO + Duration::from_millis(1500),
        bytes: 40,
        flow: FlowId(0),
        ecn: Ecn::NotEct,
        transport: Transport::Tcp,
        syn: false,
        dscp: 0,
    };
    let later = TraceArrival { time: Time::from_nanos(2_123_456_789), bytes: 65_535, ..plain };
    let least = b"\xef\xbb\xbftime_s,bytes\n# A comment.\n1.5,40\n\n2.123456789,65535\r\n";
    assert_eq!(arrivals(&point(TRACE, &[("a.csv", least)])), [plain, later]);
    let all = b" bytes, dscp,syn,transport,ecn ,flow,time_s\n40,63,1,udp,ce,4294967295,1.5\n40,0,0,other,ect1,7,1.5\n\
                40,1,0,tcp,ect0,7,15e-1\n";
    let found = arrivals(&point(TRACE, &[("a.csv", all)]));
    let first = TraceArrival {
        flow: FlowId(u32::MAX),
        ecn: Ecn::Ce,
        transport: Transport::Udp,
        syn: true,
        dscp: 63,
        ..plain
    };
    let second = TraceArrival { flow: FlowId(7), ecn: Ecn::Ect1, transport: Transport::Other, ..plain };
    let third = TraceArrival { flow: FlowId(7), ecn: Ecn::Ect0, dscp: 1, ..plain };
    assert_eq!(found, [first, second, third]);
}

#[test]
fn packets_arrive_at_the_first_link_at_their_times() {
    let csv = b"time_s,bytes,flow\n0.5,1000,3\n0.5,1000,2\n0.5,500,2\n0.5,1500,1\n0.75,100,9\n9.5,100,9\n";
    let times = |log: &[Fate]| log.iter().map(|f| f.arrived.nanos() / 1_000_000).collect::<Vec<_>>();
    for (keys, expected) in [
        ("", &[500, 500, 500, 500, 750, 9500][..]),
        ("start = \"1 s\"", &[1500, 1500, 1500, 1500, 1750]),
        ("start = \"1 s\"\nstop = \"1.6 s\"", &[1500, 1500, 1500, 1500]),
        ("direction = \"reverse\"\nstop = \"0.75 s\"", &[500, 500, 500, 500]),
    ] {
        let log = log(&point(&format!("{TRACE}{keys}"), &[("a.csv", csv)]).clone());
        assert_eq!(times(&log), expected, "{keys}");
    }
    let log = log(&point(TRACE, &[("a.csv", csv)]));
    // One is in transmission and two wait.
    let dropped: Vec<_> = log.iter().map(|f| matches!(f.admission, Admission::Dropped(_))).collect();
    assert_eq!(dropped, [false, false, false, true, false, false]);
    assert_eq!(
        log.iter().map(|f| (f.flow.0, f.bytes)).collect::<Vec<_>>()[..4],
        [(3, 1000), (2, 1000), (2, 500), (1, 1500)]
    );
}

#[test]
fn a_run_depends_on_what_the_file_holds() {
    let (one, two) = (&b"time_s,bytes\n1,40\n2,61\n"[..], &b"time_s,bytes\n1,40\n2,62\n"[..]);
    let identity = |file: &str, list: &[(&str, &[u8])]| {
        let group = TRACE.replace("a.csv", file);
        point(&group, list).identity(0).unwrap().text
    };
    let plain = identity("a.csv", &[("a.csv", one)]);
    assert_eq!(plain, identity("b/c.csv", &[("b/c.csv", one)]));
    assert_ne!(plain, identity("a.csv", &[("a.csv", two)]));
    // Written out it names the file where it was found, and what it must hold.
    let p = point(TRACE, &[("a.csv", one)]);
    let text = p.to_toml();
    assert!(text.contains("file = \"found/a.csv\"") && text.contains("mean_packet = \"51 B\""), "{text}");
    let again = |bytes: &[u8]| {
        let list = [("found/a.csv", bytes)];
        Document::parse(&text, "y.toml").unwrap().among(files(&list)).study(&Plugins::new())
    };
    assert_eq!(again(one).unwrap_or_else(|e| panic!("{e}\n{text}")).points[0].identity(0), p.identity(0));
    let e = again(two).unwrap_err().to_string();
    assert!(
        e.contains("flows[0].sha256 = ") && e.contains("is not the hash of found/a.csv, which is "),
        "{e}"
    );
    // A sweep goes over files.
    let text = scenario(TRACE) + "[sweep]\n\"flows.log.file\" = [\"a.csv\", \"b.csv\"]\n";
    let list: &[(&str, &[u8])] = &[("a.csv", one), ("b.csv", two)];
    let study = Document::parse(&text, "x.toml").unwrap().among(files(list)).study(&Plugins::new()).unwrap();
    let last = |p: &Point| arrivals(p)[1].bytes;
    assert_eq!(study.points.iter().map(last).collect::<Vec<_>>(), [61, 62]);
}

#[test]
fn errors_name_the_file_and_the_line() {
    for (bytes, rule) in [
        (&b""[..], "a.csv: holds no arrivals: it is empty"),
        (b"\n# nothing\n", "a.csv: holds no arrivals: it is empty"),
        (b"time_s,bytes\n", "a.csv: holds no arrivals: nothing follows its header"),
        (b"time_s,bytes\n1,40,\n", "a.csv:2: has 3 values, but the header has 2 columns"),
        (
            b"time_s\n1\n",
            "a.csv:1: \"time_s\" must be the header of a table, such as time_s,bytes (columns: ",
        ),
        (b"1,40\n", "a.csv:1: \"1,40\" must be the header of a table"),
        (b"time_s,bytes,mark\n1,40,0\n", "a.csv:1: \"time_s,bytes,mark\" must be the header"),
        (b"time_s,bytes,bytes\n1,40,40\n", "a.csv:1: "),
        (b"time_s,bytes\nx,40\n", "a.csv:2: time_s = \"x\": is not a number"),
        (b"time_s,bytes\n-1,40\n", "a.csv:2: time_s = \"-1\": must lie between 0 and 10000000"),
        (b"time_s,bytes\nnan,40\n", "a.csv:2: time_s = \"nan\": must lie between"),
        (b"time_s,bytes\n99999999999999999999,40\n", "must lie between 0 and 10000000"),
        (
            b"time_s,bytes\n2,40\n#\n1.999999999,40\n",
            "a.csv:4: time_s = \"1.999999999\": must not be earlier than",
        ),
        (b"time_s,bytes\n1,0\n", "a.csv:2: bytes = \"0\": must be a whole number from 1 to 65535"),
        (b"time_s,bytes\n1,65536\n", "a.csv:2: bytes = \"65536\": must be a whole number from 1 to 65535"),
        (b"time_s,bytes\n1,1.5\n", "a.csv:2: bytes = \"1.5\": must be a whole number"),
        (
            b"time_s,bytes,flow\n1,40,4294967296\n",
            "flow = \"4294967296\": must be a whole number from 0 to 4294967295",
        ),
        (
            b"time_s,bytes,ecn\n1,40,ECT0\n",
            "a.csv:2: ecn = \"ECT0\": must be one of: not-ect, ect0, ect1, ce",
        ),
        (b"time_s,bytes,transport\n1,40,6\n", "transport = \"6\": must be one of: tcp, udp, other"),
        (b"time_s,bytes,syn\n1,40,\n", "a.csv:2: syn = \"\": must be one of: 0, 1"),
        (b"time_s,bytes,dscp\n1,40,64\n", "a.csv:2: dscp = \"64\": must be a whole number from 0 to 63"),
        (b"time_s,bytes\n1,40\n\xff\n", "a.csv:3: is not UTF-8 text"),
    ] {
        let e = study(TRACE, &[("a.csv", bytes)]).unwrap_err().to_string();
        assert!(e.starts_with("x.toml:12: flows[0].file = \"a.csv\": "), "{e}");
        assert!(e.contains(rule) && e.len() < 500, "{e}\nlacks {rule}");
    }
    let e = study(TRACE, &[]).unwrap_err().to_string();
    assert!(e.contains("flows[0].file = \"a.csv\": a.csv: cannot be read: no such file"), "{e}");
}

#[test]
fn what_a_trace_does_not_have_is_refused() {
    let csv = &b"time_s,bytes\n1,40\n"[..];
    for (key, field) in [
        ("count = 2", "count"),
        ("rtt = \"50 ms\"", "rtt"),
        ("rtt_changes = [{ at = \"1 s\", rtt = \"9 ms\" }]", "rtt_changes"),
        ("access_rate = \"none\"", "access_rate"),
        ("receiver_rate = \"1 Mbit/s\"", "receiver_rate"),
        ("tcp = { ecn = true }", "tcp"),
        ("size = \"2 packets\"", "size"),
        ("think = \"1 s\"", "think"),
        ("transfers = 2", "transfers"),
        ("connection = \"fresh\"", "connection"),
        ("request = \"50 B\"", "request"),
        ("sessions_per_second = 2.0", "sessions_per_second"),
        ("rate = \"1 Mbit/s\"", "rate"),
        ("rate_changes = [{ at = \"1 s\", rate = \"1 Mbit/s\" }]", "rate_changes"),
        ("packet = \"90 B\"", "packet"),
        ("gaps = \"constant\"", "gaps"),
        ("on_off = { on = \"1 s\", off = \"1 s\" }", "on_off"),
        ("ecn = true", "ecn"),
        ("precedence = 2", "precedence"),
        ("dscp = 2", "dscp"),
    ] {
        let e = study(&format!("{TRACE}{key}"), &[("a.csv", csv)]).unwrap_err().to_string();
        assert!(e.contains(&format!("flows[0].{field}")), "{key}: {e}");
        assert!(e.contains("does not apply to kind \"trace\"; it belongs to \""), "{key}: {e}");
    }
    for (group, rule) in [
        ("kind = \"trace\"", "flows[0].file: is missing: kind \"trace\" needs it"),
        (
            "kind = \"udp\"\nrate = \"1 Mbit/s\"\nfile = \"a.csv\"",
            "flows[0].file = \"a.csv\": does not apply to kind \"udp\"; it belongs to \"trace\"",
        ),
        (
            "sha256 = \"0\"",
            "flows[0].sha256 = \"0\": does not apply to kind \"bulk\"; it belongs to \"trace\"",
        ),
        (
            "kind = \"trace\"\nfile = \"a.csv\"\nsha256 = \"0\"",
            "flows[0].sha256 = \"0\": is not the hash of a.csv, which is",
        ),
    ] {
        let e = study(group, &[("a.csv", csv)]).unwrap_err().to_string();
        assert!(e.contains(rule), "{e}\nlacks {rule}");
    }
    // What is the same for all kinds.
    let keys = "class = \"all-of-it\"\ndirection = \"reverse\"\nstart = \"1 s\"\nstop = \"2 s\"\n";
    let p = point(&format!("{TRACE}{keys}"), &[("a.csv", csv)]);
    assert_eq!(p.estimated_packets(), 1.0);
    assert_eq!(p.plan(0, 1, &Plugins::new()).unwrap().facts.classes, ["all-of-it", "acks"]);
}

/// From which files are put together.
const PARTS: &[&[u8]] = &[
    b"time_s,bytes\n",
    b"time_s,bytes,flow,ecn,transport,syn,dscp\n",
    b"1,40\n",
    b"1,40,7,ce,udp,1,9\n",
    b"2",
    b".5",
    b",",
    b"\n",
    b"#",
    b"1e999",
    b"-",
    b"nan",
    b"\xff",
    b"ect0",
    b"65535",
    b"\r",
    b"\xef\xbb\xbf",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any bytes are read or refused, and what is read can be replayed.
    #[test]
    fn any_file_is_read_or_refused(parts in prop::collection::vec(0..PARTS.len(), 0..12)) {
        let bytes: Vec<u8> = parts.iter().flat_map(|i| PARTS[*i]).copied().collect();
        match study(TRACE, &[("a.csv", &bytes)]) {
            Ok(study) => drop(log(&study.points[0])),
            Err(e) => prop_assert!(e.to_string().len() < 500),
        }
    }
}
