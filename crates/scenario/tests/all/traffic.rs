//! What flow groups send, from the words of a scenario to packets.

use quell_scenario::{Document, Plugins, Point, Study};
use quell_sim::network::{App, Connection, Distribution, Traffic};
use quell_sim::outcome::Outcome;
use quell_sim::{Control, Engine};
use quell_units::{BitRate, Duration};

/// A dumbbell of 1 Mbit/s and 20 ms there and back, and one group of flows.
fn text(group: &str) -> String {
    format!(
        r#"schema = 1
duration = "20 s"
aqm = [{{ algorithm = "drop-tail" }}]
[dumbbell]
rate = "1 Mbit/s"
delay = "10 ms"
buffer = "100 packets"
[[flows]]
name = "web"
rtt = "100 ms"
{group}
"#
    )
}

fn point(group: &str) -> Point {
    let text = text(group);
    let study = Study::parse(&text, "x.toml", &Plugins::new());
    study.unwrap_or_else(|e| panic!("{e}\n{text}")).points.remove(0)
}

fn refused(group: &str) -> String {
    match Study::parse(&text(group), "x.toml", &Plugins::new()) {
        Ok(_) => panic!("{group:?} was accepted"),
        Err(e) => e.to_string(),
    }
}

/// What each flow sends.
fn apps(point: &Point, seed: u64) -> Vec<App> {
    let app = |traffic: &Traffic| match traffic {
        Traffic::Tcp { app, .. } => app.clone(),
        Traffic::Udp(_) | Traffic::Trace(_) => panic!("it is TCP"),
    };
    let plan = point.plan(0, seed, &Plugins::new()).unwrap();
    plan.network.flows.iter().map(|f| app(&f.traffic)).collect()
}

/// By both engines.
fn run(point: &Point) -> Outcome {
    let [fast, reference] = [Engine::Fast, Engine::Reference].map(|engine| {
        let network = point.plan(0, 1, &Plugins::new()).unwrap().network;
        quell_sim::run(network, engine, &Control::default()).unwrap()
    });
    assert_eq!((fast.digest, &fast.transfers), (reference.digest, &reference.transfers));
    fast
}

const WEB: &str = "kind = \"transfers\"\nsize = \"1 packets\"\n";

#[test]
fn a_request_is_a_size_or_a_distribution() {
    let request = |how: &str| match apps(&point(&format!("{WEB}{how}")), 1).as_slice() {
        [App::Transfers { request, .. }] => *request,
        other => panic!("{other:?}"),
    };
    assert_eq!(request(""), None);
    assert_eq!(request("request = \"500 B\""), Some(Distribution::Constant(500.0)));
    let drawn = request("request = { exponential = \"300 B\" }");
    assert_eq!(drawn, Some(Distribution::Exponential(300.0)));
    // It is asked on each session's behalf as well.
    let sessions =
        "kind = \"sessions\"\nsessions_per_second = 1.0\nsize = \"1 packets\"\nrequest = \"500 B\"";
    let sessions = apps(&point(sessions), 1);
    assert!(
        sessions.len() > 5 && sessions.iter().all(|a| matches!(a, App::Transfers { request: Some(_), .. }))
    );
}

#[test]
fn a_request_that_is_none_is_refused() {
    for (how, why) in [
        ("request = \"39 B\"", "must be between 40 B (a TCP header) and 65535 B"),
        ("request = \"70 kB\"", "must be between 40 B (a TCP header) and 65535 B"),
        ("request = { uniform = [\"1 B\", \"10 B\"] }", "must have a mean between 40 B"),
        ("request = 500", "not a size with its unit"),
        ("request = { pareto = { shape = 1.0, min = \"100 B\" } }", "must have a mean between 40 B"),
    ] {
        let e = refused(&format!("{WEB}{how}"));
        assert!(e.starts_with("x.toml:13: flows[0].request") && e.contains(why), "{e}");
    }
    let e = refused("request = \"500 B\"");
    assert!(e.contains("does not apply to kind \"bulk\"; it belongs to \"transfers\", \"sessions\""), "{e}");
}

