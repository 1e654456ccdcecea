//! `quell aqm tc`, as a user sees it.

use crate::common::Bench;

const HOME: &str = "schema = 1\nduration = \"1 s\"\naqm = [{ algorithm = \"fq-codel\" }, { algorithm = \"pi\" }]\n\
                    flows = [{ name = \"calls\", dscp = 46 }, { name = \"rest\" }]\n[dumbbell]\nrate = \"20 Mbit/s\"\n\
                    delay = \"5 ms\"\nbuffer = \"200 packets\"\necn = true\nclasses = [\n\
                    { name = \"all\", rate = \"18 Mbit/s\" },\n\
                    { name = \"voice\", parent = \"all\", rate = \"2 Mbit/s\", ceil = \"18 Mbit/s\", match = { dscp = 46 } },\n\
                    { name = \"rest\", parent = \"all\", rate = \"16 Mbit/s\", priority = 1 },\n]\n";

#[test]
fn an_algorithms_line_is_printed_and_read_back() {
    let bench = Bench::new();
    let set = ["--set", "target=8ms", "--buffer", "500 packets"];
    let line = bench.ok(&[&["aqm", "tc", "fq-codel", "--dev", "wan0"], &set[..]].concat());
    assert_eq!(line, "tc qdisc replace dev wan0 root fq_codel limit 500 target 8ms\n");
    // tc's name is one, too.
    assert_eq!(bench.ok(&[&["aqm", "tc", "fq_codel", "--dev", "wan0"], &set[..]].concat()), line);
    let json = bench.json(&["aqm", "tc", "--read", line.trim(), "--format", "json"]);
    let link = &json["links"][0];
    assert_eq!(link["device"], "wan0");
    assert_eq!(link["buffer"], "500 packets");
    assert_eq!(link["aqm"]["target"], "8 ms");
    assert_eq!(link["ecn"], true);
    let toml = bench.ok(&["aqm", "tc", "--read", line.trim(), "--format", "toml"]);
    assert!(
        toml.contains(
            "[dumbbell]\nbuffer = \"500 packets\"\necn = true\n\n[[aqm]]\nalgorithm = \"fq-codel\"\n"
        )
    );
}

#[test]
fn a_scenario_has_lines_for_each_algorithm_and_they_are_the_scenario() {
    let bench = Bench::new();
    bench.file("home.toml", HOME);
    let lines = bench.ok(&["aqm", "tc", "home.toml"]);
    assert!(lines.contains("# pi: Linux has no such qdisc; the nearest that Linux has is pie"), "{lines}");
    bench.file("lines.sh", &lines);
    let json = bench.json(&["aqm", "tc", "--read", "lines.sh", "--format", "json"]);
    let classes = json["links"][0]["classes"].as_array().unwrap();
    let rates: Vec<&str> = classes.iter().map(|class| class["rate"].as_str().unwrap()).collect();
    assert_eq!(rates, ["18 Mbit/s", "2 Mbit/s", "16 Mbit/s"]);
    assert_eq!(classes[1]["aqm"]["algorithm"], "fq-codel");
    assert_eq!((&classes[1]["default"], &classes[2]["default"]), (&false.into(), &true.into()));
}

/// A home behind a modem for VDSL2, as `quell recommend` writes it.
const MODEM: &str = "schema = 1\nduration = \"1 s\"\nmean_packet = \"1514 B\"\naqm = [{ algorithm = \"fq-codel\" }]\n\
                     flows = [{ name = \"up\", from = \"home\", to = \"net\" }, { name = \"down\", from = \"net\", to = \"home\" }]\n\
                     [[graph.links]]\nfrom = \"home\"\n\
                     to = \"router\"\ndelay = \"1 ms\"\nrate = \"1 Gbit/s\"\nbuffer = \"1000 packets\"\nshaper = { rate = \
                     \"9.5 Mbit/s\", burst = \"3108 B\", layer = \"ethernet\", overhead = \"30 B\", framing = \"ptm\" }\n\
                     [graph.links.reverse]\naqm = \"fq-codel\"\nshaper = { rate = \"47.5 Mbit/s\", burst = \"5937 B\", \
                     layer = \"ethernet\", overhead = \"30 B\", framing = \"ptm\" }\n[[graph.links]]\nfrom = \"router\"\n\
                     to = \"net\"\ndelay = \"5 ms\"\nrate = \"10 Mbit/s\"\nbuffer = \"100 packets\"\n\
                     aqm = { algorithm = \"drop-tail\" }\n";

