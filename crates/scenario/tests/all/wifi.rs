//! Channels of Wi-Fi: what a file says, what is refused, and that whole runs give what the papers have.

#![allow(clippy::result_large_err)] // Errors end a test.

use quell_scenario::{Document, Plugins, Point, ScenarioError, Study, notes};
use quell_sim::network::{LinkId, Network};
use quell_sim::outcome::Outcome;
use quell_sim::{Control, Engine};
use quell_units::{BitRate, Duration, QueueSize};

/// Downloads to laptops and phones and uploads, over a dumbbell whose table goes on with `link`.
fn scenario(link: &str) -> String {
    format!(
        r#"schema = 1
duration = "4 s"
aqm = [{{ algorithm = "codel" }}, {{ algorithm = "drop-tail" }}]
[[flows]]
name = "laptops"
count = 4
rtt = "20 ms"
[[flows]]
name = "phones"
count = 6
hosts = 3
rtt = "20 ms"
[[flows]]
name = "upload"
direction = "reverse"
rtt = "20 ms"
[dumbbell]
delay = "1 us"
buffer = "200 packets"
{link}
"#
    )
}

fn study_of(text: &str) -> Result<Study, ScenarioError> {
    Document::parse(text, "x.toml").unwrap().study(&Plugins::new())
}

fn of_text(text: &str) -> Point {
    study_of(text).unwrap_or_else(|e| panic!("{e}\n{text}")).points.remove(0)
}

fn point(link: &str) -> Point {
    of_text(&scenario(link))
}

fn network(point: &Point) -> Network {
    point.plan(0, 1, &Plugins::new()).unwrap().network
}

/// Both engines give the same.
fn run(point: &Point) -> Outcome {
    let [fast, reference] = [Engine::Fast, Engine::Reference]
        .map(|engine| quell_sim::run(network(point), engine, &Control::default()).unwrap());
    assert_eq!((fast.digest, fast.conservation), (reference.digest, reference.conservation));
    let c = fast.conservation;
    assert_eq!(c.sent + c.duplicated, c.delivered + c.dropped + c.lost + c.in_flight, "{c:?}");
    fast
}

/// Of each lane, in Mbit/s.
fn throughputs(outcome: &Outcome) -> Vec<(String, f64)> {
    let link = &outcome.links[0];
    let segment = &link.segments[0];
    let seconds = (segment.to - segment.from).as_secs_f64();
    let of = |(name, lane): (&String, &quell_sim::outcome::ClassStats)| {
        (name.clone(), lane.counts.departed_bytes as f64 * 8e-6 / seconds)
    };
    link.lanes.iter().zip(&segment.lanes).map(of).collect()
}

const PHONES: &str =
    "{ name = \"phone\", rate = \"7.2 Mbit/s\", repeat = 3, match = { group = \"phones\" } }";
const REST: &str = "{ name = \"laptop\", rate = \"144.4 Mbit/s\", repeat = 4 }";

fn forms() -> Vec<String> {
    let stations = format!("stations = [{PHONES}, {REST}]");
    let more = [
        "",
        "queues = \"turns\", ",
        "queues = \"one\", ",
        "queues = \"one\", driver = 10, ",
        "quantum = \"1 ms\", ",
        "standard = \"802.11a\", ",
        "standard = \"802.11ac\", retries = 1, ",
        "cw_min = 3, cw_max = 7, slot = \"20 us\", sifs = \"10 us\", difs = \"50 us\", ",
        "preamble = \"192 us\", header = \"50 B\", ack = \"14 B\", ack_preamble = \"192 us\", ack_rate = \"1 Mbit/s\", ",
        "aggregate_packets = 8, aggregate_bytes = \"20 kB\", aggregate_time = \"2 ms\", ",
        "uplink = { aqm = { algorithm = \"pie\" }, buffer = \"50 packets\" }, ",
        "uplink = { aqm = \"same\" }, ",
    ];
    let mut all: Vec<String> = more.iter().map(|more| format!("wifi = {{ {more}{stations} }}")).collect();
    all.push(
        "wifi.stations = [{ name = \"a\", rate = \"9 Mbit/s\", error = 0.2, aggregate_packets = 3 }]".into(),
    );
    all
}

