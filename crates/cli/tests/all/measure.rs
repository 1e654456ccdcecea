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
    assert!(line("C ").contains("10.0 Mbit/s") && line("C ").contains("The link was full"), "{out}");
    assert!(line("N ").contains("4 flows") && words.contains("4 5-tuples, 4 of them with data"), "{out}");
    assert!(line("R ").contains("50.0 ms") && line("R ").contains("4 handshakes"), "{out}");
    assert!(line("up ").contains(" 54.00 ") && line("down ").contains(" 1512 "), "{out}");
    assert_eq!(
        *lines.last().unwrap(),
        "next  quell design --rate 10Mbit/s --rtt 50ms --flows 4 --packet 1512B --aqm pi"
    );
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
    assert!((down["capacity"]["capacity_bps"].as_f64().unwrap() / 1e7 - 1.0).abs() < 1e-9);
    assert!((json["round_trips"]["mean_s"].as_f64().unwrap() - 0.05).abs() < 1e-9);
    assert_eq!(json["intervals"].as_array().unwrap().len(), 4);
    assert_eq!(json["intervals"][0]["up"]["packets"], 8);
    assert_eq!(json["next"], "quell design --rate 10Mbit/s --rtt 50ms --flows 4 --packet 1512B --aqm pi");
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
    assert_eq!(ran.out.replacen('-', "trace.pcap", 1), file);
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
        assert!(words.contains(how) && words.contains(&format!("C {value}")), "{out}");
        assert!(out.ends_with("next  quell design needs C, from a capture after the bottleneck\n"), "{out}");
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
        out.contains("No complete handshake was captured.") && out.contains("next  quell design needs R"),
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
        assert_eq!(bench.ok(&["measure", "packed"]).replacen("packed", "trace.pcap", 1), plain);
    }
    // Also where its end is far from what has been read.
    std::fs::write(bench.path("cut"), &gzip[..gzip.len() / 2]).unwrap();
    let ran = bench.run(&["measure", "cut"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert_eq!(ran.err, "error: cut: the gzip stream is damaged: it is cut off\n");
}