/// PTM sends 64 bytes as 65, and Linux counts 14 bytes of Ethernet itself: 30 B above an IP packet and the code word that it
/// begins are 17 for tc.
#[test]
fn a_link_of_a_scenario_keeps_its_shaper_in_each_direction() {
    let bench = Bench::new();
    bench.file("home.toml", &MODEM.replace("aqm = \"fq-codel\"", "aqm = { algorithm = \"fq-codel\" }"));
    let said = bench.run(&["aqm", "tc", "home.toml"]).err;
    assert!(said.contains("home-router, router-home, router-net") && said.contains("--link"), "{said}");
    let said = bench.run(&["aqm", "tc", "home.toml", "--link", "home-ruter"]).err;
    assert!(said.contains("did you mean \"home-router\""), "{said}");
    for option in [["--rate", "5Mbit/s"], ["--set", "target=5ms"], ["--at", "htb"]] {
        let said =
            bench.run(&[&["aqm", "tc", "home.toml", "--link", "home-router"], &option[..]].concat()).err;
        assert!(said.contains(option[0]), "{said}");
    }
    for (link, at, rate) in [("home-router", "root", 9_500_000_u64), ("router-home", "ifb", 47_500_000)] {
        let lines = bench.ok(&["aqm", "tc", "home.toml", "--link", link, "--at", at]);
        let carried = format!("rate {}bit burst ", rate / 65 * 64);
        assert!(lines.contains(&carried) && lines.contains(" overhead 17\n"), "{lines}");
        bench.file("lines.sh", &lines);
        let read = bench.json(&["aqm", "tc", "--read", "lines.sh", "--format", "json"]);
        assert_eq!(read["links"].as_array().map(Vec::len), Some(1), "{read}");
        assert_eq!(read["links"][0]["shaper"]["overhead"], "31 B", "{read}");
        let device = if at == "ifb" { "ifb4eth0" } else { "eth0" };
        assert_eq!(read["links"][0]["device"], device, "{read}");
        // Nothing of the other direction is deleted.
        assert_eq!(lines.contains("tc qdisc del dev eth0 root"), at == "root", "{lines}");
        assert_eq!(lines.contains("redirect dev ifb4eth0"), at == "ifb", "{lines}");
    }
}

/// tc ends each line, so a file that ends inside of one may hold half of a number; of a line that is typed, it may not.
#[test]
fn a_dump_that_is_cut_inside_of_a_number_is_refused() {
    let bench = Bench::new();
    let whole = counted(100, 1);
    let dump = |len: usize| bench.file("dump.txt", &whole[..len]);
    for cut in ["limit 10", "Sent 15", "pkt (dropped", "requeues 0)\n backlog"] {
        dump(whole.find(cut).unwrap() + cut.len());
        let ran = bench.run(&["aqm", "tc", "--read", "dump.txt"]);
        assert!(ran.code == 2 && ran.out.is_empty() && ran.err.contains("was it cut?"), "{cut}: {ran:?}");
    }
    dump(whole.len());
    assert!(bench.ok(&["aqm", "tc", "--read", "dump.txt"]).contains("buffer = \"1000 packets\""));
    bench.ok(&["aqm", "tc", "--read", whole.lines().next().unwrap()]);
    // A line end that something else added.
    bench.file("dump.txt", &format!("{}\n Sent 99 by\n", whole.lines().next().unwrap()));
    let json = bench.json(&["aqm", "tc", "--read", "dump.txt", "--format", "json"]);
    assert!(json["links"][0]["counters"]["bytes"].is_null(), "{json}");
}

/// JSON of tc is one line, so its numbers are of items; a mark of the order of bytes is none of its words.
#[test]
fn places_are_those_of_the_text() {
    let bench = Bench::new();
    let json = r#"[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"options":{}},
        {"kind":"codel","handle":"8001:","dev":"eth0","root":true,"options":{"limit":1000,"target":4999}}]"#;
    bench.file("dump.json", &json.replace('\n', ""));
    assert!(bench.ok(&["aqm", "tc", "--read", "dump.json"]).starts_with("# eth0: codel (item 2)"));
    bench.file("marked.txt", &format!("\u{feff}{}", counted(100, 1)));
    let read = bench.run(&["aqm", "tc", "--read", "marked.txt"]);
    assert!(read.code == 0 && read.out.starts_with("# eth0: fq_codel (line 1)"), "{read:?}");
    assert!(!read.err.contains("not a line of tc's"), "{read:?}");
}