#[test]
fn a_file_says_who_shares_a_channel() {
    let mut links = network(&point(&forms()[0])).links;
    assert!(links[1].wifi.is_none() && links[1].queue.is_none() && !links[1].observe);
    let link = &mut links[0];
    let wifi = link.wifi.take().unwrap();
    assert!(link.queue.is_none() && link.observe);
    let names: Vec<String> = wifi.channel.stations.iter().map(|s| s.name.clone()).collect();
    assert_eq!(names, ["phone-1", "phone-2", "phone-3", "laptop-1", "laptop-2", "laptop-3", "laptop-4"]);
    assert_eq!(wifi.queues.len(), 14);
    assert!(wifi.queues.iter().all(|queue| queue.buffer == QueueSize::Packets(200.0)));
    // Laptops by their number, phones by their host, and the upload is at the first laptop.
    let at: Vec<(u8, bool)> = wifi.of_flow.iter().map(|at| (at.station, at.sends)).collect();
    let down = [3, 4, 5, 6, 0, 1, 2, 0, 1, 2].map(|station| (station, false));
    assert_eq!(at, [&down[..], &[(3, true)]].concat());
    // Data and acknowledgments take the same link.
    let network = network(&point(&forms()[0]));
    for flow in &network.flows {
        assert!(flow.forward.contains(&LinkId(0)) && flow.reverse.contains(&LinkId(0)));
        assert!(!flow.forward.contains(&LinkId(1)) && !flow.reverse.contains(&LinkId(1)));
    }
    let numbers = network_of(7).contention;
    assert_eq!((numbers.cw_min, numbers.cw_max, numbers.retries), (3, 7, Some(7)));
    assert_eq!((numbers.slot, numbers.difs), (Duration::from_micros(20), Duration::from_micros(50)));
    let frames = network_of(8).frames;
    assert_eq!((frames.header.get(), frames.ack_rate), (50, Some(BitRate::from_bps(1_000_000))));
    assert_eq!(network_of(9).aggregation.unwrap().packets, 8);
    assert!(network_of(5).aggregation.is_none());
}

fn network_of(form: usize) -> quell_queue::Channel {
    network(&point(&forms()[form])).links[0].wifi.take().unwrap().channel
}

/// Thirty stations of two rates are ten lines.
#[test]
fn thirty_stations_of_two_rates_are_ten_lines() {
    let lines = r#"[dumbbell.wifi]
[[dumbbell.wifi.stations]]
name = "fast"
rate = "144.4 Mbit/s"
repeat = 25
[[dumbbell.wifi.stations]]
name = "slow"
rate = "7.2 Mbit/s"
repeat = 5
match = { group = "phones" }
"#;
    assert!(lines.lines().count() <= 10);
    let channel = network(&point(lines)).links[0].wifi.take().unwrap().channel;
    assert_eq!(channel.stations.len(), 30);
}

/// What is written out is the same scenario, and both engines make the same of it.
#[test]
fn every_form_is_written_out_and_runs_alike() {
    let mut seen = vec![point("rate = \"9 Mbit/s\"").identity(0).unwrap().text];
    assert!(!seen[0].contains("wifi"), "{}", seen[0]);
    for form in forms() {
        let point = point(&form);
        let (text, identity) = (point.to_toml(), point.identity(0).unwrap().text);
        let again = study_of(&text).unwrap_or_else(|e| panic!("{form}: {e}\n{text}")).points.remove(0);
        assert_eq!(again.to_toml(), text, "{form}");
        assert_eq!(again.identity(0).unwrap().text, identity, "{form}");
        assert!(!seen.contains(&identity), "{form}");
        seen.push(identity);
        let outcome = run(&point);
        assert_eq!(outcome.digest, run(&again).digest, "{form}\n{text}");
        let all = throughputs(&outcome);
        assert!(all.iter().map(|(_, mbps)| mbps).sum::<f64>() > 1.0, "{form}: {all:?}");
    }
    // The rate is that of the fastest station, and follows it in a sweep.
    let text = scenario(&format!("wifi = {{ stations = [{PHONES}, {REST}] }}"));
    let swept = text.replace(
        "schema = 1\n",
        "schema = 1\nsweep = { \"dumbbell.wifi.stations.laptop.rate\" = [\"20 Mbit/s\", \"30 Mbit/s\"] }\n",
    );
    let rates: Vec<u64> =
        study_of(&swept).unwrap().points.iter().map(|p| network(p).links[0].rate.initial.bps()).collect();
    assert_eq!(rates, [20_000_000, 30_000_000]);
    // A link of a graph, and each link of a row, can be one.
    let graph = scenario("").replace(
        "[dumbbell]",
        &format!("[[graph.links]]\nfrom = \"ap\"\nto = \"air\"\nwifi = {{ stations = [{REST}] }}"),
    );
    let graph = graph
        .replace("direction = \"reverse\"", "from = \"air\"\nto = \"ap\"")
        .replace("hosts = 3", "hosts = 3\nfrom = \"ap\"\nto = \"air\"")
        .replace("count = 4", "count = 4\nfrom = \"ap\"\nto = \"air\"");
    run(&of_text(&graph));
    let row = scenario(&format!("wifi = {{ stations = [{REST}] }}"));
    run(&of_text(&row.replace("[dumbbell]", "[parking_lot]\nbottlenecks = 2")));
}