/// A client of one packet at a time: the request, the packet, its acknowledgment.
#[test]
fn a_request_goes_the_way_of_acknowledgments() {
    let more = "think = \"1 s\"\nconnection = \"persistent\"\naccess_rate = \"10 Gbit/s\"\n";
    let took = |request: &str| {
        let all = run(&point(&format!("{WEB}{more}{request}"))).transfers;
        assert!(all.len() > 10, "{}", all.len());
        // The first one opens the connection.
        let took = all[1].end - all[1].start;
        assert!(all[1..].iter().all(|t| t.end - t.start == took), "{request}");
        took.as_secs_f64()
    };
    // Half a round trip of 100 ms and the transmission of 4000 bits at 1 Mbit/s.
    let more = took("request = \"500 B\"") - took("");
    assert!((more - 0.054).abs() < 1e-6, "{more}");
}

#[test]
fn a_scenario_with_requests_survives_being_written_out() {
    for request in ["request = \"500 B\"", "request = { uniform = [\"100 B\", \"500 B\"] }", ""] {
        let p = point(&format!("{WEB}{request}"));
        let text = p.to_toml();
        assert_eq!(text.contains("# request: "), request.is_empty(), "{text}");
        let again = Document::parse(&text, "again").unwrap().study(&Plugins::new()).unwrap();
        assert_eq!(apps(&again.points[0], 1), apps(&p, 1));
    }
}

#[test]
fn transfers_are_a_number_or_drawn_for_each_flow() {
    let group = |more: &str| {
        point(&format!("kind = \"sessions\"\nsessions_per_second = 20.0\nsize = \"1 packets\"\n{more}"))
    };
    let counts = |more: &str, seed| -> Vec<Option<u32>> {
        let count = |app: &App| match app {
            App::Transfers { count, .. } => *count,
            _ => None,
        };
        apps(&group(more), seed).iter().map(count).collect()
    };
    assert!(counts("", 1).iter().all(|n| *n == Some(1)));
    assert!(counts("transfers = 10", 1).iter().all(|n| *n == Some(10)));
    // Rounded up: the mean is 1 / (1 - exp(-1/5)) = 5.52, the standard deviation 4.99.
    let drawn = counts("transfers = { exponential = 5 }", 1);
    assert_eq!(drawn, counts("transfers = { exponential = 5.0 }", 1));
    assert_ne!(drawn, counts("transfers = { exponential = 5 }", 2));
    let n = drawn.len() as f64;
    let mean = drawn.iter().map(|n| f64::from(n.unwrap())).sum::<f64>() / n;
    assert!(n > 300.0 && (mean - 5.52).abs() < 4.0 * 4.99 / n.sqrt(), "{mean} of {n}");
    assert!(drawn.iter().all(|n| *n >= Some(1)));
    // What is drawn draws nothing else: the sessions arrive at the same times.
    let starts = |more: &str| -> Vec<_> {
        let plan = group(more).plan(0, 1, &Plugins::new()).unwrap();
        plan.network.flows.iter().map(|f| f.start).collect()
    };
    assert_eq!(starts("transfers = { exponential = 5 }"), starts("transfers = 5"));
    let text = group("transfers = { uniform = [1, 3] }").to_toml();
    assert!(text.contains("transfers = { uniform = [1, 3] }"), "{text}");
    let of_three = apps(&point(&format!("{WEB}count = 50\ntransfers = {{ uniform = [0, 3] }}")), 1);
    let of_three: Vec<_> =
        of_three.iter().map(|a| matches!(a, App::Transfers { count: Some(1..=3), .. })).collect();
    assert!(of_three.len() == 50 && of_three.iter().all(|ok| *ok));
}