/// What nobody sets is the kernel's own, of which there is nothing to say.
#[test]
fn a_note_is_of_what_was_set() {
    let bench = Bench::new();
    for name in ["codel", "fq-codel", "pie", "fq-pie", "sfq"] {
        let ran = bench.run(&["aqm", "tc", name]);
        assert!(ran.code == 0 && !ran.err.contains("no word of"), "{name}: {}", ran.err);
    }
    let ran = bench.run(&["aqm", "tc", "fq-codel", "--set", "arithmetic=exact"]);
    assert!(ran.err.contains("no word of fq_codel's says arithmetic = exact: the kernel has"), "{}", ran.err);
}

#[test]
fn what_cannot_be_written_or_read_is_said() {
    let bench = Bench::new();
    std::fs::write(bench.path("junk"), [0_u8, 159, 146, 150].repeat(1000)).unwrap();
    bench.file("cut.json", "[{\"kind\":\"fq_codel\",\"opt");
    for (args, part) in [
        (&["aqm", "tc", "pi"][..], "Linux has no such qdisc; the nearest that Linux has is pie"),
        (&["aqm", "tc", "dualpi2"], "from 6.17 on, and not in 6.12"),
        (&["aqm", "tc", "codel", "--kernel", "5.4"], "older than 6.1"),
        (&["aqm", "tc", "codel", "--at", "htb"], "give --rate"),
        (&["aqm", "tc", "codel", "--dev", "a;reboot"], "--dev: "),
        (&["aqm", "tc", "codel", "--set", "targt=5ms"], "did you mean \"target\"?"),
        (&["aqm", "tc", "nothing.toml"], "nothing.toml: cannot read"),
        (&["aqm", "tc", "--read", "fq_codel target 5mm"], "line 1: target: \"5mm\" is not a time"),
        (&["aqm", "tc", "--read", "junk"], "is not text"),
        (&["aqm", "tc", "--read", "cut.json"], "it was cut"),
        (&["aqm", "tc", "--read", ""], "--read: "),
    ] {
        let ran = bench.run(args);
        assert!(ran.code == 2 && ran.err.contains(part), "{args:?}: {} {}", ran.code, ran.err);
    }
}

const BULK: &str = "schema = 1\nduration = \"6 s\"\nwarmup = \"1 s\"\nflows = [{ name = \"bulk\", count = 2, start = { between = \
                    [\"0 s\", \"1 s\"] }, tcp = { packet = \"1500 B\" } }]\naqm = [{ algorithm = \"fq-codel\" }]\n[dumbbell]\n\
                    rate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nbuffer = \"1000 packets\"\n";

/// What tc shows of a queue that sent and dropped so many packets of 1514 B.
fn counted(packets: u64, dropped: u64) -> String {
    format!(
        "qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 1000p flows 1024 quantum 1514 target 5ms interval 100ms ecn\n \
         Sent {} bytes {packets} pkt (dropped {dropped}, overlimits 0 requeues 0)\n backlog 0b 0p requeues 0\n  maxpacket \
         1514 drop_overlimit 0 new_flow_count 7 ecn_mark 0\n",
        packets * 1514
    )
}