/// Saturation throughput by Bianchi (2000) in his table's parameters, W = 32 and m = 3; the numbers are those of
/// crates/queue/tests/wifi.rs. Without the overhead of propagation.
#[test]
fn stations_that_send_without_end_get_bianchis_throughput() {
    for (n, exact) in [(5, 0.8099), (10, 0.7533), (20, 0.6789), (30, 0.6274), (50, 0.5530)] {
        let text = format!(
            r#"schema = 1
duration = "200 s"
warmup = "5 s"
aqm = [{{ algorithm = "drop-tail" }}]
[[flows]]
name = "senders"
kind = "udp"
direction = "reverse"
count = {n}
rate = "{} kbit/s"
packet = "1023 B"
gaps = "exponential"
[dumbbell]
delay = "1 us"
buffer = "5 packets"
[dumbbell.wifi]
standard = "802.11a"
slot = "50 us"
sifs = "28 us"
difs = "128 us"
cw_min = 31
cw_max = 255
retries = 255
preamble = "128 us"
header = "34 B"
ack_preamble = "128 us"
ack = "14 B"
ack_rate = "1 Mbit/s"
stations = [{{ name = "s", rate = "1 Mbit/s", repeat = {n} }}]
"#,
            4000 / n
        );
        let point = of_text(&text);
        let outcome = quell_sim::run(network(&point), Engine::Fast, &Control::default()).unwrap();
        let found: f64 = throughputs(&outcome).iter().map(|(_, mbps)| mbps).sum();
        println!("n = {n}: {found:.4} of {exact}, {:+.2}%", 100.0 * (found / exact - 1.0));
        assert!((found / exact - 1.0).abs() < 0.03, "n = {n}: {found} and not {exact}");
    }
}

/// Whole runs of table 1 of Høiland-Jørgensen et al. (2017): see crates/queue/tests/wifi.rs for what was verified.
/// The rates in Mbit/s, and the shares of airtime.
fn table(queues: &str, rows: [(u32, u32, f64); 3]) -> (Vec<f64>, Vec<f64>) {
    let flow = |(i, (_, bytes, _)): (usize, (u32, u32, f64))| {
        format!(
            "[[flows]]\nname = \"g{i}\"\nkind = \"udp\"\nrate = \"200 Mbit/s\"\npacket = \"{bytes} B\"\naccess_rate = \"1 \
             Gbit/s\"\n"
        )
    };
    let station = |(i, (count, _, mbps)): (usize, (u32, u32, f64))| {
        format!(
            "{{ name = \"s{i}\", rate = \"{mbps} Mbit/s\", aggregate_packets = {count}, match = {{ group = \"g{i}\" }} }}"
        )
    };
    let flows: String = rows.into_iter().enumerate().map(flow).collect();
    let stations: Vec<String> = rows.into_iter().enumerate().map(station).collect();
    let text = format!(
        "schema = 1\nduration = \"20 s\"\nwarmup = \"2 s\"\naqm = [{{ algorithm = \"drop-tail\" }}]\n{flows}[dumbbell]\ndelay = \"1 us\"\nbuffer = \"100 packets\"\nwifi = {{ queues = \"{queues}\", stations = [{}] }}\n",
        stations.join(", ")
    );
    let point = of_text(&text);
    let outcome = quell_sim::run(network(&point), Engine::Fast, &Control::default()).unwrap();
    let rates = throughputs(&outcome)[..3].iter().map(|(_, mbps)| *mbps).collect();
    let airtime =
        outcome.links[0].segments[0].lanes[..3].iter().map(|lane| lane.airtime.as_secs_f64() / 18.0);
    (rates, airtime.collect())
}