#[test]
fn numbers_of_transfers_that_are_none_are_refused() {
    for (how, why) in [
        ("transfers = 0", "must be a whole number of at least 1"),
        ("transfers = 2.5", "must be a whole number of at least 1"),
        ("transfers = -1", "must be a whole number of at least 1"),
        ("transfers = true", "must be a whole number of at least 1, or a table"),
        ("transfers = 1e10", "must be at most 4294967295; leave it out for no limit"),
        ("transfers = { exponential = 0.5 }", "must have a mean of at least 1"),
        ("transfers = { uniform = [5, 1] }", "must increase"),
    ] {
        let e = refused(&format!("{WEB}{how}"));
        assert!(e.starts_with("x.toml:13: flows[0].transfers") && e.contains(why), "{e}");
    }
}

#[test]
fn a_source_over_tcp_has_the_words_of_one_over_udp() {
    let source = "rate = \"128 kbit/s\"\ngaps = \"exponential\"\n\
                  rate_changes = [{ at = \"5 s\", rate = \"64 kbit/s\" }]\n\
                  on_off = { on = { pareto = { shape = 1.5, mean = \"1 s\" } }, off = \"1 s\" }";
    let tcp = point(source);
    let [App::Paced(pace)] = &apps(&tcp, 1)[..] else { panic!("it has a rate") };
    let udp = point(&format!("kind = \"udp\"\n{source}")).plan(0, 1, &Plugins::new()).unwrap();
    let Traffic::Udp(udp) = &udp.network.flows[0].traffic else { panic!("it is UDP") };
    assert_eq!(*pace, udp.pace);
    assert_eq!(apps(&point(""), 1), [App::Bulk]);
    // It does not always have data to send.
    let bulk = |p: &Point| p.plan(0, 1, &Plugins::new()).unwrap().facts.flows[0].bulk;
    assert!(bulk(&point("")) && !bulk(&tcp));
    // More than the link takes is in order: it waits.
    run(&point("rate = \"10 Mbit/s\"\naccess_rate = \"5 Mbit/s\""));
    let again = Document::parse(&tcp.to_toml(), "again").unwrap().study(&Plugins::new()).unwrap();
    assert_eq!(apps(&again.points[0], 1), apps(&tcp, 1));
    assert!(point("rate = \"1 Mbit/s\"").to_toml().contains("gaps = \"constant\""));
}

/// Flows are dealt to the hosts of their group, and no other group's.
#[test]
fn flows_come_from_the_hosts_of_their_group() {
    let text = point("count = 4\nhosts = 2").to_toml();
    let text =
        format!("{text}\n[[flows]]\nname = \"more\"\ncount = 2\nhosts = 3\n\n[[flows]]\nname = \"others\"\n");
    let study = Document::parse(&text, "hosts").unwrap().study(&Plugins::new()).unwrap();
    let network = study.points[0].plan(0, 1, &Plugins::new()).unwrap().network;
    let sources: Vec<u16> = network.flows.iter().map(|flow| flow.hosts.source).collect();
    assert_eq!(sources, [1, 2, 1, 2, 3, 4, 0]);
}

#[test]
fn what_belongs_to_a_rate_needs_one() {
    for how in [
        "on_off = { on = \"1 s\", off = \"1 s\" }",
        "gaps = \"exponential\"",
        "rate_changes = [{ at = \"5 s\", rate = \"1 Mbit/s\" }]",
    ] {
        let e = refused(how);
        assert!(e.contains("needs a rate: that of the source while it is on"), "{e}");
        let e = refused(&format!("{WEB}rate = \"1 Mbit/s\"\n{how}"));
        assert!(e.contains("does not apply to kind \"transfers\"; it belongs to \"bulk\", \"udp\""), "{e}");
    }
    let e = refused("rate = \"0 bit/s\"");
    assert!(e.contains("flows[0].rate") && e.contains("must lie between 1 bit/s"), "{e}");
}

