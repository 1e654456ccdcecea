//! `quell measure`, as a user sees it.

use std::io::Write;
use std::process::Stdio;

use crate::common::{Bench, Ran};
use etherparse::{PacketBuilder, TcpHeader};

/// A pcap file of a link of 10 Mbit/s: four connections open with round trips of 50 ms, and then their
/// server sends frames of 1514 bytes to them in turn for three seconds without pause.
fn trace() -> Vec<u8> {
    trace_of(20, |k| k * 1514 * 800)
}

/// The same with the capture so many milliseconds from the server and back, and the data at these
/// nanoseconds.
fn trace_of(server_ms: u64, data_at: impl Fn(u64) -> u64) -> Vec<u8> {
    let mut file = vec![0x4D, 0x3C, 0xB2, 0xA1, 2, 0, 4, 0];
    for word in [0_u32, 0, 65_535, 1] {
        file.extend(word.to_le_bytes());
    }
    let mut packet = |nanos: u64, host: u8, down: bool, seq: u32, ack: u32, syn: bool, payload: usize| {
        let (client, server) = ([10, 0, 0, host], [192, 0, 2, 1]);
        let (from, to) = if down { (server, client) } else { (client, server) };
        let ports = if down { (443, 5000) } else { (5000, 443) };
        let mut header = TcpHeader::new(ports.0, ports.1, seq, 65_000);
        (header.syn, header.ack, header.acknowledgment_number) = (syn, ack > 0, ack);
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4(from, to, 60).tcp_header(header);
        let mut frame = Vec::new();
        builder.write(&mut frame, &vec![0; payload]).unwrap();
        let seconds = 1_700_000_000 + nanos / 1_000_000_000;
        for word in [seconds as u32, (nanos % 1_000_000_000) as u32, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    };
    const MS: u64 = 1_000_000;
    for i in 0..4_u8 {
        let at = u64::from(i) * 100 * MS;
        packet(at, i + 1, false, 100, 0, true, 0);
        packet(at + server_ms * MS, i + 1, true, 900, 101, true, 0);
        packet(at + 50 * MS, i + 1, false, 101, 901, false, 0);
    }
    for k in 0..2477_u32 {
        let at = 500 * MS + data_at(k.into());
        packet(at, (k % 4) as u8 + 1, true, 901 + k / 4 * 1460, 101, false, 1460);
    }
    file
}

fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::write(bench.path("trace.pcap"), trace()).unwrap();
    bench
}

#[test]
fn the_three_quantities_their_methods_and_the_next_command() {
    let bench = bench();
    let out = bench.ok(&["measure", "trace.pcap"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..2], ["trace.pcap", "pcap: 2489 packets, 3.75 MB, 3.50 s"]);
    let line = |start: &str| *lines.iter().find(|l| l.starts_with(start)).unwrap();
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    // 10 Mbit/s of frames with 1514 bytes are 9.91 of IP.
    assert!(line("C down").contains("9.91 Mbit/s") && line("C up").contains(" – "), "{out}");
    assert!(words.contains("IP; 10.0 Mbit/s in the capture's frames. The link was full"), "{out}");
    assert!(line("N ").contains("4 flows") && words.contains("4 5-tuples, 4 of them with data"), "{out}");
    assert!(line("R ").contains("50.0 ms") && line("R ").contains("4 handshakes"), "{out}");
    assert!(line("up ").contains(" 40.00 "), "{out}");
    assert!(line("down ").contains(" 1498 ") && line("down ").contains(" 1500 "), "{out}");
    // Frames with check sums, preambles and gaps are 1538 bytes where IP has 1500.
    let next = "next  quell recommend --down 10.2Mbit/s --up 10.2Mbit/s --rtt 50ms..50ms --link ethernet --capture trace.pcap";
    assert_eq!(lines[lines.len() - 3], next);
    assert!(lines[lines.len() - 2].contains("put it in the place of ethernet"), "{out}");
    assert!(lines[lines.len() - 1].contains("does not show the rate up"), "{out}");
    for layer in ["capture", "ethernet"] {
        let frames = bench.ok(&["measure", "trace.pcap", "--layer", layer]);
        assert!(frames.contains("--down 10.2Mbit/s") && frames.contains("--link ethernet"), "{frames}");
    }
    let docsis = bench.ok(&["measure", "trace.pcap", "--layer", "docsis"]);
    assert!(docsis.contains("--down 10Mbit/s") && docsis.contains("--link docsis"), "{docsis}");
    assert!(!out.contains('\u{1b}'), "colors in a pipe");

    let long = bench.ok(&["measure", "trace.pcap", "--intervals", "--interval", "500ms", "--window", "2 s"]);
    let rows = long.lines().filter(|l| l.starts_with(|c: char| c.is_ascii_digit())).count();
    assert_eq!(rows, 7, "{long}");
    let words = long.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("sent data within 500 ms") && words.contains("The last 2 s had"), "{long}");
}