#[test]
fn stations_get_the_rates_of_the_paper() {
    let (fair, airtime) = table("airtime", [(19, 1497, 144.4), (19, 1503, 144.4), (2, 1492, 7.2)]);
    for (found, printed) in fair.iter().zip([42.2, 42.3, 2.2]) {
        assert!((found / printed - 1.0).abs() < 0.05, "{found} and not {printed}");
    }
    // Each has as much of the airtime, which is all but waiting for the channel.
    assert!(
        airtime.iter().all(|share| (share / airtime[0] - 1.0).abs() < 0.01 && *share > 0.31),
        "{airtime:?}"
    );
    // Turns of frames: those of a cycle (the paper's own rates leave the overheads out of the shares of time). The slow
    // station takes eight tenths of the time, and all the fast ones have less than a third of what is theirs with fairness.
    let (turns, airtime) = table("turns", [(5, 1378, 144.4), (5, 1567, 144.4), (2, 1457, 7.2)]);
    println!("{fair:?} {turns:?}");
    for (found, cycle) in turns.iter().zip([11.56, 13.15, 4.89]) {
        assert!((found / cycle - 1.0).abs() < 0.01, "{found} and not {cycle}");
    }
    assert!(fair[0] > 3.0 * turns[0] && fair[2] < turns[2] / 2.0);
    assert!(airtime[2] > 0.72 && airtime[0] < 0.12, "{airtime:?}");
}

/// TCP: where one queue serves all, slow stations slow all, because aggregates are short; with airtime fairness each has
/// its own share.
#[test]
fn the_anomaly_is_one_of_tcp_too() {
    let with = |queues: &str| {
        let text = scenario(&format!("wifi = {{ queues = \"{queues}\", stations = [{PHONES}, {REST}] }}"));
        throughputs(&run(&of_text(
            &text.replace("duration = \"4 s\"", "duration = \"10 s\"\nwarmup = \"2 s\""),
        )))
    };
    let (fair, one) = (with("airtime"), with("one"));
    println!("{fair:?}\n{one:?}");
    let down: f64 = fair.iter().filter(|(name, _)| !name.ends_with("-up")).map(|(_, mbps)| mbps).sum();
    assert_eq!(one[0].0, "ap");
    assert!(down > 2.0 * one[0].1, "{down} {}", one[0].1);
}

