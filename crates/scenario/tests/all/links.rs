//! Links that change: lists, files, periods, and each direction by itself.

#![allow(clippy::result_large_err)] // Errors end a test.

use std::collections::BTreeMap;

use proptest::prelude::*;
use quell_scenario::{Document, Files, FoundFile, Plugins, Point, ScenarioError, Study};
use quell_sim::network::{LinkSpec, Schedule};
use quell_sim::outcome::Outcome;
use quell_sim::{Control, Engine};
use quell_units::{BitRate, Duration, Time};

fn at(s: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(s)
}

fn ms(x: u64) -> Duration {
    Duration::from_millis(x)
}

/// A dumbbell whose table goes on with `link`.
fn scenario(link: &str) -> String {
    format!(
        r#"schema = 1
duration = "60 s"
aqm = [{{ algorithm = "drop-tail" }}]
flows = [{{ name = "ftp", rtt = "200 ms" }}]
[dumbbell]
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "100 packets"
{link}
"#
    )
}

fn files(list: &[(&str, &[u8])]) -> Files {
    let list: BTreeMap<String, Vec<u8>> = list.iter().map(|(n, b)| (n.to_string(), b.to_vec())).collect();
    Files::new(move |name| {
        let bytes = list.get(name).cloned().ok_or_else(|| "cannot be read: no such file".to_string())?;
        Ok(FoundFile { name: name.to_string(), bytes })
    })
}

fn study(link: &str, list: &[(&str, &[u8])]) -> Result<Study, ScenarioError> {
    Document::parse(&scenario(link), "x.toml").unwrap().among(files(list)).study(&Plugins::new())
}

fn point(link: &str, list: &[(&str, &[u8])]) -> Point {
    study(link, list).unwrap_or_else(|e| panic!("{link}: {e}")).points.remove(0)
}

/// The forward and the reverse link.
fn links(point: &Point) -> [LinkSpec; 2] {
    let links = point.plan(0, 1, &Plugins::new()).unwrap().network.links;
    let mut links = links.into_iter();
    [links.next().unwrap(), links.next().unwrap()]
}

fn course<T: Copy>(schedule: &Schedule<T>, until: f64) -> Vec<(f64, T)> {
    let mut out = vec![(0.0, schedule.at(Time::ZERO))];
    let mut t = Time::ZERO;
    loop {
        t = schedule.next_change(t);
        if t >= at(until) {
            return out;
        }
        out.push((t.as_secs_f64(), schedule.at(t)));
    }
}

fn rates(point: &Point, until: f64) -> Vec<(f64, u64)> {
    course(&links(point)[0].rate, until).into_iter().map(|(t, r)| (t, r.bps())).collect()
}

const CSV: &[u8] =
    b"# of a drive\n time_s , rate_bps,delay_s\n\n0.5,2e6,0.02\r\n# a bridge\n7,0,0.02\n7.25, 3000000 ,1\n";

#[test]
fn a_file_says_what_a_list_says() {
    let file = point("changes = { file = \"a/drive.csv\" }", &[("a/drive.csv", CSV)]);
    assert_eq!(rates(&file, 60.0), [(0.0, 10_000_000), (0.5, 2_000_000), (7.0, 0), (7.25, 3_000_000)]);
    let tables = r#"changes = [
        { at = "500 ms", rate = "2 Mbit/s", delay = "20 ms" },
        { at = "7 s", rate = "0 bit/s", delay = "20 ms" },
        { at = "7.25 s", rate = "3 Mbit/s", delay = "1 s" },
    ]"#;
    let pairs = "changes = [[0.5, 2e6, \"20 ms\"], [7, 0, 0.02], [\"7.25 s\", \"3 Mbit/s\", 1]]";
    let name = "changes = \"a/drive.csv\"";
    for other in [tables, pairs, name] {
        let other = point(other, &[("a/drive.csv", CSV)]);
        for (a, b) in links(&file).iter().zip(links(&other)) {
            assert!(a.rate == b.rate && a.delay == b.delay);
        }
    }
}

