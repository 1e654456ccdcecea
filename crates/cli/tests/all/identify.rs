//! `quell identify`, as a user sees it.

use crate::common::Bench;

/// A pcap file without packets.
fn empty() -> Vec<u8> {
    let mut file = vec![0x4D, 0x3C, 0xB2, 0xA1, 2, 0, 4, 0];
    for word in [0_u32, 0, 65_535, 1] {
        file.extend(word.to_le_bytes());
    }
    file
}

#[test]
fn what_cannot_be_identified_is_refused_with_what_to_capture() {
    let bench = Bench::new();
    std::fs::write(bench.path("empty.pcap"), empty()).unwrap();
    std::fs::write(bench.path("text.pcap"), "no capture").unwrap();
    for (words, part) in [
        (&["identify", "empty.pcap"][..], "has no TCP data"),
        (&["identify", "text.pcap"], "not a packet capture"),
        (&["identify", "gone.pcap"], "cannot read"),
        (&["identify", "empty.pcap", "--tcp", "cubik"], "cubic"),
        (&["identify", "empty.pcap", "--among", "pies"], "pie"),
        (&["identify", "empty.pcap", "--seeds", "1"], "must be a whole number from 3"),
    ] {
        let ran = bench.run(words);
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{words:?}: {}", ran.err);
    }
}

/// `measure` sees from the senders that packets wait, and `identify` says where: 100 packets of drop-tail at 8 Mbit/s,
/// 151 ms. A direction is in a capture if a flow is measured there.
#[test]
fn a_senders_capture_of_a_simulation_is_identified_as_measure_says() {
    let bench = Bench::new();
    bench.file(
        "run.toml",
        r#"
schema = 1
dialect = "linux"
duration = "14 s"
seeds = 1

[dumbbell]
rate = "8 Mbit/s"
delay = "20 ms"
buffer = "100 packets"

[dumbbell.reverse]
rate = "1 Gbit/s"
delay = "1 us"

[[aqm]]
algorithm = "drop-tail"

[[flows]]
name = "bulk"
rtt = "20.001 ms"
tcp = { congestion = "cubic", packet = "1448 B" }

[[flows]]
name = "back"
kind = "udp"
direction = "reverse"
rate = "8 kbit/s"
packet = "100 B"
"#,
    );
    bench.ok(&["run", "run.toml", "--out", "seen", "--trace", "pcapng", "--no-report"]);
    let capture = "seen/traces/drop-tail-seed1.pcapng";
    let interface = ["--interface", "bottleneck enqueue,reverse dequeue"];
    let measured = bench.ok(&[&["measure", capture][..], &interface].concat());
    let next = format!("quell identify {capture} --interface 'bottleneck enqueue,reverse dequeue' tells");
    assert!(measured.contains(&next), "{measured}");
    // Packets that have passed are seen by what comes behind the queue.
    let after = bench.ok(&["measure", capture, "--interface", "bottleneck dequeue,reverse dequeue"]);
    assert!(!after.contains("quell identify"), "{after}");

    let among = ["--among", "drop-tail,pie", "--seeds", "3", "-q"];
    let words = [&["identify", capture][..], &interface, &among].concat();
    let text = bench.ok(&words);
    assert!(text.contains("The queue is drop-tail, among those that were tried."), "{text}");
    let json = bench.json(&[&words[..], &["--format", "json"]].concat());
    assert_eq!(json["likely"], serde_json::json!(["drop-tail"]));
    let within = &json["found"][0]["parameter"]["within"];
    let [low, high] = [0, 1].map(|i| within[i].as_f64().unwrap());
    assert!(low < 0.1514 && 0.1514 < high && high / low < 1.6, "{within}");
}