#[test]
fn what_no_channel_is_is_refused_with_line_and_rule() {
    let mut faults = Vec::new();
    let all = "stations = [{ name = \"a\", rate = \"54 Mbit/s\" }]";
    for (link, wanted) in [
        ("wifi = 1", "x.toml:20: dumbbell.wifi = 1: must be a table, such as { stations".to_string()),
        (
            "wifi = { stations = [{ name = \"a\", rate = \"200 Mbit/s\" }] }\nrate = \"9 Mbit/s\"",
            "x.toml:21: dumbbell.rate = \"9 Mbit/s\": must be the rate of the fastest station (200 Mbit/s)".into(),
        ),
        ("wifi = {}", "dumbbell.wifi.stations: is missing".into()),
        ("wifi = { stations = [] }", "dumbbell.wifi.stations = []: must have a station at least".into()),
        ("wifi = { stations = 3 }", "dumbbell.wifi.stations = 3: must be a list of tables, such as".into()),
        ("wifi = { stations = [{ name = \"a\" }] }", "dumbbell.wifi.stations[0].rate: is missing".into()),
        (
            "wifi = { stations = [{ name = \"a b\", rate = \"1 Mbit/s\" }] }",
            "dumbbell.wifi.stations[0].name = \"a b\": must consist of letters".into(),
        ),
        (
            "wifi = { stations = [{ name = \"a\", rate = \"1 Mbit/s\", match = { group = \"phones\" } }, { name = \"a\", rate = \
             \"1 Mbit/s\" }] }",
            "dumbbell.wifi.stations[1].name = a: is the name of another queue, too; give each station".into(),
        ),
        (
            "wifi = { stations = [{ name = \"ap\", rate = \"1 Mbit/s\" }] }",
            "dumbbell.wifi.stations[0].name = ap: is the name of another queue".into(),
        ),
        (
            "wifi = { stations = [{ name = \"a\", rate = \"1 bit/s\" }] }",
            "dumbbell.wifi.stations[0].rate = 1 bit/s: must be at least 1 kbit/s".into(),
        ),
        (
            "wifi = { stations = [{ name = \"a\", rate = \"1 Mbit/s\", repeat = 128 }] }",
            "dumbbell.wifi.stations[0].repeat = 128: must be a whole number from 1 to 127".into(),
        ),
        (
            "wifi = { stations = [{ name = \"a\", rate = \"1 Mbit/s\", repeat = 100, match = { group = \"phones\" } }, { name = \
             \"b\", rate = \"1 Mbit/s\", repeat = 100 }] }",
            "are 200, and at most 127 share a channel: lower repeat".into(),
        ),
        (
            "wifi = { stations = [{ name = \"a\", rate = \"1 Mbit/s\", error = 1.0 }] }",
            "dumbbell.wifi.stations[0].error = 1: must be a probability from 0 to below 1".into(),
        ),
        (
            "wifi = { stations = [{ name = \"a\", rate = \"1 Mbit/s\", repeat = 2, aggregate_packets = 0 }] }",
            "dumbbell.wifi.stations[0].aggregate_packets = 0: must be at least 1".into(),
        ),
        (
            "wifi = { stations = [{ name = \"a\", rate = \"1 Mbit/s\" }, { name = \"b\", rate = \"1 Mbit/s\" }] }",
            "dumbbell.wifi.stations[1]: lacks a match: `a` has none either".into(),
        ),
        (
            "wifi = { stations = [{ name = \"a\", rate = \"1 Mbit/s\", match = { group = \"phones\" } }] }",
            "flows[0]: crosses the channel of dumbbell.wifi, and some of its flows are at none of the stations".into(),
        ),
        (
            "wifi = { stations = [{ name = \"a\", rate = \"1 Mbit/s\", match = { group = \"phone\" } }] }",
            "dumbbell.wifi.stations[0].match.group = \"phone\": unknown group; did you mean \"phones\"?".into(),
        ),
        (
            "wifi = { stations = [{ name = \"a\", rate = \"1 Mbit/s\", match = { dscp = 46 } }] }",
            "dumbbell.wifi.stations[0].match.dscp = 46: does not say at which station a flow ends".into(),
        ),
        (&format!("wifi = {{ standard = \"802.11g\", {all} }}"), "dumbbell.wifi.standard = \"802.11g\": ".into()),
        (&format!("wifi = {{ queues = \"fair\", {all} }}"), "dumbbell.wifi.queues = \"fair\": ".into()),
        (
            &format!("wifi = {{ queues = \"one\", quantum = \"1 ms\", {all} }}"),
            "dumbbell.wifi.quantum = \"1 ms\": has no effect with queues = \"one\"; leave it out, or write queues".into(),
        ),
        (
            &format!("wifi = {{ driver = 9, {all} }}"),
            "dumbbell.wifi.driver = 9: has no effect with queues = \"airtime\"".into(),
        ),
        (
            &format!("wifi = {{ queues = \"one\", driver = 0, {all} }}"),
            "dumbbell.wifi.driver = 0: must be from 1 to 100000".into(),
        ),
        (
            &format!("wifi = {{ standard = \"802.11a\", aggregate_packets = 9, {all} }}"),
            "dumbbell.wifi.aggregate_packets = 9: has no effect with standard = \"802.11a\"".into(),
        ),
        (
            &format!("wifi = {{ aggregate_packets = 0, {all} }}"),
            "dumbbell.wifi.aggregate_packets = 0: must be from 1 to 1024".into(),
        ),
        (
            &format!("wifi = {{ aggregate_time = \"9 us\", {all} }}"),
            "dumbbell.wifi.aggregate_time = 9 us: must be longer than the preamble".into(),
        ),
        (
            &format!("wifi = {{ cw_min = 63, cw_max = 31, {all} }}"),
            "dumbbell.wifi.cw_max = 31: must be at least cw_min (63)".into(),
        ),
        (&format!("wifi = {{ slot = \"0 s\", {all} }}"), "dumbbell.wifi.slot = 0 s: must be at least 1 us".into()),
        (
            &format!("wifi = {{ retries = 300, {all} }}"),
            "dumbbell.wifi.retries = 300: must be at most 255".into(),
        ),
        (
            &format!("wifi = {{ uplink = {{ buffer = \"0.5 packets\" }}, {all} }}"),
            "dumbbell.wifi.uplink.buffer = \"0.5 packets\": must lie between 1 packet and".into(),
        ),
        (
            &format!("wifi = {{ {all} }}\nreverse.rate = \"1 Mbit/s\""),
            "x.toml:21: dumbbell.reverse".into(),
        ),
        (
            &format!("wifi = {{ {all} }}\nchanges = [{{ at = \"1 s\", rate = \"1 Mbit/s\" }}]"),
            "x.toml:21: dumbbell.changes".into(),
        ),
        (
            &format!("wifi = {{ {all} }}\nshaper = {{ rate = \"1 Mbit/s\", burst = \"3 kB\" }}"),
            "x.toml:21: dumbbell.shaper".into(),
        ),
        (&format!("wifi = {{ {all} }}\nclasses = [{{ name = \"x\" }}]"), "x.toml:21: dumbbell.classes".into()),
    ] {
        match study_of(&scenario(link)) {
            Ok(_) => faults.push(format!("{link}: is taken")),
            Err(error) if error.to_string().contains(&wanted) => {}
            Err(error) => faults.push(format!("{link}\n  {error}\n  and not {wanted}")),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_channel_does_not_scale() {
    let error = point(&forms()[0]).scaled(2.0).unwrap_err().to_string();
    assert!(error.contains("dumbbell.wifi = a channel: has no larger one that is like it"), "{error}");
}

#[test]
fn stations_that_only_listen_are_noted() {
    let text = r#"schema = 1
duration = "4 s"
aqm = [{ algorithm = "codel" }]
[[flows]]
name = "near"
from = "ap"
to = "air"
[[flows]]
name = "far"
from = "ap"
to = "server"
[[graph.links]]
from = "ap"
to = "air"
delay = "1 us"
buffer = "100 packets"
wifi.stations = [{ name = "a", rate = "9 Mbit/s", match = { group = "far" } }, { name = "b", rate = "9 Mbit/s" }]
[[graph.links]]
from = "ap"
to = "server"
rate = "1 Gbit/s"
delay = "1 ms"
"#;
    let wanted = "graph.links[0].wifi: no flow ends at station a, so it stays silent";
    let found = notes(&[of_text(text)]);
    assert!(found.iter().any(|note| note == wanted), "{found:?}");
    for form in forms() {
        let found = notes(&[point(&form)]);
        let of_algorithm = |note: &str| note.starts_with("pie in class");
        assert!(found.iter().all(|note| of_algorithm(note)), "{form}: {found:?}");
    }
}

/// The snippets of docs/wifi.md are links.
#[test]
fn every_snippet_of_the_page_can_be_used() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/wifi.md");
    let page = std::fs::read_to_string(page).unwrap();
    let snippets = page.split("```toml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let mut used = 0;
    for snippet in snippets {
        let whole = scenario("");
        let (head, _) = whole.split_once("[dumbbell]").unwrap();
        let text = format!("{head}{snippet}");
        let mut network = network(&of_text(&text));
        assert!(network.links[0].wifi.take().is_some(), "{text}");
        used += 1;
    }
    assert_eq!(used, 3);
}