/// What identifies a point is what its files hold, not what they are called.
#[test]
fn a_file_is_known_by_what_it_holds() {
    let id = |link: &str, name: &str, bytes: &[u8]| point(link, &[(name, bytes)]).identity(0).unwrap().text;
    let one = id("changes = { file = \"a.csv\" }", "a.csv", CSV);
    assert_eq!(one, id("changes = \"elsewhere/b.csv\"", "elsewhere/b.csv", CSV));
    assert_ne!(one, id("changes = \"a.csv\"", "a.csv", &[CSV, b"8,1,0\n"].concat()));
    assert!(!one.contains("a.csv"), "{one}");
    let back =
        |name, bytes| id("reverse = { changes = \"NAME\" }".replace("NAME", name).as_str(), name, bytes);
    assert_eq!(back("a", CSV), back("b", CSV));
    assert_ne!(back("a", CSV), back("a", b"time_s,rate_bps\n1,1\n"));
    let bins = |bin| id(&format!("changes = {{ file = \"m\"{bin} }}"), "m", b"100\n1000\n");
    assert_eq!(bins(""), bins(", bin = \"100 ms\""));
    assert_ne!(bins(""), bins(", bin = \"200 ms\""));
}

#[test]
fn what_is_written_out_names_the_file_and_its_hash() {
    let list: &[(&str, &[u8])] = &[("a.csv", CSV), ("m", b"100\n")];
    for link in
        ["changes = \"a.csv\"", "changes = { file = \"m\" }\nreverse = { changes = { file = \"a.csv\" } }"]
    {
        let first = point(link, list);
        let text = first.to_toml();
        assert!(text.contains("sha256 = "), "{text}");
        let again = Document::parse(&text, "again").unwrap().among(files(list)).study(&Plugins::new());
        let again = again.unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(again.points[0].to_toml(), text);
        assert_eq!(again.points[0].identity(0), first.identity(0));
        // Another file in its place is refused.
        let other = files(&[("a.csv", b"time_s,rate_bps\n1,1\n"), ("m", b"100\n")]);
        let e = Document::parse(&text, "again").unwrap().among(other).study(&Plugins::new()).unwrap_err();
        assert!(e.to_string().contains("is not the hash of a.csv, which is "), "{e}");
    }
}

#[test]
fn a_list_repeats() {
    let square = r#"changes = { list = [{ at = "0 s", rate = "8 Mbit/s" }, { at = "10 s", rate = "2 Mbit/s" }],
        repeat = "20 s" }"#;
    // Over several lines it is a section.
    let square = square.replace("\n        ", " ");
    let (high, low) = (8_000_000, 2_000_000);
    let expected = [(0.0, high), (10.0, low), (20.0, high), (30.0, low), (40.0, high), (50.0, low)];
    assert_eq!(rates(&point(&square, &[]), 60.0), expected);
    let file = b"time_s,rate_bps\n0,8e6\n10,2e6\n";
    let looped = point("changes = { file = \"s\", repeat = \"20 s\" }", &[("s", file)]);
    assert_eq!(rates(&looped, 60.0), expected);
    // What holds until the first change of a round is what held at the end of the one before.
    let late = point("changes = { list = [[5, 8e6], [10, 2e6]], repeat = \"20 s\" }", &[]);
    assert_eq!(rates(&late, 30.0), [(0.0, 10_000_000), (5.0, high), (10.0, low), (25.0, high)]);
    assert_eq!(links(&late)[0].rate.at(at(22.0)).bps(), low);
}

/// Four opportunities in the first 100 ms, none in the second, and two in the last 50 ms; then again.
#[test]
fn a_mahimahi_trace_is_a_rate_for_each_bin() {
    let trace: &[u8] = b"0\n1\n100\n100\n201\n250\n";
    let of = |bin: &str| rates(&point(&format!("changes = {{ file = \"m\"{bin} }}"), &[("m", trace)]), 0.6);
    let (four, two) = (4 * 12_000 * 10, 2 * 12_000 * 20);
    assert_eq!(four, two);
    let once = [(0.0, four), (0.1, 0), (0.2, two), (0.25, four), (0.35, 0), (0.45, two), (0.5, four)];
    assert_eq!(of("")[..7], once);
    // Of 50 ms: two, two, none, none, two.
    assert_eq!(of(", bin = \"50 ms\"")[..3], [(0.0, two), (0.1, 0), (0.2, two)]);
    // The whole trace: six in 250 ms.
    assert!(of(", bin = \"1 s\"").iter().all(|(_, r)| *r == 6 * 12_000 * 4));
}