/// A link of 10 Mbit/s sends 833 packets of 1500 B in a second, and half of that rate is outside.
#[test]
fn counters_are_held_against_a_run() {
    let bench = Bench::new();
    bench.file("home.toml", BULK);
    bench.file("before.txt", &counted(100, 1));
    bench.file("after.txt", &counted(100 + 8330, 1 + 80));
    bench.file("bare.txt", &format!("{}\n", counted(100, 1).lines().next().unwrap()));
    bench.ok(&["run", "home.toml", "--seeds", "4", "--out", "res"]);
    let both =
        ["aqm", "tc", "--read", "before.txt", "--read", "after.txt", "--against", "res", "--format", "json"];
    let verdict = |over: &str, figure: &str| {
        let json = bench.json(&[&both[..], &["--over", over]].concat());
        let figures = json["against"][0]["figures"].as_array().unwrap().clone();
        let found = figures.iter().find(|row| row["figure"] == figure).unwrap();
        (found["tc"].as_f64().unwrap(), found["verdict"].as_str().unwrap().to_string())
    };
    let (share, _) = verdict("10s", "drops per packet that arrived");
    assert!((share - 80.0 / 8410.0).abs() < 1e-12, "{share}");
    let (size, inside) = verdict("10s", "mean size of packets");
    assert!(size == 1500.0 && inside == "inside", "{size} {inside}");
    assert_eq!(verdict("20s", "rate").1, "outside");
    assert_eq!(verdict("10s", "packets that wait").1, "one moment");
    let text = bench.run(&["aqm", "tc", "--read", "after.txt", "--against", "res"]);
    assert!(text.code == 0 && text.err.contains("new_flow_count 7"), "{}", text.err);
    assert!(text.err.contains("totals since the queue was made"), "{}", text.err);
    // A queue of another kind, and a counter that one dump lacks.
    bench.file("cake.txt", "qdisc cake 1: dev eth0 root bandwidth 10Mbit\n Sent 3028 bytes 2 pkt (dropped 0, overlimits 0 requeues 0)\n");
    let text = bench.run(&["aqm", "tc", "--read", "cake.txt", "--against", "res"]);
    assert!(text.code == 0 && text.err.contains("the dump is of cake, the results of "), "{}", text.err);
    bench.file("less.txt", &counted(100, 1).replace(" new_flow_count 7", "").replace("ecn_mark", "ecn"));
    let text = bench.run(&["aqm", "tc", "--read", "less.txt", "--read", "after.txt", "--against", "res"]);
    assert!(text.err.contains("only one of the two dumps counts these"), "{}", text.err);
    assert!(!text.out.contains("marks per packet"), "{}", text.out);
    // What JSON lacks is not 0.
    let json = |counts: &str| {
        format!(
            r#"[{{"kind":"fq_codel","handle":"1:","dev":"eth0","root":true,"options":{{"ecn":true}}{counts}}}]"#
        )
    };
    bench.file("lacks.json", &json(r#","bytes":151400,"packets":100,"ecn_mark":1"#));
    let text = bench.run(&["aqm", "tc", "--read", "lacks.json", "--against", "res"]);
    assert!(text.code == 0 && text.out.contains("mean size of packets"), "{}", text.err);
    assert!(
        !text.out.contains("drops per packet") && !text.out.contains("packets that wait"),
        "{}",
        text.out
    );
    assert!(text.err.contains("are left out: drops, overlimits, requeues, backlog, qlen"), "{}", text.err);
    bench.file("least.json", &json(r#","bytes":151400"#));
    for (args, part) in [
        (&["aqm", "tc", "--read", "least.json", "--against", "res"][..], "the counters lack packets"),
        (&["aqm", "tc", "--read", "bare.txt", "--against", "res"][..], "give what tc -s qdisc show prints"),
        (
            &["aqm", "tc", "--read", "after.txt", "--read", "before.txt", "--against", "res"],
            "give the earlier one first",
        ),
        (&["aqm", "tc", "--read", "after.txt", "--against", "res", "--link", "bottlneck"], "did you mean"),
        (
            &["aqm", "tc", "--read", "after.txt", "--against", "res", "--dev", "eth1"],
            "did you mean \"eth0\"?",
        ),
        (&["aqm", "tc", "--read", "after.txt", "--read", "before.txt"], "several are for --against"),
    ] {
        let ran = bench.run(args);
        assert!(ran.code == 2 && ran.err.contains(part), "{args:?}: {} {}", ran.code, ran.err);
    }
}

#[test]
fn hosts_without_queues_links_and_directions_are_answered() {
    let bench = Bench::new();
    let idle = bench.ok(&["aqm", "tc", "--read", "qdisc noqueue 0: dev lo root refcnt 2"]);
    assert!(idle.contains("# lo: noqueue: packets leave at once"), "{idle}");
    let wire = bench.ok(&["aqm", "tc", "--read", "tc qdisc add dev eth0 root netem delay 20ms loss 1%"]);
    assert!(wire.contains("delay = \"20 ms\"\nloss = 0.01\n"), "{wire}");
    let wrong = bench.run(&["aqm", "tc", "--read", "tc qdisc add dev eth0 root netem delya 20ms"]);
    assert!(
        wrong.code == 2 && wrong.err.contains("line 1: netem: option of netem \"delya\""),
        "{}",
        wrong.err
    );
    bench.file(
        "sqm",
        "config queue\n option interface 'eth1'\n option upload '10000'\n option eqdisc_opts 'dual-srchost ack-filter'\n",
    );
    let up = bench.run(&["aqm", "tc", "--read", "sqm", "--to", "gateway"]);
    assert!(up.out.contains("up = \"10 Mbit/s\"") && !up.out.contains("dual-srchost"), "{}", up.out);
    assert!(
        up.err.contains("only up is in the text: give down") && up.err.contains("ack_filter"),
        "{}",
        up.err
    );
}