/// Jou et al. 2003, Table I, without losses: the time of a file alone on 3 Mbit/s, from its request to the sender's last
/// acknowledgment.
#[test]
fn files_that_are_asked_for_take_as_long_as_in_table_1_of_jou_et_al() {
    for (size, printed) in [("30 kB", 0.88), ("90 kB", 1.18), ("150 kB", 1.34)] {
        let file = format!(
            r#"
kind = "transfers"
size = "{size}"
request = "100 B"
think = "1 s"
tcp = {{ recovery = "tahoe", initial_window = 1, initial_ssthresh = 64 }}"#
        );
        let text = text(&file)
            .replace("rate = \"1 Mbit/s\"", "rate = \"3 Mbit/s\"")
            .replace("100 packets", "1000 packets")
            .replace("rtt = \"100 ms\"", "rtt = \"128 ms\"");
        let point = Study::parse(&text, "x.toml", &Plugins::new()).unwrap().points.remove(0);
        let transfers = run(&point).transfers;
        assert!(transfers.len() > 5);
        for t in transfers {
            let Some(heard) = t.acknowledged else { continue };
            let seconds = (heard - t.start).as_secs_f64();
            assert_eq!((100.0 * seconds).round() / 100.0, printed, "{size}: {seconds}");
        }
    }
}

#[test]
fn pages_have_objects_and_connections() {
    let group = "kind = \"pages\"\nsize = \"2 packets\"\nobjects = 50\n";
    let six = apps(&point(group), 1);
    let [App::Pages(pages), others @ ..] = &six[..] else { panic!("{six:?}") };
    assert_eq!((pages.connections, pages.connection, pages.count), (6, Connection::Persistent, None));
    assert_eq!((pages.objects, pages.size), (Distribution::Constant(50.0), Distribution::Constant(2.0)));
    assert_eq!(pages.request, Distribution::Constant(500.0));
    assert_eq!(others, [const { App::Connection { of: 0 } }; 5]);
    // The connections of each client follow it, and are counted with it.
    let some = format!("{group}count = 2\nconnections = 2\ntransfers = 3\nthink = \"1 s\"");
    let point = point(&some);
    let two = apps(&point, 1);
    assert!(matches!(&two[2], App::Pages(p) if p.count == Some(3)), "{two:?}");
    assert_eq!((&two[1], &two[3]), (&App::Connection { of: 0 }, &App::Connection { of: 2 }));
    let facts = point.plan(0, 1, &Plugins::new()).unwrap().facts;
    assert!(facts.flows.len() == 4 && facts.flows.iter().all(|f| !f.bulk && f.group == 0));
    let outcome = run(&point);
    let pages: Vec<usize> = outcome.flows.iter().map(|f| f.pages.len()).collect();
    assert_eq!(pages, [3, 0, 3, 0]);
    assert_eq!(outcome.transfers.len(), 2 * 3 * 50);
    for (wrong, why) in [
        ("connections = 0", "flows[0].connections = 0: must be 1 to 64"),
        ("connections = 65", "must be 1 to 64"),
        ("rates = [\"1 Mbit/s\"]", "does not apply to kind \"pages\"; it belongs to \"video\""),
        ("count = 1000000", "makes about"),
    ] {
        let said = refused(&format!("{group}{wrong}"));
        assert!(said.contains(why), "{wrong}: {said}");
    }
    assert!(refused("kind = \"pages\"\nsize = \"2 packets\"").contains("flows[0].objects: is missing"));
}