#[test]
fn each_direction_changes_by_itself() {
    let bps = |l: &LinkSpec, t| l.rate.at(at(t)).bps() / 1_000_000;
    let delay = |l: &LinkSpec, t| l.delay.at(at(t));
    let both = r#"changes = [{ at = "5 s", rate = "5 Mbit/s", delay = "20 ms" }]"#;
    let now = |back: &str| {
        let point = point(&format!("{both}\n{back}"), &[]);
        let [there, back] = links(&point);
        assert_eq!((bps(&there, 6.0), delay(&there, 6.0)), (5, ms(20)));
        [0.0, 6.0].map(|t| (bps(&back, t), delay(&back, t)))
    };
    assert_eq!(now(""), [(10, ms(10)), (5, ms(20))]);
    assert_eq!(now("reverse = { rate = \"1 Mbit/s\" }"), [(1, ms(10)), (1, ms(20))]);
    assert_eq!(now("reverse = { delay = \"3 ms\" }"), [(10, ms(3)), (5, ms(3))]);
    assert_eq!(now("reverse = { changes = [] }"), [(10, ms(10)), (10, ms(10))]);
    let own = "changes = [{ at = \"5 s\", rate = \"2 Mbit/s\" }]";
    assert_eq!(now(&format!("reverse = {{ {own} }}")), [(10, ms(10)), (2, ms(10))]);
    let all = format!("reverse = {{ rate = \"1 Mbit/s\", delay = \"3 ms\", {own} }}");
    assert_eq!(now(&all), [(1, ms(3)), (2, ms(3))]);
    // It is written out, empty or not.
    for back in ["reverse = { changes = [] }", &all] {
        let text = point(back, &[]).to_toml();
        let again = Study::parse(&text, "x", &Plugins::new()).unwrap();
        assert_eq!(again.points[0].to_toml(), text);
        let [there, back] = links(&again.points[0]);
        assert!(there.rate.is_constant() && there.rate != back.rate || back.rate.is_constant());
    }
}

#[test]
fn a_study_sweeps_over_files() {
    let text =
        scenario("changes = { file = \"a\" }") + "[sweep]\n\"dumbbell.changes.file\" = [\"a\", \"b\"]\n";
    let list: &[(&str, &[u8])] = &[("a", CSV), ("b", b"time_s,rate_bps\n1,1000\n")];
    let study = Document::parse(&text, "x.toml").unwrap().among(files(list)).study(&Plugins::new()).unwrap();
    let last = |p: &Point| rates(p, 60.0).last().unwrap().1;
    assert_eq!(study.points.iter().map(last).collect::<Vec<_>>(), [3_000_000, 1000]);
    assert_ne!(study.points[0].identity(0), study.points[1].identity(0));
}

fn refusal(link: &str, bytes: &[u8]) -> String {
    match study(link, &[("a.csv", bytes)]) {
        Ok(_) => panic!("{link} and {:?} are accepted", String::from_utf8_lossy(bytes)),
        Err(e) => e.to_string(),
    }
}