#[test]
fn json_has_the_documented_shape() {
    let bench = bench();
    let json = bench.json(&["measure", "trace.pcap", "--format", "json", "--intervals"]);
    assert_eq!(
        (&json["schema"], &json["trace"], &json["format"]),
        (&1.into(), &"trace.pcap".into(), &"pcap".into())
    );
    assert_eq!((&json["interval_s"], &json["window_s"]), (&1.0.into(), &60.0.into()));
    let down = &json["directions"][1];
    assert_eq!((&down["direction"], &down["flows"]["active"]), (&"down".into(), &4.into()));
    assert_eq!(down["capacity"]["verdict"], "full");
    assert!((down["capacity"]["capacity_bps"].as_f64().unwrap() / 1e7 * 1514.0 / 1500.0 - 1.0).abs() < 1e-9);
    assert!((json["round_trips"]["mean_s"].as_f64().unwrap() - 0.05).abs() < 1e-9);
    assert_eq!(json["intervals"].as_array().unwrap().len(), 4);
    assert_eq!(json["intervals"][0]["up"]["packets"], 8);
    assert_eq!(
        json["next"],
        "quell recommend --down 10.2Mbit/s --up 10.2Mbit/s --rtt 50ms..50ms --link ethernet --capture trace.pcap"
    );
    assert_eq!(json["layer"], "ip");
    assert!((down["capacity_capture_bps"].as_f64().unwrap() / 1e7 - 1.0).abs() < 1e-9);
    let brief = bench.json(&["measure", "trace.pcap", "--format", "json"]);
    assert!(brief.get("intervals").is_none());
    // The server's side is said to be the inside.
    let turned = bench.json(&["measure", "trace.pcap", "--format", "json", "--inside", "192.0.2.0/24,::1"]);
    assert_eq!(turned["directions"][0]["packets"], down["packets"]);
}