#[test]
fn a_video_has_rates() {
    let group = "kind = \"video\"\nrates = [\"100 kbit/s\", \"0.4 Mbit/s\"]\n";
    let of = |more: &str| match apps(&point(&format!("{group}{more}")), 1).as_slice() {
        [App::Video(video)] => video.clone(),
        other => panic!("{other:?}"),
    };
    let usual = of("");
    assert_eq!(usual.rates, [100_000, 400_000].map(BitRate::from_bps));
    let seconds = Duration::from_secs;
    assert_eq!((usual.chunk, usual.buffer, usual.start_up), (seconds(4), seconds(30), seconds(4)));
    assert_eq!((usual.averaged, usual.safety, usual.chunks), (4, 0.9, None));
    let own = of("chunk = \"1 s\"\nplayback_buffer = \"5 s\"\nstart_up = \"2 s\"\ntransfers = 9\n\
                  averaged_chunks = 3\nthroughput_share = 0.7");
    assert_eq!((own.chunk, own.buffer, own.start_up), (seconds(1), seconds(5), seconds(2)));
    assert_eq!((own.averaged, own.safety, own.chunks), (3, 0.7, Some(9)));
    let outcome = run(&point(&format!("{group}chunk = \"1 s\"\ntransfers = 9")));
    let video = outcome.flows[0].video[0];
    assert_eq!((video.chunks, video.played_ns, video.stalls), (9, 9_000_000_000, 0));
    for (wrong, why) in [
        (
            "playback_buffer = \"7 s\"",
            "must hold what playback starts with (start_up, 4 s) plus one chunk (4 s)",
        ),
        ("chunk = \"0 s\"", "must be longer than 0 s"),
        ("averaged_chunks = 0", "must be 1 to 1000"),
        ("throughput_share = 0.0", "must be above 0"),
        ("size = \"3 packets\"", "does not apply to kind \"video\""),
    ] {
        let said = refused(&format!("{group}{wrong}"));
        assert!(said.contains(why), "{wrong}: {said}");
    }
    for (rates, why) in [
        ("[]", "must list at least one rate"),
        ("[\"2 Mbit/s\", \"1 Mbit/s\"]", "must increase"),
        ("[\"0 bit/s\"]", "must be above 0 bit/s"),
    ] {
        assert!(refused(&format!("kind = \"video\"\nrates = {rates}")).contains(why), "{rates}");
    }
}

/// Three groups over a link of 10 Mbit/s; the longest round trip is 100 ms.
fn buffered(buffer: &str, count: &str) -> String {
    format!(
        r#"schema = 1
duration = "20 s"
aqm = [{{ algorithm = "red", max_th = "0.5 * dumbbell.buffer" }}]
[dumbbell]
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "{buffer}"
[[flows]]
name = "near"
rtt = "50 ms"
count = {count}
[[flows]]
name = "spread"
rtt = {{ uniform = ["30 ms", "80 ms"] }}
[[flows]]
name = "far"
rtt = {{ linear = {{ first = "40 ms", step = "20 ms" }} }}
count = 4
"#
    )
}