#[test]
fn errors_name_the_file_and_the_line() {
    let digits = ["time_s,rate_bps\n".as_bytes(), &[b'9'; 1_000_000], b",1\n"].concat();
    for (bytes, rule) in [
        (&b""[..], "a.csv: holds no changes: it is empty"),
        (b"\n# nothing\n", "a.csv: holds no changes: it is empty"),
        (b"time_s,rate_bps\n", "a.csv: holds no changes: nothing follows its header"),
        (b"time_s,rate_bps\n1,x\n", "a.csv:2: rate_bps = \"x\": is not a number"),
        (b"time_s,rate_bps\n1,\n", "a.csv:2: rate_bps = \"\": is not a number"),
        (b"time_s,rate_bps\n1,nan\n", "a.csv:2: rate_bps = \"nan\": must lie between 0 and 1000000000000"),
        (b"time_s,rate_bps\n1,-5\n", "a.csv:2: rate_bps = \"-5\": must lie between 0 and 1000000000000"),
        (b"time_s,rate_bps\n1,1e13\n", "a.csv:2: rate_bps = \"1e13\": must lie between"),
        (b"time_s,rate_bps\n1,0.2\n", "a.csv:2: rate_bps = \"0.2\": must be 0 or at least 1"),
        (b"time_s,rate_bps\n#\n1,1\n1,2\n", "a.csv:4: time_s = \"1\": must be later than the time before it"),
        (
            b"time_s,rate_bps\n2,1\n1.5,2\n",
            "a.csv:3: time_s = \"1.5\": must be later than the time before it",
        ),
        (b"time_s,rate_bps\n-1,1\n", "a.csv:2: time_s = \"-1\": must lie between 0 and 10000000"),
        (b"time_s,delay_s\n1,1001\n", "a.csv:2: delay_s = \"1001\": must lie between 0 and 1000"),
        (b"time_s,rate_bps\n1\n", "a.csv:2: has 1 value, but the header has 2 columns"),
        (b"time_s\n1\n", "a.csv:1: \"time_s\" must be the header of a table, such as time_s,rate_bps"),
        (b"0.5,1e6\n", "a.csv:1: \"0.5,1e6\" must be the header of a table"),
        (b"time_ms,rate_bps\n1,1\n", "a.csv:1: \"time_ms,rate_bps\" must be the header of a table"),
        (b"time_s,rate_bps,rate_bps\n1,1,1\n", "a.csv:1: "),
        (b"time_s,rate_bps\n1,2\n\xff\n", "a.csv:3: is not UTF-8 text"),
        (b"time_s,rate_bps\n1,999e9\n", "a.csv:2: 999 Gbit/s must be at most 320 Gbit/s"),
        (&digits, "characters)\": must lie between 0 and 10000000"),
        (b"1\n-2\n", "a.csv:2: \"-2\" is not a whole number of milliseconds"),
        (b"5\n\n4\n", "a.csv:3: \"4\" is earlier than the line before it (5)"),
        (b"5\n99999999999\n", "a.csv:2: \"99999999999\" must be at most 10000000000 ms"),
        (&digits[16..1_000_016], "characters)\" must be at most 10000000000 ms"),
        (b"0\n0\n", "a.csv: must end later than 0 ms"),
    ] {
        let e = refusal("changes = { file = \"a.csv\" }", bytes);
        assert!(e.starts_with("x.toml:9: dumbbell.changes: "), "{e}");
        assert!(e.contains(rule) && e.len() < 500, "{e}\nlacks {rule}");
    }
    let m: &[u8] = b"1\n2\n";
    for (link, bytes, rule) in [
        ("changes = {}", m, "dumbbell.changes: changes nothing: give a list or a file"),
        ("changes = { list = [], file = \"a.csv\" }", m, "cannot be combined with list"),
        ("changes = { file = \"b.csv\" }", m, "dumbbell.changes: b.csv: cannot be read: no such file"),
        ("changes = \"b.csv\"", m, "dumbbell.changes = \"b.csv\": b.csv: cannot be read"),
        ("changes = { file = \"a.csv\", bin = \"1 s\" }", CSV, "bin = \"1 s\": is for mahimahi traces, but"),
        ("changes = { list = [[1, 2]], bin = \"1 s\" }", m, "is for mahimahi traces: leave it out"),
        ("changes = { list = [[1, 2]], sha256 = \"0\" }", m, "is the hash of a file, but there is no file"),
        (
            "changes = { file = \"a.csv\", sha256 = \"0\" }",
            m,
            "sha256 = \"0\": is not the hash of a.csv, which",
        ),
        ("changes = { file = \"a.csv\", bin = \"1.5 ms\" }", m, "must be whole milliseconds"),
        ("changes = { file = \"a.csv\", bin = \"0 s\" }", m, "must be whole milliseconds"),
        ("changes = { file = \"a.csv\", repeat = \"1 s\" }", m, "a mahimahi trace, which always starts over"),
        ("changes = { file = \"a.csv\", repeat = \"7 s\" }", CSV, "a.csv:6: time_s = \"7\": must be earlier"),
        ("changes = { list = [[1, 2]], repeat = \"0 s\" }", m, "must be longer than 0 s"),
        ("changes = { list = [[1, 2]], repeat = \"1 s\" }", m, "must be later than the last change (1 s)"),
        ("changes = { list = [[1, 2], [1, 3]] }", m, "dumbbell.changes.list[1].at: must be later"),
        ("changes = { list = [[1, 2]], repeat = \"1.000000001 s\", each = 1 }", m, "each: unknown key"),
        ("changes = [[1]]", m, "must be a list of a time and a rate"),
        ("changes = [[1, 2, 3, 4]]", m, "must be a list of a time and a rate"),
        ("changes = [[-1, 2]]", m, "must be a number of seconds, or of bit/s, of at least 0"),
        ("changes = [[1, \"2 s\"]]", m, "dumbbell.changes[0][1] = \"2 s\""),
        ("changes = 5", m, "must be a list of changes, such as"),
        ("changes = [{ at = \"1 s\" }]", m, "dumbbell.changes[0]: changes nothing"),
        ("reverse = { changes = \"a.csv\" }", b"", "dumbbell.reverse.changes = \"a.csv\": a.csv: holds no"),
        ("reverse = { delay = \"2000 s\" }", m, "dumbbell.reverse.delay = \"2000 s\": must be at most"),
    ] {
        let e = refusal(link, bytes);
        assert!(e.contains(rule), "{link}: {e}\nlacks {rule}");
    }
    let e =
        Study::parse(&scenario("changes = \"a.csv\""), "x.toml", &Plugins::new()).unwrap_err().to_string();
    assert!(e.contains("cannot be read: this scenario does not come from a file"), "{e}");
}

