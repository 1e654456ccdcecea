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