#[test]
fn a_capture_is_read_from_a_pipe() {
    let bench = bench();
    let mut child =
        bench.command(&["measure", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&trace()).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let file = bench.ok(&["measure", "trace.pcap"]);
    // A pipe is read once, and not by the next command.
    assert_eq!(ran.out.replacen('-', "trace.pcap", 1), file.replace(" --capture trace.pcap", ""));
}

#[test]
fn damage_is_said_and_what_is_no_capture_refused() {
    let bench = bench();
    let whole = trace();
    std::fs::write(bench.path("cut.pcap"), &whole[..whole.len() - 30]).unwrap();
    let cut = bench.run(&["measure", "cut.pcap"]);
    assert_eq!(cut.code, 0);
    assert!(cut.out.contains("2488 packets"), "{}", cut.out);
    let at = whole.len() - 1530;
    let note = format!(
        "note: cut.pcap: the file ends within a packet at byte {at}; the last 1500 bytes are not measured\n"
    );
    assert_eq!(cut.err, note);

    bench.file("gz.pcap", "\u{1f}");
    std::fs::write(bench.path("gz.pcap"), [0x1F, 0x8B, 8, 0]).unwrap();
    std::fs::write(bench.path("empty.pcap"), &whole[..24]).unwrap();
    assert!(bench.ok(&["measure", "empty.pcap"]).ends_with("No IP packets to measure.\n"));
    let cases: &[(&[&str], &str)] = &[
        (&["absent.pcap"], "error: absent.pcap: cannot read: No such file or directory"),
        (&["."], "error: .: cannot read: Is a directory"),
        (&["small.toml"], "error: small.toml: not a packet capture: it begins with the bytes 73 63 68 65,"),
        (&["gz.pcap"], "error: gz.pcap: the gzip stream is damaged: it is cut off"),
        (&["trace.pcap", "--interval", "0 s"], "error: --interval = 0 s: must be longer than 0 s"),
        (&["trace.pcap", "--interval", "5"], "a time with its unit"),
        (&["trace.pcap", "--layer", "adsl"], "must be ip, capture, ptm, or a word of tc-cake(8)"),
        (&["trace.pcap", "--interface", "wan0"], "has no interface \"wan0\"; it has: none with a name"),
        (&["trace.pcap", "--iperf3", "small.toml"], "error: small.toml: not the JSON of iperf3 --json: "),
        (&["trace.pcap", "--irtt", "absent"], "error: absent: cannot read: No such file"),
        (&["trace.pcap", "--inside", "10.0.0.0/40"], "must be an address, or one with its length"),
    ];
    for (args, message) in cases {
        let ran = bench.run(&[&["measure"], *args].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.contains(message), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_capacity_that_is_not_told_leaves_no_command() {
    let bench = Bench::new();
    // Pairs of which no half agree; and pairs at 1 Gbit/s next to their sender.
    let few = trace_of(20, |k| match k % 7 {
        1 => k / 7 * 80_000_000 + 1_211_200,
        n => k / 7 * 80_000_000 + n * 10_000_000 + (k * 7919 % 97) * 60_000 * n.min(1),
    });
    std::fs::write(bench.path("few.pcap"), few).unwrap();
    std::fs::write(bench.path("own.pcap"), trace_of(1, |k| k / 2 * 5_000_000 + k % 2 * 12_112)).unwrap();
    let cases = [
        ("few.pcap", "at least ", "packet pairs agree on a rate", "at_least"),
        ("own.pcap", "–", "2.0% of the round-trip time lies", "beyond"),
    ];
    for (file, value, how, verdict) in cases {
        let out = bench.ok(&["measure", file]);
        let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(how) && words.contains(&format!("C down {value}")), "{out}");
        let needed =
            "next  quell recommend needs C, from a capture after the bottleneck while the link is full\n";
        assert!(out.ends_with(needed), "{out}");
        let json = bench.json(&["measure", file, "--format", "json"]);
        assert_eq!(
            (&json["next"], &json["directions"][1]["capacity"]["verdict"]),
            (&serde_json::Value::Null, &verdict.into())
        );
        assert_eq!(json["directions"][1]["capacity"]["capacity_bps"], serde_json::Value::Null);
    }
}

#[test]
fn help_says_where_to_capture() {
    let help = Bench::new().ok(&["measure", "--help"]);
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Capture after the bottleneck, on the receivers' side"), "{help}");
}

#[test]
fn what_carries_no_ip_is_said() {
    let bench = Bench::new();
    let mut file = trace();
    let mut frame = vec![2; 60];
    frame[12..14].copy_from_slice(&[0x88, 0x47]);
    frame[14..19].copy_from_slice(&[0, 1, 0x31, 64, 0]);
    for word in [1_700_000_009_u32, 0, 60, 60] {
        file.extend(word.to_le_bytes());
    }
    file.extend(&frame);
    std::fs::write(bench.path("wire.pcap"), &file).unwrap();
    let ran = bench.run(&["measure", "wire.pcap"]);
    let note = "note: 1 of 2490 packets are not measured because no IP header was found in them: MPLS pseudowire (1)\n";
    assert_eq!((ran.code, ran.err.as_str()), (0, note));
    let json = bench.json(&["measure", "wire.pcap", "--format", "json"]);
    assert_eq!(json["not_ip_kinds"], serde_json::json!([{"what": "MPLS pseudowire", "packets": 1}]));
}

#[test]
fn what_is_missing_leaves_no_command() {
    // Without its first 200 ms the capture has two handshakes; without 500 ms none.
    let bench = Bench::new();
    let whole = trace();
    let data = whole.len() - 2477 * (16 + 1514);
    std::fs::write(bench.path("late.pcap"), [&whole[..24], &whole[data..]].concat()).unwrap();
    let out = bench.ok(&["measure", "late.pcap"]);
    assert!(
        out.contains("No complete handshake was captured.") && out.contains("next  quell recommend needs R"),
        "{out}"
    );
    assert_eq!(bench.json(&["measure", "late.pcap", "--format", "json"])["next"], serde_json::Value::Null);
}

#[test]
fn a_compressed_capture_is_measured_as_it_was() {
    use flate2::{Compression, write::GzEncoder};
    let bench = bench();
    let plain = bench.ok(&["measure", "trace.pcap"]);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&trace()).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(&trace()[..], ruzstd::encoding::CompressionLevel::Fastest);
    for packed in [&gzip, &zstd] {
        std::fs::write(bench.path("packed"), packed).unwrap();
        assert_eq!(bench.ok(&["measure", "packed"]).replace("packed", "trace.pcap"), plain);
    }
    // Also where its end is far from what has been read.
    std::fs::write(bench.path("cut"), &gzip[..gzip.len() / 2]).unwrap();
    let ran = bench.run(&["measure", "cut"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert_eq!(ran.err, "error: cut: the gzip stream is damaged: it is cut off\n");
}

/// The rates, flows, round trips and marks of a simulated link are those of its scenario.
#[test]
fn a_simulated_link_is_measured_as_it_is() {
    let bench = Bench::new();
    bench.file(
        "two.toml",
        r#"schema = 1
dialect = "linux"
title = "Both directions"
duration = "5 s"
warmup = "1 s"
seeds = 1

[dumbbell]
rate = "20 Mbit/s"
delay = "5 ms"
buffer = "200 packets"
ecn = true

[dumbbell.reverse]
rate = "5 Mbit/s"
buffer = "20 packets"

[[aqm]]
algorithm = "codel"

[[flows]]
name = "classic"
count = 2
rtt = "30 ms"
tcp = { congestion = "cubic", packet = "1500 B", ecn = true }

[[flows]]
name = "accurate"
rtt = "30 ms"
tcp = { congestion = "prague", packet = "1500 B", ecn = true, feedback = "accecn", pacing = true }

[[flows]]
name = "upload"
direction = "reverse"
rtt = "30 ms"
tcp = { congestion = "cubic", packet = "1500 B" }
"#,
    );
    bench.ok(&["run", "two.toml", "--out", "seen", "--trace", "pcapng"]);
    let file = "seen/traces/codel-seed1.pcapng";
    let of = |more: &[&str]| {
        let inside = "10.0.0.1,10.0.0.2,10.0.0.3,172.16.0.4";
        bench
            .json(&[&["measure", file, "--inside", inside, "--format", "json", "--interface"], more].concat())
    };
    let json = of(&["bottleneck dequeue,reverse dequeue", "--layer", "capture"]);
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or_else(|| panic!("{value}"));
    let [up, down] = [0, 1].map(|i| &json["directions"][i]);
    for (way, rate, flows) in [(up, 20e6, 3), (down, 5e6, 1)] {
        assert!((number(&way["capacity"]["capacity_bps"]) / rate - 1.0).abs() < 0.01, "{way}");
        assert_eq!(way["flows"]["active"], flows, "{way}");
        let trips = &way["loaded_round_trips"];
        assert!(number(&trips["least_s"]) > 0.03 && number(&trips["samples"]) > 100.0, "{way}");
        // At most 20 packets of the upload wait, and 200 of the others.
        assert!(number(&trips["quantiles_s"][2]) < 0.03 + 0.048 + 0.12, "{way}");
        assert!(number(&trips["quantiles_s"][0]) > 0.03, "{way}");
    }
    assert!((number(&json["round_trips"]["min_s"]) / 0.03 - 1.0).abs() < 0.03, "{}", json["round_trips"]);
    // Each marked packet of the accurate flow is counted by its receiver, but for those under way at the end.
    let marked = |inside: &str| {
        let out = bench.json(&[
            "measure",
            file,
            "--inside",
            inside,
            "--format",
            "json",
            "--interface",
            "bottleneck dequeue",
        ]);
        number(&out["directions"][0]["ce_packets"])
    };
    let all = marked("10.0.0.1,10.0.0.2,10.0.0.3");
    assert_eq!(all, number(&up["ce_packets"]));
    let echoed = number(&up["echoes"]["accurate_marks"]);
    assert!(echoed > 0.0 && echoed <= all && number(&up["echoes"]["ece"]) > 0.0, "{up}");
    assert!(number(&up["ect1_share"]) > 0.1 && number(&up["ect0_share"]) > 0.1, "{up}");
    // All four interfaces at once have each packet twice, and that is said.
    let ran = bench.run(&["measure", file]);
    assert!(ran.code == 0 && ran.err.contains("one that passed two of them counts twice"), "{}", ran.err);
}

/// The files of iperf3 3.12 and irtt 0.9.0, shortened.
#[test]
fn iperf3_and_irtt_stand_beside_the_capture() {
    let bench = bench();
    let sum = |mbps: f64| {
        let bps = mbps * 1e6;
        serde_json::json!({"seconds": 2.0, "bits_per_second": bps, "retransmits": 7, "sender": true})
    };
    let sender = |client: bool, least: u32| serde_json::json!({"sender": {"min_rtt": least, "mean_rtt": 2 * least, "sender": client}});
    let iperf3 = serde_json::json!({
        "start": {
            "timestamp": {"timesecs": 1_700_000_000},
            "test_start": {"protocol": "TCP", "reverse": 0},
        },
        "end": {
            "streams": [sender(true, 48_000), sender(false, 0)],
            "sum_sent": sum(1.3), "sum_received": sum(1.2),
            "sum_sent_bidir_reverse": sum(93.5), "sum_received_bidir_reverse": sum(93.0),
        },
    });
    bench.file("both.json", &iperf3.to_string());
    let trips: Vec<_> = (1..=100)
        .map(|i| serde_json::json!({"lost": "false", "delay": {"rtt": i * 1_000_000}}))
        .chain([serde_json::json!({"lost": "true", "delay": {}})])
        .collect();
    let irtt = serde_json::json!({
        "stats": {
            "rtt": {"n": 100, "min": 1_000_000, "median": 50_500_000},
            "upstream_loss_percent": 0.5, "downstream_loss_percent": 0.25, "send_rate": {"bps": 24_507},
        },
        "round_trips": trips,
    });
    bench.file("irtt.json", &irtt.to_string());
    let ran = bench.run(&["measure", "trace.pcap", "--iperf3", "both.json", "--irtt", "irtt.json"]);
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "iperf3 up 1.20 Mbit/s",
        "iperf3 down 93.0 Mbit/s",
        "7 segments were sent again. Its round trips: mean 96.0 ms, shortest 48.0 ms.",
        "irtt 50.0 ms P50 50.0 ms, P95 95.0 ms, P99 99.0 ms; the shortest 1.00 ms, of 100 packets",
        "Lost: 0.500% up, 0.250% down.",
    ] {
        assert!(words.contains(part), "{part}: {}", ran.out);
    }
    for part in [
        "note: iperf3 says 93.0 Mbit/s received down, the capture 9.91 Mbit/s (C is that). A part of the traffic took \
         another way",
        "note: irtt's shortest round trip is 1.00 ms, the capture's 50.0 ms.",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    let json = bench.json(&[
        "measure",
        "trace.pcap",
        "--iperf3",
        "both.json",
        "--irtt",
        "irtt.json",
        "--format",
        "json",
    ]);
    assert_eq!(json["iperf3"]["down"]["received_bps"], 93e6);
    assert_eq!(json["irtt"]["quantiles_s"], serde_json::json!([0.05, 0.095, 0.099]));
    assert_eq!(json["contradictions"].as_array().unwrap().len(), 3, "{json}");
    // UDP the other way, and a test that failed.
    let udp = serde_json::json!({
        "start": {"test_start": {"protocol": "UDP", "reverse": 1}},
        "end": {
            "sum": {"seconds": 1.0, "bits_per_second": 9.6e6, "lost_percent": 2.5},
            "sum_received": {"seconds": 1.0, "bits_per_second": 9.5e6, "lost_percent": 2.5},
        },
    });
    bench.file("udp.json", &udp.to_string());
    let ran = bench.run(&["measure", "trace.pcap", "--iperf3", "udp.json"]);
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("iperf3 down 9.50 Mbit/s") && words.contains("2.50% of the datagrams"), "{words}");
    assert_eq!(ran.err, "");
    bench.file("failed.json", r#"{"start": {}, "end": {}, "error": "unable to connect to server"}"#);
    let ran = bench.run(&["measure", "trace.pcap", "--iperf3", "failed.json"]);
    assert!(ran.code == 2 && ran.err.contains("iperf3 failed: unable to connect to server"), "{}", ran.err);
}

/// The packets of a pcap file of Ethernet: their heads and frames.
fn packets(file: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut all = Vec::new();
    let mut rest = &file[24..];
    while let Some((head, behind)) = rest.split_at_checked(16) {
        let length = u32::from_le_bytes(head[8..12].try_into().unwrap()) as usize;
        let (frame, behind) = behind.split_at(length);
        all.push((head, frame));
        rest = behind;
    }
    all
}

/// A pcap file of other frames at the same times.
fn pcap<'a>(link: u32, frames: impl IntoIterator<Item = (&'a [u8], Vec<u8>)>) -> Vec<u8> {
    let mut file = trace()[..20].to_vec();
    file.extend(link.to_le_bytes());
    for (head, frame) in frames {
        file.extend(&head[..8]);
        for _ in 0..2 {
            file.extend((frame.len() as u32).to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// Captures of many kinds: their names and bytes.
fn captures() -> Vec<(&'static str, Vec<u8>)> {
    let whole = trace();
    let all = packets(&whole);
    let with = |link, before: &dyn Fn(&[u8]) -> Vec<u8>| {
        pcap(link, all.iter().map(|(head, frame)| (*head, [&before(frame)[..], &frame[14..]].concat())))
    };
    // IEEE 802.11 behind an empty head of radiotap, with LLC and SNAP.
    let mut air = vec![0, 0, 8, 0, 0, 0, 0, 0, 8, 1, 0, 0];
    air.extend([2; 18]);
    air.extend([0, 0, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    let gre = |frame: &[u8]| {
        let mut outer = vec![2; 12];
        outer.extend([8, 0, 0x45, 0]);
        outer.extend(((frame.len() - 14 + 24) as u16).to_be_bytes());
        outer.extend([0, 0, 0, 0, 64, 47, 0, 0, 10, 1, 0, 1, 10, 1, 0, 2, 0, 0, 8, 0]);
        outer
    };
    // Addresses are in IPv4's header behind that of Ethernet: the server's begin with 192.
    let of = |down: bool| {
        pcap(
            1,
            all.iter().filter(|(_, f)| (f[26] == 192) == down).map(|(head, frame)| (*head, frame.to_vec())),
        )
    };
    // Every twentieth packet with data is lost behind the queue, and comes again 100 ms later.
    let lost = trace_of(20, |k| if k % 20 == 19 { k * 1514 * 800 + 100_000_000 } else { k * 1514 * 800 });
    let lost = {
        let mut sorted = packets(&lost);
        sorted.sort_by_key(|(head, _)| {
            [&head[..4], &head[4..8]].map(|b| u32::from_le_bytes(b.try_into().unwrap()))
        });
        pcap(1, sorted.into_iter().map(|(head, frame)| (head, frame.to_vec())))
    };
    // Handshakes of TCP, and the data in datagrams to port 443.
    let quic = pcap(
        1,
        all.iter().enumerate().map(|(i, (head, frame))| {
            let mut frame = frame.to_vec();
            if i >= 12 {
                frame[23] = 17;
                let length = (frame.len() - 34) as u16;
                frame[38..40].copy_from_slice(&length.to_be_bytes());
                frame[42] = 0x40;
            }
            (*head, frame)
        }),
    );
    vec![
        ("ethernet.pcap", whole.clone()),
        ("it's mine.pcap", whole.clone()),
        ("-begins-with-a-dash.pcap", whole.clone()),
        ("losses.pcap", lost),
        ("quic.pcap", quic),
        ("up.pcap", of(false)),
        ("down.pcap", of(true)),
        ("no-load.pcap", whole[..24 + 12 * (16 + 54)].to_vec()),
        ("radiotap.pcap", with(127, &|_| air.clone())),
        ("gre.pcap", with(1, &gre)),
        ("sender.pcap.zst", include_bytes!("captures/tso-sender.pcap.zst").to_vec()),
    ]
}

/// The commands that captures lead to are those that `quell recommend` takes: it plans their runs, and refuses only the
/// folder, which has a file of that name.
#[test]
fn each_next_command_is_one_that_recommend_takes() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("full")).unwrap();
    bench.file("full/today.toml", "");
    let mut without = Vec::new();
    for (name, bytes) in captures() {
        std::fs::write(bench.path(name), bytes).unwrap();
        let path = format!("./{name}");
        let json = bench.json(&["measure", &path, "--format", "json"]);
        let text = bench.ok(&["measure", &path]);
        let Some(next) = json["next"].as_str() else {
            assert!(text.contains("next  quell recommend needs "), "{name}: {text}");
            without.push(name);
            continue;
        };
        assert!(text.contains(&format!("next  {next}\n")), "{name}: {text}");
        let script = format!("printf '%s\\n' {next}");
        let split = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let words = String::from_utf8(split.stdout).unwrap();
        let words: Vec<&str> = words.lines().skip(1).chain(["--save", "full"]).collect();
        let ran = bench.run(&words);
        assert!(
            ran.code == 2 && ran.err.contains("full/today.toml exists; use --overwrite"),
            "{name}: {next}: {}",
            ran.err
        );
    }
    // Without data there is no rate, and without the other direction no handshake.
    assert_eq!(without, ["up.pcap", "down.pcap", "no-load.pcap"]);
}

/// A command that was printed, run as it is but for its load.
#[test]
fn a_next_command_has_an_answer() {
    let bench = Bench::new();
    std::fs::write(bench.path("sender.pcap.zst"), include_bytes!("captures/tso-sender.pcap.zst")).unwrap();
    let json = bench.json(&["measure", "sender.pcap.zst", "--format", "json"]);
    let next = json["next"].as_str().unwrap();
    bench.file(
        "call.toml",
        "[[flows]]\nname = \"call\"\nkind = \"udp\"\nrate = \"100 kbit/s\"\npacket = \"200 B\"\nmeasure_delay = true\n",
    );
    let words: Vec<&str> =
        next.split(' ').skip(1).chain(["--load", "call.toml", "--can", "codel", "-q"]).collect();
    let out = bench.ok(&words);
    assert!(out.contains("goal: call P99 < 20 ms") && out.contains("codel"), "{out}");
}

/// A real capture: Linux sends through a router whose `tbf` limits it to 10 Mbit/s with a buffer of 60 kB, and 20 ms of
/// delay beyond. The capture is the sender's, with frames of up to 64 kB for its card to cut.
#[test]
fn a_sender_with_segmentation_offload_is_measured_as_its_router_says() {
    let bench = Bench::new();
    std::fs::write(bench.path("sender.pcap.zst"), include_bytes!("captures/tso-sender.pcap.zst")).unwrap();
    let json = bench.json(&["measure", "sender.pcap.zst", "--format", "json"]);
    let up = &json["directions"][0];
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or(f64::NAN);
    // tbf counts frames of 1514 bytes, of which IP has 1500.
    let rate = number(&up["capacity"]["capacity_bps"]);
    assert!((rate / (1e7 * 1500.0 / 1514.0) - 1.0).abs() < 0.005, "{rate}");
    assert_eq!(up["capacity"]["verdict"], "beyond");
    assert!(number(&up["joined_frames"]) > 500.0 && number(&up["mean_data_packet_bytes"]) < 1500.1, "{up}");
    // iperf3 says 54 segments were sent again, of the 4134 packets here.
    assert!((number(&up["retransmitted_share"]) * number(&up["data_packets"]) - 54.0).abs() < 1.0, "{up}");
    // An empty path takes 20 ms, a full buffer 48 ms more; iperf3 says 57 ms on average.
    let trips = &up["loaded_round_trips"];
    assert!(number(&trips["samples"]) > 1000.0, "{trips}");
    assert!((number(&trips["least_s"]) - 0.0201).abs() < 0.0005, "{trips}");
    let median = number(&trips["quantiles_s"][0]);
    assert!((0.052..0.066).contains(&median), "{trips}");
    assert!((0.060..0.072).contains(&number(&trips["quantiles_s"][2])), "{trips}");
}