/// From which files are put together.
const PARTS: &[&[u8]] = &[
    b"time_s,rate_bps\n",
    b"time_s,rate_bps,delay_s\n",
    b"time_s,loss\n",
    b"1",
    b"2\n",
    b",",
    b"\n",
    b"#",
    b"1e999",
    b"-",
    b"nan",
    b"\xff",
    b"0\n",
    b"5000\n",
    b".5,7\n",
    b"3,1e6\n",
    b"\r",
    b"\xef\xbb\xbf",
];

/// What both engines make of a scenario.
fn run(text: &str, list: &[(&str, &[u8])]) -> Outcome {
    let study = Document::parse(text, "x.toml").unwrap().among(files(list)).study(&Plugins::new());
    let point = study.unwrap_or_else(|e| panic!("{e}\n{text}")).points.remove(0);
    let [fast, reference] = [Engine::Fast, Engine::Reference].map(|engine| {
        let network = point.plan(0, 1, &Plugins::new()).unwrap().network;
        quell_sim::run(network, engine, &Control::default()).unwrap()
    });
    assert_eq!(fast.digest, reference.digest);
    for (a, b) in fast.links.iter().zip(&reference.links) {
        assert_eq!(a.segments, b.segments);
    }
    fast
}

/// A UDP source of 20 Mbit/s in packets of 1000 bytes, on a link whose two directions are `link`.
fn flood(link: &str, direction: &str, segments: &str) -> String {
    format!(
        r#"schema = 1
duration = "20 s"
segments = {segments}
aqm = [{{ algorithm = "drop-tail" }}]
flows = [{{ name = "cbr", kind = "udp", rate = "20 Mbit/s", direction = "{direction}" }}]
[dumbbell]
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "1000 packets"
{link}
"#
    )
}

/// An unresponsive flow keeps a queue that is drained at the rate of the trace: what leaves is the integral of
/// the rate, but for the packet that keeps its rate across a change.
#[test]
fn a_queue_is_drained_at_the_rate_of_the_trace() {
    let csv = b"time_s,rate_bps\n4,2e6\n8.0003,0\n11,5e6\n13.5,16e6\n";
    let mbit = [(0.0, 4.0, 40.0), (4.0, 8.0, 8.0), (8.5, 10.9, 0.0), (11.0, 13.5, 12.5), (13.5, 20.0, 104.0)];
    let segments = r#"["4 s", "8 s", "8.5 s", "10.9 s", "11 s", "13.5 s"]"#;
    let check = |o: &Outcome| {
        for (from, to, mbit) in mbit {
            let s = o.links[0].segments.iter().find(|s| s.from == at(from) && s.to == at(to)).unwrap();
            // One packet of 8000 bits at each end.
            assert!((s.capacity_bits - mbit * 1e6).abs() <= 16_000.0, "{from} s: {}", s.capacity_bits);
            let idle = if from == 0.0 { 8000.0 } else { 0.0 };
            assert!((s.sent_bits - s.capacity_bits).abs() <= idle + 1.0, "{from} s: {}", s.sent_bits);
            // Within a segment too.
            let whole: f64 = o.links[0].segments.iter().map(|s| s.capacity_bits).sum();
            assert!((whole - 164.5006e6).abs() < 16_000.0, "{whole}");
        }
    };
    check(&run(&flood("changes = \"a\"", "forward", segments), &[("a", csv)]));
    // The reverse direction alone, while nothing happens to the forward one.
    let back = "reverse = { changes = \"a\" }";
    check(&run(&flood(back, "reverse", segments), &[("a", csv)]));
    let forward = run(&flood(back, "forward", segments), &[("a", csv)]);
    let all = forward.links[0].segments.iter();
    assert!((all.map(|s| s.capacity_bits).sum::<f64>() - 200e6).abs() < 1.0);
    // One segment over all of it.
    let o = run(&flood("changes = \"a\"", "forward", "\"20 s\""), &[("a", csv)]);
    let s = &o.links[0].segments[0];
    assert!((s.capacity_bits - 164.5e6).abs() < 16_000.0 && s.capacity_bits - s.sent_bits < 8_001.0);
}

/// A packet that comes during an outage waits for the end of it.
#[test]
fn packets_wait_for_the_end_of_an_outage() {
    for algorithm in ["drop-tail", "codel"] {
        let link = "changes = [[0.9999, 0], [3, 8e6]]";
        let text = flood(link, "forward", "\"20 s\"").replace("20 Mbit/s", "8 kbit/s");
        let text = text.replace("drop-tail", algorithm).replace("\"20 s\"", "\"4.5 s\"");
        let o = run(&text, &[]);
        // One packet a second. Those of 1 s and 2 s leave at 3 s, together with that of 3 s.
        let c = &o.links[0].segments[0].classes[0];
        assert_eq!((c.counts.arrived, c.counts.departed), (5, 5), "{algorithm}");
        let millis = c.counts.delay_sum_ns as f64 * 1e-6;
        // After 3 s: 2000 ms, 1001 ms and 2 ms, if the first is on the link and each takes a millisecond.
        assert!((millis - 3003.0).abs() < 0.5, "{algorithm}: {millis}");
    }
}