#[test]
fn a_buffer_is_so_many_bandwidth_delay_products() {
    let of = |text: &str| {
        let study = Study::parse(text, "x.toml", &Plugins::new()).map_err(|e| e.to_string())?;
        let scenario = &study.points[0].scenario;
        let buffer = scenario.dumbbell.as_ref().map(|d| d.buffer.to_string());
        Ok::<_, String>((buffer.unwrap_or_default(), scenario.flows[0].count))
    };
    // 10 Mbit/s times 100 ms are 125 packets of 1000 B.
    for (buffer, packets) in [
        ("1 bdp", "125 packets"),
        ("0.5bdp", "63 packets"),
        ("2 * bdp", "250 packets"),
        ("max(10 packets, 0.1 * bdp)", "12.5 packets"),
    ] {
        assert_eq!(of(&buffered(buffer, "1")), Ok((packets.to_string(), Some(1))), "{buffer}");
    }
    // S = 250: round(9), round(20.25), round(28.5).
    for (word, flows) in [("mild", 9), ("medium", 20), ("heavy", 29)] {
        assert_eq!(of(&buffered("1 bdp", &format!("\"{word}\""))).unwrap().1, Some(flows), "{word}");
    }
    // 125 packets and 25 kB make 150: 5.4 flows.
    let red = "algorithm = \"red\", max_th = \"0.5 * dumbbell.buffer\"";
    let tail = |buffer: &str| buffered(buffer, "\"mild\"").replace(red, "algorithm = \"drop-tail\"");
    assert_eq!(of(&tail("25 kB")), Ok(("25 kB".to_string(), Some(5))));
    assert_eq!(of(&tail("1 packet")).unwrap().1, Some(5));
    // A link so slow that path and buffer hold nothing has one flow.
    let slow = tail("1 packet").replace("10 Mbit/s", "100 kbit/s");
    assert_eq!(of(&slow).unwrap().1, Some(1));
    // Larger packets, fewer of them.
    let large = buffered("1 bdp", "1").replace("duration", "mean_packet = \"1250 B\"\nduration");
    assert_eq!(of(&large).unwrap().0, "100 packets");
    // Without a round-trip time, that of the links: 20 ms.
    let plain = text("").replace("rtt = \"100 ms\"", "").replace("100 packets", "4 bdp");
    assert_eq!(of(&plain).unwrap().0, "10 packets");
    let wrong = of(&buffered("bdp bdp", "1")).unwrap_err();
    assert!(wrong.contains("buffer"), "{wrong}");
    let circle = of(&buffered("1 bdp", "1").replace("count = 4", "count = \"mild\"")).unwrap_err();
    assert!(circle.contains("depends on itself"), "{circle}");
}

#[test]
fn a_graph_has_a_product_for_each_link() {
    let graph = |count: &str, rtt: &str| {
        let text = format!(
            r#"schema = 1
duration = "20 s"
aqm = [{{ algorithm = "drop-tail" }}]
[[graph.links]]
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "1 bdp"
[[graph.links]]
from = "b"
to = "c"
rate = "5 Mbit/s"
delay = "10 ms"
buffer = "1 bdp"
reverse = {{ rate = "1 Mbit/s", buffer = "2 bdp" }}
[[flows]]
name = "tcp"
from = "a"
to = "c"
count = {count}
{rtt}
"#
        );
        let study = Study::parse(&text, "x.toml", &Plugins::new()).map_err(|e| e.to_string())?;
        let links = study.points[0].scenario.graph.clone().unwrap().links;
        let all = links.iter().flat_map(|l| [l.buffer, l.reverse.buffer]).flatten();
        Ok::<_, String>(all.map(|b| b.to_string()).collect::<Vec<_>>())
    };
    let rtt = "rtt = \"100 ms\"";
    assert_eq!(graph("1", rtt).unwrap(), ["125 packets", "63 packets", "25 packets"]);
    assert!(graph("\"mild\"", rtt).unwrap_err().contains("differs for each link of a graph"));
    assert!(graph("1", "").unwrap_err().contains("no group of flows sets rtt"));
}

#[test]
fn delays_are_measured_where_a_group_asks_for_it() {
    let udp = |more: &str| format!("kind = \"udp\"\nrate = \"80 kbit/s\"\n{more}");
    let timed = |group: &str| run(&point(group)).flows[0].timed.clone();
    assert!(timed(&udp("")).is_empty());
    let measured = timed(&udp("measure_delay = true"));
    // Half the round trip, and 1000 B at 100 Mbit/s and at 1 Mbit/s.
    assert_eq!(measured[0].least_ns, 50_000_000 + 80_000 + 8_000_000);
}