/// A trace of mahimahi's with as many opportunities as 6 Mbit/s has packets, in bursts that bins smooth.
#[test]
fn a_queue_is_drained_as_often_as_a_mahimahi_trace_says() {
    let trace: String = (0..1000).map(|i| format!("{}\n", 40 + 2 * i / 80 * 80)).collect();
    let last: u64 = trace.lines().last().unwrap().parse().unwrap();
    for bin in [10, 100, 1000] {
        let link = format!("changes = {{ file = \"m\", bin = \"{bin} ms\" }}");
        let text = flood(&link, "forward", "\"20 s\"").replace("udp\"", "udp\", packet = \"1500 B\"");
        let o = run(&text, &[("m", trace.as_bytes())]);
        let s = &o.links[0].segments[0];
        let rounds = 20_000.0 / last as f64;
        let expected = 12_000.0 * 1000.0 * rounds;
        let bins = 20_000.0 / bin as f64;
        // Half a packet for each bin, and the part of a round that the end cuts off.
        let allowed = 6_000.0 * bins.min(2.0 * 13.0 * rounds) + 80.0 * 12_000.0;
        assert!((s.sent_bits - expected).abs() < allowed, "{bin} ms: {} of {expected}", s.sent_bits);
        assert!(s.capacity_bits - s.sent_bits < 12_001.0, "{bin} ms");
    }
}

/// The transfer of one packet over an empty network takes a round trip: the delays there and back at that
/// time, and the transmissions.
#[test]
fn each_direction_has_its_part_in_the_round_trip() {
    let seconds = |link: &str| {
        let text = format!(
            r#"schema = 1
duration = "10 s"
aqm = [{{ algorithm = "drop-tail" }}]
[[flows]]
name = "ping"
kind = "transfers"
size = "1 packets"
think = "1 s"
connection = "persistent"
[dumbbell]
access_rate = "none"
rate = "1 Gbit/s"
delay = "10 ms"
buffer = "100 packets"
{link}
"#
        );
        let of = |t: &quell_sim::outcome::Transfer| {
            Some((t.start.as_secs_f64(), (t.acknowledged? - t.start).as_secs_f64()))
        };
        // The first one opens the connection.
        run(&text, &[]).transfers.iter().skip(1).filter_map(of).collect::<Vec<_>>()
    };
    let check = |link: &str, before: f64, after: f64| {
        let all = seconds(link);
        assert!(all.len() >= 7, "{link}: {all:?}");
        for (start, took) in all {
            let expected = if start < 5.0 { before } else { after };
            // A packet and its acknowledgment take 12 microseconds at most.
            assert!((took - expected - 10e-6).abs() < 10e-6, "{link} at {start}: {took}");
        }
    };
    check("", 0.020, 0.020);
    check("reverse = { delay = \"30 ms\" }", 0.040, 0.040);
    check("changes = [{ at = \"4.9 s\", delay = \"50 ms\" }]", 0.020, 0.100);
    let there = "changes = [{ at = \"4.9 s\", delay = \"50 ms\" }]\nreverse = { changes = [] }";
    check(there, 0.020, 0.060);
    check("reverse = { changes = [{ at = \"4.9 s\", delay = \"70 ms\" }] }", 0.020, 0.080);
    let own = "changes = [{ at = \"4.9 s\", delay = \"50 ms\" }]\nreverse = { delay = \"1 ms\" }";
    check(own, 0.011, 0.051);
}

/// The cost is that of the steps that a run meets. What took the square of a million would not end.
#[test]
fn a_million_steps_are_a_million_steps() {
    let rows = (0..1_000_000).map(|i| format!("{}.{:03},{}\n", i / 1000, i % 1000, 1_000_000 + i % 7));
    let csv = format!("time_s,rate_bps\n{}", rows.collect::<String>());
    let trace: String = (1..=1_000_000).map(|i| format!("{}\n", i / 3 * 2)).collect();
    let list: &[(&str, &[u8])] = &[("csv", csv.as_bytes()), ("m", trace.as_bytes())];
    for changes in ["\"csv\"", "{ file = \"csv\", repeat = \"1000 s\" }", "{ file = \"m\", bin = \"1 ms\" }"]
    {
        let text = flood(&format!("changes = {changes}"), "forward", "\"600 s\"");
        let text =
            text.replace("duration = \"20 s\"", "duration = \"1200 s\"").replace("20 Mbit/s", "80 kbit/s");
        // Many flows over the link, each with a queue of its own before it.
        let group = "\nflows = [{ name = \"few\", count = 100, kind = \"udp\", rate = \"1 kbit/s\" }, {";
        let o = run(&text.replace("\nflows = [{", group), list);
        assert_eq!(o.links[0].segments.len(), 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    /// What is written in a table is what is followed.
    #[test]
    fn a_table_is_followed_as_it_is_written(
        // What holds from time zero on is the link itself, which has rules of its own.
        rows in prop::collection::btree_map(1u64..60_000, (0u64..300_000_000_000, 0u64..1000), 1..40),
        swapped in any::<bool>(),
    ) {
        let order = |a: String, b: String| if swapped { format!("{b},{a}") } else { format!("{a},{b}") };
        let mut text = format!("time_s,{}\n", order("rate_bps".into(), "delay_s".into()));
        for (t, (rate, delay)) in &rows {
            let cells = order(rate.to_string(), (*delay as f64 / 1000.0).to_string());
            text.push_str(&format!("{},{cells}\n", *t as f64 / 1000.0));
        }
        let point = point("changes = \"a\"", &[("a", text.as_bytes())]);
        let [there, back] = links(&point);
        prop_assert!(there.rate == back.rate && there.delay == back.delay);
        for (t, (rate, delay)) in rows {
            let t = Time::ZERO + ms(t);
            prop_assert_eq!(there.rate.at(t), BitRate::from_bps(rate));
            prop_assert_eq!(there.delay.at(t), ms(delay));
        }
    }

    /// Whatever the bin, a trace carries 1500 bytes for each of its lines in each of its rounds.
    #[test]
    fn no_opportunity_is_lost(
        mut times in prop::collection::vec(0u64..3000, 1..200),
        bin in 1u64..1200,
    ) {
        times.sort_unstable();
        prop_assume!(*times.last().unwrap() > 0);
        let text: String = times.iter().map(|t| format!("{t}\n")).collect();
        let link = format!("changes = {{ file = \"m\", bin = \"{bin} ms\" }}");
        let rate = &links(&point(&link, &[("m", text.as_bytes())]))[0].rate;
        let end = Time::ZERO + ms(2 * times.last().unwrap());
        let (mut t, mut bits) = (Time::ZERO, 0.0);
        while t < end {
            let next = rate.next_change(t).min(end);
            bits += rate.at(t).bps() as f64 * (next - t).as_secs_f64();
            t = next;
        }
        // Rates are whole bit/s.
        prop_assert!((bits - 24_000.0 * times.len() as f64).abs() < 6.0, "{bits}");
    }

    /// No bytes make it fail otherwise than with the place of the fault.
    #[test]
    fn any_bytes_are_changes_or_an_error_with_a_rule(
        parts in prop::collection::vec(prop::sample::select(PARTS), 0..12),
        repeats in any::<bool>(),
    ) {
        let bytes: Vec<u8> = parts.concat();
        let link = if repeats { "changes = { file = \"a\", repeat = \"9 s\" }" } else { "changes = \"a\"" };
        match study(link, &[("a", &bytes)]) {
            Ok(study) => prop_assert!(study.points[0].plan(0, 1, &Plugins::new()).is_ok()),
            Err(e) => prop_assert!(e.line == Some(9) && e.rule.starts_with("a") && e.field == "dumbbell.changes"),
        }
    }
}

/// The delays between the routers and the round-trip times of the flows that seeds draw.
fn drawn(text: &str, seed: u64, aqm: usize) -> (Vec<Duration>, Vec<Duration>) {
    let study = Study::parse(text, "x.toml", &Plugins::new()).unwrap_or_else(|e| panic!("{e}"));
    let plan = study.points[0].plan(aqm, seed, &Plugins::new()).unwrap_or_else(|e| panic!("{e}"));
    let between = plan.network.links.iter().filter(|l| l.name.starts_with('r') && l.name.contains('-'));
    let delays = between.map(|l| l.delay.initial).collect();
    (delays, plan.facts.flows.iter().map(|f| f.base_rtt).collect())
}

#[test]
fn a_delay_may_be_drawn_in_each_replication() {
    let text = |delay: &str, more: &str| {
        format!(
            "schema = 1\nduration = \"10 s\"\naqm = [{{ algorithm = \"red\" }}, {{ algorithm = \"pi\" }}]\n\
             [parking_lot]\nbottlenecks = 3\nrate = \"10 Mbit/s\"\ndelay = {delay}\nbuffer = \"100 packets\"\n{more}\
             [[flows]]\nname = \"x\"\nrtt = \"100 ms\"\n[[flows]]\nname = \"y\"\ndirection = \"cross\"\n"
        )
    };
    let spread = text("{ uniform = [\"5 ms\", \"15 ms\"] }", "");
    let sum = |delays: &[Duration]| delays.iter().fold(Duration::ZERO, |a, b| a + *b);
    let (mut all, mut rtts) = (Vec::new(), Vec::new());
    for seed in 1..=300 {
        let (delays, base) = drawn(&spread, seed, 0);
        assert_eq!(drawn(&spread, seed, 1), (delays.clone(), base.clone()), "every algorithm meets the same");
        assert_eq!(delays.len(), 6);
        for (k, pair) in delays.chunks(2).enumerate() {
            assert_eq!(pair[0], pair[1], "there and back");
            assert!(pair[0] >= ms(5) && pair[0] < ms(15), "{}", pair[0]);
            // Without an rtt the flow over one link has that of the link.
            assert_eq!(base[1 + k], pair[0] * 2);
        }
        assert!(delays[0] != delays[2] && delays[2] != delays[4], "each link draws its own");
        // The access link adds what the mean delays leave: 40 ms.
        assert_eq!(base[0], ms(40) + sum(&delays));
        all.extend(delays.into_iter().step_by(2).map(|d| d.as_secs_f64()));
        rtts.push(base[0].as_secs_f64());
    }
    // Uniform on 5 to 15 ms: mean 10 ms, deviation 2.9 ms; four standard errors.
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let deviation = 0.010 / 12f64.sqrt();
    assert!((mean(&all) - 0.010).abs() < 4.0 * deviation / (all.len() as f64).sqrt(), "{}", mean(&all));
    let error = 2.0 * deviation * (3.0 / rtts.len() as f64).sqrt();
    assert!((mean(&rtts) - 0.100).abs() < 4.0 * error, "{}", mean(&rtts));
    // One that is not drawn is the mean, and so is what the theory takes.
    let fixed = text("\"10 ms\"", "");
    assert_eq!(drawn(&fixed, 1, 0).1[0], ms(100));
    let study = Study::parse(&spread, "x.toml", &Plugins::new()).unwrap();
    let flows = study.points[0].flows_at("r0-r1", Time::ZERO, 7).unwrap();
    assert_eq!(flows.iter().map(|(_, f)| f.base_rtt).collect::<Vec<_>>(), [ms(100), ms(20)]);
    // The way back with a delay of its own takes no part.
    let own = text("{ uniform = [\"5 ms\", \"15 ms\"] }", "reverse = { delay = \"1 ms\" }\n");
    assert!(drawn(&own, 3, 0).0.chunks(2).all(|pair| pair[1] == ms(1) && pair[0] >= ms(5)));
    // Written out it is the same.
    let again = study.points[0].to_toml();
    assert_eq!(drawn(&again, 5, 0), drawn(&spread, 5, 0));
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let refuse = |delay: &str, rtt: &str| {
        let text = format!(
            "schema = 1\nduration = \"10 s\"\naqm = [{{ algorithm = \"red\" }}]\n[dumbbell]\nrate = \"10 Mbit/s\"\n\
             delay = {delay}\nbuffer = \"100 packets\"\n[[flows]]\nname = \"x\"\nrtt = \"{rtt}\"\n"
        );
        Study::parse(&text, "x.toml", &Plugins::new()).unwrap_err().to_string()
    };
    let e = refuse("{ uniform = [\"15 ms\", \"5 ms\"] }", "90 ms");
    assert!(
        e.contains("dumbbell.delay") && e.contains("must increase from the first value to the second"),
        "{e}"
    );
    let e = refuse("{ uniform = [\"5 ms\", \"2000 s\"] }", "90 ms");
    assert!(e.contains("dumbbell.delay") && e.contains("must be at most"), "{e}");
    let e = refuse("{ exponential = \"5 ms\" }", "90 ms");
    assert!(e.contains("dumbbell.delay") && e.contains("uniform"), "{e}");
    let e = refuse("{ uniform = [\"5 ms\", \"15 ms\"] }", "4 * dumbbell.delay");
    assert!(e.contains("flows[0].rtt") && e.contains("dumbbell.delay is { uniform"), "{e}");
    let e = refuse("{ uniform = [\"5 ms\", \"15 ms\"] }", "19 ms");
    assert!(e.contains("is less than the 20 ms"), "{e}");
}