#[test]
fn a_test_of_responsiveness_has_the_defaults_of_the_draft() {
    let group = "kind = \"responsiveness\"\n";
    let all = apps(&point(group), 1);
    let [App::Responsiveness(test), others @ ..] = &all[..] else { panic!("{all:?}") };
    assert_eq!((test.initial, test.added, test.most, test.averaged), (1, 1, 16, 4));
    assert_eq!((test.interval, test.tolerance), (Duration::from_secs(1), 0.05));
    assert_eq!((test.probes_per_second, test.share, test.unsent, test.upload), (100.0, 0.05, 0, false));
    assert_eq!(others, vec![App::Connection { of: 0 }; test.flows() as usize - 1]);
    let other = apps(
        &point(&format!(
            "{group}load = \"upload\"\nconnections = 0\nunsent = \"4 kB\"\nprobe_share = 0.2\ninterval = \"5 s\""
        )),
        1,
    );
    let [App::Responsiveness(idle), ..] = &other[..] else { panic!("{other:?}") };
    assert_eq!((idle.initial, idle.most, idle.upload, idle.share), (0, 0, true, 0.2));
    assert_eq!((idle.interval, idle.unsent), (Duration::from_secs(5), 4));
    let outcome = run(&point(&format!("{group}connections = 2")));
    assert!(outcome.flows[0].responsiveness.as_ref().is_some_and(|probes| !probes.loaded.is_empty()));
    for (line, why) in [
        ("connections = 65", "flows[0].connections = 65: must be 0 to 64"),
        ("initial_connections = 17", "must be at least 1 and at most connections (16)"),
        ("initial_connections = 0", "must be at least 1"),
        ("interval = \"0 s\"", "must be at least 1 ms"),
        ("averaged_intervals = 0", "must be 1 to 1000"),
        ("tolerance = 0.0", "must be above 0 and at most 1"),
        ("probes_per_second = 1e5", "must be above 0 and at most 10000"),
        ("probe_share = 1.5", "must be above 0 and at most 1"),
        ("unsent = \"2e6 packets\"", "must be at most a million packets"),
        ("size = \"2 packets\"", "does not apply to kind \"responsiveness\""),
    ] {
        let error = refused(&format!("{group}{line}"));
        assert!(error.contains(why), "{line}: {error}");
    }
    assert!(refused("kind = \"pages\"\nunsent = \"1 packets\"").contains("it belongs to \"responsiveness\""));
}

/// The scenario beside the documentation is sound, and its queues rank as they should: with a queue for each flow
/// responsiveness is near that of the empty path, and the deep buffer costs most of it.
#[test]
fn the_example_of_responsiveness_runs() {
    let text = include_str!("../../../../scenarios/responsiveness.toml");
    let study = Study::parse(text, "responsiveness.toml", &Plugins::new()).unwrap();
    let point = &study.points[0];
    let rpm = |aqm: usize| {
        let network = point.plan(aqm, 1, &Plugins::new()).unwrap().network;
        let warmup = network.measure.warmup;
        let outcome = quell_sim::run(network, Engine::Fast, &Control::default()).unwrap();
        let probes = outcome.flows[0].responsiveness.as_ref().unwrap();
        let foreign = probes.foreign.iter().filter(|p| p.end >= warmup);
        let loaded = probes.loaded.iter().filter(|p| p.end >= warmup);
        quell_sim::responsiveness::Rpm::of(foreign, loaded)
    };
    let [deep, codel, fq] = [0, 1, 2].map(|aqm| rpm(aqm).both().unwrap());
    // 1000 packets of 1500 bytes are 240 ms at 50 Mbit/s: a round trip of 280 ms or less, as the windows let the queue
    // fall to 7/10 of that pipe (CUBIC).
    assert!((60.0 / 0.2802..60.0 / 0.19).contains(&deep), "{deep}");
    assert!(fq > codel && codel > 3.0 * deep, "{deep} {codel} {fq}");
    // The empty path: 40 ms, and 80, 4200 and 600 bytes; beside it, a packet in transmission for each one sent.
    let alone = 60.0 / (0.04 + (80.0 + 4200.0 + 600.0) * 8.0 / 3.0 / 50e6);
    let foreign = rpm(2).foreign.unwrap();
    assert!(foreign < alone && foreign > 0.93 * alone, "{foreign} {alone}");
}
